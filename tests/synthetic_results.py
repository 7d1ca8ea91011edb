"""Estimates and results folders made by hand, for the tests of what shows them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pairstats.result import Estimates, concat, guarded

DESCRIBED = {
    "accuracy": {"label": "Share of replies that are right", "percent": True},
    "flips": {
        "label": "Replies whose correctness flips",
        "says": "a harmless reordering of the options flips the correctness of the answer in",
        "percent": True,
    },
}
MODELS = ("smollm2-terse-t0", "smollm2-2shot-t0", "smollm2-2shot-t1")
LONG = (
    "claude-opus-4-20250514",
    "gpt-5.5-2026-04-23",
    "gemini-3-pro-preview",
    "qwen3-235b-a22b-instruct-2507",
    "llama-3.3-70b-instruct-very-long-name-with-quantisation-awq-int4-and-more-words-v2",
    "m",
)
HOSTILE = (
    "<script>alert(1)</script>",
    "$\\frac{a}{b}$ cost $5",
    "=cmd|'/c calc'!A0\nsecond line \u4e2d\U0001f600",
    "_starts with an underscore",
)
FACTORS = ("run", "model")


def row(estimand: str, model: str | None, value: float | None, low=None, high=None, **more: object) -> dict:
    """One row with the columns that every estimate has."""
    about = {
        "estimand": estimand,
        "run": "1",
        "model": model,
        "method": "family-jeffreys",
        "conf_level": 0.95,
    }
    counts = {"n_families": 60, "n_units": 180, "n_missing": 0}
    return {**about, "estimate": value, "conf_low": low, "conf_high": high, **counts, **more}


def estimates(*rows: dict) -> Estimates:
    """Estimates of rows made by `row`."""
    return Estimates.from_rows(rows, factors=FACTORS, provenance=provenance())


def cells(models: Sequence[str] = MODELS) -> Estimates:
    """Accuracy and flips of each model, spread over (0, 1)."""
    right = [0.45 + 0.5 * k / max(len(models), 2) for k in range(len(models))]
    flips = [0.43 - 0.3 * k / max(len(models), 2) for k in range(len(models))]
    return estimates(
        *(
            row("accuracy", m, v, max(v - 0.08, 0), min(v + 0.08, 1))
            for m, v in zip(models, right, strict=True)
        ),
        *(row("flips", m, v, max(v - 0.12, 0), min(v + 0.13, 1)) for m, v in zip(models, flips, strict=True)),
    )


def contrasts(models: Sequence[str] = MODELS) -> Estimates:
    """Every pair of models; the first differs clearly, the others do not."""
    rows = []
    for k, (first, second) in enumerate(itertools.combinations(models, 2)):
        value, p = (-0.17, 0.0004) if k == 0 else (0.02 * (-1) ** k, 0.4 + 0.001 * k)
        test = {"p_value": p, "p_adjusted": min(1.0, 3 * p), "n_first_only": 10, "n_second_only": 30 + k}
        named = {"contrast": f"{first} - {second}", "registered": True}
        rows.append(row("accuracy", None, value, value - 0.08, value + 0.08, **test, **named))
    return estimates(*rows)


def curve(models: Sequence[str] = MODELS) -> Estimates:
    """Ten bins a model, some of them empty."""
    rows = []
    for k, model in enumerate(models):
        for b in range(10):
            ends = {"conf_bin_low": b / 10, "conf_bin_high": (b + 1) / 10}
            if (b + k) % 4 == 0:
                empty = {"conf_mean": None, "n_units": 0, "n_families": 0}
                rows.append(row("accuracy", model, None, **ends, **empty))
                continue
            value = min(max(0.2 + 0.06 * b - 0.03 * k, 0), 1)
            counts = {
                "conf_mean": b / 10 + 0.06,
                "n_units": 12 * (b + 1),
                "n_families": min(12 * (b + 1), 60),
            }
            rows.append(row("accuracy", model, value, max(value - 0.1, 0), value + 0.12, **ends, **counts))
    factors = (*FACTORS, "conf_bin_low", "conf_bin_high", "conf_mean")
    return Estimates.from_rows(rows, factors=factors, provenance=provenance())


def counts(models: Sequence[str] = MODELS) -> pd.DataFrame:
    """Completeness of each model; statuses add up to 180 planned."""
    rows = []
    for k, model in enumerate(models):
        lost = {"unparsed": 9 * k, "truncated": k, "refused": 0, "empty": 0}
        lost |= {"error": 12 * (k > 0), "absent": 2 * k}
        answered = 180 - sum(lost.values())
        rows.append(
            {
                "run": "1",
                "model": model,
                "planned": 180,
                "answered": answered,
                **lost,
                "completeness": answered / 180,
                "reasons": "rate_limit: 10, server_error: 2" if k else "",
            }
        )
    return pd.DataFrame(rows)


def other_analyses(levels: int = 3) -> Estimates:
    """One claim under several analyses, of which one leaves out a level at a time; interval levels differ."""
    names = [
        "as registered",
        "no answer is missing",
        *(f"without a category: c{k:02}" for k in range(levels)),
    ]
    rows = []
    for k, name in enumerate(names):
        about = {"contrast": "new - old", "question": "C1", "analysis": name, "registered": False}
        claim = {"claim": "noninferiority", "margin": 0.1, "verdict": "noninferior", "p_adjusted": 0.01}
        level = {"conf_level": 0.95 + k / 1000, "p_value": 0.004}
        rows.append(
            row("accuracy", None, 0.01 * k, 0.01 * k - 0.05, 0.01 * k + 0.05, **about, **claim, **level)
        )
    factors = ("question", "analysis", *FACTORS)
    return Estimates.from_rows(rows, factors=factors, provenance=provenance())


def provenance() -> dict:
    """Provenance as `pairstats run` writes it, as far as it is shown."""
    return {
        "pairstats": "0.1.0",
        "estimands": DESCRIBED,
        "input_sha256": {"raw/a.eval": "ab" * 32},
        "protocol": {"name": "made-by-hand", "questions": "Do the figures look right?"},
        "deviations": ["2026-10-05: thinking was off"],
    }


def write_results(folder: Path, models: Sequence[str] = MODELS, *, with_curve: bool = True) -> Path:
    """Write a results folder as `pairstats run` does."""
    folder.mkdir(parents=True, exist_ok=True)
    found = concat([cells(models), contrasts(models)], provenance())
    found.to_parquet(folder / "estimates.parquet")
    found.to_csv(folder / "estimates.csv")
    if with_curve:
        curve(models).to_parquet(folder / "calibration.parquet")
    counts(models).to_parquet(folder / "completeness.parquet")
    ledger = pd.DataFrame({"file": ["a.eval"], "reader": ["inspect"], "records": [180]})
    left_out = pd.DataFrame({"source": ["a.eval#3"], "why": [models[0]]})
    for name, frame in (("completeness", counts(models)), ("ledger", ledger), ("left_out", left_out)):
        guarded(frame).to_csv(folder / f"{name}.csv", index=False)
    (folder / "provenance.json").write_text(json.dumps(provenance()), encoding="utf-8")
    return folder
