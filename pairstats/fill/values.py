"""What an article may print: rows of results under their names, numbers, intervals and p-values."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any

import pandas as pd
from jinja2 import Undefined

from pairstats.errors import PairstatsError, listed
from pairstats.result import COUNTS, NUMBERS, TEXT, Estimates
from pairstats.results import Results
from pairstats.study import Table

ROUNDINGS = {"half-even": ROUND_HALF_EVEN, "half-up": ROUND_HALF_UP}
NUMERIC = tuple(name for name in NUMBERS if name not in TEXT and name not in ("registered", "seed"))
"""Columns whose values are numbers."""

SAME = 1e-9
"""A p-value this close to its floor, relative to it, is at it."""


@dataclass
class Faults:
    """Faults of one article as they are met; the one thing here that changes."""

    seen: dict[tuple[int, str], None] = field(default_factory=dict)
    n_values: int = 0

    def add(self, message: str, line: int | None = None) -> None:
        """Note a fault, at the line of the template that is being rendered."""
        self.seen[(rendering_line() if line is None else line, message)] = None

    def found(self) -> tuple[tuple[int, str], ...]:
        """Faults by line, each once."""
        return tuple(sorted(self.seen))


def rendering_line() -> int:
    """Line of the template that is being rendered; 0 outside of one."""
    frame = sys._getframe(1)
    while frame is not None:
        template = frame.f_globals.get("__jinja_template__")
        if template is not None:
            return int(template.get_corresponding_lineno(frame.f_lineno))
        frame = frame.f_back  # type: ignore[assignment]
    return 0


class Shown(str):
    """A number as text that remembers its value in the same unit."""

    value: float

    def __new__(cls, text: str, value: float) -> Shown:
        """Make the text; `value` is what was rounded."""
        made = super().__new__(cls, text)
        made.value = value
        return made


@dataclass(frozen=True, slots=True)
class Span:
    """An interval, and how it is written where no filter says so."""

    low: float
    high: float
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class PValue:
    """A p-value, and whether it is the smallest that the test could give."""

    value: float
    at_floor: bool

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{'<= ' if self.at_floor else ''}{self.value:.3g}"


@dataclass
class Writer:
    """Turns values into text by the one rounding rule.

    Attributes
    ----------
    rounding : {"half-even", "half-up"}
    faults : Faults
    absent : callable
        Makes what stands for a value that is not there, with the reason.
    """

    rounding: str
    faults: Faults
    absent: Callable[[str], Any] = lambda hint: Undefined(hint=hint)

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filters of the template."""
        return {
            "num": self.num, "pct": self.pct, "points": self.points, "p": self.p, "count": self.count,
            "equals": self.equals, "hidden": lambda value: value if isinstance(value, Undefined) else "",
        }  # fmt: skip

    def finalize(self, value: Any) -> Any:
        """See every value that is printed."""
        self.faults.n_values += 1
        if value is None:
            self.faults.add("the value is empty")
            return ""
        return value

    def rounded(self, value: float, digits: int) -> Decimal:
        """Number to so many decimals by the declared rule, after it was taken to 12 digits."""
        return Decimal(f"{value:.12g}").quantize(
            Decimal(1).scaleb(-digits), rounding=ROUNDINGS[self.rounding]
        )

    def num(self, value: Any, digits: int = 3, *, sign: bool = False) -> Any:
        """Write a number, or both ends of an interval, with so many decimals."""
        return self._written(value, 1.0, digits, sign)

    def pct(self, value: Any, digits: int = 1) -> Any:
        """Write a share in percent, without the sign %."""
        return self._written(value, 100.0, digits, False)

    def points(self, value: Any, digits: int = 1) -> Any:
        """Write a difference of shares in percentage points, with its sign."""
        return self._written(value, 100.0, digits, True)

    def count(self, value: Any) -> Any:
        """Write a whole number."""
        number = self._number(value)
        if isinstance(number, Undefined):
            return number
        if number != round(number):
            return self.absent(f"a count must be a whole number, but is {number:g}")
        return Shown(f"{round(number):,}", number)

    def p(self, value: Any, digits: int = 3) -> Any:
        """Write a p-value: decimals, powers of ten where these would be 0, ``<=`` its floor where it is at it."""
        number = self._number(value)
        if isinstance(number, Undefined):
            return number
        at_floor = isinstance(value, PValue) and value.at_floor
        small = number < 10.0**-digits
        places = digits if not small else 1 - math.floor(math.log10(number))
        exact = Decimal(f"{number:.12g}")
        rule = ROUND_CEILING if at_floor else ROUNDINGS[self.rounding]
        shown = exact.quantize(Decimal(1).scaleb(-places), rounding=rule)
        text = f"{shown:.1e}" if small else f"{shown:f}"
        return Shown(f"<= {text}" if at_floor else text, number)

    def equals(self, value: Any, typed: object) -> Any:
        """Print a number as it was typed, provided that the results say the same at these decimals."""
        text = str(typed).strip().removesuffix("%").strip()
        number = value.value if isinstance(value, Shown) else self._number(value)
        if isinstance(number, Undefined):
            return number
        try:
            wanted = Decimal(text.replace("\u2212", "-").replace(",", ""))
        except ArithmeticError:
            return self.absent(f"equals() must be given a number, but got {typed!r}")
        digits = max(0, -int(wanted.as_tuple().exponent))
        found = self.rounded(number, digits)
        if found != wanted:
            return self.absent(f"{text} was typed, but the results say {found}")
        return Shown(text, number)

    def _written(self, value: Any, factor: float, digits: int, sign: bool) -> Any:
        if isinstance(value, Span):
            ends = [self._one(end, factor, digits, sign) for end in (value.low, value.high)]
            return f"{ends[0]} to {ends[1]}"
        number = self._number(value)
        if isinstance(number, Undefined):
            return number
        return Shown(self._one(number, factor, digits, sign), number * factor)

    def _one(self, number: float, factor: float, digits: int, sign: bool) -> str:
        shown = self.rounded(number * factor, digits)
        return f"{abs(shown):f}" if shown == 0 else f"{shown:{'+' if sign else ''}f}"

    def _number(self, value: Any) -> Any:
        """Value as a float; what stands for an absent one where it is none."""
        if isinstance(value, Undefined):
            return value
        if isinstance(value, Rows):
            return self.absent(f"{value.name} is a row, not a number: say {value.name}.estimate")
        if isinstance(value, bool | str | Span) or value is None:
            return self.absent(f"a number is needed, but there is {value!s}")
        number = float(value)
        return (
            number
            if math.isfinite(number)
            else self.absent(f"a finite number is needed, but there is {number}")
        )


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of results under one name; with one row left, its columns can be read.

    Attributes
    ----------
    name : str
        As the article wrote it.
    rows : tuple of dict
    factors : tuple of str
        Columns whose levels choose among the rows.
    percent : bool
        Whether the estimand is shown in percent.
    writer : Writer
    """

    name: str
    rows: tuple[dict[str, Any], ...]
    factors: tuple[str, ...]
    percent: bool
    writer: Writer

    def __iter__(self) -> Iterator[Rows]:
        return (self._only([row]) for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: object) -> Any:
        """Rows of a level of any factor, or of a comparison; several keys one after the other."""
        if isinstance(key, tuple):
            found: Any = self
            for each in key:
                found = found[each]
            return found
        columns = ("contrast", *self.factors)
        chosen = [row for row in self.rows if any(_same(row.get(name), key) for name in columns)]
        if chosen:
            return self._only(chosen, f'["{key}"]')
        if isinstance(key, str) and (key in _FIELDS or key in _columns(self.rows)):
            return self._field(key)
        levels = {str(row[name]) for row in self.rows for name in columns if row.get(name) is not None}
        there = f"there is {listed(sorted(levels), 12)}" if levels else "there is one row only"
        return self.writer.absent(f"{self.name} has no cell or column {key!r}; {there}")

    def get(self, name: str) -> Any:
        """Column or level of this name, the column first."""
        return self._field(name) if name in _FIELDS or name in _columns(self.rows) else self[name]

    def __str__(self) -> str:
        self.writer.faults.add(f"{self.name} is a row, not a number: say {self.name}.estimate")
        return ""

    def _only(self, rows: Sequence[dict[str, Any]], key: str = "") -> Rows:
        return Rows(f"{self.name}{key}", tuple(rows), self.factors, self.percent, self.writer)

    def _field(self, name: str) -> Any:
        if not self.rows:
            return self.writer.absent(f"{self.name} has no rows in these results")
        if len(self.rows) != 1:
            by = [f for f in ("contrast", *self.factors) if len({str(r.get(f)) for r in self.rows}) > 1]
            levels = sorted({str(row.get(f)) for row in self.rows for f in by})
            return self.writer.absent(
                f"{self.name} has {len(self.rows)} rows; choose one by {' and '.join(by)}: {listed(levels, 12)}"
            )
        row = self.rows[0]
        value = _FIELDS[name](self, row) if name in _FIELDS else row[name]
        if value is None:
            note = f" ({row['note']})" if row.get("note") else ""
            what = "interval" if name == "ci" else name
            return self.writer.absent(f"{self.name} has no {what}{note}")
        return value

    def _ci(self, row: Mapping[str, Any]) -> Span | None:
        low, high = row.get("conf_low"), row.get("conf_high")
        if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
            return None
        sign = row.get("contrast") is not None
        digits, factor = (1, 100.0) if self.percent else (3, 1.0)
        return Span(low, high, str(self.writer._written(Span(low, high, ""), factor, digits, sign)))


def named_rows(results: Results, writer: Writer) -> dict[str, Any]:
    """Rows of every estimand and contrast under its name, and all of them in ``estimands`` and ``contrasts``.

    Tables of the protocol's own script are in ``study``, by name.

    Raises
    ------
    PairstatsError
        When an estimand and a contrast have the same name.
    """
    described = dict(results.provenance.get("estimands") or {})

    def rows(name: str, chosen: Estimates, estimand: str) -> Rows:
        percent = bool((described.get(estimand) or {}).get("percent"))
        return Rows(name, tuple(chosen), chosen.factors, percent, writer)

    cells = {
        str(name): rows(str(name), results.cells.where(estimand=name), str(name))
        for name in results.cells.frame["estimand"].drop_duplicates()
    }
    asked = dict(results.provenance.get("contrasts") or {})
    pairs = {
        str(name): rows(str(name), _of_contrast(results, rule), str(rule.get("estimand")))
        for name, rule in asked.items()
    }
    both = sorted(cells.keys() & pairs.keys())
    if both:
        raise PairstatsError(f"Estimands and contrasts must differ in name, but {listed(both)} is both.")
    study = {name: _of_study(f"study.{name}", table, writer) for name, table in results.tables.items()}
    return {**cells, **pairs, "estimands": cells, "contrasts": pairs, "study": study}


def _of_study(name: str, table: Table, writer: Writer) -> Rows:
    """Rows of a script's table; the columns of a plain frame that hold no numbers are its factors."""
    if isinstance(table, Estimates):
        return Rows(name, tuple(table), ("estimand", *table.factors), False, writer)
    factors = tuple(str(c) for c in table.columns if not pd.api.types.is_numeric_dtype(table[c]))
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    return Rows(name, tuple({str(k): v for k, v in row.items()} for row in rows), factors, False, writer)


def _of_contrast(results: Results, rule: Mapping[str, Any]) -> Estimates:
    """Rows that answer one contrast: those it names, or else those of its estimand, labels and claim."""
    every, contrasts = results.estimates, results.contrasts
    if rule.get("rows") is not None:
        chosen = every.frame.iloc[list(rule["rows"])].reset_index(drop=True)
        return Estimates(chosen, every.factors, every.provenance)
    wanted: dict[str, Any] = {"estimand": rule.get("estimand")}
    if rule.get("labels"):
        wanted["contrast"] = list(rule["labels"])
    if rule.get("claim") and contrasts.frame["claim"].notna().any():
        wanted["claim"] = rule["claim"]
    return contrasts.where(**wanted)


def _p_value(row: Mapping[str, Any]) -> PValue | None:
    """Adjusted p-value where there is one; at its floor where the unadjusted one is."""
    raw, adjusted, floor = (row.get(name) for name in ("p_value", "p_adjusted", "p_floor"))
    value = raw if adjusted is None else adjusted
    if value is None:
        return None
    at_floor = raw is not None and floor is not None and raw <= floor * (1 + SAME) and floor < 1
    return PValue(float(value), at_floor)


_FIELDS: dict[str, Callable[[Rows, Mapping[str, Any]], Any]] = {
    "ci": lambda rows, row: rows._ci(row),
    "low": lambda rows, row: row.get("conf_low"),
    "high": lambda rows, row: row.get("conf_high"),
    "p": lambda rows, row: _p_value(row),
    "pct": lambda rows, row: None if row.get("estimate") is None else rows.writer.pct(row["estimate"]),
    "points": lambda rows, row: None if row.get("estimate") is None else rows.writer.points(row["estimate"]),
}


def _columns(rows: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    return frozenset(rows[0]) if rows else frozenset((*NUMBERS, *COUNTS))


def _same(value: object, key: object) -> bool:
    return value is not None and (value == key or str(value) == str(key))
