"""Which families each model gets right in each setting: published totals, and a joint outcome fitted from a seed.

The write-up prints the pooled contrasts with their intervals, not who was right where. `draw` makes families of
unlike difficulty and lets each model fail on the hardest for it; `fitted` takes the first numbered draw whose
contrasts, with families resampled, have the printed estimate and interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

SEED = 20260930
N_CORE, N_SHARED = 192, 48
DIRECT, FAIRNESS, EXTRACTION = "direct", "fairness", "extraction"
CONDITIONS = (DIRECT, FAIRNESS, EXTRACTION)


@dataclass(frozen=True, slots=True)
class Model:
    """One model of a panel: families of the core suite with all eight decisions right, by condition.

    Attributes
    ----------
    slug : str
        As the server calls it.
    right : dict
        By condition.
    habits : tuple of float
        Weights of errors that are too strict, too lenient and evasive.
    """

    slug: str
    right: Mapping[str, int]
    habits: tuple[float, float, float]

    @property
    def name(self) -> str:
        """Name without the provider, in lower case."""
        return self.slug.rpartition("/")[2].lower()


CLUSTER = (
    Model("openai/gpt-oss-120b", {DIRECT: 188, FAIRNESS: 187, EXTRACTION: 189}, (1, 1, 1)),
    Model("openai/gpt-oss-20b", {DIRECT: 184, FAIRNESS: 185, EXTRACTION: 188}, (2, 1, 1)),
    Model("Qwen/Qwen3-32B", {DIRECT: 75, FAIRNESS: 74, EXTRACTION: 176}, (8, 1, 1)),
    Model("local/unnamed-1", {DIRECT: 110, FAIRNESS: 108, EXTRACTION: 172}, (1, 8, 1)),
    Model("local/unnamed-2", {DIRECT: 128, FAIRNESS: 129, EXTRACTION: 176}, (1, 1, 8)),
    Model("local/unnamed-3", {DIRECT: 150, FAIRNESS: 149, EXTRACTION: 170}, (4, 3, 1)),
)
"""Published: both gpt-oss (98 and 96 percent), Qwen (39), and the two pooled contrasts. Other counts are fitted."""

THINKING = Model("Qwen/Qwen3-32B", {DIRECT: 189}, (1, 1, 2))
HOSTED = Model("glm/glm-5.3-flash", {DIRECT: 189, FAIRNESS: 179}, (2, 1, 2))
KAGGLE = (
    Model("google/gemini-3.7-flash", {DIRECT: 48}, (1, 1, 1)),
    Model("google/gemma-4-31b", {DIRECT: 48}, (1, 1, 1)),
    Model("openai/gpt-oss-120b", {DIRECT: 30}, (1, 1, 1)),
    Model("unnamed/unnamed-4", {DIRECT: 44}, (3, 1, 1)),
    Model("unnamed/unnamed-5", {DIRECT: 37}, (1, 1, 4)),
)
"""Published: the first three. The other two are fitted."""

PRINTED = {FAIRNESS: (-0.3, -1.2, 0.6), EXTRACTION: (20.5, 18.1, 22.8)}
"""Contrasts with the direct decision in points, pooled over the six models: estimate and 95 percent interval."""

ALIKE, KEPT, MOVED = 0.2, 0.6, 16
"""What makes a family hard: shared by the models, and by both settings of C2; families that C1 turns wrong."""

FOUND = 23
"""Number of the first draw that fits; `fitted` draws it again and checks it."""

Outcome = dict[str, np.ndarray]
"""By condition: whether family f is right under model m."""


def draw(number: int) -> Outcome:
    """Draw the core families that each model of the cluster panel gets right."""
    rng = np.random.default_rng((SEED, number))
    shared = rng.normal(size=N_CORE)
    found = {name: np.ones((N_CORE, len(CLUSTER)), dtype=bool) for name in CONDITIONS}
    moved = _split(rng)
    for m, model in enumerate(CLUSTER):
        hard = _mixed(shared, ALIKE, rng)
        found[DIRECT][:, m] = _right(hard, model.right[DIRECT])
        found[EXTRACTION][:, m] = _right(_mixed(hard, KEPT, rng), model.right[EXTRACTION])
        found[FAIRNESS][:, m] = _moved(found[DIRECT][:, m], moved[m], model, rng)
    _one_miss_among_shared(found, rng)
    return found


def _mixed(shared: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    return share * shared + np.sqrt(1 - share**2) * rng.normal(size=len(shared))


def _right(hard: np.ndarray, n: int) -> np.ndarray:
    """Let a model be right on the `n` families that are easiest for it."""
    found = np.zeros(len(hard), dtype=bool)
    found[np.argsort(hard)[:n]] = True
    return found


def _split(rng: np.random.Generator) -> np.ndarray:
    """How many families the instruction turns wrong in each model; as many more turn right as the counts say."""
    room = np.array([min(m.right[DIRECT], N_CORE - m.right[FAIRNESS]) for m in CLUSTER], dtype=float)
    least = np.array([max(0, m.right[DIRECT] - m.right[FAIRNESS]) for m in CLUSTER])
    spare = MOVED - int(least.sum())
    weights = room - least
    extra = rng.multinomial(spare, weights / weights.sum())
    return least + np.minimum(extra, weights.astype(int))


def _moved(before: np.ndarray, lost: int, model: Model, rng: np.random.Generator) -> np.ndarray:
    gained = lost + model.right[FAIRNESS] - model.right[DIRECT]
    after = before.copy()
    after[rng.choice(np.flatnonzero(before), lost, replace=False)] = False
    after[rng.choice(np.flatnonzero(~before), gained, replace=False)] = True
    return after


def _one_miss_among_shared(found: Outcome, rng: np.random.Generator) -> None:
    """Reorder families so that gpt-oss-120b misses one of the 48 that the Kaggle panel has too."""
    misses = np.flatnonzero(~found[DIRECT][:, 0])
    first = rng.choice(misses)
    others = rng.permutation(np.setdiff1d(np.arange(N_CORE), misses))[: N_SHARED - 1]
    shared = rng.permutation(np.append(others, first))
    order = np.concatenate([shared, rng.permutation(np.setdiff1d(np.arange(N_CORE), shared))])
    for name in found:
        found[name] = found[name][order]


def in_points(outcome: Outcome, condition: str) -> tuple[float, float, float]:
    """Contrast with the direct decision in points, with the 95 percent limits of the family bootstrap."""
    difference = outcome[condition].astype(int) - outcome[DIRECT].astype(int)
    totals = difference.sum(axis=1)
    low, high = resampled_limits(totals)
    scale = 100 / (N_CORE * len(CLUSTER))
    return totals.sum() * scale, low * scale, high * scale


def resampled_limits(totals: np.ndarray) -> tuple[int, int]:
    """2.5 and 97.5 percent points of the sum of families drawn with replacement, by convolution."""
    low = int(totals.min())
    law = np.bincount(totals - low) / len(totals)
    sums = np.ones(1)
    for _ in range(len(totals)):
        sums = np.convolve(sums, law)
    below = np.cumsum(sums)
    first, last = (int(np.searchsorted(below, p)) for p in (0.025, 0.975))
    return first + low * len(totals), last + low * len(totals)


def fits(outcome: Outcome) -> bool:
    """Whether both contrasts come out as printed."""
    return all(
        all(
            abs(value - printed) < 0.0499
            for value, printed in zip(in_points(outcome, name), PRINTED[name], strict=True)
        )
        for name in PRINTED
    )


@cache
def fitted() -> Outcome:
    """Draw that the records are made from."""
    found = draw(FOUND)
    if not fits(found):
        raise ValueError(f"draw {FOUND} does not give the printed contrasts; search again")
    return found


def search(limit: int = 100_000) -> int:
    """Number of the first draw that fits."""
    return next(number for number in range(limit) if fits(draw(number)))
