"""Panel: roles of columns, declared rules, completeness, and the same sums on every engine."""

from __future__ import annotations

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pairstats import (
    AllCorrect,
    Brier,
    FlipRate,
    Mean,
    PairingError,
    PairstatsError,
    Panel,
    SchemaError,
    Share,
)
from pairstats.sums import Units


def frame() -> pd.DataFrame:
    """Two models, three families of two variants, two repeats; errors, blanks and a missing confidence."""
    rows = []
    for model, shift in (("a", 0), ("b", 1)):
        for f in range(3):
            for v, variant in enumerate(("base", "moved")):
                for repeat in range(2):
                    right = (f + v + repeat + shift) % 2
                    rows.append(
                        {
                            "family": f"f{f}", "item": f"q{f}", "variant": variant, "model": model,
                            "repeat": repeat, "status": "answered", "reason": None,
                            "answer": f"x{right}", "score": float(right), "confidence": 0.25 * (f + 1),
                        }
                    )  # fmt: skip
    made = pd.DataFrame(rows)
    made.loc[0, ["status", "reason", "answer", "score"]] = ["error", "rate_limit", None, None]
    made.loc[5, ["status", "answer", "score", "confidence"]] = ["unparsed", None, None, None]
    return made


ENGINES = {
    "pandas": lambda f: f,
    "polars": pl.from_pandas,
    "polars lazy": lambda f: pl.from_pandas(f).lazy(),
    "arrow": lambda f: pa.Table.from_pandas(f, preserve_index=False),
    "duckdb": lambda f: duckdb.connect().from_arrow(pa.Table.from_pandas(f, preserve_index=False)),
}
ESTIMANDS = [
    Mean(), Mean(weight="family"), Brier(), Share("score < 1", given="confidence >= 0.5"), FlipRate(),
    FlipRate("score", reference="base"), AllCorrect(),
]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("estimand", ESTIMANDS, ids=lambda e: e.name + e.weight)
def test_every_engine_gives_the_same_sums(engine: str, estimand: Mean) -> None:
    def digest(records: object) -> str:
        panel = Panel(records)
        return Units.collect(panel.rows(), estimand, "family", panel.cells, panel.unit_of(estimand)).digest()

    assert digest(ENGINES[engine](frame())) == digest(frame().sample(frac=1, random_state=1))


@pytest.mark.parametrize("engine", ENGINES)
def test_completeness_counts_every_reply(engine: str) -> None:
    found = Panel(ENGINES[engine](frame())).completeness()
    first = found[found["model"] == "a"].iloc[0]
    assert (first["planned"], first["answered"], first["error"], first["unparsed"]) == (12, 10, 1, 1)
    assert first["completeness"] == 10 / 12
    assert first["reasons"] == "rate_limit: 1, unparsed: 1"
    assert found["planned"].sum() == len(frame())


def test_completeness_by_nothing_and_by_several() -> None:
    panel = Panel(frame())
    assert panel.completeness(by=[])["planned"].tolist() == [24]
    assert len(panel.completeness(by=["model", "variant"])) == 4


def test_no_answer_is_wrong_or_missing_and_an_error_never_counts() -> None:
    for rule, values, n in (("wrong", [0.0, None], 1), ("missing", [None, None], 0)):
        rows = Panel(frame(), no_answer=rule).rows().collect().to_pandas()
        assert rows.loc[5, "score"] == 0.0 if rule == "wrong" else pd.isna(rows.loc[5, "score"])
        assert pd.isna(rows.loc[0, "score"])
        assert rows["is_counted"].tolist().count(False) == 2 - n
        assert len(values) == 2


def test_a_stored_score_of_a_failed_call_is_never_used() -> None:
    made = frame()
    made.loc[0, "score"] = 0.0  # as some platforms write
    assert pd.isna(Panel(made).rows().collect().to_pandas().loc[0, "score"])


def test_nan_is_missing_on_every_engine() -> None:
    made = frame().assign(confidence=lambda t: t["confidence"].astype(float))
    for name, engine in ENGINES.items():
        native = engine(made)
        if name.startswith("polars"):
            native = native.with_columns(score=pl.col("score").fill_null(float("nan")))
        panel = Panel(native)
        units = Units.collect(panel.rows(), Mean(), "family", panel.cells, panel.unit_of(Mean()))
        assert units.n_valid.sum() == 23


def test_faults_are_refused_with_all_reasons() -> None:
    made = pd.concat([frame(), frame().tail(2)])
    made.loc[3, "score"] = 2.0
    made.loc[4, "status"] = "lost"
    with pytest.raises(SchemaError) as caught:
        Panel(made)
    assert len(caught.value.findings) == 3
    assert "2 keys occur more than once, the first family='f2'" in caught.value.findings[2]


@pytest.mark.parametrize("engine", ENGINES)
def test_faults_are_told_in_plain_values_and_say_what_to_do(engine: str) -> None:
    two = pd.DataFrame({"family": "f", "item": "q", "model": [None, None], "score": [45.0, 90.0]})
    with pytest.raises(SchemaError) as caught:
        Panel(ENGINES[engine](two.astype({"model": "string"})))
    score, key = caught.value.findings
    remedy = "divide percent by 100, or declare score_range=(0, 100)"
    assert score == f"'score' must lie in [0, 1], but does not in 2 rows: {remedy}"
    assert "1 key occurs more than once, the first family='f', item='q'" in key
    assert "model=None" in key
    assert "repeat=0;" in key


def test_what_is_no_percent_is_not_told_to_be_divided() -> None:
    rows = frame().assign(score=-2.0, confidence=lambda t: t["confidence"] * 3)
    with pytest.raises(SchemaError) as caught:
        Panel(rows)
    score, confidence = caught.value.findings
    assert score.endswith(": declare score_range=(low, high)")
    assert "score_range" not in confidence


@pytest.mark.parametrize("engine", ENGINES)
def test_families_that_are_all_null_are_refused(engine: str) -> None:
    rows = frame().assign(family=pd.Series([None] * 24, dtype="string"))
    with pytest.raises(SchemaError, match="'family' must name the family of every row, but is null in all"):
        Panel(ENGINES[engine](rows))


def test_absent_columns_are_named_with_those_there_are() -> None:
    with pytest.raises(SchemaError, match=r"no column 'family'; they have 'item', 'model'"):
        Panel(pd.DataFrame({"item": ["a"], "model": ["m"]}))
    with pytest.raises(SchemaError, match="no column 'split'"):
        Panel(frame(), cells=("split", "model"))
    with pytest.raises(SchemaError, match="no column 'colour'"):
        Panel(frame()).where(colour="red")


def test_where_narrows_and_says_what_there_is() -> None:
    panel = Panel(frame())
    assert "12 rows" in repr(panel.where(model="a"))
    assert "24 rows" in repr(panel.where(model=["a", "b"]))
    assert "12 rows" in repr(panel.filter("variant == base"))
    with pytest.raises(PairingError, match="model: 'a', 'b'"):
        panel.where(model="c")


def test_what_is_no_frame_is_refused() -> None:
    with pytest.raises(PairstatsError, match="not of list"):
        Panel([1, 2])
    with pytest.raises(PairstatsError, match="`no_answer` must be one of 'wrong', 'missing'"):
        Panel(frame(), no_answer="skip")


def test_reprs_escape_names() -> None:
    made = frame().assign(model=lambda t: t["model"].replace("a", "<b>a</b>"))
    assert "&lt;b&gt;a" in Panel(made)._repr_html_()
    assert repr(Panel(frame().head(1))).startswith("Panel of 1 row: 1 family, 1 item, 1 cell by model")
    assert repr(Panel(frame())).startswith("Panel of 24 rows: 3 families, 3 items, 2 cells by model")


def test_null_cells_are_refused() -> None:
    made = frame().assign(category=None)
    panel = Panel(made, cells=("category",))
    with pytest.raises(PairingError, match="must not be null"):
        Units.collect(panel.rows(), Mean(), "family", panel.cells, panel.unit_of(Mean()))
