"""The floors: what lies below the screens needs no terminal library, and starting costs nothing heavy."""

import ast
import graphlib
import os
import re
import subprocess
import sys

import pytest

IMPORT_ALL = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    # The second is compiled for the extra `models`, and imported by the search of vectors alone.
    if not module.name.endswith(("__main__", "agents.retrieval.selection")):
        importlib.import_module(module.name)
print("\\n".join(sys.modules))
"""
HEAVY = {
    "torch",
    "openai",
    "anthropic",
    "docker",
    "textual",
    "duckdb",
    "sqlalchemy",
    "sqlmodel",
    "pyarrow",
    "numpy",
    "krippendorff",
}


def modules_after(code, repository, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        timeout=120, check=False, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(repository)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def tops(modules):
    return {name.partition(".")[0] for name in modules}


@pytest.mark.parametrize(
    ("floor", "above"),
    [
        ("store", {"agents", "screens", "workbench"}),
        ("agents", {"screens", "workbench"}),
        ("screens", {"workbench"}),
    ],
)
def test_a_floor_imports_nothing_above_it(repository, floor, above):
    modules = modules_after(IMPORT_ALL, repository, floor)
    assert sum(name.startswith(floor + ".") for name in modules) > 10
    assert not tops(modules) & above


@pytest.mark.parametrize("floor", ["store", "agents"])
def test_below_the_screens_there_is_no_textual(repository, floor):
    modules = modules_after(IMPORT_ALL, repository, floor)
    assert not tops(modules) & {"textual", "rich", "torch", "sentence_transformers"}


@pytest.mark.parametrize("floor", ["agents", "screens", "workbench"])
def test_the_services_libraries_wait_until_they_are_used(repository, floor):
    modules = modules_after(IMPORT_ALL, repository, floor)
    assert not tops(modules) & {"torch", "sentence_transformers", "openai", "anthropic", "docker"}


def test_the_command_line_starts_without_anything_heavy(repository):
    modules = modules_after("import sys, workbench.cli; print('\\n'.join(sys.modules))", repository)
    assert "workbench.cli" in modules
    assert not tops(modules) & HEAVY


@pytest.mark.parametrize("floor", ["store", "agents", "screens", "workbench"])
def test_no_module_imports_what_imports_it_not_even_for_types(repository, floor):
    files = {
        ".".join(file.relative_to(repository).with_suffix("").parts): file
        for file in (repository / floor).rglob("*.py")
    }
    imports = {}
    for module, file in files.items():
        found = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)]
        named = {
            name
            for node in found
            for each in node.names
            for name in (node.module, f"{node.module}.{each.name}")
        }
        imports[module] = named & files.keys()
    # Fails with the circle where there is one.
    assert len(list(graphlib.TopologicalSorter(imports).static_order())) == len(files)


OF_ONE_KIND = (
    "store/kinds/",
    "store/retrieval/",
    "store/export/content.py",
    "store/ingest/votes.py",
    "store/studies/comparing.py",
    "store/queries/preferences.py",
    "screens/review/candidates.py",
)
"""Modules of a kind, or about what only one has: a retrieval benchmark, a table of pairs, preferences."""


def test_what_is_asked_of_a_kind_is_a_field_of_it_and_not_its_name(repository):
    named = re.compile(
        r"[!=]= *(?:\"(?:pair|completion|answer|comparison)\"|"
        r"(?:PAIR|COMPLETION|ANSWER|COMPARISON|MATCH|RELEVANCE|PREFERENCE)\.name)"
    )
    files = (
        path
        for floor in ("store", "agents", "screens", "workbench")
        for path in (repository / floor).rglob("*.py")
    )
    asking = {
        path.relative_to(repository).as_posix() for path in files if named.search(path.read_text("utf-8"))
    }
    assert {path for path in asking if not path.startswith(OF_ONE_KIND)} == set()
