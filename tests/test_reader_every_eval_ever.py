"""Every Eval Ever instance-level files."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED, needs_shared
from run_files import column, read, written

import pairstats as ps
from pairstats.errors import PairingError, ReadError
from pairstats.readers.base import Declined, Recognized
from pairstats.readers.every_eval_ever import READER

SAMPLES = SHARED / "samples/every_eval_ever"
NAME = "u_samples.jsonl"
Json = dict[str, Any]


def line(sample: str = "q1", result: str = "acc", score: float = 1.0, **more: Any) -> Json:
    return {
        "schema_version": "0.3.0", "evaluation_id": "e/1", "model_id": "org/m", "evaluation_name": "bench",
        "evaluation_result_id": result, "sample_id": sample, "interaction_type": "single_turn",
        "input": {"raw": "Q", "reference": ["A"]}, "output": {"raw": ["so A"]},
        "answer_attribution": [{"turn_idx": 0, "extracted_value": "A", "is_terminal": True}],
        "evaluation": {"score": score, "is_correct": score > 0}, **more,
    }  # fmt: skip


def test_fields_of_a_line(tmp_path: Path) -> None:
    usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    file = written(tmp_path, NAME, [line(token_usage=usage, performance={"latency_ms": 250.0})])
    assert READER.recognize(file) == Recognized("0.3.0")
    [record], left_out = read(READER, file)
    assert not left_out
    assert record.fields == {
        "item": "q1", "model": "org/m", "study": "bench", "input_tokens": 3, "output_tokens": 4,
        "latency_s": 0.25, "response": "so A", "answer": "A", "gold": "A", "status": "answered",
        "prompt_sha256": sha256(b"Q").hexdigest(),
    }  # fmt: skip
    assert record.scores == {"acc": 1.0}


def test_lines_of_one_sample_are_one_record(tmp_path: Path) -> None:
    lines = [line(), line("q2"), line(result="f1", score=0.5), line("q2", result="f1", score=0.0)]
    file = written(tmp_path, NAME, lines)
    records, left_out = read(READER, file)
    assert [record.scores for record in records] == [{"acc": 1.0, "f1": 0.5}, {"acc": 1.0, "f1": 0.0}]
    assert [each.source for each in left_out] == [f"{NAME}:3", f"{NAME}:4"]
    assert [each.reason for each in left_out] == ["a further score of a sample that is a row: f1"] * 2


@pytest.mark.parametrize("named", [True, False])
def test_metrics_with_names_of_their_own_are_scores_of_one_reply(tmp_path: Path, named: bool) -> None:
    def scored(sample: str, name: str, score: float, **more: Any) -> Json:
        about = {"evaluation_id": "gsm8k/org_m/1", "evaluation_name": name, **more}
        found = line(sample, name, score, **about)
        return (
            found if named else {key: value for key, value in found.items() if key != "evaluation_result_id"}
        )

    lines = [
        scored(sample, name, score) for sample in ("q1", "q2") for name, score in (("em", 1.0), ("f1", 0.5))
    ]
    records = ps.read_runs(written(tmp_path, NAME, lines).path, family="item", score="em")
    assert records.frame[["study", "item", "score", "score_f1"]].values.tolist() == [
        ["gsm8k", "q1", 1.0, 0.5], ["gsm8k", "q2", 1.0, 0.5],
    ]  # fmt: skip
    assert len(records.left_out) == 2
    for change in ({"input": {"raw": "another"}}, {"output": {"raw": ["another"]}}):
        other = [*lines, scored("q1", "other", 0.0, **change), scored("q9", "other", 0.0)]
        frame = ps.read_runs(written(tmp_path, NAME, other).path, family="item", score="em").frame
        assert sorted(zip(frame["study"], frame["item"], strict=True)) == [
            ("gsm8k", "q1"), ("gsm8k", "q2"), ("other", "q1"), ("other", "q9"),
        ]  # fmt: skip


def test_the_wanted_metric_gives_the_answer(tmp_path: Path) -> None:
    other = line(result="loose", output={"raw": ["B"]}, answer_attribution=[])
    file = written(tmp_path, NAME, [line(result="strict"), other])
    records, _ = read(READER, file, score="loose")
    assert column(records, "response") == ["B"]
    assert column(read(READER, file)[0], "response") == ["so A"]


def test_an_error_is_never_a_wrong_answer(tmp_path: Path) -> None:
    lines = [
        line("q1", score=0.0, error="HTTP 429 Too Many Requests"),
        line("q2", score=0.0, error="the model refused to answer"),
        line("q3", score=0.0, output={"raw": [""]}),
        line("q4", score=0.0, output={"raw": []}, metadata={"stop_reason": "max_tokens"}),
        line("q5", metadata={"stop_reason": "max_tokens"}),
        line("q6", metadata={"stop_reason": "content_filter"}),
    ]
    file = written(tmp_path, NAME, lines)
    frame = ps.read_runs(file.path, family="item").frame
    assert list(frame["status"]) == ["error", "refused", "empty", "truncated", "answered", "refused"]
    assert list(frame["reason"].astype(object).where(frame["reason"].notna(), None)) == [
        "rate_limit", "refusal", None, "max_tokens", "length", "content_filter",
    ]  # fmt: skip
    assert list(frame["score"].isna()) == [True, False, False, False, False, False]


def test_epochs_are_repeats(tmp_path: Path) -> None:
    lines = [line(metadata={"epoch": str(epoch)}, score=float(epoch - 1)) for epoch in (1, 2)]
    records, _ = read(READER, written(tmp_path, NAME, lines))
    assert column(records, "repeat") == [0, 1]
    assert [record.scores["acc"] for record in records] == [0.0, 1.0]


def test_copies_merge_and_other_replies_under_one_key_are_refused(tmp_path: Path) -> None:
    twice = [line(), line(result="f1"), line(), line(result="f1")]
    records = ps.read_runs(written(tmp_path, "a_samples.jsonl", twice).path, family="item", score="acc")
    assert records.ledger[["records", "rows", "left_out", "merged"]].to_numpy().tolist() == [[4, 1, 2, 1]]
    clash = written(tmp_path, "b_samples.jsonl", [line(), line(score=0.0, output={"raw": ["B"]})])
    with pytest.raises(PairingError, match="A key must be one reply"):
        ps.read_runs(clash.path, family="item")


def test_aggregate_names_the_data_set_and_warns(tmp_path: Path) -> None:
    about = {
        "schema_version": "0.3.0", "evaluation_id": "e/1", "eval_library": {"name": "inspect"},
        "evaluation_results": [{"evaluation_result_id": "acc", "source_data": {"dataset_name": "arc"},
                                "metric_config": {"lower_is_better": True}}],
    }  # fmt: skip
    aggregate = written(tmp_path, "u.json", json.dumps(about, indent=1))
    file = written(tmp_path, NAME, [line()])
    seen = READER.recognize(file)
    assert isinstance(seen, Recognized)
    assert "lower is better: acc" in seen.note
    assert "converted from Inspect" in seen.note
    assert column(read(READER, file)[0], "study") == ["arc"]
    companion = READER.recognize(aggregate)
    assert isinstance(companion, Recognized)
    assert companion.companion.startswith("aggregate")


def test_conversations_and_several_outputs(tmp_path: Path) -> None:
    said = [
        {"turn_idx": 0, "role": "user", "content": "?"},
        {"turn_idx": 1, "role": "assistant", "content": "A"},
    ]
    lines = [
        line("q1", output=None, messages=said, interaction_type="multi_turn"),
        line("q2", output={"raw": ["A", "B"]}, input={"raw": "Q", "reference": ["A", "B"]}),
    ]
    records, _ = read(READER, written(tmp_path, NAME, lines))
    assert column(records, "response") == ["A", '["A", "B"]']
    assert column(records, "gold") == ["A", '["A", "B"]']


@pytest.mark.parametrize("content", ["", "prose", '{"schema_version": "1"}', "[1, 2]", b"\x80\x81"])
def test_other_files_are_declined(tmp_path: Path, content: str | bytes) -> None:
    assert isinstance(READER.recognize(written(tmp_path, NAME, content)), Declined)


def test_a_strange_line_is_named_and_counted(tmp_path: Path) -> None:
    text = json.dumps(line()) + '\n{"a": 1}\n' + json.dumps(line("q2"))[:50]
    file = written(tmp_path, NAME, text)
    with pytest.raises(ReadError, match=rf"{NAME}:2 must have the keys"):
        read(READER, file)
    records, left_out = read(READER, file, keep_going=True)
    assert (len(records), [each.source for each in left_out]) == (1, [f"{NAME}:2", f"{NAME}:3"])


@needs_shared
@pytest.mark.parametrize(("part", "rows", "models"), [("date_mc60", 120, 2), ("arc", 8, 2)])
def test_converted_samples(part: str, rows: int, models: int) -> None:
    """Counts by hand from the files; the aggregates are companions."""
    score = "acc" if part == "date_mc60" else None
    records = ps.read_runs(SAMPLES / "converted" / part, family="item", score=score)
    assert len(records) == rows
    assert records.frame["model"].nunique() == models
    assert (records.ledger["records"] == records.ledger["rows"] + records.ledger["left_out"]).all()
    for _, row in records.frame.groupby("model", observed=True).score.mean().to_frame().iterrows():
        assert 0 <= row["score"] <= 1


@needs_shared
def test_means_are_those_of_the_aggregates() -> None:
    checked = 0
    for file in sorted(SAMPLES.glob("converted/**/*_samples.jsonl")):
        about = json.loads(file.with_name(file.name.replace("_samples.jsonl", ".json")).read_text())
        for result in about["evaluation_results"]:
            frame = ps.read_runs(file, family="item", score=result["evaluation_result_id"]).frame
            assert frame["score"].mean() == pytest.approx(result["score_details"]["score"], abs=1e-12)
            checked += 1
    assert checked == 10


@pytest.mark.parametrize("score", ["acc", "f1"])
@pytest.mark.parametrize("failed", ["acc", "f1"])
def test_an_error_of_any_metric_is_one_of_the_sample(score: str, failed: str, tmp_path: Path) -> None:
    lines = [
        line("q1", name, 0.0, **({"error": "timeout"} if name == failed else {})) for name in ("acc", "f1")
    ]
    file = written(tmp_path, NAME, [*lines, line("q2", "acc"), line("q2", "f1")])
    frame = ps.read_runs(file.path, family="item", score=score).frame
    assert frame[["item", "status", "reason"]].astype(object).values.tolist()[0] == ["q1", "error", "timeout"]
    assert frame["score"].isna().tolist() == [True, False]
