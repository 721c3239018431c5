"""Programs of the environment that get the terminal for a while: editors and pagers."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from store.errors import WorkbenchError

TEST_FILE = "test_program.py"
"""The name of a test's file."""


class EditorError(WorkbenchError):
    """An editor was not started, or what it left behind is not taken."""


class EditorExitError(EditorError):
    """An editor ended as one that failed."""

    def __init__(self, message: str, hint: str, text: str) -> None:
        super().__init__("Editor", message, hint)
        self.text = text


class ExternalPrograms:
    """Gives the terminal to another program, and takes it back when that has ended.

    Args:
        app: The app, which waits until then.

    Attributes:
        back_at: When the terminal came back last, in seconds of the monotonic clock.
    """

    def __init__(self, app: App[Any]) -> None:
        self.back_at = float("-inf")
        self._app = app

    def run(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
        """Give the terminal to another program until that has ended.

        Args:
            environment: Its environment; None for that of the app.

        Returns:
            Its exit status.

        Raises:
            OSError: It did not start.
            SuspendNotSupported: This terminal cannot be given away.
        """
        with self._app.suspend():
            # An error that left this block would leave the terminal to nobody.
            try:
                ended: int | OSError = subprocess.run(command, check=False, env=environment).returncode
            except OSError as error:
                ended = error
        self.back_at = time.monotonic()
        if isinstance(ended, OSError):
            raise ended
        return ended

    def edit(self, text: str, *, file: str, untaken: str) -> str:
        """Have a text edited by `$VISUAL`, or `$EDITOR`, in a file that only the user can read.

        Args:
            text: The text, which is handed over exactly.
            file: The name of the file, from which an editor infers the language.
            untaken: The consequence of a failed editor: "nothing was run".

        Returns:
            What the editor left in the file.

        Raises:
            EditorExitError: The editor ended with another status than 0.
            EditorError: There is no editor, it did not start, the terminal cannot be given free, or
                what it left is no UTF-8; a file of that is kept, and named.
        """
        command, name = _editor()
        try:
            data = text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise EditorError(
                "Editor", "This text has half of a character, which a UTF-8 file cannot contain.", ""
            ) from error
        # Accessible to the user alone, whatever the umask.
        folder = Path(tempfile.mkdtemp(prefix="workbench-"))
        keep = False
        try:
            path = folder / file
            path.touch(0o600)
            path.write_bytes(data)
            status = self._start([*command, str(path)], name)
            left = path.read_bytes()
            try:
                edited = left.decode("utf-8")
            except UnicodeDecodeError as error:
                keep = True
                raise EditorError(
                    "Editor",
                    f"The text that {name} wrote is not UTF-8 (byte {error.start + 1}) and was not used.",
                    f"It is kept in {path}.",
                ) from error
        except OSError as error:
            raise EditorError(
                "Editor", f"{name}: {error.strerror or error}.", "Nothing was changed."
            ) from error
        finally:
            if not keep:
                shutil.rmtree(folder, ignore_errors=True)
        if status:
            raise EditorExitError(f"{name} ended with the status {status}; {untaken}.", "", edited)
        return edited

    def _start(self, command: list[str], name: str) -> int:
        """Run an editor and return its exit status."""
        try:
            return self.run(command)
        except OSError as error:
            raise EditorError(
                "Editor",
                f"{name} did not start: {error.strerror or error}.",
                "Set EDITOR to a program that is installed.",
            ) from error
        except SuspendNotSupported as error:
            raise EditorError("Editor", "This terminal cannot start an editor.", "") from error


def _editor() -> tuple[list[str], str]:
    """Return the command of the editor that the environment names, and what it is called."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise EditorError(
            "No editor", "Neither VISUAL nor EDITOR is set.", "Set one, such as EDITOR=nano, and start again."
        )
    try:
        command = shlex.split(editor)
    except ValueError as error:
        raise EditorError(
            "Editor", f"{editor} is not a command: {error}.", "Set EDITOR to another."
        ) from error
    if not command:
        raise EditorError("No editor", "EDITOR is empty.", "Set it, such as EDITOR=nano.")
    return command, Path(command[0]).name
