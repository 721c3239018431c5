import json
import subprocess
import sys
from pathlib import Path

import pytest

from agents.llm.protocol import LanguageModel
from agents.llm.registry import open_model, providers
from agents.llm.settings import ModelSettings
from store.errors import UnknownName, WorkbenchError


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A distribution of someone else's that provides models of its own."""
    (tmp_path / "echo_models.py").write_text(
        "class Echo:\n"
        "    def __init__(self, model):\n"
        "        self.name = 'echo:' + model\n"
        "def create(model, settings):\n"
        "    return Echo(model)\n"
    )
    info = tmp_path / "echo_models-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: echo-models\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[workbench.models]\necho = echo_models:create\nbroken = echo_models:nothing\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_our_own_providers_are_found_through_the_registry() -> None:
    assert {"openai", "anthropic", "scripted"} <= set(providers())
    settings = ModelSettings(openai_api_key="k")
    models: list[LanguageModel] = [open_model(f"{name}:m-1", settings) for name in ("openai", "anthropic")]
    assert [model.name for model in models] == ["openai:m-1", "anthropic:m-1"]


def test_a_name_may_have_colons_of_its_own() -> None:
    assert open_model("openai:llama3:8b", ModelSettings(openai_api_key="k")).name == "openai:llama3:8b"


def test_others_may_add_providers(plugin: Path) -> None:
    assert "echo" in providers()
    assert open_model("echo:loud", ModelSettings()).name == "echo:loud"


def test_a_provider_that_cannot_be_loaded_is_named(plugin: Path) -> None:
    with pytest.raises(WorkbenchError, match="echo_models:nothing"):
        open_model("broken:m", ModelSettings())


def test_an_unknown_provider_is_answered_with_those_known(plugin: Path) -> None:
    with pytest.raises(UnknownName) as caught:
        open_model("gpt:4", ModelSettings())
    assert '"gpt"' in caught.value.message
    assert "echo:NAME" in caught.value.hint


@pytest.mark.parametrize("spec", ["gpt-4o-mini", "openai:", ":m", "", " : "])
def test_half_a_name_is_refused(spec: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        open_model(spec, ModelSettings())
    assert caught.value.title == "Model name incomplete"


def test_opening_a_model_imports_no_sdk(tmp_path: Path) -> None:
    replies = tmp_path / "replies.jsonl"
    replies.write_text(json.dumps({"role": "screener", "subject": "a", "reply": {}}) + "\n")
    program = (
        "import sys\n"
        "from agents.llm.registry import open_model\n"
        "from agents.llm.settings import ModelSettings\n"
        "import agents.llm.openai, agents.llm.anthropic\n"
        "settings = ModelSettings(openai_api_key='k', anthropic_api_key='k')\n"
        "for spec in sys.argv[1:]:\n"
        "    open_model(spec, settings)\n"
        "heavy = {'openai', 'anthropic', 'httpx2', 'httpx', 'textual', 'torch'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    specs = ["openai:m", "anthropic:m", f"scripted:{replies}"]
    done = subprocess.run(
        [sys.executable, "-c", program, *specs], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
