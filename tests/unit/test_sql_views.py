"""SQL over the views: what they hold, what is refused, and what stops a statement that does not end."""

import threading
import time

import pytest
from judging import Desk
from review_bench import bench
from several_kinds import ANSWERED, SCORED, three_kinds
from sqlalchemy import false, true

from store.errors import SqlError
from store.kinds.spec import task_kinds
from store.policy.scope import EVERYTHING, Scope, Shows, Visibility
from store.queries.item import find_item
from store.queries.responses import load_responses
from store.record.raters import register_kinds
from store.record.revisions import REVISION
from store.sql_views import running
from store.sql_views.checking import CheckedStatement, check_statement
from store.sql_views.running import SqlRun
from store.sql_views.views import views


@pytest.fixture
def kinds(tmp_path):
    with three_kinds(tmp_path) as made:
        register_kinds(made)
        yield made


@pytest.fixture
def reviewed(tmp_path):
    with bench(tmp_path) as made:
        yield made


def rows(workspace, statement, scope=EVERYTHING, **options):
    return SqlRun(workspace, scope, statement, **options).result().rows.to_pylist()


# -- views --------------------------------------------------------------------------------------------


def test_every_view_has_the_columns_and_types_that_are_documented(reviewed):
    with reviewed.reading() as connection:
        for view in views().values():
            cursor = connection.execute(view.select(connection, EVERYTHING)).cursor
            found = [(name, str(kind)) for name, kind, *_ in cursor.description]
            assert found == [(column.name, column.type) for column in view.columns], view.name
            assert all(one.about.endswith(".") for one in (view, *view.columns)), view.name


def test_every_kind_has_a_view(kinds):
    assert {"pairs", "completions", "repository_questions", "comparisons"} <= views().keys()
    assert len([view for view in views().values() if view.select.__name__ == "make"]) == len(task_kinds())
    (pair,) = rows(kinds, "SELECT item, query, code FROM pairs")
    assert pair == {"item": "p1", "query": "double a number", "code": "def f(x):\n    return x * 2\n"}


def test_items_have_the_labels_of_the_session(reviewed):
    desk = Desk(reviewed, "dana")
    desk.judge(1, 1.0, comment="mine")
    Desk(reviewed, "lee").judge(2, 0.0)
    statement = "SELECT number, label, status, agent_label FROM items WHERE number < 3 ORDER BY number"
    first, second = rows(reviewed, statement, Scope(desk.rater))
    assert (first["label"], first["status"], second["label"], second["status"]) == (
        1.0,
        "judged",
        None,
        "open",
    )
    assert first["agent_label"] is not None
    counted = "SELECT rater, value, comment FROM labels ORDER BY rater"
    assert [one["rater"] for one in rows(reviewed, counted)] == ["dana", "lee"]


def test_a_blind_review_sees_its_own_work_alone(reviewed):
    desk = Desk(reviewed, "dana")
    desk.judge(1, 1.0)
    Desk(reviewed, "lee").judge(1, 0.0)
    Desk(reviewed, "lee").say(1, "flag")
    blind = Scope(desk.rater, visibility=Visibility(blind=True))
    parts = (
        ("labels", "rater = 'dana'"),
        ("judgments", "rater = 'dana'"),
        ("raters", "name = 'dana'"),
        *((name, "false") for name in ("marks", "verdicts", "runs", "steps", "executions", "tests")),
        ("items", "agent_label IS NULL AND agent_path IS NULL"),
    )
    counts = " UNION ALL ".join(
        f"SELECT '{name}' AS name, count(*) FILTER (NOT ({own})) AS hidden FROM {name}" for name, own in parts
    )
    assert {one["name"]: one["hidden"] for one in rows(reviewed, counts, blind)} == {
        name: 0 for name, _ in parts
    }
    assert all(one["hidden"] for one in rows(reviewed, counts))


def test_responses_have_the_letters_of_the_screen(kinds, monkeypatch):
    scope = Scope(Desk(kinds, "dana").rater)
    with kinds.reading() as connection:
        number = find_item(connection, SCORED)
    statement = f"SELECT letter, model, text FROM responses WHERE number = {number} ORDER BY letter"
    for hidden in (False, True):
        if hidden:
            monkeypatch.setattr(
                "store.sql_views.views.may",
                lambda _, shows, __: true() if shows is not Shows.MODELS else false(),
            )
        with kinds.reading() as connection:
            shown = load_responses(connection, number, scope, blind=False, hidden=hidden)
        found = rows(kinds, statement, scope)
        assert [(one["letter"], one["text"]) for one in found] == [(one.letter, one.text) for one in shown]
        assert [one["model"] is None for one in found] == [hidden, hidden]
    assert not rows(kinds, "FROM scores", scope)


def test_rewritten_texts_and_rulings(kinds):
    desk = Desk(kinds, "dana")
    with kinds.reading() as connection:
        number = find_item(connection, ANSWERED)
    desk.say(number, f"{REVISION}question", text="How is it done?")
    found = rows(kinds, f"SELECT title FROM items WHERE number = {number}")
    assert found == [{"title": "How is it done?"}]
    texts = f"SELECT question, reference FROM repository_questions WHERE number = {number}"
    assert rows(kinds, texts) == [
        {"question": "How is it done?", "reference": f"The file of {ANSWERED} does it."}
    ]
    desk.judge(1, 1.0)
    Desk(kinds, "eve").judge(1, 0.0, origin="ruling")
    assert [one["rater"] for one in rows(kinds, "FROM labels")] == ["dana"]
    assert [one["rater"] for one in rows(kinds, "FROM judgments")] == ["dana", "eve"]


# -- what is read -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "columns"),
    [
        ("SELECT count(*) FROM pairs", ("item",)),
        ("select LABEL from Items where Status = 'open'", ("status", "label")),
        ("SELECT i.kind FROM items AS i ORDER BY rank", ("kind", "rank")),
        ("WITH x AS (SELECT kind FROM items) SELECT * FROM x", None),
        ("SELECT i FROM items i", None),
        ("SELECT #2 FROM items", None),
        ("SELECT COLUMNS('ra.*') FROM items", None),
        ("SUMMARIZE items", None),
        ("SELECT a FROM items t(a)", None),
        ("SELECT count(*) FROM items NATURAL JOIN pairs", None),
    ],
)
def test_only_named_columns_are_read(statement, columns):
    found = check_statement(statement).views
    for name, names in found.items():
        every = tuple(column.name for column in views()[name].columns)
        assert names == (every if columns is None else columns)


def test_what_a_statement_may_be(kinds):
    assert [one["column_name"] for one in rows(kinds, "DESCRIBE raters")] == ["name", "kind", "created_at"]
    assert rows(kinds, "EXPLAIN SELECT kind FROM items")
    assert rows(kinds, "VALUES (1)") == [{"col0": 1}]
    assert rows(kinds, "WITH items AS (SELECT 7 AS n) FROM items -- the statement's own") == [{"n": 7}]
    assert rows(
        kinds, "SELECT count(*) AS n FROM pairs WHERE 1 IN (WITH pairs AS (SELECT 1) FROM pairs)"
    ) == [{"n": 1}]
    assert rows(kinds, "-- why\n/* as JSON */ EXPLAIN ANALYZE SELECT 1")
    assert rows(kinds, "SELECT 1 AS n, 2 AS n") == [{"n": 1, "n_1": 2}]
    many = SqlRun(kinds, EVERYTHING, f"SELECT {', '.join(['1 AS a'] * 3_000)}").result()
    assert many.rows.column_names[-1] == "a_2999"
    nested = (
        "SELECT [1] AS a, {'b': 2} AS b, 3::HUGEINT AS c, INTERVAL 1 DAY AS d, now() IS NULL AS e, 'x'::BLOB"
    )
    assert len(rows(kinds, nested)[0]) == 6
    counted = SqlRun(kinds, EVERYTHING, "FROM range(3)", rows=2).result()
    assert (counted.rows.num_rows, counted.more) == (2, True)


# -- what is refused ----------------------------------------------------------------------------------

REFUSED = {
    "Not a SELECT": [
        "INSERT INTO items VALUES (1)",
        "UPDATE items SET item = 'x'",
        "DELETE FROM items",
        "MERGE INTO items USING pairs ON true WHEN MATCHED THEN DELETE",
        "CREATE TABLE t (a INT)",
        "DROP VIEW items",
        "COPY items TO 'out.csv'",
        "COPY (SELECT 1) TO 'out.csv'",
        "ATTACH 'other.duckdb'",
        "USE other",
        "INSTALL httpfs",
        "SET threads = 1",
        "RESET threads",
        "SET VARIABLE a = 1",
        "CALL pragma_version()",
        "EXPORT DATABASE 'out'",
        "CREATE SECRET s (TYPE s3)",
        "PREPARE p AS SELECT 1",
        "CHECKPOINT",
        "VACUUM",
        "BEGIN",
        "EXPLAIN COPY items TO 'out.csv'",
        "EXPLAIN ANALYZE INSERT INTO items VALUES (1)",
        "-- EXPLAIN\nEXPLAIN ANALYZE CREATE TABLE t AS\nSELECT 1",
        "-- EXPLAIN\nEXPLAIN ANALYZE COPY items TO 'out.csv'\n",
        "/* /* */ EXPLAIN */ EXPLAIN ANALYZE CREATE TABLE t AS SELECT 1",
    ],
    "Several statements": [
        "SELECT 1; SELECT 2",
        "SELECT 1; COPY items TO 'out.csv'",
        "SELECT 1 /* ; */; DROP VIEW items --",
        "PIVOT items ON status USING count(*)",
    ],
    "No statement": ["", "  ;; ", "-- SELECT 1"],
    "Unknown view": [
        "FROM judgment",
        "FROM 'pairs.csv'",
        'FROM "/etc/passwd"',
        "FROM workspace",
        "FROM main.items",
        "FROM memory.main.items",
        "FROM information_schema.tables",
        "FROM duckdb_settings",
        "FROM sqlite_master",
        "WITH x AS (FROM judgment) FROM x",
        "SELECT (SELECT value FROM judgment LIMIT 1)",
        "SELECT 1 WHERE EXISTS (FROM judgment)",
        "PRAGMA database_list",
        # The name of a WITH somewhere else.
        "SELECT (WITH sqlite_master AS (SELECT 1) FROM sqlite_master) FROM sqlite_master",
        "WITH x AS (FROM pg_settings), pg_settings AS (SELECT 1) FROM x",
    ],
    "Not allowed": [
        "FROM read_csv('/etc/passwd')",
        "FROM read_text('/etc/passwd')",
        "FROM read_blob('/etc/passwd')",
        "FROM read_duckdb('other.duckdb')",
        "FROM parquet_scan('x.parquet')",
        "FROM sniff_csv('/etc/passwd')",
        "FROM glob('/*')",
        "FROM duckdb_secrets()",
        "FROM duckdb_settings()",
        "FROM query('SELECT 1')",
        "FROM query_table('items')",
        "FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
        "FROM enable_logging()",
        "FROM checkpoint()",
        "FROM pandas_scan(1)",
        "SELECT (FROM glob('/*'))",
        "SELECT getenv('HOME')",
        "SELECT current_setting('secret_directory')",
        "SELECT write_log('x')",
        "SHOW TABLES",
    ],
    "SQL error": [
        "SELEC 1",
        "SELECT (1",
        "IMPORT DATABASE '/tmp'",
        "SELECT " + "1+" * 900 + "1",
        "SELECT " + "1+" * 5_000 + "1",
        "SELECT '\ud800'",
    ],
}


@pytest.mark.parametrize("title", REFUSED)
def test_what_does_more_than_selecting_from_views_is_refused(title):
    for statement in REFUSED[title]:
        with pytest.raises(SqlError) as refused:
            check_statement(statement)
        assert refused.value.title == title, statement
        assert refused.value.message, statement
        assert refused.value.hint, statement


def test_a_misspelt_view_or_column_is_named_with_what_it_may_be(kinds):
    with pytest.raises(SqlError, match="Did you mean items"):
        check_statement("FROM itms")
    with pytest.raises(SqlError, match="Referenced column"):
        rows(kinds, "SELECT statuss FROM items")
    with pytest.raises(SqlError, match="Unsupported Arrow type"):
        rows(kinds, "SELECT 1::VARIANT")


def test_the_process_can_reach_nothing_even_if_a_statement_is_not_refused(kinds, tmp_path, monkeypatch):
    """The second line of defence, without the first."""
    monkeypatch.setattr(
        running, "check_statement", lambda text: CheckedStatement(text, {"raters": ("name",)})
    )
    secret, out = tmp_path / "secret.txt", tmp_path / "out.csv"
    secret.write_text("secret", encoding="utf-8")
    attempts = (
        f"COPY (SELECT 1) TO '{out}'",
        f"FROM read_text('{secret}')",
        f"ATTACH '{kinds.path}' AS w",
        f"EXPORT DATABASE '{out}'",
        "INSTALL httpfs",
        "FROM duckdb_secrets()",
        "SET enable_external_access = true",
        f"PRAGMA profiling_output='{out}'",
        "FROM rows",
        "SELECT * FROM arrow_scan(1, 2, 3)",
    )
    for statement in attempts:
        with pytest.raises(SqlError):
            rows(kinds, statement)
        assert not out.exists(), statement
    # What it has is a copy of what the session may see.
    rows(kinds, "CREATE TABLE raters_too AS FROM raters")
    assert set(
        rows(kinds, "SELECT DISTINCT table_name FROM duckdb_columns() WHERE NOT internal")[0].values()
    ) == {"raters"}


# -- what does not end --------------------------------------------------------------------------------

ENDLESS = [
    "SELECT count(*) FROM range(1000000000000000000)",
    "WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM r) SELECT count(*) FROM r",
    # One expression, which no interruption of DuckDB ends.
    "SELECT levenshtein(repeat('a', 900000), repeat('b', 900000))",
]


@pytest.mark.parametrize("statement", ENDLESS)
def test_a_statement_that_does_not_end_is_stopped(kinds, statement):
    with pytest.raises(SqlError, match="longer than 1 second") as stopped:
        rows(kinds, statement, seconds=1)
    assert stopped.value.title == "Stopped"


def test_a_statement_is_stopped_from_another_thread(kinds):
    run = SqlRun(kinds, EVERYTHING, ENDLESS[0])
    found = []

    def wait():
        with pytest.raises(SqlError) as stopped:
            run.result()
        found.append(stopped.value.message)

    thread = threading.Thread(target=wait)
    thread.start()
    while run._process is None:
        time.sleep(0.01)
    run.stop()
    thread.join()
    assert found == ["The statement was stopped."]
    again = SqlRun(kinds, EVERYTHING, "SELECT 1")
    again.stop()
    with pytest.raises(SqlError, match="was stopped"):
        again.result()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT length(repeat('x', 4000000000))",
        "SELECT list(a.range) FROM range(100000000) a",
    ],
)
def test_a_statement_that_needs_too_much_memory_is_stopped(kinds, statement):
    with pytest.raises(SqlError) as stopped:
        rows(kinds, statement, memory=64 << 20)
    assert stopped.value.title == "Too much memory"
