"""Open our files with the libraries of labelling tools: python labelling_tools.py FOLDER.

The folder holds label-studio.json, argilla.json and argilla.jsonl as `workbench export` wrote them; their libraries are
label-studio-sdk and argilla (with requests), in an environment of their own. Prodigy's is not public.
"""

import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock
from uuid import UUID, uuid4

from labelling_config import CONFIG

folder = Path(sys.argv[1])


def label_studio():
    """Check every task against the labelling interface, and convert the export as Label Studio does."""
    from label_studio_sdk.converter import Converter
    from label_studio_sdk.label_interface import LabelInterface
    from label_studio_sdk.label_interface.objects import TaskValue

    path = folder / "label-studio.json"
    tasks = json.loads(path.read_text())
    interface = LabelInterface(CONFIG)
    interface.validate()
    for task in tasks:
        TaskValue.model_validate(task)
        # With annotations it asks for arguments that it does not give.
        assert interface.validate_task({"data": task["data"]}), task
        for one in task["annotations"]:
            assert interface.validate_annotation(one), one
        for one in task["predictions"]:
            assert not interface.validate_prediction(one, return_errors=True), one
    with tempfile.TemporaryDirectory() as out:
        Converter(CONFIG, project_dir=None).convert_to_json_min(str(path), out, is_dir=False)
        (found,) = Path(out).glob("*.json")
        converted = json.loads(found.read_text())
    assert len(converted) == sum(max(1, len(task["annotations"])) for task in tasks)
    assert {one["label"] for one in converted if "label" in one} <= {"match", "no match"}
    return version("label-studio-sdk"), len(tasks), len(converted)


def argilla():
    """Load nested records as `records.from_json` does, flat ones as `Dataset.from_hub` does."""
    import argilla as rg
    from argilla.datasets._io._hub import HubImportExportMixin
    from argilla.records._io import JsonIO
    from datasets import Dataset

    nested = JsonIO._records_from_json(folder / "argilla.json")
    lines = [json.loads(line) for line in (folder / "argilla.jsonl").open()]
    # Nothing is sent anywhere: a client that knows all users, and a dataset that keeps what is logged.
    client, dataset = MagicMock(), MagicMock()
    rg.Argilla._set_default(client)
    users = {user for line in lines for user in line["label.responses.users"]}
    labels = rg.LabelQuestion(name="label", labels=["match", "no match"])
    fields = [rg.TextField(name="query"), rg.TextField(name="code")]
    dataset.settings = rg.Settings(fields=fields, questions=[labels])
    dataset.questions, dataset.schema = {"label": labels}, {one.name: one for one in [*fields, labels]}
    for record in nested:
        record.dataset = dataset
        record.api_model().model_dump()
    dataset._client.users = [SimpleNamespace(id=UUID(user)) for user in users]
    dataset._client.me = SimpleNamespace(id=uuid4(), username="me")
    HubImportExportMixin._log_dataset_records(Dataset.from_list(lines), dataset)
    flat = dataset.records.log.call_args.kwargs["records"]
    count = 0
    for line, one, other in zip(lines, flat, nested, strict=True):
        given = {end: line[f"label.responses{end}"] for end in ("", ".users", ".status")}
        for record in (one, other):
            assert (record.id, dict(record.fields.to_dict())) == (
                line["id"],
                {n: line[n] for n in ("query", "code")},
            )
            assert [response.value for response in record.responses] == given[""]
            assert [str(response.user_id) for response in record.responses] == given[".users"]
            assert [response.status.value for response in record.responses] == given[".status"]
            assert [found.value for found in record.suggestions] == [
                v for v in [line["label.suggestion"]] if v
            ]
        count += len(given[""])
    return version("argilla"), len(lines), count


for name in sys.argv[2:] or ("label_studio", "argilla"):
    print(name, *globals()[name]())
