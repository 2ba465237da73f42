"""The built-in sample: an original dataset and three runs on it, built into the user's cache at first use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

RUN_NAMES = ("oracle", "flawed", "explorer")


def sample_dataset() -> Path:
    """The sample's directory in VAKRA's layout, built if it is not there yet.

    Raises ``DataError`` when it can be built nowhere.
    """
    return _built() / "dataset"


def sample_runs() -> Mapping[str, Path]:
    """The sample's runs: ``oracle`` (right), ``flawed`` (wrong in every way), ``explorer`` (right by other paths)."""
    root = _built()
    return {name: root / "runs" / name for name in RUN_NAMES if (root / "runs" / name).is_dir()}


def _built() -> Path:
    from vakra_tui.sample.cache import built_sample

    return built_sample()
