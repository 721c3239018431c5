"""The panes of a review: whoever looks one up finds it filled, and places survive the waiting."""

import pytest

from screens.items.views import PaneText
from screens.review.panes import LazyPanes
from screens.widgets.text.view import Place


class Pane:
    """Notes what it is told."""

    def __init__(self):
        self.texts, self.place, self.has_begun = [], Place(line=7), False

    def load(self, text, **how):
        self.texts.append((text, how["title"], how["landmarks"]))

    def mark_cited(self, lines, *, recorded):
        self.cited = lines, recorded

    def restore(self, place):
        self.place, self.has_begun = place, False

    def begin_at(self, line):
        self.place, self.has_begun = Place(line=line - 1), True


@pytest.fixture
def panes():
    made = LazyPanes()
    for name in ("code", "log"):
        made.add(name, Pane())
    return made


def shown(panes, name="log", text="text"):
    panes.show(name, PaneText(name, "Log", text, landmarks=(3,)))


def test_a_pane_that_is_looked_up_is_filled_once(panes):
    shown(panes)
    assert panes["log"].texts == [("text", "Log", (3,))]
    assert panes["log"].texts == panes.get("log").texts == [("text", "Log", (3,))]
    assert panes["code"].texts == []


def test_the_last_text_is_the_one_that_is_filled_in(panes):
    shown(panes, text="of one item")
    shown(panes, text="of the next")
    panes.fill()
    assert [text for text, *_ in panes["log"].texts] == ["of the next"]


def test_asking_whether_there_is_a_pane_fills_nothing(panes):
    shown(panes)
    assert "log" in panes
    assert "test" not in panes
    assert len(panes) == 2
    assert list(panes) == ["code", "log"]
    assert panes._panes["log"].texts == []
    with pytest.raises(KeyError):
        panes["test"]


def test_places_wait_with_the_texts(panes):
    shown(panes)
    panes.restore({"log": Place(line=4), "code": Place(line=2)})
    assert panes._panes["log"].place == Place(line=7)
    assert panes.places == {"code": Place(line=2), "log": Place(line=4)}
    panes.fill()
    assert panes.places == {"code": Place(line=2), "log": Place(line=4)}


def test_without_a_place_a_pane_goes_to_the_top(panes):
    shown(panes)
    panes.restore({})
    panes.fill()
    assert panes.places == {"code": Place(), "log": Place()}


def test_a_remembered_place_wins_over_the_line_that_a_text_begins_with(panes):
    for name in ("code", "log"):
        panes.show(name, PaneText(name, "Log", "text", start=9))
    panes["code"]
    panes.restore({})
    panes.fill()
    assert [panes[name].place for name in panes] == [Place(line=8), Place(line=8)]
    # Where a text begins depends on the size of its pane, so it is no place to remember.
    assert panes.places == {}
    panes.restore({"log": Place(line=2)})
    assert panes.places == {"log": Place(line=2)}
    shown(panes)
    panes.restore({})
    panes.fill()
    assert panes.places == {"log": Place()}
    assert panes["code"].place == Place(line=8)
