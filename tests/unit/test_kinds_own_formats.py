"""The kinds' own formats: what a workspace holds is written in them, and makes the same workspace again."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kinds import Expert, json_lines, kept, many, new_workspace, task

from store.errors import ExportFailed
from store.export.exporting import export
from store.formats.crosscodeeval import context
from store.formats.protocol import Entity
from store.ingest.importing import import_files

FORMS = ("crosscodeeval", "predictions", "questions", "answers")

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAME = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6)
SCORE = st.fixed_dictionaries(
    {
        "judge": st.sampled_from(["j", "k"]),
        "measure": st.sampled_from(["accuracy", "clarity"]),
        "score": st.sampled_from([-1, 7, 7.5, None, "nine", "-1", "7"]),
    },
    optional={"reason": TEXT, "tokens": st.integers(0, 9)},
)
ITEM = st.sampled_from(["1", "2", "9"])
QUESTION = st.fixed_dictionaries(
    {"question": TEXT.filter(bool), "answer": TEXT},
    optional={
        "repository": TEXT,
        "language": TEXT,
        "kind": st.none() | TEXT,
        "issue": st.fixed_dictionaries(
            {},
            optional={
                "number": st.integers(0, 5),
                "title": TEXT,
                "comments": st.lists(st.fixed_dictionaries({"by": TEXT, "body": TEXT}), max_size=2),
                "labels": st.lists(TEXT, max_size=2),
                "state": TEXT,
            },
        ),
        "chunks": st.lists(
            st.fixed_dictionaries(
                {"text": TEXT},
                optional={"file": TEXT, "score": st.floats(-1, 1), "setting": TEXT, "seen": st.booleans()},
            ),
            max_size=3,
        ),
    },
)
CHUNK = st.fixed_dictionaries(
    {"retrieved_chunk": TEXT}, optional={"filename": TEXT, "score": st.integers(0, 9), "why": TEXT}
)
CONTEXT = st.fixed_dictionaries({"list": st.lists(CHUNK, max_size=2), "text": TEXT}, optional={"seen": TEXT})
TASK = st.fixed_dictionaries({"prompt": TEXT, "groundtruth": TEXT.filter(bool), "right_context": TEXT})
RESPONSE = st.tuples(ITEM, NAME, TEXT, st.integers(0, 2), TEXT, st.lists(SCORE, max_size=3))


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def pending(workspace):
    """The pending responses, by what names them."""
    cursor = workspace.native()
    try:
        return cursor.execute(
            "SELECT * EXCLUDE (source_id, line) FROM pending_response ORDER BY ALL"
        ).fetchall()
    finally:
        cursor.close()


def out_and_in(workspace, again, folder):
    """Write a workspace in the kinds' own formats, and import all that into another one."""
    files = [folder / f"out-{form}.jsonl" for form in FORMS]
    for form, target in zip(FORMS, files, strict=True):
        export(workspace, target, form, overwrite=True)
    assert [file.format for file in import_files(again, files).files] == list(FORMS)


@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    questions=st.tuples(QUESTION, QUESTION),
    tasks=st.tuples(TASK, TASK),
    contexts=st.tuples(CONTEXT, CONTEXT),
    answers=st.lists(RESPONSE, min_size=1, max_size=4, unique_by=lambda one: one[:4]),
    predictions=st.lists(RESPONSE, min_size=1, max_size=4, unique_by=lambda one: one[:4]),
)
def test_whatever_was_imported_comes_out_and_in_again(
    tmp_path, questions, tasks, contexts, answers, predictions
):
    told = [{"id": str(number), **one} for number, one in enumerate(questions, start=1)]
    done = [
        {**one, "metadata": {"task_id": str(number)}, "crossfile_context": {**context, "setting": "bm25"}}
        for number, (one, context) in enumerate(zip(tasks, contexts, strict=True), start=1)
    ]
    answered = [
        {"question_id": item, "model": model, "setting": set_, "trial": trial, "answer": text, "scores": said}
        for item, model, set_, trial, text, said in answers
    ]
    predicted = [
        {"task_id": item, "model": model, "setting": set_, "trial": trial, "pred": text}
        for item, model, set_, trial, text, _ in predictions
    ]
    records = dict(zip(FORMS, (done, predicted, told, answered), strict=True))
    with new_workspace(tmp_path) as workspace, new_workspace(tmp_path) as again:
        files = [json_lines(tmp_path / f"{form}.jsonl", made) for form, made in records.items()]
        import_files(workspace, files)
        out_and_in(workspace, again, tmp_path)
        assert kept(again) == kept(workspace)
        assert pending(again) == pending(workspace)


@pytest.fixture
def workspace(tmp_path):
    """A workspace with three tasks under two settings of context."""
    with new_workspace(tmp_path) as made:
        import_files(made, [json_lines(tmp_path / "tasks.jsonl", [task(number) for number in (1, 2, 3)])])
        other = task(1)
        other["crossfile_context"] = {"list": [{"retrieved_chunk": "x\ny", "filename": "y.py", "why": 1}]}
        import_files(made, [json_lines(tmp_path / "other.jsonl", [other])], setting="oracle")
        yield made


def test_tasks_are_written_with_the_context_of_one_setting(workspace, tmp_path):
    with pytest.raises(ExportFailed, match="there are 2: '', 'oracle'"):
        export(workspace, tmp_path / "all.jsonl", "crosscodeeval")
    assert not (tmp_path / "all.jsonl").exists()
    export(workspace, tmp_path / "plain.jsonl", "crosscodeeval", setting="")
    assert rows(tmp_path / "plain.jsonl") == [task(number) for number in (1, 2, 3)]
    export(workspace, tmp_path / "oracle.jsonl", "crosscodeeval", setting="oracle")
    first, second, _ = rows(tmp_path / "oracle.jsonl")
    (chunk,) = first["crossfile_context"]["list"]
    assert chunk == {"retrieved_chunk": "x\ny", "filename": "y.py", "why": 1}
    made = Entity("chunk", {"path": "y.py", "text": "x\ny"}, {})
    assert first["crossfile_context"]["text"] == context("python", [made])
    assert "crossfile_context" not in second
    with new_workspace(tmp_path) as again:
        import_files(again, [tmp_path / "plain.jsonl", tmp_path / "oracle.jsonl"])
        assert kept(again) == kept(workspace)
    # Known tasks under another setting bring their context, and no other details.
    (file,) = import_files(workspace, [tmp_path / "oracle.jsonl"], setting="third").files
    assert (file.items_known, file.items_differing, file.adds) == (3, 0, False)


def test_a_raters_answers_stand_beside_the_tasks_and_choose_among_them(workspace, tmp_path):
    expert = Expert(workspace)
    for item, values in ((1, (1, 2, 1)), (2, (3, 3, 3)), (3, (1,))):
        for name, value in zip(("cross_file", "predictable", "keep"), values, strict=False):
            expert.answer(f"project_cc_python/{item}", f"completion.{name}", float(value))
    chosen = {"setting": "", "rater": "dana"}
    assert export(workspace, tmp_path / "a.jsonl", "crosscodeeval", **chosen).left_out == 0
    assert [row["annotation"] for row in rows(tmp_path / "a.jsonl")] == [
        {"cross_file": "A", "predictable": "B", "keep": "A"},
        {"cross_file": "C", "predictable": "C", "keep": "C"},
        {"cross_file": "A"},
    ]
    report = export(workspace, tmp_path / "kept.jsonl", "crosscodeeval", **chosen, only_kept=True)
    assert (report.records, report.left_out) == (1, 2)
    assert [row["metadata"]["task_id"] for row in rows(tmp_path / "kept.jsonl")] == ["project_cc_python/1"]


def test_a_question_is_written_as_it_was_revised_with_what_was_imported_beside_it(tmp_path):
    questions = [
        {"id": "1", "question": "Why?", "answer": "No."},
        {"id": "2", "question": "How?", "answer": ""},
    ]
    with new_workspace(tmp_path) as workspace:
        import_files(workspace, [json_lines(tmp_path / "q.jsonl", questions)])
        dana, eli = Expert(workspace), Expert(workspace, "eli")
        dana.mark("1", "revision.question", "answer", text="Why so?")
        eli.mark("1", "revision.question", "answer", text="Why not?")
        dana.mark("1", "revision.reference", "answer", text="Therefore.")
        dana.mark("2", "revision.question", "answer", text="How so?")
        dana.recorder.undo().result(60)
        eli.recorder.undo().result(60)
        export(workspace, tmp_path / "out.jsonl", "questions")
        revised = {
            "id": "1",
            "question": "Why so?",
            "answer": "Therefore.",
            "imported": {"question": "Why?", "answer": "No."},
        }
        assert rows(tmp_path / "out.jsonl") == [revised, questions[1]]
    with new_workspace(tmp_path) as again:
        import_files(again, [tmp_path / "out.jsonl"])
        Expert(again).mark("1", "revision.question", "answer", text="Why at all?")
        export(again, tmp_path / "again.jsonl", "questions")
        assert rows(tmp_path / "again.jsonl")[0] == {**revised, "question": "Why at all?"}


def test_one_setting_of_responses_is_written(tmp_path):
    said = {"judge": "j", "measure": "accuracy", "score": 7, "reason": "r"}
    answers = [
        {"question_id": "1", "model": "m", "setting": "a", "answer": "A", "scores": [said]},
        {"question_id": "1", "model": "m", "setting": "b", "answer": "B"},
        {"question_id": "9", "model": "m", "setting": "a", "answer": "C", "scores": [said]},
    ]
    files = [
        json_lines(tmp_path / "q.jsonl", [{"id": "1", "question": "Why?", "answer": ""}]),
        json_lines(tmp_path / "a.jsonl", answers),
    ]
    with new_workspace(tmp_path) as workspace:
        import_files(workspace, files)
        assert export(workspace, tmp_path / "all", "answers").records == 3
        assert rows(tmp_path / "all") == answers
        assert export(workspace, tmp_path / "a", "answers", setting="a").records == 2
        with pytest.raises(ExportFailed, match="no answers by models under the setting 'c'"):
            export(workspace, tmp_path / "c", "answers", setting="c")
        report = export(workspace, tmp_path / "mt", "mt-bench")
        assert (report.records, report.left_out) == (1, 1)
        assert rows(tmp_path / "mt")[0]["measure"] == "accuracy"
        assert many(workspace, "pending_response") == 1


@pytest.mark.parametrize(
    ("form", "chosen", "said"),
    [
        (
            "answers",
            {"rater": "dana"},
            "format answers does not hold the labels of one rater.*--format labels",
        ),
        ("labels", {"setting": "x"}, "format labels knows no settings"),
        ("jsonl", {"only_kept": True}, "format jsonl does not choose by what a rater keeps"),
        ("crosscodeeval", {"only_kept": True, "setting": ""}, "needs the rater whose labels count.*--rater"),
        (
            "crosscodeeval",
            {"only_kept": True, "setting": "", "rater": "dana"},
            "no completions that the rater keeps",
        ),
        ("questions", {}, "There are no repository questions"),
        ("predictions", {}, "There are no completions by models"),
        ("mt-bench", {}, "There are no scores of answers"),
        ("labels", {}, "There are no labels"),
    ],
)
def test_what_cannot_be_written_is_said(workspace, tmp_path, form, chosen, said):
    Expert(workspace)
    with pytest.raises(ExportFailed, match=said):
        export(workspace, tmp_path / "x", form, **chosen)
    assert not (tmp_path / "x").exists()


def test_a_files_name_that_tells_a_setting_or_a_language_adds_none(tmp_path):
    """CrossCodeEval's own names tell both, and an export may be called as its files are."""
    pending_rows = [
        {"groundtruth": "nowhere()", "prediction": "a"},
        {"groundtruth": "nowhere()", "prediction": "b", "language": "python"},
    ]
    with new_workspace(tmp_path) as workspace, new_workspace(tmp_path) as again:
        import_files(workspace, [json_lines(tmp_path / "tasks.jsonl", [task(1)])])
        import_files(workspace, [json_lines(tmp_path / "rows.jsonl", pending_rows)], model="m")
        before = kept(workspace), pending(workspace)
        tasks = tmp_path / "line_completion_rg1_bm25.jsonl"
        responses = tmp_path / "java.m.line_completion_rg1_bm25.jsonl"
        export(workspace, tasks, "crosscodeeval")
        export(workspace, responses, "predictions")
        for into in (workspace, again):
            import_files(into, [tasks, responses])
            assert (kept(into), pending(into)) == before
