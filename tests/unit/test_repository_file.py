"""The file behind a piece of context: where it is looked for, at which commit, and what is never opened."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

from agents.repositories.entries import MOST_BYTES
from agents.repositories.files import find_lines, find_repository, folder_names, looked_for, read_file
from store.errors import WorkbenchError

DRAWER = "import till\n\n\ndef open_drawer():\n    if locked:\n        return\n    till.open()\n"
PIECE = "def open_drawer():\n    if locked:\n        return"
HEAD = "1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b"


def piece(
    repository: str = "shop/till", path: str = "till/drawer.py", revision: str = ""
) -> tuple[str, str, str, str]:
    return repository, path, PIECE, revision


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout in a folder of repositories, with a secret beside that folder."""
    made = tmp_path / "repositories" / "shop" / "till"
    (made / "till").mkdir(parents=True)
    (made / "till" / "drawer.py").write_text(DRAWER)
    (tmp_path / "secret.py").write_text("password = 1\n")
    return made


@pytest.fixture
def root(tree: Path) -> Path:
    return tree.parent.parent


def test_a_file_is_read_with_the_lines_of_the_piece(root: Path) -> None:
    file = read_file(root, *piece())
    assert (file.text, file.lines, file.state) == (DRAWER, range(4, 7), "working tree")


@pytest.mark.parametrize(
    ("repository", "folder"),
    [
        *(("shop/till", name) for name in ("shop/till", "till", "shop__till")),
        *(
            ("shop-till-1a2b3c4", name)
            for name in ("shop-till-1a2b3c4", "shop-till", "shop/till", "shop__till")
        ),
    ],
)
def test_a_repository_has_one_of_several_names(root: Path, tree: Path, repository: str, folder: str) -> None:
    tree.rename(root / "moved")
    (root / folder).parent.mkdir(exist_ok=True)
    (root / "moved").rename(root / folder)
    assert read_file(root, *piece(repository)).text == DRAWER


@pytest.mark.parametrize("name", ["shop-till-1a2b3c4", "till-1a2b3c4", "shop-till-1a2b3c4.zip"])
def test_the_only_one_named_after_a_commit_is_found(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    place.write_bytes(b"") if name.endswith(".zip") else place.mkdir()
    (tmp_path / "shop-till-main").mkdir()
    (tmp_path / "other-till-1a2b3c4").mkdir()
    assert find_repository(tmp_path, "shop/till") == place
    (tmp_path / "shop-till-9f8e7d6").mkdir()
    assert find_repository(tmp_path, "shop/till") is None
    assert looked_for("shop/till").startswith("Looked for: shop/till, till, shop__till, shop-till-COMMIT.")


def test_the_most_exact_name_comes_first() -> None:
    assert list(folder_names("a/b")) == ["a/b", "b", "a__b"]
    assert list(folder_names("a-b-c-1a2b3c")) == [
        *("a-b-c-1a2b3c", "a-b-c"),
        *("a/b-c", "a__b-c", "a-b/c", "a-b__c"),
    ]


@pytest.mark.parametrize(
    ("revision", "state"),
    [
        ("", "working tree at 1a2b3c4d5e"),
        ("1a2b3c4", "working tree at the item's commit 1a2b3c4"),
        ("9f8e7d6", "working tree at 1a2b3c4d5e, item at 9f8e7d6"),
        ("main", "working tree at 1a2b3c4d5e"),
    ],
)
@pytest.mark.parametrize("detached", [True, False])
def test_the_commit_is_told_from_that_of_the_item(
    root: Path, tree: Path, revision: str, state: str, detached: bool
) -> None:
    branch = tree / ".git" / "refs" / "heads" / "main"
    branch.parent.mkdir(parents=True)
    branch.write_text(f"{HEAD}\n")
    (tree / ".git" / "HEAD").write_text(f"{HEAD}\n" if detached else "ref: refs/heads/main\n")
    assert read_file(root, *piece(revision=revision)).state == state


def test_a_branch_outside_the_checkout_is_not_read(root: Path, tree: Path) -> None:
    (tree / ".git").mkdir()
    (tree.parent / "commit").write_text(HEAD)
    (tree / ".git" / "HEAD").write_text("ref: ../../commit\n")
    assert read_file(root, *piece()).state == "working tree"


@pytest.mark.parametrize(
    ("repository", "path", "message"),
    [
        ("shop/till", "../../../secret.py", "leads out"),
        ("shop/till", "{outside}/secret.py", "leads out"),
        ("shop/till", "/secret.py", "leads out"),
        ("shop/till", "till/../../../../secret.py", "leads out"),
        ("shop/till", "link.py", "link.py is a link"),
        ("shop/till", "linked/secret.py", "is a link, or behind one"),
        ("shop/till", "same.py", "same.py is a link"),
        ("shop/other", "till/drawer.py", "no folder for shop/other"),
        ("shop/till", ".", "leads out"),
        ("..", "secret.py", "no folder for"),
        ("{outside}", "secret.py", "no folder for"),
        ("linked", "secret.py", "no folder for"),
        ("shop/../..", "secret.py", "no folder for"),
        ("", "secret.py", "does not say which repository"),
        ("shop/till", "", "does not say which file"),
        ("shop/till", "till/lock.py", "has no file till/lock.py"),
        ("shop/till", "till", "has no file till"),
        ("shop/till", "fifo", "has no file fifo"),
        ("shop/till", "a\0b", "leads out"),
        ("nobody/else", "a.py", "no folder for nobody/else"),
        ("shop/till", "circle", "circle"),
        ("shop/till", "a" * 300, "Not readable"),
        ("a" * 300, "b", "Not readable"),
    ],
)
def test_nothing_outside_is_opened(root: Path, tree: Path, repository: str, path: str, message: str) -> None:
    outside = root.parent
    (tree / "link.py").symlink_to(outside / "secret.py")
    (tree / "linked").symlink_to(outside)
    (root / "linked").symlink_to(outside)
    (tree / "circle").symlink_to("circle")
    (tree / "same.py").symlink_to("till/drawer.py")
    (tree.parent / "other").symlink_to("till")
    os.mkfifo(tree / "fifo")
    with pytest.raises(WorkbenchError, match=message):
        read_file(root, *piece(repository.format(outside=outside), path.format(outside=outside)))


def test_large_and_binary_files_are_not_shown(root: Path, tree: Path) -> None:
    file = tree / "file"
    for data, message in [
        (b"x" * (MOST_BYTES + 1), "more than 1,048,576 bytes"),
        (b"\x7fELF\0", "is not a text"),
    ]:
        file.write_bytes(data)
        with pytest.raises(WorkbenchError, match=message):
            read_file(root, *piece(path="file"))
    file.write_bytes(b"caf\xe9\r\n")
    shown = read_file(root, *piece(path="./till/../file"))
    assert (shown.text, shown.state) == (
        "caf\ufffd\r\n",
        "working tree, bytes of another encoding replaced",
    )


# -- commits and archives -----------------------------------------------------------------------------


def run(folder: Path, *words: str) -> str:
    settings = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *settings, *words], cwd=folder, capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.strip()


def commit(folder: Path) -> str:
    run(folder, "add", ".")
    run(folder, "commit", "--quiet", "--message", "one more")
    return run(folder, "rev-parse", "HEAD")


@pytest.fixture
def clone(tree: Path) -> Path:
    """A clone whose second commit, and whose working tree, have other texts than the first one, `one`."""
    run(tree, "init", "--quiet", "--initial-branch=main")
    commit(tree)
    run(tree, "tag", "one")
    (tree / "till" / "drawer.py").write_text("second = 2\n")
    (tree / "link.py").symlink_to("till/drawer.py")
    commit(tree)
    (tree / "till" / "drawer.py").write_text("changed = 3\n")
    return tree


def test_the_commit_of_the_item_is_read_without_a_checkout(root: Path, clone: Path) -> None:
    first, second = run(clone, "rev-parse", "one"), run(clone, "rev-parse", "main")
    for revision in (first, first[:8], "one", "main~1"):
        file = read_file(root, *piece(revision=revision))
        if revision == "main~1":
            # Nothing but names: git understands much more.
            assert (file.text, file.state) == ("changed = 3\n", f"working tree at {second[:10]}")
        else:
            assert (file.text, file.lines) == (DRAWER, range(4, 7))
            assert file.state == f"the item's commit {first[:10]}"
    assert read_file(root, *piece(revision="main")).text == "second = 2\n"
    assert read_file(root, *piece()).text == "changed = 3\n"
    # As CrossCodeEval names repositories.
    assert read_file(root, *piece(f"shop-till-{first[:7]}")).text == DRAWER
    assert (clone / "till" / "drawer.py").read_text() == "changed = 3\n"


def test_a_commit_that_the_clone_has_not_leaves_the_working_tree(
    root: Path, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = run(clone, "rev-parse", "HEAD")
    file = read_file(root, *piece(revision="9f8e7d6"))
    assert (file.text, file.state) == ("changed = 3\n", f"working tree at {head[:10]}, item at 9f8e7d6")
    monkeypatch.setenv("PATH", "/nowhere")
    assert read_file(root, *piece(revision="one")).text == "changed = 3\n"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("till/lock.py", "has no file till/lock.py"),
        ("till", "has no file till"),
        ("-r", "has no file -r"),
        (":(top)till/drawer.py", "has no file :"),
        ("link.py", "link.py is a link"),
        ("../../../secret.py", "leads out"),
    ],
)
def test_what_a_commit_has_not_is_not_opened(root: Path, clone: Path, path: str, message: str) -> None:
    with pytest.raises(WorkbenchError, match=message):
        read_file(root, *piece(path=path, revision="main"))


def test_a_folder_within_another_clone_is_none(root: Path, tree: Path) -> None:
    run(root, "init", "--quiet", "--initial-branch=main")
    (root / "till").mkdir()
    (root / "till" / "drawer.py").write_text("another = 1\n")
    commit(root)
    file = read_file(root, *piece(revision="main"))
    assert (file.text, file.state) == (DRAWER, "working tree")


@pytest.mark.parametrize("name", ["shop/till.zip", "till.tar.gz", "shop__till.tar"])
def test_an_archive_is_read_in_place_of_a_folder(root: Path, tree: Path, clone: Path, name: str) -> None:
    head = run(clone, "rev-parse", "one")
    archive = root / name
    run(clone, "archive", "--prefix=till-1/", "--output", str(archive), "one")
    clone.rename(root.parent / "moved")
    file = read_file(root, *piece(revision=head))
    assert (file.text, file.lines) == (DRAWER, range(4, 7))
    assert file.state == f"archive at the item's commit {head[:10]}"
    with pytest.raises(WorkbenchError, match=r"has no file till/lock\.py"):
        read_file(root, *piece(path="till/lock.py"))


def test_links_in_archives_are_not_followed(root: Path) -> None:
    with tarfile.open(root / "linked.tar", "w") as archive:
        link = tarfile.TarInfo("linked/a.py")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        pipe = tarfile.TarInfo("linked/pipe")
        pipe.type = tarfile.FIFOTYPE
        archive.addfile(pipe)
        text = tarfile.TarInfo("linked/b.py")
        text.size = 6
        archive.addfile(text, io.BytesIO(b"a = 1\n"))
    with zipfile.ZipFile(root / "damaged.zip", "w") as zipped:
        zipped.writestr("a.py", "")
    (root / "damaged.zip").write_bytes((root / "damaged.zip").read_bytes()[:-9])
    for repository, path, message in (
        ("linked", "a.py", "a.py is a link"),
        ("linked", "pipe", "has no file pipe"),
        ("damaged", "a.py", "Not readable"),
    ):
        with pytest.raises(WorkbenchError, match=message):
            read_file(root, *piece(repository, path))
    assert read_file(root, *piece("linked", "b.py")).text == "a = 1\n"


def test_there_must_be_a_folder(tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError, match="There is no folder"):
        read_file(tmp_path / "none", *piece())


@pytest.mark.parametrize(
    ("wanted", "lines"),
    [
        ("b\nc", range(2, 4)),
        ("\nb  \nc\n\n", range(2, 4)),
        ("c\ne", range(3, 6)),
        ("c\nb", None),
        ("", None),
        ("d", None),
    ],
)
def test_a_piece_is_found_by_its_lines(wanted: str, lines: range | None) -> None:
    assert find_lines("a\nb\r\nc \n\ne\n", wanted) == lines


def test_a_long_piece_is_looked_for_in_a_long_file_in_no_time() -> None:
    began = time.perf_counter()
    assert find_lines("a\n" * 200_000, "a\n" * 100_000 + "b\n") is None
    assert find_lines("a\n" * 200_000 + "b\n", "a\n" * 100_000 + "b\n") == range(100_001, 200_002)
    assert time.perf_counter() - began < 10  # a machine under load; alone it takes a fifth of a second
