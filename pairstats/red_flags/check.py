"""What in a table of records should be looked at before anything is estimated from it."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from pairstats.arguments import checked
from pairstats.errors import counted
from pairstats.panel import Panel
from pairstats.records.table import Records, printable
from pairstats.red_flags.columns import COLUMN_CHECKS
from pairstats.red_flags.coverage import SETTING, coverage
from pairstats.red_flags.found import Flag, LackingError, Rows, rows_of
from pairstats.red_flags.runs import RUN_CHECKS

GROUPS = ("model", "split", "category")
"""Columns by which completeness is counted, where they hold anything."""
SHOWN_GROUPS = 30


@dataclass(frozen=True, eq=False, repr=False)
class RecordsCheck:
    """Outcome of `check_records`.

    Attributes
    ----------
    flags : tuple of Flag
        Findings, red ones first.
    completeness : pandas.DataFrame
        One row a model, split and category: planned, one column a status, share answered, reasons.
    coverage : pandas.DataFrame
        One row a model (study, condition): how many of all models' items it has and answered, and how many all
        models answered. See `pairstats.red_flags.coverage.coverage`.
    not_checked : tuple of str
        What could not be looked at, and what the records lack for it.
    heading : str
        How many rows, models, families and items there are.
    """

    flags: tuple[Flag, ...]
    completeness: pd.DataFrame
    coverage: pd.DataFrame
    not_checked: tuple[str, ...] = ()
    heading: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def any(self) -> bool:
        """Whether there is any finding."""
        return bool(self.flags)

    @property
    def red(self) -> tuple[Flag, ...]:
        """Findings that make an estimate meaningless unless they are explained."""
        return tuple(flag for flag in self.flags if flag.red)

    @property
    def frame(self) -> pd.DataFrame:
        """One row a finding: ``kind``, ``red``, ``finding``, ``count``, ``of``, ``examples``."""
        rows = [
            {"kind": f.kind, "red": f.red, "finding": f.finding, "count": f.count, "of": f.of,
             "examples": "; ".join(f.examples)}
            for f in self.flags
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=["kind", "red", "finding", "count", "of", "examples"])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values that JSON can write."""
        tables = {name: getattr(self, name) for name in ("completeness", "coverage")}
        return {
            "findings": [flag.finding for flag in self.flags],
            "flags": [flag.to_dict() for flag in self.flags],
            **{
                name: t.astype(object).where(t.notna(), None).to_dict("records") for name, t in tables.items()
            },
            "not_checked": list(self.not_checked),
        }

    def _lines(self) -> Iterator[str]:
        yield self.heading
        others = [flag for flag in self.flags if not flag.red]
        yield f"Red flags: {len(self.red) or 'none'}"
        yield from (f"- {printable(str(flag))}" for flag in self.red)
        yield from _table("Completeness:", self.completeness)
        yield from _table("Coverage of all models' items:", self.coverage)
        yield f"Further findings: {len(others) or 'none'}"
        yield from (f"- {printable(str(flag))}" for flag in others)
        yield from (f"- {printable(note)}" for note in self.notes)
        yield from (f"Not checked: {printable(what)}" for what in self.not_checked)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Show findings and completeness in a notebook; texts of the data are escaped."""
        others = [flag for flag in self.flags if not flag.red]
        parts = [f"<p>{html.escape(self.heading)}</p>"]
        for title, flags in (("Red flags", self.red), ("Further findings", others)):
            listed = "".join(f"<li>{html.escape(printable(str(flag)))}</li>" for flag in flags)
            parts.append(f"<p>{title}: {len(flags) or 'none'}</p><ul>{listed}</ul>")
        for table in (self.coverage, self.completeness):
            parts.insert(2, table.to_html(index=False, border=0, escape=True, na_rep=""))
        missing = "".join(f"<li>{html.escape(what)}</li>" for what in self.not_checked)
        return "".join(parts) + (f"<p>Not checked</p><ul>{missing}</ul>" if missing else "")


def _table(title: str, table: pd.DataFrame) -> Iterator[str]:
    yield title
    yield table.head(SHOWN_GROUPS).to_string(index=False, na_rep="")
    if len(table) > SHOWN_GROUPS:
        yield f"and {counted(len(table) - SHOWN_GROUPS, 'group')} more"


@checked
def check_records(records: Records) -> RecordsCheck:
    """Look for what should be explained before anything is estimated.

    Use it on every new set of records. Red flags come first: runs that are copies of each other, wholly or but
    for a few replies, a model at the ceiling or floor, scores of two models that differ by a constant, one raw
    record in several rows. Then what is complete, and findings that are often harmless: constant answers, answers
    that are the same for two models, repeats from a cache, confidence on two scales in a file, a family in two
    splits, a prompt or key that differs between models.

    Parameters
    ----------
    records : Records

    Returns
    -------
    RecordsCheck
        ``flags`` (or ``frame``), ``completeness``, ``coverage``, ``not_checked``.

    Raises
    ------
    SchemaError
        When there are no rows.

    Notes
    -----
    Nothing is estimated here: every finding is a count. Two runs are compared on the decisions both answered,
    at least `MIN_COMMON` of them. Where they hold no texts, equal answers and scores are red only if the chance of
    that, were the two independent, is below `INCREDIBLE`, and the flag says how small it is. A finding may have a
    good reason (a rerun at temperature 0 gives the same replies); then it is to be written down, since the two
    are no independent samples.

    Examples
    --------
    >>> rows = {"family": [f"f{n}" for n in range(12)] * 2, "item": [f"q{n}" for n in range(12)] * 2,
    ...         "model": ["a"] * 12 + ["b"] * 12, "status": ["answered"] * 24,
    ...         "response": [f"It is {n}." for n in range(12)] * 2}
    >>> for flag in check_records(Records.from_frame(rows)).red:
    ...     print(flag)
    identical runs: the replies of 'a' and 'b' are the same texts in 12 of 12 decisions (no score)
    """
    rows = rows_of(records)
    found: list[Flag] = []
    lacking: list[str] = []
    for check in (*RUN_CHECKS, *COLUMN_CHECKS):
        try:
            found += check(rows)
        except LackingError as error:
            lacking.append(str(error))
    return RecordsCheck(
        flags=(*(flag for flag in found if flag.red), *(flag for flag in found if not flag.red)),
        completeness=_completeness(records, rows),
        coverage=_coverage(rows),
        not_checked=tuple(lacking),
        heading=repr(records).split("\n", 1)[0],
        notes=records.notes,
    )


def _coverage(rows: Rows) -> pd.DataFrame:
    constant = [name for name in SETTING if rows.frame[name].nunique() <= 1]
    return coverage(rows.frame).drop(columns=constant)


def _completeness(records: Records, rows: Rows) -> pd.DataFrame:
    by = [name for name in GROUPS if name == "model" or rows.frame[name].notna().any()]
    return Panel(records, score_range=records.score_range).completeness(by=by)
