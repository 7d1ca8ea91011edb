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
    assert "1 key occurs more than once; the first, family='f', item='a'" in findings
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


@pytest.mark.parametrize(
    ("column", "spellings", "cause"),
    [
        ("family", ["f1", "f1 "], r"white space at the ends; strip it .* family=ps.extract\(path"),
        ("model", ["m", "\u00a0m"], "white space at the ends"),
        ("item", ["caf\u00e9", "cafe\u0301"], r"has 'cafe\\u0301' and 'caf\\xe9' in .* Unicode form"),
        ("condition", ["x", "\ufeffx"], "invisible characters .* write them alike in the raw files"),
        ("category", ["c\t", "c"], "white space at the ends"),
    ],
)
def test_two_spellings_of_one_name_are_an_error(column: str, spellings: list[str], cause: str) -> None:
    with pytest.raises(SchemaError, match=rf"'{column}' must spell a name in one way, but .*{cause}"):
        validate(table(**{column: spellings}))


def test_names_that_differ_in_what_is_seen_are_two() -> None:
    assert validate(table(family=["f1", "F1"], item=["a b", "ab"], model=["m-1", "m_1"])).num_rows == 2


def test_a_missing_column_is_not_called_blank() -> None:
    with pytest.raises(SchemaError) as caught:
        validate(table().drop_columns(["status", "family"]))
    findings = caught.value.findings
    assert [finding.split(":")[0] for finding in findings] == [
        "column 'family' is missing", "column 'status' is missing"
    ]  # fmt: skip
    with pytest.raises(SchemaError, match="'family' is blank in row 1"):
        validate(table(family=["f", " "]))


def test_rows_are_named_by_their_source() -> None:
    with pytest.raises(SchemaError, match=r"does not in row 1 \(b.csv:3\)"):
        validate(table(score=[1.0, 1.5], source=["a.csv:2", "b.csv:3"]))


def test_rounding_beyond_a_limit_is_no_fault_and_is_cut_off() -> None:
    made = validate(table(score=[1 + 1e-12, -1e-12], confidence=[1 + 1e-10, None]))
    assert made.column("score").to_pylist() == [1.0, 0.0]
    assert made.column("confidence").to_pylist() == [1.0, None]
    assert validate(table(score=[100 + 1e-8, 0]), score_range=(0, 100)).column("score").to_pylist() == [
        100,
        0,
    ]
    with pytest.raises(SchemaError, match=r"'score' must lie in \[0, 1\], but does not in row 0"):
        validate(table(score=[1 + 1e-6, 0]))
