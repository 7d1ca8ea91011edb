"""OpenAI evals logs."""

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
from pairstats.readers.oaieval import READER

SAMPLES = SHARED / "samples/openai_evals/generated"
SPEC = {"spec": {"completion_fns": ["org/m", "grader"], "eval_name": "e.test.v0"}, "run_id": "r"}
REPORT = {"final_report": {"accuracy": 0.5}, "run_id": "r"}
Json = dict[str, Any]


def event(number: int, kind: str, sample: str = "e.test.0", **data: Any) -> Json:
    return {"run_id": "r", "event_id": number, "sample_id": sample, "type": kind, "data": data}


def asked(number: int, text: Any = "so 18", sample: str = "e.test.0", **more: Any) -> Json:
    usage = {"prompt_tokens": 3, "completion_tokens": 4}
    return event(number, "sampling", sample, prompt="Q", sampled=[text], usage=usage, **more)


def matched(number: int, correct: bool = True, sample: str = "e.test.0") -> Json:
    return event(number, "match", sample, correct=correct, expected="18", picked="18" if correct else None)


def test_events_of_a_sample_are_one_record_in_any_order(tmp_path: Path) -> None:
    lines = [SPEC, REPORT, matched(1), asked(2, "17", "e.test.1"), asked(0), matched(3, False, "e.test.1")]
    file = written(tmp_path, "a.jsonl", lines)
    assert READER.recognize(file) == Recognized("events")
    records, left_out = read(READER, file)
    assert not left_out
    assert records[0].fields == {
        "model": "org/m", "study": "e.test.v0", "item": "e.test.0", "repeat": 0, "status": "answered",
        "response": "so 18", "gold": "18", "answer": "18", "input_tokens": 3, "output_tokens": 4,
    }  # fmt: skip
    assert [record.scores for record in records] == [{"match": 1.0}, {"match": 0.0}]
    assert column(records, "response") == ["so 18", "17"]


def test_a_sample_that_was_never_scored_is_an_error(tmp_path: Path) -> None:
    lines = [
        SPEC,
        asked(0),
        matched(1),
        asked(2, "x", "s1"),
        event(3, "error", "s2", message="429 rate limit"),
    ]
    file = written(tmp_path, "a.jsonl", lines)
    seen = READER.recognize(file)
    assert isinstance(seen, Recognized)
    assert "cut off" in seen.note
    records, _ = read(READER, file)
    assert column(records, "status") == ["answered", "error", "error"]
    assert column(records, "reason") == [None, "scorer_error", "rate_limit"]
    assert column(read(READER, file, rescored=True)[0], "status")[1] == "answered"


def test_several_matches_are_repeats(tmp_path: Path) -> None:
    lines = [SPEC, REPORT, asked(0, "a"), matched(1, False), asked(2, "b"), matched(3, True)]
    records, _ = read(READER, written(tmp_path, "a.jsonl", lines))
    assert column(records, "repeat") == [0, 1]
    assert column(records, "response") == ["a", "b"]
    assert [record.scores["match"] for record in records] == [0.0, 1.0]


def test_reply_of_several_steps_is_not_guessed(tmp_path: Path) -> None:
    lines = [SPEC, REPORT, asked(0, "a"), asked(1, "b"), matched(2)]
    [record], _ = read(READER, written(tmp_path, "a.jsonl", lines))
    assert "response" not in record.fields
    assert record.raw["samplings"] == 2
    assert record.scores == {"match": 1.0}


def test_events_of_no_sample_are_counted(tmp_path: Path) -> None:
    lines = [SPEC, REPORT, asked(0), matched(1), {**event(2, "extra"), "sample_id": None}]
    records, left_out = read(READER, written(tmp_path, "a.jsonl", lines))
    assert (len(records), [each.reason for each in left_out]) == (1, ["event of no sample (type 'extra')"])


def test_metrics_by_name(tmp_path: Path) -> None:
    lines = [SPEC, REPORT, asked(0), event(1, "metrics", f1=0.5, label="x", ok=True)]
    [record], _ = read(READER, written(tmp_path, "a.jsonl", lines))
    assert record.scores == {"f1": 0.5, "ok": 1.0}


@pytest.mark.parametrize("content", ["", "prose", '{"spec": {"a": 1}}', '{"a": 1}', b"\x80"])
def test_other_files_are_declined(tmp_path: Path, content: str | bytes) -> None:
    assert isinstance(READER.recognize(written(tmp_path, "a.jsonl", content)), Declined)


def test_strange_lines_are_named_and_counted(tmp_path: Path) -> None:
    text = "".join(json.dumps(line) + "\n" for line in (SPEC, asked(0), matched(1), {"a": 1})) + '{"run_id'
    file = written(tmp_path, "a.jsonl", text)
    with pytest.raises(ReadError, match=r"a\.jsonl:4 must be an event of a sample"):
        read(READER, file)
    records, left_out = read(READER, file, keep_going=True)
    assert (len(records), [each.source for each in left_out]) == (1, ["a.jsonl:4", "a.jsonl:5"])


@needs_shared
@pytest.mark.parametrize(("model", "accuracy"), [("6b_finetuning", 0.15), ("175b_verification", 0.55)])
def test_samples_hold_the_reported_accuracy(model: str, accuracy: float) -> None:
    """Truth: the log's own ``final_report``, 40 samples."""
    frame = ps.read_runs(SAMPLES / f"oaieval_{model}.jsonl", family="item").frame
    assert (len(frame), set(frame["model"])) == (40, {f"replay/{model}"})
    assert frame["score"].mean() == pytest.approx(accuracy, abs=1e-12)
    assert frame["output_tokens"].notna().all()
