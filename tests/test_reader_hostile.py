"""Content made to break a reader: refused, or read, within bounds of time and memory; never a crash."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard
from conftest import ROOT
from peaks import needs_status, peak_of

import pairstats as ps
from pairstats.errors import PairingError, ReadError
from pairstats.readers.json_columns import DEEPEST, read_lines

DEEP = "[" * 100_000 + "]" * 100_000
NESTED = '{"a":' * 100_000 + "1" + "}" * 100_000
GOOD = '{"item": "q1", "model": "m", "score": 1}\n'
BIG = 2**63


def line(**more: str) -> str:
    """Record whose further fields are JSON text."""
    fields = {"item": '"q2"', "model": '"m"', "score": "1", **more}
    return "{" + ", ".join(f'"{name}": {value}' for name, value in fields.items()) + "}\n"


@pytest.mark.parametrize("deep", [DEEP, NESTED], ids=["lists", "objects"])
def test_a_deep_record_is_refused_by_its_line_in_a_process_that_lives(tmp_path: Path, deep: str) -> None:
    """Arrow's parser crashes on it, so that only another process can tell."""
    path = tmp_path / "a.jsonl"
    path.write_text(GOOD + line(x=deep))
    code = (
        "import pairstats as ps\n"
        f"try: ps.read_runs({str(path)!r}, family='item')\n"
        "except ps.ReadError as error: print(error)\n"
        f"print(len(ps.read_runs({str(path)!r}, family='item', keep_going=True)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-300:]
    assert "a.jsonl:2 must be one JSON object, but it is nested too deeply" in done.stdout
    assert done.stdout.rstrip().endswith("1")


@pytest.mark.parametrize(
    "content",
    [DEEP, NESTED, "[" * 100_000, '{"a":' * 100_000, f'[{{"item":"q","model":"m","score":1,"x":{DEEP}}}]',
     f'{{"evalId":"e","results":{{"version":3,"results":[{{"vars":{{"q":{DEEP}}}}}]}}}}',
     f'{{"version":2,"status":"success","eval":{{"model":"m"}},"samples":[{{"id":1,"x":{DEEP}}}]}}',
     f'{{"results":{{"t":{DEEP}}},"configs":{{}}}}'],
    ids=["lists", "objects", "open lists", "open objects", "array", "promptfoo", "inspect", "lm_eval"],
)  # fmt: skip
def test_deep_documents_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    for keep_going in (False, True):
        with pytest.raises(ReadError, match=r"a\.json"):
            ps.read_runs(path, family="item", keep_going=keep_going)


def test_depth_is_told_from_brackets_in_texts() -> None:
    """Arrow crashes the process on a deep line, so that it must never see one."""

    def is_trusted(text: bytes) -> bool:
        return read_lines(text, frozenset()).table is not None

    flat = line(response='"' + "a[b]{c}" * 200 + '"').encode() * 3
    assert is_trusted(flat)
    assert not is_trusted(flat + b'{"x": ' + DEEP.encode() + b"}")
    assert not is_trusted(b'{"a": "' + b"]" * 100_000 + b'", "b": ' + DEEP.encode() + b"}")
    for levels, trusted in ((DEEPEST // 2, True), (100_000, False)):
        assert is_trusted(b'{"x": ' + b"[" * levels + b"]" * levels + b"}") == trusted


def test_nan_is_null_and_counted_and_infinity_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(GOOD + line(score="NaN", confidence="NaN"))
    records = ps.read_runs(path, family="item")
    assert records.frame["score"].isna().tolist() == [False, True]
    assert records.ledger["nan_to_null"].tolist() == [2]
    for number in ("Infinity", "-Infinity", "1e999"):
        path.write_text(GOOD + line(score=number))
        with pytest.raises(ReadError, match=r"a\.jsonl:2 must have a number"):
            ps.read_runs(path, family="item")


def test_half_a_surrogate_and_nul_are_text(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(line(item=r'"q\ud800"', response=r'"\udfff\u0000"', **{r"\ud801": r'"\ud802"'}))
    records = ps.read_runs(path, family="item")
    assert records.frame["item"].tolist() == ["q\ufffd"]
    assert records.frame["response"].tolist() == ["\ufffd\0"]
    saved = records.save(tmp_path / "r.parquet")
    assert ps.load_records(saved).frame["response"].tolist() == ["\ufffd\0"]
    path.write_text(GOOD + line(response='"a\0b"'))
    with pytest.raises(ReadError, match=r"a\.jsonl"):
        ps.read_runs(path, family="item")


@pytest.mark.parametrize("form", ["jsonl", "csv"])
@pytest.mark.parametrize("column", ["input_tokens", "repeat"])
@pytest.mark.parametrize("number", [BIG, -BIG - 1, 10**300])
def test_numbers_beyond_64_bits_are_refused_by_file_and_record(
    tmp_path: Path, form: str, column: str, number: int
) -> None:
    path = tmp_path / f"a.{form}"
    if form == "jsonl":
        path.write_text(GOOD + line(**{column: str(number)}))
    else:
        path.write_text(f"item,model,score,{column}\nq,m,1,0\nq2,m,1,{number}\n")
    where = 2 if form == "jsonl" else 3
    with pytest.raises(
        ReadError, match=rf"a\.{form}:{where} must have a whole number of 64 bits in column '{column}'"
    ):
        ps.read_runs(path, family="item")
    records = ps.read_runs(path, family="item", keep_going=True)
    assert (len(records), len(records.left_out)) == (1, 1)


def test_a_repeat_of_more_than_16_bits_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(GOOD + line(repeat="70000"))
    with pytest.raises(PairingError, match=r"`repeat` must be below 32768, but is 70000 in a\.jsonl:2"):
        ps.read_runs(path, family="item")


def test_large_numbers_survive_as_names_and_extras(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(line(item=str(BIG), x=str(BIG)) + line(item='"007"', x="1"))
    frame = ps.read_runs(path, family="item", extra={"x": "x"}).frame
    assert sorted(frame["item"]) == ["007", str(BIG)]
    assert sorted(map(str, frame["x"])) == ["1", str(BIG)]


def test_an_endless_integer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(GOOD + line(x="9" * 5000))
    with pytest.raises(
        ReadError, match=r"a\.jsonl:2 must be one JSON object, but it has an integer of 5000 digits"
    ):
        ps.read_runs(path, family="item")


def test_a_very_wide_table_is_refused(tmp_path: Path) -> None:
    names = ["item", "model", "score", *(f"c{n}" for n in range(20_000))]
    path = tmp_path / "a.csv"
    path.write_text(",".join(names) + "\n" + ",".join(["q", "m", "1", *["x"] * 20_000]) + "\n")
    with pytest.raises(ReadError, match="at most 10000 columns, but has 20003"):
        ps.read_runs(path, family="item")


START = b'{"evalId": "e", "results": {"version": 3, "results": ['
BOMBS: dict[str, tuple[bytes, bytes, bytes]] = {
    "zeros.jsonl": (b"", b"\0", b""),
    "blanks between results.json": (START, b" ", b"]}}"),
    "a text in a result.json": (START + b'{"vars": {"q": "', b"a", b'"}}]}}'),
    "empty lists of no platform.json": (b'{"a": [', b"[],", b"[]]}"),
    "empty lists in a result.json": (START + b'{"vars": {"q": [', b"[],", b"[]]}}]}}"),
}  # fmt: skip


@needs_status
@pytest.mark.parametrize("name", BOMBS)
def test_a_packed_gigabyte_is_refused_in_little_memory(tmp_path: Path, name: str) -> None:
    before, filler, behind = BOMBS[name]
    gz = name == "zeros.jsonl"
    path = tmp_path / f"{name}.{'gz' if gz else 'zst'}"
    with gzip.open(path, "wb", compresslevel=1) if gz else zstandard.open(path, "wb") as stream:
        stream.write(before)
        block = filler * ((1 << 20) // len(filler))
        for _ in range(1024):
            stream.write(block)
        stream.write(behind)
    peak = peak_of(
        "import pairstats as ps\n"
        f"try: ps.read_runs({str(path)!r}, family='item')\n"
        f"except ps.PairstatsError as error: assert {path.name!r} in str(error), error\n"
        "else: raise AssertionError('was not refused')"
    )
    assert peak < 800_000_000


def test_a_light_text_of_many_values_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(GOOD + line(x="[" + "{}," * 3_000_000 + "{}]"))
    with pytest.raises(ReadError, match=r"a\.jsonl:2 must be a record, but holds millions of values"):
        ps.read_runs(path, family="item")
