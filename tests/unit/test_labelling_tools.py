"""Label Studio, Argilla and Prodigy: their exports in, ours out and back, and what their libraries expect."""

import json
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from labelling_schemas import TASKS
from small_workspace import pairs_workspace

from store.errors import ExportFailed, ImportFailed, RecordsRefused
from store.export.exporting import export
from store.formats.protocol import find_format
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
            comments = "comments" in find_format(form).choices
            report = export(
                workspace, tmp_path / name, form, comments=comments, names=comments, overwrite=True
            )
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
OTHER_ANSWERS = "answers to other questions than the label's, left out"
NAMELESS = "labels without an annotator, given to a rater named after the file"
UNDATED = "labels whose time cannot be read, given the time of the import"
NUMBERS = "annotations and predictions of which the file has only the number, left out"
NO_STATUS = "labels of responses without a status, which may be drafts or discarded"
OF_ARGILLA = ({"gpt-9": 0, "u1": 1, "u4": 0}, {SKIPPED: 1, UNFINISHED: 1})
OTHERS = {
    "label-studio": (
        LABEL_STUDIO,
        {"ann@example.org": 1, "annotator 4": 0, "annotator 8": 1, "bert-2": 0},
        {SKIPPED: 1, UNLABELLED: 1, AGAIN: 1},
    ),
    "argilla flat": (ARGILLA_FLAT, *OF_ARGILLA),
    "argilla nested": (ARGILLA_NESTED, *OF_ARGILLA),
    "prodigy": (
        PRODIGY,
        {"bob": 0, "set-ann": 1, "set-dee": 0},
        {SKIPPED: 1, UNLABELLED: 1, "tasks whose label 'FITS' was taken for a match": 2},
    ),
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
    with pytest.raises(RecordsRefused, match="has the labels 'a', 'b'"):
        imported(tmp_path, path)
    _, labels, _ = imported(tmp_path, path, mapping={"label": "a"})
    assert [label[2:4] for label in labels] == [("theirs suggestions", 1.0)]


REFUSED = {
    "a word": (
        TASK | {"annotations": [{"result": [choice("maybe")], "completed_by": 1}]},
        "'maybe' is none of match",
    ),
    "a rating": (
        TASK
        | {
            "annotations": [
                {
                    "result": [{"from_name": "label", "type": "rating", "value": {"rating": 3}}],
                    "completed_by": 1,
                }
            ]
        },
        "ratings and other grades are read from a table: its column relevance",
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
    "two labels": (
        TASK | {"annotations": [{"result": [choice("match"), choice("no match")], "completed_by": 1}]},
        r"the label \['match', 'no match'\] is neither a text nor a number",
    ),
    "no person": (
        TASK | {"annotations": [{"result": [choice("match")], "completed_by": [4]}]},
        r"completed_by' is a list .* where an annotator",
    ),
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


def labels_of(folder, records, name="theirs.json", **options):
    """Return the value that each rater gave each item, and the counts."""
    path = folder / name
    path.write_text(json.dumps(records))
    _, found, counts = imported(folder, path, **options)
    return {(item, rater): value for item, _, rater, value, _ in found}, counts


def test_what_argilla_writes(repository, tmp_path):
    """Files of its own library: one response submitted, discarded, a draft, and made without a status."""
    written = json.loads((repository / "tests/oracles/exported_by_argilla.json").read_text())
    ann, bob = (str(UUID(int=number)) for number in (1, 2))
    both = {("both", ann): 1, ("both", bob): 0, ("both", "model"): 1, ("made", ann): 0}
    unfinished = {("unfinished", ann): 1, ("unfinished", bob): 0}
    assert labels_of(tmp_path, written["nested"]) == (both | unfinished, {NO_STATUS: 5})
    assert labels_of(tmp_path, written["flat"]) == (both, {NO_STATUS: 1, SKIPPED: 1, UNFINISHED: 1})


def test_what_label_studio_writes(repository, tmp_path):
    """Exports of its server: the JSON export, which has numbers of predictions only, and the list of tasks."""
    written = json.loads((repository / "tests/oracles/exported_by_label_studio.json").read_text())
    counts = {AGAIN: 1, SKIPPED: 1, NAMELESS: 1, UNFINISHED: 1}
    values = [(("1", "1"), 0), (("1", "2"), 1), (("2", ""), 1), (("3", "2"), 0)]
    names = {"1": "annotator 1", "2": "annotator 2", "": "theirs labels"}
    expected = {(item, names[who]): value for (item, who), value in values}
    assert labels_of(tmp_path, written["export"]) == (expected, counts | {NUMBERS: 1})
    mails = {"1": "ann@lab.example", "2": "bob@lab.example", "": "theirs labels"}
    expected = {(item, mails[who]): value for (item, who), value in values}
    assert labels_of(tmp_path, written["tasks"]) == (expected | {("3", "model"): 1}, counts)
    with Workspace.create(tmp_path / "w.duckdb") as workspace:
        superseding = []
        for name in ("export", "corrected", "export", "corrected"):
            # Under one name, as whoever exports again overwrites it: nobody's labels have its name.
            (tmp_path / "theirs.json").write_text(json.dumps(written[name]))
            report = import_files(workspace, [tmp_path / "theirs.json"])
            superseding.append((sum(report.judgments_added.values()), report.files[0].labels_superseding))
        assert superseding == [(4, 0), (1, 1), (0, 0), (0, 0)]
        found = read(workspace, LABELS.replace("ORDER BY 1, 2, 3", "ORDER BY j.id"))
    assert found[-1] == ("3", "pair.match", "annotator 2", 1, "it does")
    assert [row[3] for row in found if row[:3] == ("3", "pair.match", "annotator 2")] == [0, 1]


def test_responses_of_nested_records_are_labels_though_nothing_says_which_were_submitted(tmp_path):
    """As `records.to_json` of argilla 2.8.0 writes them: a value and a user."""
    bare = [{"value": value, "user_id": user} for value, user in (("match", "u1"), ("no match", "u2"))]
    nested = {**ARGILLA_NESTED[0], "responses": {"fits": bare}, "suggestions": {}, "_server_id": None}
    other = {**nested, "id": "r2", "responses": {}, "status": "pending"}
    expected = {("r1", "u1"): 1, ("r1", "u2"): 0}
    assert labels_of(tmp_path, [nested, other]) == (expected, {NO_STATUS: 2})
    # A flat record has null where a response was made without a status, as in a program.
    flat = {**ARGILLA_FLAT[0], "fits.responses.status": [None, "discarded", None, "submitted"]}
    flat |= {"fits.suggestion": None, "fits.suggestion.score": float("nan")}
    expected = {("r1", "u1"): 1, ("r1", "u3"): 0, ("r1", "u4"): 0}
    assert labels_of(tmp_path, [flat]) == (expected, {NO_STATUS: 2, SKIPPED: 1})
    del flat["fits.responses.status"]
    assert labels_of(tmp_path, [flat]) == (expected, {NO_STATUS: 3, UNLABELLED: 1})


def shown(label, answer, number, **more):
    """A task of Prodigy's that shows a label to accept or to reject."""
    task = {"query": f"q{number}", "code": "c", "_input_hash": number, "_task_hash": number, "answer": answer}
    return task | ({} if label is None else {"label": label}) | more


def test_a_label_that_is_shown_is_accepted_or_rejected(tmp_path):
    answers = [(None, "accept", 1), (None, "reject", 0)]
    for match, none in (
        ("match", "no match"),
        ("MATCH", "NO_MATCH"),
        ("Match", "No-Match"),
        (1, 0),
        ("1", "0"),
    ):
        answers += [(match, "accept", 1), (match, "reject", 0), (none, "accept", 0), (none, "reject", 1)]
    tasks = [shown(label, answer, number) for number, (label, answer, _) in enumerate(answers)]
    found, counts = labels_of(tmp_path, tasks)
    assert found == {(str(number), "theirs labels"): row[2] for number, row in enumerate(answers)}
    assert counts == {NAMELESS: len(tasks)}


def test_a_label_of_other_words_is_read_where_it_is_the_only_one(tmp_path):
    tasks = [shown("RELEVANT", "accept", 1), shown("RELEVANT", "reject", 2)]
    found, counts = labels_of(tmp_path, tasks)
    assert [*found.values()] == [1, 0]
    assert counts == {NAMELESS: 2, "tasks whose label 'RELEVANT' was taken for a match": 2}
    with pytest.raises(RecordsRefused, match="the label 'OFF TOPIC' is none of match, no match, and one of"):
        labels_of(tmp_path, [*tasks, shown("OFF TOPIC", "accept", 3)])
    with pytest.raises(RecordsRefused, match="the label 'RELEVANT' is none of match, no match, and one of"):
        labels_of(tmp_path, [*tasks, shown("no match", "accept", 3)])
    renamed_label = [
        shown(None, "accept", 1, verdict="no match"),
        shown(None, "reject", 2, verdict="no match"),
    ]
    found, _ = labels_of(tmp_path, renamed_label, mapping={"label": "verdict"})
    assert [*found.values()] == [0, 1]


def annotated(*annotations, key="annotations", **more):
    """A task of Label Studio's."""
    return {"id": 1, "data": {"query": "q", "code": "c"}, key: list(annotations), **more}


def annotation(word, at=None, by=4, **more):
    """An annotation of a task, updated at some time."""
    time = {} if at is None else {"updated_at": at}
    return {"result": [choice(word)], "completed_by": by, **time, **more}


def test_the_latest_instant_counts_however_it_is_written(tmp_path):
    times = [
        ("2026-01-02T01:00:00+02:00", "2026-01-01T23:30:00Z"),
        ("2026-01-01T10:00:00Z", "2026-01-01T10:00:00.6Z"),
        ("2026-01-01T10:00:00.000001Z", "2026-01-01T05:00:00.000002-05:00"),
        (1_600_000_000, 1_600_000_000.5),
        (999_999_999, 1_600_000_000),
        (None, "2026-01-01T10:00:00Z"),
    ]
    given = [(annotation("match", one), annotation("no match", other)) for one, other in times]
    orders = [*given, *(pair[::-1] for pair in given)]
    tasks = [
        {**annotated(*order, key=key), "id": f"{number} {key}"}
        for number, order in enumerate(orders)
        for key in ("annotations", "completions", "predictions")
    ]
    found, counts = labels_of(tmp_path, tasks)
    who = {"annotations": "annotator 4", "completions": "annotator 4", "predictions": "theirs predictions"}
    assert found == {(task["id"], who[task["id"].split()[1]]): 0 for task in tasks}
    assert counts == {AGAIN: len(tasks)}


def test_a_table_of_annotations_is_no_table_of_pairs(tmp_path):
    """JSON-MIN gives each annotation a row, with its annotator beside it."""
    row = {"id": 1, "query": "q", "code": "c", "label": 1, "annotator": 1, "annotation_id": 1}
    (tmp_path / "min.json").write_text(json.dumps([row, row | {"annotator": 2, "annotation_id": 2}]))
    with pytest.raises(ImportFailed, match="Unknown format"):
        imported(tmp_path, tmp_path / "min.json")


def test_completions_are_annotations_under_their_old_name(tmp_path):
    """As versions before 1.0 wrote them: times in seconds, nobody named."""
    done = {"id": 1001, "created_at": 1_600_000_000, "lead_time": 3.5, "result": [choice("no match")]}
    task = annotated(done, {"id": 1002, "skipped": True, "result": []}, key="completions", predictions=[])
    path = tmp_path / "old.json"
    path.write_text(json.dumps([task]))
    _, found, counts = imported(tmp_path, path, statement=TIMED_LABELS)
    assert [label[2:4] for label in found] == [("old labels", 0)]
    assert found[0][4].startswith("2020-09-13 12:26:40")
    assert counts == {NAMELESS: 1, SKIPPED: 1}
    del task["predictions"]
    assert labels_of(tmp_path, [task], "old.json")[0] == {("1", "old labels"): 0}


ANNOTATORS = {
    "the e-mail": ({"completed_by": {"id": 3, "email": "ana@lab"}, "created_username": " bo, 3"}, "ana@lab"),
    "the e-mail in the name": ({"completed_by": 3, "created_username": "Ana Diaz ana@lab, 3"}, "ana@lab"),
    "no other name": ({"completed_by": 3, "created_username": " ana@lab, 3"}, "ana@lab"),
    "no e-mail": ({"completed_by": 3, "created_username": "Ana , 3"}, "annotator 3"),
    "a name of our exports": ({"completed_by": 77, "created_username": "bo, 1"}, "bo, 1"),
    "a number": ({"completed_by": 3}, "annotator 3"),
    "a number of an object": ({"completed_by": {"id": 3, "email": ""}}, "annotator 3"),
    "a name": ({"completed_by": "ana"}, "ana"),
    "the name alone": ({"completed_by": None, "created_username": "ana"}, "ana"),
    "null": ({"completed_by": None}, "theirs labels"),
    "nothing": ({"created_username": " "}, "theirs labels"),
    "an empty object": ({"completed_by": {}}, "theirs labels"),
}


def test_who_annotated_a_task(tmp_path):
    other = annotation("no match", by={"email": "zoe@lab"})
    tasks = [
        {**annotated({"result": [choice("match")], **who}, other), "id": name}
        for name, (who, _) in ANNOTATORS.items()
    ]
    found, counts = labels_of(tmp_path, tasks)
    expected = {(name, rater): 1 for name, (_, rater) in ANNOTATORS.items()}
    assert found == expected | {(name, "zoe@lab"): 0 for name in ANNOTATORS}
    assert counts == {NAMELESS: 3}


def test_what_is_not_read_is_counted(tmp_path):
    runs, words = (
        choice("match", "runs"),
        {"from_name": "t", "type": "taxonomy", "value": {"taxonomy": [["a"]]}},
    )
    task = annotated(
        annotation("match", "2026-01-01T10:00:00") | {"result": [choice("match"), runs, words]},
        annotation("match", "yesterday", by=5),
        {"result": [runs], "completed_by": 6},
        {"result": [choice("") | {"value": {"choices": []}}], "completed_by": 7},
        8,
        drafts=[{"id": 9, "result": [choice("match")]}, 10],
        predictions=[11, 12],
        meta={"batch": 7},
    )
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps([task]))
    items, found, counts = imported(tmp_path, path)
    assert {label[2] for label in found} == {"annotator 4", "annotator 5"}
    # The third answered another question only, which is not taken for the label.
    assert counts == {UNFINISHED: 2, OTHER_ANSWERS: 3, UNDATED: 2, UNLABELLED: 2, NUMBERS: 3}
    assert json.loads(items[0][-1]) == {"meta": {"batch": 7}}


def test_the_label_is_the_same_question_in_every_record(tmp_path):
    """A nested record of Argilla's, and an annotation, hold only what was answered."""
    fluency = [{"value": 1, "user_id": "u1"}]
    nested = {**ARGILLA_NESTED[0], "suggestions": {}}
    records = [{**nested, "id": "r2", "responses": {"fluency": fluency}}, nested]
    with pytest.raises(RecordsRefused, match="has the labels 'fits', 'fluency'; say which one") as refused:
        labels_of(tmp_path, records)
    assert len(refused.value.problems) == 2
    found, _ = labels_of(tmp_path, records, mapping={"label": "fits"})
    assert found == {("r1", "u1"): 1, ("r1", "u4"): 0}
    with pytest.raises(
        RecordsRefused, match="called 'fit' in the file that has a label, but 'fits', 'fluency'"
    ):
        labels_of(tmp_path, records, mapping={"label": "fit"})


def test_a_field_that_is_mapped_has_to_be_there(tmp_path):
    task = annotated(annotation("match"))
    with pytest.raises(RecordsRefused, match="'data' has no 'lang', but 'query', 'code'"):
        labels_of(tmp_path, [task], mapping={"language": "lang"})
    task["data"]["lang"] = None
    assert labels_of(tmp_path, [task], mapping={"language": "lang"})[0]


def imported_in_turn(folder, files):
    """Import files of one task, one after the other; return the reports, the record, and whether more is new."""
    folder.mkdir()
    for name, record in files.items():
        (folder / name).write_text(json.dumps([record]))
    with Workspace.create(folder / "w.duckdb") as workspace:
        reports = [import_files(workspace, [folder / name]) for name in files]
        found = read(
            workspace,
            "SELECT j.value, strftime(j.created_at, '%d'), p.value FROM judgment j "
            "LEFT JOIN judgment p ON p.id = j.supersedes AND p.id < j.id ORDER BY j.id",
        )
        again = [import_files(workspace, [folder / name]).adds for name in files]
    return reports, found, again


def test_a_corrected_export_supersedes_what_was_imported(tmp_path):
    ana = {"id": 3, "email": "ana@lab"}
    first, second = (
        annotated(annotation(word, f"2026-01-0{day}T00:00:00Z", ana, id=11))
        for word, day in (("match", 1), ("no match", 5))
    )
    (one, other), found, again = imported_in_turn(tmp_path / "two", {"a.json": first, "b.json": second})
    assert found == [(1, "01", None), (0, "05", 1)]
    assert (one.files[0].labels_superseding, other.files[0].labels_superseding) == (0, 1)
    assert "1 judgment of 'ana@lab'; 1 of these in place of an earlier one" in other.files[0].sentence()
    assert again == [False, False]
    # The older export after the newer one: what it says was corrected already.
    with pytest.raises(RecordsRefused, match=r"'ana@lab' has labelled '1' differently .* later"):
        imported_in_turn(tmp_path / "back", {"b.json": second, "a.json": first})
    # The task of a later day as another record: an annotation that was left as it is adds nothing.
    kept = annotated(annotation("match", "2026-01-09T00:00:00Z", ana, id=11))
    (_, nothing), found, _ = imported_in_turn(tmp_path / "kept", {"a.json": first, "b.json": kept})
    assert (nothing.adds, len(found)) == (False, 1)


def test_a_task_of_prodigy_that_is_answered_again_supersedes_the_first_answer(tmp_path):
    who = {"_session_id": "set-ann", "label": "match"}
    tasks = [
        {**HASHES, **who, "answer": answer, "_timestamp": stamp}
        for answer, stamp in (("accept", 1_700_000_000), ("reject", 1_700_000_100), ("accept", 1_699_999_000))
    ]
    path = tmp_path / "theirs.jsonl"
    path.write_text("\n".join(map(json.dumps, tasks)))
    _, found, counts = imported(tmp_path, path, statement=TIMED_LABELS + ", j.id")
    assert ([label[3] for label in found], counts) == ([1, 0], {AGAIN: 1})
