"""What a field of one line gives back: the text that it was given, whatever it can show of it."""

from __future__ import annotations

from typing import Any

import pytest
import screen_toy as toy
from screen_opening import opened
from screen_reading import debugger, shown, until, until_settled

from sessions.store import Store
from sessions.trajectory import Answer
from vakra_tui.screens.ask import AskScreen
from vakra_tui.widgets.clean_input import CleanInput

pytestmark = pytest.mark.asyncio


async def asked(value: str, *keys: str) -> list[str | None]:
    given: list[str | None] = []
    async with opened(toy.wiring(store=Store.open("sqlite://"))) as (app, pilot):
        app.push_screen(AskScreen("What?", value=value), given.append)
        await until(pilot, lambda: isinstance(app.screen, AskScreen), "the question")
        await pilot.press(*keys, "enter")
        await until(pilot, lambda: bool(given), "an answer")
    return given


@pytest.mark.parametrize("value", ["one\ntwo", "tab\there", "a\u202eb", "esc \x1b[2J", "\u0301x", "plain", "<U+202E>"])
async def test_a_text_that_is_only_looked_at_stays_what_it_is(value: str) -> None:
    assert await asked(value) == [value]


async def test_what_is_written_beside_it_changes_nothing_else() -> None:
    assert await asked("one\ntwo", "end", "x", "y") == ["one\ntwoxy"]
    assert await asked("one\ntwo", "home", "delete") == ["ne\ntwo"]


async def test_a_line_break_can_be_deleted() -> None:
    assert await asked("a\nb", "end", "left", "backspace") == ["ab"]


async def test_a_stand_in_that_a_person_wrote_stays_written() -> None:
    assert await asked("<U+202E> and \u202e") == ["<U+202E> and <U+202E>"]


async def test_a_field_shows_stand_ins_and_means_the_characters() -> None:
    async with opened(toy.wiring(store=Store.open("sqlite://"))) as (app, pilot):
        app.push_screen(AskScreen("What?", value="a\nb"))
        await until(pilot, lambda: isinstance(app.screen, AskScreen), "the question")
        field: Any = app.screen.query_one("#answer", CleanInput)
        assert field.value == "a\u240ab" and field.meant == "a\nb"
        assert "a\u240ab" in shown(app)


async def test_the_note_of_several_lines_is_kept_as_it_was_written() -> None:
    async with opened(toy.wiring(store=Store.open("sqlite://"), instance="u-1")) as (app, pilot):
        screen = debugger(app)
        await app.engine.run(screen.session.in_turn(screen.session.note, 0, "first\nsecond"))
        await until_settled(pilot)
        await pilot.press("home", "M")
        await until(pilot, lambda: isinstance(app.screen, AskScreen), "the note")
        await pilot.press("end", "!", "enter")
        await until(pilot, lambda: debugger(app).scene.rows[0].remarks == ("first\nsecond!",), "the note")  # type: ignore[union-attr]


async def test_a_step_of_absurd_number_is_not_asked_for() -> None:
    async with opened(toy.wiring(store=Store.open("sqlite://"), instance="u-1")) as (app, pilot):
        await pilot.press("g")
        await until(pilot, lambda: isinstance(app.screen, AskScreen), "the number")
        await pilot.press(*"99999999999999", "enter")
        await until_settled(pilot)
        decision = debugger(app).row.step.decision  # type: ignore[union-attr]
        assert isinstance(decision, Answer), "the last step is gone to"
