"""The keys that record something: labels, acceptance, cannot decide, skip, flag, comment, reasons, undo."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import cast

from textual import events, on
from textual.widgets import Input

from screens.review.showing import ShowingItems
from screens.widgets.visible import one_line
from store.queries.item import OwnState
from store.recording import Action
from store.tables.record import Judgment


class JudgeKeys(ShowingItems):
    """The part of a review screen that records; nothing is taken before the item was on the screen."""

    # -- judging --------------------------------------------------------------------------------------

    def _may_judge(self) -> bool:
        """Return whether a key may record something now; say why when not."""
        app = self.workbench
        if app.recorder is None or self.desk is None:
            if app.context.rater is None:
                app.say_no_rater()
            else:
                self._say("Not ready yet; the key was not taken.", alarm=True)
            return False
        if self.item is None or not self._painted:
            self._say(
                "The item was not on the screen yet; the key was not taken. Press it again.", alarm=True
            )
            return False
        if time.monotonic() < self._settled_at:
            self._say(
                "◆ The agents' label came just now; the key was not taken. Look, then press.", alarm=True
            )
            return False
        if app.is_burst():
            self._say("Several keys came at once, as from pasted text; none of them judged.", alarm=True)
            return False
        return True

    def action_judge(self, value: float) -> None:
        """Give the item a label."""
        if not self._may_judge() or self.item is None or self.desk is None:
            return
        item = self.item
        if not any(known.value == value for known in item.question.scale.values):
            self._say(f"{value:g} is no value of this question.", alarm=True)
            return
        action = self.desk.label(item, value, self._watch)
        self._record(
            action,
            own=replace(
                item.own,
                labels={**item.own.labels, item.question.name: value},
                cannot_decide=None,
                skipped=False,
                reason="",
            ),
        )
        words = item.question.scale.word(value)
        record = cast(Judgment, action.records[0])
        if record.origin == "override":
            self._reasons_for = (action, item.item_id, False)
            said = f"● {words} · overrides ◆ · why? {self._codes(False)} · u undo"
        else:
            self._reasons_for = None
            accepts = " · accepts ◆" if record.origin == "accept" else ""
            said = f"● {words}{accepts} · {one_line(item.external_id, 24)} · u undo"
        self._advance(said)

    def action_accept(self) -> None:
        """Take over the agents' label as it stands on the screen."""
        if not self._may_judge() or self.item is None:
            return
        if self.item.claim is None:
            blind = self.workbench.context.settings.blind
            why = "the review is blind" if blind else "the agents have no label here"
            self._say(f"Nothing to accept: {why}. Nothing was recorded.", alarm=True)
            return
        self.action_judge(self.item.claim.value)

    def action_undecided(self) -> None:
        """Ask why the rater cannot decide; the code that follows records it."""
        if self._may_judge() and self.item is not None:
            self._reasons_for = (None, self.item.item_id, True)
            self._say(f"Cannot decide, because: {self._codes(True)} · Esc no")

    def action_skip(self) -> None:
        """Put the item off: it comes again last."""
        if not self._may_judge() or self.item is None or self.desk is None:
            return
        item = self.item
        self._record(self.desk.mark(item.item_id, "skip"), own=replace(item.own, skipped=True))
        self.order.put_last(item.item_id)
        self._advance(f"» skipped {one_line(item.external_id, 24)}; it comes back last · u undo")

    def action_flag(self) -> None:
        """Flag the item, or take the flag away."""
        if not self._may_judge() or self.item is None or self.desk is None:
            return
        item = self.item
        flagged = not item.own.flagged
        self._record(
            self.desk.mark(item.item_id, "flag", active=flagged), own=replace(item.own, flagged=flagged)
        )
        self._say("⚑ flagged · u undo" if flagged else "Flag taken away · u undo")

    def action_reason(self) -> None:
        """Offer the reasons for the override that stands on the item shown."""
        if not self._may_judge() or self.item is None:
            return
        value = self.item.own.labels.get(self.item.question.name)
        if value is None or self.item.claim is None or value == self.item.claim.value:
            self._say("A reason belongs to an override, and this item has none.", alarm=True)
            return
        self._reasons_for = (None, self.item.item_id, False)
        self._say(f"Why another label than ◆? {self._codes(False)} · Esc no")

    def action_undo(self) -> None:
        """Take back the latest action, whichever session it was in."""
        self._reasons_for = None
        self.workbench.undo()

    def action_redo(self) -> None:
        """Bring back the action undone last."""
        self._reasons_for = None
        self.workbench.undo(redo=True)

    def _codes(self, undecided: bool) -> str:
        settings = self.workbench.context.settings
        codes = settings.undecided if undecided else settings.reasons
        return " ".join(f"{code} {words} ·" for code, words in codes.items()).rstrip(" ·")

    def on_key(self, event: events.Key) -> None:
        """Take the code of a reason while one is asked for; any other key leaves the question."""
        self._watch.touch()
        if self._reasons_for is None or isinstance(self.focused, Input):
            return
        action, item_id, undecided = self._reasons_for
        settings = self.workbench.context.settings
        reason = (settings.undecided if undecided else settings.reasons).get(event.character or "")
        if reason is None:
            return
        event.stop()
        event.prevent_default()
        if self.workbench.is_burst() or self.desk is None:
            return
        self._reasons_for = None
        self._give_reason(action, item_id, reason, undecided=undecided)

    def _give_reason(self, action: Action | None, item_id: int, reason: str, *, undecided: bool) -> None:
        item, desk = self.item, self.desk
        if desk is None:
            return
        if undecided and item is not None and item.item_id == item_id:
            self._record(
                desk.mark(item_id, "cannot_decide", text=reason),
                own=replace(item.own, labels={}, cannot_decide=reason, skipped=False),
            )
            self._advance(f"? cannot decide: {reason} · u undo")
        elif action is not None:
            kept = self.reader.kept(item_id)
            own = replace(kept.own, reason=reason) if kept else None
            self._record(desk.with_reason(action, reason), own=own)
            self._say(f"Reason: {reason} · u undo takes back label and reason")
        elif item is not None and item.item_id == item_id:
            value = item.own.labels[item.question.name]
            self._record(desk.label(item, value, self._watch, reason), own=replace(item.own, reason=reason))
            self._say(f"Reason: {reason} · u undo")

    def _record(self, action: Action, own: OwnState | None) -> None:
        """Submit an action, and show at once what it makes of the item."""
        self.workbench.record(action)
        view = self.reader.kept(action.item_id) or self.item
        if own is not None and view is not None and view.item_id == action.item_id:
            view = self.reader.keep(replace(view, own=own))
        if self.item is not None and self.item.item_id == action.item_id and view is not None:
            self.item = view
            self._show_claim()

    def _advance(self, said: str) -> None:
        if not self._go(1):
            said += " · this was the last item"
        self._say(said)

    # -- comment --------------------------------------------------------------------------------------

    def action_comment(self) -> None:
        """Open the comment line with what was written before, or with the draft."""
        if not self._may_judge() or self.item is None:
            return
        self._reasons_for = None
        box = self.query_one("#comment", Input)
        box.value = self._drafts.get(self.item.item_id, self.item.own.comment)
        box.display = True
        box.focus()

    @on(Input.Submitted, "#comment")
    def _comment_given(self, event: Input.Submitted) -> None:
        event.stop()
        item = self.item
        self._close_comment()
        if item is None or self.desk is None:
            return
        self._drafts.pop(item.item_id, None)
        text = event.value.strip()
        if text == item.own.comment:
            self._say("The comment is as it was.")
            return
        action = self.desk.mark(item.item_id, "comment", active=bool(text), text=text)
        self._record(action, own=replace(item.own, comment=text))
        self._say("Comment saved · u undo" if text else "Comment taken away · u undo")

    def _close_comment(self) -> None:
        box = self.query_one("#comment", Input)
        box.display = False
        self.focus_active()

    def keep_draft(self) -> bool:
        """Close the comment line and keep what is in it; return whether it was open."""
        box = self.query_one("#comment", Input)
        if not box.display or self.item is None:
            return False
        if box.value.strip() and box.value != self.item.own.comment:
            self._drafts[self.item.item_id] = box.value
            self._say("Draft kept; c goes on with it.")
        else:
            self._drafts.pop(self.item.item_id, None)
        self._close_comment()
        return True
