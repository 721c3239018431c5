"""CoSQA's own file: imported, judged, exported, imported again."""

import json
import random

import pytest

from store.export.exporting import export
from store.ingest.importing import import_files
from store.record.actions import Action, Recorder
from store.record.ids import now
from store.record.raters import ensure_rater, question_number
from store.tables.record import Judgment
from store.workspace.duckdb import Workspace


@pytest.fixture
def cosqa(shared_data):
    return shared_data("cosqa-pairs") / "cosqa-dev.part.json"


def rows(workspace, statement):
    cursor = workspace.native()
    try:
        return cursor.execute(statement).fetchall()
    finally:
        cursor.close()


JUDGMENTS = (
    "SELECT j.id, j.action, i.external_id, i.content_hash, q.name, r.name, r.kind, j.value, j.origin, "
    "j.supersedes, j.comment, j.elapsed_ms, j.created_at::VARCHAR FROM judgment j "
    "JOIN item i ON i.id = j.item_id JOIN question q ON q.id = j.question_id "
    "JOIN rater r ON r.id = j.rater_id ORDER BY j.id"
)


def test_every_text_and_label_arrives(cosqa, tmp_path):
    records = json.loads(cosqa.read_text(encoding="utf-8"))
    with Workspace.create(tmp_path / "w.duckdb") as workspace:
        report = import_files(workspace, [cosqa], label_as="cosqa", licence="C-UDA")
        assert (report.items_added, report.judgments_added) == (306, {"cosqa": 306})
        assert report.files[0].format == "cosqa"
        stored = rows(
            workspace,
            "SELECT i.external_id, q.text, c.text, j.value, i.extra FROM item i "
            "JOIN pair p ON p.item_id = i.id JOIN query q ON q.id = p.query_id "
            "JOIN code c ON c.id = p.code_id JOIN judgment j ON j.item_id = i.id ORDER BY i.id",
        )
        kept = ("code_tokens", "docstring_tokens")
        assert [(*row[:4], json.loads(row[4])) for row in stored] == [
            (r["idx"], r["doc"], r["code"], r["label"], {name: r[name] for name in kept}) for r in records
        ]
        assert rows(workspace, "SELECT count(*) FROM code WHERE name = ''") == [(0,)]
        again = import_files(workspace, [cosqa], label_as="cosqa")
        assert (again.adds, again.items_known) == (False, 306)


def test_twenty_judgments_are_the_same_after_export_and_import(cosqa, tmp_path):
    draw = random.Random(20)
    with Workspace.create(tmp_path / "w.duckdb") as workspace:
        import_files(workspace, [cosqa], label_as="cosqa")
        recorder = Recorder(workspace, ensure_rater(workspace, "dana"))
        with workspace.reading() as connection:
            question = question_number(connection, "pair.match")
        items = [number for (number,) in rows(workspace, "SELECT id FROM item ORDER BY id")]
        for item in draw.sample(items, 20):
            number = workspace.ids.next()
            record = Judgment(
                id=number,
                action=number,
                item_id=item,
                question_id=question,
                rater_id=recorder.rater.id,
                value=draw.choice([0, 1]),
                comment="seen",
                elapsed_ms=draw.randrange(9_000),
                created_at=now(),
            )
            recorder.submit(Action(number, (record,))).result()
        judged = rows(workspace, JUDGMENTS)
        assert len(judged) == 306 + 20
        for form in ("jsonl", "csv", "parquet"):
            export(workspace, tmp_path / f"all.{form}", "judgments")
    for form in ("jsonl", "csv", "parquet"):
        with Workspace.create(tmp_path / f"{form}.duckdb") as copy:
            import_files(copy, [cosqa, tmp_path / f"all.{form}"], label_as="cosqa again")
            assert rows(copy, JUDGMENTS)[: len(judged)] == judged
            assert rows(copy, "SELECT count(*) FROM item") == [(306,)]


def test_an_export_as_cosqa_is_the_file_it_came_from(cosqa, tmp_path):
    with Workspace.create(tmp_path / "w.duckdb") as workspace:
        import_files(workspace, [cosqa], label_as="cosqa")
        export(workspace, tmp_path / "out.json", "cosqa", rater="cosqa")
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == json.loads(
        cosqa.read_text(encoding="utf-8")
    )
