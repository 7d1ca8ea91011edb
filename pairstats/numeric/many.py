"""All pairs of several systems on the same families, with one error rate for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import as_sizes
from pairstats.numeric.exact import sign_flip
from pairstats.numeric.joint_sums import joint_permutations
from pairstats.numeric.multiplicity import METHODS, adjust
from pairstats.numeric.stepdown import as_table, romano_wolf

Floats = NDArray[np.float64]

PAIR_METHODS = (*METHODS, "shaffer", "romano-wolf", "max-t")


@dataclass(frozen=True, slots=True)
class PairTests:
    """Tests of all pairs of systems.

    Attributes
    ----------
    first, second : ndarray of int, shape (P,)
        The systems of each pair, as columns of the scores; ``first < second``.
    differences : ndarray, shape (P,)
        Mean of the first minus mean of the second.
    p_values : ndarray, shape (P,)
        Exact sign-flip p-value of each pair alone, two-sided.
    p_adjusted : ndarray, shape (P,)
        For all pairs together.
    n_systems : int
    method : str
        Adjustment; with "monte-carlo" where the law was drawn.
    seed : int or None
        Of the draw; None where nothing was drawn.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    differences: Floats
    p_values: Floats
    p_adjusted: Floats
    n_systems: int
    method: str
    seed: int | None = None

    def better(self, alpha: float = 0.05) -> NDArray[np.bool_]:
        """Whether the system of the row is better than that of the column, shape (k, k)."""
        table = np.zeros((self.n_systems, self.n_systems), dtype=bool)
        shown = self.p_adjusted <= alpha
        for a, b, sign in zip(self.first[shown], self.second[shown], self.differences[shown], strict=True):
            winner, loser = (a, b) if sign > 0 else (b, a)
            table[winner, loser] = sign != 0
        return table


def all_pairs(
    scores: ArrayLike,
    *,
    sizes: ArrayLike | None = None,
    method: str = "holm",
    n_resamples: int = 9999,
    rng: Any = None,
) -> PairTests:
    r"""Compare each two of k systems on the same families.

    Use it to compare every system with every other. Not for a few registered contrasts, which `sign_flip` and
    `holm` cover, nor for several outcomes of one pair (`max_t`).

    Parameters
    ----------
    scores : array_like, shape (G, k)
        Mean score of each family for each system.
    sizes : array_like, shape (G,), optional
        Decisions behind the scores of a family, for the item-weighted question; ones by default.
    method : str
        "holm" (the default) and the other names of `adjust`, on exact sign-flip p-values: strong control
        without an assumption. "shaffer": Holm's steps with only as many hypotheses as can still be true
        together (if A = B and B = C then A = C); more power, strong control. "romano-wolf": see
        `romano_wolf`. "max-t": permutes all labels within families and holds each difference against the
        largest; controls the error only where no system differs from any other (weak control).
    n_resamples : int
        Resamples of "romano-wolf", or arrangements of "max-t" where they are too many to list.
    rng : int, Generator or SeedSequence, optional
        For those two; left out, the seed follows from the scores.

    Returns
    -------
    PairTests

    Raises
    ------
    PairstatsError
        If the scores are not a finite table with at least two columns.

    Notes
    -----
    The p-value of each pair is that of `sign_flip` on the family totals of the difference; `adjust`, `shaffer`
    and `romano_wolf` give the formulas of the adjustments. "max-t" holds each difference against the law of the
    range of the column totals with labels permuted within families.

    References
    ----------
    Shaffer, J. P. (1986). Journal of the American Statistical Association 81, 826-831.
    doi:10.1080/01621459.1986.10478341

    Examples
    --------
    >>> scores = [[1, 1, 0]] * 8 + [[1, 0, 0]] * 2 + [[0, 1, 0]]
    >>> found = all_pairs(scores, method="shaffer")
    >>> found.p_values.round(4).tolist(), found.p_adjusted.round(4).tolist()
    ([1.0, 0.002, 0.0039], [1.0, 0.0059, 0.0059])
    """
    one_of("method", method, PAIR_METHODS)
    table = as_systems(scores)
    k = table.shape[1]
    counts = as_sizes(sizes, len(table))
    first, second = np.triu_indices(k, 1)
    gaps = table[:, first] - table[:, second]
    totals = gaps * counts[:, None]
    alone = np.array([sign_flip(column).p_value for column in totals.T])
    seed = None
    if method == "shaffer":
        adjusted = shaffer(alone, k)
    elif method == "romano-wolf":
        joint = romano_wolf(gaps, sizes=counts, n_resamples=n_resamples, rng=rng)
        adjusted, seed = joint.p_adjusted, joint.seed
    elif method == "max-t":
        method, adjusted, seed = _range_p(table * counts[:, None], totals.sum(axis=0), n_resamples, rng)
        adjusted = np.maximum(adjusted, alone)
    else:
        adjusted = adjust(alone, method)
    return PairTests(first, second, totals.sum(axis=0) / counts.sum(), alone, adjusted, k, method, seed)


def as_systems(scores: ArrayLike) -> Floats:
    """Finite scores, a row a family and a column for each of at least two systems.

    Examples
    --------
    >>> as_systems([[1], [0]])
    Traceback (most recent call last):
        ...
    pairstats.errors.PairstatsError: `scores` must have a column for each of at least two systems, ...
    """
    table = as_table("scores", scores)
    if table.shape[1] < 2:
        raise PairstatsError(
            "`scores` must have a column for each of at least two systems, but it has 1 column. "
            "Pass an array of shape (families, systems)."
        )
    return table


def shaffer(p_values: ArrayLike, n_systems: int) -> Floats:
    r"""Shaffer's step-down adjustment for all pairs of systems.

    Use it on the p-values of all pairs of k systems. Not for a subset of pairs or other contrasts, which `holm`
    covers.

    Parameters
    ----------
    p_values : array_like, shape (k (k - 1) / 2,)
        One a pair, in any order.
    n_systems : int
        Number of systems k, at least 2.

    Returns
    -------
    ndarray
        In the order given: :math:`\max_{j \le i} \min(1, t_j p_{(j)})`, where :math:`t_j` is the largest
        number of pairs that can be equal when at least :math:`j - 1` are not.

    Notes
    -----
    Holm's steps with :math:`t_j` in place of :math:`m - j + 1`, from the partitions of k systems into equal
    groups.

    References
    ----------
    Shaffer, J. P. (1986). Journal of the American Statistical Association 81, 826-831.
    doi:10.1080/01621459.1986.10478341

    Examples
    --------
    >>> shaffer([0.01, 0.02, 0.03], 3).tolist()
    [0.03, 0.03, 0.03]
    """
    p = adjust(p_values, "none")
    pairs = n_systems * (n_systems - 1) // 2
    if n_systems < 2 or p.size != pairs:
        raise PairstatsError(
            f"`p_values` must have one entry for each of the {pairs} pairs of {n_systems} systems, but has "
            f"{p.size}. Pass all pairs, or use `adjust` for a subset."
        )
    possible = np.array(sorted(_equal_pairs(n_systems)))
    # With `left` hypotheses not yet rejected, the largest possible number of true ones.
    factor = [int(possible[possible <= left].max()) for left in range(pairs, 0, -1)]
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, p[order] * factor))
    return adjusted


@lru_cache(maxsize=64)
def _equal_pairs(k: int) -> frozenset[int]:
    """Numbers of pairs that can be equal among k systems: a partition into groups of equals."""
    if k == 0:
        return frozenset({0})
    return frozenset(j * (j - 1) // 2 + rest for j in range(1, k + 1) for rest in _equal_pairs(k - j))


def _range_p(totals: Floats, gaps: Floats, n_resamples: int, rng: Any) -> tuple[str, Floats, int | None]:
    """Chance, with labels permuted within families, of a largest difference as large as each one."""
    informative = totals[np.ptp(totals, axis=1) > 1e-12 * max(1.0, float(np.abs(totals).max()))]
    if len(informative) == 0:
        return "max-t, exact", np.ones(gaps.size), None
    law = joint_permutations(informative, n_resamples=n_resamples, rng=rng)
    widest = np.ptp(law.sums, axis=1)[:, None]
    p_values = law.p_value(np.broadcast_to(widest, (len(widest), gaps.size)), np.abs(gaps))
    return f"max-t, {law.method}", p_values, law.seed
