"""Reading the screen as a person would: its rows as text, waited for by what is to be read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from textual.pilot import Pilot
from textual.widget import Widget

from vakra_tui.app import VakraApp
from vakra_tui.screens.debugger import DebuggerScreen
from vakra_tui.widgets.line_view import LineView

PATIENCE_S = 60.0


def rows(app: VakraApp) -> list[str]:
    """The rows of the whole terminal, top to bottom, toasts and dialogs included."""
    return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]


def shown(app: VakraApp) -> str:
    """The screen as one text."""
    return "\n".join(rows(app))


FRAMES = str.maketrans(
    dict.fromkeys(
        "\u00a0\u2502\u256d\u256e\u2570\u256f\u2500\u2503\u250f\u2513\u2517\u251b\u2501\u258f\u258e\u258c", " "
    )
)


def pane(app: VakraApp, widget: Widget) -> str:
    """What a widget shows, white space folded, so that wrapped sentences can be found."""
    region = widget.region
    strips = app.screen._compositor.render_strips()[region.y : region.bottom]
    cut = [strip.crop(region.x, region.right) for strip in strips]
    text = "\n".join("".join(segment.text for segment in strip) for strip in cut)
    return " ".join(text.translate(FRAMES).split())


def squeezed(app: VakraApp) -> str:
    """The screen with white space and frames folded: first row by row, then pane by pane."""
    whole = " ".join(shown(app).translate(FRAMES).split())
    visible = [widget for widget in app.screen.query(LineView) if widget.display and widget.region.area]
    return "\n".join([whole, *(pane(app, widget) for widget in visible)])


async def until(pilot: Pilot[Any], holds: Callable[[], bool], what: str) -> None:
    """Let the application work until something holds; fails with the screen after a generous time."""
    deadline = asyncio.get_running_loop().time() + PATIENCE_S
    while not holds():
        await pilot.pause()
        await asyncio.sleep(0.01)
        if asyncio.get_running_loop().time() > deadline:
            raise AssertionError(f"waited for: {what}\n{shown(pilot.app)}")  # type: ignore[arg-type]
    await pilot.pause()


async def until_shown(pilot: Pilot[Any], text: str) -> None:
    """Until a text can be read."""
    app: Any = pilot.app
    await until(pilot, lambda: text in squeezed(app), text)


def debugger(app: VakraApp) -> DebuggerScreen:
    """The debugger screen below any dialog."""
    return next(screen for screen in reversed(app.screen_stack) if isinstance(screen, DebuggerScreen))


async def until_settled(pilot: Pilot[Any]) -> DebuggerScreen:
    """Until a debugger is open and nothing works in the background."""
    app: Any = pilot.app

    def settled() -> bool:
        found = [screen for screen in app.screen_stack if isinstance(screen, DebuggerScreen)]
        return bool(found) and found[-1].scene is not None and not found[-1].scene.working

    await until(pilot, settled, "the debugger to settle")
    return debugger(app)


async def pick(pilot: Any, name: str) -> None:
    """Choose a row of the open choice by its name."""
    from vakra_tui.screens.choice import ChoiceScreen

    app: Any = pilot.app
    await until(pilot, lambda: isinstance(app.screen, ChoiceScreen), "a choice")
    names = [row[0] for row in app.screen._choices]
    await pilot.press("home", *["down"] * names.index(name), "enter")
