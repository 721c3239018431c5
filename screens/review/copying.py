"""Taking the text of a pane out of the app: to the clipboard, to a file, into a pager."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from pathlib import Path

from textual.app import SuspendNotSupported

from screens.review.reading import ReadingActions
from store.counted import counted

OSC52_LIMIT = 74_994
"""Bytes that terminals are known to take in one OSC 52 sequence; longer texts go to a file."""


class CopyingText(ReadingActions):
    """The part of a review screen that hands the text of a pane over, exactly."""

    def action_copy(self) -> None:
        """Copy the selection or the whole pane, exactly; a long text goes to a file."""
        text = self.pane.copy_text()
        if not text:
            self._say("There is nothing to copy in this pane.")
            return
        data = text.encode("utf-8", "surrogatepass")
        # A lone surrogate has no UTF-8; only a file can take it over exactly.
        sendable = len(data) <= OSC52_LIMIT and not any("\ud800" <= letter <= "\udfff" for letter in text)
        if sendable:
            self.app.copy_to_clipboard(text)
            sent = counted(len(text), "character")
            file = self._key("copy_file")
            self._say(f"{sent} sent to the terminal's clipboard (OSC 52) · {file} writes a file")
        else:
            self.action_copy_file()

    def action_copy_file(self) -> None:
        """Write the selection or the pane to a file, and say where."""
        text = self.pane.copy_text()
        if not text:
            self._say("There is nothing to write in this pane.")
            return
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
        self._say(f"{counted(len(text), 'character')} written to {file.name}")

    def action_pager(self) -> None:
        """Open the pane's text in the pager of the environment, less without one."""
        pager = os.environ.get("PAGER") or shutil.which("less")
        if not pager:
            self._say(f"No pager: set PAGER, or press {self._key('copy_file')} to write a file.", alarm=True)
            return
        text = self.pane.copy_text()
        # Without it, less runs commands and opens other files at a key.
        environment = {**os.environ, "LESSSECURE": "1"}
        with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
            file = Path(folder) / "pane.txt"
            file.write_bytes(text.encode("utf-8", "surrogatepass"))
            try:
                self.context.others.run([*shlex.split(pager), str(file)], environment)
            except (OSError, ValueError, SuspendNotSupported) as error:
                said = f"The pager {pager} did not start ({error}); {self._key('copy_file')} writes a file."
                self._say(said, alarm=True)
        self.refresh()
