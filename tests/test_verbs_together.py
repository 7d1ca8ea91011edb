"""What holds for every verb: any engine and order of rows, one family, nothing answered, the population named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pairstats as ps
from pairstats import Mean, Pairwise, Panel
from pairstats.errors import PairstatsError

FEW = {"n_resamples": 50}

VERBS = {
    "agreement": ps.agreement,
    "answer_spread": ps.answer_spread,
    "aurc": ps.aurc,
    "auroc": ps.auroc,
    "bound_plan": lambda p: ps.bound_plan(p, Mean()),
    "brier_parts": ps.brier_parts,
    "calibration_errors": lambda p: ps.calibration_errors(p, **FEW),
    "calibration_summary": lambda p: ps.calibration_summary(p, **FEW),
    "capped": lambda p: ps.capped(p, Mean(), p, Mean("score_style", label="style")),
    "classes": ps.classes,
    "compare_auroc": ps.compare_auroc,
    "compare_confidences": lambda p: ps.compare_confidences(p, "confidence", "score_style"),
    "control_flips": lambda p: ps.control_flips(p, "moved", "asked"),
    "copied_replies": ps.copied_replies,
    "corrected": lambda p: ps.corrected(p, Mean(), sensitivity=(45, 50), specificity=0.9),
    "corrected_contrast": lambda p: ps.corrected(
        p, Mean(), Pairwise("model"), sensitivity=0.9, specificity=(45, 50)
    ),
    "corp_curve": lambda p: ps.corp_curve(p, **FEW),
    "design_effects": lambda p: ps.design_effects(p, Mean()),
    "excess_flips": ps.excess_flips,
    "families_plan": lambda p: ps.families_plan(p, Pairwise("model")),
    "flip_table": ps.flip_table,
    "framing_test": ps.framing_test,
    "judge_verdicts": lambda p: ps.judge_verdicts(
        p.where(variant=["base", "moved"]), ("base", "moved"), "pick"
    ),
    "macro_average": lambda p: ps.macro_average(p, Mean(), "split"),
    "macro_contrast": lambda p: ps.macro_average(p, Mean(), "split", Pairwise("model")),
    "margin_plan": ps.margin_plan,
    "margin_test": lambda p: ps.margin_test(p, Mean(), Pairwise("model"), claim="equivalence", margin=0.1),
    "missing_bounds": lambda p: ps.missing_bounds(p, Mean()),
    "number_correct": lambda p: ps.number_correct(p.where(repeat=0)),
    "omnibus": lambda p: ps.omnibus(p, Mean()),
    "paired_intervals": lambda p: ps.paired_intervals(p.where(repeat=0)),
    "paired_tests": lambda p: ps.paired_tests(p.where(repeat=0)),
    "pass_rates": lambda p: ps.pass_rates(p, 2),
    "post_stratify": lambda p: ps.post_stratify(p, Mean(), "split"),
    "probability_better": lambda p: ps.probability_better(p, Mean(), Pairwise("model"), delta=0.05),
    "rank": lambda p: ps.rank(p, Mean()),
    "rate_test": lambda p: ps.rate_test(p, Mean(), 0.5),
    "retest": lambda p: ps.retest(p, "repeat"),
    "review_curve": ps.review_curve,
    "silent_errors": ps.silent_errors,
    "simultaneous": lambda p: ps.simultaneous(p, Mean(), Pairwise("model")),
    "usage": lambda p: ps.usage(p, **FEW),
    "variance_parts": ps.variance_parts,
    "weighted": lambda p: ps.weighted(p, {"score": 0.8, "score_style": 0.2}),
}
STRATIFIED = ("macro_contrast", "macro_average", "post_stratify")
"""They need a family in each stratum: see test_verbs_strata."""


def records(families=12, seed=1):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        [
            {
                "family": f"f{f:02}",
                "item": f"q{f}",
                "model": m,
                "variant": v,
                "repeat": r,
                "split": "xy"[f % 2],
            }
            for f in range(families)
            for m in ("m", "n")
            for v in ("base", "moved", "asked")
            for r in range(2)
        ]
    )
    size = len(frame)
    frame["answer"] = rng.choice(list("AAB"), size)
    frame["score"] = (frame["answer"] == "A").astype(float)
    frame["score_style"] = rng.choice([0.0, 0.5, 1.0], size)
    frame["confidence"] = rng.choice([0.5, 0.7, 0.9], size)
    frame["pick"] = rng.choice(["base", "moved", "tie"], size)
    frame["outcome"] = rng.choice(["ask", "guess"], size)
    frame["output_tokens"] = rng.integers(5, 90, size).astype(float)
    return frame.assign(response=frame["answer"] + frame["item"], status="answered")


def nothing_answered(frame):
    empty = dict.fromkeys(["answer", "outcome", "pick", "response"])
    numbers = dict.fromkeys(["score", "score_style", "confidence", "output_tokens"], np.nan)
    return frame.assign(status="error", **empty, **numbers)


def test_every_public_verb_is_run_here():
    homes = {name for name, home in ps._HOME.items() if home.startswith("verbs.")}
    homes -= {"calibration_curve"}  # made of rows of `estimate`, whose rules it shares
    assert homes <= set(VERBS), sorted(homes - set(VERBS))


@pytest.mark.parametrize("name", VERBS)
def test_engine_and_order_of_rows_mean_nothing(name):
    frame = records()
    expected = VERBS[name](Panel(frame)).frame
    assert len(expected) > 0
    assert expected["estimand"].notna().all()
    assert set(expected["population"]) == {"families"}
    shuffled = frame.sample(frac=1, random_state=3)
    arrow = pa.Table.from_pandas(shuffled, preserve_index=False)
    encoded = ["split", "model", "variant", "outcome", "answer"]
    for column in encoded:
        at = arrow.column_names.index(column)
        arrow = arrow.set_column(at, column, arrow[column].dictionary_encode())
    for other in (shuffled, arrow):
        pd.testing.assert_frame_equal(VERBS[name](Panel(other)).frame, expected, rtol=1e-9)


@pytest.mark.parametrize("name", [name for name in VERBS if name not in STRATIFIED])
def test_one_family_gives_rows_that_hold_no_nonsense(name):
    found = VERBS[name](Panel(records(families=1))).frame
    p_values = found["p_value"].dropna()
    assert ((p_values > 0) & (p_values <= 1)).all()
    known = found.dropna(subset=["conf_low", "conf_high"])
    assert (known["conf_low"] <= known["conf_high"]).all()


@pytest.mark.parametrize("name", VERBS)
def test_nothing_answered_keeps_rows_that_say_so(name):
    found = VERBS[name](Panel(nothing_answered(records()))).frame
    assert len(found) > 0
    counts = name in ("copied_replies", "missing_bounds")  # these report the emptiness itself
    assert counts or found["estimate"].isna().all()
    assert counts or found["note"].str.contains("no results|not estimable").any()


@pytest.mark.parametrize("name", VERBS)
def test_no_interval_over_families_under_the_name_of_these_cases(name):
    with pytest.raises(PairstatsError, match=r"these_cases"):
        VERBS[name](Panel(records(), population="these_cases"))


@pytest.mark.parametrize("name", VERBS)
def test_a_population_is_asked_for_once_where_families_are_few(name):
    few = Panel(records(families=6))
    notes = VERBS[name](few).frame["note"].dropna()
    assert (notes.str.count("declare population") <= 1).all()
    declared = VERBS[name](Panel(records(families=6), population="families")).frame["note"].dropna()
    assert not declared.str.contains("declare population").any()
