"""check, freeze, run, power: what is done with a protocol."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from pairstats.commands.common import FINDINGS, OK, print_json, progress
from pairstats.errors import counted


def check(given: argparse.Namespace) -> int:
    """Print every fault of a protocol, or what is remarkable in records."""
    if given.file.suffix != ".toml":
        from pairstats.commands.records import check as check_records

        return check_records(given)
    from pairstats.run import check_protocol

    found = check_protocol(given.file)
    counts = f"{counted(found['estimands'], 'estimand')}, {counted(found['contrasts'], 'contrast')}"
    state = f"frozen at {found['frozen']}" if found["frozen"] else "not frozen"
    if given.json:
        print_json({"file": str(given.file), **found})
    else:
        print(f"{given.file}: protocol {found['name']!r}, {counts}, {state}")
        for finding in found["findings"]:
            print(f"- {finding}")
        for warning in found.get("foreseen", ()):
            print(f"- before the data: {warning}")
    return FINDINGS if found["findings"] else OK


def run(given: argparse.Namespace) -> int:
    """Run a protocol; the last lines say what was found and where it is."""
    from pairstats.run import STEPS, run_protocol

    with progress(STEPS) as step:
        results = run_protocol(
            given.protocol, given.output, report=not given.no_report, figures=given.figures,
            unlocked=given.unlocked, progress=step,
        )  # fmt: skip
    from pairstats.words import findings

    said = findings(results.estimates, completeness=results.completeness)
    deviations = list(results.provenance.get("deviations", []))
    status = _verdict_status(results) if given.exit_verdict else FINDINGS if deviations else OK
    if given.json:
        print_json({"findings": said, "deviations": deviations, "output": str(given.output)})
        return status
    print("Found:")
    for sentence in said:
        print(f"- {sentence}")
    for deviation in deviations:
        print(f"- Deviation from the protocol: {deviation}")
    _say_where(given)
    return status


def _verdict_status(results: Any) -> int:
    """Exit status of the worst verdict: 12 not estimable, 11 inconclusive, 10 equivalent, else 0."""
    verdicts = set(results.contrasts.frame["verdict"].dropna())
    worst = (("not estimable", 12), ("inconclusive", 11), ("equivalent", 10))
    return next((status for verdict, status in worst if verdict in verdicts), OK)


def freeze(given: argparse.Namespace) -> int:
    """Write the lock of a protocol."""
    from pairstats.protocol import load_protocol
    from pairstats.protocol import lock as locks

    lock = locks.freeze(given.protocol, timestamp=given.timestamp)
    if given.json:
        print_json(
            {
                "lock": str(locks.lock_path(given.protocol)),
                "sha256": lock.sha256,
                "warnings": list(lock.warnings),
            }
        )
        return FINDINGS if lock.warnings else OK
    print(f"{locks.lock_path(given.protocol)}: frozen at {lock.frozen_at}, sha256 {lock.sha256}")
    print(
        f"{counted(len(lock.records), 'record file')} with checksums"
        + (f", commit {lock.git}" if lock.git else "")
    )
    seen = len(locks.seen_when_frozen(load_protocol(given.protocol), lock))
    if seen:
        print(
            f"{counted(seen, 'record file')} lay there already: the lock does not show that the protocol was "
            "written before the data"
        )
    for warning in lock.warnings:
        print(f"- {warning}")
    return FINDINGS if lock.warnings else OK


def _say_where(given: argparse.Namespace) -> None:
    tables = f"{given.output / 'estimates.csv'} (and .parquet), {given.output / 'completeness.csv'}"
    if given.no_report:
        print(f"Tables: {tables}")
    else:
        print(
            f"Tables: {tables}; figures: {given.output / 'figures'}; report: {given.output / 'report.html'}"
        )


def power(given: argparse.Namespace) -> int:
    """Simulate a protocol before its data."""
    from pairstats.power import power_of
    from pairstats.protocol import load_protocol

    if given.output is not None:
        _check_power_output(given.output, force=given.force)
    with progress() as step:
        found = power_of(
            load_protocol(given.protocol), families=given.families, copies=given.copies, repeats=given.repeats,
            n_simulations=given.simulations, rng=given.seed, progress=step,
        )  # fmt: skip
    written = _write_power(found, given.output) if given.output is not None else []
    if given.json:
        rows = json.loads(found.frame.to_json(orient="records"))
        print_json({"rows": rows, "assumptions": dict(found.assumptions), "files": written})
        return OK
    for sentence in found.sentences():
        print(f"- {sentence}")
    print(f"seed {found.assumptions['seed']}" + (f"; written: {', '.join(written)}" if written else ""))
    return OK


POWER_FILES = ("power.csv", "power.json", "power_curve.png", "power_curve.svg")


def _check_power_output(folder: Path, *, force: bool) -> None:
    """Refuse files that another simulation of pairstats did not write."""
    from pairstats.outputs import check_files

    try:
        made_by = json.loads((folder / "power.json").read_text(encoding="utf-8"))["made_by"]
        ours = str(made_by).startswith("pairstats")
    except (OSError, ValueError, KeyError, TypeError):
        ours = False
    check_files([folder / name for name in POWER_FILES], ours=lambda _: ours, force=force)


def _write_power(found: Any, folder: Path) -> list[str]:
    from pairstats._version import __version__
    from pairstats.figures import power_curve
    from pairstats.figures.style import save

    folder.mkdir(parents=True, exist_ok=True)
    table, assumed, *figures = [folder / name for name in POWER_FILES]
    found.to_csv(table)
    text = json.dumps({"made_by": f"pairstats {__version__}", **found.assumptions}, indent=2, default=str)
    assumed.write_text(text + "\n", encoding="utf-8")
    figure = power_curve(found.frame)
    for path in figures:
        save(figure, path, ending=path.suffix[1:])
    return [str(folder / name) for name in POWER_FILES]
