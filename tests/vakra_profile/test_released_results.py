"""The profile against what the released evaluator wrote (needs the material folder)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def _released_files() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "scripts" / "released_files.py"
    spec = importlib.util.spec_from_file_location("released_files", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its structs look their own module up
    spec.loader.exec_module(module)
    return module


_module = _released_files()
compare_cases, compare_results = _module.compare_cases, _module.compare_results


@pytest.mark.shared
async def test_every_dialogue_of_the_released_results_has_its_figures(shared: Path) -> None:
    found = await compare_results(shared)
    assert len(found) == 10
    assert [sentence for one in found for sentence in one.differences] == []
    assert [sentence for one in found for sentence in one.left_out] == []
    assert sum(one.dialogues for one in found) == 494
    assert sum(one.figures for one in found) > 3000


@pytest.mark.shared
async def test_every_case_of_the_released_evaluator_has_its_figures(shared: Path) -> None:
    found = await compare_cases(shared)
    assert [f"{one.name}: {sentence}" for one in found for sentence in one.differences] == []
    not_recorded = {one.name for one in found for sentence in one.left_out if "does not hold" in sentence}
    assert not_recorded <= {"c2_happy", "c2_coerce_none", "c2_coerce_num"}
    assert sum(one.figures > 0 for one in found) == 41
