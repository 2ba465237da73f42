"""Executing one side of an instance: a fresh session, the opening rule, all steps to the end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import cast

from sessions.checks import Checker
from sessions.driver import Driver
from sessions.events import Commit, Listener, StepSink
from sessions.stepper import Stepper
from sessions.trajectory import ExecutedTrajectory, Trajectory
from toolenv.environment import ToolEnvironment, ToolSession
from toolenv.model import Instance, ToolCall


def opening_call(instance: Instance) -> ToolCall | None:
    """The call that opens a session of this instance: ``get_data(<universe id>)`` for capability 1, else None.

    A side whose first call already is that call makes it itself; a ground truth in the older style
    (``initialize_active_data``) is opened with it too (contract, waterfall, "Opening").
    """
    if instance.capability != 1:
        return None
    return ToolCall(name="get_data", arguments={"tool_universe_id": instance.universe_id or instance.uuid})


async def execute(
    instance: Instance,
    driver: Driver,
    environment_or_session: ToolEnvironment | ToolSession,
    *,
    listeners: Sequence[Listener] = (),
    store: StepSink | None = None,
    commit: Commit = "instance",
    coerce: bool = True,
    checks: Sequence[Checker] = (),
    deadline_s: float | None = None,
) -> ExecutedTrajectory:
    """Run ``driver`` to its end over ``instance`` and give back what happened.

    An environment is asked for a session of its own, which is closed at the end; a session that is handed in (a
    profile that shares one between instances) is used as it stands and left open. Raises ``EnvironmentFailure`` or
    ``NotRecorded`` when a call cannot be answered; nothing of the side is then scored.
    """
    async with _session(instance, environment_or_session) as session:
        stepper = Stepper(
            Trajectory(instance=instance),
            session,
            driver,
            listeners=listeners,
            store=store,
            commit=commit,
            coerce=coerce,
            checks=checks,
            deadline_s=deadline_s,
            opening=opening_call(instance),
        )
        return await stepper.run()


@asynccontextmanager
async def _session(
    instance: Instance, environment_or_session: ToolEnvironment | ToolSession
) -> AsyncIterator[ToolSession]:
    if not hasattr(environment_or_session, "open"):
        yield environment_or_session
        return
    session = await cast(ToolEnvironment, environment_or_session).open(instance)
    try:
        yield session
    finally:
        await session.close()
