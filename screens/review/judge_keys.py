"""The keys that record something: labels, acceptance, cannot decide, skip, flag, comment, reasons, undo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from textual import events, on
from textual.widgets import Input

from screens.commands import Command, label_key
from screens.items.views import review_parts
from screens.recording import Override
from screens.review.asking import AskingQuestions
from screens.review.bars import ReviewKeys, in_stretches
from screens.review.citing import in_words
from screens.review.judging import after
from screens.review.reading import COMMENT
from screens.settings import DEFAULT_REASONS, DEFAULT_UNDECIDED
from screens.widgets.line import harmless_line
from screens.widgets.visible import one_line
from store.counted import counted
from store.recording import Action
from store.tables.record import Judgment

MOST_NAMED = 4
"""Answers up to which a sentence about their keys has their words too."""

_OF_AN_ITEM = (
    "review.failure",
    "review.find",
    "review.zoom",
    "review.run",
    "review.edit",
    "review.other_run",
    "review.cite",
)


def _records_of_item(command: Command) -> bool:
    """Return whether a command records something of the item shown."""
    return command.judging and command.id != "review.undo"


class JudgeKeys(AskingQuestions):
    """The part of a review screen that records; nothing is taken before the item was on the screen."""

    # The codes of the reasons that were offered last.
    _asked_codes: Mapping[str, str] = {}
    # Whether all of them count: a key asked for a reason. Behind a label the next question has its keys.
    _all_codes = False

    # -- judging --------------------------------------------------------------------------------------

    def offers(self, command: Command) -> bool:
        """Offer only what has an effect on the item shown; the keys of the others say why they have none."""
        if command.judging and (self.context.rater is None):
            return False
        item = self.item
        key = label_key(command)
        if key is not None:
            scale = self.scale
            if scale is None or scale.value_of(key) is None:
                return False
            return not self._is_bare if item is None else not item.ask.nothing
        if not self.keys_now(command):
            return False
        if item is None and self._is_bare and (command.id in _OF_AN_ITEM or _records_of_item(command)):
            return False
        match command.id:
            case "review.next":
                return bool(self.order.ids) and not self.order.at_end
            case "review.previous":
                return self.order.at(-1) is not None
            case "review.ask":
                return item is not None and len(item.asks) > 1
            case "review.unjudged":
                return bool(self.order.ids) or not self._is_bare
        if item is None:
            # While an item is being read, it is not known yet what can be done.
            return True
        match command.id:
            case "review.accept":
                return item.claim is not None
            case "review.run":
                return item.has_test and self.context.rater is not None
            case "review.edit" | "review.edit_outside":
                editable = item.has_test or item.first_test or item.editable
                return bool(editable) and self.context.rater is not None
            case "review.other_run":
                return len(item.runs) > 1
            case "review.reason":
                return self._overridden is not None
            case "review.failure":
                return any(part.id == "run" and part.landmarks for part in item.case)
        return True

    def label_now(self, command: Command) -> str:
        """Return what a command does now, in a word or two."""
        key, scale = label_key(command), self.scale
        if key is not None and scale is not None:
            return next((known.word for known in scale.values if known.key == key), command.label)
        if self.item is None or command.id != "review.edit":
            return command.label
        return "edit" if self.item.editable else command.label if self.item.has_test else "write a test"

    @property
    def _overrode(self) -> Override | None:
        """The override that was recorded last, while nothing else was; a reason can still be given for it."""
        return self.context.recorder.last_override

    @_overrode.setter
    def _overrode(self, override: Override | None) -> None:
        self.context.recorder.last_override = override

    @property
    def _overridden(self) -> float | None:
        """The label with which the rater overrides that of the agents; None without an override."""
        if self.item is None or self.item.claim is None or self.item.label is None:
            return None
        value = self.item.label.value
        return None if value == self.item.claim.value else value

    def _by_hand(self) -> bool:
        """Return whether a hand pressed the key, and not into a text; say why not."""
        if isinstance(self.focused, Input):
            self._say(f"Keys are text while a line is open; {self._key('line.close')} closes it.", alarm=True)
            return False
        return True

    def _may_judge(self) -> bool:
        """Return whether a key may record something of the item now; say why when not."""
        if self.context.rater is None:
            self.context.notices.say_no_rater()
        elif not self._by_hand():
            pass
        elif self._is_bare:
            self._say("There is no item here to judge.", alarm=True)
        elif self.desk is None or (missing := self.missing_at(self.context.last_key.time)):
            missing = "item" if self.desk is None else missing
            said = f"Not recorded: the {missing} was not on the screen when you pressed. Press again."
            self._say(said, alarm=True)
        elif self.on_screen is not None and self.context.last_key.time < self.on_screen.settled_at:
            self._say("Not recorded: the agents' label came just now. Look, then press.", alarm=True)
        else:
            return True
        return False

    def action_judge(self, key: str) -> None:
        """Answer the question that is asked with the value that has a key on its scale."""
        if not self._may_judge() or self.item is None:
            return
        value = self.item.question.scale.value_of(key)
        if value is not None:
            self._give(value)
        else:
            self._say(f"{key} is no answer here. {self._answers()}", alarm=True)

    def _answers(self) -> str:
        """Return the keys of what is asked as a sentence, with their words where those are few."""
        keys, scale = self.value_keys(), self.scale
        if scale is None or len(keys) > MOST_NAMED:
            return f"Its keys: {in_stretches([*keys])}."
        words = [(key, scale.word(scale.value_of(name) or 0)) for key, name in keys.items()]
        named = [word if word.startswith(f"{key} ") else f"{key} {word}" for key, word in words]
        return f"Its keys: {' · '.join(named)}."

    def _give(self, value: float) -> None:
        """Record a value, then ask the next question, or go to the next item."""
        item, cited = self.item, self.citations
        if item is None or self.desk is None:
            return
        if item.ask.nothing:
            self._say(f"Not recorded: {item.ask.nothing}.", alarm=True)
            return
        action = self.desk.label(item, value, self._watch, cited=cited, execution=self.execution_on_screen)
        self._record(action)
        words = item.question.scale.word(value)
        words = f"{item.ask.title}: {words}" if len(item.asks) > 1 else words
        cites = f" · cites {in_words(cited)}" if cited else ""
        record = cast(Judgment, action.records[0])
        if record.origin == "override":
            self._ask_reason(action, item.item_id)
            what = item.ask.title if len(item.asks) > 1 else item.external_id
            self._overrode = Override(action, what, self._codes_of_kind(undecided=False))
            said = f"● {words} · overrides ◆{cites} · {one_line(item.external_id, 24)} · why? · "
            said += self._undo_hint
        else:
            self._reasons_for = None
            accepts = " · accepts ◆" if record.origin == "accept" else ""
            said = f"● {words}{accepts}{cites} · {one_line(item.external_id, 24)} · {self._undo_hint}"
        following = self.item.next_open(item.at) if self.item is not None else None
        if following is not None:
            self._ask(following)
        choices: Sequence[tuple[str, str]] = self._codes(undecided=False) if self._reasons_for else ()
        if following is not None:
            if choices:
                # The next question is asked already, though its keys are not named.
                choices = [*choices[:-1], (in_stretches([*self.value_keys()]), "next answer"), choices[-1]]
            self._say(said, choices=choices)
        else:
            self._advance(said, choices=choices)

    def action_accept(self) -> None:
        """Take over the agents' label as it stands on the screen."""
        if not self._may_judge() or self.item is None:
            return
        if self.item.claim is None:
            blind = self.context.settings.blind
            why = "the review is blind" if blind else "the agents have no label here"
            why = self.item.ask.unclaimed or why
            self._say(f"Nothing to accept: {why}. Nothing was recorded.", alarm=True)
            return
        self._give(self.item.claim.value)

    def action_undecided(self) -> None:
        """Ask why the rater cannot decide; the code that follows records it."""
        if self._may_judge() and self.item is not None:
            self._ask_reason(None, self.item.item_id, undecided=True)
            self._say("Cannot decide, because:", choices=self._codes(undecided=True))

    def action_skip(self) -> None:
        """Put the item off: it comes again last."""
        if not self._may_judge() or self.item is None or self.desk is None:
            return
        item = self.item
        self._record(self.desk.mark(item.item_id, "skip"))
        self.order.put_last(item.item_id)
        self._advance(f"» skipped {one_line(item.external_id, 24)}; it comes back last · {self._undo_hint}")

    def action_flag(self) -> None:
        """Flag the item, or take the flag away."""
        if not self._may_judge() or self.item is None or self.desk is None:
            return
        item = self.item
        flagged = not item.own.flagged
        self._record(self.desk.mark(item.item_id, "flag", active=flagged))
        self._say(f"{'⚑ flagged' if flagged else 'Flag taken away'} · {self._undo_hint}")

    def action_reason(self) -> None:
        """Offer the reasons for the override of the item shown, otherwise for the last one."""
        overrode = self._overrode
        if self.item is None and overrode is not None and self._by_hand():
            self._ask_last_reason(overrode)
        elif not self._may_judge() or self.item is None:
            return
        elif self._overridden is not None:
            self._ask_reason(None, self.item.item_id)
            label = self.item.label
            now = f" Now: {label.reason}." if label is not None and label.reason else ""
            self._say(f"Why another label than ◆?{now}", choices=self._codes(undecided=False))
        elif overrode is not None:
            # The review has gone on from it: to the next question, or to the next item.
            self._ask_last_reason(overrode)
        else:
            none = "this question" if len(self.item.asks) > 1 else "this item"
            self._say(f"A reason belongs to an override, and {none} has none.", alarm=True)

    def _ask_last_reason(self, overrode: Override) -> None:
        """Offer the reasons for the override that was recorded last."""
        self._ask_reason(overrode.action, overrode.action.item_id, by_key=True)
        choices = self._offered(overrode.codes, "no reason")
        self._say(f"Why another label than ◆ for {one_line(overrode.about, 40)}?", choices=choices)

    def _ask_reason(
        self, action: Action | None, item_id: int, *, undecided: bool = False, by_key: bool = False
    ) -> None:
        """Take the next code for a reason.

        Args:
            action: What it is the reason of; None for what stands on the item that is shown.
            item_id: The item.
            undecided: Whether it is why the rater cannot decide.
            by_key: Whether a key asked for it, so that no key gives a value meanwhile.
        """
        self._reasons_for = (action, item_id, undecided)
        self._all_codes = by_key or action is None

    def action_undo(self) -> None:
        """Take back the latest action, whichever session it was in."""
        if self._by_hand():
            self._reasons_for = self._overrode = None
            self.context.recorder.undo()

    def action_redo(self) -> None:
        """Bring back the action undone last."""
        if self._by_hand():
            self._reasons_for = self._overrode = None
            self.context.recorder.undo(redo=True)

    @property
    def _undo_hint(self) -> str:
        """How to take back what was just done."""
        return f"{self._key('undo')} undo"

    def _codes(self, *, undecided: bool) -> list[tuple[str, str]]:
        codes = self._codes_of_kind(undecided=undecided)
        return self._offered(codes, "records nothing" if undecided else "no reason")

    def _offered(self, codes: Mapping[str, str], ending: str) -> list[tuple[str, str]]:
        self._asked_codes = codes
        return [*self._codes_now(codes).items(), (self._ending_key, ending)]

    def _codes_of_kind(self, *, undecided: bool) -> Mapping[str, str]:
        """Return the codes for the item shown: those that are configured, otherwise those of its kind."""
        settings = self.context.settings
        codes, default = (
            (settings.undecided, DEFAULT_UNDECIDED) if undecided else (settings.reasons, DEFAULT_REASONS)
        )
        part = review_parts().get(self.item.kind) if self.item is not None else None
        if part is None or codes != default:
            return codes
        return (part.undecided if undecided else part.reasons) or codes

    def _codes_now(self, codes: Mapping[str, str]) -> dict[str, str]:
        """Return those of some codes that are taken now.

        Behind an override stands the next question, which its own keys answer; a reason that was asked for
        by its key has all of its codes.
        """
        taken = {} if self._reasons_for is not None and self._all_codes else self.value_keys()
        return {code: reason for code, reason in codes.items() if code not in taken}

    def on_key(self, event: events.Key) -> None:
        """Take the code of a reason while one is asked for; Enter gives none."""
        self._watch.touch()
        if self._reasons_for is None or isinstance(self.focused, Input):
            return
        if not self.query_one(ReviewKeys).is_offering:
            # Something else is said by now: no code counts that is not named.
            self._reasons_for = None
            return
        action, item_id, undecided = self._reasons_for
        codes = self._codes_now(self._asked_codes)
        reason = codes.get(event.character or "")
        if reason is None and event.key != "enter":
            return
        event.stop()
        event.prevent_default()
        if reason is None:
            self.leave_reason()
            return
        self._reasons_for = None
        if self.desk is not None:
            self._give_reason(action, item_id, reason, undecided=undecided)

    def leave_reason(self) -> None:
        """End the question for a reason without one; that of an override can be given later."""
        undecided = self._reasons_for is not None and self._reasons_for[2]
        self._reasons_for = None
        if undecided:
            self._say("Nothing was recorded.")
            return
        open_still = self._overrode is not None or self._overridden is not None
        later = f"; {self._key('reason')} gives one" if open_still else ""
        self._say(f"No reason given{later}.")

    @property
    def reason_still_open(self) -> str:
        """Return that the last override has no reason yet, as a sentence; empty where none is due."""
        overrode = self._overrode
        if overrode is None or any(getattr(one, "reason", "") for one in overrode.action.records):
            return ""
        return f"No reason yet for {one_line(overrode.about, 40)}; {self._key('reason')} gives one."

    def _give_reason(self, action: Action | None, item_id: int, reason: str, *, undecided: bool) -> None:
        item, desk = self.item, self.desk
        if desk is None:
            return
        if action is not None and action.id in self.context.recorder.taken_back:
            self._say("Not recorded: the label that this would be the reason of was taken back.", alarm=True)
            return
        if undecided and item is not None and item.item_id == item_id:
            given = sum(item.label_of(ask) is not None for ask in item.asks)
            back = f" · takes back {counted(given, 'answer')}" if given and len(item.asks) > 1 else ""
            self._record(desk.mark(item_id, "cannot_decide", text=reason))
            self._advance(f"? cannot decide: {reason}{back} · {self._undo_hint}")
        elif action is not None:
            overrode = self._overrode
            self._record(desk.with_reason(action, reason))
            self._overrode = overrode
            change, undo = self._key("reason"), self._key("undo")
            self._say(f"Reason: {reason} · {change} changes it · {undo} undo takes back label and reason")
        elif item is not None and item.item_id == item_id and item.label is not None:
            self._record(
                desk.label(
                    item,
                    item.label.value,
                    self._watch,
                    reason,
                    self.citations,
                    execution=self.execution_on_screen,
                )
            )
            self._say(f"Reason: {reason} · {self._undo_hint}")

    def _record(self, action: Action) -> None:
        """Submit an action, and show at once what it makes of the item."""
        item = self.item
        self._overrode = None
        self.context.recorder.submit(action)
        if item is not None and item.item_id == action.item_id:
            self.show_as(replace(item, own=after(item.own, action)))
            self.citations_went(action)
            self._show_claim()

    def _advance(self, said: str, choices: Sequence[tuple[str, str]] = ()) -> None:
        self._say(said, choices=choices)
        self._go(1)

    # -- comment --------------------------------------------------------------------------------------

    def action_comment(self) -> None:
        """Open the comment line with what was written before, or with the draft."""
        if not self._may_judge() or self.item is None:
            return
        self._reasons_for = None
        self._say(
            "", choices=[("Enter", "saves the comment"), (self._key("line.close"), "keeps it as a draft")]
        )
        box = self.query_one(f"#{COMMENT}", Input)
        box.value = self._drafts.get(self.item.item_id, self.item.own.comment)
        box.cursor_position = len(box.value)
        self._commented = self.item
        box.display = True
        box.focus()

    @on(Input.Changed, "#comment")
    def _comment_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.input.display:
            # A draft must outlive a connection that is lost while it is written.
            self.keep_place_soon()

    @on(Input.Submitted, "#comment")
    def _comment_given(self, event: Input.Submitted) -> None:
        event.stop()
        item = self._commented
        if item is None or self.desk is None:
            self.keep_draft()
            return
        self._drafts.pop(item.item_id, None)
        self._close_comment()
        self.keep_place_soon()
        text = event.value.strip()
        if text == harmless_line(item.own.comment):
            self._say("The comment is as it was.")
            return
        action = self.desk.mark(item.item_id, "comment", active=bool(text), text=text)
        self._record(action)
        self._say(f"Comment {'given' if text else 'taken away'} · {self._undo_hint}")

    def _close_comment(self, *, focus: bool = True) -> None:
        self.query_one(f"#{COMMENT}", Input).display = False
        self._commented = None
        if focus:
            self.focus_active()

    def keep_draft(self, *, focus: bool = True) -> bool:
        """Close the comment line and keep what is in it; return whether it was open."""
        item = self._commented
        if item is None:
            return False
        self._note_draft()
        self._close_comment(focus=focus)
        self.keep_place_soon()
        kept = f"Draft kept; {self._key('comment')} goes on with it."
        self._say(kept if item.item_id in self._drafts else "")
        return True
