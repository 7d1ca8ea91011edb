"""The study fairscreen: the write-up's numbers from raw vLLM and Kaggle files, by other paths too."""

from __future__ import annotations

import gzip
import json
import re
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, SHARED, needs_shared
from scipy.stats import binomtest

import pairstats as ps
from pairstats.report import execute_notebook, read_notebook

HOME = ROOT / "analyses" / "fairscreen"
RECORDS = ROOT / "records" / "fairscreen"

BIG, SMALL, QWEN, GLM = "gpt-oss-120b", "gpt-oss-20b", "qwen3-32b", "glm-5.3-flash"
GEMINI, GEMMA = "gemini-3.7-flash", "gemma-4-31b"
MODELS = 6
# Percent of families with all eight decisions right, as printed.
ROBUST = {
    ("kaggle", "panel", "direct", GEMINI): 100,
    ("kaggle", "panel", "direct", GEMMA): 100,
    ("kaggle", "panel", "direct", BIG): 63,
    ("cluster", "panel", "direct", BIG): 98,
    ("cluster", "panel", "direct", SMALL): 96,
    ("cluster", "panel", "direct", QWEN): 39,
    ("cluster", "exploratory", "direct", QWEN): 98,
    ("soclaas", "exploratory", "direct", GLM): 98,
    ("soclaas", "exploratory", "fairness", GLM): 93,
}
# Contrasts with the direct decision in points, pooled over the six models: estimate and interval, as printed.
POOLED = {"fairness": (-0.3, -1.2, 0.6), "extraction": (20.5, 18.1, 22.8)}


def half_up(value: float, digits: int = 0) -> float:
    """Round as the write-up does: 62.5 is 63."""
    return float(Decimal(f"{value:.10f}").quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> ps.Results:
    folder = tmp_path_factory.mktemp("fairscreen")
    return ps.run_protocol(
        HOME / "protocol.toml", folder / "results", report=False, figures=folder / "figures"
    )


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    frame = ps.load_records(RECORDS / "records.parquet").frame
    texts = [name for name in frame.columns if isinstance(frame[name].dtype, pd.CategoricalDtype)]
    return frame.astype(dict.fromkeys(texts, object))


@pytest.fixture(scope="module")
def items() -> pd.DataFrame:
    lines = gzip.decompress((RECORDS / "items.jsonl.gz").read_bytes()).decode().splitlines()
    return pd.DataFrame([json.loads(line) for line in lines])


def table(results: ps.Results, name: str) -> pd.DataFrame:
    found = results.tables[name]
    return found if isinstance(found, pd.DataFrame) else found.frame


def one(frame: pd.DataFrame, **equal: str) -> pd.Series:
    """The one row with these values."""
    for name, level in equal.items():
        frame = frame[frame[name] == level]
    assert len(frame) == 1, equal
    return frame.iloc[0]


def contrast(results: ps.Results, name: str) -> pd.Series:
    [place] = results.provenance["contrasts"][name]["rows"]
    return pd.read_parquet(results.folder / "estimates.parquet").iloc[place]


def core(rows: pd.DataFrame, **equal: str) -> pd.DataFrame:
    found = rows[rows["category"] == "core"]
    for name, level in equal.items():
        found = found[found[name] == level]
    return found


class TestPublishedNumbers:
    @pytest.mark.parametrize("cell", ROBUST, ids="-".join)
    def test_robust_policy_fidelity(self, results, cell):
        names = dict(zip(("platform", "run", "condition", "model"), cell, strict=True))
        row = one(table(results, "printed"), **names)
        assert half_up(100 * row["estimate"]) == ROBUST[cell]
        assert row["n_families"] == (48 if cell[0] == "kaggle" else 192)
        assert row["n_missing"] == 0

    def test_30_of_48_is_printed_as_63_by_the_rounding_half_up(self, results):
        row = one(table(results, "printed"), platform="kaggle", model=BIG)
        assert row["estimate"] * 48 == pytest.approx(30)
        assert Decimal("62.5").quantize(Decimal(1), ROUND_HALF_EVEN) == 62  # the other rule would print this
        assert half_up(62.5) == 63

    @pytest.mark.parametrize("condition", POOLED)
    def test_contrasts_pooled_over_six_models(self, results, condition):
        row = one(table(results, "pooled"), contrast=f"{condition} - direct")
        found = [half_up(100 * row[name], 1) for name in ("estimate", "conf_low", "conf_high")]
        assert found == list(POOLED[condition])
        assert row["method"] == "percentile"
        assert row["n_families"] == 192

    def test_c1_is_equivalent_within_its_margin(self, results):
        row = contrast(results, "C1")
        assert (row["verdict"], row["margin"]) == ("equivalent", 0.03)
        assert half_up(100 * row["estimate"], 1) == -0.3
        assert -0.03 < row["conf_low"] < -0.012  # wider than the bootstrap, inside the margin
        assert 0.006 < row["conf_high"] < 0.03
        assert "thinking off" in row["note"]

    def test_c2_is_superior_with_the_printed_interval(self, results):
        row = contrast(results, "C2")
        assert row["verdict"] == "superior"
        found = [half_up(100 * row[name], 1) for name in ("estimate", "conf_low", "conf_high")]
        assert found == [20.5, 18.1, 22.8]
        assert row["p_value"] < 1 / 2000
        assert "thinking off" in row["note"]

    def test_swaps(self, results):
        swaps = table(results, "swaps").set_index("category")
        assert [half_up(100 * swaps.loc[name, "estimate"], 1) for name in ("core", "control")] == [2.6, 2.2]
        assert swaps.loc["core", ["n_families", "n_units", "n_missing"]].tolist() == [192, 4608, 0]
        assert swaps.loc["control", ["n_families", "n_units", "n_missing"]].tolist() == [96, 2295, 9]

    def test_swaps_of_identity_are_not_worse_than_those_within_a_group(self, results):
        row = contrast(results, "swaps")
        assert row["contrast"] == "same_group_swap - identity_swap"
        assert half_up(100 * row["estimate"], 1) == -0.4
        assert row["verdict"] == "noninferior"
        assert -0.03 < row["conf_low"] < row["estimate"] < row["conf_high"]
        assert "not paired" in row["note"]

    def test_cost_of_thinking(self, results):
        tokens = table(results, "tokens").set_index("estimand")["estimate"]
        assert (tokens["median_first"], tokens["median_second"]) == (476, 12)
        assert half_up(tokens["ratio_of_medians"]) == 40

    def test_platforms_on_the_same_families(self, results):
        row = contrast(results, "platforms")
        assert row["n_families"] == 48
        assert row["estimate"] * 48 == pytest.approx(30 - 47)
        assert half_up(100 * 47 / 48) == 98
        assert row["verdict"] == "inferior"
        assert "cut off in the middle of a word" in row["note"]

    def test_gold_check_and_degenerate_baselines(self, results):
        check = table(results, "gold_check").iloc[0]
        assert (check["estimate"], check["n_units"]) == (1.0, 2528)
        baselines = table(results, "baselines").set_index("model")
        constant = baselines[baselines.index.str.startswith("always")]
        assert sorted(constant.index) == [
            "always DOES_NOT_MEET",
            "always INSUFFICIENT_EVIDENCE",
            "always MEETS",
        ]
        assert (constant["estimate"] == 0).all()

    def test_exact_bounds_where_every_family_passes(self, results):
        printed = table(results, "printed")
        kaggle = one(printed, platform="kaggle", model=GEMINI)
        parser = table(results, "baselines").set_index("model").loc["text parser"]
        for row, n, shown in ((kaggle, 48, 0.926), (parser, 192, 0.981)):
            exact = binomtest(n, n).proportion_ci(0.95, "exact").low
            assert row["conf_low"] == pytest.approx(exact, abs=1e-6)
            assert (half_up(row["conf_low"], 3), row["conf_high"]) == (shown, 1.0)
            assert row["method"] == "family-cp"
            assert "every resample gives one value" in row["note"]

    def test_exploratory_results_are_apart(self, results):
        main = results.estimates.frame
        assert not main["run"].eq("exploratory").any()
        assert not main["registered"].any()
        apart = pd.read_parquet(results.folder / "exploratory" / "estimates.parquet")
        assert not apart["registered"].any()
        cells = apart[apart["estimand"].eq("robust_any") & apart["contrast"].isna()]
        found = {(r.run, r.condition, r.model): half_up(100 * r.estimate) for r in cells.itertuples()}
        assert found["exploratory", "direct", QWEN] == 98
        assert found["panel", "direct", QWEN] == 39
        assert (found["exploratory", "direct", GLM], found["exploratory", "fairness", GLM]) == (98, 93)

    def test_design(self, rows, items):
        assert items.groupby("suite")["family"].nunique().to_dict() == {
            "core": 192,
            "control": 96,
            "missing": 56,
        }
        assert len(items) == 2528
        assert (items[items["suite"] != "missing"].groupby("family").size() == 8).all()
        assert items[items["shared"] == "yes"]["family"].nunique() == 48
        panel = core(rows, run="panel").groupby(["platform", "condition"])["model"].nunique()
        assert panel.to_dict() == {
            ("cluster", "direct"): 6,
            ("cluster", "extraction"): 6,
            ("cluster", "fairness"): 6,
            ("kaggle", "direct"): 5,
        }

    @needs_shared
    def test_shared_ranges(self, results):
        published = pd.read_csv(SHARED / "published/fairscreen_published.csv").dropna(subset="k_min")
        names = {
            "Gemini 3.7 Flash": GEMINI,
            "Gemma 4 31B": GEMMA,
            "GLM 5.3 Flash": GLM,
            "Qwen3-32B thinking on": QWEN,
            "Qwen3-32B thinking off": QWEN,
        }
        printed, checked = table(results, "printed"), 0
        for row in published.itertuples():
            part = printed[printed["model"] == names.get(row.model, row.model)]
            part = part[part["condition"] == ("fairness" if row.measure.startswith("fairness") else "direct")]
            if row.panel == "cluster, same 48 families":
                assert row.k_min == round(30 - 48 * contrast(results, "platforms")["estimate"]) == row.k_max
                checked += 1
                continue
            run = "exploratory" if "exploratory" in row.panel else "panel"
            platform = {"kaggle": "kaggle", "SoCLaaS": "soclaas"}.get(row.panel.split()[0], "cluster")
            found = one(part, run=run, platform=platform)
            assert row.k_min <= round(found["estimate"] * row.n_families) <= row.k_max
            checked += 1
        assert checked == 10


class TestWhatItClaims:
    def test_changes_when_it_must_and_stays_otherwise(self, results):
        """The two parts of robustness, apart: each model fails in the first more often than in the second."""
        change = table(results, "change")
        direct = change[change["condition"] == "direct"].pivot(
            index="model", columns="estimand", values="estimate"
        )
        assert (direct["necessary_change"] <= 1).all()
        assert direct.loc[QWEN, "necessary_change"] < 0.7 < direct.loc[BIG, "necessary_change"]
        assert (direct["identity_swap"] < 0.06).all()
        presentations = table(results, "presentations")
        assert set(presentations["presentation"]) == {"plain", "changed"}
        assert presentations["estimate"].notna().all()

    def test_errors_have_a_direction(self, results):
        shares = table(results, "directions")
        direct = shares[(shares["condition"] == "direct") & (shares["platform"] == "cluster")]
        wide = direct.pivot(index="model", columns="estimand", values="estimate")
        assert np.allclose(wide.sum(axis=1), 1)
        worst = wide.drop(columns="right").idxmax(axis=1)
        assert worst[[QWEN, "unnamed-1", "unnamed-2"]].tolist() == ["too_strict", "too_lenient", "evasive"]

    def test_the_gain_is_for_models_that_contradict_themselves(self, results):
        same = table(results, "contradictions").query("estimand == 'same_answer'").set_index("model")
        gain = (
            table(results, "by_model")
            .query("contrast == 'extraction - direct'")
            .set_index("model")["estimate"]
        )
        assert len(gain) == MODELS
        assert (gain[[BIG, SMALL]] < 0.03).all()
        assert (same.loc[[BIG, SMALL], "estimate"] > 0.97).all()
        assert gain.idxmax() == same["estimate"].idxmin() == QWEN
        apart = pd.read_parquet(results.folder / "exploratory" / "estimates.parquet")
        [interaction] = apart[apart["contrast"].str.contains("gpt-oss-120b", na=False)]["p_value"]
        assert interaction < 0.001

    def test_harm_where_evidence_is_missing_is_shown_apart(self, results, rows):
        row = contrast(results, "partial")
        assert row["estimate"] < 0
        assert row["verdict"] == "inferior"
        part = rows[(rows["qualification"] == "partial") & (rows["condition"] == "extraction")]
        harmed = part[part["answer"] != "INSUFFICIENT_EVIDENCE"]
        assert len(harmed) > 50
        assert not harmed["response"].str.contains("unknown|null|not stated").any()  # a part was recorded

    def test_replies_cut_off_by_the_host_are_named(self, results, rows):
        cut = rows[rows["reason"] == "host_cutoff"]
        assert set(cut["model"]) == {BIG}
        assert set(cut["platform"]) == {"kaggle"}
        assert (cut["status"] == "truncated").all()
        assert cut["family"].nunique() == 18
        assert cut["response"].str.contains(r"[a-z]$").all()
        assert cut["status_as_run"].eq("answered").all()  # the platform stores no finish reason
        counts = results.completeness.set_index(["platform", "run", "condition", "model"])
        assert counts.loc[("kaggle", "panel", "direct", BIG), "truncated"] == len(cut) == 58
        assert counts.loc[("kaggle", "panel", "direct", BIG), "reasons"] == "host_cutoff: 58"

    def test_without_the_cut_replies_the_platforms_do_not_differ(self, results):
        frame = pd.read_parquet(results.folder / "sensitivity.parquet")
        row = one(frame, question="platforms", analysis="replies without a decision left out")
        assert row["n_families"] == 30
        assert abs(row["estimate"]) < 0.05

    def test_c1_and_c2_stand_without_the_model_that_deviates(self, results):
        frame = pd.read_parquet(results.folder / "sensitivity.parquet")
        part = frame[frame["analysis"] == "without the model that deviates"].set_index("question")
        assert part.loc["C1", "verdict"] == "equivalent"
        assert part.loc["C2", "verdict"] == "superior"
        assert part.loc["C2", "estimate"] == pytest.approx((236 - 101) / (192 * 5))

    def test_failed_calls_are_coverage(self, results):
        counts = results.completeness.set_index(["platform", "run", "condition", "model"])
        assert counts.loc[("kaggle", "panel", "direct", "unnamed-5"), "reasons"] == "rate_limit: 7"
        assert counts["error"].sum() == 16
        assert counts.loc["cluster", "error"].sum() == 9
        left_out = pd.read_parquet(results.folder / "left_out.parquet")
        assert (left_out["reason"] == "superseded attempt").sum() > 50  # calls that were sent again

    def test_deviations_are_listed(self, results):
        listed = " ".join(results.provenance["deviations"])
        assert listed.count("thinking off") == 2
        assert "contrast platforms" in listed


class TestAgainstOtherPaths:
    def test_every_number_by_the_second_path(self, results):
        """The analysis of the write-up had an independent recomputation; so has this one."""
        found = ps.verify_results(results.folder)
        assert [check.name for check in found.checks if check.differences] == []
        assert len(found.checks) > 20

    def test_robust_families_counted_in_raw_files(self, items):
        """Direct replies read with json and one pattern; no reader, no scorer."""
        gold = items.set_index("item")["gold"]
        words = re.compile(r"DOES[ _]NOT[ _]MEET|INSUFFICIENT[ _]EVIDENCE|MEETS", re.IGNORECASE)
        expected = {BIG: 188, SMALL: 184, QWEN: 75}
        for model, right in expected.items():
            path = RECORDS / "raw" / "cluster" / model / "direct.jsonl.gz"
            decided = {}
            for line in gzip.decompress(path.read_bytes()).decode().splitlines():
                reply = json.loads(line)
                if reply["error"] is None:
                    said = words.findall(reply["response"]["body"]["choices"][0]["message"]["content"])
                    decided[reply["custom_id"]] = said[-1].upper().replace(" ", "_") if len(said) == 1 else ""
            wrong = {item.rpartition("-")[0] for item, said in decided.items() if said != gold[item]}
            families = {item.rpartition("-")[0] for item in decided if item.startswith(("both-", "core-"))}
            assert len(families - wrong) == right

    def test_30_of_48_counted_in_the_run_file(self, items):
        """By the task's own verdicts."""
        [path] = (RECORDS / "raw" / "kaggle").glob(f"*/1/{BIG}/*/*.run.json.gz")
        run = json.loads(gzip.decompress(path.read_bytes()))
        right: dict[str, list[bool]] = {}
        for subrun in run["subruns"]:
            mark = subrun["results"][0]["dictResult"]
            right.setdefault(mark["item"].rpartition("-")[0], []).append(mark["right"])
        assert [len(each) for each in right.values()] == [8] * 48
        assert sum(all(each) for each in right.values()) == 30
        assert run["results"][0]["numericResult"]["value"] == 0.625

    @pytest.mark.parametrize("condition", POOLED)
    def test_2000_resamples_of_families(self, rows, condition):
        """The printed convention; families move together in all models. No draw is at or beyond 0 for C2."""
        part = core(rows, platform="cluster", run="panel")
        passed = part.groupby(["condition", "model", "family"])["score"].min().unstack("family")
        gains = (passed.loc[condition] - passed.loc["direct"]).mean().to_numpy()
        draws = np.random.default_rng(1).choice(gains, (2000, 192)).mean(axis=1)
        low, high = np.quantile(draws, [0.025, 0.975])
        _, printed_low, printed_high = POOLED[condition]
        assert [100 * low, 100 * high] == pytest.approx([printed_low, printed_high], abs=0.25)
        beyond = 2 * min((draws <= 0).sum(), (draws >= 0).sum())
        p = ps.numeric.mc_p_value(int(beyond), 2000).p_value
        if condition == "extraction":
            assert beyond == 0  # a saved p of 0 ...
            assert p == pytest.approx(1 / 2001)  # ... is below 1 in 2,000
            assert p < 1 / 2000
        else:
            assert p > 0.3

    def test_swap_rates_by_counting_pairs(self, rows):
        part = rows[
            (rows["platform"] == "cluster") & (rows["run"] == "panel") & (rows["condition"] == "direct")
        ]
        part = part[part["status"] != "error"]
        keys = ["model", "family", "qualification", "presentation"]
        counts = {}
        for suite in ("core", "control"):
            wide = part[part["category"] == suite].assign(said=lambda f: f["answer"].fillna("nothing"))
            wide = wide.pivot(index=keys, columns="identity", values="said").dropna()
            counts[suite] = (int((wide["a"] != wide["b"]).sum()), len(wide))
        assert counts == {"core": (120, 4608), "control": (50, 2295)}

    def test_platforms_by_exact_mcnemar(self, results, rows):
        part = core(rows, run="panel", condition="direct", model=BIG, shared="yes")
        wide = part.groupby(["platform", "family"])["score"].min().unstack("platform")
        only = int((wide["cluster"] > wide["kaggle"]).sum()), int((wide["cluster"] < wide["kaggle"]).sum())
        assert (wide["cluster"].sum(), wide["kaggle"].sum()) == (47, 30)
        row = contrast(results, "platforms")
        assert (row["n_second_only"], row["n_first_only"]) == only
        assert row["p_value"] == pytest.approx(binomtest(only[0], sum(only)).pvalue)

    def test_medians_of_tokens(self, rows):
        part = core(rows, model=QWEN, condition="direct", platform="cluster")
        assert part.groupby("run")["output_tokens"].median().to_dict() == {"exploratory": 476, "panel": 12}


class TestRecords:
    def test_parquet_is_what_the_protocol_reads(self, results, rows):
        by = ["platform", "run", "condition", "model", "item"]
        columns = [*by, "status", "reason", "answer", "score", "outcome", "output_tokens"]
        fresh = ps.load_records(Path(results.folder) / "records.parquet").frame
        assert list(rows.columns) == list(fresh.columns)
        ours, theirs = (f[columns].astype(object).sort_values(by, ignore_index=True) for f in (rows, fresh))
        pd.testing.assert_frame_equal(ours, theirs)


class TestFigures:
    NAMES = ("robust", "contrasts", "change", "directions", "partial", "platforms", "tokens")

    @pytest.mark.parametrize("name", NAMES)
    def test_committed_and_drawn_from_these_numbers(self, results, name):
        folder = ROOT / "figures" / "fairscreen"
        assert (folder / f"{name}.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        committed = pd.read_csv(folder / f"{name}.csv")
        drawn = pd.read_csv(Path(results.folder).parent / "figures" / f"{name}.csv")
        pd.testing.assert_frame_equal(committed, drawn, rtol=1e-9)

    def test_numbers_of_the_heat_map(self):
        frame = pd.read_csv(ROOT / "figures/fairscreen/robust.csv").set_index(["model", "condition"])[
            "estimate"
        ]
        assert (frame[BIG, "direct"], frame[QWEN, "direct"]) == (188 / 192, 75 / 192)


class TestArticle:
    def test_every_number_is_filled_from_the_results(self, results):
        filled = ps.fill_article(HOME / "article.md", results, rounding="half-up")
        text = " ".join(filled.text.split())
        for words in (
            "gpt-oss-120b 98 %, gpt-oss-20b 96 %, Qwen3-32B 39 %",
            "Gemini 3.7 Flash 100 % of 48 families (at least 92.6 %), Gemma 4 31B 100 %, gpt-oss-120b 63 %",
            "identity changed 2.6 % of the decisions, a swap within one group 2.2 %",
            "-0.3 points [-1.2, +0.6]",
            "+20.5 points [+18.1, +22.8]",
            "thinking on 98 %; median output tokens 476 and 12, about 40 times",
            "GLM 5.3 Flash 98 % and with the instruction 93 %",
            "the key of 2,528 decisions (100 %)",
            "one answer scores 0",
        ):
            assert words in text, words

    def test_the_other_rounding_prints_62(self, results):
        filled: Any = ps.fill_article(HOME / "article.md", results, rounding="half-even")
        assert "gpt-oss-120b 62 %" in " ".join(filled.text.split())


@pytest.fixture(scope="module")
def notebook() -> Any:
    path = ROOT / "notebooks" / "fairscreen.ipynb"
    return execute_notebook(read_notebook(path), folder=path.parent, name=path.name)


def shown(notebook: Any, source: str) -> str:
    """All text that the cell with a piece of source shows."""
    [cell] = [c for c in notebook.cells if c.cell_type == "code" and source in c.source]
    texts = [o.get("text", "") + "".join(map(str, o.get("data", {}).values())) for o in cell.outputs]
    return re.sub(r"<[^>]+>|\s+", " ", " ".join(texts))


class TestNotebook:
    """notebooks/fairscreen.ipynb runs from a clean start and shows the numbers of the write-up."""

    def test_nothing_on_stderr(self, notebook):
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        assert outputs
        assert [output.text for output in outputs if output.get("name") == "stderr"] == []

    def test_coverage(self, notebook):
        assert "host_cutoff: 58" in shown(notebook, "coverage = everything.completeness()")

    def test_robust_fidelity(self, notebook):
        text = shown(notebook, "robust = ps.AllCorrect")
        assert re.search(r"gemini-3\.7-flash +1\.000 +\[0\.926, 1\.000\]", text)
        assert re.search(r"qwen3-32b +0\.391", text)

    def test_constant_screeners_score_zero(self, notebook):
        assert re.search(r"robust fidelity +always MEETS +0\.000", shown(notebook, "always = ps.Panel"))

    def test_contrasts(self, notebook):
        text = shown(notebook, "pooled = ps.contrast")
        assert re.search(r"extraction - direct +robust fidelity +0\.205 +\[0\.181, 0\.228\]", text)
        assert re.search(r"fairness - direct +robust fidelity +-0\.003 +\[-0\.012, 0\.006\]", text)

    def test_swaps_and_tokens(self, notebook):
        assert re.search(r"control +0\.022 .*core +0\.026", shown(notebook, "swap = ps.FlipRate"))
        assert re.search(r"ratio_of_medians +39\.667", shown(notebook, "ps.usage("))
