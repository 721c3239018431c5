"""`workbench write-questions`: issues become questions with reference answers, which people inspect."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from judging import Desk
from loopback_github import helpful, issue
from loopback_models import LoopbackModels, Refusal

from agents.jobs.runner import run_job
from agents.pipelines.repository_answers.writing import MOST_CHARACTERS, as_text, most_consistent, shortened
from store.analysis.answers import DIMENSIONS
from store.queries.repository_answers import GivenIssue
from store.record.raters import register_kinds
from store.record.revisions import current_texts
from store.workspace.duckdb import Workspace
from workbench.config import Config
from workbench.job_settings import annotation_settings

TITLES = ("Drawer", "Feature", "Unsolved", "Jam")
WRITE = ("--model", "openai:chat", "--json")


def stored(number: int, title: str, **fields: Any) -> dict[str, Any]:
    said = [{"user": {"login": "ana-b"}, **one} for one in helpful(3, f"Oil the {title}.")]
    return {
        "number": number,
        "user": {"login": "kim-lee"},
        "html_url": f"https://github.com/shop/till/issues/{number}",
        "state": "closed",
        "created_at": f"2024-03-0{number}T00:00:00Z",
        "closed_at": "2024-04-01T00:00:00Z",
        "labels": [{"name": "question"}],
        "comments": said,
        **issue(title),
        **fields,
    }


@pytest.fixture
def study(tmp_path: Path, workbench: Any) -> Path:
    issues = [stored(number, title) for number, title in enumerate(TITLES, start=1)]
    (tmp_path / "issues.json").write_text(json.dumps(issues))
    path = tmp_path / "a.duckdb"
    told = workbench("collect", "issues", path, tmp_path / "issues.json", "--json").json()
    assert told["added"] == 4
    return path


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackModels]:
    with LoopbackModels(script) as running:
        running.is_the_service(monkeypatch)
        yield running


def script(seen: Any, number: int) -> Any:
    """What a model says in each role; it writes another question every time."""
    title = next(title for title in TITLES if f"{title}\n" in seen.text)
    if "You decide whether" in seen.text:
        return {"reason": f"{title} asks so.", "suitable": title != "Feature"}
    if "You write a question" in seen.text:
        return {"reasoning": "r", "question": f"Why does the {title} of the till stay shut ({number})?"}
    solved = title != "Unsolved"
    return {"reasoning": f"{title} said.", "solved": solved, "answer": f"Oil the {title}." if solved else ""}


def rows(workbench: Any, path: Path, statement: str) -> list[dict[str, Any]]:
    return workbench("sql", path, statement, "--json").json()["rows"]


def exported(workbench: Any, path: Path, *more: str) -> dict[int, dict[str, Any]]:
    out = path.with_suffix(".out.jsonl")
    out.unlink(missing_ok=True)
    done = workbench("export", path, out, "--format", "questions", *more)
    assert done.code == 0, done.out
    found = map(json.loads, out.read_text().splitlines())
    return {one["issue"]["number"]: one for one in found}


def revise(workbench: Any, path: Path, item: str, part: str, text: str) -> None:
    file = path.with_suffix(".md")
    file.write_text(text)
    done = workbench("revise", path, item, "--part", part, "--file", file, "--rater", "dana")
    assert done.code == 0, done.out


def test_issues_become_questions_and_those_without_a_solution_are_dropped(
    study: Path, server: LoopbackModels, workbench: Any
) -> None:
    told = workbench("write-questions", study, *WRITE, "--samples", "4").json()
    assert (told["state"], told["written"], told["unsuitable"], told["no_solution"]) == ("done", 2, 1, 1)
    # Four are screened; of three four questions are written, and an answer.
    assert told["requests"] == 4 + 3 * 4 + 3
    screened, others = (
        [one for one in server.requests if ("You decide" in one.text) is of] for of in (True, False)
    )
    assert {one.body["temperature"] for one in others} == {0.8}
    assert {one.body.get("temperature") for one in screened} == {0.0}
    assert not any("kim-lee" in one.text or "ana-b" in one.text for one in server.requests)
    reference = next(one for one in server.requests if "You write the reference" in one.text)
    for part in ("question", "1 positive reaction", "Oil the", "open_drawer()", "stay shut"):
        assert part in reference.text
    found = exported(workbench, study)
    assert found[1]["question"].startswith("Why does the Drawer of the till stay shut (")
    assert found[1]["question"].endswith("?\n\n```python\nopen_drawer()\n```")
    assert (found[1]["answer"], found[1]["imported"]["answer"]) == ("Oil the Drawer.", "")
    assert "imported" not in found[2]
    # All samples are kept.
    steps = rows(
        workbench, study, "SELECT item, count(*) AS n FROM steps WHERE role = 'question_writer' GROUP BY 1"
    )
    assert sorted(one["n"] for one in steps) == [4, 4, 4]
    verdicts = rows(workbench, study, "SELECT item, value, path, reason FROM verdicts ORDER BY item")
    assert [(one["value"], one["path"]) for one in verdicts] == [
        (1, "written"), (3, "unsuitable"), (3, "no solution"), (1, "written"),
    ]  # fmt: skip
    assert verdicts[2]["reason"] == "Unsolved said."
    # Nothing is asked twice, and another run does not write over it.
    before = len(server.requests)
    assert (
        workbench("write-questions", study, *WRITE, "--samples", "4").json()["requests"] == told["requests"]
    )
    other = workbench("write-questions", study, *WRITE, "--samples", "1").json()
    assert (other["job"]["done"], other["job"]["failed"], len(server.requests) - before) == (0, 0, 0)
    assert exported(workbench, study) == found
    # What is dropped is not answered.
    server.script = lambda seen, _: "Oil it."
    assert workbench("answer", study, *WRITE, "--trials", "1").json()["items"] == 2


def test_what_agents_wrote_is_inspected_first_and_kept_by_a_rater(
    study: Path, server: LoopbackModels, workbench: Any
) -> None:
    before = workbench("items", study, "--json").json()["items"]
    assert {one["required"] for one in before} == {4}
    workbench("write-questions", study, *WRITE)
    after = workbench("items", study, "--json").json()["items"]
    assert {one["required"] for one in after} == {5}
    names = [one["item"] for one in after]
    for name, said in zip(names, ("keep", "drop", "mend", "mend"), strict=True):
        assert workbench("judge", study, name, said, "--question", "keep", "--rater", "dana").code == 0
    kept = ("--rater", "dana", "--only-kept")
    assert [*exported(workbench, study, *kept)] == [1]
    assert exported(workbench, study, *kept)[1]["annotation"] == {"keep": "keep"}
    told = workbench(
        "export", study, study.with_suffix(".kept"), "--format", "questions", *kept, "--overwrite"
    ).out
    assert "Left out: 3 questions: 1 dropped, 2 to be mended and not rewritten." in told
    assert workbench("judge", study, names[0], "drop", "--question", "keep", "--rater", "eve").code == 0
    kept_by_eve = ("--format", "questions", "--only-kept", "--rater", "eve")
    none = workbench("export", study, study.with_suffix(".none"), *kept_by_eve)
    assert none.says("Every question was left out: 1 dropped, 3 not inspected.")
    # Mended is what a person rewrote; agents' own texts are no mending.
    revise(workbench, study, names[3], "question", "Why is it shut?")
    assert [*exported(workbench, study, *kept)] == [1, 4]
    assert exported(workbench, study, *kept)[4]["question"] == "Why is it shut?"
    assert workbench("export", study, "x.jsonl", "--format", "questions", "--only-kept").says("Rater missing")
    # People and the agents are compared on it.
    told = workbench("report", study, "confusion", "--question", "answer.keep", "--json").json()
    assert (len(told["raters"]), told["units"]) == (2, 4)


@pytest.mark.parametrize(
    "reply",
    [
        Refusal(),
        "It is suitable.",
        {"reasoning": "r", "solved": True, "answer": " "},
        {"reasoning": "r", "solved": "yes", "answer": "a"},
        {"reasoning": "r", "answer": "a"},
    ],
)
def test_what_cannot_be_read_is_asked_again_and_writes_nothing(
    reply: Any, study: Path, server: LoopbackModels, workbench: Any
) -> None:
    server.script = lambda seen, number: (
        reply if "You write the reference" in seen.text else script(seen, number)
    )
    told = workbench("write-questions", study, *WRITE, "--limit", "1", "--samples", "1").json()
    assert (told["failed"], len(server.requests)) == (1, 4)
    assert not any("imported" in one for one in exported(workbench, study).values())
    server.script = script
    assert workbench("write-questions", study, *WRITE, "--samples", "1").json()["written"] == 2


def test_what_a_person_writes_meanwhile_stays(study: Path, server: LoopbackModels) -> None:
    job = annotation_settings(Config(), model="openai:chat", agents="write-questions", kind="answer")
    with Workspace.open(study) as opened:
        register_kinds(opened)

        def meanwhile(seen: Any, number: int) -> Any:
            if "You write the reference" in seen.text and "Drawer" in seen.text:
                Desk(opened, "dana").say(1, "revision.question", text="By hand?")
            return script(seen, number)

        server.script = meanwhile
        report = run_job(opened, job, lambda _: None)
        assert (report.done, report.failed) == (3, 1)
        with opened.reading() as connection:
            assert current_texts(connection, [1]) == {1: {"question": "By hand?"}}


def test_labels_count_where_nobody_stored_the_question(tmp_path: Path, workbench: Any) -> None:
    path = tmp_path / "pairs.duckdb"
    (tmp_path / "p.jsonl").write_text(json.dumps({"id": "a", "query": "q", "code": "def f(): pass"}))
    workbench("import", path, tmp_path / "p.jsonl")
    assert workbench("judge", path, "a", "1", "--rater", "dana").code == 0
    with duckdb.connect(str(path)) as connection:
        connection.execute("DELETE FROM question WHERE name = 'answer.keep'")
    (item,) = workbench("items", path, "--rater", "dana", "--json").json()["items"]
    assert item["status"] == "judged"


def test_what_is_dropped_is_in_no_table_until_a_ruling_keeps_it(
    study: Path, server: LoopbackModels, workbench: Any
) -> None:
    workbench("write-questions", study, *WRITE)
    server.script = lambda seen, _: (
        {name: {"reason": "so", "score": 5} for name in DIMENSIONS}
        if "You judge an answer" in seen.text
        else "Oil it."
    )
    workbench("answer", study, *WRITE, "--trials", "1")
    workbench("judge-answers", study, *WRITE)
    name = workbench("items", study, "--json").json()["items"][0]["item"]

    def judged() -> int:
        return workbench("report", study, "answers", "--json").json()["scores"][0]["n"]

    assert judged() == 2
    for rater, said in (("dana", "drop"), ("eli", "keep")):
        workbench("judge", study, name, said, "--question", "keep", "--rater", rater)
    assert judged() == 1
    assert workbench("report", study, "collection", "--json").json()["dropped"]["dropped by people"] == 1
    assert workbench("rule", study, name, "keep", "--question", "keep", "--rater", "fay").code == 0
    assert judged() == 2


def test_texts_of_people_stay(study: Path, server: LoopbackModels, workbench: Any) -> None:
    name = workbench("items", study, "--json").json()["items"][0]["item"]
    revise(workbench, study, name, "reference", "By hand.")
    told = workbench("write-questions", study, *WRITE).json()
    assert (told["written"], told["asked"]["left_out"]) == (1, 1)
    assert exported(workbench, study)[1]["answer"] == "By hand."


def test_the_estimate_counts_the_samples(study: Path, server: LoopbackModels, workbench: Any) -> None:
    told = workbench("write-questions", study, *WRITE, "--samples", "5", "--estimate").json()
    assert {one["role"]: one["requests"] for one in told["roles"]} == {
        "issue_screener": 4, "question_writer": 20, "reference_writer": 4,
    }  # fmt: skip
    assert not server.requests


def test_the_question_most_like_the_others_is_taken() -> None:
    near = ["How is the drawer opened?", "How do I open the drawer?", "What is a till made of?"]
    assert most_consistent(near) in near[:2]
    assert most_consistent(["a b", "b a", "a b"]) == "a b"
    assert most_consistent(["only one"]) == "only one"
    words = ["how is cache set", "cache is how set up", "caches sets show", "cached set shown"]
    assert most_consistent(words) in words[:2]


def test_long_issues_are_shortened_and_helpful_comments_stay() -> None:
    long = "x" * (MOST_CHARACTERS + 7)
    assert shortened(long) == f"{'x' * MOST_CHARACTERS}\n[7 more characters]"
    quiet = {"by": "participant 2", "body": "y" * (MOST_CHARACTERS // 2 - 100), "reactions": {}}
    liked = {"by": "participant 3", "body": "z" * MOST_CHARACTERS, "reactions": {"heart": 2, "eyes": 9}}
    text = as_text(GivenIssue("t", long, (), [quiet, quiet, liked]))
    half = MOST_CHARACTERS // 2
    assert text.startswith("participant 2:\nyyy")
    assert text.endswith(f"{'z' * half}\n[{half:,} more characters]\n\n[1 more comment]")
    assert "participant 3, 2 positive reactions:\nzzz" in text
    assert as_text(GivenIssue("t", "", (), [])) == "none"


def test_what_is_dropped_is_in_no_agreement_and_no_dispute(
    workbench: Any, study: Path, server: LoopbackModels, tmp_path: Path
) -> None:
    workbench("write-questions", study, *WRITE)
    first, *_ = (one["item"] for one in workbench("items", study, "--json").json()["items"])
    for rater, value in (("ana", "8"), ("ben", "3")):
        scored = ("judge", study, first, value, "--question", "accuracy", "--rater", rater)
        assert workbench(*scored).code == 0
    agreement = (
        "report",
        study,
        "agreement",
        "--question",
        "answer.accuracy",
        "--raters",
        "ana,ben",
        "--json",
    )
    assert workbench(*agreement).json()["units"] == 1
    disputes = ("adjudicate", study, "--rater", "eve", "--json")
    assert [one["question"] for one in workbench(*disputes).json()["items"]] == ["answer.accuracy"]
    for rater, said in (("ana", "keep"), ("ben", "drop")):
        assert workbench("judge", study, first, said, "--question", "keep", "--rater", rater).code == 0
    told = workbench("judge", study, first, "9", "--question", "clarity", "--rater", "ben")
    assert told.says("has '3 drop' for keep, which ends it. Change that first: --question keep")
    assert workbench(*agreement).json()["units"] == 0
    assert [one["question"] for one in workbench(*disputes).json()["items"]] == ["answer.keep"]
    (row,) = (
        one
        for one in workbench("items", study, "--rater", "ben", "--json").json()["items"]
        if one["answered"]
    )
    assert (row["answered"], row["required"], row["status"]) == (1, 1, "judged")
    # What adjudication keeps is written.
    assert workbench("rule", study, first, "keep", "--question", "answer.keep", "--rater", "eve").code == 0
    ruled = exported(workbench, study, "--only-kept", "--policy", "adjudicated")
    assert [one["id"] for one in ruled.values()] == [first]
    assert ruled[1]["annotation"] == {"keep": "keep"}
    # First answers open what was judged by its reference, and not what was dropped.
    assert workbench("judge", study, first, "drop", "--question", "keep", "--rater", "ana").code == 0
    answer = {"question_id": first, "model": "small", "answer": "There."}
    (tmp_path / "answers.jsonl").write_text(json.dumps(answer), encoding="utf-8")
    assert "Open again" not in workbench("import", study, tmp_path / "answers.jsonl").out
