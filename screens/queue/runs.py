"""The dialog in which the run of the agents is chosen whose labels are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from agents.pipelines.registry import agents_parts
from screens.commands import bindings
from screens.help import hint
from screens.widgets.cursor_lines import cursor_lines
from screens.widgets.text.sanitize import shortened
from store.policy.scope import RunRef

if TYPE_CHECKING:
    from screens.settings import ScreenSettings
    from store.queries.runs import LabelledRun

LISTED = 10
"""Runs that are listed at once."""


class RunScreen(ModalScreen[tuple[RunRef | None] | None]):
    """Chooses a run: a tuple of it, or of None for the default one; None when it is left as it was.

    Args:
        runs: The runs with labels, the one begun last first.
        chosen: The rater's choice so far; None for the default one.
        default: The run that is shown of each kind where none is chosen, by kind.
    """

    CSS_PATH = "modals.tcss"
    BINDINGS = bindings("runs")

    def __init__(
        self,
        settings: ScreenSettings,
        runs: Sequence[LabelledRun],
        chosen: RunRef | None,
        default: Mapping[str, RunRef],
    ) -> None:
        super().__init__()
        self._settings = settings
        self._runs = runs
        self._default = default
        self._chosen = chosen
        ids = [None, *(each.run.id for each in runs)]
        wanted = None if chosen is None else chosen.id
        self._index = ids.index(wanted) if wanted in ids else 0

    def compose(self) -> ComposeResult:
        """Lay out a line for each run."""
        with Vertical(classes="modal") as box:
            box.border_title = "Which run is shown"
            yield Static(id="runs")
            yield Static(id="about")
            keys = (
                ("runs.up runs.down", "run"),
                ("runs.apply", "show its labels"),
                ("runs.leave", "cancel"),
            )
            yield Static(Content(hint(self._settings, *keys)), classes="keys")

    def on_mount(self) -> None:
        """Show the lines."""
        self._lay_out()

    def on_resize(self) -> None:
        """Fit the lines to the width."""
        self._lay_out()

    def action_move(self, lines: int) -> None:
        """Go to another run."""
        self._index = (self._index + lines) % (len(self._runs) + 1)
        self._lay_out()

    def action_apply(self) -> None:
        """Show the labels of the run under the cursor."""
        if self._index == 0:
            self.dismiss((None,))
        else:
            run = self._runs[self._index - 1].run
            self.dismiss((RunRef(run.id, run.name),))

    def _lay_out(self) -> None:
        # The border and its padding take four cells of the dialog, which is as wide as its style says.
        width = min(86, self.app.size.width * 96 // 100 - 4)
        room = min(LISTED, max(3, self.app.size.height - 10))
        texts = [self._line(index, width - 2) for index in range(len(self._runs) + 1)]
        lines = cursor_lines(texts, self._index, room=room, noun="more run")
        self.query_one("#runs", Static).update(Content("\n").join(lines))
        self.query_one("#about", Static).update(Content(self._about()))

    def _line(self, index: int, width: int) -> str:
        if index == 0:
            return "newest run of the fullest configuration (default)"[:width]
        each = self._runs[index - 1]
        tail = f" {each.labelled:>9,} labelled  {each.run.started_at.astimezone():%Y-%m-%d %H:%M}"
        room = max(10, width - len(tail) - 2)
        mark = "●" if self._chosen is not None and self._chosen.id == each.run.id else " "
        return f"{mark} {shortened(each.run.name, room):<{room}}{tail}"

    def _about(self) -> str:
        """Say what the line under the cursor is: which run the default is, or the configuration and model."""
        if self._index == 0:
            names = ", ".join(dict.fromkeys(run.name for run in self._default.values()))
            return f"It is {names}." if names else "No run has a label yet."
        run = self._runs[self._index - 1].run
        return f"{_configuration(run.kind, run.name)} · model {run.model} · {run.name}"


def _configuration(kind: str, name: str) -> str:
    """Return the name of the configuration of a run; of one that is not installed, its pipeline's."""
    pipeline = name.partition("/")[0]
    part = agents_parts().get(kind)
    named = (each.name for each in (part.configurations if part else ()) if each.pipeline == pipeline)
    return f"agents {next(named, pipeline)}"
