"""A process that steps a trajectory into a store and says each step that it has shown; made to be killed.

usage: python killed_writer.py STORE step|run
"""

from __future__ import annotations

import asyncio
import sys

from counting import CountingEnvironment, make_instance

from sessions.drivers import RecordingDriver
from sessions.events import StepEvent
from sessions.store import AsyncStore, NewSession
from sessions.timeline import Timeline
from toolenv.model import Prediction, ToolCall

STEPS = 100_000


async def main(path: str, pace: str) -> None:
    def show(event: StepEvent) -> None:
        if event.moment == "observed":
            sys.stdout.write(f"shown {event.number}\n")
            sys.stdout.flush()

    calls = tuple(ToolCall(name="add", arguments={"amount": n}) for n in range(STEPS))
    prediction = Prediction(uuid="u-1", domain="counting", query="q", answer="done", calls=calls)
    store = await AsyncStore.open(path)
    timeline = Timeline(
        make_instance(),
        CountingEnvironment(),
        RecordingDriver(prediction),
        store=store,
        new=NewSession(instance=make_instance(), title="killed"),
        listeners=[show],
    )
    if pace == "run":
        await timeline.run()
    else:
        while await timeline.step() is not None:
            pass


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
