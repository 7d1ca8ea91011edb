"""AUROC, AURC, calibration errors, parts of the Brier score and the CORP curve by cell."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pairstats import (
    Brier,
    Pairwise,
    Panel,
    aurc,
    auroc,
    brier_parts,
    calibration_errors,
    compare_auroc,
    contrast,
    corp_curve,
    estimate,
)
from pairstats.errors import PairstatsError
from pairstats.numeric import (
    auroc_difference,
    auroc_interval,
    brier_difference,
    corp_band,
    expected_calibration_error,
    smooth_ece,
)


def records(seed=1, families=25):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        [
            {"family": f"f{f:02}", "item": f"{f}.{i}", "model": model}
            for f in range(families)
            for i in range(4)
            for model in ("m", "n")
        ]
    )
    frame["confidence"] = rng.choice([0.4, 0.7, 0.9, 1.0, np.nan], len(frame))
    frame["score"] = (rng.random(len(frame)) < 0.7).astype(float)
    return frame


def arrays(frame, model):
    part = frame[(frame["model"] == model) & frame["confidence"].notna()]
    return {"confidence": part["confidence"], "correct": part["score"]}, part["family"].tolist()


def one(found, **where):
    frame = found.where(**where).frame
    assert len(frame) == 1
    return frame.iloc[0]


def test_auroc_counts_pairs_and_has_the_limits_of_the_array_function():
    frame = records()
    data, families = arrays(frame, "m")
    right = data["confidence"][data["correct"] == 1].to_numpy()[:, None]
    wrong = data["confidence"][data["correct"] == 0].to_numpy()[None, :]
    row = one(auroc(Panel(frame)), model="m")
    assert row["estimate"] == pytest.approx(np.mean((right > wrong) + 0.5 * (right == wrong)))
    oracle = auroc_interval(**data, families=families)
    assert (row["conf_low"], row["conf_high"]) == pytest.approx((oracle.low, oracle.high))
    assert row["n_units"] + row["n_missing"] == 100
    lower = one(auroc(Panel(frame), alternative="greater"), model="m")
    assert lower["conf_high"] == 1
    assert lower["conf_low"] > row["conf_low"]


def test_aurc_is_the_mean_of_risks_and_its_excess_is_above_the_best():
    frame = records().assign(confidence=lambda t: np.linspace(0.01, 0.99, len(t)))  # no ties
    part = frame[frame["model"] == "n"].sort_values("confidence", ascending=False)
    risks = np.cumsum(1 - part["score"]) / np.arange(1, 101)
    found = aurc(Panel(frame)).where(model="n").frame.set_index("estimand")["estimate"]
    assert found["aurc"] == pytest.approx(risks.mean())
    best = np.cumsum(np.sort(1 - part["score"])) / np.arange(1, 101)
    assert found["aurc_excess"] == pytest.approx((risks - best).mean())


def shared(frame):
    wide = frame.pivot(index=["family", "item"], columns="model", values=["confidence", "score"]).dropna()
    sides = [(wide["confidence"][m], wide["score"][m]) for m in ("m", "n")]
    return sides, wide.index.get_level_values(0).tolist()


def test_two_models_are_compared_on_requests_both_answered():
    frame = records()
    sides, families = shared(frame)
    oracle = auroc_difference(*sides, families=families)
    row = one(compare_auroc(Panel(frame)))
    assert row["contrast"] == "m - n"
    assert row["estimate"] == pytest.approx(oracle.value)
    assert (row["conf_low"], row["conf_high"]) == pytest.approx((oracle.low, oracle.high))
    assert (row["n_units"], row["n_missing"]) == (len(families), 100 - len(families))
    served = frame.assign(platform=frame["model"].map({"m": "here", "n": "there"}))
    pd.testing.assert_frame_equal(compare_auroc(Panel(served)).frame, compare_auroc(Panel(frame)).frame)
    with pytest.raises(PairstatsError, match="At least two levels"):
        compare_auroc(Panel(frame.query("model == 'm'")))


def test_the_difference_of_two_brier_scores_is_a_contrast():
    frame = records()
    sides, families = shared(frame)
    oracle = brier_difference(*sides, families=families)
    row = one(contrast(Panel(frame), Brier(), Pairwise("model")))
    assert row["estimate"] == pytest.approx(oracle.estimate)
    assert (row["conf_low"], row["conf_high"]) == pytest.approx((oracle.low, oracle.high))
    assert row["p_value"] == pytest.approx(oracle.test.p_value)


def test_calibration_errors_stand_beside_their_null_and_have_no_limits():
    frame = records()
    data, families = arrays(frame, "m")
    found = calibration_errors(Panel(frame), n_resamples=200)
    ece = expected_calibration_error(**data, families=families, n_resamples=200)
    row = one(found, model="m", estimand="ece")
    assert (row["estimate"], row["p_value"]) == pytest.approx((ece.value, ece.p_value.p_value))
    assert row["null"] == pytest.approx(ece.null_mean)
    assert row["null"] > 0
    smooth = smooth_ece(**data, families=families, n_resamples=200)
    assert one(found, model="m", estimand="smooth_ece")["estimate"] == pytest.approx(smooth.value)
    assert found.frame[["conf_low", "conf_high"]].isna().all(axis=None)
    assert len(found) == 10


def test_parts_add_up_to_the_brier_score():
    frame = records()
    found = brier_parts(Panel(frame)).where(model="m").frame.set_index("estimand")
    score = one(estimate(Panel(frame), Brier()), model="m")["estimate"]
    for kind, terms in (
        ("murphy", ("reliability", "resolution", "uncertainty")),
        ("corp", ("miscalibration", "discrimination", "uncertainty")),
    ):
        cost, gain, rest = (found.loc[f"{kind}_{term}", "estimate"] for term in terms)
        assert cost - gain + rest == pytest.approx(score, abs=1e-12)
    data, _ = arrays(frame, "m")
    clipped = data["confidence"].clip(1e-3, 1 - 1e-3)
    losses = -np.log(np.where(data["correct"] == 1, clipped, 1 - clipped))
    assert found.loc["log_loss", "estimate"] == pytest.approx(losses.mean())
    assert found.loc["log_loss", "conf_low"] < losses.mean() < found.loc["log_loss", "conf_high"]
    assert "infinite without clipping" in found.loc["log_loss", "note"]


def test_the_corp_curve_rises_and_says_when_families_are_few():
    frame = records()
    data, families = arrays(frame, "n")
    curve = corp_curve(Panel(frame), n_resamples=100).where(model="n").frame
    oracle = corp_band(**data, families=families, n_resamples=100)
    assert curve["estimate"].to_numpy() == pytest.approx(oracle.fit)
    assert curve["conf_low"].to_numpy() == pytest.approx(oracle.low)
    assert curve["estimate"].is_monotonic_increasing
    assert curve["note"].str.contains("needs about 40").all()
    consistent = corp_curve(Panel(frame), band="consistency", n_resamples=100).where(model="n").frame
    assert (consistent["null"] == consistent["conf_mean"]).all()


@pytest.mark.parametrize("verb", [auroc, aurc, calibration_errors, brier_parts, corp_curve])
def test_edges_of_real_records(verb):
    options = {} if verb in (auroc, aurc, brier_parts) else {"n_resamples": 50}
    frame = records(families=12)
    frame.loc[frame["model"] == "n", "confidence"] = None
    row = one(verb(Panel(frame), **options), model="n")
    assert row["note"] == "no results: no reply has both a confidence and a score"
    assert (row["n_missing"], row["n_families"]) == (48, 0)
    same = verb(Panel(frame.assign(score=1.0, confidence=1.0)), **options)
    assert same.frame["estimate"].dropna().between(-1e-9, 1 + 1e-9).all()
    with pytest.raises(PairstatsError, match="0 or 1"):
        verb(Panel(records().assign(score=0.5)), **options)
    shuffled = frame.sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(verb(Panel(frame), **options).frame, verb(Panel(shuffled), **options).frame)
