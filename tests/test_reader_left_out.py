"""One record that cannot be read is one record left out: it neither ends its file nor is counted twice."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pairstats as ps
from pairstats.errors import ReadError
from pairstats.readers.base import LeftOut, ReadOptions, Recognized, Record, RunFile

CSV = "item,model,score\n{item},m,{score}\n"


def result(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"i{number}", "vars": {"q": f"q{number}"}, "testIdx": number, "promptIdx": 0, "success": True,
        "prompt": {"raw": "p"}, "provider": {"id": "prov"}, "response": {"output": "x"}, "score": 1, **fields,
    }  # fmt: skip


def promptfoo(bad: dict[str, Any]) -> Any:
    results = [result(number, **(bad if number == 2 else {})) for number in range(9)]
    return {"evalId": "e", "config": {}, "results": {"version": 3, "results": results, "stats": {}}}


def deepeval(bad: dict[str, Any]) -> Any:
    metric = {"name": "right", "score": 1.0, "success": True}
    cases = [{"name": f"c{n}", "actual_output": "x", "metrics_data": [metric]} for n in range(9)]
    return {"test_results": [*cases[:2], {**cases[2], **bad}, *cases[3:]]}


def weirdml(bad: Any) -> Any:
    runs = [{"score": 0.5} for _ in range(8)]
    tasks = {"t": {"runs": [*runs[:2], bad, *runs[2:]]}}
    return {"methodology": "", "tasks": ["t"], "models": {"m": {"tasks": tasks}}}


def helm(bad: dict[str, Any]) -> Any:
    stat = {"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": 1.0, "mean": 1.0}
    entries = [{"instance_id": f"id{n}", "train_trial_index": 0, "stats": [stat]} for n in range(9)]
    return [*entries[:2], {**entries[2], **bad}, *entries[3:]]


def inspect(number: int = 3, **bad: Any) -> dict[str, Any]:
    samples = [
        {"id": n, "epoch": 1, "target": "x", "scores": {"s": {"value": "C", "answer": "x"}}}
        for n in range(number)
    ]
    samples[1] |= bad
    plan = {"sample_ids": list(range(number))}
    about = {"task_id": "t", "run_id": "r", "model": "m", "dataset": plan, "config": {"epochs": 1}}
    return {"status": "error", "eval": about, "samples": samples}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", promptfoo({"namedScores": [1]})),
        ("a.json", promptfoo({"promptIdx": None, "prompt": {"label": ["a"]}})),
        ("a.json", deepeval({"metrics_data": 5})),
        ("a.json", weirdml(None)),
        ("per_instance_stats.json", helm({"stats": 5})),
        ("per_instance_stats.json", helm({"perturbation": "typos"})),
        ("a.json", inspect(9, scores=5)),
        ("a.json", inspect(9, epoch=float("inf"))),
    ],
)
def test_a_record_of_odd_shape_is_one_record_left_out(tmp_path: Path, name: str, content: Any) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(content))
    fill: dict[str, Any] = {"family": "item", "set": {"model": "m"}, "progress": False}
    if "models" in content or "eval" in content or "evalId" in content:
        del fill["set"]
    with pytest.raises(ReadError, match=name.replace(".", r"\.")):
        ps.read_runs(path, **fill)
    runs = ps.read_runs(path, keep_going=True, **fill)
    assert runs.ledger[["records", "rows", "left_out"]].to_numpy().tolist()[0] == [9, 8, 1]


class Dying:
    """A reader that fails behind its first record."""

    name = "dying"

    def recognize(self, file: RunFile) -> Recognized:
        return Recognized("1")

    def read(self, file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
        yield Record(f"{file.shown}:1", {"item": "a", "model": "m", "status": "answered"}, {"score": 1.0})
        raise KeyError("b")


def test_a_reader_that_ends_in_the_middle_is_an_error_with_keep_going_too(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("x")
    with pytest.raises(
        ReadError, match=r"a\.log must be read to its end, but cannot be read behind a\.log:1"
    ):
        ps.read_runs(path, reader=Dying(), family="item", keep_going=True, progress=False)


@pytest.mark.parametrize("names", [("a.csv", "a.csv"), ("x/a.csv", "x//a.csv"), ("a.csv", "./a.csv")])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_twice_in_a_zip_is_refused(tmp_path: Path, names: tuple[str, str]) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for item, name in enumerate(names):
            archive.writestr(name, CSV.format(item=item, score=1))
    with pytest.raises(ReadError, match=f"{names[0]!r} and {names[1]!r} are one name"):
        ps.read_runs(path, family="item", progress=False)


def test_a_member_of_this_folder_is_not_hidden(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for item, name in enumerate(("a.csv", "./b.csv", ".hidden.csv", "./.hidden/c.csv")):
            archive.writestr(name, CSV.format(item=item, score=1))
    assert list(ps.read_runs(path, family="item", progress=False).ledger.file) == [
        "a.zip/a.csv",
        "a.zip/b.csv",
    ]


def test_a_file_replaced_by_one_of_same_size_and_time_is_read_anew(tmp_path: Path) -> None:
    for model in ("m", "n"):
        for name in ("a.zip", "a.json"):
            part = tmp_path / "part"
            if name == "a.zip":
                with zipfile.ZipFile(part, "w") as archive:
                    archive.writestr(zipfile.ZipInfo("a.csv"), f"item,model,score\nq,{model},1\n")
            else:
                part.write_text(json.dumps(inspect()).replace('"m"', f'"{model}"'))
            os.utime(part, (1e9, 1e9))
            part.rename(tmp_path / name)
            table = ps.read_runs(tmp_path / name, family="item", progress=False).table
            assert table.column("model").unique().to_pylist() == [model]


def test_an_endless_epoch_of_every_eval_ever_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "a_samples.jsonl"
    line = {
        "schema_version": "0.2.2", "evaluation_id": "e", "sample_id": "s", "model_id": "m",
        "evaluation_name": "n", "evaluation": {"score": 1.0}, "metadata": {"epoch": float("inf")},
        "output": {"raw": ["x"]},
    }  # fmt: skip
    path.write_text(json.dumps(line) + "\n")
    with pytest.raises(ReadError, match=r"a_samples\.jsonl:1 .*its epoch is inf"):
        ps.read_runs(path, family="item", progress=False)


def counts(path: Path, **words: Any) -> list[int]:
    """Records, rows and left out of a run whose records are broken but readable beside each other."""
    given: dict[str, Any] = {"family": "item", "set": {"model": "m"}, "progress": False, **words}
    with pytest.raises(ReadError, match=r"must have the shape of"):
        ps.read_runs(path, **given)
    ledger = ps.read_runs(path, keep_going=True, **given).ledger
    return ledger[["records", "rows", "left_out"]].to_numpy().sum(axis=0).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "bad", [{"perturbation": "typos"}, {"instance_id": None}, {"train_trial_index": "x"}]
)
@pytest.mark.parametrize("alone", [True, False])
def test_a_broken_entry_of_helm_is_not_a_record_beside_its_own(
    tmp_path: Path, bad: dict[str, Any], alone: bool
) -> None:
    entries = helm(bad)
    (tmp_path / "per_instance_stats.json").write_text(json.dumps(entries))
    if not alone:
        shown = [
            {"instance_id": f"id{n}", "train_trial_index": 0, "predicted_text": "x", "stats": {}}
            for n in range(9)
        ]
        (tmp_path / "display_predictions.json").write_text(json.dumps(shown))
    assert counts(tmp_path) == [9, 8, 1]


def test_a_broken_choice_of_helm_takes_its_instance_with_it(tmp_path: Path) -> None:
    states = [
        {"instance": {"id": f"id{n}"}, "train_trial_index": 0, "reference_index": choice,
         "request": {"model": "m", "prompt": f"q{n}"}, "result": {"success": True, "completions": [{"text": "a"}]}}
        for n in range(3) for choice in range(2)
    ]  # fmt: skip
    states[2]["instance"] = {"id": "id1", "perturbation": 5}
    (tmp_path / "per_instance_stats.json").write_text(json.dumps(helm({})[:3]))
    state = {"adapter_spec": {"model": "m"}, "request_states": states}
    (tmp_path / "scenario_state.json").write_text(json.dumps(state))
    # The one choice that is left of it must not pass for the answer.
    assert counts(tmp_path) == [3, 2, 1]


def broken_sample(status: str, *planned: Any) -> dict[str, Any]:
    log = inspect(3, id=None)
    log["status"] = status
    log["eval"]["dataset"]["sample_ids"] = [0, 1, 2, *planned]
    return log


@pytest.mark.parametrize("status", ["error", "success"])
def test_a_sample_without_an_id_is_not_absent_too(tmp_path: Path, status: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(broken_sample(status)))
    assert counts(path, set={}) == [3, 2, 1]


def test_a_sample_without_an_id_hides_which_planned_one_never_ran(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(broken_sample("error", "cut")))
    assert counts(path, set={}) == [4, 2, 2]
    log = inspect(3, epoch="x")
    log["eval"]["dataset"]["sample_ids"].append("cut")
    path.write_text(json.dumps(log))
    assert counts(path, set={}) == [4, 3, 1]  # the broken one has an id, so that "cut" is known to be absent


def test_a_few_records_without_an_item_are_left_out(tmp_path: Path) -> None:
    def batch(item: Any) -> dict[str, Any]:
        body = {"id": f"r{item}", "model": "m", "choices": [{"message": {"content": "A"}}]}
        return {"custom_id": item, "response": {"status_code": 200, "body": body}, "error": None}

    path = tmp_path / "a.jsonl"
    for items, left_out in ((["a", "b", None], 1), (["a", " ", "c"], 1), (["a", "b", "c"], 0)):
        path.write_text("".join(json.dumps(batch(item)) + "\n" for item in items))
        ledger = ps.read_runs(path, family="item", keep_going=True, progress=False).ledger
        assert ledger[["records", "rows", "left_out"]].to_numpy().tolist() == [[3, 3 - left_out, left_out]]
    path.write_text("".join(json.dumps(batch(item)) + "\n" for item in ("a", None, None)))
    with pytest.raises(ps.PairingError, match="`item` must be known in every record, but is not in 2 of 3"):
        ps.read_runs(path, family="item", keep_going=True, progress=False)


@pytest.mark.parametrize("repeat", [["x"], "x", 1.5, -1])
def test_a_repeat_that_is_no_number_is_one_record_left_out(tmp_path: Path, repeat: Any) -> None:
    path = tmp_path / "a.jsonl"
    rows = [{"item": f"q{n}", "model": "m", "score": 1, "n": repeat if n == 1 else 0} for n in range(4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(ps.PairstatsError):
        ps.read_runs(path, family="item", repeat="n", progress=False)
    runs = ps.read_runs(path, family="item", repeat="n", keep_going=True, progress=False)
    assert runs.ledger[["records", "rows", "left_out"]].to_numpy().tolist() == [[4, 3, 1]]
