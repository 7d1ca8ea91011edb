"""Panel: records, and which of their columns play which part."""

from __future__ import annotations

import functools
import html
import operator
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from typing import Any

import narwhals as nw
import pandas as pd

from pairstats.arguments import checked, fits
from pairstats.completeness import Completeness, completeness
from pairstats.errors import PairingError, PairstatsError, SchemaError, counted, listed, nearest, one_of
from pairstats.estimands import Estimand, Rows, add_up
from pairstats.result import none_if_null
from pairstats.schema import ANSWERED, KEY, MISSING, NO_ANSWER, STATUSES, is_score, outside

_BLANK = {"study": "", "run": "", "platform": "", "variant": "base", "condition": "default"}
"""What a null means in the columns of the key that have a default."""
_IDS = frozenset(("study", "run", "platform", "family", "item", "variant", "model", "condition", "status"))
POPULATIONS = ("families", "these_cases")
NO_ANSWER_RULES = ("wrong", "missing")
UNIT = ("item", "variant")
APART = ("study", "run", "platform", "model", "condition")
"""Columns of the key, besides family, item, variant and repeat."""
Level = str | float | bool | date
"""What a column may be compared with."""


@dataclass(frozen=True, eq=False, init=False)
class Panel:
    """Records in the paired long format, with the roles of their columns and the declared rules.

    Parameters
    ----------
    records : Records, DataFrame or relation
        Anything in the paired long format: the result of `read_runs`, or a pandas, Polars, Arrow or DuckDB
        frame with its columns.
    cells : sequence of str, default ("model",)
        Factors whose combinations get one estimate each.
    family : str, default "family"
        Resampling unit.
    unit : sequence of str, optional
        What, besides the family, makes two models' answers answers to the same thing: by default item and
        variant, and study, model and condition where they are no cells. Repeats are averaged inside a unit.
    no_answer : {"wrong", "missing"}, default "wrong"
        What an unparsed, truncated, refused or empty reply scores. Errors and absent rows are always missing.
    population : {"families", "these_cases"}, optional
        Whom the claim is about: the families that could have been drawn, or the cases at hand, of which only
        repeats are random. Left out, "families"; rows of fewer than 10 families then ask for it in a note.
    score_range : tuple of float, default (0, 1)
        Declared range of the scores; a reply without an answer scores its lower end.

    Raises
    ------
    SchemaError
        When a column that is needed is not there; the message lists those there are.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"family": ["f1", "f2"], "item": ["a", "b"], "model": "m", "score": [1.0, 0.0]})
    >>> Panel(rows)
    Panel of 2 rows: 2 families, 2 items, 1 cell by model; no answer scores wrong
    """

    frame: Rows
    cells: tuple[str, ...]
    family: str
    unit: tuple[str, ...] | None
    no_answer: str
    population: str
    population_declared: bool
    score_range: tuple[float, float]

    @checked
    def __init__(
        self,
        records: Any,
        cells: Sequence[str] | str = ("model",),
        *,
        family: str = "family",
        unit: Sequence[str] | None = None,
        no_answer: str = "wrong",
        population: str | None = None,
        score_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        one_of("no_answer", no_answer, NO_ANSWER_RULES)
        one_of("population", population, (None, *POPULATIONS))
        cells = (cells,) if isinstance(cells, str) else tuple(cells)
        twice = sorted({name for name in cells if cells.count(name) > 1})
        if twice:
            raise PairstatsError(f"Every cell factor must be named once, but {listed(twice)} is named twice.")
        frame = _lazy(records)
        frame = _with_defaults(frame, {family, *cells, *(UNIT if unit is None else unit)})
        _refuse_faults(frame, family, score_range)
        for name, value in {
            "frame": frame, "cells": cells, "family": family, "no_answer": no_answer,
            "unit": None if unit is None else tuple(unit), "population": population or POPULATIONS[0],
            "population_declared": population is not None, "score_range": score_range,
        }.items():  # fmt: skip
            object.__setattr__(self, name, value)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self.frame.collect_schema().names()

    @checked
    def require(self, *names: str) -> None:
        """Raise unless all columns are there; the message lists those there are."""
        absent = [name for name in names if name not in self.columns]
        if absent:
            raise SchemaError(
                f"The records have no column {listed(absent, 10)}; they have {listed(self.columns, 60)}."
                + nearest(absent[0], self.columns)
            )

    def unit_of(self, estimand: Estimand, factors: Sequence[str] = ()) -> tuple[str, ...]:
        """Columns that tell the units of one family apart for an estimand, the compared factors left out."""
        there = set(self.columns) - {*self.cells, *factors}
        apart = tuple(name for name in APART if name in there)
        default = (*UNIT, *(name for name in apart if name in ("study", "model", "condition")))
        unit = default if self.unit is None else self.unit
        return tuple(name for name in estimand.unit(unit, apart) if name not in factors)

    @checked
    def where(self, **equal: Level | Collection[Level]) -> Panel:
        """Rows whose columns equal the given values, or are among them for a list.

        Raises
        ------
        PairingError
            When nothing is left; the message lists the values there are.
        """
        self.require(*equal)
        values: dict[str, Any] = dict(equal)
        wanted = {name: [each] if fits(each, Level) else list(each) for name, each in values.items()}
        _refuse_other_kinds(self.frame, wanted)
        masks = [nw.col(name).is_in(values) for name, values in wanted.items()]
        chosen = self.frame.filter(functools.reduce(operator.and_, masks)) if masks else self.frame
        if not len(chosen.head(1).collect()):
            there = {name: listed(self.levels(name), 12) for name in equal}
            shown = "; ".join(f"{name}: {values}" for name, values in there.items())
            asked = {name: [_plain(v) for v in values] for name, values in wanted.items()}
            raise PairingError(f"No row has {asked}. The values there are: {shown}.")
        return self._with(frame=chosen)

    @checked
    def without(self, **equal: Level) -> Panel:
        """Rows whose columns do not all equal the given values; nulls stay."""
        if not equal:
            return self
        self.require(*equal)
        _refuse_other_kinds(self.frame, {name: [value] for name, value in equal.items()})
        masks = [(nw.col(name) == value) & ~nw.col(name).is_null() for name, value in equal.items()]
        return self._with(frame=self.frame.filter(~functools.reduce(operator.and_, masks)))

    @checked
    def filter(self, condition: str) -> Panel:
        """Rows that meet a condition such as ``"confidence >= 0.9"``; rows with nulls there are left out."""
        from pairstats.conditions import Condition

        parsed = Condition.parse(condition)
        self.require(*parsed.columns)
        present = [~nw.col(name).is_null() for name in parsed.columns]
        return self._with(frame=self.frame.filter(functools.reduce(operator.and_, present) & parsed.holds()))

    @checked
    def not_meeting(self, condition: str) -> Panel:
        """Rows that do not meet a condition such as ``"revised == true"``; rows with nulls there stay."""
        from pairstats.conditions import Condition

        parsed = Condition.parse(condition)
        self.require(*parsed.columns)
        null = functools.reduce(operator.or_, [nw.col(name).is_null() for name in parsed.columns])
        return self._with(frame=self.frame.filter(null | ~parsed.holds()))

    @checked
    def scored_by(self, column: str) -> Panel:
        """Make the same panel with another column in the place of the primary score."""
        self.require(column)
        return self._with(frame=self.frame.with_columns(score=nw.col(column)))

    @checked
    def with_rules(self, *, no_answer: str | None = None) -> Panel:
        """Make the same panel under another rule for replies without an answer."""
        if no_answer is None:
            return self
        one_of("no_answer", no_answer, NO_ANSWER_RULES)
        return self._with(no_answer=no_answer)

    @checked
    def by(self, cells: Sequence[str]) -> Panel:
        """Make the same panel with other cells."""
        self.require(*cells)
        return self._with(cells=tuple(cells))

    @checked
    def levels(self, column: str) -> list[Any]:
        """Sorted distinct values of a column, nulls left out."""
        self.require(column)
        values = self.frame.select(column).unique().collect()[column].to_list()
        return sorted((v for v in values if v is not None and v == v), key=lambda v: (str(type(v)), v))

    def rows(self) -> Rows:
        """Rows as estimands read them: scores follow the no-answer rule, and three flags are there.

        ``is_missing`` (error, absent), ``is_blank`` (a reply without an answer), ``is_counted`` (whether the
        reply enters at all).
        """
        blank, missing = nw.col("is_blank"), nw.col("is_missing")
        flagged = self.frame.with_columns(
            is_blank=nw.col("status").is_in(list(NO_ANSWER)), is_missing=nw.col("status").is_in(list(MISSING))
        )
        wrong = self.no_answer == "wrong"
        scores = [name for name in self.columns if is_score(name)]
        resolved = [
            nw.when(~missing & (~blank if not wrong else nw.lit(True)))
            .then(nw.when(blank).then(nw.lit(self.score_range[0])).otherwise(nw.col(name).cast(nw.Float64)))
            .otherwise(None)
            .alias(name)
            for name in scores
        ]
        counted = ~missing if wrong else ~missing & ~blank
        return flagged.with_columns(*resolved, is_counted=counted)

    @checked
    def completeness(self, by: Sequence[str] | str | None = None) -> Completeness:
        """Count what became of every planned reply.

        Parameters
        ----------
        by : sequence of str, optional
            Columns to count by; the panel's cells by default.

        Returns
        -------
        Completeness
            A `pandas.DataFrame`, one row a combination: ``planned``, one column a status, ``completeness``
            (share answered), and ``reasons`` for what was not answered, most frequent first.
        """
        keys = list(self.cells) if by is None else [by] if isinstance(by, str) else list(by)
        self.require(*keys)
        reason = nw.col("reason").cast(nw.String) if "reason" in self.columns else nw.lit("")
        labelled = self.frame.with_columns(reason_=reason.fill_null(""))
        one = nw.lit(1).cast(nw.Int64)
        counted = add_up(labelled, [*keys, "status", "reason_"], n=one).collect()
        frame = pd.DataFrame({name: counted[name].to_list() for name in [*keys, "status", "reason_", "n"]})
        return completeness(keys, frame)

    def _with(self, **changes: Any) -> Panel:
        copy = object.__new__(Panel)
        for field in fields(self):
            object.__setattr__(copy, field.name, changes.get(field.name, getattr(self, field.name)))
        return copy

    def __repr__(self) -> str:
        counts = self.frame.select(nw.len()).collect().item()
        families, items = (len(self.levels(name)) for name in (self.family, "item"))
        cells = len(self.frame.select(*self.cells).unique().collect()) if self.cells else 1
        by = f" by {' and '.join(self.cells)}" if self.cells else ""
        held = ", ".join(
            counted(n, what) for n, what in ((families, "family"), (items, "item"), (cells, "cell"))
        )
        return f"Panel of {counted(counts, 'row')}: {held}{by}; no answer scores {self.no_answer}"

    def _repr_html_(self) -> str:
        table = self.completeness().to_html(index=False, border=0, escape=True)
        return f"<p>{html.escape(repr(self))}</p>{table}"


def _lazy(records: Any) -> Rows:
    native = getattr(records, "table", records)
    try:
        frame = nw.from_native(native)
    except TypeError as error:
        raise PairstatsError(
            "A panel is made of records or of a pandas, Polars, Arrow or DuckDB frame, not of "
            f"{type(native).__name__}."
        ) from error
    except nw.exceptions.DuplicateError as error:
        raise SchemaError("Every column must have its own name, but some occur twice.") from error
    if isinstance(frame, nw.Series):
        raise PairstatsError("A panel is made of a frame, not of one column.")
    lazy = frame.lazy()
    if not len(lazy.head(1).collect()):
        raise SchemaError("A panel is made of at least one row, but the records are empty.")
    return lazy


def _with_defaults(frame: Rows, roles: set[str]) -> Rows:
    """Check the columns a panel needs, fill the optional ones, and make every id a plain string."""
    names = frame.collect_schema().names()
    absent = sorted(name for name in ({"item", *roles} - {"variant", "condition"}) if name not in names)
    if absent:
        raise SchemaError(
            f"The records have no column {listed(absent, 10)}; they have {listed(names, 60)}. Map it in "
            "read_runs(), or say family=, cells= or unit= of the panel."
        )
    defaults: dict[str, str | int] = {
        "variant": "base",
        "condition": "default",
        "status": ANSWERED,
        "repeat": 0,
    }
    fill = [nw.lit(value).alias(name) for name, value in defaults.items() if name not in names]
    frame = _with_numbers(frame.with_columns(*fill) if fill else frame)
    ids = [name for name in frame.collect_schema().names() if name in (_IDS | roles) and name != "repeat"]
    floats = [name for name, dtype in frame.collect_schema().items() if dtype.is_float()]
    return frame.with_columns(
        *(nw.col(name).cast(nw.String) for name in ids if name not in _BLANK),
        *(nw.col(name).cast(nw.String).fill_null(_BLANK[name]) for name in ids if name in _BLANK),
        *(nw.when(~nw.col(name).is_nan()).then(nw.col(name)).alias(name) for name in floats),
    )


def _with_numbers(frame: Rows) -> Rows:
    """Make scores and confidences numbers, whatever type the engine gave them."""
    types = frame.collect_schema()
    wanted = [n for n in types.names() if (is_score(n) or n == "confidence") and not types[n].is_numeric()]
    for name in wanted:
        try:
            cast = frame.with_columns(nw.col(name).cast(nw.Float64))
            cast.select(nw.col(name).sum()).collect()
        except Exception as error:  # every engine raises its own kind
            raise SchemaError(
                f"Column {name!r} must hold numbers, but holds {types[name]}: {error}"
            ) from error
        frame = cast
    return frame


def _refuse_other_kinds(frame: Rows, wanted: Mapping[str, Sequence[Level]]) -> None:
    """Refuse values that the engine cannot compare with their column."""
    for name, values in wanted.items():
        try:
            frame.select(nw.col(name).is_in(values)).head(1).collect()
        except Exception as error:  # every engine raises its own kind
            kind = frame.collect_schema()[name]
            raise SchemaError(
                f"`{name}` must be compared with values such as its own, {kind}, but got {listed(values)}."
            ) from error


def _refuse_faults(frame: Rows, family: str, score_range: tuple[float, float]) -> None:
    """Check what a silent wrong number would come from: no families, status words, score ranges, equal keys."""
    names = frame.collect_schema().names()
    faults = []
    if not len(frame.filter(~nw.col(family).is_null()).head(1).collect()):
        faults.append(f"'{family}' must name the family of every row, but is null in all of them")
    unknown = frame.filter(~nw.col("status").is_in(list(STATUSES))).select("status").unique().collect()
    if len(unknown):
        words = listed(map(_plain, unknown["status"].to_list()))
        faults.append(f"'status' must be one of {', '.join(STATUSES)}, but is {words}")
    ranges = {name: score_range for name in names if is_score(name)} | {"confidence": (0.0, 1.0)}
    faults += [
        fault for name, limits in ranges.items() if name in names for fault in _outside(frame, name, limits)
    ]
    keys = [name for name in KEY if name in names]
    twice = add_up(frame, keys, n=nw.lit(1).cast(nw.Int64)).filter(nw.col("n") > 1).collect()
    if len(twice):
        first = zip(keys, map(_plain, twice.row(0)), strict=False)
        occur = "key occurs" if len(twice) == 1 else "keys occur"
        faults.append(
            f"{len(twice)} {occur} more than once, the first "
            f"{', '.join(f'{key}={value!r}' for key, value in first if value != '')}; set repeat, run or "
            "condition so that every row has its own key"
        )
    if faults:
        raise SchemaError("The records break the paired long format: " + "; ".join(faults) + ".", faults)


def _outside(frame: Rows, name: str, limits: tuple[float, float]) -> list[str]:
    """Say how many values leave their range, and what to do about it."""
    low, high = limits
    value = nw.col(name).cast(nw.Float64)
    out = frame.filter(~nw.col(name).is_null() & ((value < low) | (value > high)))
    found = out.select(n=nw.len(), low=value.min(), high=value.max()).collect().row(0)
    n, least, most = int(found[0]), found[1], found[2]
    if not n:
        return []
    return [outside(name, limits, counted(n, "row"), least, most)]


def _plain(value: Any) -> Any:
    """Plain Python value, for messages; null is None, whatever the engine calls it."""
    value = none_if_null(value)
    return value.item() if hasattr(value, "item") else value
