"""Opening the application on a toy wiring, as far as a person would wait for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import screen_toy as toy
from screen_reading import until, until_settled
from textual.pilot import Pilot

from vakra_tui.app import VakraApp
from vakra_tui.screens.instances import InstancesScreen

WIDE = (160, 45)
SMALL = (80, 24)


@asynccontextmanager
async def opened(wiring: toy.ToyWiring, size: tuple[int, int] = WIDE) -> AsyncIterator[tuple[VakraApp, Pilot[Any]]]:
    """The application on a wiring, its debugger settled where one is opened at once."""
    app = VakraApp(wiring)  # type: ignore[arg-type]
    async with app.run_test(size=size, notifications=True) as pilot:
        if wiring.instance is not None:
            await until_settled(pilot)
        else:
            await until(pilot, lambda: app.opened and isinstance(app.screen, InstancesScreen), "the list")
        yield app, pilot
