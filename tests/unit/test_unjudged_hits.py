"""Codes that methods find and nobody judged: added as pairs, labelled by the agents, and measured again."""

import csv
import hashlib
import json
import shlex

import pytest
from sqlalchemy import select

from store.tables.columns import table_of
from store.tables.imported import Code, Item, Pair, Query, Similarity
from store.workspace.duckdb import Workspace

PAIRS = [
    ("open a file", "def open_file(path): return open(path)", 1),
    ("open a file", "def close_file(file): file.close()", 0),
    ("sort a list", "def sort_list(items): return sorted(items)", 1),
    ("sort a list", "def reverse_list(items): return items[::-1]", 0),
]
MORE = [
    f"def file_{number}(a):\n    # open the list of a file, sort {'file ' * (number % 3)}\n    return {number}\n"
    for number in range(30)
]
METHODS = ("--methods", "bm25,bow", "--measures", "judged@10,ndcg@10")


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture
def judged(workbench, in_folder):
    """A workspace with pairs that dana labelled, one that nobody did, and thirty codes that no pair has."""
    with (in_folder / "pairs.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [(number, *pair) for number, pair in enumerate(PAIRS)]
        csv.writer(file).writerows([("id", "query", "code", "label"), *rows])
    write(
        in_folder / "bare.jsonl",
        [{"id": "bare", "query": "open a file", "code": "def open_a_file(): pass\n"}],
    )
    (in_folder / "codes").mkdir()
    for number, text in enumerate(MORE):
        (in_folder / "codes" / f"more_{number}.py").write_text(text)
    assert workbench("import", "ws.duckdb", "pairs.csv", "--label-as", "dana").code == 0
    assert workbench("import", "ws.duckdb", "bare.jsonl").code == 0
    assert workbench("import", "ws.duckdb", "codes").code == 0
    return in_folder / "ws.duckdb"


def stored(path):
    """The pairs by query and code, with rank, source and similarities."""
    pair, item, query, code, similarity = map(table_of, (Pair, Item, Query, Code, Similarity))
    found = {}
    with Workspace.open(path) as workspace, workspace.reading() as connection:
        scores = {}
        for one in connection.execute(select(similarity)):
            scores.setdefault(one.item_id, {})[one.model] = one.value
        rows = select(
            pair.c.item_id,
            pair.c.rank,
            item.c.source_id,
            item.c.external_id,
            query.c.text.label("query"),
            code.c.text.label("code"),
        ).select_from(
            pair.join(item, item.c.id == pair.c.item_id)
            .join(query, query.c.id == pair.c.query_id)
            .join(code, code.c.id == pair.c.code_id)
        )
        for row in connection.execute(rows):
            found[row.query, row.code] = (row, scores.get(row.item_id, {}))
    return found


def texts(path, table):
    """The MD5 of the texts of a table, by text."""
    with Workspace.open(path) as workspace, workspace.reading() as connection:
        return {one.text: one.text_hash for one in connection.execute(select(table_of(table)))}


def test_hits_that_nobody_judged_become_pairs_with_their_best_rank_and_scores(workbench, judged, tmp_path):
    evaluate = ("evaluate", "retrieval", judged, *METHODS, "--rater", "dana")
    before = stored(judged)
    found = workbench(*evaluate, "--run-out", tmp_path / "runs", "--add-unjudged", 10, "--json").json()
    unjudged = found["unjudged"]
    runs = {name: {} for name in ("bm25", "bow")}
    for name, ranks in runs.items():
        for line in (tmp_path / "runs" / f"{name}.run").read_text().splitlines():
            query, _, code, rank, *_ = line.split()
            ranks[query, code] = int(rank)
    labels = {tuple(line.split()[::2]) for line in (tmp_path / "runs" / "qrels.txt").read_text().splitlines()}
    wanted = {pair for ranks in runs.values() for pair, rank in ranks.items() if rank <= 10} - labels
    assert (unjudged["depth"], unjudged["pairs"]) == (10, len(wanted))
    assert (unjudged["added"], unjudged["known"]) == (len(wanted) - 1, 1)
    assert unjudged["source"] == "unjudged in the first 10 of bm25, bow"
    after = stored(judged)
    assert {pair: after[pair] for pair in before} == before
    new = after.keys() - before.keys()
    assert len(new) == unjudged["added"] == unjudged["of_source"]
    by_texts = texts(judged, Query) | texts(judged, Code)
    only_one = 0
    for query, code in new:
        row, scores = after[query, code]
        key = by_texts[query], by_texts[code]
        assert key in wanted
        assert row.rank == min(ranks[key] for ranks in runs.values() if key in ranks)
        assert scores.keys() == {name for name, ranks in runs.items() if key in ranks}
        only_one += (
            min(runs[name].get(key, 99) for name in runs)
            <= 10
            < max(runs[name].get(key, 99) for name in runs)
        )
    # Some are among the first of one method alone.
    assert only_one
    again = workbench(*evaluate, "--add-unjudged", 10, "--json").json()["unjudged"]
    assert (again["pairs"], again["added"], again["known"]) == (len(wanted), 0, len(wanted))
    assert again["of_source"] == len(new)
    assert stored(judged) == after


def test_agents_label_exactly_what_was_added_and_then_the_first_ten_are_judged(workbench, judged, in_folder):
    queries, codes = texts(judged, Query).values(), texts(judged, Code).values()
    hashes = [hashlib.md5((query + code).encode()).hexdigest() for query in queries for code in codes]
    added = [f"candidate-{each[:16]}" for each in hashes]
    clear = {"assessment": "clear_match", "justification": "as written"}
    names = dict.fromkeys(["0", "1", "2", "3", "bare", *added])
    replies = write(
        in_folder / "replies.jsonl",
        [{"role": "screener", "subject": name, "reply": clear} for name in names],
    )
    annotate = ("annotate", judged, "--model", f"scripted:{replies}", "--json")
    done = workbench(*annotate).json()
    assert done["job"]["done"] == 5
    evaluate = ("evaluate", "retrieval", judged, *METHODS, "--rater", done["run"])
    shown = workbench(*evaluate, "--add-unjudged", 10)
    assert shown.code == 0
    (line,) = [line for line in shown.out.splitlines() if line.startswith("The agents label")]
    program, *command = shlex.split(line.partition(": ")[2])
    assert program == "workbench"
    # Pairs that came in otherwise, and are to wait.
    write(in_folder / "others.jsonl", [{"id": f"o{n}", "query": "http", "code": str(n)} for n in range(3)])
    assert workbench("import", judged, "others.jsonl").code == 0
    new = sum(row.external_id in added for row, _ in stored(judged).values())
    model = ("--model", f"scripted:{replies}", "--json")
    assert workbench(*command, *model, "--estimate").json()["pairs"] == new > 0
    assert workbench(*evaluate, "--json").json()["methods"]["bm25"]["judged@10"] < 1
    done = workbench(*command, *model).json()
    assert (done["state"], done["job"]["done"], done["labelled"]) == ("done", new, new + 5)
    assert done["asked"]["source"] == "unjudged in the first 10 of bm25, bow"
    found = workbench(*evaluate, "--add-unjudged", 10, "--json").json()
    assert [found["methods"][name]["judged@10"] for name in ("bm25", "bow")] == [1, 1]
    assert (found["unjudged"]["pairs"], found["unjudged"]["added"]) == (0, 0)
    # People's labels are others: what agents labelled is not judged by dana, until a split puts both together.
    of_dana = ("evaluate", "retrieval", judged, *METHODS, "--rater", "dana", "--json")
    assert workbench(*of_dana).json()["methods"]["bm25"]["judged@10"] < 1
    whose = ("--policy", "majority", "--panel", f"dana,{done['name']}")
    assert workbench("split", judged, "both", "--ratios", "dev=1,test=1", *whose).code == 0
    of_both = ("evaluate", "retrieval", judged, *METHODS, "--split", "both", "--run-out", "both", "--json")
    both = workbench(*of_both).json()["methods"]["bm25"]
    assert (both["queries"], both["judged@10"]) == (1, 1)
    lines = (in_folder / "both" / "qrels.txt").read_text().splitlines()
    of_query = [pair for pair in stored(judged) if texts(judged, Query)[pair[0]] == lines[0].split()[0]]
    # Where dana said no and the agents yes, there is no majority.
    assert len(lines) == len(of_query) - 1


def test_what_cannot_be_added_or_named(workbench, judged, in_folder):
    before = stored(judged)
    folder = in_folder / "beir"
    assert workbench("export", judged, folder, "--format", "beir", "--rater", "dana").code == 0
    refused = workbench("evaluate", "retrieval", folder, *METHODS, "--add-unjudged", 10)
    assert (refused.code, refused.says("--add-unjudged adds items to a workspace")) == (2, True)
    config = in_folder / "blind.toml"
    config.write_text("[screens]\nblind = true\n")
    blind = ("evaluate", "retrieval", judged, *METHODS, "--rater", "dana", "--add-unjudged", 10)
    assert workbench(*blind, "--config", config).code == 2
    assert stored(judged) == before
    annotate = ("annotate", judged, "--model", "scripted:none.jsonl")
    unknown = workbench(*annotate, "--source", "nothing")
    assert (unknown.code, unknown.says("Sources: pairs.csv; bare.jsonl")) == (2, True)
    other = workbench(*annotate, "--source", "pairs.csv", "--kind", "comparison")
    assert (other.code, other.says("pairs.csv holds 4 pairs")) == (2, True)
    both = workbench(*annotate, "--source", "pairs.csv", "--items", "pairs.csv")
    assert (both.code, both.says("Two choices of items")) == (2, True)
