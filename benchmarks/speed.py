"""Time the array functions against what the project promises; prints a table, exits 1 where one is missed.

python benchmarks/speed.py
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from pairstats.numeric import bootstrap_interval, exact_law, family_interval, sign_flip

REPEATS = 7


def milliseconds(call: Callable[[], object], repeats: int = REPEATS) -> tuple[float, float]:
    """Best and median wall time of a call, after one call to warm up."""
    call()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        taken.append(1e3 * (time.perf_counter() - start))
    return min(taken), statistics.median(taken)


def families(n: int, copies: int, rate: float = 0.9) -> np.ndarray:
    return np.random.default_rng(n + copies).binomial(copies, rate, n) / copies


def claims() -> list[tuple[str, float | None, Callable[[], object]]]:
    """What is timed: words, promised milliseconds (None: for information), call."""
    rng = np.random.default_rng(0)
    continuous, ceiling = rng.random(200), 1 - rng.random(200) ** 8
    sizes = rng.integers(1, 9, 200).astype(float)
    unequal = rng.binomial(sizes.astype(int), 0.9) / sizes
    thousand, many = rng.integers(0, 1000, 100_000) / 999, rng.random(100_000)
    found: list[tuple[str, float | None, Callable[[], object]]] = [
        ("family interval, 200 families of 2", 5, lambda: family_interval(families(200, 2))),
        ("family interval, 200 families of 8", 5, lambda: family_interval(families(200, 8), kind="cp")),
        ("family interval, 200 continuous scores", 5, lambda: family_interval(continuous)),
        ("family interval, 200 continuous, near 1", 5, lambda: family_interval(ceiling)),
        ("family interval, 200 of sizes 1 to 8", 5, lambda: family_interval(unequal, sizes=sizes)),
        ("family interval, 100,000, 1,000 distinct", 50, lambda: family_interval(thousand)),
        ("family interval, 100,000 continuous", 50, lambda: family_interval(many)),
    ]
    for n, promised in ((4000, 2), (400_000, 10)):
        for copies in (1, 2, 8):
            totals, counts = families(n, copies) * copies, np.full(n, float(copies))
            found.append(
                (
                    f"exact percentile law, {n:,} families of {copies}",
                    promised,
                    lambda t=totals, c=counts: exact_law(t, sizes=c).quantile(0.025),
                )
            )
        scores = families(n, 2)
        found.append((f"percentile interval, {n:,} families", None, lambda s=scores: bootstrap_interval(s)))
    for copies in (1, 2, 8, 32):
        gaps = rng.integers(-copies, copies + 1, 4000).astype(float)
        found.append((f"exact sign-flip, 4,000 families, +-{copies}", 50, lambda d=gaps: sign_flip(d)))
    return found


def main() -> int:
    """Print one row a claim: best and median time, the promise, and whether the best time keeps it."""
    print(f"{'':<46}{'best ms':>9}{'median':>9}{'promised':>10}")
    missed = 0
    for words, promised, call in claims():
        best, median = milliseconds(call)
        late = promised is not None and best > promised
        missed += late
        shown = "" if promised is None else f"{promised:>10g}"
        print(f"{words:<46}{best:>9.2f}{median:>9.2f}{shown:>10}{'  MISSED' if late else ''}")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
