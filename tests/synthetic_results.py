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
HOSTILE = (
    "<script>alert(1)</script>",
    "$\\frac{a}{b}$ cost $5",
    "=cmd|'/c calc'!A0\nsecond line \u4e2d\U0001f600",
)


def row(
    estimand: str, model: str | None, estimate: float | None, low: object = None, high: object = None, **more: object
) -> dict:  # fmt: skip
    """One row with the columns that every estimate has."""
    common = {
        "conf_level": 0.95,
        "method": "family-jeffreys",
        "n_families": 60,
        "n_units": 180,
        "n_missing": 0,
    }
    named = {"estimand": estimand, "run": "1", "model": model}
    return {**named, "estimate": estimate, "conf_low": low, "conf_high": high, **common, **more}


def estimates(*rows: dict) -> Estimates:
    """Estimates of rows made by `row`."""
    return Estimates.from_rows(rows, factors=("run", "model"), provenance=provenance())


def cells(models: Sequence[str] = MODELS) -> Estimates:
    """Accuracy and flips of each model, spread over (0, 1)."""
    rows = []
    for k, model in enumerate(models):
        right = 0.45 + 0.5 * k / max(len(models), 2)
        flip = 0.43 - 0.3 * k / max(len(models), 2)
        rows.append(row("accuracy", model, right, max(right - 0.08, 0), min(right + 0.08, 1)))
        rows.append(row("flips", model, flip, max(flip - 0.12, 0), min(flip + 0.13, 1)))
    rows.sort(key=lambda r: r["estimand"])
    return Estimates.from_rows(rows, factors=("run", "model"), provenance=provenance())


def contrasts(models: Sequence[str] = MODELS) -> Estimates:
    """Every pair of models; the first differs clearly, the others do not."""
    rows = []
    for k, (a, b) in enumerate(itertools.combinations(models, 2)):
        estimate, p = (-0.17, 0.0004) if k == 0 else (0.02 * (-1) ** k, 0.4 + 0.001 * k)
        rows.append(
            row("accuracy", None, estimate, estimate - 0.08, estimate + 0.08, contrast=f"{a} - {b}", p_value=p,
                p_adjusted=min(1.0, 3 * p), n_first_only=10, n_second_only=30 + k, registered=True)
        )  # fmt: skip
    return Estimates.from_rows(rows, factors=("run", "model"), provenance=provenance())


def curve(models: Sequence[str] = MODELS) -> Estimates:
    """Ten bins a model, some of them empty."""
    rows = []
    for k, model in enumerate(models):
        for b in range(10):
            n = 0 if (b + k) % 4 == 0 else 12 * (b + 1)
            right = None if n == 0 else min(max(0.2 + 0.06 * b - 0.03 * k, 0), 1)
            bin_ = {
                "conf_bin_low": b / 10,
                "conf_bin_high": (b + 1) / 10,
                "conf_mean": b / 10 + 0.06 if n else None,
            }
            low, high = (None, None) if right is None else (max(right - 0.1, 0), min(right + 0.12, 1))
            rows.append(
                row("accuracy", model, right, low, high) | bin_ | {"n_units": n, "n_families": min(n, 60)}
            )
    return Estimates.from_rows(
        rows, factors=("run", "model", "conf_bin_low", "conf_bin_high", "conf_mean"), provenance=provenance()
    )


def counts(models: Sequence[str] = MODELS) -> pd.DataFrame:
    """Completeness of each model; statuses add up to 180 planned."""
    rows = []
    for k, model in enumerate(models):
        lost = {
            "unparsed": 9 * k,
            "truncated": k,
            "refused": 0,
            "empty": 0,
            "error": 12 * (k > 0),
            "absent": 2 * k,
        }
        answered = 180 - sum(lost.values())
        reasons = "rate_limit: 10, server_error: 2" if k else ""
        rows.append({"run": "1", "model": model, "planned": 180, "answered": answered, **lost,
                     "completeness": answered / 180, "reasons": reasons})  # fmt: skip
    return pd.DataFrame(rows)


def provenance() -> dict:
    return {
        "pairstats": "0.1.0", "estimands": DESCRIBED, "input_sha256": "ab" * 32, "interval": "family-jeffreys",
        "protocol": {"name": "made-by-hand", "questions": "Do the figures look right?"},
    }  # fmt: skip


def write_results(folder: Path, models: Sequence[str] = MODELS, *, with_curve: bool = True) -> Path:
    """Write a results folder as `pairstats run` does."""
    folder.mkdir(parents=True, exist_ok=True)
    estimates = concat([cells(models), contrasts(models)], provenance())
    estimates.to_parquet(folder / "estimates.parquet")
    estimates.to_csv(folder / "estimates.csv")
    if with_curve:
        curve(models).to_parquet(folder / "calibration.parquet")
    completeness = counts(models)
    completeness.to_parquet(folder / "completeness.parquet")
    guarded(completeness).to_csv(folder / "completeness.csv", index=False)
    pd.DataFrame({"file": ["a.eval"], "reader": ["inspect"], "records": [180]}).to_csv(
        folder / "ledger.csv", index=False
    )
    pd.DataFrame({"source": ["a.eval#3"], "why": [models[0]]}).to_csv(folder / "left_out.csv", index=False)
    (folder / "provenance.json").write_text(json.dumps(provenance()), encoding="utf-8")
    return folder
