"""Models that run on this machine by transformers, and continue texts; imported when the first is asked.

The tokens are the model's own: the context is cut at its end, the prompt at its beginning, as the published
program cuts them. The probabilities are those before temperature and `top_p`.
"""

from __future__ import annotations

import asyncio
import hashlib
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.llm.errors import ModelError
from agents.llm.plain_text import Continuation, PlainAnswer, continued, plain_of
from agents.llm.protocol import LanguageModel, ModelReply, ModelRequest, Usage
from agents.llm.request_watch import leave
from store.errors import UnknownName, WorkbenchError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agents.llm.protocol import PlainText
    from agents.llm.settings import ModelSettings

FILL_IN = (
    ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
    ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    ("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),
    ("▁<PRE>", "▁<SUF>", "▁<MID>"),
)
"""The tokens before the prompt, before the suffix and at the gap, of models that fill in the middle."""


def create(model: str, settings: ModelSettings) -> LanguageModel:
    """Make a model of a folder with a checkpoint, or of a GGUF file; its weights are loaded when it is asked.

    Raises:
        UnknownName: There is no such folder or file.
        WorkbenchError: The extra `models` is not installed.
    """
    place = Path(model).expanduser()
    if not (place / "config.json").is_file() and not (place.suffix == ".gguf" and place.is_file()):
        raise UnknownName(
            "Model not found",
            f"{model} is no folder with a model's files and no GGUF file.",
            "Give a folder with config.json, or a file whose name ends with .gguf.",
        )
    if find_spec("transformers") is None or find_spec("torch") is None:
        raise WorkbenchError(
            "Models are not installed",
            "A model on this machine needs the extra `models` (transformers and torch).",
            "Install it: pip install 'workbench[models]'",
        )
    return LocalModel(place)


def keep_quiet() -> None:
    """Keep warnings and progress bars of transformers off the terminal, which a screen may fill."""
    from transformers.utils import logging

    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]


_PARTS, _PART_BYTES = 64, 1 << 16


def _parts(file: Path) -> Iterator[bytes]:
    """Yield parts of a file, evenly spread from its beginning to its end; all of a small one."""
    size = file.stat().st_size
    with file.open("rb") as opened:
        if size <= _PARTS * _PART_BYTES:
            yield opened.read()
            return
        for number in range(_PARTS):
            opened.seek(number * (size - _PART_BYTES) // (_PARTS - 1))
            yield opened.read(_PART_BYTES)


class LocalModel:
    """A causal language model of transformers."""

    def __init__(self, place: Path) -> None:
        self.name = f"transformers:{place.stem if place.is_file() else place.absolute().name}"
        self.knows_subjects = False
        self._place = place
        self._alone = asyncio.Lock()

    @cached_property
    def address(self) -> str:
        """A digest of its files: of parts of them, since weights are large."""
        files = [self._place] if self._place.is_file() else sorted(self._place.iterdir())
        told = hashlib.sha256()
        for file in (one for one in files if one.is_file()):
            told.update(f"{file.name}\0{file.stat().st_size}\0".encode())
            for part in _parts(file):
                told.update(part)
        return told.hexdigest()[:12]

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Continue the plain text of a request; see `LanguageModel.reply`."""
        import transformers

        plain = plain_of(request, self.name, "Serve the model in OpenAI's form, and name it: openai:NAME")

        async def ask(n: int) -> PlainAnswer:
            async with self._alone:
                leave()
                return await asyncio.to_thread(partial(self._answer, plain, n, request.seed))

        sdk = f"transformers {transformers.__version__}"
        return await continued(request, plain, ask, name=self.name, sdk=sdk)

    async def close(self) -> None:
        """Let the weights go."""
        self.__dict__.pop("_loaded", None)

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        keep_quiet()
        folder, given = str(self._place), {}
        if self._place.is_file():
            folder, given = str(self._place.parent), {"gguf_file": self._place.name}
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, **given)
            model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=False, **given)
        except Exception as error:
            # Whatever transformers raises for files that are not whole, or need code of their own.
            raise ModelError(
                "bad_request",
                "Model not loaded",
                f"{self._place}: {str(error).strip() or type(error).__name__}",
                "Check that the files are whole, and of a model that continues texts.",
            ) from error
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        return tokenizer, model.to(device).eval()  # type: ignore[arg-type]  # of a decorator of its own

    def _answer(self, plain: PlainText, n: int, seed: int | None) -> PlainAnswer:
        try:
            return self._continue(plain, n, seed)
        except (RuntimeError, ValueError, IndexError) as error:
            # Out of the memory of the device, or a text that the model cannot read.
            raise ModelError(
                "bad_request", "Model failed", f"{self.name}: {str(error).strip() or type(error).__name__}"
            ) from error

    def _continue(self, plain: PlainText, n: int, seed: int | None) -> PlainAnswer:
        import torch

        tokenizer, model = self._loaded
        given = torch.tensor([self._tokens(tokenizer, model, plain)], device=model.device)
        options: dict[str, Any] = {"do_sample": False}
        if plain.temperature:
            options = {
                "do_sample": True,
                "temperature": plain.temperature,
                "top_p": 1.0 if plain.top_p is None else plain.top_p,
                "top_k": 0,
                "num_return_sequences": n,
            }
            torch.manual_seed(0 if seed is None else seed)
        padding = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
        with torch.inference_mode():
            made = model.generate(
                given,
                attention_mask=torch.ones_like(given),
                max_new_tokens=plain.max_tokens,
                pad_token_id=padding,
                return_dict_in_generate=True,
                output_logits=True,
                **options,
            )
        written = made.sequences[:, given.shape[1] :]
        logits = torch.stack(made.logits, dim=1).float()
        each = torch.log_softmax(logits, dim=-1).gather(2, written.unsqueeze(-1)).squeeze(-1)
        ends = model.generation_config.eos_token_id
        ends = set(ends) if isinstance(ends, list) else {ends}
        found, tokens = [], 0
        for ids, probabilities in zip(written.tolist(), each.tolist(), strict=True):
            length = next((place + 1 for place, one in enumerate(ids) if one in ends), len(ids))
            tokens += length
            found.append(
                Continuation(
                    text=tokenizer.decode(ids[:length], skip_special_tokens=True),
                    log_probability=sum(probabilities[:length]) / length if length else None,
                )
            )
        return PlainAnswer(found, Usage(given.shape[1], tokens), self.name)

    def _tokens(self, tokenizer: Any, model: Any, plain: PlainText) -> list[int]:
        """Return the tokens of a text, cut to the model's length.

        Raises:
            ModelError: The middle is to be filled in, and the model has no tokens for that.
        """

        def tokens(text: str) -> list[int]:
            ids: list[int] = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
            return ids

        # Models that were trained with a token at the beginning get it, however long the prompt is.
        begin = tokenizer("", verbose=False)["input_ids"][:1]
        before = begin if begin == [tokenizer.bos_token_id] else []
        after: list[int] = []
        if plain.suffix:
            prefix, suffix, middle = self._gap(tokenizer)
            before = [*before, prefix]
            after = [suffix, *tokens(plain.suffix)[: plain.context_tokens], middle]
        positions = getattr(model.config, "max_position_embeddings", None) or plain.longest
        room = min(plain.longest, positions) - plain.max_tokens - len(before) - len(after)
        # A short model reads the prompt rather than the context.
        before = [*before, *tokens(plain.context)[: max(min(plain.context_tokens, room // 2), 0)]]
        room = min(plain.longest, positions) - plain.max_tokens - len(before) - len(after)
        if room < 1:
            raise ModelError(
                "bad_request",
                "Model too short",
                f"{self.name} reads {positions:,} tokens, which leaves none for the text.",
                "Name another model.",
            )
        return [*before, *tokens(plain.prompt)[-room:], *after]

    def _gap(self, tokenizer: Any) -> Sequence[int]:
        known = tokenizer.get_vocab()
        for names in FILL_IN:
            if all(name in known for name in names):
                return [known[name] for name in names]
        raise ModelError(
            "bad_request",
            "No filling in",
            f"{self.name} has no tokens to fill in the middle of a text.",
            "Leave --fim out, or name another model.",
        )
