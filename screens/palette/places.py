"""The screens that can be opened from everywhere, and the actions of screens that are of use elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.screen import Screen

from screens.commands import Command, CommandScope, command_named, commands_of, label_key
from screens.workbench_screen import WorkbenchScreen, scopes_of
from store.policy.scope import Shows

if TYPE_CHECKING:
    from screens.context import ScreenContext
    from screens.navigator import Navigator


@dataclass(frozen=True, slots=True)
class Place:
    """A screen that can be opened from everywhere.

    Attributes:
        name: Its name in the palette.
        about: What it shows, in a sentence.
        scopes: The scopes of the screens that it is, Home of a rater in a study among them.
        opens: Opens it over the present screen.
        commands: The commands that open it from elsewhere.
        names: Other names.
    """

    name: str
    about: str
    scopes: tuple[CommandScope, ...]
    opens: Callable[[Navigator], object]
    commands: tuple[str, ...] = ()
    names: str = ""

    def is_at(self, screen: Screen[Any]) -> bool:
        """Return whether a screen is the one that is meant."""
        return isinstance(screen, WorkbenchScreen) and screen.SCOPE in self.scopes and not screen.shows_part


HOME = Place(
    "home",
    "What is in the workspace, how far you are, and what to do next.",
    ("home", "sitting"),
    lambda to: to.go_home(),
)
QUEUE = Place(
    "queue",
    "The list of all items.",
    ("queue",),
    lambda to: to.open_queue(),
    ("home.queue", "sitting.queue"),
    "items",
)
PLACES: tuple[Place, ...] = (
    HOME,
    QUEUE,
    Place(
        "review",
        "Continue where you stopped.",
        ("review",),
        lambda to: to.resume(),
        ("home.resume",),
        "resume continue",
    ),
    Place(
        "adjudication",
        "Decide the items on which raters disagree.",
        ("adjudicate",),
        lambda to: to.open_adjudication(),
        ("home.adjudicate",),
        "adjudicate disputes rulings",
    ),
    Place(
        "jobs",
        "The runs of the agents and other works: progress, failures, pause, stop.",
        ("jobs",),
        lambda to: to.open_jobs(),
        ("app.jobs",),
        "runs works",
    ),
    Place(
        "reports",
        "Agreement, confusion, accuracy, labels, time, ratings.",
        ("reports",),
        lambda to: to.open_reports(),
        ("home.reports", "app.reports"),
    ),
    Place(
        "studies",
        "Make, freeze and follow studies.",
        ("studies",),
        lambda to: to.open_studies(),
        ("home.studies",),
    ),
    Place(
        "new study",
        "Make a draft of a study.",
        ("new_study",),
        lambda to: to.open_new_study(),
        ("studies.new",),
    ),
    Place(
        "new comparisons",
        "Make comparisons and a draft of their study.",
        (),
        lambda to: to.open_new_comparisons(),
        ("studies.compare",),
        "compare",
    ),
    Place(
        "splits",
        "The parts of the ground truth, their balance and leaks.",
        ("splits",),
        lambda to: to.open_splits(),
        ("home.splits",),
    ),
    Place(
        "new split",
        "Make a split of the ground truth.",
        ("new_split",),
        lambda to: to.open_new_split(),
        ("splits.new",),
    ),
    Place(
        "export",
        "Write labels or items to a file.",
        ("export",),
        lambda to: to.open_export(),
        ("home.export",),
    ),
    Place(
        "sql",
        "Query what you may see of the workspace in SQL.",
        ("sql",),
        lambda to: to.open_sql(),
        ("home.sql", "sitting.sql"),
    ),
    Place(
        "code search",
        "Search a repository for the functions that answer a question.",
        ("search",),
        lambda to: to.open_search(),
        ("home.search",),
    ),
)
"""The screens that can be opened from everywhere."""

ELSEWHERE: tuple[tuple[Place, tuple[str, ...]], ...] = (
    (
        HOME,
        (
            *("home.import", "home.sample", "home.annotate", "home.candidates", "home.practice"),
            *("home.disagreements", "home.skipped", "home.flagged"),
            *("sitting.other", "sitting.consent"),
        ),
    ),
    (
        QUEUE,
        (
            *("queue.filter", "queue.find", "queue.sort", "queue.columns", "queue.run"),
            *("queue.views", "queue.save_view"),
        ),
    ),
)
"""The actions of a screen that are of use from elsewhere: the screen is opened for them."""

_COMMON = frozenset(
    ("back", "leave", "open", "pane", "refresh", "save", "next", "previous", "follow", "items", "part")
)
"""The verbs of commands that say nothing away from their screen."""

NEEDS: dict[str, Shows] = {
    **dict.fromkeys(
        (
            *("app.jobs", "app.reports", "home.annotate", "home.candidates", "home.export", "home.search"),
            *("home.studies", "home.reports", "home.sample", "home.import", "queue.export"),
            *("review.code_search", "studies.new", "studies.compare"),
        ),
        Shows.WHOLE,
    ),
    **dict.fromkeys(("home.adjudicate", "home.splits", "splits.new"), Shows.OTHERS),
    **dict.fromkeys(("home.disagreements", "queue.run"), Shows.LISTS),
    **dict.fromkeys(
        ("review.accept", "review.reason", "review.compare", "review.other_run", "review.failure"),
        Shows.AGENTS,
    ),
}
"""The permission that a command needs, by its id; commands that need none are left out."""


def may_use(context: ScreenContext, command: Command) -> bool:
    """Return whether this session may see what a command shows."""
    shows = NEEDS.get(command.id)
    if command.id == "home.adjudicate" and context.rater is None:
        return False
    return shows is None or context.scope.may(shows)


def may_open(context: ScreenContext, app: App[Any], place: Place) -> bool:
    """Return whether a place can be opened: the session may see it, and there is something to show."""
    if place is HOME:
        return True
    commands = [command_named(name) for name in place.commands]
    if context.needs_consent or not all(may_use(context, command) for command in commands):
        return False
    home = _home(app)
    offered = [command for command in commands if home is not None and command.scope == home.SCOPE]
    return home is None or all(home.offers(command) for command in offered)


def is_possible_elsewhere(context: ScreenContext, app: App[Any], place: Place, command: Command) -> bool:
    """Return whether an action of a place can be chosen from elsewhere."""
    if not may_use(context, command) or (context.needs_consent and command.id != "sitting.consent"):
        return False
    if place is not HOME and not may_open(context, app, place):
        return False
    if place is HOME and command.scope != ("home" if context.study is None else "sitting"):
        return False
    there = next((screen for screen in app.screen_stack if place.is_at(screen)), None)
    return not isinstance(there, WorkbenchScreen) or there.offers(command)


def _home(app: App[Any]) -> WorkbenchScreen | None:
    found = next((screen for screen in app.screen_stack if HOME.is_at(screen)), None)
    return found if isinstance(found, WorkbenchScreen) else None


async def close_dialogs(app: App[Any]) -> bool:
    """Close the dialogs that are open as their own keys do; return whether none is left: one may refuse."""
    while app.screen.is_modal:
        dialog = app.screen
        leave = [command for command in commands_of(*scopes_of(dialog)) if _leaves(command)]
        # The first times close what is open in it.
        for _ in range(3):
            if app.screen is dialog and leave:
                await app.run_action(leave[0].action, dialog)
        if not leave:
            # One of Textual's own.
            app.pop_screen()
        if app.screen is dialog:
            return False
    return True


def _leaves(command: Command) -> bool:
    return command.id.partition(".")[2] in ("leave", "close")


async def go_to(app: App[Any], navigator: Navigator, place: Place) -> bool:
    """Show a place: where it is open already what lies over it is closed; return whether it is shown."""
    if not await close_dialogs(app):
        return False
    there = next((screen for screen in reversed(app.screen_stack) if place.is_at(screen)), None)
    if there is None:
        place.opens(navigator)
        return True
    while app.screen is not there:
        keep = getattr(app.screen, "keep_place", None)
        if keep is not None:
            keep()
        app.pop_screen()
    return True


def named_elsewhere(place: Place) -> tuple[Command, ...]:
    """Return the commands of a place that its line of keys names, but for those of every list or form.

    Those of SQL are about the statement that is typed there.
    """
    return tuple(
        command
        for command in commands_of(*(scope for scope in place.scopes if scope != "sql"))
        if command.on_line and label_key(command) is None and command.id.partition(".")[2] not in _COMMON
    )


async def go_and_name(app: App[Any], navigator: Navigator, place: Place, tell: Callable[[], object]) -> None:
    """Show a place, and say how one of its commands is given there: it needs what is on that screen."""
    if await go_to(app, navigator, place) and isinstance(app.screen, WorkbenchScreen):
        app.screen.once_ready(tell)


async def do_elsewhere(app: App[Any], navigator: Navigator, place: Place, command: Command) -> None:
    """Show a place, and do there what one of its commands does."""
    if await go_to(app, navigator, place) and isinstance(app.screen, WorkbenchScreen):
        app.screen.once_ready(partial(app.run_action, command.action, app.screen))
