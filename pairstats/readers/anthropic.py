"""Results of Anthropic Message Batches: one line a request, in any order.

A result says how its request ended, but not what was asked, and a failed one not even of which model: that
is taken from the file of requests beside it, or from the replies, where they are all of one model.

Source: types ``MessageBatchIndividualResponse`` and ``Message`` of the PyPI package anthropic 2.14.0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pairstats.errors import ReadError, listed
from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile, digest
from pairstats.readers.jsonlines import dig, first_objects, objects, whole
from pairstats.readers.outline import outline
from pairstats.readers.prompts import identified
from pairstats.readers.reasons import error_reason
from pairstats.readers.requests import ASKED, NO_ANSWER, NOTE
from pairstats.readers.rowlog import present
from pairstats.schema import ANSWERED

Json = dict[str, Any]

FAILURES: dict[str, str] = {
    "rate_limit_error": "rate_limit",
    "overloaded_error": "overloaded",
    "timeout_error": "timeout",
    "api_error": "server_error",
    "invalid_request_error": "invalid_request",
    "request_too_large": "invalid_request",
    "not_found_error": "invalid_request",
    "permission_error": "invalid_request",
    "authentication_error": "invalid_request",
    "billing_error": "invalid_request",
}
"""Error types, and the words of the `reason` column for them."""
NEVER_RAN = {"expired": "batch_expired", "canceled": "batch_cancelled"}
"""Results of requests that were never sent to a model."""
LIMITS = {"max_tokens": "max_tokens", "model_context_window_exceeded": "context"}
"""Stop reasons of a reply that ran into a limit."""
_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
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
    """

    by_request: dict[str, str] = field(default_factory=dict)
    only: str | None = None


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
                yield _record(file, source, line, models)
            elif _is_request(line):
                yield _request(file, source, line)
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
    return kind in ("errored", *NEVER_RAN) or (kind == "succeeded" and "message" in line["result"])


def _is_request(line: Json) -> bool:
    return "custom_id" in line and "model" in (dig(line, "params") or ())


def _request(file: RunFile, source: str, line: Json) -> Record:
    """Give a request, which is a row where no file answers it."""
    asked = line["params"]
    system = [{"role": "system", "content": asked["system"]}] if asked.get("system") else []
    messages = asked.get("messages")
    fields = {
        "item": str(line["custom_id"]), "model": asked["model"], ASKED: str(asked["model"]), "status": "absent",
        "reason": NO_ANSWER, **identified([*system, *messages] if isinstance(messages, list) else None),
    }  # fmt: skip
    return Record(source, present(fields), {}, line, digest(file.content_sha256, line))


def _holds_requests(head: bytes) -> bool:
    start = rb'^\s*\{\s*"requests"\s*:\s*\[\s*\{\s*"(custom_id|params)"\s*:'
    return re.match(start, head) is not None and b'"params"' in head


def _models(file: RunFile) -> Models:
    served: set[str] = set()
    nameless = False
    for _, line in objects(file, keep_going=True):
        if isinstance(line, dict) and _is_result(line):
            name = dig(line, "result", "message", "model")
            if isinstance(name, str) and name:
                served.add(name)
            else:
                nameless = True
    return Models(_asked(file) if nameless else {}, served.pop() if len(served) == 1 else None)


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
    item = str(line["custom_id"])
    text = _text(dig(message, "content"))
    status, reason = _status(line["result"], text)
    fields = {
        "item": item,
        "model": dig(message, "model") or models.by_request.get(item) or models.only,
        "status": status,
        "reason": reason,
        "response": text,
        **identified(None, dig(message, "id")),
        "input_tokens": _total(dig(message, "usage"), _READ),
        "output_tokens": _total(dig(message, "usage"), ("output_tokens",)),
    }
    response_id = dig(message, "id")
    identity = digest(response_id, item) if response_id else digest(file.content_sha256, line)
    return Record(source, present(fields), {}, line, identity)


def _status(result: Json, text: str | None) -> tuple[str, str | None]:
    """Status and reason; a reply that ran into a limit counts as answered while it holds text."""
    kind = result["type"]
    if kind in NEVER_RAN:
        return "error", NEVER_RAN[kind]
    if kind == "errored":
        return "error", _failure(result.get("error"))
    stop = dig(result, "message", "stop_reason")
    if stop == "refusal":
        return "refused", None
    if stop in LIMITS:
        return (ANSWERED, "length") if text else ("truncated", LIMITS[stop])
    if stop == "pause_turn":  # a long turn that the client should have continued
        return (ANSWERED if text else "truncated"), "pause_turn"
    return (ANSWERED if text else "empty"), None


def _failure(error: Any) -> str:
    """Reason of a failed request; some clients drop the outer shell of the error."""
    inner = dig(error, "error") if isinstance(dig(error, "error"), dict) else error
    kind = dig(inner, "type")
    if isinstance(kind, str) and kind in FAILURES:
        return FAILURES[kind]
    named = error_reason(json.dumps(inner, default=str), "unknown")
    return "invalid_request" if named == "context" else named


def _text(content: Any) -> str | None:
    """Text of a message without its thinking; a tool call is its own text where there is no other."""
    if isinstance(content, str):
        return content if content.strip() else None
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    spoken = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    text = "".join(spoken)
    if text.strip():
        return text
    called = [block for block in blocks if block.get("type") == "tool_use"]
    return json.dumps(called, ensure_ascii=False) if called else None


def _total(usage: Any, names: tuple[str, ...]) -> int | None:
    known = [count for name in names if (count := whole(dig(usage, name))) is not None]
    return sum(known) if known else None
