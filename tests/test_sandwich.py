"""Cluster-robust intervals against R clubSandwich, survey, scipy; the wild bootstrap against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from conftest import reference
from numpy.testing import assert_allclose
from scipy import stats

from pairstats.errors import PairstatsError
from pairstats.numeric import cluster_robust, cr2_interval, korn_graubard, sign_flip, wild_cluster


def families(family: list[int], y: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Family means and sizes from a column of families and one of scores."""
    names = np.unique(family)
    sizes = np.array([np.sum(np.array(family) == name) for name in names], dtype=float)
    totals = np.array([np.sum(np.array(y)[np.array(family) == name]) for name in names], dtype=float)
    return totals / sizes, sizes


@pytest.mark.parametrize("vector", reference("sandwich_survey", "cluster_mean"))
def test_standard_errors_and_limits_as_in_clubsandwich(vector):
    means, sizes = families(**vector["inputs"])
    expected, tolerance = vector["expected"], vector["tolerance"]
    for kind in ("CR0", "CR1", "CR2", "CR3"):
        found = cluster_robust(means, sizes=sizes, kind=kind)
        assert_allclose(found.std_error, expected[f"se_{kind}"], rtol=tolerance, atol=1e-12)
        assert_allclose(found.estimate, expected["mean"], rtol=1e-12)
        if kind in ("CR1", "CR2") and expected["se_CR0"] > 1e-10:
            assert_allclose(found.df, expected[f"df_satterthwaite_{kind}"], rtol=tolerance)
        if kind in ("CR1", "CR2"):
            assert_allclose([found.low, found.high], expected[f"ci_{kind}"], rtol=tolerance)
    # For one mean, CR1S is CR1.
    assert_allclose(
        cluster_robust(means, sizes=sizes, kind="CR1").std_error, expected["se_CR1S"], rtol=1e-8, atol=1e-12
    )


@pytest.mark.parametrize("vector", reference("sandwich_survey", "paired_difference_cr2"))
def test_paired_difference_as_in_clubsandwich(vector):
    inputs, expected = vector["inputs"], vector["expected"]
    gaps = np.subtract(inputs["model_b"], inputs["model_a"]).tolist()
    means, sizes = families(inputs["family"], gaps)
    found = cluster_robust(means, sizes=sizes)
    assert_allclose(found.estimate, expected["difference_b_minus_a"], rtol=vector["tolerance"])
    assert_allclose(found.std_error, expected["se_diff_cr2"], rtol=vector["tolerance"])
    assert_allclose(found.df, expected["df_diff"], rtol=vector["tolerance"])
    assert_allclose(found.p_value, expected["p_diff"], rtol=vector["tolerance"])


@pytest.mark.parametrize("vector", reference("sandwich_survey", "korn_graubard"))
def test_korn_graubard_as_in_survey(vector):
    inputs, expected = vector["inputs"], vector["expected"]
    means, sizes = families(inputs["family"], inputs["y"])
    found = korn_graubard(means, sizes=sizes, confidence_level=inputs["conf_level"])
    assert_allclose([found.low, found.high], expected["kg_truncated"], atol=vector["tolerance"])
    assert_allclose(found.design_effect, expected["deff"], rtol=1e-9)
    assert_allclose(found.n_effective, min(sizes.sum(), expected["n_eff_df_adjusted"]), rtol=1e-9)


def test_korn_graubard_takes_families_where_they_do_not_differ():
    for scores in ([1.0] * 10, [0.0] * 10, [0.5] * 10):
        found = korn_graubard(scores, sizes=[4] * 10)
        assert found.n_effective == 10
        assert math.isnan(found.design_effect)
    assert_allclose(korn_graubard([1.0] * 10, sizes=[4] * 10).low, 0.025**0.1, rtol=1e-12)
    assert korn_graubard([1.0], sizes=[4]).high == 1


def test_korn_graubard_never_counts_more_items_than_there_are():
    # Families alternate 0/1 inside: the design effect is below 1.
    found = korn_graubard([0.5, 0.5, 0.5, 0.5, 0.5, 1.0], sizes=[2] * 6)
    assert found.design_effect < 1
    assert found.n_effective <= 12


def test_equal_sizes_are_the_t_interval_of_scipy():
    scores = np.random.default_rng(1).normal(3, 2, 12)
    test = stats.ttest_1samp(scores, 2.0)
    for kind in ("CR1", "CR2"):
        found = cluster_robust(scores, sizes=[7] * 12, kind=kind, null=2.0)
        assert_allclose([found.low, found.high], test.confidence_interval(), rtol=1e-9)
        assert_allclose([found.statistic, found.p_value], [test.statistic, test.pvalue], rtol=1e-9)
    for side in ("less", "greater"):
        expected = stats.ttest_1samp(scores, 2.0, alternative=side)
        assert_allclose(
            cluster_robust(scores, null=2.0, alternative=side).p_value, expected.pvalue, rtol=1e-9
        )


@pytest.mark.parametrize("kind", ["CR0", "CR1", "CR2", "CR3"])
def test_degrees_of_freedom_are_those_of_the_quadratic_form(kind):
    sizes = np.array([1.0, 2.0, 5.0, 9.0, 3.0])
    share = sizes / sizes.sum()
    factors = {"CR0": share**0, "CR1": share**0 * 1.25, "CR2": 1 / (1 - share), "CR3": (1 - share) ** -2.0}
    covariance = np.diag(share) - np.outer(share, share)
    form = np.diag(factors[kind]) @ covariance
    expected = np.trace(form) ** 2 / np.trace(form @ form)
    assert_allclose(cluster_robust([1, 0, 0.5, 1, 0], sizes=sizes, kind=kind).df, expected, rtol=1e-8)


def test_normal_and_family_references():
    scores = [1.0, 2.0, 4.0, 5.0, 9.0]
    normal = cluster_robust(scores, kind="CR0", df="normal")
    assert_allclose(normal.high - normal.estimate, stats.norm.ppf(0.975) * normal.std_error, rtol=1e-12)
    assert normal.method == "cr0-z"
    assert cluster_robust(scores, sizes=[1, 2, 3, 4, 5], df="families").df == 4


def test_one_family_and_no_spread_give_no_evidence():
    one = cluster_robust([0.7])
    assert (one.low, one.high, one.p_value) == (-math.inf, math.inf, 1.0)
    flat = cluster_robust([1 / 3] * 9, sizes=[1, 2, 3, 4, 5, 6, 7, 8, 9])
    assert (flat.std_error, flat.p_value, flat.low) == (0.0, 1.0, 1 / 3)
    assert cluster_robust([0.0] * 4).statistic == 0


def test_cr2_interval_is_the_default_kind():
    scores, sizes = [1.0, 0.0, 0.5, 1.0], [1, 5, 2, 2]
    found, same = (
        cr2_interval(scores, sizes=sizes, alternative="less"),
        cluster_robust(scores, sizes=sizes, alternative="less"),
    )
    assert (found.low, found.high, found.std_error, found.df) == (
        same.low,
        same.high,
        same.std_error,
        same.df,
    )
    assert found.low == -math.inf


def test_words_are_checked():
    with pytest.raises(PairstatsError, match="kind"):
        cluster_robust([1, 2], kind="CR4")
    with pytest.raises(PairstatsError, match="position 1 is nan"):
        cluster_robust([1, float("nan")])
    with pytest.raises(PairstatsError, match=r"\[0, 1\]"):
        korn_graubard([1.5, 0.2])


def brute_wild(scores, sizes, null, side):
    """P-value by looping over all signs, straight from the definition."""
    u, total = sizes * (scores - null), sizes.sum()

    def t(values):
        spread = math.sqrt(np.sum((values - sizes * values.sum() / total) ** 2))
        return values.sum() / spread if spread > 1e-12 else math.copysign(math.inf, values.sum())

    observed = t(u)
    drawn = [t(np.array(signs) * u) for signs in itertools.product((-1, 1), repeat=len(u))]
    slack = 1e-9 * abs(observed) if math.isfinite(observed) else 0
    hits = {
        "two-sided": [abs(x) >= abs(observed) - slack for x in drawn],
        "greater": [x >= observed - slack for x in drawn],
        "less": [x <= observed + slack for x in drawn],
    }[side]
    return np.mean(hits)


@pytest.mark.parametrize("side", ["two-sided", "less", "greater"])
def test_wild_bootstrap_is_the_enumeration(side):
    rng = np.random.default_rng(3)
    scores, sizes = rng.normal(0.5, 1, 8), rng.integers(1, 6, 8).astype(float)
    for null in (0.0, 0.4, -1.0):
        found = wild_cluster(scores, sizes=sizes, null=null, alternative=side)
        assert_allclose(found.p_value, brute_wild(scores, sizes, null, side), rtol=1e-12)


def test_wild_bootstrap_of_equal_sizes_is_the_sign_flip_test():
    gaps = [3, 1, 2, -1, 2, 2, 0, 1]
    for side in ("two-sided", "less", "greater"):
        assert wild_cluster(gaps, alternative=side).p_value == sign_flip(gaps, alternative=side).p_value


def test_wild_limits_are_where_the_test_begins_to_reject():
    rng = np.random.default_rng(5)
    scores, sizes = rng.normal(1, 1, 10), rng.integers(1, 4, 10).astype(float)
    found = wild_cluster(scores, sizes=sizes)
    for end, inside in ((found.low, 1), (found.high, -1)):
        step = 1e-6 * (found.high - found.low)
        assert wild_cluster(scores, sizes=sizes, null=end + inside * step).p_value > 0.05
        assert wild_cluster(scores, sizes=sizes, null=end - inside * step).p_value <= 0.05


def test_wild_bootstrap_of_few_families_cannot_reject():
    found = wild_cluster([1.0, 2.0, 3.0])
    assert (found.low, found.high, found.p_floor) == (-math.inf, math.inf, 0.25)
    assert wild_cluster([1.0]).low == -math.inf


def test_wild_draws_do_not_depend_on_row_order_and_need_no_seed():
    rng = np.random.default_rng(8)
    scores, sizes = rng.normal(0.3, 1, 30), rng.integers(1, 6, 30)
    order = rng.permutation(30)
    first = wild_cluster(scores, sizes=sizes, n_resamples=499)
    again = wild_cluster(scores[order], sizes=sizes[order], n_resamples=499)
    assert first.p_value == again.p_value
    assert first.p_value >= first.p_floor == 1 / 500
    assert first.mc_error > 0


def test_webb_weights_have_mean_0_and_variance_1():
    from pairstats.numeric.wild import WEBB

    assert_allclose([WEBB.mean(), (WEBB**2).mean()], [0, 1], atol=1e-15)
    found = wild_cluster([1.0, 2.0, 3.0, 2.5, 1.5], weights="webb", n_resamples=999, rng=1)
    assert found.p_value < 0.05  # signs alone reach .0625
