"""The socket beside a workspace file, and the messages between the process that holds it and commands.

A message is its kind and length, then as many bytes: JSON, or rows as an Arrow stream. The server begins with
a greeting. A request is a statement with its parameters; or the name of a temporary table, and its rows in a
second message; or null, which ends the transaction and has no answer. An answer is the rows of the statement,
in any number of messages, and then a JSON object: the names of the columns, or the error. Nothing that is
received is ever unpickled.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

PROTOCOL = 1
"""The version of the messages."""
JSON, ROWS = b"j", b"r"
"""The kinds of messages."""

_HEAD = struct.Struct(">cQ")
_LONGEST_PATH = 100
"""Bytes of a path that every system takes as the address of a socket."""

_READ: dict[str, Callable[[str], Any]] = {
    "$UUID": UUID,
    "$datetime": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$Decimal": Decimal,
    "$bytes": bytes.fromhex,
}
"""Readers of values that JSON has no type for, by the tag of the type; no parameter's name begins with $."""

Parameters = Sequence[Any] | Mapping[str, Any] | None
"""The parameters of a statement, by their places or by their names."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """The first message of a server.

    Attributes:
        schema: The schema of the workspace that it has open.
        process: The number of its process.
        rater: Whose session it is; None where it is nobody's, as that of a command.
        blind: Whether that session is blind.
        busy: Whether it answers as many as it can, and ends the connection.
        protocol: The version of its messages.
    """

    schema: int
    process: int
    rater: str | None = None
    blind: bool = False
    busy: bool = False
    protocol: int = PROTOCOL


class Closed(Exception):
    """The other side has closed the connection, or has stalled for too long."""


def socket_path(workspace: Path) -> Path:
    """Return the path of the socket beside a workspace file."""
    return workspace.with_name(f"{workspace.name}.sock")


@contextmanager
def address(path: Path) -> Iterator[str]:
    """Give the address of a socket; on Linux its path may be of any length.

    Raises:
        OSError: The path is too long for this system, or its folder cannot be opened.
    """
    if len(os.fsencode(path)) <= _LONGEST_PATH:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def is_answered(workspace: Path) -> bool:
    """Return whether a process listens beside a workspace file; one that was killed has left its socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        # Where many wait to be accepted, this one does not.
        peer.setblocking(False)
        try:
            with address(socket_path(workspace)) as place:
                peer.connect(place)
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except OSError:
            return True
    return True


def is_own(peer: socket.socket) -> bool:
    """Return whether the process at the other end is of this user; root is a user like others."""
    if sys.platform == "darwin":
        # struct xucred: a version, then the user.
        _, user = struct.unpack_from("=II", peer.getsockopt(0, socket.LOCAL_PEERCRED, 76))
    else:
        _, user, _ = struct.unpack("=iII", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return bool(user == os.getuid())


def send(peer: socket.socket, kind: bytes, body: bytes | memoryview, *, seconds: float | None = None) -> None:
    """Send a message.

    Args:
        peer: The connection.
        kind: `JSON` or `ROWS`.
        body: The message.
        seconds: How long that may take; None for as long as it takes.

    Raises:
        Closed: The other side has closed the connection, or took too long.
    """
    try:
        peer.settimeout(seconds)
        peer.sendall(_HEAD.pack(kind, len(body)))
        peer.sendall(body)
    except OSError as error:
        raise Closed from error


def send_json(peer: socket.socket, value: Any, *, seconds: float | None = None) -> None:
    """Send an object as JSON; see `send`."""
    send(peer, JSON, json.dumps(value, default=_tagged).encode(), seconds=seconds)


def send_rows(peer: socket.socket, rows: Any, *, seconds: float | None = None) -> None:
    """Send an Arrow table or batch; see `send`."""
    import pyarrow

    target = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(target, rows.schema) as stream:
        stream.write(rows)
    send(peer, ROWS, memoryview(target.getvalue()), seconds=seconds)


def receive(
    peer: socket.socket, *, most: int | None = None, idle: float | None = None, seconds: float | None = None
) -> tuple[bytes, bytearray]:
    """Receive a message, and return its kind and its bytes.

    Args:
        peer: The connection.
        most: How many bytes it may have; None for any number.
        idle: How many seconds it may take until it begins; None for as long as it takes.
        seconds: How many it may take from then on; likewise.

    Raises:
        Closed: The other side has closed the connection, took too long, or sends too much.
    """
    try:
        peer.settimeout(idle)
        head = bytearray(peer.recv(1))
        ends = None if seconds is None else time.monotonic() + seconds
        head += _exactly(peer, _HEAD.size - 1, ends) if head else b""
        if not head:
            raise Closed
        kind, length = _HEAD.unpack(head)
        if most is not None and length > most:
            raise Closed
        return kind, _exactly(peer, length, ends)
    except OSError as error:
        raise Closed from error


def _exactly(peer: socket.socket, length: int, ends: float | None) -> bytearray:
    received = bytearray(length)
    place = memoryview(received)
    while place:
        if ends is not None:
            peer.settimeout(max(0.001, ends - time.monotonic()))
        count = peer.recv_into(place)
        if not count:
            raise Closed
        place = place[count:]
    return received


def read_json(body: bytearray) -> Any:
    """Return what a message says that was sent by `send_json`.

    Raises:
        ValueError: It is no JSON, or none of ours.
    """
    return json.loads(body, object_hook=_untagged)


def _tagged(value: object) -> dict[str, str]:
    """Return a value that JSON has no type for as a text, under the name of its type."""
    name = f"${type(value).__name__}"
    if name not in _READ:
        raise TypeError(f"{type(value).__name__} is no type of a parameter")
    if isinstance(value, bytes):
        return {name: value.hex()}
    return {name: value.isoformat() if isinstance(value, date) else str(value)}


def _untagged(found: dict[str, Any]) -> Any:
    if len(found) == 1:
        ((name, value),) = found.items()
        if name in _READ:
            return _READ[name](value)
    return found
