"""Revising the texts of an item, in a dialog or in an external editor."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from textual import events

from screens.items.views import Editable, ItemView
from screens.judging.context import JudgingContext
from screens.judging.controller import JudgingController
from screens.judging.drafts import DRAFTS_KEPT
from screens.review.text_editor import TextEditor, can_edit_here, edit_externally
from screens.widgets.text.sanitize import one_line
from store.kinds.spec import task_kinds
from store.record.actions import Action
from store.record.revisions import REVISION, refused_text, without_added_end
from store.tables.record import Mark

if TYPE_CHECKING:
    from screens.context import ScreenContext


class RevisionEditor(TextEditor):
    """Edits a text of an item; returns it when it is to be recorded, None when it is put aside.

    Args:
        editable: The text.
        draft: The rater's draft; None where there is none.
        keep: Called with the text after every change.
        outdated: Whether the text changed since the draft was begun.
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
        """The item's prompt, unless just that is edited, and who wrote the current text."""
        prompt = self._item.prompt if self._editable.text != self._item.prompt else ""
        return prompt, f"Current: {self._editable.revised or 'as imported'}."

    @property
    def endings(self) -> Sequence[tuple[str, str]]:
        """The keys that record the text, and bring back the imported one."""
        return (("editor.run", "save it"), ("editor.reset", "imported text"))

    @property
    def beginning(self) -> tuple[str, str]:
        """The imported text."""
        return self._editable.imported, "This is the imported text."

    def without_editor_changes(self, text: str) -> str:
        """Return what an editor left without the line feed that it ended the last line with."""
        return without_added_end(text, self._editable.text)

    def on_mount(self) -> None:
        """Say what is edited."""
        if self._draft is not None:
            message = f"This is your draft. Since you began it, the {self._editable.title} changed."
            self._show_message(message if self._outdated else "This is your draft.", alarm=self._outdated)

    def action_run(self) -> None:
        """Record the text."""
        text = self.area.text
        refused = refused_text(task_kinds()[self._item.kind], self._editable.part, text)
        if refused:
            self._show_message(refused, alarm=True)
        else:
            self.dismiss(text)


_Edits = Callable[[ItemView, Editable], None]


class TextRevisions:
    """Rewrites texts of an item.

    What was written stays a draft, kept like that of a comment, until the revision is on disk.

    Args:
        changed: Called when a draft has changed.
    """

    def __init__(
        self, shared: JudgingContext, judging: JudgingController, changed: Callable[[], None]
    ) -> None:
        self._shared = shared
        self._judging = judging
        self._changed = changed
        self._drafts: dict[tuple[int, str], str] = {}
        # A digest of the text that stood when each of them was begun.
        self._begun_on: dict[tuple[int, str], str] = {}
        # Which text is edited once its code is pressed, and how; None while nothing is asked.
        self._part_asked: tuple[int, Mapping[str, Editable], _Edits] | None = None

    def edit(self) -> None:
        """Edit a text of the item shown."""
        self._begin_edit(self._edit_here)

    def edit_outside(self) -> None:
        """Edit a text of the item shown in `$EDITOR`."""
        self._begin_edit(self._edit_in_editor)

    def _begin_edit(self, edits: _Edits) -> None:
        """Edit the text that there is; of several ask which one."""
        item = self._shared.item
        if self._shared.context.rater is None:
            self._shared.context.notices.show_no_rater()
        elif (
            item is None
            or self._judging.builder is None
            or not (self._shared.guard.is_painted or self.waits(item))
        ):
            self._shared.show_no_item()
        elif len(item.editable) == 1:
            self._judging.reasons.drop()
            edits(item, item.editable[0])
        else:
            self._judging.reasons.drop()
            codes = _codes(item.editable)
            choices = [(code, editable.title) for code, editable in codes.items()]
            self._part_asked = (item.item_id, codes, edits)
            self._shared.show_message(
                "Edit which text?", choices=[*choices, (self._shared.keys.ending, "none")]
            )

    def take_key(self, key: events.Key) -> bool:
        """Take the code of a text while it is asked which one is edited; return whether the key was one."""
        if self._part_asked is None:
            return False
        item_id, codes, edits = self._part_asked
        still, item = self._shared.choices and self._judging.reasons.asked is None, self._shared.item
        if not still or item is None or item.item_id != item_id:
            self._part_asked = None
            return False
        editable = codes.get(key.character or "")
        if editable is None:
            return False
        self._part_asked = None
        self._shared.show_message("")
        edits(item, editable)
        return True

    def end(self) -> bool:
        """End the question which text is edited; return whether it was asked."""
        asked, self._part_asked = self._part_asked, None
        if asked is not None and self._shared.choices:
            self._shared.show_message("Nothing was edited.")
            return True
        return False

    # -- editing --------------------------------------------------------------------------------------

    def _edit_here(self, item: ItemView, editable: Editable) -> None:
        draft = self._drafts.get((item.item_id, editable.part))
        if not can_edit_here(self._shared, editable.text if draft is None else draft, "text"):
            return
        editor = RevisionEditor(
            self._shared.context,
            item,
            editable,
            draft,
            lambda text: self._keep_text(item, editable, text),
            outdated=self._is_outdated(item, editable),
        )
        self._shared.screen.app.push_screen(editor, lambda text: self._edited_text(item, editable, text))

    def _edited_text(self, item: ItemView, editable: Editable, text: str | None) -> None:
        if text is not None:
            self._revise(item, editable, text)
        elif (item.item_id, editable.part) in self._drafts:
            self._shared.show_message(f"Draft kept; {self._shared.key('edit')} opens it again.")
        else:
            self._shared.show_message(f"The {editable.title} is unchanged.")

    def _edit_in_editor(self, item: ItemView, editable: Editable) -> None:
        draft = self._drafts.get((item.item_id, editable.part))
        before = editable.text if draft is None else draft
        text = edit_externally(
            self._shared,
            before,
            RevisionEditor,
            lambda text: self._keep_text(item, editable, without_added_end(text, before)),
            lambda: (item.item_id, editable.part) in self._drafts,
        )
        if text is None:
            return
        text = without_added_end(text, before)
        self._keep_text(item, editable, text)
        if refused := refused_text(task_kinds()[item.kind], editable.part, text):
            self._shared.show_message(refused, alarm=True)
        else:
            self._revise(item, editable, text)

    def _revise(self, item: ItemView, editable: Editable, text: str) -> None:
        """Record a text in place of the current one."""
        if text == editable.text:
            self._keep_text(item, editable, text)
            self._shared.show_message(f"The {editable.title} is unchanged; nothing was recorded.")
        elif self._judging.builder is not None:
            outdated = self._is_outdated(item, editable)
            # Nothing is judged until the panes show the new text.
            self._shared.guard.await_paint("revised text")
            self._judging.record(self._judging.builder.mark(item, REVISION + editable.part, text=text))
            back = "is the imported one again" if text == editable.imported else "revised"
            over = " · in place of one that came after you began" if outdated else ""
            self._shared.show_message(f"✎ {editable.title} {back}{over} · {self._shared.key('undo')} undo")

    def waits(self, item: ItemView) -> bool:
        """Return whether a revision of the item is not on disk yet; then the panes show the text before."""
        waiting = self._shared.context.recorder.waiting(item.item_id)
        return any(_part_of(record) for action in waiting for record in action.records)

    @property
    def awaited(self) -> str:
        """The missing part before the item counts as painted: a revised text."""
        item = self._shared.item
        return "revised text" if item is not None and self.waits(item) else ""

    # -- drafts ---------------------------------------------------------------------------------------

    def _keep_text(self, item: ItemView, editable: Editable, text: str) -> None:
        """Keep what was written in place of a text as the draft of it."""
        key = (item.item_id, editable.part)
        self._drafts.pop(key, None)
        if text != editable.text:
            self._drafts[key] = text
            self._begun_on.setdefault(key, _digest(editable.text))
        else:
            self._begun_on.pop(key, None)
        self._changed()

    def _is_outdated(self, item: ItemView, editable: Editable) -> bool:
        """Return whether the text changed since the draft was begun, where that is known."""
        begun_on = self._begun_on.get((item.item_id, editable.part))
        return begun_on is not None and begun_on != _digest(editable.text)

    def saved(self, action: Action) -> None:
        """Drop the draft of what is recorded."""
        for record in action.records:
            key = (action.item_id, _part_of(record))
            if isinstance(record, Mark) and self._drafts.get(key) == record.text:
                del self._drafts[key]
                self._begun_on.pop(key, None)
                self._changed()

    def mention_draft(self, view: ItemView) -> None:
        """Say which texts of an item that has come onto the screen have drafts, and which changed since."""
        titles = [one.title for one in view.editable if (view.item_id, one.part) in self._drafts]
        if titles:
            what, edit = " and ".join(titles), self._shared.key("edit")
            self._shared.append_message(f"Your draft of the {what} is kept: {edit} opens it again.")
        if later := describe_changes(view):
            self._shared.append_message(later)

    def take_session(self, session: Mapping[str, Any]) -> None:
        """Take over the drafts of earlier sessions."""
        for name, known in (("texts", self._drafts), ("begun_on", self._begun_on)):
            kept = session.get(name)
            for number, drafts in (kept if isinstance(kept, dict) else {}).items():
                for part, text in (drafts if isinstance(drafts, dict) else {}).items():
                    known.setdefault((int(number), str(part)), str(text))

    @property
    def kept(self) -> dict[str, Any]:
        """The drafts as a session stores them."""
        drafts: dict[str, dict[str, str]] = {}
        begun_on: dict[str, dict[str, str]] = {}
        for key, text in list(self._drafts.items())[-DRAFTS_KEPT:]:
            number, part = str(key[0]), key[1]
            drafts.setdefault(number, {})[part] = text
            if key in self._begun_on:
                begun_on.setdefault(number, {})[part] = self._begun_on[key]
        return {"texts": drafts, "begun_on": begun_on}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def describe_changes(view: ItemView) -> str:
    """Return which texts are others than when the rater gave the labels, as a sentence; or nothing."""
    given = {
        # The text judged in place of an answer may have changed: a reference, once a thread.
        (question.title if question.pane else question.spec.title): label.given
        for question in view.questions
        if (label := view.label_of(question)) is not None and label.given is not None
    }
    older: dict[str, None] = {}
    changed: list[str] = []
    for editable in view.editable:
        found = [title for title, moment in given.items() if editable.differed_at(moment)]
        older |= dict.fromkeys(found)
        changed += [editable.title] if found else []
    if not changed:
        return ""
    what = "your label" if not view.has_several else next(iter(older)) if len(older) == 1 else ""
    after = what or f"{len(older)} of your {len(view.questions)} answers"
    return f"Since you gave {after}, the {' and the '.join(changed)} changed."


def _part_of(record: object) -> str:
    """Return which text a record rewrites; empty where it does something else."""
    is_revision = isinstance(record, Mark) and record.kind.startswith(REVISION)
    return record.kind.removeprefix(REVISION) if isinstance(record, Mark) and is_revision else ""


def _codes(editable: tuple[Editable, ...]) -> dict[str, Editable]:
    """Return the texts by a letter of what each is called, else by a digit."""
    codes: dict[str, Editable] = {}
    for number, one in enumerate(editable, start=1):
        letters = [letter for letter in one.title if "a" <= letter <= "z" and letter not in codes]
        codes[letters[0] if letters else str(number)] = one
    return codes
