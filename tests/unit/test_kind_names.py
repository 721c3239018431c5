"""What a task kind of another package may be called: names that SQL or the workspace itself needs are refused."""

from dataclasses import replace
from typing import Any

import duckdb
import pytest

from store.kinds.completion import COMPLETION
from store.kinds.spec import OWN_TABLES, SQL_WORDS, QueueSpec, RecordSpec


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "score"}, "'score' cannot name a kind: it is a name of the workspace's own"),
        ({"name": "Note"}, "'Note' cannot name a kind: lower-case letters"),
        ({"table": "order"}, "'order' cannot name a table: it is a word of SQL"),
        ({"table": "item"}, "'item' cannot name a table: it is a name of the workspace's own"),
        ({"columns": {"text": "text", "line": "integer"}}, "'line' cannot name a column"),
        ({"columns": {"text": "text", "group": "text"}}, "'group' cannot name a column: it is a word of SQL"),
        ({"columns": {"text": "text", "a-b": "text"}}, "'a-b' cannot name a column: lower-case letters"),
        ({"identity": ("topic",)}, "topic: no column of 'note'"),
        ({"columns": {"text": "text", "of": "integer"}, "joined_within": "of"}, "'of', which is no text"),
    ],
)
def test_a_name_that_could_not_work_is_refused_when_a_kind_is_made(change: dict[str, Any], said: str) -> None:
    record = {"table": "note", "columns": {"text": "text"}, "identity": ("text",), "schema": "made", **change}
    name = record.pop("name", "note")
    with pytest.raises(ValueError, match=said):
        replace(COMPLETION, name=name, record=RecordSpec(**record), queue=QueueSpec("text", "text"))


def test_the_words_and_tables_are_those_of_this_database(tmp_path) -> None:
    from store.workspace.duckdb import Workspace

    with Workspace.create(tmp_path / "w.duckdb") as workspace:
        cursor = workspace.native()
        tables = {name for (name,) in cursor.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        cursor.close()
    assert tables == OWN_TABLES
    with duckdb.connect() as connection:
        known = connection.execute("SELECT DISTINCT keyword_name FROM duckdb_keywords()").fetchall()
        assert {word for (word,) in known if not _can_name(connection, word)} == SQL_WORDS


def _can_name(connection: duckdb.DuckDBPyConnection, word: str) -> bool:
    try:
        connection.execute(f"CREATE OR REPLACE TABLE {word} ({word} VARCHAR)")
        connection.execute(f"SELECT {word}, x.{word} AS y FROM {word} x")
        connection.execute(f"DROP TABLE {word}")
    except duckdb.ParserException:
        return False
    return True
