"""Which keys answer the question that is asked; what these take, no other command has meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from screens.commands import Command, Scope, command_named, commands_of, label_key
from screens.help import first_key, key_name, keys_of
from screens.items.views import ItemView
from store.scales import Scale

if TYPE_CHECKING:
    from screens.settings import ScreenSettings


class ScaleKeys:
    """The keys of a screen's commands while a question is asked.

    Args:
        settings: Which keys are other ones.
        item: Returns the item that is shown; None while there is none.
        scope: The screen.
    """

    def __init__(
        self, settings: ScreenSettings, item: Callable[[], ItemView | None], scope: Scope = "review"
    ) -> None:
        self._settings = settings
        self._item = item
        self._scope: Scope = scope
        self._scale_before: Scale | None = None
        self._keys_of_scale: tuple[Scale | None, Mapping[str, str]] = (None, {})

    @property
    def scale(self) -> Scale | None:
        """The scale of the question that is asked; while an item is read, that of the item before."""
        item = self._item()
        if item is not None:
            self._scale_before = item.question.scale
        return self._scale_before

    def of_values(self) -> Mapping[str, str]:
        """Return the keys that answer the question, with those of its scale, in the order of that."""
        scale = self.scale
        if scale is not None and self._keys_of_scale[0] is not scale:
            commands = commands_of(self._scope)
            given = {label_key(command): keys_of(command, self._settings) for command in commands}
            keys = {key.strip(): known.key for known in scale.values for key in given[known.key].split(",")}
            self._keys_of_scale = (scale, keys)
        return {} if scale is None else self._keys_of_scale[1]

    def of(self, command: Command) -> list[str]:
        """Return the keys of a command that are no values of the question that is asked."""
        keys = [key.strip() for key in keys_of(command, self._settings).split(",")]
        if label_key(command) is not None:
            return keys
        taken = self.of_values()
        return [key for key in keys if key not in taken]

    def named(self, verb: str) -> str:
        """Return the first key of a command, as a person reads it.

        Args:
            verb: The command of this screen; its whole id where it is of another scope.
        """
        command = command_named(verb if "." in verb else f"{self._scope}.{verb}")
        free = self.of(command)
        return key_name(free[0]) if free else first_key(self._settings, command.id)

    @property
    def ending(self) -> str:
        """The key that ends a question or a search: Escape, unless another one goes back."""
        return first_key(self._settings, f"{self._scope}.back", rather="escape")

    def is_answer(self, command: Command) -> bool:
        """Return whether the key of a command that gives a value is to be taken for an answer.

        One that is none of this question, or has no item to judge, says so, unless it is another command's.
        """
        key, item = label_key(command) or "", self._item()
        if item is not None and item.question.scale.value_of(key) is not None:
            return True
        return not any(
            key in keys_of(other, self._settings).split(",")
            for other in commands_of(self._scope)
            if (label_key(other) is None if item is not None else not other.judging)
        )
