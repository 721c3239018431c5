"""`workbench answer`, `judge-answers` and `report answers`: what models are asked, and what comes of it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from loopback_models import LoopbackModels, Refusal

from agents.pipelines.repository_answers.configurations import ANSWER_JUDGE
from agents.prompts import load_prompt
from store.analysis.answers import (
    DIMENSIONS,
    Group,
    JudgedAnswer,
    against_experts,
    answer_scores,
    by_length,
    by_time,
    in_every_context,
    steadiness,
)
from store.kinds.answer import QUESTIONS
from store.measures.intervals import Bootstrap

NUMBER = {"accuracy": 7, "completeness": 5, "relevance": 9, "clarity": 8}


def question(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"till-{number}",
        "repository": "shop/till",
        "language": "python" if number < 3 else "go",
        "question": f"Where is drawer {number} opened?",
        "answer": f"In `till.py`, by `open_drawer({number})`.",
        "issue": {"number": number, "title": "t", "created_at": f"2024-0{number}-01T00:00:00Z"},
        "chunks": [{"file": "till.py", "text": f"def open_drawer({number}): ...", "setting": "bm25"}]
        if number < 3
        else [],
        **fields,
    }


@pytest.fixture
def study(tmp_path: Path, workbench: Any) -> Path:
    (tmp_path / "q.jsonl").write_text("".join(f"{json.dumps(question(number))}\n" for number in (1, 2, 3)))
    assert workbench("import", tmp_path / "a.duckdb", tmp_path / "q.jsonl").code == 0
    return tmp_path / "a.duckdb"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackModels]:
    with LoopbackModels() as running:
        running.is_the_service(monkeypatch)
        yield running


def assessed(**scores: int) -> dict[str, Any]:
    return {name: {"reason": f"so {name}", "score": score} for name, score in {**NUMBER, **scores}.items()}


def asked_for_text(seen: Any) -> bool:
    return "response_format" not in seen.body and "output_config" not in seen.body


def test_models_answer_in_their_own_words(study: Path, server: LoopbackModels, workbench: Any) -> None:
    server.script = lambda seen, number: f"It is **till.py**.\n```python\n{{number: {number}}}\n```"
    answer = ("answer", study, "--model", "openai:chat", "--trials", "2", "--json")
    told = workbench(*answer).json()
    assert (told["state"], told["requests"]) == ("done", 6)
    assert all(map(asked_for_text, server.requests))
    assert {seen.body["temperature"] for seen in server.requests} == {0.2}
    assert any("Where is drawer 1 opened?" in seen.text for seen in server.requests)
    assert not any("open_drawer" in seen.text for seen in server.requests)
    rows = workbench(
        "sql", study, "SELECT item, model, setting, trial, text FROM responses", "--json"
    ).json()["rows"]
    assert {(row["item"], row["model"], row["setting"], row["trial"]) for row in rows} == {
        (f"till-{number}", "openai:chat", "none", trial) for number in (1, 2, 3) for trial in (0, 1)
    }
    assert len({row["text"] for row in rows}) == 6
    # Nothing is asked twice, and other answers are not mixed with these.
    assert workbench(*answer).json()["requests"] == 6
    assert len(server.requests) == 6


def test_context_is_shown_below_its_file(study: Path, server: LoopbackModels, workbench: Any) -> None:
    server.script = lambda seen, _: "There."
    answer = ("answer", study, "--model", "anthropic:chat", "--trials", "1", "--setting")
    told = workbench(*answer, "bm25", "--json").json()
    assert (told["state"], told["asked"]["left_out"], told["requests"]) == ("done", 1, 2)
    assert all(map(asked_for_text, server.requests))
    assert any("## till.py\n\n```\ndef open_drawer(1): ...\n```" in seen.text for seen in server.requests)
    assert workbench(*answer, "nothing").says("No question has context under")
    # The option's old name asks for the same run, which is done.
    old = workbench(*answer[:-1], "--context", "bm25", "--json").json()
    assert (old["run"], old["requests"]) == (told["run"], 2)
    assert len(server.requests) == 2
    assert "--context" not in workbench("answer", "--help").out


def test_answers_are_judged_again_and_later_ones_when_they_come(
    study: Path, server: LoopbackModels, workbench: Any
) -> None:
    server.script = lambda seen, number: (
        f"There {number}." if asked_for_text(seen) else assessed(accuracy=1 + number % 10)
    )
    workbench("answer", study, "--model", "openai:chat", "--trials", "1")
    judge = ("judge-answers", study, "--model", "openai:judge", "--json")
    told = workbench(*judge).json()
    assert (told["state"], told["requests"]) == ("done", 6)
    body = server.requests[-1].body
    assert body["temperature"] == 0.2
    for part in ("There ", "open_drawer(", "Where is drawer"):
        assert part in server.requests[-1].text
    query = (
        "SELECT item, model, setting, measure, count(*) AS n, count(DISTINCT judge) AS judges "
        "FROM scores GROUP BY ALL"
    )
    rows = workbench("sql", study, query, "--json").json()["rows"]
    assert len(rows) == 12
    assert {(row["n"], row["judges"]) for row in rows} == {(2, 1)}
    # Answers of another context are judged by the same run, and nothing else.
    workbench("answer", study, "--model", "openai:chat", "--trials", "1", "--setting", "bm25")
    before = len(server.requests)
    assert workbench(*judge).json()["state"] == "done"
    assert len(server.requests) - before == 4
    assert workbench(*judge).json()["state"] == "done"
    assert len(server.requests) - before == 4


@pytest.mark.parametrize(
    "reply",
    [
        Refusal(),
        "I would say seven of ten.",
        {**assessed(), "clarity": {"reason": "so", "score": 11}},
        {**assessed(), "clarity": {"reason": "so", "score": "8"}},
        {**assessed(), "clarity": {"reason": "so", "score": 7.5}},
        {name: value for name, value in assessed().items() if name != "clarity"},
    ],
)
def test_what_is_no_score_is_asked_again_and_never_a_number(
    reply: Any, study: Path, server: LoopbackModels, workbench: Any
) -> None:
    server.script = lambda seen, _: "There." if asked_for_text(seen) else reply
    workbench("answer", study, "--model", "openai:chat", "--trials", "1", "--limit", "1")
    judge = ("judge-answers", study, "--model", "openai:judge", "--repeats", "1", "--json")
    told = workbench(*judge).json()
    assert told["failed"] == 1
    assert len(server.requests) == 3
    assert workbench("sql", study, "SELECT count(*) AS n FROM scores", "--json").json()["rows"] == [{"n": 0}]
    server.script = lambda seen, _: assessed()
    assert workbench(*judge).json()["failed"] == 0


def test_a_question_of_100_000_characters_without_an_issue_is_answered(
    tmp_path: Path, server: LoopbackModels, workbench: Any
) -> None:
    long = "Why? " * 20_000
    (tmp_path / "q.jsonl").write_text(json.dumps({"id": "long", "question": long, "answer": long}))
    study = tmp_path / "a.duckdb"
    assert workbench("import", study, tmp_path / "q.jsonl").code == 0
    server.script = lambda seen, _: "So." if asked_for_text(seen) else assessed()
    told = workbench("answer", study, "--model", "openai:chat", "--trials", "1", "--json").json()
    assert (told["state"], told["failed"]) == ("done", 0)
    assert long.strip() in server.requests[0].text
    assert workbench("judge-answers", study, "--model", "openai:judge", "--json").json()["requests"] == 2


def test_an_empty_answer_is_asked_again(study: Path, server: LoopbackModels, workbench: Any) -> None:
    server.script = lambda seen, number: "  " if number == 1 else "<think>hm</think>There."
    told = workbench(
        "answer", study, "--model", "openai:chat", "--trials", "1", "--limit", "1", "--json"
    ).json()
    assert (told["failed"], told["requests"]) == (0, 2)
    rows = workbench("sql", study, "SELECT text FROM responses", "--json").json()["rows"]
    assert rows == [{"text": "There."}]


def test_the_prompt_of_the_judge_has_the_bands_of_the_guideline() -> None:
    said = load_prompt(ANSWER_JUDGE).system
    for spec in QUESTIONS:
        for low, high in zip(spec.scale.values[::2], spec.scale.values[1::2], strict=True):
            assert f"{low.value:g}-{high.value:g}  {low.word}\n" in said, spec.name


def test_the_report_has_the_tables_of_the_paper(study: Path, server: LoopbackModels, workbench: Any) -> None:
    def script(seen: Any, number: int) -> Any:
        if asked_for_text(seen):
            return "In till.py, by open_drawer."
        return assessed(accuracy=8 if "drawer 1" in seen.text else 4, clarity=1 + number % 10)

    server.script = script
    for model, context in (("a", "none"), ("b", "none"), ("a", "bm25")):
        workbench("answer", study, "--model", f"openai:{model}", "--trials", "1", "--setting", context)
    workbench("judge-answers", study, "--model", "openai:judge")
    told = workbench("report", study, "answers", "--json").json()
    scores = {(one["model"], one["context"], one["language"]): one for one in told["scores"]}
    overall = scores["openai:a", "none", None]
    assert (overall["n"], overall["accuracy"], overall["completeness"]) == (3, pytest.approx(16 / 3), 5)
    assert scores["openai:a", "none", "python"]["accuracy"] == 6
    assert scores["openai:a", "none", "go"]["n"] == 1
    # The same questions in every context.
    same = {(one["context"], one["n"]): one["accuracy"] for one in told["same_questions"]}
    assert same == {("none", 2): 6, ("bm25", 2): 6}
    (steady,) = [one for one in told["steadiness"] if (one["model"], one["context"]) == ("openai:a", "none")]
    assert steady["n"] == 3
    assert steady["deviations"]["accuracy"] == 0 < steady["deviations"]["clarity"]
    assert 0 < steady["bleu"] < 100
    assert "version" in steady["signature"]
    printed = workbench("report", study, "answers").out
    for title in ("Table III", "Python (Table IV)", "Table V", "Table VI", "Figure 5", "Figure 6"):
        assert title in printed
    # The average of Table IV is that of its own rows.
    python = [
        one["accuracy"]
        for (_, context, language), one in scores.items()
        if (context, language) == ("none", "python")
    ]
    line = next(line for line in printed.split("Python (Table IV)")[1].splitlines() if "average" in line)
    assert f"{fmean(python):.2f}" in line
    assert workbench("report", study, "answers", "--rater", "nobody").says("Unknown judge")


# -- figures ---------------------------------------------------------------------------------------------


def judged(
    number: int, value: float = 7, *, context: str = "none", trial: int = 0, **fields: Any
) -> JudgedAnswer:
    given: dict[str, Any] = {
        "language": "python",
        "created_at": "2024-05-06T00:00:00Z",
        "tokens": 10.0 * number,
        "model": "m",
        "text": "a b c d",
        "reference": "a b c d",
        "scores": dict.fromkeys(DIMENSIONS, (value, value)),
        "experts": {},
        **fields,
    }
    return JudgedAnswer(item_id=number, item=f"q{number}", context=context, trial=trial, **given)


GROUP = Group("none", "m")


def test_one_question_and_a_judge_that_always_says_seven() -> None:
    one = answer_scores(GROUP, [judged(1)], Bootstrap(100))
    assert (one.n, one.means["accuracy"], one.intervals["accuracy"].low) == (1, 7, None)
    always = answer_scores(GROUP, [judged(number) for number in range(1, 40)], Bootstrap(100))
    assert (always.means["clarity"], always.intervals["clarity"].low) == (7, None)
    steady = steadiness(GROUP, [judged(number) for number in range(1, 5)], (None, ""))
    assert steady.deviations == dict.fromkeys(DIMENSIONS, 0)
    (against, *_) = against_experts([judged(number, experts={"accuracy": number}) for number in range(5, 10)])
    assert (against.n, against.apart, against.near, against.correlation) == (5, 1.2, 0.6, None)


def test_trials_are_averaged_by_question() -> None:
    answers = [judged(1, 2), judged(1, 4, trial=1), judged(2, 9)]
    found = answer_scores(GROUP, answers, Bootstrap(0))
    assert found.means["accuracy"] == 6  # of 3 and 9
    assert found.trials["accuracy"] == pytest.approx(math.sqrt(((5.5 - 4.75) ** 2) * 2))


def test_quintiles_with_ties() -> None:
    parts = by_length(GROUP, [judged(number) for number in range(1, 11)])
    assert [(one.name, one.n) for one in parts] == [
        ("10 to 20", 2), ("30 to 40", 2), ("50 to 60", 2), ("70 to 80", 2), ("90 to 100", 2),
    ]  # fmt: skip
    tied = [judged(number, tokens=5.0 if number < 8 else 10.0 * number) for number in range(1, 11)]
    assert [(one.name, one.n) for one in by_length(GROUP, tied)] == [
        ("5 to 5", 7),
        ("80 to 80", 1),
        ("90 to 100", 2),
    ]
    assert [one.n for one in by_length(GROUP, [judged(1)])] == [1]
    assert by_length(GROUP, []) == []


def test_times_and_the_same_questions() -> None:
    answers = [
        judged(1),
        judged(2, created_at="2023-12-31"),
        judged(3, created_at=""),
        judged(4, created_at="later"),
    ]
    assert [(one.name, one.n) for one in by_time(GROUP, answers)] == [("2023 Q4", 1), ("2024 Q2", 1)]
    both = [
        judged(1),
        judged(2),
        judged(1, context="bm25"),
        judged(3, context="bm25"),
        judged(4, model="other"),
    ]
    assert [(one.item_id, one.context) for one in in_every_context(both)] == [(1, "none"), (1, "bm25")]
