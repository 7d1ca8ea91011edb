"""Composite scores, means over strata, and paired medians."""

from __future__ import annotations

import math

import numpy as np
import pytest
from conftest import reference
from numpy.testing import assert_allclose
from scipy import stats

from pairstats.errors import PairstatsError
from pairstats.numeric import (
    capped_score,
    clopper_pearson,
    family_interval,
    macro_average,
    number_correct,
    paired_medians,
    weighted_composite,
)
from pairstats.numeric.medians import weighted_medians


@pytest.mark.parametrize("vector", reference("missing_composite", "all_k_correct"))
def test_all_correct_as_in_r(vector):
    found, expected = number_correct(vector["inputs"]["families_by_decisions"]), vector["expected"]
    assert_allclose(found.per_decision, expected["per_decision"], rtol=1e-12)
    assert_allclose(found.all_correct.estimate, expected["robust_fidelity"], rtol=1e-12)
    assert_allclose([found.all_correct.low, found.all_correct.high], expected["cp"], rtol=1e-12)
    assert found.families[-1] == expected["passes"]
    assert found.families.sum() == expected["families"]


@pytest.mark.parametrize("vector", reference("missing_composite", "defection"))
def test_shares_at_each_dose_as_in_r(vector):
    i, expected = vector["inputs"], vector["expected"]
    found = [clopper_pearson(x, i["n"]) for x in i["x"]]
    assert_allclose([f.estimate for f in found], expected["share"], rtol=1e-10)
    assert_allclose([f.low for f in found], expected["cp_lower"], rtol=1e-10)
    assert_allclose([f.high for f in found], expected["cp_upper"], rtol=1e-10)


@pytest.mark.parametrize("vector", reference("missing_composite", "capped_score"))
def test_capped_score_by_its_definition(vector):
    i, expected = vector["inputs"], vector["expected"]
    found = capped_score(i["conflict_scores"], i["consistent_correct"])
    assert_allclose(found.score, expected["conflict_mean"], rtol=1e-12)
    assert_allclose(found.cap, expected["consistent_accuracy"], rtol=1e-12)
    assert_allclose(found.estimate, expected["score"], rtol=1e-12)
    assert found.active == expected["active"]


def test_capped_limits_take_a_half_and_a_quarter_of_the_error():
    score, cap = [1, 0.5, 0.5, 0, 1, 1, 0.5], [1, 1, 1, 0, 1, 1]
    found = capped_score(score, cap, kind="cp")
    lows = [family_interval(x, kind="cp", confidence_level=0.95).low for x in (score, cap)]
    highs = [
        family_interval(x, kind="cp", confidence_level=1 - 0.05 / 4, alternative="less").high
        for x in (score, cap)
    ]
    assert_allclose([found.low, found.high], [min(lows), min(highs)], rtol=1e-12)
    lower = capped_score(score, cap, kind="cp", alternative="greater")
    assert lower.high == 1.0
    assert lower.low > found.low
    assert capped_score([1, 0], [0, 1]).active == "both"


def test_capped_interval_covers_where_both_are_equal():
    rng = np.random.default_rng(1)
    truth, covered = 0.9, 0
    for _ in range(150):
        found = capped_score(rng.binomial(2, truth, 36) / 2, rng.binomial(1, truth, 36))
        covered += found.low <= truth <= found.high
    assert covered / 150 >= 0.955 - 2 * math.sqrt(0.955 * 0.045 / 150)  # methods.md, section j


def test_number_correct_refuses_gaps_and_counts_all():
    found = number_correct(np.eye(3))
    assert found.families.tolist() == [0, 3, 0, 0]
    assert (found.all_correct.low, found.k) == (0.0, 3)
    with pytest.raises(PairstatsError, match="families 1 hold something else"):
        number_correct([[1, 1], [1, float("nan")]])
    with pytest.raises(PairstatsError, match="a row for each family"):
        number_correct([1, 0, 1])


def test_weighted_parts_are_added_family_by_family():
    parts = np.array([[1, 0.5], [0, 0.5], [1, 1.0], [0.5, 0]])
    found = weighted_composite(parts, [1.0, -0.5])
    assert found.bounds == (-0.5, 1.0)
    assert_allclose(found.scores, parts @ [1, -0.5])
    assert_allclose(found.estimate, parts.mean(axis=0) @ [1, -0.5])
    same = family_interval(found.scores, bounds=(-0.5, 1.0))
    assert (found.low, found.high) == (same.low, same.high)
    with pytest.raises(PairstatsError, match="not all be 0"):
        weighted_composite(parts, [0, 0])
    with pytest.raises(PairstatsError, match="one column for each of the 3 weights"):
        weighted_composite(parts, [1, 1, 1])


# Strata -------------------------------------------------------------------------------------------


def test_one_stratum_is_the_family_interval_and_two_equal_ones_nearly():
    scores = [1.0] * 29 + [0.5] * 10 + [0.0]
    for kind in ("jeffreys", "cp"):
        exact = family_interval(scores, kind=kind)
        one = macro_average(scores, ["a"] * 40, kind=kind)
        assert_allclose([one.low, one.high], [exact.low, exact.high], rtol=1e-12)
        assert one.mc_error is None
    # 16 tasks of 10 items, all right: about as 160 items, not dragged down by 16 half families.
    many = macro_average([1.0] * 160, np.repeat(np.arange(16), 10).tolist())
    assert abs(many.low - family_interval([1.0] * 160).low) < 0.005
    assert many.high == 1.0


def test_strata_weigh_as_told():
    scores, strata = [1, 1, 0, 1, 0, 0, 0.5, 0.5], list("aaabbbbb")
    equal = macro_average(scores, strata)
    assert_allclose(equal.estimate, (2 / 3 + 0.4) / 2)
    by_size = macro_average(scores, strata, weights={"a": 3, "b": 5})
    assert_allclose(by_size.estimate, np.mean(scores))
    sized = macro_average(scores, strata, sizes=[1, 1, 4, 1, 1, 1, 1, 1])
    assert_allclose(sized.estimates[0], 2 / 6)
    assert sized.n_items.tolist() == [6, 5]
    assert equal.n_families.tolist() == [3, 5]
    with pytest.raises(PairstatsError, match="one number for each stratum"):
        macro_average(scores, strata, weights={"a": 1})


def test_strata_do_not_depend_on_rows_or_names():
    rng = np.random.default_rng(2)
    scores, strata = rng.binomial(3, 0.8, 60) / 3, rng.integers(0, 4, 60)
    order = rng.permutation(60)
    first = macro_average(scores, strata.tolist(), n_resamples=2000)
    renamed = [f"task {9 - s}" for s in strata[order]]
    again = macro_average(scores[order], renamed, n_resamples=2000)
    assert_allclose([first.low, first.high], [again.low, again.high], rtol=1e-12)
    assert first.seed == again.seed


def test_difference_of_opposite_sign_mirrors():
    rng = np.random.default_rng(4)
    gaps, strata = rng.integers(-2, 3, 40) / 2, rng.integers(0, 3, 40).tolist()
    up = macro_average(gaps, strata, bounds=(-1, 1), kind="cp")
    down = macro_average(-gaps, strata, bounds=(-1, 1), kind="cp")
    error = 5 * (up.mc_error + down.mc_error)
    assert_allclose([up.low, up.high], [-down.high, -down.low], atol=error)
    one_sided = macro_average(gaps, strata, bounds=(-1, 1), alternative="greater")
    assert one_sided.high == 1.0
    assert one_sided.low > macro_average(gaps, strata, bounds=(-1, 1)).low


@pytest.mark.parametrize(("kind", "least"), [("jeffreys", 0.94), ("cp", 0.95)])
@pytest.mark.parametrize(
    ("sizes", "rates"), [((6, 20, 40), (0.8, 0.95, 0.99)), ((3,) * 12, (0.8,) * 12), ((10, 100), (0.8, 0.99))]
)
def test_strata_are_covered(kind, least, sizes, rates):
    rng = np.random.default_rng(7)
    strata = np.repeat(np.arange(len(sizes)), sizes).tolist()
    covered = 0
    for _ in range(300):
        scores = np.concatenate([rng.binomial(1, p, n) for p, n in zip(rates, sizes, strict=True)])
        found = macro_average(scores, strata, kind=kind, n_resamples=1000)
        covered += found.low <= np.mean(rates) <= found.high
    assert covered / 300 >= least - 2 * math.sqrt(0.06 / 300)


# Medians ------------------------------------------------------------------------------------------


def test_weighted_medians_are_those_of_repeated_values():
    rng = np.random.default_rng(1)
    values = rng.normal(size=9).round(1)
    weights = rng.multinomial(9, np.full(9, 1 / 9), size=200)
    expected = [np.median(np.repeat(values, w)) for w in weights]
    assert_allclose(weighted_medians(values, weights), expected, atol=1e-15)
    with pytest.raises(PairstatsError, match="rows 1 are"):
        weighted_medians([1, 2], [[1, 1], [0, 0]])


def test_medians_as_scipy_draws_them():
    rng = np.random.default_rng(3)
    first, second = rng.lognormal(3, 1, 60), rng.lognormal(2.8, 1, 60)
    found = paired_medians(first, second, n_resamples=6000)

    def gap(a, b, axis=-1):
        return np.median(a, axis=axis) - np.median(b, axis=axis)

    peer = stats.bootstrap(
        (first, second), gap, paired=True, n_resamples=6000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    assert_allclose([found.difference.low, found.difference.high], peer, atol=6 * found.difference.mc_error)
    assert_allclose(found.median_difference.estimate, np.median(first - second))
    assert_allclose(found.ratio.estimate, np.median(first) / np.median(second))


def test_medians_of_families_are_wider_than_of_items():
    rng = np.random.default_rng(5)
    level = np.repeat(rng.normal(0, 1, 30), 8)
    first, second = np.exp(level + rng.normal(0, 0.1, 240)), np.ones(240)
    families = np.repeat(np.arange(30), 8)
    by_family = paired_medians(first, second, families=families.tolist(), n_resamples=2000)
    by_item = paired_medians(first, second, n_resamples=2000)
    assert by_family.n_families == 30
    assert by_family.first.high - by_family.first.low > 1.5 * (by_item.first.high - by_item.first.low)


def test_medians_do_not_depend_on_rows_and_turn_round():
    rng = np.random.default_rng(6)
    first, second = rng.integers(1, 50, 40), rng.integers(1, 50, 40)
    families, order = rng.integers(0, 12, 40), rng.permutation(40)
    found = paired_medians(first, second, families=families.tolist(), n_resamples=500)
    again = paired_medians(
        first[order], second[order], families=[f"f{f}" for f in families[order]], n_resamples=500
    )
    assert found == again
    swapped = paired_medians(second, first, families=families.tolist(), n_resamples=500, rng=1)
    same = paired_medians(first, second, families=families.tolist(), n_resamples=500, rng=1)
    assert swapped.difference.estimate == -same.difference.estimate


def test_medians_without_a_ratio_and_one_sided():
    found = paired_medians([0, 1, 2], [1, 1, 1], n_resamples=99, alternative="greater")
    assert found.ratio is None
    assert found.first.high == math.inf
    one = paired_medians([3.0], [2.0], n_resamples=9)
    assert (one.ratio.low, one.ratio.high) == (1.5, 1.5)
    with pytest.raises(PairstatsError, match="have 2 and 1"):
        paired_medians([1, 2], [1])
