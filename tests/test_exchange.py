"""Every Eval Ever: the exporter against the published schemas, and back through the reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED, needs_shared

import pairstats as ps
from pairstats.errors import PairstatsError
from pairstats.records.exchange import _sample_hash

REAL = SHARED / "samples/every_eval_ever"
ROWS: dict[str, list[Any]] = {
    "family": ["f1", "f1", "f2", "f2", "f1", "f2"],
    "item": ["007", "007", "q", "q", "q1", "1e5"],
    "variant": ["base", "new", "base", "base", "base", "base"],
    "repeat": [0, 0, 0, 1, 0, 0],
    "model": ["a", "a", "a", "a", "b/c", "b/c"],
    "study": ["s", "s", "s", "s", "", ""],
    "status": ["answered", "unparsed", "error", "answered", "answered", "absent"],
    "reason": [None, None, "rate_limit", "length", None, "not_run"],
    "score": [1.0, None, None, 0.5, 0.0, None],
    "score_style": [0.25, 0.0, None, None, None, None],
    "answer": ["x", None, None, "y", "z", None],
    "gold": ["x", "x", None, "w", "w", "w"],
    "confidence": [0.9, None, None, 0.25, None, None],
    "input_tokens": [3, 4, None, 5, None, None],
    "output_tokens": [7, None, None, 2, None, None],
    "latency_s": [0.5, None, None, 1.25, None, None],
    "cost_usd": [0.125, None, None, None, None, None],
    "response": ["x\nλ", "hm", None, "y", "z", None],
    "category": ["k", "k", None, None, "k", "k"],
    "prompt": ["What?", "What now?", "Why?", "Why?", "", None],
}


def exported(folder: Path, **options: Any) -> tuple[ps.Records, list[dict[str, Any]]]:
    records = ps.Records.from_frame(ROWS)
    files = ps.to_every_eval_ever(records, folder, **options)
    assert len(files) == 2
    return records, [json.loads(line) for file in files for line in file.read_text().splitlines()]


def sorted_rows(records: ps.Records) -> list[dict[str, Any]]:
    rows = [{k: v for k, v in row.items() if k != "source"} for row in records.table.to_pylist()]
    return sorted(rows, key=lambda row: (row["model"], row["item"], row["variant"], row["repeat"]))


def test_round_trip_gives_the_same_rows(tmp_path: Path) -> None:
    records, lines = exported(tmp_path)
    again = ps.read_runs(
        tmp_path, family="family", score="score", extra={"prompt": "metadata.pairstats.prompt"}
    )
    assert len(again) == 6
    for old, new in zip(sorted_rows(records), sorted_rows(again), strict=True):
        shared = {name: new.get(name) for name in old if name in new}
        assert {name: value for name, value in old.items() if name in shared} == shared
        assert set(old) <= set(new)
    assert again.ledger["records"].sum() == len(lines) == 4 + 4 + 2
    assert again.ledger["left_out"].sum() == 4


def test_files_obey_the_schemas(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    if not SHARED.is_dir():
        pytest.skip("the shared reference folder is not beside this checkout")
    _, lines = exported(tmp_path, prompt="prompt", organization="us", retrieved_timestamp="1750000000")
    line_schema = json.loads((REAL / "real/instance_level_eval.schema.json").read_text())
    for line in lines:
        jsonschema.validate(line, line_schema)
    aggregates = list(tmp_path.rglob("*.json"))
    assert len(aggregates) == 2
    schema = json.loads((REAL / "real/eval.schema.json").read_text())
    for file in aggregates:
        jsonschema.validate(json.loads(file.read_text()), schema)


def test_a_failed_row_is_an_error_and_no_wrong_answer(tmp_path: Path) -> None:
    _, lines = exported(tmp_path)
    failed = [line for line in lines if line["metadata"]["pairstats.status"] == "error"]
    assert [line["error"] for line in failed] == ["error: rate_limit"] * 2
    assert all(line["metadata"]["pairstats.unscored"] == "true" for line in failed)
    right = [line["evaluation"]["is_correct"] for line in lines if line["evaluation"]["score"] == 1.0]
    assert right == [True]


def test_aggregate_says_what_its_score_is_of(tmp_path: Path) -> None:
    exported(tmp_path)
    by_model = {}
    for file in tmp_path.rglob("*.json"):
        about = json.loads(file.read_text())
        by_model[about["model_info"]["id"]] = about["evaluation_results"]
    details = by_model["a"][0]["score_details"]
    assert details == {"score": 0.75, "details": {"rows": "4", "rows_with_a_score": "2"}}
    assert [each["evaluation_result_id"] for each in by_model["b/c"]] == ["score"]


def test_writing_twice_gives_the_same_files(tmp_path: Path) -> None:
    exported(tmp_path / "a")
    exported(tmp_path / "b")
    first, second = (
        {file.name: file.read_bytes() for file in (tmp_path / name).rglob("*.json*")} for name in "ab"
    )
    assert first == second
    assert len(first) == 4


def test_names_cannot_leave_the_folder(tmp_path: Path) -> None:
    rows = {"family": ["f"], "item": ["q"], "model": ["../../m"], "study": [".."], "status": ["answered"],
            "score": [1.0]}  # fmt: skip
    [file] = ps.to_every_eval_ever(ps.Records.from_frame(rows), tmp_path / "out")
    assert file.resolve().is_relative_to((tmp_path / "out" / "data").resolve())


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    rows = {"family": ["f"], "item": ["q"], "model": ["m"], "status": ["error"]}
    with pytest.raises(PairstatsError, match="each model must have one, but 'm' has none in 1 rows"):
        ps.to_every_eval_ever(ps.Records.from_frame(rows), tmp_path)
    with pytest.raises(PairstatsError, match="`prompt` must be a column of the records, but 'text' is none"):
        ps.to_every_eval_ever(ps.Records.from_frame(ROWS), tmp_path, prompt="text")
    empty = {name: [] for name in rows}
    with pytest.raises(PairstatsError, match="at least one row"):
        ps.to_every_eval_ever(ps.Records.from_frame(empty), tmp_path)


@needs_shared
def test_sample_hash_is_that_of_the_published_example() -> None:
    """Truth: the example file of the format's own tests; its converters hash in two other ways."""
    [file] = sorted((REAL / "real").glob("*_samples.jsonl"))
    line = json.loads(file.read_text())
    assert _sample_hash(line["input"]["raw"], line["input"]["reference"]) == line["sample_hash"]
