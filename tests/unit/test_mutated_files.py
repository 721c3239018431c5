"""200 files that came back changed, by a seed: nothing of this machine is touched, and every honest record comes."""

import json
import random
import shutil

import duckdb
import pytest
from judging import Desk, judged_workspace, judgments
from sqlalchemy import select

from store.errors import WorkbenchError
from store.export.exporting import export
from store.formats.bundle import MANIFEST
from store.ingest.bundle import import_bundle
from store.queries.studies import ChosenItem
from store.record.protocol import StudyProtocol
from store.record.raters import find_rater
from store.sql import named, quoted
from store.studies.packet_merge import merge_packet
from store.studies.packets import make_packet
from store.studies.studies import freeze_study, new_study
from store.tables.columns import table_of
from store.tables.people import Assignment
from store.workspace.copy_merge import copy_workspace, merge
from store.workspace.duckdb import Workspace
from store.workspace.journal import journal_path

SEED = 20_604
PACKETS, COPIES, BUNDLES = 120, 40, 40
SECRET = "the-secret-of-the-coordinator"
ITEMS = 8

VALUES = (
    *(
        "NULL",
        "'x'",
        "''",
        "-1",
        "0",
        "1",
        "7",
        "1e308",
        "'nan'",
        "'infinity'",
        "true",
        "99999999999999",
        "uuid()",
    ),
    *(
        "'9999-12-31'",
        "'0044-03-15 (BC)'",
        "now() + INTERVAL 3 DAY",
        "repeat('x', 2000000)",
        "chr(0) || chr(27)",
    ),
    *("'ffffffff-ffff-7fff-bfff-ffffffffffff'", "'{SECRET}'", "'[{{}}]'", "'accept'", "'ruling'", "'gold'"),
    "uuidv7()",
)


def changed_row(chance, cursor, secret):
    """A record whose column holds something else."""
    columns = cursor.execute(
        "SELECT column_name FROM duckdb_columns() WHERE table_name = 'judgment'"
    ).fetchall()
    (number,) = chance.choice(cursor.execute("SELECT id FROM judgment ORDER BY id").fetchall())
    value = chance.choice(VALUES).format(SECRET=secret)
    column = named(chance.choice(columns)[0])
    cursor.execute(f"UPDATE judgment SET {column} = {value} WHERE id = '{number}'")
    return {number}


def doubled_row(chance, cursor, secret):
    """A record that is there once more, under another id and action, with something else in it."""
    name = chance.choice(
        ["id", "action", "comment", "value", "created_at", "origin", "phase", "shown_verdict"]
    )
    other = {"id": "uuidv7()", "action": "uuidv7()", name: chance.choice(VALUES).format(SECRET=secret)}
    replaced = ", ".join(f"{value} AS {column}" for column, value in other.items())
    cursor.execute(f"INSERT INTO judgment BY NAME SELECT * REPLACE ({replaced}) FROM judgment LIMIT 1")
    return set()


def removed_rows(chance, cursor, secret):
    """Some records less."""
    rows = [number for (number,) in cursor.execute("SELECT id FROM judgment ORDER BY id").fetchall()]
    gone = set(chance.sample(rows, chance.randint(1, len(rows))))
    for number in gone:
        cursor.execute(f"DELETE FROM judgment WHERE id = '{number}'")
    return gone


def other_schema(chance, cursor, secret):
    """A view, table, type, macro or column that no workspace has."""
    table = chance.choice(["judgment", "mark", "item", "assignment", "study_rater", "workspace_fact"])
    read = f"(SELECT max(content) FROM read_text({quoted(secret)}))"
    name = chance.choice(["more", "x'); COPY (SELECT 1) TO 'written'; --", 'a"b', "main", "other", ""]) or "e"
    statement = chance.choice(
        [
            f"CREATE TABLE {named(name)} AS SELECT {read} AS i",
            f"CREATE VIEW {named(name)} AS SELECT {read} AS i",
            f"ALTER TABLE {table} ADD COLUMN {named(name)} VARCHAR DEFAULT 'x'",
            f"CREATE MACRO {named(name)}() AS TABLE SELECT {read} AS i",
            f"CREATE TYPE {named(name)} AS ENUM ('a')",
            f"CREATE SEQUENCE {named(name)}",
            f"ALTER TABLE {table} RENAME TO own; CREATE VIEW {table} AS FROM own",
            f"DROP TABLE {table}",
            f"CREATE SCHEMA {named(name)}; CREATE TABLE {named(name)}.{table} AS FROM main.{table}",
        ]
    )
    cursor.execute(statement)
    return set()


def other_fact(chance, cursor, secret):
    """Another manifest, version or rater."""
    cursor.execute(
        chance.choice(
            [
                "UPDATE workspace_fact SET value = '[1]'",
                "UPDATE schema_version SET version = version + 1000",
                "DELETE FROM schema_version",
                f"UPDATE rater SET name = {quoted(secret)}",
                "UPDATE study_rater SET consented_at = '9999-12-31', experience = repeat('x', 100000)",
                "UPDATE study_rater SET experience = chr(27) || '[2J'",
                "UPDATE assignment SET mode = 'revealed'",
                "UPDATE item SET external_id = 'x'",
            ]
        )
    )
    return set()


def other_bytes(chance, path):
    """Bytes that are others, cut off, or there twice."""
    content = bytearray(path.read_bytes())
    how = chance.randrange(4)
    if how == 0:
        del content[chance.randrange(len(content)) :]
    elif how == 1:
        content *= 2
    else:
        for _ in range(chance.choice([1, 8, 200])):
            content[chance.randrange(len(content))] = chance.randrange(256)
    path.write_bytes(content)


HOW = (changed_row, doubled_row, removed_rows, other_schema, other_fact)


def mutated(chance, path, secret, how):
    """Change a file; returns the records that were touched, or None for what no file of DuckDB's can hold."""
    if chance.random() < 1 / (len(how) + 1):
        other_bytes(chance, path)
        return set()
    with duckdb.connect(str(path)) as cursor:
        try:
            return chance.choice(how)(chance, cursor, secret)
        except duckdb.Error:
            return None


def held(folder):
    """Every file of a folder and what is in it."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def taken(merge_one, *given):
    """What a merge returns; None where it was refused, which it may only be with a sentence."""
    try:
        return merge_one(*given)
    except WorkbenchError as refusal:
        told = refusal
    assert told.message
    assert SECRET not in str(told)
    return None


@pytest.fixture
def home(tmp_path):
    """A folder with a workspace in which a study is open; a packet and a copy of it, and its bundle."""
    folder = tmp_path / "home"
    folder.mkdir()
    with judged_workspace(folder, ITEMS) as opened:
        new_study(
            opened, "rq2", StudyProtocol("pair", seed=1), [*map(ChosenItem, range(1, ITEMS + 1))], ["ana"]
        )
        freeze_study(opened, "rq2")
        make_packet(opened, "rq2", "ana", folder / "packet.duckdb")
        path = opened.path
        export(opened, folder / "bundle", "bundle")
    copy_workspace(path, folder / "copy.duckdb")
    with Workspace.open(folder / "packet.duckdb") as packet:
        desk, assignment = Desk(packet, "ana"), table_of(Assignment)
        with packet.reading() as connection:
            number = find_rater(connection, "ana").id
            rows = connection.execute(select(assignment).where(assignment.c.rater_id == number)).all()
        for row in rows:
            desk.judge(row.item_id, 1.0, assignment_id=row.id, phase=row.phase, blind=True, guideline_id=1)
    (folder / "secret").write_text(SECRET)
    return folder


@pytest.mark.full
def test_nothing_is_touched_and_every_honest_record_comes(home, tmp_path, monkeypatch):
    chance, secret = random.Random(SEED), str(home / "secret")
    with Workspace.open(home / "packet.duckdb") as packet:
        made = {record.id for record in judgments(packet)}
    path, empty = tmp_path / "work" / "pairs.duckdb", tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    refused = left_out = whole = 0
    for number in range(PACKETS + COPIES):
        shutil.rmtree(path.parent, ignore_errors=True)
        path.parent.mkdir()
        shutil.copy(home / "pairs.duckdb", path)
        changed = tmp_path / "changed.duckdb"
        for one in tmp_path.glob("changed.duckdb*"):
            one.unlink()
        is_packet = number < PACKETS
        touched = None
        while touched is None:
            shutil.copy(home / ("packet.duckdb" if is_packet else "copy.duckdb"), changed)
            touched = mutated(chance, changed, secret, HOW if is_packet else (other_schema, other_fact))
        before = held(home)
        with Workspace.open(path) as workspace:
            if is_packet:
                report = taken(merge_packet, workspace, changed)
            else:
                report = taken(merge, workspace, changed)
            there = {record.id for record in judgments(workspace)}
            values = {record.value for record in judgments(workspace)}
        assert held(home) == before
        assert [*empty.iterdir()] == []
        journal = journal_path(path)
        for written in (path.read_bytes(), journal.read_bytes() if journal.exists() else b""):
            assert SECRET.encode() not in written
        assert values <= {0.0, 1.0}
        if report is None:
            refused += 1
            assert there == set()
        elif is_packet:
            assert there >= made - touched
            left_out += bool(report.left_out)
            whole += not report.left_out
    assert refused > 20
    assert left_out > 5
    assert whole > 5


@pytest.mark.full
def test_a_changed_bundle_is_refused_or_the_same(home, tmp_path, monkeypatch):
    chance = random.Random(SEED)
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    refused = 0
    for _ in range(BUNDLES):
        changed, path = tmp_path / "changed", tmp_path / "new.duckdb"
        shutil.rmtree(changed, ignore_errors=True)
        shutil.copytree(home / "bundle", changed)
        files = sorted(changed.iterdir())
        if chance.random() < 0.5:
            other_bytes(chance, chance.choice(files))
        else:
            manifest = json.loads((changed / MANIFEST).read_text())
            table = chance.choice(sorted(manifest["tables"]))
            manifest["tables"][chance.choice(["../x", "x'); --", table.upper(), table])] = {
                **manifest["tables"].pop(table),
                chance.choice(["rows", "bytes", "sha256", "columns"]): chance.choice(
                    [0, -1, "", {"x": "BIGINT"}]
                ),
            }
            (changed / MANIFEST).write_text(json.dumps(manifest))
        before = held(home)
        report = taken(import_bundle, path, changed)
        assert held(home) == before
        assert [*empty.iterdir()] == []
        refused += report is None
        assert path.exists() == (report is not None)
        path.unlink(missing_ok=True)
    assert refused > BUNDLES * 3 // 4
