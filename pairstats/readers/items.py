"""The item table: what is known of each item, and which items were planned."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pairstats.arguments import shown
from pairstats.errors import PairingError, ReadError, listed
from pairstats.readers.base import RunFile
from pairstats.readers.dotted import lookup
from pairstats.readers.drafts import MISSING, Draft, Tally, as_text, leave_out
from pairstats.readers.remote import fetched, is_address
from pairstats.readers.sheets import delimiter_of
from pairstats.spelling import twins

Key = tuple[str, ...]
"""Values that name a row of the table, the item's id first."""
FEW = 3
"""Unknown items that a message names."""


@dataclass(frozen=True)
class Loaded:
    """An item table as it was given.

    Attributes
    ----------
    shown : str
        Name for messages and the ledger.
    path : pathlib.Path or None
    rows : list of dict
    """

    shown: str
    path: Path | None
    rows: list[dict[str, Any]]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Columns that any row has, in the order in which they are met."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row))

    @cached_property
    def texts(self) -> dict[str, list[str | None]]:
        """Cells of every column as text."""
        return {name: [as_text(row.get(name)) for row in self.rows] for name in self.columns}

    @cached_property
    def keys(self) -> frozenset[str]:
        """Columns that name each row once, and in one spelling."""
        size = len(self.rows)
        unique = (name for name, ids in self.ids.items() if len(ids) == size and None not in ids)
        return frozenset(name for name in unique if not twins(self.ids[name]))

    @cached_property
    def ids(self) -> dict[str, frozenset[str | None]]:
        """Different cells of every column as text."""
        return {name: frozenset(cells) for name, cells in self.texts.items()}


@dataclass(frozen=True)
class ItemTable:
    """What is known of items: one row an item, or one an item and variant (or further columns of the key).

    Attributes
    ----------
    shown : str
        Name for messages and the ledger.
    path : pathlib.Path or None
    columns : tuple of str
    keys : tuple of str
        Columns of the records that name a row, the item first.
    rows : dict of tuple to dict
        By the values of `keys`, as text.
    joined : frozenset of str
        Columns of the table that hold the further keys: what the records say of these holds.
    fits : dict of str to frozenset of tuple
        Rows that each pattern of `exclude` fits by a column.
    """

    shown: str
    path: Path | None
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    rows: dict[Key, dict[str, Any]]
    joined: frozenset[str] = frozenset()
    fits: Mapping[str, frozenset[Key]] = field(default_factory=dict)

    def key(self, fields: Mapping[str, Any]) -> Key | None:
        """Name of a record's row; None where the record does not tell all of it."""
        values = tuple(as_text(fields.get(name)) for name in self.keys)
        return None if None in values else values  # type: ignore[return-value]

    def value(self, fields: Mapping[str, Any], name: str) -> Any:
        """Cell of a record's row, or what a dotted path leads to in one; MISSING when the table has none."""
        name = name.removeprefix("items.")
        row = None if name in self.joined else self.rows.get(self.key(fields) or ())
        return MISSING if row is None else lookup(row, name)

    def why(self, key: Key | None) -> str | None:
        """Reason against a row: the first pattern that fits it."""
        return next((f"excluded by {text!r}" for text, keys in self.fits.items() if key in keys), None)

    @property
    def items(self) -> tuple[str, ...]:
        """Ids of the items, each once."""
        return tuple(dict.fromkeys(key[0] for key in self.rows))


def joined(drafts: Sequence[Draft], table: ItemTable, tallies: list[Tally], keep_going: bool) -> list[Draft]:
    """Leave out, and count, the records that a column of the table excludes; refuse those it does not know.

    Parameters
    ----------
    drafts : sequence of Draft
        With the columns that name a row of the table.
    table : ItemTable
    tallies : list of Tally
    keep_going : bool
        Leave out, and count, a minority of unknown ones too.

    Raises
    ------
    PairingError
        Naming the first records whose item the table does not know.
    """
    keys = [table.key(draft.fields) for draft in drafts]
    reasons = [table.why(key) for key in keys]
    unknown = [key is not None and key not in table.rows for key in keys]
    if any(unknown) and not (keep_going and 2 * sum(unknown) <= len(drafts)):
        first = {key: draft.source for key, draft, lost in zip(keys, drafts, unknown, strict=True) if lost}
        raise PairingError(_why_unknown(table, first))
    told = [f"not in {table.shown}" if lost else why for lost, why in zip(unknown, reasons, strict=True)]
    return leave_out(zip(drafts, told, strict=True), tallies)


def _why_unknown(table: ItemTable, lost: Mapping[Any, str]) -> str:
    named = [
        f"{', '.join(f'{name} {value!r}' for name, value in zip(table.keys, key, strict=True))} ({source})"
        for key, source in lost.items()
    ]
    return (
        f"{table.shown} must have a row for every item of the records, but has none for {len(lost)}: "
        f"{'; '.join(named[:FEW])}{f' and {len(lost) - FEW} more' if len(lost) > FEW else ''}. Add them to the "
        f"table, or leave them out, counted, by patterns of ids: exclude={next(iter(lost))[0]!r} and so on."
    )


def load_items(table: Any) -> Loaded:
    """Read an item table from CSV, JSON, JSON Lines or Parquet (also gzipped), or take a frame.

    Parameters
    ----------
    table : path, frame, or list of mappings
        Any frame that Arrow can read: pandas, Polars, Arrow, DuckDB.

    Returns
    -------
    Loaded
        Cells of a CSV are text, as written; blank ones are null.
    """
    if isinstance(table, str | Path):
        if is_address(table):
            table = fetched(str(table))[1][0]
        path = Path(table).expanduser()
        if not path.is_file():
            raise ReadError(f"The item table must be a file, but {str(table)!r} is none.")
        return Loaded(path.name, path, _read(path))
    if isinstance(table, pd.DataFrame):
        _check_names(table.columns)
        rows = table.to_dict("records")
        return Loaded("item table", None, [
            {str(key): None if pd.api.types.is_scalar(cell) and pd.isna(cell) else cell
             for key, cell in row.items()} for row in rows
        ])  # fmt: skip
    if isinstance(table, Sequence) and all(isinstance(row, Mapping) for row in table):
        _check_names(dict.fromkeys(key for row in table for key in row))
        return Loaded("item table", None, [{str(key): cell for key, cell in row.items()} for row in table])
    try:
        return Loaded("item table", None, pa.table(table).to_pylist())
    except (TypeError, ValueError) as error:
        raise ReadError(
            f"`items` must be a file, a frame or a list of dicts, but got {shown(table)}: {error}."
        ) from error


def _check_names(names: Iterable[Any]) -> None:
    """Refuse columns that are one by name, of which one would hide the other."""
    twice = [name for name, times in Counter(map(str, names)).items() if times > 1]
    if twice:
        raise ReadError(
            f"Column names of the item table must differ, but {listed(twice, 8)} occur more than once. Rename them."
        )


def _read(path: Path) -> list[dict[str, Any]]:
    file = RunFile(path, path.name)
    head = file.head
    if head[:4] == b"PAR1":
        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
        return rows
    content = file.read_bytes()
    try:
        if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"[":
            rows = json.loads(content)
        elif head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{":
            rows = [json.loads(line) for line in content.decode("utf-8-sig").split("\n") if line.strip()]
        else:
            text = io.StringIO(content.decode("utf-8-sig"), newline="")
            frame = pd.read_csv(text, sep=delimiter_of(head) or ",", dtype=str, keep_default_na=False)
            rows = [{k: v if v != "" else None for k, v in row.items()} for row in frame.to_dict("records")]  # type: ignore[misc]
    except (ValueError, pd.errors.ParserError) as error:
        raise ReadError(f"The item table {path.name} cannot be read: {error}.") from error
    if not all(isinstance(row, dict) for row in rows):
        raise ReadError(f"The item table {path.name} must hold one object an item.")
    return rows
