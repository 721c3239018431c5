"""The expected cost of a job: from the prompts of its items and from the workspace's earlier replies."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from agents.jobs.pause_gate import Halted
from agents.jobs.reply_cache import ReplyResult, reply_key
from agents.jobs.role_models import RoleModels
from agents.jobs.run_configuration import run_configuration
from agents.jobs.run_record import RecordedSteps, RunRecord
from agents.jobs.step_recorder import StepRecorder
from agents.jobs.work_queue import WorkQueue
from agents.llm.prices import price_of
from agents.llm.protocol import Usage
from agents.pipelines.registry import agents_part
from agents.pipelines.spec import ExpectedRole, Workload
from store.formatting import pluralize
from store.queries.estimating import ENOUGH, past_replies, sampled_items
from store.queries.replies import replies_of
from store.queries.runs import find_run
from store.record.ids import now
from store.tables.runs import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from uuid import UUID

    from agents.llm.prices import Price
    from agents.llm.protocol import LanguageModel, ModelRequest
    from agents.llm.settings import ModelSettings
    from agents.pipelines.spec import AgentsPart, Configuration, Pipeline, WorkItem
    from agents.prompts import Prompt
    from agents.settings import JobSettings
    from store.queries.estimating import PastReplies
    from store.tables.runs import Step
    from store.workspace.duckdb import Workspace

DRAWN = 200
"""Items whose prompts are measured."""

CHARACTERS_PER_TOKEN = 4
_OTHER_PLACE_CHARACTERS = 500
"""Of a text that is known only when a prompt is made, and whose length the pipeline does not give."""


@dataclass(frozen=True, slots=True)
class RoleEstimate:
    """The expected work of one role.

    Attributes:
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
    """The expected work and cost of a job.

    Attributes:
        configuration: Which agents take part.
        items: Items that it will work on.
        facts: Shares that the pipeline expects, by name.
        roles: Each role, in the order of the turns.
        based_on: The grounds of the estimate, in sentences.
    """

    configuration: str
    items: int
    facts: Mapping[str, float | None]
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

    def to_dict(self, *, blind: bool = False) -> dict[str, Any]:
        """Return it as plain values for JSON.

        Args:
            blind: Leave out the shares, roles and grounds: from earlier assessments they tell how many were
                unclear.
        """
        roles = [
            {name: round(value) if _a_count(name) else value for name, value in asdict(role).items()}
            for role in self.roles
        ]
        fields = {
            "estimate": True,
            "configuration": self.configuration,
            "pairs": self.items,
            **{name: self.total(name) for name in ("requests", "tokens_in", "tokens_out", "tokens_cached")},
            "cost": self.money,
            "cost_per_pair": None if self.money is None or not self.items else self.money / self.items,
        }
        if blind:
            return fields
        return {
            **fields,
            **self.facts,
            "roles": [{**role, "cost": role.pop("money")} for role in roles],
            "based_on": list(self.based_on),
        }


def _a_count(name: str) -> bool:
    return name in ("questions", "kept", "requests", "tokens_in", "tokens_out", "tokens_cached")


def estimate(workspace: Workspace, settings: JobSettings) -> Estimate:
    """Estimate the work and cost of a job; no service is asked for anything.

    Cached replies are subtracted where they are known: those to the first question on each item. For later
    questions they are not known, so that their numbers are upper bounds.

    Raises:
        WorkbenchError: A model is unknown, or lacks something it needs.
    """
    return asyncio.run(_estimate(workspace, settings))


async def _estimate(workspace: Workspace, settings: JobSettings) -> Estimate:
    part = agents_part(settings.kind)
    configuration = settings.configuration()
    models = RoleModels.open(settings.role_choices(), settings.models)
    try:
        return await _with_models(workspace, settings, part, configuration, models)
    finally:
        await models.close()


async def _with_models(
    workspace: Workspace,
    settings: JobSettings,
    part: AgentsPart,
    configuration: Configuration,
    models: RoleModels,
) -> Estimate:
    names = {role: models[role].model.name for role in settings.active_roles()}
    run = _run(workspace, run_configuration(configuration, models, settings), settings, models.name)
    record = RunRecord(workspace, run)
    queue = WorkQueue(workspace, record, part, settings)
    number, _ = await queue.count()
    with workspace.reading() as connection:
        drawn = sampled_items(
            connection,
            run.id,
            settings.kind,
            min(DRAWN, number),
            chosen=queue.chosen,
            missing_at=settings.missing_at,
        )
        items = part.load(connection, drawn)
        past = past_replies(connection)
        workload = part.workload(connection, configuration, names) if part.workload else Workload()
    kept = 0
    if settings.cache:
        pipeline = part.make_pipeline(configuration, None, settings.sandboxes)
        kept = await _count_cached(
            workspace, record, items, pipeline=pipeline, models=models, settings=settings.models
        )
    found: list[RoleEstimate] = []
    prompts = configuration.load_prompts()
    for role, model in names.items():
        expected = workload.roles.get(role, ExpectedRole())
        known = number * kept / len(items) if kept and not found else 0.0
        earlier = past.get((role, model))
        prompt = _prompt_characters(prompts[role], items, {**part.placeholder_characters, **workload.places})
        price = price_of(settings.models.prices, model)
        lengths = prompt, expected.reply_characters
        questions = number * expected.share - known
        found.append(_of_role(role, model, questions, known, earlier, lengths=lengths, price=price))
    return Estimate(
        settings.asked or settings.agents,
        number,
        workload.facts,
        tuple(found),
        (*_based_on(found, len(items), kept), *workload.based_on),
    )


def _run(workspace: Workspace, configuration: dict[str, Any], settings: JobSettings, model: str) -> Run:
    """Return the run that the job would continue, or a new one."""
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


def _of_role(
    role: str,
    model: str,
    questions: float,
    kept: float,
    earlier: PastReplies | None,
    *,
    lengths: tuple[float, float],
    price: Price | None,
) -> RoleEstimate:
    if earlier is not None and earlier.count >= ENOUGH:
        count, requests = earlier.count, earlier.requests
        tokens = (earlier.tokens_in, earlier.tokens_out, earlier.tokens_cached)
    else:
        count, requests = 0, 1.0
        prompt, reply = (characters / CHARACTERS_PER_TOKEN for characters in lengths)
        tokens = (prompt, reply, 0.0)
    tokens_in, tokens_out, cached = (questions * each for each in tokens)
    usage = Usage(round(tokens_in), round(tokens_out), round(cached))
    money = None if price is None else price.money(usage)
    return RoleEstimate(
        role, model, questions, kept, questions * requests, tokens_in, tokens_out, cached, money, count
    )


def _prompt_characters(prompt: Prompt, items: Sequence[WorkItem], later: Mapping[str, int]) -> float:
    """Return the mean length of a role's prompt over some items; 0 without any."""
    lengths = []
    for item in items:
        values = {
            place: getattr(item, place, None) or "x" * later.get(place, _OTHER_PLACE_CHARACTERS)
            for place in prompt.places
        }
        lengths.append(sum(len(message.content) for message in prompt.messages(**values)))
    return sum(lengths) / len(lengths) if lengths else 0.0


def _based_on(roles: Sequence[RoleEstimate], drawn: int, kept: int) -> list[str]:
    sentences = []
    if kept:
        first, *later = (role.role for role in roles)
        rest = f" {', '.join(later)}: upper bounds, since theirs are not known yet." if later else ""
        sentences.append(
            f"{first}: of {pluralize(drawn, 'item')}, {kept:,} have the reply kept here, at no cost.{rest}"
        )
    if assumed := [role.role for role in roles if not role.earlier]:
        sentences.append(
            f"{', '.join(assumed)}: the prompts of {pluralize(drawn, 'item')}, at {CHARACTERS_PER_TOKEN} "
            "characters a token, and usual lengths of what is not written yet."
        )
    return sentences + [
        f"{role.role}: {pluralize(role.earlier, 'earlier reply', 'earlier replies')} of this model here."
        for role in roles
        if role.earlier
    ]


class _KeyCollector:
    """Collects the cache key of a question instead of asking it."""

    def __init__(self) -> None:
        self.keys: list[UUID] = []

    async def ask(
        self, model: LanguageModel, request: ModelRequest, digest: str, new_step: Callable[[], Step]
    ) -> ReplyResult:
        """Collect the key of the question, and end the work on its item."""
        self.keys.append(reply_key(model, request, digest))
        raise Halted


async def _count_cached(
    workspace: Workspace,
    record: RunRecord,
    items: Sequence[WorkItem],
    *,
    pipeline: Pipeline,
    models: RoleModels,
    settings: ModelSettings,
) -> int:
    """Count the items whose first question has a cached reply.

    Later questions hang on the answers before them, so that they are not known.

    Args:
        workspace: The open workspace.
        record: The run that would work on the items.
        items: The items.
        pipeline: Their pipeline; its first turn asks a model.
        models: The model of each role.
        settings: How models are asked.
    """

    async def at_once() -> None:
        """Nothing is waited for, since nothing is paid."""

    noted = _KeyCollector()
    for item in items:
        recorder = StepRecorder(
            record,
            item.item_id,
            item.external_id,
            RecordedSteps(),
            models=models,
            settings=settings,
            replies=noted,
            passing=at_once,
            on_step=lambda _: None,
        )
        try:
            await pipeline.run(item, recorder)
        except Halted:
            continue
    with workspace.reading() as connection:
        kept = replies_of(connection, list(dict.fromkeys(noted.keys)))
    return sum(key in kept for key in noted.keys)
