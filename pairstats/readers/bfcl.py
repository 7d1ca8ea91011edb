"""Results of the Berkeley Function-Calling Leaderboard: result files, scored by the score file of their run.

A score file lists failures only, so the items are those of the result file, and what is not listed passed. In
old score files ``id`` counts from 1 where the result file's ``idx`` counts from 0. The totals of the score
file must agree with both, or reading is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pairstats.errors import ReadError, listed
from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile, digest
from pairstats.readers.drafts import as_text
from pairstats.readers.each import UNFORESEEN, id_of, made
from pairstats.readers.jsonlines import dig, first_objects, objects, whole
from pairstats.readers.outline import outline
from pairstats.readers.rowlog import present
from pairstats.readers.states import broken, words
from pairstats.schema import ANSWERED

Json = dict[str, Any]

NAME = re.compile(
    r"^(?:(?P<version>BFCL_v\d+)_|gorilla_openfunctions_v1_test_)?(?P<category>.+)_result\.json$"
)
TOTALS = frozenset({"accuracy", "correct_count", "total_count"})
COUNTS = {"input_tokens": "input_token_count", "output_tokens": "output_token_count"}


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
            else:
                make = partial(_record, file, source, line, failures, common)
                yield made(source, "a result", options.keep_going, make)


READER = BfclReader()


def _record(
    file: RunFile, source: str, line: Json, failures: dict[str, Json] | None, common: dict[str, str | None]
) -> Record:
    item = _item(line)
    failure = None if failures is None else failures.get(item, {})
    status, reason = _state(line, failure)
    fields = {
        **common, "item": item, "status": status, "reason": reason,
        "response": as_text(line["result"]) or None,
        "latency_s": _total(line.get("latency")),
        **{name: whole(_total(line.get(key))) for name, key in COUNTS.items()},
    }  # fmt: skip
    scores = {} if failure is None else {"correct": None if status == "error" else float(not failure)}
    raw = line if not failure else {**line, "failure": failure}
    return Record(source, present(fields), scores, raw, digest(file.content_sha256, line))


def _item(line: Json) -> str:
    return id_of(line["id"] if "id" in line else line["idx"])


def _readable_item(line: Json | LeftOut) -> str | None:
    """Id of a result; None for one that is left out, which may be any failure that the score file names."""
    try:
        return None if isinstance(line, LeftOut) else _item(line)
    except UNFORESEEN:
        return None


def _state(line: Json, failure: Json | None) -> tuple[str, str | None]:
    # Of several turns the type stands within the error.
    kind = str((failure or {}).get("error_type") or dig(failure, "error", "error_type") or "")
    ended = next((state for word, state in words("bfcl", "part of error_type").items() if word in kind), None)
    if str(line.get("result")).startswith("Error during inference"):
        return broken("bfcl", str(line["result"]), "result")
    if ended:
        return ended
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
    """Score file beside a result file, or at its place below ``score``; in 2024 it had a shorter name."""
    match, parts = NAME.match(file.path.name), file.path.parts
    folders = [file.path.parent]
    if "result" in parts:
        place = len(parts) - 1 - parts[::-1].index("result")
        folders.append(Path(*parts[:place], "score", *parts[place + 1 : -1]))
    names = [file.path.name.replace("_result.json", "_score.json")]
    names += [f"{match['category']}_score.json"] if match and match["version"] is None else []
    places = [folder / name for name in names for folder in folders]
    return next((path for path in places if path != file.path and path.is_file()), None)


def _failures(file: RunFile) -> dict[str, Json] | None:
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
    results = [line for _, line in objects(file, keep_going=True)]
    items = {item for line in results if (item := _readable_item(line)) is not None}
    first = _first_number(lines[1:], [line for line in results if isinstance(line, dict)])
    failed = {_failed_id(line, first): line for line in lines[1:]}
    totals = lines[0] if lines else {}
    expected = (len(results), len(results) - len(failed))
    found = (totals.get("total_count"), totals.get("correct_count"))
    unknown = failed.keys() - items
    if found != expected or len(unknown) > sum(_readable_item(line) is None for line in results):
        why = f"names {listed(sorted(unknown))}, which are none" if unknown else (
            f"counts {found[1]} of {found[0]} correct where the files give {expected[1]} of {expected[0]}"
        )  # fmt: skip
        raise ReadError(
            f"{path.name} must be the scores of {file.shown}, but {why}. Put the score file of the same run "
            "there, or remove it."
        )
    return failed


def _first_number(failures: list[Json], results: list[Json]) -> int:
    """Number from which a score file counts what its result file counts from 0: of old ones 1.

    What failed is quoted, which settles it; without a quotation, nothing but a 0 says that it counts from 0.
    """
    told = {item: str(line.get("result")) for line in results if (item := _readable_item(line)) is not None}
    numbered = [line for line in failures if type(line.get("id")) is int]

    def quoted(first: int) -> int:
        return sum(told.get(str(f["id"] - first)) == str(f["model_result_raw"]) for f in numbered
                   if "model_result_raw" in f)  # fmt: skip

    if quoted(0) != quoted(1):
        return int(quoted(1) > quoted(0))
    return int(all(line["id"] > 0 for line in numbered))


def _failed_id(line: Json, first: int) -> str:
    """Id of the result that failed."""
    number = line.get("id")
    return str(number - first if isinstance(number, int) else number)
