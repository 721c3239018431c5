"""The line that names the keys of a screen that judges: those of the question that is asked come first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from textual.content import Content

from screens.commands import Command, Scope, SharesKeys, label_key
from screens.help import first_key
from screens.widgets.key_line import TWO_LINES, KeyLine

if TYPE_CHECKING:
    from screens.judging.parts import ScreenParts

_NARROW_FIRST = ("review.accept", "review.undecided", "review.undo", "review.next")

LABELS_NAMED = 5
"""Values of a scale up to which the line names each."""


def _is_label(command: Command) -> bool:
    return label_key(command) is not None


class JudgingKeys(KeyLine):
    """The keys of a screen that judges; while one of some codes can be pressed, these stand there instead.

    Args:
        parts: What the parts of the screen share.
        scope: The screen whose commands are named.
    """

    _rows = 0
    _named_pairs: tuple[tuple[str, str], ...] = ()
    _bands = 0
    _was_several = False

    def __init__(self, parts: ScreenParts, scope: Scope) -> None:
        super().__init__(scope)
        self._parts = parts

    def _offered(self) -> list[Command]:
        """Return the commands to name; where few fit, first what nobody should have to look up."""
        commands = super()._offered()
        screen = self.screen
        scale = tuple(screen.value_keys().values()) if isinstance(screen, SharesKeys) else ()
        labels = [command for command in commands if label_key(command) in scale]
        labels.sort(key=lambda command: scale.index(label_key(command) or ""))
        others = [command for command in commands if not _is_label(command)]
        place = next((place for place, command in enumerate(commands) if _is_label(command)), 0)
        commands = [*others[:place], *labels, *others[place:]]
        if self.app.size.width < TWO_LINES:
            commands.sort(key=lambda command: (not _is_label(command), command.id not in _NARROW_FIRST))
        return commands

    def _pairs(self) -> list[tuple[str, str]]:
        offered = self._offered()
        labels = [command for command in offered if _is_label(command)]
        pairs = [self._named(command) for command in offered]
        self._bands = 0
        if len(labels) > LABELS_NAMED:
            bands = _in_bands([self._with_value(command) for command in labels])
            if len(bands) > LABELS_NAMED:
                # The values of a long scale without bands have one word together.
                bands = [(in_stretches([key for key, _ in bands]), "score")]
            self._bands = len(bands)
            others = [self._named(command) for command in offered if not _is_label(command)]
            pairs = [*bands, *others]
        if self._several:
            back, on = (
                first_key(self._parts.context.settings, f"review.{name}") for name in ("tab_back", "tab")
            )
            place = next((at for at, pair in enumerate(pairs) if pair[1] == "undo"), len(pairs))
            pairs.insert(place, (f"{back} {on}", "tabs"))
        self._named_pairs = tuple(pairs)
        return pairs

    @property
    def _several(self) -> bool:
        """Whether the item shown, or before one is shown the one before, is asked several questions."""
        item = self._parts.item
        if item is not None:
            self._was_several = len(item.asks) > 1
        return self._was_several

    def _with_value(self, command: Command) -> tuple[str, str]:
        """Return the key of a value with its word, and with the value where that is another one: "0=10"."""
        key, word = self._named(command)
        item = self._parts.item
        value = None if item is None else item.question.scale.value_of(label_key(command) or "")
        return (key if value is None or f"{value:g}" == key else f"{key}={value:g}"), word

    def _rows_most(self) -> int:
        """Return the lines that may be filled: the bands of a scale take two of their own."""
        return super()._rows_most() + (2 if self._bands > 1 else 1 if self._several else 0)

    def _never_left_out(self) -> int:
        """Return the keys of the scale, by which an answer is found: those of its bands, told together."""
        return self._bands

    def keep_up(self) -> None:
        """Name the keys anew where others have an effect now."""
        before = self._named_pairs
        if not self._choices and tuple(self._pairs()) != before:
            self.show_keys()

    def show_keys(self) -> None:
        """Name what can be pressed now."""
        lines = self.lines()
        self.update(Content("\n").join(_row_of(line) for line in lines), layout=False)
        if len(lines) != self._rows:
            self._rows = len(lines)
            self.styles.height = len(lines)


def _in_bands(named: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return keys whose values have the same word told together: "1 2 mostly wrong"."""
    return [(" ".join(key for key, _ in band), word) for word, band in groupby(named, key=lambda one: one[1])]


def in_stretches(keys: Sequence[str]) -> str:
    """Return keys with digits that follow each other told together: "1-9,0"."""
    stretches: list[list[str]] = []
    for key in keys:
        before = stretches[-1][-1] if stretches else ""
        if key.isdigit() and before.isdigit() and int(key) == int(before) + 1:
            stretches[-1].append(key)
        else:
            stretches.append([key])
    return ",".join(f"{one[0]}-{one[-1]}" if len(one) > 1 else one[0] for one in stretches)


def _row_of(line: Sequence[tuple[str, str]]) -> Content:
    return Content(" · ").join(
        Content.assemble((key, "bold $foreground"), f" {words}") for key, words in line
    )
