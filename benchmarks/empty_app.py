"""The least that a Textual app can do with a workspace file: open it and show how many items it has."""

from __future__ import annotations

import sys

import duckdb
from textual.app import App, ComposeResult
from textual.widgets import Static


class EmptyApp(App[None]):
    """Shows one number."""

    def compose(self) -> ComposeResult:
        """Read the number and show it."""
        connection = duckdb.connect(sys.argv[1])
        (number,) = connection.execute("SELECT count(*) FROM item").fetchone() or (0,)
        yield Static(f"{number:,} items")


if __name__ == "__main__":
    EmptyApp().run()
