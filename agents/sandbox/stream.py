"""Reads the one stream that a container has: Docker's frames, and in them those of `supervisor.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.sandbox.heard import CHANNEL_BYTES
from agents.sandbox.kept import HeadAndTail

if TYPE_CHECKING:
    from agents.sandbox.protocol import Limits

_STDOUT = 1
_RECORD, _SKIPPED, _LAST = b"R", b"S", b"Z"
_LONGEST_TROUBLE = 65536
_DOCKER_HEAD, _MIXED_HEAD = 8, 5


class MixedStream:
    """Takes apart what comes from a container, and keeps no more of it than it may.

    Args:
        limits: How much of stdout is kept, and as much of stderr.
    """

    def __init__(self, limits: Limits) -> None:
        room = min(limits.kept_bytes, limits.output_bytes)
        self.stdout, self.stderr = HeadAndTail(room), HeadAndTail(room)
        self.channel = bytearray()
        self.trouble = bytearray()
        """What the container itself wrote to stderr: why it could not begin."""
        self.ended = False
        """Whether the supervisor said that it has nothing more to say."""
        self._outputs = {b"O": self.stdout, b"E": self.stderr}
        self._raw, self._mixed = bytearray(), bytearray()

    def take(self, piece: bytes) -> None:
        """Take what was received.

        Raises:
            ValueError: It is not what a supervisor sends.
        """
        self._raw += piece
        while len(self._raw) >= _DOCKER_HEAD:
            end = _DOCKER_HEAD + int.from_bytes(self._raw[4:8], "big")
            if len(self._raw) < end:
                return
            source, content = self._raw[0], bytes(self._raw[_DOCKER_HEAD:end])
            del self._raw[:end]
            if source == _STDOUT:
                self._unmix(content)
            else:
                self.trouble += content[: _LONGEST_TROUBLE - len(self.trouble)]

    def _unmix(self, content: bytes) -> None:
        self._mixed += content
        while len(self._mixed) >= _MIXED_HEAD:
            kind, end = bytes(self._mixed[:1]), _MIXED_HEAD + int.from_bytes(self._mixed[1:5], "big")
            if kind == _LAST:
                self.ended = True
                return
            if kind not in (_RECORD, _SKIPPED, *self._outputs):
                raise ValueError("not the supervisor's stream")
            if len(self._mixed) < end:
                return
            content = bytes(self._mixed[_MIXED_HEAD:end])
            del self._mixed[:end]
            if kind == _RECORD:
                self.channel += content[: CHANNEL_BYTES - len(self.channel)]
            elif kind == _SKIPPED:
                output = self._outputs[content[:1]]
                output.skip(int.from_bytes(content[1:9], "big"), int.from_bytes(content[9:], "big"))
            else:
                self._outputs[kind].take(content)
