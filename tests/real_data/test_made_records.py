"""The field's own files: every record makes what it says, and is written back as it stood."""

import gzip
import json
import re

import pytest
from made import strings

from store.formats.crosscodeeval import Tasks, write_task
from store.formats.issues import Issues
from store.formats.mt_bench import Single, write_judgment
from store.formats.predictions import Predictions, write_prediction
from store.formats.protocol import FileContext
from store.formats.questions import Questions, write_question


def records(path):
    stored = path.read_bytes()
    lines = gzip.decompress(stored) if path.suffix == ".gz" else stored
    return [json.loads(line) for line in lines.decode("utf-8").splitlines() if line]


def test_tasks_are_written_back_as_they_stood(shared_data):
    tasks = records(shared_data("crosscodeeval") / "python_sample.jsonl.gz")
    converter = Tasks(FileContext("python_sample"))
    chunks = 0
    for number, task in enumerate(tasks, start=1):
        made, *found = converter.convert(task, number)
        chunks += len(found)
        assert made.fields["language"] == "python"
        # The text of the chunks is made again of them, so that nothing of it has to be kept.
        assert not made.extra
        assert not any(chunk.extra for chunk in found)
        assert write_task(made, found) == task
    assert (len(tasks), chunks) == (63, 306)


@pytest.mark.parametrize("model", ["StarCoder-1B", "WizardCoder-1B"])
@pytest.mark.parametrize("setting", ["", "_oracle_bm25", "_rg1_bm25"])
def test_result_rows_are_written_back_as_they_stood(shared_data, model, setting):
    stem = f"python.{model}.line_completion{setting}"
    rows = records(shared_data("crosscodeeval") / "results" / f"{stem}.jsonl.gz")
    converter = Predictions(FileContext(stem))
    for number, row in enumerate(rows, start=1):
        (made,) = converter.convert(row, number)
        assert made.fields["reference"] == row["groundtruth"]
        assert made.fields["text"] == row["prediction"]
        told = {"model": model, "setting": f"line_completion{setting}", "language": "python"}
        assert write_prediction(made) == {**row, **told}
    assert converter.counts == {f"completions whose model comes from the file's name: {model}": 1321}


def test_questions_are_written_back_as_they_stood(shared_data):
    count = 0
    for path in sorted(shared_data("swe-qa").glob("*.jsonl")):
        converter = Questions(FileContext(path.stem))
        for number, record in enumerate(records(path), start=1):
            made, *chunks = converter.convert(record, number)
            assert chunks == []
            assert write_question(made, []) == {"id": f"{path.stem}-{number}", **record}
            count += 1
    assert count == 384


def test_judgments_are_written_back_as_they_stood(shared_data):
    judgments = records(shared_data("japanese-mtbench") / "gpt-4_single.part.jsonl.gz")
    converter = Single(FileContext("gpt-4_single"))
    items = {}
    for number, judgment in enumerate(judgments, start=1):
        question, response, score = converter.convert(judgment, number)
        assert write_judgment(question, response, score) == judgment
        assert score.fields["value"] == judgment["score"]
        assert items.setdefault(question.fields["external_id"], question) == question
        prompt = judgment["user_prompt"]
        assert prompt.endswith(f"\n{response.fields['text']}\n[アシスタントの回答の終了]")
        assert f"[質問]\n{question.fields['question']}\n\n[" in prompt
        assert bool(question.fields["reference"]) == (judgment["judge"][1] == "single-math-v1")
    assert (len(judgments), len(items), converter.counts) == (282, 40, {})


def test_no_user_name_of_an_issue_thread_is_left(shared_data):
    threads = records(shared_data("codeassistbench") / "cab_recent.part.jsonl.gz")
    names = {one["author"] for one in threads} | {by["user"] for one in threads for by in one["comments"]}
    converter = Issues(FileContext("cab_recent"))
    for thread in threads:
        converter.scan(thread)
    made = [one for number, thread in enumerate(threads, 1) for one in converter.convert(thread, number)]
    issues = [thread for thread in threads if "/pull/" not in thread["url"]]
    assert converter.counts == {"pull requests left out": 20, "mentions of users replaced": 67}
    assert (len(threads), len(names), len(made), len(issues)) == (173, 318, 153, 153)
    assert len({one.fields["external_id"] for one in made}) == 153
    either = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![^\W_])(?:{either})(?![^\W_])", re.IGNORECASE)
    # All but the repository that a question is about, and its address.
    told = [
        {name: value for name, value in one.fields.items() if name not in ("repository", "url")}
        for one in made
    ]
    texts = [text for part in (*told, *(one.extra for one in made)) for text in strings(dict(part))]
    assert {one.fields["repository"] for one in made} == {
        re.match(r"https://github.com/([^/]+/[^/]+)/", one["url"])[1] for one in issues
    }
    assert not [text for text in texts if pattern.search(text)]
    assert [len(one.fields["comments"]) for one in made] == [len(issue["comments"]) for issue in issues]
    back = Questions(FileContext("x"))
    assert [back.convert(write_question(one, []), 1) for one in made] == [[one] for one in made]
