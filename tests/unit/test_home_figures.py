"""The figures of Home, computed again in plain Python."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median

import pytest
from apps import context_of
from scopes import scope
from several_kinds import three_kinds
from small_workspace import GOOD, import_of, label, labelled_by_agents, pairs_workspace, recorded

from screens.home import panels
from screens.home.facts import HomeDetails, read_facts
from store.analysis.agreement import rater_agreement
from store.ingest.importing import import_files
from store.measures.agreement import cohen_kappa
from store.queries.home import activity, label_table
from store.queries.queue import queue_ids
from store.queries.rows import QueueFilter
from store.record.actions import Action
from store.record.raters import ensure_rater
from store.workspace.duckdb import Workspace

ITEMS = 40


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Forty pairs without labels."""
    pairs = [(f"q/{number}", f"query {number}", f"{GOOD}# {number}\n") for number in range(ITEMS)]
    with pairs_workspace(tmp_path, pairs) as made:
        context_of(made)
        yield made


def test_activity_counts_items_by_local_day_and_the_median_of_their_time(workspace: Workspace) -> None:
    dana, draw = ensure_rater(workspace, "dana"), random.Random(3)
    noon = datetime.now().astimezone().replace(hour=12, minute=0, second=0, microsecond=0)
    days: Counter[int] = Counter()
    spent: Counter[int] = Counter()
    for item in range(1, ITEMS + 1):
        back = draw.choice([0, 1, 1, 5, 13, 14])
        for _ in range(draw.choice([1, 2])):
            ms = draw.choice([None, 40_000, 90_000, 210_000])
            made = label(workspace, dana, item, 1.0)
            at = noon - timedelta(days=back) + timedelta(hours=draw.choice([-11, 0, 11]))
            record = replace_record(made, created_at=at, active_ms=ms)
            recorded(workspace, dana, record)
            if back < 14:
                spent[item] += ms or 0
        if back < 14:
            days[back] += 1
    timed = [ms / 1000 for item, ms in spent.items() if ms]
    with workspace.reading() as connection:
        found = activity(connection, scope(dana.id))
    assert found.days == tuple(days[back] for back in reversed(range(14)))
    assert sum(timed) > 600
    assert found.seconds == pytest.approx(median(timed))


def test_home_has_no_pace_before_ten_minutes_of_work(workspace: Workspace) -> None:
    dana = ensure_rater(workspace, "dana")
    for item, ms in ((1, 300_000), (2, 299_000), (3, 1_000)):
        with workspace.reading() as connection:
            assert activity(connection, scope(dana.id)).seconds is None
        made = label(workspace, dana, item, 1.0)
        recorded(workspace, dana, replace_record(made, created_at=datetime.now().astimezone(), active_ms=ms))
    with workspace.reading() as connection:
        assert activity(connection, scope(dana.id)).seconds == 299


def replace_record(action: Action, **changes: object) -> Action:
    """An action whose one judgment has other values."""
    (record,) = action.records
    return replace(action, records=(record.model_copy(update=changes),))


def test_labels_against_the_agents_and_of_two_raters(workspace: Workspace) -> None:
    dana, ben = ensure_rater(workspace, "dana"), ensure_rater(workspace, "ben")
    draw = random.Random(5)
    own = {item: float(draw.random() < 0.5) for item in range(1, 31)}
    bens = {item: value if draw.random() < 0.7 else 1 - value for item, value in own.items() if item > 8}
    theirs = {item: float(draw.random() < 0.6) for item in range(1, ITEMS + 1, 2)}
    recorded(workspace, dana, *[label(workspace, dana, item, value) for item, value in own.items()])
    recorded(workspace, ben, *[label(workspace, ben, item, value) for item, value in bens.items()])
    labelled_by_agents(workspace, [(item, value, "tested") for item, value in theirs.items()])
    both = [(own[item], theirs[item]) for item in own if item in theirs]
    with workspace.reading() as connection:
        table = label_table(connection, scope(dana.id))
        assert table is not None
        assert table.counts == Counter(both)
        assert table.agreed == sum(one == other for one, other in both)
        one, other = zip(*both, strict=True)
        assert table.kappa == pytest.approx(cohen_kappa(one, other).value)
        (pair,) = rater_agreement(connection, "pair.match")
        assert (pair.figures.raters, pair.figures.units) == (("ben", "dana"), len(bens))
        assert pair.differing == tuple(item for item, value in bens.items() if value != own[item])
        assert pair.figures.cohen == pytest.approx(
            cohen_kappa([own[item] for item in bens], list(bens.values())).value
        )
        assert label_table(connection, scope(ensure_rater(workspace, "eve").id)) is None


def test_items_without_a_label_are_those_of_kinds_that_agents_label(tmp_path: Path) -> None:
    with three_kinds(tmp_path) as workspace:
        context_of(workspace)
        who = scope(ensure_rater(workspace, "dana").id)
        facts = read_facts(workspace, who, sample=False)
        lines = panels.with_agents(facts, HomeDetails(), 100, short=False)
        assert not any(piece.opens for line in lines for piece in line)
        second = {"id": "p2", "query": "halve a number", "code": "def f(x):\n    return x / 2\n"}
        import_files(workspace, [import_of(tmp_path, json.dumps(second), "more.jsonl")])
        labelled_by_agents(workspace, [(1, 1.0, "screened")])
        facts = read_facts(workspace, who, sample=False)
        lines = panels.with_agents(facts, HomeDetails(), 100, short=False)
        (figure,) = (piece for line in lines for piece in line if piece.opens)
        assert figure.text.plain == "1 without"
        assert isinstance(figure.opens, QueueFilter)
        assert len(queue_ids(workspace, who, figure.opens)) == 1
