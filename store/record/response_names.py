"""The readable names of responses, and of questions about them: `answer.accuracy@MODEL[SETTING]#TRIAL`.

Files, journals and commands use these names; the record has a key (`store.tables.responses.ResponseRef`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ESCAPES = {"%": "%25", "@": "%40", "[": "%5B", "]": "%5D", "#": "%23"}
"""Escapes of the signs of a name within the name of a model or a setting; `%` first."""

_NAME = re.compile(r"([^@\[\]#]+)@([^@\[\]#]*)(?:\[([^@\[\]#]+)\])?(?:#(\d{1,18}))?", re.DOTALL)


@dataclass(frozen=True, slots=True, order=True)
class ResponseName:
    """The name of one response among those of an item.

    Attributes:
        setting: The setting under which it was made; empty for none.
        trial: Which of several under one setting; 0 for the only one.
    """

    model: str
    setting: str = ""
    trial: int = 0

    def __str__(self) -> str:
        """Return the readable name: `MODEL[SETTING]#TRIAL`."""
        setting = f"[{_escaped(self.setting)}]" if self.setting else ""
        trial = f"#{self.trial}" if self.trial else ""
        return f"{_escaped(self.model)}{setting}{trial}"


def question_name(question: str, response: ResponseName | None) -> str:
    """Return the readable name of a question about a response; the question's own name for None."""
    return question if response is None else f"{question}@{response}"


def split_question(name: str) -> tuple[str, ResponseName | None]:
    """Split the readable name of a question into the question and the response that it is about.

    A name that is not in this form is returned whole, with None.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        return name, None
    question, model, setting, trial = found.groups()
    response = ResponseName(_unescaped(model), _unescaped(setting or ""), int(trial or 0))
    # A response has one name: another spelling, such as "#00", names none.
    return (question, response) if question_name(question, response) == name else (name, None)


def response_name_sql(table: str) -> str:
    """Return the SQL of the readable name of a row that has model, setting and trial."""

    def escaped(column: str) -> str:
        text = f"{table}.{column}"
        for sign, code in _ESCAPES.items():
            text = f"replace({text}, '{sign}', '{code}')"
        return text

    return (
        f"({escaped('model')}"
        f" || CASE WHEN {table}.setting = '' THEN '' ELSE '[' || {escaped('setting')} || ']' END"
        f" || CASE WHEN {table}.trial = 0 THEN '' ELSE '#' || {table}.trial END)"
    )


def _escaped(text: str) -> str:
    for sign, code in _ESCAPES.items():
        text = text.replace(sign, code)
    return text


def _unescaped(text: str) -> str:
    for sign, code in reversed(_ESCAPES.items()):
        text = text.replace(code, sign)
    return text
