"""Time the array functions against what the project promises; prints a table, exits 1 where one is missed.

python benchmarks/speed.py            prints
python benchmarks/speed.py --write    and keeps the table in benchmarks/results/speed.md
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pairstats.numeric import bootstrap_interval, exact_law, family_interval, many_contrasts, sign_flip

REPEATS, SECONDS = 7, 2.0
"""Fewest calls, and for how long they are repeated."""
RESULTS = Path(__file__).parent / "results" / "speed.md"


def milliseconds(call: Callable[[], object]) -> tuple[float, float]:
    """Best and median processor time of a call, after one to warm up.

    All calls run on one core, so that this is what they take on an idle one. What else a machine does at the
    same time only adds to it, so the best is nearest to the cost.
    """
    call()
    taken: list[float] = []
    started = time.perf_counter()
    while len(taken) < REPEATS or (len(taken) < 20 * REPEATS and time.perf_counter() - started < SECONDS):
        start = time.process_time()
        call()
        taken.append(1e3 * (time.process_time() - start))
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
    table = rng.integers(-2, 3, (40, 1000)) / 2
    found.append(("1,000 contrasts, 40 families of 2, one call", 2000, lambda: many_contrasts(table)))
    return found


def main() -> int:
    """Print one row a claim: best and median time, the promise, and whether the best time keeps it."""
    lines = [f"{'':<46}{'best ms':>9}{'median':>9}{'promised':>10}"]
    print(lines[0])
    missed = 0
    for words, promised, call in claims():
        best, median = milliseconds(call)
        late = promised is not None and best > promised
        missed += late
        shown = "" if promised is None else f"{promised:>10g}"
        lines.append(f"{words:<46}{best:>9.2f}{median:>9.2f}{shown:>10}{'  MISSED' if late else ''}")
        print(lines[-1])
    if "--write" in sys.argv[1:]:
        load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores" if hasattr(os, "getloadavg") else ""
        versions = f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}, {load}"
        command = "python benchmarks/speed.py --write"
        head = (
            f"# Speed\n\nWritten by `{command}` ({versions}); best and median of {REPEATS} calls or more.\n"
        )
        RESULTS.write_text("\n".join([head, "```", *lines, "```", ""]), encoding="utf-8")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
