"""Precedent or spec: what the write-up prints and claims; a row is one reply to one sheet."""

import pairstats as ps

OFF, ON, SCORE = "grok-4.20-non-reasoning", "grok-4.20-reasoning", ps.Mean(label="score")
BUSY = {"run": "hosted", "model": "gpt-oss-120b"}  # 154 of its 180 calls failed
NAMES = {"variant": "wrong rows", "defected": "followed the rows", "reply_chars": "characters of the reply"}
SIX = ("rule_flagged", "rule_silent", "precedent_flagged", "precedent_silent", "other_none", "never_reached")
SHARES = [ps.Share(f"outcome == {name}", label=name) for name in SIX]
ROWS, HEADER = "followed == precedent", "followed == rule"
DEFECTED = ps.Share(ROWS, label="defected")
SAID = [ps.Share("flagged == yes", given=g, label=n) for g, n in ((ROWS, "acknowledged"), (HEADER, "warned"))]
COUNTS = "Published: the counts. Fitted (seed 20260923): gpt-oss-120b's 26 replies on Kaggle, a few cut ones."
DOSED = "Published: 1, 3 and 6 wrong rows; 0 in open models. Fitted (seed 20260923): 0 in hosted ones."
ENDED = "1, 3, 6: wrong rows. Published: totals, 36, and 19 to 29. Fitted (seed 20260923): the rest."
MEDIANS = "Published: both medians at 16,000 tokens. Fitted (seed 20260923): every other length."
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
        "coverage": panel.completeness(), "outcomes": ps.estimate(asked, SHARES), "ranks": ps.rank(conflict, SCORE),
        "score": cap, "caps": parts.assign(product=parts["score"] * parts["consistent"]),  # min, product
        "doses": ps.estimate(each.by(["model", "variant"]), [DEFECTED, SCORE, SHARES[0]]),
        "never": ps.estimate(qwen.by(["condition", "model", "variant"]), SHARES[-1]),
        "said": ps.estimate(asked, [DEFECTED, *SAID]),  # among defections, among followers
        "noticed": ps.estimate(each, ps.Share("noticed == yes", given=ROWS, label="noticed")),
        "undercount": ps.corrected(conflict, SAID[0], sensitivity=0.9, specificity=1.0),  # assumed
        "thinking_tests": ps.paired_tests(grok, column="score_precedent"), "thinking_outcomes": ps.classes(grok),
        "thinking_by_kind": ps.contrast(kinds, DEFECTED, ps.Versus("model", OFF, ON), interval="family-cp"),
        "bounds": ps.missing_bounds(conflict, SCORE), "any_dose": ps.omnibus(zero_up, DEFECTED, "variant"),
        "by_kind": ps.estimate(kinds, [SCORE, DEFECTED], interval="family-cp"),
        "kinds": ps.estimate(each.where(variant="6").by(["category", "model"]), DEFECTED),
        "retest": ps.retest(asked.where(model="gpt-5.5").by(["model"]), "run", column="followed"),
        "lengths": ps.usage(qwen.by(["model", "condition"]), "reply_chars", "condition", n_resamples=999),
        "replies": asked.frame.drop("response", "reasoning", "key").collect().to_pandas(),
    }  # fmt: skip


def figures(t: dict) -> dict:
    draw, doses, replies = ps.figures, t["doses"].where(estimand="defected"), t["replies"]
    hosted, long = replies.query("run == 'hosted'"), replies.query("condition != 'default'")
    long = long.assign(model=long["model"] + ", " + long["condition"])
    return {
        "coverage": draw.completeness(t["coverage"], caption=COUNTS),
        "outcomes": draw.outcome_bars(hosted, order=SIX, caption=COUNTS),
        "never": draw.outcome_bars(long, rows="variant", split="model", order=SIX, caption=ENDED),
        "doses": draw.dose_response(doses, dose="variant", labels=NAMES, caption=DOSED),
        "kinds": draw.heat_map(t["kinds"], rows="category", columns="model", labels=NAMES, caption=KINDS),
        "tokens": draw.usage_distribution(hosted, caption="Fitted (seed 20260923): all token counts."),
        "lengths": draw.usage_distribution(long, value="reply_chars", labels=NAMES, caption=MEDIANS),
    }
