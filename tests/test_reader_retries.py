"""Requests that were sent again: the last good attempt is the record, the others are counted, in any file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from run_files import written
from test_reader_anthropic import errored, succeeded, text
from test_reader_inspect import header, only, read, sample, write_eval
from test_reader_openai import batch, completion

import pairstats as ps
from pairstats.errors import PairingError
from pairstats.readers import written as writing
from pairstats.readers.attempts import NOT_HERE, SUPERSEDED
from pairstats.readers.drafts import Draft, Tally

Json = dict[str, Any]
LIMIT = {"error": {"code": "rate_limit_exceeded"}}
ERROR = {"message": "429 Too Many Requests", "traceback": "..."}


def runs(tmp_path: Path, *names: str, **words: Any) -> ps.Records:
    """Read files of a folder: by one process, by two, and straight to Parquet, with one result."""
    paths = [tmp_path / name for name in names] or tmp_path
    words = {"family": "item", "progress": False} | words
    one, two = (ps.read_runs(paths, workers=workers, **words) for workers in (1, 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "STREAM_BYTES", 0)
        out = writing.write_runs(paths, tmp_path / "out.parquet", overwrite=True, **words)
    for other in (two, ps.Records.load(out)):
        assert other.table.to_pylist() == one.table.to_pylist()
        assert other.ledger.to_dict("records") == one.ledger.to_dict("records")
        assert other.left_out.to_dict("records") == one.left_out.to_dict("records")
    out.unlink()
    ledger = one.ledger
    assert (ledger["records"] == ledger["rows"] + ledger["left_out"] + ledger["merged"]).all()
    return one


def told(records: ps.Records) -> dict[str, tuple[str, int | None]]:
    """Status and number of attempts by item, where each has one row."""
    rows = records.table.to_pylist()
    assert len({row["item"] for row in rows}) == len(rows)
    return {row["item"]: (row["status"], row.get("attempts")) for row in rows}


def notes(records: ps.Records) -> dict[str, str]:
    return dict(zip(records.ledger["file"], records.ledger["note"], strict=True))


def at(hour: int) -> str:
    return f"2026-01-01T{hour:02}:00:00+00:00"


def log(path: Path, *samples: Json, status: str = "success", ids: list[Any] | None = None) -> None:
    write_eval(path, list(samples), header(status=status, ids=ids))


def test_inspect_counts_the_errors_it_tried_again_after(tmp_path: Path) -> None:
    log(tmp_path / "a.eval", sample(error_retries=[ERROR, ERROR]))
    assert only(read(tmp_path / "a.eval")).fields["attempts"] == 3
    log(tmp_path / "b.eval", sample(error_retries=[ERROR], error=ERROR))
    failed = only(read(tmp_path / "b.eval")).fields
    assert (failed["status"], failed["attempts"]) == ("error", 2)
    log(tmp_path / "c.eval", sample(error_retries=None))
    assert only(read(tmp_path / "c.eval")).fields["attempts"] is None


@pytest.mark.parametrize("carried", [[], [ERROR]], ids=["before 2026", "errors of the log before are kept"])
def test_inspect_eval_retry(tmp_path: Path, carried: list[Json]) -> None:
    first = [sample("q1"), sample("q2", error=ERROR, uuid="one", output={"choices": []})]
    log(tmp_path / "1.eval", *first, status="error", ids=["q1", "q2", "q3"])
    log(tmp_path / "2.eval", sample("q1"), sample("q2", uuid="two", error_retries=carried), sample("q3"))
    records = runs(tmp_path)
    assert told(records) == {"q1": ("answered", None), "q2": ("answered", 2), "q3": ("answered", None)}
    assert sorted(records.left_out.itertuples(index=False, name=None)) == [
        ("1.eval:q2_epoch_1.json", SUPERSEDED), ("1.eval:q3_epoch_1", NOT_HERE),
    ]  # fmt: skip
    assert notes(records)["1.eval"].endswith("2 records superseded by 2.eval")
    assert records.ledger["merged"].tolist() == [0, 1]


def test_inspect_retries_in_three_logs_are_counted_once_each(tmp_path: Path) -> None:
    other = {"message": "500", "traceback": "..."}
    log(tmp_path / "1.eval", sample(error=ERROR, uuid="1", completed_at=at(1)))
    log(tmp_path / "2.eval", sample(error=other, uuid="2", completed_at=at(2), error_retries=[ERROR]))
    log(tmp_path / "3.eval", sample(uuid="3", completed_at=at(3), error_retries=[ERROR, other]))
    assert told(runs(tmp_path)) == {"q1": ("answered", 3)}
    log(tmp_path / "3.eval", sample(uuid="3", completed_at=at(3)))
    assert told(runs(tmp_path)) == {"q1": ("answered", 3)}


def test_of_failures_only_the_last_counts_by_time_then_by_file(tmp_path: Path) -> None:
    cancelled = {"message": "cancelled", "traceback": ""}
    log(tmp_path / "1.eval", sample(error=ERROR, uuid="1", completed_at=at(9)))
    log(tmp_path / "2.eval", sample(error=cancelled, uuid="2", completed_at=at(3)))
    records = runs(tmp_path)
    assert records.table.column("source").to_pylist() == ["1.eval:q1_epoch_1.json"]
    assert told(records) == {"q1": ("error", 2)}
    log(tmp_path / "1.eval", sample(error=ERROR, uuid="1"))
    assert runs(tmp_path).table.column("source").to_pylist() == ["2.eval:q1_epoch_1.json"]


def test_what_never_ran_is_no_attempt(tmp_path: Path) -> None:
    log(tmp_path / "1.eval", sample("q1", error=ERROR), status="cancelled", ids=["q1", "q2"])
    log(tmp_path / "2.eval", sample("q9"), status="cancelled", ids=["q1", "q2", "q9"])
    head = header("cancelled", ["q1", "q2", "q9"])
    head["eval"]["run_id"] = "another"
    write_eval(tmp_path / "2.eval", [sample("q9")], head)
    records = runs(tmp_path)
    assert told(records) == {"q1": ("error", None), "q2": ("absent", None), "q9": ("answered", None)}
    assert records.left_out["reason"].tolist() == [NOT_HERE, NOT_HERE]


def test_openai_batch_that_was_sent_again(tmp_path: Path) -> None:
    def failed(name: str, number: int) -> Json:
        return batch(name, LIMIT, 429) | {"id": f"batch_req_{name}_{number}"}

    written(tmp_path, "x_output.jsonl", [batch("q1", completion())])
    written(tmp_path, "x_error.jsonl", [failed("q2", 1), failed("q3", 1)])
    written(tmp_path, "y_output.jsonl", [batch("q2", completion() | {"id": "chat-2"})])
    written(tmp_path, "y_error.jsonl", [failed("q3", 2)])
    records = runs(tmp_path, "x_output.jsonl", "x_error.jsonl", "y_output.jsonl", "y_error.jsonl")
    assert told(records) == {"q1": ("answered", 1), "q2": ("answered", 2), "q3": ("error", 2)}
    assert set(records.frame["model"]) == {"m-2026"}
    assert set(records.left_out["reason"]) == {SUPERSEDED}
    assert notes(records)["x_error.jsonl"] == (
        "1 record superseded by y_output.jsonl; 1 record superseded by y_error.jsonl"
    )


def test_a_request_without_an_answer_that_was_sent_again(tmp_path: Path) -> None:
    def asked(name: str) -> Json:
        return {"custom_id": name, "url": "/v1/chat/completions", "body": {"model": "m", "messages": []}}

    written(tmp_path, "x_input.jsonl", [asked("q1"), asked("q2")])
    written(tmp_path, "x_output.jsonl", [batch("q1", completion())])
    written(tmp_path, "y_input.jsonl", [asked("q2")])
    written(tmp_path, "y_output.jsonl", [batch("q2", completion() | {"id": "chat-2"})])
    assert told(runs(tmp_path)) == {"q1": ("answered", 1), "q2": ("answered", 1)}


def test_vllm_and_anthropic(tmp_path: Path) -> None:
    flat = {"id": "vllm-1", "custom_id": "q1", "response": completion(), "error": None}
    lost = {"id": "vllm-2", "custom_id": "q2", "response": None, "error": "Connection reset"}
    again = {"id": "vllm-3", "custom_id": "q2", "response": completion() | {"id": "chat-2"}, "error": None}
    written(tmp_path, "v/1.jsonl", [flat, lost])
    written(tmp_path, "v/2.jsonl", [again])
    assert told(runs(tmp_path / "v")) == {"q1": ("answered", 1), "q2": ("answered", 2)}
    limit = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
    written(tmp_path, "a/1_results.jsonl", [succeeded(text("A"), name="q1"), errored(limit, "q2")])
    written(tmp_path, "a/2_results.jsonl", [succeeded(text("B"), name="q2")])
    assert told(runs(tmp_path / "a")) == {"q1": ("answered", None), "q2": ("answered", 2)}


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_plain_tables(tmp_path: Path, ending: str) -> None:
    def table(name: str, *rows: tuple[str, str, float | None]) -> None:
        lines = [{"item": i, "model": "m", "status": s, "score": v} for i, s, v in rows]
        content = "".join(json.dumps(line) + "\n" for line in lines)
        if ending == "csv":
            content = "item,model,status,score\n" + "".join(
                f"{i},m,{s},{'' if v is None else v}\n" for i, s, v in rows
            )
        written(tmp_path, f"{name}.{ending}", content)

    table("1", ("q1", "answered", 1), ("q2", "error", None), ("q3", "error", None))
    table("2", ("q2", "error", None), ("q3", "absent", None))
    table("3", ("q2", "answered", 0))
    records = runs(tmp_path)
    assert told(records) == {"q1": ("answered", None), "q2": ("answered", 3), "q3": ("error", None)}
    assert notes(records)[f"1.{ending}"] == f"1 record superseded by 3.{ending}"


def test_two_replies_are_refused_as_before(tmp_path: Path) -> None:
    rows = [{"item": "q", "model": "m", "status": status} for status in ("error", "answered", "refused")]
    for number, row in enumerate(rows):
        written(tmp_path, f"{number}.jsonl", [row | {"score": None}])
    for words in ({}, {"workers": 2}):
        with pytest.raises(PairingError, match=r"but 1 record.* 1.jsonl:1 and 2.jsonl:1 are both"):
            ps.read_runs(tmp_path, family="item", **words)


def test_two_records_of_one_file_are_for_its_reader_to_tell(tmp_path: Path) -> None:
    rows = [{"item": "q", "model": "m", "status": status} for status in ("error", "answered")]
    written(tmp_path, "a.jsonl", rows)
    with pytest.raises(PairingError, match=r"a.jsonl:1 and a.jsonl:2 are both"):
        ps.read_runs(tmp_path, family="item")


def test_a_number_of_attempts_that_is_none_counts_as_one() -> None:
    from pairstats.readers.attempts import supersede

    def draft(file: int, status: str, attempts: Any) -> Draft:
        return Draft(file, f"{file}:1", str(file), {"status": status, "attempts": attempts}, {}, {})

    for attempts, total in ((2, 3), ("many", 2), (float("nan"), 2), (0, 2), (None, 2)):
        group = [draft(0, "error", attempts), draft(1, "answered", None)]
        supersede([(group[1], group)], [Tally("a"), Tally("b")])
        assert group[1].fields["attempts"] == total


def test_a_batch_that_failed_as_a_whole_counts_for_the_model_that_answered_the_next(tmp_path: Path) -> None:
    asked = {"custom_id": "q1", "url": "/v1/chat/completions", "body": {"model": "m", "messages": []}}
    written(tmp_path, "x_input.jsonl", [asked])
    written(tmp_path, "x_error.jsonl", [batch("q1", LIMIT, 429)])
    written(
        tmp_path, "y_output.jsonl", [batch("q1", completion()), batch("q2", completion() | {"id": "chat-2"})]
    )
    for names in (("x_error.jsonl", "y_output.jsonl"), ("x_error.jsonl", "x_input.jsonl", "y_output.jsonl")):
        records = runs(tmp_path, *names)
        assert told(records) == {"q1": ("answered", 2), "q2": ("answered", 1)}
        assert set(records.frame["model"]) == {"m-2026"}
