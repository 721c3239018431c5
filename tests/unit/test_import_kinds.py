"""Import of completions and what models made of them: joined, pending, refused, and out and in again."""

import json

import pytest
from kinds import json_lines, kept, many, prediction, task
from scopes import scope

from store.errors import RecordsRefused
from store.export.exporting import export
from store.ingest.importing import import_files
from store.kinds.answer import ANSWER
from store.queries.item import load_item
from store.record.actions import Action, Recorder
from store.record.ids import now
from store.record.raters import ensure_rater, question_number, register_kinds
from store.tables.record import Judgment, Mark
from store.workspace.duckdb import Workspace


@pytest.fixture
def workspace(tmp_path):
    with Workspace.create(tmp_path / "kinds.duckdb") as made:
        register_kinds(made)
        yield made


@pytest.fixture
def tasks(tmp_path):
    """A file of three tasks."""
    return json_lines(tmp_path / "tasks.jsonl", [task(number) for number in (1, 2, 3)])


def test_tasks_come_with_their_context(workspace, tasks):
    (file,) = import_files(workspace, [tasks]).files
    assert (file.format, file.items_added, file.chunks_added) == ("crosscodeeval", 3, 6)
    (first, *_) = kept(workspace, "completion")["completion"]
    assert first[:4] == ("project_cc_python/1", "python", "own-tools-1a2b3c", "run_1.py")
    assert first[4:7] == (task(1)["prompt"], task(1)["groundtruth"], task(1)["right_context"])
    assert kept(workspace, "context_chunk")["context_chunk"][0] == (
        "project_cc_python/1",
        "",
        1,
        "tools.py",
        "def thing_1(value):\n    ...",
        2.5,
        '{"crossfile_context.text":"# tools.py\\n# def thing(value):\\n"}',
    )
    again = import_files(workspace, [tasks])
    assert not again.adds
    assert again.items_known == 3


def test_predictions_are_joined_by_task_or_reference_and_others_are_pending(workspace, tasks, tmp_path):
    import_files(workspace, [tasks])
    named = [prediction(1, "thing_1(value)", model="small"), prediction(9, "x", model="small")]
    unnamed = [
        {"groundtruth": task(2)["groundtruth"], "prediction": "", "match": 0},
        {"groundtruth": "no such", "prediction": "y"},
    ]
    files = [
        json_lines(tmp_path / "named.jsonl", named),
        json_lines(tmp_path / "python.Large-1B.line_completion_rg1.jsonl", unnamed),
    ]
    first, second = import_files(workspace, files).files
    assert (first.responses_added, first.pending_responses) == (1, 1)
    assert (second.responses_added, second.pending_responses) == (1, 1)
    assert kept(workspace, "response")["response"] == [
        ("project_cc_python/1", "small", "", 0, "thing_1(value)", "{}"),
        ("project_cc_python/2", "Large-1B", "line_completion_rg1", 0, "", '{"match":0,"language":"python"}'),
    ]
    # Objects one after another without newlines are the same file to us.
    joined = tmp_path / "joined.json"
    joined.write_text("".join(json.dumps(one) for one in named))
    assert not import_files(workspace, [joined], model="small").adds


def test_a_pending_response_is_attached_when_its_item_is_imported(workspace, tasks, tmp_path):
    rows = [prediction(1, "a", model="m"), prediction(7, "b", model="m")]
    rows.append({"groundtruth": task(3)["groundtruth"], "prediction": "c", "model": "m"})
    (file,) = import_files(workspace, [json_lines(tmp_path / "rows.jsonl", rows[:2])]).files
    assert file.pending_responses == 2
    import_files(workspace, [json_lines(tmp_path / "more.jsonl", rows[2:])])
    report = import_files(workspace, [tasks])
    assert report.attached_responses == 2
    assert [(row[0], row[4]) for row in kept(workspace, "response")["response"]] == [
        ("project_cc_python/1", "a"),
        ("project_cc_python/3", "c"),
    ]
    assert many(workspace, "pending_response") == 1


def test_a_second_text_of_one_name_stays_pending_and_is_reported(workspace, tmp_path, workbench):
    rows = [
        {"groundtruth": task(2)["groundtruth"], "prediction": "a", "model": "m"},
        prediction(2, "b", model="m"),
    ]
    import_files(workspace, [json_lines(tmp_path / "rows.jsonl", rows)])
    second = json_lines(tmp_path / "second.jsonl", [task(2)])
    report = import_files(workspace, [second])
    assert (report.attached_responses, report.conflicting_responses) == (1, 1)
    path = workspace.path
    workspace.close()
    told = workbench("import", path, second).out
    assert "Still pending: 1 response of an item that has another text of the same model" in told
    with Workspace.open(path) as again:
        # The one that names the item is surely of it.
        assert [row[4] for row in kept(again, "response")["response"]] == ["b"]
        assert many(again, "pending_response") == 1


def test_a_reference_that_two_tasks_share_joins_nothing(workspace, tmp_path):
    both = [task(1, groundtruth="same()"), task(2, groundtruth="same()")]
    import_files(workspace, [json_lines(tmp_path / "tasks.jsonl", both)])
    row = {"groundtruth": "same()", "prediction": "x", "model": "m"}
    (file,) = import_files(workspace, [json_lines(tmp_path / "rows.jsonl", [row])]).files
    assert (file.responses_added, file.pending_responses) == (0, 1)


def test_what_came_home_stays_there_when_another_task_has_its_reference(workspace, tmp_path):
    results = json_lines(tmp_path / "m.jsonl", [{"groundtruth": "same()", "prediction": "x"}])
    import_files(workspace, [json_lines(tmp_path / "tasks.jsonl", [task(1, groundtruth="same()")]), results])
    import_files(workspace, [json_lines(tmp_path / "more.jsonl", [task(2, groundtruth="same()")])])
    (file,) = import_files(workspace, [results]).files
    assert (file.adds, file.responses_known) == (False, 1)
    (row,) = kept(workspace, "response")["response"]
    assert row[0] == "project_cc_python/1"


def test_several_texts_of_one_reference_are_given_to_no_task(workspace, tasks, tmp_path):
    import_files(workspace, [tasks])
    reference = task(1)["groundtruth"]
    rows = [
        {"groundtruth": reference, "prediction": "a"},
        {"groundtruth": reference, "prediction": "b"},
        {"groundtruth": task(2)["groundtruth"], "prediction": "c"},
        prediction(1, "d"),
    ]
    results = json_lines(tmp_path / "m.jsonl", rows)
    with pytest.raises(RecordsRefused, match=r"m\.jsonl:1: several texts of m with this reference"):
        import_files(workspace, [results])
    report = import_files(workspace, [results], rejects=tmp_path / "rejects.jsonl")
    assert report.rejected == 2
    assert [row[4] for row in kept(workspace, "response")["response"]] == ["d", "c"]


def test_a_reference_is_looked_for_among_the_tasks_of_the_files_language(workspace, tmp_path):
    def of(language, number):
        told = task(number, groundtruth="size()")
        told["metadata"] = {**told["metadata"], "task_id": f"project_cc_{language}/{number}", "file": None}
        return told

    rows = [{"groundtruth": "size()", "prediction": "x"}]
    python = json_lines(tmp_path / "tasks.jsonl", [of("python", 1)])
    java = json_lines(tmp_path / "more.jsonl", [of("java", 2)])
    results = json_lines(tmp_path / "java.M.line_completion.jsonl", rows)
    import_files(workspace, [python])
    (file,) = import_files(workspace, [results]).files
    assert (file.responses_added, file.pending_responses) == (0, 1)
    # Another language's row of the same model is no other text of the same.
    others = [{"groundtruth": "size()", "prediction": "y", "language": "C#"}]
    (file,) = import_files(workspace, [json_lines(tmp_path / "M.line_completion.jsonl", others)]).files
    assert (file.responses_added, file.pending_responses) == (0, 1)
    assert not import_files(workspace, [results]).adds
    assert import_files(workspace, [java]).attached_responses == 1
    # Where nothing tells the language, the reference has to be that of one task only.
    (file,) = import_files(workspace, [json_lines(tmp_path / "N.jsonl", rows)]).files
    assert (file.responses_added, file.pending_responses) == (0, 1)
    (file,) = import_files(workspace, [json_lines(tmp_path / "python.N.line_completion.jsonl", rows)]).files
    assert (file.responses_added, file.pending_responses) == (1, 0)
    assert [row[:2] for row in kept(workspace, "response")["response"]] == [
        ("project_cc_java/2", "M"),
        ("project_cc_python/1", "N"),
    ]


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (prediction(1, "other", model="m"), "number several of one setting: trial"),
        (prediction(1, "", model="m", trial="first"), "where a whole number is expected"),
        ({"task_id": "project_cc_python/1", "pred": 3, "model": "m"}, "'pred' is a number"),
        ({"task_id": "project_cc_python/1", "pred": None, "model": "m"}, "'pred'"),
    ],
)
def test_what_is_refused_leaves_nothing_behind(workspace, tasks, tmp_path, second, said):
    import_files(workspace, [tasks])
    before = kept(workspace)
    rows = json_lines(tmp_path / "rows.jsonl", [prediction(1, "one", model="m"), second])
    with pytest.raises(RecordsRefused, match="cannot be taken") as refused:
        import_files(workspace, [rows])
    assert said in str(refused.value)
    assert f"{rows}:2:" in str(refused.value)
    assert kept(workspace) == before
    rejects = tmp_path / "rejects.jsonl"
    (file,) = import_files(workspace, [rows], rejects=rejects).files
    assert (file.responses_added, file.rejected) == (1, 1)
    assert said in rejects.read_text()


def test_another_context_needs_another_setting(workspace, tasks, tmp_path):
    import_files(workspace, [tasks])
    other = task(1)
    other["crossfile_context"] = {
        "text": "",
        "list": [{"retrieved_chunk": "x", "filename": "y.py", "score": 1}],
    }
    file = json_lines(tmp_path / "oracle.jsonl", [other])
    with pytest.raises(RecordsRefused, match="give it another one: --setting NAME"):
        import_files(workspace, [file])
    (report,) = import_files(workspace, [file], setting="oracle").files
    assert (report.items_known, report.chunks_added) == (1, 1)
    assert [row[1] for row in kept(workspace, "context_chunk")["context_chunk"][:3]] == ["", "", "oracle"]


def test_an_id_stands_for_one_content(workspace, tasks, tmp_path):
    import_files(workspace, [tasks])
    changed = json_lines(tmp_path / "changed.jsonl", [task(2, right_context="other")])
    with pytest.raises(RecordsRefused, match="the workspace has it with other content"):
        import_files(workspace, [changed])
    assert import_files(workspace, [changed], prefix="second/").items_added == 1


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_judged_tasks_come_out_and_in_again(workspace, tasks, tmp_path, form):
    import_files(workspace, [tasks])
    rows = [
        prediction(number, f"x {number}\n", model="m", setting="s", trial=1, more=[1]) for number in (1, 2)
    ]
    import_files(workspace, [json_lines(tmp_path / "rows.jsonl", rows)])
    rater = ensure_rater(workspace, "dana")
    recorder = Recorder(workspace, rater)
    names = ("completion.cross_file", "completion.predictable", "completion.keep")
    for item, values in ((1, (1, 2, 1)), (2, (3, 3, 3))):
        for name, value in zip(names, values, strict=True):
            action = workspace.ids.next()
            with workspace.reading() as connection:
                question = question_number(connection, name)
            record = Judgment(
                id=workspace.ids.next(),
                action=action,
                item_id=item,
                question_id=question,
                rater_id=rater.id,
                value=value,
                created_at=now(),
            )
            recorder.submit(Action(action, (record,))).result(60)
    action = workspace.ids.next()
    flag = Mark(
        id=workspace.ids.next(), action=action, item_id=1, rater_id=rater.id, kind="flag", created_at=now()
    )
    recorder.submit(Action(action, (flag,))).result(60)
    before = kept(workspace)
    target = tmp_path / f"out.{form}"
    assert export(workspace, target, "judgments").records == 7
    with Workspace.create(tmp_path / "again.duckdb") as again:
        register_kinds(again)
        import_files(again, [target])
        after = kept(again)
        # Only what was judged is in the record.
        judged = {"project_cc_python/1", "project_cc_python/2"}
        for name in ("judgment", "mark"):
            assert after[name] == before[name]
        for name in ("completion", "context_chunk", "response"):
            assert after[name] == [row for row in before[name] if row[0] in judged]
        assert after["item"] == [row for row in before["item"] if row[1] in judged]
        assert not import_files(again, [target]).adds


def test_of_several_scores_the_last_in_the_file_is_the_judges_last_word(workspace, tmp_path):
    question = {"id": "q", "question": "Why?", "answer": "So."}
    said = [
        {"judge": "j", "measure": "accuracy", "score": score, "reason": f"{score}"} for score in (9, 2, 5)
    ]
    answer = {"question_id": "q", "model": "m", "answer": "Thus.", "scores": said}
    files = [json_lines(tmp_path / "q.jsonl", [question]), json_lines(tmp_path / "a.jsonl", [answer])]
    # Once with their item, and once pending until it comes.
    import_files(workspace, files)
    with Workspace.create(tmp_path / "aside.duckdb") as other:
        register_kinds(other)
        import_files(other, files[1:])
        import_files(other, files[:1])
        for made in (workspace, other):
            with made.reading() as connection:
                (response,) = load_item(connection, scope(1), ANSWER, 1).responses
            assert [score.value for score in response.scores] == [9, 2, 5]
        assert not import_files(other, files).adds


def test_a_judge_who_was_asked_several_times_has_as_many_scores(workspace, tmp_path):
    prompt = "[Question]\nHow?\n\n[The Start of Assistant's Answer]\nSo.\n[The End of Assistant's Answer]"
    row = {"question_id": 1, "model": "m", "judge": ["j", "single"], "user_prompt": prompt}
    row |= {"judgment": "[[7]]", "score": 7, "turn": 1}
    rows = [{**row, "tstamp": stamp} for stamp in (1.5, 2.5, 2.5)]
    file = json_lines(tmp_path / "m.jsonl", rows)
    assert [each.scores_added for each in import_files(workspace, [file]).files] == [2]
    out = [tmp_path / "out.jsonl", tmp_path / "answers.jsonl"]
    export(workspace, out[0], "mt-bench")
    export(workspace, out[1], "answers")
    turned = json_lines(tmp_path / "turned.jsonl", [dict(reversed(each.items())) for each in rows])
    assert not import_files(workspace, [file, *out, turned]).adds
    with Workspace.create(tmp_path / "again.duckdb") as again:
        register_kinds(again)
        import_files(again, out)
        assert kept(again, "score") == kept(workspace, "score")


def test_items_that_were_judged_without_responses_are_told_when_some_come(workspace, tmp_path, workbench):
    questions = [{"id": name, "question": "Why?", "answer": "So."} for name in ("q", "r", "s")]
    import_files(workspace, [json_lines(tmp_path / "q.jsonl", questions)])
    path = workspace.path
    workspace.close()
    for item in ("q", "r"):
        workbench("judge", path, item, "7", "--question", "accuracy", "--rater", "dana")
    answers = json_lines(
        tmp_path / "a.jsonl", [answered("m", "A"), {**answered("m", "A"), "question_id": "s"}]
    )
    assert workbench("import", path, answers, "--dry-run", "--json").json()["reopened_items"] == 1
    assert (
        "Open again: 1 item, judged without responses and now with some."
        in workbench("import", path, answers).out
    )
    more = json_lines(tmp_path / "b.jsonl", [answered("n", "B")])
    assert "Open again" not in workbench("import", path, more).out


def answered(model, answer, **fields):
    return {"question_id": "q", "model": model, "answer": answer, **fields}


def test_of_each_name_one_pending_text_is_kept_with_all_its_scores(workspace, tmp_path):
    question = json_lines(tmp_path / "q.jsonl", [{"id": "q", "question": "Why?", "answer": "So."}])
    bare = json_lines(tmp_path / "bare.jsonl", [answered("m", "A")])
    import_files(workspace, [bare])
    with pytest.raises(RecordsRefused, match="than a pending response has"):
        import_files(workspace, [json_lines(tmp_path / "other.jsonl", [answered("m", "B")])])
    score = {"judge": "j", "measure": "accuracy", "score": 7, "reason": "r"}
    scored = json_lines(tmp_path / "scored.jsonl", [answered("m", "A", scores=[score])])
    (file,) = import_files(workspace, [scored]).files
    assert (file.pending_responses, file.pending_scores) == (0, 1)
    assert not import_files(workspace, [scored]).adds
    assert import_files(workspace, [question]).attached_responses == 1
    assert [row[-4:-1] for row in kept(workspace, "score")["score"]] == [(7.0, "7", "r")]
    assert many(workspace, "response") == 1
    assert many(workspace, "pending_response") == 0


def test_a_pending_response_goes_when_the_same_one_comes_with_its_item(workspace, tasks, tmp_path):
    row = {"groundtruth": task(1)["groundtruth"], "prediction": "x", "model": "m"}
    rows = json_lines(tmp_path / "rows.jsonl", [row])
    import_files(workspace, [rows])
    other = json_lines(tmp_path / "named.jsonl", [prediction(1, "y", model="m")])
    import_files(workspace, [other])
    import_files(workspace, [tasks])
    # Of two texts of one name one came home; the other one waits, and counts nowhere.
    assert many(workspace, "response") == 1
    assert many(workspace, "pending_response") == 1
    with Workspace.create(tmp_path / "both.duckdb") as both:
        register_kinds(both)
        import_files(both, [rows])
        import_files(both, [tasks, rows])
        assert (many(both, "response"), many(both, "pending_response")) == (1, 0)
