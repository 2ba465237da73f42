"""The list of stored sessions: paged, searched by content, opened where they were left, deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import screen_toy as toy
from screen_opening import SMALL, WIDE, opened
from screen_reading import debugger, rows, squeezed, until, until_settled, until_shown
from textual.pilot import Pilot

from sessions.branches import Branch
from sessions.store import NewSession, SessionSummary, Store
from sessions.store.records import StoredVerdict
from sessions.trajectory import Answer, CallTool, Step
from toolenv.model import ToolCall, ToolResult
from vakra_tui.screens.instances import InstancesScreen
from vakra_tui.screens.sessions import SessionsScreen
from vakra_tui.state.keeping import Keeping
from vakra_tui.state.lines import plain
from vakra_tui.state.session_list import PAGE, Asked, Part, SessionList, done_words, needed, read_part, session_of

HERE = "sha256:toy"


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'sessions.sqlite'}"


def stored(address: str, number: int, text: str = "a text", **fields: Any) -> list[str]:
    """Sessions with two steps; the first one's response holds ``text`` and its number."""
    store = Store.open(address)
    keys = []
    for index in range(number):
        made = {"instance": toy.instance("u-1", query=f"question {index}"), "dataset": HERE, "run": "gone", **fields}
        session = store.create_session(NewSession(**made))
        call = ToolCall(name="get_top_brand", arguments={"limit": index})
        steps = (
            Step(actor="human", decision=CallTool(call=call), result=ToolResult(text=f"{text} {index}")),
            Step(actor="human", decision=Answer(text="so it is")),
        )
        store.append(session.id, 0, 0, steps)
        keys.append(session.key)
    store.close()
    return keys


async def at_sessions(pilot: Pilot[Any]) -> SessionsScreen:
    app: Any = pilot.app
    await pilot.press("L")
    await until(pilot, lambda: isinstance(app.screen, SessionsScreen) and bool(app.screen.listed.here), "the sessions")
    screen: SessionsScreen = app.screen
    await pilot.pause()
    return screen


async def test_sessions_are_read_a_page_at_a_time(address: str) -> None:
    stored(address, PAGE + 40)
    async with opened(toy.wiring(store=Store.open(address)), SMALL) as (app, pilot):
        screen = await at_sessions(pilot)
        await until_shown(pilot, f"more than {PAGE} sessions of the debugger")
        assert "question 139" in squeezed(app), "the newest first"
        for _ in range(12):
            await pilot.press("pagedown")
        await until_shown(pilot, f"{PAGE + 40} sessions of the debugger")
        await pilot.press("end")
        await until_shown(pilot, "question 0")
        assert screen.row is screen.listed.rows[-1]
        assert all(len(row) <= 80 for row in rows(app))
        await pilot.press("escape")
        assert isinstance(app.screen, InstancesScreen)


async def test_steps_are_found_by_what_they_hold(address: str) -> None:
    keys = stored(address, 3, "the Zanzibar file [/] number")
    async with opened(toy.wiring(store=Store.open(address)), WIDE) as (app, pilot):
        await at_sessions(pilot)
        await pilot.press("slash", *"zanzibar 1")
        await until_shown(pilot, "1 step found in sessions of the debugger")
        assert "step 1" in squeezed(app)
        assert "file [/] number 1" in squeezed(app)
        assert keys[1] in squeezed(app)
        await pilot.press("enter", "b")
        await until_shown(pilot, "no step of a stored session matches")
        await pilot.press("b", "escape")
        await until_shown(pilot, "3 sessions of the debugger")
        await pilot.press("b")
        await until_shown(pilot, "no session of batches is stored")


async def test_what_was_merely_looked_at_is_told_apart(address: str) -> None:
    """A recording that only ran is no work: it is left out, counted, and listed when asked for."""
    stored(address, 1)
    async with opened(toy.wiring(store=Store.open(address)), SMALL) as (app, pilot):
        await pilot.press("enter")
        await until_settled(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, InstancesScreen), "the list")
        await app.workers.wait_for_complete()
        screen = await at_sessions(pilot)
        await until_shown(pilot, "1 session of the debugger · 1 merely looked at (a lists them)")
        assert [row.worked for row in screen.listed.rows] == [True]  # type: ignore[union-attr]
        assert "2 steps" in squeezed(app) and "looked at" not in rows(app)[2]
        await pilot.press("a")
        await until_shown(pilot, "2 sessions of the debugger · 1 merely looked at (a leaves them out)")
        assert "looked at" in squeezed(app).partition("merely")[0]
        assert all(len(row) <= 80 for row in rows(app))
        await pilot.press("a")
        await until_shown(pilot, "(a lists them)")
        await pilot.press("slash", *"brand")
        await until_shown(pilot, "1 step found in sessions of the debugger · 1 merely looked at (a searches")
        await pilot.press("enter", "a")
        await until_shown(pilot, "2 steps found in sessions of the debugger")


async def test_where_nothing_was_done_everything_is_listed(address: str) -> None:
    async with opened(toy.wiring(store=Store.open(address)), WIDE) as (app, pilot):
        await pilot.press("enter")
        await until_settled(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, InstancesScreen), "the list")
        await app.workers.wait_for_complete()
        await at_sessions(pilot)
        await until_shown(pilot, "1 session of the debugger · nothing was done but looking")


def test_what_was_done_is_said_in_words() -> None:
    done = {"branches": 3, "own_steps": 2, "notes": 1, "rulings": 1, "flags": 1, "marks": 2}
    assert done_words(summary(**done)) == "2 forks, 2 steps, 1 note, 1 ruling, 1 flag, 2 marks"
    assert done_words(summary(branches=1)) == "looked at"
    for field in done:
        assert summary(**{"branches": 1, field: done[field]}).worked
    assert not summary(branches=1).worked


async def test_a_session_opens_where_it_was_left(address: str) -> None:
    async with opened(toy.wiring(store=Store.open(address)), WIDE) as (app, pilot):
        await pilot.press("enter")
        await until_settled(pilot)
        await pilot.press("1", "home", "down")
        assert debugger(app).cursor == 1
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, InstancesScreen), "the list")
        await app.workers.wait_for_complete()
        screen = await at_sessions(pilot)
        await until_shown(pilot, "1 session of the debugger")
        assert screen.row is not None
        await pilot.press("enter")
        shown = await until_settled(pilot)
        await until(pilot, lambda: debugger(app).cursor == 1, "the place where it was left")
        assert shown.scene is not None
        assert shown.scene.executed == 4
        await pilot.press("escape")
        assert isinstance(app.screen, SessionsScreen)


async def test_a_search_leaves_out_what_was_merely_looked_at(address: str) -> None:
    """Page by page, until there is a page of steps of sessions in which something was done."""
    store = Store.open(address)
    call = CallTool(call=ToolCall(name="get_top_brand", arguments={}))
    for index in range(PAGE + 40):
        actor = "human" if index < 3 else "recording"
        session = store.create_session(NewSession(instance=toy.instance(f"u-{index}"), dataset=HERE, run="gone"))
        step = Step(actor=actor, decision=call, result=ToolResult(text=f"the Zanzibar file {index}"))
        store.append(session.id, 0, 0, (step,))
    keeping = Keeping(lambda: store)
    part = await read_part(keeping, Asked(query="zanzibar"), None)
    assert [session_of(row).uuid for row in part.rows] == ["u-2", "u-1", "u-0"] and not part.more
    first = await read_part(keeping, Asked(query="zanzibar", everything=True), None)
    rest = await read_part(keeping, Asked(query="zanzibar", everything=True), first.rows[-1])
    assert (len(first.rows), first.more, len(rest.rows), rest.more) == (PAGE, True, 40, False)
    listed = SessionList(HERE, Asked(query="zanzibar"))
    listed.add(part)
    assert listed.counts().startswith("3 steps found in sessions of the debugger")
    assert f"{PAGE + 37} merely looked at (a searches them too)" in listed.counts()


async def test_a_step_that_was_found_is_where_its_session_opens(address: str) -> None:
    stored(address, 1, "the Zanzibar file")
    async with opened(toy.wiring(store=Store.open(address)), WIDE) as (app, pilot):
        await at_sessions(pilot)
        await pilot.press("slash", *"zanzibar")
        await until_shown(pilot, "1 step found in sessions of the debugger")
        await pilot.press("enter", "enter")
        shown = await until_settled(pilot)
        await until(pilot, lambda: shown.scene is not None and shown.scene.executed == 2, "its steps")
        assert debugger(app).cursor == 0


async def test_whose_verdict_a_session_of_several_branches_shows_is_said(address: str) -> None:
    (key,) = stored(address, 1)
    store = Store.open(address)
    session = store.load(key)
    store.branch(session.summary.id, Branch(number=1, name="fork", parent=0, fork_at=1))
    verdict = StoredVerdict(branch=0, steps=2, profile="paper", judge="offline", passed=False, body={})
    store.put_verdict(session.summary.id, verdict)
    store.close()
    async with opened(toy.wiring(store=Store.open(address)), WIDE) as (app, pilot):
        await at_sessions(pilot)
        await until_shown(pilot, "✗ failed *")
        assert "* the last verdict given, of whichever branch" in squeezed(app)


async def test_a_person_goes_on_beside_what_a_batch_executed(address: str) -> None:
    (key,) = stored(address, 1, kind="batch")
    async with opened(toy.wiring(store=Store.open(address)), WIDE) as (app, pilot):
        await at_sessions(pilot)
        await pilot.press("b")
        await until_shown(pilot, "1 session of batches")
        await pilot.press("enter")
        shown = await until_settled(pilot)
        assert shown.scene is not None
        assert shown.scene.executed == 2
        await pilot.press("1", "home", "a", *"another answer", "enter")
        await until(pilot, lambda: (scene := debugger(app).scene) is not None and scene.on_branch, "a branch")
        await until_settled(pilot)
        await pilot.press("escape")
        await until_shown(pilot, "1 session of batches")
        await pilot.press("b")
        await until_shown(pilot, "1 session of the debugger")
    store = Store.open(address)
    assert len(store.load(key).tree.branches) == 1
    store.close()


async def test_what_another_dataset_needs_is_said(address: str) -> None:
    stored(address, 1, dataset="sha256:other", dataset_path="/", run="r1")
    async with opened(toy.wiring(store=Store.open(address)), WIDE) as (app, pilot):
        await at_sessions(pilot)
        await until_shown(pilot, "1 of another dataset")
        assert "vakra-tui / --instance u-1 --run DIR, where DIR is the folder of the run r1" in squeezed(app)
        await pilot.press("enter")
        await until_shown(pilot, "Another start is needed for this session")
        await pilot.press("enter")
        assert isinstance(app.screen, SessionsScreen)


async def test_deleting_asks_first(address: str) -> None:
    keys = stored(address, 2)
    async with opened(toy.wiring(store=Store.open(address)), SMALL) as (app, pilot):
        await at_sessions(pilot)
        await until_shown(pilot, "question 1")
        await pilot.press("d")
        await until_shown(pilot, f"Delete the session {keys[1]} (2 steps, 1 branch)?")
        await pilot.press("enter")
        await until_shown(pilot, "2 sessions of the debugger")
        await pilot.press("d", "down", "enter")
        await until_shown(pilot, "1 session of the debugger")
        assert "question 1" not in squeezed(app)
    store = Store.open(address)
    assert [item.key for item in store.sessions("person").items] == [keys[0]]
    store.close()


def summary(**changes: Any) -> SessionSummary:
    fields: dict[str, Any] = {
        "id": 1,
        "key": "k1",
        "kind": "person",
        "title": "",
        "dataset": "other",
        "dataset_path": "/data",
        "capability": 4,
        "domain": "d",
        "uuid": "u",
        "query": "q [/]",
        "run": "r",
        "run_fingerprint": "",
        "environment": "native",
        "created_at": 0.0,
        "updated_at": 0.0,
        "steps": 3,
        "branches": 1,
    }
    return SessionSummary(**{**fields, **changes})


def test_what_is_needed_in_words() -> None:
    here, open_ = "here", Path("/open")

    def said(*, there: bool = True, **changes: Any) -> str:
        return needed(summary(**changes), here, open_, exists=lambda path: there)

    assert said(dataset="here") == ""
    assert "vakra-tui /data --instance u --run DIR, where DIR is the folder of the run r" in said()
    assert "vakra-tui '/my data' --instance u" in said(dataset_path="/my data")
    assert "another dataset" in said(dataset_path="/home/a/sample-x/dataset"), "a folder of that name is no sample"
    assert "--run" not in said(run="")
    assert "not there now" in said(there=False)
    assert "have changed" in said(dataset_path="/open")
    assert "vakra-tui export k1" in said(dataset="")
    assert "Leave and start: vakra-tui --instance u --run r" in said(dataset_path="")
    assert "of another version" in needed(summary(dataset_path=""), here, None)
    assert "vakra-tui --instance u" in said(dataset_path="/home/a/.cache/vakra-tui/sample-01/dataset")


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_rows_stay_in_their_columns(width: int) -> None:
    listed = SessionList("here")
    listed.add(Part((summary(passed=False), summary(dataset="here", passed=True, query="\u6f22" * 200)), more=False))
    listed.layout(width)
    head = plain(listed.head(width))
    first, second = (plain(listed.line(index)) for index in (0, 1))
    assert first.startswith("\u2260 ")
    assert second.startswith("  ")
    assert first.index("\u2717 failed") == second.index("\u2713 passed") == head.index("verdict")
    assert first.index("q [/]") == head.index("query")


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_columns_are_named_before_there_are_rows(width: int) -> None:
    head = plain(SessionList("here").head(width))
    assert "\u2026" not in head
    assert head.split()[0] == "changed"
    assert "done here" in head
    assert "domain" in head
