"""Fixtures that every test may use, and the same surroundings for every run of the tests.

What a test gives must not hang on the machine: variables that programs read are taken away before the first module is
imported, users' folders are empty ones, and property tests try the same examples each time. ``--hypothesis-profile
search`` has them look for new ones.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

REPOSITORY = Path(__file__).resolve().parent.parent

OWN_VARIABLES = re.compile("VAKRA_TUI_(SHARED|NO_SKIPS|SMALL_MODEL|SNAPSHOTS|TEST_[A-Z_]+)")
"""Those of this package that speak to the tests; all others speak to the program."""

OTHERS_VARIABLES = re.compile(
    "NO_COLOR|FORCE_COLOR|CLICOLOR(_FORCE)?|COLORTERM|COLUMNS|LINES|TEXTUAL.*|EDITOR|VISUAL|PAGER|BROWSER|ESCDELAY"
    "|TMUX.*|CAPABILITY_ID|MCP_.*|OPENAI_.*|SSH_.*|(HTTPS?|ALL|NO)_PROXY",
    re.IGNORECASE,
)
"""What changes how a program looks or whom it asks."""

USER_FOLDERS = ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")

# An example that takes long on a busy machine is none that fails.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("search"), derandomize=True, database=None, print_blob=True)
settings.load_profile("same")

_folders: list[str] = []


def pytest_configure(config: pytest.Config) -> None:
    for name in list(os.environ):
        speaks_to_program = name.startswith("VAKRA_TUI_") and not OWN_VARIABLES.fullmatch(name)
        if speaks_to_program or OTHERS_VARIABLES.fullmatch(name):
            del os.environ[name]
    os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
    _folders.append(tempfile.mkdtemp(prefix="vakra-tests-"))
    for name in USER_FOLDERS:
        os.environ[name] = str(Path(_folders[-1]) / name.lower())


def pytest_unconfigure(config: pytest.Config) -> None:
    for folder in _folders:
        shutil.rmtree(folder, ignore_errors=True)


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
