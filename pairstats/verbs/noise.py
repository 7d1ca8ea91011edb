"""How much of a flip is noise, by cell: repeats of one wording, a control arm, and how far answers spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pairstats.arguments import checked
from pairstats.asking import check_estimand
from pairstats.errors import PairstatsError, listed
from pairstats.estimands import FlipRate
from pairstats.numeric.answer_spread import answer_entropy, any_disagreement
from pairstats.numeric.family import Kind
from pairstats.numeric.noise import control_excess, excess_disagreement
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.sums import Units
from pairstats.verbs.questions import ONE_QUESTION, copies_by_cell, no_copies
from pairstats.verbs.replies import noted, number, provenance, share_columns, shared_columns


@checked
def excess_flips(
    panel: Panel, column: str = "answer", *, kind: Kind = "jeffreys", confidence_level: float = 0.95
) -> Estimates:
    """Disagreement between presentations less that between repeats of one presentation, in every cell.

    Use it before a flip rate is read as an effect of wording: at any temperature repeats of one wording
    differ too. Not without repeats: `control_flips` covers that with a control arm.

    Parameters
    ----------
    panel : Panel
        One question a family, with two or more repeats of its variants.
    column : str, default "answer"
    kind : {"jeffreys", "cp"}
        Kind of family interval.
    confidence_level : float, default 0.95

    Returns
    -------
    Estimates
        Rows ``excess_flips`` (signed: a negative one is noise around 0), ``flips_between`` and
        ``flips_within``. ``n_units`` counts presentations with two replies, ``n_missing`` missing replies.

    Raises
    ------
    PairingError

    Notes
    -----
    Formula and sources: `excess_disagreement` of `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"family": list("aaaabbbb"), "item": list("aaaabbbb"), "model": "m",
    ...                      "variant": ["base", "base", "moved", "moved"] * 2, "repeat": [0, 1] * 4,
    ...                      "answer": list("AABBABAA")})
    >>> excess_flips(Panel(rows)).frame["estimate"].tolist()
    [0.5, 0.75, 0.25]
    """
    shared = shared_columns(panel, "Excess over repeat noise", confidence_level, weight="family")
    rows: list[dict[str, Any]] = []
    for copies in copies_by_cell(panel, column, remedy=ONE_QUESTION):
        found = excess_disagreement(copies.presentations(), kind=kind, confidence_level=confidence_level)
        row = {
            **copies.cell, **shared, "n_units": found.n_presentations, "n_missing": found.n_missing
        }  # fmt: skip
        parts = {"excess": found.excess, "between": found.between, "within": found.within}
        for name, share in parts.items():
            columns = share_columns(share)
            if not share.n_families:
                columns["note"] = no_copies(panel, "no question has two presentations with two replies each")
            elif found.n_too_few:
                columns["note"] = f"{found.n_too_few} questions without repeats of two presentations left out"
            named = "excess_flips" if name == "excess" else f"flips_{name}"
            null = {"null": 0.0} if name == "excess" else {}
            rows.append(noted(panel, row | {"estimand": named} | null | columns, copies.notes))
    settings = provenance(panel, interval=f"family-{kind}", confidence_level=confidence_level)
    return Estimates.from_rows(rows, factors=panel.cells, provenance=settings)


@checked
def control_flips(
    panel: Panel,
    variants: Sequence[str] | str,
    control: Sequence[str] | str,
    *,
    reference: str = "base",
    column: str = "answer",
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
) -> Estimates:
    """Flip rate of some variants less that of control variants of the same questions, in every cell.

    Use it where there are no repeats: a control arm, such as names swapped within one group, flips by noise
    alone. Not with repeats: `excess_flips` covers that. "About the same" needs a margin and a 90 % interval.

    Parameters
    ----------
    panel : Panel
    variants, control : str or sequence of str
        Variants whose flips count, and those of the control arm.
    reference : str, default "base"
        Variant that both are compared with.
    column : str, default "answer"
    kind : {"jeffreys", "cp"}
    confidence_level : float, default 0.95

    Returns
    -------
    Estimates
        One row a cell: rate less control rate, with the exact sign-flip test where families carry both arms,
        else with the limits of MOVER and no test; ``note`` gives both rates. ``n_missing`` counts families
        left out.

    Raises
    ------
    PairstatsError
        When the arms overlap.

    Notes
    -----
    Formulas and sources: `mover_difference`, `control_excess` of `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"family": list("aaabbb"), "item": list("aaabbb"), "model": "m",
    ...                      "variant": ["base", "swap", "same"] * 2, "answer": list("ABAAAA")})
    >>> control_flips(Panel(rows), "swap", "same").frame["estimate"].item()
    0.5
    """
    arms = [(arm,) if isinstance(arm, str) else tuple(arm) for arm in (variants, control)]
    both = sorted(set(arms[0]) & set(arms[1]) | {reference} & {*arms[0], *arms[1]})
    if both:
        raise PairstatsError(
            f"`variants`, `control` and `reference` must not share a variant, but {listed(both)} is in two of "
            "them. Name each in one."
        )
    there = panel.levels("variant")
    absent = [name for name in (*arms[0], *arms[1], reference) if name not in there]
    if absent or not all(arms):
        remedy = "" if len(there) > 1 else " Map variant= in read_runs."
        raise PairstatsError(
            f"`variants`, `control` and `reference` must name variants of the panel, {listed(there, 12)}, but "
            + (f"{listed(absent)} is none of them." if absent else "one of them names none.") + remedy
        )  # fmt: skip
    shared = shared_columns(panel, "Excess over a control arm", confidence_level, weight="family")
    rates = [_family_rates(panel, FlipRate(column, reference, (reference, *arm))) for arm in arms]
    label = f"{' + '.join(arms[0])} - {' + '.join(arms[1])}"
    families = sorted({*rates[0].families, *rates[1].families})
    rows = []
    for cell in sorted({*rates[0].cells, *rates[1].cells}):
        treated, other = (_in_order(units, cell, families) for units in rates)
        row = {
            "contrast": label, "estimand": f"flip_rate({column})", "null": 0.0,
            **dict(zip(panel.cells, cell, strict=True)), **shared,
        }  # fmt: skip
        if np.isnan(treated).all() or np.isnan(other).all():
            rows.append(row | {"n_families": 0, "note": "no results: one arm has no pair to compare"})
            continue
        found = control_excess(
            treated, other, paired=bool((~np.isnan(treated) & ~np.isnan(other)).any()), kind=kind,
            confidence_level=confidence_level,
        )  # fmt: skip
        test = found.test
        values = {
            "estimate": found.estimate, "conf_low": found.low, "conf_high": found.high,
            "method": found.method, "n_families": min(found.n_families, found.n_control),
            "n_missing": found.n_dropped, "p_value": test.p_value if test else None,
            "p_floor": test.p_floor if test else None,
            "note": f"{found.rate:.3f} against {found.control_rate:.3f} in the control arm",
        }  # fmt: skip
        rows.append(noted(panel, row | values))
    settings = provenance(panel, interval=f"family-{kind}", confidence_level=confidence_level)
    return Estimates.from_rows(rows, factors=panel.cells, provenance=settings)


def _family_rates(panel: Panel, estimand: FlipRate) -> Units:
    check_estimand(panel, estimand)
    return Units.collect(panel.rows(), estimand, panel.family, panel.cells, panel.unit_of(estimand))


def _in_order(units: Units, cell: tuple[str, ...], families: Sequence[str]) -> np.ndarray:
    """Flip rate of each family in a cell; NaN where it has none."""
    values = dict.fromkeys(families, np.nan)
    if cell in units.cells:
        column = units.position(cell)
        sums = units.add_up([column], units.n_valid[:, column] > 0, "family")
        values |= dict(zip(sums.families, sums.num[:, 0] / sums.den[:, 0], strict=True))
    return np.array([values[family] for family in families])


@checked
def answer_spread(
    panel: Panel, column: str = "answer", *, kind: Kind = "jeffreys", confidence_level: float = 0.95
) -> Estimates:
    """Questions on which not all copies agree, and the entropy of their answers, in every cell.

    Use it to describe k copies of a question. Not to compare numbers of copies: both grow with k, and
    `estimate` with `FlipRate` is unbiased at any.

    Parameters
    ----------
    panel : Panel
        One question a family.
    column : str, default "answer"
    kind : {"jeffreys", "cp"}
    confidence_level : float, default 0.95

    Returns
    -------
    Estimates
        One row ``any_disagreement(k)`` for each number of answered copies k, and one row ``entropy`` (bits).

    Raises
    ------
    PairingError

    Notes
    -----
    Formulas and sources: `any_disagreement`, `answer_entropy` of `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"family": list("aabb"), "item": list("aabb"), "model": "m",
    ...                      "variant": ["base", "moved"] * 2, "answer": list("ABAA")})
    >>> answer_spread(Panel(rows)).frame[["estimand", "estimate"]].values.tolist()
    [['any_disagreement(2)', 0.5], ['entropy', 0.5]]
    """
    shared = shared_columns(panel, "The spread of answers", confidence_level, weight="family")
    options: dict[str, Any] = {"kind": kind, "confidence_level": confidence_level}
    rows: list[dict[str, Any]] = []
    for copies in copies_by_cell(panel, column, remedy=ONE_QUESTION):
        differing = any_disagreement(copies.answers, **options)
        row = {**copies.cell, **shared, "n_missing": differing.n_missing}
        for k, share in zip(differing.copies.tolist(), differing.share, strict=True):
            one = row | {"estimand": f"any_disagreement({k})", **share_columns(share)}
            rows.append(noted(panel, one, copies.notes))
        entropy = answer_entropy(copies.answers, **options)
        columns: dict[str, Any] = {"n_families": entropy.n_families}
        if entropy.n_families:
            used = sorted(set(entropy.copies[entropy.copies >= 2].tolist()))
            columns |= {
                "estimate": number(entropy.value), "conf_low": entropy.low, "conf_high": entropy.high,
                "method": f"family-{kind}", "note": f"bits; {listed(used, 10)} copies a question",
            }  # fmt: skip
        else:
            columns["note"] = no_copies(panel, "no question has two copies")
        rows.append(noted(panel, row | {"estimand": "entropy"} | columns, copies.notes))
    settings = provenance(panel, interval=f"family-{kind}", confidence_level=confidence_level)
    return Estimates.from_rows(rows, factors=panel.cells, provenance=settings)
