"""The ``[power]`` section of a protocol: what is assumed before the data."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pairstats.errors import ProtocolError


@dataclass(frozen=True, slots=True)
class PowerRule:
    """Assumptions under which the power of every contrast is simulated.

    Attributes
    ----------
    rates : dict
        Assumed value of each estimand in every cell, in [0, 1]: a table for each estimand, by level of the
        first factor, then of the next. ``default`` stands for the estimands that are not named.
    families : list of int
        Numbers of families to try.
    icc : float
        Correlation of the 0/1 scores of two copies of a family in one cell, in [0, 1].
    rho : float or dict
        Latent (tetrachoric) correlation between cells on the same copy, in [0, 1]: one number, or one for
        each factor; cells that differ in several factors have the product.
    copies, repeats : list of int, default [1]
        Presentations of a family and calls of each presentation to try.
    instability : float, default 0
        0: repeats of a call agree. 1: they differ as often as copies do.
    factors : list of str, default []
        Columns that the tables of `rates` go by; by default the cells of the design.
    target : float, default 0.8
        Power at which a difference counts as detectable.
    n_simulations : int, default 2000
    seed : int, optional
        By default derived from the assumptions, and printed.

    Examples
    --------
    In a protocol file::

        [power]
        families = [48, 96, 192]
        copies   = [8]
        icc      = 0.4
        rho      = { model = 0.3, condition = 0.8 }

        [power.rates.robust_fidelity]
        small = { direct = 0.40, fairness = 0.40, code = 0.60 }
        large = { direct = 0.95, fairness = 0.95, code = 0.97 }
    """

    rates: dict[str, Any]
    families: list[int]
    icc: float
    rho: float | dict[str, float]
    copies: list[int] = field(default_factory=lambda: [1])
    repeats: list[int] = field(default_factory=lambda: [1])
    instability: float = 0.0
    factors: list[str] = field(default_factory=list)
    target: float = 0.8
    n_simulations: int = 2000
    seed: int | None = None

    def __post_init__(self) -> None:
        found = list(self._faults())
        if found:
            raise ProtocolError("\n".join(found), found)

    def _faults(self) -> Iterator[str]:
        for name in ("families", "copies", "repeats"):
            counts = getattr(self, name)
            if not counts or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in counts):
                yield f"[power] `{name}` must list whole numbers of at least 1, but is {counts}."
        if not self.rates or not all(isinstance(table, dict) for table in self.rates.values()):
            yield (
                "[power] `rates` must hold a table for each estimand; write [power.rates.NAME] with the "
                "assumed value of every cell."
            )
        if self.n_simulations < 100:
            yield f"[power] `n_simulations` must be at least 100, but is {self.n_simulations}."
        if self.seed is not None and self.seed < 0:
            yield f"[power] `seed` must not be negative, but is {self.seed}."
        latent = self.rho.values() if isinstance(self.rho, dict) else [self.rho]
        for name, values in (("icc", [self.icc]), ("rho", latent), ("instability", [self.instability])):
            if not all(0 <= value <= 1 for value in values):
                yield f"[power] `{name}` must lie in [0, 1], but is {getattr(self, name)}."
        if not 0 < self.target < 1:
            yield f"[power] `target` must lie between 0 and 1, but is {self.target}."

    def with_changes(self, **changes: Any) -> PowerRule:
        """Make the same assumptions with some replaced; None leaves one as it is."""
        return dataclasses.replace(self, **{name: v for name, v in changes.items() if v is not None})
