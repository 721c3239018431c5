"""Numbered SQL files that bring a workspace file to the newest schema, all of them in one transaction.

A table is altered without its indexes: drop them before, make them again after, under a new name. DuckDB 1.5
ends the process when one transaction drops an index and makes one of the same name.
"""
