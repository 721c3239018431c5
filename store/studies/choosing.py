"""The items of a study: all of a kind, those of a query, some by name, or a random sample."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, func, select

from store.errors import JudgmentRefused, UnknownName, WorkbenchError
from store.formatting import pluralize
from store.kinds.listing import relation
from store.kinds.spec import TaskKind, task_kinds
from store.queries.item import find_item
from store.queries.sampling import Stratification, sample_single_items
from store.queries.studies import ChosenItem
from store.record.response_names import question_name, split_question
from store.record.scales import scale_value
from store.tables.columns import among, table_of
from store.tables.imported import Item

MOST_BYTES = 10_000_000
"""The largest file of items, answers, a guideline or a consent text that is read."""
_LONGEST_ID = 1_000


@dataclass(frozen=True, slots=True)
class ItemChoice:
    """How the items of a study are chosen; all items of the kind where nothing else is said.

    Attributes:
        query: The title of the items, such as the query of a pair.
        names: Items by name or number.
        sample: The size of a random sample.
        stratify: What the sample is stratified by, as in `Stratification.parse`.
    """

    kind: str
    query: str | None = None
    names: Sequence[str] | None = None
    sample: int | None = None
    stratify: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse several choices at once."""
        if sum(one is not None for one in (self.query, self.names, self.sample)) > 1:
            raise WorkbenchError(
                "Two choices of items",
                "A query, a list of items and a sample exclude each other.",
                "Give one.",
            )


def choose_items(
    connection: Connection, choice: ItemChoice, apart: Collection[int] = ()
) -> tuple[list[ChosenItem], str]:
    """Return the chosen items, and how they were chosen as a phrase.

    A sample is taken of those that are not set apart, for gold or training.

    Raises:
        UnknownName: There is no such kind, query or item.
        WorkbenchError: There are too few items for the sample.
    """
    if choice.kind not in task_kinds():
        raise UnknownName(
            "Unknown kind", f"No kind is called {choice.kind!r}.", f"Kinds: {', '.join(task_kinds())}."
        )
    kind, item = task_kinds()[choice.kind], table_of(Item)
    if choice.sample is not None:
        return _sample(connection, kind, choice, choice.sample, apart)
    if choice.names is not None:
        ids = list(dict.fromkeys(_named_item(connection, name, kind) for name in choice.names))
        return _without(ids, apart, f"{pluralize(len(ids), 'item')} by name")
    statement = select(item.c.id).where(item.c.kind == kind.name).order_by(item.c.id)
    if choice.query is None:
        ids = list(connection.execute(statement).scalars())
        return _without(ids, apart, f"all {pluralize(len(ids), kind.singular, kind.plural)}")
    found = relation(kind)
    title = found.columns[kind.queue.title]
    of_query = select(found.item_id).select_from(found.source).where(title == choice.query)
    ids = list(connection.execute(statement.where(item.c.id.in_(of_query))).scalars())
    if not ids:
        raise UnknownName(
            "Unknown query",
            f"No item has the text {choice.query!r}.",
            "List them: workbench items WORKSPACE",
        )
    return _without(ids, apart, f"the {pluralize(len(ids), 'item')} of one query")


def _without(ids: Sequence[int], apart: Collection[int], how: str) -> tuple[list[ChosenItem], str]:
    """Return the items that are not set aside, with how many are."""
    chosen = [ChosenItem(one) for one in ids if one not in apart]
    both = len(ids) - len(chosen)
    return chosen, f"{how}; {both:,} of them for gold or training" if both else how


def _sample(
    connection: Connection, kind: TaskKind, choice: ItemChoice, size: int, apart: Collection[int]
) -> tuple[list[ChosenItem], str]:
    by = None if choice.stratify is None else Stratification.parse(choice.stratify)
    sample = sample_single_items(connection, kind.name, size, choice.seed, by, without=apart)
    item = table_of(Item)
    of_kind = select(func.count()).select_from(item).where(item.c.kind == kind.name)
    there = connection.execute(of_kind.where(~among(item.c.id, apart))).scalar_one()
    shares = {one.stratum: one.sampled / one.items for one in sample.strata if one.items}
    others = " not used for gold or training" if apart else ""
    how = f"random sample of {size:,} of {there:,}{others}, seed {choice.seed}"
    return (
        [
            ChosenItem(
                one,
                stratum=sample.stratum_of.get(one),
                inclusion=shares.get(sample.stratum_of.get(one, ""), size / there),
            )
            for one in sample.item_ids
        ],
        how if by is None else f"{how}, stratified by {choice.stratify}",
    )


def read_answers(connection: Connection, kind: str, path: Path, role: str) -> Iterator[ChosenItem]:
    """Read items with known answers: lines `item,value` or `item,question,value`, or `item` alone.

    A question on responses is one on each of them, or names one: `accuracy@MODEL`.

    Args:
        connection: A reading connection.
        kind: The task kind of the items.
        path: The file, CSV without a header.
        role: `gold`, whose items need answers, or `training`.

    Yields:
        The items in the order of the file, each once.

    Raises:
        UnknownName: An item or a question is unknown.
        WorkbenchError: A line has another form, or a value is off its scale.
    """
    answers: dict[int, dict[str, float]] = {}
    spec = task_kinds()[kind]
    asked = spec.main_question
    for number, row in _lines(path):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if len(cells) > 3 or (len(cells) == 1 and role == "gold"):
            raise _bad_line(path, number, "It is not `item,value` or `item,question,value`.")
        try:
            own = answers.setdefault(_named_item(connection, cells[0], spec), {})
        except UnknownName as unknown:
            first = number == 1 and unknown.title == "Unknown item"
            header = " The file has no header." if first else ""
            raise _bad_line(path, number, f"{unknown.message}{header}") from None
        if len(cells) == 1:
            continue
        name, response = split_question(cells[1]) if len(cells) == 3 else (asked.name, None)
        question = spec.question(name) or spec.question(f"{kind}.{name}")
        if question is None or (response is not None and not question.of_responses):
            raise _bad_line(path, number, f"No question of {spec.plural} is called {cells[1]!r}.")
        try:
            value = scale_value(question.scale, cells[-1])
        except JudgmentRefused as refused:
            raise _bad_line(path, number, f"{refused.message} {refused.hint}") from None
        if own.setdefault(question_name(question.name, response), value) != value:
            raise _bad_line(path, number, f"{cells[0]} has another answer above.")
    yield from (ChosenItem(item, role, gold=given) for item, given in answers.items())


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(read_text(path)))
    try:
        yield from enumerate(reader, 1)
    except csv.Error as error:
        raise _bad_line(path, reader.line_num, f"It is no CSV: {error}.") from error


def _named_item(connection: Connection, name: str, kind: TaskKind) -> int:
    """Return the item of a name, which must be of a kind.

    Raises:
        UnknownName: There is none, or it is of another kind.
    """
    if len(name) > _LONGEST_ID:
        raise UnknownName(
            "Unknown item",
            f"No item has a name of {len(name):,} characters: {name[:20]}…",
            "List them: workbench items WORKSPACE",
        )
    number, item = find_item(connection, name), table_of(Item)
    of_kind = connection.execute(select(item.c.kind).where(item.c.id == number)).scalar_one()
    if of_kind != kind.name:
        raise UnknownName(
            "Item of another kind",
            f"{name!r} is of the kind {of_kind}, and the study is about {kind.plural}.",
            f"List them: workbench items WORKSPACE --kind {kind.name}",
        )
    return number


def read_names(path: Path) -> list[str]:
    """Read names or numbers of items, one a line."""
    return [line.strip() for line in read_text(path).splitlines() if line.strip()]


def read_text(path: Path) -> str:
    """Read a text file of at most `MOST_BYTES`.

    Raises:
        WorkbenchError: It cannot be read, is too large, or no UTF-8.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise WorkbenchError(
                "Too large a file", f"{path} has over {MOST_BYTES:,} bytes.", "Give a smaller one."
            )
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise WorkbenchError(
            "Cannot read", f"{path}: {error.strerror or error}.", "Name a text file."
        ) from error
    except UnicodeDecodeError as error:
        raise WorkbenchError("No text", f"{path} is not UTF-8.", "Save it as UTF-8.") from error


def _bad_line(path: Path, number: int, reason: str) -> WorkbenchError:
    return WorkbenchError("Not read", f"{path}:{number}: {reason}", "Correct the line. Nothing was stored.")
