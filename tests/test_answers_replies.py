"""Real replies: counts, confidences and flips have to equal those taken from the wire."""

from __future__ import annotations

import gzip
import importlib.util
import itertools
import json
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import fmean
from types import ModuleType
from typing import Any

import pandas as pd
import pytest
from conftest import SHARED, needs_shared

import pairstats as ps
from pairstats.answers import AnswerFormat, Parsed
from pairstats.errors import PairingError, PairstatsError

OWN = SHARED / "samples" / "own"
GRADE_SCHOOL = SHARED / "samples" / "gsm8k_openai_wide" / "example_model_solutions.jsonl"
FORMS = {"json": AnswerFormat(), "letter": AnswerFormat(field=None)}
SYSTEMS = ("smollm2-terse-t0", "smollm2-2shot-t0", "smollm2-2shot-t1")

pytestmark = needs_shared
Reply = tuple[str, str]  # item id, text


@cache
def truth(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((OWN / name).read_text(encoding="utf-8"))
    return found


@cache
def items() -> dict[str, dict[str, Any]]:
    lines = (OWN / "bench" / "items.jsonl").read_text(encoding="utf-8").splitlines()
    return {item["id"]: item for item in map(json.loads, lines)}


def client_replies(path: Path) -> list[Reply]:
    """The last good attempt of each call."""
    last: dict[str, Reply] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            if record["response"]:
                text = record["response"]["choices"][0]["message"]["content"]
                last[record["custom_id"]] = (record["item_id"], text)
    return list(last.values())


def harness_replies(folder: str) -> list[Reply]:
    (path,) = (OWN / "lm_eval" / folder).glob("*/samples_*.jsonl")
    records = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    kept = (record for record in records if record["filter"] == "strict-letter")
    return [(record["doc"]["id"], text) for record in kept for text in record["resps"][0]]


def read(replies: list[Reply], form: AnswerFormat) -> Iterator[tuple[dict[str, Any], Parsed, bool]]:
    for name, text in replies:
        item = items()[name]
        parsed = form.parse(text, item["options"])
        yield item, parsed, form.matches(parsed.answer, item["gold"], item["options"])


def counts(replies: list[Reply], form: AnswerFormat) -> tuple[int, int, int]:
    seen = list(read(replies, form))
    return (
        len(seen),
        sum(parsed.status == "answered" for _, parsed, _ in seen),
        sum(right for _, _, right in seen),
    )


@pytest.mark.parametrize("system", SYSTEMS)
def test_whole_benchmark(system: str) -> None:
    replies = client_replies(OWN / "openai_full" / f"chat_json_{system}.jsonl.gz")
    wanted = truth("truth_full.json")[f"fault-full-{system}-json"]
    assert counts(replies, FORMS["json"]) == (wanted["answered"], wanted["parsed"], wanted["correct"])
    stated = [
        parsed.confidence for _, parsed, _ in read(replies, FORMS["json"]) if parsed.confidence is not None
    ]
    assert len(stated) == wanted["n_with_confidence"]
    assert fmean(stated) == pytest.approx(wanted["confidence_mean_raw"], rel=1e-12)


@pytest.mark.parametrize("variant", ["reordered", "distractor"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_flips_of_the_whole_benchmark(system: str, variant: str) -> None:
    replies = client_replies(OWN / "openai_full" / f"chat_json_{system}.jsonl.gz")
    cells: dict[tuple[str, str], list[tuple[str | None, bool]]] = defaultdict(list)
    for item, parsed, right in read(replies, FORMS["json"]):
        cells[item["family_id"], item["variant"]].append((parsed.answer, right))
    families = [name for name, shown in cells if shown == "base" and (name, variant) in cells]
    pairs = [list(itertools.product(cells[name, "base"], cells[name, variant])) for name in families]
    by_text = fmean(fmean(first[0] != second[0] for first, second in family) for family in pairs)
    by_right = fmean(fmean(first[1] != second[1] for first, second in family) for family in pairs)
    wanted = truth("truth_full.json")[f"fault-full-{system}-json"]["flips"][variant]
    assert len(families) == wanted["families"]
    assert by_text == pytest.approx(wanted["flip_answer_text"], abs=1e-12)
    assert by_right == pytest.approx(wanted["flip_correct"], abs=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_client_loop(system: str, form: str) -> None:
    name = f"chat_{form}_{system}.jsonl.gz"
    wanted = truth("truth.json")["loop"][name]
    answered, parsed, correct = counts(client_replies(OWN / "openai_loop" / name), FORMS[form])
    assert (answered, answered - parsed, correct) == (
        wanted["calls_answered"],
        wanted["unparsed"],
        wanted["correct"],
    )


@pytest.mark.parametrize("folder", [*SYSTEMS, "smollm2-2shot-t1-reseed"])
def test_harness_samples(folder: str) -> None:
    reseeded = folder.endswith("-reseed")
    tag = f"reseed-lmeval-{folder.removesuffix('-reseed')}" if reseeded else f"lmeval-{folder}"
    wanted = truth("truth.json")["wire"][tag]
    expected = (wanted["ok"], wanted["records_parsed"], wanted["records_correct"])
    assert counts(harness_replies(folder), FORMS["letter"]) == expected


def every_reply() -> Iterator[tuple[str, Reply]]:
    for path in sorted(OWN.glob("openai_*/chat_*.jsonl.gz")):
        form = path.name.split("_")[1]
        yield from ((form, reply) for reply in client_replies(path))
    for folder in (*SYSTEMS, "smollm2-2shot-t1-reseed"):
        yield from (("letter", reply) for reply in harness_replies(folder))


def strict_rule() -> ModuleType:
    """The rule behind the truth, from the sample's own folder: an independent parser."""
    spec = importlib.util.spec_from_file_location("bench_common", OWN / "bench" / "common.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves a file open
        spec.loader.exec_module(module)
    return module


def test_reply_by_reply_as_the_strict_rule() -> None:
    strict, disagreements = strict_rule(), []
    for form, (name, text) in every_reply():
        options = items()[name]["options"]
        letter, confidence, _ = strict.parse(text, form, options)
        expected = FORMS[form].canonical(letter, options) if letter else None
        parsed = FORMS[form].parse(text, options)
        if (parsed.answer, parsed.confidence) != (expected, confidence):
            disagreements.append((text, parsed, expected, confidence))
    assert disagreements == []


def test_what_option_texts_would_add() -> None:
    """Two replies of all name an option by its text; both are real, and the truth calls them unparsed."""
    added = Counter(
        text
        for form, (name, text) in every_reply()
        if FORMS[form].parse(text, items()[name]["options"]).answer is None
        and AnswerFormat(field=FORMS[form].field, option_text=True)
        .parse(text, items()[name]["options"])
        .answer
    )
    assert added == {'{"answer": "no-return rule", "confidence": 0}': 1, '{"answer": "Greta" }': 1}


@pytest.mark.parametrize(
    ("system", "correct", "unparsed"),
    [
        ("6b_finetuning", 286, 6),
        ("6b_verification", 515, 1),
        ("175b_finetuning", 458, 7),
        ("175b_verification", 742, 1),
    ],
)
def test_grade_school_numbers(system: str, correct: int, unparsed: int) -> None:
    form = AnswerFormat("number", field=None, pattern=r"A:\s*(.+)")
    right = silent = 0
    for record in map(json.loads, GRADE_SCHOOL.read_text(encoding="utf-8").splitlines()):
        key = form.parse(record["ground_truth"])
        parsed = form.parse(record[system]["solution"])
        assert form.matches(parsed.answer, key.answer) == record[system]["is_correct"]
        right += form.matches(parsed.answer, key.answer)
        silent += parsed.status == "unparsed"
    assert (right, silent) == (correct, unparsed)


@pytest.mark.parametrize(("kind", "keys", "replies"), [
    ("text", ["Oslo", "Kristiania"], ["kristiania", "Oslo.", "Bergen"]),
    ("number", ["18", "18.5"], ["18.50", "18", "19"]),
])  # fmt: skip
def test_any_of_several_accepted_keys_is_right(
    kind: Any, keys: list[str], replies: list[str], tmp_path: Path
) -> None:
    rows = [
        {
            "item": f"q{n}",
            "model": "m",
            "gold": keys if n else json.dumps(keys),
            "response": f"Answer: {reply}",
        }
        for n, reply in enumerate(replies)
    ]
    wanted = [float(AnswerFormat(kind, field=None).matches(reply.strip("."), keys)) for reply in replies]
    for name, lines in (
        ("lists.jsonl", rows),
        ("texts.jsonl", [r | {"gold": json.dumps(keys)} for r in rows]),
        ("saved_by_pandas.jsonl", [r | {"gold": repr(keys)} for r in rows]),
    ):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in lines))
        form = AnswerFormat(kind, field=None, pattern=r"Answer: (.*?)\.?$")
        table = ps.read_runs(tmp_path / name, family="item", answers=form).table
        assert table.column("score").to_pylist() == wanted == [1.0, 1.0, 0.0]
        assert json.loads(table.column("gold")[0].as_py()) == [form.canonical(key) for key in keys]


@pytest.mark.parametrize("kind", ["text", "set", "json"])
@pytest.mark.parametrize(
    "text", ["['Oslo' 'Kristiania']", "['Oslo'\n 'Kristiania']", "array(['Oslo'], dtype=object)"]
)
def test_keys_as_numpy_prints_them_are_refused(text: str, kind: Any, tmp_path: Path) -> None:
    pd.DataFrame({"item": ["q"], "model": "m", "gold": text, "response": "Oslo"}).to_csv(
        tmp_path / "a.csv", index=False
    )
    with pytest.raises(PairingError, match=r"key of a\.csv:2 cannot be used.*as NumPy prints it.*as JSON"):
        ps.read_runs(tmp_path / "a.csv", family="item", answers=AnswerFormat(kind, field=None))


@pytest.mark.parametrize(
    ("kind", "key", "right", "wrong"),
    [
        ("set", "['Oslo', 'Bergen']", "Bergen, Oslo", "Oslo"),
        ("json", "['Oslo', 'Bergen']", '["Oslo", "Bergen"]', '["Bergen", "Oslo"]'),
        ("json", "{'city': 'Oslo', 'rank': None}", '{"rank": null, "city": "Oslo"}', '{"city": "Oslo"}'),
    ],
)
def test_a_key_with_parts_may_be_written_as_python_does(
    kind: Any, key: str, right: str, wrong: str, tmp_path: Path
) -> None:
    rows = [
        {"item": f"q{n}", "model": "m", "gold": key, "response": said}
        for n, said in enumerate((right, wrong))
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "a.json").write_text(json.dumps(rows))
    for name in ("a.csv", "a.json"):
        form = AnswerFormat(kind, field=None)
        assert ps.read_runs(tmp_path / name, family="item", answers=form).frame["score"].tolist() == [1, 0]
    assert AnswerFormat("json").matches(AnswerFormat("json").canonical(key), key), "the text itself, too"


STATED = {"Answer: {} (confidence 80%)": 0.8, "Confidence: 0.9\nAnswer: {}": 0.9, "Answer: {}": None}


@pytest.mark.parametrize(
    ("kind", "key", "pattern"),
    [
        ("choice", "B", None),
        ("number", "42", r"Answer: (\d+)"),
        ("text", "Oslo", r"Answer: ([^(\n]+)"),
        ("set", "a, b", r"Answer: ([^(\n]+)"),
    ],
)
def test_a_confidence_in_a_plain_reply_is_a_part_of_it(
    kind: Any, key: str, pattern: str | None, tmp_path: Path
) -> None:
    """As the docs say; the whole reply is never taken for a number."""
    rows = [
        {"item": f"q{n}", "model": "m", "gold": key, "response": text.format(key)}
        for n, text in enumerate(STATED)
    ]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    records = ps.read_runs(
        tmp_path / "a.json", family="item", answers=AnswerFormat(kind, field=None, pattern=pattern),
        confidence=ps.extract("response", r"(?is)(?:.*confidence:? ([\d.]+%?))?"),
    ).table  # fmt: skip
    assert records.column("score").to_pylist() == [1.0] * len(STATED)
    assert records.column("confidence").to_pylist() == list(STATED.values())
    for text in STATED:
        parsed = AnswerFormat(kind, field=None).parse(text.format(key))
        assert parsed.confidence is None
        assert kind in ("text", "set") or parsed.answer in (key, None)


def test_elements_of_a_set_may_hold_commas_where_they_are_quoted() -> None:
    form = AnswerFormat("set", field=None)
    assert form.canonical("['a, b', 'c']") == form.canonical('["c", "a, b"]')
    assert form.canonical("['a' 'b']") != form.canonical("['ab']")


def test_a_set_that_is_a_list_and_a_choice_with_several_keys_are_no_alternatives() -> None:
    assert not AnswerFormat("set").matches("a", ["a", "b"])
    with pytest.raises(PairstatsError, match="must be one of the item's options"):
        AnswerFormat("choice").matches("A", '["A", "C"]', {"A": "x", "B": "y", "C": "z"})


def test_an_answer_that_is_a_list_is_no_list_of_keys() -> None:
    form = AnswerFormat("text", field=None)
    assert form.matches("[1, 2]", "[1, 2]")
    assert not form.matches("1", "[1, 2]")
    assert form.matches('["a", "b"]', '["a", "b"]')
    assert form.matches("b", '["a", "b", null]')
