"""Reads the one stream that a container has: Docker's frames, and in them those of `supervisor.py`."""

from __future__ import annotations

from agents.sandbox.child import CHANNEL_BYTES

_STDOUT = 1
_LAST = b"Z"
_LONGEST_TROUBLE = 65536
_DOCKER_HEAD, _MIXED_HEAD = 8, 5


class MixedStream:
    """Takes apart what comes from a container, and keeps no more of it than it may.

    Args:
        output_bytes: How much is kept of stdout, and as much of stderr.
    """

    def __init__(self, output_bytes: int) -> None:
        self.stdout, self.stderr, self.channel = bytearray(), bytearray(), bytearray()
        self.trouble = bytearray()
        """What the container itself wrote to stderr: why it could not begin."""
        self.ended = False
        """Whether the supervisor said that it has nothing more to say."""
        self._kept = {b"O": (self.stdout, output_bytes), b"E": (self.stderr, output_bytes)}
        self._kept[b"R"] = (self.channel, CHANNEL_BYTES)
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
            if kind not in self._kept:
                raise ValueError("not the supervisor's stream")
            if len(self._mixed) < end:
                return
            kept, room = self._kept[kind]
            kept += self._mixed[_MIXED_HEAD:end][: max(room - len(kept), 0)]
            del self._mixed[:end]
