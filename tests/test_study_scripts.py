"""What the four studies promise of themselves: short scripts, labelled figures, a stated seed, committed files."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
from conftest import ROOT

STUDIES = ("fine_print", "precedent_vs_spec", "wrong_test", "fairscreen")
DRAWN = {
    "heat_map", "outcome_bars", "dose_response", "flips_against_accuracy", "calibration", "forest", "slopes",
    "discordance", "usage_distribution", "rank_intervals", "cross_platform", "completeness",
}  # fmt: skip
"""One way of drawing for each figure that the write-ups show or need."""


def script(study: str) -> str:
    return (ROOT / "analyses" / study / "study.py").read_text(encoding="utf-8")


def calls(study: str) -> list[ast.Call]:
    """Calls that draw, in the function that draws all."""
    [figures] = [f for f in ast.parse(script(study)).body if getattr(f, "name", "") == "figures"]
    found = [node for node in ast.walk(figures) if isinstance(node, ast.Call)]
    return [
        c for c in found if isinstance(c.func, ast.Attribute) and getattr(c.func.value, "id", "") == "draw"
    ]


def seed(study: str) -> str:
    [found] = {
        match[1]
        for path in sorted((ROOT / "analyses" / study).glob("*.py"))
        if (match := re.search(r"^SEED = (\d+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    }
    return found


@pytest.mark.parametrize("study", STUDIES)
class TestOneStudy:
    def test_its_script_is_under_60_lines(self, study):
        assert len(script(study).splitlines()) < 60

    def test_every_figure_has_a_caption_of_its_own(self, study):
        assert calls(study)
        assert all("caption" in {k.arg for k in call.keywords} for call in calls(study))

    def test_captions_name_the_seed_of_the_generator(self, study):
        named = set(re.findall(r"\(seed (\d+)\)", script(study)))
        assert named == {seed(study)}

    @pytest.mark.parametrize("place", ["analyses", "records"])
    def test_readmes_name_the_seed_and_what_was_fitted(self, study, place):
        text = (ROOT / place / study / "README.md").read_text(encoding="utf-8")
        assert f"seed {seed(study)}" in text
        assert "fitted" in text.lower()

    def test_the_manifest_says_what_was_fitted(self, study):
        manifest = json.loads((ROOT / "records" / study / "manifest.json").read_text(encoding="utf-8"))
        assert str(manifest["seed"]) == seed(study)
        assert manifest["fitted"]

    def test_committed_figures_are_those_of_the_script(self, study):
        folder = ROOT / "figures" / study
        listed = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
        assert listed["not_drawn"] == {}
        assert {path.name for path in folder.iterdir()} == {*listed["files"], "figures.json"}
        assert {Path(name).stem for name in listed["files"]} == set(listed["script"])
        assert len(listed["script"]) >= len(calls(study))


def test_every_figure_that_the_write_ups_need_is_drawn():
    assert {call.func.attr for study in STUDIES for call in calls(study)} == DRAWN
