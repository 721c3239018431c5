"""`workbench complete`: what models are given, in which settings, and what is kept of what they write."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback_models import LoopbackModels, Raw, Refusal, Slow, Status, Texts

from agents.llm.plain_text import CHARACTERS_PER_TOKEN, Continuation, Continuations, cut, unfenced
from agents.llm.protocol import PlainText

REFERENCE = "open_drawer(till)"
CONTEXT = "def open_drawer(till):\n    return till"
AFTER = "\nprint('opened')\n"


def task(number: int, *, chunks: bool = True) -> dict[str, Any]:
    return {
        "prompt": f"import till\n\n# task {number}\nopened = ",
        "groundtruth": f"{REFERENCE}  # {number}",
        "right_context": AFTER,
        "metadata": {
            "task_id": f"project_cc_python/{number}",
            "repository": "ann/shop",
            "file": "main.py",
        },
        "crossfile_context": {
            "list": [{"retrieved_chunk": CONTEXT, "filename": "till.py", "score": 2.0}] if chunks else []
        },
    }


@pytest.fixture
def study(tmp_path: Path, workbench: Any) -> Path:
    file = tmp_path / "tasks.jsonl"
    file.write_text("".join(json.dumps(task(number)) + "\n" for number in (1, 2)))
    workbench("import", tmp_path / "study.duckdb", file, "--setting", "rg1")
    return tmp_path / "study.duckdb"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackModels]:
    with LoopbackModels() as running:
        running.is_the_service(monkeypatch)
        yield running


def responses(study: Path, workbench: Any) -> list[tuple[str, str, str, str]]:
    query = "SELECT item, model, setting, text FROM responses ORDER BY ALL"
    rows = workbench("sql", study, query, "--json").json()["rows"]
    return [(row["item"], row["model"], row["setting"], row["text"]) for row in rows]


def test_a_model_continues_the_file(study: Path, server: LoopbackModels, workbench: Any) -> None:
    server.script = lambda seen, _: Texts([(f"{REFERENCE}\nclose()\n", None)])
    complete = ("complete", study, "--model", "completions:star-7b")
    told = workbench(*complete, "--setting", "in-file", "--json").json()
    assert (told["state"], told["requests"]) == ("done", 2)
    assert told["name"].startswith("complete in-file greedy/completions:star-7b/")
    bodies = sorted((seen.body for seen in server.requests), key=lambda body: body["prompt"])
    assert bodies[1]["prompt"] == task(2)["prompt"]
    assert bodies[0] == {
        "model": "star-7b",
        "prompt": task(1)["prompt"],
        "max_tokens": 50,
        "temperature": 0.0,
    }
    server.script = lambda seen, _: Texts([(f"{REFERENCE}  # 1\n", None)])
    assert workbench(*complete, "--setting", "rg1", "--json").json()["state"] == "done"
    with_context = min(seen.body["prompt"] for seen in server.requests[2:])
    assert with_context.startswith("# Here are some relevant code fragments from other files of the repo:")
    assert "# till.py\n# def open_drawer(till):\n" in with_context
    assert with_context.endswith(task(1)["prompt"])
    assert not any("opened')" in seen.text or f"= {REFERENCE}" in seen.text for seen in server.requests)
    assert responses(study, workbench) == [
        ("project_cc_python/1", "completions:star-7b", "in-file", f"{REFERENCE}\nclose()\n"),
        ("project_cc_python/1", "completions:star-7b", "rg1", f"{REFERENCE}  # 1\n"),
        ("project_cc_python/2", "completions:star-7b", "in-file", f"{REFERENCE}\nclose()\n"),
        ("project_cc_python/2", "completions:star-7b", "rg1", f"{REFERENCE}  # 1\n"),
    ]
    report = workbench("report", study, "completion", "--json").json()
    assert [(one["context"], one["em"]) for one in report["completions"]] == [("in-file", 100), ("rg1", 100)]
    # Done is done; nothing is asked twice.
    again = workbench(*complete, "--setting", "rg1", "--json").json()
    assert (again["state"], len(server.requests)) == ("done", 4)


def test_the_most_probable_of_five_samples_is_taken(
    study: Path, server: LoopbackModels, workbench: Any
) -> None:
    server.script = lambda seen, _: Texts([(f"guess_{n}()", -2.0 if n == 3 else -3.0 - n) for n in range(5)])
    nucleus = ("complete", study, "--setting", "in-file", "--decoding", "nucleus", "--model")
    assert workbench(*nucleus, "completions:star-7b", "--json").json()["requests"] == 2
    body = server.requests[0].body
    assert (body["n"], body["logprobs"], body["temperature"], body["top_p"]) == (5, 1, 0.2, 0.95)
    assert {(setting, text) for _, _, setting, text in responses(study, workbench)} == {
        ("in-file+nucleus", "guess_3()")
    }
    assert workbench(*nucleus, "openai:chat", "--json").json()["requests"] == 2
    body = server.requests[-1].body
    assert (body["n"], body["logprobs"], body["max_tokens"]) == (5, True, 50)
    assert responses(study, workbench)[1][3] == "guess_3()"


def test_without_probabilities_the_first_sample_is_taken(
    study: Path, server: LoopbackModels, workbench: Any
) -> None:
    server.script = lambda seen, number: Texts([(f"guess_{number}()", None)])
    nucleus = ("complete", study, "--setting", "in-file", "--decoding", "nucleus", "--concurrency", "1")
    told = workbench(*nucleus, "--model", "completions:star-7b", "--json").json()
    assert told["requests"] == 10  # the service gives one at a time
    assert [text for *_, text in responses(study, workbench)] == ["guess_1()", "guess_6()"]


def test_chats_that_know_no_samples_are_asked_one_by_one(
    study: Path, server: LoopbackModels, workbench: Any
) -> None:
    def script(seen: Any, number: int) -> Any:
        return Status(400, "n is not supported") if "n" in seen.body else f"```python\nguess_{number}()\n```"

    server.script = script
    nucleus = ("complete", study, "--setting", "in-file", "--decoding", "nucleus", "--concurrency", "1")
    assert workbench(*nucleus, "--model", "openai:chat", "--json").json()["requests"] == 11
    assert [text for *_, text in responses(study, workbench)] == ["guess_2()", "guess_7()"]
    # A service that refuses one request for another reason is still asked for samples.
    server.script = lambda seen, _: Status(400, "maximum context length") if "n" in seen.body else "late()"
    refused = workbench(*nucleus, "--model", "openai:other", "--json").json()
    assert refused["causes"] == {"bad_request": 2}
    assert all("n" in seen.body for seen in server.requests[-2:])


def test_a_service_that_takes_no_temperature_decodes_in_its_own_way(
    study: Path, server: LoopbackModels, workbench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.script = lambda seen, number: f"```python\nguess_{number}()\n```"
    complete = ("complete", study, "--setting", "in-file", "--concurrency", "1")
    sampled = workbench(*complete, "--model", "anthropic:chat", "--decoding", "nucleus", "--json").json()
    assert (sampled["requests"], sampled["causes"]) == (0, {"bad_request": 2})
    assert workbench(*complete, "--model", "anthropic:chat", "--json").json()["requests"] == 2
    assert "[[" not in server.requests[-1].text
    assert task(2)["prompt"] in server.requests[-1].text
    monkeypatch.setenv("WORKBENCH_MODELS__TEMPERATURE", "default")
    assert workbench(*complete, "--model", "openai:reasons", "--json").json()["requests"] == 2
    assert "temperature" not in server.requests[-1].body
    assert {setting for _, _, setting, _ in responses(study, workbench)} == {"in-file+default"}


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        (Refusal("I will not."), "refused"),
        ("", "malformed"),
    ],
)
def test_a_chat_that_declines_has_completed_nothing(
    study: Path, server: LoopbackModels, workbench: Any, reply: Any, cause: str
) -> None:
    server.script = lambda seen, number: reply
    told = workbench("complete", study, "--setting", "in-file", "--model", "openai:chat", "--json").json()
    assert (told["job"]["done"], told["causes"]) == (0, {cause: 2})
    assert not responses(study, workbench)


def test_fewer_samples_than_wanted_are_none(study: Path, server: LoopbackModels, workbench: Any) -> None:
    def script(seen: Any, number: int) -> Any:
        return Status(400, "no") if number == 3 else Texts([(f"guess_{number}()", -1.0)])

    server.script = script
    nucleus = ("complete", study, "--setting", "in-file", "--decoding", "nucleus", "--concurrency", "1")
    told = workbench(*nucleus, "--model", "completions:star-7b", "--limit", "1", "--json").json()
    assert told["causes"] == {"bad_request": 1}
    assert not responses(study, workbench)


def test_seeds_of_samples_differ(
    study: Path, server: LoopbackModels, workbench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_MODELS__SEED", "7")
    server.script = lambda seen, number: Texts([(f"guess_{number}()", -1.0)])
    nucleus = ("complete", study, "--setting", "in-file", "--decoding", "nucleus", "--limit", "1")
    workbench(*nucleus, "--model", "completions:star-7b", "--json")
    assert [seen.body["seed"] for seen in server.requests] == [7, 8, 9, 10, 11]


def test_completions_of_two_runs_are_not_mixed(
    study: Path, server: LoopbackModels, workbench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete = ("complete", study, "--setting", "in-file", "--model", "completions:star-7b", "--json")
    assert workbench(*complete, "--limit", "1").json()["state"] == "done"
    sent = len(server.requests)
    # The same model at another address may be another one.
    address = os.environ["OPENAI_BASE_URL"]
    monkeypatch.setenv("OPENAI_BASE_URL", address.replace("127.0.0.1", "localhost"))
    told = workbench(*complete)
    assert told.code != 0
    assert len(server.requests) == sent
    assert len(responses(study, workbench)) == 1


def test_filling_in_the_middle(study: Path, server: LoopbackModels, workbench: Any) -> None:
    fim = ("complete", study, "--setting", "rg1", "--fim", "--model")
    assert workbench(*fim, "completions:star-7b", "--json").json()["state"] == "done"
    assert server.requests[0].body["suffix"] == AFTER
    server.script = lambda seen, _: "go()"
    assert workbench(*fim, "openai:chat", "--json").json()["state"] == "done"
    assert "opened')" in server.requests[-1].text
    assert {setting for _, _, setting, _ in responses(study, workbench)} == {"rg1+fim"}


def test_what_is_too_long_is_cut() -> None:
    plain = PlainText("p" * 100_000, context="c" * 100_000, suffix="s" * 100_000, longest=2048)
    context, prompt, suffix = cut(plain)
    assert len(context) == len(suffix) == 512 * CHARACTERS_PER_TOKEN
    assert len(context + prompt + suffix) == (2048 - 50) * CHARACTERS_PER_TOKEN
    assert cut(PlainText("prompt", context="context")) == ("context", "prompt", "")
    short = PlainText("0123456789", longest=53)
    assert cut(short)[1] == "123456789"


def test_fences_and_the_best() -> None:
    assert unfenced("```py\nf(1)\n```\nThat is it.") == "f(1)"
    assert unfenced("f('```')") == "f('```')"
    assert unfenced("```\nf(1)") == "f(1)"
    found = [
        Continuation(text=text, log_probability=one) for text, one in (("a", None), ("b", -3), ("c", -1))
    ]
    assert Continuations(found=found).best.text == "c"


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (Status(500, "down"), "unavailable"),
        (Texts([]), "malformed"),
        (Raw(200, {"content-type": "application/json"}, [b"x" * 5000]), "malformed"),
        (Raw(200, {"content-type": "application/json"}, [b'{"choices": [{"text": 5}]}']), "unavailable"),
    ],
)
def test_answers_that_are_none(
    study: Path,
    server: LoopbackModels,
    workbench: Any,
    monkeypatch: pytest.MonkeyPatch,
    answer: Any,
    cause: str,
) -> None:
    monkeypatch.setenv("WORKBENCH_MODELS__MAX_REPLY_BYTES", "4096")
    server.script = lambda seen, number: answer if number == 1 else None
    complete = (
        "complete",
        study,
        "--model",
        "completions:star-7b",
        "--setting",
        "in-file",
        "--concurrency",
        "1",
    )
    told = workbench(*complete, "--json").json()
    assert (told["failed"], list(told["causes"])) == (1, [cause])
    assert len(responses(study, workbench)) == 1
    assert workbench(*complete, "--json").json()["state"] == "done"
    assert len(responses(study, workbench)) == 2


def test_what_it_would_cost(study: Path, server: LoopbackModels, workbench: Any) -> None:
    complete = (
        "complete",
        study,
        "--model",
        "completions:star-7b",
        "--setting",
        "rg1",
        "--estimate",
        "--json",
    )
    told = workbench(*complete).json()
    assert (told["pairs"], told["requests"], told["tokens_out"]) == (2, 2, 100)
    # The context at most, the file, and the instructions.
    assert 2 * 1500 / 4 < told["tokens_in"] < 2 * 3000
    assert workbench(*complete, "--decoding", "nucleus").json()["tokens_out"] == 500
    in_file = ["in-file" if part == "rg1" else part for part in complete]
    # Without the context, but for the word that says so.
    assert told["tokens_in"] - workbench(*in_file).json()["tokens_in"] == round(2 * (1500 - 4) / 4)
    assert not server.requests


def test_what_cannot_be_completed(
    study: Path, server: LoopbackModels, tmp_path: Path, workbench: Any
) -> None:
    def refused(*arguments: Any) -> Any:
        told = workbench("complete", study, *arguments, "--json")
        assert told.code != 0
        return told.json()["error"]

    model = ("--model", "completions:star-7b", "--setting")
    assert refused(*model, "nothing")["hint"].startswith("Settings: in-file, rg1.")
    assert refused("--model", "transformers:nowhere", "--setting", "in-file")["title"] == "Model not found"
    # A model that only continues texts cannot judge.
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(json.dumps({"id": "1", "query": "double", "code": "def f(x): return 2 * x"}))
    workbench("import", tmp_path / "pairs.duckdb", pairs)
    told = workbench("annotate", tmp_path / "pairs.duckdb", "--model", "completions:star-7b", "--json")
    assert told.json()["causes"] == {"bad_request": 1}
    # One task has context and one has none.
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps(task(3, chunks=False)) + "\n")
    workbench("import", study, more)
    told = workbench("complete", study, *model, "rg1", "--json").json()
    assert (told["job"]["done"], told["job"]["failed"], told["asked"]["left_out"]) == (2, 0, 1)
    estimated = ("complete", study, "--model", "completions:other", "--setting", "rg1", "--estimate")
    assert workbench(*estimated, "--json").json()["pairs"] == 2


def test_a_killed_run_goes_on_where_it_stopped(
    study: Path, server: LoopbackModels, workbench: Any, tmp_path: Path
) -> None:
    server.script = lambda seen, number: Slow(60, None) if number == 2 else None
    command = ("complete", study, "--model", "completions:m", "--setting", "in-file", "--concurrency", "1")
    program = [sys.executable, "-m", "workbench", *map(str, command)]
    with subprocess.Popen(
        program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ}
    ) as run:
        # What came before the second request may be on its way to the disk still.
        while len(server.requests) < 2 or not responses(study, workbench):
            assert run.poll() is None
        run.send_signal(signal.SIGKILL)
    server.script = None
    told = workbench(*command, "--json").json()
    assert told["state"] == "done"
    assert [seen.text for seen in server.requests] == [
        task(1)["prompt"],
        task(2)["prompt"],
        task(2)["prompt"],
    ]
    assert len(responses(study, workbench)) == 2
