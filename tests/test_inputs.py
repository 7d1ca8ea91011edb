"""Labels and tables as users hold them: lists, arrays, columns of pandas and polars, Arrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pairstats.errors import PairstatsError
from pairstats.numeric import (
    any_disagreement,
    brier_difference,
    cochran_q,
    cohen_kappa,
    copied_repeats,
    dose_trend,
    fleiss_kappa,
    flip_errors,
    flip_rate,
    gwet_ac1,
    macro_average,
    paired_class_test,
    post_stratify,
    retest_agreement,
)

RNG = np.random.default_rng(5)
N = 12
ANSWERS = [[str(a) for a in row] for row in RNG.choice(["A", "B", "C"], (N, 3))]
ANSWERS[4][1] = None  # type: ignore[call-overload]
RIGHT = [[None if a is None else int(a == "A") for a in row] for row in ANSWERS]
FIRST, SECOND = ([str(x) for x in RNG.choice(["A", "B"], N)] for _ in range(2))
FAMILIES = [f"f{i // 2}" for i in range(N)]
TABLE = RNG.integers(0, 2, (N, 3)).astype(float)

COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "tuple": tuple,
    "array": np.array,
    "objects": lambda values: np.array(values, dtype=object),
    "pandas": lambda values: pd.Series(values, index=range(len(values), 0, -1)),
    "categorical": lambda values: pd.Series(values, dtype="category"),
    "polars": pl.Series,
    "arrow": pa.array,
    "chunked": lambda values: pa.chunked_array([values[:5], values[5:]]),
    "dictionary": lambda values: pa.array(values).dictionary_encode(),
}
TABLES: dict[str, Callable[[list[list[Any]]], Any]] = {
    "array": lambda rows: np.array(rows, dtype=object),
    "pandas": lambda rows: pd.DataFrame(rows, columns=["first", "second", "third"]),
    "polars": lambda rows: pl.DataFrame(rows, schema=["first", "second", "third"], orient="row"),
    "arrow": lambda rows: pa.table(dict(zip("xyz", zip(*rows, strict=True), strict=True))),
    "rows of Arrow": pa.array,
    "rows of pandas": pd.Series,
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_labels(kind: str) -> None:
    of = COLUMNS[kind]
    scores, planned = TABLE[:, 0], {"A": 5, "B": 9}
    calls: list[Callable[..., Any]] = [
        lambda f: cohen_kappa(f(FIRST), f(SECOND), families=f(FAMILIES)),
        lambda f: retest_agreement(f(FIRST), f(SECOND), families=f(FAMILIES)),
        lambda f: paired_class_test(f(FIRST), f(SECOND), families=f(FAMILIES)),
        lambda f: cochran_q(TABLE, families=f(FAMILIES)),
        lambda f: dose_trend(TABLE, [0, 1, 3], families=f(FAMILIES)),
        lambda f: macro_average(scores, f(FIRST), n_resamples=99),
        lambda f: post_stratify(scores, f(FIRST), planned, minimum=1, n_resamples=99),
        lambda f: brier_difference((scores, scores), (1 - scores, scores), families=f(FAMILIES)),
        lambda f: fleiss_kappa(ANSWERS, families=f(FAMILIES)),
    ]
    for call in calls:
        assert repr(call(of)) == repr(call(list))


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_answers(kind: str) -> None:
    of = TABLES[kind]
    calls: list[Callable[..., Any]] = [
        lambda f: flip_rate(f(ANSWERS)),
        lambda f: any_disagreement(f(ANSWERS)),
        lambda f: gwet_ac1(f(ANSWERS)),
        lambda f: flip_errors(f(ANSWERS), f(RIGHT)),
        lambda f: copied_repeats(f(ANSWERS)),
    ]
    for call in calls:
        assert repr(call(of)) == repr(call(list))


def test_a_missing_family_is_refused_and_no_family_of_its_own() -> None:
    for missing in (None, float("nan"), pd.NA):
        names = [*FAMILIES[:-1], missing]
        for call in (
            lambda f: cochran_q(TABLE, families=f),
            lambda f: paired_class_test(FIRST, SECOND, families=f),
            lambda f: fleiss_kappa(ANSWERS, families=f),
        ):
            with pytest.raises(PairstatsError, match="position 11"):
                call(names)
