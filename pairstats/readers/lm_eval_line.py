"""Lines of lm-evaluation-harness samples: the replies to a document, or its log-likelihoods, as records."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pairstats.errors import ReadError, listed
from pairstats.readers.base import LeftOut, ReadOptions, Record, RunFile, digest
from pairstats.readers.cut import suspected
from pairstats.readers.each import id_of
from pairstats.readers.jsonlines import dig, real
from pairstats.readers.likelihoods import likeliest, other_choice
from pairstats.readers.place import Place, place_of
from pairstats.readers.prompts import identified
from pairstats.readers.states import words
from pairstats.schema import ANSWERED

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
TELLS_OF_OTHERS = re.compile(
    r"famil|variant|group|cluster|pair|parent|perturb|original|rephras|paraphras|translat|passage|context|"
    r"story|source|base_|template|counterfactual|subject|(^|_)(lang|seed|copy|version)",
    re.IGNORECASE,
)
"""Names of document fields that say, or may say, that several documents are copies of one question."""


_MUTUAL = "acc_mutual_info"
NO_FILTER = ""


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


def stands_alone(line: dict[str, Any]) -> bool:
    """Whether no field of the document tells of others that it belongs to."""
    doc = line.get("doc")
    return isinstance(doc, dict) and not any(TELLS_OF_OTHERS.search(str(name)) for name in doc)


def filter_of(line: dict[str, Any], wanted: str = NO_FILTER) -> str:
    """Name of a line's filter; a line without one is broken where the lines of its file name theirs."""
    name = line.get("filter", NO_FILTER)
    if not isinstance(name, str) or (wanted and not name):
        raise TypeError(f"its filter is {name!r}")
    return name


def records_of(
    file: RunFile, source: str, line: dict[str, Any], run: Run, options: ReadOptions
) -> Iterator[Record | LeftOut]:
    """Yield the record of every reply of a line, or the one of its log-likelihoods."""
    missing = [key for key in ("doc_id", "resps") if key not in line]
    resps = line.get("resps")
    if not missing and isinstance(resps, list) and resps:
        item = id_of(line["doc_id"], "doc_id")
        common = {
            "item": item, "model": run.model, "study": run.task, "doc_hash": line.get("doc_hash"),
            "family": item if stands_alone(line) else None,
            **identified(_prompt(line)),
        }  # fmt: skip
        identity = digest(file.content_sha256, line)
        replies, choices = replies_of(line), _log_likelihoods(line)
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
            yield _chosen(source, line, choices, common, identity, options.score)
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


def replies_of(line: dict[str, Any]) -> list[str] | None:
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
        "scored_by": f"score of {len(replies)} replies by {filter_of(line)}",
    }
    return Record(source, _present(fields), _scores(line), line, identity, _place(line, common))


def _chosen(
    source: str, line: dict[str, Any], choices: list[float], common: dict[str, Any], identity: str,
    wanted: str | None,
) -> Record:  # fmt: skip
    """Give the record of a multiple-choice document: the likeliest choice and its softmax probability."""
    scores, place = _scores(line), _place(line, common)
    if any(math.isnan(value) for value in choices):
        fields = {**common, **words("lm_eval", "log-likelihood")["NaN"]._asdict()}
        return Record(source, _present(fields), {}, line, identity, place)
    if _MUTUAL in scores and len(choices) % 2 == 0:
        choices = choices[: len(choices) // 2]  # the rest are those without the question
    names = _choice_names(line, len(choices))
    best, probability = likeliest(choices)
    fields = {**common, "status": ANSWERED, "gold": _key(line, names, names[best], scores)}
    note = other_choice(wanted, scores) if len(choices) > 1 else ""
    if len(choices) > 1 and not note:
        fields |= {"answer": names[best], "response": names[best], "confidence": probability}
    return Record(source, _present(fields), scores, line, identity, place, note=note)


def _key(
    line: dict[str, Any], names: list[str], chosen: str, scores: Mapping[str, float | None]
) -> str | None:
    """Text of the right choice, which the harness names by its place, or several of them as JSON."""
    target = _text(line.get("target"))
    if target is None or len(names) < 2:
        return target
    with suppress(ValueError):
        places = json.loads(target)
        several = places if isinstance(places, list) else [places]
        if several and all(type(place) is int and 0 <= place < len(names) for place in several):
            texts = [names[place] for place in several]
            return (
                json.dumps(texts, ensure_ascii=False)
                if len(texts) > 1
                else _told_apart(texts[0], target, names, chosen, scores)
            )
    return target


def _told_apart(
    by_place: str, by_text: str, names: list[str], chosen: str, scores: Mapping[str, float | None]
) -> str:
    """Choose between a place and the text of another choice: the one by which the harness's accuracy is right."""
    right = scores.get("acc")
    if by_text not in names or right is None:
        return by_place
    fits = [key for key in (by_place, by_text) if (key == chosen) == bool(right)]
    return fits[0] if fits else by_place


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
