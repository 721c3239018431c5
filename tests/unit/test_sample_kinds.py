"""The sample's completions, repository questions and comparisons: whole, joined, and as its README tells of them."""

import ast
import csv
import hashlib
import itertools
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from pygments.lexers import get_lexer_by_name
from pygments.token import Error

from store.kinds.comparison import in_canonical_order

FOLDER = Path(__file__).resolve().parents[2] / "sample_data"
README = (FOLDER / "README.md").read_text(encoding="utf-8")
MODELS = {"pretended-model-a", "pretended-model-b"}
MEASURES = ["accuracy", "completeness", "relevance", "clarity"]
LANGUAGES = {"python": ".py", "java": ".java", "typescript": ".ts", "csharp": ".cs"}


def records(name):
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


COMPLETIONS = {record["metadata"]["task_id"]: record for record in records("completions.jsonl")}
PREDICTIONS = records("predictions.jsonl")
QUESTIONS = {record["id"]: record for record in records("questions.jsonl")}
ANSWERS = {(record["question_id"], record["model"]): record for record in records("answers.jsonl")}
SCORES = {
    (question, model, score["measure"]): score["score"]
    for (question, model), answer in ANSWERS.items()
    for score in answer["scores"]
}


def table(first_column):
    """Rows of the README's table whose first column has this heading, as cells without backquotes."""
    heading = rf"^\| {first_column} \|.*\n\|[-| ]+\n((?:\|.*\n)+)"
    return [
        [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in rows.splitlines()]
        for rows in re.findall(heading, README, re.MULTILINE)
    ]


def language(task_id):
    return task_id.split("/")[0].removeprefix("sample_")


def whole(task):
    return task["prompt"] + task["groundtruth"] + task["right_context"]


def test_there_are_three_tasks_a_language():
    assert len(COMPLETIONS) == len(records("completions.jsonl"))
    assert Counter(map(language, COMPLETIONS)) == dict.fromkeys(LANGUAGES, 3)
    assert len({task["metadata"]["repository"] for task in COMPLETIONS.values()}) == 8


@pytest.mark.parametrize("task_id", COMPLETIONS)
def test_task_is_cut_where_its_lines_say(task_id):
    task = COMPLETIONS[task_id]
    made = ["constructed"] if task_id == "sample_python/2" else []
    assert list(task) == ["prompt", "groundtruth", "right_context", "metadata", "crossfile_context", *made]
    place = task["metadata"]
    assert list(place) == [
        *("task_id", "repository", "file", "context_start_lineno"),
        *("groundtruth_start_lineno", "right_context_start_lineno"),
    ]
    assert place["file"].endswith(LANGUAGES[language(task_id)])
    assert place["context_start_lineno"] == 0
    assert place["groundtruth_start_lineno"] == task["prompt"].count("\n")
    before = task["prompt"] + task["groundtruth"]
    assert place["right_context_start_lineno"] == before.count("\n") + 1
    # In mid-line, before a member; the statement ends with the reference, and its line too.
    assert re.search(r"\S\.$", task["prompt"])
    assert task["right_context"].startswith("\n")
    assert task["right_context"].strip()
    assert language(task_id) == "python" or task["groundtruth"].endswith((";", "{", "}"))
    assert 25 <= len(whole(task).splitlines()) <= 90


@pytest.mark.parametrize("task_id", COMPLETIONS)
def test_whole_file_is_of_its_language(task_id):
    text = whole(COMPLETIONS[task_id])
    if language(task_id) == "python":
        ast.parse(text)
    errors = [value for kind, value in get_lexer_by_name(language(task_id)).get_tokens(text) if kind is Error]
    assert errors == []
    for opening, closing in ("()", "[]", "{}"):
        assert text.count(opening) == text.count(closing)


@pytest.mark.parametrize("task_id", COMPLETIONS)
def test_chunks_are_fragments_of_other_files_and_stand_in_the_text_as_comments(task_id):
    context = COMPLETIONS[task_id]["crossfile_context"]
    chunks, mark = context["list"], "#" if language(task_id) == "python" else "//"
    assert 2 <= len(chunks) <= 5
    text = f"{mark} Here are some relevant code fragments from other files of the repo:\n\n"
    for chunk in chunks:
        assert list(chunk) == ["retrieved_chunk", "filename", "score"]
        assert chunk["filename"] != COMPLETIONS[task_id]["metadata"]["file"]
        lines = chunk["retrieved_chunk"].split("\n")
        assert len(lines) == 10
        assert all(line.strip() for line in lines)
        commented = "".join(f"{mark} {line}\n" for line in lines)
        text += f"{mark} the below code fragment can be found in:\n{mark} {chunk['filename']}\n{commented}\n"
    assert context["text"] == text
    scores = [chunk["score"] for chunk in chunks]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores)
    assert scores[-1] > 0


def test_tasks_show_what_the_readme_says():
    [rows] = table("task")
    said = {row[0]: row[1:4] for row in rows}
    assert set(said) == set(COMPLETIONS)
    for task_id, (cross_file, _, keep) in said.items():
        task = COMPLETIONS[task_id]
        member = re.match(r"\w+", task["groundtruth"]).group()
        found = any(
            re.search(rf"\b{member}\b", one["retrieved_chunk"]) for one in task["crossfile_context"]["list"]
        )
        assert found == (cross_file != "C"), f"{member} in the chunks of {task_id}"
        assert keep in {"keep", "unsure", "drop"}
        if cross_file == "A" and said[task_id][1] == "A":
            assert not re.search(rf"\b{member}\b", task["prompt"])
    assert [task_id for task_id, answers in said.items() if answers[1] == "C"] == [
        "sample_python/3",
        "sample_csharp/3",
    ]
    twice = [task_id for task_id, task in COMPLETIONS.items() if whole(task).count(task["groundtruth"]) == 2]
    assert twice == ["sample_python/2"]
    lines = {task_id: task["groundtruth"].count("\n") + 1 for task_id, task in COMPLETIONS.items()}
    assert (lines["sample_java/2"], lines["sample_csharp/2"]) == (3, 5)
    assert COMPLETIONS["sample_java/2"]["groundtruth"].endswith("{")
    assert COMPLETIONS["sample_csharp/2"]["groundtruth"].endswith("{")
    long_text = [
        task_id for task_id, task in COMPLETIONS.items() if re.search(r'"[^"]{60,}"', task["groundtruth"])
    ]
    assert long_text == ["sample_java/3"]
    assert said["sample_java/3"][2] == "drop"


def test_each_model_completes_each_task_in_each_setting_once():
    made = Counter((one["task_id"], one["model"], one["setting"]) for one in PREDICTIONS)
    settings = ("in-file", "retrieval")
    assert made == dict.fromkeys(((t, m, s) for t in COMPLETIONS for m in MODELS for s in settings), 1)
    assert all(list(one) == ["task_id", "pred", "model", "setting"] for one in PREDICTIONS)


def test_completions_are_right_and_wrong_in_the_ways_the_readme_says():
    references = {task_id: task["groundtruth"] for task_id, task in COMPLETIONS.items()}
    equal = sum(one["pred"] == references[one["task_id"]] for one in PREDICTIONS)
    begins = sum(one["pred"].startswith(references[one["task_id"]]) for one in PREDICTIONS)
    assert (equal, begins - equal) == (13, 5)
    assert [one["task_id"] for one in PREDICTIONS if not one["pred"]] == ["sample_java/3"]
    assert max(one["pred"].count("\n") for one in PREDICTIONS) >= 8


def test_questions_have_the_form_of_our_json_lines():
    assert len(QUESTIONS) == len(records("questions.jsonl")) >= 8
    assert {question["language"] for question in QUESTIONS.values()} == set(LANGUAGES)
    fields = ["id", "repository", "commit", "language", "question", "answer", "issue", "chunks"]
    for question in QUESTIONS.values():
        assert list(question) == [name for name in fields if name in question]
        assert set(fields[:6]) <= set(question)
        assert re.fullmatch(r"[0-9a-f]{40}", question["commit"])
        for chunk in question.get("chunks", []):
            assert list(chunk) == ["file", "text", "score"]
            assert chunk["text"].count("\n") == 9
        scores = [chunk["score"] for chunk in question.get("chunks", [])]
        assert scores == sorted(scores, reverse=True)
    assert sum("chunks" in question for question in QUESTIONS.values()) == 8


def test_issues_name_nobody():
    issues = {name: question["issue"] for name, question in QUESTIONS.items() if "issue" in question}
    assert [name for name, issue in issues.items() if "body" not in issue] == ["choirbook/5"]
    for name, issue in issues.items():
        assert name.endswith(f"/{issue['number']}")
        assert issue["url"].startswith("https://example.org/")
        assert {comment["by"] for comment in issue["comments"]} <= {
            "author",
            "participant 2",
            "participant 3",
        }
        times = [issue["created_at"], *(comment["created_at"] for comment in issue["comments"])]
        assert times == sorted(times)
        text = json.dumps(issue, ensure_ascii=False)
        assert not re.search(r"(?<![\w`])@\w", text)
    assert any(comment.get("reactions") for issue in issues.values() for comment in issue["comments"])


def test_issues_hold_what_is_hard_to_show():
    bodies = {name: question.get("issue", {}).get("body", "") for name, question in QUESTIONS.items()}
    assert "| Row | Measured |" in bodies["orchard/9"]
    assert "<script>" in bodies["lanternqueue/62"]
    assert "````markdown" in bodies["nightbus/23"]
    assert "\n   - " in bodies["pantryplan/17"]
    everything = "\n".join(json.dumps(question, ensure_ascii=False) for question in QUESTIONS.values())
    named = set(re.findall(r"```(\w+)", everything))
    assert {"python", "java", "typescript", "csharp", "bash", "json", "html", "diff", "text"} <= named
    assert re.search("[ぁ-ん]", QUESTIONS["seedbank/130"]["question"])


def test_every_question_is_answered_by_both_models_and_every_answer_judged_on_four_measures():
    assert len(ANSWERS) == len(records("answers.jsonl"))
    assert set(ANSWERS) == {(question, model) for question in QUESTIONS for model in MODELS}
    for (question, _), answer in ANSWERS.items():
        assert list(answer) == ["question_id", "model", "setting", "answer", "scores"]
        assert answer["setting"] == ("retrieval" if "chunks" in QUESTIONS[question] else "no-context")
        assert [score["measure"] for score in answer["scores"]] == MEASURES
        for score in answer["scores"]:
            assert list(score) == ["judge", "measure", "score", "reason"]
            assert score["judge"] == "pretended-judge"
            assert score["score"] == -1 or score["score"] in range(1, 11)
            assert len(score["reason"]) >= 10
    assert [key for key, score in SCORES.items() if score == -1] == [
        ("lanternqueue/62", "pretended-model-b", "clarity")
    ]
    reasons = [score["reason"] for answer in ANSWERS.values() for score in answer["scores"]]
    assert len(set(reasons)) == len(reasons)


def test_judge_is_wrong_where_the_readme_says_and_nowhere_else():
    scores, wrong = table("question")
    expert = {}
    for question, _, *by_model in scores:
        for model, given in zip(sorted(MODELS), by_model, strict=True):
            for measure, value in zip(MEASURES, given.split(), strict=True):
                expert[question, model, measure] = int(value)
    assert set(expert) == set(SCORES)
    assert set(expert.values()) <= set(range(1, 11))
    said = {
        (question, f"pretended-model-{model}", measure): (int(judge), int(better))
        for question, model, measure, judge, better, _ in wrong
    }
    assert said == {
        key: (SCORES[key], expert[key])
        for key in SCORES
        if SCORES[key] != -1 and abs(SCORES[key] - expert[key]) > 2
    }
    assert len(said) >= 5


def test_every_comparison_is_judged_in_both_orders_and_labelled_by_the_raters():
    comparisons = {one["id"]: one for one in records("comparisons.jsonl")}
    roles = ("judge", "judge_swapped")
    verdicts = {
        (one["subject"], one["role"]): one["reply"]["verdict"]
        for one in records("replies.jsonl")
        if one["role"] in roles
    }
    assert verdicts.keys() == set(itertools.product(comparisons, roles))
    with (FOLDER / "comparison-labels.csv").open(encoding="utf-8", newline="") as file:
        labels = list(csv.DictReader(file))
    raters = ("sample-ana", "sample-ben", "sample-chi")
    assert [(one["item"], one["rater"]) for one in labels] == list(itertools.product(comparisons, raters))
    # Labels and replies are about the first candidate of the file, which is that of the workspace.
    for one in comparisons.values():
        texts = ((one["first"], one["first_name"]), (one["second"], one["second_name"]))
        assert in_canonical_order("", one["prompt"], *texts), one["id"]


def test_readme_counts_what_there_is():
    assert f"**Completions**: {len(COMPLETIONS)} tasks in four languages" in README
    assert f"and {len(PREDICTIONS)} completions" in README
    with_issue = sum("issue" in question for question in QUESTIONS.values())
    counted = f"{len(QUESTIONS)} questions, {with_issue} of them with their issue, and {len(ANSWERS)} answers"
    assert f"{counted} with {len(SCORES)} scores" in README


def test_manifest_names_exactly_these_files():
    written = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))["files"]
    data = [path for path in FOLDER.rglob("*") if path.suffix in {".jsonl", ".csv", ".whl"}]
    data += [FOLDER / name for name in ("study.json", "practice.json", "queries.txt", "issues.json")]
    names = {path: path.relative_to(FOLDER).as_posix() for path in data}
    assert written == {names[path]: hashlib.sha256(path.read_bytes()).hexdigest() for path in data}


def test_sample_stays_small():
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 400_000
