"""Ranks, global tests, simultaneous intervals and classes on a panel: against arrays, contrasts and enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.contingency_tables import SquareTable, cochrans_q

from pairstats import (
    Brier,
    Interaction,
    Mean,
    Pairwise,
    Panel,
    Ratio,
    Share,
    Trend,
    Versus,
    classes,
    contrast,
    omnibus,
    rank,
    simultaneous,
)
from pairstats.errors import PairstatsError
from pairstats.numeric import rank_intervals, simultaneous_intervals

EASE = {"a": 0.9, "b": 0.7, "c": 0.65, "d": 0.2}


def records(families=24, seed=1, items=2, conditions=("direct",)):
    rng = np.random.default_rng(seed)
    rows = [
        {"family": f"f{f:02}", "item": f"{f}.{i}", "model": model, "condition": condition,
         "score": float(rng.random() < ease)}
        for f in range(families)
        for i in range(items)
        for model, ease in EASE.items()
        for condition in conditions
    ]  # fmt: skip
    return pd.DataFrame(rows)


def means(frame):
    return frame.pivot_table(index="family", columns="model", values="score").to_numpy()


def test_ranks_are_those_of_the_arrays_and_of_holms_contrasts():
    frame = records()
    found = rank(Panel(frame), Mean("score"))
    oracle = rank_intervals(means(frame), sizes=[2.0] * 24)
    ranks = found.where(estimand="rank(accuracy)").frame.set_index("model")
    order = sorted(EASE)
    assert ranks.loc[order, "conf_low"].tolist() == oracle.best.tolist()
    assert ranks.loc[order, "conf_high"].tolist() == oracle.worst.tolist()
    pairs = contrast(Panel(frame), Mean("score"), Pairwise("model")).frame
    told = {
        tuple(c.split(" - "))
        for c, p in zip(pairs["contrast"], pairs["p_adjusted"], strict=True)
        if p <= 0.05
    }
    for first, second in itertools.combinations(order, 2):
        alike = ranks.loc[first, "note"].split("not told apart from ")[-1].split(", ")
        assert ((first, second) in told) == (second not in alike)
    letters = ranks["note"].str.extract(r"group (\w+):")[0]
    assert all(
        (set(letters[a]) & set(letters[b]) == set()) == ((a, b) in told)
        for a, b in itertools.combinations(order, 2)
    )
    assert ranks["estimate"].isna().all()
    values = found.where(estimand="accuracy").frame
    assert values["estimate"].is_monotonic_decreasing
    for group in found.provenance["groups"]["all"]:
        assert not told & set(itertools.combinations(sorted(group), 2))


def test_equal_models_share_all_ranks_and_missing_units_are_left_out_for_all():
    frame = records(items=1).assign(score=lambda t: (t["family"] < "f12").astype(float))
    frame["status"] = np.where((frame["model"] == "a") & (frame["family"] == "f00"), "error", "answered")
    frame.loc[frame["status"] == "error", "score"] = None
    found = rank(Panel(frame), Mean("score"))
    ranks = found.where(estimand="rank(accuracy)").frame
    assert set(ranks["conf_low"]) == {1}
    assert set(ranks["conf_high"]) == {4}
    assert set(ranks["n_units"]) == {23}
    assert set(ranks["n_missing"]) == {1}
    assert omnibus(Panel(frame), Mean("score")).frame["p_value"].tolist() == [1]


def test_notes_of_a_rank_are_about_the_level_of_their_row():
    frame = records(items=1).assign(status="answered", confidence=0.5)
    for model, status, families in (("b", "unparsed", ["f01", "f02"]), ("c", "error", ["f03"])):
        hit = (frame["model"] == model) & frame["family"].isin(families)
        frame.loc[hit, ["status", "score"]] = [status, None]
    values = rank(Panel(frame), Mean("score")).where(estimand="accuracy").frame.set_index("model")
    out = "1 unit left out at every level, {} of them missing here"
    assert values["note"]["a"] == values["note"]["d"] == out.format(0)
    assert values["note"]["b"] == f"{out.format(0)}; 2 without an answer are counted as wrong"
    assert values["note"]["c"] == out.format(1)
    briers = rank(Panel(frame), Brier()).where(estimand="brier").frame.set_index("model")
    assert briers["note"].tolist() == values.loc[briers.index, "note"].tolist()
    without = rank(Panel(frame, no_answer="missing"), Mean("score")).where(estimand="accuracy").frame
    assert not without["note"].str.contains("counted").any()
    assert (
        without.set_index("model")["note"]["b"] == "3 units left out at every level, 2 of them missing here"
    )
    together = "2 without an answer are counted as wrong, all levels together"
    assert together in omnibus(Panel(frame), Mean("score")).frame["note"].item()
    assert (
        simultaneous(Panel(frame), Mean("score"), Pairwise("model"))
        .frame["note"]
        .str.contains(together)
        .all()
    )


def test_strata_are_ranked_apart_and_one_level_is_refused():
    found = rank(Panel(records(conditions=("direct", "told")), cells=("condition", "model")), Mean("score"))
    assert len(found) == 16
    assert found.factors == ("condition", "model")
    with pytest.raises(PairstatsError, match="At least two levels"):
        rank(Panel(records().query("model == 'a'")), Mean("score"))
    with pytest.raises(PairstatsError, match="equal denominators"):
        rank(Panel(records()), Share("score == 1", given="score >= 0.5"))


def test_cochrans_q_is_statsmodels_on_items_and_enumerated_on_families():
    frame = records(items=1)
    single = omnibus(Panel(frame), Mean("score"), method="chi2").frame.iloc[0]
    oracle = cochrans_q(means(frame))
    assert (single["statistic"], single["p_value"]) == pytest.approx((oracle.statistic, oracle.pvalue))
    few = records(families=5, seed=3).query("model != 'd'")
    table = 2 * means(few)
    columns = [list(itertools.permutations(row)) for row in table]
    sums = [np.sum(choice, axis=0) for choice in itertools.product(*columns)]
    spread = np.var(sums, axis=1)
    found = omnibus(Panel(few), Mean("score")).frame.iloc[0]
    assert found["p_value"] == pytest.approx(np.mean(spread >= np.var(table.sum(axis=0)) - 1e-9), abs=1e-12)
    assert found["method"] == "Cochran's Q by families (exact)"
    assert (found["n_families"], found["contrast"]) == (5, "equal over model")


def test_simultaneous_rows_equal_the_array_function():
    frame = records()
    found = simultaneous(Panel(frame), Mean("score"), Pairwise("model"), method="family-jeffreys")
    table = means(frame)
    gaps = np.column_stack([table[:, i] - table[:, j] for i, j in itertools.combinations(range(4), 2)])
    oracle = simultaneous_intervals(gaps, sizes=[2.0] * 24, method="family-jeffreys")
    assert found.frame["conf_low"].to_numpy() == pytest.approx(oracle.low, abs=1e-12)
    assert found.frame["conf_high"].to_numpy() == pytest.approx(oracle.high, abs=1e-12)
    alone = contrast(Panel(frame), Mean("score"), Pairwise("model")).frame
    assert found.frame["p_value"].to_numpy() == pytest.approx(alone["p_value"].to_numpy())
    assert found.frame["p_adjusted"].to_numpy() == pytest.approx(alone["p_adjusted"].to_numpy())
    assert (found.frame["conf_low"] <= alone["conf_low"] + 1e-9).all()


@pytest.mark.parametrize("adjust", ["holm", "hochberg", "shaffer", "romano-wolf"])
def test_adjusted_p_values_never_fall_below_their_own(adjust):
    found = simultaneous(Panel(records()), Mean("score"), Pairwise("model"), adjust=adjust).frame
    assert (found["p_adjusted"] >= found["p_value"] - 1e-12).all()
    bonferroni = np.minimum(1, 6 * found["p_value"])
    if adjust in ("holm", "shaffer"):
        assert (found["p_adjusted"] <= bonferroni + 1e-12).all()


def test_max_t_is_for_one_pair_in_several_strata():
    panel = Panel(records(conditions=("direct", "told")), cells=("condition", "model"))
    one_pair = simultaneous(panel, Mean("score"), Versus("model", "b", "a"), adjust="max-t")
    assert len(one_pair) == 2
    with pytest.raises(PairstatsError, match="one pair of levels"):
        simultaneous(panel, Mean("score"), Pairwise("model"), adjust="max-t")
    with pytest.raises(PairstatsError, match="all pairs"):
        simultaneous(panel, Mean("score"), Versus("model", "b"), adjust="shaffer")
    both = simultaneous(
        panel, Mean("score"), Interaction(Versus("model", "b", "a"), "condition", "told", "direct")
    )
    assert both.frame["conf_low"].item() >= -2
    with pytest.raises(PairstatsError, match="not for a Trend"):
        simultaneous(panel, Mean("score"), Trend("model", {"a": 0, "b": 1}))
    with pytest.raises(PairstatsError, match="known range"):
        simultaneous(Panel(records().assign(n=1.0)), Ratio("score", "n"), Pairwise("model"))


def class_records(seed=2, items=1, families=40):
    rng = np.random.default_rng(seed)
    frame = records(families=families, items=items).query("model in ('a', 'b')")
    return frame.assign(outcome=rng.choice(["ask", "guess", "refuse"], len(frame), p=[0.5, 0.3, 0.2]))


@pytest.mark.parametrize("question", ["marginal", "symmetry"])
def test_class_tests_have_the_statistics_of_statsmodels(question):
    frame = class_records()
    wide = frame.pivot(index="item", columns="model", values="outcome")
    table = pd.crosstab(wide["a"], wide["b"]).to_numpy()
    square = SquareTable(table, shift_zeros=False)
    oracle = square.homogeneity() if question == "marginal" else square.symmetry()
    found = classes(Panel(frame), question=question).frame
    assert found["statistic"].iloc[0] == pytest.approx(oracle.statistic, abs=1e-9)
    assert 0 < found["p_value"].iloc[0] <= 1
    shares = wide.apply(pd.Series.value_counts, normalize=True)
    for name in ("ask", "guess", "refuse"):
        row = found[found["estimand"] == f"share(outcome == {name})"].iloc[0]
        assert row["estimate"] == pytest.approx(shares.loc[name, "a"] - shares.loc[name, "b"])
        assert row["conf_low"] < row["estimate"] < row["conf_high"]


def test_a_share_of_a_class_is_the_contrast_of_that_share():
    frame = class_records(items=3)
    found = classes(Panel(frame)).where(estimand="share(outcome == ask)").frame.iloc[0]
    oracle = contrast(Panel(frame), Share("outcome == ask"), Pairwise("model")).frame.iloc[0]
    for name in ("estimate", "conf_low", "conf_high", "n_families"):
        assert found[name] == pytest.approx(oracle[name])


def test_replies_without_an_answer_are_a_class_and_errors_are_missing():
    frame = class_records().reset_index(drop=True)
    frame["status"] = "answered"
    frame.loc[[0, 3], ["status", "outcome"]] = ["refused", None]
    frame.loc[4, ["status", "outcome"]] = ["error", None]
    found = classes(Panel(frame)).frame
    assert "share(outcome == no answer)" in set(found["estimand"])
    assert set(found["n_missing"]) == {1}
    silent = classes(Panel(frame, no_answer="missing")).frame
    assert "share(outcome == no answer)" not in set(silent["estimand"])
    nothing = classes(Panel(frame.assign(outcome=None, status="error"))).frame
    assert nothing["note"].tolist() == ["no results: no item has a class on both sides"]


def test_order_of_rows_does_not_matter():
    frame = class_records(items=2)
    shuffled = frame.sample(frac=1, random_state=3)
    for run in (lambda t: rank(Panel(t), Mean("score")), lambda t: classes(Panel(t))):
        pd.testing.assert_frame_equal(run(frame).frame, run(shuffled).frame)
