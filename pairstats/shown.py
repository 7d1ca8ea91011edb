"""How numbers and cells are shown: decimals, units and names, the same in words and in figures."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pairstats.errors import counted, plural
from pairstats.result import Estimates, none_if_null, p_text

Labels = Mapping[str, Any]
"""What names are called, ``{name: "text"}``, or ``{estimand: {"label": .., "says": .., "percent": ..}}``."""

Row = dict[str, Any]

ALPHA = 0.05
"""A difference counts as detected where its adjusted p-value is at most this."""


OPEN_END: Mapping[Any, str] = {"greater": "high", "less": "low"}
"""The end at which an interval for a one-sided alternative is open."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an estimand is called and how its numbers are shown."""

    label: str
    says: str | None = None
    percent: bool = False


@dataclass(frozen=True, slots=True)
class Scale:
    """How the numbers of one estimand are shown: percent or not, and to how many decimals.

    Examples
    --------
    >>> Scale(percent=True, digits=0).value(0.433)
    '43 %'
    >>> Scale(percent=True, digits=1, difference=True).value(-0.003)
    '-0.3 points'
    """

    percent: bool
    digits: int
    difference: bool = False

    @property
    def unit(self) -> str:
        """What follows a number."""
        if not self.percent:
            return ""
        return " points" if self.difference else " %"

    def number(self, value: object) -> str:
        """Show a number without its unit; differences carry their sign."""
        value = none_if_null(value)
        if value is None:
            return "?"
        scaled = float(value) * (100 if self.percent else 1)  # type: ignore[arg-type]
        text = f"{scaled:{'+' if self.difference else ''}.{self.digits}f}"
        text = text.replace("inf", "\N{INFINITY}")
        return text if scaled and float(f"{scaled:.{self.digits}f}") else f"{0:.{self.digits}f}"

    def value(self, value: object) -> str:
        """Show a number with its unit."""
        return self.number(value) + self.unit

    def interval(self, row: Row) -> str:
        """Show the interval of a row, its one limit if it is one-sided, or nothing where it has none."""
        low, high = limits_of(row)
        if (low is None) != (high is None) and row.get("alternative") in OPEN_END:
            sign = "\N{GREATER-THAN OR EQUAL TO}" if high is None else "\N{LESS-THAN OR EQUAL TO}"
            return f"[{sign} {self.number(low if high is None else high)}]"
        return "" if low is None and high is None else f"[{self.number(low)}, {self.number(high)}]"

    def estimate(self, row: Row) -> str:
        """Show the estimate of a row with its interval."""
        return f"{self.value(row['estimate'])} {self.interval(row)}".strip()


def limits_of(row: Row) -> tuple[float | None, float | None]:
    """Limits of a row; of a one-sided interval, the end of the range is no limit.

    Examples
    --------
    >>> limits_of({"conf_low": 0.2, "conf_high": 1.0, "alternative": "greater"})
    (0.2, None)
    """
    low, high = row["conf_low"], row["conf_high"]
    open_end = OPEN_END.get(row.get("alternative"))
    return (None if open_end == "low" else low), (None if open_end == "high" else high)


def scale(rows: pd.DataFrame, percent: bool, *, difference: bool = False) -> Scale:
    """Choose decimals for rows of one estimand: the narrowest interval keeps two digits of its width.

    Scores are shown to three decimals unless they are large, as in every table of estimates.

    Examples
    --------
    >>> scale(pd.DataFrame({"estimate": [0.5], "conf_low": [0.4], "conf_high": [0.6]}), percent=True).digits
    0
    """
    factor = 100 if percent else 1
    widths = (rows["conf_high"] - rows["conf_low"]).dropna()
    widths = widths[(widths > 0) & (widths < math.inf)] * factor
    # rounded first, so that .6 - .5 counts as .1
    needed = 1 - math.floor(math.log10(round(widths.min(), 9) or 1e-9)) if len(widths) else 0
    estimates = rows["estimate"].dropna()
    if percent:
        digits = min(max(needed, 0), 3)
    elif estimates.abs().le(1).all():
        digits = min(max(needed, 3), 5)
    else:
        digits = min(max(needed + 1, 0), 3)
    open_shares = [v for v in estimates if 0 < v < 1]
    while digits < 4 and any(float(f"{v * factor:.{digits}f}") in (0, factor) for v in open_shares):
        digits += 1  # .996 must not read as 100 %
    return Scale(percent, digits, difference)


def plain(text: object) -> str:
    r"""Text on one line: white space becomes a space, control and format characters their escape.

    Examples
    --------
    >>> print(plain("a\n b\x1b[31m"))
    a b\x1b[31m
    """
    spaced = " ".join(str(text).split())
    return "".join(c if unicodedata.category(c)[0] != "C" else ascii(c)[1:-1] for c in spaced)


def meaning(estimates: Estimates, name: str, labels: Labels | None = None) -> Meaning:
    """Look up what an estimand is called: from `labels`, else from the provenance, else its name."""
    described: dict[str, Any] = {"label": name.replace("_", " ")}
    for source in (estimates.provenance.get("estimands") or {}, labels or {}):
        found = source.get(name)
        described |= found if isinstance(found, Mapping) else {} if found is None else {"label": found}
    says = described.get("says")
    return Meaning(
        plain(described["label"]), plain(says) if says else None, bool(described.get("percent", False))
    )


def cell_names(frame: pd.DataFrame, factors: Sequence[str], labels: Labels | None = None) -> list[str]:
    """Name the cell of each row by the factors that tell the rows apart.

    Examples
    --------
    >>> cell_names(pd.DataFrame({"run": ["1", "1"], "model": ["a", "b"]}), ("run", "model"))
    ['a', 'b']
    """
    used = [name for name in factors if name in frame.columns and frame[name].notna().any()]
    telling = [name for name in used if frame[name].nunique(dropna=False) > 1] or used[-1:]
    return [_joined([row[name] for name in telling], labels) or "all" for row in as_rows(frame)]


def contrast_names(frame: pd.DataFrame, factors: Sequence[str], labels: Labels | None = None) -> list[str]:
    """Name each comparison, with the cell it was made in where that differs between rows."""
    telling = [name for name in factors if name in frame.columns and frame[name].nunique(dropna=False) > 1]
    names = []
    for row in as_rows(frame):
        where = _joined([row[name] for name in telling], labels)
        contrast = called(row["contrast"], labels)
        names.append(f"{contrast} ({where})" if where else contrast)
    return names


def as_rows(frame: pd.DataFrame) -> list[Row]:
    """Rows as dictionaries, nulls as None."""
    return [{str(k): none_if_null(v) for k, v in row.items()} for row in frame.to_dict("records")]


def cells_of(estimates: Estimates) -> Estimates:
    """Rows that are about one cell."""
    return _rows(estimates, estimates.frame["contrast"].isna())


def contrasts_of(estimates: Estimates) -> Estimates:
    """Rows that compare cells."""
    return _rows(estimates, estimates.frame["contrast"].notna())


def by_estimand(estimates: Estimates) -> list[tuple[str, pd.DataFrame]]:
    """Split rows by estimand, in the order in which they come."""
    frame = estimates.frame
    return [(str(name), frame[frame["estimand"] == name]) for name in frame["estimand"].dropna().unique()]


def levels_text(frame: pd.DataFrame) -> str:
    """Level, kind and method of the intervals, for a caption.

    Examples
    --------
    >>> levels_text(pd.DataFrame({"conf_level": [0.95], "method": ["family-jeffreys"]}))
    '95 % family-jeffreys interval'
    """
    levels = sorted(
        {level_text(level) for level in frame["conf_level"].dropna()}, key=lambda t: float(t[:-2])
    )
    shown = " / ".join(levels) if len(levels) <= 2 else f"{levels[0]} to {levels[-1]}"
    methods = [plain(method) for method in frame["method"].dropna().unique()]
    named = methods[0] + " " if len(methods) == 1 and len(methods[0]) <= 40 else ""
    return f"{shown} {named}interval".strip() if levels else "interval"


def level_text(level: float) -> str:
    """Show a confidence level as percent, an adjusted one to four digits.

    Examples
    --------
    >>> level_text(0.95), level_text(1 - 0.1 / 7)
    ('95 %', '98.57 %')
    """
    return f"{100 * level:.4g} %"


def count_text(values: pd.Series, what: str) -> str:
    """Show a count or its range, such as ``58 to 60 families``; the noun is given in the singular."""
    known = values.dropna()
    if not len(known):
        return ""
    low, high = int(known.min()), int(known.max())
    return counted(low, what) if low == high else f"{low} to {high} {plural(what)}"


def parting(row: Row) -> str:
    """Say that the interval of a comparison and what decides about it part, or nothing where they agree.

    Examples
    --------
    >>> row = {"conf_low": 0.01, "conf_high": 0.2, "conf_level": 0.95, "p_value": 0.06, "p_adjusted": None}
    >>> parting(row)
    'interval and test disagree: the test decides'
    >>> parting({**row, "p_value": 0.03, "p_adjusted": 0.09})
    'the interval is for this comparison alone: the adjusted p decides'
    """
    low, high, level, p = (row[name] for name in ("conf_low", "conf_high", "conf_level", "p_value"))
    if level is None or p is None or (low is None and high is None) or row.get("margin") is not None:
        return ""  # a claim about a margin tests the margin, by these same limits
    excludes = (low is not None and low > 0) or (high is not None and high < 0)
    if excludes != (p <= 1 - level + 1e-12):
        return "interval and test disagree: the test decides"
    adjusted = row.get("p_adjusted")
    if adjusted is not None and excludes and adjusted > 1 - level + 1e-12:
        return "the interval is for this comparison alone: the adjusted p decides"
    return ""


def p_words(row: Row) -> str:
    """Show the p-value of a row, the adjusted one where there is one; ``<=`` at a Monte-Carlo floor."""
    adjusted, raw = row["p_adjusted"], row["p_value"]
    if adjusted is None and raw is None:
        return ""
    at_floor = raw is not None and row["p_floor"] is not None and raw <= row["p_floor"]
    sign = "<=" if at_floor and "Monte Carlo" in (row["note"] or "") else "="
    return f"p {sign} {p_text(raw)}" if adjusted is None else f"adjusted p {sign} {p_text(adjusted)}"


def _rows(estimates: Estimates, chosen: pd.Series) -> Estimates:
    frame = estimates.frame[chosen].reset_index(drop=True)
    return Estimates(frame, estimates.factors, estimates.provenance)


def _joined(values: Sequence[object], labels: Labels | None) -> str:
    kept = [value for value in values if none_if_null(value) is not None]
    return " / ".join(called(value, labels) for value in kept)


def called(value: object, labels: Labels | None = None) -> str:
    """Show a level of a factor as its label says, on one line.

    Examples
    --------
    >>> called(3.0), called("m", {"m": "Model M"})
    ('3', 'Model M')
    """
    text = f"{value:g}" if isinstance(value, float) else str(value)
    label = (labels or {}).get(text)
    return plain(label if isinstance(label, str) else text)
