"""The second path's own algorithms, against R, scipy, statsmodels and enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from conftest import reference
from scipy import stats

from pairstats import PairstatsError
from pairstats.verify.chances import adjusted, sign_flip_p, swap_p, through_gates
from pairstats.verify.combinations import comparison_of
from pairstats.verify.laws import as_whole, resampled_law
from pairstats.verify.limits import Wanted, dirichlet_mean_below, limits_of, std_error

TWO_SIDED = "two-sided"


@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 57), (190, 3)])
def test_dirichlet_mean_of_two_values_is_beta(a: int, b: int) -> None:
    # Oracle: scipy.stats.beta; absolute error below 1e-12.
    for t in np.linspace(0.01, 0.99, 15):
        found = dirichlet_mean_below(t, np.array([0.0, 1.0]), np.array([b, a], dtype=float), np.ones(2))
        assert found == pytest.approx(stats.beta.cdf(t, a, b), abs=1e-12)


def test_dirichlet_mean_against_simulation() -> None:
    # Oracle: 400,000 draws; five Monte-Carlo errors.
    rng = np.random.default_rng(3)
    values, sizes, weights = rng.random(9), rng.integers(1, 6, 9).astype(float), rng.random(9) + 0.5
    draws = rng.gamma(weights, size=(400_000, 9))
    means = draws @ (sizes * values) / (draws @ sizes)
    for t in np.quantile(means, [0.01, 0.3, 0.9]):
        p = np.mean(means <= t)
        error = 5 * np.sqrt(p * (1 - p) / len(means))
        assert dirichlet_mean_below(t, values, weights, sizes) == pytest.approx(p, abs=error)


@pytest.mark.parametrize("vector", reference("bounded_mean", "bounded_mean"))
def test_family_limits_equal_r(vector: dict[str, Any]) -> None:
    given, expected = vector["inputs"], vector["expected"]
    wanted = Wanted("family-" + given.get("kind", "cp"), given["conf_level"], TWO_SIDED, {})
    scores = given["family_scores"]
    low, high = limits_of(scores, [1.0] * len(scores), (given["lower_end"], given["upper_end"]), wanted)
    found = (low.low, high.high)
    assert found == pytest.approx((expected["lower"], expected["upper"]), abs=vector["tolerance"])


@pytest.mark.parametrize("vector", reference("bounded_mean", "bounded_ratio"))
def test_family_limits_of_unequal_families_equal_r(vector: dict[str, Any]) -> None:
    given, expected = vector["inputs"], vector["expected"]
    for kind, name in (("family-cp", "exact"), ("family-jeffreys", "jeffreys")):
        wanted = Wanted(kind, given["conf_level"], TWO_SIDED, {})
        low, high = limits_of(given["family_correct"], given["family_items"], (0.0, 1.0), wanted)
        oracle = (expected[f"{name}_lower"], expected[f"{name}_upper"])
        assert (low.low, high.high) == pytest.approx(oracle, abs=vector["tolerance"])


@pytest.mark.parametrize("method", ["family-cp", "family-jeffreys"])
@pytest.mark.parametrize("right", [0, 1, 17, 40])
def test_limits_of_whole_families(method: str, right: int) -> None:
    # Oracle: Clopper-Pearson of scipy.stats.binomtest, and beta quantiles for Jeffreys.
    totals = [1.0] * right + [0.0] * (40 - right)
    low, high = limits_of(totals, [1.0] * 40, (0.0, 1.0), Wanted(method, 0.95, TWO_SIDED, {}))
    if method == "family-cp":
        oracle = stats.binomtest(right, 40).proportion_ci(method="exact")
        wanted = (oracle.low, oracle.high)
    else:
        law = stats.beta(right + 0.5, 40.5 - right)
        wanted = (law.ppf(0.025) if right else 0.0, law.ppf(0.975) if right < 40 else 1.0)
    assert (low.low, high.high) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("side", ["greater", "less"])
def test_one_sided_limits_reach_the_end_of_the_range(side: str) -> None:
    totals = [0.5, 1.0, 0.0, 1.0, 1.0, 0.5, 1.0]
    two = limits_of(totals, [1.0] * 7, (0.0, 1.0), Wanted("family-cp", 0.9, TWO_SIDED, {}))
    one = limits_of(totals, [1.0] * 7, (0.0, 1.0), Wanted("family-cp", 0.95, side, {}))
    kept, opened = (0, 1) if side == "greater" else (1, 0)
    assert one[kept].low == pytest.approx(two[kept].low, abs=1e-12)
    assert one[opened].low == (0.0, 1.0)[opened]


def test_resampled_law_against_all_resamples() -> None:
    # Oracle: every one of 5^5 resamples.
    totals, sizes = np.array([2.0, 1.0, 0.0, 3.0, 1.5]), np.array([2.0, 2.0, 1.0, 3.0, 2.0])
    law = resampled_law(totals, sizes)
    assert law is not None
    drawn = np.array(list(itertools.product(range(5), repeat=5)))
    ratios = totals[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    for value, mass in zip(*law, strict=True):
        assert mass == pytest.approx(np.mean(np.isclose(ratios, value)), abs=1e-14)
    assert law[1].sum() == pytest.approx(1.0, abs=1e-14)


def test_the_printed_percentile_interval() -> None:
    # 29 families with both copies right, 10 with one, 1 with none: exact 2.5 % point .7625, 97.5 % point .925.
    totals = [2.0] * 29 + [1.0] * 10 + [0.0]
    low, high = limits_of(totals, [2.0] * 40, (0.0, 1.0), Wanted("percentile", 0.95, TWO_SIDED, {}))
    assert (low.low, high.high) == pytest.approx((0.7625, 0.925), abs=1e-12)


def test_cr2_of_equal_sizes_is_the_t_interval() -> None:
    values = np.array([1.0, 2.0, 4.0, 5.0, 5.5])
    low, high = limits_of(values.tolist(), [1.0] * 5, None, Wanted("cr2-t", 0.95, TWO_SIDED, {}))
    oracle = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (low.low, high.high) == pytest.approx((oracle.low, oracle.high), abs=1e-12)
    assert std_error(values.tolist(), [1.0] * 5) == pytest.approx(stats.sem(values), abs=1e-14)
    assert np.isnan(std_error([1.0], [1.0]))


@pytest.mark.parametrize("vector", reference("sign_flip", "sign_flip"))
def test_sign_flip_equals_r(vector: dict[str, Any]) -> None:
    for side in ("two_sided", "greater", "less"):
        wanted = vector["expected"].get(f"p_{side}")
        p, _ = sign_flip_p(vector["inputs"]["family_totals"], side.replace("_", "-"))
        assert p.low == p.high
        assert wanted is None or p.low == pytest.approx(wanted, abs=vector["tolerance"])


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("kind", ["whole", "thirds", "real"])
def test_sign_flip_against_all_arrangements(side: str, kind: str) -> None:
    # Oracle: scipy.stats.permutation_test over all 2^9 arrangements.
    rng = np.random.default_rng(len(kind))
    d = {
        "whole": rng.integers(-3, 4, 9),
        "thirds": rng.integers(-3, 4, 9) / 3,
        "real": rng.normal(0.4, 1, 9),
    }[kind]
    oracle = stats.permutation_test(
        (d,), lambda x, axis: x.sum(axis=axis), permutation_type="samples", alternative=side, vectorized=True,
        n_resamples=np.inf,
    )  # fmt: skip
    p, floor = sign_flip_p(d.tolist(), side)
    assert p.low == p.high == pytest.approx(oracle.pvalue, abs=1e-12)
    assert p.low >= floor * (1 - 1e-12)


def test_sign_flip_without_a_common_fraction_is_bracketed() -> None:
    # Oracle: the middle of two halves listed in full (2^12 each), sorted and searched.
    d = np.random.default_rng(8).normal(0.3, 1, 24)
    halves = [np.array([0.0]), np.array([0.0])]
    for i, size in enumerate(np.abs(d)):
        halves[i % 2] = np.concatenate([halves[i % 2] - size, halves[i % 2] + size])
    first, second = halves[0], np.sort(halves[1])
    beyond = len(second) - np.searchsorted(second, abs(d.sum()) - 1e-9 - first)
    exact = 2 * beyond.sum() / 2**24
    p, _ = sign_flip_p(d.tolist(), TWO_SIDED)
    assert p.low <= exact <= p.high
    assert p.high - p.low < 1e-3 * exact


def test_no_difference_gives_one() -> None:
    p, floor = sign_flip_p([0.0, 0.0, 0.0], TWO_SIDED)
    assert (p.low, p.high, floor) == (1.0, 1.0, 1.0)


def test_label_swap_of_equal_sizes_is_the_sign_flip() -> None:
    # With one denominator the difference of ratios is the sum of differences.
    num = np.array(
        [[2, 1], [2, 0], [1, 1], [2, 1], [1, 0], [0, 1], [2, 1], [1, 0], [2, 2], [1, 0]], dtype=float
    )
    p, floor = sign_flip_p((num[:, 0] - num[:, 1]).tolist(), TWO_SIDED)
    span, least = swap_p(num, np.full((10, 2), 2.0), TWO_SIDED)
    assert span.low == span.high == pytest.approx(p.low)
    assert least == floor
    # Too many to list: counted; without a common fraction: simulated, five errors wide.
    tripled = np.tile(num, (3, 1)), np.full((30, 2), 2.0)
    counted, least = swap_p(*tripled, TWO_SIDED)
    assert counted.low == pytest.approx(
        sign_flip_p(np.tile(num[:, 0] - num[:, 1], 3).tolist(), TWO_SIDED)[0].low
    )
    assert least == pytest.approx(2.0 ** (1 - 3 * np.sum(num[:, 0] != num[:, 1])))
    loose = tripled[1] * (1 + 1e-5 * np.pi ** np.arange(30)[:, None] / np.pi**29)
    drawn, least = swap_p(tripled[0], loose + np.pi / 1e6 * tripled[0], TWO_SIDED)
    assert (least, drawn.low < counted.low < drawn.high) == (None, True)


@pytest.mark.parametrize(
    ("method", "theirs"),
    [("holm", "holm"), ("hochberg", "simes-hochberg"), ("bonferroni", "bonferroni"), ("bh", "fdr_bh"),
     ("by", "fdr_by"), ("sidak", "sidak"), ("holm-sidak", "holm-sidak")],
)  # fmt: skip
def test_adjustment_against_statsmodels(method: str, theirs: str) -> None:
    from statsmodels.stats.multitest import multipletests

    p = [0.01, 0.04, 0.03, 0.005, 0.2, 0.03]
    assert adjusted(p, method) == pytest.approx(multipletests(p, method=theirs)[1].tolist(), abs=1e-14)


def test_sequences_and_gates() -> None:
    assert adjusted([0.01, 0.2, 0.001], "fixed-sequence") == [0.01, 0.2, 0.2]
    assert through_gates([0.01, 0.04, 0.001], [0, 0, 1]) == [0.02, 0.04, 0.04]
    assert adjusted([0.01, 0.2], "none") == [0.01, 0.2]
    with pytest.raises(PairstatsError, match="no second path"):
        adjusted([0.1], "max-T")


def test_fractions_are_found_or_refused() -> None:
    assert as_whole(np.array([0.1 + 0.2, 0.3, -1.0])) == ([3, 3, -10], 10)
    assert as_whole(np.array([1.0, 2**0.5])) is None
    with pytest.raises(PairstatsError, match="comparisons with minus"):
        comparison_of({"factor": "model", "minus": 1})
