"""The prompts: text files of our own, each with a version; a role has one for each case that it can meet.

A user replaces one by a file of the same form, with the same places.

A file has the line `version: N`, then the sections `=== system ===` and `=== user ===`. In the user's section
a line `[[name]]` is the place of a piece of data. The text around the places is fixed and comes first, and
what changes most from item to item comes last, so that a service can keep the beginning in its cache.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path

from agents.llm.protocol import Message
from store.errors import WorkbenchError

LARGEST_FILE = 100_000
"""Bytes of a user's file; ours have about 5,000."""

_FORM = re.compile(
    r"version: (?P<version>\d{1,9})[ \t]*\n\s*=== system ===\n(?P<system>.*?)\n=== user ===\n(?P<user>.*)",
    re.S,
)
_PLACE = re.compile(r"^\[\[(\w+)\]\]$", re.MULTILINE)
_SHOW_OURS = "Ours is printed by `workbench agents prompts {}` and written to a folder by --export."


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt.

    Attributes:
        version: Raised whenever its text changes.
        digest: The first 12 hexadecimal digits of the SHA-256 of the file, with plain line ends.
        system: The fixed instructions.
        user: Fixed texts and, at every odd index, the name of a place.
        file: The user's file that it was read from; None for ours.
    """

    name: str
    version: int
    digest: str
    system: str
    user: tuple[str, ...]
    file: Path | None = None

    @property
    def user_text(self) -> str:
        """The user's section as the file has it."""
        return "".join(f"[[{text}]]" if index % 2 else text for index, text in enumerate(self.user))

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
    prompt = _parsed(name, prompt_text(name))
    if prompt is None:
        raise ValueError(f"the prompt {name} needs a version, then a system and a user section")
    return prompt


def prompt_text(name: str) -> str:
    """Return the file of a prompt, by the name that `load_prompt` takes."""
    package, _, file = name.rpartition(":")
    return (resources.files(package or __name__) / f"{file}.txt").read_text(encoding="utf-8")


def read_prompt(name: str, file: Path) -> Prompt:
    """Read a user's file that replaces a prompt.

    Returns:
        The prompt; ours, where the file has the same text.

    Raises:
        WorkbenchError: The file cannot be read, is too large, is not UTF-8, has not the form of ours, or has
            other places.
    """
    ours = load_prompt(name)
    prompt = _parsed(name, _text_of(name, file))
    if prompt is None or not prompt.system:
        raise WorkbenchError(
            "Not a prompt",
            f"{file} has not the form of a prompt.",
            'It begins with the line "version: 1"; then come the line "=== system ===" with the instructions '
            f'and the line "=== user ===" with the places, such as [[code]]. {_SHOW_OURS.format(name)}',
        )
    if prompt.digest == ours.digest:
        return ours
    fixed = "\n".join((prompt.system, *prompt.user[::2]))
    for what, names in (
        ("lacks the place", [place for place in ours.places if place not in prompt.places]),
        ("has the unknown place", [place for place in prompt.places if place not in ours.places]),
        # A model would be sent these letters, and not the data.
        ("has within other text the place", [place for place in ours.places if f"[[{place}]]" in fixed]),
    ):
        if names:
            raise WorkbenchError(
                "Other places in a prompt",
                f"{file} {what} {', '.join(f'[[{each}]]' for each in names)}.",
                f"The prompt {name} has the places {', '.join(f'[[{each}]]' for each in ours.places)}, each "
                f"alone on its line in the user's section. {_SHOW_OURS.format(name)}",
            )
    return replace(prompt, file=file)


def _text_of(name: str, file: Path) -> str:
    try:
        if not file.is_file():
            raise FileNotFoundError(2, "there is no such file")
        with file.open("rb") as opened:
            raw = opened.read(LARGEST_FILE + 1)
    except OSError as error:
        raise WorkbenchError(
            "Prompt not readable",
            f"{file}, which replaces the prompt {name}: {error.strerror or error}.",
            "Relative paths count from the folder of the configuration file. Mend agents.prompts there, or "
            "leave the prompt out of it.",
        ) from error
    if len(raw) > LARGEST_FILE:
        raise WorkbenchError(
            "Prompt too large",
            f"{file} has more than {LARGEST_FILE:,} bytes.",
            "It is sent with every item: shorten it.",
        )
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise WorkbenchError(
            "Prompt not readable", f"{file} is not UTF-8 (byte {error.start}).", "Save it as UTF-8 text."
        ) from error


def _parsed(name: str, text: str) -> Prompt | None:
    form = _FORM.fullmatch(text)
    if form is None:
        return None
    digest = hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]
    user = tuple(_PLACE.split(form["user"].strip()))
    return Prompt(name, int(form["version"]), digest, form["system"].strip(), user)


def _block(name: str, text: str) -> str:
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"----- begin {name} {mark} -----\n{text}\n----- end {name} {mark} -----"
