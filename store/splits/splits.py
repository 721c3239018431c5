"""Splits of the ground truth: made once, with the labels of then, and kept with what was found about them."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID, uuid4

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, Row, delete, func, select

from store.analysis.labels import named_question, to_file_order
from store.analysis.truth_panel import TruthPanel, TruthSource, truth_panel
from store.errors import UnknownName, WorkbenchError, WorkspaceError
from store.formatting import pluralize
from store.kinds.spec import TaskKind, task_kinds
from store.record.ids import now
from store.splits.agreement import (
    ItemsByQuery,
    agreement_behind,
    items_by_query,
    undecided_queries,
)
from store.splits.allocation import Part, allot
from store.splits.grouping import COUNTED, Disjoint, SplitItems, check_feasible, group_items
from store.splits.leakage import PROMISED, Leak, PlacedText, Sort, count_leaks, leaks
from store.tables.appending import append_rows
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.record import JudgmentRow
from store.tables.splits import Split, SplitLabel
from store.workspace.duckdb import Workspace

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

KEPT_LEAKS = 200
"""Leaks that are kept with a split, of each sort; all are counted."""

LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """How a split is made.

    Attributes:
        question: The question whose labels it is of.
        against: Whose labels are true: a rater, or a policy.
        disjoint: What no two parts share; `given` where each item's part was given.
        seed: The seed of the order of the groups.
        stratified: Whether each part has its share of the items and of every label, in place of its share of
            the queries.
        panel: The raters of the policy; None for people.
        study: The study whose labels count; None for all.
        with_revealed: Whether labels that were judged with others in sight count.
    """

    question: str
    against: str
    parts: tuple[Part, ...]
    disjoint: Disjoint | Literal["given"] = "query"
    seed: int = 0
    stratified: bool = False
    panel: tuple[str, ...] | None = None
    study: str | None = None
    with_revealed: bool = False


@dataclass(frozen=True, slots=True)
class PartFigures:
    """One part of a split.

    Attributes:
        part: Its name.
        share: The share that it was to have, of the queries, or of the items where repositories are kept
            apart or parts were given.
        achieved: The share of these that it has.
        queries: Its queries; of a kind without queries its items.
        codes: Its different codes, those that are equal but for blanks as one; None for items without codes.
        repositories: Its repositories; None for items without one.
        labels: Its true labels, by value.
        agreement: The agreement of the raters of the policy, or of people where one rater's labels are true,
            on all items of its queries that they labelled: see `agreement_behind`. In a split of an earlier
            version on its items alone, without `undecided`.
    """

    part: str
    share: float
    achieved: float
    queries: int
    items: int
    codes: int | None
    repositories: int | None
    labels: Mapping[str, int]
    agreement: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Shared:
    """How much two parts share.

    Attributes:
        parts: Both parts, in the order of the split.
        number: How many queries, codes or repositories.
    """

    parts: tuple[str, str]
    number: int


@dataclass(frozen=True, slots=True)
class SplitReport:
    """What was found about a split when it was made.

    Attributes:
        truth: What the true labels rest on.
        groups: The groups that were kept together.
        largest: The share of the queries, or items, that the largest group has.
        left_out: Items that were left out since their query and code came into different parts.
        leakage: How much any two parts share, by sort.
        leaks: The leaks, at most 200 of each sort.
        agreement: The agreement on all that was labelled, as of a part; empty in one of an earlier version.
        undecided_queries: Queries with labels and no item with a true one, which are in no part.
    """

    truth: TruthSource
    parts: tuple[PartFigures, ...]
    groups: int
    largest: float
    left_out: int
    leakage: Mapping[Sort, Sequence[Shared]]
    leaks: tuple[Leak, ...]
    agreement: Mapping[str, Any] = field(default_factory=dict)
    undecided_queries: int = 0


@dataclass(frozen=True, slots=True)
class SplitDetails:
    """A split.

    Attributes:
        report: What was found when it was made.
        created_at: When it was made.
        last_judgment: The highest id of a judgment of then; None where there was none.
        digest: The SHA-256 of its items, with their parts and true labels.
    """

    id: UUID
    name: str
    kind: str
    plan: SplitPlan
    report: SplitReport
    created_at: datetime
    last_judgment: UUID | None
    digest: str

    @property
    def leaks(self) -> int:
        """How much its parts share of what they were to keep apart."""
        promised = PROMISED[self.plan.disjoint]
        numbers = (self.report.leakage.get(sort, ()) for sort in promised)
        return sum(one.number for each in numbers for one in each)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        return {
            "split": self.name,
            "kind": self.kind,
            **asdict(self.plan),
            **asdict(self.report),
            "leaks_found": self.leaks,
            "created_at": self.created_at,
            "last_judgment": self.last_judgment,
            "digest": self.digest,
        }


@dataclass(frozen=True, slots=True)
class SplitChanges:
    """How the true labels of now differ from those of a split.

    Attributes:
        changed: Units with another label now: the item's id in its file, the label of then and that of now.
        gone: Items without a true label now.
        new: Items with a true label that the split lacks.
    """

    changed: tuple[tuple[str, float, float], ...] = ()
    gone: tuple[str, ...] = ()
    new: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Return whether there is any difference."""
        return bool(self.changed or self.gone or self.new)


@dataclass(frozen=True, slots=True, eq=False)
class TrueUnits:
    """The n units with a true label.

    Attributes:
        panel: Whose labels these are.
        items: The item of each, of shape (n,).
        responses: The response that it is, 0 for the item itself, of shape (n,).
        values: The labels, of shape (n,); of comparisons as they are stored, not in the panel's order.
    """

    panel: TruthPanel
    items: Array
    responses: Array
    values: Array


def default_disjoint(question: str) -> Disjoint:
    """Return what parts do not share where nobody says: queries, or repositories without queries.

    Raises:
        UnknownName: There is no such question.
    """
    return "query" if named_question(question).kind.record.group else "repository"


def make_split(
    workspace: Workspace, name: str, plan: SplitPlan, *, given: Mapping[str, str] | None = None
) -> SplitDetails:
    """Make a split of the items with a true label, and store it.

    Args:
        workspace: The workspace.
        name: The name of the split, which no other has.
        plan: How it is made.
        given: The part of each item, by the item's id in its file, where people chose it; other items are in
            no part.

    Raises:
        UnknownName: A name in the plan, or an item in `given`, is unknown.
        WorkbenchError: The name is taken or no name, nobody's labels can count as true, or the ratios cannot
            be met.
    """
    kind = named_question(plan.question).kind
    with workspace.reading() as connection:
        check_name(connection, name)
        found = true_units(connection, plan)
        # A rater may be given by a part of the name, which may fit another one later.
        plan = replace(plan, against=found.panel.against)
        last = connection.execute(select(func.max(table_of(JudgmentRow).c.id))).scalar_one()
        external = _external_ids(connection, kind)
        items = _split_items(connection, kind, found, external)
        of_items, groups, largest, left_out = _parts(items, plan, given)
        names = [part.name for part in plan.parts]
        part_of = {
            item: names[part]
            for item, part in zip(items.ids.tolist(), of_items.tolist(), strict=True)
            if part >= 0
        }
        everything = items_by_query(
            connection, kind, names, part_of, repositories=plan.disjoint == "repository"
        )
        source = found.panel.described(connection)
    report = SplitReport(
        truth=source,
        groups=groups,
        largest=largest,
        left_out=left_out,
        **_report(plan, found, items, of_items, everything),
    )
    id_ = uuid4()
    units = zip(found.items.tolist(), found.responses.tolist(), found.values.tolist(), strict=True)
    rows = [
        {
            "split_id": id_,
            "item_id": item,
            "response_ref_id": response or None,
            "part": part_of[item],
            "value": value,
        }
        for item, response, value in units
        if item in part_of
    ]
    row = {
        "id": id_,
        "name": name,
        "question": plan.question,
        "kind": kind.name,
        "plan": json.dumps(asdict(plan)),
        "created_at": now(),
        "last_judgment": last,
        "digest": _digest(rows, external),
        "report": json.dumps(asdict(report), ensure_ascii=False),
    }

    def write(connection: Connection) -> None:
        check_name(connection, name)
        append_rows(connection, table_of(SplitLabel), rows)
        append_rows(connection, table_of(Split), [row])

    workspace.lane.submit(write).result()
    with workspace.reading() as connection:
        return find_split(connection, name)


def list_splits(connection: Connection) -> list[SplitDetails]:
    """Return the splits of a workspace in the order in which they were made.

    Raises:
        WorkspaceError: One is not as this program stores it.
    """
    split = table_of(Split)
    return [_details(row) for row in connection.execute(select(split).order_by(split.c.created_at))]


def find_split(connection: Connection, name: str) -> SplitDetails:
    """Return a split by its name.

    Raises:
        UnknownName: None is called so.
        WorkspaceError: It is not as this program stores one.
    """
    return _details(_row(connection, name))


def _row(connection: Connection, name: str) -> Row[Any]:
    split = table_of(Split)
    row = connection.execute(select(split).where(split.c.name == name)).first()
    if row is None:
        known = connection.execute(select(split.c.name).order_by(split.c.created_at)).scalars().all()
        hint = f"Splits: {', '.join(known)}." if known else "Make one: workbench split WORKSPACE NAME"
        raise UnknownName("Unknown split", f"No split is called {name!r}.", hint)
    return row


def split_parts(split: SplitDetails, part: str | None = None) -> tuple[str, ...]:
    """Return the names of a split's parts, or of the one that is named.

    Raises:
        UnknownName: It has no such part.
    """
    names = tuple(one.name for one in split.plan.parts)
    if part is None:
        return names
    if part not in names:
        raise UnknownName(
            "Unknown part", f"{split.name} has no part {part!r}.", f"Parts: {', '.join(names)}."
        )
    return (part,)


def split_items(connection: Connection, split: SplitDetails, part: str | None = None) -> list[int]:
    """Return the items of a split, or of one of its parts, in the order of import.

    Raises:
        UnknownName: It has no such part.
    """
    label = table_of(SplitLabel)
    rows = (
        select(label.c.item_id)
        .where(label.c.split_id == split.id, label.c.part.in_(split_parts(split, part)))
        .distinct()
        .order_by(label.c.item_id)
    )
    return list(connection.execute(rows).scalars())


def items_behind(connection: Connection, split: SplitDetails, part: str | None = None) -> dict[int, str]:
    """Return the items that the agreement of a split is about, with the part of each, empty for none.

    Args:
        connection: A reading connection.
        split: The split.
        part: The only part; None for all of the split, with the queries that are in no part.
    """
    label = table_of(SplitLabel)
    rows = connection.execute(select(label.c.item_id, label.c.part).where(label.c.split_id == split.id))
    part_of = {int(item): str(name) for item, name in rows}
    parts = [one.name for one in split.plan.parts]
    found = items_by_query(
        connection,
        task_kinds()[split.kind],
        parts,
        part_of,
        repositories=split.plan.disjoint == "repository",
    )
    names = [*parts, ""]
    every = {item: names[place] for item, place in zip(found.ids.tolist(), found.parts.tolist(), strict=True)}
    if part is None and split.plan.disjoint != "given":
        return every
    return {item: name for item, name in every.items() if name and part in (None, name)}


def items_named(connection: Connection, split: SplitDetails, names: Collection[str]) -> list[int]:
    """Return the items of a split's kind by their ids in their files, in the order of import."""
    wanted = set(names)
    return sorted(
        number
        for number, name in _external_ids(connection, task_kinds()[split.kind]).items()
        if name in wanted
    )


def split_labels(
    connection: Connection, split: SplitDetails, parts: Sequence[str]
) -> tuple[Array, Array, Array, list[str]]:
    """Return the true labels of some parts of a split, in the order of import.

    Returns:
        The item of each label, its response (0 for none) and its value, of shape (n,), and its part.
    """
    import numpy

    label = table_of(SplitLabel)
    response = func.coalesce(label.c.response_ref_id, 0).label("response")
    rows = connection.execute(
        select(label.c.item_id, response, label.c.value, label.c.part)
        .where(label.c.split_id == split.id, label.c.part.in_(parts))
        .order_by(label.c.item_id, response)
    ).all()
    items, responses, values, names = zip(*rows, strict=True) if rows else ((), (), (), ())
    return (
        numpy.array(items, dtype=numpy.int64),
        numpy.array(responses, dtype=numpy.int64),
        numpy.array(values, dtype=float),
        list(names),
    )


def delete_split(workspace: Workspace, name: str) -> None:
    """Remove a split; the items and labels stay.

    Raises:
        UnknownName: None is called so.
    """
    with workspace.reading() as connection:
        key = _row(connection, name).id

    def write(connection: Connection) -> None:
        label, split = table_of(SplitLabel), table_of(Split)
        connection.execute(delete(label).where(label.c.split_id == key))
        connection.execute(delete(split).where(split.c.id == key))

    workspace.lane.submit(write).result()


def split_changes(connection: Connection, split: SplitDetails) -> SplitChanges:
    """Compare the true labels of now, by the same plan, with those of a split."""
    kind = task_kinds()[split.kind]
    external = _external_ids(connection, kind)
    items, responses, values, _ = split_labels(connection, split, split_parts(split))
    stored = zip(items.tolist(), responses.tolist(), strict=True)
    then = dict(zip(stored, values.tolist(), strict=True))
    try:
        found = true_units(connection, split.plan)
    except WorkbenchError:
        # Nobody's labels count any more: all of them were taken back, or their raters withdrew.
        return SplitChanges(gone=tuple(dict.fromkeys(external[item] for item, _ in sorted(then))))
    units = zip(found.items.tolist(), found.responses.tolist(), strict=True)
    today = dict(zip(units, found.values.tolist(), strict=True))
    return SplitChanges(
        tuple(
            (external[unit[0]], value, today[unit])
            for unit, value in sorted(then.items())
            if unit in today and today[unit] != value
        ),
        tuple(dict.fromkeys(external[unit[0]] for unit in sorted(then) if unit not in today)),
        tuple(dict.fromkeys(external[unit[0]] for unit in sorted(today) if unit not in then)),
    )


def check_name(connection: Connection, name: str) -> None:
    """Refuse what cannot name a new split.

    Raises:
        WorkbenchError: It is no name, or another split has it.
    """
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise WorkbenchError(
            "Not a name", f"{name[:80]!r} cannot name a split.", f"Use 1 to {LONGEST_NAME} letters or digits."
        )
    split = table_of(Split)
    if connection.execute(select(split.c.id).where(split.c.name == name)).first() is not None:
        raise WorkbenchError(
            "Name taken",
            f"There is a split {name} already, which stays as it is.",
            "Choose another name, or delete that split first.",
        )


def _details(row: Row[Any]) -> SplitDetails:
    """Return a split that was stored.

    Raises:
        WorkspaceError: It is not as this program stores one; a bundle can hold what another one wrote.
    """
    try:
        plan = TypeAdapter(SplitPlan).validate_json(row.plan)
        report = TypeAdapter(SplitReport).validate_json(row.report)
    except ValidationError as error:
        raise WorkspaceError(
            "Split cannot be read",
            f"The split {row.name} is not as this program stores one.",
            f"Delete it, which keeps items and labels: workbench splits WORKSPACE {shlex.quote(row.name)} "
            "--delete; or import the bundle once more from where it was published.",
        ) from error
    return SplitDetails(
        row.id, row.name, row.kind, plan, report, row.created_at, row.last_judgment, row.digest
    )


def true_units(connection: Connection, plan: SplitPlan) -> TrueUnits:
    """Return the units with a true label of now.

    Raises:
        UnknownName: A name in the plan is unknown.
        WorkbenchError: Nobody's labels can count as true.
    """
    import numpy

    panel = truth_panel(
        connection,
        plan.question,
        plan.against,
        study=plan.study,
        panel=plan.panel,
        with_revealed=plan.with_revealed,
    )
    values = panel.without(()).values
    if panel.labels.kind.two_sided:
        # As they are stored: exports put them in the order of the files.
        (values,) = to_file_order(connection, panel.labels.item_ids, [values])
    there = ~numpy.isnan(values)
    units = panel.labels.units[there]
    return TrueUnits(panel, panel.labels.item_ids[there], numpy.where(units < 0, -units, 0), values[there])


def _external_ids(connection: Connection, kind: TaskKind) -> dict[int, str]:
    item = table_of(Item)
    rows = connection.execute(select(item.c.id, item.c.external_id).where(item.c.kind == kind.name))
    return {int(number): name for number, name in rows}


def _digest(rows: Sequence[Mapping[str, Any]], external: Mapping[int, str]) -> str:
    """Return the SHA-256 of true labels: a line for each, `part item response value`, sorted."""
    lines = sorted(
        json.dumps([row["part"], external[row["item_id"]], row["response_ref_id"] or 0, row["value"]])
        for row in rows
    )
    return sha256("\n".join(lines).encode()).hexdigest()


def _split_items(
    connection: Connection, kind: TaskKind, found: TrueUnits, external: Mapping[int, str]
) -> SplitItems:
    """Return the labelled items with their queries, codes and repositories; hashes stand for codes."""
    import numpy

    record = kind.record
    ids, place = numpy.unique(found.items, return_inverse=True)
    lowest, highest = numpy.full(len(ids), numpy.inf), numpy.full(len(ids), -numpy.inf)
    numpy.minimum.at(lowest, place, found.values)
    numpy.maximum.at(highest, place, found.values)
    connection.exec_driver_sql("register", ("labelled", {"id": ids}))

    def read(select: str) -> dict[str, Any]:
        cursor = connection.exec_driver_sql(select).cursor
        assert cursor is not None
        columns: dict[str, Any] = cursor.fetchnumpy()
        return columns

    text_column = record.group or kind.queue.title
    queries = read(
        "SELECT i.id, i.group_id FROM item i WHERE i.id IN (SELECT id FROM labelled) ORDER BY i.id"
    )["group_id"]
    _, of_queries = numpy.unique(queries, return_inverse=True)
    texts = read(
        f"SELECT min(p.{text_column}) AS text FROM item i JOIN ({record.select}) p ON p.item_id = i.id "
        "WHERE i.id IN (SELECT id FROM labelled) GROUP BY i.group_id ORDER BY i.group_id"
    )["text"].tolist()
    code = next((one for one in record.shared if one.column != record.group), None)
    codes, code_texts, bare_codes = None, [], []
    if code is not None:
        numbers = read(
            f"SELECT {code.table}_id AS code FROM {record.table} WHERE item_id IN (SELECT id FROM labelled) "
            "ORDER BY item_id"
        )["code"]
        used, codes = numpy.unique(numbers, return_inverse=True)
        connection.exec_driver_sql("register", ("labelled_code", {"id": used}))
        texts_of_codes = read(
            f"""SELECT md5(regexp_replace(text, '\\s', '', 'g')) AS whole, md5(regexp_replace(
                regexp_replace(text, '(?m)^[ \\t]*(#|//).*$', '', 'g'), '\\s', '', 'g')) AS bare
            FROM {code.table} WHERE id IN (SELECT id FROM labelled_code) ORDER BY id"""
        )
        code_texts, bare_codes = texts_of_codes["whole"].tolist(), texts_of_codes["bare"].tolist()
    repositories = None
    if "repository" in record.columns:
        repositories = read(
            f"SELECT p.repository FROM ({record.select}) p WHERE p.item_id IN (SELECT id FROM labelled) "
            "ORDER BY p.item_id"
        )["repository"].tolist()
    return SplitItems(
        ids=ids,
        names=[external[item] for item in ids.tolist()],
        queries=of_queries,
        texts=texts,
        codes=codes,
        code_texts=code_texts,
        bare_codes=bare_codes,
        repositories=repositories,
        labels=numpy.where(lowest == highest, lowest, numpy.nan),
    )


def _parts(
    items: SplitItems, plan: SplitPlan, given: Mapping[str, str] | None
) -> tuple[Array, int, float, int]:
    """Return the place of each item's part (-1 for none), the groups, the largest's share, those left out."""
    import numpy

    if given is not None:
        return _given_parts(items, plan, given), 0, 0.0, 0
    assert plan.disjoint != "given"
    groups = group_items(items, plan.disjoint)
    check_feasible(groups, plan.disjoint, max(part.share for part in plan.parts))
    counts = groups.sizes[:, None]
    if plan.stratified:
        values, label = numpy.unique(items.labels, return_inverse=True)
        counts = numpy.zeros((len(groups.keys), len(values)), dtype=numpy.int64)
        numpy.add.at(counts, (groups.of_items, label), 1)
    parts = allot(plan.parts, groups.keys, counts, plan.seed)
    found = parts[groups.of_items]
    if groups.of_codes is not None:
        found = numpy.where(parts[groups.of_codes] == found, found, -1)
    left_out = int((found < 0).sum())
    empty = [part.name for place, part in enumerate(plan.parts) if not (found == place).any()]
    if empty:
        raise WorkbenchError(
            "Empty part",
            f"{pluralize(len(groups.keys), 'group')} of items that stay together cannot fill "
            f"{pluralize(len(plan.parts), 'part')}: {', '.join(empty)} would be empty.",
            "Label more items, ask for fewer parts, or keep only queries apart.",
        )
    return found, len(groups.keys), groups.largest, left_out


def _given_parts(items: SplitItems, plan: SplitPlan, given: Mapping[str, str]) -> Array:
    import numpy

    names = [part.name for part in plan.parts]
    if unknown := sorted(given.keys() - set(items.names)):
        raise UnknownName(
            "Not labelled",
            f"{pluralize(len(unknown), 'item')} of the file, such as {unknown[0]!r}: no true label.",
            "Leave them out of the file, or label them first.",
        )
    return numpy.array([names.index(given[name]) if name in given else -1 for name in items.names])


def _report(
    plan: SplitPlan,
    found: TrueUnits,
    items: SplitItems,
    of_items: Array,
    everything: ItemsByQuery,
) -> dict[str, Any]:
    """Return the figures of the parts and their leakage, as fields of `SplitReport`."""
    import numpy

    names = [part.name for part in plan.parts]
    inside = of_items >= 0
    queries = {place: len(numpy.unique(items.queries[of_items == place])) for place in range(len(plan.parts))}
    sizes = {place: int((of_items == place).sum()) for place in range(len(plan.parts))}
    counted = sizes if COUNTED[plan.disjoint] == "items" else queries
    total = max(sum(counted.values()), 1)
    figures = [
        PartFigures(
            part.name,
            part.share,
            counted[place] / total,
            queries[place],
            sizes[place],
            _count_codes(items, of_items == place),
            _count_repositories(items, of_items == place),
            _histogram(found.panel, items.ids[of_items == place]),
            agreement_behind(found.panel, everything.ids[everything.parts == place]),
        )
        for place, part in enumerate(plan.parts)
    ]

    def placed(keys: Sequence[int], texts: Sequence[str]) -> list[PlacedText]:
        first: dict[tuple[int, int], str] = {}
        for item, key, part, there in zip(items.names, keys, of_items.tolist(), inside.tolist(), strict=True):
            if there:
                first.setdefault((part, key), item)
        return [PlacedText(names[part], item, texts[key]) for (part, key), item in first.items()]

    repositories = list(dict.fromkeys(items.repositories or ()))
    place_of = {name: place for place, name in enumerate(repositories)}
    shared = leaks(
        names,
        placed(items.queries.tolist(), items.texts),
        [] if items.codes is None else placed(items.codes.tolist(), items.bare_codes),
        [one for one in placed([place_of[name] for name in items.repositories], repositories) if one.text]
        if items.repositories
        else [],
    )
    seen: Counter[str] = Counter()
    kept = []
    for leak in shared:
        seen[leak.sort] += 1
        if seen[leak.sort] <= KEPT_LEAKS:
            kept.append(leak)
    return {
        "parts": tuple(figures),
        "leakage": {
            sort: [Shared(parts, number) for parts, number in numbers.items()]
            for sort, numbers in count_leaks(shared).items()
        },
        "leaks": tuple(kept),
        "agreement": agreement_behind(
            found.panel, everything.ids[everything.parts >= 0] if plan.disjoint == "given" else everything.ids
        ),
        "undecided_queries": 0 if plan.disjoint == "given" else undecided_queries(found.panel, everything),
    }


def _count_codes(items: SplitItems, there: Array) -> int | None:
    if items.codes is None:
        return None
    return len({items.code_texts[code] for code in items.codes[there].tolist()})


def _count_repositories(items: SplitItems, there: Array) -> int | None:
    if items.repositories is None:
        return None
    return len(
        {name for name, inside in zip(items.repositories, there.tolist(), strict=True) if inside and name}
    )


def _histogram(panel: TruthPanel, ids: Array) -> dict[str, int]:
    """Return how many true labels some items have, by value: of comparisons as exports write them."""
    import numpy

    true = panel.without(()).values[numpy.isin(panel.labels.item_ids, ids)]
    values, numbers = numpy.unique(true[~numpy.isnan(true)], return_counts=True)
    return {
        f"{value:g}": int(number) for value, number in zip(values.tolist(), numbers.tolist(), strict=True)
    }


def agreement_words(report: SplitReport) -> list[str]:
    """Return what the agreement of the parts of a split is about, and that of all of it, a sentence each."""
    whom = "the raters of the policy" if len(report.truth.panel) > 1 else "people"
    if not report.agreement:
        return [f"Agreement: Krippendorff's alpha of {whom} on each part's items with a true label."]
    alpha, undecided = report.agreement["alpha"], report.agreement["undecided"]
    queries = pluralize(report.undecided_queries, "query", "queries")
    return [
        f"Agreement: Krippendorff's alpha of {whom} on all items of a part's queries that they labelled, "
        "undecided ones included"
        + (", before adjudication." if report.truth.against == "adjudicated" else "."),
        f"In all: {'none' if alpha is None else f'{alpha:.3f}'} on {report.agreement['units']:,} units, "
        f"{undecided:,} undecided"
        + (f"; {queries} without a decided item." if report.undecided_queries else "."),
    ]
