"""Write Kaggle Benchmarks run files: one run a model, its sheets as subruns, failed calls as errored runs.

Protobuf JSON as kaggle-benchmarks 0.6.2 writes it: camel case, 64-bit numbers as text, zeros dropped, no item id.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from plan import COPIED, PLANS, Cells, letters
from replies import reply
from tables import CONFLICT, SEED, SHEETS, Table, item_id, prompt

Json = dict[str, Any]
STATE = "BENCHMARK_TASK_RUN_STATE_"
SHEET_TASK, BENCH_TASK = "complete_sheet", "precedent_vs_spec"
POINTS = {"F": 1.0, "R": 0.5, "A": 0.5}
FOLLOWED = {"R": "rule", "F": "rule", "P": "precedent", "A": "precedent", "O": "neither", "N": "none"}
DEFINITION = (
    '@kbench.task(name="complete_sheet", store_task=False)\n'
    "def complete_sheet(llm, sheet: str, text: str, key: dict, conflict: bool) -> dict:\n"
    "    reply = llm.prompt(text)\n"
    "    followed, flagged = read_reply(reply, key)\n"
    "    mark = points(followed, flagged, conflict)\n"
    '    return {"sheet": sheet, "followed": followed, "flagged": flagged, "points": mark}\n'
)
BENCH = (
    '@kbench.task(name="precedent_vs_spec", description="Header, or rows that break it?")\n'
    "def precedent_vs_spec(llm, frame) -> float:\n"
    '    runs = complete_sheet.evaluate(llm=[llm], evaluation_data=frame, n_jobs=3, on_failure="continue",\n'
    "                                   remove_run_files=True)\n"
    "    return score(runs.completed_runs)\n"
)
FRAMES = """Traceback (most recent call last):
  File "kaggle_benchmarks/tasks.py", line 171, in run
    run.result = self.func(*args, **kwargs)
                 ^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "precedent_vs_spec.py", line 61, in complete_sheet
    reply = llm.prompt(text)
            ^^^^^^^^^^^^^^^^
  File "openai/_base_client.py", line 1248, in request
    raise self._make_status_error_from_response(err.response) from None
"""
HEAVY = (
    "openai.InternalServerError: Error code: 503 - "
    "{'error': {'message': 'Model under heavy load. Try again later.', 'code': 503}}\n"
)
LATE = "openai.APITimeoutError: Request timed out.\n"
LIMIT = "openai.RateLimitError: Error code: 429 - {'error': {'message': 'Too many requests.', 'code': 429}}\n"
QUOTA = (
    "openai.RateLimitError: Error code: 429 - "
    "{'error': {'message': 'Cost reservation exceeds the remaining quota.', 'code': 429}}\n"
)
FAILURES = {"openai/gpt-oss-120b": (HEAVY,), "xai/grok-4.20-reasoning": (LATE, LATE, LIMIT)}
START = {"hosted": datetime(2026, 9, 24, 8, 2), "second run": datetime(2026, 9, 27, 19, 30)}
HIDDEN = {
    "openai/gpt-5.5": 700, "google/gemini-3.7-flash": 500, "xai/grok-4.20-reasoning": 1500,
    "openai/gpt-oss-120b": 300,
}  # fmt: skip
"""Hidden reasoning in tokens, about; it is billed, and not stored."""

PACE = {"openai/gpt-oss-120b": 180}
"""How much slower the calls of a model were sent: the loaded one was tried across two days."""

PRICES = {"openai/gpt-5.5": (2500, 15000), "anthropic/claude-sonnet-5": (3000, 15000)}


def write_runs(tables: Sequence[Table], folder: Path) -> list[Path]:
    """Write all run files, and the task files beside them."""
    written = []
    for run, model in PLANS:
        if run in START:
            written += _write_model(run, model, tables, folder / run.replace(" ", "_"))
    return written


def _write_model(run: str, model: str, tables: Sequence[Table], folder: Path) -> list[Path]:
    rng = random.Random(f"{SEED} run {run} {model}")
    cells = letters(run, model, tables)
    order = [(table, dose) for table in tables for dose in SHEETS]
    rng.shuffle(order)  # subruns are listed as they end
    at, subruns = START[run], []
    for number, (table, dose) in enumerate(order, start=1):
        subruns.append(_subrun(table, dose, cells, model, at, number, rng))
        at += PACE.get(model, 1) * timedelta(milliseconds=rng.randrange(900, 5000))
    if (run, model) != ("hosted", "openai/gpt-5.5"):
        return [_write(folder / BENCH_TASK, model, _bench(model, subruns, run, at, rng))]
    # The first copy of the task ended when its quota was used up; the second one has the rest.
    first, second = subruns[:COPIED], subruns[COPIED:]
    return [
        _write(folder / BENCH_TASK, model, _bench(model, first, run, at, rng) | {
            "state": STATE + "ERRORED", "results": [{"type": "AGGREGATED", "booleanResult": False}],
            "errorMessage": FRAMES + QUOTA,
        }),
        _write(folder / f"{BENCH_TASK}_copy", model, _bench(model, second, run, at, rng)),
    ]  # fmt: skip


def _write(folder: Path, model: str, run: Json) -> Path:
    slug = model.replace("/", "_").replace("@", "")
    digest = hashlib.sha256(f"{folder.name} {run['startTime']} {model}".encode()).hexdigest()
    number = 4_300_000 + int(digest, 16) % 600_000  # as the platform gives one, the same for every writing
    place = folder / model.split("/")[1].replace("@", "-") / str(number)
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{BENCH_TASK}-run_id_Run_1_{slug}.run.json.gz"
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(json.dumps(run, indent=2).encode())
    return path


def _subrun(
    table: Table, dose: str, cells: Cells, model: str, at: datetime, number: int, rng: random.Random
) -> Json:  # fmt: skip
    letter = cells[table.id, dose]
    failed = letter == "E"
    text = None if failed else reply(table, letter, dose, model, rng)
    chat = f"{SHEET_TASK}-{rng.randrange(16**8):08x}"
    asked = _request(model, prompt(table, dose), text, f"{chat}-req-1", rng)
    result: Json = {"booleanResult": False} if failed else {"dictResult": _mark(table, dose, letter)}
    run: Json = {
        "taskVersion": {"versionNumber": 1, "name": SHEET_TASK, "description": "", "definition": DEFINITION},
        "modelVersion": {"slug": model},
        "state": STATE + ("ERRORED" if failed else "COMPLETED"),
        "startTime": _time(at, rng),
        "endTime": _time(at + timedelta(milliseconds=rng.randrange(600, 900)), rng),
        "conversations": [{"id": chat, "requests": [asked], "metrics": asked.get("metrics", {}),
                           "modelVersionSlug": "model_version_slug for conversation is DEPRECATED"}],
        "results": [{"type": "AGGREGATED", **result}],
        "pyRunId": f"{SHEET_TASK}-Run #{number}",
    }  # fmt: skip
    why = FAILURES.get(model, (LIMIT,))
    return run | ({"errorMessage": FRAMES + rng.choice(why)} if failed else {})


def _mark(table: Table, dose: str, letter: str) -> Json:
    """What the task's own scorer returned."""
    points = POINTS.get(letter, 0.0) if dose in CONFLICT else float(letter == "R")
    sheet, followed = item_id(table, dose), FOLLOWED[letter]
    return {"sheet": sheet, "followed": followed, "flagged": letter in "FA", "points": points}


def _request(model: str, asked: str, text: str | None, name: str, rng: random.Random) -> Json:
    contents = [{"parts": [{"text": asked}], "role": "CONTENT_ROLE_USER", "senderName": "User"}]
    if text is None:
        return {"contents": contents, "id": name}
    contents.append({"parts": [{"text": text}], "role": "CONTENT_ROLE_ASSISTANT", "senderName": model})
    read, wrote = len(asked) // 4, len(text) // 4
    wrote += round(HIDDEN[model] * rng.lognormvariate(0, 0.5)) if model in HIDDEN else 0
    prices = PRICES.get(model, (400, 2000))
    metrics = {
        "inputTokens": read, "outputTokens": wrote, "inputTokensCostNanodollars": str(read * prices[0]),
        "outputTokensCostNanodollars": str(wrote * prices[1]), "totalBackendLatencyMs": str(400 + 8 * wrote),
    }  # fmt: skip
    # protobuf drops zeros: an empty reply has no output tokens
    return {
        "contents": contents,
        "metrics": {k: v for k, v in metrics.items() if v not in (0, "0")},
        "id": name,
    }


def _bench(model: str, subruns: list[Json], run: str, end: datetime, rng: random.Random) -> Json:
    """Write the run that sums up: no model replied in it."""
    marks = [each["results"][0].get("dictResult") for each in subruns]
    conflict = [mark["points"] for mark in marks if mark and mark["sheet"][-2:] in ("w1", "w3", "w6")]
    return {
        "taskVersion": {"versionNumber": 1, "name": BENCH_TASK, "description": "Header, or rows that break it?",
                        "definition": BENCH},
        "modelVersion": {"slug": model},
        "state": STATE + "COMPLETED",
        "startTime": _time(START[run] - timedelta(seconds=1), rng),
        "endTime": _time(end, rng),
        "conversations": [{"id": f"{BENCH_TASK}-{rng.randrange(16**8):08x}", "metrics": {},
                           "modelVersionSlug": "model_version_slug for conversation is DEPRECATED"}],
        "results": [{"type": "AGGREGATED", "numericResult": {"value": sum(conflict) / max(len(conflict), 1)}}],
        "subruns": subruns,
        "pyRunId": f"{BENCH_TASK}-Run #1",
    }  # fmt: skip


def _time(at: datetime, rng: random.Random) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}.{rng.randrange(10**6):06}Z"
