"""Records on their way to rows, and the account of every one of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pairstats import invariants, schema
from pairstats.errors import ReadError
from pairstats.readers.base import RunFile
from pairstats.readers.place import Place
from pairstats.records.notes import TWO_SCALES, plain
from pairstats.records.table import LEDGER_COLUMNS, no_left_out
from pairstats.spelling import of_number

FEW = 2
"""Confidences on a second scale below which they are taken for slips."""
MOST_REASONS = 8
"""Reasons that a line of the ledger names; the account of the records left out has all."""


class Word(float):
    """A score that a word says, such as ``yes`` in a cell; the word is kept, so that the ledger tells it.

    Examples
    --------
    >>> Word(1.0, "yes") + 1, Word(1.0, "yes").word
    (2.0, 'yes')
    """

    word: str

    def __new__(cls, value: float, word: str) -> Word:
        """Keep a word with its value."""
        made = super().__new__(cls, value)
        made.word = word
        return made

    def __getnewargs__(self) -> tuple[float, str]:  # type: ignore[override]
        return float(self), self.word


class Missing(Enum):
    """A path that is not in a record, as opposed to one that holds null."""

    MISSING = "missing"


MISSING = Missing.MISSING


@dataclass(slots=True)
class Draft:
    """A record while its columns are filled in.

    Attributes
    ----------
    file : int
        Position of its file in the ledger.
    source, identity : str
        As in `Record`.
    fields : dict
        Columns known so far.
    scores : dict of str to float or None
    found : dict
        What each path that a mapping needs gave in the raw record; paths that are not there are left out.
    place : Place or None
        As in `Record`, while the item is the platform's own.
    when : float or None
    tried : tuple of str
        As in `Record`.
    """

    file: int
    source: str
    identity: str
    fields: dict[str, Any]
    scores: dict[str, Any]
    found: dict[str, Any]
    place: Place | None = None
    when: float | None = None
    tried: tuple[str, ...] = ()

    @property
    def ran(self) -> bool:
        """Whether a model was called at all."""
        return bool(self.fields.get("status") != "absent")


@dataclass(slots=True)
class Tally:
    """What became of the records of one file."""

    file: str
    path: Path | None = None
    sha256: str = ""
    reader: str = ""
    version: str = ""
    records: int = 0
    merged: int = 0
    nan_to_null: int = 0
    confidence_out_of_range: int = 0
    score_ignored_on_error: int = 0
    left_out: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    primary: str = ""
    """Score by which the platform judges, where it says one; see `Recognized`."""
    renamed: dict[str, str] = field(default_factory=dict)
    """Models that the file names, and what the user calls them."""
    stated: dict[float, list[int]] = field(default_factory=dict)
    """By declared scale, how many confidences were stated between 0 and 1, above 1, at the scale, and beyond it."""
    words: dict[str, float] = field(default_factory=dict)
    """Words that were read as scores."""
    paths: list[str] = field(default_factory=list)
    """Dotted paths of the file's first record, for error messages."""

    content: str = ""
    """Checksum after decompression, by which copies of a file are known; found where rows share a key."""

    def content_sha256(self) -> str:
        """Checksum of the content, found once."""
        if not self.content:
            file = None if self.path is None else RunFile(self.path, self.file)
            self.content = file.content_sha256 if file is not None and file.packed else self.sha256
        return self.content

    def count_stated(self, scale: float, *counts: int) -> None:
        """Count confidences as they were stated."""
        before = self.stated.get(scale, [0] * len(counts))
        self.stated[scale] = [old + new for old, new in zip(before, counts, strict=True)]

    @property
    def told(self) -> list[str]:
        """Notes, words read as scores, and whether confidences were stated on two scales under one."""
        called = [
            f"its own name of the model, {own!r}, gave way to {new!r}" for own, new in self.renamed.items()
        ]
        read = ", ".join(f"{word!r} as {value:g}" for word, value in sorted(self.words.items()))
        words = [f"scores that are words: {read}"] if read else []
        scales = (_two_scales(scale, *counts) for scale, counts in self.stated.items())
        return [*self.notes, *called, *words, *filter(None, scales)]


def _two_scales(scale: float, small: int, large: int, full: int, beyond: int) -> str:
    """Note on confidences that cannot all be meant on the declared scale; empty where they can.

    Where most others lie beyond it, one just at the scale may be certainty, or 1 of 100; a few are slips.
    """
    if min(small, large) >= FEW:
        return f"{TWO_SCALES}: {small} stated between 0 and 1, {large} above 1"
    if full and beyond >= FEW and 2 * beyond > large:
        return (
            f"{TWO_SCALES}: {full} stated as {scale:g} and read as certainty, {beyond} beyond it and out of range "
            "(confidence_scale=)"
        )
    return ""


def leave_out(drafts: Iterable[tuple[Draft, str | None]], tallies: list[Tally]) -> list[Draft]:
    """Keep the drafts that come without a reason against them; count the others with it."""
    kept = []
    for draft, reason in drafts:
        if reason is None:
            kept.append(draft)
        else:
            tallies[draft.file].left_out.append((draft.source, reason))
    return kept


@dataclass(slots=True)
class Counts:
    """Rows of every file by status, by status and reason, and those answered without a score."""

    by_status: list[Counter[str]]
    reasons: list[Counter[str]]
    unscored: np.ndarray

    def add(self, other: Counts) -> None:
        """Add what was counted in further rows."""
        for mine, more in ((self.by_status, other.by_status), (self.reasons, other.reasons)):
            for times, again in zip(mine, more, strict=True):
                times.update(again)
        self.unscored += other.unscored


def counted(table: pa.Table, places: np.ndarray, files: int) -> Counts:
    """Count the rows of a table of the format by the position of each row's file among all files."""
    status, reason, scores = plain(table, "status"), plain(table, "reason"), table.column("score")
    unscored = pc.and_(pc.equal(status, schema.ANSWERED), pc.is_null(scores))
    told = pc.is_valid(reason)
    why = pc.binary_join_element_wise(status.filter(told), reason.filter(told), " ")
    return Counts(
        _times(places, status, files),
        _times(places[np.asarray(told, dtype=bool)], why, files),
        np.bincount(places[np.asarray(unscored, dtype=bool)], minlength=files),
    )


def no_counts(files: int) -> Counts:
    """Counts of no rows."""
    nothing: list[Counter[str]] = [Counter() for _ in range(files)]
    return Counts(nothing, [Counter() for _ in range(files)], np.zeros(files, dtype=np.int64))


def ledger(counts: Counts, tallies: list[Tally]) -> pd.DataFrame:
    """One row a file; refuses to exist unless every record is accounted for.

    Raises
    ------
    ReadError
        When records in are not rows out plus left out plus merged: a fault in a reader, never in the data.
    """
    lines = []
    for place, (tally, by_status, why) in enumerate(
        zip(tallies, counts.by_status, counts.reasons, strict=True)
    ):
        rows, left_out = by_status.total(), len(tally.left_out)
        if tally.records != rows + left_out + tally.merged:
            raise ReadError(
                f"Every record of {tally.file} must be accounted for, but {tally.records} were read and "
                f"{rows} became rows, {left_out} were left out, {tally.merged} merged. Please report this."
            )
        lines.append(
            {"file": tally.file, "sha256": tally.sha256, "reader": tally.reader, "version": tally.version,
             "records": tally.records, "rows": rows, **{name: by_status[name] for name in schema.STATUSES},
             "unscored": int(counts.unscored[place]), "left_out": left_out,
             "merged": tally.merged, "nan_to_null": tally.nan_to_null,
             "confidence_out_of_range": tally.confidence_out_of_range,
             "score_ignored_on_error": tally.score_ignored_on_error, "reasons": _counted(why),
             "left_out_reasons": _counted(Counter(_kind(reason) for _, reason in tally.left_out)),
             "note": "; ".join(tally.told)}
        )  # fmt: skip
    return pd.DataFrame(lines, columns=list(LEDGER_COLUMNS))


def _times(places: np.ndarray, told: pa.ChunkedArray, files: int) -> list[Counter[str]]:
    """How often each word is told of each file, in the order in which they are first told."""
    times: list[Counter[str]] = [Counter() for _ in range(files)]
    words, codes = invariants.encoded(told)
    kinds, n = len(words), len(places)
    pairs = places * kinds + np.concatenate([*codes, np.zeros(0, dtype=np.int64)]).astype(np.int64)
    counts = np.bincount(pairs, minlength=files * kinds)
    first = np.full(files * kinds, n)
    first[pairs[::-1]] = np.arange(n)[::-1]  # the last of several that are written to one place stays
    for pair in sorted(np.flatnonzero(counts).tolist(), key=first.__getitem__):
        times[pair // kinds][words[pair % kinds].as_py()] += int(counts[pair])
    return times


def _counted(times: Counter[str]) -> str:
    told = [f"{count} {what}" for what, count in times.most_common(MOST_REASONS)]
    rest = sum(times.values()) - sum(count for _, count in times.most_common(MOST_REASONS))
    return ", ".join([*told, *([f"{rest} for other reasons"] if rest else [])])


def _kind(reason: str) -> str:
    """First line of a reason, short enough for a summary."""
    line = reason.split("\n", 1)[0]
    return line if len(line) <= 120 else line[:119] + "…"


def left_out_frame(tallies: list[Tally]) -> pd.DataFrame:
    """One row a record that did not become a row, with its reason."""
    lines = [line for tally in tallies for line in tally.left_out]
    return pd.DataFrame(lines, columns=["source", "reason"]) if lines else no_left_out()


def is_nan(value: Any) -> bool:
    """Whether a value is the number NaN."""
    return isinstance(value, float) and value != value


def as_text(value: Any) -> str | None:
    """Write any value of a log as text: text as it is, numbers as written, lists and objects as JSON.

    The numbers 7 and 7.0 are one number, and so one id; the texts ``"7"`` and ``"7.0"`` are two.

    Examples
    --------
    >>> as_text("007"), as_text(7), as_text(7.0), as_text(True), as_text(["a", 1])
    ('007', '7', '7', 'true', '["a", 1]')
    """
    if value is None or (type(value) is str and value.isascii()):
        return value
    if is_nan(value):
        return None
    if not isinstance(value, str):
        if hasattr(value, "tolist"):  # NumPy's scalars and arrays
            value = value.tolist()
        plain = isinstance(value, bool | list | dict | tuple)
        value = json.dumps(value, ensure_ascii=False, default=str) if plain else of_number(value)
    try:
        value.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which no file can hold as text
        value = value.encode("utf-8", "replace").decode()
    return str.__str__(value)  # of a text that is a member of an enumeration, the text
