"""A typist who does not wait, over a line with a delay each way: no key may judge an item that was not seen.

    python benchmarks/slow_line.py [--delays 0 50 150 400] [--keys 80] [--silent]

The app runs in a pseudo-terminal whose both directions are delayed. At the far end a terminal shows what comes, and answers what
it is asked when it comes to that; a typist presses ten keys a second, whatever is shown. A judgment counts as seen if its item was
on the far screen when its key was pressed there. Ends with 1 if one was not, or if one that was acknowledged is not on disk. With
`--silent` the terminal answers nothing, as some do, and judgments of unseen items are only counted.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import tempfile
import termios
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from large_workspace import RATER, build
from sqlalchemy import select as select_rows
from terminal import CONTROL

from store.tables.columns import table_of
from store.tables.record import JudgmentRow
from store.workspace.duckdb import Workspace

PAIRS = 400
KEYS_A_SECOND = 10
HOME = b"(n 400)"
"""A text that Home shows when it is ready."""
_SHOWN = re.compile(rb"pair-(\d+) ")
_ROW = re.compile(rb"\x1b\[(\d+);1H\x1b\[6n")
_WALL = time.time() - time.perf_counter()


@dataclass
class Line:
    """One direction of a slow connection: bytes come out some seconds after they were put in."""

    delay: float
    _waiting: deque[tuple[float, bytes]] = field(default_factory=deque)

    def put(self, data: bytes) -> None:
        """Send bytes."""
        self._waiting.append((time.perf_counter() + self.delay, data))

    def come(self) -> bytes:
        """Return what has come out by now."""
        found = b""
        while self._waiting and self._waiting[0][0] <= time.perf_counter():
            found += self._waiting.popleft()[1]
        return found


@dataclass
class Session:
    """The moments at which items appeared and keys were pressed at the typist's end."""

    seen: dict[int, float] = field(default_factory=dict)
    pressed: list[float] = field(default_factory=list)


def run(path: Path, delay: float, keys: int, *, silent: bool) -> Session:
    """Judge over a slow line; returns what was seen and pressed at its far end."""
    command = [sys.executable, "-m", "workbench", str(path), "--rater", RATER]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, {**os.environ, "TERM": "xterm-256color"})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    out, back, session = Line(delay), Line(delay), Session()
    screen, next_key, began = b"", float("inf"), time.perf_counter()
    try:
        while len(session.pressed) < keys or time.perf_counter() < next_key + 2 * delay + 1:
            if select.select([terminal], [], [], 0.002)[0]:
                out.put(os.read(terminal, 65_536))
            if come := out.come():
                if not silent:
                    for row in _ROW.findall(come):
                        back.put(b"\x1b[" + row + b";1R")
                screen = screen[-4_096:] + come
                for number in _SHOWN.findall(CONTROL.sub(b"", screen)):
                    session.seen.setdefault(int(number), time.perf_counter())
                if next_key == float("inf") and HOME in screen:
                    # Enter opens the review, and the typist begins.
                    back.put(b"\r")
                    next_key = time.perf_counter() + 0.5
            now = time.perf_counter()
            if now >= next_key and len(session.pressed) < keys:
                session.pressed.append(now)
                back.put(b"10"[len(session.pressed) % 2 :][:1])
                next_key = now + 1 / KEYS_A_SECOND
            if keys_in := back.come():
                os.write(terminal, keys_in)
            if now - began > 120:
                raise TimeoutError(CONTROL.sub(b"", screen)[-600:].decode(errors="replace"))
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
        os.close(terminal)
    return session


def unseen(path: Path, delay: float, session: Session) -> tuple[int, int]:
    """Return how many judgments there are, and how many are of an item that was not on the far screen in time."""
    judgment = table_of(JudgmentRow)
    with Workspace.open(path) as workspace, workspace.reading() as connection:
        rows = connection.execute(
            select_rows(judgment.c.item_id, judgment.c.created_at)
            .where(judgment.c.origin != "import")
            .order_by(judgment.c.id)
        ).all()
    wrong = 0
    for row in rows:
        at = row.created_at.timestamp() - _WALL
        keys = [moment for moment in session.pressed if moment + delay <= at]
        seen = session.seen.get(row.item_id, float("inf"))
        if not keys or keys[-1] < seen:
            wrong += 1
            pressed = f"{keys[-1] - seen:.3f}" if keys else "before"
            print(f"item {row.item_id}: its key was pressed {pressed} s after it was seen", file=sys.stderr)
    return len(rows), wrong


def main() -> None:
    """Measure each delay."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--delays", type=int, nargs="+", default=[0, 50, 150, 400], metavar="MS")
    parser.add_argument("--keys", type=int, default=80)
    parser.add_argument("--silent", action="store_true", help="the terminal answers nothing")
    given = parser.parse_args()
    failed = False
    for delay in given.delays:
        with tempfile.TemporaryDirectory(prefix="workbench-bench-") as folder:
            path = build(Path(folder) / "pairs.duckdb", PAIRS)
            session = run(path, delay / 1000, given.keys, silent=given.silent)
            count, wrong = unseen(path, delay / 1000, session)
        print(
            f"{delay:4} ms each way: {given.keys} keys, {count:3} judgments, {wrong:3} of items that were not seen"
        )
        failed = failed or bool(wrong) or not count
    if failed and not given.silent:
        sys.exit(1)


if __name__ == "__main__":
    main()
