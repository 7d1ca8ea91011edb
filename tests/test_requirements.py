"""The list of what the four write-ups compute: every point is there, and every name that meets it exists."""

from __future__ import annotations

import functools
import importlib
import re

import pytest
from conftest import ROOT, SHARED, needs_shared

PAGE = ROOT / "analyses" / "requirements.md"
POINTS = 174
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \|$", re.MULTILINE)
REFERENCE = re.compile(r"`([^`]+)`")
WORDS = re.compile(r"[\w.-]+ ?=|\[\[?\w+\]\]?|[\w-]+")
"""Arguments, sections and single words, which name nothing that could be gone."""


def rows() -> list[tuple[str, str, str]]:
    return ROW.findall(PAGE.read_text(encoding="utf-8"))


def test_every_point_is_there_once_and_in_order() -> None:
    assert [int(number) for number, _, _ in rows()] == list(range(1, POINTS + 1))


@needs_shared
def test_it_has_as_many_points_as_the_list_it_answers() -> None:
    listed = re.findall(r"(?<![\d.])(\d{1,3})\. ", (SHARED / "requirements.md").read_text(encoding="utf-8"))
    assert max(map(int, listed)) == POINTS


@functools.cache
def text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def resolve(name: str) -> None:
    parts = name.split(".")
    found: object = importlib.import_module(parts[0])
    for place, part in enumerate(parts[1:], start=2):
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(".".join(parts[:place]))


def defined(path: str, name: str) -> bool:
    """Whether a file defines a name: as a function, class or constant, or as a table or figure of a script."""
    name = re.escape(name)
    table = rf'|"{name}": ' if path.endswith("study.py") else ""
    return bool(re.search(rf"(?:def|class) {name}\b|^{name} = {table}", text_of(path), re.MULTILINE))


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_what_meets_a_point_exists(row: tuple[str, str, str]) -> None:
    number, _, met = row
    references = REFERENCE.findall(met)
    named = [each for each in references if each.startswith("pairstats.") or "/" in each]
    assert named or "not met" in met, f"point {number} names nothing that meets it"
    for each in references:
        path, _, part = each.partition("::")
        if each.startswith("pairstats."):
            resolve(each)
        elif "/" in each:
            assert (ROOT / path).exists(), f"point {number}: {path} is gone"
            assert not part or defined(path, part), f"point {number}: {path} has no {part}"
        else:
            assert WORDS.fullmatch(each), f"point {number}: {each!r} is no name"
