"""Platforms whose files are tables of rows: Phoenix, LangSmith, Braintrust, Ragas, MLflow."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED, needs_shared
from run_files import column, read, written

import pairstats as ps
from pairstats.errors import PairingError, ReadError
from pairstats.readers import braintrust, langsmith, mlflow, phoenix, ragas
from pairstats.readers.base import Declined, Recognized
from pairstats.readers.drafts import MISSING
from pairstats.readers.outline import outline_of
from pairstats.readers.rowlog import SCORER_ERROR, content_id, state

SAMPLES = SHARED / "samples"
MODELS = ("6b_finetuning", "175b_verification")
ALL = (phoenix.READER, langsmith.READER, braintrust.READER, ragas.READER, mlflow.READER)
Json = dict[str, Any]


def as_csv(rows: list[Json]) -> str:
    text = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, names)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def phoenix_row(example: str = "e1", repetition: int = 1, score: float | None = 1.0, **more: Any) -> Json:
    return {
        "example_id": example, "repetition_number": repetition, "input": {"question": "Q"},
        "reference_output": {"answer": "18"}, "output": "18", "error": None, "latency_ms": 250.0,
        "prompt_token_count": 3, "completion_token_count": 4,
        "annotations": [{"name": "exact", "score": score}], **more,
    }  # fmt: skip


def test_state_comes_before_the_score() -> None:
    assert state("429", "text", {"a": 1.0}, False) == ("error", "rate_limit")
    assert state("boom", None, {}, False) == ("error", "task_error")
    assert state(None, "text", {"a": None, "b": float("nan")}, False) == ("error", SCORER_ERROR)
    assert state(None, "text", {"a": None}, True) == ("answered", None)
    assert state("", "text", {"a": None, "b": 0.0}, False) == ("answered", None)
    assert state(None, " ", {"a": 0.0}, False) == ("empty", None)
    assert state(None, None, {}, False) == ("error", "no_reply")
    assert state(None, MISSING, {}, False) == ("answered", None)


@pytest.mark.parametrize(
    ("head", "kind", "keys"),
    [
        (b'[{"a": {"x": 1}, "b": "}"}, {"c": 1}]', "array", ("a", "b")),
        (b'{"a": [1, {"x": 2}], "b', "object", ("a",)),
        (b'{"a": 1}\n{"b": 2}', "object", ("a",)),
        (b"[[1, 2]]", "array", ()),
        (b"[1, 2]", "array", ()),
        (b'\xef\xbb\xbf {"a\\"b": 1}', "object", ('a\\"b',)),
        (b"", "", ()),
        (b"\x80\x81", "", ()),
    ],
)
def test_outline_needs_only_the_first_bytes(head: bytes, kind: str, keys: tuple[str, ...]) -> None:
    found = outline_of(head)
    assert (found.kind, found.keys) == (kind, keys)


@pytest.mark.parametrize("reader", ALL, ids=lambda reader: reader.name)
@pytest.mark.parametrize(
    "content", ["", "prose", "[]", "[1]", '{"a": 1}', "a,b\n1,2\n", b"\x80\x81", '[{"input": 1}]']
)
def test_other_files_are_declined(tmp_path: Path, reader: Any, content: str | bytes) -> None:
    assert isinstance(reader.recognize(written(tmp_path, "x", content)), Declined)


def test_phoenix_fields(tmp_path: Path) -> None:
    file = written(tmp_path, "a.json", json.dumps([phoenix_row(), phoenix_row(repetition=2, score=0.0)]))
    assert isinstance(phoenix.READER.recognize(file), Recognized)
    records, left_out = read(phoenix.READER, file)
    assert not left_out
    assert records[0].fields == {
        "item": "e1", "repeat": 0, "status": "answered", "response": "18", "gold": "18",
        "input_tokens": 3, "output_tokens": 4, "latency_s": 0.25,
    }  # fmt: skip
    assert [record.scores for record in records] == [{"exact": 1.0}, {"exact": 0.0}]
    assert column(records, "repeat") == [0, 1]


def test_phoenix_scores_a_failed_run_zero_and_we_do_not(tmp_path: Path) -> None:
    rows = [
        phoenix_row(),
        phoenix_row("e2", score=0.0, output=None, error="RuntimeError('429 rate limited')"),
    ]
    records = ps.read_runs({"m": written(tmp_path, "a.json", json.dumps(rows)).path}, family="item")
    assert records.frame["status"].tolist() == ["answered", "error"]
    assert records.frame["reason"].tolist()[1] == "rate_limit"
    assert records.frame["score"].isna().tolist() == [False, True]
    assert records.ledger["score_ignored_on_error"].tolist() == [1]


def test_phoenix_csv_is_the_same(tmp_path: Path) -> None:
    row = phoenix_row(metadata={"item": "007"})
    flat = {k: json.dumps(v) if isinstance(v, dict) else v for k, v in row.items() if k != "annotations"}
    file = written(tmp_path, "a.csv", as_csv([{**flat, "annotation_exact_score": 1.0}]))
    [one], _ = read(phoenix.READER, file)
    [other], _ = read(phoenix.READER, written(tmp_path, "a.json", json.dumps([row])))
    assert (one.fields, one.scores) == (other.fields, other.scores)
    assert one.raw["metadata"] == {"item": "007"}


def langsmith_row(example: str, answer: Any = "18", **more: Any) -> Json:
    return {"inputs.question": "Q", "outputs.answer": answer, "outputs.model": "m", "error": "",
            "reference.answer": "18", "feedback.exact": 1.0, "execution_time": 0.5, "example_id": example,
            **more}  # fmt: skip


def test_langsmith_numbers_repetitions_in_order(tmp_path: Path) -> None:
    rows = [langsmith_row("a"), langsmith_row("b"), langsmith_row("a", "19")]
    file = written(tmp_path, "a.csv", as_csv(rows))
    records, _ = read(langsmith.READER, file)
    assert column(records, "item") == ["a", "b", "a"]
    assert column(records, "repeat") == [0, 0, 1]
    assert column(records, "response") == ["18", "18", "19"]
    assert column(records, "gold") == ["18"] * 3
    assert column(records, "latency_s") == [0.5] * 3
    seen = langsmith.READER.recognize(file)
    assert isinstance(seen, Recognized)
    assert "numbered in the order" in seen.note


def test_langsmith_reply_is_never_guessed(tmp_path: Path) -> None:
    unknown = {"outputs.a": "1", "outputs.b": "2", "example_id": "x", "execution_time": 1, "feedback.f": 0}
    lone = {"outputs.anything": "1", "example_id": "x", "execution_time": 1, "feedback.f": 0}
    records = [
        read(langsmith.READER, written(tmp_path, "a.csv", as_csv([row])))[0][0] for row in (unknown, lone)
    ]
    assert column(records, "response") == [None, "1"]
    assert column(records, "status") == ["answered", "answered"]


def test_langsmith_error_has_no_score(tmp_path: Path) -> None:
    row = langsmith_row("a", "", error="RuntimeError('429 rate limited')", **{"feedback.exact": ""})
    [record], _ = read(langsmith.READER, written(tmp_path, "a.csv", as_csv([row])))
    assert (record.fields["status"], record.fields["reason"]) == ("error", "rate_limit")
    assert record.scores == {"exact": None}


def braintrust_row(question: str, **more: Any) -> Json:
    return {"input": question, "output": "18", "scores": {"exact": 1.0}, "expected": "18",
            "metadata": {"item": "i1"}, "error": None, **more}  # fmt: skip


def test_braintrust_items_are_named_by_content(tmp_path: Path) -> None:
    rows = [
        braintrust_row("Q1"),
        braintrust_row("Q2"),
        braintrust_row("Q1"),
        braintrust_row("Q1", expected="9"),
    ]
    records, _ = read(braintrust.READER, written(tmp_path, "a.json", json.dumps(rows)))
    items = column(records, "item")
    assert items[0] == items[2] == content_id("Q1", "18")
    assert len(set(items)) == 3
    assert column(records, "repeat") == [0, 0, 1, 0]


def test_braintrust_error_has_no_score(tmp_path: Path) -> None:
    rows = [
        braintrust_row("Q", scores={}, output=None, error="429"),
        braintrust_row("R", scores={}, output=None),
    ]
    records, _ = read(braintrust.READER, written(tmp_path, "a.json", json.dumps(rows)))
    assert column(records, "status") == ["error", "error"]
    assert column(records, "reason") == ["rate_limit", "no_reply"]


def test_braintrust_other_items_of_equal_content_are_refused_not_merged(tmp_path: Path) -> None:
    rows = [braintrust_row("Q"), braintrust_row("Q", metadata={"item": "i2"}, output="17")]
    file = written(tmp_path, "a.json", json.dumps(rows))
    with pytest.raises(PairingError, match="A key must be one reply"):
        ps.read_runs({"m": file.path}, family="item")
    assert len(ps.read_runs({"m": file.path}, family="item", item="metadata.item")) == 2


def test_ragas_metrics_and_failures(tmp_path: Path) -> None:
    nan = float("nan")
    rows = [
        {"user_input": "Q1", "response": "a", "reference": "a", "retrieved_contexts": ["c"], "faithfulness": 0.5,
         "exact_match": 1.0},
        {"user_input": "Q2", "response": "b", "reference": "a", "retrieved_contexts": [], "faithfulness": nan,
         "exact_match": 0.0},
        {"user_input": "Q3", "response": "b", "reference": "a", "retrieved_contexts": [], "faithfulness": nan,
         "exact_match": nan},
    ]  # fmt: skip
    file = written(tmp_path, "a.jsonl", rows)
    frame = ps.read_runs({"m": file.path}, family="item", score="exact_match").frame
    assert frame["status"].tolist() == ["answered", "answered", "error"]
    assert frame["reason"].tolist()[2] == SCORER_ERROR
    assert frame["score"].tolist()[:2] == [1.0, 0.0]
    assert frame["score_faithfulness"].isna().tolist() == [False, True, True]
    moved = written(tmp_path, "b.jsonl", rows[::-1])
    other = ps.read_runs({"m": moved.path}, family="item", score="exact_match").frame
    assert other["item"].tolist() == frame["item"].tolist()[::-1]  # named by content, not by place


def test_ragas_leaves_plain_tables_alone(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", "item,model,user_input,response,score\nq,m,Q,a,1\n")
    assert isinstance(ragas.READER.recognize(file), Declined)
    assert len(ps.read_runs(file.path, family="item")) == 1


def test_mlflow_table(tmp_path: Path) -> None:
    table = {
        "columns": ["item", "inputs", "ground_truth", "outputs", "em/score", "em/justification"],
        "data": [["007", "Q", "18", "18", 1.0, "same"], ["q2", "Q2", "1", "2", None, "broken"]],
    }
    file = written(tmp_path, "eval_results_table.json", json.dumps(table))
    assert mlflow.READER.recognize(file) == Recognized(mlflow.CLASSIC)
    records, _ = read(mlflow.READER, file)
    assert records[0].fields == {"item": "007", "response": "18", "gold": "18", "status": "answered"}
    assert [record.scores for record in records] == [{"em": 1.0}, {"em": None}]
    assert column(records, "reason") == [None, SCORER_ERROR]


def genai_row(**more: Any) -> Json:
    return {
        "trace_id": "t", "exact/value": True, "answer/value": "18", "judge/value": "yes", "state": "OK",
        "client_request_id": None, "execution_duration": 250, "request": {"question": "Q"}, "response": "18",
        "assessments": [
            {"assessment_name": "exact", "feedback": {"value": True}},
            {"assessment_name": "judge", "feedback": {"value": "yes"}},
            {"assessment_name": "answer", "expectation": {"value": "18"}},
        ], **more,
    }  # fmt: skip


def test_mlflow_genai_expectation_is_the_key_and_no_score(tmp_path: Path) -> None:
    broken = [{"assessment_name": "exact", "feedback": {"error": {"error_message": "boom"}}}]
    rows = [genai_row(), genai_row(state="ERROR", response=None), genai_row(assessments=broken)]
    rows[2].pop("answer/value")
    rows[2].pop("judge/value")
    file = written(tmp_path, "r.json", json.dumps(rows))
    assert mlflow.READER.recognize(file) == Recognized(mlflow.GENAI)
    records, _ = read(mlflow.READER, file)
    assert records[0].scores == {"exact": 1.0, "judge": 1.0}
    assert records[0].fields["gold"] == "18"
    assert records[0].fields["latency_s"] == 0.25
    assert column(records, "status") == ["answered", "error", "error"]
    assert column(records, "reason")[2] == SCORER_ERROR


@pytest.mark.parametrize("reader", ALL[:3], ids=lambda reader: reader.name)
def test_a_row_that_is_no_object_is_named(tmp_path: Path, reader: Any) -> None:
    row = {phoenix: phoenix_row(), langsmith: langsmith_row("a"), braintrust: braintrust_row("Q")}
    good = next(value for module, value in row.items() if module.READER is reader)
    file = written(tmp_path, "a.json", json.dumps([good, "stray"]))
    with pytest.raises(ReadError, match=r"a\.json:2 must be an object"):
        read(reader, file)
    records, left_out = read(reader, file, keep_going=True)
    assert (len(records), [each.reason for each in left_out]) == (1, ["not an object"])


def test_a_damaged_file_is_a_read_error(tmp_path: Path) -> None:
    text = json.dumps([phoenix_row(), phoenix_row("e2")])[:-40]
    with pytest.raises(ReadError, match=r"a\.json"):
        ps.read_runs(written(tmp_path, "a.json", text).path, family="item")


@needs_shared
@pytest.mark.parametrize(
    ("pattern", "rows"),
    [
        ("phoenix/generated/phoenix_{}.json", 40), ("phoenix/generated/phoenix_{}.csv", 40),
        ("langsmith/generated/{}.csv", 40), ("braintrust/generated/eval_results_{}.json", 40),
        ("ragas/generated/ragas_{}.csv", 30), ("ragas/generated/ragas_{}.jsonl", 30),
        ("mlflow/generated/eval_results_table_{}.json", 30),
        ("mlflow/generated/genai_result_df_{}.json", 30),
    ],
)  # fmt: skip
def test_totals_of_the_samples_add_up(pattern: str, rows: int) -> None:
    """Rows by the samples' own description; the two repetitions of one item failed where there are any."""
    records = ps.read_runs({m: SAMPLES / pattern.format(m) for m in MODELS}, family="item")
    ledger = records.ledger
    assert ledger["rows"].tolist() == [rows, rows]
    assert ledger["error"].tolist() == ([2, 2] if rows == 40 else [0, 0])
    assert (ledger["records"] == ledger["rows"]).all()
