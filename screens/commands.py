"""The one catalogue of actions: key bindings, help, palette and README are all fed from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Literal, Protocol

from textual.binding import Binding, BindingType

from store.errors import WorkbenchError
from store.kinds.spec import task_kinds
from store.record.scales import Scale, ScaleValue

CommandScope = Literal[
    "app",
    "welcome",
    "details",
    "home",
    "sitting",
    "queue",
    "review",
    "adjudicate",
    "jobs",
    "works",
    "outcomes",
    "studies",
    "study",
    "new_study",
    "splits",
    "new_split",
    "export",
    "sql",
    "search",
    "history",
    "reports",
    "by_query",
    "ranked",
    "file",
    "list",
    "text",
    "line",
    "editor",
    "filter",
    "value",
    "order",
    "columns",
    "runs",
    "views",
    "choices",
    "import",
    "budget",
    "start",
    "candidates",
    "consent",
    "confirm",
    "palette",
    "keys",
]
"""Where a command is at home: everywhere, on a screen, or in a part or a dialog of one."""

DIALOGS: tuple[tuple[CommandScope, ...], ...] = (
    ("details",),
    ("editor",),
    ("filter", "value"),
    ("order",),
    ("columns",),
    ("runs",),
    ("views",),
    ("choices",),
    ("import",),
    ("budget",),
    ("start",),
    ("candidates",),
    ("works",),
    ("history",),
    ("consent",),
    ("confirm",),
    ("palette",),
    ("keys",),
)
"""The scopes of the dialogs; those in one group listen at the same time, and nothing else beside them."""

WITHIN: dict[CommandScope, tuple[CommandScope, ...]] = {
    "welcome": ("details", "import"),
    "home": ("import", "start", "candidates"),
    "sitting": ("consent",),
    "queue": ("list", "line", "filter", "value", "order", "columns", "runs", "views", "confirm"),
    "review": ("text", "line", "editor"),
    "adjudicate": ("text", "line"),
    "jobs": ("start", "budget", "candidates", "works"),
    "outcomes": ("list",),
    "studies": ("confirm",),
    "study": ("confirm",),
    "new_study": (),
    "splits": ("confirm",),
    "new_split": (),
    "export": ("confirm",),
    "sql": ("line",),
    "search": ("line", "editor", "history"),
    "reports": ("line", "choices"),
    "by_query": (),
    "ranked": (),
    "file": ("text",),
    "app": ("keys", "palette"),
}
"""The parts and dialogs of each screen."""

WHERE: dict[CommandScope, str] = {
    "app": "Everywhere",
    "welcome": "First run",
    "details": "New workspace",
    "home": "Home",
    "sitting": "Home of a rater in a study",
    "queue": "Queue",
    "review": "Review",
    "adjudicate": "Adjudication",
    "jobs": "Jobs",
    "outcomes": "Items of a run",
    "studies": "Studies",
    "study": "One study",
    "new_study": "New study",
    "splits": "Splits",
    "new_split": "New split",
    "export": "Export",
    "sql": "SQL",
    "search": "Code search",
    "history": "Earlier searches",
    "reports": "Reports",
    "by_query": "Two methods, query by query",
    "ranked": "Rankings of a query",
    "file": "File of a repository, or a code of the corpus",
    "list": "List of items",
    "text": "Text in a pane",
    "line": "Line of text",
    "editor": "Editor of a text",
    "filter": "Filter",
    "value": "Values of the filter",
    "order": "Order",
    "columns": "Columns",
    "runs": "Run of the agents",
    "views": "Saved views",
    "choices": "Choices of a report",
    "import": "Import",
    "budget": "More budget",
    "start": "Start the agents",
    "candidates": "Find candidate pairs",
    "works": "Start a work",
    "consent": "Consent",
    "confirm": "Confirmation",
    "palette": "Palette",
    "keys": "List of keys",
}
"""Titles of the scopes."""


@dataclass(frozen=True, slots=True)
class Command:
    """Something a user can do by a key.

    Attributes:
        id: Its name in the configuration, `scope.verb`.
        key: Its default keys, comma-separated, as Textual names them.
        action: The action method it calls; where none is named, the screen's dispatcher finds its owner.
        label: Its name in the key line, one to three words.
        help: Its description in the help and the palette, one sentence.
        judging: Whether it records something; then its key must be a lower-case letter or a digit.
        on_line: Whether the key line shows it.
        priority: Whether the key comes before those of what has the focus.
    """

    id: str
    key: str
    action: str
    label: str
    help: str
    judging: bool = False
    on_line: bool = True
    priority: bool = False

    def __post_init__(self) -> None:
        """Have the dispatcher called where no method is named."""
        if not self.action:
            object.__setattr__(self, "action", f"dispatch({self.id!r})")

    @property
    def scope(self) -> CommandScope:
        """The screen it belongs to, or app for all of them."""
        scope: CommandScope = self.id.split(".")[0]  # type: ignore[assignment]
        return scope


BEFORE_A_WORKSPACE = ("app.help", "app.quit", "app.cancel", "app.suspend")
"""The commands of every screen that the first run has as well."""

KINDS_WITH_A_KEY = 5
"""So many kinds of items can be chosen in the queue by a digit."""


def _fields(scope: CommandScope) -> tuple[Command, Command]:
    """Return the commands that go from field to field of a form."""
    following, before = "Go to the next field.", "Go to the previous field."
    return (
        Command(f"{scope}.next", "down", "app.focus_next", "next field", following, on_line=False),
        Command(f"{scope}.previous", "up", "app.focus_previous", "previous field", before, on_line=False),
    )


def _rows(scope: CommandScope, row: str) -> tuple[Command, ...]:
    """Return the commands that move in a list of a screen, with what a row is called."""
    return (
        Command(f"{scope}.up", "up,k", "move(-1)", "up", f"Go to the {row} above.", on_line=False),
        Command(f"{scope}.down", "down,j", "move(1)", "down", f"Go to the {row} below.", on_line=False),
        Command(f"{scope}.page_up", "pageup", "page(-1)", "page up", "Go one page up.", on_line=False),
        Command(f"{scope}.page_down", "pagedown", "page(1)", "page down", "Go one page down.", on_line=False),
        Command(f"{scope}.start", "home", "jump(0)", "first", f"Go to the first {row}.", on_line=False),
        Command(f"{scope}.end", "end", "jump(-1)", "last", f"Go to the last {row}.", on_line=False),
    )


def _panes(scope: CommandScope) -> tuple[Command, ...]:
    """Return the commands that go from pane to pane of a screen that judges."""
    back, forth = "left_square_bracket", "right_square_bracket"
    tab, tab_back = "Show the next tab of the right side.", "Show the previous tab."
    return (
        Command(f"{scope}.pane", "tab", "", "pane", "Move to the next pane.", on_line=False),
        Command(
            f"{scope}.pane_back",
            "shift+tab",
            "",
            "previous pane",
            "Move to the previous pane.",
            on_line=False,
        ),
        Command(f"{scope}.tab", forth, "", "next tab", tab, on_line=False),
        Command(f"{scope}.tab_back", back, "", "previous tab", tab_back, on_line=False),
    )


COMMANDS: tuple[Command, ...] = (
    Command("app.help", "question_mark,f1", "show_keys", "keys", "List the keys of this screen."),
    Command(
        "app.palette",
        "ctrl+p",
        "command_palette",
        "palette",
        "Find a screen, an action, a saved view, a query or an item by what you type.",
        priority=True,
    ),
    Command(
        "app.jobs",
        "J",
        "show_jobs",
        "jobs",
        "Show the runs of the agents and other works: progress, failures, pause, stop.",
    ),
    Command(
        "app.reports",
        "f9",
        "show_reports",
        "reports",
        "Show the reports: agreement, confusion, accuracy, labels, time, ratings.",
        on_line=False,
    ),
    Command(
        "app.quit",
        "ctrl+q",
        "quit",
        "quit",
        "Save and quit.",
        priority=True,
    ),
    Command(
        "app.cancel",
        "ctrl+c",
        "copy_or_cancel",
        "copy, cancel",
        "Copy the selection, else cancel the editor or dialog, else quit at the second press.",
        on_line=False,
        priority=True,
    ),
    Command(
        "app.suspend",
        "ctrl+z",
        "suspend",
        "suspend",
        "Go to the shell; its `fg` comes back. In a text field, undo.",
        on_line=False,
        priority=True,
    ),
    Command("welcome.open", "enter", "open", "open", "Open the line at the cursor."),
    Command("welcome.demo", "d", "open_demo", "demo", "Open the demo: sample data and scripted agents."),
    Command("welcome.practice", "t", "practise", "practise", "Practise on ten items with known answers."),
    Command("welcome.import", "i", "import_file", "import a file", "Import a file into a new workspace."),
    Command("welcome.new", "n", "make_workspace", "new workspace", "Make an empty workspace."),
    Command("welcome.up", "up,k", "move(-1)", "line above", "Go to the line above.", on_line=False),
    Command("welcome.down", "down,j", "move(1)", "line below", "Go to the line below.", on_line=False),
    Command("welcome.leave", "q,escape", "app.quit", "quit", "Quit; nothing is made."),
    Command("details.confirm", "enter", "confirm", "continue", "Continue with these values.", priority=True),
    Command(
        "details.keep",
        "ctrl+s",
        "keep",
        "save name",
        "Continue, and save the name in the configuration.",
        priority=True,
    ),
    Command("details.leave", "escape,q", "dismiss", "cancel", "Close the form; nothing is made."),
    *_fields("details"),
    Command(
        "home.resume",
        "enter",
        "resume",
        "resume",
        "Do what the line at the cursor says; on a figure, open its items.",
    ),
    Command("home.queue", "tab", "open_queue", "queue", "Open the list of all items."),
    Command(
        "home.import",
        "i",
        "import_file",
        "import a file",
        "Import items, responses of models or labels from a file.",
    ),
    Command("home.sample", "d", "load_sample", "load demo", "Load the sample data and annotate it."),
    Command(
        "home.annotate", "g", "annotate", "start agents", "Let the agents label the items without a label."
    ),
    Command(
        "home.candidates",
        "f",
        "find_candidates",
        "find candidates",
        "Search the best codes of each query: they become pairs to judge.",
    ),
    Command(
        "home.practice",
        "t",
        "practise",
        "practise",
        "Practise the keys on ten items with known answers, where the sample is.",
    ),
    Command("home.export", "x", "open_export", "export", "Write labels or items to a file."),
    Command(
        "home.studies", "s", "open_studies", "studies", "Show the studies: make, freeze and follow them."
    ),
    Command("home.adjudicate", "a", "adjudicate", "adjudicate", "Decide the items on which raters disagree."),
    Command("home.splits", "p", "open_splits", "splits", "Show the splits: their parts, balance and leaks."),
    Command(
        "home.reports",
        "r",
        "app.show_reports",
        "reports",
        "Show the reports: agreement, accuracy and others.",
    ),
    Command(
        "home.search",
        "slash",
        "open_search",
        "code search",
        "Search a repository for the functions that answer a question.",
    ),
    Command("home.sql", "S", "open_sql", "sql", "Query the workspace in SQL."),
    Command(
        "home.disagreements",
        "2",
        "open_filtered('disagreements')",
        "disagreements",
        "List the items on which you disagree with the agents.",
        on_line=False,
    ),
    Command(
        "home.skipped",
        "3",
        "open_filtered('skipped')",
        "skipped",
        "List the items that you skipped.",
        on_line=False,
    ),
    Command(
        "home.flagged",
        "4",
        "open_filtered('flagged')",
        "flagged",
        "List the items that you flagged.",
        on_line=False,
    ),
    Command("home.down", "down,right", "move(1)", "next figure", "Move to the next figure.", on_line=False),
    Command(
        "home.up", "up,left", "move(-1)", "previous figure", "Move to the previous figure.", on_line=False
    ),
    Command(
        "home.leave", "q", "app.ask_to_quit", "quit", "Save and quit, at the second press.", on_line=False
    ),
    Command(
        "sitting.resume",
        "enter",
        "resume",
        "continue",
        "Do what the line at the cursor says: continue the sitting, or begin the next.",
    ),
    Command("sitting.queue", "tab", "open_queue", "queue", "List the items of the sitting."),
    Command("sitting.other", "o", "open_other", "other study", "Go to your next open study."),
    Command("sitting.consent", "c", "show_consent", "consent", "Read the consent text."),
    Command("sitting.sql", "S", "open_sql", "sql", "Query your own work in SQL."),
    Command("sitting.up", "up,k", "move(-1)", "line above", "Go to the line above.", on_line=False),
    Command("sitting.down", "down,j", "move(1)", "line below", "Go to the line below.", on_line=False),
    Command(
        "sitting.leave", "q", "app.ask_to_quit", "quit", "Save and quit, at the second press.", on_line=False
    ),
    Command("queue.open", "enter", "open_item", "open", "Review the item under the cursor."),
    Command("queue.filter", "f", "filter", "filter", "Choose which items are listed."),
    Command("queue.find", "slash", "find", "find", "List the items that contain a text."),
    Command("queue.sort", "o", "sort", "order", "Choose the order of the queue."),
    Command("queue.columns", "C", "columns", "columns", "Choose which columns are shown.", on_line=False),
    Command(
        "queue.group",
        "g",
        "group",
        "group",
        "Group items by query or prompt, or list one by one.",
    ),
    Command("queue.run", "a", "choose_run", "run", "Choose the run whose labels are shown."),
    Command("queue.views", "v", "choose_view", "views", "Open, rename or delete a saved view."),
    Command("queue.save_view", "w", "save_view", "save view", "Save filter, order and columns as a view."),
    Command("queue.export", "x", "open_export", "export", "Write these items or others to a file."),
    Command("queue.refresh", "r", "refresh_queue", "refresh", "Read the items again and sort them."),
    Command("queue.clear", "c", "clear_filter", "all items", "List all items again."),
    Command("queue.back", "escape,q", "back", "home", "Go back to home."),
    Command("queue.kind_0", "0", "choose_kind(0)", "all kinds", "List all kinds.", on_line=False),
    *(
        Command(
            f"queue.kind_{place}",
            str(place),
            f"choose_kind({place})",
            f"kind {place}",
            "List only the kind that has this number above the list.",
            on_line=False,
        )
        for place in range(1, KINDS_WITH_A_KEY + 1)
    ),
    Command("review.accept", "a", "", "accept", "Accept the agents' label that is shown.", judging=True),
    Command("review.both_bad", "0", "", "both bad", "Both candidates are bad.", judging=True),
    Command(
        "review.undecided", "d", "", "cannot decide", "You cannot decide; then give the reason.", judging=True
    ),
    Command("review.skip", "s", "", "skip", "Skip the item; it comes back at the end.", judging=True),
    Command("review.flag", "f", "", "flag", "Flag the item, or remove the flag.", judging=True),
    Command("review.comment", "m", "", "comment", "Write a comment on the item.", judging=True),
    Command(
        "review.reason",
        "o",
        "",
        "reason",
        "Give or change the reason why you overrode the agents.",
        judging=True,
    ),
    Command(
        "review.scores",
        "S",
        "",
        "all scores",
        "Type all scores of the answer at once: 7 8 9 9, or 7899.",
    ),
    Command("review.ask", "t", "", "next question", "Go to the next question of the item."),
    Command("review.ask_back", "T", "", "previous question", "Go to the previous question.", on_line=False),
    Command("review.undo", "u", "", "undo", "Undo your last action, and go to its item.", judging=True),
    Command("review.redo", "U,ctrl+r", "", "redo", "Redo the action that you undid last.", on_line=False),
    Command("review.next", "n", "", "next", "Go to the next item; in a search, to the next match."),
    Command("review.previous", "p", "", "previous", "Go to the previous item."),
    Command("review.unjudged", "j", "", "next unjudged", "Go to the next item without your label."),
    Command(
        "review.cover",
        "H",
        "",
        "cover reference",
        "Cover the reference until your first answer, or show it.",
    ),
    Command(
        "review.open_file",
        "F",
        "",
        "open file",
        "Open the repository file that the context on the screen is from.",
    ),
    Command(
        "review.code_search",
        "O",
        "",
        "code search",
        "Search a repository for the functions that answer the item's query.",
        on_line=False,
    ),
    Command(
        "review.candidates",
        "Q",
        "",
        "candidates",
        "Show or hide the list of the query's candidates, with ranks and similarities.",
        on_line=False,
    ),
    *_panes("review"),
    Command("review.find", "slash", "", "find", "Search in the pane that has the focus."),
    Command("review.find_back", "N", "", "previous match", "Go to the previous match.", on_line=False),
    Command("review.guideline", "g", "", "guide", "Read the guide, or close it."),
    Command("review.failure", "G", "", "failure", "Go to the first failure in the log."),
    Command("review.run", "r", "", "run again", "Run the shown test again."),
    Command("review.edit", "e", "", "edit test", "Edit the shown test, or a text of the item."),
    Command(
        "review.edit_outside",
        "E",
        "",
        "in $EDITOR",
        "Edit the shown test, or a text of the item, in $EDITOR.",
        on_line=False,
    ),
    Command(
        "review.other_run",
        "R",
        "",
        "other run",
        "Show the next run of the test: the agents', then the experts'.",
    ),
    Command(
        "review.compare",
        "C",
        "",
        "compare runs",
        "Compare the shown run with the next run of the agents; after the last one, end the comparison.",
    ),
    Command(
        "review.differences",
        "equals_sign",
        "",
        "differences",
        "Show or hide the differences of two candidates.",
    ),
    Command(
        "review.cite",
        "v",
        "",
        "cite line",
        "Choose lines; press it again to cite them as evidence, or to remove them.",
    ),
    Command(
        "review.follow",
        "enter",
        "",
        "follow",
        "Cite the chosen lines; in the history, go to the lines that it cites.",
        on_line=False,
    ),
    Command(
        "review.sides",
        "x",
        "",
        "swap sides",
        "Show the tab of the right side on the left, or undo that.",
        on_line=False,
    ),
    Command(
        "review.reveal",
        "B",
        "",
        "reveal",
        "In a blind review: reveal the agents' label once you have answered an item, or keep it hidden.",
        on_line=False,
    ),
    Command("review.zoom", "z", "", "zoom", "Show the pane on the whole screen, or all panes."),
    Command("review.wrap", "W", "", "wrap", "Wrap long lines, or do not.", on_line=False),
    Command("review.numbers", "L", "", "numbers", "Show or hide line numbers.", on_line=False),
    Command("review.source", "M", "", "source", "Show Markdown as source, or rendered.", on_line=False),
    Command("review.copy", "y", "", "copy", "Copy the selection, or the whole pane.", on_line=False),
    Command(
        "review.copy_file",
        "Y",
        "",
        "copy to file",
        "Write the selection or the pane to a file.",
        on_line=False,
    ),
    Command("review.pager", "V", "", "pager", "Open the pane in $PAGER.", on_line=False),
    Command(
        "review.back",
        "q,escape",
        "",
        "back",
        "Go back; Escape ends a search, and goes back at the end of the list.",
    ),
    Command("adjudicate.both_bad", "0", "", "both bad", "Decide that both candidates are bad.", judging=True),
    Command("adjudicate.note", "m", "", "note", "Write the reason of your ruling.", judging=True),
    Command(
        "adjudicate.cite",
        "v",
        "",
        "cite line",
        "Choose lines; press it again to cite them in your ruling, or to remove them.",
    ),
    Command("adjudicate.follow", "enter", "", "cite", "Cite the chosen lines.", on_line=False),
    Command(
        "adjudicate.run",
        "r",
        "",
        "run test",
        "Run the shown test again: a rater's, or the agents' once revealed.",
    ),
    Command("adjudicate.other_run", "R", "", "other run", "Show the next run of a test.", on_line=False),
    Command(
        "adjudicate.send_back",
        "b",
        "",
        "send back",
        "Ask the raters to judge the item again, with a note; only while the study is open.",
    ),
    Command(
        "adjudicate.undo", "u", "", "undo", "Undo your last ruling, and go to its dispute.", judging=True
    ),
    Command("adjudicate.redo", "U,ctrl+r", "", "redo", "Redo the ruling that you undid last.", on_line=False),
    Command("adjudicate.next", "n", "", "next", "Go to the next dispute."),
    Command("adjudicate.previous", "p", "", "previous", "Go to the previous dispute."),
    Command(
        "adjudicate.agents",
        "A",
        "",
        "agents",
        "Reveal the agents' work on the item; your ruling is then not blind.",
    ),
    Command(
        "adjudicate.accuracy",
        "a",
        "",
        "accuracy",
        "Once every dispute has a ruling: show accuracy against the rulings.",
    ),
    Command("adjudicate.names", "N", "", "names", "Show the raters' names, or hide them."),
    Command(
        "adjudicate.study", "S", "", "next study", "Show the disputes of the next study, or of all labels."
    ),
    *_panes("adjudicate"),
    Command("adjudicate.zoom", "z", "", "zoom", "Show the pane on the whole screen, or all panes."),
    Command("adjudicate.wrap", "W", "", "wrap", "Wrap long lines, or do not.", on_line=False),
    Command("adjudicate.numbers", "L", "", "numbers", "Show or hide line numbers.", on_line=False),
    Command("adjudicate.source", "M", "", "source", "Show Markdown as source, or rendered.", on_line=False),
    Command("adjudicate.back", "q,escape", "", "back", "Go back."),
    Command("jobs.start", "g", "start", "start", "Let the agents label the items without a label."),
    Command(
        "jobs.pause",
        "p",
        "pause",
        "pause",
        "Pause the run or work after what is under way; or go on with it.",
    ),
    Command("jobs.stop", "x", "stop", "stop", "Stop the run or work; it can go on later."),
    Command(
        "jobs.items", "enter", "items", "items", "List the items that failed and those that were labelled."
    ),
    Command("jobs.retry", "r", "retry", "retry", "Run the failed items again."),
    Command(
        "jobs.use",
        "u",
        "use_run",
        "use run",
        "Show the labels of this run everywhere; press it again for the default run.",
    ),
    Command(
        "jobs.compare",
        "c",
        "compare",
        "compare",
        "Choose this run, then press it on another one to compare their labels.",
    ),
    Command("jobs.part", "tab", "part(1)", "next part", "Show the next part: funnel, stages, failures, log."),
    Command(
        "jobs.part_back", "shift+tab", "part(-1)", "previous part", "Show the previous part.", on_line=False
    ),
    Command(
        "jobs.candidates",
        "f",
        "find_candidates",
        "find candidates",
        "Search the best codes of each query: they become pairs to judge.",
    ),
    Command(
        "jobs.works",
        "w",
        "start_work",
        "other works",
        "List the works of other packages, and start one, or go on with it.",
    ),
    Command("works.leave", "escape,q", "dismiss", "cancel", "Start nothing."),
    Command("jobs.back", "escape,q", "dismiss", "back", "Go back."),
    Command("jobs.up", "up", "move(-1)", "run above", "Go to the run above.", on_line=False),
    Command("jobs.down", "down", "move(1)", "run below", "Go to the run below.", on_line=False),
    Command("jobs.log_up", "pageup", "log(-1)", "log up", "Scroll the log up.", on_line=False),
    Command("jobs.log_down", "pagedown", "log(1)", "log down", "Scroll the log down.", on_line=False),
    Command("outcomes.open", "enter", "open_item", "open", "Review the item under the cursor."),
    Command("outcomes.group", "tab,right", "group(1)", "next group", "List the items of the next group."),
    Command(
        "outcomes.group_back",
        "shift+tab,left",
        "group(-1)",
        "previous group",
        "List the items of the previous group.",
        on_line=False,
    ),
    Command("outcomes.retry", "r", "retry", "retry", "Run the listed items again."),
    Command("outcomes.refresh", "f5", "read_again", "refresh", "Read the groups again."),
    Command("outcomes.back", "escape,q", "dismiss", "back", "Go back to the runs."),
    Command("studies.open", "enter", "open_study", "open", "Show the progress of the study."),
    Command("studies.new", "n", "new_study", "new", "Make a draft of a study."),
    Command("studies.compare", "c", "compare", "compare", "Make comparisons and a draft of their study."),
    Command(
        "studies.freeze",
        "F",
        "freeze",
        "freeze",
        "Freeze the draft: make its assignments; it cannot be changed after that.",
    ),
    Command("studies.delete", "D", "delete", "delete", "Delete a draft."),
    Command("studies.close", "x", "close_study", "close", "Close the open study; judging in it ends."),
    Command("studies.refresh", "r", "read", "refresh", "Read the studies again."),
    Command("studies.back", "escape,q", "dismiss", "home", "Go back to home."),
    Command("studies.up", "up,k", "move(-1)", "study above", "Go to the study above.", on_line=False),
    Command("studies.down", "down,j", "move(1)", "study below", "Go to the study below.", on_line=False),
    Command("study.look", "l", "look", "look", "Look at the agreement; the look is logged."),
    Command(
        "study.freeze",
        "F",
        "freeze",
        "freeze",
        "Freeze the draft: make its assignments; it cannot be changed after that.",
    ),
    Command("study.close", "x", "close_study", "close", "Close the open study; judging in it ends."),
    Command("study.refresh", "r", "read", "refresh", "Read the study again."),
    Command("study.back", "escape,q", "dismiss", "back", "Go back to the studies."),
    Command("study.up", "up,k", "scroll(-1)", "up", "Scroll up.", on_line=False),
    Command("study.down", "down,j", "scroll(1)", "down", "Scroll down.", on_line=False),
    Command("study.page_up", "pageup", "scroll(-10)", "page up", "Scroll one page up.", on_line=False),
    Command("study.page_down", "pagedown", "scroll(10)", "page down", "Scroll one page down.", on_line=False),
    Command("new_study.save", "ctrl+s", "save", "save draft", "Save the study as a draft.", priority=True),
    Command("new_study.leave", "escape,q", "dismiss", "cancel", "Close the form; nothing is saved."),
    *_fields("new_study"),
    Command("splits.open", "enter", "open_items", "open", "Review the items behind the figure."),
    Command(
        "splits.pane",
        "tab,shift+tab",
        "pane",
        "pane",
        "Move between the list and the figures.",
    ),
    Command("splits.new", "n", "new_split", "new", "Make a split of the ground truth."),
    Command(
        "splits.changes", "w", "changes", "changes", "List the labels that changed since the split was made."
    ),
    Command("splits.delete", "D", "delete", "delete", "Delete the split; items and labels stay."),
    Command("splits.refresh", "r", "read", "refresh", "Read the splits again."),
    Command("splits.back", "escape,q", "dismiss", "home", "Go back to home."),
    Command("splits.up", "up,k", "move(-1)", "line above", "Go to the line above.", on_line=False),
    Command("splits.down", "down,j", "move(1)", "line below", "Go to the line below.", on_line=False),
    Command("splits.page_up", "pageup", "move(-10)", "page up", "Go one page up.", on_line=False),
    Command("splits.page_down", "pagedown", "move(10)", "page down", "Go one page down.", on_line=False),
    Command("new_split.save", "ctrl+s", "save", "make split", "Make the split.", priority=True),
    Command("new_split.leave", "escape,q", "dismiss", "cancel", "Close the form; nothing is made."),
    *_fields("new_split"),
    Command("export.save", "ctrl+s", "save", "write file", "Write the file.", priority=True),
    Command("export.leave", "escape,q", "dismiss", "cancel", "Close the form; nothing is written."),
    *_fields("export"),
    Command("sql.run", "enter", "run", "run", "Run the statement, or write the file.", priority=True),
    Command(
        "sql.complete",
        "tab",
        "complete",
        "complete",
        "Complete the name before the cursor; without a name move between the line and the rows.",
        priority=True,
    ),
    Command("sql.older", "up", "history(1)", "history", "Show the previous statement."),
    Command("sql.newer", "down", "history(-1)", "newer", "Show the next statement.", on_line=False),
    Command(
        "sql.page_up", "pageup", "page(-1)", "page up", "Scroll one page up.", on_line=False, priority=True
    ),
    Command(
        "sql.page_down",
        "pagedown",
        "page(1)",
        "page down",
        "Scroll one page down.",
        on_line=False,
        priority=True,
    ),
    Command("sql.export", "ctrl+s", "export", "export", "Write all rows to a file.", priority=True),
    Command("sql.back", "escape,q", "back", "back", "Stop the running statement, or go back."),
    Command("search.open", "enter", "open", "in its file", "Show the result in its file."),
    Command("search.file", "w", "file", "file", "File the query with the result as a pair to label."),
    Command("search.file_all", "W", "file_all", "file all", "File the query with every result shown."),
    Command("search.order", "o", "order", "order", "Put the results in the order of their ranks."),
    Command("search.stop", "x", "stop", "stop", "Stop the search, and its requests."),
    Command("search.edit", "e", "edit", "paragraph", "Edit the paragraph about the query; search with it."),
    Command(
        "search.about",
        "s",
        "about",
        "sources",
        "Show the paragraph, what was read for it, and the code that was written.",
    ),
    Command("search.history", "h", "history", "history", "Show an earlier search of this workspace."),
    Command("search.rank", "r", "rank", "rank by", "Rank the next search by cosine, or by the model."),
    *(
        Command(
            f"search.stream_{stream}",
            str(number),
            f"stream({number})",
            f"{number} {stream}",
            f"Switch the stream {number} ({stream}) on or off.",
            on_line=False,
        )
        for number, stream in enumerate(("query", "code", "classes", "parts"), start=1)
    ),
    Command("search.query", "slash", "query", "query", "Go to the line of the query."),
    Command("search.next", "tab", "app.focus_next", "next field", "Go to the next field."),
    Command(
        "search.previous",
        "shift+tab",
        "app.focus_previous",
        "previous",
        "Go to the field before.",
        on_line=False,
    ),
    *_rows("search", "result"),
    Command("search.back", "escape,q", "dismiss", "back", "Go back; a search at work goes on."),
    Command("history.leave", "escape,q", "dismiss", "close", "Close the list."),
    Command(
        "reports.open",
        "enter",
        "open",
        "open",
        "Open the report; in a report, what is behind the figure.",
    ),
    Command("reports.subject", "t", "choose('subject', 1)", "question", "Choose the next question or kind."),
    Command("reports.first", "a", "choose('first', 1)", "rater", "Choose the next rater, run or labels."),
    Command(
        "reports.second",
        "b",
        "choose('second', 1)",
        "other rater",
        "Choose the next rater or run to compare with, or the next preset.",
    ),
    Command(
        "reports.choices",
        "o",
        "choices",
        "choose",
        "Choose study, question, raters, truth, phase and split from lists.",
    ),
    Command("reports.back", "escape,q", "back", "back", "Go back to the list, then to the previous screen."),
    Command("reports.save", "s", "save", "save", "Save the report as a figure or as a table for a paper."),
    Command("reports.copy", "y", "copy", "copy command", "Copy the command that prints the report."),
    Command("reports.copy_table", "Y", "copy_table", "copy table", "Copy the table as Markdown."),
    Command("reports.pane", "tab,shift+tab", "pane", "pane", "Move between the list and the report."),
    Command("reports.refresh", "r", "read", "refresh", "Read the report again."),
    Command(
        "reports.subject_back",
        "T",
        "choose('subject', -1)",
        "previous question",
        "Choose the previous question or kind.",
        on_line=False,
    ),
    Command(
        "reports.first_back",
        "A",
        "choose('first', -1)",
        "previous rater",
        "Choose the previous rater or run.",
        on_line=False,
    ),
    Command(
        "reports.second_back",
        "B",
        "choose('second', -1)",
        "previous other",
        "Choose the previous rater or run to compare with.",
        on_line=False,
    ),
    Command("reports.up", "up,k", "move(-1, 0)", "line above", "Go to the line above.", on_line=False),
    Command("reports.down", "down,j", "move(1, 0)", "line below", "Go to the line below.", on_line=False),
    Command(
        "reports.left", "left,h", "move(0, -1)", "figure left", "Go to the figure on the left.", on_line=False
    ),
    Command(
        "reports.right",
        "right,l",
        "move(0, 1)",
        "figure right",
        "Go to the figure on the right.",
        on_line=False,
    ),
    Command("reports.page_up", "pageup", "move(-10, 0)", "page up", "Go one page up.", on_line=False),
    Command("reports.page_down", "pagedown", "move(10, 0)", "page down", "Go one page down.", on_line=False),
    Command("by_query.open", "enter", "open", "rankings", "Show what both methods find for the query."),
    Command("by_query.order", "o", "order", "order", "Put the queries in the next order."),
    Command("by_query.measure", "t", "choose_measure(1)", "measure", "Compare in the next measure."),
    Command("by_query.back", "escape,q", "dismiss", "back", "Go back to the report."),
    Command("by_query.first", "a", "choose_method(0, 1)", "method", "Choose the next first method."),
    Command("by_query.second", "b", "choose_method(1, 1)", "other method", "Choose the next second method."),
    Command("by_query.copy", "y", "copy", "copy command", "Copy the command that prints the comparison."),
    Command("by_query.refresh", "r", "read", "refresh", "Read rankings and labels again."),
    Command(
        "by_query.measure_back",
        "T",
        "choose_measure(-1)",
        "previous measure",
        "Compare in the previous measure.",
        on_line=False,
    ),
    Command(
        "by_query.first_back",
        "A",
        "choose_method(0, -1)",
        "previous method",
        "Choose the previous first method.",
        on_line=False,
    ),
    Command(
        "by_query.second_back",
        "B",
        "choose_method(1, -1)",
        "previous other",
        "Choose the previous second method.",
        on_line=False,
    ),
    *_rows("by_query", "query"),
    Command("ranked.open", "enter", "open", "open", "Review the pair of query and code, or show the code."),
    Command("ranked.next", "n", "step(1)", "next query", "Show the rankings of the next query."),
    Command("ranked.back", "escape,q", "dismiss", "back", "Go back to the queries."),
    Command("ranked.previous", "p", "step(-1)", "previous query", "Show the rankings of the previous query."),
    Command(
        "ranked.pane",
        "tab,shift+tab,left,right",
        "pane",
        "other list",
        "Go to the other list: to the same code where it has it, else to the same rank.",
    ),
    *_rows("ranked", "code"),
    Command("file.wrap", "W", "wrap", "wrap", "Wrap long lines, or do not."),
    Command("file.back", "escape,q", "dismiss", "back", "Go back."),
    Command("list.up", "up,k", "move(-1)", "up", "Go to the item above."),
    Command("list.down", "down,j", "move(1)", "down", "Go to the item below."),
    Command("list.page_up", "pageup", "page(-1)", "page up", "Go one page up."),
    Command("list.page_down", "pagedown", "page(1)", "page down", "Go one page down."),
    Command("list.first", "home", "jump(0)", "first", "Go to the first item."),
    Command("list.last", "end", "jump(-1)", "last", "Go to the last item."),
    Command("text.up", "up", "go(-1)", "line up", "Scroll one row up; when choosing lines, go one line up."),
    Command(
        "text.down",
        "down",
        "go(1)",
        "line down",
        "Scroll one row down; when choosing lines, go one line down.",
    ),
    Command("text.left", "left", "sideways(-8)", "left", "Scroll to the left."),
    Command("text.right", "right", "sideways(8)", "right", "Scroll to the right."),
    Command("text.page_up", "pageup", "page(-1)", "page up", "Scroll one page up."),
    Command("text.page_down", "pagedown", "page(1)", "page down", "Scroll one page down."),
    Command(
        "text.page_left", "ctrl+pageup", "page_sideways(-1)", "page left", "Scroll one page to the left."
    ),
    Command(
        "text.page_right", "ctrl+pagedown", "page_sideways(1)", "page right", "Scroll one page to the right."
    ),
    Command("text.home", "home", "scroll_home", "top", "Go to the first line."),
    Command(
        "text.more_up", "shift+up", "extend(-1)", "more above", "Extend the chosen lines up.", on_line=False
    ),
    Command(
        "text.more_down",
        "shift+down",
        "extend(1)",
        "more below",
        "Extend the chosen lines down.",
        on_line=False,
    ),
    Command("text.end", "end", "scroll_end", "end", "Go to the last line."),
    Command(
        "line.close", "escape", "screen.close_line", "close", "Close the line; a comment is kept as a draft."
    ),
    Command("line.undo", "ctrl+z", "undo", "undo", "Undo what was typed last.", on_line=False),
    Command("line.redo", "ctrl+y", "redo", "redo", "Type again what was undone.", on_line=False),
    Command("editor.run", "ctrl+s", "run", "run", "Run the test, or save the text.", priority=True),
    Command(
        "editor.leave",
        "escape",
        "dismiss",
        "close",
        "Close the editor; the text is kept as a draft.",
        priority=True,
    ),
    Command("editor.outside", "ctrl+o", "outside", "in $EDITOR", "Edit the text in $EDITOR.", priority=True),
    Command(
        "editor.reset", "ctrl+r", "reset", "reset", "Discard the changes and start again.", priority=True
    ),
    Command("filter.apply", "enter", "apply", "apply", "List the chosen items.", priority=True),
    Command("filter.leave", "escape,q", "dismiss", "cancel", "Close the filter without a change."),
    Command("filter.up", "up,shift+tab", "app.focus_previous", "line above", "Go to the line above."),
    Command("filter.down", "down,tab", "app.focus_next", "line below", "Go to the line below."),
    Command("filter.reset", "r", "reset", "reset", "Remove all conditions."),
    Command("value.next", "right,space,l", "step(1)", "next value", "Choose the next value."),
    Command("value.back", "left,h", "step(-1)", "previous value", "Choose the previous value."),
    Command("order.apply", "enter", "apply", "apply", "Sort by the order under the cursor."),
    Command("order.leave", "escape,q", "dismiss", "cancel", "Close the list without a change."),
    Command("order.up", "up", "move(-1)", "line above", "Go to the order above."),
    Command("order.down", "down", "move(1)", "line below", "Go to the order below."),
    Command("order.turn", "d,left,right,space", "turn", "reverse", "Reverse the direction."),
    Command("columns.turn", "space", "turn", "show or hide", "Hide the column under the cursor, or show it."),
    Command("columns.apply", "enter", "apply", "apply", "Show the queue with these columns."),
    Command("columns.leave", "escape,q", "dismiss", "cancel", "Close the list without a change."),
    Command("columns.up", "up", "move(-1)", "line above", "Go to the column above."),
    Command("columns.down", "down", "move(1)", "line below", "Go to the column below."),
    Command("runs.apply", "enter", "apply", "show", "Show the labels of the run under the cursor."),
    Command("runs.leave", "escape,q", "dismiss", "cancel", "Close the list without a change."),
    Command("runs.up", "up", "move(-1)", "line above", "Go to the run above."),
    Command("runs.down", "down", "move(1)", "line below", "Go to the run below."),
    Command("views.apply", "enter", "apply", "open", "List the items of the view under the cursor."),
    Command("views.save", "n", "save", "save", "Save the filter and order of the queue as a view."),
    Command("views.rename", "r", "rename", "rename", "Give the view another name."),
    Command("views.delete", "d", "delete", "delete", "Delete the view; its items stay."),
    Command("views.leave", "escape,q", "leave", "cancel", "Close the list without a change."),
    Command("views.up", "up", "move(-1)", "line above", "Go to the view above."),
    Command("views.down", "down", "move(1)", "line below", "Go to the view below."),
    Command("import.leave", "escape,q", "leave", "close", "Close the dialog."),
    Command(
        "import.columns", "down", "choose_columns", "columns", "Go to the columns of a table.", priority=True
    ),
    Command("import.now", "i", "import_now", "import", "Import the table with the columns that are shown."),
    Command("import.complete", "tab", "complete", "complete path", "Complete the path.", priority=True),
    Command("start.begin", "enter", "begin", "start", "Start the agents.", priority=True),
    Command(
        "start.other",
        "down",
        "choose(1)",
        "other agents",
        "Choose the next configuration of agents, or other items; in the line of the model the next model.",
        priority=True,
    ),
    Command(
        "start.other_back",
        "up",
        "choose(-1)",
        "agents before",
        "Choose the configuration before; in the line of the model the model before.",
        on_line=False,
        priority=True,
    ),
    Command(
        "start.next", "tab", "app.focus_next", "other line", "Go to the line of the model, or of the items."
    ),
    Command("start.leave", "escape,q", "dismiss", "cancel", "Close the dialog; nothing is started."),
    Command(
        "candidates.begin", "ctrl+s", "begin", "start", "Start the search; Enter in a line does so, too."
    ),
    Command("candidates.leave", "escape,q", "dismiss", "cancel", "Close the dialog; nothing is started."),
    *_fields("candidates"),
    Command("choices.apply", "ctrl+s", "apply", "show", "Show the report as it is chosen."),
    Command(
        "choices.leave", "escape,q", "dismiss", "cancel", "Close the dialog; the report stays as it was."
    ),
    Command("choices.next", "down", "app.focus_next", "next", "Go to the next list.", on_line=False),
    Command(
        "choices.previous", "up", "app.focus_previous", "previous", "Go to the previous list.", on_line=False
    ),
    Command("confirm.do", "enter,y", "do", "confirm", "Confirm.", priority=True),
    Command("confirm.leave", "escape,n,q", "dismiss(False)", "cancel", "Close the dialog; nothing is done."),
    Command("consent.agree", "enter", "agree", "agree", "Agree to take part.", priority=True),
    Command("consent.leave", "escape,q", "dismiss", "not now", "Close the text without agreeing."),
    Command("consent.up", "up", "page(-1, 1)", "up", "Scroll the text up.", priority=True),
    Command("consent.down", "down", "page(1, 1)", "down", "Scroll the text down.", priority=True),
    Command("consent.page_up", "pageup", "page(-1, 8)", "page up", "Scroll one page up.", priority=True),
    Command(
        "consent.page_down", "pagedown", "page(1, 8)", "page down", "Scroll one page down.", priority=True
    ),
    Command("budget.give", "enter", "give", "continue", "Continue with the new budget.", priority=True),
    Command("budget.leave", "escape,q", "dismiss", "cancel", "Keep the budget; the run stays paused."),
    Command(
        "keys.close",
        "escape,enter",
        "close",
        "close",
        "Clear the search, or close the list.",
        priority=True,
    ),
    Command("keys.up", "up", "row(-1)", "up", "Scroll the list up."),
    Command("keys.down", "down", "row(1)", "down", "Scroll the list down."),
    Command("keys.page_up", "pageup", "page(-1)", "page up", "Scroll the list up by a page."),
    Command("keys.page_down", "pagedown", "page(1)", "page down", "Scroll the list down by a page."),
    Command("palette.run", "enter", "run", "open", "Open or do what is under the cursor.", priority=True),
    Command("palette.leave", "escape", "dismiss", "close", "Close the palette.", priority=True),
    Command("palette.up", "up", "move(-1)", "line above", "Go to the line above."),
    Command("palette.down", "down", "move(1)", "line below", "Go to the line below."),
    Command("palette.page_up", "pageup", "page(-1)", "page up", "Go one page up."),
    Command("palette.page_down", "pagedown", "page(1)", "page down", "Go one page down."),
)


@cache
def command_named(command_id: str) -> Command:
    """Return the command of an id; one that there is not is a mistake in the program."""
    return next(command for command in all_commands() if command.id == command_id)


JUDGING: tuple[CommandScope, ...] = ("review", "adjudicate")
"""The screens on which keys answer a question."""

_LABEL = "label_"
"""With what the verbs of the commands begin that answer a question; the key of the value follows."""

_MEANINGS = 3
"""How many values of different scales are named for one key."""


@cache
def all_commands() -> tuple[Command, ...]:
    """Return every command; those that give a label, one for each key, come before a screen's others."""
    meanings: dict[str, list[ScaleValue]] = {}
    # A kind that cannot be loaded is reported by what needs it, not by its keys.
    with suppress(WorkbenchError):
        for kind in task_kinds().values():
            for question in kind.questions:
                for known in question.scale.values:
                    meanings.setdefault(known.key, []).append(known)
    found = list(COMMANDS)
    for scope in JUDGING:
        place = next(place for place, command in enumerate(found) if command.scope == scope)
        found[place:place] = [_label_command(scope, key, known) for key, known in meanings.items()]
    return tuple(found)


def _label_command(scope: CommandScope, key: str, meanings: Sequence[ScaleValue]) -> Command:
    """Return the command that gives the value of a key, on whichever scale is asked for."""
    words = list(dict.fromkeys(known.shown for known in meanings))
    named = " / ".join(words[:_MEANINGS]) + (" / …" if len(words) > _MEANINGS else "")
    name = f"{scope}.{_LABEL}{key}"
    return Command(name, key, "", meanings[0].word, f"Give the label {named}.", judging=True)


def label_key(command: Command) -> str | None:
    """Return the key that the value of a command has on its scale; None of a command that gives none."""
    verb = command.id.partition(".")[2]
    return verb.removeprefix(_LABEL) if verb.startswith(_LABEL) else None


def bindings(scope: CommandScope) -> list[BindingType]:
    """Return the key bindings of a screen; their ids let the configuration's key map change them."""
    return [binding(command) for command in commands_of(scope)]


def binding(command: Command) -> Binding:
    """Return the key binding of a command."""
    return Binding(
        command.key,
        command.action,
        command.label,
        id=command.id,
        tooltip=command.help,
        show=command.on_line,
        priority=command.priority,
    )


def key_map(keys: Mapping[str, str]) -> dict[str, str]:
    """Return the key map for the app.

    Some keys of a screen that judges belong to two commands. Textual takes a key from all of its commands
    when it gives another one to one of them, or when it is given to one, unless the others have theirs in the
    map too.

    Args:
        keys: The keys that are configured, by the ids of their commands.
    """
    return {command.id: command.key for command in commands_of(*JUDGING) if keys} | dict(keys)


@cache
def commands_of(*scopes: CommandScope) -> tuple[Command, ...]:
    """Return the commands of some scopes, in the catalogue's order."""
    # Looking for the installed task kinds takes its time, which the first screen need not wait for.
    known = all_commands() if set(JUDGING) & set(scopes) else COMMANDS
    return tuple(command for command in known if command.scope in scopes)


class CommandState(Protocol):
    """Which commands of a screen have an effect now, under which keys and words."""

    @property
    def scale(self) -> Scale | None:
        """The scale of the question on the screen; None without a question."""

    def offers(self, command: Command) -> bool:
        """Return whether a command has an effect now."""

    def label_now(self, command: Command) -> str:
        """Return what a command does now, in a word or two."""

    def keys_now(self, command: Command) -> Sequence[str]:
        """Return the keys of a command that are no answers to the question; empty for all its keys."""

    def value_keys(self) -> Mapping[str, str]:
        """Return the keys that answer the question, with the keys of its scale, in the order of that."""


class CommandDispatcher(CommandState, Protocol):
    """Runs the commands of a screen by its parts."""

    def run(self, command_id: str) -> None:
        """Do what a command does here."""

    def accepts_key_for(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Return whether the key that was pressed means an action."""
