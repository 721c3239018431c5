"""Syntax trees of source files, and the imports in them."""

from __future__ import annotations

from collections.abc import Container
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from agents.repositories.units import parser_of

if TYPE_CHECKING:
    from tree_sitter import Node, Query

PYTHON, JAVA, TYPESCRIPT, CSHARP = "python", "java", "typescript", "csharp"

_IMPORTS = {
    CSHARP: "(using_directive) @import",
    JAVA: "(import_declaration) @import",
    PYTHON: "(import_statement) @import (import_from_statement) @import (future_import_statement) @import",
    TYPESCRIPT: "(import_statement) @import",
}


def _grammar(language: str, path: str) -> str:
    return "tsx" if language == TYPESCRIPT and path.endswith(".tsx") else language


def parsed(language: str, path: str, code: bytes) -> Node:
    """Return the root of a file's syntax tree."""
    return parser_of(_grammar(language, path)).parse(code).root_node


@cache
def _query(grammar: str, text: str) -> Query:
    from tree_sitter import Query

    language = parser_of(grammar).language
    assert language is not None
    return Query(language, text)


def imports_in(language: str, path: str, root: Node) -> list[Node]:
    """Return the import statements of a file, in order."""
    from tree_sitter import QueryCursor

    captured = QueryCursor(_query(_grammar(language, path), _IMPORTS[language])).captures(root)
    return sorted(captured.get("import", []), key=lambda node: node.start_byte)


def text_of(node: Node) -> str:
    """Return the text of a node."""
    return (node.text or b"").decode(errors="replace")


def imported_modules(node: Node) -> list[tuple[str, list[str]]]:
    """Return the modules that a Python statement imports, each with the names that it takes of it.

    The dots of a relative module stand before it.
    """
    names = [
        each.child_by_field_name("name") or each if each.type == "aliased_import" else each
        for each in node.children_by_field_name("name")
    ]
    module = node.child_by_field_name("module_name")
    if module is not None:
        return [("".join(text_of(module).split()), [text_of(name) for name in names])]
    return [(text_of(name), []) for name in names]


def module_folders(path: str, files: Container[str]) -> list[PurePosixPath]:
    """Return where a Python file's modules are looked for: its folder, those above it, and `src`.

    Not in a package, whose modules are named with it: within one, `logging` is that of Python.
    """
    folders = (*PurePosixPath(path).parents, PurePosixPath("src"))
    return [folder for folder in folders if str(folder / "__init__.py") not in files]
