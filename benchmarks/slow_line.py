"""A typist who does not wait, over a line with a delay each way: no key may judge an item that was not seen.

    python benchmarks/slow_line.py [--delays 0 50 150 400] [--keys 80] [--tmux] [--ssh HOST] [--silent]

The app runs in a pseudo-terminal whose both directions are delayed. At the near end a terminal shows what comes, and answers what
it is asked when it comes to that; a typist presses ten keys a second, whatever is shown. A judgment counts as seen if its item was
on that screen when its key was pressed. Ends with 1 if one was not. With `--tmux` the near end is in tmux, which answers for the
terminal. With `--ssh` the app is run on HOST, which has to be this machine under any of its names: the files are here. With
`--silent` the terminal answers nothing, as some do, and judgments of unseen items are only counted.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import tty
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from large_workspace import CODES, RATER, build
from large_workspace import PAIRS as ALL_PAIRS
from sqlalchemy import select as select_rows
from terminal import CONTROL

from store.errors import WorkspaceLocked
from store.tables.columns import table_of
from store.tables.record import JudgmentRow
from store.workspace.duckdb import Workspace

PAIRS = 400
KEYS_A_SECOND = 10
HOME = b"(n 400)"
"""A text that Home shows when it is ready."""
_SHOWN = re.compile(rb"def function_(\d+)\(")
"""The code of an item. Its id stands above it, where a narrow screen cuts it off, and in the message about a judgment too."""
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


def relay(delay: float, command: list[str]) -> None:
    """Run a command in a terminal of its own, as ssh would on a far machine, with a delay each way."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    size = fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)
    tty.setraw(0)
    out, back = Line(delay), Line(delay)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        while True:
            ready = select.select([0, terminal], [], [], 0.002)[0]
            if terminal in ready:
                out.put(os.read(terminal, 65_536))
            if 0 in ready:
                back.put(os.read(0, 65_536))
            for end, line in ((1, out), (terminal, back)):
                come = line.come()
                while come:
                    come = come[os.write(end, come) :]
    except OSError:
        pass  # one of the two ends is gone
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)


@dataclass
class Session:
    """The moments at which codes appeared and keys were pressed at the typist's end."""

    seen: dict[int, float] = field(default_factory=dict)
    pressed: list[float] = field(default_factory=list)


def run(path: Path, delay: float, keys: int, *, silent: bool, tmux: bool, host: str) -> Session:
    """Judge over a slow line; returns what was seen and pressed at its near end."""
    command = [sys.executable, "-m", "workbench", str(path), "--rater", RATER]
    if host:
        there = f"cd {shlex.quote(str(Path.cwd()))} && PYTHONPATH={os.environ.get('PYTHONPATH', '')} {shlex.join(command)}"
        command = ["ssh", "-tt", host, there]
    command = [sys.executable, __file__, "--relay", str(delay), *command]
    server = ["tmux", "-L", f"slow-line-{os.getpid()}", "-f", "/dev/null"]
    if tmux:
        command = [*server, "new-session", shlex.join(command)]
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        os.execvpe(command[0], command, {**os.environ, "TERM": "xterm-256color"})
    session = Session()
    screen, next_key, began = b"", float("inf"), time.perf_counter()
    try:
        while len(session.pressed) < keys or time.perf_counter() < next_key + 2 * delay + 1:
            if select.select([terminal], [], [], 0.002)[0]:
                come = os.read(terminal, 65_536)
                if not silent:
                    for row in _ROW.findall(come):
                        os.write(terminal, b"\x1b[" + row + b";1R")
                screen = screen[-4_096:] + come
                for number in _SHOWN.findall(CONTROL.sub(b"", screen)):
                    session.seen.setdefault(int(number), time.perf_counter())
                if next_key == float("inf") and HOME in screen:
                    # Enter opens the review, and the typist begins.
                    os.write(terminal, b"\r")
                    next_key = time.perf_counter() + 0.5
            now = time.perf_counter()
            if now >= next_key and len(session.pressed) < keys:
                session.pressed.append(now)
                os.write(terminal, b"10"[len(session.pressed) % 2 :][:1])
                next_key = now + 1 / KEYS_A_SECOND
            if now - began > 120:
                raise TimeoutError(CONTROL.sub(b"", screen)[-600:].decode(errors="replace"))
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
        os.close(terminal)
        if tmux:
            subprocess.run([*server, "kill-server"], check=False)
    return session


def when_free(path: Path) -> Workspace:
    """Open a workspace once the app, which may end later than its terminal, has let it go."""
    for _ in range(100):
        with suppress(WorkspaceLocked):
            return Workspace.open(path)
        time.sleep(0.1)
    return Workspace.open(path)


def unseen(path: Path, delay: float, session: Session) -> tuple[int, int]:
    """Return how many judgments there are, and how many are of an item that was not on the near screen in time."""
    judgment = table_of(JudgmentRow)
    with when_free(path) as workspace, workspace.reading() as connection:
        rows = connection.execute(
            select_rows(judgment.c.item_id, judgment.c.created_at)
            .where(judgment.c.origin != "import")
            .order_by(judgment.c.id)
        ).all()
    codes = PAIRS * CODES // ALL_PAIRS
    wrong = 0
    for row in rows:
        at = row.created_at.timestamp() - _WALL
        keys = [moment for moment in session.pressed if moment + delay <= at]
        seen = session.seen.get(1 + (row.item_id * 7919) % codes, float("inf"))
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
    parser.add_argument("--tmux", action="store_true", help="the near end is in tmux")
    parser.add_argument(
        "--ssh", default="", metavar="HOST", help="the app is run through ssh on this machine"
    )
    parser.add_argument("--relay", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.relay:
        relay(float(given.relay[0]), given.relay[1:])
        return
    failed = False
    for delay in given.delays:
        with tempfile.TemporaryDirectory(prefix="workbench-bench-") as folder:
            path = build(Path(folder) / "pairs.duckdb", PAIRS)
            session = run(
                path, delay / 1000, given.keys, silent=given.silent, tmux=given.tmux, host=given.ssh
            )
            count, wrong = unseen(path, delay / 1000, session)
        print(
            f"{delay:4} ms each way: {given.keys} keys, {count:3} judgments, {wrong:3} of items that were not seen"
        )
        failed = failed or bool(wrong) or not count
    if failed and not given.silent:
        sys.exit(1)


if __name__ == "__main__":
    main()
