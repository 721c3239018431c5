"""Measures of rankings: equal to pytrec_eval and ir-measures on anything, worked examples, differences."""

import ir_measures
import numpy
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test

from store.errors import UnknownName
from store.measures.intervals import Bootstrap
from store.measures.ranking import (
    PRESETS,
    JudgedPlaces,
    RankingScores,
    evaluate_run,
    measure_named,
    qrels_without,
    without_own_codes,
)
from store.measures.ranking_differences import ranking_differences

CODES = st.sampled_from([f"c{number}" for number in range(12)])
QUERIES = st.sampled_from(["q1", "q2", "q3", "q4"])
# Grades below 0 are in trec_eval's own files, which real_data/test_ranking.py reads: pytrec_eval never ends where
# a query has no other grade.
QRELS = st.dictionaries(QUERIES, st.dictionaries(CODES, st.integers(0, 3), min_size=1), min_size=1)
RUN = st.dictionaries(QUERIES, st.lists(CODES, unique=True, min_size=1), min_size=1)
OF_TREC = {
    "ndcg": "ndcg",
    "map": "map",
    "mrr": "recip_rank",
    **{f"ndcg@{k}": f"ndcg_cut_{k}" for k in (1, 3, 10, 20)},
    **{f"map@{k}": f"map_cut_{k}" for k in (1, 3, 10, 20)},
    **{f"recall@{k}": f"recall_{k}" for k in (1, 3, 10, 20)},
    **{f"precision@{k}": f"P_{k}" for k in (1, 3, 10, 20)},
    **{f"success@{k}": f"success_{k}" for k in (1, 3, 10, 20)},
}
ASKED = {"ndcg", "map", "recip_rank"} | {
    f"{name}.1,3,10,20" for name in ("ndcg_cut", "map_cut", "recall", "P", "success")
}


def scored(run):
    return {query: {code: float(-rank) for rank, code in enumerate(codes)} for query, codes in run.items()}


@settings(max_examples=300, deadline=None)
@given(QRELS, RUN, st.integers(1, 3))
def test_equal_to_pytrec_eval(qrels, run, level):
    theirs = pytrec_eval.RelevanceEvaluator(qrels, ASKED, relevance_level=level).evaluate(scored(run))
    ours = evaluate_run(qrels, run, list(OF_TREC), level=level)
    assert set(ours.queries) == set(theirs)
    for name, key in OF_TREC.items():
        expected = [theirs[query][key] for query in ours.queries]
        numpy.testing.assert_allclose(ours.values[name], expected, rtol=0, atol=1e-12, err_msg=name)
    # The condensed list is the run without what nobody judged.
    kept = {query: [code for code in run[query] if code in qrels[query]] for query in ours.queries}
    plain = evaluate_run(qrels, kept, ["ndcg@10", "map", "mmrr@3"], level=level)
    condensed = ["ndcg_condensed@10", "map_condensed", "mmrr_condensed@3"]
    found = evaluate_run(qrels, run, condensed, level=level)
    for name, expected in zip(condensed, plain.values.values(), strict=True):
        numpy.testing.assert_allclose(found.values[name], expected, rtol=0, atol=1e-12, err_msg=name)


@settings(max_examples=100, deadline=None)
@given(QRELS, RUN, st.sampled_from(list(PRESETS.values())), st.sampled_from(["c0", "c7"]))
def test_the_places_of_judged_codes_are_enough(qrels, run, preset, own):
    # One of the queries has the id of a code.
    qrels, run = ({own if query == "q1" else query: of for query, of in one.items()} for one in (qrels, run))
    places = {}
    for query, codes in run.items():
        kept = [code for code in codes if code == query or code in qrels.get(query, ())]
        places[query] = JudgedPlaces(len(codes), kept, [codes.index(code) for code in kept])
    whole, enough = (preset.scores(qrels, one, complete=True) for one in (run, places))
    assert (whole.queries, whole.relevant, whole.not_ranked) == (
        enough.queries,
        enough.relevant,
        enough.not_ranked,
    )
    for name, values in whole.values.items():
        assert values.tolist() == enough.values[name].tolist(), name


@settings(max_examples=100, deadline=None)
@given(QRELS, RUN)
def test_equal_to_ir_measures(qrels, run):
    ours = evaluate_run(qrels, run, ["judged@3", "mrr@3", "judged@20"])
    for name, measure in {
        "judged@3": ir_measures.Judged @ 3,
        "judged@20": ir_measures.Judged @ 20,
        "mrr@3": ir_measures.RR @ 3,
    }.items():
        theirs = {each.query_id: each.value for each in ir_measures.iter_calc([measure], qrels, scored(run))}
        for query, value in zip(ours.queries, ours.values[name], strict=True):
            assert value == pytest.approx(theirs[query]), name


def test_by_hand():
    qrels = {"q": {"a": 3, "b": 1, "c": 0, "d": 2}}
    run = {"q": ["x", "a", "c", "y", "b"]}
    values = evaluate_run(
        qrels,
        run,
        [
            "ndcg_exp@3",
            "map@5",
            "map_min@2",
            "mmrr",
            "mmrr@2",
            "judged@2",
            "judged",
            "precision",
            "ndcg_condensed",
        ],
    ).means()
    log2 = numpy.log2
    assert values == pytest.approx(
        {
            "ndcg_exp@3": (7 / log2(3)) / (7 + 3 / log2(3) + 1 / 2),
            # Over the three relevant codes, and over the two that could be among the first two.
            "map@5": (1 / 2 + 2 / 5) / 3,
            "map_min@2": (1 / 2) / 2,
            # Ranks 2 and 5, the second of them less the one before it; the third is not found.
            "mmrr": (1 / 2 + 1 / 4) / 3,
            "mmrr@2": (1 / 2) / 3,
            "judged@2": 1 / 2,
            "judged": 3 / 5,
            "precision": 2 / 5,
            "ndcg_condensed": (3 + 1 / log2(4)) / (3 + 2 / log2(3) + 1 / 2),
        }
    )


def test_what_becomes_of_queries_without_judgments_results_or_relevant_codes():
    qrels = {"both": {"a": 1}, "lost": {"a": 1}, "zero": {"a": 0, "b": -1}, "empty": {"a": 1}, "none": {}}
    run = {"both": ["a"], "zero": ["a"], "empty": [], "unknown": ["a"], "none": ["a"]}
    found = evaluate_run(qrels, run, ["ndcg@10", "map", "precision@1"])
    assert found.queries == ("both", "zero", "empty")
    assert (found.not_ranked, found.not_judged, found.zero_ideal, found.relevant) == (1, 2, 1, 2)
    assert found.means() == pytest.approx({"ndcg@10": 1 / 3, "map": 1 / 3, "precision@1": 1 / 3})
    assert found.means(["both"])["map"] == 1
    found = evaluate_run(qrels, run, ["map"], complete=True, zero_ideal="leave out")
    assert found.queries == ("both", "lost", "empty")
    assert found.means() == pytest.approx({"map": 1 / 3})
    nothing = evaluate_run({"q": {"a": 1}}, {"p": ["a"]}, ["map"])
    assert (nothing.queries, nothing.means()) == ((), {})


def test_names_of_measures():
    for preset in PRESETS.values():
        for name in preset.measures:
            measure_named(name)
    for wrong in ("ndcg@0", "ndcg@", "nDCG@10", "hits@3", "", "ndcg@10_condensed", "map@-1", "mrr@2000000"):
        with pytest.raises(UnknownName, match="no measure"):
            measure_named(wrong)
    assert without_own_codes({"q": ["a", "q", "b"]}) == {"q": ["a", "b"]}


def test_a_method_left_out_of_the_pool():
    qrels = {"q": {"a": 1, "b": 1, "c": 0}}
    runs = {"one": {"q": ["a", "b", "x"]}, "two": {"q": ["b", "c"]}, "three": {}}
    assert qrels_without(qrels, runs, "one", 2) == {"q": {"b": 1, "c": 0}}
    assert qrels_without(qrels, runs, "two", 1) == {"q": {"a": 1, "c": 0}}
    assert qrels_without(qrels, runs, "two", 2) == {"q": {"a": 1, "b": 1}}


def made(values):
    queries = tuple(f"q{number}" for number in range(len(values)))
    return RankingScores(queries, {"map": numpy.asarray(values, dtype=float)}, 0, 0, 0, 0)


def test_the_test_of_differences_is_that_of_scipy():
    random = numpy.random.default_rng(3)
    one, other = random.random(12), random.random(12)
    (found,) = ranking_differences({"a": made(one), "b": made(other)}, ["map"], Bootstrap(2000, 1))
    expected = permutation_test(
        (one, other), lambda x, y: (x - y).mean(), permutation_type="samples", n_resamples=numpy.inf
    )
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.difference == pytest.approx((one - other).mean())
    assert found.low < found.difference < found.high
    width = 2 * 1.96 * (one - other).std() / 12**0.5
    assert found.high - found.low == pytest.approx(width, rel=0.1)
    one, other = random.random(300), random.random(300)
    (found,) = ranking_differences({"a": made(one), "b": made(other)}, ["map"], Bootstrap(0, 1))
    expected = permutation_test(
        (one, other),
        lambda x, y, axis: (x - y).mean(axis),
        permutation_type="samples",
        rng=1,
        vectorized=True,
    )
    assert found.p_value == pytest.approx(expected.pvalue, abs=0.03)
    assert found.low is found.high is None


def test_differences_are_adjusted_as_one_family_and_over_shared_queries():
    random = numpy.random.default_rng(5)
    runs = {name: made(random.random(10 + place) + 0.3 * place) for place, name in enumerate("abc")}
    found = ranking_differences(runs, ["map"], Bootstrap(100))
    assert [(each.first, each.second, each.queries) for each in found] == [
        ("a", "b", 10),
        ("a", "c", 10),
        ("b", "c", 11),
    ]
    ordered = sorted(found, key=lambda each: each.p_value)
    expected, most = [], 0.0
    for place, each in enumerate(ordered):
        most = max(most, min(1.0, (3 - place) * each.p_value))
        expected.append(most)
    assert [each.adjusted for each in ordered] == pytest.approx(expected)
