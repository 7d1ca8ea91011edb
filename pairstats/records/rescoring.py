"""Stored replies scored again by a function, without a model call: the old score stays beside the new."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pairstats import invariants, schema
from pairstats.arguments import checked
from pairstats.errors import PairstatsError, counted, listed, one_of
from pairstats.records.table import LEDGER_COLUMNS, Records
from pairstats.scripts import load_function, told

Scorer = Callable[[Mapping[str, Any]], Mapping[str, Any] | float | None]
AS_RUN = "_as_run"
"""What the name of a column gets behind it for the values that it had before."""

SETTABLE = ("answer", "gold", "confidence", "outcome", "status", "reason", "score")
"""Columns of the format that a scorer may set, besides ``score_<name>`` and columns outside the format."""
SHOWN = 8


@dataclass(frozen=True, eq=False, repr=False)
class Rescored(Records):
    """Records whose replies were scored again.

    Attributes
    ----------
    changes : pandas.DataFrame
        One row a value that changed: the key, ``source``, ``column``, ``before`` and ``after``. Columns that
        held nothing before are no change.
    n_scored : int
        Replies that the scorer saw.
    n_scored_now : int
        Those of them that had no score before and have one now.
    """

    changes: pd.DataFrame = field(default_factory=pd.DataFrame)
    n_scored: int = 0
    n_scored_now: int = 0

    def summary(self) -> str:
        """Describe every file, and what the new scorer changed, most frequent first."""
        return "\n".join([super().summary(), *self.changed()])

    def changed(self) -> list[str]:
        """Sentences that say what changed."""
        found = [
            f"{counted(self.n_scored, 'reply')} scored again, {counted(len(self.changes), 'value')} changed"
            + (f", {_told_now(self.n_scored_now)}" if self.n_scored_now else "")
        ]
        if not len(self.changes):
            return found
        for column, part in self.changes.groupby("column", sort=False):
            texts = part[["before", "after"]].astype("string").fillna("null")
            moves = (texts["before"] + " -> " + texts["after"]).value_counts()
            shown = [f"{move}: {n}" for move, n in moves.head(SHOWN).items()]
            more = [f"and {len(moves) - SHOWN} other moves"] if len(moves) > SHOWN else []
            found.append(f"  {column} changed in {len(part)} ({'; '.join([*shown, *more])})")
        return found


@checked
def rescore(records: Records, scorer: Scorer | str | Path, *, function: str = "score") -> Rescored:
    """Score every stored reply again, without a model call.

    Use it when the scorer was wrong, or when the platform had none. What it was before stays beside the new
    value (``score_as_run``; further columns where they changed), and every change is listed. To parse plain
    answers (a letter, a number, a set), `read_runs` with ``answers=`` does it without code.

    Parameters
    ----------
    records : Records
        With the replies in ``response``.
    scorer : callable or path
        ``scorer(row)``, or a Python file that defines it. ``row`` is a read-only mapping of all columns of one
        reply (null is None; a reply without text has ``response`` ``""``). It returns the score (a number in
        `records.score_range`, None where it cannot tell), or a mapping of columns to new values: ``score``,
        ``score_<name>``, ``answer``, ``gold``, ``confidence``, ``outcome``, ``status`` (``answered``,
        ``unparsed``, ``truncated``, ``refused``, ``empty``), ``reason``, or columns outside the format. Columns
        that it does not name stay. Errors and absent rows are not replies, and are never scored.
    function : str, default "score"
        Name of the function, where `scorer` is a file.

    Returns
    -------
    Rescored
        `Records` with ``changes``.

    Raises
    ------
    PairstatsError
        When an answered row holds no reply text, or the scorer fails or returns what no row can hold; names
        the record.
    SchemaError
        When the new values break the format, as a score outside its range does.

    Examples
    --------
    >>> rows = {"family": ["f", "g"], "item": ["q", "r"], "model": "m", "status": "answered", "score": [0.0, 0.0],
    ...         "response": ["Yes.", "no"], "gold": ["yes", "yes"]}
    >>> records = Records.from_frame(pd.DataFrame(rows))
    >>> again = rescore(records, lambda row: float(row["response"].strip(".").lower() == row["gold"]))
    >>> again.frame[["score", "score_as_run"]].values.tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    >>> print(again.changed()[0])
    2 replies scored again, 1 value changed
    """  # fmt: skip
    path = None if callable(scorer) else Path(scorer)
    score = scorer if callable(scorer) else load_function(scorer, function)
    rows = schema.undictionary(records.table).to_pylist()
    replies = [row for row in rows if row["status"] not in schema.MISSING]
    _refuse_unread(replies)
    given = [_scored(score, row, path) for row in replies]
    _refuse_some(replies, given)
    changes = _changes(replies, given)
    now = sum(_scored_now(row, new) for row, new in zip(replies, given, strict=True))
    before = {name: [row.get(name) for row in rows] for name in _kept(records, changes)}
    for row, new in zip(replies, given, strict=True):
        row.update(new)
    table = _table(rows, records.table, before, {name for new in given for name in new})
    return Rescored(
        table=invariants.validate(table, score_range=records.score_range),
        ledger=pd.concat(
            [records.ledger, _ledger_line(score, path, replies, changes, now)], ignore_index=True
        ),
        left_out=records.left_out,
        score_range=records.score_range,
        changes=changes,
        n_scored=len(replies),
        n_scored_now=now,
    )


def _scored_now(row: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return row["score"] is None and new.get("score") is not None


def _told_now(count: int) -> str:
    return f"{count} scored now that had no score"


def _refuse_unread(replies: list[dict[str, Any]]) -> None:
    silent = [
        r["source"] or r["item"] for r in replies if r["status"] == schema.ANSWERED and r["response"] is None
    ]
    if silent:
        raise PairstatsError(
            f"Every answered row must hold its reply to be scored again, but {len(silent)} of {len(replies)} hold "
            f"none: {listed(silent)}. Read the raw files anew (response is kept), or leave these rows out."
        )


def _scored(score: Scorer, row: Mapping[str, Any], path: Path | None) -> dict[str, Any]:
    """Give the new values of one reply."""
    seen = MappingProxyType({**row, "response": row["response"] or ""})
    where = row["source"] or f"item {row['item']!r}"
    try:
        new = score(seen)
    except (Exception, SystemExit) as error:
        why = told(error, path or _file_of(score))
        raise PairstatsError(f"The scorer must take every reply, but at {where} it {why}") from error
    new = {k: _plain(v) for k, v in (new.items() if isinstance(new, Mapping) else [("score", new)])}
    for name, value in new.items():
        _check(name, value, where)
    return {name: _as_column(name, value) for name, value in new.items()}


def _plain(value: Any) -> Any:
    """Give NumPy's scalars as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def _as_column(name: str, value: Any) -> Any:
    """Value as its column holds it, so that a change of type alone is no change."""
    if value is None:
        return None
    if schema.is_score(name) or name == "confidence":
        return float(value)
    return str(value) if name in SETTABLE else value


def _file_of(score: Scorer) -> str:
    """File in which a function was written, as tracebacks name it."""
    code = getattr(score, "__code__", None)
    return "" if code is None else str(code.co_filename)


def _check(name: object, value: object, where: str) -> None:
    if not isinstance(name, str) or name.endswith(AS_RUN) or (name in schema.NAMES and name not in SETTABLE):
        raise PairstatsError(
            f"A scorer may set {', '.join(SETTABLE)}, score_<name> and columns outside the format, but at {where} "
            f"it sets {name!r}."
        )
    numeric = schema.is_score(name) or name == "confidence"
    if not isinstance(value, (int, float) if numeric else (str, int, float)) and value is not None:
        what = "a number" if numeric else "text or a number"
        raise PairstatsError(
            f"The scorer must give {what} or None for {name!r}, but at {where} it gives {type(value).__name__}."
        )
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise PairstatsError(f"The scorer must give numbers of 64 bits, but {name!r} at {where} is larger.")
    if isinstance(value, str) and not value.isascii():
        _check_text(name, value, where)
    if isinstance(value, float) and value != value:
        raise PairstatsError(
            f"The scorer must give None where it cannot tell, but {name!r} at {where} is NaN."
        )
    if name == "status":
        one_of(f"status at {where}", value, (schema.ANSWERED, *schema.NO_ANSWER))


def _check_text(name: str, value: str, where: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise PairstatsError(
            f"The scorer must give text, but {name!r} at {where} is none: {error}."
        ) from error


def _refuse_some(replies: list[dict[str, Any]], given: list[dict[str, Any]]) -> None:
    """Refuse a score that only some replies get: the others would keep an old one, and the two would mix."""
    for name in {name for new in given for name in new if schema.is_score(name)}:
        without = [
            row["source"] or row["item"] for row, new in zip(replies, given, strict=True) if name not in new
        ]
        if without:
            raise PairstatsError(
                f"The scorer must give {name!r} for every reply (None where it cannot tell), but does not for "
                f"{len(without)} of {len(replies)}: {listed(without)}."
            )


def _changes(replies: list[dict[str, Any]], given: list[dict[str, Any]]) -> pd.DataFrame:
    """List the values that differ; a column without any value so far is filled for the first time instead."""
    held = {name for row in replies for name, value in row.items() if value is not None}
    found = [
        {**{key: row[key] for key in schema.KEY}, "source": row["source"], "column": name,
         "before": row.get(name), "after": value}
        for row, new in zip(replies, given, strict=True)
        for name, value in new.items()
        if name in held and row.get(name) != value
    ]  # fmt: skip
    columns = [*schema.KEY, "source", "column", "before", "after"]
    return pd.DataFrame(found, columns=columns).astype({"before": object, "after": object})


def _kept(records: Records, changes: pd.DataFrame) -> list[str]:
    """Columns whose values of before are kept: scores always, others where one changed; the first run stays."""
    there = records.table.column_names
    scores = [n for n in there if schema.is_score(n) and not n.endswith(AS_RUN)]
    changed = [*scores, *(name for name in changes["column"].unique() if name not in scores)]
    held = [name for name in changed if records.table.column(name).null_count < len(records)]
    return [name for name in held if f"{name}{AS_RUN}" not in there and not name.endswith(AS_RUN)]


def _table(
    rows: list[dict[str, Any]], old: pa.Table, before: Mapping[str, list[Any]], named: set[str]
) -> pa.Table:
    """Table of the rows: columns that nothing changed as they were, then the new ones, then those of before."""
    arrays: dict[str, Any] = {}
    for name in dict.fromkeys([*old.column_names, *sorted(named)]):
        arrays[name] = _array(name, [row.get(name) for row in rows]) if name in named else old.column(name)
    for name, values in before.items():
        arrays[f"{name}{AS_RUN}"] = _array(name, values)
    return pa.table(arrays)


def _array(name: str, values: list[Any]) -> pa.Array:
    if schema.is_score(name) or name == "confidence":
        return pa.array(values, pa.float64())
    kinds = {type(value) for value in values if value is not None}
    plain = name not in schema.NAMES and (kinds <= {int, float} or kinds == {bool})
    if plain and kinds:
        return pa.array([float(v) if v is not None and float in kinds else v for v in values])
    return pa.array([None if v is None else str(v) for v in values], pa.string())


def _ledger_line(
    score: Scorer, path: Path | None, replies: list[Any], changes: pd.DataFrame, now: int
) -> pd.DataFrame:
    """Account of the scoring: it read no record, so its counts are zero; the files' are as they were read."""
    line: dict[str, Any] = dict.fromkeys(LEDGER_COLUMNS, 0) | dict.fromkeys(
        ("sha256", "version", "reasons", "left_out_reasons"), ""
    )
    moved = changes["column"].value_counts()
    told_of = ", ".join(f"{name} changed in {n}" for name, n in moved.items()) or "nothing changed"
    told_of += f", {_told_now(now)}" if now else ""
    line |= {
        "file": getattr(score, "__name__", "scorer") if path is None else path.name,
        "reader": "scorer",
        "note": f"{counted(len(replies), 'reply')} scored again: {told_of}",
    }
    if path is not None:
        line["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    return pd.DataFrame([line], columns=list(LEDGER_COLUMNS))
