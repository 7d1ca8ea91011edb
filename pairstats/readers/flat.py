"""Flat tables as columns: what `tables`, `pairing` and `scoring` do to a record, done to a block of them.

Only what is certain to give the same rows is done so. For anything else `UnusualError` is raised, and the records
are read one by one, which names the file and record of whatever is wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pairstats import schema
from pairstats.readers import tables
from pairstats.readers.blocks import EXACT, FORMS, Block, UnusualError, blocks_of, by_word
from pairstats.readers.drafts import Draft, Tally, as_text
from pairstats.readers.files import TABLES, Given
from pairstats.readers.mapping import OF_THE_ITEM, ORDER, Extract, Path, name_of
from pairstats.readers.pairing import DEFAULTS, REQUIRED, WORDS, fitting
from pairstats.readers.parts import Part
from pairstats.readers.reading import Reading
from pairstats.readers.scoring import RESCORED, Format, column_of, rescore, scale_confidence
from pairstats.readers.sheets import form_of

Column: TypeAlias = pa.ChunkedArray
Fields: TypeAlias = dict[str, Column]
_OF_A_REPLY = ("source", "model", "status", "reason", "response", "answer", "gold", "confidence")
"""Columns that scoring a reply again looks at."""
WIDEST = 1000
"""Columns of a table that is read as columns."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Which column of a table is which of the format."""

    roles: Mapping[str, str]
    scores: Mapping[str, str]
    primary: str | None
    from_one: bool
    """Whether repeats are counted from 1 where their smallest number is 1."""


def flat_form(given: Given, reading: Reading) -> str:
    r"""Say how a flat table is written that may be read as columns; empty if it may not.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pairstats.readers.files import find_files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "a.csv")
    ...     _ = file.write_text("item,model,score\nq1,m,1\n")
    ...     flat_form(find_files(file)[0], Reading())
    'csv'
    """
    plain = reading.items is None and not reading.options.models
    if not plain or reading.reader not in (None, TABLES):
        return ""
    form = form_of(given.file)
    return form if form in FORMS else ""


def flat_parts(
    given: Given, form: str, reading: Reading, tally: Tally, place: int
) -> Iterator[tuple[tuple[str, ...], Layout, Part]]:
    """Yield the columns met so far, what they mean, and the rows of a block; enter them in the tally.

    Parameters
    ----------
    given : Given
    form : str
        As `flat_form` says.
    reading : Reading
    tally : Tally
    place : int
        Its position in the ledger.

    Raises
    ------
    UnusualError
        When the records must be read one by one.
    """
    names: tuple[str, ...] = ()
    layout: Layout | None = None
    for block in blocks_of(given.file, form):
        names = tuple(dict.fromkeys((*names, *block.names)))
        if len(names) > WIDEST:
            raise UnusualError("very many columns")
        if layout is None:
            layout = layout_of(names, form, reading)
        elif block.names != names and layout_of(names, form, reading) != layout:
            raise UnusualError("columns that come late and change what others mean")
        yield names, layout, _FlatBlock(given, reading, tally, layout, block).part(names, place)
    if layout is None:
        raise UnusualError("no row")


def layout_of(names: tuple[str, ...], form: str, reading: Reading) -> Layout:
    """Find what columns mean by their names.

    Raises
    ------
    UnusualError
        When names alone do not tell it.
    """
    roles, scores = tables.roles_of(names), tables.scores_of(names, reading.score)
    added = (*reading.constants, *reading.columns)
    if not tables.is_plain(names, form) or any(map(schema.is_score, added)):
        raise UnusualError("no plain table")
    if len(scores) > 1 and reading.score is None and reading.answers is None:
        raise UnusualError("several scores")
    if reading.score is not None and reading.score not in scores:
        raise UnusualError("a score that is no column")
    primary = reading.score or (None if reading.answers else next(iter(scores), None))
    from_one = "repeat" in roles and tables.plain_of(roles["repeat"]) in tables.FROM_ONE
    if from_one and any(name_of(path) == "repeat" for path in reading.columns.values()):
        raise UnusualError("a mapping of repeats that may be counted from 1")
    asked = {name_of(path) for column, path in reading.columns.items() if name_of(path) != column}
    if asked & reading.columns.keys() - {"item"}:
        raise UnusualError("a mapping of a column that is mapped itself, which counts where it has a value")
    return Layout(roles, scores, primary, from_one and "repeat" not in reading.columns)


class _FlatBlock:
    """A block on its way to rows: the columns found so far."""

    def __init__(
        self, given: Given, reading: Reading, tally: Tally, layout: Layout, block: Block
    ) -> None:  # fmt: skip
        self.given, self.reading, self.tally = given, reading, tally
        self.layout, self.block = layout, block
        if "model" not in block.names and any(pa.types.is_struct(field.type) for field in block.table.schema):
            raise UnusualError("objects that may be maps by model")
        self.fields: Fields = {}
        self.scores = {name: self._score(column) for name, column in layout.scores.items()}

    def part(self, names: tuple[str, ...], place: int) -> Part:
        """Do what is done to every record, in the same order."""
        self._find_roles()
        least = self._least_repeat()
        self.fields["status"] = self._status()
        further = tables.further_of(names, [tables.Slot(None, self.layout.roles, self.layout.scores)])
        further = [name for name in further if name in self.block.names and self._keep(name)]
        if self.given.model is not None:
            for own in pc.unique(self.fields.get("model", pa.chunked_array([], pa.string()))).to_pylist():
                if own not in (None, self.given.model):
                    self.tally.renamed.setdefault(own, self.given.model)
            self.fields["model"] = self._constant(self.given.model)
        self._map("item")
        self.tally.records += len(self.block)
        fits = self._exclude()
        for name, value in self.reading.constants.items():
            self.fields[name] = _typed(name, self._constant(value))
        others = [name for name in self.reading.others if name not in (*ORDER, "options")]
        for name in (*ORDER[1:], *others):
            if name not in self.reading.constants and (name in self.reading.columns or name in DEFAULTS):
                self._map(name)
        self._check_key()
        fixed = [name for name in (*self.reading.constants, *others) if name not in schema.NAMES]
        fixed += self._place_scores()
        if self.reading.answers is None:
            self._scale_confidence()
        else:
            fixed += self._rescore(self.reading.answers)
        met = self._met(further, fixed)  # a NaN is met, and becomes null
        self._drop_nan()
        return Part(
            pa.table(self.fields), place, met, fits,
            pa.array(self.block.numbers), least, self.layout.primary,
        )  # fmt: skip

    def _met(self, further: Sequence[str], fixed: Sequence[str]) -> dict[str, tuple[int, int, int]]:
        """Where columns outside the format are first met, as if records held what is not null only."""
        met = {name: (0, 1, place) for place, name in enumerate(fixed)}
        for place, name in enumerate(further):
            first = pc.index(pc.is_valid(self.fields[name]), True).as_py()
            if first >= 0:
                met[name] = min((first, 0, place), met.get(name, (first, 0, place)))
        return met

    def _constant(self, value: Any) -> Column:
        if not isinstance(value, str | int | float) or value != value:
            raise UnusualError("a constant that is no plain value")
        return pa.chunked_array([pa.repeat(pa.scalar(value), len(self.block))])

    def _raw(self, name: str) -> Column | None:
        return self.block.table.column(name) if name in self.block.names else None

    def _find_roles(self) -> None:
        first, shown = self.block.numbers, self.given.file.shown
        numbers = pc.cast(pa.array(first), pa.string())
        self.fields["source"] = pa.chunked_array([pc.binary_join_element_wise(shown, numbers, ":")])
        for role, name in self.layout.roles.items():
            cells = self._raw(name)
            if cells is None or role == "status":
                continue
            if role in tables.INTEGERS:
                self.fields[role] = _whole(cells)
            elif role in tables.REALS:
                self.fields[role] = _number(cells, tables.real_of)
            else:
                self.fields[role] = cells if role == "confidence" else _text(cells)

    def _least_repeat(self) -> int | None:
        if not self.layout.from_one or "repeat" in self.reading.constants:
            return None
        if "repeat" not in self.fields or self.fields["repeat"].null_count:
            raise UnusualError("a repeat that is not told, where others are counted from 1")
        return pc.min(self.fields["repeat"]).as_py()

    def _score(self, name: str) -> Column:
        cells = self._raw(name)
        if cells is None:
            return pa.chunked_array([pa.nulls(len(self.block), pa.float64())])
        values = _number(cells, tables.score_or_none)
        if pc.any(pc.is_inf(values)).as_py():
            raise UnusualError("a score without end")
        return values

    def _status(self) -> Column:
        told = [self.fields[name] for name in ("answer", "response") if name in self.fields]
        told += list(self.scores.values())
        says = self.layout.scores or {"answer", "response"} & self.layout.roles.keys()
        found = self._constant(schema.ANSWERED if told or not says else "absent")
        if told and pa.compute.min(pa.array([column.null_count for column in told])).as_py():
            ran = pc.is_valid(told[0])
            for column in told[1:]:
                ran = pc.or_(ran, pc.is_valid(column))
            found = pc.if_else(ran, schema.ANSWERED, "absent")
        cells = self._raw(self.layout.roles.get("status", ""))
        if cells is None:
            return found
        words = by_word(_text(cells), tables.status_word, pa.string())
        if words.null_count != cells.null_count:
            raise UnusualError("a status that is no word of the format")
        return pc.coalesce(words, found) if words.null_count else words

    def _keep(self, name: str) -> bool:
        """Take a further column, where it holds plain values."""
        cells = self._raw(name)
        if cells is None or not _is_plain(cells.type) or cells.null_count == len(cells):
            return False
        if pa.types.is_floating(cells.type):
            _check_exact(cells)
        self.fields[name] = cells
        return True

    def _map(self, name: str) -> None:
        """Fill in a column that is mapped or has a default."""
        path = self.reading.columns.get(name)
        if path is None:
            values, default = self.fields.get(name), None if name in REQUIRED else DEFAULTS.get(name)
            if values is None:
                if default is None:
                    raise UnusualError(f"no column {name!r}")
                values = self._constant(default)
            elif default is not None and values.null_count:
                values = pc.fill_null(values, pa.scalar(default, values.type))
        else:
            values = self._resolve(name, path)
            if name in OF_THE_ITEM and values.null_count:
                absent = pc.equal(self.fields["status"], "absent")
                if pc.any(pc.and_(absent, pc.is_null(values))).as_py():
                    raise UnusualError("what an item that never ran cannot tell")
        # What a key means is for the answer format to say: the number 7 is not the text "7" to all of them.
        raw_key = name == "gold" and self.reading.answers is not None
        self.fields[name] = values if raw_key else _typed(name, values)

    def _resolve(self, column: str, path: Path) -> Column:
        values = self._candidate(column, name_of(path))
        if not _is_plain(values.type):
            raise UnusualError(f"{column} of values that are not plain")
        if not isinstance(path, Extract):
            return values
        texts, pattern = _text(values), re.compile(path.pattern)

        def group(text: str) -> str | None:
            match = pattern.search(text)
            if match is None:
                raise UnusualError("a pattern that does not fit")
            return match[1]

        return by_word(texts, group, pa.string())

    def _candidate(self, column: str, name: str) -> Column:
        """Look a name up as `mapping` does: a column already known, then the record."""
        own, raw = self.fields.get(name), self.block.find(name) if name else None
        same = raw is None or self.layout.roles.get(name, name) == name
        if own is not None and name != column and (own.null_count == 0 or same):
            return own
        if own is not None and raw is not None and not same:
            raise UnusualError(f"{name!r} may be meant in two ways")
        if raw is not None or own is not None:
            return own if raw is None else raw
        if name == "file":
            return self._constant(self.tally.file)
        raise UnusualError(f"{name!r} is not found")

    def _exclude(self) -> frozenset[str]:
        """Leave out the items that fit a pattern; give the patterns that fit any."""
        if not self.reading.exclude:
            return frozenset()
        items = self.fields["item"]
        if items.null_count:
            raise UnusualError("a record without an item")
        fits, why = fitting(pc.unique(items).to_pylist(), self.reading.exclude)
        reasons = by_word(items, why.get, pa.string())
        left_out = pc.is_valid(reasons)
        self.tally.left_out += zip(
            self.fields["source"].filter(left_out).to_pylist(),
            reasons.filter(left_out).to_pylist(),
            strict=True,
        )
        kept = pc.invert(left_out)
        self.fields = {name: values.filter(kept) for name, values in self.fields.items()}
        self.scores = {name: values.filter(kept) for name, values in self.scores.items()}
        rows = np.asarray(kept)
        self.block = Block(self.block.names, self.block.table.filter(kept), self.block.numbers[rows])
        return fits

    def _check_key(self) -> None:
        for name in schema.KEY:
            if self.fields[name].null_count:
                raise UnusualError(f"a record without {name}")

    def _place_scores(self) -> list[str]:
        """Write the scores into their columns; give the names of the further ones."""
        missing = pc.is_in(self.fields["status"], value_set=pa.array(schema.MISSING))
        some_missing, scored = pc.any(missing).as_py(), None
        further = []
        for name, column in self.scores.items():
            values = self._without_nan(column)
            if some_missing:
                there = pc.and_(missing, pc.is_valid(values))
                scored = there if scored is None else pc.or_(scored, there)
                values = pc.if_else(missing, pa.scalar(None, pa.float64()), values)
            place = "score" if name == self.layout.primary else column_of(name)
            self.fields[place] = values
            further += [] if place == "score" else [place]
            if self.reading.options.keep_going and _leaves(values, self.reading.score_range):
                raise UnusualError("scores to leave out")
        if scored is not None:
            self.tally.score_ignored_on_error += pc.sum(scored).as_py() or 0
        return further

    def _rescore(self, answers: Format) -> list[str]:
        """Score every reply again, as `scoring` does it; give the name of a further score."""
        keep_score = self.layout.primary is not None
        there = [name for name in _OF_A_REPLY if name in self.fields]
        columns = [self.fields[name].to_pylist() for name in there]
        options = self.reading.columns.get("options")
        if options is not None:
            there.append("options")
            columns.append(_option_maps(self._candidate("options", name_of(options)), options))
        drafts = [
            Draft(0, row[0], "", dict(zip(there, row, strict=True)), {}, {})
            for row in zip(*columns, strict=True)
        ]
        rescore(drafts, answers, keep_score)
        scale_confidence(drafts, self.reading.confidence_scale, [self.tally])
        new = {"status": pa.string(), "reason": pa.string(), "answer": pa.string(), "gold": pa.string(),
               "confidence": pa.float64(), RESCORED if keep_score else "score": pa.float64()}  # fmt: skip
        for name, kind in new.items():
            values = [draft.fields.get(name) for draft in drafts]
            if kind == pa.string():
                values = [as_text(value) for value in values]
            self.fields[name] = pa.chunked_array([pa.array(values, kind)])
        return [RESCORED] if keep_score else []

    def _scale_confidence(self) -> None:
        stated = self.fields.get("confidence")
        if stated is None:
            return
        if pa.types.is_boolean(stated.type):
            raise UnusualError("a confidence that is true or false")
        if pa.types.is_string(stated.type):
            values = by_word(stated, _stated, pa.float64())
        else:
            values = self._without_nan(_cast(stated, pa.float64()))
        scale = self._scale()
        by_model = not isinstance(scale, float)
        for each in pc.unique(scale.filter(pc.is_valid(values))).to_pylist() if by_model else [scale]:
            here = values if isinstance(scale, float) else values.filter(pc.equal(scale, each))
            small = pc.sum(pc.and_(pc.greater(here, 0.0), pc.less(here, 1.0))).as_py() or 0
            self.tally.count_stated(each, small, pc.sum(pc.greater(here, 1.0)).as_py() or 0)
        values = pc.divide(values, scale)
        low, high = -schema.TOLERANCE, 1.0 + schema.TOLERANCE
        inside = pc.and_(pc.greater_equal(values, low), pc.less_equal(values, high))
        outside = pc.sum(pc.invert(inside)).as_py() or 0
        self.tally.confidence_out_of_range += outside
        if outside:
            values = pc.if_else(inside, values, pa.scalar(None, pa.float64()))
        self.fields["confidence"] = pc.max_element_wise(
            pc.min_element_wise(values, 1.0, skip_nulls=False), 0.0, skip_nulls=False
        )

    def _scale(self) -> Any:
        scale = self.reading.confidence_scale
        if not isinstance(scale, Mapping):
            return float(scale)
        scales = by_word(self.fields["model"], scale.get, pa.float64())
        if scales.null_count:
            raise UnusualError("a model without a scale")
        return scales

    def _drop_nan(self) -> None:
        for name, values in self.fields.items():
            if pa.types.is_floating(values.type):
                values = self.fields[name] = self._without_nan(values)
            if name not in schema.NAMES and values.null_count == len(values):
                self.fields[name] = pa.chunked_array([pa.nulls(len(values))])  # of no type of its own

    def _without_nan(self, values: Column) -> Column:
        nan = pc.is_nan(values)
        count = pc.sum(nan).as_py() or 0
        self.tally.nan_to_null += count
        return pc.if_else(nan, pa.scalar(None, pa.float64()), values) if count else values


def _is_plain(kind: pa.DataType) -> bool:
    return (
        pa.types.is_string(kind) or pa.types.is_int64(kind) or pa.types.is_float64(kind)
        or pa.types.is_boolean(kind) or pa.types.is_null(kind)
    )  # fmt: skip


def _text(cells: Column) -> Column:
    """Column as text, each value as `as_text` writes it."""
    if not _is_plain(cells.type):
        raise UnusualError("values that are not plain")
    if pa.types.is_float64(cells.type):
        _check_exact(cells)
        if pc.any(pc.is_nan(cells)).as_py():
            raise UnusualError("NaN in a column of words")
        return by_word(cells, as_text, pa.string())
    return cells if pa.types.is_string(cells.type) else cells.cast(pa.string())


DIGITS = r"^\d+$"
"""How a whole number is written in a text cell."""


def _check_exact(cells: Column) -> None:
    """Refuse floats that may stand for another whole number than the one in the file."""
    if cells.null_count < len(cells) and pc.any(pc.greater_equal(pc.abs(cells), EXACT)).as_py():
        raise UnusualError("large numbers")


def _typed(name: str, cells: Column) -> Column:
    if name == "repeat":
        if pa.types.is_boolean(cells.type):
            raise UnusualError("a repeat that is true or false")
        if (
            pa.types.is_string(cells.type)
            and pc.any(pc.invert(pc.match_substring_regex(cells, DIGITS))).as_py()
        ):
            raise UnusualError("a repeat that is not written as a whole number")
        return _whole(cells)
    return _text(cells) if name in WORDS or name in ("gold", "answer") else cells


def _number(cells: Column, of_text: Callable[[Any], float | None]) -> Column:
    """Column as floats; a text is read by a function of `tables`."""
    if not _is_plain(cells.type):
        raise UnusualError("values that are not plain")
    values = (
        by_word(cells, of_text, pa.float64()) if pa.types.is_string(cells.type)
        else cells if pa.types.is_float64(cells.type) else _cast(cells, pa.float64())
    )  # fmt: skip
    if values.null_count != cells.null_count:
        raise UnusualError("a cell that is no number")
    return values


def _whole(cells: Column) -> Column:
    """Column as whole numbers, all of them exact as floats too."""
    if not pa.types.is_int64(cells.type):
        cells = _number(cells, tables.real_of)
    if cells.null_count < len(cells):
        if pa.types.is_int64(cells.type):
            found = pc.min_max(cells).as_py()
            if max(abs(found["min"]), abs(found["max"])) >= EXACT:
                raise UnusualError("large numbers")
        else:
            _check_exact(cells)
    return _cast(cells, pa.int64())


def _cast(cells: Column, kind: pa.DataType) -> Column:
    try:
        return cells.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UnusualError(str(error)) from error


def _stated(text: str) -> float:
    if text.strip().endswith("%"):
        raise UnusualError("a confidence in percent among others")
    try:
        return float(text)
    except ValueError:
        return math.nan


def _option_maps(cells: Column, path: Path) -> list[Any]:
    """Option map of every row; labels that other rows have and this one has not are null."""
    kind = cells.type
    inner = [field.type for field in kind] if pa.types.is_struct(kind) else [kind]
    inner = [kind.value_type] if pa.types.is_list(kind) else inner
    if isinstance(path, Extract) or not all(map(pa.types.is_string, inner)):
        raise UnusualError("options that are not texts")
    return cells.to_pylist()


def _leaves(values: Column, limits: tuple[float, float]) -> bool:
    found = pc.min_max(values).as_py()
    return found["min"] is not None and (
        schema.within(found["min"], limits) is None or schema.within(found["max"], limits) is None
    )
