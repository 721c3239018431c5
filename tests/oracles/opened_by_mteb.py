"""Open an export in the format `beir` with MTEB's own loader, and print what it found as JSON.

workbench import sample.duckdb sample_data/pairs.jsonl sample_data/labels.csv
workbench split sample.duckdb v1 --policy majority --panel sample-ana,sample-ben,sample-chi
workbench export sample.duckdb benchmark --format beir --split v1
python opened_by_mteb.py benchmark > opened_by_mteb.json
"""

import json
import os
import sys
import tempfile
from hashlib import sha256
from importlib.metadata import version

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HOME"] = tempfile.mkdtemp()

from mteb.abstasks.retrieval_dataset_loaders import RetrievalDatasetLoader

found = {"versions": {name: version(name) for name in ("mteb", "datasets")}}
for part in ("train", "dev", "test"):
    loaded = RetrievalDatasetLoader(sys.argv[1], None, split=part).load()
    qrels = sorted(
        [query, code, int(score)]
        for query, codes in loaded["relevant_docs"].items()
        for code, score in codes.items()
    )
    found[part] = {
        "codes": len(loaded["corpus"]),
        "queries": len(loaded["queries"]),
        "qrels": len(qrels),
        "digest": sha256(json.dumps(qrels).encode()).hexdigest(),
    }
print(json.dumps(found, indent=2))
