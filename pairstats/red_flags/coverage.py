"""Items that a model lacks although the other models of its study and condition have them."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from pairstats import schema
from pairstats.red_flags.found import Flag, Rows, first_of

SETTING = ("study", "condition")
"""Columns inside which the models should have the same items."""
ITEM = ("family", "item", "variant")
"""What was asked: an item in one presentation."""


def asked(frame: pd.DataFrame) -> pd.DataFrame:
    """Every item in every setting and model that has a row for it, and whether some reply answers it."""
    answered = frame["status"] == schema.ANSWERED
    keys = [*SETTING, "model", *ITEM]
    found = frame[keys].assign(answered=answered).groupby(keys, dropna=False, observed=True)["answered"].any()
    return found.reset_index()


def coverage(frame: pd.DataFrame) -> pd.DataFrame:
    """Count the items of each model, and those that all models of its study and condition answered.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of the format.

    Returns
    -------
    pandas.DataFrame
        One row a study, condition and model: ``items`` of all models, ``with_rows`` and ``answered`` of this
        one, ``coverage`` (answered of all items), ``common`` (answered by every model). An item counts once a
        variant, and is answered if one of its repeats is.

    Examples
    --------
    >>> rows = {"study": "", "condition": "", "family": "f", "item": ["q1", "q2", "q1"], "variant": "base",
    ...         "model": ["a", "a", "b"], "status": ["answered", "answered", "error"]}
    >>> coverage(pd.DataFrame(rows)).iloc[:, 2:].values.tolist()
    [['a', 2, 2, 2, 1.0, 0], ['b', 2, 1, 0, 0.0, 0]]
    """
    lines = []
    for setting, part in asked(frame).groupby(list(SETTING), dropna=False, observed=True):
        models = part["model"].nunique()
        of_item = part.groupby(list(ITEM), dropna=False, observed=True)["answered"].sum()
        for model, own in part.groupby("model", observed=True):
            answered = int(own["answered"].sum())
            lines.append((
                *setting, model, len(of_item), len(own), answered, answered / len(of_item),
                int((of_item == models).sum()),
            ))  # fmt: skip
    return pd.DataFrame(
        lines, columns=[*SETTING, "model", "items", "with_rows", "answered", "coverage", "common"]
    )


def items_missing(rows: Rows) -> Iterator[Flag]:
    """Find models without a row for items that other models of their study and condition have."""
    told = [name for name in SETTING if rows.frame[name].nunique() > 1]
    for setting, part in asked(rows.frame).groupby(list(SETTING), dropna=False, observed=True):
        part = part.assign(item_=part.groupby(list(ITEM), dropna=False, observed=True).ngroup())
        items = part.drop_duplicates("item_").set_index("item_").sort_index()
        where = "".join(
            f" of {name} {value!r}" for name, value in zip(SETTING, setting, strict=True) if name in told
        )
        for model, own in part.groupby("model", observed=True):
            lacking = items[~items.index.isin(own["item_"])]
            if len(lacking):
                yield Flag(
                    "items_missing", False,
                    f"{model!r} has no row for {len(lacking)} of {len(items)} items{where} that other models have: "
                    "compare on the common ones, or add the rows that are missing", len(lacking), len(items),
                    first_of(map(_name, lacking["item"], lacking["variant"])),
                )  # fmt: skip


def _name(item: str, variant: str) -> str:
    return item if variant == "base" else f"{item} ({variant})"
