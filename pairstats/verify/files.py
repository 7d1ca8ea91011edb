"""Whether the files of a results folder agree with each other and with their checksums."""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pairstats.errors import PairstatsError
from pairstats.verify.declared import Declared, digest_of
from pairstats.verify.result import Check, Difference, Unchecked

Outcome = tuple[list[Check], list[Unchecked]]

RESULT_SUMS = "results_sha256"
"""Entry of ``provenance.json`` with a checksum for each file of the folder."""

STATUSES = ("answered", "unparsed", "truncated", "refused", "empty", "error", "absent")

AS_READ = "status_as_run"
"""Where a scorer changed statuses: those that the reader counted."""


def file_checks(folder: Path, declared: Declared, records: pa.Table) -> Outcome:
    """Checks of everything beside the numbers."""
    provenance = _json(folder / "provenance.json")
    checks: list[Check] = []
    unchecked: list[Unchecked] = []
    for found in (
        _provenance(folder, provenance, declared),
        _lock(folder, provenance, declared),
        _sums(folder, provenance),
        _ledger(folder, records, provenance),
        _spreadsheet(folder),
        _completeness(folder, declared, records),
    ):
        checks += found[0]
        unchecked += found[1]
    for name in ("calibration.parquet", "sensitivity.parquet", "exploratory/estimates.parquet"):
        if (folder / name).is_file():
            unchecked.append(Unchecked(name, "it is not the main table"))
    return checks, unchecked


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise PairstatsError(f"{path.name} must be JSON, but is not: {error}.") from error
    return content if isinstance(content, dict) else {}


def _provenance(folder: Path, provenance: Mapping[str, Any], declared: Declared) -> Outcome:
    """The protocol is the one named, and the table was written in the same run."""
    if not provenance:
        return [], [Unchecked("provenance", "there is no provenance.json")]
    differences = []
    named = (provenance.get("protocol") or {}).get("sha256")
    if named != declared.digest:
        differences.append(Difference("protocol.toml", "digest of the content", declared.digest, str(named)))
    metadata = pq.read_schema(folder / "estimates.parquet").metadata or {}
    inside = json.loads(metadata.get(b"pairstats_estimates", b"{}")).get("provenance", {})
    for name in sorted(set(inside) & set(provenance)):
        if inside[name] != provenance[name]:
            differences.append(
                Difference("estimates.parquet", f"provenance {name!r}", _short(inside[name]),
                           _short(provenance[name]))
            )  # fmt: skip
    told = "protocol.toml and estimates.parquet against provenance.json"
    return [Check("provenance", told, 1 + len(inside), None, None, tuple(differences))], []


def _short(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _lock(folder: Path, provenance: Mapping[str, Any], declared: Declared) -> Outcome:
    """Nothing is registered but under a lock that holds what the protocol says."""
    registered = pq.read_table(folder / "estimates.parquet", columns=["registered"]).column(0).to_pylist()
    claims = [*registered, provenance.get("registered")]
    lock = _json(folder / "protocol.lock")
    differences = []
    if lock and digest_of(lock.get("content")) != lock.get("sha256"):
        own = digest_of(lock.get("content"))
        differences.append(Difference("protocol.lock", "digest", str(lock.get("sha256")), own))
    holds = bool(lock) and not differences and lock.get("sha256") == declared.digest
    if any(claims) and not holds:
        differences.append(Difference("estimates.parquet", "registered", "true", "false: no lock holds"))
    told = "registered only under a lock of the same protocol"
    return [Check("lock", told, len(claims), None, None, tuple(differences))], []


def _sums(folder: Path, provenance: Mapping[str, Any]) -> Outcome:
    """Checksums of the files of the folder, where provenance lists them."""
    listed = provenance.get(RESULT_SUMS)
    if not isinstance(listed, dict):
        why = f"provenance.json lists none under {RESULT_SUMS!r}"
        return [], [Unchecked("checksums of the files of the folder", why)]
    differences = []
    for name, wanted in listed.items():
        path = folder / name
        found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "absent"
        if found != wanted:
            differences.append(Difference(name, "checksum", found, str(wanted)))
    told = "SHA-256 of each file against provenance.json"
    return [Check("files", told, len(listed), None, None, tuple(differences))], []


def _ledger(folder: Path, records: pa.Table, provenance: Mapping[str, Any]) -> Outcome:
    """Rows and statuses of every raw file as its ledger counted them, and its checksum as told elsewhere."""
    text = (records.schema.metadata or {}).get(b"pairstats_ledger")
    if text is None:
        return [], [Unchecked("ledger", "records.parquet holds none")]
    lines = json.loads(text)
    differences = _counted(lines, records)
    raw = provenance.get("input_sha256", {})
    listed = _json(folder / "records.sha256.json")
    named: dict[str, set[str]] = {}  # two sources may hold files of one name; provenance lists one of them
    for line in lines:
        named.setdefault(line["file"], set()).add(line["sha256"])
    for line in lines:
        name, digest = line["file"], line["sha256"]
        if name in raw and raw[name] not in named[name]:
            differences.append(Difference(name, "checksum in the ledger", digest, raw[name]))
        if listed and digest not in listed.values():
            differences.append(Difference(name, "checksum", digest, "one of records.sha256.json"))
    told = "rows and statuses of each raw file in records.parquet as its ledger counted them; checksums"
    check = Check("records", told, len(lines), None, None, tuple(differences))
    why = "they lie outside the results; `pairstats check` compares them with the lock"
    return [check], [Unchecked("the raw files themselves", why)]


def _counted(lines: Sequence[Mapping[str, Any]], records: pa.Table) -> list[Difference]:
    as_read = AS_READ if AS_READ in records.column_names else "status"
    statuses = [str(status) for status in records.column(as_read).to_pylist()]
    sources = [str(source) for source in records.column("source").to_pylist()]
    files = sorted((line["file"] for line in lines if line["rows"]), key=len, reverse=True)
    owner = [next((f for f in files if source.startswith(f)), None) for source in sources]
    differences = []
    if None not in owner and len(set(files)) == len(files):
        told: dict[str, Counter[str]] = {}
        for line in lines:  # several sources may name one item table, which then has a line for each
            told.setdefault(line["file"], Counter()).update({n: line[n] for n in ("rows", *STATUSES)})
        for file, line in told.items():
            own = Counter(status for status, name in zip(statuses, owner, strict=True) if name == file)
            differences += _line(file, line, own)
        return differences
    total = {name: sum(line[name] for line in lines) for name in ("rows", *STATUSES)}
    return _line("records.parquet", total, Counter(statuses))


def _line(where: str, told: Mapping[str, Any], found: Counter[str]) -> list[Difference]:
    counts = {"rows": sum(found.values()), **{status: found[status] for status in STATUSES}}
    return [
        Difference(where, f"number of {name}", str(count), str(told[name]))
        for name, count in counts.items()
        if count != told[name]
    ]


def _spreadsheet(folder: Path) -> Outcome:
    """The CSV table says the same as the Parquet table."""
    path = folder / "estimates.csv"
    if not path.is_file():
        return [], [Unchecked("estimates.csv", "there is none")]
    with path.open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    rows = pq.read_table(folder / "estimates.parquet").to_pylist()
    differences = []
    if len(lines) != len(rows):
        differences.append(Difference("estimates.csv", "number of rows", str(len(lines)), str(len(rows))))
    for number, (line, row) in enumerate(zip(lines, rows, strict=False), start=1):
        for name, value in row.items():
            text = line.get(name, line.get(f"'{name}", ""))
            if isinstance(value, int | float) and not isinstance(value, bool) and not _same(text, value):
                shown = "empty" if value != value else f"{value!r}"
                differences.append(Difference(f"estimates.csv row {number}", name, text or "empty", shown))
    told = "numbers of estimates.csv against estimates.parquet"
    return [Check("spreadsheet", told, len(lines), None, None, tuple(differences))], []


def _same(text: str, value: float) -> bool:
    try:
        number = float(text) if text else math.nan
    except ValueError:
        return False
    return number == value or (math.isnan(number) and math.isnan(value))


def _completeness(folder: Path, declared: Declared, records: pa.Table) -> Outcome:
    """Replies planned and their statuses in every cell."""
    path = folder / "completeness.parquet"
    if not path.is_file():
        return [], [Unchecked("completeness", "there is no completeness.parquet")]
    columns = [records.column(name).to_pylist() for name in (*declared.cells, "status")]
    counted: dict[tuple[str, ...], Counter[str]] = {}
    for *cell, status in zip(*columns, strict=True):
        counted.setdefault(tuple(map(str, cell)), Counter())[str(status)] += 1
    differences, rows = [], pq.read_table(path).to_pylist()
    for row in rows:
        cell_key = tuple(str(row[name]) for name in declared.cells)
        own = counted.pop(cell_key, Counter())
        wanted = {"planned": sum(own.values()), **{status: own[status] for status in STATUSES}}
        differences += [
            Difference("completeness " + " ".join(cell_key), name, str(row[name]), str(count))
            for name, count in wanted.items()
            if row.get(name) != count
        ]
    differences += [Difference("completeness " + " ".join(k), "row", "absent", "there") for k in counted]
    told = "replies of each status counted again"
    return [Check("completeness", told, len(rows), None, None, tuple(differences))], []
