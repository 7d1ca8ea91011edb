"""What a completion, a response or an error of the OpenAI API says: replies, status, usage, reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pairstats.readers.each import expect
from pairstats.readers.jsonlines import dig, real, whole
from pairstats.readers.reasons import error_reason
from pairstats.readers.states import OTHER, STOP, cut, failed, told, words
from pairstats.schema import ANSWERED

Json = dict[str, Any]

TOKENS = {
    "input_tokens": ("prompt_tokens", "input_tokens"),
    "output_tokens": ("completion_tokens", "output_tokens"),
}
"""Column, and where a completion or a response has it."""
_COMPLETIONS = ("chat.completion", "text_completion")
REFUSED = ("content_filter", "refusal")
"""Reasons of failed calls that the model, or a filter before it, refused."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One choice of a completion."""

    index: int
    text: str | None
    refusal: str | None
    finish: str


def has_reply(body: Json) -> bool:
    """Whether a body is a completion or a response, and no other endpoint's object, or a question with choices."""
    choices, kind = body.get("choices"), body.get("object")
    if isinstance(choices, list):
        return all(isinstance(each, dict) for each in choices) or kind in _COMPLETIONS
    return kind == "response" and isinstance(body.get("output"), list)


def failure_of(line: Json, response: Any, body: Json) -> str:
    """Name why a call gave no reply; empty if it gave one, ``"not a reply"`` for other endpoints."""
    status = whole(dig(response, "status_code"))
    error = line.get("error") or body.get("error")
    if (status is not None and status >= 400) or error:
        return _reason(status, error)
    if ended := words("openai", "status").get(str(body.get("status"))):
        return str(ended.reason)
    if not body:
        return "no_response"
    if not has_reply(body):
        return "not a reply"
    if body.get("choices") == []:
        return "no_choices"
    broken = [_finish(choice) == "error" for choice in choices_of(body)]
    return "server_error" if broken and all(broken) else ""


def _finish(choice: Any) -> str:
    return "error" if dig(choice, "error") else str(dig(choice, "finish_reason") or "")


def choices_of(body: Json) -> list[Any]:
    """List the choices of a completion, none for what is no completion."""
    choices = body.get("choices")
    return choices if isinstance(choices, list) else []


def _reason(status: int | None, error: Any) -> str:
    """Reason of a failure: its own word first, for a filter or an expiry, then the status code."""
    inner = error.get("error", error) if isinstance(error, dict) else error
    parts = [inner] if isinstance(inner, str) else [dig(inner, key) for key in ("code", "type", "message")]
    text = " ".join(str(part) for part in parts if part is not None)
    own = next((state.reason for word, state in words("openai", "error.code").items() if word in text), None)
    told_by_words = failed(text, "")
    if own or told_by_words.status == "refused":
        return own or str(told_by_words.reason)
    codes = (status, *(dig(inner, key) for key in ("status_code", "status", "code")))
    code = next((c for c in map(whole, codes) if c is not None and c >= 400), None)
    named = _reason_of_code(code) if code else error_reason(text, "unknown")
    return "invalid_request" if named == "context" else named


def _reason_of_code(code: int) -> str:
    known = words("openai", "status_code")
    return str(known.get(str(code), known["4xx" if code < 500 else "5xx"]).reason)


def replies_of(body: Json) -> Iterator[Reply]:
    """Yield the reply of every choice; a tool call is its own text where there is no other."""
    expect(body, "completion", {"model": str})
    for position, choice in enumerate(choices_of(body)):
        expect(choice, "choice", {"message": dict, "text": str, "finish_reason": str})
        expect(choice.get("message") or {}, "message", {"content": str | list, "refusal": str})
        message = dig(choice, "message")
        content = dig(choice, "text") if message is None else dig(message, "content")
        text, refusal = _text(content)
        called = dig(message, "tool_calls") or dig(message, "function_call")
        if not text and called:
            text = json.dumps(called, ensure_ascii=False)
        index = whole(dig(choice, "index"))
        refused = dig(message, "refusal") or refusal
        yield Reply(position if index is None else index, text, refused, _finish(choice))
    if "choices" not in body:
        for entry in body["output"]:
            expect(entry, "output", {"content": str | list})
        contents = [entry.get("content") for entry in body["output"]]
        text, refusal = _text([part for content in contents if isinstance(content, list) for part in content])
        calls = [entry for entry in body["output"] if str(dig(entry, "type")).endswith("_call")]
        if not text and calls:
            text = json.dumps(calls, ensure_ascii=False)
        why = dig(body, "incomplete_details", "reason") or (
            body.get("status") == "incomplete" and "incomplete"
        )
        yield Reply(0, text, refusal, str(why or ""))


def _text(content: Any) -> tuple[str | None, str | None]:
    """Text and refusal of a message's content, which is a text or a list of parts."""
    if not isinstance(content, list):
        return (content if isinstance(content, str) else None), None
    for part in content:
        expect(part, "content", {"text": str, "refusal": str})
    spoken = [part for part in content if dig(part, "type") in (None, "text", "output_text")]
    texts = [part["text"] for part in spoken if isinstance(dig(part, "text"), str)]
    refusals = [part["refusal"] for part in content if isinstance(dig(part, "refusal"), str)]
    return "".join(texts) or None, "".join(refusals) or None


def status_of(reply: Reply) -> tuple[str, str | None]:
    """Status and reason; a reply that hit its length limit counts as answered while it holds text."""
    ended, filled = told("openai", STOP, reply.finish), bool(reply.text and reply.text.strip())
    if ended and ended.status != "truncated":
        return ended
    if reply.refusal:
        status, reason = words("openai", "message.refusal")[OTHER]
        return status, "length" if ended else reason
    return cut(ended, filled) if ended else (ANSWERED if filled else "empty", None)


def usage_of(line: Json, body: Json) -> Json:
    """Give tokens and cost of a call."""
    usage = body.get("usage")
    found: Json = {
        name: next((n for key in keys if (n := whole(dig(usage, key))) is not None), None)
        for name, keys in TOKENS.items()
    }
    costs = (line.get("cost_usd"), dig(usage, "cost"))
    found["cost_usd"] = next((cost for cost in map(real, costs) if cost is not None), None)
    return found
