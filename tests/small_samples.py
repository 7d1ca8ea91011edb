"""Whole files of a few records, made from samples of any size, also in forms in which none lies there."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

KEPT = 4
"""Records that are kept of a file at its beginning, and as many at its end."""


def small(path: Path) -> bytes:
    """A whole file of a few records, as its platform would have written it, made from one of any number."""
    content = path.read_bytes()
    suffix = path.suffix
    if suffix == ".gz":
        return gzip.compress(_small_text(gzip.decompress(content), Path(path.stem).suffix), mtime=0)
    if suffix in (".eval", ".npz"):
        return _small_archive(path)
    if suffix == ".parquet":
        table = pq.read_table(path)
        return parquet(
            _ends(table, 2 * KEPT), pq.ParquetFile(path).metadata.row_group(0).column(0).compression
        )
    return _small_text(content, suffix)


def _small_text(content: bytes, suffix: str) -> bytes:
    if suffix == ".jsonl":
        return b"".join(_ends(content.splitlines(keepends=True)))
    if suffix == ".json":
        indent = 2 if content[:200].count(b"\n") else None
        return json.dumps(_small_value(json.loads(content)), indent=indent).encode()
    if suffix in (".csv", ".tsv"):
        header, *rows = csv.reader(io.StringIO(content.decode(), newline=""))
        text = io.StringIO(newline="")
        csv.writer(text).writerows([header, *_ends(rows)])
        return text.getvalue().encode()
    return content


def _ends(values: Any, kept: int = KEPT) -> Any:
    if isinstance(values, pa.Table):
        return values if len(values) <= 2 * kept else pa.concat_tables([values[:kept], values[-kept:]])
    return values if len(values) <= 2 * kept else [*values[:kept], *values[-kept:]]


def _small_value(value: Any) -> Any:
    """Every long list by its ends, so that lists that belong together keep belonging together."""
    if isinstance(value, list):
        return [_small_value(each) for each in _ends(value)]
    if isinstance(value, dict):
        items = list(value.items())
        nested = all(isinstance(each, dict | list) for each in value.values())
        return {key: _small_value(each) for key, each in (_ends(items) if nested else items)}
    return value


def _small_archive(path: Path) -> bytes:
    """Members as they are packed, with few samples among them."""
    target = io.BytesIO()
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as small:
        members = sorted(source.infolist(), key=lambda member: member.header_offset)
        ends = [*(member.header_offset for member in members[1:]), source.start_dir]
        samples = [member for member in members if member.filename.startswith("samples/")]
        dropped = {member.filename for member in samples} - {member.filename for member in _ends(samples)}
        for member, end in zip(members, ends, strict=True):
            if member.filename not in dropped:
                _copy_member(source, member, end, small)
    return target.getvalue()


def _copy_member(source: zipfile.ZipFile, member: zipfile.ZipInfo, end: int, target: zipfile.ZipFile) -> None:
    """Copy a member without unpacking it: not every `zipfile` knows zstandard."""
    reading: Any = source.fp
    writing: Any = target
    reading.seek(member.header_offset)
    packed = reading.read(end - member.header_offset)
    member.header_offset = writing.fp.tell()
    writing.fp.write(packed)
    writing.filelist.append(member)
    writing.start_dir, writing._didModify = writing.fp.tell(), True


def parquet(table: pa.Table, compression: str = "SNAPPY") -> bytes:
    """Table as the bytes of a Parquet file."""
    target = io.BytesIO()
    pq.write_table(table, target, compression=compression)
    return target.getvalue()


def _streamed(open_: Callable[[io.BytesIO], Any], flush: Callable[[Any], Any], content: bytes) -> bytes:
    """Pack a text as a logger does, which flushes behind each line: a cut may leave whole lines only."""
    target = io.BytesIO()
    with open_(target) as stream:
        for line in content.splitlines(keepends=True):
            stream.write(line)
            flush(stream)
    return target.getvalue()


def _gz(content: bytes) -> bytes:
    return _streamed(
        lambda target: gzip.GzipFile(fileobj=target, mode="w", mtime=0),
        lambda stream: stream.flush(),
        content,
    )


def _zst(content: bytes) -> bytes:
    packer = zstandard.ZstdCompressor(write_checksum=True)
    return _streamed(
        lambda target: packer.stream_writer(target, closefd=False),
        lambda stream: stream.flush(zstandard.FLUSH_BLOCK),
        content,
    )


def _zip(*paths: Path) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in paths:
            archive.writestr(zipfile.ZipInfo(path.name), small(path), zipfile.ZIP_DEFLATED)
    return target.getvalue()


def _xlsx(path: Path) -> bytes:
    book = openpyxl.Workbook()
    for row in csv.reader(io.StringIO(small(path).decode(), newline="")):
        book.active.append(row)
    target = io.BytesIO()
    book.save(target)
    return target.getvalue()


def _arrow(table: pa.Table) -> bytes:
    target = io.BytesIO()
    with pa.ipc.new_file(target, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)
    return target.getvalue()


def _array(content: bytes) -> bytes:
    return json.dumps([json.loads(line) for line in content.splitlines()]).encode()


_LINES = (
    "own/lm_eval/smollm2-terse-t0/smollm2-terse-t0/samples_paired_letters_2026-11-29T20-39-43.887661.jsonl"
)
_BATCH = "anthropic_batch/constructed/6b_finetuning_results.jsonl"
_OTHER = "anthropic_batch/constructed/175b_verification_results.jsonl"
_TABLE = "plain_tables/gsm8k_long"
PACKED: dict[str, Callable[[Path], bytes]] = {
    "a.jsonl.zst": lambda folder: _zst(small(folder / _LINES)),
    "b.jsonl.zst": lambda folder: _zst(small(folder / _BATCH)),
    "b.jsonl.gz": lambda folder: _gz(small(folder / _BATCH)),
    "c.json.zst": lambda folder: _zst(small(folder / "deepeval/generated/latest_test_run.json")),
    "d.csv.zst": lambda folder: _zst(small(folder / f"{_TABLE}.csv")),
    "d.csv.gz": lambda folder: _gz(small(folder / f"{_TABLE}.csv")),
    "d.tsv": lambda folder: small(folder / f"{_TABLE}.csv").replace(b",", b"\t"),
    "d.json": lambda folder: _array(small(folder / f"{_TABLE}_first100.jsonl")),
    "d.xlsx": lambda folder: _xlsx(folder / f"{_TABLE}.csv"),
    "d.arrow": lambda folder: _arrow(_ends(pq.read_table(folder / f"{_TABLE}.parquet"), 2 * KEPT)),
    "two.zip": lambda folder: _zip(folder / _BATCH, folder / _OTHER),
}
"""Samples in forms in which none lies there."""
