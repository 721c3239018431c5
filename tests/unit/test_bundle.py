"""A bundle: the whole workspace out and back, what is not published of it, and bundles that are refused."""

import hashlib
import json
import shutil
import unicodedata
from contextlib import contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace

import duckdb
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from study_bench import frozen_study

import store.ingest.bundle
import store.workspace.connecting
import store.workspace.schema
from store.errors import ExportFailed, ImportFailed
from store.export.exporting import export
from store.formats.bundle import MANIFEST
from store.ingest.bundle import import_bundle
from store.ingest.importing import import_files
from store.policy.words import BLIND, OWN_TEST, REVEALED
from store.record.raters import ensure_rater
from store.splits.allocation import parse_ratios
from store.splits.splits import SplitPlan, make_split
from store.studies.packets import make_packet
from store.tables.record import ORIGINS
from store.tables.runs import EXIT_REASONS, RUN_STATES, STEP_OUTCOMES, TEST_OUTCOMES
from store.workspace.duckdb import Workspace, migrations
from store.workspace.schema import tables_of

ALLOWED = {
    ("rater", "kind"): ("human", "agent", "import"),
    ("judgment", "origin"): ORIGINS,
    ("mark", "kind"): ("cannot_decide", "skip", "flag", "comment", "revision.question"),
    ("run", "state"): RUN_STATES,
    ("work", "state"): RUN_STATES,
    ("step", "outcome"): STEP_OUTCOMES,
    ("execution", "exit_reason"): EXIT_REASONS,
    ("test_outcome", "outcome"): TEST_OUTCOMES,
    ("study_item", "role"): ("item", "gold", "training"),
    ("assignment", "mode"): (BLIND, REVEALED, OWN_TEST),
}
WHOLE = st.integers(-(2**63), 2**63 - 1)
VALUES = {
    "BIGINT": WHOLE,
    "VARCHAR": st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    "DOUBLE": st.floats(allow_nan=False),
    "BOOLEAN": st.booleans(),
    "BLOB": st.binary(max_size=8),
    "UUID": st.uuids(),
    "TIMESTAMP WITH TIME ZONE": st.datetimes(
        datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)
    ),
}
HELD = ("schema_version", "workspace_fact")


def rows_of(workspace, cursor):
    """A strategy of rows for every table, as the schema allows them: by table."""
    found = cursor.execute(
        "SELECT table_name, column_name, is_nullable FROM duckdb_columns() WHERE database_name = current_database()"
    ).fetchall()
    nullable = {(table, column): may for table, column, may in found}
    unique = dict(
        cursor.execute(
            "SELECT table_name, list(constraint_column_names) FROM duckdb_constraints() "
            "WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE') GROUP BY table_name"
        ).fetchall()
    )
    tables = {}
    for table, columns in tables_of(cursor).items():
        if table in HELD:
            continue
        parts = []
        for column, type_ in columns.items():
            values = st.sampled_from(ALLOWED[table, column]) if (table, column) in ALLOWED else VALUES[type_]
            parts.append(st.none() | values if nullable[table, column] else values)
        keyed = [*unique.get(table, []), *([["id"]] if "id" in columns else [])]
        keys = [[list(columns).index(name) for name in names] for names in keyed]
        by = tuple(lambda row, key=key: tuple(row[place] for place in key) for key in keys)
        tables[table] = st.lists(st.tuples(*parts), max_size=3, unique_by=by or None)
    return st.fixed_dictionaries(tables)


def contents(path):
    """Every row of every table of a workspace file."""
    with duckdb.connect(str(path), read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return {
            table: sorted(map(repr, connection.execute(f'FROM "{table}"').fetchall()))
            for table in tables_of(connection)
        }


def test_every_table_comes_back_as_it_was(tmp_path):
    with Workspace.create(tmp_path / "w.duckdb") as workspace:
        cursor = workspace.native()
        rows = rows_of(workspace, cursor)

        @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
        @given(rows)
        def there_and_back(tables):
            for table, values in tables.items():
                cursor.execute(f'DELETE FROM "{table}"')
                if values:
                    marks = ", ".join("?" * len(values[0]))
                    cursor.executemany(f'INSERT INTO "{table}" VALUES ({marks})', values)
            folder, again = tmp_path / "bundle", tmp_path / "again.duckdb"
            export(workspace, folder, "bundle", with_withdrawn=True, overwrite=True)
            again.unlink(missing_ok=True)
            report = import_bundle(again, folder)
            assert not report.left_out
            before = {
                table: sorted(map(repr, cursor.execute(f'FROM "{table}"').fetchall()))
                for table in tables_of(cursor)
            }
            assert contents(again) == before

        there_and_back()


@contextmanager
def studied_in(tmp_path):
    """A workspace with a frozen study of two raters, a packet, labels from a file, and people's names all over."""
    (tmp_path / "pairs.jsonl").write_text(
        "".join(
            json.dumps({"id": f"p{n}", "query": f"query {n}", "code": f"x = {n}"}) + "\n" for n in range(3)
        )
    )
    (tmp_path / "labels.csv").write_text("item,rater,value\np0,Émile Roux,1\np1,gpt-9,0\n")
    with Workspace.create(tmp_path / "w.duckdb") as workspace:
        import_files(workspace, [tmp_path / "pairs.jsonl"])
        import_files(workspace, [tmp_path / "labels.csv"])
        for name in ("Dana Weiss", "bo", "Coralie"):
            ensure_rater(workspace, name)
        frozen_study(workspace, ("Dana Weiss", "bo"), coordinators=("Coralie",))
        make_packet(workspace, "rq2", "Dana Weiss", tmp_path / "packet.duckdb", seed=1)
        cursor = workspace.native()
        cursor.execute(
            """
            INSERT INTO judgment BY NAME
            SELECT uuidv7() AS id, uuidv7() AS action, item_id, 1 AS question_id, rater_id, id AS assignment_id,
                phase, 1.0 AS value, 'independent' AS origin, true AS blind, '' AS reason,
                'dana weiss and Coralie agree; Danae does not' AS comment, '[]' AS evidence, now() AS created_at
            FROM assignment
            """
        )
        cursor.execute(
            "INSERT INTO mark BY NAME SELECT uuidv7() AS id, uuidv7() AS action, 1 AS item_id, id AS rater_id, "
            "'review' AS phase, 'comment' AS kind, true AS active, 'ask E\u0301MILE ROUX' AS text, "
            "'independent' AS origin, now() AS created_at FROM rater WHERE name = 'Coralie'"
        )
        panel = ("Dana Weiss", "bo", "Émile Roux")
        plan = SplitPlan("pair.match", "majority", parse_ratios("1:1"), panel=panel, with_revealed=True)
        make_split(workspace, "s", plan)
        cursor.execute("UPDATE study_rater SET experience = 'pupil of Coralie' WHERE pseudonym = 'R1'")
        cursor.execute(
            "INSERT INTO sessionstate SELECT id, 'open', name, now() FROM rater WHERE kind = 'human'"
        )
        cursor.execute(
            "INSERT INTO response_ref VALUES (1, 1, 'gpt-9', '', 0);"
            "INSERT INTO score BY NAME SELECT uuid() AS id, 1 AS response_ref_id, 'Coralie' AS judge, 'm' AS measure, "
            "'' AS raw, '' AS reason, '{}' AS extra, 0 AS sequence, now() AS created_at"
        )
        cursor.execute(
            "INSERT INTO reply BY NAME SELECT uuid() AS id, 'screener' AS role, 'm' AS model, '' AS service, "
            "'' AS snapshot, 'SECRET text' AS text, 0 AS tokens_in, 0 AS tokens_out, 0 AS tokens_cached, "
            "0 AS tokens_written, '' AS price, 1 AS requests, 0 AS seconds, '' AS sdk, now() AS created_at"
        )
        for reply, role, requests in (
            ('{"assessment": "clear_match", "justification": "SECRET"}', "screener", 1),
            ('{"test_program": "SECRET"}', "test_writer", 1),
            ('{"exit_reason": "ok"}', "executor", 0),
        ):
            cursor.execute(
                "INSERT INTO step BY NAME SELECT uuid() AS id, uuid() AS run_id, 1 AS item_id, ? AS role, 0 AS attempt, "
                "'ok' AS outcome, '' AS request_hash, ? AS reply, '' AS error, '' AS model, 0 AS tokens_in, "
                "0 AS tokens_out, 0 AS tokens_cached, ? AS requests, 0 AS seconds, now() AS created_at, "
                "(SELECT id FROM reply) AS reply_id",
                [role, reply, requests],
            )
        cursor.close()
        yield workspace


@pytest.fixture
def studied(tmp_path):
    with studied_in(tmp_path) as workspace:
        yield workspace


NAMES = ("Dana Weiss", "Coralie", "Émile Roux", "bo")


def test_no_string_of_a_bundle_with_pseudonyms_holds_a_name(studied, tmp_path):
    report = export(studied, tmp_path / "out", "bundle", pseudonyms=True)
    assert report.pseudonyms
    assert not report.names_left
    again = tmp_path / "again.duckdb"
    import_bundle(again, tmp_path / "out")
    for table, rows in contents(again).items():
        for row in rows:
            plain = unicodedata.normalize("NFC", row).casefold()
            assert not [name for name in NAMES[:3] if name.casefold() in plain], (table, row)
            assert "'bo'" not in row
    with duckdb.connect(str(again)) as connection:
        raters = connection.execute("SELECT name FROM rater ORDER BY id").fetchall()
        assert sorted(raters) == [("P1",), ("P2",), ("R1",), ("R2",), ("gpt-9",)]
        (comment,) = connection.execute(
            "SELECT DISTINCT comment FROM judgment WHERE comment <> ''"
        ).fetchone()
        assert comment == "R1 and P2 agree; Danae does not"
        (protocol,) = connection.execute("SELECT protocol FROM study").fetchone()
        assert json.loads(protocol)["coordinators"] == ["P2"]
        assert connection.execute("SELECT count(*) FROM sessionstate").fetchone() == (0,)
    # The workspace itself is as it was.
    assert "Dana Weiss" in str(contents_of(studied)["rater"])


def test_a_person_in_two_studies_has_one_pseudonym(studied, tmp_path):
    frozen_study(studied, ("bo", "Coralie", "Dana Weiss"), name="rq3")
    export(studied, tmp_path / "out", "bundle", pseudonyms=True)
    import_bundle(tmp_path / "again.duckdb", tmp_path / "out")
    with duckdb.connect(str(tmp_path / "again.duckdb")) as connection:
        called = connection.execute(
            "SELECT m.study_id, r.name, m.pseudonym FROM study_rater m JOIN rater r ON r.id = m.rater_id"
        ).fetchall()
    assert len(called) == 5
    assert all(name == pseudonym for _, name, pseudonym in called)


def contents_of(workspace):
    cursor = workspace.native()
    try:
        return {table: cursor.execute(f'FROM "{table}"').fetchall() for table in tables_of(cursor)}
    finally:
        cursor.close()


def test_a_name_in_a_text_of_an_item_is_told(studied, tmp_path):
    cursor = studied.native()
    cursor.execute("UPDATE code SET text = '# by Coralie' WHERE id = 1")
    cursor.close()
    report = export(studied, tmp_path / "out", "bundle", pseudonyms=True)
    assert report.names_left == {"code.text": 1}
    cursor = studied.native()
    cursor.execute("UPDATE code SET text = '# by CORALIE' WHERE id = 1")
    cursor.close()
    assert export(studied, tmp_path / "two", "bundle", pseudonyms=True).names_left == {"code.text": 1}


def test_a_bundle_without_replies_holds_none_and_can_be_read(studied, tmp_path):
    export(studied, tmp_path / "out", "bundle", without_replies=True)
    again = tmp_path / "again.duckdb"
    report = import_bundle(again, tmp_path / "out")
    assert report.left_out == {"reply": 1}
    assert not report.replies
    assert "SECRET" not in str(contents(again))
    with duckdb.connect(str(again)) as connection:
        steps = connection.execute("SELECT role, reply, reply_id FROM step ORDER BY role").fetchall()
    assert steps == [
        ("executor", '{"exit_reason": "ok"}', None),
        ("screener", '{"assessment": "clear_match"}', None),
        ("test_writer", "{}", None),
    ]


def test_records_of_raters_who_withdrew_stay_behind(studied, tmp_path):
    cursor = studied.native()
    cursor.execute("UPDATE study_rater SET withdrawn_at = now() WHERE pseudonym = 'R1'")
    cursor.close()
    report = export(studied, tmp_path / "out", "bundle")
    assert report.withdrawn == 3
    left = import_bundle(tmp_path / "again.duckdb", tmp_path / "out").left_out
    assert left == {"judgment": 3, "packet": 1, "sessionstate": 1}
    assert "pupil" not in str(contents(tmp_path / "again.duckdb")["study_rater"])
    export(studied, tmp_path / "all", "bundle", with_withdrawn=True)
    assert not import_bundle(tmp_path / "all.duckdb", tmp_path / "all").left_out


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    with studied_in(folder) as workspace:
        export(workspace, folder / "bundle", "bundle")
    return folder / "bundle"


@pytest.fixture
def bundle(made, tmp_path):
    """A bundle, with a function that writes its manifest again after a change."""
    folder = shutil.copytree(made, tmp_path / "bundle")

    def change(**fields):
        manifest = json.loads((folder / MANIFEST).read_text())
        for name, value in fields.items():
            manifest[name] = value(manifest[name]) if callable(value) else value
        (folder / MANIFEST).write_text(json.dumps(manifest))

    return folder, change


def sealed(folder, change, table, path=None):
    """Say in the manifest what the file of a table is now, as somebody would who meant harm."""
    path = path or folder / f"{table}.parquet"
    digest, rows = hashlib.sha256(path.read_bytes()).hexdigest(), pyarrow.parquet.read_metadata(path).num_rows

    def seal(tables):
        tables[table] |= {"sha256": digest, "bytes": path.stat().st_size, "rows": rows}
        return tables

    change(tables=seal)


def rewritten(tables, **changes):
    return {**tables, "item": {**tables["item"], **changes}}


CHANGED = {
    "a missing file": (lambda f, c: (f / "item.parquet").unlink(), "item.parquet is missing"),
    "a file more": (lambda f, c: (f / "more.parquet").write_bytes(b""), "more.parquet is not of it"),
    "a truncated file": (
        lambda f, c: (f / "item.parquet").write_bytes((f / "item.parquet").read_bytes()[:-9]),
        "item.parquet has .* bytes",
    ),
    "a changed file": (
        lambda f, c: (f / "item.parquet").write_bytes(bytes(reversed((f / "item.parquet").read_bytes()))),
        "item.parquet has another SHA-256",
    ),
    "a link": (
        lambda f, c: ((f / "item.parquet").unlink(), (f / "item.parquet").symlink_to(f / "pair.parquet")),
        "item.parquet is no file",
    ),
    "a truncated manifest": (
        lambda f, c: (f / MANIFEST).write_text((f / MANIFEST).read_text()[:200]),
        "it is no JSON",
    ),
    "another manifest": (lambda f, c: c(format="something else"), "does not say that it is"),
    "a newer manifest": (lambda f, c: c(version=2), "knows up to 1"),
    "no version": (lambda f, c: c(version=0), "version: "),
    "a newer schema": (lambda f, c: c(workspace_schema=9999), "schema 9999"),
    "no schema": (lambda f, c: c(workspace_schema=0), "schema 0"),
    "a path": (lambda f, c: c(tables=lambda t: {**t, "../../item": t["item"]}), "tables"),
    "a path that is absolute": (lambda f, c: c(tables=lambda t: {**t, "/etc/passwd": t["item"]}), "tables"),
    "a number for a text": (lambda f, c: c(made_at=1), "made_at"),
    "a negative number": (lambda f, c: c(tables=lambda t: rewritten(t, rows=-1)), "rows"),
    "no such rows": (lambda f, c: c(tables=lambda t: rewritten(t, rows=7)), "has 3 rows"),
    "other columns": (
        lambda f, c: c(tables=lambda t: rewritten(t, columns={"id": "BIGINT"})),
        "other columns",
    ),
    "a table less": (
        lambda f, c: (
            c(tables=lambda t: {name: one for name, one in t.items() if name != "item"}),
            (f / "item.parquet").unlink(),
        ),
        "does not name the table item",
    ),
    "an unknown table": (
        lambda f, c: (
            shutil.copy(f / "item.parquet", f / "strange.parquet"),
            c(tables=lambda t: {**t, "strange": t["item"]}),
        ),
        "table strange",
    ),
}


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED)
def test_a_bundle_that_is_not_as_it_was_written_is_refused(bundle, tmp_path, change):
    spoil, reason = change
    spoil(*bundle)
    with pytest.raises(ImportFailed, match=reason):
        import_bundle(tmp_path / "again.duckdb", bundle[0])
    assert not list(tmp_path.glob("*again*"))


def test_tables_of_other_types_and_far_too_large_ones_are_refused(bundle, tmp_path, monkeypatch):
    folder, change = bundle
    path = folder / "query.parquet"
    good = path.read_bytes()
    for columns, reason in (
        ({"id": ["1"], "text": ["a"], "text_hash": ["b"]}, "other columns than the manifest"),
        (
            {"id": [1], "text": pyarrow.array([None], pyarrow.string()), "text_hash": ["c"]},
            "could not be made",
        ),
        ({"id": [1, 1], "text": ["a", "b"], "text_hash": ["c", "d"]}, "one id twice"),
        # A text that is stored once, and stands in every row.
        (
            {"id": range(4000), "text": ["x" * 100_000] * 4000, "text_hash": [""] * 4000},
            "more than 1,000 times",
        ),
    ):
        pyarrow.parquet.write_table(pyarrow.table(columns), path, compression="zstd")
        sealed(folder, change, "query")
        with pytest.raises(ImportFailed, match=reason):
            import_bundle(tmp_path / "again.duckdb", folder)
        assert not list(tmp_path.glob("*again*"))
    # As good as no bytes for very many rows.
    monkeypatch.setattr(store.ingest.bundle, "_ALLOWANCE", 0)
    duckdb.sql(
        "COPY (SELECT 1::BIGINT AS id, '' AS text, '' AS text_hash FROM range(1_000_000)) "
        f"TO '{path}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 1_000_000)"
    )
    sealed(folder, change, "query")
    with pytest.raises(ImportFailed, match="more than 1,000 times"):
        import_bundle(tmp_path / "again.duckdb", folder)
    path.write_bytes(good[:40] + bytes(len(good) - 80) + good[-40:])
    tables = json.loads((folder / MANIFEST).read_text())["tables"]
    tables["query"] |= {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "bytes": len(good)}
    change(tables=tables)
    with pytest.raises(ImportFailed, match="could not be made"):
        import_bundle(tmp_path / "again.duckdb", folder)


def test_a_bundle_becomes_a_workspace_only_where_none_is(bundle, made, tmp_path, workbench):
    folder, _ = bundle
    taken = tmp_path / "taken.duckdb"
    assert workbench("import", taken, made.parent / "pairs.jsonl").code == 0
    before = taken.read_bytes()
    with pytest.raises(ImportFailed, match="has rows in code"):
        import_bundle(taken, folder)
    assert taken.read_bytes() == before
    empty = tmp_path / "empty.duckdb"
    Workspace.create(empty).close()
    journal = tmp_path / "empty.duckdb.journal.jsonl"
    journal.write_text("{}\n")
    with pytest.raises(ImportFailed, match="holds records of another"):
        import_bundle(empty, folder)
    journal.unlink()
    assert import_bundle(empty, folder, dry_run=True).dry_run
    assert not contents(empty)["item"]
    ended = workbench("import", empty, folder)
    assert "a whole workspace of" in ended.out
    assert len(contents(empty)["item"]) == 3
    assert not list(tmp_path.glob(".*"))
    refused = workbench("import", tmp_path / "other.duckdb", folder, "--prefix", "a/")
    assert refused.code == 2
    with Workspace.open(taken) as workspace, pytest.raises(ImportFailed, match="is a bundle"):
        import_files(workspace, [folder])


def test_an_older_workspace_is_brought_to_the_newest_schema(bundle, tmp_path, monkeypatch):
    newest = migrations()[-1][0]
    both = [
        *migrations(),
        (newest + 1, "9001_hue.sql", "ALTER TABLE rater ADD COLUMN hue VARCHAR DEFAULT 'blue'"),
    ]
    for module in (store.workspace.schema, store.workspace.connecting, store.ingest.bundle):
        monkeypatch.setattr(module, "migrations", lambda: both)
    report = import_bundle(tmp_path / "again.duckdb", bundle[0])
    assert report.migrated
    assert report.workspace_schema == newest
    with duckdb.connect(str(tmp_path / "again.duckdb")) as connection:
        assert connection.execute("SELECT DISTINCT hue FROM rater").fetchall() == [("blue",)]
        assert connection.execute("SELECT max(version) FROM schema_version").fetchone() == (newest + 1,)


def test_a_folder_of_any_name_is_read_as_it_is(bundle, tmp_path):
    odd = tmp_path / "a[1]*?x=3 'q'"
    shutil.copytree(bundle[0], odd)
    assert import_bundle(tmp_path / "again.duckdb", odd).tables["item"] == 3


def test_only_the_whole_workspace_has_these_choices(studied, tmp_path):
    for choice in ({"pseudonyms": True}, {"without_replies": True}):
        with pytest.raises(ExportFailed, match="does not hold the whole workspace"):
            export(studied, tmp_path / "out.jsonl", "jsonl", **choice)
    with pytest.raises(ExportFailed, match="does not hold the labels"):
        export(studied, tmp_path / "out", "bundle", rater="bo")


def test_tables_of_kinds_of_other_packages_are_carried(studied, tmp_path, monkeypatch):
    cursor = studied.native()
    schema = "CREATE TABLE IF NOT EXISTS report (item_id BIGINT NOT NULL, text VARCHAR NOT NULL)"
    cursor.execute(f"{schema}; INSERT INTO report VALUES (9, 'seen by them')")
    cursor.close()
    export(studied, tmp_path / "out", "bundle")
    with pytest.raises(ImportFailed, match=r"the table report.*Install the package"):
        import_bundle(tmp_path / "again.duckdb", tmp_path / "out")
    kind = SimpleNamespace(record=SimpleNamespace(schema=schema))
    monkeypatch.setattr(store.ingest.bundle, "task_kinds", lambda: {"report": kind})
    import_bundle(tmp_path / "again.duckdb", tmp_path / "out")
    assert contents(tmp_path / "again.duckdb")["report"] == ["(9, 'seen by them')"]
