"""Small protocols on made-up records that between them use every estimand, interval, comparison and claim."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

MODELS = ("a", "b", "c")
CONDITIONS = ("direct", "told")
VARIANTS = ("base", "reordered")

HEAD = """
[protocol]
name = "small"
[[records.source]]
path = "rows.csv"
"""

DESIGN = """
[design]
cells = ["model", "condition"]
no_answer = "{no_answer}"
missing = "{missing}"
minimum = 0.1
"""

TWO = """
[[estimand]]
name = "accuracy"
kind = "mean"
[[estimand]]
name = "all"
kind = "all_correct"
"""

OTHERS = """
[[estimand]]
name = "by_family"
kind = "mean"
args = { weight = "family" }
[[estimand]]
name = "flips"
kind = "flip_rate"
args = { within = ["item"] }
[[estimand]]
name = "flips_of_score"
kind = "flip_rate"
args = { column = "score", within = "item", reference = "base" }
[[estimand]]
name = "brier"
kind = "brier"
[[estimand]]
name = "long_and_wrong"
kind = "share"
args = { event = "score < 1", given = "output_tokens >= 12" }
[[estimand]]
name = "tokens"
kind = "ratio"
args = { numerator = "output_tokens", denominator = "input_tokens", bounds = [0.0, 1.0] }
"""

ESTIMANDS = TWO + OTHERS

CONTRASTS = """
[[contrast]]
name = "pairwise"
estimand = "accuracy"
compare = { factor = "model" }
[[contrast]]
name = "averaged"
estimand = "by_family"
compare = { factor = "condition", level = "told", reference = "direct" }
average = "model"
[[contrast]]
name = "subset"
estimand = "all"
compare = { factor = "model", reference = "a" }
where = { condition = "told" }
[[contrast]]
name = "continuous"
estimand = "brier"
compare = { factor = "condition", reference = "direct" }
[[contrast]]
name = "crossed"
estimand = "flips"
[contrast.compare]
factor = "condition"
reference = "direct"
across = { factor = "model", level = "a", reference = "b" }
"""

RATIOS = """
[[contrast]]
name = "ratios"
estimand = "long_and_wrong"
compare = { factor = "model", level = "b", reference = "a" }
"""

TRENDS = """
[[contrast]]
name = "dose"
estimand = "accuracy"
compare = { factor = "condition", doses = { direct = 0, told = 2 } }
[[contrast]]
name = "two_rates"
estimand = "flips_of_score"
minus = "flips"
"""

CLAIMS = """
[[contrast]]
name = "equal"
estimand = "accuracy"
compare = { factor = "condition", level = "told", reference = "direct" }
average = "model"
claim = "equivalence"
margin = 0.3
[[contrast]]
name = "no_worse"
estimand = "accuracy"
compare = { factor = "model", level = "a", reference = "b" }
claim = "noninferiority"
margin = 0.2
group = 1
[[contrast]]
name = "better"
estimand = "accuracy"
compare = { factor = "model", level = "a", reference = "c" }
claim = "superiority"
side = "greater"
group = 1
[[contrast]]
name = "apart"
estimand = "all"
compare = { factor = "model", reference = "a" }
where = { condition = "told" }
[[contrast]]
name = "lopsided"
estimand = "all"
compare = { factor = "condition", reference = "direct" }
claim = "equivalence"
margin = [0.1, 0.2]
side = "less"
group = 2
[multiplicity]
method = "METHOD"
contrasts = ["equal", "no_worse", "better", "lopsided"]
"""


def interval(method: str, more: str = "") -> str:
    """Interval section of a protocol."""
    return f'[interval]\nmethod = "{method}"\n{more}\n'


def design(no_answer: str = "wrong", missing: str = "common") -> str:
    """Design section of a protocol."""
    return DESIGN.format(no_answer=no_answer, missing=missing)


def decisions(families: int = 14, *, models: int = 3, seed: int = 5) -> pd.DataFrame:
    """Decisions of models under 2 conditions: unequal families, 2 repeats, blanks, errors, confidences."""
    rng = np.random.default_rng(seed)
    rows = []
    for f in range(families):
        ease = rng.beta(3, 1)
        for item in range(1 + f % 2):
            for variant in VARIANTS:
                for m, model in enumerate(MODELS[:models]):
                    for condition in CONDITIONS:
                        for repeat in range(2):
                            rows.append({
                                "family": f"f{f:03}", "item": f"f{f:03}-{item}", "variant": variant,
                                "model": model, "condition": condition, "repeat": repeat,
                                **_reply(rng, ease - 0.1 * m),
                            })  # fmt: skip
    return pd.DataFrame(rows)


def _reply(rng: np.random.Generator, ease: float) -> dict[str, object]:
    status = str(rng.choice(["answered", "unparsed", "error"], p=[0.9, 0.05, 0.05]))
    answered = status == "answered"
    stated = float(rng.choice([0.5, 0.7, 0.9]))
    return {
        "status": status, "score": float(rng.random() < ease) if answered else None,
        "answer": str(rng.choice(["x", "y"])) if answered else None,
        "confidence": stated if answered and rng.random() < 0.9 else None,
        "input_tokens": int(rng.integers(50, 90)), "output_tokens": int(rng.integers(5, 30)),
    }  # fmt: skip


def write(folder: Path, text: str, rows: pd.DataFrame | None = None) -> Path:
    """Write a protocol and its records into a folder; the path of the protocol."""
    folder.mkdir(parents=True, exist_ok=True)
    (decisions() if rows is None else rows).to_csv(folder / "rows.csv", index=False)
    path = folder / "protocol.toml"
    path.write_text(HEAD + text, encoding="utf-8")
    return path
