"""One Kaggle Benchmarks run: what became of it, what was answered, and how it was scored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pairstats.readers.base import digest
from pairstats.readers.cut import LENGTH_SUSPECTED, looks_cut
from pairstats.readers.each import expect
from pairstats.readers.jsonlines import dig, real, whole
from pairstats.readers.prompts import identified
from pairstats.readers.states import State, broken, told, words
from pairstats.schema import ANSWERED

Json = dict[str, Any]

STATE = "BENCHMARK_TASK_RUN_STATE_"
RESULT = "result"
"""Name of a score that is one value; a task that returns a map names its own."""
REPLY_NOT_STORED = "reply_not_stored"

_ASSISTANT = "CONTENT_ROLE_ASSISTANT"
_USER = "CONTENT_ROLE_USER"


def state_of(run: Json) -> str:
    """State of a run without its prefix; protobuf drops the default, which is ``UNSPECIFIED``."""
    return str(run.get("state") or "UNSPECIFIED").removeprefix(STATE)


def slug_of(run: Json) -> str | None:
    """Model as it was asked for: provider, name and version."""
    slug = dig(run, "modelVersion", "slug")
    return slug if isinstance(slug, str) and slug else None


def task_of(run: Json) -> str | None:
    """Name of the task, as its author wrote it."""
    name = dig(run, "taskVersion", "name")
    return name if isinstance(name, str) and name else None


def subruns_of(run: Json) -> list[Any]:
    """Runs of other tasks inside a run."""
    expect({"subruns": run.get("subruns") or None}, "run", {"subruns": list})
    return _list(run.get("subruns"))


def is_total(run: Json, inner: int) -> bool:
    """Whether a run only sums up its subruns, of which there are so many: no model replied in it."""
    return inner > 0 and not any(_replies(run))


def identity_of(run: Json) -> str:
    """Name a run by its conversations and times, which no two runs share.

    Returns
    -------
    str
        Empty where a merged file kept none of them: two such runs may look alike and still be two.
    """
    chats = [dig(chat, "id") for chat in _list(run.get("conversations"))]
    if not any(chats):
        return ""
    return digest(task_of(run), slug_of(run), chats, run.get("startTime"), run.get("pyRunId"))


def fields_of(run: Json) -> Json:
    """Give the schema columns that a run determines.

    Parameters
    ----------
    run : dict

    Returns
    -------
    dict
        Without the item, which no run file holds. The reply is the model's last one in the first chat
        that has any: chats of a judge follow it.
    """
    text = response_of(run)
    status, reason = _status(run, text)
    return {
        "study": task_of(run),
        "model": slug_of(run),
        "status": status,
        "reason": reason,
        "response": text,
        **identified(prompt_of(run) if len(_made(run)) < 2 else None),
        **_usage(run),
    }


def prompt_of(run: Json) -> str | None:
    """Text of the last thing that was asked in the first chat: the item, after any worked examples."""
    contents = [each for request in _requests(_first_chat(run)) for each in _list(request.get("contents"))]
    asked = [content for content in contents if dig(content, "role") == _USER]
    return _text(asked[-1]) if asked else None


def _made(run: Json) -> list[Json]:
    """Requests of the first chat that a model answered; more than one are turns, whose prompts depend on it."""
    return [request for request in _requests(_first_chat(run)) if request.get("metrics")]


def response_of(run: Json) -> str | None:
    """Text of the model's last reply; None where there is none.

    A failed run ends on the request that failed, and versions before 0.6.2 drop even that, so that the last
    reply may be a worked example: only one with a token count was made by a model.
    """
    chat = _first_chat(run)
    requests = _requests(chat)
    if state_of(run) == "ERRORED":
        requests = [request for request in requests[-1:] if request.get("metrics")]
    replies = [content for request in requests for content in _said(request)]
    own = [content for content in replies if dig(content, "senderName") == slug_of(run)]
    chosen = (own or replies)[-1:]
    return _decoded(_text(chosen[0])) if chosen else None


def scores_of(run: Json) -> dict[str, float | None]:
    """Scores of a run by name.

    Returns
    -------
    dict of str to float or None
        ``"result"`` for a truth value or a number (0.0 where protobuf dropped it); the numbers and truth
        values of a map by their keys, nested ones with a dot. The second number of a pair, which the
        platform shows as a confidence interval, may be anything and is no score. What a failed run stores
        (always false) is returned too, for the caller to ignore and count.
    """
    found: dict[str, float | None] = {}
    for entry in _list(run.get("results")):
        kind = dig(entry, "type") or "AGGREGATED"
        if not isinstance(entry, dict) or not isinstance(kind, str):
            continue
        name = RESULT if kind == "AGGREGATED" else f"{RESULT}_{kind.lower()}"
        if "booleanResult" in entry:
            found[name] = real(entry["booleanResult"])
        elif isinstance(entry.get("numericResult"), dict):
            value = entry["numericResult"].get("value", 0.0)
            found[name] = value if value != value else real(value)
        elif isinstance(entry.get("dictResult"), dict):
            found |= dict(_numbers(entry["dictResult"]))
    return found


def _numbers(values: Json, prefix: str = "") -> Iterator[tuple[str, float | None]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _numbers(value, f"{prefix}{key}.")
        elif isinstance(value, bool | int | float):
            yield f"{prefix}{key}", value if value != value else real(value)


def _status(run: Json, text: str | None) -> tuple[str, str | None]:
    """State first: what a failed run stores as its result says nothing of the model."""
    state = state_of(run)
    if state == "ERRORED":
        return _failure(str(run.get("errorMessage") or ""))
    if state != "COMPLETED" and (ended := told("kaggle", "state", state)):
        return ended
    if text is None:
        return ANSWERED, REPLY_NOT_STORED
    if not text.strip():
        return "empty", None
    return ANSWERED, LENGTH_SUSPECTED if looks_cut(text) else None


def _failure(traceback: str) -> State:
    """State of a failed run from the last exception of its traceback, without the frames."""
    lines = traceback.strip().split("\n")
    frames = [number for number, line in enumerate(lines) if line.startswith("  ")]
    message = "\n".join(lines[frames[-1] + 1 :] if frames else lines)
    for name, state in words("kaggle", "last exception").items():
        if name in message:
            return state
    found = broken("kaggle", message, "state")
    return State("error", "invalid_request") if found.reason == "context" else found  # the call was rejected


def _usage(run: Json) -> Json:
    """Tokens, cost and latency of the model's own requests; zeros are dropped on disk, so absent is unknown."""
    chats = [_requests(chat) for chat in _list(run.get("conversations"))]
    own = [
        request["metrics"]
        for request in (request for requests in chats for request in requests)
        if isinstance(request.get("metrics"), dict)
        and all(dig(content, "senderName") in (None, slug_of(run)) for content in _said(request))
    ]
    read, wrote = _total(own, "inputTokens"), _total(own, "outputTokens")
    costs = [_total(own, f"{kind}TokensCostNanodollars") for kind in ("input", "output")]
    known = [cost for cost in costs if cost is not None]
    latency = _total(own, "totalBackendLatencyMs")
    return {
        "input_tokens": whole(read),
        "output_tokens": whole(wrote),
        "cost_usd": sum(known) / 1e9 if known else None,
        "latency_s": None if latency is None else latency / 1000,
    }


def _total(metrics: list[Json], name: str) -> float | None:
    values = [_number(each[name]) for each in metrics if each.get(name) is not None]
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _number(value: Any) -> float | None:
    """Read a count, which protobuf writes as text where it has 64 bits."""
    if isinstance(value, str):
        try:
            return real(float(value))
        except ValueError:
            return None
    return None if isinstance(value, bool) else real(value)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _requests(chat: Any) -> list[Json]:
    return [request for request in _list(dig(chat, "requests")) if isinstance(request, dict)]


def _first_chat(run: Json) -> Any:
    chats = _list(run.get("conversations"))
    return next((chat for chat in chats if _requests(chat)), None)


def _said(request: Json) -> list[Any]:
    return [content for content in _list(request.get("contents")) if dig(content, "role") == _ASSISTANT]


def _replies(run: Json) -> Iterator[Any]:
    for chat in _list(run.get("conversations")):
        for request in _requests(chat):
            yield from _said(request)


def _text(content: Any) -> str:
    expect(content, "content", {"parts": list})
    for part in content.get("parts") or []:
        expect(part, "part", {"text": str})
    parts = [dig(part, "text") for part in _list(dig(content, "parts"))]
    return "".join(part for part in parts if isinstance(part, str))


def _decoded(text: str) -> str:
    """Undo the second encoding of structured replies, which are JSON text within JSON text."""
    if text[:2] not in ('"{', '"['):
        return text
    try:
        inner = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return inner if isinstance(inner, str) else text
