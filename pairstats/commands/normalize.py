"""normalize: from raw run files to one table of records."""

from __future__ import annotations

import argparse
import glob
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pairstats.commands.common import FINDINGS, OK, print_json
from pairstats.commands.shell_words import as_typed

MAPPED = (
    "model", "item", "family", "variant", "condition", "repeat", "split", "category", "run", "platform",
    "study", "gold", "answer", "response", "outcome", "confidence",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options, which have the words of `read_runs`."""
    parser.add_argument(
        "raw",
        nargs="+",
        metavar="RAW",
        help="files, folders, zip archives, patterns or addresses (s3://...); MODEL=FILE names a model",
    )
    parser.add_argument("-o", "--output", type=Path, help="records file to write (.parquet or .csv)")
    parser.add_argument(
        "--force",
        action="store_true",
        help="write over a file that pairstats did not write; never over an input",
    )
    for name in MAPPED:
        parser.add_argument(f"--{name}", metavar="PATH", help=argparse.SUPPRESS)
    columns = parser.add_argument_group(
        "columns", f"--{', --'.join(MAPPED)}: a dotted path in the raw record, a column, or COLUMN~PATTERN "
        "whose first group is taken",
    )  # fmt: skip
    columns.add_argument(
        "--set", action="append", default=[], metavar="COLUMN=VALUE", help="a constant column"
    )
    columns.add_argument(
        "--extra", action="append", default=[], metavar="NAME=PATH", help="a further column to keep"
    )
    columns.add_argument("--score", metavar="NAME", help="primary score, where a file holds several")
    columns.add_argument(
        "--score-range",
        metavar="LOW,HIGH",
        default="0,1",
        help="range of the scores, for example 0,100 (or =-1,1)",
    )
    columns.add_argument("--models", action="append", default=[], metavar="COLUMN",
                         help="column of a wide table that holds one model, where it cannot be told")  # fmt: skip
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
    parser.add_argument(
        "--items", type=Path, help="item table (CSV, JSONL, Parquet), joined on the item id (and variant)"
    )
    parser.add_argument("--item-key", metavar="COLUMN", help="its id column")
    parser.add_argument(
        "--planned", action="store_true", help="items of the table that never ran become absent rows"
    )
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="PATTERN",
        help="items to leave out, counted: a pattern of ids, or COLUMN=PATTERN by a column of the item table",
    )
    parser.add_argument("--reader", metavar="NAME", help="use this reader only")
    parser.add_argument(
        "--redact", action="store_true",
        help="drop replies and prompts, mask keys and e-mail addresses, before anything is written",
    )  # fmt: skip
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="processes that read at once (default: one a core, where it pays)",
    )
    parser.add_argument("--keep-going", action="store_true", help="leave broken records out and list them")
    parser.add_argument(
        "--progress", action=argparse.BooleanOptionalAction,
        help="show progress on standard error (default: at a terminal)",
    )  # fmt: skip


def run(given: argparse.Namespace) -> int:
    """Read, say what became of every record, and write."""
    from pairstats.errors import PairstatsError

    try:
        return _run(given)
    except PairstatsError as error:
        error.args = (as_typed(str(error)), *error.args[1:])
        raise


def _run(given: argparse.Namespace) -> int:
    from pairstats.readers import read_runs
    from pairstats.readers.mapping import path_of
    from pairstats.readers.written import outline, write_runs

    paths = _raw_paths(given.raw)
    texts = {name: getattr(given, name) for name in (*MAPPED, "options")}
    mapped: dict[str, Any] = {name: path_of(text) for name, text in texts.items() if text}
    if given.output is not None:
        _check_output(given.output, paths, given.items, given.force)
    words = dict(
        **mapped, extra={name: path_of(path) for name, path in _pairs(given.extra, "--extra").items()},
        set=_pairs(given.set, "--set"), score=given.score, score_range=_range(given.score_range),
        filter=given.filter, models=given.models, progress=given.progress,
        confidence_scale=_scales(given.confidence_scale), answers=_answers(given), items=given.items,
        item_key=given.item_key, planned=given.planned, exclude=given.exclude, reader=given.reader,
        keep_going=given.keep_going, workers=given.workers,
    )  # fmt: skip
    written = None
    if given.output is not None and given.output.suffix == ".parquet" and not given.redact:
        written = str(write_runs(paths, given.output, overwrite=given.force, **words))
        records = outline(given.output)
    else:
        records = read_runs(paths, **words)
        if given.redact:
            from pairstats.records.redact import redact_records

            records = redact_records(records)
        if given.output is not None:
            written = str(records.save(given.output, overwrite=given.force))
    if given.json:
        counts = records.ledger[["records", "rows", "left_out", "merged"]].sum()
        print_json({"files": json.loads(records.ledger.to_json(orient="records")),
                     **{str(name): int(n) for name, n in counts.items()},
                    "unscored": int(records.ledger["unscored"].sum()), "notes": list(records.notes),
                    "output": written})  # fmt: skip
    else:
        print(as_typed(records.summary()))
        if len(records.left_out):
            _print_left_out(records.left_out)
        print(f"written to {written}" if written else "nothing written: name a file with -o")
    return FINDINGS if given.keep_going and len(records.left_out) else OK


def _check_output(output: Path, paths: Any, items: Path | None, force: bool) -> None:
    """Refuse, before anything is read, a place where no records go, an input, or a file that is not ours."""
    from pairstats.errors import ReadError
    from pairstats.readers.files import find_files
    from pairstats.records.file import SUFFIXES, check_folder, check_overwrite

    if output.suffix not in SUFFIXES:
        raise ReadError(f"Records are saved as '.parquet' or '.csv', but got {output.name!r}.")
    check_folder(output)
    inputs = [given.file.path for given in find_files(_local(paths))] if _local(paths) else []
    inputs += [items] if items is not None else []
    same = [path for path in inputs if output.exists() and path.exists() and output.samefile(path)]
    if same:
        raise ReadError(
            f"The output must be another file than the inputs, but {str(output)!r} is one of them. "
            "Write it elsewhere with -o; raw files are never written over."
        )
    if not force:
        check_overwrite(output)


def _local(paths: Any) -> list[str]:
    """Paths that are no addresses, and so might be the output."""
    from pairstats.readers.remote import is_address

    words = [word for each in paths.values() for word in each] if isinstance(paths, dict) else paths
    return [word for word in words if not is_address(word)]


def _print_left_out(left_out: Any, most: int = 20) -> None:
    from pairstats.records.table import printable

    print("left out:")
    shown = 0
    for source, reason, records in itertools.islice(_in_runs(left_out), most):
        print(f"  {printable(source)}: {printable(reason)}")
        shown += records
    if len(left_out) > shown:
        print(f"  and {len(left_out) - shown} more; they are all in the metadata of the records file")


def _in_runs(left_out: Any) -> Iterator[tuple[str, str, int]]:
    """Yield sources, reason and number of records that follow each other in a file and have one reason."""
    for _, group in itertools.groupby(enumerate(left_out.itertuples()), _run_of):
        rows = [row for _, row in group]
        last = f" to {rows[-1].source.rpartition(':')[2]}" if len(rows) > 1 else ""
        yield f"{rows[0].source}{last}", str(rows[0].reason), len(rows)


def _run_of(placed: tuple[int, Any]) -> tuple[object, ...]:
    """What records of one run have in common: the number less the place in the list, among others."""
    place, row = placed
    file, _, number = row.source.rpartition(":")
    offset = int(number) - place if number.isdecimal() and str(int(number)) == number else row.source
    return file, row.reason, offset


def _raw_paths(words: Sequence[str]) -> Any:
    """Paths as given, or a mapping when every one is MODEL=FILE."""
    from pairstats.errors import PairstatsError
    from pairstats.readers.remote import is_address

    unnamed = [word for word in words if "=" not in word or is_address(word) or _is_path(word)]
    named = [word.partition("=") for word in words if word not in unnamed]
    if not named:
        return list(words)
    if len(named) < len(words):
        raise PairstatsError("Name the model of every file (MODEL=FILE), or of none.")
    models = [model for model, _, _ in named]
    return {model: [path for name, _, path in named if name == model] for model in dict.fromkeys(models)}


def _is_path(word: str) -> bool:
    """Whether a word with a "=" is a path or pattern as a whole: one that fits, or its name begins such a path."""
    name, _, path = word.partition("=")
    if Path(word).exists() or glob.glob(word, recursive=True):
        return True
    fits = Path(path).exists() or bool(glob.glob(path, recursive=True))
    return not fits and bool(glob.glob(f"{name}=*"))


def _pairs(words: Sequence[str], option: str) -> dict[str, str]:
    from pairstats.errors import PairstatsError

    pairs = [_pair(word, option) for word in words]
    twice = sorted({name for name, _ in pairs if [each for each, _ in pairs].count(name) > 1})
    if twice:
        raise PairstatsError(f"{option} must name a column once, but names {', '.join(twice)} again.")
    return dict(pairs)


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
        raise PairstatsError(f"--confidence-scale must be a number, but got {' '.join(words)}.") from None


def _range(text: str) -> tuple[float, float]:
    from pairstats.errors import PairstatsError

    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise PairstatsError(
            f"--score-range must be two numbers, LOW,HIGH, but got {text!r}. Write 0,100, for instance."
        ) from None
    return low, high


def _answers(given: argparse.Namespace) -> Any:
    if given.answers is None:
        return None
    from pairstats.answers import AnswerFormat

    if given.answer_field is None:
        return AnswerFormat(given.answers)
    return AnswerFormat(given.answers, field=given.answer_field or None)
