"""Recompute a results folder by a second path that shares no code with the first.

The first path groups rows with narwhals, adds families up in dense arrays, inverts a contour integral and
convolves by Fourier transform. This one reads ``records.parquet`` and ``protocol.toml`` of the folder, groups
with Arrow compute, adds up in dictionaries, and finds limits and p-values by other algorithms: beta quantiles
and a real Gil-Pelaez integral, polynomials multiplied out term by term, sign arrangements counted in whole
numbers, Holm by hand. Only `pairstats.errors` is imported from the rest of the package; a test keeps it so.
"""

from pairstats.verify.compare import verify_results
from pairstats.verify.result import Check, Difference, Unchecked, Verification

__all__ = ["Check", "Difference", "Unchecked", "Verification", "verify_results"]
