"""Read run files of any platform into the paired long format."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from pairstats import schema
from pairstats.errors import PairstatsError, ReadError, listed
from pairstats.readers import assemble, pairing, scoring
from pairstats.readers.base import LeftOut, Reader, ReadOptions, Record, RunFile, digest
from pairstats.readers.drafts import MISSING, Draft, Tally, ledger, left_out_frame
from pairstats.readers.files import Given, Paths, find_files, recognize, unforeseen
from pairstats.readers.items import ItemTable, index
from pairstats.readers.mapping import KNOWN_PATHS, Context, Path, lookup, name_of, paths_in
from pairstats.readers.progress import progress_bar
from pairstats.records import Records

_NOT_CONSTANT = ("item", "status", "source", "score")


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read: which paths are looked up in each record, and what readers are told."""

    names: tuple[str, ...]
    options: ReadOptions
    reader: str | Reader | None


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
    outcome: Path | None = None,
    confidence: Path | None = None,
    confidence_scale: float | Mapping[str, float] = 1.0,
    score: str | None = None,
    score_range: tuple[float, float] = (0.0, 1.0),
    filter: str | None = None,
    answers: scoring.Format | None = None,
    options: Path | None = None,
    items: Any = None,
    item_key: str | None = None,
    planned: bool = False,
    exclude: Sequence[str] = (),
    set: Mapping[str, Any] | None = None,
    extra: Mapping[str, Path] | None = None,
    reader: str | Reader | None = None,
    models: Sequence[str] = (),
    keep_going: bool = False,
    progress: bool | None = None,
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
        was named itself, and a line of the ledger if it lay in a folder.
    model, item, family, variant, condition, repeat, split, category, run, platform, study : mapping, optional
        Columns of the format (see `pairstats.schema`). Without one, what the platform itself says holds.
        `family` has no default: ``family="item"`` must be written where every item is its own unit.
    gold, answer, outcome, confidence : mapping, optional
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
        Option map of an item, label to text, for `answers`.
    items : path or frame, optional
        Item table (CSV, JSON, JSON Lines, Parquet, or any frame), joined on the item id.
    item_key : str, optional
        Its id column; by default the one that holds the records' items.
    planned : bool, default False
        Whether items of the table without a record in a (study, run, platform, model, condition, repeat)
        become rows with status ``absent``.
    exclude : sequence of str
        Patterns (``"zzz*"``) of items to leave out; they are counted.
    set : dict, optional
        Constants, ``{"condition": "direct"}``.
    extra : dict of str to mapping, optional
        Further columns to keep.
    reader : str or Reader, optional
        The one reader to use: its name, or a reader of your own (``docs/custom_reader.md``).
    models : sequence of str
        Columns of a wide table that hold one model each, where they cannot be told.
    keep_going : bool, default False
        Leave out and count broken records and files, and scores outside their range, instead of refusing.
    progress : bool, optional
        Whether to show progress on standard error; by default at a terminal, after a second.

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
    A reply that was logged twice (equal response id, or equal file) is merged and counted. Other replies with
    equal keys are refused: a rerun is a second run, not a copy. Every file obeys
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
    given = {
        "model": model, "item": item, "family": family, "variant": variant, "condition": condition,
        "repeat": repeat, "split": split, "category": category, "run": run, "platform": platform,
        "study": study, "gold": gold, "answer": answer, "outcome": outcome, "confidence": confidence,
        "options": options,
    }  # fmt: skip
    columns = {name: path for name, path in given.items() if path is not None} | dict(extra or {})
    constants = {name: pairing.typed(name, value) for name, value in (set or {}).items()}
    _check_columns(columns, constants, extra or {}, isinstance(paths, Mapping))
    _check_scale(confidence_scale)
    if options is not None and answers is None:
        raise PairstatsError("`options` are used by `answers` only, but `answers` was not given.")
    if planned and items is None:
        raise PairstatsError("`planned` needs the item table that holds the plan, but `items` was not given.")
    names = {name_of(path) for path in columns.values()} | ({score} if score else frozenset())
    reading = Reading(
        tuple(sorted(names)),
        ReadOptions(
            score=score,
            filter=filter,
            rescored=answers is not None,
            keep_going=keep_going,
            models=(models,) if isinstance(models, str) else tuple(models),
        ),
        reader,
    )
    files = find_files(paths)
    drafts, tallies = _read_all(files, reading, progress)
    pairing.map_item(drafts, columns.get("item"), Context(None, tallies))
    patterns = (exclude,) if isinstance(exclude, str) else tuple(exclude)
    drafts = pairing.exclude_items(drafts, patterns, tallies)
    table = None if items is None else index(items, item_key, drafts)
    others = {name: path for name, path in columns.items() if name != "item"}
    context = Context(table, tallies)
    drafts = pairing.map_columns(drafts, others, constants, context, tallies)
    if table is not None:
        drafts = _with_planned(drafts, table, others, constants, tallies, patterns, planned)
    drafts = scoring.choose_score(drafts, score, tallies, answers is not None, keep_going)
    if answers is not None:
        scoring.rescore(drafts, answers, keep_score=score is not None)
    if keep_going:
        drafts = scoring.leave_out_of_range(drafts, score_range, tallies)
    scoring.scale_confidence(drafts, confidence_scale, tallies)
    drafts = pairing.merge_copies(drafts, tallies, partial(_raws, files, reading))
    arrow = assemble.to_table(drafts, tallies, score_range)
    return Records(arrow, ledger(drafts, tallies), left_out_frame(tallies), score_range)


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
        if not (isinstance(each, int | float) and math.isfinite(each) and each > 0):
            raise PairstatsError(f"`confidence_scale` must be positive, but got {scale!r}.")


def _with_planned(
    drafts: list[Draft], table: ItemTable, columns: Mapping[str, Path], constants: Mapping[str, Any],
    tallies: list[Tally], patterns: Sequence[str], planned: bool,
) -> list[Draft]:  # fmt: skip
    """Enter the item table in the ledger, and add the planned items that never ran."""
    unknown = {draft.fields["item"] for draft in drafts} - table.rows.keys()
    note = f"{len(table.rows)} items" + (f"; {len(unknown)} with records are not in it" if unknown else "")
    sha256 = "" if table.path is None else RunFile(table.path, table.shown).sha256
    tally = Tally(table.shown, table.path, sha256, "items", notes=[note])
    tallies.append(tally)
    if not planned:
        return drafts
    absent = list(pairing.planned_rows(drafts, table, columns, len(tallies) - 1, patterns))
    tally.records = len(absent)
    absent = pairing.leave_out_unplaced(absent, tallies)
    # The cell of a planned row is that of its fellows; only what belongs to the item is looked up.
    of_item = {name: path for name, path in columns.items() if name not in (*pairing.CELL, "variant")}
    return pairing.map_columns([*drafts, *absent], of_item, constants, Context(table, tallies), tallies)


def _read_all(
    files: Sequence[Given], reading: Reading, progress: bool | None
) -> tuple[list[Draft], list[Tally]]:
    """Read every file, and account for those that no reader knows."""
    drafts: list[Draft] = []
    tallies: list[Tally] = []
    known = 0
    for given in progress_bar(files, progress):
        tally = Tally(given.file.shown, given.file.path)
        tallies.append(tally)
        if given.unread:
            tally.notes.append(f"not read ({given.unread})")
            continue
        try:
            known += _read_file(given, reading, tally, len(tallies) - 1, drafts)
        except ReadError as error:
            if not reading.options.keep_going:
                raise
            tally.records += 1
            tally.left_out.append((tally.file, str(error)))
    if not drafts:
        why = [f"{tally.file}: {reason}" for tally in tallies for reason in _reasons(tally)]
        what = "records, but none was read" if known else "a run file that a reader knows, but there is none"
        raise ReadError(f"{_shown_paths(files)} must hold {what}. {'; '.join(why[:5])}")
    return drafts, tallies


def _reasons(tally: Tally) -> list[str]:
    return [*tally.notes, *(reason for _, reason in tally.left_out[:1])]


def _shown_paths(files: Sequence[Given]) -> str:
    return listed([given.file.shown for given in files])


def _read_file(given: Given, reading: Reading, tally: Tally, place: int, drafts: list[Draft]) -> bool:
    """Append the drafts of one file; return whether a reader knew it."""
    file = given.file
    tally.sha256 = file.sha256
    try:
        seen = recognize(given, reading.reader)
    except ReadError as error:
        if given.named:
            raise
        seen = str(error)
    if isinstance(seen, str):
        if given.named and not reading.options.keep_going:
            remedy = "Turn it into a plain table (CSV, JSON Lines, Parquet)" + (
                ", or name its reader=" if reading.reader is None else ""
            )
            raise ReadError(
                f"{file.shown} must be a run file that a reader knows, but none does: {seen}. {remedy}."
            )
        tally.notes.append(f"not recognized ({seen})")
        return False
    reader, recognized = seen
    tally.reader, tally.version = reader.name, recognized.version
    tally.notes += [note for note in (recognized.note, recognized.companion) if note]
    if recognized.companion:
        return True
    for record in _guarded(given, reader, reading.options):
        tally.records += 1
        if isinstance(record, LeftOut):
            tally.left_out.append((record.source, record.reason))
        else:
            drafts.append(_draft(record, given, reading.names, tally, place))
    return True


def _raws(
    files: Sequence[Given], reading: Reading, drafts: Sequence[Draft]
) -> dict[tuple[int, str], Mapping[str, Any]]:
    """Read the raw contents of a few records again: they are not kept, since a log may be huge."""
    wanted = {(draft.file, draft.source) for draft in drafts if draft.file < len(files)}
    found: dict[tuple[int, str], Mapping[str, Any]] = {}
    for place in sorted({file for file, _ in wanted}):
        seen = recognize(files[place], reading.reader)
        records = () if isinstance(seen, str) else _guarded(files[place], seen[0], reading.options)
        missing = {source for file, source in wanted if file == place}
        for record in records:
            if isinstance(record, Record) and record.source in missing:
                found[place, record.source] = record.raw
                missing.discard(record.source)
            if not missing:
                break
    return found


def _guarded(given: Given, reader: Reader, options: ReadOptions) -> Iterator[Record | LeftOut]:
    with unforeseen(f"{given.file.shown} must have the shape of a {reader.name} file"):
        yield from reader.read(given.file, options)


def _draft(record: Record, given: Given, names: Sequence[str], tally: Tally, place: int) -> Draft:
    if not tally.paths:
        tally.paths = list(islice(paths_in(record.raw), KNOWN_PATHS))
    found = {name: lookup(record.raw, name.removeprefix("record.")) for name in names}
    fields = {name: value for name, value in record.fields.items() if value is not None}
    if given.model is not None:
        fields["model"] = given.model
    scores = dict(record.scores)
    if "score" in fields:
        scores.setdefault("score", fields.pop("score"))
    return Draft(
        place, record.source, record.identity or digest(tally.sha256, tally.records), fields, scores,
        {name: value for name, value in found.items() if value is not MISSING},
    )  # fmt: skip
