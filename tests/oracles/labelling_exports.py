"""Write what labelling tools export of a few tasks: python labelling_exports.py TOOL > FILE.

TOOL is `argilla` (argilla, with requests) or `label_studio` (label-studio, the server, which it runs without a network), each
in an environment of its own. Prodigy's library is not public.
"""

import json
import os
import sys
import tempfile
from contextlib import redirect_stdout
from importlib.metadata import version
from pathlib import Path
from unittest.mock import MagicMock
from uuid import UUID

from labelling_config import CONFIG


def argilla():
    """Responses of every status, to two questions, as `records.to_json` and `to_list(flatten=True)` write them."""
    import argilla as rg
    from argilla.records._io import GenericIO, JsonIO

    # Nothing is sent anywhere.
    rg.Argilla._set_default(MagicMock())
    ann, bob = UUID(int=1), UUID(int=2)

    def record(name, *responses, suggestions=()):
        given = [
            rg.Response(question, value, user_id=user, status=status)
            for question, value, user, status in responses
        ]
        fields = {"query": f"query of {name}", "code": "x = 1"}
        return rg.Record(
            id=name, fields=fields, metadata={"year": 2026}, responses=given, suggestions=list(suggestions)
        )

    records = [
        record(
            "both",
            ("label", "match", ann, "submitted"),
            ("label", "no match", bob, "submitted"),
            suggestions=[rg.Suggestion("label", "match", score=0.5, agent="model")],
        ),
        record("unfinished", ("label", "match", ann, "discarded"), ("label", "no match", bob, "draft")),
        record("made", ("label", "no match", ann, None)),
        record("other", ("fluency", 1, ann, "submitted")),
        record("nobody"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        JsonIO.to_json(records, Path(folder, "nested.json"))
        nested = json.loads(Path(folder, "nested.json").read_text())
    return {
        "argilla": version("argilla"),
        "nested": nested,
        "flat": json.loads(json.dumps(GenericIO.to_list(records, flatten=True))),
    }


def label_studio():
    """Annotations of two people and of nobody, a draft and a prediction, before and after a correction."""
    folder = tempfile.mkdtemp()
    os.environ |= {
        "LABEL_STUDIO_BASE_DATA_DIR": folder,
        "DJANGO_DB": "sqlite",
        "DATABASE_NAME": f"{folder}/db.sqlite3",
        "SECRET_KEY": "0" * 50,
        "COLLECT_ANALYTICS": "false",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
        "DJANGO_SETTINGS_MODULE": "core.settings.label_studio",
    }
    import label_studio as package

    sys.path.insert(0, str(Path(package.__file__).parent))
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0, interactive=False)
    from organizations.models import Organization
    from projects.models import Project
    from rest_framework.test import APIClient
    from tasks.models import Annotation, AnnotationDraft, Prediction, Task
    from users.models import User

    ann, bob = (
        User.objects.create_user(
            email=f"{name.lower()}@lab.example", username=name, first_name=first, last_name=last
        )
        for name, first, last in (("Ann", "", ""), ("Bob", "Bob", "Roe"))
    )
    organization = Organization.create_organization(created_by=ann, title="lab")
    for user in (ann, bob):
        user.active_organization = organization
        user.save()
    project = Project.objects.create(
        title="pairs", label_config=CONFIG, organization=organization, created_by=ann
    )

    def result(word, *texts):
        control = {"to_name": "code"}
        found = [
            {"id": "a", "from_name": "label", **control, "type": "choices", "value": {"choices": [word]}}
        ]
        text = {
            "id": "b",
            "from_name": "comment",
            **control,
            "type": "textarea",
            "value": {"text": list(texts)},
        }
        return [*found, text] if texts else found

    def annotate(task, user, given, **more):
        return Annotation.objects.create(task=task, project=project, completed_by=user, result=given, **more)

    both, nobodys, predicted, drafted, _ = (
        Task.objects.create(
            project=project, data={"query": f"query {number}", "code": "x = 1"}, meta={"batch": number}
        )
        for number in range(1, 6)
    )
    annotate(both, ann, result("match"))
    annotate(both, ann, result("no match", "not at all"))
    annotate(both, bob, result("match"), lead_time=3.5, ground_truth=True)
    annotate(nobodys, None, result("match"))
    annotate(nobodys, bob, [], was_cancelled=True)
    corrected = annotate(predicted, bob, result("no match"))
    Prediction.objects.create(
        task=predicted, project=project, result=result("match"), model_version="model", score=0.5
    )
    AnnotationDraft.objects.create(task=drafted, user=ann, result=result("match"))
    client = APIClient()
    client.force_authenticate(user=ann)

    def exported():
        reply = client.get(f"/api/projects/{project.id}/export?exportType=JSON&download_all_tasks=true")
        return json.loads(b"".join(reply.streaming_content) if reply.streaming else reply.content)

    export = exported()
    tasks = client.get(f"/api/tasks/?project={project.id}&fields=all").json()["tasks"]
    corrected.result = result("match", "it does")
    corrected.save()
    return {
        "label-studio": version("label-studio"),
        "export": export,
        "tasks": tasks,
        "corrected": exported(),
    }


with redirect_stdout(sys.stderr):
    written = globals()[sys.argv[1]]()
print(json.dumps(written))
