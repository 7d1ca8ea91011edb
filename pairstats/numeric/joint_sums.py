"""The joint law of several sums over families whose labels are exchanged at random, family by family."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import as_count
from pairstats.numeric.convolution import binomial_pmf
from pairstats.numeric.draws import seeded
from pairstats.numeric.facing import nameless_rows
from pairstats.numeric.lattice import common_lattice, lattice_steps, snapped

Floats = NDArray[np.float64]
Support = tuple[Floats, Floats]
"""The rows that a family, or several alike, may add to the sums, and their probabilities."""

METHODS = ("exact", "monte-carlo")

MOST_SUMS = 2**19
"""Distinct rows of sums that the exact law may hold."""

EXACT_COST = 6e6
"""Rows of sums that may be formed and merged on the way (about a second)."""

FLIPPED_AT_ONCE = 8
"""Families of one type that are added in one step; bounds what is held before equal sums are merged."""

MOST_PERMUTED = 7
"""Columns of which all orders, up to 5,040, are listed."""

RELATIVE_TIE = 1e-9
"""Statistics closer than this share of the observed one are equal."""


@dataclass(frozen=True, slots=True)
class JointSums:
    """All, or random, rows of sums under exchange of labels.

    Attributes
    ----------
    sums : ndarray, shape (A, M)
        Possible sums, or those drawn.
    probability : ndarray, shape (A,)
        Of each row of `sums`; not used where they are drawn.
    method : {"exact", "monte-carlo"}
    n_resamples : int or None
        Arrangements drawn, otherwise None.
    seed : int or None
        Of the draw; None where the law is exact.
    """

    sums: Floats
    probability: Floats
    method: str
    n_resamples: int | None
    seed: int | None = None

    def p_value(self, statistics: Floats, observed: Floats | float) -> Floats:
        """Chance that statistics, shape (A,) or (A, M), reach the observed; (b + 1) / (B + 1) if drawn."""
        least = np.asarray(observed)
        reaching = statistics >= least - RELATIVE_TIE * np.abs(least)
        if self.n_resamples is None:
            return np.minimum(self.probability @ reaching, 1.0)
        p: Floats = (reaching.sum(axis=0) + 1.0) / (self.n_resamples + 1)
        return p

    def mc_error(self, p: float) -> float | None:
        """Standard error of a p-value that was drawn, otherwise None."""
        return None if self.n_resamples is None else math.sqrt(p * (1 - p) / self.n_resamples)


def joint_flips(
    rows: Floats, *, method: str | None = None, n_resamples: int = 9999, rng: Any = None
) -> JointSums:
    """Law of the column sums under random signs of the rows.

    Parameters
    ----------
    rows : ndarray, shape (G, M)
        Finite differences, one row a family.
    method : {"exact", "monte-carlo"}, optional
        Left out, "exact" where it takes about a second at most, otherwise "monte-carlo".
    n_resamples : int
        Arrangements drawn by "monte-carlo".
    rng : int, Generator or SeedSequence, optional
        Left out, the seed follows from the rows, whatever their order and signs.

    Raises
    ------
    PairstatsError
        If "exact" is asked and takes too long.

    Examples
    --------
    >>> flips = joint_flips(np.array([[1.0, 0.0], [1.0, 1.0]]))
    >>> flips.sums.tolist(), flips.probability.tolist()
    ([[-2.0, -1.0], [0.0, -1.0], [0.0, 1.0], [2.0, 1.0]], [0.25, 0.25, 0.25, 0.25])
    """
    types, counts = _types_up_to_sign(rows)
    law = None if method == "monte-carlo" else joint_law(list(_flip_supports(types, counts)), rows.shape[1])
    expanded = np.repeat(types, counts, axis=0)

    def draw(size: int, generator: np.random.Generator) -> Floats:
        signs = 2.0 * generator.integers(0, 2, (size, len(expanded)), dtype=np.int8) - 1.0
        return signs @ expanded

    return _joint(law, draw, expanded, method, n_resamples, rng)


def joint_permutations(
    rows: Floats, *, method: str | None = None, n_resamples: int = 9999, rng: Any = None
) -> JointSums:
    """Law of the column sums when the entries of each row change places at random.

    Parameters, raises as in `joint_flips`.

    Examples
    --------
    >>> joint_permutations(np.array([[1.0, 0.0], [1.0, 0.0]])).probability.tolist()
    [0.25, 0.5, 0.25]
    """
    ordered = nameless_rows(rows)
    law = None
    if method != "monte-carlo" and rows.shape[1] <= MOST_PERMUTED:
        law = joint_law([_orders(row) for row in ordered], rows.shape[1])

    def draw(size: int, generator: np.random.Generator) -> Floats:
        shuffled = generator.permuted(np.broadcast_to(ordered, (size, *ordered.shape)), axis=2)
        sums: Floats = shuffled.sum(axis=1)
        return sums

    return _joint(law, draw, ordered, method, n_resamples, rng)


def joint_law(supports: Sequence[Support], width: int) -> Support | None:
    """Distinct rows that independent rows can add up to, with their probabilities; None if too many.

    Parameters
    ----------
    supports : sequence of (ndarray, shape (n, width)), (ndarray, shape (n,))
        Rows that each summand can take, and their probabilities.
    width : int

    Examples
    --------
    >>> coin = np.array([[0.0], [1.0]]), np.array([0.5, 0.5])
    >>> joint_law([coin, coin], 1)[1].tolist()
    [0.25, 0.5, 0.25]
    """
    sums, probability, formed = np.zeros((1, width)), np.ones(1), 0
    scale, key = _lattice(supports, width)
    for rows, chances in supports:
        formed += len(sums) * len(rows)
        if formed > EXACT_COST:
            return None
        steps = rows if key is None else lattice_steps(rows, scale).astype(np.float64)
        sums = (sums[:, None, :] + steps).reshape(-1, width)
        probability = np.outer(probability, chances).ravel()
        if key is not None:
            _, where, inverse = np.unique(sums @ key, return_index=True, return_inverse=True)
            sums = sums[where]
            probability = np.bincount(inverse.ravel(), weights=probability).astype(np.float64)
        if len(sums) > MOST_SUMS:
            return None
    return (sums if key is None else sums * scale), probability


def _lattice(supports: Sequence[Support], width: int) -> tuple[Floats, Floats | None]:
    """Spacing of each column, and numbers that turn a row of steps into one whole number; None without."""
    none = np.ones(width)
    if not supports:
        return none, None
    found = [
        common_lattice(np.unique(np.concatenate([rows[:, j] for rows, _ in supports]))) for j in range(width)
    ]
    if None in found:
        return none, None
    scale = np.array(found, dtype=np.float64)
    reach = sum(np.rint(np.abs(rows).max(axis=0) / scale) for rows, _ in supports)
    weights = np.concatenate([[1.0], np.cumprod(2 * np.asarray(reach) + 1)])
    return scale, weights[:-1] if weights[-1] < 2**52 else None


def _joint(
    law: Support | None, draw: Any, rows: Floats, method: str | None, n_resamples: int, rng: Any
) -> JointSums:
    if method is not None:
        one_of("method", method, METHODS)
    if law is not None:
        return JointSums(*law, method="exact", n_resamples=None)
    if method == "exact":
        raise PairstatsError(
            f"The exact law must have at most {MOST_SUMS} distinct rows of sums, but {len(rows)} families "
            f"with {rows.shape[1]} columns have more. Use method='monte-carlo'."
        )
    drawn = as_count("n_resamples", n_resamples, minimum=1)
    generator, seed = seeded(rows if rows.size else [0.0], rng)
    block = max(1, 2**22 // max(rows.size, 1))
    parts = [draw(min(block, drawn - start), generator) for start in range(0, drawn, block)]
    return JointSums(np.concatenate(parts), np.ones(drawn), "monte-carlo", drawn, seed)


def _types_up_to_sign(rows: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Distinct rows up to sign, without those that are 0 throughout, and how often each appears."""
    clean = np.column_stack([snapped(column) for column in rows.T])
    scale = np.abs(clean).max(axis=0, initial=0.0)
    clean[np.abs(clean) <= RELATIVE_TIE * scale] = 0.0  # rounding, as 0.1 + 0.2 - 0.3
    clean = clean[clean.any(axis=1)]
    if clean.size == 0:
        return clean, np.zeros(0, dtype=np.int64)
    first = clean[np.arange(len(clean)), (clean != 0).argmax(axis=1)]
    # Opposite values may differ in their last digit, so they are made one after the sign is turned.
    turned = np.column_stack([snapped(column) for column in (clean * np.sign(first)[:, None]).T])
    types, counts = np.unique(turned, axis=0, return_counts=True)
    return types + 0.0, counts.astype(np.int64)


def _flip_supports(types: Floats, counts: NDArray[np.int64]) -> Iterator[Support]:
    for row, count in zip(types, counts.tolist(), strict=True):
        for start in range(0, count, FLIPPED_AT_ONCE):
            n = min(FLIPPED_AT_ONCE, count - start)
            yield np.arange(-n, n + 1, 2)[:, None] * row, binomial_pmf(np.arange(n + 1), n, 0.5)


def _orders(row: Floats) -> Support:
    """Distinct orders of a row; each is equally likely."""
    orders = np.array(sorted(set(permutations(row.tolist()))))
    return orders, np.full(len(orders), 1 / len(orders))
