"""Completions of CrossCodeEval, equal to what its published program computes and to its published context."""

import gzip
import json
import shutil

import pytest

LANGUAGES = ("csharp", "java", "python", "typescript")


def lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_published_score(shared_data, tmp_path, workbench, language):
    folder = shared_data("crosscodeeval")
    summary = json.loads((folder / "expected" / "summary.json").read_text())
    files = sorted((folder / "results").glob(f"{language}.*.gz"))
    tasks = [folder / "python_sample.jsonl.gz"] if language == "python" else []
    rows = tmp_path / "rows.jsonl"
    compared = 0
    for file in files:
        rows.unlink(missing_ok=True)
        told = workbench(
            "measure", "completion", *tasks, file, "--language", language, "--rows", rows, "--json"
        ).json()
        written = {one["row_in_part"]: one for one in map(json.loads, rows.read_text().splitlines())}
        assert list(written) == sorted(written)
        expected = lines(folder / "expected" / file.name)
        for row in expected:
            assert written.pop(row["row_in_part"]) == row
        compared += len(expected)
        given = len(lines(file))
        assert told["n"] + sum(told["not_scored"].values()) == given
        if language != "python":
            assert (written, told["not_scored"]) == ({}, {})
            published = summary[file.name.removesuffix(".jsonl.gz")]
            places = {name: 4 if name == "es_rapidfuzz" else 2 for name in published}
            assert {name: round(told[name], places[name]) for name in published} == published
        else:
            # Rows whose published score was made with another task's prompt are not among those compared.
            assert len(written) == (6 if file.stem.endswith("line_completion.jsonl") else 0)
            assert set(told["not_scored"]) == {"whose prompt is not known"}
    assert compared == {"csharp": 5304, "java": 3198, "python": 366, "typescript": 10152}[language]


def test_what_retrieval_gains_and_loses(shared_data, workbench):
    results = shared_data("crosscodeeval") / "results"
    files = [
        results / f"csharp.CodeLlama-7B.line_completion{setting}.jsonl.gz"
        for setting in ("", "_rg1_bm25", "_oracle_bm25")
    ]
    told = workbench("measure", "completion", *files, "--language", "csharp", "--json").json()
    assert told["tasks"] == 884
    assert [(one["correct"], one["gained"], one["lost"]) for one in told["gains"]] == [
        (39, None, None),
        (122, 92, 9),
        (177, 79, 24),
    ]
    printed = workbench("measure", "completion", *files, "--language", "csharp").out
    assert "122" in printed
    assert "+92" in printed


def test_the_published_context_is_retrieved(shared_data, tmp_path, workbench):
    """23 of 24 lists: chunks, files and scores. The one was made of another state of the repository."""
    repositories = tmp_path / "repositories"
    repositories.mkdir()
    archive = shared_data("repo-exllama") / "exllama-a544085.tar.gz"
    shutil.copy(archive, repositories / "turboderp-exllama-a544085.tar.gz")
    study = tmp_path / "study.duckdb"
    sample = shared_data("crosscodeeval") / "python_sample.jsonl.gz"
    workbench("import", study, sample, "--setting", "published")
    told = workbench(
        *("retrieve", study, "--repositories", repositories, "--retriever", "bm25", "--setting", "ours"),
        "--json",
    ).json()
    assert (told["tasks"], told["retrieved"], told["left_out"]) == (63, 24, {"repository not found": 39})
    query = """
        SELECT item, setting, list((path, text, round(score, 9)) ORDER BY rank) AS found FROM context_chunks
        WHERE item IN (SELECT item FROM context_chunks WHERE setting = 'ours') GROUP BY ALL ORDER BY ALL
    """
    rows = workbench("sql", study, query, "--json").json()["rows"]
    found = {(row["item"], row["setting"]): row["found"] for row in rows}
    items = {item for item, _ in found}
    equal = {item for item in items if found[item, "ours"] == found[item, "published"]}
    assert len(items) == 24
    assert items - equal == {"project_cc_python/97"}
