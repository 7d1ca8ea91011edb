"""rescore: stored replies scored again, without a model call."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pairstats.commands.common import FINDINGS, OK, print_json


def run(given: argparse.Namespace) -> int:
    """Score again, say what changed, and write; the records that were read are never changed."""
    from pairstats.errors import PairstatsError
    from pairstats.records.file import check_folder, check_overwrite
    from pairstats.records.rescoring import rescore
    from pairstats.records.table import load_records
    from pairstats.result import guarded

    if given.output.exists() and given.output.samefile(given.records):
        raise PairstatsError("The output must be another file than the records, which stay as they were.")
    check_folder(given.output)
    if not given.force:
        check_overwrite(given.output)
    if given.changes is not None:
        _check_changes(given.changes, (given.records, given.scorer, given.output), given.force)
    found = rescore(load_records(given.records), given.scorer, function=given.function)
    found.save(given.output, overwrite=given.force)
    if given.changes is not None:
        guarded(found.changes).to_csv(given.changes, index=False, lineterminator="\n")
    if given.json:
        changes = json.loads(found.changes.to_json(orient="records"))
        print_json(
            {
                "output": str(given.output),
                "replies": found.n_scored,
                "scored_now": found.n_scored_now,
                "changes": changes,
            }
        )
    else:
        print("\n".join(found.changed()))
        print(f"written to {given.output}")
    return FINDINGS if len(found.changes) else OK


def _check_changes(path: Path, others: tuple[Path, ...], force: bool) -> None:
    """Refuse to write the list of changes over any other file."""
    from pairstats.errors import PairstatsError
    from pairstats.outputs import check_file

    if any(path.resolve() == other.resolve() for other in others):
        raise PairstatsError("The list of changes must be a file of its own; name another with --changes.")
    check_file(path, ours=_is_changes, force=force, ending=".csv")


def _is_changes(path: Path) -> bool:
    with path.open(encoding="utf-8", errors="replace") as stream:
        return stream.readline().rstrip().endswith("source,column,before,after")
