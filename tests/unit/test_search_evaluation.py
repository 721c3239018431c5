"""`workbench evaluate search` with a model, of rows of CodeSearchNet, and with rankings that are kept."""

from __future__ import annotations

import gzip
import json
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback_models import LoopbackModels, Seen

from agents.code_search import code_search_net
from agents.code_search.docstrings import cut_parameters
from agents.code_search.evaluation import TOP, by_docstrings
from agents.repositories.reading import read_repository
from store.formats.trec import read_qrels, read_run

TILL = '''\
class Till:
    """A drawer of coins."""

    def give_change(self, paid, price):
        """Pay back the difference."""
        left = paid - price
        return self.coins_of(left)

    def coins_of(self, left):
        return [coin for coin in COINS if coin <= left]


class Door:
    def lock(self):
        """Make the door safe."""
        self.locked = True


def open_drawer(drawer):
    """Open a drawer."""
    drawer.open()


def greet(name):
    return "hello " + name
'''
CODE = """\
class Till:
    def give_change(self, paid, price):
        left = paid - price
        return self.coins_of(left)

    def open_drawer(self):
        self.drawer.open()
"""
CHANGE, LOCK, DRAWER = "till.py:4:Till.give_change", "till.py:14:Door.lock", "till.py:19:open_drawer"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository with three documented functions."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "till.py").write_text(TILL)
    return folder


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackModels]:
    """A model that writes the same about each query."""
    replies = {
        "ResearcherReply": {"paragraph": "It is about a shop."},
        "CoderReply": {"code": CODE},
        "AssessorReply": {"assessment": "fine", "code": CODE},
    }
    with LoopbackModels(replies=replies) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        monkeypatch.setenv("WORKBENCH_MODELS__MAX_RETRIES", "0")
        yield server


BY_WORDS = ("--encoder", "bm25", "--json")
WITH_MODEL = ("--model", "openai:m", *BY_WORDS)


def methods(told: Any) -> dict[str, dict[str, Any]]:
    assert told.code == 0, told.err or told.out
    return {one["method"]: one for one in told.json()["methods"]}


def figures(scores: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(scores[name] for name in ("success@1", "success@5", "success@10", "mrr"))


# -- streams ------------------------------------------------------------------------------------------


def test_each_query_is_asked_about_once(shop: Path, served: Any, tmp_path: Path, workbench: Any) -> None:
    out = tmp_path / "runs"
    told = workbench("evaluate", "search", shop, *WITH_MODEL, "--run-out", out)
    found = methods(told)
    assert list(found) == ["bm25", "query", "code", "classes", "parts", "union"]
    assert sorted(seen.schema_name for seen in served.requests) == sorted(
        ["ResearcherReply"] * 3 + ["CoderReply", "AssessorReply"]
    )
    qrels = read_qrels(out / "qrels.txt")
    assert qrels == {query: {query: 1} for query in (CHANGE, LOCK, DRAWER)}
    runs = {name: read_run(out / f"{name}.run") for name in found if (out / f"{name}.run").stat().st_size}
    for name, run in runs.items():
        ranks = [1 + ranked.index(query) for query, ranked in run.items() if query in ranked]
        assert found[name]["success@1"] == pytest.approx(ranks.count(1) / 3)
        assert found[name]["success@10"] == pytest.approx(len(ranks) / 3)
        assert found[name]["mrr"] == pytest.approx(sum(1 / rank for rank in ranks) / 3)
        assert all(len(set(ranked)) == len(ranked) <= TOP for ranked in run.values())
    # The same code is written for all three: it is that of one, and names another one.
    assert runs["code"][CHANGE][0] == runs["parts"][CHANGE][0] == CHANGE
    assert set(runs["parts"][LOCK]) == {CHANGE, DRAWER}
    assert set(runs["classes"][LOCK]) <= {"till.py:1:Till", "till.py:13:Door"}
    for query, ranked in runs["union"].items():
        streams = [run.get(query, []) for name, run in runs.items() if name not in ("bm25", "union")]
        assert set(ranked) == {name for found in streams for name in found}


def test_the_class_counts_as_in_the_paper(shop: Path, served: Any, workbench: Any) -> None:
    found = methods(workbench("evaluate", "search", shop, *WITH_MODEL))
    assert figures(found["classes"]) == (0, 0, 0, 0)
    # Of the three functions two are in a class, and of these the code is near the class of one at least.
    assert found["classes"]["success@10_class"] > 0
    assert found["union"]["success@10_class"] >= found["union"]["success@10"] > 0
    assert found["bm25"]["success@10_class"] == found["bm25"]["success@10"]
    shown = workbench("evaluate", "search", shop, *WITH_MODEL[:-1])
    assert "the stream classes finds no functions, so that it has 0 here" in shown.out
    assert "The function or its class is found, as in the paper" in shown.out


@pytest.mark.parametrize(
    ("options", "requests"),
    [
        (("--streams", "query"), {"query": 0, "union": 0}),
        (("--streams", "query", "--stream-query", "augmented"), {"query": 1, "union": 1}),
        (("--streams", "parts,query"), {"query": 0, "parts": 5 / 3, "union": 5 / 3}),
    ],
)
def test_what_a_method_needs_is_what_it_costs(
    shop: Path, served: Any, tmp_path: Path, workbench: Any, options: Any, requests: Any
) -> None:
    config = tmp_path / "workbench.toml"
    config.write_text('[models.prices."openai:*"]\ninput = 1.0\noutput = 2.0\n')
    found = methods(workbench("evaluate", "search", shop, *WITH_MODEL, *options, "--config", config))
    assert {name: one["requests"] for name, one in found.items()} == {"bm25": 0} | {
        name: pytest.approx(number) for name, number in requests.items()
    }
    for one in found.values():
        assert one["cost"] == pytest.approx(one["requests"] * (120 + 2 * 30) / 1e6)
        assert one["seconds"] >= 0
    assert len(served.requests) == round(3 * requests["union"])


def test_the_query_alone_needs_no_model(shop: Path, workbench: Any) -> None:
    found = methods(workbench("evaluate", "search", shop, "--streams", "query", *BY_WORDS))
    assert list(found) == ["bm25", "query", "union"]
    # The stream has three results.
    assert found["query"]["success@1"] == found["bm25"]["success@1"]
    told = workbench("evaluate", "search", shop, "--streams", "code", *BY_WORDS)
    assert (told.code, told.json()["error"]["title"]) == (2, "No model")


def test_a_turn_that_fails_leaves_its_streams_without_a_result(
    shop: Path, served: Any, workbench: Any
) -> None:
    def coder(seen: Seen) -> Any:
        return "no JSON" if "shop of Locks" in seen.text else {"code": CODE}

    def researcher(seen: Seen) -> Any:
        return {"paragraph": "A shop of Locks." if "door safe" in seen.text else "A shop."}

    served.replies |= {"CoderReply": coder, "ResearcherReply": researcher}
    told = workbench("evaluate", "search", shop, *WITH_MODEL)
    found = methods(told)
    assert told.json()["noted"] == 1
    # Without code for it only the query itself finds the lock.
    assert figures(found["code"])[2] == pytest.approx(2 / 3)
    assert not told.json()["partial"]


def test_docstrings_are_not_looked_up(shop: Path, served: Any, workbench: Any) -> None:
    (shop / "README.md").write_text("# Shop\n\nA drawer is opened for coins.\n")
    served.replies["ResearcherReply"] = {"look_up": "coins of a drawer"}
    methods(workbench("evaluate", "search", shop, *WITH_MODEL, "--docstrings", 1))
    page = served.requests[1].text
    assert "A drawer is opened for coins." in page
    assert "return self.coins_of(left)" in page
    assert not any(said in page for said in ("A drawer of coins", '"""'))


def test_the_budget_ends_in_the_middle(shop: Path, served: Any, tmp_path: Path, workbench: Any) -> None:
    served.replies["ResearcherReply"] = lambda seen: {"paragraph": f"About {len(seen.text)}."}
    config, study = tmp_path / "workbench.toml", tmp_path / "study.duckdb"
    config.write_text("[agents]\nconcurrency = 1\n\n[agents.budget]\nrequests = 4\n")
    told = workbench("evaluate", "search", shop, *WITH_MODEL, "--into", study, "--config", config)
    assert told.code == 3
    assert told.json()["partial"]
    assert told.json()["queries"] == 1
    assert "The budget of this run is 4 requests" in told.err
    assert all(one["success@1"] in (0, 1) for one in told.json()["methods"])
    # The same command asks for what is missing.
    config.write_text("[agents]\nconcurrency = 1\n")
    before = len(served.requests)
    again = workbench("evaluate", "search", shop, *WITH_MODEL, "--into", study, "--config", config)
    assert (again.code, again.json()["queries"], again.json()["partial"]) == (0, 3, False)
    assert (before, len(served.requests)) == (4, 9)


def test_nothing_is_measured_where_nothing_was_searched(
    shop: Path, served: Any, tmp_path: Path, workbench: Any
) -> None:
    config = tmp_path / "workbench.toml"
    config.write_text("[agents.budget]\nrequests = 1\n")
    told = workbench("evaluate", "search", shop, *WITH_MODEL, "--config", config)
    assert (told.code, told.json()["queries"], told.json()["methods"]) == (3, 0, [])
    shown = workbench("evaluate", "search", shop, *WITH_MODEL[:-1], "--config", config)
    assert shown.code == 3
    assert "Nothing was measured." in shown.out


@pytest.mark.parametrize(("budget", "measured"), [(1, False), (7, True)])
def test_no_request_leaves_beyond_the_budget(
    shop: Path, served: Any, tmp_path: Path, workbench: Any, budget: int, measured: bool
) -> None:
    served.replies["ResearcherReply"] = lambda seen: {"paragraph": f"About {len(seen.text)}."}
    config = tmp_path / "workbench.toml"
    config.write_text(f"[agents.budget]\nrequests = {budget}\n")
    told = workbench("evaluate", "search", shop, *WITH_MODEL, "--config", config)
    assert (told.code, len(served.requests)) == (3, budget)
    assert (told.json()["queries"] > 0) == measured


def test_queries_are_clean_text(tmp_path: Path, workbench: Any) -> None:
    (tmp_path / "a.py").write_text('def f():\n    """Open the \\ud800x drawer."""\n    return 1\n')
    read = read_repository(str(tmp_path), lambda path: path.endswith(".py"))
    queries = by_docstrings(read, 1, 0, Counter()).queries
    assert [*queries.values()] == ["Open the ?x drawer."]


# -- rows of CodeSearchNet ----------------------------------------------------------------------------


def row(function: str, docstring: str, repository: str = "ann/shop", path: str = "till.py") -> dict[str, str]:
    return {"repo": repository, "path": path, "func_name": function, "docstring": docstring}


CHANGE_ROW = row("Till.give_change", "Pay back the difference.\n\n    :param paid: What was given.\n    ")
ROWS = [CHANGE_ROW, row("Door.lock", "Make the door safe."), row("open_drawer", "Open a drawer.")]


@pytest.fixture
def rows(tmp_path: Path) -> Callable[..., Path]:
    """Write rows, or lines as they are, into a file."""

    def write(*lines: dict[str, Any] | str, name: str = "rows.jsonl") -> Path:
        text = "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines)
        data = text.encode(errors="surrogatepass")
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return tmp_path / name

    return write


@pytest.fixture
def homes(tmp_path: Path, shop: Path) -> Path:
    """A folder of repositories: ann's shop."""
    folder = tmp_path / "homes"
    (folder / "ann").mkdir(parents=True)
    shop.rename(folder / "ann" / "shop")
    return folder


def test_rows_are_searched_in_their_own_repositories(
    rows: Any, homes: Path, tmp_path: Path, workbench: Any
) -> None:
    (homes / "ben__bank").mkdir()
    (homes / "ben__bank" / "vault.py").write_text("def open_drawer(vault):\n    return vault.drawer\n")
    packed = tmp_path / "packed" / "home-1"
    packed.mkdir(parents=True)
    (packed / "key.py").write_text("def turn(key):\n    return key.turned\n")
    with tarfile.open(homes / "home.tar.gz", "w:gz") as archive:
        archive.add(packed, "home-1")
    file = rows(
        *ROWS,
        row("open_drawer", "Look at the drawer.", "ben/bank", "vault.py"),
        row("turn", "Turn a key.", "cat/home", "key.py"),
        name="rows.jsonl.gz",
    )
    out = tmp_path / "runs"
    told = workbench("evaluate", "search", file, "--repositories", homes, *BY_WORDS, "--run-out", out)
    found = told.json()
    assert (found["queries"], found["repositories"], found["functions"]) == (5, 3, 7)
    assert (found["repository"], found["commit"], found["left_out"]) == (None, None, {})
    run = read_run(out / "bm25.run")
    assert all(code.split(":")[0] == query.split(":")[0] for query, ranked in run.items() for code in ranked)
    vault = "ben/bank:vault.py:1:open_drawer"
    assert run[vault] == [vault]
    # The words of the whole docstring count: "paid" is one of them.
    assert run[f"ann/shop:{CHANGE}"][0] == f"ann/shop:{CHANGE}"
    # Of "Make the door safe." no word is in the function but the name of its class, which is not.
    assert methods(told)["bm25"]["success@1"] == pytest.approx(4 / 5)


def test_parameters_are_cut_from_queries(rows: Any, homes: Path, served: Any, workbench: Any) -> None:
    file = rows(CHANGE_ROW)
    options = ("--repositories", homes, *WITH_MODEL, "--streams", "query", "--stream-query", "augmented")
    assert workbench("evaluate", "search", file, *options).code == 0
    assert workbench("evaluate", "search", file, *options, "--cut-parameters").code == 0
    whole, cut = (seen.text for seen in served.requests)
    assert "Pay back the difference. :param paid: What was given." in whole
    assert "Pay back the difference." in cut
    assert "What was given" not in cut


@pytest.mark.parametrize(
    ("docstring", "left"),
    [
        ("Adds.\n\n:param a: The\n    first.\n:type a: int\n:raises E: Never.\n:return: Sum.", "Adds.\n\n:raises E: Never."),
        ("Adds.\n\n    Args:\n        a: The first.\n\n        b: Other.\n\n    Raises:\n        E: Never.\n", "Adds.\n\nRaises:\n    E: Never."),
        ("Adds.\n\nParameters\n----------\na : int\n    First.\n\nb : int\n\nReturns\n-------\nint\n\nNotes\n-----\nQuick.", "Adds.\n\nNotes\n-----\nQuick."),
        ("Adds.\n@param a the\nfirst\n@throws E never\n@return sum", "Adds.\n@throws E never"),
        ("This adds :param a: first :return: the sum", "This adds"),
        ("Args:\n    a: The first.\n\nAdds.", "Adds."),
        ("Adds.\nReturns: the sum", "Adds."),
        ("Returns the sum of the arguments. See :rfc:`2131`.", "Returns the sum of the arguments. See :rfc:`2131`."),
        (":param a: first", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_what_is_cut_of_a_docstring(docstring: str, left: str) -> None:
    assert cut_parameters(docstring) == left


def test_what_is_left_out_is_counted(
    rows: Any, homes: Path, tmp_path: Path, workbench: Any, monkeypatch: Any
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "till.py").write_text(TILL)
    (homes / "linked").symlink_to(tmp_path / "outside")
    (homes / "broken.zip").write_text("no archive")
    (homes / "large").mkdir()
    (homes / "large" / "a.py").write_text("def a():\n    pass\n" * 9)
    monkeypatch.setattr(code_search_net, "MOST_UNITS", 8)
    file = rows(
        *ROWS,
        "no JSON",
        "[1]",
        row("Till.give_change", "") | {"path": 7},
        {"repo": "ann/shop", "path": "till.py", "func_name": "greet"},
        row("greet", "\n  "),
        row("greet", "x" * 20_001),
        ROWS[1],
        row("greet", "Say hello.", path="gone.py"),
        row("Till", "A drawer."),
        row("open_drawer", "Open it twice."),
        row("lock", "Lock it.", "dan/nowhere"),
        row("lock", "Lock it.", "../outside"),
        row("lock", "Lock it.", "x" * 3000),
        row("give_change", "Of a link.", "eve/linked"),
        row("a", "Broken.", "fay/broken", "a.py"),
        row("a", "Large.", "gil/large", "a.py"),
    )
    told = workbench("evaluate", "search", file, "--repositories", homes, *BY_WORDS)
    assert told.code == 0, told.out
    assert told.json()["left_out"] == {
        "lines that are no row": 5,
        "rows without a docstring": 1,
        "docstrings over 20,000 characters": 1,
        "rows that are there twice": 2,
        "function not in its repository": 2,
        "repository not found": 3,
        "repository cannot be read": 1,
        "repository over a limit": 1,
    }
    assert told.json()["queries"] == 3


def test_another_row_is_drawn_for_one_that_is_left_out(rows: Any, homes: Path, workbench: Any) -> None:
    file = rows(*(row(f"gone_{number}", f"Gone {number}.") for number in range(20)), *ROWS)
    drawn = set()
    for seed in range(12):
        options = ("--repositories", homes, *BY_WORDS, "--docstrings", 1, "--seed", seed)
        found = workbench("evaluate", "search", file, *options).json()
        assert found["queries"] == 1
        drawn.add(found["left_out"].get("function not in its repository", 0))
    assert len(drawn) > 3
    every = workbench("evaluate", "search", file, "--repositories", homes, *BY_WORDS).json()
    assert (every["queries"], every["left_out"]) == (3, {"function not in its repository": 20})


def test_characters_that_cannot_be_stored(rows: Any, homes: Path, tmp_path: Path, workbench: Any) -> None:
    file = rows(row("open_drawer", "Open \ud800 a\0 drawer."))
    study = tmp_path / "study.duckdb"
    told = workbench("evaluate", "search", file, "--repositories", homes, *BY_WORDS, "--into", study)
    assert methods(told)["bm25"]["success@1"] == 1
    assert told.json()["kept"]


def test_a_row_in_another_spelling_is_there_twice(rows: Any, homes: Path, workbench: Any) -> None:
    (homes / "lib").mkdir()
    (homes / "lib" / "a.py").write_text("def f():\n    return 1\n")
    file = rows(
        ROWS[1],
        ROWS[1] | {"repo": "/ann/shop/", "path": "/till.py"},
        row("f", "Do it.", "ann/lib", "a.py"),
        row("f", "Do it.", "ben/lib", "./a.py"),
    )
    told = workbench("evaluate", "search", file, "--repositories", homes, *BY_WORDS).json()
    assert (told["queries"], told["repositories"]) == (2, 2)
    assert told["left_out"] == {"rows that are there twice": 2}


def test_the_first_name_that_holds_a_text_counts(rows: Any, homes: Path, workbench: Any) -> None:
    file = rows(ROWS[1] | {"docstring": None, "docstring_summary": "Make the door safe."})
    told = workbench("evaluate", "search", file, "--repositories", homes, *BY_WORDS).json()
    assert (told["queries"], told["left_out"]) == (1, {})


def test_a_file_that_cannot_be_evaluated(rows: Any, homes: Path, tmp_path: Path, workbench: Any) -> None:
    damaged = tmp_path / "damaged.jsonl.gz"
    damaged.write_bytes(gzip.compress(b"{}" * 1000)[:-12])
    for file, folder, title in (
        (rows("no JSON", name="a.jsonl"), homes, "No query"),
        (rows(row("gone", "Gone."), name="b.jsonl"), homes, "No query"),
        (rows(*ROWS, name="c.jsonl"), tmp_path / "nowhere", "No folder of repositories"),
        (tmp_path / "nowhere.jsonl", homes, "Cannot read file"),
        (rows(name="d.jsonl"), homes, "Empty file"),
        (damaged, homes, "Damaged gzip file"),
    ):
        told = workbench("evaluate", "search", file, "--repositories", folder, *BY_WORDS)
        assert (told.code, told.json()["error"]["title"]) == (2, title), told.out
    told = workbench("evaluate", "search", rows(*ROWS), *BY_WORDS)
    assert (told.code, told.json()["error"]["title"]) == (2, "No repositories")


# -- in a workspace -----------------------------------------------------------------------------------


def test_rankings_are_kept_and_compared_query_by_query(
    shop: Path, served: Any, tmp_path: Path, workbench: Any
) -> None:
    study = tmp_path / "study.duckdb"
    evaluate = ("evaluate", "search", shop, *WITH_MODEL, "--into", study)
    told = workbench(*evaluate)
    found = methods(told)
    assert told.json()["kept"]
    report = ("report", study, "retrieval", "--json")
    strict = workbench(*report, "--rater", "docstrings").json()
    with_classes = workbench(*report, "--rater", "docstrings or classes").json()
    for name, scores in found.items():
        assert strict["methods"][name]["mrr@10"] == pytest.approx(scores["mrr"])
        assert with_classes["methods"][name]["mrr@10"] == pytest.approx(scores["mrr_class"])
    compared = workbench(*report, "--rater", "docstrings", "--compare", "union,bm25").json()
    assert {one["text"] for one in compared["queries"]} == {
        "Pay back the difference.",
        "Make the door safe.",
        "Open a drawer.",
    }
    items = workbench("items", study, "--json").json()["items"]
    assert {(one["name"], one["query"]) for one in items} >= {("Door.lock", "Make the door safe.")}
    asked = len(served.requests)
    again = workbench(*evaluate)
    assert again.json()["kept"]
    assert workbench("items", study, "--json").json()["items"] == items
    assert workbench(*report, "--rater", "docstrings").json()["codes"] == strict["codes"] == 7
    assert len(served.requests) == asked
    assert methods(again)["union"] == found["union"] | {
        "requests": 0,
        "cost": 0,
        "seconds": methods(again)["union"]["seconds"],
    }
    assert "replaced" not in again.err


def test_other_queries_are_added_and_other_functions_replace(
    shop: Path, tmp_path: Path, workbench: Any
) -> None:
    study = tmp_path / "study.duckdb"
    evaluate = ("evaluate", "search", shop, *BY_WORDS, "--into", study, "--docstrings", 1, "--seed")

    def queries() -> int:
        report = workbench("report", study, "retrieval", "--rater", "docstrings", "--json").json()
        return sum(one["queries"] for one in report["rankings"])

    for seed in range(12):
        assert workbench(*evaluate, seed).json()["kept"]
    assert queries() == 3
    (shop / "more.py").write_text("def knock(door):\n    return door\n")
    assert workbench(*evaluate, 0).says("were of something else; they are replaced")
    assert queries() == 1


def test_a_workspace_is_not_kept_where_nothing_was_evaluated(
    tmp_path: Path, workbench: Any, shop: Path
) -> None:
    (shop / "till.py").write_text("def f():\n    return 1\n")
    study = tmp_path / "study.duckdb"
    told = workbench("evaluate", "search", shop, *BY_WORDS, "--into", study)
    assert (told.code, told.json()["error"]["title"]) == (2, "No docstring")
    assert not study.exists()
