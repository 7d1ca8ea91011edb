"""Agent benchmarks: SWE-bench results, METR runs, tau-bench, aider."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED, needs_shared
from run_files import column, read, written

import pairstats as ps
from pairstats.errors import ReadError
from pairstats.readers import aider, metr, swe_bench, tau_bench
from pairstats.readers.base import Declined, Recognized

SAMPLES = SHARED / "samples"
A, B, C, D = (f"django__django-{number}" for number in (11001, 11002, 11003, 11004))
Json = dict[str, Any]


@pytest.mark.parametrize(
    "reader", [m.READER for m in (swe_bench, metr, tau_bench, aider)], ids=lambda r: r.name
)
@pytest.mark.parametrize(
    "content", ["", "prose", "[]", '{"a": true}', '{"resolved": []}', "a,b\n1,2\n", b"\x80"]
)
def test_other_files_are_declined(tmp_path: Path, reader: Any, content: str | bytes) -> None:
    assert isinstance(reader.recognize(written(tmp_path, "x", content)), Declined)


def states(records: list[Any]) -> dict[str, tuple[Any, ...]]:
    return {
        record.fields["item"]: (
            record.fields["status"], record.fields.get("reason"), record.scores.get("resolved"),
        )
        for record in records
    }  # fmt: skip


def test_resolved_lists_need_their_denominator(tmp_path: Path) -> None:
    results = json.dumps({"no_generation": [B], "no_logs": [D], "resolved": [A]})
    run = "evaluation/verified/20260101_agent"
    file = written(tmp_path, f"{run}/results/results.json", results)
    with pytest.raises(ReadError, match="must come with the instances that were tried"):
        read(swe_bench.READER, file)
    written(
        tmp_path,
        f"{run}/all_preds.jsonl",
        [{"instance_id": name, "model_patch": ""} for name in (A, B, C, D)],
    )
    records, _ = read(swe_bench.READER, file)
    assert states(records) == {
        A: ("answered", None, 1.0), B: ("empty", "no_patch", 0.0), C: ("answered", None, 0.0),
        D: ("error", "no_logs", None),
    }  # fmt: skip
    assert column(records, "model") == ["20260101_agent"] * 4
    assert column(records, "repo") == ["django__django"] * 4


def test_older_lists_name_what_was_generated(tmp_path: Path) -> None:
    results = {"generated": [A, B, C], "no_generation": [D], "resolved": [A], "install_fail": [C]}
    records, _ = read(swe_bench.READER, written(tmp_path, "results.json", json.dumps(results)))
    assert states(records) == {
        A: ("answered", None, 1.0), B: ("answered", None, 0.0), C: ("error", "install_fail", None),
        D: ("empty", "no_patch", 0.0),
    }  # fmt: skip


def test_report_of_the_harness(tmp_path: Path) -> None:
    report = {
        "total_instances": 5, "submitted_instances": 4, "resolved_instances": 1, "submitted_ids": [A, B, C],
        "completed_ids": [A, B], "resolved_ids": [A], "unresolved_ids": [B], "error_ids": [C],
        "empty_patch_ids": [], "incomplete_ids": [D],
    }  # fmt: skip
    file = written(tmp_path, "m.run.json", json.dumps(report, indent=1))
    assert swe_bench.READER.recognize(file) == Recognized("report", note=swe_bench.READER.note)
    assert states(read(swe_bench.READER, file)[0]) == {
        A: ("answered", None, 1.0), B: ("answered", None, 0.0), C: ("error", "harness_error", None),
        D: ("absent", "not_run", None),
    }  # fmt: skip


def test_maps_of_instances(tmp_path: Path) -> None:
    pro = written(
        tmp_path, "traj/agent-x/eval_results.json", json.dumps({f"instance_{A}-v1": True, B: False})
    )
    records, _ = read(swe_bench.READER, pro)
    assert column(records, "model") == ["agent-x"] * 2
    assert [record.scores["resolved"] for record in records] == [1.0, 0.0]
    details = {A: {"resolved": True, "cost": 0.5, "api_calls": 3}, B: {"resolved": False, "cost": 0.25}}
    results = [{"name": "M", "per_instance_details": details}, {"name": "N", "per_instance_details": None}]
    boards = {"leaderboards": [{"name": "Verified", "results": results}]}
    records, left_out = read(swe_bench.READER, written(tmp_path, "leaderboards.json", json.dumps(boards)))
    assert [(each.source, each.reason) for each in left_out] == [
        ("leaderboards.json:Verified.results[1]", "a total without its instances")
    ]
    assert column(records, "study") == ["Verified"] * 2
    assert column(records, "cost_usd") == [0.5, 0.25]
    assert [record.scores["resolved"] for record in records] == [1.0, 0.0]


def metr_run(task: str = "t1", alias: str = "m", **more: Any) -> Json:
    return {"run_id": 1, "task_id": task, "task_family": "f", "alias": alias, "model": "m-1", "score": 0.75,
            "score_binarized": 1, "started_at": 1000.0, "completed_at": 3500.0, "fatal_error_from": None,
            "generation_cost": 0.5, **more}  # fmt: skip


def test_metr_runs(tmp_path: Path) -> None:
    lines = [
        metr_run(), metr_run(alias="human"), metr_run(score_binarized=0),
        metr_run("t2", fatal_error_from="usageLimits", score_binarized=0),
        metr_run("t3", fatal_error_from="server", score_binarized=0),
        metr_run("t4", fatal_error_from="agent", score_binarized=0),
    ]  # fmt: skip
    file = written(tmp_path, "runs.jsonl", lines)
    seen = metr.READER.recognize(file)
    assert isinstance(seen, Recognized)
    assert "numbered in the order" in seen.note
    records, _ = read(metr.READER, file)
    assert column(records, "repeat") == [0, 0, 1, 0, 0, 0]
    assert column(records, "model") == ["m", "human", *["m"] * 4]
    assert column(records, "status") == ["answered"] * 3 + ["truncated", "error", "error"]
    assert column(records, "reason")[3:] == ["usage_limits", "server_error", "agent_error"]
    assert records[0].fields["latency_s"] == 2.5
    frame = ps.read_runs(file.path, family="task_family", score="score_binarized").frame
    assert frame["score"].isna().tolist() == [False] * 4 + [True] * 2
    assert frame["score_score"].tolist()[:4] == [0.75] * 4


def trial(task: Any = 0, number: int = 0, reward: float = 1.0, **info: Any) -> Json:
    said = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "done"}]
    return {"task_id": task, "trial": number, "reward": reward, "info": info, "traj": said}


def test_tau_bench_trials(tmp_path: Path) -> None:
    rows = [trial(), trial(0, 1, 0.0), {**trial(1, 0, 0.0, error="rate limit", traceback="..."), "traj": []}]
    file = written(tmp_path, "gpt.json", json.dumps(rows))
    assert tau_bench.READER.recognize(file) == Recognized("tau-bench")
    records, _ = read(tau_bench.READER, file)
    assert column(records, "item") == ["0", "0", "1"]
    assert column(records, "repeat") == [0, 1, 0]
    assert column(records, "status") == ["answered", "answered", "error"]
    assert column(records, "response") == ["done", "done", None]
    frame = ps.read_runs({"gpt": file.path}, family="item").frame
    assert frame["score"].isna().tolist() == [False, False, True]


def test_tau2_simulations(tmp_path: Path) -> None:
    simulations = [
        {"id": "a", "task_id": "007", "trial": 0, "reward_info": {"reward": 1.0}, "termination_reason": "user_stop",
         "agent_cost": 0.5, "duration": 2.0, "messages": [{"role": "assistant", "content": "ok"}]},
        {"id": "b", "task_id": "008", "trial": 1, "reward_info": {"reward": 0.0},
         "termination_reason": "max_steps"},
        {"id": "c", "task_id": 9, "trial": 0, "reward_info": None, "termination_reason": "agent_error"},
    ]  # fmt: skip
    info = {"agent_info": {"llm": "org/m"}, "environment_info": {"domain_name": "airline"}}
    file = written(tmp_path, "a.json", json.dumps({"info": info, "tasks": [], "simulations": simulations}))
    assert tau_bench.READER.recognize(file) == Recognized("tau2-bench")
    records, _ = read(tau_bench.READER, file)
    assert column(records, "item") == ["007", "008", "9"]
    assert column(records, "status") == ["answered", "truncated", "error"]
    assert (records[0].fields["model"], records[0].fields["study"]) == ("org/m", "airline")
    assert (records[0].fields["cost_usd"], records[0].fields["latency_s"]) == (0.5, 2.0)
    assert [record.scores["reward"] for record in records] == [1.0, 0.0, None]


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("unexpected_error", ("error", "unexpected_error")), ("infrastructure_error", ("error", "server_error")),
        ("context_window_exceeded", ("truncated", "context")), ("timeout", ("truncated", "time_limit")),
    ],
)  # fmt: skip
def test_how_a_simulation_ended(word: str, state: tuple[str, str], tmp_path: Path) -> None:
    simulation = {
        "id": "a",
        "task_id": "7",
        "trial": 0,
        "reward_info": {"reward": 0.0},
        "termination_reason": word,
    }
    whole = {"info": {"agent_info": {"llm": "m"}}, "tasks": [], "simulations": [simulation]}
    [record], _ = read(tau_bench.READER, written(tmp_path, "a.json", json.dumps(whole)))
    assert (record.fields["status"], record.fields["reason"]) == state


@needs_shared
def test_tau_bench_sample_equals_the_extract() -> None:
    """Truth: the rewards of all 200 trials, extracted from the same file; README's pass^1 is .420."""
    options: Json = {"family": "item"}
    trials = ps.read_runs({"gpt-4o": SAMPLES / "tau_bench/gpt-4o-airline.trimmed.json"}, **options).frame
    extract = ps.read_runs(SAMPLES / "tau_bench/gpt-4o-airline.rewards.csv", score="reward", **options).frame
    assert extract["score"].mean() == pytest.approx(0.42, abs=1e-12)
    key = ["item", "repeat"]
    both = trials.merge(extract, on=key, suffixes=("", "_extract"))
    assert len(both) == len(trials) == 20
    assert both["score"].equals(both["score_extract"])


def test_aider_results(tmp_path: Path) -> None:
    one = {"testcase": "bowling", "model": "m", "tests_outcomes": [False, True], "cost": 0.5, "duration": 3.0,
           "prompt_tokens": 5, "completion_tokens": 6}  # fmt: skip
    name = "exercises/practice/bowling/.aider.results.json"
    records = [
        read(aider.READER, written(tmp_path, f"{language}/{name}", json.dumps(one)))[0][0]
        for language in ("go", "rust")
    ]
    assert column(records, "item") == ["go/bowling", "rust/bowling"]
    assert column(records, "category") == ["go", "rust"]
    assert records[0].scores == {"pass_1": 0.0, "pass_2": 1.0}
    assert records[0].fields["output_tokens"] == 6
    broken = written(tmp_path, f"c/{name}", json.dumps({"testcase": "bowling", "exception": "timed out"}))
    [record], _ = read(aider.READER, broken)
    assert (record.fields["status"], record.fields["reason"], record.scores) == ("error", "timeout", {})
