"""Flips against correctness: enumeration of pairs, Clopper-Pearson, R, and identities."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from conftest import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pairstats.errors import PairstatsError
from pairstats.numeric import (
    answer_entropy,
    any_disagreement,
    aurc,
    family_share,
    flip_errors,
    flip_rate,
    flip_transitions,
    review_curve,
)
from pairstats.numeric.transitions import KINDS

ANSWERS = [
    ["A", "A", "A"],
    ["A", "B", "C"],
    ["B", "B", "B"],
    ["C", "B", "A"],
    ["A", None, "A"],
    ["B", None, None],
]
RIGHT = [[None if a is None else int(a == "A") for a in row] for row in ANSWERS]

families = st.lists(st.lists(st.sampled_from("ABCD"), min_size=2, max_size=5), min_size=1, max_size=8)


def scored(rows):
    return [[int(answer == "A") for answer in row] for row in rows]


def by_hand(rows, marks, base=None):
    """Mean over families of the five shares, each pair of copies looked at one by one."""
    shares = []
    for row, mark in zip(rows, marks, strict=True):
        seen = Counter()
        for i, j in itertools.permutations(range(len(row)), 2):
            if (base is not None and i != base) or None in (row[i], row[j]):
                continue
            if mark[i] and mark[j]:
                seen["right_to_right"] += 1
            elif mark[i]:
                seen["right_to_wrong"] += 1
            elif mark[j]:
                seen["wrong_to_right"] += 1
            else:
                seen["wrong_to_same" if row[i] == row[j] else "wrong_to_other"] += 1
        if seen:
            shares.append([seen[name] / seen.total() for name in KINDS])
    return np.mean(shares, axis=0)


@pytest.mark.parametrize("base", [None, 0])
def test_transitions_equal_enumeration(base):
    found = flip_transitions(ANSWERS, RIGHT, reference=base)
    values = [getattr(found, name).value for name in KINDS]
    np.testing.assert_allclose(values, by_hand(ANSWERS, RIGHT, base), atol=1e-12)
    assert (found.n_families, found.n_too_few) == (5, 1)
    assert found.n_pairs == (4 * 2 + 1 if base == 0 else 4 * 3 + 1)
    assert found.n_missing_pairs == (3 if base == 0 else 5)
    assert (found.n_right_differ, found.n_same_differ) == (0, 0)


@settings(deadline=None, max_examples=25)
@given(families)
def test_shares_sum_to_one_and_hold_the_flip_rate(rows):
    found = flip_transitions(rows, scored(rows))
    values = {name: getattr(found, name).value for name in KINDS}
    assert sum(values.values()) == pytest.approx(1, abs=1e-12)
    assert values["right_to_wrong"] == pytest.approx(values["wrong_to_right"], abs=1e-12)
    flips = values["right_to_wrong"] + values["wrong_to_right"] + values["wrong_to_other"]
    assert flips == pytest.approx(flip_rate(rows).rate, abs=1e-12)
    np.testing.assert_array_equal(
        flip_transitions(rows[::-1], scored(rows)[::-1]).per_family, found.per_family[::-1]
    )


@settings(deadline=None, max_examples=25)
@given(families)
def test_base_first_pairs_turn_round_when_the_copies_do(rows):
    pairs = [row[:2] for row in rows]
    one, two = (
        flip_transitions(each, scored(each), reference=0) for each in (pairs, [row[::-1] for row in pairs])
    )
    assert one.right_to_wrong.value == two.wrong_to_right.value
    assert one.lost.denominator + one.gained.denominator == pytest.approx(len(rows))


def test_repeats_of_one_presentation_are_no_pair():
    rows, variants = [["A", "B", "A", "A"]], [["base", "base", "moved", "moved"]]
    found = flip_transitions(rows, scored(rows), variants=variants, reference="base")
    assert found.n_pairs == 4
    assert (found.right_to_right.value, found.wrong_to_right.value) == (0.5, 0.5)
    both = flip_transitions(rows, scored(rows), variants=variants)
    assert (both.n_pairs, both.right_to_wrong.value, both.wrong_to_right.value) == (4, 0.25, 0.25)
    without = flip_transitions(
        [*rows, ["A", "A"]], scored([*rows, ["A", "A"]]), variants=[*variants, ["u", "v"]], reference="base"
    )
    assert (without.n_families, without.n_too_few) == (1, 1)


def test_lost_and_gained_are_conditional_shares():
    rows = [["A", "A"]] * 6 + [["A", "B"]] * 2
    found = flip_transitions([*rows, ["B", "A"]], scored([*rows, ["B", "A"]]), reference=0)
    assert (found.lost.value, found.gained.value) == (2 / 8, 1)
    lost = flip_transitions(rows, scored(rows), reference=0, kind="cp").lost
    exact = stats.binomtest(2, 8).proportion_ci(method="exact")
    assert (lost.low, lost.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_marks_that_do_not_fit_the_answers_are_counted():
    found = flip_transitions([["A", "a"], ["B", "B"]], [[1, 1], [1, 0]], reference=0)
    assert (found.n_right_differ, found.n_same_differ) == (1, 1)
    assert flip_errors([["B", "B"], ["A", "A"]], [[1, 0], [1, 1]]).n_inconsistent == 1


def test_sensitivity_and_silent_error_equal_clopper_pearson_on_pairs():
    # 20 families right twice, 6 right once, 3 wrong alike, 1 wrong two ways.
    rows = [["A", "A"]] * 20 + [["A", "B"]] * 6 + [["B", "B"]] * 3 + [["B", "C"]]
    found = flip_errors(rows, scored(rows), kind="cp")
    for share, count, nobs in [
        (found.flip_given_error, 7, 10),
        (found.silent_error, 3, 23),
        (found.pairwise_silent_error, 3, 23),
        (found.accuracy_agree, 20, 23),
    ]:
        exact = stats.binomtest(count, nobs).proportion_ci(method="exact")
        assert share.value == pytest.approx(count / nobs, abs=1e-12)
        assert (share.low, share.high) == pytest.approx((exact.low, exact.high), abs=1e-8)
    assert found.accuracy_disagree.value == pytest.approx(3 / 7)


@settings(deadline=None, max_examples=25)
@given(families)
def test_agreement_and_errors_equal_counting(rows):
    found, marks = flip_errors(rows, scored(rows)), scored(rows)
    agree = [len(set(row)) == 1 for row in rows]
    with_error = [not all(mark) for mark in marks]
    flips = [a for a, e in zip(agree, with_error, strict=True) if e]
    silent = [not mark[0] for mark, a in zip(marks, agree, strict=True) if a]
    for share, outcomes in ((found.flip_given_error, [not a for a in flips]), (found.silent_error, silent)):
        if outcomes:
            assert share.value == pytest.approx(np.mean(outcomes), abs=1e-12)
            assert share.low <= share.value <= share.high
        else:
            assert math.isnan(share.value)
            assert (share.low, share.high, share.method) == (0, 1, "undefined")


@pytest.mark.parametrize("v", reference("agreement_flips", "binary_agreement", "flip_nominal"))
def test_any_disagreement_equals_r(v):
    rows = v["inputs"]["families_by_copies"]
    found = any_disagreement(rows, kind="cp")
    assert found.copies.tolist() == [len(rows[0])]
    assert found.share[0].value == pytest.approx(v["expected"]["any_disagreement"], abs=v["tolerance"])
    count = round(found.share[0].numerator)
    exact = stats.binomtest(count, len(rows)).proportion_ci(method="exact")
    assert (found.share[0].low, found.share[0].high) == pytest.approx((exact.low, exact.high), abs=1e-8)


def test_numbers_of_copies_are_never_pooled():
    found = any_disagreement([["A", "B"], ["A", "A", "B"], ["A", "A", None], ["B"]])
    assert found.copies.tolist() == [2, 3]
    assert [s.value for s in found.share] == [0.5, 1.0]
    assert (found.n_too_few, found.n_missing) == (1, 1)


@settings(deadline=None, max_examples=25)
@given(families)
def test_entropy_equals_scipy(rows):
    found = answer_entropy(rows)
    expected = [stats.entropy(list(Counter(row).values()), base=2) for row in rows]
    np.testing.assert_allclose(found.per_family, expected, atol=1e-12)
    assert found.value == pytest.approx(np.mean(expected), abs=1e-12)
    assert 0 <= found.low <= found.high <= math.log2(max(map(len, rows))) + 1e-12


def test_entropy_without_two_copies_is_undefined():
    found = answer_entropy([["A"], ["B", None]])
    assert math.isnan(found.value)
    assert (found.low, found.high, found.n_too_few) == (0, math.inf, 2)


@pytest.mark.parametrize("accuracy", [1.0, 0.8])
def test_review_curve_equals_counting(accuracy):
    rows = [["A"] * 4] * 5 + [["B"] * 4] * 2 + [["A", "A", "A", "B"]] * 3 + [["A", "B", "C", "D"]] * 2
    found = review_curve(rows, scored(rows), reviewer_accuracy=accuracy)
    wrong = np.array([0] * 5 + [1] * 2 + [1 / 4] * 3 + [3 / 4] * 2)
    agreement = np.array([1] * 7 + [1 / 2] * 3 + [0] * 2)
    assert [point.agreement for point in found.points] == [0, 0.5, 1]
    for point in found.points:
        keep = agreement >= point.agreement
        assert point.coverage == pytest.approx(keep.mean())
        assert point.risk.value == pytest.approx(wrong[keep].mean())
        assert point.error.value == pytest.approx(np.where(keep, wrong, 1 - accuracy).mean())
        assert point.error_at_random == pytest.approx(
            keep.mean() * wrong.mean() + (1 - keep.mean()) * (1 - accuracy)
        )
    assert found.points[0].error.value == pytest.approx(found.unreviewed.value)
    assert found.points[-1].risk.value == pytest.approx(flip_errors(rows, scored(rows)).silent_error.value)


def test_aurc_equals_the_mean_over_random_orders_of_ties():
    stated, right = [0.9, 0.9, 0.9, 0.6, 0.6, 0.3], [1, 0, 1, 0, 1, 0]
    areas = []
    for order in itertools.permutations(range(6)):
        if all(stated[a] >= stated[b] for a, b in itertools.pairwise(order)):
            wrong = np.cumsum([1 - right[i] for i in order])
            areas.append(np.mean(wrong / np.arange(1, 7)))
    assert aurc(stated, right).value == pytest.approx(np.mean(areas), abs=1e-12)
    assert aurc([0.5] * 4, [1, 0, 0, 1]).value == pytest.approx(0.5)
    best = aurc([0.9, 0.8, 0.2, 0.1], [1, 1, 0, 0])
    assert best.excess == pytest.approx(0, abs=1e-12)


def test_aurc_without_an_error_has_no_informative_limits():
    found = aurc([0.9, 0.8, 0.7], [1, 1, 1])
    assert (found.value, found.low, found.high) == (0, 0, 1)
    assert found.method == "logit jackknife-t, undefined"


def test_all_right_all_wrong_and_one_family():
    right = flip_errors([["A", "A"]] * 10, [[1, 1]] * 10)
    assert right.silent_error.value == 0
    assert 0 < right.silent_error.high < 0.3
    assert math.isnan(right.flip_given_error.value)
    wrong = flip_errors([["B", "B"]] * 10, [[0, 0]] * 10)
    assert (wrong.silent_error.value, wrong.flip_given_error.value) == (1, 0)
    one = flip_errors([["A", "B"]], [[1, 0]])
    assert one.flip_given_error.value == 1
    assert one.flip_given_error.low < 0.5
    none = flip_errors([["A", None]], [[1, None]])
    assert (none.n_families, none.n_too_few, none.n_missing) == (0, 1, 1)
    assert review_curve([["A", None]], [[1, None]]).points == ()


def test_a_ratio_leaves_families_without_a_denominator_out():
    found = family_share([0.0, 1.0, 0.0], [0.0, 1.0, 2.0])
    assert (found.n_families, found.value) == (2, 1 / 3)
    assert family_share([0], [0], bounds=(-1, 1)).low == -1


@pytest.mark.parametrize(
    ("numerator", "denominator"),
    [
        ([1, 1], [2]), ([[1]], [[2]]), ([1, math.nan], [2, 2]), ([1, 1], [math.nan, 2]), ([1, 1], [math.inf, 2]),
        ([1, 1], [-1, 2]), ([1, 1], [0, 2]),
    ],
)  # fmt: skip
def test_totals_that_make_no_share_are_refused_and_not_left_out(numerator, denominator):
    with pytest.raises(PairstatsError, match="denominator"):
        family_share(numerator, denominator)


@pytest.mark.parametrize(
    ("answers", "correct", "options", "message"),
    [
        ([], [], {}, "at least one family"),
        ([["A", "B"]], [[1, 1], [0, 0]], {}, "a row for each of the 1 families"),
        ([["A", "B"]], [[1]], {}, "2 answers and 1 scores"),
        ([["A", "B"]], [[1, 0.5]], {}, "position 0 holds 0.5"),
        (["AB"], [[1, 1]], {}, "list of its copies"),
        ([["A", "B"]], [[1, 0]], {"reference": 2}, "no family has 2"),
        ([["A", "B"]], [[1, 0]], {"variants": [["base"]]}, "one entry for each copy"),
        ([["A", "B"]], [[1, 0]], {"variants": [["u", "v"]], "reference": "base"}, "no family has 'base'"),
    ],
)
def test_refused_transitions(answers, correct, options, message):
    with pytest.raises(PairstatsError, match=message):
        flip_transitions(answers, correct, **options)


def test_refused_reviewer():
    with pytest.raises(PairstatsError, match="reviewer_accuracy"):
        review_curve([["A", "B"]], [[1, 0]], reviewer_accuracy=80)
