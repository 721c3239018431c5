"""workbench evaluate retrieval, of a workspace and of a BEIR folder; workbench measure ranking of files."""

import csv
import json

import pytest
import tiny_models
from made_once import built_once

PAIRS = [
    ("open a file", "def open_file(path): return open(path)", 1),
    ("open a file", "def close_file(file): file.close()", 0),
    ("sort a list", "def sort_list(items): return sorted(items)", 1),
    ("sort a list", "def reverse_list(items): return items[::-1]", 0),
    ("http server", "class Server: port = 80", 1),
    ("http server", "def http_get(url): return get(url)", 1),
    ("convert string", "def to_int(text): return int(text)", 0),
    ("convert string", "def to_text(number): return str(number)", 0),
]


@built_once
def labelled(workbench, in_folder):
    """A workspace with pairs that dana labelled, and a code that no pair has."""
    with (in_folder / "pairs.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [(number, *pair) for number, pair in enumerate(PAIRS)]
        csv.writer(file).writerows([("id", "query", "code", "label"), *rows])
    (in_folder / "corpus").mkdir()
    (in_folder / "corpus" / "more.py").write_text("def server_of(http):\n    return http.server\n")
    assert workbench("import", "ws.duckdb", "pairs.csv", "--label-as", "dana").code == 0
    assert workbench("import", "ws.duckdb", "corpus").code == 0
    return in_folder / "ws.duckdb"


def test_a_workspace_is_the_benchmark_that_its_export_is(workbench, labelled):
    evaluated = workbench(
        "evaluate", "retrieval", labelled, "--methods", "bm25,bow", "--rater", "dana", "--json"
    )
    found = evaluated.json()
    assert found["codes"] == 9
    bm25 = found["methods"]["bm25"]
    assert (bm25["queries"], bm25["relevant"], bm25["zero_ideal"]) == (3, 4, 1)
    # The code of the corpus is before those of the pairs.
    assert 0 < bm25["ndcg@10"] < 1 > bm25["judged@10"]
    assert bm25["ndcg_condensed@10"] > bm25["ndcg@10"]
    assert found["methods"].keys() == {"bm25", "bow"}
    assert [each["measure"] for each in found["differences"]] == ["ndcg@10"]
    assert (
        workbench("export", labelled, "beir", "--format", "beir", "--rater", "dana", "--corpus", "all").code
        == 0
    )
    folder = workbench("evaluate", "retrieval", "beir", "--methods", "bm25,bow", "--json").json()
    assert folder["codes"] == 9
    # People alone are asked by a policy, not whoever labelled the file.
    for item, value in (("0", "1"), ("2", "0")):
        assert workbench("judge", labelled, item, value, "--rater", "eve").code == 0
    by_policy = workbench(
        *("evaluate", "retrieval", labelled, "--methods", "bm25", "--policy", "majority", "--json")
    ).json()["methods"]["bm25"]
    assert (by_policy["queries"], by_policy["relevant"], by_policy["zero_ideal"]) == (1, 1, 1)
    standard = workbench(
        *("evaluate", "retrieval", labelled, "--methods", "bm25", "--rater", "dana", "--preset", "standard"),
        *("--by-query", "values.csv"),
    )
    assert standard.code == 0
    assert "count as 0" in standard.out
    with open("values.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4
    assert {row["run"] for row in rows} == {"bm25"}


def test_a_part_of_a_split(workbench, labelled):
    made = workbench("split", labelled, "v1", "--ratios", "train=1,test=1", "--rater", "dana")
    assert made.code == 0
    found = [
        workbench(
            *("evaluate", "retrieval", labelled, "--methods", "bm25", "--split", "v1", "--part", part),
            *("--preset", "standard", "--json"),
        ).json()
        for part in ("train", "test")
    ]
    assert [each["part"] for each in found] == ["train", "test"]
    assert [each["methods"]["bm25"]["queries"] for each in found] == [2, 2]
    assert {each["codes"] for each in found} == {9}


def test_runs_that_are_written_are_measured_the_same(workbench, labelled):
    arguments = ("evaluate", "retrieval", labelled, "--methods", "bm25,bow", "--rater", "dana")
    found = workbench(*arguments, "--run-out", "out", "--json").json()
    runs = ("out/bm25.run", "out/bow.run")
    measured = workbench(
        "measure", "ranking", "out/qrels.txt", *runs, "--complete", "--preset", "cosqa-plus", "--json"
    ).json()
    for name in ("bm25", "bow"):
        plain = {key: value for key, value in found["methods"][name].items() if key != "left_out_of_pool"}
        # Of one query no code has a word, so that it is in no file.
        assert measured["runs"][f"{name}.run"] == pytest.approx({**plain, "not_ranked": 1})
    again = workbench(*arguments, "--run-out", "out")
    assert again.code == 2
    assert again.says("out holds files")


def test_models_and_their_ensembles_are_methods(workbench, labelled, tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_RETRIEVAL__VECTORS", str(tmp_path / "vectors"))
    one, other = (tiny_models.bert(tmp_path / name, seed=seed) for seed, name in enumerate(("one", "other")))
    arguments = ("evaluate", "retrieval", labelled, "--rater", "dana", "--json", "--methods")
    mixed = f"{one}+bm25,bow+{other},bow+bm25"
    found = workbench(*arguments, f"bm25,{one},{other},{one}+{other},{mixed}").json()["methods"]
    assert found.keys() == {"bm25", "one", "other", "one+other", "one+bm25", "bow+other", "bow+bm25"}
    # A model ranks all nine codes, so every relevant one is found.
    assert [found[name]["recall@10"] for name in ("one", "other", "one+other")] == [1, 1, 1]
    alone = workbench(*arguments, one).json()["methods"]["one"]
    assert alone["ndcg@10"] == found["one"]["ndcg@10"]


def test_two_methods_of_one_name(workbench, labelled, tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_RETRIEVAL__VECTORS", str(tmp_path / "vectors"))
    model = tiny_models.bert(tmp_path / "one")
    done = workbench(
        *("evaluate", "retrieval", labelled, "--methods", f"mean={model},cls={model}", "--rater", "dana")
    )
    assert done.code == 2
    assert "Two of the methods are called one." in done.err
    assert workbench("report", labelled, "retrieval", "--rater", "dana").code == 2  # nothing is stored


def test_another_model_of_the_same_name_is_told(workbench, labelled, tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_RETRIEVAL__VECTORS", str(tmp_path / "vectors"))
    first, second = (
        tiny_models.bert(tmp_path / folder / "one", seed=seed) for seed, folder in enumerate("ab")
    )
    arguments = ("evaluate", "retrieval", labelled, "--rater", "dana", "--methods")
    told = "The stored ranking of one was of another model of that name"
    assert told not in workbench(*arguments, first).err
    assert told not in workbench(*arguments, first).err
    assert told in workbench(*arguments, second).err


def test_what_cannot_be_evaluated(workbench, labelled, tmp_path):
    def refused(*arguments):
        done = workbench("evaluate", "retrieval", *arguments)
        assert done.code == 2, done.out
        return done

    assert refused(labelled, "--methods", "bm25").says(
        "Give one: --rater NAME, --policy majority or --split NAME"
    )
    assert refused(labelled, "--methods", "bm25,magic=folder", "--rater", "dana").says("Methods: bm25, bow")
    assert refused(labelled, "--methods", ",", "--rater", "dana").says("No method is named")
    done = refused(labelled, "--methods", "bm25", "--rater", "dana", "--measures", "ndcg@10", "--test", "map")
    assert done.says("--measures map")
    blind = tmp_path / "config.toml"
    blind.write_text("[screens]\nblind = true\n")
    assert refused(labelled, "--methods", "bm25", "--rater", "dana", "--config", blind).says("Blind review")

    folder = tmp_path / "benchmark"
    assert refused(folder / "nothing.duckdb", "--methods", "bm25", "--rater", "dana")
    (folder / "qrels").mkdir(parents=True)
    assert refused(folder, "--methods", "bm25").says("has no qrels/test.tsv")
    (folder / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t1\n")
    assert refused(folder, "--methods", "bm25", "--rater", "dana").says("has its own labels")
    assert refused(folder, "--methods", "bm25", "--part", "test").says("Parts: dev")
    assert refused(folder, "--methods", "bm25").says("queries.jsonl: No such file")
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "open"}\n')
    for corpus, why in {
        "": "corpus.jsonl holds no texts",
        '{"_id": "b", "text": ""}\n': "judges the code 'a', which corpus.jsonl does not have",
        '{"_id": "a", "text": "x"}\n{"_id": "a", "text": "y"}\n': "corpus.jsonl:2: the id 'a' is there already",
        '{"_id": "a", "text": 3}\n': "corpus.jsonl:1: the line is no object with the texts _id and text",
        '{"_id": "a"': "corpus.jsonl:1: the line is no JSON object",
    }.items():
        (folder / "corpus.jsonl").write_text(corpus)
        assert refused(folder, "--methods", "bm25").says(why)
    (folder / "corpus.jsonl").write_text('{"_id": "a", "title": "open", "text": "x"}\n')
    # The title is searched, too.
    found = workbench("evaluate", "retrieval", folder, "--methods", "bm25", "--json").json()
    assert found["methods"]["bm25"]["mrr@10"] == 1
    (folder / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t0\n")
    assert refused(folder, "--methods", "bm25").says("has a code with a grade above 0")


def test_ids_of_a_folder_are_taken_as_they_are(workbench, in_folder):
    folder = in_folder / "benchmark"
    (folder / "qrels").mkdir(parents=True)
    codes = {"a\u00a0b": "open the drawer", "#c": "shut"}
    (folder / "corpus.jsonl").write_text(
        "".join(f"{json.dumps({'_id': k, 'text': codes[k]})}\n" for k in codes)
    )
    (folder / "queries.jsonl").write_text(
        '{"_id": "q\u00a01", "text": "open"}\n{"_id": "2", "text": "shut"}\n'
    )
    lines = ["query-id\tcorpus-id\tscore", "q\u00a01\ta\u00a0b\t1", "2\t#c\t1"]
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines))
    command = ("evaluate", "retrieval", "benchmark", "--methods", "bm25", "--json")
    found = workbench(*command, "--run-out", "out").json()["methods"]["bm25"]
    assert (found["mrr@10"], found["queries"]) == (1, 2)
    found = workbench("measure", "ranking", "out/qrels.txt", "out/bm25.run", "--json").json()
    assert (found["mrr"], found["queries"]) == (1, 2)
    # A blank of ASCII, and a query that would be a comment, are in the way of TREC's files alone.
    for ours, theirs in (("#c", "c d"), ("2", "#2")):
        for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"):
            path = folder / name
            path.write_text(
                path.read_text().replace(f'"{ours}"', f'"{theirs}"').replace(f"{ours}\t", f"{theirs}\t")
            )
        assert workbench(*command).json()["methods"]["bm25"]["mrr@10"] == 1
        refused = workbench(*command, "--run-out", "other")
        assert refused.code == 2
        assert f"such as {theirs!r}, cannot be in TREC's files" in refused.json()["error"]["message"]
        assert not (in_folder / "other").exists()


def test_runs_and_qrels_that_share_nothing(workbench, in_folder):
    (in_folder / "qrels").write_text("q 0 a 1\nlost 0 a 1\nzero 0 a 0\n")
    (in_folder / "run").write_text("p Q0 a 1 1 x\n")
    done = workbench("measure", "ranking", "qrels", "run", "--json")
    assert done.code == 2
    assert done.json()["error"]["title"] == "No query to measure"
    (in_folder / "run").write_text("p Q0 a 1 1 x\nq Q0 a 1 1 x\nzero Q0 a 1 1 x\n")
    found = workbench("measure", "ranking", "qrels", "run", "--json").json()
    assert (found["queries"], found["not_ranked"], found["not_judged"], found["zero_ideal"]) == (2, 1, 1, 1)
    assert found["ndcg@10"] == found["mrr"] == 1 / 2
    assert {"map", "recall@100", "precision@10", "map_min@10", "ndcg_exp@10", "mmrr"} < found.keys()
    assert found["differences"] == []
    shown = workbench(
        "measure", "ranking", "qrels", "run", "--complete", "--measures", "mrr", "--preset", "csn"
    )
    assert json.dumps(shown.out).count("left out") == 2
    assert "judged, but not ranked" in shown.out
    assert "0.5000" in shown.out
