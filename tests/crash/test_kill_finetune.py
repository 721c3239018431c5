"""kill -9 in the middle of `workbench finetune`: no half-written model is there, and the weights are the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tiny_models
import torch
from learnable import learnable, write_beir
from safetensors.torch import load_file

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("one_thread")]

# The process kills itself in the middle of the n-th file of weights that it writes.
KILLED = """
import os, signal, sys
import safetensors.torch

written, save = [], safetensors.torch.save_file

def half(tensors, path, *given, **more):
    written.append(path)
    save(tensors, path, *given, **more)
    if len(written) == int(sys.argv[1]):
        os.truncate(path, os.path.getsize(path) // 2)
        os.kill(os.getpid(), signal.SIGKILL)

safetensors.torch.save_file = half
import transformers.modeling_utils
transformers.modeling_utils.safe_save_file = half
import workbench.cli
workbench.cli.main(sys.argv[2:])
"""


@pytest.mark.parametrize("at", [1, 3, 9])
def test_no_half_written_model_is_there(at: int, tmp_path: Path, workbench: Any) -> None:
    folder = write_beir(tmp_path / "beir", learnable({"train": 32, "dev": 8}))
    model = tiny_models.bert(tmp_path / "tiny")
    asked = ["finetune", str(folder), "--model", str(model), "--epochs", "2", "--batch", "8", "--output"]
    killed = [*asked, str(tmp_path / "killed")]
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = subprocess.run([sys.executable, "-c", KILLED, str(at), *killed], check=False, env=alone)
    assert run.returncode == -signal.SIGKILL
    assert not (tmp_path / "killed").exists()
    assert workbench(*killed).code == 0
    assert workbench(*asked, tmp_path / "whole").code == 0
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in ("killed", "whole"))
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)
