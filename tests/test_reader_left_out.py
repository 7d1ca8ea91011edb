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
