"""Write a run file and read it with one reader."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pairstats.readers.base import LeftOut, Reader, ReadOptions, Record, RunFile


def written(folder: Path, name: str, content: str | bytes | Iterable[dict[str, Any]]) -> RunFile:
    """A run file with this content; objects become JSON Lines."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if not isinstance(content, str | bytes):
        content = "".join(json.dumps(line) + "\n" for line in content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return RunFile(path, name)


def read(reader: Reader, file: RunFile, **options: Any) -> tuple[list[Record], list[LeftOut]]:
    """Records and left-out records of a file."""
    found = list(reader.read(file, ReadOptions(**options)))
    records = [each for each in found if isinstance(each, Record)]
    left_out = [each for each in found if isinstance(each, LeftOut)]
    assert len(records) + len(left_out) == len(found)
    return records, left_out


def column(records: Iterable[Record], name: str) -> list[Any]:
    """One field of every record, None where it is left out."""
    return [record.fields.get(name) for record in records]
