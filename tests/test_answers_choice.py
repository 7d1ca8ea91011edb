"""Multiple choice: which letters and option texts are claimed, and which are only words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairstats.answers import AnswerFormat, Parsed
from pairstats.answers.format import SHORT
from pairstats.errors import PairstatsError

OPTIONS = {"A": "opening-hours rule", "B": "young-children rule", "C": "staff rule"}
HOURS, CHILDREN, STAFF = OPTIONS.values()
JSON = AnswerFormat()
PLAIN = AnswerFormat(field=None)

CLAIMS = [
    "B", "b", " B\n", "(B)", "B.", "B)", "[B]", "**B**", "`B`", '"B"', "**B.**", "B:", "Option B",
    "Answer: B", "answer : b", "**Answer:** B", "**Answer**: (B)", "Answer = B", "The answer is (B).",
    "the answer is B", "The answer is: B", "The correct answer is **B**.", "Final answer: B", r"\boxed{B}",
    r"$\boxed{\text{B}}$", "#### B", "B. young-children rule", "B) young-", "(B) because of the child",
    "B - the child is five", "B because the child is five", "B, since the child is five",
    "B young-children rule", "Answer:\nB", "B. A child may swim only with an adult.",
    "Rule A opens the pool, but the child is five.\n\nB", "A) hours\nB) children\nAnswer: B",
    "Answer: A\nNo, wait.\nAnswer: B", "If the answer is A, nobody swims. B is right.\n**B**",
    "Answer: B\nThe answer is not final.", "The answer is B which is narrower", "```\nB\n```",
    "The wrong answer is A.\nB", "I think the answer is B.",
]  # fmt: skip
NO_CLAIMS = [
    "A child may swim", "a child may swim", "A", "Apple", "B2", "C-section", "A or B", "A/B", "A and B",
    "A, B", "(A) or (B)", "Answer: A or B", "A. opening-hours rule\nB. young-children rule", "A\nB", "D",
    "Answer: D", "Answer: a child", "Answer: B\nFinal answer: none of these", "The answer is A child",
    "The answer is not A.", "I'm not sure.", "A's rule", "The answer is A", r"\boxed{A", r"\boxed{}",
    "If the answer is B, nobody swims", "young", "?", "Both. B", "\u212a", "ａ",
]  # fmt: skip


@pytest.mark.parametrize("text", CLAIMS)
@pytest.mark.parametrize("form", [PLAIN, JSON])
def test_claimed_letters(form: AnswerFormat, text: str) -> None:
    assert form.parse(text, OPTIONS) == Parsed(CHILDREN, text.strip(), None, False, "answered")


@pytest.mark.parametrize("text", [text for text in NO_CLAIMS if text != "A"])
@pytest.mark.parametrize("form", [PLAIN, JSON])
def test_no_letter_is_guessed(form: AnswerFormat, text: str) -> None:
    assert form.parse(text, OPTIONS) == Parsed(None, text, None, False, "unparsed")


@pytest.mark.parametrize(
    "text", ["A", "(A)", "A.", "**A**", "Answer: A", "The answer is (A).", r"\boxed{A}", "a"]
)
@pytest.mark.parametrize("options", [OPTIONS, None])
def test_a_letter_that_is_also_a_word(text: str, options: dict[str, str] | None) -> None:
    assert PLAIN.parse(text, options).answer == (HOURS if options else "A")


@pytest.mark.parametrize(
    "text", ["A cat sat.", "I think so.", "I'm sure", "I, for one", "e.g. this", "A.M. is early"]
)
def test_words_are_no_letters_without_options(text: str) -> None:
    assert PLAIN.parse(text).status == "unparsed"


def test_a_cut_off_option_text_keeps_its_letter() -> None:
    options = {"A": "sparrow", "B": "carrot", "C": "brick"}
    assert PLAIN.parse("A. B", options).answer == "sparrow"


def test_plain_fallback_is_only_for_short_replies_without_braces() -> None:
    assert JSON.parse("B. " + "x" * (SHORT - 3), OPTIONS).answer == CHILDREN
    assert JSON.parse("B. " + "x" * (SHORT - 2), OPTIONS).answer is None
    assert JSON.parse("B. {", OPTIONS).answer is None
    assert AnswerFormat("text").parse("Paris").status == "unparsed"
    assert AnswerFormat("set").parse("a, b").status == "unparsed"
    assert AnswerFormat("number").parse("18").answer == "18"


def test_option_text_in_place_of_the_letter() -> None:
    strict, lenient = AnswerFormat(), AnswerFormat(option_text=True)
    for text in ('{"answer": "Young-children  rule."}', '{"answer": "B. young-children rule"}'):
        assert strict.parse(text, OPTIONS).status == "unparsed"
        assert lenient.parse(text, OPTIONS).answer == CHILDREN
    for text in (
        "young-children rule",
        "Answer: young-children rule.",
        "The answer is **young-children rule**",
    ):
        assert PLAIN.parse(text, OPTIONS).status == "unparsed"
        assert AnswerFormat(field=None, option_text=True).parse(text, OPTIONS).answer == CHILDREN
    assert lenient.parse('{"answer": "A. young-children rule"}', OPTIONS).status == "unparsed"
    assert lenient.parse('{"answer": "young rule"}', OPTIONS).status == "unparsed"


def test_moved_letters_are_no_flips() -> None:
    moved = {"A": CHILDREN, "B": " Opening-Hours\trule", "C": STAFF}
    for letter, other in (("A", "B"), ("B", "A"), ("C", "C")):
        first = JSON.parse(f'{{"answer": "{letter}"}}', OPTIONS)
        second = JSON.parse(f'{{"answer": "{other}"}}', moved)
        assert first.answer == second.answer == JSON.canonical(letter, OPTIONS)
        assert JSON.matches(first.answer, other, moved)
        assert not JSON.matches(first.answer, "B" if other != "B" else "A", moved)


def test_labels_need_not_be_letters() -> None:
    options = {1: "one", 2: "two", 10: "ten"}
    assert JSON.parse('{"answer": 2}', options).answer == "two"
    assert JSON.parse('{"answer": "10"}', options).answer == "ten"
    assert PLAIN.parse("10.", options).answer == "ten"
    assert PLAIN.parse("10.5", options).answer is None
    assert PLAIN.parse("1, 2", options).answer is None


@pytest.mark.parametrize(
    "options",
    [
        {},
        ["A", "B"],
        {"A": "x", "B": " X "},
        {"A": "x", "a": "y"},
        {"A": "x", "B": None},
        {"A": "", "B": "y"},
    ],
)
def test_options_must_be_told_apart(options: object) -> None:
    with pytest.raises(PairstatsError, match=r"must (have|map)"):
        JSON.parse("A", options)  # type: ignore[arg-type]
    with pytest.raises(PairstatsError):
        JSON.canonical("A", options)  # type: ignore[arg-type]


def test_options_that_differ_in_case_only() -> None:
    form = AnswerFormat(case_sensitive=True)
    assert form.parse('{"answer": "a"}', {"A": "Polish", "B": "polish"}).answer == "Polish"


@settings(derandomize=True, deadline=None, max_examples=100)
@given(
    letter=st.sampled_from("ABC"),
    around=st.text(alphabet=" \n\t", max_size=4),
    marks=st.text(alphabet="*_`", max_size=4),
)
def test_every_letter_is_read_alike(letter: str, around: str, marks: str) -> None:
    written = around + marks + letter + marks + around
    assert PLAIN.parse(written, OPTIONS).answer == OPTIONS[letter]
    assert JSON.parse(f'{{"answer": "{letter}"}}{around}', OPTIONS).answer == OPTIONS[letter]
