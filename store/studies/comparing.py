"""Comparisons made of what a workspace has: two sets of codes, responses of models, or scores of these."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from store.analysis.labels import question_labels
from store.errors import UnknownName, WorkbenchError
from store.formats.comparisons import Candidate
from store.formats.protocol import bare_name
from store.ingest.importing import import_records
from store.ingest.report import ImportReport
from store.kinds.comparison import COMPARISON, comparison_id, in_canonical_order
from store.kinds.listing import relation
from store.kinds.pair import MATCH, PAIR
from store.kinds.spec import task_kinds
from store.measures.truth import POLICIES, truth
from store.queries.studies import ChosenItem, StudyDetails
from store.record.protocol import StudyProtocol
from store.studies.choosing import read_answers
from store.studies.studies import new_study
from store.tables.columns import table_of
from store.tables.imported import Item, Source
from store.tables.responses import Response, ResponseRef, Score
from store.workspace.duckdb import Workspace

SETS = "codes"
RESPONSES = "responses"
SCORES = "single scores"
"""What comparisons are made from, as their `made_from` says."""

_PROMPTS = {"answer": ("question", "answers"), "completion": ("prompt", "completions")}
"""The column with the prompt of each kind whose items have responses, and what its responses are."""


@dataclass(frozen=True, slots=True)
class Made:
    """A comparison to be made.

    Attributes:
        about: What they are: codes, answers or completions.
        verdicts: Judges, each with the value from the view of `one`.
    """

    prompt: str
    one: Candidate
    other: Candidate
    about: str
    made_from: str
    language: str = ""
    reference: str = ""
    verdicts: tuple[tuple[str, float], ...] = ()


def codes_of_sets(
    connection: Connection, first: str, second: str, *, labels: str = "majority", seed: int = 0
) -> list[Made]:
    """Return a comparison for each query that a code of each set matches, as in CoSQA+ (RQ1).

    Of all pairs of a code of each set with different texts one is drawn for each query, by a hash of the
    seed, the query and both texts: neither the names of the sets nor the order of import matter.

    Args:
        connection: A reading connection.
        first: The first set: a file that was imported, by its name with or without endings, or `FIELD=VALUE`
            of an extra field of the pairs.
        second: The second set.
        labels: Whose labels say which codes match: a rater, a run, or a policy of people's labels.
        seed: The seed.

    Raises:
        UnknownName: There is no such set, or no such rater.
        WorkbenchError: Both sets are the same, or share no query.
    """
    matching = _matching_items(connection, labels)
    names = first.rpartition("=")[2], second.rpartition("=")[2]
    if names[0] == names[1]:
        raise WorkbenchError("One set", f"Both sets are called {names[0]!r}.", "Name two: --codes-from A:B")
    item, found = table_of(Item), relation(PAIR)
    columns = ("query", "code", "language")
    rows = connection.execute(
        select(
            item.c.id, item.c.external_id, item.c.source_id, item.c.extra,
            *(found.columns[name].label(name) for name in columns),
        )
        .select_from(found.source.join(item, item.c.id == found.item_id))
        .order_by(item.c.id)
    ).all()  # fmt: skip
    inside = [_in_set(connection, one) for one in (first, second)]
    by_query: dict[str, tuple[list[tuple[Candidate, str]], list[tuple[Candidate, str]]]] = defaultdict(
        lambda: ([], [])
    )
    there = [False, False]
    for row in rows:
        for place in (0, 1):
            if inside[place](row):
                there[place] = True
                if row.id in matching:
                    ref = f"{names[place]}:{row.external_id}"
                    candidate = Candidate(names[place], row.code, ref), row.language
                    by_query[row.query][place].append(candidate)
    for given, some in zip((first, second), there, strict=True):
        if not some:
            raise UnknownName("Unknown set", f"No pair is of the set {given!r}.", _known_sets(connection))
    made = []
    for query, (ours, theirs) in by_query.items():
        pairs = [(a, b) for a in ours for b in theirs if a[0].text.strip() != b[0].text.strip()]
        if pairs:
            (one, language), (other, _) = min(pairs, key=lambda pair: _drawn(seed, query, pair))
            made.append(Made(query, one, other, "codes", SETS, language))
    if not made:
        raise WorkbenchError(
            "Nothing to compare",
            f"No query has matching codes with different texts in both {names[0]} and {names[1]}.",
            "See which pairs are labelled 1: workbench items WORKSPACE",
        )
    return made


def _drawn(seed: int, query: str, pair: tuple[tuple[Candidate, str], tuple[Candidate, str]]) -> str:
    return comparison_id(seed, "codes", query, *sorted(one.text for one, _ in pair))


def _matching_items(connection: Connection, labels: str) -> set[int]:
    """Return the pairs that are labelled 1 by a rater, a run, or a policy of people."""
    found = question_labels(connection, MATCH.name)
    policy = next((one for one in POLICIES if one == labels), None)
    if policy is None:
        (place,) = found.places([labels])
        values = found.raters[place].values
    else:
        panel = [one.values for one in found.raters if one.kind in ("human", "import")]
        if not panel:
            raise WorkbenchError(
                "No labels",
                "No person labelled a pair, so no code is known to match.",
                "Import labels, or take those of a run: --labels RUN",
            )
        rulings = None
        if policy == "adjudicated":
            ruled = question_labels(connection, MATCH.name, people_only=True, rulings=True)
            ruled = ruled.over_units_of(found)
            found = found.over_units_of(ruled)
            panel = [one.values for one in found.raters if one.kind in ("human", "import")]
            rulings = _first(tuple(one.values for one in ruled.raters))
        values = truth(policy, panel, rulings).values
    return {int(unit) for unit, value in zip(found.units, values, strict=True) if value == 1}


def _first(some: Sequence[Any]) -> Any:
    """Return the first value of each unit; None without raters."""
    import numpy

    if not some:
        return None
    whole = some[0]
    for one in some[1:]:
        whole = numpy.where(numpy.isnan(whole), one, whole)
    return whole


def _in_set(connection: Connection, given: str) -> Any:
    """Return the function that says whether a pair is of a set."""
    field, equals, value = given.rpartition("=")
    if equals:
        return lambda row: str(json.loads(row.extra).get(field)) == value
    source = table_of(Source)
    rows = connection.execute(select(source.c.id, source.c.name)).all()
    numbers = {row.id for row in rows if given in (Path(row.name).name, bare_name(Path(row.name).name))}
    return lambda row: row.source_id in numbers


def files_of_pairs(connection: Connection) -> list[str]:
    """Return the names of the imported files that have pairs, without endings; each can be a set."""
    source, item = table_of(Source), table_of(Item)
    of_pairs = select(item.c.source_id).where(item.c.kind == PAIR.name)
    names = connection.execute(
        select(source.c.name).where(source.c.id.in_(of_pairs)).order_by(source.c.id)
    ).scalars()
    return [*dict.fromkeys(bare_name(Path(name).name) for name in names)]


def models_with_responses(connection: Connection) -> list[str]:
    """Return the names of the models with responses, in order."""
    ref, response = table_of(ResponseRef), table_of(Response)
    found = select(ref.c.model).join(response, response.c.id == ref.c.id).distinct().order_by(ref.c.model)
    return [*connection.execute(found).scalars()]


def _known_sets(connection: Connection) -> str:
    known = ", ".join(files_of_pairs(connection)) or "none with pairs"
    return f"Files: {known}; or FIELD=VALUE of an extra field."


def responses_of_models(
    connection: Connection, models: Sequence[str], *, setting: str | None = None
) -> list[Made]:
    """Return a comparison of every two of some models for each item that both responded to differently.

    Args:
        connection: A reading connection.
        models: The models, two or more.
        setting: The setting of the responses; None for any, each compared within itself.

    Raises:
        UnknownName: A model has no response.
        WorkbenchError: No item has different responses of two of them.
    """
    made = [
        Made(item.prompt, one, other, item.about, RESPONSES, item.language, item.reference)
        for item, ours in _responses(connection, models, setting)
        for one, other in _pairs(ours)
    ]
    if not made:
        raise WorkbenchError(
            "Nothing to compare",
            f"No item has different responses of two of {', '.join(models)} under one setting.",
            "See the responses: workbench items WORKSPACE ITEM",
        )
    return made


def single_scores(
    connection: Connection, models: Sequence[str] | None = None, *, judge: str | None = None
) -> list[Made]:
    """Return the comparisons that judges' scores of single responses imply, for each question and turn.

    The response with the higher mean score of a judge is better; equal scores are a tie.

    Args:
        connection: A reading connection.
        models: The models; None for all.
        judge: The judge; None for all.

    Raises:
        WorkbenchError: No two responses to an item were scored by one judge.
    """
    scored = _scored(connection, judge)
    made = []
    for item, ours in _responses(connection, models, None):
        for one, other in _pairs(ours):
            first, second = (scored.get(_number(candidate), {}) for candidate in (one, other))
            verdicts = tuple(
                (name, float((first[name] > second[name]) - (first[name] < second[name])))
                for name in sorted(first.keys() & second.keys())
            )
            if verdicts:
                made.append(
                    Made(item.prompt, one, other, item.about, SCORES, item.language, item.reference, verdicts)
                )
    if not made:
        raise WorkbenchError(
            "Nothing to compare",
            "No item has different responses of two models that one judge scored.",
            "Import scores, such as MT-bench's single form.",
        )
    return made


@dataclass(frozen=True, slots=True)
class _Prompt:
    prompt: str
    about: str
    language: str
    reference: str


def _responses(
    connection: Connection, models: Sequence[str] | None, setting: str | None
) -> Iterator[tuple[_Prompt, list[Candidate]]]:
    """Yield the first responses of models to each item under each setting.

    Raises:
        UnknownName: A model has no response.
    """
    ref, response = table_of(ResponseRef), table_of(Response)
    every = models_with_responses(connection)
    for name in models or ():
        if name not in every:
            known = ", ".join(every) or "none"
            raise UnknownName("Unknown model", f"No response is of {name!r}.", f"Models: {known}.")
    for kind, (prompt, about) in _PROMPTS.items():
        found = relation(task_kinds()[kind])
        statement = (
            select(
                found.item_id, ref.c.id, ref.c.model, ref.c.setting, ref.c.trial, response.c.text,
                *(found.columns[name].label(f"of_{name}") for name in (prompt, "language", "reference")),
                table_of(Item).c.external_id,
            )
            .select_from(
                found.source.join(ref, ref.c.item_id == found.item_id)
                .join(response, response.c.id == ref.c.id)
                .join(table_of(Item), table_of(Item).c.id == found.item_id)
            )
            .order_by(found.item_id, ref.c.setting, ref.c.model, ref.c.trial)
        )  # fmt: skip
        if models is not None:
            statement = statement.where(ref.c.model.in_(models))
        if setting is not None:
            statement = statement.where(ref.c.setting == setting)
        groups: dict[tuple[int, str], tuple[_Prompt, dict[str, Candidate]]] = {}
        for row in connection.execute(statement):
            text = getattr(row, f"of_{prompt}")
            asked = _Prompt(text, about, row.of_language, row.of_reference)
            _, ours = groups.setdefault((row.item_id, row.setting), (asked, {}))
            ours.setdefault(row.model, Candidate(row.model, row.text, f"{row.model}:{row.id}"))
        for asked, ours in groups.values():
            yield asked, list(ours.values())


def _pairs(ours: Iterable[Candidate]) -> Iterator[tuple[Candidate, Candidate]]:
    for one, other in combinations(ours, 2):
        if one.text.strip() != other.text.strip():
            yield one, other


def _number(candidate: Candidate) -> int:
    """Return the key of the response that a candidate is."""
    return int(candidate.ref.rpartition(":")[2])


def _scored(connection: Connection, judge: str | None) -> dict[int, dict[str, float]]:
    """Return the mean score of each response by each judge."""
    score = table_of(Score)
    statement = select(score.c.response_ref_id, score.c.judge, score.c.value).where(
        score.c.value.is_not(None)
    )
    if judge is not None:
        statement = statement.where(score.c.judge == judge)
    given: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for number, name, value in connection.execute(statement):
        given[number][name].append(value)
    return {
        number: {name: sum(values) / len(values) for name, values in by_judge.items()}
        for number, by_judge in given.items()
    }


@dataclass(frozen=True, slots=True)
class ComparisonPlan:
    """What is compared, under which name, and the study of it.

    Attributes:
        protocol: The protocol of the study; its seed is that of all that is random.
        codes_from: Two sets of codes as `A:B`; None for none.
        labels: Whose labels say which codes match.
        models: Models whose responses are compared; None for none, or of scores for all.
        setting: The setting of these responses; None for any.
        from_scores: Whether responses that a judge scored are compared.
        judge: The judge; None for all.
        most: How many comparisons are taken at random; None for all.
        raters: The raters of the study; None for no study.
        gold: The file of comparisons with known answers; None for none.
    """

    name: str
    protocol: StudyProtocol
    codes_from: str | None = None
    labels: str = "majority"
    models: tuple[str, ...] | None = None
    setting: str | None = None
    from_scores: bool = False
    judge: str | None = None
    most: int | None = None
    raters: tuple[str, ...] | None = None
    gold: Path | None = None


def candidates(connection: Connection, plan: ComparisonPlan) -> list[Made]:
    """Return the comparisons of a plan; nothing is stored.

    Raises:
        WorkbenchError: The plan does not say what is compared, or there is nothing to compare.
    """
    of_models = plan.models is not None and not plan.from_scores
    if sum((plan.codes_from is not None, of_models, plan.from_scores)) != 1:
        raise WorkbenchError(
            "Compare what?",
            "Comparisons are made of two sets of codes, of models' responses, or of scores of these.",
            "Give one: --codes-from A:B, --models A,B or --from-scores.",
        )
    if plan.from_scores:
        return single_scores(connection, plan.models, judge=plan.judge)
    if plan.models is not None:
        return responses_of_models(connection, plan.models, setting=plan.setting)
    first, colon, second = (plan.codes_from or "").partition(":")
    if not (first and colon and second):
        raise WorkbenchError(
            "Two sets",
            f"{plan.codes_from!r} does not name two sets.",
            "Name them: --codes-from cosqa:cosqa-plus",
        )
    return codes_of_sets(connection, first, second, labels=plan.labels, seed=plan.protocol.seed)


def carry_out(
    workspace: Workspace, plan: ComparisonPlan
) -> tuple[ImportReport, list[str], StudyDetails | None]:
    """Store the comparisons of a plan, and the draft of their study where it has raters.

    Returns:
        What was added, the ids of the comparisons, and the study.

    Raises:
        WorkbenchError: There is nothing to compare, or the study cannot be made.
    """
    protocol = plan.protocol.checked()
    with workspace.reading() as connection:
        made = candidates(connection, plan)
    report, ids = store_comparisons(workspace, plan.name, made, seed=protocol.seed, most=plan.most)
    if plan.raters is None:
        return report, ids, None
    with workspace.reading() as connection:
        gold = None if plan.gold is None else read_answers(connection, COMPARISON.name, plan.gold, "gold")
        apart = list(gold or ())
        taken = {one.item_id for one in apart}
        chosen = [one for one in chosen_comparisons(connection, ids) if one.item_id not in taken]
    protocol = replace(protocol, sample=f"comparisons {plan.name}, seed {protocol.seed}")
    return report, ids, new_study(workspace, plan.name, protocol, [*chosen, *apart], plan.raters)


def store_comparisons(
    workspace: Workspace, name: str, made: Sequence[Made], *, seed: int = 0, most: int | None = None
) -> tuple[ImportReport, list[str]]:
    """Add comparisons to a workspace; those that are there already are not added again.

    Their ids and their order are hashes of the seed and the texts, and tell nothing of the sets.

    At most `most` of them are taken, at random; None for all. The seed is stored with each.

    Returns:
        What was added, and the ids of the comparisons.
    """
    records = dict(sorted((record["id"], record) for record in (_record(name, one, seed) for one in made)))
    chosen = list(records)[:most]
    wanted = (records[number] for number in chosen)
    report = import_records(workspace, wanted, format="comparisons", source=f"comparisons {name}")
    return report, chosen


def _record(name: str, one: Made, seed: int) -> Mapping[str, Any]:
    """Return a comparison as a record of the format `comparisons`, in canonical order."""
    kept = in_canonical_order(
        str(seed), one.prompt, (one.one.text, one.one.name), (one.other.text, one.other.name)
    )
    first, second = (one.one, one.other) if kept else (one.other, one.one)
    # Several pairs of models can have the same texts.
    names = sorted((first.name, second.name))
    return {
        "id": comparison_id(name, seed, one.prompt, first.text, second.text, *names),
        "prompt": one.prompt,
        "first": first.text,
        "second": second.text,
        "first_name": first.name,
        "second_name": second.name,
        "first_ref": first.ref,
        "second_ref": second.ref,
        "language": one.language,
        "reference": one.reference,
        "about": one.about,
        "made_from": one.made_from,
        # No file of theirs lists them.
        "file_order": "",
        "seed": str(seed),
        "comparisons": name,
        "verdicts": [
            {"judge": judge, "value": value if kept else 0.0 - value} for judge, value in one.verdicts
        ],
    }


def chosen_comparisons(connection: Connection, ids: Iterable[str]) -> list[ChosenItem]:
    """Return comparisons as the items of a study, by their ids."""
    item = table_of(Item)
    rows = connection.execute(
        select(item.c.external_id, item.c.id).where(item.c.kind == COMPARISON.name)
    ).all()
    known = {row.external_id: row.id for row in rows}
    return [ChosenItem(known[one]) for one in ids if one in known]
