"""What every test has: a configuration of its own, and the way to data that is not in the repository."""

import gc
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main
from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is.
settings.register_profile("workbench", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("workbench")

NO_DATA = "is not beside this repository"
REPOSITORY = Path(__file__).resolve().parent.parent

_GET_COMMAND = cache(typer.main.get_command)

# Who runs the tests under nohup, or behind a script, has these ignored, and so would all that tests start and stop.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)

# Tests share modules (loopback_models) and run the package as it stands here, installed or not.
for _folder in (REPOSITORY / "tests", REPOSITORY):
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))

import made_once  # noqa: E402, F401 - found by the lines above, and at work from here on
import settling  # noqa: E402 - so is this

# Modules of assertions say what they compared, as tests do.
pytest.register_assert_rewrite("engine", "hostile", "judging", "review_bench", "small_workspace")


@pytest.fixture(autouse=True, scope="module")
def _what_stays_is_collected_once() -> None:
    """Leave what outlives a file of tests out of garbage collection: it was a fifth of the time of all tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let no test be skipped in continuous integration, where everything is installed, but for missing data."""
    report = yield
    if report.skipped and os.environ.get("CI") and NO_DATA not in str(report.longrepr):
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be: {report.longrepr}"
    return report


FULL = {
    "engine": "need Docker or podman",
    "crash": "kill the program over and over",
    "full": "take data of full size, or compare every command",
}
"""What only a run of all tests holds: by the marker, why."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `tests/run` choose which tests are run."""
    parser.addoption("--tier", choices=("quick", "all"), default="all", help="which tests are run")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out of the quick tier what is slow by nature."""
    for item in items:
        if _needs_engine(item):
            item.add_marker("engine")
    if config.getoption("tier") == "quick":
        left_out = [item for item in items if any(map(item.get_closest_marker, FULL))]
        items[:] = [item for item in items if item not in set(left_out)]
        config.hook.pytest_deselected(items=left_out)
        counts = Counter(name for item in left_out for name in FULL if item.get_closest_marker(name))
        output = getattr(config, "workeroutput", None)
        config.stash[_LEFT_OUT] = dict(counts)
        if output is not None:
            output["left_out"] = dict(counts)


def _needs_engine(item: pytest.Item) -> bool:
    # Tests of several sandboxes take the engine for some of their cases.
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return "docker_settings" in getattr(item, "fixturenames", ()) or not {"docker", "podman"}.isdisjoint(
        value for value in values if isinstance(value, str)
    )


_LEFT_OUT = pytest.StashKey[dict[str, int]]()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over from a process of tests what it left out."""
    node.config.stash[_LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", {})


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what `tests/run` has run, what it leaves out, and which tests are unsteady."""
    line = terminalreporter.write_line
    if os.environ.get("TESTS_RUN_AGAIN"):
        for report in terminalreporter.stats.get("passed", ()):
            line(f"unsteady: {report.nodeid}")
        line("Mend the cause of an unsteady test before anything else: CONTRIBUTING.md says how.")
    for step in json.loads(os.environ.get("TESTS_RUN_STEPS", "[]")):
        line(step)
    if left_out := config.stash.get(_LEFT_OUT, {}):
        line(f"Not run: {sum(left_out.values())} tests. tests/run --all adds them:")
        for name, count in left_out.items():
            line(f"  {count} that {FULL[name]}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give files to one process that use a Docker Engine, which they count and may share, or that import torch."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    @cache
    def scope_of(file: str) -> str:
        text = (config.rootpath / file).read_text(encoding="utf-8")
        if "docker_settings" in text or "docker_sandbox" in text:
            return "engine"
        # The models are loaded once, and torch with them, which takes 4 seconds of a processor.
        return "models" if "tiny_models" in text or "minilm" in text else file

    class FilesTogether(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(super()._split_scope(nodeid))

    return FilesTogether(config, log)


@pytest.fixture(autouse=True)
def _own_configuration(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the settings, the keys and the data folders of whoever runs the tests out of them."""
    home = tmp_path_factory.mktemp("home")
    # Caches are no settings: without the real one, pip would fetch everything anew.
    monkeypatch.setenv("XDG_CACHE_HOME", os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"))
    for name in list(os.environ):
        if name.startswith("WORKBENCH_") or name.endswith(("_API_KEY", "_BASE_URL", "_TOKEN")):
            monkeypatch.delenv(name)
    for name, folder in {"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share"}.items():
        monkeypatch.setenv(name, str(home / folder))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture(autouse=True)
def _nothing_left_alone() -> Iterator[None]:
    """Let no test leave alone what an earlier one kept from ending."""
    yield
    settling.forget_gates()


@pytest.fixture(autouse=True)
def _keys_without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tests press keys as soon as an item is painted; those of the wait itself set it."""
    monkeypatch.setattr("screens.judging.paint_guard.SEEN_SECONDS", 0.0)


@pytest.fixture
def repository() -> Path:
    """The root of the repository."""
    return REPOSITORY


@pytest.fixture
def sample_folder() -> Path:
    """The sample data as it is in the repository."""
    return REPOSITORY / "sample_data"


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """A function from the name of a real data set to its folder; without the folder the test is skipped."""
    return lambda name: _shared("data", name)


@pytest.fixture(scope="session")
def shared_case() -> Callable[[str], Path]:
    """The same for the small inputs that once went wrong, by their number."""
    return lambda name: _shared("cases", name)


def _shared(sort: str, name: str) -> Path:
    folder = REPOSITORY.parent / "shared" / sort
    found = next(folder.glob(f"{name}-*" if sort == "cases" else name), None)
    if found is None:
        pytest.skip(f"the real data {name} {NO_DATA}")
    return found


@pytest.fixture(scope="session")
def docker_settings() -> Iterator[Any]:
    """Settings for a real Docker Engine that has the image for test programs."""
    from engine import IMAGE, engine

    from agents.sandbox.docker.image import build_image
    from agents.sandbox.settings import SandboxSettings

    with engine() as address:
        settings = SandboxSettings(docker_host=address, image=IMAGE)
        build_image(settings, "local")
        yield settings


@pytest.fixture(scope="session")
def docker_sandbox(docker_settings: Any) -> Any:
    """The Docker sandbox, on a real engine."""
    from agents.sandbox.docker.sandbox import DockerSandbox

    return DockerSandbox(docker_settings)


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@dataclass(frozen=True, slots=True)
class Done:
    """What a command did: its exit code, and what it printed."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """What it printed, read as JSON."""
        return json.loads(self.out)

    def says(self, words: str) -> bool:
        """Return whether words were printed on stderr, wherever a panel broke them into lines."""
        return _joined(words) in _joined(self.err)


def _joined(text: str) -> str:
    return "".join(text.translate(dict.fromkeys(map(ord, "│╭╮╰╯─"), " ")).split())


@pytest.fixture
def workbench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """The command line, run in this process: `workbench("items", path, "--json")`."""
    from workbench.cli import main

    # A process makes its commands of their functions once; so do hundreds of command lines in this one.
    monkeypatch.setattr(typer.main, "get_command", _GET_COMMAND)

    def run(*arguments: object) -> Done:
        capsys.readouterr()
        try:
            main([str(each) for each in arguments])
            code: Any = 0
        except SystemExit as end:
            code = end.code or 0
        printed = capsys.readouterr()
        return Done(code, printed.out, printed.err)

    return run


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Let torch compute in one thread: on a busy machine, two threads of a tiny model wait for each other."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def hold() -> Callable[[Path | str], AbstractContextManager[subprocess.Popen[bytes]]]:
    """Have another process hold a workspace: `with hold(path) as process:`."""

    @contextmanager
    def holding(path: Path | str) -> Iterator[subprocess.Popen[bytes]]:
        code = f"""if True:
            from store.workspace.duckdb import Workspace
            workspace = Workspace.open({str(path)!r})
            print("open", flush=True)
            input()
        """
        command = [sys.executable, "-c", code]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"open\n"
            try:
                yield process
            finally:
                process.communicate(b"\n")

    return holding
