"""Lets a command end well when it is told to: by Ctrl-C, by a closed terminal, or by another program."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(KeyboardInterrupt):
    """A signal asked the command to end; it unwinds like Ctrl-C, so that files are closed on the way."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def exit_code(stop: KeyboardInterrupt) -> int:
    """Return the exit code of a command that a signal ended, as shells count it."""
    return 128 + (stop.number if isinstance(stop, Stopped) else signal.SIGINT)


@contextmanager
def stopped_by_signals() -> Iterator[list[int]]:
    """Turn SIGTERM and SIGHUP into what Ctrl-C does, within the block.

    Yields:
        The numbers of the signals that came, also of those whose exception somebody took care of.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return

    def stop(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        raise Stopped(number)

    # What is ignored stays ignored: nohup, and the background jobs of some shells, mean it.
    wanted = [each for each in _ENDING if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, stop) for each in wanted}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
