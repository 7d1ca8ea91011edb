"""Test runs of DeepEval: ``test_run_<time>.json``, ``.latest_test_run.json``, dumped ``EvaluationResult``.

A metric that could not be computed has an ``error`` and no score, but ``success`` false: it is missing, not
failed. The model is a hyperparameter at most, and an ``EvaluationResult`` has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from pairstats.errors import ReadError
from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile, digest
from pairstats.readers.documents import open_object
from pairstats.readers.drafts import MISSING, as_text
from pairstats.readers.each import expect, id_of, made
from pairstats.readers.jsonlines import dig, real
from pairstats.readers.outline import outline
from pairstats.readers.rowlog import Scores, content_id, first, present, score_of, state

FIELDS: dict[str, tuple[str, ...]] = {
    "response": ("actualOutput", "actual_output"),
    "gold": ("expectedOutput", "expected_output"),
    "latency_s": ("completionTime", "completion_time"),
    "cost_usd": ("tokenCost", "token_cost"),
}
"""Column of the format, and its names on disk (camel case) and in dumped objects (snake case)."""
METRICS = ("metricsData", "metrics_data")
CASES = ("testCases", "conversationalTestCases", "test_results")
_NESTED = ("testRunData",)
VERSIONS = {"testRunData": "latest test run", "testCases": "test run", "test_results": "EvaluationResult"}
UNNAMED = re.compile(r"^test_case_\d+$")
"""Names that DeepEval gives by place to cases without one."""


@dataclass(frozen=True, slots=True)
class DeepEvalReader:
    """Reader of DeepEval test runs."""

    name: str = "deepeval"

    def recognize(self, file: RunFile) -> Recognized | Declined:
        """Look for test cases with metrics in the first keys."""
        seen = outline(file)
        mark = next((key for key in VERSIONS if key in seen.keys), None)
        if seen.kind != "object" or mark is None or not any(name.encode() in file.head for name in METRICS):
            return Declined("no key 'testCases' or 'test_results' whose cases have metrics")
        return Recognized(VERSIONS[mark])

    def read(self, file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
        """Yield one record a test case."""
        opened = open_object(file, *((*inside, key) for inside in ((), _NESTED) for key in CASES))
        nested = isinstance(opened.head.get(_NESTED[0]), dict)
        run = opened.head[_NESTED[0]] if nested else opened.head
        about = {key: run[key] for key in ("hyperparameters", "identifier") if key in run}
        lists = {key: opened.listed((*_NESTED, key) if nested else (key,)) for key in CASES}
        for key, cases in lists.items():
            for number, case in cases:
                source = f"{file.shown}:{key}.{number + 1}"
                if isinstance(case, dict):
                    make = partial(_record, source, {**about, **case}, options)
                    yield made(source, "a test case", options.keep_going, make)
                elif options.keep_going:
                    yield LeftOut(source, "not an object")
                else:
                    raise ReadError(
                        f"{source} must be a test case, but is {str(case)[:60]!r}. Remove it, or pass "
                        "keep_going=True to leave such cases out and count them."
                    )


READER = DeepEvalReader()


def _record(source: str, case: dict[str, Any], options: ReadOptions) -> Record:
    fields = {name: first(case, paths) for name, paths in FIELDS.items()}
    fields |= {name: real(fields[name]) for name in ("latency_s", "cost_usd")}
    fields |= {name: as_text(fields[name]) for name in ("response", "gold")}
    scores, failure = _scores(case)
    conversation = "turns" in case and case["turns"]
    error = dig(case, "metadata", "error") or ("" if fields["response"] else failure)
    reply = MISSING if conversation else fields["response"]
    status, reason = state(error, reply, scores, options.rescored)
    model = dig(case, "hyperparameters", "model")
    fields |= {
        "item": _item(case, fields),
        "model": model if isinstance(model, str) else None,
        "response": fields["response"] or None,
        "status": status,
        "reason": reason,
    }
    # `.latest_test_run.json` is a copy of the last test run: equal content is one reply, logged twice.
    return Record(source, present(fields), scores, case, digest(case))


def _item(case: dict[str, Any], fields: dict[str, Any]) -> str:
    name = case.get("name")
    if isinstance(name, str) and name and not UNNAMED.match(name):
        return name
    return content_id(case.get("input") or case.get("turns"), fields["gold"])


def _scores(case: dict[str, Any]) -> tuple[Scores, str]:
    """Scores by metric, and why the last metric that failed did: the one of the user, after the built-in."""
    scores: Scores = {}
    failure = ""
    for metric in first(case, METRICS) or []:
        expect(metric, "metric", {"name": str})
        failed = metric.get("error")
        scores[id_of(metric.get("name"), "metric")] = None if failed else score_of(metric.get("score"))
        failure = str(failed) if failed else failure
    return scores, failure
