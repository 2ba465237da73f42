"""The sample's build: its sources are what ``vakra-tui build --plan`` makes its dataset from; then the runs on it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from toolenv.build.build_plan import read_plan_file
from toolenv.build.builder import Built, build_plan
from vakra_tui.sample.runs import write_runs
from vakra_tui.sample.sources import write_sources


async def build_sample(out: Path) -> Built:
    """Write ``dataset/`` and ``runs/`` into ``out``."""
    with tempfile.TemporaryDirectory() as folder:
        built = await build_plan(read_plan_file(write_sources(Path(folder))), out / "dataset")
    write_runs(out / "dataset", out / "runs")
    return built
