"""Paired medians of tokens, cost and latency, with families resampled."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError, listed
from pairstats.numeric.checks import as_count, as_scores, tails
from pairstats.numeric.draws import bootstrap_weights, seeded
from pairstats.numeric.limits import order_statistic, quantile_error
from pairstats.numeric.shares import family_codes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BLOCK = 2**21
"""Weights held at once: 16 MB."""


@dataclass(frozen=True, slots=True)
class MedianInterval:
    """A value of medians with its percentile limits.

    Attributes
    ----------
    estimate, low, high : float
    mc_error : float
        Larger Monte-Carlo standard error of the two limits.
    """

    estimate: float
    low: float
    high: float
    mc_error: float


@dataclass(frozen=True, slots=True)
class PairedMedians:
    """Medians of two systems on the same items.

    Attributes
    ----------
    first, second : MedianInterval
        Median of each system.
    difference : MedianInterval
        Median of the first minus median of the second.
    ratio : MedianInterval or None
        Median of the first over median of the second; None unless all values are positive.
    median_difference : MedianInterval
        Median of the differences item by item, which need not be the difference of the medians.
    n_items, n_families : int
    method : str
    confidence_level : float
    alternative : {"two-sided", "less", "greater"}
    n_resamples : int
    seed : int or None
    """

    first: MedianInterval
    second: MedianInterval
    difference: MedianInterval
    ratio: MedianInterval | None
    median_difference: MedianInterval
    n_items: int
    n_families: int
    method: str
    confidence_level: float
    alternative: str
    n_resamples: int
    seed: int | None


def paired_medians(
    first: ArrayLike,
    second: ArrayLike,
    *,
    families: Sequence[Hashable] | None = None,
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    n_resamples: int = 10_000,
    rng: Any = None,
) -> PairedMedians:
    """Medians of two systems, their difference and ratio, with percentile intervals by family.

    Use it for skewed usage numbers: tokens, cost, seconds. Not for what a bill adds up to. One draw of
    families serves all five, so they agree with each other. For totals or means take a ratio of sums,
    `bootstrap_interval`: ``bootstrap_interval(first_totals / second_totals, sizes=second_totals)``. With
    fewer than about 10 families the percentile interval of a median is too short.

    Parameters
    ----------
    first, second : array_like, shape (n,)
        Value of each item in either system, in any unit.
    families : sequence, shape (n,), optional
        Family of each item; each item its own if left out.
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}
    n_resamples : int, default 10000
    rng : int, Generator or SeedSequence, optional
        Left out, the seed follows from the data.

    Returns
    -------
    PairedMedians

    Raises
    ------
    PairstatsError
        If the values are not finite or not paired.

    Notes
    -----
    The median of a resample with whole weights is the middle of the repeated values, the mean of the two
    middle ones where their number is even; limits are order statistics of the replicates.

    References
    ----------
    Efron, B. (1979). Annals of Statistics 7, 1-26. doi:10.1214/aos/1176344552

    Examples
    --------
    >>> found = paired_medians([120, 80, 200, 150, 90, 300], [100, 90, 100, 100, 80, 150], n_resamples=999)
    >>> found.first.estimate, found.ratio.estimate, found.median_difference.estimate
    (135.0, 1.35, 35.0)
    """
    one, other = as_scores("first", first), as_scores("second", second)
    if one.size != other.size:
        raise PairstatsError(
            f"`first` and `second` must have one value for each item, but have {one.size} and {other.size}. "
            "Leave out items without a value on either side, and count them."
        )
    below, above = tails(confidence_level, alternative)
    draws = as_count("n_resamples", n_resamples, minimum=1)
    codes = family_codes(families, one.size)
    # One draw for A against B and for B against A: made for the order of the two that sorts first.
    swapped = _pairs(other, one) < _pairs(one, other)
    if swapped:
        other, one, codes = _canonical(other, one, codes)
    else:
        one, other, codes = _canonical(one, other, codes)
    generator, seed = seeded(np.column_stack([*((other, one) if swapped else (one, other)), codes]), rng)
    columns = np.column_stack([one, other, one - other])
    n_families = int(codes.max()) + 1
    replicates = np.empty((draws, 3))
    rows = max(1, BLOCK // one.size)
    for start in range(0, draws, rows):
        size = min(rows, draws - start)
        weights = bootstrap_weights(np.ones(n_families), n_resamples=size, rng=generator)[:, codes]
        for place, column in enumerate(columns.T):
            replicates[start : start + size, place] = weighted_medians(column, weights)
    estimates = np.median(columns, axis=0)

    def interval(
        estimate: float, drawn: Floats, below: float | None = below, above: float | None = above
    ) -> MedianInterval:
        quantile = functools.partial(order_statistic, np.sort(drawn))
        levels = (below, None if above is None else 1 - above)
        ends = [math.inf if level is None else quantile(level) for level in levels]
        errors = [quantile_error(x, quantile, draws, "percentile", 0.0) for x in levels if x is not None]
        return MedianInterval(estimate, -math.inf if below is None else ends[0], ends[1], max(errors))

    def difference(estimate: float, drawn: Floats) -> MedianInterval:
        if not swapped:
            return interval(estimate, drawn, below, above)
        back = interval(-estimate, -drawn, above, below)
        return MedianInterval(estimate, 0.0 - back.high, 0.0 - back.low, back.mc_error)

    a, b, gap = (float(value) for value in estimates)
    positive = bool((one > 0).all() and (other > 0).all())
    return PairedMedians(
        first=interval(a, replicates[:, 0]),
        second=interval(b, replicates[:, 1]),
        difference=difference(a - b, replicates[:, 0] - replicates[:, 1]),
        ratio=interval(a / b, replicates[:, 0] / replicates[:, 1]) if positive else None,
        median_difference=difference(gap, replicates[:, 2]),
        n_items=one.size,
        n_families=n_families,
        method="percentile (Monte Carlo)",
        confidence_level=float(confidence_level),
        alternative=alternative,
        n_resamples=draws,
        seed=seed,
    )


def weighted_medians(values: ArrayLike, weights: ArrayLike) -> Floats:
    """Median of values repeated as often as their whole weights say, for each row of weights.

    Parameters
    ----------
    values : array_like, shape (n,)
    weights : array_like of int, shape (B, n)
        Each row with a positive sum.

    Examples
    --------
    >>> weighted_medians([5, 1, 3], [[1, 1, 1], [2, 2, 0]]).tolist()
    [3.0, 3.0]
    """
    numbers, counts = as_scores("values", values), np.asarray(weights, dtype=np.int64)
    if counts.ndim != 2 or counts.shape[1] != numbers.size or (counts < 0).any():
        raise PairstatsError(
            f"`weights` must have a column of counts for each of the {numbers.size} values, but its shape is "
            f"{counts.shape} and its smallest entry {counts.min(initial=0)}."
        )
    order = np.argsort(numbers, kind="stable")
    reached = np.cumsum(counts[:, order], axis=1)
    empty = np.flatnonzero(reached[:, -1] == 0)
    if empty.size:
        raise PairstatsError(f"`weights` must not be all 0 in a row, but rows {listed(empty.tolist())} are.")
    half = reached[:, -1:]
    lower = (2 * reached < half).sum(axis=1)
    upper = (2 * reached <= half).sum(axis=1)
    ordered = numbers[order]
    return (ordered[lower] + ordered[upper]) / 2


def _pairs(one: Floats, other: Floats) -> list[tuple[float, float]]:
    return sorted(zip(one.tolist(), other.tolist(), strict=True))


def _canonical(one: Floats, other: Floats, codes: Ints) -> tuple[Floats, Floats, Ints]:
    """Items and numbers of families in an order that depends on the values alone."""
    order = np.lexsort((other, one))
    one, other, codes = one[order], other[order], codes[order]
    # Families are numbered by their smallest item, ties by the items that follow.
    members: dict[int, list[tuple[float, float]]] = {}
    for code, a, b in zip(codes.tolist(), one.tolist(), other.tolist(), strict=True):
        members.setdefault(code, []).append((a, b))
    rank = {code: place for place, code in enumerate(sorted(members, key=members.__getitem__))}
    renamed = np.array([rank[code] for code in codes.tolist()], dtype=np.int64)
    order = np.lexsort((renamed, other, one))
    return one[order], other[order], renamed[order]
