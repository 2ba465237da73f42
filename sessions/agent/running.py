"""One instance carried by an agent from its opening to a classified end; nothing that happens on the way is lost."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import msgspec

from sessions.agent.agent import Agent
from sessions.agent.failure import AgentFailure
from sessions.agent.status import FAILURES, AgentStatus, status_of
from sessions.branches import as_prediction
from sessions.events import Listener
from sessions.execution import opening_call
from sessions.stepper import Stepper
from sessions.store.records import RequestRecord
from sessions.trajectory import ExecutedTrajectory, GiveUp, Trajectory
from toolenv.environment import ToolEnvironment
from toolenv.errors import DataError, EnvironmentFailure
from toolenv.model import Instance, Prediction, Value


class AgentRun(Value, frozen=True):
    """What an agent did with an instance, how it ended, and what was asked of models on the way.

    ``detail`` is a sentence for every status but ``answered``.
    """

    executed: ExecutedTrajectory
    status: AgentStatus
    detail: str = ""
    requests: tuple[RequestRecord, ...] = ()
    duration_s: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether something around the agent failed, so that the instance says nothing about it."""
        return self.status in FAILURES

    @property
    def prediction(self) -> Prediction:
        """The record of a run: calls as they were written, and the answer."""
        made = as_prediction(self.executed.trajectory)
        answered = self.status == "answered"
        return msgspec.structs.replace(
            made,
            status="success" if answered else "error",
            error="" if answered else self.detail,
            duration_s=self.duration_s,
        )


async def run_agent(
    instance: Instance,
    agent: Agent,
    environment: ToolEnvironment,
    *,
    listeners: Sequence[Listener] = (),
    deadline_s: float | None = None,
) -> AgentRun:
    """Open the instance, let the agent decide until it ends, close. Always gives a run.

    An environment or an agent that fails ends it with what was done until then; ``deadline_s`` bounds one tool call.
    """
    started = time.perf_counter()
    trajectory = Trajectory(instance=instance)
    driver: Any = None
    failure: tuple[AgentStatus, str] | None = None
    stepper: Stepper | None = None
    try:
        session = await environment.open(instance)
        try:
            driver = agent.driver(instance)
            opening = opening_call(instance)
            stepper = Stepper(trajectory, session, driver, listeners=listeners, opening=opening, deadline_s=deadline_s)
            await stepper.run()
        finally:
            try:
                if driver is not None and hasattr(driver, "close"):
                    await driver.close()
            finally:
                await session.close()
    except AgentFailure as error:
        failure = (error.kind, str(error))
    except (EnvironmentFailure, DataError) as error:
        failure = ("environment", str(error))
    executed = stepper.executed if stepper is not None else ExecutedTrajectory(trajectory=trajectory, tables=())
    status, detail = failure if failure is not None else _ended(executed.trajectory)
    return AgentRun(
        executed=executed,
        status=status,
        detail=detail,
        requests=tuple(getattr(driver, "requests", ())),
        duration_s=time.perf_counter() - started,
    )


def _ended(trajectory: Trajectory) -> tuple[AgentStatus, str]:
    status = status_of(trajectory)
    last = trajectory.steps[-1].decision if trajectory.steps else None
    return status, last.reason or status if isinstance(last, GiveUp) else ""
