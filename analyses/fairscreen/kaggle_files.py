"""Write Kaggle Benchmarks run files: one run a model, its applications as subruns, failed calls as errored runs.

Protobuf JSON as kaggle-benchmarks 0.6.2 writes it: camel case, 64-bit numbers as text, no item id and no finish
reason.
"""

from __future__ import annotations

import gzip
import json
import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from decisions import CUT, LOST, MUTE, Answers
from families import Cell, Family, by_item, prompt
from plan import SEED, Model
from replies import reasoned

Json = dict[str, Any]
STATE = "BENCHMARK_TASK_RUN_STATE_"
ITEM_TASK, PANEL_TASK = "fairscreen_item", "fairscreen_direct"
UNUSED = "model_version_slug for conversation is DEPRECATED"
ITEM_CODE = (
    '@kbench.task(name="fairscreen_item", store_task=False)\n'
    "def fairscreen_item(llm, item: str, text: str, gold: str) -> dict:\n"
    '    decision = read(llm.prompt(text))\n    return {"item": item, "right": decision == gold}\n'
)
PANEL_CODE = (
    '@kbench.task(name="fairscreen_direct", description="Families with all eight decisions right.")\n'
    "def fairscreen_direct(llm, frame) -> float:\n"
    "    runs = fairscreen_item.evaluate(llm=[llm], evaluation_data=frame, n_jobs=4, max_attempts=4,\n"
    '                                    on_failure="continue", remove_run_files=True)\n'
    "    return robust(runs.completed_runs)\n"
)
TRACEBACK = """Traceback (most recent call last):
  File "kaggle_benchmarks/tasks.py", line 171, in run
    run.result = self.func(*args, **kwargs)
                 ^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "fairscreen.py", line 41, in fairscreen_item
    decision = read(llm.prompt(text))
                    ^^^^^^^^^^^^^^^^
openai.RateLimitError: Error code: 429 - {'error': {'message': 'Resource exhausted. Please try again later.', \
'code': 429}}
"""
START = datetime(2026, 10, 2, 9, 30)


def write_run(model: Model, answers: Answers, folder: Path, number: int) -> Path:
    """Write the run file of one model, gzipped, where a download puts it."""
    rng = random.Random(f"{SEED} kaggle {model.slug}")
    at, subruns = START, []
    for n, (item, answer) in enumerate(answers.items(), start=1):
        at += timedelta(milliseconds=750)
        subruns.append(_subrun(model, *by_item()[item], answer, at, n, rng))
    right: dict[str, bool] = {}
    for item, answer in answers.items():
        family, cell = by_item()[item]
        right[family.id] = right.get(family.id, True) and answer == family.gold(cell)
    run = _run(PANEL_TASK, PANEL_CODE, model, START - timedelta(seconds=1), at, 1) | {
        "conversations": [
            {"id": f"{PANEL_TASK}-{rng.randrange(16**8):08x}", "metrics": {}, "modelVersionSlug": UNUSED}
        ],
        "results": [{"type": "AGGREGATED", "numericResult": {"value": sum(right.values()) / len(right)}}],
        "subruns": subruns,
    }
    path = folder / PANEL_TASK / "1" / model.name / str(number)
    path.mkdir(parents=True, exist_ok=True)
    path = path / f"{PANEL_TASK}-run_id_Run_1_{model.slug.replace('/', '_')}.run.json.gz"
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(json.dumps(run, indent=1).encode())
    return path


def _run(task: str, code: str, model: Model, start: datetime, end: datetime, number: int) -> Json:
    return {
        "taskVersion": {"versionNumber": 1, "name": task, "description": "", "definition": code},
        "modelVersion": {"slug": model.slug}, "state": STATE + "COMPLETED",
        "startTime": f"{start.isoformat(timespec='microseconds')}Z",
        "endTime": f"{end.isoformat(timespec='microseconds')}Z", "pyRunId": f"{task}-Run #{number}",
    }  # fmt: skip


def _subrun(
    model: Model, family: Family, cell: Cell, answer: str, at: datetime, number: int, rng: random.Random
) -> Json:
    chat, asked = f"{ITEM_TASK}-{rng.randrange(16**8):08x}", prompt(family, cell)
    contents = [{"parts": [{"text": asked}], "role": "CONTENT_ROLE_USER", "senderName": "User"}]
    request: Json = {"contents": contents, "id": f"{chat}-req-1"}
    run = _run(ITEM_TASK, ITEM_CODE, model, at, at + timedelta(milliseconds=600), number)
    metrics: Json = {}
    if answer == LOST:
        run |= {"state": STATE + "ERRORED", "results": [{"type": "AGGREGATED", "booleanResult": False}]}
        run["errorMessage"] = TRACEBACK
    else:
        text = reasoned(answer, rng)
        contents.append(
            {"parts": [{"text": text}], "role": "CONTENT_ROLE_ASSISTANT", "senderName": model.slug}
        )
        metrics = {
            "inputTokens": len(asked) // 4,
            "outputTokens": len(text) // 4,
            "totalBackendLatencyMs": str(300 + len(text)),
        }
        request["metrics"] = metrics
        mark = answer not in (CUT, MUTE) and answer == family.gold(cell)
        run["results"] = [{"type": "AGGREGATED", "dictResult": {"item": family.item(cell), "right": mark}}]
    run["conversations"] = [
        {"id": chat, "requests": [request], "metrics": metrics, "modelVersionSlug": UNUSED}
    ]
    return run
