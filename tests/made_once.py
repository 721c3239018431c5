"""Workspaces that many tests begin with: made once by a process, and copied for each test after that."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter, OrderedDict
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from store.workspace import Workspace

KEPT = 12
"""How many are kept: those of one file of tests, about, at 4 MB each."""

_asked: Counter[str] = Counter()
_made: OrderedDict[str, tempfile.TemporaryDirectory[str]] = OrderedDict()


def made_once(folder: Path, name: str, what: str, make: Callable[[Path], Workspace]) -> Workspace:
    """Open a workspace of one's own, in the state in which `make` leaves it.

    Args:
        folder: Where it is wanted, with the files that `make` writes beside it.
        name: The workspace's file name, in the folder.
        what: What is in it, as a text: the same text, the same content.
        make: Makes it in the folder that it is given.
    """
    _asked[what] += 1
    if _asked[what] == 1:  # Most workspaces are wanted once: those are made where they are wanted.
        return make(folder)
    if what not in _made:
        _made[what] = tempfile.TemporaryDirectory()
        make(Path(_made[what].name)).close()
    _made.move_to_end(what)
    while len(_made) > KEPT:
        _made.popitem(last=False)[1].cleanup()
    shutil.copytree(_made[what].name, folder, dirs_exist_ok=True)
    workspace = Workspace.open(folder / name)
    cursor = workspace.native()
    try:
        cursor.execute("UPDATE workspace_fact SET value = ? WHERE name = 'id'", [str(uuid4())])
    finally:
        cursor.close()
    return workspace
