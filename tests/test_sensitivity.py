"""Sensitivity analyses, the difference of two unpaired rates, interactions and trends in a protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pairstats as ps
from pairstats import (
    FlipRate,
    Interaction,
    Mean,
    PairstatsError,
    Panel,
    ProtocolError,
    Share,
    Trend,
    Versus,
    run_protocol,
)
from pairstats.numeric import family_interval
from pairstats.rows import joined
from pairstats.two_rates import two_rates
from pairstats.verdicts import judge
from pairstats.verify import verify_results

HEAD = """
[[records.source]]
path = "runs.csv"
map = { family = "family", category = "category", condition = "condition" }
extra = {}
[[estimand]]
name = "accuracy"
kind = "mean"
[[contrast]]
name = "C1"
estimand = "accuracy"
compare = { factor = "model" }
"""


def study(tmp_path: Path, extra: str = "") -> Path:
    """Two models, 12 families in 3 categories; model b leaves two replies unparsed."""
    rows = ["model,family,item,category,condition,status,answer,score"]
    for model, right in (("a", 11), ("b", 3)):
        for i in range(12):
            blank = model == "b" and i >= 10
            rows.append(
                f"{model},f{i:02},q{i},{'xyz'[i % 3]},{'plain' if i % 2 else 'told'},"
                f"{'unparsed' if blank else 'answered'},,{'' if blank else int(i < right)}"
            )
    (tmp_path / "runs.csv").write_text("\n".join(rows) + "\n")
    path = tmp_path / "protocol.toml"
    path.write_text(HEAD.replace("extra = {}\n", "") + extra)
    return path


def test_every_analysis_stands_beside_the_registered_one(tmp_path: Path) -> None:
    path = study(
        tmp_path,
        '[[sensitivity]]\nname = "no answer is missing"\nno_answer = "missing"\n'
        '[[sensitivity]]\nname = "family-CP"\nmethod = "family-cp"\n'
        '[[sensitivity]]\nname = "without category"\nleave_out = "category"\n'
        '[[sensitivity]]\nname = "without family"\nleave_out = "family"\ncontrasts = ["C1"]\n'
        '[[sensitivity]]\nname = "category x"\nwhere = { category = "x" }\n'
        '[[sensitivity]]\nname = "no told"\ndrop = "condition == told"\n',
    )
    results = run_protocol(path, tmp_path / "out", report=False)
    found = ps.Estimates.load(tmp_path / "out" / "sensitivity.parquet").frame.set_index("analysis")
    assert found.index[0] == "as registered"
    main = results.contrasts.frame.iloc[0]
    assert found.loc["as registered", "estimate"] == main["estimate"] == pytest.approx(8 / 12)
    assert found.loc["no answer is missing", "n_units"] == 10
    assert found.loc["no answer is missing", "estimate"] == pytest.approx(7 / 10)
    assert found.loc["family-CP", "method"] == "family-cp"
    assert len(found.filter(like="without category: ", axis=0)) == 3
    assert len(found.filter(like="without family: ", axis=0)) == 12
    assert found.loc["without family: f00", "n_families"] == 11
    assert found.loc["category x", "n_families"] == 4
    assert found.loc["no told", "n_families"] == 6
    assert set(found["question"]) == {"C1"}
    assert not found["registered"].any()


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ('[[sensitivity]]\nname = "same"\n', "must change something"),
        (
            '[[sensitivity]]\nname = "x"\ncontrasts = ["C7"]\nno_answer = "missing"\n',
            "'C7', which is no contrast",
        ),
        ('[[sensitivity]]\nname = "x"\nleave_out = "study"\n', "there is one only"),
        ('[[sensitivity]]\nname = "x"\nmethod = "wald"\n', "Sensitivity 'x'"),
    ],
)
def test_sensitivity_rules_that_cannot_be_run(tmp_path: Path, extra: str, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        run_protocol(study(tmp_path, extra), tmp_path / "out", report=False)


def flips(kind: str, families: int, flipped: int) -> list[dict[str, str]]:
    return [
        {"family": f"{kind}{f}", "item": f"{kind}{f}", "variant": variant, "model": "m", "category": kind,
         "answer": "x" if variant == "base" or f >= flipped else "y"}
        for f in range(families)
        for variant in ("base", "swapped")
    ]  # fmt: skip


def test_two_rates_on_different_families_are_joined_by_mover() -> None:
    panel = Panel(pd.DataFrame(flips("identity", 60, 9) + flips("control", 40, 2)))
    one, two = panel.where(category="identity"), panel.where(category="control")
    [found] = two_rates(one, FlipRate(label="identity"), two, FlipRate(label="control")).compared
    row = found.row
    first = family_interval([1.0] * 9 + [0.0] * 51)
    second = family_interval([1.0] * 2 + [0.0] * 38)
    p1, p2 = 9 / 60, 2 / 40
    assert row["estimate"] == pytest.approx(p1 - p2)
    assert row["conf_low"] == pytest.approx(p1 - p2 - np.hypot(p1 - first.low, second.high - p2))
    assert row["conf_high"] == pytest.approx(p1 - p2 + np.hypot(first.high - p1, p2 - second.low))
    assert row["method"] == "MOVER of family-jeffreys"
    assert "60 and 40 families, not paired" in row["note"]
    assert 0.05 < row["p_value"] < 1


def test_the_unpaired_p_is_the_level_at_which_the_limits_touch_zero() -> None:
    panel = Panel(pd.DataFrame(flips("identity", 60, 20) + flips("control", 60, 2)))
    [found] = two_rates(
        panel.where(category="identity"), FlipRate(), panel.where(category="control"), FlipRate()
    ).compared
    assert found.limits_at is not None
    assert found.row["p_value"] < 0.001
    assert found.limits_at(1 - found.row["p_value"])[0] == pytest.approx(0, abs=1e-6)


def test_a_protocol_judges_about_as_many_against_a_margin(tmp_path: Path) -> None:
    frame = pd.DataFrame(flips("identity", 150, 5) + flips("control", 150, 4))
    frame.assign(status="answered").to_csv(tmp_path / "runs.csv", index=False)
    path = tmp_path / "protocol.toml"
    path.write_text(
        '[[records.source]]\npath = "runs.csv"\nmap = { family = "family", category = "category" }\n'
        '[[estimand]]\nname = "identity"\nkind = "flip_rate"\nwhere = { category = "identity" }\n'
        '[[estimand]]\nname = "control"\nkind = "flip_rate"\nwhere = { category = "control" }\n'
        '[[contrast]]\nname = "C3"\nestimand = "identity"\nminus = "control"\n'
        'claim = "noninferiority"\nmargin = 0.08\n'
    )
    row = next(iter(run_protocol(path, tmp_path / "out", report=False).contrasts))
    assert row["contrast"] == "identity - control"
    assert row["verdict"] == "noninferior"
    assert row["conf_low"] > -0.08


def cells(**rates: int) -> Panel:
    """20 families in every cell, of which so many are right; cells are named framing_model."""
    rows = []
    for name, right in rates.items():
        framing, model = name.split("_")
        rows += [
            {
                "family": f"f{i}",
                "item": f"q{i}",
                "model": model,
                "condition": framing,
                "score": float(i < right),
            }
            for i in range(20)
        ]
    return Panel(pd.DataFrame(rows))


def test_an_interaction_is_a_difference_of_differences() -> None:
    panel = cells(plain_a=10, pressed_a=18, plain_b=10, pressed_b=11)
    asked = Interaction(Versus("condition", "plain", "pressed"), "model", "a", "b")
    row = next(iter(ps.contrast(panel, Mean(), asked)))
    assert row["contrast"] == "(pressed - plain) in a - in b"
    assert row["estimate"] == pytest.approx((8 - 1) / 20)
    assert row["p_value"] == pytest.approx(2 / 2**7)
    assert -2 <= row["conf_low"] < row["estimate"] < row["conf_high"] <= 2
    back = next(
        iter(
            ps.contrast(
                panel, Mean(), Interaction(Versus("condition", "plain", "pressed"), "model", "b", "a")
            )
        )
    )
    assert back["estimate"] == -row["estimate"]


def test_a_trend_is_the_slope_per_dose_with_an_exact_permutation_of_doses() -> None:
    rows = [
        {"family": f"f{i}", "item": f"q{i}", "model": "m", "condition": str(dose), "score": float(i < right)}
        for dose, right in ((0, 0), (1, 2), (3, 4), (6, 6))
        for i in range(6)
    ]
    row = next(
        iter(
            ps.contrast(
                Panel(pd.DataFrame(rows)), Mean(), Trend("condition", {"0": 0, "1": 1, "3": 3, "6": 6})
            )
        )
    )
    slope = np.polyfit([0, 1, 3, 6], [0, 2 / 6, 4 / 6, 1], 1)[0]
    assert row["estimate"] == pytest.approx(slope)
    assert 0 < row["p_value"] < 0.01
    with pytest.raises(PairstatsError, match="at least two different doses"):
        ps.contrast(Panel(pd.DataFrame(rows)), Mean(), Trend("condition", {"0": 1, "1": 1}))


@pytest.mark.parametrize(("turn", "verdict"), [(1, "rises"), (-1, "falls")])
def test_the_verdict_of_a_slope_is_its_direction(tmp_path: Path, turn: int, verdict: str) -> None:
    right = dict(zip(("0", "1", "3", "6"), (0, 4, 8, 12)[::turn], strict=True))
    rows = ["model,family,item,category,condition,status,answer,score"]
    for dose, n in right.items():
        for i in range(12):
            lost = dose == "3" and i == 5
            rows.append(
                f"a,f{i:02},q{i},x,{dose},{'error' if lost else 'answered'},,{'' if lost else int(i < n)}"
            )
    compare = 'compare = { factor = "condition", doses = { "0" = 0, "1" = 1, "3" = 3, "6" = 6 } }'
    path = study(tmp_path, '[design]\ncells = ["model", "condition"]\n')
    path.write_text(path.read_text().replace('compare = { factor = "model" }', compare))
    (tmp_path / "runs.csv").write_text("\n".join(rows) + "\n")
    [row] = run_protocol(path, tmp_path / "out", report=False).contrasts
    assert (row["verdict"], np.sign(row["estimate"])) == (verdict, turn)
    assert row["tipping_point"] is None, "sign flips are another test than permuted doses"
    found = verify_results(tmp_path / "out")
    assert found.ok, str(found)


def test_the_registered_contrasts_are_judged_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[int] = []
    from pairstats import analysis

    def counted(compared: Any, *given: Any, **options: Any) -> Any:
        judged.append(len(compared))
        return judge(compared, *given, **options)

    monkeypatch.setattr(analysis, "judge", counted)
    path = study(tmp_path, '[[sensitivity]]\nname = "no answer is missing"\nno_answer = "missing"\n')
    results = run_protocol(path, tmp_path / "out", report=False)
    assert judged == [1, 1]
    found = ps.Estimates.load(tmp_path / "out" / "sensitivity.parquet")
    main, first = next(iter(results.contrasts)), next(iter(found))
    same = ("contrast", "estimate", "conf_low", "conf_high", "p_value", "p_adjusted", "verdict", "note")
    assert [first[name] for name in same] == [main[name] for name in same]


def test_a_note_says_nothing_twice(tmp_path: Path) -> None:
    assert joined(["pooled over run (2); 3 families", None, "", "pooled over run (2)"]) == (
        "pooled over run (2); 3 families"
    )
    assert joined([None, ""]) is None
    few = '[[contrast]]\nname = "C2"\nestimand = "accuracy"\nminus = "easy"\n'
    easy = '[[estimand]]\nname = "easy"\nkind = "mean"\nwhere = { category = ["x", "y"] }\n'
    rows = (study(tmp_path).parent / "runs.csv").read_text().splitlines()
    kept = [rows[0], *(row for row in rows[1:] if row.split(",")[1] < "f05")]
    path = study(tmp_path, easy + few)
    (tmp_path / "runs.csv").write_text("\n".join(kept) + "\n")
    notes = [row["note"] for row in run_protocol(path, tmp_path / "out", report=False).contrasts]
    for note in notes:
        parts = (note or "").split("; ")
        assert len(parts) == len(set(parts)), note
    assert "first: only 5 families" in notes[-1]
    assert "second: only 4 families" in notes[-1]


def test_missing_rules() -> None:
    rows = pd.DataFrame(
        [
            {
                "family": f"f{i // 2}",
                "item": f"q{i}",
                "model": m,
                "score": 1.0 if m == "a" else 0.0,
                "status": "answered",
            }
            for m in "ab"
            for i in range(16)
        ]
    )
    rows.loc[0, ["score", "status"]] = [None, "error"]
    panel = Panel(rows)
    asked = Versus("model", "b")
    common = next(iter(ps.contrast(panel, Mean(), asked)))
    dropped = next(iter(ps.contrast(panel, Mean(), asked, missing="drop-family")))
    assert (common["n_units"], common["n_missing"], common["n_families"]) == (15, 1, 8)
    assert (dropped["n_units"], dropped["n_missing"], dropped["n_families"]) == (14, 2, 7)
    with pytest.raises(PairstatsError, match="1 of 16 are not"):
        ps.contrast(panel, Mean(), asked, missing="refuse")
    with pytest.raises(PairstatsError, match="`missing` must be one of"):
        ps.contrast(panel, Mean(), asked, missing="ignore")


def test_shares_can_be_compared_only_in_pairs() -> None:
    rows = pd.DataFrame(
        [
            {
                "family": f"f{i}",
                "item": f"q{i}",
                "model": m,
                "condition": c,
                "score": 1.0,
                "confidence": (i % 3) / 2,
            }
            for m in "ab"
            for c in "xy"
            for i in range(9)
        ]
    )
    rows.loc[0, "confidence"] = 1.0
    with pytest.raises(PairstatsError, match="in pairs only"):
        ps.contrast(
            Panel(rows),
            Share("score < 1", given="confidence >= 0.9"),
            Versus("condition", "x"),
            average="model",
        )
