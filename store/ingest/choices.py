"""The choices for an import, in a module without heavy imports, since the app's first screens need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from store.errors import ImportFailed

ENDINGS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".gz", ".xlsx", ".xlsm", ".ods")
"""Endings of data files: those that an import takes from a folder."""


@dataclass(frozen=True, slots=True)
class ImportChoices:
    """The choices that a person made for an import.

    Attributes:
        mapping: Our field to the file's column; an empty one for no labels, or ids of the content.
        prefix: Put before every id.
        licence: Of the data.
        label_as: Whose the labels are; the file's name says it where it is empty.
        label_words: What words among the labels mean: "good=1,bad=0".
    """

    mapping: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    licence: str = ""
    label_as: str = ""
    label_words: str = ""


def parse_label_words(given: Sequence[str]) -> dict[str, float | None]:
    """Read `yes=1,no=0,n/a=`: what words among the labels mean; None is no label.

    Raises:
        ImportFailed: One of them is not of that form, or a word is given twice.
    """
    words: dict[str, float | None] = {}
    for pair in ",".join(given).split(","):
        word, equals, value = (part.strip() for part in pair.rpartition("="))
        if not (equals and word and value in ("0", "1", "")) or word.lower() in words:
            raise ImportFailed(
                "Words not understood",
                f"{pair!r} is not WORD=1, WORD=0 or WORD=, or explains a word twice. Nothing was imported.",
                "Say which words mean 1 (match), 0 (no match) and no label: --label-words good=1,bad=0,n/a=",
            )
        words[word.lower()] = float(value) if value else None
    return words
