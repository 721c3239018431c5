"""The documents: their tables are current, their commands work, their links lead somewhere."""

import re
import shlex
import shutil
import textwrap

import pytest

from workbench.config import load_config
from workbench.reference import documents

FILES = {
    "pairs.jsonl": """\
{"id": "q1/1", "query": "python reverse a list", "code": "def back(x):\\n    return x[::-1]\\n"}
{"id": "q1/2", "query": "python reverse a list", "code": "def first(x):\\n    return x[0]\\n"}
""",
    "questions.csv": "number,question,snippet\n1,python reverse a list,def back(x): return x[::-1]\n",
    "mypairs.csv": "id;Question;snippet;note\n007;sort a dict by value;sorted(d, key=d.get);mine\n",
    "ratings.csv": "unit,query,ana,ben\n1,q1,1,1\n2,q1,0,1\n3,q2,0,0\n",
    "labels.csv": "item,rater,value,comment\nq1/1,eli,1,\nq1/2,eli,0,takes one only\n",
    "tasks.jsonl": """\
{"prompt": "till.", "groundtruth": "open()", "metadata": {"task_id": "project_cc_python/1"}}
{"prompt": "print(", "groundtruth": "'shut')", "metadata": {"task_id": "project_cc_python/2"}}
""",
    "predictions.jsonl": """\
{"task_id": "project_cc_python/1", "pred": "close()", "model": "ours-7b"}
{"task_id": "project_cc_python/2", "pred": "till)", "model": "ours-7b"}
""",
    "repository.jsonl": """\
{"id": "till-1", "repository": "shop/till", "question": "Where is it opened?", "answer": "In `drawer.py`."}
{"id": "till-2", "repository": "shop/till", "question": "Who may open it?", "answer": "Whoever has the key."}
""",
    "swe.jsonl": '{"instance_id": "till-12", "repo": "shop/till", "problem_statement": "The drawer stays shut."}',
    "answers.jsonl": """\
{"question_id": "till-1", "model": "ours-7b", "setting": "bm25", "answer": "In the drawer.",\
 "scores": [{"judge": "ours-70b", "measure": "accuracy", "score": 7, "reason": "It names no file."}]}
""",
    "tasks.json": """\
[{"id": 1, "data": {"query": "reverse a list", "code": "x[::-1]"}, "annotations": [{"completed_by": 4,
  "result": [{"from_name": "label", "to_name": "code", "type": "choices", "value": {"choices": ["match"]}}]}]}]
""",
    "renamed.json": """\
[{"id": 1, "data": {"question": "reverse a list", "snippet": "x[::-1]"}, "annotations": [{"completed_by": 4,
  "result": [{"from_name": "verdict", "to_name": "code", "type": "choices", "value": {"choices": ["match"]}}]}]}]
""",
    "issues.json": """\
[{"number": 3, "title": "The drawer stays shut", "body": "It does.", "user": {"login": "somebody-here"},
  "html_url": "https://code.example/shop/till/issues/3", "repository_url": "https://code.example/repos/shop/till"}]
""",
}


def pages(repository):
    return {
        path.relative_to(repository).as_posix(): path
        for path in [*repository.glob("docs/*.md"), repository / "README.md", repository / "CONTRIBUTING.md"]
    }


def test_what_is_generated_is_current(repository):
    for path, text in documents(repository).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run python -m workbench.reference"


def test_the_picture_of_the_readme_is_current(repository):
    pictures = repository / "tests" / "snapshots" / "__snapshots__" / "test_review"
    shown = pictures / "test_review[failing-120x40].svg"
    told = f"cp '{shown.relative_to(repository)}' docs/review.svg"
    assert (repository / "docs" / "review.svg").read_bytes() == shown.read_bytes(), told


def anchors(page):
    """The places in a page that links can name, as its headings make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_somewhere(repository):
    for name, path in pages(repository).items():
        for target, place in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", path.read_text(encoding="utf-8")):
            page = path.parent / target if target else path
            assert page.exists(), f"{name} links to {target}"
            assert not place or place in anchors(page), f"{name} links to {target}#{place}"


def test_configurations_in_the_documents_are_read(repository, tmp_path):
    found = 0
    for name, path in pages(repository).items():
        text = path.read_text(encoding="utf-8")
        for number, block in enumerate(
            re.findall(r"^ *```toml\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)
        ):
            if "[project" in block:
                continue  # of a package
            file = tmp_path / f"{path.stem}-{number}.toml"
            file.write_text(textwrap.dedent(block), encoding="utf-8")
            assert load_config(file).found, name
            found += 1
    assert found >= 8


def test_what_the_architecture_names_is_there(repository):
    text = (repository / "docs" / "architecture.md").read_text(encoding="utf-8")
    floors = ("workbench", "screens", "agents", "store")
    code = [
        path.read_text(encoding="utf-8") for floor in floors for path in (repository / floor).rglob("*.py")
    ]
    named = re.findall(r"`([^`\s]+)`", text)
    assert len(named) > 50
    for name in named:
        if "/" in name:
            assert (repository / name).exists() or (repository / "screens" / name).exists(), name
        elif re.fullmatch(r"[A-Z]\w+(\.\w+)?", name):
            owner, _, member = name.partition(".")
            found = [source for source in code if re.search(rf"^class {owner}\b", source, re.MULTILINE)]
            assert found, name
            assert any(
                re.search(rf"\bdef {member}\b|\.{member}\b|\b{member}:", source) for source in found
            ), name
        elif re.fullmatch(r"\w+_\w+", name):
            assert any(re.search(rf"\bdef {name}\b", source) for source in code), name


def test_the_command_for_the_tests_is_the_one_that_is_run(repository):
    readme = (repository / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^    (tests/setup && .*)$", readme, re.MULTILINE)
    assert command.endswith(" && tests/run")
    assert (repository / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-1] == command


def examples(repository):
    for name, path in sorted(pages(repository).items()):
        text = path.read_text(encoding="utf-8")
        blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
        commands = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]
        if commands:
            yield name, commands


def test_there_are_examples(repository):
    assert len(dict(examples(repository))) >= 4


@pytest.mark.parametrize(
    "name",
    [
        *("getting-started", "importing", "annotating", "merging", "exporting", "scripting"),
        *("completions", "questions", "splits", "candidates", "retrieval", "searching"),
    ],
)
def test_examples_work_in_the_order_they_are_given(
    repository, sample_folder, in_folder, workbench, monkeypatch, name
):
    monkeypatch.setenv("WORKBENCH_SANDBOX__WALL_SECONDS", "2")  # for the sample's endless program
    for file, text in FILES.items():
        (in_folder / file).write_text(text, encoding="utf-8")
    shutil.copytree(sample_folder, in_folder / "sample_data")
    for command in dict(examples(repository))[f"docs/{name}.md"]:
        program, *arguments = shlex.split(command)
        if program == "export":
            for argument in arguments:
                monkeypatch.setenv(*argument.split("=", 1))
            continue
        assert program == "workbench"
        done = workbench(*arguments)
        assert done.code == 0, f"{command}\n{done.err}"
