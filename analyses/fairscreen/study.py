"""Fair screening: what the write-up prints and claims; a row is one decision on one application."""

import pandas as pd

import pairstats as ps

ROBUST, AS_PRINTED = ps.AllCorrect(size=8, label="robust_fidelity"), ps.Bootstrap(at_collapse="family-cp")
CHANGE = ps.FlipRate(within=["identity", "presentation"], label="necessary_change")
SWAP = ps.FlipRate(within=["qualification", "presentation"], label="identity_swap")
VERSUS, SHARED = ps.Versus("condition", "direct"), "Published: totals. Fitted (seed 20260930): the families."
KINDS = ("right", "too_strict", "too_lenient", "evasive", "cut_off", "no_answer")
SEEN = ["platform", "run", "model", "family", "item", "status", "reason", "score", "output_tokens"]
PARTLY = "Published: gpt-oss and qwen3-32b, direct; both contrasts pooled. Fitted (seed 20260930): the rest."
MEDIANS = "Panel: thinking off; exploratory: on. Published: medians. Fitted (seed 20260930): other counts."
HABITS = "Fitted (seed 20260930): each model's kinds of errors; published: identity swaps pooled, 2.6 %."


def tables(panel: ps.Panel) -> dict:
    core, whole = panel.where(category="core"), panel.where(platform="cluster", run="panel")
    main, gpt = core.where(run="panel"), core.where(model="gpt-oss-120b", condition="direct", shared="yes")
    cluster, swaps = whole.where(category="core").by(["model", "condition"]), whole.where(condition="direct")
    qwen = core.where(model="qwen3-32b", condition="direct", platform="cluster").by(["model", "run"])
    partial = whole.where(qualification="partial").by(["model", "condition"])
    items = swaps.where(model="gpt-oss-120b").frame.collect().to_pandas().assign(status="answered")
    rules = [items.assign(model=f"always {gold}", answer=gold) for gold in items["gold"].unique()]
    rules += [items.assign(model="text parser", answer=items["parsed"])]
    rules = ps.Panel(pd.concat([r.assign(score=(r["answer"] == r["gold"]).astype(float)) for r in rules]))
    return {
        # As printed: the bootstrap over families, exact where all or none pass; a family moves in all models.
        "printed": ps.estimate(core, ROBUST, interval=AS_PRINTED),
        "pooled": ps.contrast(cluster, ROBUST, VERSUS, average="model", interval="percentile"),
        "by_model": ps.contrast(cluster, ROBUST, VERSUS),
        # Apart: what a screener must do, where errors lie, swaps, decisions against own extraction, harm, cost.
        "change": ps.estimate(cluster, [CHANGE, SWAP]),
        "presentations": ps.estimate(cluster.by(["condition", "model", "presentation"]), [CHANGE, SWAP]),
        "directions": ps.estimate(main, [ps.Share(f"outcome == {kind}", label=kind) for kind in KINDS]),
        "swaps": ps.estimate(swaps.where(category=["core", "control"]).by(["category"]), SWAP),
        "contradictions": ps.retest(cluster.by(["model"]), "condition", "direct", "extraction"),
        "partial": ps.contrast(partial, ps.Mean(), VERSUS),
        "tokens": ps.usage(qwen, "output_tokens", "run", n_resamples=999),
        "token_rows": qwen.frame.select(*SEEN).collect().to_pandas(),
        "platforms": gpt.frame.select(*SEEN).collect().to_pandas(),
        "baselines": ps.estimate(rules.where(category="core"), ROBUST, interval=AS_PRINTED),
        "gold_check": ps.estimate(rules.where(model="text parser"), ps.Mean(label="agrees_with_key")),
    }


def figures(t: dict) -> dict:
    draw, robust = ps.figures, t["printed"].where(run="panel", platform="cluster")
    change, errors = (t[name].where(condition="direct") for name in ("change", "directions"))
    return {
        "robust": draw.heat_map(robust, rows="model", columns="condition", caption=PARTLY),
        "contrasts": draw.forest(t["by_model"], group="contrast", caption=f"{PARTLY} Tests: exact, Holm."),
        "change": draw.forest(change, caption=HABITS),
        "directions": draw.outcome_bars(errors, split="platform", order=KINDS, caption=HABITS),
        "partial": draw.forest(t["partial"], caption=HABITS),
        "platforms": draw.cross_platform(t["platforms"], reduce="all", caption=SHARED),
        "tokens": draw.usage_distribution(t["token_rows"], by="run", caption=MEDIANS),
    }
