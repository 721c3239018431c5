"""Judges the item on the screen, and goes back to the items of undone actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, cast
from uuid import UUID

from screens.dispatch import Handler, Handlers
from screens.items.views import ItemView
from screens.judging.context import JudgingContext
from screens.judging.drafts import CommentEditor
from screens.judging.judgment_builder import JudgmentBuilder, apply_action
from screens.judging.keys import group_digits
from screens.judging.order import ReviewOrder
from screens.judging.reasons import OTHER, ReasonMenu, ReasonRequest, overridden
from screens.judging.recent import sign_of_action
from screens.judging.undo_text import describe_undo, target_of
from screens.session_recorder import Override, UndoResult
from screens.widgets.line_input import harmless_line
from screens.widgets.text.sanitize import one_line
from store.formatting import pluralize
from store.kinds.comparison import BOTH_BAD, SAME
from store.policy.scope import Shows
from store.record.actions import Action
from store.record.evidence import Citation
from store.tables.record import Judgment, Mark, QuestionTarget

MOST_NAMED = 4
"""Answers up to which a sentence about their keys has their words too."""


class JudgingScreen(Protocol):
    """The screen as the judging controller needs it."""

    @property
    def pane_in_use(self) -> str:
        """The id of the pane that is looked at; empty where none is chosen."""

    def evidence(self) -> tuple[tuple[Citation, ...], UUID | None]:
        """Return the lines that the next label cites, and the execution that was shown when the key came."""

    def without_test(self, item: ItemView, value: float) -> tuple[str, str]:
        """Return the question before a label without an own test, and that label's reason; empty for none."""

    def show_recorded(self, action: Action) -> None:
        """Show what an action makes of the item on the screen."""

    def ask_question(self, place: int) -> None:
        """Ask another question of the item on the screen."""

    def go_on(self) -> None:
        """Go to the next item."""

    def leave_for(self, undone: UndoResult) -> None:
        """Leave the item on the screen for that of an undo or redo."""

    def show_item(self) -> None:
        """Show the item at the order's place."""


class JudgingController:
    """Judges the item on the screen: labels, acceptance, cannot decide, skip, flag, comment, reasons, undo.

    Nothing is recorded of an item before it was on the screen.

    Args:
        cited: Says which lines are cited, in words.

    Attributes:
        builder: Builds the records; None before it is read, and without a rater.
    """

    def __init__(
        self,
        screen: JudgingScreen,
        shared: JudgingContext,
        order: ReviewOrder,
        comments: CommentEditor,
        cited: Callable[[Sequence[Citation]], str],
    ) -> None:
        self.builder: JudgmentBuilder | None = None
        self.reasons = ReasonMenu(shared, self._give_reason)
        self._shows = screen
        self._shared = shared
        self._order = order
        self._comments = comments
        self._cited = cited
        # The key of the question that an undo goes back to.
        self._wanted_question: QuestionTarget | None = None
        # The latest undo; None once its item is shown.
        self._undone: UndoResult | None = None

    def handlers(self) -> Handlers:
        """Return what the commands do that record something."""

        def has_claim() -> bool:
            return self._shared.item is None or self._shared.item.has_acceptable_claim

        def has_override() -> bool:
            return self._shared.item is None or overridden(self._shared.item) is not None

        def may_be_both_bad() -> bool:
            return self._shared.item is not None and self._shared.item.current.both_bad

        return {
            "review.accept": Handler(self.accept, has_claim, of_item=True),
            "review.both_bad": Handler(self.call_both_bad, may_be_both_bad, of_item=True),
            "review.undecided": Handler(self.ask_why_undecided, of_item=True),
            "review.skip": Handler(self.skip, of_item=True),
            "review.flag": Handler(self.flag, of_item=True),
            "review.comment": Handler(self.comment, of_item=True),
            "review.reason": Handler(self.give_reason, has_override, of_item=True),
            "review.undo": Handler(self.undo),
            "review.redo": Handler(lambda: self.undo(redo=True)),
            "review.ask": Handler(self.ask_next, self._has_several),
            "review.ask_back": Handler(lambda: self.ask_another(-1)),
        }

    # -- showing --------------------------------------------------------------------------------------

    def with_unsaved(self, view: ItemView, before: ItemView | None) -> ItemView:
        """Return an item that was read as it is to be shown: with what waits for the disk, at its question.

        The question is one gone back to, the same as before, or the first without a label.

        Args:
            view: The item as it was read.
            before: As it is on the screen; None where another one is.
        """
        for action in self._shared.context.recorder.waiting(view.item_id):
            # Actions that are still being written are missing in what was read.
            view = view.with_own(apply_action(view.own, action))
        wanted, self._wanted_question = self._wanted_question, None
        place = view.place_of(wanted)
        if place is None and before is not None:
            place = view.place_of(before.current.target)
        if place is None:
            place = view.next_open(-1) or 0
        return view.at_question(place)

    def complete_undo_message(self, view: ItemView) -> None:
        """Complete the message of an undo whose item is known only now; a later message stays."""
        undone, self._undone = self._undone, None
        if undone is not None and self._shared.message == self._describe_undo(undone, None):
            self._shared.show_message(self._describe_undo(undone, view))

    # -- judging --------------------------------------------------------------------------------------

    def is_by_hand(self) -> bool:
        """Return whether the key is no text of an open line; show why not."""
        if self._shared.is_writing:
            close = self._shared.key("line.close")
            self._shared.show_message(f"Keys are text while a line is open; {close} closes it.", alarm=True)
            return False
        return True

    def can_judge(self, *, from_line: bool = False) -> bool:
        """Return whether a key may record something of the item now; show why not.

        Args:
            from_line: Whether it is the key that gives the text of an open line.
        """
        guard, pressed = self._shared.guard, self._shared.context.last_key.time
        if self._shared.context.rater is None:
            self._shared.context.notices.show_no_rater()
        elif self._shared.context.needs_consent:
            message = "Not recorded: you have not agreed to take part. Home shows the text."
            self._shared.show_message(message, alarm=True)
        elif not from_line and not self.is_by_hand():
            pass
        elif guard.is_bare:
            self._shared.show_message("There is no item here to judge.", alarm=True)
        elif self.builder is None or (missing := guard.missing_at(pressed)):
            missing = "item" if self.builder is None else missing
            message = f"Not recorded: the {missing} was not on the screen when you pressed. Press again."
            self._shared.show_message(message, alarm=True)
        elif guard.is_unsettled_at(pressed):
            message = "Not recorded: the agents' label has just arrived. Check it, then press again."
            self._shared.show_message(message, alarm=True)
        else:
            return True
        return False

    def judge(self, key: str) -> None:
        """Answer the question that is asked with the value that has a key on its scale."""
        item = self._shared.item
        if not self.can_judge() or item is None:
            return
        value = item.question.scale.value_of(key)
        if value is not None:
            self._give(value)
        else:
            self._shared.show_message(f"{key} is not an answer here. {self._answers()}", alarm=True)

    def _answers(self) -> str:
        """Return the keys of what is asked as a sentence, with their words where those are few."""
        keys, scale = self._shared.keys.of_values(), self._shared.keys.scale
        if scale is None or len(keys) > MOST_NAMED:
            return f"Its keys: {group_digits([*keys])}."
        words = [(key, scale.word(scale.value_of(name) or 0)) for key, name in keys.items()]
        named = [word if word.startswith(f"{key} ") else f"{key} {word}" for key, word in words]
        return f"Its keys: {' · '.join(named)}."

    def call_both_bad(self) -> None:
        """Say that neither candidate of a comparison is any good; elsewhere the key is no answer."""
        item = self._shared.item
        if item is None or not item.current.both_bad:
            self.judge(self._shared.context.last_key.name)
        elif self.can_judge():
            self._give(SAME, BOTH_BAD)

    def _give(self, value: float, said: str = "") -> None:
        """Record a value, with a reason that came with it; then ask the next question, or go on."""
        item, (cited, execution) = self._shared.item, self._shows.evidence()
        if item is None or self.builder is None:
            return
        if item.current.nothing:
            self._shared.show_message(f"Not recorded: {item.current.nothing}.", alarm=True)
            return
        if item.last_answer not in (None, item.current):
            self._say_nothing_more(item, "Not recorded: ")
            return
        if missing := self._shared.missing_in_label(item, value):
            self._shared.show_message(f"Not recorded: {missing}. Press again to label without.", alarm=True)
            return
        ask, reason = self._shows.without_test(item, value)
        if ask:
            self._shared.show_message(ask, alarm=True)
            return
        watch = self._shared.guard.watch
        reason = said or reason
        action = self.builder.label(item, value, watch, reason, cited, execution=execution)
        self.record(action)
        words = item.current.word(value, reason)
        words = f"{item.current.title}: {words}" if item.has_several else words
        cites = f" · cites {self._cited(cited)}" if cited else ""
        record = cast(Judgment, action.records[0])
        if record.origin == "override" and not said:
            left = self._shared.item or item
            self.reasons.open(ReasonRequest(action, left))
            what = item.current.title if item.has_several else item.external_id
            codes = self.reasons.codes_for(left, undecided=False)
            self._shared.context.recorder.last_override = Override(action, what, codes, left)
            message = f"● {words} · overrides ◆{cites} · {one_line(item.external_id, 24)} · why? · "
            message += self._undo_hint
        else:
            self.reasons.drop()
            accepts = {"accept": " · accepts ◆", "override": " · overrides ◆"}.get(record.origin, "")
            message = f"● {words}{accepts}{cites} · {one_line(item.external_id, 24)} · {self._undo_hint}"
        now = self._shared.item
        following = now.next_open(item.at) if now is not None else None
        if following is not None:
            self._shows.ask_question(following)
        choices = self.reasons.choices()
        if following is None:
            self._go_on(action, message, choices)
            return
        if choices:
            # The next question is asked already, though its keys are not named.
            keys = group_digits([*self._shared.keys.of_values()])
            choices = [*choices[:-1], (keys, "next answer"), choices[-1]]
        self._shared.show_recorded(action, message, choices=choices)

    def give_scores(self, values: Mapping[int, float]) -> None:
        """Record the answers to several questions as one action; then ask the next question, or go on.

        Args:
            values: The answers by the place of their question.
        """
        item, (cited, _) = self._shared.item, self._shows.evidence()
        if item is None or self.builder is None:
            return
        if item.last_answer is not None:
            self._say_nothing_more(item, "Not recorded: ")
            return
        action = self.builder.scores(item, values, self._shared.guard.watch, cited)
        self.record(action)
        scores = " ".join(f"{value:g}" for value in values.values())
        cites = f" · cites {self._cited(cited)}" if cited else ""
        about = item.questions[min(values)].about or one_line(item.external_id, 24)
        message = f"● {scores} for {about}{cites} · {self._undo_hint}"
        now = self._shared.item
        following = None if now is None else now.next_open(max(values))
        if following is None:
            self._go_on(action, message)
        else:
            self._shows.ask_question(following)
            self._shared.show_recorded(action, message)

    def _go_on(self, action: Action, message: str, choices: Sequence[tuple[str, str]] = ()) -> None:
        """Show what was recorded, and the next item."""
        item = self._shared.item
        if item is not None and item.blind and item.is_answered and self._shared.context.scope.reveals:
            # What was hidden of the item comes as soon as the answer is on disk.
            message = f"{message} · {self._shared.key('next')} next"
            self._shared.show_recorded(action, message, choices=choices)
            return
        self._shared.show_recorded(action, message, choices=choices)
        self._shows.go_on()

    def accept(self) -> None:
        """Accept the agents' label that is shown."""
        item = self._shared.item
        if not self.can_judge() or item is None:
            return
        if item.claim is None:
            why = "the review is blind" if item.blind else "the agents have no label here"
            why = item.current.unclaimed or why
            self._shared.show_message(f"Nothing to accept: {why}. Nothing was recorded.", alarm=True)
            return
        if not item.has_acceptable_claim:
            self._shared.show_message(
                f"The verdict shown is not an answer here. {self._answers()}", alarm=True
            )
            return
        self._give(item.claim.value)

    def ask_why_undecided(self) -> None:
        """Ask why the rater cannot decide; the code that follows records it."""
        item = self._shared.item
        if self.can_judge() and item is not None:
            self.reasons.open(ReasonRequest(None, item, undecided=True))
            self._shared.show_message("Cannot decide, because:", choices=self.reasons.choices())

    def skip(self) -> None:
        """Put the item off: it comes again last."""
        item = self._shared.item
        if not self.can_judge() or item is None or self.builder is None:
            return
        action = self.builder.mark(item, "skip")
        self.record(action)
        self._order.put_last(item.item_id)
        name = one_line(item.external_id, 24)
        self._go_on(action, f"» skipped {name}; it comes back at the end · {self._undo_hint}")

    def flag(self) -> None:
        """Flag the item, or take the flag away."""
        item = self._shared.item
        if not self.can_judge() or item is None or self.builder is None:
            return
        flagged = not item.own.flagged
        action = self.builder.mark(item, "flag", active=flagged)
        self.record(action)
        if flagged:
            self._shared.show_recorded(action, f"⚑ flagged · {self._undo_hint}")
        else:
            self._shared.show_message(f"Flag removed · {self._undo_hint}")

    def record(self, action: Action) -> None:
        """Submit an action, and show at once what it makes of the item."""
        item = self._shared.item
        self._shared.context.recorder.last_override = None
        self._shared.context.recorder.submit(action)
        if item is not None and item.item_id == action.item_id:
            if sign := sign_of_action(item, action):
                self._shared.context.recorder.signs[action.id] = sign
            self._shared.guard.show_as(item.with_own(apply_action(item.own, action)))
            self._shows.show_recorded(action)

    @property
    def _undo_hint(self) -> str:
        """How to take back what was just done."""
        return f"{self._shared.key('undo')} undo"

    # -- asking ---------------------------------------------------------------------------------------

    def _has_several(self) -> bool:
        return self._shared.item is not None and self._shared.item.has_several

    def ask_next(self) -> None:
        """Ask the next question: where another response is looked at, the first open one about that."""
        item, looked_at = self._shared.item, self._shows.pane_in_use
        about = (
            []
            if item is None
            else [place for place, one in enumerate(item.questions) if one.pane == looked_at]
        )
        if item is None or not about or item.current.pane in ("", looked_at):
            self.ask_another(1)
            return
        still_open = (place for place in about if item.label_of(item.questions[place]) is None)
        self.ask_another(next(still_open, about[0]) - item.at)

    def ask_another(self, step: int) -> None:
        """Ask the question of the item that is some questions on from the one that is asked."""
        item = self._shared.item
        if item is None:
            return
        self.reasons.drop()
        if not item.has_several:
            self._shared.show_message("This item is asked one question.")
            return
        if item.current == item.last_answer:
            self._say_nothing_more(item)
            return
        self._shared.show_message("")
        self._shows.ask_question((item.at + step) % len(item.questions))

    def _say_nothing_more(self, item: ItemView, before: str = "") -> None:
        """Say that an answer ended the item, such as "drop"."""
        last = item.last_answer
        if last is not None and (label := item.label_of(last)) is not None:
            word = last.word(label.value, label.reason)
            message = f"{before}{last.title} is {word}, so nothing more is asked. · {self._undo_hint}"
            self._shared.show_message(message, alarm=bool(before))

    # -- reasons --------------------------------------------------------------------------------------

    def give_reason(self) -> None:
        """Offer the reasons for the override of the item shown, otherwise for the last one."""
        item, override = self._shared.item, self._shared.context.recorder.last_override
        if item is None and override is not None and self.is_by_hand():
            self.reasons.ask_last()
        elif not self.can_judge() or item is None:
            return
        elif overridden(item) is not None:
            self.reasons.open(ReasonRequest(None, item))
            now = f" Now: {item.label.reason}." if item.label is not None and item.label.reason else ""
            self._shared.show_message(f"Why another label than ◆?{now}", choices=self.reasons.choices())
        elif override is not None:
            # The review has gone on from it: to the next question, or to the next item.
            self.reasons.ask_last()
        else:
            none = "this question" if item.has_several else "this item"
            self._shared.show_message(f"Only an override has a reason; {none} is not one.", alarm=True)

    def _give_reason(self, asked: ReasonRequest, reason: str) -> None:
        """Record a reason; of another one than those that have a code, ask for the words first."""
        if reason != OTHER or self._was_undone(asked):
            self._record_reason(asked, reason)
            return

        def give(words: str) -> None:
            self._record_reason(asked, f"{OTHER}: {words.strip()}" if words.strip() else OTHER)

        ending = "cancel" if asked.undecided else "no reason"
        self._comments.ask_for_words(asked.item, give, ending=ending)

    def _was_undone(self, asked: ReasonRequest) -> bool:
        return asked.action is not None and asked.action.id in self._shared.context.recorder.taken_back

    def _record_reason(self, asked: ReasonRequest, reason: str) -> None:
        item, builder, recorder = self._shared.item, self.builder, self._shared.context.recorder
        if builder is None:
            return
        if self._was_undone(asked):
            message = "Not recorded: its label was undone."
            self._shared.show_message(message, alarm=True)
            return
        is_shown = item is not None and item.item_id == asked.item.item_id
        if asked.undecided and item is not None and is_shown:
            given = sum(item.label_of(question) is not None for question in item.questions)
            back = f" · takes back {pluralize(given, 'answer')}" if given and item.has_several else ""
            action = builder.mark(item, "cannot_decide", text=reason)
            self.record(action)
            self._go_on(action, f"? cannot decide: {reason}{back} · {self._undo_hint}")
        elif asked.action is not None:
            override, action = recorder.last_override, builder.with_reason(asked.action, reason)
            self.record(action)
            if override is not None:
                recorder.last_override = replace(override, action=action)
            changes = f"{self._shared.key('reason')} changes it · {self._undo_hint}"
            if override is None or override.is_last:
                changes += " takes back label and reason"
            self._shared.show_message(f"Reason: {reason} · {changes}")
        elif item is not None and is_shown and item.label is not None:
            (cited, execution), watch = self._shows.evidence(), self._shared.guard.watch
            self.record(builder.label(item, item.label.value, watch, reason, cited, execution=execution))
            self._shared.show_message(f"Reason: {reason} · {self._undo_hint}")

    # -- comments -------------------------------------------------------------------------------------

    def comment(self) -> None:
        """Open the line in which a comment is written: while a reason is asked for, on the item of that."""
        item, asked = self._shared.item, self.reasons.asked
        if (
            asked is not None
            and self._shared.choices
            and (item is None or item.item_id != asked.item.item_id)
        ):
            if self.is_by_hand():
                self.reasons.drop()
                self._comments.open(asked.item)
        elif self.can_judge() and item is not None:
            self.reasons.drop()
            self._shared.forget_lost_key()
            self._comments.open(item)
        else:
            self._shared.lose_key("comment")

    def comment_given(self, text: str) -> None:
        """Record the comment that was written, or give the words of a reason."""
        if self._comments.give_words(text):
            return
        if self.builder is None:
            self._comments.keep_draft()
            return
        item = self._comments.take()
        if item is None:
            return
        text = text.strip()
        if text == harmless_line(item.own.comment):
            self._shared.show_message("The comment is unchanged.")
            return
        override = self._shared.context.recorder.last_override
        action = self.builder.mark(item, "comment", active=bool(text), text=text)
        self.record(action)
        why = ""
        if override is not None and override.item.item_id == item.item_id:
            # Its reason may be given still.
            left = override.item.with_own(apply_action(override.item.own, action))
            self._shared.context.recorder.last_override = replace(override, item=left, is_last=False)
            why = f" · {self._shared.key('reason')} gives the reason"
        about = one_line(item.external_id, 24)
        given = "given" if text else "taken away"
        self._shared.show_message(f"Comment on {about} {given}{why} · {self._undo_hint}")

    # -- undoing --------------------------------------------------------------------------------------

    def undo(self, *, redo: bool = False) -> None:
        """Take back the latest action, whichever session it was in; or bring back the one undone last."""
        if self.is_by_hand():
            self.reasons.drop()
            self._shared.context.recorder.last_override = None
            rulings = self.builder is not None and self.builder.scope.adjudicates
            self._shared.context.recorder.undo(redo=redo, rulings=rulings)

    def show_undo_result(self, undone: UndoResult) -> None:
        """Go to the item of an undo or redo, and show what is recorded now."""
        action = undone.action
        for record in action.records:
            if isinstance(record, Mark) and record.kind == "skip":
                if record.active and undone.stored:
                    self._order.put_last(record.item_id)
                else:
                    self._order.take_last_away(record.item_id)
        written = self._comments.item
        if written is not None and written.item_id != action.item_id:
            # Text typed meanwhile belongs to the item on the screen.
            self._shared.context.notices.toast(self._describe_undo(undone, None))
            return
        shown = self._shared.item
        self._shows.leave_for(undone)
        self._order.go_to(action.item_id)
        self._wanted_question = target_of(action)
        if self._wanted_question is None and shown is not None and shown.item_id == action.item_id:
            # A comment or a flag is of the item: its question stays.
            self._wanted_question = shown.current.target
        self._undone = undone
        self._shared.show_message(self._describe_undo(undone, self._shared.item))
        self._shows.show_item()

    def _describe_undo(self, undone: UndoResult, item: ItemView | None) -> str:
        """Return what was undone or redone, with what the question is about where the item is known."""
        action, number = undone.action, target_of(undone.action)
        questions = () if item is None or number is None or item.item_id != action.item_id else item.questions
        # By its key, since names are ambiguous where those of models are hidden.
        about = next((question.about for question in questions if question.target == number), "")
        context = self._shared.context
        blind, recorder = not context.scope.may(Shows.AGENTS), context.recorder
        names, began = recorder.question_names, recorder.began
        what = describe_undo(action, names, blind=blind, since=began, of=about)
        if not undone.stored:
            return f"Undone: {what} · it was not saved yet and cannot be redone"
        if undone.redo:
            return f"Redone: {what} · {self._undo_hint}"
        return f"Undone: {what} · {self._shared.key('redo')} redo"
