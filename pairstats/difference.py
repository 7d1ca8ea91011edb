"""What changed between two results folders, row by row, and why: records, protocol or version."""

from __future__ import annotations

import html
import json
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pairstats.protocol.meaning import meaning_diff
from pairstats.record_changes import RecordChanges, record_changes
from pairstats.result import Estimates
from pairstats.results import Results

TOLERANCE = 1e-12
"""Numbers closer than this (p-values: than this share of themselves) are the same."""

COLUMNS = (
    "estimate", "conf_low", "conf_high", "p_value", "p_adjusted", "verdict", "n_families", "n_units",
    "n_missing", "method", "conf_level", "claim", "margin", "tipping_point", "bound_low", "bound_high",
    "registered",
)  # fmt: skip
"""Columns that are compared."""

RELATIVE = ("p_value", "p_adjusted")
VERSIONS = ("pairstats", "python")


@dataclass(frozen=True, slots=True)
class Change:
    """One value that differs; None where a side has none."""

    name: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.name} {_text(self.old)} -> {_text(self.new)}"


@dataclass(frozen=True, slots=True)
class RowChange:
    """A row of the estimates that differs.

    Attributes
    ----------
    where : str
        Estimand, comparison and levels.
    contrast : str or None
        Label of the comparison; None for a single cell.
    state : {"changed", "added", "removed"}
    changes : tuple of Change
    records : int
        Records that changed and have the levels of this row.
    """

    where: str
    contrast: str | None
    state: str
    changes: tuple[Change, ...] = ()
    records: int = 0

    def __str__(self) -> str:
        if self.state != "changed":
            return f"{self.where}: {self.state}"
        because = f" ({self.records} records of these levels differ)" if self.records else ""
        return f"{self.where}: {', '.join(map(str, self.changes))}{because}"


@dataclass(frozen=True, slots=True)
class ResultsDiff:
    """Outcome of `diff_results`.

    Attributes
    ----------
    old, new : str
        The two folders.
    rows : tuple of RowChange
        Rows of the estimates that differ, comparisons first.
    compared : int
        Rows that both have.
    records : RecordChanges
    files : tuple of Change
        Checksums of raw files.
    protocol : tuple of str
        Settings that differ, by path.
    versions : tuple of Change
    """

    old: str
    new: str
    rows: tuple[RowChange, ...]
    compared: int
    records: RecordChanges
    files: tuple[Change, ...] = ()
    protocol: tuple[str, ...] = ()
    versions: tuple[Change, ...] = ()

    @property
    def same(self) -> bool:
        """Whether no row differs."""
        return not self.rows

    @property
    def causes(self) -> tuple[str, ...]:
        """What differs besides the estimates, of ``records``, ``protocol`` and ``version``."""
        found = {
            "records": self.records.any or self.files,
            "protocol": self.protocol,
            "version": self.versions,
        }
        return tuple(name for name, differs in found.items() if differs)

    @property
    def summary(self) -> str:
        """One line: how many rows differ, and why."""
        if self.same:
            beside = f", although the {_and(self.causes)} changed" if self.causes else ""
            return f"all {self.compared} rows are the same{beside}"
        states = [
            f"{n} {state}"
            for state in ("changed", "added", "removed")
            if (n := sum(row.state == state for row in self.rows))
        ]
        why = f"the {_and(self.causes)} changed" if self.causes else (
            "records, protocol and version are the same, so that one table was not made from them"
        )  # fmt: skip
        return f"{_and(states)} of the rows ({self.compared} in both): {why}"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values that JSON can write."""
        return {
            "old": self.old, "new": self.new, "same": self.same, "causes": list(self.causes),
            "summary": self.summary, "compared": self.compared,
            "rows": [_plain(asdict(row)) for row in self.rows],
            "records": _plain(asdict(self.records)),
            "files": [_plain(asdict(each)) for each in self.files],
            "protocol": list(self.protocol),
            "versions": [_plain(asdict(each)) for each in self.versions],
        }  # fmt: skip

    def _parts(self) -> Iterator[tuple[str, Sequence[str]]]:
        yield "Comparisons", [str(row) for row in self.rows if row.contrast is not None]
        yield "Estimates", [str(row) for row in self.rows if row.contrast is None]
        yield "Records", self.records.lines()
        yield "Raw files", [str(each) for each in self.files]
        yield "Protocol", self.protocol
        yield "Versions", [str(each) for each in self.versions]

    def __str__(self) -> str:
        lines = [f"{self.old} -> {self.new}: {self.summary}"]
        for title, part in self._parts():
            if part:
                lines += [f"{title}:", *(f"- {line}" for line in part)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        title = f"<p>{html.escape(f'{self.old} -> {self.new}: {self.summary}')}</p>"
        parts = [
            f"<p>{name}</p><ul>{''.join(f'<li>{html.escape(line)}</li>' for line in part)}</ul>"
            for name, part in self._parts()
            if part
        ]
        return title + "".join(parts)


def diff_results(old: str | Path, new: str | Path) -> ResultsDiff:
    """Compare two results folders: what changed, comparison by comparison, and why.

    Parameters
    ----------
    old, new : str or Path
        Folders that ``pairstats run`` wrote.

    Returns
    -------
    ResultsDiff
        ``same`` is whether no estimate, limit, p-value, count or verdict differs by more than rounding
        (1e-12). Records are matched by their key, settings of the protocol by their path.

    Raises
    ------
    PairstatsError
        When a folder is no results folder.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> import pairstats as ps
    >>> protocol = '''
    ... [[records.source]]
    ... path = "rows.csv"
    ... [[estimand]]
    ... name = "accuracy"
    ... kind = "mean"
    ... '''
    >>> rows = pd.DataFrame({"family": list("abcd"), "item": list("abcd"), "model": "m", "status": "answered"})
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = Path(name)
    ...     _ = (folder / "protocol.toml").write_text(protocol)
    ...     for run, scores in (("old", [1, 1, 1, 0]), ("new", [1, 1, 0, 0])):
    ...         rows.assign(score=scores).to_csv(folder / "rows.csv", index=False)
    ...         _ = ps.run_protocol(folder / "protocol.toml", folder / run, report=False)
    ...     found = diff_results(folder / "old", folder / "new")
    >>> found.summary
    '1 changed of the rows (1 in both): the records changed'
    >>> print(found.rows[0].changes[0])
    estimate 0.7500 -> 0.5000
    """
    one, two = Results.load(old), Results.load(new)
    records = record_changes(one.folder, two.folder)
    rows, compared = _rows(one.estimates, two.estimates, records)
    raw = [dict(each.provenance.get("input_sha256") or {}) for each in (one, two)]
    versions = [{name: each.provenance.get(name) for name in VERSIONS} for each in (one, two)]
    protocols = [_protocol(each.folder / "protocol.toml") for each in (one, two)]
    return ResultsDiff(
        old=str(old),
        new=str(new),
        rows=tuple(sorted(rows, key=lambda row: row.contrast is None)),
        compared=compared,
        records=records,
        files=_changes(*raw),
        protocol=tuple(meaning_diff(*protocols)),
        versions=_changes(*versions),
    )


def _protocol(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Change, ...]:
    names = sorted({*old, *new})
    return tuple(
        Change(name, old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)
    )


def _rows(old: Estimates, new: Estimates, records: RecordChanges) -> tuple[list[RowChange], int]:
    """Rows that differ, and the number that both tables have; rows of one key are matched in their order."""
    before, after = _by_key(old), _by_key(new)
    found = []
    for key in {**before, **after}:
        levels = dict(key[3:])
        one, two = before.get(key), after.get(key)
        where, label = _where(key), key[0]
        if one is None or two is None:
            found.append(RowChange(where, label, "added" if one is None else "removed"))
            continue
        changes = tuple(
            Change(name, one.get(name), two.get(name))
            for name in COLUMNS
            if not _equal(name, one.get(name), two.get(name))
        )
        if changes:
            found.append(RowChange(where, label, "changed", changes, records.touching(levels)))
    return found, len(before.keys() & after.keys())


Key = tuple[Any, ...]


def _by_key(estimates: Estimates) -> dict[Key, Mapping[str, Any]]:
    rows: dict[Key, Mapping[str, Any]] = {}
    for row in estimates:
        levels = sorted((f, str(row[f])) for f in estimates.factors if row.get(f) is not None)
        place = 0
        while (key := (row["contrast"], row["estimand"], place, *levels)) in rows:
            place += 1
        rows[key] = row
    return rows


def _where(key: Key) -> str:
    contrast, estimand, place, *levels = key
    of = f" ({contrast})" if contrast else ""
    again = f" [{place + 1}]" if place else ""
    return " ".join([f"{estimand}{of}{again}", *(f"{name}={level}" for name, level in levels)])


def _equal(name: str, old: Any, new: Any) -> bool:
    if old is None or new is None or isinstance(old, str | bool) or isinstance(new, str | bool):
        return bool(old == new)
    scale = max(abs(old), abs(new)) if name in RELATIVE else max(1.0, abs(old), abs(new))
    return bool(old == new or abs(old - new) <= TOLERANCE * scale)


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, str):
        return value if len(value) < 40 else value[:12] + "..."
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.3e}" if 0 < abs(value) < 1e-3 else f"{value:.4f}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _and(words: Sequence[str]) -> str:
    return " and ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])} and {words[-1]}"


def _plain(value: Any) -> Any:
    """Infinite numbers as text, so that the JSON is one for every reader."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return json.loads(json.dumps(value, default=str))
