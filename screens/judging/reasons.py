"""Asking for the reason of an override, or of "cannot decide", by codes of one key."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from textual import events

from screens.help import key_name
from screens.items.views import ItemView, review_part
from screens.judging.context import JudgingContext
from screens.settings import DEFAULT_REASONS, DEFAULT_UNDECIDED
from screens.widgets.text.sanitize import one_line
from store.kinds.comparison import BOTH_BAD
from store.record.actions import Action

OTHER = "other"
"""The reason that asks for words of one's own, which follow it."""


@dataclass(frozen=True, slots=True)
class ReasonRequest:
    """The label or mark that a reason is asked for.

    Attributes:
        action: The action that it explains; None for the label of the item shown.
        undecided: Whether it is why the rater cannot decide.
        by_key: Whether a key asked for it, so that no key gives a value meanwhile.
    """

    action: Action | None
    item: ItemView
    undecided: bool = False
    by_key: bool = False


class ReasonMenu:
    """Takes the code of a reason while one is asked for.

    Args:
        give: Records a reason.
    """

    def __init__(self, shared: JudgingContext, give: Callable[[ReasonRequest, str], None]) -> None:
        self._shared = shared
        self._give = give
        self._asked: ReasonRequest | None = None
        self._asked_at = 0.0
        # The codes that were offered last.
        self._codes: Mapping[str, str] = {}

    @property
    def asked(self) -> ReasonRequest | None:
        """The label or mark that a reason is asked for; None while there is no such question."""
        return self._asked

    def drop(self) -> None:
        """Ask for none any more."""
        self._asked = None

    # -- asking ---------------------------------------------------------------------------------------

    def open(self, request: ReasonRequest) -> None:
        """Take the next code for a reason."""
        self._asked, self._asked_at = request, time.monotonic()

    def choices(self) -> list[tuple[str, str]]:
        """Return the codes to offer for the reason that is asked for; none where none is."""
        if self._asked is None:
            return []
        undecided = self._asked.undecided
        ending = "cancel" if undecided else "no reason"
        return self._offered(self.codes_for(self._asked.item, undecided=undecided), ending)

    def ask_last(self) -> None:
        """Offer the reasons for the override that was recorded last."""
        override = self._shared.context.recorder.last_override
        if override is not None:
            self.open(ReasonRequest(override.action, override.item, by_key=True))
            choices = self._offered(override.codes, "no reason")
            about = one_line(override.about, 40)
            self._shared.show_message(f"Why another label than ◆ for {about}?", choices=choices)

    def _offered(self, codes: Mapping[str, str], ending: str) -> list[tuple[str, str]]:
        self._codes = codes
        return [*self._codes_now().items(), (self._shared.keys.ending, ending)]

    def codes_for(self, item: ItemView, *, undecided: bool) -> Mapping[str, str]:
        """Return the codes for the question that an item is asked.

        Those that are configured come before those of the question, and these before those of its kind.
        """
        settings = self._shared.context.settings
        codes, default = (
            (settings.undecided, DEFAULT_UNDECIDED) if undecided else (settings.reasons, DEFAULT_REASONS)
        )
        part = review_part(item.kind)
        if part is None or codes != default:
            return codes
        if undecided:
            return part.undecided or codes
        return item.current.reasons or part.reasons or codes

    def _codes_now(self) -> dict[str, str]:
        """Return those of the offered codes that are taken now.

        After an override the next question is shown, which its own keys answer; a reason that was asked for
        by its key has all of its codes.
        """
        has_all = self._asked is not None and (self._asked.by_key or self._asked.action is None)
        taken = {} if has_all else self._shared.keys.of_values()
        return {code: reason for code, reason in self._codes.items() if code not in taken}

    # -- answering ------------------------------------------------------------------------------------

    def take_key(self, key: events.Key) -> bool:
        """Take the code of a reason; Enter gives none. Return whether the key does nothing else."""
        asked = self._asked
        if asked is None:
            return False
        if not self._shared.choices:
            # Another message is shown by now: codes that are not offered do not count.
            self._asked = None
            return False
        reason = self._codes_now().get(key.character or "")
        if reason is None and key.key != "enter":
            # Any other key that says something would close the question why: it would judge, or go on.
            says_something = key.is_printable or key.key.startswith("ctrl+")
            swallowed = asked.undecided and says_something and key_name(key.key) != self._shared.keys.ending
            for command, meant in (("cite", "citation"), ("comment", "comment")) if swallowed else ():
                if key_name(key.key) == self._shared.key(command):
                    self._shared.lose_key(meant)
            return swallowed
        if reason is None:
            self.leave()
        elif self._is_early(asked, key.time):
            message = (
                "No reason was recorded: the question was not on the screen when you pressed. Press again."
            )
            self._shared.show_message(message, alarm=True, choices=self._shared.choices)
        else:
            self._asked = None
            self._give(asked, reason)
        return True

    def _is_early(self, asked: ReasonRequest, moment: float) -> bool:
        """Return whether a key was pressed before the question could be seen.

        That of a label given just now comes onto the screen with the next item.
        """
        follows_label = asked.action is not None and not asked.by_key and self._shared.item is not None
        return moment <= self._asked_at or bool(follows_label and self._shared.guard.missing_at(moment))

    def leave(self) -> None:
        """End the question for a reason without one; that of an override can be given later."""
        undecided = self._asked is not None and self._asked.undecided
        self._asked = None
        if undecided:
            self._shared.show_message("Nothing was recorded.")
            return
        override = self._shared.context.recorder.last_override
        open_still = override is not None or overridden(self._shared.item) is not None
        later = f"; {self._shared.key('reason')} gives one" if open_still else ""
        self._shared.show_message(f"No reason given{later}.")

    def ends_with(self, key: str) -> bool:
        """Return whether a key that goes back ends the question for a reason that is asked first."""
        return self._asked is not None and (key == "escape" or self._shared.keys.ending != key_name("escape"))

    @property
    def missing_reason(self) -> str:
        """That the last override has no reason yet, as a sentence; empty where none is due."""
        override = self._shared.context.recorder.last_override
        if override is None or any(getattr(one, "reason", "") for one in override.action.records):
            return ""
        about = one_line(override.about, 40)
        return f"No reason yet for {about}; {self._shared.key('reason')} gives one."


def overridden(item: ItemView | None) -> float | None:
    """Return the label with which the rater overrides that of the agents; None without an override.

    That both candidates of a comparison are bad is a reason already.
    """
    if item is None or item.claim is None or item.label is None or item.label.reason == BOTH_BAD:
        return None
    return None if item.label.value == item.claim.value else item.label.value
