"""The report of the pipeline: its figures against the records gone through one by one, and what is printed."""

import json
import random
from collections import Counter
from statistics import mean, median

import duckdb
import pytest
from judging import judged_workspace
from small_workspace import rows
from sqlalchemy import insert

from agents.reports.pipeline import read_reports
from store.record.ids import now
from store.record.raters import ensure_rater
from store.tables.columns import table_of
from store.tables.imported import Code, Pair
from store.tables.runs import (
    Execution,
    ExecutionRow,
    Reply,
    ReplyRow,
    Run,
    Step,
    StepRow,
    TestOutcomeRow,
    Verdict,
    VerdictRow,
)

REASONS = {
    "ModuleNotFoundError: No module named 'yaml.x'": ("missing module", "yaml.x"),
    "NameError: name 'np' is not defined": ("missing name", "np"),
    "SyntaxError: Missing parentheses in call to 'print' (candidate.py, line 1)": ("Python 2 code", ""),
    "SyntaxError: invalid syntax (test_candidate.py, line 9)": ("invalid test program", ""),
    "FileNotFoundError: [Errno 2] No such file or directory: 'a/b'": ("missing file", "a/b"),
    "ValueError: of the module": ("other error", "ValueError"),
}
ASSESSMENTS = ("clear_match", "clear_nonmatch", "unclear", "unclear", "unclear")


class Agents:
    """Agents that do one thing or another by chance, and keep a list of all they record."""

    def __init__(self, workspace, name, chance):
        self.workspace, self.chance = workspace, chance
        rater = ensure_rater(workspace, name, "agent").id
        self.run = Run(
            id=workspace.ids.next(),
            kind="pair",
            name=name,
            configuration=json.dumps({"name": name}),
            model="m",
            rater_id=rater,
            state="done",
            total=0,
            started_at=now(),
        )
        self.records = {StepRow: [], ExecutionRow: [], TestOutcomeRow: [], VerdictRow: []}

    def step(self, item, role, reply="", *, failed="", asks=True, digest=""):
        own = {} if not asks else {
            "requests": self.chance.choice([1, 1, 2, 0]),
            "tokens_in": self.chance.randrange(500),
            "tokens_out": self.chance.randrange(90),
            "tokens_cached": self.chance.randrange(50),
            "money": self.chance.choice([None, 0.001, 0.002, 0.003]),
        }  # fmt: skip
        step = Step(
            id=self.workspace.ids.next(),
            run_id=self.run.id,
            item_id=item,
            role=role,
            outcome="failed" if failed else "ok",
            error=failed,
            reply=reply if isinstance(reply, str) else json.dumps(reply),
            request_hash=digest,
            seconds=round(self.chance.random() * 9, 3),
            created_at=now(),
            **own,
        )
        self.records[StepRow].append(step)
        return step

    def execute(self, item, reason, *, executable, tests):
        step = self.step(
            item, "executor", failed="The sandbox broke: x" * (reason == "infrastructure"), asks=False
        )
        made = self.workspace.ids.next()
        common = dict.fromkeys(("program", "program_digest", "sandbox", "environment"), "")
        lacks = self.chance.choice(list(REASONS)) if not executable and reason == "error" else ""
        self.records[ExecutionRow].append(
            Execution(
                id=made, item_id=item, step_id=step.id, exit_reason=reason, executable=executable,
                created_at=now(), error=lacks, **common,
            )
        )  # fmt: skip
        self.records[TestOutcomeRow] += [
            TestOutcomeRow(execution_id=made, position=place, name=f"test_{place}", outcome="passed")
            for place in range(tests)
        ]

    def annotate(self, item):
        chance = self.chance
        if chance.random() < 0.1:
            self.step(item, "screener", "no {json", failed="Rate limited: too many: at once")
            if chance.random() < 0.5:
                return
        assessment = chance.choice(ASSESSMENTS)
        self.step(item, "screener", {"assessment": assessment})
        if assessment != "unclear":
            self.conclude(item, "screened")
            return
        if chance.random() < 0.1:
            self.step(item, "test_writer", failed="Refused: it will not")
            return
        self.step(item, "test_writer", {"test_program": "'"})
        if chance.random() < 0.1:
            self.step(item, "executor", failed="Needs a sandbox: this one", asks=False)
            return
        works = chance.random() < 0.6
        self.execute(item, "ok" if works else "error", executable=works, tests=chance.randrange(5) * works)
        path = "tested" if works else "untested" if chance.random() < 0.3 else self.repair(item)
        if chance.random() < 0.1:
            self.execute(item, "infrastructure", executable=False, tests=0)
            return
        if chance.random() < 0.9:
            self.step(item, "arbiter", {"label": 1})
            self.conclude(item, path)

    def repair(self, item):
        for place in range(self.chance.randrange(1, 4)):
            if self.chance.random() < 0.2:
                self.step(item, "bug_fixer", {"commands": []})
                return "untested"
            if self.chance.random() < 0.2:
                self.step(item, "test_correction", {"test_program": "'"})
                works = self.chance.random() < 0.7
                self.execute(item, "ok" if works else "error", executable=works, tests=3 * works)
                if works:
                    return "corrected"
            kind = self.chance.choice(["install", "commands"])
            outcome = self.chance.choice(["done", "failed"])
            for _ in range(self.chance.choice([1, 1, 2])):  # what was lost is made again
                self.step(item, "repair", {"repair": kind, "outcome": outcome}, asks=False, digest=f"{place}")
            if outcome == "done":
                works = self.chance.random() < 0.7
                self.execute(item, "ok" if works else "error", executable=works, tests=3 * works)
                if works:
                    return "repaired"
        return "untested"

    def conclude(self, item, path):
        self.records[VerdictRow].append(
            Verdict(
                id=self.workspace.ids.next(), run_id=self.run.id, item_id=item, path=path, reason="so",
                value=float(self.chance.random() < 0.5), question_id=1, created_at=now(),
            )
        )  # fmt: skip

    def store(self):
        def write(connection):
            connection.execute(insert(table_of(Run)).values(**self.run.model_dump()))
            for row, kept in self.records.items():
                self.chance.shuffle(kept)  # no figure may depend on the order of the rows
                if kept:
                    connection.execute(insert(table_of(row)), [one.model_dump() for one in kept])

        self.workspace.lane.submit(write).result()


def told(step):
    return json.loads(step.reply)


def expected(agents, workspace):
    """The figures of a run, by going through everything it recorded."""
    steps = sorted(agents.records[StepRow], key=lambda one: one.id)
    verdicts = {one.item_id: one for one in agents.records[VerdictRow]}
    executions = sorted(agents.records[ExecutionRow], key=lambda one: one.id)
    by_item = {}
    for step in steps:
        by_item.setdefault(step.item_id, []).append(step)
    assessed = {
        step.item_id: told(step)["assessment"]
        for step in steps
        if (step.role, step.outcome) == ("screener", "ok")
    }
    programs = {one.item_id: one for one in executions if one.exit_reason != "infrastructure"}
    tests = Counter(one.execution_id for one in agents.records[TestOutcomeRow])
    counted = [tests[one.id] for one in programs.values() if one.executable and tests[one.id]]
    ends = Counter(
        own[-1].error.partition(": ")[0]
        for item, own in by_item.items()
        if item not in verdicts and own[-1].outcome == "failed"
    )
    needs_sandbox = ends.pop("Needs a sandbox", 0)
    unpriced = [one for one in steps if one.requests and one.money is None]
    priced = by_item.keys() - {one.item_id for one in unpriced}
    corrected = {one.item_id for one in steps if one.role == "test_correction"}
    repaired = {one.item_id for one in steps if one.role in ("repair", "bug_fixer")} | corrected
    executable = {item for item in repaired if item in programs and programs[item].executable}
    installed = {
        one.item_id
        for one in steps
        if one.role == "repair" and told(one) == {"repair": "install", "outcome": "done"}
    }
    reasons = Counter(
        REASONS[one.error] for one in programs.values() if not one.executable and one.exit_reason == "error"
    )
    commanded = {
        one.item_id
        for one in steps
        if one.role == "repair" and told(one) == {"repair": "commands", "outcome": "done"}
    }
    mended = executable & (corrected | commanded | installed)
    tries = {
        (one.item_id, one.request_hash, told(one)["repair"], told(one)["outcome"])
        for one in steps
        if one.role == "repair"
    }
    made = Counter(kind for *_, kind, _ in tries)
    worked = Counter(kind for *_, kind, outcome in tries if outcome == "done")
    codes = {row["item_id"]: row["code_id"] for row in pairs_of(workspace)}
    texts = {row["id"]: row["text"] for row in rows(workspace, Code)}
    used = {codes[item] for item in verdicts}
    groups = {"clear": [], "unclear": [], "unscreened": []}
    for item in by_item:
        name = assessed.get(item, "unscreened")
        groups["clear" if name.startswith("clear") else name].append(item)
    return {
        "pairs": len(by_item),
        "labelled": len(verdicts),
        "labels": dict(Counter(f"{one.value:g}" for one in verdicts.values())),
        "paths": dict(Counter(one.path for one in verdicts.values())),
        "failed": sum(ends.values()),
        "failed_by_reason": dict(ends),
        "needs_sandbox": needs_sandbox,
        "unfinished": len(by_item) - len(verdicts) - sum(ends.values()) - needs_sandbox,
        "screened": len(assessed),
        **{name: list(assessed.values()).count(name) for name in dict.fromkeys(ASSESSMENTS)},
        "executed": len(programs),
        "executable": sum(one.executable for one in programs.values()),
        "executable_rate": mean(one.executable for one in programs.values()),
        "counted_programs": len(counted),
        "mean_test_cases": mean(counted),
        "valid_code": len(programs) - reasons["Python 2 code", ""],
        "valid_executable_rate": sum(one.executable for one in programs.values())
        / (len(programs) - reasons["Python 2 code", ""]),
        "not_executable": [
            {"reason": kind, "detail": detail, "count": count}
            for (kind, detail), count in sorted(reasons.items(), key=lambda one: (-one[1], one[0]))
        ],
        "repairs": {
            "programs": len(repaired),
            "installed": len(mended - commanded - corrected),
            "by_model": len(mended & commanded - corrected),
            "corrected": len(mended & corrected),
            "given_up": len((repaired - mended) & verdicts.keys()),
            "unfinished": len(repaired - mended - verdicts.keys()),
            "installations": {"made": made["install"], "worked": worked["install"]},
            "commands": {"made": made["commands"], "worked": worked["commands"]},
            "corrections": {"made": len(corrected), "worked": len(corrected & executable)},
        },
        **{
            name: sum(getattr(one, name) for one in steps)
            for name in ("requests", "tokens_in", "tokens_out", "tokens_cached")
        },
        "steps": len(steps),
        "cost": pytest.approx(sum(one.money or 0 for one in steps)),
        "cost_per_pair": pytest.approx(
            sum(one.money or 0 for one in steps if one.item_id in priced) / len(priced)
        ),
        "unpriced_steps": len(unpriced),
        "unpriced_pairs": len(by_item) - len(priced),
        "from_cache": 0,
        "cost_from_cache": 0.0,
        "seconds_by_stage": {
            name: seconds([by_item[item] for item in items]) for name, items in groups.items()
        },
        "table_2": {
            "pairs": len(verdicts),
            "codes": len(used),
            "code_mean_length": pytest.approx(mean(len(texts[code]) for code in used)),
            "mean_test_cases": mean(counted),
            "executable_rate": mean(one.executable for one in programs.values()),
        },
    }


def seconds(pairs):
    """The seconds of some pairs, each a list of steps."""
    sums = [sum(step.seconds for step in own) for own in pairs]
    stages = {}
    for role in {step.role for own in pairs for step in own}:
        own = [[step.seconds for step in own if step.role == role] for own in pairs]
        spent = [sum(one) for one in own if one]
        stages[role] = {
            "steps": sum(map(len, own)),
            "pairs": len(spent),
            "total": pytest.approx(sum(spent)),
            "mean": pytest.approx(mean(spent)),
        }
    return {
        "pairs": len(pairs),
        "total": pytest.approx(sum(sums)),
        "mean": pytest.approx(mean(sums)),
        "median": pytest.approx(median(sums)),
        "longest": pytest.approx(max(sums)),
        "stages": stages,
    }


def pairs_of(workspace):
    with workspace.native() as cursor:
        found = cursor.execute("SELECT item_id, code_id FROM pair").fetchall()
    return [{"item_id": item, "code_id": code} for item, code in found]


@pytest.mark.parametrize("seed", [1, 2])
def test_every_figure_is_what_the_records_add_up_to(tmp_path, seed):
    chance = random.Random(seed)
    with judged_workspace(tmp_path, 240) as workspace:
        workspace.lane.submit(
            # Some candidates are one code.
            lambda connection: connection.execute(
                table_of(Pair).update().where(table_of(Pair).c.item_id > 200).values(code_id=7)
            )
        ).result()
        workspace.lane.submit(
            lambda connection: connection.execute(table_of(Code).update().values(text="print 1\n"))
        ).result()
        several = [Agents(workspace, f"p/m/{number}", chance) for number in range(2)]
        for item in range(1, 241):
            for agents in several:
                if chance.random() < 0.9:
                    agents.annotate(item)
        for agents in several:
            agents.store()
        with workspace.reading() as connection:
            found = read_reports(connection, [agents.run for agents in several])
        for agents, figures in zip(several, found, strict=True):
            facts = figures.to_dict(blind=False)
            wanted = expected(agents, workspace)
            assert {name: facts[name] for name in wanted} == wanted
            assert facts["unclear_share"] == facts["unclear"] / facts["screened"]
            assert min(facts["needs_sandbox"], facts["unfinished"], facts["repairs"]["given_up"]) > 0
            assert 0 < facts["repairs"]["by_model"] < facts["repairs"]["programs"]
            assert min(facts["repairs"][name] for name in ("installed", "corrected")) > 0
            assert {one["reason"] for one in facts["not_executable"]} == {
                kind for kind, _ in REASONS.values()
            }
            assert 0 < facts["unpriced_pairs"] < facts["pairs"]


def test_a_cost_that_nobody_knows_stays_unknown_and_what_nobody_was_asked_for_cost_nothing(tmp_path):
    with judged_workspace(tmp_path) as workspace:
        unknown, part, free, none, kept = (Agents(workspace, f"p/m/{n}", random.Random(1)) for n in "abcde")

        def asked(agents, item, requests, money):
            step = agents.step(item, "screener", {"assessment": "clear_match"})
            agents.records[StepRow][-1] = step.model_copy(update={"requests": requests, "money": money})

        asked(unknown, 1, 1, None)
        asked(part, 1, 1, None)
        asked(part, 2, 1, 0.25)
        asked(free, 1, 0, None)
        asked(kept, 1, 0, 0.0)  # answered from the workspace
        asked(kept, 2, 1, None)
        several = (unknown, part, free, none, kept)
        for agents in several:
            agents.store()
        with workspace.reading() as connection:
            reports = read_reports(connection, [one.run for one in several])
        found = [one.to_dict(blind=False) for one in reports]
    names = ("cost", "cost_per_pair", "unpriced_steps", "unpriced_pairs")
    costs = [tuple(one[name] for name in names) for one in found]
    assert costs == [
        (None, None, 1, 1),
        (0.25, 0.25, 1, 1),
        (0.0, 0.0, 0, 0),
        (0.0, None, 0, 0),
        (None, None, 1, 1),
    ]
    nothing = found[3]
    shares = ("unclear_share", "executable_rate", "mean_test_cases")
    assert [nothing[name] for name in shares] == [None, None, None]
    assert (nothing["pairs"], nothing["table_2"]["code_mean_length"]) == (0, None)


@pytest.mark.parametrize(("money", "cost"), [((0.25, 0.5), 1.25), ((0.25, None), None)])
def test_what_replies_from_the_workspace_cost_once_is_told_beside_the_cost(tmp_path, money, cost):
    with judged_workspace(tmp_path) as workspace:
        agents = Agents(workspace, "p/m/a", random.Random(1))
        keys = [workspace.ids.next() for _ in money]
        replies = [{"id": key, "money": paid} for key, paid in zip(keys, money, strict=True)]
        texts = dict.fromkeys(("role", "model", "service", "snapshot", "text", "sdk"), "")
        agents.records[ReplyRow] = [Reply(**texts, **reply, created_at=now()) for reply in replies]
        for item, key in ((1, keys[0]), (2, keys[1]), (3, keys[1])):
            step = agents.step(item, "screener", {"assessment": "clear_match"})
            taken = {"requests": 0, "money": 0.0, "from_cache": True, "reply_id": key}
            agents.records[StepRow][-1] = step.model_copy(update=taken)
        agents.step(4, "screener", {"assessment": "clear_match"})
        agents.store()
        with workspace.reading() as connection:
            (one,) = read_reports(connection, [agents.run])
        found = one.to_dict(blind=False)
    assert (found["from_cache"], found["cost_from_cache"]) == (3, cost)


@pytest.fixture
def study(workbench, in_folder):
    pairs = [{"id": f"q{number}", "query": "q", "code": f"code {number}"} for number in range(3)]
    (in_folder / "p.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    assert workbench("import", "w.duckdb", "p.jsonl").code == 0
    return in_folder / "w.duckdb"


def screened(in_folder, name, assessments):
    lines = [
        {"role": "screener", "subject": f"q{number}", "reply": {"assessment": found, "justification": "so"}}
        for number, found in enumerate(assessments)
    ]
    (in_folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return f"scripted:{in_folder / name}"


def test_a_workspace_without_a_run_says_how_to_begin_one(workbench, study):
    told = workbench("report", study, "pipeline", "--json").json()
    assert told == {"report": "pipeline", "blind": False, "rejected": [], "runs": []}
    assert "workbench annotate" in workbench("report", study, "pipeline").out
    done = workbench("report", study, "pipeline", "--run", "x", "--json")
    assert (done.code, done.json()["error"]["hint"]) == (2, "Runs here: none yet.")
    other = workbench("report", study, "progress", "--run", "x", "--json")
    assert (other.code, other.json()["error"]["hint"]) == (2, "Runs here: none yet.")


def test_there_is_a_row_for_every_configuration_and_one_can_be_asked_for(workbench, study, in_folder):
    for name, found in (("one", ["clear_match"] * 3), ("two", ["clear_match", "clear_nonmatch"])):
        workbench("annotate", study, "--model", screened(in_folder, f"{name}.jsonl", found), "--no-repairs")
    facts = workbench("report", study, "pipeline", "--json").json()
    two, one = facts["runs"]
    assert (one["clear_match"], one["labelled"], one["cost"]) == (3, 3, None)
    assert (two["clear_match"], two["clear_nonmatch"], two["labelled"], two["failed"]) == (1, 1, 2, 1)
    assert two["failed_by_reason"] == {"No scripted reply": 1}
    assert two["configuration"]["model"] == two["model"]
    end = one["run"].rpartition("/")[2]
    assert workbench("report", study, "pipeline", "--run", end, "--json").json()["runs"] == [one]
    done = workbench("report", study, "pipeline", "--run", "ps-", "--json")
    assert done.code == 2
    assert one["run"] in done.json()["error"]["hint"]


def test_a_run_that_has_ended_is_reported_the_same_whenever_it_is(workbench, study, in_folder):
    workbench("annotate", study, "--model", screened(in_folder, "r.jsonl", ["clear_match"] * 3))
    (before,) = workbench("report", study, "pipeline", "--json").json()["runs"]
    with duckdb.connect(str(study)) as connection:
        connection.execute("UPDATE run SET ended_at = ended_at - INTERVAL 1 HOUR")
        connection.execute("UPDATE step SET created_at = created_at - INTERVAL 1 HOUR")
    (later,) = workbench("report", study, "pipeline", "--json").json()["runs"]
    assert later["roles"] == before["roles"]
    assert [role["last_minute"] for role in later["roles"]] == [3]


def test_it_fits_a_terminal_of_80_columns(workbench, study, in_folder, monkeypatch):
    workbench("annotate", study, "--model", screened(in_folder, "r.jsonl", ["unclear"] * 2), "--no-repairs")
    monkeypatch.setattr("workbench.output.PIPED_WIDTH", 80)
    lines = workbench("report", study, "pipeline").out.splitlines()
    assert max(map(len, lines)) <= 80
    table = next(place for place, line in enumerate(lines) if line.split()[:2] == ["run", "items"])
    assert lines[table].split()[1:] == ["items", "match", "not", "unclear", "exec.", "tests", "$/item"]
    assert (lines[table + 1].split()[0], lines[table + 1].split()[2:6]) == ("1", ["3", "0", "0", "2"])
    assert [line for line in lines if line.startswith("1 ps-tpg")][1].endswith(": done")
    assert "3 No scripted reply" in "\n".join(lines)
    # One pair asked for nothing, which is no reason to call the others' cost 0.
    assert [line.split()[-1] for line in lines if line.startswith("cost")] == ["unknown", "unknown"]


def test_a_run_that_was_killed_is_not_told_as_running(workbench, study, in_folder):
    workbench("annotate", study, "--model", screened(in_folder, "r.jsonl", ["clear_match"] * 2))
    with duckdb.connect(str(study)) as connection:
        connection.execute("UPDATE run SET state = 'running', ended_at = NULL")
    (run,) = workbench("report", study, "pipeline", "--json").json()["runs"]
    assert run["state"] == "stopped"
    assert run["ended_at"]
