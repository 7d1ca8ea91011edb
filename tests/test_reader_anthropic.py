"""Anthropic Message Batches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED, needs_shared
from run_files import column, read, written

import pairstats as ps
from pairstats.errors import PairingError, ReadError
from pairstats.readers.anthropic import READER
from pairstats.readers.base import Declined, Recognized
from pairstats.readers.requests import NOTE
from pairstats.readers.states import OTHER, words

SAMPLES = SHARED / "samples"
NAME = "batch_results.jsonl"
Json = dict[str, Any]


def succeeded(*content: Json, stop: str = "end_turn", name: str = "q", model: str = "claude-1-2026") -> Json:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 0,
             "output_tokens": 2}  # fmt: skip
    message = {"id": f"msg_{name}", "type": "message", "role": "assistant", "model": model,
               "content": list(content), "stop_reason": stop, "usage": usage}  # fmt: skip
    return {"custom_id": name, "result": {"type": "succeeded", "message": message}}


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def errored(error: Any, name: str = "q") -> Json:
    return {"custom_id": name, "result": {"type": "errored", "error": error}}


def test_fields_of_a_result(tmp_path: Path) -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "x"}
    file = written(tmp_path, NAME, [succeeded(thought, text("A"), text("!"))])
    assert READER.recognize(file) == Recognized("batch results")
    [record], left_out = read(READER, file)
    assert not left_out
    assert record.fields == {
        "item": "q", "model": "claude-1-2026", "status": "answered", "response": "A!", "input_tokens": 15,
        "output_tokens": 2, "response_id": "msg_q",
    }  # fmt: skip
    assert record.scores == {}


STATUSES: list[tuple[Json, str, str | None]] = [
    (succeeded(text("A")), "answered", None),
    (succeeded(text("A"), stop="stop_sequence"), "answered", None),
    (succeeded(text("A"), stop="max_tokens"), "answered", "length"),
    (succeeded(stop="max_tokens"), "truncated", "max_tokens"),
    (succeeded(text(" \n"), stop="model_context_window_exceeded"), "truncated", "context"),
    (succeeded({"type": "thinking", "thinking": "A"}), "empty", None),
    (succeeded(), "empty", None),
    (succeeded(stop="refusal"), "refused", None),
    (succeeded(text("I can't"), stop="refusal"), "refused", None),
    (succeeded({"type": "tool_use", "name": "f", "input": {}}, stop="tool_use"), "answered", None),
    (succeeded(text("so far"), stop="pause_turn"), "answered", "pause_turn"),
    (succeeded(stop="pause_turn"), "truncated", "pause_turn"),
    ({"custom_id": "q", "result": {"type": "expired"}}, "error", "batch_expired"),
    ({"custom_id": "q", "result": {"type": "canceled"}}, "error", "batch_cancelled"),
    (
        errored({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}),
        "error",
        "overloaded",
    ),
    (errored({"type": "rate_limit_error", "message": "m"}), "error", "rate_limit"),
    (errored({"type": "new_error", "message": "prompt is too long"}), "error", "invalid_request"),
    (errored({"type": "new_error", "message": "odd"}), "error", "unknown"),
    (errored(None), "error", "unknown"),
    (errored("Internal server error"), "error", "server_error"),
]


@pytest.mark.parametrize(("line", "status", "reason"), STATUSES)
def test_status_and_reason(tmp_path: Path, line: Json, status: str, reason: str | None) -> None:
    records, left_out = read(READER, written(tmp_path, NAME, [line]))
    assert not left_out
    assert (column(records, "status"), column(records, "reason")) == ([status], [reason])


@pytest.mark.parametrize("kind", words("anthropic", "result.error.type"))
def test_both_shapes_of_an_error_are_one(tmp_path: Path, kind: str) -> None:
    inner = {"type": kind, "message": "m"}
    nested = {"type": "error", "error": inner, "request_id": None}
    records, _ = read(READER, written(tmp_path, NAME, [errored(nested, "a"), errored(inner, "b")]))
    told = words("anthropic", "result.error.type")[kind].reason
    assert column(records, "reason") == ["unknown" if kind == OTHER else told] * 2


def test_model_of_a_failed_request(tmp_path: Path) -> None:
    failed = {"custom_id": "x", "result": {"type": "expired"}}
    one = written(tmp_path, NAME, [succeeded(text("A")), failed])
    assert column(read(READER, one)[0], "model") == ["claude-1-2026"] * 2
    two = written(tmp_path, NAME, [succeeded(text("A")), succeeded(text("A"), name="r", model="m2"), failed])
    assert column(read(READER, two)[0], "model") == ["claude-1-2026", "m2", None]
    with pytest.raises(PairingError, match="The model must be known, but 1 of 3 records"):
        ps.read_runs(two.path, family="item")
    written(tmp_path, "batch_requests.jsonl", [{"custom_id": "x", "params": {"model": "m3", "messages": []}}])
    assert column(read(READER, two)[0], "model") == ["claude-1-2026", "m2", "m3"]
    one = written(tmp_path, NAME, [succeeded(text("A")), failed])
    assert column(read(READER, one)[0], "model") == ["claude-1-2026", "m3"]


def test_requests_are_known_and_a_client_s_list_of_them_is_a_companion(tmp_path: Path) -> None:
    request = {"custom_id": "x", "params": {"model": "m", "messages": []}}
    seen = READER.recognize(written(tmp_path, "requests.jsonl", [request]))
    assert seen == Recognized("batch requests", note=NOTE)
    seen = READER.recognize(written(tmp_path, "r.json", json.dumps({"requests": [request]}, indent=2)))
    assert isinstance(seen, Recognized)
    assert seen.companion == "batch requests: asked, without replies"


def test_a_file_read_twice_is_merged_and_a_second_reply_is_refused(tmp_path: Path) -> None:
    lines = [succeeded(text("A")), {"custom_id": "x", "result": {"type": "expired"}}]
    for name in ("a.jsonl", "b.jsonl"):
        written(tmp_path, name, lines)
    records = ps.read_runs(tmp_path, family="item")
    assert records.ledger[["records", "rows", "merged"]].sum().tolist() == [4, 2, 2]
    again = succeeded(text("A"))
    again["result"]["message"]["id"] = "msg_other"
    written(tmp_path, "b.jsonl", [again])
    with pytest.raises(PairingError, match="A key must be one reply"):
        ps.read_runs(tmp_path, family="item")


@pytest.mark.parametrize(
    "content",
    ["", "prose", "[]", '{"custom_id": "q"}', '{"custom_id": "q", "result": {"type": "odd"}}',
     '{"custom_id": "q", "result": "errored"}', '{"custom_id": "q", "response": {}}', b"\x80",
     '{"custom_id": "q", "params": null}', '{"custom_id": "q", "url": "/v1", "body": {"model": "m"}}'],
)  # fmt: skip
def test_other_files_are_declined(tmp_path: Path, content: str | bytes) -> None:
    assert isinstance(READER.recognize(written(tmp_path, NAME, content)), Declined)


@pytest.mark.parametrize("bad", ['{"custom_id": "x", "resu', '{"custom_id": "x"}', "[1]", '{"a": 1, "a": 2}'])
def test_broken_lines_are_refused_or_counted(tmp_path: Path, bad: str) -> None:
    good = json.dumps(succeeded(text("A")))
    file = written(tmp_path, NAME, f"{good}\n{bad}\n")
    with pytest.raises(ReadError, match=f"{NAME}:2 "):
        read(READER, file)
    records, left_out = read(READER, file, keep_going=True)
    assert (len(records), len(left_out)) == (1, 1)


@pytest.mark.parametrize(
    "message",
    [{}, {"content": "A", "usage": {"input_tokens": []}},
     {"id": {}, "content": "A", "usage": {"input_tokens": -(2**70), "output_tokens": "2"}}],
)  # fmt: skip
def test_values_of_a_wrong_type_are_unknown(tmp_path: Path, message: Any) -> None:
    line = {"custom_id": "q", "result": {"type": "succeeded", "message": message}}
    records = ps.read_runs({"m": written(tmp_path, NAME, [succeeded(text("A"), name="p"), line]).path},
                           family="item")  # fmt: skip
    assert records.frame["output_tokens"].tolist()[0] == 2
    assert records.frame["output_tokens"].isna().tolist() == [False, True]


@needs_shared
@pytest.mark.parametrize("system", ["6b_finetuning", "175b_verification"])
def test_replayed_answers_equal_the_truth(tmp_path: Path, system: str) -> None:
    source = (SAMPLES / "gsm8k_openai_wide/example_model_solutions.jsonl").read_text().splitlines()
    truth = [json.loads(line) for line in source]
    records = ps.read_runs(SAMPLES / f"anthropic_batch/constructed/{system}_results.jsonl", family="item")
    frame = records.frame
    assert frame["status"].value_counts().to_dict() == {"answered": 36, "error": 3, "refused": 1}
    assert set(frame["reason"].dropna()) == {"overloaded", "batch_expired", "batch_cancelled", "length"}
    answered = frame[frame["status"] == "answered"]
    for item, reply in zip(answered["item"], answered["response"], strict=True):
        solution = truth[int(item.rsplit("-", 1)[1])][system]["solution"]
        assert reply == solution or solution.startswith(reply.rstrip()[:20])
    exact = [
        reply.split("A:")[-1].strip() == truth[int(item.rsplit("-", 1)[1])]["ground_truth"].split("A:")[-1].strip()
        for item, reply in zip(answered["item"], answered["response"], strict=True)
    ]  # fmt: skip
    expected = [truth[int(item.rsplit("-", 1)[1])][system]["is_correct"] for item in answered["item"]]
    whole = [reason != "length" for reason in answered["reason"]]
    assert [a for a, w in zip(exact, whole, strict=True) if w] == [
        e for e, w in zip(expected, whole, strict=True) if w
    ]


@needs_shared
def test_shapes() -> None:
    frame = ps.read_runs(SAMPLES / "batch_shapes/anthropic_batch_results.jsonl", family="item").frame
    assert frame["status"].value_counts().to_dict() == {"error": 4, "answered": 2, "refused": 1}
    assert frame["reason"].dropna().tolist() == [
        "length", "overloaded", "invalid_request", "batch_expired", "batch_cancelled",
    ]  # fmt: skip
    docs = ps.read_runs(SAMPLES / "anthropic_batch/docs/docs_example.jsonl", family="item").frame
    assert docs[["model", "status", "input_tokens", "output_tokens"]].values.tolist() == [
        ["claude-sonnet-4-5-20250929", "answered", 11, 36]
    ]


def requested(*names: str, model: str = "claude-1") -> list[Json]:
    return [{"custom_id": name, "params": {"model": model, "messages": []}} for name in names]


LIMIT = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
ALIAS = "'claude-1' was asked for and 'claude-1-2026' answered: requests without a reply count for it"


@pytest.mark.parametrize("read_requests", [True, False])
@pytest.mark.parametrize("workers", [1, 2])
def test_an_alias_and_its_dated_version_are_one_model(
    tmp_path: Path, read_requests: bool, workers: int
) -> None:
    written(tmp_path, "b_requests.jsonl", requested("a", "b", "c", "d"))
    expired = {"custom_id": "c", "result": {"type": "expired"}}
    written(tmp_path, "b_results.jsonl", [succeeded(text("A"), name="a"), errored(LIMIT, "b"), expired])
    pattern = "b_*.jsonl" if read_requests else "b_results.jsonl"
    records = ps.read_runs(tmp_path / pattern, family="item", workers=workers, progress=False)
    rows = {row["item"]: (row["status"], row["model"]) for row in records.table.to_pylist()}
    expected = {"a": "answered", "b": "error", "c": "error"} | ({"d": "absent"} if read_requests else {})
    assert rows == {item: (status, "claude-1-2026") for item, status in expected.items()}
    assert all(ALIAS in note for note in records.ledger["note"])
    assert "unserved_model" not in records.table.column_names


@pytest.mark.parametrize("workers", [1, 2])
def test_an_alias_that_never_answered_has_its_name_from_another_file(tmp_path: Path, workers: int) -> None:
    written(tmp_path, "1_requests.jsonl", requested("a", "b"))
    written(tmp_path, "1_results.jsonl", [errored(LIMIT, "a")])
    written(tmp_path, "2_results.jsonl", [succeeded(text("A"), name="a")])
    records = ps.read_runs(tmp_path, family="item", workers=workers, progress=False)
    rows = {row["item"]: (row["status"], row["model"]) for row in records.table.to_pylist()}
    assert rows == {"a": ("answered", "claude-1-2026"), "b": ("absent", "claude-1-2026")}


def test_an_alias_that_may_be_two_models_stays(tmp_path: Path) -> None:
    written(tmp_path, "b_requests.jsonl", requested("a", "b", "c"))
    replies = [succeeded(text("A"), name=name, model=f"claude-1-202{name}") for name in "56"]
    written(tmp_path, "b_results.jsonl", [*replies, errored(LIMIT, "b")])
    frame = ps.read_runs(tmp_path / "b_results.jsonl", family="item", progress=False).frame
    assert frame["model"].tolist() == ["claude-1-2025", "claude-1-2026", "claude-1"]


def test_several_aliases_keep_their_failures(tmp_path: Path) -> None:
    asked = [*requested("a", "b"), *requested("x", "y", model="claude-2")]
    written(tmp_path, "b_requests.jsonl", asked)
    replies = [succeeded(text("A"), name="a"), succeeded(text("A"), name="x", model="claude-2-2027")]
    written(tmp_path, "b_results.jsonl", [*replies, errored(LIMIT, "b"), errored(LIMIT, "y")])
    frame = ps.read_runs(tmp_path, family="item", progress=False).frame
    assert dict(zip(frame["item"], frame["model"], strict=True)) == {
        "a": "claude-1-2026", "x": "claude-2-2027", "b": "claude-1-2026", "y": "claude-2-2027",
    }  # fmt: skip


def test_an_alias_unlike_its_model_is_known_by_the_requests_it_answered(tmp_path: Path) -> None:
    written(
        tmp_path, "b_requests.jsonl", requested("a", "b", "c", model="fast") + requested("x", model="slow")
    )
    replies = [succeeded(text("A"), name="a"), succeeded(text("A"), name="x", model="claude-2-2027")]
    written(tmp_path, "b_results.jsonl", [*replies, errored(LIMIT, "b")])
    for pattern, items in (("b_results.jsonl", "abx"), ("*.jsonl", "abcx")):
        records = ps.read_runs(tmp_path / pattern, family="item", progress=False)
        models = dict(zip(records.frame["item"], records.frame["model"], strict=True))
        assert models == {item: "claude-2-2027" if item == "x" else "claude-1-2026" for item in items}
        assert all("'fast' was asked for and 'claude-1-2026'" in note for note in records.ledger["note"])
