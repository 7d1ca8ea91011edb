"""Results of promptfoo: ``-o output.json``, ``.jsonl`` and ``.csv`` of one evaluation.

One result is one record. Repeats are not marked: ``--repeat`` runs a test again under a further ``testIdx``,
so results of one prompt and test with the same variables are numbered in that order. ``error`` also holds the
text of a failed assertion; only ``failureReason`` 2 is a call that failed. ``score`` is the mean over all
assertions, so a wrong answer that was quick may have 0.5; it is taken only where no score is named. One named
score is the score. Of several none is first: the verdict ``success`` (every assertion held, which is what
promptfoo's own totals count) is the primary score then, and the named ones are further ones.

Source: promptfoo 0.121 and 0.123, results version 3; the table of versions 1 and 2 is unverified.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from types import UnionType
from typing import Any

from pairstats.errors import ReadError
from pairstats.readers import promptfoo_csv, states
from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile, digest
from pairstats.readers.documents import Document, open_object
from pairstats.readers.drafts import as_text
from pairstats.readers.each import UNFORESEEN, expect, made
from pairstats.readers.jsonlines import dig, first_objects, objects, real, whole
from pairstats.readers.outline import outline
from pairstats.readers.promptfoo_attempts import Attempts, Places, failed, provider
from pairstats.readers.prompts import identified
from pairstats.readers.rowlog import present
from pairstats.schema import ANSWERED

Json = dict[str, Any]

ROW_KEYS = frozenset({"testIdx", "promptIdx", "success", "namedScores"})
VERDICT = "success"
_LISTS = tuple(
    (*inside, *keys) for inside in ((), ("results",)) for keys in (("results",), ("table", "body"))
)
"""Where results may lie: of the command line they are one level deeper than of the library."""
WHAT = "a result"
_KINDS: dict[str, type | UnionType] = {
    "namedScores": dict, "score": bool | int | float, "success": bool, "promptIdx": int, "response": dict,
}  # fmt: skip
"""Kinds of the values without which a result is none; others of a wrong kind are unknown."""
CSV_NOTE = "a CSV keeps neither tokens, cost, latency nor error messages, and scores to two decimals"


@dataclass(frozen=True, slots=True)
class PromptfooReader:
    """Reader of promptfoo's results."""

    name: str = "promptfoo"

    def recognize(self, file: RunFile) -> Recognized | Declined:
        """Look for an evaluation's keys, a result's keys on every line, or a column a provider."""
        seen = outline(file)
        if seen.kind != "object":
            found = promptfoo_csv.is_export(file)
            known = Recognized("csv", note=CSV_NOTE, primary=VERDICT)
            return known if found else Declined("no columns 'Status' and 'Score'")
        if "results" in seen.keys and {"evalId", "config", "table", "version"} & set(seen.keys):
            return _recognized(file)
        if any(line.keys() >= ROW_KEYS for line in first_objects(file)):
            return Recognized("jsonl", primary=VERDICT)
        return Declined("no object with 'evalId' and 'results', and no line with 'testIdx' and 'promptIdx'")

    def read(self, file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
        """Yield one record a result; superseded attempts are left out.

        The results are read twice: what they say together comes first, and they may be more than the memory
        holds.
        """
        attempts, scores = Attempts(), _Scores()
        broken: set[int] = set()
        number = -1
        for number, (source, result) in enumerate(_results(file, options)):
            if isinstance(result, LeftOut):
                yield result
            elif _is_result(result):
                found = made(source, WHAT, options.keep_going, partial(_gather, result, attempts, scores))
                if isinstance(found, LeftOut):
                    broken.add(number)
                    yield found
            elif options.keep_going:
                yield LeftOut(source, "not a result")
            else:
                raise ReadError(
                    f"{source} must be a result with 'vars', but is {str(result)[:60]!r}. Remove it, or pass "
                    "keep_going=True to leave such results out and count them."
                )
        if number < 0:
            raise ReadError(
                f"{file.shown} must hold at least one result, but its list of results is empty: the evaluation had "
                "no tests, or was exported before it ran. Export it again, or leave the file out."
            )
        places, names = attempts.places(), scores.names()
        again = (
            each for number, each in enumerate(_results(file, options))
            if number not in broken and _is_result(each[1])
        )  # fmt: skip
        for number, (source, result) in enumerate(again):
            if places.repeat[number] < 0:
                yield LeftOut(source, "superseded attempt")
            else:
                make = partial(_record, file, source, result, places, number, names)
                yield made(source, WHAT, options.keep_going, make)


READER = PromptfooReader()


def _gather(result: Json, attempts: Attempts, scores: _Scores) -> None:
    """Take note of a result for all of them, where both can."""
    scores.check(result)
    attempts.add(result)
    scores.add(result)


def _is_result(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("vars", {}), dict)


def _opened(file: RunFile) -> Document:
    return open_object(file, *_LISTS)


def _recognized(file: RunFile) -> Recognized | Declined:
    try:
        opened = _opened(file)
        body = _body(opened.head)
        if not isinstance(body.get("results"), list) and not isinstance(body.get("table"), dict):
            return Declined("no list of results and no table in 'results'")
        first: Any = next((each for _, each in _listed(opened)), {"vars": {}})
        held = _number_of_results(opened)
    except ReadError as error:
        return Recognized("json", note=str(error), primary=VERDICT)
    if not isinstance(first, dict) or "vars" not in first:
        return Declined("results without 'vars'")
    counts = [whole(dig(body, "stats", name)) for name in ("successes", "failures", "errors")]
    counted = sum(count or 0 for count in counts)
    lost = held != counted and any(counts)
    version = f"results version {body.get('version', 'unknown')}"
    program = dig(opened.head, "metadata", "promptfooVersion")
    note = f"its totals count {counted} results, but the file holds {held}" if lost else ""
    return Recognized(f"{program}, {version}" if program else version, note=note, primary=VERDICT)


def _body(head: Json) -> Json:
    """Evaluation within a file: of the command line, or the summary that the library returns."""
    inner = head.get("results")
    return inner if isinstance(inner, dict) else head


def _path(opened: Document, *keys: str) -> tuple[str, ...]:
    """Path of a list of the evaluation."""
    return keys if _body(opened.head) is opened.head else ("results", *keys)


def _number_of_results(opened: Document) -> int:
    if isinstance(_body(opened.head).get("results"), list):
        return opened.counts[_path(opened, "results")]
    return sum(1 for _ in _listed(opened))


def _listed(opened: Document) -> Iterator[tuple[int, Any]]:
    body = _body(opened.head)
    if isinstance(body.get("results"), list):
        return opened.values(_path(opened, "results"))
    if not isinstance(dig(body, "table", "body"), list):
        raise ReadError(f"{opened.file.shown} must hold results in a list or a table, but has neither.")
    return enumerate(_of_table(body["table"], opened.values(_path(opened, "table", "body"))))


def _of_table(table: Json, rows: Iterable[tuple[int, Any]]) -> Iterator[Any]:
    """Lay out the table of versions 1 and 2, one row a test and one output a prompt, as results."""
    prompts = table["head"]["prompts"]
    for test, row in rows:
        try:
            yield from list(_of_row(table["head"], test, row))
        except UNFORESEEN:
            # No result can be told from the others of a broken row: none of them is one.
            yield from ([row] for _ in prompts)


def _of_row(head: Json, test: int, row: Json) -> Iterator[Json]:
    expect(row, "row", {"vars": list, "outputs": list, "test": dict, "description": str})
    prompts, outputs = head["prompts"], row["outputs"]
    if not 1 <= len(outputs) <= len(prompts):
        raise ValueError(f"it has {len(outputs)} outputs of {len(prompts)} prompts")
    variables = dict(zip(head["vars"], row["vars"], strict=True))
    for number, output in enumerate(outputs):
        expect(output, "output")
        prompt = prompts[number]
        yield {
            "vars": variables, "testIdx": test, "promptIdx": number, "success": output.get("pass"),
            "provider": {"id": output.get("provider") or prompt.get("provider")}, "prompt": prompt,
            "response": {"output": output.get("text"), "tokenUsage": output.get("tokenUsage")},
            "testCase": row.get("test") or {}, "description": row.get("description"),
            **{name: output[name] for name in _SAME_IN_TABLE if name in output},
        }  # fmt: skip


_SAME_IN_TABLE = (
    "id",
    "score",
    "namedScores",
    "latencyMs",
    "cost",
    "error",
    "failureReason",
    "gradingResult",
)


def _results(file: RunFile, options: ReadOptions) -> Iterator[tuple[str, Any]]:
    if outline(file).kind != "object":
        yield from promptfoo_csv.results(file, options)
        return
    if any(line.keys() >= ROW_KEYS for line in first_objects(file)):
        for number, line in objects(file, keep_going=options.keep_going):
            yield f"{file.shown}:{number}", line
        return
    for number, result in _listed(_opened(file)):
        yield f"{file.shown}:results[{number}]", result


class _Scores:
    """Scores besides the named ones: the verdict where there are several, or where it is not just the score."""

    def __init__(self) -> None:
        self._differ, self._named = False, set[str]()

    @staticmethod
    def check(result: Json) -> None:
        expect(result, "result", _KINDS)

    def add(self, result: Json) -> None:
        self._named |= set(result.get("namedScores") or ())
        score, verdict = real(result.get("score")), real(result.get("success"))
        self._differ = self._differ or (None not in (score, verdict) and score != verdict)

    def names(self) -> tuple[str, ...]:
        if self._named:
            return (VERDICT,) if len(self._named) > 1 else ()
        return ("score", VERDICT) if self._differ else ("score",)


def _scores(result: Json, names: tuple[str, ...]) -> dict[str, float | None]:
    named = result.get("namedScores") or {}
    found = {**{name: result.get(name) for name in names}, **named}
    return {str(name): value if value != value else real(value) for name, value in found.items()}


def _record(
    file: RunFile, source: str, result: Json, places: Places, number: int, names: tuple[str, ...]
) -> Record:
    response = result.get("response")
    status, reason = _status(result, response)
    cached = dig(response, "cached") is True
    attempts = int(places.attempts[number])
    fields = {
        "item": places.item(result),
        "repeat": int(places.repeat[number]),
        "model": provider(result),
        "status": status,
        "reason": reason,
        "response": as_text(dig(response, "output")),
        "attempts": attempts if attempts > 1 else None,
        "cached": cached or None,
        **identified(dig(result, "prompt", "raw")),
        # What is answered from the cache takes no time and costs nothing, which says nothing of the model.
        **({} if cached else _usage(result, response)),
    }
    identity = str(result["id"]) if result.get("id") else digest(file.content_sha256, source)
    return Record(source, present(fields), _scores(result, names), result, identity)


def _status(result: Json, response: Any) -> tuple[str, str | None]:
    if failed(result):
        message = str(result.get("error") or dig(response, "error") or "")
        return states.broken("promptfoo", message, "failureReason")
    if not isinstance(response, dict):
        return "error", "no_response"
    output = as_text(response.get("output"))
    filled = bool(output and output.strip())
    ended = states.told("promptfoo", states.STOP, response.get("finishReason"))
    said = (
        states.told(
            "promptfoo", "response.guardrails.flaggedOutput", dig(response, "guardrails", "flaggedOutput")
        ),
        ended,
        states.told("promptfoo", "response.isRefusal", response.get("isRefusal")),
    )
    ended = next((state for state in said if state and state.status == "refused"), ended)
    return states.cut(ended, filled) if ended else (ANSWERED if filled else "empty", None)


def _usage(result: Json, response: Any) -> Json:
    """Tokens, cost and latency; a cost of 0 that the provider did not report is unknown."""
    latency = real(result.get("latencyMs"))
    cost = real(dig(response, "cost"))
    return {
        "input_tokens": whole(dig(response, "tokenUsage", "prompt")),
        "output_tokens": whole(dig(response, "tokenUsage", "completion")),
        "cost_usd": cost if cost is not None else (real(result.get("cost")) or None),
        "latency_s": None if latency is None else latency / 1000,
    }
