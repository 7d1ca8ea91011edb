"""Which of the reference values are tested, and why the others are not: every one has its place."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator

import conftest
import pytest
from conftest import ROOT, SHARED, needs_shared

PAGE = ROOT / "docs" / "methods_table.md"

WALD = "the plain Wald interval is not offered: its width is 0 where nothing or everything succeeds"
UNUSED = {
    f"python_misc/proportion_confint_normal_{counts}": WALD
    for counts in ("10_of_10", "38_of_40", "48_of_48", "188_of_192", "7_of_36")
}
"""Topic/name of a vector that no test reads, and the reason."""


def vectors() -> Iterator[tuple[str, str, str]]:
    """Topic, name and source of every vector."""
    for path in sorted((SHARED / "reference").glob("*.json")):
        for vector in json.loads(path.read_text(encoding="utf-8")):
            yield path.stem, vector["name"], vector["source"]


@pytest.fixture(scope="module")
def read() -> set[tuple[str, str]]:
    """Vectors that the test modules ask for; importing a module asks."""
    for path in sorted((ROOT / "tests").glob("test_*.py")):
        if "reference(" in path.read_text(encoding="utf-8") and path.stem != __name__:
            importlib.import_module(path.stem)
    return set(conftest.READ)


@needs_shared
def test_every_vector_is_read_by_a_test_or_is_left_out_for_a_stated_reason(
    read: set[tuple[str, str]],
) -> None:
    there = {(topic, name) for topic, name, _ in vectors()}
    left = {f"{topic}/{name}" for topic, name in there - read}
    assert left == set(UNUSED), "a vector without a test, or a reason for one that has a test"
    assert len(there) == 595
    assert len(read) + len(UNUSED) == 595


@needs_shared
def test_every_vector_has_a_name_of_its_own_and_a_source() -> None:
    seen = [(topic, name) for topic, name, _ in vectors()]
    assert len(seen) == len(set(seen))
    assert all(source.strip() for _, _, source in vectors())


@needs_shared
def test_the_page_says_how_many_are_used() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"{595 - len(UNUSED)} of 595" in text.replace("\n", " ")
