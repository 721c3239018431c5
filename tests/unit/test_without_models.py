"""The base install: everything but models works without the packages that only the extra `models` brings."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CHILD = """
import importlib, json, pkgutil, sys
from importlib.machinery import PathFinder

given = json.loads(sys.argv[1])

class Installed(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] not in given["missing"]:
            return super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Installed
for room in ("workbench", "screens", "agents", "store"):
    for module in pkgutil.walk_packages(importlib.import_module(room).__path__, f"{room}."):
        # The second is compiled for the extra, and imported by the search of vectors alone.
        if module.name not in ("workbench.__main__", "agents.retrieval.selection"):
            importlib.import_module(module.name)
from workbench.cli import main
from workbench.demo import build_demo, demo_path
build_demo(demo_path(None)).close()
for command in given["commands"]:
    print("BEGIN", flush=True)
    try:
        main(command)
        code = 0
    except SystemExit as end:
        code = end.code or 0
    print("END", code, flush=True)
"""


def base_packages():
    """The packages that an install without extras has."""
    found, left = {"workbench"}, ["workbench"]
    while left:
        for line in requires(left.pop()) or ():
            needed = Requirement(line)
            name = canonicalize_name(needed.name)
            wanted = needed.marker is None or needed.marker.evaluate({"extra": ""})
            if wanted and name not in found:
                found.add(name)
                left.append(name)
    return found


@pytest.fixture
def run(repository, in_folder, sample_folder):
    """A function that runs command lines in one process which lacks all that is not in the base install."""
    shutil.copytree(sample_folder, in_folder / "sample_data")
    base = base_packages()
    missing = [
        module
        for module, packages in packages_distributions().items()
        if not base.intersection(map(canonicalize_name, packages))
    ]
    assert {"torch", "transformers", "sentence_transformers"} <= set(missing)
    assert not {"numpy", "bm25s", "textual", "duckdb"}.intersection(missing)

    def run(*commands):
        given = json.dumps(
            {"missing": missing, "commands": [shlex.split(command)[1:] for command in commands]}
        )
        environment = {**os.environ, "PYTHONPATH": str(repository), "XDG_DATA_HOME": str(in_folder / "home")}
        done = subprocess.run(
            [sys.executable, "-c", CHILD, given],
            check=False, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        parts = re.findall(r"^BEGIN\n(.*?)^END (\d+)$", done.stdout, re.DOTALL | re.MULTILINE)
        assert len(parts) == len(commands), done.stderr
        return [(int(code), out) for out, code in parts], done.stderr

    return run


def commands_of(page, start):
    """The commands of a document that begin a line in a block of code."""
    text = page.read_text(encoding="utf-8")
    return [
        line.removeprefix("$ ").strip()
        for line in re.findall(rf"^{start}(workbench .*)$", text, re.MULTILINE)
    ]


def test_every_command_of_the_readme_and_of_retrieval_runs_without_the_extra(run, repository):
    readme = [line.partition("  #")[0].strip() for line in commands_of(repository / "README.md", "    ")]
    assert len(readme) >= 6
    replaced = {
        "pairs.jsonl": "sample_data/pairs.jsonl",
        "openai:NAME": "scripted:sample_data/replies.jsonl --agents ps-fa --limit 5",
        "--sample-pairs 400": "--sample-pairs 20",
    }
    for text, other in replaced.items():
        readme = [line.replace(text, other) for line in readme]
    pages = [
        line
        for page in ("candidates", "retrieval")
        for line in commands_of(repository / "docs" / f"{page}.md", r"\$ ")
    ]
    assert any("--models bm25" in line for line in pages)
    assert any("--methods bm25,bow" in line for line in pages)
    found, said = run(*readme, *(line.replace("search.duckdb", "other.duckdb") for line in pages))
    for command, (code, _) in zip([*readme, *pages], found, strict=True):
        # What opens the app says that it needs a terminal.
        in_app = command.startswith("workbench study.duckdb")
        assert code == (2 if in_app else 0), f"{command}\n{said}"
    assert "terminal" in said
    assert "Traceback" not in said


def test_the_demo_makes_its_candidates_again_without_the_extra(run, in_folder):
    demo = in_folder / "home" / "workbench" / "demo" / "demo.duckdb"
    command = f"workbench candidates {demo} --models bm25 --top 5 --json"
    ((code, out), (refused, _), (refused_service, _), (words, both)), said = run(
        command,
        f"workbench candidates {demo} --models minilm",
        f"workbench candidates {demo} --models openai:embed",
        f"workbench candidates {demo} --models bm25,bow --combine z --top 5 --json",
    )
    assert code == 0, said
    facts = json.loads(out)
    # The queries of the pairs; their codes, and those of the corpus that no pair has.
    assert (facts["queries"], facts["codes"], facts["pairs"]) == (15, 100, 75)
    # Most candidates of the sample are found again, and others beside them.
    assert facts["added"] + facts["known"] == 75
    assert facts["known"] > 40
    assert refused == refused_service == 2
    assert words == 0
    assert json.loads(both)["overlap"].keys() == {"bm25", "bow"}
    assert said.count("pip install 'workbench[models]'") == 2
