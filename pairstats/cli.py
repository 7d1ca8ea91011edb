"""The command line. Nothing heavy is imported before a command runs, so that --help answers at once."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pairstats._version import __version__

OK, FINDINGS, USAGE = 0, 1, 2

MAPPED = (
    "model", "item", "family", "variant", "condition", "repeat", "split", "category", "run", "platform",
    "study", "gold", "answer", "outcome", "confidence",
)  # fmt: skip

EXAMPLES = r"""examples:
  pairstats run analyses/rule_conflicts/protocol.toml -o results/
  pairstats normalize logs/ --family metadata.family_id --variant metadata.variant -o records.parquet
  pairstats normalize runs/ --family 'item~^(\w+)-' --variant 'item~-(\w+)$' -o records.parquet
  pairstats normalize small=a.jsonl large=b.jsonl --family item --filter strict-match -o records.parquet
  pairstats check records.parquet
  pairstats freeze protocol.toml
  pairstats draw results/ -o figures/
  pairstats report results/ -o report.html

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
    command: Callable[[argparse.Namespace], int] = given.command
    from pairstats.errors import PairstatsError

    try:
        return command(given)
    except PairstatsError as error:
        return _complain(str(error), given)
    except (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError) as error:
        return _complain(f"{error.strerror}: {error.filename}", given)
    except KeyboardInterrupt:
        return _complain("stopped", given)
    except BrokenPipeError:
        return OK


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="pairstats", description="Paired statistics for language-model evaluations.", epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.set_defaults(command=None, json=False)
    parser.add_argument("--version", action="version", version=f"pairstats {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_normalize(commands)
    check = _command(commands, "check", _check, "check a records file or a protocol file, all faults at once")
    check.add_argument("file", type=Path, help="records (.parquet, .csv) or a protocol (.toml)")
    run = _command(commands, "run", _run, "run a protocol: tables, figures and a report")
    run.add_argument("protocol", type=Path)
    run.add_argument("-o", "--output", type=Path, required=True, help="folder for the results")
    run.add_argument(
        "--unlocked", action="store_true", help="run although the lock does not hold: nothing is registered"
    )
    run.add_argument("--exit-verdict", action="store_true", help="exit 10, 11, 12 for equivalent, inconclusive, "
                     "not estimable; the worst contrast wins")  # fmt: skip
    run.add_argument("--no-report", action="store_true", help="tables only, no figures and no report")
    freeze = _command(
        commands, "freeze", _freeze, "freeze a protocol before the data: writes its lock beside it"
    )
    freeze.add_argument("protocol", type=Path)
    freeze.add_argument(
        "--timestamp", type=Path, help="timestamp token of the lock's checksum, made elsewhere"
    )
    draw = _command(commands, "draw", _draw, "draw the figures of a results folder")
    draw.add_argument("results", type=Path)
    draw.add_argument("-o", "--output", type=Path, required=True, help="folder for the figures")
    report = _command(commands, "report", _report, "write the report of a results folder")
    report.add_argument("results", type=Path)
    report.add_argument("-o", "--output", type=Path, required=True, help="HTML file")
    report.add_argument("--notebook", type=Path, help="notebook to execute instead of the usual one")
    return parser


def _command(
    commands: Any, name: str, function: Callable[[argparse.Namespace], int], about: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=about, description=about, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.set_defaults(command=function)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    return parser


def _add_normalize(commands: Any) -> None:
    parser = _command(commands, "normalize", _normalize, "read raw run files into one table of records")
    parser.add_argument(
        "raw", nargs="+", metavar="RAW", help="files, folders or patterns; MODEL=FILE names a model"
    )
    parser.add_argument("-o", "--output", type=Path, help="records file to write (.parquet or .csv)")
    for name in MAPPED:
        parser.add_argument(f"--{name}", metavar="PATH", help=argparse.SUPPRESS)
    columns = parser.add_argument_group(
        "columns", f"--{', --'.join(MAPPED)}: a dotted path in the raw record, a column, or COLUMN~PATTERN "
        "whose first group is taken",
    )  # fmt: skip
    columns.add_argument(
        "--set", action="append", default=[], metavar="COLUMN=VALUE", help="a constant column"
    )
    columns.add_argument("--score", metavar="NAME", help="primary score, where a file holds several")
    columns.add_argument("--confidence-scale", action="append", default=[], metavar="[MODEL=]NUMBER",
                         help="stated confidence that means certainty, for example 100")  # fmt: skip
    columns.add_argument("--filter", help="filter whose lines are wanted (lm-evaluation-harness)")
    parser.add_argument(
        "--answers", metavar="KIND", help="parse and score every reply again: choice, number, text, ..."
    )
    parser.add_argument(
        "--answer-field", metavar="FIELD", help="JSON field that holds the answer; '' for plain text"
    )
    parser.add_argument("--options", metavar="PATH", help="option map of an item, for --answers choice")
    parser.add_argument("--items", type=Path, help="item table (CSV, JSONL, Parquet), joined on the item id")
    parser.add_argument("--item-key", metavar="COLUMN", help="its id column")
    parser.add_argument(
        "--planned", action="store_true", help="items of the table that never ran become absent rows"
    )
    parser.add_argument(
        "--exclude", action="append", default=[], metavar="PATTERN", help="items to leave out, counted"
    )
    parser.add_argument("--reader", metavar="NAME", help="use this reader only")
    parser.add_argument("--keep-going", action="store_true", help="leave broken records out and list them")


def _normalize(given: argparse.Namespace) -> int:
    from pairstats.readers import read_runs

    records = read_runs(
        _raw_paths(given.raw),
        **{name: _mapping(getattr(given, name)) for name in (*MAPPED, "options") if getattr(given, name)},
        set=dict(_pair(text, "--set") for text in given.set), score=given.score, filter=given.filter,
        confidence_scale=_scales(given.confidence_scale), answers=_answers(given), items=given.items,
        item_key=given.item_key, planned=given.planned, exclude=given.exclude, reader=given.reader,
        keep_going=given.keep_going,
    )  # fmt: skip
    written = None if given.output is None else str(records.save(given.output))
    if given.json:
        counts = records.ledger[["records", "rows", "left_out", "merged"]].sum()
        _print_json({"files": json.loads(records.ledger.to_json(orient="records")),
                     **{str(name): int(n) for name, n in counts.items()}, "output": written})  # fmt: skip
    else:
        print(records.summary())
        if len(records.left_out):
            _print_left_out(records.left_out)
        print(f"written to {written}" if written else "nothing written: name a file with -o")
    return FINDINGS if given.keep_going and len(records.left_out) else OK


def _print_left_out(left_out: Any, most: int = 20) -> None:
    from pairstats.records import printable

    print("left out:")
    for row in left_out.head(most).itertuples():
        print(f"  {printable(str(row.source))}: {printable(str(row.reason))}")
    if len(left_out) > most:
        print(f"  and {len(left_out) - most} more; they are all in the metadata of the records file")


def _raw_paths(words: Sequence[str]) -> Any:
    """Paths as given, or a mapping when every one is MODEL=FILE."""
    from pairstats.errors import PairstatsError

    named = [word.partition("=") for word in words if "=" in word and not Path(word).exists()]
    if not named:
        return list(words)
    if len(named) < len(words):
        raise PairstatsError("Name the model of every file (MODEL=FILE), or of none.")
    models = [model for model, _, _ in named]
    return {model: [path for name, _, path in named if name == model] for model in dict.fromkeys(models)}


def _mapping(text: str) -> Any:
    from pairstats.readers import extract

    column, separator, pattern = text.partition("~")
    return extract(column, pattern) if separator else text


def _pair(text: str, option: str) -> tuple[str, str]:
    from pairstats.errors import PairstatsError

    name, separator, value = text.partition("=")
    if not separator or not name:
        raise PairstatsError(f"{option} must read NAME=VALUE, but got {text!r}.")
    return name, value


def _scales(words: Sequence[str]) -> float | dict[str, float]:
    from pairstats.errors import PairstatsError

    try:
        if not words:
            return 1.0
        if len(words) == 1 and "=" not in words[0]:
            return float(words[0])
        pairs = [_pair(word, "--confidence-scale") for word in words]
        return {model: float(value) for model, value in pairs}
    except ValueError as error:
        if isinstance(error, PairstatsError):
            raise
        raise PairstatsError(f"--confidence-scale must be a number, but got {listed_words(words)}.") from None


def listed_words(words: Sequence[str]) -> str:
    """Words of the command line as they were given."""
    return " ".join(words)


def _answers(given: argparse.Namespace) -> Any:
    if given.answers is None:
        return None
    from pairstats.answers import AnswerFormat

    if given.answer_field is None:
        return AnswerFormat(given.answers)
    return AnswerFormat(given.answers, field=given.answer_field or None)


def _check(given: argparse.Namespace) -> int:
    from pairstats.errors import SchemaError

    if given.file.suffix == ".toml":
        from pairstats.run import check_protocol

        found = check_protocol(given.file)
        counted = f"{found['estimands']} estimands, {found['contrasts']} contrasts"
        state = f"frozen at {found['frozen']}" if found["frozen"] else "not frozen"
        what = f"{given.file}: protocol {found['name']!r}, {counted}, {state}"
    else:
        from pairstats.records import load_records

        try:
            what = repr(load_records(given.file))
            found = {"findings": []}
        except SchemaError as error:
            what, found = str(error), {"findings": list(error.findings) or [str(error)]}
    if given.json:
        _print_json({"file": str(given.file), **found})
    else:
        print(what)
        for finding in found["findings"] if given.file.suffix == ".toml" else ():
            print(f"- {finding}")
    return FINDINGS if found["findings"] else OK


def _run(given: argparse.Namespace) -> int:
    from pairstats.run import run_protocol

    with _progress(given) as step:
        results = run_protocol(
            given.protocol, given.output, report=not given.no_report, unlocked=given.unlocked, progress=step
        )
    from pairstats.words import findings

    said = findings(results.estimates, completeness=results.completeness)
    deviations = list(results.provenance.get("deviations", []))
    status = _verdict_status(results) if given.exit_verdict else FINDINGS if deviations else OK
    if given.json:
        _print_json({"findings": said, "deviations": deviations, "output": str(given.output)})
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


def _freeze(given: argparse.Namespace) -> int:
    from pairstats.protocol.lock import freeze, lock_path

    lock = freeze(given.protocol, timestamp=given.timestamp)
    if given.json:
        _print_json(
            {"lock": str(lock_path(given.protocol)), "sha256": lock.sha256, "warnings": list(lock.warnings)}
        )
        return FINDINGS if lock.warnings else OK
    print(f"{lock_path(given.protocol)}: frozen at {lock.frozen_at}, sha256 {lock.sha256}")
    print(f"{len(lock.records)} record files with checksums" + (f", commit {lock.git}" if lock.git else ""))
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


def _draw(given: argparse.Namespace) -> int:
    from pairstats.figures import draw
    from pairstats.results import Results

    drawn = draw(Results.load(given.results), given.output)
    paths = [str(path) for path in drawn.paths]
    if given.json:
        _print_json({"files": paths, "skipped": dict(drawn.skipped)})
    else:
        for path in paths:
            print(path)
        for name, why in drawn.skipped.items():
            print(f"not drawn: {name}: {why}", file=sys.stderr)
    return OK


def _report(given: argparse.Namespace) -> int:
    from pairstats.report import write_report

    path = write_report(given.results, given.output, notebook=given.notebook)
    if given.json:
        _print_json({"report": str(path)})
    else:
        print(path)
    return OK


@contextmanager
def _progress(given: argparse.Namespace) -> Iterator[Callable[[str], None]]:
    """Show the steps of a run on standard error: a spinner at a terminal, lines elsewhere."""
    from pairstats.run import STEPS

    if not sys.stderr.isatty():
        yield lambda name: print(
            f"[{STEPS.index(name) + 1}/{len(STEPS)}] {name}", file=sys.stderr, flush=True
        )
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=len(STEPS))
        yield lambda name: bar.update(task, description=name, completed=STEPS.index(name))


def _print_json(value: dict[str, Any]) -> None:
    print(json.dumps(value, indent=2, default=str))


def _complain(message: str, given: argparse.Namespace) -> int:
    if given.json:
        _print_json({"error": message})
    else:
        print(f"pairstats: {message}", file=sys.stderr)
    return USAGE


if __name__ == "__main__":
    sys.exit(main())
