"""Bootstrap draws of families, compressed to the few types of family that differ."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError
from pairstats.numeric.checks import as_count
from pairstats.numeric.lattice import snapped, snapped_counts

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_BLOCK = 2**22
"""Numbers held at once by a draw: 32 MB, whatever the number of resamples."""


@dataclass(frozen=True, slots=True)
class FamilyTypes:
    """Families grouped by equal totals.

    Attributes
    ----------
    totals : ndarray of float, shape (K, M)
        One row of totals a type, rows in increasing order.
    counts : ndarray of int, shape (K,)
        Families of each type; they sum to the number of families G.
    index : ndarray of int, shape (G,)
        The type of each family, so ``totals[index]`` gives the families back.
    """

    totals: FloatArray
    counts: IntArray
    index: IntArray


def family_types(totals: ArrayLike) -> FamilyTypes:
    """Group families whose whole rows of totals are equal up to rounding.

    Use it to draw many resamples fast, or to tabulate families. Not needed before the functions here, which
    all do it; the draws are `bootstrap_weights`.

    Parameters
    ----------
    totals : array_like of float, shape (G,) or (G, M)
        One row a family, one column a measure, cell or model. Rows are kept whole: families are one
        type only where all columns agree, so that pairing survives the draw.

    Returns
    -------
    FamilyTypes

    Raises
    ------
    PairstatsError
        If there is no family, or a total is not finite.

    Notes
    -----
    Two families are one type where every total agrees to 1e-9 of the largest.

    References
    ----------
    Efron, B. (1979). Annals of Statistics 7, 1-26. doi:10.1214/aos/1176344552

    Examples
    --------
    >>> types = family_types([[2, 2], [1, 2], [2, 2]])
    >>> types.totals.tolist(), types.counts.tolist(), types.index.tolist()
    ([[1.0, 2.0], [2.0, 2.0]], [1, 2], [1, 0, 1])
    """
    rows = _as_table(totals)
    index = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        _, code = np.unique(snapped(column), return_inverse=True)
        # The types so far, each split by this column; numbered in the order of the rows of totals.
        _, index = np.unique(index * len(rows) + code.reshape(-1), return_inverse=True)
        index = index.reshape(-1)
    counts = np.bincount(index).astype(np.int64)
    first = np.empty(counts.size, dtype=np.int64)
    first[index[::-1]] = np.arange(len(rows))[::-1]
    snapped_rows = np.column_stack([snapped(column)[first] for column in rows.T])
    return FamilyTypes(totals=snapped_rows, counts=counts, index=index)


def type_counts(*columns: FloatArray) -> tuple[FloatArray, IntArray]:
    """Types of family and their counts, as `family_types`, where it does not matter which family is which.

    Much faster where all but one of the columns are constant (families of one size). Columns are finite, of
    equal length, and checked by the caller.

    Examples
    --------
    >>> types, counts = type_counts(np.array([2.0, 1.0, 2.0]), np.array([2.0, 2.0, 2.0]))
    >>> types.tolist(), counts.tolist()
    ([[1.0, 2.0], [2.0, 2.0]], [1, 2])
    """
    varying = [place for place, column in enumerate(columns) if column.min() != column.max()]
    if len(varying) > 1:
        types = family_types(np.column_stack(columns))
        return types.totals, types.counts
    first = np.array([[column[0] for column in columns]])
    if not varying:
        return first, np.array([columns[0].size], dtype=np.int64)
    values, counts = snapped_counts(columns[varying[0]])
    distinct = np.repeat(first, values.size, axis=0)
    distinct[:, varying[0]] = values
    return distinct, counts


def bootstrap_weights(counts: ArrayLike, *, n_resamples: int, rng: Any = None) -> IntArray:
    r"""Draw how often each type of family appears in each bootstrap resample.

    Use it where one draw must serve several statistics, so that they agree with each other. Not for the family
    interval, whose weights `dirichlet_weights` draws.

    A resample of G families is one multinomial draw over the types. With `FamilyTypes.totals` as ``S``,
    ``weights @ S`` are the totals of every resample, for any number of columns: one draw serves all
    contrasts, so A - B plus B - C equals A - C on every replicate.

    Parameters
    ----------
    counts : array_like of int, shape (K,)
        Families of each type.
    n_resamples : int
        Number of resamples B, at least 1.
    rng : int, numpy.random.Generator, SeedSequence or None
        Handed to `numpy.random.default_rng`; None takes `derived_seed` of the counts.

    Returns
    -------
    ndarray of int, shape (B, K)
        Each row sums to the number of families.

    Notes
    -----
    :math:`N \sim \mathrm{Multinomial}(G, g / G)` over K types with :math:`g_k` families each: the same law as
    of families drawn one by one.

    References
    ----------
    Efron, B. (1979). Annals of Statistics 7, 1-26. doi:10.1214/aos/1176344552

    Examples
    --------
    >>> weights = bootstrap_weights([29, 10, 1], n_resamples=1000, rng=1)
    >>> weights.shape, set(weights.sum(axis=1).tolist())
    ((1000, 3), {40})
    """
    sizes = np.asarray(counts, dtype=np.int64)
    resamples = as_count("n_resamples", n_resamples, minimum=1)
    families, kinds = int(sizes.sum()), sizes.size
    generator, _ = seeded(sizes, rng)
    if 4 * kinds <= families:
        return generator.multinomial(families, sizes / families, size=resamples)
    # The same law, faster where most families are a type of their own: draw families and count types.
    drawn = np.repeat(np.arange(kinds), sizes)[generator.integers(0, families, (resamples, families))]
    drawn += kinds * np.arange(resamples)[:, None]
    return np.bincount(drawn.ravel(), minlength=resamples * kinds).reshape(resamples, kinds)


def bootstrap_replicates(
    totals: ArrayLike, *, n_resamples: int, rng: Any = None, oracle: bool = False
) -> FloatArray:
    r"""Totals over the families of each bootstrap resample.

    Use it for a statistic of family totals that has no function here. Not for a mean: `bootstrap_interval`
    takes its exact law.

    Parameters
    ----------
    totals : array_like of float, shape (G,) or (G, M)
        Totals of each family.
    n_resamples : int
        Number of resamples B, at least 1.
    rng : int, numpy.random.Generator, SeedSequence or None
        Handed to `numpy.random.default_rng`; None takes `derived_seed` of the totals.
    oracle : bool, default False
        Draw families one by one, in the order of `scipy.stats.bootstrap` with ``paired=True``, so that
        the same seed gives the same replicates. Otherwise draw types of family (faster, same law).

    Returns
    -------
    ndarray of float, shape (B,) or (B, M)

    Notes
    -----
    :math:`\sum_i N_i s_i` with multinomial counts N of the G families, B times.

    References
    ----------
    Efron, B. (1979). Annals of Statistics 7, 1-26. doi:10.1214/aos/1176344552

    Examples
    --------
    >>> bootstrap_replicates([1, 0, 2], n_resamples=4, rng=0, oracle=True).tolist()
    [2.0, 3.0, 3.0, 4.0]
    """
    rows = _as_table(totals)
    resamples = as_count("n_resamples", n_resamples, minimum=1)
    generator, _ = seeded(rows, rng)
    draw = _draw_families if oracle else _draw_types
    replicates = np.concatenate(list(draw(rows, resamples, generator)))
    return replicates[:, 0] if np.ndim(totals) == 1 else replicates


def derived_seed(totals: ArrayLike) -> int:
    """Seed that depends on the data alone: every reader of the same families gets the same draw.

    The first 32 bits of the SHA-256 digest of the sorted rows, printed to ten digits so that rounding
    and the order of the families do not matter.

    Parameters
    ----------
    totals : array_like of float, shape (G,) or (G, M)
        Totals of each family.

    Returns
    -------
    int
        In [0, 2**32).

    Examples
    --------
    >>> derived_seed([0.1 + 0.2, 1.0]) == derived_seed([1, 0.3])
    True
    """
    # Adding 0 turns -0.0 into 0.0, which prints without a sign.
    rows = _as_table(totals) + 0.0
    lines = sorted(",".join(f"{value:.10g}" for value in row) for row in rows.tolist())
    return int.from_bytes(hashlib.sha256("\n".join(lines).encode()).digest()[:4], "big")


def seeded(totals: ArrayLike, rng: Any) -> tuple[np.random.Generator, int | None]:
    """Source of randomness of a draw, and the seed that its result names.

    Parameters
    ----------
    totals : array_like of float, shape (G,) or (G, M)
        Totals of each family, for the seed that is derived where none is given.
    rng : int, numpy.random.Generator, SeedSequence or None
        As users give it.

    Returns
    -------
    Generator
    int or None
        The derived seed, or the whole number given; None where a generator was given, whose state is not
        one number.

    Examples
    --------
    >>> seeded([1.0, 0.5], None)[1] == derived_seed([1.0, 0.5]), seeded([1.0], 7)[1]
    (True, 7)
    """
    seed = derived_seed(totals) if rng is None else rng
    return np.random.default_rng(seed), int(seed) if isinstance(seed, int | np.integer) else None


def _draw_types(rows: FloatArray, resamples: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    types = family_types(rows)
    for size in _blocks(resamples, rows.shape[0]):
        weights = bootstrap_weights(types.counts, n_resamples=size, rng=rng)
        # As floats the product is one call of BLAS.
        yield weights.astype(np.float64) @ types.totals


def _draw_families(rows: FloatArray, resamples: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    families = rows.shape[0]
    # Blocks continue one stream of integers, so their size does not change the draw.
    for size in _blocks(resamples, families):
        index = rng.integers(0, families, (size, families))
        yield np.column_stack([np.ascontiguousarray(column)[index].sum(axis=1) for column in rows.T])


def _blocks(resamples: int, width: int) -> Iterator[int]:
    """Split a number of resamples so that a block of that many rows of `width` fits in memory."""
    rows = max(1, _BLOCK // width)
    for start in range(0, resamples, rows):
        yield min(rows, resamples - start)


def _as_table(totals: ArrayLike) -> FloatArray:
    """Totals as a finite (G, M) array with at least one family and one column."""
    table = np.asarray(totals, dtype=np.float64)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or table.size == 0:
        raise PairstatsError(
            f"`totals` must have a row for each of one or more families, but has shape {np.shape(totals)}. "
            "Pass an array of shape (families,) or (families, measures)."
        )
    if not np.isfinite(table).all():
        wrong = np.flatnonzero(~np.isfinite(table).all(axis=1))
        raise PairstatsError(
            f"`totals` must be finite, but {wrong.size} families are not, the first at position {wrong[0]}. "
            "Drop what is missing, and count it, before calling."
        )
    return table
