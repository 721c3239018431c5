"""Current judgments, marks and verdicts, against going through every record."""

import pytest
from recorded import RATERS, recorded_workspace
from scopes import scope
from sqlalchemy import select

from store.policy.scope import RunRef, Scope
from store.queries.current import all_values, current_verdicts, label_questions, own_labels, own_marks
from store.queries.runs import shown_by_kind


@pytest.fixture(scope="module", params=[1, 2])
def made(request, tmp_path_factory):
    recorded = recorded_workspace(tmp_path_factory.mktemp("current"), seed=request.param)
    yield recorded
    recorded.workspace.close()


def rows(made, subquery):
    with made.workspace.reading() as connection:
        return [dict(row) for row in connection.execute(select(subquery)).mappings()]


@pytest.mark.parametrize("phase", ["review", "revealed"])
@pytest.mark.parametrize("rater", RATERS)
def test_labels_of_one_rater(made, rater, phase):
    found = {row["item_id"]: row for row in rows(made, own_labels(scope(made.raters[rater], phase=phase)))}
    expected = {item: made.label(rater, item, phase) for item in made.items}
    assert {item: row["id"] for item, row in found.items()} == {
        item: one.id for item, one in expected.items() if one is not None
    }
    assert all(row["value"] == expected[item].value for item, row in found.items())
    assert 0 < len(found) < len(made.items)


def test_labels_of_everybody_are_one_row_for_each_rater_item_and_phase(made):
    found = rows(made, all_values(questions=label_questions()))
    expected = [
        one.id
        for rater in RATERS
        for phase in ("review", "revealed")
        for item in made.items
        if (one := made.label(rater, item, phase)) is not None
    ]
    assert sorted(row["id"] for row in found) == sorted(expected)


def test_a_label_that_was_undone_does_not_stand(made):
    undone = {one.item_id for one in made.judgments if one.value is None}
    bare = [item for item in undone if made.label("dana", item) is None]
    assert bare
    found = {row["item_id"] for row in rows(made, own_labels(scope(made.raters["dana"])))}
    assert not found & set(bare)


@pytest.mark.parametrize("rater", RATERS)
def test_marks(made, rater):
    found = {row["item_id"]: row for row in rows(made, own_marks(scope(made.raters[rater])))}
    assert len(found) > 10
    for item in made.items:
        marks, row = made.marked(rater, item), found.get(item, {})
        for kind, name in {"cannot_decide": "cannot_decide", "skip": "skipped", "flag": "flagged"}.items():
            assert bool(row.get(name)) == (kind in marks), (item, kind)
        assert bool(row.get("commented")) == ("comment" in marks)
        if "skip" in marks:
            assert row["skipped_by"] == str(marks["skip"].id)


def test_without_a_choice_verdicts_are_those_of_the_fullest_run_that_has_any(made):
    found = {row["item_id"]: row["id"] for row in rows(made, current_verdicts(Scope()))}
    assert found == {item: one.id for item in made.items if (one := made.verdict(item)) is not None}
    assert len({one.run_id for one in made.verdicts}) == 2


@pytest.mark.parametrize("place", [0, 1, 2])
def test_verdicts_are_those_of_the_chosen_run_and_of_no_other(made, place):
    run = made.runs[place]
    found = rows(made, current_verdicts(Scope(run=run)))
    assert {row["item_id"]: row["id"] for row in found} == {
        item: one.id for item in made.items if (one := made.verdict(item, run)) is not None
    }
    assert {row["run_id"] for row in found} <= {run.id}


def test_of_the_runs_with_the_same_configuration_the_newest_is_shown(tmp_path):
    with recorded_workspace(tmp_path).workspace as workspace:
        cursor = workspace.native()
        for fullness, shown in (("2", 1), ("CASE WHEN name = 'annotation/1' THEN 1 ELSE 2 END", 0)):
            cursor.execute(f"UPDATE run SET fullness = {fullness}")
            with workspace.reading() as connection:
                assert shown_by_kind(connection, Scope())["pair"].name == f"annotation/{shown}"
        # Without any verdict there is nothing to mix: the newest of the fullest.
        cursor.execute("DELETE FROM verdict")
        with workspace.reading() as connection:
            assert shown_by_kind(connection, Scope())["pair"].name == "annotation/2"
        cursor.close()


def test_a_run_of_another_kind_changes_nothing_for_this_one(made):
    with made.workspace.reading() as connection:
        other = RunRef(made.workspace.ids.next(), "elsewhere")
        assert shown_by_kind(connection, Scope(run=other)) == {"pair": made.runs[0]}


@pytest.mark.parametrize("chosen", [[], [3], [3, 3, 7, 39, 99_999], range(1, 41)])
def test_some_items_only(made, chosen):
    dana, shown = scope(made.raters["dana"]), label_questions()
    for subquery in (
        own_labels(dana),
        own_marks(dana),
        current_verdicts(Scope()),
        all_values(questions=shown),
    ):
        everything = rows(made, subquery)
        part = {
            "label": own_labels(dana, chosen),
            "marked": own_marks(dana, chosen),
            "current_verdict": current_verdicts(Scope(), chosen),
        }[subquery.name]
        if subquery.name == "label" and any(row["rater_id"] != dana.rater_id for row in everything):
            part = all_values(None, chosen, shown)
        expected = [row for row in everything if row["item_id"] in set(chosen)]
        key = lambda row: (row["item_id"], str(row.get("id")))  # noqa: E731
        assert sorted(rows(made, part), key=key) == sorted(expected, key=key)
