"""The keys of the question on the screen, and the line at the foot that names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content

from screens.commands import Command, CommandScope, command_named, commands_of, label_key
from screens.help import first_key, key_name, keys_of
from screens.items.views import ItemView
from screens.widgets.key_line import TWO_LINES, KeyLine, fitted
from screens.widgets.text.sanitize import one_line
from store.record.scales import Scale

if TYPE_CHECKING:
    from screens.settings import ScreenSettings


Pair = tuple[str, str]
"""A key with what it does."""

_NARROW_FIRST = (
    "review.accept",
    "review.both_bad",
    "review.differences",
    "review.undecided",
    "review.undo",
    "review.next",
    "review.cover",
    "review.open_file",
    "adjudicate.both_bad",
    "adjudicate.note",
    "adjudicate.undo",
    "adjudicate.next",
    "adjudicate.agents",
)

MANY_ROWS = 2
"""Lines that a long scale has at least."""

LABELS_NAMED = 5
"""Values of a scale up to which the line names each."""


class ScaleKeys:
    """The keys of a screen's commands while a question is asked.

    Args:
        item: Returns the item that is shown; None while there is none.
    """

    def __init__(
        self, settings: ScreenSettings, item: Callable[[], ItemView | None], scope: CommandScope = "review"
    ) -> None:
        self._settings = settings
        self._item = item
        self._scope: CommandScope = scope
        self._scale_before: Scale | None = None
        self._keys_of_scale: tuple[Scale | None, Mapping[str, str]] = (None, {})

    @property
    def item(self) -> ItemView | None:
        """The item that is shown; None while there is none."""
        return self._item()

    def first(self, command_id: str) -> str:
        """Return the first key of any command, as a person reads it."""
        return first_key(self._settings, command_id)

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


def _is_label(command: Command) -> bool:
    return label_key(command) is not None


class JudgingKeyLine(KeyLine):
    """The keys of a screen that judges, in a `Foot`; while codes are offered, these are shown instead."""

    DEFAULT_CSS = "JudgingKeyLine { height: 1fr; }"
    HAS_FIXED_HEIGHT: ClassVar[bool] = True

    _named_pairs: tuple[tuple[str, str], ...] = ()

    def __init__(self, keys: ScaleKeys) -> None:
        super().__init__()
        self._keys = keys

    def _offered(self) -> list[Command]:
        """Return the commands to name; where few fit, first what nobody should have to look up."""
        commands = super()._offered()
        scale = tuple(self._screen.command_state.value_keys().values())
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
        scope = self._screen.SCOPE
        tabs = " ".join(self._keys.first(f"{scope}.{name}") for name in ("tab_back", "tab")), "tabs"
        if len(labels) > LABELS_NAMED:
            bands = _in_bands([self._with_value(command) for command in labels])
            if len(bands) > LABELS_NAMED:
                # The values of a long scale without bands have one word together.
                bands = [(group_digits([key for key, _ in bands]), "score")]
            others = [self._named(command) for command in offered if not _is_label(command)]
            rows, needed = self._rows_most() - 1, list[Pair]()
            if rows < MANY_ROWS:
                # No line is left to the other keys: the tabs are named beside the scale.
                rows, needed = rows + 1, [tabs]
            last = self._last
            bands[0] = self._asking(bands[0])
            pairs = [*_cut_to(bands, needed, last, self.size.width, rows), *needed, *others]
        elif labels:
            first = offered.index(labels[0])
            pairs[first] = self._asking(pairs[first])
        if tabs not in pairs:
            place = next((at for at, pair in enumerate(pairs) if pair[1] == "undo"), len(pairs))
            pairs.insert(place, tabs)
        self._named_pairs = tuple(pairs)
        return pairs

    def _asking(self, answer: Pair) -> Pair:
        """Return the first answer's key behind what it answers, where several questions may be meant."""
        item, (key, word) = self._keys.item, answer
        return (key if item is None or not item.has_several else f"{item.current.title}: {key}"), word

    def _with_value(self, command: Command) -> tuple[str, str]:
        """Return the key of a value with its word, and with the value where that is another one: "0=10"."""
        key, word = self._named(command)
        item = self._keys.item
        value = None if item is None else item.question.scale.value_of(label_key(command) or "")
        return (key if value is None or f"{value:g}" == key else f"{key}={value:g}"), word

    def _rows_most(self) -> int:
        """Return the lines that there are."""
        return max(1, self.size.height)

    _choice_rows_most = _rows_most

    def on_resize(self) -> None:
        """Lay the lines out."""
        self.show_keys()

    def update_keys(self) -> None:
        """Update the line where other keys have an effect now."""
        before = self._named_pairs
        if not self._choices and tuple(self._pairs()) != before:
            self.show_keys()

    def show_keys(self) -> None:
        """Name what can be pressed now."""
        self.update(Content("\n").join(_row_of(line) for line in self.lines()), layout=False)


def _in_bands(named: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return keys whose values have the same word as one: "1 2 mostly wrong"."""
    return [(" ".join(key for key, _ in band), word) for word, band in groupby(named, key=lambda one: one[1])]


def _cut_to(bands: list[Pair], needed: list[Pair], last: Pair | None, width: int, rows: int) -> list[Pair]:
    """Return bands whose words are cut, all by the same measure, so that they fit some lines with others."""
    cut = bands
    for room in range(max(len(word) for _, word in bands), 3, -1):
        cut = [(keys, one_line(word, room)) for keys, word in bands]
        every = [*cut, *needed]
        if sum(map(len, fitted(every, last, width, rows))) == len(every) + (last is not None):
            break
    return cut


def group_digits(keys: Sequence[str]) -> str:
    """Return keys with consecutive digits as one: "1-9,0"."""
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
