"""Two levels by every method, claims against a margin, and further intervals, against other packages."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as mcnemar_of_statsmodels
from statsmodels.stats.proportion import proportion_confint

from pairstats import (
    AllCorrect,
    Betting,
    ClusterRobust,
    KornGraubard,
    Mean,
    Pairwise,
    Panel,
    Proportion,
    Share,
    Trend,
    WildCluster,
    contrast,
    estimate,
    margin_test,
    paired_intervals,
    paired_tests,
)
from pairstats.errors import PairstatsError
from pairstats.numeric import (
    betting_interval,
    clustered_difference_interval,
    clustered_mcnemar,
    korn_graubard,
    wild_cluster,
)


def records(items=1, families=30, seed=1, models=("a", "b")):
    rng = np.random.default_rng(seed)
    ease = {"a": 0.8, "b": 0.5, "c": 0.5}
    rows = [
        {"family": f"f{f:02}", "item": f"{f}.{i}", "model": m, "score": float(rng.random() < ease[m])}
        for f in range(families)
        for i in range(items)
        for m in models
    ]
    return pd.DataFrame(rows)


def counts(frame):
    """Both, first only, second only, neither: by family."""
    wide = frame.pivot(index=["family", "item"], columns="model", values="score")
    a, b = wide["a"], wide["b"]
    cells = pd.DataFrame(
        {"both": a * b, "first": a * (1 - b), "second": (1 - a) * b, "no": (1 - a) * (1 - b)}
    )
    return cells.groupby("family").sum().astype(int)


def by_method(found):
    return found.frame.set_index("method")


def test_single_items_have_mcnemars_tests_of_statsmodels_and_the_sign_flip_is_the_exact_one():
    frame = records()
    found = by_method(paired_tests(Panel(frame)))
    table = counts(frame).sum()
    square = [[table["both"], table["first"]], [table["second"], table["no"]]]
    exact = mcnemar_of_statsmodels(square, exact=True).pvalue
    assert found.loc["mcnemar exact", "p_value"] == pytest.approx(exact, abs=1e-12)
    assert found.loc["sign-flip exact", "p_value"] == pytest.approx(exact, abs=1e-12)
    plain = mcnemar_of_statsmodels(square, exact=False, correction=False).pvalue
    assert found.loc["mcnemar chi2", "p_value"] == pytest.approx(plain, abs=1e-12)
    assert found.loc["sign-flip mid-p", "p_value"] == pytest.approx(found.loc["mcnemar mid-p", "p_value"])
    assert (found["n_first_only"] == table["first"]).all()


def test_families_of_items_have_clustered_tests_only():
    frame = records(items=3)
    found = by_method(paired_tests(Panel(frame)))
    table = counts(frame)
    for method in ("obuchowski", "durkalski", "yang", "eliasziw-donner"):
        oracle = clustered_mcnemar(*table.to_numpy().T, method=method)
        assert found.loc[method, "p_value"] == pytest.approx(oracle.p_value)
    assert not found.index.str.startswith("mcnemar").any()
    means = (table["first"] - table["second"]) / 3
    assert found.loc["cr2-t", "p_value"] == pytest.approx(stats.ttest_1samp(means, 0).pvalue)
    flip = contrast(Panel(frame), Mean("score"), Pairwise("model")).frame.iloc[0]
    assert found.loc["sign-flip exact", "p_value"] == pytest.approx(flip["p_value"])
    assert ((found["p_value"] > 0) & (found["p_value"] <= 1)).all()


def test_proportions_side_by_side_and_odds_only_for_single_items():
    frame = records(items=3)
    found = by_method(paired_intervals(Panel(frame)))
    default = contrast(Panel(frame), Mean("score"), Pairwise("model")).frame.iloc[0]
    first = found.loc["family-jeffreys"]
    assert (first["conf_low"], first["conf_high"]) == pytest.approx(
        (default["conf_low"], default["conf_high"])
    )
    oracle = clustered_difference_interval(*counts(frame).to_numpy().T)
    assert found.loc["tango-neff", "conf_low"] == pytest.approx(oracle.low)
    assert "tango" not in found.index
    single = paired_intervals(Panel(records()))
    odds = single.where(estimand="odds_ratio").frame
    table = counts(records()).sum()
    assert odds["estimate"].unique() == pytest.approx([table["first"] / table["second"]])
    assert odds["method"].tolist() == ["odds-ratio-exact", "odds-ratio-mid-p", "odds-ratio-wilson"]
    assert len(paired_tests(Panel(records(models=("a", "b", "c")))).frame["contrast"].unique()) == 3


def test_nothing_discordant_and_nothing_shared():
    same = records().assign(score=1.0)
    tests = by_method(paired_tests(Panel(same)))["p_value"]
    assert (tests.drop("sign-flip mid-p") == 1).all()
    odds = paired_intervals(Panel(same)).where(estimand="odds_ratio").frame
    assert odds["estimate"].isna().all()
    gone = records().assign(status=lambda t: np.where(t["model"] == "a", "error", "answered"))
    assert paired_tests(Panel(gone.assign(score=gone["score"].where(gone["model"] == "b")))).frame[
        "note"
    ].tolist() == ["no results: no item is answered on both sides"]
    with pytest.raises(PairstatsError, match="must hold 0 or 1"):
        paired_tests(Panel(records().assign(score=0.5)))
    with pytest.raises(PairstatsError, match="one reply to each item"):
        paired_tests(Panel(pd.concat([records().assign(repeat=0), records(seed=2).assign(repeat=1)])))


def test_claims_against_a_margin():
    panel = Panel(records(items=2, families=40))
    row = margin_test(panel, Mean("score"), Pairwise("model"), claim="superiority").frame.iloc[0]
    flip = contrast(panel, Mean("score"), Pairwise("model")).frame.iloc[0]
    assert (row["p_value"], row["verdict"]) == (pytest.approx(flip["p_value"]), "superior")
    limits = contrast(
        panel, Mean("score"), Pairwise("model"), interval="family-cp", confidence_level=0.9
    ).frame
    equal = margin_test(panel, Mean("score"), Pairwise("model"), claim="equivalence", margin=0.1).frame.iloc[
        0
    ]
    assert (equal["conf_low"], equal["conf_high"]) == pytest.approx(
        (limits["conf_low"].item(), limits["conf_high"].item())
    )
    assert (equal["verdict"], equal["conf_level"], equal["margin"]) == ("inconclusive", 0.9, 0.1)
    two = margin_test(panel, Mean("score"), Pairwise("model"), claim="equivalence", margin=(0.1, 0.9)).frame
    assert (two["margin"].item(), pd.isna(two["null"].item())) == (0.9, True)
    assert "against -0.1 and 0.9" in two["note"].item()
    worse = margin_test(panel, Mean("score"), Pairwise("model"), claim="noninferiority", margin=0.1).frame
    assert (worse["null"].item(), row["null"]) == (-0.1, 0)
    assert "one-sided p of -0.1 or worse" in worse["note"].item()
    for method, safer in (("family-cp", False), ("family-jeffreys", True)):
        small = margin_test(
            Panel(records(families=7)), Mean("score"), Pairwise("model"), claim="equivalence", margin=0.5,
            method=method,
        ).frame["note"].item()  # fmt: skip
        assert ("family-cp is safer" in small) == safer
        assert "smallest possible p" not in small
    few = margin_test(Panel(records(families=4)), Mean("score"), Pairwise("model"), claim="superiority").frame
    assert few["note"].item().startswith("this many families could not have established the claim")
    with pytest.raises(PairstatsError, match="different denominators"):
        margin_test(panel, Share("score == 1", given="score >= 0.5"), Pairwise("model"), claim="superiority")
    with pytest.raises(PairstatsError, match="not for a Trend"):
        margin_test(panel, Mean("score"), Trend("model", {"a": 0, "b": 1}), claim="superiority")


def test_further_intervals_are_those_of_the_arrays():
    frame = records(items=3).query("model == 'b'")
    means = frame.groupby("family")["score"].mean()
    sizes = [3.0] * 30
    oracles = {
        Betting(): betting_interval(means, sizes=sizes),
        KornGraubard(): korn_graubard(means, sizes=sizes),
        WildCluster(): wild_cluster(means, sizes=sizes),
    }
    for interval, oracle in oracles.items():
        row = estimate(Panel(frame), Mean("score"), interval=interval).frame.iloc[0]
        assert (row["conf_low"], row["conf_high"]) == pytest.approx((oracle.low, oracle.high))
    robust = estimate(Panel(frame), Mean("score"), interval=ClusterRobust("CR2")).frame.iloc[0]
    t = stats.t.interval(0.95, 29, means.mean(), stats.sem(means))
    assert (robust["conf_low"], robust["conf_high"]) == pytest.approx(t)
    both = contrast(Panel(records(items=2)), Mean("score"), Pairwise("model"), interval=Betting()).frame
    assert both["method"].item() == "betting"


@pytest.mark.parametrize(
    ("method", "name"), [("clopper-pearson", "beta"), ("wilson", "wilson"), ("jeffreys", "jeffreys")]
)
def test_proportions_of_families_that_are_0_or_1(method, name):
    frame = records(items=2)
    row = estimate(Panel(frame), AllCorrect(), interval=Proportion(method)).where(model="b").frame.iloc[0]
    count = int((frame[frame["model"] == "b"].groupby("family")["score"].sum() == 2).sum())
    assert (row["conf_low"], row["conf_high"]) == pytest.approx(
        proportion_confint(count, 30, method=name), abs=1e-9
    )
    assert row["method"] == method


def test_proportions_for_shares_refuse_what_is_none():
    panel = Panel(records(items=2))
    with pytest.raises(PairstatsError, match="one 0/1 decision each"):
        estimate(panel, Mean("score"), interval=Proportion())
    for interval in (KornGraubard(), Proportion()):
        with pytest.raises(PairstatsError, match=r"shares in \[0, 1\]"):
            contrast(panel, Mean("score"), Pairwise("model"), interval=interval)
    with pytest.raises(PairstatsError, match="method"):
        Proportion("wald")
    with pytest.raises(PairstatsError, match="kind"):
        ClusterRobust("HC3")
