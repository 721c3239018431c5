"""`report accuracy`: agents and people against the labels of an expert or of a panel."""

from pathlib import Path

import pytest
from judging import Desk, judged_workspace
from made_once import built_once
from small_workspace import labelled_by_agents
from small_workspace import rows as stored
from sqlalchemy import insert

from store.analysis.accuracy import accuracy_report
from store.ingest.importing import import_files
from store.measures.intervals import wilson
from store.policy.words import condition_of
from store.record.ids import now
from store.tables.columns import table_of
from store.tables.people import Assignment, Study
from store.tables.runs import VerdictRow
from store.workspace.duckdb import Workspace

AGENTS = (1, 1, 0, 0, 1, 0, 1, 1)
LABELS = {
    "ann": (1, 1, 0, 0, 1, 0, 0, 1),
    "bob": (1, 0, 0, 0, 1, 1, 0, 1),
    "cat": (1, 1, 0, 1, 1, 0, 0, None),
}
"""The majority: 1 1 0 0 1 0 0 1; ann is always with it, and the agents but once."""


@built_once
def study(tmp_path):
    """Eight pairs, two to a query, judged blind by three experts and labelled by two runs of the agents."""
    with judged_workspace(tmp_path, 8) as workspace:
        labelled_by_agents(
            workspace,
            [(item, value, "tested") for item, value in enumerate(AGENTS, start=1)],
            name="full/m/1",
        )
        labelled_by_agents(
            workspace,
            [(item, 1.0, "screened") for item in (1, 2, 3, 4)],
            [(5, "Model declined: no")],
            name="single/m/2",
        )
        for name, values in LABELS.items():
            desk = Desk(workspace, name)
            for item, value in enumerate(values, start=1):
                if value is None:
                    desk.say(item, "cannot_decide")
                else:
                    desk.judge(item, float(value), blind=True)
        return workspace.path


def rows(done):
    return {one["rater"]: one for one in done.json()["raters"]}


def test_everybody_against_the_majority_of_experts(workbench, study):
    done = workbench("report", study, "accuracy", "--json")
    facts = done.json()
    assert facts["truth"] == {
        **{"against": "majority", "panel": ["ann", "bob", "cat"], "units": 8, "undecided": 0, "single": 0},
        **{"blind": 23, "revealed": 0, "accepted": 0, "other": 0, "with_revealed": False, "warnings": []},
        **{"rulings": 0, "rulings_revealed": 0},
    }
    found = rows(done)
    full = found["full/m/1"]
    # Right but on item 7, which it calls a match: 4 of 5 claims, 4 of 4 matches.
    assert (full["n"], full["accuracy"], full["precision"], full["recall"]) == (8, 7 / 8, 4 / 5, 1)
    assert (full["coverage"], full["left_out"], full["kind"]) == (1, False, "agent")
    single = found["single/m/2"]
    assert (single["n"], single["given"], single["accuracy"], single["coverage"]) == (4, 5, 0.5, 0.8)
    assert single["accuracy_undecided_wrong"] == 2 / 5
    # An expert is left out of the panel: ann against bob and cat, who tie on items 2, 4 and 6.
    ann = found["ann"]
    assert (ann["left_out"], ann["n"], ann["tied"], ann["accuracy"]) == (True, 5, 3, 1)
    assert (found["cat"]["given"], found["cat"]["coverage"]) == (6, 5 / 6)
    assert facts["cluster"] == "query"
    # Four queries are too few to be drawn from: Wilson's interval of 7/8 of four.
    interval = full["intervals"]["accuracy"]
    assert (interval["clusters"], interval["resamples"], full["intervals"]["f1"]["low"]) == (4, 0, None)
    assert (full["ci_low"], full["ci_high"]) == pytest.approx((0.395773, 0.986809), abs=1e-6)


def test_a_table_for_people(workbench, study):
    text = workbench("report", study, "accuracy").out
    assert "majority of ann, bob, cat: 8 items" in text
    assert "23 judged blind, 0 revealed" in text
    assert "87.5 %" in text
    lines = [line.split() for line in text.splitlines()]
    # Labelled, with a true label, not decided, the accuracy with these wrong, tied, alone.
    assert ["single/m/2", "4", "8", "1", "40.0", "%", "0", "0"] in lines
    assert ["ann", "5", "5", "0", "–", "3", "0"] in lines
    assert "95 % intervals: bootstrap over items, query by query; raters fixed; Wilson's" in text
    assert "each query as one item, where all resamples agree or of under 5" in text
    assert "coverage: of the items with a true label that a person labelled or could not decide" in text


def test_an_imported_rater_has_no_list(tmp_path, workbench):
    """Of eight pairs three are labelled, one wrongly: the five others are not wrong."""
    with judged_workspace(tmp_path, 8) as workspace:
        desk = Desk(workspace, "ann")
        for item in range(1, 9):
            desk.judge(item, 1.0)
        with workspace.reading() as connection:
            names = [one for (one,) in connection.exec_driver_sql("SELECT external_id FROM item ORDER BY id")]
        given = zip(names, (1, 0, 1), strict=False)
        labels = "".join(f"{name},book,{value}\n" for name, value in given)
        (tmp_path / "book.csv").write_text("item,rater,value\n" + labels)
        import_files(workspace, [tmp_path / "book.csv"])
        path = workspace.path
    book = rows(workbench("report", path, "accuracy", "--policy", "ann", "--json"))["book"]
    assert (book["n"], book["given"], book["accuracy"]) == (3, 3, 2 / 3)
    assert (book["coverage"], book["accuracy_undecided_wrong"]) == (None, None)
    text = workbench("report", path, "accuracy", "--policy", "ann").out
    assert "book 3 8 0 – 0 0" in " ".join(text.split())
    assert "An imported rater or a judge has no list of items, so that only labelled ones count." in text
    assert "counts as wrong" not in text


def test_the_old_name_of_the_truth_still_works_and_no_help_shows_it(workbench, study):
    report = ("report", study, "accuracy")
    for truth in ("bob", "unanimous"):
        found = workbench(*report, "--policy", truth, "--json")
        assert found.json()["truth"]["against"] == truth
        assert workbench(*report, "--against", truth, "--json").out == found.out
        assert workbench(*report, f"--against={truth}", "--json").out == found.out
    told = workbench(*report, "--help").out
    assert "--policy P" in told
    assert "--against" not in told
    both = workbench(*report, "--policy", "bob", "--against", "ann")
    assert both.says("--against is the old name of --policy")
    assert both.code == 2
    assert workbench("report", study, "agreement", "--policy", "bob").says("accuracy and retrieval")


def test_against_one_rater_and_by_other_policies(workbench, study):
    report = ("report", study, "accuracy", "--json")
    found = workbench(*report, "--policy", "bob").json()
    assert {one["rater"] for one in found["raters"]} == {"ann", "cat", "full/m/1", "single/m/2"}
    assert found["truth"]["panel"] == ["bob"]
    assert rows(workbench(*report, "--policy", "bob"))["ann"]["accuracy"] == 6 / 8
    unanimous = workbench(*report, "--policy", "unanimous").json()["truth"]
    assert (unanimous["units"], unanimous["undecided"]) == (5, 3)
    named = workbench(*report, "--panel", "ann,full", "--raters", "bob").json()
    assert named["truth"]["panel"] == ["ann", "full/m/1"]
    assert [one["rater"] for one in named["raters"]] == ["bob"]
    for options, says in (
        (("--policy", "dora"), "No rater called 'dora'"),
        (("--policy", "mean"), "no order"),
        (("--policy", "bob", "--panel", "ann"), "is a rater"),
        (("--policy", "bob", "--compare", "bob,ann"), "bob's labels are the true ones"),
        (("--policy", "full", "--raters", "ann,full"), "full/m/1's labels are the true ones"),
        (("--panel", ","), "No rater is named"),
        (("--blocks", "100"), "--blocks belongs to the report agreement"),
    ):
        done = workbench(*report, *options)
        assert (done.code, says in done.json()["error"]["message"]) == (2, True), options


@pytest.mark.parametrize("of_a_query", [1, 2])
def test_the_alternative_test_is_warned_of_queries_with_several_items(of_a_query, workbench, tmp_path):
    items = range(40)
    labels = "".join(f"p{item},{rater},{item % 2}\n" for item in items for rater in ("ann", "bob", "cat"))
    (tmp_path / "labels.csv").write_text(f"item,rater,value\n{labels}")
    pairs = "".join(f"p{item},query {item // of_a_query},code {item}\n" for item in items)
    (tmp_path / "pairs.csv").write_text(f"id,query,code\n{pairs}")
    with Workspace.create(tmp_path / "work.duckdb") as workspace:
        import_files(workspace, [tmp_path / "pairs.csv", tmp_path / "labels.csv"])
        labelled_by_agents(workspace, [(1 + item, float(item % 2), "tested") for item in items])
        path = workspace.path
    report = ("report", path, "accuracy", "--panel", "ann,bob,cat")
    warning = "a query has several items, which the test takes to be independent" * (of_a_query > 1)
    (agents,) = (one for one in workbench(*report, "--json").json()["raters"] if one["replaces"])
    assert agents["replaces"]["warning"] == warning
    text = " ".join(workbench(*report).out.split())
    assert "may replace 1.00" in text
    assert (f"beware, {warning}." in text, "beware" in text) == (of_a_query > 1, of_a_query > 1)


def test_what_others_tie_on_is_not_what_nobody_else_labelled(workbench, tmp_path):
    """Ann labelled six pairs: two with bob and cat, who tie on one; one with bob alone; three alone."""
    given = {"ann": (1, 0, 1, 1, 0, 0), "bob": (1, 1, 0), "cat": (1, 0)}
    rows_ = [
        (f"p{item}", rater, value) for rater, values in given.items() for item, value in enumerate(values)
    ]
    (tmp_path / "labels.csv").write_text(
        "item,rater,value\n" + "".join(f"{item},{rater},{value}\n" for item, rater, value in rows_)
    )
    (tmp_path / "pairs.csv").write_text(
        "id,query,code\n" + "".join(f"p{item},query {item},code\n" for item in range(6))
    )
    path = tmp_path / "work.duckdb"
    assert workbench("import", path, tmp_path / "pairs.csv", tmp_path / "labels.csv").code == 0
    # No question has a label of people, which is no reason to fail.
    assert workbench("report", path, "agreement", "--question", "pair.relevance", "--json").code == 0
    report = ("report", path, "accuracy", "--panel", "ann,bob,cat")
    ann = rows(workbench(*report, "--json"))["ann"]
    # The others decide p0 and p2, on which only bob is with her; and tie on p1.
    assert (ann["n"], ann["true_units"], ann["tied"], ann["alone"]) == (2, 2, 1, 3)
    text = " ".join(workbench(*report).out.split())
    assert "ann 2 2 0 – 1 3" in text
    assert (
        "tied: labelled items without a true label, as the others are not decided; alone: as nobody" in text
    )


def test_dawid_and_skene_are_warned_of(workbench, study):
    report = ("report", study, "accuracy", "--json", "--policy", "dawid-skene")
    (left,) = workbench(*report).json()["truth"]["warnings"]
    assert left == "A rater of the panel is compared with the other 2, whose errors cannot be separated."
    assert workbench(*report, "--raters", "full/m/1").json()["truth"]["warnings"] == []
    (few,) = workbench(*report, "--panel", "ann,bob").json()["truth"]["warnings"]
    assert few.startswith("Under 3 raters")
    panel = workbench(*report, "--panel", "ann,full/m/1,single/m/2").json()["truth"]["warnings"]
    assert "share a model" in panel[0]


def test_labels_judged_beside_the_agents_do_not_count_as_true_by_default(tmp_path, workbench):
    with judged_workspace(tmp_path, 4) as workspace:
        run = labelled_by_agents(workspace, [(item, 1.0, "tested") for item in (1, 2, 3, 4)])
        shown = verdict_ids(workspace, run)
        dana = Desk(workspace)
        dana.judge(1, 0.0, blind=True)
        dana.judge(2, 1.0, origin="accept", shown_verdict=shown[2])
        dana.judge(3, 0.0, origin="override", shown_verdict=shown[3])
        path = workspace.path
    report = ("report", path, "accuracy", "--json", "--policy", "dana")
    facts = workbench(*report).json()
    true = facts["truth"]
    assert (true["units"], true["blind"], true["revealed"], true["accepted"]) == (1, 1, 2, 1)
    assert [one["n"] for one in facts["raters"]] == [1]
    whole = workbench(*report, "--with-revealed").json()
    assert (whole["truth"]["units"], whole["raters"][0]["accuracy"]) == (3, 1 / 3)
    text = workbench(*report[:-3], *report[-2:]).out
    assert "1 judged blind, 2 revealed (of these 1 accepted; left out)" in text


def test_nobody_to_be_right(tmp_path, workbench):
    with judged_workspace(tmp_path, 2) as workspace:
        run = labelled_by_agents(workspace, [(1, 1.0, "tested")])
        shown = verdict_ids(workspace, run)
        path = workspace.path
    none = workbench("report", path, "accuracy", "--json").json()["error"]
    assert none["message"] == "No person has labels of this question."
    assert "cosqa-plus:scripted" in none["hint"]
    with Workspace.open(path) as workspace:
        Desk(workspace).judge(1, 1.0, origin="accept", shown_verdict=shown[1])
    revealed = workbench("report", path, "accuracy", "--json").json()["error"]
    assert "--with-revealed counts them" in revealed["hint"]


def verdict_ids(workspace, run):
    return {one["item_id"]: one["id"] for one in stored(workspace, VerdictRow) if one["run_id"] == run}


def test_rulings_decide_where_their_adjudicator_saw_nothing_of_the_agents(tmp_path):
    with judged_workspace(tmp_path, 3) as workspace:
        run = labelled_by_agents(workspace, [(item, 1.0, "tested") for item in (1, 2, 3)])
        shown = verdict_ids(workspace, run)
        for name, values in (("ann", (1, 1, 0)), ("bob", (1, 0, 1))):
            for item, value in enumerate(values, start=1):
                Desk(workspace, name).judge(item, float(value), blind=True)
        judge = Desk(workspace, "eve")
        judge.judge(2, 0.0, origin="ruling", blind=True)
        judge.judge(3, 1.0, origin="ruling", shown_verdict=shown[3])
        with workspace.reading() as connection:
            found = accuracy_report(connection, "pair.match", "adjudicated")
            seen = accuracy_report(connection, "pair.match", "adjudicated", with_revealed=True)
    assert (found.truth.units, found.truth.undecided) == (2, 1)
    (agents,) = [one for one in found.raters if one.kind == "agent"]
    assert (agents.figures.n, agents.figures.accuracy) == (2, 0.5)
    (agents,) = [one for one in seen.raters if one.kind == "agent"]
    assert (agents.figures.n, agents.figures.accuracy) == (3, pytest.approx(2 / 3))


def test_rulings_count_where_nobody_could_decide_and_not_for_their_own_adjudicator(tmp_path):
    with judged_workspace(tmp_path, 3) as workspace:
        labelled_by_agents(workspace, [(1, 1.0, "tested")], [(2, "Model declined: no")])
        ann, bob = Desk(workspace, "ann"), Desk(workspace, "bob")
        ann.judge(1, 1.0, blind=True)
        ann.say(2, "cannot_decide")
        bob.judge(3, 0.0, blind=True)
        bob.judge(2, 1.0, origin="ruling", blind=True)
        # Bob's label and his ruling on item 3 have keys of their own.
        bob.judge(3, 0.0, origin="ruling", blind=True, assignment_id=workspace.ids.next())
        with workspace.reading() as connection:
            found = accuracy_report(connection, "pair.match", "adjudicated")
    assert (found.truth.units, found.truth.single) == (3, 1)
    of = {one.name: one for one in found.raters}
    # Ann gave up on item 2, and so did the agents: it counts for their coverage.
    assert (of["ann"].figures.n, of["ann"].figures.given, of["ann"].figures.coverage) == (0, 1, 0)
    (agents,) = [one for one in found.raters if one.kind == "agent"]
    assert (agents.figures.n, agents.figures.given, agents.figures.coverage) == (1, 2, 0.5)
    assert (of["bob"].left_out, of["bob"].figures.n, of["bob"].alone) == (True, 0, 1)


def test_of_a_study_only_its_own_undecided_items_count(tmp_path):
    with judged_workspace(tmp_path, 4) as workspace:
        ann, bob = Desk(workspace, "ann"), Desk(workspace, "bob")
        of_study = {
            (desk.rater.id, item): workspace.ids.next() for desk in (ann, bob) for item in (1, 2, 3, 4)
        }

        def write(connection):
            connection.execute(
                insert(table_of(Study)).values(
                    id=1, name="one", protocol='{"kind": "pair"}', manifest="{}", created_at=now()
                )
            )
            fields = {"study_id": 1, "phase": "review", "position": 0, "seed": 0}
            fields |= condition_of("")._asdict()
            rows = [{**fields, "id": key, "rater_id": r, "item_id": i} for (r, i), key in of_study.items()]
            connection.execute(insert(table_of(Assignment)), rows)

        workspace.lane.submit(write).result()
        for item in (1, 2, 3, 4):
            bob.judge(item, 1.0, assignment_id=of_study[bob.rater.id, item])
        ann.judge(1, 1.0, assignment_id=of_study[ann.rater.id, 1])
        ann.say(2, "cannot_decide", assignment_id=of_study[ann.rater.id, 2])
        ann.say(3, "cannot_decide")
        with workspace.reading() as connection:
            (of,) = accuracy_report(connection, "pair.match", "bob", study="one").raters
            (all_,) = accuracy_report(connection, "pair.match", "bob").raters
    assert (of.figures.n, of.figures.given, all_.figures.given) == (1, 2, 3)


def test_the_true_rater_is_not_compared_with_themselves(study, workbench):
    report = ("report", study, "accuracy", "--json", "--policy", "ann")
    for options in (("--raters", "ann"), ("--compare", "ann,bob")):
        done = workbench(*report, *options)
        assert (done.code, done.json()["error"]["title"]) == (2, "Nothing to compare")
    done = workbench(*report, "--compare", "full/m/1,full")
    assert (done.code, "names of one rater" in done.json()["error"]["message"]) == (2, True)


def test_a_rater_with_the_name_of_a_policy_is_warned_of(study, workbench):
    with Workspace.open(study) as workspace:
        Desk(workspace, "majority").judge(1, 0.0, blind=True)
    (warning,) = workbench("report", study, "accuracy", "--json").json()["truth"]["warnings"]
    assert warning.startswith("A rater is called majority")


def test_labels_taken_back_do_not_move_and_those_brought_again_do(tmp_path):
    with judged_workspace(tmp_path, 4) as workspace:
        run = labelled_by_agents(workspace, [(item, 1.0, "tested") for item in (1, 2, 3, 4)])
        shown = verdict_ids(workspace, run)
        dana = Desk(workspace)
        # Item 1: the label beside the agents is undone and done again.
        dana.judge(1, 0.0, blind=True)
        dana.judge(1, 1.0, origin="accept", shown_verdict=shown[1])
        dana.undo()
        dana.redo()
        # Item 2: it is withdrawn. Item 3: the blind one was, before.
        dana.judge(2, 0.0, blind=True)
        dana.judge(2, 1.0, origin="accept", shown_verdict=shown[2])
        dana.say(2, "cannot_decide")
        dana.judge(3, 0.0, blind=True)
        dana.say(3, "cannot_decide")
        dana.judge(3, 1.0, origin="accept", shown_verdict=shown[3])
        # Item 4: a label later than both takes nothing from what happened.
        dana.judge(4, 0.0, blind=True)
        dana.judge(4, 1.0, origin="accept", shown_verdict=shown[4])
        dana.judge(4, 1.0, blind=True)
        Desk(workspace, "ann").judge(1, 1.0, blind=True)
        with workspace.reading() as connection:
            found = accuracy_report(connection, "pair.match", "majority")
    moved = next(one for one in found.raters if one.name == "dana").anchoring
    assert (moved.n, moved.differed) == (2, 2)
    assert (moved.switched_to_right, moved.switched_unknown) == (1, 1)


def test_how_often_raters_switch_towards_the_agents(tmp_path, workbench):
    """Dana judges six pairs blind, then sees the agents' labels; ann and bob judge them blind."""
    agents = (1, 1, 1, 0, 0, 1)
    blind, revealed = (0, 0, 1, 0, 1, 0), (1, 0, 1, 0, 0, 1)
    true = (1, 0, 1, 0, 1, 0)
    with judged_workspace(tmp_path, 6) as workspace:
        run = labelled_by_agents(workspace, [(item, v, "tested") for item, v in enumerate(agents, start=1)])
        shown = verdict_ids(workspace, run)
        dana = Desk(workspace)
        for item, value in enumerate(blind, start=1):
            dana.judge(item, float(value), blind=True)
        for item, value in enumerate(revealed, start=1):
            dana.judge(item, float(value), origin="override", shown_verdict=shown[item])
        # Taken back, so that it is no label from before.
        dana.judge(1, 1.0)
        dana.undo()
        for name in ("ann", "bob"):
            for item, value in enumerate(true, start=1):
                Desk(workspace, name).judge(item, float(value), blind=True)
        path = workspace.path
    found = rows(workbench("report", path, "accuracy", "--json"))
    moved = found["dana"]["anchoring"]
    # Other than the agents on items 1, 2, 5 and 6; moved to them on 1 (right), 5 and 6 (wrong).
    assert (moved["n"], moved["differed"]) == (6, 4)
    assert (moved["switched_to_right"], moved["switched_to_wrong"], moved["switched_away"]) == (1, 2, 0)
    assert (moved["blind_accuracy"], moved["revealed_accuracy"]) == (5 / 6, pytest.approx(4 / 6))
    assert moved["difference"] == pytest.approx(-1 / 6)
    assert found["ann"]["anchoring"] is None
    lines = [line.split() for line in workbench("report", path, "accuracy").out.splitlines()]
    # Items, differed at first, switched to right and to wrong, away; then accuracy blind and revealed.
    assert ["dana", "6", "4", "1", "2", "0", "83.3", "%", "66.7", "%"] in [line[:10] for line in lines]


def test_two_runs_are_tested_and_corrected_over_the_family(workbench, study):
    facts = workbench("report", study, "accuracy", "--compare", "full/m/1,single,ann", "--json").json()
    pairs = {tuple(one["raters"]): one for one in facts["comparisons"]}
    assert len(pairs) == 3
    runs = pairs["full/m/1", "single/m/2"]
    # Items 1 to 4: the full run is right on all, the single one on 1 and 2. Two queries: 0 and 2.
    assert (runs["n"], runs["only_first"], runs["only_second"], runs["test"]) == (4, 2, 0, "sign-flip")
    assert runs["p_value"] == 1
    # Against ann the panel is bob and cat, on the items where these do not tie.
    assert pairs["full/m/1", "ann"]["n"] == 5
    assert all(one["adjusted"] >= one["p_value"] for one in facts["comparisons"])
    text = workbench("report", study, "accuracy", "--compare", "full/m/1,single").out
    assert "sign-flip: the differences of a whole query change sign together." in text


def test_estimates_over_all_that_a_run_labelled(tmp_path, workbench, monkeypatch):
    """An expert labels 3 of 8 claimed matches and 2 of 4 others; one claim is wrong, one match missed."""
    with judged_workspace(tmp_path, 12) as workspace:
        labelled_by_agents(workspace, [(item, float(item <= 8), "tested") for item in range(1, 13)])
        dana = Desk(workspace)
        for item, value in ((1, 1), (2, 1), (3, 0), (9, 0), (10, 1)):
            dana.judge(item, float(value), blind=True)
        path = workspace.path
    report = ("report", path, "accuracy", "--json", "--policy", "dana", "--population")
    (agents,) = workbench(*report, "label").json()["raters"]
    found = agents["population"]
    assert (found["units"], found["sampled"]) == (12, 5)
    # 8 claims, two of three right; 4 others, one of two right.
    assert found["precision"]["value"] == pytest.approx(2 / 3)
    assert found["recall"]["value"] == pytest.approx((8 * 2 / 3) / (8 * 2 / 3 + 2))
    assert found["prevalence"]["value"] == pytest.approx((8 * 2 / 3 + 2) / 12)
    (simple,) = workbench(*report, "all").json()["raters"]
    assert simple["population"]["precision"]["value"] == pytest.approx(2 / 3)
    assert simple["population"]["recall"]["value"] == pytest.approx(2 / 3)
    assert workbench(*report, "rank").code == 2
    monkeypatch.setattr("workbench.output.PIPED_WIDTH", 80)
    text = workbench(*report[:3], *report[4:], "label").out
    assert "Estimated over all items that a run labelled" in text
    assert any(line.split()[1:3] == ["12", "5"] for line in text.splitlines())
    assert all(len(line) <= 80 for line in text.splitlines())


def test_an_agent_in_place_of_an_annotator(tmp_path, workbench, monkeypatch):
    with judged_workspace(tmp_path, 40) as workspace:
        real = [float(item % 3 == 0) for item in range(1, 41)]
        labelled_by_agents(workspace, [(item, value, "tested") for item, value in enumerate(real, start=1)])
        for place, name in enumerate(("ann", "bob", "cat")):
            desk = Desk(workspace, name)
            for item, value in enumerate(real, start=1):
                wrong = item % 10 == place
                desk.judge(item, 1 - value if wrong else value, blind=True)
        path = workspace.path
    agent = next(
        one
        for one in workbench("report", path, "accuracy", "--json").json()["raters"]
        if one["kind"] == "agent"
    )
    assert agent["replaces"]["passed"] is True
    assert agent["replaces"]["winning_rate"] == 1
    assert agent["accuracy"] == 1
    monkeypatch.setattr("workbench.output.PIPED_WIDTH", 80)
    text = workbench("report", path, "accuracy").out
    assert "may replace" in text.partition("Alternative annotator test")[2]
    # The agents are always right: every resample says so, and an interval of no width would say that it is sure.
    assert "to 100.0)" in text
    assert not any(nothing in text for nothing in ("(100.0 to 100.0)", "(1.00 to 1.00)"))
    assert all(len(line) <= 80 for line in text.splitlines())


def test_one_item_a_query_has_wilsons_interval_and_mcnemars_test(workbench, in_folder):
    pairs = "".join(f'{{"id": "p{n}", "query": "q{n}", "code": "c{n}"}}\n' for n in range(10))
    (in_folder / "p.jsonl").write_text(pairs, encoding="utf-8")
    labels = {"truth": "1111100000", "one": "1111100011", "two": "1111111111"}
    lines = [
        "item,rater,value",
        *(f"p{n},{who},{v}" for who, row in labels.items() for n, v in enumerate(row)),
    ]
    (in_folder / "labels.csv").write_text("\n".join(lines), encoding="utf-8")
    workbench("import", "w.duckdb", "p.jsonl", "labels.csv")
    facts = workbench(
        *("report", "w.duckdb", "accuracy", "--policy", "truth", "--compare", "one,two", "--json")
    ).json()
    one = next(each for each in facts["raters"] if each["rater"] == "one")
    assert (one["ci_low"], one["ci_high"]) == wilson(8, 10)
    (pair,) = facts["comparisons"]
    # Three items that only one has right: 2 / 2^3.
    assert (pair["test"], pair["only_first"], pair["only_second"], pair["p_value"]) == ("McNemar", 3, 0, 0.25)
    text = workbench("report", "w.duckdb", "accuracy", "--policy", "truth").out
    assert "95 % intervals: over items, of accuracy Wilson's; raters fixed" in text


def test_a_blind_review_is_told_nothing(workbench, study, monkeypatch):
    monkeypatch.setenv("WORKBENCH_SCREENS__BLIND", "true")
    done = workbench("report", study, "accuracy", "--json", "--policy", "nobody at all")
    assert (done.code, done.json()["error"]["title"]) == (2, "Blind review")
    assert Path(study).exists()
