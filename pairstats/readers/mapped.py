"""Every column of the records: what is mapped, what an item table says, and what was planned."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pairstats.errors import PairingError, counted, listed, nearest
from pairstats.readers import pairing
from pairstats.readers.base import RunFile
from pairstats.readers.drafts import Draft, Tally, as_text
from pairstats.readers.item_keys import index, on_columns
from pairstats.readers.items import ItemTable, Loaded
from pairstats.readers.mapping import Context, Path, resolve
from pairstats.readers.reading import Reading


def mapped(drafts: list[Draft], reading: Reading, tallies: list[Tally]) -> list[Draft]:
    """Fill in every column that is mapped, is constant or has a default, and add what was planned."""
    keep_going = reading.options.keep_going
    drafts = pairing.map_item(drafts, reading.columns.get("item"), Context(None, tallies), keep_going)
    loaded = reading.items
    by_column = {} if loaded is None else on_columns(reading.exclude, loaded.columns)
    by_id = [pattern for pattern in reading.exclude if pattern not in by_column]
    drafts, idle = pairing.exclude_items(drafts, by_id, tallies)
    table = None
    if loaded is not None:
        told = dict.fromkeys(reading.constants, "") | {
            name: path if isinstance(path, str) else "" for name, path in reading.others.items()
        }
        table = index(loaded, reading.item_key, drafts, told, by_column)
        _check_patterns(idle, table, drafts)
    pairing.note_idle(idle, tallies, table.items if table is not None and reading.planned else ())
    context = Context(table, tallies)
    drafts = pairing.map_columns(drafts, reading.others, reading.constants, context, tallies, keep_going)
    if table is not None:
        drafts = _with_planned(drafts, table, by_id, reading, tallies)
    return drafts


def _check_patterns(idle: Sequence[str], table: ItemTable, drafts: Sequence[Draft]) -> None:
    """Refuse patterns that name no column though they seem to, and those that may be meant in two ways."""
    ids = {*table.items, *(str(draft.fields["item"]) for draft in drafts)}
    for pattern in (pattern for pattern in idle if "=" in pattern):
        if not fnmatch.filter(ids, pattern):
            name = pattern.partition("=")[0]
            raise PairingError(
                f"exclude={pattern!r} must fit an item, or name a column of {table.shown}, but {name!r} is none: "
                f"it has {listed(table.columns, 40)}.{nearest(name, table.columns)}"
            )
    for pattern in table.fits:
        if fitting := [each for each in sorted(ids) if fnmatch.fnmatchcase(each, pattern)]:
            raise PairingError(
                f"exclude={pattern!r} must mean one thing, but names a column of {table.shown} and fits "
                f"{counted(len(fitting), 'item')} by the id: {listed(fitting)}. Write "
                f"{f'[{pattern[0]}]{pattern[1:]}'!r} to mean the ids, or rename the column."
            )


def _with_planned(
    drafts: list[Draft], table: ItemTable, excluded: Sequence[str], reading: Reading, tallies: list[Tally]
) -> list[Draft]:
    """Enter the item table in the ledger, and add the planned items that never ran."""
    tally = table_tally(table, _notes(table))
    tallies.append(tally)
    if not reading.planned:
        return drafts
    absent = list(planned_rows(drafts, table, reading.others, len(tallies) - 1, excluded))
    tally.records = len(absent)
    absent = pairing.leave_out_unplaced(absent, tallies)
    # The cell of a planned row is that of its fellows; only what belongs to the item is looked up.
    of_item = {name: path for name, path in reading.others.items() if name not in (*pairing.CELL, "variant")}
    return pairing.map_columns(
        [*drafts, *absent], of_item, reading.constants, Context(table, tallies), tallies
    )


def table_tally(table: ItemTable | Loaded, notes: list[str]) -> Tally:
    """Give the line of the ledger about an item table."""
    sha256 = "" if table.path is None else RunFile(table.path, table.shown).sha256
    return Tally(table.shown, table.path, sha256, "items", notes=notes)


def _notes(table: ItemTable) -> list[str]:
    """Say how many rows the table has, and how many of them each pattern fits by a column."""
    size = counted(len(table.items), "item")
    if len(table.keys) > 1:
        size += f", {counted(len(table.rows), 'row')} by {' and '.join(table.keys)}"
    return [size, *(f"exclude {text!r} fits {_fitted(table, text)}" for text in table.fits)]


def _fitted(table: ItemTable, pattern: str) -> str:
    """How many rows a pattern fits by a column, and where none what the column holds instead."""
    fits = counted(len(table.fits[pattern]), "row")
    if table.fits[pattern]:
        return fits
    column = on_columns([pattern], table.columns)[pattern][0]
    there = sorted({as_text(row.get(column)) or "" for row in table.rows.values()})
    return f"{fits}: column {column!r} holds {listed(there)}"


def planned_rows(
    drafts: Sequence[Draft], table: ItemTable, columns: Mapping[str, Path], file: int, excluded: Sequence[str]
) -> Iterator[Draft]:
    """Yield an `absent` draft for every row of the table that has no record in a cell.

    Parameters
    ----------
    drafts : sequence of Draft
        Records with all their columns.
    table : ItemTable
    columns : mapping of str to path
        Columns that are mapped, to be filled from the table or from other records of the item.
    file : int
        The item table's place in the ledger.
    excluded : sequence of str
        Patterns of items that are no part of the plan.
    """
    cells = list(dict.fromkeys(_cell(draft.fields) for draft in drafts))
    ran = {(_cell(draft.fields), draft.fields["item"], draft.fields["variant"]) for draft in drafts}
    variants: dict[str, dict[str | None, None]] = {}
    for draft in drafts:
        variants.setdefault(draft.fields["item"], {})[draft.fields["variant"]] = None
    for key in table.rows:
        item, known = key[0], dict(zip(table.keys, key, strict=True))
        if table.why(key) or any(fnmatch.fnmatchcase(item, pattern) for pattern in excluded):
            continue
        shown = variants.get(item) or {_planned_variant(known, table, columns): None}
        # What the table itself says of a cell, say its condition, holds whether or not such a one ever ran.
        own = dict.fromkeys(_cell(dict(zip(pairing.CELL, cell, strict=True)) | known) for cell in cells)
        for cell in own:
            for variant in [known["variant"]] if "variant" in known else shown:
                if (cell, item, variant) not in ran:
                    fields = dict(zip(pairing.CELL, cell, strict=True)) | {"item": item, "variant": variant}
                    fields |= {"status": "absent", "reason": "not_run"}
                    where = f"{table.shown}:{item} ({', '.join(part for part in cell if part)})"
                    yield Draft(file, where, where, fields, {}, {})


def _cell(fields: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(as_text(fields[name]) or "" for name in pairing.CELL)


def _planned_variant(known: Mapping[str, str], table: ItemTable, columns: Mapping[str, Path]) -> str | None:
    path = columns.get("variant")
    if path is None:
        return "base"
    draft = Draft(0, table.shown, "", dict(known), {}, {})
    try:
        return as_text(resolve("variant", path, [draft], Context(table, [Tally(table.shown)]))[0])
    except PairingError:
        return None
