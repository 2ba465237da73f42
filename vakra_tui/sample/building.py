"""The sample's build: sources to dataset by the same writer as ``vakra-tui build``, then the runs on it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from toolenv.build.writer import BuildReport, build_dataset
from vakra_tui.sample.runs import write_runs
from vakra_tui.sample.sources import domains, load_domain


async def build_sample(out: Path) -> BuildReport:
    """Write ``dataset/`` and ``runs/`` into ``out``."""
    with tempfile.TemporaryDirectory() as folder:
        sources = [load_domain(domain, Path(folder)) for domain in domains()]
        report = await build_dataset(sources, out / "dataset")
    write_runs(out / "dataset", out / "runs")
    return report
