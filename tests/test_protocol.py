"""Protocol files: frozen values, and errors that give the line."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from conftest import ROOT

from pairstats import Bootstrap, FamilyInterval, FlipRate, ProtocolError, Versus, load_protocol
from pairstats.protocol import build_comparison, build_estimand, build_interval

STUDY = ROOT / "analyses" / "rule_conflicts" / "protocol.toml"
SMALL = """
[protocol]
name = "small"
[[records.source]]
path = "a.csv"
[[estimand]]
name = "accuracy"
kind = "mean"
[[contrast]]
name = "C1"
estimand = "accuracy"
compare = { factor = "condition", level = "told", reference = "plain" }
"""


def load(tmp_path: Path, text: str) -> object:
    path = tmp_path / "protocol.toml"
    path.write_text(text, encoding="utf-8")
    return load_protocol(path)


def test_the_study_of_the_project_is_read_as_written() -> None:
    protocol = load_protocol(STUDY)
    assert protocol.name == "rule-conflicts"
    assert [s.set["run"] for s in protocol.sources] == ["inspect", "plain client"]
    assert protocol.design.cells == ["run", "model"]
    flips = build_estimand(protocol.estimands[1])
    assert flips == FlipRate(
        "score", reference="base", variants=("base", "reordered"), label="flip_reordered"
    )
    assert build_interval(protocol.interval) == FamilyInterval("jeffreys")
    with pytest.raises(dataclasses.FrozenInstanceError):
        protocol.name = "other"  # type: ignore[misc]


def test_comparisons_and_intervals(tmp_path: Path) -> None:
    text = (
        SMALL + '[interval]\nmethod = "percentile"\nn_resamples = 2000\nseed = 1\nat_collapse = "family-cp"\n'
    )
    protocol = load(tmp_path, text)
    assert build_comparison(protocol.contrasts[0]) == Versus("condition", "plain", "told")
    wanted = Bootstrap("percentile", n_resamples=2000, seed=1, at_collapse="family-cp")
    assert build_interval(protocol.interval) == wanted


def test_the_digest_is_of_the_meaning(tmp_path: Path) -> None:
    one = load(tmp_path, SMALL).digest
    assert load(tmp_path, "# a comment\n" + SMALL.replace(" = ", "=")).digest == one
    deviated = SMALL + '[[deviation]]\ndate = 2026-10-05\nwhat = "thinking was off"\n'
    assert load(tmp_path, deviated).digest == one
    assert load(tmp_path, SMALL.replace('"told"', '"asked"')).digest != one


@pytest.mark.parametrize(
    ("change", "line", "message"),
    [
        (
            ('kind = "mean"', 'kind = "mean"\nkinds = 1'),
            9,
            r"\[estimand\] has the unknown key 'kinds'; it may have",
        ),
        (("[protocol]", "[protocols]"), 2, "the file has the unknown key 'protocols'"),
        (
            ('path = "a.csv"', "path = 3"),
            5,
            r"`path` in \[records.source\] must be str | list\[str\], but is 3",
        ),
        (('path = "a.csv"', 'score = "s"'), 4, r"\[records.source\] must have 'path'"),
        (
            ('estimand = "accuracy"', 'estimand = "flips"'),
            11,
            "asks for the estimand 'flips', which is not defined",
        ),
        (('factor = "condition", ', ""), 10, "must name its factor"),
        ((', reference = "plain"', ""), 10, "must have a reference"),
        (
            ("compare = {", 'claim = "equivalence"\ncompare = {'),
            10,
            "A claim of equivalence needs margin",
        ),
        (('name = "C1"', 'name = "C1"\nmargin = 0.1'), 10, "A claim of difference takes no margin"),
        (('name = "C1"', 'name = "C1"\nmargins = 0.1'), 11, "unknown key 'margins'"),
    ],
)
def test_faults_name_the_line(tmp_path: Path, change: tuple[str, str], line: int, message: str) -> None:
    assert change[0] in SMALL
    with pytest.raises(ProtocolError, match=message) as caught:
        load(tmp_path, SMALL.replace(*change))
    assert f"protocol.toml:{line}: " in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[protocol\n", "is not a TOML file"),
        ('[protocol]\nname = "x"\n', "must name its records"),
        (SMALL + '[[estimand]]\nname = "accuracy"\nkind = "brier"\n', "'accuracy' occurs twice"),
        (SMALL + '[multiplicity]\ncontrasts = ["C9"]\n', "'C9', which is no contrast"),
        (SMALL.replace("[[estimand]]", "[estimand]"), r"write \[\[estimand\]\]"),
    ],
)
def test_files_that_contradict_themselves(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        load(tmp_path, text)


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProtocolError, match="There is no protocol file"):
        load_protocol(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ('name = "x"\nkind = "median"', "`kind` must be one of mean, share, ratio"),
        (
            'name = "x"\nkind = "mean"\nargs = { col = "score" }',
            "unknown key 'col'; mean takes column, weight, bounds",
        ),
        ('name = "x"\nkind = "share"\nargs = { event = "score" }', "condition must read"),
        ('name = "x"\nkind = "share"', "event"),
    ],
)
def test_estimands_that_cannot_be_built(tmp_path: Path, rule: str, message: str) -> None:
    with pytest.raises(ProtocolError, match=message) as caught:
        load(tmp_path, SMALL + f"[[estimand]]\n{rule}\n")
    assert "protocol.toml:14: " in str(caught.value)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ('method = "wald"', "`method` must be one of family-jeffreys"),
        ('method = "family-cp"\nn_resamples = 100', "'n_resamples' belongs to a bootstrap"),
        ('method = "percentile"\nat_collapse = "zero"', "at_collapse"),
    ],
)
def test_intervals_that_cannot_be_built(tmp_path: Path, section: str, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        load(tmp_path, f"{SMALL}[interval]\n{section}\n")
