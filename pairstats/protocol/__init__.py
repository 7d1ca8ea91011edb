"""The protocol file: what was asked, written down before the data and read as frozen values."""

from pairstats.protocol.build import (
    build_answers,
    build_claim,
    build_comparison,
    build_estimand,
    build_interval,
    build_mapping,
    with_method,
)
from pairstats.protocol.parse import ProtocolFile, load_protocol, read_protocol
from pairstats.protocol.values import Protocol

__all__ = [
    "Protocol",
    "ProtocolFile",
    "build_answers",
    "build_claim",
    "build_comparison",
    "build_estimand",
    "build_interval",
    "build_mapping",
    "load_protocol",
    "read_protocol",
    "with_method",
]
