"""Results of SWE-bench: lists of resolved instances, the harness's report, and maps of single instances.

The lists of the experiments repository (``results.json``) do not name the instances that were tried and not
resolved. They are taken from the predictions beside the results; without them the file is refused, because
resolved instances alone would be a perfect score. An instance that a run does not name has no row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from pairstats.errors import ReadError
from pairstats.readers.base import LeftOut, ReadOptions, RunFile
from pairstats.readers.each import expect, made
from pairstats.readers.jsonlines import objects, parse
from pairstats.readers.outline import Outline, document
from pairstats.readers.rowlog import RowLog, Scores, score_of
from pairstats.readers.sheets import Row
from pairstats.readers.states import State, words
from pairstats.schema import MISSING

INSTANCE = re.compile(r"^(instance_)?(?P<repo>[\w.-]+?__[\w.-]+?)-\w+")
ENDED = words("swe_bench", "list that names the instance")
STATES: tuple[tuple[str, str], ...] = (
    ("resolved", "resolved"), ("resolved_ids", "resolved"),
    *((name, str(state.reason)) for name, state in ENDED.items()),
)  # fmt: skip
"""List of a results file, and what its instances are; the first list that names an instance counts."""
TRIED = (
    "generated", "with_logs", "applied", "no_apply", "test_errored", "test_timeout", "submitted_ids",
    "completed_ids", "unresolved_ids", *(name for name, _ in STATES),
)  # fmt: skip
"""Lists whose instances were tried; the names of the lists before the harness's report are the older ones."""
ALL_TRIED = frozenset({"generated", "with_logs", "submitted_ids", "unresolved_ids"})
"""Lists that name the unresolved instances too."""
PREDICTIONS = ("all_preds.jsonl", "preds.json", "all_preds.json")


def _detect(file: RunFile, seen: Outline) -> str:
    names = set(seen.keys)
    if seen.kind != "object":
        return ""
    if "resolved" in names and "no_generation" in names:
        return "results"
    if {"total_instances", "resolved_instances"} <= names:
        return "report"
    if "leaderboards" in names:
        return "leaderboards"
    if re.match(rb'\s*\{\s*"[^"]+"\s*:\s*(true|false)\b', file.head) and INSTANCE.match(seen.keys[0]):
        return "map of instances"
    return ""


def _rows(file: RunFile, options: ReadOptions) -> Iterator[tuple[str, Row | LeftOut]]:
    whole = document(file)
    rows: Iterable[Row | LeftOut]
    if "leaderboards" in whole:
        rows = _of_leaderboards(file, whole, options)
    elif isinstance(next(iter(whole.values()), None), bool):
        model = _folder(file, "traj", 1)
        rows = ({"instance_id": name, "resolved": value, "model": model} for name, value in whole.items())
    else:
        rows = _of_lists(file, whole)
    for row in rows:
        yield ("", row) if isinstance(row, LeftOut) else _placed(row)


def _placed(row: Row) -> tuple[str, Row]:
    """Name a row and its repository; an instance that is no text has neither, and is refused where it is made."""
    name = row["instance_id"]
    match = INSTANCE.match(name) if isinstance(name, str) else None
    where = ".".join(filter(None, (row.get("study"), row.get("model"), str(name))))
    return where, {**row, "repo": match["repo"] if match else None}


def _of_leaderboards(file: RunFile, whole: dict[str, Any], options: ReadOptions) -> Iterator[Row | LeftOut]:
    for board in whole["leaderboards"]:
        for number, result in enumerate(board["results"]):
            where = f"{file.shown}:{board['name']}.results[{number}]"
            make = partial(_of_result, where, result, board["name"])
            rows = made(where, "a result of a leaderboard", options.keep_going, make)
            yield from [rows] if isinstance(rows, LeftOut) else rows


def _of_result(where: str, result: Any, board: str) -> list[Row] | LeftOut:
    expect(result, "result", {"per_instance_details": dict, "name": str})
    place = {"model": result["name"], "study": board}
    if not result.get("per_instance_details"):
        return LeftOut(where, "a total without its instances")
    return [
        {**(details if isinstance(details, dict) else {"resolved": [details]}), "instance_id": name, **place}
        for name, details in result["per_instance_details"].items()
    ]


def _of_lists(file: RunFile, whole: dict[str, Any]) -> Iterator[Row]:
    named = [name for key in TRIED for name in whole.get(key) or []]
    yield from ({"instance_id": name} for name in named if not isinstance(name, str))
    tried = {name: None for name in named if isinstance(name, str)}
    submitted = _submitted(file)
    if not submitted and not ALL_TRIED & whole.keys():
        raise ReadError(
            f"{file.shown} must come with the instances that were tried, but lists only those that were "
            f"resolved or failed. Put its predictions ({' or '.join(PREDICTIONS)}) beside it or one folder "
            "above, or write a plain table with one row an instance."
        )
    states = {str(name): state for key, state in reversed(STATES) for name in whole.get(key) or []}
    model = _folder(file, "evaluation", 2)
    for name in dict.fromkeys([*submitted, *tried]):
        state = states.get(name, "unresolved")
        yield {"instance_id": name, "state": state, "resolved": state == "resolved", "model": model}


def _submitted(file: RunFile) -> list[str]:
    """Instances of the predictions beside the results, or one folder above."""
    places = (folder / name for folder in (file.path.parent, file.path.parent.parent) for name in PREDICTIONS)
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        return []
    predictions = RunFile(path, path.name)
    if path.suffix == ".jsonl":
        return [str(line["instance_id"]) for _, line in objects(predictions) if isinstance(line, dict)]
    found = parse(predictions.read_bytes(), path.name)
    return [str(each["instance_id"]) for each in found] if isinstance(found, list) else list(found)


def _folder(file: RunFile, root: str, below: int) -> str | None:
    """Name of a run's folder, where the path has the repository's layout."""
    parts = file.path.parts[:-1]
    if root not in parts:
        return None
    place = len(parts) - 1 - parts[::-1].index(root) + below
    return parts[place] if place < len(parts) else None


def _outcome(row: Row) -> State | None:
    return next((state for state in ENDED.values() if state.reason == row.get("state")), None)


def _scores(row: Row) -> Scores:
    expect(row, "instance", {"instance_id": str, "resolved": bool})
    ended = _outcome(row)
    missing = ended is not None and ended.status in MISSING
    return {"resolved": None if missing else score_of(row.get("resolved"))}


READER = RowLog(
    name="swe_bench",
    detect=_detect,
    looks_for="lists of resolved instances, and no map of them",
    fields={
        "item": ("instance_id",),
        "model": ("model",),
        "study": ("study",),
        "repo": ("repo",),
        "cost_usd": ("cost",),
    },
    rows=_rows,
    scores=_scores,
    errors=(),
    outcome=_outcome,
    note="instances that a run does not name have no row",
)
