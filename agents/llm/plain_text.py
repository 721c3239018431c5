"""Continues texts instead of asking for objects: what is asked, and the answers of services."""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from agents.llm.errors import ModelError
from agents.llm.protocol import ModelReply, Usage
from agents.llm.request_watch import tallied
from agents.llm.structured import storable

if TYPE_CHECKING:
    from agents.llm.protocol import ModelRequest, PlainText

_FENCED = re.compile(r"\s*```[\w+#-]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)

CHARACTERS_PER_TOKEN = 3
"""Estimated characters of a token of code, for services whose tokens are not known here."""


class Continuation(BaseModel):
    """A continuation of a text.

    Attributes:
        log_probability: The mean of the natural logarithms of its tokens' probabilities; None where the
            service does not say.
    """

    model_config = ConfigDict(frozen=True)

    text: str
    log_probability: float | None = None


class Continuations(BaseModel):
    """The reply to a request for plain text: one or more continuations, in the order of the service.

    Attributes:
        own: Whether the service decoded in its own way, since it was sent no temperature.
    """

    model_config = ConfigDict(frozen=True)

    found: list[Continuation]
    own: bool = False

    @property
    def best(self) -> Continuation:
        """The most probable one; the first where the service says nothing of it."""
        return max(
            self.found,
            key=lambda one: -math.inf if one.log_probability is None else one.log_probability,
        )


@dataclass(frozen=True, slots=True)
class PlainAnswer:
    """The answer of a service to one request for plain text."""

    found: Sequence[Continuation]
    usage: Usage
    model: str


def plain_of(request: ModelRequest, name: str, hint: str) -> PlainText:
    """Return the text that a request asks to continue, for a model that can do nothing else.

    Args:
        request: The request.
        name: The model's name.
        hint: Which model to name in its place.

    Raises:
        ModelError: It asks for an object.
    """
    if request.plain is not None:
        return request.plain
    raise ModelError(
        "bad_request",
        "Continues texts only",
        f"{name} continues texts, and the {request.role} is asked for an object.",
        hint,
    )


def mean_of(log_probabilities: Iterable[object] | None) -> float | None:
    """Return the mean of the logarithms that a service reported; None where there are none."""
    numbers = [one for one in log_probabilities or () if isinstance(one, int | float) and math.isfinite(one)]
    return sum(numbers) / len(numbers) if numbers else None


def unfenced(text: str) -> str:
    """Return what is in the fenced block with which a chat's reply begins; the reply itself without one."""
    found = _FENCED.match(text)
    return text if found is None else found[1]


def cut(plain: PlainText) -> tuple[str, str, str]:
    """Return context, prompt and suffix, cut to a model's length; tokens are estimated by characters.

    Of the context and the suffix the end is cut off, of the prompt the beginning.
    """
    context = plain.context[: plain.context_tokens * CHARACTERS_PER_TOKEN]
    suffix = plain.suffix[: plain.context_tokens * CHARACTERS_PER_TOKEN]
    room = (plain.longest - plain.max_tokens) * CHARACTERS_PER_TOKEN - len(context) - len(suffix)
    return context, plain.prompt[-max(room, 1) :], suffix


def seed_of(request: ModelRequest, plain: PlainText, wanted: int) -> int | None:
    """Return the seed of a request for the continuations that are still wanted: no two of them have one."""
    return None if request.seed is None else request.seed + plain.n - wanted


def text_in_chat(text: str, name: str, role: str, declined: str | None) -> str:
    """Return the continuation in a reply of a chat.

    Args:
        text: The text of the reply.
        name: The model's name.
        role: Who was asked.
        declined: What was said where the model declined, or a filter did; None where neither did.

    Raises:
        ModelError: It declined, or there is no text.
    """
    if declined is not None:
        words = f": {declined}" if declined else "."
        raise ModelError("refused", "Model declined", f"{name} declined to answer as {role}{words}")
    if not text.strip():
        raise ModelError(
            "malformed",
            "No continuation",
            f"{name} answered the {role} without a text.",
            "A model that thinks first may need more tokens than the 50 of a completion: name another one.",
        )
    return unfenced(text)


async def continued(
    request: ModelRequest,
    plain: PlainText,
    ask: Callable[[int], Awaitable[PlainAnswer]],
    *,
    name: str,
    sdk: str,
    clean: Callable[[str], str] = str,
) -> ModelReply:
    """Ask for continuations, again while there are fewer than wanted: some services give one at a time.

    Args:
        request: The request.
        plain: Its plain text.
        ask: Sends one request for so many continuations, which are still wanted; raises ModelError.
        name: The model's name.
        sdk: The library that asks, with its version.
        clean: Removes keys from a text of the service.

    Returns:
        The reply, whose value is `Continuations`, with the cost of every request.

    Raises:
        ModelError: Not as many came; carries the cost.
    """
    started = perf_counter()
    usage, model = Usage(), name
    found: list[Continuation] = []
    with tallied() as tally:
        try:
            while len(found) < plain.n:
                answer = await ask(plain.n - len(found))
                usage, model = usage + answer.usage, answer.model or name
                if not answer.found:
                    raise ModelError(
                        "malformed",
                        "No continuation",
                        f"{name} answered the {request.role} without a text.",
                        "Try another model.",
                    )
                found += answer.found[: plain.n - len(found)]
        except ModelError as error:
            # The best of fewer would be taken for the best of all.
            error.requests, error.usage, error.sdk = tally.requests, usage, sdk
            raise
        value = Continuations(
            found=[one.model_copy(update={"text": clean(storable(one.text))}) for one in found],
            own=plain.temperature is None,
        )
        return ModelReply(
            value=value,
            text=value.model_dump_json(),
            usage=usage,
            model=clean(storable(model)),
            seconds=perf_counter() - started,
            requests=tally.requests,
            sdk=sdk,
        )
