"""Two results folders: what changed, row by row, and why."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import small_studies as small

from pairstats import PairstatsError, run_protocol
from pairstats.difference import diff_results

TEXT = small.design() + small.TWO + small.CLAIMS.replace("METHOD", "holm")


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first")
    run_protocol(small.write(folder, TEXT, small.decisions(12)), folder / "out", report=False)
    return folder / "out"


def again(
    folder: Path, text: str = TEXT, change: Callable[[pd.DataFrame], pd.DataFrame] = lambda f: f
) -> Path:
    run_protocol(small.write(folder, text, change(small.decisions(12))), folder / "out", report=False)
    return folder / "out"


def test_the_same_run_twice_is_the_same(first: Path, tmp_path: Path) -> None:
    found = diff_results(first, again(tmp_path))
    assert found.same
    assert found.causes == ()
    assert (found.rows, found.files, found.protocol, found.versions) == ((), (), (), ())
    rows = pq.read_table(first / "estimates.parquet").num_rows
    assert found.summary == f"all {rows} rows are the same"
    assert found.compared == rows


def test_the_order_of_rows_is_no_difference_of_meaning(first: Path, tmp_path: Path) -> None:
    found = diff_results(first, again(tmp_path, change=lambda f: f.iloc[::-1]))
    assert found.same
    assert not found.records.any
    assert [each.name for each in found.files] == ["rows.csv"], "the file itself is another one"


def test_changed_added_and_removed_records_are_named_with_the_rows_they_touch(
    first: Path, tmp_path: Path
) -> None:
    def change(frame: pd.DataFrame) -> pd.DataFrame:
        answered = frame.index[(frame["status"] == "answered") & (frame["model"] == "a")]
        frame.loc[answered[0], "score"] = 1.0 - frame.loc[answered[0], "score"]
        new = frame.loc[[answered[1]]].assign(repeat=7)
        return pd.concat([frame.drop(index=answered[2]), new], ignore_index=True)

    found = diff_results(first, again(tmp_path, change=change))
    assert not found.same
    assert found.causes == ("records",)
    states = [each.state for each in found.records.changes]
    assert sorted(states) == ["added", "changed", "removed"]
    [altered] = [each for each in found.records.changes if each.state == "changed"]
    old, new = altered.changes["score"]
    assert {old, new} == {0.0, 1.0}
    assert altered.key["model"] == "a"
    touched = [row for row in found.rows if row.contrast is None]
    assert touched
    assert all("model=a" in row.where for row in touched), "cells of other models did not change"
    assert all(row.records > 0 for row in touched)
    assert found.rows[0].contrast is not None, "comparisons come first"
    text = str(found)
    assert "1 changed (score: 1)" in text
    assert "repeat=7" in text


def test_a_changed_protocol_is_told_by_setting(first: Path, tmp_path: Path) -> None:
    text = TEXT.replace("margin = 0.2\n", "margin = 0.05\n").replace(
        'no_answer = "wrong"', 'no_answer = "missing"'
    )
    found = diff_results(first, again(tmp_path, text))
    assert found.causes == ("protocol",)
    assert found.protocol == (
        "contrast no_worse.margin: was 0.2, is 0.05",
        "design.no_answer: was wrong, is missing",
    )
    changed = {change.name for row in found.rows for change in row.changes}
    assert {"estimate", "margin", "n_units"} <= changed
    margin = next(c for row in found.rows for c in row.changes if c.name == "margin")
    assert (margin.old, margin.new) == (0.2, 0.05)


def test_rows_on_one_side_only(first: Path, tmp_path: Path) -> None:
    versus = 'compare = {{ factor = "model", reference = "{}" }}'
    text = TEXT.replace(versus.format("a"), versus.format("b"))
    assert text != TEXT
    found = diff_results(first, again(tmp_path, text))
    states = {row.where: row.state for row in found.rows if row.state != "changed"}
    assert states["all (a - b) condition=told"] == "added"
    assert states["all (b - a) condition=told"] == "removed"
    assert "added" in found.summary
    assert "removed" in found.summary


def test_a_table_that_was_altered_afterwards_has_no_cause(first: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(first, tmp_path / "copy"))
    table = pq.read_table(copy / "estimates.parquet")
    frame = table.to_pandas()
    frame.loc[2, "estimate"] += 0.01
    changed = pa.Table.from_pandas(frame, table.schema.remove_metadata(), preserve_index=False)
    pq.write_table(changed.replace_schema_metadata(table.schema.metadata), copy / "estimates.parquet")
    found = diff_results(first, copy)
    [row] = found.rows
    assert [change.name for change in row.changes] == ["estimate"]
    assert found.causes == ()
    assert "records, protocol and version are the same" in found.summary


def test_another_version_is_a_cause(first: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(first, tmp_path / "copy"))
    provenance = json.loads((copy / "provenance.json").read_text())
    (copy / "provenance.json").write_text(json.dumps(provenance | {"pairstats": "9.9.9"}))
    found = diff_results(first, copy)
    assert found.same
    assert found.causes == ("version",)
    assert found.summary.endswith("although the version changed")
    [version] = found.versions
    assert (version.name, version.new) == ("pairstats", "9.9.9")


def test_records_may_be_absent(first: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(first, tmp_path / "copy"))
    (copy / "records.parquet").unlink()
    found = diff_results(first, copy)
    assert found.same
    assert "without records.parquet" in str(found)


def test_what_is_said_in_other_forms(first: Path, tmp_path: Path) -> None:
    text = TEXT.replace('no_answer = "wrong"', 'no_answer = "missing"')
    found = diff_results(first, again(tmp_path, text))
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["same"] is False
    assert len(plain["rows"]) == len(found.rows)
    page = found._repr_html_()
    assert "<ul>" in page
    assert "design.no_answer" in page


def test_a_folder_without_results_is_refused(first: Path, tmp_path: Path) -> None:
    with pytest.raises(PairstatsError, match="results folder"):
        diff_results(first, tmp_path)


BESIDE = """
[[exploratory.estimand]]
name = "wrong"
kind = "share"
args = { event = "score < 1" }
[[sensitivity]]
name = "family means"
no_answer = "missing"
[script]
file = "study.py"
"""
SCRIPT = """
import pandas as pd
def tables(panel):
    return {"counts": panel.completeness(), "note": pd.DataFrame({"x": [1.0, 2.0, None][:ROWS]})}
"""


def test_every_table_is_compared(tmp_path: Path) -> None:
    def run(name: str, rows: int, flip: bool) -> Path:
        (tmp_path / name).mkdir()
        (tmp_path / name / "study.py").write_text(SCRIPT.replace("ROWS", str(rows)))

        def change(frame: pd.DataFrame) -> pd.DataFrame:
            answered = frame.index[frame["status"] == "answered"]
            if flip:
                frame.loc[answered[0], ["score", "status"]] = [None, "error"]
            return frame

        return again(tmp_path / name, TEXT + BESIDE, change)

    one, two = run("one", 2, False), run("two", 3, True)
    assert diff_results(one, one).same
    text = str(diff_results(one, two))
    for found in ("exploratory: wrong", "sensitivity: ", "study/counts: row 1: ", "study/note: row 3: added"):
        assert found in text, text


def test_a_table_that_one_side_lacks(first: Path, tmp_path: Path) -> None:
    (tmp_path / "study.py").write_text(SCRIPT.replace("ROWS", "1"))
    found = diff_results(first, again(tmp_path, TEXT + BESIDE))
    states = {row.where: row.state for row in found.rows}
    assert states == {
        f"table {name}": "added" for name in ("exploratory", "sensitivity", "study/counts", "study/note")
    }
