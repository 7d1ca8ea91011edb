"""Findings in words say what the estimates say, and no more."""

from __future__ import annotations

import html

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic_results import HOSTILE, MODELS, cells, contrasts, counts, estimates, row

from pairstats import Mean, Pairwise, Panel, contrast
from pairstats.errors import PairstatsError, counted
from pairstats.shown import Scale, cell_names, contrast_names, meaning, p_words, plain, scale
from pairstats.words import about_missing, findings, in_parts


def rows_of(*limits: tuple[float, float, float]) -> pd.DataFrame:
    return pd.DataFrame(limits, columns=["estimate", "conf_low", "conf_high"])


class TestScale:
    @pytest.mark.parametrize(
        ("width", "digits"), [(0.5, 0), (0.1, 0), (0.09, 1), (0.018, 1), (0.009, 2), (0.0001, 3)]
    )
    def test_percent_keeps_two_digits_of_the_narrowest_interval(self, width, digits):
        assert scale(rows_of((0.5, 0.5, 0.5 + width)), percent=True).digits == digits

    def test_scores_have_three_decimals_as_in_tables(self):
        assert scale(rows_of((0.45, 0.37, 0.53)), percent=False).digits == 3
        assert scale(rows_of((0.45, 0.0, 1.0)), percent=False).digits == 3
        assert scale(rows_of((0.45, np.nan, np.nan)), percent=False).digits == 3

    def test_large_numbers_have_fewer(self):
        assert scale(rows_of((476.0, 400.0, 560.0)), percent=False).value(476.0) == "476"

    @given(st.floats(0, 1), st.floats(0.001, 1))
    def test_only_all_reads_as_all(self, value, width):
        shown = scale(rows_of((value, max(value - width, 0), min(value + width, 1))), percent=True)
        if 5e-7 < value < 1 - 5e-7:
            assert float(shown.number(value)) not in (0, 100) or shown.digits == 4

    def test_no_minus_zero(self):
        assert Scale(True, 0, difference=True).value(-0.001) == "0 points"
        assert Scale(True, 0, difference=True).value(0.001) == "0 points"

    def test_infinite_and_missing_limits(self):
        shown = Scale(False, 1)
        assert shown.interval({"conf_low": 1.0, "conf_high": np.inf}) == "[1.0, \N{INFINITY}]"
        assert shown.interval({"conf_low": None, "conf_high": None}) == ""
        assert shown.interval({"conf_low": None, "conf_high": 2.0}) == "[?, 2.0]"


class TestNames:
    def test_factors_that_do_not_tell_rows_apart_are_left_out(self):
        frame = pd.DataFrame({"run": ["1", "1"], "model": ["a", "b"]})
        assert cell_names(frame, ("run", "model")) == ["a", "b"]
        assert cell_names(frame.assign(run=["1", "2"]), ("run", "model")) == ["1 / a", "2 / b"]

    def test_one_cell_keeps_its_last_factor(self):
        assert cell_names(pd.DataFrame({"run": ["1"], "model": ["a"]}), ("run", "model")) == ["a"]

    def test_without_factors(self):
        assert cell_names(pd.DataFrame({"estimate": [0.5]}), ()) == ["all"]

    def test_numbers_and_labels(self):
        frame = pd.DataFrame({"dose": [0.0, 3.0, 6.5]})
        assert cell_names(frame, ("dose",), {"0": "none"}) == ["none", "3", "6.5"]

    def test_contrasts_name_their_cell_only_where_it_differs(self):
        frame = pd.DataFrame({"contrast": ["a - b", "a - b"], "run": ["1", "2"], "model": [None, None]})
        assert contrast_names(frame, ("run", "model")) == ["a - b (1)", "a - b (2)"]
        assert contrast_names(frame.head(1), ("run", "model")) == ["a - b"]

    def test_control_characters_cannot_reach_a_terminal(self):
        assert plain("a\x1b[31m\u202eb\n c") == "a\\x1b[31m\\u202eb c"

    def test_meaning_comes_from_labels_then_provenance_then_the_name(self):
        given_rows = cells()
        assert meaning(given_rows, "accuracy").label == "Share of replies that are right"
        assert meaning(given_rows, "accuracy", {"accuracy": "Right"}).label == "Right"
        assert meaning(given_rows, "accuracy", {"accuracy": {"percent": False}}).percent is False
        assert meaning(given_rows, "brier_score").label == "brier score"


class TestCells:
    def test_a_sentence_per_estimand(self):
        said = findings(cells())
        assert said == [
            "Share of replies that are right: 45 % [37, 53] for smollm2-terse-t0; 62 % [54, 70] for "
            "smollm2-2shot-t0; 78 % [70, 86] for smollm2-2shot-t1 "
            "(95 % family-jeffreys intervals; 60 families).",
            "A harmless reordering of the options flips the correctness of the answer in 43 % [31, 56] "
            "(smollm2-terse-t0); 33 % [21, 46] (smollm2-2shot-t0); 23 % [11, 36] (smollm2-2shot-t1) "
            "(95 % family-jeffreys intervals; 60 families).",
        ]

    def test_labels_rename(self):
        (said, _) = findings(cells(), labels={"accuracy": "Accuracy", MODELS[0]: "terse"})
        assert said.startswith("Accuracy: 45 % [37, 53] for terse;")

    def test_cells_without_results_are_named(self):
        said = findings(
            estimates(row("accuracy", "a", 0.5, 0.4, 0.6), row("accuracy", "b", None, n_families=0))
        )
        assert "no results for b" in said[0]
        assert "60 families" in said[0]
        assert "0 to 60" not in said[0]

    def test_nothing_known(self):
        assert findings(estimates(row("accuracy", "a", None))) == [
            "Share of replies that are right: no results."
        ]

    def test_many_cells_give_the_range(self):
        rows = [row("accuracy", f"m{k:02}", k / 20, k / 20 - 0.05, k / 20 + 0.06) for k in range(1, 13)]
        (said,) = findings(estimates(*rows))
        assert "lowest and highest of 12: 5 % [0, 11] for m01; 60 % [55, 66] for m12" in said

    def test_empty(self):
        assert findings(estimates()) == []


class TestContrasts:
    def test_detected_and_not_detected_are_told_apart(self):
        found, missed = findings(contrasts())
        assert "difference detected in 1 of 3 comparisons at 0.05" in found
        assert "smollm2-terse-t0 - smollm2-2shot-t0: -17 points [-25, -9], adjusted p = 0.001" in found
        assert "difference not detected in 2 of 3 comparisons at 0.05" in missed
        assert "differences from -10 to +10 points are not ruled out" in missed

    def test_never_the_same(self):
        said = " ".join(findings(contrasts())).lower()
        assert not any(word in said for word in ("same", "equal", "no difference", "no effect", "identical"))

    def test_the_test_decides_not_the_interval(self):
        found = findings(estimates(row("accuracy", None, 0.1, 0.01, 0.2, contrast="a - b", p_value=0.06)))
        assert "not detected in 1 of 1 comparison at 0.05" in found[0]

    def test_it_is_said_where_test_and_interval_disagree(self):
        both = {"contrast": "a - b", "p_value": 0.06}
        remark = "(interval and test disagree: the test decides)"
        assert remark in findings(estimates(row("accuracy", None, 0.1, 0.01, 0.2, **both)))[0]
        assert remark not in findings(estimates(row("accuracy", None, 0.1, -0.01, 0.2, **both)))[0]
        both["p_value"] = 0.04
        assert remark in findings(estimates(row("accuracy", None, 0.1, -0.01, 0.2, **both)))[0]
        assert remark not in findings(estimates(row("accuracy", None, 0.1, 0.01, 0.2, **both)))[0]
        assert remark not in findings(estimates(row("accuracy", None, 0.1, 0.01, 0.2, contrast="a - b")))[0]

    def test_a_claim_says_it_once(self):
        remark = "interval and test disagree: the test decides"
        claim = {"contrast": "a - b", "claim": "superiority", "verdict": "inconclusive", "p_value": 0.06}
        for note in (None, remark, f"{remark}; 12 families"):
            [said] = findings(estimates(row("accuracy", None, 0.1, 0.01, 0.2, note=note, **claim)))
            assert said.count(remark) == 1

    def test_a_paired_row_of_real_data_says_it(self):
        # 5 of 20 families differ, all one way: p = 2 / 2**5, while the interval excludes 0
        frame = pd.DataFrame([
            {"family": f"f{i}", "item": f"q{i}", "model": m, "score": float(m == "a" or i >= 5)}
            for m in "ab" for i in range(20)
        ])  # fmt: skip
        found = contrast(Panel(frame), Mean(), Pairwise("model"))
        assert next(iter(found))["p_value"] == 0.0625
        assert next(iter(found))["conf_low"] > 0
        assert "interval and test disagree: the test decides" in next(iter(found))["note"]
        assert "(interval and test disagree: the test decides)" in findings(found)[0]

    def test_an_interval_that_the_adjustment_outweighs(self):
        rows = row("accuracy", None, 0.1, 0.01, 0.2, contrast="a - b", p_value=0.03, p_adjusted=0.09)
        assert "for this comparison alone: the adjusted p decides" in findings(estimates(rows))[0]

    def test_the_adjusted_p_decides(self):
        rows = row("accuracy", None, 0.1, 0.01, 0.2, contrast="a - b", p_value=0.03, p_adjusted=0.09)
        assert "not detected" in findings(estimates(rows))[0]

    def test_alpha(self):
        assert "at 0.0001" in findings(contrasts(), alpha=0.0001)[0]
        assert "detected in 1 of 3 comparisons at 0.9999" in findings(contrasts(), alpha=0.9999)[0]

    def test_clearest_first_and_the_rest_counted(self):
        rows = [
            row("accuracy", None, 0.2, 0.1, 0.3, contrast=f"a - b{k}", p_value=0.04 - k / 1000)
            for k in range(7)
        ]
        (said,) = findings(estimates(*rows))
        assert said.index("a - b6") < said.index("a - b5") < said.index("a - b4")
        assert "a - b3" not in said
        assert "and 4 more" in said

    def test_untested_and_not_estimable(self):
        rows = (
            row("accuracy", None, 0.1, 0.0, 0.2, contrast="a - b"),
            row(
                "accuracy", None, None, contrast="a - c", note="no results: no unit is answered on both sides"
            ),
        )
        untested, lost = findings(estimates(*rows))
        assert "not tested in 1 of 2 comparisons: a - b: +10 points [0, +20]" in untested
        assert "not estimable in 1 of 2 comparisons: a - c (no results: no unit" in lost

    def test_verdicts_are_given_as_they_are(self):
        claim = {
            "contrast": "a - b",
            "claim": "equivalence",
            "margin": 0.05,
            "verdict": "inconclusive",
            "p_value": 0.4,
        }
        said = findings(estimates(row("accuracy", None, 0.0, -0.06, 0.06, **claim)))
        assert "a - b: INCONCLUSIVE (claim: equivalence within a margin of 5 points)" in said[0]

    def test_unregistered_stand_apart_only_beside_registered(self):
        one = row("accuracy", None, 0.1, 0.0, 0.2, contrast="a - b", p_value=0.5, registered=True)
        two = row("accuracy", None, 0.1, 0.0, 0.2, contrast="a - c", p_value=0.5, registered=False)
        said = findings(estimates(one, two))
        assert ["exploratory, not registered" in each for each in said] == [False, True]
        assert "exploratory" not in " ".join(findings(estimates(two)))

    def test_p_at_a_monte_carlo_floor_is_a_bound(self):
        at_floor = {"p_value": 1e-4, "p_adjusted": None, "p_floor": 1e-4}
        assert p_words({**at_floor, "note": "p by label swap by family (Monte Carlo)"}) == "p <= 1.0e-04"
        assert p_words({**at_floor, "note": None}) == "p = 1.0e-04"


class TestMissing:
    def test_counts_add_up(self):
        assert about_missing(counts()) == (
            "480 of 540 planned replies were answered; 60 were not: 27 unparsed, 3 truncated, 24 errors, "
            "6 never run; least complete: smollm2-2shot-t1, 144 of 180; reasons: rate_limit 20, server_error 4."
        )

    def test_all_answered(self):
        assert about_missing(counts().head(1)) == "All 180 planned replies were answered."

    def test_reasons_of_another_form_are_kept(self):
        frame = counts().assign(reasons=["", "quota, daily", "unparsed: 3, a: b: 2"])
        assert about_missing(frame).endswith("; reasons: a: b 2, quota, daily.")

    def test_reasons_are_not_added_to_one_status(self):
        frame = pd.DataFrame({
            "planned": [100], "answered": [52], "truncated": [1], "error": [47],
            "reasons": ["rate_limit: 40, server_error: 7, max_tokens: 1"],
        })  # fmt: skip
        assert about_missing(frame) == (
            "52 of 100 planned replies were answered; 48 were not: 1 truncated, 47 errors; "
            "reasons: rate_limit 40, server_error 7, max_tokens 1."
        )

    @pytest.mark.parametrize(
        ("planned", "answered", "said"),
        [
            (0, 0, "No reply was planned."),
            (1, 1, "The one planned reply was answered."),
            (2, 2, "All 2 planned replies were answered."),
            (2, 1, "1 of 2 planned replies was answered; 1 was not: 1 error."),
            (1, 0, "0 of 1 planned reply was answered; 1 was not: 1 error."),
            (3, 1, "1 of 3 planned replies was answered; 2 were not: 2 errors."),
        ],
    )
    def test_one_is_singular(self, planned, answered, said):
        frame = pd.DataFrame({"planned": [planned], "answered": [answered], "error": [planned - answered]})
        assert about_missing(frame) == said

    def test_it_ends_the_findings(self):
        assert findings(cells(), completeness=counts())[-1] == about_missing(counts())

    def test_needs_its_columns(self):
        with pytest.raises(PairstatsError, match="'answered'"):
            about_missing(counts().drop(columns="answered"))


def test_hostile_names_stay_on_one_line_and_can_be_escaped():
    said = findings(cells(HOSTILE)) + findings(contrasts(HOSTILE))
    assert all("\n" not in each for each in said)
    assert "<script>" in said[0]
    assert "<script>" not in html.escape(said[0])


def test_parts_make_the_sentences():
    assert [str(part) for part in in_parts(cells())] == findings(cells())


def test_counts_agree_with_their_nouns():
    one = estimates(row("accuracy", "a", 0.5, 0.4, 0.6, n_families=1))
    assert "; 1 family)" in findings(one)[0]
    assert [counted(1, noun) for noun in ("copy", "family", "reply")] == ["1 copy", "1 family", "1 reply"]
    assert counted(2, "day") == "2 days"
