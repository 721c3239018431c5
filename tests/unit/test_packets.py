"""Packets: they hold only what a rater may see, and what of them is the rater's is merged, once."""

import json
import random
import shutil
from collections import Counter

import duckdb
import pytest
from judging import Desk, journal_ids, judged_workspace, judgments, marks
from older_schema import with_words
from review_bench import TEST, Ran, bench, write_expert_run
from scipy.stats import spearmanr
from several_kinds import three_kinds
from sqlalchemy import insert, select, update

from store.errors import WorkbenchError, WorkspaceError, WorkspaceTooNew
from store.ingest.importing import import_files
from store.kinds.spec import task_kinds
from store.policy.rows import words_of
from store.policy.scope import Scope, Sitting
from store.policy.sealing import is_sealed
from store.queries.agent_case import load_case
from store.queries.item import item_access, item_texts, load_own, question_ids
from store.queries.questions import item_questions
from store.queries.queue import queue_rows
from store.queries.studies import ChosenItem, find_study
from store.record.actions import Action
from store.record.evidence import as_json, citations_of, cite
from store.record.expert_runs import record_expert_run
from store.record.ids import AHEAD, lowest_at, now
from store.record.protocol import StudyProtocol
from store.record.raters import find_rater, rater_row, register_kinds
from store.studies.dashboard import dashboard
from store.studies.packet_merge import merge_packet
from store.studies.packet_records import LATE
from store.studies.packets import make_packet
from store.studies.session import study_session
from store.studies.studies import agree, change_member, close_study, freeze_study, new_study, withdraw
from store.tables.columns import table_of
from store.tables.imported import Item, Source
from store.tables.people import Assignment, StudyItem
from store.tables.record import Judgment
from store.tables.runs import Execution, Run, StepRow, TestOutcomeRow, VerdictRow
from store.workspace.duckdb import Workspace, migrations
from store.workspace.journal import journal_path
from store.workspace.recovery import recover

RATERS = ("ana", "ben", "chi")
SECRET = "zzqx"
"""In everything that is hidden from a rater."""
CONDITIONS = ("blind", "blind+tests", "own-test", "revealed+tests")
AGREED = "I agree to take part."


def study(workspace, *, kind="pair", first=1, items=8, raters=RATERS, gold=(), training=(), **protocol):
    """Freeze a study of some items, gold and training items apart."""
    chosen = [ChosenItem(one) for one in range(first, first + items) if one not in {*gold, *training}]
    chosen += [ChosenItem(one, "gold", gold={"pair.match": 1.0}) for one in gold]
    chosen += [ChosenItem(one, "training", gold={"pair.match": 0.0}) for one in training]
    new_study(workspace, "rq2", StudyProtocol(kind, seed=1, **protocol), chosen, raters)
    return freeze_study(workspace, "rq2")


def packet(workspace, rater="ana", name=None, **options):
    """Make a packet beside the workspace; returns its path."""
    path = workspace.path.with_name(name or f"{rater}.duckdb")
    make_packet(workspace, "rq2", rater, path, **options)
    return path


def tables(path):
    """All rows of a file, by table, in the order in which they are stored."""
    with duckdb.connect(str(path), read_only=True) as connection:
        names = [row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        return {name: connection.execute(f'FROM "{name}"').fetchall() for name in sorted(names)}


def state(workspace):
    """All rows of an open workspace, and its journal."""
    cursor = workspace.native()
    names = [row[0] for row in cursor.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
    rows = {name: cursor.execute(f'FROM "{name}" ORDER BY ALL').fetchall() for name in names}
    cursor.close()
    journal = journal_path(workspace.path)
    return rows, journal.read_bytes() if journal.exists() else b""


def change(path, *statements):
    """Change a file as another program would."""
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)


def assignments(workspace, rater="ana"):
    table = table_of(Assignment)
    with workspace.reading() as connection:
        number = find_rater(connection, rater).id
        of_rater = select(table, words_of().label("condition")).where(table.c.rater_id == number)
        return connection.execute(of_rater.order_by(table.c.position)).all()


def work(path, rater="ana", most=None):
    """Have a rater decide what is open in a packet, in its order; every question of at most some items."""
    with Workspace.open(path) as opened:
        register_kinds(opened)
        desk = Desk(opened, rater)
        done = {record.item_id for record in judgments(opened)}
        with opened.reading() as connection:
            session = study_session(connection, find_rater(connection, rater))
            kind = task_kinds()[session.study.protocol.kind]
            keys = question_ids(connection, [spec.name for spec in kind.questions])
        for row in [row for row in assignments(opened, rater) if row.item_id not in done][:most]:
            with opened.reading() as connection:
                scope = Scope(session.rater, Sitting(row.study_id, row.sitting))
                asked = item_questions(connection, kind, row.item_id, scope)
                shows = "revealed" in row.condition and kind.name == "pair"
                verdict = load_case(connection, scope, row.item_id).verdict if shows else None
            action = opened.ids.next()
            records = tuple(
                Judgment(
                    id=opened.ids.next(),
                    action=action,
                    item_id=row.item_id,
                    question_id=keys[spec.name],
                    response_ref_id=ref,
                    rater_id=desk.rater.id,
                    assignment_id=row.id,
                    phase=row.phase,
                    value=spec.scale.values[(row.item_id + place) % len(spec.scale.values)].value,
                    blind="revealed" not in row.condition,
                    guideline_id=1,
                    shown_verdict=verdict.id if verdict else None,
                    shown_execution=verdict.execution_id if verdict else None,
                    evidence=_cited(verdict),
                    created_at=now(),
                )
                for place, (spec, ref, _) in enumerate(asked)
            )
            desk.submit(Action(action, records))


def run_test(workspace, desk, item):
    """Record that a rater ran a test of their own."""
    execution = Execution(
        id=workspace.ids.next(),
        item_id=item,
        rater_id=desk.rater.id,
        program="import candidate\n",
        program_digest="d",
        sandbox="bubblewrap",
        environment="e",
        exit_reason="ok",
        created_at=now(),
    )
    outcome = TestOutcomeRow(execution_id=execution.id, position=0, name="mine", outcome="passed")
    record_expert_run(workspace, desk.rater, execution, [outcome]).result(60)


def _cited(verdict):
    if verdict is None or verdict.execution_id is None:
        return "[]"
    return as_json(cite("test", TEST, TEST.splitlines(), [2], verdict.execution_id))


@pytest.fixture
def pairs(tmp_path):
    """Ten pairs with the work of agents on them."""
    with bench(tmp_path) as opened:
        yield opened


@pytest.fixture
def plain(tmp_path):
    """Ten pairs on which no agent worked."""
    with judged_workspace(tmp_path, 10) as opened:
        yield opened


# -- there and back -----------------------------------------------------------------------------------


def test_three_raters_judge_in_packets_and_every_record_comes_back_under_its_own_names(pairs):
    frozen = study(
        pairs, conditions=CONDITIONS, gold=(7,), training=(8,), repeats=2, consent=AGREED, raters=RATERS
    )
    before = pairs.path.with_name("before.duckdb")
    pairs.lane.drain()
    pairs.native().execute("CHECKPOINT")
    shutil.copy(pairs.path, before)
    paths = [packet(pairs, rater) for rater in RATERS]
    for rater, path in zip(RATERS, paths, strict=True):
        work(path, rater)
        with Workspace.open(path) as opened:
            desk, own = Desk(opened, rater), assignments(opened, rater)
            under = {"assignment_id": own[-1].id, "phase": own[-1].phase}
            desk.say(own[-1].item_id, "flag", **under)
            seen = {"blind": "revealed" not in own[-1].condition}
            desk.judge(own[-1].item_id, 1.0, comment="on second thoughts", **seen, **under)
            desk.undo()
            desk.redo()
            tested = next(row.item_id for row in own if row.condition == "own-test")
            run_test(opened, desk, tested)
            values = {"consent_version": frozen.protocol.consent_version, "consented_at": now()}
            change_member(opened, 1, desk.rater.id, **values, experience="10 years")

    reports = [merge_packet(pairs, path) for path in paths]
    for rater, path, report in zip(RATERS, paths, reports, strict=True):
        expected = here_of(path, pairs, rater)
        numbers = (report.judgments, report.marks, report.expert_runs, report.left, report.consent)
        assert numbers == (len(expected["judgment"]), 1, 1, 0, True)
        number = assignments(pairs, rater)[0].rater_id
        assert facts_of(pairs, judgments(pairs, rater_id=number)) == expected["judgment"]
        assert facts_of(pairs, marks(pairs, rater_id=number)) == expected["mark"]
        member = study_of(pairs).member(rater)
        assert (member.experience, member.consent_version) == ("10 years", frozen.protocol.consent_version)
    phases = Counter(record.phase for record in judgments(pairs, origin="independent", comment=""))
    assert phases == {"label": 18, "gold": 3, "train": 3, "repeat": 6}
    cursor = pairs.native()
    runs = cursor.execute("SELECT r.name, t.name FROM execution e JOIN rater r ON r.id = e.rater_id "
                          "JOIN test_outcome t ON t.execution_id = e.id ORDER BY ALL").fetchall()  # fmt: skip
    cursor.close()
    assert runs == [(rater, "mine") for rater in RATERS]
    # What was on the screen is the verdict of the workspace, and the evidence its execution.
    shown = {record.shown_verdict for record in judgments(pairs)} - {None}
    with pairs.reading() as connection:
        verdict = table_of(VerdictRow)
        known = dict(connection.execute(select(verdict.c.id, verdict.c.execution_id)).all())
    assert shown
    assert shown <= set(known)
    cited = {one.execution for record in judgments(pairs) for one in citations_of(record.evidence)}
    assert cited
    assert cited <= set(known.values())

    # Everything is in the journal, from which a workspace of before the merge is brought to the same.
    everything = judgments(pairs), marks(pairs)
    assert {record.id for part in everything for record in part} <= set(journal_ids(pairs))
    with Workspace.open(before) as lost:
        recover(lost, journal_path(pairs.path))
        assert (judgments(lost), marks(lost)) == everything


def study_of(workspace):
    with workspace.reading() as connection:
        from store.queries.studies import find_study

        return find_study(connection, "rq2")


def facts_of(workspace, records):
    """What records say, by the texts of their items and the conditions of their assignments."""
    with workspace.reading() as connection:
        texts = item_texts(connection, [record.item_id for record in records])
        table = table_of(Assignment)
        conditions = dict(connection.execute(select(table.c.id, words_of())).all())
    hidden = {"item_id", "rater_id", "assignment_id", "phase", "shown_verdict", "shown_execution", "evidence"}
    return [
        (
            (texts[record.item_id]["query"], texts[record.item_id]["code"]),
            conditions[record.assignment_id],
            json.loads(record.model_dump_json(exclude=hidden)),
        )
        for record in records
    ]


def here_of(path, workspace, rater):
    """What the records of a packet should say in the workspace; each item of both is one with the same text."""
    with Workspace.open(path) as opened:
        there = {"judgment": judgments(opened), "mark": marks(opened)}
        return {name: facts_of(opened, records) for name, records in there.items()}


def test_repeats_come_back_to_the_assignment_whose_place_they_had(plain):
    study(plain, repeats=3, items=6)
    path = packet(plain)
    work(path)
    merge_packet(plain, path)
    with Workspace.open(path) as opened:
        places = {record.id: record.item_id for record in judgments(opened)}
    real = assignments(plain)
    for record in judgments(plain):
        row = real[places[record.id] - 1]
        assert (record.assignment_id, record.item_id, record.phase) == (row.id, row.item_id, row.phase)
    assert Counter(record.phase for record in judgments(plain)) == {"label": 6, "repeat": 3}


@pytest.mark.parametrize(("kind", "first", "items"), [("completion", 2, 2), ("answer", 4, 3)])
@pytest.mark.parametrize("condition", ["blind", "revealed"])
def test_completions_and_answers_come_back_with_their_responses(tmp_path, kind, first, items, condition):
    with three_kinds(tmp_path) as workspace:
        register_kinds(workspace)
        study(workspace, kind=kind, first=first, items=items, conditions=(condition,))
        path = packet(workspace)
        work(path)
        report = merge_packet(workspace, path)
        assert (report.left, report.judgments > 0) == (0, True)
        for where in (path, None):
            opened = Workspace.open(path) if where else workspace
            cursor = opened.native()
            labels = cursor.execute(
                "SELECT j.id, q.name, t.text, j.value FROM judgment j JOIN question q ON q.id = j.question_id "
                "LEFT JOIN response t ON t.id = j.response_ref_id ORDER BY j.id"
            ).fetchall()
            models = {row[0] for row in cursor.execute("SELECT model FROM response_ref").fetchall()}
            cursor.close()
            if where:
                there, shown = labels, models
                opened.close()
        assert labels == there
        if kind == "answer":
            assert (
                shown == {"one@home%", "two#"}
                if condition == "revealed"
                else not shown & {"one@home%", "two#"}
            )


# -- what a packet holds ------------------------------------------------------------------------------


def hide_secrets(workspace, *, secret=SECRET):
    """Plant a word in everything that a rater without revealed items may not see."""
    ben = Desk(workspace, f"ben-{secret}")
    ben.judge(1, 0.0, comment=f"not {secret}", reason=secret)
    ben.say(2, "comment", text=secret)
    write_expert_run(workspace, 1, f"ben-{secret}", f"# {secret}\n", Ran([(secret, "passed", "")]))

    def write(connection):
        verdict, step, item, source = (table_of(one) for one in (VerdictRow, StepRow, Item, Source))
        connection.execute(update(verdict).values(reason=secret, value=1.0 - verdict.c.value))
        for row in connection.execute(select(step)).all():
            reply = json.loads(row.reply) if row.reply else {}
            for name in reply:
                if name != "test_program":
                    reply[name] = secret
            values = {"reply": json.dumps(reply) if reply else "", "model": secret, "request_hash": secret}
            connection.execute(update(step).where(step.c.id == row.id).values(**values))
        connection.exec_driver_sql(
            f"UPDATE run SET name = '{secret}', model = '{secret}', configuration = '{secret}'"
        )
        connection.exec_driver_sql(f"INSERT INTO similarity SELECT id, '{secret}', 0.5 FROM item")
        connection.execute(
            update(item).values(extra=f'{{"a": "{secret}"}}', external_id=secret + item.c.external_id)
        )
        connection.execute(update(source).values(name=secret, url=secret, licence=secret, sha256=secret))

    workspace.lane.submit(write).result()


@pytest.mark.parametrize(
    "conditions", [("blind",), ("own-test",), ("blind+tests",), ("blind", "blind+tests")]
)
def test_nothing_that_is_hidden_is_in_the_file(pairs, conditions):
    hide_secrets(pairs)
    study(
        pairs,
        conditions=conditions,
        raters=("ana", f"ben-{SECRET}"),
        gold=(7,),
        reveal="revealed+tests",
        coordinators=(SECRET,),
        sample=SECRET,
        repeats=2,
    )
    pairs.lane.submit(
        lambda connection: connection.execute(
            update(table_of(StudyItem)).values(stratum=SECRET, gold=f'{{"pair.match": 1, "{SECRET}": 0}}')
        )
    ).result()
    path = packet(pairs)
    rows = tables(path)
    assert SECRET not in str(rows)
    assert SECRET.encode() not in path.read_bytes()
    assert not {"gold", "repeat", "reveal", "revealed"} & {
        str(value) for row in rows["assignment"] for value in row
    }
    assert not any(
        rows[name] for name in ("verdict", "judgment", "mark", "study_item", "similarity", "packet")
    )
    if "blind+tests" in conditions:
        # The test program and what came of it, and nothing that the agents said.
        assert {row[3] for row in rows["step"]} == {"test_writer", "executor"}
        assert {tuple(json.loads(row[7])) for row in rows["step"] if row[7]} == {("test_program",)}
        assert rows["test_outcome"] or len(conditions) > 1
    else:
        assert not any(rows[name] for name in ("run", "step", "execution", "test_outcome"))


@pytest.mark.parametrize("condition", ["blind", "blind+tests", "own-test"])
def test_packets_of_workspaces_that_differ_in_hidden_data_alone_are_the_same(tmp_path, condition):
    found = []
    for number, name in enumerate(("one", "two")):
        (tmp_path / name).mkdir()
        with bench(tmp_path / name) as workspace:
            if number:
                hide_secrets(workspace)
            # Others' conditions, gold and coordinators, too; ana's own list is the same.
            study(workspace, conditions=(condition,), raters=("ana", f"ben-{SECRET}"), repeats=2,
                  coordinators=(SECRET,) * number)  # fmt: skip
            rows = tables(packet(workspace, seed=5))
        rows["workspace_fact"] = [
            {**json.loads(value), "made_at": ""} for key, value in rows["workspace_fact"] if key == "packet"
        ]
        del rows["schema_version"]
        found.append(rows)
    assert found[0] == found[1]


def test_a_revealed_item_shows_what_the_workspace_shows(pairs):
    study(pairs, conditions=("revealed+tests",), raters=("ana",))
    path = packet(pairs)
    with Workspace.open(path) as opened:
        found = [shown_of(opened, row.item_id) for row in assignments(opened)]
    with pairs.reading() as connection:
        assert find_rater(connection, "ana")
    assert found == [shown_of(pairs, row.item_id) for row in assignments(pairs)]


def shown_of(workspace, item):
    with workspace.reading() as connection:
        scope = study_session(connection, find_rater(connection, "ana")).scope
        case = load_case(connection, scope, item)
        texts = item_texts(connection, [item])[item]
    verdict = case.verdict and (
        case.verdict.value,
        case.verdict.path,
        case.verdict.reason,
        case.verdict.run_name,
    )
    execution = case.execution and (case.execution.program, case.execution.stdout, case.execution.outcomes)
    return texts["query"], texts["code"], verdict, case.steps, execution


def test_of_many_items_no_id_hash_order_or_time_tells_what_they_are(tmp_path):
    count = 400
    with judged_workspace(tmp_path, count) as workspace:
        study(
            workspace,
            items=count,
            gold=range(361, count + 1),
            repeats=60,
            conditions=("blind", "blind+tests", "own-test"),
        )
        path = packet(workspace, seed=11)
        real = assignments(workspace)
        ben = {row.item_id: row.condition for row in assignments(workspace, "ben")}
    rows = tables(path)
    assert [row[:1] + row[3:4] for row in rows["assignment"]] == [
        (row[0], place) for place, row in enumerate(rows["assignment"], 1)
    ]
    for name, constant in {
        "assignment": (1, 2, 4, 8, 9, 10, 11, 12),
        "item": (1, 4, 6),
        "pair": (3,),
    }.items():
        for column in constant:
            assert len({row[column] for row in rows[name]}) == 1, (name, column)
    tells = {
        "the order of import": [row.item_id for row in real],
        "gold": [row.phase == "gold" for row in real],
        "a repeat": [row.phase == "repeat" for row in real],
        "ben's condition": [ben[row.item_id] == "blind" for row in real],
    }
    known = {
        "assignment id": [float(row[0].int) for row in rows["assignment"]],
        "external id": [int(row[2][2:], 16) for row in rows["item"]],
    }
    place = {"place": [row[0] for row in rows["item"]]}
    rng = random.Random(3)
    for what, truth in tells.items():
        # Repeats come after what they repeat, in every list.
        for name, ids in (known if what == "a repeat" else known | place).items():
            found = abs(spearmanr(ids, truth).statistic)
            by_chance = sorted(
                abs(spearmanr(ids, rng.sample(truth, len(truth))).statistic) for _ in range(200)
            )
            assert found <= by_chance[-1], (what, name)


def test_a_text_that_was_rewritten_before_the_study_is_the_one_that_is_judged(tmp_path):
    with three_kinds(tmp_path) as workspace:
        register_kinds(workspace)
        desk = Desk(workspace, "coordinator")
        desk.say(4, "revision.question", text="What is it?")
        study(workspace, kind="answer", first=4, items=3)
        desk.say(5, "revision.question", text="Too late?")
        texts = {row[5] for row in tables(packet(workspace))["repository_question"]}
        assert "What is it?" in texts
        assert "Too late?" not in texts


# -- a packet is opened -------------------------------------------------------------------------------


@pytest.mark.parametrize("condition", ["blind", "revealed"])
def test_a_packet_asks_what_was_asked_when_the_study_was_frozen(tmp_path, condition):
    with three_kinds(tmp_path) as workspace:
        register_kinds(workspace)
        for number, (item, model) in enumerate([("q2", "two#"), ("q1", "one@home%")]):
            if number:
                study(workspace, kind="answer", first=4, items=3, conditions=(condition,))
            file = tmp_path / f"scores{number}.jsonl"
            answer = "Not at all." if item == "q2" else "By hand."
            score = {"judge": "bench", "measure": "rating", "score": 4}
            record = {"question_id": item, "model": model, "answer": answer, "scores": [score]}
            file.write_text(json.dumps(record))
            import_files(workspace, [file])
        path = packet(workspace)
        with Workspace.open(path) as opened, opened.reading() as connection:
            register_kinds(opened)
            session = study_session(connection, find_rater(connection, "ana"))
            kind = task_kinds()["answer"]
            asked = [
                [spec.name for spec, *_ in item_questions(connection, kind, row.item_id, session.scope)]
                for row in assignments(opened)
            ]
        assert sum(names.count("answer.rating") for names in asked) == 1
        work(path)
        merged = merge_packet(workspace, path)
        assert merged.left == 0
        with workspace.reading() as connection:
            seen = dashboard(connection, "rq2", None)
        assert (seen.raters[0].whole.done, seen.judgments["answer.rating"]) == (3, 1)


def say_keep(workspace, item_id):
    """Give an item the verdict of a run that wrote it: SECRET, and to keep it."""

    def write(connection):
        run_id = workspace.ids.next()
        rater = rater_row(connection, f"{SECRET}-writer", "agent").id
        if (known := connection.execute(select(Run.id).where(Run.name == SECRET)).scalar()) is None:
            fields = {
                "configuration": f"{SECRET}",
                "model": SECRET,
                "rater_id": rater,
                "state": "done",
                "total": 1,
            }
            run = Run(id=run_id, kind="answer", name=SECRET, started_at=now(), fullness=1, **fields)
            connection.execute(insert(table_of(Run)).values(**run.model_dump()))
        key = question_ids(connection, ["answer.keep"])["answer.keep"]
        verdict = VerdictRow(
            id=workspace.ids.next(),
            run_id=known or run_id,
            item_id=item_id,
            question_id=key,
            value=1.0,
            path=SECRET,
            reason=SECRET,
            created_at=now(),
        )
        connection.execute(insert(table_of(VerdictRow)).values(**verdict.model_dump()))

    workspace.lane.submit(write).result()


@pytest.mark.parametrize("condition", ["blind", "revealed"])
def test_a_packet_asks_whether_to_keep_what_agents_wrote_before_the_study(tmp_path, condition):
    with three_kinds(tmp_path) as workspace:
        register_kinds(workspace)
        say_keep(workspace, 4)
        study(workspace, kind="answer", first=4, items=3, conditions=(condition,))
        say_keep(workspace, 5)
        path = packet(workspace)
        with Workspace.open(path) as opened, opened.reading() as connection:
            register_kinds(opened)
            session = study_session(connection, find_rater(connection, "ana"))
            rows = assignments(opened)
            asked = [
                item_questions(connection, task_kinds()["answer"], row.item_id, session.scope) for row in rows
            ]
            (kept,) = [
                row for row, names in zip(rows, asked, strict=True) if names[0][0].name == "answer.keep"
            ]
            case = load_case(connection, session.scope, kept.item_id)
            assert (case.verdict is not None) is (condition == "revealed")
        with Workspace.open(path) as opened:
            (shown,) = queue_rows(opened, session.scope, [kept.item_id])
            assert shown.agent_label == (1.0 if condition == "revealed" else None)
        assert sum(spec.name == "answer.keep" for names in asked for spec, *_ in names) == 1
        assert (SECRET in str(tables(path))) is (condition == "revealed")
        work(path)
        assert merge_packet(workspace, path).left == 0
        with workspace.reading() as connection:
            seen = dashboard(connection, "rq2", None)
        assert (seen.raters[0].whole.done, seen.judgments["answer.keep"]) == (3, 1)


def test_a_packet_is_that_of_its_rater_and_sealed_whoever_asks(plain, workbench):
    study(plain)
    path = packet(plain)
    with Workspace.open(path) as opened, opened.reading() as connection:
        assert is_sealed(connection, None)
    listed = workbench("items", path, "--json").json()
    assert (listed["rater"], listed["total"]) == ("ana", 8)
    assert workbench("items", path, "--rater", "R1", "--json").json()["rater"] == "ana"
    other = workbench("items", path, "--rater", "ben")
    assert (other.code, other.says("packet of rq2 is that of ana")) == (2, True)
    item = listed["items"][0]["item"]
    assert workbench("judge", path, item, "match").code == 0
    assert merge_packet(plain, path).judgments == 1


def test_a_packet_is_no_place_for_imports_agents_studies_or_merges(plain, workbench, tmp_path):
    study(plain)
    path = packet(plain)
    (tmp_path / "more.jsonl").write_text('{"id": "x", "query": "q", "code": "c"}\n')
    script = tmp_path / "replies.jsonl"
    script.write_text("")
    copy = tmp_path / "copy.duckdb"
    shutil.copy(path, copy)
    before = tables(path)
    for arguments in (
        ("import", path, tmp_path / "more.jsonl"),
        ("annotate", path, "--model", f"scripted:{script}", "--no-repairs"),
        ("study", "new", path, "rq3", "--raters", "ana,ben"),
        ("study", "freeze", path, "rq2"),
        ("study", "withdraw", path, "rq2", "ben"),
        ("study", "close", path, "rq2"),
        ("packet", "make", path, "rq2", "ana", tmp_path / "again.duckdb"),
        ("packet", "merge", path, copy),
        ("merge", path, copy),
    ):
        done = workbench(*arguments)
        assert done.code in {1, 2}, arguments
        assert done.says("packet") or done.says("Sealed"), (arguments, done.err)
    left = tables(path)
    assert {name: rows for name, rows in left.items() if name not in {"question", "guideline"}} == {
        name: rows for name, rows in before.items() if name not in {"question", "guideline"}
    }


# -- what is merged -----------------------------------------------------------------------------------


def test_merged_twice_adds_nothing_and_partial_work_can_be_merged_as_it_goes_on(plain):
    study(plain, repeats=2)
    path = packet(plain)
    work(path, most=4)
    first = merge_packet(plain, path, dry_run=True)
    assert (first.judgments, judgments(plain)) == (4, [])
    first = merge_packet(plain, path)
    assert (first.judgments, first.known, first.left) == (4, 0, 6)
    after = state(plain)
    again = merge_packet(plain, path)
    assert (again.adds, again.known) == (False, 4)
    after[0].pop("packet")
    rows, journal = state(plain)
    rows.pop("packet")
    assert (rows, journal) == after
    work(path)
    last = [merge_packet(plain, path) for _ in range(2)]
    assert [(one.judgments, one.known, one.left) for one in last] == [(6, 4, 0), (0, 10, 0)]
    assert len(judgments(plain)) == 10


def test_of_labels_given_in_the_packet_and_in_the_workspace_both_stay_and_are_named(plain):
    study(plain)
    path = packet(plain)
    row = assignments(plain)[0]
    Desk(plain, "ana").judge(row.item_id, 0.0, assignment_id=row.id, phase=row.phase)
    work(path, most=1)
    report = merge_packet(plain, path)
    assert report.also_judged == (f"pair/{row.item_id}",)
    with plain.reading() as connection:
        scope = study_session(connection, find_rater(connection, "ana")).scope
        assert item_access(connection, scope, row.item_id).assignment_id == row.id
    found = judgments(plain, assignment_id=row.id)
    assert len(found) == 2
    assert merge_packet(plain, path).also_judged == report.also_judged


def test_what_was_decided_later_counts_in_packet_and_workspace(plain, workbench):
    study(plain)
    path = packet(plain)
    first, second, third = assignments(plain)[:3]
    desk = Desk(plain, "ana")
    for row in (first, third):
        desk.judge(row.item_id, 1.0, assignment_id=row.id, phase=row.phase)
    desk.say(second.item_id, "cannot_decide", assignment_id=second.id, phase=second.phase)
    refused = workbench("judge", path, "1", "match", "--skip", "--json")
    assert (refused.code, refused.json()["error"]["title"]) == (2, "One of them")
    for place, option in ((1, "--cannot-decide"), (3, "--skip")):
        done = workbench("judge", path, place, option, "--comment", "no query", "--json").json()
        assert (done["kind"], done["comment"]) == (option[2:].replace("-", "_"), "no query")
    assert workbench("judge", path, 2, "match").code == 0
    names = tuple(sorted(f"pair/{row.item_id}" for row in (first, second, third)))
    assert merge_packet(plain, path).also_judged == names
    with plain.reading() as connection:
        scope = study_session(connection, find_rater(connection, "ana")).scope
        own = [load_own(connection, scope, row.item_id) for row in (first, second, third)]
    # A label that is put off stays, as in a workspace.
    assert [len(one.labels) for one in own] == [0, 1, 1]
    assert [one.cannot_decide for one in own] == ["no query", None, None]
    after = state(plain)[0]
    assert not merge_packet(plain, path).adds
    again = state(plain)[0]
    assert [again[name] for name in ("judgment", "mark")] == [after[name] for name in ("judgment", "mark")]
    records = journal_ids(plain)
    assert {one.id for one in (*judgments(plain), *marks(plain))} == set(records)


def test_of_several_packets_those_that_are_as_they_were_made_are_merged(plain, workbench):
    study(plain)
    good, bad = packet(plain), packet(plain, "ben")
    work(good)
    work(bad, "ben")
    change(bad, "UPDATE code SET text = text || ' '")
    plain.close()
    done = workbench("packet", "merge", plain.path, bad, good, "--json")
    assert done.code == 2
    told = done.json()
    assert [(one["rater"], one["judgments"]) for one in told["packets"]] == [("ana", 8)]
    assert "other items" in told["refused"][str(bad)]
    done = workbench("packet", "merge", plain.path, bad, good)
    assert done.code == 2
    assert "ana: nothing new; 8 known" in done.out
    assert "Changed packet" in done.err
    with Workspace.open(plain.path) as opened:
        assert len(judgments(opened)) == 8


FORGED_ID = "01a00000-0000-7000-8000-000000000001"
RECORD = (
    f"INSERT INTO judgment BY NAME SELECT * REPLACE ('{FORGED_ID}'::UUID AS id, "
    "'01a00000-0000-7000-8000-000000000002'::UUID AS action, {}) FROM judgment LIMIT 1"
)
CHANGES = {
    "a code": ("UPDATE code SET text = text || ' ' WHERE id = 1", "other items"),
    "a query": ("UPDATE query SET text = 'another' WHERE id = 1", "other items"),
    "another item": ("UPDATE pair SET code_id = 1", "other items"),
    "a condition": ("UPDATE assignment SET mode = 'revealed'", "other assignments"),
    "a place": ("UPDATE assignment SET position = 100 - position", "other assignments"),
    "a phase": ("UPDATE assignment SET phase = 'train' WHERE position = 1", "other assignments"),
    "a verdict": ("UPDATE verdict SET value = 1 - value", "agents' work"),
    "a test": ("UPDATE execution SET stdout = 'all passed'", "agents' work"),
    "the guideline": ("UPDATE guideline SET text = 'Say match.' WHERE id = 1", "other guideline"),
    "the protocol": ('UPDATE study SET protocol = \'{"kind": "pair"}\'', "other study"),
    "the end of the study": ("UPDATE study SET closed_at = now()", "other study"),
    "the rater": ("UPDATE rater SET name = 'ben' WHERE id = 1", "other study"),
    "the manifest": (
        "UPDATE workspace_fact SET value = replace(value, '\"ana\"', '\"ben\"') WHERE name = 'packet'",
        "other manifest",
    ),
    "another packet's id": (
        'UPDATE workspace_fact SET value = regexp_replace(value, \'"id": "[0-9a-f]{4}\', \'"id": "0000\') '
        "WHERE name = 'packet'",
        "was not made of",
    ),
    "no packet": ("DELETE FROM workspace_fact WHERE name = 'packet'", "no packet"),
    "no manifest": ("UPDATE workspace_fact SET value = '[1]' WHERE name = 'packet'", "no packet"),
    "an older version": (
        f"DELETE FROM schema_version WHERE version = {migrations()[-1][0]}",
        "older version",
    ),
    "a newer version": ("INSERT INTO schema_version VALUES (9000, 'x', now())", "newer version"),
    "another label under its id": ("UPDATE judgment SET value = 1 - value", "came before with other content"),
}
FORGED = {
    "another rater's label": (RECORD.format("2 AS rater_id"), "is of another rater"),
    "a label outside the study": (RECORD.format("NULL AS assignment_id"), "no assignment of the packet"),
    "a label of another item": (RECORD.format("item_id + 1 AS item_id"), "no assignment of the packet"),
    "a label of another phase": (RECORD.format("'gold' AS phase"), "no assignment of the packet"),
    "a label off the scale": (RECORD.format("7 AS value"), "is off the scale"),
    "a label of the future": (RECORD.format("now() + INTERVAL 2 DAY AS created_at"), AHEAD),
    "a label of no time": (RECORD.format("'infinity' AS created_at"), "cannot be read"),
    "a label from before all time": (RECORD.format("'0044-03-15 (BC)' AS created_at"), "cannot be read"),
    "the action of nobody knows when": (
        RECORD.format(f"'{lowest_at(250_000_000_000_000)}'::UUID AS restores"),
        AHEAD,
    ),
    "a label that was accepted": (RECORD.format("'accept' AS origin"), "of what its condition hides"),
    "a label that was not blind": (RECORD.format("false AS blind"), "of what its condition hides"),
    "a time below zero": (RECORD.format("-1 AS elapsed_ms"), "a number below zero in elapsed_ms"),
    "no number": (RECORD.format("'nan' AS value"), "has no number in value"),
    "a long name": (RECORD.format("repeat('x', 300) AS shown_as"), "300 characters in shown_as"),
    "a long comment": (RECORD.format("repeat('x', 16777217) AS comment"), "16,777,217 characters in comment"),
    "evidence that nests": (RECORD.format("repeat('[', 100000) AS evidence"), "no evidence"),
    "a citation without end": (
        RECORD.format(
            '\'[{"part": "code", "sha256": "\' || repeat(\'0\', 64) || \'", "first": 1, '
            '"last": 1000000000000, "text": ""}]\' AS evidence'
        ),
        "at most 10,000,000 lines",
    ),
    "an answer about a response": (RECORD.format("1 AS response_ref_id"), "what is asked of the item"),
    "a reason that moves the cursor": (
        RECORD.format("chr(27) || '[2J' AS reason"),
        "in reason that cannot be seen",
    ),
    "an unknown guideline": (RECORD.format("7 AS guideline_id"), "names a guideline"),
    "an answer to no question": (RECORD.format("99 AS question_id"), "no question"),
    "a ruling": (RECORD.format("'ruling' AS origin"), "of the origin 'ruling'"),
    "an id of no time": (
        RECORD.replace("'01a00000-0000-7000-8000-000000000002'::UUID", "uuid()").replace(", {}", ""),
        "UUID of version 7",
    ),
    "an unknown verdict": (RECORD.format("uuid() AS shown_verdict"), "of what its condition hides"),
    "no evidence": (RECORD.format("'{' AS evidence"), "no evidence"),
}


def test_what_is_not_as_it_was_made_is_refused_and_nothing_changes(pairs, tmp_path):
    study(pairs, conditions=CONDITIONS, repeats=2)
    path = packet(pairs)
    work(path, most=6)
    merge_packet(pairs, path)
    work(path)
    before = state(pairs)
    changed = tmp_path / "changed.duckdb"
    for what, (statement, why) in CHANGES.items():
        shutil.copy(path, changed)
        change(changed, statement)
        with pytest.raises(WorkspaceError) as refused:
            merge_packet(pairs, changed)
        assert why in f"{refused.value.title} {refused.value.message}", what
        assert isinstance(refused.value, WorkspaceTooNew) is (what == "a newer version")
    whole = path.read_bytes()
    for length in (0, 100, 4096 * 3, len(whole) // 2):
        changed.write_bytes(whole[:length])
        with pytest.raises(WorkspaceError):
            merge_packet(pairs, changed)
    for wrong in (pairs.path, tmp_path / "none.duckdb", tmp_path):
        with pytest.raises(WorkspaceError):
            merge_packet(pairs, wrong)
    assert state(pairs) == before
    assert merge_packet(pairs, path).left == 0


def test_a_record_that_cannot_be_the_raters_is_left_out_and_all_others_come(plain, tmp_path):
    study(plain)
    path = packet(plain)
    work(path)
    changed = tmp_path / "changed.duckdb"
    for what, (statement, why) in FORGED.items():
        shutil.copy(path, changed)
        change(changed, statement)
        report = merge_packet(plain, changed, dry_run=True)
        assert report.judgments == 8, what
        assert [*report.left_out] == [FORGED_ID], what
        assert why in report.left_out[FORGED_ID], what


def test_what_was_not_merged_before_the_reveal_was_made_is_not_taken_any_more(pairs, workbench):
    study(pairs, reveal="revealed+tests", items=4)
    first = packet(pairs)
    work(first)
    merge_packet(pairs, first)
    second = packet(pairs, name="b.duckdb")
    before = state(pairs)[0]
    with Workspace.open(first) as opened:
        row = assignments(opened)[0]
        desk = Desk(opened, "ana")
        # Whatever time it claims: the clock of the rater's machine is the rater's.
        late = [desk.judge(row.item_id, 1.0, assignment_id=row.id, phase=row.phase, blind=True)]
        late.append(desk.say(row.item_id, "comment", assignment_id=row.id, phase=row.phase))
    report = merge_packet(pairs, first)
    assert (report.adds, report.known) == (False, 4)
    ids = {str(record.id) for action in late for record in action.records}
    assert report.left_out == dict.fromkeys(sorted(ids), LATE)
    after = state(pairs)[0]
    assert [after[name] for name in ("judgment", "mark")] == [before[name] for name in ("judgment", "mark")]
    work(second)
    assert merge_packet(pairs, second).judgments == 4
    pairs.close()
    done = workbench("packet", "merge", pairs.path, first)
    assert f"Left out, {LATE}: " in done.out.replace("\n", " ")
    assert "2 records left out; they stay in the packet" in done.out.replace("\n", " ")


def test_what_is_of_the_future_is_left_out_and_takes_with_it_what_rests_on_it(plain, workbench):
    study(plain)
    path = packet(plain)
    work(path, most=4)
    with Workspace.open(path) as opened:
        row, other = assignments(opened)[:2]
        desk = Desk(opened, "ana")
        under = {"assignment_id": row.id, "phase": row.phase, "blind": True}
        forged = desk.judge(row.item_id, 1.0, **under).records[0].id
        sitting = Sitting(row.study_id, row.sitting)
        follows = [getattr(desk.recorder, again)(sitting=sitting).result(60) for again in ("undo", "redo")]
        follows.append(desk.judge(row.item_id, 0.0, **under))
        of_time = desk.judge(other.item_id, 0.0, **under | {"assignment_id": other.id}).records[0].id
    gone = {str(record.id) for action in follows for record in action.records}
    far = str(lowest_at(253_000_000_000_000))
    change(
        path,
        f"UPDATE judgment SET id = '{far}' WHERE id = '{forged}'",
        f"UPDATE judgment SET created_at = '9999-12-31' WHERE id = '{of_time}'",
    )
    report = merge_packet(plain, path)
    assert (report.judgments, report.left) == (4, 4)
    assert report.left_out.pop(far) == AHEAD
    assert report.left_out.pop(str(of_time)) == AHEAD
    assert report.left_out == dict.fromkeys(sorted(gone), "rests on a record that is left out")
    # What is recorded here from now on has an id of now, and can be recovered.
    Desk(plain, "eva").judge(1)
    newest = max(record.id for record in judgments(plain))
    assert newest < lowest_at(int((now().timestamp() + 60) * 1000))
    plain.close()
    assert workbench("study", "status", plain.path, "rq2").code == 0
    journal = journal_path(plain.path)
    folder = plain.path.parent / "again"
    folder.mkdir()
    with judged_workspace(folder, 10) as again:
        found = recover(again, journal)
    assert (found.added, found.rejected) == (5, ())


def test_a_rater_restores_a_lost_packet_from_its_journal(plain, workbench):
    frozen = study(plain, consent=AGREED)
    path = packet(plain)
    made = path.read_bytes()
    with Workspace.open(path) as opened:
        agree(opened, frozen, Desk(opened, "ana").rater, "8 years")
    work(path, most=3)
    journal, before = journal_path(path), tables(path)
    foreign = json.loads(journal.read_text().splitlines()[-1]) | {"rater": "ben"}
    path.write_bytes(made)
    done = workbench("recover", path, "--json").json()
    assert (done["added"], done["rejected"]) == (4, [])
    after = tables(path)
    assert [after[name] for name in ("judgment", "study_rater")] == [
        before[name] for name in ("judgment", "study_rater")
    ]
    with journal.open("a") as file:
        file.write(json.dumps(foreign) + "\n")
    done = workbench("recover", path, "--json").json()
    assert (done["added"], done["known"]) == (0, 4)
    assert [reason for _, reason in done["rejected"]] == ["this packet is that of ana alone"]
    report = merge_packet(plain, path)
    assert (report.judgments, report.consent) == (3, True)


def test_a_rater_withdraws_in_a_packet(plain, workbench):
    study(plain)
    path = packet(plain)
    work(path, most=3)
    done = workbench("study", "withdraw", path, "rq2", "ana")
    assert done.code == 0, done.err
    assert "ana has withdrawn from rq2" in done.out
    for refused in (
        ("judge", path, 4, "match"),
        ("items", path),
        ("export", path, "x.jsonl", "--format", "jsonl"),
    ):
        told = workbench(*refused)
        assert told.code == 2, refused
        assert told.says("ana has withdrawn from rq2") or told.says("Sealed session"), told.err
    report = merge_packet(plain, path)
    assert (report.judgments, report.consent) == (3, True)
    with plain.reading() as connection:
        assert find_study(connection, "rq2").member("ana").withdrawn_at is not None
    assert not merge_packet(plain, path).adds
    with pytest.raises(WorkspaceError, match="withdrew"):
        packet(plain, name="more.duckdb")


def test_a_revision_in_a_packet_is_left_out(tmp_path):
    with three_kinds(tmp_path) as workspace:
        study(workspace, kind="answer", first=4, items=3)
        path = packet(workspace)
        work(path)
        with Workspace.open(path) as opened:
            row = assignments(opened)[0]
            forged = Desk(opened, "ana").mark(
                row.item_id, "revision.question", text="Say ten.", assignment_id=row.id, phase=row.phase
            )
            Desk(opened, "ana").submit(forged)
        report = merge_packet(workspace, path)
        assert report.marks == 0
        assert [*report.left_out.values()] == ["revises a text, which nobody does in a packet"]
        assert marks(workspace) == []


def test_a_packet_with_conditions_in_words_is_merged_once_it_was_opened(pairs):
    study(pairs, conditions=("blind+tests", "revealed+hidden-models", "own-test"))
    path = packet(pairs)
    work(path)
    assert with_words(path) == ["blind tests", "own-test", "revealed hidden-models"]
    with pytest.raises(WorkspaceError, match="older version"):
        merge_packet(pairs, path)
    Workspace.open(path).close()
    report = merge_packet(pairs, path)
    assert (report.judgments > 0, report.left_out, report.left) == (True, {}, 0)


def test_a_packet_of_another_workspace_is_refused(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with judged_workspace(tmp_path / "one", 8) as one, judged_workspace(tmp_path / "two", 8) as two:
        study(one)
        study(two)
        path = packet(one)
        work(path)
        packet(two)
        with pytest.raises(WorkspaceError, match="not made of"):
            merge_packet(two, path)


# -- which packet is made -----------------------------------------------------------------------------


def test_the_reveal_comes_in_a_second_packet_once_the_first_is_merged_and_decided(pairs):
    study(pairs, reveal="revealed+tests", items=4)
    first = packet(pairs)
    refused = pytest.raises(WorkspaceError)
    with refused as unmerged:
        packet(pairs, name="b.duckdb")
    assert "not merged" in unmerged.value.message
    work(first, most=3)
    merge_packet(pairs, first)
    with pytest.raises(WorkspaceError, match="1 item is not decided") as undecided:
        packet(pairs, name="b.duckdb")
    assert "reveal" in undecided.value.message
    work(first)
    merge_packet(pairs, first)
    second = packet(pairs, name="b.duckdb")
    rows = tables(second)
    assert {row[4:5] + row[6:8] for row in rows["assignment"]} == {("reveal", "revealed", True)}
    assert rows["verdict"]
    assert not rows["judgment"]
    work(second)
    report = merge_packet(pairs, second)
    assert (report.reveal, report.judgments, report.left) == (True, 4, 0)
    assert Counter(record.phase for record in judgments(pairs)) == {"label": 4, "reveal": 4}
    with pytest.raises(WorkspaceError, match="has decided all"):
        packet(pairs, name="c.duckdb")


def test_a_lost_packet_is_made_again_with_what_is_left(plain):
    study(plain, repeats=2)
    first = packet(plain)
    work(first, most=7)
    merge_packet(plain, first)
    second = packet(plain, name="b.duckdb", again=True)
    assert len(tables(second)["item"]) == 3
    work(second)
    assert merge_packet(plain, second).left == 0
    # The first one was not lost after all: what it has more is kept beside it.
    work(first)
    assert len(merge_packet(plain, first).also_judged) == 3


def test_no_packet_of_what_is_not_open(plain, tmp_path):
    new_study(plain, "rq2", StudyProtocol("pair"), [ChosenItem(1)], RATERS)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(WorkbenchError, match="draft"):
        packet(plain)
    freeze_study(plain, "rq2")
    with pytest.raises(WorkbenchError, match="no rater of rq2"):
        packet(plain, "eli")
    withdraw(plain, "rq2", "ben")
    with pytest.raises(WorkbenchError, match="withdrew"):
        packet(plain, "ben")
    with pytest.raises(WorkbenchError, match="exists"):
        packet(plain, name=plain.path.name)
    with pytest.raises(WorkbenchError, match="not a folder"):
        make_packet(plain, "rq2", "ana", tmp_path / "none" / "p.duckdb")
    close_study(plain, "rq2")
    with pytest.raises(WorkbenchError, match="closed"):
        packet(plain)
    # The withdrawal is in the journal, and there is nothing else.
    assert {path for path in tmp_path.iterdir() if path not in before} == {journal_path(plain.path)}


# -- on the command line ------------------------------------------------------------------------------


def test_packets_by_command(plain, workbench, in_folder):
    study(plain, repeats=2)
    plain.close()
    workspace = plain.path
    made = workbench("packet", "make", workspace, "rq2", "R2", "ben.duckdb", "--json").json()
    assert (made["rater"], made["items"], made["reveal"]) == ("ben", 10, False)
    said = workbench("packet", "make", workspace, "rq2", "ana", "ana.duckdb").out
    assert "10 items of rq2 for ana" in said
    assert "workbench packet merge" in said
    work(in_folder / "ana.duckdb", most=9)
    dry = workbench("packet", "merge", workspace, "ana.duckdb", "ben.duckdb", "--dry-run").out
    assert "ana: 9 judgments would be added" in dry
    assert "ben: nothing new" in dry
    assert "nothing was merged" in dry
    done = workbench("packet", "merge", workspace, "ana.duckdb", "--json").json()["packets"]
    assert (done[0]["judgments"], done[0]["left"]) == (9, 1)
    assert "9 known" in workbench("packet", "merge", workspace, "ana.duckdb").out
    refused = workbench("packet", "make", workspace, "rq2", "ana", "c.duckdb", "--json")
    assert (refused.code, "not decided" in refused.json()["error"]["message"]) == (2, True)
    assert workbench("packet", "merge", workspace, workspace).code == 2
    # A rater of the study makes no packets of it, and merges none.
    for command in (("make", workspace, "rq2", "chi", "chi.duckdb"), ("merge", workspace, "ana.duckdb")):
        sealed = workbench("--rater", "ana", "packet", *command)
        assert (sealed.code, sealed.says("Sealed session")) == (2, True)
