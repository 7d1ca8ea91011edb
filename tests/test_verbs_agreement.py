"""Agreement, retest, review and noise by cell: against the array functions, by hand, and at the edges."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_of_statsmodels

from pairstats import (
    FlipRate,
    Panel,
    agreement,
    answer_spread,
    classes,
    control_flips,
    estimate,
    excess_flips,
    flip_table,
    retest,
    review_curve,
    silent_errors,
)
from pairstats.errors import PairingError, PairstatsError
from pairstats.numeric import krippendorff_alpha


def records(families=20, repeats=2, seed=1, models=("m", "n"), variants=("base", "moved", "asked")):
    rng = np.random.default_rng(seed)
    rows = [
        {"family": f"f{f}", "item": f"f{f}", "model": model, "variant": variant, "repeat": r}
        for f in range(families)
        for model in models
        for variant in variants
        for r in range(repeats)
    ]
    frame = pd.DataFrame(rows)
    frame["answer"] = rng.choice(list("AABC"), len(frame))
    frame["score"] = (frame["answer"] == "A").astype(float)
    return frame


def one(found, **where):
    frame = found.where(**where).frame
    assert len(frame) == 1
    return frame.iloc[0]


def test_fleiss_is_that_of_statsmodels_on_the_table_of_copies():
    frame = records()
    table = frame[frame["model"] == "m"].pivot(index="family", columns=["variant", "repeat"], values="answer")
    oracle = fleiss_of_statsmodels(aggregate_raters(table.to_numpy())[0])
    found = one(agreement(Panel(frame)), model="m")
    assert found["estimate"] == pytest.approx(oracle, abs=1e-12)
    assert found["conf_low"] < oracle < found["conf_high"]
    assert (found["n_units"], found["n_missing"], found["n_families"]) == (20, 0, 20)
    assert found["estimand"] == "fleiss_kappa(answer)"


def test_ratings_of_a_rubric_skip_replies_without_an_answer():
    frame = records(models=("m",)).assign(rating=lambda t: t["answer"].map({"A": 3, "B": 2, "C": 1}))
    frame["status"] = np.where(np.arange(len(frame)) % 11 == 0, "unparsed", "answered")
    frame.loc[frame["status"] == "unparsed", "rating"] = None
    found = one(agreement(Panel(frame), "rating", kind="krippendorff", level="ordinal"))
    rows = [
        [None if pd.isna(r) else r for r in group["rating"]]
        for _, group in frame.sort_values(["family", "variant", "repeat"]).groupby("family")
    ]
    assert found["estimate"] == pytest.approx(krippendorff_alpha(rows, level="ordinal").value, abs=1e-12)


def test_full_agreement_no_answer_and_an_unknown_kind():
    same = records(models=("m",)).assign(answer="A")
    undefined = one(agreement(Panel(same)))
    assert pd.isna(undefined["estimate"])
    assert "one answer only" in undefined["note"]
    assert one(agreement(Panel(same), kind="gwet"))["estimate"] == 1
    nothing = same.assign(answer=None, status="error")
    assert "no copy has an answer" in one(agreement(Panel(nothing)))["note"]
    with pytest.raises(PairstatsError, match="kind"):
        agreement(Panel(same), kind="cohen")


def test_retest_by_hand():
    frame = records(repeats=2, models=("m",), variants=("base",), families=30)
    frame.loc[(frame["family"] == "f3") & (frame["repeat"] == 1), ["status", "answer", "score"]] = [
        "error",
        None,
        None,
    ]
    frame["status"] = frame["status"].fillna("answered")
    wide = frame.pivot(index="family", columns="repeat", values="answer").dropna()
    found = retest(Panel(frame), "repeat")
    same = one(found, estimand="same_answer")
    assert same["estimate"] == pytest.approx((wide[0] == wide[1]).mean())
    assert (same["n_units"], same["n_missing"]) == (29, 1)
    assert "1 answered in the first run only" in same["note"]
    scores = frame.pivot(index="family", columns="repeat", values="score").dropna()
    change = one(found, estimand="score_change")
    assert change["estimate"] == pytest.approx((scores[1] - scores[0]).mean())
    assert one(found, estimand="cohen_kappa")["n_families"] == 29
    assert len(retest(Panel(frame), "repeat", score=None)) == 2


def test_retest_refuses_what_cannot_be_paired():
    frame = records(models=("m",))
    with pytest.raises(PairstatsError, match="must not be one of the cells"):
        retest(Panel(frame), "model")
    with pytest.raises(PairstatsError, match="Two different levels"):
        retest(Panel(frame), "variant")
    apart = frame.assign(run=np.where(frame["repeat"] == 0, "1", "2"))
    with pytest.raises(PairingError, match="No request is shared"):
        retest(Panel(apart))
    with pytest.raises(PairingError, match="one reply to each request"):
        retest(Panel(pd.concat([apart, apart.assign(platform="p")])))
    runs = pd.concat([frame.assign(run="1"), frame.assign(run="2")])
    assert retest(Panel(runs)).frame["estimate"].iloc[0] == 1


def test_review_curve_by_hand():
    frame = pd.DataFrame(
        {
            "family": list("aabbccdd"), "item": list("aabbccdd"), "model": "m", "variant": ["base", "moved"] * 4,
            "answer": list("AAABCCAA"), "score": [1.0, 1, 1, 0, 0, 0, 1, 1],
        }
    )  # fmt: skip
    found = review_curve(Panel(frame), reviewer_accuracy=0.9)
    assert found.where(estimand="risk").frame["estimate"].tolist() == pytest.approx([3 / 8, 1 / 3])
    assert found.where(estimand="error").frame["estimate"].tolist() == pytest.approx([3 / 8, (1 + 0.1) / 4])
    assert found.frame["coverage"].unique().tolist() == [1, 0.75]
    assert "0.306 when as many are reviewed at random" in one(found, estimand="error", agreement=1.0)["note"]
    with pytest.raises(PairingError, match="names one question"):
        review_curve(Panel(frame.assign(family="all")))


def test_excess_is_between_less_within_by_counting_pairs():
    frame = records(models=("m",))
    found = excess_flips(Panel(frame))
    within, between = [], []
    for _, family in frame.groupby("family"):
        replies = family[["variant", "answer"]].to_numpy().tolist()
        pairs = [(a, b) for i, a in enumerate(replies) for b in replies[i + 1 :]]
        within.append(np.mean([a[1] != b[1] for a, b in pairs if a[0] == b[0]]))
        between.append(np.mean([a[1] != b[1] for a, b in pairs if a[0] != b[0]]))
    values = found.frame.set_index("estimand")["estimate"]
    assert values["flips_within"] == pytest.approx(np.mean(within), abs=1e-12)
    assert values["flips_between"] == pytest.approx(np.mean(between), abs=1e-12)
    assert values["excess_flips"] == pytest.approx(np.mean(between) - np.mean(within), abs=1e-12)
    rate = estimate(Panel(frame), FlipRate("answer")).frame["estimate"].item()
    assert values["flips_between"] == pytest.approx(rate, abs=1e-12)


def test_excess_needs_repeats():
    found = excess_flips(Panel(records(repeats=1)))
    assert found.frame["estimate"].isna().all()
    assert found.frame["note"].str.contains("two replies each").all()


def test_flips_beyond_a_control_arm_paired_and_not():
    frame = records(models=("m",), repeats=1)
    found = one(control_flips(Panel(frame), "moved", "asked"))
    wide = frame.pivot(index="family", columns="variant", values="answer")
    gaps = (wide["moved"] != wide["base"]).astype(float) - (wide["asked"] != wide["base"]).astype(float)
    assert found["estimate"] == pytest.approx(gaps.mean())
    assert 0 < found["p_value"] <= 1
    number = frame["family"].str[1:].astype(int)
    apart = frame[
        (frame["variant"] != "moved") & (number < 10) | (frame["variant"] != "asked") & (number >= 10)
    ]
    unpaired = one(control_flips(Panel(apart), ["moved"], ["asked"]))
    assert (unpaired["method"], unpaired["n_families"]) == ("mover", 10)
    assert pd.isna(unpaired["p_value"])
    with pytest.raises(PairstatsError, match="must not share a variant"):
        control_flips(Panel(frame), ["moved", "asked"], "asked")
    with pytest.raises(PairstatsError, match="must not share a variant"):
        control_flips(Panel(frame), "moved", "base")


def test_spread_keeps_numbers_of_copies_apart():
    frame = records(models=("m",), repeats=1)
    frame = frame[~((frame["family"] < "f15") & (frame["variant"] == "asked"))]
    found = answer_spread(Panel(frame))
    for k, label in ((2, "any_disagreement(2)"), (3, "any_disagreement(3)")):
        groups = [g["answer"] for _, g in frame.groupby("family") if len(g) == k]
        assert one(found, estimand=label)["estimate"] == pytest.approx(
            np.mean([g.nunique() > 1 for g in groups])
        )
    entropy = one(found, estimand="entropy")
    assert 0 <= entropy["conf_low"] < entropy["estimate"] < entropy["conf_high"]


@pytest.mark.parametrize("verb", [agreement, excess_flips, answer_spread, review_curve])
def test_order_of_rows_does_not_matter(verb):
    frame = records()
    shuffled = frame.sample(frac=1, random_state=3)
    pd.testing.assert_frame_equal(verb(Panel(frame)).frame, verb(Panel(shuffled)).frame)


def unparsed(frame):
    """Half of the wrong replies hold no answer, and those to one question failed."""
    frame = frame.assign(status="answered")
    wrong = frame.index[frame["score"] == 0]
    frame.loc[wrong[::2], "status"] = "unparsed"
    frame.loc[frame["family"] == "f1", "status"] = "error"
    frame.loc[frame["status"] != "answered", ["answer", "score"]] = None
    return frame


@pytest.mark.parametrize("no_answer", ["wrong", "missing"])
def test_every_verb_compares_scores_as_the_flip_rate_does(no_answer):
    """A reply without an answer scores wrong, or is missing: against a wrong one it never is a flip."""
    frame = unparsed(records(models=("m",), variants=("base", "moved"), repeats=1, families=60))
    panel = Panel(frame, no_answer=no_answer)
    rate = one(estimate(panel, FlipRate("score")))
    wide = (
        panel.rows().collect().to_pandas().pivot(index="family", columns="variant", values="score").dropna()
    )
    assert rate["estimate"] == pytest.approx((wide["base"] != wide["moved"]).mean())
    if no_answer == "wrong":
        assert len(wide) == 59
        assert (
            rate["note"] == f"{(frame['status'] == 'unparsed').sum()} without an answer are counted as wrong"
        )
    spread = one(answer_spread(panel, "score"), estimand="any_disagreement(2)")
    assert spread["estimate"] == pytest.approx(rate["estimate"])
    table = flip_table(panel, "score", reference="base").frame.set_index("estimand")["estimate"]
    assert table[["right_to_wrong", "wrong_to_right"]].sum() == pytest.approx(rate["estimate"])
    assert table["wrong_to_other"] == 0
    errors = silent_errors(panel, "score").frame.set_index("estimand")["estimate"]
    assert errors["silent_error"] == pytest.approx((wide[wide["base"] == wide["moved"]]["base"] == 0).mean())
    for kind in ("fleiss", "gwet", "krippendorff"):
        observed = one(agreement(panel, "score", kind=kind))["note"]
        assert f"observed {1 - rate['estimate']:.3f}" in observed
    runs = Panel(frame.assign(run=frame["variant"], variant="base"), no_answer=no_answer)
    same = one(retest(runs, column="score"), estimand="same_answer")
    assert same["estimate"] == pytest.approx(1 - rate["estimate"])
    moves = classes(panel, "score", "variant", question="symmetry")
    changed = round(rate["estimate"] * len(wide))
    assert f"{changed} items change class" in one(moves, estimand="symmetry(score)")["note"]
    curve = review_curve(panel, "score")
    assert one(curve, estimand="risk", agreement=1.0)["estimate"] == pytest.approx(errors["silent_error"])


@pytest.mark.parametrize("no_answer", ["wrong", "missing"])
def test_flips_beyond_noise_compare_scores_as_the_flip_rate_does(no_answer):
    frame = records(models=("m",), repeats=3, families=40).assign(status="answered")
    blank = frame["repeat"] == 2  # in every presentation, so that they stay of one size when it is missing
    frame.loc[blank, ["status", "answer", "score"]] = ["unparsed", None, None]
    panel = Panel(frame, no_answer=no_answer)
    found = excess_flips(panel, "score")
    between = one(estimate(panel, FlipRate("score")))["estimate"]
    assert one(found, estimand="flips_between")["estimate"] == pytest.approx(between)
    wording = frame.assign(family=frame["family"] + frame["variant"], variant=frame["repeat"].astype(str))
    within = one(estimate(Panel(wording, no_answer=no_answer), FlipRate("score")))["estimate"]
    assert one(found, estimand="flips_within")["estimate"] == pytest.approx(within)
    both = control_flips(panel, "moved", "asked", column="score").frame["note"].item()
    for arm in ("moved", "asked"):
        alone = one(estimate(panel, FlipRate("score", "base", ("base", arm))))["estimate"]
        assert f"{alone:.3f}" in both
