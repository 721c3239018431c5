"""A model that answers from a file, for demonstrations and tests: no key, no network, no chance.

Each line of the file is a JSON object: whose turn it is (`role`), which item it is about (`subject`), and
either a `reply` or an `error`. A reply that is an object is what the model would have written; one that is
a string is taken word for word, and may be malformed; where a text is continued, it is what the model adds.
Several lines for one role and subject are answered in turn, and the last of them from then on. A line with
`when` answers only requests that contain this text, and goes before those without: so there can be replies
for a test that passed and for one that did not run.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from agents.llm.errors import ModelError, ModelErrorKind
from agents.llm.plain_text import Continuation, PlainAnswer, continued
from agents.llm.protocol import LanguageModel, Message, ModelReply, ModelRequest, Usage
from agents.llm.request_watch import leave
from agents.llm.settings import ModelSettings
from agents.llm.structured import Answer, converse

MOST_BYTES = 2**30
"""Bytes of a file of replies, all of which are held."""


class ScriptedUsage(BaseModel):
    """Tokens that a scripted reply pretends to have cost."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tokens_in: int = Field(default=0, ge=0)
    tokens_out: int = Field(default=0, ge=0)
    tokens_cached: int = Field(default=0, ge=0)


class ScriptedLine(BaseModel):
    """One line of a file of scripted replies."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: str = Field(min_length=1)
    subject: str = Field(min_length=1)
    when: str = ""
    reply: dict[str, Any] | str | None = None
    error: ModelErrorKind | None = None
    usage: ScriptedUsage = ScriptedUsage()
    delay_seconds: float = Field(default=0.0, ge=0)

    @model_validator(mode="after")
    def _one_outcome(self) -> ScriptedLine:
        if (self.reply is None) == (self.error is None):
            raise ValueError("give either a reply or an error")
        return self


def create(path: str, settings: ModelSettings) -> LanguageModel:
    """Read and check a file of scripted replies.

    Args:
        path: The file, JSON Lines in UTF-8.
        settings: Not used; a script has no service.

    Returns:
        The model, named "scripted:", the file's name and a digest of what is in it, so that replies kept
        from an earlier form of the file are not taken for replies from this one.

    Raises:
        ModelError: The file cannot be read, or a line of it is wrong; names file and line.
    """
    file = Path(path)
    try:
        if file.exists() and not file.is_file():
            raise _unreadable(f"{path} is no regular file.")
        if file.exists() and file.stat().st_size > MOST_BYTES:
            raise _unreadable(f"{path} has more than {MOST_BYTES // 2**20} MiB.")
        content = file.read_bytes()
    except OSError as error:
        raise _unreadable(f"{path}: {error.strerror or error}.") from error
    return ScriptedModel(file, hashlib.sha256(content).hexdigest()[:12], _read(path, content))


class ScriptedModel:
    """A model with prepared replies."""

    def __init__(self, file: Path, digest: str, lines: Mapping[tuple[str, str], list[ScriptedLine]]) -> None:
        self.name = f"scripted:{file.name}@{digest}"
        self.address = ""
        self.knows_subjects = True
        self._file = file
        self._lines = lines
        self._asked: dict[tuple[str, str, str], int] = {}

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Answer a request; see `LanguageModel.reply`. Each line that is read counts as one request."""
        if (plain := request.plain) is not None:

            async def ask(_n: int) -> PlainAnswer:
                answer = await self._ask(request, request.messages)
                return PlainAnswer([Continuation(text=answer.text)], answer.usage, answer.model)

            return await continued(request, plain, ask, name=self.name, sdk="scripted")
        return await converse(request, partial(self._ask, request), name=self.name, sdk="scripted")

    async def close(self) -> None:
        """Nothing is open."""

    async def _ask(self, request: ModelRequest, _messages: tuple[Message, ...]) -> Answer:
        given = self._lines.get((request.role, request.subject), [])
        asked = request.messages[-1].content
        when = next((line.when for line in given if line.when and line.when in asked), "")
        lines = [line for line in given if line.when == when]
        if not lines:
            raise ModelError(
                "no_reply",
                "No scripted reply",
                f'{self._file} has no reply for role "{request.role}" and subject "{request.subject}".',
                "Add a line for it, or name a model with --model.",
            )
        key = (request.role, request.subject, when)
        turn = self._asked.get(key, 0)
        self._asked[key] = turn + 1
        line = lines[min(turn, len(lines) - 1)]
        await asyncio.sleep(line.delay_seconds)
        leave()
        usage = Usage(**line.usage.model_dump())
        if line.error in {"truncated", "refused"}:
            return Answer("", usage, self.name, line.error, "as the script says")
        if line.error is not None:
            raise ModelError(
                line.error,
                "Scripted failure",
                f'{self._file} scripts the failure "{line.error}" for role "{request.role}" and subject '
                f'"{request.subject}".',
            )
        text = line.reply if isinstance(line.reply, str) else json.dumps(line.reply, ensure_ascii=False)
        return Answer(text, usage, self.name)


def _read(path: str, content: bytes) -> dict[tuple[str, str], list[ScriptedLine]]:
    lines: dict[tuple[str, str], list[ScriptedLine]] = {}
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not raw.strip():
            continue
        try:
            line = ScriptedLine.model_validate_json(raw.decode("utf-8"), strict=True)
        except UnicodeDecodeError as error:
            raise _unreadable(f"{path}, line {number}: not UTF-8 text.") from error
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise _unreadable(
                f"{path}, line {number}: {place + ': ' if place else ''}{first['msg']}."
            ) from error
        lines.setdefault((line.role, line.subject), []).append(line)
    if not lines:
        raise _unreadable(f"{path} has no line.")
    return lines


def _unreadable(message: str) -> ModelError:
    return ModelError(
        "bad_request",
        "Scripted replies cannot be read",
        message,
        'Each line is a JSON object with "role", "subject" and "reply".',
    )
