"""items, judge and report on the command line: what scripts are told, and what is on disk afterwards."""

import hashlib
import json
import re

import pytest
from made_once import built_once
from review_bench import Ran, bench, write_expert_run
from several_kinds import three_kinds
from sqlalchemy import select

from store.errors import JudgmentRefused
from store.kinds.pair import MATCH
from store.record.scales import Scale, ScaleValue, scale_value
from store.tables.columns import table_of
from store.tables.record import JudgmentRow
from store.workspace.duckdb import Workspace
from store.workspace.journal import journal_path, read_journal

PAIRS = [
    {"id": "q1/1", "query": "reverse a list", "code": "def back(x):\n    return x[::-1]\n", "name": "back"},
    {"id": "q1/2", "query": "reverse a list", "code": "def first(x):\n    return x[0]\n", "name": "first"},
    {"id": "q2/1", "query": "add \x1b[31m[red]one", "code": "def inc(x):\n    return x + 1\n", "name": "inc"},
]


@built_once
def study(workbench, in_folder):
    text = "".join(json.dumps(pair) + "\n" for pair in PAIRS)
    (in_folder / "pairs.jsonl").write_text(text, encoding="utf-8")
    assert workbench("import", "study.duckdb", "pairs.jsonl").code == 0
    return in_folder / "study.duckdb"


def judgments(study):
    table = table_of(JudgmentRow)
    with Workspace.open(study) as workspace, workspace.reading() as connection:
        return connection.execute(select(table).order_by(table.c.id)).mappings().all()


def test_a_judgment_is_on_disk_in_the_workspace_and_in_the_journal(workbench, study):
    done = workbench("judge", study, "q1/1", "match", "--rater", "dana", "--comment", "fine")
    assert done.code == 0
    assert "q1/1: 1 match" in done.out
    assert "rater dana" in done.out
    (row,) = judgments(study)
    assert (row["value"], row["origin"], row["comment"], row["blind"]) == (1.0, "independent", "fine", False)
    assert row["shown_verdict"] is None
    (line,) = read_journal(journal_path(study))
    assert line.record["record"]["id"] == str(row["id"])


def test_lines_are_cited_as_they_stand_in_the_panes(workbench, study):
    done = workbench(
        "judge", study, "q1/1", "0", "--rater", "dana", "--evidence", "code:2", "--evidence", "code:1-2", "--json"
    )  # fmt: skip
    assert done.code == 0
    (cited,) = done.json()["evidence"]
    code = PAIRS[0]["code"]
    assert (cited["part"], cited["first"], cited["last"]) == ("code", 1, 2)
    assert cited["text"] == code.rstrip("\n")
    assert cited["sha256"] == hashlib.sha256(code.encode()).hexdigest()
    (row,) = judgments(study)
    assert json.loads(row["evidence"]) == [cited]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("code:3", "the code has 2 lines"),
        ("code:0", "names no lines"),
        ("code:2-1", "names no lines"),
        ("verdict:1", "names no lines"),
        ("code", "names no lines"),
        ("test:1", "no test to cite"),
    ],
)
def test_lines_that_are_not_there_are_refused(workbench, study, asked, words):
    done = workbench("judge", study, "q1/1", "0", "--rater", "dana", "--evidence", asked, "--json")
    assert done.code == 2
    assert words in done.json()["error"]["message"]
    assert not judgments(study)


def test_nobody_judges_under_the_name_of_an_imported_rater(workbench, study, in_folder):
    (in_folder / "labels.csv").write_text("item,rater,value\nq1/1,ana,0\n", encoding="utf-8")
    assert workbench("import", study, "labels.csv").code == 0
    done = workbench("judge", study, "q1/1", "1", "--rater", "ana", "--json")
    assert done.code == 2
    assert done.json()["error"]["title"] == "Name taken"
    assert "imported from a file" in done.json()["error"]["message"]
    assert "--rater NAME" in done.json()["error"]["hint"]
    assert [row["origin"] for row in judgments(study)] == ["import"]


def test_judging_again_supersedes_and_keeps_what_was(workbench, study):
    first = workbench("judge", study, "q1/1", "1", "--rater", "dana", "--json").json()
    second = workbench("judge", study, "q1/1", "no match", "--rater", "dana", "--json").json()
    assert first["supersedes"] is None
    assert second["supersedes"] == first["judgment"]
    assert [row["value"] for row in judgments(study)] == [1.0, 0.0]
    (item,) = workbench("items", study, "--rater", "dana", "--status", "judged", "--json").json()["items"]
    assert (item["item"], item["label"]) == ("q1/1", 0.0)


def test_an_item_can_be_given_by_its_number(workbench, study):
    number = workbench("items", study, "--json").json()["items"][1]["number"]
    assert workbench("judge", study, number, "0", "--rater", "dana", "--json").json()["item"] == "q1/2"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nothing", "1", "--rater", "dana"), "nothing"),
        (("q1/1", "2", "--rater", "dana"), "1 match, 0 no match"),
        (("q1/1", "perhaps", "--rater", "dana"), "'perhaps'"),
        (("q1/1", "nan", "--rater", "dana"), "1 match"),
        (("q1/1", "1", "--rater", " "), "--rater NAME"),
        (("q1/1", "1", "--rater", "da\x1bna"), "control characters"),
    ],
)
def test_what_cannot_be_judged_is_refused_and_nothing_is_stored(workbench, study, arguments, says):
    done = workbench("judge", study, *arguments, "--json")
    assert done.code == 2
    assert says in json.dumps(done.json()["error"])
    assert judgments(study) == []


def test_the_rater_comes_from_the_configuration_too(workbench, study, monkeypatch):
    monkeypatch.setenv("WORKBENCH_RATER", "eli")
    assert workbench("judge", study, "q1/1", "1", "--json").json()["rater"] == "eli"
    assert workbench("--rater", "dana", "judge", study, "q1/1", "1", "--json").json()["rater"] == "dana"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("0", 0),
        ("match", 1),
        ("no match", 0),
        ("no-match", 0),
        ("No_Match", 0),
        ("1.0", 1),
        ("-0", 0),
        ("1 match", 1),
    ],
)
def test_a_value_is_a_number_or_a_word(text, value):
    assert repr(float(scale_value(MATCH.scale, text))) == repr(float(MATCH.scale.check(value)))


@pytest.mark.parametrize("text", ["", "2", "yes", "inf", "nan", "0.5", "-1", "-0.5", "_1", "- 1", "0_1"])
def test_anything_else_is_no_value(text):
    with pytest.raises(JudgmentRefused):
        scale_value(MATCH.scale, text)


@pytest.mark.parametrize(("text", "value"), [("-1", -1), ("-1 made-worse", -1), ("made worse", -1), ("1", 1)])
def test_a_hyphen_before_a_number_is_its_sign(text, value):
    scale = Scale(
        "ordinal", (ScaleValue(-1, "made worse", "x"), ScaleValue(0, "no", "n"), ScaleValue(1, "yes", "y"))
    )
    assert scale_value(scale, text) == value


def test_items_are_listed_by_status(workbench, study):
    workbench("judge", study, "q1/1", "1", "--rater", "dana")

    def listed(*options):
        return [one["item"] for one in workbench("items", study, "--json", *options).json()["items"]]

    assert listed("--rater", "dana", "--status", "judged") == ["q1/1"]
    assert listed("--rater", "dana", "--status", "open") == ["q1/2", "q2/1"]
    assert listed("--rater", "dana", "--status", "skipped") == []
    assert listed("--rater", "dana", "--status", "cannot_decide") == []
    assert listed("--text", "FIRST(") == ["q1/2"]
    assert workbench("items", study, "--status", "nonsense").code == 2


def test_a_limit_keeps_the_true_count(workbench, study):
    facts = workbench("items", study, "--limit", "2", "--json").json()
    assert facts["total"] == 3
    assert [one["item"] for one in facts["items"]] == ["q1/1", "q1/2"]
    assert "2 of 3" in workbench("items", study, "--limit", "2").out


def test_a_rater_named_on_the_command_line_must_exist_the_login_name_need_not(workbench, study):
    done = workbench("items", study, "--rater", "danna", "--json")
    assert done.code == 2
    assert "danna" in done.json()["error"]["message"]
    assert workbench("items", study, "--status", "open", "--json").json()["total"] == 3
    with Workspace.open(study) as workspace, workspace.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM rater").scalar() == 0


def test_items_carry_their_query_code_and_language_and_every_field_is_documented(
    workbench, in_folder, repository
):
    code = "def f():\r\n\treturn '\x00\u202e'\r\n"
    pair = {"id": "x", "query": "q", "code": code, "language": "java", "name": "f", "path": "a/b.java"}
    (in_folder / "p.jsonl").write_text(
        json.dumps(pair) + "\n" + json.dumps({"id": "y", "query": "r", "code": "c"}), encoding="utf-8"
    )
    workbench("import", "w.duckdb", "p.jsonl")
    task = {"prompt": "p", "groundtruth": "g", "right_context": "", "metadata": {"task_id": "t"}}
    (in_folder / "t.jsonl").write_text(json.dumps(task), encoding="utf-8")
    (in_folder / "q.jsonl").write_text(json.dumps({"question": "Why?", "answer": "So."}), encoding="utf-8")
    workbench("import", "w.duckdb", "t.jsonl")
    workbench("import", "w.duckdb", "q.jsonl")
    first, second, completion, question = workbench("items", "w.duckdb", "--json").json()["items"]
    assert {name: first[name] for name in ("query", "code", "language", "name", "path")} == {
        name: pair[name] for name in ("query", "code", "language", "name", "path")
    }
    assert (second["code"], second["language"], second["repository"]) == ("c", "python", "")
    page = (repository / "docs/scripting.md").read_text(encoding="utf-8")
    table = page[page.index("## The fields of an item") : page.index("## Common fields")]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    for item, kind in ((first, "a pair"), (completion, "a completion"), (question, "a repository question")):
        told = [row.split("|")[1] for row in rows if f"| for {kind}:" in row or "| for a" not in row]
        assert re.findall(r"`(\w+)`", " ".join(told)) == list(item)


def test_items_tell_the_execution_that_the_agents_label_rests_on(
    workbench, in_folder, monkeypatch, repository
):
    with bench(in_folder) as made:
        study = made.path
        write_expert_run(made, 4, "erik", "assert True\n", Ran([("one", "passed", "")]))
    items = {item["item"]: item for item in workbench("items", study, "--json").json()["items"]}
    execution = items["failing"]["execution"]
    assert (execution["exit_reason"], execution["executable"]) == ("assertion", True)
    assert (execution["passed"], execution["failed"], execution["errors"]) == (1, 1, 1)
    assert (execution["not_discriminating"], execution["flaky"]) == (0, 1)
    assert execution["stdout"] == "opened\n" * 40
    tested = items["tested"]["execution"]
    assert tested["not_discriminating"] == 1
    assert [(test["name"], test["discriminates"], test["flaky"]) for test in tested["tests"]] == [
        ("missing", False, False),
        ("only_newline", True, False),
    ]
    page = (repository / "docs/scripting.md").read_text(encoding="utf-8")
    table = page[page.index("## The fields of an execution") : page.index("## Agreement")]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`(\w+)`", " ".join(rows))) == set(tested)
    for name in ("clear-match", "not-looked", "step-failed"):
        assert items[name]["execution"] is None
    (run,) = items["failing"]["expert_runs"]
    assert (run["rater"], run["edited"], run["program"], run["passed"]) == ("erik", True, "assert True\n", 1)
    assert items["tested"]["expert_runs"] == []

    monkeypatch.setenv("WORKBENCH_SCREENS__BLIND", "true")
    blind = workbench("items", study, "--json").json()
    assert blind["blind"]
    assert {item["execution"] for item in blind["items"]} == {None}
    assert not any(item["expert_runs"] for item in blind["items"])


def test_texts_of_items_cannot_command_a_terminal(workbench, study):
    plain = workbench("items", study)
    assert "\x1b" not in plain.out
    assert "␛[31m[red]one" in plain.out
    assert workbench("items", study, "--json").json()["items"][2]["title"] == PAIRS[2]["query"]
    assert "\x1b" not in workbench("items", study, "--json").out


def test_the_report_counts_what_was_judged(workbench, study):
    workbench("judge", study, "q1/1", "1", "--rater", "dana")
    facts = workbench("report", study, "progress", "--rater", "dana", "--json").json()
    assert facts["report"] == "progress"
    assert (facts["items"], facts["judged"], facts["left"], facts["today"]) == (3, 1, 2, 1)
    assert facts["items_by_kind"] == {"pair": 3}
    assert facts["raters"] == [{"name": "dana", "kind": "human", "labelled": 1}]
    assert facts["cost"] == 0.0
    assert (facts["agent_labelled"], facts["compared"], facts["agreed"]) == (0, 0, 0)
    plain = workbench("report", study, "--rater", "dana").out
    assert "1 of 3 (33.3 %)" in plain
    assert "dana" in plain
    assert workbench("report", study, "nonsense").code == 2


def test_a_blind_review_tells_nothing_of_the_agents(workbench, study, monkeypatch):
    monkeypatch.setenv("WORKBENCH_SCREENS__BLIND", "true")
    facts = workbench("report", study, "--json").json()
    assert facts["blind"] is True
    assert facts["agent_labelled"] is None
    listed = workbench("items", study, "--json").json()
    assert listed["blind"] is True
    assert {one["agent_label"] for one in listed["items"]} == {None}


def test_items_of_an_unknown_kind_are_reported(workbench, study):
    before = workbench("report", study, "progress")
    assert (before.code, "Unknown task kind" in before.out) == (0, False)
    with Workspace.open(study) as workspace, workspace.native() as cursor:
        cursor.execute("UPDATE item SET kind = 'note' WHERE id = 1")
    told = workbench("report", study, "progress").out
    assert "Unknown task kind 'note': the judgments of its items are kept" in told


# -- several questions ------------------------------------------------------------------------------------


def test_one_of_several_questions_is_answered_by_its_name(workbench, tmp_path):
    three_kinds(tmp_path).close()
    study = tmp_path / "kinds.duckdb"
    name = "answer.clarity@two%23"
    for question, value, item, told in (
        ("cross_file", "B", "sum/1", ("completion.cross_file", 2, "B this file is enough")),
        ("completion.keep", "C drop", "sum/1", ("completion.keep", 3, "C drop")),
        ("keep", "drop", "sum/1", ("completion.keep", 3, "C drop")),
        ("clarity@two%23", "10", "q2", (name, 10, "10 clear and concise")),
        (name, "9", "q2", (name, 9, "9 clear and concise")),
    ):
        done = workbench(
            "judge", study, item, value, "--question", question, "--rater", "dana", "--json"
        ).json()
        assert (done["question"], done["value"], done["word"]) == told
    assert (
        workbench("judge", study, "p1", "1", "--rater", "dana", "--json").json()["question"] == "pair.match"
    )
    items = workbench("items", study, "--rater", "dana", "--json").json()["items"]
    assert [
        (one["item"], one["answered"], one["required"], one["label"]) for one in items if one["answered"]
    ] == [
        ("p1", 1, 1, 1.0),
        ("sum/1", 2, 3, 3.0),
        ("q2", 1, 8, None),
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("sum/1", "A"),
            "This item is asked several questions. Name one with --question: completion.cross_file, ",
        ),
        (("sum/1", "A", "--question", "accuracy"), "It is not asked 'accuracy'."),
        # Where there are answers, these are scored and not the reference.
        (("q2", "7", "--question", "accuracy"), "'accuracy' is asked of 2 responses."),
        (("q2", "7", "--question", "accuracy"), "answer.accuracy@two%23"),
        (("sum/1", "4", "--question", "keep"), "Use one of: A keep, B unsure, C drop."),
    ],
)
def test_a_question_that_is_not_asked_is_refused_with_those_that_are(workbench, tmp_path, arguments, says):
    three_kinds(tmp_path).close()
    done = workbench("judge", tmp_path / "kinds.duckdb", *arguments, "--rater", "dana")
    assert done.code != 0
    assert done.says(says)
    assert judgments(tmp_path / "kinds.duckdb") == []


def test_a_question_without_anything_to_score_takes_no_score(workbench, in_folder):
    question = {"id": "q-8", "question": "Where?", "issue": {"title": "Where?", "body": "I wonder."}}
    (in_folder / "q.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
    (in_folder / "a.md").write_text("Here.", encoding="utf-8")
    workbench("import", "s.duckdb", "q.jsonl")
    score = ("judge", "s.duckdb", "q-8", "7", "--question", "accuracy", "--rater", "dana")
    done = workbench(*score)
    assert done.code == 2
    assert done.says("q-8 has no response yet, and no replacement for one.")
    workbench("revise", "s.duckdb", "q-8", "--part", "reference", "--file", "a.md", "--rater", "dana")
    assert workbench(*score).code == 0


@pytest.fixture
def questions(workbench, in_folder):
    question = {"id": "q-7", "question": "Where?", "answer": "Here."}
    (in_folder / "questions.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
    assert workbench("import", "study.duckdb", "questions.jsonl").code == 0
    return in_folder / "study.duckdb"


def test_the_only_response_need_not_be_named(workbench, questions, in_folder):
    (in_folder / "answers.jsonl").write_text(
        json.dumps({"question_id": "q-7", "model": "small", "answer": "There."}), encoding="utf-8"
    )
    assert workbench("import", questions, "answers.jsonl").code == 0
    score = ("judge", questions, "q-7", "8", "--question", "clarity", "--rater", "dana", "--json")
    assert workbench(*score).json()["question"] == "answer.clarity@small"


def test_a_text_is_rewritten_from_a_file(workbench, questions, in_folder):
    better = in_folder / "better.md"
    better.write_text("There.\n\nOr *not*.\n", encoding="utf-8")
    asked = ("revise", questions, "q-7", "--part", "reference", "--file", better, "--rater", "dana")
    done = workbench(*asked, "--json").json()
    assert (done["text"], done["before"], done["rater"]) == ("There.\n\nOr *not*.", "Here.", "dana")
    assert (done["item"], done["part"], done["supersedes"]) == ("q-7", "reference", None)
    (line,) = read_journal(journal_path(questions))
    assert line.record["record"]["id"] == done["revision"]
    again = workbench(*asked)
    assert (again.code, again.out) == (0, "q-7: the reference answer is unchanged; nothing was recorded.\n")
    (item,) = workbench("items", questions, "--json").json()["items"]
    assert (item["reference"], item["revised"], item["question"]) == (done["text"], ["reference"], "Where?")
    better.write_text("Here.\n", encoding="utf-8")
    back = workbench(*asked)
    assert "✎ q-7: reference answer revised · rater dana" in back.out
    assert len(list(read_journal(journal_path(questions)))) == 2


@pytest.mark.parametrize(
    ("part", "text", "says"),
    [
        ("question", b" \n", "The question cannot be empty."),
        ("url", b"x", "'url' cannot be revised."),
        ("reference", b"\xff", "better.md is no UTF-8 (byte 1)."),
        ("reference", None, "better.md cannot be read: No such file or directory."),
    ],
)
def test_a_text_that_is_none_is_refused(workbench, questions, in_folder, part, text, says):
    if text is not None:
        (in_folder / "better.md").write_bytes(text)
    done = workbench(
        *("revise", questions, "q-7", "--part", part, "--file", "better.md", "--rater", "dana", "--json")
    )
    assert (done.code, done.json()["error"]["message"]) == (2, says)
    assert not journal_path(questions).exists()


def test_the_texts_of_pairs_cannot_be_rewritten(workbench, study, in_folder):
    (in_folder / "better.md").write_text("x", encoding="utf-8")
    done = workbench(
        "revise", study, "q1/1", "--part", "query", "--file", "better.md", "--rater", "dana", "--json"
    )
    assert (done.code, done.json()["error"]["message"]) == (2, "No text of pairs can be revised.")


def test_in_a_blind_review_no_model_is_named(workbench, tmp_path, monkeypatch):
    three_kinds(tmp_path).close()
    monkeypatch.setenv("WORKBENCH_SCREENS__BLIND", "true")
    for named in ((), ("--question", "accuracy")):
        done = workbench("judge", tmp_path / "kinds.duckdb", "q2", "5", *named, "--rater", "dana")
        assert done.code != 0
        assert done.says("Models are hidden")
        assert "two" not in done.err


def test_nobody_judges_under_the_name_of_a_judge(workbench, in_folder):
    question = {"id": "t1", "question": "Where?", "answer": "There."}
    answer = {
        "question_id": "t1",
        "model": "m",
        "answer": "Here.",
        "scores": [{"judge": "ours-70b", "measure": "accuracy", "score": 7}],
    }
    (in_folder / "questions.jsonl").write_text(json.dumps(question) + "\n")
    (in_folder / "answers.jsonl").write_text(json.dumps(answer) + "\n")
    workbench("import", "w.duckdb", "questions.jsonl", "answers.jsonl")
    command = ("judge", "w.duckdb", "t1", "7", "--question", "accuracy@m")
    taken = workbench(*command, "--rater", "ours-70b", "--json").json()["error"]
    assert (taken["title"], "a judge that scored responses" in taken["message"]) == ("Name taken", True)
    # Somebody who judged here before the judge's scores came goes on.
    workbench(*command, "--rater", "dana")
    answer["scores"][0]["judge"] = "dana"
    (in_folder / "answers.jsonl").write_text(json.dumps(answer) + "\n")
    workbench("import", "w.duckdb", "answers.jsonl")
    assert workbench(*command, "--rater", "dana").code == 0
