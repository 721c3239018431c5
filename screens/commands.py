"""The one catalogue of actions: key bindings, help, palette and README are all fed from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from textual.binding import Binding

Scope = Literal["app", "home", "queue", "review", "jobs"]


@dataclass(frozen=True, slots=True)
class Command:
    """Something a user can do by a key.

    Attributes:
        id: Its name in the configuration, `scope.verb`.
        key: Its default keys, comma-separated, as Textual names them.
        action: The action method it calls.
        label: What the key line says, one to three words.
        help: What the help and the palette say, one sentence.
        judging: Whether it records something; then its key must be a lower-case letter or a digit.
        on_line: Whether the key line shows it.
    """

    id: str
    key: str
    action: str
    label: str
    help: str
    judging: bool = False
    on_line: bool = True

    @property
    def scope(self) -> Scope:
        """The screen it belongs to, or app for all of them."""
        scope: Scope = self.id.split(".")[0]  # type: ignore[assignment]
        return scope


COMMANDS: tuple[Command, ...] = (
    Command("app.help", "question_mark", "show_keys", "keys", "List the keys of this screen."),
    Command("app.palette", "ctrl+p", "command_palette", "palette", "Search all actions by name."),
    Command(
        "app.jobs", "J", "show_jobs", "jobs", "Show the agents at work: progress, failures, pause, stop."
    ),
    Command("app.quit", "ctrl+q,ctrl+c", "quit", "quit", "Write what is still unsaved, then leave."),
    Command("home.resume", "enter", "resume", "resume", "Go on where you left off."),
    Command("home.queue", "q", "open_queue", "queue", "Open the list of all items."),
    Command("home.import", "i", "import_file", "import a file", "Import query-code pairs from a file."),
    Command("home.sample", "d", "load_sample", "look at the demo", "Load the sample data and annotate it."),
    Command(
        "home.annotate", "g", "annotate", "start the agents", "Let the agents annotate what has no label."
    ),
    Command("queue.open", "enter", "open_item", "open", "Review the item under the cursor."),
    Command("queue.filter", "f", "filter", "filter", "Choose what the queue lists."),
    Command("queue.find", "slash", "find", "find", "List the items that contain a text."),
    Command("queue.sort", "o", "sort", "order", "Choose the order of the queue."),
    Command(
        "queue.refresh", "r", "refresh_queue", "refresh", "Take the order anew, with what changed since."
    ),
    Command("queue.clear", "c", "clear_filter", "all items", "List all items again."),
    Command("queue.back", "escape,q", "back", "home", "Go back to the first screen."),
    Command(
        "review.accept", "a", "accept", "accept", "Take over the agents' label that is shown.", judging=True
    ),
    Command(
        "review.undecided",
        "d",
        "undecided",
        "cannot decide",
        "Say that you cannot decide, and why.",
        judging=True,
    ),
    Command("review.skip", "s", "skip", "skip", "Put the item off; it comes back last.", judging=True),
    Command("review.flag", "f", "flag", "flag", "Flag the item, or take the flag away.", judging=True),
    Command("review.comment", "c", "comment", "comment", "Write a comment on the item.", judging=True),
    Command(
        "review.reason", "o", "reason", "reason", "Give or change the reason of your override.", judging=True
    ),
    Command("review.undo", "u", "undo", "undo", "Take back what you did last, and go there.", judging=True),
    Command("review.redo", "U,ctrl+r", "redo", "redo", "Bring back what you undid last.", on_line=False),
    Command("review.next", "n", "next", "next", "Go to the next item; the next match while searching."),
    Command("review.previous", "p", "previous", "previous", "Go to the previous item."),
    Command("review.unjudged", "j", "next_open", "next unjudged", "Go to the next item without your label."),
    Command("review.pane", "tab", "next_pane", "pane", "Move to the next pane.", on_line=False),
    Command(
        "review.pane_back",
        "shift+tab",
        "previous_pane",
        "pane back",
        "Move to the previous pane.",
        on_line=False,
    ),
    Command(
        "review.tab",
        "right_square_bracket",
        "next_tab",
        "tab",
        "Show the next part of the case.",
        on_line=False,
    ),
    Command(
        "review.tab_back",
        "left_square_bracket",
        "previous_tab",
        "tab back",
        "Show the part before.",
        on_line=False,
    ),
    Command("review.find", "slash", "find", "find", "Search in the pane that has the focus."),
    Command(
        "review.find_back", "N", "previous_match", "match before", "Go to the match before.", on_line=False
    ),
    Command("review.failure", "g", "failure", "failure", "Jump to the first failure in the log."),
    Command("review.zoom", "z", "zoom", "zoom", "Give the pane the whole screen, and back."),
    Command("review.wrap", "W", "wrap", "wrap", "Wrap long lines, or let them run on.", on_line=False),
    Command("review.numbers", "L", "numbers", "numbers", "Show or hide line numbers.", on_line=False),
    Command("review.copy", "y", "copy", "copy", "Copy the selection, or the pane, exactly.", on_line=False),
    Command(
        "review.copy_file",
        "Y",
        "copy_file",
        "to a file",
        "Write the selection or the pane to a file.",
        on_line=False,
    ),
    Command("review.pager", "V", "pager", "pager", "Read the pane in $PAGER.", on_line=False),
    Command(
        "review.back",
        "q,escape",
        "back",
        "back",
        "Go back to where you came from; Escape first ends a search.",
    ),
    Command("jobs.start", "g", "start", "start", "Let the agents annotate what has no label."),
    Command("jobs.pause", "p", "pause", "pause", "Let the agents finish their turn and wait, or go on."),
    Command("jobs.stop", "x", "stop", "stop", "Stop the run; it can be resumed."),
    Command("jobs.back", "escape,q", "back", "back", "Go back to where you were."),
)


def bindings(scope: Scope) -> list[Binding]:
    """Return the key bindings of a screen; their ids let the configuration's key map change them."""
    return [_binding(command) for command in COMMANDS if command.scope == scope]


def _binding(command: Command) -> Binding:
    return Binding(
        command.key,
        command.action,
        command.label,
        id=command.id,
        tooltip=command.help,
        show=command.on_line,
    )


def commands_of(*scopes: Scope) -> Iterable[Command]:
    """Return the commands of some scopes, in the catalogue's order."""
    return (command for command in COMMANDS if command.scope in scopes)
