"""Intervals from counts against R, scipy, statsmodels, published tables, and complete enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pairstats.errors import PairstatsError
from pairstats.numeric.paired_differences import (
    DIFFERENCE_METHODS,
    paired_difference_interval,
    tango_statistic,
)
from pairstats.numeric.proportions import (
    clopper_pearson,
    jeffreys,
    mid_p_interval,
    wilson,
    zero_event_bound,
    zero_event_nobs,
)

RULES = {
    "clopper_pearson": clopper_pearson,
    "wilson": wilson,
    "jeffreys": jeffreys,
    "mid_p": mid_p_interval,
}
DIFFERENCES = {
    "tango": "tango",
    "newcombe": "newcombe",
    "bonett_price": "bonett-price",
    "agresti_min": "agresti-min",
    "wald": "wald",
}


def rule_of(name: str, rules: dict[str, Any]) -> Any:
    return next(rule for prefix, rule in rules.items() if name.startswith(prefix))


@pytest.mark.parametrize(
    "vector", reference("binomial_ci", "clopper_pearson_two", "wilson", "jeffreys", "mid_p")
)
def test_proportion_equals_r(vector: dict[str, Any]) -> None:
    given_, expected = vector["inputs"], vector["expected"]
    found = rule_of(vector["name"], RULES)(given_["x"], given_["n"], confidence_level=given_["conf_level"])
    assert (found.low, found.high) == pytest.approx(
        (expected["lower"], expected["upper"]), abs=vector["tolerance"]
    )
    assert found.estimate == given_["x"] / given_["n"]


@pytest.mark.parametrize("vector", reference("binomial_ci", "clopper_pearson_one"))
def test_one_sided_clopper_pearson_equals_r(vector: dict[str, Any]) -> None:
    x, n, level = vector["inputs"]["x"], vector["inputs"]["n"], 1 - vector["inputs"]["alpha"]
    lower = clopper_pearson(x, n, confidence_level=level, alternative="greater")
    upper = clopper_pearson(x, n, confidence_level=level, alternative="less")
    expected = vector["expected"]
    assert (lower.low, upper.high) == pytest.approx(
        (expected["lower_bound"], expected["upper_bound"]), abs=vector["tolerance"]
    )
    assert (upper.low, lower.high) == (0, 1)


@pytest.mark.parametrize("vector", reference("binomial_ci", "newcombe1998"))
def test_published_table_of_newcombe(vector: dict[str, Any]) -> None:
    given_ = vector["inputs"]
    compared = [name for name in RULES if name in vector["expected"]]
    assert compared
    for name in compared:
        found = RULES[name](given_["x"], given_["n"], confidence_level=given_["conf_level"])
        assert (found.low, found.high) == pytest.approx(vector["expected"][name], abs=vector["tolerance"])


@pytest.mark.parametrize(
    "vector", reference("python_misc", "proportion_confint_beta", "proportion_confint_wilson")
)
def test_proportion_equals_statsmodels(vector: dict[str, Any]) -> None:
    given_, expected = vector["inputs"], vector["expected"]
    rule = clopper_pearson if given_["method"] == "beta" else wilson
    found = rule(given_["x"], given_["n"], confidence_level=given_["conf_level"])
    assert (found.low, found.high) == pytest.approx((expected["lower"], expected["upper"]), abs=1e-9)


@pytest.mark.parametrize(("x", "n"), [(0, 7), (3, 7), (7, 7), (1, 200), (500, 1000)])
def test_proportion_equals_scipy(x: int, n: int) -> None:
    for rule, method in ((clopper_pearson, "exact"), (wilson, "wilson")):
        for alternative in ("two-sided", "less", "greater"):
            found = rule(x, n, confidence_level=0.9, alternative=alternative)
            test = stats.binomtest(x, n, alternative=alternative)
            expected = test.proportion_ci(0.9, method=method)
            assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_tiny_alpha_near_the_ends_does_not_break() -> None:
    # statsmodels issues 9141 and 9549: beta quantiles went to .9999 here.
    assert clopper_pearson(1, 10**6, confidence_level=1 - 1e-10).low == pytest.approx(5e-17, rel=1e-5)
    assert jeffreys(0, 5, confidence_level=1 - 1e-12).low == 0
    assert clopper_pearson(0, 5, confidence_level=1 - 1e-12).high == pytest.approx(1 - 5e-13 ** (1 / 5))


def test_mid_p_solves_its_equation() -> None:
    found = mid_p_interval(3, 12, confidence_level=0.9)
    at_low = stats.binom.sf(3, 12, found.low) + stats.binom.pmf(3, 12, found.low) / 2
    at_high = stats.binom.cdf(2, 12, found.high) + stats.binom.pmf(3, 12, found.high) / 2
    assert (at_low, at_high) == pytest.approx((0.05, 0.05), abs=1e-12)


@pytest.mark.parametrize("n", [1, 4, 15])
def test_clopper_pearson_covers_by_enumeration(n: int) -> None:
    limits = [clopper_pearson(x, n) for x in range(n + 1)]
    for p in np.linspace(0.001, 0.999, 300):
        covered = sum(stats.binom.pmf(x, n, p) for x in range(n + 1) if limits[x].low <= p <= limits[x].high)
        assert covered >= 0.95 - 1e-12


@pytest.mark.parametrize("rule", RULES.values())
@pytest.mark.parametrize("level", [0.01, 0.3, 0.95])
def test_mirror_edges_and_sides(rule: Any, level: float) -> None:
    for x in range(7):
        found, mirrored = rule(x, 6, confidence_level=level), rule(6 - x, 6, confidence_level=level)
        assert (found.low, found.high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low), abs=1e-13)
        lower = rule(x, 6, confidence_level=level, alternative="greater")
        assert 0 <= lower.low <= lower.high == 1
    assert rule(0, 6, confidence_level=level).low == 0
    assert rule(6, 6, confidence_level=level).high == 1


def test_zero_event_bounds_of_the_methods_page() -> None:
    found = [1 - zero_event_bound(n, confidence_level=0.975).high for n in (4, 10, 40, 48, 192)]
    assert found == pytest.approx([0.398, 0.692, 0.912, 0.926, 0.981], abs=5e-4)
    assert zero_event_bound(48).high == pytest.approx(
        clopper_pearson(0, 48, alternative="less").high, abs=1e-14
    )
    assert [zero_event_nobs(b, confidence_level=0.975) for b in (0.05, 0.02, 0.01)] == [72, 183, 368]
    assert [zero_event_nobs(b) for b in (0.05, 0.02, 0.01)] == [59, 149, 299]
    assert zero_event_nobs(zero_event_bound(17).high) == 17
    with pytest.raises(PairstatsError, match="`bound`"):
        zero_event_nobs(0)


@pytest.mark.parametrize("vector", reference("paired_difference_ci", *DIFFERENCES))
def test_paired_difference_equals_r(vector: dict[str, Any]) -> None:
    given_, expected = vector["inputs"], vector["expected"]
    found = paired_difference_interval(
        *(given_[cell] for cell in "abcd"),
        method=rule_of(vector["name"], DIFFERENCES),
        confidence_level=given_["conf_level"],
    )
    assert found.estimate == pytest.approx(expected["estimate"], abs=1e-12)
    assert (found.low, found.high) == pytest.approx(
        (expected["lower"], expected["upper"]), abs=vector["tolerance"]
    )


@pytest.mark.parametrize("vector", reference("paired_difference_ci", "published"))
def test_paired_difference_equals_published_table(vector: dict[str, Any]) -> None:
    cells = [vector["inputs"][cell] for cell in "abcd"]
    for name, expected in vector["expected"].items():
        found = paired_difference_interval(*cells, method=DIFFERENCES[name])
        assert (found.low, found.high) == pytest.approx(expected, abs=vector["tolerance"])


@pytest.mark.parametrize("n", [35, 73, 381])
def test_tango_without_discordant_pairs_has_a_closed_form(n: int) -> None:
    z2 = stats.norm.ppf(0.975) ** 2
    found = paired_difference_interval(n, 0, 0, 0)
    assert (found.low, found.high) == pytest.approx((-z2 / (n + z2), z2 / (n + z2)), abs=1e-12)


def test_tango_limits_are_where_the_score_test_rejects() -> None:
    found = paired_difference_interval(50, 12, 3, 15, confidence_level=0.9)
    z = stats.norm.ppf(0.95)
    assert tango_statistic(12, 3, 80, found.low) == pytest.approx(z, abs=1e-9)
    assert tango_statistic(12, 3, 80, found.high) == pytest.approx(-z, abs=1e-9)


@pytest.mark.parametrize("method", DIFFERENCE_METHODS)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(cells=st.tuples(*[st.integers(0, 30)] * 4).filter(any), level=st.sampled_from([0.5, 0.95, 0.9999]))
def test_paired_difference_properties(method: str, cells: tuple[int, int, int, int], level: float) -> None:
    a, b, c, d = cells
    found = paired_difference_interval(a, b, c, d, method=method, confidence_level=level)
    assert -1 <= found.low <= found.high <= 1
    swapped = paired_difference_interval(a, c, b, d, method=method, confidence_level=level)
    assert (swapped.low, swapped.high) == pytest.approx((-found.high, -found.low), abs=1e-12)
    failures = paired_difference_interval(d, b, c, a, method=method, confidence_level=level)
    assert (failures.low, failures.high) == pytest.approx((found.low, found.high), abs=1e-12)
    if method not in ("agresti-min", "bonett-price"):
        assert found.low - 1e-12 <= found.estimate <= found.high + 1e-12
    one_sided = paired_difference_interval(
        a, b, c, d, method=method, confidence_level=(1 + level) / 2, alternative="greater"
    )
    assert (one_sided.low, one_sided.high) == (pytest.approx(found.low, abs=1e-9), 1)


@pytest.mark.parametrize("cells", [(0, 20, 0, 0), (0, 0, 20, 0), (0, 0, 0, 1), (10**6, 3, 2, 10**6)])
def test_extreme_tables(cells: tuple[int, int, int, int]) -> None:
    for method in DIFFERENCE_METHODS:
        found = paired_difference_interval(*cells, method=method)
        assert -1 <= found.low <= found.high <= 1
    assert paired_difference_interval(0, 20, 0, 0).high == 1
    assert paired_difference_interval(0, 0, 20, 0).low == -1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: clopper_pearson(5, 4), "at most `nobs`, but got 5 of 4"),
        (lambda: clopper_pearson(0, 0), "`nobs` must be a whole number of at least 1"),
        (lambda: wilson(-1, 4), "`count` must be a whole number"),
        (lambda: jeffreys(0.5, 4), "`count` must be a whole number"),
        (lambda: mid_p_interval(float("nan"), 4), "`count` must be a whole number"),
        (lambda: paired_difference_interval(0, 0, 0, 0), "at least one pair"),
        (lambda: paired_difference_interval(1, 1, 1, 1, method="fisher"), "`method` must be one of 'tango'"),
        (lambda: paired_difference_interval(1, 1.5, 1, 1), "`n_first_only`"),
        (lambda: wilson(1, 4, confidence_level=1), "`confidence_level`"),
    ],
)
def test_errors_say_what_must_hold(call: Any, message: str) -> None:
    with pytest.raises(PairstatsError, match=message):
        call()


def test_repr_shows_estimate_and_limits() -> None:
    shown = repr(clopper_pearson(11, 40))
    assert shown == "EstimateInterval(0.275 [0.146009, 0.438883], clopper-pearson, 95% two-sided)"
