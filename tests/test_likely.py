"""A refusal for want of a column offers the likeliest path, ready to be written, and no endless list."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from test_reader_inspect import header, sample, write_eval

import pairstats as ps
from pairstats.errors import PairingError
from pairstats.readers.likely import ready_line

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
