"""The dialog in which a rater agrees to take part in a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from screens.commands import bindings
from screens.help import first_key, hint
from screens.widgets.line_input import UndoInput
from screens.widgets.text.sanitize import one_line, visible

if TYPE_CHECKING:
    from screens.settings import ScreenSettings
    from store.studies.session import StudySession

EXPERIENCE_LENGTH = 200
"""Characters of what a rater writes about their experience, at most."""


class ConsentScreen(ModalScreen["str | None"]):
    """Shows what a rater agrees to; returns the experience that they state, None where they do not agree."""

    CSS_PATH = "consent.tcss"
    BINDINGS = bindings("consent")
    AUTO_FOCUS = "#experience"

    def __init__(self, settings: ScreenSettings, session: StudySession) -> None:
        super().__init__()
        self._settings = settings
        self._session = session

    def compose(self) -> ComposeResult:
        """Lay out the text, the field for the experience, and the keys."""
        study = self._session.study
        member = study.member(self._session.rater.name)
        with Vertical(classes="modal") as box:
            box.border_title = Content(f"Taking part in {one_line(study.name, 40)}")
            with VerticalScroll(id="text", can_focus=False):
                lines = (visible(line).text for line in study.protocol.consent.splitlines())
                yield Static(Content("\n".join(lines)))
            if self._session.needs_consent:
                yield Static(Content("Your experience with such code, in a few words (optional):"))
                yield UndoInput(
                    member.experience,
                    id="experience",
                    placeholder="8 years of Python",
                    max_length=EXPERIENCE_LENGTH,
                )
            else:
                yield Static(Content(f"You agreed on {member.consented_at:%Y-%m-%d %H:%M}."))
            yield Static(self._keys(member.experience), classes="keys")

    def _keys(self, experience: str) -> Content:
        """Return the keys, with what agreeing stores."""
        text = ("consent.up consent.down", "text")
        if not self._session.needs_consent:
            return Content(hint(self._settings, ("consent.leave", "close"), text))
        agrees = "I agree, with this experience" if experience.strip() else "I agree, and state no experience"
        return Content(hint(self._settings, ("consent.agree", agrees), ("consent.leave", "not now"), text))

    @on(Input.Changed)
    def _say_what_is_stored(self, event: Input.Changed) -> None:
        self.query_one(".keys", Static).update(self._keys(event.value))

    def action_agree(self) -> None:
        """Agree, with the experience as it is written."""
        if self._session.needs_consent:
            self.dismiss(self.query_one("#experience", Input).value.strip())
        else:
            self.dismiss(None)

    def action_page(self, direction: int, lines: int) -> None:
        """Scroll the text by some lines."""
        self.query_one("#text", VerticalScroll).scroll_relative(y=direction * lines, animate=False)


def not_agreed(settings: ScreenSettings) -> str:
    """Return the sentence for somebody who has not agreed yet."""
    key = first_key(settings, "sitting.resume")
    return f"You can judge once you agree to take part. {key} shows the text."
