"""What every gate and judge sees of one instance: the instance and both executed trajectories."""

from __future__ import annotations

from collections.abc import Sequence

from sessions.trajectory import ExecutedTrajectory
from toolenv.model import Instance, ToolSpec, Value


class Case(Value, frozen=True):
    """One instance of a run, executed.

    ``run`` is the run's name (recorded rulings are keyed by it). ``truth`` is None where the instance has no ground
    truth. ``tools`` is the list offered in the evaluated turn (for capability 1: of the instance's universe).
    """

    run: str
    instance: Instance
    truth: ExecutedTrajectory | None
    prediction: ExecutedTrajectory
    tools: Sequence[ToolSpec]
