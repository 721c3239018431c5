"""The list of reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from store.reports.labels import (
    accuracy_page,
    agreement_page,
    confusion_page,
    labels_page,
    read_accuracy,
    read_agreement,
    read_confusion,
    read_labels,
)
from store.reports.pairs import codes_page, matches_page, ranks_page, read_figures
from store.reports.preference import position_page, ratings_page, read_preference, wins_page
from store.reports.retrieval import read_retrieval, retrieval_page
from store.reports.times import read_times, times_page
from store.reports.value import Choice, Page

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Report:
    """A report.

    Attributes:
        name: Its name in files that are written.
        title: Its name on the screen.
        about: What it tells, in a few words.
        read: Reads what it is of; reports that read the same share it.
        page: Makes the report of that.
        kind: The kind of the items that it is about; empty for all.
        own: Whether it can be of a rater's own labels alone, as a blind review shows it.
    """

    name: str
    title: str
    about: str
    read: Callable[[Connection, Choice], Any]
    page: Callable[[Any, Choice], Page]
    kind: str = ""
    own: bool = False


REPORTS = (
    Report(
        "agreement",
        "Agreement by question",
        "alpha of people on each question",
        read_agreement,
        agreement_page,
    ),
    Report(
        "confusion",
        "Confusion of two raters",
        "how often labels occur together",
        read_confusion,
        confusion_page,
    ),
    Report(
        "accuracy",
        "Accuracy",
        "of people, runs and judges, against the majority",
        read_accuracy,
        accuracy_page,
    ),
    Report(
        "labels",
        "Labels by question",
        "how often each rater gave each label",
        read_labels,
        labels_page,
        own=True,
    ),
    Report(
        "time",
        "Time for each item",
        "a histogram, and by place in the session",
        read_times,
        times_page,
        own=True,
    ),
    Report(
        "figure-3",
        "Figure 3: matches",
        "queries by the number of matching codes",
        read_figures,
        matches_page,
        kind="pair",
    ),
    Report(
        "figure-4",
        "Figure 4: ranks",
        "how often the candidate at a rank matches",
        read_figures,
        ranks_page,
        kind="pair",
    ),
    Report(
        "figure-7",
        "Figure 7: codes",
        "codes by the queries that they answer",
        read_figures,
        codes_page,
        kind="pair",
    ),
    Report(
        "retrieval",
        "Retrieval",
        "how well methods find the codes of queries",
        read_retrieval,
        retrieval_page,
        kind="pair",
    ),
    Report(
        "ratings",
        "Ratings",
        "of candidates, by votes on comparisons",
        read_preference,
        ratings_page,
        kind="comparison",
    ),
    Report(
        "wins",
        "Win matrix",
        "how often each candidate beats each other",
        read_preference,
        wins_page,
        kind="comparison",
    ),
    Report(
        "position",
        "Position bias",
        "whether the left side is preferred",
        read_preference,
        position_page,
        kind="comparison",
    ),
)
"""The reports in the order of the list."""
