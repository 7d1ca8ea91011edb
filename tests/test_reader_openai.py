"""OpenAI-shaped JSON Lines, and the strict reading of JSON Lines that the readers share."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED, needs_shared
from run_files import column, read, written

import pairstats as ps
from pairstats.errors import ReadError
from pairstats.readers.base import Declined, Recognized, RunFile
from pairstats.readers.jsonlines import first_objects, parse_object, real, whole
from pairstats.readers.openai import READER
from pairstats.readers.requests import NOTE

SAMPLES = SHARED / "samples"
SYSTEMS = ("smollm2-terse-t0", "smollm2-2shot-t0", "smollm2-2shot-t1")


def completion(
    text: str | None = "A", *, finish: str = "stop", model: str = "m-2026", **more: Any
) -> dict[str, Any]:
    choice = {"index": 0, "message": {"content": text, **more}, "finish_reason": finish}
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    return {"id": "chat-1", "object": "chat.completion", "model": model, "choices": [choice], "usage": usage}


def batch(custom_id: str, body: dict[str, Any] | None, code: int = 200, error: Any = None) -> dict[str, Any]:
    response = {"status_code": code, "request_id": "r", "body": body}
    return {"id": f"batch_{custom_id}", "custom_id": custom_id, "response": response, "error": error}


def attempt(number: int | None, text: str | None, **more: Any) -> dict[str, Any]:
    """One line of a client log; a failure where there is no text."""
    error = {"status_code": 429, "message": "slow down"}
    line = {"item_id": "q", "request": {"model": "m"}, "created_at": float(number or 0), **more}
    line |= (
        {"response": None, "error": error} if text is None else {"response": completion(text), "error": None}
    )
    return line if number is None else {**line, "attempt": number}


STATUSES = [
    (batch("q", completion()), "answered", None),
    (batch("q", completion(finish="length")), "answered", "length"),
    (batch("q", completion("", finish="length")), "truncated", "length"),
    (batch("q", completion(None, finish="length")), "truncated", "length"),
    (batch("q", completion(" \n")), "empty", None),
    (batch("q", completion(None, refusal="no")), "refused", None),
    (batch("q", completion("half a", finish="content_filter")), "refused", "content_filter"),
    (batch("q", completion(None, finish="error")), "error", "server_error"),
    (batch("q", completion(None, tool_calls=[{"id": "t"}])), "answered", None),
    (batch("q", completion([{"type": "text", "text": "A"}])), "answered", None),  # type: ignore[arg-type]
    (batch("q", {"error": {"code": "rate_limit_exceeded"}}, 429), "error", "rate_limit"),
    (batch("q", {"error": {"code": None}}, 500), "error", "server_error"),
    (batch("q", None, 503), "error", "overloaded"),
    (batch("q", {"error": {}}, 529), "error", "overloaded"),
    (batch("q", None, 400, {"error": {"message": "maximum context length"}}), "error", "invalid_request"),
    (batch("q", None, 400, "Request must not be sent in stream mode"), "error", "invalid_request"),
    (batch("q", {"error": {"code": "content_filter"}}, 400), "refused", "content_filter"),
    (batch("q", {"choices": [], "model": "m"}), "error", "no_choices"),
    ({"custom_id": "q", "response": None, "error": {"code": "batch_expired"}}, "error", "batch_expired"),
    ({"custom_id": "q", "response": None, "error": {"code": "request_timeout"}}, "error", "timeout"),
    ({"custom_id": "q", "response": None, "error": "Connection reset"}, "error", "connection"),
    ({"custom_id": "q", "response": None, "error": "who knows"}, "error", "unknown"),
    ({"custom_id": "q", "response": completion(), "error": {"status": 503}}, "error", "overloaded"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "status", "reason"), STATUSES)
def test_status_and_reason(tmp_path: Path, line: dict[str, Any], status: str, reason: str | None) -> None:
    records, left_out = read(READER, written(tmp_path, "run.jsonl", [line]))
    assert not left_out
    assert (column(records, "status"), column(records, "reason")) == ([status], [reason])
    assert records[0].scores == {}
    assert records[0].raw["custom_id"] == "q"


def test_fields_of_a_reply(tmp_path: Path) -> None:
    line = attempt(
        1, "A", gold="A", variant="base", repeat=2, latency_s=0.5, is_correct=True, custom_id="q__r2"
    )
    [record], _ = read(READER, written(tmp_path, "run.jsonl", [line]))
    assert record.fields == {
        "model": "m-2026", "item": "q", "gold": "A", "variant": "base", "repeat": 2, "latency_s": 0.5,
        "attempts": 1, "status": "answered", "response": "A", "input_tokens": 10, "output_tokens": 2,
        "response_id": "chat-1",
    }  # fmt: skip
    assert record.scores == {"is_correct": 1.0}
    assert record.source == "run.jsonl:1"
    assert record.raw["body"] == completion()


def test_a_failed_call_carries_no_score(tmp_path: Path) -> None:
    [record], _ = read(READER, written(tmp_path, "run.jsonl", [attempt(1, None, score=0)]))
    assert (record.fields["status"], record.scores) == ("error", {})


def test_last_good_attempt_is_the_record(tmp_path: Path) -> None:
    lines = [attempt(2, "B"), attempt(1, "A"), attempt(3, None), attempt(1, None, item_id="other")]
    records, left_out = read(READER, written(tmp_path, "run.jsonl", lines))
    assert column(records, "response") == ["B", None]
    assert column(records, "attempts") == [3, 1]
    assert [each.source for each in left_out] == ["run.jsonl:2", "run.jsonl:3"]
    assert {each.reason for each in left_out} == {"superseded attempt"}


@pytest.mark.parametrize(
    "difference", [{"condition": "b"}, {"candidate": "b"}, {"request": {"model": "m", "x": 1}}]
)
def test_two_conditions_are_no_attempts(tmp_path: Path, difference: dict[str, Any]) -> None:
    lines = [attempt(1, None), attempt(2, "A", **difference)]
    records, left_out = read(READER, written(tmp_path, "run.jsonl", lines))
    assert column(records, "status") == ["error", "answered"]
    assert not left_out


def test_a_number_that_runs_through_all_calls_of_an_item_counts_none_of_them(tmp_path: Path) -> None:
    def of(lines: list[dict[str, Any]]) -> list[Any]:
        return column(read(READER, written(tmp_path, "run.jsonl", lines))[0], "attempts")

    lines = [attempt(1, None, condition="a"), attempt(2, None, condition="b"), attempt(3, "A", condition="b")]
    assert of(lines) == [1, 2]
    assert of(lines[1:]) == [3]
    assert of([attempt(1, "A", condition="a"), attempt(1, None), attempt(2, "A")]) == [1, 2]
    assert of([attempt(1, "A", item_id="p"), attempt(2, "A", item_id="q")]) == [1, 2]


PARAMETERS = [
    "temperature", "top_p", "token_budget", "max_tokens", "thinking_tokens", "reasoning_tokens", "time_pressure",
    "timeout", "response_format", "score_instruction", "start_prompt", "prompt_date", "prompt_id", "seed",
    "error_injection", "statusQuo", "n",
]  # fmt: skip
BOOKKEEPING = [
    "id", "uuid", "request_id", "responseId", "retry_count", "latency_s", "latencyMs", "elapsed", "start_time",
    "created_at", "timestamp", "ended", "response_time_ms", "prompt_tokens", "total_tokens", "cost_usd",
    "http_status", "error_type", "finish_reason", "is_correct", "usage",
]  # fmt: skip


@pytest.mark.parametrize("values", [(1, 2), (0.5, 1.0), ("a", "b"), (None, 0.5)])
@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("name", PARAMETERS)
def test_calls_of_other_parameters_are_no_attempts(
    tmp_path: Path, name: str, numbered: bool, values: tuple[Any, Any]
) -> None:
    first, last = ({name: value} for value in values)
    for text in (None, "A"):
        lines = [
            attempt(1 if numbered else None, text, **first),
            attempt(2 if numbered else None, "B", **last),
        ]
        records, left_out = read(READER, written(tmp_path, "run.jsonl", lines))
        assert (column(records, "response"), left_out) == ([text, "B"], [])


@pytest.mark.parametrize("name", BOOKKEEPING)
def test_bookkeeping_of_attempts_tells_no_calls_apart(tmp_path: Path, name: str) -> None:
    lines = [attempt(1, None, **{name: 1.5}), attempt(2, "A", **{name: 2.5})]
    if name == "is_correct":
        lines = [attempt(1, None, is_correct=None), attempt(2, "A", is_correct=True)]
    records, left_out = read(READER, written(tmp_path, "run.jsonl", lines))
    assert column(records, "attempts") == [2]
    assert [each.reason for each in left_out] == ["superseded attempt"]


@pytest.mark.parametrize("texts", [(None, "B"), ("A", "B")])
@pytest.mark.parametrize(
    "words",
    [
        {"condition": "tokens"}, {"repeat": "tokens"}, {"condition": "record.tokens"},
        {"condition": ps.extract("tokens", r"(\d)")}, {"run": ps.extract("source", r":(\d)$")},
    ],
)  # fmt: skip
def test_what_the_user_tells_records_apart_by_tells_calls_apart(
    tmp_path: Path, texts: tuple[str | None, str], words: dict[str, Any]
) -> None:
    lines = [attempt(number, text, tokens=number) for number, text in enumerate(texts, 1)]
    file = written(tmp_path, "run.jsonl", lines)
    for workers in (1, 2):
        runs = ps.read_runs(file.path, family="item", score=None, workers=workers, progress=False, **words)
        assert runs.table.column("response").to_pylist() == list(texts)
    assert ps.read_runs(file.path, family="item", progress=False).frame["response"].tolist() == ["B"]


def test_a_column_taken_from_the_reply_leaves_its_failed_attempts(tmp_path: Path) -> None:
    lines = [attempt(1, None), attempt(2, "A")]
    file = written(tmp_path, "run.jsonl", lines)
    runs = ps.read_runs(file.path, family="item", model="response.model", progress=False)
    assert runs.frame[["model", "attempts"]].values.tolist() == [["m-2026", 2]]
    lines[0] = attempt(1, "A", response=completion("A", model="other"))
    lines[0]["response"] = completion("A", model="other")
    records, left_out = read(READER, written(tmp_path, "run.jsonl", lines))
    assert (column(records, "model"), left_out) == (["other", "m-2026"], [])


def test_without_attempt_numbers_two_replies_are_two_records(tmp_path: Path) -> None:
    failed_first, _ = read(READER, written(tmp_path, "a.jsonl", [attempt(None, None), attempt(None, "A")]))
    assert column(failed_first, "attempts") == [2]
    both, left_out = read(READER, written(tmp_path, "b.jsonl", [attempt(None, "A"), attempt(None, "B")]))
    assert column(both, "response") == ["A", "B"]
    assert not left_out


def test_a_failure_is_not_superseded_by_another_model(tmp_path: Path) -> None:
    lines = [
        batch("q", {"error": {}}, 429), batch("q", completion(model="one")),
        batch("p", completion(model="two")),
    ]  # fmt: skip
    records, _ = read(READER, written(tmp_path, "run.jsonl", lines))
    assert column(records, "status") == ["error", "answered", "answered"]
    assert column(records, "model") == [None, "one", "two"]


def test_failed_calls_go_by_the_dated_name_of_their_model(tmp_path: Path) -> None:
    lines = [attempt(1, None, item_id="p"), attempt(1, "A")]
    records, _ = read(READER, written(tmp_path, "run.jsonl", lines))
    assert column(records, "model") == ["m-2026", "m-2026"]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_ledger_tells_which_model_a_failed_call_counts_for(tmp_path: Path, workers: int) -> None:
    lines = [attempt(1, None), attempt(1, "A", item_id="p")]
    written(tmp_path, "a.jsonl", lines)
    written(tmp_path, "b.jsonl", [attempt(1, None, item_id="r")])
    records = ps.read_runs(tmp_path, family="item", workers=workers, progress=False)
    assert set(records.frame["model"]) == {"m-2026"}
    note = "'m' was asked for and 'm-2026' answered: requests without a reply count for it"
    assert records.ledger["note"].tolist() == [note, note]


def test_model_of_an_error_file_is_that_of_its_output_file(tmp_path: Path) -> None:
    errors = written(tmp_path, "batch_errors.jsonl", [batch("q", {"error": {}}, 429)])
    assert column(read(READER, errors)[0], "model") == [None]
    written(tmp_path, "batch_output.jsonl", [batch("p", completion())])
    assert column(read(READER, errors)[0], "model") == ["m-2026"]
    written(tmp_path, "batch_output.jsonl", [batch("p", completion()), batch("q", completion(model="two"))])
    assert column(read(READER, errors)[0], "model") == [None]


def test_choices_are_repeats_and_share_their_usage(tmp_path: Path) -> None:
    body = completion()
    body["choices"] = [
        {**body["choices"][0], "index": n, "message": {"content": text}} for n, text in enumerate("AB")
    ]
    file = written(tmp_path, "run.jsonl", [batch("q", body)])
    records, _ = read(READER, file)
    assert column(records, "repeat") == [0, 1]
    assert column(records, "response") == ["A", "B"]
    assert column(records, "output_tokens") == [2, None]
    assert len({record.identity for record in records}) == 2
    numbered = written(
        tmp_path, "numbered.jsonl", [{**batch("q", body), "repeat": 1}, batch("p", completion())]
    )
    with pytest.raises(ReadError, match=r"numbered.jsonl:1 must have one choice or no `repeat`"):
        read(READER, numbered)
    records, left_out = read(READER, numbered, keep_going=True)
    assert (len(records), len(left_out)) == (1, 1)


def test_same_reply_has_the_same_identity_in_log_and_batch_file(tmp_path: Path) -> None:
    log = attempt(1, "A", custom_id="q__r0", repeat=0)
    again = attempt(1, "A", custom_id="q__r1", repeat=1)  # a cache repeats the response id
    records, _ = read(READER, written(tmp_path, "log.jsonl", [log, again]))
    [batched], _ = read(READER, written(tmp_path, "batch.jsonl", [batch("q__r0", completion("A"))]))
    assert records[0].identity == batched.identity != records[1].identity


def test_responses_and_bare_completions(tmp_path: Path) -> None:
    said = [{"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]},
            {"type": "message", "content": [{"type": "output_text", "text": "A"}]}]  # fmt: skip
    cut = {"object": "response", "id": "r", "model": "m", "status": "incomplete", "output": said,
           "incomplete_details": {"reason": "max_output_tokens"}, "usage": {"input_tokens": 3}}  # fmt: skip
    failed = {**cut, "status": "failed", "error": {"code": "server_error"}}
    records, _ = read(READER, written(tmp_path, "responses.jsonl", [cut, failed]))
    assert [(r.fields["status"], r.fields["reason"]) for r in records] == [
        ("answered", "length"), ("error", "server_error"),
    ]  # fmt: skip
    assert (records[0].fields["response"], records[0].fields["input_tokens"]) == ("A", 3)
    bare, _ = read(READER, written(tmp_path, "bare.jsonl", [completion("A"), completion("B")]))
    assert column(bare, "response") == ["A", "B"]
    assert column(bare, "item") == [None, None]


@pytest.mark.parametrize(
    "content",
    ["", "Dear reader,\n{not json}\n", '{"item": "q", "score": 1}\n', '{"doc_id": 0, "doc": {}, "resps": []}',
     '{"custom_id": "q", "result": {"type": "expired"}}\n', '[{"choices": []}]', b"\x00\xff\xfe" * 99,
     '{"response": "A", "error": null}\n', '{"a": ' * 5000],
)  # fmt: skip
def test_other_files_are_declined(tmp_path: Path, content: str | bytes) -> None:
    assert isinstance(READER.recognize(written(tmp_path, "run.jsonl", content)), Declined)


def test_recognized_by_content_behind_broken_lines_and_under_any_name(tmp_path: Path) -> None:
    name = "ru{n} \u2603 'x'\n.txt"
    good = json.dumps(attempt(1, "A"))
    file = written(tmp_path, name, "\ufeff" + '{"broken": \n' + good + "\r\n\n" + good.replace('"q"', '"p"'))
    assert READER.recognize(file) == Recognized("client log")
    with pytest.raises(ReadError, match="1 must be one JSON object"):
        read(READER, file)
    records, left_out = read(READER, file, keep_going=True)
    assert column(records, "item") == ["q", "p"]
    assert [each.source for each in left_out] == [f"{name}:1"]
    assert left_out[0].reason.startswith("broken line: ")


def test_batch_input_is_known_and_is_nothing_by_itself(tmp_path: Path) -> None:
    line = {"custom_id": "q", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m"}}
    file = written(tmp_path, "input.jsonl", [line])
    assert READER.recognize(file) == Recognized("batch input", note=NOTE)
    with pytest.raises(ReadError, match=r"input\.jsonl' must hold records, .*request without a reply"):
        ps.read_runs(file.path, family="item")


def test_a_stranger_among_the_lines_is_named(tmp_path: Path) -> None:
    file = written(tmp_path, "run.jsonl", [attempt(1, "A"), {"note": "restart"}])
    with pytest.raises(ReadError, match=r"run.jsonl:2 must hold a completion.*'note'"):
        read(READER, file)
    assert [each.reason for each in read(READER, file, keep_going=True)[1]] == ["not a completion"]


@pytest.mark.parametrize("message", [None, {"tool_calls": {}}])
def test_a_choice_without_text_is_empty(tmp_path: Path, message: Any) -> None:
    body = {"id": 7, "choices": [{"message": message, "finish_reason": None}]}
    [record], _ = read(READER, written(tmp_path, "run.jsonl", [batch("q", body)]))
    assert record.fields["status"] == "empty"
    assert "model" not in record.fields


def test_damaged_gzip(tmp_path: Path) -> None:
    text = "".join(
        json.dumps(attempt(1, "A", item_id=str(n), pad=str(hash(str(n))))) + "\n" for n in range(2000)
    )
    whole_file = gzip.compress(text.encode())
    file = written(tmp_path, "run.jsonl.gz", whole_file[: len(whole_file) // 2])
    assert READER.recognize(file) == Recognized("client log")
    with pytest.raises(ReadError, match=r"run.jsonl.gz ends too early or is damaged after line \d+"):
        read(READER, file)
    records, left_out = read(READER, file, keep_going=True)
    assert 0 < len(records) < 2000
    assert [each.reason for each in left_out] == ["file damaged from here to its end"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"[1]", "it is [1]"), (b"null", "it is null"), (b'{"a": 1', "Expecting"), (b'{"a": "\xff"}', "not UTF-8"),
        (b'{"a": 1, "a": 2}', "the key 'a' occurs twice"), (b'{"a": ' + b"9" * 5000 + b"}", "digits"),
        (b'{"a":' * 100_000, "nested too deeply"), (b"\x80\x81", "not UTF-8"),
        (b'{"a": 1} {"b": 2}', "more text follows it"),
    ],
)  # fmt: skip
def test_broken_json_names_its_place(line: bytes, why: str) -> None:
    with pytest.raises(ReadError, match=r"^run.jsonl:7 must be one JSON object") as error:
        parse_object(line, "run.jsonl:7")
    assert why in str(error.value)


def test_json_that_is_unusual_but_sound() -> None:
    read_back = parse_object(
        b'{"nan": NaN, "half": "\\ud83d.", "pair": "\\ud83d\\ude00", "big": 1' + b"0" * 99 + b"}", ""
    )
    assert read_back["nan"] != read_back["nan"]
    assert (read_back["half"], read_back["pair"]) == ("\ufffd.", "\U0001f600")
    assert (real(10**400), whole(read_back["big"]), whole(3.5)) == (None, None, None)


def test_a_very_long_line(tmp_path: Path) -> None:
    file = written(tmp_path, "run.jsonl", [attempt(1, "A" * 3_000_000)])
    assert len(first_objects(file)) == 1
    [record], _ = read(READER, file)
    assert len(record.fields["response"]) == 3_000_000


@needs_shared
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("form", ["letter", "json"])
def test_client_logs_equal_the_record_of_every_call(system: str, form: str) -> None:
    """Truth: counts from the wire and the loop's own log (truth.json, ``loop``)."""
    name = f"chat_{form}_{system}.jsonl.gz"
    truth = json.loads((SAMPLES / "own/truth.json").read_text())["loop"][name]
    field = ("answer", "confidence") if form == "json" else (None, None)
    records = ps.read_runs(
        SAMPLES / "own/openai_loop" / name, family="family_id",
        confidence_scale=1 if "terse" in system else 100,
        answers=ps.AnswerFormat(kind="choice", field=field[0], confidence=field[1]),
    )  # fmt: skip
    frame = records.frame
    assert len(frame) == truth["calls_wanted"]
    assert (frame.status == "error").sum() == truth["calls_never_answered"]
    assert frame.score.sum() == truth["correct"]
    assert frame.input_tokens.sum() + frame.output_tokens.sum() == truth["total_tokens"]
    assert records.ledger.left_out.sum() == truth["lines"] - truth["calls_wanted"]
    assert frame.attempts.sum() == truth["lines"]


@needs_shared
@pytest.mark.parametrize("system", SYSTEMS)
def test_full_client_logs_equal_truth(system: str) -> None:
    """Truth: truth_full.json, cell by cell (correct, answered)."""
    truth = json.loads((SAMPLES / "own/truth_full.json").read_text())[f"fault-full-{system}-json"]
    frame = ps.read_runs(
        SAMPLES / f"own/openai_full/chat_json_{system}.jsonl.gz", family="family_id",
        confidence_scale=1 if "terse" in system else 100, answers=ps.AnswerFormat(kind="choice"),
    ).frame  # fmt: skip
    replied = frame[frame.status != "error"]
    assert len(replied) == truth["answered"]
    cells = replied.groupby(["family", "variant"], observed=True).score.sum()
    assert {f"{family}|{variant}": correct for (family, variant), correct in cells.items()} == {
        cell: correct for cell, (correct, answered) in truth["cells"].items() if answered
    }


@needs_shared
@pytest.mark.parametrize("system", SYSTEMS)
def test_batch_files_hold_the_replies_of_the_client_log(system: str) -> None:
    folder = SAMPLES / "own/openai_loop"
    log, _ = read(READER, RunFile(folder / f"chat_letter_{system}.jsonl.gz", "log"))
    batched = [
        record
        for kind in ("output", "error")
        for record in read(READER, RunFile(folder / f"batch_{kind}_{system}.jsonl", kind))[0]
    ]
    assert set(column(batched, "model")) == {system}
    by_call = {record.fields["item"]: record for record in batched}
    for record in log:
        twin = by_call.pop(record.raw["custom_id"])
        assert twin.fields["status"] == record.fields["status"]
        assert twin.fields.get("response") == record.fields.get("response")
        assert record.fields["status"] == "error" or twin.identity == record.identity
    assert not by_call


@needs_shared
@pytest.mark.parametrize("model", ["6b_finetuning", "175b_verification"])
def test_batches_of_two_hosts_hold_the_true_answers(model: str) -> None:
    """Truth: the published solutions the containers were filled with, item by item."""
    solutions = (SAMPLES / "gsm8k_openai_wide/example_model_solutions.jsonl").read_text().splitlines()[:40]
    right = [json.loads(line)[model]["is_correct"] for line in solutions]
    keys = [json.loads(line)["ground_truth"].split("A:")[-1].strip() for line in solutions]
    openai = [SAMPLES / f"openai_batch/constructed/{model}_{kind}.jsonl" for kind in ("output", "errors")]
    for paths, errors in ((openai, 2), ([SAMPLES / f"vllm_batch/constructed/{model}_results.jsonl"], 1)):
        records = [record for path in paths for record in read(READER, RunFile(path, path.name))[0]]
        assert sorted(column(records, "item")) == sorted(f"gsm8k-test-{n}" for n in range(40))
        assert set(column(records, "model")) == {f"gsm8k-{model}"}
        assert Counter(column(records, "status")) == {"answered": 39 - errors, "refused": 1, "error": errors}
        for record in records:
            if record.fields["status"] == "answered":
                number = int(record.fields["item"].split("-")[-1])
                said = record.fields["response"].split("A:")[-1].strip() == keys[number]
                assert said == right[number]


def responses(status: str, *output: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": f"r-{status}",
        "object": "response",
        "model": "m",
        "status": status,
        "output": list(output),
        **more,
    }


@pytest.mark.parametrize(
    ("body", "state"),
    [
        (responses("in_progress"), ("error", "unfinished")), (responses("queued"), ("error", "unfinished")),
        (responses("cancelled"), ("error", "cancelled")), (responses("failed"), ("error", "unknown")),
        (responses("incomplete"), ("truncated", "incomplete")),
        (responses("incomplete", incomplete_details={"reason": "max_output_tokens"}), ("truncated", "length")),
        (responses("completed"), ("empty", None)),
        (responses("completed", {"type": "function_call", "name": "f", "arguments": "{}"}), ("answered", None)),
        (completion("half a", finish="abort"), ("error", "cancelled")),
    ],
)  # fmt: skip
def test_bodies_that_are_not_finished(body: Any, state: tuple[str, str | None], tmp_path: Path) -> None:
    [record], _ = read(READER, written(tmp_path, "a.jsonl", [batch("q", body)]))
    assert (record.fields["status"], record.fields.get("reason")) == state


@pytest.mark.parametrize("failures", [1, 30])
@pytest.mark.parametrize("more", [{"score": 1}, {"gold": "A"}])
def test_a_table_of_texts_with_failed_calls_is_no_client_log(
    failures: int, more: dict[str, Any], tmp_path: Path
) -> None:
    lines = [
        {"item": f"f{n}", "model": "m", **more, "response": None, "error": "timeout"} for n in range(failures)
    ]
    lines.append({"item": "q", "model": "m", **more, "response": "Answer: A", "error": None})
    file = written(tmp_path, "a.jsonl", lines)
    assert isinstance(READER.recognize(file), Declined)
    words = {} if "score" in more else {"answers": ps.AnswerFormat("choice", field=None)}
    frame = ps.read_runs(file.path, family="item", **words).frame
    assert frame["status"].tolist() == [*["error"] * failures, "answered"]
    assert frame["score"].tolist()[-1] == 1.0
    assert frame["score"].isna().sum() == failures
    assert isinstance(READER.recognize(written(tmp_path, "b.jsonl", lines[:-1])), Recognized)


@pytest.mark.parametrize("more", [{"choices": ["a", "b"]}, {"custom_id": "x", "url": "u", "body": "text"}])
def test_questions_with_choices_are_no_completions(more: dict[str, Any], tmp_path: Path) -> None:
    line = {"question_id": 1, "answer": "A", "prediction": "B", "model": "m", "score": 0, **more}
    file = written(tmp_path, "a.jsonl", [line])
    assert isinstance(READER.recognize(file), Declined)
    if "choices" in more:
        row = ps.read_runs(file.path, family="item").frame.iloc[0]
        assert row[["item", "answer", "gold", "score"]].tolist() == ["1", "B", "A", 0.0]


@pytest.mark.parametrize(("code", "state"), [(200, ("answered", None)), (500, ("error", "server_error"))])
def test_a_bare_completion_with_the_code_of_its_call(
    code: int, state: tuple[str, str | None], tmp_path: Path
) -> None:
    line = {**completion(), "item": "q", "status_code": code}
    [record], _ = read(READER, written(tmp_path, "a.jsonl", [line]))
    assert (record.fields["status"], record.fields.get("reason")) == state
