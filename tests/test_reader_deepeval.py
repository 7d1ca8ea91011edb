"""DeepEval test runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED, needs_shared
from run_files import column, read, written

import pairstats as ps
from pairstats.errors import ReadError
from pairstats.readers.base import Declined, Recognized
from pairstats.readers.deepeval import READER

SAMPLES = SHARED / "samples"
Json = dict[str, Any]


def case(name: str | None = "q1", score: float | None = 1.0, error: str | None = None, **more: Any) -> Json:
    metric = {"name": "Exact", "success": score == 1.0, "score": score, "error": error}
    return {
        "name": name, "input": "Q", "actualOutput": "18", "expectedOutput": "18", "completionTime": 1.5,
        "tokenCost": 0.25, "metricsData": [{k: v for k, v in metric.items() if v is not None}], **more,
    }  # fmt: skip


def run(*cases: Any, **more: Any) -> str:
    return json.dumps(
        {"testCases": list(cases), "hyperparameters": {"model": "org/m"}, "identifier": "r", **more}
    )


def test_fields_of_a_case(tmp_path: Path) -> None:
    file = written(tmp_path, "test_run_1.json", run(case()))
    assert READER.recognize(file) == Recognized("test run")
    [record], left_out = read(READER, file)
    assert not left_out
    assert record.fields == {
        "item": "q1", "model": "org/m", "status": "answered", "response": "18", "gold": "18",
        "latency_s": 1.5, "cost_usd": 0.25,
    }  # fmt: skip
    assert record.scores == {"Exact": 1.0}


def test_snake_case_and_wrapped_runs(tmp_path: Path) -> None:
    metrics = [{"name": "Exact", "score": 0.0, "error": None}]
    plain = {
        "test_results": [
            {"name": "q1", "actual_output": "17", "expected_output": "18", "metrics_data": metrics}
        ]
    }
    file = written(tmp_path, "a.json", json.dumps(plain))
    assert READER.recognize(file) == Recognized("EvaluationResult")
    [record], _ = read(READER, file)
    assert (record.fields["response"], record.fields["gold"], record.scores) == ("17", "18", {"Exact": 0.0})
    assert "model" not in record.fields
    wrapped = written(tmp_path, "b.json", json.dumps({"testRunData": json.loads(run(case()))}))
    assert READER.recognize(wrapped) == Recognized("latest test run")
    assert read(READER, wrapped)[0][0].fields["model"] == "org/m"


def test_a_metric_that_failed_is_no_wrong_answer(tmp_path: Path) -> None:
    cases = [
        case("q1", None, "ValueError: Error code: 429 - Rate limit reached", actualOutput=""),
        case("q2", None, "RuntimeError: judge API error 429"),
        case("q3", 0.0, actualOutput=""),
        case("q4", None, "x", metadata={"error": "Error code: 500 - server error"}, actualOutput=""),
    ]
    file = written(tmp_path, "a.json", run(*cases))
    records, _ = read(READER, file)
    assert column(records, "status") == ["error", "error", "empty", "error"]
    assert column(records, "reason") == ["rate_limit", "scorer_error", None, "server_error"]
    assert records[1].fields["response"] == "18"
    assert column(read(READER, file, rescored=True)[0], "status")[1] == "answered"


def test_unnamed_cases_are_named_by_content(tmp_path: Path) -> None:
    cases = [case("test_case_0", input="Q1"), case("test_case_1", input="Q2"), case(None, input="Q1")]
    items = column(read(READER, written(tmp_path, "a.json", run(*cases)))[0], "item")
    assert items[0] == items[2] != items[1]
    assert not any(item.startswith("test_case") for item in items)


def test_the_latest_run_is_a_copy(tmp_path: Path) -> None:
    text = run(case(), case("q2", 0.0))
    written(tmp_path, "test_run_1.json", text)
    written(tmp_path, "latest.json", json.dumps({"testRunData": json.loads(text)}))
    records = ps.read_runs(tmp_path, family="item")
    assert records.ledger[["records", "rows", "merged"]].sum().tolist() == [4, 2, 2]


@pytest.mark.parametrize("content", ["", "[]", '{"testCases": []}', '{"a": 1}', b"\x80"])
def test_other_files_are_declined(tmp_path: Path, content: str | bytes) -> None:
    assert isinstance(READER.recognize(written(tmp_path, "a.json", content)), Declined)


def test_strange_cases_and_cut_files(tmp_path: Path) -> None:
    file = written(tmp_path, "a.json", run(case(), "stray"))
    with pytest.raises(ReadError, match=r"a\.json:testCases\.2 must be a test case"):
        read(READER, file)
    records, left_out = read(READER, file, keep_going=True)
    assert (len(records), len(left_out)) == (1, 1)
    with pytest.raises(ReadError, match=r"a\.json"):
        ps.read_runs(written(tmp_path, "a.json", run(case())[:-30]).path, family="item")


@needs_shared
@pytest.mark.parametrize(("system", "errors"), [("smollm2-terse-t0", 2), ("smollm2-2shot-t1", 1)])
def test_own_runs_equal_the_wire_cell_by_cell(system: str, errors: int) -> None:
    """Truth: the proxy's record of every call, ``wire_cells`` = [correct, answered]."""
    truth = json.loads((SAMPLES / "own/truth.json").read_text())["wire_cells"][f"fault-deepeval-{system}"]
    frame = ps.read_runs(
        SAMPLES / "own/deepeval" / system, model="hyperparameters.system", family="metadata.family_id",
        variant="metadata.variant", score="Letter Match",
    ).frame  # fmt: skip
    assert (len(frame), frame["status"].tolist().count("error")) == (30, errors)
    assert set(frame["model"]) == {system}
    answered = frame[frame["status"] == "answered"]
    cells = answered.groupby(["family", "variant"], observed=True).score.agg(["sum", "size"])
    found = {f"{family}|{variant}": [right, size] for (family, variant), right, size in cells.itertuples()}
    assert found == truth


@needs_shared
@pytest.mark.parametrize("system", ["smollm2-terse-t0", "smollm2-2shot-t1"])
def test_both_files_of_a_run_give_the_same_scores(system: str) -> None:
    options: Json = {"family": "item", "score": "Letter Match"}
    [path] = (SAMPLES / "own/deepeval" / system).glob("*.json")
    one = ps.read_runs(path, **options).frame.set_index("item")
    other = ps.read_runs({"m": SAMPLES / f"own/deepeval/evaluation_result_{system}.json"}, **options).frame
    other = other.set_index("item").loc[one.index]
    for name in ("status", "reason", "response", "gold"):
        assert one[name].astype(str).tolist() == other[name].astype(str).tolist()
    assert one["score"].equals(other["score"])
