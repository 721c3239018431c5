"""What a run will cost, before it starts: from the prompts of its items and from the workspace's own past."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from agents.annotation.configurations import BUG_FIXER, SCREENER
from agents.feed import Feed
from agents.kept_questions import first_questions_kept
from agents.kinds import agents_part
from agents.llm.prices import price_of
from agents.llm.protocol import Usage
from agents.prompts import load_prompt
from agents.records import RunRecord
from agents.role_models import RoleModels
from agents.run_configuration import run_configuration
from store.counted import counted
from store.ids import now
from store.queries.estimating import drawn_items, past_assessments, past_replies
from store.queries.runs import find_run
from store.tables.runs import Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.kinds import AgentsPart, Configuration, WorkItem
    from agents.llm.prices import Price
    from agents.settings import AnnotationSettings
    from store.queries.estimating import PastReplies
    from store.workspace import Workspace

DRAWN = 200
"""Items whose prompts are measured."""

ENOUGH = 20
"""Earlier replies, or assessments, from which their mean is taken; with fewer it is assumed."""

CHARACTERS_PER_TOKEN = 4
UNCLEAR_SHARE = 0.33
"""The share that CoSQA+ reports of its candidates (section IV.C.a)."""

REPAIRED_SHARE = 0.2
"""Programs for which the bug fixer is asked."""

# Characters of what is known only when a prompt is made, and of replies; as long as those of the sample.
_LATER_CHARACTERS = {
    "doubt": 300,
    "interpretation": 200,
    "test_program": 1500,
    "report": 2500,
    "prediction": 1500,
    "environment": 500,
    "failure": 2500,
    "tries": 200,
}
_OTHER_CHARACTERS = 500
_REPLY_CHARACTERS = {"test_writer": 1800, "simulated_executor": 1500}
_OTHER_REPLY_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class RoleEstimate:
    """What one role is expected to take.

    Attributes:
        role: The role.
        model: Whom it asks.
        questions: How many questions are put to the model.
        kept: How many further ones are answered by replies that the workspace keeps, as far as that is known.
        requests: How many requests that takes.
        tokens_in: Input tokens of all of them; `tokens_cached` is a part of them.
        tokens_out: Output tokens of all of them.
        tokens_cached: See `tokens_in`.
        money: US dollars; None where the price is not known.
        earlier: From how many earlier replies of this model that is taken; 0 where it is assumed from the
            lengths of prompts.
    """

    role: str
    model: str
    questions: float
    kept: float
    requests: float
    tokens_in: float
    tokens_out: float
    tokens_cached: float
    money: float | None
    earlier: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a job is expected to take.

    Attributes:
        configuration: Which agents take part.
        pairs: Items that it will work on.
        unclear_share: The share of them that goes beyond the screener; None without one.
        roles: Each role, in the order of the turns.
        based_on: What it rests on, in sentences.
    """

    configuration: str
    pairs: int
    unclear_share: float | None
    roles: tuple[RoleEstimate, ...]
    based_on: tuple[str, ...]

    @property
    def money(self) -> float | None:
        """US dollars; None where the price of a role that is asked at all is not known."""
        known = [role.money for role in self.roles if role.questions]
        return None if None in known else sum(money for money in known if money is not None)

    def total(self, what: str) -> int:
        """Return a sum over the roles, such as that of "tokens_in"."""
        amounts: list[float] = [getattr(role, what) for role in self.roles]
        return round(sum(amounts))

    def as_json(self) -> dict[str, Any]:
        """Return it as values that JSON knows."""
        roles = [
            {name: round(value) if _a_count(name) else value for name, value in asdict(role).items()}
            for role in self.roles
        ]
        return {
            "estimate": True,
            "configuration": self.configuration,
            "pairs": self.pairs,
            **{name: self.total(name) for name in ("requests", "tokens_in", "tokens_out", "tokens_cached")},
            "cost": self.money,
            "cost_per_pair": None if self.money is None or not self.pairs else self.money / self.pairs,
            "unclear_share": self.unclear_share,
            "roles": [{**role, "cost": role.pop("money")} for role in roles],
            "based_on": list(self.based_on),
        }


def _a_count(name: str) -> bool:
    return name in ("questions", "kept", "requests", "tokens_in", "tokens_out", "tokens_cached")


def estimate(workspace: Workspace, settings: AnnotationSettings) -> Estimate:
    """Estimate what a job will take; no service is asked for anything.

    What the workspace keeps already is taken off where it is known: the first question on each item. What
    later questions will find there is not known, so that their numbers are upper bounds.

    Args:
        workspace: The open workspace.
        settings: What the job is told.

    Raises:
        WorkbenchError: A model is unknown, or lacks something it needs.
    """
    return asyncio.run(_estimate(workspace, settings))


async def _estimate(workspace: Workspace, settings: AnnotationSettings) -> Estimate:
    part = agents_part(settings.kind)
    configuration = part.configuration(settings.agents)
    roles = configuration.roles(repairs=settings.sandboxes.repairs)
    models = RoleModels.open(settings, roles)
    try:
        return await _with_models(workspace, settings, part, configuration, models)
    finally:
        await models.close()


async def _with_models(
    workspace: Workspace,
    settings: AnnotationSettings,
    part: AgentsPart,
    configuration: Configuration,
    models: RoleModels,
) -> Estimate:
    roles = configuration.roles(repairs=settings.sandboxes.repairs)
    names = {role: models[role].model.name for role in roles}
    run = _run(workspace, run_configuration(configuration, models, settings), settings, models.name)
    record = RunRecord(workspace, run, question_id=0)
    feed = Feed(workspace, record, part, settings)
    pairs, _ = await feed.count()
    with workspace.reading() as connection:
        drawn = drawn_items(
            connection,
            run.id,
            settings.kind,
            min(DRAWN, pairs),
            chosen=feed.chosen,
            missing_at=settings.missing_at,
        )
        items = part.load(connection, drawn)
        past = past_replies(connection)
        assessed, unclear = (0, 0)
        if SCREENER in names:
            assessed, unclear = past_assessments(connection, SCREENER, names[SCREENER])
    kept = 0
    if settings.cache:
        annotator = part.make_annotator(configuration, None, settings.sandboxes)
        kept = await first_questions_kept(
            workspace, record, items, annotator=annotator, models=models, settings=settings.models
        )
    share = unclear / assessed if assessed >= ENOUGH else UNCLEAR_SHARE
    found = []
    for role in roles:
        known = pairs * kept / len(items) if kept and role == roles[0] else 0.0
        questions = -known + pairs * _share(role, roles[0], share if SCREENER in roles else 1.0, names, past)
        earlier = past.get((role, names[role]))
        prompt = _prompt_characters(configuration.prompts[role], items)
        price = price_of(settings.models.prices, names[role])
        found.append(_of_role(role, names[role], questions, known, earlier, prompt=prompt, price=price))
    return Estimate(
        settings.asked or settings.agents,
        pairs,
        share if SCREENER in roles else None,
        tuple(found),
        tuple(_based_on(found, len(items), kept, assessed if SCREENER in roles else None, share)),
    )


def _run(
    workspace: Workspace, configuration: dict[str, Any], settings: AnnotationSettings, model: str
) -> Run:
    """Return the run that the job would go on with, or one that is not there."""
    text = json.dumps(configuration, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    with workspace.reading() as connection:
        known = find_run(connection, text)
    return known or Run(
        id=workspace.ids.next(),
        kind=settings.kind,
        name="",
        configuration=text,
        model=model,
        rater_id=0,
        state="stopped",
        total=0,
        started_at=now(),
    )


def _share(
    role: str,
    first: str,
    unclear: float,
    names: dict[str, str],
    past: dict[tuple[str, str], PastReplies],
) -> float:
    """Return the questions of a role per item."""
    if role == first:
        return 1.0
    if role != BUG_FIXER:
        return unclear
    written, asked = (past.get((each, names[each])) for each in ("test_writer", BUG_FIXER))
    if written is not None and written.count >= ENOUGH:
        return unclear * (asked.count if asked is not None else 0) / written.count
    return unclear * REPAIRED_SHARE


def _of_role(
    role: str,
    model: str,
    questions: float,
    kept: float,
    earlier: PastReplies | None,
    *,
    prompt: float,
    price: Price | None,
) -> RoleEstimate:
    if earlier is not None and earlier.count >= ENOUGH:
        count, requests = earlier.count, earlier.requests
        tokens = (earlier.tokens_in, earlier.tokens_out, earlier.tokens_cached)
    else:
        count, requests = 0, 1.0
        reply = _REPLY_CHARACTERS.get(role, _OTHER_REPLY_CHARACTERS)
        tokens = (prompt / CHARACTERS_PER_TOKEN, reply / CHARACTERS_PER_TOKEN, 0.0)
    tokens_in, tokens_out, cached = (questions * each for each in tokens)
    usage = Usage(round(tokens_in), round(tokens_out), round(cached))
    money = None if price is None else price.money(usage)
    return RoleEstimate(
        role, model, questions, kept, questions * requests, tokens_in, tokens_out, cached, money, count
    )


def _prompt_characters(name: str, items: Sequence[WorkItem]) -> float:
    """Return the mean length of a role's prompt over some items; 0 without any."""
    prompt = load_prompt(name)
    lengths = []
    for item in items:
        values = {
            place: getattr(item, place, None) or "x" * _LATER_CHARACTERS.get(place, _OTHER_CHARACTERS)
            for place in prompt.places
        }
        lengths.append(sum(len(message.content) for message in prompt.messages(**values)))
    return sum(lengths) / len(lengths) if lengths else 0.0


def _based_on(
    roles: Sequence[RoleEstimate], drawn: int, kept: int, assessed: int | None, share: float
) -> list[str]:
    said = []
    if kept:
        first, *later = (role.role for role in roles)
        rest = f" {', '.join(later)}: upper bounds, since theirs are not known yet." if later else ""
        said.append(
            f"{first}: of {counted(drawn, 'item')}, {kept:,} have the reply kept here, at no cost.{rest}"
        )
    if assumed := [role.role for role in roles if not role.earlier]:
        said.append(
            f"{', '.join(assumed)}: the prompts of {counted(drawn, 'item')}, at {CHARACTERS_PER_TOKEN} "
            "characters a token, and usual lengths of what is not written yet."
        )
    said += [
        f"{role.role}: {counted(role.earlier, 'earlier reply', 'earlier replies')} of this model here."
        for role in roles
        if role.earlier
    ]
    if assessed is None:
        return said
    if assessed >= ENOUGH:
        return [
            *said,
            f"Unclear: {100 * share:.1f} % of {counted(assessed, 'assessment')} of this model here.",
        ]
    return [*said, f"Unclear: {100 * share:.1f} %, as CoSQA+ reports of its candidates."]
