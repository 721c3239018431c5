"""The screens of the app, dialogs excepted: their context, their commands, and when they are painted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual.screen import Screen

from screens.commands import Command, CommandDispatcher, CommandScope, CommandState, command_named
from screens.help import first_key
from screens.jobs.job_line import JobLine
from store.record.scales import Scale

if TYPE_CHECKING:
    from screens.context import ScreenContext
    from screens.navigator import Navigator


class WorkbenchScreen(Screen[None]):
    """A screen of the app. Dialogs let it shine through; under other screens it rests.

    Textual keeps painting the screen below the one shown, and repaints the whole terminal for every
    change on it: under a judgment that takes as long as painting the next item.

    Attributes:
        dispatcher: Finds which component of the screen handles a command; None where the screen does.
    """

    SCOPE: ClassVar[CommandScope]
    dispatcher: CommandDispatcher | None = None

    def __init__(self, context: ScreenContext, navigator: Navigator) -> None:
        super().__init__()
        self.context = context
        self.navigator = navigator

    def on_compose(self) -> None:
        """Take the classes of the terminal's size before there is anything to style and to lay out.

        Textual gives them after that, and then styles and lays out everything once more.
        """
        size = self.app.size
        for cells, points in (
            (size.width, self.app.HORIZONTAL_BREAKPOINTS),
            (size.height, self.VERTICAL_BREAKPOINTS),
        ):
            names = [name for least, name in points or () if least <= cells]
            self.add_class(*names[-1:])

    def on_screen_resume(self) -> None:
        """Drop the jobs that have ended from the job line, and read again what may have changed."""
        for line in self.query(JobLine):
            line.show_job()
        self.action_read()

    def action_read(self) -> None:
        """Read again what is shown; nothing where the screen sees to that itself."""

    def key_of(self, command: str) -> str:
        """Return the first key of a command, as a person reads it.

        Args:
            command: Its id, or only its verb where it is a command of this screen.
        """
        return first_key(self.context.settings, command if "." in command else f"{self.SCOPE}.{command}")

    @property
    def shows_part(self) -> bool:
        """Whether it shows only what was asked for elsewhere, such as the items behind a figure."""
        return False

    def end_what_is_open(self) -> bool:
        """End a question or a choice on the screen itself; return whether one was open."""
        return False

    # -- commands -------------------------------------------------------------------------------------

    def once_ready(self, callback: Callable[[], object]) -> None:
        """Call back once a command can be run: when it is laid out, and knows what it shows."""
        # In the order of its messages, behind those that lay it out.
        self.call_later(callback)

    @property
    def command_state(self) -> CommandState:
        """The state of the screen's commands; the screen itself unless it has a dispatcher."""
        return self if self.dispatcher is None else self.dispatcher

    def action_dispatch(self, command_id: str) -> None:
        """Do what a command of the dispatcher does."""
        assert self.dispatcher is not None
        self.dispatcher.run(command_id)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether a key that commands share means this action now."""
        accepts = self.dispatcher is None or self.dispatcher.accepts_key_for(action, parameters)
        return accepts and super().check_action(action, parameters)

    @property
    def scale(self) -> Scale | None:
        """The scale of the question on the screen; None without a question."""
        return None

    def offers(self, command: Command) -> bool:
        """Return whether a command has an effect now."""
        return True

    def label_now(self, command: Command) -> str:
        """Return what a command does now, in a word or two."""
        return command.label

    def keys_now(self, command: Command) -> Sequence[str]:
        """Return the keys of a command that are no answers; none where no question is asked."""
        return ()

    def value_keys(self) -> Mapping[str, str]:
        """Return the keys that answer a question; none where none is asked."""
        return {}

    # -- visibility ----------------------------------------------------------------------------------

    @property
    def is_current(self) -> bool:
        """Whether the screen can be seen."""
        return super().is_current and all(
            screen.is_modal for screen in self.app.screen_stack[self.app.screen_stack.index(self) + 1 :]
        )


def scopes_of(screen: Screen[Any]) -> tuple[CommandScope, ...]:
    """Return the scopes of the commands of a screen or a dialog."""
    if isinstance(screen, WorkbenchScreen):
        return (screen.SCOPE,)
    ids = (getattr(binding, "id", None) or "" for binding in type(screen).BINDINGS)
    return tuple(dict.fromkeys(command_named(name).scope for name in ids if name))
