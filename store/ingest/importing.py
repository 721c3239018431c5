"""Import of files into a workspace, all or nothing, exactly as they are.

Every file is first read into staging tables of one cursor and checked; then everything is appended in one
transaction, beside the write lane, which goes on recording judgments meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from sqlalchemy import Connection

from store.child import yielded_by_child
from store.errors import ImportFailed, JudgmentRefused, place
from store.events import Progress, ReportProgress, silent
from store.formats.labels import is_earlier_export, is_export
from store.formats.retrieval import BEIR
from store.formats.table import TABLE
from store.formatting import pluralize
from store.ingest.contents import content_entities
from store.ingest.corpus import CorpusImport, PythonSources, is_corpus
from store.ingest.inputs import PLAIN, Input, detect_input, detect_inputs, listed
from store.ingest.pending import count_attached, count_conflicting
from store.ingest.problems import Problem, refused, write_rejects
from store.ingest.report import FileReport, ImportReport
from store.ingest.resolve_items import (
    item_counts,
    join_texts,
    number_items,
    publish_items,
    resolve_items,
    text_count,
)
from store.ingest.resolve_labels import (
    EARLIER_EXPORT,
    any_grade,
    count_of_comparisons,
    label_counts,
    matches_of_grades,
    outdated_matches,
    publish_labels,
    reserve,
    resolve_labels,
)
from store.ingest.resolve_records import (
    add_late_assignments,
    publish_judgments,
    record_counts,
    resolve_judgments,
    stage_carried_items,
)
from store.ingest.resolve_responses import (
    count_reopened_questions,
    publish_responses,
    resolve_responses,
    response_counts,
)
from store.ingest.resolve_traces import new_runs, publish_traces, resolve_traces, trace_counts
from store.ingest.rows import Batch, FileRead, read_files, shared_sorts, stage_columns
from store.ingest.sources import add_source, publishing
from store.ingest.staging import Stages
from store.kinds.spec import NamedQuestion, task_kinds, two_sided_kinds
from store.policy.refusal import refuse_packet
from store.processes import temporary_folder
from store.reading.files import RECORD_BYTES, InputFile, of_records, prepare
from store.reading.kept import Reading, keep_file
from store.record.ids import now
from store.record.rater_ref import RaterKind, name_fault
from store.record.raters import add_response_refs, guideline_number, rater_row, register_kinds
from store.sql import any_row, count
from store.workspace.duckdb import Workspace
from store.workspace.protected_paths import own_files, refuse_to_replace

ONE_AT_A_TIME = threading.Lock()
"""Held by the one import of this process, since keys are counted on from the highest."""


def import_files(
    workspace: Workspace,
    paths: Sequence[Path | str],
    *,
    sources: Sequence[PythonSources] = (),
    format: str | None = None,
    label_as: str | None = None,
    match_from: int | None = None,
    mapping: Mapping[str, str] | None = None,
    label_words: Mapping[str, float | None] | None = None,
    prefix: str = "",
    licence: str = "",
    model: str = "",
    setting: str = "",
    rejects: Path | None = None,
    dry_run: bool = False,
    record_bytes: int = RECORD_BYTES,
    all_functions: bool = False,
    progress: ReportProgress | None = None,
) -> ImportReport:
    """Import files into a workspace; when anything is wrong with any of them, nothing is imported.

    Files of codes or queries alone, and Python sources, become a corpus without items.

    Args:
        workspace: The open workspace.
        paths: The files; a folder means the data files in it. Files of one call may refer to each other.
        sources: Python sources in memory.
        format: The name of their format; detected from the content of each when None.
        label_as: Whose judgments the labels in pair files become; "<file> labels" by default.
        match_from: The least grade (`pair.relevance`) of which a label `match` is made, of others `no match`;
            None makes none.
        mapping: Our field name to the files' column, such as query -> question.
        label_words: What words in the columns of labels mean, beside those of the scale.
        prefix: Put before every external id.
        licence: Of the data, noted with the source.
        model: Whose responses the files hold, where they do not say it; their names by default.
        setting: Under which setting these, or the pieces of context, were made, where the files do not say.
        rejects: Where to write records that cannot be taken; the good ones are then imported.
        dry_run: Whether to do everything but import.
        record_bytes: The most that one record may have.
        all_functions: Whether a corpus takes functions without parameter or return value too.
        progress: Receives the progress, in this thread; an exception from it ends the import.

    Returns:
        The rows that were added from each file, and those that were there already.

    Raises:
        ImportFailed: A file cannot be read, or its format detected; `RecordsRefused` has the problems.
        UnknownName: There is no such format or field.
    """
    report = progress or silent
    refuse_packet(workspace, "Files are imported")
    if label_as is not None and (fault := name_fault(label_as.strip())):
        raise ImportFailed(
            "Not a rater's name",
            f"The name given with --label-as {fault}: {label_as!a}. Nothing was imported.",
            "Give a name of letters that can be seen, or leave --label-as away.",
        )
    files = listed(paths) if paths or not sources else []
    if rejects is not None:
        kept = [*own_files(workspace.path), *files]
        refuse_to_replace(rejects, kept, ImportFailed, option="--rejects")
        if rejects.exists():
            raise ImportFailed(
                "Already there",
                f"{rejects} exists. Nothing was imported.",
                "Choose another place for --rejects.",
            )
    with ONE_AT_A_TIME, temporary_folder("workbench-import-") as folder:

        def ready(number: int, path: Path) -> InputFile:
            return prepare(number, path, folder, report, record_bytes)

        inputs, empty = detect_inputs(files, format, mapping or {}, ready)
        if label_words:
            inputs = [replace(one, layout=one.layout.with_words(label_words)) for one in inputs]
        with closing(workspace.native()) as cursor:
            if is_corpus(inputs, with_sources=bool(sources)):
                texts = CorpusImport(
                    workspace, cursor, all_functions=all_functions, licence=licence, progress=report
                )
                return texts.run(inputs, sources, rejects, dry_run=dry_run)
            work = _Import(workspace, cursor, inputs, rejects, report, match_from=match_from)
            work.stage(prefix, model, setting, mapping)
            work.resolve(label_as)
            return replace(work.finish(licence, dry_run=dry_run), empty_files=empty)


def import_records(
    workspace: Workspace,
    records: Iterable[Mapping[str, Any]],
    *,
    format: str,
    source: str,
    label_as: str | None = None,
) -> ImportReport:
    """Import items or codes that are in memory as a file of JSON lines with them is imported; all or none.

    Of codes all functions are taken, whether they can be tested or not.

    Args:
        workspace: The open workspace.
        records: The items, and what comes with them, or the codes, as a format has them.
        format: The name of that format.
        source: The name of their source.
        label_as: Whose judgments their labels become; "<source> labels" by default.

    Raises:
        ImportFailed: There are none, or one is not of the format; `RecordsRefused` has the problems.
    """
    refuse_packet(workspace, "Files are imported")
    with (
        ONE_AT_A_TIME,
        temporary_folder("workbench-import-") as folder,
        closing(workspace.native()) as cursor,
    ):
        given = detect_input(of_records(source, records, folder), format, {})
        if is_corpus([given], with_sources=False):
            texts = CorpusImport(workspace, cursor, all_functions=True, licence="", progress=silent)
            return texts.run([given], [], None, dry_run=False)
        work = _Import(workspace, cursor, [given], None, silent, match_from=None)
        work.stage("", "", "", None)
        work.resolve(label_as)
        return work.finish("", dry_run=False)


_CHILD_BYTES = 8 << 20
"""Bytes of files from which a process of its own reads them; its start takes longer than to read fewer."""


class _Import:
    """One import: its staged files, and their problems."""

    def __init__(
        self,
        workspace: Workspace,
        cursor: duckdb.DuckDBPyConnection,
        inputs: Sequence[Input],
        rejects: Path | None,
        progress: ReportProgress,
        *,
        match_from: int | None,
    ) -> None:
        self._workspace = workspace
        self._cursor = cursor
        self._inputs = inputs
        self._rejects = rejects
        self._match_from = match_from
        self._progress = progress
        self._problems: list[Problem] = []
        self._stages = Stages(cursor)
        self._staged: list[FileRead] = []
        self._label_ids = (0, 0)
        self._label_as: str | None = None
        self._items_alone = False
        self._prefix = ""
        self._raters: dict[int, str] = {}
        labels = [one for one in inputs if one.layout.sort == "label" and one.format.converter is None]
        self._exported = [one.file.number for one in labels if is_export(one.sample.columns)]
        self._earlier = [one.file.number for one in labels if is_earlier_export(one.sample.columns)]
        self._in_file_order = [one.file.number for one in labels if one.file.number not in self._earlier]
        self._questions = {
            spec.name: NamedQuestion(kind, spec)
            for kind in task_kinds().values()
            for spec in kind.every_question
        }

    def stage(self, prefix: str, model: str, setting: str, mapping: Mapping[str, str] | None) -> None:
        """Read every file into the staging tables."""
        self._prefix = prefix
        read = partial(
            read_files,
            self._inputs,
            model=model,
            setting=setting,
            mapping=mapping,
            comparisons=self._comparisons(prefix),
        )
        if sum(given.file.size for given in self._inputs) < _CHILD_BYTES:
            self._take(read(give_way=self._workspace.lane.wait_for_keys), prefix)
        else:
            with yielded_by_child(read) as events:
                self._take(events, prefix)
        if self._problems and self._rejects is None:
            raise refused(self._problems, self._inputs)

    def _take(self, events: Iterator[Progress | Batch | FileRead], prefix: str) -> None:
        for event in events:
            if isinstance(event, Progress):
                self._progress(event)
            elif isinstance(event, Batch):
                self._stages.insert(event)
            else:
                given = self._inputs[event.file]
                if event.records == 0:
                    raise ImportFailed(
                        "Empty file",
                        f"{place(given.file.name, given.sample.first_line)}: the file holds no records. "
                        "Nothing was imported.",
                        "Check where it came from.",
                    )
                self._stages.end_file(event, prefix)
                self._staged.append(event)
                self._problems += event.problems

    def _comparisons(self, prefix: str) -> frozenset[str]:
        """Return the ids of the comparisons of the workspace, without the prefix, if files hold some."""
        kinds = two_sided_kinds() & {given.layout.sort for given in self._inputs}
        if not kinds:
            return frozenset()
        rows = self._cursor.execute(
            "SELECT substr(external_id, length($prefix) + 1) FROM item "
            "WHERE list_contains($kinds, kind) AND starts_with(external_id, $prefix)",
            {"prefix": prefix, "kinds": [*kinds]},
        )
        return frozenset(number for (number,) in rows.fetchall())

    def resolve(self, label_as: str | None) -> None:
        """Find the rows to which every record refers and those that are there; remove invalid records."""
        self._progress(Progress("comparing with the workspace", 0, None))
        stage_carried_items(self._stages)
        carried = ("kind", "external_id", "item_extra", "content")
        if problems := self._stages.unpack("judgment", carried, content_entities):
            self._reject(problems)
        self._items_alone = self._has_items_alone()
        self._add_questions()
        # Labels are compared with the current ones, so records from now on must be later.
        # A record of items has a label, a grade and the match that is made of it at most; one that is
        # converted may have several labels.
        labels = 3 * (
            sum(one.records for one in self._staged) + count(self._cursor, "SELECT count(*) FROM stage_label")
        )
        self._label_ids = reserve(self._workspace.ids, labels)
        self._workspace.lane.submit(lambda _: None, urgent=True).result()
        self._label_as = label_as
        self._raters = self._label_raters(label_as)
        while problems := self._compare():
            self._reject(problems)
        if self._items_alone:
            graded, outdated = False, 0
        else:
            graded = any_grade(self._cursor)
            outdated = outdated_matches(self._cursor) if graded and self._match_from is None else 0
        if outdated:
            raise ImportFailed(
                "Matches of earlier grades",
                f"Of {pluralize(outdated, 'new grade')} the earlier one was made a match or none, which "
                "would stay. Nothing was imported.",
                "Make them again, from the same grade on: --match-from N",
            )
        if self._match_from is not None and not graded and not self._problems:
            raise ImportFailed(
                "No grades",
                f"--match-from {self._match_from} makes labels of grades, and the files hold none. "
                "Nothing was imported.",
                "Name the column of the grades: --map relevance=COLUMN",
            )

    def _matches(self, number: int) -> dict[str, int]:
        """Return how many grades of a file, by its number, are a match and how many are none."""
        if self._match_from is None or self._items_alone:
            return {}
        return matches_of_grades(self._cursor, number, self._match_from)

    def _has_items_alone(self) -> bool:
        """Return whether only items are imported, as mostly: all that may come with them is left out then.

        Its statements cost as much for no row as for a thousand: three of four of an import of a small file.
        """
        beside = stage_columns().keys() - task_kinds().keys() - shared_sorts().keys()
        if any(self._stages.parts(sort) for sort in beside) or any_row(self._cursor, "pending_response"):
            return False
        kinds = [kind for kind in task_kinds() if self._stages.parts(kind)]
        columns = [
            (kind, column)
            for kind in kinds
            for column in ("label", *(spec.title for spec in task_kinds()[kind].imported))
        ]
        return not any(
            any_row(self._cursor, f"stage_{kind} WHERE {column} IS NOT NULL") for kind, column in columns
        )

    def _add_questions(self) -> None:
        """Add the questions about single responses that staged labels and judgments answer."""
        named = self._cursor.execute(
            "SELECT DISTINCT question FROM stage_label UNION SELECT DISTINCT question FROM stage_judgment"
        ).fetchall()
        for (name,) in named:
            if name and name not in self._questions and (found := NamedQuestion.parse(name)) is not None:
                self._questions[name] = found

    def _compare(self) -> list[Problem]:
        """Return the problems of the staged records; without any they are ready to be published."""
        if problems := join_texts(self._stages) or resolve_items(self._cursor):
            return problems
        number_items(self._cursor)
        if self._items_alone:
            return []
        if problems := resolve_responses(self._cursor):
            return problems
        problems = resolve_labels(
            self._cursor,
            self._questions,
            self._raters,
            self._in_file_order,
            self._exported,
            match_from=self._match_from,
        )
        problems += resolve_judgments(self._cursor, self._questions)
        return problems + resolve_traces(self._cursor)

    def _reject(self, problems: Sequence[Problem]) -> None:
        """Remove records from the staging tables, or refuse the import without --rejects."""
        first: dict[tuple[int, int], Problem] = {}
        for problem in problems:
            first.setdefault((problem.file, problem.number), problem)
        if self._rejects is None:
            raise refused(list(first.values()), self._inputs)
        self._problems += first.values()
        self._stages.remove(first)

    def _label_raters(self, label_as: str | None) -> dict[int, str]:
        return {
            given.file.number: f"{_origin(given)} labels" if label_as is None else label_as.strip()
            for given in self._inputs
            if any(one.name in ("label", "relevance") for one in given.layout.fields)
        }

    def finish(self, licence: str, *, dry_run: bool) -> ImportReport:
        """Write the rejects, publish new rows, and report the result of every file."""
        if self._rejects is not None and not dry_run:
            write_rejects(self._rejects, self._problems, self._inputs)
        report = self._report(dry_run=dry_run)
        is_unkept = any(
            _is_unkept(self._cursor, given, result)
            for given, result in zip(self._inputs, report.files, strict=True)
        )
        if dry_run or not (report.adds or report.rejected or is_unkept):
            return report
        self._progress(Progress("publishing", 0, 1))
        numbers = publish(
            self._workspace,
            self._cursor,
            self._inputs,
            report,
            licence,
            prefix=self._prefix,
            label_ids=self._label_ids,
            items_alone=self._items_alone,
        )
        self._progress(Progress("publishing", 1, 1))
        return report.with_sources(numbers)

    def _report(self, *, dry_run: bool) -> ImportReport:
        left_out = [problem.file for problem in self._problems]
        files = []
        for given, staged in zip(self._inputs, self._staged, strict=True):
            number = given.file.number
            queries, codes = (
                text_count(self._cursor, text, self._stages.offsets[number], staged.records)
                for text in ("query", "code")
            )
            beside = {} if self._items_alone else self._counts_beside_items(number)
            known = self._cursor.execute(
                "SELECT min(id) FROM source WHERE sha256 = ?", [given.file.sha256]
            ).fetchone()
            notes = {**staged.counts, **self._matches(number)}
            if number in self._earlier:
                notes[EARLIER_EXPORT] = count_of_comparisons(self._cursor, number)
            files.append(
                FileReport(
                    file=given.file.name,
                    format=given.format.name,
                    detected=given.detected,
                    why=given.why,
                    records=staged.records,
                    **item_counts(self._cursor, number),
                    **beside,
                    queries_added=queries,
                    codes_added=codes,
                    conversion_counts=notes,
                    rejected=left_out.count(number),
                    extra_kept=staged.extra if given.layout.extra else (),
                    extra_ignored=() if given.layout.extra else staged.extra,
                    source_id=known[0] if known else None,
                    imported_before=bool(known and known[0] is not None),
                )
            )
        rejects = None if self._rejects is None or dry_run else str(self._rejects)
        if self._items_alone:
            return ImportReport(tuple(files), dry_run, rejects)
        found, staying = count_attached(self._cursor), count_conflicting(self._cursor)
        return ImportReport(
            tuple(files), dry_run, rejects, found, staying, count_reopened_questions(self._cursor)
        )

    def _counts_beside_items(self, number: int) -> dict[str, Any]:
        """Count all but the items that a file, by its number, adds, by the names of `FileReport`."""
        labels, superseding, labels_known, orders = label_counts(self._cursor, number)
        judgments, marks, records_known = record_counts(self._cursor, number)
        assumed = number in self._raters and self._label_as is None and bool(labels or labels_known)
        return {
            **response_counts(self._cursor, number),
            **trace_counts(self._cursor, number),
            "judgments_added": {**judgments, **labels},
            "labels_superseding": superseding,
            "judgments_known": labels_known + records_known,
            "orders_added": orders,
            "rater_assumed": assumed,
            "marks_added": marks,
        }


def _origin(given: Input) -> str:
    """Return what the rater of a file's labels is named after: of a BEIR folder's parts the folder."""
    is_part = given.format.name == BEIR.name and given.file.path.parent.name == "qrels"
    return given.file.path.resolve().parent.parent.name if is_part else given.file.stem


_REFS_AT_ONCE = 5_000
"""References that are made in one write, which a judgment has to wait for."""


def publish(
    workspace: Workspace,
    cursor: duckdb.DuckDBPyConnection,
    inputs: Sequence[Input],
    report: ImportReport,
    licence: str,
    *,
    prefix: str,
    label_ids: tuple[int, int],
    items_alone: bool,
) -> dict[int, int]:
    """Append the staged and resolved rows, all or none.

    The transaction runs beside the write lane: it only appends, and to keys that nobody else gives.

    Args:
        workspace: The open workspace.
        cursor: The cursor that holds the staging tables.
        inputs: The files.
        report: The rows that they add.
        licence: Of the data.
        prefix: Put before every id.
        label_ids: The first of the ids reserved for labels.
        items_alone: Whether nothing was staged but items, and no response waits for one.

    Returns:
        File number to source id, for the files that add something.

    Raises:
        ImportFailed: A name is taken by a rater of another kind, or the workspace could not be written.
    """
    register_kinds(workspace)
    if not items_alone:
        _store_names(workspace, cursor)
    imported_at = now()
    with publishing(cursor):
        numbers = _add_sources(cursor, inputs, report, licence, imported_at, prefix=prefix)
        publish_items(cursor, numbers)
        if not items_alone:
            publish_responses(cursor, numbers, imported_at)
            publish_labels(cursor, label_ids, imported_at)
            publish_judgments(cursor, workspace.ids)
            publish_traces(cursor, workspace.ids)
    return numbers


def _store_names(workspace: Workspace, cursor: duckdb.DuckDBPyConnection) -> None:
    """Store the raters, guidelines and responses that the new records name."""
    raters: list[tuple[str, RaterKind]] = [
        (name, "import") for (name,) in cursor.execute("SELECT DISTINCT rater FROM fresh_label").fetchall()
    ]
    raters += [(name, "agent") for name in new_runs(cursor)]
    raters += cursor.execute(
        "SELECT DISTINCT trim(rater), coalesce(rater_kind, 'human') FROM new_record "
        "WHERE NOT (held OR repeated) ORDER BY 1"
    ).fetchall()
    versions = cursor.execute(
        "SELECT DISTINCT kind, guideline FROM new_record "
        "WHERE guideline IS NOT NULL AND NOT (held OR repeated)"
    ).fetchall()

    def write(connection: Connection) -> None:
        for name, rater_kind in sorted(raters):
            rater_row(connection, name, rater_kind)
        for kind_name, version in versions:
            guideline_number(connection, kind_name, version)
        add_late_assignments(connection, cursor)

    try:
        workspace.lane.submit(write, urgent=True).result()
    except JudgmentRefused as error:
        raise ImportFailed(error.title, f"{error.message} Nothing was imported.", error.hint) from error
    _store_response_refs(workspace, cursor)


def _store_response_refs(workspace: Workspace, cursor: duckdb.DuckDBPyConnection) -> None:
    """Make references to the responses that the new records are or name; in the lane, which gives keys."""
    found = cursor.execute(
        """
        SELECT DISTINCT item_id, model, setting, trial FROM (
            SELECT item_id, model, setting, trial FROM fresh_response
            UNION ALL SELECT item_id, model, setting, trial FROM attached
            UNION ALL SELECT item_id, model, setting, trial FROM fresh_label WHERE model IS NOT NULL
            UNION ALL SELECT item_id, model, setting, trial FROM new_record
                WHERE model IS NOT NULL AND NOT (held OR repeated)
            UNION ALL SELECT item_id, model, setting, trial FROM new_verdict
                WHERE model IS NOT NULL AND NOT held
        ) ANTI JOIN response_ref USING (item_id, model, setting, trial) ORDER BY ALL
        """
    )
    while rows := found.fetchmany(_REFS_AT_ONCE):

        def write(connection: Connection, rows: list[tuple[int, str, str, int]] = rows) -> None:
            add_response_refs(connection, rows)

        workspace.lane.submit(write).result()


def _add_sources(
    cursor: duckdb.DuckDBPyConnection,
    inputs: Sequence[Input],
    report: ImportReport,
    licence: str,
    imported_at: datetime,
    *,
    prefix: str,
) -> dict[int, int]:
    numbers: dict[int, int] = {}
    for given, result in zip(inputs, report.files, strict=True):
        is_unkept = _is_unkept(cursor, given, result)
        adds = result.adds or result.rejected or is_unkept
        if not adds and not (given.layout.sort in shared_sorts() and report.adds):
            continue
        number = result.source_id
        taken = result.records - result.rejected
        if number is None:
            number = add_source(
                cursor,
                sha256=given.file.sha256,
                name=given.file.path.name,
                format=given.format.name,
                licence=licence,
                records=taken,
                imported_at=imported_at,
                rejected=result.rejected,
            )
        else:
            # What was rejected before can have been taken now, with the items that it is about.
            cursor.execute(
                "UPDATE source SET records = ?, rejected = ? WHERE id = ?", [taken, result.rejected, number]
            )
        numbers[given.file.number] = number
        if is_unkept:
            replaces = _replaced(cursor, given, number)
            reading = Reading.of(given.file, given.sample, given.layout, prefix, replaces).to_json()
            cursor.execute("UPDATE source SET reading = ? WHERE id = ?", [reading, number])
            keep_file(cursor, number, given.file)
    return numbers


def _is_unkept(cursor: duckdb.DuckDBPyConnection, given: Input, result: FileReport) -> bool:
    """Tell whether a file is a table of pairs of which something was taken, and is not kept yet."""
    is_table = given.format.name in PLAIN and given.layout.sort == TABLE.sort
    if not is_table or result.records == result.rejected:
        return False
    return not count(
        cursor, f"SELECT count(*) FROM source_file WHERE source_id = {result.source_id or 0} AND part = 0"
    )


def _replaced(cursor: duckdb.DuckDBPyConnection, given: Input, number: int) -> list[int]:
    """Return the kept files of the same name all of whose items a file has: it is a later version of them."""
    rows = cursor.execute(
        """
        WITH met AS (
            SELECT w.source_id, count(DISTINCT w.id) AS number FROM new_item n JOIN item w ON w.id = n.known
            WHERE n.file = $file GROUP BY w.source_id
        )
        SELECT s.id FROM source s JOIN met ON met.source_id = s.id
        WHERE s.id <> $number AND s.name = $name AND s.reading <> ''
            AND met.number = (SELECT count(*) FROM item i WHERE i.source_id = s.id) ORDER BY s.id
        """,
        {"file": given.file.number, "number": number, "name": given.file.path.name},
    )
    return [source for (source,) in rows.fetchall()]
