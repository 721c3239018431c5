"""Leaves out tasks that a model completes without another file (CrossCodeEval, section 2.3)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agents.jobs.asking import WorkAsk
from agents.jobs.budget import Spending
from agents.jobs.role_models import RoleModel
from agents.llm.errors import ModelError
from agents.llm.plain_text import Continuations, cut
from agents.llm.protocol import PlainText
from agents.llm.registry import open_model
from agents.pipelines.completion_prediction.configurations import COMPLETER, CONFIGURATIONS
from agents.pipelines.completion_prediction.pipeline import longest_of
from store.measures.completion import score_completion

if TYPE_CHECKING:
    from agents.construction.tasks import Task
    from agents.jobs.control import Control
    from agents.jobs.work import WorkSettings


_OF_SERVICE = frozenset({"unavailable", "timeout", "rate_limited", "unauthorised"})
"""Kinds of errors of the service, which concern all tasks."""


class Predictor:
    """Asks a model to complete tasks, greedily and with their files alone.

    Args:
        model: The model.
        control: The work's steering, whose budget it keeps to.
        settings: How services are reached.
        language: The language of the tasks.
    """

    def __init__(self, model: str, control: Control, settings: WorkSettings, language: str) -> None:
        self._model = RoleModel(open_model(model, settings.models), 0.0)
        self._control, self._settings, self._language = control, settings, language
        self._prompt = CONFIGURATIONS[0].load_prompts()[COMPLETER]
        self._at_once = asyncio.Semaphore(settings.concurrency)
        control.budget = Spending(settings.budget, settings.models.prices)
        control.budget.require_prices((self.name,))

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.model.name

    async def predicted(self, tasks: Sequence[Task], ids: Sequence[str]) -> list[bool | None]:
        """Return which tasks are completed exactly; None where the model gave no usable reply.

        Raises:
            Halted: The work was stopped.
            ModelError: The service does not answer at all.
        """
        return list(await asyncio.gather(*map(self._predicts, tasks, ids)))

    async def _predicts(self, task: Task, name: str) -> bool | None:
        plain = PlainText(task.prompt, longest=longest_of(self.name))
        _, code, _ = cut(plain)
        messages = self._prompt.messages(context="none", code=code, after="none")
        async with self._at_once:
            ask = WorkAsk(self._control, self._model, self._settings.models, name)
            try:
                found = await ask(COMPLETER, messages, Continuations, plain=plain)
            except ModelError as error:
                if error.kind in _OF_SERVICE:
                    raise
                self._control.log("warning", f"{name} is kept: {error.title}. {error.message}")
                return None
        scores = score_completion(self._language, task.prompt, task.reference, found.best.text)
        return bool(scores.em)

    async def close(self) -> None:
        """Close the connections."""
        await self._model.model.close()
