"""The modal in which a question, a reference answer or another text of an item is rewritten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from screens.review.text_editor import TextEditor
from screens.widgets.text.sanitize import one_line
from store.kinds.protocol import task_kinds
from store.revising import refusal, without_added_end

if TYPE_CHECKING:
    from screens.context import ScreenContext
    from screens.items.views import Editable, ItemView


class RevisionEditor(TextEditor):
    """Edits a text of an item; returns it when it is to be recorded, None when it is put aside.

    Args:
        context: What it works with.
        item: The item.
        editable: The text.
        draft: What the rater wrote before in its place; None where there is none.
        keep: Called with the text after every change.
        outdated: Whether another text stands now than when the draft was begun.
    """

    LANGUAGE = "markdown"
    WRAPS = True
    FILE = "text.md"
    UNTAKEN = "nothing was recorded"

    def __init__(
        self,
        context: ScreenContext,
        item: ItemView,
        editable: Editable,
        draft: str | None,
        keep: Callable[[str], None],
        *,
        outdated: bool = False,
    ) -> None:
        super().__init__(context, editable.text if draft is None else draft, keep)
        self._item = item
        self._editable = editable
        self._draft = draft
        self._outdated = outdated

    @property
    def heading(self) -> str:
        """Which text is edited."""
        what = "Edit" if self._editable.text else "Write"
        return f"{what} the {self._editable.title} of {one_line(self._item.external_id, 40)}"

    @property
    def about(self) -> tuple[str, str]:
        """What the item asks for, unless just that is edited, and who wrote the text that stands."""
        prompt = self._item.prompt if self._editable.text != self._item.prompt else ""
        return prompt, f"Stands: {self._editable.revised or 'as imported'}."

    @property
    def endings(self) -> Sequence[tuple[str, str]]:
        """The keys that record the text, and bring back the imported one."""
        return (("editor.run", "records it"), ("editor.reset", "the imported text"))

    @property
    def beginning(self) -> tuple[str, str]:
        """The imported text."""
        return self._editable.imported, "This is the imported text."

    def as_meant(self, text: str) -> str:
        """Return what an editor left without the line feed that it ended the last line with."""
        return without_added_end(text, self._editable.text)

    def on_mount(self) -> None:
        """Say what is edited."""
        if self._draft is not None:
            said = f"This is your draft. Since you began it, the {self._editable.title} changed."
            self._say(said if self._outdated else "This is your draft.", alarm=self._outdated)

    def action_run(self) -> None:
        """Record the text as it stands."""
        text = self.area.text
        refused = refusal(task_kinds()[self._item.kind], self._editable.part, text)
        if refused:
            self._say(refused, alarm=True)
        else:
            self.dismiss(text)
