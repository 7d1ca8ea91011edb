"""draw, report, diff, verify, fill: what is done with results."""

from __future__ import annotations

import argparse
import sys

from pairstats.commands.common import FINDINGS, OK, print_json
from pairstats.errors import counted


def draw(given: argparse.Namespace) -> int:
    """Draw every figure that the results allow."""
    from pairstats import figures
    from pairstats.results import Results

    drawn = figures.draw(Results.load(given.results), given.output, force=given.force)
    paths = [str(path) for path in drawn.paths]
    if given.json:
        print_json({"files": paths, "skipped": dict(drawn.skipped)})
    else:
        for path in paths:
            print(path)
        for name, why in drawn.skipped.items():
            print(f"not drawn: {name}: {why}", file=sys.stderr)
    return OK


def report(given: argparse.Namespace) -> int:
    """Write the report."""
    from pairstats.report import write_report

    path = write_report(given.results, given.output, notebook=given.notebook, force=given.force)
    if given.json:
        print_json({"report": str(path)})
    else:
        print(path)
    return OK


def diff(given: argparse.Namespace) -> int:
    """Say what changed between two results folders, and why."""
    from pairstats.difference import diff_results

    found = diff_results(given.first, given.second)
    if given.json:
        print_json(found.to_dict())
    else:
        print(found)
    return OK if found.same and not found.causes else FINDINGS


def verify(given: argparse.Namespace) -> int:
    """Recompute the main table by a second path."""
    from pairstats.verify import verify_results

    found = verify_results(given.results)
    if given.json:
        print_json(found.to_dict())
    else:
        print(found)
    return OK if found.ok else FINDINGS


def fill(given: argparse.Namespace) -> int:
    """Fill a write-up from results; a number that does not fit its results fails the build."""
    from pairstats.fill import FillError, fill_article

    try:
        filled = fill_article(
            given.article, given.results, given.output, rounding=given.rounding, force=given.force
        )
    except FillError as error:
        if given.json:
            print_json({"faults": [{"line": line, "message": message} for line, message in error.faults]})
        else:
            print(f"pairstats: {error}", file=sys.stderr)
        return FINDINGS
    if given.json:
        print_json({"output": str(given.output), "values": filled.n_values, "rounding": filled.rounding})
    else:
        print(f"{given.output}: {counted(filled.n_values, 'value')} filled, rounding {filled.rounding}")
    return OK
