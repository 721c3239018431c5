"""The first line of a screen: which workspace, which screen, who judges, whether blind."""

from __future__ import annotations

from typing import cast

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from screens.widgets.text.sanitize import one_line
from screens.workbench_screen import WorkbenchScreen
from store.policy.scope import Shows

RATER_CELLS = 24


class TopLine(Static):
    """Says where one is and who judges; the rater stays in sight on the narrowest terminal.

    Args:
        place: The name of the screen.
    """

    DEFAULT_CSS = """
    TopLine { width: 1fr; height: 1; padding: 0 1; color: $text-muted; }
    """

    def __init__(self, place: str) -> None:
        super().__init__()
        self._place = place

    def on_mount(self) -> None:
        """Follow what could not be saved."""
        recorder = cast(WorkbenchScreen, self.screen).context.recorder
        recorder.failed.subscribe(self, lambda _: self.lay_out())
        recorder.saved.subscribe(self, lambda _: self.lay_out())
        self.lay_out()

    def on_resize(self) -> None:
        """Lay the line out."""
        self.lay_out()

    def lay_out(self) -> None:
        """Put the line together."""
        context = cast(WorkbenchScreen, self.screen).context
        rater = one_line(context.rater.name, RATER_CELLS) if context.rater else "nobody (--rater NAME)"
        seen = f"blind: {'no' if context.scope.may(Shows.AGENTS) else 'yes'}"
        if context.study is not None:
            seen = f"study: {one_line(context.study.name, RATER_CELLS)}"
        right = f"rater: {rater} · {seen}"
        if failures := context.recorder.failures:
            right = f"! {len(failures):,} not saved · {right}"
        width = max(0, self.size.width)
        left = one_line(f"{context.workspace.path.name} › {self._place}", max(0, width - cell_len(right) - 2))
        gap = " " * max(1, width - cell_len(left) - cell_len(right))
        self.update(Content(f"{left}{gap}{right}"), layout=False)
