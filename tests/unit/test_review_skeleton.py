"""The beginning of an expert's own test: it compiles, imports the candidate and says what it lacks."""

from __future__ import annotations

import pytest

from screens.items.skeleton import skeleton


@pytest.mark.parametrize(
    ("code", "name", "has"),
    [
        pytest.param(
            "def size(path, *, strict: bool = False) -> int:\n    return os.path.getsize(path)\n",
            "size",
            (
                "# %% scaffold\nimport os\n# %% tests\nfrom candidate import size\n",
                "# size(path, *, strict: bool=False) -> int\n",
                "    assert size(...) == ...\n",
            ),
            id="function",
        ),
        pytest.param(
            "def push(self, item):\n    self.items.append(norm(item))\n",
            "Stack.push",
            (
                "# The code also uses, and does not define: norm\n",
                "from types import SimpleNamespace\n",
                "    self = SimpleNamespace()  # give it: items\n    assert push(self, ...) == ...\n",
            ),
            id="method without its class",
        ),
        pytest.param(
            "class Stack:\n    def __init__(self, items=None): ...\n    def push(self, x, *, at): ...\n",
            "Stack",
            ("# Stack(items=None)\n#   .push(x, *, at)\n", "    assert made.push(..., at=...) == ...\n"),
            id="class",
        ),
        pytest.param(
            "async def get(url):\n    return url\n",
            "",
            ("import asyncio\n", "assert asyncio.run(get(...)) == ..."),
            id="coroutine",
        ),
        pytest.param("def rows():\n    yield 1\n", "rows", ("assert list(rows()) == ...",), id="generator"),
        pytest.param(
            "def show(x):\n    print x\n", "other", ("from candidate import show\n",), id="Python 2"
        ),
        pytest.param("x = 1\n", "class", ("import candidate\n", "candidate.NAME(...)"), id="no definition"),
        pytest.param("def f(" + "(" * 500, "f", ("from candidate import f\n",), id="broken"),
    ],
)
def test_a_test_of_ones_own_begins_with_what_the_candidate_needs(
    code: str, name: str, has: tuple[str, ...]
) -> None:
    first = skeleton(code, name)
    compile(first, "test", "exec")
    for part in has:
        assert part in first
    assert first.count("def test_") == 2
