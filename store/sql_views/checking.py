"""Which statements may be asked: one that selects from the views, and from nothing else.

The statement is parsed by DuckDB and its tree is looked through, nothing is searched in its text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import duckdb

from store.errors import SqlError
from store.sql import CLOSED
from store.sql_views.views import views

TABLE_FUNCTIONS = frozenset({"range", "generate_series", "unnest", "json_each", "json_tree", "repeat"})
"""The functions that may stand in the place of a view: they make rows of what they are given."""

REFUSED_FUNCTIONS = frozenset({"current_setting", "write_log", "nextval", "currval", "getenv"})
"""Functions that tell of the machine, or leave something behind."""

VIEWS_HINT = "The views and their columns: workbench sql WORKSPACE --views"
_ONE = "One SELECT, WITH, FROM, VALUES, DESCRIBE, SUMMARIZE or EXPLAIN statement is run, and nothing else."
_EXPLAIN = re.compile(
    r"(?:\s|--[^\n]*\n|/\*(?:(?!/\*|\*/).)*\*/)*EXPLAIN\s+(?:ANALYZE\s+)?", re.IGNORECASE | re.DOTALL
)
"""What stands before a statement that is explained: comments, none of them in another, and the words."""


@dataclass(frozen=True, slots=True)
class CheckedStatement:
    """A statement that may be run.

    Attributes:
        views: The views that it names, each with the names of the columns that it may need, in order.
        describes: Whether it asks for their columns alone, and not for a row.
    """

    text: str
    views: Mapping[str, tuple[str, ...]]
    describes: bool = False


def check_statement(text: str) -> CheckedStatement:
    """Return a statement with the views that it needs.

    Raises:
        SqlError: It is no statement, several, or one that does more than selecting from the views.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SqlError("SQL error", "The statement is no UTF-8.", VIEWS_HINT) from error
    # Parsing alone opens files: those of IMPORT DATABASE.
    database = duckdb.connect(":memory:", config=CLOSED)
    try:
        found = database.extract_statements(text)
        if not found:
            raise SqlError("No statement", "There is nothing to run.", VIEWS_HINT)
        if len(found) > 1:
            several = (
                f"{len(found)} statements were given, or one that stands for several (PIVOT without IN)."
            )
            raise SqlError("Several statements", several, _ONE)
        statement = found[0].query.strip()
        inner = statement
        if found[0].type == duckdb.StatementType.EXPLAIN and (words := _EXPLAIN.match(statement)):
            inner = statement[words.end() :]
        (row,) = database.execute("SELECT json_serialize_sql($1)", [inner]).fetchall()
        tree = json.loads(row[0])
    except duckdb.Error as error:
        raise sql_error(str(error)) from error
    except RecursionError as error:
        raise SqlError("SQL error", "The statement is nested too deeply.", "Write it in parts.") from error
    finally:
        database.close()
    if tree["error"] or not tree["statements"]:
        raise SqlError(
            "Not a SELECT", "Only what selects is run: nothing is written, set, attached or loaded.", _ONE
        )
    source = tree["statements"][0]["node"].get("from_table") or {}
    return CheckedStatement(statement, _needed(tree), source.get("show_type") == "DESCRIBE")


def sql_error(message: str) -> SqlError:
    """Return the error of a statement that DuckDB refused or could not carry out."""
    said = re.sub(r"^\w[\w ]* Error: ", "", message.strip())
    return SqlError("SQL error", said, VIEWS_HINT)


def _nodes(value: Any) -> Iterator[tuple[dict[str, Any], frozenset[str]]]:
    """Return every object of a tree with the names that a WITH gives to tables there."""
    ahead: list[tuple[Any, frozenset[str]]] = [(value, frozenset())]
    while ahead:
        found, own = ahead.pop()
        if isinstance(found, dict):
            yield found, own
            given = (found.get("cte_map") or {}).get("map", ())
            for one in given:
                # Of the tables of a WITH each sees itself and those before it.
                own |= {one["key"].lower()}
                ahead.append((one, own))
            ahead.extend((part, own) for name, part in found.items() if not (given and name == "cte_map"))
        elif isinstance(found, list):
            ahead.extend((part, own) for part in found)


def _needed(tree: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the views that a statement names with the columns that it may need.

    Raises:
        SqlError: It reads from anything else, or calls what it must not.
    """
    known = views()
    within = list(_nodes(tree))
    nodes = [node for node, _ in within]
    tables = [node for node in nodes if node.get("type") == "BASE_TABLE"]
    for node in nodes:
        _refuse(node)
    named = {}
    for node, own in within:
        if node.get("type") != "BASE_TABLE":
            continue
        name = node["table_name"].lower()
        where = [part for part in (node["catalog_name"], node["schema_name"], node["table_name"]) if part]
        if len(where) == 1 and name in own:
            continue
        if len(where) > 1 or name not in known:
            close = get_close_matches(name, known, n=3)
            meant = f" Did you mean {' or '.join(close)}?" if close else ""
            raise SqlError("Unknown view", f"There is no view {'.'.join(where)!r}.{meant}", VIEWS_HINT)
        named[name] = known[name]
    words = _words(nodes)
    whole = any(_takes_all(node) for node in nodes) or any(
        {node["table_name"].lower(), node["alias"].lower()} & _last_words(nodes) for node in tables
    )
    return {
        name: tuple(one.name for one in view.columns if whole or one.name in words) or (view.columns[0].name,)
        for name, view in named.items()
    }


def _refuse(node: Mapping[str, Any]) -> None:
    """Refuse what reads something else than views.

    Raises:
        SqlError: The node does.
    """
    if node.get("type") == "TABLE_FUNCTION":
        name = (node["function"].get("function_name") or "").lower()
        if name not in TABLE_FUNCTIONS:
            raise SqlError(
                "Not allowed", f"{name} is not a view: no file, setting or other table is read.", VIEWS_HINT
            )
    if node.get("type") == "SHOW_REF" and not node.get("query"):
        raise SqlError("Not allowed", "SHOW lists nothing here; DESCRIBE VIEW lists columns.", VIEWS_HINT)
    if str(node.get("function_name", "")).lower() in REFUSED_FUNCTIONS:
        raise SqlError("Not allowed", f"{node['function_name']} cannot be called.", _ONE)


def _takes_all(node: Mapping[str, Any]) -> bool:
    """Return whether a node may need columns without naming them."""
    return (
        node.get("class") in ("STAR", "POSITIONAL_REFERENCE")
        or node.get("type") in ("PIVOT", "SHOW_REF")
        or node.get("ref_type") == "NATURAL"
        or bool(node.get("column_name_alias"))
    )


def _words(nodes: list[dict[str, Any]]) -> set[str]:
    """Return every text in a statement, among which are the names of its columns."""
    found: set[str] = set()
    for node in nodes:
        for value in node.values():
            parts = value if isinstance(value, list) else [value]
            found.update(part.lower() for part in parts if isinstance(part, str))
    return found


def _last_words(nodes: list[dict[str, Any]]) -> set[str]:
    """Return the last part of the name of each column; that of a whole row is the name of a view."""
    return {node["column_names"][-1].lower() for node in nodes if node.get("column_names")}
