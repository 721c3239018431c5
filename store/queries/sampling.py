"""Random samples of queries or items, the same on every machine and in every workspace with the same ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy import Connection, Float, Select, cast, func, literal, select

from store.errors import UnknownName, WorkbenchError
from store.kinds.spec import task_kinds
from store.policy.scope import RunRef, Scope
from store.queries.current import current_verdicts, first_values, label_questions, on_label
from store.queries.runs import rater_or_run
from store.tables.columns import among, table_of
from store.tables.imported import Item, Pair, Query
from store.tables.runs import Run, VerdictRow


def sample_items(connection: Connection, kind: str, queries: int, seed: int) -> list[int]:
    """Return all items of a random sample of queries, as for the pilot of CoSQA+ (section IV.B.c).

    Every query gets the SHA-256 of the seed, a colon and its text in UTF-8, and those with the lowest are
    taken: a larger sample with the same seed holds the smaller one, and nothing else in the workspace counts.

    `queries` is the size of the sample.

    Returns:
        Item ids, rising.

    Raises:
        WorkbenchError: There are fewer queries.
    """
    item, pair, query = (table_of(model) for model in (Item, Pair, Query))
    joined = item.join(pair, pair.c.item_id == item.c.id)
    asked = select(pair.c.query_id).select_from(joined).where(item.c.kind == kind).distinct()
    there = connection.execute(select(func.count()).select_from(asked.subquery())).scalar_one()
    if queries > there:
        raise WorkbenchError(
            "Too few queries",
            f"A sample of {queries:,} queries was asked for, and {there:,} have items.",
            f"Ask for at most {there:,}, or leave --sample-queries out for all." if there else "Import some.",
        )
    sample = (
        select(query.c.id)
        .where(query.c.id.in_(asked))
        .order_by(func.sha256(literal(f"{seed}:").concat(query.c.text)), query.c.id)
        .limit(queries)
    )
    found = select(item.c.id).select_from(joined).where(item.c.kind == kind, pair.c.query_id.in_(sample))
    return list(connection.execute(found.order_by(item.c.id)).scalars())


@dataclass(frozen=True, slots=True)
class Stratification:
    """By what a sample is stratified.

    Attributes:
        by: `label` or `path`.
        rater: Whose labels: a person, imported labels or a run; None for the run that is shown.
    """

    by: str
    rater: str | None = None

    @classmethod
    def parse(cls, text: str) -> Stratification:
        """Read `label`, `path`, `label:RATER` or `path:RUN`.

        Raises:
            UnknownName: It is neither.
        """
        by, colon, rater = text.partition(":")
        if by not in ("label", "path") or (colon and not rater.strip()):
            raise UnknownName(
                "Unknown strata",
                f"A sample cannot be stratified by {text!r}.",
                "Give label or path, and after a colon whose: --stratify label:RATER",
            )
        return cls(by, rater.strip() or None)


@dataclass(frozen=True, slots=True)
class Stratum:
    """A stratum of a sample.

    Attributes:
        stratum: The label or path of its items; "none" for those without one.
    """

    stratum: str
    items: int
    sampled: int


@dataclass(frozen=True, slots=True)
class ItemSample:
    """A random sample of items.

    Attributes:
        item_ids: The items, rising.
        strata: The strata in order; empty for a sample without them.
        stratum_of: The name of the stratum of each item; empty for a sample without them.
    """

    item_ids: list[int]
    strata: tuple[Stratum, ...] = ()
    stratum_of: Mapping[int, str] = field(default_factory=dict)

    def strata_as_json(self) -> list[dict[str, Any]] | None:
        """Return the strata for JSON; None for a sample without them."""
        return [asdict(one) for one in self.strata] or None


def sample_single_items(
    connection: Connection,
    kind: str,
    number: int,
    seed: int,
    by: Stratification | None = None,
    *,
    run: RunRef | None = None,
    without: Collection[int] = (),
) -> ItemSample:
    """Return a random sample of items, whatever their queries.

    Every item gets the SHA-256 of the seed, a colon and its content's hash in hex, and those with the lowest
    are taken. In strata, the item of rank r by this hash in its stratum of n items gets the place
    (r - 1/2) / n, and those with the lowest places are taken: the proportional allocation of Webster and
    Sainte-Laguë. By largest remainders a stratum can lose an item when the sample grows by one; so it cannot,
    and a larger sample with the same seed holds the smaller one.

    Args:
        connection: A reading connection.
        kind: The task kind of the items.
        number: The size of the sample.
        seed: The seed of the sample.
        by: The strata; None for none.
        run: The run whose labels or paths are the strata where these name nobody; None for the run that is
            shown by default.
        without: Items that are not sampled.

    Raises:
        WorkbenchError: There are fewer items, or none has a label by which to stratify.
        UnknownName: There is no such rater.
    """
    item = table_of(Item)
    in_frame = (item.c.kind == kind) & ~among(item.c.id, without)
    there = connection.execute(select(func.count()).select_from(item).where(in_frame)).scalar_one()
    word = task_kinds()[kind].plural if kind in task_kinds() else "items"
    if number > there:
        others = " others" if without else ""
        raise WorkbenchError(
            f"Too few {word}",
            f"A sample of {number:,} {word} was asked for, and there are {there:,}{others}.",
            f"Ask for at most {there:,}, or leave --sample-pairs out for all." if there else "Import some.",
        )
    digest = func.sha256(literal(f"{seed}:").concat(item.c.content_hash)).label("digest")
    columns = [item.c.id, item.c.external_id, digest]
    if by is None:
        framed = select(*columns, literal("").label("stratum")).where(in_frame).subquery()
    else:
        labels = _strata(connection, by, run).subquery("strata")
        framed = (
            select(*columns, labels.c.stratum)
            .select_from(item.outerjoin(labels, labels.c.item_id == item.c.id))
            .where(in_frame)
            .subquery()
        )
    # Items with the same content have the same hash.
    order = (framed.c.digest, framed.c.external_id)
    rank = func.row_number().over(partition_by=framed.c.stratum, order_by=order)
    size = func.count().over(partition_by=framed.c.stratum)
    ranked = select(framed, ((cast(rank, Float) - 0.5) / size).label("place")).subquery()
    taken = (
        select(ranked.c.id)
        .order_by(ranked.c.place, ranked.c.digest, ranked.c.external_id)
        .limit(number)
        .subquery("taken")
    )
    ids = sorted(connection.execute(select(taken.c.id)).scalars())
    if by is None:
        return ItemSample(ids)
    counts = (
        select(framed.c.stratum, func.count().label("items"), func.count(taken.c.id).label("sampled"))
        .select_from(framed.outerjoin(taken, taken.c.id == framed.c.id))
        .group_by(framed.c.stratum)
        .order_by(framed.c.stratum.nulls_last())
    )
    rows = connection.execute(counts).all()
    if all(row.stratum is None for row in rows):
        whose = f"by {by.rater!r}" if by.rater else "by agents"
        raise WorkbenchError(
            "Nothing to stratify by",
            f"None of the {word} has a {by.by} {whose}.",
            "Name whose labels: --stratify label:RATER; or leave --stratify out.",
        )
    strata = tuple(Stratum(_name(kind, by, row.stratum), row.items, row.sampled) for row in rows)
    own = select(framed.c.id, framed.c.stratum).join(taken, taken.c.id == framed.c.id)
    return ItemSample(ids, strata, {row.id: _name(kind, by, row.stratum) for row in connection.execute(own)})


def _name(kind: str, by: Stratification, stratum: Any) -> str:
    """Return the name of a stratum: the word of a label, a path, or "none"."""
    if by.by == "label" and stratum is not None and kind in task_kinds():
        return task_kinds()[kind].label_word(float(stratum))
    return "none" if stratum is None else str(stratum)


def _strata(connection: Connection, by: Stratification, run: RunRef | None) -> Select[Any]:
    """Select (item_id, stratum) of the items that have a label or path.

    Raises:
        UnknownName: There is no such rater.
        WorkbenchError: A path is asked for of a rater that is no run.
    """
    column = "path" if by.by == "path" else "value"
    if by.rater is None:
        verdicts = current_verdicts(Scope(run=run))
        return select(verdicts.c.item_id, verdicts.c[column].label("stratum"))
    rater = rater_or_run(connection, by.rater)
    if rater.kind == "agent":
        verdict, runs = table_of(VerdictRow), table_of(Run)
        return (
            select(verdict.c.item_id, verdict.c[column].label("stratum"))
            .join(runs, runs.c.id == verdict.c.run_id)
            .where(runs.c.rater_id == rater.id, on_label(verdict))
        )
    if by.by == "path":
        raise WorkbenchError(
            "No paths", f"{by.rater!r} is no run: only agents' verdicts have a path.", "Name a run."
        )
    labels = first_values(questions=label_questions())
    own = select(labels.c.item_id, labels.c.value.label("stratum"))
    return own.where(labels.c.rater_id == rater.id, labels.c.response_ref_id.is_(None))
