"""Logs that are tables of rows: where each column of the format lies in a row, and the record made of it.

A platform of this kind is a `RowLog` value: a table of dotted paths, and what is peculiar to it as functions.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pairstats.errors import ReadError
from pairstats.readers import states
from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile, digest
from pairstats.readers.cut import suspected
from pairstats.readers.dotted import lookup
from pairstats.readers.drafts import MISSING, as_text, is_nan
from pairstats.readers.each import id_of, made
from pairstats.readers.jsonlines import as_written, real, whole
from pairstats.readers.outline import Outline, outline
from pairstats.readers.place import Place, place_of
from pairstats.readers.sheets import Row, open_sheet
from pairstats.readers.slots import RIGHT, WRONG
from pairstats.schema import ANSWERED

Scores = dict[str, float | None]
SCORER_ERROR = "scorer_error"
_COUNTS = ("input_tokens", "output_tokens")
_AMOUNTS = ("latency_s", "cost_usd")
_NAMES = ("item", "model")
_AS_THEY_ARE = (*_COUNTS, *_AMOUNTS, "repeat", "confidence")


def first(row: Mapping[str, Any], paths: tuple[str, ...]) -> Any:
    """First value that is there and not null among dotted paths.

    Examples
    --------
    >>> first({"a": {"b": None}, "c": 3}, ("a.b", "c"))
    3
    """
    found = (lookup(row, path) for path in paths)
    return next((value for value in found if value is not MISSING and value is not None), None)


def only(row: Mapping[str, Any], prefix: str) -> Any:
    """Value of the only column whose name starts so; None where there are several or none."""
    names = [name for name in row if name.startswith(prefix)]
    return row[names[0]] if len(names) == 1 else None


def score_of(value: Any) -> float | None:
    """Read a score: a number, a truth value, a number as text, or a word for right or wrong.

    NaN is kept, for the caller to count; anything else is no score.

    Examples
    --------
    >>> score_of("yes"), score_of("0.5"), score_of("good")
    (1.0, 0.5, None)
    """
    if isinstance(value, bool | int | float):
        return value if is_nan(value) else real(value)
    if isinstance(value, str):
        word = value.strip().lower()
        if word in RIGHT | WRONG:
            return float(word in RIGHT)
        try:
            return float(word)
        except ValueError:
            return None
    return None


def content_id(*parts: Any) -> str:
    """Name an item by its content, where the platform names it by its place in a file or not at all.

    Examples
    --------
    >>> content_id({"b": 1, "a": 2}) == content_id({"a": 2, "b": 1})
    True
    """
    return digest(*(json.dumps(part, sort_keys=True, default=str) for part in parts))[:16]


def state(error: Any, reply: Any, scores: Mapping[str, Any], rescored: bool) -> tuple[str, str | None]:
    """Say what became of a call from its error message, its reply and its scores.

    Parameters
    ----------
    error : object
        Message of a failed call; null or blank if there was none.
    reply : object
        The reply; `MISSING` where the platform does not keep it.
    scores : mapping of str to float or None
        A reply whose scores are all missing was not scored: coverage, not a wrong answer.
    rescored : bool
        Whether replies are scored again, so that missing scores do not matter.

    Returns
    -------
    tuple of str, str or None
        Status and reason.
    """
    if error not in (None, "", {}, []):
        return states.broken(states.ANY, as_text(error) or "")
    known = [value for value in scores.values() if value is not None and not is_nan(value)]
    unscored = bool(scores) and not known and not rescored
    if reply is not MISSING and (reply is None or (isinstance(reply, str) and not reply.strip())):
        return ("error", "no_reply") if reply is None and not known else ("empty", None)
    return (
        ("error", SCORER_ERROR)
        if unscored
        else (ANSWERED, suspected(reply if isinstance(reply, str) else None))
    )


def present(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that are known."""
    return {name: value for name, value in fields.items() if value is not None and value is not MISSING}


def reply_or_unknown(value: Any) -> Any:
    """Give a reply, or `MISSING` for null, where null means that the platform does not keep it."""
    return MISSING if value is None else value


Rows = Iterator[tuple[int | str, Row | LeftOut]]
Detect = Callable[[RunFile, Outline], str]


def keys(
    version: str, *sets: tuple[str, ...], kinds: tuple[str, ...] = ("array", "object", "table"),
    evidence: bytes = b"",
) -> Detect:  # fmt: skip
    """Recognize a file by keys of its first object, or by columns.

    Parameters
    ----------
    version : str
        Version that they show.
    *sets : tuple of str
        A file that has all keys of one of them is recognized.
    kinds : tuple of str
        What the file may be, as in `Outline`.
    evidence : bytes
        What the first 64 KiB must hold besides.
    """

    def detect(file: RunFile, seen: Outline) -> str:
        found = seen.kind in kinds and any(set(each) <= set(seen.keys) for each in sets)
        return version if found and evidence in file.head else ""

    return detect


def sheet_rows(file: RunFile, options: ReadOptions) -> Rows:
    """Rows of a table, an array of objects, or an object a line."""
    yield from open_sheet(file, keep_going=options.keep_going).rows()


def _no_scores(row: Row) -> Scores:
    return {}


def _as_it_is(row: Row) -> Row:
    return row


def _no_outcome(row: Row) -> tuple[str, str | None] | None:
    return None


@dataclass(frozen=True, slots=True)
class RowLog:
    """Reader of one platform whose files are rows, or can be laid out as rows.

    Attributes
    ----------
    name : str
    detect : callable
        Version of the format that a file has, empty if it is not of this platform; see `keys`.
    looks_for : str
        What `detect` looks for, in a few words.
    fields : mapping of str to tuple of str
        Column of the format, and the dotted paths where it may lie; the first that holds a value counts.
    rows : callable
        Number (or place) and content of every row.
    content : tuple of str
        Paths whose values name the item where no path of ``item`` holds one.
    question : str
        Path to the question, where ``item`` is only its place in a data set.
    scores : callable
        Scores of a row by name, None where the platform has none.
    errors : tuple of str
        Paths of the message of a failed call.
    outcome : callable
        Status and reason of a row that the platform itself tells; None leaves it to error, reply and scores.
    reply : callable or None
        Reply of a row, `MISSING` where it cannot be known; None takes the field ``response``.
    scale : mapping of str to float
        What a value must be multiplied by: 0.001 for milliseconds.
    first_repeat : int
        Number of the platform's first repeat.
    numbered : bool
        Whether rows of one model and item are repeats, to be numbered in order, as the platform does not.
    prepared : callable
        Row with nested text parsed, as paths need it.
    note : str
        What the ledger must say of every file.
    """

    name: str
    detect: Detect
    looks_for: str
    fields: Mapping[str, tuple[str, ...]]
    rows: Callable[[RunFile, ReadOptions], Rows] = sheet_rows
    content: tuple[str, ...] = ()
    question: str = ""
    scores: Callable[[Row], Scores] = _no_scores
    errors: tuple[str, ...] = ("error",)
    outcome: Callable[[Row], tuple[str, str | None] | None] = _no_outcome
    reply: Callable[[Row], Any] | None = None
    scale: Mapping[str, float] = field(default_factory=dict)
    first_repeat: int = 0
    numbered: bool = False
    prepared: Callable[[Row], Row] = _as_it_is
    note: str = ""

    def recognize(self, file: RunFile) -> Recognized | Declined:
        """Ask `detect`."""
        version = self.detect(file, outline(file))
        return Recognized(version, note=self.note) if version else Declined(f"no {self.looks_for}")

    def read(self, file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
        """Yield one record a row."""
        times: Counter[str] = Counter()
        for place, row in self.rows(file, options):
            if isinstance(row, LeftOut):
                yield row
            elif isinstance(row, dict):
                yield made(
                    f"{file.shown}:{place}", f"a record of {self.name}", options.keep_going,
                    partial(self._record, file, place, row, options, times),
                )  # fmt: skip
            elif options.keep_going:
                yield LeftOut(f"{file.shown}:{place}", "not an object")
            else:
                raise ReadError(
                    f"{file.shown}:{place} must be an object, but is {as_written(row)}. Remove it, or pass "
                    "keep_going=True to leave such records out and count them."
                )

    def _record(
        self, file: RunFile, place: int | str, row: Row, options: ReadOptions, times: Counter[str]
    ) -> Record:
        row = self.prepared(row)
        fields = {name: self._field(name, row) for name in self.fields}
        content = [first(row, (path,)) for path in self.content]
        if fields.get("item") is None and self.content:
            fields["item"] = content_id(*content)
        if self.numbered:
            call = content_id(fields.get("model"), fields["item"], *content, first(row, ("metadata",)))
            fields["repeat"] = times[call]
            times[call] += 1
        kept = any(lookup(row, path) is not MISSING for path in self.fields.get("response", ()))
        reply = self.reply(row) if self.reply else fields["response"] if kept else MISSING
        scores = self.scores(row)
        told = self.outcome(row) or state(first(row, self.errors), reply, scores, options.rescored)
        text = None if reply is MISSING else as_text(reply)
        fields |= {"response": text or None, "status": told[0], "reason": told[1]}
        source, identity = f"{file.shown}:{place}", digest(file.content_sha256, place, row)
        return Record(source, present(fields), scores, row, identity, self._place(fields, row))

    def _place(self, fields: dict[str, Any], row: Row) -> Place | None:
        """Which question this is, where it is named by its place."""
        if not self.question:
            return None
        asked = first(row, (self.question,))
        told = "" if asked is None else content_id(asked)
        return place_of(self.fields["item"][0], fields["item"], fields.get("study"), told, self.question)

    def _field(self, name: str, row: Row) -> Any:
        value = first(row, self.fields[name])
        if name in _NAMES and value is not None:
            id_of(value, name)
        if name not in _AS_THEY_ARE:
            return as_text(value)
        if name == "confidence":
            return value
        number = score_of(value)
        if number is None or is_nan(number):
            return None
        if name == "repeat":
            count = whole(number)
            return None if count is None else count - self.first_repeat
        number *= self.scale.get(name, 1.0)
        return whole(number) if name in _COUNTS else number
