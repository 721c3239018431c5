"""Scores of models' completions, and where their context is from (CrossCodeEval, sections 3.4 and 3.5)."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import PurePosixPath
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import func, select

from store.child import yielded_by_child
from store.kinds.completion import COMPLETION
from store.kinds.completion_settings import CONTEXTS, IN_FILE, Setting, context_setting, setting_named
from store.measures.completion import (
    LANGUAGES,
    MEASURES,
    SHARES,
    CompletionScores,
    Gain,
    gains,
    identifiers,
    mean_scores,
    score_completion,
)
from store.measures.intervals import of_proportion
from store.tables.columns import table_of
from store.tables.imported import Completion, Item
from store.tables.responses import ContextChunk, PendingResponse, Response, ResponseRef

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.measures.intervals import Bootstrap, Interval

APART = 200
"""Completions from which on they are scored in a process of their own: in a thread, keys would wait."""

_SIZE = re.compile(r"(?<![A-Za-z0-9.])(\d+(?:\.\d+)?)([MB])(?![A-Za-z0-9])", re.IGNORECASE)
_NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def size_of(model: str) -> float | None:
    """Return the billions of parameters in a model's name, such as 0.35 of `CodeGen-350M`; None for none."""
    found = _SIZE.search(model)
    return None if found is None else float(found[1]) / (1000 if found[2].upper() == "M" else 1)


@dataclass(frozen=True, slots=True)
class ScoredCompletion:
    """A completion with its scores.

    Attributes:
        overlap: The share of the reference's distinct identifiers that are in the context of its setting;
            None without context, or without identifiers.
    """

    item_id: int
    item: str
    language: str
    repository: str
    model: str
    setting: Setting
    trial: int
    scores: CompletionScores
    overlap: float | None


@dataclass(frozen=True, slots=True)
class Located:
    """A piece of context, and how its file lies to the one that is completed (section 3.5).

    Attributes:
        same_folder: Whether both are in the same folder.
        similar_name: Whether their names share a word, of snake_case or CamelCase.
        imported: Whether the file that is completed imports it; None where nobody looked.
        shared_import: Whether both import something of the repository; None where nobody looked.
    """

    language: str
    setting: Setting
    same_folder: bool
    similar_name: bool
    imported: bool | None
    shared_import: bool | None


@dataclass(frozen=True, slots=True)
class CompletionFigures:
    """All scored completions of a workspace, and the pieces of context.

    Attributes:
        left_out: Completions of languages that are not scored.
    """

    completions: Sequence[ScoredCompletion]
    chunks: Sequence[Located]
    left_out: int


class _Row(NamedTuple):
    item_id: int
    item: str
    language: str
    repository: str
    prompt: str
    reference: str
    model: str
    setting: str
    trial: int
    text: str


def completion_figures(connection: Connection) -> CompletionFigures:
    """Read and score the completions of a workspace."""
    task, ref, response = table_of(Completion), table_of(ResponseRef), table_of(Response)
    item = table_of(Item)
    columns = (
        task.c.item_id,
        item.c.external_id,
        *(task.c[name] for name in ("language", "repository", "prompt", "reference")),
        *(ref.c[name] for name in ("model", "setting", "trial")),
        response.c.text,
    )
    asked = (
        select(*columns)
        .join(item, item.c.id == task.c.item_id)
        .join(ref, ref.c.item_id == task.c.item_id)
        .join(response, response.c.id == ref.c.id)
        .order_by(task.c.item_id, ref.c.model, ref.c.setting, ref.c.trial)
    )
    found_rows = connection.execute(asked).all()
    rows = [_Row._make("" if part is None else part for part in row) for row in found_rows]
    rows = [row._replace(language=row.language.lower()) for row in rows]
    known = [row for row in rows if row.language in LANGUAGES]
    retrievers, chunks, words = _context(connection)
    scores = _scores([(row.language, row.prompt, row.reference, row.text) for row in known])
    found = []
    for row, one in zip(known, scores, strict=True):
        wanted, there = set(one.target_ids), words.get((row.item_id, context_setting(row.setting)))
        overlap = len(wanted & there) / len(wanted) if wanted and there is not None else None
        setting = setting_named(row.setting, retrievers)
        found.append(
            ScoredCompletion(
                *(row.item_id, row.item, row.language, row.repository, row.model),
                *(setting, row.trial, one, overlap),
            )
        )
    return CompletionFigures(found, chunks, len(rows) - len(known))


def count_waiting(connection: Connection) -> int:
    """Return how many completions wait for their task to be imported."""
    waiting = table_of(PendingResponse)
    asked = select(func.count()).select_from(waiting).where(waiting.c.kind == COMPLETION.name)
    return int(connection.execute(asked).scalar_one())


def _context(
    connection: Connection,
) -> tuple[dict[str, tuple[str, bool]], list[Located], dict[tuple[int, str], set[str]]]:
    """Return retrievers by setting, all pieces of context, and the identifiers of each item's by setting."""
    task, chunk = table_of(Completion), table_of(ContextChunk)
    asked = (
        select(task.c.language, task.c.path.label("current"), chunk)
        .join(chunk, chunk.c.item_id == task.c.item_id)
        .where(func.lower(task.c.language).in_(LANGUAGES))
    )
    retrievers: dict[str, tuple[str, bool]] = {}
    located: list[Located] = []
    words = defaultdict[tuple[int, str], set[str]](set)
    rows = [(row, json.loads(row.extra)) for row in connection.execute(asked)]
    for row, extra in rows:
        if isinstance(name := extra.get("retriever"), str):
            retrievers.setdefault(row.setting, (name, extra.get("with_reference") is True))
        words[row.item_id, row.setting].update(identifiers(row.language.lower(), row.text))
    for row, extra in rows:
        located.append(
            Located(
                row.language.lower(),
                setting_named(row.setting, retrievers),
                PurePosixPath(row.path).parent == PurePosixPath(row.current or "").parent,
                bool(name_words(row.path) & name_words(row.current or "")),
                *(extra.get(name) if isinstance(extra.get(name), bool) else None for name in _LOOKED_UP),
            )
        )
    return retrievers, located, dict(words)


_LOOKED_UP = ("imported", "shared_import")
"""The extra fields of context that was retrieved here."""


def name_words(path: str) -> set[str]:
    """Return the words of a file's name, in small letters: those of snake_case and CamelCase."""
    return {word.lower() for word in _NAME_PART.findall(PurePosixPath(path).stem)}


Given = tuple[str, str, str, str]
"""The arguments of `score_completion`: language, prompt, reference and text."""


def _scores(given: Sequence[Given]) -> list[CompletionScores]:
    if len(given) < APART:
        return list(_scored(given))
    with yielded_by_child(partial(_scored, given), "scores the completions", "There are no scores.") as found:
        return list(found)


def _scored(given: Sequence[Given]) -> Iterator[CompletionScores]:
    for one in given:
        yield score_completion(*one)


class Group(NamedTuple):
    """Whose completions, how they were made, and in which language."""

    model: str
    setting: Setting
    language: str


@dataclass(frozen=True, slots=True)
class GroupScores:
    """The scores of the completions of a group, in percent (Tables 2, 4, 7, 8 and 9).

    Attributes:
        n: The completions.
        repositories: The repositories of their tasks.
        means: By measure (`store.measures.completion.MEASURES`).
        intervals: Their 95 % intervals, by a bootstrap over repositories.
    """

    group: Group
    n: int
    repositories: int
    means: Mapping[str, float]
    intervals: Mapping[str, Interval]


def by_group(figures: CompletionFigures) -> dict[Group, list[ScoredCompletion]]:
    """Return the completions by model, setting and language, in the order of the paper's tables."""
    found = defaultdict[Group, list[ScoredCompletion]](list)
    for one in figures.completions:
        found[Group(one.model, one.setting, one.language)].append(one)
    return {group: found[group] for group in sorted(found, key=_order)}


def _order(group: Group) -> tuple[object, ...]:
    setting = group.setting
    place = CONTEXTS.index(setting.context) if setting.context in CONTEXTS else len(CONTEXTS)
    return (
        group.model.casefold(),
        group.model,
        setting.decoding,
        place,
        setting.retriever,
        setting.name,
        LANGUAGES.index(group.language),
    )


def group_scores(group: Group, completions: Sequence[ScoredCompletion], bootstrap: Bootstrap) -> GroupScores:
    """Return the scores of the completions of a group."""
    import numpy

    names = {name: place for place, name in enumerate(sorted({one.repository for one in completions}))}
    of = numpy.array([names[one.repository] for one in completions])
    counts = numpy.bincount(of).astype(float)
    means = mean_scores([one.scores for one in completions])
    intervals = {}
    for name in MEASURES:
        values = [getattr(one.scores, name) / (1 if name in SHARES else 100) for one in completions]
        drawn = bootstrap.of_ratio(numpy.bincount(of, weights=values), counts)
        # All or none are exact in every resample, where they are in the sample.
        one = of_proportion(drawn, means[name] / 100) if name in ("em", "id_em") else drawn
        low, high = (None if end is None else 100 * end for end in (one.low, one.high))
        intervals[name] = replace(one, low=low, high=high)
    return GroupScores(group, len(completions), len(names), means, intervals)


@dataclass(frozen=True, slots=True)
class GainLine:
    """Gains and losses of retrieval for a model in a language (Table 3).

    Attributes:
        settings: The names of the settings that are compared, by context.
        tasks: The tasks that all of its contexts have.
    """

    model: str
    language: str
    retriever: str
    decoding: str
    settings: Mapping[str, str]
    tasks: int
    gains: Sequence[Gain]


def gain_lines(groups: Mapping[Group, Sequence[ScoredCompletion]]) -> list[GainLine]:
    """Return a line for each model, language, retriever and decoding with completions in several contexts.

    Where a context has several settings, there is a line for each of them.
    """
    exact = defaultdict[tuple[str, str, str], dict[Setting, dict[Hashable, bool]]](dict)
    for group, completions in groups.items():
        if group.setting.context in CONTEXTS:
            tasks: dict[Hashable, bool] = {
                (one.item_id, one.trial): bool(one.scores.em) for one in completions
            }
            exact[group.model, group.language, group.setting.decoding][group.setting] = tasks
    lines = []
    for (model, language, decoding), found in exact.items():
        # Each retriever is compared with what there is without one.
        for retriever in sorted({one.retriever for one in found if one.context != IN_FILE}):
            choices = [
                sorted(one for one in found if one.context == context and one.retriever in ("", retriever))
                for context in CONTEXTS
            ]
            for chosen in product(*filter(None, choices)):
                if len(chosen) > 1:
                    names = {one.context: one.name for one in chosen}
                    told = gains({one.context: found[one] for one in chosen})
                    lines.append(GainLine(model, language, retriever, decoding, names, *told))
    return lines


OVERLAPS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The upper ends of the bins of Figure 5: of the first one the only value, the others up to it."""


@dataclass(frozen=True, slots=True)
class OverlapBin:
    """Completions by how many of the reference's identifiers are in the context (Figure 5).

    Attributes:
        over: The share above which it begins; None for the bin of those without any.
        upto: The share with which it ends.
        n: Completions.
        id_em: The share of them whose identifiers are exact, in percent; None without any.
    """

    over: float | None
    upto: float
    n: int
    id_em: float | None


def overlap_bins(completions: Sequence[ScoredCompletion]) -> list[OverlapBin]:
    """Return the bins of the completions with context."""
    bins = []
    before = -1.0
    for end in OVERLAPS:
        within = [
            one.scores.id_em for one in completions if one.overlap is not None and before < one.overlap <= end
        ]
        share = 100 * fmean(within) if within else None
        bins.append(OverlapBin(None if before < 0 else before, end, len(within), share))
        before = end
    return bins


@dataclass(frozen=True, slots=True)
class Locations:
    """Where the pieces of context of a language are from (section 3.5), in percent of the pieces.

    Attributes:
        n: The pieces.
        imported: See `Located`; None where nobody looked.
    """

    language: str
    setting: Setting
    n: int
    imported: float | None
    same_folder: float
    similar_name: float
    shared_import: float | None


def locations(chunks: Sequence[Located]) -> list[Locations]:
    """Return where pieces of context are from, by language and setting."""
    found = defaultdict[tuple[str, Setting], list[Located]](list)
    for one in chunks:
        found[one.language, one.setting].append(one)

    def percent(values: Sequence[bool | None]) -> float | None:
        known = [value for value in values if value is not None]
        return 100 * fmean(known) if known else None

    return [
        Locations(
            language,
            setting,
            len(own),
            percent([one.imported for one in own]),
            100 * fmean(one.same_folder for one in own),
            100 * fmean(one.similar_name for one in own),
            percent([one.shared_import for one in own]),
        )
        for (language, setting), own in sorted(found.items())
    ]
