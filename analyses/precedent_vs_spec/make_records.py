"""Write the records again, byte for byte: `python analyses/precedent_vs_spec/make_records.py [folder]`."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from batch_files import write_batches
from run_files import write_runs
from tables import SEED, all_tables, item_rows

HERE = Path(__file__).resolve().parent
HOME = HERE.parents[1] / "records" / "precedent_vs_spec"


def write_raw(folder: Path) -> list[Path]:
    """Write item table, run files and batch output."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = all_tables()
    items = folder / "items.jsonl"
    rows = [json.dumps(row) for table in tables for row in item_rows(table)]
    items.write_text("\n".join(rows) + "\n", encoding="utf-8", newline="\n")
    return [
        items,
        *write_runs(tables, folder / "raw" / "kaggle"),
        *write_batches(tables, folder / "raw" / "vllm"),
    ]


def write_parquet(folder: Path) -> Path:
    """Keep the records as the protocol reads and scores them."""
    from pairstats import load_protocol
    from pairstats.analysis import read_sources

    return read_sources(load_protocol(HERE / "protocol.toml")).save(folder / "records.parquet")


def main(folder: Path) -> None:
    """Write everything, and the manifest of checksums."""
    written = write_raw(folder)
    if folder == HOME:  # the protocol reads the records of the repository
        written.append(write_parquet(folder))
    sums = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in written
    }
    content = {
        "made_by": "analyses/precedent_vs_spec/make_records.py", "seed": SEED,
        "fitted": "which tables an outcome falls on, how outcomes spread over doses where the write-up does not "
        "say, joint outcomes, tokens, times, hidden reasoning, lengths but for two medians",
        "sha256": dict(sorted(sums.items())),
    }  # fmt: skip
    (folder / "manifest.json").write_text(
        json.dumps(content, indent=2) + "\n", encoding="utf-8", newline="\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HOME)
