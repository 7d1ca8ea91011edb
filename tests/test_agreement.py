"""Agreement coefficients against R (irr, irrCAC), statsmodels, published values, and direct formulas."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from conftest import reference

from pairstats.errors import PairstatsError
from pairstats.numeric import cohen_kappa, fleiss_kappa, flip_rate, gwet_ac1, krippendorff_alpha

STATISTICS = (fleiss_kappa, gwet_ac1, krippendorff_alpha)


@pytest.mark.parametrize("v", reference("agreement_flips", "krippendorff_alpha"))
def test_alpha_equals_r_and_the_published_value(v):
    found = krippendorff_alpha(v["inputs"]["units_by_coders"], level=v["inputs"]["level"])
    assert found.value == pytest.approx(v["expected"]["alpha"], abs=v["tolerance"])
    assert (found.n_units, found.n_single, found.n_missing) == (11, 1, 7)
    assert found.low < found.value < found.high


def equal_to_irrcac(found, value, v):
    e = v["expected"]
    assert found.value == pytest.approx(value, abs=v["tolerance"])
    assert (found.observed, found.expected) == pytest.approx((e["pa"], e["pe"]), abs=1e-12)
    assert found.linear_std_error == pytest.approx(e["se"], abs=v["tolerance"])


@pytest.mark.parametrize("v", reference("agreement_flips", "gwet_ac1"))
def test_ac1_with_missing_ratings_equals_irrcac(v):
    equal_to_irrcac(gwet_ac1(v["inputs"]["units_by_coders"]), v["expected"]["ac1"], v)


@pytest.mark.parametrize("v", reference("agreement_flips", "fleiss_kappa_with_missing"))
def test_fleiss_with_missing_ratings_equals_irrcac(v):
    equal_to_irrcac(fleiss_kappa(v["inputs"]["units_by_coders"]), v["expected"]["kappa"], v)


@pytest.mark.parametrize("v", reference("agreement_flips", "fleiss_kappa_diagnoses"))
def test_fleiss_equals_r_on_the_published_diagnoses(v):
    found = fleiss_kappa(v["inputs"]["units_by_coders"])
    assert found.value == pytest.approx(v["expected"]["kappa"], abs=v["tolerance"])
    assert round(found.value, 3) == 0.430  # Fleiss (1971)


@pytest.mark.parametrize("v", reference("agreement_flips", "binary_agreement", "flip_nominal"))
def test_copies_equal_r(v):
    rows, e = v["inputs"]["families_by_copies"], v["expected"]
    assert fleiss_kappa(rows).value == pytest.approx(e["fleiss_kappa"], abs=1e-9)
    found, kappa, n, k = krippendorff_alpha(rows), e["fleiss_kappa"], len(rows) * len(rows[0]), len(rows[0])
    assert found.value == pytest.approx(
        kappa + (1 - kappa) / n, abs=1e-9
    )  # Krippendorff (2004), complete data
    # Without a missing rating irr 0.84.1 does not divide its coincidences by k - 1, so that it takes
    # n (k - 1) for n; its value is right for k = 2 only.
    assert e["krippendorff_alpha"] == pytest.approx(kappa + (1 - kappa) / (n * (k - 1)), abs=1e-9)
    if "gwet_ac1" in e:
        assert gwet_ac1(rows).value == pytest.approx(e["gwet_ac1"], abs=v["tolerance"])
    assert 1 - fleiss_kappa(rows).observed == pytest.approx(flip_rate(rows).rate, abs=1e-12)


@pytest.mark.parametrize("v", reference("python_misc", "fleiss"))
def test_copies_equal_statsmodels(v):
    rows, e = v["inputs"]["units_by_coders"], v["expected"]
    assert fleiss_kappa(rows).value == pytest.approx(e["fleiss_kappa"], abs=v["tolerance"])
    assert krippendorff_alpha(rows).value == pytest.approx(e["krippendorff_alpha"], abs=v["tolerance"])
    # Randolph's kappa is agreement beyond even chance on the answers that could be given.
    assert 2 * fleiss_kappa(rows).observed - 1 == pytest.approx(e["randolph"], abs=v["tolerance"])


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_equals_its_definition_by_pairs(level):
    rng = np.random.default_rng(5)
    rows = [list(rng.choice([1.0, 2.0, 4.0, 5.0], size=rng.integers(2, 5))) for _ in range(15)]
    pooled = sorted(itertools.chain(*rows))
    count = {v: pooled.count(v) for v in set(pooled)}

    def apart(a, b):
        if level == "ordinal":
            a, b = min(a, b), max(a, b)
            return (sum(n for v, n in count.items() if a <= v <= b) - (count[a] + count[b]) / 2) ** 2
        return (a - b) ** 2 if level == "interval" else a != b

    observed = sum(
        sum(apart(a, b) for a, b in itertools.permutations(row, 2)) / (len(row) - 1) for row in rows
    )
    expected = sum(apart(a, b) for a, b in itertools.permutations(pooled, 2)) / (len(pooled) - 1)
    assert krippendorff_alpha(rows, level=level).value == pytest.approx(1 - observed / expected, abs=1e-12)


def test_cohen_equals_statsmodels():
    from statsmodels.stats.inter_rater import cohens_kappa

    table = np.array([[20, 5, 1], [4, 12, 3], [0, 2, 9]])
    first = np.repeat([0, 0, 0, 1, 1, 1, 2, 2, 2], table.ravel()).tolist()
    second = np.repeat([0, 1, 2] * 3, table.ravel()).tolist()
    found, expected = cohen_kappa(first, second), cohens_kappa(table)
    assert found.value == pytest.approx(expected.kappa, abs=1e-12)
    assert found.std_error == pytest.approx(expected.std_kappa, rel=0.05)  # jackknife against delta method


@pytest.mark.parametrize("statistic", STATISTICS)
def test_jackknife_leaves_whole_families_out(statistic):
    rng = np.random.default_rng(7)
    rows = rng.choice(list("AAB"), size=(24, 3)).tolist()
    names = [f"f{i // 3}" for i in range(24)]
    found = statistic(rows, families=names)
    without = [
        statistic([row for row, name in zip(rows, names, strict=True) if name != left]).value
        for left in dict.fromkeys(names)
    ]
    error = math.sqrt(7 / 8 * np.sum((np.array(without) - np.mean(without)) ** 2))
    assert found.std_error == pytest.approx(error, abs=1e-12)
    assert found.n_families == 8
    assert (found.low + found.high) / 2 == pytest.approx(found.value, abs=1e-12)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_names_and_order_do_not_matter(statistic):
    rng = np.random.default_rng(8)
    rows = rng.choice([1, 1, 2, 3], size=(20, 4)).tolist()
    renamed = [[{1: "x", 2: "a", 3: "m"}[a] for a in row[::-1]] for row in rows[::-1]]
    one, two = statistic(rows), statistic(renamed)
    assert (one.value, one.low, one.high) == pytest.approx((two.value, two.low, two.high), abs=1e-12)


def test_linear_error_is_near_the_jackknife_error():
    rng = np.random.default_rng(9)
    rows = rng.choice(list("AAB"), size=(60, 3)).tolist()
    for statistic in (fleiss_kappa, gwet_ac1):
        found = statistic(rows)
        assert found.linear_std_error == pytest.approx(found.std_error, rel=0.05)


def test_one_category_is_no_evidence_for_kappa_and_full_agreement_for_ac1():
    rows = [["A", "A"]] * 12
    for statistic in (fleiss_kappa, krippendorff_alpha):
        found = statistic(rows)
        assert math.isnan(found.value)
        assert (found.low, found.high) == (-1, 1)
    found = gwet_ac1(rows)
    assert (found.value, found.low, found.high) == (1, -1, 1)
    assert found.method == "jackknife-t, undefined"


def test_full_agreement_on_two_categories_has_no_estimable_error():
    found = fleiss_kappa([["A", "A"], ["B", "B"]] * 6)
    assert (found.value, found.low, found.high) == (1, -1, 1)
    assert math.isnan(found.std_error)


def test_one_family_has_no_limits():
    found = fleiss_kappa([["A", "B"], ["A", "A"]], families=["f", "f"])
    assert math.isfinite(found.value)
    assert (found.low, found.high, found.n_families) == (-1, 1, 1)


def test_more_possible_answers_lower_the_chance_term_of_ac1():
    rows = [["A", "A"], ["A", "B"], ["B", "B"], ["A", "A"]]
    assert gwet_ac1(rows, n_categories=4).expected == pytest.approx(gwet_ac1(rows).expected / 3)


def test_no_unit_with_two_ratings_is_undefined():
    for statistic in STATISTICS:
        assert math.isnan(statistic([["A"], ["B"]]).value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fleiss_kappa([]), "at least one family"),
        (lambda: fleiss_kappa([[None, None]]), "all are missing"),
        (lambda: gwet_ac1([["A", "B", "C"]], n_categories=2), "at least the 3 answers"),
        (lambda: krippendorff_alpha([["A", "B"]], level="interval"), "finite numbers"),
        (lambda: krippendorff_alpha([[1, 2]], level="ratio"), "ratio"),
        (lambda: krippendorff_alpha([[i, i + 1] for i in range(60)], level="ordinal"), "at most 50"),
        (lambda: cohen_kappa(["A"], ["A", "B"]), "same units"),
        (lambda: fleiss_kappa([["A", "B"]], families=["f", "g"]), "one entry for each"),
    ],
)
def test_refused_ratings(call, message):
    with pytest.raises(PairstatsError, match=message):
        call()
