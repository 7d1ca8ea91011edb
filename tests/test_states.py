"""How calls end: one table for all readers, shown on a page, and used by every reader alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from run_files import written

import pairstats as ps
from pairstats import schema
from pairstats.readers.states import ANY, MESSAGE, OTHER, State, cut, failed, lines, told

PAGE = ROOT / "docs" / "states.md"
FILTERED = "Error code: 400 - The response was filtered due to the content management policy"
Json = dict[str, Any]


def shown() -> list[str]:
    """The table as the page must have it."""
    found, table = [], list(lines())
    fields = [line[:2] for line in table]
    for platform, field, word, (status, reason) in table:
        by_message = (reason or "").startswith(MESSAGE)
        why = "" if reason is None else f"`{reason.removeprefix(MESSAGE)}`"
        alone = fields.count((platform, field)) == 1
        written_as = f"any{' other' * (not alone)}" if word == OTHER else f"`{word}`"
        name = platform if platform == ANY else f"`{platform}`"
        found.append(
            f"| {name} | {field} | {written_as} | {status} | {'its message, or ' * by_message}{why} |"
        )
    return found


def test_the_page_shows_the_table() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    assert rows[2:] == shown()


def test_the_table_has_words_of_the_format_and_readers_that_are_there() -> None:
    readers = {path.stem for path in (ROOT / "pairstats" / "readers").glob("*.py")} | {"table", ANY}
    for line in lines():
        assert line.state.status in schema.STATUSES
        assert line.platform in readers


@pytest.mark.parametrize(
    ("message", "state"),
    [
        (FILTERED, ("refused", "content_filter")),
        ("BadRequestError: ResponsibleAIPolicyViolation", ("refused", "content_filter")),
        ("Output blocked by content filtering policy", ("refused", "content_filter")),
        ("rejected as a result of our safety system", ("refused", "content_filter")),
        ("The model refused to answer", ("refused", "refusal")),
        ("stop reason: refusal", ("refused", "refusal")),
        ("connect ECONNREFUSED 127.0.0.1", ("error", "connection")),
        ("Connection refused", ("error", "connection")),
        ("the assistant response was refused.", ("refused", "refusal")),
        ("Refusal: I cannot help", ("refused", "refusal")),
        ("The response was blocked because of safety settings", ("refused", "content_filter")),
        # What refuses is no model, and what quotes a filter is a program.
        ("docker daemon refused to start the sandbox container", ("error", "mine")),
        ("The server refused to connect", ("error", "mine")),
        ("Judge model refused to grade", ("error", "mine")),
        ("'NoneType' object has no attribute 'refusal'", ("error", "mine")),
        ("TypeError: got an unexpected keyword argument 'refusal'", ("error", "mine")),
        ("KeyError: 'refusal'", ("error", "mine")),
        ("KeyError: 'content_filter'", ("error", "mine")),
        ("finish_reason Input should be 'stop', 'length' or 'content_filter'", ("error", "mine")),
        ("scorer refusal_grader failed", ("error", "mine")),
        ("Invalid safety settings: HARM_CATEGORY_UNKNOWN (400)", ("error", "invalid_request")),
        ("HTTP 403: Content-Policy header missing", ("error", "invalid_request")),
        ("429 quota of the content filter", ("error", "rate_limit")),
        ("sandbox went away", ("error", "mine")),
    ],
)
def test_what_a_message_of_a_failure_tells(message: str, state: tuple[str, str]) -> None:
    assert failed(message, "mine") == state


def test_only_a_reply_that_was_cut_is_answered_by_what_it_holds() -> None:
    assert cut(State("refused", "content_filter"), "text") == ("refused", "content_filter")
    assert cut(State("truncated", "context"), "text") == ("answered", "length")
    assert cut(State("truncated", "context"), "") == ("truncated", "context")
    assert told("openai", "no such field", "length") is None


RUN = "BENCHMARK_TASK_RUN_STATE_"
INSPECT_EVAL = {"run_id": "r", "task_id": "t", "model": "m", "dataset": {}, "config": {}}
PROMPTFOO = {
    "testIdx": 0, "promptIdx": 0, "vars": {"q": "?"}, "testCase": {"description": "q"}, "success": False,
    "score": 0, "namedScores": {}, "provider": {"id": "m"}, "failureReason": 2,
}  # fmt: skip
EEE = {"schema_version": "0.3.0", "evaluation_id": "e", "model_id": "m", "evaluation_name": "x",
       "sample_id": "q", "interaction_type": "single_turn", "input": {"raw": "?", "reference": ["A"]},
       "answer_attribution": [], "evaluation": {"score": 0.0, "is_correct": False}}  # fmt: skip
HELM = {"instance": {"id": "q", "input": {"text": "?"}, "references": []}, "train_trial_index": 0,
        "request": {"model": "m"}, "result": {"success": False, "completions": [], "error": FILTERED}}  # fmt: skip
FILES: dict[str, tuple[str, Any, Json]] = {
    "openai": ("a_output.jsonl", [{"id": "b", "custom_id": "q", "error": None, "response": {
        "status_code": 400, "body": {"error": {"message": FILTERED}}}}], {"set": {"model": "m"}}),
    "anthropic": ("a_results.jsonl", [{"custom_id": "q", "result": {"type": "errored", "error": {
        "type": "invalid_request_error", "message": FILTERED}}}], {"set": {"model": "m"}}),
    "promptfoo": ("a.jsonl", [PROMPTFOO | {"error": FILTERED}], {}),
    "inspect": ("a.json", {"version": 2, "status": "success", "eval": INSPECT_EVAL, "samples": [
        {"id": "q", "epoch": 1, "input": "?", "target": "A", "error": {"message": FILTERED},
         "output": {"choices": []}}]}, {}),
    "kaggle": ("t-run_param_id_q_m.run.json", {
        "taskVersion": {"name": "t"}, "modelVersion": {"slug": "m"}, "state": RUN + "ERRORED",
        "results": [{"booleanResult": False}], "conversations": [],
        "errorMessage": f"Traceback\n  File \"x\"\nopenai.BadRequestError: {FILTERED}"}, {}),
    "helm": ("scenario_state.json", {"adapter_spec": {"model": "m"}, "request_states": [HELM]}, {}),
    "every_eval_ever": ("a_samples.jsonl", [EEE | {"error": FILTERED}], {}),
    "phoenix": ("a.json", [{"example_id": "q", "repetition_number": 1, "input": {}, "output": None,
                            "error": FILTERED, "annotations": []}], {"set": {"model": "m"}}),
    "metr": ("runs.jsonl", [{"task_id": "q", "task_family": "f", "alias": "m", "score_binarized": 0,
                             "fatal_error_from": "content_filter"}], {}),
    "tau_bench": ("a.json", [{"task_id": 0, "trial": 0, "reward": 0.0, "info": {"error": FILTERED}, "traj": []}],
                  {"set": {"model": "m"}}),
    "bfcl": ("result/m/BFCL_v3_simple_result.json", [{"id": "q", "result": f"Error during inference: {FILTERED}"}],
             {}),
    "table": ("a.jsonl", [{"item": "q", "model": "m", "score": 0.0, "error": FILTERED}], {}),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_call_that_failed_at_a_filter_is_a_refusal_on_every_platform(tmp_path: Path, name: str) -> None:
    file, content, words = FILES[name]
    if name == "helm":
        written(tmp_path, "run_spec.json", json.dumps({"name": "x", "adapter_spec": {"model": "m"}}))
    if file.endswith(".json") and name != "bfcl":
        content = json.dumps(content)
    written(tmp_path, file, content)
    records = ps.read_runs(tmp_path, family="item", **words)
    assert set(records.ledger["reader"]) - {""} == {name}
    assert records.frame[["status", "reason"]].values.tolist() == [["refused", "content_filter"]]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("word", "status"),
    [("ok", "answered"), ("filtered", "refused"), ("error_api", "error"), ("Timeout", "error"),
     ("cancelled", "error"), ("expired", "error"), ("not_run", "absent"), ("no_answer", "unparsed")],
)  # fmt: skip
def test_words_of_a_status_column_are_states_before_scores(
    form: str, word: str, status: str, tmp_path: Path
) -> None:
    rows = [{"item": "a", "model": "m", "score": 0, "status": word}, {"item": "b", "model": "m", "score": 1}]
    text = (
        f"item,model,score,status\na,m,0,{word}\nb,m,1,\n"
        if form == "csv"
        else "".join(json.dumps(row) + "\n" for row in rows)
    )
    (tmp_path / f"a.{form}").write_text(text)
    frame = ps.read_runs(tmp_path / f"a.{form}", family="item").frame
    assert frame["status"].tolist() == [status, "answered"]
    assert frame["score"].isna().tolist() == [status in ("error", "absent"), False]


def test_a_status_that_may_mean_a_wrong_answer_is_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("item,model,score,status\na,m,0,failed\nb,m,1,ok\n")
    with pytest.raises(
        ps.ReadError, match=r"has 'failed'\. Write one of these, or ok, success, .*timeout"
    ) as error:
        ps.read_runs(tmp_path / "a.csv", family="item")
    assert "cell empty" not in str(error.value)
