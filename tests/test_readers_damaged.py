"""Damaged run files: an error of ours that names the file, never another one, and never fewer records in silence.

Every sample file is damaged in one way, chosen by its name; ``PAIRSTATS_FUZZ_ROUNDS=20`` damages each in every way
as often. Where reading succeeds nevertheless, the ledger must add up, and hold as many records as are there.
"""

from __future__ import annotations

import json
import os
import random
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED, needs_shared

import pairstats as ps
from pairstats.errors import PairstatsError, ReadError

SAMPLES = SHARED / "samples"
ROUNDS = int(os.environ.get("PAIRSTATS_FUZZ_ROUNDS", "0"))
ENDINGS = (".json", ".jsonl", ".csv", ".tsv", ".eval", ".parquet", ".gz", ".xlsx", ".arrow")
LARGEST = 4_000_000 if ROUNDS else 300_000
SHARDS = 8
INSERTED = (b"null", b"NaN", b'"', b"}", b"[", b"\xff", b"\\ud800", b"1e999", b"9" * 25, b"\0", b"\n", b"\r")
ADVICE = re.compile(r"\b(score|filter)='([^']+)'")
KINDS = ("cut", "flip", "drop", "insert", "interleave")
Options = dict[str, Any]


@cache
def files() -> list[Path]:
    found = [path for path in sorted(SAMPLES.rglob("*")) if path.is_file() and path.suffix in ENDINGS]
    return [path for path in found if path.stat().st_size <= LARGEST]


def damaged(content: bytes, kind: str, rng: random.Random, other: bytes) -> bytes:
    """Content that was cut, changed, shortened in the middle, lengthened, or mixed with another file's."""
    one, two = sorted(rng.randrange(len(content)) for _ in range(2))
    if kind == "cut":
        return content[:two]
    if kind == "drop":
        return content[:one] + content[two:]
    if kind == "insert":
        return content[:one] + rng.choice(INSERTED) + content[one:]
    if kind == "interleave":
        size = rng.choice((1, 7, 512, 4096))
        mixed = [
            content[at : at + size] + other[at : at + size]
            for at in range(one, min(two, one + 20 * size), size)
        ]
        return content[:one] + b"".join(mixed) + content[two:]
    changed = bytearray(content)
    for _ in range(rng.choice((1, 3, 20))):
        changed[rng.randrange(len(content))] = rng.randrange(256)
    return bytes(changed)


def read(path: Path, options: Options, keep_going: bool = False) -> int:
    """Number of records; the ledger must add up."""
    ledger = ps.read_runs({"m": path}, family="item", keep_going=keep_going, **options).ledger
    assert (ledger["records"] == ledger["rows"] + ledger["left_out"] + ledger["merged"]).all()
    return int(ledger["records"].sum())


def undamaged(path: Path) -> tuple[Options, int | None]:
    """Options that the messages ask for, and the number of records; None where the file alone cannot be read."""
    options: Options = {}
    for _ in range(3):
        try:
            return options, read(path, options)
        except PairstatsError as error:
            advice = ADVICE.search(str(error))
            if advice is None or advice[1] in options:
                break
            options[advice[1]] = advice[2]
    return options, None


def fewest(source: Path, kind: str, before: bytes, after: bytes, records: int) -> int:
    """Records that must be there if the damaged file is read without an error.

    What a text file has lost at the end of a line nobody can see; a document, an archive or a compressed file
    shows every loss.
    """
    if source.suffix == ".jsonl":
        for line in after.split(b"\n"):
            if line.strip():
                json.loads(line)  # a broken line must have been refused
    if kind in ("flip", "insert"):
        return records if after.count(b"\n") >= before.count(b"\n") and b"\0" not in after else 0
    if source.suffix in (".csv", ".tsv", ".jsonl"):
        return 0
    if kind == "cut":
        assert not before[len(after) :].strip(), f"{source.name} was cut, and read without an error"
        return records
    return 0


def check(
    source: Path, kind: str, rng: random.Random, folder: Path, known: tuple[Options, int | None]
) -> bool:
    """Damage a file and read it; return whether it was refused."""
    options, records = known
    before, other = source.read_bytes(), rng.choice(files()).read_bytes()
    after = damaged(before, kind, rng, other)
    path = folder / source.name
    path.write_bytes(after)
    with suppress(PairstatsError):
        read(path, options, keep_going=True)
    message = ""
    try:
        found = read(path, options)
    except PairstatsError as error:
        if not isinstance(error, ReadError):
            return True
        message = str(error)
    if message:
        assert source.name in message or message.startswith("'score"), message
        return True
    if records is not None:
        assert found >= fewest(source, kind, before, after, records), f"{source.name} lost records in silence"
    return False


@needs_shared
@pytest.mark.parametrize("shard", range(SHARDS))
def test_damage_is_an_error_of_ours_or_every_record_is_counted(tmp_path: Path, shard: int) -> None:
    mine = files()[shard::SHARDS]
    assert len(mine) > 20
    refused = 0
    for source in mine:
        alone = tmp_path / source.name  # as the damaged one will be: without the files beside it
        alone.write_bytes(source.read_bytes())
        known = undamaged(alone)
        for number in range(max(1, ROUNDS)):
            rng = random.Random(f"{source.relative_to(SAMPLES)} {number}")
            for kind in KINDS if ROUNDS else [rng.choice(KINDS)]:
                try:
                    refused += check(source, kind, rng, tmp_path, known)
                except Exception as error:
                    raise AssertionError(f"{source.relative_to(SAMPLES)}, {kind}, round {number}") from error
    assert refused > len(mine) / 4
