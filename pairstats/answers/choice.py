"""Multiple choice: which option a reply names, by letter or by the option's text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_uppercase
from typing import Any

from pairstats.answers.canonical import canonical_text, native
from pairstats.answers.markers import Claim, last_claim
from pairstats.errors import PairstatsError, listed

_OPEN = r"[\s(\[{*_`\"'$#>]{0,9}(?:option\s{1,3}|choice\s{1,3})?[\s(\[{*_`\"'$]{0,9}"
_CLOSE = r"[*_`\"'\])}$]{0,9}"
_ENDS = r"(?![^\W_])"  # no letter or digit follows; an underscore is emphasis
_BARE_TAIL = re.compile(rf"{_CLOSE}[.,:;!]?{_CLOSE}\s*$")
_MARK_TAIL = re.compile(r"[*_`\"'\])}.:]{1,9}(?=\s)|\s{1,3}[-–—](?=\s)")
_REASON_TAIL = re.compile(r",?\s{1,3}(?:because|since|as)\b", re.IGNORECASE)
_SEPARATOR = re.compile(rf"^{_CLOSE}[.:\-]?{_CLOSE}\s*")
_ARTICLES = ("A", "I")
"""Labels that are English words: before another word they are read as that word."""


@dataclass(frozen=True, slots=True)
class Options:
    """The labels of an item and, where known, their canonical texts.

    Attributes
    ----------
    texts : dict of str to (str or None)
        Upper-cased label to canonical option text; all None if the item's options are unknown.
    case_sensitive : bool
        Whether letter case counts in option texts.
    first, joined : re.Pattern
        What fits a label at a start, and a second label that is joined to it.
    """

    texts: dict[str, str | None]
    case_sensitive: bool
    first: re.Pattern[str]
    joined: re.Pattern[str]

    @classmethod
    def of(cls, options: Mapping[Any, Any] | None, *, case_sensitive: bool) -> Options:
        """Check an item's options; raises `PairstatsError` if labels or texts cannot be told apart."""
        if options is None:
            return _letters(case_sensitive)
        if isinstance(options, dict) and {*map(type, options.keys()), *map(type, options.values())} == {str}:
            return _of_texts(tuple(options.items()), case_sensitive)
        return cls._checked(options, case_sensitive)

    @classmethod
    def _checked(cls, options: Mapping[Any, Any], case_sensitive: bool) -> Options:
        if not isinstance(options, Mapping) or not options:
            raise PairstatsError(
                f"`options` must map labels to option texts, but got {options!r}. "
                'Write {"A": "first text", ...}, or leave it out to compare letters.'
            )
        texts = {
            str(label).strip().upper(): canonical_text(text, case_sensitive=case_sensitive)
            for label, text in options.items()
        }
        blank = [label for label, text in texts.items() if text is None or not label]
        if blank or len(texts) < len(options) or len(set(texts.values())) < len(texts):
            raise PairstatsError(
                f"Options must have different labels and texts, but got {listed(options.items(), 9)}. "
                "Mend the item, set case_sensitive=True if only letter case differs, "
                "or leave `options` out to compare letters."
            )
        return cls(texts, case_sensitive, *_patterns(tuple(texts)))

    def label(self, written: str) -> str | None:
        """Return the label that this is up to letter case; None for look-alikes such as a Kelvin sign."""
        label = written.upper()
        return label if label in self.texts else None

    def answer(self, label: str) -> str:
        """Return what a label stands for: its option text, or itself where texts are unknown."""
        return self.texts[label] or label

    def label_of_text(self, text: str) -> str | None:
        """Return the label whose option text this is, letter for letter or without outer marks."""
        for candidate in (text, text.strip(" \t\r\n*_`\"'").rstrip(". ")):
            wanted = canonical_text(candidate, case_sensitive=self.case_sensitive)
            for label, known in self.texts.items():
                if wanted is not None and known == wanted:
                    return label
        return None


@lru_cache(maxsize=2)
def _letters(case_sensitive: bool) -> Options:
    return Options(dict.fromkeys(ascii_uppercase), case_sensitive, *_patterns(tuple(ascii_uppercase)))


@lru_cache(maxsize=1024)
def _of_texts(options: tuple[tuple[str, str], ...], case_sensitive: bool) -> Options:
    """Check the options of an item once, however many replies there are to it."""
    return Options._checked(dict(options), case_sensitive)


@lru_cache(maxsize=256)
def _patterns(labels: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a label at a start and of a second label that is joined to it."""
    any_label = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    first = re.compile(rf"{_OPEN}(?P<label>{any_label}){_ENDS}", re.IGNORECASE)
    # A second lower-case "a" before a word is an article: "(B) and a cat" names one option. After a full
    # stop nothing is joined: "A. B" may be the cut beginning of "A. Brick".
    joined = re.compile(
        rf"{_CLOSE}\s*(?:[,/&|+]|\b(?:or|and)\b)\s*{_OPEN}(?P<label>{any_label}){_ENDS}(?!(?-i:(?<=[ai]))\s+\w)",
        re.IGNORECASE,
    )
    return first, joined


def leading_label(text: str, options: Options, *, marked: bool = False) -> str | None:
    """Return the label that a line starts with and claims; None if it is a word or one of several.

    `marked` says that the line follows "the answer is": there a label may run on into the sentence
    unless it is also an English word.
    """
    if len(text) == 1 and text.isascii() and text.isalnum():
        return options.label(text)
    start = options.first.match(text)
    label = None if start is None else options.label(start["label"])
    if start is None or label is None:
        return None
    rest = text[start.end() :]
    second = options.joined.match(rest)
    if second is not None and options.label(second["label"]) != label:
        return None
    if any(tail.match(rest) for tail in (_BARE_TAIL, _MARK_TAIL, _REASON_TAIL)):
        return label
    runs_on = rest[:1].isspace() or rest[:1] in ",;"
    if runs_on and options.texts[label] is not None and options.label_of_text(rest) == label:
        return label
    return label if marked and runs_on and label not in _ARTICLES else None


def label_in_value(value: Any, options: Options, *, option_text: bool) -> str | None:
    """Return the label that a single value names: a JSON field, a key, the group of a pattern.

    A label wins over an option text that reads like one.
    """
    value = native(value)
    if isinstance(value, bool):
        return None
    text = value if isinstance(value, str) else canonical_text(value, case_sensitive=True)
    if text is None:
        return None
    start = options.first.match(text)
    label = None if start is None else options.label(start["label"])
    if start is not None and label is not None:
        rest = text[start.end() :]
        named = _SEPARATOR.sub("", rest, count=1)
        if _BARE_TAIL.match(rest) or (option_text and options.label_of_text(named) == label):
            return label
    return options.label_of_text(text) if option_text else None


def label_in_text(text: str, options: Options, *, option_text: bool) -> str | None:
    """Return the label that a plain reply claims; None if it claims none or several.

    The last explicit marker decides. Without one, the reply has to start with a label or to end with
    a line that is only a label, and no other line may start with a different one. "The answer is A"
    without anything to close it is not read: cut-off replies end so before a noun.
    """
    settled, label = last_claim(text, lambda claim: _claimed(claim, options, option_text))
    if settled:
        return label
    lines = [line for line in text.splitlines() if line.strip()]
    if not option_text and not any(leading_label(line, options) for line in (lines[:1] + lines[-1:])):
        return None  # of prose no line needs to be looked at
    starts = [leading_label(line, options) for line in lines]
    if len({start for start in starts if start}) == 1:
        if starts[0]:
            return starts[0]
        if starts[-1] and label_in_value(lines[-1], options, option_text=False):
            return starts[-1]
        return None
    return options.label_of_text(text) if option_text else None


def _claimed(claim: Claim, options: Options, option_text: bool) -> str | None:
    label = leading_label(claim.text, options, marked=True)
    if label in _ARTICLES and not claim.explicit and claim.text.upper() == label:
        return None
    if label is None and option_text:
        label = options.label_of_text(claim.text)
    return label
