"""Makes the helper module of this folder importable, and the built-in sample with an environment."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from broken_sample import Sample, changed

from toolenv.dataset import Dataset
from toolenv.model import ToolCall
from toolenv.native import NativeEnvironment
from vakra_tui.sample import sample_dataset


@pytest.fixture(scope="session")
def sample() -> Sample:
    dataset = Dataset.open(sample_dataset())
    return Sample(dataset, NativeEnvironment(dataset))


@pytest.fixture
def change() -> Callable[..., ToolCall]:
    return changed
