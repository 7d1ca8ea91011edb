"""Stuart-Maxwell, Bowker and their exact versions against statsmodels, McNemar and full enumeration."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from conftest import reference

from pairstats.errors import PairstatsError
from pairstats.numeric.discordant import mcnemar
from pairstats.numeric.exact import sign_flip
from pairstats.numeric.joint_sums import joint_flips
from pairstats.numeric.paired_tables import bowker, paired_class_test, stuart_maxwell

TABLE = np.array([[20, 10, 5, 1], [3, 30, 15, 0], [0, 5, 40, 2], [2, 1, 6, 9]])


@pytest.mark.parametrize("vector", reference("python_misc", "statsmodels_square_table"))
def test_equals_the_statsmodels_vectors(vector: dict[str, Any]) -> None:
    """statsmodels counts an empty cell as one half by default; tolerance 1e-8."""
    a, b, c, d = (vector["inputs"][name] for name in "abcd")
    test = stuart_maxwell([[a, b], [c, d]], empty_cell=0.5)
    assert test.statistic == pytest.approx(vector["expected"]["statistic"], abs=vector["tolerance"])
    assert test.p_value == pytest.approx(vector["expected"]["p"], abs=vector["tolerance"])


@pytest.mark.parametrize("seed", range(6))
def test_equals_statsmodels(seed: int) -> None:
    from statsmodels.stats.contingency_tables import SquareTable

    rng = np.random.default_rng(seed)
    table = rng.integers(1, 30, (3 + seed % 3,) * 2)
    oracle = SquareTable(table, shift_zeros=False)
    margin, symmetry = oracle.homogeneity(), oracle.symmetry()
    found = stuart_maxwell(table)
    assert (found.statistic, found.df) == (pytest.approx(margin.statistic, rel=1e-9), margin.df)
    assert found.p_value == pytest.approx(margin.pvalue, rel=1e-8)
    moved = bowker(table)
    assert (moved.statistic, moved.df) == (pytest.approx(symmetry.statistic, rel=1e-9), symmetry.df)
    assert moved.p_value == pytest.approx(symmetry.pvalue, rel=1e-8)


@pytest.mark.parametrize("test", [stuart_maxwell, bowker])
def test_two_classes_are_mcnemar(test: Any) -> None:
    table = [[30, 9], [2, 12]]
    assert test(table).statistic == pytest.approx(mcnemar(9, 2, method="chi2").statistic)
    assert test(table).p_value == pytest.approx(mcnemar(9, 2, method="chi2").p_value)
    assert test(table, method="exact").p_value == pytest.approx(mcnemar(9, 2).p_value, rel=1e-12)


@pytest.mark.parametrize("test", [stuart_maxwell, bowker])
def test_unused_classes_change_nothing(test: Any) -> None:
    """A class nobody uses, and one that both use on the same items only, bring no comparison."""
    grown = np.zeros((6, 6), dtype=int)
    grown[np.ix_([0, 2, 3, 5], [0, 2, 3, 5])] = TABLE
    grown[4, 4] = 7
    for method in ("chi2", "monte-carlo"):
        small = test(TABLE, method=method, rng=1, n_resamples=500)
        large = test(grown, method=method, rng=1, n_resamples=500)
        assert (large.df, large.n_informative) == (small.df, small.n_informative)
        assert large.statistic == pytest.approx(small.statistic, rel=1e-9)
    assert test(grown).p_value == pytest.approx(test(TABLE).p_value, rel=1e-9)


def test_separate_groups_of_classes_have_fewer_comparisons() -> None:
    table = np.zeros((4, 4), dtype=int)
    table[0, 1], table[1, 0], table[2, 3], table[3, 2] = 7, 2, 1, 5
    found = stuart_maxwell(table)
    assert found.df == 2
    assert found.statistic == pytest.approx(25 / 9 + 16 / 6)
    assert (bowker(table).df, bowker(table).statistic) == (2, pytest.approx(25 / 9 + 16 / 6))


@pytest.mark.parametrize("test", [stuart_maxwell, bowker])
@pytest.mark.parametrize("method", ["chi2", "exact", "monte-carlo"])
@pytest.mark.parametrize("table", [np.zeros((3, 3)), np.diag([4, 0, 2])])
def test_systems_that_never_differ(test: Any, method: str, table: np.ndarray) -> None:
    found = test(table, method=method)
    assert (found.statistic, found.df, found.p_value, found.n_informative) == (0.0, 0, 1.0, 0)


def statistic_of(rows: np.ndarray) -> float:
    total = rows.sum(axis=0)
    return float(total @ np.linalg.pinv(rows.T @ rows) @ total)


def brute_force(rows: np.ndarray) -> float:
    observed = statistic_of(rows)
    values = [statistic_of(rows * np.array(signs)[:, None]) for signs in product((1, -1), repeat=len(rows))]
    return float(np.mean(np.array(values) >= observed - 1e-9))


def one_hot(values: np.ndarray, k: int) -> np.ndarray:
    return np.eye(k)[values]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("copies", [1, 3])
def test_exact_equals_enumeration(seed: int, copies: int) -> None:
    """All 2^9 exchanges of labels within whole families; classes as one-hot vectors."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 3, 9 * copies), rng.integers(0, 3, 9 * copies)
    families = np.repeat(np.arange(9), copies)
    gaps = (one_hot(first, 3) - one_hot(second, 3)).reshape(9, copies, 3).sum(axis=1)
    found = paired_class_test(first, second, families=families)
    assert found.method == "exact"
    assert found.statistic == pytest.approx(statistic_of(gaps), rel=1e-9)
    assert found.p_value == pytest.approx(brute_force(gaps), abs=1e-12)

    cells = np.zeros((9 * copies, 3, 3))
    cells[np.arange(9 * copies), first, second] += 1
    moves = cells - cells.transpose(0, 2, 1)
    upper = moves[:, [0, 0, 1], [1, 2, 2]].reshape(9, copies, 3).sum(axis=1)
    symmetry = paired_class_test(first, second, families=families, question="symmetry")
    assert symmetry.statistic == pytest.approx(statistic_of(upper), rel=1e-9)
    assert symmetry.p_value == pytest.approx(brute_force(upper), abs=1e-12)


def test_items_and_table_are_the_same_question() -> None:
    first, second = np.repeat(np.indices(TABLE.shape).reshape(2, -1), TABLE.ravel(), axis=1)
    for question, test in (("marginal", stuart_maxwell), ("symmetry", bowker)):
        items = paired_class_test(first, second, question=question, method="chi2")
        assert items.table == tuple(map(tuple, TABLE.tolist()))
        assert items.statistic == pytest.approx(test(TABLE).statistic, rel=1e-9)
        assert (items.df, items.p_value) == (test(TABLE).df, pytest.approx(test(TABLE).p_value))
    exact = stuart_maxwell(TABLE[:3, :3], method="exact")
    drawn = stuart_maxwell(TABLE[:3, :3], method="monte-carlo", rng=2)
    assert drawn.mc_error is not None
    assert drawn.p_value == pytest.approx(exact.p_value, abs=4 * drawn.mc_error + 1e-4)


def test_two_classes_by_family_are_the_sign_flip_test() -> None:
    rng = np.random.default_rng(11)
    first, second = rng.integers(0, 2, 24), rng.integers(0, 2, 24)
    families = np.repeat(np.arange(8), 3)
    totals = (first - second).reshape(8, 3).sum(axis=1)
    found = paired_class_test(first, second, families=families)
    assert found.p_value == pytest.approx(sign_flip(totals).p_value, rel=1e-12)


def test_order_names_and_exchange_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 4, 40), rng.integers(0, 4, 40)
    families = np.repeat(np.arange(20), 2)
    order = rng.permutation(40)
    names = np.array(["d", "b", "z", "a"])
    base = paired_class_test(first, second, families=families)
    for other in (
        paired_class_test(first[order], second[order], families=families[order]),
        paired_class_test(second, first, families=families),
        paired_class_test(names[first], names[second], families=[f"f{f}" for f in families]),
    ):
        assert other.statistic == pytest.approx(base.statistic, rel=1e-9)
        assert other.p_value == pytest.approx(base.p_value, rel=1e-9)
    swapped = paired_class_test(second, first, families=families)
    assert swapped.shift == pytest.approx([-value for value in base.shift])


def test_classes_of_different_kinds_are_kept_apart() -> None:
    found = paired_class_test(["1", 1, "1", 1], [1, "1", "1", 1])
    assert (found.classes, found.p_value) == ((1, "1"), 1.0)


def test_what_is_too_large_is_drawn_and_says_so() -> None:
    rng = np.random.default_rng(4)
    first, second = rng.integers(0, 6, 600), rng.integers(0, 6, 600)
    found = paired_class_test(first, second, n_resamples=199)
    assert (found.method, found.mc_error is not None) == ("monte-carlo", True)
    with pytest.raises(PairstatsError, match="Use method='monte-carlo'"):
        paired_class_test(first, second, method="exact")


@pytest.mark.parametrize("seed", range(3))
def test_joint_law_equals_enumeration(seed: int) -> None:
    """Lattice and other numbers, with ties and opposite rows."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-2, 3, (8, 2)) * (1.0 if seed else np.sqrt([2.0, 3.0]))
    rows[1], rows[2] = -rows[0], rows[0]
    if seed == 2:
        rows = rng.normal(size=(8, 2))
    law = joint_flips(rows)
    assert law.probability.sum() == pytest.approx(1, abs=1e-14)
    all_sums = np.array([np.array(signs) @ rows for signs in product((1, -1), repeat=8)])
    for point in rows.sum(axis=0), np.array([0.5, -1.0]):
        brute = np.mean((all_sums <= point + 1e-9).all(axis=1))
        assert law.probability @ (law.sums <= point + 1e-9).all(axis=1) == pytest.approx(brute, abs=1e-13)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[1, 2, 3], [4, 5, 6]], "`table` must be square"),
        ([[1]], "`table` must be square"),
        ([[1, 0.5], [2, 3]], "row 0, column 1"),
        ([[1, -2], [2, 3]], "row 0, column 1"),
        ([[1, 2], [np.nan, 3]], "row 1, column 0"),
    ],
)
def test_tables_must_be_counts(table: Any, message: str) -> None:
    for test in (stuart_maxwell, bowker):
        with pytest.raises(PairstatsError, match=message):
            test(table)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([], []), {}, "one or more items"),
        ((["a"], ["a", "b"]), {}, "lengths are 1 and 2"),
        ((["a", "b"], ["a", "b"]), {"families": ["f"]}, "each of the 2 items, but it has 1"),
        ((["a", None], ["a", "b"]), {}, "position 1"),
        (([1.0, float("nan")], [1.0, 2.0]), {}, "position 1"),
        ((["a"], ["b"]), {"question": "order"}, "`question` must be one of"),
        ((["a"], ["b"]), {"method": "asymptotic"}, "`method` must be one of"),
    ],
)
def test_errors_say_what_must_hold(arguments: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(PairstatsError, match=message):
        paired_class_test(*arguments, **options)


def test_empty_cells_count_between_nothing_and_one() -> None:
    with pytest.raises(PairstatsError, match="`empty_cell` must lie in"):
        stuart_maxwell([[1, 0], [2, 3]], empty_cell=2)
