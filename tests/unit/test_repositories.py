"""Repositories read from folders, archives, commits and URLs: the same files, and nothing of them executed."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import tarfile
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from agents.code_search.work import absolute
from agents.construction.tools import written
from agents.repositories import git, reading
from agents.repositories.entries import (
    BEYOND,
    BINARY,
    CLOSED,
    ELSEWHERE,
    LINK,
    MOST_BYTES,
    SPECIAL,
    SUBMODULE,
    TOO_LARGE,
    UNREADABLE,
)
from agents.repositories.reading import Repository, read_repository
from store.errors import ImportFailed

FILES = {
    "shop/till.py": b"def pay():\n    return 1\n",
    "shop/a b.py": "def größe():\n    return 2\n".encode(),
    "shop/latin.py": b"# caf\xe9\n",
    "README.md": b"A shop.\n",
}


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files, in which nothing is left."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    assert not [*place.iterdir()]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with one commit, whose working tree has other files as well."""
    made = tmp_path / "clone"
    for name, data in FILES.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_bytes(data)
    run(made, "init", "--quiet", "--initial-branch=main")
    run(made, "add", ".")
    commit(made)
    return made


def run(folder: Path, *words: str) -> str:
    settings = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *settings, *words], cwd=folder, capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.strip()


def commit(folder: Path) -> str:
    run(folder, "commit", "--quiet", "--allow-empty", "--message", "one more")
    return run(folder, "rev-parse", "HEAD")


def is_python(path: str) -> bool:
    return path.endswith(".py")


def paths(found: Repository) -> list[str]:
    return [file.path for file in found.files]


def url(folder: Path, reference: str = "") -> str:
    return f"file://{folder}{reference}"


# -- the same files from everywhere -------------------------------------------------------------------


def test_a_folder_an_archive_a_commit_and_a_url_have_the_same_files(clone: Path, tmp_path: Path) -> None:
    run(clone, "archive", "--prefix=shop-1/", "--output", str(tmp_path / "a.zip"), "HEAD")
    run(clone, "archive", "--prefix=shop-1/", "--output", str(tmp_path / "a.tar.gz"), "HEAD")
    head = run(clone, "rev-parse", "HEAD")
    whole = read_repository(str(clone), is_python)
    assert [(file.path, file.text) for file in whole.files] == [
        ("shop/a b.py", "def größe():\n    return 2\n"),
        ("shop/latin.py", "# caf\ufffd\n"),
        ("shop/till.py", "def pay():\n    return 1\n"),
    ]
    assert (whole.name, whole.commit, whole.replaced) == ("clone", head, 1)
    assert whole.sentences() == ["Replaced bytes of another encoding in 1 file."]
    for place, name in (
        (f"{clone}@HEAD", "clone"),
        (str(tmp_path / "a.zip"), "a"),
        (str(tmp_path / "a.tar.gz"), "a"),
        (url(clone), f"{tmp_path.name}/clone"),
        (url(clone, "@main"), f"{tmp_path.name}/clone"),
        (url(clone / ".git", f"@{head}"), f"{tmp_path.name}/clone"),
    ):
        found = read_repository(place, is_python)
        assert (found.files, found.commit, found.name) == (whole.files, head, name), place


def test_a_commit_is_read_as_it_was(clone: Path) -> None:
    before = run(clone, "rev-parse", "HEAD")
    run(clone, "tag", "one")
    (clone / "shop" / "till.py").write_text("def pay():\n    return 2\n")
    run(clone, "add", ".")
    commit(clone)
    (clone / "new.py").write_text("")
    assert "new.py" in paths(read_repository(str(clone), is_python))
    for reference in ("one", before, before[:10], "main~1"):
        found = read_repository(f"{clone}@{reference}", is_python)
        assert found.commit == before
        assert "return 1" in found.files[2].text


def test_a_folder_whose_name_has_an_at_sign(tmp_path: Path) -> None:
    (tmp_path / "a@b").mkdir()
    (tmp_path / "a@b" / "c.py").write_text("")
    assert paths(read_repository(str(tmp_path / "a@b"), is_python)) == ["c.py"]


def test_folders_with_no_source_of_the_repository(tmp_path: Path) -> None:
    for name in (".git", ".venv", "__pycache__", "node_modules", "site-packages", "env", "src"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text("")
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    assert paths(read_repository(str(tmp_path), is_python)) == ["src/a.py"]


def test_an_archive_of_several_folders_keeps_them(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ("src/a.py", "src/b.py", "setup.py", "../out.py", "/root.py", "src/../../x.py"):
            archive.writestr(name, "")
    assert paths(read_repository(str(tmp_path / "a.zip"), is_python)) == ["a.py", "b.py", "setup.py"]


def test_python_files_are_decoded_as_they_declare(tmp_path: Path) -> None:
    for name, data in {
        "bom.py": b"\xef\xbb\xbfx = 1\n",
        "declared.py": b"# coding: latin-1\n# caf\xe9\n",
        "half.py": b"# coding: unicode_escape\n# \\ud800\n",
        "long.py": b"# coding: punycode\n-" + b"b" * (MOST_BYTES - 100),
        "unknown.py": b"# coding: nothing\n# caf\xc3\xa9\n",
        "wrong.py": b"# coding: ascii\n# caf\xe9\n",
        "wrong.go": b"// coding: latin-1\n// caf\xe9\n",
    }.items():
        (tmp_path / name).write_bytes(data)
    found = {
        file.path: (file.text.splitlines()[-1][:6], file.replaced)
        for file in read_repository(str(tmp_path), lambda _: True).files
    }
    assert found == {
        "bom.py": ("x = 1", False),
        "declared.py": ("# café", False),
        "half.py": ("# \\ud8", True),
        "long.py": ("-bbbbb", True),
        "unknown.py": ("# café", True),
        "wrong.py": ("# caf\ufffd", True),
        "wrong.go": ("// caf", True),
    }


def test_names_that_are_not_utf8_are_escaped(clone: Path, tmp_path: Path) -> None:
    (clone / os.fsdecode(b"caf\xe9.py")).write_text("")
    run(clone, "add", ".")
    commit(clone)
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(clone, "clone", filter=lambda one: None if ".git" in one.name else one)
    for place in (str(clone), f"{clone}@HEAD", str(tmp_path / "a.tar")):
        assert paths(read_repository(place, is_python))[0] == "caf\\xe9.py"


# -- what is left out ---------------------------------------------------------------------------------


def test_what_is_left_out_is_counted(clone: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("password")
    (clone / "link.py").symlink_to(secret)
    (clone / "loop").symlink_to(clone)
    (clone / "large.py").write_bytes(b"#" * (MOST_BYTES + 1))
    (clone / "full.py").write_bytes(b"#" * MOST_BYTES)
    (clone / "binary.py").write_bytes(b"a\0b")
    run(clone, "add", ".")
    commit(clone)
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(clone, "clone", filter=lambda one: None if ".git" in one.name else one)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as zipped:
        for path in clone.rglob("*.py"):
            if not path.is_symlink():
                zipped.write(path, path.relative_to(tmp_path))
        for name in ("link.py", "loop"):
            link = zipfile.ZipInfo(f"clone/{name}")
            link.external_attr = (stat.S_IFLNK | 0o777) << 16
            zipped.writestr(link, "/etc/passwd")
    os.mkfifo(clone / "pipe.py")
    left_out = {LINK: 2, TOO_LARGE: 1, BINARY: 1}
    for place, others in (
        (str(clone), {SPECIAL: 1}),
        (f"{clone}@HEAD", {}),
        (url(clone), {}),
        (str(tmp_path / "a.tar"), {}),
        (str(tmp_path / "a.zip"), {}),
    ):
        found = read_repository(place, is_python)
        assert dict(found.left_out) == left_out | others, place
        assert paths(found) == ["full.py", "shop/a b.py", "shop/latin.py", "shop/till.py"]
    said = " ".join(read_repository(str(clone), is_python).sentences())
    assert "links (2)" in said
    assert "files over 1 MiB (1)" in said


def test_a_folder_that_cannot_be_entered_is_counted(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walk = os.walk

    def walked(
        root: Path, onerror: Callable[[OSError], object]
    ) -> Iterator[tuple[str, list[str], list[str]]]:
        onerror(PermissionError(13, "Permission denied", str(root / "secret")))
        return walk(root)

    monkeypatch.setattr(os, "walk", walked)
    found = read_repository(str(clone), is_python)
    assert (len(found.files), dict(found.left_out)) == (3, {CLOSED: 1})


def test_submodules_are_left_out(clone: Path, tmp_path: Path) -> None:
    run(clone, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendored")
    commit(clone)
    assert read_repository(f"{clone}@HEAD", is_python).left_out == {SUBMODULE: 1}
    assert read_repository(url(clone), is_python).left_out == {SUBMODULE: 1}


def test_files_beyond_the_limit(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_FILES", 2)
    found = read_repository(str(clone), is_python)
    assert (len(found.files), dict(found.left_out)) == (2, {BEYOND: 1})


def test_an_archive_that_unpacks_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_UNPACKED", 1 << 20)
    with tarfile.open(tmp_path / "bomb.tar.gz", "w:gz") as archive:
        large = tarfile.TarInfo("a.bin")
        large.size = 2 << 20
        archive.addfile(large, io.BytesIO(bytes(large.size)))
    with pytest.raises(ImportFailed, match="more than"):
        read_repository(str(tmp_path / "bomb.tar.gz"), is_python)


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.tar.xz"])
def test_an_archive_that_is_damaged(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04 this is none" * 40)
    with pytest.raises(ImportFailed, match="Not readable"):
        read_repository(str(tmp_path / name), is_python)


def test_a_clone_that_is_damaged(clone: Path) -> None:
    tree = run(clone, "rev-parse", "HEAD^{tree}")
    (clone / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    with pytest.raises(ImportFailed, match="Not readable"):
        read_repository(f"{clone}@HEAD", is_python)


# -- nothing is executed ------------------------------------------------------------------------------


def test_nothing_of_a_repository_is_executed(clone: Path, tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    script = f"#!/bin/sh\ntouch {traces}\ncat\n"
    (clone / ".gitattributes").write_text("*.py filter=own diff=own\n")
    (tmp_path / "own").write_text(script)
    (tmp_path / "own").chmod(0o755)
    run(clone, "add", ".")
    commit(clone)
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        (clone / ".git" / "hooks").mkdir(exist_ok=True)
        (clone / ".git" / "hooks" / hook).write_text(script)
        (clone / ".git" / "hooks" / hook).chmod(0o755)
    own = str(tmp_path / "own")
    for setting in (
        "filter.own.smudge",
        "diff.own.textconv",
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
    ):
        run(clone, "config", setting, own)
    traces.unlink(missing_ok=True)
    for place in (str(clone), f"{clone}@HEAD", url(clone)):
        assert len(read_repository(place, is_python).files) == 3
    assert not traces.exists()


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("-oProxyCommand=x@host:y", "begins with -"),
        ("--upload-pack=touch x", "begins with -"),
        ("ext::sh -c 'touch x'", "no protocol"),
        ("fd::17/foo", "no protocol"),
        ("ftp://host/a", "no protocol"),
        ("https://me:secret@127.0.0.1/a", "holds a password"),
        ("ssh://me:secret@127.0.0.1/a", "holds a password"),
        ("https://secret@127.0.0.1/a/b", "holds a user or a token"),
        ("https://127.0.0.1/a/b?token=secret", "holds a query"),
        ("ftp://me:secret@host/a?token=secret", "no protocol"),
        ("https://me:sec/secret@host/a", "no valid URL"),
        ("https://[::1", "no valid URL"),
        ("ssh://git@127.0.0.1:1/a/b", "Not fetched"),
        ("file:///nowhere/at/all", "does not appear to be a git repository"),
        ("http://127.0.0.1:1/a/b", "127.0.0.1"),
        ("nowhere", "no folder or archive"),
        ("", "no folder or archive"),
        ("README.md", "no folder or archive"),
    ],
)
def test_what_is_not_fetched(place: str, why: str, in_folder: Path) -> None:
    with pytest.raises(ImportFailed, match=why) as refused:
        read_repository(place, is_python)
    assert refused.value.hint
    assert "secret" not in str(refused.value)
    assert not (in_folder / "x").exists()


def test_a_reference_that_is_an_option(clone: Path) -> None:
    for place in (
        f"{clone}@--help",
        url(clone, "@--upload-pack=x"),
        f"{clone}@nothing",
        url(clone, "@nothing"),
    ):
        with pytest.raises(ImportFailed, match=r"No such commit|Not fetched"):
            read_repository(place, is_python)


def test_a_commit_that_is_too_large_is_not_fetched(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (clone / "noise.bin").write_bytes(os.urandom(300_000))
    run(clone, "add", ".")
    commit(clone)
    monkeypatch.setattr(git, "MOST_FETCHED", 100 * 1024)
    with pytest.raises(ImportFailed, match="Too large"):
        read_repository(url(clone), is_python)
    monkeypatch.setattr(git, "MOST_FETCHED", 1 << 20)
    assert len(read_repository(url(clone), is_python).files) == 3


def test_a_service_that_asks_for_a_password_is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    class AsksForPassword(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), AsksForPassword) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with pytest.raises(ImportFailed, match="Not fetched") as refused:
                read_repository(f"http://127.0.0.1:{server.server_address[1]}/a/b", is_python)
        finally:
            server.shutdown()
    assert "password" in (refused.value.hint or "")


def test_a_fetch_ends_with_its_reading(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = tmp_path / "begun"
    ssh = tmp_path / "ssh"
    ssh.write_text(f"#!/bin/sh\necho $$ > {begun}\nexec sleep 600\n")
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def stop() -> None:
        if begun.exists() and begun.read_text().endswith("\n"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_repository("git@host:a/b", is_python, stop)
    assert _ended(int(begun.read_text()))
    begun.unlink()
    monkeypatch.setattr(git, "MOST_SECONDS", 2.0)
    with pytest.raises(ImportFailed, match="takes more than"):
        read_repository("git@host:a/b", is_python)
    said = begun.read_text() if begun.exists() else ""
    assert not said or _ended(int(said))


def _ended(process: int) -> bool:
    """Wait until a process that was killed is gone, or waits for its parent alone."""
    for _ in range(200):
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
            os.kill(process, 0)
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.05)
    return False


def test_the_git_settings_of_the_environment_are_not_used(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "own.py").write_text("")
    run(own, "init", "--quiet", "--initial-branch=main")
    run(own, "add", ".")
    commit(own)
    before = {path: path.read_bytes() for path in (own / ".git").rglob("*") if path.is_file()}
    for name, value in {
        "GIT_DIR": own / ".git",
        "GIT_WORK_TREE": own,
        "GIT_INDEX_FILE": own / ".git" / "index",
        "GIT_OBJECT_DIRECTORY": own / ".git" / "objects",
        "GIT_CONFIG_COUNT": "none",
    }.items():
        monkeypatch.setenv(name, str(value))
    for place in (f"{clone}@HEAD", url(clone)):
        assert "shop/till.py" in paths(read_repository(place, is_python))
    assert {path: path.read_bytes() for path in (own / ".git").rglob("*") if path.is_file()} == before


def test_urls_are_shown_without_secrets() -> None:
    for place, shown in (
        ("https://host/a/b@main", "https://host/a/b@main"),
        ("https://me:secret@host/a?key=1 2", "https://...@host/a?..."),
        ("https://me:a/b@host", "https://..."),
        ("git@host:a/b", "git@host:a/b"),
        ("/home/a@b/c?d", "/home/a@b/c?d"),
    ):
        assert git.shown_url(place) == shown


def test_places_that_have_no_path() -> None:
    for place in ("https://[::1", "~nosuchuser/x"):
        with pytest.raises(ImportFailed) as refused:
            absolute(place)
        assert refused.value.hint


def test_files_that_a_partial_clone_lacks_are_counted(clone: Path) -> None:
    blob = run(clone, "rev-parse", "HEAD:shop/till.py")
    (clone / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    found = read_repository(f"{clone}@HEAD", is_python)
    assert (len(found.files), dict(found.left_out)) == (2, {UNREADABLE: 1})


def test_a_folder_of_a_clone_is_not_read_as_the_clone(clone: Path) -> None:
    with pytest.raises(ImportFailed, match=f"Not a clone.*the clone {clone}") as refused:
        read_repository(f"{clone}/shop@HEAD", is_python)
    assert f"{clone}@HEAD" in refused.value.hint


def test_archives_with_names_and_numbers_that_are_none(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "made.zip", "w") as archive:
        archive.writestr("é.py", "")
    (tmp_path / "a.zip").write_bytes((tmp_path / "made.zip").read_bytes().replace(b"\xc3\xa9", b"\xff\xff"))
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as made:
        sparse = tarfile.TarInfo("a.py")
        sparse.pax_headers = {"GNU.sparse.size": "1", "GNU.sparse.map": "x,y"}
        made.addfile(sparse)
    for name in ("a.zip", "a.tar"):
        with pytest.raises(ImportFailed, match="Not readable"):
            read_repository(str(tmp_path / name), is_python)


def test_a_folder_with_a_path_that_is_nearly_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text("")
    monkeypatch.chdir(tmp_path)
    length = len(str(tmp_path))
    while (left := 4090 - length) > 1:
        name = "d" * min(200, left - 1)
        os.mkdir(name)
        os.chdir(name)
        length += 1 + len(name)
    Path("long-name.py").write_text("")
    found = read_repository(str(tmp_path), is_python)
    assert (paths(found), dict(found.left_out)) == (["a.py"], {UNREADABLE: 1})


def test_without_git(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert read_repository(str(clone), is_python).commit
    for place in (f"{clone}@main", url(clone)):
        with pytest.raises(ImportFailed, match="No git"):
            read_repository(place, is_python)


def test_a_path_that_leads_out_of_the_repository_is_left_out(clone: Path, tmp_path: Path) -> None:
    def made(lines: str) -> str:
        command = ["git", "-C", str(clone), "mktree"]
        return subprocess.run(command, input=lines, capture_output=True, text=True, check=True).stdout.strip()

    blob = subprocess.run(
        ["git", "-C", str(clone), "hash-object", "-w", "--stdin"],
        input="x = 1\n",
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    inner = made(f"100644 blob {blob}\tescaped.py\n")
    above = made(f"040000 tree {inner}\t..\n100644 blob {blob}\tplain.py\n")
    tree = made(f"040000 tree {above}\tpackage\n")
    commit = subprocess.run(
        [
            *("git", "-C", str(clone), "-c", "user.name=a", "-c", "user.email=a"),
            "commit-tree",
            tree,
            "-m",
            "x",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    found = read_repository(f"{clone}@{commit}", lambda _: True)
    assert [file.path for file in found.files] == ["package/plain.py"]
    assert found.left_out == {ELSEWHERE: 1}
    # What writes files for a compiler keeps to its folder by itself, too.
    with written({"../out.py": b"x", "/dev/shm/out.py": b"x", "a/b.py": b"x", "a\0": b"x"}) as folder:
        assert [path.name for path in folder.rglob("*.py")] == ["b.py"]
        assert not (folder.parent / "out.py").exists()


def test_paths_that_are_too_long_are_left_out(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a/" * 3000 + "b.py", "x = 1\n")
        archive.writestr("c.py", "x = 1\n")
    found = read_repository(str(tmp_path / "a.zip"), lambda _: True)
    assert [file.path for file in found.files] == ["c.py"]
    assert found.left_out == {ELSEWHERE: 1}
