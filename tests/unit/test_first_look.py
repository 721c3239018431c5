"""A start's first look reads what the program's own queries read, and leaves to them what it cannot."""

import pytest
from recorded import RATERS, recorded_workspace
from scopes import scope

from store import first_look
from store.first_look import QUEUE_SESSION, FirstLook, look
from store.first_look.compiling import statements
from store.queries.queue import queue_ids, queue_rows
from store.record.raters import ensure_rater
from store.record.session import save_session


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    recorded = recorded_workspace(tmp_path_factory.mktemp("look"))
    yield recorded
    recorded.workspace.close()


def test_the_statements_are_those_of_the_queries():
    for path, text in statements().items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: run python -m workbench.reference"
        assert "987654321" not in text.replace("_", "")


@pytest.mark.parametrize("blind", [False, True])
@pytest.mark.parametrize("lines", [1, 7, first_look.LINES])
def test_the_first_lines_are_those_of_the_queue(made, blind, lines):
    for name in RATERS:
        who = ensure_rater(made.workspace, name)
        found = look(made.workspace, name, blind=blind, lines=lines)
        assert (found.rater.id, found.rater.name, found.rater.kind) == (who.id, name, "human")
        ids = queue_ids(made.workspace, scope(who.id), limit=lines).tolist()
        assert list(found.rows) == queue_rows(made.workspace, scope(who.id, blind=blind), ids)
        assert any(row.agent_label is not None for row in found.rows) != blind or lines < 7


def test_the_queue_that_was_left_comes_along(made):
    who = ensure_rater(made.workspace, RATERS[0])
    save_session(made.workspace, who.id, QUEUE_SESSION, {"item": 3}).result()
    found = look(made.workspace, RATERS[0], blind=False, lines=0)
    assert (found.queue, found.rows) == ({"item": 3}, None)


def test_nobody_can_look_too(made):
    found = look(made.workspace, None, blind=False, lines=2)
    assert found.rater is None
    assert [row.label for row in found.rows] == [None, None]


def test_whom_the_workspace_does_not_know_is_left_to_others(made):
    assert look(made.workspace, "nobody of that name", blind=False) == FirstLook()
    ensure_rater(made.workspace, "a column", "import")
    assert look(made.workspace, "a column", blind=False) == FirstLook()


def test_a_kind_of_another_package_is_left_to_the_queries(made, monkeypatch):
    monkeypatch.setattr(first_look, "task_kinds", lambda: {"pair": None, "poem": None})
    found = look(made.workspace, RATERS[0], blind=False)
    assert (found.rater.name, found.rows) == (RATERS[0], None)


def test_what_cannot_be_read_is_left_to_those_who_say_why(made, monkeypatch):
    monkeypatch.setattr(first_look, "_statement", lambda *_, **__: "SELECT nothing FROM nowhere")
    assert look(made.workspace, RATERS[0], blind=False) == FirstLook()
