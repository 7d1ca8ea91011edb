"""Rows equal to what the platforms' own packages say of the same files (``tests/golden/make_golden.py``)."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED, needs_shared

import pairstats as ps

GOLDEN = Path(__file__).parent / "golden"
OWN = SHARED / "samples/own"
LETTERS = {"C": 1.0, "I": 0.0, "N": None}
STOPPED = {"end_turn": None, "stop_sequence": None, "max_tokens": "length"}
FAILED = {
    "rate_limit_error": "rate_limit", "overloaded_error": "overloaded",
    "invalid_request_error": "invalid_request", "api_error": "server_error",
}  # fmt: skip


def golden(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


def digest(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()[:12]


def number(value: Any) -> float | None:
    """Score as the table holds it: letters as numbers, NaN as null."""
    if isinstance(value, str):
        return LETTERS.get(value)
    return None if value is None else float(value)


def flat(scores: dict[str, Any]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name, value in scores.items():
        parts = value if isinstance(value, dict) else {"": value}
        found |= {f"{name}.{key}" if key else name: number(part) for key, part in parts.items()}
    return found


@needs_shared
@pytest.mark.parametrize("folder", golden("inspect")["folders"])
def test_inspect_logs_equal_read_eval_log(folder: str) -> None:
    files = {path.name for path in (OWN / folder).iterdir()}
    expected = [row for row in golden("inspect")["rows"] if row["file"] in files]
    by_system: Any = {"model": "eval.metadata.system"} if expected[0]["system"] else {}
    records = ps.read_runs(
        OWN / folder, **by_system, family="metadata.family_id", variant="metadata.variant",
        score="letter_match", extra={"served": "eval.model"},
    )  # fmt: skip
    found = {
        (r["model"], r["item"], r["repeat"]): r for r in records.table.to_pylist() if r["status"] != "absent"
    }
    assert len(expected) == len(found) > 0
    for row in expected:
        mine = found[row["system"] or row["model"], row["item"], row["repeat"]]
        assert (mine["status"] == "error") == row["error"]
        assert (mine["served"], mine["family"], mine["gold"]) == (row["model"], row["family"], row["gold"])
        assert (mine["input_tokens"], mine["output_tokens"]) == (row["input_tokens"], row["output_tokens"])
        assert mine["latency_s"] == row["latency_s"]
        if mine["reason"] != "context":  # there the host's words stand where a reply would
            assert digest(mine["response"]) == row["response"], mine["source"]
        scores = {
            "score" if name == "letter_match" else name: value for name, value in flat(row["scores"]).items()
        }
        for name, value in scores.items():
            held = next(mine[each] for each in (name, f"score_{name}", f"value_{name}") if each in mine)
            if not row["error"]:
                assert held == value or (held is None and value is None), (mine["source"], name)
        answer = row["answers"].get("letter_match")
        if mine["status"] == "answered" and answer:
            assert mine["answer"] == answer


@needs_shared
def test_openai_batch_equals_the_types_of_openai() -> None:
    content = golden("openai")
    records = ps.read_runs(OWN.parent / "own" / content["file"], family="item")
    found = {row["item"]: row for row in records.table.to_pylist()}
    assert len(found) == len(content["rows"]) == 179
    for row in content["rows"]:
        mine = found[row["item"]]
        names = ("model", "response_id", "input_tokens", "output_tokens")
        assert [mine[name] for name in names] == [row[name] for name in names]
        assert digest(mine["response"]) == row["response"]
        assert mine["reason"] == ("length" if row["finish"] == "length" else None)
        assert mine["status"] == ("answered" if row["response"] not in (None, digest("")) else mine["status"])


def test_anthropic_batch_equals_the_types_of_anthropic() -> None:
    rows = golden("anthropic")["rows"]
    records = ps.read_runs(GOLDEN / "anthropic_results.jsonl", family="item")
    found = {row["item"]: row for row in records.table.to_pylist()}
    assert len(found) == len(rows) == 18
    for row in rows:
        mine = found[row["item"]]
        if row["type"] == "succeeded":
            names = ("model", "response_id", "input_tokens", "output_tokens")
            assert [mine[name] for name in names] == [row[name] for name in names]
            assert digest(mine["response"]) == row["response"]
            if row["stop"] == "refusal":
                assert mine["status"] == "refused"
            else:
                assert mine["status"] == "answered"
                assert mine["reason"] == STOPPED[row["stop"]]
        else:
            reasons = {"expired": "batch_expired", "canceled": "batch_cancelled"}
            assert mine["status"] == "error"
            assert mine["reason"] == (reasons.get(row["type"]) or FAILED[row["error"]])
            assert mine["input_tokens"] is None
            assert mine["score"] is None


def test_golden_rows_say_what_made_them() -> None:
    for name in ("inspect", "openai", "anthropic"):
        assert set(golden(name)["made_by"]) == {"inspect_ai", "openai", "anthropic"}
    assert any(math.isfinite(row["latency_s"]) for row in golden("inspect")["rows"] if row["latency_s"])
