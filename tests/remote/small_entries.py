"""Entries of a connection file for the small server beside this module."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

SERVER = Path(__file__).with_name("small_server.py")


def entry(fault: str, *words: str, **more: Any) -> dict[str, Any]:
    """A server that does one thing wrong; ``more`` are further keys of the entry."""
    return {"mode": "stdio", "command": sys.executable, "args": [str(SERVER), fault, *words], **more}
