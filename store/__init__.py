"""Storage: the workspace file, its record, queries, measures and formats. Imports no floor above."""
