"""What an export wrote, or would write, in words."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from store.export.exporting import ExportReport
from store.export.labels import count_by_kind
from store.formats.protocol import find_format
from store.formatting import pluralize
from store.json_fields import json_fields
from store.measures.truth import POLICIES
from store.splits.changes_text import change_lines

LABEL_FREE = ("crosscodeeval", "predictions", "questions")
"""Formats that hold no labels unless a rater is named."""


def reveals(form: str, rater: str | None, own: str | None) -> str | None:
    """Return whose labels an export holds that a blind review does not show; None where there are none.

    Args:
        form: The name of the format.
        rater: The rater, run or policy whose labels it holds; None for those of all.
        own: The name of the rater of the review; None for nobody.
    """
    if find_format(form).published:
        return "the labels of every rater"  # beside those that are named
    if rater is not None:
        return None if rater == own else f"the labels of {rater}"
    return None if form in LABEL_FREE else "the labels of every rater"


def uncounted(revealed: str) -> str:
    """Return the sentence in place of counts, which tell of labels: of a view of one item each of them."""
    return f"Not counted: it holds {revealed}, which a blind review does not show."


def without_counts(report: ExportReport) -> dict[str, Any]:
    """Return a report as plain values, without what tells of labels that a blind review does not show."""
    told = {"destination", "format", "folder", "rater", "setting", "study", "pseudonyms", "split", "parts"}
    told |= {"view", "dry_run", "file", "added"}
    return {name: value if name in told else None for name, value in json_fields(report).items()}


def export_lines(report: ExportReport, hidden: str | None = None) -> Iterator[str]:
    """Yield the lines that say what an export wrote, or would write.

    Args:
        report: The report.
        hidden: Whose labels it holds that a blind review does not show; nothing of it is counted then.
    """
    form = find_format(report.format)
    if hidden:
        place = "a folder" if report.folder else "a file"
        yield f"{report.destination} ({report.format}, {place}): what it holds is not counted."
        return
    of_one = report.rater is not None and form.holds is None
    whose = f"{report.rater} of {', '.join(report.panel)}" if report.panel else report.rater
    if form.holds is not None:
        what = pluralize(report.records, *form.holds)
        if report.labelled is not None:
            of = "" if whose is None else f" {'by' if report.panel else 'of'} {whose}"
            what += f", {report.labelled:,} with a label{of}"
        elif whose is not None:
            what += f", {'labels by' if report.panel else 'rater'} {whose}"
    elif of_one:
        what = f"{pluralize(report.records, 'current label')} {'by' if report.panel else 'of'} {whose}"
    else:
        what = f"{pluralize(report.records, 'judgment or mark', 'judgments and marks')}, of every rater"
    what = f"about {what}" if report.estimated else what
    place = "a folder" if report.folder else "a file"
    yield f"{report.destination}: {what} ({report.format}, {place})."
    if report.file:
        beside = f" with {', '.join(report.added)} beside its columns" if report.added else ""
        yield f"The rows of {report.file}{beside}."
    if report.unread:
        yield f"Left out: {pluralize(report.unread, 'row')} that cannot be read, as when it was imported."
    if report.view is not None:
        yield f"Only items of the view {report.view}." if report.view else "Only items that the queue lists."
    if report.study is not None:
        raters = "pseudonyms" if report.pseudonyms else "names"
        yield f"Of the study {report.study} alone, with the raters' {raters}."
    elif report.pseudonyms:
        yield "People have pseudonyms in place of their names."
    if report.names_left:
        where = ", ".join(f"{column} ({rows:,})" for column, rows in report.names_left.items())
        yield f"Names of people also stand in {where}. Read them before you publish."
    if report.split is not None:
        yield f"Of the split {report.split}: {', '.join(report.parts)}."
    if report.changes is not None:
        yield from change_lines(report.changes)
    if report.withdrawn:
        records = pluralize(report.withdrawn, "record")
        yield f"Left out: {records} of raters who withdrew. The full record has them with --with-withdrawn."
    if report.left_out and form.leaves_out is not None:
        why = ", ".join(f"{count:,} {one}" for one, count in report.why.items())
        yield f"Left out: {pluralize(report.left_out, *form.leaves_out)}{f': {why}' if why else ''}."
    elif report.left_out:
        yield f"Left out: {pluralize(report.left_out, 'item')} without a label of {report.rater}."
    if report.others:
        others = count_by_kind(report.others)
        yield f"Left out, since this format holds pairs: labels of {others}. Write them: --format labels"
    is_ones = report.rater not in POLICIES
    if of_one or (report.rater is not None and report.labelled is not None and is_ones):
        option = f"--label-as {shlex.quote(report.rater or '')}"
        yield f"The labels are written without the rater's name; to import them elsewhere as theirs: {option}"
