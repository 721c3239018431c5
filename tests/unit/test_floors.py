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
    "store/rankings/",
    "store/export/content.py",
    "store/ingest/votes.py",
    "store/analysis/completions.py",
    "store/ingest/completions.py",
    "store/studies/comparing.py",
    "store/analysis/preferences.py",
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


DECIDES = {"blind", "sealed", "sitting", "visibility"}
"""What a scope decides by."""
ASKING = {"scope", "_scope", "viewer", "settings", "screens"}
"""The names under which a scope, or the setting that one is made of, is read."""
SHOWN_BY = {"mode", "shows_tests", "hides_models"}
"""The columns of an assignment that say what it shows."""
DECIDE = {
    "store/queries/current.py": "of which study texts and the statements of runs are",
    "store/queries/progress.py": "an answer that was changed after the reveal counts at first",
    "store/queries/shown_texts.py": "which study's protocol",
    "store/record/session.py": "the place of each sitting is kept apart",
    "screens/app.py": "in which sitting actions are undone",
    "screens/context.py": "the scope is made of settings; the notice of a sealed session",
    "screens/items/reader.py": "which study's guideline",
    "screens/judging/judgment_builder.py": "which study's guideline",
    "workbench/app_session.py": "the rows of a start are chosen before there is a scope",
    "workbench/cli/options.py": "beside the app the setting is that of its session, too",
    "workbench/cli/judging.py": "the number of an item in a study",
    "workbench/wiring.py": "tells commands beside the app",
}
"""Who reads these beside store.policy, and for what."""
READ = {
    "workbench/demo_report.py": "labels of the sample in the workspace of the demo",
    "workbench/sample_study.py": "writes the labels of the sample",
}
"""Which commands and screens make statements of their own, and of what."""


def last_name(node):
    """The name of what an attribute is read of: `scope` of `self.context.scope`."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def decides(tree):
    """Where a module decides what is seen, rather than asks."""
    # A scope is made of the setting.
    made = {
        id(argument)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and last_name(node.func) == "Visibility"
        for argument in node.args
    }
    asking = ASKING | {
        last_name(target)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and last_name(node.value) in ASKING
        for target in node.targets
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in made:
            of = last_name(node.value)
            of_scope = of in asking or of.endswith("scope") or node.attr in {"sealed", "visibility"}
            if (of_scope and node.attr in DECIDES) or (of == "c" and node.attr in SHOWN_BY):
                yield f"{of}.{node.attr}, line {node.lineno}"


STATEMENTS = {"execute", "exec_driver_sql", "scalar", "scalars", "sql", "native", "driver_connection"}
DATABASES = {"sqlalchemy", "sqlmodel", "duckdb"}


def reads(tree):
    """Where a module makes or runs a statement."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in STATEMENTS:
            yield f"{node.attr}, line {node.lineno}"
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in DATABASES:
            yield from (f"{one.name}, line {node.lineno}" for one in node.names if one.name != "Connection")
        if isinstance(node, ast.Import):
            named = (one.name for one in node.names if one.name.split(".")[0] in DATABASES)
            yield from (f"{name}, line {node.lineno}" for name in named)


@pytest.mark.parametrize(
    ("rule", "floors", "known"),
    [
        (decides, ("store", "agents", "screens", "workbench"), DECIDE),
        (reads, ("screens", "workbench"), READ),
    ],
)
def test_who_sees_what_is_decided_by_the_policy_and_read_by_queries(repository, rule, floors, known):
    found = {
        path.relative_to(repository).as_posix(): there
        for floor in floors
        for path in sorted((repository / floor).rglob("*.py"))
        if not path.is_relative_to(repository / "store" / "policy")
        and (there := [*rule(ast.parse(path.read_text("utf-8")))])
    }
    assert {path: there for path, there in found.items() if path not in known} == {}
    # And nobody is named who does not.
    assert known.keys() - found.keys() == set()


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (decides, "if scope.blind: pass"),
        (decides, "shown = [] if self.context.scope.sitting else every"),
        (decides, "hidden = loaded.screens.blind"),
        (decides, "found.where(assignment.c.mode == 'revealed')"),
        (decides, "seen = context.scope; shown = not seen.blind"),
        (decides, "if session_scope.sitting: pass"),
        (decides, "if viewing.sealed: pass"),
        (reads, "from sqlalchemy import select"),
        (reads, "from sqlalchemy.sql import text"),
        (reads, "import duckdb"),
        (reads, "connection.scalar(counted)"),
        (reads, "database.sql('FROM judgment')"),
        (reads, "connection.exec_driver_sql('FROM judgment')"),
        (reads, "opened.native()"),
    ],
)
def test_what_goes_past_the_policy_is_found(rule, code):
    assert [*rule(ast.parse(code))]
