"""Names that scripts rely on: arguments, keyword-only after the data, and fields of the results."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from pairstats import numeric

SIGNATURES = {
    "family_interval": (["scores"], {"sizes": None, "kind": "jeffreys", "bounds": (0, 1),
                                     "confidence_level": 0.95, "alternative": "two-sided"}),
    "bootstrap_interval": (["scores"], {"sizes": None, "method": "percentile", "n_resamples": None,
                                        "rng": None}),
    "clopper_pearson": (["count", "nobs"], {"confidence_level": 0.95, "alternative": "two-sided"}),
    "mcnemar": (["n_first_only", "n_second_only"], {"method": "exact"}),
    "sign_flip": (["differences"], {"alternative": "two-sided"}),
    "paired_difference_interval": (
        ["n_both", "n_first_only", "n_second_only", "n_neither"], {"method": "tango"}
    ),
    "brier": (["confidence", "correct"], {}),
    "calibration_curve": (["confidence", "correct"], {}),
    "expected_calibration_error": (["confidence", "correct"], {}),
    "flip_rate": (["answers"], {}),
    "cochran_q": (["scores"], {}),
    "holm": (["p_values"], {}),
}  # fmt: skip
"""Data arguments of each function, and keyword arguments with their defaults."""


BY_POSITION = {("adjust", "method"), ("dirichlet_mean_cdf", "sizes")}
"""What may stand behind the data: the name of the adjustment, and one more column of the families."""


@pytest.mark.parametrize("name", SIGNATURES)
def test_arguments(name: str) -> None:
    data, keywords = SIGNATURES[name]
    there = inspect.signature(getattr(numeric, name)).parameters
    placed = [key for key, value in there.items() if value.kind is not value.KEYWORD_ONLY]
    assert placed == data
    for key, default in keywords.items():
        assert there[key].kind is there[key].KEYWORD_ONLY
        assert there[key].default == default


@pytest.mark.parametrize("name", numeric.__all__)
def test_settings_are_keyword_only(name: str) -> None:
    for key, value in inspect.signature(getattr(numeric, name)).parameters.items():
        given = value.kind in (value.KEYWORD_ONLY, value.VAR_KEYWORD, value.VAR_POSITIONAL)
        needed = value.default is value.empty or (name, key) in BY_POSITION
        assert given or needed, f"{name} takes {key} by position"


@pytest.mark.parametrize(
    ("found", "fields"),
    [
        (numeric.family_interval([1, 0, 1]), ("low", "high", "method")),
        (numeric.bootstrap_interval([1, 0, 1]), ("low", "high", "method")),
        (numeric.clopper_pearson(2, 3), ("low", "high", "method")),
        (numeric.paired_difference_interval(1, 2, 3, 4), ("low", "high", "method")),
        (numeric.mcnemar(1, 2), ("p_value",)),
        (numeric.sign_flip([1, 2]), ("p_value",)),
        (numeric.cochran_q([[1, 0], [0, 1]]), ("p_value",)),
    ],
)
def test_results_are_frozen_and_have_the_fields(found: Any, fields: tuple[str, ...]) -> None:
    for field in fields:
        assert getattr(found, field) is not None
        with pytest.raises(AttributeError):
            setattr(found, field, None)
