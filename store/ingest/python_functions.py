"""Functions of Python sources: cut out of files, and the rule of CoSQA+ for those that can be tested."""

from __future__ import annotations

import ast
import io
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from store.parsing import parse_python

NOT_PYTHON = "not Python 3"
NO_FUNCTION = "no function"
NO_PARAMETER = "no parameter"
NO_RETURN = "no return value"

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a source.

    Attributes:
        name: Its name, a method's after its class: `Parser.feed`.
        line: Its first line in the source, from 1.
        text: Its text from `def` on, without the indentation of its place.
    """

    name: str
    line: int
    text: str


def functions_of(source: str) -> Iterator[Function]:
    """Yield the functions and methods of a source, in order; those within a function are part of it.

    Raises:
        SyntaxError: It is not Python 3, or nested too deeply.
    """
    # str.splitlines ends lines at form feeds, too, where the lines of Python go on.
    lines = [*io.StringIO(source, newline="")]
    yield from _functions_in(_parsed(source).body, "", lines)


def _functions_in(body: list[ast.stmt], inside: str, lines: list[str]) -> Iterator[Function]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _functions_in(node.body, f"{inside}{node.name}.", lines)
        elif isinstance(node, _Function):
            own = lines[node.lineno - 1 : node.end_lineno]
            indent = own[0][: len(own[0]) - len(own[0].lstrip())]
            # Only lines that have the indentation lose it: those of a text in quotes may not.
            text = "".join(line.removeprefix(indent) for line in own).rstrip()
            yield Function(inside + node.name, node.lineno, text)


def why_not_testable(text: str) -> str | None:
    """Return why a function cannot be tested by its input and output; None where it can (CoSQA+, IV.A).

    A function needs one parameter at least, and a `return` of its own with a value other than None.

    Args:
        text: The function, alone or as the first of several.
    """
    try:
        body = _parsed(text).body
    except SyntaxError:
        return NOT_PYTHON
    function = next((node for node in body if isinstance(node, _Function)), None)
    if function is None:
        return NO_FUNCTION
    given = function.args
    if not (given.posonlyargs or given.args or given.kwonlyargs or given.vararg or given.kwarg):
        return NO_PARAMETER
    return None if _returns_a_value(function) else NO_RETURN


def _returns_a_value(function: _Function) -> bool:
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Return) and node.value is not None:
            if not (isinstance(node.value, ast.Constant) and node.value.value is None):
                return True
        elif not isinstance(node, (*_NESTED, ast.expr)):
            waiting += ast.iter_child_nodes(node)
    return False


_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""What has returns of its own, or none."""


def _parsed(source: str) -> ast.Module:
    """Return the tree of a source.

    Raises:
        SyntaxError: It is not Python 3, or nested too deeply.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes and comparisons in other people's code
            return parse_python(source)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error)) from error
