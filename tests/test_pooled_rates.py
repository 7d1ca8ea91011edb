"""Rates on different families pooled over cells, contrasts of a sensitivity analysis, and new statuses verified."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pairstats as ps

HEAD = """
[[records.source]]
path = "runs.csv"
map = { family = "family", category = "category", variant = "variant" }
[design]
cells = ["model"]
[[estimand]]
name = "identity"
kind = "flip_rate"
where = { category = "identity" }
[[estimand]]
name = "control"
kind = "flip_rate"
where = { category = "control" }
[[contrast]]
name = "swaps"
estimand = "identity"
minus = "control"
average = "model"
"""


def flips(rng: np.random.Generator) -> pd.DataFrame:
    """Three models of unlike stability on 30 identity and 20 control families of two copies."""
    rows = []
    for category, n in (("identity", 30), ("control", 20)):
        for i in range(n):
            for m, model in enumerate("abc"):
                same = rng.random() > 0.1 + 0.2 * m
                for variant, answer in (("base", "A"), ("swapped", "A" if same else "B")):
                    rows.append(
                        {
                            "family": f"{category}{i:02}",
                            "item": f"{category}{i:02}",
                            "variant": variant,
                            "category": category,
                            "model": model,
                            "status": "answered",
                            "answer": answer,
                        }
                    )
    return pd.DataFrame(rows)


def written(tmp_path: Path, extra: str = "") -> tuple[Path, pd.DataFrame]:
    frame = flips(np.random.default_rng(5))
    frame.to_csv(tmp_path / "runs.csv", index=False)
    path = tmp_path / "protocol.toml"
    path.write_text(HEAD + extra)
    return path, frame


def test_models_are_pooled_inside_each_family(tmp_path: Path) -> None:
    """One row instead of three; flips are never counted between two models."""
    path, frame = written(tmp_path)
    results = ps.run_protocol(path, tmp_path / "out", report=False)
    [row] = list(results.contrasts)
    differs = frame.groupby(["category", "family", "model"])["answer"].nunique() - 1
    rates = differs.groupby("category").mean()
    assert row["estimate"] == pytest.approx(rates["identity"] - rates["control"])
    assert (row["n_families"], row["n_units"]) == (20, 50)
    assert row["conf_low"] < row["estimate"] < row["conf_high"]
    assert [check.name for check in ps.verify_results(tmp_path / "out").checks if check.differences] == []


def test_a_robust_share_is_pooled_too(tmp_path: Path) -> None:
    path, frame = written(tmp_path)
    frame["score"] = (frame["answer"] == "A").astype(float)
    frame.to_csv(tmp_path / "runs.csv", index=False)
    path.write_text(path.read_text().replace("flip_rate", "all_correct"))
    results = ps.run_protocol(path, tmp_path / "out", report=False)
    [row] = list(results.contrasts)
    passed = frame.groupby(["category", "family", "model"])["score"].min().groupby("category").mean()
    assert row["estimate"] == pytest.approx(passed["identity"] - passed["control"])
    assert [check.name for check in ps.verify_results(tmp_path / "out").checks if check.differences] == []


def test_a_column_that_is_not_there_is_told(tmp_path: Path) -> None:
    path, _ = written(tmp_path)
    path.write_text(path.read_text().replace('average = "model"', 'average = "modle"'))
    with pytest.raises(ps.SchemaError, match="modle"):
        ps.run_protocol(path, tmp_path / "out", report=False)


BESIDE = """
[[contrast]]
name = "late"
estimand = "identity"
compare = { factor = "model" }
where = { model = ["a", "b"] }
[multiplicity]
contrasts = ["swaps"]
[[sensitivity]]
name = "c only"
contrasts = ["swaps"]
where = { model = "c" }
"""


def test_a_sensitivity_analysis_leaves_other_contrasts_alone(tmp_path: Path) -> None:
    """It is about swaps; the rows that it keeps hold nothing that the other contrast could compare."""
    path, frame = written(tmp_path, BESIDE)
    results = ps.run_protocol(path, tmp_path / "out", report=False)
    table = pd.read_parquet(results.folder / "sensitivity.parquet")
    [found] = table[table["analysis"] == "c only"]["estimate"]
    differs = frame[frame["model"] == "c"].groupby(["category", "family"])["answer"].nunique() - 1
    rates = differs.groupby("category").mean()
    assert found == pytest.approx(rates["identity"] - rates["control"])


def test_a_cell_may_be_among_the_columns_that_tell_questions_apart() -> None:
    frame = flips(np.random.default_rng(5)).assign(side="left")
    panel = ps.Panel(frame, cells=("model", "side"))
    found = ps.estimate(panel, ps.FlipRate(within=["side"])).frame["estimate"]
    assert found.tolist() == ps.estimate(panel.by(["model"]), ps.FlipRate()).frame["estimate"].tolist()


def test_statuses_that_a_scorer_changed_are_verified_against_the_reader(tmp_path: Path) -> None:
    rows = [
        {
            "family": f"f{i}",
            "item": f"q{i}",
            "model": "m",
            "status": "answered",
            "score": 0.0,
            "response": text,
        }
        for i, text in enumerate(["yes", "no", "ye", "no"] * 4)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "runs.csv", index=False)
    (tmp_path / "scoring.py").write_text(
        "def score(row):\n"
        "    cut = row['response'] == 'ye'\n"
        "    return {'score': float(row['response'] == 'yes'), 'status': 'truncated' if cut else 'answered'}\n"
    )
    path = tmp_path / "protocol.toml"
    path.write_text(
        '[[records.source]]\npath = "runs.csv"\nmap = { family = "family" }\n[scorer]\nfile = "scoring.py"\n'
        '[[estimand]]\nname = "right"\nkind = "mean"\n'
    )
    results = ps.run_protocol(path, tmp_path / "out", report=False)
    assert results.completeness[["answered", "truncated"]].to_numpy().tolist() == [[12, 4]]
    assert [check.name for check in ps.verify_results(tmp_path / "out").checks if check.differences] == []
