"""CSV of promptfoo: one row a test, and for every provider and prompt the same columns again."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pairstats.errors import ReadError
from pairstats.readers.base import LeftOut, ReadOptions, RunFile
from pairstats.readers.sheets import csv_rows

Json = dict[str, Any]

DESCRIPTION = "Description"
STATUS, SCORE, NAMED = "Status", "Score", "Named Scores"
OUTPUT = re.compile(r"^\[(?P<provider>[^\]]+)\] (?P<prompt>.*)$", re.DOTALL)
"""Header of a column of replies."""
REASONS = {"PASS": 0, "FAIL": 1, "ERROR": 2}
"""Words of the column ``Status``, as values of ``failureReason``."""
_MARKED = re.compile(r"^\[(PASS|FAIL|ERROR)\]\s?")
_OLD = (
    "{} must have a column 'Status' after each column of replies. In this older form verdict and reply share "
    "a cell and cannot be told apart for certain: export the evaluation as JSON."
)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the parts of a row lie.

    Attributes
    ----------
    variables : dict of str to int
        Columns before the first reply.
    blocks : tuple of dict of str to int
        Columns of each provider by name, the reply's under an empty one.
    prompts : tuple of (str, str)
        Provider and prompt of each block.
    """

    variables: dict[str, int]
    blocks: tuple[dict[str, int], ...]
    prompts: tuple[tuple[str, str], ...]


def is_export(file: RunFile) -> bool:
    """Whether the first row has a column of replies; all else is another table."""
    if b'"[' not in file.head and b",[" not in file.head:
        return False
    try:
        text = file.head.decode("utf-8-sig", "replace")
        header = next(csv.reader(io.StringIO(text, newline="")), [])
    except csv.Error:
        return False
    layout = _layout(header)
    return bool(layout.blocks) and (DESCRIPTION in header or STATUS in layout.blocks[0])


def results(file: RunFile, options: ReadOptions) -> Iterator[tuple[str, Any]]:
    """Yield every reply of every row in the form of a result in JSON.

    Parameters
    ----------
    file : RunFile
    options : ReadOptions

    Yields
    ------
    tuple of str and dict or LeftOut
        File with line and provider, and the result.

    Raises
    ------
    ReadError
        When verdicts have no column of their own, or a row is broken.
    """
    rows = csv_rows(file, ",")
    header: list[str] | LeftOut
    _, header = next(rows, (1, []))
    if isinstance(header, LeftOut):
        raise ReadError(f"{header.source} must be the table's header, but {header.reason}.")
    layout = _layout(header)
    if any(STATUS not in block for block in layout.blocks):
        raise ReadError(_OLD.format(file.shown))
    for test, (number, cells) in enumerate(rows):
        where = f"{file.shown}:{number}"
        if isinstance(cells, LeftOut):
            broken = cells.reason
        else:
            broken = "" if len(cells) == len(header) else f"{len(cells)} fields instead of {len(header)}"
        if not isinstance(cells, LeftOut) and not broken:
            for place in range(len(layout.blocks)):
                yield _result(where, test, place, cells, layout)
        elif options.keep_going:
            yield where, LeftOut(where, broken)
        else:
            raise ReadError(
                f"{where} must be a whole row, but is not: {broken}. Repair it, or pass keep_going=True to "
                "leave broken rows out and count them."
            )


def _layout(header: list[str]) -> Layout:
    starts = [place for place, name in enumerate(header) if OUTPUT.match(name)]
    ends = [*starts[1:], len(header)] if starts else []
    blocks = tuple(
        {"": start} | {header[place]: place for place in range(start + 1, end)}
        for start, end in zip(starts, ends, strict=True)
    )
    matches = [match for start in starts if (match := OUTPUT.match(header[start]))]
    before = {name: place for place, name in enumerate(header[: starts[0] if starts else 0])}
    return Layout(before, blocks, tuple((match["provider"], match["prompt"]) for match in matches))


def _result(where: str, test: int, place: int, cells: list[str], layout: Layout) -> tuple[str, Json]:
    block = {name: cells[column] for name, column in layout.blocks[place].items()}
    before = {name: cells[column] for name, column in layout.variables.items()}
    provider, prompt = layout.prompts[place]
    source = f"{where} ({provider})"
    word = block[STATUS]
    if word not in REASONS:
        raise ReadError(f"{source} must have a status {', '.join(REASONS)}, but has {word!r}.")
    return source, {
        "testIdx": test,
        "promptIdx": place,
        "description": before.pop(DESCRIPTION, ""),
        "vars": before,
        "provider": {"label": provider},
        "prompt": {"label": prompt},
        "failureReason": REASONS[word],
        "success": word == "PASS",
        "score": _number(source, block.get(SCORE)),
        "namedScores": _named(source, block.get(NAMED)),
        "response": {"output": _MARKED.sub("", block[""])},
        "gradingResult": {"reason": block.get("Grader Reason")},
    }


def _number(source: str, text: str | None) -> float | None:
    if not text:
        return None
    try:
        return float(text)
    except ValueError as error:
        raise ReadError(f"The score of {source} must be a number, but is {text!r}.") from error


def _named(source: str, text: str | None) -> Json:
    try:
        named = json.loads(text) if text else {}
    except ValueError:
        named = None
    if not isinstance(named, dict):
        raise ReadError(f"The named scores of {source} must be a JSON object, but are {text!r}.")
    return named
