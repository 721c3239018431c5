"""A real terminal for tests: tmux runs a program, types keys, and shows what is on its screen."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
import uuid
from collections.abc import Callable
from pathlib import Path


class TmuxTerminal:
    """A program in a tmux session of its own; ends with it."""

    def __init__(
        self, command: list[str], *, size: tuple[int, int] = (120, 40), env: dict[str, str] | None = None
    ):
        self._socket = f"workbench-test-{uuid.uuid4().hex[:8]}"
        variables = {**(env or {}), "TERM": "tmux-256color", "COLORTERM": "truecolor"}
        # What a test run says of its own terminal does not hold in this one.
        line = shlex.join(
            [
                "env",
                "-u",
                "COLUMNS",
                "-u",
                "LINES",
                *(f"{name}={value}" for name, value in variables.items()),
                *command,
            ]
        )
        # The status of the program is left on the screen, for a test to read.
        line += "; echo ended with $?; sleep 600"
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", "-s", "s", "-x", str(size[0]), "-y", str(size[1]), line
        )
        self._tmux("set", "-g", "escape-time", "0")

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._socket, *arguments], capture_output=True, text=True, check=False, timeout=20
        )
        return done.stdout

    def press(self, *keys: str) -> None:
        """Type keys by tmux's names for them: Enter, Escape, Down, a."""
        for key in keys:
            time.sleep(0.1)  # whoever presses it has looked
            self._tmux("send-keys", "-t", "s", key)

    def type(self, text: str) -> None:
        """Type a text letter by letter."""
        self._tmux("send-keys", "-t", "s", "-l", text)

    def paste(self, text: str) -> None:
        """Paste a text as a terminal does, in brackets when the program asked for them."""
        self._tmux("set-buffer", "-b", "pasted", text)
        self._tmux("paste-buffer", "-p", "-b", "pasted", "-t", "s")

    def resize(self, width: int, height: int) -> None:
        """Give the terminal another size."""
        self._tmux("resize-window", "-t", "s", "-x", str(width), "-y", str(height))

    @property
    def screen(self) -> str:
        """What is on the screen, a line each."""
        return self._tmux("capture-pane", "-p", "-t", "s")

    def line_of(self, text: str) -> str:
        """The first line that holds a text, with its colours; empty where there is none."""
        shown = self._tmux("capture-pane", "-p", "-e", "-t", "s").splitlines()
        return next((line for line in shown if text in line), "")

    def press_until(self, key: str, text: str) -> None:
        """Press a key, and wait until the line that holds a text is another one, or has other colours.

        Args:
            key: A key that moves the focus: before it did, the next one would go to the wrong place.
            text: A text beside what gets the focus.
        """
        before = self.line_of(text)
        self.press(key)
        self.wait_for(lambda _: self.line_of(text) != before)

    def wait_for(self, what: str | Callable[[str], bool], timeout: float = 120.0) -> str:
        """Wait until a text is on the screen, or a condition on the screen holds; return the screen.

        Raises:
            TimeoutError: It did not come in time; says what is on the screen.
        """
        holds = what if callable(what) else (lambda screen: what in screen)
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            screen = self.screen
            if holds(screen):
                return screen
            time.sleep(0.05)
        raise TimeoutError(f"{what!r} did not come; on the screen:\n{self.screen}")

    def settle(self, seconds: float = 0.5, timeout: float = 60.0) -> str:
        """Wait until nothing has changed on the screen for a while, as a reader does; return the screen.

        Raises:
            TimeoutError: It went on changing.
        """
        screen, since, deadline = self.screen, time.monotonic(), time.monotonic() + timeout
        while time.monotonic() < deadline:
            time.sleep(0.05)
            if (now := self.screen) != screen:
                screen, since = now, time.monotonic()
            elif time.monotonic() - since >= seconds:
                return screen
        raise TimeoutError(f"the screen went on changing:\n{screen}")

    def press_at_item(self, key: str, said: str) -> None:
        """Press a key of an item as a person does, and wait until a text is on the screen.

        It is pressed once nothing changes any more, and once more where the app asks for it: on a slow
        machine half a second can pass between a screen's first line and its item.
        """
        self.settle()
        self.press(key)
        if said not in self.wait_for(lambda screen: said in screen or "Press again." in screen):
            self.settle()
            self.press(key)
            self.wait_for(said)

    def hang_up(self) -> int:
        """Cut the connection as a lost SSH session does: the terminal goes away, its programs get SIGHUP.

        Returns:
            The process number of the program that was running.
        """
        shell = int(self._tmux("display-message", "-p", "-t", "s", "#{pane_pid}").strip())
        program = _leaf(shell)
        self._tmux("kill-server")
        return program

    @property
    def program(self) -> int:
        """The process number of the running program."""
        return _leaf(int(self._tmux("display-message", "-p", "-t", "s", "#{pane_pid}").strip()))

    def close(self) -> None:
        """End the session and what runs in it."""
        self._tmux("kill-server")


def _leaf(process: int) -> int:
    """Return the oldest child of a process, and of that one, down to the program itself."""
    while children := Path(f"/proc/{process}/task/{process}/children").read_text().split():
        process = int(children[0])
        if "python" in os.path.realpath(f"/proc/{process}/exe"):
            return process
    return process


def wait_until_gone(process: int, timeout: float = 30.0) -> None:
    """Wait until a process has ended.

    Raises:
        TimeoutError: It goes on.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"process {process} goes on")
        time.sleep(0.05)
