"""Records what a rater's keys say of the item on the screen, and goes back to what is undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, cast
from uuid import UUID

from screens.dispatch import Handler, Handlers
from screens.items.views import ItemView
from screens.judging.comments import Comments
from screens.judging.desk import Desk, after
from screens.judging.key_line import in_stretches
from screens.judging.order import ReviewOrder
from screens.judging.parts import ScreenParts
from screens.judging.reasons import ReasonAsked, Reasons, overridden
from screens.judging.undone import target_of, undone_in_words
from screens.recording import Override, Undone
from screens.widgets.line import harmless_line
from screens.widgets.text.sanitize import one_line
from store.counted import counted
from store.evidence import Citation
from store.recording import Action
from store.tables.record import Judgment, Mark, QuestionTarget

MOST_NAMED = 4
"""Answers up to which a sentence about their keys has their words too."""


class JudgingScreen(Protocol):
    """What a screen does for the judging on it."""

    def evidence(self) -> tuple[tuple[Citation, ...], UUID | None]:
        """Return the lines that the next label cites, and the execution that was shown when the key came."""

    def show_recorded(self, action: Action) -> None:
        """Show what an action makes of the item on the screen."""

    def ask(self, place: int) -> None:
        """Ask another question of the item on the screen."""

    def go_on(self) -> None:
        """Go to the next item."""

    def leave_for(self, undone: Undone) -> None:
        """Leave the item on the screen for that of an undo or redo."""

    def show_item(self) -> None:
        """Show the item at the order's place."""


class Judging:
    """Judges the item on the screen: labels, acceptance, cannot decide, skip, flag, comment, reasons, undo.

    Nothing is recorded of an item before it was on the screen.

    Args:
        screen: Shows the items.
        parts: What the parts of the screen share.
        order: The items.
        comments: The line in which comments are written.
        cited: Says which lines are cited, in words.

    Attributes:
        desk: What every record has in common; None before it is read, and where there is no rater.
        reasons: The question for a reason.
    """

    def __init__(
        self,
        screen: JudgingScreen,
        parts: ScreenParts,
        order: ReviewOrder,
        comments: Comments,
        cited: Callable[[Sequence[Citation]], str],
    ) -> None:
        self.desk: Desk | None = None
        self.reasons = Reasons(parts, self._give_reason)
        self._shows = screen
        self._parts = parts
        self._order = order
        self._comments = comments
        self._cited = cited
        # The key of the question that an undo goes back to.
        self._wanted_question: QuestionTarget | None = None
        # What was undone last; None once its item is shown.
        self._undone: Undone | None = None

    def handlers(self) -> Handlers:
        """Return what the commands do that record something."""

        def has_claim() -> bool:
            return self._parts.item is None or self._parts.item.claim is not None

        def has_override() -> bool:
            return self._parts.item is None or overridden(self._parts.item) is not None

        return {
            "review.accept": Handler(self.accept, has_claim, of_item=True),
            "review.undecided": Handler(self.say_undecided, of_item=True),
            "review.skip": Handler(self.skip, of_item=True),
            "review.flag": Handler(self.flag, of_item=True),
            "review.comment": Handler(self.comment, of_item=True),
            "review.reason": Handler(self.give_reason, has_override, of_item=True),
            "review.undo": Handler(self.undo),
            "review.redo": Handler(lambda: self.undo(redo=True)),
            "review.ask": Handler(lambda: self.ask_another(1), self._has_several),
            "review.ask_back": Handler(lambda: self.ask_another(-1)),
        }

    # -- what is shown --------------------------------------------------------------------------------

    def as_known(self, view: ItemView, before: ItemView | None) -> ItemView:
        """Return an item that was read as it is to be shown: with what waits for the disk, at its question.

        The question is one gone back to, the same as before, or the first without a label.

        Args:
            view: The item as it was read.
            before: As it is on the screen; None where another one is.
        """
        for action in self._parts.context.recorder.waiting(view.item_id):
            # What was read does not know of what is still on its way to the disk.
            view = view.with_own(after(view.own, action))
        wanted, self._wanted_question = self._wanted_question, None
        place = view.place_of(wanted)
        if place is None and before is not None:
            same = (place for place, ask in enumerate(view.asks) if ask.is_asked_as(before.ask))
            place = next(same, None)
        if place is None:
            place = view.next_open(-1) or 0
        return view.asked_at(place)

    def has_arrived(self, view: ItemView) -> None:
        """Complete what is said of an undo whose item is known only now; what was said since stays."""
        undone, self._undone = self._undone, None
        if undone is not None and self._parts.saying.said == self._undone_in_words(undone, None):
            self._parts.say(self._undone_in_words(undone, view))

    # -- judging --------------------------------------------------------------------------------------

    def is_by_hand(self) -> bool:
        """Return whether a hand pressed the key, and not into a text; say why not."""
        if self._parts.is_writing:
            close = self._parts.key("line.close")
            self._parts.say(f"Keys are text while a line is open; {close} closes it.", alarm=True)
            return False
        return True

    def may_judge(self) -> bool:
        """Return whether a key may record something of the item now; say why when not."""
        guard, pressed = self._parts.guard, self._parts.context.last_key.time
        if self._parts.context.rater is None:
            self._parts.context.notices.say_no_rater()
        elif not self.is_by_hand():
            pass
        elif guard.is_bare:
            self._parts.say("There is no item here to judge.", alarm=True)
        elif self.desk is None or (missing := guard.missing_at(pressed)):
            missing = "item" if self.desk is None else missing
            said = f"Not recorded: the {missing} was not on the screen when you pressed. Press again."
            self._parts.say(said, alarm=True)
        elif guard.is_unsettled_at(pressed):
            said = "Not recorded: the agents' label came just now. Look, then press."
            self._parts.say(said, alarm=True)
        else:
            return True
        return False

    def judge(self, key: str) -> None:
        """Answer the question that is asked with the value that has a key on its scale."""
        item = self._parts.item
        if not self.may_judge() or item is None:
            return
        value = item.question.scale.value_of(key)
        if value is not None:
            self._give(value)
        else:
            self._parts.say(f"{key} is no answer here. {self._answers()}", alarm=True)

    def _answers(self) -> str:
        """Return the keys of what is asked as a sentence, with their words where those are few."""
        keys, scale = self._parts.keys.of_values(), self._parts.keys.scale
        if scale is None or len(keys) > MOST_NAMED:
            return f"Its keys: {in_stretches([*keys])}."
        words = [(key, scale.word(scale.value_of(name) or 0)) for key, name in keys.items()]
        named = [word if word.startswith(f"{key} ") else f"{key} {word}" for key, word in words]
        return f"Its keys: {' · '.join(named)}."

    def _give(self, value: float) -> None:
        """Record a value, then ask the next question, or go to the next item."""
        item, (cited, execution) = self._parts.item, self._shows.evidence()
        if item is None or self.desk is None:
            return
        if item.ask.nothing:
            self._parts.say(f"Not recorded: {item.ask.nothing}.", alarm=True)
            return
        action = self.desk.label(item, value, self._parts.guard.watch, cited=cited, execution=execution)
        self.record(action)
        words = item.question.scale.word(value)
        words = f"{item.ask.title}: {words}" if len(item.asks) > 1 else words
        cites = f" · cites {self._cited(cited)}" if cited else ""
        record = cast(Judgment, action.records[0])
        if record.origin == "override":
            self.reasons.ask(ReasonAsked(action, item.item_id))
            what = item.ask.title if len(item.asks) > 1 else item.external_id
            codes = self.reasons.codes_of_kind(undecided=False)
            self._parts.context.recorder.last_override = Override(action, what, codes)
            said = f"● {words} · overrides ◆{cites} · {one_line(item.external_id, 24)} · why? · "
            said += self._undo_hint
        else:
            self.reasons.drop()
            accepts = " · accepts ◆" if record.origin == "accept" else ""
            said = f"● {words}{accepts}{cites} · {one_line(item.external_id, 24)} · {self._undo_hint}"
        now = self._parts.item
        following = now.next_open(item.at) if now is not None else None
        if following is not None:
            self._shows.ask(following)
        choices = self.reasons.choices()
        if following is None:
            self._go_on(said, choices)
            return
        if choices:
            # The next question is asked already, though its keys are not named.
            keys = in_stretches([*self._parts.keys.of_values()])
            choices = [*choices[:-1], (keys, "next answer"), choices[-1]]
        self._parts.say(said, choices=choices)

    def _go_on(self, said: str, choices: Sequence[tuple[str, str]] = ()) -> None:
        self._parts.say(said, choices=choices)
        self._shows.go_on()

    def accept(self) -> None:
        """Take over the agents' label as it stands on the screen."""
        item = self._parts.item
        if not self.may_judge() or item is None:
            return
        if item.claim is None:
            why = "the review is blind" if item.blind else "the agents have no label here"
            why = item.ask.unclaimed or why
            self._parts.say(f"Nothing to accept: {why}. Nothing was recorded.", alarm=True)
            return
        self._give(item.claim.value)

    def say_undecided(self) -> None:
        """Ask why the rater cannot decide; the code that follows records it."""
        item = self._parts.item
        if self.may_judge() and item is not None:
            self.reasons.ask(ReasonAsked(None, item.item_id, undecided=True))
            self._parts.say("Cannot decide, because:", choices=self.reasons.choices())

    def skip(self) -> None:
        """Put the item off: it comes again last."""
        item = self._parts.item
        if not self.may_judge() or item is None or self.desk is None:
            return
        self.record(self.desk.mark(item.item_id, "skip", assignment_id=item.assignment_id))
        self._order.put_last(item.item_id)
        name = one_line(item.external_id, 24)
        self._go_on(f"» skipped {name}; it comes back last · {self._undo_hint}")

    def flag(self) -> None:
        """Flag the item, or take the flag away."""
        item = self._parts.item
        if not self.may_judge() or item is None or self.desk is None:
            return
        flagged = not item.own.flagged
        self.record(self.desk.mark(item.item_id, "flag", active=flagged, assignment_id=item.assignment_id))
        self._parts.say(f"{'⚑ flagged' if flagged else 'Flag taken away'} · {self._undo_hint}")

    def record(self, action: Action) -> None:
        """Submit an action, and show at once what it makes of the item."""
        item = self._parts.item
        self._parts.context.recorder.last_override = None
        self._parts.context.recorder.submit(action)
        if item is not None and item.item_id == action.item_id:
            self._parts.guard.show_as(item.with_own(after(item.own, action)))
            self._shows.show_recorded(action)

    @property
    def _undo_hint(self) -> str:
        """How to take back what was just done."""
        return f"{self._parts.key('undo')} undo"

    # -- asking ---------------------------------------------------------------------------------------

    def _has_several(self) -> bool:
        return self._parts.item is not None and len(self._parts.item.asks) > 1

    def ask_another(self, step: int) -> None:
        """Ask the next question of the item, or the one before."""
        item = self._parts.item
        if item is None:
            return
        self.reasons.drop()
        if len(item.asks) == 1:
            self._parts.say("This item is asked one question.")
            return
        self._parts.say("")
        self._shows.ask((item.at + step) % len(item.asks))

    def ask_about(self, pane: str) -> None:
        """Ask what a pane is about, where that is another question: keys answer what is looked at."""
        item = self._parts.item
        if item is None or item.ask.pane in ("", pane):
            return
        about = [place for place, ask in enumerate(item.asks) if ask.pane == pane]
        if about and self._parts.guard.is_painted:
            still_open = (place for place in about if item.label_of(item.asks[place]) is None)
            self.reasons.drop()
            self._shows.ask(next(still_open, about[0]))

    # -- reasons --------------------------------------------------------------------------------------

    def give_reason(self) -> None:
        """Offer the reasons for the override of the item shown, otherwise for the last one."""
        item, override = self._parts.item, self._parts.context.recorder.last_override
        if item is None and override is not None and self.is_by_hand():
            self.reasons.ask_last()
        elif not self.may_judge() or item is None:
            return
        elif overridden(item) is not None:
            self.reasons.ask(ReasonAsked(None, item.item_id))
            now = f" Now: {item.label.reason}." if item.label is not None and item.label.reason else ""
            self._parts.say(f"Why another label than ◆?{now}", choices=self.reasons.choices())
        elif override is not None:
            # The review has gone on from it: to the next question, or to the next item.
            self.reasons.ask_last()
        else:
            none = "this question" if len(item.asks) > 1 else "this item"
            self._parts.say(f"A reason belongs to an override, and {none} has none.", alarm=True)

    def _give_reason(self, asked: ReasonAsked, reason: str) -> None:
        item, desk, recorder = self._parts.item, self.desk, self._parts.context.recorder
        if desk is None:
            return
        if asked.action is not None and asked.action.id in recorder.taken_back:
            said = "Not recorded: the label that this would be the reason of was taken back."
            self._parts.say(said, alarm=True)
            return
        is_shown = item is not None and item.item_id == asked.item_id
        if asked.undecided and item is not None and is_shown:
            given = sum(item.label_of(ask) is not None for ask in item.asks)
            back = f" · takes back {counted(given, 'answer')}" if given and len(item.asks) > 1 else ""
            self.record(
                desk.mark(asked.item_id, "cannot_decide", text=reason, assignment_id=item.assignment_id)
            )
            self._go_on(f"? cannot decide: {reason}{back} · {self._undo_hint}")
        elif asked.action is not None:
            override = recorder.last_override
            self.record(desk.with_reason(asked.action, reason))
            recorder.last_override = override
            change, undo = self._parts.key("reason"), self._parts.key("undo")
            changes = f"{change} changes it · {undo} undo takes back label and reason"
            self._parts.say(f"Reason: {reason} · {changes}")
        elif item is not None and is_shown and item.label is not None:
            (cited, execution), value = self._shows.evidence(), item.label.value
            self.record(desk.label(item, value, self._parts.guard.watch, reason, cited, execution=execution))
            self._parts.say(f"Reason: {reason} · {self._undo_hint}")

    # -- comments -------------------------------------------------------------------------------------

    def comment(self) -> None:
        """Open the line in which a comment is written."""
        item = self._parts.item
        if self.may_judge() and item is not None:
            self.reasons.drop()
            self._comments.open(item)

    def comment_given(self, text: str) -> None:
        """Record the comment that was written."""
        if self.desk is None:
            self._comments.keep_draft()
            return
        item = self._comments.take()
        if item is None:
            return
        text = text.strip()
        if text == harmless_line(item.own.comment):
            self._parts.say("The comment is as it was.")
            return
        self.record(
            self.desk.mark(
                item.item_id, "comment", active=bool(text), text=text, assignment_id=item.assignment_id
            )
        )
        self._parts.say(f"Comment {'given' if text else 'taken away'} · {self._undo_hint}")

    # -- undoing --------------------------------------------------------------------------------------

    def undo(self, *, redo: bool = False) -> None:
        """Take back the latest action, whichever session it was in; or bring back the one undone last."""
        if self.is_by_hand():
            self.reasons.drop()
            self._parts.context.recorder.last_override = None
            self._parts.context.recorder.undo(redo=redo)

    def show_undone(self, undone: Undone) -> None:
        """Go to the item of an undo or redo, and say what is recorded now."""
        action = undone.action
        for record in action.records:
            if isinstance(record, Mark) and record.kind == "skip":
                if record.active and undone.stored:
                    self._order.put_last(record.item_id)
                else:
                    self._order.take_last_away(record.item_id)
        written = self._comments.item
        if written is not None and written.item_id != action.item_id:
            # What is typed meanwhile belongs to the item on the screen.
            self._parts.context.notices.toast(self._undone_in_words(undone, None))
            return
        self._shows.leave_for(undone)
        self._order.go_to(action.item_id)
        self._wanted_question = target_of(action)
        self._undone = undone
        self._parts.say(self._undone_in_words(undone, self._parts.item))
        self._shows.show_item()

    def _undone_in_words(self, undone: Undone, item: ItemView | None) -> str:
        """Return what was undone or redone, with what the question is about where the item is known."""
        action, number = undone.action, target_of(undone.action)
        asks = () if item is None or number is None or item.item_id != action.item_id else item.asks
        # By its key, since names do not tell where those of models are hidden.
        about = next((ask.about for ask in asks if ask.target == number), "")
        blind, names = self._parts.context.scope.blind, self._parts.context.recorder.question_names
        what = undone_in_words(action, names, blind=blind, since=self._parts.context.recorder.began, of=about)
        if not undone.stored:
            return f"Taken back: {what} · it was not on disk yet, and no redo brings it back"
        if undone.redo:
            return f"Brought back: {what} · {self._undo_hint}"
        return f"Taken back: {what} · {self._parts.key('redo')} redo"
