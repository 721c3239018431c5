"""The app on a workspace, with a load behind it from its first moment: `busy_app.py PATH LOAD FOLDER [bare]`.

LOAD is idle, reporting (as idle: `screen_speed.py` runs the commands beside it), importing (a file of 412,080 pairs in FOLDER, made by `synthetic.py`, from SIGUSR1 on), annotating (scripted
replies that take as long as a quick service's), searching (a candidate search), working (two such runs and a
candidate search) or merging (the packets in FOLDER, made by `merge_speed.py`). Run by `screen_speed.py` and
`merge_speed.py` in a pseudo-terminal.

With `bare`, a Textual app that only puts the next text into three panes has the same load behind it, and
tells what a key takes on this machine at least.
"""

from __future__ import annotations

import gc
import json
import signal
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from large_workspace import RATER
from textual import events
from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from agents.jobs.job import JobRequest
from agents.jobs.runner import JobRunner
from agents.jobs.work import Work, WorkSettings
from agents.llm.settings import ModelSettings
from agents.retrieval.candidate_request import CandidateRequest
from agents.retrieval.candidate_search import CandidateSearch
from agents.retrieval.settings import RetrievalSettings
from agents.settings import JobSettings
from screens.app import WorkbenchApp
from store.ingest.importing import import_files
from store.studies.packet_merge import merge_packet
from store.workspace.duckdb import Workspace
from workbench.lazy_config import LazyConfig
from workbench.wiring import make_context

ANNOTATED = 8_000
FIRST = 200_000
IMPORTED, IMPORT_ENDED = "more.jsonl", "import-ended.txt"
PACKETS, MERGED = "packets", "merged.txt"


def annotation(folder: Path) -> JobSettings:
    """Return a job in which the screener finds every item clear, after the time a service takes."""
    path = folder / "replies.jsonl"
    reply = {"assessment": "clear_match", "justification": "It does what was asked. " * 8}
    with path.open("w") as file:
        for number in range(FIRST, FIRST + ANNOTATED):
            line = {"role": "screener", "subject": f"pair-{number}", "reply": reply, "delay_seconds": 0.3}
            file.write(json.dumps(line) + "\n")
    return JobSettings(model=f"scripted:{path}", item_ids=tuple(range(FIRST, FIRST + ANNOTATED)))


def works(load: str, folder: Path) -> list[Work]:
    """Return the works of a load: a candidate search, alone or with two runs of agents."""
    job = annotation(folder)
    search = CandidateSearch(
        CandidateRequest(("bm25",), 5), WorkSettings(ModelSettings(), RetrievalSettings())
    )
    runs = [JobRequest(job), JobRequest(replace(job, agents="ps-fa"))]
    loads: dict[str, list[Work]] = {"searching": [search], "working": [*runs, search]}
    return loads.get(load, [])


def import_more(workspace: Workspace, folder: Path) -> None:
    """Import the file of a folder, and note in another one when that ended, and its error."""
    error = ""
    try:
        import_files(workspace, [folder / IMPORTED])
    except Exception as raised:  # noqa: BLE001 - the figures would look good without it
        error = repr(raised)
    noted = folder / f"{IMPORT_ENDED}.part"
    noted.write_text(json.dumps([time.perf_counter(), error]))
    noted.rename(folder / IMPORT_ENDED)


def merge_all(workspace: Workspace, folder: Path) -> None:
    """Merge the packets of a folder, and note each in a file."""
    for path in sorted((folder / PACKETS).glob("*.duckdb")):
        with (folder / MERGED).open("a") as noted:
            try:
                noted.write(f"{merge_packet(workspace, path).judgments} records\n")
            except Exception as error:  # noqa: BLE001 - the figures would look good without it
                noted.write(f"{error}\n")


class BareApp(App[None]):
    """Shows the next of many texts in three panes at every key; nothing is read, recorded or highlighted."""

    CSS = "Static { border: round; width: 1fr; height: 1fr } #prompt { height: 4 }"
    number = 1

    def compose(self) -> ComposeResult:
        """Three panes, as the review of a pair has them."""
        yield Static(id="prompt", markup=False)
        with Horizontal():
            yield Static(id="code", markup=False)
            yield Static(id="case", markup=False)

    def on_mount(self) -> None:
        """Show the first text."""
        self.show_next()

    def on_key(self, event: events.Key) -> None:
        """Show the next text, whatever the key."""
        event.stop()
        self.number += 1
        self.show_next()

    def show_next(self) -> None:
        """Put the texts of a number into the panes."""
        lines = [f"{line:3}  value_{self.number} = compute({line})" for line in range(12)]
        self.query_one("#prompt", Static).update(f"thing number {self.number} ")
        self.query_one("#code", Static).update("\n".join(lines))
        self.query_one("#case", Static).update(f"clear match: it does number {self.number}\n" * 4 + "left ")
        self.title = f"pair-{self.number} "
        self.query_one("#prompt", Static).border_title = f"pair-{self.number} "


def main() -> None:
    """Run the app until it is ended."""
    path, load, folder = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    bare = sys.argv[4:] == ["bare"]
    # As the program's own start does.
    gc.disable()
    with Workspace.open(path) as workspace, ExitStack() as runners:
        workspace.share_cores()
        job = annotation(folder) if load == "annotating" else None
        others = works(load, folder)
        app: App[None]
        if bare:
            app = BareApp()
            if job is not None:
                others = [JobRequest(job)]
            runner = runners.enter_context(JobRunner(workspace, lambda _: None))
            for work in others:
                runner.start(work)
        else:
            app = WorkbenchApp(
                make_context(workspace, LazyConfig(), RATER, runners, annotation=job, start_with="queue")
            )
            for work in others:
                app.call_later(app.context.jobs.start, work)
        if load == "importing":
            importing = threading.Thread(target=import_more, args=(workspace, folder), daemon=True)
            signal.signal(signal.SIGUSR1, lambda *_: importing.start())
        if load == "merging":
            threading.Thread(target=merge_all, args=(workspace, folder), daemon=True).start()
        app.run()


if __name__ == "__main__":
    main()
