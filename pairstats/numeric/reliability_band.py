"""Band of the CORP reliability curve: family bootstrap, or what a calibrated model would show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression

from pairstats.errors import one_of
from pairstats.numeric.calibration_null import (
    canonical_order,
    drawn_outcomes,
    family_correlation,
    sums_by_place,
)
from pairstats.numeric.checks import as_count, check_level
from pairstats.numeric.draws import bootstrap_weights, seeded
from pairstats.numeric.lattice import snapped
from pairstats.numeric.scores import as_forecasts
from pairstats.numeric.shares import Families, family_codes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

BANDS = ("bootstrap", "consistency")

FEW_FAMILIES = 40
"""Below it the bootstrap band is too narrow."""

MOST_POINTS = 400
"""Confidences at which the band is given; more distinct ones are thinned evenly."""

_BLOCK = 2**21
"""Numbers held at once by the resamples."""


@dataclass(frozen=True, slots=True)
class CorpBand:
    """CORP reliability curve with a pointwise band.

    Attributes
    ----------
    confidence : ndarray of float, shape (K,)
        Stated confidences, increasing; at most 400, else thinned evenly.
    fit : ndarray of float, shape (K,)
        Isotonic fit of accuracy.
    low, high : ndarray of float, shape (K,)
        Band: pointwise, not for the curve as a whole.
    kind : {"bootstrap", "consistency"}
    family_correlation : float
        Latent correlation within families of the drawn outcomes ("consistency"); 0 for "bootstrap".
    n, n_families, n_resamples : int
    seed : int or None
        Seed of the draws; None where a generator was given.
    note : str
        What to keep in mind; "" if nothing.
    """

    confidence: FloatArray
    fit: FloatArray
    low: FloatArray
    high: FloatArray
    kind: str
    family_correlation: float
    n: int
    n_families: int
    n_resamples: int
    seed: int | None
    note: str


def corp_band(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    families: Families = None,
    kind: str = "bootstrap",
    confidence_level: float = 0.95,
    n_resamples: int = 2000,
    rng: Any = None,
) -> CorpBand:
    """Reliability curve by isotonic regression, with a pointwise band.

    Use it to draw a reliability curve without bins. Not for few stated values, where `calibration_table` is the
    diagram.

    Use "bootstrap" for the uncertainty of the curve: families are resampled (by types) and the curve is
    refitted; it needs about 40 families and says so below. Use "consistency" to judge calibration: the band
    in which the curve of a perfectly calibrated model would lie.

    Parameters
    ----------
    confidence : array_like of float, shape (n,)
        Stated probability of being correct, in [0, 1].
    correct : array_like of int or bool, shape (n,)
        0 or 1.
    families : sequence, shape (n,), optional
        Family of each answer; left out, each is its own.
    kind : {"bootstrap", "consistency"}
    confidence_level : float, default 0.95
    n_resamples : int, default 2000
    rng : int, numpy.random.Generator, SeedSequence or None
        Handed to `numpy.random.default_rng`; None takes a seed derived from the data.

    Returns
    -------
    CorpBand

    Notes
    -----
    In a resample without an answer at some confidence the fit is interpolated linearly, and constant beyond
    the ends. Limits are type 1 quantiles.

    References
    ----------
    Dimitriadis T, Gneiting T, Jordan AI (2021). Stable reliability diagrams for probabilistic classifiers.
    PNAS 118:e2016191118. doi:10.1073/pnas.2016191118.

    Examples
    --------
    >>> band = corp_band([0.5, 0.9] * 30, [0, 1, 1, 1] * 15, families=[i // 2 for i in range(60)])
    >>> band.fit.tolist(), bool((band.low <= band.fit).all()), band.note
    ([0.5, 1.0], True, 'only 30 families: a bootstrap band needs about 40')
    """
    one_of("kind", kind, BANDS)
    level = check_level(confidence_level)
    draws = as_count("n_resamples", n_resamples, minimum=1)
    stated, outcome = as_forecasts(confidence, correct)
    order, codes = canonical_order(stated, outcome, family_codes(families, stated.size))
    stated, outcome = stated[order], outcome[order]
    values, place = np.unique(snapped(stated), return_inverse=True)
    shown = np.unique(np.linspace(0, values.size - 1, min(values.size, MOST_POINTS)).round().astype(int))
    generator, seed = seeded(np.column_stack([stated, outcome]), rng)
    correlation = 0.0
    if kind == "bootstrap":
        tallies = _resampled(place, outcome, codes, draws, generator)
    else:
        correlation = family_correlation(stated, outcome, codes)
        tallies = _consistent(place, stated, codes, correlation, draws, generator)
    fits = np.concatenate([_fits(values, n, right)[:, shown] for n, right in tallies])
    low, high = np.quantile(fits, [(1 - level) / 2, (1 + level) / 2], axis=0, method="inverted_cdf")
    whole = _fits(values, np.bincount(place)[None, :], np.bincount(place, weights=outcome)[None, :])
    n_families = int(codes.max()) + 1
    few = kind == "bootstrap" and n_families < FEW_FAMILIES
    return CorpBand(
        confidence=values[shown],
        fit=whole[0][shown],
        low=low,
        high=high,
        kind=kind,
        family_correlation=correlation,
        n=stated.size,
        n_families=n_families,
        n_resamples=draws,
        seed=seed,
        note=f"only {n_families} families: a bootstrap band needs about {FEW_FAMILIES}" if few else "",
    )


def _resampled(
    place: IntArray, outcome: FloatArray, codes: IntArray, draws: int, rng: np.random.Generator
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Answers and right answers at each confidence, in resamples of families; blocks of rows."""
    from scipy.sparse import csr_array

    members = np.split(np.arange(codes.size), np.flatnonzero(np.diff(codes)) + 1)
    kinds: dict[tuple[Any, ...], list[int]] = {}
    for family in members:
        key = tuple(zip(place[family].tolist(), outcome[family].tolist(), strict=True))
        kinds.setdefault(key, [0])[0] += 1
    counts = [number for (number,) in kinds.values()]
    rows = np.repeat(np.arange(len(kinds)), [len(key) for key in kinds])
    columns = np.array([at for key in kinds for at, _ in key])
    right = np.array([mark for key in kinds for _, mark in key])
    shape = len(kinds), int(place.max()) + 1
    tables = (
        csr_array((np.ones(rows.size), (rows, columns)), shape),
        csr_array((right, (rows, columns)), shape),
    )
    block = max(1, _BLOCK // max(shape[1], len(members)))
    for done in range(0, draws, block):
        weights = bootstrap_weights(counts, n_resamples=min(block, draws - done), rng=rng).astype(np.float64)
        yield np.asarray(weights @ tables[0]), np.asarray(weights @ tables[1])


def _consistent(
    place: IntArray, stated: FloatArray, codes: IntArray, correlation: float, draws: int,
    rng: np.random.Generator,
) -> Iterator[tuple[FloatArray, FloatArray]]:  # fmt: skip
    """Answers, and right answers of a calibrated model, at each confidence; blocks of rows."""
    n = np.bincount(place).astype(np.float64)
    for rows in drawn_outcomes(stated, codes, correlation, draws, rng):
        yield np.broadcast_to(n, (len(rows), n.size)), sums_by_place(rows, place)


def _fits(values: FloatArray, n: NDArray[Any], right: NDArray[Any]) -> FloatArray:
    """Isotonic fit of each row at every confidence."""
    fits = np.empty(right.shape)
    for row, (count, hits) in enumerate(zip(n, right, strict=True)):
        seen = count > 0
        fitted = isotonic_regression(hits[seen] / count[seen], weights=count[seen]).x
        fits[row] = np.interp(values, values[seen], fitted)
    return fits
