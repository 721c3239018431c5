"""The file behind a piece of context: where it is looked for, and what is never opened."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from agents.repositories.files import BYTES_MOST, find_lines, folder_names, read_file
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
        ("shop/till", "link.py", "leads out"),
        ("shop/till", "linked/secret.py", "leads out"),
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
    os.mkfifo(tree / "fifo")
    with pytest.raises(WorkbenchError, match=message):
        read_file(root, *piece(repository.format(outside=outside), path.format(outside=outside)))


def test_a_link_within_the_checkout_is_followed(root: Path, tree: Path) -> None:
    (tree / "same.py").symlink_to("till/drawer.py")
    assert read_file(root, *piece(path="same.py")).text == DRAWER


def test_large_and_binary_files_are_not_shown(root: Path, tree: Path) -> None:
    file = tree / "file"
    for data, message in [
        (b"x" * (BYTES_MOST + 1), "more than 2,000,000 bytes"),
        (b"\x7fELF\0", "is not a text"),
    ]:
        file.write_bytes(data)
        with pytest.raises(WorkbenchError, match=message):
            read_file(root, *piece(path="file"))
    file.write_bytes(b"caf\xe9\r\n")
    assert read_file(root, *piece(path="file")).text == "caf\udce9\r\n"


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
