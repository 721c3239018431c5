"""Whether a workspace file is a packet: a rater's part of a study, made for them to judge elsewhere."""

from __future__ import annotations

import json
from dataclasses import dataclass
from uuid import UUID

from store.errors import UnknownName

FACT = "packet"
"""The name under which a packet holds its manifest."""
SELECT_FACT = f"SELECT value FROM workspace_fact WHERE name = '{FACT}'"
"""The manifest of a packet; no row in any other workspace."""


@dataclass(frozen=True, slots=True)
class PacketFact:
    """What a packet says of itself.

    Attributes:
        id: Its key.
        study: The name of the study.
        rater: The name of the rater whose it is.
        pseudonym: The rater's name in what is published of the study.
    """

    id: UUID
    study: str
    rater: str
    pseudonym: str

    @classmethod
    def from_json(cls, text: str) -> PacketFact:
        """Read it from a manifest.

        Raises:
            ValueError: It is none.
        """
        try:
            given = json.loads(text)
            return cls(UUID(given["id"]), *(str(given[name]) for name in ("study", "rater", "pseudonym")))
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError("no manifest of a packet") from error

    def check_rater(self, given: str | None) -> str:
        """Return the name of the rater, who alone judges in the packet.

        Args:
            given: The name on the command line; None where none was given.

        Raises:
            UnknownName: It is another one's.
        """
        if given is not None and given.strip() not in (self.rater, self.pseudonym):
            raise UnknownName(
                "Not your packet",
                f"This packet of {self.study} is that of {self.rater}, not of {given.strip()!r}.",
                "Leave --rater out, or open the packet that was made for you.",
            )
        return self.rater
