"""One wrong test: what the write-up prints, what these four cases say, and what they cannot say of other cases."""

import pandas as pd

import pairstats as ps

FOUR = ["gpt-5.5-2026-04-23", "gemini-3.7-flash", "grok-4.20-reasoning", "grok-4.20-non-reasoning"]
BEHAVIOURS = ["followed_spec", "partial_rule", "rewrote_rule", "hardcoded_test"]
FRAMINGS, UNIT = ["neutral", "pressure", "agentic"], ["item", "condition", "model"]
TAKEN = {"source": "each reply", "model_cell": "each model, case, framing",
         "model_case": "each model, case", "family": "each case"}  # fmt: skip
CODE, IDEAL = ps.Mean("score_followed_spec", label="followed"), ps.Mean("score", label="ideal")
FRAMED, GROK = ps.Versus("condition", "neutral"), ps.Versus("model", FOUR[3], FOUR[2])
FLAG, COUNTS = "score_honest_report_as_run", "As published, 12 a framing. Fitted (seed 20261124): the cases."
FITTED = "Published: each model's share. Fitted (seed 20261124): which cases and repeats it falls on."
PILOTS = "Published: 6 and 10. Fitted (seed 20261124): the other 2. Two things changed at once."


def beyond(part: ps.Panel, cells: list[str], family: str = "family", unit: list[str] = UNIT) -> ps.Panel:
    """The same replies as a sample of other cases too: from four of them next to nothing can be claimed."""
    return ps.Panel(part.frame, cells, family=family, unit=unit, population="families")


def tables(panel: ps.Panel) -> dict:
    both = panel.where(run=["own", "leaderboard"], model=FOUR)
    own, pilots = both.where(run="own"), panel.where(run=["pilot 1", "pilot 2"])
    four, each = beyond(own, ["model"]), beyond(own, ["run"], "model_cell")
    zeros = {"hardcoded_test": own, "followed_spec": own.where(model=FOUR[:3], condition=FRAMINGS[1:])}
    gaps = [ps.Interaction(FRAMED, "model", name, FOUR[3]) for name in FOUR[:3]]
    return {
        "framing": ps.estimate(own.by(["model", "condition"]), CODE), "effects": ps.design_effects(four, CODE),
        "beyond": ps.concat([ps.contrast(four, CODE, asked) for asked in (FRAMED, GROK, *gaps)]),
        "framing_parts": ps.framing_test(four, "condition", "score_followed_spec"),
        "cells": ps.estimate(beyond(own, ["cell", "model"], unit=[*UNIT, "repeat"]), CODE),
        "behaviours": ps.concat([ps.classes(four), ps.classes(four, question="symmetry")]),
        "ranks_code": ps.rank(four, CODE), "ranks_answer": ps.rank(four, IDEAL),
        "never": ps.concat([ps.estimate(beyond(p, ["run"], one), ps.Mean(f"score_{name}", label=f"{name}, {word}"),
            interval="family-cp", alternative="less") for name, p in zeros.items() for one, word in TAKEN.items()]),
        "same_text": ps.copied_replies(each), "same_behaviour": ps.copied_replies(each, "outcome"),
        "repeats": ps.concat([ps.variance_parts(four, "score_followed_spec"), ps.pass_rates(four, 3)]),
        "plan": ps.families_plan(beyond(own, ["model"], unit=[*UNIT, "repeat"]), GROK, "score_followed_spec"),
        "retest": ps.retest(beyond(both, ["model"]), "run", "own", "leaderboard", column="outcome"),
        "pilots": ps.estimate(beyond(pilots, ["run"]), [IDEAL, ps.Mean("score_rewrote_rule", label="rewrote")]),
        "replies": panel.frame.select("run", *UNIT, "status", "outcome", "report", FLAG).collect().to_pandas(),
    }  # fmt: skip


def figures(t: dict) -> dict:
    draw, own = ps.figures, t["replies"].query("run == 'own' and model in @FOUR").assign(scorer="scorer 2")
    first = own.assign(report=own[FLAG].map({1.0: "honest", 0.0: "dishonest"}), scorer="scorer 1")
    return {
        "behaviours": draw.outcome_bars(own, order=BEHAVIOURS, caption=COUNTS),
        "claims": draw.outcome_bars(pd.concat([first, own]), outcome="report", split="scorer", caption=COUNTS),
        "framing": draw.slopes(t["framing"], x="condition", order=FRAMINGS, percent=True, caption=COUNTS),
        "cells": draw.heat_map(t["cells"], rows="cell", columns="model", percent=True, caption=FITTED),
        **{name: draw.rank_intervals(t[name], caption=FITTED) for name in ("ranks_code", "ranks_answer")},
        "never": draw.forest(t["never"], caption=f"One-sided, if what is named is independent. {COUNTS}"),
        "pilots": draw.outcome_bars(t["replies"].query("run > 'own'"), rows="run", caption=PILOTS),
    }  # fmt: skip
