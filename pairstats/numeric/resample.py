"""Family-bootstrap intervals, computed from the exact law or drawn, with the error of drawing shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import (
    OPPOSITE,
    Interval,
    as_count,
    as_scores,
    as_sizes,
    check_alternative,
    check_bounds,
    check_level,
    tails,
)
from pairstats.numeric.draws import bootstrap_replicates, seeded
from pairstats.numeric.facing import points_down
from pairstats.numeric.lattice import snapped_counts
from pairstats.numeric.law import check_magnitude, exact_law
from pairstats.numeric.limits import (
    jackknife_acceleration,
    limit_levels,
    limits_at,
    order_statistic,
    quantile_error,
)

FloatArray = NDArray[np.float64]

METHODS = ("percentile", "basic", "bca", "bootstrap-t")
DEFAULT_RESAMPLES = 10_000
"""Resamples of the bootstrap-t, which has no exact law, where none are asked for."""

_TIE = 1e-12
"""Replicates closer to a value than this share of the largest count as equal to it."""


@dataclass(frozen=True, slots=True)
class BootstrapInterval(Interval):
    """A bootstrap interval over families.

    Attributes
    ----------
    estimate : float
        The statistic of the data.
    std_error : float
        Standard deviation of the bootstrap law or of the replicates.
    mc_error : tuple of float or None
        Monte-Carlo standard error of the lower and of the upper limit (half the distance of the limits
        at a level one standard error off on either side); 0 where a limit is not estimated, None where
        nothing was drawn. On a lattice it may be 0 although another seed moves the limit by a step.
    n_resamples : int or None
        Resamples drawn; None where the limits come from the exact law.
    collapsed : bool
        Whether every resample gives the same value: the interval then says nothing about uncertainty.
    n_off_mode : int or None
        Families whose score differs from the commonest one. Below about 10 the percentile interval is
        too short.
    seed : int or None
        Seed of the draw: the one given, or the one derived from the data. None where nothing was drawn
        or a generator was given.
    """

    estimate: float
    std_error: float
    mc_error: tuple[float, float] | None = None
    n_resamples: int | None = None
    collapsed: bool = False
    n_off_mode: int | None = None
    seed: int | None = None


def bootstrap_interval(
    scores: ArrayLike,
    *,
    sizes: ArrayLike | None = None,
    method: str = "percentile",
    n_resamples: int | None = None,
    rng: Any = None,
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    oracle: bool = False,
    bounds: Sequence[float] | None = None,
) -> BootstrapInterval:
    r"""Bootstrap interval of a mean over decisions, resampling whole families.

    Use it to reproduce or to check a published bootstrap, and for means of 40 families and more away from the
    ends of the range. Not near a ceiling, nor for few families: `family_interval` covers both.

    The statistic is :math:`\sum n_i x_i / \sum n_i`. Quantiles are of type 1: the smallest value whose
    distribution function reaches the level. The bias correction of BCa counts values equal to the
    estimate by half, and its acceleration is that of the jackknife over families.

    Near a ceiling all of these intervals are too short (with 40 families of two at .95 the percentile
    interval covers .84 to .91 instead of .95), so read `n_off_mode`.

    Parameters
    ----------
    scores : array_like of float, shape (G,)
        Mean score of each family.
    sizes : array_like of float, shape (G,), optional
        Number of decisions of each family; one each if left out.
    method : {"percentile", "basic", "bca", "bootstrap-t"}
        Kind of interval. "bootstrap-t" is always drawn.
    n_resamples : int, optional
        Resamples to draw. Left out, limits come from the exact law (``exact_law``), which has no seed;
        "bootstrap-t" then takes 10,000.
    rng : int, numpy.random.Generator, SeedSequence or None
        Handed to `numpy.random.default_rng`; None takes a seed derived from the data and reports it.
    confidence_level : float, default 0.95
        In (0, 1).
    alternative : {"two-sided", "less", "greater"}
        "greater" gives a lower limit only, "less" an upper limit only.
    oracle : bool, default False
        Draw families one by one and interpolate quantiles linearly, as `scipy.stats.bootstrap` does: the
        same seed then gives its limits. Needs `n_resamples`; not for "bootstrap-t".
    bounds : (float, float), optional
        Range of the scores. It is checked, is the other end of a one-sided interval (else infinite),
        and clips the limits of "basic" and "bootstrap-t", which can leave it.

    Returns
    -------
    BootstrapInterval
        Where every resample gives the same value, that value twice, by any method.

    Raises
    ------
    PairstatsError
        If an argument is not one of those allowed, or scores are not finite or out of bounds.

    Notes
    -----
    Percentile: quantiles of the law of :math:`\theta^*`; basic: :math:`2 \hat\theta` less these; BCa:
    quantiles at :math:`\Phi(z_0 + (z_0 + z) / (1 - a (z_0 + z)))`; bootstrap-t: :math:`\hat\theta - t^* s`
    with the linearised standard error of each resample.

    References
    ----------
    Efron B (1987). Better bootstrap confidence intervals. JASA 82:171-185.
    doi:10.1080/01621459.1987.10478410.

    Examples
    --------
    >>> scores = [1.0] * 29 + [0.5] * 10 + [0.0]
    >>> interval = bootstrap_interval(scores, sizes=[2] * 40)
    >>> interval.low, interval.high, interval.n_off_mode
    (0.7625, 0.925, 11)
    >>> drawn = bootstrap_interval(scores, sizes=[2] * 40, n_resamples=2000, rng=7)
    >>> drawn.n_resamples, drawn.seed
    (2000, 7)
    """
    one_of("method", method, METHODS)
    values = as_scores("scores", scores)
    check_magnitude("scores", values)
    counts = as_sizes(sizes, values.size)
    span = (-math.inf, math.inf) if bounds is None else check_bounds(values, bounds)
    resamples = _resamples(method, n_resamples, oracle)
    pairs = np.column_stack([_whole(values * counts), counts])
    off_mode = _off_mode(values)
    asked = BootstrapInterval(
        low=math.nan,
        high=math.nan,
        method=method,
        confidence_level=check_level(confidence_level),
        alternative=check_alternative(alternative),
        # Equal scores are their own mean, whatever the rounding of the weighted sum.
        estimate=float(pairs[:, 0].sum() / pairs[:, 1].sum()) if off_mode else float(values[0]),
        std_error=0.0,
        n_off_mode=off_mode,
    )
    if off_mode == 0:
        low, high = tails(asked.confidence_level, asked.alternative)
        found = replace(
            asked,
            low=-math.inf if low is None else asked.estimate,
            high=math.inf if high is None else asked.estimate,
            collapsed=True,
        )
    elif resamples is None:
        found = _from_exact_law(asked, pairs)
    elif not oracle and points_down(values, counts):
        back = bootstrap_interval(
            -values, sizes=counts, method=method, n_resamples=resamples, rng=rng,
            confidence_level=confidence_level, alternative=OPPOSITE[alternative],
        )  # fmt: skip
        found = _turned(back, asked)
    else:
        generator, seed = seeded(pairs, rng)
        draw = _studentized if method == "bootstrap-t" else _drawn
        found = replace(draw(asked, pairs, resamples, generator, oracle), seed=seed)
    return _within(found, span)


def replicate_interval(
    replicates: ArrayLike,
    estimate: float,
    *,
    method: str = "percentile",
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    acceleration: float = 0.0,
    oracle: bool = False,
) -> BootstrapInterval:
    """Interval from replicates of any statistic.

    Parameters
    ----------
    replicates : array_like of float, shape (B,)
        The statistic on each resample, finite.
    estimate : float
        The statistic on the data.
    method : {"percentile", "basic", "bca"}
        Kind of interval.
    confidence_level, alternative
        As in `bootstrap_interval`.
    acceleration : float, default 0
        Acceleration of BCa, for example by `jackknife_acceleration`.
    oracle : bool, default False
        Linear quantiles and exact comparisons, as in `scipy.stats.bootstrap`.

    Returns
    -------
    BootstrapInterval
        With the Monte-Carlo error of each limit.

    Examples
    --------
    >>> interval = replicate_interval(range(1000), 500.0)
    >>> interval.low, interval.high
    (24.0, 974.0)
    """
    one_of("method", method, METHODS[:3])
    values = as_scores("replicates", replicates)
    asked = BootstrapInterval(
        low=math.nan,
        high=math.nan,
        method=method,
        confidence_level=check_level(confidence_level),
        alternative=check_alternative(alternative),
        estimate=float(estimate),
        std_error=_standard_deviation(values),
        collapsed=bool(np.ptp(values) == 0),
    )
    return _from_replicates(asked, values, acceleration, oracle)


def _from_exact_law(asked: BootstrapInterval, pairs: FloatArray) -> BootstrapInterval:
    law = exact_law(pairs[:, 0], sizes=pairs[:, 1])
    bias = float(ndtri(law.mid_cdf(asked.estimate)))
    ends = tails(asked.confidence_level, asked.alternative)
    acceleration = jackknife_acceleration(*pairs.T) if asked.method == "bca" else 0.0
    levels = limit_levels(asked.method, ends, bias, acceleration)
    low, high = limits_at(levels, law.quantile, asked.method, asked.estimate)
    return replace(asked, low=low, high=high, std_error=law.std)


def _drawn(
    asked: BootstrapInterval, pairs: FloatArray, n_resamples: int, rng: Any, oracle: bool
) -> BootstrapInterval:
    drawn = bootstrap_replicates(pairs, n_resamples=n_resamples, rng=rng, oracle=oracle)
    replicates = drawn[:, 0] / drawn[:, 1]
    spread = replace(asked, std_error=_standard_deviation(replicates))
    return _from_replicates(spread, replicates, jackknife_acceleration(*pairs.T), oracle)


def _studentized(
    asked: BootstrapInterval, pairs: FloatArray, n_resamples: int, rng: Any, oracle: bool
) -> BootstrapInterval:
    """Bootstrap-t: the basic interval of estimate + t * standard error, t from each resample.

    Standard errors are those of the ratio by linearisation, from sums of squares over the same draw.
    """
    s, n = pairs.T
    excess = s - asked.estimate * n
    drawn = bootstrap_replicates(
        np.column_stack([s, n, excess**2, excess * n, n**2]), n_resamples=n_resamples, rng=rng
    )
    replicates = drawn[:, 0] / drawn[:, 1]
    shift = replicates - asked.estimate
    shift[np.abs(shift) <= _TIE * np.max(np.abs(replicates))] = 0.0
    squares = drawn[:, 2] - 2 * shift * drawn[:, 3] + shift**2 * drawn[:, 4]
    # Resamples of equal ratios have no spread; what rounding leaves of it would make t arbitrary.
    squares[squares <= _TIE * n.size * np.max(excess**2)] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        # Both standard errors carry the same factor G / (G - 1), which cancels.
        t = shift / (np.sqrt(squares) / drawn[:, 1])
    pivots = asked.estimate + np.where(shift == 0, 0.0, t) * math.sqrt(excess @ excess) / n.sum()
    basic = _from_replicates(replace(asked, method="basic"), pivots, 0.0, oracle)
    return replace(basic, method=asked.method, std_error=_standard_deviation(replicates))


def _from_replicates(
    asked: BootstrapInterval, replicates: FloatArray, acceleration: float, oracle: bool
) -> BootstrapInterval:
    """Fill in limits, their Monte-Carlo error, and the number of replicates."""
    ordered = np.sort(replicates)
    slack = 0.0 if oracle else _TIE * float(np.max(np.abs(ordered)))
    below = np.searchsorted(ordered, asked.estimate - slack, side="left")
    upto = np.searchsorted(ordered, asked.estimate + slack, side="right")
    bias = float(ndtri((below + upto) / (2 * ordered.size)))

    def quantile(level: float) -> float:
        return _linear_quantile(ordered, level) if oracle else order_statistic(ordered, level)

    ends = tails(asked.confidence_level, asked.alternative)
    levels = limit_levels(asked.method, ends, bias, acceleration)
    low, high = limits_at(levels, quantile, asked.method, asked.estimate)
    errors = [
        0.0 if level is None else quantile_error(level, quantile, ordered.size, asked.method, bias)
        for level in levels
    ]
    return replace(asked, low=low, high=high, mc_error=(errors[0], errors[1]), n_resamples=ordered.size)


def _whole(totals: FloatArray) -> FloatArray:
    """Make totals whole that are so but for the rounding of mean times size."""
    nearest = np.rint(totals)
    away = totals - nearest
    if not away.any():
        return nearest
    return np.where(np.abs(away) <= 1e-12 * np.abs(nearest), nearest, totals)


def _linear_quantile(ordered: FloatArray, level: float) -> float:
    """Quantile as scipy.stats.bootstrap of the installed version interpolates it."""
    from scipy import stats

    quantile = getattr(stats, "quantile", np.quantile)
    return float(quantile(ordered, level))


def _standard_deviation(values: FloatArray) -> float:
    return float(np.std(values, ddof=1)) if values.size > 1 else math.nan


def _off_mode(scores: FloatArray) -> int:
    """Count the families whose score differs from the commonest."""
    _, counts = snapped_counts(scores)
    return int(scores.size - counts.max())


def _resamples(method: str, n_resamples: int | None, oracle: bool) -> int | None:
    if oracle and (n_resamples is None or method == "bootstrap-t"):
        raise PairstatsError(
            f"`oracle=True` must come with `n_resamples` and a method that scipy has, but got "
            f"n_resamples={n_resamples!r} and method={method!r}. Give both, or leave `oracle` out."
        )
    if n_resamples is not None:
        return as_count("n_resamples", n_resamples, minimum=1)
    return DEFAULT_RESAMPLES if method == "bootstrap-t" else None


def _turned(found: BootstrapInterval, asked: BootstrapInterval) -> BootstrapInterval:
    """Interval of the opposite scores, turned back."""
    return replace(
        found,
        low=0.0 - found.high,
        high=0.0 - found.low,
        estimate=asked.estimate,
        alternative=asked.alternative,
        mc_error=None if found.mc_error is None else found.mc_error[::-1],
    )


def _within(found: BootstrapInterval, span: tuple[float, float]) -> BootstrapInterval:
    """Keep limits in the range of the scores; an infinite one becomes its end."""
    low, high = (min(max(limit, span[0]), span[1]) for limit in (found.low, found.high))
    return replace(found, low=low, high=high)
