"""The store part of a task kind, and the registry of kinds."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from store.formats.fields import FieldType
from store.plugins import registered
from store.record.response_names import ResponseName, split_question
from store.record.scales import Scale, ScaleValue

GROUP = "workbench.task_kinds"

_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")

_RECORDS = frozenset({"query", "code", "label", "judgment", "chunk", "response", "score", "item_id", "extra"})
"""Names of other sorts of records, and of columns that every item has."""

_PLACES = frozenset({"external_id", "file", "line", "number", "position"})
"""Columns of the staging tables that say which record it is, and where in its file it is."""

_WORDS = """
    all analyse analyze and anti any array as asc asof asymmetric at authorization binary both by case
    cast check collate collation column concurrently constraint create cross default deferrable desc
    describe distinct do else end except false fetch for foreign freeze from full glob group having
    ilike in initially inner intersect into is isnull join lambda lateral leading left like limit
    natural not notnull null offset on only or order outer overlaps pivot pivot_longer pivot_wider
    placing positional primary qualify references returning right select semi show similar some
    summarize symmetric table tablesample then to trailing true union unique unpack unpivot using
    variadic verbose when where window with
    """
SQL_WORDS = frozenset(_WORDS.split())
"""Words that DuckDB takes for no table's or column's name unless they are quoted."""

_TABLES = """
    assignment code comparison completion context_chunk execution guideline item judgment mark packet
    pair pending_response prompt query question rater reply repository_question response response_ref
    retrieval retrieval_hit retrieval_query run saved_view schema_version score sent_back sessionstate
    similarity source source_file split split_label step study study_item study_look study_rater test_outcome
    verdict work workspace_fact
    """
OWN_TABLES = frozenset(_TABLES.split())
"""The tables of every workspace."""


@dataclass(frozen=True, slots=True)
class QuestionSpec:
    """A question that every item of a kind is asked.

    Attributes:
        name: Its name in the record, `KIND.WORD`.
        scale: The values that answer it.
        title: A short word for it; the part of the name after the last dot by default.
        of_responses: Whether it is asked once for each of the item's responses, and of the item itself only
            where it has none.
        only_scored: Whether, of responses, it is asked only of those that a judge scored under its title.
        only_claimed: Whether it is asked only of items for which agents gave a verdict on it.
        last_value: The value after which a rater is asked nothing more of the item; None where each leads on.
    """

    name: str
    text: str
    scale: Scale
    title: str = ""
    of_responses: bool = False
    only_scored: bool = False
    only_claimed: bool = False
    last_value: float | None = None

    def __post_init__(self) -> None:
        """Take the title from the name where none is given."""
        if not self.title:
            object.__setattr__(self, "title", self.name.rpartition(".")[2].replace("_", " "))


@dataclass(frozen=True, slots=True)
class SharedText:
    """A text that many items share, stored once in a table (id, text, text_hash, and descriptions).

    The kind's table refers to it in the column `TABLE_id`. A file may hold these texts alone, for records of
    items in another file that refer to them by `TABLE_ref`.

    Attributes:
        table: That table.
        column: The kind's column that holds the text.
        about: The kind's columns that describe the text, each with its default where a file has
            none: SQL over `text`.
    """

    table: str
    column: str
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordSpec:
    """The columns of an item of a kind, and their storage.

    Attributes:
        table: The table of the kind's own columns, with `item_id`.
        columns: The columns of an item, in order, with the type that files have for each; `list` and
            `object` are stored as JSON text.
        identity: Those of the columns that make up an item: one with the same id and others of these is
            refused. The rest only describes it, and stays as it was first imported.
        schema: SQL that creates the table where it is missing, for a kind of another package.
        texts: Those of the columns that programs read; all by default.
        shared: Texts that items share, which are stored in tables of their own.
        group: The shared text by which items form groups; by default each item is its own.
        ranked: Whether items have a rank in their group, in the column `rank`, and similarities by model.
        responses: Whether models respond to items, and items have pieces of context.
        joined_by: The column by which a response finds its item where it does not name it; empty for none.
        joined_within: The column whose value the item must share to be found so, where the response has a
            field of that name; case does not count. Empty for none.
        joined_ends: The column with which the field of that name of a response must end, or the reverse,
            where it has one. Empty for none.
        judged_columns: Those of the columns that are judged, the first one that holds something, where an
            item has no response and its questions are about responses; empty where the item itself is judged.
        hidden: Those of the columns that name models or sets, and stay empty in packets of those who may not
            know them.
        flat: Whether the full record has a column for each of an item's; it carries others as JSON.
    """

    table: str
    columns: Mapping[str, FieldType]
    identity: tuple[str, ...] = ()
    schema: str = ""
    texts: tuple[str, ...] = ()
    shared: tuple[SharedText, ...] = ()
    group: str = ""
    ranked: bool = False
    responses: bool = True
    joined_by: str = ""
    joined_within: str = ""
    joined_ends: str = ""
    judged_columns: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    flat: bool = False

    def __post_init__(self) -> None:
        """Refuse parts that are none of the columns; take all of these as texts by default."""
        named = {
            *self.identity,
            *self.texts,
            *self.judged_columns,
            *self.hidden,
            self.joined_by,
            self.joined_within,
            self.joined_ends,
        }
        if not named <= {"", *self.columns}:
            raise ValueError(f"{', '.join(sorted(named - {'', *self.columns}))}: no column of {self.table!r}")
        for name in filter(None, (self.joined_by, self.joined_within, self.joined_ends)):
            if self.columns[name] != "text":
                raise ValueError(f"{self.table!r} is joined by {name!r}, which is no text")
        if not self.texts:
            object.__setattr__(self, "texts", tuple(self.columns))

    @property
    def own_columns(self) -> dict[str, FieldType]:
        """The columns of the kind's table: all but those that come with shared texts."""
        elsewhere = {name for one in self.shared for name in (one.column, *one.about)}
        return {name: type_ for name, type_ in self.columns.items() if name not in elsewhere}

    @property
    def select(self) -> str:
        """The SELECT of the columns and `item_id` of every item, as SQL."""
        where = {name: f"t.{name}" for name in self.own_columns}
        for one in self.shared:
            where |= {one.column: f"{one.table}.text"} | {name: f"{one.table}.{name}" for name in one.about}
        columns = ", ".join(f"{where[name]} AS {name}" for name in self.columns)
        joins = "".join(f" JOIN {one.table} ON {one.table}.id = t.{one.table}_id" for one in self.shared)
        return f"SELECT t.item_id, {columns} FROM {self.table} t{joins}"

    def judged_column(self, fields: Mapping[str, Any]) -> str | None:
        """Return which column is judged where an item has no response; None where there is nothing to judge.

        Args:
            fields: Its current columns; lists as JSON.
        """
        if not self.judged_columns:
            return ""
        return next((name for name in self.judged_columns if fields[name] not in ("", "[]", None)), None)


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """How queues list the items of a kind.

    Attributes:
        title: The column that a queue shows of an item.
        detail: The column that it shows beside that.
        detail_word: The heading of the detail's column.
        searched: The columns in which a text is searched; title and detail by default.
        label: The name of the question whose value queues show; the first question by default, empty for a
            kind whose items have no single such value.
        label_words: The words of that question's values in lists and filters, where the scale's words only
            make sense beside the question.
    """

    title: str
    detail: str
    detail_word: str = "detail"
    searched: tuple[str, ...] = ()
    label: str | None = None
    label_words: Mapping[float, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EditSpec:
    """Which texts of an item experts may rewrite.

    Attributes:
        columns: The columns, with the word that screens have for each.
        never_empty: Those that cannot be rewritten to nothing.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    never_empty: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class TaskKind:
    """The store part of a task kind.

    Attributes:
        name: The kind's name, the `kind` of its items.
        plural: The word for its items.
        singular: The word for one of them; the kind's name by default.
        questions: The questions of the kind, in the order in which they are asked.
        imported: Questions that nobody is asked here: their labels are imported. A file of items has those of
            a question in a column of its title.
        guideline: The instructions for raters.
        record: The columns of an item, and their storage.
        queue: How items are listed.
        editing: The texts that experts may rewrite.
        order: The kind's place in lists; kinds of other packages are last.
        two_sided: Whether an item is two candidates, in the columns `first` and `second`, whose sides, scale
            and texts a study may choose.
        own_tests: Whether raters may write tests of their own for an item.
    """

    name: str
    plural: str
    questions: tuple[QuestionSpec, ...]
    guideline_version: str
    guideline: str
    record: RecordSpec
    queue: QueueSpec
    editing: EditSpec = EditSpec()
    imported: tuple[QuestionSpec, ...] = ()
    singular: str = ""
    order: int = 100
    two_sided: bool = False
    own_tests: bool = False

    def __post_init__(self) -> None:
        """Refuse impossible names and columns; take the singular from the name."""
        _refuse_names(self)
        columns = {self.queue.title, self.queue.detail, *self.queue.searched, *self.editing.columns}
        if not columns <= {*self.record.columns}:
            raise ValueError(f"{self.name!r} is listed, searched or edited by what is none of its columns")
        if not self.singular:
            object.__setattr__(self, "singular", self.name)

    @property
    def label_question(self) -> QuestionSpec | None:
        """The question whose value queues show; None for a kind without such a question."""
        return self.questions[0] if self.queue.label is None else self.question(self.queue.label)

    @property
    def main_question(self) -> QuestionSpec:
        """The question that is meant where none is named: the one that queues show, or the first one.

        It is one that every item is asked.
        """
        asked = self.label_question
        if asked is None or asked.only_claimed:
            asked = next(spec for spec in self.questions if not spec.only_claimed)
        return asked

    def label_word(self, value: float) -> str:
        """Return the words for a value of that question in lists: "1 match", "keep"."""
        asked = self.label_question
        return self.queue.label_words.get(value) or (asked.scale.word(value) if asked else f"{value:g}")

    def question(self, name: str) -> QuestionSpec | None:
        """Return a question by its name; None where the kind has no such question."""
        return next((spec for spec in self.every_question if spec.name == name), None)

    def values_up_to(self, spec: QuestionSpec, highest: float) -> tuple[ScaleValue, ...]:
        """Return the named values of a scale; that of imported grades ends with the highest one given."""
        values = spec.scale.values
        return tuple(one for one in values if one.value <= highest) if spec in self.imported else values

    @property
    def every_question(self) -> tuple[QuestionSpec, ...]:
        """The questions that are asked, and those whose labels are imported."""
        return self.questions + self.imported


def _refuse_names(kind: TaskKind) -> None:
    """Refuse names that no kind, table, column or sort of record can have.

    A kind of this package, which has no schema of its own, may use the tables of every workspace.
    """
    own = not kind.record.schema
    taken_columns = _PLACES | SQL_WORDS | (frozenset({"item_id", "extra"}) if own else _RECORDS)
    named = {
        "kind": ([kind.name], _RECORDS),
        "table": ([kind.record.table], _RECORDS | SQL_WORDS | (frozenset() if own else OWN_TABLES)),
        "column": (kind.record.columns, taken_columns),
    }
    for sort, (names, taken) in named.items():
        for name in names:
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} cannot name a {sort}: lower-case letters, digits and _ can")
            if name in taken:
                why = "a word of SQL" if name in SQL_WORDS else "a name of the workspace's own"
                raise ValueError(f"{name!r} cannot name a {sort}: it is {why}")


@cache
def task_kinds() -> dict[str, TaskKind]:
    """Return every registered kind by name, those of this program before those of other packages."""
    found = registered(GROUP, TaskKind, ".store")
    return {kind.name: kind for kind in sorted(found, key=lambda kind: (kind.order, kind.name))}


def ranked_kinds() -> frozenset[str]:
    """Return the names of the kinds whose items have ranks and similarities."""
    return frozenset(name for name, kind in task_kinds().items() if kind.record.ranked)


def two_sided_kinds() -> frozenset[str]:
    """Return the names of the kinds whose items are two candidates."""
    return frozenset(name for name, kind in task_kinds().items() if kind.two_sided)


def part_title(part: str) -> str:
    """Return the title of a column that can be rewritten: the word of the first kind that has one."""
    titles = (kind.editing.columns[part] for kind in task_kinds().values() if part in kind.editing.columns)
    return next(titles, part.replace("_", " "))


def question_named(name: str) -> QuestionSpec | None:
    """Return the question of any registered kind by its name; None where no kind has it."""
    found = (kind.question(name) for kind in task_kinds().values())
    return next((spec for spec in found if spec is not None), None)


@dataclass(frozen=True, slots=True)
class NamedQuestion:
    """A question as files and commands name it: `answer.accuracy`, `answer.accuracy@MODEL[SETTING]#TRIAL`.

    Attributes:
        response: The response that it is about; None for none in particular.
    """

    kind: TaskKind
    spec: QuestionSpec
    response: ResponseName | None = None

    @classmethod
    def parse(cls, name: str) -> NamedQuestion | None:
        """Return the question that a readable name means; None where no registered kind asks it."""
        base, response = split_question(name)
        for kind in task_kinds().values():
            if (spec := kind.question(name)) is not None:
                return cls(kind, spec)
            spec = kind.question(base)
            if spec is not None and response is not None and spec.of_responses:
                return cls(kind, spec, response)
        return None
