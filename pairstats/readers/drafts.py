"""Records on their way to rows, and the account of every one of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import pandas as pd

from pairstats import schema
from pairstats.errors import ReadError
from pairstats.records import LEDGER_COLUMNS, no_left_out
from pairstats.spelling import of_number

MOST_REASONS = 8
"""Reasons that a line of the ledger names; the account of the records left out has all."""


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
    """

    file: int
    source: str
    identity: str
    fields: dict[str, Any]
    scores: dict[str, Any]
    found: dict[str, Any]

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
    paths: list[str] = field(default_factory=list)
    """Dotted paths of the file's first record, for error messages."""


def leave_out(drafts: Iterable[tuple[Draft, str | None]], tallies: list[Tally]) -> list[Draft]:
    """Keep the drafts that come without a reason against them; count the others with it."""
    kept = []
    for draft, reason in drafts:
        if reason is None:
            kept.append(draft)
        else:
            tallies[draft.file].left_out.append((draft.source, reason))
    return kept


def ledger(drafts: Iterable[Draft], tallies: list[Tally]) -> pd.DataFrame:
    """One row a file; refuses to exist unless every record is accounted for.

    Raises
    ------
    ReadError
        When records in are not rows out plus left out plus merged: a fault in a reader, never in the data.
    """
    counts = [dict.fromkeys(schema.STATUSES, 0) for _ in tallies]
    reasons: list[Counter[str]] = [Counter() for _ in tallies]
    unscored: Counter[int] = Counter()
    for draft in drafts:
        status, reason = draft.fields["status"], draft.fields.get("reason")
        counts[draft.file][status] += 1
        unscored[draft.file] += status == schema.ANSWERED and draft.fields.get("score") is None
        if reason is not None:
            reasons[draft.file][f"{status} {reason}"] += 1
    lines = []
    for place, (tally, by_status, why) in enumerate(zip(tallies, counts, reasons, strict=True)):
        rows, left_out = sum(by_status.values()), len(tally.left_out)
        if tally.records != rows + left_out + tally.merged:
            raise ReadError(
                f"Every record of {tally.file} must be accounted for, but {tally.records} were read and "
                f"{rows} became rows, {left_out} were left out, {tally.merged} merged. Please report this."
            )
        lines.append(
            {"file": tally.file, "sha256": tally.sha256, "reader": tally.reader, "version": tally.version,
             "records": tally.records, "rows": rows, **by_status, "unscored": unscored[place], "left_out": left_out,
             "merged": tally.merged, "nan_to_null": tally.nan_to_null,
             "confidence_out_of_range": tally.confidence_out_of_range,
             "score_ignored_on_error": tally.score_ignored_on_error, "reasons": _counted(why),
             "left_out_reasons": _counted(Counter(_kind(reason) for _, reason in tally.left_out)),
             "note": "; ".join(tally.notes)}
        )  # fmt: skip
    return pd.DataFrame(lines, columns=list(LEDGER_COLUMNS))


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
    return str(value)
