"""The content of a workspace at one moment, as writers of formats read it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import duckdb

from store.analysis.labels import named_question
from store.errors import ExportFailed
from store.events import Progress, ReportProgress
from store.export import labelled, labels, records
from store.export.bundle import write_bundle
from store.export.decided import Deciding, create_decided
from store.export.items import pending, stored_items
from store.export.own_file import OwnFile, kept_table
from store.export.studied import ISO_8601
from store.export.tables import TableForm, table_writer
from store.export.traces import traces
from store.export.true_labels import TrueLabels
from store.formats.protocol import Corpus, CurrentLabel, Entity, Rows, StoredItem, WriteResult
from store.kinds.pair import MATCH, PAIR
from store.kinds.spec import NamedQuestion, task_kinds
from store.record.ids import now
from store.record.revisions import current_texts, mended_by_people
from store.splits.splits import agreement_words
from store.sql import count, named, quoted
from store.workspace.schema import tables_of

_ROWS, _LINES = 5_000, 1_000
_COUNTED = 2_000
"""Records that a dry run looks at one by one; of more their number is estimated."""
_TIMES = f"TIMESTAMPFORMAT '{ISO_8601}'"
_COPY = {
    "jsonl": f"FORMAT json, {_TIMES}",
    "csv": f"FORMAT csv, HEADER, {_TIMES}",
    "parquet": "FORMAT parquet, COMPRESSION zstd",
}


class Counted(Exception):
    """Ends a writer in a dry run, once it is known how much it would write."""

    def __init__(self, result: WriteResult) -> None:
        super().__init__()
        self.result = result


def batches(cursor: duckdb.DuckDBPyConnection, select: str) -> Iterator[list[tuple[Any, ...]]]:
    """Yield what a SELECT comes to, in batches of rows."""
    rows = cursor.execute(select)
    while batch := rows.fetchmany(_ROWS):
        yield batch


@dataclass(slots=True)
class SelectedRows:
    """Rows of a workspace that can be written as a table (see store.formats.protocol.Rows)."""

    content: WorkspaceContent
    select: str
    columns: tuple[str, ...]
    written: WriteResult

    def of(self, *names: str, part: str | None = None) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the values of some columns, in batches of rows."""
        self.content.end_dry_run(self.written)
        yield from batches(self.content.cursor, self._selected(names, part))

    def _selected(self, columns: Sequence[str], part: str | None) -> str:
        only = "" if part is None else f" WHERE part = {quoted(part)}"
        names = ", ".join(map(named, columns))
        return f"SELECT {names} FROM ({self.select}){only}"

    def copy(
        self,
        form: Literal["jsonl", "csv", "parquet"],
        *,
        file: Path | None = None,
        part: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> WriteResult:
        """Write them to a file, and return how many they are."""
        content, total = self.content, self.written.records
        content.end_dry_run(self.written)
        content.progress(Progress("writing", 0, total))
        target = quoted(str(content.target if file is None else file))
        select = self.select
        if part is not None or columns is not None:
            select = self._selected(columns or self.columns, part)
        content.cursor.execute(f"COPY ({select}) TO {target} ({_COPY[form]})")
        content.progress(Progress("writing", total, total))
        return self.written


@dataclass(slots=True)
class WorkspaceContent:
    """The source of a writer (see store.formats.protocol.Export).

    Attributes:
        cursor: A native cursor of the workspace, inside a read transaction.
        of_view: Whether only the items of a saved view are written.
        dry_run: Whether it is only counted what would be written; see `Counted`.
        question: The question that the labels are of; None for the main one of the first kind with labels.
        decided_by: What a table says of the labels of the rater: `expert`, `agents`, `imported`, or a policy.
        shown_run: The run whose labels of pairs are the agents' in a table; None for none.
        comments: Whether people's comments are written.
        file: The name of the imported file that is given back; None for the only one.
        every_item: Whether all items are written.
    """

    cursor: duckdb.DuckDBPyConnection
    target: Path
    rater_id: int | None
    progress: ReportProgress
    name: str = ""
    setting: str | None = None
    only_kept: bool = False
    truth: TrueLabels | None = None
    corpus: Corpus = "judged"
    pseudonyms: bool = False
    without_replies: bool = False
    with_withdrawn: bool = False
    of_view: bool = False
    dry_run: bool = False
    question: NamedQuestion | None = None
    decided_by: str = ""
    shown_run: UUID | None = None
    comments: bool = False
    file: str | None = None
    every_item: bool = True

    def end_dry_run(self, result: WriteResult) -> None:
        """End the writer where nothing is to be written.

        Raises:
            Counted: This is a dry run.
        """
        if self.dry_run:
            raise Counted(result)

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the split whose items are written, in order; empty without a split."""
        return () if self.truth is None else self.truth.parts

    def record(self) -> Rows:
        """Return every judgment and mark, with the items."""
        select = records.records(self.cursor)
        total = count(
            self.cursor,
            f"""SELECT (SELECT count(*) FROM exported_judgment WHERE item_id IN {labels.EXPORTED})
                + (SELECT count(*) FROM exported_mark WHERE item_id IN {labels.EXPORTED})""",
        )
        return SelectedRows(self, select, records.RECORD_COLUMNS, WriteResult(total))

    def table(self, form: TableForm) -> WriteResult:
        """Write a row for each pair with its label and who decided it: the imported file, if one is kept.

        Raises:
            ExportFailed: There are no pairs, the rater has no label of one, or it is not clear which file.
        """
        asked = NamedQuestion(PAIR, MATCH) if self.truth is None else named_question(self.truth.question)
        pairs = count(
            self.cursor, f"SELECT count(*) FROM item WHERE kind = 'pair' AND id IN {labels.EXPORTED}"
        )
        if asked.kind.name != PAIR.name or not pairs:
            hint = "Write labels of any kind: --format labels; or the record: --format judgments"
            what = f"The labels are of {asked.kind.plural}" if pairs else "There are no pairs"
            if not pairs and not self.every_item:
                what, hint = "No pair is among the items that were chosen", "Choose others."
            raise ExportFailed("No pairs", f"{what}, and a table has a row for each pair.", hint)
        deciding = Deciding(
            asked.spec, self.rater_id, self.decided_by, self.shown_run, bool(self.parts), self.comments
        )
        added = create_decided(self.cursor, deciding)
        others = labels.others_labelled(self.cursor, PAIR)
        labelled = count(self.cursor, "SELECT count(label) FROM decided")
        if self.rater_id is not None and not labelled:
            raise labels.no_label(PAIR, others)
        if (kept := kept_table(self.cursor, self.file)) is not None:
            own = OwnFile(self.cursor, kept, added, every_row=self.every_item, progress=self.progress)
            if self.dry_run:
                self.end_dry_run(replace(own.counted(), others=others))
            return replace(own.write(form, self.target), others=others)
        result = WriteResult(pairs, labelled=labelled, others=others)
        self.end_dry_run(result)
        columns = [name for name in labels.label_columns(PAIR) if name not in ("label", "extra")]
        cells = ", ".join(f"d.{name}::{type_} AS {name}" for name, type_ in added.items())
        select = f"""
            SELECT {", ".join(columns)}, {cells}, CAST(extra AS JSON) AS extra FROM (
                SELECT i.external_id AS id, i.id AS place, p.*, m.similarity, i.extra
                FROM item i JOIN ({PAIR.record.select}) p ON p.item_id = i.id
                LEFT JOIN {labels.similarities(self.cursor)} m ON m.item_id = i.id
            ) JOIN decided d ON d.item_id = place ORDER BY place"""
        if form != "xlsx":
            self.cursor.execute(f"COPY ({select}) TO {quoted(str(self.target))} ({_COPY[form]})")
        else:
            with table_writer(form, self.target, columns, {**added, "extra": "VARCHAR"}, None) as out:
                for rows in batches(self.cursor, select):
                    out.write([(row, ()) for row in rows])
        return result

    def labels(self, kind: str) -> Rows:
        """Return the rater's current labels of a kind."""
        assert self.rater_id is not None
        spec = task_kinds()[kind]
        columns = self._with_part(labels.label_columns(spec))
        select = labels.labels(self.cursor, self.rater_id, spec, columns)
        return SelectedRows(self, select, columns, labels.written_labels(self.cursor, spec))

    def long_labels(self) -> Rows:
        """Return the current labels of the rater or of all, one for each item, question and rater."""
        columns = self._with_part(labels.LONG_COLUMNS)
        select = labels.long_labels(self.cursor, self.rater_id, columns)
        total = count(self.cursor, f"SELECT count(*) FROM {labels.CURRENT_LABEL}")
        return SelectedRows(self, select, columns, WriteResult(total))

    def _with_part(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Return the columns of labels, with the part of a split where there is one."""
        return (*columns, "part") if self.parts else columns

    def asked(self) -> NamedQuestion:
        """Return the question that the labels are of: of the true labels, that asked for, or the main one.

        Raises:
            ExportFailed: There is no label.
        """
        if self.truth is not None:
            return named_question(self.truth.question)
        if self.question is not None:
            return self.question
        labels.create_current_labels(self.cursor, self.rater_id)
        there = labels.labelled_items(self.cursor)
        for kind in task_kinds().values():
            if kind.name in there:
                return NamedQuestion(kind, kind.main_question)
        raise ExportFailed(
            "Nothing to export", "There is no label.", "See what is there: workbench items WORKSPACE"
        )

    def labelled(self) -> Rows:
        """Return the labelled items of the question that the labels are of, with their provenance."""
        assert self.rater_id is not None
        asked = self.asked()
        select = labelled.labelled(self.cursor, self.rater_id, asked.kind, asked.spec)
        columns = labelled.labelled_columns(asked.kind, asked.spec)
        return SelectedRows(
            self, select, columns, WriteResult(labelled.count_labelled(self.cursor, asked.spec))
        )

    def graded(self) -> Rows:
        """Return the graded pairs of a retrieval benchmark."""
        assert self.rater_id is not None
        asked = self.asked()
        if asked.kind.name != PAIR.name:
            raise ExportFailed(
                "No pairs",
                f"A retrieval benchmark holds pairs; the labels are of {asked.kind.plural}.",
                "Use --format hugging-face, or --question pair.match.",
            )
        total = labelled.create_graded(self.cursor, self.rater_id, asked.kind, asked.spec)
        return SelectedRows(self, labelled.GRADED, labelled.GRADED_COLUMNS, WriteResult(total))

    def graded_provenance(self) -> Rows:
        """Return the labels behind the graded pairs."""
        asked = self.asked()
        select = labelled.graded_provenance(self.cursor, asked.kind, asked.spec)
        total = count(self.cursor, f"SELECT count(*) FROM {labels.CURRENT_LABEL}")
        return SelectedRows(self, select, labelled.GRADED_PROVENANCE, WriteResult(total))

    def query_texts(self) -> Iterator[list[tuple[str, str, str]]]:
        """Yield the queries of a retrieval benchmark, as key, text and part, in batches."""
        return batches(self.cursor, labelled.query_select(self.asked().kind))

    def corpus_texts(self) -> Iterator[list[tuple[str, str, str]]]:
        """Yield the codes of a retrieval benchmark, as key, text and title, in batches."""
        everything = self.corpus == "all"
        return batches(self.cursor, labelled.corpus_select(self.asked().kind, everything=everything))

    def matrix(self, *, wide: bool) -> Rows:
        """Return every unit with every rater's label."""
        raters = None if self.truth is None or not self.truth.raters else self.truth.raters
        kind, spec = self.asked().kind, self.asked().spec
        labelled.create_matrix(self.cursor, kind, spec, raters)
        group = labelled.matrix_group(kind)
        if wide:
            columns = ("unit", *group, *labelled.matrix_raters(self.cursor))
            total = count(self.cursor, "SELECT count(DISTINCT unit) FROM matrix_cell")
            return SelectedRows(self, labelled.matrix_wide(self.cursor, kind), columns, WriteResult(total))
        total = count(self.cursor, "SELECT count(value) FROM matrix_cell")
        return SelectedRows(
            self,
            labelled.matrix_long(self.cursor, kind),
            (*labelled.MATRIX_COLUMNS, *group),
            WriteResult(total),
        )

    def described(self) -> Mapping[str, Any]:
        """Return what a card says of the export."""
        asked = self.asked()
        licences: list[tuple[str, int]] = []
        if "licence" in asked.kind.record.columns:
            licences = self.cursor.execute(
                f"SELECT licence, count(*) FROM ({asked.kind.record.select}) p "
                f"WHERE item_id IN {labels.EXPORTED} GROUP BY licence ORDER BY licence"
            ).fetchall()
        values = asked.kind.values_up_to(asked.spec, labels.highest_value(self.cursor, asked.spec))
        split = None
        if self.truth is not None and self.truth.split is not None:
            found = self.truth.split
            split = {**found.to_dict(), "agreement_words": agreement_words(found.report)}
            names = self.cursor.execute(
                "SELECT r.name, e.name FROM rater r JOIN exported_rater e USING (id)"
            ).fetchall()
            against = split["truth"]["against"]
            split["truth"]["against"] = dict(names).get(against, against)
        return {
            "kind": asked.kind.name,
            "plural": asked.kind.plural,
            "question": asked.spec.name,
            "text": asked.spec.text,
            "values": {f"{one.value:g}": one.word for one in values},
            "labels": None if self.truth is None else self.truth.name,
            "split": split,
            "licences": dict(licences),
            "rejected": count(self.cursor, "SELECT sum(rejected) FROM source"),
            "made_at": now(),
        }

    def labelled_items(
        self, kind: str
    ) -> tuple[WriteResult, Iterator[tuple[Entity, Sequence[CurrentLabel]]]]:
        """Return every item of a kind with the current labels of the rater, or of all people, on it.

        Raises:
            ExportFailed: There is none.
        """
        found = labels.labels_by_item(self.cursor, self.rater_id, task_kinds()[kind])
        self.end_dry_run(found[0])
        return found

    def bundle(self) -> WriteResult:
        """Write every table of the workspace, and a manifest, to the target."""
        if self.dry_run:
            rows = (
                count(self.cursor, f"SELECT count(*) FROM {named(table)}") for table in tables_of(self.cursor)
            )
            self.end_dry_run(
                WriteResult(sum(rows), estimated=self.without_replies or not self.with_withdrawn)
            )
        return write_bundle(
            self.cursor,
            self.target,
            self.progress,
            pseudonyms=self.pseudonyms,
            without_replies=self.without_replies,
            with_withdrawn=self.with_withdrawn,
        )

    def traces(self) -> Iterator[Mapping[str, Any]]:
        """Yield the trace of every item that the run `rater_id` has a step or a verdict of."""
        assert self.rater_id is not None
        return traces(self.cursor, self.rater_id)

    def items(self, kind: str, *, chunks: bool = False, responses: bool = False) -> Iterator[StoredItem]:
        """Yield every item of a kind, in the order of import."""
        return stored_items(self.cursor, task_kinds()[kind], chunks=chunks, responses=responses)

    def responses(self, kind: str) -> Iterator[tuple[Entity, list[Entity]]]:
        """Yield the wanted responses to items of a kind with their scores, pending ones last."""
        for entry in self.items(kind, responses=True):
            yield from (found for found in entry.responses if self.wanted(found[0]))
        if self.of_view:
            return
        yield from (found for found in pending(self.cursor, task_kinds()[kind]) if self.wanted(found[0]))

    def answers(self, kind: str) -> Mapping[int, Mapping[str, float]]:
        """Return the rater's current labels of a kind, by item and question."""
        assert self.rater_id is not None
        return labels.values_of(self.cursor, self.rater_id, task_kinds()[kind])

    def settings(self, kind: str) -> list[str]:
        """Return the settings under which items of a kind have context.

        Raises:
            ExportFailed: The one that is wanted is none of them.
        """
        found = self.cursor.execute(
            "SELECT DISTINCT setting FROM context_chunk c JOIN item i ON i.id = c.item_id "
            "WHERE i.kind = ? ORDER BY setting",
            [kind],
        )
        settings = [str(name) for (name,) in found.fetchall()]
        if self.setting is not None and self.setting not in settings:
            known = ", ".join(repr(name) for name in settings)
            known = known or f"none, for any of the {task_kinds()[kind].plural}"
            raise ExportFailed(
                "No such context",
                f"There is no context under the setting {self.setting!r}. There is: {known}.",
                "Name one of these, or leave --setting away where there is one or none.",
            )
        return settings

    def revised(self) -> Mapping[int, Mapping[str, str]]:
        """Return the texts of items that experts revised, by item and column."""
        return current_texts(self.cursor)

    def mended(self) -> AbstractSet[int]:
        """Return the items of which a person wrote a current text."""
        return mended_by_people(self.cursor)

    def claimed(self, question: str) -> AbstractSet[int]:
        """Return the items for which agents gave a verdict on a question."""
        rows = self.cursor.execute(
            "SELECT DISTINCT v.item_id FROM verdict v JOIN question q ON q.id = v.question_id "
            "WHERE q.name = ? AND v.response_ref_id IS NULL",
            [question],
        )
        return {item_id for (item_id,) in rows.fetchall()}

    def wanted(self, made: Entity) -> bool:
        """Return whether something is of the setting that is wanted."""
        return self.setting is None or made.fields["setting"] == self.setting

    def write_lines(
        self, records: Iterator[Mapping[str, Any] | None], table: str, nothing: str
    ) -> WriteResult:
        """Write records as JSON lines to the target; None for one that is left out.

        Raises:
            ExportFailed: There is none.
        """
        total = count(self.cursor, f"SELECT count(*) FROM {table}")
        written = left_out = 0
        if self.dry_run:
            looked_at = list(islice((record is not None for record in records), _COUNTED))
            written, left_out = looked_at.count(True), looked_at.count(False)
            if written:
                more = len(looked_at) == _COUNTED < total
                self.end_dry_run(WriteResult(total if more else written, left_out, estimated=more))
            raise ExportFailed("Nothing to export", nothing, "See what is there: workbench items WORKSPACE")
        with self.target.open("w", encoding="utf-8", newline="\n") as file:
            for record in records:
                if record is None:
                    left_out += 1
                    continue
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
                written += 1
                if written % _LINES == 0:
                    self.progress(Progress("writing", written, max(total, written)))
        if not written:
            raise ExportFailed("Nothing to export", nothing, "See what is there: workbench items WORKSPACE")
        self.progress(Progress("writing", written, written))
        return WriteResult(written, left_out)
