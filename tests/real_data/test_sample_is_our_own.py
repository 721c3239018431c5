"""No line of the sample stands in the real data: what is shipped was written for it."""

import csv
import gzip
import io
import json
import tarfile

LONG = 40

# What the form of CrossCodeEval prescribes, and what there is only one way to write.
NOBODYS = {
    *(f"{mark} Here are some relevant code fragments from other files of the repo:" for mark in ("#", "//")),
    *(f"{mark} the below code fragment can be found in:" for mark in ("#", "//")),
    "from datetime import datetime, timedelta",
}


def texts(value):
    """Every text within a JSON value, names of fields aside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts(part)


def values(text):
    """The JSON values that stand in a text, one after the other."""
    decoder, place = json.JSONDecoder(), 0
    while place < len(text):
        value, place = decoder.raw_decode(text, place)
        yield value
        while place < len(text) and text[place].isspace():
            place += 1


def contents(path):
    """The texts that a file holds: of its JSON values, of its archive's files, or its own."""
    data = path.read_bytes()
    if path.name.endswith(".tar.gz"):
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive.getmembers():
                if member.isfile():
                    yield archive.extractfile(member).read().decode("utf-8", "replace")
        return
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "replace")
    if {".json", ".jsonl"} & set(path.suffixes):
        for value in values(text.lstrip()):
            yield from texts(value)
    elif path.suffix == ".csv":
        for row in csv.reader(io.StringIO(text)):
            yield from row
    else:
        yield text


def lines(folder):
    """The long lines of every file under a folder, without the space around them."""
    return {
        line.strip()
        for path in folder.rglob("*")
        if path.is_file()
        for text in contents(path)
        for line in text.splitlines()
        if len(line.strip()) >= LONG
    }


def test_no_long_line_of_the_sample_stands_in_the_real_data(sample_folder, shared_data):
    ours, theirs = lines(sample_folder), lines(shared_data("crosscodeeval").parent)
    assert len(ours) > 1000
    assert len(theirs) > 50_000
    assert (ours & theirs) - NOBODYS == set()
