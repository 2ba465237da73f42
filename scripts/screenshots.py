"""Draw the screenshots of the documentation from the built-in sample: SVG, and PNG where resvg-py is installed.

    python scripts/screenshots.py [FOLDER]

FOLDER is ``docs/screenshots`` by default. Each picture is made from a fresh start by pressing keys, with a store in
memory and state in a temporary folder, so that what a person keeps is neither shown nor changed.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from vakra_tui.app import VakraApp
from vakra_tui.options import Options
from vakra_tui.screens.debugger import DebuggerScreen
from vakra_tui.screens.instances import InstancesScreen
from vakra_tui.wiring import Wiring

FONTS = ("/usr/share/fonts", "/Library/Fonts", "/System/Library/Fonts")
FAMILY = "DejaVu Sans Mono"


@dataclass(frozen=True)
class Picture:
    """``keys`` are pressed one after the other once the first screen has settled; ``typed`` is put into ``#find``."""

    name: str
    size: tuple[int, int]
    keys: tuple[str, ...] = ()
    light: bool = False
    typed: str = ""
    after: tuple[str, ...] = ()


PICTURES = (
    Picture("debugger", (160, 45)),
    Picture("missing-hop", (160, 45), ("escape", "slash"), typed="cap3 selection", after=("enter", "enter")),
    Picture("debugger-80x24", (80, 24), ("2",)),
    Picture("debugger-light", (120, 36), light=True),
    Picture("instances", (160, 45), ("escape",)),
    Picture("scores", (120, 36), ("escape", "S"), after=("full_stop",) * 4),
    Picture("compare", (120, 36), ("C",), after=("enter", "full_stop")),
    Picture("tools", (140, 40), ("n",), typed="launch"),
    Picture("form", (120, 36), ("n",), typed="query_", after=("enter",)),
    Picture("tables", (140, 40), ("d",)),
    Picture("help", (110, 44), ("question_mark",)),
)


async def settled(app: VakraApp, pilot: Pilot[Any]) -> None:
    """Wait until nothing works in the background."""
    while True:
        await pilot.pause()
        await asyncio.sleep(0.05)
        screen = app.screen
        if isinstance(screen, DebuggerScreen):
            if screen.scene is not None and not screen.scene.working:
                break
        elif isinstance(screen, InstancesScreen):
            entries = app.instances.listing.entries
            if app.opened and all(set(entry.predictions) <= set(entry.verdicts) for entry in entries):
                break
        elif app.opened:
            break
    await pilot.pause()


async def draw(picture: Picture) -> str:
    """The picture as SVG."""
    app = VakraApp(Wiring(Options(db="sqlite://")))
    app.world.memory.keep_hint_seen()
    async with app.run_test(size=picture.size) as pilot:
        await settled(app, pilot)
        if picture.light:
            app.action_toggle_dark()
        for key in picture.keys:
            await pilot.press(key)
            await settled(app, pilot)
        await asyncio.sleep(0.5)
        if picture.typed:
            app.screen.query_one("#find").value = picture.typed  # type: ignore[attr-defined]
            await pilot.pause()
        for key in picture.after:
            await pilot.press(key)
            await asyncio.sleep(0.5)
        await pilot.pause()
        return app.export_screenshot(title="vakra-tui")


def png(svg: str) -> bytes | None:
    """The picture as PNG, None where resvg-py is not installed."""
    try:
        import resvg_py
    except ImportError:
        return None
    folders = [folder for folder in FONTS if Path(folder).is_dir()]
    made = resvg_py.svg_to_bytes(svg_string=svg, font_dirs=folders, font_family=FAMILY, monospace_family=FAMILY)
    return bytes(made)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        # A folder of its own for each: what one picture did must not be remembered by the next.
        with tempfile.TemporaryDirectory() as state:
            os.environ["XDG_STATE_HOME"] = state
            svg = asyncio.run(draw(picture))
        (folder / f"{picture.name}.svg").write_text(svg, encoding="utf-8")
        image = png(svg)
        if image is not None:
            (folder / f"{picture.name}.png").write_bytes(image)
        print(picture.name)


if __name__ == "__main__":
    main()
