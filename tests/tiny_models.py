"""Models of the three layouts that encoders load, a few layers wide and with random weights, made in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

WORDS = [
    "return",
    "def",
    "the",
    "a",
    "of",
    "file",
    "list",
    "sort",
    "open",
    "read",
    "max",
    "min",
    "number",
    "text",
    "to",
    "in",
    "for",
    "if",
    "else",
    "import",
    "x",
    "y",
]


def bert(folder: Path, *, seed: int = 0, width: int = 32, length: int = 64) -> Path:
    """A sentence-transformers model: WordPiece, BertModel, mean pooling; as all-MiniLM is."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    raw = folder.with_name(folder.name + "-raw")
    raw.mkdir(parents=True)
    pieces = [chr(letter) for letter in range(33, 127)]
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *pieces,
        *(f"##{one}" for one in pieces),
        *WORDS,
    ]
    (raw / "vocab.txt").write_text("\n".join(dict.fromkeys(vocabulary)), encoding="utf-8")
    BertTokenizerFast(str(raw / "vocab.txt")).save_pretrained(raw)
    _seeded(seed)
    config = BertConfig(**_sizes(len(vocabulary), width), max_position_embeddings=length)
    BertModel(config).save_pretrained(raw)
    transformer = Transformer(str(raw), max_seq_length=length)
    SentenceTransformer(modules=[transformer, Pooling(width, "mean"), Normalize()]).save(str(folder))
    return folder


def roberta(folder: Path, *, seed: int = 0, width: int = 32, length: int = 64) -> Path:
    """A bare RobertaModel with byte-level BPE; as CodeBERT and UniXcoder are."""
    from transformers import RobertaConfig, RobertaModel

    size = _byte_level(folder, length)
    _seeded(seed)
    # Positions begin behind the padding's, 1.
    config = RobertaConfig(**_sizes(size, width), max_position_embeddings=length + 2, pad_token_id=1)
    RobertaModel(config).save_pretrained(folder)
    return folder


def codet5p(folder: Path, *, seed: int = 0, width: int = 32, projected: int = 16, length: int = 64) -> Path:
    """An encoder of T5 with a projection that is no part of it; as the embedding model of CodeT5+ is."""
    import torch
    from transformers import T5Config, T5EncoderModel

    size = _byte_level(folder, length)
    _seeded(seed)
    config = T5Config(
        vocab_size=size, d_model=width, d_ff=48, d_kv=8, num_layers=2, num_heads=4, dropout_rate=0.0,
        pad_token_id=1, decoder_start_token_id=0, is_encoder_decoder=False, tie_word_embeddings=False,
    )  # fmt: skip
    weights = dict(T5EncoderModel(config).state_dict())
    projection = torch.nn.Linear(width, projected)
    weights |= {"proj.weight": projection.weight.data, "proj.bias": projection.bias.data}
    torch.save(weights, folder / "pytorch_model.bin")
    fields = {
        **config.to_dict(), "model_type": "codet5p_embedding", "embed_dim": projected,
        "architectures": ["CodeT5p_Embedding"], "auto_map": {"AutoConfig": "made.Up", "AutoModel": "made.Up"},
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(fields), encoding="utf-8")
    return folder


def _seeded(seed: int) -> None:
    import torch

    torch.manual_seed(seed)


def _sizes(vocabulary: int, width: int) -> dict[str, Any]:
    return {
        "vocab_size": vocabulary,
        "hidden_size": width,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 48,
    }


def _byte_level(folder: Path, length: int) -> int:
    """Write a tokenizer of byte-level BPE that knows a few merges; return the size of its vocabulary."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaTokenizerFast

    folder.mkdir(parents=True)
    trained = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator(
        [f"{one} {one}\n" for one in WORDS], vocab_size=400, special_tokens=special, show_progress=False
    )
    trained.save_model(str(folder))
    tokenizer = RobertaTokenizerFast(
        str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=length
    )
    tokenizer.save_pretrained(folder)
    return len(tokenizer)
