"""Plain tables of results: one row a decision (long), or one row an item and columns or a map by model (wide).

Columns are known by the names in `ALIASES`. Ids are the text in the file: ``007``, ``1e5``, ``NA`` and
``1.10`` stay as they are, and only an empty cell is missing.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pairstats import schema
from pairstats.errors import ReadError, listed
from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile, digest
from pairstats.readers.column_names import (
    DECISIVE,
    ERRORS,
    FROM_ONE,
    INTEGERS,
    REALS,
    TOLD_BY,
    alike,
    blocks_of,
    is_foreign,
    plain_of,
    roles_of,
    scores_of,
)
from pairstats.readers.dotted import lookup
from pairstats.readers.drafts import MISSING, as_text
from pairstats.readers.jsonlines import PROBED_LINES, real_of, says_texts
from pairstats.readers.maps import spread
from pairstats.readers.row_states import state_of_row
from pairstats.readers.sheets import Row, Sheet, form_of, open_sheet, why_no_table
from pairstats.readers.slots import Slot, further_of, guess_of, likely_scores, score_or_none, slots_of
from pairstats.readers.states import State, told, words

TABLE_NAME = re.compile(r"\.(csv|tsv|parquet|arrow|feather|xlsx)(\.gz|\.zst)?$")


@dataclass(frozen=True, slots=True)
class TableReader:
    """Reader of plain tables."""

    name: str = "table"

    def recognize(self, file: RunFile) -> Recognized | Declined:
        """Take a table that holds decisions; decline prose, item tables and other platforms' JSON."""
        form = form_of(file)
        if not form:
            return Declined(f"no table: {why_no_table(file)}")
        try:
            sheet = spread(open_sheet(file, keep_going=True), DECISIVE)
        except ReadError as error:
            # A broken table is worth its error; JSON that is no table is some other platform's.
            return (
                Declined(str(error).removeprefix(f"{file.shown} "))
                if form.startswith("json")
                else Recognized(form)
            )
        texts = is_foreign(sheet.names, form) and says_texts(row for _, row in sheet.rows())
        if is_foreign(sheet.names, form, texts=texts):
            return Declined("its keys are those of another platform")
        if _holds_decisions(file, sheet):
            return Recognized(form, guess=guess_of(file, sheet))
        return Declined(_why_no_decision(sheet))

    def read(self, file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
        """Yield one record a row and model."""
        sheet = spread(open_sheet(file, keep_going=options.keep_going), DECISIVE)
        if twice := alike(sheet.names):
            raise ReadError(
                f"Column names of {file.shown} must differ by more than case and blanks, but {listed(twice, 8)} do "
                "not, and each may be what counts. Write them alike, or rename what is another column."
            )
        slots = slots_of(file, sheet, options)
        _check_path(file, sheet, options.score)
        first, further = _first_repeat(sheet, slots), further_of(sheet.names, slots)
        empty = True
        for number, row in sheet.rows():
            empty = False
            if isinstance(row, LeftOut):
                yield row
                continue
            for slot in slots:
                source = f"{file.shown}:{number}" + (f":{slot.model}" if slot.model is not None else "")
                try:
                    fields, scores = _fields(source, row, slot, first), _score_cells(source, row, slot)
                    fields |= _state(source, row, slot, fields, scores)
                except ReadError as error:
                    if not options.keep_going:
                        raise
                    yield LeftOut(source, str(error).split(". ")[0].removeprefix(f"{source} "))
                    continue
                kept = ((name, row.get(name)) for name in further)
                fields |= {name: cell for name, cell in kept if isinstance(cell, str | int | float)}
                yield Record(
                    source, _present(fields), scores, row, digest(file.content_sha256, number, slot.model)
                )
        if empty:
            raise ReadError(f"{file.shown} must hold at least one row, but has only column names.")


READER = TableReader()


def _holds_decisions(file: RunFile, sheet: Sheet) -> bool:
    """Whether columns say by name that they hold decisions, or may hold scores beside an item or model."""
    roles = roles_of(sheet.names)
    says = bool(
        roles.keys() & {"answer", "response"} or scores_of(sheet.names, None) or blocks_of(sheet.names)
    )
    named = len(roles.keys() & {"item", "model"})
    if says and named == 2:
        return True
    if sheet.form.startswith("json") and _is_nested(sheet):
        return False
    is_table = TABLE_NAME.search(file.path.name.lower()) is not None
    return says or named == 2 or (bool(named or is_table) and bool(likely_scores(file, sheet, roles)))


def _why_no_decision(sheet: Sheet) -> str:
    names, roles = listed(sheet.names, 8), roles_of(sheet.names)
    if not (roles.keys() & {"answer", "response"} or scores_of(sheet.names, None) or blocks_of(sheet.names)):
        return f"no column is an answer or a score by its name: {names}"
    lacking = " or ".join(name for name in ("item", "model") if name not in roles)
    return f"it holds objects, as logs of platforms do, and no column is the {lacking} by its name: {names}"


def _is_nested(sheet: Sheet) -> bool:
    """Whether cells hold objects, or lists of them, as other platforms' logs do."""
    rows = [row for _, row in itertools.islice(sheet.rows(), PROBED_LINES) if isinstance(row, dict)]
    parts = (
        each for row in rows for cell in row.values() for each in (cell if isinstance(cell, list) else [cell])
    )
    return any(isinstance(part, dict) for part in parts)


def _check_path(file: RunFile, sheet: Sheet, wanted: str | None) -> None:
    """Refuse a path to a score that leads nowhere in any row: all rows would be without a score."""
    if wanted is None or wanted in sheet.names or wanted not in scores_of(sheet.names, wanted):
        return
    if not any(lookup(row, wanted) is not MISSING for _, row in sheet.rows() if not isinstance(row, LeftOut)):
        raise ReadError(
            f"score={wanted!r} must lead to a score in some row of {file.shown}, but does in none. Its columns are "
            f"{listed(sheet.names, 30)}."
        )


def _first_repeat(sheet: Sheet, slots: list[Slot]) -> int:
    """Smallest number of a repeat that is counted from 1, else 0."""
    column = slots[0].roles.get("repeat")
    if column is None or plain_of(column) not in FROM_ONE:
        return 0
    numbers = (_whole(row.get(column)) for _, row in sheet.rows() if not isinstance(row, LeftOut))
    return 1 if min((number for number in numbers if number is not None), default=0) == 1 else 0


def _whole(cell: Any) -> int | None:
    number = real_of(cell)
    if number is None or not abs(number) < 2**63 or number != int(number):
        return None
    return int(number)


def _score_cells(source: str, row: Row, slot: Slot) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name, column in slot.scores.items():
        cell = lookup(row, column)  # a name with a dot in one row may be a path in another
        cell = None if cell is MISSING else cell
        found[name] = score_or_none(cell)
        if cell is not None and found[name] is None:
            raise _unreadable(source, column, cell, "a number, or a word for right or wrong")
    return found


def _fields(source: str, row: Row, slot: Slot, first_repeat: int) -> dict[str, Any]:
    fields: dict[str, Any] = {"model": slot.model}
    for role, column in slot.roles.items():
        cell = row.get(column)
        if cell is None or role in TOLD_BY or (role == "gold" and cell == []):
            continue
        if role in INTEGERS:
            number = _whole(cell)
            if number is None:
                raise _unreadable(source, column, cell, "a whole number of 64 bits")
            fields[role] = number - first_repeat if role == "repeat" else number
        elif role in REALS:
            fields[role] = real_of(cell)
            if fields[role] is None:
                raise _unreadable(source, column, cell, "a number")
        else:
            fields[role] = cell if role == "confidence" else as_text(cell)
    return fields


def _unreadable(
    source: str, column: str, cell: Any, wanted: str, remedy: str = "Write it so, leave the cell empty"
) -> ReadError:
    return ReadError(
        f"{source} must have {wanted} in column {column!r}, but has {str(cell)[:60]!r}. {remedy}, or pass "
        "keep_going=True to leave such rows out and count them."
    )


def _state(
    source: str, row: Row, slot: Slot, fields: Mapping[str, Any], scores: Mapping[str, float | None]
) -> dict[str, str]:
    """Status and reason as the table says; where nothing does, a row with neither score nor answer never ran."""
    status, stop = (row.get(slot.roles[role]) if role in slot.roles else None for role in ("status", "stop"))
    errors = {role: row.get(slot.roles[role]) for role in ERRORS if role in slot.roles}
    texts = [fields.get(role) for role in ("answer", "response")]
    state = state_of_row(errors, stop, texts, list(scores.values()))
    if status is not None:
        word = status_word(status)
        if word is None:
            wanted = f"one of {', '.join(schema.STATUSES)}"  # an empty cell would make a failure an answer
            remedy = f"Write one of these, or {', '.join(words('table', 'status'))}"
            raise _unreadable(source, slot.roles["status"], status, wanted, remedy)
        state = State(word, state.reason if state is not None and state.status == word else None)
    if state is not None:
        reason = fields.get("reason") or state.reason
        return {"status": state.status, **({} if reason is None else {"reason": reason})}
    says = bool(scores) or any(role in slot.roles for role in ("answer", "response"))
    never = says and all(value is None for value in (*scores.values(), *texts))
    return {"status": "absent" if never else schema.ANSWERED}


def status_word(cell: Any) -> str | None:
    """Status that a cell says; None where it is no word for one."""
    word = str(cell).strip().lower()
    state = told("table", "status", word)
    return word if word in schema.STATUSES else None if state is None else state.status


def _present(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
