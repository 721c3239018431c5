"""The names of questions that are asked once for each response: `answer.accuracy@MODEL[SETTING]#TRIAL`."""

from __future__ import annotations

import re
from dataclasses import dataclass

QUOTED = {"%": "%25", "@": "%40", "[": "%5B", "]": "%5D", "#": "%23"}
"""What stands for the signs of a name where they are part of a model's or a setting's name, `%` first."""

_NAME = re.compile(r"([^@\[\]#]+)@([^@\[\]#]*)(?:\[([^@\[\]#]+)\])?(?:#(\d+))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Instance:
    """A question about one response.

    Attributes:
        question: The name of the question that is asked of every response.
        model: Whose response.
        setting: Under which setting; empty where there is none.
        trial: Which of several; 0 where it is the only one.
    """

    question: str
    model: str
    setting: str = ""
    trial: int = 0

    @property
    def name(self) -> str:
        """The name that the question has in the record."""
        setting = f"[{_quoted(self.setting)}]" if self.setting else ""
        trial = f"#{self.trial}" if self.trial else ""
        return f"{self.question}@{_quoted(self.model)}{setting}{trial}"


def instance_of(name: str) -> Instance | None:
    """Take the name of a question about a response apart; None where it is no such name."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    question, model, setting, trial = found.groups()
    instance = Instance(question, _plain(model), _plain(setting or ""), int(trial or 0))
    # One response has one name: what was written otherwise names none.
    return instance if instance.name == name else None


def _quoted(text: str) -> str:
    for sign, code in QUOTED.items():
        text = text.replace(sign, code)
    return text


def _plain(text: str) -> str:
    for sign, code in reversed(QUOTED.items()):
        text = text.replace(code, sign)
    return text
