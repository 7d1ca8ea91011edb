"""OpenAI-shaped JSON Lines: client logs, Batch files, bare completions, vLLM run_batch.

One choice is one record. In a log with one attempt a line, the last good attempt of a call is the record; the
others are left out and counted (`openai_attempts`).

Sources: OpenAI API reference (objects ``chat.completion``, ``response``, ``batch``) and the class fields of
vLLM's ``run_batch``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pairstats.errors import ReadError, listed
from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile, digest
from pairstats.readers.each import each_made, expect, made
from pairstats.readers.jsonlines import LONGEST_PROBED, dig, first_objects, objects, real, says_texts, whole
from pairstats.readers.mapping import Path
from pairstats.readers.openai_attempts import ITEM_FIELDS, Attempt, attempt_of, name_of_call, records_of
from pairstats.readers.openai_reply import (
    REFUSED,
    choices_of,
    failure_of,
    has_reply,
    replies_of,
    status_of,
    usage_of,
)
from pairstats.readers.prompts import identified
from pairstats.readers.requests import ASKED, NO_ANSWER, NOTE, UNSERVED, alias_note

GOLD_FIELDS = ("gold", "target", "expected")
SCORE_FIELDS = ("score", "correct", "is_correct")
PROMPTS = ("messages", "input", "prompt")
SCHEMA_WORDS = ("study", "split", "category", "family", "variant", "condition", "run", "platform")
"""Fields of a client log that mean what the paired long format means by them."""

WHAT = "a completion or a failed call"


@dataclass(frozen=True, slots=True)
class Call:
    """One line: one attempt of one call."""

    line: dict[str, Any]
    body: dict[str, Any]
    failure: str
    """Reason why there is no reply; empty if there is one."""

    @property
    def served(self) -> str | None:
        """Model that answered, in its dated version."""
        name = self.body.get("model")
        return name if isinstance(name, str) and name else None

    @property
    def asked(self) -> str | None:
        """Model that was asked for."""
        names = (self.line.get("model"), dig(self.line, "request", "model"))
        return next((name for name in names if isinstance(name, str) and name), None)


@dataclass(frozen=True, slots=True)
class Overview:
    """What one line can't know: the other attempts of its call, and the models of the file."""

    attempts: dict[int, int]
    """Number of attempts by line number, for the lines that become records."""
    served: frozenset[str]
    by_asked: dict[str, frozenset[str]]
    sibling: Mapping[str, str | None]
    """Model, in fields, that a file beside this one tells."""

    def model(self, call: Call) -> tuple[dict[str, Any], str]:
        """Model of a call, in fields, and what the ledger must say of it.

        A failed call goes by the dated name under which its model answered elsewhere.
        """
        if call.served or not call.asked:
            names = frozenset((call.served,)) if call.served else self.served
            return {"model": next(iter(names))} if len(names) == 1 else dict(self.sibling), ""
        names = self.by_asked.get(call.asked, frozenset())
        if len(names) == 1:
            (name,) = names
            return {"model": name}, alias_note(call.asked, name)
        return {"model": call.asked, UNSERVED: None if names else call.asked}, ""


@dataclass(frozen=True, slots=True)
class OpenAIReader:
    """Reader of OpenAI-shaped JSON Lines."""

    name: str = "openai"

    def recognize(self, file: RunFile) -> Recognized | Declined:
        """Say whether lines hold completions, or failures of calls for them."""
        kinds = [kind for line in first_objects(file) if (kind := _kind(line))]
        if not kinds:
            return Declined("no line holds a chat completion or a failed call for one")
        lines = objects(file, keep_going=True, longest=LONGEST_PROBED)
        if set(kinds) == {"failures"} and says_texts(line for _, line in lines):
            return Declined("its responses are texts, and no completions")
        if set(kinds) == {"batch input"}:
            return Recognized("batch input", note=NOTE)
        return Recognized(next((kind for kind in kinds if kind != "failures"), "failures"))

    def read(self, file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
        """Yield one record a choice and one a failed call; superseded attempts are left out."""
        overview = _overview(file, options.apart)
        for number, line in objects(file, keep_going=options.keep_going):
            source = f"{file.shown}:{number}"
            if isinstance(line, LeftOut):
                yield line
            elif _kind(line) == "batch input":
                yield made(source, WHAT, options.keep_going, partial(_request, file, source, line))
            elif (call := _call(line)) is None:
                if not options.keep_going:
                    raise ReadError(_stranger(source, line))
                yield LeftOut(source, "not a completion")
            elif call.failure == "not a reply":
                yield LeftOut(source, f"response of another endpoint (object {call.body.get('object')!r})")
            elif number not in overview.attempts:
                yield LeftOut(source, "superseded attempt")
            elif "repeat" in line and len(choices_of(call.body)) > 1:
                if not options.keep_going:
                    raise ReadError(_numbered_twice(source, call))
                yield LeftOut(source, "several choices and a `repeat`")
            else:
                make = partial(_records, file, source, call, overview, overview.attempts[number])
                yield from each_made(source, WHAT, options.keep_going, make)


READER = OpenAIReader()


def _kind(line: dict[str, Any]) -> str:
    if (
        "custom_id" in line
        and "url" in line
        and isinstance(line.get("body"), dict)
        and "response" not in line
    ):
        return "batch input"
    if "response" not in line:
        kind = "responses" if line.get("object") == "response" else "completions"
        return kind if has_reply(line) else ""
    response, named = line["response"], any(name in line for name in ITEM_FIELDS)
    if isinstance(response, dict) and "status_code" in response:
        failed = line.get("error") or (whole(response["status_code"]) or 0) >= 400
        return "batch output" if isinstance(response.get("body"), dict) or failed else ""
    if isinstance(response, dict) and has_reply(response):
        return "run_batch, flat" if str(line.get("id", "")).startswith("vllm-") else "client log"
    return "failures" if response is None and line.get("error") and named else ""


def _request(file: RunFile, source: str, line: dict[str, Any]) -> Record:
    """Give a line of a batch's input, which is a row where no file answers it."""
    expect(line["body"], "body", {"model": str})
    model = line["body"].get("model")
    prompt = next((line["body"][name] for name in PROMPTS if name in line["body"]), None)
    fields = {
        "item": _first_text(line, ("custom_id",)), "model": model, ASKED: str(model), "status": "absent",
        "reason": NO_ANSWER, **identified(prompt),
    }  # fmt: skip
    return Record(source, _present(fields), {}, line, digest(file.content_sha256, line))


def _stranger(source: str, line: dict[str, Any]) -> str:
    return (
        f"{source} must hold a completion or a failed call, but has the keys {listed(line, 8)}. "
        "Remove the line, or pass keep_going=True to leave such lines out and count them."
    )


def _numbered_twice(source: str, call: Call) -> str:
    return (
        f"{source} must have one choice or no `repeat`, but has {len(choices_of(call.body))} choices and "
        f"repeat {call.line['repeat']!r}. Remove the field, or log one choice a line."
    )


def _call(line: dict[str, Any]) -> Call | None:
    if not _kind(line):
        return None
    response = line.get("response") if "response" in line else line
    body = response
    if "response" in line and isinstance(response, dict) and "status_code" in response:
        body = response.get("body")  # a bare completion may have the code of its call, too
    body = body if isinstance(body, dict) else {}
    return Call(line, body, failure_of(line, response, body))


def _overview(file: RunFile, apart: Iterable[Path]) -> Overview:
    groups: dict[str, list[Attempt]] = defaultdict(list)
    by_asked: dict[str, set[str]] = defaultdict(set)
    served: set[str] = set()
    nameless = False
    for number, line in objects(file, keep_going=True):
        call = None if isinstance(line, LeftOut) else _call(line)
        if call is None or call.failure == "not a reply" or _kind(call.line) == "batch input":
            continue
        attempt = attempt_of(number, call.line, call.body, bool(call.failure), apart)
        groups[name_of_call(number, call.line, apart)].append(attempt)
        nameless = nameless or not (call.served or call.asked)
        if call.served:
            served.add(call.served)
            if call.asked:
                by_asked[call.asked].add(call.served)
    attempts = records_of(groups.values(), one_model=len(served) < 2)
    sibling = _sibling_model(file) if nameless and not served else {"model": None}
    return Overview(
        attempts, frozenset(served), {asked: frozenset(names) for asked, names in by_asked.items()}, sibling
    )


def _sibling_model(file: RunFile) -> dict[str, str | None]:
    """Model of the output or input file beside a Batch error file, which itself names none.

    What the input asked for may be an alias, whose dated name another file tells.
    """
    models: set[str] = set()
    for word in ("output", "input"):
        path = file.path.with_name(re.sub("errors?", word, file.path.name))
        if path != file.path and path.is_file():
            for _, line in objects(RunFile(path, path.name), keep_going=True):
                paths = (("response", "body", "model"), ("response", "model"), ("body", "model"))
                models |= {name for at in paths if isinstance(name := dig(line, *at), str)}
        if models:
            break
    model = models.pop() if len(models) == 1 else None
    return {"model": model, UNSERVED: model if word == "input" else None}


def _records(file: RunFile, source: str, call: Call, overview: Overview, attempts: int) -> Iterator[Record]:
    expect(call.line, "line", {"model": str, "latency_s": int | float, "custom_id": str | int})
    model, note = overview.model(call)
    common = {**model, **_fields(call.line), "attempts": attempts, **_identified(call)}
    raw = call.line if "body" in call.line else {**call.line, "body": call.body}
    if call.failure:
        status = "refused" if call.failure in REFUSED else "error"
        fields = _present({**common, "status": status, "reason": call.failure})
        yield Record(source, fields, {}, raw, _identity(file, call, 0), note=note)
        return
    replies = list(replies_of(call.body))
    scores = _scores(call.line) if len(replies) == 1 else {}
    for position, reply in enumerate(replies):
        status, reason = status_of(reply)
        fields = {**common, "status": status, "reason": reason, "response": reply.text or reply.refusal}
        if len(replies) > 1:
            fields["repeat"] = position
        if position == 0:  # the choices of one call share its usage; it is counted once
            fields |= usage_of(call.line, call.body)
        where = source if len(replies) == 1 else f"{source}:choice {reply.index}"
        yield Record(where, _present(fields), scores, raw, _identity(file, call, reply.index))


def _identified(call: Call) -> dict[str, str]:
    """Digest of the messages on the line, and the id of the completion (not that of a batch's request)."""
    request = call.line.get("request")
    asked = request if isinstance(request, dict) else call.line
    prompt = next((asked[name] for name in PROMPTS if name in asked), None)
    return identified(prompt, call.body.get("id"))


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _fields(line: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"item": _first_text(line, ITEM_FIELDS), "gold": _first_text(line, GOLD_FIELDS)}
    found |= {name: line[name] for name in SCHEMA_WORDS if isinstance(line.get(name), str)}
    expect(line, "line", {"repeat": int | float})
    found["repeat"] = line.get("repeat")
    found["latency_s"] = real(line.get("latency_s"))
    return _present(found)


def _first_text(line: dict[str, Any], names: Iterable[str]) -> str | None:
    values = (line.get(name) for name in names)
    known = (value for value in values if isinstance(value, str | int) and not isinstance(value, bool))
    return next(map(str, known), None)


def _scores(line: dict[str, Any]) -> dict[str, float | None]:
    """Scores that a client loop wrote beside the reply; NaN stays, to be counted."""
    expect(line, "line", dict.fromkeys(SCORE_FIELDS, bool | str | int | float))
    found = ((name, line[name]) for name in SCORE_FIELDS if name in line)
    return {
        name: value if value != value else real(value)
        for name, value in found
        if value is None or isinstance(value, bool | int | float)
    }


def _identity(file: RunFile, call: Call, choice: int) -> str:
    """Name the reply: the response id alone is not enough, as caches repeat it for the repeats of a call."""
    response_id = call.body.get("id") or call.line.get("id")
    if not response_id:
        return digest(file.content_sha256, call.line)
    names = ["custom_id"] if "custom_id" in call.line else [*ITEM_FIELDS, "repeat"]
    return digest(response_id, *(call.line.get(name) for name in names), choice)
