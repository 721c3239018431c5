"""--sample-pairs, --seed and --stratify: random samples of pairs, in strata or not."""

import hashlib
import json

import pytest
from made_once import built_once

CODE = "def inc(x):\n    return x + 1\n"


@built_once
def study(workbench, in_folder):
    """Forty pairs: 24 labelled 1 and 8 labelled 0 by eli, the rest unlabelled; 30 agents' labels."""
    pairs = [
        {"id": f"p{n}", "query": f"add {n % 7}", "code": f"{CODE}# {n}\n", "label": (1 if n < 24 else 0)}
        for n in range(40)
    ]
    for pair in pairs[32:]:
        del pair["label"]
    (in_folder / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    assert workbench("import", "study.duckdb", "pairs.jsonl", "--label-as", "eli").code == 0
    replies = [
        {
            "role": "screener",
            "subject": f"p{n}",
            "reply": {"assessment": "clear_match" if n % 3 else "clear_nonmatch", "justification": "so"},
        }
        for n in range(30)
    ]
    (in_folder / "replies.jsonl").write_text("".join(json.dumps(reply) + "\n" for reply in replies))
    return in_folder / "study.duckdb"


def sampled(workbench, study, *options):
    found = workbench("items", study, "--json", "--sample-pairs", *options).json()
    return {item["item"] for item in found["items"]}, found["strata"]


def test_a_sample_is_the_same_in_every_order_of_import_and_a_larger_one_holds_it(workbench, study, in_folder):
    small, strata = sampled(workbench, study, "5", "--seed", "3")
    assert (len(small), strata) == (5, None)
    assert small < sampled(workbench, study, "12", "--seed", "3")[0]
    assert small != sampled(workbench, study, "5", "--seed", "4")[0]
    lines = (in_folder / "pairs.jsonl").read_text().splitlines(keepends=True)
    (in_folder / "reversed.jsonl").write_text("".join(reversed(lines)))
    workbench("import", "other.duckdb", "reversed.jsonl")
    assert sampled(workbench, "other.duckdb", "5", "--seed", "3")[0] == small


def test_the_sample_is_that_of_the_documented_hash(workbench, study, in_folder):
    export = workbench("export", study, "all.jsonl", "--format", "jsonl").code
    assert export == 0
    records = [json.loads(line) for line in (in_folder / "all.jsonl").read_text().splitlines()]
    hashes = {record["item"]: record["content_hash"] for record in records}
    assert len(hashes) == 32
    # Only labelled pairs are in the record: take so many that some of them are in the sample.
    taken, _ = sampled(workbench, study, "20", "--seed", "9")
    ranked = sorted(hashes, key=lambda item: hashlib.sha256(f"9:{hashes[item]}".encode()).hexdigest())
    among = [item in taken for item in ranked]
    assert among == sorted(among, reverse=True)
    assert 0 < sum(among) < 32


def test_strata_give_in_proportion_and_grow_without_losing_anyone(workbench, study):
    taken, strata = sampled(workbench, study, "10", "--seed", "1", "--stratify", "label:eli")
    assert strata == [
        {"stratum": "0 no match", "items": 8, "sampled": 2},
        {"stratum": "1 match", "items": 24, "sampled": 6},
        {"stratum": "none", "items": 8, "sampled": 2},
    ]
    before = set()
    for size in (1, 2, 3, 5, 9, 17, 31, 39, 40):
        taken, strata = sampled(workbench, study, str(size), "--stratify", "label:eli")
        assert before < taken
        assert sum(one["sampled"] for one in strata) == len(taken) == size
        assert all(abs(one["sampled"] - size * one["items"] / 40) < 1 for one in strata)
        before = taken


def test_a_sample_is_annotated_and_its_labels_are_exported(workbench, study, in_folder):
    model = ("--model", "scripted:replies.jsonl")
    done = workbench(
        "annotate", study, *model, "--sample-pairs", "6", "--seed", "2", "--json", "--limit", "40"
    )
    asked = done.json()["asked"]
    assert (asked["sample_pairs"], asked["seed"], asked["strata"]) == (6, 2, None)
    assert done.json()["items"] == 6
    assert workbench("annotate", study, *model).code in (0, 1)
    told = workbench("items", study, "--sample-pairs", "9", "--stratify", "label")
    assert "stratum" in told.out
    assert "none" in told.out
    taken, strata = sampled(workbench, study, "9", "--stratify", "path")
    assert [one["stratum"] for one in strata] == ["screened", "none"]
    # As elsewhere, how the name of a run begins is enough.
    assert sampled(workbench, study, "9", "--stratify", "path:ps-tpg") == (taken, strata)

    options = ("--sample-pairs", "9", "--stratify", "path", "--json")
    report = workbench("export", study, "some.jsonl", "--format", "labels", "--rater", "eli", *options).json()
    assert (report["sampled"], report["strata"]) == (9, strata)
    written = {json.loads(line)["item"] for line in (in_folder / "some.jsonl").read_text().splitlines()}
    assert written == taken & {f"p{n}" for n in range(32)}
    for format in ("jsonl", "cosqa"):
        report = workbench("export", study, f"of-{format}", "--format", format, "--rater", "eli", *options)
        assert report.json()["records"] == len(written)
        assert report.json()["left_out"] == 9 - len(written)
    table = workbench("export", study, "t.csv", "--format", "csv", "--rater", "eli", *options).json()
    assert (table["records"], table["labelled"]) == (9, len(written))
    record = workbench("export", study, "record.csv", "--format", "judgments", *options).json()
    assert record["records"] == len(written)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--sample-pairs", "41"], "there are 40"),
        (["--seed", "1"], "--sample-pairs N"),
        (["--stratify", "label"], "--sample-pairs N"),
        (["--sample-pairs", "3", "--stratify", "colour"], "label or path"),
        (["--sample-pairs", "3", "--stratify", "label"], "None of the pairs has a label by agents"),
        (["--sample-pairs", "3", "--stratify", "path:eli"], "is no run"),
        (["--sample-pairs", "3", "--stratify", "label:nobody"], "No rater is called 'nobody'"),
    ],
)
def test_what_cannot_be_sampled_is_said(workbench, study, options, says):
    done = workbench("items", study, *options, "--json")
    assert done.code == 2
    assert says in done.json()["error"]["message"] + done.json()["error"]["hint"]


def test_two_samples_at_once_are_refused(workbench, study):
    done = workbench(
        "annotate", study, "--model", "scripted:replies.jsonl", "--sample-pairs", "2", "--sample-queries", "2"
    )
    assert done.code == 2
    assert done.says("Give one of them.")


def test_a_blind_review_has_no_strata(workbench, study, monkeypatch):
    monkeypatch.setenv("WORKBENCH_SCREENS__BLIND", "true")
    done = workbench("items", study, "--sample-pairs", "3", "--stratify", "label:eli", "--json")
    assert done.json()["error"]["title"] == "Blind review"
    assert len(sampled(workbench, study, "3")[0]) == 3


def test_formats_without_pairs_have_no_sample(workbench, study):
    done = workbench("export", study, "a.jsonl", "--format", "answers", "--sample-pairs", "3", "--json")
    assert "Leave --sample-pairs out" in done.json()["error"]["hint"]
