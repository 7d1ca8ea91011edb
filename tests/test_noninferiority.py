"""Claims against a margin: R, scipy, duality of limits and p-values, and what a design can reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import reference
from scipy import stats

from pairstats.errors import PairstatsError
from pairstats.numeric.clustered_tests import clustered_mcnemar
from pairstats.numeric.discordant import mcnemar
from pairstats.numeric.exact import sign_flip
from pairstats.numeric.family import family_interval
from pairstats.numeric.family_margins import SCORES, FamilyGaps
from pairstats.numeric.noninferiority import family_margin_test, margin_test, noninferiority_nobs
from pairstats.numeric.paired_differences import paired_difference_interval

DIFFERENCES = np.array([0.0] * 30 + [0.5] * 4 + [-0.5] * 5 + [-1.0])


@pytest.mark.parametrize("vector", reference("noninferiority_tost", "noninferiority", "published_tango"))
def test_tango_equals_ratesci_and_the_paper(vector: dict[str, Any]) -> None:
    given, expected, tolerance = vector["inputs"], vector["expected"], vector["tolerance"]
    counts = [given[name] for name in "abcd"]
    found = margin_test(
        *counts, claim="noninferiority", margin=given["margin"], alpha=given.get("alpha", 0.025)
    )
    assert found.statistic == pytest.approx(expected["z"], abs=tolerance)
    if "p_noninferior" in expected:
        assert found.p_value == pytest.approx(expected["p_noninferior"], abs=tolerance)
        assert [found.low, found.high] == pytest.approx(
            [expected["ci95_lower"], expected["ci95_upper"]], abs=tolerance
        )
        assert found.established == expected["noninferior"]


@pytest.mark.parametrize("vector", reference("noninferiority_tost", "tost"))
def test_two_one_sided_t_tests_equal_r(vector: dict[str, Any]) -> None:
    given, expected, tolerance = vector["inputs"], vector["expected"], vector["tolerance"]
    found = family_margin_test(
        given["family_differences"],
        claim="equivalence",
        margin=given["margin"],
        alpha=given["alpha"],
        method="t",
    )
    assert found.estimate == pytest.approx(expected["estimate"], abs=tolerance)
    assert found.p_lower == pytest.approx(expected["p_lower"], abs=tolerance)
    assert found.p_upper == pytest.approx(expected["p_upper"], abs=tolerance)
    assert found.p_value == pytest.approx(expected["p_tost"], abs=tolerance)
    assert [found.low, found.high] == pytest.approx(expected["ci90"], abs=tolerance)
    assert (found.established, found.confidence_level) == (expected["equivalent"], pytest.approx(0.9))


def test_items_needed_are_those_of_the_methods_page() -> None:
    margins = (0.10, 0.05, 0.03, 0.02, 0.01)
    assert [noninferiority_nobs(margin) for margin in margins] == [35, 73, 125, 189, 381]


@pytest.mark.parametrize("margin", [0.03, 0.1, 0.25, 0.5])
def test_one_item_or_family_less_cannot_reach_the_margin(margin: float) -> None:
    asked: dict[str, Any] = {"claim": "noninferiority", "margin": margin}
    n = noninferiority_nobs(margin)
    assert margin_test(n, 0, 0, 0, **asked).established
    assert not margin_test(n - 1, 0, 0, 0, **asked).established
    g = noninferiority_nobs(margin, method="family-cp")
    assert family_margin_test(np.zeros(g), **asked).established
    assert not family_margin_test(np.zeros(g - 1), **asked).established
    assert [margin_test(k, 0, 0, 0, **asked).attainable for k in (n, n - 1)] == [True, False]
    assert [family_margin_test(np.zeros(k), **asked).attainable for k in (g, g - 1)] == [True, False]


@pytest.mark.parametrize("method", ["family-cp", "family-jeffreys"])
@pytest.mark.parametrize("sizes", [None, np.tile([1.0, 2.0, 4.0, 5.0], 10)])
def test_p_values_are_the_levels_at_which_the_limits_reach_the_margin(method: str, sizes: Any) -> None:
    found = family_margin_test(
        DIFFERENCES, claim="equivalence", margin=(0.15, 0.12), sizes=sizes, method=method
    )
    kind: Any = method.removeprefix("family-")
    low = family_interval(
        DIFFERENCES, sizes=sizes, kind=kind, bounds=(-1, 1), confidence_level=1 - found.p_lower,
        alternative="greater",
    )  # fmt: skip
    high = family_interval(
        DIFFERENCES, sizes=sizes, kind=kind, bounds=(-1, 1), confidence_level=1 - found.p_upper,
        alternative="less",
    )  # fmt: skip
    assert (low.low, high.high) == (pytest.approx(-0.15, abs=1e-8), pytest.approx(0.12, abs=1e-8))
    assert found.p_value == max(found.p_lower, found.p_upper)
    shown = family_interval(DIFFERENCES, sizes=sizes, kind=kind, bounds=(-1, 1), confidence_level=0.9)
    assert (found.low, found.high) == (shown.low, shown.high)


@pytest.mark.parametrize("claim", ["noninferiority", "equivalence"])
@pytest.mark.parametrize("margin", [0.02, 0.06, 0.1, 0.15, 0.2, 0.4])
def test_the_verdict_is_that_of_the_p_value(claim: str, margin: float) -> None:
    for found in (
        margin_test(40, 3, 5, 12, claim=claim, margin=margin),
        family_margin_test(DIFFERENCES, claim=claim, margin=margin),
        family_margin_test(DIFFERENCES, claim=claim, margin=margin, method="family-jeffreys"),
        family_margin_test(DIFFERENCES, claim=claim, margin=margin, method="t"),
    ):
        assert found.established == (found.p_value < found.alpha)
        assert 0 < found.p_value <= 1


def test_equivalence_is_noninferiority_both_ways() -> None:
    both = margin_test(60, 4, 6, 20, claim="equivalence", margin=(0.1, 0.05))
    one = margin_test(60, 4, 6, 20, claim="noninferiority", margin=0.1, alpha=0.05)
    other = margin_test(60, 6, 4, 20, claim="noninferiority", margin=0.05, alpha=0.05)
    assert (both.p_lower, both.p_upper) == (pytest.approx(one.p_value), pytest.approx(other.p_value))
    assert both.margin == (-0.1, 0.05)
    mirrored = family_margin_test(-DIFFERENCES, claim="equivalence", margin=(0.05, 0.1))
    straight = family_margin_test(DIFFERENCES, claim="equivalence", margin=(0.1, 0.05))
    assert mirrored.p_lower == pytest.approx(straight.p_upper)
    assert (mirrored.low, mirrored.high) == pytest.approx((-straight.high, -straight.low))


def test_superiority_is_the_exact_paired_test() -> None:
    found = margin_test(20, 12, 3, 5, claim="superiority")
    assert found.p_value == mcnemar(12, 3).p_value
    assert found.established
    limits = paired_difference_interval(20, 12, 3, 5)
    assert (found.low, found.high) == (limits.low, limits.high)
    # The same evidence for the other side is no superiority of the first.
    assert not margin_test(20, 3, 12, 5, claim="superiority").established
    families = family_margin_test([0.5] * 9 + [-0.5] + [0.0] * 3, claim="superiority")
    assert families.p_value == sign_flip([1] * 9 + [-1]).p_value
    assert families.method == "exact sign-flip, family-cp limits"


def test_superiority_by_a_margin_needs_the_limit_beyond_it() -> None:
    found = margin_test(20, 30, 2, 8, claim="superiority", margin=0.2)
    assert found.established == (found.low > 0.2)
    assert found.p_value == pytest.approx(2 * found.p_lower)
    assert not margin_test(20, 30, 2, 8, claim="superiority", margin=0.4).established


def test_few_families_cannot_show_superiority() -> None:
    five, six = (family_margin_test([1.0] * g, claim="superiority") for g in (5, 6))
    assert (five.established, five.attainable) == (False, False)
    assert (six.established, six.attainable) == (True, True)


def test_the_margin_decides_not_the_significance() -> None:
    """Of methods.md, section d: no measurable effect is equivalence only within a margin."""
    differences = np.tile([-0.04, 0.035], 40)
    wide = family_margin_test(differences, claim="equivalence", margin=0.02, method="t")
    narrow = family_margin_test(differences, claim="equivalence", margin=0.005, method="t")
    assert (wide.established, narrow.established) == (True, False)


@pytest.mark.parametrize("vector", reference("clustered_mcnemar", *(f"clustered_{name}" for name in SCORES)))
def test_score_forms_at_no_difference_are_the_chi_squares_of_r(vector: dict[str, Any]) -> None:
    method = vector["name"].split("_")[1]
    a, b, c, d = (np.array(vector["inputs"][name], dtype=float) for name in "abcd")
    sizes = a + b + c + d
    families = FamilyGaps((b - c) / sizes, sizes, method, (-1.0, 1.0), None)
    assert families.z(0.0) ** 2 == pytest.approx(vector["expected"]["statistic"], abs=vector["tolerance"])
    assert families.z(0.0) ** 2 == pytest.approx(clustered_mcnemar(a, b, c, d, method=method).statistic)


@pytest.mark.parametrize("method", SCORES)
def test_score_limits_are_where_the_statistic_reaches_the_quantile(method: str) -> None:
    sizes = np.resize([1.0, 2.0, 4.0], DIFFERENCES.size)
    families = FamilyGaps(DIFFERENCES, sizes, method, (-1.0, 1.0), None)
    low, high = families.limits(0.9)
    z = stats.norm.ppf(0.95)
    assert [families.z(low), families.z(high)] == pytest.approx([z, -z], rel=1e-9)
    found = family_margin_test(DIFFERENCES, claim="noninferiority", margin=0.2, sizes=sizes, method=method)
    assert found.established == (found.p_value <= 0.025) == (found.low > -0.2)
    assert found.p_value == pytest.approx(stats.norm.sf(families.z(-0.2)), rel=1e-9)
    both = family_margin_test(DIFFERENCES, claim="equivalence", margin=0.2, sizes=sizes, method=method)
    assert both.established == (both.p_value <= 0.05)
    mirror = family_margin_test(-DIFFERENCES, claim="equivalence", margin=0.2, sizes=sizes, method=method)
    assert mirror.p_value == pytest.approx(both.p_value)
    assert (mirror.low, mirror.high) == (pytest.approx(-both.high), pytest.approx(-both.low))


@pytest.mark.parametrize("method", SCORES)
def test_size_of_the_score_forms_at_the_margin(method: str) -> None:
    """Families of 2 whose first system is worse by just the margin: the claim is false, and rarely made."""
    rng, margin, draws = np.random.default_rng(5), 0.1, 2000
    made = 0
    for _ in range(draws):
        together = rng.random(60) < 0.5
        items = rng.choice([-1.0, 1.0, 0.0], p=[0.2, 0.1, 0.7], size=(60, 2))
        items[together, 1] = items[together, 0]
        families = FamilyGaps(items.mean(axis=1), np.full(60, 2.0), method, (-1.0, 1.0), None)
        made += families.z(-margin) > stats.norm.ppf(0.975)
    assert 0.01 < made / draws < 0.025 + 3 * np.sqrt(0.025 * 0.975 / draws)


def test_few_families_give_no_score_limits() -> None:
    few = FamilyGaps(np.array([0.1, 0.0, 0.2]), np.ones(3), "obuchowski", (-1.0, 1.0), None)
    assert few.limits(0.95) == (-1.0, 1.0)
    vain = family_margin_test([0.0] * 3, claim="noninferiority", margin=0.5, method="obuchowski")
    assert not vain.attainable
    with pytest.raises(PairstatsError, match="at least two families"):
        family_margin_test([0.1], claim="noninferiority", margin=0.5, method="yang")


@pytest.mark.parametrize("value", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("n", [1, 12])
def test_constant_families(value: float, n: int) -> None:
    for claim in ("superiority", "noninferiority", "equivalence"):
        margin = 0.0 if claim == "superiority" else 0.3
        found = family_margin_test([value] * n, claim=claim, margin=margin)
        assert 0 < found.p_value <= 1
        assert -1 <= found.low <= found.estimate <= found.high <= 1
    with pytest.raises(PairstatsError, match="must differ from each other"):
        family_margin_test([value] * n, claim="noninferiority", margin=0.3, method="t")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"claim": "same"}, "`claim` must be one of 'superiority'"),
        ({"claim": "noninferiority"}, "`margin` must be positive"),
        ({"claim": "equivalence", "margin": 1.0}, "`margin` must be positive"),
        ({"claim": "equivalence", "margin": (0.1, -0.1)}, "`margin` must be positive"),
        ({"claim": "equivalence", "margin": (0.1, 0.1, 0.1)}, "`margin` must be positive"),
        ({"claim": "noninferiority", "margin": (0.1, 0.1)}, "one number for noninferiority"),
        ({"claim": "noninferiority", "margin": float("nan")}, "`margin` must be positive"),
        ({"claim": "equivalence", "margin": 0.1, "alpha": 0.9}, "`alpha` must be below 0.5"),
    ],
)
def test_errors_say_what_must_hold(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PairstatsError, match=message):
        margin_test(10, 1, 2, 3, **options)
    with pytest.raises(PairstatsError, match=message):
        family_margin_test([0.0, 0.5], **options)


def test_differences_out_of_range_are_named() -> None:
    with pytest.raises(PairstatsError, match="position 1 is 2"):
        family_margin_test([0.0, 2.0], claim="noninferiority", margin=0.1)
    with pytest.raises(PairstatsError, match="position 0 is nan"):
        family_margin_test([np.nan, 0.0], claim="noninferiority", margin=0.1)
    with pytest.raises(PairstatsError, match="all four counts are 0"):
        margin_test(0, 0, 0, 0, claim="noninferiority", margin=0.1)
