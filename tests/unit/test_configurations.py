"""The configurations of Table VI: whom each asks, in which order, with what, and what is recorded of it."""

from dataclasses import replace
from itertools import pairwise

import pytest
from loopback_models import LoopbackModels
from small_workspace import (
    GOOD,
    LACKING,
    TEST,
    Told,
    clear,
    executions,
    pairs_workspace,
    rows,
    script_file,
    through_test,
    turns_of,
)

from agents.jobs.events import JobLog, JobStarted
from agents.jobs.role_models import RoleModels
from agents.jobs.run_configuration import run_configuration
from agents.jobs.runner import run_job
from agents.llm.scripted import ScriptedModel
from agents.llm.settings import ModelSettings
from agents.pipelines.pair_annotation.configurations import CONFIGURATIONS
from agents.pipelines.pair_annotation.part import PAIR
from agents.prompts import load_prompt
from agents.sandbox.settings import SandboxSettings
from agents.settings import JobSettings, RoleSettings, RoleTable
from store.errors import UnknownName
from store.tables.people import Rater
from store.tables.runs import Run, StepRow, VerdictRow

NAMES = [each.name for each in CONFIGURATIONS]
ANSWERS = ("issue_screener", "question_writer", "reference_writer", "answerer", "answer_judge")
QUERY = "python double a number"
PAIRS = [("unclear", QUERY, GOOD), ("sure", QUERY, GOOD + "# sure\n"), ("lacks", QUERY, LACKING)]
PREDICTION = {
    "executable": True,
    "environment_error": "",
    "tests": [
        {"name": "test_two", "outcome": "passed", "why": "2 * 2 is 4"},
        {"name": "test_five", "outcome": "failed", "why": "it is said to be 11"},
    ],
}
REPLIES = [
    *through_test("unclear", 1),
    ("annotator", "unclear", {"label": 1, "reason": "it doubles"}),
    ("simulated_executor", "unclear", PREDICTION),
    clear("sure", "clear_nonmatch"),
    ("annotator", "sure", {"label": 0, "reason": "it does not"}),
]

# What an unclear pair goes through: its turns, the path of its verdict, and what the last one is told.
WAYS = {
    "single": (["annotator"], "read", ["query", "code"]),
    "ps-fa": (["screener", "arbiter"], "read", ["query", "code"]),
    "ps-tpg-fa": (
        ["screener", "test_writer", "arbiter"],
        "read",
        ["query", "code", "interpretation", "test_program"],
    ),
    "ps-tpg-te-fa": (
        ["screener", "test_writer", "executor", "arbiter"],
        "tested",
        ["query", "code", "interpretation", "test_program", "report"],
    ),
    "ps-tpg-sim-fa": (
        ["screener", "test_writer", "simulated_executor", "arbiter"],
        "simulated",
        ["query", "code", "interpretation", "test_program", "prediction"],
    ),
    "paper": (
        ["screener", "test_writer", "executor", "arbiter"],
        "tested",
        ["query", "code", "interpretation", "test_program", "report"],
    ),
    "full": (
        ["screener", "test_writer", "executor", "arbiter"],
        "tested",
        ["query", "code", "interpretation", "test_program", "report"],
    ),
}


@pytest.fixture
def workspace(tmp_path):
    with pairs_workspace(tmp_path, PAIRS) as opened:
        yield opened


@pytest.fixture
def asked(monkeypatch):
    """Every request to the scripted model, in order."""
    requests, reply = [], ScriptedModel.reply

    async def kept(self, request):
        requests.append(request)
        return await reply(self, request)

    monkeypatch.setattr(ScriptedModel, "reply", kept)
    return requests


def annotate(workspace, model, agents, told=None, **settings):
    return run_job(workspace, JobSettings(model, agents=agents, **settings), told or Told())


def user(request):
    return request.messages[-1].content


@pytest.mark.parametrize("name", NAMES)
def test_an_unclear_pair_takes_the_turns_of_its_configuration(workspace, tmp_path, asked, name):
    turns, path, told_last = WAYS[name]
    told = Told()
    report = annotate(workspace, script_file(tmp_path, REPLIES), name, told, item_ids=(1,))
    assert (report.state, report.done, report.configuration) == ("done", 1, name)
    assert [role for role, _, _ in turns_of(workspace, 1)] == turns
    assert [request.role for request in asked] == [role for role in turns if role != "executor"]

    *_, last = asked
    places = [line.split()[2] for line in user(last).split("\n") if line.startswith("----- begin ")]
    assert places == told_last
    (verdict,) = rows(workspace, VerdictRow)
    assert (verdict["value"], verdict["path"]) == (1.0, path)
    assert report.counts.paths == {path: 1}

    # Where nothing is executed nothing passes for an execution, and no sandbox is even looked for.
    ran = executions(workspace)
    assert [verdict["execution_id"]] == ([row["id"] for row in ran] or [None])
    assert bool(ran) == ("executor" in turns)
    (started,) = told.of(JobStarted)
    assert report.sandbox == started.sandbox == ("bubblewrap" if ran else "")
    assert report.pipeline.numbers["executed"] == len(ran)


def test_what_is_simulated_is_told_as_that(workspace, tmp_path, asked):
    annotate(workspace, script_file(tmp_path, REPLIES), "ps-tpg-sim-fa", item_ids=(1,))
    simulator, arbiter = asked[-2:]
    assert QUERY not in user(simulator)
    assert TEST in user(simulator)
    assert '"simulated": true' in user(arbiter)
    assert "it is said to be 11" in user(arbiter)
    assert "exit_reason" not in user(arbiter)
    assert "It was not executed" in arbiter.messages[0].content


def test_what_agents_have_in_common_is_asked_in_the_same_words(workspace, tmp_path, asked):
    model = script_file(tmp_path, REPLIES)
    for name in NAMES:
        annotate(workspace, model, name, item_ids=(1,), cache=False)
    for role, times in (("screener", 6), ("test_writer", 5)):
        requests = [request for request in asked if request.role == role]
        assert len(requests) == times
        assert len({request.digest(model) for request in requests}) == 1
    assert len({run["configuration"] for run in rows(workspace, Run)}) == len(NAMES)
    # Without a choice the fullest is shown, which is listed last.
    assert {run["fullness"] for run in rows(workspace, Run)} == set(range(1, len(NAMES) + 1))
    assert [rater["name"].partition("/")[0] for rater in rows(workspace, Rater, kind="agent")] == [
        each.pipeline for each in CONFIGURATIONS
    ]


def test_a_screener_labels_what_is_clear_and_a_single_model_everything(workspace, tmp_path):
    model = script_file(tmp_path, REPLIES)
    for name in NAMES:
        annotate(workspace, model, name, item_ids=(2,))
    assert [(row["value"], row["path"]) for row in rows(workspace, VerdictRow)] == [
        (0.0, "read"),
        *[(0.0, "screened")] * 6,
    ]


@pytest.mark.parametrize("name", ["single", "ps-fa", "ps-tpg-fa", "ps-tpg-sim-fa"])
def test_without_any_sandbox_they_work_all_the_same(workspace, tmp_path, name):
    told = Told()
    nowhere = SandboxSettings(bwrap="no-such-bubblewrap", docker_host="tcp://127.0.0.1:1")
    report = annotate(workspace, script_file(tmp_path, REPLIES), name, told, item_ids=(1,), sandboxes=nowhere)
    assert (report.done, report.waiting, report.to_dict()["sandbox"]) == (1, 0, None)
    assert told.of(JobLog) == []


def test_without_a_bug_fixer_a_program_that_lacks_something_goes_to_the_arbiter_as_it_is(
    workspace, tmp_path, asked
):
    annotate(workspace, script_file(tmp_path, through_test("lacks", 0)), "ps-tpg-te-fa", item_ids=(3,))
    assert [role for role, _, _ in turns_of(workspace, 3)] == WAYS["ps-tpg-te-fa"][0]
    assert "no_such_package_anywhere" in user(asked[-1])
    assert '"executable": false' in user(asked[-1])


@pytest.mark.parametrize("name", ["single", "ps-tpg-sim-fa"])
def test_it_goes_on_at_the_turn_that_failed(workspace, tmp_path, asked, name):
    *_, last = WAYS[name][0]
    replies = [reply for reply in REPLIES if reply[0] != last]
    model = script_file(tmp_path, [*replies, (last, "unclear", "!refused")])
    first = annotate(workspace, model, name, item_ids=(1,))
    assert first.failed == 1
    before = len(asked)
    second = annotate(workspace, model, name, item_ids=(1,))
    assert second.run_id == first.run_id
    assert [request.role for request in asked[before:]] == [last]


def named(agents="full", model="openai:m", roles=None, **settings):
    """What names a run of such settings."""
    job = JobSettings(
        model,
        agents=agents,
        roles={role: RoleSettings(**values) for role, values in (roles or {}).items()},
        models=settings.pop("models", ModelSettings(openai_api_key="k", anthropic_api_key="k")),
        sandboxes=SandboxSettings(**settings),
    )
    configuration = PAIR.configuration(agents)
    models = RoleModels.open(job.role_choices(), job.models)
    return run_configuration(configuration, models, job)


def test_a_run_is_named_by_all_that_takes_part():
    roles = ("screener", "test_writer", "bug_fixer", "arbiter")
    prompts = {role: f"{load_prompt(role).version}:{load_prompt(role).digest}" for role in roles}
    assert named("paper") == {
        "kind": "pair",
        "pipeline": "ps-tpg-te-bf-fa",
        "prompts": prompts,
        "model": "openai:m",
        "temperature": 0.0,
        "max_output_tokens": 4096,
        "seed": None,
        "limits": {
            "cpu_seconds": 10,
            "wall_seconds": 10.0,
            "memory_bytes": 512 << 20,
            "processes": 32,
            "open_files": 64,
            "file_bytes": 16 << 20,
            "output_bytes": 1 << 20,
            "kept_bytes": 1 << 16,
        },
        "trust_checks": True,
        "max_try_time": 3,
    }
    assert named("paper", repairs=False) == {**named("paper"), "max_try_time": None}
    correction = load_prompt("test_correction")
    assert named()["pipeline"] == "ps-tpg-te-bf-tc-fa"
    assert named()["prompts"] == {**prompts, "test_correction": f"{correction.version}:{correction.digest}"}


def test_a_correction_is_asked_for_as_a_test_is_unless_it_has_settings_of_its_own():
    def choices(**roles):
        given = {role: RoleSettings(**values) for role, values in roles.items()}
        return JobSettings("openai:m", roles=given).role_choices()["test_correction"]

    assert choices() == ("openai:m", 0.0)
    assert choices(test_writer={"model": "openai:n", "temperature": 0.5}) == ("openai:n", 0.5)
    assert choices(test_writer={"temperature": 0.5}, test_correction={"model": "openai:o"}) == (
        "openai:o",
        0.5,
    )
    assert choices(test_writer={"temperature": 0.5}, test_correction={"temperature": "default"})[1] is None


def test_what_takes_part_names_a_run_and_nothing_else():
    for role in ("screener", "test_writer", "bug_fixer", "test_correction", "arbiter"):
        for values in ({"model": "openai:n"}, {"model": "anthropic:m"}, {"temperature": 0.5}):
            assert named(roles={role: values}) != named(), (role, values)
    unused = {"annotator": {"model": "openai:n"}, "simulated_executor": {"temperature": 1}}
    assert named(roles=unused) == named()
    fixer = {"bug_fixer": {"model": "openai:n"}}
    assert named(roles=fixer, repairs=False) == named(repairs=False)
    for first, second in pairwise(NAMES):
        assert named(first) != named(second)
    assert named("single", wall_seconds=3) == named("single")
    assert named("ps-tpg-te-fa", wall_seconds=3) != named("ps-tpg-te-fa")
    # What is set for each role says the same as what is set for all.
    every = {role: {"model": "openai:n", "temperature": 0.5} for role in PAIR.configuration("full").roles()}
    for_all = ModelSettings(openai_api_key="k", temperature=0.5)
    assert named(roles=every) == named(model="openai:n", models=for_all)
    assert named("ps-fa", roles={"screener": {"temperature": "default"}})["roles"] == {
        "screener": {"model": "openai:m", "temperature": None}
    }


def test_each_role_asks_its_model_at_its_temperature(tmp_path):
    replies = {
        "ScreenerReply": {"assessment": "unclear", "justification": "a doubt"},
        "TestWriterReply": {"interpretation": "twice", "test_program": TEST},
        "SimulationReply": PREDICTION,
        "ArbiterReply": {"label": 1, "reason": "as predicted"},
    }
    roles = {
        "screener": RoleSettings(model="openai:small"),
        "test_writer": RoleSettings(temperature=0.75),
        "simulated_executor": RoleSettings(model="anthropic:other"),
        "arbiter": RoleSettings(model="openai:large", temperature="default"),
        "annotator": RoleSettings(model="openai:nobody"),
    }
    with pairs_workspace(tmp_path, PAIRS[:1]) as workspace, LoopbackModels(replies=replies) as server:
        settings = JobSettings("openai:middle", agents="ps-tpg-sim-fa", roles=roles, models=server.settings())
        report = run_job(workspace, settings, Told())
        assert report.done == 1, report.counts.reasons
        sent = [
            (seen.schema_name, seen.api, seen.body["model"], seen.body.get("temperature"))
            for seen in server.requests
        ]
        assert sent == [
            ("ScreenerReply", "openai", "small", 0.0),
            ("TestWriterReply", "openai", "middle", 0.75),
            ("SimulationReply", "anthropic", "other", None),
            ("ArbiterReply", "openai", "large", None),
        ]
        assert report.model == "openai:small+openai:middle+anthropic:other+openai:large"
        assert {step["role"]: step["model"] for step in rows(workspace, StepRow)} == {
            "screener": "small-2025-03-01",
            "test_writer": "middle-2025-03-01",
            "simulated_executor": "other-20250301",
            "arbiter": "large-2025-03-01",
        }

        # Another model for one role is another run: nothing of the first one's is taken for its own.
        warmer = {**roles, "screener": RoleSettings(model="openai:small", temperature=1)}
        again = run_job(workspace, replace(settings, roles=warmer), Told())
        assert again.run_id != report.run_id
        assert run_job(workspace, settings, Told()).run_id == report.run_id


def test_every_role_can_be_set_and_every_prompt_is_there():
    roles = {role for each in CONFIGURATIONS for role in each.roles()}
    assert set(RoleTable.model_fields) == {*roles, "judge", "completer", *ANSWERS}
    for configuration in CONFIGURATIONS:
        for prompt in configuration.prompts.values():
            assert load_prompt(prompt).version > 0


def test_an_unknown_configuration_is_said(workspace, tmp_path):
    with pytest.raises(UnknownName) as caught:
        annotate(workspace, script_file(tmp_path, REPLIES), "half")
    assert "single, ps-fa" in caught.value.hint
