"""The fast ways to read give what the general way gives: columns, blocks and processes against single records."""

from __future__ import annotations

import csv
import io
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from conftest import SHARED, needs_shared
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pairstats as ps
from pairstats import schema
from pairstats.answers import markers
from pairstats.errors import PairstatsError
from pairstats.readers import blocks, collect, jsonlines, keys, pieces, progress, replies, workers, written
from pairstats.readers.columns import UnusualError
from pairstats.readers.drafts import Draft
from pairstats.readers.files import find_files

TABLES = SHARED / "samples/plain_tables"
FEW = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip

TEXTS = st.sampled_from(
    ["a", "b", "q1-base", "q2-new", "007", "1e5", "NA", "None", "1.10", " x ", "é", "", "true", "nan", "50%",
     "2020-01-01", "2020-01-01T00:00:00Z", 'say "x"', "a,b", "a;b", "two\nlines", "two\r\nlines", "\u2028",
     "Infinity", "wrong", "C", "1", "0", "0.5", "12", "answered", "error", "no_answer"]
)  # fmt: skip
INTEGERS = st.sampled_from([0, 1, 2, 3, 7, 100, -1, 2**53, 2**53 + 1, 2**63, 2**70])
SMALL = st.integers(0, 3)
REALS = st.sampled_from([0.0, 1.0, 0.5, 0.25, 1.0000000001, 1.5, float("nan"), -0.0, 1e300, 7.0, 1e16])
SHARES = st.sampled_from([0.0, 1.0, 0.5, 0.125, float("nan")])
NESTED = st.sampled_from([{"a": 1, "d": "2020-01-01"}, {"a": 2}, [1, 2], {}, [], {"a": {"b": "x"}}])
NAMES = ("item", "id", "model", "family", "variant", "score", "correct", "answer", "prediction", "gold", "response",
         "status", "confidence", "epoch", "repeat", "input_tokens", "latency_s", "topic", "day", "n", "error",
         "choices", "score_b", "metadata", "Item", "category", "finish_reason", "exception",
         "status_code")  # fmt: skip


def of(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


NUMBERS = of("1", "2", "3.0", "0"), SMALL, of(1, 2, 3), of(1.0, 2.0), of("1", "2")
SCORES = (
    of("1", "0", "0.5"),
    of("correct", "wrong", " TRUE", "nan"),
    SMALL.map(bool),
    SHARES,
    of(0, 1),
    of(0, 0.5),
)
ERRORS = of("", "429 rate limit", "None", "boom"), st.booleans(), of("boom", "x"), of(0, 1, 429), of(0.0, 2.5)
PLAIN = TEXTS, SMALL, SHARES, REALS, st.booleans(), of("a", "b")
FITTING: dict[str, tuple[st.SearchStrategy[Any], ...]] = {
    "model": (of("m", "n"), of("m", "n", "2024-08-06"), of("2024-08-06", "2024-10-01"), SMALL, st.just("m")),
    "status": (of("answered", "ok", "error", "refused", "absent", "Empty", "no_answer"), of("ok", "error")),
    "error": ERRORS, "exception": ERRORS, "status_code": (of(200, 429), of("200", "500"), of(200.0, 503.0)),
    "finish_reason": (of("stop", "length"), of("length", "content_filter", "Refusal", "eos"), of("error", "stop")),
    "response": (of("", " ", "a", "The answer is B"), TEXTS), "answer": (of("", "A", "B"), *PLAIN),
    "score": SCORES, "correct": SCORES, "score_b": (*SCORES, REALS, of(0, 1.5)),
    "confidence": (
        of("0.5", "80", "1", "1.0000000001", "nan", "none"), SHARES, REALS, of(0, 1, 50), of("1", "50%"),
    ),
    "epoch": NUMBERS, "repeat": NUMBERS, "input_tokens": (of("12", "7.0", "100000"), *NUMBERS, of(7.0)),
    "latency_s": (of("0.25", "1e-3", "3"), SHARES, REALS, of("nan", "0.5")),
    "metadata": (NESTED, of({"a": "x"}, {"a": "y"}), of({"a": 1}, {"a": 2.5}, {})),
}  # fmt: skip
"""Values that fit a column by their kinds; other columns take anything plain."""
ODD = st.one_of(TEXTS, INTEGERS, REALS, st.booleans(), st.none())


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows of which most columns hold values of one fitting kind, as tables do."""
    others = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=6))
    always = draw(
        of(["score"], ["answer"], ["score", "family"], ["correct", "response"], ["status", "score"])
    )
    names = draw(st.permutations(list(dict.fromkeys(["item", "model", *always, *others]))))
    odd = draw(st.sampled_from([*[""] * 7, *names]))
    holes = draw(of(False, False, True))
    item = draw(of("q%d-a", "%03d", "%d.0", "q%d", "no %d"))
    number_of = draw(of(int, float, item.__mod__, item.__mod__))
    kinds = {name: draw(st.sampled_from(FITTING.get(name, PLAIN))) for name in names} | {odd: ODD}
    rows = []
    for number in range(draw(st.integers(1, 12))):
        row = {name: draw(kinds[name]) for name in names}
        row["item"] = row["item"] if odd == "item" else number_of(number)
        gaps = (
            draw(st.lists(st.sampled_from(sorted(set(names) - {"item", "model"})), max_size=2))
            if holes
            else []
        )
        null = draw(st.booleans())
        row |= dict.fromkeys(gaps)
        rows.append(row if null else {name: cell for name, cell in row.items() if name not in gaps})
    return rows


@st.composite
def tables_and_words(draw: st.DrawFn) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A table and words of `read_runs`, most of which name what is there."""
    rows = draw(tables())
    there = sorted({name for row in rows for name in row})
    if draw(of(*[False] * 9, True)):
        there = list(NAMES)
    column, path = st.sampled_from(there), st.sampled_from([*there, "source", "file"])
    words: dict[str, Any] = {"family": "family" if "family" in there else draw(of("item", "item", there[0]))}
    if "score" in there and {"score_b", "correct"} & set(there):
        words["score"] = draw(of("score", "correct", "score_b"))
    some = {
        "exclude": of(["q1*"], "*2", ["zzz*", "00*"]),
        "set": of({"condition": "direct"}, {"note": 5}, {"repeat": 1}, {"study": 7}, {"topic": "x"}),
        "score": column,
        "confidence_scale": of(100, {"m": 100, "n": 1, "2024-08-06": 1, "2024-10-01": 2}),
        "keep_going": st.just(True),
        "extra": path.map(lambda name: {"theme": name}),
        "extra ": st.sampled_from([*sorted(set(there) - set(schema.NAMES)), "day"]).map(
            lambda name: {name: name}
        ),
        "item": of("source", ps.extract("source", r":(.*)$"), "item"),
        "variant": st.one_of(path, of(ps.extract("item", r"^(.*)$"), ps.extract("item", r"-(\w)$"))),
        "run": path,
        "repeat": column,
        "gold": path,
        "confidence": column,
        "split": path,
        "category": st.one_of(path, of("metadata.a", "metadata.a.b")),
        "score_range": of((0, 100), (-1, 1)),
        "reader": st.just("table"),
    }
    for name in draw(st.lists(st.sampled_from(sorted(some)), unique=True, max_size=2)):
        words[name.strip()] = draw(some[name])
    return _otherwise_named(draw, rows, words)


def _otherwise_named(
    draw: st.DrawFn, rows: list[dict[str, Any]], words: dict[str, Any]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Call the model or the item by a name that says nothing, or leave the model to be told for all."""
    how = draw(of("", "", "", "sys", "set", "key"))
    if not how or {"model", "item"} & set(words):
        return rows, words
    old = "item" if how == "key" else "model"
    rows = [
        {(how if name == old else name): cell for name, cell in row.items() if how != "set" or name != old}
        for row in rows
    ]
    told: dict[str, Any] = {"set": {"set": {"model": "m"} | words.get("set", {})}}
    return rows, words | told.get(how, {old: how})


def as_lines(rows: list[dict[str, Any]], end: str = "\n") -> bytes:
    return (end.join(json.dumps(row, ensure_ascii=len(rows) % 2 == 0) for row in rows) + end).encode()


def as_csv(rows: list[dict[str, Any]], delimiter: str, quoting: int) -> bytes:
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator="\n")  # type: ignore[arg-type]
    writer.writerow(names)
    writer.writerows([[row.get(name) for name in names] for row in rows])
    return text.getvalue().encode()


def as_parquet(rows: list[dict[str, Any]]) -> bytes | None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    sink = io.BytesIO()
    try:
        table = pa.table({name: [row.get(name) for row in rows] for name in names})
        pyarrow.parquet.write_table(table, sink)
    except (pa.ArrowException, OverflowError):
        return None
    return sink.getvalue()


def read_by_records(monkeypatch: pytest.MonkeyPatch, paths: Any, **words: Any) -> ps.Records | PairstatsError:
    """Read with the general way only."""

    def never(*_: Any) -> Any:
        raise UnusualError("not here")

    with monkeypatch.context() as patch:
        patch.setattr(collect, "read_pieces", never)
        return outcome(paths, **words)


def outcome(paths: Any, **words: Any) -> ps.Records | PairstatsError:
    try:
        return ps.read_runs(paths, **words)
    except PairstatsError as error:
        return error


def assert_same(one: ps.Records | PairstatsError, other: ps.Records | PairstatsError) -> None:
    """Compare rows, types, order, the whole account, or the whole message."""
    if isinstance(one, PairstatsError) or isinstance(other, PairstatsError):
        assert (type(one), str(one)) == (type(other), str(other))
        return
    left, right = (schema.undictionary(each.table).combine_chunks() for each in (one, other))
    assert left.schema.equals(right.schema, check_metadata=True), (left.schema, right.schema)
    assert one.table.schema.equals(other.table.schema)
    assert left.equals(right), (left.to_pylist(), right.to_pylist())
    assert one.ledger.equals(other.ledger), (one.ledger.to_dict("records"), other.ledger.to_dict("records"))
    assert one.left_out.equals(other.left_out)
    assert one.score_range == other.score_range


def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Note, at each reading from now on, whether it was done as columns."""
    notes: list[bool] = []
    before = collect.read_pieces

    def noted(*given: Any) -> Any:
        notes.append(False)
        found = before(*given)
        notes[-1] = True
        return found

    monkeypatch.setattr(collect, "read_pieces", noted)
    return notes


@pytest.mark.parametrize(
    "form", ["jsonl", "windows.jsonl", "csv", "all.csv", "tsv", "parquet", "json", "pretty.json"]
)
@FEW
@given(given_=tables_and_words(), small=st.sampled_from([1 << 25, 200, 60]), twice=st.booleans())
def test_columns_give_what_records_give(
    given_: tuple[list[dict[str, Any]], dict[str, Any]], small: int, twice: bool, form: str,
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    rows, words = given_
    content = {
        "jsonl": lambda: as_lines(rows), "windows.jsonl": lambda: as_lines(rows, "\r\n"),
        "csv": lambda: as_csv(rows, ",", csv.QUOTE_MINIMAL), "all.csv": lambda: as_csv(rows, ";", csv.QUOTE_ALL),
        "tsv": lambda: as_csv(rows, "\t", csv.QUOTE_MINIMAL), "parquet": lambda: as_parquet(rows),
        "json": lambda: json.dumps(rows).encode(),
        "pretty.json": lambda: json.dumps(rows, indent=2, ensure_ascii=False).encode(),
    }[form]()  # fmt: skip
    if content is None:
        return
    folder = tmp_path_factory.mktemp("runs")
    (folder / f"a.{form}").write_bytes(content)
    if twice:
        (folder / f"b.{form}").write_bytes(content)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", small)
    monkeypatch.setattr(blocks, "BLOCK_ROWS", max(1, small // 50))
    assert_same(outcome(folder, **words), read_by_records(monkeypatch, folder, **words))


@pytest.mark.parametrize("mark", ["\n", "\r", "\n\\n", "\\\n", '\\"\n'])
def test_a_line_does_not_end_within_a_string(
    mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    path.write_text(f'[{{"item": "q", "model": "m", "score": 1, "response": "a{mark}b"}}]', newline="")
    wanted = read_by_records(monkeypatch, path, family="item")
    assert "a.json:1" in str(wanted)
    assert_same(outcome(path, family="item"), wanted)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"item": 0, "answer": "a", "latency_s": None}], {"extra": {"theme": "latency_s"}}),
        ([{"item": 0, "score": 1, "epoch": "1"}, {"item": 1, "score": 1}], {}),
        ([{"item": 0, "answer": float("nan")}], {"confidence": "answer"}),
        (
            [{"item": n, "score": 1, "topic": t, "n": 1} for n, t in enumerate((None, "a"))],
            {"set": {"topic": "x"}},
        ),
        ([{"item": 0, "score": 1, "id": float("nan")}], {}),
        (
            [{"item": 0, "score": 1, "category": "a", "said": "b"}, {"item": 1, "score": 1, "category": "a"}],
            {"category": "said", "extra": {"theme": "category"}},
        ),
    ],
    ids=[
        "a number that is nowhere",
        "a repeat from 1 in one row only",
        "NaN of a word",
        "a constant in the place of a column that begins with null",
        "NaN only",
        "a mapping of a mapped column",
    ],
)
def test_what_the_search_found(
    rows: list[dict[str, Any]], words: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a.jsonl").write_bytes(as_lines([row | {"model": "m"} for row in rows]))
    paths, words = tmp_path / "runs", {"family": "item"} | words
    found = outcome(paths, **words)
    assert isinstance(found, ps.Records)
    assert_same(found, read_by_records(monkeypatch, paths, **words))
    parts = streamed(paths, tmp_path, monkeypatch, **words)
    assert isinstance(parts, ps.Records)
    assert parts.frame.equals(found.frame)
    assert parts.ledger.equals(found.ledger)


def test_a_column_that_comes_late_is_no_less_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by the search: a later block with all columns, one of them new, was read without it."""
    rows: list[dict[str, Any]] = [{"item": n, "model": "m", "score": 1} for n in range(9)]
    rows[8]["answer"] = "a"
    (tmp_path / "a.jsonl").write_bytes(as_lines(rows))
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 60)
    found = outcome(tmp_path, family="item")
    assert isinstance(found, ps.Records)
    assert found.frame["answer"].tolist()[8] == "a"


def test_a_further_score_by_extra_is_a_number(tmp_path: Path) -> None:
    """Found by the test above: quoted numbers of a column that `extra` calls a score."""
    (tmp_path / "a.csv").write_text("item,model,score,grade,status\nq1,m,1,0.5,answered\nq2,m,,1,error\n")
    for name in ("score_grade", "score_b"):
        frame = ps.read_runs(tmp_path / "a.csv", family="item", extra={name: "grade"}).frame
        assert frame[name].iloc[0] == 0.5
        assert frame[name].isna().tolist() == [False, True]  # the call failed: nothing was measured
    with pytest.raises(PairstatsError, match=r"score 'score_b' of a.csv:2 must be a number, but is 'q1'"):
        ps.read_runs(tmp_path / "a.csv", family="item", extra={"score_b": "item"})


@FEW
@given(given_=tables_and_words(), kind=st.sampled_from(["choice", "number", "text"]), keep=st.booleans())
def test_replies_scored_again_as_columns(
    given_: tuple[list[dict[str, Any]], dict[str, Any]], kind: Any, keep: bool,
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    rows, words = given_
    replies = [
        "A",
        "Answer: B",
        "I think the answer is C.",
        '{"answer": "b", "confidence": "80%"}',
        "12",
        "",
        None,
    ]
    rows = [row | {"response": replies[n % 7], "gold": "ABC1"[n % 4]} for n, row in enumerate(rows)]
    words = {name: word for name, word in words.items() if name != "score"} | (
        {"score": "score"} if keep else {}
    )
    folder = tmp_path_factory.mktemp("runs")
    (folder / "a.jsonl").write_bytes(as_lines(rows))
    words["answers"] = ps.AnswerFormat(kind)
    assert_same(outcome(folder, **words), read_by_records(monkeypatch, folder, **words))


def lines_of(count: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"item": f"q{n // 2:04}", "model": "ab"[n % 2], "gold": "AB"[n % 2],
         "metadata": {"family_id": f"f{n // 8}"},
         "response": f"Because {n}.\nAnswer: {'ABC'[n % 3]}", **more}
        for n in range(count)
    ]  # fmt: skip


NESTED_WORDS = {"family": "metadata.family_id", "answers": ps.AnswerFormat("choice", field=None)}


@pytest.mark.parametrize("options", [None, "map", "list", "mixed"])
def test_options_of_an_item_are_given_to_the_format(
    options: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {"A": "red", "B": "blue", "C": "pink"}
    kinds = {"map": texts, "list": list(texts.values()), "mixed": {"A": 1, "B": 2.5, "C": 3}}
    rows = lines_of(40) if options is None else lines_of(40, options=kinds[options])
    if options == "map":
        rows[3]["options"] = {"C": "x", "A": "y", "B": "z", "D": "w"}
    (tmp_path / "a.jsonl").write_bytes(as_lines(rows))
    words = NESTED_WORDS if options is None else {**NESTED_WORDS, "options": "options"}
    notes = taken(monkeypatch)
    fast = outcome(tmp_path, **words)
    assert notes == [options != "mixed"]
    assert_same(fast, read_by_records(monkeypatch, tmp_path, **words))
    if options == "map":
        assert isinstance(fast, ps.Records)
        assert set(fast.frame["answer"]) == {"red", "blue", "pink", "y"}


def mixed_replies(count: int) -> list[dict[str, Any]]:
    """Replies, states, keys and confidences in all combinations that a table may hold."""
    chosen = random.Random(3)
    replies = [
        "Answer: B", "So.\nAnswer: B", "It is not the\nAnswer: B", "<think>A</think>\nAnswer: B", "B", "", None,
        '{"answer": "B", "confidence": "80%"}', '{"answer": "B", "confidence": 0.25}', "I cannot say.",
        '{"answer": "A", "confidence": 70, "why": "of all that was said here this is the one that is left"}',
    ]  # fmt: skip
    return [
        {"item": f"q{n}", "model": "ab"[n % 2], "gold": chosen.choice("AB"), "response": chosen.choice(replies),
         "answer": chosen.choice(["A", "b", None]),
         "confidence": chosen.choice([None, None, 0.5, 2.0, float("nan")]),
         "status": chosen.choice(["answered", "answered", "refused", "error", "absent", "truncated"]),
         "reason": chosen.choice(["max_tokens", "context", "time_limit", "stop", None]),
         "options": {"A": "red", "B": chosen.choice(["blue", "pink"])}}
        for n in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize("options", [None, "options"])
@pytest.mark.parametrize("field", [None, "answer"])
@pytest.mark.parametrize(("score", "confidence"), [(None, None), ("score", None), (None, "confidence")])
def test_rows_that_are_alike_are_scored_once(
    options: str | None, field: str | None, score: str | None, confidence: str | None,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    rows = [row | ({} if score is None else {"score": n % 2}) for n, row in enumerate(mixed_replies(600))]
    for row in rows:
        row["confidence"] = row["confidence"] if confidence else None
    (tmp_path / "a.jsonl").write_bytes(as_lines(rows))
    words: dict[str, Any] = {"family": "item", "answers": ps.AnswerFormat(field=field)}
    words |= {name: value for name, value in (("options", options), ("score", score)) if value is not None}
    notes = taken(monkeypatch)
    fast = outcome(tmp_path, **words, confidence_scale={"a": 1, "b": 100})
    assert notes == [True]
    assert_same(fast, read_by_records(monkeypatch, tmp_path, **words, confidence_scale={"a": 1, "b": 100}))
    assert isinstance(fast, ps.Records)
    assert fast.frame["confidence"].notna().sum() > (20 if field or confidence else -1)
    assert fast.frame["status"].nunique() >= 6


@pytest.mark.parametrize(
    "fault", [{"gold": None}, {"gold": "none of these"}, {"options": {"A": "x", "B": "X"}}]
)
def test_a_fault_of_rows_that_are_alike_names_them_all(
    fault: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = lines_of(60, options={"A": "red", "B": "blue", "C": "pink"})
    rows = [row | (fault if n % 20 == 15 else {}) for n, row in enumerate(rows)]
    (tmp_path / "a.jsonl").write_bytes(as_lines(rows))
    words = NESTED_WORDS | {"options": "options"}
    monkeypatch.setattr(collect, "read_whole", None)
    with pytest.raises(TypeError):  # as nothing but columns reads it
        ps.read_runs(tmp_path, **words)
    monkeypatch.undo()
    wanted = read_by_records(monkeypatch, tmp_path, **words)
    assert isinstance(wanted, PairstatsError)
    with monkeypatch.context() as patch:
        patch.setattr(written, "STREAM_BYTES", 0)
        with pytest.raises(PairstatsError) as raised:
            written.write_runs(tmp_path, tmp_path / "b.parquet", workers=1, **words)
    assert str(raised.value) == str(wanted)
    assert "a.jsonl:16" in str(wanted) or "'X'" in str(wanted)


def test_options_that_are_equal_and_not_the_same_are_told_apart() -> None:
    """1, 1.0 and True are equal in Python, and True is another text."""
    texts: list[Any] = [1, True, 1.0, "1", "true"]
    drafts = [
        Draft(0, f"a:{n}", "", {"status": "answered", "response": "A", "gold": "A", "options": {"A": text}}, {}, {})
        for n, text in enumerate(texts)
    ]  # fmt: skip
    replies.rescore(drafts, ps.AnswerFormat(field=None), keep_score=False, with_options=True)
    assert [draft.fields["answer"] for draft in drafts] == ["1", "true", "1", "1", "true"]
    assert {draft.fields["score"] for draft in drafts} == {1.0}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_of_one_file_in_several_tasks(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pieces of one file, cut anywhere between lines, are read with the numbers of their lines."""
    rows = lines_of(400)
    for number, row in enumerate(rows):
        row |= {"b": None, "a": None} if number < 200 else {"a": number, "b": number / 2}
    (tmp_path / "a.jsonl").write_bytes(as_lines(rows, end))
    monkeypatch.setattr(pieces, "SPAN_BYTES", 3000)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1000)
    reading = collect.asked(tmp_path, NESTED_WORDS)
    tasks = list(pieces.tasks_of(*reading, by_record=True, spans=True))
    assert len(tasks) > 10
    found = [pieces.read_piece(task, reading[1], lambda part: part) for task in tasks]
    parts, tallies = pieces.gathered(found, *reading)
    table, places = collect.join(parts, tallies, (0, 1), ())
    slow = read_by_records(monkeypatch, tmp_path, **NESTED_WORDS)
    assert isinstance(slow, ps.Records)
    account = collect.ledger(collect.counted(table, places, 1), tallies), collect.left_out_frame(tallies)
    assert_same(ps.Records(table, *account), slow)
    assert table.column("source")[399].as_py() == "a.jsonl:400"


def test_the_number_of_processes_changes_nothing(tmp_path: Path) -> None:
    for name in "abc":
        rows = [row | {"model": name + row["model"]} for row in lines_of(60)]
        (tmp_path / f"{name}.jsonl").write_bytes(as_lines(rows))
    (tmp_path / "log.json").write_text("[]")
    one, two = (ps.read_runs(tmp_path, **NESTED_WORDS, workers=workers) for workers in (1, 2))
    assert_same(one, two)
    assert len(two) == 180


def test_of_faults_in_several_processes_the_first_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This process comes to its own files before others have started."""
    for place, name in enumerate("abcd"):
        rows = [row | {"model": name + row["model"]} for row in lines_of(20)]
        rows = [row | {"gold": "nothing" if place < 2 else "A"} for row in rows]
        (tmp_path / f"{name}.jsonl").write_bytes(as_lines(rows))
    monkeypatch.setattr(written, "STREAM_BYTES", 0)
    with pytest.raises(PairstatsError, match=r"The key of a.jsonl:1 must be"):
        written.write_runs(tmp_path, tmp_path / "out.parquet", workers=2, **NESTED_WORDS)


def test_a_script_without_a_guard_is_not_run_again_by_processes(tmp_path: Path) -> None:
    """New processes of the spawn kind run the main module, which would read, and start processes, once more."""
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_bytes(
            as_lines([r | {"model": name + r["model"]} for r in lines_of(20)])
        )
    script = tmp_path / "script.py"
    script.write_text(
        "import pairstats as ps\nprint('started')\n"
        f"print(len(ps.read_runs({str(tmp_path / '*.jsonl')!r}, family='item', workers=2)))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == ["started", "40"]


@pytest.mark.parametrize("workers", [0, -1, True, 1.5, "2"])
def test_workers_must_be_a_number(workers: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("item,model,score\nq,m,1\n")
    with pytest.raises(PairstatsError, match="`workers` must be a whole number of at least 1"):
        ps.read_runs(tmp_path, family="item", workers=workers)


def test_processes_are_started_where_that_is_worth_their_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow reads flat tables on all cores by itself, so that half of the work with replies is left to share."""
    (tmp_path / "a.jsonl").write_bytes(as_lines(lines_of(40)))
    size = (tmp_path / "a.jsonl").stat().st_size
    monkeypatch.setattr(workers, "cores", lambda: 7)
    for parallel_bytes, answers, wanted in ((0.6, True, 1), (0.4, True, 7), (0.4, False, 1)):
        monkeypatch.setattr(workers, "PARALLEL_BYTES", parallel_bytes * size)
        words = NESTED_WORDS if answers else {"family": "item"}
        files, reading = collect.asked(tmp_path, words)
        assert workers.number_of_workers(files, reading, None) == wanted
        assert workers.number_of_workers(files, reading, 2) == 2


def streamed(
    paths: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, **words: Any
) -> ps.Records | PairstatsError:
    """Read by way of a file that is written in parts."""
    with monkeypatch.context() as patch:
        patch.setattr(written, "STREAM_BYTES", 0)
        patch.setattr(pieces, "CHUNK", 7)
        patch.setattr(blocks, "BLOCK_BYTES", 500)
        patch.setattr(pieces, "SPAN_BYTES", 2000)
        try:
            return ps.load_records(written.write_runs(paths, folder / "streamed.parquet", workers=1, **words))
        except PairstatsError as error:
            return error


def saved(records: ps.Records | PairstatsError, folder: Path) -> ps.Records | PairstatsError:
    return (
        records
        if isinstance(records, PairstatsError)
        else ps.load_records(records.save(folder / "saved.parquet"))
    )


@FEW
@given(given_=tables_and_words(), twice=st.booleans())
def test_a_file_written_in_parts_is_the_file_of_the_records(
    given_: tuple[list[dict[str, Any]], dict[str, Any]], twice: bool,
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    rows, words = given_
    folder, out = tmp_path_factory.mktemp("runs"), tmp_path_factory.mktemp("out")
    (folder / "a.jsonl").write_bytes(as_lines(rows))
    if twice:
        (folder / "b.jsonl").write_bytes(as_lines(rows))
    one, other = streamed(folder, out, monkeypatch, **words), outcome(folder, **words)
    if isinstance(other, PairstatsError):  # of several faults, the first of a part comes first
        assert isinstance(one, PairstatsError)
        return
    assert_same(one, saved(other, out))


def test_a_key_that_occurs_twice_is_refused_with_both_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = lines_of(300)
    rows[251] = rows[17] | {"response": "Answer: C", "note": "again"}
    (tmp_path / "a.jsonl").write_bytes(as_lines(rows))
    error = streamed(tmp_path, tmp_path, monkeypatch, **NESTED_WORDS)
    assert isinstance(error, PairstatsError)
    assert "a.jsonl:18 and a.jsonl:252 are both" in str(error)
    assert_same(error, read_by_records(monkeypatch, tmp_path, **NESTED_WORDS))
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


@pytest.mark.parametrize("column", ["item", "family", "model"])
def test_two_spellings_in_different_parts_are_refused(
    column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"item": f"q{n}", "model": "m", "family": "f", "score": 1} for n in range(100)]
    rows[90][column] = f"{rows[3][column]}\u200b"
    (tmp_path / "a.jsonl").write_bytes(as_lines(rows))
    error = streamed(tmp_path, tmp_path, monkeypatch)
    assert isinstance(error, ps.SchemaError)
    assert f"'{column}' must spell a name in one way" in str(error)


def test_digests_of_keys_are_those_of_all_columns() -> None:
    """Every pair of columns may hold the same words in exchange, and that is another key."""
    base = dict(zip(schema.KEY, "abcdefghi", strict=True))
    swaps = [base] + [
        base | {one: base[two], two: base[one]} for one in schema.KEY for two in schema.KEY if one < two
    ]
    table = pa.table({name: [row[name] for row in swaps] for name in schema.KEY})
    one, two = keys.digests(table)
    assert len(set(one.tolist())) == len(set(two.tolist())) == len(swaps)
    assert not set(one.tolist()) & set(two.tolist())


def test_keys_on_disk_find_what_sorting_finds(tmp_path: Path) -> None:
    chosen = random.Random(1)
    items = [chosen.randrange(3000) for _ in range(4000)]
    found = keys.KeysOnDisk(tmp_path)
    for first in range(0, 4000, 700):
        part = items[first : first + 700]
        columns = {**{name: [""] * len(part) for name in schema.KEY}, "item": [str(item) for item in part]}
        found.add(pa.table(columns))
    first_of: dict[int, int] = {}
    wanted = [
        (first_of[item], row) for row, item in enumerate(items) if first_of.setdefault(item, row) != row
    ]
    assert sorted(found.twice()) == sorted(wanted)


@needs_shared
@pytest.mark.parametrize(
    "path", sorted(TABLES.glob("*.*")) if TABLES.is_dir() else [], ids=lambda path: path.name
)
def test_samples_of_plain_tables(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = {"family": "item"}
    assert_same(outcome(path, **words), read_by_records(monkeypatch, path, **words))


@needs_shared
@pytest.mark.parametrize("name", ["gsm8k_long.csv", "gsm8k_long.parquet", "gsm8k_long_first100.jsonl"])
def test_long_samples_are_read_as_columns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = taken(monkeypatch)
    assert len(ps.read_runs(TABLES / name)) in (400, 5276)
    assert notes == [True]


def test_an_ordinary_table_is_read_as_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"item": n, "model": "m", "score": n % 2, "confidence": 0.5, "d": "2020-01-01"} for n in range(50)
    ]
    rows[7]["score"] = float("nan")
    (tmp_path / "a.jsonl").write_bytes(as_lines(rows))
    (tmp_path / "b.csv").write_bytes(as_csv([r | {"model": "n", "d": 'say "x"\nthen'} for r in rows], ",", 0))
    notes = taken(monkeypatch)
    records = ps.read_runs(tmp_path, family="item")
    assert notes == [True]
    assert records.ledger["nan_to_null"].tolist() == [1, 1]
    assert records.table.column("d")[0].as_py() == "2020-01-01"
    assert records.table.column("source")[51].as_py() == "b.csv:4"  # the first record takes lines 2 and 3


def test_progress_tells_records_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("x" * 1000)
    bars: list[Any] = []

    class Bar:
        def add_task(self, *_: Any, **told: Any) -> int:
            bars.append(told)
            return 0

        def update(self, _: int, **told: Any) -> None:
            bars.append(told)

        def stop(self) -> None:
            bars.append("stopped")

    clock = iter([0.0, 0.5, 2.0])
    monkeypatch.setattr(progress, "_bar", Bar)
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True, raising=False)
    files = find_files(tmp_path)
    with progress.progress_of(files, None) as bar:  # half a second: nothing yet
        assert not bars
        bar.update(0, 5000, 400)
    assert bars[0]["total"] == 1000
    assert (bars[1]["completed"], bars[1]["speed"]) == (400, "2,500 records/s")
    assert bars[-1] == "stopped"


@pytest.mark.parametrize("write", [False, True])
def test_progress_moves_within_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: bool
) -> None:  # fmt: skip
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"item": "q{n}", "model": "m", "score": 1}}\n' for n in range(6)))
    told: list[tuple[int, int, int]] = []
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 70)
    monkeypatch.setattr(written, "STREAM_BYTES", 0)
    monkeypatch.setattr(progress.Progress, "update", lambda _, *at: told.append((*at, 0)[:3]))
    if write:
        written.write_runs(path, tmp_path / "r.parquet", family="item")
    else:
        ps.read_runs(path, family="item")
    assert [at for at in told if at[0] == 0 and at[1]] == [(0, 2, 82), (0, 4, 164), (0, 6, 246)]
    assert path.stat().st_size == 246


def test_no_progress_without_a_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("item,model,score\nq,m,1\n")
    ps.read_runs(tmp_path, family="item")
    assert capfd.readouterr().err == ""


BROKEN_JSON = [
    b'{"a":1,"a":2}', b'{"a":1,"a":2,"b" :3}', b'{"a":"\\":","a":1}', b'{"x":[{"k":1,"k":2}]}', b'{"a":NaN}',
    b'{"a":"\\ud800"}', b'{"n":' + b"1" * 5000 + b"}", b'{"a":1}{', b'{"a":01}', b'{"a":"\xff"}', b'{"a":1e400}',
]  # fmt: skip


@pytest.mark.parametrize("text", [*BROKEN_JSON, b'{"a":{"b":"\\":"},"c":[1,{"d":null}]}', b'{"a" : 1}'])
def test_the_fast_parser_agrees_with_the_strict_one(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def parsed() -> str:
        try:
            return repr(jsonlines.parse(text, "x"))
        except PairstatsError as error:
            return str(error)

    fast = parsed()
    monkeypatch.setattr(jsonlines, "_quickly", lambda _: None)
    assert fast == parsed()


MARKS = st.sampled_from(
    ["answer", "Answer", "final", "the", "no", "wrong", "unless", "whether", "is", ":", " ", "  ", "\n", "correct",
     "not", "if", "\\boxed{", "B}", "####", "#####", "A", "(B)", "choice", "option", "=", "**",
     "incorrect the correct final", "x" * 70, "\u0130", "an\u017fwer"]
)  # fmt: skip


@settings(max_examples=400)
@given(words=st.lists(MARKS, max_size=14))
def test_markers_are_found_around_their_words(words: list[str]) -> None:
    text = " ".join(words)
    everywhere = [match.span() for match in markers._MARKER.finditer(text)]
    assert [match.span() for match in markers._markers_from_the_end(text)] == everywhere[::-1]


def test_a_type_is_told_by_the_parts_that_hold_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"item": n, "score": 1, "meta": {"x": None if n < 6 else n}} for n in range(9)]
    (tmp_path / "a.jsonl").write_bytes(as_lines([row | {"model": "m"} for row in rows]))
    words: dict[str, Any] = {"family": "item", "extra": {"x": "meta.x"}}
    wanted = ps.read_runs(tmp_path / "a.jsonl", **words).table.column("x")
    assert pa.types.is_int64(wanted.type)
    monkeypatch.setattr(pieces, "CHUNK", 3)
    monkeypatch.setattr(pieces, "flat_form", lambda *_: "")  # a chunk of records at a time
    monkeypatch.setattr(written, "STREAM_BYTES", 0)
    path = written.write_runs(tmp_path / "a.jsonl", tmp_path / "r.parquet", workers=1, **words)
    assert ps.load_records(path).table.column("x").equals(wanted)


def test_what_is_noted_of_a_file_in_parts_is_noted_of_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = ("yes", 1, "no", 0, None)
    rows = [
        {"item": f"q{n % 30}", "model": "ab"[n >= 30], "fam": f"f{n % 30 if n < 55 else n}",
         "response": "A", "score": said[n % 5], "confidence": (0.5, 95)[n % 2]}
        for n in range(60)
    ]  # fmt: skip
    (tmp_path / "a.jsonl").write_bytes(as_lines(rows))
    words: dict[str, Any] = {"family": "fam", "exclude": ["zz*"], "confidence_scale": 100.0}
    wanted = ps.read_runs(tmp_path / "a.jsonl", **words)
    assert [note.split()[0] for note in wanted.notes] == ["12", "5"]
    assert "30 stated between 0 and 1, 30 above 1" in str(wanted.ledger["note"].item())
    found = streamed(tmp_path / "a.jsonl", tmp_path, monkeypatch, **words)
    assert isinstance(found, ps.Records)
    outline = written.outline(tmp_path / "streamed.parquet")
    assert found.summary() == outline.summary() == wanted.summary()


def test_a_further_score_that_is_named_keeps_its_range_in_parts_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.jsonl").write_bytes(
        as_lines([{"item": n, "model": "m", "score": 1, "other": n} for n in range(9)])
    )
    words: dict[str, Any] = {"family": "item", "extra": {"score_other": "other"}}
    for read in (outcome(tmp_path, **words), streamed(tmp_path, tmp_path, monkeypatch, **words)):
        assert isinstance(read, PairstatsError)
        assert "'score_other' must lie in [0, 1]" in str(read)
