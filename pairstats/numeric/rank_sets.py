"""What pairwise comparisons say about an order: ranks that are possible, groups that cannot be told apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError
from pairstats.numeric.checks import as_scores, check_level
from pairstats.numeric.many import PAIR_METHODS, all_pairs, as_systems
from pairstats.numeric.simultaneous import METHODS as SIMULTANEOUS
from pairstats.numeric.simultaneous import simultaneous_intervals

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RankIntervals:
    """Ranks that several systems may have.

    Attributes
    ----------
    best, worst : ndarray of int, shape (k,)
        Rank 1 is the best. All intervals hold the true ranks at once with the stated confidence.
    estimate : ndarray, shape (k,)
        Mean score.
    better : ndarray of bool, shape (k, k)
        Whether the system of the row is shown to be better than that of the column.
    confidence_level : float
    method : str
    seed : int or None
        Of the draw; None where nothing was drawn.
    """

    best: NDArray[np.int64]
    worst: NDArray[np.int64]
    estimate: Floats
    better: Flags
    confidence_level: float
    method: str
    seed: int | None = None


def rank_intervals(
    scores: ArrayLike,
    *,
    sizes: ArrayLike | None = None,
    method: str = "holm",
    bounds: tuple[float, float] = (0.0, 1.0),
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    rng: Any = None,
) -> RankIntervals:
    r"""Best and worst rank that each of k systems may have, instead of one rank that looks like data.

    Use it in place of a rank column. Not for how large a difference is, which `simultaneous_intervals`
    covers, nor for two systems (`sign_flip`).

    Parameters
    ----------
    scores : array_like, shape (G, k)
        Mean score of each family for each system; higher is better.
    sizes : array_like, shape (G,), optional
        Decisions behind the scores of a family; ones by default.
    method : str
        How systems are told apart. An adjustment of `all_pairs` ("holm" by default, "shaffer",
        "romano-wolf" ...): exact paired tests. Or a method of `simultaneous_intervals`
        ("bonferroni-jeffreys", "family-jeffreys", ...): differences whose interval excludes 0.
    bounds : (float, float)
        Range of a score; used by intervals only.
    confidence_level : float
        That all rank intervals are right at once.
    n_resamples, rng
        For methods that draw.

    Returns
    -------
    RankIntervals

    Raises
    ------
    PairstatsError
        If the scores are not a finite table, or the method controls no familywise error ("none", "bh",
        "by", "max-t").

    Notes
    -----
    Best rank: 1 + systems shown to be better. Worst rank: k - systems shown to be worse. If no comparison is
    wrong, no rank interval is; systems that are equal share every rank between theirs.

    References
    ----------
    Mogstad, M., Romano, J. P., Shaikh, A. M. & Wilhelm, D. (2024). Review of Economic Studies 91, 476-518.
    doi:10.1093/restud/rdad006

    Examples
    --------
    >>> scores = [[1, 1, 0]] * 8 + [[1, 0, 0]] * 2 + [[0, 1, 0]]
    >>> found = rank_intervals(scores)
    >>> list(zip(found.best.tolist(), found.worst.tolist()))
    [(1, 2), (1, 2), (3, 3)]
    """
    level = check_level(confidence_level)
    strong = [name for name in PAIR_METHODS if name not in ("none", "bh", "by", "max-t")]
    if method not in (*strong, *SIMULTANEOUS):
        raise PairstatsError(
            f"`method` must be one of {', '.join(map(repr, (*strong, *SIMULTANEOUS)))}, but got {method!r}. "
            "Others do not keep all comparisons right at once."
        )
    table = as_systems(scores)
    if method in SIMULTANEOUS:
        better, seed = _by_intervals(table, sizes, method, bounds, level, n_resamples, rng)
    else:
        tests = all_pairs(table, sizes=sizes, method=method, n_resamples=n_resamples, rng=rng)
        better, seed = tests.better(1 - level), tests.seed
    best, worst = rank_bounds(better)
    weights = None if sizes is None else as_scores("sizes", sizes)
    estimate = np.average(table, axis=0, weights=weights)
    return RankIntervals(best, worst, estimate, better, level, method, seed)


def rank_bounds(better: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Best and worst rank of each system from what was shown.

    Use it on verdicts of any kind that hold together. Not on unadjusted tests, whose errors add up:
    `rank_intervals` makes the verdicts as well.

    Parameters
    ----------
    better : array_like of bool, shape (k, k)
        Whether the system of the row is shown to be better than that of the column.

    Returns
    -------
    ndarray of int, shape (k,)
        Best ranks; 1 is the best.
    ndarray of int, shape (k,)
        Worst ranks.

    Notes
    -----
    Best rank: 1 + systems shown to be better. Worst rank: k - systems shown to be worse.

    References
    ----------
    Mogstad, M., Romano, J. P., Shaikh, A. M. & Wilhelm, D. (2024). Review of Economic Studies 91, 476-518.
    doi:10.1093/restud/rdad006

    Examples
    --------
    >>> [ranks.tolist() for ranks in rank_bounds([[False, False, True], [False] * 3, [False] * 3])]
    [[1, 1, 2], [2, 3, 3]]
    """
    flags = _square(better)
    return 1 + flags.sum(axis=0), len(flags) - flags.sum(axis=1)


def indistinguishable_groups(
    better: ArrayLike, *, order: ArrayLike | None = None
) -> tuple[tuple[int, ...], ...]:
    """Largest groups of systems of which no two were told apart.

    Use it in place of a ranking. Not for two systems, for which the one test says all; for letters in a table
    see `group_letters`.

    Groups may overlap: A and B may not differ, nor B and C, and yet A and C do.

    Parameters
    ----------
    better : array_like of bool, shape (k, k)
        Whether the system of the row is shown to be better than that of the column; see `PairTests.better`.
    order : array_like, shape (k,), optional
        Values, such as estimates, by which systems and groups are put in descending order.

    Returns
    -------
    tuple of tuple of int
        Every system is in at least one group.

    Notes
    -----
    Maximal cliques of the graph in which two systems are joined unless one was shown to be better.

    References
    ----------
    Piepho, H.-P. (2004). Journal of Computational and Graphical Statistics 13, 456-466.
    doi:10.1198/1061860043515

    Examples
    --------
    >>> better = [[False, False, True], [False, False, False], [False, False, False]]
    >>> indistinguishable_groups(better)
    ((0, 1), (1, 2))
    """
    flags = _square(better)
    k = len(flags)
    values = np.zeros(k) if order is None else as_scores("order", order)
    if values.size != k:
        raise PairstatsError(
            f"`order` must have one entry for each of the {k} systems, but it has {values.size}. Pass estimates."
        )
    place = np.empty(k, dtype=np.int64)
    place[np.argsort(-values, kind="stable")] = np.arange(k)
    alike = ~(flags | flags.T)
    neighbours = [set(np.flatnonzero(alike[i]).tolist()) - {i} for i in range(k)]
    groups = [sorted(group, key=lambda i: int(place[i])) for group in _cliques(neighbours, set(range(k)))]
    return tuple(sorted(map(tuple, groups), key=lambda group: [int(place[i]) for i in group]))


def group_letters(better: ArrayLike, *, order: ArrayLike | None = None) -> tuple[str, ...]:
    """Compact letter display: systems that share a letter were not told apart.

    Use it to mark, in a table or figure, which systems were not told apart. Not for what may be concluded about
    ranks, which `rank_intervals` gives.

    The best group is "a". Beyond 26 groups the
    letters are doubled: "aa", "ab", each separated by a space.

    Parameters
    ----------
    better, order
        As in `indistinguishable_groups`.

    Returns
    -------
    tuple of str

    Notes
    -----
    One letter for each largest group of `indistinguishable_groups`, in descending order.

    References
    ----------
    Piepho, H.-P. (2004). Journal of Computational and Graphical Statistics 13, 456-466.
    doi:10.1198/1061860043515

    Examples
    --------
    >>> group_letters([[False, False, True], [False, False, False], [False, False, False]])
    ('a', 'ab', 'b')
    """
    groups = indistinguishable_groups(better, order=order)
    letters = "abcdefghijklmnopqrstuvwxyz"
    doubled = len(groups) > len(letters)
    names = [letters[n // 26] + letters[n % 26] if doubled else letters[n] for n in range(len(groups))]
    systems = range(len(np.asarray(better)))
    return tuple(
        (" " if doubled else "").join(name for name, group in zip(names, groups, strict=True) if i in group)
        for i in systems
    )


def _by_intervals(
    table: Floats,
    sizes: ArrayLike | None,
    method: str,
    bounds: tuple[float, float],
    level: float,
    n_resamples: int,
    rng: Any,
) -> tuple[Flags, int | None]:
    k, width = table.shape[1], bounds[1] - bounds[0]
    first, second = np.triu_indices(k, 1)
    found = simultaneous_intervals(
        table[:, first] - table[:, second],
        sizes=sizes,
        bounds=(-width, width),
        method=method,
        confidence_level=level,
        n_resamples=n_resamples,
        rng=rng,
    )
    better = np.zeros((k, k), dtype=bool)
    better[first, second] = found.low > 0
    better[second, first] = found.high < 0
    return better, found.seed


def _cliques(neighbours: list[set[int]], candidates: set[int]) -> Iterator[set[int]]:
    """Maximal cliques, by Bron and Kerbosch with a pivot."""
    waiting = [(set[int](), candidates, set[int]())]
    while waiting:
        clique, left, done = waiting.pop()
        if not left and not done:
            yield clique
            continue
        pivot = max(left | done, key=lambda i: (len(neighbours[i] & left), -i))
        for i in sorted(left - neighbours[pivot]):
            waiting.append((clique | {i}, left & neighbours[i], done & neighbours[i]))
            left, done = left - {i}, done | {i}


def _square(better: ArrayLike) -> Flags:
    flags = np.asarray(better)
    if flags.ndim != 2 or flags.shape[0] != flags.shape[1] or flags.shape[0] == 0 or flags.dtype != bool:
        raise PairstatsError(
            f"`better` must be a square table of booleans, but got {flags.dtype} of shape {flags.shape}. "
            "Pass PairTests.better(alpha)."
        )
    both = np.argwhere(flags & flags.T)
    if both.size:
        raise PairstatsError(
            "`better` must not hold both ways, but systems "
            f"{both[0][0]} and {both[0][1]} are each better than the other. Row means winner, column loser."
        )
    return flags
