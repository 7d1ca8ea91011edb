"""Every public function says when to use it, when not, what covers it instead; formula, source and example."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

import pairstats
import pairstats.numeric

SECTION = re.compile(r"^(Parameters|Returns|Raises|Notes|References|Examples)\n-+$", re.MULTILINE)
PUBLIC = {*pairstats.__all__, *pairstats.numeric.__all__}
"""Names that a docstring may send its reader to."""

VERBS = sorted(
    name
    for name, home in pairstats._HOME.items()
    if home.startswith("verbs.") or (home in ("infer", "power") and name.islower())
)

VALUES = sorted(
    name
    for name, home in pairstats._HOME.items()
    if home in ("estimands", "contrasts", "intervals", "more_intervals")
)
"""Estimands, comparisons and kinds of interval: the values that verbs take."""

WITHOUT_DOI = {
    "holm": "Scandinavian Journal of Statistics",
    "korn_graubard": "Survey Methodology",
    "max_t": "Resampling-Based Multiple Testing",
}
"""Functions whose source has no DOI, and where it appeared."""


def split(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """First paragraphs and sections of a docstring."""
    text = inspect.getdoc(function) or ""
    parts = SECTION.split(text)
    return parts[0], dict(zip(parts[1::2], parts[2::2], strict=True))


def check_head(head: str, name: str) -> None:
    """Raise unless the first lines say when, when not, and what else."""
    assert re.search(r"\bUse it\b", head), f"{name} does not say when to use it"
    assert re.search(r"\bNot\b", head), f"{name} does not say when not to"
    named = {word.rpartition(".")[2] for word in re.findall(r"`([\w.]+)`", head)}
    assert (named - {name}) & PUBLIC, f"{name} names nothing that covers it instead"


@pytest.mark.parametrize("name", pairstats.numeric.__all__)
def test_array_functions(name: str) -> None:
    function = getattr(pairstats.numeric, name)
    head, sections = split(function)
    check_head(head, name)
    assert set(sections) >= {"Parameters", "Returns", "Notes", "References", "Examples"}
    source = WITHOUT_DOI.get(name, r"doi:10\.\d{4,}/|arXiv:\d{4}\.\d{4,}")
    assert re.search(source, sections["References"]), f"{name} has no source that can be looked up"
    assert ">>>" in sections["Examples"]
    assert name in sections["Examples"], f"the example of {name} does not call it"
    described = re.findall(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: :|$)", sections["Parameters"], re.MULTILINE)
    there = {word.lstrip("*") for line in described for word in line.split(", ")}
    assert there >= set(inspect.signature(function).parameters), f"{name} leaves a parameter undescribed"


@pytest.mark.parametrize("name", VERBS)
def test_verbs(name: str) -> None:
    head, sections = split(getattr(pairstats, name))
    check_head(head, name)
    assert set(sections) >= {"Parameters", "Returns", "Examples"}
    named = set(re.findall(r"`([\w.]+)`", sections.get("Notes", "")))
    formula = {word.rpartition(".")[2] for word in named} & set(pairstats.numeric.__all__)
    source = re.search(r"doi:10\.|arXiv:", sections.get("References", "") + sections.get("Notes", ""))
    assert formula or (source and "Notes" in sections), f"{name} does not say where its formula is"
    assert ">>>" in sections["Examples"]


@pytest.mark.parametrize("name", VALUES)
def test_values(name: str) -> None:
    value = getattr(pairstats, name)
    head, sections = split(value)
    check_head(head, name)
    assert ">>>" in sections["Examples"]
    assert name in sections["Examples"]
