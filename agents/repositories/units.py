"""Cuts source files into functions and classes, by tree-sitter."""

from __future__ import annotations

import ast
import inspect
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query

    from agents.repositories.reading import Repository

Kind = Literal["function", "class"]
MOST_AROUND = 20
"""The functions and classes that a unit is nested in; what is nested deeper is not cut out on its own."""
MOST_COMMENTS = 200
"""The comments above a unit that document it, of a line each in some languages: finding the one before takes
longer the more there are."""
MOST_TOKENS = 50_000
"""The tokens of one error of syntax; a query's time grows with their square."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A function or a class of a repository.

    Attributes:
        path: The file in the repository.
        line: Its first line in the file, from 1.
        end_line: Its last line.
        name: Its name, after those of what it is nested in: `Parser.feed`.
        text: Its text, without the indentation of its place.
        doc: What documents it: its docstring, or the comment above it, without the signs of comments.
        language: The name of its language.
    """

    path: str
    line: int
    end_line: int
    name: str
    kind: Kind
    text: str
    doc: str
    language: str


@dataclass(frozen=True, slots=True)
class Language:
    """A language whose files are cut.

    Attributes:
        suffixes: What the names of its files end with.
        grammar: The module and the function that give its grammar.
        units: A query of tree-sitter that captures functions and classes, each with its `name`, with what is
            put before that, such as the receiver of a method in Go, as `of`, and with its docstring as `doc`.
        comments: One that captures comments, and texts that stand for them: docstrings.
    """

    name: str
    suffixes: tuple[str, ...]
    grammar: str
    units: str
    comments: str


_TYPESCRIPT_UNITS = """
    (function_declaration name: (_) @name) @function
    (generator_function_declaration name: (_) @name) @function
    (method_definition name: (_) @name) @function
    (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @function
    (public_field_definition name: (_) @name value: [(arrow_function) (function_expression)]) @function
    (pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @function
    (class_declaration name: (_) @name) @class
    (abstract_class_declaration name: (_) @name) @class
    (interface_declaration name: (_) @name) @class
    (enum_declaration name: (_) @name) @class
"""
LANGUAGES = (
    Language(
        "python",
        (".py",),
        "tree_sitter_python:language",
        """
        (function_definition name: (_) @name body: (block . (expression_statement (string) @doc))?) @function
        (class_definition name: (_) @name body: (block . (expression_statement (string) @doc))?) @class
        """,
        """
        (comment) @comment
        (module . (expression_statement (string) @comment))
        (block . (expression_statement (string) @comment))
        """,
    ),
    Language(
        "java",
        (".java",),
        "tree_sitter_java:language",
        """
        (method_declaration name: (_) @name) @function
        (constructor_declaration name: (_) @name) @function
        (compact_constructor_declaration name: (_) @name) @function
        (class_declaration name: (_) @name) @class
        (interface_declaration name: (_) @name) @class
        (annotation_type_declaration name: (_) @name) @class
        (record_declaration name: (_) @name) @class
        (enum_declaration name: (_) @name) @class
        """,
        "(line_comment) @comment (block_comment) @comment",
    ),
    Language(
        "typescript",
        (".ts", ".mts", ".cts"),
        "tree_sitter_typescript:language_typescript",
        _TYPESCRIPT_UNITS,
        "(comment) @comment",
    ),
    Language(
        "tsx", (".tsx",), "tree_sitter_typescript:language_tsx", _TYPESCRIPT_UNITS, "(comment) @comment"
    ),
    Language(
        "csharp",
        (".cs",),
        "tree_sitter_c_sharp:language",
        """
        (method_declaration name: (_) @name) @function
        (constructor_declaration name: (_) @name) @function
        (destructor_declaration name: (_) @name) @function
        (local_function_statement name: (_) @name) @function
        (class_declaration name: (_) @name) @class
        (interface_declaration name: (_) @name) @class
        (struct_declaration name: (_) @name) @class
        (record_declaration name: (_) @name) @class
        (enum_declaration name: (_) @name) @class
        """,
        "(comment) @comment",
    ),
    Language(
        "go",
        (".go",),
        "tree_sitter_go:language",
        """
        (function_declaration name: (_) @name) @function
        (method_declaration
            receiver: (parameter_list (parameter_declaration type: [
                (type_identifier) @of
                (generic_type type: (_) @of)
                (pointer_type [(type_identifier) @of (generic_type type: (_) @of)])
            ]))
            name: (_) @name) @function
        (type_spec name: (_) @name type: [(struct_type) (interface_type)]) @class
        """,
        "(comment) @comment",
    ),
)
_BY_SUFFIX = {suffix: language for language in LANGUAGES for suffix in language.suffixes}
_BY_NAME = {language.name: language for language in LANGUAGES}


def language_of(path: str) -> Language | None:
    """Return the language of a file by its name; None for one whose files are not cut."""
    return _BY_SUFFIX.get(PurePosixPath(path).suffix.lower())


def has_units(path: str) -> bool:
    """Return whether the files of a name are cut."""
    return language_of(path) is not None


def units_of(path: str, text: str) -> list[Unit]:
    """Return the functions and classes of a file in their order; nested ones follow what they are within.

    A file with errors of syntax gives what can be made out.

    Args:
        path: The file, by whose name its language is told.
        text: Its text.
    """
    language = language_of(path)
    return [] if language is None else [*_cut(language, path, text)]


def units_in(repository: Repository) -> list[Unit]:
    """Return the functions and classes of a repository, by path and line."""
    return [unit for file in repository.files for unit in units_of(file.path, file.text)]


def _cut(language: Language, path: str, text: str) -> Iterator[Unit]:
    from tree_sitter import QueryCursor

    source = text.encode()
    parser, units, _ = _tools(language.name)
    root = parser.parse(source).root_node
    if not _is_quick(root):
        return
    found = [captured for _, captured in QueryCursor(units).matches(root)]
    # Each with what it is nested in, which ends later.
    around: list[tuple[int, str]] = []
    for captured in sorted(found, key=_place):
        kind: Kind = "function" if "function" in captured else "class"
        (node,) = captured[kind]
        start, end = node.start_byte, node.end_byte
        while around and around[-1][0] <= start:
            around.pop()
        if len(around) > MOST_AROUND:
            continue
        outer = around[-1][1] if around else ""
        words = [outer, *(_text(source, one) for name in ("of", "name") for one in captured.get(name, ()))]
        name = ".".join(word for word in words if word)
        around.append((end, name))
        first, last = node.start_point.row + 1, node.end_point.row + 1
        if language.name == "python":
            doc = "".join(_unquoted(_text(source, one)) for one in captured.get("doc", ()))
        else:
            doc = _comment_above(source, node)
        yield Unit(path, first, last, name, kind, _unindented(source, node), doc, language.name)


def _is_quick(root: Node) -> bool:
    """Return whether no error of syntax in a file has so many tokens that a query takes minutes."""
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if node.is_error and node.child_count - node.named_child_count > MOST_TOKENS:
            return False
        if node.has_error:
            nodes += node.children
    return True


def _place(captured: dict[str, list[Node]]) -> tuple[int, int]:
    (node,) = captured.get("function") or captured["class"]
    return node.start_byte, -node.end_byte


def _unquoted(text: str) -> str:
    """Return a docstring as Python has it; as it is written where Python cannot read it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in other people's code
            said = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        said = text.strip("\"' \n")
    # Escapes can make halves of surrogate pairs, and NUL characters.
    return inspect.cleandoc(clean(said)) if isinstance(said, str) else ""


def clean(text: str) -> str:
    """Return a text as it can be stored and encoded: without halves of surrogate pairs and NUL characters."""
    return text.encode(errors="replace").decode().replace("\0", " ")


def _comment_above(source: bytes, node: Node) -> str:
    """Return the comment that ends in the line above a unit, without signs of comments and tags."""
    while node.parent is not None and node.parent.type in _AROUND:
        node = node.parent
    comments: list[str] = []
    row, above = node.start_point.row, node.prev_sibling
    while above is not None and above.type.endswith("comment") and above.end_point.row >= row - 1:
        comments.append(_text(source, above))
        if len(comments) == MOST_COMMENTS:
            break
        row, above = above.start_point.row, above.prev_sibling
    lines = "\n".join(reversed(comments)).split("\n")
    return _TAG.sub("", "\n".join(map(_without_signs, lines))).strip()


def _without_signs(line: str) -> str:
    """Return a line of a comment without the signs that begin and end it."""
    said = _SIGNS.sub("", line).rstrip()
    return said[:-1].rstrip("*").rstrip() if said.endswith("*/") else said


_AROUND = ("export_statement", "lexical_declaration", "variable_declaration", "type_declaration")
"""Nodes that can consist of one unit, whose comment stands above them then."""
_SIGNS = re.compile(r"^\s*(/\*+/?|\*+/|\*|//+|#+)[ \t]?")
_TAG = re.compile(r"</?[a-z][^<>\n]*>")


def first_sentence(doc: str) -> str:
    """Return the first sentence of a documentation, in one line; empty where it begins with a tag."""
    paragraph = re.split(r"\n\s*(?:\n|[@:])", f"\n{doc.strip()}", maxsplit=1)[0]
    return re.split(r"(?<=[.!?])\s", " ".join(paragraph.split()), maxsplit=1)[0]


def _text(source: bytes, node: Node) -> str:
    return source[node.start_byte : node.end_byte].decode(errors="replace")


def _unindented(source: bytes, node: Node) -> str:
    """Return the text of a unit without the indentation of its first line."""
    begins = node.start_byte - node.start_point.column
    blanks = _BLANKS.match(source, begins, node.start_byte)
    indent = blanks[0].decode() if blanks else ""
    first, *others = _text(source, node).split("\n")
    # Only lines that have the indentation lose it: those of a text in quotes may not.
    return "\n".join([first, *(line.removeprefix(indent) for line in others)])


_BLANKS = re.compile(rb"[ \t\f\r\v]*")


def without_comments(text: str, language: str) -> str:
    """Return the text of a unit without comments and docstrings, and without lines that are empty then."""
    from tree_sitter import QueryCursor

    source = text.encode()
    parser, _, comments = _tools(language)
    root = parser.parse(source).root_node
    kept, end = [], 0
    for node in sorted(
        QueryCursor(comments).captures(root).get("comment", ()), key=lambda one: one.start_byte
    ):
        if node.start_byte >= end:
            kept.append(source[end : node.start_byte])
            end = node.end_byte
    lines = b"".join([*kept, source[end:]]).decode(errors="replace").split("\n")
    return "\n".join(line.rstrip() for line in lines if line.strip())


def parser_of(language: str) -> Parser:
    """Return the parser of a language of `LANGUAGES`, given by name."""
    return _tools(language)[0]


@cache
def _tools(name: str) -> tuple[Parser, Query, Query]:
    """Return the parser of a language, and its queries for units and for comments."""
    from tree_sitter import Language as Grammar
    from tree_sitter import Parser, Query

    language = _BY_NAME[name]
    module, _, function = language.grammar.partition(":")
    grammar = Grammar(getattr(import_module(module), function)())
    return Parser(grammar), Query(grammar, language.units), Query(grammar, language.comments)
