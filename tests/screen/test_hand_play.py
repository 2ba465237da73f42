"""Every kind of task of the built-in sample, played by hand to a passing verdict; an unanswerable one declined."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from screen_reading import debugger, pick, squeezed, until, until_settled, until_shown

from sessions.drivers.ground_truth import answer_text
from toolenv.dataset import Dataset, InstanceRef
from vakra_tui.app import VakraApp
from vakra_tui.options import Options
from vakra_tui.sample import sample_dataset
from vakra_tui.screens.debugger import DebuggerScreen
from vakra_tui.wiring import Wiring


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return Dataset.open(sample_dataset())


def chosen(dataset: Dataset, capability: int, *, unanswerable: bool = False) -> InstanceRef:
    """The first instance of a capability with few calls, or one that cannot be answered."""
    for ref in dataset.refs(capability=capability):
        truth = dataset.load(ref).ground_truth
        if truth is not None and (not truth.evaluated.calls if unanswerable else 0 < len(truth.evaluated.calls) < 5):
            return ref
    raise AssertionError("the sample has no such instance")


def numbers(screen: DebuggerScreen) -> list[int]:
    """The numbers of the steps that are shown."""
    return [row.number for row in screen.scene.rows] if screen.scene is not None else []


def options(ref: InstanceRef, folder: Path) -> Options:
    return Options(instances=(ref.uuid,), capabilities=(ref.capability,), db=f"sqlite:///{folder / 's.sqlite'}")


@pytest.mark.parametrize(("capability", "size"), [(1, (80, 24)), (2, (160, 45)), (3, (80, 24)), (4, (160, 45))])
async def test_played_right_by_hand(capability: int, size: tuple[int, int], dataset: Dataset, tmp_path: Path) -> None:
    ref = chosen(dataset, capability)
    truth = dataset.load(ref).ground_truth
    assert truth is not None
    app = VakraApp(Wiring(options(ref, tmp_path)))
    async with app.run_test(size=size) as pilot:
        await until_settled(pilot)
        await pilot.press("w")
        await until_shown(pilot, "Who is at the wheel?")
        await pick(pilot, "start over")
        await until_shown(pilot, "wheel: human")
        made = 0
        screen = debugger(app)
        if capability == 1:
            await until(pilot, lambda: numbers(screen) == [0], "the opening")
        for call in truth.evaluated.calls:
            if call.name == "get_data":
                continue
            await pilot.press("n")
            await until_shown(pilot, "on offer")
            field = app.screen.query_one("#find")
            field.value = f"{call.name} {json.dumps(dict(call.arguments))}"  # type: ignore[attr-defined]
            await pilot.press("enter")
            made += 1
            await until(pilot, lambda made=made: numbers(screen)[-1:] == [made], f"step {made}")  # type: ignore[misc]
        await pilot.press("a")
        await until_shown(pilot, "The final answer")
        app.screen.query_one("#answer").value = answer_text(truth.evaluated.answer)  # type: ignore[attr-defined]
        await pilot.press("enter")
        await until(pilot, lambda: screen.scene is not None and screen.scene.finished, "the answer")
        await pilot.press("v")
        await until_shown(pilot, "+ PASSED")


async def test_an_unanswerable_one_is_declined_and_passes(dataset: Dataset, tmp_path: Path) -> None:
    ref = chosen(dataset, 4, unanswerable=True)
    app = VakraApp(Wiring(options(ref, tmp_path)))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_settled(pilot)
        await pilot.press("w")
        await pick(pilot, "start over")
        await until_shown(pilot, "wheel: human")
        await pilot.press("x")
        await until_shown(pilot, "the wording of the policy")
        await pilot.press("enter")
        await until_shown(pilot, "final answer")
        await pilot.press("v")
        await until_shown(pilot, "+ PASSED")
        assert "vacuous" in squeezed(app)


async def test_the_tables_of_a_domain_can_be_browsed(dataset: Dataset, tmp_path: Path) -> None:
    ref = chosen(dataset, 1)
    app = VakraApp(Wiring(options(ref, tmp_path)))
    async with app.run_test(size=(160, 45)) as pilot:
        await until_settled(pilot)
        await pilot.press("d")
        await until_shown(pilot, f"tables of {ref.domain}")
        await until_shown(pilot, "column")
        await pilot.press("down", "down", "enter", "end")
        await pilot.press("escape")
        assert debugger(app) is app.screen


@pytest.mark.usefixtures("first_start")
async def test_the_sample_opens_on_a_broken_policy_with_a_hint_once(tmp_path: Path) -> None:
    app = VakraApp(Wiring(Options(db=f"sqlite:///{tmp_path / 's.sqlite'}")))
    async with app.run_test(size=(160, 45)) as pilot:
        screen = await until_settled(pilot)
        assert screen.scene is not None
        assert screen.scene.verdict is not None
        assert screen.scene.verdict.failed_stage == "policy"
        text = squeezed(app)
        assert "Welcome." in text
        assert "run flawed" in text
        assert "POLICY" in text
        assert "hop 1" in text
        assert "policy ✗ FAIL" in text
        await pilot.press("tab")
        assert "Welcome." not in squeezed(app)
        await pilot.press("q")
    again = VakraApp(Wiring(Options(db=f"sqlite:///{tmp_path / 's.sqlite'}")))
    async with again.run_test(size=(160, 45)) as pilot:
        await until_settled(pilot)
        assert "Welcome." not in squeezed(again)
