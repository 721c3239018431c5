"""What every test has: a configuration of its own, and the way to data that is not in the repository."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent

# Tests share modules (loopback_models) and run the package as it stands here, installed or not.
for _folder in (REPOSITORY / "tests", REPOSITORY):
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))


@pytest.fixture(autouse=True)
def _own_configuration(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the settings, the keys and the data folders of whoever runs the tests out of them."""
    home = tmp_path_factory.mktemp("home")
    # Caches are no settings: without the real one, pip would fetch everything anew.
    monkeypatch.setenv("XDG_CACHE_HOME", os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"))
    for name in list(os.environ):
        if name.startswith("WORKBENCH_") or name.endswith("_API_KEY") or name.endswith("_BASE_URL"):
            monkeypatch.delenv(name)
    for name, folder in {"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share"}.items():
        monkeypatch.setenv(name, str(home / folder))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def repository() -> Path:
    """The root of the repository."""
    return REPOSITORY


@pytest.fixture
def sample_folder() -> Path:
    """The sample data as it is in the repository."""
    return REPOSITORY / "sample_data"


@pytest.fixture
def shared_data() -> Callable[[str], Path]:
    """A function from the name of a real data set to its folder; without the folder the test is skipped."""

    def find(name: str) -> Path:
        folder = REPOSITORY.parent / "shared" / "data" / name
        if not folder.is_dir():
            pytest.skip(f"the real data {name} is not beside this repository")
        return folder

    return find


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
