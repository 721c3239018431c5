"""Import of a corpus: codes and queries without items, from which candidate pairs are made later.

Codes are filtered by the rule of CoSQA+ (section IV.A), and texts that are there already, or twice, are left
out; the report counts what was left out and why.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow

from store.errors import ImportFailed
from store.events import Progress, ReportProgress
from store.formats.corpus import PYTHON
from store.ingest.inputs import Input
from store.ingest.problems import Problem, refused, write_rejects
from store.ingest.python_functions import functions_of, why_not_testable
from store.ingest.report import FileReport, ImportReport
from store.ingest.sources import add_source, publishing
from store.reading.layout import plan_of
from store.reading.records import read_batches
from store.record.ids import now
from store.sql import count
from store.workspace.duckdb import Workspace

CORPUS_SORTS = {"corpus_code": "code", "corpus_query": "query", "code": "code", "query": "query"}
"""The table of each sort of record that is a text without an item."""

_ALONE = frozenset({"corpus_code", "corpus_query"})

TWICE = "twice in this import"
KNOWN = "already in the workspace"
NOT_READ = "files that are not Python 3"

_BATCH = 1_000
_ABOUT = ("name", "repository", "path", "language", "licence")
_COLUMNS = ("file", "number", "sort", "text", *_ABOUT)

_SAME = {
    # Line ends, blanks at line ends and blank lines make no other code.
    "code": "md5(regexp_replace(trim({0}, e' \\t\\r\\n'), '[ \\t\\r]*\\n([ \\t\\r]*\\n)*', e'\\n', 'g'))",
    "query": "md5(lower(regexp_replace(trim({0}, e' \\t\\r\\n'), '\\s+', ' ', 'g')))",
}
"""What two texts of a table have in common that are the same, as SQL."""


class CorpusText(NamedTuple):
    """A text of a corpus, and where it comes from; `number` is its record in the file, from 1."""

    number: int
    text: str
    name: str = ""
    repository: str = ""
    path: str = ""
    language: str = ""
    licence: str = ""


@dataclass(frozen=True, slots=True)
class PythonSources:
    """Python sources in memory, whose functions become codes.

    Attributes:
        place: Where they were read, as the user named it.
        name: The name of their source.
        repository: The name of their repository.
        files: The path and the text of each, in the order of their codes.
        left_out: How many files were left out, by why.
    """

    place: str
    name: str
    repository: str
    files: Sequence[tuple[str, str]]
    left_out: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Source:
    """A file or a repository of texts: how the user named it, and how its source is named."""

    file: str
    name: str
    format: str
    detected: bool
    why: str
    sort: str
    sha256: str


def is_corpus(inputs: Sequence[Input], *, with_sources: bool) -> bool:
    """Return whether files, and Python sources where there are some, hold texts without items.

    Raises:
        ImportFailed: Some do, and others hold something else.
    """
    sorts = {given.layout.sort for given in inputs}
    if sorts <= CORPUS_SORTS.keys():
        return True
    # Codes and queries of CoSQA+ are those of the pairs that come with them.
    if not (with_sources or sorts & _ALONE):
        return False
    raise ImportFailed(
        "Not alone",
        "A corpus is imported alone, without files of items. Nothing was imported.",
        "Import one after the other.",
    )


def functions_in(sources: PythonSources, left_out: Counter[str]) -> Iterator[CorpusText]:
    """Yield the functions of Python sources, in order.

    Args:
        sources: The sources.
        left_out: Receives how many of them were left out, by why.
    """
    number = 0
    for path, text in sources.files:
        try:
            functions = [*functions_of(text)]
        except SyntaxError:
            left_out[NOT_READ] += 1
            continue
        for function in functions:
            number += 1
            place = f"{path}:{function.line}"
            yield CorpusText(number, function.text, function.name, sources.repository, place, "python")


class CorpusImport:
    """An import of codes and queries, all or nothing.

    Args:
        workspace: The open workspace.
        cursor: A cursor of it, for temporary tables.
        all_functions: Whether functions that cannot be tested by input and output are taken too.
        licence: Of the texts that name none.
        progress: Receives the progress.
    """

    def __init__(
        self,
        workspace: Workspace,
        cursor: duckdb.DuckDBPyConnection,
        *,
        all_functions: bool,
        licence: str,
        progress: ReportProgress,
    ) -> None:
        self._workspace = workspace
        self._cursor = cursor
        self._all_functions = all_functions
        self._licence = licence
        self._progress = progress
        self._sources: list[_Source] = []
        self._counts: list[Counter[str]] = []
        self._records: list[int] = []
        self._problems: list[Problem] = []
        cursor.execute(
            "CREATE OR REPLACE TEMP TABLE corpus_text (file INTEGER, number BIGINT, "
            + ", ".join(f"{name} VARCHAR" for name in _COLUMNS[2:])
            + ")"
        )

    def run(
        self,
        inputs: Sequence[Input],
        sources: Sequence[PythonSources],
        rejects: Path | None,
        *,
        dry_run: bool,
    ) -> ImportReport:
        """Read files and Python sources, and import what is new.

        Args:
            inputs: The files, whose numbers count from 0.
            sources: The Python sources.
            rejects: Where to write refused records; without it they end the import.
            dry_run: Whether to do everything but import.

        Raises:
            ImportFailed: A record was refused, or nothing was read, or the workspace cannot be written.
        """
        for given in inputs:
            self._read_file(given)
        for one in sources:
            self._read_sources(one)
        return self._finish(inputs, rejects, dry_run=dry_run)

    def _read_file(self, given: Input) -> None:
        sort = CORPUS_SORTS[given.layout.sort]
        found = (given.format.name, given.detected, given.why, sort, given.file.sha256)
        self._begin(_Source(given.file.name, given.file.path.name, *found))
        plan = plan_of(given.layout, given.sample.container)
        for batch in read_batches(given.file, given.sample, self._workspace.lane.wait_for_keys):
            good = [raw for raw in batch if raw.value is not None]
            filled = plan.fill([raw.value or {} for raw in good])
            reasons = {raw.number: raw.reason for raw in batch if raw.value is None}
            reasons |= {good[place].number: reason for place, reason in filled.refused.items()}
            self._problems += [
                Problem(given.file.number, raw.number, raw.line, reasons[raw.number], raw.content)
                for raw in batch
                if raw.number in reasons
            ]
            nothing = [None] * len(good)
            about = [filled.values.get(name, nothing) for name in _ABOUT]
            texts = [
                CorpusText(raw.number, text, *(value or "" for value in values))
                for raw, text, *values in zip(good, filled.values[sort], *about, strict=True)
                if raw.number not in reasons
            ]
            self._add(texts, len(batch))

    def _read_sources(self, sources: PythonSources) -> None:
        """Read the functions of Python sources."""
        digest = hashlib.sha256()
        for path, text in sources.files:
            digest.update(path.encode() + b"\0" + hashlib.sha256(text.encode()).digest())
        found = (PYTHON.name, True, "Python sources", "code", digest.hexdigest())
        self._begin(_Source(sources.place, sources.name, *found))
        self._counts[-1].update(sources.left_out)
        functions = functions_in(sources, self._counts[-1])
        while batch := list(islice(functions, _BATCH)):
            self._add(batch, len(batch))

    def _begin(self, source: _Source) -> None:
        self._sources.append(source)
        self._counts.append(Counter())
        self._records.append(0)

    def _add(self, texts: Sequence[CorpusText], records: int) -> None:
        """Stage the texts of some records, those of functions that can be tested."""
        place, source = len(self._sources) - 1, self._sources[-1]
        kept = []
        for each in texts:
            text = each._replace(licence=each.licence or self._licence)
            if source.sort == "code":
                text = text._replace(language=text.language.lower() or "python")
                if not self._all_functions and text.language == "python":
                    self._workspace.lane.wait_for_keys()
                    if reason := why_not_testable(text.text):
                        self._counts[-1][reason] += 1
                        continue
            kept.append((place, text.number, source.sort, *text[1:]))
        if kept:
            columns = dict(zip(_COLUMNS, map(list, zip(*kept, strict=True)), strict=True))
            self._cursor.register("corpus_batch", pyarrow.table(columns))
            self._cursor.execute("INSERT INTO corpus_text BY NAME SELECT * FROM corpus_batch")
            self._cursor.unregister("corpus_batch")
        self._records[-1] += records
        self._progress(Progress(f"reading {source.name}", self._records[-1], None))

    def _finish(self, inputs: Sequence[Input], rejects: Path | None, *, dry_run: bool) -> ImportReport:
        if self._problems and rejects is None:
            raise refused(self._problems, inputs)
        for source, records, counts in zip(self._sources, self._records, self._counts, strict=True):
            if not records and not counts:
                raise ImportFailed(
                    "Empty file", f"{source.file} holds no texts. Nothing was imported.", "Check the path."
                )
        self._progress(Progress("comparing with the workspace", 0, None))
        self._resolve()
        if rejects is not None and not dry_run:
            write_rejects(rejects, self._problems, inputs)
        report = ImportReport(
            tuple(self._file_report(place) for place in range(len(self._sources))),
            dry_run,
            None if rejects is None or dry_run else str(rejects),
        )
        if dry_run or not report.adds:
            return report
        return report.with_sources(self._publish(report))

    def _resolve(self) -> None:
        """Make the table of what is new, each once, and count what is left out."""
        selects = []
        for sort, same in _SAME.items():
            selects.append(
                f"SELECT t.*, {same.format('text')} AS same, k.same IS NOT NULL AS known "
                f"FROM corpus_text t LEFT JOIN (SELECT DISTINCT {same.format('text')} AS same FROM {sort}) k "
                f"ON k.same = {same.format('t.text')} WHERE t.sort = '{sort}'"
            )
        self._cursor.execute(
            "CREATE OR REPLACE TEMP TABLE corpus_new AS SELECT *, "
            "row_number() OVER (PARTITION BY sort, same ORDER BY file, number) > 1 AS twice "
            f"FROM ({' UNION ALL '.join(selects)})"
        )
        counted = self._cursor.execute(
            "SELECT file, count(*) FILTER (known), count(*) FILTER (twice AND NOT known) "
            "FROM corpus_new GROUP BY file"
        ).fetchall()
        for place, known, twice in counted:
            self._counts[place] |= Counter({KNOWN: known, TWICE: twice})

    def _file_report(self, place: int) -> FileReport:
        source = self._sources[place]
        added = {
            sort: count(
                self._cursor,
                "SELECT count(*) FROM corpus_new "
                f"WHERE file = {place} AND sort = '{sort}' AND NOT (known OR twice)",
            )
            for sort in _SAME
        }
        row = self._cursor.execute("SELECT min(id) FROM source WHERE sha256 = ?", [source.sha256]).fetchone()
        known = row[0] if row else None
        return FileReport(
            file=source.file,
            format=source.format,
            detected=source.detected,
            why=source.why,
            records=self._records[place],
            items_added=0,
            items_known=0,
            items_differing=0,
            corpus=source.sort,
            queries_added=added["query"],
            codes_added=added["code"],
            conversion_counts={reason: number for reason, number in self._counts[place].items() if number},
            rejected=sum(one.file == place for one in self._problems),
            extra_kept=(),
            extra_ignored=(),
            source_id=known,
            imported_before=known is not None,
        )

    def _publish(self, report: ImportReport) -> dict[int, int]:
        """Append what is new, in one transaction beside the write lane; return the source of each file."""
        cursor = self._cursor
        numbers: dict[int, int] = {}
        self._progress(Progress("publishing", 0, 1))
        with publishing(cursor):
            for place, (source, file) in enumerate(zip(self._sources, report.files, strict=True)):
                if file.source_id is not None or not file.adds:
                    continue
                numbers[place] = add_source(
                    cursor,
                    sha256=source.sha256,
                    name=source.name,
                    format=source.format,
                    licence=self._licence,
                    records=file.records - file.rejected,
                    imported_at=now(),
                    rejected=file.rejected,
                )
            for sort, about in (("query", ""), ("code", ", name, repository, path, language, licence")):
                cursor.execute(
                    f"INSERT INTO {sort} (id, text, text_hash{about}) "
                    f"SELECT (SELECT coalesce(max(id), 0) FROM {sort}) + "
                    f"row_number() OVER (ORDER BY file, number), text, md5(text){about} "
                    f"FROM corpus_new WHERE sort = '{sort}' AND NOT (known OR twice) ORDER BY file, number"
                )
        self._progress(Progress("publishing", 1, 1))
        return numbers
