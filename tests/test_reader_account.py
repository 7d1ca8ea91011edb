"""What a reader tells of tables: names that gave way, patterns that fit nothing, and one clean error."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pairstats as ps
from pairstats.errors import PairstatsError

ROWS = pd.DataFrame({
    "item": [f"q{i}" for i in range(6)], "model": ["old"] * 5 + ["older"], "score": [1, 0, 1, 1, 0, 1],
})  # fmt: skip


def table(path: Path, rows: pd.DataFrame = ROWS) -> Path:
    if path.suffix == ".parquet":
        rows.to_parquet(path)
    elif path.suffix == ".jsonl":
        rows.to_json(path, orient="records", lines=True)
    elif path.suffix == ".json":
        rows.to_json(path, orient="records")
    else:
        rows.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.mark.parametrize("column", ["model", "model_name"])
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "json", "parquet"])
def test_a_table_s_own_names_of_the_model_are_told_where_they_gave_way(
    tmp_path: Path, kind: str, column: str
) -> None:
    path = table(tmp_path / f"a.{kind}", ROWS.rename(columns={"model": column}))
    records = ps.read_runs({"new": path}, family="item")
    assert set(records.frame["model"]) == {"new"}
    assert records.ledger["note"].tolist() == [
        "its own name of the model, 'old', gave way to 'new'; "
        "its own name of the model, 'older', gave way to 'new'"
    ]
    same = ps.read_runs({"old": table(tmp_path / f"b.{kind}", ROWS.assign(model="old"))}, family="item")
    assert same.ledger["note"].tolist() == [""]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (pd.concat([ROWS, ROWS.assign(score=0)]), {"family": "item"}),
        (ROWS, {}),
        (ROWS, {"family": "nowhere"}),
        (ROWS.assign(score=7), {"family": "item"}),
        (ROWS.assign(repeat=0.5), {"family": "item"}),
        (ROWS.rename(columns={"model": "who"}), {"family": "item"}),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_an_error_is_one_error(tmp_path: Path, kind: str, rows: pd.DataFrame, words: dict[str, Any]) -> None:
    path = table(tmp_path / f"a.{kind}", rows)
    with pytest.raises(PairstatsError) as caught:
        ps.read_runs(path, **words)
    shown = "".join(traceback.format_exception(caught.value))
    assert "UnusualError" not in shown
    assert "During handling of the above exception" not in shown


def test_a_pattern_that_fits_planned_items_alone_says_so(tmp_path: Path) -> None:
    items = pd.DataFrame({"item": [*ROWS["item"], "z1", "z2", "y1"]})
    words: dict[str, Any] = {"family": "item", "items": items, "exclude": ["z*", "q0", "none"]}
    path = table(tmp_path / "a.csv", ROWS.assign(model="m"))
    planned = ps.read_runs(path, planned=True, **words)
    assert planned.ledger["note"].tolist()[0] == (
        "exclude 'z*' fits 2 planned items without a record; exclude 'none' fits no item"
    )
    assert planned.frame.query("status == 'absent'")["item"].tolist() == ["y1"]
    assert ps.read_runs(path, **words).ledger["note"].tolist()[0] == (
        "exclude 'z*' fits no item; exclude 'none' fits no item"
    )
