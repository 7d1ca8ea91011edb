"""Where a plain reply marks its final answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple, TypeVar

Resolved = TypeVar("Resolved")

MAX_MARKERS = 500
"""Markers looked at in one reply, from its end."""

_DROW = re.compile("rewsna|eciohc|noitpo|dexob|####")
"""Words of which every marker holds one, in lower case and backwards: they are sought from the end."""
_TAIL = re.compile(r"[*_]{0,2}(?:\s{0,3}[:=]|\s{1,3}is\b)", re.IGNORECASE)
_LEAD_WORD = re.compile(r"\b(?:if|whether|unless|wrong|incorrect|not?|final)\s")
"""With what a marker begins that does not begin with such a word itself, in lower case."""
_LONGEST_LEAD = 40
"""Characters of a marker before such a word: at most 36."""
_REACH = 300  # characters after a marker in which the answer has to stand
# "If the answer is A" and "the wrong answer is A" do not state an answer.
_MARKER = re.compile(
    r"(?P<boxed>\\boxed\s{0,3}\{)"
    r"|^(?P<hashes>\#{4})(?!\#)"
    r"|(?P<denied>\b(?:if|whether|unless|wrong|incorrect|not|no)\s{1,3}(?:the\s{1,3})?(?:(?:correct|right|best)\s{1,3})?)?"
    r"\b(?:(?P<final>final)\s{1,3})?(?:answer|choice|option)\b[*_]{0,2}"
    r"(?:\s{0,3}(?P<colon>[:=])|\s{1,3}is\b\s{0,3}(?P<is_colon>:)?)[*_]{0,2}",
    re.IGNORECASE | re.MULTILINE,
)
# A line that starts so states the answer, unless what stands before it denies it or runs on into it.
_STATEMENT = re.compile(r"\*{0,2}(?:final )?answer\*{0,2} ?:", re.IGNORECASE)
_RUNS_ON = (
    "if", "whether", "unless", "wrong", "incorrect", "not", "no", "the", "correct", "right", "best", "final", "is",
)  # fmt: skip
LONGEST_STATEMENT = 60
"""Characters of a last line that is known by itself: too few for `MAX_MARKERS`."""
_TEXT_MACRO = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\s{0,3}\{([^{}]*)\}")
_LEAD = re.compile(
    r"\s*[*_#]{0,4}\s{0,3}(?:the\s{1,3})?(?:final\s{1,3})?answer[*_]{0,2}(?:\s{1,3}is)?\s{0,3}:[*_]{0,2}",
    re.IGNORECASE,
)


class Claim(NamedTuple):
    """What follows a marker, and whether the marker is explicit enough to forbid any other reading."""

    text: str
    explicit: bool


def claims(text: str) -> Iterator[Claim]:
    """Yield the marked answers of a text from the last to the first."""
    for marker in islice(_markers_from_the_end(text), MAX_MARKERS):
        denied, boxed, *explicit = marker.group("denied", "boxed", "hashes", "final", "colon", "is_colon")
        if denied:
            continue
        tail = text[marker.end() : marker.end() + _REACH]
        if boxed:
            yield Claim(_boxed(tail), explicit=True)
        else:
            yield Claim(tail.lstrip().partition("\n")[0].rstrip(), any(explicit))


def _markers_from_the_end(text: str) -> Iterator[re.Match[str]]:
    """Yield the markers of a text, which are sought only around the words that every one of them holds."""
    if not text.isascii():  # letters of other scripts count as some of these in a pattern without case
        yield from reversed(list(_MARKER.finditer(text)))
        return
    lowered = text.lower()
    end = before = len(text)
    for drow in _DROW.finditer(lowered[::-1]):
        first = end - drow.end()
        if first < before:  # else in the marker that was yielded last
            marker = _marker_around(text, lowered, first, end - drow.start())
            if marker is not None:
                yield marker
                before = marker.start()


def _marker_around(text: str, lowered: str, first: int, end: int) -> re.Match[str] | None:
    """Find the marker that holds a word, which goes from `first` to `end`."""
    starts = [first]
    if lowered[first] == "b":  # of "boxed"
        starts = [first - 1] if first else []
    elif lowered[first] != "#":
        if _TAIL.match(text, end) is None:
            return None
        if text[first - 1 : first].isspace():
            lead = _LEAD_WORD.finditer(lowered, max(0, first - _LONGEST_LEAD), first)
            starts = [*[word.start() for word in lead], first]
    for start in starts:
        marker = _MARKER.match(text, start)
        if marker is not None and marker.end() > first:
            return marker
    return None


def last_claim(text: str, resolve: Callable[[Claim], Resolved | None]) -> tuple[bool, Resolved | None]:
    """Resolve the last marked answer; the first value says whether the markers settle the matter.

    An explicit marker that does not resolve settles it too: nothing before it is final. "The answer
    is ..." in running prose that does not resolve is passed over.
    """
    for claim in claims(text):
        answer = resolve(claim)
        if answer is not None or claim.explicit:
            return True, answer
    return False, None


def deciding_line(text: str) -> str:
    r"""Return the last line of a plain reply where it is read alike whatever stands before it, else the reply.

    Many replies end in one of few lines, which need to be read once.

    Examples
    --------
    >>> deciding_line("The child is five.\nAnswer: B"), deciding_line("It is not the\nAnswer: B")
    ('Answer: B', 'It is not the\nAnswer: B')
    """
    before, _, line = text.rstrip().rpartition("\n")
    if len(line) > LONGEST_STATEMENT or _STATEMENT.match(line) is None or "<" in text or "```" in text:
        return text  # a reasoning block, or a fence, is a matter of the whole reply
    end = before[-20:].rstrip()
    alone = not before or (end and end.isascii() and not end.lower().endswith(_RUNS_ON))
    return line if alone else text


def without_lead(text: str) -> str:
    """Return a reply without an "Answer:" at its very start."""
    lead = _LEAD.match(text)
    return text[lead.end() :].strip() if lead else text


def without_boxes(text: str) -> str:
    r"""Return a text without its ``\boxed{...}`` groups, to see what else it holds."""
    return re.sub(r"\\boxed\s{0,3}\{[^{}]*(?:\{[^{}]*\})?[^{}]*\}", "", text)


def _boxed(tail: str) -> str:
    """Return the content up to the brace that closes the box; empty if none does."""
    depth = 1
    for position, character in enumerate(tail):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth == 0:
            return _TEXT_MACRO.sub(r"\1", tail[:position]).strip()
    return ""
