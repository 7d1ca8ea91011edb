"""Missing answers: bounds by enumeration of what they could have been, tipping points, Imbens-Manski."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from conftest import reference
from numpy.testing import assert_allclose
from scipy import stats

from pairstats.errors import PairstatsError
from pairstats.numeric import (
    enough_answered,
    imbens_manski,
    manski_bounds,
    mcnemar,
    paired_manski_bounds,
    paired_tipping_point,
    post_stratify,
    tipping_point,
)

NAN = float("nan")


def with_nan(values):
    return [NAN if v is None else v for v in values]


@pytest.mark.parametrize("vector", reference("missing_composite", "manski_single"))
def test_bounds_of_one_system(vector):
    i, expected = vector["inputs"], vector["expected"]
    found = manski_bounds(i["correct"], i["answered"], i["planned"])
    assert_allclose([found.low, found.high], [expected["lower"], expected["upper"]], rtol=1e-12)
    assert_allclose(found.completeness, expected["coverage"], rtol=1e-12)
    if expected["observed"] is None:
        assert math.isnan(found.observed)
    else:
        assert_allclose(found.observed, expected["observed"], rtol=1e-12)


@pytest.mark.parametrize("vector", reference("missing_composite", "manski_paired"))
def test_bounds_of_a_pair_as_in_r(vector):
    first, second = with_nan(vector["inputs"]["model_a"]), with_nan(vector["inputs"]["model_b"])
    found, expected = paired_manski_bounds(first, second), vector["expected"]
    assert_allclose(found.complete_pair, expected["complete_pair"], rtol=1e-12)
    assert_allclose(found.available_case, expected["available_case"], rtol=1e-12)
    assert_allclose([found.low, found.high], [expected["lower"], expected["upper"]], rtol=1e-12)
    assert found.n_complete == expected["complete_pairs"]
    tipping = paired_tipping_point(first, second)
    assert tipping.n_wrong == expected["tipping_point"]
    assert tipping.n_missing == 10
    assert tipping.best <= tipping.worst <= 0.05


@pytest.mark.parametrize("vector", reference("missing_composite", "manski_gemma"))
def test_bounds_from_counts(vector):
    i, expected = vector["inputs"], vector["expected"]
    a = manski_bounds(i["a_correct"], i["a_answered"], i["planned"])
    b = manski_bounds(i["b_correct"], i["b_answered"], i["planned"])
    assert_allclose([a.low, a.high], expected["a_bounds"], rtol=1e-12)
    assert_allclose([a.low - b.high, a.high - b.low], expected["difference_bounds"], rtol=1e-12)


def test_paired_bounds_are_reached_by_some_answers_and_passed_by_none():
    first, second = np.array([1, 0, NAN, NAN, 1]), np.array([NAN, 1, 0, NAN, 0])
    gaps = []
    for fill in itertools.product((0, 1), repeat=4):
        a, b = first.copy(), second.copy()
        a[[2, 3]], b[[0, 3]] = fill[:2], fill[2:]
        gaps.append(a.mean() - b.mean())
    found = paired_manski_bounds(first, second)
    assert_allclose([found.low, found.high], [min(gaps), max(gaps)], atol=1e-15)
    assert (found.n_complete, found.n_missing_first, found.n_missing_second) == (2, 2, 2)
    nothing = paired_manski_bounds([NAN, NAN], [1, 0])
    assert math.isnan(nothing.complete_pair)
    assert (nothing.low, nothing.high) == (-0.5, 0.5)


def test_bounds_refuse_what_cannot_be():
    with pytest.raises(PairstatsError, match="at most `n_planned`"):
        manski_bounds(3, 5, 4)
    with pytest.raises(PairstatsError, match="`total` must be a finite number"):
        manski_bounds(NAN, 8, 10)
    with pytest.raises(PairstatsError, match=r"lie in \[0, 1\]"):
        manski_bounds(6, 5, 8)
    with pytest.raises(PairstatsError, match="must be 0"):
        manski_bounds(1, 0, 8)
    with pytest.raises(PairstatsError, match="have 2 and 1"):
        paired_manski_bounds([1, 0], [1])
    with pytest.raises(PairstatsError, match="holds 2"):
        paired_manski_bounds([1, 2], [1, NAN])
    with pytest.raises(PairstatsError, match="infinite"):
        paired_manski_bounds([1, math.inf], [1, 1])
    wide = manski_bounds(-2.0, 4, 5, bounds=(-1, 1))
    assert_allclose([wide.low, wide.high], [-0.6, -0.2])


def brute_tipping(first, second, alpha=0.05):
    """Smallest number over all choices of which missing answers are wrong, by exact McNemar."""
    gone = np.flatnonzero(np.isnan(first))
    for k in range(gone.size + 1):
        for wrong in itertools.combinations(gone, k):
            a = np.where(np.isnan(first), 1.0, first)
            a[list(wrong)] = 0.0
            b, c = int(np.sum(a > second)), int(np.sum(a < second))
            if mcnemar(b, c).p_value > alpha or b <= c:
                return k
    return None


@pytest.mark.parametrize("seed", range(12))
def test_tipping_point_of_single_items_is_the_smallest_number(seed):
    rng = np.random.default_rng(seed)
    first = rng.binomial(1, 0.85, 24).astype(float)
    second = rng.binomial(1, 0.35, 24).astype(float)
    first[rng.choice(24, 8, replace=False)] = NAN
    assert paired_tipping_point(first, second).n_wrong == brute_tipping(first, second)


def test_tipping_point_by_family_and_by_interval():
    rng = np.random.default_rng(3)
    families = np.repeat(np.arange(15), 2)
    first, second = np.ones(30), rng.binomial(1, 0.4, 30).astype(float)
    first[:12] = NAN
    test = paired_tipping_point(first, second, families=families)
    limits = paired_tipping_point(first, second, families=families, decision="family-cp")
    loose = paired_tipping_point(first, second, families=families, decision="family-cp", margin=0.5)
    assert test.n_wrong is not None
    assert limits.n_wrong is not None
    assert limits.best > 0 >= limits.worst
    assert loose.n_wrong is None or loose.n_wrong > limits.n_wrong
    labels = [f"f{9 - f}" for f in families]
    assert paired_tipping_point(first, second, families=labels) == test


def test_tipping_point_where_nothing_holds_or_nothing_is_missing():
    assert paired_tipping_point([1, 0, NAN], [0, 1, 1]).n_wrong == 0
    lost = paired_tipping_point([1, 0, NAN, 1], [0, 1, 1, NAN])
    assert (lost.n_missing, lost.n_left_out) == (1, 1)
    whole = paired_tipping_point([1] * 8, [0] * 8)
    assert (whole.n_wrong, whole.n_missing, whole.worst) == (None, 0, 2 / 2**8)
    # A worse first system never holds the conclusion that it is better, however small p is.
    assert paired_tipping_point([0] * 9, [1] * 9).n_wrong == 0
    # An item without an answer of the second system is no pair.
    assert paired_tipping_point([1] * 8 + [NAN], [0] * 8 + [NAN]).n_missing == 0
    with pytest.raises(PairstatsError, match="at least one answer"):
        paired_tipping_point([1.0], [NAN])


def test_generic_tipping_point():
    assert tipping_point(3, lambda k: True) is None
    assert tipping_point(3, lambda k: k < 2) == 2
    assert tipping_point(0, lambda k: False) == 0


def test_imbens_manski_runs_from_two_sided_to_one_sided():
    z2, z1 = stats.norm.ppf([0.975, 0.95])
    point, wide = imbens_manski(0.5, 0.5, 0.01, 0.01), imbens_manski(0.2, 0.8, 0.01, 0.02)
    assert_allclose([point.low, point.high], [0.5 - z2 * 0.01, 0.5 + z2 * 0.01], rtol=1e-10)
    assert_allclose([wide.low, wide.high], [0.2 - z1 * 0.01, 0.8 + z1 * 0.02], rtol=1e-10)
    between = imbens_manski(0.5, 0.52, 0.01, 0.01)
    c = (0.5 - between.low) / 0.01
    assert_allclose(stats.norm.cdf(c + 2) - stats.norm.cdf(-c), 0.95, rtol=1e-10)
    exact = imbens_manski(0.4, 0.6, 0.0, 0.0)
    assert (exact.low, exact.high) == (0.4, 0.6)
    assert imbens_manski(0.9, 1.0, 0.1, 0.1, bounds=(0, 1)).high == 1
    with pytest.raises(PairstatsError, match="at most"):
        imbens_manski(0.6, 0.5, 0.1, 0.1)


def test_the_80_percent_rule():
    assert enough_answered(64, 80).enough
    assert not enough_answered(63, 80).enough
    assert not enough_answered(79, 80, families_answered=31, families_planned=40).enough
    empty = enough_answered(0, 0)
    assert not empty.enough
    assert math.isnan(empty.share_items)
    assert not enough_answered(0, 80, minimum=0.0).enough
    with pytest.raises(PairstatsError, match="at most planned"):
        enough_answered(5, 4)


def test_post_stratification_returns_to_the_planned_mix():
    scores, category = [1.0] * 9 + [0.0] + [0.5] * 6, ["easy"] * 10 + ["hard"] * 6
    found = post_stratify(scores, category, {"easy": 10, "hard": 30})
    assert_allclose(found.estimate, 0.25 * 0.9 + 0.75 * 0.5)
    assert found.low < found.estimate < found.high
    assert found.unusable == ()


def test_a_category_with_too_few_answers_leaves_no_estimate():
    scores, category = [1.0] * 10 + [0.5] * 3, ["a"] * 10 + ["b"] * 3
    found = post_stratify(scores, category, {"a": 10, "b": 10, "c": 10})
    assert found.unusable == ("b", "c")
    assert math.isnan(found.estimate)
    assert math.isnan(found.low)
    assert post_stratify(scores, category, {"a": 10, "b": 10}, minimum=3).unusable == ()
    with pytest.raises(PairstatsError, match="'b'"):
        post_stratify(scores, category, {"a": 10})


@pytest.mark.parametrize("seed", range(6))
def test_two_orders_find_the_number_or_one_more_on_single_items(seed, monkeypatch):
    rng = np.random.default_rng(100 + seed)
    first = np.where(rng.random(24) < 0.3, NAN, (rng.random(24) < 0.9) * 1.0)
    second = (rng.random(24) < 0.4) * 1.0
    greedy = paired_tipping_point(first, second)
    monkeypatch.setattr("pairstats.numeric.tipping.MOST_TRIED", 0)
    ordered = paired_tipping_point(first, second)
    assert (ordered.best, ordered.worst) == (greedy.best, greedy.worst)
    assert (ordered.n_wrong is None) == (greedy.n_wrong is None)
    if greedy.n_wrong is not None:
        assert greedy.n_wrong <= ordered.n_wrong <= greedy.n_wrong + 1
