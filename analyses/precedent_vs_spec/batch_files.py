"""Write vLLM `run_batch` output: one gzipped JSON Lines file a model and setting, in the order of the input."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plan import PLANS, Cells, letters
from replies import deliberation, hidden, reply
from tables import SEED, SHEETS, Table, item_id, prompt

Json = dict[str, Any]
BUDGETS = {"thinking 4000": 4000, "thinking 16000": 16000}
MEDIANS = {"Qwen/Qwen3.5-4B": 43_000, "Qwen/Qwen3.5-9B": 45_008}
"""Median length in characters of the replies to conflict sheets at 16,000 tokens, as published."""

TAGGED = "Qwen/Qwen3.5-4B"
"""The model whose replies open the reasoning block themselves; for the other one the prompt does."""


def write_batches(tables: Sequence[Table], folder: Path) -> list[Path]:
    """Write the output of the pilot and of the runs with thinking on."""
    return [_write(run, model, tables, folder) for run, model in PLANS if run == "pilot" or run in BUDGETS]


def _write(run: str, model: str, tables: Sequence[Table], folder: Path) -> Path:
    rng = random.Random(f"{SEED} batch {run} {model}")
    cells = letters(run, model, tables)
    asked = [(table, dose) for table in tables for dose in SHEETS if cells[table.id, dose] != "-"]
    lengths = _lengths(run, model, cells, rng)
    lines = [_line(run, model, table, dose, cells[table.id, dose], lengths.get((table.id, dose), 0), rng)
             for table, dose in asked]  # fmt: skip
    path = folder / run.replace(" ", "_") / f"{model.split('/')[1]}.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines).encode())
    return path


def _lengths(run: str, model: str, cells: Cells, rng: random.Random) -> dict[tuple[str, str], int]:
    """Give each reply with thinking on its length; on conflict sheets the median is the published one."""
    if run not in BUDGETS:
        return {}
    cut = sorted(cell for cell, letter in cells.items() if letter == "T")
    ended = sorted(cell for cell, letter in cells.items() if letter not in "T-")
    conflict = [cell for cell in ended if cell[1] in ("1", "3", "6")]
    found = {cell: rng.randrange(1200, 5200) for cell in ended}
    if run == "thinking 4000":
        return found | {cell: rng.randrange(10_200, 11_900) for cell in cut}
    found |= {cell: rng.randrange(9_000, 38_000) for cell in conflict}
    below = (len(cut) + len(conflict)) // 2 - len(conflict) - 1  # cut ones shorter than the two in the middle
    median = MEDIANS[model]
    drawn = [
        *(rng.randrange(median - 4000, median) for _ in range(below)), median, median,
        *(rng.randrange(median + 1, median + 9000) for _ in range(len(cut) - below - 2)),
    ]  # fmt: skip
    rng.shuffle(drawn)
    return found | dict(zip(cut, drawn, strict=True))


def _line(
    run: str, model: str, table: Table, dose: str, letter: str, length: int, rng: random.Random
) -> Json:
    said = "" if letter == "T" else reply(table, letter, dose, model, rng)
    reasoning, content = None, said
    if run in BUDGETS:
        content = _thought_aloud(table, model, said, length, rng)
    elif "gpt-oss" in model:
        reasoning = hidden(table, letter, dose, rng)
    read = len(prompt(table, dose)) // 4
    wrote = BUDGETS[run] if letter == "T" else round(len(content) / 2.9) + len(reasoning or "") // 4
    message = {
        "role": "assistant", "content": content, "refusal": None, "annotations": None, "audio": None,
        "function_call": None, "tool_calls": [], "reasoning": reasoning, "reasoning_content": reasoning,
    }  # fmt: skip
    name, finish = f"{rng.randrange(16**32):032x}", "length" if letter == "T" else "stop"
    body = {
        "id": f"chatcmpl-{name}", "object": "chat.completion", "created": 1_790_200_000 + rng.randrange(90_000),
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish, "stop_reason": None,
                     "token_ids": None}],
        "service_tier": None, "system_fingerprint": None,
        "usage": {"prompt_tokens": read, "total_tokens": read + wrote, "completion_tokens": wrote,
                  "prompt_tokens_details": None},
        "prompt_logprobs": None, "prompt_token_ids": None, "kv_transfer_params": None,
    }  # fmt: skip
    response = {"status_code": 200, "request_id": f"vllm-batch-{rng.randrange(16**32):032x}", "body": body}
    return {"id": f"vllm-{name}", "custom_id": item_id(table, dose), "response": response, "error": None}


def _thought_aloud(table: Table, model: str, said: str, length: int, rng: random.Random) -> str:
    """Put deliberation in front, to the length in all; no reasoning parser was in use, so tags are in the text."""
    start = "<think>\n" if model == TAGGED else ""
    end = f"\n</think>\n\n{said}" if said else ""
    return start + deliberation(table, length - len(start) - len(end), rng) + end
