"""The record of completions and repository questions: out of one workspace, into another, the same."""

import csv
import json
import shutil
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kinds import Expert, json_lines, kept, many, new_workspace, task
from made_once import built_once

from store.errors import ExportFailed, RecordsRefused
from store.export.exporting import export
from store.ingest.importing import import_files
from store.policy.scope import Scope
from store.queries.queue import queue_rows
from store.record.raters import ensure_rater, register_kinds
from store.record.response_names import ResponseName, question_name
from store.workspace.copy_merge import merge
from store.workspace.duckdb import Workspace
from store.workspace.journal import journal_path
from store.workspace.recovery import recover

HOSTILE = 'a\x00b\r\n\u202e\u2028=1+1,"q"\t\x1b[31m[/]\'; -- \U0001f600'
MODEL = "a@b[c]#%1"
SETTING = "k=3 [dense]"
ACCURACY = question_name("answer.accuracy", ResponseName(MODEL, SETTING, 2))
CLARITY = question_name("answer.clarity", ResponseName("plain"))


def question(name, **fields):
    return {"id": name, "question": f"Why {name}?", "answer": "Because.", **fields}


QUESTIONS = [
    question(
        "till-1",
        repository="shop/till",
        issue={
            "number": 3,
            "title": HOSTILE,
            "body": HOSTILE * 3,
            "labels": ["bug", ""],
            "comments": [{"by": "participant 2", "body": HOSTILE, "reactions": {"+1": 2}}],
            "state": {"of": ["it", None]},
        },
        chunks=[
            {"file": "b.py", "text": HOSTILE, "score": 0.1, "setting": "sparse", "seen": [1]},
            {"file": "a.py", "text": "", "setting": "dense"},
            {"text": "x", "setting": "sparse", "why": {"a": None}},
        ],
        more=HOSTILE,
    ),
    question("till-2"),
    question("till-3", question=HOSTILE),
]
ANSWERS = [
    {
        "question_id": "till-1",
        "model": MODEL,
        "setting": SETTING,
        "trial": 2,
        "answer": HOSTILE,
        "tokens": 12,
        "scores": [
            {"judge": "j", "measure": "accuracy", "score": 7, "reason": HOSTILE, "seconds": 1.5},
            {"judge": "j", "measure": "accuracy", "score": 8, "reason": "asked again"},
            {"judge": "j", "measure": "clarity", "score": -1, "reason": "no number"},
            {"judge": "k", "measure": "clarity", "score": "nine"},
            {"judge": "k", "measure": "relevance", "score": None},
        ],
    },
    {"question_id": "till-1", "model": "plain", "answer": ""},
    {"question_id": "till-2", "model": "plain", "answer": "Yes."},
]
TASKS = [task(1), task(2, prompt=HOSTILE, right_context=HOSTILE, seen=[HOSTILE])]
PREDICTIONS = [
    {"task_id": "project_cc_python/1", "pred": HOSTILE, "model": MODEL, "setting": SETTING, "trial": 1},
    {"groundtruth": "thing_2(value)", "prediction": "", "model": "plain", "match": 0},
]


@pytest.fixture
def files(tmp_path):
    """The files of the items and of what models made of them."""
    every = {"tasks": TASKS, "predictions": PREDICTIONS, "questions": QUESTIONS, "answers": ANSWERS}
    return [json_lines(tmp_path / f"{name}.jsonl", records) for name, records in every.items()]


@built_once
def stored(tmp_path, files):
    """A workspace with two completions and three repository questions."""
    with Workspace.create(tmp_path / "w.duckdb") as made:
        register_kinds(made)
        import_files(made, files)
    return made.path


@pytest.fixture
def workspace(stored):
    with Workspace.open(stored) as opened:
        yield opened


def judge(workspace):
    """Do something of every sort: answers, a score accepted, texts rewritten, undo and redo, marks."""
    expert, other = Expert(workspace), Expert(workspace, "eli")
    ((score, *_), *_) = kept(workspace, "score")["score"]
    expert.answer("till-1", ACCURACY, 7.0, origin="accept", shown_verdict=score, comment=HOSTILE)
    expert.answer("till-1", CLARITY, 10.0, origin="override", reason="too kind")
    other.answer("till-1", ACCURACY, 3.0)
    expert.answer("till-3", "answer.relevance", 1.0)
    expert.mark("till-1", "revision.question", "answer", text=HOSTILE)
    expert.mark("till-1", "revision.reference", "answer", text="first")
    other.mark("till-1", "revision.reference", "answer", text="second")
    expert.mark("till-2", "comment", "answer", text=HOSTILE)
    for name, value in (("cross_file", 1.0), ("predictable", 2.0), ("keep", 3.0)):
        expert.answer("project_cc_python/2", f"completion.{name}", value)
    expert.recorder.undo().result(60)
    expert.recorder.undo().result(60)
    expert.recorder.redo().result(60)
    expert.mark("project_cc_python/2", "flag", "completion")
    other.recorder.undo().result(60)


def told(workspace, items):
    """What a workspace holds of some items."""
    found = kept(workspace)
    place = {"item": 1, "score": 1, "judgment": -4, "mark": -2}
    return {name: [row for row in rows if row[place.get(name, 0)] in items] for name, rows in found.items()}


JUDGED = {"till-1", "till-2", "till-3", "project_cc_python/2"}


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_the_record_makes_the_same_workspace_again(workspace, files, tmp_path, form):
    judge(workspace)
    before = told(workspace, JUDGED)
    assert {len(before[name]) > 0 for name in before} == {True}
    export(workspace, tmp_path / f"out.{form}", "judgments")
    with new_workspace(tmp_path) as again:
        import_files(again, [tmp_path / f"out.{form}"])
        assert kept(again) == before
        assert not import_files(again, [tmp_path / f"out.{form}"]).adds
        # The rest comes from its own files; what was judged is known.
        report = import_files(again, files)
        assert (report.items_added, report.items_known) == (1, 4)
        assert [file.items_differing for file in report.files] == [0] * 4
        assert kept(again) == kept(workspace)
        undone = [Expert(one, "dana").recorder.undo().result(60) for one in (workspace, again)]
        assert undone[0].records[0].target_action == undone[1].records[0].target_action
    with new_workspace(tmp_path) as other:
        # Scores have the same ids wherever they are imported, so judgments name the score that is here.
        import_files(other, files)
        import_files(other, [tmp_path / f"out.{form}"])
        assert told(other, JUDGED) == before


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["dana", "eli"]),
        st.sampled_from(["till-1", "till-3"]),
        st.sampled_from([ACCURACY, CLARITY, "answer.relevance", "revision.question", "flag"])
        | st.sampled_from(["undo", "redo"]),
        st.sampled_from([1.0, 10.0]),
        st.text(max_size=20).filter(bool),
    ),
    min_size=1,
    max_size=10,
)


@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS, form=st.sampled_from(["jsonl", "csv", "parquet"]))
def test_any_history_comes_back(tmp_path, steps, form):
    questions = json_lines(tmp_path / "q.jsonl", QUESTIONS)
    answers = json_lines(tmp_path / "a.jsonl", ANSWERS)
    with new_workspace(tmp_path) as workspace, new_workspace(tmp_path) as again:
        import_files(workspace, [questions, answers])
        experts = {name: Expert(workspace, name) for name in ("dana", "eli")}
        experts["dana"].answer("till-3", "answer.clarity", 5.0)
        for name, item, what, value, text in steps:
            if what in ("undo", "redo"):
                getattr(experts[name].recorder, what)().result(60)
            elif what.startswith("answer."):
                experts[name].answer(item, what, value, comment=text)
            else:
                experts[name].mark(item, what, "answer", text=text)
        target = workspace.path.with_name(f"out.{form}")
        export(workspace, target, "judgments")
        import_files(again, [target])
        import_files(again, [questions, answers])
        assert kept(again) == kept(workspace)


def test_the_journal_brings_everything_back_also_before_the_responses_came(workspace, files, tmp_path):
    judge(workspace)
    before = kept(workspace)
    with new_workspace(tmp_path) as lost:
        import_files(lost, [files[0], files[2]])
        report = recover(lost, journal_path(workspace.path))
        assert (report.rejected, report.unreadable) == ((), ())
        import_files(lost, files)
        assert kept(lost) == before


def test_a_judgment_about_a_response_that_never_came_is_kept_and_does_not_count(workspace, files, tmp_path):
    """By the journal and by the record: about one of two responses that are here, and about one that is not."""
    expert = Expert(workspace)
    expert.answer("till-1", ACCURACY, 7.0)
    expert.answer("till-1", question_name("answer.accuracy", ResponseName("nobody[#]", "%", 3)), 4.0)
    before = kept(workspace, "judgment")
    own = Scope(expert.recorder.rater)
    given = {row.external_id: (row.answered, row.required) for row in queue_rows(workspace, own, range(1, 6))}
    export(workspace, tmp_path / "record.jsonl", "jsonl")
    with new_workspace(tmp_path) as lost, new_workspace(tmp_path) as other:
        recover(lost, journal_path(workspace.path))  # nothing is here yet
        import_files(lost, files)
        assert recover(lost, journal_path(workspace.path)).added == 2
        import_files(other, [tmp_path / "record.jsonl"])
        import_files(other, files)
        for each in (lost, other):
            assert kept(each, "judgment") == before
            rows = queue_rows(each, Scope(ensure_rater(each, "dana")), range(1, 6))
            assert {row.external_id: (row.answered, row.required) for row in rows} == given
    assert given["till-1"] == (1, 8)


def test_what_a_run_yields_about_responses_is_merged(workspace, tmp_path):
    """A verdict, a response and its score of a run in a copy, where references have other keys than here."""
    workspace.close()
    shutil.copy(workspace.path, tmp_path / "copy.duckdb")
    run = uuid4()
    with Workspace.open(tmp_path / "copy.duckdb") as copy, copy.native() as cursor:
        ids = {"run": run, "first": copy.ids.next(), "second": copy.ids.next()}
        cursor.execute(
            "INSERT INTO rater VALUES (90, 'agent', 'judge/m', '', now());"
            "INSERT INTO question VALUES (95, 'answer.style', 'answer', 'Style?', '{}');"
        )
        cursor.execute(
            "INSERT INTO run VALUES ($run, 'answer', 'judge/m', '{}', 'm', 90, 'done', 1, now(), now(), 0)",
            {"run": run},
        )
        cursor.execute(
            "INSERT INTO response_ref SELECT 70, id, 'of a run', '', 0 FROM item WHERE external_id = 'till-1'"
        )
        cursor.execute("INSERT INTO response VALUES (70, 'Made.', '{}', NULL, $run, NULL)", {"run": run})
        cursor.execute(
            "INSERT INTO score SELECT $first, 70, 'judge/m', 'accuracy', 3.0, '3', 'so', '{}', 9, now(), $run, NULL",
            {"run": run, "first": ids["first"]},
        )
        cursor.execute(
            "INSERT INTO verdict SELECT $second, $run, item_id, 2.0, 'read', 'so', NULL, now(), 95, 70 "
            "FROM response_ref WHERE id = 70",
            {"run": run, "second": ids["second"]},
        )
    with Workspace.open(workspace.path) as opened:
        Expert(opened).answer("till-2", question_name("answer.accuracy", ResponseName("later")), 4.0)
        before = kept(opened)
        report = merge(opened, tmp_path / "copy.duckdb")
        assert {name: report.added[name] for name in ("verdict", "response", "score")} == {
            "verdict": 1, "response": 1, "score": 1,
        }  # fmt: skip
        assert report.imported_left == 0
        after = kept(opened)
        assert [row for row in after["response"] if row not in before["response"]] == [
            ("till-1", "of a run", "", 0, "Made.", "{}")
        ]
        with opened.native() as cursor:
            (verdict,) = cursor.execute(
                "SELECT external_id, q.name, f.model, v.value FROM verdict v JOIN question q ON q.id = v.question_id "
                "JOIN response_ref f ON f.id = v.response_ref_id JOIN item i ON i.id = v.item_id"
            ).fetchall()
        assert verdict == ("till-1", "answer.style", "of a run", 2.0)
        assert not merge(opened, tmp_path / "copy.duckdb").adds
        assert kept(opened) == after


def test_copies_with_such_items_are_merged(workspace, tmp_path):
    judge(workspace)
    workspace.close()
    shutil.copy(workspace.path, tmp_path / "copy.duckdb")
    with Workspace.open(tmp_path / "copy.duckdb") as copy:
        Expert(copy, "fay").answer("till-2", question_name("answer.clarity", ResponseName("plain")), 4.0)
        export(copy, tmp_path / "theirs.jsonl", "jsonl")
        later = kept(copy)
    with Workspace.open(workspace.path) as opened:
        before = kept(opened)
        report = merge(opened, tmp_path / "copy.duckdb")
        # Judgments have a way of their own.
        assert (report.adds, report.judgments_left, kept(opened)) == (False, 1, before)
        assert import_files(opened, [tmp_path / "theirs.jsonl"]).judgments_added == {"fay": 1}
        assert kept(opened) == later


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"content": None}, "no item 'till-1' here, and the record does not carry its content"),
        ({"content_hash": "0" * 32}, "'till-1' has other content than the judged one"),
        ({"content": {"fields": {}, "responses": [{"model": 1, "text": ""}]}}, "'model' is a number"),
        ({"content": {"chunks": []}}, "missing field 'fields'"),
        ({"question": "answer.accuracy@x[]"}, "unknown question 'answer.accuracy@x[]'"),
        ({"value": 11}, "11 is off the scale"),
    ],
)
def test_a_record_that_does_not_fit_is_refused(workspace, tmp_path, change, said):
    Expert(workspace).answer("till-1", ACCURACY, 7.0)
    export(workspace, tmp_path / "out.jsonl", "jsonl")
    record = json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8"))
    bad = json_lines(tmp_path / "bad.jsonl", [{**record, **change}])
    with new_workspace(tmp_path) as empty:
        with pytest.raises(RecordsRefused) as refused:
            import_files(empty, [bad])
        assert said in str(refused.value)
        assert many(empty, "item") == 0


def test_a_record_of_an_item_that_is_another_here_is_refused(workspace, tmp_path):
    judge(workspace)
    export(workspace, tmp_path / "out.jsonl", "jsonl")
    changed = [question("till-2", answer="Otherwise."), *QUESTIONS[2:]]
    with new_workspace(tmp_path) as other:
        import_files(other, [json_lines(tmp_path / "changed.jsonl", changed)])
        with pytest.raises(RecordsRefused, match="duplicate id 'till-2': the workspace has it with other"):
            import_files(other, [tmp_path / "out.jsonl"])
        report = import_files(other, [tmp_path / "out.jsonl"], rejects=tmp_path / "rejects.jsonl")
        assert (report.rejected, report.items_added) == (1, 2)
        assert "till-2" not in {row[-4] for row in kept(other, "judgment")["judgment"]}


def test_a_mark_that_no_such_item_has_is_refused(workspace, tmp_path):
    Expert(workspace).mark("till-1", "flag", "answer")
    export(workspace, tmp_path / "out.jsonl", "jsonl")
    record = json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8"))
    said = dict.fromkeys(("revision.issue_title", "revision.", "guess", ""), "unknown mark")
    for mark, reason in {**said, "revision.question": "this text cannot be empty"}.items():
        bad = json_lines(tmp_path / "bad.jsonl", [{**record, "mark": mark}])
        with new_workspace(tmp_path) as empty, pytest.raises(RecordsRefused, match=reason):
            import_files(empty, [bad])


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_labels_of_every_kind_come_back(workspace, files, tmp_path, ending):
    judge(workspace)
    target = tmp_path / f"labels.{ending}"
    assert export(workspace, target, "labels", comments=True).records == 6
    assert export(workspace, tmp_path / "danas", "labels", rater="dana").records == 5
    with (tmp_path / "danas").open(encoding="utf-8", newline="") as file:
        first, second, *_ = csv.DictReader(file)
    assert (first["item"], first["question"], first["word"]) == (
        "project_cc_python/2",
        "completion.cross_file",
        "yes",
    )
    assert (second["kind"], second["rater"], second["value"], second["comment"]) == (
        "completion",
        "dana",
        "2",
        "",
    )
    standing = (
        "SELECT i.kind, i.external_id, q.name, r.name, arg_max_null(j.value, j.id) AS value, "
        "arg_max(j.comment, j.id) FROM judgment j JOIN item i ON i.id = j.item_id "
        "JOIN question q ON q.id = j.question_id JOIN rater r ON r.id = j.rater_id "
        "GROUP BY ALL HAVING value IS NOT NULL ORDER BY ALL"
    )

    def labels(of):
        cursor = of.native()
        try:
            return cursor.execute(standing).fetchall()
        finally:
            cursor.close()

    with new_workspace(tmp_path) as again:
        import_files(again, files)
        report = import_files(again, [target])
        assert report.files[0].format == "labels"
        assert report.files[0].extra_ignored == ()
        assert report.judgments_added == {"dana": 5, "eli": 1}
        assert labels(again) == labels(workspace)
        assert not import_files(again, [target]).adds
    assert not import_files(workspace, [target]).adds


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ({"kind": "answer"}, "the record names no question, and items of kind 'answer' have no single label"),
        ({"kind": "pair", "question": "answer.clarity"}, "items of kind 'pair' are not asked"),
        (
            {"question": question_name("answer.clarity", ResponseName("nobody"))},
            "'till-1' has no such response here",
        ),
        ({"question": "answer.clarity@a@b"}, "unknown question 'answer.clarity@a@b'"),
        ({"item": "till-9", "question": CLARITY}, "no item 'till-9' in the workspace"),
        ({}, "is asked 'pair.match'; a label of another kind names that kind, or its question"),
        ({"question": CLARITY, "value": 0}, "0 is off the scale"),
    ],
)
def test_labels_that_do_not_fit_are_refused(workspace, tmp_path, label, said):
    path = json_lines(tmp_path / "l.jsonl", [{"item": "till-1", "rater": "x", "value": 1, **label}])
    with pytest.raises(RecordsRefused) as refused:
        import_files(workspace, [path])
    assert said in str(refused.value)


def test_a_label_may_leave_its_question_to_the_kind_and_come_with_its_response(tmp_path, files):
    labels = [
        {"item": "project_cc_python/1", "kind": "completion", "rater": "x", "value": 3},
        {"item": "till-1", "question": CLARITY, "rater": "x", "value": 3},
    ]
    with new_workspace(tmp_path) as workspace:
        import_files(workspace, [*files, json_lines(tmp_path / "l.jsonl", labels)])
        found = kept(workspace, "judgment")["judgment"]
        assert [row[-4:-1] for row in found] == [
            ("project_cc_python/1", "completion.keep", "x"),
            ("till-1", CLARITY, "x"),
        ]


def test_a_file_of_pairs_says_what_other_labels_it_leaves_out(workspace, tmp_path):
    pairs = json_lines(tmp_path / "pairs.jsonl", [{"id": "p", "query": "q", "code": "c"}])
    judge(workspace)
    with pytest.raises(ExportFailed, match=r"no current label of a pair.* but labels of .*--format labels"):
        export(workspace, tmp_path / "x.json", "cosqa", rater="dana")
    with pytest.raises(ExportFailed, match=r"There are no pairs.*--format judgments"):
        export(workspace, tmp_path / "x.csv", "csv", rater="dana")
    import_files(workspace, [pairs])
    Expert(workspace).answer("p", "pair.match", 1.0)
    for form in ("jsonl", "csv", "parquet", "cosqa", "cosqa-plus"):
        report = export(workspace, tmp_path / f"x-{form}", form, rater="dana")
        assert (report.records, report.left_out) == (1, 0)
        assert report.labelled == (1 if form in ("csv", "parquet") else None)
        assert report.others == {"answer": 2, "completion": 1}
