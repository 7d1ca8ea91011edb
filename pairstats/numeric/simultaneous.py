"""Intervals for several contrasts that hold together, from one draw of family weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import one_of
from pairstats.numeric.checks import as_count, as_sizes, check_bounds, tails
from pairstats.numeric.draws import bootstrap_weights, family_types, seeded
from pairstats.numeric.facing import facing_columns
from pairstats.numeric.family import PSEUDO_WEIGHT, family_interval
from pairstats.numeric.stepdown import as_table

Floats = NDArray[np.float64]

METHODS = ("bonferroni-jeffreys", "bonferroni-cp", "family-jeffreys", "family-cp", "percentile")


@dataclass(frozen=True, slots=True)
class SimultaneousIntervals:
    """Intervals that all hold at once with the stated confidence.

    Attributes
    ----------
    estimate, low, high : ndarray, shape (M,)
        Mean difference of each contrast, and its limits.
    confidence_level : float
        Of all together.
    individual_level : float
        Of each one alone; at most that of Bonferroni's correction.
    method : str
    alternative : {"two-sided", "less", "greater"}
    n_resamples : int or None
        Draws that the individual level was found from; None for Bonferroni.
    seed : int or None
        Of the draw: derived from the differences, or the one given; None for Bonferroni.
    """

    estimate: Floats
    low: Floats
    high: Floats
    confidence_level: float
    individual_level: float
    method: str
    alternative: str
    n_resamples: int | None
    seed: int | None = None


def simultaneous_intervals(
    differences: ArrayLike,
    *,
    sizes: ArrayLike | None = None,
    bounds: tuple[float, float] = (-1.0, 1.0),
    method: str = "bonferroni-jeffreys",
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    n_resamples: int = 10_000,
    rng: Any = None,
) -> SimultaneousIntervals:
    r"""Intervals for several contrasts on the same families with one joint confidence level.

    Use it where several differences are read together. Not for one, nor for limits at the level of each alone,
    which `family_interval` covers.

    Parameters
    ----------
    differences : array_like, shape (G, M)
        Mean difference (or score) of each family in each contrast, within `bounds`.
    sizes : array_like, shape (G,), optional
        Decisions behind the differences of each family; ones by default.
    bounds : (float, float)
        Range of a difference.
    method : str
        "bonferroni-jeffreys" (the default) and "bonferroni-cp": family intervals at level
        :math:`1 - \alpha/M`; no randomness, and no assumption about the contrasts. "family-jeffreys" and
        "family-cp": the same intervals at the level at which one draw of Dirichlet weights lies within all
        of them at once; shorter where contrasts are correlated. "percentile": quantiles of one draw of
        bootstrap weights; too short near a ceiling and with few families.
    confidence_level : float
        In (0, 1).
    alternative : {"two-sided", "less", "greater"}
        "greater": lower limits only; "less": upper limits only.
    n_resamples : int
        Draws, except for Bonferroni.
    rng : int, Generator or SeedSequence, optional
        Left out, the seed follows from the differences.

    Returns
    -------
    SimultaneousIntervals

    Raises
    ------
    PairstatsError
        If the table is empty, not finite or outside `bounds`.

    Notes
    -----
    Let :math:`u_{bj}` be the smaller tail at which draw b lies among the draws of contrast j (a share of
    draws, doubled for two-sided limits), :math:`m_b = \min_j u_{bj}`. The individual error is the
    :math:`\alpha` quantile of m, but never below :math:`\alpha/M`: equal for all contrasts, so that the
    intervals are balanced.

    References
    ----------
    Beran, R. (1988). Journal of the American Statistical Association 83, 679-686.
    doi:10.1080/01621459.1988.10478649

    Examples
    --------
    >>> table = [[1, 1, 0], [1, 0, 1], [0, 0, 0], [1, 1, 1], [0, -1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 0]]
    >>> found = simultaneous_intervals(table)
    >>> found.low.round(3).tolist(), round(found.individual_level, 4)
    ([0.021, -0.288, -0.132], 0.9833)
    """
    one_of("method", method, METHODS)
    rows = as_table("differences", differences)
    counts = as_sizes(sizes, len(rows))
    check_bounds(rows.ravel(), bounds)
    tails(confidence_level, alternative)  # checks both
    error = 1.0 - confidence_level
    least = error / rows.shape[1]
    draw, seed = None, None
    if not method.startswith("bonferroni"):
        size = as_count("n_resamples", n_resamples, minimum=1)
        order, signs = facing_columns(rows, counts, turn=bounds[0] == -bounds[1])
        drawn, seed = _draw(rows[:, order] * signs, counts, method, bounds, size, rng)
        draw = _turned_back(*drawn, order, signs)
        error = min(error, max(least, _joint_error(draw, error, alternative)))
    else:
        error = least
    low, high = _limits(rows, counts, method, bounds, 1 - error, alternative, draw)
    return SimultaneousIntervals(
        estimate=counts @ rows / counts.sum(),
        low=low,
        high=high,
        confidence_level=float(confidence_level),
        individual_level=1 - error,
        method=method,
        alternative=alternative,
        n_resamples=None if draw is None else int(n_resamples),
        seed=seed,
    )


def _limits(
    rows: Floats,
    counts: Floats,
    method: str,
    bounds: tuple[float, float],
    level: float,
    alternative: str,
    draw: tuple[Floats, Floats] | None,
) -> tuple[Floats, Floats]:
    if method == "percentile" and draw is not None:
        below, above = tails(level, alternative)
        everywhere = np.ones(rows.shape[1])
        low, high = (np.sort(side, axis=0) for side in draw)
        return (
            bounds[0] * everywhere if below is None else low[_rank(below, len(low))],
            bounds[1] * everywhere if above is None else high[-1 - _rank(above, len(high))],
        )
    kind: Literal["jeffreys", "cp"] = "cp" if method.endswith("cp") else "jeffreys"
    found = [
        family_interval(
            column, sizes=counts, kind=kind, bounds=bounds, confidence_level=level, alternative=alternative
        )
        for column in rows.T
    ]
    return np.array([one.low for one in found]), np.array([one.high for one in found])


def _rank(tail: float, size: int) -> int:
    """Position of the order statistic with at most a share `tail` of the draws below it."""
    return min(max(math.ceil(size * tail - 1e-9) - 1, 0), size - 1)


def _draw(
    rows: Floats, counts: Floats, method: str, bounds: tuple[float, float], n_resamples: int, rng: Any
) -> tuple[tuple[Floats, Floats], int | None]:
    """Contrasts under random weights of the families, for lower and for upper limits, (B, M); and the seed."""
    types = family_types(np.column_stack([rows * counts[:, None], counts]))
    generator, seed = seeded(types.totals[types.index], rng)
    if method == "percentile":
        weights = bootstrap_weights(types.counts, n_resamples=n_resamples, rng=generator).astype(np.float64)
        sums = weights @ types.totals
        values = sums[:, :-1] / sums[:, -1:]
        return (values, values), seed
    kind = method.removeprefix("family-")
    sums = generator.standard_gamma(types.counts, (n_resamples, types.counts.size)) @ types.totals
    size = float(counts.max() if kind == "cp" else counts.mean())
    pseudo = size * generator.standard_gamma(PSEUDO_WEIGHT[kind], (n_resamples, 2))
    if kind == "cp":
        # One pseudo-family, at the lower end for the lower limit and at the upper end for the upper one.
        extra = pseudo[:, :1]
        low, high = ((sums[:, :-1] + extra * end) / (sums[:, -1:] + extra) for end in bounds)
        return (low, high), seed
    values = (sums[:, :-1] + pseudo @ np.array(bounds)[:, None]) / (
        sums[:, -1:] + pseudo.sum(axis=1)[:, None]
    )
    return (values, values), seed


def _turned_back(low: Floats, high: Floats, order: NDArray[np.int64], signs: Floats) -> tuple[Floats, Floats]:
    """Draws of the contrasts as they were given, from those of `facing_columns`."""
    below, above = np.empty_like(low), np.empty_like(high)
    below[:, order] = np.where(signs < 0, -high, low)
    above[:, order] = np.where(signs < 0, -low, high)
    return below, above


def _joint_error(draw: tuple[Floats, Floats], error: float, alternative: str) -> float:
    """Error of each interval alone at which all hold a draw with probability 1 - error."""
    below, above = tails(1 - error, alternative)
    size = len(draw[0])
    smallest = np.full(size, np.inf)
    doubled = 2.0 if alternative == "two-sided" else 1.0
    for values, used, sign in ((draw[0], below, 1), (draw[1], above, -1)):
        if used is None:
            continue
        for column in values.T:
            ordered = np.sort(sign * column)
            # Share of draws at or beyond this one; ties count whole, so that atoms are within.
            reached = np.searchsorted(ordered, sign * column, side="right") / size
            smallest = np.minimum(smallest, doubled * reached)
    return float(np.sort(smallest)[_rank(error, size)])
