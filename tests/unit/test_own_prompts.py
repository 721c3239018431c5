"""Prompts of the user's own: read from files, checked, named in runs, printed and exported."""

import json

import pytest
from loopback_models import LoopbackModels
from small_workspace import GOOD, Told, pairs_workspace, rows

from agents.jobs.estimate import estimate
from agents.jobs.runner import run_job
from agents.pipelines.pair_annotation.configurations import CONFIGURATIONS
from agents.prompts import LARGEST_FILE, load_prompt, prompt_text, read_prompt
from agents.settings import OUR_PROMPTS, JobSettings
from store.errors import WorkbenchError
from store.tables.runs import Run
from workbench.config import load_config
from workbench.job_settings import annotation_settings, sample_annotation

MINE = prompt_text("annotator").replace("You label pairs", "With great care you label pairs")


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text(MINE, encoding="utf-8")
    return path


@pytest.fixture
def write(tmp_path):
    def write(text, name="study.toml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_file_replaces_a_prompt(mine):
    prompt = read_prompt("annotator", mine)
    assert prompt.system.startswith("With great care")
    assert (prompt.places, prompt.file) == (("query", "code"), mine)
    assert prompt.digest != load_prompt("annotator").digest


@pytest.mark.parametrize("name", OUR_PROMPTS)
@pytest.mark.parametrize(
    "change", [str, lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text]
)
def test_a_copy_of_ours_is_ours_whatever_an_editor_does_to_its_line_ends(tmp_path, name, change):
    copy = tmp_path / "copy.txt"
    copy.write_bytes(change(prompt_text(name)).encode("utf-8"))
    assert read_prompt(name, copy) == load_prompt(name)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (MINE.replace("[[code]]\n", "").replace("[[code]]", ""), "lacks the place [[code]]"),
        (MINE + "\n[[report]]\n", "has the unknown place [[report]]"),
        (MINE.replace("you label", "you label [[code]] in"), "has within other text the place [[code]]"),
        (MINE + "\nSo much for [[query]].\n", "has within other text the place [[query]]"),
        (MINE.replace("[[query]]\n", "the query: [[query]]\n"), "lacks the place [[query]]"),
        (MINE.replace("version: ", "Version "), "has not the form of a prompt"),
        (MINE.replace("=== user ===", "=== User ==="), "has not the form of a prompt"),
        ("version: 1\n\n=== system ===\n\n=== user ===\n[[query]]\n\n[[code]]\n", "has not the form"),
        (b"", "has not the form of a prompt"),
        (MINE.encode("utf-16"), "is not UTF-8"),
        (MINE.encode() + b"\xff", "is not UTF-8 (byte"),
        (MINE + "x" * LARGEST_FILE, "has more than 100,000 bytes"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path, content, words):
    path = tmp_path / "wrong.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    with pytest.raises(WorkbenchError) as caught:
        read_prompt("annotator", path)
    assert words in caught.value.message
    assert "wrong.txt" in caught.value.message
    assert caught.value.hint


def test_a_file_that_is_not_there_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path / "none.txt", tmp_path):
        with pytest.raises(WorkbenchError, match="replaces the prompt annotator"):
            read_prompt("annotator", path)


def test_paths_count_from_the_folder_of_the_configuration(write, tmp_path, monkeypatch):
    (tmp_path / "else").mkdir()
    monkeypatch.chdir(tmp_path / "else")
    path = write(
        '[agents.prompts]\nscreener = "prompts/s.txt"\narbiter = "/abs/a.txt"\n'
        '[agents.configurations.mine]\nbased_on = "ps-fa"\n'
        '[agents.configurations.mine.prompts]\nscreener = "own.txt"\n'
    )
    config = load_config(path).config
    assert config.agents.prompt_files("full") == {
        "screener": tmp_path / "prompts" / "s.txt",
        "arbiter": (tmp_path / "/abs/a.txt"),
    }
    assert config.agents.prompt_files("mine") == {"screener": tmp_path / "own.txt"}
    assert config.agents.prompt_files("single") == {}
    assert annotation_settings(config, model="openai:m", agents="mine").prompt_files.keys() == {"screener"}
    assert sample_annotation(config).prompt_files == {}
    assert any("s.txt" in setting.value for setting in load_config(path).settings)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '[agents.prompts]\nscreen = "s.txt"\n',
            "there is no prompt 'screen'; choose from annotator, screener",
        ),
        (
            '[agents.configurations.mine]\nbased_on = "single"\nprompts = { screener = "s.txt" }\n',
            "single has no prompt 'screener'; its prompts are annotator",
        ),
        ("[agents.prompts]\nscreener = 3\n", "agents.prompts.screener"),
    ],
)
def test_a_wrong_setting_is_named_with_its_line(write, text, words):
    with pytest.raises(WorkbenchError) as caught:
        load_config(write(text))
    assert words in caught.value.message
    assert "line " in caught.value.message


def test_runs_with_a_prompt_of_ones_own_say_so_and_begin_again_when_it_changes(tmp_path, mine):
    pairs = [(f"q{n}", f"query {n}", f"{GOOD}# {n}\n") for n in (1, 2)]
    answer = {"ArbiterReply": {"reason": "read", "label": 1}}
    with pairs_workspace(tmp_path, pairs) as workspace, LoopbackModels(replies=answer) as server:
        ours = JobSettings("openai:m", agents="single", models=server.settings())
        own = JobSettings(
            "openai:m", agents="single", models=server.settings(), prompt_files={"annotator": mine}
        )
        run_job(workspace, ours, Told())
        assert estimate(workspace, own).items == 2
        first = run_job(workspace, own, Told())
        assert "With great care" in server.requests[-1].text
        assert estimate(workspace, own).items == 0
        assert run_job(workspace, own, Told()).run_id == first.run_id
        mine.write_text(MINE.replace("great", "little"), encoding="utf-8")
        assert estimate(workspace, own).items == 2
        second = run_job(workspace, own, Told())
        assert "With little care" in server.requests[-1].text
        mine.write_text(prompt_text("annotator"), encoding="utf-8")
        assert run_job(workspace, own, Told()).counts.items == 2
        names = [run["name"] for run in rows(workspace, Run)]
    assert len(names) == len(set(names)) == 3
    plain, *replaced = names
    assert plain.count("/") == 2
    digests = [name.rpartition("/annotator@")[2] for name in replaced]
    assert [len(digest) for digest in digests] == [8, 8]
    assert (first.run_name, second.run_name) == tuple(replaced)


def test_many_prompts_make_no_long_name(tmp_path):
    files = {}
    for name in CONFIGURATIONS[-1].prompts.values():
        files[name] = tmp_path / f"{name}.txt"
        files[name].write_text(prompt_text(name).replace("\nYou ", "\nPlease: you ", 1), encoding="utf-8")
    configuration = JobSettings("openai:m", prompt_files=files).configuration()
    assert configuration.own_prompts.startswith(f"{len(files)}-prompts@")
    assert len(configuration.own_prompts) <= 20


def test_a_prompt_that_cannot_be_used_ends_the_command_before_anything(workbench, write, in_folder):
    (in_folder / "pairs.jsonl").write_text(
        json.dumps({"id": "q", "query": "x", "code": GOOD}) + "\n", encoding="utf-8"
    )
    assert workbench("import", "s.duckdb", "pairs.jsonl").code == 0
    config = write('[agents.prompts]\nscreener = "none.txt"\n')
    for more in ((), ("--estimate",)):
        done = workbench("annotate", "s.duckdb", "--model", "openai:m", "--config", config, "--json", *more)
        assert done.code == 2
        assert "none.txt" in done.json()["error"]["message"]


def test_the_command_lists_prints_and_exports_them(workbench, write, mine, tmp_path):
    listed = workbench("agents", "prompts", "--json").json()["prompts"]
    assert [each["name"] for each in listed] == list(OUR_PROMPTS)
    done = workbench("agents", "prompts", "annotator")
    for words in ("=== system ===", "[[query]]", load_prompt("annotator").digest, "single"):
        assert words in done.out
    assert load_prompt("annotator").system.splitlines()[-1] in done.out

    config = write(f'[agents]\nmodel = "openai:m"\n[agents.prompts]\nannotator = "{mine.name}"\n')
    (shown,) = workbench("agents", "prompts", "annotator", "--config", config, "--json").json()["prompts"]
    assert (shown["file"], shown["system"][:15]) == (str(mine), "With great care")
    assert f"prompt annotator of yours, {shown['digest'][:8]}" in workbench("--config", config, "agents").out
    assert str(mine)[:20] in workbench("agents", "--config", config, "prompts").out
    assert {
        each["name"] for each in workbench("agents", "prompts", "arbiter", "--json").json()["prompts"]
    } == {
        "arbiter",
        "arbiter_reading",
        "arbiter_unrun",
        "arbiter_simulated",
    }
    assert workbench("agents", "prompts", "nobody").code == 2

    folder = tmp_path / "new" / "prompts"
    assert workbench("agents", "prompts", "--export", folder).code == 0
    assert {path.stem for path in folder.iterdir()} == set(OUR_PROMPTS)
    assert all(read_prompt(path.stem, path) == load_prompt(path.stem) for path in folder.iterdir())
    (folder / "screener.txt").write_text("edited", encoding="utf-8")
    refused = workbench("agents", "prompts", "screener", "--export", folder, "--json")
    assert (refused.code, refused.json()["error"]["title"]) == (2, "Files are there")
    assert (folder / "screener.txt").read_text(encoding="utf-8") == "edited"
    assert workbench("agents", "prompts", "screener", "--export", folder, "--overwrite").code == 0
    assert workbench("agents", "prompts", "screener", "--export", folder, "--force").code == 0
    assert "--force" not in workbench("agents", "prompts", "--help").out
    assert read_prompt("screener", folder / "screener.txt") == load_prompt("screener")
    mine.chmod(0o600)
    assert workbench("agents", "prompts", "--export", mine / "below").code == 2


def test_the_command_lists_the_prompt_of_ones_own_configuration_beside_ours(workbench, write, mine):
    text = '[agents]\nmodel = "openai:m"\n[agents.configurations.strict]\nbased_on = "single"\n'
    config = write(f'{text}[agents.configurations.strict.prompts]\nannotator = "{mine.name}"\n')
    found = workbench("agents", "prompts", "annotator", "--config", config, "--json").json()["prompts"]
    assert [(each["file"], each["configurations"]) for each in found] == [
        (None, ["single"]),
        (str(mine), ["strict"]),
    ]
    assert "As single, with models or prompts of its own." in workbench("--config", config, "agents").out
