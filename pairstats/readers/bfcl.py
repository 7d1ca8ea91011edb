"""Results of the Berkeley Function-Calling Leaderboard: result files, scored by the score file of their run.

A score file lists failures only, so the items are those of the result file, and what is not listed passed. In
old score files ``id`` counts from 1 where the result file's ``idx`` counts from 0. The totals of the score
file must agree with both, or reading is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairstats.errors import ReadError, listed
from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile, digest
from pairstats.readers.drafts import as_text
from pairstats.readers.jsonlines import first_objects, objects, whole
from pairstats.readers.outline import outline
from pairstats.readers.rowlog import present
from pairstats.schema import ANSWERED

NAME = re.compile(
    r"^(?:(?P<version>BFCL_v\d+)_|gorilla_openfunctions_v1_test_)?(?P<category>.+)_result\.json$"
)
TOTALS = frozenset({"accuracy", "correct_count", "total_count"})
COUNTS = {"input_tokens": "input_token_count", "output_tokens": "output_token_count"}
ERRORS: tuple[tuple[str, tuple[str, str]], ...] = (
    ("inference_error", ("error", "inference_error")),
    ("force_terminated", ("truncated", "force_terminated")),
    ("decoder", ("unparsed", "decoder")),
)
"""What a failure's ``error_type`` holds, and what became of the call; others are wrong answers."""


@dataclass(frozen=True, slots=True)
class BfclReader:
    """Reader of result files and their score files."""

    name: str = "bfcl"

    def recognize(self, file: RunFile) -> Recognized | Declined:
        """Look for results with token counts, or the totals of a score file, which serves its results."""
        known = {"result", "accuracy"} & set(outline(file).keys)
        lines = first_objects(file) if known else []
        if lines and lines[0].keys() >= TOTALS:
            return Recognized("score", companion="score file: lists failures only, used with its result file")
        is_result = lines and "result" in lines[0] and lines[0].keys() & {"id", "idx"}
        match = NAME.match(file.path.name)
        if is_result and (match or lines[0].keys() & set(COUNTS.values())):
            scored = _score_file(file) is not None
            note = "" if scored else "no score file of this run was found: the replies have no score"
            return Recognized((match and match["version"]) or "result", note=note)
        return Declined("no result with an 'id' or 'idx' and token counts")

    def read(self, file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
        """Yield one record a result."""
        failures = _failures(file)
        match = NAME.match(file.path.name)
        common = {"model": _model(file), "study": match["category"] if match else None}
        for number, line in objects(file, keep_going=options.keep_going):
            source = f"{file.shown}:{number}"
            if isinstance(line, LeftOut):
                yield line
                continue
            failure = None if failures is None else failures.get(_item(line), {})
            status, reason = _state(line, failure)
            fields = {
                **common, "item": _item(line), "status": status, "reason": reason,
                "response": as_text(line.get("result")) or None,
                "latency_s": _total(line.get("latency")),
                **{name: whole(_total(line.get(key))) for name, key in COUNTS.items()},
            }  # fmt: skip
            scores = {} if failure is None else {"correct": None if status == "error" else float(not failure)}
            raw = line if not failure else {**line, "failure": failure}
            yield Record(source, present(fields), scores, raw, digest(file.content_sha256, line))


READER = BfclReader()


def _item(line: dict[str, Any]) -> str:
    return str(line["id"] if "id" in line else line["idx"])


def _state(line: dict[str, Any], failure: dict[str, Any] | None) -> tuple[str, str | None]:
    kind = str((failure or {}).get("error_type") or "")
    told = next((state for word, state in ERRORS if word in kind), None)
    if told:
        return told
    if str(line.get("result")).startswith("Error during inference"):
        return "error", "inference_error"
    return (ANSWERED, None) if line.get("result") not in (None, "", []) else ("empty", None)


def _total(value: Any) -> float | None:
    """Sum of a number, or of the nested lists that turns with several steps have."""
    if isinstance(value, list):
        parts = [part for each in value if (part := _total(each)) is not None]
        return sum(parts) if parts else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _model(file: RunFile) -> str | None:
    """Folder below ``result``, where the path has the benchmark's layout."""
    parts = file.path.parts[:-1]
    if "result" not in parts[:-1]:
        return None
    return parts[len(parts) - 1 - parts[:-1][::-1].index("result")]


def _score_file(file: RunFile) -> Path | None:
    """Score file beside a result file, or at its place below ``score``."""
    name = file.path.name.replace("_result.json", "_score.json")
    parts = file.path.parts
    places = [file.path.with_name(name)]
    if "result" in parts:
        place = len(parts) - 1 - parts[::-1].index("result")
        places.append(Path(*parts[:place], "score", *parts[place + 1 : -1], name))
    return next((path for path in places if path != file.path and path.is_file()), None)


def _failures(file: RunFile) -> dict[str, dict[str, Any]] | None:
    """Failures by the result's id; None where there is no score file.

    Raises
    ------
    ReadError
        When the score file is of other results: its totals or its ids do not fit.
    """
    path = _score_file(file)
    if path is None:
        return None
    lines = [line for _, line in objects(RunFile(path, path.name)) if isinstance(line, dict)]
    results = [line for _, line in objects(file, keep_going=True) if isinstance(line, dict)]
    failed = {_failed_id(line, results): line for line in lines[1:]}
    totals = lines[0] if lines else {}
    expected = (len(results), len(results) - len(failed))
    found = (totals.get("total_count"), totals.get("correct_count"))
    unknown = failed.keys() - {_item(line) for line in results}
    if found != expected or unknown:
        why = f"names {listed(sorted(unknown))}, which are none" if unknown else (
            f"counts {found[1]} of {found[0]} correct where the files give {expected[1]} of {expected[0]}"
        )  # fmt: skip
        raise ReadError(
            f"{path.name} must be the scores of {file.shown}, but {why}. Put the score file of the same run "
            "there, or remove it."
        )
    return failed


def _failed_id(line: dict[str, Any], results: list[dict[str, Any]]) -> str:
    """Id of the result that failed: a number counts from 1 where results have an ``idx`` from 0."""
    number = line.get("id")
    if isinstance(number, int) and results and "id" not in results[0]:
        return str(number - 1)
    return str(number)
