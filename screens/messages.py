"""Messages from threads; they reach the app by `post_message`, which is safe there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from agents.jobs.events import JobEvent


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
