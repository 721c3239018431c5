"""Errors of requests to language models."""

from __future__ import annotations

from typing import Literal

from agents.llm.protocol import Usage
from store.errors import WorkbenchError

ModelErrorKind = Literal[
    "unavailable",  # no answer: refused connection, a hang-up, error of the service
    "timeout",  # silence until the time was over
    "rate_limited",  # too many requests, or the quota is used up
    "malformed",  # asked twice, and the last reply is not what was asked for
    "refused",  # likewise: the model declined; or the service's filter did
    "truncated",  # likewise: the reply ran into the limit of output tokens
    "unauthorised",  # no key, a wrong key, no right to the model, no money
    "bad_request",  # the service does not accept the request or does not know the model
    "no_reply",  # the file of scripted replies has none
]


class ModelError(WorkbenchError):
    """A language model gave no usable reply; what was spent on it is kept.

    `requests`, `usage` and `sdk` are as in `ModelReply`; `text` is the last reply, where there was one, and
    `model` the snapshot that gave it. `passing` says that the same request may get through later,
    `wait_seconds` when, where the service gave it, and `slow_down` that it is asked too much by everybody.
    `refuses_form` says that the service does not take the way in which the form of the reply was asked for.
    """

    def __init__(
        self,
        kind: ModelErrorKind,
        title: str,
        message: str,
        hint: str = "",
        *,
        requests: int = 0,
        usage: Usage | None = None,
        text: str = "",
        passing: bool = False,
        wait_seconds: float | None = None,
        slow_down: bool = False,
        refuses_form: bool = False,
    ) -> None:
        super().__init__(title, message, hint)
        self.kind = kind
        self.requests = requests
        self.usage = usage if usage is not None else Usage()
        self.text = text
        self.passing = passing
        self.wait_seconds = wait_seconds
        self.slow_down = slow_down
        self.refuses_form = refuses_form
        self.model = ""
        self.sdk = ""
