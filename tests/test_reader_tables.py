"""Plain tables: CSV, TSV, JSON, JSON Lines, Parquet, Arrow; long and wide."""

from __future__ import annotations

import gzip
import io
import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest
from conftest import SHARED, needs_shared
from run_files import column, read, written

import pairstats as ps
from pairstats.errors import PairingError, ReadError, SchemaError
from pairstats.readers import collect
from pairstats.readers.base import Declined, Recognized
from pairstats.readers.columns import UnusualError
from pairstats.readers.tables import READER

TABLES = SHARED / "samples/plain_tables"
MODELS = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")
CORRECT = dict(zip(MODELS, (286, 515, 458, 742), strict=True))
HEAD = "item,model,score\n"
LONG = "item,model,answer,gold,score,family\nq1,a,x,x,1,f\nq1,b,y,x,0,f\n"


def scores(records: list[Any]) -> list[float | None]:
    return [record.scores.get("score") for record in records]


def as_parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pa.parquet.write_table(table, sink)
    return sink.getvalue()


def as_feather(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pa.feather.write_feather(table, sink)
    return sink.getvalue()


def as_stream(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=1)
    return sink.getvalue()


def forms() -> dict[str, str | bytes]:
    """One table of two rows, in every form."""
    header, *lines = [line.split(",") for line in LONG.splitlines()]
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    columns = {name: [row[name] for row in rows] for name in header}
    table = pa.table(columns)
    frame = {name: {"0": first, "1": second} for name, (first, second) in columns.items()}
    return {
        "a.csv": LONG,
        "b.tsv": LONG.replace(",", "\t"),
        "c.csv": LONG.replace(",", ";"),
        "bars": LONG.replace(",", "|"),
        "bom.csv": "\ufeff" + LONG,
        "windows.csv": LONG.replace("\n", "\r\n"),
        "no_last_line_end.csv": LONG.rstrip("\n"),
        "blank_lines.csv": LONG.replace("\n", "\n\n"),
        "quoted.csv": "".join(",".join(f'"{cell}"' for cell in line) + "\n" for line in (header, *lines)),
        "d.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        "e.json": json.dumps(rows, indent=1),
        "lists.json": json.dumps(columns),
        "frame.json": json.dumps(frame),
        "split.json": json.dumps({"columns": header, "data": lines}, indent=1),
        "f.parquet": as_parquet(table),
        "g.feather": as_feather(table),
        "j.arrows": as_stream(table),
        "k.arrows.gz": gzip.compress(as_stream(table), mtime=0),
        "h.parquet.gz": gzip.compress(as_parquet(table), mtime=0),
        "i.csv.gz": gzip.compress(LONG.encode(), mtime=0),
    }


@pytest.mark.parametrize("name", forms())
def test_every_form_is_the_same_table(tmp_path: Path, name: str) -> None:
    file = written(tmp_path, name, forms()[name])
    assert isinstance(READER.recognize(file), Recognized)
    records, left_out = read(READER, file)
    assert not left_out
    assert records[0].fields == {
        "item": "q1", "model": "a", "answer": "x", "gold": "x", "family": "f", "status": "answered",
    }  # fmt: skip
    assert scores(records) == [1.0, 0.0]
    assert column(records, "model") == ["a", "b"]
    assert records[0].identity != records[1].identity


@pytest.mark.parametrize("name", ["f.parquet", "g.feather", "h.parquet.gz", "j.arrows", "k.arrows.gz"])
def test_arrows_forms_are_read_as_columns_too(tmp_path: Path, name: str) -> None:
    written(tmp_path, name, forms()[name])
    frame = ps.read_runs(tmp_path).frame
    assert frame[["item", "model", "score"]].values.tolist() == [["q1", "a", 1.0], ["q1", "b", 0.0]]


@pytest.mark.parametrize("lost", [8, 16, 200])
def test_a_stream_that_was_cut_is_refused(tmp_path: Path, lost: int) -> None:
    table = pa.table({"item": ["q1", "q2"], "model": ["m", "m"], "score": [1.0, 0.0]})
    whole = as_stream(table)
    file = written(tmp_path, "a.arrows", whole[:-lost])
    for reading in (lambda: read(READER, file), lambda: ps.read_runs(file.path, family="item")):
        with pytest.raises(ReadError, match="is a damaged arrow stream"):
            reading()


def test_ids_are_the_text_in_the_file(tmp_path: Path) -> None:
    ids = ["007", "1e5", "NA", "None", "null", "nan", "1.10", " 7 ", "true", "2026-01-01", "-0", "\u2603"]
    text = "item,model,score\n" + "".join(f"{each},m,1\n" for each in ids)
    assert column(read(READER, written(tmp_path, "a.csv", text))[0], "item") == ids
    numbered = [{"item": n, "model": "m", "score": 1} for n in (7, "007", 1.5)]
    assert column(read(READER, written(tmp_path, "b.jsonl", numbered))[0], "item") == ["7", "007", "1.5"]


def test_a_json_number_is_an_id_by_its_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f'{{"item": {n}, "model": "m", "score": 1}}\n' for n in ("1.10", "1e5", "2.0", "3"))
    file = written(tmp_path, "a.jsonl", text)
    as_columns = ps.read_runs(file.path, family="item").frame["item"].tolist()

    def never(*_: Any) -> Any:
        raise UnusualError("not here")

    monkeypatch.setattr(collect, "read_pieces", never)
    assert (
        ps.read_runs(file.path, family="item").frame["item"].tolist()
        == as_columns
        == ["1.1", "100000", "2", "3"]
    )


@pytest.mark.parametrize("second", ["1.1", '"1.1"'])
def test_two_spellings_of_a_number_are_never_two_rows(tmp_path: Path, second: str) -> None:
    text = "".join(f'{{"item": {n}, "model": "m", "score": 1}}\n' for n in ("1.10", second))
    file = written(tmp_path, "a.jsonl", text)
    with pytest.raises(PairingError, match="A key must be one reply"):
        ps.read_runs(file.path, family="item")


@pytest.mark.parametrize(
    ("cell", "score"),
    [("1", 1), ("0", 0), ("0.25", 0.25), ("1e-1", 0.1), ("true", 1), ("False", 0), ("Yes", 1), ("no", 0),
     ("C", 1), ("I", 0), ("correct", 1), ("INCORRECT", 0), ("pass", 1), ("failed", 0), (" 1 ", 1),
     ("", None)],
)  # fmt: skip
def test_scores_are_numbers_or_words_for_right_and_wrong(
    tmp_path: Path, cell: str, score: float | None
) -> None:
    file = written(tmp_path, "a.csv", f"item,model,answer,score\nq,m,x,{cell}\n")
    assert scores(read(READER, file)[0]) == [score]


def test_nan_is_kept_for_the_count(tmp_path: Path) -> None:
    file = written(tmp_path, "a.jsonl", '{"item": "q", "model": "m", "family": "f", "score": NaN}\n')
    [record], _ = read(READER, file)
    assert math.isnan(record.scores["score"] or 0.0)
    assert ps.read_runs(file.path).ledger.nan_to_null.tolist() == [1]


@pytest.mark.parametrize("cell", ["N/A", "NA", "maybe", "1,5", "inf", "12%"])
def test_an_unreadable_score_is_named(tmp_path: Path, cell: str) -> None:
    file = written(tmp_path, "a.csv", f'item,model,score\nq1,m,1\nq2,m,"{cell}"\n')
    with pytest.raises(ReadError, match=r"a.csv:3 must have a number.* in column 'score', but has") as error:
        read(READER, file)
    assert repr(cell) in str(error.value)
    records, left_out = read(READER, file, keep_going=True)
    assert (len(records), [each.source for each in left_out]) == (1, ["a.csv:3"])


def test_further_columns(tmp_path: Path) -> None:
    text = (
        "Question ID,Model Name,correct,score_strict,confidence,prompt_tokens,latency_s,status,difficulty\n"
        "q1,m,1,0.5,80%,12,0.5,ok,hard\nq2,m,,,,,,error,easy\n"
    )
    records, _ = read(READER, written(tmp_path, "a.csv", text))
    assert records[0].fields == {
        "item": "q1", "model": "m", "confidence": "80%", "input_tokens": 12, "latency_s": 0.5,
        "status": "answered", "difficulty": "hard",
    }  # fmt: skip
    assert records[0].scores == {"correct": 1.0, "score_strict": 0.5}
    assert records[1].fields == {"item": "q2", "model": "m", "status": "error", "difficulty": "easy"}
    assert records[1].raw["difficulty"] == "easy"


@pytest.mark.parametrize(
    ("name", "cells", "repeats"),
    [("repeat", "012", [0, 1, 2]), ("repeat", "123", [1, 2, 3]), ("epoch", "123", [0, 1, 2]),
     ("trial", "012", [0, 1, 2]), ("epoch", "234", [2, 3, 4])],
)  # fmt: skip
def test_repeats_count_from_zero(tmp_path: Path, name: str, cells: str, repeats: list[int]) -> None:
    text = f"item,model,score,{name}\n" + "".join(f"q,m,1,{cell}\n" for cell in cells)
    assert column(read(READER, written(tmp_path, "a.csv", text))[0], "repeat") == repeats


@pytest.mark.parametrize(
    ("name", "cell", "wanted"),
    [
        ("repeat", "1.5", "a whole number"),
        ("latency_s", "fast", "a number"),
        ("status", "fine", "one of answered"),
    ],
)
def test_other_unreadable_cells_are_named(tmp_path: Path, name: str, cell: str, wanted: str) -> None:
    file = written(tmp_path, "a.csv", f"item,model,score,{name}\nq,m,1,{cell}\n")
    with pytest.raises(ReadError, match=f"a.csv:2 must have {wanted}.*in column '{name}', but has '{cell}'"):
        read(READER, file)
    assert len(read(READER, file, keep_going=True)[1]) == 1


def test_blank_cells_and_status(tmp_path: Path) -> None:
    """Neither score nor answer: never ran. An answer without a score stays answered, unscored."""
    text = "item,model,answer,score\nq1,m,,\nq2,m,x,\nq3,m,,0\n"
    records, _ = read(READER, written(tmp_path, "a.csv", text))
    assert column(records, "status") == ["absent", "answered", "answered"]
    assert scores(records) == [None, None, 0.0]


def test_a_score_beside_an_error_is_no_score(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", "item,model,family,status,score\nq1,m,f,error,0\nq2,m,f,ok,1\n")
    records = ps.read_runs(file.path)
    assert records.frame.set_index("item").score.isna().to_dict() == {"q1": True, "q2": False}
    assert records.ledger.score_ignored_on_error.tolist() == [1]


def test_answer_beside_a_prediction_is_the_key(tmp_path: Path) -> None:
    [record], _ = read(READER, written(tmp_path, "a.csv", "id,model,answer,pred,correct\nq,m,A,B,0\n"))
    assert (record.fields["answer"], record.fields["gold"]) == ("B", "A")


def test_a_label_beside_prediction_and_answer_is_not_the_key(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", "item,model,prediction,answer,label,score\nq1,m,B,A,easy,0\n")
    [record] = read(READER, file)[0]
    assert (record.fields["answer"], record.fields["gold"], record.fields["label"]) == ("B", "A", "easy")
    file = written(tmp_path, "b.csv", "item,model,prediction,answer,target,score\nq1,m,B,A,C,0\n")
    [record] = read(READER, file)[0]
    assert (record.fields["answer"], record.fields["gold"]) == ("B", "C")


def test_what_the_model_said_is_not_the_solution_of_the_data_set(tmp_path: Path) -> None:
    row = {"id": "q1", "model": "m", "model_output": "I think 5", "solution": "#### 7", "gold": "7"}
    [record] = read(READER, written(tmp_path, "a.jsonl", json.dumps(row) + "\n"))[0]
    assert (record.fields["response"], record.fields["solution"]) == ("I think 5", "#### 7")


STATES = [
    ({"score": 0, "error": "RateLimitError: 429"}, ("error", "rate_limit", None)),
    ({"score": 0, "exception": "boom"}, ("error", "unknown", None)),
    ({"score": 0, "error": True}, ("error", "unknown", None)),
    ({"score": 0, "is_error": True}, ("error", "unknown", None)),
    ({"score": 0, "is_error": 1}, ("error", "unknown", None)),
    ({"score": 0, "is_error": 0}, ("answered", None, 0.0)),
    ({"score": 0, "is_error": 1, "error": "timeout"}, ("error", "timeout", None)),
    ({"score": 0, "error": "", "exception": "timeout"}, ("error", "timeout", None)),
    ({"score": 0, "error": 0.25, "error_message": "timeout"}, ("error", "timeout", None)),
    ({"score": 1, "status_code": "UNSET"}, ("answered", None, 1.0)),
    ({"score": 1, "status_code": "200 OK"}, ("answered", None, 1.0)),
    ({"score": 0, "status_code": "429 Too Many Requests"}, ("error", "rate_limit", None)),
    ({"score": 1, "error": "No error"}, ("answered", None, 1.0)),
    (
        {"score": 0, "error": "wrong unit", "answer": "5 m"},
        ("answered", None, 0.0),
    ),  # a verdict on the answer
    ({"score": 0, "error": "wrong unit", "answer": ""}, ("error", "unknown", None)),
    ({"score": 0, "error": "timeout", "answer": "5 m"}, ("error", "timeout", None)),
    ({"score": 0, "is_error": True, "answer": "5 m"}, ("error", "unknown", None)),
    (
        {"score": 0, "finish_reason": "FinishReason.MAX_TOKENS", "response": ""},
        ("truncated", "max_tokens", 0.0),
    ),
    ({"score": None, "status": "error", "error": "429"}, ("error", "rate_limit", None)),
    ({"score": None, "status": "refused", "error": "429", "response": "no"}, ("refused", None, None)),
    ({"score": 0, "status_code": 429, "reason": None}, ("error", "rate_limit", None)),
    ({"score": 0, "error": 503}, ("error", "overloaded", None)),
    ({"score": 0, "status_code": "429", "error": ""}, ("error", "rate_limit", None)),
    ({"score": 0, "status_code": 200, "error": "boom"}, ("error", "unknown", None)),
    ({"score": 0, "status_code": 200}, ("answered", None, 0.0)),
    ({"score": 0, "error": 0.1}, ("answered", None, 0.0)),  # a distance from the right answer
    ({"score": 0, "error": 1}, ("answered", None, 0.0)),  # may as well say that the answer is wrong
    ({"score": 0, "error": "N/A"}, ("answered", None, 0.0)),
    ({"score": 1, "error": "None"}, ("answered", None, 1.0)),
    ({"score": 0, "error": False, "response": "B"}, ("answered", None, 0.0)),
    ({"score": 0, "error": "boom", "status": "ok"}, ("answered", None, 0.0)),
    ({"score": 0, "error": "boom", "reason": "mine"}, ("error", "mine", None)),
    ({"score": 0, "finish_reason": "content_filter"}, ("refused", "content_filter", 0.0)),
    ({"score": 0, "finish_reason": "length", "response": ""}, ("truncated", "max_tokens", 0.0)),
    ({"score": 0, "finish_reason": "length", "response": "so B"}, ("answered", "length", 0.0)),
    ({"score": 1, "stop_reason": "max_tokens"}, ("answered", "length", 1.0)),
    ({"score": 0, "finish_reason": "error", "response": "so"}, ("error", "server_error", None)),
    ({"score": 0, "response": " "}, ("empty", None, 0.0)),
    ({"score": 1, "response": ""}, ("answered", None, 1.0)),
    ({"score": 0, "response": "", "answer": "B"}, ("answered", None, 0.0)),
    ({"response": ""}, ("empty", None, None)),
    ({"score": None, "error": "429", "answer": None}, ("error", "rate_limit", None)),
]


@pytest.mark.parametrize(("row", "wanted"), STATES, ids=[str(number) for number, _ in enumerate(STATES)])
@pytest.mark.parametrize("by_columns", [True, False])
def test_state_first_then_score(
    row: dict[str, Any],
    wanted: tuple[Any, ...],
    by_columns: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An error, a filter or an empty reply is no wrong answer, whatever score stands beside it."""
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"item": item, "model": "m"} | row) + "\n" for item in "ab"))
    monkeypatch.setattr(collect, "read_whole" if by_columns else "read_pieces", _unusual)
    table = ps.read_runs(path, family="item").table
    assert tuple(table.column(name)[1].as_py() for name in ("status", "reason", "score")) == wanted
    if "error" in row:
        assert "error" in table.column_names  # what was told is kept


def _unusual(*_: Any) -> Any:
    raise UnusualError("not here")


def test_an_error_in_a_map_of_a_model_is_of_that_model(tmp_path: Path) -> None:
    row = {"item": "q", "a": {"score": 0, "answer": "B", "error": "429"}, "b": {"score": 0, "answer": "B"}}
    records = read(READER, written(tmp_path, "a.jsonl", json.dumps(row) + "\n"))[0]
    assert column(records, "status") == ["error", "answered"]


def test_a_table_that_the_user_calls_one_is_read_by_its_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"key": n, "meta": {"who": "m"}, "scores": {"em": n, "f1": 0.5}} for n in (0, 1)]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words: dict[str, Any] = {"item": "key", "model": "meta.who", "family": "item", "score": "scores.em"}
    with pytest.raises(ReadError, match="'table': you say what its columns are"):
        ps.read_runs(path, **words)
    found = ps.read_runs(path, **words, reader="table").table
    assert found.column("score").to_pylist() == [0.0, 1.0]
    assert found.column("model").to_pylist() == ["m", "m"]
    monkeypatch.setattr(collect, "read_pieces", _unusual)
    assert ps.read_runs(path, **words, reader="table").table.equals(found)


def test_decimals_and_bytes_of_sql_engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table(
        {
            "item": pa.array([b"007", b"1e5"]),
            "model": ["m", "m"],
            "score": pa.array([Decimal("0.5"), Decimal("1.0")]),
        }
    )
    path = written(tmp_path, "a.parquet", as_parquet(table)).path
    found = ps.read_runs(path, family="item").table
    assert (found.column("item").to_pylist(), found.column("score").to_pylist()) == (
        ["007", "1e5"],
        [0.5, 1.0],
    )
    monkeypatch.setattr(collect, "read_pieces", _unusual)
    assert ps.read_runs(path, family="item").table.equals(found)


def test_columns_taken_for_models_are_told(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "item,gpt,claude,solvable\nq1,1,0,1\n").path
    told = "each of these columns is read as a model: 'gpt', 'claude', 'solvable'"
    assert told in ps.read_runs(path, family="item").ledger.note[0]
    assert ps.read_runs(path, family="item", models=("gpt", "claude")).ledger.note[0] == ""


def test_the_score_that_was_named_is_one(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", "id,model,Reward,Accuracy\nq,m,0.5,1\n")
    assert read(READER, file)[0][0].scores == {"accuracy": 1.0}
    assert read(READER, file, score="Reward")[0][0].scores == {"Reward": 0.5, "accuracy": 1.0}
    assert read(READER, file, score="Accuracy")[0][0].scores == {"Accuracy": 1.0}


def test_wide_with_one_column_a_model(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", "item,n_steps,gold,gpt,claude\nq1,2,x,1,0\nq2,8,y,1,\n")
    records, _ = read(READER, file)
    assert column(records, "model") == ["gpt", "claude", "gpt", "claude"]
    assert scores(records) == [1.0, 0.0, 1.0, None]
    assert column(records, "status") == ["answered", "answered", "answered", "absent"]
    assert column(records, "gold") == ["x", "x", "y", "y"]
    assert column(records, "n_steps") == ["2", "2", "8", "8"]
    assert records[1].source == "a.csv:2:claude"
    assert len({record.identity for record in records}) == 4


def test_wide_with_blocks(tmp_path: Path) -> None:
    text = "item,answer,a__answer,b__answer,a__correct,b__correct,a__confidence\nq1,k,x,,True,,0.5\n"
    records, _ = read(READER, written(tmp_path, "a.csv", text))
    assert column(records, "answer") == ["x", None]
    assert column(records, "gold") == ["k", "k"]  # an answer of no model is the key
    assert column(records, "status") == ["answered", "absent"]
    assert [record.scores for record in records] == [{"correct": 1.0}, {"correct": None}]
    assert column(records, "confidence") == ["0.5", None]


DOUBTFUL = {
    "flag": ("item,is_hard,gpt,claude\nq1,1,1,0\n", "'is_hard' may be a property of the item"),
    "kinds": ("item,difficulty,gpt,claude\nq1,0.3,1,0\n", "0 and 1 as well as fractions"),
    "broken": ("item,gpt,claude\nq1,1,0\nq2,1,0\nq3,0,5\n", r"'claude' has '5' \(a.csv:4\)"),
    "statistic": ("item,gpt,claude,stderr\nq1,0.3,0.5,0.1\n", "'stderr' may be a property of the item"),
    "words": ("item,gpt,claude\nq1,1,yes\n", "0 and 1 as well as words"),
    "no item": ("name,gpt,claude\nq1,1,0\n", "no column is an item"),
}


@pytest.mark.parametrize("case", DOUBTFUL)
def test_doubtful_model_columns_are_asked_for(tmp_path: Path, case: str) -> None:
    text, why = DOUBTFUL[case]
    file = written(tmp_path, "a.csv", text)
    with pytest.raises(ReadError, match=f"could each be a model, but not for certain: .*{why}.*models="):
        read(READER, file)


def test_model_columns_that_are_named(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", DOUBTFUL["flag"][0])
    records, _ = read(READER, file, models=("gpt", "claude"))
    assert column(records, "model") == ["gpt", "claude"]
    assert column(records, "is_hard") == ["1", "1"]
    with pytest.raises(
        ReadError, match=r"lacks 'llama'\. Its columns are 'item', 'is_hard', 'gpt', 'claude'"
    ):
        read(READER, file, models=("gpt", "llama"))


def test_quoted_cells_keep_commas_quotes_and_line_ends(tmp_path: Path) -> None:
    answer = 'a "b",\nc;\r\n\t'
    text = 'item,model,answer,score\nq1,m,"' + answer.replace('"', '""') + '",1\nq2,m,x,oops\n'
    file = written(tmp_path, "a.csv", text)
    with pytest.raises(ReadError, match=r"a.csv:5 must have a number"):  # the line, not the row
        read(READER, file)
    records, _ = read(READER, file, keep_going=True)
    assert column(records, "answer") == [answer]


RAGGED = {
    "long row": ("q2,m,1,1\n", "a.csv:3 must have 3 fields, but has 4"),
    "short row": ("q2,m\n", "a.csv:3 must have 3 fields, but has 2"),
    "open quote": ('q2,"m,1\n', "a.csv:3: not a table row"),
    "broken quote": ('q2,"m"x,1\n', "a.csv:3: not a table row"),
}


@pytest.mark.parametrize("case", RAGGED)
def test_broken_rows_are_named_with_their_line(tmp_path: Path, case: str) -> None:
    row, message = RAGGED[case]
    file = written(tmp_path, "a.csv", "item,model,score\nq1,m,1\n" + row)
    assert isinstance(READER.recognize(file), Recognized)
    with pytest.raises(ReadError, match=message):
        read(READER, file)
    records, left_out = read(READER, file, keep_going=True)
    assert (column(records, "item"), [each.source for each in left_out]) == (["q1"], ["a.csv:3"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("item,model,score,score\nq,m,1,0\n", "'score' occur more than once"),
        ("item,model,score\n", "must hold at least one row"),
        (
            b"item,model,score\nq\xff,m,1\n" + b"q,m,1\n" * 20_000,
            "a.csv:2: byte 0xff, which is not UTF-8 text, in",
        ),
        (b"item,model,score\n" + b"q,m,1\n" * 20_000 + b"q\xff,m,1\n", "a.csv:20002: byte 0xff"),
        (b"PAR1" + b"\x00" * 99, "is a damaged parquet file"),
        (b"ARROW1\x00\x00" + b"\x07" * 99, "is a damaged arrow file"),
        ('[{"item": "q", "score": 1}, "stray"]', r'a.csv:2 must be an object, but is "stray"'),
        ('[{"item": "q", "score": 1}, null]', r"a.csv:2 must be an object, but is null"),
        ('[null, {"item": "q", "score": 1}]', r"a.csv:1 must be an object, but is null"),
        (
            gzip.compress(LONG.encode() * 999, mtime=0)[:-60],
            "file damaged from here on|cannot be opened|damaged",
        ),
    ],
)
def test_bad_files(tmp_path: Path, content: str | bytes, message: str) -> None:
    file = written(tmp_path, "a.csv", content)
    with pytest.raises(ReadError, match=message):
        read(READER, file)


@pytest.mark.parametrize(
    "content",
    ["", "One line of prose, with a comma.\n", "Dear all,\nthis is no table, is it,\n\nYours\n",
     b"\x00\x01\x02,\x03\n",
     "# Title\n\n| a | b |\n|---|---|\n", '{"doc_id": 0, "resps": [], "doc": {}, "score": 1, "id": 3}\n',
     '{"custom_id": "q", "response": {"choices": []}, "error": null}\n',
     '{"custom_id": "q", "result": {"type": "errored"}}\n',
     '{"eval": {}, "samples": [], "status": "success"}',
     '{"item_id": "q", "model": "m", "error": {}, "response": null}\n',
     '[{"id": "q", "input": {"a": 1}, "output": "x", "scores": {"exact": 1}}]', '{"results": {"a": 1}}',
     '{"id": "q1", "question": "?", "gold": "A", "options": ["x"]}\n', "null", "[1, 2]", '{"a": ' * 5000],
)  # fmt: skip
def test_what_is_no_table_of_decisions_is_declined(tmp_path: Path, content: str | bytes) -> None:
    assert isinstance(READER.recognize(written(tmp_path, "run.log", content)), Declined)


def test_hostile_names_and_long_cells(tmp_path: Path) -> None:
    name = "t{a}\u2603'\n%s.csv"
    model, item = "../../m{0}\\n\u202e", "=cmd|' /C'!A0"
    text = f'item,model,score,response\n"{item}","{model}",1,"{"x" * 1_000_000}"\n'
    [record], _ = read(READER, written(tmp_path, name, text))
    assert (record.fields["item"], record.fields["model"]) == (item, model)
    assert len(record.fields["response"]) == 1_000_000
    assert record.source == f"{name}:2"


def test_jsonl_rows_may_lack_keys_and_hold_wrong_types(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"item": "q1", "model": "m", "score": 1}, {"item": "q2", "model": "m"}]
    records, _ = read(READER, written(tmp_path, "a.jsonl", rows))
    assert column(records, "status") == ["answered", "absent"]
    for wrong in ([1], {"a": 1}, "x", 10**400):
        file = written(tmp_path, "b.jsonl", [rows[0], {**rows[0], "score": wrong}])
        with pytest.raises(ReadError, match=r"b.jsonl:2 must have a number"):
            read(READER, file)


@needs_shared
@pytest.mark.parametrize(
    ("name", "first"),
    [("gsm8k_long.csv", 1319), ("gsm8k_long.parquet", 1319), ("gsm8k_long_first100.jsonl", 100),
     ("gsm8k_wide_correct.csv", 1319), ("gsm8k_wide_correct.parquet", 1319),
     ("gsm8k_wide_multiblock_first200.csv", 200)],
)  # fmt: skip
def test_six_tables_are_the_same_paired_scores(name: str, first: int) -> None:
    """Truth: published ``is_correct`` of 4 systems on GSM8K, item by item; 286, 515, 458, 742 in all."""
    source = SHARED / "samples/gsm8k_openai_wide/example_model_solutions.jsonl"
    rows = [json.loads(line) for line in source.read_text().splitlines()]
    truth = {
        (f"gsm8k-test-{n}", m): float(row[m]["is_correct"])
        for n, row in enumerate(rows[:first])
        for m in MODELS
    }
    frame = ps.read_runs(TABLES / name, family="item").frame
    assert dict(zip(zip(frame["item"], frame.model, strict=True), frame.score, strict=True)) == truth
    if first == 1319:
        assert frame.groupby("model", observed=True).score.sum().to_dict() == CORRECT


@needs_shared
def test_answers_and_keys_of_long_and_wide_are_the_same() -> None:
    columns = ["item", "model", "answer", "gold"]
    long = ps.read_runs(TABLES / "gsm8k_long.csv", family="item").frame[columns]
    wide = ps.read_runs(TABLES / "gsm8k_wide_multiblock_first200.csv", family="item").frame[columns]
    wanted = set(wide["item"])
    assert set(long[long["item"].isin(wanted)].itertuples(index=False, name=None)) == set(
        wide.itertuples(index=False, name=None)
    )


def test_model_columns_of_a_wide_table_can_be_named(tmp_path: Path) -> None:
    from pairstats.readers import read_runs

    (tmp_path / "wide.csv").write_text("item,hard,alpha,beta\nq1,1,0,1\nq2,0,1,1\n")
    frame = read_runs(tmp_path / "wide.csv", family="item", models=["alpha", "beta"]).frame
    assert sorted(frame["model"].unique()) == ["alpha", "beta"]
    assert frame["score"].sum() == 3


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (HEAD + "é,m,1\nb,m,0\n", "a.csv:2: byte 0xe9, which is not UTF-8 text, in field 1"),
        (HEAD + "a,m,1\nb,m,0,9\nc,m,1\n", "a.csv:3 must have 3 fields, but has 4"),
        (HEAD + 'a,m,1\n"b"x,m,0\nc,m,1\n', "a.csv:3: not a table row"),
        (HEAD + 'a,m,1\n"b,m,0\nc,m,1\n', "never closed, which takes lines 3 to 4"),
        (HEAD + "a,m,1\nb\0,m,0\nc,m,1\n", "a.csv:3: a NUL in field 1"),
        (
            '{"item": "a", "model": "m", "score": 1}\n{"item": "b"}{"item": "c"}\n',
            "more text follows it at column",
        ),
        ('{"item": "a", "model": "m", "score": 1}\n{"item": "b", "item": "c"}\n', "'item' occurs twice"),
        (
            '{"item": "a", "model": "m", "score": 1}\n{"item": ' + "9" * 5000 + "}\n",
            "an integer of 5000 digits",
        ),
        (
            '[{"item": "a", "model": "m", "score": 1}, {"x": 1, "x": 2}]',
            r"a.csv:2 must be an object, but the key 'x'",
        ),
        ('[{"x": ' + "9" * 5000 + '}, {"item": "a", "model": "m", "score": 1}]', "a.csv:1 must be an object"),
    ],
)
def test_a_broken_row_is_named_and_can_be_left_out(tmp_path: Path, content: str, cause: str) -> None:
    path = written(tmp_path, "a.csv", content.encode("latin-1")).path
    with pytest.raises(ReadError, match=cause) as caught:
        ps.read_runs(path, family="item")
    assert "keep_going=True" in str(caught.value)
    records = ps.read_runs(path, family="item", keep_going=True)
    assert (len(records.left_out), len(records) >= 1) == (1, True)


@pytest.mark.parametrize(
    ("name", "content", "cause"),
    [
        ("a.csv", HEAD + "a,m,1,3\nb,m,0,9\n", "line 2 has 4 fields where the first has 3"),
        (
            "a.csv",
            ("id\n" + "ё" * 99).encode("cp1251"),
            "line 2 has byte 0xb8 at offset 3, which is not UTF-8",
        ),
        ("a.csv", (HEAD + "a,m,1\n").encode("utf-16"), "it is UTF-16"),
        ("a.tsv", b"\0\1\2,\0\n", "line 1 holds a NUL"),
        ("a.csv", "item\na\nb\n", "no delimiter, or one column only"),
        ("a.jsonl", '{"item": "a"}{"item": "b"}\n', "more text follows it at column 14"),
        ("a.jsonl", '{"a": 1}\n{"a": 2}\n', "no column is an answer or a score by its name: 'a'"),
    ],
)
def test_what_is_no_table_says_why_first_and_promises_nothing(
    tmp_path: Path, name: str, content: str | bytes, cause: str
) -> None:
    path = written(tmp_path, name, content).path
    for keep_going in (False, True):
        with pytest.raises(ReadError) as caught:
            ps.read_runs(path, family="item", keep_going=keep_going)
        message = str(caught.value)
        assert cause in message
        assert message.index("table:") < message.index("readers of platforms know none of it")
        assert len(message) < 300
        assert ".." not in message
        assert "keep_going" not in message


def test_numbers_that_are_one_id_and_texts_that_are_two(tmp_path: Path) -> None:
    row = '{"item": %s, "model": "%s", "score": 1}\n'
    content = row % (7, "a") + row % ("7.0", "b") + row % ('"7.0"', "c") + row % (1e300, "c")
    frame = ps.read_runs(written(tmp_path, "a.jsonl", content).path, family="item").frame
    assert frame["item"].tolist() == ["7", "7", "7.0", "1e+300"]


def test_scores_out_of_range_are_broken_records_too(tmp_path: Path) -> None:
    rows = "a,m,1.000000000001\nb,m,1.5\nc,m,0\nd,m,inf\ne,m,-1e-12\n"
    path = written(tmp_path, "a.csv", HEAD + rows).path
    records = ps.read_runs(path, family="item", keep_going=True)
    assert records.frame["score"].tolist() == [1.0, 0.0, 0.0]
    assert records.left_out["reason"].tolist()[1] == "score outside [0, 1]: 1.5"
    assert records.ledger["left_out"].tolist() == [2]
    written(tmp_path, "a.csv", HEAD + "a,m,70\nb,m,80\nc,m,0\n")
    with pytest.raises(ReadError, match=r"2 of 3 do not: 70.0, 80.0. So many are no slip: .*score_range="):
        ps.read_runs(path, family="item", keep_going=True)
    with pytest.raises(SchemaError, match=r"does not in rows 0 \(a.csv:2\), 1 \(a.csv:3\)"):
        ps.read_runs(path, family="item")


def test_a_path_to_a_score_that_no_row_has_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", '{"item": "q", "model": "m", "scores": {"em": 1}}\n').path
    with pytest.raises(ReadError, match=r"score='scores\.zz' must lead to a score in some row of a\.jsonl"):
        ps.read_runs(path, family="item", score="scores.zz", reader="table")


def test_categories_of_polars_are_read(tmp_path: Path) -> None:
    rows = ps.read_runs(written(tmp_path, "a.csv", LONG).path)
    again = ps.Records.from_frame(pl.from_pandas(rows.frame))
    assert again.frame[["model", "item", "score"]].equals(rows.frame[["model", "item", "score"]])


@pytest.mark.parametrize(
    "name", ["err", "api_error", "error_type", "exception_message", "failure", "err_msg"]
)
def test_errors_have_many_names(name: str, tmp_path: Path) -> None:
    path = written(
        tmp_path, "a.csv", f"item,model,score,{name}\nq1,m,0,429 Too Many Requests\nq2,m,1,\n"
    ).path
    frame = ps.read_runs(path, family="item").frame
    assert frame["status"].tolist() == ["error", "answered"]


def test_the_field_of_replies_can_be_mapped_and_must_be_known(tmp_path: Path) -> None:
    rows = [
        {"item": f"q{n}", "model": "m", "gold": "B", "said": f"Answer: {a}", "n": 1}
        for n, a in enumerate("AB")
    ]
    path = written(tmp_path, "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows)).path
    words: dict[str, Any] = {"family": "item", "answers": ps.AnswerFormat(field=None), "reader": "table"}
    with pytest.raises(
        PairingError, match=r"none of 2 records holds one, the first of them a\.jsonl:1\. Map response="
    ):
        ps.read_runs(path, **words)
    assert ps.read_runs(path, **words, response="said").frame["score"].tolist() == [0.0, 1.0]


def test_a_verdict_on_an_answer_leaves_no_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "item,model,score,error,answer\nq1,m,0,wrong unit,5 m\nq2,m,0,timeout,\nq3,m,1,,5 s\n"
    path = written(tmp_path, "a.csv", text).path
    found = ps.read_runs(path, family="item").table
    assert found.column("status").to_pylist() == ["answered", "error", "answered"]
    assert found.column("reason").to_pylist() == [None, "timeout", None]
    monkeypatch.setattr(collect, "read_pieces", _unusual)
    assert ps.read_runs(path, family="item").table.equals(found)


def test_a_column_that_is_named_as_the_score_tells_no_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, "a.csv", "item,model,is_error,answer\nq1,m,True,a\nq2,m,False,b\n").path
    found = ps.read_runs(path, family="item", score="is_error").table
    assert found.column("score").to_pylist() == [1.0, 0.0]
    monkeypatch.setattr(collect, "read_pieces", _unusual)
    assert ps.read_runs(path, family="item", score="is_error").table.equals(found)


@pytest.mark.parametrize("name", ["resolved", "is_resolved"])
def test_what_agents_resolved_is_their_score(name: str, tmp_path: Path) -> None:
    rows = [{"task_id": f"t{n}", "model": "m", name: value} for n, value in enumerate((True, False, None))]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    frame = ps.read_runs(tmp_path / "a.jsonl", family="item").frame
    assert frame["score"].tolist()[:2] == [1.0, 0.0]
    assert frame["status"].tolist() == ["answered", "answered", "absent"]


def test_outputs_of_a_model_are_its_replies_and_not_its_name(tmp_path: Path) -> None:
    rows = [
        {
            "question_id": 1,
            "src": "x",
            "options": ["a", "b"],
            "answer": "A",
            "pred": "A",
            "model_outputs": "The answer is (A).",
        },
        {
            "question_id": 2,
            "src": "x",
            "options": ["a", "b"],
            "answer": "B",
            "pred": None,
            "model_outputs": "Well.",
        },
    ]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    with pytest.raises(
        PairingError, match=r"The model must be known, but 2 of 2 records do not name it"
    ) as error:
        ps.read_runs(tmp_path / "a.json", family="item")
    assert "is likely" not in str(error.value)
    form = ps.AnswerFormat("choice", field=None)
    frame = ps.read_runs({"m": tmp_path / "a.json"}, family="item", answers=form).frame
    assert frame["status"].tolist() == ["answered", "unparsed"]
    assert frame["response"].tolist() == ["The answer is (A).", "Well."]
    assert frame["score"].tolist()[0] == 1.0


def test_a_file_of_totals_among_runs_is_named_as_what_lacks_the_item(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("item,model,score\nq1,m,1\nq2,m,0\n")
    (tmp_path / "totals.csv").write_text("model,acc,n\nm,0.5,2\n")
    whole = r"is not in 1 of 3: 'totals\.csv:2'\. That is all of 'totals\.csv': if no runs are in there"
    with pytest.raises(PairingError, match=whole):
        ps.read_runs(tmp_path, family="item")
    with pytest.raises(
        PairingError, match=r"must hold a value in every record, .* That is all of 'totals\.csv'"
    ):
        ps.read_runs(tmp_path, family="item", item="item")
    (tmp_path / "totals.csv").write_text("item,model,acc,n\n,m,0.5,2\nq3,m,1,1\n")
    with pytest.raises(PairingError, match=r"is not in 1 of 4: 'totals\.csv:2'\. Map item="):
        ps.read_runs(tmp_path, family="item")
