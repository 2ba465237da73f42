"""The themes: every text is readable, which is computed from the colours that reach the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import screen_toy as toy
from rich.color import Color
from rich.style import Style
from screen_opening import opened
from screen_reading import debugger, shown, until, until_settled, until_shown
from textual.color import Color as ScreenColor
from textual.theme import Theme

from sessions.store import Store
from vakra_tui import themes
from vakra_tui.app import VakraApp
from vakra_tui.render import DARK, LIGHT, STRONG, Palette
from vakra_tui.state.config import THEMES

LEAST = {"dark": 4.5, "light": 4.5, "high-contrast": 7.0}

DECORATION = ("bar",)
"""Roles of lines and rules, which tell nothing that is not in the text."""

FRAMES = frozenset(
    "\u2500\u2502\u256d\u256e\u256f\u2570\u2501\u2503\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588\u2594\u258e\u258f\u258a\u2595"
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")


def luminance(red: float, green: float, blue: float) -> float:
    """Relative luminance by WCAG 2, of channels from 0 to 255."""

    def linear(channel: float) -> float:
        share = channel / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)


def contrast(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    """The contrast ratio by WCAG 2."""
    low, high = sorted((luminance(*one), luminance(*other)))
    return (high + 0.05) / (low + 0.05)


def test_the_ratio_is_that_of_the_standard() -> None:
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast((118, 118, 118), (255, 255, 255)) == pytest.approx(4.54, abs=0.01)


def grounds(name: str) -> dict[str, tuple[int, int, int]]:
    """What text stands on in a theme: the screen, bars and dialogs, the cursor with and without the keyboard."""
    theme = next(each for each in themes.ALL if each.name == name)
    colours = {**theme.to_color_system().generate(), **theme.variables}
    names = ("background", "surface", "panel", *themes.GROUNDS)
    return {ground: ScreenColor.parse(colours[ground]).rgb for ground in names}


@pytest.mark.parametrize(("name", "colours"), [("dark", DARK), ("light", LIGHT), ("high-contrast", STRONG)])
def test_every_role_can_be_read_on_every_ground(name: str, colours: Palette) -> None:
    weak = []
    for role, style in colours.items():
        if style.color is None or role in DECORATION:
            continue
        for ground, colour in grounds(name).items():
            ratio = contrast(style.color.get_truecolor(), colour)
            if ratio < LEAST[name]:
                weak.append(f"{role} on {ground}: {ratio:.1f}")
    assert not weak


@pytest.mark.parametrize("theme", themes.ALL, ids=lambda theme: theme.name)
def test_frames_can_be_seen(theme: Theme) -> None:
    """By WCAG 2 what is no text needs a ratio of 3 where it tells something; the focused frame is heavier as well."""
    ground = ScreenColor.parse(theme.background or "").rgb
    assert contrast(ScreenColor.parse(theme.primary).rgb, ground) >= 3
    assert contrast(ScreenColor.parse(theme.variables["pane-border"]).rgb, ground) >= 2


def test_every_palette_has_every_role() -> None:
    assert set(DARK) == set(LIGHT) == set(STRONG)


def texts(app: VakraApp) -> Iterator[tuple[str, Style]]:
    """Every piece of text on the screen with its style; where a dialog is open, of the dialog."""
    dialogs = app.screen.query(".dialog")
    region = dialogs.first().region if dialogs else app.screen.region
    for strip in app.screen._compositor.render_strips()[region.y : region.bottom]:
        for segment in strip.crop(region.x, region.right):
            if segment.style is not None and set(segment.text.strip()) - FRAMES:
                yield segment.text.strip(), segment.style


def weak_texts(app: VakraApp, least: float) -> list[str]:
    """What cannot be read on the present screen."""
    found = []
    for text, style in texts(app):
        front, back = style.color or Color.parse("white"), style.bgcolor or Color.parse("black")
        ratio = contrast(front.get_truecolor(), back.get_truecolor())
        if ratio < least:
            found.append(f"{text[:40]!r} {front.name} on {back.name}: {ratio:.1f}")
    return found


@pytest.mark.parametrize("name", THEMES)
async def test_what_reaches_the_terminal_can_be_read(store: Store, name: str) -> None:
    async with opened(toy.wiring(instance="u-1", store=store), (120, 36)) as (app, pilot):
        app.choose_theme(name)
        await pilot.press("4", "2", "t")
        assert not weak_texts(app, LEAST[name])
        await pilot.press("question_mark")
        await until_shown(pilot, "keys and signs")
        assert not weak_texts(app, LEAST[name])
        await pilot.press("escape", "w")
        await until_shown(pilot, "Who is at the wheel?")
        assert not weak_texts(app, LEAST[name])
        await pilot.press("escape", "a")
        await until_shown(pilot, "The final answer")
        assert not weak_texts(app, LEAST[name])
        await pilot.press("escape", "escape", "slash")
        await until_shown(pilot, "find words")
        await pilot.press("x")
        assert not weak_texts(app, LEAST[name])


async def test_without_colour_nothing_is_lost(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await until_settled(pilot)
        coloured = shown(app)
    monkeypatch.setenv("NO_COLOR", "1")
    async with opened(toy.wiring(instance="u-1", store=Store.open("sqlite://"))) as (app, pilot):
        assert app.no_color
        await until(pilot, lambda: shown(app) == coloured, "the same text without colour")
        assert debugger(app).scene is not None


def colours_drawn(app: VakraApp) -> list[str]:
    """What has a colour on the present screen."""
    return [
        f"{segment.text!r} {segment.style}"
        for strip in app.screen._compositor.render_strips()
        for segment in strip
        if segment.style is not None and (segment.style.color or segment.style.bgcolor or segment.style.dim)
    ]


def reversed_text(app: VakraApp) -> str:
    strips = app.screen._compositor.render_strips()
    return "".join(part.text for strip in strips for part in strip if part.style is not None and part.style.reverse)


async def test_no_color_means_no_colour_at_all(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through lists, debugger, help, dialogs, forms, palette and jump mode; the cursor is reversed instead."""
    monkeypatch.setenv("NO_COLOR", "1")
    async with opened(toy.wiring(instance="u-1", store=store), (120, 36)) as (app, pilot):
        assert app.theme == "ink"
        seen = 0
        for keys in (["4"], ["2"], ["question_mark"], ["w"], ["a"], ["n"], ["N"], ["semicolon"], ["ctrl+p"], ["slash"]):
            await pilot.press(*keys)
            await pilot.pause()
            assert colours_drawn(app) == [], keys
            seen += len(shown(app))
            if keys not in (["4"], ["2"]):
                await pilot.press("escape")
        await pilot.press("1", "escape")
        await until(pilot, lambda: app.screen is app.instances, "the list")
        await until(pilot, lambda: "Which brewer" in reversed_text(app), "the row under the cursor reversed")
        for keys in (["S"], ["L"], ["s"], ["F"], ["X"]):
            await pilot.press(*keys)
            await pilot.pause()
            assert colours_drawn(app) == [], keys
            if keys != ["X"]:
                await pilot.press("escape")
        app.choose_theme("light")
        await pilot.pause()
        assert app.theme == "ink" and app.remembered.theme == "light"
        assert colours_drawn(app) == []


async def test_an_empty_no_color_means_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await until_settled(pilot)
        assert not app.no_color
        assert len({segment.rpartition("' ")[2] for segment in colours_drawn(app)}) > 10
