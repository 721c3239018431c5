"""How asking a language model can fail."""

from __future__ import annotations

from typing import Literal

from agents.llm.protocol import Usage
from store.errors import WorkbenchError

ModelErrorKind = Literal[
    "unavailable",  # no answer: refused connection, timeout, error of the service
    "rate_limited",  # too many requests, or the quota is used up
    "malformed",  # two replies in a row that are not what was asked for
    "refused",  # the model or its filter declined
    "truncated",  # the reply ran into the limit of output tokens
    "unauthorised",  # no key, a wrong key, no right to the model, no money
    "bad_request",  # the service does not accept the request or does not know the model
    "no_reply",  # the file of scripted replies has none
]


class ModelError(WorkbenchError):
    """A language model gave no usable reply; what was spent on it is kept.

    `requests` and `usage` are as in `ModelReply`. `text` is the last reply, where there was one.
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
    ) -> None:
        super().__init__(title, message, hint)
        self.kind = kind
        self.requests = requests
        self.usage = usage if usage is not None else Usage()
        self.text = text
