"""Asking the questions of an item one after another, each answered by the keys of its own scale."""

from __future__ import annotations

from collections.abc import Mapping

from screens.commands import Command, command_named, commands_of, label_key
from screens.help import key_name, keys_of
from screens.review.moving import MovingThrough
from store.scales import Scale


class AskingQuestions(MovingThrough):
    """The part of a review screen that asks.

    A key that the scale of the question has answers it, and does nothing else while it is asked.
    """

    _scale_before: Scale | None = None
    _keys_of_scale: tuple[Scale | None, Mapping[str, str]] = (None, {})

    # -- keys -----------------------------------------------------------------------------------------

    @property
    def scale(self) -> Scale | None:
        """The scale of the question that is asked; while an item is read, that of the item before."""
        if self.item is not None:
            self._scale_before = self.item.question.scale
        return self._scale_before

    def value_keys(self) -> Mapping[str, str]:
        """Return the keys that answer the question that is asked, as configured, with those of its scale.

        They are in the order of the scale.
        """
        scale, settings = self.scale, self.context.settings
        if scale is not None and self._keys_of_scale[0] is not scale:
            given = {label_key(command): keys_of(command, settings) for command in commands_of("review")}
            keys = {key.strip(): known.key for known in scale.values for key in given[known.key].split(",")}
            self._keys_of_scale = (scale, keys)
        return {} if scale is None else self._keys_of_scale[1]

    def keys_now(self, command: Command) -> list[str]:
        """Return the keys of a command that are no values of the question that is asked."""
        keys = [key.strip() for key in keys_of(command, self.context.settings).split(",")]
        if label_key(command) is not None:
            return keys
        taken = self.value_keys()
        return [key for key in keys if key not in taken]

    def _key(self, verb: str) -> str:
        command_id = verb if "." in verb else f"review.{verb}"
        command = command_named(command_id)
        free = self.keys_now(command)
        return key_name(free[0]) if free else super()._key(verb)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Say which of the commands that share a key it stands for: the value, where the question has it."""
        if action == "judge":
            key = str(parameters[0])
            if self.item is not None and self.item.question.scale.value_of(key) is not None:
                return True
            # One that is no answer, or has no item to judge, says so, unless it is another command's.
            return not any(
                key in keys_of(command, self.context.settings).split(",")
                for command in commands_of("review")
                if (label_key(command) is None if self.item is not None else not command.judging)
            )
        if self.item is not None and self.context.last_key.name in self.value_keys():
            return False
        return super().check_action(action, parameters)

    # -- asking ---------------------------------------------------------------------------------------

    def action_ask(self, step: int) -> None:
        """Ask the next question of the item, or the one before."""
        item = self.item
        if item is None:
            return
        self._reasons_for = None
        if len(item.asks) == 1:
            self._say("This item is asked one question.")
            return
        self._say("")
        self._ask((item.at + step) % len(item.asks))

    def _choose(self, pane_id: str) -> None:
        """Show a pane; one that another question is about has that asked: keys answer what is looked at.

        One that tells of several responses is shown where it tells of the one that is asked about.
        """
        super()._choose(pane_id)
        item = self.item
        if item is not None:
            places = next((part.places for part in item.case if part.id == pane_id), {})
            if (line := places.get(item.ask.pane)) is not None:
                self.call_after_refresh(self._panes[pane_id].jump_to_line, line)
        if item is None or item.ask.pane in ("", pane_id) or item.beside == pane_id:
            return
        about = [place for place, ask in enumerate(item.asks) if ask.pane == pane_id]
        if about and self.is_painted:
            still_open = (place for place in about if item.label_of(item.asks[place]) is None)
            self._reasons_for = None
            self._ask(next(still_open, about[0]))
