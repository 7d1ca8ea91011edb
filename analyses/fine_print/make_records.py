"""Write records/fine_print again, byte for byte: `python analyses/fine_print/make_records.py [folder]`."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import easy_dates
import easy_facts
import easy_pages
import hard_facts
import hard_pages
import hard_records
from packets import Packet, item_rows
from plan import ASKED, SEED
from run_files import write_run, write_task

HERE = Path(__file__).resolve().parent
HOME = HERE.parents[1] / "records" / "fine_print"


def all_packets() -> list[Packet]:
    """The 80 families, five of each category."""
    easy = (
        easy_pages.explicit_authority,
        easy_pages.scope_amendment,
        easy_pages.unresolved_authority,
        easy_dates.exact_deadlines,
        easy_dates.business_days,
        easy_facts.eligibility,
        easy_facts.submission_artifacts,
        easy_facts.notification_payout,
    )
    hard = (
        hard_pages.two_hop_precedence, hard_pages.long_distractors, hard_pages.multi_turn, hard_facts.tz_dst,
        hard_facts.business_day_chains, hard_facts.compound, hard_records.aggregation, hard_records.aggregation_xl,
    )  # fmt: skip
    return [packet for category in (*easy, *hard) for packet in category()]


def write_raw(folder: Path) -> list[Path]:
    """Write item table and run files."""
    folder.mkdir(parents=True, exist_ok=True)
    packets = all_packets()
    items = folder / "items.jsonl"
    rows = [json.dumps(row) for packet in packets for row in item_rows(packet)]
    items.write_text("\n".join(rows) + "\n", encoding="utf-8", newline="\n")
    written = [write_run(asked, packets, folder / "raw") for asked in ASKED]
    runs = sorted({path.parents[2] for path in written})
    return [items, *map(write_task, runs), *written]


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
        "made_by": "analyses/fine_print/make_records.py", "seed": SEED,
        "fitted": "joint outcomes, which copy and family is wrong where the write-up does not say, confidences, "
        "token counts, times",
        "sha256": dict(sorted(sums.items())),
    }  # fmt: skip
    (folder / "manifest.json").write_text(
        json.dumps(content, indent=2) + "\n", encoding="utf-8", newline="\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HOME)
