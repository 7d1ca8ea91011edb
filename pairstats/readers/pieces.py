"""Files read in pieces that know nothing of each other, in this process or in several at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace

from pairstats import schema
from pairstats.errors import PairingError, ReadError, counted
from pairstats.readers import confidence, pairing, places, replies, scoring
from pairstats.readers.assemble import to_part
from pairstats.readers.base import HEAD_BYTES, LeftOut, Reader, Recognized, RunFile
from pairstats.readers.columns import UnusualError
from pairstats.readers.drafts import Draft, Tally
from pairstats.readers.files import TABLES, Given, recognize
from pairstats.readers.flat import LOGS, flat_form, flat_parts, log_parts
from pairstats.readers.layout import Layout, layout_of
from pairstats.readers.mapped import table_tally
from pairstats.readers.mapping import OF_THE_ITEM, Context, NowhereError
from pairstats.readers.parts import Part
from pairstats.readers.progress import Sink
from pairstats.readers.promised import check_promise
from pairstats.readers.reading import Reading
from pairstats.readers.requests import ASKED, UNSERVED
from pairstats.readers.sheets import form_of
from pairstats.readers.whole import draft_of, guarded

SPAN_BYTES = 1 << 24
"""Bytes of lines that are a task of their own, where a file is several."""
CHUNK = 20_000
CHUNK_BYTES = 1 << 25
"""Records that are held as objects at a time, and characters in them."""
CELL = 64
"""Bytes that a value takes besides its characters."""


@dataclass(frozen=True, slots=True)
class Task:
    """A file, or some lines of it, to be read by itself.

    Attributes
    ----------
    given : Given
    place : int
        Position of the file in the ledger.
    by_record : bool
        Whether files that are no flat tables may be read so, a chunk of records at a time.
    """

    given: Given
    place: int
    by_record: bool


@dataclass(slots=True)
class Piece:
    """What a task gave.

    Attributes
    ----------
    place : int
    tally : Tally
        Account of this piece.
    parts : list of Part
    names : tuple of str
        Columns of a flat table, in order.
    layout : Layout or None
        What they mean.
    stages : list of list of tuple
        Records left out: by the reader, by a pattern, and for want of a number as score.
    span : tuple of int or None
        As in `RunFile`.
    marks : list of array
        Which question lies at each place, where items are named by their place.
    tasks : set of str
        Tasks of which items are families of their own, named by their place.
    """

    place: int
    tally: Tally
    parts: list[Part]
    names: tuple[str, ...] = ()
    layout: Layout | None = None
    stages: list[list[tuple[str, str]]] | None = None
    span: tuple[int, int, int] | None = None
    marks: list[places.Marks] = field(default_factory=list)
    tasks: set[str] = field(default_factory=set)


def tasks_of(files: Sequence[Given], reading: Reading, by_record: bool, spans: bool) -> Iterator[Task]:
    """Lay out the work: a file a task, and for large flat tables of JSON Lines some lines a task.

    Parameters
    ----------
    files : sequence of Given
    reading : Reading
    by_record : bool
    spans : bool
        Whether one file may be several tasks.
    """
    for place, given in enumerate(files):
        if spans and not (given.unread or given.broken) and _can_be_cut(given, reading):
            sha256 = given.file.sha256  # noted in the file, and so not computed again for each piece
            for span in _spans(given.file):
                file = replace(given.file, span=span)
                file.__dict__["sha256"] = sha256
                file.__dict__["head"] = given.file.head
                yield Task(replace(given, file=file), place, by_record)
        else:
            yield Task(given, place, by_record)


def _can_be_cut(given: Given, reading: Reading) -> bool:
    file = given.file
    large = file.path.stat().st_size > 2 * SPAN_BYTES
    if file.packed or file.head[:1] != b"{" or not large or flat_form(given, reading) != "jsonl":
        return False
    seen = recognize(given, reading.reader, "jsonl")
    return not isinstance(seen, str) and seen[0].name == TABLES


def _spans(file: RunFile) -> Iterator[tuple[int, int, int]]:
    """First byte, end, and lines before, of runs of whole lines."""
    start = lines = 0
    with file.path.open("rb") as stream:
        while chunk := stream.read(SPAN_BYTES):
            chunk += stream.readline()
            yield start, start + len(chunk), lines
            start += len(chunk)
            lines += chunk.count(b"\n")


def read_piece(task: Task, reading: Reading, sink: Sink) -> Piece:
    """Do one task.

    Raises
    ------
    UnusualError
        When the records of all files must be known to read them.
    """
    given = task.given
    if given.broken:
        raise UnusualError(given.broken)
    if given.unread:
        piece = _new(task)
        piece.tally.notes.append(f"not read ({given.unread})")
        return piece
    with ThreadPoolExecutor(1) as pool:
        hashing = pool.submit(lambda: given.file.sha256)
        try:
            piece = _read_file(task, reading, sink)
        except ReadError as error:
            if not reading.options.keep_going:
                raise
            raise UnusualError(str(error)) from error  # of all files together, some may be left out
        piece.tally.sha256 = hashing.result()
    return piece


def _read_file(task: Task, reading: Reading, sink: Sink) -> Piece:
    given = task.given
    piece = _new(task)
    form = flat_form(given, reading)
    seen = _recognized(given, reading, form)
    if form and not isinstance(seen, str) and seen[0].name == TABLES:
        _enter(piece.tally, seen, reading)
        try:
            _read_flat(piece, task, form, reading, sink)
            return piece
        except UnusualError:
            if given.file.span is not None or not (task.by_record or len(given.file.head) < HEAD_BYTES):
                raise
        piece, seen = _new(task), _recognized(given, reading)
    if isinstance(seen, str):
        if given.named:
            raise UnusualError(seen)
        if not reading.options.keep_going:
            check_promise(given.file)
        piece.tally.notes.append(f"not recognized ({seen})")
        return piece
    if _gives_columns(seen[0], given, reading):
        _enter(piece.tally, seen, reading)
        try:
            _read_log(piece, task, seen[0], reading, sink)
            return piece
        except UnusualError:
            if not task.by_record:
                raise
        piece = _new(task)
    if not (task.by_record or seen[1].companion):
        raise UnusualError(f"a file of {seen[0].name}")
    _enter(piece.tally, seen, reading)
    if not seen[1].companion:
        _read_records(piece, task, seen[0], reading, sink)
    return piece


def _recognized(given: Given, reading: Reading, table: str = "") -> tuple[Reader, Recognized] | str:
    try:
        return recognize(given, reading.reader, table)
    except ReadError as error:
        raise UnusualError(str(error)) from error


def _new(task: Task) -> Piece:
    return Piece(
        task.place, Tally(task.given.file.shown, task.given.file.path), [], span=task.given.file.span
    )


def _enter(tally: Tally, seen: tuple[Reader, Recognized], reading: Reading) -> None:
    reader, recognized = seen
    tally.reader, tally.version, tally.primary = reader.name, recognized.version, recognized.primary
    tally.notes += recognized.notes(bool(reading.options.models))


def _read_flat(piece: Piece, task: Task, form: str, reading: Reading, sink: Sink) -> None:
    with closing(flat_parts(task.given, form, reading, piece.tally, task.place)) as parts:
        for names, layout, part in parts:
            piece.names, piece.layout = names, layout
            piece.parts.append(sink(part))
    piece.stages = [[], piece.tally.left_out, []]


def _gives_columns(reader: Reader, given: Given, reading: Reading) -> bool:
    return type(reader) in LOGS and reading.by_block and form_of(given.file) == "jsonl"


def _read_log(piece: Piece, task: Task, reader: Reader, reading: Reading, sink: Sink) -> None:
    with closing(log_parts(task.given, reader, reading, piece.tally, task.place)) as parts:
        piece.parts += map(sink, parts)
    piece.stages = [[], piece.tally.left_out, []]


def _read_records(piece: Piece, task: Task, reader: Reader, reading: Reading, sink: Sink) -> None:
    if reading.items is not None:
        raise UnusualError("an item table")
    tally = piece.tally
    tally.sha256 = task.given.file.sha256
    piece.stages = [[], [], []]
    for drafts in _chunks(task, reader, reading, piece, piece.stages[0]):
        try:
            piece.parts.append(sink(_part(drafts, reading, tally, piece)))
        except NowhereError as error:
            raise UnusualError(str(error)) from error


def _chunks(
    task: Task, reader: Reader, reading: Reading, piece: Piece, left_out: list[tuple[str, str]]
) -> Iterator[list[Draft]]:
    """Yield drafts, so many at a time as may be held; what a record is made of is let go at once."""
    drafts: list[Draft] = []
    size = 0
    for record in guarded(task.given, reader, reading.options):
        piece.tally.records += 1
        if isinstance(record, LeftOut):
            left_out.append((record.source, record.reason))
            continue
        drafts.append(draft_of(record, task.given, reading.names, piece.tally, 0))
        size += _length(drafts[-1])
        if len(drafts) >= CHUNK or size >= CHUNK_BYTES:
            yield drafts
            drafts, size = [], 0
    if drafts:
        yield drafts


def _length(draft: Draft) -> int:
    """What a draft takes, about: characters of texts and of what stands for other values, and a cell for each."""
    values = (*draft.fields.values(), *draft.found.values())
    return sum(CELL + len(value if isinstance(value, str) else repr(value)) for value in values)


def _part(drafts: list[Draft], reading: Reading, tally: Tally, piece: Piece) -> Part:
    """Do to the records of a chunk what `read_whole` does to all, as far as they can be told without the others."""
    context, tallies = Context(None, [tally]), [tally]
    if any(ASKED in draft.fields or UNSERVED in draft.fields for draft in drafts):
        raise UnusualError("requests whose answers are in another file")
    pairing.map_item(drafts, reading.columns.get("item"), context)
    fits, why = pairing.fitting({str(draft.fields["item"]) for draft in drafts}, reading.exclude)
    drafts = [draft for draft in drafts if not _is_out(draft, why, piece)]
    piece.marks.append(places.marks_of(drafts, tally))
    if any(name in OF_THE_ITEM for name in reading.columns) and not all(draft.ran for draft in drafts):
        raise UnusualError("what an item that never ran cannot tell")
    drafts = pairing.map_columns(drafts, reading.others, reading.constants, context, tallies)
    piece.tasks |= places.tasks_of(drafts)
    drafts, primary, names = scoring.place_scores(
        drafts, reading.score, tallies, reading.answers is not None, reading.options.keep_going
    )
    if reading.answers is not None:
        try:
            replies.check_replies(drafts)
        except PairingError as error:  # of which only all records together can be told
            raise UnusualError(str(error)) from error
        replies.rescore(drafts, reading.answers, reading.score is not None, "options" in reading.columns)
    if reading.options.keep_going and _some_outside(drafts, reading.score_range):
        raise UnusualError("scores to leave out")
    confidence.scale_confidence(drafts, reading.confidence_scale, tallies)
    assert piece.stages is not None
    piece.stages[2] += tally.left_out
    tally.left_out.clear()
    return to_part(drafts, tally, piece.place, fits, primary if names else None)


def _is_out(draft: Draft, why: dict[str, str], piece: Piece) -> bool:
    reason = why.get(str(draft.fields["item"]))
    if reason is not None and piece.stages is not None:
        piece.stages[1].append((draft.source, reason))
    return reason is not None


def _some_outside(drafts: Sequence[Draft], limits: tuple[float, float]) -> bool:
    return any(
        schema.is_score(name) and value is not None and schema.within(value, limits) is None
        for draft in drafts
        for name, value in draft.fields.items()
    )


def gathered(
    pieces: Sequence[Piece], files: Sequence[Given], reading: Reading
) -> tuple[list[Part], list[Tally]]:
    """Put pieces together again: the parts in order, and one account a file.

    Raises
    ------
    UnusualError
        When pieces of one file tell of different tables, or those of any of different questions at one place.
    """
    if any(piece.marks for piece in pieces) and "study" in {*reading.columns, *reading.constants}:
        raise UnusualError("places of tasks that are read as one study")
    places.check_marks([marks for piece in pieces for marks in piece.marks])
    if places.stand_alone(reading) and len(set[str]().union(*(piece.tasks for piece in pieces))) > 1:
        raise UnusualError("families of several tasks, which only all records tell apart")
    tallies: list[Tally] = []
    parts: list[Part] = []
    for place in range(len(files)):
        mine = [piece for piece in pieces if piece.place == place]
        tallies.append(_one_tally(mine))
        names = tuple(dict.fromkeys(name for piece in mine for name in piece.names))
        layouts = [piece.layout for piece in mine if piece.layout is not None]
        if len(mine) > 1 and any(layout != layout_of(names, "jsonl", reading) for layout in layouts):
            raise UnusualError("columns that come late and change what others mean")
        rank = {name: number for number, name in enumerate(names)}
        for part in (part for piece in mine for part in piece.parts):
            met = {
                n: (row, kind, rank.get(n, at) if kind == 0 else at)
                for n, (row, kind, at) in part.met.items()
            }
            parts.append(replace(part, met=met if layouts else part.met))
    if reading.items is not None:
        if len({part.item_key for part in parts} - {""}) > 1:
            raise UnusualError("several columns of the item table that hold items")
        tallies.append(table_tally(reading.items, [counted(len(reading.items.rows), "item")]))
    return parts, tallies


def _one_tally(pieces: Sequence[Piece]) -> Tally:
    """One account of the pieces of a file; what was left out at each stage in the order of the file."""
    first = pieces[0].tally
    whole = replace(
        first,
        left_out=[],
        stated={},
        words={},
        renamed={},
        notes=list(dict.fromkeys(n for p in pieces for n in p.tally.notes)),
    )
    if sum(note.startswith(scoring.JUDGED) for note in whole.notes) > 1:
        raise UnusualError("further scores that differ from piece to piece")
    for name in ("records", "nan_to_null", "confidence_out_of_range", "score_ignored_on_error"):
        setattr(whole, name, sum(getattr(piece.tally, name) for piece in pieces))
    for piece in pieces:
        for own, new in piece.tally.renamed.items():
            whole.renamed.setdefault(own, new)
        for scale, counts in piece.tally.stated.items():
            whole.count_stated(scale, *counts)
        whole.words |= piece.tally.words
    for stage in range(3):
        whole.left_out += [line for piece in pieces if piece.stages for line in piece.stages[stage]]
    return whole
