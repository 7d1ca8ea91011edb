"""Reading replies: every rule of the parser by example, and properties on arbitrary text."""

from __future__ import annotations

import dataclasses
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pairstats.answers import (
    AnswerFormat,
    Parsed,
    StatedConfidence,
    find_json,
    parse_confidence,
    strip_reasoning,
)
from pairstats.answers.format import KINDS
from pairstats.errors import PairstatsError

OPTIONS = {"A": "opening-hours rule", "B": "young-children rule", "C": "staff rule"}
HOURS, CHILDREN, STAFF = OPTIONS.values()
JSON = AnswerFormat()
PLAIN = AnswerFormat(field=None)
quick = settings(derandomize=True, deadline=None, max_examples=150)


# --- reasoning -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A", "A"),
        ("<think>B?</think>A", "A"),
        ("<THINK>B?</Think> A ", "A"),
        ("<thinking>\nB\n</thinking>\n\nA", "A"),
        ("<reasoning>B</reasoning>A", "A"),
        ("B? no.\n</think>\nA", "A"),
        ("x<think>B</think>y<think>C</think>z", "x y z"),
        ("<think>a <think> tag</think>A", "A"),
        ("<think>a<think>b</think>c</think>A", "A"),
        ("<think>B</think>", ""),
        ("<think>B", None),
        ("A <think>or B", None),
        ("</think><think>B", None),
        ("<thinker>A</thinker>", "<thinker>A</thinker>"),
    ],
)
def test_reasoning_blocks_are_stripped(text: str, said: str | None) -> None:
    assert strip_reasoning(text) == said


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (None, "empty"),
        ("", "empty"),
        (" \n\t", "empty"),
        ("<think>It is A.</think>\n ", "empty"),
        ("It is A.</think>", "empty"),
        ("<think>It is A.", "unparsed"),
        ("A <think>", "unparsed"),
        ("I cannot say.", "unparsed"),
    ],
)
@pytest.mark.parametrize("form", [JSON, PLAIN])
def test_status_without_an_answer(form: AnswerFormat, text: str | None, status: str) -> None:
    assert form.parse(text, OPTIONS) == Parsed(None, text, None, False, status)  # type: ignore[arg-type]


def test_json_inside_reasoning_is_not_the_answer() -> None:
    text = '<think>{"answer": "A"}</think>```json\n{"answer": "B", "confidence": 70}\n```'
    assert JSON.parse(text, OPTIONS) == Parsed(CHILDREN, "B", 70.0, False, "answered")


# --- JSON ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ('{"answer": "A"}', "A"),
        ('```json\n{"answer": "A"}\n```', "A"),
        ('```\n{"answer": "A"}\n```\nbecause', "A"),
        ('Here it is: {"answer": "A"} as asked.', "A"),
        ('Rules {x} and {y}: {"answer": "A"}', "A"),
        ('{"why": "{B} or }", "answer": "A"}', "A"),
        ('{"why": "she said \\"{\\" and left", "answer": "A"}', "A"),
        ('{"why": {"rule": {"n": 1}}, "answer": "A"}', "A"),
        ('{"why": "line\nbreak", "answer": "A"}', "A"),
        ('{"note": 1} {"answer": "A"} {"answer": "B"}', "A"),
        ('{"answer": "B", "answer": "A"}', "A"),
        ('{"Answer ": "A"}', "A"),
        ('{"result": {"answer": "A"}}', "A"),
        ('{"answer": <letter>} means {"answer": "A"}', "A"),
        ('"{\\"answer\\": \\"A\\"}"', "A"),
        ('{"answer": "A", "confi', None),
        ('{"answer": "A", "confidence": 0-100}', None),
        ('{"answer": "A", "confidence": 10]', None),
        ("{'answer': 'A'}", None),
        ('{"tried": [{"answer": "A"}], "answer": "B", "confi', None),
        ('{"tried": [{"answer": "A"}, {"answer": "B"}]}', None),
        ('{"answer": null}', None),
        ('{"answer": null} {"answer": "A"}', None),
        ('{"answer": true}', None),
        ('{"answer": ["A"]}', None),
        ('{"answer": "A, B"}', None),
        ('{"answer": "A or B"}', None),
        ('{"answer": "D"}', None),
        ('{"answer": ""}', None),
        ('{"answer": NaN}', None),
        ('{"reply": "A"}', None),
    ],
)
def test_json_replies(text: str, letter: str | None) -> None:
    parsed = JSON.parse(text, OPTIONS)
    assert parsed.answer == (OPTIONS[letter] if letter else None)
    assert parsed.status == ("answered" if letter else "unparsed")
    assert parsed.raw is not None


def test_unparsed_replies_keep_their_text_and_confidence() -> None:
    broken = '{"answer": "A", "confi'
    assert JSON.parse(broken, OPTIONS) == Parsed(None, broken, None, False, "unparsed")
    assert JSON.parse('{"answer": "D", "confidence": "80%"}', OPTIONS) == Parsed(
        None, "D", 80.0, True, "unparsed"
    )
    assert JSON.parse('{"answer": [1, 0.5]}', OPTIONS).raw == "[1, 0.5]"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("field", ["answer", None])
def test_deep_nesting_and_huge_numbers_never_crash(kind: str, field: str | None) -> None:
    form = AnswerFormat(kind, field=field)  # type: ignore[arg-type]
    deep = '{"answer": ' + "[" * 100_000 + "]" * 100_000 + "}"
    broken = '{"answer": ' + '{"answer":' * 50_000
    assert form.parse(broken).answer is None or kind in ("text", "set")
    assert form.parse(deep).answer is None or kind == "text" or (kind == "set" and field is None)
    assert form.parse('{"answer": ' + "7" * 10_000 + "}").status in ("answered", "unparsed")
    assert form.parse('{"answer": 1e99999999999999999999}').answer is None or field is None


def test_huge_numbers_are_exact() -> None:
    many = "7" * 10_000
    assert AnswerFormat("number").parse('{"answer": ' + many + "}").answer == many
    assert AnswerFormat("number").parse('{"answer": 1e400}').answer == "1e+400"


@pytest.mark.parametrize(
    "unit", [
        "{", '{"', '{"a":', '{"a":[', '{"\\"', '{"a":1,', '{"a":1} ', "{ ", "answer: ", "the answer is ",
        "\\boxed{", "<think>", "</think>", "```\n", "```", "1", ",000", "A or ", "A\n", "- ", "final ",
    ],
)  # fmt: skip
def test_hostile_text_takes_linear_time(unit: str) -> None:
    def seconds(copies: int) -> float:
        start = time.process_time()
        for kind in KINDS:
            AnswerFormat(kind, field=None).parse(unit * copies)
            AnswerFormat(kind).parse(unit * copies)
        return time.process_time() - start

    # A quadratic scan of this length takes minutes; the bound leaves room for a slow machine.
    assert seconds(30_000) < 20


def test_find_json() -> None:
    assert find_json('{"a": 1}{"b": 2}') == {"a": 1}
    assert find_json('{"a": 1}{"b": 2}', "b") == {"b": 2}
    assert find_json('{"B": 1, "b": 2}', "b") == {"B": 1, "b": 2}
    assert find_json('{"B": 1, " b": 2}', "b") is None
    assert find_json("no object {at all}") is None
    assert find_json("") is None


# --- confidence ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "number", "percent"),
    [
        (85, 85.0, False),
        (0.85, 0.85, False),
        ("0.85", 0.85, False),
        ("85", 85.0, False),
        ("85%", 85.0, True),
        (" 85.5 % ", 85.5, True),
        ("**85%**", 85.0, True),
        (125, 125.0, False),
        (-1, -1.0, False),
        (0, 0.0, False),
        ("eighty", None, False),
        ("85-90%", None, False),
        ("0,85", None, False),
        ("", None, False),
        ("%", None, False),
        (True, None, False),
        (False, None, False),
        (None, None, False),
        (float("nan"), None, False),
        (float("inf"), None, False),
        ("NaN", None, False),
        ("Infinity", None, False),
        ("1e400", None, False),
        ([85], None, False),
        ({"value": 85}, None, False),
    ],
)
def test_confidence(value: object, number: float | None, percent: bool) -> None:
    assert parse_confidence(value) == StatedConfidence(number, percent)


@pytest.mark.parametrize(
    ("written", "number", "percent"),
    [("85", 85.0, False), ('"85%"', 85.0, True), ("0.5", 0.5, False), ("1E2", 100.0, False)]
    + [(word, None, False) for word in ("NaN", "Infinity", "-Infinity", "true", "null", '"high"', "1e999")],
)
def test_confidence_in_a_reply(written: str, number: float | None, percent: bool) -> None:
    parsed = JSON.parse(f'{{"answer": "A", "confidence": {written}}}', OPTIONS)
    assert parsed == Parsed(HOURS, "A", number, percent, "answered")


def test_confidence_field_is_declared() -> None:
    text = '{"answer": "A", "confidence": 1, "p": 0.7}'
    assert AnswerFormat(confidence="p").parse(text, OPTIONS).confidence == 0.7
    assert AnswerFormat(confidence=None).parse(text, OPTIONS).confidence is None


# --- other kinds in plain text ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("18", "18"),
        ("$1,018.50", "1018.5"),
        ("6 * 3 = 18\n#### 18", "18"),
        ("so 18\nAnswer: 18.", "18"),
        ("The answer is 17. No:\nThe answer is 18.", "18"),
        (r"Hence \boxed{18}.", "18"),
        ("There are 18 ducks", None),
        ("Answer: 18 or 19", None),
        ("Answer: 17\nFinal answer: unknown", None),
        ("#### 18\n#### ", None),
    ],
)
def test_plain_numbers(text: str, answer: str | None) -> None:
    assert AnswerFormat("number", field=None).parse(text).answer == answer


def test_pattern_takes_its_last_match() -> None:
    form = AnswerFormat("number", field=None, pattern=r"A:\s*(.+)")
    assert form.parse("A: 17\nA: 18") == Parsed("18", "18", None, False, "answered")
    assert form.parse("A: 18 ducks") == Parsed(None, "18 ducks", None, False, "unparsed")
    assert form.parse("#### 18").status == "unparsed"
    assert AnswerFormat(pattern=r"choose (\w)").parse("x" * 500 + " I choose b", OPTIONS).answer == CHILDREN
    assert AnswerFormat(field=None, pattern=r"x(y)?").parse("x").status == "unparsed"


def test_plain_replies_of_other_kinds() -> None:
    assert AnswerFormat("text", field=None).parse("Answer:  New\nYork ").answer == "new york"
    assert AnswerFormat("set", field=None).parse("Answer:\n- b\n- a\n").answer == '["a", "b"]'
    assert AnswerFormat("set", field=None).parse('```json\n["b", "a"]\n```').answer == '["a", "b"]'
    assert AnswerFormat("set", field=None).parse('{"answer": ["a"]}').status == "unparsed"
    assert AnswerFormat("instant", field=None).parse("Answer: 2024-01-01").answer == "2024-01-01"
    assert AnswerFormat("json", field=None).parse('So: {"b": 1.0, "a": "X"}').answer == '{"a": "x", "b": 1}'
    assert AnswerFormat("json", field=None).parse('[{"a": 1}, {"a": 2}]').answer == '[{"a": 1}, {"a": 2}]'
    assert AnswerFormat("json", field=None).parse("nothing here").status == "unparsed"


def test_json_replies_of_other_kinds() -> None:
    assert AnswerFormat("set").parse('{"answer": ["T2", "t1", "T1"]}').answer == '["t1", "t2"]'
    assert AnswerFormat("set").parse('{"answer": []}').answer == "[]"
    assert AnswerFormat("text").parse('{"answer": "  New  York"}').raw == "  New  York"
    assert AnswerFormat("number").parse('{"answer": 0.50}') == Parsed("0.5", "0.50", None, False, "answered")
    assert AnswerFormat("json").parse('{"answer": {"b": 1e3, "a": []}}').answer == '{"a": [], "b": 1000}'


# --- declarations ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "letter"},
        {"pattern": "("},
        {"pattern": "A"},
        {"pattern": "(a)(b)"},
        {"units": "$"},
        {"units": ("",)},
    ]
    + [{"relative_tolerance": value} for value in (-0.1, float("nan"), float("inf"))],
)
def test_wrong_declarations(wrong: dict[str, object]) -> None:
    with pytest.raises(PairstatsError, match="must"):
        AnswerFormat(**wrong)  # type: ignore[arg-type]


def test_values_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        JSON.kind = "text"  # type: ignore[misc]
    assert not hasattr(JSON, "__dict__")
    assert AnswerFormat() == JSON
    with pytest.raises(PairstatsError, match="text or None"):
        JSON.parse(["A"])  # type: ignore[arg-type]


# --- properties ------------------------------------------------------------------------------------

pieces = st.sampled_from(
    [
        "<think>", "</think>", "{", "}", '"answer"', ":", '"A"', '"', "\\", "[", "]", ",", "A", "B",
        "answer", " is ", "Answer:", "\n", "```", r"\boxed{", "1e", "-", ".", "'", "a child", "####",
        "null", "NaN", "\ud800", "\u0130", "\u212a",
    ]
)  # fmt: skip
replies = st.one_of(st.text(max_size=60), st.lists(pieces, max_size=25).map("".join))


@quick
@given(
    text=replies, kind=st.sampled_from(KINDS), field=st.sampled_from(["answer", None]), lenient=st.booleans()
)
@example(text='{"answer": "\\ud800"}', kind="text", field="answer", lenient=True)
def test_no_text_makes_it_raise(text: str, kind: str, field: str | None, lenient: bool) -> None:
    form = AnswerFormat(kind, field=field, option_text=lenient)  # type: ignore[arg-type]
    for options in (None, OPTIONS):
        parsed = form.parse(text, options)
        assert (parsed.answer is not None) == (parsed.status == "answered")
        assert parsed.raw is not None
        (parsed.raw + (parsed.answer or "")).encode()  # can be stored
        if parsed.answer is not None:
            assert form.canonical(parsed.answer, options) == parsed.answer
            assert form.matches(parsed.answer, parsed.answer, options)


@quick
@given(text=replies)
def test_reasoning_never_survives(text: str) -> None:
    said = strip_reasoning(text)
    if said is not None:
        assert strip_reasoning(said) == said
