"""Messages that cross screens. Those from threads reach the app by `post_message`, which is safe there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar
from uuid import UUID

from textual.message import Message

if TYPE_CHECKING:
    from agents.events import JobEvent
    from agents.turns import Executed
    from store.recording import Action


@dataclass
class JudgmentSaved(Message):
    """An action is on disk.

    Attributes:
        action: What was stored, with what each record supersedes.
    """

    action: Action


@dataclass
class JudgmentFailed(Message):
    """An action could not be stored; it is kept, and is submitted again.

    Attributes:
        action: What was to be stored.
        error: What the store said.
    """

    action: Action
    error: BaseException


@dataclass
class UndoDone(Message):
    """An undo or redo is on disk, or there was nothing to take back.

    Attributes:
        action: What was stored; None when nothing was left.
        redo: Whether it was a redo.
        since: The action that waits for the disk, than which nothing older was to be taken back.
        before: The id of the undo where its key was pressed earlier; None otherwise.
    """

    action: Action | None
    redo: bool
    since: UUID | None = None
    before: UUID | None = None


@dataclass
class UndoFailed(Message):
    """An undo or redo could not be stored; nothing was changed.

    Attributes:
        error: What the store said.
    """

    error: BaseException


@dataclass
class UndoWanted(Message):
    """An undo or redo was asked for while a record was on its way; its fate is known now.

    Attributes:
        redo: Whether it was a redo.
        number: The id that it got when its key was pressed: what was recorded since is not meant by it.
    """

    redo: bool
    number: UUID


@dataclass
class JobReported(Message):
    """The job runner said something.

    Attributes:
        event: What it said.
    """

    event: JobEvent

    def can_replace(self, message: Message) -> bool:
        """Let a newer progress report of the same job take the place of one not yet handled."""
        return (
            isinstance(message, JobReported)
            and type(message.event) is type(self.event)
            and type(self.event).__name__ == "JobProgressed"
        )


@dataclass
class TestEnded(Message):
    """A test that the rater had run again has ended, or could not be run.

    Attributes:
        item_id: The item that it is of.
        name: What the item is called.
        test: The test program.
        executed: The execution that is on disk; None when there is none.
        error: Why there is none.
    """

    __test__: ClassVar[bool] = False

    item_id: int
    name: str
    test: str
    executed: Executed | None
    error: BaseException | None = None
