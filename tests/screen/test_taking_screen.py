"""Taking something out of the debugger by keys: copies, exports in every form, programs of the user's own."""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path
from typing import Any

import pytest
import screen_toy as toy
from endpoint_server import Server, completion
from screen_opening import opened
from screen_reading import debugger, pick, squeezed, until, until_settled, until_shown

from sessions.store import Store
from vakra_tui.app import VakraApp
from vakra_tui.forms import FORMS
from vakra_tui.options import Options
from vakra_tui.state.export import FORM_KINDS, LAYOUT_KINDS, default_place
from vakra_tui.wiring import Wiring


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")


async def test_a_copy_goes_to_the_terminal_and_to_a_file_that_is_named(store: Store) -> None:
    answers = {**toy.ANSWERS, "get_city": "FAIL \x1b]52;c;ZXZpbA==\x07 \x1b[31m not found"}
    wiring = toy.wiring(instance="u-1", store=store, environment=toy.ToyEnvironment(answers))
    async with opened(wiring) as (app, pilot):
        sent: list[str] = []
        driver: Any = app._driver
        write = driver.write

        def written(text: str) -> None:
            sent.append(text)
            write(text)

        driver.write = written
        await pilot.press("y")
        await until_shown(pilot, "Copy what?")
        await pick(pilot, "response")
        await until_shown(pilot, "Copied the response")
        assert app.clipboard == "\x1b]52;c;ZXZpbA==\x07 \x1b[31m not found"
        (line,) = [text for text in sent if "]52;" in text]
        body = line.removeprefix("\x1b]52;c;").removesuffix("\x07")
        assert base64.b64decode(body, validate=True).decode() == app.clipboard, "nothing of it reaches the terminal raw"
        kept = app.world.memory.folder / "copied" / "response.txt"
        assert kept.read_text() == app.clipboard
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600


async def test_what_is_too_large_for_a_clipboard_is_in_the_file_alone(store: Store) -> None:
    answers = {**toy.ANSWERS, "get_city": json.dumps({"x": "y" * 80_000})}
    wiring = toy.wiring(instance="u-1", store=store, environment=toy.ToyEnvironment(answers))
    async with opened(wiring) as (app, pilot):
        await pilot.press("end", "b", "y")
        await until_shown(pilot, "Copy what?")
        await pick(pilot, "response")
        await until_shown(pilot, "too much for a terminal's clipboard")
        assert app.clipboard == ""
        assert (app.world.memory.folder / "copied" / "response.txt").read_text() == answers["get_city"]


async def test_the_curl_line_is_copied_with_the_command_that_serves(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("y")
        await until_shown(pilot, "Copy what?")
        await pick(pilot, "curl")
        await until_shown(pilot, "vakra-tui serve toy-data --capability 4 --domain beer_factory")
        assert "It calls what this command serves:" in squeezed(app)
        assert app.clipboard.startswith('U="${VAKRA_URL:-http://127.0.0.1:8000/mcp}"; S=$(curl ')


@pytest.mark.parametrize("form", FORM_KINDS)
async def test_every_form_of_the_command_is_exported(store: Store, tmp_path: Path, form: str) -> None:
    hostile = toy.instance(domain="beer_factory", uuid="../u\x1b[31m-1")
    run = toy.ToyRun("r", [toy.prediction(uuid="../u\x1b[31m-1")])
    wiring = toy.wiring(instance="../u", store=store, instances=[hostile], runs=[run])
    async with opened(wiring) as (app, pilot):
        await pilot.press("E")
        await pick(pilot, form)
        await until_shown(pilot, "File to write it to")
        field: Any = app.screen.query_one("#answer")
        assert field.value == f"exported/beer_factory-..-u-31m-1.{form}.{FORMS[form][0]}"
        place = tmp_path / "out" / f"a.{form}"
        field.value = str(place)
        await pilot.press("enter")
        if form == "preferences":
            await until_shown(pilot, "nothing that failed was repaired")
            assert not place.exists()
            return
        await until(pilot, place.exists, "the file")
        text = place.read_text(encoding="utf-8")
        assert "get_city" in text
        if form == "openai":
            assert [tool["function"]["name"] for tool in json.loads(text)["tools"]] == list(toy.ANSWERS)
        if form == "atif":
            assert json.loads(text)["steps"]
        await pilot.press("E")
        await pick(pilot, form)
        await until_shown(pilot, "File to write it to")
        app.screen.query_one("#answer").value = str(place)  # type: ignore[attr-defined]
        await pilot.press("enter")
        await until_shown(pilot, "what it holds now (")
        await pilot.press("escape")
        await until_shown(pilot, "Nothing was written.")
        assert place.read_text(encoding="utf-8") == text


async def test_a_failed_branch_becomes_ground_truth_only_when_its_faults_were_told(
    store: Store, tmp_path: Path
) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await until(pilot, lambda: debugger(app).scene.verdict is not None, "a verdict")  # type: ignore[union-attr]
        await pilot.press("E")
        await pick(pilot, "reference")
        await until_shown(pilot, "Write this branch as ground truth?")
        assert "This branch FAILED at " in squeezed(app)
        assert "left out of the record: step 3 get_city" in squeezed(app)
        await pick(pilot, "leave it")
        await pilot.pause()
        assert "Folder to write it to" not in squeezed(app)
        await pilot.press("E")
        await pick(pilot, "reference")
        await until_shown(pilot, "Write this branch as ground truth?")
        await pick(pilot, "write it")
        await until_shown(pilot, "Folder to write it to")


def test_the_screen_offers_every_form_of_the_command() -> None:
    assert {"submission", *FORM_KINDS} == set(FORMS)
    assert default_place("prediction", toy.instance()) == "exported-predictions"
    assert set(LAYOUT_KINDS) == {"prediction", "reference"}


async def test_without_a_pager_or_an_editor_it_is_said_how_to_name_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PAGER", "VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("P")
        await until_shown(pilot, "$PAGER is not set")
        assert "PAGER=less vakra-tui" in squeezed(app)
        assert "$VISUAL or $EDITOR is not set" in squeezed(app)


async def test_a_terminal_that_cannot_be_handed_over_is_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "cat")
    monkeypatch.setenv("EDITOR", "cat")
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("P")
        await pick(pilot, "response")
        await until_shown(pilot, "Open the response in your")
        await pick(pilot, "pager")
        await until_shown(pilot, "cannot be handed to another program")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is debugger(app), "the debugger")


async def test_what_the_agents_model_was_asked_is_copied_and_asked_again_by_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k-secret-of-this-test")
    server = Server()
    try:
        endpoint = server.endpoint()
        endpoint.default = completion({"content": "Tungsten is W."})
        options = Options(
            db=f"sqlite:///{tmp_path / 's.sqlite'}",
            capabilities=(2,),
            limit=1,
            agent="react",
            model="m",
            base_url=endpoint.base_url,
        )
        app = VakraApp(Wiring(options))
        async with app.run_test(size=(120, 36), notifications=True) as pilot:
            await until(pilot, lambda: app.opened, "the list")
            await pilot.press("enter")
            await until_settled(pilot)
            await pilot.press("w")
            await until_shown(pilot, "Who is at the wheel?")
            await pick(pilot, "agent")
            await until_shown(pilot, "wheel: agent")
            await until_settled(pilot)
            await pilot.press("c")
            screen = debugger(app)
            await until(pilot, lambda: screen.scene is not None and screen.scene.finished, "the agent's answer")
            await until_settled(pilot)
            await pilot.press("end", "y")
            await pick(pilot, "request")
            kept = app.world.memory.folder / "copied"
            await until(pilot, lambda: any("request.json" in each.message for each in app._notifications), "the copy")
            assert json.loads((kept / "request.json").read_text()) == endpoint.asked[-1]
            await pilot.press("y")
            await pick(pilot, "curl request")
            await until_shown(pilot, "reads the key from VAKRA_TUI_AGENT_API_KEY")
            line = (kept / "request.sh").read_text()
            assert line.startswith(f"U={endpoint.base_url}; curl -sS ") and "k-secret" not in line
    finally:
        server.close()
