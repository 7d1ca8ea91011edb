"""The second path: agrees with the first on everything, shares no code with it, and finds tampering."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import small_studies as small
from conftest import ROOT

from pairstats import PairstatsError, run_protocol
from pairstats.protocol.lock import freeze
from pairstats.verify import Verification, verify_results

STUDY = ROOT / "analyses" / "rule_conflicts" / "protocol.toml"
PACKAGE = ROOT / "pairstats" / "verify"
TWO_SIDED = "two-sided"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study") / "results"
    run_protocol(STUDY, folder, report=False)
    return folder


@pytest.fixture
def copy(study: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(study, tmp_path / "results"))


def failed(found: Verification) -> set[str]:
    """Names of the checks that fail, besides the checksums, which every change of a file breaks."""
    return {check.name for check in found.checks if not check.ok} - {"files"}


def alter(path: Path, change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    """Change a Parquet table and keep its metadata, as one who tampers would."""
    table = pq.read_table(path)
    frame = change(table.to_pandas())
    changed = pa.Table.from_pandas(frame, table.schema.remove_metadata(), preserve_index=False)
    pq.write_table(changed.replace_schema_metadata(table.schema.metadata), path)


def put(row: int, column: str, value: object) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def change(frame: pd.DataFrame) -> pd.DataFrame:
        frame.loc[row, column] = value
        return frame

    return change


# --- the two paths share nothing ---------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda p: p.name)
def test_nothing_of_the_first_path_is_imported(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not any(isinstance(n, ast.ImportFrom) and n.level for n in ast.walk(tree)), "no relative imports"
    allowed = {"numpy", "pyarrow", "scipy", *sys.stdlib_module_names}
    ours = {name for name in names if name.split(".")[0] == "pairstats"}
    assert all(name == "pairstats.errors" or name.startswith("pairstats.verify") for name in ours)
    assert {name.split(".")[0] for name in names - ours} <= allowed


def test_loading_the_second_path_loads_nothing_of_the_first() -> None:
    code = (
        "import json, sys, pairstats.verify;"
        "print(json.dumps([m for m in sys.modules if m.startswith(('pairstats', 'narwhals', 'pandas', 'scipy'))]))"
    )
    loaded = json.loads(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    )
    assert "pairstats.verify.limits" in loaded
    own = ("pairstats", "pairstats._version", "pairstats.errors")
    assert [m for m in loaded if not m.startswith("pairstats.verify") and m not in own] == []


# --- agreement ---------------------------------------------------------------------------------------


def test_the_study_of_the_project(study: Path) -> None:
    found = verify_results(study)
    assert found.ok, str(found)
    compared = {check.name: check.compared for check in found.checks}
    rows = pq.read_table(study / "estimates.parquet").num_rows
    assert compared["rows"] == compared["n_families"] == rows
    assert compared["estimate"] == compared["conf_low"] == compared["conf_high"] >= 49
    assert compared["p_value"] == compared["p_adjusted"] == compared["verdict"] == 9
    assert compared["bound_low"] == compared["bound_high"] > 0
    exact = [check.largest for check in found.checks if check.tolerance]
    assert max(exact) < 1e-9


@pytest.mark.parametrize(
    ("method", "more"),
    [
        ("family-jeffreys", ""),
        ("family-cp", "confidence_level = 0.9"),
        ("percentile", ""),
        ("percentile", "n_resamples = 2000"),
        ("basic", ""),
        ("bca", ""),
        ("bootstrap-t", "n_resamples = 2000"),
        ("cr2-t", ""),
    ],
)
def test_every_estimand_by_every_interval(tmp_path: Path, method: str, more: str) -> None:
    ratios = small.RATIOS if method.startswith("family") else ""
    text = small.design() + small.interval(method, more) + small.ESTIMANDS + small.CONTRASTS + ratios
    run_protocol(small.write(tmp_path, text, small.decisions(8, models=2)), tmp_path / "out", report=False)
    found = verify_results(tmp_path / "out")
    assert found.ok, str(found)
    table = pq.read_table(tmp_path / "out" / "estimates.parquet").to_pandas()
    assert set(table["estimand"]) == {
        "accuracy", "by_family", "flips", "flips_of_score", "all", "brier", "long_and_wrong", "tokens",
    }  # fmt: skip
    numbers = [check for check in found.checks if check.name == "conf_low"]
    assert sum(check.compared for check in numbers) == table["conf_low"].notna().sum()
    drawn = [check for check in numbers if "Monte-Carlo" in check.how]
    assert bool(drawn) == (bool(ratios) or more.startswith("n_resamples"))


@pytest.mark.parametrize("no_answer", ["wrong", "missing"])
@pytest.mark.parametrize("missing", ["common", "drop-family"])
def test_rules_for_what_is_missing(tmp_path: Path, no_answer: str, missing: str) -> None:
    text = small.design(no_answer, missing) + small.ESTIMANDS + small.CONTRASTS
    run_protocol(small.write(tmp_path, text, small.decisions(8, models=2)), tmp_path / "out", report=False)
    found = verify_results(tmp_path / "out")
    assert found.ok, str(found)
    lost = pq.read_table(tmp_path / "out" / "estimates.parquet").column("n_missing").to_pylist()
    assert max(lost) > 0


@pytest.mark.parametrize("cells", ['["model"]', '["condition"]'])
def test_units_that_no_cell_tells_apart(tmp_path: Path, cells: str) -> None:
    """Replies of another model, or under another condition, are another unit where neither is a cell."""
    text = small.design().replace('["model", "condition"]', cells) + small.ESTIMANDS
    factor = cells.strip('[]"')
    text += (
        f'[[contrast]]\nname = "compared"\nestimand = "accuracy"\ncompare = {{ factor = "{factor}" }}\n'
        f'[[contrast]]\nname = "changed"\nestimand = "flips"\ncompare = {{ factor = "{factor}" }}\n'
    )
    run_protocol(small.write(tmp_path, text, small.decisions(8, models=2)), tmp_path / "out", report=False)
    found = verify_results(tmp_path / "out")
    assert found.ok, str(found)
    units = {check.name: check for check in found.checks}["n_units"]
    assert units.compared == pq.read_table(tmp_path / "out" / "estimates.parquet").num_rows


@pytest.mark.parametrize(
    ("method", "families"),
    [("holm", 5), ("holm", 25), ("hochberg", 12), ("bonferroni", 12), ("fixed-sequence", 12),
     ("gatekeeping", 12), ("none", 25)],
)  # fmt: skip
def test_claims_margins_and_verdicts(tmp_path: Path, method: str, families: int) -> None:
    text = small.design() + small.interval("family-cp") + small.TWO
    text += small.CLAIMS.replace("METHOD", method)
    run_protocol(small.write(tmp_path, text, small.decisions(families)), tmp_path / "out", report=False)
    found = verify_results(tmp_path / "out")
    assert found.ok, str(found)
    compared = {check.name: check.compared for check in found.checks}
    assert compared["verdict"] == compared["claim"] == 10
    assert compared["mdd"] >= 9


def test_trends_and_unpaired_rates(tmp_path: Path) -> None:
    text = small.design() + small.ESTIMANDS + small.TRENDS
    run_protocol(small.write(tmp_path, text, small.decisions(8, models=2)), tmp_path / "out", report=False)
    found = verify_results(tmp_path / "out")
    assert found.ok, str(found)
    assert any("permutes doses" in each.why for each in found.unchecked), "never silently"


@pytest.mark.parametrize("claim", ["", 'claim = "superiority"', 'claim = "noninferiority"\nmargin = 0.3'])
def test_claims_about_these_cases_alone(tmp_path: Path, claim: str) -> None:
    text = (
        small.design() + 'population = "these_cases"\n' + small.TWO.partition('[[estimand]]\nname = "all"')[0]
    )
    text += f"""
[[contrast]]
name = "models"
estimand = "accuracy"
compare = {{ factor = "model", level = "a", reference = "b" }}
average = "condition"
{claim}
"""
    run_protocol(small.write(tmp_path, text, small.decisions(6, models=2)), tmp_path / "out", report=False)
    found = verify_results(tmp_path / "out")
    assert found.ok, str(found)
    assert any("repeats of these cases" in each.why for each in found.unchecked), "never silently"
    table = pq.read_table(tmp_path / "out" / "estimates.parquet").to_pandas()
    assert set(table["population"]) == {"these_cases"}
    assert table["p_value"].notna().sum() == 1


def test_a_collapsed_bootstrap(tmp_path: Path) -> None:
    rows = small.decisions(8, models=2).assign(status="answered", score=1.0, answer="x")
    for rule in ("", 'at_collapse = "family-cp"', 'at_collapse = "null"'):
        text = small.design() + small.interval("percentile", rule) + small.TWO
        run_protocol(small.write(tmp_path, text, rows), tmp_path / "out", report=False)
        found = verify_results(tmp_path / "out")
        assert found.ok, str(found)


# --- tampering ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "contrast", "shift"),
    [
        ("estimate", False, 1e-9),
        ("conf_low", False, 1e-6),
        ("conf_high", True, -1e-6),
        ("std_error", False, 1e-6),
        ("p_value", True, 1e-6),
        ("p_adjusted", True, 1e-6),
        ("bound_high", False, 1e-6),
        ("n_families", False, 1),
        ("n_units", True, -1),
        ("n_missing", False, 1),
        ("n_first_only", True, 1),
        ("mdd", True, 1e-6),
    ],
)
def test_one_changed_number_is_found_and_named(copy: Path, column: str, contrast: bool, shift: float) -> None:
    frame = pq.read_table(copy / "estimates.parquet").to_pandas()
    rows = frame.index[(frame["contrast"].notna() == contrast) & frame[column].notna()]
    row = rows[len(rows) // 2]
    alter(copy / "estimates.parquet", put(row, column, frame.loc[row, column] + shift))
    found = verify_results(copy)
    assert not found.ok
    assert failed(found) == {column, "spreadsheet"}
    [difference] = next(check for check in found.checks if check.name == column).differences
    assert frame.loc[row, "estimand"] in difference.where
    named = frame.loc[row, "contrast" if contrast else "model"]
    assert str(named) in difference.where


@pytest.mark.parametrize(("column", "value"), [("verdict", "superior"), ("method", "percentile")])
def test_one_changed_word_is_found(copy: Path, column: str, value: str) -> None:
    frame = pq.read_table(copy / "estimates.parquet").to_pandas()
    row = frame.index[frame["contrast"].notna() & (frame[column] != value)][0]
    alter(copy / "estimates.parquet", put(row, column, value))
    assert failed(verify_results(copy)) == {column}


def test_a_dropped_record_is_found_and_its_file_named(copy: Path) -> None:
    records = pq.read_table(copy / "records.parquet").to_pandas()
    alter(copy / "records.parquet", lambda frame: frame.drop(index=7).reset_index(drop=True))
    found = verify_results(copy)
    assert {"records", "completeness"} <= failed(found)
    [rows, *_] = next(check for check in found.checks if check.name == "records").differences
    assert records.loc[7, "source"].startswith(rows.where)
    assert (rows.what, int(rows.found)) == ("number of rows", int(rows.expected) - 1)


def test_an_altered_record_is_found_in_every_row_that_it_touches(copy: Path) -> None:
    score = pq.read_table(copy / "records.parquet").column("score")[7].as_py()
    alter(copy / "records.parquet", put(7, "score", 1.0 - score))
    found = verify_results(copy)
    assert "estimate" in failed(found)
    estimates = next(check for check in found.checks if check.name == "estimate").differences
    model, run = (pq.read_table(copy / "records.parquet").column(c)[7].as_py() for c in ("model", "run"))
    assert all(model in each.where and f"run={run}" in each.where for each in estimates)
    assert any(each.where.startswith("accuracy model=") for each in estimates)


def test_missing_doubled_and_foreign_rows_are_found(copy: Path) -> None:
    alter(copy / "estimates.parquet", lambda f: pd.concat([f.iloc[1:], f.iloc[[5]]], ignore_index=True))
    found = verify_results(copy)
    wrong = next(check for check in found.checks if check.name == "rows").differences
    assert [each.found for each in wrong] == ["absent", "in the table"]


def test_another_protocol_or_a_registration_without_a_lock_is_found(copy: Path) -> None:
    text = (copy / "protocol.toml").read_text(encoding="utf-8")
    (copy / "protocol.toml").write_text(text.replace("bins       = 10", "bins = 5"), encoding="utf-8")
    assert failed(verify_results(copy)) == {"provenance"}
    (copy / "protocol.toml").write_text(text, encoding="utf-8")
    alter(copy / "estimates.parquet", put(3, "registered", True))
    assert failed(verify_results(copy)) == {"lock"}


def test_what_a_lock_registers(tmp_path: Path) -> None:
    path = small.write(tmp_path, small.design() + small.TWO, small.decisions(8, models=2))
    freeze(path)
    run_protocol(path, tmp_path / "out", report=False)
    found = verify_results(tmp_path / "out")
    assert found.ok, str(found)
    assert all(pq.read_table(tmp_path / "out" / "estimates.parquet").column("registered").to_pylist())
    lock = json.loads((tmp_path / "out" / "protocol.lock").read_text())
    lock["content"]["design"]["minimum"] = 0.5
    (tmp_path / "out" / "protocol.lock").write_text(json.dumps(lock))
    assert failed(verify_results(tmp_path / "out")) == {"lock"}


def test_another_confidence_level_is_found(copy: Path) -> None:
    text = (copy / "protocol.toml").read_text(encoding="utf-8")
    changed = text.replace("confidence_level = 0.95", "confidence_level = 0.9")
    assert changed != text
    (copy / "protocol.toml").write_text(changed, encoding="utf-8")
    assert {"provenance", "conf_low", "conf_high", "conf_level"} <= failed(verify_results(copy))


def test_checksums_of_the_folder_are_compared_where_provenance_lists_them(copy: Path) -> None:
    provenance = json.loads((copy / "provenance.json").read_text())
    provenance["results_sha256"] = {"records.parquet": "00" * 32, "gone.csv": "00" * 32}
    (copy / "provenance.json").write_text(json.dumps(provenance))
    found = verify_results(copy)
    assert not found.ok
    assert not failed(found)
    assert [each.where for each in found.differences] == ["records.parquet", "gone.csv"]


def test_what_cannot_be_checked_is_listed(copy: Path) -> None:
    text = (copy / "protocol.toml").read_text(encoding="utf-8")
    changed = text.replace('kind    = "brier"', 'kind = "median"').replace('"holm"', '"max-T"')
    (copy / "protocol.toml").write_text(changed, encoding="utf-8")
    found = verify_results(copy)
    assert failed(found) == {"provenance", "p_adjusted"} - {"p_adjusted"}
    told = {each.what: each.why for each in found.unchecked}
    assert "'median' have no second path" in told["estimand 'brier'"]
    assert "'max-T' has no second path" in told["columns p_adjusted, mdd and verdict"]


def test_a_folder_without_results_is_refused(copy: Path, tmp_path: Path) -> None:
    with pytest.raises(PairstatsError, match=r"must hold protocol\.toml"):
        verify_results(tmp_path / "nothing")
    (copy / "provenance.json").write_text("{")
    with pytest.raises(PairstatsError, match=r"provenance\.json must be JSON"):
        verify_results(copy)
    (copy / "records.parquet").unlink()
    with pytest.raises(PairstatsError, match=r"must hold records\.parquet"):
        verify_results(copy)
    (copy / "protocol.toml").write_text('[[estimand]]\nkind = "mean"\n')
    with pytest.raises(PairstatsError, match=r"protocol\.toml must be a protocol that was run"):
        verify_results(copy)


def test_what_is_said(study: Path) -> None:
    found = verify_results(study)
    text, page, plain = str(found), found._repr_html_(), found.to_dict()
    assert "all pass; not checked: the raw files" in text.splitlines()[0]
    assert "Not proved:" in text
    assert "that the protocol was fixed before the data" in text
    assert all(check.name in page for check in found.checks)
    assert json.loads(json.dumps(plain))["ok"] is True
    assert len(plain["checks"]) == len(found.checks)
