"""Rules that hold for every reader: names of models, intervals of others, unknown usage, replies that seem cut."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from conftest import SHARED, needs_shared
from run_files import written

import pairstats as ps
from pairstats.errors import PairstatsError
from pairstats.readers.cut import LENGTH_SUSPECTED, looks_cut, suspected

TIME = "2026-01-02T03-04-05.678"
Json = dict[str, Any]
CUT = (
    "It follows from the second rule that the first one, which was written much earlier, cannot be meant. "
    * 5
    + (
        "And so the committee, after it had heard the objections of both neighbours and of the caretaker, decid"
    )
)


def lm_line(reply: str = "4", **more: Any) -> Json:
    settings = {"until": more.pop("until", ["\n\n"])}
    return {
        "doc_id": more.pop("doc_id", 0), "doc": {"question": "How many?"}, "target": "4", "resps": [[reply]],
        "filtered_resps": [reply], "filter": "none", "metrics": ["exact_match"], "exact_match": 1.0,
        "arguments": {"gen_args_0": {"arg_0": "How many?", "arg_1": settings}}, **more,
    }  # fmt: skip


def notes(path: Any, **options: Any) -> str:
    return "; ".join(ps.read_runs(path, family="item", **options).ledger["note"])


# Names of models


def test_lm_eval_reports_a_folder_that_names_another_model(tmp_path: Path) -> None:
    results = {"results": {"t": {"exact_match,none": 1.0, "exact_match_stderr,none": 0.1}}, "configs": {},
               "model_name": "org/model-2026-01-01", "lm_eval_version": "0.4.9"}  # fmt: skip
    for folder in ("org__model-2026-01-01", "org__other"):
        written(tmp_path / folder, f"results_{TIME}.json", json.dumps(results))
        written(tmp_path / folder, f"samples_t_{TIME}.jsonl", [lm_line()])
    records = ps.read_runs(tmp_path / "org__other", family="item")
    assert records.frame["model"].tolist() == ["org/model-2026-01-01"]
    said = "names the model 'org/model-2026-01-01' (taken), the folder 'org/other'"
    assert said in records.ledger["note"].iloc[1]
    assert "(taken)" not in notes(tmp_path / "org__model-2026-01-01")


@needs_shared
def test_helm_reports_a_folder_that_names_another_model(tmp_path: Path) -> None:
    [source] = (SHARED / "samples/helm/generated").glob("*175b*")
    for name in (source.name, source.name.replace("175b_verification", "13b")):
        for file in ("run_spec.json", "per_instance_stats.json"):
            written(tmp_path / name, file, (source / file).read_bytes())
    assert "(taken)" not in notes(tmp_path / source.name, score="exact_match")
    said = notes(tmp_path / source.name.replace("175b_verification", "13b"), score="exact_match")
    assert "names the model 'openai/gsm8k-175b_verification' (taken), the folder 'openai_gsm8k-13b'" in said


@needs_shared
def test_lighteval_reports_a_folder_that_names_another_model(tmp_path: Path) -> None:
    root = SHARED / "samples/lighteval/generated"
    [details] = (root / "details").rglob("*6b*/**/*.parquet")
    [results] = (root / "results").rglob("*6b*/*.json")
    for model in ("openai/gsm8k-6b_finetuning", "openai/other"):
        time = details.parent.name
        written(tmp_path / model / "details" / model / time, details.name, details.read_bytes())
        written(tmp_path / model / "results" / model, results.name, results.read_bytes())
    assert "(taken)" not in notes(tmp_path / "openai/gsm8k-6b_finetuning")
    assert "(taken), the folder 'openai/other'" in notes(tmp_path / "openai/other")


def test_a_name_that_the_user_gives_instead_is_noted(tmp_path: Path) -> None:
    body = {"id": "c", "object": "chat.completion", "model": "m-2026-02-03", "choices": [
        {"index": 0, "message": {"content": "A"}, "finish_reason": "stop"}]}  # fmt: skip
    file = written(tmp_path, "a.jsonl", [{"item": "q", "response": body}])
    assert "its own name of the model, 'm-2026-02-03', gave way to 'mine'" in notes({"mine": file.path})
    assert "gave way" not in notes({"m-2026-02-03": file.path}) + notes(file.path)


@pytest.mark.parametrize(
    "name", ["gpt-4o-2024-08-06", "openrouter/anthropic/claude-3.5:beta", "m@2026-01-01"]
)
def test_dated_names_and_providers_are_kept(tmp_path: Path, name: str) -> None:
    file = written(tmp_path, "a.jsonl", [{"item": "q", "model": name, "score": 1}])
    assert ps.read_runs(file.path, family="item").frame["model"].tolist() == [name]


# Intervals and errors of others


def test_columns_of_others_intervals_are_no_confidence_and_no_interval(tmp_path: Path) -> None:
    names = ["confidence_interval", "stderr", "std_error", "conf_low", "conf_high", "ci", "ci_low", "p_value"]
    rows = [f"q{n},m,{n % 2}" for n in range(12)]
    for file, further, cells in (
        ("plain.csv", "", ""),
        ("more.csv", "," + ",".join(names), ",0.1" * len(names)),
    ):
        (tmp_path / file).write_text(
            f"item,model,score{further}\n" + "".join(f"{row}{cells}\n" for row in rows)
        )
    plain, more = (ps.read_runs(tmp_path / f, family="item") for f in ("plain.csv", "more.csv"))
    assert more.frame["confidence"].isna().all()
    assert not [name for name in more.table.column_names if name.startswith("score_")]
    one, two = (ps.estimate(ps.Panel(each), ps.Mean("score")).frame for each in (plain, more))
    columns = ["estimate", "std_error", "conf_low", "conf_high"]
    assert one[columns].values.tolist() == two[columns].values.tolist()


def test_kaggle_s_second_number_is_not_read(tmp_path: Path) -> None:
    def run(**interval: Any) -> Path:
        content = {
            "taskVersion": {"name": "t"}, "modelVersion": {"slug": "org/m"},
            "state": "BENCHMARK_TASK_RUN_STATE_COMPLETED",
            "results": [{"type": "AGGREGATED", "numericResult": {"value": 0.5, **interval}}],
            "conversations": [{"id": "c", "requests": [{"contents": [
                {"role": "CONTENT_ROLE_USER", "parts": [{"text": "Q"}]},
                {"role": "CONTENT_ROLE_ASSISTANT", "parts": [{"text": "A"}], "senderName": "org/m"}]}]}],
        }  # fmt: skip
        return written(tmp_path, "t-run_id_q1_org_m.run.json", json.dumps(content)).path

    item = ps.extract("file", r"run_id_(\w+?)_org")
    plain = ps.read_runs(run(), family="item", item=item)
    with_interval = ps.read_runs(run(confidenceInterval=0.25), family="item", item=item)
    assert plain.frame["score"].tolist() == with_interval.frame["score"].tolist() == [0.5]
    assert plain.table.column_names == with_interval.table.column_names
    assert with_interval.frame["confidence"].isna().all()


def test_lm_eval_s_standard_errors_are_not_read(tmp_path: Path) -> None:
    results = {
        "results": {"t": {"exact_match,none": 1.0, "exact_match_stderr,none": 0.1}},
        "configs": {},
        "model_name": "m",
    }
    written(tmp_path, f"results_{TIME}.json", json.dumps(results))
    written(tmp_path, f"samples_t_{TIME}.jsonl", [lm_line()])
    names = ps.read_runs(tmp_path, family="item").table.column_names
    assert not [name for name in names if "stderr" in name or "interval" in name]


# Usage that nobody reported


def completion(**more: Any) -> Json:
    body = {"id": "c", "object": "chat.completion", "model": "m", "choices": [
        {"index": 0, "message": {"content": "A"}, "finish_reason": "stop"}], **more}  # fmt: skip
    return {"item": "q", "response": body}


@pytest.mark.parametrize(
    "more",
    [{}, {"usage": None}, {"usage": {}}, {"usage": {"prompt_tokens": None, "completion_tokens": None}}],
)
def test_unknown_usage_is_null(tmp_path: Path, more: Json) -> None:
    file = written(tmp_path, "a.jsonl", [completion(**more)])
    row = ps.read_runs(file.path, family="item").table.to_pylist()[0]
    assert [row[name] for name in ("input_tokens", "output_tokens", "latency_s", "cost_usd")] == [None] * 4


def test_a_reported_zero_is_zero(tmp_path: Path) -> None:
    file = written(
        tmp_path, "a.jsonl", [completion(usage={"prompt_tokens": 0, "completion_tokens": 0, "cost": 0})]
    )
    row = ps.read_runs(file.path, family="item").table.to_pylist()[0]
    assert [row[name] for name in ("input_tokens", "output_tokens", "cost_usd")] == [0, 0, 0.0]


def test_unknown_usage_of_other_platforms_is_null(tmp_path: Path) -> None:
    reply = {"message": {"role": "assistant", "content": "A"}, "stop_reason": "stop"}
    sample = {
        "id": "q", "epoch": 1, "input": "Q", "target": "A", "scores": {"s": {"value": "C", "answer": "A"}},
        "output": {"model": "m", "choices": [reply]},
    }  # fmt: skip
    log = {
        "version": 2,
        "status": "success",
        "eval": {"model": "m", "task": "t", "task_id": "x"},
        "samples": [sample],
    }
    message = {
        "id": "x",
        "model": "m",
        "content": [{"type": "text", "text": "A"}],
        "stop_reason": "end_turn",
        "usage": None,
    }
    result = {"custom_id": "q", "result": {"type": "succeeded", "message": message}}
    table = pa.table(
        {"item": ["q"], "model": ["m"], "score": [1.0], "input_tokens": pa.array([None], pa.int64())}
    )
    pq.write_table(table, tmp_path / "t.parquet")
    files = [
        written(tmp_path, "inspect.json", json.dumps(log)).path,
        written(tmp_path, "batch.jsonl", [result]).path,
        written(tmp_path, f"samples_t_{TIME}.jsonl", [lm_line()]).path, tmp_path / "t.parquet",
    ]  # fmt: skip
    for file in files:
        row = ps.read_runs({"m": file}, family="item").table.to_pylist()[0]
        assert [row[name] for name in ("input_tokens", "output_tokens", "cost_usd")] == [None] * 3, file.name


def test_usage_verb_does_not_count_unknown_as_zero(tmp_path: Path) -> None:
    lines = [
        completion(usage={"prompt_tokens": 10, "completion_tokens": 4}) | {"item": f"q{n}"} for n in range(3)
    ]
    lines[2]["response"] = {**lines[2]["response"], "usage": None}
    for n, line in enumerate(lines):
        line["response"] = {**line["response"], "id": f"c{n}"}
    records = ps.read_runs(written(tmp_path, "a.jsonl", lines).path, family="item")
    column = records.frame["output_tokens"]
    assert (column.mean(), column.count()) == (4.0, 2)


# Replies that seem to have run into a limit


@pytest.mark.parametrize(
    ("text", "stops", "cut"),
    [(CUT, (), True), (CUT + "ed.", (), False), ('{"answer": "A', (), True), ('{"answer": "A"}', (), False),
     ("```py\nx = 1", (), True), ("```py\nx = 1", ("```",), False), ("A", (), False),
     ("He is the king of the land in the no", (), True), ("He is the king of the land in the no", ("\n",), False),
     ("He is the king of the land in the no", ("\n\n", "Q:"), True), ("He is the king of the", ("\n",), True),
     ("", (), False), (None, (), False)],
)  # fmt: skip
def test_what_seems_cut(text: str | None, stops: tuple[str, ...], cut: bool) -> None:
    assert suspected(text, stops) == (LENGTH_SUSPECTED if cut else None)


@needs_shared
def test_how_often_a_cut_is_seen_and_a_whole_reply_suspected() -> None:
    """Replies cut at 200 characters, and shorter whole ones; and a small model's, with the reason of their end."""
    prose = {
        row[name] for path in (SHARED / "samples" / "alpaca_eval").glob("*.annotations.json")
        for row in json.loads(path.read_text()) for name in ("output_1", "output_2") if row.get(name)
    }  # fmt: skip
    cut, whole = [t for t in prose if len(t) == 200], [t for t in prose if len(t) < 200]
    assert min(len(cut), len(whole)) > 500
    assert sum(map(looks_cut, cut)) > 0.65 * len(cut)
    assert sum(map(looks_cut, whole)) < 0.01 * len(whole)
    ended = {}
    for path in (SHARED / "samples" / "own").glob("openai_*/chat_*.jsonl.gz"):
        for line in gzip.decompress(path.read_bytes()).splitlines():
            for choice in (json.loads(line).get("response") or {}).get("choices", []):
                ended[choice["message"]["content"].strip()] = choice["finish_reason"]
    assert sum(looks_cut(text) for text, why in ended.items() if why == "stop") == 0
    lengths = [looks_cut(text) for text, why in ended.items() if why == "length"]
    assert sum(lengths) > 0.25 * len(lengths) > 10


def test_platforms_without_a_reason_flag_a_reply_that_seems_cut(tmp_path: Path) -> None:
    eee = {
        "schema_version": "0.3.0", "evaluation_id": "e", "model_id": "m", "evaluation_name": "b",
        "sample_id": "q", "interaction_type": "single_turn", "input": {"raw": "Q", "reference": ["A"]},
        "output": {"raw": [CUT]}, "evaluation": {"score": 0.0, "is_correct": False}, "metadata": {},
    }  # fmt: skip
    phoenix = [{"example_id": "q", "repetition_number": 1, "input": {}, "output": CUT, "error": None,
                "annotations": [{"name": "exact", "score": 0.0}], "trace_id": "t",
                "reference_output": {}}]  # fmt: skip
    files = {
        "lm_eval": written(tmp_path, f"samples_t_{TIME}.jsonl", [lm_line(CUT)]).path,
        "every_eval_ever": written(tmp_path, "x_samples.jsonl", [eee]).path,
        "phoenix": written(tmp_path, "p.json", json.dumps(phoenix)).path,
    }
    for reader, file in files.items():
        records = ps.read_runs({"m": file}, family="item", reader=reader)
        row = records.table.to_pylist()[0]
        assert (row["status"], row["reason"]) == ("answered", "length_suspected"), reader
        assert "answered length_suspected" in records.ledger["reasons"][0]
    stopped = written(tmp_path, "y_samples.jsonl", [{**eee, "metadata": {"stop_reason": "stop"}}]).path
    assert ps.read_runs(stopped, family="item").frame["reason"].isna().all()


def test_platforms_with_a_reason_are_believed(tmp_path: Path) -> None:
    line = completion()
    line["response"]["choices"][0]["message"]["content"] = CUT
    frame = ps.read_runs(written(tmp_path, "a.jsonl", [line]).path, family="item").frame
    assert frame["reason"].isna().all()


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gz", "zst"])
@pytest.mark.parametrize("name", ["own.csv", "calls.jsonl"])
def test_a_log_and_its_packed_copy_are_one_log(tmp_path: Path, pack: Any, name: str) -> None:
    """Replies without an id of their own are known by the content of their file, however it is packed."""
    choice = {"message": {"content": "A"}, "finish_reason": "stop"}
    call = json.dumps({"model": "m", "custom_id": "q1", "choices": [choice]})
    content, item = {
        "own.csv": ("item,model,score\nq1,m,1\nq2,m,0\n", "item"), "calls.jsonl": (call + "\n", "custom_id"),
    }[name]  # fmt: skip
    path, packed = tmp_path / name, tmp_path / f"{name}.packed"
    path.write_text(content)
    alone = ps.read_runs(path, family="item", item=item)
    packed.write_bytes(pack(content.encode()))
    both = ps.read_runs([path, packed], family="item", item=item)
    assert both.frame.equals(alone.frame)
    assert both.ledger["merged"].tolist() == [0, len(alone.frame)]
    packed.write_bytes(pack((content + "\n").encode()))
    with pytest.raises(PairstatsError, match="A key must be one reply"):
        ps.read_runs([path, packed], family="item", item=item)
