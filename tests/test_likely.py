"""A refusal for want of a column offers the likeliest path, ready to be written, and no endless list."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import SHARED, needs_shared
from test_reader_inspect import header, sample, write_eval

import pairstats as ps
from pairstats import cli
from pairstats.errors import PairingError
from pairstats.readers.likely import grid_of, pattern_line, ready_line

READY = re.compile(r'By its name family="([\w.]+)" is likely\. Paths there are: ([^:]*) and (\d+) more\.')


def log(folder: Path, **metadata: object) -> Path:
    """Write an Inspect log of one sample with metadata of 90 fields and more."""
    wide = {f"field{n}": n for n in range(90)} | metadata
    return write_eval(folder / "a.eval", [sample("q1") | {"metadata": wide}], header())


@pytest.mark.parametrize("asked", [{}, {"family": "nowhere"}])
def test_the_offered_line_is_one_that_reads(tmp_path: Path, asked: dict[str, str]) -> None:
    path = log(tmp_path, family_id="f7", group="g")
    with pytest.raises(PairingError) as caught:
        ps.read_runs(path, **asked)
    told = READY.search(str(caught.value))
    assert told, caught.value
    line, shown, more = told.groups()
    assert line == "metadata.family_id"
    assert ps.read_runs(path, family=line).frame["family"].tolist() == ["f7"]
    assert len(shown.split(", ")) == 12
    assert int(more) >= 80


def test_a_name_that_is_nearly_the_same_is_offered_instead(tmp_path: Path) -> None:
    with pytest.raises(PairingError, match=r"Did you mean 'metadata.family_id'\? Paths") as caught:
        ps.read_runs(log(tmp_path, family_id="f7"), family="metadata.famly_id")
    assert "likely" not in str(caught.value)


def test_a_column_of_the_item_table_is_offered(tmp_path: Path) -> None:
    items = tmp_path / "items.json"
    items.write_text(json.dumps([{"item": "q1", "cluster": "c"}]))
    with pytest.raises(PairingError, match='By its name family="cluster" is likely'):
        ps.read_runs(log(tmp_path), items=items)


@pytest.mark.parametrize(
    ("column", "names", "offered"),
    [
        ("family", ["metadata.familyId", "x.family"], "x.family"),
        ("family", ["meta.item_family_2", "meta.template"], "meta.item_family_2"),
        ("family", ["metadata.family.id", "metadata.familiar", "id"], None),
        ("model", ["choices.0.model_name", "config.model"], "config.model"),
        ("repeat", ["epoch"], "epoch"),
        ("variant", [], None),
    ],
)
def test_the_last_part_of_the_name_decides(column: str, names: list[str], offered: str | None) -> None:
    assert ready_line(column, names) == (f' By its name {column}="{offered}" is likely.' if offered else "")


# --- patterns that fit the ids

PATTERN = re.compile(r'(\w+)=ps\.extract\("item", r"([^"]+)"\)')
OWN = SHARED / "samples" / "own"


@pytest.mark.parametrize(
    ("items", "patterns"),
    [
        (["q1-base", "q1-new", "q2-base", "q2-new"], (r"^(\w+)-", r"-(\w+)$")),
        (["a.b_c-x", "a.b_c-y", "d_e-x", "d_e-y"], (r"^(.+)-[^-]+$", r"-([^-]+)$")),
        (["q_1_base", "q_1_new", "q_2_base", "q_2_new"], (r"^(.+)_[^_]+$", r"_([^_]+)$")),
        (["q1-no-hint", "q1-with-hint", "q2-no-hint", "q2-with-hint"], (r"^([^-]+)-", r"^[^-]+-(.+)$")),
        (["q1/x", "q1/y", "q2/x", "q2/y"], (r"^(\w+)/", r"/(\w+)$")),
        (["q1.x", "q1.y", "q2.x", "q2.y"], (r"^(\w+)\.", r"\.(\w+)$")),
        ([f"q{n}-{v}" for n in range(9) for v in "ab"] + ["zzz-a"], (r"^(\w+)-", r"-(\w+)$")),
    ],
)
def test_patterns_that_make_families_are_found(items: list[str], patterns: tuple[str, str]) -> None:
    grid = grid_of(items)
    assert grid is not None
    assert (grid.family, grid.variant) == patterns


@pytest.mark.parametrize(
    "items",
    [
        [], ["q1-base"], ["q1-base", "q1-new"], ["q1-base", "q2-base"], ["q1-base", "q1-new", "q2-base", "q3-new"],
        ["math-1", "math-2", "code-1", "code-2"], [f"{c}-q{n}" for c in ("math", "code") for n in range(9)],
        ["q1-base", "q1-new", "q2-base", "q2-new", "odd"], ["6f9619ff", "7f9619ff"], [f"{n}" for n in range(40)],
    ],
)  # fmt: skip
def test_ids_that_make_no_families_get_no_pattern(items: list[str]) -> None:
    assert pattern_line(items) == ""


@needs_shared
@pytest.mark.parametrize(
    ("path", "words", "families", "told"),
    [
        ("kaggle_benchmarks", {}, 11, "the 31 items are 11 families, 10 of them each of"),
        ("promptfoo/paired.json", {"score": "correct"}, 10, "the 30 items are 10 families, each of"),
        (
            "inspect/eval",
            {"score": "letter_match", "model": "eval.metadata.system"},
            23,
            "23 families, 20 of them",
        ),
        (
            "inspect/full",
            {"score": "letter_match", "model": "eval.metadata.system"},
            60,
            "60 families, each of",
        ),
    ],
)
def test_the_offered_patterns_read_our_own_logs(
    path: str, words: dict[str, str], families: int, told: str
) -> None:
    with pytest.raises(PairingError) as caught:
        ps.read_runs(OWN / path, **words)
    message = str(caught.value)
    assert told in message
    assert "'base', 'distractor', 'reordered'" in message
    offered = {name: ps.extract("item", pattern) for name, pattern in PATTERN.findall(message)}
    assert offered == {"family": ps.extract("item", r"^(\w+)-"), "variant": ps.extract("item", r"-(\w+)$")}
    frame = ps.read_runs(OWN / path, **words, **offered).frame
    assert frame["family"].nunique() == families
    assert set(frame["variant"]) == {"base", "distractor", "reordered"}
    assert (frame["item"] == frame["family"] + "-" + frame["variant"].astype(str)).all()


@needs_shared
def test_the_shell_offers_its_own_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["normalize", str(OWN / "kaggle_benchmarks")]) == 2
    assert r"--family 'item~^(\w+)-' with --variant 'item~-(\w+)$'" in capsys.readouterr().err


def test_a_variant_that_is_told_is_not_offered_again(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [f"{q}-{v},m,1,{v}" for q in ("q1", "q2") for v in ("base", "new")]
    path.write_text("item,model,score,variant\n" + "\n".join(rows) + "\n")
    with pytest.raises(PairingError) as caught:
        ps.read_runs(path)
    assert [name for name, _ in PATTERN.findall(str(caught.value))] == ["family"]
    path.write_text(path.read_text().replace(",variant", ",kind"))
    with pytest.raises(PairingError) as caught:
        ps.read_runs(path)
    assert [name for name, _ in PATTERN.findall(str(caught.value))] == ["family", "variant"]
