"""Import: files into a workspace, all or nothing, exactly as they are.

Every file is first read into staging tables of one cursor and checked; then everything is appended in one
transaction, beside the write lane, which goes on recording judgments meanwhile.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import duckdb
from sqlalchemy import Connection, insert, select

from store.bulk.files import InputFile, prepare
from store.bulk.inputs import Input, listed, tell
from store.bulk.judgments import publish_judgments, record_counts, resolve_judgments, take_items
from store.bulk.labels import label_counts, publish_labels, resolve_labels
from store.bulk.pairs import join_texts, number_items, pair_counts, publish_pairs, resolve_pairs
from store.bulk.problems import Problem, RecordsRefused, write_rejects
from store.bulk.staging import STAGE, Arrival, create_stages, located, stage
from store.errors import ImportFailed, JudgmentRefused
from store.events import Progress, Report, silent
from store.formats.protocol import Sample
from store.ids import now
from store.import_report import FileReport, ImportReport
from store.kinds.pair import MATCH
from store.kinds.protocol import QuestionSpec, task_kinds
from store.raters import RaterKind, next_number, rater_row, register_kinds
from store.tables.columns import table_of
from store.tables.people import Guideline
from store.workspace import Workspace

_ONE_AT_A_TIME = threading.Lock()
"""Held by the one import of this process that resolves and publishes, since keys are counted on from the highest."""

_MOST_KEPT = 1_000


def import_files(
    workspace: Workspace,
    paths: Sequence[Path | str],
    *,
    format: str | None = None,
    label_as: str | None = None,
    mapping: Mapping[str, str] | None = None,
    prefix: str = "",
    licence: str = "",
    rejects: Path | None = None,
    dry_run: bool = False,
    progress: Report | None = None,
) -> ImportReport:
    """Import files into a workspace; when anything is wrong with any of them, nothing is imported.

    Args:
        workspace: The open workspace.
        paths: The files; a folder stands for the data files in it. Files of one call may refer to each other.
        format: The name of their format; told from the content of each when None.
        label_as: Whose judgments the labels in pair files become; "<file> labels" by default.
        mapping: Our field name to the files' column, such as query -> question.
        prefix: Put before every external id.
        licence: Of the data, noted with the source.
        rejects: Where to write records that cannot be taken; the good ones are then imported.
        dry_run: Whether to do everything but import.
        progress: Is told how far it is, in this thread; what it raises ends the import with nothing imported.

    Returns:
        What was added from each file, and what was there already.

    Raises:
        ImportFailed: A file cannot be read or told; as `RecordsRefused` it carries the records that are wrong.
        UnknownName: There is no such format or field.
    """
    report = progress or silent
    with _ONE_AT_A_TIME, tempfile.TemporaryDirectory(prefix="workbench-import-") as folder:
        inputs = [
            tell(prepare(number, path, Path(folder), report), format, mapping or {})
            for number, path in enumerate(listed(paths))
        ]
        cursor = workspace.native()
        try:
            work = _Import(workspace, cursor, inputs, rejects, report)
            work.stage(prefix)
            work.resolve(label_as)
            return work.finish(licence, dry_run=dry_run)
        finally:
            cursor.close()


class _Import:
    """One import: what was staged of its files, and what is wrong with them."""

    def __init__(
        self,
        workspace: Workspace,
        cursor: duckdb.DuckDBPyConnection,
        inputs: Sequence[Input],
        rejects: Path | None,
        progress: Report,
    ) -> None:
        self._workspace = workspace
        self._cursor = cursor
        self._inputs = inputs
        self._rejects = rejects
        self._progress = progress
        self._problems: list[Problem] = []
        self._records: list[int] = []
        self._extra: list[tuple[str, ...]] = []
        self._names = [given.file.name for given in inputs]
        self._questions: dict[str, tuple[str, QuestionSpec]] = {
            spec.name: (kind.name, spec) for kind in task_kinds().values() for spec in kind.questions
        }

    def stage(self, prefix: str) -> None:
        """Read every file into the staging tables."""
        create_stages(self._cursor)
        for given in self._inputs:
            arrival = Arrival(self._cursor, given.file, given.sample, given.layout, sum(self._records))
            staging = stage(arrival, prefix, self._progress)
            if staging.records == 0:
                raise ImportFailed(
                    "Empty file",
                    f"{given.file.path} holds no records. Nothing was imported.",
                    "Check where it came from.",
                )
            self._records.append(staging.records)
            self._extra.append(staging.extra)
            self._problems += staging.problems
        if self._problems and self._rejects is None:
            self._refuse(self._problems)
        makes = {given.layout.makes for given in self._inputs}
        if makes <= {"query", "code"}:
            raise ImportFailed(
                "No pairs",
                f"{', '.join(self._names)}: texts of queries or codes alone make no items. Nothing was imported.",
                "Import them together with the file of pairs that refers to them.",
            )

    def resolve(self, label_as: str | None) -> None:
        """Find what every record refers to and what is there already, until nothing is wrong with what is left."""
        self._progress(Progress("comparing with the workspace", 0, None))
        cursor = self._cursor
        cursor.execute("UPDATE stage_label SET question = ? WHERE coalesce(question, '') = ''", [MATCH.name])
        take_items(cursor)
        raters = self._label_raters(label_as)
        while problems := self._compare(raters):
            self._set_aside(problems)

    def _compare(self, raters: dict[int, str]) -> list[Problem]:
        """Return what is wrong with the staged records; when nothing is, they are ready to be published."""
        if problems := join_texts(self._cursor) or resolve_pairs(self._cursor):
            return problems
        number_items(self._cursor)
        problems = resolve_labels(self._cursor, self._questions, raters)
        return problems + resolve_judgments(self._cursor, self._questions)

    def _set_aside(self, problems: Sequence[Problem]) -> None:
        """Take records out of the staging tables, or refuse the import when nobody asked for that."""
        first: dict[tuple[int, int], Problem] = {}
        for problem in problems:
            first.setdefault((problem.file, problem.number), problem)
        if self._rejects is None:
            self._refuse(list(first.values()))
        self._problems += first.values()
        self._cursor.execute("CREATE OR REPLACE TEMP TABLE refused (file INTEGER, number BIGINT)")
        self._cursor.executemany("INSERT INTO refused VALUES (?, ?)", [list(key) for key in first])
        for makes in STAGE:
            self._cursor.execute(
                f"DELETE FROM stage_{makes} WHERE (file, number) IN (SELECT (file, number) FROM refused)"
            )

    def _label_raters(self, label_as: str | None) -> dict[int, str]:
        return {
            given.file.number: label_as or f"{given.file.stem} labels"
            for given in self._inputs
            if given.layout.makes == "pair"
        }

    def _refuse(self, problems: Sequence[Problem]) -> None:
        told = located(problems[:_MOST_KEPT], *self._sources())
        raise RecordsRefused(
            [(self._names[problem.file], problem.line, problem.reason) for problem in told], len(problems)
        )

    def _sources(self) -> tuple[list[InputFile], list[Sample]]:
        return [given.file for given in self._inputs], [given.sample for given in self._inputs]

    def finish(self, licence: str, *, dry_run: bool) -> ImportReport:
        """Write the rejects, publish what is new, and say what came of every file."""
        if self._rejects is not None:
            placed = located(self._problems, *self._sources())
            write_rejects(self._rejects, placed, self._names)
        report = self._report(dry_run=dry_run)
        if dry_run or not report.adds:
            return report
        self._progress(Progress("publishing", 0, 1))
        self._store_names()
        numbers = self._publish(report, licence)
        self._progress(Progress("publishing", 1, 1))
        return report.with_sources(numbers)

    def _report(self, *, dry_run: bool) -> ImportReport:
        refused = [problem.file for problem in self._problems]
        files = []
        for given, records, extra in zip(self._inputs, self._records, self._extra, strict=True):
            number = given.file.number
            pairs = pair_counts(self._cursor, number, sum(self._records[:number]), records)
            labels, labels_known = label_counts(self._cursor, number)
            judgments, marks, records_known = record_counts(self._cursor, number)
            known = self._cursor.execute(
                "SELECT min(id) FROM source WHERE sha256 = ?", [given.file.sha256]
            ).fetchone()
            files.append(
                FileReport(
                    file=given.file.name,
                    format=given.format.name,
                    detected=given.detected,
                    why=given.why,
                    records=records,
                    items_added=pairs.added,
                    items_known=pairs.known,
                    items_differing=pairs.differing,
                    queries_added=pairs.queries,
                    codes_added=pairs.codes,
                    judgments_added={**judgments, **labels},
                    judgments_known=labels_known + records_known,
                    marks_added=marks,
                    rejected=refused.count(number),
                    extra_kept=extra if given.layout.extra else (),
                    extra_ignored=() if given.layout.extra else extra,
                    source_id=known[0] if known else None,
                    imported_before=bool(known and known[0] is not None),
                )
            )
        return ImportReport(tuple(files), dry_run, None if self._rejects is None else str(self._rejects))

    def _store_names(self) -> None:
        """Store the raters, questions and guidelines that the new records name, through the lane."""
        raters: list[tuple[str, RaterKind]] = [
            (name, "import")
            for (name,) in self._cursor.execute("SELECT DISTINCT rater FROM fresh_label").fetchall()
        ]
        raters += self._cursor.execute(
            "SELECT DISTINCT trim(rater), coalesce(rater_kind, 'human') FROM new_record "
            "WHERE NOT (held OR repeated) ORDER BY 1"
        ).fetchall()
        versions = self._cursor.execute(
            "SELECT DISTINCT kind, guideline FROM new_record WHERE guideline IS NOT NULL AND NOT (held OR repeated)"
        ).fetchall()

        def write(connection: Connection) -> None:
            for name, kind in raters:
                rater_row(connection, name, kind)
            for kind_name, version in versions:
                _ensure_guideline(connection, kind_name, version)

        register_kinds(self._workspace)
        try:
            self._workspace.lane.submit(write, urgent=True).result()
        except JudgmentRefused as error:
            raise ImportFailed(error.title, f"{error.message} Nothing was imported.", error.hint) from error

    def _publish(self, report: ImportReport, licence: str) -> dict[int, int]:
        """Append everything in one transaction; return file number to source id."""
        cursor, imported_at = self._cursor, now()
        cursor.execute("BEGIN")
        try:
            numbers = self._add_sources(report, licence, imported_at)
            publish_pairs(cursor, numbers)
            publish_labels(cursor, self._workspace.ids, imported_at)
            publish_judgments(cursor, self._workspace.ids)
            cursor.execute("COMMIT")
        except duckdb.Error as error:
            cursor.execute("ROLLBACK")
            raise ImportFailed(
                "Import failed", f"The workspace could not be written: {error}. Nothing was imported.", ""
            ) from error
        except BaseException:
            cursor.execute("ROLLBACK")
            raise
        return numbers

    def _add_sources(self, report: ImportReport, licence: str, imported_at: datetime) -> dict[int, int]:
        row = self._cursor.execute("SELECT coalesce(max(id), 0) FROM source").fetchone()
        highest = int(row[0]) if row else 0
        numbers: dict[int, int] = {}
        for given, told in zip(self._inputs, report.files, strict=True):
            adds = told.adds or (given.layout.makes in ("query", "code") and report.adds)
            if not adds:
                continue
            if told.source_id is not None:
                numbers[given.file.number] = told.source_id
                continue
            highest += 1
            numbers[given.file.number] = highest
            self._cursor.execute(
                "INSERT INTO source (id, sha256, name, format, licence, url, records, imported_at) "
                "VALUES (?, ?, ?, ?, ?, '', ?, ?)",
                [
                    highest,
                    given.file.sha256,
                    given.file.path.name,
                    given.format.name,
                    licence,
                    told.records - told.rejected,
                    imported_at,
                ],
            )
        return numbers


def _ensure_guideline(connection: Connection, kind: str, version: str) -> None:
    table = table_of(Guideline)
    known = select(table.c.id).where(table.c.task_kind == kind, table.c.version == version)
    if connection.execute(known).first() is None:
        number = next_number(connection, table)
        connection.execute(
            insert(table).values(
                id=number, task_kind=kind, version=version, text="(its text was not imported)"
            )
        )
