"""Samples files of EleutherAI's lm-evaluation-harness (``samples_<task>_<time>.jsonl``), v0.4.0 onwards.

One reply is one record. A line holds all replies to a document (``resps``), but its scores are those of a
*filter*: of the first reply, or of the majority. So a file with several replies a document gives one record
a reply where the replies are scored again, and one record a document, with the filter's own score, where a
filter is named; without either it is refused. A line's own scores are used where it holds one reply.

The harness takes documents to be independent of each other (its standard errors do), so a document is a family
of its own where ``family=`` does not say otherwise. Not so where a document has a field that tells of others
it belongs to (`TELLS_OF_OTHERS`): then the family must be said.

Source: EleutherAI/lm-evaluation-harness, ``lm_eval/evaluator.py`` and ``loggers/evaluation_tracker.py``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from pairstats.errors import ReadError, listed
from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile, digest
from pairstats.readers.companions import beside, refuse_broken
from pairstats.readers.cut import suspected
from pairstats.readers.each import each_made, id_of, made
from pairstats.readers.jsonlines import dig, first_objects, objects, real
from pairstats.readers.likelihoods import likeliest
from pairstats.readers.place import Place, place_of
from pairstats.readers.prompts import identified
from pairstats.readers.states import words
from pairstats.schema import ANSWERED

SAMPLES_NAME = re.compile(r"^samples_(?P<task>.+)_(?P<time>\d{4}-\d{2}-\d{2}T[\d.:-]+)\.jsonl(\.gz|\.zst)?$")
RESULTS_KEYS = ("configs", "group_subtasks", "lm_eval_version", "n-shot")
KNOWN_KEYS = frozenset({
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics",
    "doc_hash", "prompt_hash", "target_hash",
})  # fmt: skip
NOT_SCORES = frozenset({
    "perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "likelihood", "bypass",
})  # fmt: skip
"""Metrics that are no score of one document in a known range."""
NO_MATCH = "[invalid]"
"""What the harness's regex filter writes when it finds no answer."""
NO_FILTER = ""
WHAT = "a samples line"
_UNSAFE = re.compile(r"[\"<>:/|\\?*\[\]]+")
"""What the harness writes as two underscores in the name of a folder."""
TELLS_OF_OTHERS = re.compile(
    r"famil|variant|group|cluster|pair|parent|perturb|original|rephras|paraphras|translat|passage|context|"
    r"story|source|base_|template|counterfactual|subject|(^|_)(lang|seed|copy|version)",
    re.IGNORECASE,
)
"""Names of document fields that say, or may say, that several documents are copies of one question."""
OWN_FAMILY = 'each document is a family of its own (as family="item" says) unless family= says otherwise'


@dataclass(frozen=True, slots=True)
class Run:
    """What a samples file's neighbour says of the run: the model, and which task and version this is."""

    model: str | None
    task: str | None
    version: str
    clash: str = ""
    """What the folder and the results file tell differently."""
    broken: str = ""
    """What is wrong with the results file."""


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
            notes = [run.clash, lacking, OWN_FAMILY if any(_stands_alone(line) for line in lines) else ""]
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
            name = made(source, WHAT, options.keep_going, partial(_filter, line, wanted))
            if isinstance(name, LeftOut):
                yield name
            elif name != wanted:
                yield LeftOut(source, f"other filter: {name or 'unnamed'}")
            elif options.rescored and _repeats_replies(line, first_digests):
                yield LeftOut(source, "other filter: unnamed")
            else:
                make = partial(_records, file, source, line, run, options)
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


def _filter(line: dict[str, Any], wanted: str = NO_FILTER) -> str:
    """Name of a line's filter; a line without one is broken where the lines of its file name theirs."""
    name = line.get("filter", NO_FILTER)
    if not isinstance(name, str) or (wanted and not name):
        raise TypeError(f"its filter is {name!r}")
    return name


def _named_filter(line: dict[str, Any]) -> str | None:
    try:
        return _filter(line)
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
        most_replies = max(most_replies, len(_replies(line) or ()))
        key, replies, whole_line = _document(line), digest(line["resps"]), digest(line)
        first = seen.setdefault((name, key), (replies, whole_line))
        if first[0] == replies and first[1] != whole_line:
            doubled = doubled or key
    if len(filters) > 1:
        filters.pop(NO_FILTER, None)
    return Overview(tuple(filters), most_replies, doubled)


def _document(line: dict[str, Any]) -> str:
    return str(line.get("doc_id"))


def _stands_alone(line: dict[str, Any]) -> bool:
    """Whether no field of the document tells of others that it belongs to."""
    doc = line.get("doc")
    return isinstance(doc, dict) and not any(TELLS_OF_OTHERS.search(str(name)) for name in doc)


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


def _records(
    file: RunFile, source: str, line: dict[str, Any], run: Run, options: ReadOptions
) -> Iterator[Record | LeftOut]:
    missing = [key for key in ("doc_id", "resps") if key not in line]
    resps = line.get("resps")
    if not missing and isinstance(resps, list) and resps:
        item = id_of(line["doc_id"], "doc_id")
        common = {
            "item": item, "model": run.model, "study": run.task, "doc_hash": line.get("doc_hash"),
            "family": item if _stands_alone(line) else None,
            **identified(_prompt(line)),
        }  # fmt: skip
        identity = digest(file.content_sha256, line)
        replies, choices = _replies(line), _log_likelihoods(line)
        if replies is not None and _is_rolling(line):
            yield LeftOut(source, "rolling log-likelihood: no score of one document")
            return
        if replies is not None and len(replies) > 1 and not options.rescored:
            yield _filtered(source, line, replies, common, identity)
            return
        if replies is not None:
            yield from _generated(source, line, replies, common, identity)
            return
        if choices is not None:
            yield _chosen(source, line, choices, common, identity)
            return
    found = f"lacks {listed(missing)}" if missing else f"has `resps` of another form: {str(resps)[:60]}"
    if not options.keep_going:
        raise ReadError(
            f"{source} must hold the replies of one request a document, or one log-likelihood a choice, but "
            f"{found}. Pass keep_going=True to leave such lines out and count them."
        )
    yield LeftOut(source, "replies of another form")


def _prompt(line: dict[str, Any]) -> Any:
    """What was put to the model: a text, or for a chat a list that holds the messages as one JSON text."""
    asked = dig(line, "arguments", "gen_args_0", "arg_0")
    return asked[0] if isinstance(asked, list) and len(asked) == 1 else asked


def _place(line: dict[str, Any], common: dict[str, Any]) -> Place:
    """Which document this is, by its place in the data set and by what it holds (since 0.4.3)."""
    hashes = [str(line[name]) for name in ("doc_hash", "target_hash") if line.get(name)]
    content = " ".join(hashes) if line.get("doc_hash") else ""
    return place_of("doc_id", common["item"], common["study"], content, "doc_hash")


def _replies(line: dict[str, Any]) -> list[str] | None:
    """All replies to the one request of a generating task, else None."""
    resps = line.get("resps")
    if not isinstance(resps, list) or len(resps) != 1:
        return None
    replies = resps[0] if isinstance(resps[0], list) else resps
    settings = dig(line, "arguments", "gen_args_0", "arg_1")
    if not isinstance(settings, dict) and _is_pair(replies):
        return None
    return replies if replies and all(isinstance(reply, str) for reply in replies) else None


def _is_pair(value: list[Any]) -> bool:
    return len(value) == 2 and str(value[1]) in ("True", "False") and _number(value[0]) is not None


def _is_rolling(line: dict[str, Any]) -> bool:
    """Whether the texts are log-likelihoods of whole documents, whose metrics are no scores."""
    metrics = line.get("metrics")
    return bool(metrics) and isinstance(metrics, list) and NOT_SCORES.issuperset(map(str, metrics))


def _generated(
    source: str, line: dict[str, Any], replies: list[str], common: dict[str, Any], identity: str
) -> Iterator[Record]:
    """Yield one record a reply; the line's scores are of one value, so they are kept for a single reply."""
    alone = len(replies) == 1
    filtered = line.get("filtered_resps")
    found = filtered[0] if alone and isinstance(filtered, list) and filtered else None
    for repeat, text in enumerate(replies):
        status = "empty" if not text.strip() else "unparsed" if found == NO_MATCH else ANSWERED
        fields = {
            **common,
            "repeat": repeat,
            "status": status,
            "reason": suspected(text, _stops(line)) if status == ANSWERED else None,
            "response": text,
            "answer": found if isinstance(found, str) and status == ANSWERED else None,
            "gold": _text(line.get("target")),
        }
        where = source if alone else f"{source}:reply {repeat}"
        scores = _scores(line) if alone else {}
        place = _place(line, common)
        yield Record(where, _present(fields), scores, line, digest(identity, repeat), place)


def _stops(line: dict[str, Any]) -> list[str]:
    """Texts at which the harness ends a reply."""
    until = dig(line, "arguments", "gen_args_0", "arg_1", "until")
    return [stop for stop in (until if isinstance(until, list) else [until]) if isinstance(stop, str)]


def _filtered(
    source: str, line: dict[str, Any], replies: list[str], common: dict[str, Any], identity: str
) -> Record:
    """Give the one record of a document with several replies: what the filter made of them, and its score."""
    found = line.get("filtered_resps")
    value = found[0] if isinstance(found, list) and found else None
    empty = not any(reply.strip() for reply in replies)
    status = "empty" if empty else "unparsed" if value == NO_MATCH else ANSWERED
    fields = {
        **common,
        "repeat": 0,
        "status": status,
        "answer": value if isinstance(value, str) and status == ANSWERED else None,
        "gold": _text(line.get("target")),
        "replies": len(replies),
        "scored_by": f"score of {len(replies)} replies by {_filter(line)}",
    }
    return Record(source, _present(fields), _scores(line), line, identity, _place(line, common))


def _chosen(
    source: str, line: dict[str, Any], choices: list[float], common: dict[str, Any], identity: str
) -> Record:
    """Give the record of a multiple-choice document: the likeliest choice and its softmax probability."""
    if any(math.isnan(value) for value in choices):
        fields = {**common, **words("lm_eval", "log-likelihood")["NaN"]._asdict()}
        return Record(source, _present(fields), {}, line, identity, _place(line, common))
    names = _choice_names(line, len(choices))
    best, probability = likeliest(choices)
    target = _text(line.get("target"))
    if target is not None and target.isdecimal() and int(target) < len(choices) > 1:
        target = names[int(target)]
    fields = {**common, "status": ANSWERED, "gold": target}
    if len(choices) > 1:
        fields |= {"answer": names[best], "response": names[best], "confidence": probability}
    return Record(source, _present(fields), _scores(line), line, identity, _place(line, common))


def _log_likelihoods(line: dict[str, Any]) -> list[float] | None:
    values = []
    for resp in line["resps"]:
        pair = resp[0] if isinstance(resp, list) and len(resp) == 1 else resp
        if not isinstance(pair, list) or not _is_pair(pair):
            return None
        values.append(_number(pair[0]))
    return [value for value in values if value is not None]


def _number(value: Any) -> float | None:
    """Read a log-likelihood, which the harness writes as a number or as its text."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _choice_names(line: dict[str, Any], count: int) -> list[str]:
    """Texts of the choices: of the document, else the scored continuations, else their positions."""
    choices = dig(line, "doc", "choices")
    choices = dig(choices, "text") if isinstance(choices, dict) else choices
    continuations = [dig(line, "arguments", f"gen_args_{number}", "arg_1") for number in range(count)]
    for names in (choices, continuations):
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            stripped = [name.strip() for name in names]
            if len(set(stripped)) == len(stripped) == count:
                return stripped
    return [str(number) for number in range(count)]


def _scores(line: dict[str, Any]) -> dict[str, float | None]:
    """Numbers of one document; pairs and texts (F1, perplexity) are none. NaN stays, to be counted."""
    metrics = line.get("metrics")
    names = metrics if isinstance(metrics, list) else [key for key in line if key not in KNOWN_KEYS]
    found = {str(name): line.get(str(name)) for name in names if str(name) not in NOT_SCORES}
    return {
        name: value if value != value else real(value)
        for name, value in found.items()
        if isinstance(value, bool | int | float)
    }


def _text(target: Any) -> str | None:
    if target is None or isinstance(target, str):
        return target
    return json.dumps(target, ensure_ascii=False)


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
