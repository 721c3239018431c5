"""A generator in a process of its own, which has to wait for everything that somebody waits for.

Python that reads records holds the interpreter: in a thread of the app, keys would wait for it. What the
generator yields is pickled into a pipe, which holds little: the process is never far ahead of who takes it.
It ends with the process that started it, and writes no file.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, TypeVar

from store.errors import ImportFailed, WorkbenchError
from store.processes import tuned_for_throughput

T = TypeVar("T")

_NICE = 10
_AHEAD = 1 << 20


@contextmanager
def yielded_by_child(
    generate: Callable[[], Iterator[T]],
    doing: str = "reads the files",
    left: str = "Nothing was imported.",
    files: Sequence[int] = (),
    ahead: int = _AHEAD,
) -> Iterator[Iterator[T]]:
    """Run a generator function in a process of its own, which is ended at the end.

    Args:
        generate: The function with its arguments, which can be pickled, as what it yields.
        doing: What the process does, for the error where it ends too early.
        left: What came of it then.
        files: The open files that it has, too.
        ahead: How many bytes of what it yields may wait, in whole pages.

    Yields:
        What it yields; its errors are raised from there.
    """
    # It finds what this one finds, wherever that was started.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-P", "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        pipesize=ahead,
        pass_fds=files,
        # Ctrl-C is for this process, which ends the other one.
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        try:
            # Where it has ended already, there is nothing to read of it.
            with suppress(BrokenPipeError):
                process.stdin.write(pickle.dumps(generate))
                process.stdin.flush()
            yield _received(process, doing, left)
        finally:
            process.kill()
            with suppress(BrokenPipeError):
                process.stdin.close()


def _received(process: subprocess.Popen[bytes], doing: str, left: str) -> Iterator[Any]:
    assert process.stdout is not None
    while True:
        try:
            goes_on, sent = pickle.load(process.stdout)
        except (EOFError, pickle.UnpicklingError) as error:
            raise ImportFailed(
                "Ended too early",
                f"The process that {doing} ended too early (exit status {process.wait()}). {left}",
                "Check that there is memory left, and try again.",
            ) from error
        if goes_on:
            yield sent
        elif sent is not None:
            raise sent
        else:
            return


def main(source: BinaryIO, target: BinaryIO) -> None:
    """Read which generator to run, and write what it yields, then its error or None.

    Args:
        source: Where the request comes from; its end is the end of this process.
        target: Where the answer goes.
    """
    os.nice(_NICE)

    def send(goes_on: bool, each: object) -> None:
        pickle.dump((goes_on, each), target, protocol=pickle.HIGHEST_PROTOCOL)
        target.flush()

    error: Exception | None = None
    try:
        generate = pickle.load(source)
        threading.Thread(target=_end_with, args=(source,), daemon=True).start()
        with tuned_for_throughput():
            for each in generate():
                send(True, each)
    except (WorkbenchError, OSError, MemoryError) as known:
        error = known
    except Exception:  # noqa: BLE001 - a bug: the other process ends with its traceback
        error = RuntimeError(traceback.format_exc())
    send(False, error)


def _end_with(source: BinaryIO) -> None:
    """End this process when the one that started it is gone."""
    os.read(source.fileno(), 1)
    os._exit(1)


if __name__ == "__main__":
    # What a converter prints must not come between what is sent.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    main(sys.stdin.buffer, answers)
