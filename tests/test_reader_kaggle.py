"""Kaggle Benchmarks run files."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED, needs_shared
from run_files import column, read, written

import pairstats as ps
from pairstats.errors import PairingError, ReadError
from pairstats.readers.base import Declined, Recognized, RunFile
from pairstats.readers.cut import looks_cut
from pairstats.readers.kaggle import READER, item_in_name

KAGGLE = SHARED / "samples/kaggle"
OWN = SHARED / "samples/own"
SYSTEMS = ("smollm2-terse-t0", "smollm2-2shot-t1")
STATE = "BENCHMARK_TASK_RUN_STATE_"
RATE_LIMIT = 'Traceback\n  File "timeout.py", line 1\nopenai.RateLimitError: Error code: 429 - slow down\n'
Json = dict[str, Any]


def said(text: str | None, sender: str = "org/m", **metrics: Any) -> Json:
    """A request for one reply; without one where there is no text."""
    contents = [{"parts": [{"text": "Q?"}], "role": "CONTENT_ROLE_USER", "senderName": "User"}]
    if text is not None:
        contents.append({"parts": [{"text": text}], "role": "CONTENT_ROLE_ASSISTANT", "senderName": sender})
    return {"contents": contents, "metrics": metrics}


def run(*requests: Json, result: Any = True, state: str = "COMPLETED", number: int = 1, **more: Any) -> Json:
    kind = {bool: "booleanResult", dict: "dictResult"}.get(type(result), "numericResult")
    return {
        "taskVersion": {"name": "my task"}, "modelVersion": {"slug": "org/m"}, "state": STATE + state,
        "conversations": [{"id": f"chat-{number}", "requests": list(requests)}],
        "results": [{"type": "AGGREGATED", kind: result}], "pyRunId": f"my task-Run #{number}", **more,
    }  # fmt: skip


def run_file(folder: Path, content: Json, item: str = "q1-base") -> RunFile:
    return written(folder, f"my_task-run_param_id_{item}_org_m.run.json", json.dumps(content, indent=2))


def test_fields_of_a_run(tmp_path: Path) -> None:
    metrics = {"inputTokens": 4, "outputTokens": 12, "inputTokensCostNanodollars": "120",
               "outputTokensCostNanodollars": "3000", "totalBackendLatencyMs": "817"}  # fmt: skip
    file = run_file(tmp_path, run(said("A", **metrics), result=False))
    note = "item from the file name, the file itself does not hold it"
    assert READER.recognize(file) == Recognized("run", note=note)
    [record], left_out = read(READER, file)
    assert not left_out
    assert record.fields.pop("cost_usd") == pytest.approx(3.12e-6)
    assert record.fields == {
        "item": "q1-base", "study": "my task", "model": "org/m", "status": "answered", "response": "A",
        "input_tokens": 4, "output_tokens": 12, "latency_s": 0.817,
        "prompt_sha256": sha256(b"Q?").hexdigest(),
    }  # fmt: skip
    assert record.scores == {"result": 0.0}
    assert record.raw["prompt"] == "Q?"


RUNS: list[tuple[Json, str, str | None]] = [
    (run(said("A")), "answered", None),
    (run(said(" \n"), result=False), "empty", None),
    (run(said('{"value": "2026-1'), result=False), "answered", "length_suspected"),
    (run(result=False, state="ERRORED", errorMessage=RATE_LIMIT), "error", "rate_limit"),
    (run(state="ERRORED", errorMessage="ValueError: no JSON"), "error", "task_error"),
    (run(state="ERRORED", errorMessage="E: Error code: 400 - maximum context"), "error", "invalid_request"),
    (run(state="ERRORED", errorMessage="openai.LengthFinishReasonError: Could not"), "error", "max_tokens"),
    (run(state="ERRORED"), "error", "task_error"),
    (run(said("A"), state="RUNNING"), "error", "unfinished"),
    (run(said("A"), state="UNSPECIFIED"), "error", "unspecified"),
    (run(said("A"), state="PAUSED"), "error", "paused"),
    (run(state="QUEUED"), "absent", "queued"),
    (run(conversations=[]), "answered", "reply_not_stored"),
]


@pytest.mark.parametrize(("content", "status", "reason"), RUNS)
def test_status_and_reason(tmp_path: Path, content: Json, status: str, reason: str | None) -> None:
    [record], _ = read(READER, run_file(tmp_path, content))
    assert (record.fields["status"], record.fields.get("reason")) == (status, reason)


def test_a_state_that_protobuf_dropped_is_no_answer(tmp_path: Path) -> None:
    content = run(said("A"))
    del content["state"]
    file = run_file(tmp_path, content)
    assert isinstance(READER.recognize(file), Recognized)
    assert column(read(READER, file)[0], "status") == ["error"]


def test_reply_of_a_failed_run_is_no_worked_example(tmp_path: Path) -> None:
    shots = [said("B"), said("A")]
    old = run(*shots, state="ERRORED", errorMessage=RATE_LIMIT)
    new = run(*shots, said(None), state="ERRORED", errorMessage=RATE_LIMIT)
    for content in (old, new):
        assert column(read(READER, run_file(tmp_path, content))[0], "response") == [None]
    replied = run(*shots, said("C", outputTokens=1), state="ERRORED", errorMessage="ValueError: no letter")
    assert column(read(READER, run_file(tmp_path, replied))[0], "response") == ["C"]


def test_a_judge_is_not_the_model(tmp_path: Path) -> None:
    judged = run(said("mine", outputTokens=3), said("verdict", sender="org/judge", outputTokens=90))
    judged["conversations"].append({"id": "j", "requests": [said("no", sender="org/judge", outputTokens=7)]})
    [record], _ = read(READER, run_file(tmp_path, judged))
    assert record.fields["response"] == "mine"
    assert record.fields["output_tokens"] == 3


@pytest.mark.parametrize(
    ("result", "scores"),
    [
        (True, {"result": 1.0}),
        ({"value": 0.85}, {"value": 0.85}),  # a map of the author's
        ({"correct": True, "n": 3.0, "id": "q", "none": None, "in": {"x": 0.5}},
         {"correct": 1.0, "n": 3.0, "in.x": 0.5}),
    ],
)  # fmt: skip
def test_scores(tmp_path: Path, result: Any, scores: Json) -> None:
    assert read(READER, run_file(tmp_path, run(said("A"), result=result)))[0][0].scores == scores


@pytest.mark.parametrize(
    ("stored", "value"),
    [({"value": 0.7, "confidenceInterval": 0.05}, 0.7), ({}, 0.0), ({"confidenceInterval": 0.1}, 0.0)],
)
def test_a_number_is_read_without_its_interval(tmp_path: Path, stored: Json, value: float) -> None:
    content = run(said("A"), results=[{"type": "AGGREGATED", "numericResult": stored}])
    file = run_file(tmp_path, content)
    seen = READER.recognize(file)
    assert isinstance(seen, Recognized)
    assert ("confidenceInterval" in seen.note) == ("confidenceInterval" in stored)
    [record], _ = read(READER, file)
    assert record.scores == {"result": value}
    assert "confidence" not in record.fields


def test_structured_replies_are_decoded_once(tmp_path: Path) -> None:
    text = json.dumps(json.dumps({"decision": "MEETS"}))
    [record], _ = read(READER, run_file(tmp_path, run(said(text))))
    assert record.fields["response"] == '{"decision": "MEETS"}'
    [record], _ = read(READER, run_file(tmp_path, run(said('"quoted"'))))
    assert record.fields["response"] == '"quoted"'


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ('{"a": [1, 2', True), ('{"a": 1}', False), ("[A] it is", False), ("{A}", False),
        ('{"a": 1} and more', False), ("```json\n{", True), ("A", False), ("the answer is", True),
        ("So it goes. " * 40 + "and then the last of these sentences, which is long, goes on until it reaches "
         "a limit of the platfor", True),
        ("So it goes. " * 60, False), ("So it goes. " * 40 + "\nThe answer is apples", False),
        ("[" * 5000, True), ("", False),
        ("The answer is B because the passage says that the rul", True),
        ("I think that we should consider the follo", True), ("A. two-", True), ("The toolbox is a", True),
        ("We have " + "many of these things, " * 9 + "and then multi", True), ("C. No,", True),
        ("**notes**:", False), ("Yes. The passage sa", True), ("The answer is A", False),
        ("The capital of France is Paris", False),
        ("B. It is the rule that comes first and not the other one", False), ("A. no", False), ("-", False),
        ("Answer: it is the one that was there before the others", False),
        ('"We are what we do and not what we say of it" - Anna Muster', False),
        ("We do what we can in the dark\nAnd we are what we have been to the others", False),
        ('{"answer": "A", "confidence": 10-23"}', False), ('{"answer": "B", "confidence": 10]', False),
        ('{"answer": {"a": 1}', True), ('{"a": "so it', True),
        ('```json\n{"answer": "A", "confidence": 0.1,\n}', False), ('```json\n{"answer": "A', True),
    ],
)  # fmt: skip
def test_replies_that_look_cut(text: str, cut: bool) -> None:
    assert looks_cut(text) is cut


@pytest.mark.parametrize(
    ("name", "item"),
    [
        ("my_task-run_param_id_q_1_org_m.run.json", "q_1"),
        ("my_task-run_param_id_q_1_org_m.run.json.gz", "q_1"),
        ("my_task-run_param_id_1e5_org_m.run.json", "1e5"),
        ("my_task-run_param_id_q1_org_m (2).run.json", None),
        ("other-run_param_id_q1_org_m.run.json", None),
        ("my_task-run_param_id__org_m.run.json", None),
        ("my_task-run_param_id_q1_org_m.json", None),
        ("my_task-run_id_Run_1_org_m.run.json", None),
    ],
)
def test_item_is_taken_from_the_name_only_if_certain(name: str, item: str | None) -> None:
    assert item_in_name(name, run()) == item


def test_doubtful_names_are_offered_a_pattern(tmp_path: Path) -> None:
    file = written(tmp_path, "my_task-run_param_id_q1_x.run.json", json.dumps(run(said("A"))))
    seen = READER.recognize(file)
    assert isinstance(seen, Recognized)
    assert 'ps.extract("run_file", r"run_param_id_(.+)_<model>")' in seen.note
    with pytest.raises(PairingError, match="`item` must be known in every record"):
        ps.read_runs(file.path, family="item")
    records = ps.read_runs(file.path, family="item", item=ps.extract("run_file", "run_param_id_(.+)_x"))
    assert records.frame["item"].tolist() == ["q1"]


def test_model_of_the_file_holds_against_its_folder(tmp_path: Path) -> None:
    name = "my_task-run_param_id_q1_org_m.run.json"
    for folder, clash in (("other", True), ("m", False), ("m-it", False)):
        file = written(tmp_path, f"task/1/{folder}/459/{name}", json.dumps(run(said("A"))))
        seen = READER.recognize(file)
        assert isinstance(seen, Recognized)
        assert ("folder is named 'other'" in seen.note) is clash


@pytest.mark.parametrize(
    ("folder", "slug", "clash"),
    [
        ("gpt-5.4", "openai/gpt-5.4-nano-2026-03-17", True),
        ("gpt-5.4-nano", "openai/gpt-5.4", True),
        ("gpt-5", "openai/gpt-5.4", True),
        ("gemini-3.1-flash-lite-preview", "google/gemini-3.1-flash", True),
        ("claude-haiku-4-5-20251001", "anthropic/claude-haiku-4-5@20251001", False),
        ("claude-haiku-4-5", "anthropic/claude-haiku-4-5@20251001", False),
        ("gpt-5.4-nano-2026-03-17", "openai/gpt-5.4-nano", False),
        ("gemma-4-31b-it", "google/gemma-4-31b", False),
    ],
)
def test_a_folder_may_leave_out_provider_and_date_of_its_model(
    tmp_path: Path, folder: str, slug: str, clash: bool
) -> None:
    content = run(said("A")) | {"modelVersion": {"slug": slug}}
    seen = READER.recognize(
        written(tmp_path, f"task/1/{folder}/77/t-run_id_Run_1_m.run.json", json.dumps(content))
    )
    assert isinstance(seen, Recognized)
    assert (f"the folder is named {folder!r}" in seen.note) is clash


def test_subruns_take_their_item_from_their_own_files(tmp_path: Path) -> None:
    own = [run(said("A"), number=1), run(said("B"), number=2, result=False)]
    for number, content in enumerate(own):
        run_file(tmp_path, content, item=f"q{number}-base")
    parent = run(result={"value": 0.5}, number=9, subruns=[*own, run(said("C"), number=3)])
    written(tmp_path, "all-run_id_Run_9_org_m.run.json", json.dumps(parent))
    with pytest.raises(PairingError, match=r"not in 1 of 5: .*subruns\[2\]"):
        ps.read_runs(tmp_path, family="item")
    parent["subruns"].pop()
    written(tmp_path, "all-run_id_Run_9_org_m.run.json", json.dumps(parent))
    records = ps.read_runs(tmp_path, family="item")
    assert records.frame["item"].tolist() == ["q0-base", "q1-base"]
    assert records.ledger[["records", "rows", "left_out", "merged"]].sum().tolist() == [5, 2, 1, 2]
    assert records.left_out["reason"].tolist() == ["no run of its own: sums up 2 subruns"]


def test_one_run_with_two_results_is_refused(tmp_path: Path) -> None:
    own = run(said("A"))
    run_file(tmp_path, own)
    parent = run(number=9, subruns=[{**own, "results": [{"booleanResult": False}]}])
    written(tmp_path, "all-run_id_Run_9_org_m.run.json", json.dumps(parent))
    with pytest.raises(PairingError, match="are one reply logged twice, so they must agree, but differ in"):
        ps.read_runs(tmp_path, family="item")


def test_a_run_with_replies_and_subruns_is_a_record_itself(tmp_path: Path) -> None:
    outer = run(said("A"), subruns=[run(said("grade"), number=2, subruns=[])])
    records, left_out = read(READER, run_file(tmp_path, outer))
    assert column(records, "response") == ["A", "grade"]
    assert column(records, "item") == ["q1-base", None]
    assert not left_out


def test_a_parent_that_failed_says_so(tmp_path: Path) -> None:
    outer = run(state="ERRORED", subruns=[run(said("A"), number=2)])
    _, [left_out] = read(READER, run_file(tmp_path, outer))
    assert left_out.reason == "no run of its own: sums up 1 subruns, and ended as ERRORED"


def test_stubs_that_look_alike_stay_two(tmp_path: Path) -> None:
    stub = {key: value for key, value in run(number=1).items() if key != "conversations"}
    merged = run(conversations=[], subruns=[stub, stub])
    records, _ = read(READER, run_file(tmp_path, merged))
    assert [record.identity for record in records] == ["", ""]
    with pytest.raises(PairingError, match="A key must be one reply"):
        ps.read_runs(tmp_path, family="item", item="taskVersion.name")


@pytest.mark.parametrize(
    "content",
    ["", "prose", "[]", '{"state": 1}', '{"results": []}', '{"taskVersion": {}, "x": 1}', b"\x80\x81",
     '{"versionNumber": 1, "name": "x", "definition": "other program"}'],
)  # fmt: skip
def test_other_files_are_declined(tmp_path: Path, content: str | bytes) -> None:
    assert isinstance(READER.recognize(written(tmp_path, "x.run.json", content)), Declined)


def test_files_beside_runs_are_companions(tmp_path: Path) -> None:
    task = {"versionNumber": 1, "name": "t", "description": "", "definition": "@kbench.task()"}
    derived = {"task_name": "t", "trial_name": "t-Run #1", "trial_uri": "kbench://x"}
    for content in (task, derived):
        seen = READER.recognize(written(tmp_path, "x.json", json.dumps(content)))
        assert isinstance(seen, Recognized)
        assert seen.companion


def test_broken_runs_are_refused_or_counted(tmp_path: Path) -> None:
    whole = json.dumps(run(said("A"), subruns=[run(said("B"), number=2)]))
    file = run_file(tmp_path, {})
    for cut in range(200, len(whole) - 1, 97):
        file.path.write_text(whole[:cut])
        with pytest.raises(ReadError, match="q1-base_org_m"):
            ps.read_runs(file.path, family="item")
    file.path.write_text(json.dumps(run(said("A"), subruns=["not a run", run(said("B"), number=2)])))
    with pytest.raises(ReadError, match=r"subruns\[0\] must be a run"):
        read(READER, file)
    records, left_out = read(READER, file, keep_going=True)
    assert (len(records), [each.reason for each in left_out]) == (2, ["not a run"])


@pytest.mark.parametrize(
    ("more", "status", "scores"),
    [
        ({"conversations": "x"}, "answered", 1), ({"conversations": [1, {"requests": ["x"]}]}, "answered", 1),
        ({"results": 5}, "answered", 0), ({"results": ["x"]}, "answered", 0), ({"results": []}, "answered", 0),
        ({"results": [{"numericResult": {"value": "x"}}]}, "answered", 0),
        ({"modelVersion": []}, "answered", 1), ({"taskVersion": "x"}, "answered", 1),
        ({"subruns": {}}, "answered", 1),
        ({"errorMessage": 7, "state": STATE + "ERRORED"}, "error", 0),
        ({"conversations": [{"requests": [{"metrics": {"inputTokens": "1e400", "outputTokens": 2**70,
                                                       "totalBackendLatencyMs": "soon"}}]}]}, "answered", 1),
    ],
)  # fmt: skip
def test_values_of_a_wrong_type_are_unknown(tmp_path: Path, more: Json, status: str, scores: int) -> None:
    file = run_file(tmp_path, {**run(said("A")), **more})
    frame = ps.read_runs({"m": file.path}, family="item", item="run_file").frame
    assert frame["status"].tolist() == [status]
    assert frame["score"].notna().sum() == scores
    assert frame[["input_tokens", "output_tokens", "latency_s"]].isna().all(axis=None)


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    nested = run(said("A"))
    for number in range(60):
        nested = run(said("A"), number=number, subruns=[nested])
    with pytest.raises(ReadError, match="at most 50 levels"):
        read(READER, run_file(tmp_path, nested))


@needs_shared
def test_own_runs_equal_the_wire() -> None:
    records = ps.read_runs(
        OWN / "kaggle_benchmarks",
        family=ps.extract("item", r"^(\w+)-"),
        variant=ps.extract("item", r"-(\w+)$"),
    )
    frame, ledger = records.frame, records.ledger
    assert ledger[["records", "rows", "left_out", "merged"]].sum().tolist() == [126, 62, 2, 62]
    assert frame["status"].value_counts().to_dict() == {"answered": 54, "error": 8}
    assert frame.loc[frame["status"] == "error", "score"].isna().all()
    assert frame["reason"].value_counts().to_dict() == {
        "rate_limit": 5,
        "invalid_request": 2,
        "server_error": 1,
        "length_suspected": 6,
    }
    assert ledger["score_ignored_on_error"].sum() == 16  # each in its own file, and again in its parent
    cells = json.loads((OWN / "truth.json").read_text())["wire_cells"]
    for system in SYSTEMS:
        answered = frame[(frame["model"] == system) & (frame["status"] == "answered")]
        found = {
            f"{family}|{variant}": [int(rows.sum()), len(rows)]
            for (family, variant), rows in answered.groupby(["family", "variant"], observed=True)["score"]
        }
        assert found == cells[f"fault-kaggle-{system}"]


@needs_shared
def test_parents_alone_give_the_same_rows() -> None:
    mapping: Any = {"family": ps.extract("item", r"^(\w+)-"), "variant": ps.extract("item", r"-(\w+)$")}
    whole = ps.read_runs(OWN / "kaggle_benchmarks", **mapping).frame
    parents = ps.read_runs(str(OWN / "kaggle_benchmarks/paired_rules-run_id*"), **mapping).frame
    same = [name for name in whole.columns if name != "source"]
    key = ["model", "item"]
    left, right = (frame[same].astype(str).sort_values(key) for frame in (whole, parents))
    assert left.to_dict("list") == right.to_dict("list")


@needs_shared
def test_a_merged_file_holds_the_runs_beside_it(tmp_path: Path) -> None:
    for path in (KAGGLE / "generated").glob("repeat_me-*.run.json"):
        shutil.copy(path, tmp_path)
    records = ps.read_runs(
        tmp_path, item="taskVersion.name", family="item", repeat=ps.extract("pyRunId", r"#(\d+)$")
    )
    assert records.ledger[["records", "rows", "left_out", "merged"]].sum().tolist() == [7, 3, 1, 3]
    frame = records.frame.sort_values("repeat")
    assert frame["response"].tolist() == ["yes", "no", "yes"]
    assert frame["score"].tolist() == [1.0, 0.0, 1.0]


@needs_shared
@pytest.mark.parametrize("version", ["0.3.0", "0.6.1"])
def test_old_versions(version: str) -> None:
    records = ps.read_runs(KAGGLE / "old_versions" / version, item="pyRunId", family="item")
    frame = records.frame.sort_values("item")
    assert frame["status"].tolist() == ["answered", "answered", "error"]
    assert frame["score"].tolist()[:2] == [1.0, 0.0]
    assert frame["reason"].tolist()[2] == "rate_limit"


@needs_shared
def test_every_sample_is_recognized_and_accounted_for() -> None:
    folder = KAGGLE / "generated"
    for path in sorted(folder.glob("*.json")):
        seen = READER.recognize(RunFile(path, path.name))
        assert isinstance(seen, Recognized), path.name
        assert bool(seen.companion) is not path.name.endswith(".run.json")
    records = ps.read_runs(
        [str(folder / "screen_one-*.run.json"), str(folder / "Fidelity*.run.json")], family="result.family",
        exclude=["2"], score="correct",
    )  # fmt: skip
    assert records.ledger[["records", "rows", "left_out", "merged"]].sum().tolist() == [9, 3, 3, 3]
    frame = records.frame.sort_values("item")
    assert frame["score"].tolist() == [1.0, 0.0, 0.0]
    assert frame["reason"].dropna().tolist() == ["length_suspected"]
    assert frame["value_n"].tolist() == [3.0, 3.0, 3.0]


def test_a_call_that_a_filter_refused_has_no_score_of_its_own(tmp_path: Path) -> None:
    message = "openai.BadRequestError: Error code: 400 - content_filter"
    run_file(tmp_path, run(result=False, state="ERRORED", errorMessage=message))
    frame = ps.read_runs(tmp_path, family="item").frame
    assert frame[["status", "reason"]].values.tolist() == [["refused", "content_filter"]]
    assert frame["score"].isna().all()
