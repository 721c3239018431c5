"""`workbench report WS completion`: scores by context, gains, sizes, overlap and where context is from."""

import json
from pathlib import Path
from typing import Any

import pytest

from store.analysis import completions
from store.analysis.completions import name_words, size_of
from store.kinds.completion_settings import Setting, setting_named


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("in-file", ("in-file", "", "greedy")),
        ("line_completion", ("in-file", "", "greedy")),
        ("line_completion_rg1_bm25", ("retrieval", "bm25", "greedy")),
        ("line_completion_oracle_unixcoder", ("retrieval w/ ref.", "unixcoder", "greedy")),
        ("line_completion_oracle_openai-ada", ("retrieval w/ ref.", "openai-ada", "greedy")),
        ("rg1_bm25+fim", ("retrieval", "bm25", "fim")),
        ("in-file+nucleus+fim", ("in-file", "", "nucleus+fim")),
        ("ours", ("retrieval", "minilm", "greedy")),
        ("best+nucleus", ("retrieval w/ ref.", "bm25", "nucleus")),
        ("my own", ("my own", "", "greedy")),
        ("", ("", "", "greedy")),
    ],
)
def test_what_settings_say(name: str, setting: tuple[str, ...]) -> None:
    retrievers = {"ours": ("minilm", False), "best": ("bm25", True)}
    assert setting_named(name, retrievers) == Setting(*setting, name.partition("+")[0])


def test_sizes_and_words_in_names() -> None:
    sizes = {"CodeGen-350M": 0.35, "StarCoder-15.5B": 15.5, "codegen25-7b": 7, "gpt-4o": None, "B7BA": None}
    assert {name: size_of(name) for name in sizes} == sizes
    assert name_words("a/TestCaseConverter_v2.java") == {"test", "case", "converter", "v", "2"}
    assert name_words("lib/HTTPServer.py") & name_words("http_client.py") == {"http"}


def chunk(text: str, path: str = "src/till_box.py", **others: Any) -> dict[str, Any]:
    return {"retrieved_chunk": text, "filename": path, "score": 1.5, **others}


def task(
    number: int, *, language: str = "python", chunks: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    ending = {"python": "py", "java": "java"}[language]
    return {
        "prompt": "x = ",
        "groundtruth": f"till.open_{number}(drawer);",
        "right_context": "",
        "metadata": {
            "task_id": f"project_cc_{language}/{number}",
            "repository": f"ann/shop{number % 2}",
            "file": f"src/main_till.{ending}",
        },
        "crossfile_context": {"list": chunks or []},
    }


@pytest.fixture
def study(tmp_path: Path, workbench: Any) -> Path:
    file = tmp_path / "study.duckdb"

    def imported(name: str, rows: list[dict[str, Any]], *options: str) -> None:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        workbench("import", file, path, *options)

    chunks = [
        # All three identifiers of the reference, then one, none, and no context.
        [chunk("till.open_1(drawer)", imported=True, shared_import=False)],
        [chunk("drawer = 2", "other/box.py", imported=False, shared_import=False)],
        [chunk("nothing = 2", "src/box.py")],
        [],
    ]
    tasks = [task(number, chunks=own) for number, own in enumerate(chunks, start=1)]
    imported("tasks.jsonl", [*tasks, task(5, language="java")], "--setting", "line_completion_rg1_bm25")

    def completed(setting: str, exact: set[int], *, model: str = "Star-1B") -> None:
        rows = [
            {
                "task_id": f"project_cc_python/{number}",
                "pred": f"till.{'open' if number in exact else 'shut'}_{number}(drawer);\n",
                "model": model,
                "setting": setting,
            }
            for number in (1, 2, 3, 4)
        ]
        imported(f"{model}.{setting}.jsonl", rows)

    completed("line_completion", {3})
    completed("line_completion_rg1_bm25", {1, 2})
    completed("line_completion_oracle_bm25", {1, 3})
    completed("line_completion", set(), model="Star-7B")
    java = {"task_id": "project_cc_java/5", "pred": "till.open_5(drawer); //", "model": "Star-1B"}
    imported("java.jsonl", [{**java, "setting": "line_completion"}])
    return file


def test_scores_by_context(study: Path, workbench: Any) -> None:
    told = workbench("report", study, "completion", "--json").json()
    found = [
        (
            one["model"],
            one["context"],
            one["language"],
            one["n"],
            one["repositories"],
            one["em"],
            one["id_em"],
        )
        for one in told["completions"]
    ]
    assert found == [
        ("Star-1B", "in-file", "java", 1, 1, 100, 100),
        ("Star-1B", "in-file", "python", 4, 2, 25, 25),
        ("Star-1B", "retrieval", "python", 4, 2, 50, 50),
        ("Star-1B", "retrieval w/ ref.", "python", 4, 2, 50, 50),
        ("Star-7B", "in-file", "python", 4, 2, 0, 0),
    ]
    assert told["completions"][4]["id_f1"] == pytest.approx(100 * 2 / 3)
    (gain,) = told["gains"]
    assert (gain["model"], gain["retriever"], gain["tasks"]) == ("Star-1B", "bm25", 4)
    assert [(one["name"], one["correct"], one["gained"], one["lost"]) for one in gain["gains"]] == [
        ("in-file", 1, None, None),
        ("retrieval", 2, 2, 1),
        ("retrieval w/ ref.", 2, 1, 1),
    ]
    # One task each with none, a third and all of the reference's identifiers; one has no context.
    assert [(one["upto"], one["n"], one["id_em"]) for one in told["overlap"]] == [
        (0.0, 1, 0.0),
        (0.25, 0, None),
        (0.5, 1, 100.0),
        (0.75, 0, None),
        (1.0, 1, 100.0),
    ]
    (where,) = told["context"]
    assert (where["n"], where["imported"], where["shared_import"]) == (3, 50.0, 0.0)
    assert where["same_folder"] == pytest.approx(200 / 3)
    assert where["similar_name"] == pytest.approx(100 / 3)
    rows = [one for one in told["rows"] if one["item"] == "project_cc_python/1" and one["model"] == "Star-1B"]
    assert [(one["context"], one["em"], one["overlap"]) for one in rows] == [
        ("in-file", 0, None),
        ("retrieval w/ ref.", 1, None),
        ("retrieval", 1, 1.0),
    ]
    assert len(told["rows"]) == sum(one["n"] for one in told["completions"])
    printed = workbench("report", study, "completion").out
    for words in ("Java EM", "retrieval bm25", "+2 -1", "Completed exactly, Python", "7B", "over 25 to 50 %"):
        assert words in printed


def test_settings_of_one_retriever_stay_apart(study: Path, tmp_path: Path, workbench: Any) -> None:
    rows = [
        {
            "task_id": f"project_cc_python/{number}",
            "pred": f"till.open_{number}(drawer);\n",
            "model": "Star-1B",
            "setting": "rg2_bm25",
        }
        for number in (1, 2, 3, 4)
    ]
    path = tmp_path / "rg2.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    workbench("import", study, path)
    told = workbench("report", study, "completion", "--json").json()
    found = {one["setting"]: one["em"] for one in told["completions"] if one["context"] == "retrieval"}
    assert found == {"line_completion_rg1_bm25": 50, "rg2_bm25": 100}
    lines = {one["settings"]["retrieval"]: one["gains"] for one in told["gains"]}
    assert [one["correct"] for one in lines["rg2_bm25"]] == [1, 4, 2]
    assert [one["correct"] for one in lines["line_completion_rg1_bm25"]] == [1, 2, 2]
    printed = workbench("report", study, "completion").out
    assert "retrieval bm25 (rg2_bm25)" in printed


def test_a_row_with_another_prompt_is_of_another_task(study: Path, tmp_path: Path, workbench: Any) -> None:
    path = tmp_path / "own.jsonl"
    label = task(1)["groundtruth"]
    rows = [
        {"prompt": prompt, "label": label, "prediction": label, "model": model}
        for model, prompt in (("same", "x = "), ("with-context", "# more\nx = "), ("other", "z(\n"))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    workbench("import", study, path)
    told = workbench("report", study, "completion", "--json").json()
    assert {one["model"] for one in told["completions"]} == {"Star-1B", "Star-7B", "same", "with-context"}


def test_many_completions_are_scored_apart(
    study: Path, workbench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = workbench("report", study, "completion", "--json").json()
    monkeypatch.setattr(completions, "APART", 1)
    assert workbench("report", study, "completion", "--json").json() == here


def test_completions_are_hidden_in_a_blind_review(study: Path, tmp_path: Path, workbench: Any) -> None:
    config = tmp_path / "workbench.toml"
    config.write_text("[screens]\nblind = true\n")
    told = workbench("report", study, "completion", "--json", "--config", config)
    assert told.json()["error"]["title"] == "Blind review"


def test_without_completions(tmp_path: Path, workbench: Any) -> None:
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(json.dumps(task(1)) + "\n")
    workbench("import", tmp_path / "study.duckdb", tasks)
    told = workbench("report", tmp_path / "study.duckdb", "completion", "--json")
    assert told.json()["error"]["title"] == "No completions"


def test_a_study_prints_tables_5_and_6(tmp_path: Path, repository: Path, workbench: Any) -> None:
    """Agreement on each question, and how often all annotators gave each answer (appendix B)."""
    study, sample = tmp_path / "study.duckdb", repository / "sample_data" / "completions.jsonl"
    workbench("import", study, sample)
    workbench("study", "new", study, "quality", "--kind", "completion", "--raters", "ana,ben")
    workbench("study", "freeze", study, "quality")
    names = [json.loads(line)["metadata"]["task_id"] for line in sample.read_text().splitlines()]
    for place, name in enumerate(names[:4]):
        for rater in ("ana", "ben"):
            kept = "B" if rater == "ben" and place % 4 == 0 else "A"
            for question, value in (("cross_file", "A"), ("predictable", "C"), ("keep", kept)):
                judged = workbench(
                    *("judge", study, name, value, "--question", question, "--rater", rater),
                    *("--study", "quality"),
                )
                assert judged.code == 0
    told = workbench("report", study, "agreement", "--question", "all", "--study", "quality", "--json").json()
    equal = {one["question"]: one["percent"] for one in told["questions"]}
    assert equal == {"completion.cross_file": 100, "completion.predictable": 100, "completion.keep": 75}
    report = ("report", study, "labels", "--question", "completion.keep", "--study", "quality")
    assert workbench(*report, "--json").json()["people"] == [7, 1, 0]
    printed = workbench(*report).out
    assert "All people · 8 labels" in printed
    assert "87.5 %" in printed
