"""The table of errors: every built-in problem at one budget, beside the best that is published."""

from pinnsig.table.budget import ROOT, Budget
from pinnsig.table.entries import ENTRIES, Entry, Measure, Published, entry_of
from pinnsig.table.records import read_tables
from pinnsig.table.running import run_table
from pinnsig.table.summary import Line, Summary

__all__ = [
    "ENTRIES",
    "ROOT",
    "Budget",
    "Entry",
    "Line",
    "Measure",
    "Published",
    "Summary",
    "entry_of",
    "read_tables",
    "run_table",
]
