"""How an ending and the harness's records are read, also when the records were tampered with."""

import json
from datetime import UTC, datetime

import pytest

from agents.sandbox.output_capture import ProcessResult
from agents.sandbox.protocol import Limits
from agents.sandbox.reports import make_report
from store.cuts import Cut

BEGIN = {"event": "begin", "python": "cpython 3.11.7", "platform": "linux-x86_64"}
START = {"event": "start", "name": "test_a"}
PASSED = {
    "event": "outcome",
    "name": "test_a",
    "outcome": "passed",
    "message": "",
    "trace": "",
    "seconds": 0.1,
    "category": "",
}
END = {"event": "end"}


def report(
    *records, raw=b"", code=0, stopped="", stdout=b"", stderr=b"", dropped=0, seconds=0.1, image="", cut=None
):
    channel = b"".join(json.dumps(record).encode() + b"\n" for record in records) + raw
    now = datetime.now(UTC)
    ending = ProcessResult(code, stopped, stdout, stderr, channel, dropped, seconds, now, stdout_cut=cut)
    return make_report(ending, sandbox="bubblewrap", limits=Limits(), image=image)


def test_whole_records_are_ok():
    read = report(BEGIN, START, PASSED, END)

    assert (read.exit_reason, read.error, read.passed) == ("ok", "", 1)


def test_no_record_at_all_is_the_sandboxs_failure():
    read = report(code=1, stderr=b"warning\nbwrap: No permissions to create a new namespace\n")

    assert read.exit_reason == "infrastructure"
    assert read.error == "bwrap: No permissions to create a new namespace"
    assert read.environment == ""
    assert not read.executable


def test_a_sandbox_that_never_began_in_time_is_the_sandboxs_failure():
    assert report(code=-9, stopped="timeout").exit_reason == "infrastructure"


def test_records_without_the_last_one_are_no_success():
    read = report(BEGIN, START, PASSED)

    assert read.exit_reason == "error"
    assert read.error.startswith("EndedEarly: ")


def test_a_program_that_was_done_when_the_clock_stopped_it_is_done():
    assert report(BEGIN, START, PASSED, END, code=-9, stopped="timeout").exit_reason == "ok"


@pytest.mark.parametrize(
    "raw",
    [
        b"garbage\n",
        b"{}\n",
        b"[]\n",
        b"null\n",
        b'{"event": "unheard"}\n',
        b'{"event": "start"}\n',
        b'{"event": "start", "name": 1}\n',
        json.dumps(PASSED | {"name": "test_z"}).encode() + b"\n",
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
    ],
)
def test_a_record_of_another_form_is_named(raw):
    read = report(BEGIN, START, PASSED, raw=raw + json.dumps(END).encode() + b"\n")

    assert (read.exit_reason, read.executable) == ("error", False)
    assert read.error.startswith("DamagedReport: ")
    assert read.passed == 1


@pytest.mark.parametrize(
    "change",
    [{"outcome": "great"}, {"seconds": "soon"}, {"seconds": None}, {"message": ["x"]}, {"name": "test_b"}],
)
def test_an_outcome_of_another_form_is_no_outcome(change):
    read = report(BEGIN, START, PASSED | change, END)

    assert read.error.startswith("DamagedReport: ")
    assert [test.outcome for test in read.outcomes] == ["error"]


def test_a_record_after_the_last_is_damage():
    assert report(BEGIN, START, PASSED, END, START).error.startswith("DamagedReport: ")


def test_a_record_cut_short_by_a_kill_is_no_damage():
    read = report(BEGIN, START, raw=b'{"event": "outc', code=137, seconds=1.0)

    assert (read.exit_reason, read.error) == ("killed", "Killed: ended by SIGKILL")
    assert read.outcomes[0].message == "Killed: ended by SIGKILL"


@pytest.mark.parametrize(("code", "status"), [(-11, 139), (139, 139), (1, 1), (0, 0), (None, None)])
def test_signals_have_one_exit_code_in_every_sandbox(code, status):
    assert report(BEGIN, START, code=code).exit_code == status


@pytest.mark.parametrize(
    ("categories", "reason"),
    [
        (["", "memory", "environment"], "memory"),
        (["disk", "processes"], "processes"),
        (["environment", "disk"], "disk"),
        (["", "environment"], "error"),
    ],
)
def test_the_scarcest_resource_names_the_reason(categories, reason):
    records = [BEGIN]
    for number, category in enumerate(categories):
        name = f"test_{number}"
        records += [START | {"name": name}]
        records += [
            PASSED
            | {"name": name, "outcome": "error", "category": category, "message": f"{category} is missing"}
        ]
    read = report(*records, END, code=1)

    assert read.exit_reason == reason
    assert read.error == f"{'environment' if reason == 'error' else reason} is missing"


def test_packages_and_images_are_parts_of_the_environment():
    packages = {"event": "packages", "names": "numpy==2.1.0\nrequests==2.32"}
    read = report(BEGIN, packages, START, PASSED, END)

    assert read.packages == ("numpy==2.1.0", "requests==2.32")
    assert (
        len({read.environment, report(BEGIN, END).environment, report(BEGIN, END, image="i").environment})
        == 3
    )
    assert (report(BEGIN, END, image="i").image, report(image="i").image) == ("i", "")


@pytest.mark.parametrize(
    ("head", "tail", "text", "at", "missing"),
    [
        (b"ab", b"yz", "abyz", 2, 100),
        ("a€".encode()[:-1], b"z", "az", 1, 102),
        (b"a", "€z".encode()[1:], "az", 1, 102),
        ("a€".encode(), "€z".encode(), "a€€z", 2, 100),
        (b"a\xff", b"\x80z", "az", 1, 102),
        (b"", b"\x80\x80\x80\x80\x80", "\\x80" * 5, 0, 100),
    ],
)
def test_a_cut_goes_round_characters(head, tail, text, at, missing):
    read = report(BEGIN, END, stdout=head + tail, cut=Cut(len(head), 100, 7))

    assert read.stdout == text
    assert read.stdout_cut == Cut(at, missing, 7)
    assert read.output_dropped == missing


def test_equal_environments_have_equal_digests_and_others_have_others():
    other = report(BEGIN | {"python": "cpython 3.12.1"}, END)

    assert report(BEGIN, END).environment == report(BEGIN, START, PASSED, END).environment
    assert report(BEGIN, END).environment != other.environment


@pytest.mark.parametrize(
    "record",
    [
        START | {"further": ""},
        {"event": "start", "na\x1bme": "test_b"},
        {"event": "absent"},
        {"event": "exit", "code": "0"},
        {"event": "exit", "code": True},
        PASSED | {"seconds": 1},
        {"event": "finished"},
    ],
)
def test_a_record_with_other_fields_or_types_is_damage(record):
    assert report(BEGIN, START, record, END).error.startswith("DamagedReport: ")


def test_what_a_terminal_would_obey_is_made_visible():
    failed = PASSED | {"outcome": "failed", "message": "\x1b[2Jgone\u202e", "trace": "a\n\tb\x07"}
    (test,) = report(BEGIN, START, failed, END).outcomes
    assert test.message == "\\x1b[2Jgone\\u202e"
    assert test.trace == "a\n\tb\\x07"
