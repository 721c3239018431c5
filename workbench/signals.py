"""Ends a command cleanly on Ctrl-C, on a closed terminal, and on signals of other programs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


_came: list[int] = []


class Stopped(KeyboardInterrupt):
    """A signal asked the command to end; it unwinds like Ctrl-C, so that files are closed on the way."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def exit_code(stop: KeyboardInterrupt) -> int:
    """Return the exit code of a command that a signal ended, as shells count it."""
    return 128 + (stop.number if isinstance(stop, Stopped) else signal.SIGINT)


def code_when_stopped() -> int:
    """Return the exit code of a command that took care of the signal itself, and ends well."""
    return exit_code(Stopped(_came[-1]) if _came else KeyboardInterrupt())


@contextmanager
def handle_signals() -> Iterator[list[int]]:
    """Turn SIGTERM and SIGHUP into what Ctrl-C does, within the block.

    Yields:
        The numbers of the signals that came, also of those whose exception somebody took care of.
    """
    if threading.current_thread() is not threading.main_thread():
        yield []
        return
    came = _came
    came.clear()

    def stop(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        raise Stopped(number)

    # What is ignored stays ignored: nohup, and the background jobs of some shells, mean it.
    wanted = [each for each in _ENDING if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, stop) for each in wanted}
    try:
        yield came
    except Exception as error:
        # The database swallows what the handler raised and says in its own way that it was interrupted.
        if came and _interrupted(error):
            raise Stopped(came[-1]) from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def raise_if_stopped() -> None:
    """Raise `Stopped` when a signal came in this block; for work that calls back from time to time.

    A signal's exception can get lost: the database's interpreter glue clears whatever is raised while it
    looks for optional packages.
    """
    if _came:
        raise Stopped(_came[-1])


def ignore_further_signals() -> None:
    """From here to the end of the block of `handle_signals`, let nothing cut off what is being closed.

    A terminal that closes may send more than one signal, and an event loop that has ended leaves the second
    one to kill the process.
    """
    if threading.current_thread() is threading.main_thread():
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)


def _interrupted(error: BaseException | None) -> bool:
    while error is not None:
        if type(error).__name__ == "InterruptException" or str(error) == "Query interrupted":
            return True
        error = error.__cause__ or error.__context__
    return False
