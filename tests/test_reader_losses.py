"""Damages that a parser of the file's form passes over: what they would have hidden is refused by name."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from run_files import read, written

import pairstats as ps
from pairstats.errors import ReadError
from pairstats.readers.base import LeftOut
from pairstats.readers.oaieval import READER as OAIEVAL

TIME = "2026-01-02T03-04-05.678"
Json = dict[str, Any]


def lines(*rows: Json) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def decision(number: int) -> Json:
    return {"item": f"q{number}", "model": "m", "score": number % 2, "gold": "x"}


def test_a_zstandard_file_is_refused_wherever_it_is_cut(tmp_path: Path) -> None:
    """Its library gives what there is, and says nothing of a frame without an end."""
    target, ends = io.BytesIO(), []
    with zstandard.ZstdCompressor().stream_writer(target, closefd=False) as stream:
        for number in range(4):
            stream.write(lines(decision(number)))
            stream.flush(zstandard.FLUSH_BLOCK)
            ends.append(target.tell())
    whole = target.getvalue()
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(whole + zstandard.compress(lines(decision(9))))
    assert len(ps.read_runs(path, family="item")) == 5
    for end in (*ends, len(whole) - 1):
        path.write_bytes(whole[:end])
        with pytest.raises(ReadError, match=r"a\.jsonl\.zst cannot be opened: .* frame ends too early"):
            ps.read_runs(path, family="item")


def archive(*members: tuple[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        for name, content in members:
            made.writestr(name, content)
    return target.getvalue()


def in_directory(content: bytes, name: bytes, other: bytes) -> bytes:
    """Archive with another name in its directory, not in the member itself."""
    place = content.rindex(name)
    assert place > content.index(b"PK\x01\x02")
    return content[:place] + other + content[place + len(name) :]


@pytest.mark.parametrize("name", ["header.json", "samples/q1_epoch_1.json"])
def test_a_member_with_two_names_is_refused(tmp_path: Path, name: str) -> None:
    """Without its header a log passes for unfinished, and a sample by another name is none."""
    about = {
        "eval": {"model": "m", "task": "t", "task_id": "t", "run_id": "r", "dataset": {}},
        "status": "success",
    }
    sample = {"id": "q1", "epoch": 1, "scores": {"s": {"value": "C"}}, "output": {"completion": "x"}}
    content = archive(
        ("_journal/start.json", json.dumps(about).encode()),
        ("samples/q1_epoch_1.json", json.dumps(sample).encode()),
        ("header.json", json.dumps(about).encode()),
    )
    path = tmp_path / "a.eval"
    path.write_bytes(content)
    assert len(ps.read_runs(path, family="item")) == 1
    path.write_bytes(in_directory(content, name.encode(), name.replace("e", "d").encode()))
    with pytest.raises(ReadError, match=rf"a\.eval:.* is damaged: its own name is '{name}'"):
        ps.read_runs(path, family="item")


@pytest.mark.parametrize("damage", ["directory", "end"])
def test_an_archive_without_its_directory_is_refused_or_counted(tmp_path: Path, damage: str) -> None:
    content = archive(*((f"{name}.jsonl", lines(decision(n))) for n, name in enumerate("ab")))
    path = tmp_path / "runs" / "two.zip"
    path.parent.mkdir()
    path.write_bytes(content)
    assert len(ps.read_runs(path, family="item")) == 2
    second = content.rindex(b"PK\x01\x02")
    path.write_bytes(
        content[:second] + b"xx" + content[second + 2 :] if damage == "directory" else content[:-30]
    )
    (path.parent / "c.jsonl").write_bytes(lines(decision(2)))
    for paths in (path, path.parent):
        with pytest.raises(ReadError, match=r"two\.zip must end with a directory of its files"):
            ps.read_runs(paths, family="item")
    kept = ps.read_runs(path.parent, family="item", keep_going=True)
    assert (len(kept), kept.ledger["left_out"].sum()) == (1, 1)


@pytest.mark.parametrize(("field", "value"), [(6, 200), (10, 77), (33, 1), (46, 0xFF)])
@pytest.mark.parametrize("form", ["zip", "xlsx"])
def test_a_damaged_entry_of_a_directory_hides_no_other(
    tmp_path: Path, form: str, field: int, value: int
) -> None:
    """Version, method, length of the comment, name: a long comment would swallow the entries behind it."""
    path = tmp_path / f"a.{form}"
    if form == "zip":
        path.write_bytes(archive(*((f"{name}.jsonl", lines(decision(n))) for n, name in enumerate("ab"))))
    else:
        workbook(path)
    damaged = bytearray(path.read_bytes())
    damaged[damaged.index(b"PK\x01\x02") + field] = value
    path.write_bytes(damaged)
    with pytest.raises(ReadError, match=rf"a\.{form}"):
        ps.read_runs(path, family="item")


def workbook(path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (("item", "model", "score"), ("q1", "m", 1)):
        book.active.append(row)
    book.save(path)


def test_a_workbook_that_lost_a_part_by_its_name_is_refused(tmp_path: Path) -> None:
    """Without its styles a workbook's dates are numbers, and openpyxl says nothing."""
    path = tmp_path / "a.xlsx"
    workbook(path)
    assert len(ps.read_runs(path, family="item")) == 1
    path.write_bytes(in_directory(path.read_bytes(), b"xl/styles.xml", b"xl/stylez.xml"))
    with pytest.raises(ReadError, match=r"a\.xlsx.* is a? ?damaged"):
        ps.read_runs(path, family="item")


def test_checksums_of_a_parquet_file_are_looked_at_where_it_has_them(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.Table.from_pylist([{**decision(number), "response": "the reply"} for number in range(3)])
    pq.write_table(
        table,
        path,
        compression="none",
        use_dictionary=False,
        write_statistics=False,
        write_page_checksum=True,
    )
    assert len(ps.read_runs(path, family="item")) == 3
    path.write_bytes(path.read_bytes().replace(b"the reply", b"thy reply", 1))
    with pytest.raises(ReadError, match=r"a\.parquet has a damaged block: .*CRC"):
        ps.read_runs(path, family="item")


def test_columns_that_differ_in_case_alone_are_refused(tmp_path: Path) -> None:
    """One record with ``Gold`` would take the gold from all others."""
    first = decision(0)
    first["Gold"] = first.pop("gold")
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(first, decision(1)))
    with pytest.raises(ReadError, match=r"names of a\.jsonl must differ by more than case .* 'Gold', 'gold'"):
        ps.read_runs(path, family="item")
    path.write_bytes(lines({**decision(0), "Note": "a", "note": "b"}))
    assert len(ps.read_runs(path, family="item")) == 1


def event(run: str, number: int, kind: str, **data: Any) -> Json:
    return {"run_id": run, "event_id": number, "sample_id": "s.0", "type": kind, "data": data}


def log_of(run: str, model: str) -> list[Json]:
    return [
        {"spec": {"completion_fns": [model], "eval_name": "e", "run_id": run}},
        event(run, 0, "sampling", sampled=["x"]),
        event(run, 1, "match", correct=True),
    ]


def test_an_event_that_was_written_twice_is_no_repeat(tmp_path: Path) -> None:
    log = log_of("r1", "m1")
    records, left_out = read(OAIEVAL, written(tmp_path, "a.jsonl", [*log, *log[1:]]))
    assert len(records) == 1
    assert left_out == [LeftOut(f"a.jsonl:{n + 3}", f"the event of line {n + 1} again") for n in (1, 2)]


def test_joined_logs_keep_their_models(tmp_path: Path) -> None:
    file = written(tmp_path, "a.jsonl", [*log_of("r1", "m1"), *log_of("r2", "m2")])
    records, _ = read(OAIEVAL, file)
    assert [record.fields["model"] for record in records] == ["m1", "m2"]
    stray = written(tmp_path, "b.jsonl", [*log_of("r1", "m1"), *log_of("r2", "m2"), *log_of("r3", "m3")[1:]])
    with pytest.raises(ReadError, match=r"b\.jsonl:7 must be of a run whose spec is in the log, but 'r3'"):
        read(OAIEVAL, stray)


SAMPLE = {"doc_id": 0, "doc": {"q": "Q"}, "target": "1", "arguments": {}, "resps": [["1"]], "filtered_resps": ["1"],
          "acc": 1.0, "doc_hash": "d", "filter": "none"}  # fmt: skip
EVERY = {"schema_version": "0.2.0", "evaluation_id": "e", "model_id": "m", "evaluation_name": "acc",
         "sample_id": "1", "interaction_type": "single_turn", "input": {"raw": "Q", "reference": ["1"]},
         "output": {"raw": ["1"]}, "answer_attribution": [],
         "evaluation": {"score": 1.0, "is_correct": True}}  # fmt: skip
DETAILS = {"doc": {"query": "Q", "choices": ["1"], "gold_index": 0, "id": "7", "task_name": "t|0"},
           "model_response": {"text": ["1"], "logprobs": [], "input_tokens": [1], "output_tokens": [[1]]},
           "metric": {"exact": 1.0}}  # fmt: skip
COMPANIONS = {
    "lm_eval": (
        "org__m/samples_t_2026-01-02T03-04-05.678.jsonl",
        "org__m/results_2026-01-02T03-04-05.678.json",
    ),
    "every_eval_ever": ("a_samples.jsonl", "a.json"),
    "lighteval": (f"details/org/m/{TIME}/details_t|0_{TIME}.parquet", f"results/org/m/results_{TIME}.json"),
}


@pytest.mark.parametrize("platform", COMPANIONS)
def test_a_broken_companion_is_refused_or_told(tmp_path: Path, platform: str) -> None:
    """Model, task and data set come from it: without it they would be others, or guessed."""
    name, beside = COMPANIONS[platform]
    if platform == "lighteval":
        target = io.BytesIO()
        pq.write_table(pa.Table.from_pylist([DETAILS]), target)
        content = target.getvalue()
    else:
        content = lines(SAMPLE if platform == "lm_eval" else EVERY)
    file = written(tmp_path, name, content).path
    before = ps.read_runs({"m": file}, family="item")
    companion = written(tmp_path, beside, '{"results": {').path
    with pytest.raises(ReadError, match=companion.name):
        ps.read_runs({"m": file}, family="item")
    kept = ps.read_runs({"m": file}, family="item", keep_going=True)
    assert kept.frame["score"].tolist() == before.frame["score"].tolist()
    assert companion.name in kept.ledger["note"][0]
