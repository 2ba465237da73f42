"""The released servers' recorded answers, through ``vakra-tui serve`` and the protocol's own client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "replay_served.py"


@pytest.mark.shared
def test_recorded_calls_are_answered_as_they_were(shared: Path) -> None:
    words = [sys.executable, str(SCRIPT), str(shared / "golden"), "--only", "synthetic"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("synthetic: 1851 calls; by design")
    assert "different" not in done.stdout
