"""Run files of any platform to the paired long format; knows no statistics.

A reader is a module with one `READER` value (see `pairstats.readers.base`); other packages add theirs through
the entry point group ``pairstats.readers``.
"""

from pairstats.readers.collect import read_runs
from pairstats.readers.mapping import extract
from pairstats.records.table import Records

__all__ = ["Records", "extract", "read_runs"]
