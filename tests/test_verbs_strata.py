"""Strata, missing answers and composites by cell: by hand, against arrays and `estimate`, and at the edges."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pairstats as ps
from pairstats import (
    AllCorrect,
    Mean,
    Pairwise,
    Panel,
    Ratio,
    Share,
    Versus,
    capped,
    contrast,
    estimate,
    macro_average,
    missing_bounds,
    number_correct,
    post_stratify,
    weighted,
)
from pairstats.errors import PairstatsError
from pairstats.numeric import imbens_manski, weighted_composite
from pairstats.numeric import macro_average as macro_of


def records(seed=1, families=30, items=2):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        [
            {"family": f"f{f:02}", "item": f"{f}.{i}", "model": model, "split": "xyz"[min(f // 8, 2)]}
            for f in range(families)
            for i in range(items)
            for model in ("m", "n")
        ]
    )
    frame["score"] = (rng.random(len(frame)) < frame["split"].map({"x": 0.9, "y": 0.6, "z": 0.3})).astype(
        float
    )
    return frame.assign(status="answered", score_style=rng.choice([0, 0.5, 1], len(frame)))


def lost(frame, rows):
    frame = frame.copy()
    frame.loc[rows, ["status", "score"]] = ["error", None]
    return frame


def one(found, **where):
    frame = found.where(**where).frame
    assert len(frame) == 1
    return frame.iloc[0]


def test_a_macro_average_weighs_strata_alike():
    frame = records()
    row = one(macro_average(Panel(frame), Mean("score"), "split"), model="m")
    mine = frame[frame["model"] == "m"]
    assert row["estimate"] == pytest.approx(mine.groupby("split")["score"].mean().mean())
    means = mine.groupby(["family", "split"], as_index=False)["score"].mean()
    oracle = macro_of(means["score"], means["split"].tolist(), sizes=[2] * 30)
    assert (row["conf_low"], row["conf_high"]) == (oracle.low, oracle.high)
    assert (row["n_families"], row["n_units"]) == (30, 60)
    uneven = {"x": 1, "y": 0, "z": 0}
    first = one(macro_average(Panel(frame), Mean("score"), "split", weights=uneven), model="m")
    assert first["estimate"] == pytest.approx(mine[mine["split"] == "x"]["score"].mean())


def test_differences_over_strata_and_one_stratum_as_in_contrast():
    frame = records()
    found = one(macro_average(Panel(frame), Mean("score"), "split", Pairwise("model")))
    wide = frame.pivot_table(index=["split", "family"], columns="model", values="score").eval("m - n")
    assert found["estimate"] == pytest.approx(wide.groupby("split").mean().mean())
    assert (found["contrast"], found["null"]) == ("m - n", 0)
    only = Panel(frame[frame["split"] == "x"])
    same = one(macro_average(only, Mean("score"), "split", Versus("model", "n")))
    oracle = one(contrast(only, Mean("score"), Pairwise("model")))
    for name in ("estimate", "conf_low", "conf_high"):
        assert same[name] == pytest.approx(oracle[name])


def test_what_is_no_mean_over_strata_is_refused():
    frame = records()
    crossed = frame.assign(split=np.where(frame["item"].str.endswith(".0"), "x", "y"))
    with pytest.raises(PairstatsError, match="one stratum"):
        macro_average(Panel(crossed), Mean("score"), "split")
    with pytest.raises(PairstatsError, match="known range"):
        macro_average(Panel(frame.assign(n=1.0)), Ratio("score", "n"), "split")
    apart = frame[~((frame["model"] == "n") & (frame["split"] == "x"))]
    with pytest.raises(PairstatsError, match="rows on all sides"):
        macro_average(Panel(apart), Mean("score"), "split", Pairwise("model"))


def test_post_stratification_restores_the_planned_mix():
    frame = records()
    mine = frame[frame["model"] == "m"]
    rows = mine.index[(mine["split"] == "x")][:8]
    panel = Panel(lost(frame, rows))
    row = one(post_stratify(panel, Mean("score"), "split"), model="m")
    left = mine.drop(rows).groupby("split")["score"].mean()
    planned = mine.groupby("split").size()
    assert row["estimate"] == pytest.approx(float(left @ planned) / planned.sum())
    assert row["n_missing"] == 8
    whole = one(post_stratify(panel, Mean("score"), "split"), model="n")
    assert whole["estimate"] == pytest.approx(frame[frame["model"] == "n"]["score"].mean())


def test_a_category_that_lost_too_much_leaves_no_estimate():
    frame = records()
    mine = frame[(frame["model"] == "m") & (frame["split"] == "x")]
    for count in (len(mine), len(mine) - 2):
        row = one(post_stratify(Panel(lost(frame, mine.index[:count])), Mean("score"), "split"), model="m")
        assert pd.isna(row["estimate"])
        assert pd.isna(row["conf_low"])
        assert "fewer than 5 answered in x" in row["note"]
    empty = macro_average(Panel(lost(frame, mine.index)), Mean("score"), "split")
    assert "no answer in x, which the mean leaves out" in one(empty, model="m")["note"]
    gone = post_stratify(Panel(lost(frame, frame.index[frame["model"] == "m"])), Mean("score"), "split")
    assert one(gone, model="m")["note"] == "no results: no reply counts"


def test_bounds_fill_what_is_missing_with_either_end():
    frame = records()
    rows = frame.index[frame["model"] == "m"][::6]
    found = missing_bounds(Panel(lost(frame, rows)), Mean("score"))
    whole = one(found, model="m", estimand="bounds(accuracy)")
    filled = [
        lost(frame, rows).assign(score=lambda t, end=end: t["score"].fillna(end), status="answered")
        for end in (0.0, 1.0)
    ]
    worst, best = (one(estimate(Panel(each), Mean("score")), model="m") for each in filled)
    assert (whole["bound_low"], whole["bound_high"]) == (worst["estimate"], best["estimate"])
    assert (whole["conf_low"], whole["conf_high"]) == pytest.approx((worst["conf_low"], best["conf_high"]))
    value = one(found, model="m", estimand="value(accuracy)")
    oracle = imbens_manski(
        worst["estimate"], best["estimate"], worst["std_error"], best["std_error"], bounds=(0, 1)
    )
    assert (value["conf_low"], value["conf_high"]) == pytest.approx((oracle.low, oracle.high))
    nothing_lost = one(found, model="n", estimand="bounds(accuracy)")
    plain = one(estimate(Panel(frame), Mean("score")), model="n")
    assert (nothing_lost["conf_low"], nothing_lost["conf_high"]) == (plain["conf_low"], plain["conf_high"])


def test_too_few_answers_are_said_and_families_may_count_alike():
    frame = records()
    rows = frame.index[(frame["model"] == "m") & (frame["split"] != "z")]
    found = missing_bounds(Panel(lost(frame, rows)), Mean("score", weight="family"))
    row = one(found, model="m", estimand="bounds(accuracy)")
    assert "counts only: 47 % of replies, 47 % of families answered, fewer than 80 %" in row["note"]
    assert row["bound_high"] - row["bound_low"] == pytest.approx(16 / 30)
    with pytest.raises(PairstatsError, match="known range"):
        missing_bounds(Panel(frame.assign(n=1.0)), Ratio("score", "n"))
    with pytest.raises(PairstatsError, match="random denominator"):
        missing_bounds(Panel(frame), Share("score == 1", given="score >= 0.5"))


def test_numbers_right_and_the_strict_rate():
    frame = records(items=3)
    found = number_correct(Panel(frame)).where(model="m").frame.set_index("estimand")
    right = frame[frame["model"] == "m"].groupby("family")["score"].sum()
    for j in range(4):
        assert found.loc[f"families_with({j})", "estimate"] == (right == j).sum()
    strict = one(estimate(Panel(frame), AllCorrect(), interval="family-cp"), model="m")
    for name in ("estimate", "conf_low", "conf_high"):
        assert found.loc["all_correct(3)", name] == pytest.approx(strict[name], abs=1e-7)
    assert found.loc["per_decision", "estimate"] == pytest.approx(right.sum() / 90)
    rows = frame.index[frame["model"] == "m"][:1]
    assert (
        one(number_correct(Panel(lost(frame, rows))), model="m", estimand="all_correct(3)")["n_missing"] == 1
    )
    gone = number_correct(Panel(lost(frame, frame.index[frame["model"] == "m"])))
    assert one(gone, model="m")["note"] == "no results: no family is complete"
    with pytest.raises(PairstatsError, match="same number of decisions"):
        number_correct(Panel(frame.drop(index=frame.index[0])))
    with pytest.raises(PairstatsError, match="several repeats"):
        number_correct(Panel(pd.concat([frame.assign(repeat=0), frame.assign(repeat=1)])))


def test_a_cap_from_other_families():
    frame = records()
    easy, hard = Panel(frame[frame["split"] == "x"]), Panel(frame[frame["split"] == "z"])
    found = capped(easy, Mean("score"), hard, Mean("score", label="cap")).where(model="m")
    parts = {name: one(found, estimand=name) for name in ("accuracy", "cap")}
    smaller = one(found, estimand="min(accuracy, cap)")
    assert smaller["estimate"] == min(part["estimate"] for part in parts.values())
    assert smaller["note"].endswith("active: cap")
    plain = one(estimate(hard, Mean("score")), model="m")
    assert (parts["cap"]["conf_low"], parts["cap"]["conf_high"]) == (plain["conf_low"], plain["conf_high"])
    assert smaller["conf_low"] <= parts["cap"]["conf_low"] + 1e-9
    with pytest.raises(PairstatsError, match="no cell in common"):
        capped(easy.where(model="m"), Mean("score"), hard.where(model="n"), Mean("score"))
    with pytest.raises(PairstatsError, match="one known range"):
        capped(easy, Mean("score"), hard, Mean("score", bounds=(-1.0, 1.0)))


def test_weighted_parts_are_summed_family_by_family():
    frame = records()
    found = one(weighted(Panel(frame), {"score": 0.8, "score_style": 0.2}), model="n")
    parts = frame[frame["model"] == "n"].groupby("family")[["score", "score_style"]].mean()
    oracle = weighted_composite(parts.to_numpy(), [0.8, 0.2])
    assert (found["estimate"], found["conf_low"]) == pytest.approx((oracle.estimate, oracle.low))
    rows = frame.index[(frame["model"] == "n") & (frame["family"] == "f00")]
    assert one(weighted(Panel(lost(frame, rows)), {"score": 1}), model="n")["n_missing"] == 1
    gone = weighted(Panel(lost(frame, frame.index)), {"score": 1}).frame
    assert gone["note"].tolist() == ["no results: no family has every part"] * 2


def test_a_stratum_that_is_blank_throughout_is_refused() -> None:
    rows = [
        {"family": f, "item": f, "model": m, "status": "answered", "score": 1.0} for f in "abcd" for m in "xy"
    ]
    panel = ps.Panel(ps.Records.from_frame(pd.DataFrame(rows)))
    for ask in (
        lambda: ps.macro_average(panel, ps.Mean("score"), "category"),
        lambda: ps.macro_average(panel, ps.Mean("score"), "category", ps.Pairwise("model")),
        lambda: ps.post_stratify(panel, ps.Mean("score"), "category"),
    ):
        with pytest.raises(PairstatsError, match="must hold the strata, but is blank in every row"):
            ask()
