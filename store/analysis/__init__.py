"""Reads of whole columns, as arrays where they are long, for reports, exports and splits."""
