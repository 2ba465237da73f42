"""The page of keys is what the code says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def test_the_page_of_keys_is_current() -> None:
    done = subprocess.run([sys.executable, "scripts/make_docs.py", "--check"], cwd=REPOSITORY, check=False)
    assert done.returncode == 0, "run python scripts/make_docs.py"
