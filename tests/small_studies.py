"""Small protocols on made-up records that between them use every estimand, interval, comparison and claim."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

MODELS = ("a", "b", "c")
CONDITIONS = ("direct", "told")
VARIANTS = ("base", "reordered")
DOSE = {"direct": 0, "told": 2}


def decisions(families: int = 14, *, seed: int = 5) -> pd.DataFrame:
    """Decisions of 3 models under 2 conditions: unequal families, 2 repeats, blanks, errors, confidences."""
    rng = np.random.default_rng(seed)
    rows = []
    for f in range(families):
        ease = rng.beta(3, 1)
        for item in range(1 + f % 2):
            for variant in VARIANTS:
                for m, model in enumerate(MODELS):
                    for condition in CONDITIONS:
                        for repeat in range(2):
                            status = rng.choice(["answered", "unparsed", "error"], p=[0.9, 0.05, 0.05])
                            right = float(rng.random() < ease - 0.1 * m)
                            rows.append({
                                "family": f"f{f:02}", "item": f"f{f:02}-{item}", "variant": variant,
                                "model": model, "condition": condition, "repeat": repeat, "status": status,
                                "score": right if status == "answered" else None,
                                "answer": rng.choice(["x", "y"]) if status == "answered" else None,
                                "confidence": float(rng.choice([0.5, 0.7, 0.9])) if right else None,
                                "input_tokens": int(rng.integers(50, 90)),
                                "output_tokens": int(rng.integers(5, 30)),
                            })  # fmt: skip
    return pd.DataFrame(rows)


def write(folder: Path, text: str, rows: pd.DataFrame | None = None) -> Path:
    """Write a protocol and its records into a folder; the path of the protocol."""
    folder.mkdir(parents=True, exist_ok=True)
    (decisions() if rows is None else rows).to_csv(folder / "rows.csv", index=False)
    path = folder / "protocol.toml"
    path.write_text('[protocol]\nname = "small"\n[[records.source]]\npath = "rows.csv"\n' + text, encoding="utf-8")
    return path
