"""doctor: what works here, what does not, and no secret in it."""

import json

import pytest

from agents.pipelines.registry import agents_parts
from screens.commands import all_commands
from store.formats.protocol import formats
from store.kinds.spec import task_kinds
from store.workspace.duckdb import Workspace
from workbench.diagnosis import GROUPS


@pytest.fixture
def study(workbench, in_folder):
    (in_folder / "pairs.csv").write_text("id,query,code\nq1,add,x + 1\nq2,add,x + 2\n", encoding="utf-8")
    assert workbench("import", "study.duckdb", "pairs.csv").code == 0
    return in_folder / "study.duckdb"


def test_it_tells_everything_as_json(workbench):
    done = workbench("doctor", "--json")
    facts = done.json()
    assert done.code == (1 if facts["problems"] else 0)
    assert {box["name"] for box in facts["sandboxes"]} >= {"bubblewrap", "process"}
    assert all(isinstance(box["works"], bool) and box["detail"] for box in facts["sandboxes"])
    assert set(facts["registered"]) == set(GROUPS)
    assert {one["name"] for one in facts["registered"]["workbench.formats"]} >= {"cosqa", "csv", "jsonl"}
    assert {one["name"] for one in facts["registered"]["workbench.measures"]} >= {"alpha", "cohen"}
    assert [one["error"] for found in facts["registered"].values() for one in found if one["error"]] == []
    assert facts["terminal"]["is_terminal"] is False
    assert facts["terminal"]["bracketed_paste"] == "unknown"
    assert facts["workspace"] is None
    assert [one["id"] for one in facts["actions"]] == [command.id for command in all_commands()]


def test_keys_are_said_to_be_set_and_never_shown(workbench, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-first")
    monkeypatch.setenv("WORKBENCH_MODELS__ANTHROPIC_API_KEY", "sk-second")
    plain, facts = workbench("doctor"), workbench("doctor", "--json")
    assert facts.json()["keys_set"] == {"openai": "OPENAI_API_KEY", "anthropic": "configuration"}
    assert "sk-" not in plain.out + plain.err + facts.out + facts.err


def test_it_shows_where_settings_come_from(workbench, in_folder, monkeypatch):
    (in_folder / "c.toml").write_text('rater = "dana"\n[screens.keys]\n"app.jobs" = "K"\n', encoding="utf-8")
    monkeypatch.setenv("WORKBENCH_AGENTS__CONCURRENCY", "2")
    facts = workbench("doctor", "--config", "c.toml", "--json").json()
    settings = {one["name"]: (one["value"], one["origin"]) for one in facts["configuration"]["settings"]}
    assert settings["rater"] == ("dana", "c.toml:1")
    assert settings["agents.concurrency"] == ("2", "WORKBENCH_AGENTS__CONCURRENCY")
    assert facts["rater"] == "dana"
    changed = {one["id"]: one["keys"] for one in facts["actions"] if one["changed"]}
    assert changed == {"app.jobs": ["K"]}
    assert "c.toml:1" in workbench("doctor", "--config", "c.toml").out


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """Install a package whose entry point is of no use: `broken(group, name, value)`."""

    def install(group, name, value):
        folder = tmp_path / "site" / "broken-1.0.dist-info"
        folder.mkdir(parents=True)
        metadata = "Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n"
        (folder / "METADATA").write_text(metadata, encoding="utf-8")
        (folder / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n", encoding="utf-8")
        monkeypatch.syspath_prepend(str(folder.parent))
        for registry in (formats, task_kinds, agents_parts):
            registry.cache_clear()

    yield install
    for registry in (formats, task_kinds, agents_parts):
        registry.cache_clear()


@pytest.mark.parametrize(
    ("group", "name", "value", "says"),
    [
        ("workbench.formats", "odd", "no_such_module_of_mine:FORMAT", "no_such_module_of_mine"),
        ("workbench.formats", "odd", "json:no_such_name", "no_such_name"),
        ("workbench.formats", "odd", "json:loads", "it is a function, and must be a Format"),
        ("workbench.task_kinds", "odd.store", "no_such_module_of_mine:KIND", "no_such_module_of_mine"),
    ],
)
def test_an_import_names_the_plug_in_that_is_broken(workbench, in_folder, broken, group, name, value, says):
    (in_folder / "p.csv").write_text("id,query,code\n1,add,x + 1\n", encoding="utf-8")
    broken(group, name, value)
    done = workbench("import", "new.duckdb", "p.csv", "--json")
    assert done.code == 2
    error = done.json()["error"]
    assert error["title"] == "Plug-in cannot be used"
    assert f"{name} ({value}) of the package broken 1.0" in error["message"]
    assert says in error["message"]
    assert "workbench doctor" in error["hint"]
    assert [path.name for path in in_folder.iterdir() if path.is_file()] == ["p.csv"]
    told = workbench("doctor", "--json")
    assert told.code == 1
    assert any(
        f"{name} cannot be loaded" in problem and says in problem for problem in told.json()["problems"]
    )


def test_a_plug_in_that_cannot_be_loaded_is_named(workbench, broken):
    broken("workbench.measures", "odd", "no_such_module_of_mine:measure")
    done = workbench("doctor", "--json")
    assert done.code == 1
    found = {one["name"]: one for one in done.json()["registered"]["workbench.measures"]}
    assert found["odd"]["package"] == "broken 1.0"
    assert "no_such_module_of_mine" in found["odd"]["error"]
    assert any("odd cannot be loaded" in problem for problem in done.json()["problems"])


def test_a_wrong_configuration_is_a_problem_and_the_rest_is_told_all_the_same(workbench, in_folder):
    (in_folder / "c.toml").write_text("ratr = 1\n", encoding="utf-8")
    done = workbench("doctor", "--config", "c.toml", "--json")
    assert done.code == 1
    assert any("c.toml, line 1: ratr" in problem for problem in done.json()["problems"])
    assert done.json()["sandboxes"]


def test_a_sandbox_that_does_not_work_is_told_with_what_to_do(workbench, monkeypatch, in_folder):
    monkeypatch.setenv("WORKBENCH_SANDBOX__BWRAP", str(in_folder / "none"))
    boxes = {box["name"]: box for box in workbench("doctor", "--json").json()["sandboxes"]}
    assert boxes["bubblewrap"]["works"] is False
    assert boxes["bubblewrap"]["hint"]
    assert "✗ does not work" in workbench("doctor").out


def test_a_healthy_workspace(workbench, study):
    workbench("judge", study, "q1", "1", "--rater", "dana")
    done = workbench("doctor", study, "--json")
    found = done.json()["workspace"]
    assert found["problems"] == []
    assert found["schema"] == found["newest_schema"]
    assert (found["rows"]["item"], found["rows"]["judgment"], found["orphans"]) == (2, 1, {})
    assert found["journal"].endswith("study.duckdb.journal.jsonl")
    assert found["journal_ahead"] == 0
    assert "item 2" in workbench("doctor", study).out


def test_what_points_nowhere_is_found(workbench, study):
    workbench("judge", study, "q1", "1", "--rater", "dana")
    with Workspace.open(study) as workspace:
        cursor = workspace.native()
        cursor.execute("DELETE FROM item WHERE external_id = 'q1'")
        cursor.execute("INSERT INTO retrieval_hit SELECT 1, id, 1, 77, 0.5 FROM query LIMIT 1")
        cursor.close()
    done = workbench("doctor", study, "--json")
    assert done.code == 1
    assert done.json()["workspace"]["orphans"] == {
        **{"pair.item_id": 1, "judgment.item_id": 1},
        **{"retrieval_hit.retrieval_id": 1, "retrieval_hit.code_id": 1},
    }
    assert "judgment.item_id" in json.dumps(done.json()["problems"])


def test_a_journal_that_is_ahead_is_found(workbench, study):
    workbench("judge", study, "q1", "1", "--rater", "dana")
    with Workspace.open(study) as workspace:
        cursor = workspace.native()
        cursor.execute("DELETE FROM judgment")
        cursor.close()
    done = workbench("doctor", study)
    assert done.code == 1
    assert "workbench recover" in done.out


def test_a_workspace_that_is_none_is_an_error(workbench, in_folder):
    (in_folder / "text.duckdb").write_text("no database, and longer than a header " * 50, encoding="utf-8")
    assert workbench("doctor", "text.duckdb", "--json").json()["error"]["title"] == "Cannot open workspace"
    assert workbench("doctor", "none.duckdb").code == 2


def test_a_judgment_whose_verdict_stayed_in_another_workspace_is_no_problem(workbench, study):
    workbench("judge", study, "q1", "1", "--rater", "dana")
    with Workspace.open(study) as workspace:
        cursor = workspace.native()
        cursor.execute("UPDATE judgment SET shown_verdict = uuidv7()")
        cursor.close()
    done = workbench("doctor", study, "--json")
    assert done.code == 0
    assert done.json()["workspace"]["elsewhere"] == {"judgment.shown_verdict": 1}
    assert done.json()["problems"] == []


@pytest.mark.parametrize("damage", ["cut off", "overwritten"])
def test_a_damaged_workspace_is_told_with_what_brings_it_back(workbench, in_folder, damage):
    lines = (json.dumps({"id": f"p{n}", "query": "q" * 50, "code": f"c{n} " * 50}) for n in range(3000))
    (in_folder / "p.jsonl").write_text("\n".join(lines))
    assert workbench("import", "w.duckdb", "p.jsonl").code == 0
    size = (in_folder / "w.duckdb").stat().st_size
    with (in_folder / "w.duckdb").open("r+b") as file:
        if damage == "cut off":
            file.truncate(size * 2 // 3)
        else:
            for place in range(12288 + 1000, size, 262144):
                file.seek(place)
                file.write(b"\xff" * 64)
    told = workbench("doctor", "w.duckdb", "--json")
    assert told.code == 2
    assert "Restore a copy" in told.json()["error"]["hint"]
    assert "workbench recover" in told.json()["error"]["hint"]
