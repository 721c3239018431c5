"""Files of comparisons: small ones of every format, read without a workspace and through one."""

import json

import pytest

from store.ingest.importing import import_files
from store.ingest.votes import read_votes
from store.kinds.comparison import BOTH_BAD, in_canonical_order
from store.measures.preference_report import Options, preference_report
from store.queries.preferences import preference_votes
from store.workspace.duckdb import Workspace


def talk(*turns):
    roles = ("user", "assistant")
    return [{"role": roles[place % 2], "content": text} for place, text in enumerate(turns)]


def battle(question, a, b, winner, judge=None, turns=1, **more):
    one, other = (
        talk(*(part for n in range(2) for part in (f"question {question}.{n}", f"{name} {question}.{n}")))
        for name in (a, b)
    )
    return {
        "question_id": question, "model_a": a, "model_b": b, "winner": winner, "judge": judge,
        "turn": turns, "conversation_a": one, "conversation_b": other, **more,
    }  # fmt: skip


PAIR_PROMPT = (
    "[User Question]\nWhich?\n\n[The Start of Assistant A's Answer]\nred one\n[The End of Assistant A's Answer]"
    "\n\n[The Start of Assistant B's Answer]\nblue\n[The End of Assistant B's Answer]"
)
TALK_PROMPT = "".join(
    f"<|The Start of Assistant {who}'s Conversation with User|>\n\n### User:\nWhich?\n\n### Assistant {who}:\n"
    f"{colour}\n\n### User:\nWhy?\n\n### Assistant {who}:\nso\n\n"
    f"<|The End of Assistant {who}'s Conversation with User|>\n\n\n"
    for who, colour in (("A", "red"), ("B", "blue"))
)


def pair(question, g1, g2, **more):
    return {
        "question_id": question, "model_1": "red", "model_2": "blue", "g1_winner": g1, "g2_winner": g2,
        "judge": ["gpt-4", "pair-v2"], "g1_user_prompt": PAIR_PROMPT, "g1_judgment": "first [[A]]",
        "g2_user_prompt": "", "g2_judgment": "then [[B]]", "turn": 1, "tstamp": 1.5, **more,
    }  # fmt: skip


def games(question, *scores, **more):
    played = [{"score": score, "judgment": {"answer": f"my verdict: [[{score}]]"}} for score in scores]
    return {"uid": question, "model": "red", "baseline": "blue", "judge": "gpt-4.1", "games": played, **more}


def panda(number, one, other, *labels):
    named = {f"annotator{place}": label for place, label in enumerate(labels, start=1)}
    return {
        "idx": number, "cmp_key": f"{one}_{other}", "instruction": "Say it", "input": f"loud {number}",
        "response1": f"{one} says {number}", "response2": f"{other} shouts {number}", **named,
    }  # fmt: skip


def alpaca(text, preference, annotator="judge-1"):
    return {
        "instruction": text, "output_1": "short", "output_2": "much longer", "generator_1": "red",
        "generator_2": "blue", "annotator": annotator, "preference": preference, "dataset": "made",
    }  # fmt: skip


def own(prompt, first, *verdicts):
    """A record of our own form, with the verdicts (judge, value, order) of models on its first candidate."""
    second = "blue" if first == "red" else "red"
    given = [
        {"judge": judge, "value": value} | ({"order": order} if order else {})
        for judge, value, order in verdicts
    ]
    return {
        "prompt": prompt, "first": f"{first} code", "second": f"{second} code",
        "first_name": first, "second_name": second, "verdicts": given,
    }  # fmt: skip


def files(folder, **records):
    paths = []
    for name, some in records.items():
        paths.append(folder / f"{name}.json")
        paths[-1].write_text(json.dumps(some))
    return paths


def of(votes, *, orders=False):
    """The votes as (winner's name or tie, rater), from the names of the candidates."""
    found = []
    for one in votes.orders if orders else votes.labels:
        pairing = votes.items[one.item]
        won = {1: pairing.first, -1: pairing.second, 0: "tie"}[one.winner]
        left = {True: pairing.first, False: pairing.second, None: None}[one.first_left]
        found.append((one.rater, won, abs(one.value), left))
    return found


CASES = {
    "arena": [
        battle("q1", "red", "blue", "model_a", "ana"),
        battle("q1", "blue", "red", "model_a", "ben"),
        battle("q2", "red", "blue", "tie (bothbad)", "ana", turns=2),
        battle("q1", "red", "blue", "model_b", "ana"),
        battle("q1", "red", "blue", "tie", ["gpt-4", "pair-v2"]),
    ],
    "mt_bench": [
        pair(81, "model_1", "model_1"),
        pair(82, "model_1", "model_2", g1_user_prompt=PAIR_PROMPT.replace("Which", "What")),
        pair(83, "tie", "error", g1_user_prompt=PAIR_PROMPT.replace("Which", "How")),
        pair(81, "model_2", "model_2", turn=2, g1_user_prompt=TALK_PROMPT),
    ],
    "arena_hard": [
        games("a", "B>>A", "A>B"),
        games("b", "A=B", "B>A"),
        games("c", "A>B", None),
    ],
    "pandalm": [panda(0, "red", "blue", 1, 1, 0), panda(1, "blue", "red", 2, 2, 2)],
    "alpaca": [alpaca("one", 1), alpaca("two", 1.93), alpaca("three", 1.5), alpaca("four", None)],
    "own": [
        own("one", "red", ("gpt-4", 2, "as-listed"), ("gpt-4", 1, "swapped"), ("claude", -1, None)),
        own("two", "blue", ("gpt-4", 1, "swapped"), ("gpt-4", -1, "as-listed")),
        own("three", "red", ("gpt-4", 1, "as-listed")),
    ],
}

LABELS = {
    "arena": [
        ("ana", "red", 1, "red"),
        ("ben", "blue", 1, "blue"),
        ("ana", "tie", 0, "red"),
        ("gpt-4", "tie", 0, None),
    ],
    # Equal winners stand; a disagreement is a tie; without a second verdict there is none.
    "mt_bench": [("gpt-4", "red", 1, None), ("gpt-4", "tie", 0, None), ("gpt-4", "blue", 1, None)],
    # The model is on the right in the first game: B>>A is much better, and A>B of the second better.
    "arena_hard": [("gpt-4.1", "red", 1, None), ("gpt-4.1", "tie", 0, None)],
    "pandalm": [
        ("annotator1", "red", 1, "red"),
        ("annotator2", "red", 1, "red"),
        ("annotator3", "tie", 0, "red"),
        ("annotator1", "red", 1, "blue"),
        ("annotator2", "red", 1, "blue"),
        ("annotator3", "red", 1, "blue"),
    ],
    "alpaca": [("judge-1", "red", 1, None), ("judge-1", "blue", 1, None), ("judge-1", "tie", 0, None)],
    "own": [("gpt-4", "red", 1, None), ("claude", "blue", 1, None), ("gpt-4", "tie", 0, None),
            ("gpt-4", "red", 1, None)],
}  # fmt: skip

ORDERS = {
    "arena": [("gpt-4", "tie", 0, "red")],
    "mt_bench": [
        ("gpt-4", "red", 1, "red"), ("gpt-4", "red", 1, "blue"),
        ("gpt-4", "red", 1, "red"), ("gpt-4", "blue", 1, "blue"),
        ("gpt-4", "tie", 0, "red"),
        ("gpt-4", "blue", 1, "red"), ("gpt-4", "blue", 1, "blue"),
    ],
    "arena_hard": [
        ("gpt-4.1", "red", 2, "blue"), ("gpt-4.1", "red", 1, "red"),
        ("gpt-4.1", "tie", 0, "blue"), ("gpt-4.1", "blue", 1, "red"),
        ("gpt-4.1", "blue", 1, "blue"),
    ],
    "pandalm": [],
    "alpaca": [("judge-1", "red", 1, None), ("judge-1", "blue", 1, None), ("judge-1", "tie", 0, None)],
    "own": [
        ("gpt-4", "red", 2, "red"), ("gpt-4", "red", 1, "blue"), ("claude", "blue", 1, None),
        ("gpt-4", "blue", 1, "red"), ("gpt-4", "red", 1, "blue"), ("gpt-4", "red", 1, "red"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_file_gives_the_same_votes_with_and_without_a_workspace(name, tmp_path):
    paths = files(tmp_path, **{name: CASES[name]})
    votes = read_votes(paths)
    assert of(votes) == LABELS[name]
    assert sorted(of(votes, orders=True), key=str) == sorted(ORDERS[name], key=str)
    with Workspace.create(tmp_path / "w.duckdb") as workspace:
        first = import_files(workspace, paths)
        again = import_files(workspace, paths)
        with workspace.reading() as connection:
            stored = preference_votes(connection)
            texts = connection.exec_driver_sql(
                "SELECT p.text, c.first, c.second, c.first_name FROM comparison c JOIN prompt p ON p.id = prompt_id"
            ).fetchall()
    assert first.adds
    assert not again.adds
    assert sorted(of(stored), key=str) == sorted(LABELS[name], key=str)
    assert sorted(of(stored, orders=True), key=str) == sorted(ORDERS[name], key=str)
    assert stored.judges == votes.judges
    assert all(
        in_canonical_order("", prompt, (one, "a"), (other, "b")) or one == other
        for prompt, one, other, _ in texts
    )
    of_file, of_workspace = (
        preference_report(one, Options(resamples=20)).to_dict() for one in (votes, stored)
    )
    assert json.dumps(of_file, default=str) == json.dumps(of_workspace, default=str)


def test_texts_are_taken_out_of_what_a_judge_was_given(tmp_path):
    with Workspace.create(tmp_path / "w.duckdb") as workspace:
        import_files(workspace, files(tmp_path, pairs=CASES["mt_bench"]))
        with workspace.reading() as connection:
            rows = connection.exec_driver_sql(
                "SELECT p.text, [c.first, c.second] FROM comparison c JOIN prompt p ON p.id = prompt_id"
            ).fetchall()
            (comments,) = zip(
                *connection.exec_driver_sql("SELECT comment FROM judgment WHERE phase <> 'review'"),
                strict=True,
            )
    texts = [(prompt, set(both)) for prompt, both in rows]
    assert ("Which?", {"red one", "blue"}) in texts
    assert any(prompt == "Which?" and any("### User:\nWhy?" in one for one in both) for prompt, both in texts)
    assert {"first [[A]]", "then [[B]]"} <= set(comments)


def test_both_bad_is_a_tie_with_a_reason(tmp_path):
    with Workspace.create(tmp_path / "w.duckdb") as workspace:
        import_files(workspace, files(tmp_path, arena=CASES["arena"]))
        with workspace.reading() as connection:
            found = connection.exec_driver_sql(
                "SELECT value FROM judgment WHERE reason = ?", (BOTH_BAD,)
            ).fetchall()
            votes = preference_votes(connection)
    assert found == [(0.0,)]
    assert [one.both_bad for one in votes.labels].count(True) == 1


def test_a_judge_of_pandalm_needs_the_test_set(tmp_path, workbench):
    judged = [{"idx": 0, "gpt_result": "1", "gpt_reason": "so"}, {"idx": 1, "gpt_result": "garbage"}]
    both = files(tmp_path, judged=judged, test=CASES["pandalm"])
    votes = read_votes(both)
    assert of(votes, orders=True) == [("gpt-3.5-turbo", "red", 1, "red")]
    done = workbench("measure", "preference", both[0], "--json")
    assert done.code == 2
    assert "is in none of the files of the test set" in json.loads(done.out)["error"]["message"]


def test_names_and_the_order_of_import_leave_comparisons_as_they_are(tmp_path):
    """With the texts held fixed, other names change neither ids nor hashes nor the order of candidates."""
    swapped = {"red": "blue", "blue": "red"}
    stored = []
    for place, names in enumerate(({}, swapped)):
        records = [panda(number, "red", "blue", 1) for number in range(40)]
        for record in records:
            record["cmp_key"] = "_".join(names.get(one, one) for one in record["cmp_key"].split("_"))
        with Workspace.create(tmp_path / f"{place}.duckdb") as workspace:
            import_files(workspace, files(tmp_path, test=records))
            with workspace.reading() as connection:
                stored.append(
                    connection.exec_driver_sql(
                        "SELECT i.id, external_id, content_hash, group_id, extra, c.first, c.second, about, made_from "
                        "FROM item i JOIN comparison c ON c.item_id = i.id ORDER BY i.id"
                    ).fetchall()
                )
    assert stored[0] == stored[1]
    on_first = sum(row[5].startswith("red") for row in stored[0])
    assert 10 < on_first < 30


def test_measure_preference_prints_ratings_and_refuses_other_files(tmp_path, workbench):
    cycle = [
        battle(f"q{n}", a, b, "model_a")
        for n in range(4)
        for a, b in (("red", "blue"), ("blue", "green"), ("green", "red"))
    ]
    (path,) = files(tmp_path, battles=cycle)
    done = workbench("measure", "preference", path, "--baseline", "red", "--elo-k", 32, "--bootstrap", 50)
    assert done.code == 0, done.err
    assert "Elo, K 32" in done.out
    assert "Score against red" in done.out
    found = json.loads(workbench("measure", "preference", path, "--json", "--bootstrap", 0).out)
    assert [round(one["bradley_terry"], 6) for one in found["ratings"]] == [1000.0] * 3
    assert {one["rank_sandwich"] for one in found["ratings"]} == {1}
    assert [one["battles"] for one in found["settled"]][-1] == 12
    assert found["n"]["battles"] == 12
    lost = [battle(f"q{n}", "red", "blue", "model_a") for n in range(3)]
    (path,) = files(tmp_path, lost=lost)
    found = json.loads(workbench("measure", "preference", path, "--json").out)
    assert found["ratings"][0]["bradley_terry"] is None
    assert found["why_no_rating"] == "blue never lost" or "never" in found["why_no_rating"]
    found = json.loads(workbench("measure", "preference", path, "--json", "--prior", 1).out)
    assert found["ratings"][0]["candidate"] == "red"
    assert found["ratings"][0]["bradley_terry"] > 1000
    (tmp_path / "pairs.jsonl").write_text(json.dumps({"id": "p", "query": "q", "code": "c"}))
    done = workbench("measure", "preference", tmp_path / "pairs.jsonl")
    assert done.code == 2
    assert "holds no comparisons" in " ".join(done.err.split())


def written(folder, name, records):
    file = folder / f"{name}.json"
    file.write_text(json.dumps(records))
    return file


def wins_of(votes):
    return {one.candidate: one.wins for one in preference_report(votes, Options(resamples=0)).ratings}


def test_the_same_texts_with_the_names_exchanged_are_another_comparison(tmp_path):
    def answered(a, b, winner, judge):
        talks = {f"conversation_{side}": talk("Sure?", said) for side, said in (("a", a), ("b", b))}
        return {"model_a": "red", "model_b": "blue", "winner": winner, "judge": judge, **talks}

    records = [answered("Yes", "No", "model_a", "ana"), answered("No", "Yes", "model_b", "ben")]
    files = [written(tmp_path, f"{place}", [record]) for place, record in enumerate(records)]
    assert wins_of(read_votes(files)) == {"red": 1, "blue": 1}
    with Workspace.create(tmp_path / "w.duckdb") as workspace:
        for file in files:
            import_files(workspace, [file])
        with workspace.reading() as connection:
            assert wins_of(preference_votes(connection)) == {"red": 1, "blue": 1}


def test_battles_of_several_files_without_questions_stay_apart(tmp_path):
    battles = [{"model_a": "red", "model_b": "blue", "winner": f"model_{side}"} for side in "ab"]
    for name in "12":
        (tmp_path / name).mkdir()
    files = [written(tmp_path / name, "battles", [one]) for name, one in zip("12", battles, strict=True)]
    assert wins_of(read_votes(files)) == {"red": 1, "blue": 1}


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([panda(1, "red", "blue", 1), panda(1, "red", "green", 2)], "duplicate id '1'"),
        (
            [{"prompt": "p", "first": "a", "second": "b", "first_name": "red", "second_name": "red"}],
            "'red' is compared with itself",
        ),
        (
            [own("p", "red") | {"file_order": "left"}],
            "'file_order' is 'left', and none of as-listed, swapped",
        ),
    ],
)
def test_records_that_are_no_comparison_of_their_own_are_refused(records, said, tmp_path, workbench):
    file = written(tmp_path, "some", records)
    for command in (("measure", "preference", file), ("import", tmp_path / "w.duckdb", file)):
        done = workbench(*map(str, command))
        assert (done.code, said in " ".join(done.err.replace("│", "").split())) == (2, True)
