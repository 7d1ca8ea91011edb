"""Families for a margin and for a number of pairs, and two confidences of the same answers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pairstats import Mean, Pairwise, Panel, Trend, compare_confidences, families_plan, margin_plan
from pairstats.errors import PairstatsError
from pairstats.numeric import (
    auroc_difference,
    delong_test,
    delong_variance,
    families_needed,
    family_margin_test,
    mcnemar_sample_size,
    variance_components,
)


def records(families=30, items=2, seed=2):
    rng = np.random.default_rng(seed)
    rows = []
    for f in range(families):
        ease, gap = rng.beta(2, 1), rng.normal(0.15, 0.2)
        for i in range(items):
            rows += [
                {"family": f"f{f:02}", "item": f"{f}.{i}", "model": m,
                 "score": float(rng.random() < np.clip(ease - gap * (m == "n"), 0, 1))}
                for m in ("m", "n")
            ]  # fmt: skip
    return pd.DataFrame(rows)


def test_margins_that_the_families_at_hand_can_reach():
    found = margin_plan(Panel(records()), margins=[0.2, 0.05]).where(model="m").frame
    assert found["estimand"].tolist() == ["families_for_margin(0.2)", "families_for_margin(0.05)"]
    for needed, margin in zip(found["estimate"].astype(int), [0.2, 0.05], strict=True):
        enough, short = (
            family_margin_test([0.0] * g, claim="noninferiority", margin=margin).established
            for g in (needed, needed - 1)
        )
        assert (enough, short) == (True, False)
    assert found["note"].tolist()[1].startswith(f"{72 - 30} more")
    single = margin_plan(Panel(records(items=1)), Mean("score"), margins=[0.1]).frame
    assert single["estimand"].tolist() == ["families_for_margin(0.1)", "items_for_margin(0.1)"] * 2


def test_families_from_a_pilot():
    frame = records()
    found = families_plan(Panel(frame), Pairwise("model"), copies=4).frame.set_index("estimand")
    wide = frame.pivot_table(index=["family", "item"], columns="model", values="score")
    gaps = (wide["m"] - wide["n"]).to_numpy()
    pairs = mcnemar_sample_size(np.mean(gaps > 0), np.mean(gaps < 0)).n
    between, within = variance_components(gaps, [wide.index.get_level_values(0)]).components
    icc = between / (between + within)
    assert found.loc["pairs_needed", "estimate"] == pairs
    assert found.loc["icc_of_differences", "estimate"] == pytest.approx(icc)
    assert (
        found.loc["families_needed", "estimate"] == families_needed(pairs, copies=4, icc=max(icc, 0)).families
    )
    given = families_plan(Panel(frame), Pairwise("model"), n_pairs=100).frame.set_index("estimand")
    assert (
        given.loc["families_needed", "estimate"] == families_needed(100, copies=2, icc=max(icc, 0)).families
    )


def test_what_a_pilot_cannot_tell():
    single = families_plan(Panel(records(items=1)), Pairwise("model"), copies=4).frame.set_index("estimand")
    assert "need a correlation" in single.loc["families_needed", "note"]
    assert np.isnan(single.loc["icc_of_differences", "estimate"])
    alone = families_plan(Panel(records(items=1)), Pairwise("model")).frame.set_index("estimand")
    assert alone.loc["families_needed", "estimate"] == alone.loc["pairs_needed", "estimate"]
    equal = records().assign(score=1.0)
    assert "do not differ" in families_plan(Panel(equal), Pairwise("model")).frame["note"].iloc[-1]
    with pytest.raises(PairstatsError, match="not for a Trend"):
        families_plan(Panel(records()), Trend("model", {"m": 0, "n": 1}))


def stated(families):
    rng = np.random.default_rng(6)
    right = rng.integers(0, 2, 60).astype(float)
    one, two = (np.clip(0.5 + w * (right - 0.5) + rng.normal(0, 0.3, 60), 0, 1) for w in (0.5, 0.2))
    return pd.DataFrame(
        {"family": [f"f{i % families}" for i in range(60)], "item": [f"q{i}" for i in range(60)], "model": "m",
         "score": right, "said": one, "logprob": two}
    )  # fmt: skip


def test_two_confidences_of_the_same_answers():
    frame = stated(60)
    found = compare_confidences(Panel(frame), "said", "logprob").frame
    test = delong_test(frame["said"], frame["logprob"], frame["score"])
    delong = found[found["method"] == "DeLong"].reset_index()
    assert delong["p_value"][0] == pytest.approx(test.p_value)
    assert delong["estimate"].tolist() == pytest.approx([test.estimate, test.first, test.second])
    errors = [delong_variance(frame[c], frame["score"]).variance ** 0.5 for c in ("said", "logprob")]
    assert delong["std_error"].tolist()[1:] == pytest.approx(errors)


def test_with_families_only_the_jackknife_is_given():
    frame = stated(20)
    found = compare_confidences(Panel(frame), "said", "logprob").frame
    assert len(found) == 1
    oracle = auroc_difference(
        (frame["said"], frame["score"]), (frame["logprob"], frame["score"]), families=frame["family"].tolist()
    )
    assert (found["conf_low"][0], found["conf_high"][0]) == pytest.approx((oracle.low, oracle.high))
    lost = compare_confidences(Panel(frame.assign(said=None, logprob=0.5)), "said", "logprob").frame
    assert lost["note"][0].startswith("no results")


def test_scores_in_between_have_no_number_of_families() -> None:
    rows = [{"family": f"f{i}", "item": f"q{i}", "model": m, "score": 0.51 if m == "a" else 0.5}
            for i in range(10) for m in "ab"]  # fmt: skip
    with pytest.raises(PairstatsError, match="must hold 0 or 1"):
        families_plan(Panel(pd.DataFrame(rows)), Pairwise("model"))


def test_two_confidences_of_one_answer_count_it_once_and_one_model_does_not_stop_another() -> None:
    rows = [
        {"family": f"f{i}", "item": f"q{i}", "model": m, "score": float(i % 3 > 0 if m == "a" else i > 0),
         "x": (i * 7 % 12) / 12, "y": (i * 5 % 12) / 12}
        for i in range(12) for m in "ab"
    ]  # fmt: skip
    found = compare_confidences(Panel(pd.DataFrame(rows)), "x", "y").frame
    assert found[found["model"] == "a"]["note"].iloc[0].startswith("8 right, 4 wrong")
    assert found[found["model"] == "b"]["note"].iloc[0].startswith("11 right, 1 wrong")
    assert len(found[found["model"] == "b"]) == 1, "no DeLong from one wrong answer"
