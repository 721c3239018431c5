"""The benchmark of executability on a few snippets of our own, without the package index."""

import argparse
import importlib
import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SNIPPETS = {
    "plain": "def double(x):\n    return 2 * x\n",
    "alias": "def parent(path: List[str]):\n    return os.path.dirname(re.sub('/+', '/', path))\n",
    "python 3 only by name": "def text(x):\n    return unicode(x)\n",
    "a name of its project": "def load(path):\n    return read_settings(path)\n",
    "a class of its project": "def tree(x: Node):\n    return Node(x)\n",
    "a module of its project": "from utils import clean\n\n\ndef tidy(text):\n    return clean(text)\n",
    "a method": "class Stack:\n    def size(self):\n        return len(self.items)\n",
    "Python 2": "def show(x):\n    print x\n",
    "no Python": "def show(x:\n    return\n",
    "a limit": "def wait(x):\n    while True:\n        pass\n",
}


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    module = importlib.import_module("executability")
    monkeypatch.setattr(
        module.role_models, "open_model", module.role_models.open_model
    )  # put back at the end
    yield module
    for name in ("executability", "stand_in"):
        sys.modules.pop(name)


def test_paper_and_full_side_by_side(benchmark, tmp_path):
    pairs = [{"id": name, "query": name, "code": code} for name, code in SNIPPETS.items()]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, pairs)))
    options = argparse.Namespace(
        files=[tmp_path / "pairs.jsonl"],
        configuration=["paper", "full"],
        limit=None,
        concurrency=4,
        sandbox="bubblewrap",
        snapshots=str(tmp_path / "snapshots"),
        wall_seconds=3.0,
    )
    figures = benchmark.annotate(tmp_path / "pairs.duckdb", options)
    found = {
        name: (
            each["executable"],
            each["valid_code"],
            each["repairs"]["corrected"],
            each["repairs"]["given_up"],
        )
        for name, each in figures.items()
    }
    assert found == {"paper": (4, 8, 0, 3), "full": (7, 8, 3, 0)}
    told = [line.split() for line in benchmark.lines(figures, details=True)]
    assert ["missing", "name:", "Node", "1", "0"] in told
    assert ["missing", "module:", "utils", "1", "0"] in told
    assert ["missing", "name", "2", "0"] in [line.split() for line in benchmark.lines(figures)]
    assert ["Python", "2", "code", "1", "1"] in told
    assert ["invalid", "code", "1", "1"] in told
    assert ["limit:", "timeout", "1", "1"] in told
