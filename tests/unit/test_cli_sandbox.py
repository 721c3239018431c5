"""sandbox: what works here and why not, the image, one program and its report."""

import re

import pytest

ADD = "def add(a, b):\n    return a + b\n"
TEST = "from candidate import add\ndef test_sum():\n    print('seen')\n    assert add(1, 2) == 3\n"
WRONG = "from candidate import add\ndef test_sum():\n    assert add(1, 2) == 4\n"


@pytest.fixture
def programs(in_folder):
    (in_folder / "candidate.py").write_text(ADD, encoding="utf-8")
    (in_folder / "good.py").write_text(TEST, encoding="utf-8")
    (in_folder / "wrong.py").write_text(WRONG, encoding="utf-8")
    return in_folder


@pytest.fixture
def with_docker(docker_settings, monkeypatch):
    monkeypatch.setenv("WORKBENCH_SANDBOX__DOCKER_HOST", docker_settings.docker_host)
    monkeypatch.setenv("WORKBENCH_SANDBOX__IMAGE", docker_settings.image)


@pytest.fixture
def nothing_isolates(monkeypatch):
    monkeypatch.setenv("WORKBENCH_SANDBOX__DOCKER_HOST", "unix:///nowhere/d.sock")
    monkeypatch.setenv("WORKBENCH_SANDBOX__BWRAP", "a-program-that-nobody-has")


def test_check_tells_what_works(workbench, in_folder, with_docker):
    done = workbench("sandbox", "check", "--json")
    facts = done.json()

    assert done.code == 0
    assert {box["name"] for box in facts["sandboxes"]} >= {"bubblewrap", "docker", "process"}
    assert {"bubblewrap", "docker"} <= set(facts["isolating"])
    assert "process" not in facts["isolating"]


def test_check_tells_why_nothing_works(workbench, in_folder, nothing_isolates):
    plain, done = workbench("sandbox", "check"), workbench("sandbox", "check", "--json")
    found = {box["name"]: box for box in done.json()["sandboxes"]}

    assert (plain.code, done.code) == (1, 1)
    assert done.json()["isolating"] == []
    assert found["process"]["works"]
    assert "apt-get install bubblewrap" in found["bubblewrap"]["hint"]
    assert "DOCKER_HOST" in found["docker"]["hint"]
    assert "✗ does not work" in plain.out


@pytest.mark.parametrize("sandbox", ["bubblewrap", "docker", "process"])
def test_run_prints_the_report(workbench, programs, with_docker, sandbox):
    done = workbench(
        "sandbox", "run", "good.py", "--candidate", "candidate.py", "--sandbox", sandbox, "--json"
    )
    report = done.json()

    assert done.code == 0, report
    assert (report["exit_reason"], report["executable"], report["sandbox"]) == ("ok", True, sandbox)
    assert [(one["name"], one["outcome"]) for one in report["tests"]] == [("test_sum", "passed")]
    assert [(one["discriminates"], one["flaky"]) for one in report["tests"]] == [(True, False)]
    assert (report["not_discriminating"], report["flaky"]) == (0, 0)
    assert report["stdout"] == "seen\nPASS test_sum\n"
    assert report["environment"]
    assert report["image"].startswith("sha256:" if sandbox == "docker" else "")
    assert (report["packages"], report["trace"], report["stdout_cut"]) == ([], "", None)


def test_run_tells_a_failure_with_its_place_and_its_own_exit_code(workbench, programs):
    done = workbench("sandbox", "run", "wrong.py", "--candidate", "candidate.py")

    assert done.code == 1
    assert "assertion" in done.out
    assert "AssertionError: assert add(1, 2) == 4" in done.out
    assert 'File "test_candidate.py", line 3' in done.out


def test_run_says_which_tests_say_nothing_unless_that_is_switched_off(workbench, programs, monkeypatch):
    (programs / "idle.py").write_text("def test_idle():\n    pass\n", encoding="utf-8")
    arguments = ("sandbox", "run", "idle.py", "--candidate", "candidate.py")

    told = workbench(*arguments).out
    assert "tests      1 of 1 passed · 1 does not discriminate" in told
    assert told.count("passes on a stub") == 1
    monkeypatch.setenv("WORKBENCH_SANDBOX__TRUST_CHECKS", "false")
    assert "passes on a stub" not in workbench(*arguments).out
    assert workbench(*arguments, "--json").json()["tests"][0]["discriminates"] is None


def test_where_no_candidate_is_given_no_stub_stands_for_it(workbench, programs):
    (programs / "alone.py").write_text("def test_alone():\n    assert 1 + 1 == 2\n", encoding="utf-8")
    (programs / "none.py").write_text("print('seen')\n", encoding="utf-8")
    done = workbench("sandbox", "run", "alone.py", "--json")

    assert [(one["discriminates"], one["flaky"]) for one in done.json()["tests"]] == [(None, False)]
    told = workbench("sandbox", "run", "alone.py").out
    assert re.search(r"^tests +1 of 1 passed *$", told, re.MULTILINE)
    assert "tests      none: " in workbench("sandbox", "run", "none.py").out


def test_without_a_sandbox_a_program_is_refused_with_the_hint(workbench, programs, nothing_isolates):
    done = workbench("sandbox", "run", "good.py", "--candidate", "candidate.py", "--json")

    assert done.code == 2
    assert done.json()["error"]["title"] == "Needs a sandbox"
    assert "workbench sandbox check" in done.json()["error"]["hint"]


def test_what_is_not_there_or_no_text_is_said(workbench, programs, nothing_isolates):
    (programs / "bytes.py").write_bytes(b"x = '\xff'\n")
    for arguments, says in [
        (("run", "none.py"), "none.py: No such file"),
        (("run", "good.py", "--candidate", "none.py"), "none.py: No such file"),
        (("run", "good.py", "--sandbox", "vault"), "No sandbox is called 'vault'"),
        (("run", "bytes.py"), "bytes.py: no UTF-8 (byte 6)"),
        (("run", "good.py", "--candidate", "bytes.py"), "bytes.py: no UTF-8 (byte 6)"),
        (("build",), "/nowhere"),
    ]:
        done = workbench("sandbox", *arguments)
        assert (done.code, done.out) == (2, ""), arguments
        assert done.says(says)


def test_build_makes_the_image_of_this_python_and_says_why(workbench, in_folder, with_docker, monkeypatch):
    monkeypatch.setenv("WORKBENCH_SANDBOX__IMAGE", "workbench-built:1")
    monkeypatch.setenv("WORKBENCH_SANDBOX__BASE_IMAGE", "registry.invalid/python:3")
    refused = workbench("sandbox", "build", "--from", "registry", "--json")
    done = workbench("sandbox", "build", "--json")
    again = workbench("sandbox", "build", "--from", "local", "--json")

    assert refused.code == 2
    assert "registry.invalid/python:3 could not be had" in refused.json()["error"]["message"]
    assert "--from local" in refused.json()["error"]["hint"]
    assert (done.code, again.code) == (0, 0), done.err
    assert (done.json()["image"], done.json()["from"]) == ("workbench-built:1", "local")
    assert "registry.invalid/python:3 could not be had" in done.json()["note"]
    assert again.json() == done.json() | {"note": ""}  # the same files make the same image
    assert again.json()["digest"].startswith("sha256:")
    (in_folder / "good.py").write_text(
        "import ssl, sqlite3, ctypes, decimal, os, unittest.mock\n"
        "def test_compiled():\n"
        "    for module in (decimal, unittest.mock):\n"
        "        assert os.path.exists(module.__cached__), module\n",
        encoding="utf-8",
    )
    assert workbench("sandbox", "run", "good.py", "--sandbox", "docker").code == 0


def test_build_puts_the_image_on_one_that_is_here(
    workbench, programs, with_docker, docker_settings, monkeypatch
):
    monkeypatch.setenv("WORKBENCH_SANDBOX__BASE_IMAGE", docker_settings.image)
    monkeypatch.setenv("WORKBENCH_SANDBOX__IMAGE", "workbench-on-another")
    monkeypatch.setenv("WORKBENCH_SANDBOX__TRUST_CHECKS", "false")
    done = workbench("sandbox", "build")
    built = workbench("sandbox", "build", "--from", "registry", "--json").json()
    run = workbench(
        "sandbox", "run", "good.py", "--candidate", "candidate.py", "--sandbox", "docker", "--json"
    )

    assert done.code == 0, done.err
    assert "the one that is here was taken" in done.out
    assert (built["from"], built["base"]) == ("registry", docker_settings.image)
    assert (run.code, run.json()["image"]) == (0, built["digest"])
