"""The app on a workspace, with a load behind it from its first moment: `busy_app.py PATH LOAD FOLDER`.

LOAD is idle, importing (a file of 412,080 pairs in FOLDER, made by `synthetic.py`) or annotating (scripted
replies that take as long as a quick service's). Run by `screen_speed.py` in a pseudo-terminal.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
from pathlib import Path

from large_workspace import RATER

from agents.settings import AnnotationSettings
from screens.app import WorkbenchApp
from store.importing import import_files
from store.workspace import Workspace
from workbench.configured import Configured
from workbench.context import Runners, make_context

ANNOTATED = 8_000
FIRST = 200_000
IMPORTED = "more.jsonl"


def annotation(folder: Path) -> AnnotationSettings:
    """Return a job in which the screener finds every item clear, after the time a service takes."""
    path = folder / "replies.jsonl"
    reply = {"assessment": "clear_match", "justification": "It does what was asked. " * 8}
    with path.open("w") as file:
        for number in range(FIRST, FIRST + ANNOTATED):
            line = {"role": "screener", "subject": f"pair-{number}", "reply": reply, "delay_seconds": 0.3}
            file.write(json.dumps(line) + "\n")
    return AnnotationSettings(model=f"scripted:{path}", item_ids=tuple(range(FIRST, FIRST + ANNOTATED)))


def main() -> None:
    """Run the app until it is ended."""
    path, load, folder = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    # As the program's own start does.
    gc.disable()
    with Workspace.open(path) as workspace, Runners(workspace) as runners:
        workspace.share_cores()
        job = annotation(folder) if load == "annotating" else None
        app = WorkbenchApp(
            make_context(workspace, Configured(), RATER, runners, annotation=job, start_with="queue")
        )
        if load == "importing":
            threading.Thread(target=import_files, args=(workspace, [folder / IMPORTED]), daemon=True).start()
        app.run()


if __name__ == "__main__":
    main()
