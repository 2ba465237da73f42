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


_skipped: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped:
        _skipped.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where every service is supposed to be there, a skipped test is a failure."""
    if os.environ.get("VAKRA_TUI_NO_SKIPS") and _skipped and not hasattr(session.config, "workerinput"):
        print("\nskipped although VAKRA_TUI_NO_SKIPS is set:", *_skipped, sep="\n  ")  # noqa: T201
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
