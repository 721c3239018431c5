"""Items in groups: which of them are together, and in which order."""

from pathlib import Path

from several_kinds import three_kinds
from small_workspace import GOOD, pairs_workspace

from store.queries.groups import MOST, grouped


def test_pairs_of_a_query_come_together_where_the_first_of_them_was(tmp_path: Path) -> None:
    queries = ["a", "b", "a", "c", "b", "a"]
    pairs = [(f"p{place}", query, f"{GOOD}# {place}") for place, query in enumerate(queries)]
    with pairs_workspace(tmp_path, pairs) as workspace:
        ids, starts = grouped(workspace, [1, 2, 3, 4, 5, 6])
        assert (ids.tolist(), starts.tolist()) == ([1, 3, 6, 2, 5, 4], [0, 3, 5])
        # In any order, and of some of them.
        ids, starts = grouped(workspace, [6, 5, 4, 3, 2])
        assert (ids.tolist(), starts.tolist()) == ([6, 3, 5, 2, 4], [0, 2, 4])
        ids, starts = grouped(workspace, [])
        assert (ids.tolist(), starts.tolist()) == ([], [])


def test_a_large_group_goes_on_on_another_line(tmp_path: Path) -> None:
    pairs = [(f"p{place}", f"{place % 2}", f"{GOOD}# {place}") for place in range(2 * MOST + 2)]
    with pairs_workspace(tmp_path, pairs) as workspace:
        ids, starts = grouped(workspace, range(1, len(pairs) + 1))
        assert starts.tolist() == [0, MOST, MOST + 1, 2 * MOST + 1]
        assert ids[: MOST + 1].tolist() == [*range(1, len(pairs) + 1, 2)]


def test_items_of_kinds_without_groups_stay_on_their_own(tmp_path: Path) -> None:
    with three_kinds(tmp_path) as workspace:
        ids, starts = grouped(workspace, [6, 1, 2, 3, 4, 5])
        assert (ids.tolist(), starts.tolist()) == ([6, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5])
