"""The figures of a benchmark of pairs, over workspaces that are small enough to count by hand."""

import json

import pyarrow
import pytest
from judging import Desk, judged_workspace
from small_workspace import labelled_by_agents, rows
from sqlalchemy import column, insert, table

from store.analysis.pair_figures import (
    benchmark_figures,
    pair_labellers,
    pair_labels,
    pairs_at_rank,
    pairs_by_matches,
    pairs_by_queries,
    rater_labels,
)
from store.record.ids import now
from store.tables.columns import table_of
from store.tables.runs import Execution, ExecutionRow, Run, StepRow
from store.workspace.duckdb import Workspace

CODES = {
    "A": "def a(x):\n    return x[::-1]\n",
    "B": "def b(x):\n    return reversed(x)\n",
    "C": "def c(x):\n    return 'ü€😀'\n",
    "D": "def d(x):\n    return x.sort()\n",
    "E": "def e(path):\n    return open(path)\n",
    "F": "def f(*x):\n    return sum(x)\n",
}
CANDIDATES = {"reverse a list": "ABC", "sort a list": "AD", "open a file": "BE", "sum": "F"}
"""Item 1 is the first candidate of the first query, item 8 the only one of the last."""

LABELS = [(1, 1.0), (2, 1.0), (3, 0.0), (4, 1.0), (5, 0.0), (7, 1.0)]


def pairs(**fields):
    """The pairs in order, each with fields that a function makes of its query and its place, from 1."""
    for query, codes in CANDIDATES.items():
        for place, code in enumerate(codes, start=1):
            pair = {"id": f"{query}/{place}", "query": query, "code": CODES[code]}
            made = {name: make(query, place) for name, make in fields.items()}
            yield pair | {name: value for name, value in made.items() if value is not None}


@pytest.fixture
def study(workbench, in_folder):
    def made(labels=LABELS, **fields):
        """A workspace with the pairs, labelled by a run as (item, value)."""
        lines = [json.dumps(pair) + "\n" for pair in pairs(**fields)]
        (in_folder / "pairs.jsonl").write_text("".join(lines), encoding="utf-8")
        path = in_folder / "study.duckdb"
        assert workbench("import", path, "pairs.jsonl").code == 0
        if labels:
            run(path, labels, "first")
        return path

    return made


def run(path, labels, name, fullness=0):
    with Workspace.open(path) as workspace:
        verdicts = [(item, value, "screened") for item, value in labels]
        labelled_by_agents(workspace, verdicts, name=name, fullness=fullness)


def ranked(query, place):
    return place


def figures(workbench, path, *options):
    told = workbench("report", path, "figures", *options, "--json")
    assert told.code == 0, told.err
    return told.json()


def by_rank(found):
    return [
        (one["rank"], one["pairs"], one["labelled"], one["matches"]) for one in found["figure_4"]["ranks"]
    ]


def test_the_figures_of_the_agents_labels(workbench, study):
    found = figures(workbench, study(rank=ranked))
    assert found["report"] == "figures"
    assert found["labels"] | {"run": None} == {
        "rater": "first",
        "kind": "agent",
        "run": None,
        "without_label": 2,
    }
    assert found["table_2"] == {
        "queries": 4,
        "codes": 6,
        "pairs": 8,
        "labelled": 6,
        "matches": 4,
        "match_share": pytest.approx(4 / 6),
        "code_mean_length": pytest.approx(sum(map(len, CODES.values())) / 6),
        "query_mean_length": pytest.approx((14 + 11 + 11 + 3) / 4),
        "executed": 0,
        "executable": 0,
        "executable_rate": None,
        "mean_test_cases": None,
    }
    # reverse: 2 of 3 match; sort: 1 of 2; open: 1, and one is not labelled; sum: nothing is labelled.
    assert found["figure_3"] == {
        "queries": 2,
        "mean_matches": 1.5,
        "partly_labelled_queries": 1,
        "unlabelled_queries": 1,
        "groups": [
            {"matches": 1, "queries": 1, "partly_labelled": 1},
            {"matches": 2, "queries": 1, "partly_labelled": 0},
        ],
    }
    assert by_rank(found) == [(1, 4, 2, 2), (2, 3, 3, 2), (3, 1, 1, 0)]
    ranks = found["figure_4"]["ranks"]
    assert [one["probability"] for one in ranks] == pytest.approx([1, 2 / 3, 0])
    assert [one["expected_matches"] for one in ranks] == pytest.approx([1, 5 / 3, 5 / 3])
    # 1, 5/3 and 5/3 matches are expected among one, two and three candidates.
    assert found["figure_4"]["worth_labelling"] == {"0.80": 2, "0.90": 2, "0.95": 2}
    # Wilson's interval of 2 of 3: (0.6667 + 3.8415 / 6 ± 1.96 sqrt(0.2222 / 3 + 3.8415 / 36)) / (1 + 3.8415 / 3).
    assert (ranks[1]["ci_low"], ranks[1]["ci_high"]) == pytest.approx((0.20766, 0.93851), abs=1e-5)
    assert {
        name: found["figure_4"][name] for name in ("similarity_ranks", "shared_ranks", "without_rank")
    } == {
        "similarity_ranks": 0,
        "shared_ranks": 0,
        "without_rank": 0,
    }
    # A answers two queries, B and E answer one each.
    assert found["figure_7"] == {
        "codes": 3,
        "of_several_queries": 1,
        "several_share": pytest.approx(1 / 3),
        "groups": [{"queries": 1, "codes": 2}, {"queries": 2, "codes": 1}],
    }


def test_the_items_behind_each_group_are_as_many_as_it_says(study):
    with Workspace.open(study(rank=ranked)) as workspace, workspace.reading() as connection:
        labels = pair_labels(connection).labels
        found = benchmark_figures(connection, labels)

        def items(statement):
            return connection.execute(statement).scalars().all()

        # sort: 1 of 2 matches; open: 1 of 2, of which one is not labelled; reverse: 2 of 3.
        behind = {one.matches: items(pairs_by_matches(labels, one.matches)) for one in found.by_matches}
        assert {matches: len(pairs) for matches, pairs in behind.items()} == {1: 4, 2: 3}
        for rank in found.by_rank:
            assert len(items(pairs_at_rank(labels, rank.rank))) == rank.labelled
            assert len(items(pairs_at_rank(labels, rank.rank, matching=True))) == rank.matches
        # A answers two queries, B and E answer one each.
        assert [len(items(pairs_by_queries(labels, one.queries))) for one in found.by_queries] == [2, 2]
        assert pair_labellers(connection) == []


def test_people_see_bars_with_counts_and_percentages(workbench, study):
    told = workbench("report", study(rank=ranked), "figures")
    assert told.code == 0
    lines = [line.rstrip() for line in told.out.splitlines()]
    assert "labels of  the agents' run first" in lines
    assert "labelled   6 of 8 (75.0 %), 2 without a label" in lines
    place = lines.index("Queries by the number of matching codes")
    assert lines[place + 1].split() == ["matches", "queries", "partly", "share"]
    # The queries without a match have their row, too.
    assert lines[place + 2].split() == ["0", "0", "0", "0.0", "%"]
    one, two = (line.split() for line in lines[place + 3 : place + 5])
    assert one[:-1] == ["1", "2", "1", "50.0", "%"]
    assert two[:-1] == ["2", "1", "0", "50.0", "%"]
    assert len(one[-1]) == 2 * len(two[-1])
    mean = "Mean: 1.50 matches a query, of 2 queries of which all candidates are labelled."
    assert lines[place + 5] == mean
    assert "Without a label: 1 query." in lines
    assert any(
        line.startswith("partly: of these, queries with a candidate without a label") for line in lines
    )
    place = lines.index("Probability that the candidate at a rank matches")
    first, second, third = (line.split() for line in lines[place + 2 : place + 5])
    assert second[:8] == ["2", "3", "2", "66.7", "%", "20.8", "to", "93.9"]
    assert (second[8], "●" in second[-1]) == ("1.67", True)
    assert third[:9] == ["3", "1", "0", "0.0", "%", "0.0", "to", "79.3", "1.67"]
    assert first[0] == "1"
    assert any("two or more: 1 of 3 (33.3 %); in CoSQA+ 36.7 %" in line for line in lines)


def test_a_long_tail_is_one_row(workbench, in_folder):
    lines = [
        json.dumps({"id": f"{number}", "query": "q", "code": f"def f{number}(): pass", "rank": number}) + "\n"
        for number in range(1, 31)
    ]
    (in_folder / "pairs.jsonl").write_text("".join(lines), encoding="utf-8")
    path = in_folder / "long.duckdb"
    assert workbench("import", path, "pairs.jsonl").code == 0
    run(path, [(item, float(item != 25)) for item in range(1, 31)], "first")
    out = [line.split() for line in workbench("report", path, "figures").out.splitlines()]
    (matches,) = [line for line in out if line[:3] == ["20", "and", "more"]]
    assert matches[3:7] == ["1", "0", "100.0", "%"]
    (rank,) = [line for line in out if line[:3] == ["21", "and", "more"]]
    # Of several ranks together there is no interval.
    assert rank[3:8] == ["10", "9", "90.0", "%", "29.00"]
    found = figures(workbench, path)
    assert len(found["figure_4"]["ranks"]) == 30
    assert found["figure_3"]["groups"] == [{"matches": 29, "queries": 1, "partly_labelled": 0}]


def test_a_pair_under_two_ids_is_one_matching_code(workbench, in_folder):
    twice = [{"id": str(number), "query": "q", "code": CODES["A"]} for number in (1, 2)]
    (in_folder / "pairs.jsonl").write_text(
        "".join(json.dumps(pair) + "\n" for pair in twice), encoding="utf-8"
    )
    assert workbench("import", "twice.duckdb", "pairs.jsonl").code == 0
    run(in_folder / "twice.duckdb", [(1, 1.0), (2, 1.0)], "first")
    found = figures(workbench, "twice.duckdb")
    assert (found["table_2"]["pairs"], found["table_2"]["codes"], found["table_2"]["matches"]) == (2, 1, 2)
    assert found["figure_3"]["groups"] == [{"matches": 1, "queries": 1, "partly_labelled": 0}]
    assert found["figure_7"]["groups"] == [{"queries": 1, "codes": 1}]


def test_a_raters_current_labels(workbench, study):
    path = study(rank=ranked)
    for pair, value in (("reverse a list/1", 1), ("reverse a list/1", 0), ("sum/1", 1)):
        assert workbench("judge", path, pair, value, "--rater", "dana").code == 0
    assert workbench("judge", path, "open a file/1", 1, "--rater", "eli").code == 0
    found = figures(workbench, path, "--rater", "dana")
    assert found["labels"] == {"rater": "dana", "kind": "human", "run": None, "without_label": 6}
    assert (found["table_2"]["labelled"], found["table_2"]["matches"]) == (2, 1)
    assert found["table_2"]["executable_rate"] is None
    assert found["figure_3"] == {
        "queries": 1,
        "mean_matches": 1.0,
        "partly_labelled_queries": 1,
        "unlabelled_queries": 2,
        "groups": [
            {"matches": 0, "queries": 0, "partly_labelled": 1},
            {"matches": 1, "queries": 1, "partly_labelled": 0},
        ],
    }
    assert found["figure_7"]["groups"] == [{"queries": 1, "codes": 1}]
    # Nothing of rank 2 is labelled, so what three candidates have is not known.
    ranks = found["figure_4"]["ranks"]
    assert [(one["rank"], one["probability"], one["expected_matches"]) for one in ranks] == [
        (1, 0.5, 0.5),
        (2, None, None),
        (3, None, None),
    ]
    assert "labels of  dana" in workbench("report", path, "figures", "--rater", "dana").out


def test_of_several_assignments_the_first_presentation_counts(tmp_path):
    with judged_workspace(tmp_path, 4) as workspace:
        dana = Desk(workspace)
        for value in (1.0, 0.0):
            dana.judge(1, value, assignment_id=workspace.ids.next())
        dana.judge(2, 1.0)
        dana.undo()
        dana.judge(3, 1.0, phase="revealed")
        with workspace.reading() as connection:
            found = benchmark_figures(connection, rater_labels(dana.rater.id))
    assert (found.pairs, found.labelled, found.matches) == (4, 1, 1)


def test_without_a_wholly_labelled_query_the_others_are_shown_as_what_they_are(workbench, study):
    path = study(labels=[(1, 1.0), (4, 0.0)], rank=ranked)
    found = figures(workbench, path)["figure_3"]
    assert (found["queries"], found["mean_matches"], found["partly_labelled_queries"]) == (0, None, 2)
    out = workbench("report", path, "figures").out
    assert "partly: of these, queries with a candidate without a label" in out
    assert "Mean" not in out


def test_any_table_of_labels(study):
    truth = pyarrow.table({"item_id": [1, 4, 5, 99], "value": [1.0, 0.0, None, 1.0]})
    with Workspace.open(study()) as workspace, workspace.reading() as connection:
        connection.connection.dbapi_connection.register("truth", truth)
        found = benchmark_figures(connection, table("truth", column("item_id"), column("value")))
    assert (found.pairs, found.labelled, found.matches, found.partly_labelled_queries) == (8, 2, 1, 2)


def test_bars_fit_a_narrow_terminal(workbench, study, monkeypatch):
    monkeypatch.setattr("workbench.output.PIPED_WIDTH", 80)
    lines = workbench("report", study(rank=ranked), "figure-3").out.splitlines()
    lines += workbench("report", "study.duckdb", "figure-4").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert (sum("█" in line for line in lines), sum("●" in line for line in lines)) == (2, 3)


def test_an_imported_column(workbench, study, in_folder):
    path = study(labels=(), rank=ranked, label=lambda query, place: int(place == 1))
    (name,) = {row["name"] for row in raters(path) if row["kind"] == "import"}
    found = figures(workbench, path, "--rater", name)
    assert (found["labels"]["kind"], found["table_2"]["labelled"], found["table_2"]["matches"]) == (
        "import",
        8,
        4,
    )
    assert found["figure_3"]["groups"] == [{"matches": 1, "queries": 4, "partly_labelled": 0}]
    told = workbench("report", path, "figures")
    assert told.code == 0
    assert f"figures --rater '{name}'" in told.out


def raters(path):
    from store.tables.people import Rater

    with Workspace.open(path) as workspace:
        return rows(workspace, Rater)


def test_of_two_runs_the_fuller_one_counts_or_the_named_one(workbench, study):
    path = study(rank=ranked)
    run(path, [(1, 0.0)], "second", fullness=3)
    shown = figures(workbench, path)
    assert (shown["labels"]["rater"], shown["table_2"]["labelled"], shown["table_2"]["matches"]) == (
        "second",
        1,
        0,
    )
    for option in ("--run", "--rater"):
        named = figures(workbench, path, option, "first")
        assert named["labels"]["rater"] == "first"
        assert (named["table_2"]["labelled"], named["table_2"]["matches"]) == (6, 4)
    both = workbench("report", path, "figures", "--run", "first", "--rater", "second")
    assert both.code == 2
    assert both.says("both say whose labels")


def test_a_run_over_items_of_another_kind_has_no_figures(workbench, study):
    path = study(rank=ranked)
    with Workspace.open(path) as workspace:
        of_pairs = rows(workspace, Run)[0]
        other = of_pairs | {"id": workspace.ids.next(), "kind": "completion", "name": "later"}
        workspace.lane.submit(lambda connection: connection.execute(insert(table_of(Run)), [other])).result()
    told = workbench("report", path, "figures", "--run", "later")
    assert told.code == 2
    assert told.says("later has not worked on pairs")


def test_the_executable_rate_is_that_of_the_run(workbench, study):
    path = study(rank=ranked)
    run(path, [(1, 0.0)], "second", fullness=-1)
    with Workspace.open(path) as workspace:
        steps = {(step["item_id"], step["run_id"]): step["id"] for step in rows(workspace, StepRow)}
        first = max(steps, key=lambda key: sum(run == key[1] for _, run in steps))[1]
        executed = [(1, False), (1, True), (2, False), (4, True)]
        made = [
            Execution(
                id=workspace.ids.next(),
                item_id=item,
                step_id=steps[item, first],
                program="",
                program_digest="",
                sandbox="",
                environment="",
                exit_reason="ok" if executable else "error",
                executable=executable,
                created_at=now(),
            ).model_dump()
            for item, executable in executed
        ]
        workspace.lane.submit(
            lambda connection: connection.execute(insert(table_of(ExecutionRow)), made)
        ).result()
    table = figures(workbench, path, "--run", "first")["table_2"]
    assert (table["executed"], table["executable"], table["executable_rate"]) == (3, 2, pytest.approx(2 / 3))
    assert (
        "executable  2 of 3 (66.7 %) test programs"
        in workbench("report", path, "figures", "--run", "first").out
    )
    assert figures(workbench, path, "--run", "second")["table_2"]["executed"] == 0


def similar(query, place):
    """Mean similarities whose order is not that of the file; the first and third are equal but for rounding."""
    scores = [(0.2, 0.3, 0.7), (0.5, 0.5, 0.5), (0.4, 0.4, 0.4)][place - 1]
    return dict(zip(("m1", "m2", "m3"), scores, strict=True))


def test_ranks_by_similarity_where_the_file_gives_none(workbench, study):
    found = figures(workbench, study(similarity=similar))
    # By query: items 2, 1, 3 (1 and 3 are equal: the first imported comes first); 5, 4; 7, 6; 8.
    assert by_rank(found) == [(1, 4, 3, 2), (2, 3, 2, 2), (3, 1, 1, 0)]
    four = found["figure_4"]
    assert (four["similarity_ranks"], four["shared_ranks"], four["without_rank"]) == (8, 2, 0)
    out = workbench("report", "study.duckdb", "figures").out
    assert "Ranked by mean similarity: 8 pairs." in out
    assert "At the rank or similarity of another pair of their query: 2 pairs." in out


def test_given_ranks_come_before_similarities_and_may_be_shared(workbench, study):
    path = study(
        similarity=similar,
        rank=lambda query, place: {"reverse a list": (1, 1, None)[place - 1]}.get(query),
    )
    found = figures(workbench, path)
    # Of the first query only items 1 and 2 have a rank, the same; the others' are by similarity.
    assert by_rank(found) == [(1, 5, 4, 3), (2, 2, 1, 1)]
    four = found["figure_4"]
    assert (four["similarity_ranks"], four["shared_ranks"], four["without_rank"]) == (5, 2, 1)


def test_similarities_of_different_models_rank_nothing(workbench, study):
    path = study(
        similarity=lambda query, place: {
            "reverse a list": {f"m{place}": 0.5},
            "sort a list": None if place == 2 else {"m1": 0.5},
        }.get(query, {"m1": 0.5})
    )
    found = figures(workbench, path)
    four = found["figure_4"]
    assert (four["similarity_ranks"], four["shared_ranks"], four["without_rank"]) == (3, 2, 5)
    assert by_rank(found) == [(1, 2, 0, 0), (2, 1, 1, 1)]
    assert "Without a rank or similarities to rank by: 5 pairs." in workbench("report", path, "figures").out


@pytest.mark.parametrize(
    ("first", "expected"),
    [(0, [1.0, None]), (1, [1.0, None]), (2, [None, None])],
)
def test_expected_matches_end_at_a_gap_in_the_ranks(workbench, study, first, expected):
    path = study(
        labels=[(4, 1.0), (5, 1.0)],
        rank=lambda query, place: {"sort a list": first + 2 * place - 2}.get(query),
    )
    ranks = figures(workbench, path)["figure_4"]["ranks"]
    assert [(one["rank"], one["expected_matches"]) for one in ranks] == [
        (first, expected[0]),
        (first + 2, expected[1]),
    ]


def test_no_labels(workbench, study):
    path = study(labels=(), rank=ranked)
    found = figures(workbench, path)
    assert found["labels"] == {"rater": None, "kind": "agent", "run": None, "without_label": 8}
    assert (found["table_2"]["pairs"], found["table_2"]["labelled"], found["table_2"]["match_share"]) == (
        8,
        0,
        None,
    )
    assert found["figure_3"]["unlabelled_queries"] == 4
    assert found["figure_7"]["codes"] == 0
    out = workbench("report", path, "figures").out
    assert "Without labels there are no figures." in out
    assert f"workbench annotate {path}" in out


def test_no_matches(workbench, study):
    path = study(labels=[(8, 0.0)], rank=ranked)
    found = figures(workbench, path)
    assert found["figure_3"]["mean_matches"] == 0
    assert found["figure_7"] == {"codes": 0, "of_several_queries": 0, "several_share": None, "groups": []}
    assert "No code answers a query." in workbench("report", path, "figures").out


def test_no_pairs(workbench, in_folder):
    with Workspace.create(in_folder / "empty.duckdb"):
        pass
    told = workbench("report", "empty.duckdb", "figures")
    assert told.code == 2
    assert told.says("the workspace has no items")
    assert told.says("workbench import empty.duckdb FILE")


def test_only_completions(workbench, in_folder, sample_folder):
    assert workbench("import", "later.duckdb", sample_folder / "completions.jsonl").code == 0
    told = workbench("report", "later.duckdb", "figures", "--json")
    assert told.code == 2
    assert "completions" in told.json()["error"]["message"]


@pytest.mark.parametrize("options", [("--rater", "nobody"), ("--run", "nothing")])
def test_unknown_names(workbench, study, options):
    told = workbench("report", study(rank=ranked), "figures", *options)
    assert told.code == 2
    assert told.says("first")


@pytest.mark.parametrize("options", [(), ("--json",), ("--rater", "dana"), ("--run", "first")])
def test_a_blind_review_refuses_it(workbench, study, monkeypatch, options):
    path = study(rank=ranked)
    monkeypatch.setenv("WORKBENCH_SCREENS__BLIND", "true")
    told = workbench("report", path, "figures", *options)
    assert told.code == 2
    assert "Blind review" in told.out + told.err
    assert "Figure" not in told.out
    assert "matches" not in told.out


def test_other_options_are_refused(workbench, study):
    path = study(rank=ranked)
    assert workbench("report", path, "figures", "--question", "pair.match").code == 2
    assert workbench("report", path, "figures", "--raters", "a,b").code == 2
