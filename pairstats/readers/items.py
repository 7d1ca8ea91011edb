"""The item table: what is known of each item, and which items were planned."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pairstats.errors import PairingError, ReadError, listed
from pairstats.readers.base import RunFile
from pairstats.readers.drafts import MISSING, Draft, as_text
from pairstats.readers.remote import fetched, is_address
from pairstats.spelling import told, twins

_LIKELY_KEYS = ("item", "item_id", "id")


@dataclass(frozen=True)
class ItemTable:
    """Items by their id.

    Attributes
    ----------
    shown : str
        Name for messages and the ledger.
    path : pathlib.Path or None
    columns : tuple of str
    rows : dict of str to dict
        One row an item.
    """

    shown: str
    path: Path | None
    columns: tuple[str, ...]
    rows: dict[str, dict[str, Any]]

    def value(self, item: Any, name: str) -> Any:
        """Cell of an item; MISSING when the table has no such item or column."""
        return self.rows.get(as_text(item) or "", {}).get(name.removeprefix("items."), MISSING)


def load_items(table: Any) -> tuple[str, Path | None, list[dict[str, Any]]]:
    """Read an item table from CSV, JSON, JSON Lines or Parquet (also gzipped), or take a frame.

    Parameters
    ----------
    table : path, frame, or list of mappings
        Any frame that Arrow can read: pandas, Polars, Arrow, DuckDB.

    Returns
    -------
    tuple
        Shown name, path or None, and the rows. Cells of a CSV are text, as written; blank ones are null.
    """
    if isinstance(table, str | Path):
        if is_address(table):
            table = fetched(str(table))[1][0]
        path = Path(table).expanduser()
        if not path.is_file():
            raise ReadError(f"The item table must be a file, but {str(table)!r} is none.")
        return path.name, path, _read(path)
    if isinstance(table, pd.DataFrame):
        rows = table.to_dict("records")
        return "item table", None, [
            {str(key): None if pd.api.types.is_scalar(cell) and pd.isna(cell) else cell
             for key, cell in row.items()} for row in rows
        ]  # fmt: skip
    if isinstance(table, Sequence):
        return "item table", None, [dict(row) for row in table]
    return "item table", None, pa.table(table).to_pylist()


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
            frame = pd.read_csv(text, dtype=str, keep_default_na=False)
            rows = [{k: v if v != "" else None for k, v in row.items()} for row in frame.to_dict("records")]  # type: ignore[misc]
    except (ValueError, pd.errors.ParserError) as error:
        raise ReadError(f"The item table {path.name} cannot be read: {error}.") from error
    if not all(isinstance(row, dict) for row in rows):
        raise ReadError(f"The item table {path.name} must hold one object an item.")
    return rows


def index(table: Any, key: str | None, drafts: Iterable[Draft]) -> ItemTable:
    """Find the column that holds the item ids, and index the table by it.

    Parameters
    ----------
    table : object
        As `load_items` takes it.
    key : str or None
        The column; None takes the one that holds most of the records' items, unique ones only.
    drafts : iterable of Draft
        Records with their item ids.

    Raises
    ------
    PairingError
        When the key is not there, not unique, or fits no record.
    """
    shown, path, rows = load_items(table)
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    items = {str(draft.fields["item"]) for draft in drafts}
    if key is None:
        key = _best_key(shown, rows, columns, items)
    elif key not in columns:
        raise PairingError(f"item_key={key!r} must be a column of {shown}, but it has {listed(columns, 40)}.")
    ids = [as_text(row.get(key)) for row in rows]
    twice = [item for item, times in Counter(ids).items() if times > 1 and item is not None]
    if twice or None in ids:
        found = f"holds {listed(twice)} more than once" if twice else "is blank in some rows"
        raise PairingError(f"Column {key!r} of {shown} must name each item once, but {found}.")
    indexed = {str(item): row for item, row in zip(ids, rows, strict=True)}
    alike = twins({*items, *indexed})
    if alike:
        where = f"the records and column {key!r} of {shown}"
        raise PairingError(f"Item ids must be spelled in one way, but 'item' {told('item', alike, where)}.")
    if not items & indexed.keys():
        raise PairingError(
            f"Column {key!r} of {shown} must hold the records' items, but holds {listed(indexed)} where the "
            f"records have {listed(sorted(items))}. Name another column with item_key=, or map item=."
        )
    return ItemTable(shown, path, columns, indexed)


def _best_key(shown: str, rows: list[dict[str, Any]], columns: tuple[str, ...], items: set[str]) -> str:
    """Column of unique ids that holds most of the records' items; usual names first among equals."""
    fits: list[tuple[int, int, str]] = []
    for place, column in enumerate(columns):
        ids = [as_text(row.get(column)) for row in rows]
        if len(set(ids)) == len(ids):
            rank = _LIKELY_KEYS.index(column) if column in _LIKELY_KEYS else len(_LIKELY_KEYS) + place
            fits.append((-len(items.intersection(ids)), rank, column))
    best = min(fits, default=(0, 0, ""))
    if best[0] == 0:
        raise PairingError(
            f"One column of {shown} must hold the records' items, but none of {listed(columns, 40)} does; "
            f"the records have {listed(sorted(items))}. Map item=, or name the column with item_key=."
        )
    return best[2]
