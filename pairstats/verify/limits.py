"""Limits of an interval by other algorithms than the package's own."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairstats.errors import PairstatsError
from pairstats.verify.declared import Ends
from pairstats.verify.laws import DRAWS, resampled_law, simulated, studentized

Floats = NDArray[np.float64]

STEP, FIRST = 0.04, -3.6
"""Spacing and first node of the Gil-Pelaez integral."""

BOOTSTRAPS = ("percentile", "basic", "bca", "bootstrap-t")

FAMILY_DRAWS, PIVOT_DRAWS = 20_000, 10_000
"""Draws behind the package's Monte-Carlo limits where the protocol gives no number."""


@dataclass(frozen=True, slots=True)
class Span:
    """Where a number must lie: one point where it is computed, an interval where it is simulated.

    Attributes
    ----------
    low, high : float
    how : str
        How it was found.
    """

    low: float
    high: float
    how: str

    @classmethod
    def at(cls, value: float, how: str) -> Span:
        """Exactly one value."""
        return cls(value, value, how)


EXACT, DRAWN = "exact", "simulated"
Limits = tuple[Span, Span]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which interval was declared, and at which level."""

    method: str
    level: float
    alternative: str
    options: Mapping[str, Any]

    @property
    def tails(self) -> tuple[float | None, float | None]:
        """Error probability of each limit; None where it is open."""
        alpha = 1 - self.level
        if self.alternative == "two-sided":
            return alpha / 2, alpha / 2
        return (alpha, None) if self.alternative == "greater" else (None, alpha)


def limits_of(totals: Sequence[float], sizes: Sequence[float], ends: Ends | None, wanted: Wanted) -> Limits:
    """Lower and upper limit of ``sum(totals) / sum(sizes)``."""
    s, n = np.array(totals, dtype=float), np.array(sizes, dtype=float)
    if wanted.method in ("family-jeffreys", "family-cp"):
        if ends is None:
            raise PairstatsError("a family interval needs a known range, and this quantity has none")
        return _family(s, n, ends, wanted)
    if wanted.method == "cr2-t":
        return _robust(s, n, wanted)
    if wanted.method in BOOTSTRAPS:
        return _bootstrap(s, n, ends, wanted)
    raise PairstatsError(f"intervals by {wanted.method!r} have no second path")


def std_error(totals: Sequence[float], sizes: Sequence[float]) -> float:
    """CR2 standard error of ``sum(totals) / sum(sizes)``; NaN with one family."""
    return _sandwich(np.array(totals, dtype=float), np.array(sizes, dtype=float))[1]


def _family(s: Floats, n: Floats, ends: Ends, wanted: Wanted) -> Limits:
    low, high = ends
    width = high - low
    share = np.clip((s / n - low) / width, 0.0, 1.0)
    share[share < 1e-13], share[share > 1 - 1e-13] = 0.0, 1.0
    below, above = wanted.tails
    kind = wanted.method
    lower = 0.0 if below is None else _lower(share, n, kind, below)
    upper = 1.0 if above is None else 1.0 - _lower(1.0 - share, n, kind, above)
    return Span.at(low + width * lower, EXACT), Span.at(low + width * upper, EXACT)


def _lower(share: Floats, n: Floats, kind: str, tail: float) -> float:
    """Lower limit on [0, 1]; a beta quantile where all families are 0 or 1 and of one size."""
    from scipy import stats

    if not share.any():
        return 0.0
    wins, cp = float(share.sum()), kind == "family-cp"
    if np.isin(share, (0.0, 1.0)).all() and np.ptp(n) == 0:
        losses = share.size - wins
        own = (wins, losses + 1) if cp else (wins + 0.5, losses + 0.5)
        return float(stats.beta.ppf(tail, *own))
    pseudo = n.max() if cp else n.mean()
    values = np.append(share, [0.0] if cp else [0.0, 1.0])
    sizes = np.append(n, [pseudo] if cp else [pseudo, pseudo])
    weights = np.append(np.ones(share.size), [1.0] if cp else [0.5, 0.5])
    kinds, where = np.unique(np.round(np.column_stack([values, sizes]), 13), axis=0, return_inverse=True)
    together = np.bincount(where.ravel(), weights).astype(float)
    return _crossing(lambda t: dirichlet_mean_below(t, kinds[:, 0], together, kinds[:, 1]) - tail)


def dirichlet_mean_below(t: float, values: Floats, weights: Floats, sizes: Floats) -> float:
    r"""P(weighted mean <= t) for Dirichlet weights, by the Gil-Pelaez integral along the real axis.

    The event is :math:`\sum c_k \Gamma_k \le 0` with :math:`c_k = n_k (v_k - t)`, whose characteristic
    function is :math:`\prod (1 - i c_k u)^{-w_k}`; with :math:`u = \exp(x - e^{-x})` the trapezoid rule
    converges geometrically. Right to about 1e-13.

    References
    ----------
    Gil-Pelaez, J. (1951). Biometrika 38, 481-482. doi:10.1093/biomet/38.3-4.481
    """
    c = sizes * (values - t)
    if c.max() <= 0 or c.min() >= 0:
        return float(c.max() <= 0)
    c = c / math.sqrt(float(weights @ c**2))
    top = 2.0
    while float(weights @ np.log1p((c * math.exp(top)) ** 2)) < 80:
        top += 2.0
    # The further out in a tail, the faster the phase turns.
    step = STEP / max(1.0, abs(float(weights @ c)))
    x = np.arange(FIRST, top, step)
    u, slope = np.exp(x - np.exp(-x)), 1.0 + np.exp(-x)
    turned = np.multiply.outer(u, c)
    size = np.exp(-0.5 * (np.log1p(turned**2) @ weights))
    phase = np.arctan(turned) @ weights
    below = 0.5 - step * float((size * slope) @ np.sin(phase)) / math.pi
    return min(max(below, 0.0), 1.0)


def _crossing(excess: Callable[[float], float]) -> float:
    """Where an increasing function on [0, 1] crosses 0: halving, then false position with halved weights."""
    low, high = 0.0, 1.0
    for _ in range(8):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    below, above = excess(low), excess(high)
    for _ in range(60):
        point = high - above * (high - low) / (above - below) if above > below else (low + high) / 2
        value = excess(point)
        if abs(value) < 1e-15 or high - low < 1e-14:
            return point
        if value < 0:
            low, below, above = point, value, above / 2
        else:
            high, above, below = point, value, below / 2
    return (low + high) / 2


def _sandwich(s: Floats, n: Floats) -> tuple[float, float, float]:
    """Value, CR2 standard error and Satterthwaite degrees of freedom, from the matrices that define them."""
    share = n / n.sum()
    value = float(s.sum() / n.sum())
    if s.size == 1:
        return value, math.nan, 0.0
    spread = np.diag(share**2 / (1 - share))
    residual = s / n - value
    covariance = np.diag(1 / share) - 1.0  # of residuals, when replies are independent
    product = spread @ covariance
    df = np.trace(product) ** 2 / np.trace(product @ product)
    return value, math.sqrt(max(float(residual @ spread @ residual), 0.0)), float(df)


def _robust(s: Floats, n: Floats, wanted: Wanted) -> Limits:
    from scipy import stats

    value, error, df = _sandwich(s, n)
    if s.size == 1:
        return Span.at(-math.inf, EXACT), Span.at(math.inf, EXACT)
    below, above = wanted.tails
    low = -math.inf if below is None else value - error * stats.t.ppf(1 - below, df)
    high = math.inf if above is None else value + error * stats.t.ppf(1 - above, df)
    return Span.at(float(low), EXACT), Span.at(float(high), EXACT)


def collapsed(totals: Sequence[float], sizes: Sequence[float], method: str) -> bool:
    """Whether every bootstrap resample gives one value."""
    means = np.array(totals, dtype=float) / np.array(sizes, dtype=float)
    return method in BOOTSTRAPS and bool(np.ptp(means) <= 1e-12 * max(1.0, float(np.abs(means).max())))


def _bootstrap(s: Floats, n: Floats, ends: Ends | None, wanted: Wanted) -> Limits:
    if collapsed(s.tolist(), n.tolist(), wanted.method):
        return _collapsed(s, n, ends, wanted)
    asked = wanted.options.get("n_resamples")
    law = None if asked or wanted.method == "bootstrap-t" else resampled_law(s, n)
    estimate = float(s.sum() / n.sum())
    if law is not None:
        how, values, mass, drawn = EXACT, *law, None
    else:
        how = DRAWN
        values = studentized(s, n) if wanted.method == "bootstrap-t" else simulated(s, n)
        mass = np.full(values.size, 1 / values.size)
        drawn = asked or (PIVOT_DRAWS if wanted.method == "bootstrap-t" else None)
    read = functools.partial(_quantile, values, np.cumsum(mass))
    found = []
    for level, open_end in zip(_levels(s, n, values, mass, wanted), (-math.inf, math.inf), strict=True):
        if level is None:
            low = high = open_end
        else:
            slack = _slack(level, drawn, wanted.method) if how == DRAWN else 1e-11
            low, high = (read(min(max(level + side * slack, 0.0), 1.0)) for side in (-1, 1))
        if wanted.method in ("basic", "bootstrap-t") and level is not None:
            low, high = 2 * estimate - high, 2 * estimate - low
        if ends is not None:
            low, high = (min(max(each, ends[0]), ends[1]) for each in (low, high))
        found.append(Span(low, high, how))
    return found[0], found[1]


def _levels(
    s: Floats, n: Floats, values: Floats, mass: Floats, wanted: Wanted
) -> tuple[float | None, float | None]:
    """Levels of the bootstrap law at which the lower and the upper limit are read."""
    from scipy import stats

    below, above = wanted.tails
    if wanted.method == "percentile":
        return below, None if above is None else 1 - above
    if wanted.method != "bca":
        return None if below is None else 1 - below, above
    estimate = float(s.sum() / n.sum())
    near = np.abs(values - estimate) <= 1e-12 * np.abs(values).max()
    bias = stats.norm.ppf(mass[(values < estimate) & ~near].sum() + mass[near].sum() / 2)
    left_out = np.array([(s.sum() - s[i]) / (n.sum() - n[i]) for i in range(s.size)])
    pull = left_out.mean() - left_out
    bend = (pull**3).sum() / (6 * (pull**2).sum() ** 1.5)

    def moved(z: float) -> float:
        return float(stats.norm.cdf(bias + (bias + z) / (1 - bend * (bias + z))))

    return (
        None if below is None else moved(stats.norm.ppf(below)),
        None if above is None else moved(stats.norm.ppf(1 - above)),
    )


def _slack(level: float, drawn: int | None, method: str) -> float:
    """Five Monte-Carlo errors of the level, of theirs and of ours; three times that for BCa's bias."""
    error = math.sqrt(max(level * (1 - level), 1e-6) * ((1 / drawn if drawn else 0.0) + 1 / DRAWS))
    return (15 if method == "bca" else 5) * error + 1e-4


def _quantile(values: Floats, below: Floats, level: float) -> float:
    """Smallest value whose distribution function reaches the level."""
    place = int(np.searchsorted(below, level * below[-1], side="left"))
    return float(values[min(place, values.size - 1)])


def _collapsed(s: Floats, n: Floats, ends: Ends | None, wanted: Wanted) -> Limits:
    """Every resample gives one value: that value, or what the protocol says should stand there."""
    rule = wanted.options.get("at_collapse")
    if rule == "family-cp" and ends is not None:
        return _family(s, n, ends, Wanted("family-cp", wanted.level, wanted.alternative, {}))
    value = math.nan if rule == "null" else float(s[0] / n[0])
    open_low, open_high = (-math.inf, math.inf) if ends is None else ends
    below, above = wanted.tails
    low = value if below is not None or rule == "null" else open_low
    high = value if above is not None or rule == "null" else open_high
    return Span.at(low, EXACT), Span.at(high, EXACT)


def ratio_difference_limits(num: Floats, den: Floats, ends: Ends, wanted: Wanted) -> Limits:
    """Limits of the difference of two ratios that share families only: Dirichlet weights, drawn anew."""
    cp = wanted.method == "family-cp"
    rng = np.random.default_rng(20_250_101)
    observed = rng.gamma(1.0, size=(DRAWS, len(num)))
    sizes = den.max(axis=0) if cp else den.mean(axis=0)
    worst, best = (np.array(pair) * sizes for pair in (ends, ends[::-1]))
    spans = []
    for tail, side, pseudo in zip(wanted.tails, (0, 1), (worst, best), strict=True):
        if tail is None:
            spans.append(Span.at((ends[0] - ends[1], ends[1] - ends[0])[side], EXACT))
            continue
        added = [pseudo] if cp else [worst, best]
        weight = rng.gamma(1.0 if cp else 0.5, size=(DRAWS, len(added)))
        top = observed @ num + weight @ np.array(added)
        bottom = observed @ den + weight @ np.array([sizes] * len(added))
        ratios = top / bottom
        values = np.sort(ratios[:, 0] - ratios[:, 1])
        level = tail if side == 0 else 1 - tail
        slack = _slack(level, FAMILY_DRAWS, wanted.method)
        below = np.arange(1, DRAWS + 1) / DRAWS
        low, high = (_quantile(values, below, level + turn * slack) for turn in (-1, 1))
        spans.append(Span(low, high, DRAWN))
    return spans[0], spans[1]
