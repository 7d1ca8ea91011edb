"""Read run files of any platform into the paired long format."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from inspect import signature
from numbers import Real
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from pairstats import schema
from pairstats.arguments import checked
from pairstats.errors import PairstatsError, listed
from pairstats.readers import pairing
from pairstats.readers.base import Reader, ReadOptions
from pairstats.readers.columns import UnusualError
from pairstats.readers.drafts import Tally, counted, ledger, left_out_frame
from pairstats.readers.files import Given, Paths, find_files
from pairstats.readers.items import load_items
from pairstats.readers.mapping import Path
from pairstats.readers.parts import Part, join
from pairstats.readers.pieces import gathered, tasks_of
from pairstats.readers.progress import progress_of
from pairstats.readers.reading import Reading
from pairstats.readers.replies import Format
from pairstats.readers.whole import read_whole
from pairstats.readers.workers import number_of_workers, run
from pairstats.records.table import Records

_NOT_CONSTANT = ("item", "status", "source", "score")
_MAPPED = (
    "model", "item", "family", "variant", "condition", "repeat", "split", "category", "run", "platform", "study",
    "gold", "answer", "response", "outcome", "confidence", "options",
)  # fmt: skip
"""Words of `read_runs` that say which raw field is a column."""
_APART = (*schema.KEY, "split", "category")
"""Columns that tell one record from another, whatever the reply."""


@checked
def read_runs(
    paths: Paths,
    *,
    model: Path | None = None,
    item: Path | None = None,
    family: Path | None = None,
    variant: Path | None = None,
    condition: Path | None = None,
    repeat: Path | None = None,
    split: Path | None = None,
    category: Path | None = None,
    run: Path | None = None,
    platform: Path | None = None,
    study: Path | None = None,
    gold: Path | None = None,
    answer: Path | None = None,
    response: Path | None = None,
    outcome: Path | None = None,
    confidence: Path | None = None,
    confidence_scale: float | Mapping[str, float] = 1.0,
    score: str | None = None,
    score_range: tuple[float, float] = (0.0, 1.0),
    filter: str | None = None,
    answers: Format | None = None,
    options: Path | None = None,
    items: Any = None,
    item_key: str | None = None,
    planned: bool = False,
    exclude: Sequence[str] | str = (),
    set: Mapping[str, Any] | None = None,
    extra: Mapping[str, Path] | None = None,
    reader: str | Reader | None = None,
    models: Sequence[str] = (),
    keep_going: bool = False,
    progress: bool | None = None,
    workers: int | None = None,
) -> Records:
    r"""Read run files of any known platform into one table of decisions.

    Which raw field is which column is yours to say. A mapping is a dotted path into the raw record
    (``"metadata.family_id"``), a column that is already known (``"item"``), a column of the item table, or
    `extract` of one of these. Where the pairing cannot be known, reading is refused.

    Parameters
    ----------
    paths : path, pattern, folder, list of these, or dict
        Run files, plain or compressed; folders are searched at every depth. A dict gives
        ``{model name: path}`` for platforms that do not log the model. What no reader knows is an error if it
        was named itself, and a line of the ledger if it lay in a folder, unless it is no sound file of the kind
        that the end of its name tells.
    model, item, family, variant, condition, repeat, split, category, run, platform, study : mapping, optional
        Columns of the format (see `pairstats.schema`). Without one, what the platform itself says holds.
        `family` has no default: ``family="item"`` must be written where every item is its own unit.
    gold, answer, response, outcome, confidence : mapping, optional
        Further columns of the format.
    confidence_scale : float or dict of model to float, default 1
        The stated confidence that means certainty, 100 for percentages. What is outside [0, 1] after scaling
        is null, and counted.
    score : str, optional
        Name of the primary score (or a path to it); must be given where records hold several. Parts of
        a score are named with a dot, ``"json_choice.correct"``. The others become ``score_<name>``, or
        ``value_<name>`` where they leave [0, 1]. A mapping may name a score too, by either name.
    score_range : tuple of float, default (0, 1)
        Range that primary and further scores must keep.
    filter : str, optional
        Filter whose lines are wanted (lm-evaluation-harness).
    answers : AnswerFormat, optional
        Read every reply again with this format and score it against `gold`, without a model call. With
        `score` given too, that score stays primary and the new one is ``score_answers``.
    options : mapping, optional
        Option map of an item, label to text, for `answers`; without it letters are compared, whatever column
        the records have.
    items : path or frame, optional
        Item table (CSV, JSON, JSON Lines, Parquet, or any frame), joined on the item id, or on the item id and
        the variant (or other columns of the key), where it has a row for each. A record whose item it does not
        have is an error.
    item_key : str, optional
        Its id column; by default the one that holds the records' items.
    planned : bool, default False
        Whether items of the table without a record in a (study, run, platform, model, condition, repeat)
        become rows with status ``absent``.
    exclude : sequence of str
        Patterns (``"zzz*"``) of items to leave out; they are counted. ``"COLUMN=PATTERN"``, such as
        ``"revised=yes"``, means items by a column of the item table, in which a blank cell is an empty text.
    set : dict, optional
        Constants, ``{"condition": "direct"}``.
    extra : dict of str to mapping, optional
        Further columns to keep.
    reader : str or Reader, optional
        The one reader to use: its name, or a reader of your own (``docs/custom_reader.md``).
    models : sequence of str
        Columns of a wide table that hold one model each, where they cannot be told.
    keep_going : bool, default False
        Leave out and count broken records and files, scores outside their range, and the records that lack a
        column of the key, unless most do, instead of refusing.
    progress : bool, optional
        Whether to show progress on standard error; by default at a terminal, after a second.
    workers : int, optional
        Processes that read at once; by default one for 50 MB or less, else one a core. The result is the same.

    Returns
    -------
    Records
        ``table`` (Arrow), ``frame`` (pandas), ``ledger`` (one row a file; everything read is accounted for).

    Raises
    ------
    ReadError
        When a file cannot be read as what it seems to be; names file and record.
    PairingError
        When columns cannot be found, or replies cannot be told apart; says what there is.
    SchemaError
        When the rows break the format; lists every failure.

    Notes
    -----
    A reply that was logged twice (equal response id, or equal file) is merged and counted. A request that failed
    and was sent again in another file is one row with its ``attempts``. Other replies with equal keys are
    refused: a rerun is a second run, not a copy. Every file obeys
    ``records = rows + left_out + merged``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pairstats import extract
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a.csv").write_text("item,model,score\nq1-base,m,1\nq1-new,m,0\n")
    ...     records = read_runs(
    ...         folder, family=extract("item", r"^(\w+)-"), variant=extract("item", r"-(\w+)$")
    ...     )
    >>> records
    Records: 2 rows, 1 model, 1 family, 2 items
       answered
    m         2
    from
      a.csv (table csv)
    """
    words = {name: value for name, value in locals().items() if name not in ("paths", "progress", "workers")}
    files, reading = asked(paths, words)
    table, places, tallies = _read(files, reading, progress, number_of_workers(files, reading, workers))
    account = ledger(counted(table, places, len(tallies)), tallies), left_out_frame(tallies)
    return Records(table, *account, score_range)


def asked(paths: Paths, words: Mapping[str, Any]) -> tuple[list[Given], Reading]:
    """Check what was asked, and find the files.

    Parameters
    ----------
    paths : path, pattern, folder, list of these, or dict
    words : mapping
        Keyword arguments of `read_runs`; those that are not there have their defaults.
    """
    known = {
        name: parameter.default for name, parameter in signature(read_runs).parameters.items()
        if name not in ("paths", "progress", "workers")
    }  # fmt: skip
    strange = sorted(set(words) - set(known))
    if strange:
        raise PairstatsError(f"The words must be those of read_runs, but {listed(strange)} are none.")
    say = SimpleNamespace(**known | dict(words))
    extra = say.extra or {}
    given = {name: getattr(say, name) for name in _MAPPED}
    columns = {name: path for name, path in given.items() if path is not None} | dict(extra)
    constants = {name: pairing.typed(name, value) for name, value in (say.set or {}).items()}
    _check_columns(columns, constants, extra, isinstance(paths, Mapping))
    _check_scale(say.confidence_scale)
    if say.options is not None and say.answers is None:
        raise PairstatsError("`options` are used by `answers` only, but `answers` was not given.")
    if say.planned and say.items is None:
        raise PairstatsError("`planned` needs the item table that holds the plan, but `items` was not given.")
    apart = tuple(path for name, path in columns.items() if name in _APART)
    options = ReadOptions(
        score=say.score, filter=say.filter, rescored=say.answers is not None, keep_going=say.keep_going,
        models=(say.models,) if isinstance(say.models, str) else tuple(say.models), apart=apart,
    )  # fmt: skip
    exclude = (say.exclude,) if isinstance(say.exclude, str) else tuple(say.exclude)
    files = find_files(paths)
    reading = Reading(
        columns, constants, options, say.reader, say.answers, say.confidence_scale, say.score_range, exclude,
        None if say.items is None else load_items(say.items), say.item_key, say.planned,
    )  # fmt: skip
    return files, reading


def _read(
    files: Sequence[Given], reading: Reading, progress: bool | None, workers: int
) -> tuple[pa.Table, np.ndarray, list[Tally]]:
    """Read in pieces where that is certain to give the same rows, else record by record."""
    # What stopped the pieces is no part of what the user must see of the records.
    with suppress(UnusualError, PairstatsError):
        return read_pieces(files, reading, progress, workers)
    return read_whole(files, reading, progress)


def read_pieces(
    files: Sequence[Given], reading: Reading, progress: bool | None, workers: int
) -> tuple[pa.Table, np.ndarray, list[Tally]]:
    """Read flat tables as columns, and with several processes any file by itself; returns what `read_whole` does.

    Raises
    ------
    UnusualError
        When the records of all files must be known to read them.
    """
    spans = workers > 1 and reading.answers is not None
    pieces = []
    with progress_of(files, progress) as bar:
        sink = _kept if workers > 1 else bar.watching(_kept)
        for piece in run(tasks_of(files, reading, workers > 1, spans), reading, workers, sink):
            pieces.append(piece)
            bar.update(piece.place + 1, sum(piece.tally.records for piece in pieces))
    parts, tallies = gathered(pieces, files, reading)
    table, places = join(parts, tallies, reading.score_range, reading.exclude)
    return table, places, tallies


def _kept(part: Part) -> Part:
    return part


def _check_columns(
    columns: Mapping[str, Path], constants: Mapping[str, Any], extra: Mapping[str, Path], model_by_file: bool
) -> None:
    """Refuse columns that are given twice, or that may not be given so."""
    given = [*columns, *constants, *(["model"] if model_by_file else [])]
    twice = sorted(name for name, times in Counter(given).items() if times > 1)
    if twice:
        raise PairstatsError(
            f"A column must be given in one way, but {listed(twice)} in two: mapped, set, or named by file."
        )
    own = [name for name in extra if name in (*schema.NAMES, "options")]
    if own:
        raise PairstatsError(f"`extra` must name columns outside the format, but names {listed(own)}.")
    fixed = [name for name in constants if name in _NOT_CONSTANT]
    if fixed:
        raise PairstatsError(f"`set` must not set {listed(fixed)}: they differ by record.")


def _check_scale(scale: float | Mapping[str, float]) -> None:
    for each in scale.values() if isinstance(scale, Mapping) else [scale]:
        if isinstance(each, bool) or not (isinstance(each, Real) and math.isfinite(each) and each > 0):
            raise PairstatsError(f"`confidence_scale` must be positive, but got {scale!r}.")
