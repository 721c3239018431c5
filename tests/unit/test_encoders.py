"""Encoders: each layout's pooling against transformers alone, prompts, texts that are too long, services."""

import json
import shutil

import numpy
import pytest
import tiny_models
from loopback_models import Body, LoopbackModels, Status

from agents.llm.errors import ModelError
from agents.retrieval.encoders import open_encoders
from agents.retrieval.vectors import VectorCache
from store.errors import UnknownName, WorkbenchError

TEXTS = [
    "how to sort a list",
    "def f(x):\n    return sorted(x)",
    "read file",
    "class Ünïcode:\n\tpass  # " + "min max " * 200,
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A folder with a model of each layout."""
    folder = tmp_path_factory.mktemp("models")
    for make in (tiny_models.bert, tiny_models.roberta, tiny_models.codet5p):
        make(folder / make.__name__)
    return folder


def reference(folder, model, prefix=""):
    """The last hidden states of transformers alone, with their mask, and the model's other output."""
    import torch
    from transformers import AutoTokenizer, T5Config

    tokenizer = AutoTokenizer.from_pretrained(folder, config=T5Config())
    texts = [prefix + text for text in TEXTS]
    inputs = tokenizer(texts, padding=True, truncation=True, max_length=64, return_tensors="pt")
    with torch.no_grad():
        return model.eval()(**inputs), inputs["attention_mask"].unsqueeze(-1).float()


def unit(vectors):
    return (vectors / vectors.norm(dim=1, keepdim=True)).numpy()


def pooler(folder):
    from transformers import RobertaModel

    return unit(reference(folder, RobertaModel.from_pretrained(folder))[0].pooler_output)


def mean(folder, prefix=""):
    from transformers import BertModel, RobertaModel

    kind = BertModel if folder.name == "bert" else RobertaModel
    found, mask = reference(folder, kind.from_pretrained(folder), prefix)
    return unit((found.last_hidden_state * mask).sum(1) / mask.sum(1))


def projected(folder):
    import torch
    from transformers import T5Config, T5EncoderModel

    fields = json.loads((folder / "config.json").read_text())
    fields.pop("model_type")
    weights = torch.load(folder / "pytorch_model.bin", weights_only=True)
    model = T5EncoderModel(T5Config(**fields))
    model.load_state_dict({name: value for name, value in weights.items() if not name.startswith("proj")})
    first = reference(folder, model)[0].last_hidden_state[:, 0]
    return unit(first @ weights["proj.weight"].T + weights["proj.bias"])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("{}/bert", lambda tiny: mean(tiny / "bert")),
        ("codebert={}/roberta", lambda tiny: pooler(tiny / "roberta")),
        ("unixcoder={}/roberta", lambda tiny: mean(tiny / "roberta")),
        ("unixcoder-encoder-only={}/roberta", lambda tiny: mean(tiny / "roberta", "<encoder-only>")),
        ("codet5p={}/codet5p", lambda tiny: projected(tiny / "codet5p")),
        ("{}/codet5p", lambda tiny: projected(tiny / "codet5p")),
    ],
)
def test_the_vector_of_each_layout_is_that_of_transformers_alone(tiny, given, expected):
    (encoder,) = open_encoders([given.format(tiny)])
    found = encoder.encode(TEXTS, "code")
    assert numpy.abs(found.vectors - expected(tiny)).max() < 1e-6
    assert found.vectors.dtype == numpy.float32
    assert found.truncated.tolist() == [False, False, False, True]


def test_a_text_of_100_000_tokens_is_cut_and_counted(tiny, tmp_path):
    (encoder,) = open_encoders([str(tiny / "bert")])
    vectors = VectorCache(tmp_path).vectors(encoder, ["x " * 100_000, "x"], "code")
    assert (vectors.truncated, vectors.all().shape) == (1, (2, 32))


def test_layers_of_random_weights_are_refused(tiny, tmp_path):
    (encoder,) = open_encoders([f"codet5p={tiny / 'roberta'}"])
    with pytest.raises(WorkbenchError, match="lack the layer 'proj'"):
        encoder.encode(TEXTS, "code")


def test_what_is_no_model_is_refused(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for given, words in {
        str(tiny / "roberta"): "do not say how the vector",
        "nonsense=folder": "no layout",
        f"mean={tmp_path / 'nothing'}": "There is no folder",
        "somebody/nothing-of-this-name": "the Hugging Face hub could not be reached",
        "minlm": "There is no folder minlm",
    }.items():
        with pytest.raises(WorkbenchError, match=words):
            open_encoders([given])
    with pytest.raises(UnknownName, match="Two models are called"):
        open_encoders([f"mean={tiny / 'roberta'}", f"cls={tiny / 'roberta'}"])
    broken = shutil.copytree(tiny / "bert", tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(WorkbenchError, match="Model not loaded"):
        open_encoders([str(broken)])[0].encode(TEXTS, "code")


def test_each_role_has_its_prompt(tiny, tmp_path):
    for name, prompts, expected in [
        ("e5-base-v2", {}, ("query: ", "passage: ")),
        ("own", {"query": "Q: ", "document": "D: "}, ("Q: ", "D: ")),
        (
            "jina-code-embeddings-0.5b",
            {"nl2code_query": "find:\n", "nl2code_document": "code:\n"},
            ("find:\n", "code:\n"),
        ),
        ("plain", {}, ("", "")),
    ]:
        folder = shutil.copytree(tiny / "bert", tmp_path / name)
        file = folder / "config_sentence_transformers.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"prompts": prompts}))
        (encoder,), (bare,) = open_encoders([str(folder)]), open_encoders([f"{tiny / 'bert'}"])
        for role, prompt in zip(("query", "code"), expected, strict=True):
            assert encoder.identity(role)["prompt"] == prompt
            prefixed = bare.encode([prompt + text for text in TEXTS], role).vectors
            assert numpy.abs(encoder.encode(TEXTS, role).vectors - prefixed).max() < 1e-6


def test_the_raw_codebert_is_warned_of(tiny, tmp_path):
    raw = shutil.copytree(tiny / "roberta", tmp_path / "codebert-base")
    tuned = shutil.copytree(tiny / "roberta", tmp_path / "codebert-csn")
    assert "ranks near chance" in open_encoders([f"codebert={raw}"])[0].warning
    assert open_encoders([f"codebert={tuned}"])[0].warning == ""


def test_the_embedded_model_knows_what_is_alike():
    (encoder,) = open_encoders(["minilm"])
    query = encoder.encode(["sort a list in descending order"], "query").vectors
    codes = encoder.encode(
        ["def down(a):\n    return sorted(a, reverse=True)", "import socket"], "code"
    ).vectors
    assert codes.shape == (2, 384)
    assert (query @ codes.T).argmax() == 0


def test_vectors_of_a_service(tmp_path):
    texts = [f"text {number}" for number in range(150)] + ["long " * 5000]
    limits = {1: Status(429, retry_after=0.01), 2: Status(500, retry_after=0.01)}
    with LoopbackModels(lambda _, number: limits.get(number)) as server:
        (encoder,) = open_encoders(["openai:text-embedding-3-small"], api=server.settings())
        found = encoder.encode(texts, "query")
        sent = [one.body for one in server.requests]
    assert found.vectors.shape == (151, 32)
    assert numpy.allclose(numpy.linalg.norm(found.vectors, axis=1), 1)
    assert found.truncated.sum() == 1
    # In the order of the texts, whatever the order of the answers.
    assert numpy.abs(numpy.diff(found.vectors, axis=0)).max(axis=1).min() > 0
    assert {len(body["input"]) for body in sent} == {64, 23}
    assert {body["model"] for body in sent} == {"text-embedding-3-small"}
    with LoopbackModels() as server:
        again = open_encoders(["openai:text-embedding-3-small"], api=server.settings())[0]
        assert numpy.array_equal(again.encode(texts[70:71], "code").vectors[0], found.vectors[70])


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Status(401, "no"), "Key not accepted"),
        (Body({"error": {"message": "No such model.", "code": 404}}), "Model or address not known"),
        (Body({"object": "list", "data": []}), "Unexpected answer"),
        (Body({"object": "list", "data": [{"index": 0, "embedding": "AAAA"}]}), "Unexpected answer"),
        (Body({"object": "list", "data": [{"index": 0, "embedding": [1.0, None]}]}), "Not a number"),
    ],
)
def test_what_a_service_says_wrong_is_an_error(tmp_path, outcome, words):
    with LoopbackModels(lambda *_: outcome) as server:
        (encoder,) = open_encoders(["openai:m"], api=server.settings())
        with pytest.raises(WorkbenchError, match=words):
            VectorCache(tmp_path).vectors(encoder, ["a text"], "query")


def test_a_service_needs_a_key():
    with pytest.raises(ModelError, match="needs a key"):
        open_encoders(["openai:text-embedding-3-small"])
