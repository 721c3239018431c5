"""Parses Python code while other threads do so, too."""

from __future__ import annotations

import ast

ATTEMPTS = 20
"""Attempts at parsing a source before a SystemError is raised."""


def parse_python(source: str) -> ast.Module:
    """Return the tree of a source, as `ast.parse`.

    CPython 3.11 and 3.12 count the depth of the tree that is built for all threads together: where another
    thread builds one meanwhile, as libraries of models do while they are imported, `ast.parse` fails with a
    SystemError that says nothing of the source.

    Raises:
        SyntaxError: It is not Python.
        ValueError: It has what no source may have.
        RecursionError: It is nested too deeply.
        MemoryError: So it is.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return ast.parse(source)
        except SystemError:
            continue
    return ast.parse(source)
