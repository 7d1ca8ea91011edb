"""Ways to damage a file, and what a text still holds afterwards; for `test_readers_damaged`."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

INSERTED = (b"null", b"NaN", b'"', b"}", b"[", b"\xff", b"\\ud800", b"1e999", b"9" * 25, b"\0", b"\n", b"\r")


def _cut(content: bytes, rng: random.Random, _: bytes) -> bytes:
    return content[: rng.randrange(1, len(content))]


def _cut_at_line(content: bytes, rng: random.Random, _: bytes) -> bytes:
    ends = [place + 1 for place, byte in enumerate(content[:-1]) if byte == 10]
    return content[: rng.choice(ends)] if ends else content[: len(content) // 2]


def _drop(content: bytes, rng: random.Random, _: bytes) -> bytes:
    one, two = _places(content, rng)
    return content[:one] + content[two:]


def _insert(content: bytes, rng: random.Random, _: bytes) -> bytes:
    one, _two = _places(content, rng)
    return content[:one] + rng.choice(INSERTED) + content[one:]


def _flip(content: bytes, rng: random.Random, _: bytes) -> bytes:
    """Change one bit."""
    changed = bytearray(content)
    changed[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _overwrite(content: bytes, rng: random.Random, _: bytes) -> bytes:
    """Change a few bytes in one place."""
    place = rng.randrange(len(content))
    return content[:place] + rng.randbytes(rng.choice((1, 3, 20))) + content[place + 1 :]


def _interleave(content: bytes, rng: random.Random, other: bytes) -> bytes:
    """Blocks of two files in turn, as from two writers without a lock."""
    one, two = _places(content, rng)
    size = rng.choice((1, 7, 512, 4096))
    mixed = [
        content[at : at + size] + other[at : at + size] for at in range(one, min(two, one + 20 * size), size)
    ]
    return content[:one] + b"".join(mixed) + content[max(one, min(two, one + len(mixed) * size)) :]


def _interleave_lines(content: bytes, rng: random.Random, other: bytes) -> bytes:
    """Whole lines of two files in turn."""
    ours, theirs = content.splitlines(keepends=True), other.splitlines(keepends=True)
    place = rng.randrange(len(ours) + 1)
    count = rng.randrange(1, 4)
    start = rng.randrange(max(1, len(theirs)))
    return b"".join([*ours[:place], *theirs[start : start + count], *ours[place:]])


def _places(content: bytes, rng: random.Random) -> tuple[int, int]:
    one, two = sorted(rng.randrange(len(content)) for _ in range(2))
    return one, two


DAMAGES: dict[str, Callable[[bytes, random.Random, bytes], bytes]] = {
    "cut": _cut, "flip": _flip, "interleave": _interleave,
    "cut at a line": _cut_at_line, "drop": _drop, "insert": _insert, "overwrite": _overwrite,
    "interleave lines": _interleave_lines,
}  # fmt: skip
ALWAYS = ("cut", "flip", "interleave")
"""What every file meets each time, with one of the others."""


def is_value(text: bytes) -> bool:
    """Whether a text is JSON as the standard library reads it, with every key once."""
    try:
        _value(text)
    except (ValueError, RecursionError):
        return False
    return True


def _value(text: bytes) -> Any:
    return json.loads(text.decode("utf-8-sig"), object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) < len(pairs):
        raise ValueError("a key comes twice")
    return read


def records_of(content: bytes, suffix: str) -> dict[int, Any]:
    """Records of a text by their first line: what tells one from another; None for one that is broken."""
    return dict(_lines(content) if suffix == ".jsonl" else _table_rows(content, suffix))


def _lines(content: bytes) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            yield number, line.strip() if is_value(line) and isinstance(_value(line), dict) else None


def _table_rows(content: bytes, suffix: str) -> Iterator[tuple[int, Any]]:
    text = content.decode("utf-8-sig", "surrogateescape")
    tab = "\t" if suffix == ".tsv" else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=tab, strict=True)
    width = 0
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error:
            yield line, None
            continue
        if cells is None:
            return
        width = width or len(cells)
        if cells:
            whole = len(cells) == width and all(cell.isprintable() or _is_text(cell) for cell in cells)
            yield line, tuple(cells) if whole else None


def _is_text(cell: str) -> bool:
    return "\0" not in cell and not any("\udc80" <= mark <= "\udcff" for mark in cell)


def changed_elements(content: bytes, damaged: bytes) -> tuple[int, bool]:
    """How many elements of the longest list of a document differ, and whether anything outside it does."""
    before, after = _value(content), _value(damaged)
    path = _longest(before)
    mine, theirs = _at(before, path), _at(after, path)
    if not isinstance(mine, list) or not isinstance(theirs, list) or len(mine) != len(theirs):
        return 1, True
    changed = sum(repr(one) != repr(other) for one, other in zip(mine, theirs, strict=True))
    return changed, repr(_without(before, path)) != repr(_without(after, path))


def _longest(value: Any, path: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Path to the list of most bytes that is not inside another."""
    if isinstance(value, list) or not isinstance(value, dict):
        return path
    sizes = {key: len(repr(each)) for key, each in value.items() if isinstance(each, list | dict)}
    if not sizes:
        return path
    largest = max(sizes, key=lambda key: sizes[key])
    return _longest(value[largest], (*path, largest))


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _without(value: Any, path: tuple[str, ...]) -> Any:
    if not path:
        return None if isinstance(value, list) else value
    return {key: _without(each, path[1:]) if key == path[0] else each for key, each in value.items()}
