"""Write records/fairscreen again, byte for byte: `python analyses/fairscreen/make_records.py [folder]`."""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from pathlib import Path

from batch_files import write_batch
from decisions import cluster, exploratory, kaggle
from families import all_families, item_rows
from kaggle_files import write_run
from plan import CLUSTER, FOUND, HOSTED, KAGGLE, SEED, THINKING

HERE = Path(__file__).resolve().parent
HOME = HERE.parents[1] / "records" / "fairscreen"


def write_raw(folder: Path) -> list[Path]:
    """Write item table, batch output and run files."""
    folder.mkdir(parents=True, exist_ok=True)
    items = folder / "items.jsonl.gz"
    rows = [json.dumps(row) for family in all_families() for row in item_rows(family)]
    with open(items, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(("\n".join(rows) + "\n").encode())
    written, raw_folder = [items], folder / "raw"
    models = {model.name: model for model in CLUSTER}
    for (name, condition), answers in cluster().items():
        path = raw_folder / "cluster" / name / f"{condition}.jsonl.gz"
        written.append(write_batch(path, models[name], condition, answers))
    for (name, condition), answers in exploratory().items():
        path, thinking = (
            raw_folder / "exploratory" / name / f"{condition}.jsonl.gz",
            name.endswith("thinking"),
        )
        written.append(
            write_batch(path, THINKING if thinking else HOSTED, condition, answers, thinking=thinking)
        )
    runs = kaggle()
    for n, model in enumerate(KAGGLE):
        written.append(write_run(model, runs[model.name], raw_folder / "kaggle", 4_300_011 + 97 * n))
    return written


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
        "made_by": "analyses/fairscreen/make_records.py", "seed": SEED, "draw": FOUND,
        "fitted": "which families and decisions are wrong, totals that are not printed, control families, families "
        "with evidence missing, tokens, times",
        "sha256": dict(sorted(sums.items())),
    }  # fmt: skip
    (folder / "manifest.json").write_text(
        json.dumps(content, indent=2) + "\n", encoding="utf-8", newline="\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HOME)
