"""The sample, built once a test session."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from toolenv.build.builder import Built
from vakra_tui.sample.building import build_sample


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Built]:
    """The folder with ``dataset`` and ``runs``, and what the build tells of it."""
    folder = tmp_path_factory.mktemp("sample")
    return folder, asyncio.run(build_sample(folder))


@pytest.fixture(scope="session")
def sample(built: tuple[Path, Built]) -> Path:
    return built[0]
