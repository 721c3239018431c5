"""`workbench retrieve`: chunks of repositories, their scores, and what is kept."""

import json
import random
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rank_bm25 import BM25Okapi

from agents.completions.chunks import Chunk, chosen, cut, distance, nearest, of_language, query_of
from agents.completions.imports import Imports
from agents.completions.okapi import Okapi, words_in


def test_scores_are_those_of_the_published_library() -> None:
    draw = random.Random(3)
    texts = [
        " ".join(
            [
                *draw.choices(["self.add", "total", "=", "count", "[", "open", "close", "x"], k=30),
                f"rare_{number}",
                "x",
            ]
        )
        for number in range(40)
    ]
    words = [words_in(text) for text in texts]
    okapi, oracle = Okapi([Counter(one) for one in words]), BM25Okapi(words)
    assert okapi._floor > 0 > min(okapi._weights.values())  # a word that most texts have
    for query in ("self.add(x, x)", "open(total) nowhere", "nowhere", ""):
        assert okapi.scores(words_in(query)) == pytest.approx(oracle.get_scores(words_in(query)), abs=1e-12)


def test_words() -> None:
    assert words_in("don't self._x[0] += 'a b' // c_1") == [
        "do",
        "n",
        "t",
        "self",
        "_x",
        "0",
        "a",
        "b",
        "c_1",
    ]


def test_chunks_have_ten_lines_with_text() -> None:
    text = "\n\n".join(f"line {number}" for number in range(23)) + "\r\n  \r\n" + "=\n" * 7
    chunks = cut("a.py", text)
    assert [(chunk.number, chunk.text.count("\n") + 1) for chunk in chunks] == [(0, 10), (1, 10), (2, 10)]
    assert chunks[2].text.split("\n")[:4] == ["line 20", "line 21", "line 22", "="]
    assert cut("a.py", "=\n" * 15) == []  # no word


def test_the_nearest_files_come_first() -> None:
    paths = ["z.py", "a/b/c.py", "a/d.py", "a/b/a.py", "e/f/g.py", "a/b/x.py"]
    assert nearest(paths, "a/b/x.py") == ["a/b/a.py", "a/b/c.py", "a/d.py", "z.py", "e/f/g.py"]
    assert (distance("x.py", "y.py"), distance("a/x.py", "b/y.py"), distance("a/b/x.py", "a/y.py")) == (
        0,
        2,
        1,
    )
    assert of_language(["src/a.ts", "b.ts", "src/c.tsx", "d.py"], "typescript") == ["src/a.ts", "src/c.tsx"]
    assert of_language(["b.ts", "d.py"], "typescript") == ["b.ts"]


def test_queries() -> None:
    prompt = "".join(f"line {number}\n\n" for number in range(12)) + "x = "
    assert query_of(prompt).split("\n") == [*(f"line {number}" for number in range(3, 12)), "x = "]
    assert query_of(prompt, "f(1)\n").split("\n")[-2:] == ["x = ", "f(1)"]
    assert query_of("\n  \n") == ""


def test_what_follows_a_hit_is_taken() -> None:
    chunks = [
        *(Chunk("a.py", number, f"a{number}") for number in range(3)),
        Chunk("b.py", 0, "a2"),
        *(Chunk("c.py", number, f"c{number}") for number in range(4)),
    ]
    scores = [1.0, 5.0, 2.0, 4.0, 3.0, 3.0, 0.0, 0.5]
    found = [(hit.path, hit.text, hit.score) for hit in chosen(chunks, scores, following=True)]
    # Of equal scores the later one; a2 follows a1, and is the text of b0, too; c0 comes after nothing.
    assert found == [
        ("a.py", "a2", 5.0),
        ("c.py", "c2", 3.0),
        ("c.py", "c1", 3.0),
        ("a.py", "a1", 1.0),
        ("c.py", "c3", 0.5),
    ]
    found = [(hit.path, hit.text, hit.score) for hit in chosen(chunks, scores, following=False)]
    assert [text for _, text, _ in found] == ["a1", "a2", "c1", "c0", "a2"]
    # What follows may lie behind the chunks that were searched.
    assert chosen(chunks, [0, 0, 0, 0, 1], following=True)[0].text == "c1"


def task(name: str, path: str, prompt: str = "import till\nopened = till.", **others: Any) -> dict[str, Any]:
    metadata = {"task_id": name, "repository": "ann/shop", "file": path, **others}
    return {"prompt": prompt, "groundtruth": "open_drawer()", "right_context": "", "metadata": metadata}


@pytest.fixture
def homes(tmp_path: Path) -> Path:
    shop = tmp_path / "homes" / "ann" / "shop"
    (shop / "lib").mkdir(parents=True)
    (shop / "main.py").write_text("import till\nopened = till.open_drawer()\n")
    (shop / "till.py").write_text("".join(f"def open_drawer_{number}(till): ...\n" for number in range(25)))
    (shop / "lib" / "paint.py").write_text("def paint(wall):\n    return wall\n")
    (shop / "notes.txt").write_text("till opened\n")
    return tmp_path / "homes"


@pytest.fixture
def study(tmp_path: Path, workbench: Any) -> Path:
    file = tmp_path / "tasks.jsonl"
    tasks = [
        task("1", "main.py"),
        task("2", "gone.py", "x = 2\ny = "),
        task("3", "main.py", "\n \n"),
        task("4", "main.rb", "x = ", language="ruby"),
        task("5", "main.java", "x = 1 + ", language="java"),
        task("6", "main.py", "z = ", repository="ann/other"),
    ]
    file.write_text("".join(json.dumps(one) + "\n" for one in tasks))
    workbench("import", tmp_path / "study.duckdb", file)
    return tmp_path / "study.duckdb"


CHUNKS = "SELECT item, setting, rank, path, text, score FROM context_chunks ORDER BY ALL"


def test_context_is_kept_under_its_setting(study: Path, homes: Path, workbench: Any) -> None:
    retrieve = ("retrieve", study, "--repositories", homes, "--retriever", "bm25")
    told = workbench(*retrieve, "--setting", "rg1", "--json").json()
    assert (told["tasks"], told["retrieved"], told["known"]) == (6, 1, 0)
    assert told["left_out"] == {
        "file not in its repository": 2,
        "no line before the cursor": 1,
        "language unknown": 1,
        "repository not found": 1,
    }
    rows = workbench("sql", study, CHUNKS, "--json").json()["rows"]
    assert [(row["item"], row["rank"], row["path"]) for row in rows] == [
        ("1", rank, path) for rank, path in enumerate(["till.py", "till.py", "lib/paint.py"], start=1)
    ]
    assert rows[0]["text"].startswith("def open_drawer_")
    # Again, nothing changes; with the reference it is another setting.
    again = workbench(*retrieve, "--setting", "rg1", "--json").json()
    assert (again["retrieved"], again["known"]) == (0, 1)
    refused = workbench(*retrieve, "--setting", "rg1", "--with-reference", "--json")
    assert refused.json()["error"]["title"] == "Setting taken"
    # A reference is a query also where nothing stands before it.
    assert workbench(*retrieve, "--setting", "oracle", "--with-reference", "--json").json()["retrieved"] == 2
    printed = workbench(*retrieve, "--setting", "rg1").out
    assert "1 had it before" in printed
    assert "without: 1, repository not found" in printed
    # It goes out with the task, and comes back.
    workbench("export", study, study.parent / "out.jsonl", "--format", "crosscodeeval", "--setting", "rg1")
    workbench("import", study.parent / "other.duckdb", study.parent / "out.jsonl")
    other = ("retrieve", study.parent / "other.duckdb", *retrieve[2:], "--setting", "rg1", "--json")
    assert workbench(*other).json()["known"] == 1


def test_context_by_vectors(study: Path, homes: Path, workbench: Any) -> None:
    retrieve = ("retrieve", study, "--repositories", homes, "--retriever", "minilm", "--setting", "dense")
    told = workbench(*retrieve, "--json").json()
    assert (told["retriever"], told["retrieved"]) == ("minilm", 1)
    scores = [row["score"] for row in workbench("sql", study, CHUNKS, "--json").json()["rows"]]
    assert scores == sorted(scores, reverse=True)
    assert all(-1 <= score <= 1.0001 for score in scores)


def test_a_clone_is_read_at_the_commit_in_the_name(tmp_path: Path, homes: Path, workbench: Any) -> None:
    shop = homes / "ann" / "shop"

    def git(*arguments: str) -> str:
        who = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
        done = subprocess.run(["git", *who, *arguments], cwd=shop, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    commit = git("rev-parse", "HEAD")[:7]
    (shop / "till.py").write_text("def another(till): ...\n")
    (tmp_path / "tasks.jsonl").write_text(
        json.dumps(task("1", "main.py", repository=f"ann-shop-{commit}")) + "\n"
    )
    study = tmp_path / "clone.duckdb"
    workbench("import", study, tmp_path / "tasks.jsonl")
    retrieve = ("retrieve", study, "--repositories", homes, "--retriever", "bm25", "--setting", "at-commit")
    assert workbench(*retrieve, "--json").json()["retrieved"] == 1
    rows = workbench("sql", study, CHUNKS, "--json").json()["rows"]
    assert rows[0]["text"].startswith("def open_drawer_")


def test_what_cannot_be_retrieved(study: Path, homes: Path, tmp_path: Path, workbench: Any) -> None:
    def refused(*arguments: Any) -> str:
        told = workbench("retrieve", study, *arguments, "--json")
        assert told.code != 0
        return told.json()["error"]["title"]

    bm25 = ("--retriever", "bm25", "--repositories")
    assert refused(*bm25, tmp_path / "nowhere", "--setting", "x") == "No folder of repositories"
    assert refused(*bm25, homes, "--setting", "in-file") == "No name"
    assert refused(*bm25, homes, "--setting", " ") == "No name"
    assert refused("--retriever", "nothing", "--repositories", homes, "--setting", "x") == "Model not found"
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(json.dumps({"id": "1", "query": "double", "code": "def f(x): return 2 * x"}))
    workbench("import", tmp_path / "pairs.duckdb", pairs)
    told = workbench("retrieve", tmp_path / "pairs.duckdb", *bm25, homes, "--setting", "x", "--json")
    assert told.json()["error"]["title"] == "No tasks"


@pytest.mark.parametrize(
    ("language", "files", "imported"),
    [
        (
            "python",
            {
                "src/shop/main.py": "import os, shop.till as t\nfrom . import paint\nfrom ..lib.box import (Box,\n x)\n"
                "from shop.deep import (\n    inner,\n)\nimport json; import pkg.util\n'import nothing'\n",
                "src/shop/till.py": "",
                "src/shop/paint.py": "",
                "src/lib/box.py": "",
                "src/shop/deep/inner.py": "",
                "src/shop/os2.py": "",
                "lib/box.py": "",
                "tests/json.py": "",
                "src/pkg/util.py": "",
                "src/nothing.py": "",
            },
            {
                *("src/shop/till.py", "src/shop/paint.py", "src/lib/box.py", "src/shop/deep/inner.py"),
                "src/pkg/util.py",
            },
        ),
        (
            "java",
            {
                "src/a/Main.java": "import b.Till;\nimport static b.Paint.red;\nimport c.*;\nimport java.util.List;\n",
                "src/b/Till.java": "",
                "src/b/Paint.java": "",
                "src/b/Other.java": "",
                "src/c/One.java": "",
            },
            {"src/b/Till.java", "src/b/Paint.java", "src/c/One.java"},
        ),
        (
            "typescript",
            {
                "src/main.ts": "import { a } from './till'\nimport '../lib/x.js'\nconst y = require(\"./deep\")\nimport z from 'z'\n",
                "src/till.tsx": "",
                "lib/x.ts": "",
                "src/deep/index.ts": "",
                "src/z.ts": "",
            },
            {"src/till.tsx", "lib/x.ts", "src/deep/index.ts"},
        ),
        (
            "csharp",
            {
                "Main.cs": "using Shop.Till;\nusing System;\nnamespace Shop;\n",
                "Till/Drawer.cs": "namespace Shop.Till\n{\n}\n",
                "Other.cs": "namespace Shop;\n",
            },
            {"Till/Drawer.cs"},
        ),
    ],
)
def test_which_files_are_imported(language: str, files: dict[str, str], imported: set[str]) -> None:
    assert Imports(files, language).of(next(iter(files))) == imported
