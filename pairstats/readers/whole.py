"""Run files read record by record: the general way, which names file and record of whatever is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from pairstats.errors import ReadError, listed
from pairstats.readers import assemble, confidence, pairing, places, replies, requests, scoring
from pairstats.readers.base import LeftOut, Reader, ReadOptions, Record, digest
from pairstats.readers.dotted import lookup, paths_in
from pairstats.readers.drafts import MISSING, Draft, Tally
from pairstats.readers.each import RestLostError
from pairstats.readers.files import Given, recognize, unforeseen
from pairstats.readers.mapped import mapped
from pairstats.readers.mapping import KNOWN_PATHS
from pairstats.readers.progress import Progress, progress_of
from pairstats.readers.promised import check_promise
from pairstats.readers.reading import Reading


def read_whole(
    files: Sequence[Given], reading: Reading, progress: bool | None
) -> tuple[pa.Table, np.ndarray, list[Tally]]:
    """Read every record of every file before any becomes a row.

    Parameters
    ----------
    files : sequence of Given
    reading : Reading
    progress : bool or None
        As in `read_runs`.

    Returns
    -------
    tuple
        The table, the position in the ledger of every row's file, and the account of every file.
    """
    with progress_of(files, progress) as bar:
        drafts, tallies = _read_all(files, reading, bar)
    drafts = requests.settle(drafts, tallies)
    drafts = mapped(drafts, reading, tallies)
    places.check_places(drafts, tallies)
    if places.stand_alone(reading):
        places.tell_tasks_apart(drafts, tallies)
    drafts = scoring.choose_score(
        drafts, reading.score, tallies, reading.answers is not None, reading.options.keep_going
    )
    if reading.answers is not None:
        replies.check_replies(drafts)
        replies.rescore(drafts, reading.answers, reading.score is not None, "options" in reading.columns)
    if reading.options.keep_going:
        drafts = scoring.leave_out_of_range(drafts, reading.score_range, tallies)
    confidence.scale_confidence(drafts, reading.confidence_scale, tallies)
    drafts = pairing.merge_copies(drafts, tallies, partial(raws, files, reading))
    table = assemble.to_table(drafts, tallies, reading.score_range)
    return table, np.array([draft.file for draft in drafts], dtype=np.int64), tallies


def _read_all(files: Sequence[Given], reading: Reading, bar: Progress) -> tuple[list[Draft], list[Tally]]:
    """Read every file, and account for those that no reader knows."""
    drafts: list[Draft] = []
    tallies: list[Tally] = []
    known = 0
    for number, given in enumerate(files):
        bar.update(number, len(drafts))
        tally = Tally(given.file.shown, given.file.path)
        tallies.append(tally)
        if given.unread:
            tally.notes.append(f"not read ({given.unread})")
            continue
        try:
            if given.broken:
                raise ReadError(given.broken)
            known += _read_file(given, reading, tally, number, drafts)
        except ReadError as error:
            if not reading.options.keep_going or isinstance(error, RestLostError):
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
                ", or name its reader= ('table': you say what its columns are)"
                if reading.reader is None
                else ""
            )
            raise ReadError(
                f"{file.shown} must be a run file that a reader knows, but none does: {seen}. {remedy}."
            )
        if not reading.options.keep_going:
            check_promise(file)
        tally.notes.append(f"not recognized ({seen})")
        return False
    reader, recognized = seen
    tally.reader, tally.version, tally.primary = reader.name, recognized.version, recognized.primary
    tally.notes += recognized.notes(bool(reading.options.models))
    if recognized.companion:
        return True
    for record in guarded(given, reader, reading.options):
        tally.records += 1
        if isinstance(record, LeftOut):
            tally.left_out.append((record.source, record.reason))
        else:
            drafts.append(draft_of(record, given, reading.names, tally, place))
    return True


def raws(
    files: Sequence[Given], reading: Reading, drafts: Sequence[Draft]
) -> dict[tuple[int, str], Mapping[str, Any]]:
    """Read the raw contents of a few records again: they are not kept, since a log may be huge."""
    wanted = {(draft.file, draft.source) for draft in drafts if draft.file < len(files)}
    found: dict[tuple[int, str], Mapping[str, Any]] = {}
    for place in sorted({file for file, _ in wanted}):
        seen = recognize(files[place], reading.reader)
        records = () if isinstance(seen, str) else guarded(files[place], seen[0], reading.options)
        missing = {source for file, source in wanted if file == place}
        for record in records:
            if isinstance(record, Record) and record.source in missing:
                found[place, record.source] = record.raw
                missing.discard(record.source)
            if not missing:
                break
    return found


def guarded(given: Given, reader: Reader, options: ReadOptions) -> Iterator[Record | LeftOut]:
    """Yield what a reader yields; whatever else it raises is an error that names the file.

    Raises
    ------
    RestLostError
        With `keep_going`, when the reader ends behind a record: nobody knows how many it did not come to.
    """
    last = ""
    try:
        with unforeseen(f"{given.file.shown} must have the shape of a {reader.name} file"):
            for record in reader.read(given.file, options):
                last = record.source
                yield record
    except ReadError as error:
        if not (last and options.keep_going):
            raise
        raise RestLostError(
            f"{given.file.shown} must be read to its end, but cannot be read behind {last}: {error} "
            "keep_going=True leaves out a record, not the rest of a file: repair or remove what follows."
        ) from error


def draft_of(record: Record, given: Given, names: Sequence[str], tally: Tally, place: int) -> Draft:
    """Take what is needed of a record: its fields, its scores, and what the mapped paths give."""
    if not tally.paths:
        tally.paths = list(islice(paths_in(record.raw), KNOWN_PATHS))
    found = {name: lookup(record.raw, name.removeprefix("record.")) for name in names}
    fields = {name: value for name, value in record.fields.items() if value is not None}
    if given.model is not None:
        if fields.get("model", given.model) != given.model:
            tally.renamed.setdefault(str(fields["model"]), given.model)
        fields["model"] = given.model
    scores = dict(record.scores)
    if "score" in fields:
        scores.setdefault("score", fields.pop("score"))
    if record.note and record.note not in tally.notes:
        tally.notes.append(record.note)
    return Draft(
        place, record.source, record.identity or digest(given.file.content_sha256, tally.records), fields, scores,
        {name: value for name, value in found.items() if value is not MISSING}, record.place, record.when,
        record.tried,
    )  # fmt: skip
