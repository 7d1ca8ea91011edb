"""What makes many families fast must not change a number: kinds, thinning, chunks, types without index."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pairstats.numeric import (
    contour,
    dirichlet_mean_cdf,
    family_interval,
    family_types,
    kinds,
    sign_flip,
    signsum,
)
from pairstats.numeric.draws import type_counts
from pairstats.numeric.kinds import family_kinds, thinned
from pairstats.numeric.lattice import snapped, snapped_counts

SHAPES = {
    "uniform": lambda rng, n: rng.random(n),
    "near a ceiling": lambda rng, n: 1 - rng.random(n) ** 8,
    "tight, few failures": lambda rng, n: np.where(rng.random(n) < 5 / n, 0.0, 0.9999 + 1e-4 * rng.random(n)),
    "skew": lambda rng, n: np.minimum(rng.lognormal(-5, 1.5, n), 1.0),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["jeffreys", "cp"])
def test_thinning_moves_limits_by_less_than_1e_9_of_their_distance(shape, kind, monkeypatch):
    scores = SHAPES[shape](np.random.default_rng(1), 4000)
    fast = family_interval(scores, kind=kind)
    monkeypatch.setattr(kinds, "MOST_KINDS", 10**9)
    full = family_interval(scores, kind=kind)
    assert_allclose([fast.low, fast.high], [full.low, full.high], atol=1e-9 * (full.high - full.low), rtol=0)


def test_thinning_is_done_within_sizes(monkeypatch):
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 3, 3000).astype(float)
    scores = rng.beta(4, 1, 3000)
    fast = family_interval(scores, sizes=sizes)
    monkeypatch.setattr(kinds, "MOST_KINDS", 10**9)
    full = family_interval(scores, sizes=sizes)
    assert_allclose([fast.low, fast.high], [full.low, full.high], atol=1e-9 * (full.high - full.low), rtol=0)


def test_thinning_keeps_three_moments_in_every_cell_and_positive_weights():
    rng = np.random.default_rng(3)
    values, weights = rng.beta(0.3, 2, 5000), rng.integers(1, 4, 5000).astype(float)
    points, amounts = thinned(values, weights, cells=20)
    assert (amounts > 0).all()
    edges = np.linspace(values.min(), values.max(), 21)
    for low, high in itertools.pairwise(edges):
        last = high == edges[-1]
        own, new = ((x >= low) & ((x <= high) if last else (x < high)) for x in (values, points))
        for power in range(4):
            assert_allclose(
                amounts[new] @ points[new] ** power, weights[own] @ values[own] ** power, rtol=1e-9
            )


def test_thousand_distinct_scores_are_left_alone():
    unit = np.repeat(np.arange(1000) / 999, 3)
    found = family_kinds(unit, np.ones(3000))
    assert found.unit.size == 1000
    assert (found.weights == 3).all()
    assert_allclose(found.mirrored().unit, 1 - found.unit)


def test_chunks_of_factors_change_no_tail(monkeypatch):
    rng = np.random.default_rng(4)
    values, sizes = 1 - rng.random(150) ** 6, rng.integers(1, 5, 150).astype(float)
    points = [0.5, 0.7, 0.8, 0.85, 0.9, 0.97]
    weights = np.append(np.ones(149), 0.5)
    fast = dirichlet_mean_cdf(points, values, weights, sizes)
    monkeypatch.setattr(contour, "FEWEST_CHUNKED", 10**9)
    assert_allclose(fast, dirichlet_mean_cdf(points, values, weights, sizes), rtol=1e-11)


def test_types_without_an_index_are_the_types():
    rng = np.random.default_rng(5)
    for columns in (
        (rng.integers(0, 4, 300) / 3, np.full(300, 2.0)),
        (rng.integers(0, 4, 300) / 3, rng.integers(1, 4, 300).astype(float)),
        (np.full(300, 0.5), np.ones(300)),
    ):
        totals, counts = type_counts(*columns)
        types = family_types(np.column_stack(columns))
        assert_allclose(totals, types.totals)
        assert counts.tolist() == types.counts.tolist()
        assert_allclose(types.totals[types.index], np.column_stack(columns), rtol=1e-12)
        brute = np.unique(np.column_stack(columns), axis=0, return_counts=True)
        assert_allclose(totals, brute[0])
        assert counts.tolist() == brute[1].tolist()


def test_counts_in_blocks_are_counts():
    rng = np.random.default_rng(6)
    for values in (rng.integers(0, 9, 50_000) / 8, rng.random(40_000), np.array([0.3, 0.1 + 0.2] * 20_000)):
        distinct, counts = snapped_counts(values)
        expected = np.unique(snapped(values), return_counts=True)
        assert_allclose(distinct, expected[0], rtol=0)
        assert counts.tolist() == expected[1].tolist()


@pytest.mark.parametrize("reach", [1, 8, 32])
def test_sign_flip_by_contour_is_the_convolution(reach, monkeypatch):
    gaps = np.random.default_rng(reach).integers(-reach, reach + 1, 1500).astype(float) + reach / 20
    gaps = np.round(gaps)
    fast = [sign_flip(gaps + shift).p_value for shift in (0, 1)]
    monkeypatch.setattr(signsum, "CONVOLUTION_COST", 1e12)
    assert_allclose(fast, [sign_flip(gaps + shift).p_value for shift in (0, 1)], rtol=1e-11)
