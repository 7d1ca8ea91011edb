"""check, for records: red flags first, then what is complete, then further findings."""

from __future__ import annotations

import argparse

from pairstats.commands.common import FINDINGS, OK, print_json


def check(given: argparse.Namespace) -> int:
    """Print every way in which a file breaks the format; where it does not, what should be explained."""
    from pairstats.errors import SchemaError
    from pairstats.records.table import load_records
    from pairstats.red_flags.check import check_records

    try:
        records = load_records(given.file)
    except SchemaError as error:
        if given.json:
            print_json({"file": str(given.file), "findings": list(error.findings) or [str(error)]})
        else:
            print(error)
        return FINDINGS
    found = check_records(records)
    if given.json:
        print_json({"file": str(given.file), **found.to_dict()})
    else:
        print(found)
    return FINDINGS if found.any else OK
