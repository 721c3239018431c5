"""Exact search: the codes that a search in float64 finds, with ties, duplicates and near-ties."""

import numpy
import pytest

from agents.retrieval import mixed, search
from agents.retrieval.candidates import overlap
from agents.retrieval.lexical import bag_of_words, bm25
from agents.retrieval.mixed import ByVectors, ByWords, Mixture
from agents.retrieval.search import HeldVectors, exact_top, held, z_weights


class Held:
    """Vectors in memory."""

    def __init__(self, vectors):
        self.vectors = vectors
        self.width = vectors.shape[1]

    def __len__(self):
        return len(self.vectors)

    def read(self, start, into):
        into[:] = self.vectors[start : start + len(into)]


def unit(vectors):
    vectors = vectors.astype(numpy.float32)
    return vectors / numpy.maximum(numpy.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def best(scores, top):
    """The places of the best scores of each row, equal ones in their order."""
    last = numpy.partition(scores, -top, axis=1)[:, -top]
    found = numpy.empty((len(scores), top), dtype=numpy.int64)
    for row, least in enumerate(last):
        places = numpy.flatnonzero(scores[row] >= least)
        found[row] = places[numpy.argsort(-scores[row, places], kind="stable")][:top]
    return found


def cosines_of(queries, codes):
    """The inner products in float64. A matrix product sums equal rows in different ways; so equal codes get one."""
    rows = numpy.ascontiguousarray(codes).view(f"V{4 * codes.shape[1]}").ravel()
    _, first, same = numpy.unique(rows, return_index=True, return_inverse=True)
    return (queries.astype(float) @ codes[first].astype(float).T)[:, same]


def reference(queries, codes, top, factors=None, offsets=None):
    """The best codes by scores in float64, each summed in the same way; equal ones in their order."""
    models = len(queries)
    scores = numpy.zeros((len(queries[0]), len(codes[0])))
    for model in range(models):
        factor = 1 / models if factors is None else factors[:, model : model + 1]
        scores += cosines_of(queries[model], codes[model]) * factor
    order = best(scores, top)
    return order, numpy.take_along_axis(scores, order, 1) - (0 if offsets is None else offsets[:, None])


def adversarial(rng, queries, codes, widths):
    """Vectors with duplicates, codes that differ in the last bits, and some of zeros."""
    asked = [unit(rng.standard_normal((queries, width))) for width in widths]
    given = []
    picks = rng.integers(0, codes, codes // 3)
    places = rng.integers(0, codes, codes // 3)
    for model, width in enumerate(widths):
        vectors = unit(rng.standard_normal((codes, width)))
        # A hundred codes near each of some queries, a few units in the last place apart.
        for query in range(0, queries, max(1, queries // 20)):
            near = rng.integers(0, codes, 100)
            nudged = asked[model][query] + rng.integers(-3, 4, (100, width)) * numpy.float32(2**-24)
            vectors[near] = nudged.astype(numpy.float32)
        vectors[places] = vectors[picks]
        vectors[rng.integers(0, codes, 5)] = 0
        given.append(vectors)
    return asked, given


def compare(queries, codes, top, found, **weights):
    order, scores = reference(queries, codes, top, **weights)
    assert numpy.array_equal(found.ranking.codes, order)
    assert numpy.abs(found.ranking.scores - scores).max() < 1e-12


@pytest.mark.parametrize("type_", ["float32", "bfloat16"])
def test_the_same_codes_as_in_float64(monkeypatch, type_):
    monkeypatch.setattr(search, "fast_type", lambda: type_)
    monkeypatch.setattr(search, "CODES_AT_ONCE", 700)
    monkeypatch.setattr(search, "QUERIES_AT_ONCE", 64)
    rng = numpy.random.default_rng(3)
    for widths, top in (((24,), 20), ((16, 24, 8), 20), ((40,), 1), ((8, 8), 300)):
        queries, codes = adversarial(rng, 200, 5000, widths)
        compare(queries, codes, top, exact_top(queries, [Held(one) for one in codes], top))


@pytest.mark.full
def test_2_000_queries_and_50_000_codes(monkeypatch):
    rng = numpy.random.default_rng(5)
    queries, codes = adversarial(rng, 2000, 50_000, (64, 32))
    found = []
    for type_ in ("bfloat16", "float32"):
        monkeypatch.setattr(search, "fast_type", lambda type_=type_: type_)
        found.append(exact_top(queries, [Held(one) for one in codes], 20).ranking.codes)
    for start in range(0, 2000, 500):
        part = slice(start, start + 500)
        order, _ = reference([one[part] for one in queries], codes, 20)
        for codes_found in found:
            assert numpy.array_equal(codes_found[part], order)


@pytest.mark.parametrize("type_", ["float32", "bfloat16"])
def test_a_selection_by_torch_keeps_the_same_scores(type_):
    import torch

    from agents.retrieval.selection import CompiledSelection, TorchSelection

    type_ = getattr(torch, type_)
    # As on a GPU, of which there is none here.
    selections = CompiledSelection(30, 12, type_), TorchSelection(30, 12, "cpu", type_)
    torch.manual_seed(2)
    given = torch.randn(30, 1000).to(type_)
    for start in range(0, 1000, 300):
        for one in selections:
            for queries in (slice(0, 16), slice(16, 30)):
                one.add(queries, given[queries, start : start + 300].contiguous(), start)
    expected = torch.sort(given.double(), dim=1, descending=True).values[:, :12].numpy()
    for one in selections:
        best, places = one.ordered()
        assert numpy.array_equal(best, expected)
        assert numpy.array_equal(given.double().numpy()[numpy.arange(30)[:, None], places], best)


def counting(score, scored):
    """The function, which notes how many pairs it is given."""

    def counted(self, rows, *others):
        scored.append(len(rows))
        return score(self, rows, *others)

    return counted


def test_equal_codes_are_in_the_order_of_the_corpus(monkeypatch):
    codes = unit(numpy.ones((40_000, 8)))
    found = exact_top([codes[:3]], [Held(codes)], 20)
    assert found.ranking.codes.tolist() == [[*range(20)]] * 3
    # Most are equal, and among the best of every query; so many that each block has more of them than wanted.
    rng = numpy.random.default_rng(6)
    codes, equal = unit(rng.standard_normal((9000, 8))), rng.random(9000) < 0.9
    codes[equal] = codes[0]
    queries = unit(codes[0] + 0.2 * rng.standard_normal((40, 8)))
    scored = []
    monkeypatch.setattr(search._Search, "_cosines", counting(search._Search._cosines, scored))
    compare([queries], [codes], 20, exact_top([queries], [Held(codes)], 20))
    assert sum(scored) < 40 * 400
    # The best ones last, so that every block has only better ones.
    rising = unit(numpy.stack([numpy.arange(1, 30_001), numpy.full(30_000, 40_000.0)], axis=1))
    query = numpy.array([[1.0, 0.0]], dtype=numpy.float32)
    compare([query], [rising], 20, exact_top([query], [Held(rising)], 20))


@pytest.mark.parametrize("stored", [Held, HeldVectors])
def test_fewer_codes_than_wanted_and_none(stored):
    rng = numpy.random.default_rng(1)
    queries, codes = unit(rng.standard_normal((4, 6))), unit(rng.standard_normal((3, 6)))
    found = exact_top([queries], [stored(codes)], 5)
    assert (found.ranking.codes[:, 3:] == -1).all()
    compare([queries], [codes], 3, exact_top([queries], [stored(codes)], 3))
    empty = exact_top([queries], [stored(codes[:0])], 5)
    assert (empty.ranking.codes == -1).all()
    assert exact_top([queries[:0]], [stored(codes)], 5).ranking.codes.shape == (0, 5)


def test_vectors_in_memory_are_ranked_as_those_of_files(monkeypatch):
    monkeypatch.setattr(search, "_SCORES_AT_ONCE", 12_000)
    monkeypatch.setattr(search, "PAIRS_AT_ONCE", 100)
    rng = numpy.random.default_rng(8)
    for top in (1, 20, 300):
        (queries,), (codes,) = adversarial(rng, 30, 5000, (24,))
        codes[rng.random(5000) < 0.3] = queries[0]
        in_memory = held(Held(codes))
        assert isinstance(in_memory, HeldVectors)
        found, of_files = (exact_top([queries], [one], top) for one in (in_memory, Held(codes)))
        compare([queries], [codes], top, found)
        assert numpy.array_equal(found.ranking.scores, of_files.ranking.scores)
        assert numpy.array_equal(found.similarities, of_files.similarities)


def test_what_does_not_fit_stays_in_its_files(monkeypatch):
    stored = Held(numpy.zeros((100, 8), dtype=numpy.float32))
    monkeypatch.setattr(search, "MOST_HELD", 100 * 8 * 4)
    assert isinstance(held(stored), HeldVectors)
    monkeypatch.setattr(search, "MOST_HELD", 100 * 8 * 4 - 1)
    assert held(stored) is stored


@pytest.mark.parametrize("flat", [False, True])
def test_z_scores_let_no_model_dominate(flat):
    rng = numpy.random.default_rng(9)
    queries = [unit(rng.standard_normal((30, 12))), unit(rng.standard_normal((30, 20)) + 30)]
    codes = [unit(rng.standard_normal((2500, 12))), unit(rng.standard_normal((2500, 20)) + 30)]
    if flat:
        codes[1][:] = codes[1][0]
    stored = [Held(one) for one in codes]
    cosines = [
        asked.astype(float) @ given.astype(float).T for asked, given in zip(queries, codes, strict=True)
    ]
    spreads = [one.std(axis=1) for one in cosines]
    factors = numpy.stack([0.5 / spreads[0], numpy.zeros(30) if flat else 0.5 / spreads[1]], axis=1)
    offsets = sum(factors[:, model] * one.mean(axis=1) for model, one in enumerate(cosines))
    weights = z_weights(queries, stored)
    assert numpy.abs(weights.factors / numpy.where(factors == 0, 1, factors) - (factors > 0)).max() < 1e-6
    found = exact_top(queries, stored, 20, weights)
    order, scores = reference(queries, codes, 20, factors, offsets)
    assert numpy.array_equal(found.ranking.codes, order)
    assert numpy.abs(found.ranking.scores - scores).max() < 1e-5
    for model in range(2):
        own = numpy.take_along_axis(cosines[model], order, 1)
        assert numpy.abs(found.similarities[:, :, model] - own).max() < 1e-12


def test_overlap_is_the_mean_share_of_the_ensembles_codes():
    own = numpy.array([[1, 2, 3, 4], [5, 6, 7, 8]])
    ensemble = numpy.array([[4, 3, 9, 10], [1, 2, 3, 4]])
    assert overlap(own, ensemble) == 0.25
    assert overlap(ensemble, ensemble) == 1


def words(rng, number):
    """Texts of few words, of which many are the same, some are empty, and some share no term with others."""
    known = [f"{letter}word" for letter in "abcdefghijklmnopqrstuvwxyz"]
    texts = [" ".join(rng.choice(known, rng.integers(1, 6))) for _ in range(number)]
    for place in range(0, number, 17):
        texts[place] = ("", "nothing like it", texts[0])[place % 3]
    return texts


@pytest.mark.parametrize("combine", ["mean", "z"])
@pytest.mark.parametrize("widths", [(), (24,), (16, 8)])
def test_vectors_and_words_together_find_the_same_codes_as_in_float64(monkeypatch, widths, combine):
    monkeypatch.setattr(mixed, "CODES_AT_ONCE", 700)
    monkeypatch.setattr(mixed, "QUERIES_AT_ONCE", 64)
    monkeypatch.setattr(mixed, "PAIRS_AT_ONCE", 1000)
    rng = numpy.random.default_rng(4)
    asked, given = words(rng, 100), words(rng, 3000)
    queries, codes = adversarial(rng, 100, 3000, widths)
    # These codes are there twice in every respect.
    for one in (given, *codes):
        one[2500:2900] = one[200:600]
    by_words = [method().weigh(asked, given).as_products() for method in (bm25, bag_of_words)]
    by_vectors = [ByVectors("model", *both) for both in zip(queries, map(Held, codes), strict=True)]
    methods = (ByWords("bm25", by_words[0]), *by_vectors, ByWords("bow", by_words[1]))
    scores = [(one.queries @ one.codes).toarray() for one in by_words]
    scores[1:1] = [cosines_of(*both) for both in zip(queries, codes, strict=True)]

    mixture = Mixture(methods, [(0, 0)] * len(methods))
    weights = mixture.weights(combine)
    if combine == "mean":
        assert (weights.factors == 1 / len(methods)).all()
        assert not weights.offsets.any()
    else:
        spreads = numpy.stack([one.std(axis=1) for one in scores], axis=1)
        flat = spreads < 1e-9
        assert flat.any()  # a query without a term
        expected = numpy.where(flat, 0, 1 / numpy.maximum(spreads, 1e-9)) / len(methods)
        assert numpy.allclose(weights.factors, expected, rtol=1e-6)
        means = numpy.stack([one.mean(axis=1) for one in scores], axis=1)
        assert numpy.allclose(weights.offsets, (expected * means).sum(axis=1), atol=1e-6)
    together = sum(one * weights.factors[:, place, None] for place, one in enumerate(scores))
    for top in (1, 40):
        found, own = mixture.search_each(top, combine)
        order = best(together, top)
        assert numpy.array_equal(found.ranking.codes, order)
        given_as = numpy.take_along_axis(together, order, 1) - weights.offsets[:, None]
        assert numpy.abs(found.ranking.scores - given_as).max() < 1e-12
        for place, (method, one) in enumerate(zip(methods, scores, strict=True)):
            given_as = numpy.take_along_axis(one, order, 1)
            assert numpy.abs(found.similarities[:, :, place] - given_as).max() < 1e-12
            alone = best(one, top)
            if isinstance(method, ByWords):
                alone[numpy.take_along_axis(one, alone, 1) == 0] = -1
            assert numpy.array_equal(own[place], alone)
        assert numpy.array_equal(mixture.search(top, combine).ranking.codes, order)


def test_words_without_queries_codes_or_terms():
    for asked, given in ((["x"], []), ([], ["x"]), (["x", "y"], ["", "+"])):
        mixture = Mixture(
            tuple(ByWords(str(place), bm25().weigh(asked, given)) for place in range(2)), [(0, 0)] * 2
        )
        for combine in ("mean", "z"):
            found, own = mixture.search_each(2, combine)
            # All codes are alike: none of them shares a term with the query.
            assert found.ranking.codes.tolist() == [[*range(len(given)), -1, -1][:2]] * len(asked)
            assert all((one == -1).all() for one in own)


def test_progress_of_words_and_vectors_counts_comparisons():
    told = []
    mixture = Mixture((ByWords("bm25", bm25().weigh(["a b"] * 3, ["b c"] * 5)),), [(0, 0)])
    mixture.search(2, "z", told.append)
    assert [(one.stage, one.done, one.total) for one in told] == [
        ("spread of bm25", 0, 15),
        ("spread of bm25", 15, 15),
        ("comparing", 0, 15),
        ("comparing", 15, 15),
    ]
