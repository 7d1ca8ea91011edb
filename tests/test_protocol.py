"""Protocol files: frozen values, and errors that give the line."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from conftest import ROOT

from pairstats import Bootstrap, FamilyInterval, FlipRate, ProtocolError, Versus, extract, load_protocol
from pairstats.answers.format import KINDS as ANSWER_KINDS
from pairstats.estimands import KINDS
from pairstats.infer import MISSING_RULES
from pairstats.interval_names import NAMED, SHARES_ONLY
from pairstats.more_intervals import Betting, WildCluster
from pairstats.panel import POPULATIONS
from pairstats.protocol import build_comparison, build_estimand, build_interval, build_mapping, with_method
from pairstats.protocol.settings import NO_ANSWER_RULES
from pairstats.protocol.tables import SEVERAL, SINGLE
from pairstats.verdicts import CLAIMS, MULTIPLICITY

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
        (('factor = "condition", ', ""), 12, "must name its factor"),
        ((', reference = "plain"', ""), 12, "must have a reference"),
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
    ("rule", "line", "message"),
    [
        ('name = "x"\nkind = "median"', 15, "`kind` must be one of mean, share, ratio"),
        (
            'name = "x"\nkind = "mean"\nargs = { col = "score" }', 14,
            "unknown key 'col'; mean takes column, weight, bounds",
        ),
        ('name = "x"\nkind = "mean"\nargs = { column = 3 }', 16, "`args.column` must be a name, but is 3"),
        ('name = "x"\nkind = "mean"\nargs = { bounds = [1, 0] }', 16, "`args.bounds` must be two numbers"),
        ('name = "x"\nkind = "share"\nargs = { event = "score" }', 14, "condition must read"),
        ('name = "x"\nkind = "share"\nargs = { event = 3 }', 14, "Estimand 'x'"),
        ('name = "x"\nkind = "share"', 14, "event"),
        ('name = "x"\nkind = "mean"\nwhere = { model = { a = 1 } }', 16, "`where.model` must be a word"),
    ],
)  # fmt: skip
def test_estimands_that_cannot_be_built(tmp_path: Path, rule: str, line: int, message: str) -> None:
    with pytest.raises(ProtocolError, match=message) as caught:
        load(tmp_path, SMALL + f"[[estimand]]\n{rule}\n")
    assert f"protocol.toml:{line}: " in str(caught.value)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ('method = "wald"', "`method` must be one of family-jeffreys"),
        (
            'method = "family-cp"\nn_resamples = 100',
            "'n_resamples' does not belong to the method 'family-cp'",
        ),
        ('method = "betting"\nn_resamples = 100', "takes 'seed'"),
        ('method = "percentile"\nat_collapse = "zero"', "at_collapse"),
    ],
)
def test_proportions_that_cannot_be_built(tmp_path: Path, section: str, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        load(tmp_path, f"{SMALL}[interval]\n{section}\n")


@pytest.mark.parametrize("name", NAMED)
def test_every_interval_can_be_named_in_a_protocol(tmp_path: Path, name: str) -> None:
    shares = SMALL.partition("[[contrast]]")[0]
    built = build_interval(load(tmp_path, f'{shares}[interval]\nmethod = "{name}"\n').interval)
    assert built == NAMED[name]
    assert built.name == name


def test_proportions_take_the_settings_they_have(tmp_path: Path) -> None:
    asked = 'method = "wild-cluster"\nn_resamples = 499\nseed = 3'
    wild = load(tmp_path, f"{SMALL}[interval]\n{asked}\n").interval
    assert build_interval(wild) == WildCluster(499, 3)
    assert build_interval(with_method(wild, "betting")) == Betting(3)
    assert build_interval(with_method(wild, "family-cp")) == NAMED["family-cp"]


@pytest.mark.parametrize("name", SHARES_ONLY)
def test_contrasts_refuse_an_interval_for_shares(tmp_path: Path, name: str) -> None:
    with pytest.raises(ProtocolError, match=f"{name}' is for single shares and has no form"):
        load(tmp_path, f'{SMALL}[interval]\nmethod = "{name}"\n')


SECTION = """
[protocol]
name = "small"
[[records.source]]
path = "a.csv"
{source}
[design]
{design}
[interval]
{interval}
[calibration]
{calibration}
[multiplicity]
{multiplicity}
[[estimand]]
name = "accuracy"
kind = "mean"
[[contrast]]
name = "C1"
estimand = "accuracy"
{contrast}
[[sensitivity]]
name = "other"
{sensitivity}
"""
RIGHT = {
    "source": "", "design": "", "interval": "", "calibration": "", "multiplicity": "",
    "contrast": 'compare = { factor = "model" }', "sensitivity": 'no_answer = "missing"',
}  # fmt: skip
STOPS = [
    ("source", 'map = { zzz = "a" }', r"`map` has the unknown column 'zzz'; it may have item"),
    ("source", 'map = { extra = "a" }', "unknown column 'extra'"),
    ("source", "map = { family = 3 }", "`map.family` must be a dotted path"),
    ("source", 'map = { family = "item~^x" }', "`map.family`: `pattern` must have a group"),
    ("source", 'map = { family = "item~^(" }', "must be a regular expression"),
    ("source", 'set = { score = "1" }', "`set` must not set 'score'"),
    ("source", 'set = { model = "m" }\nmap = { model = "m" }', "'model' is in `map` and `set`"),
    ("source", "confidence_scale = 0", "`confidence_scale` must be positive"),
    ("source", "confidence_scale = nan", "`confidence_scale` must be positive"),
    ("source", 'options = "options"', r"used by \[answers\] only"),
    ("source", "planned = true", "`planned` needs `items`"),
    ("source", 'reader = "nobody"', "`reader` must be one of"),
    ("design", 'missing = "impute"', "`missing` must be one of 'common', 'refuse', 'drop-family'"),
    ("design", 'no_answer = "skip"', "`no_answer` must be one of 'wrong', 'missing'"),
    ("design", 'population = "all"', "`population` must be one of 'families', 'these_cases'"),
    ("design", 'cells = ["model", "model"]', "`cells` must name each once, but names 'model' twice"),
    ("design", 'cells = [""]', "a name is empty"),
    ("design", 'unit = ["item", "item"]', "`unit` must name each once"),
    ("design", 'blocks = ["split", "split"]', "`blocks` must name each once"),
    ("design", "expect = { cats = 3 }", "unknown key 'cats'"),
    ("design", "expect = { families = 0 }", "`expect` must hold counts of at least 1"),
    ("design", "minimum = 1.5", "`minimum` must be a share"),
    ("design", "minimum = nan", "`minimum` must be a share"),
    ("design", "score_range = [1, 0]", "`score_range` must be two numbers, the lower first"),
    ("design", "score_range = [0, nan]", "`score_range` must be two numbers"),
    ("design", "score_range = [0, inf]", "`score_range` must be two numbers"),
    ("design", "score_range = [0]", "`score_range` must be two numbers"),
    ("interval", "confidence_level = 95", "`confidence_level` must lie strictly between 0 and 1"),
    ("interval", "confidence_level = nan", "`confidence_level` must lie strictly between 0 and 1"),
    ("interval", 'method = "wald"', "`method` must be one of"),
    ("interval", 'method = "bca"\nn_resamples = 0', "`n_resamples` must be at least 1"),
    ("interval", 'method = "bca"\nseed = -1', "`seed` must be a whole number of at least 0"),
    ("calibration", "bins = 0", "`bins` must be a positive whole number or 'distinct'"),
    ("calibration", 'bins = "some"', "`bins` must be a positive whole number or 'distinct'"),
    ("multiplicity", 'contrasts = ["C1", "C1"]', "must name each contrast once"),
    ("multiplicity", 'method = "sidak"', "`method` must be one of holm"),
    ("contrast", 'compare = { factor = "model", reference = "a", level = "a" }', "must have one reference"),
    ("contrast", 'compare = { factor = "model", reference = "a", level = ["b", "b"] }', "each level once"),
    ("contrast", 'compare = { factor = "model", doses = { a = 1, b = 1 } }', "two different doses"),
    ("contrast", 'compare = { factor = "model", doses = { a = 1, b = nan } }', "two different doses"),
    ("contrast", 'compare = { factor = "model" }\naverage = "model"', "`average` names 'model'"),
    ("contrast", 'compare = { factor = "model" }\nalpha = 0.0', "`alpha` must lie between"),
    ("contrast", 'compare = { factor = "model" }\nside = "both"', "`side` must be one of"),
    ("contrast", 'compare = { factor = "model" }\nclaim = "equivalence"\nmargin = -1', "positive number"),
    ("contrast", 'compare = { factor = "model" }\nwhere = { split = [] }', "`where.split` must be a word"),
    ("sensitivity", 'no_answer = "skip"', "Sensitivity 'other': `no_answer` must be one of"),
    ("sensitivity", 'missing = "impute"', "Sensitivity 'other': `missing` must be one of"),
    ("sensitivity", 'method = "wald"', "Sensitivity 'other': .*`method` must be one of"),
    ("sensitivity", 'drop = "score"', "Sensitivity 'other': A condition must read"),
    ("sensitivity", "", "must change something"),
]


def sections(**changes: str) -> str:
    return SECTION.format(**{**RIGHT, **changes})


def test_the_sections_below_are_right_as_they_stand(tmp_path: Path) -> None:
    assert load(tmp_path, sections()).name == "small"


@pytest.mark.parametrize(("section", "written", "message"), STOPS)
def test_what_stops_a_run_is_found_before_the_data(
    tmp_path: Path, section: str, written: str, message: str
) -> None:
    text = sections(**{section: written})
    with pytest.raises(ProtocolError, match=message) as caught:
        load(tmp_path, text)
    assert len(caught.value.findings) == 1
    line = int(str(caught.value).split("protocol.toml:")[1].partition(":")[0])
    found = text.splitlines()[line - 1]
    assert found in written.splitlines() or found in ('name = "C1"', 'name = "other"')


def test_all_faults_are_told_at_once_each_with_its_line(tmp_path: Path) -> None:
    first = {section: (written, message) for section, written, message in reversed(STOPS)}
    wrong = {section: written for section, (written, _) in first.items()}
    text = sections(**wrong) + "[power]\nfamilies = [0]\nicc = 2.0\nrho = 0.5\n[power.rates]\na = 1\n[typo]\n"
    with pytest.raises(ProtocolError, match="has 11 faults") as caught:
        load(tmp_path, text)
    found = caught.value.findings
    lines = [int(each.split("protocol.toml:")[1].partition(":")[0]) for each in found]
    assert lines == sorted(lines)
    for message in (
        *(message for _, message in first.values()),
        "`families` must list", "`icc` must lie", "`rates` must hold a table", "unknown key 'typo'",
    ):  # fmt: skip
        assert len([each for each in found if re.search(message, each)]) == 1, message


@pytest.mark.parametrize("name", ['""', '"  "'])
def test_a_name_must_not_be_empty(tmp_path: Path, name: str) -> None:
    for line in ('name = "small"', 'name = "accuracy"', 'name = "C1"', 'name = "other"'):
        with pytest.raises(ProtocolError, match=r"`name` in .* must not be empty"):
            load(tmp_path, sections().replace(line, f"name = {name}"))


def test_a_fault_of_one_table_blames_no_other(tmp_path: Path) -> None:
    text = sections(multiplicity='contrasts = ["C1"]').replace('estimand = "accuracy"', "estimand = 3")
    text = text.replace('kind = "mean"', "kind = 7")
    with pytest.raises(ProtocolError) as caught:
        load(tmp_path, text)
    assert [message.partition(": ")[2] for message in caught.value.findings] == [
        "`kind` in [estimand] must be str, but is 7.", "`estimand` in [contrast] must be str, but is 3.",
    ]  # fmt: skip


def test_lines_are_those_of_the_table_that_is_meant(tmp_path: Path) -> None:
    """Words such as ``missing`` occur in names, comments and other tables too."""
    text = sections(
        source='# missing = "impute"', design='missing = "impute"', sensitivity='missing = "refuse"'
    ).replace('name = "small"', 'name = "missing"')
    with pytest.raises(ProtocolError) as caught:
        load(tmp_path, text)
    line = text.splitlines().index('missing = "impute"') + 1
    assert f"protocol.toml:{line}: " in str(caught.value)
    second = SMALL + '[[contrast]]\nname = "C2"\nestimand = "none"\n[contrast.compare]\nfactor = "model"\n'
    with pytest.raises(ProtocolError, match=r"protocol\.toml:15: Contrast 'C2' asks for the estimand 'none'"):
        load(tmp_path, second)
    with pytest.raises(
        ProtocolError, match=r"protocol\.toml:16: compare of contrast 'C2' has the unknown key"
    ):
        load(tmp_path, second.replace('"none"', '"accuracy"') + "wrong = 1\n")


def test_a_syntax_fault_has_its_line_too(tmp_path: Path) -> None:
    with pytest.raises(ProtocolError, match=r"protocol\.toml:3 is not a TOML file"):
        load(tmp_path, "[protocol]\nname = 'x'\nregistered = \n")


def test_max_t_needs_differences_without_margins(tmp_path: Path) -> None:
    claim = 'compare = { factor = "model" }\nclaim = "equivalence"\nmargin = 0.1'
    assert load(tmp_path, sections(multiplicity='method = "max-t"'))
    with pytest.raises(ProtocolError, match="max-t adjusts differences without margins"):
        load(tmp_path, sections(multiplicity='method = "max-t"', contrast=claim))


@pytest.mark.parametrize(
    "written", [r'"item~^(\\w+)-"', r'{ from = "item", pattern = "^(\\w+)-" }', r"'item~^(\w+)-'"]
)
def test_a_mapping_may_be_a_pattern_as_in_the_shell(tmp_path: Path, written: str) -> None:
    protocol = load(tmp_path, sections(source=f"map = {{ family = {written} }}"))
    assert build_mapping("family", protocol.sources[0].map["family"]) == extract("item", r"^(\w+)-")


def test_another_method_takes_the_resampling_of_the_registered_one_only_if_it_resamples(
    tmp_path: Path,
) -> None:
    rule = load(tmp_path, sections(interval='method = "bca"\nn_resamples = 500\nseed = 1')).interval
    assert build_interval(with_method(rule, "basic")) == Bootstrap("basic", n_resamples=500, seed=1)
    assert build_interval(with_method(rule, "family-cp")) == FamilyInterval("cp")


def test_a_protocol_shows_itself_on_one_short_line(tmp_path: Path) -> None:
    shown = repr(load(tmp_path, SMALL))
    assert shown.startswith("Protocol 'small' (")
    assert "1 source, 1 estimand, 1 contrast; sha256 " in shown
    assert len(shown) < 250


def test_every_key_of_a_protocol_is_documented() -> None:
    text = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `\[{1,2}([\w.]+)\]{1,2}` \| (.+) \|$", text, re.MULTILINE))
    for section, kind in {**SINGLE, **SEVERAL}.items():
        row = rows[section.removeprefix("exploratory.")]
        words = set(re.findall(r"`([^`]+)`", row))
        absent = [each.name for each in dataclasses.fields(kind) if each.name not in words]
        assert not absent, f"[{section}] in docs/protocol.md lacks {absent}"


@pytest.mark.parametrize(
    ("section", "allowed"),
    [
        ("estimand", KINDS), ("interval", NAMED), ("multiplicity", MULTIPLICITY), ("answers", ANSWER_KINDS),
        ("design", (*MISSING_RULES, *NO_ANSWER_RULES, *POPULATIONS)),
    ],
)  # fmt: skip
def test_every_word_that_a_key_may_have_is_documented(section: str, allowed: Iterable[str]) -> None:
    text = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    [row] = re.findall(rf"^\| `\[+{section}\]+` \| (.+) \|$", text, re.MULTILINE)
    assert [word for word in allowed if f"`{word}`" not in row] == []


def test_claims_are_documented() -> None:
    text = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    assert [claim for claim in CLAIMS if f"`{claim}`" not in text] == []


def test_settings_of_all_sources_are_written_once(tmp_path: Path) -> None:
    path = tmp_path / "protocol.toml"
    path.write_text(
        """
[records]
map = { family = "f", model = "m" }
set = { run = "one" }
score = "strict"
[[records.source]]
path = "a"
[[records.source]]
path = "b"
map = { model = "who", item = "q" }
set = { run = "two" }
score = "loose"
[[estimand]]
name = "accuracy"
kind = "mean"
"""
    )
    one, two = load_protocol(path).sources
    assert (one.map, one.set, one.score) == ({"family": "f", "model": "m"}, {"run": "one"}, "strict")
    assert (two.map, two.set, two.score) == (
        {"family": "f", "model": "who", "item": "q"},
        {"run": "two"},
        "loose",
    )
    path.write_text(path.read_text().replace('score = "strict"', 'scores = "strict"'))
    with pytest.raises(ProtocolError, match=r"\[records\] has the unknown key 'scores'"):
        load_protocol(path)
