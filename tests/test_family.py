"""The family interval against R, closed forms, Monte Carlo, splines, and its own symmetries."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from conftest import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.interpolate import BSpline
from scipy.special import betainc

from pairstats.errors import PairstatsError
from pairstats.numeric.dirichlet import dirichlet_mean_cdf
from pairstats.numeric.family import dirichlet_weights, family_interval

KINDS = ("jeffreys", "cp")
SEED_HARD = [1.0] * 29 + [0.5] * 10 + [0.0]  # a published row: 29 pairs right, 10 half, 1 wrong


def limits(*args: Any, **kwargs: Any) -> tuple[float, float]:
    interval = family_interval(*args, **kwargs)
    return interval.low, interval.high


# Independent oracles -------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", reference("bounded_mean", "bounded_mean"))
def test_mean_equals_r(vector: dict[str, Any]) -> None:
    given_, expected = vector["inputs"], vector["expected"]
    found = limits(
        given_["family_scores"],
        kind=given_.get("kind", "cp"),
        bounds=(given_["lower_end"], given_["upper_end"]),
        confidence_level=given_["conf_level"],
    )
    assert found == pytest.approx((expected["lower"], expected["upper"]), abs=1e-7)


@pytest.mark.parametrize("vector", reference("bounded_mean", "bounded_ratio"))
def test_ratio_equals_r(vector: dict[str, Any]) -> None:
    given_, expected = vector["inputs"], vector["expected"]
    sizes = np.array(given_["family_items"])
    scores = np.array(given_["family_correct"]) / sizes
    level = given_["conf_level"]
    largest = given_["largest_planned_size"]
    found = limits(scores, sizes=sizes, kind="cp", pseudo_size=largest, confidence_level=level)
    assert found == pytest.approx((expected["exact_lower"], expected["exact_upper"]), abs=2e-7)
    found = limits(scores, sizes=sizes, kind="jeffreys", confidence_level=level)
    assert found == pytest.approx((expected["jeffreys_lower"], expected["jeffreys_upper"]), abs=2e-7)


@pytest.mark.parametrize(
    ("scores", "kind", "expected"),
    [
        (SEED_HARD, "jeffreys", (0.752, 0.914)),
        (SEED_HARD, "cp", (0.735, 0.922)),
        ([1.0] * 38 + [0.5] * 2, "jeffreys", (0.905, 0.994)),
        ([1.0] * 38 + [0.5] * 2, "cp", (0.881, 0.997)),
        ([1.0] * 48, "cp", (0.926, 1.0)),
    ],
)
def test_worked_rows(scores: list[float], kind: Any, expected: tuple[float, float]) -> None:
    assert limits(scores, kind=kind) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("count", [0, 1, 3, 9, 10])
@pytest.mark.parametrize("level", [0.2, 0.95, 1 - 1e-6])
def test_zero_one_families_give_clopper_pearson_and_jeffreys(count: int, level: float) -> None:
    n, tail = 10, (1 - level) / 2
    scores = [1] * count + [0] * (n - count)
    low = stats.beta.ppf(tail, count, n - count + 1) if count else 0.0
    high = stats.beta.isf(tail, count + 1, n - count) if count < n else 1.0
    assert limits(scores, kind="cp", confidence_level=level) == pytest.approx((low, high), abs=1e-12)
    low = stats.beta.ppf(tail, count + 0.5, n - count + 0.5) if count else 0.0
    high = stats.beta.isf(tail, count + 0.5, n - count + 0.5) if count < n else 1.0
    assert limits(scores, confidence_level=level) == pytest.approx((low, high), abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_general_formula_agrees_with_its_two_point_case(kind: Any) -> None:
    # A third value, a hair from 1, sends the same data through the contour integral.
    scores = [0.0] * 3 + [1.0] * 7
    nearly = [0.0] * 3 + [1.0] * 6 + [1 - 1e-9]
    assert limits(nearly, kind=kind) == pytest.approx(limits(scores, kind=kind), abs=1e-8)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [(2.0, 4.0), (0.5, 0.5), (2.0, 300.0), (0.5, 1e5), (1e5, 1e5), (0.1, 0.1), (1.0, 40.0)],
)
def test_cdf_of_two_values_is_beta(wrong: float, right: float) -> None:
    # Both tails, down to 1e-150: relative error of the smaller one.
    t = np.array([1e-8, 0.01, 0.3, 0.5, 0.9, 0.999, 0.9999])
    below = dirichlet_mean_cdf(t, [0, 1], [wrong, right])
    above = dirichlet_mean_cdf(1 - t, [1, 0], [wrong, right])  # mirrored: P(mean >= t)
    np.testing.assert_allclose(below, betainc(right, wrong, t), rtol=1e-11)
    np.testing.assert_allclose(above, betainc(wrong, right, 1 - t), rtol=1e-11)


def test_cdf_is_the_integral_of_a_b_spline() -> None:
    # Curry & Schoenberg (1966): the density of a mean with Dirichlet(1, ..., 1) weights is the B-spline
    # with the values as knots, of integral one.
    knots = np.array([0.0, 0.1, 0.25, 0.25, 0.6, 0.9, 1.0])
    spline = BSpline.basis_element(knots, extrapolate=False)
    scale = (knots.size - 1) / (knots[-1] - knots[0])
    t = np.array([0.05, 0.2, 0.3, 0.55, 0.8, 0.95])
    expected = [scale * spline.integrate(0.0, point) for point in t]
    np.testing.assert_allclose(dirichlet_mean_cdf(t, knots, np.ones(7)), expected, rtol=1e-10)


@pytest.mark.parametrize("sizes", [None, [1.0, 12.0, 2.0, 2.0, 7.0]])
def test_cdf_against_monte_carlo(sizes: list[float] | None) -> None:
    values, weights = np.array([0.0, 0.2, 0.5, 0.9, 1.0]), np.array([0.5, 1.0, 3.0, 1.0, 0.5])
    gamma = np.random.default_rng(7).standard_gamma(weights, (200_000, 5)) * (sizes or np.ones(5))
    means = gamma @ values / gamma.sum(axis=1)
    t = np.array([0.1, 0.4, 0.5, 0.7, 0.95])
    observed = (means[:, None] <= t).mean(axis=0)
    # 4.5 standard errors of a share of 200,000 draws
    np.testing.assert_allclose(dirichlet_mean_cdf(t, values, weights, sizes), observed, atol=0.0051)


def test_cdf_keeps_its_precision_far_in_the_tail() -> None:
    # One weight for each value: P(mean <= t) = t^(K-1) / product of the other values while t is below
    # them all (volume of a simplex): exact, down to 1e-140.
    values = np.concatenate([[0.0], np.linspace(0.3, 1.0, 40)])
    t = np.array([1e-4, 0.01, 0.29])
    exact = np.exp(40 * np.log(t) - np.log(values[1:]).sum())
    np.testing.assert_allclose(dirichlet_mean_cdf(t, values, np.ones(41)), exact, rtol=1e-11)


def test_cdf_at_and_beyond_the_ends() -> None:
    np.testing.assert_array_equal(dirichlet_mean_cdf([-1, 0.2, 0.5, 2], [0.2, 0.5], [1, 1]), [0, 0, 1, 1])
    np.testing.assert_array_equal(dirichlet_mean_cdf([0.4, 0.5], [0.5, 0.5], [1, 1]), [0, 1])


def test_limits_are_quantiles_of_the_cdf() -> None:
    scores = np.random.default_rng(3).beta(4, 1, 300)
    low, high = limits(scores, confidence_level=0.99)
    cdf = dirichlet_mean_cdf([low, high], [*scores, 0, 1], [1] * 300 + [0.5] * 2)
    np.testing.assert_allclose(cdf, [0.005, 0.995], rtol=1e-9)


def test_cp_lower_limit_never_errs_more_than_its_level_on_three_point_families() -> None:
    # Every data set of 5 families in {0, 1/2, 1}, a grid of distributions: one-sided error at 2.5 %.
    data = list(product([0.0, 0.5, 1.0], repeat=5))
    memo = {key: family_interval(key, kind="cp").low for key in {tuple(sorted(row)) for row in data}}
    lower = np.array([memo[tuple(sorted(row))] for row in data])
    halves = np.array([row.count(0.5) for row in data])
    ones = np.array([row.count(1.0) for row in data])
    worst = 0.0
    for p_one, p_half in product(np.linspace(0.05, 0.95, 10), repeat=2):
        if p_one + p_half <= 1:
            chance = p_one**ones * p_half**halves * (1 - p_one - p_half) ** (5 - ones - halves)
            worst = max(worst, chance[lower > p_one + p_half / 2].sum())
    assert 0.005 < worst <= 0.025


# Properties ----------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    scores=st.lists(st.integers(0, 8).map(lambda k: k / 8), min_size=1, max_size=25),
    kind=st.sampled_from(KINDS),
    level=st.sampled_from([0.5, 0.95, 0.9999]),
)
def test_order_mirror_and_scale(scores: list[float], kind: Any, level: float) -> None:
    low, high = limits(scores, kind=kind, confidence_level=level)
    assert 0 <= low < high <= 1
    assert limits(scores[::-1], kind=kind, confidence_level=level) == (low, high)
    mirrored = limits([1 - x for x in scores], kind=kind, confidence_level=level)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-9)
    moved = limits([3 * x - 1 for x in scores], kind=kind, confidence_level=level, bounds=(-1, 2))
    assert moved == pytest.approx((3 * low - 1, 3 * high - 1), abs=1e-9)
    if kind == "cp":
        inner = limits(scores, confidence_level=level)
        assert low <= inner[0] + 1e-9
        assert high >= inner[1] - 1e-9


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    families=st.lists(st.tuples(st.integers(0, 6), st.integers(1, 6)), min_size=1, max_size=12),
    kind=st.sampled_from(KINDS),
)
def test_unequal_sizes_stay_ordered(families: list[tuple[int, int]], kind: Any) -> None:
    sizes = np.array([n for _, n in families])
    scores = np.array([min(s, n) / n for s, n in families])
    low, high = limits(scores, sizes=sizes, kind=kind)
    assert 0 <= low < high <= 1
    assert low <= sizes @ scores / sizes.sum() <= high
    assert limits(scores, sizes=7 * sizes, kind=kind) == pytest.approx((low, high), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_one_better_family_moves_both_limits_up(kind: Any) -> None:
    scores = np.array([0.0, 0.25, 0.5, 0.5, 1.0, 1.0])
    before = limits(scores, kind=kind)
    scores[1] = 0.75
    after = limits(scores, kind=kind)
    assert after[0] > before[0]
    assert after[1] > before[1]


@pytest.mark.parametrize("kind", KINDS)
def test_equal_sizes_give_the_plain_mean(kind: Any) -> None:
    assert limits(SEED_HARD, sizes=[2] * 40, kind=kind) == pytest.approx(
        limits(SEED_HARD, kind=kind), abs=1e-12
    )


@pytest.mark.parametrize("kind", KINDS)
def test_no_jump_when_the_last_failing_family_disappears(kind: Any) -> None:
    lows = [limits([1.0] * 39 + [last], kind=kind)[0] for last in (0.99, 0.9999, 0.999999)]
    assert lows == sorted(lows)
    full = limits([1.0] * 40, kind=kind, bounds=(0, 1))
    assert lows[-1] == pytest.approx(full[0], abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_one_sided_interval_is_a_limit_of_the_two_sided_one(kind: Any) -> None:
    two = limits(SEED_HARD, kind=kind, confidence_level=0.95)
    assert limits(SEED_HARD, kind=kind, confidence_level=0.975, alternative="greater") == pytest.approx(
        (two[0], 1)
    )
    assert limits(SEED_HARD, kind=kind, confidence_level=0.975, alternative="less") == pytest.approx(
        (0, two[1])
    )
    less = limits([0.0, 0.5], kind=kind, alternative="less", bounds=(-1, 1))
    assert less[0] == -1


# Edges ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_every_family_at_an_end(size: int) -> None:
    low, high = limits([1] * size, kind="cp")
    assert (low, high) == (pytest.approx(0.025 ** (1 / size), abs=1e-12), 1.0)
    low, high = limits([0] * size, kind="jeffreys")
    assert (low, high) == (0.0, pytest.approx(stats.beta.ppf(0.975, 0.5, size + 0.5), abs=1e-12))
    assert limits([-1] * size, bounds=(-1, 1))[0] == -1


def test_a_mean_that_is_one_up_to_rounding_is_one() -> None:
    assert sum([0.1] * 10) < 1
    assert limits([sum([0.1] * 10)] * 5) == limits([1.0] * 5)


def test_single_family_inside_the_range() -> None:
    # One family at 1/2, one pseudo-family at 0: the lower limit is half a uniform quantile.
    assert limits([0.5], kind="cp") == pytest.approx((0.0125, 0.9875), abs=1e-12)
    # Jeffreys with three values against its own distribution function.
    low, high = limits([0.5])
    cdf = dirichlet_mean_cdf([low, high], [0, 0.5, 1], [0.5, 1, 0.5])
    np.testing.assert_allclose(cdf, [0.025, 0.975], rtol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", [1e-3, 1 - 1e-12])
@pytest.mark.parametrize(
    ("scores", "sizes"),
    [
        ([0.5] * 100_000, None),
        ([1.0] * 200 + [1 - 1e-9], None),
        ([1.0] * 5000 + [0.0], None),
        ([1.0, 0.3], [1, 10_000]),
        ([0.0, 1.0, 0.5], [1e-6, 1e6, 1]),
        ([1e-300, 1.0], None),
        (list(np.linspace(0, 1, 2000)), list(range(1, 2001))),
    ],
)
def test_hard_inputs_converge(kind: Any, level: float, scores: list[float], sizes: Any) -> None:
    low, high = limits(scores, sizes=sizes, kind=kind, confidence_level=level)
    assert 0 <= low < high <= 1
    if kind == "jeffreys":
        n = np.ones(len(scores)) if sizes is None else np.asarray(sizes, dtype=float)
        args = ([*scores, 0, 1], [1] * len(scores) + [0.5] * 2, [*n, n.mean(), n.mean()])
        tail = (1 - level) / 2
        if low > 1e-9:
            assert dirichlet_mean_cdf(low, *args) == pytest.approx(tail, rel=1e-6)


def test_many_different_families() -> None:
    scores = np.random.default_rng(5).random(20_000)
    low, high = limits(scores)
    half_width = 1.959964 * scores.std() / np.sqrt(20_000)  # normal approximation, error O(1/G)
    assert (low, high) == pytest.approx((scores.mean() - half_width, scores.mean() + half_width), abs=2e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scores": []}, "at least one number"),
        ({"scores": [0.5, float("nan"), 1.0, float("inf")]}, "position 1 is nan, position 3 is inf"),
        ({"scores": [[0.5]]}, "one-dimensional"),
        ({"scores": ["a"]}, "numbers"),
        ({"scores": [0.5, 2.0]}, r"\[0, 1\], but position 1 is 2"),
        ({"scores": [0.5, 1.0], "sizes": [1]}, "one entry for each of the 2 scores"),
        ({"scores": [0.5, 1.0], "sizes": [1, 0]}, "positive, but positions 1"),
        ({"scores": [0.5], "kind": "wilson"}, "`kind` must be one of 'jeffreys', 'cp'"),
        ({"scores": [0.5], "confidence_level": 95}, "between 0 and 1"),
        ({"scores": [0.5], "alternative": "larger"}, "`alternative` must be one of"),
        ({"scores": [0.5], "bounds": (1, 0)}, "`bounds`"),
        ({"scores": [0.5], "pseudo_size": 0}, "`pseudo_size`"),
    ],
)
def test_errors_say_what_and_where(arguments: dict[str, Any], message: str) -> None:
    scores = arguments.pop("scores")
    with pytest.raises(PairstatsError, match=message):
        family_interval(scores, **arguments)


@pytest.mark.parametrize("weights", [[1], [1, -1], [0.05, 0.05]])
def test_cdf_refuses_impossible_weights(weights: list[float]) -> None:
    with pytest.raises(PairstatsError, match="`weights`"):
        dirichlet_mean_cdf(0.5, [0, 1], weights)


# Random weights ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_random_weights_reproduce_the_interval(kind: Any) -> None:
    weights = dirichlet_weights(40, 40_000, kind=kind, rng=11)
    totals = np.array([*SEED_HARD, 0.0, 1.0])
    low = np.quantile(weights.rows("low") @ totals, 0.025)
    high = np.quantile(weights.rows("high") @ totals, 0.975)
    # Monte Carlo error of a 2.5 % quantile: sqrt(.025 * .975 / B) / density, about 4e-4 here.
    assert (low, high) == pytest.approx(limits(SEED_HARD, kind=kind), abs=2e-3)


def test_random_weights_have_the_documented_shape() -> None:
    jeffreys, cp = (dirichlet_weights(3, 5, kind=kind, rng=1) for kind in ("jeffreys", "cp"))
    assert jeffreys.families.shape == (5, 3)
    assert jeffreys.low.shape == jeffreys.high.shape == (5,)
    np.testing.assert_allclose(jeffreys.rows("low").sum(axis=1), 1)
    np.testing.assert_array_equal(jeffreys.rows("low"), jeffreys.rows("high"))
    np.testing.assert_allclose(cp.rows("low").sum(axis=1), 1)
    assert not cp.rows("low")[:, 4].any()
    assert not cp.rows("high")[:, 3].any()
    np.testing.assert_array_equal(dirichlet_weights(3, 5, kind="cp", rng=1).families, cp.families)
    with pytest.raises(PairstatsError, match="n_families"):
        dirichlet_weights(0, 5, kind="cp", rng=1)
