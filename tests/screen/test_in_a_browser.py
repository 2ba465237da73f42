"""The installed command through ``textual serve`` in a real browser: it is shown there and reacts to keys."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from screen_browser import CHROMIUM, browser, served

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

COMMAND = Path(sys.executable).with_name("vakra-tui")


async def test_the_page_shows_the_debugger_and_reacts_to_keys(tmp_path: Path) -> None:
    environment = {
        name: str(tmp_path / name.lower()) for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
    }
    command = shlex.join([str(COMMAND), "--db", f"sqlite:///{tmp_path / 's.sqlite'}"])
    async with served(command, environment) as address, browser(tmp_path) as page:
        await page.open(address)
        await page.until_shown("WATERFALL", "FAIL", "steps 3", "hop 1")
        await page.focus()
        await page.press("?", "Slash", text="?")
        await page.until_shown("one step forth")
        await page.press("Escape", "Escape")
        await page.until(lambda shown: "one step forth" not in shown and "WATERFALL" in shown, "the help to close")
        await page.press("Escape", "Escape")
        await page.until_shown("built-in sample", "instances")
        await page.press("/", "Slash", text="/")
        await page.until_shown("find words of query")
        for letter in "noble":
            await page.press(letter, f"Key{letter.upper()}", text=letter)
        await page.until_shown("noble gas")
