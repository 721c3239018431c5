"""Measures of rankings on real data, equal to trec_eval's published output, to pytrec_eval and to ranx."""

import json
import re
from itertools import combinations
from pathlib import Path

import numpy
import pytest
import pytrec_eval
from oracles.csn99 import fixed_run, graded_rows

from store.formats.trec import read_qrels, read_run, write_run
from store.measures.ranking import PRESETS, evaluate_run

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "csn99_ranx.json").read_text(encoding="utf-8"))
NAMES = {
    "map": "map",
    "recip_rank": "mrr",
    "P": "precision",
    "recall": "recall",
    "ndcg_cut": "ndcg",
    "map_cut": "map",
    "success": "success",
}


@pytest.mark.parametrize(
    ("output", "qrels", "run", "choices", "values"),
    [
        ("out.test.a", "qrels.test.gz", "results.test.gz", {}, 41),
        ("out.test.a", "qrels.test.with-comments.gz", "results.test.gz", {}, 41),
        ("out.test.aqc", "qrels.test.gz", "results.trunc.gz", {"complete": True}, 4 * 41),
        ("out.test.aql", "qrels.rel_level.gz", "results.test.gz", {"level": 2}, 4 * 41),
    ],
)
def test_equal_to_trec_eval(shared_data, output, qrels, run, choices, values):
    folder = shared_data("trec-eval")
    scores = evaluate_run(
        read_qrels(folder / qrels), read_run(folder / run), PRESETS["trec"].measures, **choices
    )
    compared = 0
    for line in (folder / output).read_text().splitlines():
        name, topic, value = (part.strip() for part in line.split("\t"))
        found = re.fullmatch(r"(.+?)(?:_(\d+))?", name)
        if found[1] not in NAMES or (found[1] in ("map", "recip_rank")) != (found[2] is None):
            continue
        ours = NAMES[found[1]] + (f"@{found[2]}" if found[2] else "")
        each = scores.values[ours]
        exact = each.mean() if topic == "all" else each[scores.queries.index(topic)]
        assert f"{exact:.4f}" == value, (name, topic)
        compared += 1
    assert compared == values


@pytest.mark.full
@pytest.mark.parametrize(
    ("least", "most", "asking"),
    [({"bm25": 0.46, "bow": 0.25}, 3213, 500), ({"bm25": 0.46, "bow": 0.25, "minilm": 0.6}, 800, 187)],
)
def test_methods_on_the_codes_of_cosqa(shared_data, tmp_path, workbench, monkeypatch, least, most, asking):
    # Nothing of an earlier run's vectors. To encode a code takes longer than all else: not all are encoded.
    monkeypatch.setenv("WORKBENCH_RETRIEVAL__VECTORS", str(tmp_path / "vectors"))
    data = shared_data("cosqa-retrieval")
    codes = json.loads((data / "code_idx_map.part.json").read_text())
    queries = json.loads((data / "queries.json").read_text())
    codes = dict(list(codes.items())[:most])
    known = {f"code-{number}" for number in codes.values()}
    qrels = {
        query: kept
        for query, of in read_qrels(data / "qrels.txt").items()
        if (kept := {code: grade for code, grade in of.items() if code in known})
    }
    folder = tmp_path / "cosqa"
    (folder / "qrels").mkdir(parents=True)
    for name, records in {
        "corpus": [{"_id": f"code-{number}", "text": code} for code, number in codes.items()],
        "queries": [{"_id": query["idx"], "text": query["doc"]} for query in queries],
    }.items():
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text(lines)
    (folder / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\n"
        + "".join(f"{query}\t{code}\t1\n" for query, codes in qrels.items() for code in codes)
    )
    measures = "ndcg@10,mrr,map,recall@10,recall@100"
    found = workbench(
        *("evaluate", "retrieval", str(folder), "--methods", ",".join(least), "--measures", measures),
        *("--run-out", str(tmp_path / "runs"), "--json"),
    ).json()
    assert found["codes"] == most
    asked = {"ndcg_cut.10", "recip_rank", "map", "recall.10,100"}
    for method, at_least in least.items():
        ours = found["methods"][method]
        assert ours["queries"] == asking
        # Read by another program from the run that was written.
        run: dict[str, dict[str, float]] = {}
        for line in (tmp_path / "runs" / f"{method}.run").read_text().splitlines():
            query, _, code, _, score, _ = line.split()
            run.setdefault(query, {})[code] = float(score)
        whole = {query: {code: int(grade) for code, grade in of.items()} for query, of in qrels.items()}
        theirs = pytrec_eval.RelevanceEvaluator(whole, asked).evaluate(run)
        for name, key in {
            "ndcg@10": "ndcg_cut_10",
            "mrr": "recip_rank",
            "map": "map",
            "recall@10": "recall_10",
            "recall@100": "recall_100",
        }.items():
            # A query whose words no code has is in no run, and counts as 0.
            assert ours[name] == pytest.approx(
                sum(each[key] for each in theirs.values()) / asking, abs=1e-9
            ), name
        assert ours["ndcg@10"] > at_least
    differences = {(each["first"], each["second"]): each for each in found["differences"]}
    assert differences.keys() == set(combinations(least, 2))
    clear = differences["bm25", "bow"]
    assert clear["p_value"] < 0.001 < clear["low"] < clear["difference"] < clear["high"]


def test_exponential_gain_of_averaged_grades_is_that_of_ranx(shared_data, tmp_path, workbench):
    rows = graded_rows(shared_data("csn99"))
    (tmp_path / "qrels").write_text("".join(f"{topic} 0 {code} {grade}\n" for topic, code, grade in rows))
    run = fixed_run(rows)
    write_run(tmp_path / "run", run, "fixed")
    for repeated, expected in (("mean", ORACLE["mean"]), ("max", ORACLE["max"])):
        scores = evaluate_run(
            read_qrels(tmp_path / "qrels", repeated), run, list(expected), zero_ideal="leave out"
        )
        assert (len(scores.queries), scores.zero_ideal) == (ORACLE["topics"], 237 - ORACLE["topics"])
        for name, values in expected.items():
            ours = scores.values[name] if isinstance(values, list) else scores.means()[name]
            numpy.testing.assert_allclose(ours, values, rtol=0, atol=1e-12)
    files = ["measure", "ranking", str(tmp_path / "qrels"), str(tmp_path / "run"), "--json"]
    found = workbench(*files, "--repeated", "mean", "--preset", "csn").json()
    assert found["ndcg_exp"] == pytest.approx(numpy.mean(ORACLE["mean"]["ndcg_exp"]))
    assert (found["queries"], found["zero_ideal"]) == (214, 23)
    # Pairs that an expert graded 3, in Python.
    python = "".join(
        f"{topic} 0 {code} {grade}\n" for topic, code, grade in rows if topic.startswith("python-")
    )
    (tmp_path / "qrels").write_text(python)
    found = workbench(*files, "--repeated", "max", "--level", "3", "--measures", "recall").json()
    assert found["relevant"] == 158
    highest = read_qrels(tmp_path / "qrels", "max")
    assert sum(max(grades.values()) == 3 for grades in highest.values()) == 40
