"""The first run: the ways to a first workspace, and whose judgments are recorded."""
