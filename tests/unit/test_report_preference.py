"""The report on preference of files and of workspaces: by groups, with reasons, and as text."""

import json
import random
from collections import Counter
from statistics import mean

import pytest
from comparisons_bench import STUDY, comparisons, judged, study_of

from store.analysis.labels import question_labels
from store.formatting import interval_line
from store.kinds.comparison import PREFERENCE
from store.measures.battles import MOST_CANDIDATES, Battle, Battles

LEVELS = {2: 3, 1: 1, 0: 0.5, -1: 0, -2: 0}
"""What a verdict on a candidate counts in its score against a baseline."""
SIZES = {2: 3, 1: 1, 0: 1, -1: 1, -2: 3}


def battle(number, one, other, winner, judge="ana", **more):
    return {
        "question_id": f"q{number}",
        "model_a": one,
        "model_b": other,
        "winner": winner,
        "judge": judge,
    } | more


def measured(workbench, folder, records, *options):
    """The report of battles in a file, as JSON."""
    (folder / "battles.json").write_text(json.dumps(records))
    done = workbench("measure", "preference", folder / "battles.json", "--bootstrap", 50, *options, "--json")
    assert done.code == 0, done.out + done.err
    return done.json()


def test_win_rates_and_scores_by_a_field_are_those_counted_by_hand(workbench, in_folder):
    """Of a column and of a further field, from a file and from a workspace alike."""
    draw = random.Random(5)
    records, verdicts = [], []
    for number in range(60):
        language, split = draw.choice(["python", "java"]), draw.choice(["easy", "hard", None])
        orders = {order: draw.choice([2, 1, 0, -1, -2]) for order in ("as-listed", "swapped")}
        verdicts += [(language, split, value) for value in orders.values()]
        records.append(
            {
                "prompt": f"p{number}", "first": f"a{number}", "second": f"b{number}", "language": language,
                "first_name": "new", "second_name": "base",
                "verdicts": [{"judge": "gpt-4", "order": order, "value": value} for order, value in orders.items()],
            } | ({"split": split} if split else {})
        )  # fmt: skip
    (in_folder / "c.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    assert workbench("import", "w.duckdb", "c.jsonl").code == 0
    options = ("--baseline", "base", "--bootstrap", 20, "--json")

    def combined(record):
        values = [one["value"] for one in record["verdicts"]]
        if all(value > 0 for value in values):
            return 1.0
        return 0.0 if all(value < 0 for value in values) else 0.5

    for field in ("language", "split"):
        of_file = workbench("measure", "preference", "c.jsonl", "--group-by", field, *options).json()
        of_workspace = workbench("report", "w.duckdb", "preference", "--group-by", field, *options).json()
        rates = {}
        for value in {record.get(field, "") for record in records}:
            rates[value] = mean(combined(one) for one in records if one.get(field, "") == value)
        place = 0 if field == "language" else 1
        scores = {}
        for value in {one[place] for one in verdicts}:
            given = [one[2] for one in verdicts if one[place] == value]
            scores[value or ""] = 100 * sum(LEVELS[one] for one in given) / sum(SIZES[one] for one in given)
        for found in (of_file, of_workspace):
            by_field = found["win_rate"]["by_field"]
            assert by_field["field"] == field
            shown = {
                one["value"]: next(c["rate"] for c in one["candidates"] if c["candidate"] == "new")
                for one in by_field["values"]
            }
            assert shown == pytest.approx(rates)
            against = found["score_against"]
            assert {one["value"]: one["score"] for one in against["by_field"]["scores"]} == pytest.approx(
                scores
            )
            (whole,) = against["by_group"]
            every = [one[2] for one in verdicts]
            expected = 100 * sum(LEVELS[one] for one in every) / sum(SIZES[one] for one in every)
            assert (whole["group"], whole["verdicts"]) == ("judges", 120)
            assert whole["score"] == pytest.approx(expected)
    unknown = workbench("report", "w.duckdb", "preference", "--group-by", "colour")
    assert (unknown.code, "has a field 'colour'" in unknown.err) == (2, True)
    of_another = workbench("report", "w.duckdb", "agreement", "--group-by", "language")
    assert of_another.code == 2


def test_points_and_battles_of_candidates_are_those_of_each_battle():
    draw = random.Random(3)
    names = [f"m{number}" for number in range(7)]
    given = [
        Battle(*draw.sample(names, 2), draw.choice([1.0, 0.5, 0.0]), draw.randrange(12)) for _ in range(200)
    ]
    battles = Battles.of(given)
    rows, times = battles.by_prompt()
    points, games = battles.by_candidate(rows)
    won, fought = Counter(), Counter()
    for one in given:
        won[one.first] += one.score
        won[one.second] += 1 - one.score
        fought.update((one.first, one.second))
    assert dict(zip(battles.candidates, times @ points, strict=True)) == pytest.approx(won)
    assert dict(zip(battles.candidates, times @ games, strict=True)) == pytest.approx(fought)
    tallies = dict(zip(battles.candidates, battles.tallies(), strict=True))
    assert {name: wins + ties / 2 for name, (wins, _, ties) in tallies.items()} == pytest.approx(won)


@pytest.mark.parametrize(
    ("records", "why"),
    [
        ([battle(n, "red", "blue", "tie") for n in range(4)], ""),
        ([battle(0, "red", "blue", "model_a")], "red never lost"),
        (
            [battle(n, "red", "blue", "model_a") for n in range(3)]
            + [battle(9 + n, "blue", "green", f"model_{'ab'[n % 2]}") for n in range(4)],
            "red never lost",
        ),
        (
            [battle(n, "a", "b", f"model_{'ab'[n % 2]}") for n in range(4)]
            + [battle(9 + n, "c", "d", f"model_{'ab'[n % 2]}") for n in range(4)],
            "the candidates fall into 2 groups that never meet",
        ),
        (
            [battle(n, f"m{n}", f"m{(n + 1) % 1001}", "model_a") for n in range(1001)],
            f"there are 1,001 candidates, and ratings are fitted for up to {MOST_CANDIDATES:,}",
        ),
    ],
)
def test_what_has_no_rating_has_a_reason(workbench, in_folder, records, why):
    found = measured(workbench, in_folder, records)
    text = json.dumps(found)
    assert "Infinity" not in text
    assert "NaN" not in text
    assert found["why_no_rating"] == why
    for one in found["ratings"]:
        assert (one["bradley_terry"] is None) == bool(why)
        assert one["elo_low"] <= one["elo_high"]
    if not why:
        assert {one["bradley_terry"] for one in found["ratings"]} == {1000.0}
    elif len(records) < 20:
        # A fit for which one asks by its name.
        fitted = measured(workbench, in_folder, records, "--prior", 1)
        assert (fitted["prior"], fitted["why_no_rating"]) == (1, "")
        assert all(abs(one["bradley_terry"]) < 5000 for one in fitted["ratings"])


def test_a_range_and_an_interval_that_are_missing_have_a_reason(workbench, in_folder):
    records = [battle(n, "red", "blue", f"model_{'ab'[n % 2]}") for n in range(6)]
    (in_folder / "battles.json").write_text(json.dumps(records))
    found = workbench("measure", "preference", "battles.json", "--bootstrap", 0, "--json").json()
    assert (found["why_no_interval"], found["why_no_elo_range"]) == ("no resamples", "")
    many = records * 4000
    for number, one in enumerate(many):
        many[number] = {**one, "question_id": str(number)}
    found = measured(workbench, in_folder, many)
    assert found["why_no_elo_range"] == "more than 20,000 battles"


def test_names_are_one_line_and_long_ones_are_refused(workbench, in_folder):
    names = ("r\x1b[31m\x07\nX", "[bold]" + "w" * 150)
    records = [battle(n, *names, f"model_{'ab'[n % 2]}") for n in range(4)]
    (in_folder / "battles.json").write_text(json.dumps(records))
    done = workbench("measure", "preference", "battles.json")
    assert done.code == 0, done.err
    assert not {"\x1b", "\x07"} & set(done.out)
    assert "␇⏎X" in done.out
    (in_folder / "battles.json").write_text(json.dumps([battle(0, "r" * 5000, "b", "tie")]))
    refused = workbench("measure", "preference", "battles.json", "--json")
    assert (refused.code, "at most 200" in refused.json()["error"]["message"]) == (2, True)


@pytest.mark.parametrize("content", ["", "[]"])
def test_an_empty_file_is_refused(workbench, in_folder, content):
    (in_folder / "battles.json").write_text(content)
    done = workbench("measure", "preference", "battles.json", "--json")
    assert (done.code, done.json()["error"]["title"]) == (2, "Empty file")


@pytest.mark.parametrize(
    ("interval", "middle", "text"),
    [
        ((0.25, 0.5, 0.75), None, "   ├──●──┤"),
        ((0.0, 0.0, 0.0), 0.5, "●     ┊"),
        ((None, 1.0, None), 0.5, "      ┊     ●"),
        ((None, None, None), 0.5, ""),
    ],
)
def test_an_interval_is_drawn_on_its_scale(interval, middle, text):
    assert interval_line(interval, 0.0, 1.0, 13, middle) == text


def test_the_text_has_intervals_and_the_matrix_of_both_orders(workbench, in_folder, sample_folder):
    files = [sample_folder / name for name in ("comparisons.jsonl", "comparison-labels.csv")]
    assert workbench("import", "w.duckdb", *files).code == 0
    model = f"scripted:{sample_folder / 'replies.jsonl'}"
    assert workbench("judge-pairs", "w.duckdb", "--model", model).code == 0
    text = workbench("report", "w.duckdb", "preference", "--group-by", "about").out
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert any(line.startswith("++ much better 2") for line in lines)
    assert any("The same winner 9 of 12 times (75.0 %)" in line for line in lines)
    assert any(line.startswith("pretended-model-a 1208.3 1116.0 to 1272.3 1 1 10-0-2") for line in lines)
    assert any(line.startswith("people judges 36 66.7 %") for line in lines)
    assert any(line.startswith("completions pretended-model-a 75.0 %") for line in lines)


def test_levels_of_judges_count_as_winners_in_a_study_without_levels(tmp_path):
    """A judge always has five levels; raters of such a study could not say that one is much better."""
    with comparisons(tmp_path, count=2) as workspace:
        judged(workspace, tmp_path, {"d/0": ("much better", "much worse"), "d/1": ("worse", "better")})
        study_of(workspace, "forced")
        with workspace.reading() as connection:
            own, of_study = (
                question_labels(connection, PREFERENCE.name, study=study).raters[-1].values.tolist()
                for study in (None, STUDY)
            )
    assert sorted(map(abs, own)) == [1.0, 2.0]
    assert [abs(value) for value in of_study] == [1.0, 1.0]
    assert [value > 0 for value in of_study] == [value > 0 for value in own]
