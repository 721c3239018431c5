"""The store part of a task kind, and the registry in which kinds are found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from store.formats.fields import FieldType
from store.kinds.names import refuse_names
from store.plugins import registered
from store.response_names import ResponseName, split_question
from store.scales import Scale

if TYPE_CHECKING:
    from sqlalchemy import Select

GROUP = "workbench.task_kinds"


@dataclass(frozen=True, slots=True)
class QuestionSpec:
    """A question that every item of a kind is asked.

    Attributes:
        name: Its name in the record, `KIND.WORD`.
        text: The question.
        scale: The values that answer it.
        title: A short word for it; the part of the name after the last dot by default.
        of_responses: Whether it is asked once for each of the item's responses, and of the item itself only
            where it has none.
    """

    name: str
    text: str
    scale: Scale
    title: str = ""
    of_responses: bool = False

    def __post_init__(self) -> None:
        """Take the title from the name where none is given."""
        if not self.title:
            object.__setattr__(self, "title", self.name.rpartition(".")[2].replace("_", " "))


@dataclass(frozen=True, slots=True)
class TaskKind:
    """The store part of a task kind.

    Attributes:
        name: The kind, as items carry it.
        plural: What its items are called on screens.
        singular: What one of them is called; the kind's name by default.
        detail_word: What the detail of the summary is, in a word that heads its column.
        questions: What is asked, in the order in which it is asked.
        guideline_version: The version of the guideline text.
        guideline: What raters are told before they judge.
        summary: Given item ids (None: all), returns a select of (item_id, title, detail, rank,
            similarity), one row an item, from which queues are listed and sorted.
        texts: Given item ids, returns a select of (item_id, ...) with the texts of each item, under the names
            that programs know them by.
        containing: Given a text, returns a select of the ids of the items that contain it, in any case.
        label: The name of the question whose value queues show; the first question by default, empty for a
            kind of which no single value tells.
        label_words: How lists and filters say the values of that question, where its scale's words are the
            answer to a question that they do not show.
        table: The table of the kind's own columns, with `item_id`; empty for pairs, which are written apart.
        content: Those columns in order, with the type of what a file holds for each; `list` and `object` are
            kept as JSON text.
        known_by: Those of the columns that make up an item: one with the same id and others of these is
            refused. The rest only describes it, and stays as it was first imported.
        schema: SQL that makes that table where it is not there, for a kind of another package.
        joined_by: The column by which a response finds its item where it does not name it; empty for none.
        joined_within: The column whose value the item must share to be found so, where the response has a
            field of that name; case does not count. Empty for none.
        place: Where it stands among the kinds in lists; those of other packages stand last.
        editable: Those of the columns that an expert may rewrite, by the word that the screen has for each.
        never_empty: Those of the editable columns that cannot be rewritten to nothing.
        titled: That of the editable columns that is the title in the summary; empty for none.
        stands_in: Those of the columns that are judged, the first one that holds something, where an item
            has no response and its questions are about responses; empty where that is the item itself.
        ranked: Whether its summary has ranks and similarities; where no kind has, lists show none.
    """

    name: str
    plural: str
    questions: tuple[QuestionSpec, ...]
    guideline_version: str
    guideline: str
    summary: Callable[[Collection[int] | None], Select[Any]]
    texts: Callable[[Collection[int]], Select[Any]]
    containing: Callable[[str], Select[Any]]
    singular: str = ""
    detail_word: str = "detail"
    label: str | None = None
    label_words: Mapping[float, str] = field(default_factory=dict)
    table: str = ""
    content: Mapping[str, FieldType] = field(default_factory=dict)
    known_by: tuple[str, ...] = ()
    schema: str = ""
    joined_by: str = ""
    joined_within: str = ""
    place: int = 100
    editable: Mapping[str, str] = field(default_factory=dict)
    never_empty: Collection[str] = ()
    titled: str = ""
    stands_in: tuple[str, ...] = ()
    ranked: bool = False

    def __post_init__(self) -> None:
        """Refuse names and columns that cannot be; take the singular from the name."""
        refuse_names(self.name, self.table, [*self.content], foreign=bool(self.schema))
        named = {*self.known_by, self.joined_by, self.joined_within, *self.editable, *self.stands_in}
        if not named <= {"", *self.content}:
            raise ValueError(f"what {self.name!r} is known by, joined by or edited in is none of its columns")
        for name in filter(None, (self.joined_by, self.joined_within)):
            if self.content[name] != "text":
                raise ValueError(f"{self.name!r} is joined by {name!r}, which is no text")
        if not self.singular:
            object.__setattr__(self, "singular", self.name)

    def stand_in(self, fields: Mapping[str, Any]) -> str | None:
        """Return which column is judged where an item has no response; None where there is nothing to judge.

        Args:
            fields: Its columns as they stand now; lists as JSON.
        """
        if not self.stands_in:
            return ""
        return next((name for name in self.stands_in if fields[name] not in ("", "[]", None)), None)

    def label_word(self, value: float) -> str:
        """Return how lists say a value of the question that tells of an item: "1 match", "keep"."""
        asked = self.label_question
        return self.label_words.get(value) or (asked.scale.word(value) if asked else f"{value:g}")

    @property
    def label_question(self) -> QuestionSpec | None:
        """The question whose value queues show; None where no single value tells of an item."""
        return self.questions[0] if self.label is None else self.question(self.label)

    def question(self, name: str) -> QuestionSpec | None:
        """Return a question by its name; None where it is not asked."""
        return next((spec for spec in self.questions if spec.name == name), None)


@cache
def task_kinds() -> dict[str, TaskKind]:
    """Return every registered kind by name, ours and those of other packages."""
    found = registered(GROUP, TaskKind, ".store")
    return {kind.name: kind for kind in sorted(found, key=lambda kind: (kind.place, kind.name))}


def ranked_kinds() -> frozenset[str]:
    """Return the names of the kinds whose items have ranks and similarities."""
    return frozenset(name for name, kind in task_kinds().items() if kind.ranked)


def part_title(part: str) -> str:
    """Return what screens call a column that can be rewritten: the word of the first kind that has one."""
    titles = (kind.editable[part] for kind in task_kinds().values() if part in kind.editable)
    return next(titles, part.replace("_", " "))


def question_named(name: str) -> QuestionSpec | None:
    """Return the question of any registered kind by its name; None where nobody asks it."""
    found = (kind.question(name) for kind in task_kinds().values())
    return next((spec for spec in found if spec is not None), None)


@dataclass(frozen=True, slots=True)
class NamedQuestion:
    """A question as files and commands name it: `answer.accuracy`, `answer.accuracy@MODEL[SETTING]#TRIAL`.

    Attributes:
        kind: The kind that asks it.
        spec: The question.
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
