"""Odd arguments of public functions: every one is an error of ours that names it, and says what there is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

import pairstats as ps
from pairstats.arguments import described, fits
from pairstats.errors import PairstatsError
from pairstats.estimands import Estimand
from pairstats.intervals import IntervalKind

NAN = float("nan")
ROWS = pd.DataFrame([
    {"family": f"f{i // 2}", "item": f"q{i}", "model": m, "variant": "ab"[i % 2], "note": f"n{i}", "part": 0.5,
     "score": float((i * 7 + len(m) * 3) % 5 > 1), "confidence": 0.5 + (i % 5) / 10, "said": 0.9 - (i % 4) / 10,
     "answer": "a"}
    for i in range(20) for m in ("a", "bb")
])  # fmt: skip
PANEL = ps.Panel(ROWS)
SCORE, MODELS = ps.Mean("score"), ps.Pairwise("model")
NO_NUMBERS: tuple[Any, ...] = (NAN, -1, 0, 1, 2, float("inf"), True, "0.5", None, [0.5], {})
NO_COUNTS: tuple[Any, ...] = (0, -1, 1.5, NAN, float("inf"), True, "2", [2])


def planned(**words: Any) -> Any:
    return ps.families_plan(PANEL, MODELS, **words)


def corrected(**words: Any) -> Any:
    return ps.corrected(PANEL, SCORE, **({"sensitivity": 0.9, "specificity": 0.9} | words))


def judged(**words: Any) -> Any:
    return ps.judge_verdicts(PANEL, **({"systems": ("a", "b")} | words))


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize(
    ("name", "ask"),
    [
        ("rate", lambda v: ps.rate_test(PANEL, SCORE, v)),
        ("margins", lambda v: ps.margin_plan(PANEL, margins=[0.1, v])),
        ("alpha", lambda v: ps.margin_plan(PANEL, alpha=v)),
        ("power", lambda v: planned(power=v)),
        ("alpha", lambda v: planned(alpha=v)),
        ("confidence_level", lambda v: ps.rate_test(PANEL, SCORE, 0.5, confidence_level=v)),
        (
            "confidence_level",
            lambda v: ps.compare_confidences(PANEL, "said", "confidence", confidence_level=v),
        ),
        ("confidence_level", lambda v: corrected(confidence_level=v)),
        ("confidence_level", lambda v: judged(confidence_level=v)),
    ],
)
def test_what_is_no_number_within_is_named(name: str, ask: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(PairstatsError, match=f"`{name}` must .*but got "):
        ask(value)


@pytest.mark.parametrize("value", [(1, 0), (1, 1), (0.5, 0.25)], ids=repr)
@pytest.mark.parametrize(
    "ask",
    [
        lambda v: ps.read_runs("runs.csv", score_range=v),
        lambda v: ps.Panel(ROWS, score_range=v),
        lambda v: ps.Records.from_frame(ROWS, score_range=v),
    ],
)
def test_the_lower_end_of_a_range_comes_first(ask: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(
        PairstatsError, match=r"`score_range` must be two numbers, the lower first, but got \("
    ):
        ask(value)


@pytest.mark.parametrize("value", NO_COUNTS, ids=repr)
@pytest.mark.parametrize("name", ["copies", "n_pairs"])
def test_what_is_no_count_is_named_even_where_nothing_is_planned(name: str, value: Any) -> None:
    with pytest.raises(PairstatsError, match=f"`{name}` must be a whole number of at least 1.* but got"):
        planned(**{name: value})
    same = ps.Panel(ROWS.assign(score=1.0))
    with pytest.raises(PairstatsError, match=f"`{name}` must be"):
        ps.families_plan(same, MODELS, **{name: value})


@pytest.mark.parametrize("name", ["sensitivity", "specificity"])
@pytest.mark.parametrize(
    "value", [NAN, -1, 0, 1.5, True, "0.9", None, (1,), (5, 4), (0, 0), (1.5, 3), (True, 3), [9, 10]]
)
def test_accuracies_of_a_scorer(name: str, value: Any) -> None:
    with pytest.raises(PairstatsError, match=name):
        corrected(**{name: value})


@pytest.mark.parametrize(
    ("ask", "match"),
    [
        (lambda: ps.margin_plan(PANEL, margins=[]), "`margins` must hold at least one"),
        (lambda: ps.margin_plan(PANEL, margins="0.1"), "`margins` must .* but got '0.1'"),
        (lambda: ps.margin_plan(PANEL, margins=None), "`margins` must .* but got None"),
        (lambda: planned(method="exat"), "`method` must be one of .*'exact'.* but got 'exat'"),
        (lambda: planned(column="scor"), "no column 'scor'.* Did you mean 'score'[?]"),
        (lambda: planned(column="note"), "'note', which must hold numbers"),
        (lambda: ps.families_plan(PANEL, "model"), "`comparison` must be a value such as Pairwise"),
        (lambda: ps.families_plan(PANEL, None), "`comparison` must be a value such as Pairwise"),
        (lambda: ps.families_plan(PANEL, ps.Pairwise("modell")), "Did you mean 'model'[?]"),
        (lambda: ps.rate_test(PANEL, ps.Mean("scor"), 0.5), "Did you mean 'score'[?]"),
        (lambda: ps.rate_test(PANEL, ps.Mean("said"), 0.5), "must have a known range, but 'mean.said.' has none"),
        (lambda: ps.rate_test(PANEL, ps.Mean("note"), 0.5), "'note', which must hold numbers"),
        (lambda: ps.rate_test(PANEL, SCORE, 0.5, alternative="more"), "`alternative` must be one of"),
        (lambda: ps.margin_plan(PANEL, ps.Mean("scor")), "Did you mean 'score'[?]"),
        (lambda: ps.corrected(PANEL, SCORE, "model", sensitivity=1, specificity=1), "such as Pairwise"),
        (lambda: corrected(kind="exact"), "`kind` must be one of"),
        (lambda: judged(column="answr"), "Did you mean 'answer'[?]"),
        (lambda: judged(shown_first="varient"), "Did you mean 'variant'[?]"),
        (lambda: judged(systems=None), "`systems` must be two texts or numbers, but got None"),
        (lambda: ps.compare_confidences(PANEL, "said", "said"), "must be three columns, but are 'said', 'said'"),
        (lambda: ps.compare_confidences(PANEL, "said", "score"), "must be three columns"),
        (lambda: ps.compare_confidences(PANEL, "note", "said"), "Column 'note' must hold numbers, but holds 'n0'"),
        (lambda: ps.compare_confidences(PANEL, "said", "said2"), "Did you mean 'said'[?]"),
        (lambda: ps.compare_confidences(PANEL, ["said"], "note"), r"`first` must be a text, but got \['said'\]"),
        (lambda: ps.auroc(PANEL, "note"), "Column 'note' must hold numbers"),
        (lambda: ps.aurc(PANEL, "note"), "Column 'note' must hold numbers"),
        (lambda: ps.compare_auroc(PANEL, confidence="note"), "Column 'note' must hold numbers"),
        (lambda: ps.calibration_summary(PANEL, "note"), "Column 'note' must hold numbers"),
        (lambda: ps.calibration_curve(PANEL, "note"), "'note', which must hold numbers"),
        (lambda: ps.calibration_summary(PANEL, "said", "note"), "Column 'note' must hold numbers"),
        (lambda: ps.variance_parts(PANEL, column="note"), "Column 'note' must hold numbers"),
        (lambda: ps.weighted(PANEL, {"score": 0.5, "note": 0.5}), "Column 'note' must hold numbers"),
        (lambda: ps.usage(PANEL, "note"), "Column 'note' must hold numbers"),
    ],
)  # fmt: skip
def test_wrong_names_and_texts_for_numbers(ask: Callable[[], Any], match: str) -> None:
    with pytest.raises(PairstatsError, match=match):
        ask()


@pytest.mark.parametrize("given", ["score", None, ps.Mean, 3], ids=repr)
@pytest.mark.parametrize(
    "ask",
    [
        lambda e: ps.rate_test(PANEL, e, 0.5),
        lambda e: ps.margin_plan(PANEL, e),
        lambda e: ps.corrected(PANEL, e, sensitivity=0.9, specificity=0.9),
        lambda e: ps.bound_plan(PANEL, e),
        lambda e: ps.design_effects(PANEL, e),
    ],
)
def test_what_is_no_estimand(ask: Callable[[Any], Any], given: Any) -> None:
    if given is None and "margin_plan" in ask.__code__.co_names:
        pytest.skip("left out, it is the mean score")
    with pytest.raises(PairstatsError, match="`estimand` must be a value such as Mean"):
        ask(given)


@pytest.mark.parametrize(
    "ask",
    [
        lambda p: ps.rate_test(p, SCORE, 0.5),
        lambda p: ps.margin_plan(p),
        lambda p: ps.families_plan(p, MODELS),
        lambda p: ps.corrected(p, SCORE, sensitivity=0.9, specificity=0.9),
        lambda p: ps.judge_verdicts(p, ("a", "b")),
        lambda p: ps.compare_confidences(p, "said", "confidence"),
        lambda p: ps.auroc(p),
    ],
)
def test_records_are_no_panel(ask: Callable[[Any], Any]) -> None:
    with pytest.raises(
        PairstatsError, match=r"`panel` must be a Panel, but got a DataFrame. Make one: Panel\(records\)"
    ):
        ask(ROWS)


def test_one_margin_need_not_be_a_list() -> None:
    pd.testing.assert_frame_equal(
        ps.margin_plan(PANEL, margins=0.1).frame, ps.margin_plan(PANEL, margins=[0.1]).frame
    )


def test_numbers_written_as_objects_are_numbers() -> None:
    whole = ps.compare_confidences(PANEL, "said", "confidence").frame
    for kind in ("object", "Float64"):
        same = ROWS.astype({"said": kind, "confidence": kind})
        pd.testing.assert_frame_equal(
            ps.compare_confidences(ps.Panel(same), "said", "confidence").frame, whole
        )


REPLIES = pd.DataFrame([
    {"family": f"f{g}", "item": f"q{g}", "model": m, "variant": v, "repeat": r, "status": "answered",
     "score": float((g * 7 + i + len(m) * 3 + r) % 5 > 1), "style": 0.5, "said": 0.9 - (g + i) % 4 / 10,
     "confidence": 0.5 + (g + i) % 5 / 10, "answer": "AB"[(g * 3 + i + len(m)) % 4 // 3], "category": "xy"[g % 2],
     "output_tokens": 100.0 + g * len(m), "outcome": "uvw"[g % 3], "response": f"r{g}{v}{m}", "run": "1"}
    for g in range(12) for i, v in enumerate(("base", "a", "b")) for m in ("a", "bb") for r in (0, 1)
])  # fmt: skip
ALL = ps.Panel(REPLIES)
ONCE = ps.Panel(REPLIES[(REPLIES["repeat"] == 0) & (REPLIES["variant"] == "base")])
TWICE = ps.Panel(REPLIES.assign(run=REPLIES["repeat"].astype(str), repeat=0))
JUDGED = ps.Panel(REPLIES[REPLIES["variant"] != "base"])
RECORDS = ps.Records.from_frame(REPLIES[REPLIES["repeat"] == 0])
FOUND = ps.estimate(ONCE, SCORE)
NOWHERE = "/nowhere/at/all"
DESIGN = """
[protocol]
name = "power"
[[records.source]]
path = "none.csv"
[interval]
method = "family-cp"
[[estimand]]
name = "acc"
kind = "mean"
[[contrast]]
name = "C1"
estimand = "acc"
compare = { factor = "model", level = "a", reference = "b" }
[power]
rates = { acc = { a = 0.5, b = 0.9 } }
families = [8]
icc = 0.0
rho = 0.0
n_simulations = 100
seed = 1
"""


def designed() -> ps.Protocol:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "protocol.toml"
        path.write_text(DESIGN, encoding="utf-8")
        return ps.load_protocol(path)


CALLS: dict[str, dict[str, Any]] = {
    "Panel": {"records": REPLIES},
    "Panel.by": {"cells": ["model"]},
    "Panel.completeness": {},
    "Panel.filter": {"condition": "score >= 0"},
    "Panel.levels": {"column": "model"},
    "Panel.not_meeting": {"condition": "score > 0"},
    "Panel.scored_by": {"column": "style"},
    "Panel.where": {"model": "a"},
    "Panel.with_rules": {},
    "Panel.without": {"model": "a"},
    "Records.from_frame": {"frame": REPLIES},
    "Records.load": {"path": NOWHERE},
    "Records.save": {"path": "r.parquet"},
    "agreement": {"panel": ALL},
    "answer_spread": {"panel": ALL},
    "aurc": {"panel": ALL},
    "auroc": {"panel": ALL},
    "bound_plan": {"panel": ALL, "estimand": SCORE},
    "brier_parts": {"panel": ALL},
    "calibration_curve": {"panel": ALL},
    "calibration_errors": {"panel": ALL, "n_resamples": 20},
    "calibration_summary": {"panel": ALL, "n_resamples": 20},
    "capped": {"panel": ALL, "estimand": SCORE, "cap_panel": ALL, "cap": SCORE},
    "check_records": {"records": RECORDS},
    "classes": {"panel": ONCE},
    "compare_auroc": {"panel": ALL},
    "compare_confidences": {"panel": ALL, "first": "said", "second": "confidence"},
    "concat": {"parts": [FOUND]},
    "contrast": {"panel": ALL, "estimand": SCORE, "comparison": MODELS},
    "control_flips": {"panel": ALL, "variants": "a", "control": "b"},
    "copied_replies": {"panel": ALL},
    "corp_curve": {"panel": ALL, "n_resamples": 20},
    "corrected": {"panel": ALL, "estimand": SCORE, "sensitivity": 0.9, "specificity": 0.9},
    "design_effects": {"panel": ALL, "estimand": SCORE},
    "diff_results": {"old": NOWHERE, "new": NOWHERE},
    "estimate": {"panel": ALL, "estimand": SCORE},
    "excess_flips": {"panel": ALL},
    "extract": {"name": "item", "pattern": "(a)"},
    "families_plan": {"panel": ALL, "comparison": MODELS, "method": "connor"},
    "fill_article": {"article": NOWHERE, "results": NOWHERE},
    "findings": {"estimates": FOUND},
    "flip_table": {"panel": ALL},
    "framing_test": {"panel": ALL},
    "judge_verdicts": {"panel": JUDGED, "systems": ("a", "b"), "column": "variant", "shown_first": "variant"},
    "load_protocol": {"path": NOWHERE},
    "load_records": {"path": NOWHERE},
    "macro_average": {"panel": ALL, "estimand": SCORE, "stratum": "category"},
    "margin_plan": {"panel": ALL, "estimand": SCORE},
    "margin_test": {"panel": ALL, "estimand": SCORE, "comparison": MODELS, "claim": "superiority"},
    "missing_bounds": {"panel": ALL, "estimand": SCORE},
    "number_correct": {"panel": ONCE},
    "omnibus": {"panel": ALL, "estimand": SCORE, "n_resamples": 99},
    "paired_intervals": {"panel": ONCE},
    "paired_tests": {"panel": ONCE},
    "pass_rates": {"panel": ALL, "k": 2},
    "post_stratify": {"panel": ALL, "estimand": SCORE, "stratum": "category"},
    "power_of": {"protocol": designed()},
    "probability_better": {"panel": ONCE, "estimand": SCORE, "comparison": MODELS},
    "rank": {"panel": ALL, "estimand": SCORE},
    "rate_test": {"panel": ALL, "estimand": SCORE, "rate": 0.5},
    "read_runs": {"paths": NOWHERE},
    "redact_records": {"records": RECORDS},
    "rescore": {"records": RECORDS, "scorer": lambda row: 1.0},
    "retest": {"panel": TWICE},
    "review_curve": {"panel": ALL},
    "run_protocol": {"path": NOWHERE, "output": "out"},
    "silent_errors": {"panel": ALL},
    "simulate_records": {"rates": {"a": 0.5, "b": 0.6}, "families": 5, "rng": 1},
    "simultaneous": {"panel": ALL, "estimand": SCORE, "comparison": MODELS},
    "to_every_eval_ever": {"records": RECORDS, "path": "out"},
    "usage": {"panel": ONCE, "n_resamples": 99},
    "validate": {"table": RECORDS.table},
    "variance_parts": {"panel": ALL},
    "verify_results": {"folder": NOWHERE},
    "weighted": {"panel": ALL, "weights": {"score": 0.5, "style": 0.5}},
    "write_report": {"results_folder": NOWHERE, "output": "out.html"},
}  # fmt: skip
"""A call of every public function, of which one argument after the other is replaced."""

OPEN = {
    ("Panel", "records"),
    ("Records.from_frame", "frame"),
    ("read_runs", "items"),
    ("read_runs", "answers"),
}
"""Arguments of which the function itself says what they may be."""

ODD: tuple[Any, ...] = (
    "0.95", "x", "", "category", "answer", "model", "score", "family", "status", "repeat", [], ["m"], 5, -1, 0, NAN,
    float("inf"), None, True, ps.Mean, MODELS, SCORE, ROWS, RECORDS, {}, {"x": "y"}, object(), 1.5, b"x", [None],
    ("a",), [0.5, "x"], (1, 2, 3),
)  # fmt: skip
FOREIGN: tuple[Any, ...] = (object(), ps.Panel, b"x", 1j)
"""What no argument may be."""


VALUES: dict[type[Any], dict[str, Any]] = {
    ps.Mean: {}, ps.Share: {"event": "score > 0"}, ps.Ratio: {"numerator": "score", "denominator": "confidence"},
    ps.FlipRate: {}, ps.AllCorrect: {}, ps.Brier: {}, ps.Pairwise: {"factor": "model"},
    ps.Versus: {"factor": "model", "reference": "a"}, ps.Trend: {"factor": "variant", "doses": {"a": 0, "b": 1}},
    ps.Interaction: {
        "effect": ps.Versus("variant", "a", "b"), "factor": "model", "level": "a", "reference": "bb"
    },
    ps.FamilyInterval: {}, ps.Bootstrap: {"n_resamples": 20}, ps.CR2: {}, ps.ClusterRobust: {}, ps.KornGraubard: {},
    ps.Proportion: {}, ps.WildCluster: {"n_resamples": 99}, ps.Betting: {}, ps.AnswerFormat: {},
    ps.StatedConfidence: {},
}  # fmt: skip
"""A call of every value that verbs take."""


def used(value: Any) -> None:
    """Ask for what a value is for."""
    if isinstance(value, ps.AnswerFormat):
        value.parse('{"answer": "B", "confidence": 3}')
        value.parse("Answer: B")
    elif isinstance(value, ps.StatedConfidence):
        ps.simulate_records(rates={"a": 0.5, "b": 0.6}, families=3, rng=1, confidence=value)
    elif hasattr(value, "combinations"):
        ps.contrast(ALL, SCORE, value)
    elif hasattr(value, "limits"):
        ps.estimate(ONCE, SCORE, interval=value)
    else:
        ps.estimate(ALL, value)


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_no_odd_field_of_a_value_is_an_error_from_deep_inside(kind: type[Any]) -> None:
    used(kind(**VALUES[kind]))
    wrong = []
    for name in inspect.signature(kind).parameters:
        for odd in ODD:
            try:
                used(kind(**VALUES[kind] | {name: odd}))
            except PairstatsError:
                continue
            except Exception as error:
                wrong.append(f"{name}={odd!r}: {type(error).__name__}: {error}")
    assert not wrong


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: ps.FlipRate(variants=5), "`variants` must be a text or a list of texts, but got 5"),
        (lambda: ps.AllCorrect(size="4"), "`size` must be a whole number or None, but got '4'"),
        (lambda: ps.Pairwise(["model"]), r"`factor` must be a text, but got \['model'\]"),
        (lambda: ps.Share(5), "`event` must be a text or a Condition, but got 5"),
        (lambda: ps.AnswerFormat(field=3), "`field` must be a text or None, but got 3"),
        (lambda: ps.Betting(seed=-1), "`seed` must be a whole number of at least 0 or None, but got -1"),
        (lambda: ps.estimate(ALL, ps.FlipRate(variants=["x"])), "'x', but the records have 'a', 'b', 'base'"),
        (lambda: ps.estimate(ALL, ps.FlipRate(within="itm")), "no column 'itm'"),
        (lambda: ALL.filter(5), "`condition` must be"),
    ],
)
def test_an_odd_field_of_a_value_is_named(make: Callable[[], Any], match: str) -> None:
    with pytest.raises(PairstatsError, match=match):
        make()


def function(name: str) -> Callable[..., Any]:
    owner, _, method = name.rpartition(".")
    if owner == "Panel":
        return getattr(ALL, method)  # type: ignore[no-any-return]
    return getattr(RECORDS if owner else ps, method)  # type: ignore[no-any-return]


def parameters(name: str) -> list[str]:
    own = [
        p.name for p in inspect.signature(function(name)).parameters.values() if p.kind is not p.VAR_KEYWORD
    ]
    return list(dict.fromkeys([*own, *CALLS[name]]))


@pytest.mark.parametrize("name", CALLS)
def test_no_odd_value_is_an_error_from_deep_inside(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = []
    for parameter in parameters(name):
        for value in ODD:
            try:
                function(name)(**CALLS[name] | {parameter: value})
            except PairstatsError:
                continue
            except Exception as error:
                wrong.append(f"{parameter}={value!r}: {type(error).__name__}: {error}")
    assert not wrong


@pytest.mark.parametrize("name", CALLS)
def test_what_no_argument_may_be_is_named(name: str) -> None:
    for parameter in parameters(name):
        for value in FOREIGN if (name, parameter) not in OPEN else ():
            with pytest.raises(
                PairstatsError, match=rf"`{parameter}` must .*but got (an? |the class |b'x|1j)"
            ):
                function(name)(**CALLS[name] | {parameter: value})


def test_every_public_function_is_called_with_odd_arguments() -> None:
    functions = {name for name in ps.__all__ if inspect.isfunction(getattr(ps, name))}
    assert functions <= set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_the_call_itself_is_right(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    """Without an odd argument there is a result, or nothing but the file is missing."""
    monkeypatch.chdir(tmp_path)
    if NOWHERE in str(CALLS[name].values()):
        with pytest.raises(PairstatsError, match=f"{NOWHERE}|there is none"):
            function(name)(**CALLS[name])
    else:
        function(name)(**CALLS[name])


def test_a_column_may_be_called_as_an_argument_is() -> None:
    panel = ps.Panel(REPLIES.assign(k=0, alpha=5, rng=-1))
    assert len(panel.where(k=0, alpha=[5], rng=-1).frame.collect()) == len(REPLIES)


@pytest.mark.parametrize(
    "values", [["a", "bb"], ("a", "bb"), {"a", "bb"}, np.array(["a", "bb"]), pd.Index(["a", "bb"])]
)
def test_several_levels_may_be_any_row(values: Any) -> None:
    assert ALL.where(model=values).levels("model") == ["a", "bb"]


SERIES = {
    "numpy": np.array,
    "pandas": lambda cells: pd.Series(cells, index=range(5, 5 + len(cells))),
    "polars": pl.Series,
    "narwhals": lambda cells: nw.from_native(pl.Series(cells), series_only=True),
}


@pytest.mark.parametrize("column", SERIES.values(), ids=SERIES)
def test_a_column_of_any_library_is_a_list(column: Callable[[Any], Any], tmp_path: Path) -> None:
    assert ALL.where(model=column(["a", "bb"])).levels("model") == ["a", "bb"]
    assert ALL.by(column(["model", "variant"])).cells == ("model", "variant")
    margins = ps.margin_plan(PANEL, margins=column([0.1, 0.2])).frame
    pd.testing.assert_frame_equal(margins, ps.margin_plan(PANEL, margins=[0.1, 0.2]).frame)
    assert ps.judge_verdicts(**CALLS["judge_verdicts"] | {"systems": column(["a", "b"])}).factors
    (tmp_path / "runs.csv").write_text("item,model,score\nq1,m,1\nq2,m,0\n")
    records = ps.read_runs(
        tmp_path / "runs.csv", family="item", exclude=column(["q1"]), score_range=column([0, 1])
    )
    assert len(records) == 1
    assert ps.load_records(records.save(tmp_path / "r.parquet")).score_range == (0, 1)
    with pytest.raises(
        PairstatsError, match=r"`exclude` must be a text or a list of texts, but got \[1, 2\]"
    ):
        ps.read_runs(tmp_path / "runs.csv", family="item", exclude=column([1, 2]))


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (float, "a number"),
        (int | None, "a whole number or None"),
        (Sequence[str] | str, "a text or a list of texts"),
        (str | Path, "a path"),
        (tuple[float, float], "two numbers"),
        (float | tuple[float, float], "a number or two numbers"),
        (Mapping[str, float] | None, "a dict of texts to numbers or None"),
        (Literal["a", "b"], "one of 'a', 'b'"),
        (bool | None, "True or False or None"),
        (Callable[[str], None] | None, "a function or None"),
        (ps.Panel, "a Panel"),
        (ps.Records, "Records"),
        (list[tuple[str, str]], "a list of pairs of texts"),
    ],
)
def test_what_is_wanted_is_said_in_words(hint: Any, words: str) -> None:
    assert described(hint) == words


@pytest.mark.parametrize(
    ("value", "hint", "whether"),
    [
        (np.int64(3), int, True),
        (np.float32(0.5), float, True),
        (np.bool_(True), bool, True),
        (True, int, False),
        (3.0, int, False),
        (NAN, float, False),
        (np.array(["a"]), Sequence[str], True),
        (np.array([["a"]]), Sequence[str], False),
        (pd.Series([0.5]), Sequence[float], True),
        (ROWS, Sequence[str], False),
        ("ab", Sequence[str], False),
        ([0, 1], tuple[float, float], True),
        ([0, 1, 2], tuple[float, float], False),
        (Path("x"), str | Path, True),
        (ps.Mean, Estimand, False),
        (SCORE, Estimand, True),
        (MODELS, Estimand, False),
        (ps.Bootstrap(), IntervalKind | str | None, True),
        ("cp", Literal["jeffreys", "cp"], True),
        (1, Literal["jeffreys", "cp"], False),
        (10**400, float, True),
    ],
)
def test_what_fits_an_annotation(value: Any, hint: Any, whether: bool) -> None:
    assert fits(value, hint) is whether
