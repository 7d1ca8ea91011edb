"""Power by simulation: its laws against the single tests, its numbers against exact McNemar power."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pairstats.errors import PairstatsError, ProtocolError
from pairstats.figures.power_plot import power_curve
from pairstats.interval_names import NAMED
from pairstats.intervals import Totals
from pairstats.numeric import dirichlet_mean_cdf, family_interval, sign_flip
from pairstats.numeric.batch import covers_many, family_tails_many, sign_flip_many
from pairstats.numeric.copula import both_right
from pairstats.numeric.power import mcnemar_power
from pairstats.pairs import Combined, Compared
from pairstats.power import COLUMNS, power_of
from pairstats.power.studies import claim_p_many, covered_by
from pairstats.protocol import Protocol, load_protocol
from pairstats.protocol.power_rule import PowerRule
from pairstats.verdicts import Claim, judge

TOML = """
[protocol]
name = "power"
[[records.source]]
path = "none.csv"
[design]
cells = ["model", "condition"]
[interval]
method = "family-cp"
[[estimand]]
name = "acc"
kind = "mean"
[[estimand]]
name = "fidelity"
kind = "all_correct"
[[estimand]]
name = "flips"
kind = "flip_rate"
[[estimand]]
name = "brier"
kind = "brier"
[[contrast]]
name = "C1"
estimand = "acc"
compare = { factor = "condition", level = "code", reference = "direct" }
average = "model"
"""

FLAT = {"acc": {"m": {"direct": 0.6, "code": 0.8}}}


def protocol(tmp_path: Path, more: str = "") -> Protocol:
    path = tmp_path / "protocol.toml"
    path.write_text(TOML + more, encoding="utf-8")
    return load_protocol(path)


def contrast(name: str, **keys: str) -> str:
    compare = '{ factor = "condition", level = "code", reference = "direct" }'
    lines = {"estimand": '"acc"', "compare": compare, **keys}
    return f'[[contrast]]\nname = "{name}"\n' + "".join(f"{k} = {v}\n" for k, v in lines.items())


def rule(**changes: object) -> PowerRule:
    base = PowerRule(rates=FLAT, families=[60], icc=0.0, rho=0.5, n_simulations=1000, seed=7)
    return replace(base, **changes)  # type: ignore[arg-type]


def lattice(seed: int, n: int, families: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-3, 5, (n, families)) / 6


@pytest.mark.parametrize("side", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("families", [1, 2, 7, 40])
def test_many_sign_flips_are_single_ones(side: str, families: int) -> None:
    # Oracle: the exact test of one data set; absolute error 1e-12.
    d = lattice(families, 40, families)
    d[0] = 0
    single = [sign_flip(row, alternative=side).p_value for row in d]
    assert sign_flip_many(d, alternative=side) == pytest.approx(single, abs=1e-12)


def test_many_sign_flips_without_a_lattice() -> None:
    d = np.random.default_rng(1).standard_normal((3, 12))
    assert sign_flip_many(d) == pytest.approx([sign_flip(row).p_value for row in d], abs=1e-12)


@pytest.mark.parametrize("families", [1, 2, 5, 30])
@pytest.mark.parametrize("point", [-0.999, -0.5, -0.05, 0.0, 0.3, 0.9])
@pytest.mark.parametrize("ends", [(1.0, 0.0), (0.0, 1.0), (0.5, 0.5)])
def test_many_tails_are_single_ones(families: int, point: float, ends: tuple[float, float]) -> None:
    # Oracle: the contour integral of one data set; error 1e-8, or 1e-5 with one or two families.
    d = lattice(families, 12, families)
    below, above = family_tails_many(d, point, low_weight=ends[0], high_weight=ends[1], bounds=(-1, 1))
    for row, found in zip(d, below, strict=True):
        added = [(v, w) for v, w in zip((-1.0, 1.0), ends, strict=True) if w]
        values, weights = [*row, *(v for v, _ in added)], [*np.ones(families), *(w for _, w in added)]
        oracle = float(dirichlet_mean_cdf(point, values, weights))
        assert found == pytest.approx(oracle, abs=1e-8 if families > 2 else 1e-5)
    assert below + above == pytest.approx(np.ones(12))


@pytest.mark.parametrize("kind", ["cp", "jeffreys"])
def test_many_intervals_hold_the_truth_where_single_ones_do(kind: str) -> None:
    d = lattice(3, 60, 15)
    d[0], d[1] = -1, 1
    for truth in (-0.2, 0.1, 0.31, 0.9999):
        single = [family_interval(row, kind=kind, bounds=(-1, 1)) for row in d]
        expected = [one.low <= truth <= one.high for one in single]
        assert covers_many(d, truth, kind=kind, bounds=(-1, 1)).tolist() == expected


@pytest.mark.parametrize("method", ["cr2-t", "percentile", "family-cp"])
def test_coverage_by_any_interval(method: str) -> None:
    d = lattice(4, 30, 12)
    found = covered_by(NAMED[method], d, 0.08, (-1.0, 1.0), 0.95)
    ones = np.ones(12)
    limits = [NAMED[method].limits(Totals(row, ones, (-1.0, 1.0)), 0.95, "two-sided") for row in d]
    assert found.tolist() == [one.low <= 0.08 <= one.high for one in limits]


@pytest.mark.parametrize(
    "claim",
    [Claim(), Claim("superiority"), Claim("noninferiority", 0.2), Claim("equivalence", (0.2, 0.4))],
    ids=lambda claim: claim.kind,
)
def test_claims_are_judged_as_verdicts_are(claim: Claim) -> None:
    # The same p-values as `judge` gives for one study at a time.
    d = lattice(5, 15, 25)
    p = claim_p_many(d, claim, "two-sided", (-1.0, 1.0))
    for row, found in zip(d, p, strict=True):
        numbers = {"estimate": row.mean(), "p_value": sign_flip(row).p_value, "n_families": 25, "n_units": 25,
                   "n_missing": 0}  # fmt: skip
        compared = Compared(numbers, Combined({}, (), np.zeros(0)), Totals(row, np.ones(25), (-1.0, 1.0)))
        [judged] = judge([compared], [claim], method="none")
        assert found == pytest.approx(judged.compared.row["p_value"], abs=1e-9)


def test_power_is_that_of_exact_mcnemar(tmp_path: Path) -> None:
    # Oracle: exact unconditional power of McNemar's test with one decision a family; Monte Carlo, 4 errors.
    found = power_of(protocol(tmp_path), rule(n_simulations=4000)).frame.iloc[0]
    both = both_right(0.8, 0.6, 0.5)
    exact = mcnemar_power(60, 0.8 - both, 0.6 - both)
    assert abs(found["power"] - exact) < 4 * math.sqrt(exact * (1 - exact) / 4000)
    assert found["power_low"] < found["power"] < found["power_high"]
    assert found["difference"] == pytest.approx(0.2)


def test_detectable_difference_is_that_of_exact_mcnemar(tmp_path: Path) -> None:
    # At the difference found the exact power is the target, to the Monte-Carlo error of 1000 simulations.
    mdd = power_of(protocol(tmp_path), rule()).frame["mdd"].item()
    both = both_right(0.6 + mdd, 0.6, 0.5)
    assert mcnemar_power(60, 0.6 + mdd - both, 0.6 - both) == pytest.approx(0.8, abs=0.06)


def test_nothing_to_find_is_found_at_most_at_alpha(tmp_path: Path) -> None:
    equal = {"acc": {"m": {"direct": 0.7, "code": 0.7}}}
    found = power_of(
        protocol(tmp_path), rule(rates=equal, copies=[4], icc=0.5, n_simulations=2000)
    ).frame.iloc[0]
    assert found["power"] <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / 2000)
    assert found["coverage"] >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / 2000)


def test_more_of_everything_helps_or_does_not_harm(tmp_path: Path) -> None:
    asked = rule(
        families=[20, 60], copies=[1, 6], repeats=[1, 4], icc=0.2, instability=0.8, n_simulations=400
    )
    frame = power_of(protocol(tmp_path), asked).frame
    assert len(frame) == 8
    table = frame.set_index(["families", "copies", "repeats"])["power"]
    for smaller, larger in [((20, 1, 1), (60, 1, 1)), ((20, 1, 1), (20, 6, 1)), ((20, 1, 1), (20, 1, 4))]:
        assert table[larger] > table[smaller]
    smallest = frame.set_index(["families", "copies", "repeats"])["mdd"]
    assert smallest[(60, 6, 4)] < smallest[(60, 1, 1)]


def test_the_same_seed_gives_the_same_table(tmp_path: Path) -> None:
    asked = rule(n_simulations=200, seed=None)
    first, second = (power_of(protocol(tmp_path), asked) for _ in range(2))
    pd.testing.assert_frame_equal(first.frame, second.frame)
    other = power_of(protocol(tmp_path), asked, rng=99).frame
    assert other["seed"].item() == 99
    assert first.assumptions["seed"] == first.frame["seed"].item()


MARGIN = contrast("C2", claim='"equivalence"', margin="0.3") + contrast(
    "C3", claim='"noninferiority"', margin="0.1", average='"model"'
)


def test_margin_claims_and_strata(tmp_path: Path) -> None:
    rates = {"acc": {"m": {"direct": 0.6, "code": 0.6}, "n": {"direct": 0.9, "code": 0.9}}}
    frame = power_of(
        protocol(tmp_path, MARGIN), rule(rates=rates, families=[80], copies=[2], icc=0.3, n_simulations=300)
    ).frame
    assert frame["comparison"].tolist() == [
        "code - direct",
        "code - direct (m)",
        "code - direct (n)",
        "code - direct",
    ]
    by_model = frame[frame["contrast"] == "C2"]
    assert (by_model["power"] > 0.9).all()
    assert (by_model["smallest_margin"] < 0.3).all()
    assert frame["smallest_margin"].isna().tolist() == [True, False, False, False]
    # A margin as small as the one found is met with about the target power.
    least = by_model["smallest_margin"].iloc[0]
    changed = MARGIN.replace("margin = 0.3", f"margin = {least}")
    again = power_of(
        protocol(tmp_path, changed), rule(rates=rates, families=[80], copies=[2], icc=0.3, n_simulations=300)
    ).frame
    assert again["power"].iloc[1] == pytest.approx(0.8, abs=0.12)


def test_contrasts_that_share_alpha_have_less_power(tmp_path: Path) -> None:
    alone = power_of(protocol(tmp_path), rule()).frame["power"].iloc[0]
    shared = power_of(
        protocol(tmp_path, contrast("C2", where='{ condition = ["code", "direct"] }')), rule()
    ).frame
    assert shared["power"].iloc[0] <= alone
    assert "2 share alpha" in shared["method"].iloc[0]
    apart = protocol(tmp_path, contrast("C2") + '[multiplicity]\ncontrasts = ["C1"]\n')
    assert power_of(apart, rule()).frame["power"].iloc[0] == alone


def test_what_cannot_be_simulated_is_said_and_still_shares_alpha(tmp_path: Path) -> None:
    made = power_of(protocol(tmp_path, contrast("C2", estimand='"brier"')), rule())
    last = made.frame.iloc[-1]
    assert (last["contrast"], last["note"]) == ("C2", "not simulated: a brier does not follow from rates")
    assert "2 share alpha" in made.frame["method"].iloc[0]
    assert "not simulated" in repr(made)


def test_families_as_one_decision_and_flips(tmp_path: Path) -> None:
    more = contrast("C2", estimand='"fidelity"') + contrast("C3", estimand='"flips"')
    made = power_of(
        protocol(tmp_path, more), rule(rates={"default": FLAT["acc"]}, copies=[1, 2], n_simulations=200)
    )
    frame = made.frame.set_index(["contrast", "copies"])
    assert math.isnan(frame.loc[("C3", 1), "power"])
    assert frame.loc[("C3", 1), "note"] == "flips need at least 2 copies"
    assert frame.loc[("C3", 2), "power"] > 0
    assert "whole families" in frame.loc[("C2", 2), "note"]


def test_certain_rates_and_one_family(tmp_path: Path) -> None:
    sure = {"acc": {"m": {"direct": 1.0, "code": 1.0}}}
    frame = power_of(protocol(tmp_path), rule(rates=sure, families=[1, 8], n_simulations=100)).frame
    assert frame["power"].tolist() == [0.0, 0.0]
    assert frame["coverage"].tolist() == [1.0, 1.0]
    assert frame["mdd"].isna().tolist()[0]


def test_the_table_and_its_words(tmp_path: Path) -> None:
    made = power_of(protocol(tmp_path), rule(n_simulations=200))
    assert tuple(made.frame.columns) == COLUMNS
    [sentence] = made.sentences()
    assert sentence.startswith("C1 (code - direct): 60 families x 1 copy x 1 repeat: power 0.")
    assert "<table" in made._repr_html_()
    made.to_csv(tmp_path / "power.csv")
    assert pd.read_csv(tmp_path / "power.csv")["power"].item() == made.frame["power"].item()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rates": {"nothing": {"m": 0.5}}}, "names 'nothing', which is no estimand"),
        ({"rates": {"fidelity": FLAT["acc"]}}, r"'acc' has no rates; write \[power.rates.acc\]"),
        ({"rates": {"acc": {"m": 0.5}}}, "Write a table of the levels of 'condition'"),
        ({"rates": {"acc": {"m": {"direct": 0.5}}}}, "no level 'code'"),
        ({"factors": ["model"], "rates": {"acc": {"m": 0.5}}}, "compares levels of 'condition'"),
        ({"icc": 2.0}, "`icc` must lie in"),
        ({"families": []}, "`families` must list whole numbers"),
        ({"copies": [0]}, "`copies` must list whole numbers"),
        ({"n_simulations": 5}, "at least 100"),
        ({"target": 1.0}, "`target` must lie between"),
        ({"rates": {"acc": 0.5}}, "must hold a table for each estimand"),
    ],
)
def test_wrong_assumptions_are_refused(tmp_path: Path, change: dict, message: str) -> None:
    with pytest.raises(PairstatsError, match=message):
        power_of(protocol(tmp_path), rule(**change))


def test_nothing_assumed(tmp_path: Path) -> None:
    with pytest.raises(ProtocolError, match=r"no \[power\] section"):
        power_of(protocol(tmp_path))


def test_power_curve(tmp_path: Path) -> None:
    made = power_of(protocol(tmp_path), rule(families=[20, 40], copies=[1, 2], n_simulations=100))
    [ax] = power_curve(made.frame).axes
    assert ax.get_xlabel() == "families"
    curves = [line.get_ydata() for line in ax.lines[1:]]
    expected = [part["power"].tolist() for _, part in made.frame.groupby("copies")]
    assert [list(curve) for curve in curves] == expected
    assert {text.get_text() for text in ax.texts} == {"1 copy", "2 copies"}
    assert power_curve(made.frame, across="copies").axes[0].get_xlabel() == "copies"
    with pytest.raises(PairstatsError, match="at least one simulated contrast"):
        power_curve(made.frame.assign(power=math.nan))
    with pytest.raises(PairstatsError, match="needs the columns 'power_high'"):
        power_curve(made.frame.drop(columns="power_high"))
