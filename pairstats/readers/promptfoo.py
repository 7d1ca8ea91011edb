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

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pairstats.errors import ReadError
from pairstats.readers import promptfoo_csv
from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile, digest
from pairstats.readers.drafts import as_text
from pairstats.readers.jsonlines import dig, first_objects, objects, real, whole
from pairstats.readers.outline import document, outline
from pairstats.readers.prompts import identified
from pairstats.readers.reasons import error_reason
from pairstats.readers.rowlog import content_id, present
from pairstats.schema import ANSWERED

Json = dict[str, Any]

ROW_KEYS = frozenset({"testIdx", "promptIdx", "success", "namedScores"})
VERDICT = "success"
PASSED, FAILED, ERRORED = 0, 1, 2
"""Values of ``failureReason``."""
CSV_NOTE = "a CSV keeps neither tokens, cost, latency nor error messages, and scores to two decimals"


@dataclass(frozen=True, slots=True)
class Place:
    """What a result's file says of it.

    Attributes
    ----------
    source : str
    item : str
    repeat : int
    attempts : int
        Number of results for the same test and prompt, of which the last good one counts.
    """

    source: str
    item: str
    repeat: int
    attempts: int


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
        """Yield one record a result; superseded attempts are left out."""
        results: list[tuple[str, Json]] = []
        for source, result in _results(file, options):
            if isinstance(result, LeftOut):
                yield result
            elif isinstance(result, dict) and isinstance(result.get("vars", {}), dict):
                results.append((source, result))
            elif options.keep_going:
                yield LeftOut(source, "not a result")
            else:
                raise ReadError(
                    f"{source} must be a result with 'vars', but is {str(result)[:60]!r}. Remove it, or pass "
                    "keep_going=True to leave such results out and count them."
                )
        names = _names_of_scores(result for _, result in results)
        places = _places(results)
        for number, (source, result) in enumerate(results):
            if number in places:
                yield _record(file, places[number], result, names)
            else:
                yield LeftOut(source, "superseded attempt")


READER = PromptfooReader()


def _recognized(file: RunFile) -> Recognized | Declined:
    try:
        whole_file = document(file)
    except ReadError as error:
        return Recognized("json", note=str(error), primary=VERDICT)
    body = _body(whole_file)
    if not isinstance(body.get("results"), list) and not isinstance(body.get("table"), dict):
        return Declined("no list of results and no table in 'results'")
    if any(not isinstance(each, dict) or "vars" not in each for each in _listed(body)[:1]):
        return Declined("results without 'vars'")
    counts = [whole(dig(body, "stats", name)) for name in ("successes", "failures", "errors")]
    counted = sum(count or 0 for count in counts)
    lost = len(_listed(body)) != counted and any(counts)
    version = f"results version {body.get('version', 'unknown')}"
    program = dig(whole_file, "metadata", "promptfooVersion")
    note = f"its totals count {counted} results, but the file holds {len(_listed(body))}" if lost else ""
    return Recognized(f"{program}, {version}" if program else version, note=note, primary=VERDICT)


def _body(whole_file: Json) -> Json:
    """Evaluation within a file: of the command line, or the summary that the library returns."""
    inner = whole_file.get("results")
    return inner if isinstance(inner, dict) else whole_file


def _listed(body: Json) -> list[Any]:
    results = body.get("results")
    return results if isinstance(results, list) else list(_of_table(body["table"]))


def _of_table(table: Json) -> Iterator[Json]:
    """Lay out the table of versions 1 and 2, one row a test and one output a prompt, as results."""
    prompts = table["head"]["prompts"]
    for test, row in enumerate(table["body"]):
        variables = dict(zip(table["head"]["vars"], row["vars"], strict=True))
        for number, output in enumerate(row["outputs"]):
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
    for number, result in enumerate(_listed(_body(document(file)))):
        yield f"{file.shown}:results[{number}]", result


def _places(results: list[tuple[str, Json]]) -> dict[int, Place]:
    """Number the results that become records: of a test that was tried again, the good ones or the last."""
    attempts: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for number, (_, result) in enumerate(results):
        where = (_test(result, number), _prompt(result))
        attempts[where if "testIdx" in result else (number,)].append(number)
    ambiguous = _ambiguous(result for _, result in results)
    groups: dict[str, dict[int, list[int]]] = defaultdict(dict)
    tried: dict[int, int] = {}
    for group in attempts.values():
        # Two good results in one place are two runs in one file: both are kept, to be told apart or refused.
        kept = [number for number in group if not _failed(results[number][1])] or group[-1:]
        result = results[kept[0]][1]
        question = content_id(_prompt(result), _provider(result), _description(result), _content(result))
        groups[question][_test(result, kept[0])] = kept
        tried |= dict.fromkeys(kept, len(group) - len(kept) + 1)
    return {
        number: Place(results[number][0], _item(results[number][1], ambiguous), repeat, tried[number])
        for tests in groups.values()
        for repeat, test in enumerate(sorted(tests))
        for number in tests[test]
    }


def _test(result: Json, number: int) -> int:
    place = whole(result.get("testIdx"))
    return number if place is None else place


def _prompt(result: Json) -> Any:
    """Which column of the evaluation: a prompt with a provider."""
    place = whole(result.get("promptIdx"))
    return dig(result, "prompt", "label") if place is None else place


def _provider(result: Json) -> str | None:
    provider = result.get("provider")
    names = (dig(provider, "label"), dig(provider, "id"), provider)
    return next((name for name in names if isinstance(name, str) and name), None)


def _description(result: Json) -> str | None:
    found = dig(result, "testCase", "description") or result.get("description")
    return found if isinstance(found, str) and found else None


def _content(result: Json) -> Json:
    """Variables as text, since a CSV holds nothing else."""
    return {name: as_text(value) for name, value in (result.get("vars") or {}).items()}


def _ambiguous(results: Iterable[Json]) -> set[str]:
    """Descriptions that several tests share, so that they name none of them."""
    known: dict[str, set[str]] = defaultdict(set)
    for result in results:
        if name := _description(result):
            known[name].add(content_id(_content(result)))
    return {name for name, contents in known.items() if len(contents) > 1}


def _item(result: Json, ambiguous: set[str]) -> str:
    name = _description(result)
    return content_id(_content(result)) if name is None or name in ambiguous else name


def _failed(result: Json) -> bool:
    """Whether the call itself failed; versions before ``failureReason`` tell it by an error without output."""
    reason = result.get("failureReason")
    if reason is not None:
        return bool(reason == ERRORED)
    return bool(result.get("error")) and dig(result, "response", "output") is None


def _names_of_scores(results: Iterable[Json]) -> tuple[str, ...]:
    """Scores besides the named ones: the verdict where there are several, or where it is not just the score."""
    differ, named = False, set[str]()
    for result in results:
        named |= set(result.get("namedScores") or ())
        differ = differ or real(result.get("score")) != real(result.get("success"))
    if named:
        return (VERDICT,) if len(named) > 1 else ()
    return ("score", VERDICT) if differ else ("score",)


def _scores(result: Json, names: tuple[str, ...]) -> dict[str, float | None]:
    named = result.get("namedScores") or {}
    found = {**{name: result.get(name) for name in names}, **named}
    return {str(name): value if value != value else real(value) for name, value in found.items()}


def _record(file: RunFile, place: Place, result: Json, names: tuple[str, ...]) -> Record:
    response = result.get("response")
    status, reason = _status(result, response)
    cached = dig(response, "cached") is True
    fields = {
        "item": place.item,
        "repeat": place.repeat,
        "model": _provider(result),
        "status": status,
        "reason": reason,
        "response": as_text(dig(response, "output")),
        "attempts": place.attempts if place.attempts > 1 else None,
        "cached": cached or None,
        **identified(dig(result, "prompt", "raw")),
        # What is answered from the cache takes no time and costs nothing, which says nothing of the model.
        **({} if cached else _usage(result, response)),
    }
    identity = str(result["id"]) if result.get("id") else digest(file.sha256, place.source)
    return Record(place.source, present(fields), _scores(result, names), result, identity)


def _status(result: Json, response: Any) -> tuple[str, str | None]:
    if _failed(result):
        return "error", error_reason(str(result.get("error") or dig(response, "error") or ""), "unknown")
    if not isinstance(response, dict):
        return "error", "no_response"
    stop = response.get("finishReason")
    output = as_text(response.get("output"))
    filled = bool(output and output.strip())
    if stop == "content_filter" or dig(response, "guardrails", "flaggedOutput") is True:
        return "refused", "content_filter"
    if response.get("isRefusal") is True:
        return "refused", None
    if stop in ("length", "max_tokens"):
        return (ANSWERED, "length") if filled else ("truncated", "max_tokens")
    return (ANSWERED if filled else "empty"), None


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
