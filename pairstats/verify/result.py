"""What a verification found: checks with names, differences, what was not checked, what is not proved."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

NOT_PROVED = (
    "that the records are what the models said: raw files are not read again",
    "that replies were parsed and scored rightly: records.parquet is taken as given",
    "that the protocol was fixed before the data: only a lock and a timestamp can say that",
    "that families are independent, or that the declared interval holds its level for these data",
    "that the definitions are the right ones for the question: both paths follow the same documentation",
)
"""Said in every verification."""

SHOWN = 10


@dataclass(frozen=True, slots=True)
class Difference:
    """One number or statement that does not hold.

    Attributes
    ----------
    where : str
        Row of the table, or file.
    what : str
        Column, or statement.
    found, expected : str
        What the results say, and what the second path says.
    """

    where: str
    what: str
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what} is {self.found}, but should be {self.expected}"


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison over all rows that it applies to.

    Attributes
    ----------
    name : str
        Column of the table, or what was compared.
    how : str
        How the second path found it.
    compared : int
        Rows compared.
    largest : float or None
        Largest difference, in units of `tolerance`'s scale; None where texts or files were compared.
    tolerance : float or None
    differences : tuple of Difference
    """

    name: str
    how: str
    compared: int
    largest: float | None
    tolerance: float | None
    differences: tuple[Difference, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing differs."""
        return not self.differences


@dataclass(frozen=True, slots=True)
class Unchecked:
    """Something in the folder that was not compared, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Verification:
    """Outcome of `verify_results`.

    Attributes
    ----------
    folder : str
    rows : int
        Rows of the main table.
    checks : tuple of Check
    unchecked : tuple of Unchecked
    not_proved : tuple of str
    """

    folder: str
    rows: int
    checks: tuple[Check, ...]
    unchecked: tuple[Unchecked, ...] = ()
    not_proved: tuple[str, ...] = NOT_PROVED

    @property
    def ok(self) -> bool:
        """Whether every check passes."""
        return all(check.ok for check in self.checks)

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Differences of all checks."""
        return tuple(difference for check in self.checks for difference in check.differences)

    @property
    def summary(self) -> str:
        """One line: how many checks passed."""
        failed = sum(not check.ok for check in self.checks)
        told = f"{len(self.checks)} checks of {self.rows} rows"
        beside = f"; not checked: {', '.join(each.what for each in self.unchecked)}" if self.unchecked else ""
        if not failed:
            return f"{told}: all pass{beside}"
        noun = "difference" if len(self.differences) == 1 else "differences"
        return f"{told}: {failed} FAIL, with {len(self.differences)} {noun}{beside}"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values that JSON can write."""
        return {
            "folder": self.folder, "ok": self.ok, "rows": self.rows,
            "checks": [
                {"name": c.name, "how": c.how, "ok": c.ok, "compared": c.compared, "largest": c.largest,
                 "tolerance": c.tolerance, "differences": [_as_dict(d) for d in c.differences]}
                for c in self.checks
            ],
            "unchecked": [{"what": each.what, "why": each.why} for each in self.unchecked],
            "not_proved": list(self.not_proved),
        }  # fmt: skip

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        yield f"Verification of {self.folder}: {self.summary}"
        width = max((len(check.name) for check in self.checks), default=0)
        for check in self.checks:
            yield f"{'ok  ' if check.ok else 'FAIL'}  {check.name:<{width}}  {_measured(check)}  {check.how}"
            for difference in check.differences[:SHOWN]:
                yield f"        {difference}"
            if len(check.differences) > SHOWN:
                yield f"        and {len(check.differences) - SHOWN} more"
        if self.unchecked:
            yield "Not checked:"
            yield from (f"- {each.what}: {each.why}" for each in self.unchecked)
        yield "Not proved:"
        yield from (f"- {each}" for each in self.not_proved)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{'ok' if c.ok else 'FAIL'}</td><td>{html.escape(c.name)}</td><td>{c.compared}</td>"
            f"<td>{_number(c.largest)}</td><td>{_number(c.tolerance)}</td><td>{html.escape(c.how)}</td></tr>"
            for c in self.checks
        )
        head = "".join(
            f"<th>{name}</th>" for name in ("", "check", "rows", "largest difference", "tolerance", "how")
        )
        return (
            f"<p>Verification of {html.escape(self.folder)}: {html.escape(self.summary)}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            + _list("Differences", [str(each) for each in self.differences])
            + _list("Not checked", [f"{each.what}: {each.why}" for each in self.unchecked])
            + _list("Not proved", list(self.not_proved))
        )


def _as_dict(difference: Difference) -> dict[str, str]:
    return {
        "where": difference.where, "what": difference.what, "found": difference.found,
        "expected": difference.expected,
    }  # fmt: skip


def _measured(check: Check) -> str:
    compared = f"{check.compared:>5} compared"
    if check.tolerance is None:
        return f"{compared}  {'':<33}"
    return f"{compared}  largest difference {_number(check.largest):>7} <= {check.tolerance:g}".ljust(49)


def _number(value: float | None) -> str:
    return "" if value is None else "0" if value == 0 else "inf" if math.isinf(value) else f"{value:.1e}"


def _list(title: str, lines: list[str]) -> str:
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    return f"<p>{title}:</p><ul>{items}</ul>" if lines else ""
