"""One music shop, built once a test session with documents and distractors."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.build.music_shop import make_music_shop
from toolenv.build.build_plan import BuildFiles
from toolenv.build.builder import Built, build
from toolenv.build.generate import BuildSettings
from toolenv.build.source import Passage

SETTINGS = BuildSettings(chains=40, multi_source=20)
DISTRACTORS = {"weather": (Passage(doc_id="w1", text="Fog is a cloud that touches the ground."),)}


@pytest.fixture(scope="session")
def music(tmp_path_factory: pytest.TempPathFactory) -> BuildFiles:
    database, questions, documents = make_music_shop(tmp_path_factory.mktemp("music"))
    return BuildFiles(database=database, questions=questions, domain="music", documents=documents)


@pytest.fixture(scope="session")
def built(music: BuildFiles, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Built]:
    out = tmp_path_factory.mktemp("out") / "dataset"
    return out, asyncio.run(build(music, out, SETTINGS, distractors=DISTRACTORS))
