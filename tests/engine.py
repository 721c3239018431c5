"""Real engines for the tests: the Docker Engine that DOCKER_HOST names, or engines of their own in a folder."""

import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

SECONDS = 60
# Of the users of a user namespace that has its own; nobody has these.
FIRST_USER = 2_000_000
IMAGE = "workbench-sandbox-of-the-tests"


def answers(address: str) -> bool:
    """Tell whether an engine listens there."""
    import docker

    try:
        client = docker.DockerClient(base_url=address, timeout=10)
    except (docker.errors.DockerException, OSError):
        return False
    try:
        return bool(client.ping())
    except (docker.errors.DockerException, OSError):
        return False
    finally:
        client.close()


@contextmanager
def engine_folder() -> Iterator[Path]:
    """Give an engine a new folder with a short path: podman takes at most 50 characters, sockets about 100."""
    folder = Path(tempfile.mkdtemp(prefix="engine-", dir="/tmp"))
    try:
        yield folder
    finally:
        subprocess.run(["rm", "-rf", "--one-file-system", str(folder)], check=False)


@contextmanager
def engine() -> Iterator[str]:
    """Give the address of a Docker Engine; one that was started for it ends with it.

    Without one, the tests that need it fail where `tests/setup` was to install it: as root, or in CI.
    """
    named = os.environ.get("DOCKER_HOST", "")
    if named and answers(named):
        yield named
        return
    with engine_folder() as folder, _docker_engine(folder) as address:
        yield address


@contextmanager
def _docker_engine(folder: Path) -> Iterator[str]:
    address = f"unix://{folder}/d.sock"
    own = [
        "--data-root",
        str(folder / "data"),
        "--exec-root",
        str(folder / "exec"),
        "-p",
        str(folder / "d.pid"),
    ]
    without = ["--iptables=false", "--ip6tables=false", "--bridge=none"]
    with service([program("dockerd"), "-H", address, *own, *without], address, folder):
        yield address


@contextmanager
def podman(rootless: bool = False) -> Iterator[str]:
    """Give the address of a podman service that ends with it.

    Args:
        rootless: Whether it has no rights outside a user namespace, and so none over cgroups.
    """
    with engine_folder() as folder, _podman_service(folder, rootless) as address:
        yield address


@contextmanager
def _podman_service(folder: Path, rootless: bool) -> Iterator[str]:
    address = f"unix://{folder}/p.sock"
    own = ["--root", str(folder / "root"), "--runroot", str(folder / "run"), "--cgroup-manager", "cgroupfs"]
    command = [program("podman"), *own, *(("--storage-driver", "vfs") if rootless else ())]
    command += ["system", "service", "--time", "300", address]
    homes = ("HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")
    environment = dict.fromkeys(homes, str(folder))
    if not rootless:
        with service(command, address, folder, environment):
            yield address
        return
    os.chown(folder, FIRST_USER, FIRST_USER)
    environment |= {"_CONTAINERS_USERNS_CONFIGURED": "done", "_CONTAINERS_ROOTLESS_UID": str(FIRST_USER)}
    environment |= {"_CONTAINERS_ROOTLESS_GID": str(FIRST_USER)}
    # What newuidmap does for an ordinary user, root does from here: no account and no package is needed.
    user = ["setpriv", "--reuid", str(FIRST_USER), "--regid", str(FIRST_USER), "--clear-groups"]
    wait = [
        "unshare",
        "--user",
        "--mount",
        "sh",
        "-c",
        f'until [ -e {folder}/mapped ]; do sleep 0.05; done; exec "$@"',
    ]
    with service([*user, *wait, "sh", *command], address, folder, environment, _map_users):
        yield address


def _map_users(process: int, folder: Path) -> None:
    """Give the user namespace of a process users of its own, as soon as it has made one."""
    ours = os.readlink("/proc/self/ns/user")
    until = time.monotonic() + SECONDS
    while os.readlink(f"/proc/{process}/ns/user") == ours:
        assert time.monotonic() < until
        time.sleep(0.02)
    for kind in ("uid", "gid"):
        Path(f"/proc/{process}/{kind}_map").write_text(f"0 {FIRST_USER} 65536\n")
    (folder / "mapped").touch()


def program(name: str) -> str:
    """Find what `tests/setup` installs."""
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin")
    if os.geteuid() != 0 and not os.environ.get("CI"):
        pytest.skip("DOCKER_HOST names no engine that answers, and only root can start one")
    assert found is not None, f"{name} is not installed: run tests/setup"
    return found


@contextmanager
def service(
    command: list[str],
    address: str,
    folder: Path,
    environment: dict[str, str] | None = None,
    started: Callable[[int, Path], None] | None = None,
) -> Iterator[None]:
    """Start an engine, wait until it answers, and end it afterwards."""
    with (folder / "log").open("wb") as log:
        daemon = subprocess.Popen(
            # A test process that is killed, as those of an interrupted run are, takes its engine along.
            ["setpriv", "--pdeathsig", "TERM", *command],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env=os.environ | (environment or {}),
        )
    try:
        if started is not None:
            started(daemon.pid, folder)
        until = time.monotonic() + SECONDS
        while not answers(address):
            said = (folder / "log").read_text(errors="replace")[-2000:]
            assert daemon.poll() is None, f"the engine ended: {said}"
            assert time.monotonic() < until, f"the engine did not answer in {SECONDS} s: {said}"
            time.sleep(0.1)
        yield
    finally:
        daemon.terminate()
        try:
            daemon.wait(SECONDS)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
        for line in Path("/proc/self/mounts").read_text().splitlines():
            if Path(line.split(" ")[1]).is_relative_to(folder):  # it leaves them to a reboot
                subprocess.run(["umount", "--lazy", line.split(" ")[1]], check=False)


class Wire:
    """A socket that leads to an engine, until it is cut."""

    def __init__(self, engine: str, place: Path) -> None:
        self.address = f"unix://{place}"
        self._engine, self._place = engine.removeprefix("unix://"), place
        self._ends: list[socket.socket] = []
        self.lay()

    def lay(self) -> None:
        """Listen, and pass on what comes."""
        listening = socket.socket(socket.AF_UNIX)
        self._place.unlink(missing_ok=True)
        listening.bind(str(self._place))
        listening.listen()
        self._ends.append(listening)
        threading.Thread(target=self._accept, args=[listening], daemon=True).start()

    def cut(self) -> None:
        """Break every connection, and take no more."""
        self._place.unlink()
        ends, self._ends = self._ends, []
        for each in ends:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = listening.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._engine)
                self._ends += [near, far]
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(65536):
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)
