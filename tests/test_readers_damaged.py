"""Damaged run files: an error of ours that names the file, never another one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from conftest import SHARED, needs_shared

import pairstats as ps
from pairstats.errors import PairstatsError

SAMPLES = SHARED / "samples"
PATTERNS = (
    "every_eval_ever/converted/arc/**/*_samples.jsonl", "lighteval/generated/details/**/*.parquet",
    "deepeval/generated/evaluation_result_6b*.json", "deepeval/generated/test_run_*5.json",
    "mlflow/generated/eval_results_table_6b*.json", "mlflow/generated/genai_result_df_6b*.json",
    "openai_evals/generated/oaieval_6b*.jsonl", "phoenix/generated/phoenix_6b*",
    "langsmith/generated/6b*.csv", "braintrust/generated/eval_results_6b*.json",
    "ragas/generated/ragas_6b*", "tau_bench/*.trimmed.json", "bbh/navigate_direct.json",
    "zeroeval/gsm_gpt*.json",
)  # fmt: skip
INSERTED = (b"null", b"NaN", b'"', b"}", b"[", b"\xff", b"\\ud800", b"1e999", b"9" * 25, b"\0")
ROUNDS = 2


def damaged(content: bytes, rng: random.Random) -> list[bytes]:
    """The content cut, with bytes changed, with a part left out, and with something put in."""
    one, other = sorted(rng.randrange(len(content)) for _ in range(2))
    changed = bytearray(content)
    for _ in range(rng.choice((1, 3, 20))):
        changed[rng.randrange(len(content))] = rng.randrange(256)
    put_in = content[:one] + rng.choice(INSERTED) + content[one:]
    return [content[:one], bytes(changed), content[:one] + content[other:], put_in]


@needs_shared
@pytest.mark.parametrize("pattern", PATTERNS)
def test_damage_is_an_error_of_ours_or_every_record_is_counted(tmp_path: Path, pattern: str) -> None:
    rng = random.Random(pattern)
    source = sorted(SAMPLES.glob(pattern))[0]
    path = tmp_path / source.name
    refused = 0
    for content in [each for _ in range(ROUNDS) for each in damaged(source.read_bytes(), rng)]:
        path.write_bytes(content)
        for keep_going in (False, True):
            try:
                ledger = ps.read_runs({"m": path}, family="item", keep_going=keep_going).ledger
            except PairstatsError:
                refused += 1
            else:
                totals = ledger["rows"] + ledger["left_out"] + ledger["merged"]
                assert (ledger["records"] == totals).all()
    assert refused
