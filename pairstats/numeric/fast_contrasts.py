"""Many contrasts on the same families at once: exact tests and family intervals by array operations.

One contrast: `sign_flip` and `family_interval`. Here the same numbers come for a thousand in about a second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, expit, logit

from pairstats.errors import one_of
from pairstats.numeric.batch import sign_flip_many
from pairstats.numeric.batch import upper_tail as upper_tails
from pairstats.numeric.checks import as_sizes, check_bounds, tails
from pairstats.numeric.exact import sign_flip
from pairstats.numeric.family import KINDS, PSEUDO_WEIGHT
from pairstats.numeric.stepdown import as_table

Floats = NDArray[np.float64]

SMALL_P = 1e-6
"""P-values below it are computed one by one, so that all their digits are right."""

BLOCK = 2**20
"""Numbers held at a time."""

ROUNDS = 60
"""Most evaluations of the distribution function for a limit; about eight are needed."""


@dataclass(frozen=True, slots=True)
class ManyContrasts:
    """Contrasts of the same families, an entry each.

    Attributes
    ----------
    estimate, low, high : ndarray, shape (M,)
        Mean difference with its family interval, each at the full level alone.
    p_value : ndarray, shape (M,)
        Exact sign-flip p-value, not adjusted.
    n_nonzero : ndarray of int, shape (M,)
        Families that differ.
    method : str
    confidence_level : float
    alternative : {"two-sided", "less", "greater"}
    """

    estimate: Floats
    low: Floats
    high: Floats
    p_value: Floats
    n_nonzero: NDArray[np.int64]
    method: str
    confidence_level: float
    alternative: str


def many_contrasts(
    differences: ArrayLike,
    *,
    sizes: ArrayLike | None = None,
    kind: str = "jeffreys",
    bounds: tuple[float, float] = (-1.0, 1.0),
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
) -> ManyContrasts:
    """Exact sign-flip test and family interval of each of many contrasts.

    Use it for screens (categories by models by conditions). Not for one contrast, which `sign_flip` and
    `family_interval` give one by one. Adjust the p-values with `adjust`; for intervals that
    hold together pass the level of `simultaneous_intervals`.

    Parameters
    ----------
    differences : array_like, shape (G, M)
        Mean difference of each family in each contrast, within `bounds`.
    sizes : array_like, shape (G,), optional
        Decisions behind the differences of a family, equal for all contrasts; ones by default.
    kind : {"jeffreys", "cp"}
        As in `family_interval`.
    bounds : (float, float)
        Range of a difference.
    confidence_level : float
        In (0, 1).
    alternative : {"two-sided", "less", "greater"}

    Returns
    -------
    ManyContrasts
        Equal to the functions for one contrast: limits to 1e-8 of the range, p-values to 1e-9 of themselves.

    Raises
    ------
    PairstatsError
        If the table is empty, not finite or outside `bounds`.

    Notes
    -----
    Formulas as in `sign_flip` and `family_interval`; families of equal totals are counted once for all
    contrasts.

    References
    ----------
    Learned-Miller, E. & Thomas, P. S. (2019). A new confidence interval for the mean of a bounded random
    variable. arXiv:1905.06208
    Canay, I. A., Romano, J. P. & Shaikh, A. M. (2017). Econometrica 85, 1013-1030. doi:10.3982/ECTA13081

    Examples
    --------
    >>> found = many_contrasts([[0.5, 0.0]] * 10 + [[0.0, -0.5]] * 4)
    >>> found.p_value.round(4).tolist(), found.low.round(3).tolist()
    ([0.002, 0.125], [0.131, -0.3])
    """
    one_of("kind", kind, KINDS)
    table = as_table("differences", differences)
    counts = as_sizes(sizes, len(table))
    low, high = check_bounds(table.ravel(), bounds)
    below, above = tails(confidence_level, alternative)
    rows = np.clip(np.round((table.T - low) / (high - low), 13), 0.0, 1.0)
    pseudo = float(counts.max() if kind == "cp" else counts.mean())
    lower = _lower_limits(rows, counts, pseudo, kind, below)
    upper = 1.0 - _lower_limits(1.0 - rows, counts, pseudo, kind, above)
    totals = table.T * counts
    p = sign_flip_many(totals, alternative=alternative)
    for row in np.flatnonzero(p < SMALL_P):
        p[row] = sign_flip(totals[row], alternative=alternative).p_value
    sizeable = 1e-9 * np.abs(totals).max(axis=1, keepdims=True)
    return ManyContrasts(
        estimate=totals.sum(axis=1) / counts.sum(),
        low=np.where(lower == 0, low, low + lower * (high - low)),
        high=np.where(upper == 1, high, low + upper * (high - low)),
        p_value=p,
        n_nonzero=(np.abs(totals) > sizeable).sum(axis=1),
        method=f"sign-flip exact, family-{kind}",
        confidence_level=float(confidence_level),
        alternative=alternative,
    )


def _lower_limits(rows: Floats, sizes: Floats, pseudo: float, kind: str, tail: float | None) -> Floats:
    """Lower limits on [0, 1], one a row; 0 where every family is 0 or no limit is asked."""
    limits = np.zeros(len(rows))
    if tail is None:
        return limits
    values, weights, counts = _compressed(rows, sizes)
    ends = [0.0, 1.0] if kind == "jeffreys" else [0.0]
    extra = (len(rows), len(ends))
    values = np.concatenate([np.broadcast_to(ends, extra), values], axis=1)
    weights = np.concatenate([np.full(extra, PSEUDO_WEIGHT[kind]), weights], axis=1)
    counts = np.concatenate([np.full(extra, pseudo), counts], axis=1)
    designs, where = np.unique(np.stack([values, weights, counts], axis=1), axis=0, return_inverse=True)
    some = np.flatnonzero((designs[:, 0, len(ends) :] * designs[:, 1, len(ends) :]).any(axis=1))
    found = np.zeros(len(designs))
    block = max(1, BLOCK // (16 * values.shape[1]))
    for start in range(0, some.size, block):
        chosen = some[start : start + block]
        found[chosen] = _quantiles(tail, *designs[chosen].transpose(1, 0, 2))
    limits[:] = found[where.ravel()]
    return limits


def _compressed(rows: Floats, sizes: Floats) -> tuple[Floats, Floats, Floats]:
    """Distinct pairs of value and size in each row, their number of families, padded with weight 0."""
    distinct_sizes = np.unique(sizes)
    packed = [np.unique(np.stack([row, sizes]), axis=1, return_counts=True) for row in rows] if (
        distinct_sizes.size > 1
    ) else [np.unique(row, return_counts=True) for row in rows]  # fmt: skip
    most = max(count.size for _, count in packed)
    values, weights = np.zeros((len(rows), most)), np.zeros((len(rows), most))
    counts = np.full((len(rows), most), distinct_sizes[0])
    for r, (kinds, count) in enumerate(packed):
        values[r, : count.size] = kinds if kinds.ndim == 1 else kinds[0]
        weights[r, : count.size] = count
        if kinds.ndim == 2:
            counts[r, : count.size] = kinds[1]
    return values, weights, counts


def _quantiles(tail: float, values: Floats, weights: Floats, sizes: Floats) -> Floats:
    """Quantile of the Dirichlet-weighted mean of each row, by false position on the log-odds scale."""
    top = np.where(weights > 0, values, 0.0).max(axis=1)
    target = float(logit(tail))

    def excess(z: Floats, at: NDArray[np.int64]) -> Floats:
        point = top[at] * expit(z)
        below = _row_tails(weights[at], sizes[at] * (values[at] - point[:, None]))
        return np.clip(logit(np.clip(below, 1e-300, 1 - 1e-16)) - target, -1e6, 1e6)

    everything = np.arange(len(values))
    low, step = _beta_guesses(tail, values / top[:, None], weights, sizes)
    at_low = excess(low, everything)
    high, at_high = low.copy(), at_low.copy()
    # Brackets: step away from the guess, ever further, on the side where the root is.
    for sign, end, at_end in ((-1, low, at_low), (1, high, at_high)):
        reach, left = step.copy(), np.flatnonzero(sign * at_end < 0)
        while left.size:
            end[left] += sign * reach[left]
            reach[left] *= 4
            at_end[left] = excess(end[left], left)
            left = left[sign * at_end[left] < 0]
    kept, root, left = np.zeros(len(values)), high.copy(), np.flatnonzero(at_high > 0)
    for _ in range(ROUNDS):
        left = left[high[left] - low[left] > 1e-12 * np.maximum(1.0, np.abs(high[left]))]
        if not left.size:
            break
        middle = high[left] - at_high[left] * (high[left] - low[left]) / (at_high[left] - at_low[left])
        value = excess(middle, left)
        root[left] = middle
        up = value > 0
        # Illinois rule: an end that stays twice in a row counts half.
        at_low[left[up]] /= np.where(kept[left[up]] > 0, 2, 1)
        at_high[left[~up]] /= np.where(kept[left[~up]] < 0, 2, 1)
        high[left[up]], at_high[left[up]] = middle[up], value[up]
        low[left[~up]], at_low[left[~up]] = middle[~up], value[~up]
        kept[left] = np.where(up, 1, -1)
        left = left[np.abs(value) > 1e-10]
    found: Floats = top * expit(root)
    return found


def _beta_guesses(tail: float, values: Floats, weights: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Log-odds of the quantile of the beta distribution of equal mean and variance, and a first step."""
    shares = weights * sizes / (weights * sizes).sum(axis=1, keepdims=True)
    mean = (shares * values).sum(axis=1)
    spread = (shares * sizes * (values - mean[:, None]) ** 2).sum(axis=1)
    variance = spread / ((weights + shares) * sizes).sum(axis=1)
    prior = np.maximum(mean * (1 - mean) / variance - 1, 0.1)
    guess = np.clip(logit(betaincinv(mean * prior, (1 - mean) * prior, tail)), -300.0, 30.0)
    return guess, 0.02 / np.sqrt(prior * mean * (1 - mean))


def _row_tails(weights: Floats, c: Floats) -> Floats:
    """P(Q <= 0) for Q = sum of c * Gamma(weights), a row each."""
    # The smaller tail is integrated: where the mean of Q is positive, Q changes sign.
    sign = np.where((weights * c).sum(axis=1) > 0, -1.0, 1.0)
    turned = sign[:, None] * c
    top = np.where(weights > 0, turned, -np.inf).max(axis=1)
    tail = np.zeros(len(c))
    possible = top > 0
    if possible.any():
        tail[possible] = upper_tails(turned[possible], weights[possible], top[possible])
    return np.where(sign > 0, 1.0 - tail, tail)
