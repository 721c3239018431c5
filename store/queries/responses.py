"""The responses of models to one item, with judges' scores, and the item's pieces of context."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import itemgetter
from statistics import fmean, stdev
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, select

from store.formatting import pluralize
from store.policy.rows import may
from store.policy.scope import Scope, Shows
from store.queries.questions import refs_with_text, scored_measures
from store.tables.columns import among, table_of
from store.tables.responses import ContextChunk, Response, Score


@dataclass(frozen=True, slots=True)
class ChunkView:
    """A piece of another file, with where it ranks under its setting."""

    setting: str
    rank: int
    path: str
    text: str
    score: float | None


@dataclass(frozen=True, slots=True)
class ScoreView:
    """A judge's score of a response; `value` is None where its reply was no number; `raw` holds the reply."""

    id: UUID
    judge: str
    measure: str
    value: float | None
    raw: str
    reason: str


@dataclass(frozen=True, slots=True)
class JudgeScores:
    """All scores that one judge gave one response under one measure.

    Attributes:
        scores: How many of them are numbers.
        not_parsed: How many are none.
        mean: Their mean; None without a number.
        deviation: Their standard deviation as a sample, with n - 1; None with fewer than two numbers.
    """

    judge: str
    measure: str
    scores: int
    not_parsed: int
    mean: float | None
    deviation: float | None

    @property
    def sentence(self) -> str:
        """The mean, deviation and number in a few words: "mean 7.5, SD 0.71, of 2 scores"."""
        if self.mean is None:
            return f"none of {pluralize(self.not_parsed, 'score')} parsed"
        parts = [f"mean {self.mean:.4g}"]
        parts += [] if self.deviation is None else [f"SD {self.deviation:.2f}"]
        parts.append(f"of {pluralize(self.scores, 'score')}")
        parts += [f"{self.not_parsed:,} not parsed"] if self.not_parsed else []
        return ", ".join(parts)


def summarize_scores(scores: Iterable[ScoreView]) -> tuple[JudgeScores, ...]:
    """Return the scores of one response by judge and measure, in the order of their first ones."""
    groups: dict[tuple[str, str], list[float | None]] = {}
    for score in scores:
        groups.setdefault((score.judge, score.measure), []).append(score.value)
    found = []
    for (judge, measure), given in groups.items():
        values = [value for value in given if value is not None]
        found.append(
            JudgeScores(
                judge,
                measure,
                len(values),
                len(given) - len(values),
                fmean(values) if values else None,
                stdev(values) if len(values) > 1 else None,
            )
        )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class ResponseView:
    """A model's response to an item.

    Attributes:
        id: The key of its reference.
        letter: Its letter on a screen: A, B, and so on.
        name: Model, setting and trial as a person reads them; empty where they stay hidden.
        scores: Judges' scores; none in a blind review.
        measures: The measures of questions that are asked since a judge scored it, also in a blind review.
    """

    id: int
    letter: str
    name: str
    text: str
    scores: tuple[ScoreView, ...] = ()
    measures: frozenset[str] = frozenset()


def load_chunks(connection: Connection, item_id: int) -> tuple[ChunkView, ...]:
    """Read the pieces of other files that go with an item."""
    chunk = table_of(ContextChunk)
    found = (
        select(chunk.c.setting, chunk.c.rank, chunk.c.path, chunk.c.text, chunk.c.score)
        .where(chunk.c.item_id == item_id)
        .order_by(chunk.c.setting, chunk.c.rank)
    )
    return tuple(ChunkView(**row) for row in connection.execute(found).mappings())


def load_responses(
    connection: Connection, item_id: int, scope: Scope, *, blind: bool, hidden: bool
) -> tuple[ResponseView, ...]:
    """Read the responses to an item, by name; those of hidden models in a random order for each rater.

    Those of models that an answer has revealed keep that order, and so their letters.

    Args:
        connection: A reading connection.
        item_id: The item.
        scope: Who looks at it.
        blind: Whether judges' scores are left out.
        hidden: Whether the names of models are left out of what is asked of the database.
    """
    response, ref = table_of(Response), refs_with_text([item_id]).subquery("refs")
    found = select(response.c.id, response.c.text).join(ref, ref.c.id == response.c.id)
    if hidden:
        # The same on every visit, and another one for another rater and item.
        rows = sorted(
            connection.execute(found).all(), key=lambda row: _random_key(scope.rater_id, item_id, row.id)
        )
    else:
        columns = (ref.c.model, ref.c.setting, ref.c.trial)
        rows = list(connection.execute(found.add_columns(*columns).order_by(*columns)).all())
        if scope.reveals:
            rows.sort(key=lambda row: _random_key(scope.rater_id, item_id, row.id))
    scores = {} if blind else _scores(connection, [row.id for row in rows])
    measures = scored_measures(connection, [row.id for row in rows], scope)
    return tuple(
        ResponseView(
            id=row.id,
            letter=letter(place),
            name="" if hidden else _name(row.model, row.setting, row.trial),
            text=row.text,
            scores=scores.get(row.id, ()),
            measures=frozenset(measures.get(row.id, ())),
        )
        for place, row in enumerate(rows)
    )


def judges_scores(
    connection: Connection, scope: Scope, item_ids: Collection[int]
) -> dict[int, list[dict[str, Any]]]:
    """Return the scores of the responses to some items, by item, for programs.

    Items that hide judges' work or the names of models are left out.

    Returns:
        For each response, judge and measure: model, setting, trial, and the fields of `JudgeScores`.
    """
    score, ref = table_of(Score), refs_with_text(item_ids).subquery("refs")
    names = ("id", "judge", "measure", "value", "raw", "reason")
    found = (
        select(ref.c.item_id, ref.c.model, ref.c.setting, ref.c.trial, *(score.c[name] for name in names))
        .join(ref, ref.c.id == score.c.response_ref_id)
        .where(may(scope, Shows.MODELS, ref.c.item_id))
        .order_by(
            *(ref.c[name] for name in ("item_id", "model", "setting", "trial")),
            *(score.c[name] for name in ("judge", "measure", "sequence")),
        )
    )
    scores: dict[int, list[dict[str, Any]]] = {}
    rows = connection.execute(found).mappings()
    for key, group in groupby(rows, itemgetter("item_id", "model", "setting", "trial")):
        item_id, model, setting, trial = key
        given = summarize_scores(ScoreView(**{name: row[name] for name in names}) for row in group)
        of = {"model": model, "setting": setting, "trial": trial}
        scores.setdefault(item_id, []).extend({**of, **asdict(one)} for one in given)
    return scores


def _name(model: str, setting: str, trial: int) -> str:
    return " · ".join([model, *([setting] if setting else []), *([f"trial {trial}"] if trial else [])])


def letter(place: int) -> str:
    """Return the letter of the response at a place, from 0: A to Z, then AA, AB, and so on."""
    name = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        name = chr(ord("A") + rest) + name
    return name


def _random_key(rater_id: int, item_id: int, response_id: int) -> str:
    return hashlib.sha256(f"{rater_id}/{item_id}/{response_id}".encode()).hexdigest()


def _scores(connection: Connection, response_ids: list[int]) -> dict[int, tuple[ScoreView, ...]]:
    score = table_of(Score)
    names = ("id", "judge", "measure", "value", "raw", "reason")
    found = (
        select(score.c.response_ref_id, *(score.c[name] for name in names))
        .where(among(score.c.response_ref_id, response_ids))
        .order_by(score.c.judge, score.c.measure, score.c.sequence)
    )
    scores: dict[int, list[ScoreView]] = {}
    for row in connection.execute(found).mappings():
        scores.setdefault(row["response_ref_id"], []).append(ScoreView(**{name: row[name] for name in names}))
    return {number: tuple(each) for number, each in scores.items()}
