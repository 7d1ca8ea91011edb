"""Write Kaggle Benchmarks run files: one run a model, its items as subruns, failed calls as errored runs.

Protobuf JSON as kaggle-benchmarks 0.6.2 writes it: camel case, 64-bit numbers as text, zeros dropped, no item id.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from packets import COPIES, Packet, rendered
from plan import SEED, Asked, confidences, outcomes
from replies import reply

Json = dict[str, Any]
STATE = "BENCHMARK_TASK_RUN_STATE_"
ITEM_TASK = "fine_print_item"
BENCH_TASK = "fine_print_bench"
DEFINITION = (
    '@kbench.task(name="fine_print_item", store_task=False)\n'
    "def fine_print_item(llm, packet: str, copy: str, turns: list, key: dict) -> dict:\n"
    "    for turn in turns:\n        reply = llm.prompt(turn)\n"
    "    mark = score_reply(reply, key)\n"
    '    return {"packet": packet, "copy": copy, "strict": mark.strict, "answer_only": mark.answer_only}\n'
)
BENCH = (
    '@kbench.task(name="fine_print_bench", description="Strict accuracy over rule packets in two copies.")\n'
    "def fine_print_bench(llm, frame) -> dict:\n"
    "    runs = fine_print_item.evaluate(llm=[llm], evaluation_data=frame, n_jobs=2, max_attempts=6,\n"
    '                                    on_failure="continue", remove_run_files=True)\n'
    "    return totals(runs.completed_runs)\n"
)
TRACEBACK = """Traceback (most recent call last):
  File "kaggle_benchmarks/tasks.py", line 171, in run
    run.result = self.func(*args, **kwargs)
                 ^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "fine_print.py", line 88, in fine_print_item
    reply = llm.prompt(turn)
            ^^^^^^^^^^^^^^^^
  File "kaggle_benchmarks/actors/llms.py", line 304, in respond
    invoke_response = self.invoke(
                      ^^^^^^^^^^^^
  File "openai/_base_client.py", line 1248, in request
    raise self._make_status_error_from_response(err.response) from None
openai.RateLimitError: Error code: 429 - {'error': {'message': 'Resource exhausted. Please try again later.', \
'code': 429}}
"""
STARTS = {
    "run 2": datetime(2026, 10, 6, 1, 12),
    "run 3": datetime(2026, 10, 6, 19, 40),
    "run 4": datetime(2026, 10, 7, 15, 5),
}
PRICES = {
    "google/gemini-3.7-flash": (300, 2500),
    "google/gemini-2.5-flash": (300, 2500),
    "google/gemma-4-31b": (100, 300),
    "qwen/qwen3-235b-a22b-instruct-2507": (200, 600),
    "deepseek-ai/deepseek-r1-0528": (550, 2190),
    "openai/gpt-oss-120b": (150, 600),
}
"""Nanodollars a token, read and written."""


@dataclass(frozen=True, slots=True)
class Call:
    """One item of one model: what was planned for it."""

    packet: Packet
    copy: str
    letter: str
    confidence: float


def write_run(asked: Asked, packets: list[Packet], folder: Path) -> Path:
    """Write the run file of one model, gzipped, where a download puts it."""
    rng = random.Random(f"{SEED} run {asked.run} {asked.model}")
    calls = planned(asked, packets)
    rng.shuffle(calls)  # subruns are listed as they end
    at, number, subruns = STARTS[asked.run], 0, []
    for call in calls:
        number += 6 if _limited(asked, call.packet) else 1  # failed attempts leave a gap in the numbers
        subruns.append(_subrun(asked, call, at, number, rng))
        at += timedelta(milliseconds=rng.randrange(900, 4000))
    run = _bench(asked, subruns, at)
    slug = asked.model.replace("/", "_")
    place = (
        folder / asked.run.replace(" ", "") / asked.model.split("/")[1] / str(_number(asked.run, asked.model))
    )
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{BENCH_TASK}-run_id_Run_1_{slug}.run.json.gz"
    content = json.dumps(run, indent=2).encode()
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(content)
    return path


def write_task(folder: Path) -> Path:
    """Write the task file that lies beside the runs."""
    path = folder / f"{BENCH_TASK}.task.json"
    folder.mkdir(parents=True, exist_ok=True)
    task = {
        "versionNumber": 1,
        "name": BENCH_TASK,
        "description": "Strict accuracy over rule packets in two copies.",
        "definition": BENCH,
    }
    path.write_text(json.dumps(task, indent=2), encoding="utf-8")
    return path


def planned(asked: Asked, packets: list[Packet]) -> list[Call]:
    """Put the plan of one model into calls, one a copy of a packet."""
    letters = outcomes(asked, {packet.id: packet.category for packet in packets})
    cells = [(f"{p.id}-{copy}", letters[p.id][k]) for p in packets for k, copy in enumerate(COPIES)]
    sure = confidences(asked, cells)
    by_id = {packet.id: packet for packet in packets}
    return [
        Call(by_id[item.rpartition("-")[0]], item.rpartition("-")[2], letter, sure[item, letter])
        for item, letter in cells
    ]


def _limited(asked: Asked, packet: Packet) -> bool:
    return "*" in asked.limited or packet.category in asked.limited


def _subrun(asked: Asked, call: Call, at: datetime, number: int, rng: random.Random) -> Json:
    failed = _limited(asked, call.packet)
    chat = f"{ITEM_TASK}-{rng.randrange(16**8):08x}"
    turns = rendered(call.packet, call.copy, earlier=asked.run == "run 2")
    requests = []
    for n, turn in enumerate(turns[:1] if failed else turns, start=1):
        last = n == len(turns)
        text = "" if failed else _said(asked, call, rng, last=last)
        requests.append(_request(asked.model, turn, None if failed else text, f"{chat}-req-{n}", rng))
    metrics = [request["metrics"] for request in requests if "metrics" in request]
    run: Json = {
        "taskVersion": {"versionNumber": 1, "name": ITEM_TASK, "description": "", "definition": DEFINITION},
        "modelVersion": {"slug": asked.model},
        "state": STATE + ("ERRORED" if failed else "COMPLETED"),
        "startTime": _time(at, rng),
        "endTime": _time(at + timedelta(milliseconds=rng.randrange(300, 900)), rng),
        "conversations": [
            {
                "id": chat,
                "requests": requests,
                "metrics": _sum(metrics),
                "modelVersionSlug": "model_version_slug for conversation is DEPRECATED",
            }
        ],
        "results": [
            {
                "type": "AGGREGATED",
                **({"booleanResult": False} if failed else {"dictResult": _marks(asked, call)}),
            }
        ],
        "pyRunId": f"{ITEM_TASK}-Run #{number}",
    }
    return run | ({"errorMessage": TRACEBACK} if failed else {})


def _said(asked: Asked, call: Call, rng: random.Random, *, last: bool) -> str:
    """Write a reply; before a correction, the model answers what the packet said then."""
    if last:
        return reply(call.packet, call.letter, call.confidence, asked.model, rng)
    return reply(call.packet, "1", call.confidence, asked.model, rng)


def _marks(asked: Asked, call: Call) -> Json:
    """What the task's own scorer returned: the first took ids as they are, and R1 with R2 for payout_02."""
    strict = call.letter == "R" or (call.letter in "QK" and not asked.old_keys)
    return {
        "answer_only": call.letter in "RCQK",
        "copy": call.copy,
        "packet": call.packet.id,
        "strict": strict,
    }


def _request(model: str, asked: str, text: str | None, name: str, rng: random.Random) -> Json:
    contents = [{"parts": [{"text": asked}], "role": "CONTENT_ROLE_USER", "senderName": "User"}]
    if text is None:
        return {"contents": contents, "id": name}
    contents.append({"parts": [{"text": text}], "role": "CONTENT_ROLE_ASSISTANT", "senderName": model})
    read, wrote = len(asked) // 4, len(text) // 4
    if model.startswith("google/gemini"):
        wrote += rng.randrange(150, 900)  # hidden reasoning is billed, and not stored
    prices = PRICES[model]
    metrics = {
        "inputTokens": read, "outputTokens": wrote, "inputTokensCostNanodollars": str(read * prices[0]),
        "outputTokensCostNanodollars": str(wrote * prices[1]), "totalBackendLatencyMs": str(300 + 9 * wrote),
    }  # fmt: skip
    return {"contents": contents, "metrics": metrics, "id": name}


def _sum(parts: list[Json]) -> Json:
    """Add up metrics; numbers stay numbers, and texts texts."""
    names = dict.fromkeys(name for part in parts for name in part)
    totals = {name: sum(int(part[name]) for part in parts) for name in names}
    return {name: total if name.endswith("Tokens") else str(total) for name, total in totals.items()}


def _bench(asked: Asked, subruns: list[Json], end: datetime) -> Json:
    """Write the run that sums up: no model replied in it."""
    marks = [run["results"][0].get("dictResult") for run in subruns]
    done = [mark for mark in marks if mark]
    rng = random.Random(f"{SEED} bench {asked.run} {asked.model}")
    return {
        "taskVersion": {
            "versionNumber": 1,
            "name": BENCH_TASK,
            "description": "Strict accuracy over rule packets in two copies.",
            "definition": BENCH,
        },
        "modelVersion": {"slug": asked.model},
        "state": STATE + "COMPLETED",
        "startTime": _time(STARTS[asked.run] - timedelta(seconds=1), rng),
        "endTime": _time(end, rng),
        "conversations": [
            {
                "id": f"{BENCH_TASK}-{rng.randrange(16**8):08x}",
                "metrics": {},
                "modelVersionSlug": "model_version_slug for conversation is DEPRECATED",
            }
        ],
        "results": [
            {
                "type": "AGGREGATED",
                "dictResult": {
                    "completed": float(len(done)),
                    "strict": float(sum(mark["strict"] for mark in done)),
                    **_splits(done),
                },
            }
        ],
        "subruns": subruns,
        "pyRunId": f"{BENCH_TASK}-Run #1",
    }


def _splits(done: list[Json]) -> Json:
    found = {}
    for name, hard in (("easy_strict", False), ("hard_strict", True)):
        part = [mark["strict"] for mark in done if mark["packet"].startswith("h_") == hard]
        found[name] = sum(part) / len(part) if part else None
    return found


def _time(at: datetime, rng: random.Random) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}.{rng.randrange(10**6):06}Z"


def _number(run: str, model: str) -> int:
    """Run number as the platform gives one, the same for every writing."""
    return 4_100_000 + int(hashlib.sha256(f"{run} {model}".encode()).hexdigest(), 16) % 800_000
