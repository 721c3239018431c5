"""The report of an import, file by file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from store.formatting import pluralize
from store.json_fields import fields_of

# Names of fields that a sentence has; a record may have thousands.
_SHOWN = 40
_FILES_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """The result of one file.

    Attributes:
        file: Its name as it was given.
        detected: Whether the format was detected from the content.
        why: From what it was detected; "named" when it was not.
        corpus: Of what it holds the texts, where these make no items: "code" or "query".
        items_known: Items that were there already, with the same content.
        items_differing: Those of them whose other fields (rank, origin, extra) differ; stored values stay.
        queries_added: New query texts.
        codes_added: New snippets.
        responses_added: New responses of models to items that are here.
        pending_responses: New responses whose item is not here; they are kept until it is.
        scores_added: New scores of responses that judges gave.
        pending_scores: New scores of responses that were pending before.
        chunks_added: New pieces of context.
        responses_known: Responses, scores and pieces that were there already.
        steps_added: New steps of agents.
        verdicts_added: New verdicts by run.
        verdicts_known: Verdicts that were there already.
        conversion_counts: Changes and omissions of the conversion, with how often.
        judgments_added: New judgments by rater.
        labels_superseding: Those of them that are later than another label of the rater, and supersede it.
        judgments_known: Labels, judgments and marks that were there already.
        orders_added: New verdicts of judges in one order alone, of which their judgments are made.
        rater_assumed: Whether its labels were given to a rater named after the file, since nothing says whose
            they are.
        rejected: Records that could not be taken and were written to the rejects.
        extra_kept: Fields the format does not know, kept with each item.
        extra_ignored: Fields the format does not know and has no place for.
        source_id: The source row of the file; None when it added nothing.
        imported_before: Whether the very same file was imported before.
    """

    file: str
    format: str
    detected: bool
    why: str
    records: int
    corpus: str = ""
    items_added: int
    items_known: int
    items_differing: int
    queries_added: int
    codes_added: int
    responses_added: int = 0
    pending_responses: int = 0
    scores_added: int = 0
    pending_scores: int = 0
    chunks_added: int = 0
    responses_known: int = 0
    steps_added: int = 0
    verdicts_added: dict[str, int] = field(default_factory=dict)
    verdicts_known: int = 0
    conversion_counts: dict[str, int]
    judgments_added: dict[str, int] = field(default_factory=dict)
    labels_superseding: int = 0
    judgments_known: int = 0
    orders_added: int = 0
    rater_assumed: bool = False
    marks_added: int = 0
    rejected: int
    extra_kept: tuple[str, ...]
    extra_ignored: tuple[str, ...]
    source_id: int | None
    imported_before: bool

    @property
    def adds(self) -> bool:
        """Whether anything of it is new."""
        beside = self.responses_added + self.pending_responses + self.scores_added + self.chunks_added
        beside += self.pending_scores + self.steps_added + sum(self.verdicts_added.values())
        beside += self.orders_added
        if self.corpus:
            beside += self.queries_added + self.codes_added
        return bool(self.items_added or beside or self.marks_added or sum(self.judgments_added.values()))

    def sentence(self, *, dry_run: bool = False) -> str:
        """Return the result of the file as a line to read."""
        how = f"detected: {self.why}" if self.detected else "as named"
        would = "would be " if dry_run else ""
        parts = [f"{self.file}: {self.format} ({how}), {pluralize(self.records, 'record')}"]
        added, one, several = _ADDED[self.corpus](self)
        parts.append(f"{pluralize(added, one, several)} {would}added" if added else f"no {one} {would}added")
        beside = (
            (self.responses_added, "response"),
            (self.scores_added, "score"),
            (self.chunks_added, "chunk"),
        )
        parts += [f"{pluralize(number, name)} {would}added" for number, name in beside if number]
        if self.pending_responses:
            pending = pluralize(self.pending_responses, "response")
            parts.append(f"{pending} whose item is not here, or ambiguous, {would}stored as pending")
        if self.pending_scores:
            parts.append(f"{pluralize(self.pending_scores, 'score')} {would}added to pending responses")
        if self.responses_known:
            beside_items = ("response, score or chunk", "responses, scores and chunks")
            parts.append(f"{pluralize(self.responses_known, *beside_items)} already there")
        if self.items_known:
            parts.append(f"{pluralize(self.items_known, 'item')} already there")
        if self.items_differing:
            left = "would stay as they are" if dry_run else "left as they were"
            parts.append(f"{self.items_differing:,} of these with other details than stored, {left}")
        parts += [
            f"{pluralize(count, 'judgment')} of {rater!r}" + (" would be added" if dry_run else "")
            for rater, count in self.judgments_added.items()
        ]
        if self.labels_superseding:
            parts.append(f"{self.labels_superseding:,} of these {would}in place of an earlier one")
        if self.orders_added:
            parts.append(f"{pluralize(self.orders_added, 'verdict')} in one order alone {would}added")
        parts += [
            f"{pluralize(count, 'verdict')} of {run}" + (" would be added" if dry_run else "")
            for run, count in self.verdicts_added.items()
        ]
        if self.steps_added:
            parts.append(f"{pluralize(self.steps_added, 'step')} of agents {would}added")
        if self.verdicts_known:
            parts.append(f"{pluralize(self.verdicts_known, 'verdict')} already there")
        if self.rater_assumed:
            parts.append("the rater is named after the file; --label-as NAME changes it")
        if self.marks_added:
            parts.append(pluralize(self.marks_added, "mark") + (" would be added" if dry_run else ""))
        if self.judgments_known:
            parts.append(f"{pluralize(self.judgments_known, 'judgment')} already there")
        if self.rejected:
            parts.append(f"{self.rejected:,} {would}rejected")
        parts += [f"{name}: {number:,}" for name, number in self.conversion_counts.items() if number]
        if self.extra_kept:
            names, more = self.extra_kept[:_SHOWN], len(self.extra_kept) - _SHOWN
            parts.append(
                f"{would}kept as extra: {', '.join(names)}{f' and {more:,} more' if more > 0 else ''}"
            )
        if self.extra_ignored:
            parts.append(f"{would}left out: {', '.join(self.extra_ignored)}")
        if self.imported_before and not self.adds:
            parts.append("this very file was imported before")
        return "; ".join(parts)


_ADDED: dict[str, Callable[[FileReport], tuple[int, str, str]]] = {
    "": lambda file: (file.items_added, "item", "items"),
    "code": lambda file: (file.codes_added, "code", "codes"),
    "query": lambda file: (file.queries_added, "query", "queries"),
}
"""What a file adds above all, by its `corpus`: how many, and their name."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import.

    Attributes:
        files: Of each file, in the order given.
        dry_run: Whether nothing was imported since nothing was to be.
        rejects: Where refused records were written; None when they were not, as in a dry run.
        attached_responses: Pending responses whose item came with this import.
        conflicting_responses: Those that stay pending though their item is here: it has another text of the
            same model, setting and trial.
        empty_files: Files without records, which say that there is nothing of their sort.
        reopened_items: Items that were judged without responses and get some, so that they are judged again.
    """

    files: tuple[FileReport, ...]
    dry_run: bool = False
    rejects: str | None = None
    attached_responses: int = 0
    conflicting_responses: int = 0
    reopened_items: int = 0
    empty_files: tuple[str, ...] = ()

    @property
    def adds(self) -> bool:
        """Whether anything is new."""
        return any(file.adds for file in self.files)

    @property
    def items_added(self) -> int:
        """New items of all files."""
        return sum(file.items_added for file in self.files)

    @property
    def items_known(self) -> int:
        """Items of all files that were there already."""
        return sum(file.items_known for file in self.files)

    @property
    def rejected(self) -> int:
        """Records of all files that could not be taken."""
        return sum(file.rejected for file in self.files)

    @property
    def judgments_added(self) -> dict[str, int]:
        """New judgments of all files, by rater."""
        totals: dict[str, int] = {}
        for file in self.files:
            for rater, count in file.judgments_added.items():
                totals[rater] = totals.get(rater, 0) + count
        return totals

    def beside_files(self) -> list[str]:
        """Return the effects on items and responses that are in no file of this import, as sentences."""
        notes = []
        if self.empty_files:
            shown = ", ".join(self.empty_files[:_FILES_SHOWN])
            more = len(self.empty_files) - _FILES_SHOWN
            notes.append(
                f"Empty, as of issues without comments: {shown}{f' and {more:,} more' if more > 0 else ''}."
            )
        if self.attached_responses:
            notes.append(f"Pending responses attached to their item: {self.attached_responses:,}.")
        if self.conflicting_responses:
            notes.append(
                f"Still pending: {pluralize(self.conflicting_responses, 'response')} of an item that has "
                "another text of the same model, setting and trial. Number several of one setting: trial."
            )
        if self.reopened_items:
            notes.append(
                f"Open again: {pluralize(self.reopened_items, 'item')}, judged without responses and now "
                "with some. Labels of the reference or the thread stay in the record, and count no more."
            )
        return notes

    def with_sources(self, numbers: dict[int, int]) -> ImportReport:
        """Return the report with the source ids that publishing gave; numbers: file's place to source id."""
        files = tuple(
            replace(file, source_id=numbers.get(place, file.source_id))
            for place, file in enumerate(self.files)
        )
        return replace(self, files=files)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values for JSON."""
        return {
            **fields_of(self, "dry_run", "items_added", "items_known", "judgments_added"),
            **fields_of(self, "rejected", "rejects"),
            "responses_added": sum(file.responses_added for file in self.files),
            "pending_responses": sum(file.pending_responses for file in self.files),
            **fields_of(self, "attached_responses", "conflicting_responses", "reopened_items", "empty_files"),
            "files": [asdict(file) for file in self.files],
        }
