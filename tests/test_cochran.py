"""Cochran's Q against R, statsmodels, complete enumeration and McNemar."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from conftest import reference

from pairstats.errors import PairstatsError
from pairstats.numeric.cochran import cochran_q
from pairstats.numeric.exact import mcnemar, sign_flip


@pytest.mark.parametrize(
    "vector", [*reference("cochran_q"), *reference("python_misc", "statsmodels_cochrans_q")]
)
def test_equals_r_and_statsmodels(vector: dict[str, Any]) -> None:
    table, expected = vector["inputs"]["rows_items_cols_models"], vector["expected"]
    test = cochran_q(table, method="chi2")
    assert test.statistic == pytest.approx(expected["statistic"], abs=1e-9)
    if "p_exact" in expected:
        assert cochran_q(table).method == "exact"
        assert cochran_q(table).p_value == pytest.approx(expected["p_exact"], abs=1e-10)
    else:
        assert (test.p_value, test.df) == (pytest.approx(expected["p"], abs=1e-9), expected["df"])


def brute_force(rows: list[list[float]]) -> float:
    orders = [list(permutations(row)) for row in rows]
    observed = (np.sum(rows, axis=0) ** 2).sum()
    squares = [(np.sum(choice, axis=0) ** 2).sum() for choice in product(*orders)]
    return float(np.mean(np.array(squares) >= observed - 1e-9))


@pytest.mark.parametrize(
    "rows",
    [
        [[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 0, 0]],
        [[2, 1, 0], [3, 1, 1], [0, 0, 2], [2, 2, 2]],
        [[0.5, 0.0, 1.0], [1 / 3, 1.0, 0.0], [1.0, 2 / 3, 0.5]],
        [[1, 0, 0, 1], [1, 1, 0, 0], [1, 1, 1, 0]],
        [[5, 5, 4], [1, 0, 0]],
    ],
)
def test_exact_equals_enumeration(rows: list[list[float]]) -> None:
    test = cochran_q(rows)
    assert test.method == "exact"
    assert test.p_value == pytest.approx(brute_force(rows), abs=1e-12)


def test_families_are_summed_and_permuted_whole() -> None:
    rng = np.random.default_rng(2)
    items = rng.integers(0, 2, (12, 3))
    families = ["a", "b", "c", "d"] * 3
    totals = [items[[i for i, f in enumerate(families) if f == name]].sum(axis=0) for name in "abcd"]
    assert cochran_q(items, families=families) == cochran_q(totals)
    assert cochran_q(items, families=families).p_value == pytest.approx(
        brute_force(np.array(totals).tolist())
    )


def test_two_systems_give_mcnemar_and_the_sign_flip_test() -> None:
    items = [[1, 0]] * 9 + [[0, 1]] * 2 + [[1, 1]] * 5
    test = cochran_q(items)
    assert test.p_value == pytest.approx(mcnemar(9, 2).p_value, abs=1e-12)
    assert test.statistic == pytest.approx(mcnemar(9, 2, method="chi2").statistic)
    totals = np.array([[3, 1], [2, 2], [0, 1], [4, 0], [2, 1]])
    assert cochran_q(totals).p_value == pytest.approx(sign_flip(totals[:, 0] - totals[:, 1]).p_value)


def test_monte_carlo_estimates_the_exact_p() -> None:
    rows = np.random.default_rng(6).integers(0, 2, (15, 4))
    exact = cochran_q(rows).p_value
    drawn = cochran_q(rows, method="monte-carlo", rng=1)
    assert drawn.mc_error is not None
    assert drawn.p_value == pytest.approx(exact, abs=4 * drawn.mc_error)
    assert drawn == cochran_q(rows, method="monte-carlo", rng=1)
    # Without a seed the same data give the same number, in any order of the rows.
    assert cochran_q(rows, method="monte-carlo") == cochran_q(rows[::-1], method="monte-carlo")


def test_what_is_too_large_for_the_exact_law_is_drawn_and_says_so() -> None:
    rows = np.random.default_rng(7).integers(0, 2, (200, 5))
    assert cochran_q(rows, n_resamples=99).method == "monte-carlo"
    with pytest.raises(PairstatsError, match="Use method='monte-carlo'"):
        cochran_q(rows, method="exact")


@pytest.mark.parametrize("method", [None, "exact", "monte-carlo", "chi2"])
@pytest.mark.parametrize("value", [0, 1])
def test_systems_that_never_differ(method: str | None, value: int) -> None:
    test = cochran_q(np.full((6, 3), value), method=method)
    assert (test.statistic, test.p_value, test.n_informative) == (0, 1, 0)


def test_order_of_rows_and_systems_does_not_matter() -> None:
    rows = np.random.default_rng(8).integers(0, 3, (10, 3))
    p = cochran_q(rows).p_value
    assert cochran_q(rows[::-1, [2, 0, 1]]).p_value == pytest.approx(p, abs=1e-12)
    assert cochran_q(rows + np.arange(10)[:, None]).p_value == pytest.approx(p, abs=1e-12)


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        ([1, 0], {}, "at least two systems"),
        ([[1], [0]], {}, "at least two systems"),
        (np.empty((0, 3)), {}, "at least two systems"),
        ([[1, 0], [np.nan, 1]], {}, "row 1, column 0"),
        ([[1, 0], [0, 1]], {"families": ["a"]}, "one entry for each of the 2 items"),
        ([[1, 0], [0, 1]], {"method": "friedman"}, "`method` must be one of"),
    ],
)
def test_errors_say_what_must_hold(scores: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(PairstatsError, match=message):
        cochran_q(scores, **options)
