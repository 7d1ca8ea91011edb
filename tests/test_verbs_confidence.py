"""The summary of stated confidence, against the array functions and at the edges of real records."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pairstats import Brier, Panel, estimate
from pairstats.errors import PairstatsError
from pairstats.numeric import auroc_interval, calibration_test, overconfidence
from pairstats.verbs.confidence import calibration_summary


def records(seed=1):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        [
            {"family": f"f{f}", "item": f"{f}.{i}", "model": model}
            for f in range(25)
            for i in range(4)
            for model in ("m", "n")
        ]
    )
    frame["confidence"] = rng.choice([0.4, 0.7, 0.9, 1.0, np.nan], len(frame))
    frame["score"] = (rng.random(len(frame)) < 0.7).astype(float)
    return frame


def test_rows_equal_the_array_functions_on_what_states_a_confidence():
    frame = records()
    found = calibration_summary(Panel(frame), n_resamples=200)
    assert len(found) == 20
    part = frame[(frame["model"] == "m") & frame["confidence"].notna()]
    data = {"confidence": part["confidence"], "correct": part["score"], "families": part["family"].tolist()}
    rows = found.where(model="m").frame.set_index("estimand")
    assert set(rows["n_units"]) == {len(part)}
    assert set(rows["n_missing"]) == {100 - len(part)}
    shares = overconfidence(**data)
    for name in ("gap", "wrong_of_confident", "right_of_unsure"):
        share = getattr(shares, name)
        assert rows.loc[name, "estimate"] == pytest.approx(share.value)
        assert (rows.loc[name, "conf_low"], rows.loc[name, "conf_high"]) == (share.low, share.high)
    sure = part[part["confidence"] >= 0.9]
    wrong = int((sure["score"] == 0).sum())
    assert rows.loc["wrong_of_confident", "note"] == f"{wrong} of {len(sure)}; confidence >= 0.9"
    assert rows.loc["wrong_of_all", "note"] == f"{wrong} of {len(part)}; confidence >= 0.9"
    assert rows.loc["right_of_unsure", "note"].endswith("confidence <= 0.5")
    ranked = auroc_interval(**data)
    assert rows.loc["auroc", "conf_low"] == pytest.approx(ranked.low)
    test = calibration_test(**data, n_resamples=200)
    assert rows.loc["miscalibration", "estimate"] == pytest.approx(test.value)
    assert rows.loc["miscalibration", "null"] == pytest.approx(test.null_mean)
    assert rows.loc["miscalibration", "p_value"] == test.p_value.p_value
    assert rows.loc[["miscalibration", "smooth_ece"], "conf_low"].isna().all()
    assert estimate(Panel(part), Brier()).frame["estimate"].item() >= test.value


def test_order_of_rows_does_not_matter():
    frame = records()
    one, two = (
        calibration_summary(Panel(each), n_resamples=50).frame
        for each in (frame, frame.sample(frac=1, random_state=1))
    )
    pd.testing.assert_frame_equal(one, two)


def test_all_right_and_never_unsure():
    frame = records().assign(score=1.0, confidence=0.95)
    rows = calibration_summary(Panel(frame), n_resamples=50).where(model="m").frame.set_index("estimand")
    assert rows.loc["wrong_of_confident", "estimate"] == 0
    assert rows.loc["wrong_of_confident", "conf_high"] > 0
    assert pd.isna(rows.loc["right_of_unsure", "estimate"])
    assert "no reply is in the denominator" in rows.loc["right_of_unsure", "note"]
    assert pd.isna(rows.loc["auroc", "estimate"])
    assert (rows.loc["auroc", "conf_low"], rows.loc["auroc", "conf_high"]) == (0, 1)


def test_a_cell_without_confidence_keeps_a_row():
    frame = records()
    frame.loc[frame["model"] == "n", "confidence"] = None
    row = calibration_summary(Panel(frame), n_resamples=50).where(model="n").frame
    assert row["note"].tolist() == ["no results: no reply has both a confidence and a score"]
    assert row["n_missing"].tolist() == [100]


def test_partial_credit_is_refused():
    with pytest.raises(PairstatsError, match=r"0 or 1, but \d+ scores are in between"):
        calibration_summary(Panel(records().assign(score=0.5)))
    with pytest.raises(PairstatsError, match="no column"):
        calibration_summary(Panel(records()), confidence="certainty")
