"""Banners that have no room for all they say: an ellipsis and the key that shows the rest; zooming makes room."""

from __future__ import annotations

import screen_toy as toy
from screen_opening import SMALL, opened
from screen_reading import debugger, pane, rows, squeezed, until, until_shown
from screen_session import predicted, referred

from sessions.store import Store
from vakra_tui.state.lines import line, plain, text_of
from vakra_tui.widgets.banner import Banner, cut_short

LONG = (
    "If a user's query pertains to Food & Beverages, which is about "
    + "everything that is eaten or drunk and " * 20
    + "only try to answer it using document retrievers. If it cannot be answered so, say that you cannot answer."
)


def test_the_end_of_a_cut_line_names_the_key() -> None:
    told = plain(cut_short(line(" POLICY ", ("a sentence that is far too long", "dim")), 30, "I shows all"))
    assert told == " POLICY a sentenc … I shows all" or len(told) <= 30
    assert told.endswith("… I shows all") and len(told) <= 30
    assert plain(cut_short(line("short"), 30, "")) == "short …"


async def test_a_long_policy_ends_with_the_key_and_is_whole_behind_it() -> None:
    made = {"instances": referred(("get_top_brand", {}), policy=LONG), "runs": predicted(("get_top_brand", {}))}
    async with opened(toy.wiring(instance="u-1", store=Store.open("sqlite://"), **made), (120, 36)) as (app, pilot):
        banner = debugger(app).query_one("#policy", Banner)
        await until(pilot, lambda: banner.hidden > 0, "a policy that does not fit")
        assert any(row.rstrip().endswith("… I shows all") for row in rows(app))
        await pilot.press("I")
        await until_shown(pilot, "say that you cannot answer.")


async def test_in_a_small_terminal_the_words_of_the_policy_are_one_key_away_and_a_zoom_makes_room() -> None:
    made = {"instances": referred(("get_top_brand", {}), policy=LONG), "runs": []}
    async with opened(toy.wiring(instance="u-1", store=Store.open("sqlite://"), **made), SMALL) as (app, pilot):
        await until_shown(pilot, "I shows")
        await pilot.press("I")
        await until_shown(pilot, "say that you cannot answer.")
        await pilot.press("escape")
        await until_shown(pilot, "WATERFALL")
        await pilot.press("z")
        await until(pilot, lambda: "WATERFALL" not in squeezed(app) and "POLICY" not in squeezed(app), "the room")
        await pilot.press("z")
        await until_shown(pilot, "WATERFALL")


async def test_as_many_rows_as_before_are_drawn_anew_in_another_width() -> None:
    store = Store.open("sqlite://")
    query = "The last mission of the register flies to a moon. Which rocket carried the first of them to its planet?"
    async with opened(toy.wiring(instance="u-1", store=store, instances=[toy.instance(query=query)]), (80, 30)) as (
        app,
        pilot,
    ):
        banner = debugger(app).query_one("#question", Banner)
        for width in (90, 84, 76):
            await pilot.resize_terminal(width, 30)
            await until(pilot, lambda width=width: banner.size.width == width, "the new width")  # type: ignore[misc]
            await pilot.pause()
            rows = [text_of([banner.line_at(index)]).rstrip() for index in range(banner.size.height)]
            assert pane(app, banner) == " ".join(" ".join(rows).replace("\u00a0", " ").split())
