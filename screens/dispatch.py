"""The dispatcher of a screen's commands: finds the component that handles a command by its id."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from screens.commands import Command, command_named, label_key

if TYPE_CHECKING:
    from screens.judging.context import JudgingContext
    from store.record.scales import Scale


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Handler:
    """The handler of a command on a screen.

    Attributes:
        run: Does it; where it is not possible, it says why.
        label: Returns what it does now, in a word or two; None for what the catalogue says.
    """

    run: Callable[[], object]
    is_possible: Callable[[], bool] = _always
    of_item: bool = False
    label: Callable[[Command], str] | None = None


Handlers = Mapping[str, Handler]
"""Handlers by the ids of their commands."""


class Dispatcher:
    """Runs commands, refuses those that a key does not mean now, and reports which are possible.

    Args:
        answer: Answers the question with the value that has a key on its scale.

    Raises:
        ValueError: Two of them own the same command.
    """

    def __init__(self, shared: JudgingContext, answer: Callable[[str], None], *owners: Handlers) -> None:
        self._shared = shared
        self._answer = answer
        self._handlers: dict[str, Handler] = {}
        for owner in owners:
            if twice := self._handlers.keys() & owner.keys():
                raise ValueError(f"two owners of {', '.join(sorted(twice))}")
            self._handlers |= owner

    def run(self, command_id: str) -> None:
        """Do what a command does here."""
        key = label_key(command_named(command_id))
        if key is not None:
            self._answer(key)
        else:
            self._handlers[command_id].run()

    def owns(self, command: Command) -> bool:
        """Return whether a command does something here."""
        return label_key(command) is not None or command.id in self._handlers

    def accepts_key_for(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Return whether the key that was pressed means an action; see `check_action` of a screen.

        A key that the scale of the question has answers it, and does nothing else while it is asked.
        """
        command = command_named(str(parameters[0])) if action == "dispatch" else None
        if command is not None and not self.owns(command):
            return False
        if command is not None and label_key(command) is not None:
            return self._shared.keys.is_answer(command)
        pressed = self._shared.context.last_key.name
        return self._shared.item is None or pressed not in self._shared.keys.of_values()

    def offers(self, command: Command) -> bool:
        """Offer only commands that have an effect now."""
        if command.judging and self._shared.context.rater is None:
            return False
        item, key = self._shared.item, label_key(command)
        if key is not None:
            scale = self._shared.keys.scale
            if scale is None or scale.value_of(key) is None:
                return False
            return not self._shared.guard.is_bare if item is None else not item.current.nothing
        if not self._shared.keys.of(command):
            return False
        handler = self._handlers.get(command.id)
        if handler is None:
            return True
        return not (item is None and self._shared.guard.is_bare and handler.of_item) and handler.is_possible()

    @property
    def scale(self) -> Scale | None:
        """The scale of the question on the screen."""
        return self._shared.keys.scale

    def keys_now(self, command: Command) -> Sequence[str]:
        """Return the keys of a command that are no answers to the question."""
        return self._shared.keys.of(command)

    def value_keys(self) -> Mapping[str, str]:
        """Return the keys that answer the question, with the keys of its scale, in the order of that."""
        return self._shared.keys.of_values()

    def label_now(self, command: Command) -> str:
        """Return what a command does now, in a word or two; of one that gives a value, the value's word."""
        key, scale = label_key(command), self._shared.keys.scale
        if key is not None and scale is not None:
            return next((known.word for known in scale.values if known.key == key), command.label)
        handler = self._handlers.get(command.id)
        return command.label if handler is None or handler.label is None else handler.label(command)
