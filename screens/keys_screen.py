"""The list of keys: what can be done on the screen below, in groups, filtered as one types."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from screens.commands import (
    BEFORE_A_WORKSPACE,
    JUDGING,
    WHERE,
    WITHIN,
    Command,
    CommandScope,
    bindings,
    commands_of,
    label_key,
)
from screens.help import first_key, key_name, keys_of
from screens.judging.keys import group_digits
from screens.widgets.line_input import LineInput

if TYPE_CHECKING:
    from screens.settings import ScreenSettings
    from store.record.scales import Scale

_KEY_CELLS = 13
"""Cells of a key and the gap after it."""
_COLUMN_CELLS, _GAP = 50, 2
"""Cells that a column has at least, and those between two."""

GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Judging",
        (
            *("accept", "both_bad", "undecided", "reason", "skip", "flag", "comment", "cite", "follow"),
            *("ask", "ask_back", "undo", "redo"),
        ),
    ),
    ("Moving", ("next", "previous", "unjudged", "find", "find_back", "failure", "back")),
    (
        "Panes",
        (
            *("pane", "pane_back", "tab", "tab_back", "sides", "zoom", "guideline", "wrap", "numbers"),
            "source",
        ),
    ),
    (
        "Item",
        (
            *("run", "edit", "edit_outside", "other_run", "compare", "differences", "cover", "open_file"),
            *("copy", "copy_file", "pager"),
        ),
    ),
)
"""The commands of the review in groups, by their ids without `review.`; others come last in the last one."""

MOVING = frozenset({"up", "down", "page_up", "page_down", "next", "previous", "home", "end", "pane"})
"""The verbs of commands that move over a screen."""

LEGEND = (
    ("●  ○", "Judged by you; not yet."),
    ("◆", "The agents' label, or their work."),
    ("▲", "You and the agents disagree."),
    ("⚑", "You flagged it."),
    ("…  !", "It is being saved; it could not be saved."),
)
"""The signs that screens without a legend of their own use, with their meanings."""

SIGNS = (
    ("●  ○", "You have labelled the item; not yet."),
    ("◆", "The agents' label."),
    ("✓  ✗  !", "A test passed, failed by an assertion, ended in another error."),
    ("~", "A test passed, but it also passes on a stub of the code: no evidence."),
    ("│", "Output of the commands of a repair."),
)
"""The signs of a review, with their meanings."""

QUEUE_SIGNS = (
    ("●  ○", "You have judged it; not yet. With several questions, a dot for each."),
    ("»  ?", "You skipped it; you cannot decide."),
    ("▲", "You and the agents disagree."),
    ("⚑", "You flagged it."),
    ("◆", "The agents' label."),
    ("…  !", "It is being saved; it could not be saved."),
    ("∅", "The agents need a sandbox for it."),
)
"""The signs of the queue's lines, with their meanings."""

MARKS = (
    ("●", "You: match; of more than two labels any."),
    ("×", "You: no match."),
    ("◆", "Not judged yet; the agents: match."),
    ("◇", "Not judged yet; the agents: no match."),
    ("○", "Not judged yet; no label of the agents."),
    ("▲", "You and the agents disagree."),
    ("»  ?", "You skipped it; you cannot decide."),
    ("…  !", "It is being saved; it could not be saved."),
    ("┄  ›", "Not read yet; more than fit."),
)
"""The marks of the items of a group, with their meanings."""

NOTE = "Keys in a text field are text. Pasted text, and keys typed before an item is shown, never judge."


@dataclass(frozen=True, slots=True)
class Section:
    """A group of keys: its title, and each key with what it does."""

    title: str
    rows: tuple[tuple[str, str], ...]

    def matching(self, text: str) -> Section:
        """Return the section with the rows that contain a text; all of them where its title does."""
        wanted = text.casefold()
        if wanted in self.title.casefold():
            return self
        return Section(self.title, tuple(row for row in self.rows if wanted in " ".join(row).casefold()))


def sections(scope: CommandScope, settings: ScreenSettings, asked: Scale | None = None) -> Iterator[Section]:
    """Return the keys of a screen, of its parts and dialogs, and of every screen, in groups.

    Args:
        asked: The scale of the question that the screen asks. Its values alone are listed, in its order, and
            of what shares a key with one of them the other keys; None while no item is shown.
    """

    def row(command: Command) -> tuple[str, str]:
        return key_name(keys_of(command, settings)), command.help

    own = list(commands_of(scope)) if scope != "app" else []
    if scope == "review":
        yield from _review_sections(own, settings, asked)
        yield Section("Reasons of an override", tuple(settings.reasons.items()))
        yield Section("Reasons for cannot decide", tuple(settings.undecided.items()))
        yield Section("Signs", SIGNS)
    elif own:
        values = [] if scope not in JUDGING else [*_values(own, settings, asked)]
        moves = [command for command in own if command.id.partition(".")[2] in MOVING]
        rows = (row(command) for command in own if label_key(command) is None and command not in moves)
        yield Section(WHERE[scope], (*values, *_in_one(rows)))
        if moves:
            yield Section("Moving", tuple(map(row, moves)))
    if scope == "queue":
        yield Section("Signs of a line", QUEUE_SIGNS)
        yield Section("Marks, one for each item of a group", MARKS)
    elif scope not in ("review", "app", "welcome"):
        yield Section("Signs", LEGEND)
    everywhere = [each for each in commands_of("app") if scope != "welcome" or each.id in BEFORE_A_WORKSPACE]
    yield Section(WHERE["app"], tuple(map(row, everywhere)))
    common = [part for part in WITHIN["app"] if scope != "welcome" or part != "palette"]
    for part in (*WITHIN.get(scope, ()), *common):
        yield Section(WHERE[part], tuple(map(row, commands_of(part))))


def _in_one(rows: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Return rows with one in place of consecutive ones of which all that can be said is the same."""
    for words, group in groupby(rows, key=lambda row: row[1]):
        yield group_digits([key for key, _ in group]), words


def _review_sections(
    commands: Sequence[Command], settings: ScreenSettings, asked: Scale | None
) -> Iterator[Section]:
    by_verb = {command.id.removeprefix("review."): command for command in commands}
    grouped = {verb for _, verbs in GROUPS for verb in verbs}
    others = tuple(verb for verb in by_verb if verb not in grouped and label_key(by_verb[verb]) is None)
    for title, verbs in GROUPS:
        rows = list(_values(commands, settings, asked)) if title == GROUPS[0][0] else []
        for verb in (*verbs, *(others if title == GROUPS[-1][0] else ())):
            command = by_verb[verb]
            keys = keys_of(command, settings).split(",")
            free = [key for key in map(str.strip, keys) if asked is None or asked.value_of(key) is None]
            if free:
                rows.append((key_name(",".join(free)), command.help))
        if rows:
            yield Section(title, tuple(rows))


def _values(
    commands: Iterable[Command], settings: ScreenSettings, asked: Scale | None
) -> Iterator[tuple[str, str]]:
    """Return the keys of the values of a scale, in its order."""
    named = {key: command for command in commands if (key := label_key(command)) is not None}
    if asked is None:
        yield "…", "The keys of answers depend on the question on the screen."
        return
    for known in asked.values:
        yield key_name(keys_of(named[known.key], settings)), f"Answer {asked.word(known.value)}."


class _KeyList(Static):
    """Groups of keys and words, in which words that need further rows stay below each other."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[str] = []

    def show(self, lines: list[str]) -> None:
        """Show other lines."""
        self._lines = lines
        self._lay_out()

    def on_resize(self) -> None:
        """Wrap the words to the width that there is."""
        self._lay_out()

    def _lay_out(self) -> None:
        columns = max(1, (self.size.width + _GAP) // (_COLUMN_CELLS + _GAP))
        width = max((self.size.width + _GAP) // columns - _GAP, 2 * _KEY_CELLS)
        self.update(Content("\n").join(beside(columned(self._lines, columns, width), width)))


def columned(lines: Sequence[str], columns: int, width: int) -> list[list[str]]:
    """Return lines as columns of about the same height, in order; groups, apart by empty lines, stay whole.

    Args:
        columns: How many columns there are at most.
        width: The cells of each, to which lines are wrapped.
    """
    groups: list[list[str]] = [[]]
    for line in lines:
        if line:
            groups[-1] += wrap(line, width)
        else:
            groups.append([])
    heights = [len(group) + 1 for group in groups]
    for limit in range(max(heights), sum(heights) + 1):
        found: list[list[str]] = [[]]
        for group in groups:
            if found[-1] and len(found[-1]) + 1 + len(group) > limit:
                found.append([])
            found[-1] += ["", *group] if found[-1] else group
        if len(found) <= columns:
            return found
    return [list(lines)]


def beside(columns: Sequence[Sequence[str]], width: int) -> list[Content]:
    """Return columns side by side, a row each."""
    rows = []
    for parts in zip_longest(*columns, fillvalue=""):
        cells: list[Content] = []
        for place, part in enumerate(parts):
            style = "" if part.startswith(" ") or not part else "bold $text-accent"
            filled = "" if place == len(parts) - 1 else " " * (width - cell_len(part) + _GAP)
            cells += [Content.styled(part, style), Content(filled)]
        rows.append(Content("").join(cells))
    return rows


def wrap(line: str, width: int) -> list[str]:
    """Break a line of the list into rows, the later ones indented like the words of a key."""
    indent = " " * (_KEY_CELLS + 1) if line.startswith(" ") else ""
    return textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False) or [""]


def lines(listed: Iterable[Section]) -> list[str]:
    """Return sections as lines: a title, and below it a line for each key."""
    found: list[str] = []
    for section in listed:
        if section.rows:
            found += [""] if found else []
            found += [section.title, *(f" {key:<{_KEY_CELLS - 1}} {words}" for key, words in section.rows)]
    return found


class KeysScreen(ModalScreen[None]):
    """The keys of the screen below, in groups; see `sections`."""

    BINDINGS = bindings("keys")
    DEFAULT_CSS = """
    KeysScreen { align: center middle; }
    KeysScreen Vertical {
        width: 96%; max-width: 170; height: auto; max-height: 92%;
        border: round $primary; border-title-color: $text-primary; background: $surface; padding: 0 1;
    }
    KeysScreen VerticalScroll { height: auto; max-height: 100%; }
    KeysScreen Static { height: auto; }
    KeysScreen Input { height: 1; border: none; padding: 0; background: $foreground 10%; }
    KeysScreen Input:focus { border: none; }
    """

    def __init__(self, scope: CommandScope, settings: ScreenSettings, asked: Scale | None = None) -> None:
        super().__init__()
        self._scope: CommandScope = scope
        self._settings = settings
        self.sections = tuple(sections(scope, settings, asked))

    def compose(self) -> ComposeResult:
        """Lay out the line that filters, and the groups below it."""
        with Vertical() as box:
            up, down, close = (first_key(self._settings, f"keys.{name}") for name in ("up", "down", "close"))
            box.border_title = f"Keys · {WHERE[self._scope]}"
            box.border_subtitle = f"{up} {down} scroll · {close} close"
            yield LineInput(placeholder="type to filter")
            with VerticalScroll(can_focus=False):
                yield _KeyList()

    def on_mount(self) -> None:
        """List all keys."""
        self._show("")

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._show(event.value.strip())

    def _show(self, text: str) -> None:
        found = lines(section.matching(text) for section in self.sections)
        if not text and self._scope == "review":
            found += ["", NOTE]
        self.query_one(_KeyList).show(found or [f"No key matches “{text}”."])
        self.query_one(VerticalScroll).scroll_home(animate=False)

    def action_close(self) -> None:
        """Close the list; what was typed into it is cleared first."""
        box = self.query_one(Input)
        if box.value:
            box.value = ""
        else:
            self.dismiss()

    def action_row(self, rows: int) -> None:
        """Scroll the list by some rows."""
        self.query_one(VerticalScroll).scroll_relative(y=rows, animate=False)

    def action_page(self, pages: int) -> None:
        """Scroll the list by some pages."""
        box = self.query_one(VerticalScroll)
        box.scroll_relative(y=pages * max(1, box.size.height - 1), animate=False)
