"""`workbench construct`: completion tasks of repositories, by the compilers of four languages."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from construction_projects import NAMES, PROJECTS, write_project
from loopback_models import LoopbackModels, Status, Texts

from agents.construction.csharp_files import CSharpFinder, empty_types
from agents.construction.places import Place
from agents.construction.python_files import Modules, PythonFinder, empty_imports
from agents.construction.syntax import python_statement
from agents.construction.tasks import (
    AGAIN,
    AT_NAME,
    ELSEWHERE,
    LONG,
    LONG_STRING,
    SHORT,
    SHORT_PROMPT,
    TWICE,
    Rules,
    Tokenizer,
    first_of_each,
    tasks_of,
)
from agents.repositories.syntax import parsed
from agents.sandbox.settings import SandboxSettings
from store.errors import ImportFailed

BODY = "".join(f"x{number} = {number}\n" for number in range(12))


def exported(workspace: Path, tmp_path: Path, workbench: Any) -> list[dict[str, Any]]:
    out = tmp_path / "out.jsonl"
    out.unlink(missing_ok=True)
    assert workbench("export", workspace, out, "--format", "crosscodeeval").code == 0
    return [json.loads(line) for line in out.read_text().splitlines()]


@pytest.mark.full
@pytest.mark.parametrize("language", list(PROJECTS))
def test_names_of_other_files_become_tasks(language: str, tmp_path: Path, workbench: Any) -> None:
    project = write_project(tmp_path / "till-shop", language)
    construct = ("construct", tmp_path / "a.duckdb", project, "--language", language)
    told = workbench(*construct, "--cursor", "name", "--json").json()
    tasks = exported(tmp_path / "a.duckdb", tmp_path, workbench)
    assert told["tasks"] == told["added"] == len(tasks)
    found = Counter(task["metadata"]["file"] for task in tasks).most_common(1)[0][0]
    names = {task["constructed"]["name"] for task in tasks if task["metadata"]["file"] == found}
    assert names <= NAMES[language]
    # References of one or two tokens are left out, and what is near the beginning of its file.
    short = sum(told["left_out"].get(why, 0) for why in (SHORT, SHORT_PROMPT))
    assert len(names) + short >= len(NAMES[language]), told
    for task in tasks:
        text = (project / task["metadata"]["file"]).read_text(encoding="utf-8")
        assert task["prompt"] + task["groundtruth"] + task["right_context"] == text
        assert task["groundtruth"].startswith(task["constructed"]["name"])
    if language == "csharp":
        assert told["files_left_out"]["not parsed by mcs"] == 1
    # With drawn cursors, twice: the same bytes, and none is added twice.
    lines = []
    for name in ("b", "c"):
        drawn = ("construct", tmp_path / f"{name}.duckdb", project, "--language", language, "--seed", "7")
        made = workbench(*drawn, "--json").json()["tasks"]
        assert workbench(*drawn, "--json").json()["known"] == made
        lines.append(exported(tmp_path / f"{name}.duckdb", tmp_path, workbench))
    assert lines[0] == lines[1]
    for task in lines[0]:
        text = (project / task["metadata"]["file"]).read_text(encoding="utf-8")
        assert task["prompt"] + task["groundtruth"] + task["right_context"] == text
        assert task["constructed"]["name"] in task["groundtruth"]


def test_python_from_a_repository_to_the_report(tmp_path: Path, workbench: Any) -> None:
    project = write_project(tmp_path / "shop", "python")
    told = workbench(
        "construct", tmp_path / "a.duckdb", project, tmp_path / "nowhere", "--language", "python"
    )
    assert "4 tasks of 5 places in 2 repositories, found by pylint" in told.out
    assert "no task: 1 place, the name is found earlier in its file" in told.out
    assert "left out: nowhere, not readable" in told.out
    report = workbench("report", tmp_path / "a.duckdb", "construction", "--json").json()
    (python,) = report["languages"]
    assert (python["repositories"], python["files"], python["tasks"], python["tried"]) == (1, 1, 4, 2)
    assert python["left_out"] == {AGAIN: 1}
    assert python["published"]["tasks"] == 2665
    assert python["reference_lines"] == 1
    assert python["without"]["nowhere"]["why"] == "not readable"
    printed = workbench("report", tmp_path / "a.duckdb", "construction").out
    assert "Places in Python" in printed
    assert "cursor drawn, seed 0 · tokens: words and signs" in printed


def test_nothing_of_a_repository_is_executed(tmp_path: Path, workbench: Any) -> None:
    project = write_project(tmp_path / "shop", "python")
    ran = tmp_path / "ran"
    order = f"import pathlib; pathlib.Path({str(ran)!r}).touch()"
    (project / "pylintrc").write_text(f'[MAIN]\ninit-hook="{order}"\nload-plugins=plugin\n')
    (project / "setup.cfg").write_text(f'[pylint.MAIN]\ninit-hook="{order}"\n')
    (project / "plugin.py").write_text(f"{order}\n\ndef register(linter):\n    {order}\n")
    (project / "sitecustomize.py").write_text(order)
    # What a file orders of pylint is not followed either.
    main = project / "main.py"
    main.write_text("# pylint: skip-file\n# -*- coding: latin-1 -*-\n" + main.read_text())
    (project / "link").symlink_to(project)
    (project / "large.py").write_text("from shop import till\n" + "x = 1\n" * 8_700_000)
    (project / "one.py").write_text("import two\n\ntwo.first.second()\n")
    (project / "two.py").write_text("import one\n\none.two.first()\n")
    (project / "broken.py").write_text("from shop import till\nx = (\n")
    (project / "nested.py").write_text("from shop import till\nx = " + "(" * 3000 + ")" * 3000 + "\n")
    told = workbench("construct", tmp_path / "a.duckdb", project, "--language", "python", "--json").json()
    assert not ran.exists()
    assert told["tasks"] == 4
    left_out = told["files_left_out"]
    assert left_out["links"] == 1
    assert left_out["files over 1 MiB"] == 1
    assert left_out["not parsed by pylint"] == 2
    assert left_out["without an import of the repository"] == 5


CSHARP_LINES = {
    'Console.WriteLine($"count {t.Count}!");': ["Count"],
    'string s = "\U0001f600"; t.Open(s);': ["Open"],
    'var s = $"the limit is {Till.Limit} and the count is {t.Count} of {a}";': ["Limit", "Count"],
    "\tt.Open(a); // Open": ["Open"],
}


@pytest.mark.full
@pytest.mark.parametrize(("line", "names"), CSHARP_LINES.items())
async def test_names_in_interpolated_strings_and_after_signs_of_two_units(
    line: str, names: list[str]
) -> None:
    members = "public const int Limit = 3; public int Count; public void Open(object s) { }"
    code = f"using System;\npublic class Main {{\nint a = 1;\nvoid Go(Till t) {{\n{line}\n}} }}\n"
    files = {"Till.cs": f"public class Till {{ {members} }}\n", "Main.cs": code}
    found = await CSharpFinder(SandboxSettings()).find(files)
    assert [place.name for place in found.places] == names
    for place in found.places:
        assert code.encode()[: place.start].endswith(b".")
        assert code.encode()[place.start :].startswith(place.name.encode())


def test_what_changed_since_is_refused_and_what_is_not_utf8_left_out(tmp_path: Path, workbench: Any) -> None:
    project = write_project(tmp_path / "shop", "python")
    (project / "latin.py").write_bytes(b"from shop import till\nx = '\xe9'\n")
    construct = ("construct", tmp_path / "a.duckdb", project, "--language", "python", "--cursor", "name")
    assert workbench(*construct, "--json").json()["files_left_out"]["not in UTF-8"] == 1
    main = project / "main.py"
    main.write_text(main.read_text().replace("import", "import ", 1))
    told = workbench(*construct)
    assert told.code == 2
    assert "It has changed since" in told.out
    assert "another workspace" in told.out
    assert workbench(*construct, "--created", "2023-01-01..2023-02-01").says("Give --github FILE")
    nowhere = workbench("construct", tmp_path / "b.duckdb", tmp_path / "no", "--language", "python")
    assert nowhere.code == 2
    assert "Judge them" not in nowhere.out


def test_the_reference_of_a_task_of_another_command_is_left_out(tmp_path: Path, workbench: Any) -> None:
    first, second = (write_project(tmp_path / name, "python") for name in ("shop", "store"))
    construct = ("construct", tmp_path / "a.duckdb")
    made = workbench(*construct, first, "--language", "python", "--cursor", "name", "--json").json()["tasks"]
    told = workbench(*construct, second, "--language", "python", "--cursor", "name", "--json").json()
    assert (told["tasks"], told["left_out"][TWICE]) == (0, made)


def test_repositories_of_the_preset(tmp_path: Path, workbench: Any) -> None:
    few, many = (write_project(tmp_path / name, "python") for name in ("few", "many"))
    for number in range(60):
        (many / f"more_{number}.py").write_text("")
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "a.txt").write_text("a")
    construct = ("construct", tmp_path / "a.duckdb", few, many, tmp_path / "none", "--language", "python")
    told = workbench(*construct, "--preset", "crosscodeeval", "--json").json()
    assert [one["why"] for one in told["repositories"].values()] == [
        "fewer than 10 source files",
        "more than 50 source files",
        "no file of the language",
    ]
    assert told["tasks"] == 0


def test_what_cannot_be_constructed(tmp_path: Path, workbench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    project = write_project(tmp_path / "shop", "python")
    other = write_project(tmp_path / "other" / "shop", "python")
    construct = ("construct", tmp_path / "a.duckdb")
    told = workbench(*construct, project, other, "--language", "python")
    assert told.code != 0
    assert "Two repositories are called shop" in told.err
    # The tasks of the first are there.
    assert len(exported(tmp_path / "a.duckdb", tmp_path, workbench)) == 4
    told = workbench(*construct, project, "--language", "python", "--tokenizer", tmp_path / "none.json")
    assert told.code != 0
    assert "No tokenizer" in told.err
    nowhere = tmp_path / "bin"
    nowhere.mkdir()
    monkeypatch.setenv("PATH", str(nowhere))
    for language, package in (
        ("java", "openjdk-17-jdk-headless"),
        ("typescript", "typescript@5.9.3"),
        ("csharp", "mono-mcs"),
    ):
        told = workbench(*construct, project, "--language", language)
        assert told.code != 0
        assert package in told.err
    told = workbench(*construct, project, "--language", "python")
    assert told.code != 0
    assert "apt-get install bubblewrap" in " ".join(told.err.replace("│", " ").split())


@pytest.mark.parametrize(
    ("code", "emptied"),
    [
        ("from shop.till import Till, Coin as C\n", "class Till: pass\nclass C: pass\n"),
        ("import shop.till, os\n", "import os\nclass shop:\n class till: pass\n"),
        (
            "import shop.till\nimport shop.tools.scale\n",
            "class shop:\n class till: pass\n class tools:\n  class scale: pass\n" * 2,
        ),
        ("def f():\n    from .till import a\n", "def f():\n    class a: pass\n"),
        ("from shop.till import (\n    a,\n    b,\n)  # why\nx\n", "class a: pass\nclass b: pass\nx\n"),
        ("from shop.till import *\n", None),
        ("import os; import shop\n", None),
        ("import shop_of_elsewhere\nfrom os import path\n", None),
    ],
)
def test_imports_of_the_repository_become_empty_classes(code: str, emptied: str | None) -> None:
    modules = Modules(["shop/till.py", "shop/tools/scale.py", "shop/main.py"])
    found = empty_imports(code.encode(), "shop/main.py", modules)
    assert (None if found is None else found.code.decode()) == emptied


def test_where_modules_are() -> None:
    modules = Modules(["src/pkg/a.py", "lib/helper.py", "lib/main.py"])
    assert modules.has("src/pkg/b.py", "pkg.a")
    assert modules.has("tests/test_a.py", "pkg.a")
    assert modules.has("lib/main.py", "helper")
    assert not modules.has("src/pkg/b.py", "helper")
    assert not modules.has("lib/main.py", "pkg.b")
    # Within a package `logging` is Python's own.
    package = Modules(["rich/__init__.py", "rich/logging.py", "rich/text.py"])
    assert not package.has("rich/text.py", "logging")
    assert package.has("rich/text.py", "rich.logging")


@pytest.mark.parametrize(
    ("code", "statement"),
    [
        ("x = till.open(1)\ny = 2\n", "x = till.open(1)"),
        ("if till.open(1):\n    x\n", "if till.open(1):"),
        ("if x:\n    a\nelif till.open(1):\n    b\n", "elif till.open(1):"),
        ("for a in till.open(1): b\n", "for a in till.open(1): b"),
        ("for a in till.open(1): b(\n    c)\n", None),
        ("if till.open(1):  # why\n    x\n", "if till.open(1):"),
        ("with till.open(1) as a:\n    b\n", "with till.open(1) as a:"),
        ("try:\n    a\nexcept till.open as b:\n    c\n", "except till.open as b:"),
        ("@till.open(1)\ndef f():\n    b\n", None),
        ("class A(till.open):\n    b = 1\n", "class A(till.open):"),
        ("def f(a=till.open):\n    b = 1\n", "def f(a=till.open):"),
        (
            "def f():\n    return [\n        till.open(a)\n        for a in b\n    ]\n",
            "return [\n        till.open(a)\n        for a in b\n    ]",
        ),
        ("a; till.open(1); b\n", "till.open(1); b"),
        ("x = {1: lambda: till.open}\n", "x = {1: lambda: till.open}"),
        ("while a: till.open(1)\n", "till.open(1)"),
    ],
)
def test_where_python_statements_end(code: str, statement: str | None) -> None:
    at = code.index("open")
    start, end = python_statement(parsed("python", "a.py", code.encode()), code.encode(), at, at + 4)
    assert (None if end is None else code[start:end]) == statement


def made(code: str, *, language: str = "python", **others: Any) -> tuple[list[Any], Counter[str]]:
    """Return the tasks of the places called `open` in a file, and what gave none."""
    path = {"python": "a.py", "java": "A.java"}[language]
    files = {path: code, **others.pop("files", {})}
    places = [Place(path, at, "open") for at in range(len(code)) if code.startswith("open", at)]
    left_out = Counter[str]()
    rules = Rules(language, Tokenizer(), cursor=AT_NAME, **others)
    return first_of_each(list(tasks_of("r", files, places, rules, left_out)), set(), left_out), left_out


def test_which_tasks_are_kept() -> None:
    (task,), _ = made(f"{BODY}till.open(drawer)\n")
    assert (task.reference, task.lines, task.tokens[1]) == ("open(drawer)", 13, 4)
    assert task.prompt == f"{BODY}till."
    assert made("till.open(drawer)\n")[1] == {SHORT_PROMPT: 1}
    # Imports and blank lines do not count.
    assert made("import a\n\n" * 20 + "till.open(drawer)\n")[1] == {SHORT_PROMPT: 1}
    assert made(f"{BODY}till.open\n")[1] == {SHORT: 1}
    assert made(f"{BODY}till.open({', '.join('a' * 20)})\n")[1] == {LONG: 1}
    assert made(f"{BODY}till.open(drawer)\n", files={"b.py": "a.open(drawer)"})[1] == {ELSEWHERE: 1}
    string = f'{BODY}till.open("a long text, which nobody knows")\n'
    assert made(string, longest_string=20)[1] == {LONG_STRING: 1}
    assert len(made(string)[0]) == 1
    # The end of a reference can be within a string.
    cut = "".join(f"a({number});\n" for number in range(20)) + 'till.open("a long text; which ends");\n'
    assert made(cut, language="java", longest_string=5)[1] == {LONG_STRING: 1}
    assert len(made(cut, language="java", longest_string=12)[0]) == 1
    assert made(f"{BODY}till.open(drawer)\ntill.open(1)\n")[1] == {AGAIN: 1}
    left_out = Counter[str]()
    (task,), _ = made(f"{BODY}till.open(drawer)\n")
    assert first_of_each([task, task], set(), left_out) == [task]
    assert left_out == {TWICE: 1}


def test_statements_that_end_with_signs() -> None:
    lines = "".join(f"        a({number});\n" for number in range(20))
    for end in (";", " {", " }"):
        (task,), _ = made(
            f"class A {{\n  void b() {{\n{lines}        c = till.open(d){end} e;\n", language="java"
        )
        assert task.reference == f"open(d){end}"
    assert made(f"class A {{\n  void b() {{\n{lines}        c = till.open(d)", language="java")[0] == []


def test_cursors_are_drawn_within_the_statement_and_line() -> None:
    code = f"{BODY}a = 1; bb = cc('dd', till.open(drawer))\n"
    at = code.index("open")
    found = set()
    for seed in range(200):
        (task,) = tasks_of(
            "r", {"a.py": code}, [Place("a.py", at, "open")], Rules("python", Tokenizer(), seed), Counter()
        )
        assert task.prompt + task.reference + task.right == code
        found.add(task.reference)
    assert found == {
        *("bb = cc('dd', till.open(drawer))", "= cc('dd', till.open(drawer))", "cc('dd', till.open(drawer))"),
        *("('dd', till.open(drawer))", "'dd', till.open(drawer))", ", till.open(drawer))"),
        *("till.open(drawer))", ".open(drawer))", "open(drawer))"),
    }


def test_types_are_emptied() -> None:
    code = b"""using A;
namespace B {
    [Serializable] public partial class C<T> : D, E where T : F { int g; class H : I { void J() { } } }
    enum K { L, M }
    interface N : O { void P(); }
    class Broken : System.Exception { int q; }
    delegate void R();
}
"""
    assert (
        empty_types("a.cs", code)
        == b"""using A;
namespace B {
    [Serializable] public partial class C<T>   where T : F { class H   {  } }
    enum K {  }
    interface N   {  }
    class Broken : System.Exception {  }
    delegate void R();
}
"""
    )
    assert empty_types("a.cs", b"using A;\n") is None


def test_tokenizers_are_named(tmp_path: Path) -> None:
    from tokenizers import Tokenizer as OfLibrary
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    words = OfLibrary(WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    words.pre_tokenizer = Whitespace()
    folder = tmp_path / "starcoder"
    folder.mkdir()
    words.save(str(folder / "tokenizer.json"))
    found = Tokenizer(str(folder / "tokenizer.json"))
    assert (found.name, found.count("a(b)")) == ("starcoder/tokenizer.json", 4)
    # What is kept for a model that reads so much.
    words.enable_padding(length=20)
    words.enable_truncation(2)
    words.save(str(folder / "tokenizer.json"))
    assert Tokenizer(str(folder / "tokenizer.json")).count("a(b)") == 4
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(ImportFailed, match="leave --tokenizer out"):
        Tokenizer(str(tmp_path / "bad.json"))


def test_which_repositories_are_selected(tmp_path: Path, workbench: Any) -> None:
    good = {
        "full_name": "Ann/shop",
        "license": {"spdx_id": "MIT"},
        "fork": False,
        "created_at": "2023-04-01T10:00:00Z",
        "stargazers_count": 3,
        "size": 40,
    }
    changes = {
        "forked": {"fork": True},
        "old": {"created_at": "2020-01-01T10:00:00Z"},
        "copyleft": {"license": {"spdx_id": "GPL-3.0"}},
        "unknown": {"license": None},
        "few": {"stargazers_count": 2},
        "large": {"size": 1000},
    }
    objects = [good, *({**good, "full_name": f"ann/{name}", **one} for name, one in changes.items())]
    listed = tmp_path / "objects.json"
    listed.write_text(json.dumps({"items": objects}))
    names = ["shop", *changes, "unlisted"]
    projects = [write_project(tmp_path / "ann" / name, "python") for name in names]
    for project in projects:
        main = project / "main.py"
        main.write_text(main.read_text().replace("coins", f"coins_{project.name}"))
    construct = ("construct", tmp_path / "a.duckdb", *projects, "--language", "python", "--github", listed)
    told = workbench(*construct, "--created", "2023-03-05..2023-06-15", "--json").json()
    assert [one["why"] for one in told["repositories"].values()] == [
        "",
        "a fork",
        "created at another time",
        "its licence is not permissive",
        "its licence is not permissive",
        "fewer than 3 stars",
        "1 MB or more, zipped",
        "not among the repository objects",
    ]
    lines = tmp_path / "objects.jsonl"
    lines.write_text("".join(json.dumps(one) + "\n" for one in objects))
    anytime = ("construct", tmp_path / "b.duckdb", *projects[:3], "--language", "python", "--github", lines)
    told = workbench(*anytime, "--json").json()
    assert [one["why"] for one in told["repositories"].values()] == ["", "a fork", ""]
    bad = workbench(*anytime, "--created", "2023", "--json")
    assert bad.json()["error"]["title"] == "No interval"


def test_repositories_with_known_files_are_left_out(tmp_path: Path, workbench: Any) -> None:
    project = write_project(tmp_path / "shop", "python")
    content = (project / "main.py").read_bytes()
    git = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    for number, line in enumerate((git, hashlib.sha256(content).hexdigest().upper())):
        hashes = tmp_path / f"{number}.txt"
        hashes.write_text(f"{'0' * 40}\n{line}\n")
        construct = ("construct", tmp_path / f"{number}.duckdb", project, "--language", "python")
        told = workbench(*construct, "--hashes", hashes, "--json").json()
        assert [one["why"] for one in told["repositories"].values()] == ["a file is in the list of hashes"]


def test_what_a_model_completes_without_context_is_left_out(
    tmp_path: Path, workbench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = write_project(tmp_path / "shop", "python")
    construct = ("construct", tmp_path / "a.duckdb", project, "--language", "python", "--cursor", "name")
    with LoopbackModels() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        monkeypatch.setenv("WORKBENCH_MODELS__MAX_RETRIES", "0")

        def script(seen: Any, number: int) -> Any:
            prompt = seen.body["prompt"]
            if prompt.endswith("shop.tools.scale."):
                return Status(400, "no")
            return Texts([("count_coins() + tills.FLOAT\n", -1.0)])

        server.script = script
        told = workbench(*construct, "--drop-predictable", "completions:small", "--json").json()
        assert told["left_out"]["completed by a model without context"] == 1
        assert (told["tasks"], told["predictor"]) == (2, "completions:small")
        asked = len(server.requests)
        assert asked == 3
        # What was answered is not asked again.
        again = workbench(*construct, "--drop-predictable", "completions:small", "--json").json()
        assert (again["known"], len(server.requests)) == (2, asked + 1)
    names = {task["constructed"]["name"] for task in exported(tmp_path / "a.duckdb", tmp_path, workbench)}
    assert names == {"open_drawer", "weigh"}
    report = workbench("report", tmp_path / "a.duckdb", "construction").out
    assert "predictable to completions:small left out" in report


def test_the_task_of_the_sample(tmp_path: Path, workbench: Any, sample_folder: Path) -> None:
    archive = sample_folder / "repositories" / "sample-tidewatch-5c1e9a0.zip"
    construct = ("construct", tmp_path / "a.duckdb", archive, "--language", "python", "--cursor", "name")
    assert workbench(*construct, "--json").json()["tasks"] == 3
    (own,) = (
        task
        for task in exported(tmp_path / "a.duckdb", tmp_path, workbench)
        if task["constructed"]["name"] == "next_high"
    )
    tasks = map(json.loads, (sample_folder / "completions.jsonl").read_text(encoding="utf-8").splitlines())
    shipped = next(task for task in tasks if "constructed" in task)
    for part in ("prompt", "groundtruth", "right_context", "constructed"):
        assert own[part] == shipped[part]
    workbench("import", tmp_path / "b.duckdb", sample_folder / "completions.jsonl")
    (python,) = workbench("report", tmp_path / "b.duckdb", "construction", "--json").json()["languages"]
    assert (python["tasks"], python["tried"], python["language"]) == (1, 0, "python")
    assert "1 task, constructed elsewhere" in workbench("report", tmp_path / "b.duckdb", "construction").out


@pytest.mark.full
def test_a_repository_that_cannot_be_analysed_ends_no_other(tmp_path: Path, workbench: Any) -> None:
    deep, good = tmp_path / "deep", write_project(tmp_path / "shop", "csharp")
    deep.mkdir()
    nested = "namespace a {" * 1500 + "class B { int c; }" + "}" * 1500
    (deep / "A.cs").write_text(nested)
    (deep / "B.cs").write_text("class C { }")
    construct = ("construct", tmp_path / "a.duckdb", deep, good, "--language", "csharp", "--json")
    told = workbench(*construct).json()
    first, second = told["repositories"].values()
    assert first["why"] == "not compiled"
    assert second["tasks"] == told["added"] > 0


@pytest.mark.full
def test_names_of_files_that_would_be_lines_of_their_own(tmp_path: Path, workbench: Any) -> None:
    project = write_project(tmp_path / "shop", "java")
    source = next(project.rglob("*.java"))
    (source.parent / "A\nB.java").write_text("class A { }")
    (source.parent / 'A"B.java').write_text("class A { }")
    told = workbench("construct", tmp_path / "a.duckdb", project, "--language", "java", "--json").json()
    assert told["files_left_out"]["with a name that compilers do not take"] == 2
    assert told["tasks"] > 0


@pytest.mark.parametrize(
    "before",
    [
        b"# a\r# b\r# c\n",
        b"# vim: set fileencoding=latin-1 :\nname = '\xc3\xa9'\n",
        b"# -*- encoding: latin-1 -*-\nname = '\xc3\xa9\xc3\xa9'\n",
        b"# coding: coding: latin-1\n# pylint: pylint: disable=all\n",
        b"x = [\r\n]\r\n",
    ],
)
async def test_what_a_python_file_says_of_its_lines_and_letters_moves_no_place(before: bytes) -> None:
    body = b"".join(b"x%d = %d\n" % (number, number) for number in range(12))
    code = before + b"from till import drawer\nif x:\n\timport till\n" + body
    code += "word = 'é'; drawer.open(word)\n".encode()
    files = {"till.py": "class drawer:\n    open = print\n", "main.py": code.decode()}
    found = await PythonFinder(SandboxSettings()).find(files)
    assert found.left_out == {"without an import of the repository": 1}
    (place,) = found.places
    assert code[place.start : place.end] == b"open"
    assert code[: place.start].endswith(b"drawer.")
