"""Short cuts of the parser: what is looked at less gives what looking at all of it gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pairstats.answers import AnswerFormat
from pairstats.answers.canonical import canonical_text
from pairstats.answers.choice import Options, leading_label
from pairstats.errors import PairstatsError

OPTIONS = {"A": "red cup", "B": "blue cup"}
PLAIN = AnswerFormat(field=None)
WORDS = st.sampled_from(
    ["answer", "Answer:", "ANSWER :", "**Answer:**", "**Answer**:", "_Answer:_", "Final answer:", "final",
     "Final", "option", "choice:", "choice is", "if", "Unless", "whether", "not", "no", "the", "wrong", "correct",
     "best", "is", "unle\u017f\u017f", "an\u017fwer:", "\u0130", "\u212a", "\\boxed", "{", "\\boxed{B}", "####",
     "#### 1", "*", "**", "_", ":", "=", ".", "A", "(B)", "B.", "18", "2024-01-01", "A or B", "none", "<think>",
     "</think>", "```", "x" * 50, "red cup"]
)  # fmt: skip
GAPS = st.sampled_from(["", " ", "  ", "\n", "\n\n", " \n", "\r\n", "\t", "\u00a0", "\u2028", "\x1f"])
REPLIES = st.lists(st.tuples(WORDS, GAPS), max_size=10).map(
    lambda parts: "".join(word + gap for word, gap in parts)
)
STATED = st.sampled_from(
    ["\nAnswer: B", "\n**Answer:** A", "\nFinal answer: 18 ", "\nanswer: A or B", "Answer:"]
)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("The child is five.\nAnswer: B", "Answer: B"),
        ("So B it is: b\r\n**Final answer:** B \n", "**Final answer:** B"),
        ("Answer: A\nNo.\nAnswer: B because A is not", "Answer: B because A is not"),
        ("Answer: B\n", "Answer: B"),
    ],
)
def test_the_last_line_decides(text: str, part: str) -> None:
    assert PLAIN.deciding(text) == part


@pytest.mark.parametrize(
    "text",
    ["It is not the\nAnswer: B", "Unless\n\nAnswer: B", "The answer is\n**Answer:** B", "final\nanswer: B",
     "unle\u017f\u017f\nAnswer: B", "<think>\nAnswer: B", "```\nAnswer: B\n```", "```\nx\nAnswer: B",
     "So the answer: B", "x\n Answer: B", "x\nThe answer is B", "x\nAnswer: " + "B" * 60,
     "not" + " " * 30 + "\nAnswer: B", "B.\n_Answer:_ A", "B.\nAnswer_: A", "B.\nAnswer is open", "", "B"],
)  # fmt: skip
def test_else_the_whole_reply_decides(text: str) -> None:
    assert PLAIN.deciding(text) == text


@pytest.mark.parametrize(
    "form",
    [AnswerFormat(), AnswerFormat(field=None, pattern="(.)$"), AnswerFormat("text", field=None),
     AnswerFormat("set", field=None), AnswerFormat("json", field=None)],
)  # fmt: skip
def test_only_marked_answers_are_decided_by_a_line(form: AnswerFormat) -> None:
    assert form.deciding("x.\nAnswer: B") == "x.\nAnswer: B"


@settings(max_examples=600)
@given(
    text=REPLIES, end=st.one_of(st.just(""), STATED), kind=st.sampled_from(["choice", "number", "instant"])
)
@example(text="The wrong", end="\nAnswer: B", kind="choice")
def test_what_decides_is_read_as_the_reply_is(text: str, end: str, kind: Any) -> None:
    for form in (AnswerFormat(kind, field=None), AnswerFormat(kind, field=None, option_text=True)):
        for options in (None, OPTIONS):
            whole, part = (form.parse(each, options) for each in (text + end, form.deciding(text + end)))
            assert replace(whole, raw="") == replace(part, raw="")


@given(text=st.text(st.characters(max_codepoint=127)), case_sensitive=st.booleans())
def test_plain_letters_have_no_other_form(text: str, case_sensitive: bool) -> None:
    """A character without width is left out, but sends the text the long way."""
    long_way = canonical_text(text + "\u200b", case_sensitive=case_sensitive)
    assert canonical_text(text, case_sensitive=case_sensitive) == long_way


@pytest.mark.parametrize("options", [None, {"A": "x", "k": "y", "1": "z", "\u212a1": "w", "10": "v"}])
def test_a_letter_by_itself_is_a_label_or_nothing(options: dict[str, str] | None) -> None:
    known = Options.of(options, case_sensitive=False)
    for letter in map(chr, range(33, 127)):
        assert leading_label(letter, known) == leading_label(letter + " ", known), letter


def test_options_that_are_equal_and_not_the_same_are_told_apart() -> None:
    form = AnswerFormat(field=None)
    for first, answer in (("1", "1"), (True, "true"), (1, "1"), (1.5, "1.5"), ("true", "true")):
        assert form.parse("A", {"A": first, "B": "x"}).answer == answer
    for _ in range(2):  # what is wrong is told each time
        with pytest.raises(PairstatsError, match="different labels and texts"):
            form.parse("A", {"A": "x", "B": "X"})
    assert AnswerFormat(field=None, case_sensitive=True).parse("B", {"A": "x", "B": "X"}).answer == "X"


@pytest.mark.parametrize(
    ("text", "letter"),
    [("B.\nbecause\nof this", "B"), ("because\nof this\nB", "B"), ("because\nB.\nof this", None),
     ("B.\nA.\nB.", None), ("because\nA.\nB", None)],
)  # fmt: skip
def test_lines_in_the_middle_only_contradict(text: str, letter: str | None) -> None:
    assert PLAIN.parse(text).answer == letter
    assert AnswerFormat(field=None, option_text=True).parse(text, {"A": "x", "B": "b"}).answer == (
        letter and letter.lower()
    )
