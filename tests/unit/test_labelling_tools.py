"""Label Studio, Argilla and Prodigy: their exports in, ours out and back, and what their libraries expect."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from labelling_schemas import TASKS
from small_workspace import pairs_workspace

from store.errors import ExportFailed, ImportFailed, RecordsRefused
from store.export.exporting import export
from store.ingest.importing import import_files
from store.workspace.duckdb import Workspace

FORMS = [
    ("label-studio", "out.json"),
    ("argilla", "out.json"),
    ("argilla", "out.jsonl"),
    ("prodigy", "out.jsonl"),
]
PAIRS = [
    {
        "id": "a/1",
        "query": "reverse a list",
        "code": "def back(x):\r\n    return x[::-1]\r\n",
        "note": ["kept"],
        "rank": 2,
    },
    {
        "id": "7",
        "query": "réverse",
        "code": "x\u2028 = 1\x00",
        "repository": "r",
        "path": "p.py",
        "licence": "MIT",
    },
    {"id": "b", "query": "=1", "code": '"q"', "language": "go"},
]
LABELS = """
    SELECT i.external_id, q.name, r.name, j.value, j.comment FROM judgment j JOIN item i ON i.id = j.item_id
    JOIN question q ON q.id = j.question_id JOIN rater r ON r.id = j.rater_id ORDER BY 1, 2, 3
"""
TIMED_LABELS = LABELS.replace("j.comment", "j.created_at::VARCHAR, j.comment")
ITEMS = """
    SELECT external_id, q.text, c.text, c.language, c.repository, c.path, c.licence, p.rank, i.extra::JSON
    FROM item i JOIN pair p ON p.item_id = i.id JOIN query q ON q.id = p.query_id JOIN code c ON c.id = p.code_id
    WHERE i.id IN (SELECT item_id FROM judgment) ORDER BY 1
"""


def read(workspace, statement):
    cursor = workspace.native()
    try:
        return cursor.execute(statement).fetchall()
    finally:
        cursor.close()


def imported(folder, *files, statement=LABELS, **options):
    """Import files into a new workspace; return its items, its labels, and the counts of the conversion."""
    path = folder / "again.duckdb"
    path.unlink(missing_ok=True)
    with Workspace.create(path) as workspace:
        report = import_files(workspace, files, **options)
        return read(workspace, ITEMS), read(workspace, statement), report.files[0].conversion_counts


def records_of(path):
    text = path.read_text(encoding="utf-8")
    return (
        json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.split("\n") if line]
    )


GIVEN = st.dictionaries(
    st.tuples(
        st.sampled_from([pair["id"] for pair in PAIRS]), st.sampled_from(["dana", "Émile Roux", "3", "bo, 1"])
    ),
    st.tuples(st.sampled_from([0, 1]), st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=9)),
    min_size=1,
)


@pytest.mark.parametrize(("form", "name"), FORMS)
def test_labels_come_back_as_they_were(form, name, tmp_path):
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, PAIRS)), encoding="utf-8")

    @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
    @given(GIVEN)
    def there_and_back(labels):
        rows = [
            {
                **{"item": item, "rater": rater, "value": value, "comment": comment},
                "judged_at": f"2025-03-0{1 + value}T10:11:12.345678+01:00",
            }
            for (item, rater), (value, comment) in labels.items()
        ]
        (tmp_path / "labels.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        (tmp_path / "w.duckdb").unlink(missing_ok=True)
        with Workspace.create(tmp_path / "w.duckdb") as workspace:
            import_files(workspace, [tmp_path / "pairs.jsonl", tmp_path / "labels.jsonl"])
            report = export(workspace, tmp_path / name, form, overwrite=True)
            items, given_labels = read(workspace, ITEMS), read(workspace, TIMED_LABELS)
        if form == "argilla":
            given_labels = [(*label[:-1], "") for label in given_labels]
        assert report.records == len(rows)
        for record in records_of(tmp_path / name):
            TASKS[form, name[4:]].model_validate(record)
        # Each is recognized by its content.
        # Who saw what is beside each label; in Argilla as JSON within JSON.
        text = (tmp_path / name).read_text(encoding="utf-8").replace("\\", "")
        assert text.count('"origin": "import"') == text.count('"saw_label": false') == len(rows)
        again = imported(tmp_path, tmp_path / name, statement=TIMED_LABELS)
        assert again == (items, given_labels, {})

    there_and_back()


@pytest.mark.parametrize(
    ("form", "name", "predicted"),
    [
        ("label-studio", "out.json", "predictions"),
        ("argilla", "out.json", "suggestions"),
        ("argilla", "out.jsonl", "label.suggestion"),
    ],
)
def test_labels_of_a_run_are_predictions(form, name, predicted, tmp_path):
    with pairs_workspace(tmp_path, [("a", "q", "x = 1"), ("b", "q", "x = 2")]) as workspace:
        cursor = workspace.native()
        cursor.execute(
            "INSERT INTO rater VALUES (9, 'agent', 'single/1a2b', '', now());"
            "INSERT INTO question SELECT 99, 'pair.match', 'pair', '', "
            '\'{"level": "nominal", "values": []}\' WHERE NOT EXISTS (FROM question WHERE name = \'pair.match\');'
            "INSERT INTO run VALUES (uuidv7(), 'pair', 'single/1a2b', '{}', 'm', 9, 'done', 1, now(), now(), 1);"
            "INSERT INTO verdict SELECT uuidv7(), id, 1, 1.0, 'read', 'because', NULL, now(), "
            "(SELECT id FROM question WHERE name = 'pair.match'), NULL FROM run"
        )
        cursor.close()
        export(workspace, tmp_path / name, form, rater="single/1a2b")
        with pytest.raises(ExportFailed, match="no current labels of pairs"):
            export(workspace, tmp_path / "none", form)
    (record,) = records_of(tmp_path / name)
    TASKS[form, name[4:]].model_validate(record)
    assert record[predicted]
    _, labels, _ = imported(tmp_path, tmp_path / name)
    comment = "because" if form == "label-studio" else ""
    assert labels == [("a", "pair.match", "single/1a2b", 1.0, comment)]


def choice(word, name="label"):
    return {"id": "x", "from_name": name, "to_name": "t", "type": "choices", "value": {"choices": [word]}}


TASK = {"id": 5, "data": {"query": "q", "code": "c", "source": "s"}, "project": 3}
LABEL_STUDIO = [
    TASK
    | {
        "annotations": [
            {"id": 1, "result": [choice("match")], "completed_by": 4, "updated_at": "2026-01-01T00:00:00Z"},
            {
                "id": 2,
                "result": [choice("No match")],
                "completed_by": 4,
                "updated_at": "2026-01-02T00:00:00Z",
            },
            {
                "id": 3,
                "result": [choice("1")],
                "completed_by": {"id": 2, "email": "ann@example.org", "first_name": "A"},
            },
            {"id": 4, "result": [], "completed_by": 6, "was_cancelled": True},
            {"id": 5, "result": [], "completed_by": 7, "was_cancelled": False},
            {
                "id": 6,
                "completed_by": 8,
                "result": [
                    choice("match"),
                    {"from_name": "why", "type": "textarea", "value": {"text": ["it does", "twice"]}},
                ],
            },
        ],
        "predictions": [{"model_version": "bert-2", "score": 0.7, "result": [choice("no match")]}],
    }
]
ARGILLA_FLAT = [
    {
        "id": "r1",
        "status": "completed",
        "_server_id": "5a1f4d1e-0f0b-5c39-8f3c-6d2f7f0f1d11",
        "query": "q",
        "code": "c",
        "fits.responses": ["match", None, "no match", "no match"],
        "fits.responses.users": ["u1", "u2", "u3", "u4"],
        "fits.responses.status": ["submitted", "discarded", "draft", "submitted"],
        "fits.suggestion": "no match",
        "fits.suggestion.score": 0.5,
        "fits.suggestion.agent": "gpt-9",
    }
]
ARGILLA_NESTED = [
    {
        "id": "r1",
        "fields": {"query": "q", "code": "c"},
        "metadata": {"year": 2026},
        "suggestions": {"fits": {"value": "no match", "score": 0.5, "agent": "gpt-9"}},
        "responses": {
            "fits": [
                {"value": "match", "user_id": "u1", "status": "submitted"},
                {"value": None, "user_id": "u2", "status": "discarded"},
                {"value": "no match", "user_id": "u3", "status": "draft"},
                {"value": "no match", "user_id": "u4", "status": "submitted"},
            ]
        },
        "vectors": {},
        "status": "completed",
        "_server_id": "5a1f4d1e-0f0b-5c39-8f3c-6d2f7f0f1d11",
    }
]
HASHES = {"_input_hash": 11, "_task_hash": -12, "_view_id": "classification", "query": "q", "code": "c"}
PRODIGY = [
    {**HASHES, "label": "FITS", "answer": "accept", "_session_id": "set-ann"},
    {**HASHES, "label": "FITS", "answer": "reject", "_session_id": "set-bob", "_annotator_id": "bob"},
    {**HASHES, "label": "FITS", "answer": "ignore", "_session_id": "set-cy"},
    {
        **HASHES,
        "options": [{"id": 1, "text": "match"}, {"id": 2, "text": "no match"}],
        "accept": [2],
        "answer": "accept",
        "_session_id": "set-dee",
    },
    {**HASHES, "options": [{"id": "1"}], "accept": [], "answer": "reject", "_session_id": "set-eve"},
]
SKIPPED, UNLABELLED = (
    "annotations skipped by their annotator, left out",
    "annotations without a label, left out",
)
UNFINISHED = "annotations not finished, left out"
AGAIN = "annotations of a rater on a pair that they labelled before, left out"
OF_ARGILLA = ({"gpt-9": 0, "u1": 1, "u4": 0}, {SKIPPED: 1, UNFINISHED: 1})
OTHERS = {
    "label-studio": (
        LABEL_STUDIO,
        {"ann@example.org": 1, "annotator 4": 0, "annotator 8": 1, "bert-2": 0},
        {SKIPPED: 1, UNLABELLED: 1, AGAIN: 1},
    ),
    "argilla flat": (ARGILLA_FLAT, *OF_ARGILLA),
    "argilla nested": (ARGILLA_NESTED, *OF_ARGILLA),
    "prodigy": (PRODIGY, {"bob": 0, "set-ann": 1, "set-dee": 0}, {SKIPPED: 1, UNLABELLED: 1}),
}


@pytest.mark.parametrize(("records", "labels", "counts"), OTHERS.values(), ids=OTHERS)
def test_a_lab_moves_in_with_its_labels(records, labels, counts, tmp_path):
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps(records))
    items, found, counted = imported(tmp_path, path)
    assert {rater: value for _, _, rater, value, _ in found} == labels
    assert counted == counts
    assert [item[1:3] for item in items] == [("q", "c")]


def renamed(record):
    """A record whose query is called `question` and whose code is called `snippet`."""
    return json.loads(json.dumps(record).replace('"query"', '"question"').replace('"code"', '"snippet"'))


@pytest.mark.parametrize(
    ("name", "records"), [("label-studio", LABEL_STUDIO), ("argilla", ARGILLA_NESTED), ("prodigy", PRODIGY)]
)
def test_fields_of_other_names_are_mapped(name, records, tmp_path):
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps([renamed(record) for record in records]))
    with pytest.raises(
        RecordsRefused, match=r"no 'query' and no 'code', but .*--map query=FIELD --map code=FIELD"
    ):
        imported(tmp_path, path)
    mapping = {"query": "question", "code": "snippet"}
    assert imported(tmp_path, path, mapping=mapping) == imported(tmp_path, path, mapping=mapping, format=name)
    assert [item[1:3] for item in imported(tmp_path, path, mapping=mapping)[0]] == [("q", "c")]


def test_the_label_is_the_one_that_is_named(tmp_path):
    path = tmp_path / "theirs.json"
    both = [choice("match", "fits"), choice("no match", "runs")]
    path.write_text(json.dumps([TASK | {"annotations": [{"result": both, "completed_by": 1}]}]))
    with pytest.raises(RecordsRefused, match="has the labels 'fits', 'runs'"):
        imported(tmp_path, path)
    _, labels, _ = imported(tmp_path, path, mapping={"label": "runs"})
    assert [label[3] for label in labels] == [0.0]
    two = {
        "id": "1",
        "status": "s",
        "_server_id": "s",
        "query": "q",
        "code": "c",
        "a.suggestion": "match",
        "b.responses": [],
    }
    path.write_text(json.dumps([two]))
    with pytest.raises(RecordsRefused, match="the questions a, b"):
        imported(tmp_path, path)
    _, labels, _ = imported(tmp_path, path, mapping={"label": "a"})
    assert [label[2:4] for label in labels] == [("theirs suggestions", 1.0)]


REFUSED = {
    "a word": (
        TASK | {"annotations": [{"result": [choice("maybe")], "completed_by": 1}]},
        "'maybe' is none of match",
    ),
    "two words": (
        TASK
        | {
            "annotations": [
                {"result": [choice("x") | {"value": {"choices": ["match", "no match"]}}], "completed_by": 1}
            ]
        },
        "neither a text nor a number",
    ),
    "nobody": (TASK | {"annotations": [{"result": [choice("match")]}]}, "completed_by"),
    "no list": (TASK | {"annotations": {}}, "a list is expected"),
    "an answer": (HASHES | {"answer": "perhaps"}, "none of accept, reject, ignore"),
    "a truth value": ({**ARGILLA_FLAT[0], "fits.responses.users": [True, "u2", "u3", "u4"]}, "annotator"),
    "lengths": (
        {**ARGILLA_FLAT[0], "fits.responses.users": ["u1"]},
        "differ in length",
    ),
}


@pytest.mark.parametrize(("record", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_label_is_refused(record, reason, tmp_path):
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps([record]))
    with pytest.raises(ImportFailed, match=reason):
        imported(tmp_path, path)
