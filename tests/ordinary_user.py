"""Runs Python as a user that is not root, wherever root keeps this checkout and its interpreter."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
USER = 12345
# In a namespace of mounts of its own: folders below a home that is closed to others are shown elsewhere.
_SHOWN = """
mount -t tmpfs -o mode=755 none /mnt
for name in python packages repository; do
    mkdir "/mnt/$name"
    mount --bind "$1" "/mnt/$name"
    shift
done
exec setpriv --reuid {user} --regid {user} --clear-groups -- "$@"
"""


def run_python(arguments, home, *, seconds=200):
    """Run this interpreter with these arguments, in the checkout, able to import what the tests can.

    Args:
        arguments: What follows the interpreter's name.
        home: A folder that becomes the user's, for all it writes.
        seconds: How long it may take.

    Returns:
        The completed process, with its output as text.
    """
    home.mkdir(exist_ok=True)
    for folder in (home, *home.parents[:4]):
        if folder.stat().st_uid == os.getuid() and folder != Path("/tmp"):
            folder.chmod(0o755)  # another user must get through
    prefix = Path(sys.base_prefix)
    packages = next(Path(path) for path in sys.path if path.endswith("site-packages"))
    command, python, repository = [], prefix, ROOT
    if os.getuid() == 0:
        os.chown(home, USER, USER)
        command = ["unshare", "--mount", "sh", "-euc", _SHOWN.format(user=USER), "sh", prefix, packages, ROOT]
        python, packages, repository = Path("/mnt/python"), Path("/mnt/packages"), Path("/mnt/repository")
    program = python / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    return subprocess.run(
        [*command, program, *arguments],
        env={
            **{name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "CI"))},
            "HOME": str(home),
            "TMPDIR": str(home),
            "LD_LIBRARY_PATH": str(python / "lib"),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": f"{repository}:{packages}",
        },
        cwd="/" if os.getuid() == 0 else ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
