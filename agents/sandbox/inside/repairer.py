"""Carries out one repair in a sandbox: installs wheels or runs commands, into one folder.

Standard library only, Python 3.8 or newer, started as `python repairer.py FOLDER OPTIONS` in an empty
environment. FOLDER holds `task.json`, `pip.zip` and, where there are some, `pip.conf` and `ca.pem`. All
packages go to REPAIRED, which is laid out as a virtual environment, so that pip can upgrade and remove them.
OPTIONS are limits as NAME=NUMBER; `leash=1` ends everything when stdin closes, `archive=N` writes REPAIRED as
a tar file to the file descriptor N at the end.

The exit status is that of the last command.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tarfile
import threading
import zipfile

REPAIRED = "/opt/repaired"
EARLIER = "/opt/earlier"
"""An earlier snapshot of REPAIRED, where it could not be made in place."""
TOOLS = "/tmp/workbench-tools"
CANNOT_BEGIN = 125


def main(argv: list[str]) -> None:
    """Carry out the task of FOLDER, and end the process."""
    folder = argv[1]
    options = {name: int(value) for name, _, value in (one.partition("=") for one in argv[2:])}
    if options.get("leash"):
        threading.Thread(target=end_with_stdin, daemon=True).start()
    for kind, name in (
        (resource.RLIMIT_FSIZE, "file_bytes"),
        (resource.RLIMIT_NPROC, "processes"),
        (resource.RLIMIT_AS, "memory_bytes"),
        (resource.RLIMIT_CORE, "core"),
    ):
        if name in options:
            resource.setrlimit(kind, (options[name], options[name]))
    with open(os.path.join(folder, "task.json"), encoding="utf-8") as file:
        task = json.load(file)
    try:
        if os.path.isdir(EARLIER):
            copy_earlier()
        make_environment()
        variables = install_pip(folder)
    except OSError as error:
        write_line(f"The repair could not begin: {error}")
        os._exit(CANNOT_BEGIN)
    code = 0
    for shown, command in list_commands(task):
        write_line("$ " + shown)
        code = subprocess.run(
            command,
            cwd="/tmp",
            env=variables,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
        if code:
            write_line(f"(exit status {code})")
            break
    for place in (
        TOOLS,
        folder,
    ):  # of a container they would stay in the image; elsewhere they stay as they are
        shutil.rmtree(place, ignore_errors=True)
    if not code and "archive" in options:
        write_archive(options["archive"])
    os._exit(code if code >= 0 else 128 - code)


def copy_earlier() -> None:
    """Copy the earlier snapshot's content; the folder itself exists, and belongs to somebody else."""
    for entry in os.scandir(EARLIER):
        target = os.path.join(REPAIRED, entry.name)
        if entry.is_dir(follow_symlinks=False):
            shutil.copytree(entry.path, target, symlinks=True)
        else:
            shutil.copy2(entry.path, target, follow_symlinks=False)


def end_with_stdin() -> None:
    """End the process when stdin closes, since whoever started the repair is gone then."""
    while os.read(0, 4096):
        pass
    os._exit(1)


def write_line(line: str) -> None:
    """Write a line to stdout, as the commands do."""
    os.write(1, (line + "\n").encode("utf-8", "backslashreplace"))


def site_packages() -> str:
    """Return the folder of REPAIRED that modules are imported from."""
    return os.path.join(REPAIRED, "lib", "python{}.{}".format(*sys.version_info[:2]), "site-packages")


def make_environment() -> None:
    """Make REPAIRED a virtual environment of this interpreter, unless it is one."""
    if os.path.exists(os.path.join(REPAIRED, "pyvenv.cfg")):
        return
    os.makedirs(site_packages(), exist_ok=True)
    os.makedirs(os.path.join(REPAIRED, "bin"), exist_ok=True)
    program = os.path.realpath(sys.executable)
    for name in ("python", "python3"):
        os.symlink(program, os.path.join(REPAIRED, "bin", name))
    with open(os.path.join(REPAIRED, "pyvenv.cfg"), "w", encoding="utf-8") as file:
        file.write(f"home = {os.path.dirname(program)}\ninclude-system-site-packages = false\n")


def install_pip(folder: str) -> dict[str, str]:
    """Unpack pip, and return the environment variables of commands."""
    os.makedirs(TOOLS)
    with zipfile.ZipFile(os.path.join(folder, "pip.zip")) as packed:
        packed.extractall(os.path.join(TOOLS, "lib"))
    for name in ("pip", "pip3"):
        path = os.path.join(TOOLS, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {REPAIRED}/bin/python -m pip "$@"\n')
        os.chmod(path, 0o755)
    variables = {
        **{name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")},
        "DEBIAN_FRONTEND": "noninteractive",
        "HOME": "/tmp",
        "LANG": "C.UTF-8",
        "PATH": f"{REPAIRED}/bin:{TOOLS}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_NO_COLOR": "1",
        "PIP_NO_INPUT": "1",
        "PIP_PROGRESS_BAR": "off",
        "PIP_ROOT_USER_ACTION": "ignore",
        "PYTHONPATH": os.path.join(TOOLS, "lib"),
        "VIRTUAL_ENV": REPAIRED,
    }
    if "LD_LIBRARY_PATH" in os.environ:
        variables["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
    configuration, certificates = os.path.join(folder, "pip.conf"), os.path.join(folder, "ca.pem")
    variables["PIP_CONFIG_FILE"] = configuration if os.path.exists(configuration) else os.devnull
    if os.path.exists(certificates):
        for name in ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
            variables[name] = certificates
    return variables


def list_commands(task: dict[str, object]) -> list[tuple[str, list[str]]]:
    """List the commands, each as it is shown and as it is started."""
    items = [str(item) for item in task["items"]]  # type: ignore[attr-defined]
    if task["kind"] == "install":
        shown = "pip install --only-binary :all: " + " ".join(items)
        words = ["install", "--only-binary", ":all:", "--retries", "2", "--", *items]
        return [(shown, [os.path.join(TOOLS, "pip"), *words])]
    return [(item, ["/bin/sh", "-c", item]) for item in items]


def write_archive(descriptor: int) -> None:
    """Write REPAIRED to a file that is open already."""
    with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w|") as packed:
        packed.add(REPAIRED, arcname=".")


if __name__ == "__main__":
    main(sys.argv)
