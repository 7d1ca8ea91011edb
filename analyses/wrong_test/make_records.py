"""Write records/wrong_test again, byte for byte: `python analyses/wrong_test/make_records.py [folder]`."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from cases import CASES, item_row
from plan import SEED
from run_files import write_all

HERE = Path(__file__).resolve().parent
HOME = HERE.parents[1] / "records" / "wrong_test"


def write_raw(folder: Path) -> list[Path]:
    """Write item table and run files."""
    folder.mkdir(parents=True, exist_ok=True)
    items = folder / "items.jsonl"
    lines = [json.dumps(item_row(case)) for case in CASES]
    items.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return [items, *write_all(folder / "raw")]


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
    content = {
        "made_by": "analyses/wrong_test/make_records.py", "seed": SEED,
        "fitted": "texts of cases and replies, which cases and repeats an outcome falls on where the write-up does "
        "not say, behaviours of the leaderboard run, the pilots' cases, Qwen but for its refusals, tokens, times",
        "sha256": {
            path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(written)
        },
    }  # fmt: skip
    text = json.dumps(content, indent=2) + "\n"
    (folder / "manifest.json").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HOME)
