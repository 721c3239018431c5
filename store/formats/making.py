"""What the records of the field's files are made into, whatever file they stand in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from store.formats.taking import Taking


@dataclass(frozen=True, slots=True)
class Made:
    """One item, or one text or score that belongs to an item, as it was made of a record.

    Attributes:
        makes: What it is: an item of the task kind of that name, or what belongs to one.
        fields: Its fields, all of them; what the record lacks is None, or "" for a text that cannot lack.

            - `completion`: external_id, language, repository, path, prompt, reference, right_context,
              prompt_line, reference_line, right_context_line (lines as the file counts them)
            - `answer`: external_id, repository, revision, language, url, question, reference,
              issue_number, issue_title, issue_body, comments (a list of objects by, created_at, body,
              reactions), labels (a list of names), created_at, closed_at (as they stand in the file)
            - `chunk`: kind, item (its external id), setting, rank (from 1), path, text, score
            - `response`: kind, item (None when it is joined by its reference), reference (None when it is
              joined by its item), model, setting, trial, text
            - `score`: kind, item, model, setting, trial, judge, measure, value (None where it was not
              parsed), raw (the number or text as it stood, "" for none), reason
        extra: The fields of the record that are none of ours, in the shape in which they stood there.
    """

    makes: str
    fields: Mapping[str, Any]
    extra: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a file before its records are read.

    Attributes:
        stem: Its name without folder and endings.
        model: The model that the user named for it; "" for none.
        setting: The setting that the user named for it; "" for none.
        shared: What the converters of one import keep for each other: one dict for all files of it.
    """

    stem: str
    model: str = ""
    setting: str = ""
    shared: dict[str, Any] = field(default_factory=dict)


class Converter(Protocol):
    """Makes the records of one file; another one is made for every file.

    Attributes:
        two_passes: Whether `look` is called for every record of every file before the first is converted.
        counts: What is to be told of the file when it is read, by how it is told: "pull requests left out".
    """

    two_passes: bool
    counts: dict[str, int]

    def look(self, record: Mapping[str, Any]) -> None:
        """Take note of a record, whatever it holds; refuses none."""

    def convert(self, record: Mapping[str, Any], number: int) -> list[Made]:
        """Return what a record makes.

        Args:
            record: Its fields as they stand in the file.
            number: Its place in the file, from 1.

        Raises:
            Refused: It cannot be taken, and why.
        """
        ...


def tell(counts: dict[str, int], what: str, of: int = 1) -> None:
    """Add to what is told of a file."""
    if of:
        counts[what] = counts.get(what, 0) + of


def attempt(record: Taking, setting: str) -> dict[str, str]:
    """Take the setting and the trial of a record.

    Args:
        record: The record.
        setting: What the setting is when the record says none.

    Raises:
        Refused: One of them is of the wrong type.
    """
    own, trial = record.text("setting", short=True), record.identity("trial", filled=False)
    return {"setting": setting if own is None else own, "trial": trial or ""}
