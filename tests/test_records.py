"""Records: in and out of frames and files, shown and summed up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_reader_inspect import sample, write_eval

import pairstats as ps
from pairstats.errors import ReadError, SchemaError
from pairstats.readers import read_runs
from pairstats.records.table import LEDGER_COLUMNS, concat_records, printable

ROWS: dict[str, list[Any]] = {
    "family": ["f1", "f1", "f2"],
    "item": ["007", "=1+1", "q3"],
    "model": ["m", "m", "@b"],
    "status": ["answered", "error", "unparsed"],
    "reason": [None, "rate_limit", None],
    "score": [1.0, None, None],
    "confidence": [0.0, None, 1.0],
    "input_tokens": [5, None, 7],
    "response": ["-1\nsecond line, with comma", None, ""],
    "score_strict": [0.5, None, None],
    "depth": [3, 4, None],
    "code": ["007", "'=x", None],
    "share": [0.1, 2e-300, None],
}


def frame_of(engine: str) -> Any:
    frame = pd.DataFrame(ROWS)
    return {
        "pandas": frame,
        "polars": pl.DataFrame(ROWS),
        "arrow": pa.table(ROWS),
        "duckdb": duckdb.from_arrow(pa.table(ROWS)),
        "dict": ROWS,
    }[engine]


@pytest.fixture
def records() -> ps.Records:
    return ps.Records.from_frame(ROWS)


@pytest.mark.parametrize("engine", ["pandas", "polars", "arrow", "duckdb", "dict"])
def test_from_frame_of_every_engine(engine: str) -> None:
    records = ps.Records.from_frame(frame_of(engine))
    assert records.table["item"].to_pylist() == ROWS["item"]
    assert records.table["score"].to_pylist() == ROWS["score"]
    assert records.table["input_tokens"].to_pylist() == [5, None, 7]
    assert records.table["variant"].to_pylist() == ["base"] * 3
    assert pa.types.is_dictionary(records.table.schema.field("model").type)
    assert len(records) == 3
    assert records.ledger[["records", "rows", "answered", "error", "unparsed"]].iloc[0].tolist() == [
        3,
        3,
        1,
        1,
        1,
    ]
    assert records.left_out.empty


def test_from_frame_with_ids_of_mixed_types() -> None:
    rows = {"family": ["f", "f"], "item": [7, "007"], "model": ["m", "m"], "status": ["answered"] * 2}
    assert ps.Records.from_frame(pd.DataFrame(rows)).table["item"].to_pylist() == ["7", "007"]


def test_from_frame_reports_all_failures() -> None:
    rows = {
        **ROWS,
        "status": ["fine", "error", "unparsed"],
        "score": [1.0, 0.0, None],
        "family": ["", "f", "f"],
    }
    with pytest.raises(SchemaError) as caught:
        ps.Records.from_frame(rows)
    assert len(caught.value.findings) == 3
    with pytest.raises(SchemaError, match="must be a frame, but got int"):
        ps.Records.from_frame(3)
    assert ps.Records.from_frame(ROWS | {"score": [7, None, None]}, score_range=(0, 9)).score_range == (0, 9)


def test_parquet_keeps_everything(tmp_path: Path) -> None:
    samples = [sample("q1"), sample("q2", value=float("nan")), sample("zzz")]
    (tmp_path / "a.json").write_text(json.dumps(
        {"status": "success", "eval": {"task_id": "t", "model": "m"}, "samples": samples}
    ))  # fmt: skip
    before = read_runs(tmp_path / "a.json", family="metadata.family_id", exclude=("zzz",))
    path = before.save(tmp_path / "r.parquet")
    after = ps.load_records(path)
    assert after.table.equals(before.table)
    pd.testing.assert_frame_equal(after.ledger, before.ledger)
    pd.testing.assert_frame_equal(after.left_out, before.left_out)
    assert after.ledger["nan_to_null"].tolist() == [1]
    metadata = pq.read_schema(path).metadata
    assert metadata[b"pairstats_schema"] == b"1"
    assert before.ledger["sha256"][0].encode() in metadata[b"pairstats_ledger"]
    again = after.save(tmp_path / "s.parquet")
    assert again.read_bytes() == path.read_bytes()


def test_parquet_with_nothing_left_out_and_a_range(tmp_path: Path) -> None:
    before = ps.Records.from_frame(ROWS | {"score": [7, None, None]}, score_range=(0, 9))
    after = ps.load_records(before.save(tmp_path / "r.parquet"))
    assert after.score_range == (0, 9)
    assert list(after.left_out.columns) == ["source", "reason"]
    assert after.table.equals(before.table)


def test_csv_is_safe_for_spreadsheets_and_comes_back(tmp_path: Path, records: ps.Records) -> None:
    path = records.save(tmp_path / "r.csv")
    text = path.read_text()
    for dangerous in ('"=1+1"', '"@b"', '"-1\n'):
        assert dangerous not in text
        assert "\"'" + dangerous[1:] in text
    back = ps.load_records(path)
    assert back.table.equals(records.table)
    assert back.table.schema.field("depth").type == pa.int64()
    assert back.table["code"].to_pylist() == ["007", "'=x", None]
    assert back.table["response"].to_pylist() == ["-1\nsecond line, with comma", None, ""]
    assert back.ledger["file"].tolist() == ["r.csv"]
    assert len(back.ledger["sha256"][0]) == 64


def test_plain_parquet_and_csv_of_others(tmp_path: Path, records: ps.Records) -> None:
    pd.DataFrame(ROWS).to_parquet(tmp_path / "x.parquet")
    loaded = ps.load_records(tmp_path / "x.parquet")
    assert loaded.table["item"].to_pylist() == ROWS["item"]
    (tmp_path / "x.csv").write_text("family,item,model,status,score\nf,1,m,answered,0.5\nf,02,m,error,\n")
    table = ps.load_records(tmp_path / "x.csv").table
    assert (table["item"].to_pylist(), table["score"].to_pylist()) == (["1", "02"], [0.5, None])


def test_files_that_are_no_records(tmp_path: Path, records: ps.Records) -> None:
    with pytest.raises(ReadError, match=r"saved as '\.parquet' or '\.csv', but got 'r\.xlsx'"):
        records.save(tmp_path / "r.xlsx")
    with pytest.raises(ReadError, match="must be a file of records, but there is none"):
        ps.load_records(tmp_path / "none.parquet")
    (tmp_path / "cut.parquet").write_bytes(records.save(tmp_path / "r.parquet").read_bytes()[:-100])
    with pytest.raises(ReadError, match=r"cut\.parquet must be Parquet or CSV with records"):
        ps.load_records(tmp_path / "cut.parquet")
    (tmp_path / "empty.csv").write_bytes(b"")
    with pytest.raises(ReadError, match=r"empty\.csv must be"):
        ps.load_records(tmp_path / "empty.csv")
    (tmp_path / "bad.csv").write_bytes(b"family,item\nf\xff,1\n")
    with pytest.raises(ReadError, match=r"bad\.csv must be"):
        ps.load_records(tmp_path / "bad.csv")
    (tmp_path / "words.csv").write_text("family,item,model,status,score\nf,1,m,answered,high\n")
    with pytest.raises(SchemaError, match="column 'score' must be double"):
        ps.load_records(tmp_path / "words.csv")
    other = records.table.replace_schema_metadata({b"pairstats_schema": b"99"})
    pq.write_table(other, tmp_path / "new.parquet")
    with pytest.raises(SchemaError, match="must be of version 1 of the format, but is of version 99"):
        ps.load_records(tmp_path / "new.parquet")


def test_shown_as_text_and_as_escaped_html() -> None:
    rows = {**ROWS, "model": ["<script>", "a\x1b[31mb", "m"]}
    records = ps.Records.from_frame(rows)
    text, page = repr(records), records._repr_html_()
    assert text.startswith("Records: 3 rows, 3 models, 2 families, 3 items\n")
    assert "answered  unparsed  error" in text
    assert "\x1b" not in text
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert records.counts().loc["m"].to_dict() == {"answered": 0, "unparsed": 1, "error": 0}


def test_printable_keeps_words_and_escapes_control() -> None:
    assert printable("naïve – ok") == "naïve – ok"
    assert printable("a\nb\x1b") == "a\\nb\\x1b"


def test_summary_adds_up(tmp_path: Path) -> None:
    samples = [
        sample("q1"), sample("q2", value="N", answer=None), sample("q3", error={"message": "429"}, value="I"),
        sample("q4", value=float("nan")), sample("zzz"),
    ]  # fmt: skip
    write_eval(tmp_path / "a.eval", samples)
    (tmp_path / "b.eval").write_bytes((tmp_path / "a.eval").read_bytes())
    records = read_runs(tmp_path, family="metadata.family_id", exclude="zzz")
    assert records.summary().splitlines() == [
        "Records: 4 rows, 1 model, 1 family, 4 items",
        "",
        "a.eval: inspect 0.3.0, 5 records",
        "  4 rows: 2 answered, 1 unparsed, 1 error",
        "  reasons: 1 error rate_limit",
        "  1 left out: 1 excluded by 'zzz'",
        "  1 answered, without a score",
        "  1 values NaN, now null",
        "  1 scores of failed calls, ignored",
        "b.eval: inspect 0.3.0, 5 records",
        "  1 left out: 1 excluded by 'zzz'",
        "  4 merged: logged elsewhere too",
        "  1 values NaN, now null",
        "  1 scores of failed calls, ignored",
        "in all: 10 records = 4 rows + 2 left out + 4 merged",
        "1 answered reply has no score: pass answers=ps.AnswerFormat(...) (needs gold), or name a score=",
    ]
    assert tuple(records.ledger.columns) == LEDGER_COLUMNS


def test_rows_go_to_any_frame_library(records: ps.Records) -> None:
    assert pl.DataFrame(records)["item"].to_list() == ROWS["item"]
    assert pa.table(records).num_rows == 3
    frame = records.frame
    frame.loc[0, "score"] = 0.0
    assert records.table["score"].to_pylist()[0] == 1.0


def test_no_rows_at_all_is_a_valid_table() -> None:
    records = ps.Records.from_frame({name: [] for name in ("family", "item", "model", "status")})
    assert len(records) == 0
    assert repr(records).startswith("Records: 0 rows, 0 models")
    assert "<table>" in records._repr_html_()
    assert records.summary().endswith("in all: 0 records = 0 rows + 0 left out + 0 merged")


@pytest.mark.parametrize("name", ["notes.csv", "other.parquet", "estimates.parquet"])
def test_files_of_others_are_not_written_over(tmp_path: Path, records: ps.Records, name: str) -> None:
    path = tmp_path / name
    if name == "notes.csv":
        path.write_text("family,item,model,status,score\nf,1,m,answered,0.5\n")
    else:
        kept = {b"pairstats_estimates": b"{}"} if name.startswith("est") else {}
        pq.write_table(pa.table({"x": [1]}).replace_schema_metadata(kept), path)
    before = path.read_bytes()
    with pytest.raises(
        ReadError, match=r"exists and was not written by pairstats as records.*overwrite=True"
    ):
        records.save(path)
    assert path.read_bytes() == before
    assert ps.load_records(records.save(path, overwrite=True)).table.equals(records.table)


@pytest.mark.parametrize("name", ["r.csv", "r.parquet"])
def test_our_own_files_may_be_written_over(tmp_path: Path, records: ps.Records, name: str) -> None:
    (tmp_path / name).touch()
    for _ in range(2):
        assert ps.load_records(records.save(tmp_path / name)).table.equals(records.table)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ReadError, match=r"is a folder\. Name a file in it"):
        records.save(tmp_path / "folder.csv")


def test_replies_without_a_score_are_told() -> None:
    rows = {"family": ["f"] * 3, "item": ["a", "b", "c"], "model": ["m"] * 3, "score_strict": [1.0, None, None],
            "status": ["answered", "answered", "error"]}  # fmt: skip
    records = ps.Records.from_frame(rows)
    assert records.ledger["unscored"].tolist() == [2]
    assert records.summary().splitlines()[-1] == (
        "2 answered replies have no score: pass answers=ps.AnswerFormat(...) (needs gold), or name a score= "
        "(there are 'strict')"
    )
    assert ps.Records.from_frame(rows | {"score": [1.0, 0.0, None]}).notes == ()


def test_records_of_before_the_count_of_unscored_are_read(tmp_path: Path, records: ps.Records) -> None:
    old = ps.Records(records.table, records.ledger.drop(columns="unscored"))
    again = ps.load_records(old.save(tmp_path / "r.parquet"))
    assert "in all: 3 records" in again.summary()
    other = ps.Records.from_frame(pd.DataFrame(ROWS).assign(run="second"))
    assert "in all: 6 records" in concat_records([again, other]).summary()


def test_an_item_in_two_families_is_told_where_it_is_the_exception() -> None:
    rows = {"family": ["f", "g", "f", "g"], "item": ["q1", "q1", "q2", "q3"], "model": ["m"] * 4,
            "status": ["answered"] * 4, "score": [1.0] * 4}  # fmt: skip
    [note] = ps.Records.from_frame(rows).notes
    assert note.startswith("1 of 3 items belongs to several families: 'q1' to 'f', 'g'")
    # Ids that are unique within a family only, and one item in two studies, are as they should be.
    assert ps.Records.from_frame(rows | {"item": ["q1", "q1", "q2", "q2"]}).notes == ()
    assert ps.Records.from_frame(rows | {"study": ["s", "t", "s", "s"]}).notes == ()


def test_what_holds_no_records_is_called_by_its_name(tmp_path: Path) -> None:
    for name in ("estimates.parquet", "estimates.csv"):
        frame = pd.DataFrame({"contrast": ["a"], "estimand": ["mean"], "model": ["m"], "estimate": [0.5]})
        frame.to_parquet(tmp_path / name) if name.endswith("parquet") else frame.to_csv(tmp_path / name)
        with pytest.raises(ReadError, match=rf"{name} must hold records.*but is a table of results"):
            ps.load_records(tmp_path / name)
    (tmp_path / "raw.csv").write_text("question,right\nq,1\n")
    with pytest.raises(
        ReadError, match=r"has none of the columns .*it has 'question', 'right'.*pairstats normalize"
    ):
        ps.load_records(tmp_path / "raw.csv")
    (tmp_path / "lacking.csv").write_text("family,item,model\nf,q,m\n")
    with pytest.raises(SchemaError, match="column 'status' is missing"):
        ps.load_records(tmp_path / "lacking.csv")


def test_whole_numbers_among_texts_are_one_id() -> None:
    rows = {"family": ["f"] * 3, "item": [7.0, 7, "x"], "model": ["a", "b", "a"], "status": ["answered"] * 3}
    assert ps.Records.from_frame(pd.DataFrame(rows)).table["item"].to_pylist() == ["7", "7", "x"]
