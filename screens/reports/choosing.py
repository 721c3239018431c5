"""The modal in which study, question, raters and the like of a report are chosen from lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from screens.commands import bindings
from screens.form import Fields, choice
from screens.help import hint
from screens.widgets.text.sanitize import one_line
from store.reports.spec import Choice

if TYPE_CHECKING:
    from screens.settings import ScreenSettings

WORDS = 60
"""Cells of a value in a list."""


class ChoiceScreen(ModalScreen["Mapping[str, str] | None"]):
    """Chooses the values of a report; those that are another one now, None where it is left."""

    CSS_PATH = "choosing.tcss"
    BINDINGS = bindings("choices")

    def __init__(self, settings: ScreenSettings, choices: Mapping[str, Choice]) -> None:
        super().__init__()
        self._settings = settings
        self._choices = choices

    def compose(self) -> ComposeResult:
        """Lay out a list for each choice."""
        with VerticalScroll(id="choices", can_focus=False) as box:
            box.border_title = "Choose"
            for name, one in self._choices.items():
                values = one.values if one.chosen in one.values else (one.chosen, *one.values)
                yield choice(
                    one.word, name, [(one_line(value, WORDS), value) for value in values], one.chosen
                )
            keys = hint(
                self._settings,
                ("choices.next", "next"),
                ("choices.apply", "show"),
                ("choices.leave", "cancel"),
            )
            yield Static(Content(f"Enter list · {keys}"), classes="keys")

    def action_apply(self) -> None:
        """Take what is chosen."""
        fields = Fields(self)
        chosen = {name: fields.chosen(name) for name in self._choices}
        self.dismiss({name: value for name, value in chosen.items() if value != self._choices[name].chosen})
