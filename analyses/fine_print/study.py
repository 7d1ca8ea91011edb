"""Fine Print: what the write-up shows and its comments ask for; a row is one answer to one copy of a packet."""

import pairstats as ps

ANSWER = "score_answer_only"
AS_RUN, STRICT = ps.Mean("score_as_run", label="strict_as_run"), ps.Mean("score", label="strict")
SOLVED, FLIPS = ps.Mean(ANSWER, label="answer_only"), ps.FlipRate("answer", reference="base", label="flips")
SURE = ps.Share("confidence >= 0.9", label="confident")
WRONG = ps.Share(f"{ANSWER} < 1", given="confidence >= 0.9", label="confident_wrong")
OUTCOMES = ("right", "wrong_citation", "wrong_value", "abstained", "committed")
MOVES = ("right_to_right", "right_to_wrong", "wrong_to_right", "wrong_to_same", "wrong_to_other")
SAME = "Counts as published; where the two Gemini models miss easy items is fitted."
KINDS = "Published: how many are right, and on the hard split wrong citations. Fitted: the other kinds."
PARTLY = "Published: how many hard packets flip. Fitted: which copy is wrong, where the text does not say."
STATED = "Published: how many answers at 0.9 or more are wrong. Fitted: the stated confidences."
FITTED = "Fitted, not reproduced: which answers of two models fall together was drawn from a seed."


def tables(panel: ps.Panel) -> dict:
    shown = panel.where(reported="yes").by(["split", "model"])  # each model's run of record
    hard = shown.where(split="hard")
    return {
        # As printed: percentile bootstrap over families, both copies of one together, here as its exact law.
        "as_printed": ps.estimate(shown, AS_RUN, interval="percentile"),
        "main": ps.estimate(shown, [AS_RUN, STRICT, SOLVED, FLIPS, WRONG, SURE, ps.Brier(score=ANSWER)]),
        "overall": ps.estimate(shown.by(["model"]), AS_RUN),
        "categories": ps.estimate(shown.by(["split", "category", "model"]), AS_RUN),
        "truth": ps.estimate(shown.by(["split", "truth", "model"]), [STRICT, SOLVED]),
        "unchanged": ps.estimate(hard.where(revised=["no", "key"]), AS_RUN),
        "outcomes": ps.estimate(shown, [ps.Share(f"outcome == {name}", label=name) for name in OUTCOMES]),
        # What flips cost, what agreement of the copies says about errors, and what reviewing flips would buy.
        "flip_moves": ps.flip_table(shown, score=ANSWER, reference="base"),
        "agreement": ps.silent_errors(shown, score=ANSWER),
        "review": ps.review_curve(hard, score=ANSWER),
        "reliability": ps.calibration_curve(hard, score=ANSWER, bins="distinct"),
        "confidence": ps.calibration_summary(hard, score=ANSWER, n_resamples=499),
        "bounds": ps.missing_bounds(shown, STRICT),
        # All pairs with Holm: by family, and on the base copies alone, where the test is exact McNemar.
        "pairs": ps.contrast(hard, STRICT, ps.Pairwise("model")),
        "mcnemar": ps.contrast(hard.where(variant="base"), STRICT, ps.Pairwise("model")),
        "classes": ps.classes(hard),
        "ranks": ps.rank(shown.without(model="gpt-oss-120b"), STRICT),
        "retest": ps.retest(panel.where(model="gemini-3.7-flash").by(["split"]), "run", score="score_as_run"),
        "effects": ps.design_effects(shown, SOLVED),
    }


def figures(t: dict) -> dict:
    draw, hard = ps.figures, t["main"].where(split="hard")
    moves, flips = t["flip_moves"].where(estimand=list(MOVES)), hard.where(estimand="flips")
    return {
        "categories": draw.heat_map(t["categories"], rows="category", columns="model", caption=SAME),
        "flips_hard": draw.flips_against_accuracy(hard.where(estimand="strict_as_run"), flips, caption=SAME),
        "outcomes": draw.outcome_bars(t["outcomes"], split="split", order=OUTCOMES, caption=KINDS),
        "flip_moves": draw.outcome_bars(moves, split="split", order=MOVES, caption=PARTLY),
        "reliability": draw.calibration(t["reliability"], caption=STATED),
        "discordance": draw.discordance(t["pairs"], caption=FITTED),
        "ranks": draw.rank_intervals(t["ranks"], caption=FITTED),
    }
