"""A corpus: codes and queries without items, filtered by the paper's rule and without duplicates."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.errors import ImportFailed, RecordsRefused
from store.events import silent
from store.ingest.importing import import_files
from store.ingest.python_functions import functions_of, why_not_testable
from store.ingest.report import FileReport
from store.workspace.duckdb import Workspace
from workbench.python_sources import read_python_sources
from workbench.wiring import look_at_file

GOOD = "def add(a, b):\n    return a + b\n"


def function(code: str, name: str = "f", **fields: str) -> dict[str, str]:
    """Return a record as CodeSearchNet has it."""
    return {
        "repo": "lab/tools",
        "path": "tools/sums.py",
        "func_name": name,
        "original_string": code,
        "language": "python",
        "code": code,
        "sha": "0",
        "partition": "train",
        **fields,
    }


def written(path: Path, records: list[dict[str, str]]) -> Path:
    text = "".join(json.dumps(record) + "\n" for record in records)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def workspace(tmp_path):
    with Workspace.create(tmp_path / "w.duckdb") as opened:
        yield opened


def texts(workspace: Workspace, table: str) -> list[tuple[object, ...]]:
    about = ", name, repository, path, language, licence" if table == "code" else ""
    cursor = workspace.native()
    try:
        return cursor.execute(f"SELECT text{about} FROM {table} ORDER BY id").fetchall()
    finally:
        cursor.close()


def imported(
    workspace: Workspace, place: Path | str, format: str | None = None, **options: Any
) -> FileReport:
    """Import what is at one place, as the command does."""
    sources, paths = read_python_sources([str(place)], format, silent)
    (file,) = import_files(workspace, paths, sources=sources, format=format, **options).files
    return file


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (GOOD, None),
        ("async def f(*, key=1):\n    return key", None),
        ("def f(self, x):\n        if x:\n            return x", None),
        ("def f(*rest):\n    with rest[0]:\n        return 0", None),
        ("def f():\n    return 1", "no parameter"),
        ("def f(x):\n    return", "no return value"),
        ("def f(x):\n    return None", "no return value"),
        ("def f(x):\n    yield x", "no return value"),
        ("def f(x):\n    def inner():\n        return 1\n    inner()", "no return value"),
        ("def f(x):\n    print x\n    return x", "not Python 3"),
        ("x = 1", "no function"),
        ("def f(x):\n    return '\0'", "not Python 3"),
        ("def f(x): return " + "(" * 5_000, "not Python 3"),
    ],
)
def test_the_rule_of_the_paper(code, reason):
    assert why_not_testable(code) == reason


@given(st.text())
def test_any_text_has_an_answer(text):
    assert why_not_testable(text) in (None, "no parameter", "no return value", "not Python 3", "no function")


def test_functions_are_cut_out_of_a_source():
    source = (
        "class Parser:\n"
        "    @property\n"
        "    def name(self):\n"
        '        """Return it.\n'
        "at the margin\n"
        '        """\n'
        "        return self._name\n"
        "\n"
        "def outer(x):\n"
        "    def inner(): return x\n"
        "    return inner\n"
    )
    first, second = functions_of(source)
    assert (first.name, first.line) == ("Parser.name", 3)
    assert first.text.startswith("def name(self):")
    assert why_not_testable(first.text) is None
    assert (second.name, second.line) == ("outer", 9)
    assert second.text.endswith("return inner")


@pytest.mark.parametrize("character", ["\f", "\v", "\x1c", "\x85", "\u2028"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_those_of_python(character, end):
    lines = (
        f"TEXT = 'a{character}b'",
        "\f",
        "def one(x):",
        f"    return '{character}'",
        "def two(x): return 2",
    )
    one, two = functions_of(end.join(lines))
    assert (one.line, one.text) == (3, end.join(lines[2:4]))
    assert (two.line, two.text) == (5, lines[4])


def test_sources_in_an_encoding_that_is_none_of_texts_are_left_out(workspace, tmp_path):
    for encoding in ("rot13", "hex", "nothing"):
        (tmp_path / f"{encoding}.py").write_text(f"# coding: {encoding}\ndef f(x): return x\n")
    (tmp_path / "good.py").write_text("def f(x): return x\n")
    (tmp_path / "latin.py").write_bytes(b"# caf\xe9\ndef f(y): return y\n")
    file = imported(workspace, tmp_path)
    assert (file.codes_added, file.conversion_counts) == (1, {"files that are not Python 3": 4})


def test_names_of_sources_that_are_not_utf8(workspace, tmp_path):
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    for name in (b"na\xefve.py", b"na\xefve2.py", "größe.py".encode()):
        text = f"def f{len(name)}(x):\n    return x\n"
        (folder / os.fsdecode(name)).write_text(text, encoding="utf-8")
    file = imported(workspace, folder)
    assert (file.codes_added, file.conversion_counts) == (3, {})
    assert sorted(row[2:4] for row in texts(workspace, "code")) == [
        ("caf\\xe9", "größe.py:1"),
        ("caf\\xe9", "na\\xefve.py:1"),
        ("caf\\xe9", "na\\xefve2.py:1"),
    ]
    assert imported(workspace, folder).imported_before


def test_codesearchnet_without_what_cannot_be_tested_or_is_there_twice(workspace, tmp_path):
    records = [
        function(GOOD, "add"),
        function(GOOD.replace("\n", "  \r\n\n"), "again"),
        function("def f():\n    return 1"),
        function("def f(x):\n    print x"),
        function("function f(x) { return x }", "js", language="javascript", license="mit"),
    ]
    path = written(tmp_path / "python.jsonl.gz", records)
    tried = import_files(workspace, [path], dry_run=True)
    assert tried.adds
    assert texts(workspace, "code") == []

    (file,) = import_files(workspace, [path], licence="Apache-2.0").files
    assert (file.format, file.records, file.codes_added, file.items_added) == ("codesearchnet", 5, 2, 0)
    assert file.conversion_counts == {"no parameter": 1, "not Python 3": 1, "twice in this import": 1}
    assert "2 codes added" in file.sentence()
    assert texts(workspace, "code") == [
        (GOOD, "add", "lab/tools", "tools/sums.py", "python", "Apache-2.0"),
        ("function f(x) { return x }", "js", "lab/tools", "tools/sums.py", "javascript", "mit"),
    ]

    again = import_files(workspace, [path])
    assert not again.adds
    assert again.files[0].imported_before
    assert again.files[0].conversion_counts["already in the workspace"] == 3
    everything = import_files(workspace, [path], all_functions=True)
    assert everything.files[0].codes_added == 2


def test_a_folder_of_sources(workspace, tmp_path):
    folder = tmp_path / "project"
    (folder / "package").mkdir(parents=True)
    latin = GOOD.replace("b\n", 'b + "é"\n')
    (folder / "package" / "sums.py").write_text(f"# -*- coding: latin-1 -*-\n{latin}", encoding="latin-1")
    (folder / "package" / "old.py").write_text("print 1\n")
    # Files come before the folders beside them.
    (folder / "sums.py").write_text(GOOD)
    for hidden in (".git", "__pycache__", "env", "site-packages"):
        (folder / hidden).mkdir()
        (folder / hidden / "hook.py").write_text("def hook(x):\n    return x\n")
    (folder / "env" / "pyvenv.cfg").touch()
    (folder / "link.py").symlink_to(folder / "package" / "sums.py")
    (folder / "large.py").write_text(GOOD + "#" * (1 << 20))

    preview = look_at_file(folder, silent)
    assert preview.holds == "codes to search in"
    assert preview.rows == (
        ("add", "sums.py:1", GOOD.rstrip()),
        ("add", "package/sums.py:2", latin.rstrip()),
    )

    left_out = {"files over 1 MiB": 1, "links": 1, "files that are not Python 3": 1}
    tried = imported(workspace, folder, dry_run=True)
    assert (tried.codes_added, tried.conversion_counts) == (2, left_out)
    assert texts(workspace, "code") == []
    file = imported(workspace, folder)
    assert (file.format, file.codes_added, file.conversion_counts) == ("python", 2, left_out)
    assert "files over 1 MiB: 1; links: 1; files that are not Python 3: 1" in file.sentence()
    assert texts(workspace, "code") == [
        (GOOD.rstrip(), "add", "project", "sums.py:1", "python", ""),
        (latin.rstrip(), "add", "project", "package/sums.py:2", "python", ""),
    ]

    (folder / "data.json").write_text("[]")
    file = imported(workspace, folder, "python")
    assert not file.codes_added
    assert file.imported_before


def test_sources_with_files_of_codes_but_not_of_items(workspace, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "sums.py").write_text(GOOD)
    sources, _ = read_python_sources([str(folder)], None, silent)
    pair = written(tmp_path / "pairs.jsonl", [{"id": "p1", "query": "q", "code": "c"}])
    with pytest.raises(ImportFailed, match="alone"):
        import_files(workspace, [pair], sources=sources)
    codes = written(tmp_path / "codes.jsonl", [function("def half(x):\n    return x / 2")])
    both = import_files(workspace, [codes], sources=sources, rejects=tmp_path / "bad.jsonl")
    assert [file.codes_added for file in both.files] == [1, 1]


@pytest.fixture
def clone(in_folder: Path) -> Path:
    """A clone, tagged `one`, with a link and a source that is no UTF-8; its working tree has changed since."""
    made = in_folder / "shop"
    (made / "till").mkdir(parents=True)
    (made / "till" / "sums.py").write_text(GOOD)
    (made / "bad.py").write_bytes(b"# caf\xe9\n" + GOOD.encode())
    (made / "link.py").symlink_to("till/sums.py")
    for words in (
        ("init", "--quiet", "--initial-branch=main"),
        ("add", "."),
        ("commit", "--quiet", "--message", "one"),
        ("tag", "one"),
        ("archive", "--prefix=shop-1/", "--output", "../shop.zip", "HEAD"),
        ("archive", "--prefix=shop-1/", "--output", "../shop.tar.gz", "HEAD"),
    ):
        settings = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *settings, *words], cwd=made, check=True, timeout=120)
    (made / "till" / "sums.py").write_text("def changed(x):\n    return x\n")
    return made


def test_archives_commits_and_urls_hold_the_same_codes(workbench, clone):
    head = (clone / ".git" / "refs" / "heads" / "main").read_text()[:10]
    for number, (place, repository, source) in enumerate(
        (
            ("shop.zip", "shop", f"shop@{head}"),
            ("shop.tar.gz", "shop", f"shop@{head}"),
            ("shop@one", "shop", f"shop@{head}"),
            (f"file://{clone}@one", f"{clone.parent.name}/shop", f"{clone.parent.name}/shop@{head}"),
        )
    ):
        path = f"{number}.duckdb"
        command = ("import", path, place, "--format", "python", "--licence", "MIT")
        tried = workbench(*command, "--dry-run")
        assert (tried.code, "1 code would be added" in tried.out) == (0, True)
        assert not Path(path).exists()
        done = workbench(*command)
        assert done.code == 0, done.err
        assert f"{place}: python" in done.out
        assert "1 code added; links: 1; files that are not Python 3: 1" in done.out
        with Workspace.open(Path(path)) as workspace:
            codes = texts(workspace, "code")
            ((name,),) = workspace.native().execute("SELECT name FROM source").fetchall()
        assert codes == [(GOOD.rstrip(), "add", repository, "till/sums.py:1", "python", "MIT")]
        assert name == source
        assert "Nothing of it is new" in workbench(*command).out


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("data.json", "no folder or archive data.json"),
        ("shop@two", "it has no commit two"),
        ("empty", "holds no Python sources"),
        ("ext::sh -c 'touch x'", "no protocol"),
        ("https://me:secret@127.0.0.1/a", "holds a password"),
    ],
)
def test_what_has_no_python_sources(workbench, clone, place, why):
    Path("data.json").write_text("[]")
    Path("empty").mkdir()
    done = workbench("import", "w.duckdb", place, "--format", "python")
    assert done.code == 2
    assert done.says(why)
    assert not Path("w.duckdb").exists()


@pytest.mark.parametrize(
    ("name", "content", "mapping"),
    [
        ("queries.txt", "sort a list\n\n  read csv \nSort  a list\n", {}),
        ("queries.csv", "Language,Query\npython,sort a list\npython,read csv\npython,SORT a list\n", {}),
        (
            "cosqa.json",
            json.dumps(
                [
                    {"idx": f"q{n}", "doc": text, "code": "def f(): pass", "label": 1}
                    for n, text in enumerate(["sort a list", "read csv", "sort a list "])
                ]
            ),
            {},
        ),
        ("titles.csv", "title\nsort a list\nread csv\nsort a  list\n", {"query": "title"}),
    ],
)
def test_queries(workspace, tmp_path, name, content, mapping):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    (file,) = import_files(workspace, [path], format="queries", mapping=mapping).files
    assert file.queries_added == 2
    assert file.conversion_counts == {"twice in this import": 1}
    assert "2 queries added" in file.sentence()
    assert texts(workspace, "query") == [("sort a list",), ("read csv",)]


def test_the_codes_of_cosqa_plus_without_pairs_are_a_corpus(workspace, tmp_path):
    path = tmp_path / "codebase.json"
    path.write_text(json.dumps([{"code-idx": 0, "code": GOOD}, {"code-idx": 1, "code": "x = 1"}]))
    (file,) = import_files(workspace, [path]).files
    assert file.codes_added == 1
    assert file.conversion_counts == {"no function": 1}


def test_what_pairs_hold_is_not_added_again(workspace, tmp_path):
    pair = {"id": "p1", "query": "Add numbers", "code": GOOD}
    import_files(workspace, [written(tmp_path / "pairs.jsonl", [pair])])
    (tmp_path / "queries.txt").write_text("add  numbers\n")
    paths = [written(tmp_path / "codes.jsonl", [function(GOOD + "\n")]), tmp_path / "queries.txt"]
    for path, named in zip(paths, (None, "queries"), strict=True):
        (file,) = import_files(workspace, [path], format=named).files
        assert not file.adds
        assert file.conversion_counts == {"already in the workspace": 1}


def test_bad_records_end_the_import_or_go_to_the_rejects(workspace, tmp_path):
    path = tmp_path / "codes.jsonl"
    path.write_text(
        "\n".join([json.dumps(function(GOOD)), json.dumps(function("")), '{"code": 1, "fu']) + "\n"
    )
    with pytest.raises(RecordsRefused) as refused:
        import_files(workspace, [path])
    assert "codes.jsonl:2" in str(refused.value)
    assert "codes.jsonl:3" in str(refused.value)
    assert texts(workspace, "code") == []
    report = import_files(workspace, [path], rejects=tmp_path / "bad.jsonl")
    assert report.files[0].codes_added == 1
    assert report.rejected == 2
    assert len((tmp_path / "bad.jsonl").read_text().splitlines()) == 2
    (tmp_path / "bad.txt").write_bytes(b"good\n\xff\xfe bad\n")
    with pytest.raises(RecordsRefused, match="UTF-8"):
        import_files(workspace, [tmp_path / "bad.txt"], format="queries")


def test_a_corpus_is_imported_alone(workspace, tmp_path):
    pair = written(tmp_path / "pairs.jsonl", [{"id": "p1", "query": "q", "code": "c"}])
    codes = written(tmp_path / "codes.jsonl", [function(GOOD)])
    with pytest.raises(ImportFailed, match="alone"):
        import_files(workspace, [pair, codes])
