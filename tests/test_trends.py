"""Dose trends, interactions and MOVER against R, full enumeration, statsmodels and each other."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from conftest import reference

from pairstats.errors import PairstatsError
from pairstats.numeric.exact import sign_flip
from pairstats.numeric.family import family_interval
from pairstats.numeric.mover import mover_difference
from pairstats.numeric.proportions import clopper_pearson, wilson
from pairstats.numeric.trends import dose_trend, interaction_test

SIDES = {"greater": "p_greater", "less": "p_less", "two-sided": "p_two_sided"}


@pytest.mark.parametrize("vector", reference("trend"))
@pytest.mark.parametrize("side", SIDES)
def test_exact_law_equals_r(vector: dict[str, Any], side: str) -> None:
    given, expected, tolerance = vector["inputs"], vector["expected"], vector["tolerance"]
    found = dose_trend(given["rows_items_cols_doses"], given["scores"], alternative=side)
    assert found.method == "exact"
    assert found.p_value == pytest.approx(expected[SIDES[side]], abs=tolerance)
    assert (found.statistic, found.mean) == pytest.approx((expected["statistic"], expected["mean"]))
    assert (found.std_dev, found.z) == pytest.approx((expected["sd"], expected["z"]), abs=tolerance)


def brute_force(rows: np.ndarray, doses: list[float], side: str) -> float:
    weights = np.array(doses, dtype=float)
    sums = np.array([
        sum(float(np.dot(order, weights)) for order in orders)
        for orders in product(*[list(permutations(row)) for row in rows.tolist()])
    ])  # fmt: skip
    away, observed = sums - sums.mean(), float((rows @ weights).sum() - sums.mean())
    reaching = {
        "greater": away >= observed - 1e-9,
        "less": away <= observed + 1e-9,
        "two-sided": np.abs(away) >= abs(observed) - 1e-9,
    }
    return float(reaching[side].mean())


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("doses", [[1, 3, 6], [0.1, 0.2, 0.3], [-2, 0, 5.5]])
@pytest.mark.parametrize("seed", range(3))
def test_exact_equals_enumeration(side: str, doses: list[float], seed: int) -> None:
    """5 families of 3 doses, 7,776 arrangements; whole-number, half and third scores."""
    rows = np.random.default_rng(seed).integers(0, 4, (5, 3)) / (1 + seed)
    found = dose_trend(rows, doses, alternative=side)
    assert found.method == "exact"
    assert found.p_value == pytest.approx(brute_force(rows, doses, side), abs=1e-12)


@pytest.mark.parametrize("side", SIDES)
def test_floor_is_the_p_of_the_most_extreme_order(side: str) -> None:
    rows = np.array([[0, 1, 1], [1, 0, 0], [2, 0, 1], [1, 1, 1]])
    found = dose_trend(rows, [0, 1, 3], alternative=side)
    every = [
        dose_trend(np.array(orders), [0, 1, 3], alternative=side).p_value
        for orders in product(*[sorted(set(permutations(row))) for row in rows.tolist()])
    ]
    assert found.p_floor == pytest.approx(min(every), rel=1e-12)


def test_families_move_whole() -> None:
    rng = np.random.default_rng(5)
    items = rng.integers(0, 2, (12, 3))
    families = np.repeat(["a", "b", "c", "d"], 3)
    totals = items.reshape(4, 3, 3).sum(axis=1)
    assert dose_trend(items, [1, 2, 4], families=families) == dose_trend(totals, [1, 2, 4])
    assert dose_trend(totals, [1, 2, 4]).p_value == pytest.approx(brute_force(totals, [1, 2, 4], "two-sided"))


def test_two_doses_are_the_sign_flip_test() -> None:
    rows = np.random.default_rng(6).integers(0, 5, (14, 2))
    for side in SIDES:
        found = dose_trend(rows, [0, 1], alternative=side)
        assert found.p_value == pytest.approx(sign_flip(rows[:, 1] - rows[:, 0], alternative=side).p_value)


def test_page_trend_statistic_equals_scipy() -> None:
    from scipy.stats import page_trend_test

    rows = np.random.default_rng(7).random((9, 4))
    ranks = rows.argsort(axis=1).argsort(axis=1) + 1
    oracle = page_trend_test(rows, method="exact")
    found = dose_trend(ranks, [1, 2, 3, 4], alternative="greater")
    assert found.statistic == oracle.statistic
    assert found.p_value == pytest.approx(oracle.pvalue, rel=1e-9)


def test_symmetries() -> None:
    rows = np.random.default_rng(8).integers(0, 3, (11, 4))
    doses = [0, 1, 3, 6]
    base = dose_trend(rows, doses, alternative="greater")
    same = (
        dose_trend(rows[::-1], doses, alternative="greater"),
        dose_trend(rows[:, ::-1], doses[::-1], alternative="greater"),
        dose_trend(rows + np.arange(11)[:, None], doses, alternative="greater"),
        dose_trend(0.1 * rows, [10 * dose + 7 for dose in doses], alternative="greater"),
        dose_trend(-rows, doses, alternative="less"),
    )
    for other in same:
        assert other.p_value == pytest.approx(base.p_value, rel=1e-10)


def test_monte_carlo_estimates_the_exact_p_in_any_order() -> None:
    rows = np.random.default_rng(9).integers(0, 2, (20, 4))
    exact = dose_trend(rows, [0, 1, 3, 6])
    drawn = dose_trend(rows, [0, 1, 3, 6], method="monte-carlo")
    assert drawn.mc_error is not None
    assert drawn.p_value == pytest.approx(exact.p_value, abs=4 * drawn.mc_error)
    assert drawn == dose_trend(rows[::-1], [0, 1, 3, 6], method="monte-carlo")
    assert drawn.p_floor == 1e-4


def test_the_normal_law_is_close_for_many_items() -> None:
    rows = np.random.default_rng(10).integers(0, 2, (400, 3))
    exact, normal = (dose_trend(rows, [1, 2, 3], method=m) for m in ("exact", "normal"))
    assert normal.p_value == pytest.approx(exact.p_value, abs=1 / exact.std_dev)  # about one atom
    assert normal.p_floor is None


def test_doses_off_every_lattice_are_drawn_and_say_so() -> None:
    rows = np.random.default_rng(11).integers(0, 2, (10, 4))
    doses = [0.0, 1.0, np.sqrt(2), np.pi]
    assert dose_trend(rows, doses, n_resamples=99).method == "monte-carlo"
    with pytest.raises(PairstatsError, match="Use method='monte-carlo'"):
        dose_trend(rows, doses, method="exact")


@pytest.mark.parametrize("method", [None, "exact", "monte-carlo", "normal"])
@pytest.mark.parametrize("value", [0, 1])
def test_scores_that_never_differ(method: str | None, value: int) -> None:
    found = dose_trend(np.full((5, 3), value), [1, 3, 6], method=method)
    assert (found.z, found.p_value, found.n_informative) == (0.0, 1.0, 0)


@pytest.mark.parametrize(
    ("scores", "doses", "message"),
    [
        ([[0, 1]], [1], "one entry for each of the 2 columns"),
        ([[0, 1]], [3, 3], "`doses` must differ"),
        ([[0, 1]], [1, np.nan], "position 1 is nan"),
        ([[0, np.nan]], [1, 2], "row 0, column 1"),
        ([0, 1], [1, 2], "at least two systems"),
    ],
)
def test_errors_say_what_must_hold(scores: Any, doses: Any, message: str) -> None:
    with pytest.raises(PairstatsError, match=message):
        dose_trend(scores, doses)


# Interaction ---------------------------------------------------------------------------------------


def test_interaction_is_sign_flip_and_family_interval_of_double_differences() -> None:
    rng = np.random.default_rng(12)
    cells, sizes = rng.integers(0, 5, (15, 2, 2)) / 4, rng.integers(1, 4, 15)
    gaps = cells[:, 0, 0] - cells[:, 1, 0] - cells[:, 0, 1] + cells[:, 1, 1]
    found = interaction_test(cells, sizes=sizes, kind="cp")
    assert found.estimate == pytest.approx(float(np.average(gaps, weights=sizes)))
    assert found.p_value == sign_flip(gaps * sizes).p_value
    interval = family_interval(gaps, sizes=sizes, kind="cp", bounds=(-2, 2))
    assert (found.low, found.high) == (interval.low, interval.high)
    swapped = interaction_test(cells[:, ::-1], sizes=sizes, kind="cp")
    assert (swapped.estimate, swapped.p_value) == (pytest.approx(-found.estimate), found.p_value)
    assert (swapped.low, swapped.high) == pytest.approx((-found.high, -found.low), abs=1e-9)


def test_equal_differences_are_no_interaction() -> None:
    cells = np.zeros((10, 2, 2))
    cells[:, 0] = 1.0
    found = interaction_test(cells)
    assert (found.estimate, found.p_value, found.n_nonzero) == (0.0, 1.0, 0)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.zeros((3, 2)), "two systems by two levels"),
        (np.zeros((0, 2, 2)), "two systems by two levels"),
        (np.full((2, 2, 2), 2.0), "must lie in"),
        (np.full((2, 2, 2), np.nan), "finite"),
    ],
)
def test_interaction_needs_four_cells(scores: np.ndarray, message: str) -> None:
    with pytest.raises(PairstatsError, match=message):
        interaction_test(scores)


# MOVER ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("counts", [(56, 70, 48, 80), (9, 10, 3, 10), (10, 10, 0, 20), (0, 10, 0, 10)])
def test_wilson_intervals_give_newcombe(counts: tuple[int, int, int, int]) -> None:
    """statsmodels confint_proportions_2indep(method="newcomb"): Newcombe's hybrid score interval."""
    from statsmodels.stats.proportion import confint_proportions_2indep

    x1, n1, x2, n2 = counts
    found = mover_difference(x1 / n1, wilson(x1, n1), x2 / n2, wilson(x2, n2))
    oracle = confint_proportions_2indep(x1, n1, x2, n2, method="newcomb", compare="diff")
    assert (found.low, found.high) == pytest.approx(oracle, abs=1e-10)


def test_mover_mirrors_and_takes_pairs() -> None:
    first, second = clopper_pearson(11, 40), clopper_pearson(2, 35)
    found = mover_difference(11 / 40, first, 2 / 35, second)
    mirrored = mover_difference(2 / 35, second, 11 / 40, first)
    assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low))
    plain = mover_difference(11 / 40, (first.low, first.high), 2 / 35, (second.low, second.high))
    assert (plain.low, plain.high, plain.confidence_level) == (found.low, found.high, 0.95)
    width = found.high - found.low
    assert max(first.high - first.low, second.high - second.low) < width


def test_one_sided_limits_combine_in_opposite_directions() -> None:
    asked = {"confidence_level": 0.975}
    both = mover_difference(0.5, wilson(20, 40), 0.25, wilson(10, 40))
    lower = mover_difference(
        0.5, wilson(20, 40, alternative="greater", **asked), 0.25, wilson(10, 40, alternative="less", **asked)
    )
    upper = mover_difference(
        0.5, wilson(20, 40, alternative="less", **asked), 0.25, wilson(10, 40, alternative="greater", **asked)
    )
    assert (lower.low, lower.high, lower.alternative) == (pytest.approx(both.low), 1.0, "greater")
    assert (upper.low, upper.high, upper.alternative) == (-1.0, pytest.approx(both.high), "less")
    with pytest.raises(PairstatsError, match="opposite directions"):
        mover_difference(0.5, wilson(20, 40, alternative="less"), 0.25, wilson(10, 40, alternative="less"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.5, (0.6, 0.7), 0.2, (0.1, 0.3)), "`estimate1` must lie within `interval1`"),
        ((0.5, (0.4, 0.7), float("nan"), (0.1, 0.3)), "`estimate2` must lie within `interval2`"),
        (
            (0.5, wilson(20, 40), 0.5, wilson(20, 40, confidence_level=0.9)),
            r"one confidence level, but got \[0.9, 0.95\]",
        ),
    ],
)
def test_mover_refuses_what_does_not_go_together(arguments: Any, message: str) -> None:
    with pytest.raises(PairstatsError, match=message):
        mover_difference(*arguments)
