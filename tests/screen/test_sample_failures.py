"""Every failure of the sample's flawed run: the first screen names the step, why, and what was right, in any size."""

from __future__ import annotations

import asyncio

import pytest

from vakra_tui.options import Options
from vakra_tui.sample import sample_runs
from vakra_tui.state.diagnosis import Place, places
from vakra_tui.state.lines import Lines, plain
from vakra_tui.state.panes.waterfall import SIEVE_WORDS, strip_lines
from vakra_tui.state.scene import Scene
from vakra_tui.state.world import World
from vakra_tui.wiring import Wiring

ROOM = ((80, True, 6), (120, False, 8), (160, False, 8))
"""Width of the terminal, whether the strip is brief there, and the rows that it has."""


@pytest.fixture(scope="module")
def failures() -> list[Scene]:
    """The scenes of all predictions of the flawed run that did not pass."""
    return asyncio.run(_failures())


async def _failures() -> list[Scene]:
    world = World(Wiring(Options(db="sqlite://", runs=(str(sample_runs()["flawed"]),))))
    world.open()
    found = []
    for entry in world.listing.entries:
        session = world.session(entry)
        await session.open()
        scene = session.scene
        if scene is not None and scene.verdict is not None and scene.verdict.passed is False:
            found.append(scene)
        await session.close()
    await world.close()
    return found


def first(scene: Scene) -> Place:
    return places(scene)[0]


def test_every_gate_and_class_is_among_them(failures: list[Scene]) -> None:
    classes = {(scene.verdict.failed_stage, scene.verdict.sieve) for scene in failures if scene.verdict is not None}
    assert classes == {
        ("policy", "tool_selection"),
        ("tool_sequence", "tool_selection"),
        ("tool_sequence", "argument_names"),
        ("tool_sequence", "argument_values"),
        ("final_response", "answer"),
    }


def test_each_names_the_step_the_reason_and_what_was_right(failures: list[Scene]) -> None:
    for scene in failures:
        place = first(scene)
        assert place.step is not None and 0 <= place.step < len(scene.rows), scene.instance.uuid
        assert place.what and place.right, scene.instance.uuid
        assert scene.first_trouble == place.step
        row = scene.rows[place.step]
        assert scene.verdict is not None
        if scene.verdict.failed_stage == "policy":
            assert row.policy
        elif scene.verdict.sieve in ("argument_names", "argument_values"):
            assert place.argument in {gap.argument for gap in row.gaps} and place.hop == row.hop
        elif scene.verdict.failed_stage == "final_response":
            assert row.outcome in ("answer", "gave up")


def test_all_of_it_is_read_without_a_key_in_every_size(failures: list[Scene]) -> None:
    for scene in failures:
        place = first(scene)
        assert scene.verdict is not None and scene.verdict.sieve is not None
        for width, brief, rows in ROOM:
            lines = Lines(strip_lines(scene, brief=brief))
            assert lines.layout(width) <= rows, (scene.instance.uuid, width)
            text = " ".join(" ".join(plain(lines.line(index)).split()) for index in range(lines.layout(width)))
            for told in (SIEVE_WORDS[scene.verdict.sieve], place.what, place.right):
                assert "".join(told.split()) in "".join(text.split()), (scene.instance.uuid, width)
