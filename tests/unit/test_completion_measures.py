"""Scores of completions: `workbench measure completion`, and the measures behind it."""

import json
from pathlib import Path
from typing import Any

import pytest

from store.measures.completion import LINE_ENDS, LONGEST, first_statement, identifiers, score_completion


@pytest.mark.parametrize(
    ("completion", "statement"),
    [
        ("add(1);\nreturn 2;", "add(1);"),
        ("{ return 1; }", "{ return 1; }"),  # an end at the beginning cuts nothing
        (" {\n  go();", " {"),
        ("no end", "no end"),
        ("", ""),
    ],
)
def test_where_a_statement_ends_in_languages_with_semicolons(completion: str, statement: str) -> None:
    for language in ("csharp", "java", "typescript"):
        assert first_statement(language, "class A {", completion) == statement


@pytest.mark.parametrize(
    ("prompt", "completion", "statement"),
    [
        ("x = ", "f(1)\ny = 2\n", "f(1)"),
        ("x = ", "f(\n    1,\n)  \ny = 2", "f(\n    1,\n)"),  # the first line alone is a syntax error
        ("x = f(1", ")\n", ")"),
        ("x = ", "f(1)", "f(1)"),  # no line ends
        ("x = (", "1\n2\n3", "1\n2\n3"),  # no beginning is free of errors
        ("def f():\n    ", "pass\n    return é\n", "pass"),
    ],
)
def test_where_a_statement_ends_in_python(prompt: str, completion: str, statement: str) -> None:
    assert first_statement("python", prompt, completion) == statement


def test_completions_without_end_have_a_bound() -> None:
    assert first_statement("python", "x = (", "1\n" * 10_000) == "1\n" * 10_000
    assert first_statement("python", "x = (", "1,\n" * LINE_ENDS + "1)\ny") != "1,\n" * LINE_ENDS + "1)"
    scores = score_completion("java", "", "add(1);", '"\\"' * 200_000)
    assert len(scores.truncated) == LONGEST


@pytest.mark.parametrize(
    ("language", "code", "found"),
    [
        ("python", 'self.read("a file", 2, None, True)', ("self", "read", "True")),
        ("python", "x = 'it\\'s' + y_2 + _z + é", ("x", "y_2", "_z")),
        ("java", "return new Foo(null, true);", ("Foo", "null", "true")),
        ("csharp", "return new Foo(null, true);", ("Foo", "true")),
        ("typescript", "const a: string = await b;", ("a", "string", "await", "b")),
        ("python", 'f("open', ("f", "open")),
    ],
)
def test_identifiers(language: str, code: str, found: tuple[str, ...]) -> None:
    assert identifiers(language, code) == found


def test_scores_by_hand() -> None:
    scores = score_completion("java", "", "total = add(a, b);", "total = add(a, c); // the sum\nreturn;")
    assert scores.truncated == "total = add(a, c);"
    assert (scores.em, scores.id_em) == (0, 0)
    assert (scores.pred_ids, scores.target_ids) == (("total", "add", "a", "c"), ("total", "add", "a", "b"))
    assert (scores.id_precision, scores.id_recall, scores.id_f1) == (0.75, 0.75, 0.75)
    # 17 of 18 characters are equal in their order.
    assert (scores.es, scores.es_levenshtein) == (94, 94)
    assert scores.es_rapidfuzz == pytest.approx(100 * 2 * 17 / 36)


def test_comments_are_removed_in_every_language() -> None:
    same = score_completion("python", "x = ", "f(1)", "f(1)  # one\n")
    assert (same.em, same.es, same.id_em) == (1, 100, 1)
    divided = score_completion("python", "x = ", "a // b", "a // c\n")
    assert (divided.em, divided.target_ids) == (1, ("a",))  # as published: what follows // is cut
    empty = score_completion("java", "", "// nothing", "")
    assert (empty.em, empty.es, empty.es_rapidfuzz, empty.id_em, empty.id_f1) == (1, 100, 100.0, 1, 0.0)


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def task(name: str, prompt: str, reference: str) -> dict[str, Any]:
    return {"prompt": prompt, "groundtruth": reference, "right_context": "", "metadata": {"task_id": name}}


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return written(
        tmp_path / "tasks.jsonl",
        task("project_cc_python/1", "x = ", "f(1)"),
        task("project_cc_python/2", "y = ", "g(2)"),
        task("project_cc_python/3", "z = (", "f(1)"),
    )


def test_completions_find_their_tasks(tasks: Path, tmp_path: Path, workbench: Any) -> None:
    predictions = written(
        tmp_path / "model.jsonl",
        {"task_id": "project_cc_python/2", "pred": "g(2)\nh()"},
        {"task_id": "project_cc_python/1", "pred": "f(3)\n"},
        {"task_id": "project_cc_python/9", "pred": "f(3)\n", "groundtruth": "g(2)"},
    )
    rows = tmp_path / "rows.jsonl"
    measure = ("measure", "completion", tasks, predictions, "--language", "python")
    told = workbench(*measure, "--rows", rows, "--json").json()
    assert (told["n"], told["em"], told["id_em"]) == (2, 50.0, 100.0)
    assert told["not_scored"] == {"whose task is not among the tasks": 1}
    assert told["tasks_without_completion"] == 1
    assert [json.loads(line)["row_in_part"] for line in rows.read_text().splitlines()] == [0, 1]
    printed = workbench(*measure).out
    assert "exact match" in printed
    assert "1 completion whose task is not among the tasks" in printed
    assert "1 task without a completion" in printed


def test_a_reference_of_several_tasks_says_not_which_prompt(
    tasks: Path, tmp_path: Path, workbench: Any
) -> None:
    given = written(
        tmp_path / "model.jsonl",
        {"groundtruth": "g(2)", "prediction": "g(2)\n"},
        {"groundtruth": "f(1)", "prediction": "f(1)\n"},
        {"groundtruth": "f(1)", "prediction": "f(1)\n", "prompt": "z = ("},
        {"groundtruth": "h(1)", "prediction": "h(1)\n"},
    )
    told = workbench("measure", "completion", tasks, given, "--language", "python", "--json").json()
    assert told["n"] == 2
    assert told["not_scored"] == {
        "whose reference several tasks with different prompts have": 1,
        "whose prompt is not known": 1,
    }
    assert "tasks_without_completion" not in told
    # Nothing before the cursor is needed where statements end with a semicolon.
    assert workbench("measure", "completion", given, "--language", "java", "--json").json()["n"] == 4


def test_files_that_cannot_be_scored(tasks: Path, tmp_path: Path, workbench: Any) -> None:
    def refused(*files: Path) -> Any:
        told = workbench("measure", "completion", *files, "--language", "python", "--json")
        assert told.code != 0
        return told.json()["error"]

    assert "hold tasks" in refused(tasks)["message"]
    pairs = written(tmp_path / "pairs.jsonl", {"query": "double", "code": "def f(x): return 2 * x"})
    assert "no completions" in refused(pairs)["message"]
    alone = written(tmp_path / "alone.jsonl", {"groundtruth": "h(1)", "prediction": "h(1)\n"})
    assert "whose prompt is not known" in refused(alone)["message"]
    broken = written(tmp_path / "broken.jsonl", {"groundtruth": "h(1)", "prediction": 5})
    assert "broken.jsonl:1" in refused(tasks, broken)["message"]
    assert "given twice" in refused(tasks, alone, alone)["message"]
    # Nothing that is there is replaced.
    before = alone.read_text()
    told = workbench("measure", "completion", alone, "--language", "java", "--rows", alone, "--json")
    assert told.json()["error"]["title"] == "Already there"
    assert alone.read_text() == before


def test_rows_of_another_language_model_or_setting(tasks: Path, tmp_path: Path, workbench: Any) -> None:
    mixed = written(
        tmp_path / "mixed.jsonl",
        {"groundtruth": "f();", "prediction": "f();", "language": "java", "model": "A"},
        {"groundtruth": "f();", "prediction": "g();", "language": "Java", "model": "B"},
        {"groundtruth": "f();", "prediction": "f();", "language": "csharp", "model": "A"},
        {"task_id": "project_cc_python/1", "pred": "f(1)", "model": "A"},
    )
    told = workbench("measure", "completion", mixed, "--language", "java", "--json").json()
    assert {name: one["em"] for name, one in told["files"].items()} == {
        "mixed.jsonl · A": 100,
        "mixed.jsonl · B": 0,
    }
    assert told["files"]["mixed.jsonl · A"]["not_scored"] == {"in another language": 2}


def test_files_of_several_models_are_compared_by_model(tmp_path: Path, workbench: Any) -> None:
    def file(model: str, setting: str, *predictions: str) -> Path:
        rows = [{"groundtruth": f"f{n}();", "prediction": one} for n, one in enumerate(predictions)]
        return written(tmp_path / f"java.{model}.line_completion{setting}.jsonl", *rows)

    files = [
        file("A", "", "f0();", "no();"),
        file("A", "_oracle_bm25", "f0();", "f1();"),
        file("A", "_rg1_bm25", "no();", "f1();"),
        file("B", "", "no();", "no();"),
        file("B", "_rg1_bm25", "f0();", "no();"),
    ]
    told = workbench("measure", "completion", *files, "--language", "java", "--json").json()
    first, second = told["models"]
    assert [(one["correct"], one["gained"], one["lost"]) for one in first["gains"]] == [
        (1, None, None),
        (1, 1, 1),
        (2, 1, 0),
    ]
    assert (second["model"], [one["correct"] for one in second["gains"]]) == ("B", [0, 1])
    printed = workbench("measure", "completion", *files, "--language", "java").out
    assert "A: completed exactly, of 2 tasks that all have" in printed


def test_equal_references_are_told_apart_by_their_prompts(tmp_path: Path, workbench: Any) -> None:
    rows = [
        {"label": "f(1)", "prompt": f"{name} = ", "prediction": text}
        for name, text in (("a", "f(1)\n"), ("b", "no\n"))
    ]
    files = [written(tmp_path / f"{number}.jsonl", *own) for number, own in enumerate((rows, rows[::-1]))]
    told = workbench("measure", "completion", *files, "--language", "python", "--json").json()
    assert [(one["correct"], one["gained"], one["lost"]) for one in told["gains"]] == [
        (1, None, None),
        (1, 0, 0),
    ]
