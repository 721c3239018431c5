"""kill -9 at random moments after `●` shows in a terminal: what showed it is on disk."""

from __future__ import annotations

import fcntl
import os
import pty
import random
import re
import select
import signal
import struct
import sys
import termios
import time

import pytest
from judging import judged_workspace, judgments
from sqlalchemy import select as select_rows

from store.tables.columns import table_of
from store.tables.imported import Item
from store.workspace.duckdb import Workspace
from store.workspace.recovery import recover

pytestmark = pytest.mark.crash

KILLS = int(os.environ.get("KILLS", "20"))
"""How often; KILLS=100 in the environment for more."""
ITEMS, EACH = 600, 3
CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]")
SAVED = re.compile(r"● 1 match[^●…\n]*? · (pair/\d+) ")
"""The message of a label that is on disk, with the item's name."""


class App:
    """The app in a terminal that answers, until it is killed."""

    def __init__(self, path):
        command = [sys.executable, "-m", "workbench", str(path), "--rater", "dana"]
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, {**os.environ, "TERM": "xterm-256color"})
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.shown = ""

    def reads(self, seconds):
        """Take what is shown for a while; answer where the cursor is."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.terminal], [], [], left)[0]:
                return
            part = os.read(self.terminal, 65_536)
            for row in re.findall(rb"\x1b\[(\d+);1H\x1b\[6n", part):
                os.write(self.terminal, b"\x1b[" + row + b";1R")
            self.shown += CONTROL.sub("", part.decode(errors="replace"))

    def until(self, pattern, seconds=60):
        """Read until something is shown."""
        end = time.monotonic() + seconds
        while not re.search(pattern, self.shown):
            assert time.monotonic() < end, self.shown[-400:]
            self.reads(0.05)

    def types(self, key):
        os.write(self.terminal, key.encode())

    def is_killed(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


def test_what_showed_its_sign_is_there(tmp_path):
    chance = random.Random()
    with judged_workspace(tmp_path, ITEMS) as made:
        path = made.path
    kept = set()
    for life in range(KILLS):
        app = App(path)
        try:
            app.until("Tab queue")
            app.types("\r")
            app.until(" left")
            for _ in range(EACH):
                before, end = len(SAVED.findall(app.shown)), time.monotonic() + 60
                while len(SAVED.findall(app.shown)) == before:
                    assert time.monotonic() < end, app.shown[-400:]
                    # One that comes before the item was seen is refused.
                    app.types("1")
                    app.reads(0.2)
            app.types("1")
            app.reads(chance.uniform(0, 0.1))
        finally:
            app.is_killed()
        kept |= set(SAVED.findall(app.shown))
        assert len(kept) > life
    with Workspace.open(path) as opened:
        recover(opened)
        item = table_of(Item)
        with opened.reading() as connection:
            names = dict(connection.execute(select_rows(item.c.id, item.c.external_id)).all())
        there = {names[record.item_id] for record in judgments(opened)}
    assert kept <= there
