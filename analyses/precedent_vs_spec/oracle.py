"""A second oracle for both values of every row: it reads the text of a prompt and nothing else.

Dates come from NumPy, rounding from `decimal`, the filled rows from the prompt itself. It shares no code with
`tables.py`; the tests hold every key against it, and every filled row.
"""

from __future__ import annotations

import re
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal

import numpy as np

Pair = tuple[str, str]


def solve(prompt: str) -> tuple[list[Pair], list[tuple[Pair, str]]]:
    """Compute both values (by the header, by the other rule) of the rows to complete, and of the filled ones.

    Returns
    -------
    tuple
        Pairs of the new rows; and of each filled row its pair and what is filled in.
    """
    header = prompt.split("\n")[1]
    lines = [line for line in prompt.split("\n") if re.match(r"\| \d+ \|", line)]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    asked = re.search(r"Complete rows (\d+) to (\d+)\.", prompt)
    if asked is None:
        raise ValueError(f"no rows are asked for: {prompt!r}")
    first, last = int(asked[1]), int(asked[2])
    by_row = {int(row[0]): (both(header, row[2:-1]), row[-1]) for row in rows}
    new = [by_row[n][0] for n in range(first, last + 1)]
    return new, [by_row[n] for n in range(1, first)]


def both(header: str, shown: list[str]) -> Pair:
    """Compute the value by the header's rule, and by the one that the filled rows may follow."""
    if "sales tax of 10%" in header:
        price = Decimal(shown[0])
        return f"{price * Decimal('1.10'):.2f}", f"{price * Decimal('1.08'):.2f}"
    if "both counted" in header:
        nights = (np.datetime64(shown[1]) - np.datetime64(shown[0])).astype(int)
        return str(nights + 1), str(nights)
    if "rounded to the nearest whole dollar" in header:
        fee = Decimal(shown[0]) * Decimal("0.07")
        return tuple(str(fee.quantize(Decimal(1), rounding=r)) for r in (ROUND_HALF_EVEN, ROUND_DOWN))  # type: ignore[return-value]
    if "three business days" in header:
        day = np.datetime64(shown[0])
        # An order on a weekend counts from its Friday: the first business day after it is Monday.
        return str(np.busday_offset(day, 3, roll="backward")), str(day + np.timedelta64(3, "D"))
    if "H:MM" in header:
        minutes = np.timedelta64(int(shown[0].split(":")[0]), "h") + np.timedelta64(
            int(shown[0].split(":")[1]), "m"
        )
        return str(minutes.astype("timedelta64[m]").astype(int)), str(int(shown[0].replace(":", "")))
    if "strictly greater than 50" in header:
        readings = np.array([int(each) for each in shown[0].split(",")])
        return str(int((readings > 50).sum())), str(int((readings >= 50).sum()))
    raise ValueError(f"no rule is known for {header!r}")
