"""Saved views: stored once, evaluated for whoever uses them, in lists, exports and bundles."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import pytest
from small_workspace import GOOD, WRONG, pairs_workspace
from sqlalchemy import update

from store.errors import ExportFailed, HiddenData, UnknownName, WorkbenchError
from store.export.exporting import ViewItems, export
from store.ingest.bundle import import_bundle
from store.policy.scope import Scope, Visibility
from store.queries.rows import QueueFilter, QueueSort, ViewQuery
from store.queries.saved_views import find_view, list_views, view_ids
from store.record.raters import ensure_rater
from store.saved_views import delete_view, rename_view, save_view
from store.tables.columns import table_of
from store.tables.views import SavedView
from store.workspace.duckdb import Workspace

PAIRS = [
    (f"q/{number}", f"query {number}", (GOOD if number % 2 else WRONG) + f"# {number}\n")
    for number in range(6)
]
OPEN = ViewQuery(QueueFilter(kind="pair", status="open"), QueueSort("title", descending=True), grouped=False)


def scope(workspace, name):
    """The scope of a rater outside any study."""
    return Scope(ensure_rater(workspace, name))


@pytest.fixture
def workspace(tmp_path):
    with pairs_workspace(tmp_path, PAIRS) as made:
        yield made


def names(workspace, who):
    with workspace.reading() as connection:
        return [(view.name, view.rater) for view in list_views(connection, who)]


def test_a_view_is_what_was_saved_for_everybody(workspace):
    dana, ben = scope(workspace, "dana"), scope(workspace, "ben")
    save_view(workspace, dana, " todo ", OPEN)
    with workspace.reading() as connection:
        found = find_view(connection, ben, "todo")
    assert (found.query, found.rater) == (OPEN, "dana")
    with pytest.raises(WorkbenchError, match="There is a view todo already"):
        save_view(workspace, ben, "todo", ViewQuery())
    with pytest.raises(WorkbenchError, match="cannot name a view"):
        save_view(workspace, dana, "", OPEN)
    with pytest.raises(WorkbenchError, match="behind a figure"):
        save_view(workspace, dana, "list", ViewQuery(QueueFilter(items=(1, 2), named="those")))
    rename_view(workspace, ben, found, "open pairs")
    assert names(workspace, dana) == [("open pairs", "dana")]
    with workspace.reading() as connection:
        found = find_view(connection, dana, "open pairs")
    delete_view(workspace, found)
    with workspace.reading() as connection, pytest.raises(UnknownName, match="none yet"):
        find_view(connection, dana, "open pairs")


@pytest.mark.parametrize(
    "stored",
    [
        "no json",
        "[]",
        '{"filter": null}',
        '{"filter": {"agent": "abc"}}',
        '{"filter": {"label": NaN}}',
        '{"sort": []}',
    ],
)
def test_a_view_that_cannot_be_read_lists_nothing_and_can_be_deleted(workspace, stored):
    dana = scope(workspace, "dana")
    with pytest.raises(WorkbenchError, match="No item has the label nan"):
        save_view(workspace, dana, "todo", ViewQuery(QueueFilter(label=float("nan"))))
    save_view(workspace, dana, "todo", OPEN)
    table = table_of(SavedView)
    workspace.lane.submit(lambda connection: connection.execute(update(table).values(query=stored))).result()
    with workspace.reading() as connection:
        found = find_view(connection, dana, "todo")
    assert found.query.wanted.sentence() == "cannot be read"
    assert len(view_ids(workspace, dana, found.query)) == 0
    delete_view(workspace, found)
    assert names(workspace, dana) == []


def test_who_asks_decides_what_is_judged(workspace, workbench):
    path = str(workspace.path)
    save_view(workspace, scope(workspace, "dana"), "mine", ViewQuery(QueueFilter(status="judged")))
    workspace.close()
    workbench("judge", path, "q/1", "match", "--rater", "dana")
    with Workspace.open(path) as again:
        assert [
            len(view_ids(again, scope(again, who), ViewQuery(QueueFilter(status="judged"))))
            for who in ("dana", "ben")
        ] == [1, 0]


def test_a_view_of_the_agents_labels_is_refused_in_a_blind_review(workspace):
    dana = scope(workspace, "dana")
    blind = replace(dana, visibility=Visibility(blind=True))
    for query in (ViewQuery(QueueFilter(agent="1")), ViewQuery(sort=QueueSort("agent"))):
        view_ids(workspace, dana, query)
        with pytest.raises(HiddenData):
            view_ids(workspace, blind, query)
        with pytest.raises(HiddenData):
            save_view(workspace, blind, "agents", query)


def test_commands_save_use_and_delete_a_view(tmp_path, workbench):
    with pairs_workspace(tmp_path, PAIRS) as made:
        path = str(made.path)
    assert "No view is saved" in workbench("views", path).out
    workbench("judge", path, "q/1", "match", "--rater", "dana")
    said = workbench(
        "views",
        path,
        "--rater",
        "dana",
        "--save",
        "todo",
        "--kind",
        "pairs",
        "--status",
        "open",
        "--order",
        "title",
        "--descending",
    )
    assert "The view todo was saved." in said.out
    listed = json.loads(workbench("views", path, "--rater", "dana", "--json").out)["views"]
    assert [(view["name"], view["items"], view["sentence"]) for view in listed] == [
        ("todo", 5, "pairs · unjudged")
    ]
    shown = json.loads(workbench("items", path, "--rater", "dana", "--view", "todo", "--json").out)
    assert [item["item"] for item in shown["items"]] == ["q/5", "q/4", "q/3", "q/2", "q/0"]
    for line, wrong in (
        (("items", path, "--view", "todo", "--status", "open"), "View or filter"),
        (("views", path, "--status", "open"), "Save it?"),
        (("views", path, "--save", "a", "--order", "size"), "Unknown order"),
        (("views", path, "--save", "a", "--agent", "yes"), "Not a label"),
        (("views", path, "--save", "a", "--hide", "size"), "Unknown column"),
        (("views", path, "--save", "a", "--delete", "b"), "One at a time"),
        (("items", path, "--view", "none"), "Unknown view"),
    ):
        done = workbench(*line)
        assert (done.code, wrong in done.err) == (2, True), line
    assert workbench("views", path, "--rater", "dana", "--save", "short", "--hide", "detail, kind").code == 0
    short, _ = json.loads(workbench("views", path, "--json").out)["views"]
    assert short["hidden"] == ["kind", "detail"]
    assert "is called later" in workbench("views", path, "--rename", "todo", "later").out
    assert "was deleted" in workbench("views", path, "--delete", "later").out


def test_an_export_holds_the_items_of_the_view_alone(tmp_path, workbench):
    with pairs_workspace(tmp_path, PAIRS) as made:
        path = str(made.path)
    for name in ("q/1", "q/2", "q/3"):
        workbench("judge", path, name, "match", "--rater", "dana")
    workbench("judge", path, "q/4", "0", "--rater", "ben")
    workbench("views", path, "--rater", "dana", "--save", "two", "--text", "query 2")
    out = tmp_path / "out.csv"
    line = ("export", path, str(out), "--format", "csv", "--rater", "dana", "--view", "two")
    counted = workbench(*line, "--dry-run")
    assert "1 row, 1 with a label of dana" in counted.out
    assert "This was a dry run: nothing was written." in counted.out
    assert not out.exists()
    assert "Only items of the view two." in workbench(*line).out
    with out.open(newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == ["q/2"]
    everything = workbench("export", path, str(tmp_path / "all"), "--format", "bundle", "--view", "two")
    assert "holds the whole workspace" in everything.err
    # Of a policy, too; and nothing is there to write of items without labels.
    by_policy = ("export", path, str(tmp_path / "p.csv"), "--format", "labels", "--policy", "majority")
    assert "1 label" in workbench(*by_policy, "--view", "two", "--dry-run").out
    workbench("views", path, "--rater", "dana", "--save", "rest", "--text", "query 5")
    assert "Nothing to export" in workbench(*line[:-1], "rest", "--overwrite").err


@pytest.mark.parametrize(
    "form", ["jsonl", "labels", "cosqa", "cosqa-plus", "beir", "matrix", "label-studio", "hugging-face"]
)
def test_a_dry_run_counts_what_is_written(workspace, workbench, form, tmp_path):
    path = str(workspace.path)
    workspace.close()
    for name in ("q/1", "q/2"):
        workbench("judge", path, name, "match", "--rater", "dana")
    with Workspace.open(path) as again:
        whose = {"rater": "dana"} if form in ("cosqa", "cosqa-plus", "beir", "hugging-face") else {}
        view = ViewItems("one", [2, 3])
        counted = export(again, tmp_path / "out", form, **whose, view=view, dry_run=True)
        assert not (tmp_path / "out").exists()
        written = export(again, tmp_path / "out", form, **whose, view=view)
        assert written.records == 2
        assert replace(counted, dry_run=False) == written
        if form != "jsonl":
            with pytest.raises(ExportFailed):
                export(again, tmp_path / "none", form, **whose, view=ViewItems("none", [6]), dry_run=True)


def test_views_travel_in_a_bundle_and_names_in_them_are_replaced(workspace, tmp_path):
    save_view(workspace, scope(workspace, "dana"), "for dana", OPEN)
    export(workspace, tmp_path / "bundle", "bundle", pseudonyms=True)
    import_bundle(tmp_path / "same.duckdb", tmp_path / "bundle")
    with Workspace.open(tmp_path / "same.duckdb") as same:
        assert names(same, scope(same, "zoe")) == [("for P1", "P1")]
