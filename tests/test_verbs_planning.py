"""Repeats, planning, usage and the Bayesian bootstrap by cell: by hand, against arrays, and at the edges."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from pairstats import (
    Mean,
    Pairwise,
    Panel,
    Ratio,
    Share,
    Trend,
    bound_plan,
    contrast,
    copied_replies,
    design_effects,
    estimate,
    framing_test,
    pass_rates,
    probability_better,
    usage,
    variance_parts,
)
from pairstats.errors import PairstatsError
from pairstats.numeric import design_effect, dirichlet_weights, repeat_variance, repeats_to_buy


def records(families=15, items=1, repeats=4, seed=1, models=("m", "n"), variants=("base",)):
    rng = np.random.default_rng(seed)
    ease = rng.beta(2, 1, families)
    frame = pd.DataFrame(
        [
            {"family": f"f{f:02}", "item": f"{f}.{i}", "model": m, "variant": v, "repeat": r,
             "score": float(rng.random() < ease[f])}
            for f in range(families)
            for i in range(items)
            for m in models
            for v in variants
            for r in range(repeats)
        ]
    )  # fmt: skip
    return frame.assign(output_tokens=rng.lognormal(5, 1, len(frame)).round())


def values(found, **where):
    return found.where(**where).frame.set_index("estimand")["estimate"]


def test_components_of_one_unit_a_family_are_those_of_the_table():
    frame = records()
    table = frame[frame["model"] == "m"].pivot(index="family", columns="repeat", values="score")
    oracle = repeat_variance(table.to_numpy())
    found = values(variance_parts(Panel(frame), cost_item=9), model="m")
    assert found["var_family"] == pytest.approx(oracle.var_item, abs=1e-12)
    assert found["var_repeat"] == pytest.approx(oracle.var_repeat, abs=1e-12)
    plan = repeats_to_buy(oracle.var_item, oracle.var_repeat, cost_item=9)
    assert (found["repeats_best"], found["repeats_enough"]) == pytest.approx((plan.best, plan.enough))


def test_three_levels_and_what_one_repeat_cannot_tell():
    frame = records(items=3, families=8)
    found = values(variance_parts(Panel(frame)), model="m")
    table = frame[frame["model"] == "m"].groupby("item")["score"]
    assert found["var_repeat"] == pytest.approx(table.var(ddof=1).mean())
    assert {"var_family", "var_unit"} <= set(found.index)
    single = variance_parts(Panel(frame[frame["repeat"] == 0])).frame
    assert single["estimate"].isna().any()
    assert single["note"].str.contains("not estimable").any()


def test_pass_rates_by_listing_all_sets_of_replies():
    frame = records()
    table = frame[frame["model"] == "n"].pivot(index="family", columns="repeat", values="score").to_numpy()
    sets = list(itertools.combinations(range(4), 3))
    found = values(pass_rates(Panel(frame), 3), model="n")
    assert found["pass@3"] == pytest.approx(np.mean([[row[list(s)].any() for s in sets] for row in table]))
    assert found["pass^3"] == pytest.approx(np.mean([[row[list(s)].all() for s in sets] for row in table]))
    accuracy = estimate(Panel(frame), Mean("score")).where(model="n").frame.iloc[0]
    single = pass_rates(Panel(frame), 1).where(model="n", estimand="pass@1").frame.iloc[0]
    for name in ("estimate", "conf_low", "conf_high"):
        assert single[name] == pytest.approx(accuracy[name])


def test_units_with_fewer_replies_leave_pass_rates_and_are_counted():
    frame = records()
    frame = frame[~((frame["family"] == "f00") & (frame["repeat"] > 1))]
    row = pass_rates(Panel(frame), 3).where(model="m", estimand="pass@3").frame.iloc[0]
    assert (row["n_units"], row["n_missing"]) == (14, 1)
    assert pass_rates(Panel(frame), 9).frame["note"].str.contains("no unit has 9 replies").all()
    with pytest.raises(PairstatsError, match="0 or 1"):
        pass_rates(Panel(frame.assign(score=0.5)), 1)


def test_copies_of_one_reply_are_found():
    frame = records(families=6, models=("m",))
    frame["response"] = frame["item"] + "/" + frame["repeat"].clip(upper=2).astype(str)
    found = copied_replies(Panel(frame))
    assert values(found)["identical_pairs"] == pytest.approx(1 / 6)
    assert values(found)["distinct_repeats"] == 3
    assert found.frame["note"].tolist() == ["repeats 2 and 3 are the same text everywhere"] * 3
    same = copied_replies(Panel(frame.assign(response="same")))
    assert values(same).tolist() == [1, 1, 1]
    with pytest.raises(PairstatsError, match="no column"):
        copied_replies(Panel(records()))


def test_framings_are_tested_against_their_interaction_with_cases():
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    frame = records(families=6, variants=("a", "b", "c"), repeats=2, models=("m",))
    row = framing_test(Panel(frame)).frame.iloc[0]
    cells = frame.groupby(["family", "variant"], as_index=False)["score"].mean()
    table = anova_lm(ols("score ~ C(family) + C(variant)", cells).fit())
    assert row["statistic"] == pytest.approx(table.loc["C(variant)", "F"])
    assert row["p_value"] == pytest.approx(table.loc["C(variant)", "PR(>F)"])
    lost = frame.assign(score=frame["score"].where(frame["family"] != "f03"))
    assert framing_test(Panel(lost)).frame["n_missing"].iloc[0] == 1
    assert "needs 2 families" in framing_test(Panel(records())).frame["note"].iloc[0]


def test_design_effects_and_bounds():
    frame = records(items=4, repeats=1)
    found = values(design_effects(Panel(frame), Mean("score")), model="m")
    means = frame[frame["model"] == "m"].groupby("family")["score"].mean()
    oracle = design_effect(means, sizes=[4] * 15)
    for name in ("design_effect", "icc", "n_effective"):
        assert found[name] == pytest.approx(getattr(oracle, name))
    assert found["effective_families"] == 15
    perfect = Panel(frame.assign(score=1.0))
    plan = bound_plan(perfect, Mean("score"), [0.9]).where(model="m").frame
    assert plan["conf_low"].iloc[0] == pytest.approx(0.025 ** (1 / 15))
    assert plan["estimate"].iloc[1] == np.ceil(np.log(0.025) / np.log(0.9)) == 36
    assert "21 more than the 15" in plan["note"].iloc[1]
    assert design_effects(perfect, Mean("score")).frame["note"].str.contains("not estimable").any()
    with pytest.raises(PairstatsError, match="variance_parts"):
        design_effects(Panel(frame), Mean("output_tokens"))


def test_usage_by_hand():
    frame = records(repeats=1)
    wide = frame.pivot(index="item", columns="model", values="output_tokens")
    found = usage(Panel(frame), n_resamples=300)
    medians = values(found)
    assert medians["median_first"] == np.median(wide["m"])
    assert medians["median_difference"] == np.median(wide["m"] - wide["n"])
    assert medians["ratio_of_medians"] == pytest.approx(np.median(wide["m"]) / np.median(wide["n"]))
    assert medians["ratio_of_totals"] == pytest.approx(wide["m"].sum() / wide["n"].sum())
    assert (found.frame["conf_low"] <= found.frame["estimate"]).all()
    frame.loc[frame.index[0], "output_tokens"] = None
    assert set(usage(Panel(frame), n_resamples=300).frame["n_missing"]) == {1}
    free = frame.assign(output_tokens=0.0)
    assert "ratio_of_medians" not in set(usage(Panel(free), n_resamples=50).frame["estimand"])
    nothing = usage(Panel(frame.assign(output_tokens=np.nan))).frame
    assert nothing["note"].tolist() == ["no results: no request has a value on both sides"]


def test_probabilities_are_those_of_the_family_interval():
    panel = Panel(records(items=2, repeats=1))
    interval = contrast(panel, Mean("score"), Pairwise("model")).frame.iloc[0]
    found = probability_better(panel, Mean("score"), Pairwise("model"), delta=0.05)
    row = found.where(estimand="posterior_difference").frame.iloc[0]
    assert (row["conf_low"], row["conf_high"]) == pytest.approx(
        (interval["conf_low"], interval["conf_high"]), abs=1e-7
    )
    chances = values(found)
    assert chances[["P(better)", "P(within)", "P(worse)"]].sum() == pytest.approx(1)
    frame = records(items=2, repeats=1)
    gaps = frame.pivot_table(index="family", columns="model", values="score").eval("m - n").to_numpy()
    weights = dirichlet_weights(15, 40_000, kind="jeffreys", rng=1).rows("low")
    draws = weights @ np.append(gaps, [-1.0, 1.0]) / weights.sum(axis=1)
    assert chances["P(better)"] == pytest.approx(np.mean(draws >= 0.05), abs=0.01)
    assert "P(within)" not in values(probability_better(panel, Mean("score"), Pairwise("model")))


@pytest.mark.parametrize("prior", ["jeffreys", "none"])
def test_posteriors_of_ratios_are_drawn_from_the_same_weights(prior):
    frame = records(items=2, repeats=1)
    share = Share("score == 1", given="output_tokens >= 150")
    first = probability_better(Panel(frame), share, Pairwise("model"), delta=0.05, prior=prior)
    chances = values(first)
    assert chances[["P(better)", "P(within)", "P(worse)"]].sum() == pytest.approx(1)
    sums = frame.assign(den=(frame["output_tokens"] >= 150) * 1.0).assign(num=lambda t: t["den"] * t["score"])
    num, den = (
        sums.pivot_table(index="family", columns="model", values=v, aggfunc="sum") for v in ("num", "den")
    )
    num, den = num.to_numpy() / 1.0, den.to_numpy() / 1.0
    kept = den.sum(axis=1) > 0
    rng = np.random.default_rng(3)
    weights = rng.standard_gamma(1.0, (40_000, int(kept.sum())))
    tops, belows = weights @ num[kept], weights @ den[kept]
    if prior == "jeffreys":
        size = den[kept].mean(axis=0)
        worst, best = rng.standard_gamma(0.5, (2, 40_000, 1))
        tops, belows = tops + size * worst * [0, 1] + size * best * [1, 0], belows + size * (worst + best)
    drawn = (tops / belows) @ [1, -1]
    assert chances["P(better)"] == pytest.approx(np.mean(drawn >= 0.05), abs=0.02)
    assert chances["posterior_difference"] == pytest.approx(drawn.mean(), abs=0.01)
    table = first.frame
    assert table["seed"].nunique() == 1
    assert table["method"].str.contains("Monte Carlo").all()
    renamed = frame.assign(model=frame["model"].map({"m": "z", "n": "a"}))
    mirror = values(probability_better(Panel(renamed), share, Pairwise("model"), delta=0.05, prior=prior))
    assert mirror["P(worse)"] == chances["P(better)"]  # the same draws, turned round


def test_posteriors_are_for_two_sides():
    panel = Panel(records().assign(n=lambda t: t["output_tokens"]))
    with pytest.raises(PairstatsError, match="not for a Trend"):
        probability_better(panel, Mean("score"), Trend("model", {"m": 0, "n": 1}))
    with pytest.raises(PairstatsError):
        probability_better(panel, Ratio("score", "n"), Pairwise("model"))
