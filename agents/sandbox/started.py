"""One container for one program: made, started, told what to run, listened to, and removed."""

from __future__ import annotations

import select
import threading
from contextlib import suppress
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING, Any

from agents.sandbox.boot import told_first, told_of
from agents.sandbox.containers import bounds, container_options, kill, remove
from agents.sandbox.engine import PATIENCE
from agents.sandbox.heard import Ending
from agents.sandbox.interpreter import options
from agents.sandbox.stream import MixedStream

if TYPE_CHECKING:
    from agents.sandbox.protocol import Limits, TestProgram

_PIECE = 65536
_STDOUT = 1


class StartedContainer:
    """A container; it is made at once, and has to be started before it can run its one program.

    Args:
        client: The engine's client.
        image: What the engine says of the image.
        limits: What the program may use.
    """

    def __init__(self, client: Any, image: dict[str, Any], limits: Limits) -> None:
        self.client = client
        self.image = image
        self.bounds = bounds(limits)
        self.since = monotonic()
        self._attached: Any = None
        self._line: Any = None
        self.id: str = client.api.create_container(**container_options(client, image, limits))["Id"]

    def start(self) -> None:
        """Start it; from then on it waits for its program, and ends when this process does."""
        way = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        self._attached = self.client.api.attach_socket(
            self.id, params=way
        )  # before the start, to lose nothing
        # The socket itself, which alone has a time limit.
        self._line = getattr(self._attached, "_sock", self._attached)
        self._line.settimeout(PATIENCE)
        self.client.api.start(self.id)
        self._line.sendall(told_first(self.image["Architecture"]))

    def waits(self) -> bool:
        """Tell whether it still waits for its program: one that has ended, or says something, does not."""
        return not select.select([self._line], [], [], 0)[0]

    def run(self, program: TestProgram, limits: Limits, arguments: list[str]) -> Ending:
        """Tell it what to run, and read all it says until that has ended or has to be ended.

        Args:
            program: The program.
            limits: Wall time and output are held here.
            arguments: What the supervisor is told (`interpreter.options`).

        Returns:
            How it ended.
        """
        stream = MixedStream(limits)
        self._line.settimeout(PATIENCE)
        self._line.sendall(told_of(program, _STDOUT, arguments))
        started_at, start = datetime.now(UTC), monotonic()
        in_time = self._listen(stream, start + limits.wall_seconds)
        seconds = monotonic() - start
        state: dict[str, Any] = {}
        if not in_time:
            kill(self.client, self.id)
        if not stream.ended:
            # Its supervisor did not tell the end, so that the engine has to.
            self.client.api.wait(self.id, timeout=PATIENCE)
            state = self.client.api.inspect_container(self.id)["State"]
        return Ending(
            code=state.get("ExitCode"),
            stopped="" if in_time else "timeout",
            stdout=stream.stdout.kept,
            stderr=stream.stderr.kept or bytes(stream.trouble) or state.get("Error", "").encode(),
            channel=bytes(stream.channel),
            dropped=0,
            seconds=seconds,
            started_at=started_at,
            out_of_memory=in_time and bool(state.get("OOMKilled")),
            stdout_cut=stream.stdout.cut,
            stderr_cut=stream.stderr.cut,
        )

    def end(self) -> None:
        """End it from another thread than the one that listens to it, which goes on to remove it."""
        remove(self.client, self.id)

    def remove(self) -> None:
        """Remove it, whatever it does."""
        for each in (self._attached, self._line):
            if each is not None:
                with suppress(OSError):
                    each.close()
        remove(self.client, self.id)

    def _listen(self, stream: MixedStream, until: float) -> bool:
        """Read its stream to the end; False when its time is over before."""
        while (left := until - monotonic()) > 0:
            self._line.settimeout(left)
            try:
                piece = self._line.recv(_PIECE)
            except TimeoutError:
                return False
            if not piece:
                return True
            stream.take(piece)
            if stream.ended:
                return True
        return False


class Stop:
    """Ends an execution from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._container: StartedContainer | None = None
        self.asked = False

    def may_go_on(self, container: StartedContainer) -> bool:
        """Take note of the container that a stop must end; False when it was asked to stop already."""
        with self._lock:
            self._container = container
            return not self.asked

    def stop(self) -> None:
        """Have the execution end, at once when its container runs."""
        with self._lock:
            self.asked = True
            if self._container is not None:
                self._container.end()


def arguments(limits: Limits, *, per_process: bool = True, repaired: bool = False) -> list[str]:
    """Say what the supervisor in a container is told.

    Args:
        limits: What it is to hold the program to.
        per_process: Whether processes may be limited each for itself too.
        repaired: Whether what a repair installed is there.
    """
    # Processes are counted by the container: the user's other processes are those of other containers.
    further = {"processes": 0, "mixed": 1, **({"repaired": 1} if repaired else {})}
    return options(limits, **(further if per_process else {**further, "memory_bytes": 0}))
