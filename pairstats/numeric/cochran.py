"""Cochran's Q: whether more than two systems score equally on the same items or families."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import as_count
from pairstats.numeric.draws import seeded
from pairstats.numeric.facing import nameless_rows
from pairstats.numeric.lattice import common_lattice, lattice_steps
from pairstats.numeric.shares import family_codes
from pairstats.numeric.signsum import as_p

Floats = NDArray[np.float64]
Steps = NDArray[np.int64]

METHODS = ("exact", "monte-carlo", "chi2")

EXACT_COST = 3e8
"""Additions that the exact distribution may take (about a second)."""


@dataclass(frozen=True, slots=True)
class CochranTest:
    """Test that the labels of all systems are exchangeable within each family.

    Attributes
    ----------
    statistic : float
        Cochran's Q.
    p_value : float
        In (0, 1]; 1 where no family tells the systems apart.
    df : int
        Number of systems less one, of the chi-square approximation.
    n_informative : int
        Families in which the systems differ.
    method : {"exact", "monte-carlo", "chi2"}
        What was computed.
    mc_error : float or None
        Standard error of a Monte-Carlo p-value, otherwise None.
    seed : int or None
        Of the arrangements that were drawn; None where none were.
    """

    statistic: float
    p_value: float
    df: int
    n_informative: int
    method: str
    mc_error: float | None = None
    seed: int | None = None


def cochran_q(
    scores: ArrayLike,
    *,
    families: Sequence[Hashable] | NDArray[Any] | None = None,
    method: str | None = None,
    n_resamples: int = 9999,
    rng: Any = None,
) -> CochranTest:
    r"""Test whether k systems score equally on the same items.

    Use it as the one global test of three or more systems. Not to find which differ: `all_pairs` covers that
    and does not need this test first.

    Parameters
    ----------
    scores : array_like, shape (n_items, k)
        One row an item, one column a system; 0 and 1, or any finite scores.
    families : sequence, shape (n_items,), optional
        Family of each item. The scores of a family are summed, and its labels are permuted together.
        Left out, every item is its own family.
    method : {"exact", "monte-carlo", "chi2"}, optional
        "exact": all k! arrangements of the labels in each family. "monte-carlo": random ones,
        (b + 1) / (B + 1). "chi2": the large-sample approximation. Left out, "exact" where it takes about
        a second at most (on whole-number or lattice scores), otherwise "monte-carlo"; the result says which.
    n_resamples : int
        Arrangements drawn by "monte-carlo".
    rng : int, Generator or SeedSequence, optional
        For "monte-carlo"; left out, the seed follows from the scores.

    Returns
    -------
    CochranTest

    Raises
    ------
    PairstatsError
        If scores are not a finite table with at least two columns, or "exact" is asked and too large.

    Notes
    -----
    With family totals :math:`y_{fj}` and column totals :math:`C_j`,
    :math:`Q = (k-1) \sum_j (C_j - \bar C)^2 / \sum_{fj} (y_{fj} - \bar y_f)^2`; on 0/1 items this is
    Cochran's :math:`(k-1)(k \sum C_j^2 - (\sum C_j)^2) / (k \sum R_i - \sum R_i^2)`.

    References
    ----------
    Cochran, W. G. (1950). Biometrika 37, 256-266. doi:10.1093/biomet/37.3-4.256

    Examples
    --------
    >>> test = cochran_q([[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 0, 0]])
    >>> round(test.statistic, 3), round(test.p_value, 4), test.method
    (6.0, 0.0741, 'exact')
    """
    table = family_totals(scores, families)
    k = table.shape[1]
    centred = table - table.mean(axis=1, keepdims=True)
    informative = np.abs(centred).max(axis=1) > 1e-12 * max(1.0, float(np.abs(table).max()))
    rows = table[informative]
    if method is not None:
        one_of("method", method, METHODS)
    if rows.shape[0] == 0:
        return CochranTest(0.0, 1.0, k - 1, 0, method or "exact")
    columns = centred[informative].sum(axis=0)
    statistic = (k - 1) * float(columns @ columns) / float((centred[informative] ** 2).sum())

    steps = _as_steps(rows)
    feasible = steps is not None and _cost(steps) <= EXACT_COST
    if method == "exact" and not feasible:
        raise PairstatsError(
            f"The exact distribution must take at most {EXACT_COST:.0e} additions, but {rows.shape[0]} "
            f"families with {k} systems take more. Use method='monte-carlo'."
        )
    chosen = method or ("exact" if feasible else "monte-carlo")
    p, mc_error, seed = 1.0, None, None
    if chosen == "chi2":
        p = as_p(float(chdtrc(k - 1, statistic)))
    elif chosen == "exact" and steps is not None:
        p = as_p(_exact_p(steps))
    else:
        drawn = as_count("n_resamples", n_resamples, minimum=1)
        generator, seed = seeded(np.sort(table, axis=1), rng)  # whatever the systems are called
        values = rows if steps is None else steps.astype(np.float64)
        p = (_random_hits(values, drawn, generator) + 1) / (drawn + 1)
        mc_error = math.sqrt(p * (1 - p) / drawn)
    return CochranTest(statistic, p, k - 1, rows.shape[0], chosen, mc_error, seed)


def family_totals(scores: ArrayLike, families: Sequence[Hashable] | NDArray[Any] | None) -> Floats:
    """Add the rows of each family up; without families every row is its own."""
    table = np.array(scores, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] == 0 or table.shape[1] < 2:
        raise PairstatsError(
            f"`scores` must be a table of items by at least two systems, but its shape is {table.shape}. "
            "Pass one row an item and one column a system."
        )
    wrong = np.argwhere(~np.isfinite(table))
    if wrong.size:
        raise PairstatsError(
            f"`scores` must be finite, but {len(wrong)} are not, the first at row {wrong[0][0]}, column "
            f"{wrong[0][1]}. Keep the items that every system answered, and count the others."
        )
    if families is None:
        return table
    codes = family_codes(families, table.shape[0])
    totals = np.zeros((int(codes.max()) + 1, table.shape[1]))
    np.add.at(totals, codes, table)
    return totals


def _as_steps(rows: Floats) -> Steps | None:
    """Rows in whole steps above their smallest entry, or None without a common lattice."""
    above = rows - rows.min(axis=1, keepdims=True)
    spacing = common_lattice(above.ravel())
    return None if spacing is None else lattice_steps(above, spacing)


def _arrangements(row: Steps) -> list[tuple[int, ...]]:
    """Distinct orders of a row; each is equally likely."""
    return sorted(set(permutations(row.tolist())))


def _cost(steps: Steps) -> float:
    """Additions of `_exact_p`; a bound, without listing the arrangements."""
    k = steps.shape[1]
    if k > 8:
        return math.inf
    reach = float(steps.max(axis=1).sum()) + 1
    orders = [
        math.factorial(k)
        / math.prod(math.factorial(n) for n in np.unique(row, return_counts=True)[1].tolist())
        for row in steps
    ]
    return reach ** (k - 1) * sum(orders)


def _exact_p(steps: Steps) -> float:
    """P(Q* >= Q): law of all but the last column total, which the others determine."""
    k = steps.shape[1]
    reach = int(steps.max(axis=1).sum()) + 1
    law = np.zeros((reach,) * (k - 1))
    law[(0,) * (k - 1)] = 1.0
    done = 0
    for row in steps:
        orders = _arrangements(row)
        most = int(row.max())
        grown = np.zeros_like(law)
        source = law[(slice(0, done + 1),) * (k - 1)] / len(orders)
        for order in orders:
            grown[tuple(slice(shift, shift + done + 1) for shift in order[:-1])] += source
        law, done = grown, done + most
    total = int(steps.sum())
    axes = np.meshgrid(*[np.arange(reach)] * (k - 1), indexing="ij", sparse=True)
    last = total - sum(axes)
    squares = sum(axis**2 for axis in axes) + last**2
    observed = int((steps.sum(axis=0) ** 2).sum())
    return float(law[np.broadcast_to(squares >= observed, law.shape)].sum())


def _random_hits(rows: Floats, n_resamples: int, rng: np.random.Generator) -> int:
    """Random arrangements with a sum of squared column totals as large as the observed one."""
    rows = rows - rows.mean(axis=1, keepdims=True)
    observed = float((rows.sum(axis=0) ** 2).sum())
    near = 1e-9 * float(np.abs(rows).sum()) ** 2 / rows.size
    rows = nameless_rows(rows)
    hits, block = 0, max(1, 2**22 // rows.size)
    for start in range(0, n_resamples, block):
        size = min(block, n_resamples - start)
        shuffled = rng.permuted(np.broadcast_to(rows, (size, *rows.shape)), axis=2)
        hits += int(((shuffled.sum(axis=1) ** 2).sum(axis=1) >= observed - near).sum())
    return hits
