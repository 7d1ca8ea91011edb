"""A block of a flat table on its way to rows: what `pairing` and `scoring` do to a record, done to its columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from pairstats import schema
from pairstats.readers.cells import (
    Column,
    check_exact,
    check_fraction,
    is_plain,
    number_of,
    text_of,
    typed,
    whole_of,
    without_nan,
)
from pairstats.readers.column_names import ERRORS, INTEGERS, REALS, TOLD_BY
from pairstats.readers.columns import Block, UnusualError, by_word
from pairstats.readers.confidence import scale_column
from pairstats.readers.drafts import Tally, Word
from pairstats.readers.files import Given
from pairstats.readers.item_columns import ItemColumns, agree
from pairstats.readers.jsonlines import real_of
from pairstats.readers.layout import Layout
from pairstats.readers.mapping import OF_THE_ITEM, ORDER, Extract, Path, name_of
from pairstats.readers.pairing import DEFAULTS, REQUIRED, fitting
from pairstats.readers.parts import Part
from pairstats.readers.reading import Reading
from pairstats.readers.replies import REPLY, RESCORED, Format
from pairstats.readers.reply_columns import option_maps, rescore_columns
from pairstats.readers.row_states import states_of_columns
from pairstats.readers.scoring import column_of
from pairstats.readers.slots import Slot, further_of, score_or_none
from pairstats.readers.tables import status_word

Fields: TypeAlias = dict[str, Column]


class FlatBlock:
    """The columns found so far, and what they are found in."""

    def __init__(
        self, given: Given, reading: Reading, tally: Tally, layout: Layout, block: Block
    ) -> None:  # fmt: skip
        self.given, self.reading, self.tally = given, reading, tally
        self.layout, self.block = layout, block
        self.items: ItemColumns | None = None
        self.some_out = False
        self.fields: Fields = {}
        self.scores = {name: self._score(column) for name, column in layout.scores.items()}

    def part(self, names: tuple[str, ...], place: int) -> Part:
        """Do what is done to every record, in the same order."""
        self._find_roles()
        least = self._least_repeat()
        self._find_state()
        further = further_of(names, [Slot(None, self.layout.roles, self.layout.scores)])
        used = {"options"} & self.reading.columns.keys()  # which are for the answers only
        further = [
            name for name in further if name in self.block.names and name not in used and self._keep(name)
        ]
        if self.given.model is not None:
            for own in pc.unique(self.fields.get("model", pa.chunked_array([], pa.string()))).to_pylist():
                if own not in (None, self.given.model):
                    self.tally.renamed.setdefault(own, self.given.model)
            self.fields["model"] = self._constant(self.given.model)
        self._map("item")
        self.tally.records += len(self.block)
        fits = self._exclude()
        if self.reading.items is not None:
            self.items = ItemColumns(self.reading.items, self.reading.item_key, self.fields["item"])
        for name, value in self.reading.constants.items():
            self.fields[name] = typed(name, self._constant(value))
        others = [name for name in self.reading.others if name not in (*ORDER, "options")]
        for name in (*ORDER[1:], *others):
            if name not in self.reading.constants and (name in self.reading.columns or name in DEFAULTS):
                self._map(name)
        self._check_key()
        fixed = [name for name in (*self.reading.constants, *others) if name not in schema.NAMES]
        fixed += self._place_scores()
        if self.reading.answers is None:
            scale_column(self.fields, self.reading.confidence_scale, self.tally)
        else:
            self._rescore(self.reading.answers)
            fixed += [] if self.layout.primary is None else [RESCORED]
        met = self._met(further, fixed)  # a NaN is met, and becomes null
        self._drop_nan()
        named = self.block.identity
        return Part(
            pa.table(self.fields), place, met, fits,
            pa.array(self.block.numbers) if named is None else named.combine_chunks(), least, self.layout.primary,
            size=self.block.size, item_key="" if self.items is None else self.items.key,
        )  # fmt: skip

    def _met(self, further: Sequence[str], fixed: Sequence[str]) -> dict[str, tuple[int, int, int]]:
        """Where columns outside the format are first met, as if records held what is not null only."""
        met = {name: (0, 1, place) for place, name in enumerate(fixed)}
        for place, name in enumerate(further):
            own = self._raw(name)  # a constant or a mapping may have taken its place
            first = -1 if own is None else pc.index(pc.is_valid(own), True).as_py()
            if first >= 0:
                met[name] = min((first, 0, place), met.get(name, (first, 0, place)))
        return met

    def _constant(self, value: Any) -> Column:
        if type(value) not in (str, int, float, bool) or value != value:  # of other kinds records make text
            raise UnusualError("a constant that is no plain value")
        return pa.chunked_array([pa.repeat(pa.scalar(value), len(self.block))])

    def _raw(self, name: str) -> Column | None:
        return self.block.table.column(name) if name in self.block.names else None

    def _of_role(self, role: str) -> Column | None:
        name = self.layout.roles.get(role)  # which may be empty, as an index of pandas is written
        return None if name is None else self._raw(name)

    def _find_roles(self) -> None:
        first, shown = self.block.numbers, self.given.file.shown
        numbers = pc.cast(pa.array(first), pa.string())
        self.fields["source"] = pa.chunked_array(
            [pc.binary_join_element_wise(pa.scalar(shown), numbers, ":")]
        )
        for role, name in self.layout.roles.items():
            cells = self._raw(name)
            if cells is None or role in TOLD_BY:
                continue
            if role in INTEGERS:
                self.fields[role] = whole_of(cells)
            elif role in REALS:
                self.fields[role] = number_of(cells, real_of)
            else:
                self.fields[role] = cells if role == "confidence" else text_of(cells)

    def _least_repeat(self) -> int | None:
        if not self.layout.from_one or "repeat" in self.reading.constants:
            return None
        if "repeat" not in self.fields or self.fields["repeat"].null_count:
            raise UnusualError("a repeat that is not told, where others are counted from 1")
        return pc.min(self.fields["repeat"]).as_py()

    def _score(self, name: str) -> Column:
        cells = self.block.find(name)
        if cells is None and name not in self.layout.roles.values() and "." in name:
            raise UnusualError("a path to a score that no row of a block has")
        if cells is None:
            return pa.chunked_array([pa.nulls(len(self.block), pa.float64())])
        values = number_of(cells, score_or_none)
        if pc.any(pc.is_inf(values)).as_py():
            raise UnusualError("a score without end")
        return values

    def _tell_words(self, name: str) -> None:
        """Note the words that are read as scores."""
        cells = self.block.find(self.layout.scores[name])
        if cells is None or not pa.types.is_string(cells.type):
            return
        read = map(score_or_none, pc.unique(cells).to_pylist())
        self.tally.words |= {value.word: float(value) for value in read if isinstance(value, Word)}

    def _find_state(self) -> None:
        texts = [self.fields[name] for name in ("answer", "response") if name in self.fields]
        told = {role: self._of_role(role) for role in (*ERRORS, "stop")}
        cells = {role: column for role, column in told.items() if column is not None}
        if not all(is_plain(column.type) for column in cells.values()):
            raise UnusualError("an error that is no plain value")
        stop = cells.pop("stop", None)
        status, why = states_of_columns(cells, stop, texts, list(self.scores.values()))
        found, words = self._whether_run([*texts, *self.scores.values()]), self._status_words()
        if status is not None:
            found = pc.coalesce(status, found)
        self.fields["status"] = (
            found if words is None else pc.coalesce(words, found) if words.null_count else words
        )
        if why is None:
            return
        if words is not None:  # which the reason of another state does not explain
            same = pc.or_(pc.is_null(words), pc.fill_null(pc.equal(words, status), False))
            why = pc.if_else(same, why, pa.scalar(None, pa.string()))
        known = self.fields.get("reason")
        if known is not None:
            why = pc.if_else(pc.fill_null(pc.equal(known, ""), False), why, pc.coalesce(known, why))
        self.fields["reason"] = why

    def _whether_run(self, told: list[Column]) -> Column:
        says = self.layout.scores or {"answer", "response"} & self.layout.roles.keys()
        found = self._constant(schema.ANSWERED if told or not says else "absent")
        if told and pa.compute.min(pa.array([column.null_count for column in told])).as_py():
            ran = pc.is_valid(told[0])
            for column in told[1:]:
                ran = pc.or_(ran, pc.is_valid(column))
            found = pc.if_else(ran, schema.ANSWERED, "absent")
        return found

    def _status_words(self) -> Column | None:
        cells = self._of_role("status")
        if cells is None:
            return None
        words = by_word(text_of(cells), status_word, pa.string())
        if words.null_count != cells.null_count:
            raise UnusualError("a status that is no word of the format")
        return words

    def _keep(self, name: str) -> bool:
        """Take a further column, where it holds plain values."""
        cells = self._raw(name)
        if cells is not None and (pa.types.is_binary(cells.type) or pa.types.is_large_binary(cells.type)):
            raise UnusualError("bytes, of which fewer rows at a time may be text")
        if cells is None or not is_plain(cells.type) or cells.null_count == len(cells):
            return False
        if pa.types.is_floating(cells.type):
            check_exact(cells)
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
        self.fields[name] = values if raw_key else typed(name, values)

    def _resolve(self, column: str, path: Path) -> Column:
        values = self._candidate(column, name_of(path))
        if not is_plain(values.type):
            raise UnusualError(f"{column} of values that are not plain")
        if pa.types.is_floating(values.type):
            check_exact(values)
        if not isinstance(path, Extract):
            return values
        texts, pattern = text_of(values), re.compile(path.pattern)

        def group(text: str) -> str | None:
            match = pattern.search(text)
            if match is None:
                raise UnusualError("a pattern that does not fit")
            return match[1]

        return by_word(texts, group, pa.string())

    def _candidate(self, column: str, name: str) -> Column:
        """Look a name up as `mapping` does: a column already known, then the record."""
        own, raw = self.fields.get(name), self.block.find(name)
        self._check_there(name, raw)
        joined = None if self.items is None else self.items.find(name)
        same = raw is None or self.layout.roles.get(name, name) == name
        if own is not None and name != column and (own.null_count == 0 or (same and joined is None)):
            return own
        if own is not None and raw is not None and not same:
            raise UnusualError(f"{name!r} may be meant in two ways")
        if joined is not None:
            if (own is not None and name != column) or (raw is not None and not agree(raw, joined)):
                raise UnusualError(f"{name!r} is told by the record and by the item table")
            return joined if raw is None else raw
        if raw is not None or own is not None:
            return own if raw is None else raw
        if name == "file":
            return self._constant(self.tally.file)
        raise UnusualError(f"{name!r} is not found")

    def _check_there(self, name: str, raw: Column | None) -> None:
        """Refuse a name that records may lack, where that is not the same as to hold null."""
        if raw is None or not raw.null_count:
            return
        if name == "file" or (self.some_out and raw.null_count == len(raw)):
            raise UnusualError(f"{name!r} may not be in each record, or in none that is kept")

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
        self.some_out = bool(pc.any(left_out).as_py())
        self.tally.left_out += zip(
            self.fields["source"].filter(left_out).to_pylist(),
            reasons.filter(left_out).to_pylist(),
            strict=True,
        )
        kept = pc.invert(left_out)
        self.fields = {name: values.filter(kept) for name, values in self.fields.items()}
        self.scores = {name: values.filter(kept) for name, values in self.scores.items()}
        self.block = self.block.filter(kept)
        if self.some_out and any(values.null_count == len(values) for values in self.scores.values()):
            raise UnusualError("a score that only records left out may have")
        return fits

    def _check_key(self) -> None:
        blank = REQUIRED if self.reading.options.keep_going else ()
        for name in schema.KEY:
            if self.fields[name].null_count or (
                name in blank and pc.any(pc.equal(self.fields[name], "")).as_py()
            ):
                raise UnusualError(f"a record without {name}")

    def _place_scores(self) -> list[str]:
        """Write the scores into their columns; give the names of the further ones."""
        missing = pc.is_in(self.fields["status"], value_set=pa.array(schema.MISSING))
        some_missing, scored = pc.any(missing).as_py(), None
        further = []
        for name, column in self.scores.items():
            self._tell_words(name)
            values = without_nan(self.tally, column)
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

    def _rescore(self, answers: Format) -> None:
        ran = pc.invert(pc.is_in(self.fields["status"], value_set=pa.array(schema.MISSING)))
        replies = [self.fields[name].filter(ran) for name in REPLY if name in self.fields]
        if pc.any(ran).as_py() and all(column.null_count == len(column) for column in replies):
            raise UnusualError("no reply in a block")
        path, options = self.reading.columns.get("options"), None
        if path is not None:
            options = option_maps(self._candidate("options", name_of(path)), path)
        rescore_columns(
            self.fields,
            options,
            answers,
            self.layout.primary is not None,
            self.reading.confidence_scale,
            self.tally,
        )

    def _drop_nan(self) -> None:
        for name, values in self.fields.items():
            if pa.types.is_floating(values.type):
                known = values.null_count
                values = self.fields[name] = without_nan(self.tally, values)
                some_gone = self.some_out or values.null_count > known
                if some_gone and name not in schema.NAMES and not schema.is_score(name):
                    check_fraction(values)
            if name not in schema.NAMES and values.null_count == len(values):
                self.fields[name] = pa.chunked_array([pa.nulls(len(values))])  # of no type of its own


def _leaves(values: Column, limits: tuple[float, float]) -> bool:
    found = pc.min_max(values).as_py()
    return found["min"] is not None and (
        schema.within(found["min"], limits) is None or schema.within(found["max"], limits) is None
    )
