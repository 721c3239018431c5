"""A data set as the Hugging Face hub has it: Parquet files by part, a card, and its Croissant description."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import file_digest
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

from store.formats.protocol import ANY, Export, Format, WriteResult
from store.formatting import pluralize

WHOLE = "train"
"""The only part of a data set without a split, as the hub calls it."""
_NAME = re.compile(r"\W+")


def write_hugging_face(export: Export) -> WriteResult:
    """Write data/PART-00000-of-00001.parquet for each part, README.md and croissant.json."""
    rows = export.labelled()
    about = export.described()
    folder = export.target / "data"
    folder.mkdir()
    files: dict[str, Path] = {}
    for part in export.parts or (WHOLE,):
        file = folder / f"{_NAME.sub('_', part)}-00000-of-00001.parquet"
        rows.copy("parquet", file=file, part=part if export.parts else None)
        files[_NAME.sub("_", part)] = file
    numbers = {part: pyarrow.parquet.read_metadata(file).num_rows for part, file in files.items()}
    name = Path(export.name).stem
    (export.target / "README.md").write_text(_card(name, about, numbers), encoding="utf-8")
    described = _croissant(name, about, files, export.target)
    (export.target / "croissant.json").write_text(
        json.dumps(described, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    return WriteResult(sum(numbers.values()))


def _card(name: str, about: Mapping[str, Any], numbers: Mapping[str, int]) -> str:
    """Return the card: where the files are, and where the labels come from."""
    # Quoted, since `no`, `null` and `1` are no texts in YAML.
    files = "\n".join(f'  - split: "{part}"\n    path: data/{part}-*.parquet' for part in numbers)
    sizes = "\n".join(f"| {part} | {number:,} |" for part, number in numbers.items())
    values = ", ".join(f"{value} {word}".rstrip() for value, word in about["values"].items())
    lines = [
        f"---\npretty_name: {json.dumps(name, ensure_ascii=False)}\nconfigs:\n"
        f"- config_name: default\n  data_files:\n{files}\n---",
        f"# {name}",
        f"{about['plural'].capitalize()} with labels of the question {about['question']}: {about['text']} "
        f"({values}).",
        f"| part | rows |\n|---|---|\n{sizes}",
        *_rejected_lines(about["rejected"]),
        *_split_lines(about["split"]),
        "## Columns",
        "`label` and `word` hold the label that counts; `provenance` every person's label of the same item: "
        "who (`rater`), `value`, when (`judged_at`), how (`origin`; `blind` where others' work was hidden; "
        "`saw_label` where a label of agents was on the screen), and `phase`, `study`, `condition` and "
        "`presentation` of the assignment.",
        "## Licences",
        _licences(about),
        f"Exported {about['made_at']:%Y-%m-%d %H:%M} UTC.",
    ]
    return "\n\n".join(lines) + "\n"


def _rejected_lines(number: int) -> list[str]:
    """Return the paragraph about records that imports rejected."""
    if not number:
        return []
    return [f"Left out, unless imported since: {pluralize(number, 'record')} that imports rejected."]


def _split_lines(split: Mapping[str, Any] | None) -> list[str]:
    """Return the paragraphs about a split: whose labels, agreement, leakage."""
    if split is None:
        return []
    true = split["truth"]
    agreement = "\n".join(
        f"| {one['part']} | {one['queries']:,} | {one['items']:,} | "
        f"{', '.join(f'{value}: {number:,}' for value, number in one['labels'].items())} | "
        f"{'–' if one['agreement']['alpha'] is None else format(one['agreement']['alpha'], '.4f')} | "
        f"{one['agreement']['units']:,} |"
        for one in split["parts"]
    )
    shared = [
        f"{sort} in {' and '.join(one['parts'])}: {one['number']:,}"
        for sort, numbers in split["leakage"].items()
        for one in numbers
    ]
    return [
        "## Labels and parts",
        f"The labels are those of {true['against']} of {pluralize(len(true['panel']), 'rater')}; "
        f"{true['blind']:,} of their labels were given blind, {true['revealed']:,} beside the agents' label "
        f"({'counted' if true['with_revealed'] else 'left out'}), {true['other']:,} with nothing to see. "
        f"{true['undecided']:,} without a decision are in no part; "
        f"{true['single']:,} rest on one rater alone.",
        f"The split {split['split']} keeps apart: {split['disjoint']}; seed {split['seed']}. SHA-256 of its "
        f"labels: `{split['digest']}`.",
        "| part | queries | items | labels | Krippendorff's alpha | units |\n|---|---|---|---|---|---|\n"
        + agreement,
        " ".join(split["agreement_words"]),
        "Shared by two parts, looked for more strictly than the parts were made: "
        + ("; ".join(shared) if shared else "nothing")
        + ".",
    ]


def _licences(about: Mapping[str, Any]) -> str:
    if not about["licences"]:
        return "The items name no licence."
    named = ", ".join(
        f"{licence or 'not named'}: {number:,}" for licence, number in about["licences"].items()
    )
    return f"Of the items, in the column `licence`: {named}."


_TYPES = {"string": "sc:Text", "large_string": "sc:Text", "int64": "sc:Integer", "int32": "sc:Integer"}
_TYPES |= {"double": "sc:Float", "bool": "sc:Boolean"}


def _croissant(
    name: str, about: Mapping[str, Any], files: Mapping[str, Path], folder: Path
) -> dict[str, Any]:
    """Return the description in Croissant 1.0; lists and structs, such as the provenance, have no field."""
    distribution, records = [], []
    for part, file in files.items():
        with file.open("rb") as opened:
            digest = file_digest(opened, "sha256").hexdigest()
        distribution.append(
            {
                "@type": "cr:FileObject",
                "@id": f"{part}.parquet",
                "name": f"{part}.parquet",
                "contentUrl": str(file.relative_to(folder)),
                "encodingFormat": "application/x-parquet",
                "sha256": digest,
            }
        )
        schema = pyarrow.parquet.read_schema(file)
        records.append({"@type": "cr:RecordSet", "@id": part, "name": part, "field": _fields(part, schema)})
    licences: Sequence[str] = [licence for licence in about["licences"] if licence]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": name,
        "description": f"Labels of {about['question']}: {about['text']}",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "version": "1.0.0",
        "datePublished": f"{about['made_at']:%Y-%m-%d}",
        **({"license": licences} if licences else {}),
        "distribution": distribution,
        "recordSet": records,
    }


def _fields(part: str, schema: pyarrow.Schema) -> list[dict[str, Any]]:
    return [
        {
            "@type": "cr:Field",
            "@id": f"{part}/{field.name}",
            "name": field.name,
            "dataType": _TYPES[str(field.type)],
            "source": {"fileObject": {"@id": f"{part}.parquet"}, "extract": {"column": field.name}},
        }
        for field in schema
        if str(field.type) in _TYPES
    ]


_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "equivalentProperty": "cr:equivalentProperty",
    "samplingRate": "cr:samplingRate",
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The terms of Croissant 1.0, as its specification gives them."""

HUGGING_FACE = Format(
    name="hugging-face",
    description="a data set of the Hugging Face hub: data/PART-*.parquet, its card and its Croissant file",
    containers=ANY,
    layouts=(),
    write=write_hugging_face,
    carries="Labelled items with who judged them, a card and a Croissant file, for the Hugging Face hub.",
    suffix="",
    opened_by='datasets.load_dataset("{path}")',
    needs_rater=True,
    folder=True,
    choices=frozenset({"rater", "policy", "question", "sample", "study", "split", "comments"}),
    holds=("labelled item", "labelled items"),
    published=True,
)
