"""The protocol file: what was asked, written down before the data and read as frozen values."""

from pairstats.protocol.build import (
    build_answers,
    build_claim,
    build_comparison,
    build_estimand,
    build_interval,
)
from pairstats.protocol.parse import load_protocol
from pairstats.protocol.values import Protocol

__all__ = [
    "Protocol",
    "build_answers",
    "build_claim",
    "build_comparison",
    "build_estimand",
    "build_interval",
    "load_protocol",
]
