"""Nothing heavier than the screen library is imported before something can be read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

HEAVY = ("sqlalchemy", "openai", "mcp", "fastapi", "numpy", "jsonschema", "httpx2", "uvicorn", "pandas", "sqlglot")

PROGRAM = """
import asyncio, json, sys
from vakra_tui.app import VakraApp
from vakra_tui.options import Options
from vakra_tui.wiring import Wiring

seen = {}

class Watched(VakraApp):
    def _begin(self):
        # Called after the first refresh: the screen was painted.
        seen["modules"] = sorted(name.partition(".")[0] for name in sys.modules)
        seen["shown"] = "".join(
            "".join(segment.text for segment in strip) for strip in self.screen._compositor.render_strips()
        )
        super()._begin()

async def main():
    app = Watched(Wiring(Options(db="sqlite://")))
    async with app.run_test(size=(80, 24)) as pilot:
        while not seen:
            await pilot.pause()

asyncio.run(main())
print(json.dumps(seen))
"""


def test_the_first_paint_comes_before_everything_heavy(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment, timeout=120
    )
    seen = json.loads(done.stdout.splitlines()[-1])
    assert "textual" in seen["modules"]
    assert "vakra-tui" in seen["shown"]
    assert not set(HEAVY) & set(seen["modules"])
