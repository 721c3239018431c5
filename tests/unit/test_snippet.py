"""What is read of a snippet: the names that it lacks, and the Python that it is written in."""

import time
import warnings

import pytest

from agents.pipelines.pair_annotation.snippet import read_snippet

NORMALIZED = "def norm(a: List[float]):\n    return np.linalg.norm(a) / os.path.getsize(__file__)\n"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (NORMALIZED, ("List", "np", "os")),
        ("def f(x):\n    return unicode(x), xrange(3), len(x)\n", ("unicode", "xrange")),
        ("import re\ndef f(x):\n    y = [z for z in x]\n    return re.sub('', '', y)\n", ()),
        ("def f(self):\n    global seen\n    seen = 1\n    return seen\n", ()),
        ("from x import *\ndef f():\n    return anything\n", ()),
        ("def f() -> 'DataFrame':\n    return g()\n", ("DataFrame", "g")),
        ("", ()),
        ("\ufeffdef f():\n    return g()\n", ("g",)),
    ],
)
def test_names_that_a_snippet_uses_and_does_not_have(text, names):
    assert (read_snippet(text).undefined_names, read_snippet(text).python) == (names, "3")


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("def f(x):\n    print x\n", "2"),
        ("def f(x):\n    print x, >>out\n", "invalid"),
        ("try:\n    f()\nexcept (A, B), e:\n    raise C, 'd'\n", "2"),
        ("x = `y`", "2"),
        ("exec code in space\n", "2"),
        ("mode = 0777\nlong = 10L\n", "2"),
        ("if a <> b: pass\n", "2"),
        ("def f(a, (b, c)):\n    return b\n", "2"),
        ("def f():\n        a = 1\n\treturn a\n", "2"),
        ("return 1\n", "invalid"),
        ("def f(:\n", "invalid"),
        ("f(a=1, 2)\n", "invalid"),
        ("f() = 1\n", "invalid"),
        ("some words that are no code\n", "invalid"),
    ],
)
def test_the_python_of_a_snippet(text, python):
    assert (read_snippet(text).python, read_snippet(text).undefined_names) == (python, ())


@pytest.mark.parametrize(
    "text",
    [
        "a\0b",
        "x = '\ud800'",
        "\ud800",
        "(" * 19_000,
        "(" * 90_000,
        "[" * 9_000 + "]" * 9_000,
        "-" * 90_000 + "1",
        "a" + ".b" * 45_000,
        "f" + "()" * 9_000,
        "lambda:" * 9_000 + "1",
        "print 1\n" * 2_000,
        "x\n" * 1_000_000,
        "`" * 9_000,
        "\t" * 9_000 + "x",
    ],
)
def test_no_text_makes_it_fail_or_takes_long(text):
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_snippet(text).python in ("3", "2", "invalid")
    assert time.perf_counter() - started < 20  # a machine under load; alone it takes up to two seconds


def test_a_warning_about_the_text_is_kept_from_the_screen(recwarn):
    assert read_snippet("x = '\\d'  # as it stood in a file\nassert (x, 1)\n").python == "3"
    assert not recwarn.list
