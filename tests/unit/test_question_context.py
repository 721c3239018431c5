"""`workbench retrieve` for questions: chunks of repositories, and those that go with a question."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

from agents.github.markdown import without_code
from agents.questions.chunks import Chunking, split
from agents.questions.context import chosen, named_files, unique_endings

OF_LIBRARY = {
    "python": Language.PYTHON,
    "java": Language.JAVA,
    "go": Language.GO,
    "typescript": Language.TS,
    "javascript": Language.JS,
    "csharp": Language.CSHARP,
    "markdown": Language.MARKDOWN,
    "rst": Language.RST,
}
WORDS = (
    *(
        "\nclass A:",
        "\ndef f():",
        "\n\tdef g():",
        "\n\n",
        "\n",
        " ",
        "x = 1",
        "\npublic void",
        "\nfunc F() {",
    ),
    *(
        "\ntype T struct",
        "\nconst a = ",
        "\n## Head ",
        "```\n",
        "\n---\n",
        "\n====\n",
        "\n\n.. note\n\n",
        "é😀",
    ),
    *("\nif (a)", "\nfor x in y", "\nswitch a", "\ncase 1:", "word" * 30, "\ninterface I", "\t", "\r\n"),
)


@pytest.mark.parametrize("language", [*OF_LIBRARY, ""])
def test_files_are_cut_as_the_library_does_it(language: str) -> None:
    draw = random.Random(language)
    for _ in range(150):
        text = "".join(draw.choices(WORDS, k=draw.randrange(60)))
        size, overlap = draw.choice([(60, 0), (60, 20), (200, 50), (10, 9), (2000, 200)])
        given: dict[str, Any] = {"chunk_size": size, "chunk_overlap": overlap}
        library = (
            RecursiveCharacterTextSplitter.from_language(OF_LIBRARY[language], **given)
            if language
            else RecursiveCharacterTextSplitter(**given)
        )
        assert split(text, language, size, overlap) == library.split_text(text), (text, given)


CODE = '''"""A shop."""

import till

RATE = 0.2


class Shop:
    """Sells."""

    def sell(self, what):
        return till.pay(what, RATE)

    def close(self):
        return till.lock()


def main():
    Shop().sell("tea")
'''


def test_definitions_stay_whole() -> None:
    chunks = Chunking("definitions", size=220, overlap=0).chunks("shop.py", CODE)
    assert [one.splitlines()[0].strip() for one in chunks] == ['"""A shop."""', "class Shop:", "def main():"]
    # A class that is too long is cut at its methods.
    chunks = Chunking("definitions", size=100, overlap=0).chunks("shop.py", CODE)
    assert "def sell(self, what):\n        return till.pay(what, RATE)" in chunks
    assert "def close(self):\n        return till.lock()" in chunks
    assert "".join("".join(chunks).split()) == "".join(CODE.split())
    # Other files are cut at separators.
    assert Chunking("definitions", 20, 0).chunks("a.txt", "one two\n\nthree four five six") == [
        "one two",
        "three four five six",
    ]


def test_questions_are_parted_from_their_code() -> None:
    text = "Why?\n\n```python\nopen()\n```\n\nSay `open`.\n\n- a\n  ```\n  b\n  ```"
    assert without_code(text) == "Why?\n\n\nSay `open`.\n\n- a"


def test_half_of_the_chunks_are_for_the_code() -> None:
    words = [("question", place, 10.0 - place) for place in range(10)]
    code = [("code", place, 10.0 - place) for place in (1, 2, 20, 21, 22, 23, 24, 25, 26, 27)]
    hits = chosen([words, code])
    assert [place for _, place, _ in hits] == [0, 1, 2, 3, 4, 20, 21, 22, 23, 24]
    assert [place for _, place, _ in chosen([words])] == list(range(10))
    # Of a list that is short the other one has more.
    assert len(chosen([words[:2], code])) == 10


def test_files_that_an_answer_names() -> None:
    endings = unique_endings(["src/shop/till.py", "src/shop/utils.py", "tests/utils.py", "README.md"])
    said = "See `till.py:12`, ./src/shop/utils.py, utils.py and (README.md). Not.py or kshop/till.py."
    assert named_files(said, endings) == {"src/shop/till.py", "src/shop/utils.py", "README.md"}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with the clone `shop/till`, whose file about drawers came on 2024-03-01."""
    clone = tmp_path / "checkouts" / "shop" / "till"
    clone.mkdir(parents=True)

    def git(*words: str, day: str = "2024-01-01") -> None:
        when = {"GIT_COMMITTER_DATE": f"{day}T00:00:00Z", "GIT_AUTHOR_DATE": f"{day}T00:00:00Z"}
        given = ["git", "-C", str(clone), "-c", "user.name=a", "-c", "user.email=a", *words]
        subprocess.run(given, check=True, capture_output=True, env={"PATH": "/usr/bin:/bin", **when})

    git("init", "-q")
    (clone / "pay.py").write_text("def pay(coins):\n    return sum(coins)\n")
    git("add", ".")
    git("commit", "-q", "-m", "x")
    (clone / "drawer.py").write_text("def open_drawer(lock):\n    return lock.open()\n")
    git("add", ".")
    git("commit", "-q", "-m", "y", day="2024-03-01")
    (clone / "later.py").write_text("def not_committed():\n    pass\n")
    return clone.parent.parent


def question(number: int, text: str, created: str | None, **fields: Any) -> dict[str, Any]:
    issue = {"number": number, "title": text, "created_at": created}
    return {"id": f"q{number}", "repository": "shop/till", "question": text, "issue": issue, **fields}


def test_context_is_of_the_tree_before_the_issue(shop: Path, tmp_path: Path, workbench: Any) -> None:
    asked = "How is the drawer opened, and where are coins paid?"
    head = subprocess.run(
        ["git", "-C", str(shop / "shop" / "till"), "rev-parse", "HEAD"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    records = [
        question(1, asked, "2024-02-01T00:00:00Z", answer="In pay.py."),
        question(2, asked, "2024-04-01T00:00:00Z", answer="In `drawer.py`, see pay.py and nowhere.py."),
        question(3, asked, "2023-01-01T00:00:00Z"),
        question(4, asked, None, answer="In later.py."),
        question(5, asked, "2023-01-01T00:00:00Z", commit=head[:10]),
        question(6, asked, None) | {"repository": "shop/nowhere"},
        question(7, f"{asked}\n```python\nsum(coins)\n```", "2024-04-01T00:00:00Z"),
    ]
    (tmp_path / "q.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in records))
    path = tmp_path / "a.duckdb"
    assert workbench("import", path, tmp_path / "q.jsonl").code == 0
    retrieve = ("retrieve", path, "--repositories", shop, "--retriever", "bm25", "--setting", "bm25")
    told = workbench(*retrieve, "--json").json()
    assert (told["items"], told["retrieved"], told["missing"]) == (7, 5, ["shop/nowhere"])
    assert told["left_out"] == {"no commit before the issue": 1, "repository not found": 1}
    # later.py is on disk alone, and no word of the question is in it.
    assert (told["with_files"], told["hits"]) == (3, 2)
    assert told["recall"] == 3 / 4
    assert workbench("export", path, tmp_path / "out.jsonl", "--format", "questions").code == 0
    found = {one["id"]: one.get("chunks", []) for one in map(json.loads, (tmp_path / "out.jsonl").open())}
    files = {name: {chunk["file"] for chunk in chunks} for name, chunks in found.items()}
    assert files["q1"] == {"pay.py"}
    assert files["q2"] == files["q5"] == {"pay.py", "drawer.py"}
    # There are two chunks, and its words find both.
    assert [chunk["found_by"] for chunk in found["q7"]] == ["question", "question"]
    # Begun again it has nothing to do; the same setting is of one retriever alone.
    again = workbench(*retrieve, "--json").json()
    assert (again["retrieved"], again["known"], again["recall"]) == (0, 5, 3 / 4)
    assert workbench(*retrieve[:5], "bow", "--setting", "bm25").code == 2
    assert workbench(*retrieve, "--chunk-size", "500").code == 2
    assert workbench(*retrieve, "--chunk-size", "100").says("not below")
