"""Static analysis of a snippet: the names that it lacks, and the version of Python that it is written in.

No line of it is executed. Snippets of CodeSearchNet are functions without the imports of their files, and
some are Python 2, which no Python of today can load.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal

from pyflakes.checker import Checker
from pyflakes.messages import UndefinedName

from store.parsing import parse_python

if TYPE_CHECKING:
    from fissix.refactor import RefactoringTool

_MOST_CHARACTERS = 100_000
# Python's own parser is quick; this one takes a second for so many.
_MOST_CHARACTERS_OF_PYTHON_2 = 20_000
_FIXES = ("except", "exec", "ne", "numliterals", "paren", "print", "raise", "repr", "throw", "tuple_params")
_TAB = 8  # columns of a tab in Python 2, which let it be mixed with spaces

# ValueError is for a NUL and for a lone surrogate, the last two for what is nested too deeply.
_UNPARSED = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass(frozen=True, slots=True)
class Snippet:
    """The result of the static analysis of a snippet.

    Attributes:
        undefined_names: Names that it uses and neither defines nor imports, in the order of their first use;
            none of a text that is not Python 3.
        python: "3" for a text that Python 3 compiles; "2" for one that it does not, and does after the
            syntax of Python 2 (print statements, `except E, e`, backticks, octals, mixed tabs) is rewritten;
            "invalid" for any other.
    """

    undefined_names: tuple[str, ...]
    python: Literal["3", "2", "invalid"]


@lru_cache(maxsize=1024)
def read_snippet(text: str) -> Snippet:
    """Parse a snippet; takes milliseconds, and for a long text at most about a second.

    Args:
        text: The snippet. Of more than 100,000 characters nothing is read: it counts as invalid.

    Returns:
        The names that it lacks and its version of Python. No text makes this fail.
    """
    if len(text) > _MOST_CHARACTERS:
        return Snippet((), "invalid")
    text = text.removeprefix("\ufeff")  # as Python does with a file
    try:
        tree = _compiled(text)
    except _UNPARSED:
        return Snippet((), "2" if _is_python_2(text) else "invalid")
    try:
        found = Checker(tree, "candidate.py").messages
    except RecursionError:
        return Snippet((), "3")
    undefined = sorted(
        (each for each in found if isinstance(each, UndefinedName)), key=lambda each: each.lineno
    )
    return Snippet(tuple(dict.fromkeys(str(each.message_args[0]) for each in undefined)), "3")


def _compiled(text: str) -> ast.Module:
    """Return the tree of a text that Python 3 compiles; raises one of `_UNPARSED` where it does not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as an escape that no string has
        tree = parse_python(text)
        compile(text, "candidate.py", "exec", dont_inherit=True)  # finds a `return` outside of functions
    return tree


def _is_python_2(text: str) -> bool:
    if len(text) > _MOST_CHARACTERS_OF_PYTHON_2:
        return False
    try:
        rewritten = _tool().refactor_string(text.expandtabs(_TAB).rstrip() + "\n", "candidate.py")
        _compiled(str(rewritten))
    except Exception:  # noqa: BLE001 - the parser fails in undocumented ways; all mean no valid Python 2
        return False
    return True


@cache
def _tool() -> RefactoringTool:
    from fissix.refactor import RefactoringTool  # few snippets need it

    return RefactoringTool([f"fissix.fixes.fix_{name}" for name in _FIXES])
