"""Odd arguments of verbs: every one is an error of ours that names the argument, and says what there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import pairstats as ps
from pairstats.errors import PairstatsError

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
    if name == "confidence_level" and value == "0.5":
        pytest.skip("a level may be written as a text")
    with pytest.raises(PairstatsError, match=f"`{name}` must .*but got "):
        ask(value)


@pytest.mark.parametrize("value", NO_COUNTS, ids=repr)
@pytest.mark.parametrize("name", ["copies", "n_pairs"])
def test_what_is_no_count_is_named_even_where_nothing_is_planned(name: str, value: Any) -> None:
    with pytest.raises(PairstatsError, match=f"`{name}` must be a whole number of at least 1, but got"):
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
        (lambda: ps.families_plan(PANEL, "model"), "comparison must be a value such as Pairwise"),
        (lambda: ps.families_plan(PANEL, None), "comparison must be a value such as Pairwise"),
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
        (lambda: judged(systems=None), "`systems` must name two"),
        (lambda: ps.compare_confidences(PANEL, "said", "said"), "must be three columns, but are 'said', 'said'"),
        (lambda: ps.compare_confidences(PANEL, "said", "score"), "must be three columns"),
        (lambda: ps.compare_confidences(PANEL, "note", "said"), "Column 'note' must hold numbers, but holds 'n0'"),
        (lambda: ps.compare_confidences(PANEL, "said", "said2"), "Did you mean 'said'[?]"),
        (lambda: ps.compare_confidences(PANEL, ["said"], "confidence"), r"no column \['said'\]"),
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
    with pytest.raises(PairstatsError, match="An estimand must be a value such as Mean"):
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
        PairstatsError, match=r"must be a Panel, but is a DataFrame. Make one: Panel\(records\)"
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
