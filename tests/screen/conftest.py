"""Makes the helpers beside these tests importable, and keeps what the screen remembers out of the user's folders."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from vakra_tui.state.memory import Memory

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parent.parent))


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.delenv("NO_COLOR", raising=False)
    Memory.of_user().keep_hint_seen()


@pytest.fixture
def first_start(own_folders: None) -> None:
    """Nothing is remembered: the hint of a first start was never shown."""
    (Memory.of_user().folder / "hint-seen").unlink()
