"""Wild cluster bootstrap of a mean, with the null hypothesis imposed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import one_of
from pairstats.numeric.checks import as_count, as_scores, as_sizes, check_alternative, tails
from pairstats.numeric.draws import seeded
from pairstats.numeric.facing import points_down

Floats = NDArray[np.float64]

WEIGHTS = ("rademacher", "webb")
WEBB = np.array([-math.sqrt(1.5), -1.0, -math.sqrt(0.5), math.sqrt(0.5), 1.0, math.sqrt(1.5)])
"""Six-point weights of mean 0 and variance 1, for few families."""

MOST_ENUMERATED = 14
"""Families whose 2^G arrangements of signs are all taken."""

TIE = 1e-9
"""Statistics closer than this share of the observed one are equal."""

FARTHEST = 1e4
"""Limits are sought this many standard errors from the estimate; beyond they are infinite."""


@dataclass(frozen=True, slots=True)
class WildCluster:
    """Wild cluster bootstrap test and interval.

    Attributes
    ----------
    estimate : float
    statistic : float
        Studentised distance of the estimate from the null.
    p_value : float
        In (0, 1].
    p_floor : float
        Smallest p-value that this design and number of draws can give.
    low, high : float
        Values that the test does not reject; infinite where it rejects none on that side.
    null : float
    method : str
        "wild cluster, exact" or "wild cluster".
    alternative : {"two-sided", "less", "greater"}
    n_resamples : int
        Arrangements enumerated or drawn.
    mc_error : float or None
        Standard error of a drawn p-value; None where all arrangements were taken.
    seed : int or None
        Of the draw: derived from the data, or the one given; None where nothing was drawn.
    """

    estimate: float
    statistic: float
    p_value: float
    p_floor: float
    low: float
    high: float
    null: float
    method: str
    alternative: str
    n_resamples: int
    mc_error: float | None
    seed: int | None = None


def wild_cluster(
    scores: ArrayLike,
    *,
    sizes: ArrayLike | None = None,
    null: float = 0.0,
    weights: str = "rademacher",
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    n_resamples: int = 9999,
    rng: Any = None,
) -> WildCluster:
    r"""Test and interval of an item-weighted mean by random signs on the families' residuals under the null.

    Use it for comparison with econometric papers, unbounded scores and 6 to 50 families. Not near a ceiling,
    where it covers no better than the t interval and `pairstats.numeric.family_interval` does; exchangeable
    labels are tested by `pairstats.numeric.sign_flip`: for equal sizes the two p-values are the same.

    Parameters
    ----------
    scores : array_like, shape (G,)
        Family means, in any unit; of paired differences for a comparison.
    sizes : array_like, shape (G,), optional
        Decisions behind each mean; ones by default.
    null : float, default 0
        Value that is tested, and imposed.
    weights : {"rademacher", "webb"}
        Signs, all :math:`2^G` of them where there are at most 14 families; or Webb's six points, drawn.
    confidence_level : float, default 0.95
        Of the interval: the values that the test does not reject.
    alternative : {"two-sided", "less", "greater"}
    n_resamples : int, default 9999
        Arrangements drawn where not all are taken.
    rng : int, Generator or SeedSequence, optional
        Left out, the seed follows from the data.

    Returns
    -------
    WildCluster

    Notes
    -----
    With :math:`u_i = n_i (x_i - \text{null})` the statistic is :math:`\sum u_i` over the root of
    :math:`\sum (u_i - n_i \bar u)^2`, :math:`\bar u = \sum u_i / N`; an arrangement replaces :math:`u_i` by
    :math:`w_i u_i`. Enumerated: the share of arrangements at least as extreme; drawn: (b + 1)/(B + 1).

    References
    ----------
    Cameron, A. C., Gelbach, J. B. & Miller, D. L. (2008). Review of Economics and Statistics 90, 414-427.
    doi:10.1162/rest.90.3.414

    Examples
    --------
    >>> found = wild_cluster([3, 3, 2, 1, 2, -1])
    >>> found.p_value, found.p_floor, found.n_resamples
    (0.09375, 0.03125, 64)
    """
    one_of("weights", weights, WEIGHTS)
    side = check_alternative(alternative)
    means = as_scores("scores", scores)
    counts = as_sizes(sizes, means.size)
    estimate = float(counts @ means / counts.sum())
    exact = weights == "rademacher" and means.size <= MOST_ENUMERATED
    seed = None
    if exact:
        drawn = _all_signs(means.size)
    else:
        facing = -means if points_down(means, counts) else means
        generator, seed = seeded(np.column_stack([facing, counts]), rng)
        drawn = _draw(facing, counts, weights, as_count("n_resamples", n_resamples, minimum=1), generator)
    p_of = _p_function(means, counts, drawn, exact)
    statistic, p = p_of(float(null), side)
    low, high = _limits(p_of, means, counts, estimate, confidence_level, side)
    extra = 0 if exact else 1
    sided = 2.0 if exact and side == "two-sided" else 1.0
    return WildCluster(
        estimate=estimate,
        statistic=statistic,
        p_value=p,
        p_floor=min(1.0, sided / (len(drawn) + extra)),
        low=low,
        high=high,
        null=float(null),
        method="wild cluster, exact" if exact else "wild cluster",
        alternative=side,
        n_resamples=len(drawn),
        mc_error=None if exact else math.sqrt(p * (1 - p) / len(drawn)),
        seed=seed,
    )


def _all_signs(families: int) -> Floats:
    bits = np.arange(2**families)[:, None] >> np.arange(families)
    return (1 - 2 * (bits & 1)).astype(np.float64)


def _draw(means: Floats, counts: Floats, weights: str, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Weights of each family; drawn for the sorted families, so that their order does not matter."""
    points = np.array([-1.0, 1.0]) if weights == "rademacher" else WEBB
    drawn = np.empty((n_resamples, means.size))
    drawn[:, np.lexsort((counts, means))] = points[rng.integers(0, points.size, drawn.shape)]
    return drawn


def _p_function(
    means: Floats, counts: Floats, drawn: Floats, exact: bool
) -> Callable[[float, str], tuple[float, float]]:
    """Statistic and p-value as a function of the null and the side.

    All that an arrangement needs is quadratic in the null, so the sums over families are taken once.
    """
    total = float(counts.sum())
    squares = float(counts @ counts)
    scores = means * counts
    every = np.vstack([np.ones(means.size), drawn])  # the data first
    linear = every @ np.column_stack([scores, counts, scores * counts, counts**2])
    square = every**2 @ np.column_stack([scores**2, scores * counts, counts**2])

    def p_of(null: float, side: str) -> tuple[float, float]:
        away = linear[:, 0] - null * linear[:, 1]
        mean = away / total
        crossed = linear[:, 2] - null * linear[:, 3]
        own = square[:, 0] - 2 * null * square[:, 1] + null**2 * square[:, 2]
        spread = np.maximum(own - 2 * mean * crossed + mean**2 * squares, 0.0)
        # Below rounding of its largest term a spread is none: such an arrangement is as extreme as can be.
        flat = spread <= 1e-13 * (own + mean**2 * squares)
        statistic = away / np.sqrt(np.where(flat, 1.0, spread))
        balanced = np.abs(away) <= 1e-12 * np.sqrt(own * means.size)
        statistic[flat] = np.copysign(np.inf, away[flat])
        statistic[flat & balanced] = 0.0
        return float(statistic[0]), _share(statistic[1:], float(statistic[0]), side, exact)

    return p_of


def _share(drawn: Floats, observed: float, side: str, exact: bool) -> float:
    slack = 0.0 if math.isinf(observed) else TIE * abs(observed)
    if side == "two-sided":
        hits = int(np.sum(np.abs(drawn) >= abs(observed) - slack))
    elif side == "greater":
        hits = int(np.sum(drawn >= observed - slack))
    else:
        hits = int(np.sum(drawn <= observed + slack))
    return hits / drawn.size if exact else (hits + 1) / (drawn.size + 1)


def _limits(
    p_of: Callable[[float, str], tuple[float, float]],
    means: Floats,
    counts: Floats,
    estimate: float,
    confidence_level: float,
    side: str,
) -> tuple[float, float]:
    """Where the p-value, going away from the estimate, first falls to the error probability."""
    below, above = tails(confidence_level, side)
    alpha = 1.0 - confidence_level
    error = math.sqrt(float(np.sum((counts * (means - estimate)) ** 2))) / float(counts.sum())
    if error <= 1e-13 * max(abs(estimate), 1e-300) or means.size == 1:
        return -math.inf, math.inf

    def first_rejected(direction: float) -> float:
        def rejected(distance: float) -> bool:
            return p_of(estimate + direction * distance, side)[1] <= alpha

        near, step = 0.0, 0.25 * error
        while not rejected(near + step):
            near, step = near + step, 1.5 * step
            if near > FARTHEST * error:
                return direction * math.inf
        far = near + step
        while far - near > 1e-9 * error:
            middle = (near + far) / 2
            near, far = (near, middle) if rejected(middle) else (middle, far)
        return estimate + direction * far

    low = -math.inf if below is None else first_rejected(-1.0)
    high = math.inf if above is None else first_rejected(1.0)
    return low, high
