"""The command line. Nothing heavy is imported before a command runs, so that --help answers at once."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pairstats._version import __version__

OK, FINDINGS, USAGE = 0, 1, 2

EXAMPLES = r"""examples:
  pairstats run analyses/rule_conflicts/protocol.toml -o results/
  pairstats normalize logs/ --family metadata.family_id --variant metadata.variant -o records.parquet
  pairstats normalize runs/ --family 'item~^(\w+)-' --variant 'item~-(\w+)$' -o records.parquet
  pairstats normalize small=a.jsonl large=b.jsonl --family item --filter strict-match -o records.parquet
  pairstats check records.parquet
  pairstats power protocol.toml --families 50 100 200 -o power/
  pairstats freeze protocol.toml
  pairstats draw results/ -o figures/
  pairstats report results/ -o report.html
  pairstats verify results/
  pairstats diff results_a/ results_b/
  pairstats fill article.md --results results/ -o article_filled.md

exit status: 0 fine, 1 findings, 2 wrong usage or unreadable input
"""


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
    parser = build_parser()
    given = parser.parse_args(arguments)
    if given.command is None:
        parser.print_help()
        return USAGE
    from pairstats.errors import PairstatsError

    try:
        return _function(given.command)(given)
    except PairstatsError as error:
        return _complain(str(error), given)
    except (
        FileNotFoundError,
        PermissionError,
        IsADirectoryError,
        NotADirectoryError,
        FileExistsError,
    ) as error:
        return _complain(f"{error.strerror}: {error.filename}", given)
    except KeyboardInterrupt:
        return _complain("stopped", given)
    except BrokenPipeError:
        return OK


def _function(command: str) -> Callable[[argparse.Namespace], int]:
    module, _, name = command.rpartition(".")
    function: Callable[[argparse.Namespace], int] = getattr(importlib.import_module(module), name)
    return function


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="pairstats", description="Paired statistics for language-model evaluations.", epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.set_defaults(command=None, json=False)
    parser.add_argument("--version", action="version", version=f"pairstats {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_records(commands)
    _add_study(commands)
    _add_results(commands)
    return parser


def _command(commands: Any, name: str, module: str, about: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=about, description=about, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.set_defaults(command=f"pairstats.commands.{module}")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    return parser


def _output(parser: argparse.ArgumentParser, what: str, *, required: bool = True) -> None:
    parser.add_argument("-o", "--output", type=Path, required=required, help=what)


def _add_records(commands: Any) -> None:
    from pairstats.commands import normalize

    normalize.add_arguments(
        _command(commands, "normalize", "normalize.run", "read raw run files into one table of records")
    )
    check = _command(
        commands, "check", "study.check", "check a records or a protocol file, all faults at once"
    )
    check.add_argument("file", type=Path, help="records (.parquet, .csv) or a protocol (.toml)")


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
    _output(run, "folder for the results")
    run.add_argument("--unlocked", action="store_true", help="run although the lock does not hold")
    run.add_argument(
        "--exit-verdict", action="store_true",
        help="exit 10, 11, 12 for equivalent, inconclusive, not estimable; the worst contrast wins",
    )  # fmt: skip
    run.add_argument("--no-report", action="store_true", help="tables only, no figures and no report")


def _add_results(commands: Any) -> None:
    draw = _command(commands, "draw", "results.draw", "draw the figures of a results folder")
    draw.add_argument("results", type=Path)
    _output(draw, "folder for the figures")
    report = _command(commands, "report", "results.report", "write the report of a results folder")
    report.add_argument("results", type=Path)
    _output(report, "HTML file")
    report.add_argument("--notebook", type=Path, help="notebook to execute instead of the usual one")
    verify = _command(
        commands, "verify", "results.verify", "recompute the main table by a second, independent path"
    )
    verify.add_argument("results", type=Path)
    diff = _command(commands, "diff", "results.diff", "say what changed between two results folders, and why")
    diff.add_argument("first", type=Path)
    diff.add_argument("second", type=Path)
    fill = _command(commands, "fill", "results.fill", "fill a write-up from a results folder")
    fill.add_argument("article", type=Path)
    fill.add_argument("--results", type=Path, required=True)
    _output(fill, "file to write")
    fill.add_argument("--rounding", choices=("half-even", "half-up"), default="half-even")


def _complain(message: str, given: argparse.Namespace) -> int:
    if given.json:
        print(json.dumps({"error": message}, indent=2))
    else:
        print(f"pairstats: {message}", file=sys.stderr)
    return USAGE


if __name__ == "__main__":
    sys.exit(main())
