"""Measures computed from records: pure functions, no input or output."""
