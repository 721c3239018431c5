"""CrossCodeEval's tasks and predictions as neutral records, and back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made import spoilt, taken

from store.formats.crosscodeeval import Tasks, parse_stem, write_task
from store.formats.predictions import Predictions, write_prediction
from store.formats.protocol import FileContext
from store.formats.values import Refused

TASK = {
    "prompt": "import queue\n\nline = queue.",
    "groundtruth": "waiting()",
    "right_context": "\nprint(line)\n",
    "metadata": {
        "task_id": "project_cc_python/7",
        "repository": "shop-till-1a2b3c",
        "file": "till/main.py",
        "context_start_lineno": 0,
        "groundtruth_start_lineno": 2,
        "right_context_start_lineno": 3,
        "seen": 4,
    },
    "crossfile_context": {
        "text": "# the fragments",
        "list": [
            {"retrieved_chunk": "def waiting():", "filename": "till/queue.py", "score": 7.5},
            {"retrieved_chunk": "", "filename": "till/other.py", "score": 7, "why": "bm25"},
        ],
        "tokens": 12,
    },
    "difficulty": "low",
}
PREDICTIONS = [
    {"task_id": "project_cc_python/7", "pred": "waiting(1)"},
    {
        "task_id": 7,
        "pred": "",
        "model": "m",
        "setting": "s",
        "trial": 2,
        "groundtruth": "waiting()",
        "x": None,
    },
    {"groundtruth": "waiting()", "prediction": "", "match": 0},
    {"prompt": "line = queue.", "label": "waiting()", "prediction": "waiting(2)"},
    {"label": "waiting()", "pred": "waiting(2)", "prediction": "cut"},
]


def only(converter, record):
    (made,) = converter(FileContext("till")).convert(record, 1)
    return made


def test_a_task_has_its_chunks_in_order_and_its_other_fields_where_they_stood():
    task, *chunks = Tasks(FileContext("tasks", setting="bm25")).convert(TASK, 1)
    assert task.fields == {
        "external_id": "project_cc_python/7",
        "language": "python",
        "repository": "shop-till-1a2b3c",
        "path": "till/main.py",
        "prompt": TASK["prompt"],
        "reference": "waiting()",
        "right_context": "\nprint(line)\n",
        "prompt_line": 0,
        "reference_line": 2,
        "right_context_line": 3,
    }
    assert [(chunk.fields["rank"], chunk.fields["setting"], chunk.fields["score"]) for chunk in chunks] == [
        (1, "bm25", 7.5),
        (2, "bm25", 7.0),
    ]
    assert task.extra == {
        "difficulty": "low",
        "metadata": {"seen": 4},
        "crossfile_context": {"tokens": 12},
    }
    assert [chunk.extra for chunk in chunks] == [
        {"crossfile_context.text": "# the fragments"},
        {"why": "bm25"},
    ]


@pytest.mark.parametrize(("language", "sign"), [("python", "#"), ("typescript", "//"), (None, "#")])
def test_the_text_of_the_chunks_is_made_again_where_it_can_be(language, sign):
    chunks = [{"retrieved_chunk": "a\n\nb", "filename": "x.y"}, {"retrieved_chunk": ""}]
    head = f"{sign} Here are some relevant code fragments from other files of the repo:\n\n"
    part = f"{sign} the below code fragment can be found in:\n"
    text = f"{head}{part}{sign} x.y\n{sign} a\n{sign} \n{sign} b\n\n{part}{sign} \n{sign} \n\n"
    metadata = {"task_id": "1"} | ({"language": language} if language else {})
    task = {"prompt": "p", "groundtruth": "g", "right_context": "", "metadata": metadata}
    task["crossfile_context"] = {"list": chunks, "text": text}
    made, *found = Tasks(FileContext("tasks")).convert(task, 1)
    assert (made.extra, [chunk.extra for chunk in found]) == ({}, [{}, {}])
    assert write_task(made, found) == task
    for other in (text + " ", ""):
        task["crossfile_context"]["text"] = other
        made, *found = Tasks(FileContext("tasks")).convert(task, 1)
        assert (made.extra, bool(found[0].extra)) == ({}, True)
        assert write_task(made, found) == task


@pytest.mark.parametrize(
    "empty", [{}, {"text": "", "list": []}, {"list": [], "setting": "bm25", "tokens": 0}]
)
def test_a_task_for_which_nothing_was_retrieved_keeps_its_empty_context(empty):
    task = {"prompt": "p", "groundtruth": "g", "right_context": "", "metadata": {"task_id": "1"}}
    (made,) = Tasks(FileContext("tasks")).convert({**task, "crossfile_context": empty}, 1)
    assert write_task(made, []) == {**task, "crossfile_context": empty}
    # Pieces that come later are what was retrieved.
    chunks = Tasks(FileContext("tasks")).convert(
        {**task, "crossfile_context": {"list": [{"retrieved_chunk": "a"}]}}, 1
    )[1:]
    found = write_task(made, chunks)["crossfile_context"]
    assert ([chunk["retrieved_chunk"] for chunk in found["list"]], "a" in found["text"]) == (["a"], True)
    (made,) = Tasks(FileContext("tasks")).convert(task, 1)
    assert write_task(made, []) == task


@settings(deadline=None)
@given(spoilt(TASK))
def test_a_task_is_refused_with_a_reason_or_comes_back(record):
    known = FileContext("tasks")
    if made := taken(Tasks(known), record):
        assert Tasks(known).convert(write_task(made[0], made[1:]), 1) == made


@settings(deadline=None)
@given(st.sampled_from(PREDICTIONS).flatmap(spoilt))
def test_a_prediction_is_refused_with_a_reason_or_comes_back(record):
    known = FileContext("till")
    if made := taken(Predictions(known), record):
        assert Predictions(known).convert(write_prediction(made[0]), 1) == made


def test_the_three_forms_of_predictions():
    by_id, of_number, by_reference, by_label, both = (only(Predictions, row).fields for row in PREDICTIONS)
    assert (by_id["item"], by_id["reference"], by_id["text"]) == ("project_cc_python/7", None, "waiting(1)")
    assert [of_number[name] for name in ("item", "model", "setting", "trial", "text")] == [
        "7",
        "m",
        "s",
        "2",
        "",
    ]
    assert (by_reference["item"], by_reference["reference"], by_reference["text"]) == (None, "waiting()", "")
    assert (by_label["reference"], by_label["text"]) == ("waiting()", "waiting(2)")
    assert only(Predictions, PREDICTIONS[3]).extra == {"prompt": "line = queue."}
    assert both["text"] == "waiting(2)"


def test_a_model_is_the_records_own_else_the_users_else_the_files():
    row = {"task_id": "1", "pred": ""}
    stem = "java.StarCoder-7B.line_completion_rg1_bm25"
    for record, known, expected in [
        ({**row, "model": "own"}, FileContext(stem, model="user"), ("own", "line_completion_rg1_bm25")),
        (row, FileContext(stem, model="user", setting="given"), ("user", "given")),
        (row, FileContext(stem), ("StarCoder-7B", "line_completion_rg1_bm25")),
        ({**row, "setting": ""}, FileContext("plain.name"), ("plain.name", "")),
    ]:
        converter = Predictions(known)
        (made,) = converter.convert(record, 1)
        assert (made.fields["model"], made.fields["setting"]) == expected
        from_name = known.model == "" and "model" not in record
        assert list(converter.counts.values()) == ([1] if from_name else [])


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        ("predictions", ("predictions", "")),
        ("line_completion", ("line_completion", "line_completion")),
        ("python.line_completion", ("python", "line_completion")),
        ("m-1.5.line_completion_oracle_bm25", ("m-1.5", "line_completion_oracle_bm25")),
    ],
)
def test_what_a_files_name_tells(stem, expected):
    assert parse_stem(stem) == expected


@pytest.mark.parametrize(
    ("task_id", "path", "own", "expected"),
    [
        ("project_cc_csharp/1", "a.py", None, "csharp"),
        ("project_cc_csharp/1", "a.py", "python", "python"),
        ("1", "a/B.JAVA", None, "java"),
        ("project_cc_rust/1", "a.tsx", None, "typescript"),
        ("1", None, None, None),
        ("1", "Makefile", None, None),
    ],
)
def test_a_language_is_the_metadatas_else_the_ids_else_the_files(task_id, path, own, expected):
    metadata = {"task_id": task_id, "file": path, "language": own}
    record = {"prompt": "", "groundtruth": "x", "metadata": metadata}
    made = only(Tasks, record)
    assert made.fields["language"] == expected
    assert only(Tasks, write_task(made, [])) == made


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("prompt", None, "no value in 'prompt'"),
        ("groundtruth", "", "'groundtruth' is empty"),
        ("metadata", [], "'metadata' is a list ([]) where an object is expected"),
        ("metadata", {}, "missing field 'metadata.task_id'"),
        ("right_context", 3, "'right_context' is a number (3) where text is expected"),
        ("prompt", "\ud800", "'prompt' holds half a surrogate pair, which is no text"),
        (
            "crossfile_context",
            {"list": [{"retrieved_chunk": "", "score": "high"}]},
            "'crossfile_context.list[0].score' is text ('high') where a number is expected",
        ),
        (
            "crossfile_context",
            {"list": [7]},
            "'crossfile_context.list[0]' is a number (7) where an object is expected",
        ),
    ],
)
def test_a_reason_names_the_field(field, value, reason):
    with pytest.raises(Refused) as refusal:
        Tasks(FileContext("tasks")).convert({**TASK, field: value}, 1)
    assert str(refusal.value) == reason
