"""Scopes: whose judgments count, under which assignments, and on which items the agents' work is hidden."""

from itertools import product

import pytest
from judging import Desk, judged_workspace, judgments
from recorded import recorded_workspace
from scopes import scope
from sqlalchemy import BigInteger, cast, insert, select

from screens.items.pair import load
from store.errors import HiddenData
from store.kinds.pair import PAIR
from store.policy.rows import may, shown_on
from store.policy.scope import Shows
from store.policy.words import BLIND, HIDDEN_MODELS, condition_of
from store.queries.current import own_labels, own_marks
from store.queries.item import item_access, load_item, load_own
from store.queries.progress import progress
from store.queries.queue import queue_ids, queue_rows
from store.queries.rows import QueueFilter, QueueSort
from store.tables.columns import table_of
from store.tables.people import Assignment

BY_AGENTS = [
    (QueueFilter(agent="1"), QueueSort()),
    (QueueFilter(agreement="agree"), QueueSort()),
    (QueueFilter(path="tested"), QueueSort()),
    (QueueFilter(), QueueSort("agent")),
]


def assign(workspace, rater_id, items, *, condition="", study=1, phase="label", sitting=1):
    """Assign items to a rater; returns the keys of the assignments by item."""
    keys = {item: workspace.ids.next() for item in items}
    rows = [
        {
            "id": key, "study_id": study, "rater_id": rater_id, "item_id": item, "phase": phase,
            "position": place, "seed": 0, "sitting": sitting, "block": None,
            **condition_of(condition)._asdict(),
        }
        for place, (item, key) in enumerate(keys.items())
    ]  # fmt: skip
    workspace.lane.submit(lambda connection: connection.execute(insert(table_of(Assignment)), rows)).result(
        60
    )
    return keys


@pytest.fixture
def desk(tmp_path):
    with judged_workspace(tmp_path, 6) as workspace:
        yield Desk(workspace)


def in_study(desk, **more):
    return scope(desk.rater.id, study=1, **more)


def test_an_item_judged_under_two_assignments_is_listed_once(desk):
    (first,) = assign(desk.workspace, desk.rater.id, [1]).values()
    (second,) = assign(desk.workspace, desk.rater.id, [1], study=2).values()
    desk.judge(1, 0.0, assignment_id=first, phase="label")
    desk.judge(1, 1.0, assignment_id=second, phase="label")
    desk.judge(1, 1.0)
    own = scope(desk.rater.id)
    assert queue_ids(desk.workspace, own, QueueFilter(status="judged")).tolist() == [1]
    assert queue_ids(desk.workspace, own, QueueFilter(), QueueSort("label")).tolist() == [1, 2, 3, 4, 5, 6]
    with desk.workspace.reading() as connection:
        assert progress(connection, own).total == 6
        for each, value in ((own, 1.0), (in_study(desk), 0.0)):
            ((row),) = connection.execute(select(own_labels(each))).mappings().all()
            assert (row["value"], row["item_id"]) == (value, 1)


def test_judgments_and_marks_of_one_study_are_not_those_of_another_nor_of_none(desk):
    keys = assign(desk.workspace, desk.rater.id, [1, 2])
    desk.judge(1, 0.0, assignment_id=keys[1], phase="label")
    desk.say(2, "flag", assignment_id=keys[2], phase="label")
    expected = {in_study(desk): ("judged", True), scope(desk.rater.id): ("open", False)}
    for elsewhere in (scope(desk.rater.id, study=2), scope(desk.rater.id, study=1, sitting=2)):
        assert queue_rows(desk.workspace, elsewhere, [1, 2]) == []
        with desk.workspace.reading() as connection:
            assert not load_own(connection, elsewhere, 1).labels
            assert not load_own(connection, elsewhere, 2).flagged
    for each, (status, flagged) in expected.items():
        first, second = queue_rows(desk.workspace, each, [1, 2])
        assert (first.status, second.flagged) == (status, flagged), each
        with desk.workspace.reading() as connection:
            assert bool(load_own(connection, each, 1).labels) == (status == "judged")
            assert load_own(connection, each, 2).flagged == flagged
            assert bool(connection.execute(select(own_marks(each))).first()) == flagged


def test_a_label_under_an_assignment_supersedes_within_that_assignment_only(desk):
    keys = assign(desk.workspace, desk.rater.id, [1])
    free = desk.judge(1, 1.0).records[0]
    bound = desk.judge(1, 0.0, assignment_id=keys[1], phase="label").records[0]
    again = desk.judge(1, 1.0, assignment_id=keys[1], phase="label").records[0]
    assert (free.supersedes, bound.supersedes, again.supersedes) == (None, None, bound.id)
    with desk.workspace.reading() as connection:
        access = item_access(connection, in_study(desk), 1)
        assert (access.assignment_id, item_access(connection, scope(desk.rater.id), 1).assignment_id) == (
            keys[1],
            None,
        )
    assert len(judgments(desk.workspace)) == 3


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    recorded = recorded_workspace(tmp_path_factory.mktemp("scope"), seed=3)
    recorded.hidden = [item for item in recorded.items if recorded.verdict(item)][::2]
    assign(recorded.workspace, recorded.raters["dana"], recorded.hidden, condition=f"tests {BLIND}")
    yield recorded
    recorded.workspace.close()


def test_only_the_items_whose_assignment_is_blind_hide_what_agents_say(made):
    dana, eli = (scope(made.raters[name]) for name in ("dana", "eli"))
    rows = {row.item_id: row for row in queue_rows(made.workspace, dana, made.items)}
    seen = {row.item_id: row for row in queue_rows(made.workspace, eli, made.items)}
    assert {item for item, row in rows.items() if row.blind} == set(made.hidden)
    assert {(rows[item].agent_label, rows[item].agent_path) for item in made.hidden} == {(None, None)}
    for item in set(made.items) - set(made.hidden):
        assert (rows[item].agent_label, rows[item].agent_path) == (
            seen[item].agent_label,
            seen[item].agent_path,
        )
    with made.workspace.reading() as connection:
        for item in made.items:
            pair = load_item(connection, dana, PAIR, item)
            shown = load(connection, dana, item)
            assert ("verdict" not in {pane.id for pane in shown.case}) == pair.blind == (item in made.hidden)
            assert {one.rater for one in pair.history if pair.blind} <= {"dana"}


def test_progress_counts_the_agents_and_other_raters_where_they_are_shown(made):
    with made.workspace.reading() as connection:
        mixed, shown = (progress(connection, scope(made.raters[name])) for name in ("dana", "eli"))
    assert mixed.agent_labelled == shown.agent_labelled - len(made.hidden)
    assert (mixed.agent_hidden, shown.agent_hidden) == (len(made.hidden), 0)
    own = {one.name: one.labelled for one in mixed.raters}
    everything = {one.name: one.labelled for one in shown.raters}
    assert own["dana"] == everything["dana"]
    assert own["eli"] < everything["eli"]


@pytest.mark.parametrize(("wanted", "sort"), BY_AGENTS)
def test_a_list_with_a_blind_item_is_not_filtered_or_sorted_by_the_agents(made, wanted, sort):
    dana, eli = scope(made.raters["dana"]), scope(made.raters["eli"])
    with pytest.raises(HiddenData, match="blind"):
        queue_ids(made.workspace, dana, wanted, sort)
    assert len(queue_ids(made.workspace, eli, wanted, sort))


def test_a_list_without_a_blind_item_is_filtered_by_the_agents(made):
    dana = scope(made.raters["dana"])
    (shown, *_) = (item for item in made.items if made.verdict(item) and item not in made.hidden)
    wanted = QueueFilter(text=f"# {shown}\n", agent=f"{made.verdict(shown).value:g}")
    assert shown in queue_ids(made.workspace, dana, wanted).tolist()


def test_what_is_shown_on_one_item_is_what_may_be_seen(desk):
    """`shown_on` reads the assignments of an item, `may` is a condition on items: both say the same."""
    conditions = ("blind", "tests blind", "tests", "hidden-models", "own-test", "tests hidden-models", "")
    for place, condition in enumerate(conditions):
        items = [item for item in range(1, 6) if (item + place) % 3]
        assign(desk.workspace, desk.rater.id, items, condition=condition, study=place, sitting=place % 2)
    # An item that comes twice in a sitting.
    assign(desk.workspace, desk.rater.id, [2, 3], condition="tests", study=0, sitting=0, phase="repeat")
    found = set()
    with desk.workspace.reading() as connection:
        for study, sitting, blind in product((None, *range(7)), (0, 1), (False, True)):
            more = {} if study is None else {"study": study, "sitting": sitting}
            viewer = scope(desk.rater.id, blind=blind, **more)
            for item in range(1, 7):
                asked = (Shows.AGENTS, Shows.MODELS, Shows.TESTS)
                columns = (may(viewer, one, cast(item, BigInteger)) for one in asked)
                said = connection.execute(select(*columns)).one()
                shown = shown_on(connection, viewer, item)
                assert shown == {one for one, is_shown in zip(asked, said, strict=True) if is_shown}
                found.add(shown)
    assert len(found) >= 5


def test_an_assignment_can_hide_the_names_of_models_alone(desk):
    assign(desk.workspace, desk.rater.id, [1], condition=HIDDEN_MODELS)
    assign(desk.workspace, desk.rater.id, [2], condition=BLIND)
    with desk.workspace.reading() as connection:
        for item, blind, models in ((1, False, True), (2, True, True), (3, False, False)):
            access = item_access(connection, scope(desk.rater.id), item)
            assert (access.blind, access.hides_models) == (blind, models)
        assert item_access(connection, scope(desk.rater.id, blind=True), 3).hides_models
