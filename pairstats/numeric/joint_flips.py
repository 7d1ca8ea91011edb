"""The joint law of several sums when each family's whole row of differences changes sign at random."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import as_count
from pairstats.numeric.convolution import binomial_pmf
from pairstats.numeric.draws import derived_seed
from pairstats.numeric.lattice import common_lattice, lattice_steps, snapped

Floats = NDArray[np.float64]

METHODS = ("exact", "monte-carlo")

MOST_SUMS = 2**20
"""Distinct rows of sums that the exact law may hold."""

EXACT_COST = 2e7
"""Rows of sums that may be formed and merged on the way (about two seconds)."""

RELATIVE_TIE = 1e-9
"""Statistics closer than this share of the observed one are equal."""


@dataclass(frozen=True, slots=True)
class JointFlips:
    """All, or random, rows of sums of flipped families.

    Attributes
    ----------
    observed : ndarray, shape (M,)
        The sums of the families as they are.
    sums : ndarray, shape (A, M)
        Possible sums, or those drawn.
    probability : ndarray, shape (A,)
        Of each row of `sums`; not used where they are drawn.
    method : {"exact", "monte-carlo"}
    n_resamples : int or None
        Arrangements drawn, otherwise None.
    """

    observed: Floats
    sums: Floats
    probability: Floats
    method: str
    n_resamples: int | None

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
) -> JointFlips:
    """Law of the column sums under random signs of the rows.

    Parameters
    ----------
    rows : ndarray, shape (G, M)
        Finite differences, one row a family.
    method : {"exact", "monte-carlo"}, optional
        Left out, "exact" where it takes about two seconds at most, otherwise "monte-carlo".
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
    if method is not None:
        one_of("method", method, METHODS)
    types, counts = _types(rows)
    observed = rows.sum(axis=0)
    law = None if method == "monte-carlo" else _exact_law(types, counts)
    if law is not None:
        return JointFlips(observed, *law, method="exact", n_resamples=None)
    if method == "exact":
        raise PairstatsError(
            f"The exact law must have at most {MOST_SUMS} distinct rows of sums, but {int(counts.sum())} "
            f"families with {rows.shape[1]} differences have more. Use method='monte-carlo'."
        )
    drawn = as_count("n_resamples", n_resamples, minimum=1)
    expanded = np.repeat(types, counts, axis=0)
    generator = np.random.default_rng(derived_seed(expanded) if rng is None and expanded.size else rng)
    return JointFlips(observed, _drawn_sums(expanded, drawn, generator), np.ones(drawn), "monte-carlo", drawn)


def _types(rows: Floats) -> tuple[Floats, NDArray[np.int64]]:
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


def _exact_law(types: Floats, counts: NDArray[np.int64]) -> tuple[Floats, Floats] | None:
    """Distinct sums and their probabilities, or None where there are too many."""
    spacings = [common_lattice(column) for column in types.T]
    steps, key = types, None
    if None not in spacings:
        scale = np.array(spacings, dtype=np.float64)
        steps = lattice_steps(types, scale).astype(np.float64)
        key = _key(steps, counts)
    sums, probability, formed = np.zeros((1, types.shape[1])), np.ones(1), 0
    for row, count in zip(steps, counts.tolist(), strict=True):
        left = count
        while left:
            flipped = min(left, max(1, 4 * MOST_SUMS // len(sums) - 1))
            left -= flipped
            formed += len(sums) * (flipped + 1)
            if formed > EXACT_COST:
                return None
            moves = np.arange(-flipped, flipped + 1, 2)
            sums = (sums[:, None, :] + moves[:, None] * row).reshape(-1, len(row))
            probability = np.outer(probability, binomial_pmf(np.arange(flipped + 1), flipped, 0.5)).ravel()
            if key is not None:
                _, where, inverse = np.unique(sums @ key, return_index=True, return_inverse=True)
                sums = sums[where]
                probability = np.bincount(inverse.ravel(), weights=probability).astype(np.float64)
            if len(sums) > MOST_SUMS:
                return None
    return (sums if key is None else sums * scale), probability


def _key(steps: Floats, counts: NDArray[np.int64]) -> Floats | None:
    """Numbers that turn each row of reachable sums into one whole number, or None where it is too large."""
    radix = 2 * (counts @ np.abs(steps)) + 1
    weights = np.concatenate([[1.0], np.cumprod(radix)])
    return weights[:-1] if weights[-1] < 2**52 else None


def _drawn_sums(rows: Floats, n_resamples: int, rng: np.random.Generator) -> Floats:
    block = max(1, 2**22 // max(len(rows), 1))
    parts = []
    for start in range(0, n_resamples, block):
        size = min(block, n_resamples - start)
        signs = 2.0 * rng.integers(0, 2, (size, len(rows)), dtype=np.int8) - 1.0
        parts.append(signs @ rows)
    return np.concatenate(parts)
