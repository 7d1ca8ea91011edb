"""The paired long format: every failure is found at once, and rows are named."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pairstats import SchemaError, validate
from pairstats.schema import COLUMNS, KEY, STATUSES, arrow_schema, conform


def table(**columns: object) -> pa.Table:
    rows = {
        "family": ["f1", "f2"],
        "item": ["a", "b"],
        "model": ["m", "m"],
        "status": ["answered", "answered"],
    }
    return pa.table(rows | columns)


def test_defaults_types_and_order() -> None:
    made = validate(table(extra=["x", "y"]))
    assert made.column_names == [*(c.name for c in COLUMNS), "extra"]
    assert made.schema.metadata[b"pairstats_schema"] == b"1"
    for field in arrow_schema():
        assert made.schema.field(field.name).type == field.type
    assert made.column("variant").to_pylist() == ["base", "base"]
    assert made.column("condition").to_pylist() == ["default", "default"]
    assert made.column("repeat").to_pylist() == [0, 0]
    assert made.column("score").null_count == 2


def test_key_and_status_words_are_those_of_the_format() -> None:
    assert STATUSES == ("answered", "unparsed", "truncated", "refused", "empty", "error", "absent")
    assert KEY == ("study", "run", "platform", "family", "item", "variant", "model", "condition", "repeat")


def test_all_failures_are_reported_at_once_with_their_rows() -> None:
    broken = pa.table(
        {
            "family": ["f", "f", "", "g"],
            "item": ["a", "a", "b", "c"],
            "model": ["m", "m", "m", "m"],
            "status": ["answered", "answered", "lost", "error"],
            "score": [1.0, 1.0, 1.5, 0.0],
            "confidence": [0.5, 0.5, float("nan"), -0.1],
            "repeat": [0, 0, -1, 0],
        }
    )
    with pytest.raises(SchemaError) as caught:
        validate(broken)
    findings = "\n".join(caught.value.findings)
    assert "'family' is blank in row 2" in findings
    assert "'repeat' counts from 0, but is negative in row 2" in findings
    assert "is 'lost' in row 2" in findings
    assert "'score' must lie in [0, 1], but does not in row 2" in findings
    assert "'confidence' must lie in [0, 1], but does not in rows 2, 3" in findings
    assert "status 'error' or 'absent' must have no score, but has one in row 3" in findings
    assert "1 keys occur more than once; the first, family='f', item='a'" in findings
    assert "in rows 0, 1" in findings
    assert len(caught.value.findings) == 7


def test_many_rows_are_shortened_and_counted() -> None:
    with pytest.raises(SchemaError, match="rows 0, 1, 2 and 7 more"):
        validate(pa.table({"family": [""] * 10, "item": list("abcdefghij"), "model": ["m"] * 10,
                           "status": ["answered"] * 10}))  # fmt: skip


def test_a_column_of_the_wrong_type_is_named() -> None:
    with pytest.raises(SchemaError, match="column 'score' must be double"):
        conform(table(score=["good", "bad"]))
    with pytest.raises(SchemaError, match="column 'repeat' must be int16"):
        conform(table(repeat=[0, 1 << 20]))


def test_a_declared_range_is_kept() -> None:
    scored = table(score=[7.0, 3.0])
    with pytest.raises(SchemaError, match=r"must lie in \[0, 1\]"):
        validate(scored)
    assert validate(scored, score_range=(0, 10)).num_rows == 2


def test_an_empty_table_is_valid() -> None:
    assert validate(table().slice(0, 0)).num_rows == 0


def test_ids_stay_text() -> None:
    made = validate(table(item=["007", "1e5"]))
    assert made.column("item").to_pylist() == ["007", "1e5"]
