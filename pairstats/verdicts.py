"""Verdicts on claims: what was claimed, what the evidence says, and whether it could have been said."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from pairstats.errors import PairstatsError, one_of
from pairstats.intervals import FamilyInterval, Totals
from pairstats.numeric.dirichlet import dirichlet_mean_cdf
from pairstats.numeric.multiplicity import adjust
from pairstats.numeric.stepdown import max_t
from pairstats.pairs import Compared
from pairstats.rows import joined

CLAIMS = ("difference", "superiority", "noninferiority", "equivalence")
VERDICTS = (
    "superior", "inferior", "higher", "lower", "rises", "falls", "noninferior", "equivalent", "inconclusive",
    "not estimable",
)  # fmt: skip
OF_SLOPE = {"superior": "rises", "inferior": "falls"}
"""A slope has no better side; it has a direction."""
OF_MEASURE = {"superior": "higher", "inferior": "lower"}
"""Neither has a measurement; of a flip rate or a Brier score the lower one is better, and is called lower."""
UPWARDS = ("superior", "rises", "higher")
DOWNWARDS = ("inferior", "falls", "lower")
MULTIPLICITY = ("holm", "hochberg", "bonferroni", "fixed-sequence", "gatekeeping", "max-t", "none")
POWER = 0.8


@dataclass(frozen=True, slots=True)
class Claim:
    """What a contrast is to show.

    Parameters
    ----------
    kind : {"difference", "superiority", "noninferiority", "equivalence"}
    margin : float or tuple of float, optional
        Largest difference that does not matter, positive: one number, or (below, above) for equivalence.
        Mandatory for the last two kinds, meaningless for the first two.
    alpha : float, default 0.05
        Two-sided error rate; each side of an equivalence test has alpha, non-inferiority alpha / 2.
    group : int, default 0
        Rank of the gate for gatekeeping: a later group is tested only where all earlier ones succeeded.

    Examples
    --------
    >>> Claim("equivalence", 0.05).margins
    (0.05, 0.05)
    """

    kind: str = "difference"
    margin: float | tuple[float, float] | None = None
    alpha: float = 0.05
    group: int = 0

    def __post_init__(self) -> None:
        one_of("claim", self.kind, CLAIMS)
        if not 0 < self.alpha < 0.5:
            raise PairstatsError(f"`alpha` must lie between 0 and 0.5, but is {self.alpha}.")
        if self.by_margin != (self.margin is not None):
            needs = "needs" if self.by_margin else "takes no"
            raise PairstatsError(f"A claim of {self.kind} {needs} margin, but it is {self.margin!r}.")
        if self.kind == "noninferiority" and isinstance(self.margin, tuple):
            raise PairstatsError(
                "A claim of noninferiority has one margin, the largest loss that does not matter."
            )
        if self.by_margin and not all(0 < m < math.inf for m in self.margins):
            raise PairstatsError(f"A margin must be a positive number, but is {self.margin!r}.")

    @property
    def by_margin(self) -> bool:
        """Whether the claim is judged by limits against a margin."""
        return self.kind in ("noninferiority", "equivalence")

    @property
    def margins(self) -> tuple[float, float]:
        """Margins below and above zero."""
        if isinstance(self.margin, tuple):
            return self.margin
        return (float(self.margin or 0), float(self.margin or 0))

    def level(self, alpha: float) -> float:
        """Confidence level of the two-sided interval that decides the claim at error rate `alpha`."""
        return 1 - 2 * alpha if self.kind == "equivalence" else 1 - alpha


@dataclass(frozen=True, slots=True)
class Judged:
    """A comparison with its verdict.

    Attributes
    ----------
    compared : Compared
        Its row has ``claim, margin, p_value, p_adjusted, verdict, mdd`` filled, and for a margin claim the
        limits that decided.
    claim : Claim
    alpha : float
        Error rate left to this contrast by the multiplicity procedure.
    """

    compared: Compared
    claim: Claim
    alpha: float


def judge(
    compared: Sequence[Compared],
    claims: Sequence[Claim],
    *,
    method: str = "holm",
    minimum: float = 0.0,
) -> list[Judged]:
    """Adjust a family of comparisons together and give each its verdict.

    Superiority is decided by the adjusted exact sign-flip p-value. Non-inferiority and equivalence are
    decided by family-CP limits: their p-value is the level at which the limit touches the margin, so that
    the interval at the adjusted level lies inside the margin if and only if the adjusted p-value is at most
    alpha.

    Parameters
    ----------
    compared : sequence of Compared
        In the registered order, which matters for "fixed-sequence".
    claims : sequence of Claim
        One each.
    method : {"holm", "hochberg", "bonferroni", "fixed-sequence", "gatekeeping", "max-t", "none"}
        "max-t": step-down by joint sign flips of whole families, for several endpoints or conditions of one
        pair; no margins.
    minimum : float, default 0
        Share of planned units that must be compared for a verdict to be given.

    Returns
    -------
    list of Judged

    Examples
    --------
    >>> from pairstats.pairs import Combined
    >>> import numpy as np
    >>> totals = Totals(np.zeros(100), np.ones(100), (-1.0, 1.0))
    >>> row = {"estimate": 0.0, "p_value": 1.0, "n_families": 100, "n_units": 100, "n_missing": 0}
    >>> [found] = judge([Compared(row, Combined({}, (), np.zeros(0)), totals)], [Claim("equivalence", 0.05)])
    >>> found.compared.row["verdict"], round(found.compared.row["conf_low"], 3)
    ('equivalent', -0.03)
    """
    one_of("method", method, MULTIPLICITY)
    p = [claim_p(each, claim) for each, claim in zip(compared, claims, strict=True)]
    tested = [i for i, value in enumerate(p) if value is not None]
    if method == "max-t":
        together = _max_t([compared[i] for i in tested], [claims[i] for i in tested])
    else:
        values, groups = [p[i] for i in tested], [claims[i].group for i in tested]
        together = adjust_claims(values, groups, method)  # type: ignore[arg-type]
    adjusted = dict(zip(tested, map(float, together), strict=True))
    return [
        _judged(each, claim, p[i], adjusted.get(i), minimum)
        for i, (each, claim) in enumerate(zip(compared, claims, strict=True))
    ]


def _max_t(compared: Sequence[Compared], claims: Sequence[Claim]) -> np.ndarray:
    """Adjust by the joint law of all statistics when the two labels exchange within whole families."""
    if not compared:
        return np.zeros(0)
    families = {each.totals.families if each.totals is not None else None for each in compared}
    sides = {each.row.get("alternative") for each in compared}
    if any(claim.by_margin for claim in claims) or None in families or len(families) > 1 or len(sides) > 1:
        raise PairstatsError(
            "max-t adjusts differences of one pair of systems on the same families, all with one side and "
            "without margins; these comparisons are not. Take holm."
        )
    table = np.column_stack([each.totals.num for each in compared])  # type: ignore[union-attr]
    return np.asarray(max_t(table, alternative=str(sides.pop())).p_adjusted)


def side_note(kind: str, better: str) -> str:
    """Say whom a claim of non-inferiority is about where the lower value is the better one."""
    if kind != "noninferiority" or better != "lower":
        return ""
    return "the lower value is the better one: non-inferiority here says that the second side is no worse"


def claim_p(compared: Compared, claim: Claim) -> float | None:
    """p-value of a claim against its null; None where there is nothing to judge.

    For non-inferiority twice the one-sided p-value, so that all claims are compared with alpha.
    """
    if not claim.by_margin:
        value = compared.row.get("p_value")
        return None if value is None else float(value)
    if compared.totals is not None:
        return margin_p(compared.totals, claim)
    limits = compared.limits_at
    if limits is None:
        return None
    return level_at(lambda alpha: inside(claim, *limits(claim.level(alpha))))


def inside(claim: Claim, low: float, high: float) -> bool:
    """Whether limits lie inside the margin of a claim."""
    below, above = claim.margins
    return low > -below and (claim.kind == "noninferiority" or high < above)


def level_at(decides: Callable[[float], bool]) -> float:
    """Smallest error rate at which limits decide, by bisection on its logarithm; 1 where none does."""
    low, high = -40.0, math.log(0.499)
    if not decides(math.exp(high)):
        return 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if decides(math.exp(middle)) else (middle, high)
    return math.exp(high)


def margin_p(totals: Totals, claim: Claim) -> float:
    """Level at which the family-CP limits of family totals touch the margin of a claim."""
    low, high = totals.in_range("family-cp")
    below, above = claim.margins
    if not (low < -below and (claim.kind == "noninferiority" or above < high)):
        raise PairstatsError(
            f"A margin must lie inside the range of the quantity, {low:g} to {high:g}, but is {claim.margin}."
        )
    lower = _tail(totals, -below, low)
    if claim.kind == "noninferiority":
        return min(1.0, 2 * lower)
    mirrored = Totals(-totals.num, totals.den, (-high, -low))
    return max(lower, _tail(mirrored, -above, -high))


def _tail(totals: Totals, point: float, end: float) -> float:
    """P(weighted mean <= point) with the pseudo-family of the lower family-CP limit."""
    values = np.append(totals.means, end)
    sizes = np.append(totals.den, totals.den.max())
    return max(float(dirichlet_mean_cdf(point, values, np.ones(len(values)), sizes)), np.finfo(float).tiny)


def adjust_claims(p: Sequence[float], groups: Sequence[int], method: str) -> np.ndarray:
    """Adjust p-values together; gates and sequences carry the largest p of what stands before them."""
    values = np.asarray(p, dtype=float)
    if method in ("holm", "hochberg", "bonferroni", "none"):
        return np.asarray(adjust(values, method))
    if method == "fixed-sequence":
        return np.maximum.accumulate(values) if values.size else values
    if method != "gatekeeping":
        raise PairstatsError(f"{method} needs the family totals, not the p-values alone.")
    adjusted, gate = values.copy(), 0.0
    for group in sorted(set(groups)):
        members = np.array([g == group for g in groups])
        adjusted[members] = np.maximum(adjust(values[members], "holm"), gate)
        gate = max(gate, float(adjusted[members].max()))
    return adjusted


def _judged(
    each: Compared, claim: Claim, p: float | None, p_adjusted: float | None, minimum: float
) -> Judged:
    row = {**each.row, "claim": claim.kind, "margin": _shown_margin(claim)}
    if p is None or p_adjusted is None:
        return Judged(replace(each, row={**row, "verdict": "not estimable"}), claim, claim.alpha)
    alpha = claim.alpha * p / p_adjusted
    row |= {"p_value": p, "p_adjusted": p_adjusted, "mdd": detectable(row, claim, alpha)}
    if claim.by_margin:
        row |= _deciding_limits(each, claim, alpha)
    verdict, why = _verdict(row, claim, p_adjusted, each.totals, minimum)
    if each.combined.is_slope or each.combined.better != "higher":
        words = OF_SLOPE if each.combined.is_slope else OF_MEASURE
        verdict = words.get(verdict, verdict)
    two = (
        f"margins {claim.margins[0]:g} below and {claim.margins[1]:g} above"
        if isinstance(claim.margin, tuple)
        else ""
    )
    note = joined((row.get("note"), two, side_note(claim.kind, each.combined.better), why))
    return Judged(replace(each, row={**row, "verdict": verdict, "note": note}), claim, alpha)


def _shown_margin(claim: Claim) -> float | None:
    """The margin as one number; None for two different ones, which the note names."""
    below, above = claim.margins
    return below if claim.by_margin and (below == above or claim.kind == "noninferiority") else None


def _deciding_limits(each: Compared, claim: Claim, alpha: float) -> dict[str, Any]:
    level = claim.level(alpha)
    if each.totals is not None:
        limits = FamilyInterval("cp").limits(each.totals, level, "two-sided")
        low, high = limits.low, limits.high
    else:
        assert each.limits_at is not None, "a claim without limits has no p-value"
        low, high = each.limits_at(level)
    side = "each side" if claim.kind == "equivalence" else "lower limit one-sided"
    return {
        "conf_low": low, "conf_high": high, "conf_level": level, "mc_error": None, "seed": None,
        "null": -claim.margins[0], "method": f"{each.deciding} at the adjusted level ({side})",
        "statistic": None, "p_floor": None,
    }  # fmt: skip


def _verdict(
    row: dict[str, Any], claim: Claim, p_adjusted: float, totals: Totals | None, minimum: float
) -> tuple[str, str]:
    """Verdict, and the reason where it needs one."""
    planned = row["n_units"] + row["n_missing"]
    if planned and row["n_units"] < minimum * planned:
        return (
            "not estimable",
            f"{row['n_units']} of {planned} planned units, below the minimum of {minimum:.0%}",
        )
    if p_adjusted <= claim.alpha:
        return _reached(row, claim), ""
    if claim.by_margin:
        below, above = claim.margins
        if row["conf_high"] < -below:
            return "inferior", "beyond the margin"
        if claim.kind == "equivalence" and row["conf_low"] > above:
            return "superior", "beyond the margin"
    if row.get("population") == "these_cases":
        if not claim.by_margin and row["p_floor"] > claim.alpha:
            return "not estimable", f"these replies cannot give a p below {row['p_floor']:.3g}"
    elif not could_decide(row["n_families"], claim, None if totals is None else totals.bounds):
        return "not estimable", f"{row['n_families']} families cannot support this claim"
    return "inconclusive", ""


def _reached(row: dict[str, Any], claim: Claim) -> str:
    if claim.by_margin:
        return {"noninferiority": "noninferior", "equivalence": "equivalent"}[claim.kind]
    return "superior" if row["estimate"] > 0 else "inferior" if row["estimate"] < 0 else "inconclusive"


def could_decide(families: int, claim: Claim, bounds: tuple[float, float] | None = (-1.0, 1.0)) -> bool:
    """Whether a design with this many families can reach the claim at all.

    For a difference: the smallest two-sided sign-flip p-value, :math:`2^{1-G}`, is at most alpha. For
    equivalence: the claim would be reached if no family differed. For non-inferiority: it would if the first
    side were right and the second wrong in every family.

    Examples
    --------
    >>> could_decide(5, Claim()), could_decide(6, Claim())
    (False, True)
    """
    if families < 1:
        return False
    if not claim.by_margin:
        return 2.0 ** (1 - families) <= claim.alpha
    if bounds is None:
        return True
    clearest = bounds[1] if claim.kind == "noninferiority" else 0.0
    return _decides(families, claim, clearest, bounds)


def decides_equal(families: int, claim: Claim) -> bool:
    """Whether a claim against a margin is reached where no family differs.

    Examples
    --------
    >>> decides_equal(60, Claim("noninferiority", 0.05)), decides_equal(72, Claim("noninferiority", 0.05))
    (False, True)
    """
    return families > 0 and _decides(families, claim, 0.0, (-1.0, 1.0))


def _decides(families: int, claim: Claim, difference: float, bounds: tuple[float, float]) -> bool:
    alike = Totals(np.full(families, difference), np.ones(families), bounds)
    return margin_p(alike, claim) <= claim.alpha


def detectable(row: dict[str, Any], claim: Claim, alpha: float) -> float | None:
    r"""Smallest difference that would be found with 80 % power at this spread and number of families.

    :math:`(z_{1-\alpha/2} + z_{.8})\,SE`. The exact test of a difference needs :math:`k = \lceil 1 - \log_2
    \alpha \rceil` families that differ: it is at least the share of differing 0/1 families with which so many
    are met with 80 % probability, :math:`P(\mathrm{Bin}(G, d) \ge k) = .8`. Where a margin decides, it is at
    least the family-CP limit of G families that do not differ, :math:`1 - \alpha'^{1/G}` with the error of one
    side.
    """
    families, error = row.get("n_families") or 0, row.get("std_error")
    if error is None or not families or math.isnan(error):
        return None
    tail = alpha if claim.kind == "equivalence" else alpha / 2
    normal = float(special.ndtri(1 - tail) + special.ndtri(POWER)) * float(error)
    if row.get("population") == "these_cases":
        return normal
    if claim.by_margin:
        return max(normal, 1 - tail ** (1 / families))
    needed = math.ceil(1 - math.log2(alpha))
    if needed > families:
        return 1.0
    return max(normal, float(special.betaincinv(needed, families - needed + 1, POWER)))


def room_of(judged: Judged) -> Callable[[Totals], float]:
    """How far a verdict is from being another one on other totals, all else equal; it stands above 0."""
    from pairstats.numeric.exact import sign_flip

    verdict, claim, alpha = judged.compared.row["verdict"], judged.claim, judged.alpha
    level = alpha * (1 + 1e-12)

    def room(totals: Totals) -> float:
        if claim.by_margin and verdict in ("noninferior", "equivalent"):
            return level - margin_p(totals, claim)
        if claim.by_margin:
            limits = FamilyInterval("cp").limits(totals, claim.level(alpha), "two-sided")
            return -claim.margins[0] - limits.high if verdict in DOWNWARDS else limits.low - claim.margins[1]
        alternative = judged.compared.row.get("alternative") or "two-sided"
        towards = float(totals.num.sum()) * (1 if verdict in UPWARDS else -1)
        return level - sign_flip(totals.num, alternative=alternative).p_value if towards > 0 else -1.0

    return room
