"""What a file says twice, or in two places: never the last one without a word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from run_files import column, read, written
from test_reader_helm import folder, request, stat, stats

import pairstats as ps
from pairstats.errors import ReadError
from pairstats.readers import blocks
from pairstats.readers.files import find_files
from pairstats.readers.flat import flat_form
from pairstats.readers.helm import READER as HELM
from pairstats.readers.jsonlines import parse
from pairstats.readers.promptfoo import READER as PROMPTFOO
from pairstats.readers.reading import Reading

Json = dict[str, Any]


@pytest.mark.parametrize(
    "note",
    ["plain", r"he said \u0022yes\u0022: ok", r"he said \"yes\"\u003a ok", r"\"yes\"\u003A", r"\\u0022:"],
)
def test_a_key_that_occurs_twice_is_refused_whatever_the_text_beside_it(note: str) -> None:
    once = f'{{"score":1,"note":"{note}"}}'
    assert parse(once.encode(), "run.jsonl:1") == json.loads(once)
    for twice in (f'{{"score":1,"score":0,"note":"{note}"}}', f'{{"note":"{note}","score":1,"score":0}}'):
        with pytest.raises(ReadError, match=r"run.jsonl:1 .* the key 'score' occurs twice"):
            parse(twice.encode(), "run.jsonl:1")


def test_a_helm_instance_that_was_asked_twice_is_refused(tmp_path: Path) -> None:
    states = [request("yes"), request("no"), request("yes", item="id2")]
    for name, entries in (
        ("alone", None),
        ("scored", [stats(exact_match=1.0), stats("id2", exact_match=1.0)]),
    ):
        with pytest.raises(ReadError, match=r":id1 must be asked once for each choice, but is asked 2 times"):
            read(HELM, folder(tmp_path / name, entries, states))


def test_a_helm_instance_that_was_asked_twice_can_be_left_out(tmp_path: Path) -> None:
    states = [request("yes"), request("no"), request("yes", item="id2")]
    records, left_out = read(HELM, folder(tmp_path, None, states), keep_going=True)
    assert column(records, "item") == ["id2"]
    assert ["id1" in each.source and "asked 2 times" in each.reason for each in left_out] == [True]


def test_the_choices_of_a_helm_instance_are_asked_one_by_one(tmp_path: Path) -> None:
    states = [
        request("", reference_index=number, request_mode=mode)
        for number in range(2)
        for mode in ("original", "calibration")
    ]
    records, _ = read(HELM, folder(tmp_path / "whole", [stats(exact_match=1.0)], states))
    assert [record.scores["exact_match"] for record in records] == [1.0]
    with pytest.raises(ReadError, match="2 times for one"):
        read(HELM, folder(tmp_path / "twice", [stats(exact_match=1.0)], [*states, states[0]]))


@pytest.mark.parametrize("second", [1.0, None])
def test_a_helm_statistic_with_two_means_is_refused(tmp_path: Path, second: float | None) -> None:
    entry = stats(exact_match=0.0)
    entry["stats"].append(stat("exact_match", second))
    with pytest.raises(ReadError, match=":id1 must have one mean of 'exact_match', but has several"):
        read(HELM, folder(tmp_path, [entry]))


def test_a_helm_statistic_may_be_said_twice_alike_and_by_sub_split(tmp_path: Path) -> None:
    entry = stats(exact_match=0.0)
    entry["stats"] += [
        stat("exact_match", 0.0),
        stat("f1", 0.5, sub_split="a"),
        stat("f1", 1.0, sub_split="b"),
    ]
    records, _ = read(HELM, folder(tmp_path, [entry]))
    assert records[0].scores == {"exact_match": 0.0, "f1:a": 0.5, "f1:b": 1.0}


@pytest.mark.parametrize("index", [None, "1", 1.5])
def test_a_promptfoo_result_without_a_test_number_is_of_no_other_test(tmp_path: Path, index: Any) -> None:
    def result(number: int, test: Any, **more: Any) -> Json:
        asked = {"q": f"q{number}"}
        return {
            "id": f"r{number}", "testIdx": test, "promptIdx": 0, "vars": asked, "testCase": {"vars": asked},
            "prompt": {"raw": "p", "label": "p"}, "provider": {"id": "m"}, "response": {"output": "x"},
            "success": True, "score": 1, **more,
        }  # fmt: skip

    results = [result(0, 1), result(1, index, failureReason=2, error="boom"), result(2, 5)]
    content = {"evalId": "e", "config": {}, "results": {"version": 3, "results": results, "stats": {}}}
    records, left_out = read(PROMPTFOO, written(tmp_path, "p.json", json.dumps(content)))
    assert column(records, "status") == ["answered", "error", "answered"]
    assert not left_out


def dotted(item: str, **more: Any) -> Json:
    return {"model": "m", "item": item, "score": 1, **more}


NESTED, NAMED = {"meta": {"t": 0.25}}, {"meta.t": 0.5}
ROWS = [NESTED, NAMED, {"meta": {"t": 0.75}, "meta.t": 1.0}, {"meta": None, "meta.t": 0.0}]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (1, 3, 0), (3, 2, 1, 0), (0, 0, 1), (1, 1, 0, 0)])
@pytest.mark.parametrize("in_one_block", [True, False])
@pytest.mark.parametrize("asked", [{"extra": {"t": "meta.t"}}, {"score": "meta.t"}])
def test_a_dotted_name_beside_a_path_means_the_same_in_every_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: tuple[int, ...], in_one_block: bool, asked: Json
) -> None:
    if not in_one_block:
        monkeypatch.setattr(blocks, "BLOCK_BYTES", 8)  # a line each
    rows = [dotted(f"q{number}", **ROWS[place]) for number, place in enumerate(order)]
    expected = [(0.25, 0.5, 1.0, 0.0)[place] for place in order]
    listed = written(tmp_path, "t.json", json.dumps(rows))
    lines = written(tmp_path, "t.jsonl", rows)
    assert flat_form(find_files(lines.path)[0], Reading()) == "jsonl"
    for file in (listed, lines):
        runs = ps.read_runs(file.path, family="item", progress=False, **asked)
        assert runs.table.column("t" if "extra" in asked else "score").to_pylist() == expected


def test_rows_that_name_a_dotted_column_alike_are_still_read_as_columns(tmp_path: Path) -> None:
    file = written(tmp_path, "t.jsonl", [dotted("a", **NAMED), dotted("b", **NAMED)])
    (block,) = blocks.blocks_of(file, "jsonl")
    found = block.find("meta.t")
    assert found is not None
    assert found.to_pylist() == [0.5, 0.5]
