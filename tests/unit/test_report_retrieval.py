"""workbench report retrieval: stored rankings, measured against the labels of now."""

import json
from pathlib import Path

import duckdb
import numpy
import pytest
from full_disk import largest_file
from made_once import built_once

from store.errors import WorkspaceError
from store.measures.ranking import PRESETS
from store.rankings.comparison import ranked_codes
from store.rankings.labels import label_sources
from store.rankings.rankings import list_rankings, read_judged, store_ranking
from store.workspace.duckdb import Workspace

EVALUATE = ("evaluate", "retrieval")
BOTH = ("--methods", "bm25,bow")
GONE = "0" * 32
"""The MD5 of no text."""
ANA = ("--rater", "sample-ana")


@built_once
def sample(workbench, in_folder, repository):
    """The workspace of docs/retrieval.md: pairs with labels, and a corpus."""
    data = repository / "sample_data"
    assert workbench("import", "s.duckdb", data / "pairs.jsonl", data / "labels.csv").code == 0
    assert workbench("import", "s.duckdb", data / "corpus.jsonl").code == 0
    return in_folder / "s.duckdb"


def rows(path, statement):
    with duckdb.connect(str(path)) as connection:
        return connection.execute(statement).fetchall()


def ranked(connection):
    """All that each method has for each query."""
    texts = (f"SELECT text_hash FROM {table}" for table in ("query", "code"))
    queries, codes = (connection.exec_driver_sql(text).scalars().all() for text in texts)
    judged = read_judged(
        connection, list_rankings(connection), {query: dict.fromkeys(codes, 1.0) for query in queries}
    )
    return {method: {query: list(one.codes) for query, one in run.items()} for method, run in judged.items()}


def measured(found):
    """What both commands print of methods."""
    return {name: found[name] for name in ("part", "codes", "preset", "methods", "pool", "differences")}


@pytest.mark.parametrize("preset", PRESETS)
def test_the_report_is_what_the_evaluation_printed(workbench, sample, preset):
    evaluated = workbench(*EVALUATE, sample, *BOTH, *ANA, "--preset", preset, "--json").json()
    assert evaluated["stored"] is True
    report = workbench("report", sample, "retrieval", *ANA, "--preset", preset, "--json").json()
    assert measured(report) == measured(evaluated)
    assert report["notes"] == []
    assert report["by_rank"]["bm25"]["recall@10"] == pytest.approx(0.7167, abs=1e-4)
    interval = report["intervals"]["bm25"]
    assert interval["low"] < evaluated["methods"]["bm25"][interval["measure"]] < interval["high"]


def test_a_code_that_is_its_own_query_is_left_out_as_its_benchmark_has_it(workbench, sample, in_folder):
    records = [
        {"id": f"own/{number}", "query": "sort_a_list(values)", "code": code, "label": number}
        for number, code in enumerate(["sort_a_list(values)", "values.sort()  # sort a list"])
    ]
    (in_folder / "own.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    assert workbench("import", sample, "own.jsonl", "--label-as", "own").code == 0
    # Another rater judged the second only: the first is left out all the same.
    assert workbench("judge", sample, "own/1", "1", "--rater", "dana").code == 0
    for rater in ("own", "dana"):
        labels = ("--rater", rater, "--preset", "coir", "--json")
        evaluated = workbench(*EVALUATE, sample, *BOTH, *labels).json()
        assert measured(workbench("report", sample, "retrieval", *labels).json()) == measured(evaluated)
        assert evaluated["methods"]["bm25"]["mrr@1"] == 1
    labels = ("--rater", "own", "--preset", "standard", "--json")
    assert workbench("report", sample, "retrieval", *labels).json()["methods"]["bm25"]["mrr"] == 0.5


def test_a_split_and_its_parts(workbench, sample):
    made = workbench("split", sample, "v1", "--ratios", "train=1,test=1", "--rater", "sample-ana")
    assert made.code == 0, made.err
    for part in ("train", "test"):
        labels = ("--split", "v1", "--part", part)
        evaluated = workbench(*EVALUATE, sample, *BOTH, *labels, "--json").json()
        report = workbench("report", sample, "retrieval", *labels, "--json").json()
        # The queries of both parts are kept.
        ranked = {name: found.pop("not_judged") for name, found in report["methods"].items()}
        assert set(ranked.values()) == {0 if part == "train" else 8}
        for found in evaluated["methods"].values():
            del found["not_judged"]
        assert measured(report) == measured(evaluated)
    # Without --part it is that for tests.
    other = workbench("report", sample, "retrieval", "--split", "v1", "--json").json()
    assert (other["part"], other["differences"]) == ("test", evaluated["differences"])
    assert workbench("report", sample, "retrieval", *ANA, "--json").json()["notes"] == []


def test_labels_are_those_of_now(workbench, sample):
    assert workbench(*EVALUATE, sample, *BOTH, *ANA).code == 0
    before = workbench("report", sample, "retrieval", "--rater", "dana", "--json")
    assert before.code == 2
    for item, value in (("empty-file/1", "1"), ("empty-file/2", "0")):
        assert workbench("judge", sample, item, value, "--rater", "dana").code == 0
    one = workbench("report", sample, "retrieval", "--rater", "dana", "--json").json()["methods"]["bm25"]
    assert (one["queries"], one["relevant"]) == (1, 1)
    assert workbench("judge", sample, "empty-file/2", "1", "--rater", "dana").code == 0
    two = workbench("report", sample, "retrieval", "--rater", "dana", "--json").json()["methods"]["bm25"]
    assert two["relevant"] == 2
    assert two["ndcg@10"] != one["ndcg@10"]
    by_policy = workbench("report", sample, "retrieval", "--policy", "majority", "--json").json()
    assert by_policy["methods"]["bm25"] == two


def test_what_came_later_is_counted_and_said(workbench, sample, in_folder):
    assert workbench(*EVALUATE, sample, *BOTH, *ANA).code == 0
    later = {"id": "new/1", "query": "a query of later", "code": "def later():\n    return 1\n", "label": 1}
    (in_folder / "later.jsonl").write_text(json.dumps(later), encoding="utf-8")
    assert workbench("import", sample, "later.jsonl", "--label-as", "sample-ana").code == 0
    report = workbench("report", sample, "retrieval", *ANA)
    assert "judged, but not ranked" in report.out
    assert "1, left out" in report.out
    assert "The ranking of bm25 is older than the corpus: 1 code was added since." in report.out
    assert "bow has not ranked codes for 1 judged query" in report.out
    found = workbench("report", sample, "retrieval", *ANA, "--json").json()
    assert found["methods"]["bm25"]["not_ranked"] == 1
    assert found["methods"]["bm25"]["queries"] == 15

    # Ranked again, the method has all codes and queries; the other one is as it was.
    evaluated = workbench(*EVALUATE, sample, "--methods", "bm25", *ANA, "--json").json()
    found = workbench("report", sample, "retrieval", *ANA, "--json").json()
    assert found["methods"]["bm25"]["ndcg@10"] == evaluated["methods"]["bm25"]["ndcg@10"]
    assert {one["method"]: one["codes"] for one in found["rankings"]} == {"bm25": 101, "bow": 100}
    assert all("bow" in note for note in found["notes"])


def test_a_ranking_is_replaced_and_keeps_other_queries_of_the_same_corpus(sample):
    with Workspace.open(sample) as opened:
        with opened.reading() as connection:
            queries, codes = (
                connection.exec_driver_sql(f"SELECT text_hash FROM {table} ORDER BY id").scalars().all()
                for table in ("query", "code")
            )

        def store(asked, places, **changed):
            given = {"depth": 3, "codes": codes} | changed
            places = numpy.array(places)
            store_ranking(opened, "own", {}, queries=asked, places=places, scores=places / 7, **given)
            with opened.reading() as connection:
                (found,) = list_rankings(connection)
                return found, ranked(connection)["own"]

        found, run = store(queries[:2], [[4, 2, -1], [-1, -1, -1]])
        assert (found.method, found.depth, found.codes, found.queries) == ("own", 3, len(codes), 2)
        assert run == {queries[0]: [codes[4], codes[2]], queries[1]: []}
        found, run = store(queries[1:3], [[1, 0, 3], [0, 1, 2]])
        assert run == {
            queries[0]: [codes[4], codes[2]],
            queries[1]: [codes[1], codes[0], codes[3]],
            queries[2]: codes[:3],
        }
        with opened.reading() as connection:
            judged = read_judged(connection, [found], {queries[1]: {codes[3]: 1, codes[0]: 0, codes[5]: 1}})
        one = judged["own"][queries[1]]
        assert (len(one), one.codes, one.places) == (3, [codes[0], codes[3]], [1, 2])
        assert one.first(2) == [codes[0]]
        assert (len(judged["own"][queries[0]]), judged["own"][queries[0]].codes) == (2, ())
        # Another depth is another ranking.
        found, run = store(queries[:1], [[5]], depth=1)
        assert run == {queries[0]: [codes[5]]}
    assert rows(sample, "SELECT round(score, 6) FROM retrieval_hit") == [(round(5 / 7, 6),)]


def test_two_methods_query_by_query(workbench, sample):
    assert workbench(*EVALUATE, sample, *BOTH, *ANA, "--by-query", "values.csv").code == 0
    values = {}
    for line in Path("values.csv").read_text(encoding="utf-8").splitlines()[1:]:
        method, query, ndcg, *_ = line.split(",")
        values.setdefault(query, {})[method] = float(ndcg)
    compared = ("report", sample, "retrieval", *ANA, "--compare", "bm25,bow")
    found = workbench(*compared, "--json").json()
    assert found["measure"] == "ndcg@10"
    assert {one["query"]: (one["first"], one["second"]) for one in found["queries"]} == {
        query: (both["bm25"], both["bow"]) for query, both in values.items()
    }
    differences = [one["difference"] for one in found["queries"]]
    assert differences == sorted(differences, reverse=True)
    assert (found["first_better"], found["second_better"], found["equal"]) == (12, 3, 0)
    printed = workbench(*compared).out.splitlines()
    assert sum("python" in line for line in printed) == 15
    first = next(place for place, line in enumerate(printed) if line.startswith("query ")) + 1
    assert printed[first].split()[:2] == ["binary", "search"]
    assert printed[first].rstrip().endswith("●")


def test_the_rankings_of_a_query_and_what_they_lack(workbench, sample):
    assert workbench(*EVALUATE, sample, *BOTH, *ANA).code == 0
    with Workspace.open(sample) as opened, opened.reading() as connection:
        run = ranked(connection)
        query = next(iter(run["bm25"]))
        lacking = next(
            str(code)
            for code in connection.exec_driver_sql("SELECT text_hash FROM code ORDER BY id").scalars()
            if code not in run["bm25"][query]
        )
        first, second = ranked_codes(connection, query, ("bm25", "bow"), {lacking, run["bm25"][query][0]})
    assert [one.code for one in first] == [*run["bm25"][query], lacking]
    assert [one.rank for one in first] == [*range(1, len(first)), None]
    place = {one.code: one.rank for one in second}
    assert all(one.other == place.get(one.code) for one in first)
    (pair,) = rows(
        sample,
        "SELECT min(p.item_id) FROM pair p JOIN query q ON q.id = p.query_id JOIN code c ON c.id = p.code_id "
        f"WHERE q.text_hash = '{query}' AND c.text_hash = '{first[0].code}'",
    )
    assert (first[0].item,) == pair
    assert first[-1].item is None


def test_whose_labels_there_are(workbench, sample):
    with Workspace.open(sample) as opened, opened.reading() as connection:
        names = [one.named for one in label_sources(connection)]
    assert names == ["sample-ana", "sample-ben", "sample-chi"]
    assert workbench("judge", sample, "empty-file/1", "1", "--rater", "dana").code == 0
    assert workbench("split", sample, "v1", "--rater", "sample-ana").code == 0
    with Workspace.open(sample) as opened, opened.reading() as connection:
        sources = label_sources(connection)
    # Those of most pairs come first.
    assert [one.named for one in sources[:5]] == [*names, "people (majority)", "dana"]
    assert sources[-1].arguments[:2] == ("--split", "v1")


def test_what_cannot_be_reported(workbench, sample, tmp_path):
    def refused(*arguments):
        done = workbench("report", sample, "retrieval", *arguments)
        assert done.code == 2, done.out
        return done

    assert refused(*ANA).says("Rank the codes: workbench evaluate retrieval")
    assert refused(*ANA, "--compare", "bm25,bow").says("No method has ranked the codes")
    assert workbench(*EVALUATE, sample, *BOTH, *ANA).code == 0
    assert refused().says("Give one: --rater NAME, --policy majority or --split NAME")
    assert refused(*ANA, "--policy", "majority").says("Give one")
    assert refused("--rater", "nobody").says("Raters here: sample-ana")
    assert refused("--policy", "loudest").says("Policies: majority")
    assert refused("--split", "v1").says("No split is called 'v1'")
    assert refused(*ANA, "--compare", "bm25,minilm").says("Stored: bm25, bow")
    for compared in ("bm25", "bm25,bm25", "bm25,bow,minilm"):
        assert refused(*ANA, "--compare", compared).says("Name two: --compare A,B")
    assert workbench("report", sample, "agreement", "--preset", "trec").says(
        "belongs to the report retrieval"
    )
    blind = tmp_path / "config.toml"
    blind.write_text("[screens]\nblind = true\n")
    assert refused(*ANA, "--config", blind).says("Blind review")


def test_a_bundle_holds_the_rankings(workbench, sample):
    assert workbench(*EVALUATE, sample, *BOTH, *ANA).code == 0
    assert workbench("export", sample, "whole", "--format", "bundle", "--pseudonyms").code == 0
    assert workbench("import", "other.duckdb", "whole").code == 0
    reports = [
        measured(workbench("report", path, "retrieval", "--rater", name, "--json").json())
        for path, name in ((sample, "sample-ana"), ("other.duckdb", "P1"))
    ]
    assert reports[0] == reports[1]


def test_a_merge_names_the_rankings_that_stay_in_the_copy(workbench, sample):
    assert workbench(*EVALUATE, sample, "--methods", "bm25", *ANA).code == 0
    assert workbench("copy", sample, "copy.duckdb").code == 0
    assert workbench("merge", sample, "copy.duckdb", "--json").json()["rankings_left"] == []
    assert workbench(*EVALUATE, "copy.duckdb", *BOTH, *ANA).code == 0
    assert workbench("merge", sample, "copy.duckdb", "--json").json()["rankings_left"] == ["bm25", "bow"]
    told = workbench("merge", sample, "copy.duckdb")
    assert "Left: the rankings of bm25, bow, made in the copy." in told.out
    assert "Nothing of what agents did in copy.duckdb is new" in told.out
    assert rows(sample, "SELECT method FROM retrieval") == [("bm25",)]
    # Ranked here later than there, nothing is left.
    assert workbench(*EVALUATE, sample, *BOTH, *ANA).code == 0
    assert workbench("merge", sample, "copy.duckdb", "--json").json()["rankings_left"] == []


def test_what_cannot_be_stored_is_measured_all_the_same(workbench, sample, monkeypatch):
    def locked(*_, **__):
        raise WorkspaceError("Workspace in use", "Another process holds it.", "Close it first.")

    monkeypatch.setattr("store.rankings.rankings.store_ranking", locked)
    done = workbench(*EVALUATE, sample, *BOTH, *ANA, "--json")
    assert done.code == 0
    assert "Rankings not stored" in done.err
    assert done.json()["stored"] is False
    assert rows(sample, "SELECT count(*) FROM retrieval") == [(0,)]


def test_rankings_are_deleted(workbench, sample, tmp_path):
    delete = (*EVALUATE, sample, "--delete", "--methods")
    assert workbench(*delete, "bm25").says("No method has ranked the codes")
    assert workbench(*EVALUATE, sample, *BOTH, *ANA).code == 0
    before = workbench("report", sample, "retrieval", *ANA, "--json").json()["methods"]["bow"]
    # All or none: one of the names is wrong.
    unknown = workbench(*delete, "bm25,bn25")
    assert unknown.code == 2
    assert unknown.says("Stored: bm25, bow")
    blind = tmp_path / "config.toml"
    blind.write_text("[screens]\nblind = true\n")
    assert workbench(*delete, "bm25", "--config", blind).says("Blind review")
    assert workbench(*delete[:2], tmp_path, "--delete", "--methods", "bm25").says("is a BEIR folder")
    for option, value in (("--add-unjudged", 5), ("--run-out", tmp_path / "out"), ("--by-query", "a.csv")):
        assert workbench(*delete, "bm25", option, value).says("--delete ranks nothing")
    assert rows(sample, "SELECT method FROM retrieval ORDER BY id") == [("bm25",), ("bow",)]
    done = workbench(*delete, "bm25")
    assert done.out == "Deleted the rankings of bm25; items and labels stay.\n"
    for table in ("retrieval_query", "retrieval_hit"):
        assert rows(sample, f"SELECT DISTINCT retrieval_id FROM {table}") == [(2,)]
    after = workbench("report", sample, "retrieval", *ANA, "--json").json()["methods"]["bow"]
    assert {**after, "left_out_of_pool": None} == {**before, "left_out_of_pool": None}
    # Made again it is as it was; the other one is still there.
    assert workbench(*EVALUATE, sample, "--methods", "bm25", *ANA).code == 0
    assert workbench("report", sample, "retrieval", *ANA, "--json").json()["methods"]["bow"] == before
    assert workbench(*delete, "bm25,bow", "--json").json()["deleted"] is True
    assert rows(sample, "SELECT count(*) FROM retrieval_hit") == [(0,)]


def test_a_full_disk(workbench, sample):
    assert workbench(*EVALUATE, sample, "--methods", "bm25", *ANA).code == 0
    stored = (
        "SELECT r.method, count(*) FROM retrieval r JOIN retrieval_hit h ON h.retrieval_id = r.id GROUP BY 1"
    )
    before = rows(sample, stored)
    with largest_file(5_000):
        done = workbench(*EVALUATE, sample, *BOTH, *ANA)
    assert done.code == 2
    assert done.says("Make room there, or set TMPDIR to another folder, then run it again.")
    assert rows(sample, stored) == before
    with Workspace.open(sample) as opened:
        with opened.reading() as connection:
            queries, codes = (
                connection.exec_driver_sql(f"SELECT text_hash FROM {table} ORDER BY id").scalars().all()
                for table in ("query", "code")
            )
        places = numpy.tile(numpy.arange(len(codes)), (len(queries), 1))
        given = {"depth": 100, "queries": queries, "codes": codes, "places": places, "scores": places / 7}
        for method in ("bm25", "bow"):
            with (
                largest_file(5_000),
                pytest.raises(WorkspaceError, match=f"That of {method} .* rank again"),
            ):
                store_ranking(opened, method, {}, **given)
    assert rows(sample, stored) == before
    assert workbench(*EVALUATE, sample, *BOTH, *ANA, "--json").json()["stored"] is True


def test_a_packet_stores_no_ranking(tmp_path, sample):
    with Workspace.open(sample) as opened:
        opened.lane.submit(
            lambda connection: connection.exec_driver_sql(
                "INSERT INTO workspace_fact VALUES ('packet', '{\"id\": "
                '"00000000-0000-0000-0000-000000000001", "study": "s", "rater": "r", "pseudonym": "P1"}\')'
            )
        ).result()
        none = numpy.zeros((0, 1))
        with pytest.raises(WorkspaceError) as refused:
            store_ranking(opened, "own", {}, depth=1, queries=[], codes=[], places=none, scores=none)
    assert "not in a packet" in refused.value.message


def test_a_folder_is_not_stored(workbench, sample):
    export = ("export", sample, "beir", "--format", "beir", *ANA, "--corpus", "all")
    assert workbench(*export).code == 0
    assert workbench(*EVALUATE, "beir", *BOTH, "--json").json()["stored"] is False
    assert rows(sample, "SELECT count(*) FROM retrieval") == [(0,)]


def test_a_ranking_of_another_workspace_is_not_stored(sample):
    score = numpy.zeros((1, 1))
    with Workspace.open(sample) as opened:
        for queries, codes in (([GONE], [GONE]), ([], [GONE])):
            places = numpy.zeros((len(queries), 1), dtype=int)
            given = {"queries": queries, "codes": codes, "places": places, "scores": score[: len(queries)]}
            with pytest.raises(WorkspaceError, match="replaced while texts were compared"):
                store_ranking(opened, "bm25", {}, depth=1, **given)
        with opened.reading() as connection:
            assert list_rankings(connection) == []
