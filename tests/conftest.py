"""Fixtures that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


def shared_folder() -> Path | None:
    """The material folder beside the checkout, or the one named by VAKRA_TUI_SHARED; None where there is none."""
    folder = Path(os.environ.get("VAKRA_TUI_SHARED") or REPOSITORY.parent / "shared")
    return folder if (folder / "data" / "mini").is_dir() else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if shared_folder() is None:
        skip = pytest.mark.skip(reason="the material folder is not beside this checkout")
        for item in items:
            if item.get_closest_marker("shared"):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The material folder; use together with ``@pytest.mark.shared``."""
    folder = shared_folder()
    if folder is None:
        pytest.skip("the material folder is not beside this checkout")
    return folder
