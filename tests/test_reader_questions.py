"""Platforms that name an item by its place in a data set: one place is one question, in all files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_files import written
from test_reader_agents import trial
from test_reader_helm import folder, request, stats
from test_reader_lighteval import parquet, structs
from test_reader_lm_eval import generated

import pairstats as ps
from pairstats.errors import PairingError
from pairstats.readers.columns import UnusualError
from pairstats.readers.places import check_marks

Json = dict[str, Any]


def lm_eval(path: Path, questions: list[str]) -> Path:
    lines = [generated(n, "A", doc={"question": q}, doc_hash=f"h{q}") for n, q in enumerate(questions)]
    return written(path, "samples.jsonl", lines).path


def lighteval(path: Path, questions: list[str]) -> Path:
    rows = [structs("18", query=question, id=str(n)) for n, question in enumerate(questions)]
    return parquet(path, rows).path


def helm(path: Path, questions: list[str]) -> Path:
    entries = [stats(f"id{n}", exact_match=1.0) for n, _ in enumerate(questions)]
    states = [request("yes", item=f"id{n}") for n, _ in enumerate(questions)]
    for state, question in zip(states, questions, strict=True):
        state["instance"]["input"] = {"text": question}
    spec = {"name": "gsm:model=m", "adapter_spec": {}, "scenario_spec": {}, "metric_specs": []}
    return folder(path, entries, states, spec=spec).path.parent


def helm_by_choice(path: Path, questions: list[str]) -> Path:
    entries = [stats(f"id{n}", exact_match=1.0) for n, _ in enumerate(questions)]
    states = [
        request("", item=f"id{n}", reference_index=choice) | {"text": question}
        for n, question in enumerate(questions)
        for choice in range(2)
    ]
    for state in states:
        state["instance"]["input"] = {"text": state.pop("text")}
    spec = {"name": "gsm:model=m", "adapter_spec": {}, "scenario_spec": {}, "metric_specs": []}
    return folder(path, entries, states, spec=spec).path.parent


def tau_bench(path: Path, questions: list[str]) -> Path:
    rows = [trial(n) | {"info": {"task": {"instruction": question}}} for n, question in enumerate(questions)]
    return written(path, "trials.json", json.dumps(rows)).path


PLATFORMS = [
    (lm_eval, "doc_id 1", "doc_hash"), (lighteval, "document 1 of gsm|0", "doc.query"),
    (helm, "instance id1 (base) of gsm", "instance.input.text"),
    (helm_by_choice, "instance id1 (base) of gsm", "instance.input.text"),
    (tau_bench, "task_id 1", "info.task.instruction"),
]  # fmt: skip
each_platform = pytest.mark.parametrize(
    ("write", "place", "remedy"), PLATFORMS, ids=lambda value: getattr(value, "__name__", "")
)
Write = Callable[[Path, list[str]], Path]


@each_platform
def test_two_questions_at_one_place_are_refused_and_the_remedy_works(
    tmp_path: Path, write: Write, place: str, remedy: str
) -> None:
    runs = {"a": write(tmp_path / "a", ["one", "two"]), "b": write(tmp_path / "b", ["one", "three"])}
    words: Json = {"score": "reward"} if write is tau_bench else {}
    words |= {"family": "item", "progress": False}
    for workers in (1, 2):
        with pytest.raises(PairingError) as caught:
            ps.read_runs(runs, workers=workers, **words)
        message = str(caught.value)
        assert message.startswith(f"{place} must be one question, but ")
        assert "a/" in message and "b/" in message and f'item="{remedy}"' in message  # noqa: PT018
        frame = ps.read_runs(runs, item=remedy, workers=workers, **words).frame
        assert frame.groupby("item")["model"].nunique().sort_values().tolist() == [1, 1, 2]


@each_platform
def test_one_question_at_one_place_pairs(tmp_path: Path, write: Write, place: str, remedy: str) -> None:
    runs = {"a": write(tmp_path / "a", ["one", "two"]), "b": write(tmp_path / "b", ["one", "two"])}
    frame = ps.read_runs(runs, family="item", progress=False).frame
    assert frame.groupby("item")["model"].nunique().tolist() == [2, 2]


def test_marks_of_pieces_tell_of_two_questions() -> None:
    one, same, other = (np.array([row], np.uint64) for row in ((1, 7), (1, 7), (1, 8)))
    check_marks([])
    check_marks([one, same, np.empty((0, 2), np.uint64)])
    with pytest.raises(UnusualError):
        check_marks([one, other])


@pytest.mark.parametrize("words", [{}, {"family": "item"}, {"workers": 2}])
def test_documents_of_two_tasks_at_one_place_are_two_families(words: Json, tmp_path: Path) -> None:
    for task in ("arc", "gsm"):
        lines = [generated(n, "A", doc={"question": f"{task} {n}"}, doc_hash=f"{task}{n}") for n in range(3)]
        path = tmp_path / "m" / f"samples_{task}_2024-01-01T00-00-00.000000.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(written(tmp_path, "x", lines).path.read_bytes())
    records = ps.read_runs({"m": tmp_path / "m"}, **words)
    assert sorted(records.frame["family"]) == ["arc/0", "arc/1", "arc/2", "gsm/0", "gsm/1", "gsm/2"]
    assert sorted(records.frame["item"]) == ["0", "0", "1", "1", "2", "2"]
    assert all("a family is named task/item" in note for note in records.ledger["note"])
    [row] = ps.estimate(ps.Panel(records), ps.Mean("score"))
    assert row["n_families"] == 6


def test_documents_of_one_task_keep_the_names_of_their_items(tmp_path: Path) -> None:
    frame = ps.read_runs({"m": lm_eval(tmp_path, ["a", "b"])}).frame
    assert frame["family"].tolist() == frame["item"].tolist() == ["0", "1"]


def test_documents_of_two_tasks_are_not_one_item_of_one_study(tmp_path: Path) -> None:
    for task in ("arc", "gsm"):
        lines = [generated(0, "A", doc={"question": task}, doc_hash=task)]
        path = tmp_path / "m" / f"samples_{task}_2024-01-01T00-00-00.000000.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(written(tmp_path, "x", lines).path.read_bytes())
    for workers in (1, 2):
        with pytest.raises(
            PairingError, match=r"Item '0' must be one question, but is doc_id 0 of arc .* of gsm"
        ):
            ps.read_runs({"m": tmp_path / "m"}, set={"study": "all"}, workers=workers)


def test_families_that_are_declared_keep_their_names(tmp_path: Path) -> None:
    for task in ("arc", "gsm"):
        lines = [generated(n, "A", doc={"question": f"{task}{n}"}, doc_hash=f"{task}{n}") for n in (1, 10)]
        path = tmp_path / "m" / f"samples_{task}_2024-01-01T00-00-00.000000.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(written(tmp_path, "x", lines).path.read_bytes())
    found = ps.read_runs({"m": tmp_path / "m"}, family=ps.extract("item", r"^(\d)"))
    assert found.frame["family"].tolist() == ["1"] * 4
