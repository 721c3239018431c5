"""One container from its creation to its removal: start, input, output and end."""

from __future__ import annotations

import select
import threading
from contextlib import suppress
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING, Any

from agents.sandbox.docker.containers import bounds, container_options, remove
from agents.sandbox.docker.engine import PATIENCE
from agents.sandbox.interpreter import harness_input, options, program_input
from agents.sandbox.output_capture import STDERR, STDOUT, OutputCapture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agents.sandbox.output_capture import ProcessResult
    from agents.sandbox.protocol import Limits, TestProgram

_PIECE = 65536
_LONGEST_TROUBLE = 65536
# The header of each piece of the engine's stream, and of the supervisor's stream within it.
_ENGINE_HEAD, _SUPERVISOR_HEAD = 8, 5
_RECORD, _SKIPPED, _LAST = b"R", b"S", b"Z"
_OUTPUTS = {b"O": STDOUT, b"E": STDERR}


class Container:
    """A container; it is made at once, and has to be started.

    Args:
        client: The engine's client.
        made_with: Arguments of the client's `create_container`.
    """

    def __init__(self, client: Any, made_with: dict[str, Any]) -> None:
        self.client = client
        self._attached: Any = None
        self._line: Any = None
        self.id: str = client.api.create_container(**made_with)["Id"]

    def start(self) -> None:
        """Start it; from then on it ends when this process does."""
        way = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        self._attached = self.client.api.attach_socket(
            self.id, params=way
        )  # before the start, to lose nothing
        # The socket itself, which alone has a time limit.
        self._line = getattr(self._attached, "_sock", self._attached)
        self._line.settimeout(PATIENCE)
        self.client.api.start(self.id)

    def send(self, content: bytes) -> None:
        """Write to its stdin."""
        self._line.settimeout(PATIENCE)
        self._line.sendall(content)

    def is_silent(self) -> bool:
        """Tell whether it runs and has written nothing that was not read."""
        return not select.select([self._line], [], [], 0)[0]

    def pieces(self, until: float, pause: float = PATIENCE) -> Iterator[tuple[int, bytes]]:
        """Read what it writes to its end.

        Args:
            until: When its time is over, on the monotonic clock.
            pause: Seconds of silence after which an empty piece is given.

        Yields:
            1 for stdout or 2 for stderr, and a piece of it.

        Raises:
            TimeoutError: It has not ended in time.
        """
        raw = bytearray()
        while (left := until - monotonic()) > 0:
            self._line.settimeout(min(left, pause))
            try:
                received = self._line.recv(_PIECE)
            except TimeoutError:
                yield STDOUT, b""
                continue
            if not received:
                return
            raw += received
            while len(raw) >= _ENGINE_HEAD:
                end = _ENGINE_HEAD + int.from_bytes(raw[4:_ENGINE_HEAD], "big")
                if len(raw) < end:
                    break
                piece = raw[0], bytes(raw[_ENGINE_HEAD:end])
                del raw[:end]
                yield piece
        raise TimeoutError

    def final_state(self) -> dict[str, Any]:
        """Wait for its end, and return the engine's state of it."""
        self.client.api.wait(self.id, timeout=PATIENCE)
        state: dict[str, Any] = self.client.api.inspect_container(self.id)["State"]
        return state

    def kill(self) -> None:
        """Kill it; it may have ended by itself meanwhile."""
        from docker.errors import APIError

        with suppress(APIError):
            self.client.api.kill(self.id)

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


class ProgramContainer(Container):
    """A container that serves one program, of an image by the engine's description of it."""

    def __init__(self, client: Any, image: dict[str, Any], limits: Limits) -> None:
        self.image = image
        self.bounds = bounds(limits)
        self.since = monotonic()
        super().__init__(client, container_options(client, image, limits))

    def start(self) -> None:
        """Start it; from then on it waits for its program."""
        super().start()
        self.send(harness_input(self.image["Architecture"]))

    def run(
        self, program: TestProgram, limits: Limits, *, per_process: bool = True, repaired: bool = False
    ) -> ProcessResult:
        """Send it the program, and read its stream until the program has ended or has to be ended.

        Args:
            program: The program.
            limits: Wall time and output are held here, the others by the engine and the supervisor.
            per_process: Whether processes may be limited each for itself too.
            repaired: Whether what a repair installed is there.

        Returns:
            How it ended.

        Raises:
            ValueError: Its output is not a supervisor's stream.
        """
        # Processes are counted by the container: the user's other processes are those of other containers.
        further = {"processes": 0, "mixed": 1}
        further |= {"repaired": 1} if repaired else {}
        further |= {} if per_process else {"memory_bytes": 0}
        stream = _SupervisorStream(limits)
        self.send(program_input(program, STDOUT, options(limits, **further)))
        started_at, start = datetime.now(UTC), monotonic()
        in_time = True
        try:
            for source, piece in self.pieces(start + limits.wall_seconds):
                stream.take(source, piece)
                if stream.ended:
                    break
        except TimeoutError:
            in_time = False
        seconds = monotonic() - start
        state: dict[str, Any] = {}
        if not in_time:
            self.kill()
        if not stream.ended:  # its supervisor did not report the end, so that the engine has to
            state = self.final_state()
        return stream.capture.result(
            state.get("ExitCode"),
            "" if in_time else "timeout",
            seconds,
            started_at,
            trouble=bytes(stream.trouble) or state.get("Error", "").encode(),
            out_of_memory=in_time and bool(state.get("OOMKilled")),
        )


class _SupervisorStream:
    """Takes apart the one stream that a container has, in which `supervisor.py` mixes all that it writes."""

    def __init__(self, limits: Limits) -> None:
        self.capture = OutputCapture(limits)
        self.trouble = bytearray()
        """The container's own stderr: the reason why it could not begin."""
        self.ended = False
        """Whether the supervisor has ended its stream."""
        self._mixed = bytearray()

    def take(self, source: int, piece: bytes) -> None:
        """Take what the container wrote.

        Raises:
            ValueError: It is not what a supervisor sends.
        """
        if source != STDOUT:
            self.trouble += piece[: _LONGEST_TROUBLE - len(self.trouble)]
            return
        self._mixed += piece
        while len(self._mixed) >= _SUPERVISOR_HEAD:
            kind = bytes(self._mixed[:1])
            end = _SUPERVISOR_HEAD + int.from_bytes(self._mixed[1:_SUPERVISOR_HEAD], "big")
            if kind == _LAST:
                self.ended = True
                return
            if kind not in (_RECORD, _SKIPPED, *_OUTPUTS):
                raise ValueError("not the supervisor's stream")
            if len(self._mixed) < end:
                return
            content = bytes(self._mixed[_SUPERVISOR_HEAD:end])
            del self._mixed[:end]
            if kind == _RECORD:
                self.capture.record(content)
            elif kind == _SKIPPED:
                count, lines = int.from_bytes(content[1:9], "big"), int.from_bytes(content[9:], "big")
                self.capture.skip(_OUTPUTS[content[:1]], count, lines)
            else:
                self.capture.write(_OUTPUTS[kind], content)


class Stop:
    """Ends what a container does from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._container: Container | None = None
        self.asked = False

    def may_go_on(self, container: Container) -> bool:
        """Take note of the container that a stop must end; False when it was asked to stop already."""
        with self._lock:
            self._container = container
            return not self.asked

    def stop(self) -> None:
        """Have it end, at once when its container runs."""
        with self._lock:
            self.asked = True
            if self._container is not None:
                self._container.end()
