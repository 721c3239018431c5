"""What the app is given: who judges, what may be started, and what is closed at the end."""

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import pytest

from agents.jobs.events import JobEnded, JobProgressed
from agents.jobs.job import JobRequest
from screens.settings import ScreenSettings
from store.errors import JudgmentRefused
from store.events import silent
from store.ingest.choices import ImportChoices
from store.record.raters import ensure_rater
from store.workspace.duckdb import Workspace
from workbench.config import Config
from workbench.config_path import config_path
from workbench.job_settings import (
    annotation_settings,
    expert_run_settings,
    sample_annotation,
    sandbox_sentence,
)
from workbench.lazy_config import LazyConfig
from workbench.sample import allowed_programs, holds_sample, import_sample
from workbench.wiring import make_context


@pytest.fixture
def workspace(tmp_path):
    with Workspace.create(tmp_path / "study.duckdb") as made:
        yield made


def context(workspace, config, rater=None, **options):
    with ExitStack() as closing:
        return make_context(workspace, LazyConfig(config=config), rater, closing, **options)


def test_the_rater_is_stored_when_there_is_a_name(workspace):
    assert context(workspace, Config(rater="dana")).rater.name == "dana"
    assert context(workspace, Config(rater="dana"), "eli").rater.name == "eli"
    assert context(workspace, Config(rater=" ")).rater is None
    with workspace.reading() as connection:
        names = connection.exec_driver_sql("SELECT name FROM rater ORDER BY id").scalars().all()
    assert names == ["dana", "eli"]


def test_the_app_does_not_start_under_the_name_of_an_imported_rater(workspace):
    ensure_rater(workspace, "ana", "import")
    with pytest.raises(JudgmentRefused, match="Name taken"):
        context(workspace, Config(), "ana")


def test_the_settings_of_the_screens_are_those_of_the_configuration(workspace):
    config = Config.model_validate({"screens": {"theme": "nord", "blind": True}})
    shown = context(workspace, config).settings
    assert shown is config.screens
    assert asdict(shown) == asdict(ScreenSettings(theme="nord", blind=True))


@pytest.mark.parametrize("configured", [False, True])
def test_a_session_is_blind_by_the_command_line_or_the_configuration(workspace, configured):
    config = Config.model_validate({"screens": {"theme": "nord", "blind": configured}})
    for given in (False, True):
        with ExitStack() as closing:
            made = make_context(workspace, LazyConfig(config=config, blind=given), "dana", closing)
        assert asdict(made.settings) == asdict(ScreenSettings(theme="nord", blind=configured or given))
        assert made.scope.blind is (configured or given)
    assert asdict(LazyConfig(blind=True).screens) == asdict(ScreenSettings(blind=True))


def test_the_folder_of_repositories_on_the_command_line_comes_before_the_configured_one(workspace):
    config = Config.model_validate({"screens": {"theme": "nord", "repositories": "configured"}})
    assert context(workspace, config).settings.repositories == Path("configured")
    shown = context(workspace, config, repositories=Path("given")).settings
    assert (shown.repositories, shown.theme) == (Path("given"), "nord")


def test_without_a_model_a_plan_has_none_and_says_why(workspace, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CONFIG", "mine.toml")
    made = context(workspace, Config())
    assert made.plan.annotation.model == ""
    assert f"Name one in {Path.cwd() / 'mine.toml'}, under [agents]: model = " in made.plan.problem
    monkeypatch.delenv("WORKBENCH_CONFIG")
    assert str(config_path()) in context(workspace, Config()).plan.problem
    configured = context(
        workspace, Config.model_validate({"agents": {"model": "openai:x", "concurrency": 3}})
    )
    assert (configured.plan.annotation.model, configured.plan.annotation.concurrency) == ("openai:x", 3)
    assert configured.plan.problem == ""


def test_a_plan_has_the_agents_and_the_model_that_are_chosen_for_it(workspace):
    own = {"based_on": "single", "roles": {"annotator": {"model": "anthropic:small"}}}
    agents = {"model": "openai:x", "configurations": {"mine": own}}
    config = Config.model_validate({"agents": agents})
    made = context(workspace, config)
    assert made.plan.names == config.agents.names_for("pair")
    assert {"full", "single", "mine"} <= set(made.plan.names)
    assert made.plan.models == ("openai:x", "anthropic:small")
    chosen = made.make_plan("pair", "mine", "openai:y").annotation
    assert (chosen.asked, chosen.agents, chosen.model) == ("mine", "single", "openai:y")
    assert chosen.model_of("annotator") == "anthropic:small"
    # In the sample's workspace its replies can be chosen, and they are those of its agents alone.
    import_sample(workspace)
    scripted = sample_annotation(Config())
    assert made.make_plan("pair", "", "").annotation.model == "openai:x"
    assert made.make_plan("pair", "", scripted.model).annotation == scripted
    others = made.make_plan("pair", "single", scripted.model)
    assert (others.annotation.model, others.annotation.agents) == ("", "single")
    assert "replies are those of the agents full" in others.problem
    with_demo = context(workspace, config, annotation=scripted)
    assert with_demo.plan.annotation == scripted
    assert with_demo.make_plan("pair", "", "openai:y").annotation.model == "openai:y"


def test_the_sample_can_be_loaded_and_brings_its_replies(workspace):
    made = context(workspace, Config())
    assert not made.is_sample()
    job = made.load_sample()
    assert made.is_sample()
    assert job.model.startswith("scripted:")
    # On the next start the replies are known without being asked for.
    assert context(workspace, Config()).plan.annotation == job
    assert (
        context(workspace, Config.model_validate({"agents": {"model": "openai:x"}})).plan.annotation.model
        == "openai:x"
    )


def test_importing_the_sample_twice_adds_nothing(workspace):
    assert import_sample(workspace).items_added == 118
    assert not import_sample(workspace).adds
    assert holds_sample(workspace)


def test_a_file_is_imported_into_the_open_workspace(workspace, tmp_path):
    (tmp_path / "pairs.csv").write_text("id,query,code\nq1,add,x + 1\n", encoding="utf-8")
    assert (
        context(workspace, Config()).import_file(tmp_path / "pairs.csv", silent, ImportChoices()).items_added
        == 1
    )


def test_no_job_may_run_more_than_the_shipped_programs_without_isolation():
    for settings in (annotation_settings(Config(), model="openai:x"), sample_annotation(Config())):
        assert settings.allowed == allowed_programs()
        assert settings.sandbox is None
    assert len(allowed_programs()) == 34
    asked = annotation_settings(Config(), model="openai:x", sandbox="process")
    assert (asked.sandbox, asked.allowed) == ("process", allowed_programs())


def test_experts_tests_get_their_packages_from_where_the_agents_get_them(sample_folder):
    assert expert_run_settings(Config()).sandboxes == Config().sandbox
    job = sample_annotation(Config())
    assert expert_run_settings(Config(), job).sandboxes == job.sandboxes
    assert job.sandboxes.wheels == str(sample_folder / "wheels")
    assert (job.sandboxes.repairs, job.sandboxes.repair_network) == (True, "none")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"agents": {"sandbox": "process"}}, "isolate nothing"),
        ({"agents": {"sandbox": "bubblewrap"}}, "in bubblewrap"),
        ({"sandbox": {"bwrap": "/no/such/program"}}, "only the test programs of the sample"),
        ({"sandbox": {"bwrap": "sh"}}, "without network"),
    ],
)
def test_where_test_programs_run_is_said_in_a_sentence(settings, says):
    assert says in sandbox_sentence(Config.model_validate(settings))


def test_a_job_of_the_app_ends_with_it(workspace):
    import_sample(workspace)
    events = []
    with ExitStack() as closing:
        app = make_context(workspace, LazyConfig(config=Config()), "dana", closing)
        runner = app.make_runner(events.append)
        runner.start(JobRequest(sample_annotation(Config())))
        assert runner.running is not None
    assert runner.running is None
    assert isinstance(events[-1], JobEnded)
    assert any(isinstance(event, JobProgressed) for event in events)
