"""Run a protocol: from raw files to a results folder with tables, figures and a report."""

from __future__ import annotations

import glob
import hashlib
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairstats.analysis import Analysis, Progress, analyse
from pairstats.arguments import checked
from pairstats.errors import PairstatsError, ProtocolError
from pairstats.outputs import check_parent
from pairstats.protocol import Protocol, ProtocolFile, load_protocol, read_protocol
from pairstats.protocol.lock import (
    broken,
    checksums,
    foreseeable,
    read_lock,
    scripts_of,
    seen_when_frozen,
    undeclared,
)
from pairstats.protocol.places import Fault, Place
from pairstats.records.rescoring import Rescored
from pairstats.result import Estimates, guarded
from pairstats.study import FOLDER as STUDY
from pairstats.study import Table, study_figures, write_tables

if TYPE_CHECKING:
    from pairstats.results import Results

STEPS = ("reading", "estimating", "comparing", "drawing", "reporting")
EXPLORATORY = "exploratory"
PROVENANCE = "provenance.json"
_STALE_FOLDERS = ("figures", EXPLORATORY, STUDY)
_STALE_STEMS = ("calibration", "sensitivity", "completeness_by_block", "rescored")


@checked
def run_protocol(
    path: str | Path,
    output: str | Path,
    *,
    report: bool = True,
    figures: str | Path | None = None,
    unlocked: bool = False,
    progress: Progress | None = None,
) -> Results:
    """Read, estimate, compare, judge, draw and report what a protocol asks for.

    Where a lock lies beside the protocol it must hold, and the rows are registered; without one every row is
    unregistered.

    Parameters
    ----------
    path : str or Path
        The protocol file.
    output : str or Path
        Folder for the results; what an earlier run wrote there is replaced.
    report : bool, default True
        Whether to draw figures and write ``report.html``.
    figures : str or Path, optional
        A further folder for the figures (PNG, and the CSV each was drawn from), as a study keeps them: those of
        the protocol's script, or else the usual ones.
    unlocked : bool, default False
        Run although the lock does not hold; every row is then unregistered.
    progress : callable, optional
        Called with the name of each step as it begins.

    Returns
    -------
    Results

    Raises
    ------
    ProtocolError
        When the protocol cannot be run as written, or its lock does not hold.
    PairstatsError
        When the folder holds files that no run of pairstats wrote.
    ReadError, SchemaError, PairingError
        When its records cannot be read or paired.
    """
    from pairstats.results import Results

    protocol, output = load_protocol(path), Path(output)
    check_output(output)  # before anything is read; what an earlier run left stays until this one has numbers
    if output.resolve() == protocol.path.resolve().parent:
        raise PairstatsError(
            f"The results must lie in another folder than {protocol.path}. Name one with -o."
        )
    if figures is not None and Path(figures).resolve() == (output / "figures").resolve():
        raise PairstatsError("The figures lie in the results anyway; name a further folder for them.")
    registered = not unlocked and _lock_holds(protocol)
    analysis = analyse(protocol, registered=registered, progress=progress)
    write_analysis(analysis, output)
    if report or figures is not None:
        _step(progress, "drawing")
        _draw(analysis, output, report, figures)
    if report:
        from pairstats.report import write_report

        _step(progress, "reporting")
        write_report(output, output / "report.html")
    return Results.load(output)


def _draw(analysis: Analysis, output: Path, report: bool, figures: str | Path | None) -> None:
    """Draw what the results allow and what the script adds, into the results and into a further folder."""
    from pairstats.figures import draw
    from pairstats.results import Results

    known: dict[str, Table] = {**analysis.tables, "estimates": analysis.estimates}
    known["completeness"] = analysis.completeness
    if analysis.calibration is not None:
        known["calibration"] = analysis.calibration
    more = study_figures(analysis.protocol, known)
    results = Results.load(output)
    if report:
        draw(results, output / "figures", more=more)
    if figures is not None:
        draw(results, figures, ("png",), more=more, usual=not more)


def _lock_holds(protocol: Protocol) -> bool:
    """Whether the protocol is frozen; an error where it is but the lock does not hold."""
    lock = read_lock(protocol.path)
    if lock is None:
        return False
    found = broken(protocol, lock)
    if found:
        raise ProtocolError(
            "The lock of the protocol must hold, but does not:\n- "
            + "\n- ".join(found)
            + "\nUndo the change "
            "(a departure belongs into a [[deviation]]), or run with --unlocked: every row is then unregistered."
        )
    return True


def check_protocol(path: str | Path) -> dict[str, Any]:
    """Check a protocol without reading its records: its own words, where its records lie, and its lock.

    Returns
    -------
    dict
        ``name``, counts of ``estimands`` and ``contrasts``, ``frozen`` (time, or None), and ``findings``: all
        that would stop a run or a freeze, each with its line.

    Raises
    ------
    ProtocolError
        When there is no such file, or it is no TOML.
    """
    read = read_protocol(path)
    lock, left_open = read_lock(path), undeclared(read.content)
    open_rules = [Fault(left_open, Place("design"))] if left_open and lock is None else []
    found = read.told([*read.faults, *_absent(read), *open_rules])
    if lock is not None and not read.faults:
        found += broken(read.protocol(), lock)
    head = read.tables.value("protocol")
    return {
        "name": (head and head.name) or read.path.resolve().parent.name,
        "estimands": len(read.tables.sections["estimand"]),
        "contrasts": len(read.tables.sections["contrast"]),
        "frozen": None if lock is None else lock.frozen_at,
        "foreseen": [] if read.faults else foreseeable(read.protocol()),
        "findings": found,
    }


def _absent(read: ProtocolFile) -> list[Fault]:
    """Faults at sources and scripts whose files are not there."""
    faults = [
        table.fault(f"there is no file {table.value.file}", "file")
        for section in ("scorer", "script")
        for table in read.tables.named(section)
        if not (read.path.parent / table.value.file).is_file()
    ]
    for table in read.tables.named("records.source"):
        for key in ("path", "items"):
            value = getattr(table.value, key)
            for each in [] if value is None else [value] if isinstance(value, str) else value:
                if each.strip() and not glob.glob(str(read.path.parent / each), recursive=True):
                    faults.append(table.fault(f"there is no file or folder {each}", key))
    return faults


def write_analysis(analysis: Analysis, output: Path) -> None:
    """Write the tables of an analysis into a folder, which is made where it is absent.

    Raises
    ------
    PairstatsError
        When the folder holds files that no run of pairstats wrote.
    """
    check_output(output)
    _clear(output)
    output.mkdir(parents=True, exist_ok=True)
    _both(analysis.estimates, output / "estimates")
    for stem, part in (("calibration", analysis.calibration), ("sensitivity", analysis.sensitivity)):
        if part is not None:
            _both(part, output / stem)
    if analysis.exploratory is not None:
        (output / EXPLORATORY).mkdir()
        _both(analysis.exploratory, output / EXPLORATORY / "estimates")
    records = analysis.records
    frames = {
        "completeness": analysis.completeness, "ledger": records.ledger, "left_out": records.left_out,
    } | ({} if analysis.blocks is None else {"completeness_by_block": analysis.blocks})  # fmt: skip
    if isinstance(records, Rescored):
        frames["rescored"] = records.changes.astype({"before": "string", "after": "string"})
    write_tables(analysis.tables, output / STUDY)
    for name, frame in frames.items():
        frame.to_parquet(output / f"{name}.parquet", index=False)
        guarded(frame).to_csv(output / f"{name}.csv", index=False, lineterminator="\n")
    records.save(output / "records.parquet")
    _copy_protocol(analysis.protocol, output)
    files = sorted(path for path in output.rglob("*") if path.is_file() and path.name != PROVENANCE)
    digests = {
        path.relative_to(output).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }
    lock = read_lock(analysis.protocol.path)
    seen = 0 if lock is None else len(seen_when_frozen(analysis.protocol, lock))
    provenance = {**analysis.estimates.provenance, "records_when_frozen": seen, "results_sha256": digests}
    (output / PROVENANCE).write_text(_json(provenance), encoding="utf-8")


def _copy_protocol(protocol: Protocol, output: Path) -> None:
    """Keep the protocol, its lock and the checksums of what it read beside the results."""
    shutil.copyfile(protocol.path, output / "protocol.toml")
    lock = protocol.path.with_suffix(".lock")
    if lock.exists():
        shutil.copyfile(lock, output / "protocol.lock")
    for name in scripts_of(protocol):
        shutil.copyfile(protocol.path.parent / name, output / Path(name).name)
    (output / "records.sha256.json").write_text(_json(checksums(protocol)), encoding="utf-8")


def check_output(output: Path) -> None:
    """Raise unless a folder may take the results of a run; nothing is changed.

    Raises
    ------
    PairstatsError
        When it holds other things than results of an earlier run, or cannot be made.
    """
    if output.exists() and (not output.is_dir() or (any(output.iterdir()) and not _is_results(output))):
        raise PairstatsError(
            f"{output} must be a new folder or hold the results of an earlier run, but holds something else. "
            "Name another folder with -o."
        )
    check_parent(output / "new")


def _clear(output: Path) -> None:
    """Take away what an earlier run left and this one may not write."""
    for name in _STALE_FOLDERS:
        shutil.rmtree(output / name, ignore_errors=True)
    stale = [output / f"{stem}{end}" for stem in _STALE_STEMS for end in (".parquet", ".csv")]
    for path in (*stale, output / "report.html", output / "protocol.lock"):
        path.unlink(missing_ok=True)


def _is_results(folder: Path) -> bool:
    return (folder / PROVENANCE).is_file()


def _both(estimates: Estimates, stem: Path) -> None:
    estimates.to_parquet(stem.with_suffix(".parquet"))
    estimates.to_csv(stem.with_suffix(".csv"))


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, default=str) + "\n"


def _step(progress: Progress | None, name: str) -> None:
    if progress is not None:
        progress(name)
