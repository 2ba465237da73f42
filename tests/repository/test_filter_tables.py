"""docs/filters.md says what the code says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def test_the_tables_of_predicates_are_those_of_the_code() -> None:
    done = subprocess.run([sys.executable, "scripts/filter_tables.py", "--check"], cwd=REPOSITORY, check=False)
    assert done.returncode == 0, "run python scripts/filter_tables.py"
    text = (REPOSITORY / "docs" / "filters.md").read_text(encoding="utf-8")
    assert "| `~marked` |" in text
    assert "| `~ungrounded` |" in text
    assert "| runs differ | `~differs` |" in text
