"""Which records are one decision: columns by mapping, planned items, copies and contradictions."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pairstats import schema
from pairstats.errors import PairingError, counted, listed
from pairstats.readers.differing import PROBED_KEYS, PROBED_RECORDS, suggestion
from pairstats.readers.drafts import Draft, Tally, as_text, leave_out
from pairstats.readers.items import ItemTable
from pairstats.readers.likely import ready_line
from pairstats.readers.mapping import ORDER, Context, Path, from_siblings, name_of, resolve

DEFAULTS = {c.name: c.default for c in schema.COLUMNS if c.name in schema.KEY}
WORDS = frozenset({*schema.KEY, "split", "category", "outcome"}) - {"repeat"}
REQUIRED = ("item", "model", "family")
CELL = ("study", "run", "platform", "model", "condition", "repeat")
"""What makes a cell in which every planned item should have run."""
MOST_REPEATS = 1 << 15
"""What a column of 16 bits holds."""
CONTENT = ("status", "response", "answer", "gold", "score")


def exclude_items(
    drafts: Sequence[Draft], patterns: Sequence[str], tallies: list[Tally]
) -> tuple[list[Draft], list[str]]:
    """Leave out, and count, the records whose item fits a pattern; gives the others, and the idle patterns."""
    if not patterns:
        return list(drafts), []
    fits, why = fitting(dict.fromkeys(str(draft.fields["item"]) for draft in drafts), patterns)
    kept = leave_out(((draft, why.get(str(draft.fields["item"]))) for draft in drafts), tallies)
    return kept, [pattern for pattern in patterns if pattern not in fits]


def fitting(items: Iterable[str], patterns: Sequence[str]) -> tuple[frozenset[str], dict[str, str]]:
    """Give the patterns that fit an item, and the reason against every item that one fits."""
    why, fits = {}, set()
    for item in items:
        for pattern in patterns:
            if fnmatch.fnmatchcase(item, pattern):
                why[item] = f"excluded by {pattern!r}"
                fits.add(pattern)
    return frozenset(fits), why


def note_idle(patterns: Sequence[str], tallies: list[Tally], planned: Iterable[str] = ()) -> None:
    """Note the patterns that fit no item of a record, and how many planned ones they fit."""
    planned = list(planned)
    for pattern in dict.fromkeys(patterns):
        n = sum(fnmatch.fnmatchcase(item, pattern) for item in planned)
        what = f"{counted(n, 'planned item')} without a record" if n else "no item"
        tallies[0].notes.append(f"exclude {pattern!r} fits {what}")


def map_item(drafts: Sequence[Draft], path: Path | None, context: Context) -> None:
    """Fill in the item ids, as text."""
    _fill("item", path, drafts, context)
    missing = [draft.source for draft in drafts if draft.fields["item"] is None]
    if missing:
        raise PairingError(_why_missing("item", path, missing, drafts, context))


def map_columns(
    drafts: Sequence[Draft], columns: Mapping[str, Path], constants: Mapping[str, Any], context: Context,
    tallies: list[Tally],
) -> list[Draft]:  # fmt: skip
    """Fill in every other column that is mapped or has a default.

    Parameters
    ----------
    drafts : sequence of Draft
        With their item ids.
    columns : mapping of str to path
        The format's columns and any others.
    constants : mapping of str to value
        Columns that are the same in every record.
    context : Context
    tallies : list of Tally

    Returns
    -------
    list of Draft
        Without the planned ones whose place cannot be known, which are counted.

    Raises
    ------
    PairingError
        When a column of the key is not known in every record.
    """
    for draft in drafts:
        draft.fields.update(constants)
    names = [*ORDER[1:], *(name for name in columns if name not in ORDER)]
    for name in names:
        if name not in constants and (name in columns or name in DEFAULTS):
            _fill(name, columns.get(name), drafts, context)
    kept = leave_out_unplaced(drafts, tallies)
    for name in schema.KEY:
        missing = [draft.source for draft in kept if draft.fields[name] is None]
        if missing:
            raise PairingError(_why_missing(name, columns.get(name), missing, kept, context))
        if name == "repeat":
            _check_repeats(kept)
    return kept


def _fill(name: str, path: Path | None, drafts: Sequence[Draft], context: Context) -> None:
    if path is None:
        # Only what the platform itself says may stand without a mapping.
        default = None if name in REQUIRED else DEFAULTS.get(name)
        values = [default if (v := draft.fields.get(name)) is None else v for draft in drafts]
    else:
        values = from_siblings(name, resolve(name, path, drafts, context), drafts)
    words = [as_text(value) for value in values] if name in WORDS else values
    for draft, value in zip(drafts, words, strict=True):
        draft.fields[name] = value


def typed(name: str, value: Any) -> Any:
    """Write ids and words as text; leave other columns as they are."""
    return as_text(value) if name in WORDS else value


def leave_out_unplaced(drafts: Sequence[Draft], tallies: list[Tally]) -> list[Draft]:
    """Leave out, and count, what never ran and whose place in the key cannot be known."""
    return leave_out(((draft, _unplaced(draft)) for draft in drafts), tallies)


def _unplaced(draft: Draft) -> str | None:
    unknown = [name for name in schema.KEY if draft.fields.get(name, "") is None]
    if draft.ran or not unknown:
        return None
    return f"planned, never ran; its {', '.join(unknown)} cannot be known without an item table"


def _check_repeats(drafts: Sequence[Draft]) -> None:
    for draft in drafts:
        value = draft.fields["repeat"]
        try:
            number = int(value)
            whole = float(value) == number and not isinstance(value, bool)
        except (TypeError, ValueError, OverflowError):
            whole = False
        if not whole:
            raise PairingError(f"`repeat` must count from 0, but is {value!r} in {draft.source}.")
        if not -MOST_REPEATS <= number < MOST_REPEATS:
            raise PairingError(f"`repeat` must be below {MOST_REPEATS}, but is {number} in {draft.source}.")
        draft.fields["repeat"] = number


def _why_missing(
    name: str, path: Path | None, missing: list[str], drafts: Sequence[Draft], context: Context
) -> str:
    if path is not None:
        return (
            f"{name}={name_of(path)!r} must hold a value in every record, but holds none in "
            f"{len(missing)} of {len(drafts)}: {listed(missing)}. Exclude these items with exclude=, or map "
            f"{name} by another path or an item table, or read these files by themselves."
        )
    there = f"{ready_line(name, context.names())} {context.there_is(drafts)}".strip()
    if name == "family":
        return (
            'No family column: family="item" must be written if every item is a unit of its own, '
            f"or family= must name a path, a pattern or an item-table column. {there}"
        )
    if name == "model":
        return (
            f"The model must be known, but {len(missing)} of {len(drafts)} records do not name it: "
            f"{listed(missing)}. Map model=, or give the paths as {{model name: path}}. {there}"
        )
    return (
        f"`{name}` must be known in every record, but is not in {len(missing)} of {len(drafts)}: "
        f"{listed(missing)}. Map {name}=. {there}"
    )


def planned_rows(
    drafts: Sequence[Draft], items: ItemTable, columns: Mapping[str, Path], file: int, excluded: Sequence[str]
) -> Iterator[Draft]:
    """Yield an `absent` draft for every item of the table that has no record in a cell.

    Parameters
    ----------
    drafts : sequence of Draft
        Records with all their columns.
    items : ItemTable
    columns : mapping of str to path
        Columns that are mapped, to be filled from the table or from other records of the item.
    file : int
        The item table's place in the ledger.
    excluded : sequence of str
        Patterns of items that are no part of the plan.
    """
    cells = dict.fromkeys(tuple(draft.fields[name] for name in CELL) for draft in drafts)
    ran = {(tuple(d.fields[name] for name in CELL), d.fields["item"], d.fields["variant"]) for d in drafts}
    variants: dict[str, dict[str, None]] = {}
    for draft in drafts:
        variants.setdefault(draft.fields["item"], {})[draft.fields["variant"]] = None
    for item in items.rows:
        if any(fnmatch.fnmatchcase(item, pattern) for pattern in excluded):
            continue
        presentations: dict[Any, None] = variants.get(item) or {_planned_variant(item, items, columns): None}
        for cell in cells:
            for variant in presentations:
                if (cell, item, variant) not in ran:
                    fields = dict(zip(CELL, cell, strict=True)) | {"item": item, "variant": variant}
                    fields |= {"status": "absent", "reason": "not_run"}
                    where = f"{items.shown}:{item} ({', '.join(str(part) for part in cell if part != '')})"
                    yield Draft(file, where, where, fields, {}, {})


def _planned_variant(item: str, items: ItemTable, columns: Mapping[str, Path]) -> str | None:
    path = columns.get("variant")
    if path is None:
        return "base"
    draft = Draft(0, items.shown, "", {"item": item}, {}, {})
    try:
        return as_text(resolve("variant", path, [draft], Context(items, [Tally(items.shown)]))[0])
    except PairingError:
        return None


Raws = Callable[[Sequence[Draft]], Mapping[tuple[int, str], Any]]
"""Raw contents of records by file and source, read again; for messages."""


def merge_copies(drafts: Sequence[Draft], tallies: list[Tally], raws: Raws) -> list[Draft]:
    """Keep one of every reply that was logged twice; refuse different replies under one key.

    Parameters
    ----------
    drafts : sequence of Draft
    tallies : list of Tally
    raws : callable
        Gives the raw records of drafts, where a message must say how they differ.

    Raises
    ------
    PairingError
        When two replies share a key, or when one reply was logged with different contents.
    """
    first: dict[tuple[Any, ...], Draft] = {}
    clashes: list[tuple[Draft, Draft]] = []
    for draft in drafts:
        key = tuple(draft.fields[name] for name in schema.KEY)
        other = first.setdefault(key, draft)
        if other is draft:
            continue
        if other.identity != draft.identity:
            clashes.append((other, draft))
            continue
        check_same(other, draft)
        tallies[draft.file].merged += 1
    if clashes:
        raise clash_of(clashes, raws, len({draft.fields["model"] for draft in drafts}) == 1)
    return list(first.values())


def clash_of(clashes: list[tuple[Draft, Draft]], raws: Raws, one_model: bool) -> PairingError:
    """Error for different replies under one key: shows both, and what would tell them apart."""
    return PairingError(_clash(clashes) + _how_they_differ(clashes, raws, one_model))


def check_same(one: Draft, other: Draft) -> None:
    """Refuse two records of one reply that tell of it differently."""
    names = (*CONTENT, *(name for name in one.fields | other.fields if schema.is_score(name)))
    differing = [name for name in dict.fromkeys(names) if one.fields.get(name) != other.fields.get(name)]
    if differing:
        raise PairingError(
            f"{one.source} and {other.source} are one reply logged twice, so they must agree, but differ in "
            f"{listed(differing)}. Read one of them only, or tell them apart with run=."
        )


def _clash(clashes: list[tuple[Draft, Draft]]) -> str:
    one, other = clashes[0]
    fields = one.fields
    key = ", ".join(f"{name}={fields[name]!r}" for name in schema.KEY if fields[name] not in ("", None))
    return (
        f"A key must be one reply, but {len(clashes)} records repeat one: {one.source} and {other.source} "
        f"are both ({key}). If they are presentations, repeats, conditions, runs or models, say so with "
        "variant=, repeat=, condition=, run= or model=; otherwise read one of them only."
    )


def _how_they_differ(clashes: list[tuple[Draft, Draft]], raws: Raws, one_model: bool) -> str:
    groups: dict[int, list[Draft]] = {}
    for one, other in clashes:
        group = groups.setdefault(id(one), [one])
        if len(group) < PROBED_RECORDS:
            group.append(other)
    probed = list(groups.values())[:PROBED_KEYS]
    found = raws([draft for group in probed for draft in group])
    return suggestion(
        [[found.get((draft.file, draft.source)) for draft in group] for group in probed], one_model
    )
