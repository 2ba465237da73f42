"""The pages that are made from the code are what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def test_the_made_pages_are_current() -> None:
    done = subprocess.run([sys.executable, "scripts/make_docs.py", "--check"], cwd=REPOSITORY, check=False)
    assert done.returncode == 0, "run python scripts/make_docs.py"
