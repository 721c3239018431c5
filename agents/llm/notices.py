"""Notices about services for the user of a job, each once for all requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Pause:
    """A service is asked nothing for a while.

    Attributes:
        until: When it is asked again.
        longer: Whether this pause was reported before, with an earlier end.
    """

    until: datetime
    longer: bool


@dataclass(frozen=True, slots=True)
class WeakerForm:
    """A service refuses a schema mode; its replies are asked for in a weaker mode from now on.

    Attributes:
        refused: The strictest mode, which was refused.
        used: The mode that it accepted.
        setting: The name of the setting that chooses the mode.
    """

    model: str
    service: str
    refused: str
    used: str
    setting: str

    @property
    def text(self) -> str:
        """The notice for a log, with the setting that chooses the mode."""
        return (
            f"{self.service} refuses {self.refused} for {self.model}: replies are asked for as {self.used}, "
            f'and their form is checked here. {self.setting} = "{self.used}" asks so from the start.'
        )


Notice = Pause | WeakerForm
Hear = Callable[[Notice], None]
_hears: ContextVar[Hear | None] = ContextVar("hears", default=None)


@contextmanager
def report_notices(hear: Hear) -> Iterator[None]:
    """Call a function with the notices of the services that this task, and those it begins, ask meanwhile."""
    before = _hears.set(hear)
    try:
        yield
    finally:
        _hears.reset(before)


def listener() -> Hear | None:
    """Return who hears the notices of this task; None where nobody does."""
    return _hears.get()


def notify(notice: Notice, hearers: Iterable[Hear | None] | None = None) -> None:
    """Report a notice.

    Args:
        notice: The notice.
        hearers: To whom; None for who hears those of this task.
    """
    for hear in (listener(),) if hearers is None else tuple(hearers):
        if hear is not None:
            hear(notice)
