"""The field's own files: imported, judged, exported and imported again, they are the same."""

import gzip
import json
import re

import pytest
from kinds import Expert, kept, many, new_workspace

from store.export.exporting import export
from store.ingest.importing import import_files
from store.kinds.spec import task_kinds
from store.record.response_names import ResponseName, question_name
from store.workspace.duckdb import Workspace

FIVE = 5


def records(path):
    stored = path.read_bytes()
    lines = gzip.decompress(stored) if path.suffix == ".gz" else stored
    return [json.loads(line) for line in lines.decode("utf-8").split("\n") if line]


def judge_five(workspace, kind):
    """Answer every question that five items are asked, of each of their responses; returns their names."""
    expert = Expert(workspace)
    items = [row[1] for row in kept(workspace, "item")["item"] if row[0] == kind][::7][:FIVE]
    responses = kept(workspace, "response")["response"]
    for place, item in enumerate(items):
        whose = [row[1:4] for row in responses if row[0] == item]
        said = {}
        for spec in task_kinds()[kind].questions:
            values = spec.scale.values
            of = [question_name(spec.name, ResponseName(*one)) for one in whose] if spec.of_responses else []
            for at, name in enumerate(of or [spec.name]):
                said[name] = values[(place + at) % len(values)].value
        expert.answer_all(item, said, comment=f"on {item}")
    return items


def check_record(workspace, tmp_path, items):
    """The full record brings the judged items with all that belongs to them into another workspace."""
    export(workspace, tmp_path / "record.jsonl", "jsonl")
    before = kept(workspace)
    place = {"item": 1, "score": 1, "judgment": -4, "mark": -2}
    judged = {
        name: [row for row in rows if row[place.get(name, 0)] in items] for name, rows in before.items()
    }
    assert len({row[-4] for row in judged["judgment"]}) == FIVE
    with new_workspace(tmp_path) as again:
        import_files(again, [tmp_path / "record.jsonl"])
        assert kept(again) == judged
    return before


def check_formats(workspace, tmp_path, before, *forms):
    """The formats of the kind bring all of it into another workspace, and the record the judgments."""
    files = [tmp_path / f"out-{form}.jsonl" for form in forms]
    for form, target in zip(forms, files, strict=True):
        export(workspace, target, form)
    with new_workspace(tmp_path) as again:
        import_files(again, files)
        import_files(again, [tmp_path / "record.jsonl"])
        assert kept(again) == before
        assert many(again, "pending_response") == many(workspace, "pending_response")
    assert not import_files(workspace, files).adds
    return files


def test_completions_and_their_results(shared_data, tmp_path):
    folder = shared_data("crosscodeeval")
    results = sorted((folder / "results").glob("python.*.jsonl.gz"))
    assert len(results) == 6
    tasks = records(folder / "python_sample.jsonl.gz")
    joined = {task["groundtruth"]: task["metadata"]["task_id"] for task in tasks}
    with new_workspace(tmp_path) as workspace:
        import_files(workspace, [folder / "python_sample.jsonl.gz"], setting="rg1_bm25")
        expected = []
        for path in results:
            _, model, setting = path.name.removesuffix(".jsonl.gz").split(".")
            rows = records(path)
            (file,) = import_files(workspace, [path]).files
            mine = [
                (joined[row["groundtruth"]], model, setting, 0, row["prediction"])
                for row in rows
                if row["groundtruth"] in joined
            ]
            expected += mine
            assert (file.responses_added, file.pending_responses) == (len(mine), 1321 - len(mine))
        assert [row[:5] for row in kept(workspace, "response")["response"]] == sorted(expected)
        items = judge_five(workspace, "completion")
        before = check_record(workspace, tmp_path, items)
        tasks_out, _ = check_formats(workspace, tmp_path, before, "crosscodeeval", "predictions")
        for task in tasks:
            task["crossfile_context"]["setting"] = "rg1_bm25"
        assert records(tasks_out) == tasks


def test_questions_of_repositories(shared_data, tmp_path):
    files = sorted(shared_data("swe-qa").glob("*.jsonl"))
    with new_workspace(tmp_path) as workspace:
        assert import_files(workspace, files).items_added == 384
        before = check_record(workspace, tmp_path, judge_five(workspace, "answer"))
        (out,) = check_formats(workspace, tmp_path, before, "questions")
        stood = [
            {"id": f"{path.stem}-{place}", **record}
            for path in files
            for place, record in enumerate(records(path), start=1)
        ]
        assert records(out) == stood


def test_judgments_of_answers(shared_data, tmp_path):
    path = shared_data("japanese-mtbench") / "gpt-4_single.part.jsonl.gz"
    with new_workspace(tmp_path) as workspace:
        (file,) = import_files(workspace, [path]).files
        assert (file.records, file.items_added, file.scores_added) == (282, 40, 282)
        before = check_record(workspace, tmp_path, judge_five(workspace, "answer"))
        (out,) = check_formats(workspace, tmp_path, before, "mt-bench")
        told = sorted(json.dumps(record, sort_keys=True) for record in records(out))
        assert told == sorted(json.dumps(record, sort_keys=True) for record in records(path))
        check_formats(workspace, tmp_path, before, "questions", "answers")


@pytest.fixture
def threads(shared_data):
    """The issue threads, and the names of who wrote in them."""
    path = shared_data("codeassistbench") / "cab_recent.part.jsonl.gz"
    found = records(path)
    names = {one["author"] for one in found} | {by["user"] for one in found for by in one["comments"]}
    return path, names


def test_issue_threads_without_a_user_name_anywhere(threads, tmp_path):
    path, names = threads
    with Workspace.create(tmp_path / "threads.duckdb") as workspace:
        (file,) = import_files(workspace, [path], format="issues").files
        assert (file.records, file.items_added) == (173, 153)
        before = check_record(workspace, tmp_path, judge_five(workspace, "answer"))
        (out,) = check_formats(workspace, tmp_path, before, "questions")
        # In the repository that a question is about, and its address, an owner may be named who writes, too.
        kept = ("repository", "url")
        of_both = re.compile(r'"(?:repository|url)": ?"[^"]*"')
        texts = [
            of_both.sub("", file.read_text(encoding="utf-8")) for file in (out, tmp_path / "record.jsonl")
        ]
        cursor = workspace.native()
        columns = cursor.execute(
            "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal AND data_type = 'VARCHAR' "
            "AND table_name IN (SELECT table_name FROM duckdb_tables() WHERE NOT temporary)"
        ).fetchall()
        assert len(columns) > 50
        owners: set[str] = set()
        for table, column in columns:
            found = cursor.execute(f'SELECT DISTINCT "{column}" FROM "{table}" WHERE "{column}" <> \'\'')
            there = [text for (text,) in found.fetchall()]
            owners |= {text.lower().split("/")[0] for text in there} if column == "repository" else set()
            texts += there if column not in kept else []
        cursor.close()
    either = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![^\W_])(?:{either})(?![^\W_])", re.IGNORECASE)
    assert not [match[0] for text in texts for match in pattern.finditer(text)]
    # Names that are no words by chance are not in the bytes of the file either.
    told = [name.lower() for name in names if len(name) > 5 and re.search(r"[\d-]", name)]
    odd = [name.encode() for name in told if name not in owners]
    stored = (tmp_path / "threads.duckdb").read_bytes().lower()
    assert len(odd) > 50
    assert not [name for name in odd if name in stored]
