"""Fine Print: what the write-up shows and its comments ask for; a row is one answer to one copy of a packet."""

import pairstats as ps

ANSWER, AS_RUN = "score_answer_only", ps.Mean("score_as_run", label="strict_as_run")
STRICT, SURE = ps.Mean("score", label="strict"), ps.Share("confidence >= 0.9", label="confident")
SOLVED, FLIPS = ps.Mean(ANSWER, label="answer_only"), ps.FlipRate("answer", reference="base", label="flips")
WRONG = ps.Share(f"{ANSWER} < 1", given="confidence >= 0.9", label="confident_wrong")
OUTCOMES = ("right", "wrong_citation", "wrong_value", "abstained", "committed")
MOVES = ("right_to_right", "right_to_wrong", "wrong_to_right", "wrong_to_same", "wrong_to_other")
SAME = "Counts as published. Fitted (seed 20261007): which easy items the two Gemini models miss."
KINDS = "Published: how many are right, wrong citations on hard. Fitted (seed 20261007): the other kinds."
PARTLY = "n: packets. Published: hard flips. Fitted (seed 20261007): easy flips, and which copy is wrong."
STATED = "Published: how many at 0.9 or more are wrong. Fitted (seed 20261007): the stated confidences."
FITTED = "Fitted (seed 20261007): which answers of two models fall together. Tests: exact, by family, Holm."


def tables(panel: ps.Panel) -> dict:
    shown = panel.where(reported="yes").by(["split", "model"])  # each model's run of record
    hard = shown.where(split="hard")
    return {
        "coverage": panel.by(["split", "run", "model"]).completeness(),
        # As printed: percentile bootstrap over families, both copies of one together, here as its exact law.
        "as_printed": ps.estimate(shown, AS_RUN, interval="percentile"),
        "main": ps.estimate(shown, [AS_RUN, STRICT, SOLVED, FLIPS, WRONG, SURE, ps.Brier(score=ANSWER)]),
        "overall": ps.estimate(shown.by(["model"]), AS_RUN),
        "categories": ps.estimate(shown.by(["split", "category", "model"]), AS_RUN),
        "truth": ps.estimate(shown.by(["split", "truth", "model"]), [STRICT, SOLVED]),
        "unchanged": ps.estimate(hard.where(revised=["no", "key"]), AS_RUN),
        "outcomes": ps.estimate(shown, [ps.Share(f"outcome == {name}", label=name) for name in OUTCOMES]),
        "flip_moves": ps.flip_table(shown, score=ANSWER, reference="base"),
        "agreement": ps.silent_errors(shown, score=ANSWER),  # does a flip tell an error?
        "review": ps.review_curve(hard, score=ANSWER),  # what reading the flips again would buy
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
        "coverage": draw.completeness(t["coverage"], caption="Counts and reasons as published."),
        "categories": draw.heat_map(t["categories"], rows="category", columns="model", caption=SAME),
        "flips_hard": draw.flips_against_accuracy(hard.where(estimand="strict_as_run"), flips, caption=SAME),
        "outcomes": draw.outcome_bars(t["outcomes"], split="split", order=OUTCOMES, caption=KINDS),
        "flip_moves": draw.outcome_bars(moves, split="split", order=MOVES, caption=PARTLY),
        "reliability": draw.calibration(t["reliability"], caption=STATED),
        "discordance": draw.discordance(t["pairs"], caption=FITTED),
        "ranks": draw.rank_intervals(t["ranks"], caption=FITTED),
    }
