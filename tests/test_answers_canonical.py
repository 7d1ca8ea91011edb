"""Canonical answers: what is the same answer, what is not, and what is none."""

from __future__ import annotations

import datetime
import itertools
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairstats.answers import AnswerFormat
from pairstats.answers.format import KINDS
from pairstats.errors import PairstatsError

NUMBER, TEXT, SET = AnswerFormat("number"), AnswerFormat("text"), AnswerFormat("set")
INSTANT, JSON, CHOICE = AnswerFormat("instant"), AnswerFormat("json"), AnswerFormat("choice")
quick = settings(derandomize=True, deadline=None, max_examples=100)


@pytest.mark.parametrize(
    ("kind", "alike"),
    [
        ("number", [
            "1,000", "1000", "1e3", "1000.0", "1E+3", 1000, 1000.0, Decimal("1e3"), " $1,000.00 ", "+1000",
            "1_000", "1'000", "1\u202f000", "**1000**", "1000.", np.int64(1000), np.float64(1000),
            r"$1000$",
        ]),
        ("number", ["-0.5", "-.5", -0.5, "\u22120.50", "-5e-1", "-$0.50", "$-0.50"]),
        ("number", ["0", "-0", "0.00", "0e9", 0, -0.0]),
        ("number", ["1,234,567.8", "1234567.80"]),
        ("text", ["New York", " new\n york", "NEW\u00a0YORK", "New\u200b York"]),
        ("text", ["caf\u00e9", "cafe\u0301", "CAF\u00c9"]),
        ("text", ["stra\u00dfe", "STRASSE"]),
        ("text", ["5", 5, 5.0]),
        ("set", [["a", "b"], ["B", "a", "A "], ("b", "a"), {"a", "b"}, np.array(["b", "a"])]),
        ("set", ["a, b", "b;a", "b\na", "{a, b}", '["b","a"]', "- a\n- b", "1. a\n2. b", frozenset("ab")]),
        ("set", [[1, 2], ["2", "1"], [1.0, 2], "2, 1", np.array([2, 1])]),
        ("set", [[], "[]", set()]),
        ("instant", [
            "2024-01-01T10:00Z", "2024-01-01T12:00+02:00", "2024-01-01 10:00:00.000 UTC",
            "2024-01-01t10:00z", "2024-01-01T04:30-0530", "2024-01-01T12:00+02",
            "2024-01-01T10:00\u221200:00", "2023-12-31T24:00-10:00",
            datetime.datetime(2024, 1, 1, 10, tzinfo=datetime.UTC), pd.Timestamp("2024-01-01T10:00Z"),
        ]),
        ("instant", ["2024-01-01T10:00", "2024-01-01 10:00:00", datetime.datetime(2024, 1, 1, 10)]),
        ("instant", ["2024-01-01", " 2024-01-01. ", datetime.date(2024, 1, 1)]),
        ("instant", ["2024-01-01T10:00:00.5Z", "2024-01-01T10:00:00,500Z"]),
        ("json", [{"a": 1, "b": ["X"]}, '{"b": ["x"], "a": 1.0}', '{"b":[" x "],"a":1e0}']),
        ("json", ["[1, 2]", [1, 2.0], (1, 2)]),
        ("json", [True, "true"]),
        ("choice", ["A", "a", " A. ", "(a)", "**A**", "A)"]),
    ],
)  # fmt: skip
def test_one_answer_has_one_spelling(kind: str, alike: list[object]) -> None:
    form = AnswerFormat(kind)  # type: ignore[arg-type]
    spellings = {form.canonical(value) for value in alike}
    assert len(spellings) == 1
    (spelling,) = spellings
    assert spelling is not None
    assert form.canonical(spelling) == spelling
    assert all(form.matches(spelling, value) for value in alike)


@pytest.mark.parametrize(
    ("kind", "different"),
    [
        ("number", ["1000", "100", "-1000", "1000.0000000000000000000000000001", "1e+400", "1e-400"]),
        ("text", ["a b", "ab", "a-b", "a b."]),
        ("set", [["a"], ["a", "b"], [], ["ab"], ["a b"], ["7"], ["007"], ["7.5"]]),
        ("instant", [
            "2024-01-01T10:00Z", "2024-01-01T10:00", "2024-01-01", "2024-01-01T10:00+01:00",
            "2024-01-01T10:00:00.0000001Z", "2024-01-01T10:00:00.0000002Z",
        ]),
        ("json", [
            "[1, 2]", "[2, 1]", '{"a": 1}', '{"A": 1}', '{"a": [1]}', '{"a": null}', '{"a": "1"}', "true",
            "1", "text",
        ]),
        ("choice", ["A", "B", "I"]),
    ],
)  # fmt: skip
def test_different_answers_stay_different(kind: str, different: list[object]) -> None:
    form = AnswerFormat(kind)  # type: ignore[arg-type]
    assert None not in {form.canonical(value) for value in different}
    for one, other in itertools.combinations(different, 2):
        assert form.canonical(one) != form.canonical(other)
        assert not form.matches(form.canonical(one), other)


NOTHING: list[tuple[str, list[object]]] = [
    ("number", [
        "", " ", "abc", "1,00", "1,0000", "0,5", "0,500", "1.000,5", "1,5", "3 400", "10\u00b2", "\u00bd",
        "1/5", "85%", "1e", "e5", ".", "-", "--1", "1-2", "NaN", "inf", "\u0661", "18 ducks", "1,000'000",
        "01,000", "1e99999999999999999999", True, None, [[1]], float("nan"), float("-inf"), Decimal("NaN"),
        pd.NA, np.nan, "1.2.3",
    ]),
    ("text", ["", " \n", "\u200b", None, [], {}, float("nan"), pd.NA]),
    ("set", ["", " ", None, 5, [None], [["a"]], [""], {"a": 1}, '{"a": 1}', [float("nan")]]),
    ("instant", [
        "", "noon", "2024-13-01", "2024-02-30", "2024-01-01T25:00", "2024-01-01T24:01", "2024-01-01T10:60",
        "2024-01-01T10:00:60Z", "2024-01-01T10:00+25:00", "0001-01-01T00:00+05:00",
        "9999-12-31T23:00-05:00", "10:00", None, "2024-01-01T10:00 CET", 1704103200, True, pd.NaT,
        "01/02/2024",
    ]),
    ("json", [None, "null", "", '""', float("nan"), [float("inf")], [object()], "[NaN]", {1: 2, "1": 3}]),
    ("choice", [
        "", "AB", "A cat", "A, B", "A or B", "1", None, True, ["A"], float("nan"), "opening-hours rule",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value"), [(kind, value) for kind, values in NOTHING for value in values])
def test_what_is_no_answer_of_the_kind(kind: str, value: object) -> None:
    form = AnswerFormat(kind)  # type: ignore[arg-type]
    assert form.canonical(value) is None
    if kind != "choice":  # without options the key of a choice may be an option text
        with pytest.raises(PairstatsError, match=r"key must be .*Mend the item table"):
            form.matches("A", value)


def test_letter_case_counts_where_declared() -> None:
    for kind, one, other in (
        ("text", "ab", "Ab"),
        ("set", ["ab"], ["Ab"]),
        ("json", {"k": "ab"}, {"k": "Ab"}),
    ):
        folded, exact = AnswerFormat(kind), AnswerFormat(kind, case_sensitive=True)  # type: ignore[arg-type]
        assert folded.canonical(one) == folded.canonical(other)
        assert exact.canonical(one) != exact.canonical(other)


def test_written_numbers() -> None:
    assert NUMBER.canonical("0.000000000000000000000000000001") == "0.000000000000000000000000000001"
    assert NUMBER.canonical("1e-31") == "1e-31"
    assert NUMBER.canonical("12.50") == "12.5"
    assert NUMBER.canonical("1e30") == "1" + "0" * 30
    assert NUMBER.canonical("120e30") == "12e+31"
    assert NUMBER.canonical(0.1) == "0.1"


def test_units_are_declared() -> None:
    assert AnswerFormat("number", units=("%", "EUR")).canonical("85 %") == "85"
    assert AnswerFormat("number", units=("%", "EUR")).canonical("EUR 85") == "85"
    assert AnswerFormat("number", units=()).canonical("$85") is None


def test_tolerance_is_for_the_key_only() -> None:
    form = AnswerFormat("number", relative_tolerance=0.01)
    assert form.matches("99", "100")
    assert form.matches("101", 100)
    assert not form.matches("98.99", "100")
    assert form.matches("-99", "-100")
    assert not form.matches("0.001", "0")
    assert not form.matches("1E+9999999", "1")
    assert form.canonical("99") != form.canonical("100")
    assert not NUMBER.matches("99.999999999999999999", "100")


def test_unanswered_never_matches() -> None:
    for kind, key in zip(KINDS, ("A", "1", "x", "a", "2024-01-01", "{}"), strict=True):
        assert not AnswerFormat(kind).matches(None, key)
        assert not AnswerFormat(kind).matches("?", key)


def test_keys_of_a_choice() -> None:
    options = {"A": "red cup", "B": "blue cup"}
    assert CHOICE.canonical("blue  CUP", options) == CHOICE.canonical("b", options) == "blue cup"
    assert CHOICE.canonical("green cup", options) is None
    assert CHOICE.matches("blue cup", "B", options)
    assert CHOICE.matches("blue cup", "Blue cup")
    assert CHOICE.matches("B", "b")
    assert not CHOICE.matches("A", "b")
    for answer, gold, known in (("blue cup", "B", None), ("B", "blue cup", None), ("blue cup", "C", options)):
        with pytest.raises(PairstatsError, match="Give the `options`"):
            CHOICE.matches(answer, gold, known)
    with pytest.raises(PairstatsError):
        CHOICE.matches(None, None)


def test_a_label_wins_over_an_option_text_like_it() -> None:
    digits = {"1": "2", "2": "4"}
    assert CHOICE.parse('{"answer": "2"}', digits).answer == "4"
    assert CHOICE.matches("4", "2", digits)


# --- properties ------------------------------------------------------------------------------------

values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.decimals(allow_nan=True)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@quick
@given(value=values, kind=st.sampled_from(KINDS), case=st.booleans())
def test_canonical_is_idempotent(value: object, kind: str, case: bool) -> None:
    form = AnswerFormat(kind, case_sensitive=case)  # type: ignore[arg-type]
    once = form.canonical(value)
    if once is not None:
        assert form.canonical(once) == once
        once.encode()


@quick
@given(
    elements=st.lists(st.text(alphabet='aA b,;"[1-', min_size=1, max_size=4), max_size=5), seed=st.randoms()
)
def test_order_and_repetition_of_a_set_are_irrelevant(elements: list[str], seed: object) -> None:
    shuffled = elements + elements[:2]
    seed.shuffle(shuffled)  # type: ignore[attr-defined]
    assert SET.canonical(elements) == SET.canonical(shuffled) == SET.canonical(json.dumps(shuffled))


@quick
@given(number=st.decimals(allow_nan=False, allow_infinity=False), zeros=st.integers(0, 5))
def test_equal_numbers_have_equal_spellings(number: Decimal, zeros: int) -> None:
    digits = number.as_tuple()
    padded = Decimal((digits.sign, digits.digits + (0,) * zeros, int(digits.exponent) - zeros))
    assert NUMBER.canonical(number) == NUMBER.canonical(padded) == NUMBER.canonical(str(padded))
    assert Decimal(NUMBER.canonical(number) or "nan") == number


@quick
@given(number=st.integers(-(10**12), 10**12))
def test_grouped_numbers(number: int) -> None:
    assert NUMBER.canonical(f"{number:,}") == NUMBER.canonical(f"{number:_}") == str(number)


@quick
@given(
    moment=st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)),
    minutes=st.integers(-14 * 60, 14 * 60),
)
def test_offsets_do_not_matter(moment: datetime.datetime, minutes: int) -> None:
    utc = moment.replace(tzinfo=datetime.UTC)
    local = utc.astimezone(datetime.timezone(datetime.timedelta(minutes=minutes)))
    assert INSTANT.canonical(local.isoformat()) == INSTANT.canonical(utc) == INSTANT.canonical(local)
    assert INSTANT.canonical(moment) != INSTANT.canonical(utc)
