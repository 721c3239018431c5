"""Tokens and statements of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node


_STRINGS = frozenset(
    {"string", "string_literal", "template_string", "interpolated_string_expression", "character_literal"}
)


def tokens_between(root: Node, start: int, end: int) -> list[Node]:
    """Return the tokens that begin from one place of a file to before another, in bytes.

    A string is one token, but for that in which the second place is.
    """
    found: list[Node] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.end_byte <= start or node.start_byte >= end:
            continue
        if node.child_count and not (node.type in _STRINGS and node.end_byte <= end):
            waiting += node.children
        elif node.start_byte >= start:
            found.append(node)
    return sorted(found, key=lambda node: node.start_byte)


def python_statement(root: Node, code: bytes, start: int, end: int) -> tuple[int, int | None]:
    """Return where the Python statement around a name begins and ends; of `if` and others their header.

    What else is in its last line belongs to it, since a completion is cut at an end of a line (see
    `store.measures.completion`). A decorator is no statement without what it decorates, so it has no end.
    """
    node = root.descendant_for_byte_range(start, end) or root
    while node.parent is not None and node.parent.type not in ("module", "block"):
        if node.type == "decorator":
            return node.start_byte, None
        if _header_end(node, end):
            break
        node = node.parent
    ends = _header_end(node, end) or node.end_byte
    newline = code.find(b"\n", ends)
    line_end = len(code) if newline < 0 else newline
    if not code[ends:line_end].split(b"#")[0].strip():
        return node.start_byte, ends
    # Another statement, or the body, which may go on in further lines.
    goes_on = any(each.start_byte < line_end < each.end_byte for each in node.children)
    return node.start_byte, None if goes_on else ends + len(code[ends:line_end].rstrip())


def _header_end(node: Node, after: int) -> int | None:
    """Return where the `:` before the block of a statement ends, if that comes after a place."""
    colon = None
    for each in node.children:
        if each.type == "block":
            return colon if each.start_byte >= after else None
        colon = each.end_byte if each.type == ":" and each.start_byte >= after else colon
    return None
