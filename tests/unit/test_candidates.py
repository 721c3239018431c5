"""`workbench candidates`: pairs of a workspace's queries and codes, by models and by a lexical method."""

import gzip
import hashlib
import json
import shutil

import pytest
import tiny_models
from full_disk import largest_file
from loopback_models import Body, LoopbackModels
from loopback_wire import embeddings
from sqlalchemy import insert, select

from agents.jobs.pause_gate import Halted
from agents.retrieval import candidate_request
from agents.retrieval.apart import search_apart
from agents.retrieval.candidates import corpus_apart
from agents.retrieval.lexical import bm25
from agents.retrieval.methods import open_retriever
from agents.retrieval.settings import RetrievalSettings
from agents.retrieval.stored_texts import StoredTexts
from store.tables.columns import table_of
from store.tables.imported import Code, Item, Pair, Query, Similarity, Source
from store.workspace.duckdb import Workspace

QUERIES = [f"how to sort a list by key {number}" for number in range(12)]
CODES = [f"def f{number}(x):\n    return sorted(x)[{number % 7}:]" for number in range(90)]


def row(number, text, **more):
    return {"id": number, "text": text, "text_hash": hashlib.md5(text.encode()).hexdigest(), **more}


@pytest.fixture
def corpus(tmp_path):
    """A workspace with queries and codes but no item; one code is there twice, from two repositories."""
    path = tmp_path / "corpus.duckdb"

    def write(connection):
        connection.execute(
            insert(table_of(Query)), [row(number, text) for number, text in enumerate(QUERIES, start=1)]
        )
        about = {"language": "python", "name": "", "path": "", "licence": ""}
        codes = [row(number, text, repository="a", **about) for number, text in enumerate(CODES, start=5)]
        codes.append(row(500, CODES[3], repository="b", **about))
        connection.execute(insert(table_of(Code)), codes)

    with Workspace.create(path) as workspace:
        workspace.lane.submit(write).result()
    return path


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    tiny_models.bert(folder / "tiny-bert")
    tiny_models.roberta(folder / "codebert-base", seed=1)
    tiny_models.codet5p(folder / "tiny-codet5p", seed=2)
    return f"{folder / 'tiny-bert'},codebert={folder / 'codebert-base'},codet5p={folder / 'tiny-codet5p'}"


@pytest.fixture(autouse=True)
def _vectors_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_RETRIEVAL__VECTORS", str(tmp_path / "vectors"))


def stored(path):
    """The pairs as (query, code, rank), the similarities of each, and the sources."""
    pair, item, similarity = table_of(Pair), table_of(Item), table_of(Similarity)
    with Workspace.open(path) as workspace, workspace.reading() as connection:
        pairs = connection.execute(
            select(pair.c.query_id, pair.c.code_id, pair.c.rank, pair.c.item_id, item.c.group_id)
            .join(item, item.c.id == pair.c.item_id)
            .order_by(pair.c.item_id)
        ).all()
        similarities = {(one.item_id, one.model): one.value for one in connection.execute(select(similarity))}
        sources = connection.execute(select(table_of(Source))).all()
    return pairs, similarities, sources


def test_candidates_become_pairs_with_ranks_and_similarities(workbench, corpus, tiny):
    done = workbench("candidates", corpus, "--models", tiny, "--top", 5, "--json")
    facts = done.json()
    assert (facts["queries"], facts["codes"], facts["pairs"], facts["added"], facts["known"]) == (
        12,
        90,
        60,
        60,
        0,
    )
    assert set(facts["overlap"]) == {"tiny-bert", "codebert", "codet5p"}
    assert all(0 <= share <= 1 for share in facts["overlap"].values())
    assert "ranks near chance" in facts["warnings"][0]
    pairs, similarities, sources = stored(corpus)
    assert [one.rank for one in pairs] == [1, 2, 3, 4, 5] * 12
    assert [one.query_id for one in pairs] == [one.group_id for one in pairs] == sorted([*range(1, 13)] * 5)
    assert 500 not in {one.code_id for one in pairs}
    means = [sum(similarities[one.item_id, model] for model in facts["overlap"]) / 3 for one in pairs]
    assert all(means[at : at + 5] == sorted(means[at : at + 5], reverse=True) for at in range(0, 60, 5))
    assert len(similarities) == 180
    assert [(one.name, one.format, one.records) for one in sources] == [(facts["source"], "candidates", 60)]
    assert facts["source"] == "candidates tiny-bert codebert=codebert-base codet5p=tiny-codet5p, mean, top 5"
    listed = workbench("items", corpus, "--json").json()
    assert listed["total"] == 60


def test_again_nothing_is_new_and_with_other_settings_only_new_pairs(workbench, corpus, tiny):
    first = workbench("candidates", corpus, "--models", tiny, "--top", 5, "--json").json()
    before = stored(corpus)
    again = workbench("candidates", corpus, "--models", tiny, "--top", 5, "--json").json()
    assert (again["added"], again["known"], again["source"]) == (0, 60, None)
    assert again["overlap"] == first["overlap"]
    assert stored(corpus) == before
    other = workbench("candidates", corpus, "--models", tiny, "--top", 7, "--combine", "z")
    assert other.code == 0
    assert "84 candidate pairs" in other.out
    assert "Share of the ensemble's 7 codes" in other.out
    pairs, _, sources = stored(corpus)
    assert f"{len(pairs) - 60} pairs added, {84 - len(pairs) + 60} already there." in other.out
    assert pairs[:60] == before[0]
    assert len(sources) == 2


def test_a_lexical_method_and_a_service(workbench, corpus, monkeypatch):
    done = workbench("candidates", corpus, "--models", "bm25", "--top", 3, "--json").json()
    assert (done["pairs"], done["overlap"], done["models"]) == (36, {}, ["bm25"])
    with LoopbackModels() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        done = workbench("candidates", corpus, "--models", "openai:embed", "--top", 3, "--json").json()
        assert (done["pairs"], done["models"]) == (36, ["openai:embed"])
        asked = len(server.requests)
        workbench("candidates", corpus, "--models", "openai:embed", "--top", 4, "--json")
        assert len(server.requests) == asked


def test_words_and_a_model_together(workbench, corpus, tiny_bert):
    command = ("candidates", corpus, "--top", 5, "--json", "--models")
    facts = workbench(*command, f"bm25,{tiny_bert}", "--combine", "z").json()
    assert (facts["models"], facts["pairs"], facts["added"]) == (["bm25", "tiny-bert"], 60, 60)
    assert facts["source"] == "candidates bm25 tiny-bert, z, top 5"
    assert facts["overlap"].keys() == {"bm25", "tiny-bert"}
    assert all(0 < share <= 1 for share in facts["overlap"].values())
    pairs, similarities, _ = stored(corpus)
    assert len(similarities) == 120
    alone = {}
    for name in ("bm25", tiny_bert):
        # What each gives alone is what it gives in the ensemble, where it found the pair.
        with Workspace.open(corpus) as workspace:
            retriever = open_retriever(name, RetrievalSettings(), None)
            texts = corpus_apart(workspace)
        found = retriever.search(texts.queries, texts.codes, 90)
        for query, (codes, scores) in enumerate(
            zip(found.codes.tolist(), found.scores.tolist(), strict=True)
        ):
            for code, score in zip(codes, scores, strict=True):
                alone[int(texts.query_ids[query]), int(texts.code_ids[code]), retriever.name] = score
    for one in pairs:
        for name in facts["models"]:
            expected = alone.get((one.query_id, one.code_id, name), 0)
            assert similarities[one.item_id, name] == pytest.approx(expected, abs=1e-9)
    # The mean of cosines is that of words and vectors, too.
    mean = workbench(*command, f"{tiny_bert},bow").json()
    assert (mean["combine"], mean["pairs"], mean["overlap"].keys()) == ("mean", 60, {"tiny-bert", "bow"})
    text = workbench("candidates", corpus, "--models", f"bm25,bow,{tiny_bert}", "--combine", "z")
    assert "Share of the ensemble's 20 codes" in text.out


def test_what_cannot_be_searched_is_refused(workbench, corpus, tmp_path):
    for models, words in {
        " , ": "No model",
        "bm25,minilm": "The scores of bm25 have no upper bound",
        "bm25,bow": "Combine them by z-scores (--combine z)",
        "bow,bow": "Two models are called bow",
        "mean=nowhere": "Model not found",
    }.items():
        done = workbench("candidates", corpus, "--models", models)
        assert done.code == 2
        assert done.says(words)
    empty = tmp_path / "empty.duckdb"
    Workspace.create(empty).close()
    done = workbench("candidates", empty, "--models", "bm25")
    assert done.code == 2
    assert done.says("The workspace has no queries")
    assert stored(corpus)[0] == []


def test_the_texts_are_apart_from_the_workspace(corpus):
    with Workspace.open(corpus) as workspace:
        texts = corpus_apart(workspace)
    with Workspace.open(corpus):
        assert texts.queries[:] == QUERIES
        assert (texts.codes[2], texts.codes[80:], len(texts.codes)) == (CODES[2], CODES[80:], 90)


def insert_texts(path, table, rows):
    with Workspace.open(path) as workspace:
        workspace.lane.submit(lambda connection: connection.execute(insert(table_of(table)), rows)).result()


@pytest.fixture
def refused(workbench, corpus, tmp_path):
    """Runs the command, expects an error, and that nothing came into the workspace or the cache but whole blocks."""

    def refused(models, words, blocks=0):
        done = workbench("candidates", corpus, "--models", models, "--top", 3)
        assert done.code == 2, done.out
        assert done.says(words), done.err
        assert stored(corpus) == ([], {}, [])
        assert len(list((tmp_path / "vectors").rglob("*.vectors"))) == blocks
        assert not list((tmp_path / "vectors").rglob("*.part"))

    return refused


@pytest.fixture
def tiny_bert(tiny):
    return tiny.partition(",")[0]


def test_an_empty_query_ends_the_command(refused, corpus, tiny_bert):
    insert_texts(corpus, Query, [row(900, " \n")])
    refused(tiny_bert, "Query 13 is empty")


def test_a_code_of_100_000_tokens_is_cut_and_counted(workbench, corpus, tiny_bert):
    about = {"language": "python", "name": "", "path": "", "licence": "", "repository": ""}
    insert_texts(corpus, Code, [row(900, "x " * 100_000, **about)])
    done = workbench("candidates", corpus, "--models", tiny_bert, "--top", 91, "--json").json()
    assert done["truncated"] == {"tiny-bert": {"queries": 0, "codes": 1}}
    assert done["added"] == 12 * 91
    text = workbench("candidates", corpus, "--models", tiny_bert, "--top", 91)
    assert "read only the beginning of 1 code, which is longer than it reads." in " ".join(
        (text.out + text.err).split()
    )
    assert workbench("candidates", corpus, "--models", "bm25", "--json").json()["codes"] == 91


def test_a_model_whose_vectors_are_no_numbers(refused, tiny_bert, tmp_path):
    import torch
    from safetensors.torch import load_file, save_file

    broken = shutil.copytree(tiny_bert, tmp_path / "broken")
    weights = load_file(broken / "model.safetensors")
    weights |= {name: torch.full_like(given, torch.nan) for name, given in weights.items()}
    save_file(weights, broken / "model.safetensors", metadata={"format": "pt"})
    refused(str(broken), "gave a vector that is not of numbers")


def test_a_service_whose_vectors_change_their_width(refused, monkeypatch):
    def narrower_for_codes(seen, _):
        answer = embeddings(seen)
        if seen.body["input"][0].startswith("def"):
            for one in answer["data"]:
                one["embedding"].pop()
        return Body(answer)

    with LoopbackModels(narrower_for_codes) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        # One block of the queries, and one of the codes.
        refused("openai:embed", "gives vectors of 31 numbers; those in the cache have 32", blocks=2)


def test_a_full_disk_ends_the_command_and_what_was_encoded_is_kept(workbench, refused, corpus, tiny_bert):
    with largest_file(1_000):
        refused(tiny_bert, "Texts not written", blocks=0)
    # The queries' block fits, that of the codes does not.
    with largest_file(6_000):
        refused(tiny_bert, "Vectors not written", blocks=1)
    done = workbench("candidates", corpus, "--models", tiny_bert, "--top", 3, "--json").json()
    assert done["added"] == 36


COSQA = [
    {"idx": f"cosqa-{number}", "doc": query, "code": code, "label": 1}
    for number, (query, code) in enumerate(zip(QUERIES, CODES, strict=False))
]
CODESEARCHNET = [
    {"code": code, "func_name": "f", "repo": "a", "path": f"{number}.py", "language": "python"}
    for number, code in enumerate(CODES)
]


@pytest.mark.parametrize(
    ("codes", "content", "format"),
    [
        ("cosqa.json", json.dumps(COSQA), "codes"),
        ("python.jsonl.gz", gzip.compress("\n".join(map(json.dumps, CODESEARCHNET)).encode()), None),
    ],
    ids=["cosqa", "gzip"],
)
@pytest.mark.parametrize(
    ("queries", "listed"),
    [
        ("cosqa.json", json.dumps(COSQA)),
        ("queries.csv", "number,query\n" + "".join(f"{n},{query}\n" for n, query in enumerate(QUERIES))),
        ("queries.txt", "\n".join(QUERIES)),
    ],
    ids=["cosqa", "csv", "text"],
)
def test_codes_and_queries_of_every_form(workbench, in_folder, codes, content, format, queries, listed):
    for kind in ("codes", "queries"):
        (in_folder / kind).mkdir()
    as_bytes = content if isinstance(content, bytes) else content.encode()
    (in_folder / "codes" / codes).write_bytes(as_bytes)
    (in_folder / "queries" / queries).write_text(listed)
    named = ("--format", format) if format else ()
    assert workbench("import", "ws.duckdb", f"codes/{codes}", *named).code == 0
    assert workbench("import", "ws.duckdb", f"queries/{queries}", "--format", "queries").code == 0
    found = workbench("candidates", "ws.duckdb", "--models", "bow", "--top", 3, "--json").json()
    assert (found["queries"], found["codes"]) == (12, 12 if format else 90)
    assert found["added"] == found["pairs"] > 0


def test_a_workspace_that_was_replaced_meanwhile_is_left_alone(workbench, corpus, monkeypatch):
    find = candidate_request.find_by_method

    def replace_and_find(*arguments, **options):
        corpus.unlink()

        def write(connection):
            rows = [row(number, f"another {number}") for number in range(1, 600)]
            about = {"language": "", "name": "", "repository": "", "path": "", "licence": ""}
            connection.execute(insert(table_of(Query)), rows)
            connection.execute(insert(table_of(Code)), [one | about for one in rows])

        with Workspace.create(corpus) as workspace:
            workspace.lane.submit(write).result()
        return find(*arguments, **options)

    monkeypatch.setattr(candidate_request, "find_by_method", replace_and_find)
    done = workbench("candidates", corpus, "--models", "bow")
    assert done.code != 0
    assert "The file was replaced while texts were compared" in " ".join(done.err.replace("│", " ").split())
    assert stored(corpus) == ([], {}, [])


def test_a_search_by_words_apart_ranks_as_one_here_and_tells_its_progress(corpus_texts):
    queries, codes = corpus_texts
    told = []
    found = search_apart(bm25(), queries, codes, 3, told.append)
    here = bm25().search(list(queries), list(codes), 3)
    assert found.codes.tolist() == here.codes.tolist()
    assert found.scores.tolist() == here.scores.tolist()
    assert (told[0].stage, told[0].done) == ("reading codes by bm25", 0)
    assert (told[-1].stage, told[-1].done, told[-1].total) == ("comparing by bm25", 5, 5)


def test_a_search_by_words_apart_ends_with_what_receives_its_progress(corpus_texts):
    def stop(progress):
        raise Halted("stopped")

    with pytest.raises(Halted):
        search_apart(bm25(), *corpus_texts, 3, stop)


@pytest.fixture
def corpus_texts():
    texts = {"read": 5, "sort": 9000}
    stored = [StoredTexts() for _ in texts]
    for into, (word, number) in zip(stored, texts.items(), strict=True):
        for each in range(number):
            into.append(f"{word} the lines of file number {each}")
    return stored
