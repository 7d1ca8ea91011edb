"""Stated confidences as probabilities, of records and of columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pairstats import schema
from pairstats.errors import PairingError, listed
from pairstats.readers.cells import Column, cast_to, without_nan
from pairstats.readers.columns import UnusualError, by_word
from pairstats.readers.drafts import Draft, Tally, is_nan

Scale = float | Mapping[str, float]
"""What stands for certainty, in all or by model."""


def scale_confidence(drafts: Sequence[Draft], scale: Scale, tallies: Sequence[Tally]) -> None:
    """Bring stated confidences to [0, 1]; what is no probability then is null, and counted.

    A file that holds numbers between 0 and 1 and numbers above 1 under one scale is noted: no scale fits both.
    So is one that holds the scale itself beside numbers beyond it: 1 among percentages is not certainty.

    Parameters
    ----------
    drafts : sequence of Draft
    scale : float or mapping of model to float
        What stands for certainty: 100 where percentages were asked for. A percent sign wins over it.
    tallies : sequence of Tally
    """
    for draft in drafts:
        stated = draft.fields.get("confidence")
        percent = draft.fields.pop("confidence_is_percent", False)
        if stated is None:
            continue
        if is_nan(stated):
            tallies[draft.file].nan_to_null += 1
            draft.fields["confidence"] = None
            continue
        if isinstance(stated, str) and stated.strip().endswith("%"):
            stated, percent = stated.strip()[:-1], True
        try:
            value = math.nan if isinstance(stated, bool) else float(stated)
        except (TypeError, ValueError):
            value = math.nan
        if not percent:
            full = _scale_of(draft, scale)
            counts = (0 < value < 1, value > 1, value == full, value > full)
            tallies[draft.file].count_stated(full, *map(int, counts))
        value /= 100.0 if percent else _scale_of(draft, scale)
        probability = schema.within(value, (0.0, 1.0))
        tallies[draft.file].confidence_out_of_range += probability is None
        draft.fields["confidence"] = probability


def _scale_of(draft: Draft, scale: Scale) -> float:
    if not isinstance(scale, Mapping):
        return float(scale)
    model = draft.fields["model"]
    if model not in scale:
        raise PairingError(
            f"`confidence_scale` must give a scale for every model, but has none for {model!r}; "
            f"it has {listed(scale, 20)}."
        )
    return float(scale[model])


def scale_column(fields: dict[str, Column], scale: Scale, tally: Tally) -> None:
    """Do the same to the columns of a block.

    Raises
    ------
    UnusualError
        When confidences are not all numbers under a known scale.
    """
    stated = fields.get("confidence")
    if stated is None:
        return
    if pa.types.is_boolean(stated.type):
        raise UnusualError("a confidence that is true or false")
    if pa.types.is_string(stated.type):
        values = by_word(stated, _stated, pa.float64())
    else:
        values = without_nan(tally, cast_to(stated, pa.float64()))
    fields["confidence"] = scaled(values, None, fields["model"], scale, tally)


def scaled(values: Column, percent: Column | None, models: Column, scale: Scale, tally: Tally) -> Column:
    """Bring a column of finite numbers to [0, 1], those in percent whatever the scale is.

    Raises
    ------
    UnusualError
        When a model has no scale.
    """
    scales: Any = _scales(models, scale)
    by_model = not isinstance(scales, float)
    bare = values if percent is None else pc.if_else(percent, pa.scalar(None, pa.float64()), values)
    for each in pc.unique(scales.filter(pc.is_valid(bare))).to_pylist() if by_model else [scales]:
        here = bare.filter(pc.equal(scales, each)) if by_model else bare
        stated = (
            pc.and_(pc.greater(here, 0.0), pc.less(here, 1.0)), pc.greater(here, 1.0), pc.equal(here, each),
            pc.greater(here, each),
        )  # fmt: skip
        tally.count_stated(each, *(pc.sum(mask).as_py() or 0 for mask in stated))
    values = pc.divide(values, scales if percent is None else pc.if_else(percent, 100.0, scales))
    low, high = -schema.TOLERANCE, 1.0 + schema.TOLERANCE
    inside = pc.and_(pc.greater_equal(values, low), pc.less_equal(values, high))
    outside = pc.sum(pc.invert(inside)).as_py() or 0
    tally.confidence_out_of_range += outside
    if outside:
        values = pc.if_else(inside, values, pa.scalar(None, pa.float64()))
    return pc.max_element_wise(pc.min_element_wise(values, 1.0, skip_nulls=False), 0.0, skip_nulls=False)


def _scales(models: Column, scale: Scale) -> float | Column:
    if not isinstance(scale, Mapping):
        return float(scale)
    scales = by_word(models, scale.get, pa.float64())
    if scales.null_count:
        raise UnusualError("a model without a scale")
    return scales


def _stated(text: str) -> float:
    if text.strip().endswith("%"):
        raise UnusualError("a confidence in percent among others")
    try:
        return float(text)
    except ValueError:
        return math.nan
