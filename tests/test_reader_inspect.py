"""Inspect logs: small ones written here, our own beside their truth, and those of other people."""

from __future__ import annotations

import json
import struct
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import zstandard
from conftest import SHARED, needs_shared

import pairstats as ps
from pairstats.errors import ReadError
from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile
from pairstats.readers.inspect import READER

OWN = SHARED / "samples" / "own" / "inspect"
PUBLIC = SHARED / "samples" / "inspect"
STORED, DEFLATE, ZSTD = 0, 8, 93


def write_zip(path: Path, members: list[tuple[str, bytes]], method: int) -> Path:
    """Write a zip by hand, since `zipfile` cannot write zstandard members."""
    body, central = b"", b""
    for name, content in members:
        packed = _pack(content, method)
        sizes = (zlib.crc32(content), len(packed), len(content), len(name))
        central += struct.pack(
            "<4s6H3I5H2I", b"PK\x01\x02", 20, 20, 0, method, 0, 0, *sizes, 0, 0, 0, 0, 0, len(body)
        )
        central += name.encode()
        body += (
            struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, 0, method, 0, 0, *sizes, 0) + name.encode() + packed
        )
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, len(members), len(members), len(central), len(body), 0)
    path.write_bytes(body + central + end)
    return path


def _pack(content: bytes, method: int) -> bytes:
    if method == DEFLATE:
        packer = zlib.compressobj(wbits=-15)
        return packer.compress(content) + packer.flush()
    return zstandard.ZstdCompressor().compress(content) if method == ZSTD else content


def sample(item: Any = "q1", epoch: int = 1, value: Any = "C", **changes: Any) -> dict[str, Any]:
    """One sample as Inspect writes it, with changes; `text` and `stop` go to its only choice."""
    text, stop = changes.pop("text", "A"), changes.pop("stop", "stop")
    choice = {"message": {"role": "assistant", "content": text}, "stop_reason": stop}
    scores = {"match": {"value": value, "answer": changes.pop("answer", "A")}}
    base = {
        "id": item, "epoch": epoch, "input": "?", "target": "A", "uuid": f"{item}/{epoch}",
        "output": {"model": "served", "choices": [choice], "usage": {"output_tokens": 1}},
        "scores": scores, "metadata": {"family_id": "f", "v1.2": {"x": 1}},
        "model_usage": {"m": {"input_tokens": 5, "output_tokens": 2}, "judge": {"output_tokens": 90}},
    }  # fmt: skip
    return base | changes


def header(status: str = "success", ids: list[Any] | None = None, epochs: int = 1) -> dict[str, Any]:
    eval_ = {
        "run_id": "r", "task_id": "t", "model": "m", "config": {"epochs": epochs},
        "dataset": {"sample_ids": ids}, "packages": {"inspect_ai": "0.3.0"}, "metadata": {"system": "s"},
    }  # fmt: skip
    return {"version": 2, "status": status, "eval": eval_}


def write_eval(
    path: Path, samples: list[dict[str, Any]], head: dict[str, Any] | None = None, method: int = DEFLATE
) -> Path:
    head = head or header()
    start = {"version": 2, "eval": head["eval"]}
    members = [("_journal/start.json", start)]
    members += [(f"samples/{s.get('id')}_epoch_{s.get('epoch')}.json", s) for s in samples]
    if head["status"] != "started":
        members.append(("header.json", head))
    return write_zip(path, [(name, json.dumps(content).encode()) for name, content in members], method)


def read(path: Path, **options: Any) -> list[Record | LeftOut]:
    return list(READER.read(RunFile(path, path.name), ReadOptions(**options)))


def recognize(path: Path) -> Recognized | Declined:
    return READER.recognize(RunFile(path, path.name))


def only(records: list[Record | LeftOut]) -> Record:
    assert len(records) == 1
    assert isinstance(records[0], Record)
    return records[0]


def statuses(records: list[Record | LeftOut]) -> Counter[tuple[str, str | None]]:
    kept = (record.fields for record in records if isinstance(record, Record))
    return Counter((fields["status"], fields["reason"]) for fields in kept)


@pytest.mark.parametrize("method", [STORED, DEFLATE, ZSTD])
def test_eval_of_every_zip_method(tmp_path: Path, method: int) -> None:
    path = write_eval(tmp_path / "a.eval", [sample("q1"), sample("q2", value="I")], method=method)
    assert recognize(path) == Recognized("0.3.0")
    records = read(path)
    assert [r.fields["item"] for r in records] == ["q1", "q2"]
    assert [r.scores for r in records] == [{"match": 1.0}, {"match": 0.0}]
    first = records[0]
    assert first.source == "a.eval:q1_epoch_1.json"
    assert first.identity == "q1/1"
    assert first.raw["eval"]["metadata"]["system"] == "s"
    assert first.raw["log"] == {"status": "success"}
    expected = {
        "model": "m", "repeat": 0, "input_tokens": 5, "output_tokens": 2, "gold": "A", "answer": "A",
    }  # fmt: skip
    assert {name: first.fields[name] for name in expected} == expected


def test_json_log_takes_nan_and_bare_number_ids(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    document = header() | {"samples": [sample(7, 2, value=float("nan"))]}
    path.write_text(json.dumps(document, indent=1))
    assert "NaN" in path.read_text()
    record = only(read(path))
    assert record.fields["item"] == "7"
    assert record.fields["repeat"] == 1
    assert record.scores["match"] != record.scores["match"]  # NaN is left for the caller to count


@pytest.mark.parametrize(
    ("changes", "status", "reason"),
    [
        ({}, "answered", None),
        ({"value": "N", "answer": None}, "unparsed", None),
        ({"stop": "max_tokens"}, "answered", "length"),
        ({"stop": "max_tokens", "value": "N", "answer": None}, "truncated", "max_tokens"),
        ({"stop": "model_length", "value": "N", "answer": None}, "truncated", "context"),
        ({"stop": "content_filter"}, "refused", "content_filter"),
        ({"text": "", "answer": "", "value": "I"}, "empty", None),
        ({"text": "", "answer": None, "value": 1}, "answered", None),
        ({"text": None, "answer": None, "value": "I"}, "empty", None),
        ({"limit": {"type": "token"}}, "answered", "token_limit"),
        ({"limit": {"type": "time"}, "value": "N", "answer": None}, "truncated", "time_limit"),
        ({"limit": {"type": "operator"}, "value": "N", "answer": None}, "error", "operator"),
        ({"invalidation": {"author": "x"}}, "error", "invalidated"),
        ({"error": {"message": "RateLimitError: 429"}, "output": {"choices": []}}, "error", "rate_limit"),
        ({"error": {"message": "TimeoutError()"}, "output": {"choices": []}}, "error", "timeout"),
        ({"error": {"message": "CancelledError('x')"}, "output": {"choices": []}}, "error", "cancelled"),
        ({"error": {"message": "sandbox went away"}, "output": {}}, "error", "sample_error"),
        ({"output": {"choices": []}, "scores": {}}, "empty", None),
        ({"output": None, "scores": None}, "empty", None),
    ],
)
def test_status_first(tmp_path: Path, changes: dict[str, Any], status: str, reason: str | None) -> None:
    record = only(read(write_eval(tmp_path / "a.eval", [sample(**changes)])))
    assert (record.fields["status"], record.fields["reason"]) == (status, reason)


def test_words_of_the_host_are_no_reply(tmp_path: Path) -> None:
    choice = {"message": {"content": "maximum context length is A"}, "stop_reason": "model_length"}
    record = only(
        read(write_eval(tmp_path / "a.eval", [sample(output={"choices": [choice]}, value="N", answer=None)]))
    )
    assert record.fields["response"] is None


@pytest.mark.parametrize(
    ("value", "scores"),
    [
        ("C", {"match": 1.0}),
        ("P", {"match": 0.5}),
        ("I", {"match": 0.0}),
        ("N", {"match": None}),
        (None, {"match": None}),
        (True, {"match": 1.0}),
        ("0.25", {"match": 0.25}),
        ("yes", {"match": 1.0}),
        ("a word", {}),
        ({"correct": 1, "why": "x", "deep": {"a": 0}}, {"match.correct": 1.0, "match.deep.a": 0.0}),
        ([1, 0], {"match.0": 1.0, "match.1": 0.0}),
    ],
)
def test_score_values(tmp_path: Path, value: Any, scores: dict[str, float | None]) -> None:
    assert only(read(write_eval(tmp_path / "a.eval", [sample(value=value)]))).scores == scores


def test_the_named_scorer_says_what_the_answer_is(tmp_path: Path) -> None:
    scores = {"first": {"value": "N"}, "second": {"value": {"right": 1}, "answer": "B"}}
    path = write_eval(tmp_path / "a.eval", [sample(scores=scores)])
    assert only(read(path)).fields["status"] == "unparsed"
    named = only(read(path, score="second.right")).fields
    assert (named["status"], named["answer"]) == ("answered", "B")


def test_reply_in_blocks_leaves_out_reasoning(tmp_path: Path) -> None:
    blocks = [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "text", "text": "one"},
        {"type": "text", "text": "two"},
    ]
    assert only(read(write_eval(tmp_path / "a.eval", [sample(text=blocks)]))).fields["response"] == "one\ntwo"


@pytest.mark.parametrize(("target", "gold"), [("x", "x"), (["x"], "x"), (["x", "y"], '["x", "y"]'), (3, "3")])
def test_targets(tmp_path: Path, target: Any, gold: str) -> None:
    assert only(read(write_eval(tmp_path / "a.eval", [sample(target=target)]))).fields["gold"] == gold


def test_without_uuid_a_zip_and_its_json_agree_on_identity(tmp_path: Path) -> None:
    old = sample()
    del old["uuid"]
    zipped = only(read(write_eval(tmp_path / "a.eval", [old])))
    (tmp_path / "a.json").write_text(json.dumps(header() | {"samples": [old]}))
    converted = only(read(tmp_path / "a.json"))
    assert zipped.identity == converted.identity != ""


@pytest.mark.parametrize(
    ("status", "reason"), [("cancelled", "cancelled"), ("error", "run_error"), ("started", "unfinished")]
)
def test_planned_samples_that_never_ran(tmp_path: Path, status: str, reason: str) -> None:
    path = write_eval(tmp_path / "a.eval", [sample("q1")], header(status, ["q1", "q2"], epochs=2))
    seen = recognize(path)
    assert isinstance(seen, Recognized)
    assert seen.note
    records = read(path)
    assert statuses(records) == {("answered", None): 1, ("absent", reason): 3}
    absent = {(r.fields["item"], r.fields["repeat"]) for r in records if r.fields["status"] == "absent"}
    assert absent == {("q1", 1), ("q2", 0), ("q2", 1)}
    assert len({r.identity for r in records}) == 4


def test_samples_cut_out_of_a_finished_log_did_run(tmp_path: Path) -> None:
    records = read(write_eval(tmp_path / "a.eval", [sample("q1")], header(ids=["q1", "q2"])))
    assert records[1] == LeftOut("a.eval:q2_epoch_1", "in the log's plan, but not in the file")


def test_requeued_sample_counts_once(tmp_path: Path) -> None:
    records = read(write_eval(tmp_path / "a.eval", [sample(value="I"), sample(value="C")]))
    assert records[0].reason == "written again later in the same log"
    assert records[1].scores == {"match": 1.0}
    (tmp_path / "a.json").write_text(
        json.dumps(header() | {"samples": [sample(value="I"), sample(value="C")]})
    )
    records = read(tmp_path / "a.json")
    assert isinstance(records[0], LeftOut)
    assert records[1].scores == {"match": 1.0}


@pytest.mark.parametrize("form", ["a.eval", "a.json"])
def test_a_number_and_a_text_are_two_ids_where_a_log_has_both(tmp_path: Path, form: str) -> None:
    samples = [sample(1, value="I"), sample("1"), sample(1, value="C", uuid="again"), sample("2"), sample(3)]
    if form == "a.eval":
        write_eval(tmp_path / form, samples)
    else:
        (tmp_path / form).write_text(json.dumps(header() | {"samples": samples}))
    records = read(tmp_path / form)
    assert [each.reason for each in records if isinstance(each, LeftOut)] == [
        "written again later in the same log"
    ]
    items = {each.fields["item"]: each.scores["match"] for each in records if isinstance(each, Record)}
    assert items == {"1": 1.0, '"1"': 1.0, "2": 1.0, "3": 1.0}


@pytest.mark.parametrize("form", ["a.eval", "a.json"])
def test_the_plan_of_a_log_tells_a_number_from_a_text(tmp_path: Path, form: str) -> None:
    head = header("cancelled", ids=[1, "1", "2"])
    if form == "a.eval":
        write_eval(tmp_path / form, [sample("1")], head)
    else:
        (tmp_path / form).write_text(json.dumps(head | {"samples": [sample("1")]}))
    items = {
        each.fields["item"]: each.fields["status"]
        for each in read(tmp_path / form)
        if isinstance(each, Record)
    }
    assert items == {'"1"': "answered", "1": "absent", "2": "absent"}


def test_truncated_zip_names_what_is_missing(tmp_path: Path) -> None:
    whole = write_eval(
        tmp_path / "a.eval", [sample(f"q{n}") for n in range(4)], header(ids=[f"q{n}" for n in range(4)])
    )
    content = whole.read_bytes()
    cut = tmp_path / "cut.eval"
    cut.write_bytes(content[: content.index(b"samples/q2") + 40])
    assert isinstance(recognize(cut), Recognized)
    with pytest.raises(
        ReadError, match=r"cut\.eval is cut short: the zip's central directory is missing, 3 members"
    ):
        read(cut)
    records = read(cut, keep_going=True)
    assert statuses(records) == {("answered", None): 2, ("absent", "unfinished"): 1}
    assert LeftOut("cut.eval:samples/q2_epoch_1.json", "cut short: the file ends inside it") in records


def test_damaged_member_is_named_or_counted(tmp_path: Path) -> None:
    path = write_eval(tmp_path / "a.eval", [sample("q1"), sample("q2")], method=STORED)
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"served"', b'"sErved"', 1))
    with pytest.raises(
        ReadError, match=r"a\.eval:samples/q1_epoch_1\.json is damaged: its checksum does not fit"
    ):
        read(path)
    records = read(path, keep_going=True)
    assert [type(r) for r in records] == [LeftOut, Record]


@pytest.mark.parametrize(
    "broken",
    [{"id": "q", "epoch": "x"}, {"epoch": 1}, {"id": "q", "output": "text"}, {"id": "q", "scores": [1, 2]},
     {"id": "q", "model_usage": 3}],
)  # fmt: skip
def test_wrong_types_name_the_sample(tmp_path: Path, broken: dict[str, Any]) -> None:
    path = write_eval(tmp_path / "a.eval", [broken, sample("good")])
    with pytest.raises(ReadError, match=r"a\.eval:"):
        read(path)
    records = read(path, keep_going=True)
    assert [type(r) for r in records] == [LeftOut, Record]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"item,score\n1,1\n",
        b'{"a": 1}',
        b"[]",
        b"PK\x03\x04",
        b'{"status": "success", "evaluation": {}}',
    ],
)
def test_other_files_are_declined(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    assert isinstance(recognize(path), Declined)


def test_zip_of_something_else_is_declined(tmp_path: Path) -> None:
    answer = recognize(write_zip(tmp_path / "a.zip", [("a.txt", b"hello")], DEFLATE))
    assert answer == Declined("a zip without Inspect's header.json")


def test_broken_json_is_an_error_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(header() | {"samples": [sample()]})[:-20])
    with pytest.raises(ReadError, match=r"log\.json ends too early, in samples\[0\]"):
        read(path)


@needs_shared
@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("full/*G9Ahk*", {("answered", None): 360}),
        ("full/*Btmj*", {("answered", None): 319, ("unparsed", None): 40, ("truncated", "max_tokens"): 1}),
        ("eval/*Cw993*", {("answered", None): 183, ("error", "sample_error"): 3,
                          ("truncated", "token_limit"): 3, ("truncated", "context"): 3}),
        ("json/*Cw993*", {("answered", None): 183, ("error", "sample_error"): 3,
                          ("truncated", "token_limit"): 3, ("truncated", "context"): 3}),
        ("json_native/*", {("answered", None): 8, ("answered", "length"): 22, ("truncated", "max_tokens"): 8,
                           ("error", "sample_error"): 2, ("truncated", "token_limit"): 2,
                           ("truncated", "context"): 2}),
        ("old_0.3.120/*", {("answered", None): 8, ("answered", "length"): 22, ("truncated", "max_tokens"): 8,
                           ("error", "sample_error"): 2, ("truncated", "token_limit"): 2,
                           ("truncated", "context"): 2}),
        ("cancelled/*", {("answered", "length"): 17, ("error", "cancelled"): 2, ("absent", "cancelled"): 41}),
        ("json_small/cancelled/*", {("answered", "length"): 17, ("error", "cancelled"): 2,
                                    ("absent", "cancelled"): 41}),
        ("error/*", {("answered", None): 3, ("answered", "length"): 8, ("truncated", "max_tokens"): 1,
                     ("error", "sample_error"): 1, ("error", "cancelled"): 2, ("absent", "run_error"): 1}),
    ],
)  # fmt: skip
def test_own_logs_hold_what_their_readme_says(pattern: str, expected: dict[Any, int]) -> None:
    [path] = OWN.glob(pattern)
    assert statuses(read(path, score="letter_match")) == expected


@needs_shared
@pytest.mark.parametrize(
    ("name", "records", "left_out"),
    [
        ("2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval", 10, 0),
        ("2025-02-11T15-18-04-05-00_popularity_mj7khqpMM4GBCfVQozKgzB.eval", 10, 0),
        ("2025-05-12T20-28-13-04-00_no-samples.json", 0, 1),
        ("2025-05-12T20-28-13-04-00_popularity.json", 3, 0),
        ("2025-05-12T20-28-26-04-00_security-guide.json", 3, 0),
        ("data_arc_qwen.json", 3, 0),
        ("data_arc_sonnet.json", 5, 0),
        ("data_cvebench_empty_choices.json", 1, 0),
        ("data_cyse2_vuln_exploit_challenges.json", 1, 3),
        ("data_intercode_ctf_local_path.json", 1, 0),
        ("data_pubmedqa_gpt4o_mini.json", 2, 0),
        ("data_with_llm_scoring.json", 0, 1),
        ("log_formats.eval", 1, 0),
        ("log_formats.json", 1, 0),
        ("log_streaming.eval", 4, 0),
        ("log_tool_call_error.json", 1, 1),
        ("minimal_test.eval", 2, 0),
        ("mmlu-summary-choices.eval", 1, 0),
    ],
)
def test_logs_of_other_people(name: str, records: int, left_out: int) -> None:
    path = PUBLIC / "real" / name
    assert isinstance(recognize(path), Recognized)
    found = read(path)
    assert sum(isinstance(r, Record) for r in found) == records
    assert sum(isinstance(r, LeftOut) for r in found) == left_out


@needs_shared
def test_every_public_log_has_a_row_above() -> None:
    [mark] = [mark for mark in test_logs_of_other_people.pytestmark if mark.name == "parametrize"]
    names = {row[0] for row in mark.args[1]}
    assert names == {path.name for path in (PUBLIC / "real").iterdir() if path.name != "SOURCE.txt"}


@needs_shared
def test_replayed_gsm8k_gives_the_published_counts_of_its_first_hundred() -> None:
    truth = {"6b_finetuning": 21, "6b_verification": 34, "175b_finetuning": 34, "175b_verification": 58}
    found = Counter[str]()
    for path in (PUBLIC / "generated" / "gsm8k_replay").iterdir():
        for record in read(path):
            found[record.fields["model"].removeprefix("mockllm/")] += int(record.scores["recorded"])
    assert found == truth


@needs_shared
def test_passages_keep_unscored_and_failed_samples_apart() -> None:
    [path] = (PUBLIC / "generated" / "passages_eval").glob("*9DMw*")
    records = read(path, score="match2")
    assert statuses(records) == {
        ("answered", None): 55, ("truncated", "max_tokens"): 3, ("refused", "content_filter"): 1,
        ("error", "rate_limit"): 1,
    }  # fmt: skip
    unscored = [r for r in records if (v := r.scores.get("match2")) is not None and v != v]
    assert len(unscored) == 1


def test_a_pattern_that_was_not_matched_is_no_answer(tmp_path: Path) -> None:
    unmatched = {"answer": {"value": "I", "explanation": "Scoring pattern not matched in output: so we"}}
    samples = [sample("q1", scores=unmatched, text="so we"),
               sample("q2", scores=unmatched, text="so", stop="max_tokens"),
               sample("q3", scores={"answer": {"value": "I", "answer": "B", "explanation": "so B"}})]  # fmt: skip
    records = read(write_eval(tmp_path / "a.eval", samples))
    assert statuses(records) == {("unparsed", None): 1, ("truncated", "max_tokens"): 1, ("answered", None): 1}


@pytest.mark.parametrize("form", ["a.eval", "a.json"])
@pytest.mark.parametrize(
    ("changes", "results", "planned"),
    [
        ({"dataset": {"samples": 3}}, {}, 3),
        ({"dataset": {"samples": 100}, "config": {"limit": 4, "epochs": 2}}, {}, 8),
        ({"dataset": {"samples": 100}, "config": {"limit": [10, 15]}}, {}, 5),
        ({"dataset": {"samples": 100}, "config": {"sample_id": ["q1"]}}, {}, None),
        ({"dataset": {"samples": 9}}, {"total_samples": 80, "completed_samples": 80}, 80),
        ({"dataset": {"samples": 1}}, {}, None), ({"dataset": {}}, {}, None),
    ],
)  # fmt: skip
def test_a_plan_without_ids_says_how_many_samples_are_missing(
    form: str, changes: dict[str, Any], results: dict[str, int], planned: int | None, tmp_path: Path
) -> None:
    head = header("cancelled")
    head["eval"] |= changes
    head["results"] = results
    if form == "a.eval":
        write_eval(tmp_path / form, [sample("q1")], head)
    else:
        (tmp_path / form).write_text(json.dumps(head | {"samples": [sample("q1")]}))
    note = ps.read_runs(tmp_path / form, family="item").ledger["note"].iloc[0]
    wanted = "" if planned is None else f"its plan counts {planned} samples, but the file holds 1"
    assert ("its plan counts" in note) == bool(wanted)
    assert wanted in note
