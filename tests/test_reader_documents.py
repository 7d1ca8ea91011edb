"""Documents that are one JSON value: read element by element, as if they were read as a whole."""

from __future__ import annotations

import gzip
import json
import random
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from conftest import SHARED, needs_shared
from hypothesis import given
from hypothesis import strategies as st
from peaks import needs_status, peak_of

import pairstats as ps
from pairstats import schema
from pairstats.errors import ReadError
from pairstats.readers import arrays, documents, helm_index, inspect, pieces, written, zipped
from pairstats.readers.base import RunFile
from pairstats.readers.documents import Document, open_document
from pairstats.readers.jsonlines import parse
from pairstats.readers.promptfoo_attempts import Attempts, content, description, failed, prompt, provider
from pairstats.readers.rowlog import content_id
from pairstats.readers.splitting import Splitter
from pairstats.readers.written import write_runs

Json = dict[str, Any]
PATHS = (
    (),
    ("results",),
    ("results", "results"),
    ("samples",),
    ("request_states",),
    ("subruns",),
    ("outputs",),
)
SMALL = [
    "[]", "[ ]", "[1, 2]", '[{"a": "]\\\\\\"["}, [[], {}], "\\\\"]', '{"results": {"results": [1, {}], "z": [2]}}',
    '{"results": [1], "samples": [[2]], "x": {"results": [3]}}', '\ufeff[{"a": "\\u0041\\ud800"}, NaN, -0.0]',
    '{"res\\u0075lts": [1, 2]}', '{"results": null, "results": []}', '{"results": [1], "results": [2]}',
    "[12345678901234567890123, 1e999]", '[{"a": 1, "a": 2}]', "[1,]", "[,1]", "[1,,2]", "[1}", "[1] 2", "[\ufeff1]",
    '{"results": [1, 2}', '{"results": ["a', '{"results": [tru]}', "[1 2]", '{"a": 1, "results": [1], }', "3", "",
]  # fmt: skip
INSERTED = (
    b"null",
    b"NaN",
    b'"',
    b"}",
    b"[",
    b"]",
    b"{}",
    b",",
    b":",
    b"\\",
    b"\xff",
    b"\0",
    b"\xef\xbb\xbf",
    b"9" * 5000,
)


def taken_apart(path: Path, chunk: int) -> Any:
    """Value of a document that was read in pieces of so many bytes, put together again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "CHUNK", chunk)
        documents._opened.cache_clear()
        opened = open_document(RunFile(path, path.name), *PATHS)
        value = opened.head
        for where, count in opened.counts.items():
            found = [each for _, each in opened.values(where)]
            assert len(found) == count
            if not where:
                value = found or value
            elif found:
                inner = value
                for key in where[:-1]:
                    inner = inner[key]
                inner[where[-1]] = found
    return value


def as_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def assert_as_a_whole(content: bytes, folder: Path, chunk: int) -> bool:
    """Read in pieces and as a whole: both refuse, or both give the same; return whether they gave anything."""
    path = folder / "a.json"
    path.write_bytes(content)
    try:
        whole = as_text(parse(content, "a.json"))
    except ReadError:
        with pytest.raises(ReadError, match=r"a\.json"):
            taken_apart(path, chunk)
        return False
    assert as_text(taken_apart(path, chunk)) == whole
    return True


def damaged(content: bytes, rng: random.Random) -> bytes:
    one, two = sorted(rng.randrange(len(content)) for _ in range(2))
    kind = rng.choice(["cut", "drop", "insert", "flip"])
    if kind == "cut":
        return content[:two]
    if kind == "drop":
        return content[:one] + content[min(two, one + rng.choice((1, 2, 50, 10**9))) :]
    if kind == "insert":
        return content[:one] + rng.choice(INSERTED) + content[one:]
    changed = bytearray(content)
    changed[one] = rng.choice((rng.randrange(256), *b'"\\[]{},: '))
    return bytes(changed)


@pytest.mark.parametrize("text", SMALL)
def test_pieces_give_what_the_whole_gives(tmp_path: Path, text: str) -> None:
    for chunk in (1, 2, 3, 7, 1000):
        assert_as_a_whole(text.encode(), tmp_path, chunk)


def test_damage_is_refused_as_in_the_whole(tmp_path: Path) -> None:
    rng = random.Random(1)
    for text in SMALL[:7]:
        for _ in range(60):
            assert_as_a_whole(damaged(text.encode(), rng), tmp_path, rng.choice((1, 3, 100)))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
)


@given(st.lists(VALUES, max_size=6), st.sampled_from(PATHS), st.integers(1, 40), st.sampled_from([None, 1]))
def test_any_list_is_taken_apart(
    tmp_path_factory: pytest.TempPathFactory,
    values: list[Any],
    where: tuple[str, ...],
    chunk: int,
    indent: int | None,
) -> None:
    document: Any = values
    for key in reversed(where):
        document = {"before": values, key: document, "behind": {"samples": 1}}
    text = json.dumps(document, indent=indent, ensure_ascii=chunk % 2 == 0).encode("utf-8", "surrogatepass")
    assert_as_a_whole(text, tmp_path_factory.mktemp("any"), chunk)


@given(st.text(alphabet='\\"[]{},a', max_size=30), st.integers(1, 5))
def test_strings_are_passed_over_whatever_is_in_them(text: str, size: int) -> None:
    inside = (json.dumps(text) + ", 1]").encode()
    splitter, found, closed = Splitter(), [], False
    for place in range(0, len(inside), size):
        ends, closed = splitter.feed(inside[place : place + size])
        found += [place + end for end in ends]
    assert (found, closed) == ([len(inside) - 4, len(inside) - 1], True)


def samples() -> list[Path]:
    found = (SHARED / "samples").rglob("*.json")
    return sorted(path for path in found if 0 < path.stat().st_size <= 500_000)


@needs_shared
@pytest.mark.parametrize("shard", range(4))
def test_every_sample_in_pieces_is_the_sample(tmp_path: Path, shard: int) -> None:
    mine = samples()[shard::4]
    read = 0
    for path in mine:
        rng, content = random.Random(path.name), path.read_bytes()
        read += assert_as_a_whole(content, tmp_path, 1 << 12)
        for _ in range(2):
            assert_as_a_whole(damaged(content, rng), tmp_path, rng.choice((997, 1 << 20)))
    assert read > len(mine) / 2


# Readers
def promptfoo(*results: Any) -> str:
    return json.dumps({"evalId": "e", "results": {"version": 3, "results": list(results)}, "config": {}})


def result(number: int, **more: Any) -> Json:
    return {
        "id": f"r{number}", "testIdx": number, "promptIdx": 0, "success": True, "namedScores": {"s": 1},
        "provider": "m", "vars": {"q": f"q{number}"}, "response": {"output": f"reply {number}"}, **more,
    }  # fmt: skip


def sample(number: int, **more: Any) -> Json:
    output = {"choices": [{"message": {"content": f"reply {number}"}, "stop_reason": "stop"}]}
    return {"id": f"q{number}", "epoch": 1, "scores": {"s": {"value": "C"}}, "output": output, **more}


HEADER: Json = {"version": 2, "status": "success", "eval": {"task": "t", "task_id": "x", "model": "m"}}


def log(*found: Any) -> str:
    return json.dumps({**HEADER, "samples": list(found)})


def run(number: int, **more: Any) -> Json:
    says = [("USER", "User", f"q{number}"), ("ASSISTANT", "m", f"reply {number}")]
    contents = [{"parts": [{"text": t}], "role": f"CONTENT_ROLE_{r}", "senderName": w} for r, w, t in says]
    chat = {"id": f"c{number}", "requests": [{"contents": contents, "metrics": {"inputTokens": 1}}]}
    return {
        "taskVersion": {"name": f"t{number}"}, "modelVersion": {"slug": "m"}, "conversations": [chat],
        "state": "BENCHMARK_TASK_RUN_STATE_COMPLETED", "results": [{"booleanResult": True}], **more,
    }  # fmt: skip


def merged(*subruns: Any) -> str:
    return json.dumps({**run(0), "conversations": [], "subruns": list(subruns)})


def row(number: int, **more: Any) -> Json:
    return {"item": f"q{number}", "model": "m", "score": 1, "response": f"reply {number}", **more}


def table(*rows: Any) -> str:
    return json.dumps(list(rows))


def stats(number: int, **more: Any) -> Json:
    named = {"name": {"name": "s", "split": "test"}, "count": 1, "sum": 1, "mean": 1.0}
    return {"instance_id": f"q{number}", "train_trial_index": 0, "stats": [named], **more}


DOCUMENTS: dict[str, tuple[str, Callable[..., str], Callable[..., Json], str, Json]] = {
    "promptfoo": ("o.json", promptfoo, result, "results.results[1]", {}),
    "inspect": ("l.json", log, sample, "samples[1]", {}),
    "kaggle": ("k.run.json", merged, run, "subruns[1]", {"item": "taskVersion.name"}),
    "table": ("t.json", table, row, "2", {}),
    "helm": ("per_instance_stats.json", table, stats, "1", {"set": {"model": "m"}}),
}


@pytest.fixture(params=DOCUMENTS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def in_small_pieces(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(documents, "CHUNK", 50)
    patch.setattr(arrays, "HELD_BYTES", 0)
    patch.setattr(pieces, "CHUNK_BYTES", 1)
    patch.setattr(written, "STREAM_BYTES", 0)
    documents._opened.cache_clear()


def assert_same(one: ps.Records, other: ps.Records) -> None:
    left, right = (schema.undictionary(each.table).combine_chunks() for each in (one, other))
    assert left.equals(right)
    assert one.ledger.equals(other.ledger)
    assert one.left_out.equals(other.left_out)


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_small_pieces_give_the_same_records(
    tmp_path: Path, kind: str, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, made, record, _, words = DOCUMENTS[kind]
    text = made(*(record(number) for number in range(1, 6)), *([3] if kind != "kaggle" else []))
    content = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}[ending](text.encode())
    path = tmp_path / (name + ending)
    path.write_bytes(content)
    options: Any = {"family": "item", "keep_going": True, **words}
    before = ps.read_runs(path, **options)
    assert len(before) == 5
    in_small_pieces(monkeypatch)
    assert_same(before, ps.read_runs(path, **options))
    assert_same(before, ps.load_records(write_runs(path, tmp_path / "r.parquet", **options)))


@pytest.mark.parametrize("small", [False, True])
def test_a_broken_record_is_named_and_no_record_is_read(
    tmp_path: Path, kind: str, small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, made, record, where, words = DOCUMENTS[kind]
    path = tmp_path / name
    path.write_text(made(record(1), record(2), record(3)).replace("q2" if kind != "kaggle" else "t2", '"q2"'))
    if small:
        in_small_pieces(monkeypatch)
    for keep_going in (False, True):
        with pytest.raises(ReadError) as caught:
            ps.read_runs(path, family="item", keep_going=keep_going, **words)
        assert f"{name}:{where}" in str(caught.value)


def test_a_record_that_is_too_long_is_named(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, made, record, where, words = DOCUMENTS[kind]
    path = tmp_path / name
    path.write_text(made(record(1), record(2, blob="x" * 20_000), record(3)))
    monkeypatch.setattr(documents, "LARGEST_RECORD", 10_000)
    place = f"{name}:[1]" if where.isdecimal() else f"{name}:{where}"
    for chunk in (100, 1 << 20):
        monkeypatch.setattr(documents, "CHUNK", chunk)
        documents._opened.cache_clear()
        with pytest.raises(ReadError) as caught:
            ps.read_runs(path, family="item", **words)
        assert f"{place} must have at most 0 MiB" in str(caught.value)


def test_what_is_outside_the_list_is_bounded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "o.json"
    path.write_text(promptfoo(result(1)).replace('"config": {}', '"config": "' + "x" * 20_000 + '"'))
    monkeypatch.setattr(documents, "LARGEST_RECORD", 10_000)
    with pytest.raises(ReadError, match=r"o\.json, outside its list of records, must have at most"):
        ps.read_runs(path, family="item")


def test_version_and_totals_behind_the_results_are_found(tmp_path: Path) -> None:
    content = json.loads(promptfoo(*(result(number) for number in range(3))))
    content["results"]["stats"] = {"successes": 5, "failures": 0, "errors": 0}
    path = tmp_path / "o.json"
    path.write_text(json.dumps({**content, "metadata": {"promptfooVersion": "0.9"}}))
    ledger = ps.read_runs(path, family="item").ledger
    assert ledger["version"].tolist() == ["0.9, results version 3"]
    assert "its totals count 5 results, but the file holds 3" in str(ledger.iloc[0].to_dict())


def reference(results: list[Json]) -> dict[int, tuple[int, int]]:
    """Repeat and attempts of the results that become records, by grouping in plain words."""
    calls: dict[Any, list[int]] = defaultdict(list)
    for number, each in enumerate(results):
        calls[(each["testIdx"], prompt(each)) if "testIdx" in each else number].append(number)
    tests: dict[str, dict[int, list[int]]] = defaultdict(dict)
    tried = {}
    for call in calls.values():
        kept = [number for number in call if not failed(results[number])] or call[-1:]
        first = results[kept[0]]
        question = content_id(prompt(first), provider(first), description(first), content(first))
        tests[question][first.get("testIdx", kept[0])] = kept
        tried |= dict.fromkeys(kept, len(call) - len(kept) + 1)
    return {
        number: (repeat, tried[number])
        for found in tests.values()
        for repeat, test in enumerate(sorted(found))
        for number in found[test]
    }


RESULTS = st.fixed_dictionaries(
    {"testIdx": st.integers(0, 3), "promptIdx": st.integers(0, 1), "failureReason": st.sampled_from([0, 2]),
     "vars": st.sampled_from([{"q": "a"}, {"q": "b"}]), "description": st.sampled_from(["", "one", "two"])}
)  # fmt: skip


@given(st.lists(RESULTS, max_size=12), st.booleans())
def test_attempts_and_repeats_are_those_of_plain_grouping(results: list[Json], numbered: bool) -> None:
    if not numbered:
        results = [{key: value for key, value in each.items() if key != "testIdx"} for each in results]
    attempts = Attempts()
    for each in results:
        attempts.add(each)
    places = attempts.places()
    pairs = enumerate(zip(places.repeat.tolist(), places.attempts.tolist(), strict=True))
    assert {number: pair for number, pair in pairs if pair[0] >= 0} == reference(results)


def test_helm_files_in_another_order_are_one_log(tmp_path: Path) -> None:
    rows = {}
    for name, turned, ending in (("one", False, ""), ("two", True, ".gz")):
        folder = tmp_path / name
        folder.mkdir()
        numbers = list(range(8))[:: -1 if turned else 1]
        states = [
            {"instance": {"id": f"q{n}"}, "train_trial_index": 0,
             "result": {"success": True, "completions": [{"text": f"reply {n}"}]}} for n in numbers
        ]  # fmt: skip
        (folder / "per_instance_stats.json").write_text(table(*(stats(n) for n in range(8))))
        text = json.dumps({"adapter_spec": {"model": "m"}, "request_states": states}).encode()
        path = folder / f"scenario_state.json{ending}"
        path.write_bytes(gzip.compress(text) if ending else text)
        frame = ps.read_runs(folder, family="item").frame
        rows[name] = frame[["item", "model", "response", "score"]].to_dict("records")
    assert rows["one"] == rows["two"]
    assert [each["response"] for each in rows["one"]] == [f"reply {n}" for n in range(8)]


def test_entries_of_a_key_are_found_where_they_lie() -> None:
    index = helm_index.Index(["a", "b"])
    for place, (name, item) in enumerate([("a", "x"), ("a", "y"), ("b", "y"), ("b", "z"), ("b", "y")]):
        index.add(name, helm_index.key_of({"id": item}, "id", 0), place, 1)
    assert list(index.groups()) == [
        {"a": [(0, 1)], "b": []}, {"a": [(1, 1)], "b": [(2, 1), (4, 1)]}, {"a": [], "b": [(3, 1)]},
    ]  # fmt: skip


def eval_log(path: Path, *found: Json) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(HEADER))
        for each in found:
            archive.writestr(f"samples/{each['id']}_epoch_1.json", json.dumps(each))
    return path


def test_a_large_sample_is_read_without_its_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [{"n": number, "text": "]" * 50} for number in range(100)]
    path = eval_log(tmp_path / "l.eval", sample(1, events=events), sample(2, events=events[:1]))
    before = ps.read_runs(path, family="item")
    monkeypatch.setattr(inspect, "LARGEST_WHOLE", 2000)
    assert_same(before, ps.read_runs(path, family="item"))
    for wanted in ("events", "events.0.n"):
        with pytest.raises(
            ReadError, match=r"l\.eval:q1_epoch_1\.json must have at most .* path into its events"
        ):
            ps.read_runs(path, family="item", extra={"n": wanted})


def test_a_large_sample_with_broken_events_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspect, "LARGEST_WHOLE", 50)
    path = tmp_path / "l.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(HEADER))
        archive.writestr("samples/a.json", json.dumps(sample(1, events=[1])).replace("[1]", "[1, tru]"))
    with pytest.raises(ReadError, match=r"l\.eval:a\.json:events\[1\] must be one JSON object"):
        ps.read_runs(path, family="item")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_of_any_size_are_unpacked_to_disk(
    tmp_path: Path, method: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipped, "LARGEST_WHOLE", 100)
    monkeypatch.setattr(zipped, "CHUNK", 7)
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("t.json", table(*(row(number) for number in range(50))))
    assert len(ps.read_runs(path, family="item")) == 50


def test_packed_input_is_streamed_by_what_it_may_hold(tmp_path: Path) -> None:
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(table(*(row(number) for number in range(50))).encode()))
    [found] = ps.readers.files.find_files(path)
    assert written._unpacked_size([found]) == 1000 * path.stat().st_size


@needs_status
@pytest.mark.parametrize("name", ["promptfoo", "inspect", "helm"])
def test_memory_does_not_grow_with_the_document(tmp_path: Path, name: str) -> None:
    file, made, record, _, words = DOCUMENTS[name]
    before, after = made(*(record(number, blob="@") for number in range(300))).split("@", 1)
    path, output = tmp_path / file, tmp_path / "r.parquet"
    with path.open("w") as target:
        target.write(before)
        for part in after.split("@"):
            target.write("x" * 1_000_000 + part)
    options = f"family='item', workers=1, **{words}"
    call = f"write_runs({str(path)!r}, {str(output)!r}, {options})"
    # To hold the document once, as bytes, would take 450 MB: 150 for the libraries and 300. Streamed it is 158 to
    # 320, as buffers of up to 32 MB happen to overlap.
    assert peak_of(f"from pairstats.readers.written import write_runs; {call}") < 400_000_000
    assert len(ps.load_records(output)) == 300


def elements(opened: Document) -> Iterator[int]:
    return (element.start for element in opened.elements(()))


def test_elements_tell_where_they_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = ' [ 1,  {"a": "ä"} ,\n"x"]'.encode()
    path = tmp_path / "a.json"
    path.write_bytes(text)
    for chunk in (1, 5, 100):
        monkeypatch.setattr(documents, "CHUNK", chunk)
        documents._opened.cache_clear()
        opened = open_document(RunFile(path, "a.json"), ())
        assert list(elements(opened)) == [text.index(mark) for mark in (b"1", b"{", b'"x')]
