"""Articles filled from results: every number from a row, every fault with its line."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from pairstats.errors import PairstatsError
from pairstats.fill import FillError, fill_article, fill_text
from pairstats.result import Estimates
from pairstats.results import Results

CELLS = {
    ("qwen3", "direct"): 0.45, ("qwen3", "code"): 0.655, ("m-2.1", "direct"): 0.98, ("m-2.1", "code"): 1.0,
}  # fmt: skip


def results(**changes: object) -> Results:
    """Four cells in percent, a contrast in points, and one without an interval."""
    rows = [
        {"estimand": "acc", "model": m, "condition": c, "estimate": v, "conf_low": v - 0.1,
         "conf_high": min(v + 0.1, 1.0), "n_families": 192}
        for (m, c), v in CELLS.items()
    ]  # fmt: skip
    c1 = {
        "contrast": "code - direct", "estimand": "acc", "estimate": -0.00285, "conf_low": -0.012,
        "conf_high": 0.006, "p_value": 0.0312, "p_adjusted": 0.0624, "p_floor": 1e-9, "n_families": 192,
        "claim": "equivalence", "margin": 0.02, "verdict": "equivalent",
    }  # fmt: skip
    c2 = {
        "contrast": "qwen3 - m-2.1", "estimand": "acc", "estimate": 0.2, "p_value": 0.00049, "p_floor": 0.00049,
        "n_families": 12, "claim": "superiority", "note": "every resample gives one value",
    }  # fmt: skip
    estimates = Estimates.from_rows([*rows, c1 | changes, c2], factors=("model", "condition"))
    provenance = {
        "estimands": {"acc": {"label": "Accuracy", "percent": True}},
        "contrasts": {
            "C1": {"estimand": "acc", "claim": "equivalence", "labels": ["code - direct"]},
            "C2": {"estimand": "acc", "claim": "superiority", "labels": ["qwen3 - m-2.1"]},
        },
    }
    return Results(Path("results"), estimates, pd.DataFrame(), provenance=provenance)


def filled(text: str, rounding: str = "half-even", **changes: object) -> str:
    found, _, faults = fill_text(text, results(**changes), rounding=rounding)
    assert not faults, faults
    return found


def faults(text: str, **changes: object) -> list[tuple[int, str]]:
    return list(fill_text(text, results(**changes))[2])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{{ acc["qwen3"]["direct"].pct }} %', "45.0 %"),
        ("{{ acc.qwen3.code.estimate | pct(0) }}", "66"),  # 65.5: half to even
        ('{{ acc["m-2.1", "code"].pct }}', "100.0"),
        ('{{ acc["qwen3"]["direct"].ci }}', "35.0 to 55.0"),
        ("{{ acc.qwen3.direct.ci | num(2) }}", "0.35 to 0.55"),
        ("{{ C1.estimate | points }}", "-0.3"),
        ("{{ C1.points }}", "-0.3"),
        ("{{ C1.ci }}", "-1.2 to +0.6"),
        ("{{ C1.low | num(3) }}", "-0.012"),
        ("{{ C1.p | p }}", "0.062"),
        ("{{ C1.p_value | p }}", "0.031"),
        ("{{ C2.p | p }}", "<= 4.9e-4"),
        ("{{ C1.n_families | count }}", "192"),
        ("{{ C1.verdict }}", "equivalent"),
        ('{{ contrasts["C1"].margin | points(0) }}', "+2"),
        (
            "{% for row in acc.qwen3 %}{{ row.condition }} {{ row.pct }};{% endfor %}",
            "direct 45.0;code 65.5;",
        ),
        ("{{ acc | length }} cells\n", "4 cells\n"),
        ("{% if C2.ci is defined %}yes{% else %}no{% endif %}", "no"),
    ],
)
def test_values_are_printed(text: str, expected: str) -> None:
    assert filled(text) == expected


@pytest.mark.parametrize(
    ("rounding", "expected"), [("half-even", "0.2 0.4 -0.2 2.8"), ("half-up", "0.3 0.4 -0.3 2.9")]
)
def test_one_rounding_rule_for_all_numbers(rounding: str, expected: str) -> None:
    # .0285 * 100 is 2.8499999999999996 in binary, and must be taken as 2.85.
    text = "{{ C1.estimate | num(1) }} {{ C1.conf_low | num(1) }} {{ C1.conf_high | num(1) }} {{ C1.margin | pct }}"
    values = {"estimate": 0.25, "conf_low": 0.35, "conf_high": -0.25, "margin": 0.0285}
    assert filled(text, rounding, **values) == expected


def test_zero_has_no_sign() -> None:
    assert filled("{{ C1.estimate | points }}", estimate=-1e-9) == "0.0"


@pytest.mark.parametrize(
    "text", ['{{ acc.qwen3.direct.pct | equals("45") }}', '{{ acc.qwen3.direct.pct | equals("45 %") }}']
)
def test_a_typed_number_that_holds_is_kept(text: str) -> None:
    assert filled(text) == "45"


def test_a_check_leaves_no_trace() -> None:
    assert filled('It was 45 %<!-- check: acc["qwen3"]["direct"].pct = 45 -->.') == "It was 45 %."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ acc.qwen4.pct }}", "acc has no cell or column 'qwen4'; there is"),
        ("{{ accuracy.qwen3.pct }}", "'accuracy' is no estimand or contrast of the results; there are 'C1'"),
        ("{{ c1.estimate | points }}", "'c1' is no estimand"),
        ("{{ C2.ci }}", "C2 has no interval (every resample gives one value)"),
        ("{{ C2.low | points }}", "C2 has no low"),
        ("{{ acc.qwen3.pct }}", "choose one by condition: 'code', 'direct'"),
        ("{{ acc.qwen3.direct }}", "is a row, not a number"),
        ("{{ acc.qwen3.direct | pct }}", "is a row, not a number"),
        ("{{ C1.estimate | count }}", "a count must be a whole number"),
        ("{{ C1.verdict | num }}", "a number is needed"),
        ('{{ acc.qwen3.direct.pct | equals("46") }}', "46 was typed, but the results say 45"),
        ('<!-- check: acc["qwen3"]["direct"].pct = 44.9 -->', "44.9 was typed, but the results say 45.0"),
        ("{{ C1.estimate | nothing }}", "nothing"),
        ("{{ C1.estimate", "the template cannot be read"),
        ("{{ C1.n_families / (C1.n_families - C1.n_families) }}", "ZeroDivisionError"),
        ("{{ 0.45 }}", "0.45 is typed in the template"),
        ("{{ 45 | pct }}", "45 is typed in the template"),
        ("{% set x = 0.4 %}{{ x }}", "0.4 is typed in the template"),
        ("{{ study.none.estimate }}", "'none' is no estimand"),
        ("{{ none }}", "the value is empty"),
        ("{{ C1.__class__ }}", "no cell or column '__class__'"),
        ("{{ C1.writer }}", "no cell or column 'writer'"),
        ("{{ contrasts.__class__ }}", "unsafe"),
    ],
)
def test_faults_are_told(text: str, message: str) -> None:
    found = faults(f"One.\nTwo.\n{text}\n")
    assert [line for line, _ in found] == [3]
    assert message in found[0][1]


def test_all_faults_at_once_in_order() -> None:
    text = "{{ a.b }}\n{{ acc.nobody.pct }}\n{{ C1.points }}\n\n{{ C2.ci }} and C1 was +4.1 points\n"
    assert [line for line, _ in faults(text)] == [1, 2, 5, 5]


HOLDS = (
    "C1 was -0.3 points", "C1 (-0.28 points", "`C1`: -1.2 to", "C1 (192 families)", "acc of 98 %",
    "C1 was {{ C1.points }}", "C1 is 3 things", "C10 was 7.7", "C1 was 2026-01-01",
)  # fmt: skip


@pytest.mark.parametrize("typed", HOLDS)
def test_numbers_beside_a_name_that_hold(typed: str) -> None:
    assert faults(typed) == []


@pytest.mark.parametrize(
    "typed", ["C1 was 0.3 points", "C1 = -0.4", "`C1`: 7", "acc (97.5 %)", "acc of 99 percent"]
)
def test_numbers_beside_a_name_that_contradict(typed: str) -> None:
    [(line, message)] = faults(f"\n{typed}")
    assert line == 2
    assert "stands next to" in message


def test_an_infinite_limit_is_no_interval() -> None:
    assert "C1 has no interval" in faults("{{ C1.ci }}", conf_high=math.inf)[0][1]


def test_files(tmp_path: Path) -> None:
    article, output = tmp_path / "article.md", tmp_path / "filled.md"
    article.write_text("Gain {{ C1.points }} (n {{ C1.n_families | count }}).\n", encoding="utf-8")
    made = fill_article(article, results(), output)
    assert output.read_text(encoding="utf-8") == made.text == "Gain -0.3 (n 192).\n"
    assert (made.n_values, made.rounding, made.path) == (2, "half-even", output)


def test_nothing_is_written_where_there_is_a_fault(tmp_path: Path) -> None:
    article, output = tmp_path / "article.md", tmp_path / "filled.md"
    article.write_text("x\n{{ nobody.pct }}\n", encoding="utf-8")
    with pytest.raises(FillError, match=r"article\.md:2: 'nobody' is no estimand") as caught:
        fill_article(article, results(), output)
    assert not output.exists()
    assert caught.value.faults[0][0] == 2


def test_awkward_files(tmp_path: Path) -> None:
    with pytest.raises(PairstatsError, match="There is no article"):
        fill_article(tmp_path / "none.md", results())
    binary = tmp_path / "binary.md"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PairstatsError, match="UTF-8"):
        fill_article(binary, results())
    text = tmp_path / "text.md"
    text.write_text("no numbers", encoding="utf-8")
    with pytest.raises(PairstatsError, match="another file"):
        fill_article(text, results(), text)
    with pytest.raises(PairstatsError, match="rounding"):
        fill_article(text, results(), rounding="down")
    assert fill_article(text, results()).n_values == 0


def test_contrasts_that_name_their_rows() -> None:
    made = results()
    made.provenance["contrasts"]["C3"] = {"estimand": "acc", "rows": [5]}  # type: ignore[index]
    assert fill_text("{{ C3.contrast }}", made) == ("qwen3 - m-2.1", 1, ())


def test_rows_that_are_alike_must_be_told_apart() -> None:
    made = results()
    made.provenance["contrasts"]["C3"] = {"estimand": "acc"}  # type: ignore[index]
    assert "C3 has 2 rows; choose one by contrast" in fill_text("{{ C3.points }}", made)[2][0][1]


def test_tables_of_the_script_can_be_quoted() -> None:
    from dataclasses import replace

    frame = pd.DataFrame({"model": ["a", "b"], "rank_low": [1, 2], "share": [0.25, None]})
    with_study = replace(results(), tables={"ranks": frame, "acc": results().cells})
    text = (
        "{{ study.ranks.a.rank_low }} {{ study.ranks['a'].share | pct(0) }} "
        "{{ study.acc.qwen3.direct.ci | num(2) }}"
    )
    found, _, wrong = fill_text(text, with_study)
    assert (found, wrong) == ("1 25 0.35 to 0.55", ())
    assert "has no share" in fill_text("{{ study.ranks.b.share }}", with_study)[2][0][1]
