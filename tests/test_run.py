"""The main job: from raw run files of two platforms to tables, figures and a report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from conftest import ROOT, SHARED, needs_shared

from pairstats import Estimates, PairstatsError, ProtocolError, Results, cli, findings, run_protocol
from pairstats.result import NUMBERS
from pairstats.run import check_protocol

STUDY = ROOT / "analyses" / "rule_conflicts" / "protocol.toml"
SYSTEMS = ("smollm2-terse-t0", "smollm2-2shot-t0", "smollm2-2shot-t1")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run_protocol(STUDY, tmp_path_factory.mktemp("run") / "results")


def value(results: Results, estimand: str, model: str, run: str = "inspect") -> pd.Series:
    frame = results.estimates.frame
    single = frame[frame["contrast"].isna()]
    return single[
        (single["estimand"] == estimand) & (single["model"] == model) & (single["run"] == run)
    ].iloc[0]


def test_the_finding(results: Results) -> None:
    expected = {
        "accuracy": (0.450, 0.444, 0.389),
        "flip_reordered": (0.43, 0.45, 0.47),
        "flip_distractor": (0.00, 0.02, 0.44),
        "flip_text_reordered": (0.50, 0.50, 0.63),
    }
    for estimand, values in expected.items():
        digits = 3 if estimand == "accuracy" else 2
        for model, wanted in zip(SYSTEMS, values, strict=True):
            found = value(results, estimand, model)
            assert round(found["estimate"], digits) == wanted
            assert found["conf_low"] <= found["estimate"] <= found["conf_high"]
            assert found["n_families"] == 60


@needs_shared
def test_every_cell_equals_the_ground_truth_of_the_wire(results: Results) -> None:
    truth = json.loads((SHARED / "samples" / "own" / "truth_full.json").read_text())
    records = pq.read_table(results.folder / "records.parquet").to_pandas()
    for tag, wire in truth.items():
        run = "plain client" if tag.startswith("fault-full-") else "inspect"
        model = "smollm2-" + tag.removesuffix("-json").removeprefix("fault-").removeprefix(
            "full-"
        ).removeprefix("smollm2-")
        rows = records[(records["run"] == run) & (records["model"] == model)]
        assert len(rows) == wire["calls"]
        replies = rows[~rows["status"].isin(["error", "absent"])]
        assert len(replies) == wire["answered"]
        assert (replies["status"] == "answered").sum() == wire["parsed"]
        assert replies["score"].fillna(0).sum() == wire["correct"]
        cells = replies.assign(score=replies["score"].fillna(0)).groupby(
            ["family", "variant"], observed=True
        )["score"]
        found = {f"{f}|{v}": [int(s.sum()), len(s)] for (f, v), s in cells}
        assert found == {cell: counts for cell, counts in wire["cells"].items() if counts[1]}
        for variant, flips in wire["flips"].items():
            name = "flip_reordered" if variant == "reordered" else "flip_distractor"
            row = value(results, name, model, run)
            assert row["estimate"] == pytest.approx(flips["flip_correct"], abs=1e-12)
            assert row["n_families"] == flips["families"]


def test_a_rate_limit_is_an_error_never_a_wrong_answer(results: Results) -> None:
    records = pq.read_table(results.folder / "records.parquet").to_pandas()
    lost = records[records["reason"] == "rate_limit"]
    assert len(lost) == 40
    assert set(lost["status"]) == {"error"}
    assert lost["score"].isna().all()
    plain = results.completeness[results.completeness["run"] == "plain client"]
    assert plain["planned"].sum() == 540
    assert plain["planned"].sum() - plain["error"].sum() == 493


def test_everything_is_written(results: Results) -> None:
    names = {path.name for path in results.folder.iterdir()}
    assert names >= {
        "estimates.parquet", "estimates.csv", "completeness.parquet", "completeness.csv", "calibration.csv",
        "calibration.parquet", "ledger.csv", "left_out.csv", "records.parquet", "provenance.json",
        "protocol.toml", "report.html", "figures",
    }  # fmt: skip
    figures = results.folder / "figures"
    png = {path.stem for path in figures.glob("*.png")}
    assert len(png) >= 4
    assert (
        png == {path.stem for path in figures.glob("*.svg")} == {path.stem for path in figures.glob("*.csv")}
    )


def test_the_tidy_results_have_the_registered_columns_in_order(results: Results) -> None:
    frame = pd.read_csv(results.folder / "estimates.csv")
    assert list(frame.columns) == ["contrast", "estimand", "run", "model", *NUMBERS]
    again = Estimates.load(results.folder / "estimates.parquet")
    assert len(again) == len(frame)
    assert not frame["registered"].astype(bool).any(), "nothing is registered without a lock"


def test_contrasts_share_one_error_rate(results: Results) -> None:
    frame = results.estimates.frame
    pairs = frame[frame["contrast"].notna()].sort_values("p_value")
    assert len(pairs) == 9
    holm = (pairs["p_value"].to_numpy() * range(9, 0, -1)).clip(max=1)
    assert pairs["p_adjusted"].tolist() == pytest.approx(pd.Series(holm).cummax().tolist(), rel=1e-9)


def test_every_file_read_is_accounted_for(results: Results) -> None:
    ledger = results.ledger
    assert (ledger["records"] == ledger["rows"] + ledger["left_out"] + ledger["merged"]).all()
    read = ledger[ledger["rows"] > 0]
    assert set(read["reader"]) == {"inspect", "openai"}
    assert read["rows"].sum() == 1620


def test_the_findings_are_said_in_words(results: Results) -> None:
    said = " ".join(findings(results.estimates, completeness=results.completeness))
    for text in ("reordering of the options", "45 %", "47 %", "43 %", "rate_limit 40", "60 families"):
        assert text in said
    report = (results.folder / "report.html").read_text(encoding="utf-8")
    assert "A harmless reordering of the options" in report


def test_the_same_inputs_give_the_same_numbers(results: Results, tmp_path: Path) -> None:
    again = run_protocol(STUDY, tmp_path / "again", report=False)
    pd.testing.assert_frame_equal(again.estimates.frame, results.estimates.frame)


def test_a_folder_with_other_things_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(PairstatsError, match="must be a new folder or hold the results"):
        run_protocol(STUDY, tmp_path, report=False)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_an_earlier_run_is_replaced(results: Results, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    shutil.copytree(results.folder, folder)
    (folder / "figures" / "stale.png").write_bytes(b"old")
    run_protocol(STUDY, folder, report=False)
    assert not (folder / "figures").exists()
    assert not (folder / "report.html").exists()


def small(tmp_path: Path, extra: str = "", table: str = "") -> Path:
    """A protocol over a plain table of 12 families."""
    rows = [f"{m},f{i},q{i},{int(i < n)}" for m, n in (("a", 10), ("b", 4)) for i in range(12)]
    (tmp_path / "runs.csv").write_text(table or "\n".join(["model,family,item,score", *rows]) + "\n")
    path = tmp_path / "protocol.toml"
    path.write_text(
        '[[records.source]]\npath = "runs.csv"\nmap = { family = "family" }\n'
        '[[estimand]]\nname = "accuracy"\nkind = "mean"\n'
        '[[contrast]]\nname = "C1"\nestimand = "accuracy"\ncompare = { factor = "model" }\n' + extra
    )
    return path


def test_a_protocol_over_a_plain_table(tmp_path: Path) -> None:
    made = run_protocol(small(tmp_path), tmp_path / "out", report=False)
    frame = made.estimates.frame
    assert frame["estimate"].round(4).tolist() == [0.8333, 0.3333, 0.5]
    assert frame["p_value"].iloc[2] == pytest.approx(2 / 2**6)


def test_unmet_expectations_are_deviations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = small(tmp_path, "[design]\nexpect = { families = 20, models = 2, variants = 2, conditions = 1 }\n")
    assert cli.main(["run", str(path), "-o", str(tmp_path / "out"), "--no-report"]) == 1
    out = capsys.readouterr().out
    assert "Deviation from the protocol: expected 20 families, found 12" in out
    assert "Deviation from the protocol: expected 2 variants, found 1" in out
    assert out.count("Deviation") == 2
    path.write_text(path.read_text().replace("families = 20", "families = 1"))
    assert cli.main(["run", str(path), "-o", str(tmp_path / "out"), "--no-report"]) == 1
    assert "expected 1 family, found 12" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("[design]\nexpect = { cats = 3 }\n", "unknown key 'cats'"),
        ('[design]\nmissing = "impute"\n', "`missing` must be one of 'common', 'refuse'"),
        ('[design]\ncells = ["split"]\n', "must not be null"),
        ('[design]\nno_answer = "skip"\n', "`no_answer` must be one of"),
    ],
)
def test_designs_that_cannot_be_run(tmp_path: Path, extra: str, message: str) -> None:
    with pytest.raises(PairstatsError, match=message):
        run_protocol(small(tmp_path, extra), tmp_path / "out", report=False)
    assert not (tmp_path / "out").exists(), "nothing is written before everything is computed"


def test_check_says_what_would_stop_a_run(tmp_path: Path) -> None:
    path = small(tmp_path, '[design]\nmissing = "common"\nno_answer = "wrong"\n')
    assert check_protocol(path)["findings"] == []
    (tmp_path / "runs.csv").unlink()
    assert check_protocol(path)["findings"] == [f"{path}:2: there is no file or folder runs.csv"]
    with pytest.raises(PairstatsError, match=r"runs\.csv"):
        run_protocol(path, tmp_path / "out")


def test_a_bad_mapping_is_named(tmp_path: Path) -> None:
    path = small(tmp_path)
    path.write_text(path.read_text().replace('family = "family"', "family = 3"))
    with pytest.raises(ProtocolError, match=r"`map\.family` must be a dotted path"):
        run_protocol(path, tmp_path / "out")


def test_blocks_split_the_families_and_completeness_is_told_by_block(tmp_path: Path) -> None:
    rows = [f"{m},f{i},q{i},{'xy'[i % 2]},1" for m in "ab" for i in range(12)]
    table = "\n".join(["model,family,item,category,score", *rows]) + "\n"
    path = small(tmp_path, '[design]\nblocks = ["category"]\n', table)
    path.write_text(
        path.read_text().replace('family = "family" }', 'family = "family", category = "category" }')
    )
    run_protocol(path, tmp_path / "out", report=False)
    blocks = pd.read_parquet(tmp_path / "out" / "completeness_by_block.parquet")
    assert blocks[["model", "category", "planned"]].values.tolist() == [
        ["a", "x", 6], ["a", "y", 6], ["b", "x", 6], ["b", "y", 6],
    ]  # fmt: skip
    (tmp_path / "runs.csv").write_text(table.replace("b,f0,q0,x", "b,f0,q0,y"))
    with pytest.raises(ProtocolError, match="family 'f0' lies in several"):
        run_protocol(path, tmp_path / "out", report=False)


def test_two_runs_give_the_same_bytes(results: Results, tmp_path: Path) -> None:
    again = run_protocol(STUDY, tmp_path / "again")
    names = sorted(p.relative_to(results.folder) for p in results.folder.rglob("*") if p.is_file())
    assert names == sorted(p.relative_to(again.folder) for p in again.folder.rglob("*") if p.is_file())
    differing = [n for n in names if (results.folder / n).read_bytes() != (again.folder / n).read_bytes()]
    assert differing == []


def test_the_order_of_files_and_rows_changes_nothing(tmp_path: Path) -> None:
    path = small(tmp_path)
    one = run_protocol(path, tmp_path / "one", report=False).estimates.frame
    lines = (tmp_path / "runs.csv").read_text().splitlines()
    (tmp_path / "runs.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    two = run_protocol(path, tmp_path / "two", report=False).estimates.frame
    pd.testing.assert_frame_equal(one, two)


def test_files_of_one_name_in_two_sources_both_keep_their_checksum(tmp_path: Path) -> None:
    for source, score in (("one", 1), ("two", 0)):
        (tmp_path / source).mkdir()
        rows = f"family,item,model,score\nf,q,{source},{score}\n"
        (tmp_path / source / "rows.csv").write_text(rows)
    sources = "".join(
        f'[[records.source]]\npath = "{s}"\nmap = {{ family = "family" }}\n' for s in ("one", "two")
    )
    (tmp_path / "protocol.toml").write_text(sources + '[[estimand]]\nname = "accuracy"\nkind = "mean"\n')
    results = run_protocol(tmp_path / "protocol.toml", tmp_path / "out", report=False)
    digests = results.provenance["input_sha256"]
    assert list(digests) == ["rows.csv", "rows.csv [2]"]
    assert len(set(digests.values())) == 2
