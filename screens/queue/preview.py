"""The pane beside the queue that shows the item under the cursor."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from screens.help import with_keys
from screens.widgets.text.sanitize import one_line

if TYPE_CHECKING:
    from screens.items.views import ItemView
    from screens.settings import ScreenSettings
    from screens.widgets.text.view import TextPane

PROMPT_CHARACTERS = 400
CLAIM_CHARACTERS = 160


class Preview(Vertical):
    """The prompt, the agents' claim, and the head of the subject."""

    def __init__(self, settings: ScreenSettings) -> None:
        super().__init__()
        self._settings = settings

    def compose(self) -> ComposeResult:
        """Lay out the first two; the pane comes with the first item, since a start need not wait for it."""
        self.add_class("-waiting")
        yield Static("Reading …", id="preview-prompt")
        yield Static(id="preview-claim")

    async def _pane(self) -> TextPane:
        from screens.widgets.text.view import TextPane

        found = self.query(TextPane)
        if found:
            return found.first()
        pane = TextPane(id="preview-subject")
        pane.can_focus = False
        await self.mount(pane)
        return pane

    async def show(self, view: ItemView) -> None:
        """Show an item."""
        pane = await self._pane()
        self.remove_class("-waiting")
        prompt, claim = self.query_one("#preview-prompt", Static), self.query_one("#preview-claim", Static)
        prompt.border_title = Content(one_line(view.external_id, 30))
        prompt.update(Content(one_line(view.prompt, PROMPT_CHARACTERS)))
        claim.update(Content(_claims(view)))
        claim.display = any(question.claim for question in view.questions)
        # There is little room: lines are not wrapped, and begin where the one that is judged does.
        subject = replace(view.subject, compared=False)
        subject.load_into(pane, title=subject.title, empty=with_keys(self._settings, subject.empty))
        if subject.kind == "code":
            pane.begin_at(subject.start or 1, indented=True)


def _claims(view: ItemView) -> str:
    """Return the claims of agents or judges: to one question in full, to several in short, by response."""
    if not view.has_several:
        return view.claim.summary if view.claim else ""
    scores: dict[str, list[str]] = {}
    for question in view.questions:
        if question.claim is not None:
            scores.setdefault(question.about, []).append(f"{question.spec.title} {question.claim.value:g}")
    phrases = [f"{about}: {', '.join(each)}" if about else ", ".join(each) for about, each in scores.items()]
    return one_line(f"◆ {' · '.join(phrases)}", CLAIM_CHARACTERS) if phrases else ""
