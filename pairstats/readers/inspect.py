"""Inspect AI logs: ``.eval`` (a zip of samples) and ``.json`` (one document), finished or not.

Read without inspect_ai, one sample at a time: its own reader expands every event and takes hours on large
logs, and a statistics package should not install an evaluation framework.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
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
from pairstats.readers.each import UNFORESEEN, made
from pairstats.readers.inspect_sample import epoch_of, fields_of, scores_of
from pairstats.readers.jsonlines import parse
from pairstats.readers.zipped import Archive, Member, is_zip

_HEADER = "header.json"
_START = "_journal/start.json"
_SAMPLES, _EVENTS = ("samples",), ("events",)
_STATUS = re.compile(rb'"status"\s*:\s*"(started|success|cancelled|error)"')
_EVAL = re.compile(rb'"eval"\s*:\s*\{')
_TASK = re.compile(rb'"(task_id|run_id|task_file|task_version)"\s*:')
_NAMED = re.compile(r"(.*)_epoch_(\d{1,9})\.json", re.DOTALL)
"""How a zip names a sample."""
_WHY_ABSENT = {"error": "run_error", "started": "unfinished"}
_VERSION = re.compile(rb'"inspect_ai"\s*:\s*"([^"]+)"')


@dataclass(frozen=True, slots=True)
class _Log:
    """What a log says of itself as a whole."""

    shown: str
    eval: Mapping[str, Any]
    status: str
    completed: int

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
    completed = (header.get("results") or {}).get("completed_samples") or 0
    return _Log(shown, header["eval"], str(header.get("status") or "started"), int(completed))


def _read_zip(file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
    with Archive(file.path, file.shown) as archive:
        listing = archive.directory
        if not listing.whole and not options.keep_going:
            raise ReadError(
                f"{file.shown} is cut short: the zip's central directory is missing, "
                f"{len(listing.members)} members are whole. "
                "Fetch the file again, or read the whole members with keep_going=True."
            )
        log = _log_of(archive)
        yield from _samples(log, _zip_samples(archive, options), options)
        for name in listing.lost:
            yield LeftOut(f"{file.shown}:{name}", "cut short: the file ends inside it")


def _zip_samples(archive: Archive, options: ReadOptions) -> Iterator[tuple[str, Any]]:
    """Yield name and content of each sample, or name and the error or word why it is left out."""
    for member, replaced in archive.members("samples/"):
        where = f"{archive.shown}:{member.name.removeprefix('samples/')}"
        if replaced:
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
    yield from _samples(log, _json_samples(opened), options)


def _json_samples(opened: Document) -> Iterator[tuple[str, Any]]:
    """Yield every sample, in a second pass through the log: the first tells which are written again later."""
    last: dict[tuple[str, str], int] = {}
    for number, sample in opened.values(_SAMPLES):
        if isinstance(sample, dict):
            last[_key(sample)] = number
    for number, sample in opened.values(_SAMPLES):
        where = name_of(opened.file, _SAMPLES, number)
        if isinstance(sample, dict) and last[_key(sample)] != number:
            yield where, LeftOut(where, "written again later in the same log")
        else:
            yield where, sample


def _key(sample: Mapping[str, Any]) -> tuple[str, str]:
    return str(sample.get("id")), str(sample.get("epoch"))


def _samples(
    log: _Log, samples: Iterator[tuple[str, Any]], options: ReadOptions
) -> Iterator[Record | LeftOut]:
    """Turn samples into records, then account for what was planned and is not there."""
    seen: set[tuple[str, int]] = set()
    for where, sample in samples:
        # A sample that is left out did run: it must not come back as one that is planned and absent.
        seen |= _known(where.removeprefix(f"{log.shown}:"), sample)
        if isinstance(sample, LeftOut):
            yield sample
        else:
            make = partial(_record, log, where, sample, options)
            yield made(where, "an Inspect sample", options.keep_going, make)
    if not seen and log.completed:
        yield LeftOut(log.shown, f"header only: the {log.completed} samples it counts are not in the file")
    else:
        yield from _never_ran(log, seen)


def _known(name: str, sample: Any) -> set[tuple[str, int]]:
    """Id and epoch of a sample, by its content or by its name in the zip; none where neither tells them."""
    if isinstance(sample, dict) and "id" in sample:
        try:
            return {(str(sample["id"]), epoch_of(sample))}
        except UNFORESEEN:
            return {
                (str(sample["id"]), 1)
            }  # its record is refused; without its epoch it is taken for the first
    named = _NAMED.fullmatch(name)
    return {(named[1], int(named[2]))} if named else set()


def _record(log: _Log, where: str, sample: Any, options: ReadOptions) -> Record:
    if not isinstance(sample, dict) or "id" not in sample:
        raise ReadError(f"{where} must be an object with an 'id', as an Inspect sample is.")
    scores = scores_of(sample)
    fields = fields_of(sample, log.eval, options.score)
    # A temperature-0 repeat from a cache has the response id of the first call, but its own uuid.
    identity = sample.get("uuid") or digest(
        log.eval.get("run_id"), log.eval.get("task_id"), str(sample["id"]), fields["repeat"],
        fields.get("response"),
    )  # fmt: skip
    return Record(where, fields, scores, log.raw(sample), str(identity))


def _never_ran(log: _Log, seen: set[tuple[str, int]]) -> Iterator[Record | LeftOut]:
    """Account for the samples of the log's own plan (dataset x epochs) that are not in it."""
    dataset = log.eval.get("dataset") or {}
    planned = dataset.get("sample_ids") or []
    epochs = int((log.eval.get("config") or {}).get("epochs") or 1)
    for epoch in range(1, epochs + 1):
        for sample_id in planned:
            key = (str(sample_id), epoch)
            if key in seen:
                continue
            where = f"{log.shown}:{sample_id}_epoch_{epoch}"
            if log.status == "success":
                # A finished log ran them all: they were cut out of the file, which is no loss of the run.
                yield LeftOut(where, "in the log's plan, but not in the file")
                continue
            fields = {"item": str(sample_id), "repeat": epoch - 1, "model": log.eval.get("model"),
                      "status": "absent", "reason": _WHY_ABSENT.get(log.status, log.status)}  # fmt: skip
            raw = log.raw({"id": sample_id, "epoch": epoch})
            yield Record(where, fields, {}, raw, digest(log.eval.get("run_id"), *key, "absent"))
