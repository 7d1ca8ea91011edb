"""Files of a folder whose name promises a log and that are nothing of the kind."""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pytest

import pairstats as ps
from pairstats.readers.written import write_runs

KNOWN = "item,model,family,variant,score\nq1,m,f,base,1\n"


def folder_with(folder: Path, name: str, content: bytes) -> Path:
    (folder / "known.csv").write_text(KNOWN)
    (folder / name).write_bytes(content)
    return folder


BROKEN = [
    ("log.eval", b"\x01\x02\x03\x04 no zip", "an Inspect log, a zip archive"),
    ("sheet.xlsx", b"\x01K\x03\x04", "an Excel workbook"),
    ("rows.parquet", b"\x01AR1 no table", "a Parquet file"),
    ("rows.arrow", b"\x01RROW1 no table", "an Arrow file"),
    ("rows.feather", b"FEA1 of the first version", "an Arrow file"),
    ("rows.jsonl", b'"item": "q2"}\n{"item": "q3"}\n', "JSON Lines"),
    ("rows.ndjson", b"\0\0\0\0\0\0\0\0", "JSON Lines"),
    ("rows.jsonl.gz", b"\x01\x8b\x90 no gzip", "packed by gzip or zstandard"),
    ("run.json", b'{"results": [{"item": "q2", "sc', "JSON"),
    ("long.json", b"item: q2\n" * 10_000, "JSON"),
    ("rows.csv", b"item,\0\0\0", "text in UTF-8"),
    ("rows.tsv", b"item\tmodel\nq2\t\xff\xfe\n", "text in UTF-8"),
    ("packed.json.gz", gzip.compress(b"no json", mtime=0), "JSON"),
]


@pytest.mark.parametrize(("name", "content", "what"), BROKEN)
def test_a_damaged_log_in_a_folder_is_refused_and_with_keep_going_told(
    tmp_path: Path, name: str, content: bytes, what: str
) -> None:
    folder = folder_with(tmp_path, name, content)
    with pytest.raises(ps.ReadError, match=rf"{name} must be {what}.*as its name says"):
        ps.read_runs(folder)
    with pytest.raises(ps.ReadError, match=rf"{name} must be {what}"):
        write_runs(folder, tmp_path / "out.parquet")
    found = ps.read_runs(folder, keep_going=True)
    assert len(found.frame) == 1
    note = found.ledger.set_index("file")["note"][name]
    assert note.startswith("not recognized (")


def test_a_packed_log_that_ends_too_early_is_refused(tmp_path: Path) -> None:
    lines = b'{"item": "q2", "model": "m", "family": "f", "variant": "base", "score": 1}\n'
    folder_with(tmp_path, "rows.jsonl.gz", gzip.compress(lines, mtime=0)[:30])
    with pytest.raises(ps.ReadError, match=r"rows.jsonl.gz cannot be opened.*Is the file whole"):
        ps.read_runs(tmp_path)


SOUND = [
    ("settings.json", b'{"seed": 1,\n "tasks": ["a", "b"]}\n'),
    ("lines.json", b'{"seed": 1}\n{"seed": 2}\n'),
    ("several_lines.jsonl", b'{\n  "seed": 1\n}\n'),
    ("empty.jsonl", b""),
    ("~$sheet.xlsx", b"\x05owner"),
    ("notes.csv", "Café,opened\nAda,May\n".encode()),
    ("unpacked.csv.gz", b"place,opened\nAda,May\n"),
    ("README.md", b"\xff no text"),
    ("picture.png", b"\x89PNG\r\n"),
]


@pytest.mark.parametrize(("name", "content"), SOUND)
def test_a_sound_file_of_another_purpose_is_a_line_of_the_ledger(
    tmp_path: Path, name: str, content: bytes
) -> None:
    found = ps.read_runs(folder_with(tmp_path, name, content))
    notes: pd.Series[str] = found.ledger.set_index("file")["note"]
    assert notes[name].startswith("not recognized (")
    assert notes["known.csv"] == ""
