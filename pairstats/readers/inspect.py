"""Inspect AI logs: ``.eval`` (a zip of samples) and ``.json`` (one document), finished or not.

Read without inspect_ai, one sample at a time: its own reader expands every event and takes hours on large
logs, and a statistics package should not install an evaluation framework.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from pairstats.errors import ReadError
from pairstats.readers.base import (
    LARGEST_WHOLE,
    Declined,
    LeftOut,
    ReadOptions,
    Recognized,
    Record,
    RunFile,
    digest,
)
from pairstats.readers.documents import Document, name_of, open_document
from pairstats.readers.each import UNFORESEEN, id_of, made
from pairstats.readers.inspect_ids import (
    Id,
    Key,
    alike,
    item_of,
    key_of,
    keys_in,
    last_by_kind,
    planned_ids,
)
from pairstats.readers.inspect_sample import failures_of, fields_of, scores_of, when_of
from pairstats.readers.jsonlines import parse, whole
from pairstats.readers.states import told
from pairstats.readers.zipped import Archive, Member, is_zip

_HEADER = "header.json"
_START = "_journal/start.json"
_SAMPLES, _EVENTS = ("samples",), ("events",)
_FOLDER = "samples/"
_LOST = "cut short: the file ends inside it"
_NEVER_RAN = "log.status, of a sample that never ran"
_STATUS = re.compile(rb'"status"\s*:\s*"(started|success|cancelled|error)"')
_EVAL = re.compile(rb'"eval"\s*:\s*\{')
_TASK = re.compile(rb'"(task_id|run_id|task_file|task_version)"\s*:')
_VERSION = re.compile(rb'"inspect_ai"\s*:\s*"([^"]+)"')


@dataclass(frozen=True, slots=True)
class _Log:
    """What a log says of itself as a whole."""

    shown: str
    eval: Mapping[str, Any]
    status: str
    completed: int
    twins: frozenset[str] = frozenset()
    """Ids that are there as text and as number."""
    total: int = 0
    """Samples that the log's results count."""
    note: str = ""
    """What the ledger must say of the samples that the file lacks."""

    def with_ids(self, ids: Iterable[Id], held: int) -> _Log:
        """Take note of the ids of samples, besides those of the plan, and of how many a plan without ids lacks."""
        planned = 0 if planned_ids(self.eval) else self.total or _plan(self.eval)
        lost = f"its plan counts {planned} samples, but the file holds {held}"
        twins = alike(planned_ids(self.eval)) | alike(ids)
        return replace(self, twins=twins, note=lost if planned > held > 0 else "")

    def named(self, key: Key) -> tuple[str, int]:
        """Item and epoch of a sample; a plan may write as text what a sample has as a number."""
        return item_of(key[0], self.twins), key[1]

    def raw(self, sample: Mapping[str, Any]) -> dict[str, Any]:
        """Give what a dotted path of the user looks into: the sample, and the log it is of."""
        return {**sample, "eval": self.eval, "log": {"status": self.status}}


class InspectReader:
    """Reader of Inspect AI logs."""

    name = "inspect"

    def recognize(self, file: RunFile) -> Recognized | Declined:
        """Look for Inspect's header in a zip, or for a log's first keys in JSON."""
        if is_zip(file.head):
            return _recognize_zip(file)
        head = file.head
        if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            return Declined("no zip and no JSON object")
        status = _STATUS.search(head)
        if not (status and _EVAL.search(head) and _TASK.search(head)):
            return Declined("no Inspect log: its keys 'status' and 'eval' are not there")
        version = _VERSION.search(head)
        return Recognized(
            version[1].decode(errors="replace") if version else "", note=_note(status[1].decode())
        )

    def read(self, file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
        """Yield every sample of a log, and every planned one that never ran."""
        if is_zip(file.head):
            return _read_zip(file, options)
        return _read_json(file, options)


READER = InspectReader()


def _note(status: str) -> str:
    if status == "started":
        return "log unfinished: the run was still going on, or crashed"
    return "" if status == "success" else f"the run ended as '{status}'"


def _recognize_zip(file: RunFile) -> Recognized | Declined:
    with Archive(file.path, file.shown) as archive:
        if not (_HEADER in archive or _START in archive):
            return Declined(f"a zip without Inspect's {_HEADER}")
        cut = "" if archive.directory.whole else "cut short: the zip's central directory is missing"
        try:
            log = _log_of(archive)
        except ReadError as error:
            return Recognized("", note=str(error))
        version = str((log.eval.get("packages") or {}).get("inspect_ai", ""))
        return Recognized(version, note="; ".join(filter(None, [cut, _note(log.status)])))


def _log_of(archive: Archive) -> _Log:
    """Read the header, or the journal's start where the log was never finished."""
    member = _HEADER if _HEADER in archive else _START
    header = parse(archive.read(member), f"{archive.shown}:{member}")
    return _log(archive.shown, header)


def _log(shown: str, header: Any) -> _Log:
    if not isinstance(header, dict) or not isinstance(header.get("eval"), dict):
        raise ReadError(f"{shown} must have an object 'eval' in its header. It is no whole Inspect log.")
    results = header.get("results") or {}
    completed, total = (int(results.get(f"{name}_samples") or 0) for name in ("completed", "total"))
    return _Log(shown, header["eval"], str(header.get("status") or "started"), completed, total=total)


def _plan(eval_: Mapping[str, Any]) -> int:
    """Count the samples of a log that does not list their ids; 0 where it does not tell.

    The data set's size is the one before the run's limit.
    """
    config, size = eval_.get("config") or {}, whole((eval_.get("dataset") or {}).get("samples"))
    limit = config.get("limit")
    if size is None or config.get("sample_id"):
        return 0
    first, end = limit if isinstance(limit, list) and len(limit) == 2 else (0, limit or size)
    return max(0, min(int(end), size) - int(first)) * int(config.get("epochs") or 1)


def _read_zip(file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
    with Archive(file.path, file.shown) as archive:
        listing = archive.directory
        if not listing.whole and not options.keep_going:
            raise ReadError(
                f"{file.shown} is cut short: the zip's central directory is missing, "
                f"{len(listing.members)} members are whole. "
                "Fetch the file again, or read the whole members with keep_going=True."
            )
        twins = last_by_kind(archive, _FOLDER)
        ids = (key[0] for name in twins for key in keys_in(name.removeprefix(_FOLDER)))
        log = _log_of(archive).with_ids(ids, len({member.name for member, _ in archive.members(_FOLDER)}))
        lost = (
            (f"{file.shown}:{name.removeprefix(_FOLDER)}", LeftOut(f"{file.shown}:{name}", _LOST))
            for name in listing.lost
        )
        yield from _samples(log, chain(_zip_samples(archive, options, twins), lost), options)


def _zip_samples(
    archive: Archive, options: ReadOptions, twins: Mapping[str, Sequence[Member]]
) -> Iterator[tuple[str, Any]]:
    """Yield name and content of each sample, or name and the error or word why it is left out."""
    for member, replaced in archive.members(_FOLDER):
        where = f"{archive.shown}:{member.name.removeprefix(_FOLDER)}"
        if replaced and not any(member is last for last in twins.get(member.name, ())):
            yield where, LeftOut(where, "written again later in the same log")
            continue
        try:
            yield where, _sample(archive, member, where)
        except ReadError as error:
            if not options.keep_going:
                raise
            yield where, LeftOut(where, str(error))


def _sample(archive: Archive, member: Member, where: str) -> Any:
    """Read one sample; of one that is larger than can be held, all but its events."""
    if member.unpacked <= LARGEST_WHOLE:
        return parse(archive.read(member), where)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "sample.json")
        with place.open("wb") as target:
            target.writelines(archive.chunks(member))
        opened = open_document(RunFile(place, where), _EVENTS)
        opened.check(_EVENTS)
    if not isinstance(opened.head, dict):
        return opened.head
    return {**opened.head, "events": _NotHeld(where)}


class _NotHeld(Mapping[str, Any]):
    """Events of a sample that is too large: whoever asks for them is told so."""

    def __init__(self, where: str) -> None:
        self._where = where

    def _refuse(self, *_: object) -> Any:
        raise ReadError(
            f"{self._where} must have at most {LARGEST_WHOLE >> 20} MiB for a path into its events, but has more."
        )

    __getitem__ = __iter__ = __len__ = __contains__ = __str__ = __repr__ = _refuse

    def __bool__(self) -> bool:
        return False


def _read_json(file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
    opened = open_document(file, _SAMPLES)
    log = _log(file.shown, opened.head)
    samples = opened.head.get("samples") or []
    if not isinstance(samples, list):
        raise ReadError(f"{file.shown} must hold a list 'samples', but holds {type(samples).__name__}.")
    keys = ((key_of(sample), number) for number, sample in opened.values(_SAMPLES))
    last = {key: number for key, number in keys if key is not None}
    log = log.with_ids((id_ for id_, _ in last), len(last))
    yield from _samples(log, _json_samples(opened, last), options)


def _json_samples(opened: Document, last: Mapping[Key, int]) -> Iterator[tuple[str, Any]]:
    """Yield every sample, in a second pass through the log: the first told which are written again later."""
    for number, sample in opened.values(_SAMPLES):
        where = name_of(opened.file, _SAMPLES, number)
        if (key := key_of(sample)) is not None and last[key] != number:
            yield where, LeftOut(where, "written again later in the same log")
        else:
            yield where, sample


def _samples(
    log: _Log, samples: Iterator[tuple[str, Any]], options: ReadOptions
) -> Iterator[Record | LeftOut]:
    """Turn samples into records, then account for what was planned and is not there."""
    planned = _planned(log)
    seen: set[tuple[str, int]] = set()
    nameless: list[str | None] = []
    for where, sample in samples:
        # A sample that is left out did run: it must not come back as one that is planned and absent.
        key = key_of(sample)
        keys = [key] if key else keys_in(where.removeprefix(f"{log.shown}:"))
        if keys:
            seen.update(map(log.named, keys))
        elif not isinstance(sample, LeftOut):
            nameless.append(_id(sample))
        if isinstance(sample, LeftOut):
            yield sample
        else:
            make = partial(_record, log, where, sample, options)
            yield made(where, "an Inspect sample", options.keep_going, make)
    if not (seen or nameless) and log.completed:
        yield LeftOut(log.shown, f"header only: the {log.completed} samples it counts are not in the file")
    else:
        yield from _never_ran(log, [key for key in planned if key not in seen], nameless)


def _id(sample: Any) -> str | None:
    """Id of a sample that does not tell its epoch; None where it has none either."""
    try:
        return id_of(sample["id"])
    except UNFORESEEN:
        return None


def _record(log: _Log, where: str, sample: Any, options: ReadOptions) -> Record:
    if not isinstance(sample, dict) or "id" not in sample:
        raise ReadError(f"{where} must be an object with an 'id', as an Inspect sample is.")
    item = item_of(sample["id"], log.twins)
    scores = scores_of(sample)
    fields = fields_of(sample, log.eval, options.score) | {"item": item}
    # A temperature-0 repeat from a cache has the response id of the first call, but its own uuid.
    identity = sample.get("uuid") or digest(
        log.eval.get("run_id"), log.eval.get("task_id"), item, fields["repeat"],
        fields.get("response"),
    )  # fmt: skip
    when, tried = when_of(sample, log.eval), failures_of(sample, fields["status"] == "error")
    return Record(
        where, fields, scores, log.raw(sample), str(identity), when=when, tried=tried, note=log.note
    )


def _planned(log: _Log) -> list[tuple[str, int]]:
    """Item and epoch of the samples of the log's own plan (dataset x epochs)."""
    ids = [item_of(each, log.twins) for each in planned_ids(log.eval)]
    epochs = int((log.eval.get("config") or {}).get("epochs") or 1)
    return [(each, epoch) for epoch in range(1, epochs + 1) for each in ids]


def _never_ran(
    log: _Log, missing: list[tuple[str, int]], nameless: list[str | None]
) -> Iterator[Record | LeftOut]:
    """Account for planned samples that are not in the log.

    A sample in the log that does not tell which it is (`nameless`: its id where it has one) is one of them.
    """
    doubtful = [key for key in missing if key[0] in nameless or None in nameless]
    for _ in doubtful[len(nameless) :]:
        yield LeftOut(log.shown, "planned, but not in the file; which it is a sample without an id hides")
    for sample_id, epoch in missing:
        if (sample_id, epoch) in doubtful:
            continue
        where = f"{log.shown}:{sample_id}_epoch_{epoch}"
        if log.status == "success":
            # A finished log ran them all: they were cut out of the file, which is no loss of the run.
            yield LeftOut(where, "in the log's plan, but not in the file")
            continue
        status, reason = told("inspect", _NEVER_RAN, log.status) or ("absent", None)
        fields = {"item": sample_id, "repeat": epoch - 1, "model": log.eval.get("model"), "status": status,
                  "reason": reason}  # fmt: skip
        raw = log.raw({"id": sample_id, "epoch": epoch})
        yield Record(where, fields, {}, raw, digest(log.eval.get("run_id"), sample_id, epoch, "absent"))
