"""Files without records, as GitHub returns them for the comments of an issue that has none."""

import json

import pytest

ISSUE = {
    "number": 3,
    "title": "The drawer stays shut",
    "body": "It does.",
    "user": {"login": "somebody-here"},
    "html_url": "https://code.example/shop/till/issues/3",
    "repository_url": "https://code.example/repos/shop/till",
}


@pytest.mark.parametrize("options", [[], ["--format", "issues"]])
@pytest.mark.parametrize("content", ["[]", "", " \n"])
def test_an_empty_list_of_comments_is_left_out_and_reported(workbench, in_folder, content, options):
    (in_folder / "a-comments.json").write_text(content)
    (in_folder / "issues.json").write_text(json.dumps([ISSUE]))
    done = workbench("import", "w.duckdb", "a-comments.json", "issues.json", *options)
    assert done.code == 0, done.err
    assert "Empty, as of issues without comments: a-comments.json." in done.out
    again = workbench("import", "w.duckdb", "a-comments.json", "issues.json", "--json").json()
    assert again["empty_files"] == ["a-comments.json"]
    (item,) = workbench("items", "w.duckdb", "--json").json()["items"]
    assert (item["kind"], item["comments"]) == ("answer", "[]")


@pytest.mark.parametrize("others", [[], ["pairs.jsonl"]])
def test_elsewhere_an_empty_file_refuses_the_import(workbench, in_folder, others):
    (in_folder / "empty.json").write_text("[]")
    (in_folder / "pairs.jsonl").write_text(json.dumps({"id": "1", "query": "a", "code": "b"}) + "\n")
    done = workbench("import", "w.duckdb", "empty.json", *others, "--json")
    assert (done.code, done.json()["error"]["title"]) == (2, "Empty file")
