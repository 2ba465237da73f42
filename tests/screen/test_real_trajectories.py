"""Real model trajectories: every one opens in the debugger, those without an instance with their own query."""

from __future__ import annotations

from pathlib import Path

import pytest

from vakra_tui.options import Options
from vakra_tui.render import palette, strip
from vakra_tui.state.panes import head, step, truth, waterfall
from vakra_tui.state.world import World
from vakra_tui.wiring import Wiring


@pytest.mark.shared
async def test_every_trajectory_of_a_real_run_opens(shared: Path) -> None:
    data = shared / "data"
    options = Options(
        data=str(data / "mini"),
        runs=(str(data / "runs" / "gemini"),),
        environments=(f"recorded:{data / 'recorded'}",),
        db="sqlite://",
    )
    world = World(Wiring(options))
    listing = world.open()
    entries = [entry for entry in listing.entries if entry.predictions]
    assert len(entries) == 117
    extras = 0
    longest = 0
    for entry in entries:
        session = world.session(entry)
        await session.open()
        scene = session.scene
        assert scene is not None
        assert not scene.working
        assert scene.instance.query
        extras += scene.extra
        longest = max(longest, len(scene.rows))
        for lines in (head.question(scene, context=True), truth.truth_lines(scene), waterfall.strip_lines(scene)):
            for content in lines:
                assert strip(content, 100, palette(True)).cell_length == 100
        for tab in step.TABS:
            step.source(tab, scene.rows[-1], scene).layout(80)
        await session.close()
    assert extras == 15
    assert longest > 158
    await world.close()
