"""The prompts: text files of our own, each with a version; a role has one for each case that it can meet.

A file has the line `version: N`, then the sections `=== system ===` and `=== user ===`. In the user's section
a line `[[name]]` is the place of a piece of data. The text around the places is fixed and comes first, and
what changes most from item to item comes last, so that a service can keep the beginning in its cache.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

from agents.llm.protocol import Message

_FORM = re.compile(
    r"version: (?P<version>\d+)\n\s*=== system ===\n(?P<system>.*?)\n=== user ===\n(?P<user>.*)", re.S
)
_PLACE = re.compile(r"^\[\[(\w+)\]\]$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt.

    Attributes:
        name: The name of its file.
        version: Raised whenever its text changes.
        digest: The first 12 hexadecimal digits of the SHA-256 of the file.
        system: The fixed instructions.
        user: Fixed texts and, at every odd index, the name of a place.
    """

    name: str
    version: int
    digest: str
    system: str
    user: tuple[str, ...]

    @property
    def places(self) -> tuple[str, ...]:
        """The names of the pieces of data that it needs, in order."""
        return self.user[1::2]

    def messages(self, **values: str) -> tuple[Message, ...]:
        """Put data into the places.

        Each piece is placed between two lines that carry a mark made from it, so that nothing in the data can
        pass for its end; what looks like a place or a section in the data stays data.

        Args:
            **values: A text for every place, and for nothing else.

        Returns:
            The system message and the user's message.

        Raises:
            ValueError: A place has no text, or a text no place.
        """
        if set(values) != set(self.places):
            raise ValueError(
                f"{self.name} needs {', '.join(self.places)}; got {', '.join(values) or 'nothing'}"
            )
        filled = [_block(text, values[text]) if index % 2 else text for index, text in enumerate(self.user)]
        return (Message("system", self.system), Message("user", "".join(filled)))


@cache
def load_prompt(name: str) -> Prompt:
    """Read a prompt.

    Args:
        name: The name of its file, without the ending; of another package's prompt, `PACKAGE:NAME`.

    Returns:
        The prompt.

    Raises:
        ValueError: The file has not the form that is described above.
    """
    package, _, file = name.rpartition(":")
    raw = (resources.files(package or __name__) / f"{file}.txt").read_bytes()
    form = _FORM.fullmatch(raw.decode("utf-8"))
    if form is None:
        raise ValueError(f"the prompt {name} needs a version, then a system and a user section")
    user = tuple(_PLACE.split(form["user"].strip()))
    return Prompt(
        name, int(form["version"]), hashlib.sha256(raw).hexdigest()[:12], form["system"].strip(), user
    )


def _block(name: str, text: str) -> str:
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"----- begin {name} {mark} -----\n{text}\n----- end {name} {mark} -----"
