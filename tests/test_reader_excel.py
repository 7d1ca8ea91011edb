"""Excel workbooks, and rows that hold a map by model."""

from __future__ import annotations

import builtins
import datetime
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED, needs_shared
from run_files import written

import pairstats as ps
from pairstats.errors import PairstatsError, ReadError
from pairstats.readers.base import RunFile
from pairstats.readers.excel import is_workbook
from pairstats.readers.sheets import open_sheet
from pairstats.readers.tables import READER

WIDE = SHARED / "samples/gsm8k_openai_wide/example_model_solutions.jsonl"
ROWS = [
    ["item", "model", "score", "answer"],
    ["007", "a", 1, "x"],
    ["1e5", "a", 0.5, None],
    [3, "b", True, "y"],
]


def workbook(folder: Path, *sheets: list[list[Any]], name: str = "a.xlsx") -> RunFile:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets):
        sheet = book.create_sheet(f"s{number}")
        for row in rows:
            sheet.append(row)
    content = io.BytesIO()
    book.save(content)
    return written(folder, name, content.getvalue())


def test_a_sheet_is_a_table(tmp_path: Path) -> None:
    file = workbook(tmp_path, ROWS)
    assert is_workbook(file.head)
    records = ps.read_runs(file.path, family="item")
    assert records.frame["item"].tolist() == ["007", "1e5", "3"]
    assert records.frame["score"].tolist() == [1.0, 0.5, 1.0]
    assert records.frame["source"].tolist() == ["a.xlsx:2", "a.xlsx:3", "a.xlsx:4"]
    assert records.ledger[["reader", "version", "records", "rows"]].to_numpy().tolist() == [
        ["table", "excel", 3, 3]
    ]


def test_blank_rows_columns_and_sheets_do_not_count(tmp_path: Path) -> None:
    rows = [["item", None, "score"], [None, None, None], ["q", None, 1], ["r", None, " "]]
    sheet = open_sheet(workbook(tmp_path, [], rows, []))
    assert sheet.names == ("item", "score")
    assert list(sheet.rows()) == [(3, {"item": "q", "score": 1}), (4, {"item": "r", "score": None})]


def test_dates_are_text(tmp_path: Path) -> None:
    rows = [["item", "score", "day"], ["q", 1, datetime.datetime(2026, 1, 2, 3, 4)]]
    [(_, row)] = open_sheet(workbook(tmp_path, rows)).rows()
    assert row["day"] == "2026-01-02T03:04:00"


@pytest.mark.parametrize(
    ("sheets", "message"),
    [
        ((ROWS, ROWS), r"must have one sheet that is not empty, but has 's0', 's1'"),
        (([], []), r"must have one sheet that is not empty, but has none"),
        (
            ([["item", None], ["q", 1]],),
            r"Every column of sheet 's0' of a\.xlsx must have a name .* column 2",
        ),
        (([["item", "item"], ["q", 1]],), r"Column names of a\.xlsx must differ"),
    ],
)
def test_what_is_no_single_table_is_refused(tmp_path: Path, sheets: Any, message: str) -> None:
    file = workbook(tmp_path, *sheets)
    with pytest.raises(ReadError, match=message):
        ps.read_runs(file.path, family="item")


def test_without_openpyxl_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = workbook(tmp_path, ROWS)
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "openpyxl":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ReadError, match=r"needs the package openpyxl\. .*pairstats\[excel\]"):
        ps.read_runs(file.path, family="item")


def test_damaged_workbooks_are_read_errors(tmp_path: Path) -> None:
    whole = workbook(tmp_path, ROWS).path.read_bytes()
    for place in range(60, len(whole), 499):
        for content in (whole[:place], whole[:place] + b"\xff\x00" + whole[place + 2 :]):
            file = written(tmp_path, "b.xlsx", content)
            try:
                frame = ps.read_runs(file.path, family="item").frame
            except PairstatsError:
                continue
            assert len(frame) == 3  # harmless: a byte of a style or a date


def test_a_zip_that_is_no_workbook_is_no_table(tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("notes.txt", "x")
    with pytest.raises(ReadError, match="must hold a run file that a reader knows"):
        ps.read_runs(written(tmp_path, "a.zip", content.getvalue()).path, family="item")


def test_a_map_by_model_is_one_row_a_model(tmp_path: Path) -> None:
    rows = [
        {"item": "q1", "gold": "x", "score_by_model": {"org/a": 1, "b": 0}},
        {"item": "q2", "gold": "y", "score_by_model": {"org/a": 0.5}},
    ]
    frame = ps.read_runs(written(tmp_path, "a.jsonl", rows).path, family="item").frame
    found = {
        (item, model): score
        for item, model, score in zip(frame["item"], frame["model"], frame["score"], strict=True)
    }
    assert found[("q1", "org/a")] == 1.0
    assert found[("q1", "b")] == 0.0
    assert found[("q2", "org/a")] == 0.5
    assert frame["status"].tolist() == ["answered", "answered", "answered", "absent"]
    assert frame["gold"].tolist() == ["x", "x", "y", "y"]


def test_a_map_of_objects_and_columns_of_objects(tmp_path: Path) -> None:
    parts = {"a": {"score": 1, "answer": "x"}, "b": {"score": 0, "answer": "z"}}
    by_model = written(tmp_path, "a.json", json.dumps([{"item": "q", "gold": "x", "models": parts}]))
    columns = written(tmp_path, "b.json", json.dumps([{"item": "q", "gold": "x", **parts}]))
    for file in (by_model, columns):
        frame = ps.read_runs(file.path, family="item").frame
        assert frame["model"].tolist() == ["a", "b"]
        assert frame["answer"].tolist() == ["x", "z"]
        assert frame["score"].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "row",
    [
        {"item": "q", "model": "m", "scores": {"exact": 1, "f1": 0.5}},
        {"item": "q", "scores": {"exact": 1, "f1": 0.5}},
        {"item": "q", "detail": {"score": 1}},
    ],
)
def test_a_map_that_may_hold_metrics_is_not_taken_for_models(tmp_path: Path, row: dict[str, Any]) -> None:
    sheet = open_sheet(written(tmp_path, "a.json", json.dumps([row])))
    file = written(tmp_path, "a.json", json.dumps([row]))
    assert "scores" in sheet.names or "detail" in sheet.names
    try:
        models = set(ps.read_runs(file.path, family="item").frame["model"])
    except PairstatsError:
        models = set()
    assert models <= {"m"}


@needs_shared
def test_the_published_solutions_file_itself() -> None:
    """Truth: published counts of correct solutions, 286, 515, 458 and 742 of 1319."""
    assert READER.recognize(RunFile(WIDE, WIDE.name))
    frame = ps.read_runs(WIDE, item="question", family="item").frame
    right = frame.groupby("model", observed=True)["score"].sum().to_dict()
    assert right == {
        "6b_finetuning": 286,
        "6b_verification": 515,
        "175b_finetuning": 458,
        "175b_verification": 742,
    }
    assert len(frame) == 4 * 1319
    assert frame["response"].notna().all()
