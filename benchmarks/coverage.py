"""Coverage of the intervals and size of the tests, over designs of families of copies.

    python benchmarks/coverage.py --quick      a few minutes; writes benchmarks/results/
    python benchmarks/coverage.py --full       the whole grid of 792 designs, about an hour on one core

Data sets are enumerated where they are few (no Monte-Carlo error), and drawn otherwise. Writes coverage.csv
(one row a design and method), worst.csv (0/1 families: the exact worst over all rates), size.csv (tests of
no difference), coverage.png, and README.md with the table and the targets beside what was found.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import gammaln
from scipy.stats import betabinom, binom

from pairstats.numeric import (
    bootstrap_interval,
    cluster_robust,
    family_interval,
    korn_graubard,
    sign_flip,
    wilson,
)

RESULTS = Path(__file__).parent / "results"
LEVEL = 0.95
RATES = (0.5, 0.8, 0.95, 0.99)


@dataclass(frozen=True)
class Plan:
    """How much to run."""

    families: tuple[int, ...]
    copies: tuple[int, ...]
    icc: tuple[float, ...]
    most_enumerated: int
    draws: int
    size_families: tuple[int, ...]
    size_copies: tuple[int, ...]
    size_draws: int


QUICK = Plan((10, 20, 40), (2, 4), (0.0, 0.3, 0.7), 1500, 600, (6, 10, 20), (1, 2, 4), 2000)
FULL = Plan(
    families=(4, 10, 20, 40, 80, 200),
    copies=(2, 4, 8),
    icc=(0.0, 0.1, 0.3, 0.5, 0.7, 0.9),
    most_enumerated=20_000,
    draws=1500,
    size_families=(4, 6, 10, 20, 40, 80),
    size_copies=(1, 2, 4, 8),
    size_draws=3000,
)

Limits = tuple[float, float]
METHODS: dict[str, Callable[[np.ndarray, int], Limits]] = {
    "family-jeffreys": lambda x, m: _ends(family_interval(x)),
    "family-cp": lambda x, m: _ends(family_interval(x, kind="cp")),
    "percentile": lambda x, m: _ends(bootstrap_interval(x)),
    "cr2-t": lambda x, m: _ends(cluster_robust(x)),
    "korn-graubard": lambda x, m: _ends(korn_graubard(x, sizes=np.full(x.size, m))),
    "wilson on items": lambda x, m: _ends(wilson(round(x.sum() * m), x.size * m)),
}
"""From family means and the number of copies to limits."""


def _ends(found: object) -> Limits:
    return found.low, found.high  # type: ignore[attr-defined]


def total_law(copies: int, rate: float, icc: float, model: str) -> np.ndarray:
    """Law of the number of right copies in a family."""
    k = np.arange(copies + 1)
    if icc == 0:
        return binom.pmf(k, copies, rate)
    if model == "beta-binomial":
        odds = (1 - icc) / icc
        return betabinom.pmf(k, copies, rate * odds, (1 - rate) * odds)
    law = (1 - icc) * binom.pmf(k, copies, rate)
    law[0] += icc * (1 - rate)
    law[-1] += icc * rate
    return law


def compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Every way to share families out to kinds."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield first, *rest


def data_sets(
    families: int, law: np.ndarray, plan: Plan, draws: int, seed: int
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Counts of families of each kind, their probabilities, and whether all are there."""
    if math.comb(families + law.size - 1, law.size - 1) <= plan.most_enumerated:
        counts = np.array(list(compositions(families, law.size)))
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(counts > 0, counts * np.log(law), 0.0).sum(axis=1)
        return counts, np.exp(gammaln(families + 1) - gammaln(counts + 1).sum(axis=1) + terms), True
    drawn = np.random.default_rng(seed).multinomial(families, law, size=draws)
    counts, times = np.unique(drawn, axis=0, return_counts=True)
    return counts, times / draws, False


def cover_one_size(task: tuple[int, int, Plan]) -> list[dict[str, object]]:
    """Coverage of every method in all designs of one number of families and copies."""
    families, copies, plan = task
    levels = np.arange(copies + 1) / copies
    known: dict[tuple[int, ...], dict[str, Limits]] = {}
    rows: list[dict[str, object]] = []
    models = [(icc, model) for icc in plan.icc for model in ("beta-binomial", "all-or-none")]
    models = [pair for pair in models if pair[0] > 0 or pair[1] == "beta-binomial"]
    for place, (rate, (icc, model)) in enumerate((r, pair) for r in RATES for pair in models):
        law = total_law(copies, rate, icc, model)
        counts, weights, complete = data_sets(families, law, plan, plan.draws, seed=place)
        likely = weights > 1e-12  # what is left out is below 1e-7 in sum
        covered = dict.fromkeys(METHODS, 0.0)
        width = dict.fromkeys(METHODS, 0.0)
        for count, weight in zip(counts[likely].tolist(), weights[likely].tolist(), strict=True):
            key = tuple(count)
            if key not in known:
                scores = np.repeat(levels, count)
                known[key] = {name: method(scores, copies) for name, method in METHODS.items()}
            for name, (low, high) in known[key].items():
                covered[name] += weight * (low - 1e-12 <= rate <= high + 1e-12)
                width[name] += weight * (high - low)
        for name in METHODS:
            share = min(covered[name], 1.0)
            rows.append(
                {
                    "families": families,
                    "copies": copies,
                    "rate": rate,
                    "icc": icc,
                    "model": model,
                    "method": name,
                    "coverage": round(share, 5),
                    "width": round(width[name], 5),
                    "mc_error": 0.0 if complete else round(math.sqrt(share * (1 - share) / plan.draws), 5),
                }
            )
    return rows


def worst_over_rates(families: int) -> list[dict[str, object]]:
    """Exact worst coverage over all rates, 0/1 families: just beside an end of one of the intervals."""
    rows: list[dict[str, object]] = []
    sets = [np.repeat([1.0, 0.0], [x, families - x]) for x in range(families + 1)]
    for name in ("family-jeffreys", "family-cp", "percentile"):
        limits = np.array([METHODS[name](scores, 1) for scores in sets])
        ends = limits.ravel()
        rates = np.concatenate([ends - 1e-9, ends + 1e-9, [1e-6, 1 - 1e-6]])
        rates = rates[(rates >= 1e-6) & (rates <= 1 - 1e-6)]
        inside = (limits[:, :1] <= rates) & (rates <= limits[:, 1:])
        mass = binom.pmf(np.arange(families + 1)[:, None], families, rates)
        coverage = (inside * mass).sum(axis=0)
        at = int(coverage.argmin())
        rows.append(
            {
                "families": families,
                "method": name,
                "worst_coverage": round(float(coverage[at]), 5),
                "at_rate": round(float(rates[at]), 5),
            }
        )
    return rows


def difference_law(copies: int, discordance: float, icc: float, model: str) -> np.ndarray:
    """Law of a family's difference, -copies to copies, of two systems that are equally good."""
    law = np.zeros(2 * copies + 1)
    shares = np.array([discordance / 2, discordance / 2, 1 - discordance])
    odds = (1 - icc) / icc if icc else math.inf
    for b in range(copies + 1):
        for c in range(copies + 1 - b):
            n = np.array([b, c, copies - b - c])
            log = gammaln(copies + 1) - gammaln(n + 1).sum()
            if icc and model == "beta-binomial":
                alpha = shares * odds
                log += gammaln(odds) - gammaln(odds + copies) + (gammaln(alpha + n) - gammaln(alpha)).sum()
            else:
                log += (n * np.log(shares)).sum()
            law[copies + b - c] += math.exp(log)
    if icc and model != "beta-binomial":
        law *= 1 - icc
        law[[0, -1, copies]] += icc * shares[[1, 0, 2]]
    return law


def size_of_tests(task: tuple[int, int, Plan]) -> list[dict[str, object]]:
    """Share of rejections at .05 where there is no difference."""
    families, copies, plan = task
    levels = np.arange(-copies, copies + 1) / copies
    known: dict[tuple[int, ...], tuple[bool, bool]] = {}
    rows: list[dict[str, object]] = []
    designs = [
        (d, i, m) for d in (0.1, 0.3) for i in (0.0, 0.3, 0.9) for m in ("beta-binomial", "all-or-none")
    ]
    for place, (discordance, icc, model) in enumerate(designs):
        if icc == 0 and model == "all-or-none":
            continue
        law = difference_law(copies, discordance, icc, model)
        counts, weights, complete = data_sets(families, law, plan, plan.size_draws, seed=1000 + place)
        rejected = np.zeros(2)
        for count, weight in zip(counts.tolist(), weights.tolist(), strict=True):
            if weight < 1e-12:
                continue
            key = tuple(count)
            if key not in known:
                gaps = np.repeat(levels, count)
                found = bootstrap_interval(gaps)
                known[key] = (
                    sign_flip(gaps).p_value <= 0.05 * (1 + 1e-12),
                    found.low > 1e-12 or found.high < -1e-12,
                )
            rejected += weight * np.array(known[key])
        for name, share in zip(("sign-flip", "percentile excludes 0"), rejected.tolist(), strict=True):
            error = 0.0 if complete else math.sqrt(share * (1 - share) / plan.size_draws)
            rows.append(
                {
                    "families": families,
                    "copies": copies,
                    "discordance": discordance,
                    "icc": icc,
                    "model": model,
                    "test": name,
                    "rejected": round(share, 5),
                    "mc_error": round(error, 5),
                }
            )
    return rows


def write(name: str, rows: list[dict[str, object]]) -> None:
    """Write rows as CSV."""
    with (RESULTS / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def draw(rows: list[dict[str, object]]) -> None:
    """Draw mean and worst coverage against the number of families, a panel for each rate."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(RATES), figsize=(13, 3.6), sharey=True, layout="constrained")
    shown = ("family-jeffreys", "family-cp", "percentile", "cr2-t", "korn-graubard")
    for panel, rate in zip(axes, RATES, strict=True):
        for colour, name in zip(("C0", "C2", "C3", "C1", "0.5"), shown, strict=True):
            own = [r for r in rows if r["rate"] == rate and r["method"] == name]
            sizes = sorted({r["families"] for r in own})
            at = [[float(r["coverage"]) for r in own if r["families"] == g] for g in sizes]
            panel.plot(sizes, [np.mean(v) for v in at], color=colour, marker="o", ms=4, label=name)
            panel.fill_between(
                sizes, [min(v) for v in at], [np.mean(v) for v in at], color=colour, alpha=0.12
            )
        panel.axhline(LEVEL, color="0.3", lw=0.8, ls="--")
        panel.set(title=f"rate {rate:g}", xlabel="families", xscale="log", ylim=(0.1, 1.01))
        panel.set_xticks(sizes, [str(g) for g in sizes], minor=False)
        panel.minorticks_off()
    axes[0].set_ylabel("coverage: mean (line), worst (shade)")
    axes[0].legend(fontsize=8, loc="lower left")
    figure.savefig(RESULTS / "coverage.png", dpi=130)


def table(rows: list[dict[str, object]]) -> list[str]:
    """Give mean / worst coverage of every method by rate and number of families, as Markdown."""
    sizes = sorted({int(str(r["families"])) for r in rows})
    lines = []
    for rate in RATES:
        lines += [f"Rate {rate:g}, mean / worst over the other settings:", ""]
        lines += [
            "| method | " + " | ".join(f"G = {g}" for g in sizes) + " |",
            "|---" * (len(sizes) + 1) + "|",
        ]
        for name in METHODS:
            cells = []
            for size in sizes:
                own = [r for r in rows if r["rate"] == rate and r["method"] == name and r["families"] == size]
                found = [float(str(r["coverage"])) for r in own]
                cells.append(f"{np.mean(found):.3f} / {min(found):.3f}")
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        lines.append("")
    return lines


def targets(rows: list[dict[str, object]], size: list[dict[str, object]]) -> list[str]:
    """Give what must hold, what was found, and whether it holds."""
    jeffreys = [r for r in rows if r["method"] == "family-jeffreys" and int(str(r["families"])) >= 20]
    shares = [float(str(r["coverage"])) for r in jeffreys]
    cp = [float(str(r["coverage"])) for r in rows if r["method"] == "family-cp"]
    flips = [r for r in size if r["test"] == "sign-flip"]
    excess = [float(str(r["rejected"])) - 0.05 - 2 * float(str(r["mc_error"])) for r in flips]
    claims = [
        ("family-Jeffreys from 20 families, mean >= .945", float(np.mean(shares)), np.mean(shares) >= 0.945),
        ("family-Jeffreys from 20 families, worst >= .92", min(shares), min(shares) >= 0.92),
        ("family-CP, worst >= .94", min(cp), min(cp) >= 0.94),
        (
            "sign-flip, largest size above .05 + 2 Monte-Carlo errors <= 0",
            max(excess),
            max(excess) <= 0,
        ),
    ]
    head = ["| target | found | holds |", "|---|---|---|"]
    return head + [f"| {words} | {found:.4f} | {'yes' if held else 'NO'} |" for words, found, held in claims]


def summary(
    rows: list[dict[str, object]], worst: list[dict[str, object]], size: list[dict[str, object]]
) -> list[str]:
    """Give what was found, in words."""
    lines = []
    for name in METHODS:
        own = [r for r in rows if r["method"] == name]
        many = [float(str(r["coverage"])) for r in own if int(str(r["families"])) >= 20]
        every = [float(str(r["coverage"])) for r in own]
        text = f"mean {np.mean(every):.3f}, worst {min(every):.3f}"
        lines.append(f"{name:<18} {text}; from 20 families mean {np.mean(many):.3f}, worst {min(many):.3f}")
    for row in worst:
        lines.append(
            f"0/1 families, {row['families']}, {row['method']}: exact worst over all rates "
            f"{row['worst_coverage']:.3f} at {row['at_rate']:.3f}"
        )
    for name in ("sign-flip", "percentile excludes 0"):
        own = [r for r in size if r["test"] == name]
        top = max(own, key=lambda r: float(str(r["rejected"])))
        lines.append(
            f"{name}: largest size {top['rejected']:.4f} (Monte-Carlo error {top['mc_error']:.4f}) at "
            f"{top['families']} families of {top['copies']}"
        )
    return lines


def readme(
    plan: Plan, rows: list[dict[str, object]], worst: list[dict[str, object]], size: list[dict[str, object]]
) -> str:
    """Give the page of results."""
    command = f"python benchmarks/coverage.py --{'full' if plan is FULL else 'quick'}"
    designs = len(rows) // len(METHODS)
    lines = [
        "# Coverage and size",
        "",
        f"Written by `{command}`: {designs} designs of equal families; enumerated where there are at most "
        f"{plan.most_enumerated} data sets, else {plan.draws} drawn (column `mc_error` of coverage.csv; "
        f"tests: {plan.size_draws}).",
        "",
        *targets(rows, size),
        "",
        "The worst cells are minima over many designs, so where data sets were drawn they lie below the truth by "
        "up to three Monte-Carlo errors.",
        "",
        "```",
        *summary(rows, worst, size),
        "```",
        "",
        *table(rows),
        "![mean and worst coverage](coverage.png)",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Run the study and write what it found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--quick", action="store_true", help="few designs, few minutes")
    which.add_argument("--full", action="store_true", help="the whole grid, about an hour on one core")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    plan = FULL if options.full else QUICK
    tasks = [(g, m, plan) for g in plan.families for m in plan.copies]
    tests = [(g, m, plan) for g in plan.size_families for m in plan.size_copies]
    with ProcessPoolExecutor(options.jobs) as pool:
        rows = [row for part in pool.map(cover_one_size, tasks) for row in part]
        worst = [row for part in pool.map(worst_over_rates, (10, 20, 40, 200)) for row in part]
        size = [row for part in pool.map(size_of_tests, tests) for row in part]
    RESULTS.mkdir(exist_ok=True)
    write("coverage.csv", rows)
    write("worst.csv", worst)
    write("size.csv", size)
    draw(rows)
    text = readme(plan, rows, worst, size)
    (RESULTS / "README.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
