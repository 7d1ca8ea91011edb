"""The exact law of the family bootstrap: what infinitely many resamples would give."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from pairstats.errors import PairstatsError
from pairstats.numeric.checks import as_scores, as_sizes
from pairstats.numeric.convolution import (
    enumerated_sums,
    lattice_power,
    lattice_power_2d,
    smooth_power,
)
from pairstats.numeric.draws import type_counts
from pairstats.numeric.lattice import common_lattice, lattice_steps

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_MAX_COMPOSITIONS = 2_000_000
_MAX_LENGTH = 2**20
_MAX_CELLS = 4_000_000
_TIE = 1e-13
"""Values of the statistic closer than this share of the largest are one value."""


@dataclass(frozen=True, slots=True)
class Law:
    """A probability law on finitely many points.

    Attributes
    ----------
    support : ndarray of float, shape (A,)
        Values, strictly increasing.
    probability : ndarray of float, shape (A,)
        Their probabilities; they sum to 1.
    method : str
        "one point", "enumeration", "convolution", or "fine lattice".
    spacing : float
        0 where the points are the values themselves. Else the law is continuous for all practical
        purposes, a point stands for the cell of this width around it, and `cdf` and `quantile`
        interpolate.
    """

    support: FloatArray
    probability: FloatArray
    method: str
    spacing: float = 0.0

    @property
    def mean(self) -> float:
        """Expected value."""
        return float(self.probability @ self.support)

    @property
    def std(self) -> float:
        """Standard deviation: the bootstrap standard error."""
        return math.sqrt(max(float(self.probability @ (self.support - self.mean) ** 2), 0.0))

    @property
    def collapsed(self) -> bool:
        """Whether every resample gives the same value."""
        return self.support.size == 1

    def cdf(self, x: float) -> float:
        """P(value <= x); a value that differs from `x` only by rounding counts as equal."""
        below = self._cumulative()
        if self.spacing:
            return float(np.interp(x, self.support + self.spacing / 2, below, left=0.0, right=1.0))
        slack = _TIE * max(abs(float(self.support[0])), abs(float(self.support[-1])))
        at = int(np.searchsorted(self.support, x + slack, side="right"))
        return float(below[at - 1]) if at else 0.0

    def mid_cdf(self, x: float) -> float:
        """P(value < x) + P(value = x) / 2, which is what the bias correction of BCa needs on a lattice."""
        if self.spacing:
            return self.cdf(x)
        slack = _TIE * max(abs(float(self.support[0])), abs(float(self.support[-1])))
        return (self.cdf(x) + self.cdf(x - 2 * slack)) / 2

    def quantile(self, a: float) -> float:
        """Smallest value whose distribution function reaches `a` (type 1 of Hyndman & Fan)."""
        _check_probability(a)
        below = self._cumulative()
        # A level that is reached exactly may be missed by rounding.
        at = int(np.searchsorted(below, a - 1e-12 * min(a, 1 - a)))
        value = float(self.support[at])
        if self.spacing and 0 < a < 1:
            start = float(below[at - 1]) if at else 0.0
            return value + self.spacing * ((a - start) / (float(below[at]) - start) - 0.5)
        return value

    def _cumulative(self) -> FloatArray:
        # A lattice of shared masses can dip by rounding; a distribution function cannot.
        below: FloatArray = np.maximum.accumulate(np.cumsum(self.probability))
        return below / below[-1]


@dataclass(frozen=True, slots=True)
class RatioLaw:
    """The law of a ratio of two sums over families, one value of the distribution function at a time.

    ``P(S / N <= r) = P(sum of (s - r n) <= 0)``, a sum of independent draws, on a fine lattice.

    Attributes
    ----------
    totals, sizes : ndarray of float, shape (K,)
        Numerator and (positive) denominator of each type of family.
    probability : ndarray of float, shape (K,)
        Share of the families that are of each type.
    draws : int
        Number of families G.
    method : str
        "fine lattice".
    """

    totals: FloatArray
    sizes: FloatArray
    probability: FloatArray
    draws: int
    method: str = "fine lattice"

    @property
    def collapsed(self) -> bool:
        """Never: families of one common ratio have a `Law` of one point."""
        return False

    @property
    def mean(self) -> float:
        """Expected value, to rounding."""
        return self._moments()[0]

    @property
    def std(self) -> float:
        """Standard deviation: the bootstrap standard error, to rounding."""
        return math.sqrt(self._moments()[1])

    def cdf(self, x: float) -> float:
        """P(S / N <= x)."""
        excess = self.totals - x * self.sizes
        if np.ptp(excess) <= _TIE * np.max(np.abs(self.totals)):
            return float(self.probability @ excess <= 0)
        return Law(*_law_parts(excess, self.probability, self.draws)).cdf(0.0)

    def mid_cdf(self, x: float) -> float:
        """As `cdf`: single values carry no visible mass here."""
        return self.cdf(x)

    def quantile(self, a: float) -> float:
        """Value at which the distribution function reaches `a`."""
        _check_probability(a)
        low, high = self._range()
        if a in (0, 1):
            return (low, high)[int(a)]
        centre, error = self._centre()
        near = max(low, centre - 10 * error), min(high, centre + 10 * error)
        if self.cdf(near[0]) < a < self.cdf(near[1]):
            low, high = near
        return float(brentq(lambda r: self.cdf(r) - a, low, high, xtol=1e-9 * error))

    def _range(self) -> tuple[float, float]:
        ratio = self.totals / self.sizes
        return float(ratio.min()), float(ratio.max())

    def _centre(self) -> tuple[float, float]:
        """Return the ratio itself and its standard error by linearisation."""
        size = float(self.probability @ self.sizes)
        ratio = float(self.probability @ self.totals) / size
        excess = self.totals - ratio * self.sizes
        return ratio, math.sqrt(float(self.probability @ excess**2) / self.draws) / size

    def _moments(self) -> tuple[float, float]:
        r"""Mean and variance from :math:`E[(Z/N)^k] = \int t^{k-1} E[Z^k e^{-tN}] dt`, Z = S - ratio N.

        Under the integral a sum over families factors into powers of transforms of one family. With
        ``t = exp(x)`` the trapezoid rule converges to rounding.
        """
        ratio, _ = self._centre()
        excess, share, draws = self.totals - ratio * self.sizes, self.probability, self.draws
        mean_size = float(share @ self.sizes)
        step = 0.2
        last = math.log(750 * mean_size / float(self.sizes.min()))
        t = np.exp(np.arange(-40.0, last, step)) / (draws * mean_size)
        damping = np.exp(-np.multiply.outer(t, self.sizes))
        one, linear, square = damping @ share, damping @ (share * excess), damping @ (share * excess**2)
        first = draws * linear * one ** (draws - 1)
        second = draws * square * one ** (draws - 1) + draws * (draws - 1) * linear**2 * one ** (draws - 2)
        shift = step * float(first @ t)
        return ratio + shift, step * float(second @ t**2) - shift**2


def exact_law(totals: ArrayLike, *, sizes: ArrayLike | None = None) -> Law | RatioLaw:
    r"""Law of :math:`\sum s_i / \sum n_i` when families are resampled with replacement.

    Use it for quantiles and tails of the family bootstrap without draws. Not for the limits themselves, which
    `bootstrap_interval` takes from it; near a ceiling `family_interval` covers better.

    This is what the percentile bootstrap approaches as the number of resamples grows: no seed, no
    Monte-Carlo error. Families of two types are binomial. Totals on a lattice take one convolution power
    (of the pair of totals and sizes, where sizes differ), other totals the enumeration of all multinomial
    compositions while there are at most two million, and beyond that a lattice so fine (1/3000 of a
    standard error) that its quantiles are right to about 1e-6 standard errors wherever no single
    composition carries visible mass.

    Parameters
    ----------
    totals : array_like of float, shape (G,)
        Total of the score over the decisions of each family.
    sizes : array_like of float, shape (G,), optional
        Number of decisions of each family, positive; one each if left out.

    Returns
    -------
    Law or RatioLaw
        Both with ``cdf(x)``, ``mid_cdf(x)``, ``quantile(a)``, ``mean``, ``std``, ``collapsed``. `RatioLaw`
        only where sizes differ and neither lattice nor enumeration is small enough.

    Raises
    ------
    PairstatsError
        If totals or sizes are not finite, sizes not positive, or there is no family; or if the largest
        total is beyond 1e50 or below 1e-50.

    Notes
    -----
    :math:`P(\sum N_i s_i / \sum N_i n_i \le r) = P(\sum N_i (s_i - r n_i) \le 0)` with multinomial counts N.

    References
    ----------
    Efron B, Tibshirani RJ (1993). An Introduction to the Bootstrap. Chapman & Hall.
    doi:10.1201/9780429246593.

    Examples
    --------
    Of 40 families of two copies, 29 have both right, 10 one, 1 none:

    >>> law = exact_law([2] * 29 + [1] * 10 + [0], sizes=[2] * 40)
    >>> law.quantile(0.025), law.quantile(0.975)
    (0.7625, 0.925)
    >>> round(law.cdf(0.7625), 4)
    0.0271
    """
    scores = as_scores("totals", totals, copy=False)
    check_magnitude("totals", scores)
    counts = as_sizes(sizes, scores.size)
    types, families = type_counts(scores, counts)
    s, n = types.T
    ratio = s / n
    if np.ptp(ratio) <= _TIE * np.max(np.abs(ratio)):
        return Law(ratio[:1], np.ones(1), "one point")
    if np.ptp(n) == 0:
        return _mean_law(s, float(n[0]), families)
    return _ratio_law(types, families)


def check_magnitude(name: str, values: FloatArray) -> None:
    """Refuse numbers whose powers would overflow or vanish, which no score has.

    Examples
    --------
    >>> check_magnitude("scores", np.array([1e200]))
    Traceback (most recent call last):
        ...
    pairstats.errors.PairstatsError: `scores` must be at most 1e50 and, unless all 0, reach 1e-50 ...
    """
    largest = max(float(values.max()), -float(values.min()))
    if largest > 1e50 or 0 < largest < 1e-50:
        raise PairstatsError(
            f"`{name}` must be at most 1e50 and, unless all 0, reach 1e-50 in size, but the largest is "
            f"{largest:g}. Give them in another unit."
        )


def _mean_law(values: FloatArray, size: float, counts: IntArray) -> Law:
    draws, least = int(counts.sum()), float(values.min())
    probability = counts / draws
    spacing = common_lattice(values - least)
    if spacing is not None:
        steps = lattice_steps(values - least, spacing)
        found = lattice_power(steps, probability, draws, _MAX_LENGTH)
        if found is not None:
            start, law = found
            reached = np.flatnonzero(law)
            points = draws * least + spacing * (start + reached).astype(np.float64)
            return Law(points / (draws * size), law[reached] / law.sum(), "convolution")
    listed = enumerated_sums(values[:, None], counts, _MAX_COMPOSITIONS)
    if listed is not None:
        sums, mass = listed
        return _merged(sums[:, 0] / (draws * size), mass, "enumeration")
    points, law, method, width = _law_parts(values, probability, draws)
    return Law(points / (draws * size), law, method, width / (draws * size))


def _ratio_law(pairs: FloatArray, counts: IntArray) -> Law | RatioLaw:
    draws = int(counts.sum())
    probability = counts / draws
    for attempt in (
        partial(enumerated_sums, pairs, counts, _MAX_COMPOSITIONS // 10),
        partial(_lattice_pairs, pairs, probability, draws),
        partial(enumerated_sums, pairs, counts, _MAX_COMPOSITIONS),
    ):
        found = attempt()
        if found is not None:
            sums, mass = found
            method = "convolution" if attempt.func is _lattice_pairs else "enumeration"
            return _merged(sums[:, 0] / sums[:, 1], mass, method)
    return RatioLaw(pairs[:, 0], pairs[:, 1], probability, draws)


def _lattice_pairs(
    pairs: FloatArray, probability: FloatArray, draws: int
) -> tuple[FloatArray, FloatArray] | None:
    """Joint law of both sums where both columns lie on lattices."""
    least = pairs.min(axis=0)
    above = pairs - least
    width_s, width_n = common_lattice(above[:, 0]), common_lattice(above[:, 1])
    if width_s is None or width_n is None:
        return None
    widths = np.array([width_s, width_n])
    found = lattice_power_2d(lattice_steps(above, widths), probability, draws, _MAX_CELLS)
    if found is None:
        return None
    cells, mass = found
    return draws * least + cells * widths, mass


def _merged(values: FloatArray, mass: FloatArray, method: str) -> Law:
    """Law of possibly repeated values: sorted, and those equal but for rounding made one."""
    order = np.argsort(values, kind="stable")
    values, mass = values[order], mass[order]
    slack = _TIE * max(abs(float(values[0])), abs(float(values[-1])))
    starts = np.flatnonzero(np.concatenate(([True], np.diff(values) > slack)))
    probability = np.add.reduceat(mass, starts)
    return Law(values[starts], probability / probability.sum(), method)


def _law_parts(
    values: FloatArray, probability: FloatArray, draws: int
) -> tuple[FloatArray, FloatArray, str, float]:
    support, law, spacing = smooth_power(values, probability, draws)
    return support, law / law.sum(), "fine lattice", spacing


def _check_probability(a: float) -> None:
    if not 0 <= a <= 1:
        raise PairstatsError(f"`a` must lie in [0, 1], but got {a!r}. Write 0.025 for the 2.5 % quantile.")
