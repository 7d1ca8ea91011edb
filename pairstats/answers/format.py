"""How a reply is asked for, and so how it is read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Literal

from pairstats.answers import choice, scan, structured
from pairstats.answers.canonical import (
    CURRENCY_SIGNS,
    StatedConfidence,
    canonical_instant,
    canonical_number,
    canonical_text,
    parse_confidence,
    read_number,
    storable,
)
from pairstats.answers.markers import deciding_line, last_claim, without_boxes, without_lead
from pairstats.arguments import checked_value
from pairstats.errors import PairstatsError, one_of

Kind = Literal["choice", "number", "text", "set", "instant", "json"]
Status = Literal["answered", "unparsed", "empty"]

KINDS: tuple[Kind, ...] = ("choice", "number", "text", "set", "instant", "json")
SHORT = 200
"""Characters up to which a reply without the JSON it was asked for is still read as a plain answer."""

# Kinds whose canonical form recognises an answer; any prose would pass for a text or a set.
_RECOGNISABLE = ("choice", "number", "instant")
_SINGLE = ("text", "number", "instant")
"""Kinds of which an answer is one value, so that a list can only be several accepted ones."""
_UNSTATED = StatedConfidence()
_WIDE = Context(prec=60, Emax=999_999, Emin=-999_999, traps=[])


@dataclass(frozen=True, slots=True)
class Parsed:
    """What one reply says.

    Attributes
    ----------
    answer : str or None
        Canonical answer; None unless `status` is "answered".
    raw : str or None
        The answer as written. Of a reply without a readable answer, the text that could not be read.
    confidence : float or None
        The stated number, neither scaled nor clipped; kept even if the answer cannot be read.
    confidence_is_percent : bool
        Whether the confidence was written with a percent sign.
    status : {"answered", "unparsed", "empty"}
        "empty" if there is no text outside closed reasoning blocks.
    """

    answer: str | None
    raw: str | None
    confidence: float | None
    confidence_is_percent: bool
    status: Status


@checked_value
@dataclass(frozen=True, slots=True)
class AnswerFormat:
    r"""The declared form of the answers of a study; the same for every model.

    Parameters
    ----------
    kind : {"choice", "number", "text", "set", "instant", "json"}
        What an answer is, and so when two answers are the same.
    field : str or None
        JSON field that holds the answer; None for plain replies. Without the JSON asked for, a short
        reply free of braces is read as a plain one if `kind` is "choice", "number" or "instant".
    confidence : str or None
        JSON field that holds the stated confidence. Plain replies have none: map a column of the records, or
        a part of the reply, ``confidence=extract("response", r"(?is)(?:.*confidence:? ([\d.]+%?))?")``.
    pattern : str, optional
        Regular expression with one group for plain replies. Its last match is the answer, and it
        replaces the markers that are known without it ("Answer:", "The answer is", ``\boxed{}``,
        ``####``).
    case_sensitive : bool
        Whether letter case distinguishes answers. Labels of options are never distinguished by it.
    option_text : bool
        For "choice": whether a reply may give an option's text in place of its label. Off by default,
        as in a score that asks for the letter; whatever is set holds for every model.
    units : tuple of str
        For "number": marks without meaning before or after a number.
    relative_tolerance : float
        For "number": `matches` accepts ``abs(answer - gold) <= relative_tolerance * abs(gold)``.
        Flips are always judged exactly.

    Raises
    ------
    PairstatsError
        If an argument is not of the form above.

    Examples
    --------
    >>> options = {"A": "red cup", "B": "blue cup"}
    >>> AnswerFormat().parse('{"answer": "b", "confidence": "85%"}', options)
    Parsed(answer='blue cup', raw='b', confidence=85.0, confidence_is_percent=True, status='answered')
    >>> AnswerFormat().parse('{"answer": "A", "confi', options).status
    'unparsed'
    >>> AnswerFormat("number", field=None, pattern=r"A:\s*(.+)").parse("6 * 3\nA: 18.0").answer
    '18'
    """

    kind: Kind = "choice"
    field: str | None = "answer"
    confidence: str | None = "confidence"
    pattern: str | None = None
    case_sensitive: bool = False
    option_text: bool = False
    units: tuple[str, ...] = CURRENCY_SIGNS
    relative_tolerance: float = 0.0

    def __post_init__(self) -> None:
        """Check the arguments once, at the door."""
        one_of("kind", self.kind, KINDS)
        if self.pattern is not None:
            _check_pattern(self.pattern)
        if isinstance(self.units, str) or not all(isinstance(unit, str) and unit for unit in self.units):
            raise PairstatsError(f"`units` must be a tuple of non-empty strings, but got {self.units!r}.")
        if not (0 <= self.relative_tolerance < math.inf):
            raise PairstatsError(
                f"`relative_tolerance` must be finite and at least 0, but got {self.relative_tolerance!r}."
            )

    def parse(self, text: str | None, options: Mapping[Any, Any] | None = None) -> Parsed:
        """Read one reply.

        Parameters
        ----------
        text : str or None
            The reply.
        options : mapping of str to str, optional
            For "choice": the labels of this presentation and their texts.

        Returns
        -------
        Parsed
            No text makes it raise.

        Raises
        ------
        PairstatsError
            If `options` cannot be told apart, or `text` is no text.
        """
        known = self._options(options)
        if text is None or (isinstance(text, str) and not text.strip()):
            return Parsed(None, text, None, False, "empty")
        if not isinstance(text, str):
            raise PairstatsError(
                f"A reply must be text or None, but got {type(text).__name__}. Read its text first."
            )
        said = scan.strip_reasoning(text)
        if said == "":
            return Parsed(None, storable(text), None, False, "empty")
        if said is None:
            return _parsed(None, text, _UNSTATED)
        record = None if self.field is None else scan.find_json(said, self.field)
        if record is not None:
            return self._read_record(record, known)
        return _parsed(*self._read_plain(said, known), _UNSTATED)

    def deciding(self, text: str) -> str:
        r"""Return what of a reply decides how it is read: `parse` finds in it what it finds in the reply.

        Only `Parsed.raw` is another. It is the last line of a plain reply that states its answer there, and
        else the whole reply.

        Examples
        --------
        >>> AnswerFormat(field=None).deciding("The child is five.\nAnswer: B")
        'Answer: B'
        """
        by_markers = self.kind in _RECOGNISABLE and self.field is None and self.pattern is None
        return deciding_line(text) if by_markers else text

    def canonical(self, value: Any, options: Mapping[Any, Any] | None = None) -> str | None:
        """Write an answer or a key in its canonical form; None if it is no answer of this kind.

        Parameters
        ----------
        value : object
            A key as it stands in an item table or a JSON value. For "choice", a label or an option
            text; a label wins over an option text that reads like one.
        options : mapping of str to str, optional
            For "choice": labels become the canonical text of their option, so that moved letters are
            no flips. Without it the upper-cased letter is the answer.

        Returns
        -------
        str or None
            A text that is equal for equal answers, and that is its own canonical form (unless an
            option text reads like the label of another option).

        Examples
        --------
        >>> AnswerFormat().canonical("B", {"A": "red cup", "B": "blue cup"})
        'blue cup'
        >>> AnswerFormat("number").canonical("1,000.0")
        '1000'
        >>> AnswerFormat("instant").canonical("2024-01-01T12:00+02:00")
        '2024-01-01T10:00:00Z'
        """
        return self._canonical(value, self._options(options), option_text=True)

    def matches(self, answer: str | None, gold: Any, options: Mapping[Any, Any] | None = None) -> bool:
        """Say whether a parsed answer is the key.

        Parameters
        ----------
        answer : str or None
            As `parse` returned it; None never matches.
        gold : object
            The key; several that are accepted are a list of them, see `accepted`. With `options`, as the item
            table has it: of the options {"1": "2", "2": "4"} the key "1" has the canonical form "2", which
            would be read as the other label.
        options : mapping of str to str, optional
            For "choice": the options that `parse` was given. Needed if the key is a letter and the
            answer an option text.

        Raises
        ------
        PairstatsError
            If the key is no answer of this kind: every answer would silently be wrong.

        Examples
        --------
        >>> AnswerFormat("set").matches('["a", "b"]', ["B", "A"])
        True
        >>> AnswerFormat("number", relative_tolerance=0.01).matches("3.14", "3.1416")
        True
        >>> AnswerFormat("text").matches("oslo", '["Oslo", "Kristiania"]')
        True
        """
        if self.kind == "choice":
            return self._chooses(answer, gold, options)
        # A text that is written as a list, of keys or as Python does, may be the answer itself.
        written = (gold,) if self.kind in ("text", "json") and isinstance(gold, str) else ()
        found = [
            self._is_key(answer, each) for each in (*self.accepted(gold), *written)
        ]  # each must be readable
        return any(found)

    def accepted(self, gold: Any) -> tuple[Any, ...]:
        """Give the keys of which any is right: for "text", "number" and "instant", those of a list of several.

        Parameters
        ----------
        gold : object
            A key, a list of keys, or such a list as text of JSON or Python, as platforms and frames write it.

        Raises
        ------
        PairstatsError
            For text of a list that NumPy wrote, without commas.

        Examples
        --------
        >>> AnswerFormat("number").accepted('["18", "18 dollars"]'), AnswerFormat("set").accepted('["a", "b"]')
        (('18', '18 dollars'), ('["a", "b"]',))
        """
        if self.kind == "choice":
            return (gold,)
        if self.kind not in _SINGLE:
            return (structured.read_key(gold, self.kind),)
        keys = structured.list_of(gold)
        return tuple(keys) if keys else (gold,)

    def _is_key(self, answer: str | None, gold: Any) -> bool:
        key = self.canonical(gold)
        if key is None:
            raise PairstatsError(
                f"The key must be readable as {self.kind}, but got {gold!r}. "
                "Mend the item table, or leave items without a key unscored."
            )
        given = None if answer is None else self.canonical(answer)
        if given is None or given == key or self.kind != "number":
            return given == key
        return _close(given, key, self.relative_tolerance)

    def _options(self, options: Mapping[Any, Any] | None) -> choice.Options:
        relevant = options if self.kind == "choice" else None
        return choice.Options.of(relevant, case_sensitive=self.case_sensitive)

    def _chooses(self, answer: str | None, gold: Any, options: Mapping[Any, Any] | None) -> bool:
        key = self.canonical(gold, options)
        if options is None and key is None:
            key = self._folded(gold)  # the key may be an option text, like the answer
        # Without options a letter cannot be held against an option text.
        mixed = (
            None not in (key, answer)
            and options is None
            and (len(key or "") == 1) != (len(answer or "") == 1)
        )
        if key is None or mixed:
            raise PairstatsError(
                f"The key must be one of the item's options, but got {gold!r} for the answer {answer!r}. "
                "Give the `options` that the answer was parsed with, or mend the item table."
            )
        return answer is not None and self._folded(answer) == self._folded(key)

    def _folded(self, text: Any) -> str | None:
        return canonical_text(text, case_sensitive=self.case_sensitive)

    def _read_record(self, record: dict[str, Any], known: choice.Options) -> Parsed:
        value = record[scan.key_of(record, str(self.field)) or ""]
        key = None if self.confidence is None else scan.key_of(record, self.confidence)
        stated = _UNSTATED if key is None else parse_confidence(record[key])
        raw = value if isinstance(value, str) else structured.as_text(value)
        return _parsed(self._canonical(value, known, self.option_text), raw, stated)

    def _read_plain(self, said: str, known: choice.Options) -> tuple[str | None, str]:
        """Return the canonical answer of a plain reply, and the text it was read from."""
        if self.pattern is not None:
            found = [match[1] for match in re.finditer(self.pattern, said)]
            if not found or found[-1] is None:
                return None, said
            return self._canonical(found[-1].strip(), known, self.option_text), found[-1].strip()
        if self.field is not None and (
            self.kind not in _RECOGNISABLE or len(said) > SHORT or "{" in without_boxes(said)
        ):
            return None, said
        return self._plain_answer(scan.unfenced(said), known), said

    def _plain_answer(self, text: str, known: choice.Options) -> str | None:
        """Find the answer in a plain reply by the markers that suit its kind."""

        def read(value: Any) -> str | None:
            return self._canonical(value, known, self.option_text)

        if self.kind == "choice":
            label = choice.label_in_text(text, known, option_text=self.option_text)
            return None if label is None else known.answer(label)
        if self.kind == "json":
            return read(structured.json_in(text))
        if self.kind not in _RECOGNISABLE:
            return read(without_lead(text))
        settled, answer = last_claim(text, lambda claim: read(claim.text))
        return answer if settled else read(text)

    def _canonical(self, value: Any, known: choice.Options, option_text: bool) -> str | None:
        if self.kind == "choice":
            label = choice.label_in_value(value, known, option_text=option_text)
            return None if label is None else known.answer(label)
        if self.kind == "number":
            return canonical_number(value, self.units)
        if self.kind == "instant":
            return canonical_instant(value)
        write = {"text": canonical_text, "set": structured.canonical_set, "json": structured.canonical_json}
        return write[self.kind](value, case_sensitive=self.case_sensitive)


def _parsed(answer: str | None, raw: str, stated: StatedConfidence) -> Parsed:
    status: Status = "unparsed" if answer is None else "answered"
    return Parsed(answer, storable(raw), stated.value, stated.is_percent, status)


def _check_pattern(pattern: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise PairstatsError(
            f"`pattern` must be a regular expression, but {pattern!r} is not: {error}. Correct it."
        ) from None
    if groups != 1:
        raise PairstatsError(
            f"`pattern` must have one group, but {pattern!r} has {groups}. "
            "Put (...) around the answer and write other groups as (?:...)."
        )


def _close(given: str, key: str, relative_tolerance: float) -> bool:
    first, second = read_number(given), read_number(key)
    if first is None or second is None or relative_tolerance == 0:
        return False
    allowed = _WIDE.multiply(Decimal(repr(float(relative_tolerance))), abs(second))
    distance = abs(_WIDE.subtract(first, second))
    return bool(distance.is_finite() and allowed.is_finite() and distance <= allowed)
