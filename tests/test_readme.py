"""README, CI and what is installed say the same."""

from __future__ import annotations

import re
import tomllib

import pytest
from conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_ci_runs_the_two_commands_word_for_word() -> None:
    commands = re.findall(r"```sh\n(.+?)\n```", README)
    assert len(commands) == 2
    for command in commands:
        assert command in CI.splitlines()


def test_the_snippet_runs_as_it_stands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    snippet = next(re.finditer(r"```python\n(.+?)\n```", README, flags=re.DOTALL))[1]
    monkeypatch.chdir(ROOT)
    exec(compile(snippet, "README.md", "exec"), {})
    said = capsys.readouterr().out
    assert "1080 records = 1080 rows + 0 left out + 0 merged" in said
    assert "0.450    [0.355, 0.549]" in said


def test_paths_that_the_readme_names_exist() -> None:
    for path in re.findall(
        r"`((?:analyses|records|notebooks|docs|tests|benchmarks|figures|pairstats)/[^`\s]*)`", README
    ):
        assert (ROOT / path).exists(), path
    for path in re.findall(r"\]\(((?!http)[^)]+)\)", README):
        assert (ROOT / path).exists(), path


def test_the_version_is_the_same_everywhere() -> None:
    import pairstats

    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {pairstats.__version__}" in citation
    assert f"## {pairstats.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_dependency_has_a_lower_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], project["optional-dependencies"]["test"]]
    assert all(
        re.fullmatch(r"[\w-]+>=[\d.]+|pairstats\[[\w,]+\]", each) for group in groups for each in group
    )
