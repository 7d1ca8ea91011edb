"""The table of decisions: its account, its file, and what may be done to it before any statistic."""

from pairstats.records.table import Records, load_records

__all__ = ["Records", "load_records"]
