"""The command line. Nothing heavy is imported before a command runs, so that --help answers at once."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pairstats._version import __version__
from pairstats.commands.common import OK, USAGE

EXAMPLES: dict[str, tuple[str, ...]] = {
    "normalize": (
        "pairstats normalize logs/ --family metadata.family_id --variant metadata.variant -o records.parquet",
        r"pairstats normalize runs/ --family 'item~^(\w+)-' --variant 'item~-(\w+)$' -o records.parquet",
        "pairstats normalize small=a.jsonl large=b.jsonl --family item --filter strict-match -o records.parquet",
    ),
    "check": ("pairstats check records.parquet", "pairstats check protocol.toml"),
    "rescore": ("pairstats rescore records.parquet my_scorer.py -o rescored.parquet --changes changes.csv",),
    "power": ("pairstats power protocol.toml --families 50 100 200 -o power/",),
    "freeze": ("pairstats freeze protocol.toml",),
    "run": (
        "pairstats run analyses/rule_conflicts/protocol.toml -o results/",
        "pairstats run protocol.toml -o results/ --no-report --exit-verdict",
    ),
    "verify": ("pairstats verify results/",),
    "draw": ("pairstats draw results/ -o figures/",),
    "report": ("pairstats report results/ -o report.html",),
    "fill": ("pairstats fill article.md --results results/ -o article_filled.md",),
    "diff": ("pairstats diff results_a/ results_b/",),
}
FINDING: dict[str, str] = {
    "normalize": "records were left out (--keep-going)",
    "check": "the file has faults, records have something to explain, or the lock of a protocol does not hold",
    "rescore": "values changed",
    "freeze": "the planned design cannot support a claim",
    "run": "the records depart from the protocol (a [[deviation]], or counts other than [design] expect)",
    "verify": "a number, or a file, is not what the records give",
    "fill": "a number of the write-up does not come from the results",
    "diff": "the results differ",
}
"""What exit status 1 means for each command that has findings."""

STATUS = "exit status: 0 fine, 1 findings, 2 wrong usage or unreadable input"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Words after the program's name; by default those of the process.

    Returns
    -------
    int
        0 fine, 1 findings, 2 wrong usage or unreadable input.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that lacks a letter gets its escape
            stream.reconfigure(errors="backslashreplace")
    parser = build_parser()
    given, unknown = parser.parse_known_args(arguments)
    if unknown:
        given.refuse(f"unrecognized arguments: {' '.join(unknown)}")
    if given.command is None:
        parser.print_help()
        return USAGE
    try:
        status = _function(given.command)(given)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        _discard_output()
        return OK
    except KeyboardInterrupt:
        return _complain("stopped", given)
    except Exception as error:
        message = _expected(error)
        if message is None:
            raise
        return _complain(message, given)


def _expected(error: Exception) -> str | None:
    """Message of an error that input or surroundings cause; None for a fault of the program."""
    from pairstats.errors import PairstatsError

    if isinstance(error, PairstatsError):
        return str(error)
    if isinstance(error, OSError):
        names = [str(name) for name in (error.filename, error.filename2) if name is not None]
        return ": ".join([error.strerror or str(error) or type(error).__name__, *names])
    if any(kind.__module__.startswith("pyarrow") for kind in type(error).__mro__):
        return f"a table cannot be read or written: {' '.join(str(error).split())}"
    return None


def _discard_output() -> None:
    """Let nothing be written any more, so that leaving the program does not fail a second time."""
    with contextlib.suppress(OSError, ValueError):  # not a real file, as in a notebook
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _function(command: str) -> Callable[[argparse.Namespace], int]:
    module, _, name = command.rpartition(".")
    function: Callable[[argparse.Namespace], int] = getattr(importlib.import_module(module), name)
    return function


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="pairstats", description="Paired statistics for language-model evaluations.",
        epilog=_epilog([example for each in EXAMPLES.values() for example in each], STATUS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.set_defaults(command=None, json=False, refuse=parser.error)
    parser.add_argument("--version", action="version", version=f"pairstats {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_records(commands)
    _add_study(commands)
    _add_results(commands)
    return parser


def _command(commands: Any, name: str, module: str, about: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=about, description=about, epilog=_epilog(EXAMPLES[name], _status_of(name)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.set_defaults(command=f"pairstats.commands.{module}", refuse=parser.error)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    return parser


def _epilog(examples: Sequence[str], status: str) -> str:
    return "\n  ".join(["examples:", *examples]) + f"\n\n{status}\n"


def _status_of(name: str) -> str:
    """Exit statuses of one command, with what its findings are."""
    found = f", 1 where {FINDING[name]}" if name in FINDING else ""
    more = "\n  --exit-verdict: 10, 11, 12 as above, else 0, whatever was found" if name == "run" else ""
    return f"exit status: 0 fine{found},\n  2 wrong usage or unreadable input{more}"


def _output(parser: argparse.ArgumentParser, what: str, *, required: bool = True, force: bool = True) -> None:
    parser.add_argument("-o", "--output", type=Path, required=required, help=what)
    if force:
        parser.add_argument(
            "--force", action="store_true", help="overwrite files that pairstats did not write there"
        )


def _add_records(commands: Any) -> None:
    from pairstats.commands import normalize

    normalize.add_arguments(
        _command(commands, "normalize", "normalize.run", "read raw run files into one table of records")
    )
    check = _command(
        commands, "check", "study.check", "check a records or a protocol file, all faults at once"
    )
    check.add_argument("file", type=Path, help="records (.parquet, .csv) or a protocol (.toml)")
    rescore = _command(
        commands, "rescore", "rescore.run", "score stored replies again with a function of your own"
    )
    rescore.add_argument("records", type=Path, help="records (.parquet, .csv) with the replies")
    rescore.add_argument("scorer", type=Path, help="Python file that defines score(row); it is run")
    rescore.add_argument("--function", default="score", help="its function (default: score)")
    rescore.add_argument("--changes", type=Path, help="CSV file to write every change to")
    _output(rescore, "records file to write (.parquet or .csv)")


def _add_study(commands: Any) -> None:
    power = _command(commands, "power", "study.power", "simulate a protocol before its data: power, coverage")
    power.add_argument("protocol", type=Path)
    _output(power, "folder for table and figure", required=False)
    for name in ("families", "copies", "repeats"):
        power.add_argument(f"--{name}", type=int, nargs="+", metavar="N", help=f"numbers of {name} to try")
    power.add_argument("-n", "--simulations", type=int, metavar="N", help="simulated studies of each design")
    power.add_argument("--seed", type=int)
    freeze = _command(
        commands, "freeze", "study.freeze", "freeze a protocol before the data: writes its lock"
    )
    freeze.add_argument("protocol", type=Path)
    freeze.add_argument(
        "--timestamp", type=Path, help="timestamp token of the lock's checksum, made elsewhere"
    )
    run = _command(commands, "run", "study.run", "run a protocol: tables, verdicts, figures and a report")
    run.add_argument("protocol", type=Path)
    _output(run, "folder for the results, new or of an earlier run", force=False)
    run.add_argument("--unlocked", action="store_true", help="run although the lock does not hold")
    run.add_argument(
        "--exit-verdict", action="store_true",
        help="exit 10, 11, 12 for equivalent, inconclusive, not estimable; the worst contrast wins",
    )  # fmt: skip
    run.add_argument(
        "--figures",
        type=Path,
        metavar="FOLDER",
        help="also draw the script's figures there (or else the usual ones), as PNG and CSV",
    )
    run.add_argument("--no-report", action="store_true", help="tables only, no figures and no report")


def _add_results(commands: Any) -> None:
    verify = _command(
        commands, "verify", "results.verify", "recompute the main table by a second, independent path"
    )
    verify.add_argument("results", type=Path)
    draw = _command(commands, "draw", "results.draw", "draw the figures of a results folder")
    draw.add_argument("results", type=Path)
    _output(draw, "folder for the figures")
    report = _command(commands, "report", "results.report", "write the report of a results folder")
    report.add_argument("results", type=Path)
    _output(report, "HTML file (.html)")
    report.add_argument("--notebook", type=Path, help="notebook to execute instead of the usual one")
    fill = _command(commands, "fill", "results.fill", "fill a write-up from a results folder")
    fill.add_argument("article", type=Path)
    fill.add_argument(
        "--results", type=Path, default=Path("results"), help="results folder (default: results/)"
    )
    _output(fill, "file to write")
    fill.add_argument("--rounding", choices=("half-even", "half-up"), default="half-even")
    diff = _command(commands, "diff", "results.diff", "say what changed between two results folders, and why")
    diff.add_argument("first", type=Path)
    diff.add_argument("second", type=Path)


def _complain(message: str, given: argparse.Namespace) -> int:
    try:
        if given.json:
            print(json.dumps({"error": message}, indent=2), flush=True)
            return USAGE
        sys.stdout.flush()
    except OSError:  # the output itself is what failed
        _discard_output()
    print(f"pairstats: {message}", file=sys.stderr)
    return USAGE


if __name__ == "__main__":
    sys.exit(main())
