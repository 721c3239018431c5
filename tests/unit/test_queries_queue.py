"""The queue: which items, in which order, with what in each row, against going through every record."""

import itertools
import re
from typing import get_args

import pytest
from recorded import PATHS, RATERS, recorded_workspace
from scopes import scope
from sqlalchemy import event

from store.errors import HiddenData
from store.queries.queue import queue_ids, queue_rows
from store.queries.rows import QueueFilter, QueueSort, SortKey

STATUSES = ("judged", "open", "skipped", "cannot_decide")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    recorded = recorded_workspace(tmp_path_factory.mktemp("queue"))
    yield recorded
    recorded.workspace.close()


def text_of(item):
    return f"double a number {(item + 1) // 2} def double(x): return {'2 * x' if item % 2 else 'x + 2'} # {item}\n"


def passes(made, rater, wanted, item):
    label, verdict = made.label(rater, item), made.verdict(item)
    agent = None if verdict is None else verdict.value
    checks = [
        wanted.kind in (None, "pair"),
        wanted.status in (None, made.status(rater, item)),
        wanted.label is None or (label is not None and label.value == wanted.label),
        wanted.agent is None or (agent is None if wanted.agent == "none" else agent == float(wanted.agent)),
        wanted.path is None or (verdict is not None and verdict.path == wanted.path),
        wanted.flagged is None or ("flag" in made.marked(rater, item)) == wanted.flagged,
        wanted.text.lower() in text_of(item).lower(),
    ]
    if wanted.agreement is not None:
        both = label is not None and agent is not None
        checks.append(both and (label.value == agent) == (wanted.agreement == "agree"))
    return all(checks)


def default_order(made, rater, items):
    """Those that the rater skipped come last, in the order in which they were skipped."""
    skips = {item: made.marked(rater, item).get("skip") for item in items}
    put_off = sorted((skip.id, item) for item, skip in skips.items() if skip is not None)
    return [item for item in items if skips[item] is None] + [item for _, item in put_off]


FILTERS = [
    QueueFilter(),
    QueueFilter(kind="pair"),
    QueueFilter(kind="answer"),
    *(QueueFilter(status=status) for status in STATUSES),
    *(QueueFilter(label=value) for value in (0.0, 1.0, 7.0)),
    *(QueueFilter(agent=agent) for agent in ("0", "1", "none")),
    *(QueueFilter(agreement=agreement) for agreement in ("agree", "disagree")),
    *(QueueFilter(path=path) for path in PATHS),
    *(QueueFilter(flagged=flagged) for flagged in (True, False)),
    *(QueueFilter(text=text) for text in ("# 7\n", "NUMBER 12", "x + 2", "no such text")),
    *(
        QueueFilter(status=status, agent=agent, flagged=flagged)
        for status, agent, flagged in itertools.product(STATUSES, ("1", "none"), (True, False))
    ),
    QueueFilter(status="judged", agreement="disagree", path="tested", label=1.0),
    QueueFilter(status="open", text="x + 2", agent="none"),
    QueueFilter(agent="none", agreement="agree"),
    QueueFilter(agent="none", path="tested"),
]


@pytest.mark.parametrize("wanted", FILTERS, ids=QueueFilter.sentence)
@pytest.mark.parametrize("rater", RATERS[:2])
def test_each_filter(made, rater, wanted):
    found = queue_ids(made.workspace, scope(made.raters[rater]), wanted).tolist()
    listed = [item for item in made.items if passes(made, rater, wanted, item)]
    assert found == default_order(made, rater, listed)


def test_the_filters_above_find_something():
    """A filter that lets nothing through proves little; the few that do not are meant to."""
    assert len(FILTERS) > 30


@pytest.mark.parametrize("text", ["%", "_", "\\", "'", "$1", ":x", "/", "a_number", "double%", "", "İ", "\0"])
def test_nothing_in_a_text_is_a_wildcard(made, text):
    found = queue_ids(made.workspace, scope(made.raters["dana"]), QueueFilter(text=text)).tolist()
    names = {item: f"{text_of(item)}\npair/{item}" for item in made.items}
    # DuckDB's lower case of a letter is one letter, so that the dot of a capital İ is lost.
    wanted = text.lower().replace("\u0307", "")
    listed = [item for item, name in names.items() if wanted in name.lower()]
    assert found == default_order(made, "dana", listed)


def value_of(made, rater, key, item):
    label, verdict = made.label(rater, item), made.verdict(item)
    return {
        "position": item,
        "title": f"double a number {(item + 1) // 2}",
        "label": None if label is None else label.value,
        "agent": None if verdict is None else verdict.value,
        "similarity": made.similarity.get(item),
        "rank": item,
        "status": made.status(rater, item),
    }[key]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("key", get_args(SortKey))
@pytest.mark.parametrize("wanted", [QueueFilter(), QueueFilter(status="judged"), QueueFilter(text="x + 2")])
def test_each_order(made, key, descending, wanted):
    found = queue_ids(made.workspace, scope(made.raters["dana"]), wanted, QueueSort(key, descending)).tolist()
    items = [item for item in made.items if passes(made, "dana", wanted, item)]
    known = [item for item in items if value_of(made, "dana", key, item) is not None]
    unknown = [item for item in items if value_of(made, "dana", key, item) is None]
    in_order = sorted(known, key=lambda item: value_of(made, "dana", key, item), reverse=descending)
    if (key, descending) == ("position", False):
        in_order = default_order(made, "dana", in_order)
    # Sorting backwards keeps ties in the order of import, as sorted does; what is unknown comes last.
    assert found == in_order + unknown


@pytest.mark.parametrize("limit", [0, 1, 7, 10_000])
def test_a_limit_takes_the_first(made, limit):
    everything = queue_ids(made.workspace, scope(1), sort=QueueSort("title", descending=True)).tolist()
    some = queue_ids(made.workspace, scope(1), sort=QueueSort("title", descending=True), limit=limit).tolist()
    assert some == everything[:limit]


@pytest.mark.parametrize("rater", RATERS)
def test_rows(made, rater):
    rows = queue_rows(made.workspace, scope(made.raters[rater]), made.items)
    assert [row.item_id for row in rows] == made.items
    for row in rows:
        item, label, verdict = row.item_id, made.label(rater, row.item_id), made.verdict(row.item_id)
        marks = made.marked(rater, item)
        assert (row.external_id, row.kind, row.rank) == (f"pair/{item}", "pair", item)
        assert row.title == f"double a number {(item + 1) // 2}"
        assert row.status == made.status(rater, item)
        assert row.label == (None if label is None else label.value)
        assert (row.agent_label, row.agent_path) == (
            (None, None) if verdict is None else (verdict.value, verdict.path)
        )
        assert (row.flagged, row.commented) == ("flag" in marks, "comment" in marks)
        if item in made.similarity:
            assert row.similarity == pytest.approx(made.similarity[item])
        else:
            assert row.similarity is None
        both = label is not None and verdict is not None
        assert row.disagrees == (both and label.value != verdict.value)


def test_rows_come_in_the_order_asked_for_and_missing_ones_are_left_out(made):
    asked = [17, 3, 99_999, 40, 1, 3]
    rows = queue_rows(made.workspace, scope(1), asked)
    assert [row.item_id for row in rows] == [17, 3, 40, 1, 3]
    assert queue_rows(made.workspace, scope(1), []) == []


def test_rows_take_the_ids_that_queue_ids_gives(made):
    ids = queue_ids(made.workspace, scope(1))
    assert [row.item_id for row in queue_rows(made.workspace, scope(1), ids[5:9])] == ids[5:9].tolist()


def test_a_rater_who_has_done_nothing_finds_everything_open(made):
    assert queue_ids(made.workspace, scope(12_345), QueueFilter(status="open")).tolist() == made.items
    assert {row.status for row in queue_rows(made.workspace, scope(12_345), made.items)} == {"open"}


@pytest.mark.parametrize(
    ("wanted", "sort"),
    [
        (QueueFilter(agent="1"), QueueSort()),
        (QueueFilter(agent="none"), QueueSort()),
        (QueueFilter(agreement="agree"), QueueSort()),
        (QueueFilter(path="tested"), QueueSort()),
        (QueueFilter(), QueueSort("agent")),
    ],
)
def test_a_blind_queue_cannot_be_ordered_by_what_it_hides(made, wanted, sort):
    with pytest.raises(HiddenData, match="blind"):
        queue_ids(made.workspace, scope(1, blind=True), wanted, sort)


class Overheard:
    """The statements that a workspace runs within the block."""

    def __init__(self, workspace):
        self.engine, self.statements = workspace.engine, []

    def __enter__(self):
        event.listen(self.engine, "before_cursor_execute", self._hear)
        return self.statements

    def __exit__(self, *_):
        event.remove(self.engine, "before_cursor_execute", self._hear)

    def _hear(self, _connection, _cursor, statement, *_):
        self.statements.append(statement)


@pytest.mark.parametrize("key", [key for key in get_args(SortKey) if key != "agent"])
def test_in_a_blind_queue_the_database_is_not_asked_for_the_agents_labels(made, key):
    dana = made.raters["dana"]
    with Overheard(made.workspace) as statements:
        rows = queue_rows(made.workspace, scope(dana, blind=True), made.items)
        queue_ids(
            made.workspace, scope(dana, blind=True), QueueFilter(status="open", flagged=False), QueueSort(key)
        )
    assert len(statements) == 2
    # That agents gave an item a verdict says whether to keep it is asked; which one it is, is not read.
    asked = r"SELECT verdict\.item_id\s+FROM verdict\s+WHERE verdict\.question_id = \(SELECT question\.id"
    statements = [re.sub(asked, "", said) for said in statements]
    assert not any(re.search(r"(FROM|JOIN) (verdict|step|run|execution)\b", said) for said in statements)
    open_eyed = queue_rows(made.workspace, scope(dana), made.items)
    assert any(row.agent_label is not None for row in open_eyed)
    assert {(row.agent_label, row.agent_path) for row in rows} == {(None, None)}
    for hidden, seen in zip(rows, open_eyed, strict=True):
        assert (hidden.item_id, hidden.label, hidden.status) == (seen.item_id, seen.label, seen.status)


def test_the_filter_says_what_it_is():
    assert QueueFilter().sentence() == "all items"
    said = QueueFilter(status="open", agent="none", flagged=True, text="[red]").sentence()
    assert said == "unjudged · agents have no label · flagged · contains “[red]”"
    said = QueueFilter(kind="pair", label=1.0, agent="0", agreement="disagree", path="tested").sentence()
    assert said == "pairs · you say match · agents say no match · you disagree with the agents · tested"
    said = QueueFilter(kind="riddle", status="cannot_decide", agreement="agree", flagged=False).sentence()
    assert said == "riddle · cannot decide · you agree with the agents · not flagged"
