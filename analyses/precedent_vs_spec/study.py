"""Precedent or spec: what the write-up prints and claims; a row is one reply to one sheet."""

import pairstats as ps

OFF, ON = "grok-4.20-non-reasoning", "grok-4.20-reasoning"
NAMES = {"variant": "wrong rows", "defected": "followed the rows"}
BUSY = {"run": "hosted", "model": "gpt-oss-120b"}  # 154 of its 180 calls failed
SIX = ("rule_flagged", "rule_silent", "precedent_flagged", "precedent_silent", "other_none", "never_reached")
SHARES = [ps.Share(f"outcome == {name}", label=name) for name in SIX]
ROWS, HEADER = "followed == precedent", "followed == rule"
SCORE, DEFECTED = ps.Mean(label="score"), ps.Share(ROWS, label="defected")
SAID = [ps.Share("flagged == yes", given=g, label=n) for g, n in ((ROWS, "acknowledged"), (HEADER, "warned"))]
COUNTS = "Published: totals, and by dose what the text gives. Fitted: the rest, gpt-oss-120b on Kaggle."
KINDS = "6 wrong rows. Published: Qwen3.5-27B, 4 kinds of Sonnet, 3 of Gemini, 1 of gpt-oss-120b. Fitted: the rest."


def tables(panel: ps.Panel) -> dict:
    asked, qwen = panel.where(conflict="yes"), panel.where(conflict="yes", model=["Qwen3.5-4B", "Qwen3.5-9B"])
    each = panel.where(condition="default", run=["hosted", "pilot"]).without(**BUSY).by(["model"])
    conflict, consistent = (each.where(run="hosted", conflict=answer) for answer in ("yes", "no"))
    grok, zero_up = conflict.where(model=[OFF, ON]), each.where(variant=["0", "1", "3", "6"])
    kinds = ps.Panel(conflict.frame, ["model"], family="category", unit=["family", "variant"])  # six clusters
    cap = ps.capped(conflict, SCORE, consistent, ps.Mean(label="consistent"))
    parts = cap.frame.pivot(index="model", columns="estimand", values="estimate").reset_index()
    return {
        "outcomes": ps.estimate(asked, SHARES),
        "score": cap,  # the smaller of the score and the accuracy on consistent sheets; their product:
        "caps": parts.assign(product=parts["score"] * parts["consistent"]),
        "bounds": ps.missing_bounds(conflict, SCORE),  # 102 completed, or 108 planned
        "doses": ps.estimate(each.by(["model", "variant"]), [DEFECTED, SCORE, SHARES[0]]),
        "never": ps.estimate(qwen.by(["condition", "model", "variant"]), SHARES[-1]),
        "said": ps.estimate(asked, [DEFECTED, *SAID]),  # among defections, among followers
        "noticed": ps.estimate(each, ps.Share("noticed == yes", given=ROWS, label="noticed")),
        "undercount": ps.corrected(conflict, SAID[0], sensitivity=0.9, specificity=1.0),  # assumed
        "any_dose": ps.omnibus(zero_up, DEFECTED, "variant"),
        "thinking_tests": ps.paired_tests(grok, column="score_precedent"),
        "thinking_outcomes": ps.classes(grok),
        "thinking_by_kind": ps.contrast(kinds, DEFECTED, ps.Versus("model", OFF, ON), interval="family-cp"),
        "by_kind": ps.estimate(kinds, [SCORE, DEFECTED], interval="family-cp"),
        "kinds": ps.estimate(each.where(variant="6").by(["category", "model"]), DEFECTED),
        "ranks": ps.rank(conflict, SCORE),
        "retest": ps.retest(asked.where(model="gpt-5.5").by(["model"]), "run", column="followed"),
        "lengths": ps.usage(qwen.by(["model", "condition"]), "reply_chars", "condition", n_resamples=999),
        "replies": asked.frame.drop("response", "reasoning", "key").collect().to_pandas(),
    }


def figures(t: dict) -> dict:
    draw, doses, replies = ps.figures, t["doses"].where(estimand="defected"), t["replies"]
    hosted, long = replies.query("run == 'hosted'"), replies.query("condition != 'default'")
    long = long.assign(model=long["model"] + ", " + long["condition"])
    return {
        "outcomes": draw.outcome_bars(hosted, order=SIX, caption=COUNTS),
        "never": draw.outcome_bars(long, rows="variant", split="model", order=SIX, caption=COUNTS),
        "doses": draw.dose_response(doses, dose="variant", labels=NAMES, caption=COUNTS),
        "kinds": draw.heat_map(t["kinds"], rows="category", columns="model", labels=NAMES, caption=KINDS),
        "tokens": draw.usage_distribution(hosted, caption="Fitted, not reproduced: all token counts."),
        "lengths": draw.usage_distribution(long, value="reply_chars", caption="Fitted, but two medians."),
    }
