"""Time the exact bootstrap law against Monte Carlo over types and against scipy.stats.bootstrap."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
from scipy import stats

from pairstats.numeric.resample import bootstrap_interval

FAMILIES = (40, 400, 4000)
N_RESAMPLES = 10_000
REPEATS = 5
RARE_REPEATS = 1
"""Repeats where one call takes seconds."""


def designs(families: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Family means and sizes of the designs that are timed."""
    rng = np.random.default_rng(families)
    pairs, unequal = np.full(families, 2.0), rng.integers(1, 5, families).astype(float)
    ability = rng.beta(4, 1, families)
    return {
        "0/1 families": (rng.binomial(1, ability).astype(float), np.ones(families)),
        "families of 2": (rng.binomial(2, ability) / 2, pairs),
        "sizes 1 to 4": (rng.binomial(unequal.astype(int), ability) / unequal, unequal),
        "Brier scores": (rng.random(families) ** 2, pairs),
    }


def seconds(call: Callable[[], object], repeats: int) -> float:
    """Median wall time of a call."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def ratio(totals: np.ndarray, sizes: np.ndarray, axis: int = -1) -> np.ndarray:
    """Ratio of sums, vectorised for scipy."""
    return totals.sum(axis=axis) / sizes.sum(axis=axis)


def by_scipy(scores: np.ndarray, sizes: np.ndarray) -> object:
    """Percentile interval of scipy, in blocks of resamples so that memory stays bounded."""
    return stats.bootstrap(
        (scores * sizes, sizes),
        ratio,
        paired=True,
        vectorized=True,
        n_resamples=N_RESAMPLES,
        batch=1000,
        method="percentile",
    )


def main() -> None:
    """Print one row a design: median seconds of each way, and how much faster the exact law is."""
    print(f"percentile interval; Monte Carlo with {N_RESAMPLES:,} resamples; median seconds")
    print(f"{'families':>8}  {'design':<14}{'exact law':>11}{'types':>11}{'scipy':>11}{'scipy/exact':>13}")
    for families in FAMILIES:
        for name, (scores, sizes) in designs(families).items():
            slow = RARE_REPEATS if families >= 4000 else REPEATS
            exact = seconds(lambda s=scores, n=sizes: bootstrap_interval(s, sizes=n), REPEATS)
            drawn = seconds(
                lambda s=scores, n=sizes: bootstrap_interval(s, sizes=n, n_resamples=N_RESAMPLES, rng=1), slow
            )
            peer = seconds(lambda s=scores, n=sizes: by_scipy(s, n), slow)
            print(f"{families:>8}  {name:<14}{exact:>11.5f}{drawn:>11.5f}{peer:>11.5f}{peer / exact:>13.0f}")


if __name__ == "__main__":
    main()
