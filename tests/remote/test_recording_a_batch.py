"""A batch over the sample, natively while it is recorded, then from the recording, then over servers: one report."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
import yaml

from vakra_tui.cli import main
from vakra_tui.sample import sample_dataset, sample_runs

ENVIRONMENTS = re.compile(r'^ "environments": .*$', re.MULTILINE)


@pytest.fixture
def sample(tmp_path: Path) -> tuple[Path, Path]:
    """The sample's dataset and its run with faults, in a cache of this test's own."""
    data = sample_dataset()
    return data, sample_runs()["flawed"]


def report(tmp_path: Path, data: Path, run: Path, name: str, *words: str) -> str:
    out = tmp_path / f"{name}.json"
    store = f"sqlite:///{tmp_path / f'{name}.db'}"
    code = main(["--batch", str(data), "--run", str(run), "--out", str(out), "--db", store, "--quiet", *words])
    assert code == 0
    return out.read_text()


def test_a_recorded_batch_gives_the_same_report(tmp_path: Path, sample: tuple[Path, Path]) -> None:
    data, run = sample
    folder = tmp_path / "recording"
    native = report(tmp_path, data, run, "native", "--record", str(folder))
    recorded = report(tmp_path, data, run, "recorded", "--env", f"recorded:{folder}")
    assert json.loads(recorded)["environments"][0]["kind"] == "recorded"
    assert ENVIRONMENTS.sub("", recorded) == ENVIRONMENTS.sub("", native)


def test_a_batch_over_a_connection_file_gives_the_same_scores(tmp_path: Path, sample: tuple[Path, Path]) -> None:
    """Tables are not seen through a server, so that reasons may be shorter; outcomes are the same."""
    data, run = sample
    serve = ["-c", "import sys; from vakra_tui.cli import main; sys.exit(main())", "serve", str(data)]
    entry = {"mode": "stdio", "command": sys.executable, "args": serve}
    path = tmp_path / "connections.yaml"
    path.write_text(yaml.safe_dump({"tasks": {1: entry, 2: entry}}))
    words = ("--capability", "1", "--capability", "2", "--domain", "elements", "--concurrency", "2")
    native = json.loads(report(tmp_path, data, run, "native", *words))
    remote = json.loads(report(tmp_path, data, run, "remote", *words, "--env", f"config:{path}"))
    assert remote["environments"][0] == {"kind": "config", "name": "connections.yaml"} | {
        key: None for key in remote["environments"][0] if key == "fingerprint"
    }
    assert remote["scores"] == native["scores"]
    for ours, theirs in zip(native["instances"], remote["instances"], strict=True):
        assert (theirs["uuid"], theirs["passed"], theirs["failed_stage"]) == (
            ours["uuid"],
            ours["passed"],
            ours["failed_stage"],
        )
