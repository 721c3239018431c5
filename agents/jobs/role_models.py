"""The model and temperature of each role; one client for all roles that ask the same model."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agents.llm.protocol import ModelRequest
from agents.llm.registry import open_model

if TYPE_CHECKING:
    from pydantic import BaseModel

    from agents.llm.protocol import LanguageModel, Message, PlainText
    from agents.llm.settings import ModelSettings


@dataclass(frozen=True, slots=True)
class RoleModel:
    """The model of a role, and its temperature (None: the service's default)."""

    model: LanguageModel
    temperature: float | None

    def request(
        self,
        role: str,
        subject: str,
        messages: tuple[Message, ...],
        reply_type: type[BaseModel],
        settings: ModelSettings,
        *,
        plain: PlainText | None = None,
        sample: int = 0,
    ) -> ModelRequest:
        """Return a question that is put to it.

        Args:
            role: Whose turn it is.
            subject: What scripted models answer by.
            messages: The question.
            reply_type: The form of the reply.
            settings: How models are asked.
            plain: The text to continue; None for a question.
            sample: Which of several replies to the same question, from 0; each has a seed of its own.
        """
        if plain is not None and self.temperature is None:
            # Without a temperature nothing is drawn from the most probable tokens, and one answer is as good.
            plain = replace(plain, temperature=None, top_p=None, n=1)
        return ModelRequest(
            role=role,
            subject=subject,
            messages=messages,
            reply_type=reply_type,
            temperature=self.temperature if plain is None else plain.temperature,
            max_output_tokens=settings.max_output_tokens if plain is None else plain.max_tokens,
            seed=None if settings.seed is None else settings.seed + sample,
            plain=plain,
            sample=sample,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the part of it that identifies a run."""
        fields = {"model": self.model.name, "temperature": self.temperature}
        # The same name means different models at different services.
        return {**fields, "service": self.model.address} if self.model.address else fields


class RoleModels:
    """The models of a job, by role.

    Args:
        by_role: The model of each role, in the order of the turns; the last one gives the labels.
    """

    def __init__(self, by_role: Mapping[str, RoleModel]) -> None:
        self._by_role = dict(by_role)

    @classmethod
    def open(cls, choices: Mapping[str, tuple[str, float | None]], settings: ModelSettings) -> RoleModels:
        """Make the clients of some roles; they connect to nothing until they are asked.

        Args:
            choices: Model name and temperature of each role that asks, in the order of their turns.
            settings: How services are reached.

        Raises:
            WorkbenchError: A model is unknown, or lacks something it needs, such as a key or a file.
        """
        names = dict.fromkeys(name for name, _ in choices.values())
        clients = {name: open_model(name, settings) for name in names}
        return cls(
            {role: RoleModel(clients[name], temperature) for role, (name, temperature) in choices.items()}
        )

    def __getitem__(self, role: str) -> RoleModel:
        """Return the model of a role."""
        return self._by_role[role]

    @property
    def name(self) -> str:
        """The models' names, each once, in the order of the turns, joined by "+"."""
        return "+".join(self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """The models' names, each once, in the order of the turns."""
        return tuple(dict.fromkeys(each.model.name for each in self._by_role.values()))

    def configuration(self) -> dict[str, Any]:
        """Return the part of the models that identifies a run.

        It says of the last role which model it asks, and of another role only what is different there, so
        that one model for all reads the same however it was set.
        """
        *others, last = self._by_role
        fields = self._by_role[last].to_dict()
        further = {role: each for role in others if (each := self._by_role[role].to_dict()) != fields}
        return {**fields, "roles": further} if further else fields

    async def close(self) -> None:
        """Close every client once, in the loop that used them, whatever one of them raises."""
        async with AsyncExitStack() as stack:
            for model in {id(each.model): each.model for each in self._by_role.values()}.values():
                stack.push_async_callback(model.close)
