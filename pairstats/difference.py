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

from pairstats.arguments import checked
from pairstats.protocol.meaning import meaning_diff
from pairstats.records.changes import RecordChanges, record_changes
from pairstats.results import Results
from pairstats.table_changes import Change, RowChange, all_rows

VERSIONS = ("pairstats", "python")


@dataclass(frozen=True, slots=True)
class ResultsDiff:
    """Outcome of `diff_results`.

    Attributes
    ----------
    old, new : str
        The two folders.
    rows : tuple of RowChange
        Rows that differ, comparisons first: of the estimates, and of the calibration, sensitivity, exploratory
        and study tables, whose name then stands before the row.
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
        yield "Estimates and tables", [str(row) for row in self.rows if row.contrast is None]
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


@checked
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
    rows, compared = all_rows(one, two, records)
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
