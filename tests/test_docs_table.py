"""The tables of the docs tell the truth: names exist, all are there, tests exist and use them."""

from __future__ import annotations

import json
import re
from dataclasses import MISSING, Field, fields
from typing import Any, NamedTuple

import pandas as pd
import pytest
from conftest import ROOT, SHARED, needs_shared

import pairstats
import pairstats.numeric
from pairstats.estimands import KINDS

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


ANSWERS = pd.DataFrame([
    {"family": f"f{f}", "item": f"q{f}", "model": m, "category": "xy"[f % 2],
     "score": float((f * 5 + len(m)) % 3 > 0)}
    for f in range(12) for m in ("a", "bb", "ccc") if (f, m) != (0, "a")
])  # fmt: skip


def test_every_column_of_ranks_and_joint_intervals_is_documented() -> None:
    page = PAGE.read_text(encoding="utf-8").split("## Rows of `rank` and `simultaneous`")[1]
    panel, score = pairstats.Panel(ANSWERS, cells=("model", "category")), pairstats.Mean("score")
    for verb, found in {
        "rank": pairstats.rank(panel, score, method="percentile"),
        "simultaneous": pairstats.simultaneous(
            panel, score, pairstats.Pairwise("model"), method="percentile"
        ),
    }.items():
        told = set(re.findall(r"``(\w+)``", str(getattr(pairstats, verb).__doc__)))
        shown = set(re.findall(r"`(\w+)`", page))
        filled = [name for name in found.frame if found.frame[name].notna().any()]
        for name in {*filled, *found.provenance} - {"model", "category"}:
            assert name in told, f"{verb} does not say what {name!r} is"
            assert name in shown, f"the table does not say what {name!r} is"


def argument(told: Field[Any]) -> str:
    """An argument of an estimand as docs/protocol.md shows it."""
    if told.default is MISSING:
        return f"`{told.name}`"
    return f"`{told.name}` ({'optional' if told.default in (None, ()) else f'`{json.dumps(told.default)}`'})"


def test_the_arguments_of_every_estimand_are_in_the_page_of_protocols() -> None:
    page = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    table = page.split("## Arguments of the estimands")[1].split("\n## ")[0]
    shown = [line for line in table.splitlines() if line.startswith("| `")]
    assert shown == [
        f"| `{kind}` | `{value.__name__}` | "
        f"{', '.join(argument(told) for told in fields(value) if told.name != 'label')} |"
        for kind, value in KINDS.items()
    ]
