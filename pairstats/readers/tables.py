"""Plain tables of results: one row a decision (long), or one row an item and columns or a map by model (wide).

Columns are known by the names in `ALIASES`. Ids are the text in the file: ``007``, ``1e5``, ``NA`` and
``1.10`` stay as they are, and only an empty cell is missing.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pairstats import schema
from pairstats.errors import ReadError, listed
from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile, digest
from pairstats.readers.drafts import MISSING, Word, as_text
from pairstats.readers.jsonlines import PROBED_LINES, real_of
from pairstats.readers.mapping import lookup
from pairstats.readers.maps import spread
from pairstats.readers.row_states import state_of_row
from pairstats.readers.sheets import Row, Sheet, form_of, open_sheet, why_no_table
from pairstats.readers.states import told

ALIASES: Mapping[str, tuple[str, ...]] = {
    "item": ("item", "item_id", "question_id", "sample_id", "instance_id", "task_id", "qid", "id"),
    "model": ("model", "model_name", "model_id", "system"),
    "family": ("family", "family_id"),
    "variant": ("variant", "variant_id"),
    "condition": ("condition",),
    "study": ("study", "benchmark"),
    "split": ("split",),
    "category": ("category",),
    "run": ("run", "run_id"),
    "platform": ("platform",),
    "repeat": ("repeat", "repetition", "epoch", "trial"),
    "status": ("status",),
    "reason": ("reason",),
    "answer": ("answer", "prediction", "predicted", "pred"),
    "gold": ("gold", "gold_answer", "target", "expected", "label", "reference"),
    "outcome": ("outcome",),
    "response": (
        "response",
        "completion",
        "output",
        "model_output",
        "model_response",
        "generation",
        "generated_text",
        "reply",
        "solution",
    ),
    "error": ("error", "error_message", "exception", "is_error"),
    "code": ("status_code", "http_status"),
    "stop": ("finish_reason", "stop_reason"),
    "confidence": ("confidence",),
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
    "latency_s": ("latency_s",),
    "cost_usd": ("cost_usd",),
}
"""Column of the paired long format, and its names in tables; the first one that is there counts."""

SCORE_NAMES = ("score", "correct", "is_correct", "accuracy", "acc", "passed", "exact_match")
DECISIVE = frozenset({*SCORE_NAMES, *ALIASES["answer"], *ALIASES["response"]})
"""Names that say that a column, or an object in one, holds a decision."""
FROM_ONE = ("epoch", "trial")
"""Repeats that are counted from 1 where their smallest number is 1; a `repeat` is counted from 0."""
INTEGERS = ("repeat", "input_tokens", "output_tokens")
REALS = ("latency_s", "cost_usd")
TOLD_BY = ("status", "error", "code", "stop")
"""Roles that tell the status; the cells of all but the first are kept beside."""
RIGHT = frozenset({"true", "yes", "y", "correct", "right", "c", "pass", "passed"})
WRONG = frozenset({"false", "no", "n", "incorrect", "wrong", "i", "fail", "failed"})
FLAG = re.compile(r"^(is|has|was|in|with|needs)_|_?flag$")
"""Names of properties of an item that look like scores."""
PROPERTY = re.compile(r"(^|_)(std|stderr|stdev|sem|ci|variance|p_?value|difficulty|agreement|weight)(_|$)")
"""Names of statistics and of shares that are no score of a model."""

TABLE_NAME = re.compile(r"\.(csv|tsv|parquet|arrow|feather|xlsx)(\.gz|\.zst)?$")

FOREIGN: tuple[frozenset[str], ...] = tuple(map(frozenset, (
    {"doc_id", "resps"}, {"custom_id", "response"}, {"custom_id", "result"}, {"custom_id", "body"},
    {"choices", "object"}, {"testCase"}, {"promptIdx"}, {"evaluation_result_id"}, {"spec"}, {"event_id"},
    {"eval", "samples"}, {"session_id", "chat_history"}, {"instruction", "generator_1"},
    {"request", "response"},
)))  # fmt: skip
"""Keys by which JSON belongs to another platform."""
FOREIGN_UNSCORED = frozenset({"error", "response"})
"""Keys of calls that were only logged; with item, model and score beside them, they are a table's."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Where one model's decision lies in a row.

    Attributes
    ----------
    model : str or None
        The model of a wide table's column; None where a column of the table tells it, or nothing does.
    roles : mapping of str to str
        Column of the format, column of the table.
    scores : mapping of str to str
        Name of the score, column of the table.
    """

    model: str | None
    roles: Mapping[str, str]
    scores: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Profile:
    """What the cells of a column look like, for telling models from properties of the item."""

    known: int = 0
    in_range: int = 0
    kinds: frozenset[str] = frozenset()
    first_other: str = ""

    def seen(self, cell: Any, where: str) -> Profile:
        """Profile with one more cell."""
        if cell is None:
            return self
        value = score_or_none(cell)
        if value is None or schema.within(value, (0.0, 1.0)) is None:
            other = self.first_other or f"{cell!r} ({where})"
            return replace(self, known=self.known + 1, first_other=other)
        word = isinstance(cell, bool) or (isinstance(cell, str) and cell.strip().lower() in RIGHT | WRONG)
        kind = "words" if word else "0 and 1" if value in (0, 1) else "fractions"
        return Profile(self.known + 1, self.in_range + 1, self.kinds | {kind}, self.first_other)

    @property
    def kind(self) -> str:
        """Kind of the whole column: one fraction makes a column of fractions."""
        return next((kind for kind in ("fractions", "words") if kind in self.kinds), "0 and 1")


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
        if _is_foreign(sheet.names, form):
            return Declined("its keys are those of another platform")
        if _holds_decisions(file, sheet):
            return Recognized(form, guess=_guess(file, sheet))
        return Declined(_why_no_decision(sheet))

    def read(self, file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
        """Yield one record a row and model."""
        sheet = spread(open_sheet(file, keep_going=options.keep_going), DECISIVE)
        if twice := alike(sheet.names):
            raise ReadError(
                f"Column names of {file.shown} must differ by more than case and blanks, but {listed(twice, 8)} do "
                "not, and each may be what counts. Write them alike, or rename what is another column."
            )
        slots = _slots(file, sheet, options)
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


def is_plain(names: tuple[str, ...], form: str) -> bool:
    """Whether names alone say that a table is plain and long: a decision a row, answered or scored."""
    roles, scores = roles_of(names), scores_of(names, None)
    says = bool(roles.keys() & {"answer", "response"} or scores or _blocks(names))
    return says and bool("model" in roles or scores) and not _is_foreign(names, form)


def _is_foreign(names: tuple[str, ...], form: str) -> bool:
    keys = {name.strip() for name in names}
    scored = {"item", "model"} <= roles_of(names).keys() and bool(scores_of(names, None))
    foreign = FOREIGN if scored else (*FOREIGN, FOREIGN_UNSCORED)
    return form.startswith("json") and any(each <= keys for each in foreign)


def plain_of(name: str) -> str:
    """Write a column's name as `ALIASES` has it."""
    return re.sub(r"[\s.-]+", "_", name.strip().lower())


def alike(names: tuple[str, ...]) -> list[str]:
    """Names that mean the same to a reader and yet differ, of which one would hide the other."""
    meant = {*SCORE_NAMES, *itertools.chain.from_iterable(ALIASES.values())}
    times = Counter(plain for name in names if (plain := plain_of(name)) in meant)
    return [name for name in names if times[plain_of(name)] > 1]


def roles_of(names: tuple[str, ...]) -> dict[str, str]:
    """Find the columns of the format among a table's; the earlier alias wins."""
    by_name = {plain_of(name): name for name in reversed(names)}
    found = {
        role: by_name[alias]
        for role, aliases in ALIASES.items()
        if (alias := next((alias for alias in aliases if alias in by_name), None)) is not None
    }
    prediction = next((by_name[alias] for alias in ALIASES["answer"][1:] if alias in by_name), None)
    if prediction is not None and "answer" in by_name:  # data sets call their key the answer
        found |= {"answer": prediction, "gold": _key(by_name) or by_name["answer"]}
    return found


def _key(by_name: Mapping[str, str]) -> str | None:
    """Column of the key by a name that nothing else has; a label may be anything."""
    return next((by_name[alias] for alias in ALIASES["gold"] if alias in by_name and alias != "label"), None)


def scores_of(names: tuple[str, ...], wanted: str | None) -> dict[str, str]:
    """Score columns by the name of the score; the one that the user names keeps its name as it is."""
    return {
        name if name == wanted else plain_of(name): name
        for name in names
        if name == wanted or plain_of(name) in SCORE_NAMES or plain_of(name).startswith("score_")
    } | _path_of(wanted, names)


def _path_of(wanted: str | None, names: tuple[str, ...]) -> dict[str, str]:
    """Path to a score within an object, where that is what the user names."""
    within = (
        wanted is not None and wanted not in names and any(wanted.startswith(f"{name}.") for name in names)
    )
    return {wanted: wanted} if wanted is not None and within else {}


def _slots(file: RunFile, sheet: Sheet, options: ReadOptions) -> list[Slot]:
    """Find where decisions lie: one place a row, or one a model."""
    roles, scores = roles_of(sheet.names), scores_of(sheet.names, options.score)
    blocks = _blocks(sheet.names)
    if options.models:
        return _named_slots(file, sheet.names, options.models, roles, blocks)
    if "model" in roles or scores:
        return [Slot(None, roles, scores)]
    if blocks:
        return [_block_slot(model, blocks[model], roles) for model in blocks]
    models = _model_columns(file, sheet, roles)
    return [_column_slot(name, name, roles) for name in models] or [Slot(None, roles, scores)]


def _holds_decisions(file: RunFile, sheet: Sheet) -> bool:
    """Whether columns say by name that they hold decisions, or may hold scores beside an item or model."""
    roles = roles_of(sheet.names)
    says = bool(roles.keys() & {"answer", "response"} or scores_of(sheet.names, None) or _blocks(sheet.names))
    named = len(roles.keys() & {"item", "model"})
    if says and named == 2:
        return True
    if sheet.form.startswith("json") and _is_nested(sheet):
        return False
    is_table = TABLE_NAME.search(file.path.name.lower()) is not None
    return says or named == 2 or (bool(named or is_table) and bool(_likely_scores(file, sheet, roles)))


def _why_no_decision(sheet: Sheet) -> str:
    names, roles = listed(sheet.names, 8), roles_of(sheet.names)
    if not (roles.keys() & {"answer", "response"} or scores_of(sheet.names, None) or _blocks(sheet.names)):
        return f"no column is an answer or a score by its name: {names}"
    lacking = " or ".join(name for name in ("item", "model") if name not in roles)
    return f"it holds objects, as logs of platforms do, and no column is the {lacking} by its name: {names}"


def _guess(file: RunFile, sheet: Sheet) -> str:
    """Which columns are taken for models by their cells alone."""
    roles, blocks = roles_of(sheet.names), _blocks(sheet.names)
    if "model" in roles or scores_of(sheet.names, None) or blocks:
        return ""
    try:
        models = _model_columns(file, sheet, roles)
    except ReadError:  # which is raised where they are read
        return ""
    told = f"each of these columns is read as a model: {listed(models, 30)}; if not, name those that are: models="
    return told if models else ""


def _is_nested(sheet: Sheet) -> bool:
    """Whether cells hold objects, or lists of them, as other platforms' logs do."""
    rows = [row for _, row in itertools.islice(sheet.rows(), PROBED_LINES) if isinstance(row, dict)]
    parts = (
        each for row in rows for cell in row.values() for each in (cell if isinstance(cell, list) else [cell])
    )
    return any(isinstance(part, dict) for part in parts)


def _blocks(names: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Columns ``<model>__<what>`` by model, for those that hold a model's score, answer or reply."""
    blocks: dict[str, dict[str, str]] = {}
    for name in names:
        model, _, what = name.rpartition("__")
        if model and (roles_of((what,)) or scores_of((what,), None)):
            blocks.setdefault(model, {})[what] = name
    return {model: parts for model, parts in blocks.items() if DECISIVE & {plain_of(what) for what in parts}}


def _block_slot(model: str, parts: Mapping[str, str], roles: Mapping[str, str]) -> Slot:
    own = {role: parts[what] for role, what in roles_of(tuple(parts)).items()}
    scores = {name: parts[what] for name, what in scores_of(tuple(parts), None).items()}
    return Slot(model, _shared(roles) | own, scores)


def _column_slot(model: str, column: str, roles: Mapping[str, str]) -> Slot:
    return Slot(model, _shared(roles), {"score": column})


def _shared(roles: Mapping[str, str]) -> dict[str, str]:
    """Columns of the item in a wide table, where an answer can only be the key."""
    shared = {role: name for role, name in roles.items() if role != "answer"}
    return {"gold": roles["answer"], **shared} if "answer" in roles else shared


def _named_slots(
    file: RunFile, names: tuple[str, ...], models: tuple[str, ...], roles: Mapping[str, str],
    blocks: Mapping[str, Mapping[str, str]],
) -> list[Slot]:  # fmt: skip
    missing = [model for model in models if model not in names and model not in blocks]
    if missing:
        raise ReadError(
            f"{file.shown} must have the model columns that were named, but lacks {listed(missing)}. "
            f"Its columns are {listed(names, 30)}."
        )
    others = {role: name for role, name in roles.items() if name not in models}
    return [
        _column_slot(model, model, others) if model in names else _block_slot(model, blocks[model], others)
        for model in models
    ]


def _model_columns(file: RunFile, sheet: Sheet, roles: Mapping[str, str]) -> list[str]:
    """Columns that are models for certain: all cells scores of one kind, and names that are no flags."""
    likely = _likely_scores(file, sheet, roles)
    if len(likely) < 2:
        return []
    broken = [f"{name!r} has {p.first_other}" for name, p in likely.items() if p.first_other]
    kinds = sorted({p.kind for p in likely.values()})
    flags = [name for name in likely if FLAG.search(plain_of(name)) or PROPERTY.search(plain_of(name))]
    doubt = [
        *broken[:3],
        *([f"they hold {' as well as '.join(kinds)}"] if len(kinds) > 1 else []),
        *([f"{listed(flags)} may be a property of the item"] if flags else []),
        *([] if "item" in roles else ["no column is an item by its name"]),
    ]
    if doubt:
        raise ReadError(
            f"The columns {listed(likely, 12)} of {file.shown} could each be a model, but not for certain: "
            f"{'; '.join(doubt)}. Name those that are: models=(...), or the one score: score=..."
        )
    return list(likely)


def _likely_scores(file: RunFile, sheet: Sheet, roles: Mapping[str, str]) -> dict[str, Profile]:
    """Columns that are mostly scores: one with a broken cell may be a model too, and must not vanish."""
    profiles = {name: Profile() for name in sheet.names if name not in roles.values()}
    for number, row in sheet.rows():
        if not isinstance(row, LeftOut):
            for name in profiles:
                profiles[name] = profiles[name].seen(row.get(name), f"{file.shown}:{number}")
    return {name: p for name, p in profiles.items() if p.known and 2 * p.in_range > p.known}


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


def score_or_none(cell: Any) -> float | None:
    """Score in a cell: a truth value, one of the words for right and wrong, or a number."""
    word = cell.strip().lower() if isinstance(cell, str) else ""
    if word in RIGHT | WRONG:
        return Word(word in RIGHT, word)
    number = real_of(cell)
    return None if number is None or math.isinf(number) else number


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
        if cell is None or role in TOLD_BY:
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


def _unreadable(source: str, column: str, cell: Any, wanted: str) -> ReadError:
    return ReadError(
        f"{source} must have {wanted} in column {column!r}, but has {str(cell)[:60]!r}. Write it so, leave "
        "the cell empty, or pass keep_going=True to leave such rows out and count them."
    )


def _state(
    source: str, row: Row, slot: Slot, fields: Mapping[str, Any], scores: Mapping[str, float | None]
) -> dict[str, str]:
    """Status and reason as the table says; where nothing does, a row with neither score nor answer never ran."""
    status, error, code, stop = (
        row.get(slot.roles[role]) if role in slot.roles else None for role in TOLD_BY
    )
    if status is not None:
        word = status_word(status)
        if word is None:
            raise _unreadable(source, slot.roles["status"], status, f"one of {', '.join(schema.STATUSES)}")
        return {"status": word}
    texts = [fields.get(role) for role in ("answer", "response")]
    state = state_of_row((code, error), stop, texts, list(scores.values()))
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


def further_of(names: tuple[str, ...], slots: list[Slot]) -> list[str]:
    """Columns that have no role, and no name that the format gives a meaning."""
    used = {name for slot in slots for role, name in slot.roles.items() if role not in TOLD_BY[1:]}
    used |= {name for slot in slots for name in slot.scores.values()}
    own = (*used, *schema.NAMES)
    return [name for name in names if name not in own and not schema.is_score(name)]


def _present(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
