"""Runs a program in a pseudo-terminal and measures how long it takes to show something."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence

CONTROL = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]")


_ASKED = re.compile(rb"\x1b\[(\d+);1H\x1b\[6n")


class Terminal:
    """A program on a pseudo-terminal of its own; what it shows is read as a stream of text."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        size: tuple[int, int] = (120, 40),
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.started = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **(env or {})}
            os.execvpe(command[0], list(command), environment)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self._shown = b""

    def send(self, keys: str) -> float:
        """Type keys; return the moment."""
        self._shown = b""
        moment = time.perf_counter()
        os.write(self.fd, keys.encode())
        return moment

    def wait_for(self, text: str, *, timeout: float = 60.0) -> float:
        """Wait until a text was shown since the last keys.

        Returns:
            The moment at which it was read.

        Raises:
            TimeoutError: It was not shown in time; says what was.
        """
        wanted = text.encode()
        deadline = time.perf_counter() + timeout
        while (left := deadline - time.perf_counter()) > 0:
            ready, _, _ = select.select([self.fd], [], [], left)
            if not ready:
                break
            try:
                self._shown += self._read()
            except OSError:
                break
            if wanted in CONTROL.sub(b"", self._shown):
                return time.perf_counter()
        seen = CONTROL.sub(b"", self._shown)[-600:].decode(errors="replace")
        raise TimeoutError(f"{text!r} was not shown; last: {seen}")

    def drain(self, seconds: float = 0.2) -> None:
        """Read what is still shown, until nothing came for a while; a running job's line never rests."""
        deadline = time.perf_counter() + 4 * seconds
        while (left := deadline - time.perf_counter()) > 0 and select.select(
            [self.fd], [], [], min(seconds, left)
        )[0]:
            try:
                if not self._read():
                    return
            except OSError:
                return

    def _read(self) -> bytes:
        """Return what was shown, and answer where the cursor is, as terminals do."""
        found = os.read(self.fd, 65_536)
        for row in _ASKED.findall(found):
            os.write(self.fd, b"\x1b[" + row + b";1R")
        return found

    def close(self) -> None:
        """End the program."""
        try:
            os.kill(self.pid, signal.SIGTERM)
        except ProcessLookupError:
            return
        deadline = time.perf_counter() + 15
        while time.perf_counter() < deadline:
            self.drain(0.05)
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                os.close(self.fd)
                return
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)
