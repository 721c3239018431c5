"""The schema: what the SQL files make is what the tables' classes say, and older files are brought to it."""

import json
import re
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from judging import Desk, identity_of, judged_workspace, judgments
from older_schema import CONDITIONS
from sqlalchemy import BigInteger, Boolean, DateTime, Double, LargeBinary, String, Uuid
from sqlmodel import SQLModel

import store.tables.imported
import store.tables.people
import store.tables.record
import store.tables.responses
import store.tables.retrieval
import store.tables.runs
import store.tables.splits
import store.tables.views
import store.workspace.connecting
import store.workspace.schema
from store.analysis.conditions import conditions_of
from store.errors import WorkspaceError, WorkspaceTooNew
from store.export.exporting import export
from store.ingest.importing import import_files
from store.policy.scope import Scope, Sitting
from store.queries.item import item_access
from store.record.rater_ref import RaterRef
from store.sql_views.views import views
from store.workspace.duckdb import Workspace, migrations

TYPES = {
    BigInteger: "BIGINT",
    Boolean: "BOOLEAN",
    DateTime: "TIMESTAMP WITH TIME ZONE",
    Double: "DOUBLE",
    LargeBinary: "BLOB",
    String: "VARCHAR",
    Uuid: "UUID",
}
OF_THE_FILE = {"schema_version", "workspace_fact"}
NEWEST = migrations()[-1][0]
RESPONSE_REFS, PENDING_RESPONSES = 8, 9
PATHS, FILE_ORDER = (
    next(number for number, name, _ in migrations() if name.endswith(end))
    for end in ("_paths.sql", "_file_order.sql")
)
ADDITION = (
    NEWEST + 1,
    "9001_colour.sql",
    "ALTER TABLE rater ADD COLUMN colour VARCHAR DEFAULT 'blue'; CREATE TABLE hue (id BIGINT);",
)


def type_of(column):
    return next(name for kind, name in TYPES.items() if type(column.type).__mro__.count(kind))


@pytest.fixture
def with_more(monkeypatch):
    """A function that puts further migrations after those there are."""

    def add(*more):
        both = [*migrations(), *more]
        monkeypatch.setattr(store.workspace.schema, "migrations", lambda: both)
        monkeypatch.setattr(store.workspace.connecting, "migrations", lambda: both)

    return add


def older_file(folder, monkeypatch, version):
    """Make a workspace of the schema before some version."""
    before = [one for one in migrations() if one[0] < version]
    monkeypatch.setattr(store.workspace.schema, "migrations", lambda: before)
    monkeypatch.setattr(store.workspace.connecting, "migrations", lambda: before)
    path = folder / "older.duckdb"
    Workspace.create(path).close()
    monkeypatch.undo()
    return path


def facts(path, statement):
    with duckdb.connect(str(path)) as connection:
        return connection.execute(statement).fetchall()


def test_a_new_file_has_the_tables_that_the_classes_describe(tmp_path):
    Workspace.create(tmp_path / "new.duckdb").close()
    columns = "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns"
    made = {
        (table, column): (kind, nullable == "YES")
        for table, column, kind, nullable in facts(tmp_path / "new.duckdb", columns)
        if table not in OF_THE_FILE
    }
    described = {
        (table.name, column.name): (type_of(column), column.nullable)
        for table in SQLModel.metadata.tables.values()
        for column in table.columns
    }
    assert made == described
    assert len(made) > 100


def test_columns_stand_in_the_order_of_the_classes(tmp_path):
    Workspace.create(tmp_path / "new.duckdb").close()
    ordered = (
        "SELECT table_name, column_name FROM information_schema.columns ORDER BY table_name, ordinal_position"
    )
    made = [row for row in facts(tmp_path / "new.duckdb", ordered) if row[0] not in OF_THE_FILE]
    described = [
        (name, column.name)
        for name in sorted(SQLModel.metadata.tables)
        for column in SQLModel.metadata.tables[name].columns
    ]
    assert made == described


def test_migrations_are_numbered_without_a_gap():
    assert [number for number, _, _ in migrations()] == list(range(1, len(migrations()) + 1))
    assert all(name.startswith(f"{number:04}_") for number, name, _ in migrations())


def test_each_migration_is_noted_once(tmp_path):
    Workspace.create(tmp_path / "new.duckdb").close()
    Workspace.open(tmp_path / "new.duckdb").close()
    noted = facts(tmp_path / "new.duckdb", "SELECT version, name FROM schema_version ORDER BY version")
    assert noted == [(number, name) for number, name, _ in migrations()]


def test_a_file_of_a_newer_version_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "newer.duckdb"
    Workspace.create(path).close()
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO schema_version VALUES (99, '0099_future.sql', now())")
    before = path.read_bytes()
    with pytest.raises(WorkspaceTooNew) as refused:
        Workspace.open(path)
    assert "schema 99" in refused.value.message
    assert "Upgrade" in refused.value.hint
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["newer.duckdb"]
    with pytest.raises(WorkspaceTooNew):  # and it is not held
        Workspace.open(path)


def test_an_older_file_is_copied_and_then_migrated(tmp_path, with_more):
    with judged_workspace(tmp_path) as workspace:
        path, identity = workspace.path, identity_of(workspace)
        judged = Desk(workspace).judge(1).records[0].id
    before = path.read_bytes()
    with_more(ADDITION)
    with Workspace.open(path) as migrated:
        assert identity_of(migrated) == identity
        assert [judgment.id for judgment in judgments(migrated)] == [judged]
    assert facts(path, "SELECT name, colour FROM rater") == [("dana", "blue")]
    assert facts(path, "SELECT max(version) FROM schema_version") == [(NEWEST + 1,)]
    copy = path.with_name(path.name + f".schema-{NEWEST}.bak")
    assert copy.read_bytes() == before


def test_verdicts_outlive_the_changes_of_their_table(tmp_path, monkeypatch):
    path = older_file(tmp_path, monkeypatch, PATHS)
    verdict = (
        "INSERT INTO verdict SELECT uuid(), uuid(), range, 1.0, 'tested', 'why', NULL, now() FROM range(3000)"
    )
    with duckdb.connect(str(path)) as connection:
        connection.execute(verdict)
        kept = connection.execute("SELECT * FROM verdict").fetchall()
    Workspace.open(path).close()
    with duckdb.connect(str(path)) as connection:
        match = connection.execute("SELECT id FROM question WHERE name = 'pair.match'").fetchone()
        after = connection.execute("SELECT * FROM verdict").fetchall()
    assert after == [(*row, *match, None) for row in kept]


def test_a_label_of_which_no_test_came_to_a_result_is_no_longer_called_tested(tmp_path, monkeypatch):
    version = next(number for number, name, _ in migrations() if name.endswith("_untested.sql"))
    path = older_file(tmp_path, monkeypatch, version)
    executed = "'00000000-0000-0000-0000-00000000000{}'"
    ran, did_not = executed.format(1), executed.format(2)
    verdicts = {1: ("tested", ran), 2: ("tested", did_not), 3: ("repaired", ran), 4: ("screened", "NULL")}
    with duckdb.connect(str(path)) as connection:
        for made, executable in ((ran, True), (did_not, False)):
            connection.execute(
                "INSERT INTO execution (id, item_id, program, program_digest, sandbox, environment, exit_reason, "
                "executable, error, stdout, stderr, output_dropped, seconds, created_at) "
                f"VALUES ({made}, 1, '', '', '', '', 'error', {executable}, '', '', '', 0, 1.0, now())"
            )
        for item, (way, made) in verdicts.items():
            connection.execute(
                "INSERT INTO verdict (id, run_id, item_id, value, path, reason, execution_id, created_at, question_id) "
                f"VALUES (uuid(), uuid(), {item}, 1.0, '{way}', 'why', {made}, now(), 1)"
            )
    Workspace.open(path).close()
    after = facts(path, "SELECT item_id, path FROM verdict ORDER BY item_id")
    assert after == [(1, "tested"), (2, "untested"), (3, "repaired"), (4, "screened")]


CONDITION_WORDS = {
    "blind": (False, False, False, False),
    "blind tests": (False, False, True, False),
    "blind hidden-models": (False, False, False, False),
    "blind tests hidden-models": (False, False, True, False),
    "own-test": (False, False, False, True),
    "own-test hidden-models": (False, False, False, True),
    "revealed": (True, True, False, False),
    "revealed tests": (True, True, True, False),
    "revealed hidden-models": (True, False, False, False),
    "revealed tests hidden-models": (True, False, True, False),
    "blind swapped": (False, False, False, False),
    "revealed tests hidden-models swapped": (True, False, True, False),
}
"""The conditions of assignments, in the words of before, and what each shows: the agents' work, the names of models, the agents'
tests; and whether the rater writes a test."""
OLDER_STUDY = """
INSERT INTO rater VALUES (1, 'human', 'dana', '', now());
INSERT INTO study (id, name, protocol, created_at, frozen_at, manifest) VALUES (1, 'old', '{}', now(), now(), '{}');
INSERT INTO study_rater (study_id, rater_id, pseudonym, position, consent_version, experience) VALUES (1, 1, 'R1', 1, '', '');
"""


def test_conditions_in_words_become_columns(tmp_path, monkeypatch):
    path = older_file(tmp_path, monkeypatch, CONDITIONS)
    assignment = "INSERT INTO assignment VALUES (uuid(), 1, 1, ?, 'label', ?, ?, 0, 1, ?)"
    with duckdb.connect(str(path)) as connection:
        connection.execute(OLDER_STUDY)
        for number, words in enumerate(CONDITION_WORDS, 1):
            connection.execute(
                "INSERT INTO item VALUES (?, 'pair', ?, 1, 1, 'x', '{}')", [number, str(number)]
            )
            connection.execute(assignment, [number, number, words, number % 2 or None])
        before = connection.execute(
            "SELECT * EXCLUDE (condition) FROM assignment ORDER BY position"
        ).fetchall()
    with Workspace.open(path) as workspace, workspace.reading() as connection:
        scope = Scope(RaterRef(1, "human", "dana"), Sitting(1))
        for number, words in enumerate(CONDITION_WORDS, 1):
            access = item_access(connection, scope, number)
            assert (
                *(not access.blind, not access.hides_models, access.tests == "agents", access.tests == "own"),
            ) == CONDITION_WORDS[words], words
        listed = connection.execute(views()["assignments"].select(connection, Scope())).all()
        assert [row.condition for row in listed] == [*CONDITION_WORDS]
        assert conditions_of(connection, "old") == sorted(
            {words.removesuffix(" swapped") for words in CONDITION_WORDS}
        )
    kept = "* EXCLUDE (mode, shows_tests, hides_models, swapped)"
    assert facts(path, f"SELECT {kept} FROM assignment ORDER BY position") == before


def test_what_another_process_migrates_while_the_copy_is_made_is_not_migrated_again(tmp_path, monkeypatch):
    path, keep_copy = older_file(tmp_path, monkeypatch, CONDITIONS), store.workspace.connecting.keep_copy

    def copied(file, version):
        monkeypatch.undo()
        with closing(store.workspace.connecting.connect_to_newest(file)):
            return keep_copy(file, version)

    monkeypatch.setattr(store.workspace.connecting, "keep_copy", copied)
    Workspace.open(path).close()
    assert facts(path, "SELECT max(version) FROM schema_version") == [(migrations()[-1][0],)]


OLDER_RECORD = """
INSERT INTO item VALUES (1, 'answer', 'q-1', 1, 1, 'x', '{}'), (2, 'answer', 'q-2', 2, 1, 'x', '{}'),
    (3, 'pair', 'p-1', 3, 1, 'x', '{}');
INSERT INTO question VALUES (1, 'pair.match', 'pair', '?', '{}'), (2, 'answer.accuracy', 'answer', 'How?', '{}'),
    (3, 'answer.accuracy@m%40home[with %5Bfiles%5D]#2', 'answer', 'How?', '{}'),
    (4, 'answer.accuracy@gone', 'answer', 'How?', '{}'), (5, 'answer.clarity@gone', 'answer', 'How clear?', '{}');
INSERT INTO response VALUES (7, 1, 'm@home', 'with [files]', 2, 'Text', '{}', 1), (9, 2, 'm@home', '', 0, 'T', '{}', 1);
INSERT INTO score SELECT uuid(), 9, 'j', 'accuracy', 3.0, '', '', '{}', 1, now();
INSERT INTO judgment (id, action, item_id, question_id, rater_id, phase, value, origin, blind, reason, comment,
        evidence, created_at)
    SELECT uuid(), uuid(), item, question, 1, 'review', question, 'independent', false, '', '', '[]', now()
    FROM (VALUES (1, 2), (1, 3), (2, 3), (1, 4), (1, 5), (3, 1)) asked (item, question);
"""


def test_questions_about_responses_become_references(tmp_path, monkeypatch):
    path = older_file(tmp_path, monkeypatch, RESPONSE_REFS)
    with duckdb.connect(str(path)) as connection:
        connection.execute(OLDER_RECORD)
    Workspace.open(path).close()
    assert sorted(facts(path, "SELECT name, text FROM question")) == [
        ("answer.accuracy", "How?"), ("answer.clarity", "How clear?"), ("pair.match", "?"),
    ]  # fmt: skip
    judged = """SELECT j.item_id, q.name, model, setting, trial, value FROM judgment j
        JOIN question q ON q.id = j.question_id LEFT JOIN response_ref r ON r.id = j.response_ref_id ORDER BY value, 1"""
    assert facts(path, judged) == [
        (3, "pair.match", None, None, None, 1.0),
        (1, "answer.accuracy", None, None, None, 2.0),
        (1, "answer.accuracy", "m@home", "with [files]", 2, 3.0),
        (2, "answer.accuracy", "m@home", "with [files]", 2, 3.0),
        (1, "answer.accuracy", "gone", "", 0, 4.0),
        (1, "answer.clarity", "gone", "", 0, 5.0),
    ]
    assert facts(path, "SELECT id, text, item_id FROM response JOIN response_ref USING (id) ORDER BY id") == [
        (7, "Text", 1), (9, "T", 2),
    ]  # fmt: skip
    assert facts(path, "SELECT response_ref_id FROM score") == [(9,)]
    # One reference for each response of an item, however many questions were asked of it.
    assert facts(path, "SELECT count(*), count(DISTINCT id), count(DISTINCT (item_id, model, setting, trial)) FROM response_ref") == [
        (4, 4, 4),
    ]  # fmt: skip


def test_pending_responses_of_an_older_file_are_exported_and_attached(tmp_path, monkeypatch):
    path = older_file(tmp_path, monkeypatch, PENDING_RESPONSES)
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "INSERT INTO response_aside VALUES (1, 1, 'completion', 'project_cc_python/1', NULL, 'm', 's', 0, 'x', '{}', '[]')"
        )
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(
        '{"prompt": "till.", "groundtruth": "open()", "metadata": {"task_id": "project_cc_python/1"}}\n'
    )
    with Workspace.open(path) as workspace:
        export(workspace, tmp_path / "out.jsonl", "predictions")
        written = json.loads((tmp_path / "out.jsonl").read_text())
        assert (written["task_id"], written["pred"], written["model"]) == ("project_cc_python/1", "x", "m")
        assert import_files(workspace, [tasks]).attached_responses == 1
    assert facts(path, "SELECT text, model FROM response JOIN response_ref USING (id)") == [("x", "m")]
    assert facts(path, "SELECT count(*) FROM pending_response") == [(0,)]


OLDER_COMPARISONS = """
INSERT INTO source VALUES (1, 'x', 'c.jsonl', 'comparisons', '', '', 9, now(), 0);
INSERT INTO prompt VALUES (1, 'prompt', 'hash');
INSERT INTO item SELECT id, 'comparison', 'c' || id, 1, 1, 'x' || id, '{}' FROM range(1, 7) own (id);
INSERT INTO comparison SELECT id, 1, '', 'one', 'other', 'red', 'blue', first, second, '', 'answers', 'a file'
    FROM (VALUES (1, 'first', 'second'), (2, 'second', 'first'), (3, 'model_b', 'model_a'), (4, 'model', 'baseline'),
        (5, 'red:7', 'blue:7'), (6, 'output_2', 'output_1')) own (id, first, second);
INSERT INTO rater SELECT id, 'import', name, '', now() FROM (VALUES (1, 'ana'), (2, 'ben'), (3, 'judge')) own (id, name);
INSERT INTO question VALUES (1, 'comparison.preference', 'comparison', '?', '{"level": "ordinal", "values": []}');
INSERT INTO judgment (id, action, item_id, question_id, rater_id, phase, value, origin, blind, reason, comment,
        evidence, created_at, shown_as)
    SELECT uuidv7(), uuidv7(), item, 1, rater, phase, value, 'import', false, '', '', '[]', now(), shown_as
    FROM (VALUES (1, 1, 'review', 1, ''), (2, 1, 'review', 1, ''), (3, 1, 'review', -1, ''), (5, 1, 'review', 2, ''),
        (6, 1, 'review', 0, ''), (2, 2, 'review', 1, ''), (3, 2, 'review', 1, 'swapped'), (2, 3, 'swapped', 1, ''),
        (2, 3, 'review', 1, '')) own (item, rater, phase, value, shown_as);
"""


def test_the_order_of_the_files_of_comparisons_is_found_and_labels_whose_side_is_unknown_are_named(
    tmp_path, monkeypatch, workbench
):
    path = older_file(tmp_path, monkeypatch, FILE_ORDER)
    with duckdb.connect(str(path)) as connection:
        connection.execute(OLDER_COMPARISONS)
    found = workbench("doctor", path, "--json").json()["workspace"]
    assert facts(path, "SELECT item_id, file_order FROM comparison ORDER BY 1") == [
        (1, "as-listed"), (2, "swapped"), (3, "swapped"), (4, "as-listed"), (5, ""), (6, "swapped"),
    ]  # fmt: skip
    # Not the one in the same order, the tie, the one whose side was noted, and the judge.
    assert found["unknown_sides"] == {"ana": 3, "ben": 1}
    assert found["problems"] == []
    assert "4 labels of comparisons by ana, ben may be for the other candidate" in " ".join(found["notes"])
    assert "! 4 labels of comparisons by ana, ben" in workbench("doctor", path).out
    # What is imported now has its side.
    labels = tmp_path / "labels.csv"
    labels.write_text("item,kind,rater,value,of\nc2,comparison,chi,1,blue\nc5,comparison,chi,1,red\n")
    assert workbench("import", path, labels).code == 0
    values = (
        "SELECT item_id, value FROM judgment JOIN rater r ON r.id = rater_id WHERE r.name = 'chi' ORDER BY 1"
    )
    assert facts(path, values) == [(2, -1.0), (5, 1.0)]
    assert workbench("doctor", path, "--json").json()["workspace"]["unknown_sides"] == {"ana": 3, "ben": 1}


def test_a_new_workspace_and_one_without_comparisons_have_no_labels_of_unknown_side(tmp_path, monkeypatch):
    Workspace.create(tmp_path / "new.duckdb").close()
    path = older_file(tmp_path, monkeypatch, FILE_ORDER)
    Workspace.open(path).close()
    for one in (tmp_path / "new.duckdb", path):
        assert facts(one, "SELECT name FROM workspace_fact") == [("id",)]


def test_the_copy_holds_what_was_only_in_the_log(tmp_path, with_more):
    """A killed program leaves its last records in the log beside the file."""
    with judged_workspace(tmp_path) as workspace:
        path = workspace.path
        judged = Desk(workspace).judge(1).records[0].id
        killed = tmp_path / "killed.duckdb"
        killed.write_bytes(path.read_bytes())
        log = path.with_name(path.name + ".wal").read_bytes()
        killed.with_name("killed.duckdb.wal").write_bytes(log)
    with_more(ADDITION)
    with Workspace.open(killed) as migrated:
        assert [judgment.id for judgment in judgments(migrated)] == [judged]
    assert facts(tmp_path / f"killed.duckdb.schema-{NEWEST}.bak", "SELECT id FROM judgment") == [(judged,)]


def test_an_earlier_copy_is_not_overwritten(tmp_path, with_more):
    path = tmp_path / "study.duckdb"
    Workspace.create(path).close()
    earlier = tmp_path / f"study.duckdb.schema-{NEWEST}.bak"
    earlier.write_text("an earlier one")
    with_more(ADDITION)
    Workspace.open(path).close()
    assert earlier.read_text() == "an earlier one"
    assert facts(
        tmp_path / f"study.duckdb.schema-{NEWEST}-2.bak", "SELECT max(version) FROM schema_version"
    ) == [(NEWEST,)]


def test_a_migration_that_fails_changes_nothing(tmp_path, with_more):
    path = tmp_path / "study.duckdb"
    Workspace.create(path).close()
    with_more(ADDITION, (NEWEST + 2, "9002_wrong.sql", "ALTER TABLE no_such_table ADD COLUMN x BIGINT"))
    with pytest.raises(WorkspaceError, match="no_such_table"):
        Workspace.open(path)
    assert facts(path, "SELECT max(version) FROM schema_version") == [(NEWEST,)]
    assert facts(path, "SELECT count(*) FROM information_schema.tables WHERE table_name = 'hue'") == [(0,)]


def test_a_full_disk_is_named_although_it_ends_the_transaction(tmp_path):
    class FullDisk:
        def __init__(self):
            self.connection = duckdb.connect()

        def execute(self, statement, *parameters):
            if statement == "COMMIT":
                self.connection.execute("ROLLBACK")
                raise duckdb.IOException("No space left on device")
            return self.connection.execute(statement, *parameters)

    with pytest.raises(WorkspaceError, match="No space left on device"):
        store.workspace.schema.migrate(FullDisk(), tmp_path / "study.duckdb", 0)


def test_without_a_copy_nothing_is_migrated(tmp_path, with_more):
    path = tmp_path / "study.duckdb"
    Workspace.create(path).close()
    Path(f"{path}.schema-{NEWEST}.bak.part").mkdir()
    with_more(ADDITION)
    with pytest.raises(WorkspaceError, match="could not be"):
        Workspace.open(path)
    assert facts(path, "SELECT max(version) FROM schema_version") == [(NEWEST,)]


@pytest.mark.parametrize("fresh", [True, False])
def test_a_migration_can_rework_a_table_that_holds_judgments(tmp_path, with_more, fresh):
    path = tmp_path / "pairs.duckdb"
    made = []
    if not fresh:
        with judged_workspace(tmp_path) as workspace:
            desk = Desk(workspace)
            made = [(desk.judge(item).records[0].id, None) for item in (1, 2)]
    with_more((NEWEST + 1, "9001_rework.sql", "ALTER TABLE judgment ADD COLUMN x BIGINT"))
    Workspace.open(path, create=fresh).close()
    assert facts(path, "SELECT id, x FROM judgment ORDER BY id") == made


def test_a_file_of_the_first_schema_loses_its_indexes_and_finds_all_its_judgments(tmp_path, monkeypatch):
    """The indexes of that schema could lose entries; what was lost is found again."""
    path = older_file(tmp_path, monkeypatch, 2)
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE INDEX IF NOT EXISTS judgment_item ON judgment (item_id)")
        connection.execute("CREATE INDEX IF NOT EXISTS mark_item ON mark (item_id)")
        connection.execute(
            "INSERT INTO judgment (id, action, item_id, question_id, rater_id, phase, value, origin, blind, reason, "
            "comment, evidence, created_at) SELECT uuid(), uuid(), 1, 1, 1, 'review', 1.0, 'independent', false, '', '', "
            "'[]', now() FROM range(2)"
        )
    with Workspace.open(path) as migrated:
        assert len(judgments(migrated, item_id=1)) == 2
    assert facts(path, "SELECT index_name FROM duckdb_indexes()") == []


def test_what_a_killed_program_recorded_is_found_by_its_item(tmp_path):
    """DuckDB 1.5 forgot such rows in an index when the file was opened and closed and nothing asked for it."""
    with judged_workspace(tmp_path, 8) as workspace:
        path = workspace.path
        desk = Desk(workspace)
        made = {
            "judgment": [desk.judge(item).records[0].id for item in range(1, 9)][:1],
            "mark": [desk.say(item, "flag").records[0].id for item in range(1, 9)][:1],
        }
    with Workspace.open(path) as workspace:
        desk = Desk(workspace)
        made["judgment"] += [desk.judge(1, 0.0).records[0].id]
        made["mark"] += [desk.say(1, "comment", text="why").records[0].id]
        killed = tmp_path / "killed.duckdb"
        for end in ("", ".wal"):
            killed.with_name(killed.name + end).write_bytes(path.with_name(path.name + end).read_bytes())
    Workspace.open(killed).close()
    for table, records in made.items():
        assert facts(killed, f"SELECT id FROM {table} WHERE item_id = 1 ORDER BY id") == [
            (record,) for record in records
        ]


def test_no_migration_makes_an_index():
    """Keys have indexes of their own; any other one can lose entries, see `0002_no_indexes.sql`."""
    assert [
        name for _, name, sql in migrations() if re.search(r"CREATE\s+(UNIQUE\s+)?INDEX", sql, re.I)
    ] == []
