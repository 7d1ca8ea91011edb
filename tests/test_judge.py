"""Verdicts in both orders: by counting, against enumeration, and from records."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairstats import Panel, judge_verdicts
from pairstats.errors import PairingError, PairstatsError
from pairstats.numeric import family_interval, swapped_verdicts

NAN = float("nan")
VERDICTS = [0.0, 0.5, 1.0]


def test_a_judge_who_always_takes_the_first():
    found = swapped_verdicts([1] * 10, [0] * 10)
    assert (found.win_rate.value, found.first_rate.value, found.consistency.value) == (0.5, 1, 0)
    assert found.position_test.p_value == pytest.approx(2 / 2**10)
    assert found.win_test.p_value == 1
    assert (found.n_first, found.n_second, found.n_wins) == (10, 0, 0)
    assert found.consistent_win_rate.n_families == 0
    assert np.isnan(found.consistent_win_rate.value)


def test_a_judge_without_a_position_bias():
    found = swapped_verdicts([1, 1, 1, 0], [1, 1, 1, 0])
    assert (found.win_rate.value, found.first_rate.value, found.consistency.value) == (0.75, 0.5, 1)
    assert (found.n_wins, found.n_losses, found.consistent_win_rate.value) == (3, 1, 0.75)


@given(st.lists(st.tuples(st.sampled_from(VERDICTS), st.sampled_from(VERDICTS)), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_counts_and_rates_by_hand(pairs):
    one, two = map(list, zip(*pairs, strict=True))
    found = swapped_verdicts(one, two)
    assert found.win_rate.value == pytest.approx(np.mean([(a + b) / 2 for a, b in pairs]))
    assert found.first_rate.value == pytest.approx(np.mean([(a + 1 - b) / 2 for a, b in pairs]))
    assert found.consistency.value == pytest.approx(np.mean([a == b for a, b in pairs]))
    kinds = [found.n_wins, found.n_losses, found.n_ties, found.n_first, found.n_second, found.n_mixed]
    assert sum(kinds) == found.n_pairs == len(pairs)
    flipped = [sum(s * (a - b) for s, (a, b) in zip(signs, pairs, strict=True))
               for signs in itertools.product((-1, 1), repeat=len(pairs))]  # fmt: skip
    observed = sum(a - b for a, b in pairs)
    assert found.position_test.p_value == pytest.approx(np.mean(np.abs(flipped) >= abs(observed)))
    mirror = swapped_verdicts([1 - b for b in two], [1 - a for a in one])  # the systems change names
    assert mirror.win_rate.value == pytest.approx(1 - found.win_rate.value)
    assert mirror.first_rate.value == pytest.approx(found.first_rate.value)
    assert mirror.win_test.p_value == pytest.approx(found.win_test.p_value)


def test_proportions_are_over_families_and_lost_orders_are_counted():
    first = [1, 1, 0.5, 1, NAN, NAN, 0]
    second = [1, 0, 0.5, NAN, 1, NAN, 0]
    found = swapped_verdicts(first, second, families=list("aabbccd"), kind="cp", confidence_level=0.9)
    assert (found.n_pairs, found.n_single, found.n_missing) == (4, 2, 1)
    means, sizes = [(1 + 0.5) / 2, 0.5, 0.0], [2.0, 1.0, 1.0]
    oracle = family_interval(means, sizes=sizes, kind="cp", confidence_level=0.9)
    assert (found.win_rate.low, found.win_rate.high) == pytest.approx((oracle.low, oracle.high))
    assert found.win_rate.n_families == 3


@pytest.mark.parametrize(
    ("first", "second", "match"),
    [
        ([0.7], [1], "hold 1"),
        ([1, 0], [1], "same pairs"),
        ([1, NAN], [NAN, 0], "both orders"),
        ([[1]], [[1]], "one-dimensional"),
        (["a", "b"], [1, 0], "`a_first` must hold 1"),
        ([1, 0], [object(), 0], "`b_first` must hold 1"),
    ],
)
def test_verdicts_that_are_none(first, second, match):
    with pytest.raises(PairstatsError, match=match):
        swapped_verdicts(first, second)


def judged(**columns):
    rows = [
        {"family": f"f{i // 2}", "item": f"q{i}", "model": judge, "variant": shown,
         "answer": "a" if i % 3 else shown, "status": "answered"}
        for judge in ("big", "small") for i in range(12) for shown in ("a", "b")
    ]  # fmt: skip
    return pd.DataFrame(rows).assign(**columns)


def test_records_give_the_same_as_arrays_for_every_judge():
    found = judge_verdicts(Panel(judged()), ("a", "b"))
    a_first = [1.0] * 12
    b_first = [1.0 if i % 3 else 0.0 for i in range(12)]
    oracle = swapped_verdicts(a_first, b_first, families=[i // 2 for i in range(12)])
    for judge in ("big", "small"):
        rows = found.where(model=judge).frame.set_index("estimand")
        assert rows.loc["win_rate", "estimate"] == pytest.approx(oracle.win_rate.value)
        assert rows.loc["win_rate", "conf_low"] == pytest.approx(oracle.win_rate.low)
        assert rows.loc["win_rate", "p_value"] == pytest.approx(oracle.win_test.p_value)
        assert rows.loc["first_rate", "p_value"] == pytest.approx(oracle.position_test.p_value)
        assert rows.loc["consistency", "estimate"] == pytest.approx(8 / 12)
        assert rows.loc["consistent_win_rate", "estimate"] == 1
        assert rows.loc["win_rate", "n_units"] == 12
    back = judge_verdicts(Panel(judged()), ("b", "a")).where(model="big").frame.set_index("estimand")
    assert back.loc["win_rate", "estimate"] == pytest.approx(1 - oracle.win_rate.value)
    assert back.loc["first_rate", "estimate"] == pytest.approx(oracle.first_rate.value)


def test_verdicts_may_name_positions():
    frame = judged()
    shown_is_chosen = frame["answer"] == frame["variant"]
    by_position = frame.assign(answer=shown_is_chosen.map({True: "first", False: "second"}))
    one = judge_verdicts(Panel(frame), ("a", "b")).frame
    two = judge_verdicts(Panel(by_position), ("a", "b"), verdicts="positions").frame
    pd.testing.assert_frame_equal(one, two)


def test_ties_missing_verdicts_and_lost_orders():
    frame = judged()
    frame.loc[frame["item"].eq("q1"), "answer"] = "neither"
    frame.loc[frame["item"].eq("q2") & frame["variant"].eq("a"), ["answer", "status"]] = [None, "unparsed"]
    frame = frame[~(frame["item"].eq("q4") & frame["variant"].eq("b"))]
    found = judge_verdicts(Panel(frame), ("a", "b"), tie="neither").where(model="big").frame
    assert found["n_units"].tolist() == [10] * 4
    assert found["n_missing"].tolist() == [2] * 4
    assert "1 tied in both orders" in found["note"][0]
    assert "2 judged in one order only" in found["note"][0]


@pytest.mark.parametrize(
    ("frame", "options", "match"),
    [
        (judged(answer="c"), {}, "must be 'a', 'b' or 'tie', but some are 'c'"),
        (judged(), {"verdicts": "positions"}, "must be 'first', 'second'"),
        (judged().replace({"variant": {"a": "c"}}), {}, "must name the system shown first"),
        (judged(), {"systems": ("a", "a")}, "two different"),
        (judged(), {"systems": "ab"}, "must be two texts or numbers"),
        (judged(), {"systems": ("a", "b", "a")}, "must be two texts or numbers"),
        (judged(), {"tie": "a"}, "`tie` must be a verdict of its own"),
        (judged(), {"confidence_level": 95}, "strictly between 0 and 1"),
        (judged(), {"column": "answr"}, "no column 'answr'"),
    ],
)
def test_records_that_are_no_judgements(frame, options, match):
    with pytest.raises(PairstatsError, match=match):
        judge_verdicts(Panel(frame), **{"systems": ("a", "b"), **options})


def test_orders_that_share_no_pair():
    frame = judged()
    frame["item"] = frame["item"] + frame["variant"]
    with pytest.raises(
        PairingError, match="none has: model 'big' saw other pairs in one order than in the other"
    ):
        judge_verdicts(Panel(frame), ("a", "b"))


def test_a_judge_of_one_order_has_a_row_of_its_own_and_hides_no_other():
    whole = judged()
    frame = whole[(whole["model"] == "big") | (whole["variant"] == "a")]
    found = judge_verdicts(Panel(frame), ("a", "b"))
    expected = judge_verdicts(Panel(whole), ("a", "b")).where(model="big").frame
    pd.testing.assert_frame_equal(found.where(model="big").frame, expected, check_dtype=False)
    [row] = found.where(model="small").frame.to_dict("records")
    assert (row["estimand"], row["n_families"], row["n_missing"]) == ("win_rate", 0, 12)
    assert row["note"] == (
        "no results: model 'small' judged in one order only, with 'a' shown first: ask again with the replies "
        "exchanged, or leave these rows out with panel.where()"
    )
    with pytest.raises(
        PairingError, match="none has: model 'big' judged in one order only, with 'a' shown first"
    ):
        judge_verdicts(Panel(whole[whole["variant"] == "a"]), ("a", "b"))


@pytest.mark.parametrize("missing", [False, True])
def test_verdicts_and_systems_may_be_numbers(missing):
    words = judged(verdict=lambda rows: rows["answer"])
    numbers = words.assign(verdict=words["answer"].map({"a": 1, "b": 2}))
    if missing:
        words.loc[3, "verdict"] = None
        numbers.loc[3, "verdict"] = float("nan")
        assert numbers["verdict"].dtype == float, "1 has become 1.0"
    expected = judge_verdicts(Panel(words), ("a", "b"), "verdict").frame
    numbers["variant"] = numbers["variant"].map({"a": "1", "b": "2"})
    for systems in ((1, 2), ("1", "2"), (1.0, 2.0)):
        found = judge_verdicts(Panel(numbers), systems, "verdict", tie=0).frame
        columns = ["model", "estimand", "estimate", "conf_low", "p_value", "n_units", "n_missing"]
        pd.testing.assert_frame_equal(found[columns], expected[columns])
    assert expected["n_missing"].tolist()[0] == int(missing)


def test_a_reply_shown_first_must_be_named():
    frame = judged()
    frame["shown"] = frame["variant"].where(frame["item"] != "q1")
    with pytest.raises(
        PairstatsError, match="'shown' must name the system shown first, but is empty in 2 of 24"
    ):
        judge_verdicts(Panel(frame), ("a", "b"), shown_first="shown")
