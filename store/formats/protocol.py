"""The interfaces of a file format, its readers and writers, and the registry of formats."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from textwrap import shorten
from typing import Any, Literal, Protocol, runtime_checkable

from store.errors import ImportFailed, UnknownName
from store.events import ReportProgress
from store.formats.fields import Layout
from store.plugins import registered

GROUP = "workbench.formats"
SHOWN_FIELDS, LONGEST_FIELD = 20, 40
"""Names of fields in an error, and the characters of each."""

Choice = Literal[
    "rater",
    "setting",
    "only_kept",
    "sample",
    "study",
    "withdrawn",
    "policy",
    "question",
    "split",
    "corpus",
    "pseudonyms",
    "without_replies",
    "comments",
    "file",
]

LABEL_CHOICES: frozenset[Choice] = frozenset({"rater", "policy", "sample", "study", "split"})
"""The choices of most formats that hold labels."""

Corpus = Literal["judged", "all"]
"""Which codes a retrieval benchmark holds: those of the items that are written, or all of the workspace."""

MISSING_REASONS = ("not assigned", "skipped", "cannot decide", "not judged")
"""Why a rater has no label of a unit, as agreement matrices say it."""

Container = Literal["json lines", "JSON array", "JSON objects", "CSV", "Parquet", "lines"]
JSON: frozenset[Container] = frozenset({"json lines", "JSON array", "JSON objects"})
ANY: frozenset[Container] = JSON | {"CSV", "Parquet"}

_STORED = frozenset({"gz", "json", "jsonl", "ndjson", "csv", "tsv", "parquet"})


@dataclass(frozen=True, slots=True)
class Sample:
    """The beginning of a file, from which its format is detected.

    Attributes:
        path: The file.
        container: How its records are stored.
        columns: The field names of its first records.
        delimiter: The separator of the fields of a CSV file.
        first_line: The line of its first record or its header, from 1.
        has_header: Whether the first record of a CSV file names its columns, which are numbers otherwise.
    """

    path: Path
    container: Container
    columns: frozenset[str]
    delimiter: str = ","
    first_line: int = 1
    has_header: bool = True


@dataclass(frozen=True, slots=True)
class Entity:
    """One item, or one text or score of an item, converted from a record.

    Attributes:
        sort: Its sort: an item of the task kind of that name, or a chunk, response or score.
        fields: Its fields, all of them; missing ones are None, or "" for a required text.

            - `completion`: external_id, language, repository, path, prompt, reference, right_context,
              prompt_line, reference_line, right_context_line (lines as the file counts them)
            - `answer`: external_id, repository, revision, language, url, question, reference,
              issue_number, issue_title, issue_body, comments (a list of objects by, created_at, body,
              reactions), labels (a list of names), created_at, closed_at (as they stand in the file)
            - `chunk`: kind, item (its external id), setting, rank (from 1), path, text, score
            - `response`: kind, item (None when it is joined by its reference), reference (None when it is
              joined by its item), model, setting, trial, text
            - `score`: kind, item, model, setting, trial, judge, measure, value (None where it was not
              parsed), raw (the number or text as written, "" for none), reason
        extra: The fields of the record that are none of ours, in their original shape.
    """

    sort: str
    fields: Mapping[str, Any]
    extra: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FileContext:
    """The context of a file before its records are read.

    Attributes:
        stem: Its name without folder and endings.
        model: The model that the user named for it; "" for none.
        setting: The setting that the user named for it; "" for none.
        columns: The user's names of the format's `inner_fields`.
        shared: The state that the converters of one import share: one dict for all its files.
        comparisons: The ids of the comparisons of the workspace.
    """

    stem: str
    model: str = ""
    setting: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    shared: dict[str, Any] = field(default_factory=dict)
    comparisons: Collection[str] = ()


class Converter(Protocol):
    """Makes the records of one file; another one is made for every file.

    Attributes:
        counts: Notes that are reported of the file, and how often: "pull requests left out".
    """

    counts: dict[str, int]

    def convert(self, record: Mapping[str, Any], number: int) -> list[Entity]:
        """Return the rows that a record is converted to.

        Args:
            record: Its fields as they stand in the file.
            number: Its place in the file, from 1.

        Raises:
            Refused: It cannot be imported, and why.
        """
        ...


@runtime_checkable
class TwoPassConverter(Converter, Protocol):
    """A converter that sees every record of every file before the first is converted."""

    def scan(self, record: Mapping[str, Any]) -> None:
        """Collect what later conversions need of a record; refuses none."""


@dataclass(slots=True)
class StoredItem:
    """An item of a workspace with its chunks and responses.

    Attributes:
        chunks: Its pieces of context, by setting and rank.
        responses: Responses of models, by model, setting and trial, each with its scores.
    """

    item_id: int
    item: Entity
    chunks: list[Entity] = field(default_factory=list)
    responses: list[tuple[Entity, list[Entity]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CurrentLabel:
    """A current label of an item.

    Attributes:
        by_agents: Whether the rater is a run of the agents.
        comment: The comment; of a run its reason.
        made_at: When it was given, in ISO 8601; None for one that no rater gave, as by a policy.
        active_ms: The milliseconds that it took, pauses left out; None where that is not known.
        provenance: When and how it was given and what the rater saw, what is known of it: `judged_at`,
            `origin`, `blind`, `saw_label`, `phase`, `study`, `condition`, `presentation`, `seconds`.
    """

    rater: str
    by_agents: bool
    value: float
    comment: str
    made_at: str | None
    active_ms: int | None
    provenance: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WriteResult:
    """How much a writer wrote.

    Attributes:
        records: How many are in the file.
        left_out: Rows of its sort that are not in the file: items without a label, answers without a score.
        others: Items of other kinds that have labels of the rater, by kind.
        names_left: Where names of people are found although they were replaced: rows by table and column.
        estimated: Whether `records` is an estimate: of a dry run that did not look at all of them.
        labelled: How many of the items have a label, where there is a row for each; None otherwise.
        unread: Rows of an imported file that were left out, since they cannot be read.
        file: The imported file that was given back; empty for none.
        added: The columns that it has beside its own.
        why: How many of those left out there are by why, where the format tells.
    """

    records: int
    left_out: int = 0
    others: Mapping[str, int] = field(default_factory=dict)
    names_left: Mapping[str, int] = field(default_factory=dict)
    estimated: bool = False
    labelled: int | None = None
    unread: int = 0
    file: str = ""
    added: Sequence[str] = ()
    why: Mapping[str, int] = field(default_factory=dict)


class Rows(Protocol):
    """Rows of a workspace that can be written as a table.

    Attributes:
        columns: Their columns, in order.
        written: How many they are, and how many are left out.
    """

    columns: tuple[str, ...]
    written: WriteResult

    def of(self, *names: str, part: str | None = None) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the values of some columns, in batches of rows; with a part only those of it."""
        ...

    def copy(
        self,
        form: Literal["jsonl", "csv", "parquet"],
        *,
        file: Path | None = None,
        part: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> WriteResult:
        """Write them to a file, and return how many they are.

        Args:
            form: The form.
            file: The file; the export's target by default.
            part: The only part of the split; None for all.
            columns: The columns; all by default.
        """
        ...


class Export(Protocol):
    """The input of a writer: the workspace's content at one moment, and the choices of an export.

    Attributes:
        target: The file to write, or the folder, made already, when the format is one of several files.
        rater_id: Whose current labels; None for the full record, or for what is no label.
        name: The name of the file; its ending says how the records are stored, where that is free.
        setting: The only setting whose context, or responses, are written; None for all.
        only_kept: Whether only what the rater keeps is written.
        parts: The parts of the split whose items are written; empty without a split.
        corpus: Which codes a retrieval benchmark holds.
    """

    target: Path
    rater_id: int | None
    name: str
    setting: str | None
    only_kept: bool
    corpus: Corpus

    @property
    def parts(self) -> Sequence[str]:
        """The parts of the split whose items are written, in order; empty without a split."""
        ...

    @property
    def progress(self) -> ReportProgress:
        """Receives the progress."""
        ...

    def record(self) -> Rows:
        """Return every judgment and mark, with the items."""
        ...

    def table(self, form: Literal["csv", "parquet", "xlsx"]) -> WriteResult:
        """Write a row for each pair with its label and who decided it: the imported file, if one is kept."""
        ...

    def labels(self, kind: str) -> Rows:
        """Return the rater's current labels of a kind: id, its columns, similarity, label and extra."""
        ...

    def long_labels(self) -> Rows:
        """Return the current labels of the rater or of all, one for each item, question and rater."""
        ...

    def labelled_items(
        self, kind: str
    ) -> tuple[WriteResult, Iterator[tuple[Entity, Sequence[CurrentLabel]]]]:
        """Return every item of a kind with the current labels of the rater, or of all people, on it.

        Returns:
            How many labels there are, and the items that have one, in the order of import.

        Raises:
            ExportFailed: There is none.
        """
        ...

    def bundle(self) -> WriteResult:
        """Write every table of the workspace, and a manifest, to the target."""
        ...

    def labelled(self) -> Rows:
        """Return the labelled items of the question that the labels are of.

        The columns are `id`, those of the kind, `similarity`, of responses `model`, `setting`, `trial` and
        `response`, then `label`, `word`, `part`, and `provenance`: every person's label of the item.
        """
        ...

    def graded(self) -> Rows:
        """Return the graded pairs of a retrieval benchmark: `query`, `code` (their MD5), `label` and `part`.

        Of pairs with the same texts the highest label counts.

        Raises:
            ExportFailed: The labels are not of pairs, or are no whole numbers.
        """
        ...

    def graded_provenance(self) -> Rows:
        """Return every person's label of the pairs that `graded` returned before: who, when, how."""
        ...

    def query_texts(self) -> Iterator[list[tuple[str, str, str]]]:
        """Yield the queries of the pairs that `graded` returned before, as key, text and part, in batches."""
        ...

    def corpus_texts(self) -> Iterator[list[tuple[str, str, str]]]:
        """Yield the codes of a retrieval benchmark, as key, text and title, in batches."""
        ...

    def matrix(self, *, wide: bool) -> Rows:
        """Return every unit with every rater's label: a column for each rater, or a row for each label."""
        ...

    def described(self) -> Mapping[str, Any]:
        """Return what a card says of the export.

        `kind`, `question` (name, text, values with words), `labels` (whose), and of a split `split` (as
        JSON-able fields); `licences` with the items of each, and `made_at`.
        """
        ...

    def traces(self) -> Iterator[Mapping[str, Any]]:
        """Yield the trace of every item that the run `rater_id` has a step or a verdict of."""
        ...

    def items(self, kind: str, *, chunks: bool = False, responses: bool = False) -> Iterator[StoredItem]:
        """Yield every item of a kind, in the order of import."""
        ...

    def responses(self, kind: str) -> Iterator[tuple[Entity, list[Entity]]]:
        """Yield the wanted responses to items of a kind with their scores, pending ones last."""
        ...

    def answers(self, kind: str) -> Mapping[int, Mapping[str, float]]:
        """Return the rater's current labels of a kind, by item and question."""
        ...

    def settings(self, kind: str) -> Sequence[str]:
        """Return the settings under which items of a kind have context.

        Raises:
            ExportFailed: The one that is wanted is none of them.
        """
        ...

    def revised(self) -> Mapping[int, Mapping[str, str]]:
        """Return the texts of items that experts revised, by item and column."""
        ...

    def mended(self) -> AbstractSet[int]:
        """Return the items of which a person wrote a current text."""
        ...

    def claimed(self, question: str) -> AbstractSet[int]:
        """Return the items for which agents gave a verdict on a question."""
        ...

    def wanted(self, made: Entity) -> bool:
        """Return whether something is of the setting that is wanted."""
        ...

    def write_lines(
        self, records: Iterator[Mapping[str, Any] | None], table: str, nothing: str
    ) -> WriteResult:
        """Write records as JSON lines to the target.

        Args:
            records: The records of the file in order, and None for each that is left out.
            table: The table whose number of rows is about how many they are.
            nothing: The message when there is none.

        Raises:
            ExportFailed: There is none.
        """
        ...


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: the layouts of its records, its converter and its writer.

    Attributes:
        name: Its name on the command line.
        description: One line for lists of formats.
        containers: How its records can be stored.
        layouts: The sorts of records it has; a file holds one of them. None: it cannot be read.
        unless: Columns whose presence shows another format.
        write: Writes the workspace's records; None when it cannot be written.
        carries: A sentence on what is in it when it is written, for a form that offers formats.
        suffix: The ending of the name that is proposed for it; empty for a folder.
        opened_by: What opens it, with {path} in place of its name; by default an import where it can be read.
        needs_rater: Whether only the labels of one rater can be written.
        of_run: Whether it holds the work of one run, which is named as the rater; the newest by default.
        kept: The question whose answers say what is kept, where only that can be written; empty for none.
        undecided: Whether the items of a split's queries that have no true label are written, too.
        holds: The words for one and several of its records when it is written; None where they are labels of
            one rater, or the full record.
        leaves_out: The words for one and several rows left out, where these are no items without a label.
        folder: Whether it is written as a folder of several files.
        whole_workspace: Whether it holds all of a workspace, and an import makes one of it.
        published: Whether it is made to be published, so that people have pseudonyms in it.
        named_only: Whether it is never detected, since files of other formats have its columns too.
        may_be_empty: Whether a file without records says something among others of the format, as the list of
            the comments of an issue that nobody commented on.
        converter: Makes a converter of the records of one file; None where each record is one item or label.
        inner_fields: Fields that the converter finds within a record, under names that the user can map.
    """

    name: str
    description: str
    containers: frozenset[Container]
    layouts: tuple[Layout, ...]
    unless: frozenset[str] = frozenset()
    write: Callable[[Export], WriteResult] | None = None
    carries: str = ""
    suffix: str = ".jsonl"
    opened_by: str = ""
    needs_rater: bool = False
    of_run: bool = False
    kept: str = ""
    undecided: bool = False
    choices: frozenset[Choice] = LABEL_CHOICES
    holds: tuple[str, str] | None = None
    leaves_out: tuple[str, str] | None = None
    folder: bool = False
    may_be_empty: bool = False
    named_only: bool = False
    published: bool = False
    whole_workspace: bool = False
    converter: Callable[[FileContext], Converter] | None = None
    inner_fields: frozenset[str] = frozenset()

    @property
    def readable(self) -> bool:
        """Whether an import can read it."""
        return bool(self.layouts) or self.whole_workspace

    def detect(self, sample: Sample) -> str | None:
        """Return why a file is of this format, or None when it is not."""
        if self.named_only or sample.container not in self.containers or self.unless & sample.columns:
            return None
        for layout in self.layouts:
            if not layout.missing(sample.columns, sample.path.name):
                named = sorted(
                    column
                    for field in layout.fields
                    if field.required
                    for column in field.columns
                    if column in sample.columns
                )
                return f"{sample.container} with the fields {', '.join(named)}"
        return None

    def knows(self, mapping: Mapping[str, str]) -> bool:
        """Return whether every name that is mapped is one of its fields."""
        return mapping.keys() <= self.inner_fields or any(layout.knows(mapping) for layout in self.layouts)

    def layout(self, sample: Sample) -> Layout:
        """Return the layout whose required fields a file lacks least."""
        return min(self.layouts, key=lambda layout: len(layout.missing(sample.columns, sample.path.name)))


class UnknownFormat(ImportFailed):
    """A file is of no known format."""


def bare_name(name: str) -> str:
    """Return a file's name without the endings that say how its records are stored, dots within it kept."""
    while (cut := name.rpartition("."))[0] and cut[2].lower() in _STORED:
        name = cut[0]
    return name


def nothing_to_write(what: str, setting: str | None) -> str:
    """Return the message that there is nothing to write."""
    return f"There are no {what}{'' if setting is None else f' under the setting {setting!r}'}."


@cache
def formats() -> dict[str, Format]:
    """Return every registered format by name, ours and those of other packages.

    Raises:
        WorkbenchError: One of another package cannot be loaded.
    """
    return {format_.name: format_ for format_ in registered(GROUP, Format)}


def format_list(*, readable: bool = False) -> str:
    """Return the names and descriptions of the formats, a line each: of all, or of those that can be read."""
    known = {name: one for name, one in sorted(formats().items()) if one.readable or not readable}
    cells = max(map(len, known), default=0)
    return "\n".join(f"  {name:<{cells}} {one.description}" for name, one in known.items())


def find_format(name: str) -> Format:
    """Return the format of that name.

    Raises:
        UnknownName: There is none.
    """
    if name not in formats():
        raise UnknownName(
            "Unknown format",
            f"No format is called {name!r}, but {', '.join(sorted(formats()))}.",
            "What can be imported: workbench import --formats",
        )
    return formats()[name]


def detect(sample: Sample, candidates: dict[str, Format] | None = None) -> tuple[Format, str]:
    """Detect the format of a file from its content.

    Args:
        sample: The beginning of the file.
        candidates: The formats to choose from, with the user's column names; all by default.

    Returns:
        The format and why it was chosen.

    Raises:
        ImportFailed: No format fits, or several do.
    """
    fitting = [
        (known, reason)
        for known in (candidates or formats()).values()
        if (reason := known.detect(sample)) is not None
    ]
    if len(fitting) == 1:
        return fitting[0]
    columns = shown_fields(sample.columns)
    place = f"{sample.path}:{sample.first_line}"
    if fitting:
        raise ImportFailed(
            "Several formats fit",
            f"{place} ({sample.container}; fields: {columns}) could be "
            + " or ".join(f"{known.name} ({reason})" for known, reason in fitting)
            + ". Nothing was imported.",
            "Name one: --format " + "|".join(known.name for known, _ in fitting),
        )
    raise UnknownFormat(
        "Unknown format",
        f"{place} ({sample.container}; fields: {columns}) is of no known format. Nothing was imported.",
        "See the formats: workbench import --formats",
    )


def shown_fields(columns: Collection[str]) -> str:
    """Return the names of fields; texts that are used as names, as of a table of codes, are cut."""
    names = [shorten(name, LONGEST_FIELD, placeholder="…") for name in sorted(columns)[:SHOWN_FIELDS]]
    more = len(columns) - len(names)
    return ", ".join(names) + (f" and {more:,} more" if more else "") or "none"
