"""Parsing Python code while other threads do so."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from screens.items.skeleton import skeleton
from store.parsing import ATTEMPTS, parse_python


def failing(monkeypatch: pytest.MonkeyPatch, times: int) -> list[str]:
    """Have `ast.parse` fail as it does when two threads parse at once; return what it was given."""
    real, given = ast.parse, list[str]()

    def parse(source: str, *rest: Any, **named: Any) -> Any:
        given.append(source)
        if len(given) <= times:
            raise SystemError("AST constructor recursion depth mismatch (before=54, after=113)")
        return real(source, *rest, **named)

    monkeypatch.setattr(ast, "parse", parse)
    return given


def test_an_error_of_threads_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "def double(x):\n    return 2 * x\n"
    expected = skeleton(code, "double")
    given = failing(monkeypatch, 3)
    assert skeleton(code, "double") == expected
    assert len(given) > 3


def test_one_that_stays_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    given = failing(monkeypatch, 1000)
    with pytest.raises(SystemError, match="depth mismatch"):
        parse_python("x = 1")
    assert len(given) == ATTEMPTS


def test_what_is_no_python_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    given = failing(monkeypatch, 0)
    with pytest.raises(SyntaxError):
        parse_python("def")
    assert len(given) == 1
