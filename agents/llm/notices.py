"""Notices about services for the user of a job, each once for all requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from weakref import WeakKeyDictionary


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
        model: The model's name.
        service: The service and its address.
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
_hearers: WeakKeyDictionary[asyncio.AbstractEventLoop, list[Hear]] = WeakKeyDictionary()


@contextmanager
def report_notices(hear: Hear) -> Iterator[None]:
    """Call a function with the notices of all services that are asked from this loop meanwhile."""
    hearers = _hearers.setdefault(asyncio.get_running_loop(), [])
    hearers.append(hear)
    try:
        yield
    finally:
        hearers.remove(hear)


def notify(notice: Notice) -> None:
    """Report a notice to all who listen in this loop."""
    for hear in _hearers.get(asyncio.get_running_loop(), ()):
        hear(notice)
