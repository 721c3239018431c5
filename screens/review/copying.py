"""Taking the text of a pane out of the app: to the clipboard, to a file, into a pager."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from pathlib import Path

from textual.app import SuspendNotSupported

from screens.clipboard import to_clipboard, to_file
from screens.dispatch import Handler, Handlers
from screens.judging.context import JudgingContext
from screens.review.panes import PaneController


class TextCopier:
    """Hands the text of a pane over, exactly."""

    def __init__(self, shared: JudgingContext, panes: PaneController) -> None:
        self._shared = shared
        self._panes = panes

    def handlers(self) -> Handlers:
        """Return what the commands do that take a text out of the app."""
        return {
            "review.copy": Handler(self.copy),
            "review.copy_file": Handler(self.copy_file),
            "review.pager": Handler(self.open_pager),
        }

    def copy(self) -> None:
        """Copy the selection or the whole pane, exactly; a long text goes to a file."""
        text = self._panes.pane.copy_text()
        if not text:
            self._shared.show_message("There is nothing to copy in this pane.")
            return
        if sent := to_clipboard(self._shared.screen.app, text):
            self._shared.show_message(f"{sent} · {self._shared.key('copy_file')} writes a file")
        else:
            self.copy_file()

    def copy_file(self) -> None:
        """Write the selection or the pane to a file, and show its path."""
        text = self._panes.pane.copy_text()
        if text:
            self._shared.show_message(to_file(text))
        else:
            self._shared.show_message("There is nothing to write in this pane.")

    def open_pager(self) -> None:
        """Open the pane's text in the pager of the environment, less without one."""
        pager = os.environ.get("PAGER") or shutil.which("less")
        if not pager:
            self._shared.show_message(
                f"No pager: set PAGER, or press {self._shared.key('copy_file')} to write a file.", alarm=True
            )
            return
        text = self._panes.pane.copy_text()
        # Without it, less runs commands and opens other files at a key.
        environment = {**os.environ, "LESSSECURE": "1"}
        with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
            file = Path(folder) / "pane.txt"
            file.write_bytes(text.encode("utf-8", "surrogatepass"))
            try:
                self._shared.context.programs.run([*shlex.split(pager), str(file)], environment)
            except (OSError, ValueError, SuspendNotSupported) as error:
                file_key = self._shared.key("copy_file")
                message = f"The pager {pager} did not start ({error}); {file_key} writes a file."
                self._shared.show_message(message, alarm=True)
        self._shared.screen.refresh()
