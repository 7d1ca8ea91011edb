"""Results of Anthropic Message Batches: one line a request, in any order.

A result says how its request ended, but not what was asked, and a failed one not even of which model: that
is taken from the file of requests beside it, or from the replies, where they are all of one model.

Source: types ``MessageBatchIndividualResponse`` and ``Message`` of the PyPI package anthropic 2.14.0.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from types import UnionType
from typing import Any

from pairstats.errors import ReadError, listed
from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile, digest
from pairstats.readers.each import expect, id_of, made
from pairstats.readers.jsonlines import dig, first_objects, objects, whole
from pairstats.readers.outline import outline
from pairstats.readers.prompts import identified
from pairstats.readers.requests import ASKED, NO_ANSWER, NOTE, UNSERVED, alias_note, only_ones
from pairstats.readers.rowlog import present
from pairstats.readers.states import STOP, State, cut, failed, told, words
from pairstats.schema import ANSWERED

Json = dict[str, Any]

_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
WHAT = "a result or a request of a batch"
_MESSAGE: dict[str, type | UnionType] = {"content": str | list, "stop_reason": str, "model": str}
"""Kinds of the values without which a reply is none; others of a wrong kind are unknown."""
_BESIDE = ("requests", "request", "input")
"""Words that stand for ``results`` in the name of the file of requests."""


@dataclass(frozen=True, slots=True)
class Models:
    """Who was asked.

    Attributes
    ----------
    by_request : dict of str to str
        Model by custom id, from the file of requests.
    only : str or None
        The model of every reply in the file, if there is one.
    served : dict of str to str
        By a model that was asked for, the one that answered throughout: a dated version of an alias.
    """

    by_request: dict[str, str] = field(default_factory=dict)
    only: str | None = None
    served: dict[str, str] = field(default_factory=dict)

    def of_failed(self, item: str) -> tuple[Json, str]:
        """Model of a request without a reply, in fields, and what the ledger must say of it."""
        asked = self.by_request.get(item)
        if asked is None:
            return {"model": self.only}, ""
        if asked not in self.served:
            return {"model": asked, UNSERVED: asked}, ""
        return {"model": self.served[asked]}, alias_note(asked, self.served[asked])


@dataclass(frozen=True, slots=True)
class AnthropicReader:
    """Reader of Anthropic Message Batches results."""

    name: str = "anthropic"

    def recognize(self, file: RunFile) -> Recognized | Declined:
        """Look for lines with a custom id and a result of a known type, or for requests."""
        if outline(file).kind == "object":
            lines = first_objects(file)
            if any(_is_result(line) for line in lines):
                return Recognized("batch results")
            if any(_is_request(line) for line in lines):
                return Recognized("batch requests", note=NOTE)
            if _holds_requests(file.head):
                return Recognized("batch requests", companion="batch requests: asked, without replies")
        return Declined(
            "no line has a 'custom_id' and a 'result' that succeeded, errored, expired or canceled"
        )

    def read(self, file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
        """Yield one record a result."""
        models = _models(file)
        for number, line in objects(file, keep_going=options.keep_going):
            source = f"{file.shown}:{number}"
            if isinstance(line, LeftOut):
                yield line
            elif _is_result(line):
                yield made(source, WHAT, options.keep_going, partial(_record, file, source, line, models))
            elif _is_request(line):
                yield made(source, WHAT, options.keep_going, partial(_request, file, source, line))
            elif options.keep_going:
                yield LeftOut(source, "not a result of a batch")
            else:
                raise ReadError(
                    f"{source} must hold a 'custom_id' and a 'result', but has the keys {listed(line, 8)}. "
                    "Remove the line, or pass keep_going=True to leave such lines out and count them."
                )


READER = AnthropicReader()


def _is_result(line: Json) -> bool:
    kind = dig(line, "result", "type")
    if "custom_id" not in line or not isinstance(kind, str):
        return False
    if kind == "succeeded":
        return "message" in line["result"]
    return kind == "errored" or kind in words("anthropic", "result.type")


def _is_request(line: Json) -> bool:
    params = line.get("params")
    return "custom_id" in line and isinstance(params, dict) and "model" in params


def _request(file: RunFile, source: str, line: Json) -> Record:
    """Give a request, which is a row where no file answers it."""
    asked = line["params"]
    system = [{"role": "system", "content": asked["system"]}] if asked.get("system") else []
    messages = asked.get("messages")
    prompt = [*system, *messages] if isinstance(messages, list) else None
    fields = {
        "item": id_of(line["custom_id"], "custom_id"), "model": asked["model"], ASKED: str(asked["model"]),
        "status": "absent", "reason": NO_ANSWER, **identified(prompt),
    }  # fmt: skip
    return Record(source, present(fields), {}, line, digest(file.content_sha256, line))


def _holds_requests(head: bytes) -> bool:
    start = rb'^\s*\{\s*"requests"\s*:\s*\[\s*\{\s*"(custom_id|params)"\s*:'
    return re.match(start, head) is not None and b'"params"' in head


def _models(file: RunFile) -> Models:
    served: dict[str, str] = {}
    nameless = False
    for _, line in objects(file, keep_going=True):
        if isinstance(line, dict) and _is_result(line):
            name = dig(line, "result", "message", "model")
            if isinstance(name, str) and name:
                served[str(line["custom_id"])] = name
            else:
                nameless = True
    models = set(served.values())
    by_request = _asked(file) if nameless else {}
    by_asked: dict[str, set[str]] = defaultdict(set)
    for item, name in served.items():
        if item in by_request:
            by_asked[by_request[item]].add(name)
    return Models(by_request, models.pop() if len(models) == 1 else None, only_ones(by_asked))


def _asked(file: RunFile) -> dict[str, str]:
    """Models of the file of requests that lies beside a file of results and is named like it."""
    for word in _BESIDE:
        path = file.path.with_name(re.sub("results?|output", word, file.path.name))
        if path == file.path or not path.is_file():
            continue
        beside = RunFile(path, path.name)
        lines = [line for _, line in objects(beside, keep_going=True) if isinstance(line, dict)]
        return {
            str(line["custom_id"]): line["params"]["model"]
            for line in lines
            if _is_request(line) and isinstance(line["params"]["model"], str)
        }
    return {}


def _record(file: RunFile, source: str, line: Json, models: Models) -> Record:
    message = dig(line, "result", "message")
    if line["result"]["type"] == "succeeded":
        expect(message, "message", _MESSAGE)
    item = id_of(line["custom_id"], "custom_id")
    text = _text(dig(message, "content"))
    status, reason = _status(line["result"], text)
    served = dig(message, "model")
    model, note = ({"model": served}, "") if served else models.of_failed(item)
    fields = {
        "item": item,
        **model,
        "status": status,
        "reason": reason,
        "response": text,
        **identified(None, dig(message, "id")),
        "input_tokens": _total(dig(message, "usage"), _READ),
        "output_tokens": _total(dig(message, "usage"), ("output_tokens",)),
    }
    response_id = dig(message, "id")
    identity = digest(response_id, item) if response_id else digest(file.content_sha256, line)
    return Record(source, present(fields), {}, line, identity, note=note)


def _status(result: Json, text: str | None) -> tuple[str, str | None]:
    """Status and reason; a reply that ran into a limit counts as answered while it holds text."""
    if result["type"] == "errored":
        return _failure(result.get("error"))
    ended = told("anthropic", "result.type", result["type"])
    ended = ended or told("anthropic", STOP, dig(result, "message", "stop_reason"))
    return cut(ended, text) if ended else (ANSWERED if text else "empty", None)


def _failure(error: Any) -> State:
    """State of a failed request; some clients drop the outer shell of the error."""
    inner = dig(error, "error") if isinstance(dig(error, "error"), dict) else error
    kind = dig(inner, "type")
    message = json.dumps(inner, default=str)
    found = failed(message, "unknown")
    if found.status == "refused":
        return found  # a filter's block has the type of an invalid request
    found = told("anthropic", "result.error.type", kind, message) or found
    return State("error", "invalid_request") if found.reason == "context" else found


def _text(content: Any) -> str | None:
    """Text of a message without its thinking; a tool call is its own text where there is no other."""
    if isinstance(content, str):
        return content if content.strip() else None
    blocks = content if isinstance(content, list) else []
    for block in blocks:
        expect(block, "content", {"type": str, "text": str})
    spoken = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    text = "".join(spoken)
    if text.strip():
        return text
    called = [block for block in blocks if block.get("type") == "tool_use"]
    return json.dumps(called, ensure_ascii=False) if called else None


def _total(usage: Any, names: tuple[str, ...]) -> int | None:
    known = [count for name in names if (count := whole(dig(usage, name))) is not None]
    return sum(known) if known else None
