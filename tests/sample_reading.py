"""How sample files are read, whole or damaged, and what that gives; for `test_readers_damaged`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any

from damage import records_of

import pairstats as ps
from pairstats.errors import PairstatsError

OPTIONS: dict[str, dict[str, Any]] = {
    "arena_hard/*.csv": {"item": "date", "score_range": (0, 100)},
    "bbh/*.parquet": {"item": "idx", "study": "task", "model": "mode"},
    "gsm8k_openai_wide/*": {"item": "question"},
    "kaggle/*Fidelity*": {"item": "pyRunId", "score": "result"},
    "kaggle/*aggregated*": {"item": "pyRunId"},
    "own/kaggle_benchmarks/paired_rules*": {"item": "pyRunId"},
    "kaggle/*.run.json": {"item": "run_file", "score_range": (-1e6, 1e6)},
    "zeroeval/*.summary.json": {"item": "Mode", "score_range": (0, 100)},
}
"""How files are read that do not tell it themselves; the first pattern counts."""
ADVICE = re.compile(r"\b(score|filter)='([^']+)'")
Row = dict[str, str]


@dataclass(frozen=True)
class Found:
    """What reading gave: numbers of the ledger, rows by their source, and sources of what was left out."""

    records: int
    merged: int
    rows: dict[str, Row]
    left_out: list[str]

    def by_line(self, file: str) -> dict[int, list[str]]:
        """Sources of rows by number of line."""
        found: dict[int, list[str]] = {}
        for source in (*self.rows, *self.left_out):
            if match := re.match(re.escape(file) + r":(\d+)", source):
                found.setdefault(int(match[1]), []).append(source)
        return found


def read(paths: Any, options: dict[str, Any], keep_going: bool = False) -> Found:
    records = ps.read_runs(paths, family="item", keep_going=keep_going, workers=1, progress=False, **options)
    ledger = records.ledger
    assert (ledger["records"] == ledger["rows"] + ledger["left_out"] + ledger["merged"]).all()
    rows = {
        row.pop("source"): {name: str(value) for name, value in row.items() if value is not None}
        for row in records.table.to_pylist()
    }
    assert len(rows) == len(records)
    for row in rows.values():  # each of these tells of the other records too
        row.pop("repeat"), row.pop("attempts", None)
        for name in [name for name in row if name.startswith("value_")]:
            row["score_" + name.removeprefix("value_")] = row.pop(name)
    totals = int(ledger["records"].sum()), int(ledger["merged"].sum())
    return Found(*totals, rows, list(records.left_out["source"]))


@dataclass(frozen=True)
class Sample:
    """A whole file, how it is read, and what that gives."""

    name: str
    content: bytes
    options: dict[str, Any]
    named: bool
    found: Found

    @property
    def file(self) -> str:
        return Path(self.name).name

    @property
    def suffix(self) -> str:
        return Path(self.name).suffix

    @cached_property
    def records(self) -> dict[int, Any]:
        return records_of(self.content, self.suffix)

    def read(self, folder: Path, keep_going: bool = False) -> Found:
        path = folder / self.file if self.content else folder
        return read({"m": path} if self.named else path, self.options, keep_going)


def sample_of(name: str, content: bytes, folder: Path) -> Sample | None:
    """Read a file, or a folder if there is no content, as its own messages ask for; None if that cannot be."""
    if content:
        (folder / Path(name).name).write_bytes(content)
    said = next((given for pattern, given in OPTIONS.items() if fnmatch(name, pattern)), {})
    for named in (False, True)[: 1 if "model" in said else 2]:
        options = dict(said)
        for _ in range(3):
            try:
                blank = Sample(name, content, options, named, Found(0, 0, {}, []))
                return replace(blank, found=blank.read(folder))
            except PairstatsError as error:
                advice = ADVICE.search(str(error))
                if advice is None or advice[1] in options:
                    break
                options[advice[1]] = advice[2]
    return None


def tried(sample: Sample, folder: Path, keep_going: bool = False) -> Found | PairstatsError:
    try:
        return sample.read(folder, keep_going)
    except PairstatsError as error:
        return error
