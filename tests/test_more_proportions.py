"""Further intervals for a proportion, the binomial test, clustered odds and OLS: R, statsmodels, scipy."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import reference
from scipy import stats

from pairstats import Mean, Panel, rate_test
from pairstats.errors import PairstatsError
from pairstats.numeric import (
    agresti_coull,
    binomial_test,
    blaker,
    bootstrap_interval,
    clopper_pearson,
    cluster_robust,
    clustered_odds_ratio,
    family_interval,
    jeffreys,
    sign_flip,
    wilson,
)


def given(vector: dict[str, Any]) -> tuple[int, int, float]:
    inputs = vector["inputs"]
    return inputs["x"], inputs["n"], inputs["conf_level"]


@pytest.mark.parametrize(
    "vector",
    [
        *reference("binomial_ci", "agresti_coull"),
        *reference("python_misc", "proportion_confint_agresti_coull"),
    ],
)
def test_agresti_coull(vector: dict[str, Any]) -> None:
    x, n, level = given(vector)
    found, expected = agresti_coull(x, n, confidence_level=level), vector["expected"]
    # R does not cut its limits to [0, 1].
    assert found.low == pytest.approx(max(expected["lower"], 0), abs=vector["tolerance"])
    assert found.high == pytest.approx(min(expected["upper"], 1), abs=vector["tolerance"])
    assert wilson(x, n).low >= found.low
    assert wilson(x, n).high <= found.high


@pytest.mark.parametrize("vector", reference("binomial_ci", "blaker"))
def test_blaker(vector: dict[str, Any]) -> None:
    x, n, level = given(vector)
    found, wide = blaker(x, n, confidence_level=level), clopper_pearson(x, n, confidence_level=level)
    expected = vector["expected"]
    assert found.low == pytest.approx(expected["lower"], abs=max(vector["tolerance"], 1e-4))
    assert found.high == pytest.approx(expected["upper"], abs=max(vector["tolerance"], 1e-4))
    assert wide.low <= found.low <= found.high <= wide.high


@pytest.mark.parametrize("n", [5, 12, 25])
def test_coverage_of_blaker_is_never_below_its_level(n: int) -> None:
    found = [blaker(x, n) for x in range(n + 1)]
    ends = np.array([end for one in found for end in (one.low, one.high)])
    for rate in np.concatenate([ends[(ends > 0) & (ends < 1)] + shift for shift in (-1e-7, 1e-7)]):
        inside = np.array([one.low <= rate <= one.high for one in found])
        assert stats.binom.pmf(np.arange(n + 1), n, rate) @ inside >= 0.95 - 1e-5


@pytest.mark.parametrize("vector", reference("python_misc", "wilson_cc"))
def test_wilson_with_continuity_correction(vector: dict[str, Any]) -> None:
    x, n, level = given(vector)
    found = wilson(x, n, confidence_level=level, correction=True)
    assert (found.low, found.high) == pytest.approx(
        (vector["expected"]["lower"], vector["expected"]["upper"]), abs=vector["tolerance"]
    )


@pytest.mark.parametrize("vector", reference("python_misc", "proportion_confint_jeffreys"))
def test_jeffreys_closes_the_ends_that_statsmodels_leaves_open(vector: dict[str, Any]) -> None:
    x, n, level = given(vector)
    found, expected = jeffreys(x, n, confidence_level=level), vector["expected"]
    assert found.low == pytest.approx(0 if x == 0 else expected["lower"], abs=vector["tolerance"])
    assert found.high == pytest.approx(1 if x == n else expected["upper"], abs=vector["tolerance"])


@pytest.mark.parametrize("vector", reference("binomial_ci", "binomial_test"))
def test_binomial_test(vector: dict[str, Any]) -> None:
    inputs, expected = vector["inputs"], vector["expected"]
    for side, name in (("two-sided", "p_two_sided"), ("greater", "p_greater"), ("less", "p_less")):
        found = binomial_test(inputs["x"], inputs["n"], inputs["p0"], alternative=side)
        assert found.p_value == pytest.approx(expected[name], abs=max(vector["tolerance"], 1e-12))
        oracle = stats.binomtest(inputs["x"], inputs["n"], inputs["p0"], alternative=side)
        assert found.p_value == pytest.approx(oracle.pvalue, rel=1e-9)
    assert binomial_test(0, 400, 1.0).p_value > 0


@pytest.mark.parametrize("vector", reference("python_misc", "scipy_wilcoxon_exact"))
def test_signed_ranks_with_ties_are_a_sign_flip_test(vector: dict[str, Any]) -> None:
    d = np.array(vector["inputs"]["d"], dtype=float)
    signed = stats.rankdata(np.abs(d)) * np.sign(d)
    assert -signed[signed < 0].sum() == vector["expected"]["statistic"]
    # scipy takes the law of ranks without ties: 1 to 10, of which 5 are negative in sum.
    untied = np.array([1.0, -2.0, -3.0, 4, 5, 6, 7, 8, 9, 10])
    assert sign_flip(untied).p_value == pytest.approx(vector["expected"]["p"], abs=1e-12)
    sums = [abs(np.dot(signs, np.abs(signed))) for signs in itertools.product((-1, 1), repeat=d.size)]
    right = np.mean(np.array(sums) >= abs(signed.sum()) - 1e-9)
    assert sign_flip(signed).p_value == pytest.approx(right, abs=1e-12)
    assert right != vector["expected"]["p"]


@pytest.mark.parametrize("vector", reference("python_misc", "trap_scipy_bca"))
def test_bca_of_equal_scores_is_a_point_and_not_nan(vector: dict[str, Any]) -> None:
    assert vector["expected"] == {"lower": "NaN", "upper": "NaN"}
    found = bootstrap_interval(vector["inputs"]["data"], method="bca")
    assert (found.low, found.high, found.collapsed) == (1, 1, True)


@pytest.mark.parametrize("vector", reference("python_misc", "statsmodels_cluster_ols_paired"))
def test_cluster_robust_errors_are_those_of_least_squares(vector: dict[str, Any]) -> None:
    inputs, expected = vector["inputs"], vector["expected"]
    family, a, b = (np.array(inputs[name]) for name in ("family", "model_a", "model_b"))
    sizes = np.bincount(family).astype(float)
    means = np.bincount(family, weights=a - b) / sizes
    groups = sizes.size
    plain, first = (cluster_robust(means, sizes=sizes, kind=kind) for kind in ("CR0", "CR1"))
    tolerance = vector["tolerance"]
    assert float(sizes @ means / sizes.sum()) == pytest.approx(expected["difference"], abs=tolerance)
    assert plain.std_error == pytest.approx(expected["se_cr0"], abs=tolerance)
    assert first.std_error == pytest.approx(expected["se_cr1"], abs=tolerance)
    t = expected["difference"] / first.std_error
    assert 2 * stats.t.sf(t, groups - 1) == pytest.approx(expected["p_t"], abs=1e-8)
    z = expected["difference"] / plain.std_error
    assert 2 * stats.norm.sf(z) == pytest.approx(expected["p_z"], abs=1e-8)


def counts(vector: dict[str, Any]) -> list[np.ndarray]:
    family, a, b = (np.array(vector["inputs"][name]) for name in ("family", "model_a", "model_b"))
    kinds = (a * b, a * (1 - b), (1 - a) * b, (1 - a) * (1 - b))
    return [np.bincount(family, weights=kind) for kind in kinds]


@pytest.mark.parametrize("vector", reference("python_misc", "statsmodels_gee_logit_paired"))
def test_clustered_odds_ratio_is_that_of_a_gee_logit(vector: dict[str, Any]) -> None:
    expected, table = vector["expected"], counts(vector)
    t = stats.t.ppf(0.975, table[0].size - 1)
    for variance, name in (
        ("robust", "se_robust_independence"),
        ("robust", "se_robust_exchangeable"),
        ("mancl-derouen", "se_mancl_derouen_independence"),
    ):
        found = clustered_odds_ratio(*table, variance=variance)
        assert math.log(found.estimate) == pytest.approx(expected["log_or_independence"], abs=1e-5)
        assert math.log(found.estimate) == pytest.approx(expected["log_or_exchangeable"], abs=1e-5)
        for end in (found.low, found.high):
            assert abs(math.log(end / found.estimate)) / t == pytest.approx(expected[name], abs=1e-5)


def test_clustered_odds_turn_round_and_have_no_limits_at_a_ceiling() -> None:
    table = [[1, 2, 1, 2] * 6, [1, 0, 1, 0] * 6, [0, 0, 1, 0] * 6, [0, 0, 0, 1] * 6]
    one = clustered_odds_ratio(*table)
    back = clustered_odds_ratio(table[0], table[2], table[1], table[3])
    assert (one.estimate, one.low, one.high) == pytest.approx(
        (1 / back.estimate, 1 / back.high, 1 / back.low)
    )
    lower = clustered_odds_ratio(*table, alternative="greater", confidence_level=0.975)
    assert (lower.low, lower.high) == (pytest.approx(one.low), math.inf)
    ceiling = clustered_odds_ratio([2] * 10, [0] * 9 + [1], [0] * 10, [0] * 10)
    assert (ceiling.estimate, ceiling.low, ceiling.high) == (math.inf, 0, math.inf)
    assert math.isnan(clustered_odds_ratio([2] * 3, [0] * 3, [0] * 3, [0] * 3).estimate)
    assert clustered_odds_ratio([2] * 3, [0] * 3, [0, 0, 1], [0] * 3).estimate == 0


@pytest.mark.parametrize("first_only", [0, 1])
def test_families_that_differ_alike_show_no_spread_and_no_certainty(first_only: int) -> None:
    found = clustered_odds_ratio([3] * 9, [first_only] * 9, [0] * 9, [2] * 9)
    assert (found.low, found.high) == (0, math.inf)
    assert found.method.endswith("no spread")


def test_a_rate_is_tested_on_records_as_on_counts() -> None:
    frame = pd.DataFrame(
        {"family": [f"f{i}" for i in range(16)], "item": "q", "model": "m", "score": [1.0] * 10 + [0.0] * 6}
    )
    for side in ("two-sided", "less", "greater"):
        [row] = rate_test(Panel(frame), Mean("score"), 0.5, alternative=side)
        assert row["p_value"] == pytest.approx(stats.binomtest(10, 16, 0.5, alternative=side).pvalue)
    # Families of two: the level at which the family-CP limit reaches the rate.
    paired = frame.assign(family=[f"f{i // 2}" for i in range(16)], item=[f"q{i}" for i in range(16)])
    [row] = rate_test(Panel(paired), Mean("score"), 0.3, alternative="greater")
    means = paired.groupby("family")["score"].mean()
    limit = family_interval(means, kind="cp", confidence_level=1 - row["p_value"], alternative="greater").low
    assert limit == pytest.approx(0.3, abs=1e-7)
    [two] = rate_test(Panel(paired), Mean("score"), 0.3)
    assert two["p_value"] == pytest.approx(2 * row["p_value"])
    with pytest.raises(PairstatsError, match="strictly between 0 and 1"):
        rate_test(Panel(frame), Mean("score"), 1.0)


@pytest.mark.parametrize("function", [agresti_coull, blaker])
def test_counts_that_do_not_fit(function: Any) -> None:
    with pytest.raises(PairstatsError, match="at most `nobs`"):
        function(5, 4)
    with pytest.raises(PairstatsError, match="rate"):
        binomial_test(1, 4, 1.5)
    one = agresti_coull(8, 10, alternative="less", confidence_level=0.975)
    assert (one.low, one.high) == (0, pytest.approx(agresti_coull(8, 10).high))
