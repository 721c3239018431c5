"""Importing pairs: what arrives, what is there already, what is said of it."""

import csv
import gzip
import hashlib
import json
import threading
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from operator import itemgetter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.analysis.labels import questions_of_items
from store.errors import ImportFailed, JudgmentRefused, RecordsRefused, UnknownName
from store.events import Progress
from store.ingest.importing import import_files, import_records
from store.record.actions import Action, Recorder
from store.record.ids import now
from store.record.raters import ensure_rater, question_number
from store.tables.record import Judgment
from store.workspace.duckdb import Workspace

PAIRS = [
    {"id": "a/1", "query": "reverse a list", "code": "def back(x):\n    return x[::-1]\n", "rank": 1},
    {"id": "a/2", "query": "reverse a list", "code": "class Turn:\n    pass\n", "rank": 2},
    {"id": "b/1", "query": "add one", "code": "def back(x):\n    return x[::-1]\n"},
]


@pytest.fixture
def workspace(tmp_path):
    with Workspace.create(tmp_path / "w.duckdb") as opened:
        yield opened


@pytest.fixture
def lines(tmp_path):
    def write(records, name="pairs.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return path

    return write


def rows(workspace, statement):
    cursor = workspace.native()
    try:
        return cursor.execute(statement).fetchall()
    finally:
        cursor.close()


PAIR_ROWS = (
    "SELECT i.external_id, q.text, c.text, c.name, p.rank, i.extra FROM item i "
    "JOIN pair p ON p.item_id = i.id "
    "JOIN query q ON q.id = p.query_id JOIN code c ON c.id = p.code_id ORDER BY i.id"
)


def test_pairs_arrive_in_order_with_each_text_stored_once(workspace, lines):
    report = import_files(workspace, [lines(PAIRS)], licence="MIT")
    code = PAIRS[0]["code"]
    assert rows(workspace, PAIR_ROWS) == [
        ("a/1", "reverse a list", code, "back", 1, "{}"),
        ("a/2", "reverse a list", PAIRS[1]["code"], "Turn", 2, "{}"),
        ("b/1", "add one", code, "back", None, "{}"),
    ]
    (file,) = report.files
    assert (file.records, file.items_added, file.queries_added, file.codes_added) == (3, 3, 2, 2)
    assert (file.format, file.detected) == ("jsonl", True)
    assert "code, id, query" in file.why
    assert rows(workspace, "SELECT count(*) FROM query") == [(2,)]
    assert rows(workspace, "SELECT name, format, licence, records FROM source") == [
        ("pairs.jsonl", "jsonl", "MIT", 3)
    ]
    assert rows(
        workspace, "SELECT DISTINCT group_id = (SELECT p.query_id FROM pair p WHERE p.item_id = id) FROM item"
    ) == [(True,)]
    assert rows(workspace, "SELECT count(*) FROM question") != [(0,)]


def md5(text):
    return hashlib.md5(text.encode()).hexdigest()


def test_hashes_are_those_that_python_computes(workspace, lines):
    import_files(workspace, [lines(PAIRS[:1])])
    query, code = PAIRS[0]["query"], PAIRS[0]["code"]
    assert rows(workspace, "SELECT content_hash FROM item") == [(md5(md5(query) + md5(code)),)]
    assert rows(workspace, "SELECT text_hash FROM code") == [(md5(code),)]


def test_the_same_file_twice_adds_nothing_and_says_so(workspace, lines):
    path = lines(PAIRS)
    first = import_files(workspace, [path])
    second = import_files(workspace, [path])
    assert (second.files[0].items_added, second.files[0].items_known) == (0, 3)
    assert second.files[0].imported_before
    assert not second.adds
    assert second.files[0].source_id == first.files[0].source_id == 1
    assert "this very file was imported before" in second.files[0].sentence()
    assert rows(workspace, "SELECT count(*) FROM source") == [(1,)]
    assert rows(workspace, "SELECT count(*) FROM item") == [(3,)]


def test_a_later_file_adds_what_is_new_and_finds_the_texts_that_are_there(workspace, lines):
    import_files(workspace, [lines(PAIRS)])
    more = [*PAIRS[:1], {"id": "c/1", "query": "add one", "code": "def back(x):\n    return x[::-1]\n"}]
    report = import_files(workspace, [lines(more, "more.jsonl")])
    (file,) = report.files
    assert (file.items_added, file.items_known, file.queries_added, file.codes_added) == (1, 1, 0, 0)
    assert rows(workspace, "SELECT count(*), count(DISTINCT id) FROM item") == [(4, 4)]
    same = (
        "SELECT DISTINCT p.code_id FROM pair p JOIN item i ON i.id = p.item_id "
        "WHERE i.external_id IN ('a/1', 'c/1')"
    )
    assert rows(workspace, same) == [(1,)]


def test_an_id_twice_in_one_file_counts_once_when_the_content_is_the_same(workspace, lines):
    report = import_files(workspace, [lines([*PAIRS, PAIRS[0]])])
    assert (report.items_added, report.items_known) == (3, 1)
    assert rows(workspace, "SELECT count(*) FROM item") == [(3,)]


def test_details_that_differ_are_counted_and_left_as_they_were(workspace, lines):
    import_files(workspace, [lines([{**PAIRS[0], "similarity": 0.5}, PAIRS[1]])])
    changed = [{**PAIRS[0], "similarity": 0.6}, PAIRS[1]]
    report = import_files(workspace, [lines(changed, "changed.jsonl")])
    assert report.files[0].items_differing == 1
    assert rows(workspace, "SELECT value FROM similarity") == [(0.5,)]


def test_another_origin_of_known_code_adds_no_code(workspace, lines):
    import_files(workspace, [lines(PAIRS)])
    codes = rows(workspace, "SELECT id, repository FROM code ORDER BY id")
    elsewhere = [{**PAIRS[0], "repository": "elsewhere"}]
    (file,) = import_files(workspace, [lines(elsewhere, "elsewhere.jsonl")]).files
    assert (file.items_known, file.items_differing, file.codes_added) == (1, 1, 0)
    new = [*elsewhere, {**elsewhere[0], "id": "new"}]
    (file,) = import_files(workspace, [lines(new, "new.jsonl")]).files
    assert (file.items_added, file.codes_added) == (1, 1)
    assert rows(workspace, "SELECT id, repository FROM code ORDER BY id") == [
        *codes,
        (codes[-1][0] + 1, "elsewhere"),
    ]


def test_similarities_come_as_one_number_an_object_or_a_column_a_model(workspace, lines, tmp_path):
    import_files(
        workspace,
        [
            lines(
                [{**PAIRS[0], "similarity": {"m": 0.5, "n": 1, "o": None}}, {**PAIRS[1], "similarity": 0.25}]
            )
        ],
    )
    (tmp_path / "s.csv").write_text("id,query,code,similarity_x,similarity_y\nz,q,c,0.5,\n", encoding="utf-8")
    import_files(workspace, [tmp_path / "s.csv"])
    assert rows(
        workspace,
        "SELECT i.external_id, s.model, s.value FROM similarity s "
        "JOIN item i ON i.id = s.item_id ORDER BY 1, 2",
    ) == [
        ("a/1", "m", 0.5),
        ("a/1", "n", 1.0),
        ("a/2", "similarity", 0.25),
        ("z", "x", 0.5),
    ]


def test_extra_fields_are_kept_as_they_are(workspace, lines):
    extra = {
        "note": None,
        "list": [1, {"x": "y"}],
        'it\'s "odd"': 1.5,
        "big": 12345678901234567890123,
        "t": True,
    }
    report = import_files(workspace, [lines([{**PAIRS[0], **extra}])])
    ((text,),) = rows(workspace, "SELECT extra FROM item")
    assert json.loads(text) == extra
    assert set(report.files[0].extra_kept) == set(extra)


def test_columns_can_be_mapped_and_ids_prefixed(workspace, tmp_path):
    (tmp_path / "q.csv").write_text("number;question;snippet\n7;add;x + 1\n", encoding="utf-8")
    mapping = {"id": "number", "query": "question", "code": "snippet"}
    report = import_files(workspace, [tmp_path / "q.csv"], mapping=mapping, prefix="set'1-")
    assert rows(workspace, "SELECT external_id FROM item") == [("set'1-7",)]
    assert report.files[0].format == "csv"
    with pytest.raises(UnknownName, match="no field 'nonsense'"):
        import_files(workspace, [tmp_path / "q.csv"], mapping={"nonsense": "number"})


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_header_of_a_table_is_its_first_record_not_its_first_line(workspace, tmp_path, delimiter):
    names = ["for raters:\nread, then; judge", "with\u2028a separator", "id", "query", "code"]
    with (tmp_path / "t.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([names, ["x", "y", "1", "q", "c"]])
    assert import_files(workspace, [tmp_path / "t.csv"]).files[0].format == "csv"
    ((extra,),) = rows(workspace, "SELECT extra FROM item")
    assert json.loads(extra) == dict(zip(names, "xy", strict=False))


def test_gzip_and_a_byte_order_mark_are_accepted(workspace, tmp_path):
    text = "".join(json.dumps(record) + "\n" for record in PAIRS)
    (tmp_path / "p.jsonl.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + text.encode()))
    (tmp_path / "m.csv").write_bytes("﻿id,query,code\nm,q,c\n".encode())
    report = import_files(workspace, [tmp_path / "p.jsonl.gz", tmp_path / "m.csv"])
    assert [file.items_added for file in report.files] == [3, 1]


def test_a_dry_run_says_what_would_be_added_and_adds_nothing(workspace, lines):
    report = import_files(workspace, [lines([{**PAIRS[0], "label": 1}])], dry_run=True)
    assert report.dry_run
    assert (report.items_added, report.judgments_added) == (1, {"pairs labels": 1})
    for table in ("source", "query", "code", "item", "pair", "judgment", "rater"):
        assert rows(workspace, f"SELECT count(*) FROM {table}") == [(0,)]


def test_labels_in_pairs_become_judgments_of_the_rater_named_after_the_file(workspace, lines):
    labelled = [{**PAIRS[0], "label": 1}, {**PAIRS[1], "label": 0}, PAIRS[2]]
    report = import_files(workspace, [lines(labelled)])
    assert report.judgments_added == {"pairs labels": 2}
    found = rows(
        workspace,
        "SELECT i.external_id, j.value, j.origin, j.phase, r.kind, q.name, j.id::VARCHAR FROM judgment j "
        "JOIN item i ON i.id = j.item_id JOIN rater r ON r.id = j.rater_id "
        "JOIN question q ON q.id = j.question_id ORDER BY j.id",
    )
    assert [row[:6] for row in found] == [
        ("a/1", 1.0, "import", "review", "import", "pair.match"),
        ("a/2", 0.0, "import", "review", "import", "pair.match"),
    ]
    assert all(row[6][14] == "7" for row in found)
    assert str(workspace.ids.next()) > found[-1][6]
    assert import_files(workspace, [lines(labelled)]).files[0].judgments_known == 2


def test_other_labels_for_the_same_rater_are_refused_and_taken_for_another(workspace, lines):
    import_files(workspace, [lines([{**PAIRS[0], "label": 1}])], label_as="ana")
    other = lines([{**PAIRS[0], "label": 0}], "other.jsonl")
    with pytest.raises(ImportFailed, match=r"other\.jsonl:1.*'ana' has labelled .*--label-as"):
        import_files(workspace, [other], label_as="ana")
    assert import_files(workspace, [other], label_as="ben").judgments_added == {"ben": 1}


LABELS = (
    "SELECT i.external_id, q.name, j.value, j.comment FROM judgment j JOIN item i ON i.id = j.item_id "
    "JOIN question q ON q.id = j.question_id ORDER BY q.name, i.id"
)


def test_grades_are_labels_of_their_own_and_make_matches_where_asked(workspace, lines):
    grades = [(pair["id"], "pair.relevance", grade, "") for pair, grade in zip(PAIRS, (3, 1, 2), strict=True)]
    import_files(workspace, [lines(PAIRS)])
    with workspace.reading() as connection:
        assert questions_of_items(connection) == ("pair.match",)
    graded = lines([{**pair, "relevance": grade} for pair, grade in zip(PAIRS, (3, 1, 2), strict=True)])
    assert import_files(workspace, [graded], label_as="csn").judgments_added == {"csn": 3}
    with workspace.reading() as connection:
        assert questions_of_items(connection) == ("pair.match", "pair.relevance")
    assert rows(workspace, LABELS) == grades
    again = import_files(workspace, [graded], label_as="csn", match_from=2)
    assert (again.judgments_added, again.files[0].judgments_known) == ({"csn": 3}, 3)
    assert again.files[0].conversion_counts == {
        "grades from 2 on, a match": 2,
        "grades below 2, no match": 1,
    }
    matches = [
        (pair["id"], "pair.match", float(grade >= 2), f"relevance {grade}; a match from 2 on")
        for pair, grade in zip(PAIRS, (3, 1, 2), strict=True)
    ]
    assert rows(workspace, LABELS) == matches + grades
    # Of another threshold they are other labels of the same rater.
    with pytest.raises(
        RecordsRefused, match=r"'csn' has labelled 'b/1' differently.* --match-from of before"
    ):
        import_files(workspace, [graded], label_as="csn", match_from=3)


def test_labels_of_the_grade_question_make_matches_and_contradict_none(workspace, lines, tmp_path):
    table = tmp_path / "experts.csv"
    table.write_text(
        "item,rater,value,question\na/1,dana,2,pair.relevance\na/1,eli,1,pair.relevance\na/1,eli,0,\n",
        encoding="utf-8",
    )
    import_files(workspace, [lines(PAIRS), table], match_from=2)
    assert sorted(row[1:3] for row in rows(workspace, LABELS)) == [
        ("pair.match", 0.0),
        ("pair.match", 1.0),
        ("pair.relevance", 1.0),
        ("pair.relevance", 2.0),
    ]
    # What a rater says of the match counts, in the same record or from before, whatever the time of the grade.
    contrary = lines([{**PAIRS[1], "label": 1, "relevance": 0}], "contrary.jsonl")
    assert import_files(workspace, [contrary], match_from=1).judgments_added == {"contrary labels": 2}
    table.write_text(
        "item,rater,value,question,judged_at\na/2,contrary labels,0,pair.relevance,\n"
        "b/1,fay,1,pair.match,2024-01-01T00:00:00Z\nb/1,fay,1,pair.relevance,2024-01-01T00:00:05Z\n"
    )
    report = import_files(workspace, [table], match_from=2)
    assert (report.judgments_added, report.files[0].labels_superseding) == ({"fay": 2}, 0)
    matches = {row[0]: row[2] for row in rows(workspace, LABELS) if row[1] == "pair.match"}
    assert (matches["a/2"], matches["b/1"]) == (1, 1)


def test_a_corrected_grade_leaves_no_match_of_the_earlier_one(workspace, lines, tmp_path):
    table = tmp_path / "grades.csv"
    import_files(workspace, [lines(PAIRS)])
    for year, grade, options in ((2024, 3, {"match_from": 2}), (2025, 1, {}), (2025, 1, {"match_from": 2})):
        table.write_text(
            f"item,rater,value,question,judged_at\na/1,dana,{grade},pair.relevance,{year}-01-01T00:00:00Z\n"
        )
        if year == 2025 and not options:
            with pytest.raises(ImportFailed, match="Of 1 new grade the earlier one was made a match"):
                import_files(workspace, [table])
        else:
            import_files(workspace, [table], **options)
    current = {
        row[1]: row[2] for row in rows(workspace, LABELS.replace("ORDER BY q.name, i.id", "ORDER BY j.id"))
    }
    assert current == {"pair.match": 0, "pair.relevance": 1}


def test_a_corrected_file_of_grades_brings_their_matches(workspace, lines, tmp_path):
    table = tmp_path / "grades.csv"

    def write(year: int, *labels: tuple[str, int, str]) -> None:
        table.write_text(
            "item,rater,value,question,judged_at,comment\n"
            + "".join(
                f"a/1,dana,{value},{question},{year}-01-01T00:00:00Z,{comment}\n"
                for question, value, comment in labels
            )
        )

    import_files(workspace, [lines(PAIRS)])
    made = "relevance 3; a match from 2 on"
    write(2024, ("pair.relevance", 3, ""), ("pair.match", 1, made))
    import_files(workspace, [table])
    write(2025, ("pair.relevance", 1, ""), ("pair.match", 1, made))  # the match was forgotten
    with pytest.raises(ImportFailed, match="Of 1 new grade the earlier one was made a match"):
        import_files(workspace, [table])
    write(2025, ("pair.relevance", 2, ""), ("pair.match", 1, made))  # it is a match still
    import_files(workspace, [table])
    write(2026, ("pair.relevance", 0, ""), ("pair.match", 0, made))
    import_files(workspace, [table])
    current = {
        row[1]: row[2] for row in rows(workspace, LABELS.replace("ORDER BY q.name, i.id", "ORDER BY j.id"))
    }
    assert current == {"pair.match": 0, "pair.relevance": 0}


def test_a_match_of_ones_own_in_place_of_a_made_one_is_none_of_an_earlier_grade(workspace, lines, tmp_path):
    table = tmp_path / "grades.csv"
    import_files(workspace, [lines(PAIRS)])
    head = "item,rater,value,question,judged_at\n"
    table.write_text(f"{head}a/1,dana,3,pair.relevance,2024-01-01T00:00:00Z\n")
    import_files(workspace, [table], match_from=2)
    table.write_text(f"{head}a/1,dana,0,pair.match,2025-01-01T00:00:00Z\n")
    import_files(workspace, [table])
    table.write_text(f"{head}a/1,dana,1,pair.relevance,2026-01-01T00:00:00Z\n")
    import_files(workspace, [table])
    current = {
        row[1]: row[2] for row in rows(workspace, LABELS.replace("ORDER BY q.name, i.id", "ORDER BY j.id"))
    }
    assert current == {"pair.match": 0, "pair.relevance": 1}


def test_what_is_rejected_counts_though_nothing_is_added(workspace, lines, tmp_path):
    import_files(workspace, [lines(PAIRS)])
    bad = lines([{**PAIRS[0], "label": 7}], "bad.jsonl")
    report = import_files(workspace, [bad], rejects=tmp_path / "rejects.jsonl")
    assert (report.adds, report.rejected) == (False, 1)
    assert rows(workspace, "SELECT name, records, rejected FROM source ORDER BY id")[1:] == [
        ("bad.jsonl", 0, 1)
    ]
    graded = lines([{**PAIRS[0], "relevance": 33}], "graded.jsonl")
    report = import_files(workspace, [graded], rejects=tmp_path / "more.jsonl", match_from=2)
    assert report.rejected == 1
    assert "off the scale" in (tmp_path / "more.jsonl").read_text()


@pytest.mark.parametrize("grade", [11, -1, 1.5], ids=str)
def test_a_grade_off_the_scale_is_refused(workspace, lines, grade):
    with pytest.raises(RecordsRefused, match=f"{grade:g} is off the scale of pair.relevance: 0 to 10"):
        import_files(workspace, [lines([{**PAIRS[0], "relevance": grade}])], match_from=2)


def test_grades_among_labels_and_matches_of_no_grades_are_refused(workspace, lines):
    with pytest.raises(RecordsRefused, match="grades are no labels: --map relevance=score"):
        import_files(workspace, [lines([{**PAIRS[0], "score": 2}])], mapping={"label": "score"})
    for pairs in ([PAIRS[0]], [{**PAIRS[0], "label": 1}]):
        with pytest.raises(ImportFailed, match="the files hold none"):
            import_files(workspace, [lines(pairs)], match_from=2)
    assert rows(workspace, "SELECT count(*) FROM item") == [(0,)]


def test_cosqa_plus_pairs_are_joined_with_the_files_of_their_texts(workspace, tmp_path):
    (tmp_path / "q.json").write_text(
        json.dumps([{"query-idx": 5, "query": "add"}, {"query-idx": 6, "query": "b"}])
    )
    (tmp_path / "c.json").write_text(json.dumps([{"code-idx": 9, "code": "x + 1"}]))
    pairs = [{"pair-idx": 1, "query-idx": 5, "code-idx": 9, "label": 1}]
    (tmp_path / "p.json").write_text(json.dumps(pairs))
    report = import_files(workspace, [tmp_path / name for name in ("p.json", "q.json", "c.json")])
    assert {file.format for file in report.files} == {"cosqa-plus"}
    assert [row[:3] for row in rows(workspace, PAIR_ROWS)] == [("1", "add", "x + 1")]
    assert json.loads(rows(workspace, "SELECT extra FROM item")[0][0]) == {"query-idx": 5, "code-idx": 9}
    assert report.judgments_added == {"p labels": 1}


def test_cosqa_plus_by_its_older_names_with_the_texts_inside(workspace, tmp_path):
    record = {"pair-index": 3, "query-index": 1, "query": "q", "code-index": 2, "code": "c", "label": 0}
    (tmp_path / "old.json").write_text(json.dumps([record]))
    report = import_files(workspace, [tmp_path / "old.json"])
    assert report.files[0].format == "cosqa-plus"
    assert [row[:3] for row in rows(workspace, PAIR_ROWS)] == [("3", "q", "c")]


def test_long_form_labels_find_items_of_the_same_call(workspace, lines, tmp_path):
    (tmp_path / "l.csv").write_text(
        'item,question,rater,value,comment\na/1,,ana,1,\na/1,pair.match,ben,0,"no, it isn\'t"\n',
        encoding="utf-8",
    )
    report = import_files(workspace, [tmp_path / "l.csv", lines(PAIRS)])
    assert report.judgments_added == {"ana": 1, "ben": 1}
    assert rows(workspace, "SELECT comment FROM judgment ORDER BY value") == [("no, it isn't",), ("",)]
    again = import_files(workspace, [tmp_path / "l.csv"])
    assert (again.files[0].judgments_known, again.adds) == (2, False)


def test_records_in_memory_are_imported_as_their_file_is(workspace, lines, tmp_path):
    labelled = [{**pair, "label": 1, "similarity": {"bm25": 0.5}} for pair in PAIRS]
    everything = {
        table: f"SELECT * EXCLUDE ({left_out}) FROM {table} ORDER BY ALL"
        for table, left_out in (("source", "imported_at"), ("source_file", "part"), ("similarity", "item_id"))
    }
    everything["item"] = PAIR_ROWS
    everything["judgment"] = "SELECT item_id, value, origin FROM judgment ORDER BY item_id"
    made = import_records(workspace, iter(labelled), format="jsonl", source="pairs.jsonl")
    with Workspace.create(tmp_path / "of_a_file.duckdb") as other:
        read = import_files(other, [lines(labelled)], format="jsonl")
        for table, statement in everything.items():
            assert rows(workspace, statement) == rows(other, statement) != [], table
    (file,) = read.files
    assert made == replace(read, files=(replace(file, file="pairs.jsonl"),))
    again = import_records(workspace, labelled, format="jsonl", source="pairs.jsonl")
    assert again.files[0].imported_before
    assert again.adds is False


def test_records_in_memory_that_are_none_of_a_format_are_refused_by_their_place(workspace):
    with pytest.raises(RecordsRefused, match=r"made of sets:2: missing field 'code'"):
        import_records(
            workspace, [PAIRS[0], {"id": "c", "query": "none"}], format="jsonl", source="made of sets"
        )
    with pytest.raises(ImportFailed, match="made of sets has no records"):
        import_records(workspace, [], format="jsonl", source="made of sets")
    assert rows(workspace, "FROM item") == []


def label_rows(folder, rows_, name="l.csv"):
    """Write a file of labels of one rater: item, value, time, comment."""
    lines_ = [f"{item},ana,{value},{time},{comment}" for item, value, time, comment in rows_]
    path = folder / name
    path.write_text("\n".join(["item,rater,value,judged_at,comment", *lines_]), encoding="utf-8")
    return path


RECORD = """
    SELECT i.external_id, j.value, j.created_at, j.comment, p.value FROM judgment j
    JOIN item i ON i.id = j.item_id LEFT JOIN judgment p ON p.id = j.supersedes AND p.id < j.id ORDER BY j.id
"""


def day(number):
    """A time of January 2026, now in one time zone and now in another."""
    return f"2026-01-{number:02}T23:30:00" + ("-05:00" if number % 2 else "+02:00")


def test_a_later_label_supersedes_an_earlier_one_of_the_rater(workspace, lines, tmp_path):
    import_files(workspace, [lines(PAIRS)])
    first = label_rows(tmp_path, [("a/1", 1, day(1), ""), ("a/2", 1, day(1), "")])
    import_files(workspace, [first])
    second = label_rows(tmp_path, [("a/1", 0, day(3), ""), ("a/2", 1, day(3), "")], "second.csv")
    dry = import_files(workspace, [second], dry_run=True)
    report = import_files(workspace, [second])
    assert dry.files == tuple(replace(file, source_id=None) for file in report.files)
    assert (report.judgments_added, report.files[0].labels_superseding) == ({"ana": 1}, 1)
    assert "1 of these would be in place of an earlier one" in dry.files[0].sentence(dry_run=True)
    third = label_rows(tmp_path, [("a/1", 1, day(4), ""), ("a/2", 1, day(5), "sure")], "third.csv")
    import_files(workspace, [third])
    assert [(item, value, before) for item, value, _, _, before in rows(workspace, RECORD)] == [
        ("a/1", 1, None),
        ("a/2", 1, None),
        ("a/1", 0, 1),
        ("a/1", 1, 0),
        # The same label with another comment.
        ("a/2", 1, 1),
    ]
    assert not any(import_files(workspace, [file]).adds for file in (first, second, third))


@pytest.mark.parametrize("time", [day(1), day(2), ""], ids=["earlier", "equal", "none"])
def test_a_label_that_is_not_later_replaces_none(workspace, lines, tmp_path, time):
    import_files(workspace, [lines(PAIRS), label_rows(tmp_path, [("a/1", 1, day(2), "")])])
    other = label_rows(tmp_path, [("a/1", 0, time, ""), ("a/2", 0, time, "")], "other.csv")
    with pytest.raises(ImportFailed, match=r"'ana' has labelled 'a/1' differently .* nothing says that this"):
        import_files(workspace, [other])
    report = import_files(workspace, [other], rejects=tmp_path / "r.jsonl")
    assert (report.rejected, report.judgments_added) == (1, {"ana": 1})
    assert [row[:2] for row in rows(workspace, RECORD)] == [("a/1", 1), ("a/2", 0)]


def test_a_later_label_does_not_replace_what_a_person_judged_here(workspace, lines, tmp_path):
    import_files(workspace, [lines(PAIRS[:1])])
    judge(workspace, Recorder(workspace, ensure_rater(workspace, "ana")), 1).result()
    later = label_rows(tmp_path, [("a/1", 0, (now() + timedelta(hours=1)).isoformat(), "")])
    with pytest.raises(ImportFailed, match="'ana' has labelled 'a/1' differently"):
        import_files(workspace, [later])


HISTORY = st.lists(
    st.tuples(st.sampled_from(["a/1", "a/2"]), st.integers(1, 9), st.sampled_from([0, 1])),
    unique_by=lambda row: row[:2],
    max_size=8,
)


@settings(max_examples=10, deadline=None)
@given(history=HISTORY, cuts=st.lists(st.integers(0, 8), max_size=3), shuffled=st.randoms())
def test_any_history_of_labels_is_the_same_in_one_file_and_in_several(
    tmp_path_factory, history, cuts, shuffled
):
    """In order of time; a label that says what the one before says is left out."""
    folder = tmp_path_factory.mktemp("history")
    pairs = folder / "pairs.jsonl"
    pairs.write_text("\n".join(map(json.dumps, PAIRS)))
    history.sort(key=itemgetter(1))
    expected = {}
    for item, when, value in history:
        chain = expected.setdefault(item, [])
        if not chain or chain[-1][0] != value:
            chain.append((value, datetime.fromisoformat(day(when)), chain[-1][0] if chain else None))
    ends = [min(cut, len(history)) for cut in sorted(cuts)]
    parts = [history[start:end] for start, end in pairwise([0, *ends, len(history)]) if start < end]
    with Workspace.create(folder / "w.duckdb") as workspace:
        import_files(workspace, [pairs])
        for number, part in enumerate(parts):
            shuffled.shuffle(part)
            label_rows(folder, [(item, value, day(when), "") for item, when, value in part], f"{number}.csv")
        files = [folder / f"{number}.csv" for number in range(len(parts))]
        for file in files:
            import_files(workspace, [file])
        found = {}
        for item, value, when, _, before in rows(workspace, RECORD):
            found.setdefault(item, []).append((value, when, before))
        assert found == expected
        assert not any(import_files(workspace, [file]).adds for file in files)


def judge(workspace, recorder, value):
    """Submit a judgment of the first item."""
    with workspace.reading() as connection:
        question = question_number(connection, "pair.match")
    number = workspace.ids.next()
    record = Judgment(
        id=number,
        action=number,
        item_id=1,
        question_id=question,
        rater_id=recorder.rater.id,
        value=value,
        created_at=now(),
    )
    return recorder.submit(Action(number, (record,)))


def test_a_human_whose_labels_are_imported_keeps_their_judgment_when_the_file_comes_again(workspace, lines):
    import_files(workspace, [lines(PAIRS[:1], "bare.jsonl")])
    recorder = Recorder(workspace, ensure_rater(workspace, "ana"))
    path = lines([{**PAIRS[0], "label": 1}])
    import_files(workspace, [path], label_as="ana")
    judge(workspace, recorder, 0).result()
    again = import_files(workspace, [path], label_as="ana")
    assert (again.adds, again.files[0].judgments_known) == (False, 1)


@pytest.mark.parametrize("kind", ["import", "agent"])
def test_nobody_judges_under_the_name_of_an_imported_rater_or_an_agent(workspace, lines, kind):
    if kind == "import":
        import_files(workspace, [lines([{**PAIRS[0], "label": 1}])], label_as="ana")
    else:
        ensure_rater(workspace, "ana", "agent")
    with pytest.raises(JudgmentRefused, match=r"Name taken: 'ana' is the name of an? ") as refused:
        ensure_rater(workspace, " ana ")
    assert "--rater NAME" in refused.value.hint
    assert ensure_rater(workspace, "ana", kind).kind == kind


@pytest.mark.parametrize("name", ["", "  ", "a\tb", "a\u202eb"])
def test_labels_cannot_be_given_to_a_name_that_nobody_can_see(workspace, lines, name):
    path = lines([{**PAIRS[0], "label": 1}])
    with pytest.raises(ImportFailed, match="--label-as"):
        import_files(workspace, [path], label_as=name)
    labels = lines([{"item": "g", "rater": name or " ", "value": 1}], "labels.jsonl")
    with pytest.raises(RecordsRefused, match=r"labels\.jsonl:1: .*(no rater|control characters)"):
        import_files(workspace, [path, labels])
    assert rows(workspace, "SELECT count(*) FROM item") == [(0,)]
    assert rows(workspace, "SELECT count(*) FROM rater") == [(0,)]


def test_progress_is_told_and_what_it_raises_ends_the_import(workspace, lines):
    told = []
    import_files(workspace, [lines(PAIRS)], progress=told.append)
    assert all(isinstance(event, Progress) for event in told)
    assert told[-1] == Progress("publishing", 1, 1)

    def stop(event):
        if event.stage.startswith("comparing"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_files(workspace, [lines([{"id": "n", "query": "q", "code": "c"}], "n.jsonl")], progress=stop)
    assert rows(workspace, "SELECT count(*) FROM item") == [(3,)]


def test_imports_at_the_same_time_give_every_item_its_own_key(workspace, lines):
    paths = [
        lines(
            [{"id": f"{part}-{n}", "query": f"q{n}", "code": f"c{part}{n}"} for n in range(200)],
            f"{part}.jsonl",
        )
        for part in range(4)
    ]
    failures = []

    def work(path):
        try:
            import_files(workspace, [path])
        except ImportFailed as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert rows(workspace, "SELECT count(*), count(DISTINCT id), count(DISTINCT external_id) FROM item") == [
        (800, 800, 800)
    ]
    assert rows(workspace, "SELECT count(*), count(DISTINCT id) FROM code") == [(800, 800)]
    assert rows(workspace, "SELECT count(*), count(DISTINCT id), count(DISTINCT text) FROM query") == [
        (200, 200, 200)
    ]


def test_judgments_go_on_while_an_import_publishes(workspace, lines):
    import_files(workspace, [lines(PAIRS)])
    recorder = Recorder(workspace, ensure_rater(workspace, "dana"))
    judged = []
    labelled = [{"id": f"n{n}", "query": "q", "code": f"c{n}", "label": n % 2} for n in range(3_000)]
    report = import_files(
        workspace,
        [lines(labelled, "more.jsonl")],
        progress=lambda _: judged.extend(judge(workspace, recorder, value) for value in (1, 0)),
    )
    assert [len(future.result().records) for future in judged] == [1] * len(judged)
    assert report.judgments_added == {"more labels": 3_000}
    total = 3_000 + len(judged)
    assert rows(workspace, "SELECT count(*), count(DISTINCT id) FROM judgment") == [(total, total)]
