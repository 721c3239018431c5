"""The field's own files: every record makes what it says, and is written back as it stood."""

import gzip
import json

import pytest

from store.formats.crosscodeeval import Predictions, Tasks, write_prediction, write_task
from store.formats.making import Known


def records(path):
    stored = path.read_bytes()
    lines = gzip.decompress(stored) if path.suffix == ".gz" else stored
    return [json.loads(line) for line in lines.decode("utf-8").splitlines() if line]


def test_tasks_are_written_back_as_they_stood(shared_data):
    tasks = records(shared_data("crosscodeeval") / "python_sample.jsonl.gz")
    converter = Tasks(Known("python_sample"))
    chunks = 0
    for number, task in enumerate(tasks, start=1):
        made, *found = converter.convert(task, number)
        chunks += len(found)
        assert made.fields["language"] == "python"
        assert write_task(made, found) == task
    assert (len(tasks), chunks) == (63, 306)


@pytest.mark.parametrize("model", ["StarCoder-1B", "WizardCoder-1B"])
@pytest.mark.parametrize("setting", ["", "_oracle_bm25", "_rg1_bm25"])
def test_result_rows_are_written_back_as_they_stood(shared_data, model, setting):
    stem = f"python.{model}.line_completion{setting}"
    rows = records(shared_data("crosscodeeval") / "results" / f"{stem}.jsonl.gz")
    converter = Predictions(Known(stem))
    for number, row in enumerate(rows, start=1):
        (made,) = converter.convert(row, number)
        assert made.fields["reference"] == row["groundtruth"]
        assert made.fields["text"] == row["prediction"]
        assert write_prediction(made) == {**row, "model": model, "setting": f"line_completion{setting}"}
    assert converter.counts == {f"completions whose model is told from the file's name: {model}": 1321}
