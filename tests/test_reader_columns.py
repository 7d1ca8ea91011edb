"""Item tables and logs of completions, read as columns: what that gives is what single records give."""

from __future__ import annotations

import enum
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from conftest import SHARED, needs_shared
from hypothesis import event, given
from hypothesis import strategies as st
from test_readers_speed import (
    FEW,
    TEXTS,
    as_lines,
    assert_same,
    of,
    outcome,
    read_by_records,
    saved,
    streamed,
    tables_and_words,
    taken,
)

import pairstats as ps
from pairstats.errors import PairstatsError
from pairstats.readers import blocks, json_width
from pairstats.readers.columns import UnusualError
from pairstats.readers.json_width import check_width

IDS = ("q0-a", "q1-a", "q2-a", "000", "001", "002", "q0", "q1", "q2", "q3", "0", "1", "2", "no 0", "no 1")
CELLS = (
    of("x", "y"),
    of("A", "B"),
    of(1, 2),
    of(1.0, 2.5),
    of(True, False),
    of("x", None),
    of("1", 2),
    TEXTS,
)


@st.composite
def item_tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Item tables that most often have a row for every item."""
    ids = [f"{start}{number}{end}" for start, end in (("q", "-a"), ("q", ""), ("no ", ""), ("", ""), ("", ".0"))
           for number in range(12)]  # fmt: skip
    ids += [f"{number:03d}" for number in range(12)] + [f"a.jsonl:{n}" for n in range(1, 13)]
    few = of(*[False] * 6, True)
    ids = (
        draw(st.one_of(st.permutations(ids), st.just(ids[:-3]), st.just([*ids, ids[0]])))
        if draw(few)
        else ids
    )
    key = draw(of("item", "item", "id", "key"))
    more = draw(st.lists(of("variant", "options", "id", "model", "n"), unique=True, max_size=1))
    kinds = {name: draw(st.sampled_from(CELLS)) for name in ("family", "topic", "gold", *more) if name != key}
    cells = {name: draw(st.lists(kind, min_size=3, max_size=3)) for name, kind in kinds.items()}
    rows = [
        {key: each, **{name: three[at % 3] for name, three in cells.items()}} for at, each in enumerate(ids)
    ]
    if draw(few):
        del rows[-1][draw(st.sampled_from(list(rows[-1])))]
    return rows


def assert_written_alike(
    paths: Any, records: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, words: dict[str, Any]
) -> None:
    """Hold a file that is written in parts to the records; of several faults, the first of a part comes first."""
    found = streamed(paths, folder, monkeypatch, **words)
    if isinstance(records, PairstatsError):
        assert isinstance(found, PairstatsError)
    else:
        assert_same(found, saved(records, folder))


FAMILY = of(
    "family", "items.family", "topic", "items.topic", "gold", "item", ps.extract("items.topic", "(.)")
)


@FEW
@given(
    given_=tables_and_words(), items=item_tables(), family=FAMILY, key=of(None, None, None, "id", "item"),
    twice=st.booleans(), write=st.booleans(),
    more=of({}, {}, {}, {"gold": "items.gold"}, {"gold": "gold"}, {"planned": True}, {"exclude": ["topic=x"]}),
)  # fmt: skip
def test_item_tables_beside_columns(
    given_: tuple[list[dict[str, Any]], dict[str, Any]], items: list[dict[str, Any]], family: Any,
    key: str | None, twice: bool, write: bool, more: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    rows, words = given_
    folder = tmp_path_factory.mktemp("runs")
    (folder / "a.jsonl").write_bytes(as_lines(rows))
    if twice:
        (folder / "b.jsonl").write_bytes(as_lines(rows))
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 200)
    words |= {"items": items, "item_key": key, "family": family} | more
    by_records = read_by_records(monkeypatch, folder, **words)
    with monkeypatch.context() as patch:
        as_columns = taken(patch)
        assert_same(outcome(folder, **words), by_records)
        event(f"as columns: {as_columns}")
    if write:
        assert_written_alike(folder, by_records, tmp_path_factory.mktemp("out"), monkeypatch, words)


ITEMS = [{"item": f"q{number}", "topic": f"t{number % 2}", "key": "AB"[number % 2]} for number in range(9)]


def lines(count: int = 9) -> list[dict[str, Any]]:
    return [
        {"item": f"q{n % 9}", "model": f"m{n // 9}", "response": f"so\nAnswer: {'AB'[n % 3 % 2]}"}
        for n in range(count)
    ]


@pytest.mark.parametrize("form", ["list", "csv", "frame", "parquet"])
def test_records_find_their_items_as_columns(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs").mkdir()
    for file in ("a.jsonl", "b.jsonl"):
        rows = [row | {"model": row["model"] + file} for row in lines(18)]
        (tmp_path / "runs" / file).write_bytes(as_lines(rows))
    frame = pd.DataFrame(ITEMS)
    frame.to_csv(tmp_path / "items.csv", index=False)
    frame.to_parquet(tmp_path / "items.parquet")
    items = {"list": ITEMS, "frame": frame}.get(form, tmp_path / f"items.{form}")
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 200)
    as_columns = taken(monkeypatch)
    words = {
        "items": items, "family": "topic", "gold": "key", "exclude": "q8",
        "answers": ps.AnswerFormat("choice", field=None),
    }  # fmt: skip
    records = ps.read_runs(tmp_path / "runs", **words)
    assert as_columns == [True]
    assert_same(records, read_by_records(monkeypatch, tmp_path / "runs", **words))
    rows = records.frame.set_index(["model", "item"])
    assert rows.loc[("m1b.jsonl", "q5"), ["family", "gold", "answer", "score"]].tolist() == [
        "t1",
        "B",
        "A",
        0.0,
    ]
    assert records.ledger["reader"].tolist() == ["table", "table", "items"]
    assert records.ledger["note"].iloc[-1] == "9 items"


def test_an_item_that_the_table_does_not_know_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(as_lines([*lines(9), {"item": "q77", "model": "m", "response": "Answer: A"}]))
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 200)
    with pytest.raises(ps.PairingError, match=r"has none for 1: item 'q77' \(a\.jsonl:10\)"):
        ps.read_runs(path, items=ITEMS, family="topic", gold="key")


@pytest.mark.parametrize("cell", [np.int64(7), np.bool_(True), np.float32(0.5), np.str_("x")])
def test_cells_of_numpy_beside_columns(cell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by hand: Arrow took NumPy's numbers for numbers, which are text where records are read."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(as_lines(lines(9)))
    words = {"items": [row | {"n": cell} for row in ITEMS], "family": "topic", "extra": {"n": "items.n"}}
    found = outcome(path, **words)
    assert isinstance(found, ps.Records)
    assert_same(found, read_by_records(monkeypatch, path, **words))


def test_blocks_that_find_their_items_in_different_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"item": name, "model": "m", "score": 1} for name in ("q1", "q2")]
    path = tmp_path / "a.jsonl"
    path.write_bytes(as_lines(rows))
    items = [{"id": "q1", "item": "q9", "t": "x"}, {"id": "q3", "item": "q2", "t": "y"}]
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 10)
    found = outcome(path, items=items, family="t")
    assert_same(found, read_by_records(monkeypatch, path, items=items, family="t"))
    assert "must have a row for every item" in str(found)


# Completions

TWO = [{"role": "system", "content": "x"}, {"role": "user", "content": "é"}]
MESSAGES = of(
    [{"role": "user", "content": "How many?"}], TWO,
    [], None, [{"role": "user", "content": [{"type": "text", "text": "parts"}]}], [{"content": "no role"}],
    [{"role": "user", "content": None}],
)  # fmt: skip
CONTENTS = (
    of("Answer: A", "Answer: B", "no idea"), of("Answer: A", "", " \n", None, "\x1f", "\u2003"), TEXTS,
    of("Answer: A", [{"type": "text", "text": "Answer: B"}]), of("2020-01-01", "2020-01-02"), of("Answer: A", 5),
)  # fmt: skip
FINISH = (
    of("stop"), of("stop", "length"), of("stop", "length", "content_filter", None, "tool_calls", "eos"),
    of("error", "stop"),
)  # fmt: skip
MESSAGE_KEYS = {
    "refusal": (of(None), of(None, "I cannot", ""), of(7)),
    "tool_calls": (of([]), of(None, [{"id": "c", "function": {"name": "f"}}]), of({})),
    "function_call": (of(None), of(None, {"name": "f"})),
    "role": (of("assistant"),),
}
USAGE = (
    of({"prompt_tokens": 3, "completion_tokens": 5}, {"input_tokens": 7}, {"prompt_tokens": None, "cost": 0.5}),
    of({"prompt_tokens": 3, "cost": 1}), of(None), of({"prompt_tokens": 1.0}, {"prompt_tokens": 2.5}), of({}),
    of({"prompt_tokens": 1, "cost": float("nan")}), of("x"), of({"prompt_tokens": 2**70}),
)  # fmt: skip
LINE_KEYS = {
    "model": (of("m"), of("m", "n"), of(None, "m"), of(5)),
    "gold": (of("A", "B"), of("A", None, 1), of(1, 2), of(True)),
    "target": (of("A", "B"),),
    "score": (of(0, 1), of(True, False), of(0.5, None), of("1", 0), of(None), of(float("nan"), 1.0), of(3)),
    "correct": (of(True, False),),
    "repeat": (of(0, 1, 2), of(None, 1), of(0.0, 1.0), of("0")),
    "latency_s": (of(0.5, 1.25), of(1, 2), of(None, 1.5), of("1"), of(True), of(float("inf"))),
    "cost_usd": (of(0.5), of(1, None), of("x")),
    "attempt": (of(1, 2), of(None)),
    "error": (of(None), of(None, "boom"), of({"message": "429"}, None), of({}, None), of("")),
    "study": (of("s"), of("s", None), of(3)),
    "variant": (of("base", "new"),),
    "metadata": (
        of({"family": "f1", "n": 1}, {"family": "f2"}), of({"family": "f", "date": "2020-01-01"}), of(None),
    ),
    "messages": (MESSAGES,),
    "request": (
        of({"model": "m"}, {"messages": TWO, "temperature": 0.5}), of(None), of({"prompt": "p"}, {"prompt": "q"}),
        of({"input": "p", "prompt": "q"}), MESSAGES.map(lambda m: {"messages": m}), of("text"),
    ),
    "response_id": (of("x"),), "body": (of({"a": 1}), of("x")), "url": (of("/v1"),), "status": (of("ok"), of(None)),
    "response ": (of("x"),),
}  # fmt: skip


@st.composite
def completions(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Lines of a log, of which most columns hold values of one kind."""
    shape = draw(of("batch", "batch", "loop", "loop", "bare", "vllm"))
    odd = draw(of(*[False] * 4, True))
    keys = {name: draw(st.sampled_from(kinds)) for name, kinds in LINE_KEYS.items()
            if name in draw(st.lists(st.sampled_from(sorted(LINE_KEYS)), unique=True, max_size=3))}  # fmt: skip
    of_message = {name: draw(st.sampled_from(MESSAGE_KEYS[name])) for name in draw(
        st.lists(st.sampled_from(sorted(MESSAGE_KEYS)), unique=True, max_size=2))}  # fmt: skip
    content, finish, usage = (draw(st.sampled_from(kinds)) for kinds in (CONTENTS, FINISH, USAGE))
    model, index = draw(of(of("m-2026"), of("m", "n"), of("m", None))), draw(of(0, 0, None, 3))
    name = (
        "custom_id" if shape in ("batch", "vllm") else draw(of("item", "item_id", "custom_id", "question_id"))
    )
    same_item, legacy = draw(of(False, False, True)), draw(of(*[False] * 5, True))
    rows = []
    for number in range(draw(st.integers(1, 8))):
        message = {"content": draw(content)} | {key: draw(kind) for key, kind in of_message.items()}
        choice = {"index": index, "finish_reason": draw(finish)}
        choice |= {"text": draw(of("Answer: A", ""))} if legacy else {"message": message}
        body = {"id": f"c{number}", "object": "chat.completion", "model": draw(model), "choices": [choice]}
        body |= {} if (told := draw(usage)) is None else {"usage": told}
        if odd:
            body |= draw(of(
                {}, {"choices": []}, {"choices": [choice, choice]}, {"id": None}, {"error": "500"},
                {"status": "failed"}, {"choices": [choice | {"error": "x"}]}, {"model": ""},
            ))  # fmt: skip
        code = draw(of(200, 200, 200, 429)) if odd else 200
        line = {name: f"q{number // 3 if same_item else number}-a"} | {
            key: draw(kind) for key, kind in keys.items()
        }
        if shape == "batch":
            line |= {"id": f"b{number}", "response": {"status_code": code, "body": body}}
        elif shape == "vllm":
            line |= {"id": f"vllm-{number}", "response": body}
        elif shape == "loop":
            line["response"] = draw(of(body, None)) if odd else body
        else:
            line |= body
        rows.append({key.strip(): value for key, value in line.items()})
    return rows


MAPPED = of(
    {}, {}, {"variant": "model"}, {"variant": "response.body.model"}, {"split": "metadata.n"}, {"run": "body.id"},
    {"extra": {"finish": "response.body.object"}}, {"extra": {"response_id": "custom_id"}}, {"item": "source"},
    {"score": "correct"}, {"score": "metadata.n"}, {"set": {"repeat": 1}}, {"set": {"note": "x"}},
    {"exclude": "q1*"}, {"repeat": "repeat"}, {"condition": "request.temperature"}, {"keep_going": True},
    {"response": "item"}, {"gold": "metadata.family"}, {"study": "response"}, {"category": "status"},
    {"run": "attempts"}, {"confidence": "latency_s"}, {"extra": {"theme": "response_id", "who": "model"}},
    {"items": [{"item": f"q{n}-a", "family": "f", "gold": "A"} for n in range(9)], "gold": "items.gold"},
    {"items": [{"item": f"q{n}-a", "gold": "B"} for n in range(2)], "gold": "gold"},
)  # fmt: skip


@FEW
@given(
    rows=completions(), more=MAPPED, family=of("item", "item", "metadata.family", ps.extract("item", r"^(\w+)-")),
    answers=st.booleans(), twice=st.booleans(), write=st.booleans(), named=st.booleans(),
)  # fmt: skip
def test_completions_as_columns(
    rows: list[dict[str, Any]], more: dict[str, Any], family: Any, answers: bool, twice: bool, write: bool,
    named: bool, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("runs")
    text = "\n".join(map(json.dumps, rows)) + "\n"
    (folder / "a.jsonl").write_text(text)
    if twice:
        (folder / "b.jsonl").write_text(text)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 400)
    words = {"family": family, **more}
    if answers:
        words |= {"answers": ps.AnswerFormat("choice", field=None)}
    where = {"mine": folder} if named and not twice else folder
    by_records = read_by_records(monkeypatch, where, **words)
    with monkeypatch.context() as patch:
        as_columns = taken(patch)
        assert_same(outcome(where, **words), by_records)
        event(f"as columns: {as_columns}")
    if write:
        assert_written_alike(where, by_records, tmp_path_factory.mktemp("out"), monkeypatch, words)


@needs_shared
@pytest.mark.parametrize("path", [
    "openai_batch", "vllm_batch", "own/openai_loop", "own/openai_full", "batch_shapes",
])  # fmt: skip
def test_samples_of_completions(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = SHARED / "samples" / path
    files = [each for each in sorted(folder.rglob("*")) if each.suffix in (".jsonl", ".gz")]
    assert files
    for file in files:
        assert_same(outcome(file, family="item"), read_by_records(monkeypatch, file, family="item"))


@pytest.mark.parametrize("refusal", [None, "", "I cannot"])
@pytest.mark.parametrize("content", [None, "", " ", "Answer: A"])
def test_a_refusal_is_the_response_where_nothing_else_was_said(
    content: str | None, refusal: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = {"role": "assistant", "content": content, "refusal": refusal}
    body = {"id": "c1", "object": "chat.completion", "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}  # fmt: skip
    (tmp_path / "a.jsonl").write_bytes(
        as_lines([{"custom_id": "q1", "response": {"status_code": 200, "body": body}}])
    )
    as_columns = taken(monkeypatch)
    records = ps.read_runs(tmp_path / "a.jsonl", family="item")
    assert as_columns == [True]
    assert_same(records, read_by_records(monkeypatch, tmp_path / "a.jsonl", family="item"))
    assert records.table.column("response").to_pylist() == [content or refusal or None]


# --- odd names and values


ODD = {
    # An index that pandas wrote: a column without a name is no status, no error and no reason to stop.
    "no name": (",item,model,score\nrefused,q1,m,1\nok,q2,m,0\n", {"family": "item"}),
    # Paths that lead to the record, or to an object in it, are no columns of such a name.
    "record": ("record.n,item,model,score\nx,q1,m,1\ny,q2,m,0\n", {"family": "item", "category": "record.n"}),
    "all of it": (",item,model,score\nx,q1,m,1\ny,q2,m,0\n", {"family": "item", "extra": {"told": ""}}),
    # A number that no column can hold.
    "large": ("item,model,score\nq1,m,1\nq2,m,0\n", {"family": "item", "set": {"note": 1 << 63}}),
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_names_and_values_mean_by_columns_what_they_mean_by_records(
    odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, words = ODD[odd]
    (tmp_path / "a.csv").write_text(text)
    names, *rows = (line.split(",") for line in text.splitlines())
    (tmp_path / "a.jsonl").write_bytes(as_lines([dict(zip(names, row, strict=True)) for row in rows]))
    for path in (tmp_path / "a.csv", tmp_path / "a.jsonl"):
        by_records = read_by_records(monkeypatch, path, **words)
        assert_same(outcome(path, **words), by_records)


def test_a_path_to_a_whole_object_is_no_path_to_a_key_without_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"item": f"q{n}", "model": "m", "score": 1, "meta": {"": f"x{n}"}} for n in range(3)]
    (tmp_path / "a.jsonl").write_bytes(as_lines(rows))
    found = outcome(tmp_path / "a.jsonl", family="meta.")
    assert_same(found, read_by_records(monkeypatch, tmp_path / "a.jsonl", family="meta."))
    assert isinstance(found, ps.Records)
    assert found.frame["family"][0] == '{"": "x0"}'


OPTIONS = json.dumps({"A": "red", "B": "blue"})


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("own", "choices", "mapped", "wanted"),
    [
        (OPTIONS, "-", {}, ["A", "B"]),  # without a mapping, letters are compared
        ("[]", "-", {}, ["A", "B"]),
        ("red; blue", "-", {}, ["A", "B"]),
        (OPTIONS, "-", {"options": "options"}, ["red", "blue"]),
        ("a note", OPTIONS, {"options": "choices"}, ["red", "blue"]),
    ],
)
def test_options_are_used_where_they_are_mapped(
    form: str, own: str, choices: str, mapped: dict[str, str], wanted: list[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    rows = [{"item": f"q{n}", "model": "m", "gold": "A", "response": f"Answer: {letter}", "options": own,
             "choices": choices} for n, letter in enumerate("AB")]  # fmt: skip
    path = tmp_path / f"a.{form}"
    if form == "csv":
        pd.DataFrame(rows).to_csv(path, index=False)
    else:
        path.write_bytes(as_lines(rows))
    as_columns = taken(monkeypatch)
    words = {"family": "item", "answers": ps.AnswerFormat("choice", field=None), **mapped}
    records = ps.read_runs(path, **words)
    assert as_columns == [True]
    assert_same(records, read_by_records(monkeypatch, path, **words))
    assert records.frame["answer"].tolist() == wanted
    assert records.frame["score"].tolist() == [1.0, 0.0]
    assert ("options" in records.frame) == (not mapped)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failed_call_gives_no_reply_to_read(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by the search: an answer beside an error passed for a reply, so that all others passed for empty."""
    rows: list[dict[str, Any]] = [
        {"item": "q1", "model": "m", "answer": "A", "status": "error"},
        {"item": "q2", "model": "m", "answer": None, "status": "answered"},
    ]
    (tmp_path / "a.jsonl").write_bytes(as_lines(rows))
    words = {"family": "item", "set": {"gold": "A"}, "answers": ps.AnswerFormat("choice", field=None)}
    found = outcome(tmp_path / "a.jsonl", **words, workers=workers)
    assert "none of 1 records holds one, the first of them a.jsonl:2" in str(found)
    assert_same(found, read_by_records(monkeypatch, tmp_path / "a.jsonl", **words))


def test_calls_that_all_failed_need_no_reply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"item": f"q{n}", "model": "m", "gold": "A", "answer": "A" if n > 5 else None,
             "status": "answered" if n > 5 else "error"} for n in range(9)]  # fmt: skip
    (tmp_path / "a.jsonl").write_bytes(as_lines(rows))
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 200)
    words = {"family": "item", "answers": ps.AnswerFormat("choice", field=None)}
    notes = taken(monkeypatch)
    found = outcome(tmp_path / "a.jsonl", **words)
    assert notes == [True]
    assert_same(found, read_by_records(monkeypatch, tmp_path / "a.jsonl", **words))


# --- keys of their own


def with_keys(number: int, key: str) -> dict[str, Any]:
    return {"item": f"q{number}", "model": "m", "score": 1, "found": {key: 0.5}}


@pytest.mark.parametrize("first", [0, 3000])
def test_keys_of_every_line_are_no_columns(first: int) -> None:
    """A map by document has other keys in each line, and Arrow a cell for every key in every line."""
    rows = [with_keys(n, f"d{n}" if n >= first else "d") for n in range(9000)]
    with pytest.raises(UnusualError, match="very many keys"):
        check_width(as_lines(rows))


@pytest.mark.parametrize("kinds", [1, 50, 1000])
def test_keys_that_lines_share_are_columns(kinds: int) -> None:
    check_width(as_lines([with_keys(n, f"d{n % kinds}") for n in range(9000)]))


@pytest.mark.parametrize(
    "text", [b"", b"\n" * 100, b"{}\n" * 100, b"no json\n" * 100, b"[" * 5000 + b"\n" * 100]
)
def test_the_width_of_what_is_no_table_is_not_told(text: bytes) -> None:
    check_width(text)


def test_a_log_with_keys_of_every_line_is_read_by_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.jsonl").write_bytes(as_lines([with_keys(n, f"d{n}") for n in range(500)]))
    monkeypatch.setattr(json_width, "MOST_CELLS", 100_000)
    notes = taken(monkeypatch)
    found = outcome(tmp_path / "a.jsonl", family="item")
    assert notes == [False]
    assert isinstance(found, ps.Records)
    assert len(found) == 500


# --- what a block cannot tell of its rows


class Level(enum.IntEnum):
    """A whole number of another kind."""

    HIGH = 3


def scored(*cells: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"item": f"q{n}", "model": "m", "score": n % 2} | more for n, more in enumerate(cells)]


UNTOLD: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    # Arrow makes floats of whole numbers that it cannot hold, and of those among fractions.
    "large in an object": (
        scored({"meta": {"n": 2**70}}, {"meta": {"n": 1}}), {"extra": {"n": "meta.n"}}
    ),
    "large among fractions": (
        scored({"meta": {"n": 2**53 + 1}}, {"meta": {"n": 1.5}}), {"extra": {"n": "meta.n"}}
    ),
    "the only fraction is left out": (scored({"n": 1}, {"n": 2.5}, {"n": 3}), {"exclude": "q1"}),
    "the only fraction in an object is left out": (
        scored({"meta": {"n": 1}}, {"meta": {"n": 2.5}}), {"exclude": "q1", "extra": {"n": "meta.n"}}
    ),
    "NaN among whole numbers": (scored({"n": float("nan")}, {"n": 1}), {}),
    "NaN in an object": (
        scored({"meta": {"n": float("nan")}}, {"meta": {"n": 1}}), {"extra": {"n": "meta.n"}}
    ),
    # A key that records lack is no null.
    "a path of what is left out": (scored({}, {"kind": "x"}, {}), {"exclude": "q1", "category": "kind"}),
    "a path in an object of what is left out": (
        scored({}, {"meta": {"kind": "x"}}, {}), {"exclude": "q1", "category": "meta.kind"}
    ),
    "a column called file in some rows": (scored({"file": "x"}, {}), {"category": "file"}),
    "a constant of NumPy": (scored({}, {}), {"set": {"note": np.float64(0.5)}}),
    "a constant of an enumeration": (scored({}, {}), {"set": {"note": Level.HIGH}}),
    "half a surrogate pair as constant": (scored({}, {}), {"set": {"note": "a\ud800"}}),
}  # fmt: skip


@pytest.mark.parametrize("untold", UNTOLD)
@pytest.mark.parametrize("size", [1 << 24, 60])
def test_what_a_block_cannot_tell_is_read_by_records(
    untold: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, words = UNTOLD[untold]
    (tmp_path / "a.jsonl").write_bytes(as_lines(rows))
    monkeypatch.setattr(blocks, "BLOCK_BYTES", size)
    found = outcome(tmp_path / "a.jsonl", family="item", **words)
    assert_same(found, read_by_records(monkeypatch, tmp_path / "a.jsonl", family="item", **words))


def test_bytes_of_which_some_are_text_are_no_column_that_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are read by the thousand, columns by 65,536: bytes are text where all of those read together are."""
    count = 1500
    table = pa.table({
        "item": [f"q{n}" for n in range(count)], "model": ["m"] * count, "score": [1.0] * count,
        "note": pa.array([b"x"] * (count - 1) + [b"\xff"], pa.binary()),
    })  # fmt: skip
    content = io.BytesIO()
    pyarrow.parquet.write_table(table, content)
    (tmp_path / "a.parquet").write_bytes(content.getvalue())
    found = outcome(tmp_path / "a.parquet", family="item")
    assert_same(found, read_by_records(monkeypatch, tmp_path / "a.parquet", family="item"))
    assert isinstance(found, ps.Records)
    assert found.frame["note"].count() == 1000


@pytest.mark.parametrize(
    "cells", [[1, 1, 2.5], [1.0, True, True], ["\ud800", "x", "y"]],
    ids=["a fraction that no record has", "a truth value among fractions", "half a surrogate pair"],
)  # fmt: skip
@pytest.mark.parametrize("column", [{"extra": {"n": "items.n"}}, {"split": "items.n"}], ids=["extra", "word"])
def test_cells_of_several_kinds_beside_columns(
    column: dict[str, Any], cells: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.jsonl").write_bytes(as_lines(scored({}, {})))
    (tmp_path / "items.json").write_text(
        json.dumps([{"item": f"q{n}", "n": cell} for n, cell in enumerate(cells)])
    )
    words = {"items": tmp_path / "items.json", "family": "item", **column}
    found = outcome(tmp_path / "a.jsonl", **words)
    assert isinstance(found, ps.Records)
    assert_same(found, read_by_records(monkeypatch, tmp_path / "a.jsonl", **words))


def test_columns_of_an_item_table_are_named_by_text(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(as_lines(scored({}, {})))
    rows = [{"item": f"q{n}", 1: "x"} for n in range(2)]
    records = ps.read_runs(tmp_path / "a.jsonl", family="item", items=rows, extra={"n": "items.1"})
    assert records.frame["n"].tolist() == ["x", "x"]
    twice = [row | {"1": "y"} for row in rows]
    frame = pd.DataFrame([["q0", "x", "y"], ["q1", "x", "y"]], columns=["item", "1", "1"])
    for items in (twice, frame):
        with pytest.raises(ps.ReadError, match="Column names of the item table must differ, but '1' occur"):
            ps.read_runs(tmp_path / "a.jsonl", family="item", items=items)


def called(*lines: dict[str, Any], bare: bool = False, **body: Any) -> list[dict[str, Any]]:
    """Lines of a log of completions."""
    rows = []
    for number, line in enumerate(lines):
        choice = {"index": 0, "message": {"content": "Answer: A"}, "finish_reason": "stop"}
        told = {"id": f"c{number}", "model": "m", "choices": [choice], **body}
        rows.append({"custom_id": f"q{number}", **(told if bare else {"response": told}), **line})
    return rows


ANSWERS = {"answers": ps.AnswerFormat("choice", field=None), "set": {"gold": "A"}}
CALLS: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "a bare completion with the code of its call": (called({}, {"status_code": 500}, bare=True), {}),
    "a negative count": (called({}, {}, usage={"prompt_tokens": -3}), {}),
    "a text beside the message that is none": (
        called({}, choices=[{"message": {"content": "A"}, "text": 5}]), {}
    ),
    "a body beside the completion in some lines": (
        called({"body": {"model": "x"}}, {}), {"extra": {"who": "body.model"}}
    ),
    "a further score that comes late": (
        called({"prompt": None}, {"prompt": "x"}, {"prompt": "y", "correct": True}), ANSWERS
    ),
    "a further score of what is left out": (called({"correct": True}, {}), {"exclude": "q0", **ANSWERS}),
    "a path to a score of what is left out": (
        called({"meta": {"s": 1}}, {"meta": {}}), {"exclude": "q0", "score": "meta.s"}
    ),
}  # fmt: skip


@pytest.mark.parametrize("calls", CALLS)
def test_completions_that_are_not_plain_are_read_by_records(
    calls: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, words = CALLS[calls]
    (tmp_path / "a.jsonl").write_bytes(as_lines(rows))
    found = outcome(tmp_path / "a.jsonl", family="item", **words)
    assert_same(found, read_by_records(monkeypatch, tmp_path / "a.jsonl", family="item", **words))


def test_a_file_without_rows_is_left_out_in_parts_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a.jsonl").write_bytes(as_lines(scored({}, {})))
    (tmp_path / "runs" / "b.csv").write_text("item,model,score\n")
    words: dict[str, Any] = {"family": "item", "keep_going": True}
    wanted = read_by_records(monkeypatch, tmp_path / "runs", **words)
    assert isinstance(wanted, ps.Records)
    assert_same(streamed(tmp_path / "runs", tmp_path, monkeypatch, **words), saved(wanted, tmp_path))
