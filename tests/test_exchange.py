"""Every Eval Ever: the exporter against the published schemas, and back through the reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED, needs_shared
from own_logs import LOGS
from own_logs import records as own_records

import pairstats as ps
from pairstats.errors import PairstatsError
from pairstats.records.exchange import _sample_hash
from pairstats.schema import KEY

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


def obey_the_schemas(folder: Path) -> int:
    """Hold every file against the published schemas; give the number of aggregates."""
    jsonschema = pytest.importorskip("jsonschema")
    names = ("instance_level_eval.schema.json", "eval.schema.json")
    of_line, of_aggregate = (
        jsonschema.Draft202012Validator(json.loads((REAL / "real" / name).read_text())) for name in names
    )
    for file in folder.rglob("*.jsonl"):
        for line in file.read_text().splitlines():
            of_line.validate(json.loads(line))
    aggregates = list(folder.rglob("*.json"))
    for file in aggregates:
        of_aggregate.validate(json.loads(file.read_text()))
    return len(aggregates)


@needs_shared
def test_files_obey_the_schemas(tmp_path: Path) -> None:
    exported(tmp_path, prompt="prompt", organization="us", retrieved_timestamp="1750000000")
    assert obey_the_schemas(tmp_path) == 2


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


def test_a_model_that_failed_throughout_is_written(tmp_path: Path) -> None:
    rows = {"family": ["f", "f"], "item": ["q", "q"], "model": ["m", "n"], "status": ["answered", "error"],
            "reason": [None, "connection"], "score": [1.0, None]}  # fmt: skip
    files = ps.to_every_eval_ever(ps.Records.from_frame(rows), tmp_path)
    assert len(files) == 2
    about = json.loads(files[1].with_name(files[1].name.replace("_samples.jsonl", ".json")).read_text())
    assert about["evaluation_results"] == [], "no mean of nothing"
    again = ps.read_runs(tmp_path, family="family").frame
    assert again.set_index("model").loc["n", ["status", "reason"]].tolist() == ["error", "connection"]
    assert again.set_index("model")["score"].isna().to_dict() == {"m": False, "n": True}


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    rows = {"family": ["f"], "item": ["q"], "model": ["m"], "status": ["error"]}
    with pytest.raises(PairstatsError, match="some row must have one, but none of 1 has"):
        ps.to_every_eval_ever(ps.Records.from_frame(rows), tmp_path)
    with pytest.raises(PairstatsError, match="`prompt` must be a column of the records, but 'text' is none"):
        ps.to_every_eval_ever(ps.Records.from_frame(ROWS), tmp_path, prompt="text")
    with pytest.raises(PairstatsError, match="must not be called 'unscored'"):
        ps.to_every_eval_ever(ps.Records.from_frame({**ROWS, "unscored": ["no"] * 6}), tmp_path)
    empty = {name: [] for name in rows}
    with pytest.raises(PairstatsError, match="at least one row"):
        ps.to_every_eval_ever(ps.Records.from_frame(empty), tmp_path)


def comparable(records: ps.Records) -> list[dict[str, Any]]:
    """Rows in the order of their keys, without nulls and without the file they came from."""
    rows = [
        {name: value for name, value in row.items() if value is not None and name != "source"}
        for row in records.table.to_pylist()
    ]
    return sorted(rows, key=lambda row: [str(row.get(name)) for name in KEY])


def test_nothing_changes_value_or_type(tmp_path: Path) -> None:
    """A reply that seems cut, texts that look like numbers, seconds that no millisecond holds."""
    odd = {
        "attempts": [1, 2, None, 1, 1, 1], "asked": [90.0, 1e-7, None, 0.1, 2.0, 3.0],
        "cached": [True] * 3 + [False] * 3, "code": ["007", "90.0", "true", "null", '{"a": 1}', ""],
        "latency_s": [1.1, 0.1 + 0.2, 1e-9, None, 4.35, 0.0],
        "response": ['{"answer": "A', "", None, "``` open", " x ", None], "big": [2**62] * 6,
        "answer": ["x", "kept", None, "y", "z", None],
    }  # fmt: skip
    records = ps.Records.from_frame({**ROWS, **odd})
    ps.to_every_eval_ever(records, tmp_path)
    again = ps.read_runs(tmp_path, family="family", score="score")
    assert comparable(again) == comparable(records)
    types = {field.name: field.type for field in records.table.schema}
    assert {name: again.table.schema.field(name).type for name in odd} == {name: types[name] for name in odd}


@needs_shared
@pytest.mark.parametrize("name", LOGS)
def test_own_logs_come_back_as_they_were(tmp_path: Path, name: str) -> None:
    records = own_records(name)
    ps.to_every_eval_ever(records, tmp_path)
    again = ps.read_runs(tmp_path, family="family", score="score", models=sorted(set(records.frame["model"])))
    assert comparable(again) == comparable(records)
    assert again.counts().to_dict() == records.counts().to_dict()
    assert obey_the_schemas(tmp_path) == records.frame["model"].nunique()


@needs_shared
def test_sample_hash_is_that_of_the_published_example() -> None:
    """Truth: the example file of the format's own tests; its converters hash in two other ways."""
    [file] = sorted((REAL / "real").glob("*_samples.jsonl"))
    line = json.loads(file.read_text())
    assert _sample_hash(line["input"]["raw"], line["input"]["reference"]) == line["sample_hash"]
