"""Write vLLM `run_batch` output: gzipped JSON Lines, in the order of the input, a failed call before its retry.

Ids are numbered instead of drawn: 40,000 random ones would be most of the file. The jobs kept the answers, not the
reasoning.
"""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

from decisions import CUT, LOST, Answers
from families import by_item, prompt
from plan import EXTRACTION, SEED, Model
from replies import TOKENS, direct, extraction

Json = dict[str, Any]
MEDIAN_THINKING, LIMIT = 476, 4096
"""Published: the median of the output tokens of a direct decision with thinking on. The limit is fitted."""

RETRIED = 0.003
"""Fitted: share of calls that the server failed once."""


def write_batch(
    path: Path, model: Model, condition: str, answers: Answers, *, thinking: bool = False
) -> Path:
    """Write the output of one job."""
    rng = random.Random(f"{SEED} batch {path.parent.name} {condition}")
    name = f"{rng.randrange(16**12):012x}"
    tokens = _thinking_tokens(answers, rng) if thinking else {}
    lines: list[Json] = []
    for item, answer in answers.items():
        if answer == LOST or rng.random() < RETRIED:
            lines.append(_failed(item, name, len(lines)))
        if answer != LOST:
            lines.append(_line(item, answer, model, condition, name, len(lines), tokens.get(item), rng))
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines).encode())
    return path


def _ids(name: str, number: int) -> tuple[str, str]:
    own = f"{name}{number:020x}"
    return f"vllm-{own}", f"vllm-batch-{own}"


def _failed(item: str, name: str, number: int) -> Json:
    own, request = _ids(name, number)
    error = {"message": "EngineCore encountered an issue.", "type": "InternalServerError", "code": 500}
    response = {"status_code": 500, "request_id": request, "body": None}
    return {"id": own, "custom_id": item, "response": response, "error": {"error": error}}


def _line(
    item: str, answer: str, model: Model, condition: str, name: str, number: int, thought: int | None,
    rng: random.Random,
) -> Json:  # fmt: skip
    family, cell = by_item()[item]
    spent = thought is not None and answer == CUT
    text: str | None
    if condition == EXTRACTION:
        text = extraction(family, cell, answer, rng)
        wrote = len(text) // 3
    else:
        text = None if spent else direct(answer, model.name, rng)
        wrote = thought or _tokens(text or "")
    own, request = _ids(name, number)
    read = (len(prompt(family, cell)) + (300 if condition != "direct" else 0)) // 4
    message = {"role": "assistant", "content": text, "refusal": None, "tool_calls": [], "reasoning": None}
    body = {
        "id": f"chatcmpl-{own[5:]}", "object": "chat.completion", "created": 1_790_300_000 + number // 40,
        "model": model.slug,
        "choices": [{"index": 0, "message": message, "logprobs": None,
                     "finish_reason": "length" if spent else "stop", "stop_reason": None, "token_ids": None}],
        "usage": {"prompt_tokens": read, "total_tokens": read + wrote, "completion_tokens": wrote},
    }  # fmt: skip
    response = {"status_code": 200, "request_id": request, "body": body}
    return {"id": own, "custom_id": item, "response": response, "error": None}


def _tokens(text: str) -> int:
    """Count roughly as a tokenizer does; the bare decision has known counts."""
    bare = {f'{{"decision": "{decision}"}}': n for decision, n in TOKENS.items()}
    return bare.get(text, len(text) // 3)


def _thinking_tokens(answers: Answers, rng: random.Random) -> dict[str, int]:
    """Draw tokens with thinking on, with the published median; what was cut off has reached the limit."""
    cut = [item for item, answer in answers.items() if answer == CUT]
    rest = [item for item in answers if answers[item] != CUT]
    half = len(answers) // 2
    low = [int(rng.triangular(150, MEDIAN_THINKING, 430)) for _ in range(half - 1)]
    high = [
        MEDIAN_THINKING + 1 + min(int(rng.expovariate(1 / 320)), 3000) for _ in range(len(rest) - half - 1)
    ]
    drawn = [*low, MEDIAN_THINKING, MEDIAN_THINKING, *high]
    rng.shuffle(drawn)
    return dict(zip(rest, drawn, strict=True)) | dict.fromkeys(cut, LIMIT)
