"""Which records are one decision: columns by mapping, planned items, copies and contradictions."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pairstats import schema
from pairstats.errors import PairingError, counted, listed
from pairstats.readers import attempts, places
from pairstats.readers.differing import Raws, clash_of
from pairstats.readers.drafts import Draft, Tally, as_text, leave_out
from pairstats.readers.each import MOST_REPEATS
from pairstats.readers.items import ItemTable, joined
from pairstats.readers.likely import pattern_line, ready_line
from pairstats.readers.mapping import ORDER, Context, Path, from_siblings, name_of, resolve

DEFAULTS = {c.name: c.default for c in schema.COLUMNS if c.name in schema.KEY}
WORDS = frozenset({*schema.KEY, "split", "category", "outcome"}) - {"repeat"}
REQUIRED = ("item", "model", "family")
CELL = ("study", "run", "platform", "model", "condition", "repeat")
"""What makes a cell in which every planned item should have run."""
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
        if "=" in pattern and not n:
            what += ", and there is no item table with such a column"
        tallies[0].notes.append(f"exclude {pattern!r} fits {what}")


def map_item(
    drafts: Sequence[Draft], path: Path | None, context: Context, keep_going: bool = False
) -> list[Draft]:
    """Fill in the item ids, as text; gives the drafts that have one."""
    own = [as_text(draft.fields.get("item")) for draft in drafts]
    _fill("item", path, drafts, context)
    for draft, name in zip(drafts, own, strict=True):
        places.keep_while_own(draft, name)
    return _known("item", path, drafts, context, keep_going)


def _known(
    name: str, path: Path | None, drafts: Sequence[Draft], context: Context, keep_going: bool
) -> list[Draft]:
    """Refuse records without a column of the key; with `keep_going` a minority of them is left out and counted."""
    blank = ("",) if keep_going and name in REQUIRED else ()
    missing = [draft for draft in drafts if _lacks(draft, name, blank)]
    if missing and not (keep_going and 2 * len(missing) <= len(drafts)):
        raise PairingError(_why_missing(name, path, missing, drafts, context))
    told = ((draft, f"its {name} is not known" if _lacks(draft, name, blank) else None) for draft in drafts)
    return leave_out(told, list(context.tallies)) if missing else list(drafts)


def _lacks(draft: Draft, name: str, blank: tuple[str, ...]) -> bool:
    value = draft.fields[name]
    return value is None or (isinstance(value, str) and value.strip() in blank)


def map_columns(
    drafts: Sequence[Draft], columns: Mapping[str, Path], constants: Mapping[str, Any], context: Context,
    tallies: list[Tally], keep_going: bool = False,
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
    keep_going : bool, default False
        Leave out, and count, a few records whose place in the key cannot be known, instead of refusing.

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
    names = [name for name in (*ORDER[1:], *(name for name in columns if name not in ORDER))
             if name not in constants and (name in columns or name in DEFAULTS)]  # fmt: skip
    first = _before_the_table(names, columns, context.items)
    for name in first:
        _fill(name, columns.get(name), drafts, context)
    if context.items is not None:
        drafts = joined(drafts, context.items, tallies, keep_going)
    for name in (name for name in names if name not in first):
        _fill(name, columns.get(name), drafts, context)
    kept = leave_out_unplaced(drafts, tallies)
    for name in schema.KEY:
        kept = _known(name, columns.get(name), kept, context, keep_going)
        if name == "repeat":
            kept = _with_repeats(kept, tallies, keep_going)
    return kept


def _before_the_table(
    names: Sequence[str], columns: Mapping[str, Path], table: ItemTable | None
) -> list[str]:
    """Columns to be known before rows of the table are looked up: all but its own, where the item is not enough."""
    if table is None or len(table.keys) == 1:
        return []
    own = {*table.columns, *(f"items.{name}" for name in table.columns)} - table.joined
    return [name for name in names if name not in columns or name_of(columns[name]) not in own]


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


def _with_repeats(drafts: Sequence[Draft], tallies: list[Tally], keep_going: bool) -> list[Draft]:
    """Write repeats as numbers; refuse, or leave out and count, what is none."""
    faults = [_number_repeat(draft) for draft in drafts]
    fault = next(filter(None, faults), None)
    if fault is not None and (not keep_going or 2 * sum(map(bool, faults)) > len(faults)):
        raise PairingError(f"{fault}.")
    return leave_out(zip(drafts, faults, strict=True), tallies)


def _number_repeat(draft: Draft) -> str | None:
    """Write a repeat as a number; gives what is wrong where it is none."""
    value = draft.fields["repeat"]
    try:
        number = int(value)
        whole = float(value) == number and not isinstance(value, bool)
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole or number < 0:
        return f"`repeat` must count from 0, but is {value!r} in {draft.source}"
    if number >= MOST_REPEATS:
        return f"`repeat` must be below {MOST_REPEATS}, but is {number} in {draft.source}"
    draft.fields["repeat"] = number
    return None


def _why_missing(
    name: str, path: Path | None, missing: Sequence[Draft], drafts: Sequence[Draft], context: Context
) -> str:
    told = f"{len(missing)} of {len(drafts)}"
    which = f"{listed(draft.source for draft in missing)}.{_whole_files(missing, drafts, context)}"
    if path is not None:
        return (
            f"{name}={name_of(path)!r} must hold a value in every record, but holds none in {told}: {which} "
            f"Exclude these items with exclude=, or map {name} by another path or an item table, or read these "
            "files by themselves."
        )
    there = f"{ready_line(name, context.names())} {context.there_is(drafts)}".strip()
    if name == "family":
        untold = {draft.fields.get("variant") for draft in drafts} <= {None, DEFAULTS["variant"]}
        ids = pattern_line((str(draft.fields["item"]) for draft in drafts), untold)
        also = ready_line("variant", context.names()) if untold else ""
        return (
            'No family column: family="item" must be written if every item is a unit of its own, '
            f"or family= must name a path, a pattern or an item-table column.{ids}{also} {there}"
        )
    if name == "model":
        return (
            f"The model must be known, but {told} records do not name it: {which} Map model=, or give the paths "
            f"as {{model name: path}}. {there}"
        )
    return f"`{name}` must be known in every record, but is not in {told}: {which} Map {name}=. {there}"


def _whole_files(missing: Sequence[Draft], drafts: Sequence[Draft], context: Context) -> str:
    """Say which files these records are all of, where other files have more: they may hold totals, and no runs."""
    records, lost = (Counter(draft.file for draft in each) for each in (drafts, missing))
    if records.keys() == lost.keys() or any(records[file] > lost[file] for file in lost):
        return ""
    files = listed(context.tallies[file].file for file in lost)
    return f" That is all of {files}: if no runs are in there, leave it out of the paths."


def merge_copies(drafts: Sequence[Draft], tallies: list[Tally], raws: Raws) -> list[Draft]:
    """Keep one of every reply that was logged twice, and of every request that was sent again in another file.

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
    further: dict[tuple[Any, ...], list[Draft]] = {}
    for draft in drafts:
        key = tuple(draft.fields[name] for name in schema.KEY)
        if first.setdefault(key, draft) is not draft:
            further.setdefault(key, []).append(draft)
    groups = [_without_copies([first[key], *others], tallies) for key, others in further.items()]
    rows = [(attempts.last_good(group), group) for group in groups]
    clashes = [clash for row, group in rows if row is None for clash in _clashes_in(group)]
    settled = [(row, group) for row, group in rows if row is not None]
    if clashes:
        raise clash_of(clashes, raws, tallies, [group for _, group in settled])
    attempts.supersede([(row, group) for row, group in settled if len(group) > 1], tallies)
    out = {id(draft) for key, others in further.items() for draft in (first[key], *others)}
    out -= {id(row) for row, _ in settled}
    return [draft for draft in drafts if id(draft) not in out]


def _without_copies(group: Sequence[Draft], tallies: list[Tally]) -> list[Draft]:
    """Merge the records of one key that are one reply."""
    found: dict[str, Draft] = {}
    for draft in group:
        other = found.setdefault(draft.identity, draft)
        if other is not draft:
            check_same(other, draft)
            tallies[draft.file].merged += 1
    return list(found.values())


def _clashes_in(group: Sequence[Draft]) -> list[tuple[Draft, Draft]]:
    """Pairs of records of one key that cannot be one: the replies, where there are two."""
    rivals = [draft for draft in group if attempts.is_reply(draft)]
    rivals = rivals if len(rivals) > 1 else list(group)
    return [(rivals[0], other) for other in rivals[1:]]


def check_same(one: Draft, other: Draft) -> None:
    """Refuse two records of one reply that tell of it differently."""
    names = (*CONTENT, *(name for name in one.fields | other.fields if schema.is_score(name)))
    differing = [name for name in dict.fromkeys(names) if one.fields.get(name) != other.fields.get(name)]
    if differing:
        raise PairingError(
            f"{one.source} and {other.source} are one reply logged twice, so they must agree, but differ in "
            f"{listed(differing)}. Take one of the two out, or tell them apart with run=."
        )
