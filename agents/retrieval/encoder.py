"""The interface of encoders, which make vectors of texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

Role = Literal["query", "code"]

ReportCount = Callable[[int], None]
"""Receives how many texts of a call are encoded, often; an exception from it ends the work."""


def ignore_count(_: int) -> None:
    """Ignore how many texts are encoded."""


@dataclass(frozen=True)
class Encoded:
    """Vectors of texts.

    Attributes:
        vectors: Float32, of shape (texts, width), each of length 1.
        truncated: Which texts were longer than the model reads, as booleans.
    """

    vectors: Array
    truncated: Array


class Encoder(Protocol):
    """Makes vectors of texts.

    Attributes:
        name: What commands, similarities and reports call it.
        warning: What its user should know; empty for nothing.
    """

    name: str
    warning: str

    def identity(self, role: Role) -> Mapping[str, str]:
        """Return all that the vectors of a role depend on beside the texts."""
        ...

    def encode(self, texts: Sequence[str], role: Role, report: ReportCount = ignore_count) -> Encoded:
        """Return the vectors of texts.

        Raises:
            WorkbenchError: The model cannot be loaded or asked.
        """
        ...
