"""The table of methods tells the truth: names exist, all functions are there, tests exist and use them."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest
from conftest import ROOT, SHARED, needs_shared

import pairstats
import pairstats.numeric

PAGE = ROOT / "docs" / "methods_table.md"


class Row(NamedTuple):
    """One method of the table."""

    method: str
    function: str
    panel: str
    test: str
    checked: str


def rows() -> list[Row]:
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 5 and cells[1].startswith("`"):
            found.append(Row(cells[0], cells[1].strip("`"), cells[2], cells[3].strip("`"), cells[4]))
    return found


def source(row: Row) -> str:
    return (ROOT / "tests" / f"{row.test}.py").read_text(encoding="utf-8")


def test_every_array_function_is_in_the_table_once() -> None:
    assert sorted(row.function for row in rows()) == sorted(pairstats.numeric.__all__)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.function)
def test_what_a_row_names_exists(row: Row) -> None:
    assert callable(getattr(pairstats.numeric, row.function))
    verbs = re.findall(r"`(\w+)`", row.panel)
    assert verbs or row.panel == "arrays only"
    for verb in verbs:
        assert verb in pairstats.__all__, f"{verb} is no public name"
    assert re.search(rf"\b{row.function}\b", source(row)), f"{row.test} does not use {row.function}"
    for other in re.findall(r"`?(test_\w+)`?", row.checked):
        assert (ROOT / "tests" / f"{other}.py").is_file()


@needs_shared
@pytest.mark.parametrize("row", [row for row in rows() if "*" in row.checked], ids=lambda row: row.function)
def test_reference_values_that_a_row_names_are_read_by_its_test(row: Row) -> None:
    read = set(re.findall(r'reference\(\s*"(\w+)"', source(row)))
    for topic in re.findall(r"\*(\w+)\*", row.checked):
        assert (SHARED / "reference" / f"{topic}.json").is_file()
        assert topic in read, f"{row.test} does not read {topic}"
