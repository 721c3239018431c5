"""Syntax trees of files, and what of them construction needs."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from agents.construction.places import CSHARP, JAVA, PYTHON, TYPESCRIPT
from agents.repositories.units import parser_of

if TYPE_CHECKING:
    from tree_sitter import Node, Query

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


def query(language: str, path: str, text: str, root: Node, name: str) -> list[Node]:
    """Return the nodes that a query captures under a name, in the order of the file."""
    from tree_sitter import QueryCursor

    captured = QueryCursor(_query(_grammar(language, path), text)).captures(root).get(name, [])
    return sorted(captured, key=lambda node: node.start_byte)


def imports_in(language: str, path: str, root: Node) -> list[Node]:
    """Return the import statements of a file."""
    return query(language, path, _IMPORTS[language], root, "import")


def tokens_between(root: Node, start: int, end: int) -> list[Node]:
    """Return the tokens that begin from one place of a file to before another, in bytes."""
    found: list[Node] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.end_byte <= start or node.start_byte >= end:
            continue
        if node.child_count:
            waiting += node.children
        elif node.start_byte >= start:
            found.append(node)
    return sorted(found, key=lambda node: node.start_byte)


def python_statement(root: Node, start: int, end: int) -> tuple[int, int]:
    """Return where the Python statement around a name begins and ends; of `if` and others the first line."""
    node = root.descendant_for_byte_range(start, end) or root
    while node.parent is not None and node.parent.type not in ("module", "block"):
        if node.type == "decorator" or _header_end(node, end):
            break
        node = node.parent
    return node.start_byte, _header_end(node, end) or node.end_byte


def _header_end(node: Node, after: int) -> int | None:
    """Return where the `:` before the block of a statement ends, if that comes after a place."""
    colon = None
    for each in node.children:
        if each.type == "block":
            return colon if each.start_byte >= after else None
        colon = each.end_byte if each.type == ":" and each.start_byte >= after else colon
    return None
