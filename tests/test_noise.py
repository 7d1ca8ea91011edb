"""Excess over repeat noise and over a control arm, and agreement of two runs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pairstats.errors import PairstatsError
from pairstats.numeric import (
    control_excess,
    excess_disagreement,
    family_interval,
    flip_rate,
    retest_agreement,
    sign_flip,
)


def by_hand(row):
    """Between and within disagreement of one family, pair by pair."""
    within = [np.mean([a != b for a, b in itertools.combinations(r, 2)]) for r in row]
    between = [
        np.mean([a != b for a, b in itertools.product(one, two)])
        for one, two in itertools.combinations(row, 2)
    ]
    return np.mean(between), np.mean(within)


def test_excess_equals_enumeration():
    rng = np.random.default_rng(1)
    answers = rng.choice(list("ABC"), size=(12, 3, 4))
    found = excess_disagreement(answers)
    parts = np.array([by_hand(row) for row in answers])
    np.testing.assert_allclose(found.per_family, parts[:, 0] - parts[:, 1], atol=1e-12)
    assert found.between.value == pytest.approx(parts[:, 0].mean(), abs=1e-12)
    assert found.within.value == pytest.approx(parts[:, 1].mean(), abs=1e-12)
    expected = family_interval(parts[:, 0] - parts[:, 1], bounds=(-1, 1))
    assert (found.excess.low, found.excess.high) == pytest.approx((expected.low, expected.high), abs=1e-10)


def test_expected_excess_is_the_squared_distance_of_the_probabilities():
    # Exact expectation over all 2^4 outcomes of two presentations with two 0/1 replies each.
    chance = (0.8, 0.3)
    expectation = 0.0
    for replies in itertools.product((0, 1), repeat=4):
        p = math.prod(chance[i // 2] if reply else 1 - chance[i // 2] for i, reply in enumerate(replies))
        family = [list(replies[:2]), list(replies[2:])]
        expectation += p * excess_disagreement([family]).per_family[0]
    assert expectation == pytest.approx((0.8 - 0.3) ** 2, abs=1e-12)


def test_excess_may_be_negative_and_is_not_cut():
    found = excess_disagreement([[["A", "B"], ["A", "B"]]] * 8)
    assert found.excess.value == -0.5
    assert found.excess.low < -0.5 < found.excess.high < 0


def test_presentations_without_two_replies_are_left_out_and_counted():
    found = excess_disagreement(
        [[["A", "A"], ["B", None], ["A", "B"]], [["A", "A"], ["B"]], [["A", "A"], [None, None]]]
    )
    assert (found.n_families, found.n_too_few) == (1, 2)
    assert (found.n_presentations, found.n_single, found.n_missing) == (2, 3, 3)
    assert found.per_family[0] == pytest.approx(0.5 - 0.5)
    nothing = excess_disagreement([[["A"], ["B"]]])
    assert math.isnan(nothing.excess.value)
    assert (nothing.excess.low, nothing.excess.high) == (-1, 1)


def test_relabelling_changes_nothing():
    rng = np.random.default_rng(2)
    answers = rng.integers(0, 3, size=(10, 2, 3))
    assert excess_disagreement(answers).excess == excess_disagreement(answers[:, ::-1] * 7 + 1).excess


@pytest.mark.parametrize("answers", [[["A", "B"]], ["AB"], [[1, 2]], [None]])
def test_refused_nesting(answers):
    with pytest.raises(PairstatsError, match="presentations"):
        excess_disagreement(answers)


def test_paired_control_is_the_interval_and_test_of_family_differences():
    flips = np.array([1, 0, 1, 1, 0, 0, 1, 0, 1, 1, np.nan])
    control = np.array([0, 0, 1, 0, 0, 0, 0, 0, np.nan, 0, 0])
    found = control_excess(flips, control, paired=True)
    gaps = (flips - control)[[0, 1, 2, 3, 4, 5, 6, 7, 9]]
    expected = family_interval(gaps, bounds=(-1, 1))
    assert (found.low, found.high) == (expected.low, expected.high)
    assert found.test == sign_flip(gaps)
    assert (found.n_families, found.n_control, found.n_dropped) == (9, 9, 2)
    back = control_excess(control, flips, paired=True)
    assert (back.low, back.high) == pytest.approx((-found.high, -found.low), abs=1e-9)


def test_unpaired_control_is_mover():
    flips, control = np.repeat([1.0, 0.0], [11, 29]), np.repeat([1.0, 0.0, np.nan], [2, 33, 1])
    found = control_excess(flips, control, paired=False, kind="cp")
    # Clopper-Pearson limits printed in methods.md: 11/40 [.146, .439], 2/35 [.007, .192].
    p, q = 11 / 40, 2 / 35
    assert found.low == pytest.approx(p - q - math.hypot(p - 0.146, 0.192 - q), abs=1e-3)
    assert found.high == pytest.approx(p - q + math.hypot(0.439 - p, q - 0.007), abs=1e-3)
    assert (found.method, found.test, found.n_control, found.n_dropped) == ("mover", None, 35, 1)
    back = control_excess(control, flips, paired=False, kind="cp")
    assert (back.low, back.high) == pytest.approx((-found.high, -found.low), abs=1e-12)


def test_no_flip_in_either_arm_still_has_limits():
    found = control_excess([0.0] * 20, [0.0] * 20, paired=True)
    assert found.test.p_value == 1
    assert found.low < 0 < found.high


@pytest.mark.parametrize(
    ("flips", "control", "paired", "message"),
    [
        ([1, 0], [1], True, "one length"),
        ([[1, 0]], [1], False, "one-dimensional"),
        ([np.nan], [1], False, "0 and 1 count"),
        ([2.0], [1.0], False, r"lie in \[0, 1\]"),
    ],
)
def test_refused_control(flips, control, paired, message):
    with pytest.raises(PairstatsError, match=message):
        control_excess(flips, control, paired=paired)


def test_retest_agreement_is_the_complement_of_the_flips_of_two_copies():
    rng = np.random.default_rng(3)
    first, second = rng.choice(list("AB"), 30).tolist(), rng.choice(list("AB"), 30).tolist()
    found = retest_agreement(first, second)
    flips = flip_rate(list(zip(first, second, strict=True)))
    assert found.agreement.value == pytest.approx(1 - flips.rate)
    assert retest_agreement(second, first).agreement == found.agreement


def test_retest_by_family_counts_what_only_one_run_has():
    found = retest_agreement(
        ["A", "B", None, "C", None], ["A", "A", "B", None, None], families=["f", "f", "g", "g", "h"],
        scores=([1, 0, np.nan, 1, np.nan], [1, 1, 0, np.nan, np.nan]),
    )  # fmt: skip
    assert (found.n_items, found.n_families) == (2, 1)
    assert (found.n_first_only, found.n_second_only, found.n_neither) == (1, 1, 1)
    assert (found.agreement.value, found.change.value) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"families": ["f"]}, "one entry for each of the 2"),
        ({"families": ["f", None]}, "1 are missing, the first at position 1"),
        ({"scores": ([1], [1, 0])}, "one score for each"),
        ({"scores": ([1, 2], [1, 0])}, "position 1"),
        ({"scores": ([1, np.nan], [1, 0])}, "position 1"),
    ],
)
def test_refused_runs(options, message):
    with pytest.raises(PairstatsError, match=message):
        retest_agreement(["A", "B"], ["A", "B"], **options)
    with pytest.raises(PairstatsError, match="same questions"):
        retest_agreement(["A"], ["A", "B"])
