"""HELM run folders."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED, needs_shared
from run_files import column, read, written

import pairstats as ps
from pairstats.errors import PairingError, ReadError
from pairstats.readers.base import Declined, LeftOut, Recognized, Record, RunFile
from pairstats.readers.helm import READER

SAMPLES = SHARED / "samples/helm"
STATS, STATE, PREDICTIONS = "per_instance_stats.json", "scenario_state.json", "display_predictions.json"
TYPOS = {"name": "typos", "robustness": True, "fairness": False, "computed_on": "perturbed"}
SPEC = {
    "name": "mmlu:subject=law,model=org_m,data_augmentation=robustness", "scenario_spec": {},
    "adapter_spec": {"model": "org/m"}, "metric_specs": [],
    "data_augmenter_spec": {"perturbation_specs": [{}], "should_skip_unchanged_eval": True},
}  # fmt: skip
Json = dict[str, Any]


def stat(name: str, mean: float | None, **more: Any) -> Json:
    values = {"count": 0, "sum": 0} if mean is None else {"count": 1, "sum": mean, "mean": mean}
    return {"name": {"name": name, "split": "test", **more}, **values}


def stats(item: str = "id1", perturbation: Json | None = None, trial: int = 0, **means: float | None) -> Json:
    found = [stat("num_references", 1.0), *(stat(name, mean) for name, mean in means.items())]
    entry = {"instance_id": item, "train_trial_index": trial, "stats": found}
    return entry if perturbation is None else {**entry, "perturbation": perturbation}


def request(
    *texts: str, item: str = "id1", perturbation: Json | None = None, trial: int = 0, success: bool = True,
    finish: str | None = None, **more: Any,
) -> Json:  # fmt: skip
    instance: Json = {"id": item, "split": "test", "input": {"text": "Q"},
                      "references": [{"output": {"text": "yes"}, "tags": ["correct"]},
                                     {"output": {"text": "no"}, "tags": []}]}  # fmt: skip
    if perturbation:
        instance["perturbation"] = perturbation
    completions = [
        {"text": words, "logprob": -float(place), "finish_reason": finish and {"reason": finish}}
        for place, words in enumerate(texts)
    ]
    result = {"success": success, "completions": completions, "request_time": 0.5, **more.pop("result", {})}
    return {"instance": instance, "train_trial_index": trial, "request": {"model": "org/m"},
            "result": result, **more}  # fmt: skip


def folder(
    path: Path, entries: list[Any] | None = None, states: list[Any] | None = None,
    shown: list[Any] | None = None, spec: Json | None = SPEC,
) -> RunFile:  # fmt: skip
    """A run folder; its main file is returned."""
    state = None if states is None else {"adapter_spec": {"model": "org/m"}, "request_states": states}
    parts = {"run_spec.json": spec, PREDICTIONS: shown, STATE: state, STATS: entries}
    files = [written(path, name, json.dumps(part)) for name, part in parts.items() if part is not None]
    return files[-1]


def test_fields_of_an_instance(tmp_path: Path) -> None:
    entry = stats(exact_match=1.0, num_prompt_tokens=9.0, num_output_tokens=2.0, max_prob=1.0,
                  inference_runtime=0.25, training_co2_cost=None, logprob=-1.0)  # fmt: skip
    file = folder(tmp_path, [entry], [request(" yes")])
    note = "perturbations that left an instance as it was are not in the run, by its own setting"
    assert READER.recognize(file) == Recognized("run", note=note)
    [record], left_out = read(READER, file)
    assert not left_out
    assert record.fields == {
        "study": "mmlu:subject=law,data_augmentation=robustness", "model": "org/m", "item": "id1",
        "variant": "base", "repeat": 0, "status": "answered", "response": " yes", "answer": "yes",
        "gold": "yes", "split": "test", "input_tokens": 9, "output_tokens": 2, "latency_s": 0.25,
    }  # fmt: skip
    assert record.scores == {"exact_match": 1.0}
    assert record.raw["stats"]["max_prob"] == 1.0


def test_perturbations_are_variants_and_trials_repeats(tmp_path: Path) -> None:
    entries = [
        stats(exact_match=1.0),
        stats(perturbation=TYPOS, exact_match=0.0),
        stats(trial=1, exact_match=0.0),
    ]
    file = folder(tmp_path, entries)
    records, _ = read(READER, file)
    assert column(records, "variant") == ["base", "typos", "base"]
    assert column(records, "repeat") == [0, 0, 1]
    assert [record.source for record in records] == [f"{STATS}:id1", f"{STATS}:id1:typos", f"{STATS}:id1:1"]


def test_settings_tell_perturbations_of_one_name_apart(tmp_path: Path) -> None:
    entries = [stats(perturbation={**TYPOS, "prob": prob}, exact_match=1.0) for prob in (0.1, 0.5)]
    records, _ = read(READER, folder(tmp_path, entries))
    assert column(records, "variant") == ["typos(prob=0.1)", "typos(prob=0.5)"]


def test_scores_over_a_family_are_no_scores_of_an_instance(tmp_path: Path) -> None:
    entry = stats(exact_match=1.0)
    entry["stats"].append(stat("exact_match", 0.0, perturbation={**TYPOS, "computed_on": "worst"}))
    assert read(READER, folder(tmp_path, [entry]))[0][0].scores == {"exact_match": 1.0}


def test_parts_of_a_split_are_kept_apart(tmp_path: Path) -> None:
    entry = stats(f1=0.5)
    entry["stats"] += [stat("acc", 1.0, sub_split="a"), stat("acc", 0.0, sub_split="b")]
    scores = read(READER, folder(tmp_path, [entry]))[0][0].scores
    assert scores == {"f1": 0.5, "acc:a": 1.0, "acc:b": 0.0}


OPTIONS = {"output_mapping": {"A": "yes", "B": "no"}}
STATUSES: list[tuple[Json, str, str | None, str | None]] = [
    (request(" yes"), "answered", None, "yes"),
    (request(" yes", finish="length"), "answered", "length", "yes"),
    (request(" ", finish="length"), "truncated", "max_tokens", None),
    (request(""), "empty", None, None),
    (request("x", finish="content_filter"), "refused", "content_filter", None),
    (request(success=False, result={"error": "HTTP 429"}), "error", "rate_limit", None),
    (request(success=False), "error", "request_error", None),
    (request(), "error", "no_reply", None),
    (request(" B", **OPTIONS), "answered", None, "no"),
    (request(" B.", **OPTIONS), "unparsed", None, None),
    (request(" The", finish="length", **OPTIONS), "truncated", "max_tokens", None),
    ({**request("x"), "result": None}, "error", "no_response", None),
]


@pytest.mark.parametrize(("state", "status", "reason", "answer"), STATUSES)
def test_status_reason_and_answer(
    tmp_path: Path, state: Json, status: str, reason: str | None, answer: str | None
) -> None:
    [record], _ = read(READER, folder(tmp_path, states=[state]))
    found = tuple(record.fields.get(name) for name in ("status", "reason", "answer"))
    assert found == (status, reason, answer)


def test_a_call_without_a_reply_is_no_wrong_answer(tmp_path: Path) -> None:
    file = folder(tmp_path, [stats(exact_match=0.0)], [request()])
    records = ps.read_runs(file.path, family="item")
    assert records.frame[["status", "reason"]].values.tolist() == [["error", "no_reply"]]
    assert records.frame["score"].isna().all()


def test_failed_requests_are_not_wrong_answers(tmp_path: Path) -> None:
    file = folder(tmp_path, [stats(exact_match=0.0)], [request(success=False, result={"error": "timed out"})])
    records = ps.read_runs(file.path, family="item")
    assert records.frame[["status", "reason"]].values.tolist() == [["error", "timeout"]]
    assert records.frame["score"].isna().all()
    assert records.ledger["score_ignored_on_error"].tolist() == [1]


def test_length_is_told_by_the_statistics_too(tmp_path: Path) -> None:
    file = folder(tmp_path, [stats(exact_match=1.0, finish_reason_length=1.0)], [request("yes")])
    assert column(read(READER, file)[0], "reason") == ["length"]


def test_the_likeliest_completion_is_the_reply(tmp_path: Path) -> None:
    state = request("worse", "best")
    state["result"]["completions"][0]["logprob"] = -7.0
    [record], [left_out] = read(READER, folder(tmp_path, [stats(exact_match=1.0)], [state]))
    assert record.fields["response"] == "best"
    assert left_out == LeftOut(f"{STATS}:id1:completion 1", "further completion, which HELM does not score")


def test_choices_that_were_asked_one_by_one_are_one_record(tmp_path: Path) -> None:
    states = [request("", reference_index=number) for number in range(2)]
    [record], left_out = read(READER, folder(tmp_path, [stats(exact_match=1.0)], states))
    assert not left_out
    assert (record.fields["status"], record.fields.get("response")) == ("answered", None)
    assert record.fields["gold"] == "yes"


def test_a_folder_is_one_log(tmp_path: Path) -> None:
    wrong = {"train_trial_index": 0, "predicted_text": "no", "stats": {"exact_match": 0.0}}
    shown = [{"instance_id": item, **wrong} for item in ("id1", "id2")]
    folder(tmp_path, [stats(exact_match=1.0)], [request("yes"), request("no", item="id3")], shown)
    written(tmp_path, "stats.json", json.dumps([{**stat("exact_match", 1.0), "sum_squared": 1.0}]))
    records = ps.read_runs(tmp_path, family="item")
    assert records.frame[["item", "response"]].values.tolist() == [
        ["id1", "yes"],
        ["id3", "no"],
        ["id2", "no"],
    ]
    assert records.frame["score"].tolist()[::2] == [1.0, 0.0]
    by_file = records.ledger.set_index("file")
    assert by_file["rows"].to_dict() == {
        PREDICTIONS: 0,
        STATS: 3,
        "run_spec.json": 0,
        STATE: 0,
        "stats.json": 0,
    }
    assert by_file.loc[STATE, "note"] == f"part of the run that is read from {STATS} beside it"
    with pytest.raises(ReadError, match=f"part of the run that is read from {STATS}"):
        ps.read_runs(tmp_path / STATE, family="item")


def test_a_lone_file_asks_for_its_model(tmp_path: Path) -> None:
    file = folder(tmp_path, [stats(exact_match=1.0)], spec=None)
    seen = READER.recognize(file)
    assert isinstance(seen, Recognized)
    assert "no run_spec.json beside it" in seen.note
    with pytest.raises(PairingError, match="The model must be known"):
        ps.read_runs(file.path, family="item")
    assert ps.read_runs({"m": file.path}, family="item").frame["model"].tolist() == ["m"]


def test_compressed_files_find_each_other(tmp_path: Path) -> None:
    folder(tmp_path, [stats(exact_match=1.0)], [request("yes")])
    for path in list(tmp_path.iterdir()):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    frame = ps.read_runs(tmp_path, family="item").frame
    assert frame[["model", "response", "score"]].values.tolist() == [["org/m", "yes", 1.0]]


@pytest.mark.parametrize(
    "content",
    ["", "prose", "[]", "[1]", '[{"instance_id": "x"}]', '{"request_states": []}', b"\x80",
     '[{"instance_id": "x", "stats": [], "predicted": 1}]', '[{"name": "a", "count": 1}]'],
)  # fmt: skip
def test_other_files_are_declined(tmp_path: Path, content: str | bytes) -> None:
    assert isinstance(READER.recognize(written(tmp_path, "stats.json", content)), Declined)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([stats(exact_match=1.0), "x"], f"{STATS}:1 must have .*its entry is 'x'"),
        ([stats(exact_match=1.0), stats(exact_match=0.0)], f"id1 must occur once in {STATS}, but occurs 2"),
        ([stats(item=None, exact_match=1.0)], "per_instance_stats.json:0 must have .*its instance_id is None"),  # type: ignore[arg-type]
        ([stats(exact_match=1.0, perturbation="typos")], "the shape of an instance of a run"),  # type: ignore[arg-type]
        ([stats(exact_match=1.0), {"instance_id": "x", "stats": [3]}], "the shape of an instance of a run"),
        ([stats(exact_match=1.0), stats("id2", trial="x")], "`train_trial_index` of its entry is"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_broken_entries_are_refused(tmp_path: Path, entries: list[Any], message: str) -> None:
    file = folder(tmp_path, entries)
    with pytest.raises((ReadError, PairingError), match=message):
        ps.read_runs(file.path, family="item")


def test_truncated_files_are_refused_whichever_it_is(tmp_path: Path) -> None:
    folder(tmp_path, [stats(exact_match=1.0)], [request("yes")])
    for name in (STATS, STATE, "run_spec.json"):
        whole = (tmp_path / name).read_bytes()
        for cut in (len(whole) // 2, len(whole) - 1):
            (tmp_path / name).write_bytes(whole[:cut])
            with pytest.raises(ReadError, match=name):
                ps.read_runs(tmp_path, family="item")
        (tmp_path / name).write_bytes(whole)


def test_keep_going_counts_what_is_no_object(tmp_path: Path) -> None:
    records, left_out = read(READER, folder(tmp_path, [stats(exact_match=1.0), None]), keep_going=True)
    assert (len(records), ["its entry is None" in each.reason for each in left_out]) == (1, [True])
    assert isinstance(records[0], Record)


@needs_shared
@pytest.mark.parametrize("system", ["6b_finetuning", "175b_verification"])
def test_replayed_answers_equal_the_truth(system: str) -> None:
    source = (SHARED / "samples/gsm8k_openai_wide/example_model_solutions.jsonl").read_text().splitlines()
    truth = [json.loads(line) for line in source]
    place = {row["question"]: number for number, row in enumerate(truth)}
    run = next((SAMPLES / "generated").glob(f"*{system}*"))
    instances = json.loads((run / "instances.json").read_text())
    number = {i["id"]: place[i["input"]["text"]] for i in instances if "perturbation" not in i}
    records = ps.read_runs(run, family="item", score="exact_match")
    frame = records.frame
    assert len(frame) == 120
    assert records.ledger["rows"].sum() == records.ledger["records"].sum() == 120
    assert set(frame["model"]) == {f"openai/gsm8k-{system}"}
    original = frame[frame["variant"] == "base"]
    expected = [float(truth[number[item]][system]["is_correct"]) for item in original["item"]]
    assert original["score"].tolist() == expected
    assert (frame["variant"] == "mild_mix").sum() == 60
    stored = json.loads((run / PREDICTIONS).read_text())
    perturbed = {
        each["instance_id"]: each["stats"]["exact_match"] for each in stored if "perturbation" in each
    }
    other = frame[frame["variant"] == "mild_mix"]
    assert dict(zip(other["item"], other["score"], strict=True)) == perturbed


@needs_shared
def test_real_runs_equal_their_own_totals(tmp_path: Path) -> None:
    for run in sorted((SAMPLES / "real").iterdir()):
        if not run.is_dir():
            continue
        frame = ps.read_runs(run, family="item", score="exact_match").frame
        totals = json.loads((run / "stats.json").read_text())
        for split, rows in frame.groupby("split", observed=True):
            [mean] = [each["mean"] for each in totals
                      if each["name"] == {"name": "exact_match", "split": split}]  # fmt: skip
            assert rows["score"].mean() == pytest.approx(mean, abs=1e-12)
        copy = tmp_path / run.name
        copy.mkdir()
        shutil.copy(run / STATE, copy)
        replies = ps.read_runs(copy, family="item").frame
        key = ["item", "response", "gold"]
        assert (
            replies[key].values.tolist()
            == frame.set_index("item").loc[replies["item"]].reset_index()[key].values.tolist()
        )
