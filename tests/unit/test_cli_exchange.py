"""import, export and recover on the command line: what they say, and what is left when they refuse."""

import json
import re
import shlex

import pytest

from store.errors import WorkbenchError
from store.formats.protocol import formats
from store.kinds.spec import task_kinds
from store.workspace.duckdb import Workspace
from workbench.cli.exchange import parse_mapping

PAIRS = [
    {"id": "q1/1", "query": "reverse a list", "code": "def back(x):\n    return x[::-1]\n"},
    {"id": "q1/2", "query": "reverse a list", "code": "def first(x):\n    return x[0]\n"},
    {"id": "q2/1", "query": "add one", "code": "def inc(x):\n    return x + 1\n", "label": 1},
]


@pytest.fixture
def pairs(in_folder):
    return write(in_folder / "pairs.jsonl", PAIRS)


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def items(workbench, workspace):
    return [item["item"] for item in workbench("items", workspace, "--json").json()["items"]]


def test_an_import_makes_the_workspace_and_says_what_came_of_it(workbench, pairs):
    done = workbench("import", "new.duckdb", pairs, "--label-as", "eli")
    assert done.code == 0
    assert "jsonl" in done.out
    assert "3 items added" in done.out
    assert "1 judgment of 'eli'" in done.out
    assert items(workbench, "new.duckdb") == ["q1/1", "q1/2", "q2/1"]


def test_a_second_import_of_the_same_file_adds_nothing_and_says_so(workbench, pairs):
    workbench("import", "new.duckdb", pairs)
    done = workbench("import", "new.duckdb", pairs)
    assert done.code == 0
    assert "Nothing of it is new" in done.out
    facts = workbench("import", "new.duckdb", pairs, "--json").json()
    assert (facts["items_added"], facts["items_known"]) == (0, 3)


def test_a_refused_import_leaves_no_workspace_behind(workbench, in_folder):
    bad = write(in_folder / "bad.jsonl", [*PAIRS, {"id": "q3/1", "query": 7, "code": "x"}])
    done = workbench("import", "new.duckdb", bad, "--json")
    assert done.code == 2
    assert "bad.jsonl" in done.json()["error"]["message"]
    assert "4" in done.json()["error"]["message"]
    assert [path.name for path in in_folder.iterdir()] == ["bad.jsonl"]


def test_a_refused_import_leaves_the_workspace_that_was_there(workbench, pairs, in_folder):
    workbench("import", "new.duckdb", pairs)
    bad = write(in_folder / "bad.jsonl", [{"id": "q9/1", "query": "x"}])
    assert workbench("import", "new.duckdb", bad).code == 2
    assert items(workbench, "new.duckdb") == ["q1/1", "q1/2", "q2/1"]


def test_rejects_takes_the_good_ones_and_names_the_file_of_the_others(workbench, in_folder):
    bad = write(in_folder / "bad.jsonl", [*PAIRS, {"id": "q3/1", "query": 7, "code": "x"}])
    done = workbench("import", "new.duckdb", bad, "--rejects", "refused.jsonl")
    assert done.code == 0
    assert "Refused: 1 record, in refused.jsonl" in done.out
    assert (in_folder / "refused.jsonl").read_text(encoding="utf-8").count("\n") == 1
    assert len(items(workbench, "new.duckdb")) == 3


def test_every_report_says_what_an_import_rejected(workbench, in_folder, tmp_path):
    """A label without its item is left out, and so said, until it is imported with it."""
    first = write(in_folder / "first.jsonl", [*PAIRS[1:], {"id": "q3/1", "query": 7, "code": "x"}])
    labels = [{"item": one["id"], "rater": rater, "value": 1} for one in PAIRS for rater in ("ana", "ben")]
    labels = write(in_folder / "labels.jsonl", labels)
    assert workbench("import", "new.duckdb", first, "--label-as", "ana", "--rejects", "a.jsonl").code == 0
    done = workbench("import", "new.duckdb", labels, "--rejects", "b.jsonl")
    assert "Refused: 2 records, in b.jsonl with the reasons." in done.out
    assert "Figures are without them, as every report says." in done.out
    rejected = [
        {"source": "first.jsonl", "rejected": 1, "records": 3},
        {"source": "labels.jsonl", "rejected": 2, "records": 6},
    ]
    said = "Left out: 3 records rejected by imports (1 of 3 of first.jsonl; 2 of 6 of labels.jsonl). "
    said += "Figures are without them, unless imported since."
    both = ("--raters", "ana,ben")
    reports = {
        **dict.fromkeys(("progress", "labels", "time", "plan", "preference"), ()),
        **{"agreement": both, "confusion": both, "accuracy": (*both, "--panel", "ana,ben")},
        "figures": ("--rater", "ana"),
    }
    for report, options in reports.items():
        done = workbench("report", "new.duckdb", report, *options, "--json")
        assert (done.code, done.json().get("rejected")) == (0, rejected), (report, done.out)
        assert said in workbench("report", "new.duckdb", report, *options).out, report
    evaluated = ("evaluate", "retrieval", "new.duckdb", "--methods", "bm25", "--rater", "ana")
    assert workbench(*evaluated, "--json").json()["rejected"] == rejected
    assert said in workbench(*evaluated).out
    assert workbench("study", "new", "new.duckdb", "s", "--raters", "eli").code == 0
    status = workbench("study", "status", "new.duckdb", "s", "--json").json()
    assert status["rejected"] == [{**one, "source": ""} for one in rejected]
    assert "Left out: 3 records rejected by imports. " in workbench("study", "status", "new.duckdb", "s").out
    (tmp_path / "blind.toml").write_text("[screens]\nblind = true\n")
    blind = workbench("--config", tmp_path / "blind.toml", "report", "new.duckdb")
    assert "Left out: 3 records rejected by imports. Figures" in blind.out
    assert "first.jsonl" not in blind.out
    assert workbench("export", "new.duckdb", "data", "--format", "hugging-face", "--rater", "ana").code == 0
    card = (in_folder / "data" / "README.md").read_text()
    assert "Left out, unless imported since: 3 records that imports rejected." in card
    # The same file again, now that the item is there.
    assert workbench("import", "new.duckdb", write(in_folder / "rest.jsonl", PAIRS[:1])).code == 0
    assert workbench("import", "new.duckdb", labels).code == 0
    assert workbench("report", "new.duckdb", "--json").json()["rejected"] == rejected[:1]


def test_a_dry_run_checks_and_changes_nothing(workbench, pairs, in_folder):
    done = workbench("import", "new.duckdb", pairs, "--dry-run", "--json")
    assert done.code == 0
    assert done.json()["items_added"] == 3
    assert [path.name for path in in_folder.iterdir()] == ["pairs.jsonl"]
    workbench("import", "new.duckdb", pairs)
    more = write(in_folder / "more.jsonl", [{"id": "n", "query": "a", "code": "b"}])
    assert "dry run" in workbench("import", "new.duckdb", more, "--dry-run").out
    assert len(items(workbench, "new.duckdb")) == 3


def test_a_dry_run_says_what_would_be_and_not_what_was(workbench, in_folder):
    known = {"id": "k", "query": "q", "code": "c", "note": "n", "label": 0}
    path = write(in_folder / "more.jsonl", [known, {"id": "n", "query": "a", "code": "b", "label": 1}])
    workbench("import", "new.duckdb", write(in_folder / "known.jsonl", [known]), "--label-as", "eli")
    said = workbench("import", "new.duckdb", path, "--label-as", "eli", "--dry-run").out
    assert "1 item would be added" in said
    assert "1 judgment of 'eli' would be added" in said
    assert "would be kept as extra: note" in said
    assert "Everything can be imported. This was a dry run: nothing was" in said
    bad = write(in_folder / "bad.jsonl", [{"id": "x"}, {"id": "y", "query": "q", "code": "z"}])
    said = workbench(
        "import", "new.duckdb", bad, "--dry-run", "--format", "jsonl", "--rejects", "r.jsonl"
    ).out
    assert "1 rejected" not in said
    assert "1 would be rejected" in said
    assert "1 record would be refused, and written to r.jsonl" in said
    assert "The rest can be imported. This was a dry run: nothing was" in said
    assert not (in_folder / "r.jsonl").exists()
    again = workbench("import", "new.duckdb", in_folder / "known.jsonl", "--label-as", "eli", "--dry-run").out
    assert "no item would be added" in again
    assert "nothing of it is new in new.duckdb" in again
    facts = workbench(
        "import", "new.duckdb", bad, "--format", "jsonl", "--dry-run", "--rejects", "r.jsonl", "--json"
    )
    assert facts.json()["rejects"] is None


def test_labels_of_a_file_that_names_no_rater_are_said_to_be_so(workbench, pairs):
    done = workbench("import", "new.duckdb", pairs)
    assert "1 judgment of 'pairs labels'" in done.out
    assert "the rater is named after the file; --label-as NAME changes it" in done.out
    named = workbench("import", "other.duckdb", pairs, "--label-as", "eli", "--json").json()
    assert [file["rater_assumed"] for file in named["files"]] == [False]
    assert "--label-as" not in workbench("import", "other.duckdb", pairs, "--label-as", "eli").out


@pytest.mark.parametrize(
    ("format", "place"), [("cosqa", "a file"), ("cosqa-plus", "a folder"), ("csv", "a file")]
)
def test_one_raters_labels_come_back_as_theirs_when_the_name_is_given(
    workbench, pairs, in_folder, format, place
):
    workbench("import", "new.duckdb", pairs, "--label-as", "dana o'neil")
    done = workbench("export", "new.duckdb", "out", "--format", format, "--rater", "dana o'neil")
    assert f"({format}, {place})" in done.out
    assert (in_folder / "out").is_dir() == (place == "a folder")
    (option,) = re.findall(r"to import them elsewhere as theirs: (--label-as .*)$", done.out, re.MULTILINE)
    again = workbench("import", "copy.duckdb", "out", *shlex.split(option), "--json").json()
    assert again["judgments_added"] == {"dana o'neil": 1}
    assert "name" in workbench("export", "--help").out
    assert "for cosqa-plus the folder" in " ".join(workbench("export", "--help").out.split())


def test_the_help_names_the_registered_formats(workbench):
    for command, part in (("export", "write"), ("import", "readable")):
        help_of_format = workbench(command, "--help").out.partition("--format")[2].partition("--")[0]
        text = re.sub(r"\[required\]|\s+", " ", help_of_format.partition(":")[2]).strip(" .")
        # A line may end at the hyphen of a name.
        listed = text.replace("- ", "-").split(", ")
        assert listed == sorted(name for name, known in formats().items() if getattr(known, part))


def test_every_kind_is_exported_in_its_own_formats(workbench, in_folder, sample_folder):
    names = ("pairs", "completions", "predictions", "questions", "answers")
    assert (
        workbench("import", "w.duckdb", *(str(sample_folder / f"{name}.jsonl") for name in names)).code == 0
    )
    completion = {"item": "sample_python/1", "kind": "completion", "rater": "dana", "value": 1}
    labels = [completion, {**completion, "item": "sample_python/2", "value": 3}]
    (pair, *_) = items(workbench, "w.duckdb")
    labels.append({"item": pair, "rater": "dana", "value": 1})
    workbench("import", "w.duckdb", write(in_folder / "labels.jsonl", labels))

    def lines(*arguments):
        done = workbench("export", "w.duckdb", *arguments)
        assert done.code == 0
        return done.out.splitlines()

    assert lines("l.csv", "--format", "labels") == ["l.csv: 3 labels (labels, a file)."]
    assert lines("d.csv", "--format", "labels", "--rater", "dana") == [
        "d.csv: 3 labels, rater dana (labels, a file)."
    ]
    left = "Left out, since this format holds pairs: labels of 2 completions. Write them: --format labels"
    assert left in lines("p.csv", "--format", "csv", "--rater", "dana")
    assert lines("t.jsonl", "--format", "crosscodeeval", "--rater", "dana", "--only-kept") == [
        "t.jsonl: 1 completion, rater dana (crosscodeeval, a file).",
        "Left out: 11 completions without the label to keep them.",
    ]
    facts = workbench(
        "export", "w.duckdb", "a.jsonl", "--format", "answers", "--setting", "retrieval", "--json"
    )
    assert (facts.json()["setting"], facts.json()["others"], facts.json()["left_out"]) == ("retrieval", {}, 0)
    assert lines("q.jsonl", "--format", "questions")[0].endswith(
        "9 repository questions (questions, a file)."
    )
    assert lines("m.jsonl", "--format", "mt-bench") == ["m.jsonl: 72 scores of answers (mt-bench, a file)."]
    assert lines("c.jsonl", "--format", "predictions") == [
        "c.jsonl: 48 completions by models (predictions, a file)."
    ]
    refused = workbench("export", "w.duckdb", "x", "--format", "crosscodeeval", "--setting", "no")
    assert (refused.code, refused.says("no context under the setting 'no'")) == (2, True)
    refused = workbench("export", "w.duckdb", "x", "--format", "questions", "--setting", "no")
    assert (refused.code, refused.says("no context under the setting 'no'")) == (2, True)
    assert not (in_folder / "x").exists()
    refused = workbench("export", "w.duckdb", "x", "--format", "predictions", "--rater", "dana")
    assert (refused.code, refused.says("--format labels")) == (2, True)


def test_columns_of_other_names_are_mapped(workbench, in_folder):
    (in_folder / "q.csv").write_text("number,question,snippet\n1,add,x + 1\n", encoding="utf-8")
    arguments = ["--map", "id=number", "--map", "query=question", "--map", "code=snippet", "--prefix", "s-"]
    assert workbench("import", "new.duckdb", "q.csv", *arguments).code == 0
    assert items(workbench, "new.duckdb") == ["s-1"]


def test_fields_of_a_file_of_questions_are_mapped(workbench, in_folder):
    """SWE-bench's form; the field `answer` that is something else here is kept under the name that is free."""
    record = {"repo": "shop/till", "instance_id": "t-12", "problem_statement": "Stays shut", "answer": 42}
    (in_folder / "tasks.jsonl").write_text(json.dumps(record | {"hints": "Oil it."}))
    named = ["question=problem_statement", "id=instance_id", "repository=repo", "answer=hints"]
    mapped = [part for name in named for part in ("--map", name)]
    for more in ([], ["--format", "questions"]):
        done = workbench("import", "new.duckdb", "tasks.jsonl", *mapped, *more, "--json")
        assert done.code == 0
    with Workspace.open(in_folder / "new.duckdb") as workspace:
        found = (
            "SELECT external_id, repository, question, reference, extra FROM item JOIN repository_question "
        )
        rows_ = workspace.native().execute(f"{found} ON item_id = id").fetchall()
    assert rows_ == [("t-12", "shop/till", "Stays shut", "Oil it.", '{"hints":42}')]
    refused = workbench(
        "import", "new.duckdb", "tasks.jsonl", "--format", "questions", "--map", "number=repo"
    )
    assert (refused.code, refused.says("There is no field 'number' to map")) == (2, True)
    assert refused.says("Fields: answer, commit, id, language, question, repository")
    refused = workbench("import", "new.duckdb", "tasks.jsonl", *mapped, "--map", "language=lang", *more)
    assert (refused.code, refused.says("missing field 'lang'")) == (2, True)


@pytest.mark.parametrize(
    "pairs_", [["query"], ["=x"], ["query="], ["query=a", "query=b"], ["id=a", "id = b"]]
)
def test_a_mapping_that_cannot_be_read_is_refused(pairs_):
    with pytest.raises(WorkbenchError, match="Mapping not understood"):
        parse_mapping(pairs_)


def test_a_mapping_keeps_what_stands_after_the_first_equals_sign():
    assert parse_mapping(["query = a=b", "id=n"]) == {"query": "a=b", "id": "n"}


def test_what_is_exported_is_the_same_after_an_import_into_a_new_workspace(workbench, in_folder):
    pairs = write(in_folder / "pairs.jsonl", PAIRS[:2])
    workbench("import", "new.duckdb", pairs)
    workbench("judge", "new.duckdb", "q1/1", "1", "--rater", "dana", "--comment", "yes, ünïcode")
    workbench("judge", "new.duckdb", "q1/1", "0", "--rater", "dana")
    done = workbench("export", "new.duckdb", "all.jsonl", "--format", "jsonl")
    assert done.code == 0
    assert "all.jsonl" in done.out
    assert workbench("export", "new.duckdb", "all.jsonl", "--format", "jsonl").code == 2
    piped = workbench("export", "new.duckdb", "-", "--format", "jsonl")
    assert piped.code == 2
    assert piped.says("Name a file")
    assert not (in_folder / "-").exists()
    again = workbench("export", "new.duckdb", "all.jsonl", "--format", "jsonl", "--overwrite", "--json")
    assert again.json()["records"] == 2
    workbench("import", "copy.duckdb", pairs, "all.jsonl")
    workbench("export", "copy.duckdb", "copy.jsonl", "--format", "jsonl")
    assert rows(in_folder / "copy.jsonl") == rows(in_folder / "all.jsonl")


def rows(path):
    return sorted(path.read_text(encoding="utf-8").splitlines())


def test_an_export_of_one_raters_labels(workbench, pairs):
    workbench("import", "new.duckdb", pairs)
    workbench("judge", "new.duckdb", "q1/1", "1", "--rater", "dana")
    facts = workbench("export", "new.duckdb", "d.csv", "--format", "csv", "--rater", "dana", "--json").json()
    assert (facts["records"], facts["labelled"], facts["rater"]) == (3, 1, "dana")
    assert workbench("export", "new.duckdb", "x.csv", "--format", "csv", "--rater", "nobody").code == 2
    assert workbench("export", "new.duckdb", "x.csv", "--format", "nonsense").code == 2


def test_judgments_come_back_from_the_journal(workbench, pairs, in_folder):
    workbench("import", "new.duckdb", pairs)
    workbench("judge", "new.duckdb", "q1/1", "1", "--rater", "dana")
    (in_folder / "new.duckdb").unlink()
    workbench("import", "new.duckdb", pairs)
    assert "recover" in workbench("doctor", "new.duckdb").out
    done = workbench("recover", "new.duckdb")
    assert done.code == 0
    assert "1 record restored" in done.out
    again = workbench("recover", "new.duckdb", "--json").json()
    assert (again["added"], again["known"]) == (0, 1)
    judged = workbench("items", "new.duckdb", "--rater", "dana", "--status", "judged", "--json").json()
    assert [item["item"] for item in judged["items"]] == ["q1/1"]


def test_without_a_journal_recover_says_so(workbench, pairs):
    workbench("import", "new.duckdb", pairs)
    done = workbench("recover", "new.duckdb")
    assert done.code == 2
    # The path may be broken into lines at any place.
    assert done.says("new.duckdb.journal.jsonl")


def test_a_workspace_that_somebody_has_open_is_named_with_its_holder(workbench, pairs, hold):
    workbench("import", "new.duckdb", pairs)
    with hold("new.duckdb") as process:
        done = workbench("items", "new.duckdb", "--json")
    assert done.code == 2
    assert str(process.pid) in done.json()["error"]["message"]
    assert workbench("items", "new.duckdb").code == 0


def test_a_new_workspace_holds_the_questions(workbench, pairs):
    workbench("import", "new.duckdb", pairs)
    with Workspace.open("new.duckdb") as workspace, workspace.reading() as connection:
        found = connection.exec_driver_sql("SELECT name FROM question").scalars().all()
    assert found == [spec.name for kind in task_kinds().values() for spec in kind.every_question]
    assert found[0] == "pair.match"
