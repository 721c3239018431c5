"""Bulk work in DuckDB's own SQL: reading files into staging tables, publishing them, writing them out."""
