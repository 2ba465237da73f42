"""Time over the native environment: replays are the same at every step, forks leave their parent alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessions.drivers import GroundTruthDriver
from sessions.execution import execute
from sessions.replay import replay
from sessions.timeline import Timeline
from sessions.trajectory import Answer, CallTool
from toolenv.dataset import Dataset
from toolenv.native import NativeEnvironment


async def checked(data: Path, capability: int, every: int) -> int:
    """Executes, replays, forks and goes on with every ``every``-th ground truth; gives how many steps there were."""
    dataset = Dataset.open(data)
    environment = NativeEnvironment(dataset)
    steps = 0
    for ref in dataset.refs(capability=capability)[::every]:
        instance = dataset.load(ref)
        if instance.ground_truth is None or not environment.serves(capability, instance.domain):
            continue
        alone = await execute(instance, GroundTruthDriver(instance), environment)
        again = await replay(environment, instance, alone.trajectory.steps)
        assert [drift.outcome for drift in again.drifts] == ["same"] * len(again.drifts), instance.uuid
        assert [table and table.fingerprint for table in again.tables] == [
            table and table.fingerprint for table in alone.tables
        ]
        await again.session.close()
        timeline = Timeline(instance, environment, GroundTruthDriver(instance))
        await timeline.step()
        await timeline.fork()
        for step in alone.trajectory.steps:
            if isinstance(step.decision, CallTool):
                await timeline.decide(step.decision)
        await timeline.decide(Answer(text="elsewhere"))
        timeline.go_to(1, 0)
        await timeline.run()
        texts = [step.result.text if step.result else None for step in timeline.tree.steps(0)]
        assert texts == [step.result.text if step.result else None for step in alone.trajectory.steps], instance.uuid
        await timeline.close()
        steps += len(alone.trajectory.steps)
    return steps


@pytest.mark.shared
async def test_time_over_real_instances(shared: Path) -> None:
    assert await checked(shared / "data" / "mini", capability=1, every=12) > 0


@pytest.mark.parametrize("capability", [1, 2, 3, 4])
async def test_time_over_the_sample(capability: int) -> None:
    from vakra_tui.sample import sample_dataset

    assert await checked(sample_dataset(), capability, 3) > 0
