"""Functions and classes that are cut out of sources."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from agents.repositories.reading import read_repository
from agents.repositories.units import (
    MOST_AROUND,
    first_sentence,
    has_units,
    units_in,
    units_of,
    without_comments,
)

PYTHON = '''\
import os


def outer(a):
    """Say a. Then more.

    Args:
        a: What is said.
    """
    # A comment.
    text = "# none"  # one

    def inner():
        return lambda: a

    return inner


@decorated
class Till:
    "Holds money."

    async def pay(self):
        return """
    as it is
        """
'''
JAVA = """\
package shop;
/** A till. It holds money. */
public class Till implements Runnable {
    Runnable later = () -> {};
    public Till() {}
    /**
     * Takes money.
     * @param sum how much
     */
    @Override
    public void run() { new Object() { void hidden() {} }; }
    interface Box { int size(); }
    record Coin(int value) { Coin { } }
    enum Side { HEADS, TAILS }
    @interface Kept {}
}
"""
TYPESCRIPT = """\
// Doubles.
// Twice.
export const double = (x: number) => 2 * x;
const items = [1].map((x) => x);
export default class Till<T> {
  constructor() {}
  pay(sum: number): void { function inside() {} }
  later = async () => 1;
}
interface Box { size: number }
enum Side { Heads }
abstract class Shape { abstract area(): number }
const table = { key() { return 1 }, other: function () {} };
function* numbers() {}
"""
CSHARP = """\
namespace Shop;
/// <summary>
/// Holds money. Safely.
/// </summary>
public class Till {
    public Till() {}
    ~Till() {}
    public int Pay(int sum) { int Inside() => 1; return Inside(); }
    public int Size { get; set; }
    Func<int> later = () => 1;
}
struct Coin {}
record Note(int Value);
interface IBox {}
enum Side { Heads }
"""
GO = """\
package shop

// Till holds money.
type Till struct{}
type Box interface{ Size() int }
type Sum int

// Pay takes
// money.
func (t *Till) Pay() {}
func (t Till) Size() int { return 0 }
func (l *List[T]) Push(x T) {}
func Open() { f := func() {}; f() }
"""


def found(path: str, text: str) -> list[tuple[str, str, int, int]]:
    return [(unit.name, unit.kind, unit.line, unit.end_line) for unit in units_of(path, text)]


def test_python() -> None:
    assert found("a.py", PYTHON) == [
        ("outer", "function", 4, 16),
        ("outer.inner", "function", 13, 14),
        ("Till", "class", 20, 26),
        ("Till.pay", "function", 23, 26),
    ]
    outer, inner, till, pay = units_of("shop/a.py", PYTHON)
    assert (outer.path, outer.language) == ("shop/a.py", "python")
    assert outer.doc == "Say a. Then more.\n\nArgs:\n    a: What is said."
    assert (inner.doc, till.doc, pay.doc) == ("", "Holds money.", "")
    assert inner.text == "def inner():\n    return lambda: a"
    # A text in quotes stays as it is.
    assert pay.text == 'async def pay(self):\n    return """\nas it is\n    """'


def test_java() -> None:
    assert [(name, kind) for name, kind, _, _ in found("A.java", JAVA)] == [
        ("Till", "class"),
        ("Till.Till", "function"),
        ("Till.run", "function"),
        ("Till.run.hidden", "function"),
        ("Till.Box", "class"),
        ("Till.Box.size", "function"),
        ("Till.Coin", "class"),
        ("Till.Coin.Coin", "function"),
        ("Till.Side", "class"),
        ("Till.Kept", "class"),
    ]
    till, _, run, *_ = units_of("A.java", JAVA)
    assert till.doc == "A till. It holds money."
    assert run.doc == "Takes money.\n@param sum how much"
    assert run.text.startswith("@Override\npublic void run()")


@pytest.mark.parametrize("path", ["a.ts", "a.tsx", "A.MTS"])
def test_typescript(path: str) -> None:
    text = TYPESCRIPT.replace("Till<T>", "Till") if path.endswith("x") else TYPESCRIPT
    assert [(name, kind) for name, kind, _, _ in found(path, text)] == [
        ("double", "function"),
        ("Till", "class"),
        ("Till.constructor", "function"),
        ("Till.pay", "function"),
        ("Till.pay.inside", "function"),
        ("Till.later", "function"),
        ("Box", "class"),
        ("Side", "class"),
        ("Shape", "class"),
        ("key", "function"),
        ("other", "function"),
        ("numbers", "function"),
    ]
    assert units_of(path, text)[0].doc == "Doubles.\nTwice."


def test_csharp() -> None:
    assert [(name, kind) for name, kind, _, _ in found("a.cs", CSHARP)] == [
        ("Till", "class"),
        ("Till.Till", "function"),
        ("Till.Till", "function"),
        ("Till.Pay", "function"),
        ("Till.Pay.Inside", "function"),
        ("Coin", "class"),
        ("Note", "class"),
        ("IBox", "class"),
        ("Side", "class"),
    ]
    assert units_of("a.cs", CSHARP)[0].doc == "Holds money. Safely."


def test_go() -> None:
    assert [(name, kind) for name, kind, _, _ in found("a.go", GO)] == [
        ("Till", "class"),
        ("Box", "class"),
        ("Till.Pay", "function"),
        ("Till.Size", "function"),
        ("List.Push", "function"),
        ("Open", "function"),
    ]
    units = units_of("a.go", GO)
    assert (units[0].doc, units[2].doc) == ("Till holds money.", "Pay takes\nmoney.")


@pytest.mark.parametrize(
    ("path", "text"),
    [("a.py", PYTHON), ("A.java", JAVA), ("a.ts", TYPESCRIPT), ("a.cs", CSHARP), ("a.go", GO)],
)
def test_lines_are_those_of_the_file(path: str, text: str) -> None:
    lines = text.split("\n")
    for unit in units_of(path, text):
        own = lines[unit.line - 1 : unit.end_line]
        assert unit.text.split("\n")[0] in own[0]
        assert len(unit.text.split("\n")) == len(own)


def test_comments_are_cut_and_texts_are_not() -> None:
    outer, *_ = units_of("a.py", PYTHON)
    assert without_comments(outer.text, "python") == (
        'def outer(a):\n    text = "# none"\n    def inner():\n        return lambda: a\n    return inner'
    )
    java = '/* a */ int f() { // b\n  String s = "// c"; /** d */\n\n  return 1; }'
    assert without_comments(java, "java") == ' int f() {\n  String s = "// c";\n  return 1; }'
    assert without_comments('def f():\n    "all"', "python") == "def f():"


@pytest.mark.parametrize(
    ("doc", "sentence"),
    [
        ("Adds two. Then more.", "Adds two."),
        ("Adds\n  two\n\nMore", "Adds two"),
        ("Is it? Yes.", "Is it?"),
        ("Reads v1.2 files", "Reads v1.2 files"),
        (":rtype: int", ""),
        ("Takes money.\n@param sum", "Takes money."),
        ("Takes money\n:param sum: x", "Takes money"),
        ("  ", ""),
    ],
)
def test_first_sentence(doc: str, sentence: str) -> None:
    assert first_sentence(doc) == sentence


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.py", "def f(:\n  x\nclass A:\n  def ok(self):\n    return 1\n", {"A", "A.ok"}),
        ("a.py", "def größe():\n    return 'ä'\n", {"größe"}),
        ("a.py", "\x00\x01\ufffd(((((", set()),
        ("a.py", "", set()),
        ("a.py", "(" * 20_000, set()),
        ("a.java", "class { void f( }", set()),
        ("a.txt", "def f(): pass", set()),
        ("Makefile", "def f(): pass", set()),
    ],
)
def test_sources_with_errors(path: str, text: str, names: set[str]) -> None:
    assert names <= {unit.name for unit in units_of(path, text)}
    assert bool(names) or len(units_of(path, text)) <= 1


@pytest.mark.parametrize(
    ("path", "text", "count"),
    [
        ("a.ts", "function a(){" * 30_000 + "}" * 30_000, MOST_AROUND + 1),
        ("a.ts", "function a(){}" * 30_000, 30_000),
        ("a.go", "package a\n" + "//a\n" * 200_000 + "func f() {}\n", 1),
        ("a.go", f"package a\n/* {' ' * 300_000}x <{'a' * 300_000} {'*' * 300_000}x */\nfunc f() {{}}\n", 1),
        ("a.py", "(" * 1_000_000, 0),
        ("A.java", "class A {" + "(" * 500_000, 0),
    ],
    ids=["nested", "one line", "comments", "one comment", "no code", "no code in a class"],
)
def test_a_file_that_could_take_hours_takes_a_second(path: str, text: str, count: int) -> None:
    assert len(units_of(path, text)) == count


def test_what_a_real_repository_has(shared_data: Callable[[str], Path]) -> None:
    archive = shared_data("repo-requests") / "requests-46e939b.tar.gz"
    read = read_repository(str(archive), lambda path: path.startswith("src/") and has_units(path))
    functions = [unit for unit in units_in(read) if unit.kind == "function"]
    assert len(functions) == 240
    assert sum(bool(unit.doc) for unit in functions) == 161
    texts = {file.path: file.text for file in read.files}
    known = {
        (path, node.lineno, node.end_lineno)
        for path, text in texts.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {(unit.path, unit.line, unit.end_line) for unit in functions} == known
