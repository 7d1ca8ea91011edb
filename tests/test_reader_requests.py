"""Requests of a batch: what no file answers is an absent row, what is answered is counted once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED, needs_shared
from run_files import written

import pairstats as ps
from pairstats.errors import ReadError
from pairstats.readers.requests import ANSWERED, UNTOLD

OWN = SHARED / "samples/own/openai_loop"
Json = dict[str, Any]


def asked(name: str, model: str = "m") -> Json:
    body = {"model": model, "messages": [{"role": "user", "content": f"Q {name}"}]}
    return {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}


def answer(name: str, model: str = "m-2026-01-01") -> Json:
    message = {"role": "assistant", "content": "A"}
    body = {
        "id": f"c-{name}-{model}", "object": "chat.completion", "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }  # fmt: skip
    return {
        "id": f"b-{name}",
        "custom_id": name,
        "response": {"status_code": 200, "body": body},
        "error": None,
    }


def failed(name: str) -> Json:
    return {"id": f"b-{name}", "custom_id": name, "response": None, "error": {"code": "batch_expired"}}


def test_a_request_without_an_answer_is_absent(tmp_path: Path) -> None:
    written(tmp_path, "b_input.jsonl", [asked(name) for name in "abcd"])
    written(tmp_path, "b_output.jsonl", [answer("c"), answer("a")])
    written(tmp_path, "b_error.jsonl", [failed("b")])
    records = ps.read_runs(tmp_path, family="item")
    found = {row["item"]: (row["status"], row["reason"], row["model"]) for row in records.table.to_pylist()}
    assert found == {
        "a": ("answered", None, "m-2026-01-01"), "b": ("error", "batch_expired", "m-2026-01-01"),
        "c": ("answered", None, "m-2026-01-01"), "d": ("absent", "no_answer_line", "m-2026-01-01"),
    }  # fmt: skip
    ledger = records.ledger.set_index("file")
    assert ledger.loc["b_input.jsonl", ["records", "rows", "absent", "left_out"]].tolist() == [4, 1, 1, 3]
    assert set(records.left_out["reason"]) == {ANSWERED}
    assert "asked_model" not in records.table.column_names


def test_answers_get_the_digest_of_their_prompt(tmp_path: Path) -> None:
    written(tmp_path, "b_input.jsonl", [asked("a"), asked("b")])
    written(tmp_path, "b_output.jsonl", [answer("a"), answer("b")])
    logged = {"item": "c", "request": asked("a")["body"], "response": answer("c")["response"]["body"]}
    written(tmp_path, "log.jsonl", [logged])
    rows = {
        row["item"]: row["prompt_sha256"] for row in ps.read_runs(tmp_path, family="item").table.to_pylist()
    }
    assert rows["a"] == rows["c"] != rows["b"]
    assert None not in rows.values()


def test_what_only_the_request_tells_may_be_mapped(tmp_path: Path) -> None:
    requests, answers = [asked(name) for name in "abc"], [answer(name) for name in "ab"]
    for number, request in enumerate(requests):
        request["body"]["metadata"] = {"family": f"f{number}", "told": "request"}
    answers[1]["response"]["body"]["metadata"] = {"told": "reply"}
    written(tmp_path, "b_input.jsonl", requests)
    written(tmp_path, "b_output.jsonl", answers)
    found = ps.read_runs(tmp_path, family="body.metadata.family", category="body.metadata.told").frame
    assert found[["item", "family", "category", "status"]].values.tolist() == [
        ["a", "f0", "request", "answered"], ["b", "f1", "reply", "answered"], ["c", "f2", "request", "absent"],
    ]  # fmt: skip


def test_several_batches_are_joined_by_their_names(tmp_path: Path) -> None:
    for model in ("x", "y"):
        written(tmp_path, f"input_{model}.jsonl", [asked("a", "m"), asked("b", "m")])
    written(tmp_path, "output_x.jsonl", [answer("a", "x-1")])
    written(tmp_path, "output_y.jsonl", [answer("b", "y-1"), answer("a", "y-1")])
    frame = ps.read_runs(tmp_path, family="item").frame
    assert Counter(zip(frame["model"], frame["item"], frame["status"], strict=True)) == {
        ("x-1", "a", "answered"): 1, ("x-1", "b", "absent"): 1,
        ("y-1", "a", "answered"): 1, ("y-1", "b", "answered"): 1,
    }  # fmt: skip


def test_several_batches_are_joined_by_their_models(tmp_path: Path) -> None:
    written(tmp_path, "one.jsonl", [asked("a", "x"), asked("b", "x")])
    written(tmp_path, "two.jsonl", [asked("a", "y"), asked("b", "y")])
    written(tmp_path, "answers.jsonl", [answer("a", "x-2026"), answer("a", "y"), answer("b", "y")])
    frame = ps.read_runs(tmp_path, family="item").frame
    assert frame.loc[frame["status"] == "absent", ["model", "item"]].values.tolist() == [["x-2026", "b"]]


def test_a_model_whose_name_begins_anothers_is_another(tmp_path: Path) -> None:
    written(tmp_path, "requests_a.jsonl", [asked(name, "gpt-4o") for name in "abc"])
    written(tmp_path, "requests_b.jsonl", [asked(name, "gpt-4o-mini") for name in "abc"])
    written(tmp_path, "batch_111_output.jsonl", [answer(name, "gpt-4o-2024-08-06") for name in "ab"])
    written(tmp_path, "batch_222_output.jsonl", [answer(name, "gpt-4o-mini-2024-07-18") for name in "abc"])
    records = ps.read_runs(tmp_path, family="item")
    assert Counter(zip(records.frame["model"], records.frame["status"], strict=True)) == {
        ("gpt-4o-2024-08-06", "answered"): 2, ("gpt-4o-2024-08-06", "absent"): 1,
        ("gpt-4o-mini-2024-07-18", "answered"): 3,
    }  # fmt: skip
    assert set(records.left_out["reason"]) == {ANSWERED}


def test_the_answers_of_another_model_are_none_of_the_only_batch(tmp_path: Path) -> None:
    written(tmp_path, "requests.jsonl", [asked(name, "gpt-4o") for name in "ab"])
    written(tmp_path, "batch_111.jsonl", [answer("a", "gpt-4o-2024-08-06")])
    written(tmp_path, "batch_222.jsonl", [answer(name, "gpt-4o-mini-2024-07-18") for name in "ab"])
    frame = ps.read_runs(tmp_path, family="item").frame
    assert frame.loc[frame["status"] == "absent", ["model", "item"]].values.tolist() == [
        ["gpt-4o-2024-08-06", "b"]
    ]


def test_a_batch_served_under_a_strange_name_is_joined_where_it_is_the_only_one(tmp_path: Path) -> None:
    written(tmp_path, "one.jsonl", [asked(name, "my-deployment") for name in "ab"])
    written(tmp_path, "answers.jsonl", [answer("a", "x-2026-01-01")])
    frame = ps.read_runs(tmp_path, family="item").frame
    assert frame["status"].tolist() == ["answered", "absent"]
    written(tmp_path, "two.jsonl", [asked(name, "their-deployment") for name in "ab"])
    records = ps.read_runs(tmp_path, family="item")
    assert Counter(records.left_out["reason"]) == {UNTOLD: 4}


def test_what_cannot_be_joined_is_said(tmp_path: Path) -> None:
    written(tmp_path, "one.jsonl", [asked("a"), asked("b")])
    written(tmp_path, "two.jsonl", [asked("a"), asked("b")])
    written(tmp_path, "answers.jsonl", [answer("a")])
    records = ps.read_runs(tmp_path, family="item")
    assert len(records) == 1
    assert Counter(records.left_out["reason"]) == {UNTOLD: 4}


def test_requests_alone_are_refused(tmp_path: Path) -> None:
    written(tmp_path, "in.jsonl", [asked("a")])
    with pytest.raises(ReadError, match="Read the answers with it"):
        ps.read_runs(tmp_path, family="item")


def test_a_batch_of_another_name_is_noted(tmp_path: Path) -> None:
    written(tmp_path, "in.jsonl", [asked("a")])
    written(tmp_path, "out.jsonl", [answer("z")])
    records = ps.read_runs(tmp_path, family="item")
    assert records.frame["status"].value_counts().to_dict() == {"answered": 1, "absent": 1}
    assert "no file answers any of its requests" in records.ledger.set_index("file").loc["in.jsonl", "note"]


def test_anthropic_requests(tmp_path: Path) -> None:
    requests = [
        {
            "custom_id": n,
            "params": {
                "model": "c",
                "messages": [{"role": "user", "content": n}],
                "metadata": {"user_id": f"f{n}"},
            },
        }
        for n in "ab"
    ]
    message = {
        "id": "msg",
        "model": "c-2026",
        "content": [{"type": "text", "text": "A"}],
        "stop_reason": "end_turn",
    }
    written(tmp_path, "requests.jsonl", requests)
    written(
        tmp_path, "results.jsonl", [{"custom_id": "b", "result": {"type": "succeeded", "message": message}}]
    )
    frame = ps.read_runs(tmp_path, family="params.metadata.user_id").frame
    assert frame[["item", "model", "status", "family"]].values.tolist() == [
        ["b", "c-2026", "answered", "fb"], ["a", "c-2026", "absent", "fa"],
    ]  # fmt: skip


@needs_shared
def test_own_batches_are_complete_and_a_lost_error_file_is_absence(tmp_path: Path) -> None:
    options: Any = {"family": ps.extract("item", r"^(\w+)-"), "variant": ps.extract("item", r"-(\w+)__")}
    whole = ps.read_runs(sorted(OWN.glob("batch_*.jsonl")), **options)
    assert whole.frame["status"].value_counts().to_dict().get("absent", 0) == 0
    assert len(whole) == 540
    assert whole.ledger["left_out"].sum() == 540
    lost = ps.read_runs(sorted({*OWN.glob("batch_*.jsonl")} - {*OWN.glob("batch_error*")}), **options)
    counts = lost.frame.groupby("model", observed=True)["status"].agg(lambda s: int((s == "absent").sum()))
    lines = {
        path.stem.removeprefix("batch_error_"): len(path.read_text().splitlines())
        for path in OWN.glob("batch_error_*")
    }
    assert counts.to_dict() == lines == {"smollm2-terse-t0": 4, "smollm2-2shot-t0": 3, "smollm2-2shot-t1": 1}
    error = (OWN / "batch_error_smollm2-2shot-t1.jsonl").read_text()
    ids = {json.loads(line)["custom_id"] for line in error.splitlines()}
    rows = lost.frame
    assert set(rows[(rows["status"] == "absent") & (rows["model"] == "smollm2-2shot-t1")]["item"]) == ids
