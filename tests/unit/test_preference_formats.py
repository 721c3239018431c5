"""Files of comparisons: small ones of every format, read without a workspace and through one."""

import hashlib
import json
import random
from collections import Counter
from itertools import combinations
from math import comb

import numpy
import pytest

from store.analysis.preferences import preference_votes
from store.ingest.importing import import_files
from store.ingest.votes import read_votes
from store.json_fields import json_fields
from store.kinds.comparison import BOTH_BAD, in_canonical_order
from store.measures.preference_report import Options, preference_report
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
    "alpaca": [
        alpaca("one", 1),
        alpaca("two", 1.93),
        alpaca("three", 1.5),
        alpaca("four", None),
        alpaca("five", 0.0),
    ],
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
    "alpaca": [
        ("judge-1", "red", 1, None), ("judge-1", "blue", 1, None),
        ("judge-1", "tie", 0, None), ("judge-1", "tie", 0, None),
    ],
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
    "alpaca": [
        ("judge-1", "red", 1, None), ("judge-1", "blue", 1, None),
        ("judge-1", "tie", 0, None), ("judge-1", "tie", 0, None),
    ],
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
        json_fields(preference_report(one, Options(resamples=20))) for one in (votes, stored)
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
    assert "holds no comparisons" in " ".join(done.err.replace("│", "").split())


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


def test_ties_of_alpaca_eval_are_0_and_15_and_verdicts_are_counted_once(tmp_path, workbench):
    """The published figure of text_davinci_001: 112 wins, 672 losses, 20 ties that are written as 0, one null."""
    preferences = [2.0] * 112 + [1.0] * 672 + [0.0] * 19 + [1.5] + [None]
    random.Random(0).shuffle(preferences)
    annotations = [alpaca(f"i{n}", each) for n, each in enumerate(preferences)]
    path, wrong = files(tmp_path, annotations=annotations, wrong=[alpaca("one", 0.5)])
    imported = workbench("import", tmp_path / "w.duckdb", path, "--json").json()
    assert imported["judgments_added"] == {"judge-1": 804}
    done = workbench("import", tmp_path / "w.duckdb", path)
    assert ("804 judgments already there" in done.out, "left out: 1" in done.out) == (True, True)
    options = ("--bootstrap", 0, "--json")
    of_file = workbench("measure", "preference", path, *options).json()
    of_workspace = workbench("report", tmp_path / "w.duckdb", "preference", *options).json()
    given = [one for one in preferences if one is not None]
    rate = sum(1 if one == 2 else 0.5 if one in (0, 1.5) else 0 for one in given) / len(given)
    assert 100 * rate == pytest.approx(15.174, abs=0.0005)
    for found in (of_file, of_workspace):
        blue = next(one for one in found["win_rate"]["candidates"] if one["candidate"] == "blue")
        assert (blue["wins"], blue["losses"], blue["ties"], blue["rate"]) == (112, 672, 20, rate)
        assert (found["n"]["items"], found["n"]["votes"], found["n"]["without_vote"]) == (805, 804, 1)
    assert list(of_file["notes"].values()) == [1]
    text = workbench("measure", "preference", path, "--bootstrap", 0).out
    assert "without a vote: 1" in text
    unread = "when read: verdicts that are no choice (an error, or a reply that could not be read), left out"
    assert unread[:40] in text
    refused = workbench("measure", "preference", wrong, "--json").json()["error"]["message"]
    assert "(0.5) where a number from 1 to 2, or 0 for a tie, is expected" in refused


def asked(question, one, other, *, later=None, models=("red", "blue")):
    """What a judge of MT-bench is asked in the first game, and the conversations that people saw."""
    if later is None:
        prompt = (
            f"[User Question]\n{question}\n\n[The Start of Assistant A's Answer]\n{one}\n"
            f"[The End of Assistant A's Answer]\n\n[The Start of Assistant B's Answer]\n{other}\n"
            "[The End of Assistant B's Answer]"
        )
        return prompt, talk(question, one), talk(question, other)
    prompt = "\n\n\n".join(
        f"<|The Start of Assistant {who}'s Conversation with User|>\n\n### User:\n{question}\n\n"
        f"### Assistant {who}:\n{first}\n\n### User:\n{later}\n\n### Assistant {who}:\n{second}\n\n"
        f"<|The End of Assistant {who}'s Conversation with User|>"
        for who, (first, second) in (("A", one), ("B", other))
    )
    return prompt, talk(question, one[0], later, one[1]), talk(question, other[0], later, other[1])


def mt_bench(number, winner, games, *texts, **more):
    """A battle that ana judged, and the judgment of both games of the same answers."""
    prompt, one, other = asked(*texts, **more)
    turn = 1 if more.get("later") is None else 2
    human = battle(number, "red", "blue", winner, "ana", turns=turn, conversation_a=one, conversation_b=other)
    return human, pair(number, *games, turn=turn, g1_user_prompt=prompt)


BOTH = [
    mt_bench(n, winner, games, f"question {n}", f"answer {n} of red", f"answer {n} of blue")
    for n, winner, games in (
        (1, "model_a", ("model_1", "model_1")),
        (2, "model_b", ("model_1", "model_1")),
        (3, "tie", ("tie", "tie")),
    )
] + [
    mt_bench(
        n, "model_a", ("model_1", "model_1"), f"question {n}", (f"red {n}", "so"), (f"blue {n}", "no"), later="Why?"
    )
    for n in range(1, 9)
]  # fmt: skip


def test_people_and_judges_of_mt_bench_meet_on_the_same_items(tmp_path, workbench):
    people, judges = (list(records) for records in zip(*BOTH, strict=True))
    both = files(tmp_path, people=people, judges=judges)
    votes = read_votes(both)
    assert len(votes.items) == len(BOTH)
    first, *others = (
        workbench("import", tmp_path / f"{n}.duckdb", *both[::n], "--json").json() for n in (1, -1)
    )
    assert first["items_added"] == others[0]["items_added"] == len(BOTH)
    assert first["judgments_added"] == {"ana": len(BOTH), "gpt-4": len(BOTH)}
    assert sum(one["orders_added"] for one in first["files"]) == 2 * len(BOTH)
    report = workbench("report", tmp_path / "1.duckdb", "preference", "--bootstrap", 0, "--json").json()
    (between,) = report["agreement"]["between"]
    # Equal on all but the second: of 11 votes of ana with one of the judge each.
    assert (between["with_ties"]["pairs"], between["with_ties"]["equal"]) == (11, 10)
    # Its interval is over prompts: of the first three two turns each, of which one differs.
    drawn = numpy.random.default_rng(1).integers(0, 8, (40_000, 8))
    equal, pairs = numpy.array([2, 1, 2, *[1] * 5]), numpy.array([2] * 3 + [1] * 5)
    shares = equal[drawn].sum(axis=1) / pairs[drawn].sum(axis=1)
    resampled = workbench("report", tmp_path / "1.duckdb", "preference", "--bootstrap", 4000, "--json").json()
    interval = resampled["agreement"]["between"][0]["with_ties"]
    assert (interval["low"], interval["high"]) == pytest.approx(
        numpy.quantile(shares, [0.025, 0.975]), abs=0.02
    )
    assert report["n"]["prompts"] == 8
    (position,) = [one for one in report["position"] if one["rater"] == "gpt-4"]
    assert (position["both_orders"], position["consistent"]) == (11, 11)


def hashed(*parts):
    """The id of a comparison, and the hash by which its candidates are ordered, as they always were."""
    whole = b"".join(f"{len(part.encode())}:".encode() + part.encode() for part in parts)
    return hashlib.sha256(whole).hexdigest()


def earlier(made_from, prompt, one, other):
    """A comparison of red and blue as an earlier version stored it, in our own form."""
    sides = sorted([("red", one), ("blue", other)], key=lambda side: hashed("", prompt, side[1]))
    (first_name, first), (second_name, second) = sides
    number = hashed(made_from, prompt, first, second, first_name, second_name)[:16]
    return {"id": number, "prompt": prompt, "first": first, "second": second, "first_name": first_name,
            "second_name": second_name, "made_from": made_from, "about": "answers"}  # fmt: skip


def test_a_comparison_under_the_id_of_an_earlier_version_is_found(tmp_path):
    """Of both files: a battle of two turns had another text, and so another order of its candidates."""
    people, judges = (list(records) for records in zip(*BOTH, strict=True))
    singles = [(f"question {n}", f"answer {n} of red", f"answer {n} of blue") for n in (1, 2, 3)]
    of_battles = [(f"question {n}\n\nWhy?", *(f"{who} {n}\n\n### User:\nWhy?\n\n{end}"
                   for who, end in (("red", "so"), ("blue", "no")))) for n in range(1, 9)]  # fmt: skip
    of_pairs = [(f"question {n}", *(f"{who} {n}\n\n### User:\nWhy?\n\n### Assistant:\n{end}"
                 for who, end in (("red", "so"), ("blue", "no")))) for n in range(1, 9)]  # fmt: skip
    for made_from, texts in (("arena", of_battles), ("mt-bench-pairs", of_pairs)):
        old = [earlier(made_from, *one) for one in (*singles, *texts)]
        stored, *new = files(tmp_path, old=old, people=people, judges=judges)
        path = tmp_path / f"{made_from}.duckdb"
        with Workspace.create(path) as workspace:
            import_files(workspace, [stored], prefix="x/")
            for file in new:
                assert import_files(workspace, [file], prefix="x/").items_added == 0
            with workspace.reading() as connection:
                votes = preference_votes(connection)
        whole = Counter((rater, won) for rater, won, *_ in of(votes))
        assert whole == {
            ("ana", "red"): 9, ("ana", "blue"): 1, ("ana", "tie"): 1,
            ("gpt-4", "red"): 10, ("gpt-4", "tie"): 1,
        }  # fmt: skip
        assert {left for _, won, _, left in of(votes) if won != "tie"} == {"red", None}
        assert Counter(left for *_, left in of(votes, orders=True)) == {"red": 11, "blue": 11}
    first_of = [[one["first_name"] for one in map(earlier, [""] * 8, *zip(*texts, strict=True))]
                for texts in (of_battles, of_pairs)]  # fmt: skip
    assert first_of[0] != first_of[1]


def test_verdicts_on_equal_texts_count_as_ties_and_it_is_said(tmp_path, workbench):
    same = [mt_bench(n, "model_a", ("model_1", "model_1"), f"q{n}", "alike", "alike") for n in range(2)]
    other = [mt_bench(9, "model_b", ("model_2", "model_2"), "q9", "one", "two")]
    people, judges = (list(records) for records in zip(*same, *other, strict=True))
    both = files(tmp_path, people=people, judges=judges)
    path = tmp_path / "w.duckdb"
    assert workbench("import", path, *both).code == 0
    options = ("--bootstrap", 0, "--json")
    reports = [
        workbench("measure", "preference", *both, *options).json(),
        workbench("report", path, "preference", *options).json(),
    ]
    for found in reports:
        assert {one["candidate"]: (one["wins"], one["losses"], one["ties"]) for one in found["ratings"]} == {
            "red": (0, 1, 2), "blue": (1, 0, 2),
        }  # fmt: skip
        assert found["n"]["equal_texts"] == 2
    said = "2 comparisons, whose"
    for report in ("preference", "agreement", "accuracy", "confusion", "labels"):
        question = () if report == "preference" else ("--question", "comparison.preference")
        raters = ("--raters", "ana,gpt-4") if report in ("agreement", "confusion") else ()
        against = ("--policy", "ana") if report == "accuracy" else ()
        done = workbench("report", path, report, *question, *raters, *against)
        assert (done.code, said in done.out) == (0, True), (report, done.out, done.err)
    counts = workbench("report", path, "labels", "--question", "comparison.preference", "--json").json()
    at = counts["values"].index(0)
    assert {one["rater"]: one["counts"][at] for one in counts["raters"]} == {"ana": 2, "gpt-4": 2}
    # The record keeps what was said.
    with Workspace.open(path) as workspace, workspace.reading() as connection:
        kept = connection.exec_driver_sql("SELECT count(*) FROM judgment WHERE value <> 0").scalar()
    assert kept == 3 * 4


def test_tests_of_many_pairs_are_corrected_by_holm(tmp_path, workbench):
    names = ["red", "blue", "green", "grey"]
    draw = random.Random(2)
    records = [
        battle(
            f"q{n}",
            one,
            other,
            "model_a" if draw.random() < chance else "model_b",
            draw.choice(["ana", "ben"]),
        )
        for chance, (one, other) in zip((0.95, 0.8, 0.7, 0.6, 0.5, 0.4), combinations(names, 2), strict=True)
        for n in range(30)
    ]
    (path,) = files(tmp_path, battles=records)
    found = workbench("measure", "preference", path, "--bootstrap", 0, "--json").json()
    wins = Counter()
    for one in records:
        wins[tuple(sorted((one["model_a"], one["model_b"]))), one[one["winner"]]] += 1
    pairs = sorted({names for names, _ in wins})
    p_values = [
        min(1, 2 * sum(comb(30, k) for k in range(min(wins[pair, pair[0]], wins[pair, pair[1]]) + 1)) / 2**30)
        for pair in pairs
    ]
    ranked = sorted(p_values)
    adjusted = [
        min(1, max((6 - place) * p for place, p in enumerate(ranked) if p <= own)) for own in p_values
    ]
    given = found["win_rate"]["pairs"]
    assert [(one["first"], one["second"]) for one in given] == pairs
    assert [one["sign_test"]["p_value"] for one in given] == pytest.approx(p_values)
    assert [one["p_adjusted"] for one in given] == pytest.approx(adjusted)
    assert "Holm: p corrected for all of these pairs." in workbench("measure", "preference", path).out
    # Every pair had one side each, which is no bias of whoever judged.
    assert {(one["judgments"], one["share_left"], one["p_adjusted"]) for one in found["position"]} == {
        (0, None, None)
    }
    assert sum(one["one_sided"] for one in found["position"]) == len(records)
