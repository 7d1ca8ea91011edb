"""Several levels of a factor at once: possible ranks, and one global test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairstats.arguments import checked
from pairstats.asking import check_estimand
from pairstats.errors import PairstatsError, counted
from pairstats.estimands import Estimand
from pairstats.infer import asked_for
from pairstats.numeric.cochran import cochran_q
from pairstats.numeric.family import family_interval
from pairstats.numeric.rank_sets import group_letters, indistinguishable_groups, rank_intervals
from pairstats.pairs import TIE, paired_units
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.rows import Asked, blank_notes, families_only, family_notes
from pairstats.sums import FamilySums, Units
from pairstats.verbs.replies import noted, provenance


@dataclass(frozen=True, eq=False)
class _Stratum:
    """Levels of one factor in one combination of the other cells, on the units that all of them share."""

    labels: dict[str, Any]
    levels: tuple[str, ...]
    sums: FamilySums
    row: dict[str, Any]
    notes: list[str]
    own: tuple[list[str], ...]
    """Notes on each level alone."""
    together: list[str]
    """Notes on all levels together."""

    @property
    def means(self) -> np.ndarray:
        """Mean of each family at each level, shape (G, k)."""
        means: np.ndarray = self.sums.means
        return means


@checked
def rank(
    panel: Panel,
    estimand: Estimand,
    factor: str = "model",
    *,
    method: str = "holm",
    confidence_level: float = 0.95,
) -> Estimates:
    """Ranks that each level of a factor may have, and which levels cannot be told apart.

    Use it in place of a rank column: one rank per model looks like data and is none. Not for two levels, nor
    for how large a difference is; `contrast` covers both. A higher value counts as better.

    Parameters
    ----------
    panel : Panel
    estimand : Estimand
    factor : str, default "model"
        Its levels are ranked within each combination of the panel's other cells, on shared units.
    method : str, default "holm"
        How levels are told apart, as in `pairstats.numeric.rank_intervals`: an adjustment of the exact
        pairwise sign-flip tests ("holm", "shaffer", "romano-wolf"), or simultaneous intervals
        ("bonferroni-jeffreys", "family-cp" ...).
    confidence_level : float, default 0.95
        That all rank intervals are right at once; the value's own interval is at this level alone.

    Returns
    -------
    Estimates
        Two rows a level, best value first, in columns for the panel's other cells and for `factor`:

        * the value: ``estimand`` and ``estimate``, its family interval ``conf_low`` to ``conf_high`` by
          ``method``; none where the estimand has no known range. ``note`` says how many of the units left out
          are missing at this level, and what else must be said of its value;
        * its rank: ``estimand`` is ``rank(...)``, ``conf_low`` the best rank that it may have and ``conf_high``
          the worst, without an ``estimate``; ``method`` says how levels were told apart, ``seed`` the draw,
          where there was one, and ``note`` its group letters and the levels that it is not told apart from.

        Both have ``conf_level`` and ``alternative``, ``n_families`` and ``n_units``, of which all levels have an
        answer, ``n_missing`` (units left out at every level because not all have them), ``population``,
        ``weight`` and ``registered`` (False: only a protocol registers). ``provenance`` holds ``pairstats`` (the
        version), the panel's ``no_answer`` and ``population``, ``method`` and ``confidence_level`` as asked, and
        ``groups``: by combination of the other cells ("all" without any), the largest groups of levels of which
        no two were told apart; groups may overlap.

    Raises
    ------
    PairingError, PairstatsError

    Notes
    -----
    Formulas and sources: `all_pairs`, `rank_intervals`, `rank_bounds`, `indistinguishable_groups` of
    `pairstats.numeric`.

    References
    ----------
    Mogstad, M., Romano, J. P., Shaikh, A. M. & Wilhelm, D. (2024). Review of Economic Studies 91, 476-518.
    doi:10.1093/restud/rdad006

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame([{"family": f"f{f}", "item": "q", "model": m, "score": float(m == "a" or f < 2)}
    ...                      for f in range(12) for m in "abc"])
    >>> from pairstats import Mean
    >>> found = rank(Panel(rows), Mean("score"))
    >>> found.where(estimand="rank(accuracy)").frame[["model", "conf_low", "conf_high"]].values.tolist()
    [['a', 1.0, 1.0], ['b', 2.0, 3.0], ['c', 2.0, 3.0]]
    """
    asked = _asked(panel, estimand, factor, confidence_level, "A rank")
    rows: list[dict[str, Any]] = []
    groups: dict[str, list[list[str]]] = {}
    for stratum in _strata(asked, factor):
        if not len(stratum.sums):
            rows.append(_empty(stratum))
            continue
        found = rank_intervals(
            stratum.means, sizes=stratum.sums.den[:, 0], method=method, confidence_level=confidence_level,
            bounds=asked.estimand.bounds or (0.0, 1.0),
        )  # fmt: skip
        sets = indistinguishable_groups(found.better, order=found.estimate)
        letters = group_letters(found.better, order=found.estimate)
        key = " ".join(map(str, stratum.labels.values())) or "all"
        groups[key] = [[stratum.levels[i] for i in members] for members in sets]
        for i in np.argsort(-found.estimate, kind="stable").tolist():
            alike = [
                name for j, name in enumerate(stratum.levels)
                if j != i and not (found.better[i, j] or found.better[j, i])
            ]  # fmt: skip
            told = (
                f"not told apart from {', '.join(map(str, alike))}" if alike else "told apart from all others"
            )
            level = {factor: stratum.levels[i]}
            rows.append(
                noted(
                    panel, stratum.row | level | _value(asked, stratum, i), [*stratum.notes, *stratum.own[i]]
                )
            )
            rows.append(
                stratum.row | level | {
                    "estimand": f"rank({asked.estimand.name})", "conf_low": float(found.best[i]),
                    "conf_high": float(found.worst[i]), "method": f"ranks by {found.method}", "seed": found.seed,
                    "note": f"group {letters[i]}: {told}",
                }
            )  # fmt: skip
    settings = provenance(panel, method=method, confidence_level=confidence_level, groups=groups)
    return Estimates.from_rows(rows, factors=(*_others(panel, factor), factor), provenance=settings)


@checked
def omnibus(
    panel: Panel,
    estimand: Estimand,
    factor: str = "model",
    *,
    method: str | None = None,
    n_resamples: int = 9999,
) -> Estimates:
    """Test whether all levels of a factor do equally well: Cochran's Q with labels permuted within families.

    Use it as the one global test of three or more levels. Not to find which differ: `contrast` with
    ``Pairwise`` and Holm's adjustment covers that, and does not need this test first unless it is registered.

    Parameters
    ----------
    panel : Panel
    estimand : Estimand
    factor : str, default "model"
    method : {"exact", "monte-carlo", "chi2"}, optional
        Left out, the exact law where it takes about a second, otherwise Monte Carlo with a seed from the data.
    n_resamples : int, default 9999

    Returns
    -------
    Estimates
        One row for each combination of the panel's other cells. ``statistic`` is Q, ``n_families`` counts the
        families of shared units, ``n_missing`` the units that not all levels have.

    Raises
    ------
    PairingError, PairstatsError

    Notes
    -----
    Formula and sources: `cochran_q` of `pairstats.numeric`.

    References
    ----------
    Cochran, W. G. (1950). Biometrika 37, 256-266. doi:10.1093/biomet/37.3-4.256

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame([{"family": f"f{f}", "item": "q", "model": m, "score": float(m == "a" or f < 2)}
    ...                      for f in range(12) for m in "abc"])
    >>> from pairstats import Mean
    >>> found = omnibus(Panel(rows), Mean("score")).frame
    >>> round(found["statistic"].item(), 3), round(found["p_value"].item(), 7)
    (20.0, 5.08e-05)
    """
    asked = _asked(panel, estimand, factor, 0.95, "A global test")
    rows = []
    for stratum in _strata(asked, factor):
        row = stratum.row | {"contrast": f"equal over {factor}", "null": None, "conf_level": None}
        if not len(stratum.sums):
            rows.append(row | _empty(stratum))
            continue
        test = cochran_q(stratum.sums.num, method=method, n_resamples=n_resamples)
        floor = 1 / (n_resamples + 1) if test.method == "monte-carlo" else None
        found = {
            "statistic": test.statistic, "p_value": test.p_value, "mc_error": test.mc_error, "p_floor": floor,
            "seed": test.seed,
            "method": f"Cochran's Q by families ({test.method})",
            "note": f"{test.df} degrees of freedom, {test.n_informative} families whose levels differ",
        }  # fmt: skip
        rows.append(noted(panel, row | found, [*stratum.notes, *stratum.together]))
    settings = provenance(panel, factor=factor, n_resamples=n_resamples)
    return Estimates.from_rows(rows, factors=_others(panel, factor), provenance=settings)


def _asked(panel: Panel, estimand: Estimand, factor: str, level: float, what: str) -> Asked:
    panel.require(factor)
    check_estimand(panel, estimand)
    families_only(panel, what)
    return asked_for(panel.by((*_others(panel, factor), factor)), estimand, None, level)


def _others(panel: Panel, factor: str) -> tuple[str, ...]:
    return tuple(name for name in panel.cells if name != factor)


def _strata(asked: Asked, factor: str) -> Iterator[_Stratum]:
    """Levels of the factor within each combination of the other cells."""
    cells = asked.panel.cells
    units, paired = paired_units(asked, (factor,), cells)
    place = cells.index(factor)
    for key in sorted({cell[:place] + cell[place + 1 :] for cell in units.cells}):
        columns = [c for c, cell in enumerate(units.cells) if cell[:place] + cell[place + 1 :] == key]
        if len(columns) < 2:
            raise PairstatsError(
                f"At least two levels of {factor!r} must be there to compare, but {key or 'the panel'} has "
                f"{units.cells[columns[0]][place]!r} only. Leave it out with panel.where()."
            )
        sums, row, notes = shared_sums(asked, units, columns)
        labels = dict(zip(_others(asked.panel, factor), key, strict=True))
        levels = tuple(units.cells[c][place] for c in columns)
        own = tuple(_own_notes(asked, units, columns, c) for c in columns)
        notes = [*([paired] if paired else []), *notes]
        yield _Stratum(labels, levels, sums, row | labels, notes, own, together_notes(asked, units, columns))


def _own_notes(asked: Asked, units: Units, columns: list[int], column: int) -> list[str]:
    """Say what one level is without: answers behind its values, and values for units left out for all levels."""
    chosen = units.common(columns)
    planned = (units.n_planned[:, columns] > 0).any(axis=1)
    out = planned & ~chosen
    here = int((out & (units.n_valid[:, column] == 0)).sum())
    lost = [f"{counted(int(out.sum()), 'unit')} left out at every level, {here} of them missing here"]
    return [*(lost if out.any() else []), *blank_notes(asked.estimand, units, [column], chosen)]


def together_notes(asked: Asked, units: Units, columns: list[int]) -> list[str]:
    """Say how many values of all levels, on their shared units, have no answer behind them."""
    notes = blank_notes(asked.estimand, units, columns, units.common(columns))
    return [f"{note}, all levels together" for note in notes]


def shared_sums(
    asked: Asked, units: Units, columns: list[int]
) -> tuple[FamilySums, dict[str, Any], list[str]]:
    """Family totals of the units that count in all columns, the row's counts, and notes.

    Raises
    ------
    PairstatsError
        When the denominators of the columns differ.
    """
    chosen = units.common(columns)
    planned = (units.n_planned[:, columns] > 0).any(axis=1)
    sums = units.add_up(columns, chosen, asked.estimand.weight)
    if len(sums) and not np.all(np.abs(sums.den - sums.den[:, :1]) < TIE):
        raise PairstatsError(
            f"Levels are compared together on equal denominators, but those of {asked.estimand.name} differ. "
            "Compare them in pairs with contrast()."
        )
    row = asked.described() | {
        "n_units": int(chosen.sum()), "n_missing": int((planned & ~chosen).sum()), "n_families": len(sums)
    }  # fmt: skip
    return sums, row, family_notes(sums.den[:, 0]) if len(sums) else []


def _value(asked: Asked, stratum: _Stratum, at: int) -> dict[str, Any]:
    """Value of one level on the shared units, with its own family interval."""
    sizes, means = stratum.sums.den[:, 0], stratum.means[:, at]
    value = {"estimate": float(sizes @ means / sizes.sum())}
    if asked.estimand.bounds is None:
        return value
    found = family_interval(
        means, sizes=sizes, bounds=asked.estimand.bounds, confidence_level=asked.level
    )  # fmt: skip
    return value | {"conf_low": found.low, "conf_high": found.high, "method": found.method}


def _empty(stratum: _Stratum) -> dict[str, Any]:
    return stratum.row | {"note": "no results: no unit is answered at every level"}
