"""Instance-level files of Every Eval Ever (``<uuid>_samples.jsonl``), schema 0.2 onwards.

The format has one line a sample and metric. Here the lines of one sample are one record with several scores,
named by ``evaluation_result_id``; lines that only add a score are left out and counted. It has no column for
family, variant, repeat or status: files that pairstats wrote hold them in ``metadata``, under names that
begin with `OWN`.

Source: evaleval/every_eval_ever, ``schemas/instance_level_eval.schema.json`` and ``eval.schema.json``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import UnionType
from typing import Any

from pairstats.errors import ReadError, listed
from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile, digest
from pairstats.readers.companions import beside, refuse_broken
from pairstats.readers.cut import suspected
from pairstats.readers.drafts import as_text
from pairstats.readers.each import expect, id_of, made
from pairstats.readers.jsonlines import dig, first_objects, objects, real, whole
from pairstats.readers.outline import outline
from pairstats.readers.prompts import identified
from pairstats.readers.rowlog import Scores, first, present, score_of
from pairstats.readers.same_data import Scored, same_data
from pairstats.readers.states import STOP, broken, cut, told
from pairstats.schema import ANSWERED

WHAT = "a line of the schema"
LINE = frozenset({"schema_version", "evaluation_id", "sample_id", "evaluation"})
AGGREGATE = frozenset({"schema_version", "evaluation_id"})
"""Keys that lines and aggregates share."""
OWN = "pairstats."
FIELDS: dict[str, tuple[str, ...]] = {
    "item": ("sample_id",),
    "model": ("model_id",),
    "input_tokens": ("token_usage.input_tokens",),
    "output_tokens": ("token_usage.output_tokens",),
    "sample_hash": ("sample_hash",),
}
UNSCORED = OWN + "unscored"
"""Mark of a score that is not there, since the schema wants a number on every line."""
AS_JSON = OWN + "as_json"
"""Names of the further columns whose text is JSON: metadata hold texts only."""
_KINDS: dict[str, type | UnionType] = {
    "evaluation_result_id": str, "evaluation_name": str, "model_id": str, "sample_hash": str, "metadata": dict,
    "output": dict, "input": dict, "messages": list, "answer_attribution": list, "token_usage": dict,
    "performance": dict,
}  # fmt: skip
"""Kinds of the values of a line."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """What the file beside the samples says: the data set of each result, and what to beware of."""

    datasets: dict[str, str]
    note: str
    broken: str
    shared: Mapping[str, str] = field(default_factory=dict)
    """Data set of the evaluations that are metrics of one, by their names."""


@dataclass(slots=True)
class Group:
    """Lines of one sample: its scores, the line that stands for all, and the first error of any."""

    line: int
    scores: Scores = field(default_factory=dict)
    error: Any = None


@dataclass(frozen=True, slots=True)
class EveryEvalEverReader:
    """Reader of Every Eval Ever."""

    name: str = "every_eval_ever"

    def recognize(self, file: RunFile) -> Recognized | Declined:
        """Look for the keys that the schema requires of a line, or of an aggregate."""
        if set(outline(file).keys) >= AGGREGATE:
            line = next((line for line in first_objects(file) if line.keys() >= LINE), None)
            if line is not None:
                return Recognized(str(line["schema_version"]), note=_aggregate(file).note)
            if b'"evaluation_results"' in file.head:
                return Recognized("aggregate", companion="aggregate: totals of the samples beside it")
        return Declined("no line has the keys 'schema_version', 'evaluation_id', 'sample_id', 'evaluation'")

    def read(self, file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
        """Yield one record a sample, and a line left out for each further score of it."""
        aggregate = _aggregate(file)
        refuse_broken(aggregate.broken, options.keep_going)
        aggregate = replace(aggregate, shared=_shared(file, aggregate))
        groups = _groups(file, aggregate, options)
        for number, line, name in _numbered(file, aggregate, options.keep_going):
            source = f"{file.shown}:{number}"
            if isinstance(line, LeftOut):
                yield line
            elif not name:
                if not options.keep_going:
                    raise ReadError(
                        f"{source} must have the keys {listed(sorted(LINE), 9)}, but has {listed(line, 8)}. "
                        "Remove the line, or pass keep_going=True to leave such lines out and count them."
                    )
                yield LeftOut(source, "not a line of the schema")
            elif groups[name].line == number:
                make = partial(_record, file, source, line, groups[name], aggregate)
                yield made(source, WHAT, options.keep_going, make)
            else:
                yield LeftOut(source, f"a further score of a sample that is a row: {_result(line)}")


READER = EveryEvalEverReader()


def _aggregate(file: RunFile) -> Aggregate:
    """Read the aggregate beside a samples file, where it is there."""
    path = file.path.with_name(re.sub(r"_samples\.jsonl(\.gz|\.zst)?$", ".json", file.path.name))
    about, broken = beside(path) if path != file.path else (None, "")
    results = [each for each in dig(about, "evaluation_results") or [] if isinstance(each, dict)]
    datasets = {
        str(each.get("evaluation_result_id") or each.get("evaluation_name")): dig(
            each, "source_data", "dataset_name"
        )
        for each in results
    }
    lower = [
        name
        for name, each in zip(datasets, results, strict=False)
        if dig(each, "metric_config", "lower_is_better")
    ]
    notes = [f"lower is better: {', '.join(lower)}"] if lower else []
    if dig(about, "eval_library", "name") == "inspect":
        notes.append("converted from Inspect: scores may be reduced over epochs, and 0 where a sample failed")
    if broken:
        notes.append(f"read without the aggregate beside it: {broken}")
    return Aggregate({name: str(set_) for name, set_ in datasets.items() if set_}, "; ".join(notes), broken)


def _result(line: dict[str, Any]) -> str:
    return str(line.get("evaluation_result_id") or line.get("evaluation_name"))


def _study(line: dict[str, Any], aggregate: Aggregate) -> str:
    """Data set of the aggregate, else the evaluation's name without the filter that the line names."""
    own = dig(line, "metadata", OWN + "study")
    if own is not None:
        return str(own)
    named = str(line.get("evaluation_name"))
    chosen = dig(line, "metadata", "filter")
    study = aggregate.datasets.get(_result(line)) or (named.removesuffix(f"/{chosen}") if chosen else named)
    return aggregate.shared.get(study, study)


def _shared(file: RunFile, aggregate: Aggregate) -> dict[str, str]:
    """Find the evaluations that are metrics of one data set, where the file has several."""
    lines = (line for _, line in objects(file, keep_going=True))
    studies = {_study(line, aggregate) for line in lines if isinstance(line, dict) and line.keys() >= LINE}
    return same_data(_scored(file, aggregate)) if len(studies) > 1 else {}


def _scored(file: RunFile, aggregate: Aggregate) -> Iterator[Scored]:
    """Lines by what they are about, to tell metrics from data sets."""
    for number, line in objects(file, keep_going=True):
        if isinstance(line, dict) and line.keys() >= LINE:
            told = made(f"{file.shown}:{number}", WHAT, True, partial(_told, line, aggregate))
            if not isinstance(told, LeftOut):
                place, content = _parts(line), [line.get(name) for name in ("input", "output", "messages")]
                yield Scored(_study(line, aggregate), hash(digest(place)), hash(digest(content)), _data(line))


def _data(line: dict[str, Any]) -> str:
    """Name at the beginning of an evaluation's id, ``<name>/<model>/<time>``."""
    run, model = str(line["evaluation_id"]), str(line.get("model_id"))
    ends = [place for name in (model, model.replace("/", "_")) if (place := run.find(f"/{name}/")) > 0]
    return run[: ends[0]] if ends else run.partition("/")[0]


def _key(line: dict[str, Any], aggregate: Aggregate) -> str:
    """Name the reply that a line is about; lines with one name must be about different metrics."""
    return digest(*_parts(line), _study(line, aggregate))


def _parts(line: dict[str, Any]) -> list[Any]:
    """What names a reply, besides its data set."""
    metadata = line.get("metadata")
    own = {k: v for k, v in metadata.items() if k.startswith(OWN)} if isinstance(metadata, dict) else {}
    own.pop(UNSCORED, None)
    epoch = dig(metadata, "epoch")
    names = [line.get(name) for name in ("evaluation_id", "model_id", "sample_id", "sample_hash")]
    return [*names, epoch, sorted(own.items())]


def _numbered(file: RunFile, aggregate: Aggregate, keep_going: bool) -> Iterator[tuple[int, Any, str]]:
    """Yield number, line and group of every line; a metric that comes again begins a group of its own.

    Whether such a group is a copy or another reply is seen where the keys of all records are known.
    """
    times: Counter[tuple[str, str]] = Counter()
    for number, line in objects(file, keep_going=keep_going):
        if not (isinstance(line, dict) and line.keys() >= LINE):
            yield number, line, ""
            continue
        told = made(f"{file.shown}:{number}", WHAT, keep_going, partial(_told, line, aggregate))
        if isinstance(told, LeftOut):
            yield number, told, ""
        else:
            times[told] += 1
            yield number, line, f"{told[0]}:{times[told] - 1}"


def _told(line: dict[str, Any], aggregate: Aggregate) -> tuple[str, str]:
    """Reply and metric that a line is about."""
    expect(line, "line", _KINDS)
    id_of(line["evaluation_id"], "evaluation_id")
    expect(line["evaluation"], "evaluation", {"score": bool | int | float | str})
    return _key(line, aggregate), _result(line)


def _groups(file: RunFile, aggregate: Aggregate, options: ReadOptions) -> dict[str, Group]:
    """Scores by sample; the wanted metric's line, else the first, stands for the sample."""
    groups: dict[str, Group] = {}
    for number, line, name in _numbered(file, aggregate, keep_going=True):
        if name:
            group = groups.setdefault(name, Group(number))
            group.scores[_result(line)] = _score(line)
            group.error = group.error or line.get("error")
            if _result(line) == options.score:
                group.line = number
    return groups


def _score(line: dict[str, Any]) -> float | None:
    return None if dig(line, "metadata", UNSCORED) else score_of(dig(line, "evaluation", "score"))


def _record(file: RunFile, source: str, line: dict[str, Any], group: Group, aggregate: Aggregate) -> Record:
    fields = {name: first(line, paths) for name, paths in FIELDS.items()}
    fields |= {name: whole(fields[name]) for name in ("input_tokens", "output_tokens")}
    latency = real(dig(line, "performance", "latency_ms"))
    fields["latency_s"] = None if latency is None else latency / 1000
    text, own = _reply(line), _own(line)
    # A null that pairstats wrote is one: nothing is concluded from the rest of its line.
    status, reason = (own["status"], None) if "status" in own else _state(line, text, group.error)
    fields |= {
        "item": id_of(line["sample_id"], "sample_id"), "study": _study(line, aggregate),
        "response": text if own else text or None,
        "gold": _gold(line), "answer": _answer(line) if own or status == ANSWERED else None,
        "status": status, "reason": reason, "repeat": _repeat(line), **identified(dig(line, "input", "raw")),
        **own,
    }  # fmt: skip
    return Record(source, present(fields), dict(group.scores), line, digest(file.content_sha256, line))


def _own(line: dict[str, Any]) -> dict[str, Any]:
    """Columns that pairstats wrote into the metadata."""
    metadata = line.get("metadata")
    own = metadata.items() if isinstance(metadata, dict) else ()
    found = {k.removeprefix(OWN): v for k, v in own if k.startswith(OWN) and k not in (UNSCORED, AS_JSON)}
    as_json = json.loads(dig(metadata, AS_JSON) or "[]")
    return {name: json.loads(value) if name in as_json else value for name, value in found.items()}


def _repeat(line: dict[str, Any]) -> int | None:
    """Epoch of the Inspect converter, which counts from 1."""
    epoch = dig(line, "metadata", "epoch")
    if epoch is None:
        return None
    number = whole(score_of(epoch))
    if number is None:
        raise ValueError(f"its epoch is {epoch!r}")
    return max(0, number - 1)


def _reply(line: dict[str, Any]) -> str | None:
    """Reply of a single turn; of a conversation, the last that the model said."""
    raw = dig(line, "output", "raw")
    if isinstance(raw, list):
        return as_text(raw[0]) if len(raw) == 1 else as_text(raw) if raw else None
    said = [m.get("content") for m in line.get("messages") or [] if dig(m, "role") == "assistant"]
    return as_text(said[-1]) if said else as_text(raw)


def _gold(line: dict[str, Any]) -> str | None:
    keys = dig(line, "input", "reference")
    return as_text(keys[0]) if isinstance(keys, list) and len(keys) == 1 else as_text(keys) if keys else None


def _answer(line: dict[str, Any]) -> str | None:
    values = [
        dig(each, "extracted_value")
        for each in line.get("answer_attribution") or []
        if dig(each, "is_terminal")
    ]
    return as_text(values[-1]) if values else None


def _state(line: dict[str, Any], text: str | None, error: Any) -> tuple[str, str | None]:
    """Status and reason; an error of any line of the sample is one, whatever score the line had to have."""
    if error:
        return broken("every_eval_ever", str(error))
    stop, filled = str(dig(line, "metadata", "stop_reason") or ""), bool((text or "").strip())
    if ended := told("every_eval_ever", STOP, stop):
        return cut(ended, filled)
    return (ANSWERED, None if stop else suspected(text)) if filled else ("empty", None)
