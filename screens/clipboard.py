"""Handing a text over to the terminal's clipboard, or to a file where it does not take it."""

from __future__ import annotations

import tempfile
from typing import Any

from textual.app import App

from store.formatting import pluralize

OSC52_LIMIT = 74_994
"""Bytes that terminals are known to take in one OSC 52 sequence; longer texts go to a file."""


def to_clipboard(app: App[Any], text: str) -> str:
    """Send a text to the terminal's clipboard.

    Returns:
        What was done; empty where the text is too long or has no UTF-8.
    """
    data = text.encode("utf-8", "surrogatepass")
    # A lone surrogate has no UTF-8; only a file can take it over exactly.
    if len(data) > OSC52_LIMIT or any("\ud800" <= letter <= "\udfff" for letter in text):
        return ""
    app.copy_to_clipboard(text)
    return f"{pluralize(len(text), 'character')} sent to the terminal's clipboard (OSC 52)"


def to_file(text: str) -> str:
    """Write a text to a new file; return what was done, with the file's path."""
    with tempfile.NamedTemporaryFile(
        "w",
        encoding="utf-8",
        errors="surrogatepass",
        newline="",
        prefix="workbench-",
        suffix=".txt",
        delete=False,
    ) as file:
        file.write(text)
    return f"{pluralize(len(text), 'character')} written to {file.name}"
