"""Kill a process that steps a trajectory, fifty times at random moments, and check the store each time.

usage: python scripts/kill_writers.py [TIMES]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "sessions"))

from killing import kill_often


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as folder:
        found = kill_often(Path(folder) / "sessions.sqlite", times)
    unshown = sum(stored - shown for shown, stored in found)
    steps = sum(stored for _, stored in found)
    print(f"killed {times} times; every store opened, integrity ok; {steps} steps stored, every shown one among them;")
    print(f"{unshown} steps were stored and not yet shown; none was shown and not stored")


if __name__ == "__main__":
    main()
