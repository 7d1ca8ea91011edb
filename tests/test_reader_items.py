"""Item tables: rows by item, or by item and variant; unknown items; items left out by a column."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pairstats as ps
from pairstats import cli
from pairstats.errors import PairingError
from pairstats.readers.item_keys import on_columns

ITEMS = [
    {"item": "q0", "fam": "f0", "revised": "no"},
    {"item": "q1", "fam": "f1", "revised": "yes"},
    {"item": "q2", "fam": "f1", "revised": None},
]


def log(tmp_path: Path, items: Any = ("q0", "q1", "q2"), name: str = "a.csv", **columns: Any) -> Path:
    frame = pd.DataFrame({"item": list(items), "model": "m", "score": 1.0} | columns)
    frame.to_csv(tmp_path / name, index=False)
    return tmp_path / name


def adds_up(records: ps.Records) -> bool:
    ledger = records.ledger
    return bool((ledger["records"] == ledger["rows"] + ledger["left_out"] + ledger["merged"]).all())


# --- unknown items


def test_an_item_that_the_table_does_not_know_is_an_error(tmp_path: Path) -> None:
    path = log(tmp_path, ["q0", "q3", "q1", "q4", "q5", "q6"])
    with pytest.raises(PairingError) as caught:
        ps.read_runs(path, family="item", items=ITEMS)
    assert str(caught.value) == (
        "item table must have a row for every item of the records, but has none for 4: item 'q3' (a.csv:3); "
        "item 'q4' (a.csv:5); item 'q5' (a.csv:6) and 1 more. Add them to the table, or leave them out, "
        "counted, by patterns of ids: exclude='q3' and so on."
    )
    kept = ps.read_runs(path, family="item", items=ITEMS, exclude="q[3-6]")
    assert (kept.frame["item"].tolist(), kept.ledger["left_out"].tolist()) == (["q0", "q1"], [4, 0])


def test_the_shell_refuses_unknown_items_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, table = log(tmp_path, ["q0", "q3"]), tmp_path / "items.csv"
    pd.DataFrame(ITEMS).to_csv(table, index=False)
    words = [
        "normalize",
        str(path),
        "--family",
        "item",
        "--items",
        str(table),
        "-o",
        str(tmp_path / "r.parquet"),
    ]
    assert cli.main(words) == 2
    told = capsys.readouterr().err
    assert (
        "items.csv must have a row for every item of the records, but has none for 1: item 'q3' (a.csv:3)"
        in told
    )
    assert "by patterns of ids: --exclude q3 and so on" in told
    assert not (tmp_path / "r.parquet").exists()
    assert cli.main([*words, "--exclude", "q3"]) == 0
    assert ps.load_records(tmp_path / "r.parquet").frame["item"].tolist() == ["q0"]


def test_going_on_leaves_out_a_minority_of_unknown_items(tmp_path: Path) -> None:
    path = log(tmp_path, ["q0", "q1", "q3"])
    records = ps.read_runs(path, family="fam", items=ITEMS, keep_going=True, planned=True)
    assert records.frame["status"].tolist() == ["answered", "answered", "absent"]
    assert records.left_out.to_numpy().tolist() == [["a.csv:4", "not in item table"]]
    assert adds_up(records)
    most = log(tmp_path, ["q0", "q3", "q4"], "b.csv")
    with pytest.raises(PairingError, match="has none for 2"):
        ps.read_runs(most, family="fam", items=ITEMS, keep_going=True)


# --- exclude=COLUMN=PATTERN


@pytest.mark.parametrize("planned", [False, True])
def test_items_are_left_out_by_a_column_of_the_table(tmp_path: Path, planned: bool) -> None:
    path = log(tmp_path)
    words: dict[str, Any] = {"family": "fam", "items": ITEMS, "planned": planned}
    records = ps.read_runs(path, exclude=["revised=yes"], **words)
    assert records.frame["item"].tolist() == ["q0", "q2"]
    assert records.left_out.to_numpy().tolist() == [["a.csv:3", "excluded by 'revised=yes'"]]
    assert records.ledger["note"].tolist() == ["", "3 items; exclude 'revised=yes' fits 1 row"]
    assert adds_up(records)
    # A blank cell is an empty text; any text is ?*.
    assert ps.read_runs(path, exclude=["revised="], **words).frame["item"].tolist() == ["q0", "q1"]
    assert ps.read_runs(path, exclude="revised=?*", **words).frame["item"].tolist() == ["q2"]


def test_what_is_left_out_by_a_column_is_no_part_of_the_plan(tmp_path: Path) -> None:
    records = ps.read_runs(
        log(tmp_path, ["q0"]), family="fam", items=ITEMS, planned=True, exclude=["revised=yes", "z*"]
    )
    assert records.frame[["item", "status"]].to_numpy().tolist() == [["q0", "answered"], ["q2", "absent"]]
    assert records.ledger["note"].tolist() == [
        "exclude 'z*' fits no item", "3 items; exclude 'revised=yes' fits 1 row",
    ]  # fmt: skip


def test_a_pattern_on_a_column_that_fits_no_row_says_what_the_column_holds(tmp_path: Path) -> None:
    records = ps.read_runs(log(tmp_path), family="fam", items=ITEMS, exclude=["revised=yse"])
    assert len(records) == 3
    assert records.ledger["note"].tolist()[1] == (
        "3 items; exclude 'revised=yse' fits 0 rows: column 'revised' holds '', 'no', 'yes'"
    )


def test_truth_values_are_written_as_in_json(tmp_path: Path) -> None:
    items = pd.DataFrame({"item": ["q0", "q1", "q2"], "fam": "f", "revised": [True, False, False]})
    kept = ps.read_runs(log(tmp_path), family="fam", items=items, exclude=["revised=true"])
    assert kept.frame["item"].tolist() == ["q1", "q2"]


def test_the_shell_leaves_items_out_by_a_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "items.csv"
    pd.DataFrame(ITEMS).to_csv(table, index=False)
    words = ["normalize", str(log(tmp_path)), "--family", "fam", "--items", str(table)]
    assert cli.main([*words, "--exclude", "revised=yes"]) == 0
    assert "1 excluded by 'revised=yes'" in capsys.readouterr().out
    assert cli.main([*words, "--exclude", "revisd=yes"]) == 2
    assert "Did you mean 'revised'?" in capsys.readouterr().err


def test_a_column_that_the_table_lacks_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        PairingError, match=r"or name a column of item table, but 'revisd' is none.*'revised'\?"
    ):
        ps.read_runs(log(tmp_path), family="fam", items=ITEMS, exclude=["revisd=yes"])
    records = ps.read_runs(log(tmp_path), family="item", exclude=["revised=yes"])
    assert records.ledger["note"].tolist() == [
        "exclude 'revised=yes' fits no item, and there is no item table with such a column"
    ]


@pytest.mark.parametrize("items", [None, [{"item": "a=1"}, {"item": "a=2"}, {"item": "b=1"}]])
def test_ids_that_hold_an_equals_sign_are_still_left_out(tmp_path: Path, items: Any) -> None:
    path = log(tmp_path, ["a=1", "a=2", "b=1"])
    assert ps.read_runs(path, family="item", items=items, exclude=["a=*"]).frame["item"].tolist() == ["b=1"]


def test_a_pattern_that_may_be_meant_in_two_ways_is_refused(tmp_path: Path) -> None:
    path = log(tmp_path, ["a=1", "a=2", "b=1"])
    items = [{"item": "a=1", "a": "1"}, {"item": "a=2", "a": "2"}, {"item": "b=1", "a": "1"}]
    with pytest.raises(PairingError, match=r"must mean one thing.* by the id: 'a=1'\. Write '\[a\]=1'"):
        ps.read_runs(path, family="item", items=items, exclude=["a=1"])
    kept = ps.read_runs(path, family="item", items=items, exclude=["[a]=1"])
    assert kept.frame["item"].tolist() == ["a=2", "b=1"]


def test_a_column_whose_name_holds_an_equals_sign() -> None:
    assert on_columns(["x=y=1"], ["x=y"]) == {"x=y=1": ("x=y", "1")}


# --- one row an item and variant

PAIRS = [
    {"item": item, "variant": variant, "fam": f"f-{item}", "level": f"{item}{variant}", "revised": revised}
    for item, variant, revised in
    [("q0", "base", "no"), ("q0", "new", "yes"), ("q1", "base", "no"), ("q1", "new", "no"), ("q2", "new", "no")]
]  # fmt: skip


def test_a_row_an_item_and_variant_is_joined_on_both(tmp_path: Path) -> None:
    path = log(tmp_path, ["q0", "q0", "q1", "q1"], variant=["base", "new"] * 2)
    records = ps.read_runs(path, family="fam", category="level", items=PAIRS)
    assert records.frame["category"].tolist() == ["q0base", "q0new", "q1base", "q1new"]
    assert records.frame["family"].tolist() == ["f-q0", "f-q0", "f-q1", "f-q1"]
    assert records.ledger["note"].tolist()[1] == "3 items, 5 rows by item and variant"
    kept = ps.read_runs(path, family="fam", items=PAIRS, exclude=["revised=yes"])
    assert list(zip(kept.frame["item"], kept.frame["variant"], strict=True)) == [
        ("q0", "base"), ("q1", "base"), ("q1", "new"),
    ]  # fmt: skip
    assert adds_up(kept)


def test_the_variant_may_have_another_name_on_both_sides(tmp_path: Path) -> None:
    rows = [{("kind" if k == "variant" else k): v for k, v in row.items()} for row in PAIRS]
    path = log(tmp_path, ["q0", "q0"], kind=["base", "new"])
    records = ps.read_runs(path, family="fam", variant="kind", category="level", items=rows)
    assert records.frame["category"].tolist() == ["q0base", "q0new"]


def test_the_plan_of_items_and_variants(tmp_path: Path) -> None:
    path = log(tmp_path, ["q0", "q1"], variant=["base", "new"])
    records = ps.read_runs(
        path, family="fam", category="level", items=PAIRS, planned=True, exclude=["revised=yes"]
    )
    absent = records.frame.query("status == 'absent'")
    assert absent[["item", "variant", "family", "category"]].to_numpy().tolist() == [
        ["q1", "base", "f-q1", "q1base"], ["q2", "new", "f-q2", "q2new"],
    ]  # fmt: skip
    assert adds_up(records)


def test_further_columns_of_the_key_name_a_row_too(tmp_path: Path) -> None:
    rows = [
        {"item": "q0", "condition": condition, "repeat": repeat, "fam": "f", "level": f"{condition}{repeat}"}
        for condition in ("cold", "hot") for repeat in (0, 1)
    ]  # fmt: skip
    path = log(tmp_path, ["q0", "q0", "q0"], condition=["cold", "hot", "hot"], repeat=[0, 0, 1])
    records = ps.read_runs(path, family="fam", category="level", items=rows, planned=True)
    assert records.frame["category"].tolist() == ["cold0", "hot0", "hot1", "cold1"]
    assert records.frame["status"].tolist() == ["answered"] * 3 + ["absent"]
    assert records.ledger["note"].tolist()[1] == "1 item, 4 rows by item and condition and repeat"
    warm = [*rows, {"item": "q0", "condition": "warm", "repeat": 0, "fam": "f", "level": "w"}]
    planned = ps.read_runs(path, family="fam", items=warm, planned=True).frame.query("status == 'absent'")
    assert list(zip(planned["condition"], planned["repeat"], strict=True)) == [("cold", 1), ("warm", 0)]


def test_an_unknown_variant_is_an_unknown_row(tmp_path: Path) -> None:
    path = log(tmp_path, ["q0", "q2"], variant=["base", "base"])
    with pytest.raises(PairingError, match=r"has none for 1: item 'q2', variant 'base' \(a.csv:3\)"):
        ps.read_runs(path, family="fam", items=PAIRS)


def test_records_must_tell_what_names_a_row(tmp_path: Path) -> None:
    with pytest.raises(
        PairingError, match=r"has a row an item and variant, so the records must tell their variant"
    ):
        ps.read_runs(log(tmp_path), family="fam", items=PAIRS)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([*PAIRS, PAIRS[0]], "holds 'q0' more than once, with variant 'base'. Rows of one item can be told"),
        ([{"item": "q0", "fam": "f"}] * 2, "holds 'q0' more than once. Rows of one item can be told apart by 'var"),
    ],
)  # fmt: skip
def test_a_doubled_item_is_told_as_what_it_is(tmp_path: Path, rows: Any, message: str) -> None:
    with pytest.raises(PairingError) as caught:
        ps.read_runs(log(tmp_path, variant="base"), family="fam", items=rows)
    assert f"Column 'item' of item table must name each item once, but {message}" in str(caught.value)


def test_a_number_of_the_row_is_not_taken_for_an_item(tmp_path: Path) -> None:
    """The row's number holds the records' items just as well, and names each row; the column `item` is meant."""
    rows = [{"row": str(n), **row} for n, row in enumerate(PAIRS)]
    for row in rows:
        row["item"] = row["item"].removeprefix("q")
    path = log(tmp_path, ["0", "1"], variant=["new", "new"])
    records = ps.read_runs(path, family="fam", category="level", items=rows)
    assert records.frame["category"].tolist() == ["q0new", "q1new"]


@pytest.mark.parametrize("mark", ["\t", ";", ","])
def test_an_item_table_may_have_any_delimiter(tmp_path: Path, mark: str) -> None:
    (tmp_path / "runs.csv").write_text("item,model,score\nq1,m,1\nq2,m,0\n")
    (tmp_path / "items.txt").write_text(f"item{mark}topic\nq1{mark}a\nq2{mark}b\n")
    found = ps.read_runs(tmp_path / "runs.csv", family="topic", items=tmp_path / "items.txt").frame
    assert found["family"].tolist() == ["a", "b"]


def test_truth_values_of_an_item_table_are_left_out_in_any_case(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("item,model,score\nq1,m,1\nq2,m,0\n")
    items = [{"item": "q1", "revised": True}, {"item": "q2", "revised": False}]
    for pattern in ("revised=True", "revised=true"):
        found = ps.read_runs(tmp_path / "runs.csv", family="item", items=items, exclude=[pattern])
        assert found.frame["item"].tolist() == ["q2"]


# --- nested cells


@pytest.mark.parametrize("log_of", ["a.csv", "a.parquet"])
def test_a_path_leads_into_a_cell_of_the_table(tmp_path: Path, log_of: str) -> None:
    path = log(tmp_path)
    if log_of == "a.parquet":
        path = tmp_path / log_of
        pd.read_csv(tmp_path / "a.csv").to_parquet(path)
    items = [
        {"item": name, "about": {"topic": f"t{name}", "tags": ["x", name]}, "about.level": name.upper()}
        for name in ("q0", "q1", "q2")
    ]
    found = ps.read_runs(
        path, items=items, family="items.about.topic", category="about.tags.1", split="about.level"
    ).frame
    assert found[["family", "category", "split"]].values.tolist() == [
        [f"t{name}", name, name.upper()] for name in ("q0", "q1", "q2")
    ]


def test_a_path_that_record_and_cell_tell_differently_is_refused(tmp_path: Path) -> None:
    lines = [{"item": f"q{n}", "model": "m", "score": 1, "about": {"topic": f"own{n}"}} for n in range(2)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    items = [{"item": f"q{n}", "about": {"topic": f"t{n}"}} for n in range(2)]
    with pytest.raises(PairingError, match=r"'own0' in the record and 't0' in the item table"):
        ps.read_runs(tmp_path / "a.jsonl", items=items, family="about.topic")
    found = ps.read_runs(
        tmp_path / "a.jsonl", items=items, family="items.about.topic", category="record.about.topic"
    )
    assert found.frame[["family", "category"]].values.tolist() == [["t0", "own0"], ["t1", "own1"]]
