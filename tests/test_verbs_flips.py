"""The verbs on flips and errors: against `FlipRate`, counting by hand, and edges of real records."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pairstats import (
    FamilyInterval,
    FlipRate,
    Pairwise,
    Panel,
    answer_spread,
    contrast,
    control_flips,
    estimate,
    excess_flips,
    framing_test,
    review_curve,
)
from pairstats.errors import PairingError, PairstatsError
from pairstats.verbs.flips import flip_table, silent_errors

FLIPS = ("right_to_wrong", "wrong_to_right", "wrong_to_other")


def records(families=20, repeats=1, seed=1, models=("m", "n")):
    rng = np.random.default_rng(seed)
    rows = [
        {"family": f"f{f}", "item": f"f{f}", "model": model, "variant": variant, "repeat": r}
        for f in range(families)
        for model in models
        for variant in ("base", "moved", "asked")
        for r in range(repeats)
    ]
    frame = pd.DataFrame(rows)
    frame["answer"] = rng.choice(list("AABC"), len(frame))
    frame["status"] = rng.choice(["answered", "unparsed", "error"], len(frame), p=[0.85, 0.1, 0.05])
    frame.loc[frame["status"] != "answered", "answer"] = None
    frame["score"] = (frame["answer"] == "A").astype(float).where(frame["status"] == "answered")
    return frame


@pytest.mark.parametrize("no_answer", ["wrong", "missing"])
@pytest.mark.parametrize("reference", [None, "base"])
@pytest.mark.parametrize("repeats", [1, 2])
def test_the_parts_of_the_table_that_flip_add_up_to_the_flip_rate(reference, repeats, no_answer):
    panel = Panel(records(repeats=repeats), no_answer=no_answer)
    table = flip_table(panel, reference=reference)
    rate = estimate(panel, FlipRate("answer", reference=reference))
    for row in rate:
        parts = table.where(model=row["model"])
        values = parts.frame.set_index("estimand")["estimate"]
        assert values[list(FLIPS)].sum() == pytest.approx(row["estimate"], abs=1e-12)
        assert values.iloc[:5].sum() == pytest.approx(1, abs=1e-12)
        assert set(parts.frame["n_missing"]) == {row["n_missing"]}
        assert set(parts.frame["n_units"]) == {row["n_units"]}
    assert len(table) == 14


def test_a_table_without_a_reference_says_that_it_has_no_direction():
    panel = Panel(records(models=("m",)))
    said = "right_to_wrong equals wrong_to_right by construction without reference="
    either = flip_table(panel).frame.set_index("estimand")
    assert either["estimate"]["right_to_wrong"] == either["estimate"]["wrong_to_right"]
    told = either["note"].str.contains(said)
    assert told[told].index.tolist() == ["right_to_wrong", "wrong_to_right"]
    directed = flip_table(panel, reference="base").frame.set_index("estimand")
    assert directed["estimate"]["right_to_wrong"] != directed["estimate"]["wrong_to_right"]
    assert not directed["note"].str.contains("by construction").any()


def test_silent_errors_equal_counting_by_hand():
    frame = records(families=60, seed=2)
    found = silent_errors(Panel(frame), interval=FamilyInterval("cp")).where(model="m")
    agree, wrong = 0, 0
    for _, group in frame[(frame["model"] == "m") & (frame["status"] != "error")].groupby("family"):
        answers = group["answer"].fillna("none").tolist()
        if len(answers) >= 2 and len(set(answers)) == 1:
            agree, wrong = agree + 1, wrong + (answers[0] != "A")
    row = found.where(estimand="silent_error").frame.iloc[0]
    assert row["estimate"] == pytest.approx(wrong / agree)
    assert row["n_families"] == agree
    assert row["conf_low"] < row["estimate"] < row["conf_high"]
    assert row["method"] == "family-cp"
    assert "2 to 3 copies a question" in row["note"]
    assert "without an answer are counted" in row["note"]


def test_order_and_engine_of_the_rows_do_not_matter():
    polars = pytest.importorskip("polars")
    frame = records()
    shuffled = frame.sample(frac=1, random_state=3)
    for verb in (flip_table, silent_errors):
        one, two, three = (
            verb(Panel(each)).frame for each in (frame, shuffled, polars.from_pandas(shuffled))
        )
        pd.testing.assert_frame_equal(one, two)
        pd.testing.assert_frame_equal(one, three)


def test_questions_of_one_family_are_told_apart_by_within():
    frame = records(models=("m",)).assign(item=lambda t: t["family"])
    frame["family"] = "g" + (frame["family"].str[1:].astype(int) // 2).astype(str)
    with pytest.raises(PairingError, match="within"):
        flip_table(Panel(frame))
    table = flip_table(Panel(frame), within="item").frame.set_index("estimand")["estimate"]
    rate = estimate(Panel(frame), FlipRate("answer", within="item")).frame["estimate"].item()
    assert table[list(FLIPS)].sum() == pytest.approx(rate, abs=1e-12)
    assert silent_errors(Panel(frame), within=["item"]).frame["n_families"].max() <= 10


def test_a_share_without_a_denominator_keeps_its_row():
    frame = records(models=("m",)).assign(answer="A", status="answered", score=1.0)
    found = silent_errors(Panel(frame)).where(estimand="flip_given_error").frame.iloc[0]
    assert pd.isna(found["estimate"])
    assert found["note"].startswith("no results: no family is in the denominator")
    lost = flip_table(Panel(frame), reference="base").where(estimand="lost").frame.iloc[0]
    assert (lost["estimate"], lost["conf_low"]) == (0, 0)
    assert lost["conf_high"] > 0


def test_one_copy_a_question_has_no_results():
    frame = records(models=("m",)).query("variant == 'base'")
    found = silent_errors(Panel(frame))
    assert found.frame["estimate"].isna().all()
    assert found.frame["note"].str.contains("no question has two copies").all()
    assert flip_table(Panel(frame)).frame["estimate"].isna().all()


VARIANT_IS_MISSING = "there are no two variants to compare, only 'base': map variant= in read_runs"


@pytest.mark.parametrize(
    "ask",
    [
        lambda panel: estimate(panel, FlipRate("answer")),
        lambda panel: contrast(panel, FlipRate("score"), Pairwise("model")),
        flip_table,
        silent_errors,
        excess_flips,
        answer_spread,
        review_curve,
        framing_test,
    ],
)
def test_where_no_variant_was_mapped_the_note_says_so(ask):
    frame = records()
    alone = ask(Panel(frame.query("variant == 'base'").drop(columns="variant"))).frame
    assert alone["note"].str.contains(VARIANT_IS_MISSING, regex=False).all()
    assert not ask(Panel(frame)).frame["note"].str.contains("map variant=", regex=False, na=False).any()


def test_a_variant_that_is_missing_is_named():
    frame = records()
    found = estimate(Panel(frame), FlipRate("answer", reference="bse")).frame["note"]
    assert found.str.contains("without 'bse': map variant= in read_runs", regex=False).all()
    with pytest.raises(
        PairstatsError, match=r"but 'moved', 'same' is none of them[.] Map variant= in read_runs"
    ):
        control_flips(Panel(frame.drop(columns="variant").drop_duplicates("item")), "moved", "same")


def test_refused_columns_and_scores():
    with pytest.raises(PairstatsError, match="no column"):
        flip_table(Panel(records()), score="score_strict")
    half = records().assign(score=0.5, status="answered", answer="A")
    with pytest.raises(PairstatsError, match="0 or 1"):
        silent_errors(Panel(half))
    with pytest.raises(PairstatsError, match="no family has 'first'"):
        flip_table(Panel(records()), reference="first")
