"""What a reader of records should see before any statistic: identical runs, ceilings, copies, keys that repeat."""

from pairstats.red_flags.check import RecordsCheck, check_records

__all__ = ["RecordsCheck", "check_records"]
