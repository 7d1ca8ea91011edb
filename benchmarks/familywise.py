"""Error rates of registered claims in 2,000 simulated studies of a large paired design.

192 families of 8 decisions, 6 models, 3 conditions; a family counts where all 8 decisions are right. Three
claims share alpha = .05 by Holm's procedure:

* C1: the fairness instruction changes nothing, averaged over the panel (equivalence, margin .05);
* C2: fixed code is better than direct answers, averaged over the panel (superiority);
* C3: identity swaps change another share of decisions than same-group swaps, on different families
  (difference of two rates, limits joined by MOVER).

A claim is wrong where its null is true: then it should be reached, together with any other wrong one, in at
most alpha of the studies. Writes one row a scenario and claim.

    python benchmarks/familywise.py [-n 2000] [-o benchmarks/results/familywise.csv]
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from pairstats.numeric.batch import covers_many
from pairstats.numeric.copula import FamilyCopula
from pairstats.numeric.family import family_interval
from pairstats.numeric.mover import mover_difference
from pairstats.numeric.multiplicity import holm
from pairstats.numeric.proportions import clopper_pearson
from pairstats.power.studies import claim_p_many
from pairstats.simulate import cell_correlations
from pairstats.verdicts import Claim

FAMILIES, DECISIONS, CONTROL_FAMILIES = 192, 8, 96
CONDITIONS = ("direct", "fairness", "code")
DIRECT = (0.39, 0.60, 0.75, 0.90, 0.96, 0.98)
"""Robust fidelity of each model under direct answers."""
GAIN = (0.55, 0.34, 0.20, 0.08, 0.025, 0.005)
MIXED = (0.12, 0.10, 0.05, -0.07, -0.10, -0.10)
UP = (0.075, 0.075, 0.075, 0.075, 0.0, 0.0)
NOTHING, DOWN = (0.0,) * 6, (-0.05,) * 6
ICC, RHO = 0.5, {"model": 0.3, "condition": 0.7}
ALPHA, MARGIN, SEED = 0.05, 0.05, 20260930
CLAIMS = (Claim("equivalence", MARGIN), Claim("superiority"), Claim("difference"))
NAMES = ("C1", "C2", "C3")
BOUNDS = (-1.0, 1.0)
BLOCK = 100
"""Studies simulated at a time."""
WIDTHS = 100
"""Studies of which the width of the intervals is measured."""


@dataclass(frozen=True)
class Scenario:
    """True changes against direct answers in each model, and the two change rates of swaps."""

    name: str
    fairness: Sequence[float]
    code: Sequence[float]
    swap: float = 0.022
    control: float = 0.022

    @property
    def truths(self) -> tuple[float, float, float]:
        return float(np.mean(self.fairness)), float(np.mean(self.code)), self.swap - self.control

    @property
    def nulls(self) -> tuple[bool, bool, bool]:
        first, second, third = self.truths
        return abs(first) >= MARGIN - 1e-12, second <= 1e-12, third == 0


SCENARIOS = (
    Scenario("all nulls true, fairness at +margin", UP, NOTHING),
    Scenario("all nulls true, fairness at -margin", DOWN, NOTHING),
    Scenario("all nulls true, code helps some and harms others", DOWN, MIXED),
    Scenario("fairness at -margin, code works", DOWN, GAIN),
    Scenario("nothing differs", NOTHING, NOTHING),
    Scenario("as published", (-0.003,) * 6, GAIN, 0.026, 0.022),
)


@cache
def decision_rate(wanted: float) -> float:
    """Rate of single decisions at which all 8 are right with the wanted probability."""
    return float(
        brentq(lambda p: FamilyCopula([p], icc=ICC).all_right(0, DECISIONS) - wanted, 1e-6, 1 - 1e-9)
    )


def studies(scenario: Scenario, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Family differences of C1 and C2 in n studies, each of shape (n, families)."""
    fidelity = np.array([np.add(DIRECT, change) for change in (NOTHING, scenario.fairness, scenario.code)])
    cells = tuple((str(m), c) for c in CONDITIONS for m in range(len(DIRECT)))
    rates = [decision_rate(round(float(value), 12)) for value in fidelity.ravel()]
    copula = FamilyCopula(rates, icc=ICC, rho=cell_correlations(cells, ("model", "condition"), RHO))
    first, second = [], []
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        latent = copula.draw(size * FAMILIES, DECISIONS, 1, rng)
        right = copula.scores(latent)[..., 0].all(axis=2).reshape(size, FAMILIES, 3, len(DIRECT))
        panel = right.mean(axis=3)
        first.append(np.round(panel[..., 1] - panel[..., 0], 12))
        second.append(np.round(panel[..., 2] - panel[..., 0], 12))
    return np.concatenate(first), np.concatenate(second)


def flips(rate: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Number of models whose decision a swap changes, families in ascending order, shape (n, families)."""
    copula = FamilyCopula([rate] * len(DIRECT), rho=RHO["model"])
    latent = copula.draw(n * CONTROL_FAMILIES, 1, 1, rng)
    changed = copula.scores(latent)[:, :, 0, 0].sum(axis=1).reshape(n, CONTROL_FAMILIES)
    return np.sort(changed, axis=1)


@cache
def rate_limits(counts: bytes, level: float) -> tuple[float, float, float]:
    """Change rate of one arm with its family-CP limits, from the counts of families by changed models."""
    scores = np.repeat(np.arange(len(DIRECT) + 1) / len(DIRECT), np.frombuffer(counts, dtype=np.int64))
    found = family_interval(scores, kind="cp", confidence_level=level)
    return float(scores.mean()), found.low, found.high


def swap_limits(swap: np.ndarray, control: np.ndarray, level: float) -> tuple[float, float]:
    """Limits of the difference of two rates of different families: the two family-CP intervals by MOVER."""
    arms = [np.bincount(arm, minlength=len(DIRECT) + 1).astype(np.int64).tobytes() for arm in (swap, control)]
    (p, *ends_p), (q, *ends_q) = (rate_limits(arm, round(level, 12)) for arm in arms)
    found = mover_difference(p, (ends_p[0], ends_p[1]), q, (ends_q[0], ends_q[1]), confidence_level=level)
    return found.low, found.high


def swap_p(swap: np.ndarray, control: np.ndarray) -> float:
    """Smallest of Holm's levels at which the limits exclude 0, or 1: all that the procedure needs to know."""
    for level in (ALPHA / 3, ALPHA / 2, ALPHA):
        low, high = swap_limits(swap, control, 1 - level)
        if low > 0 or high < 0:
            return level
    return 1.0


def run(scenario: Scenario, n: int, seed: int) -> list[dict[str, object]]:
    """Rows of one scenario, one a claim."""
    rng = np.random.default_rng([SEED, seed])
    pairs = studies(scenario, n, rng)
    swap, control = flips(scenario.swap, n, rng), flips(scenario.control, n, rng)
    p = [claim_p_many(d, claim, "two-sided", BOUNDS) for d, claim in zip(pairs, CLAIMS, strict=False)]
    p.append(np.array([swap_p(a, b) for a, b in zip(swap, control, strict=True)]))
    reached = np.array([holm(row) for row in np.column_stack(p)]) <= ALPHA + 1e-12
    reached[:, 1] &= pairs[1].sum(axis=1) > 0  # superiority has a direction
    wrong = (reached & np.array(scenario.nulls)).any(axis=1)
    limits = np.array([swap_limits(a, b, 0.95) for a, b in zip(swap, control, strict=True)])
    rows: list[dict[str, object]] = []
    for k, (name, truth) in enumerate(zip(NAMES, scenario.truths, strict=True)):
        paired = pairs[k] if k < 2 else None
        rows.append(
            {"scenario": scenario.name, "contrast": name, "claim": CLAIMS[k].kind,
             "true_difference": round(truth, 6), "null_true": scenario.nulls[k], **share("reached", reached[:, k]),
             **(paired_intervals(paired, truth) if paired is not None else swap_intervals(limits, truth)),
             **share("familywise_error", wrong), "n_simulations": n}
        )  # fmt: skip
    return rows


def paired_intervals(differences: np.ndarray, truth: float) -> dict[str, float]:
    """Coverage and mean width of both family intervals of a paired contrast."""
    found: dict[str, float] = {}
    for kind in ("cp", "jeffreys"):
        covered = covers_many(differences, truth, kind=kind, bounds=BOUNDS)
        some = [family_interval(row, kind=kind, bounds=BOUNDS) for row in differences[:WIDTHS]]
        found |= share(f"coverage_{kind}", covered)
        found[f"width_{kind}"] = float(np.mean([one.high - one.low for one in some]))
    return found


def swap_intervals(limits: np.ndarray, truth: float) -> dict[str, float]:
    """Coverage and mean width of the MOVER limits."""
    covered = (limits[:, 0] <= truth) & (truth <= limits[:, 1])
    return share("coverage_cp", covered) | {"width_cp": float(np.mean(limits[:, 1] - limits[:, 0]))}


def share(name: str, hits: np.ndarray) -> dict[str, float]:
    exact = clopper_pearson(int(hits.sum()), hits.size)
    return {name: float(hits.mean()), f"{name}_low": exact.low, f"{name}_high": exact.high}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=2000, help="simulated studies of each scenario")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path(__file__).parent / "results" / "familywise.csv"
    )
    given = parser.parse_args()
    rows: list[dict[str, object]] = []
    for seed, scenario in enumerate(SCENARIOS):
        start = time.perf_counter()
        rows += run(scenario, given.n, seed)
        print(f"{scenario.name}: {time.perf_counter() - start:.0f} s", flush=True)
    table = pd.DataFrame(rows)
    given.output.parent.mkdir(parents=True, exist_ok=True)
    table.round(5).to_csv(given.output, index=False, lineterminator="\n")
    shown = ["scenario", "contrast", "true_difference", "null_true", "reached", "coverage_cp", "width_cp",
             "coverage_jeffreys", "width_jeffreys", "familywise_error"]  # fmt: skip
    print(table[shown].round(4).to_string(index=False))
    limit = ALPHA + 2 * math.sqrt(ALPHA * (1 - ALPHA) / given.n)
    worst, least = table["familywise_error"].max(), table["coverage_cp"].min()
    print(
        f"family-wise error at most {worst:.4f} (limit {limit:.4f}); coverage at least {least:.4f} (limit .94)"
    )
    if worst > limit or least < 0.94:
        raise SystemExit("the error rates are not as stated")


if __name__ == "__main__":
    main()
