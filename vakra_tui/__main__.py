"""``python -m vakra_tui``: the same as the command ``vakra-tui``."""

from __future__ import annotations

import sys
from pathlib import Path

# ``-m`` puts the working folder first on the path, where an eval/ or sessions/ of the user's own would be found
# instead of ours.
_HOME = Path(__file__).resolve().parent.parent
if sys.path and sys.path[0] not in (str(_HOME),):
    sys.path[0] = str(_HOME)

from vakra_tui.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
