"""What a report is: how it is read, what it shows, and what it can be asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from store.json_fields import json_fields
from store.reports.options import NAMES, Options
from store.reports.value import Report

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Choice:
    """What can be chosen for a report in the app.

    Attributes:
        word: What it is, such as "question".
        values: What can be chosen, in order.
        chosen: What is.
        sets: Returns the options with another value chosen.
    """

    word: str
    values: tuple[str, ...]
    chosen: str
    sets: Callable[[Options, str], Options]


Choices = Mapping[str, Choice]
"""What can be chosen: `subject`, `first` and `second` have a key of their own, others do not."""


def as_found(found: Any, options: Options) -> dict[str, Any]:
    """Return what was read as its own JSON-able fields."""
    return json_fields(found)


def as_asked(connection: Connection, options: Options) -> Options:
    """Return the options as they are."""
    return options


def no_choices(connection: Connection, options: Options, found: Any | None) -> Choices:
    """Return nothing to choose from."""
    return {}


@dataclass(frozen=True, slots=True)
class ReportSpec:
    """A report: of this package, or of another that registers it as an entry point of `workbench.reports`.

    Attributes:
        name: Its name on the command line and in files that are written.
        title: What it tells, in words.
        about: The same in a sentence.
        read: Reads what it is of; reports that read the same share it.
        report: Makes the tables of that.
        fields: Makes the JSON of that.
        options: The options that it takes, by their names.
        source: Where it is from, such as "Figure 3 of CoSQA+"; empty where it is ours.
        kind: The kind of the items that it is about; empty for all.
        own: Whether it can be shown in a blind review, of a rater's own labels alone.
        of_paper: Whether it is written with the tables and figures of a study for a paper.
        parts: The names of the reports that it is made of, which the app lists in its place.
        start: What the app asks for first: fills in what a command must be told.
        choices: Reads what can be chosen in the app, given what was found; None where nothing could be.
    """

    name: str
    title: str
    about: str
    read: Callable[[Connection, Options], Any]
    report: Callable[[Any, Options], Report]
    fields: Callable[[Any, Options], dict[str, Any]] = as_found
    options: tuple[str, ...] = ()
    source: str = ""
    kind: str = ""
    own: bool = False
    of_paper: bool = True
    parts: tuple[str, ...] = ()
    start: Callable[[Connection, Options], Options] = as_asked
    choices: Callable[[Connection, Options, Any | None], Choices] = no_choices

    def __post_init__(self) -> None:
        """Refuse options that no command has.

        Raises:
            ValueError: One is unknown.
        """
        unknown = [name for name in self.options if name not in NAMES]
        if unknown:
            raise ValueError(f"{self.name} takes {', '.join(unknown)}, and there are {', '.join(NAMES)}")
