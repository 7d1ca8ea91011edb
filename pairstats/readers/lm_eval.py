"""Samples files of EleutherAI's lm-evaluation-harness (``samples_<task>_<time>.jsonl``), v0.4.0 onwards.

One reply is one record. A line holds all replies to a document (``resps``), but its scores are those of a
*filter*: of the first reply, or of the majority. So a file with several replies a document gives one record
a reply where the replies are scored again, and one record a document, with the filter's own score, where a
filter is named; without either it is refused. A line's own scores are used where it holds one reply.

The harness takes documents to be independent of each other (its standard errors do), so a document is a family
of its own where ``family=`` does not say otherwise. Not so where a document has a field that tells of others
it belongs to (`lm_eval_line.TELLS_OF_OTHERS`): then the family must be said.

Source: EleutherAI/lm-evaluation-harness, ``lm_eval/evaluator.py`` and ``loggers/evaluation_tracker.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from pairstats.errors import ReadError
from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile, digest
from pairstats.readers.companions import beside, refuse_broken
from pairstats.readers.each import each_made, made
from pairstats.readers.jsonlines import dig, first_objects, objects
from pairstats.readers.lm_eval_line import NO_FILTER, Run, filter_of, records_of, replies_of, stands_alone

SAMPLES_NAME = re.compile(r"^samples_(?P<task>.+)_(?P<time>\d{4}-\d{2}-\d{2}T[\d.:-]+)\.jsonl(\.gz|\.zst)?$")
RESULTS_KEYS = ("configs", "group_subtasks", "lm_eval_version", "n-shot")
WHAT = "a samples line"
_UNSAFE = re.compile(r"[\"<>:/|\\?*\[\]]+")
"""What the harness writes as two underscores in the name of a folder."""
OWN_FAMILY = 'each document is a family of its own (as family="item" says) unless family= says otherwise'


@dataclass(frozen=True, slots=True)
class Overview:
    """What one line can't know of its file."""

    filters: tuple[str, ...]
    """Names in order of appearance; ``("",)`` before 0.4.7, which named none."""
    most_replies: int
    doubled: str | None
    """A document that occurs in two different lines of one filter, with the same replies."""


@dataclass(frozen=True, slots=True)
class LmEvalReader:
    """Reader of lm-evaluation-harness samples files."""

    name: str = "lm_eval"

    def recognize(self, file: RunFile) -> Recognized | Declined:
        """Look for a samples line's keys, or for a results file that serves its samples."""
        lines = first_objects(file)
        if any({"doc_id", "doc", "resps"} <= line.keys() for line in lines):
            run = _run(file)
            lacking = f"read without the results file beside it: {run.broken}" if run.broken else ""
            notes = [run.clash, lacking, OWN_FAMILY if any(stands_alone(line) for line in lines) else ""]
            return Recognized(run.version, note="; ".join(filter(None, notes)))
        results = _results(beside(file.path)[0]) if re.match(rb'\s*\{\s*"results"\s*:', file.head) else None
        if results is not None:
            return Recognized(_version(results), companion="results file: totals of the samples beside it")
        return Declined("no line has the keys 'doc_id', 'doc' and 'resps'")

    def read(self, file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
        """Yield one record a reply; lines of other filters, which repeat the replies, are left out."""
        run, overview = _run(file), _overview(file)
        refuse_broken(run.broken, options.keep_going)
        wanted = _wanted(file, overview, options)
        first_digests: dict[str, str] = {}
        for number, line in objects(file, keep_going=options.keep_going):
            source = f"{file.shown}:{number}"
            if isinstance(line, LeftOut):
                yield line
                continue
            name = made(source, WHAT, options.keep_going, partial(filter_of, line, wanted))
            if isinstance(name, LeftOut):
                yield name
            elif name != wanted:
                yield LeftOut(source, f"other filter: {name or 'unnamed'}")
            elif options.rescored and _repeats_replies(line, first_digests):
                yield LeftOut(source, "other filter: unnamed")
            else:
                make = partial(records_of, file, source, line, run, options)
                yield from each_made(source, WHAT, options.keep_going, make)


READER = LmEvalReader()


def _run(file: RunFile) -> Run:
    """Find the results file of the same run; the folder's name says the model only where its form does."""
    match = SAMPLES_NAME.match(file.path.name)
    name = f"results_{match['time']}.json" if match else "results.json"
    about, broken = beside(file.path.with_name(name))
    results = _results(about)
    if match and about is not None and results is None:
        broken = f"{name} must be a results file of the harness, but its keys are not there."
    task = match["task"] if match else None
    if results is None:
        folder = file.path.parent.name
        return Run(folder.replace("__", "/") if "__" in folder else None, task, "unversioned", broken=broken)
    if task is None and len(results["results"]) == 1:
        task = next(iter(results["results"]))
    model = _model(results)
    return Run(model, task, _version(results), _clash(file.path.parent.name, model))


def _clash(folder: str, model: str | None) -> str:
    """Say that a folder in the form of a model's name names another model than the results file."""
    if model is None or "__" not in folder or folder == _UNSAFE.sub("__", model):
        return ""
    return f"the results file names the model {model!r} (taken), the folder {folder.replace('__', '/')!r}"


def _results(value: Any) -> dict[str, Any] | None:
    known = isinstance(value, dict) and isinstance(value.get("results"), dict)
    return value if known and any(key in value for key in RESULTS_KEYS) else None


def _version(results: dict[str, Any]) -> str:
    return str(results.get("lm_eval_version") or dig(results, "config", "lm_eval_version") or "unversioned")


def _model(results: dict[str, Any]) -> str | None:
    """Name in the harness's own order: ``model_name``, else peft, delta, pretrained, model or path."""
    if isinstance(results.get("model_name"), str) and results["model_name"]:
        return str(results["model_name"])
    args = dig(results, "config", "model_args")
    if isinstance(args, str):
        args = dict(part.split("=", 1) for part in args.split(",") if "=" in part)
    names = (dig(args, key) for key in ("peft", "delta", "pretrained", "model", "path"))
    return next((str(name) for name in names if name), None)


def _named_filter(line: dict[str, Any]) -> str | None:
    try:
        return filter_of(line)
    except TypeError:
        return None  # which is told where the line is read


def _overview(file: RunFile) -> Overview:
    filters: dict[str, None] = {}
    seen: dict[tuple[str, str], tuple[str, str]] = {}
    most_replies, doubled = 1, None
    for _, line in objects(file, keep_going=True):
        name = None if isinstance(line, LeftOut) or "resps" not in line else _named_filter(line)
        if isinstance(line, LeftOut) or name is None:
            continue
        filters[name] = None
        most_replies = max(most_replies, len(replies_of(line) or ()))
        key, replies, whole_line = _document(line), digest(line["resps"]), digest(line)
        first = seen.setdefault((name, key), (replies, whole_line))
        if first[0] == replies and first[1] != whole_line:
            doubled = doubled or key
    if len(filters) > 1:
        filters.pop(NO_FILTER, None)
    return Overview(tuple(filters), most_replies, doubled)


def _document(line: dict[str, Any]) -> str:
    return str(line.get("doc_id"))


def _repeats_replies(line: dict[str, Any], first_digests: dict[str, str]) -> bool:
    """Whether another line with the same replies, but other scores, came before (a filter without a name)."""
    if "filter" in line:
        return False
    key = digest(_document(line), line.get("resps"))
    return first_digests.setdefault(key, digest(line)) != digest(line)


def _wanted(file: RunFile, overview: Overview, options: ReadOptions) -> str:
    """Name the filter whose lines become records, or say why none can."""
    filters = overview.filters or (NO_FILTER,)
    named = ", ".join(repr(name) for name in filters if name)
    if options.filter is not None and options.filter not in filters:
        has = f"has the filters {named}" if named else "names no filters (lm_eval before 0.4.7)"
        raise ReadError(f"{file.shown} must have the filter {options.filter!r}, but {has}. Name one it has.")
    if options.rescored:
        return options.filter if options.filter is not None else filters[0]
    if overview.most_replies > 1 and not (options.filter and named):
        whole = f"filter={filters[0]!r}" + (" or another" if len(filters) > 1 else "")
        raise ReadError(
            f"{file.shown} has up to {overview.most_replies} replies a document, but scores only one value "
            f"for all of them, by the filters {named or '(unnamed)'}: the first reply or the majority. "
            "Pass answers=ps.AnswerFormat(...) to score every reply (answers=ps.AnswerFormat(field=None) for "
            "plain letters)" + (f", or {whole} for one row a document with that score." if named else ".")
        )
    if options.filter is None and len(filters) > 1:
        raise ReadError(
            f"{file.shown} scores the same replies by {len(filters)} filters: {named}. "
            f"Pass filter={filters[0]!r} or another, or answers=ps.AnswerFormat(...) to score them again."
        )
    if overview.doubled is not None:
        raise ReadError(
            f"{file.shown} scores the same reply twice, first for doc_id {overview.doubled}, and names no "
            "filters (lm_eval before 0.4.7). Pass answers=ps.AnswerFormat(...) to score the replies again."
        )
    return options.filter if options.filter is not None else filters[0]
