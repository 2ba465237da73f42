"""What is closed when the program ends, and what is remembered where nothing can be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import screen_toy as toy
from screen_opening import opened
from screen_reading import debugger, squeezed, until, until_settled, until_shown
from screen_session import predicted, session_on

from sessions.store import Store, StoredVerdict
from toolenv.errors import EnvironmentFailure, StoreError
from vakra_tui.kept import KeptVerdicts
from vakra_tui.options import Options
from vakra_tui.state.memory import Memory
from vakra_tui.state.session_list import when_words
from vakra_tui.state.world import World
from vakra_tui.wiring import Wiring


@pytest.mark.asyncio
async def test_all_parts_are_closed_where_one_of_them_fails_to(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    wiring: Any = toy.wiring(store=Store.open("sqlite://"))
    world: Any = World(wiring)
    world.open()

    async def fails() -> None:
        raise EnvironmentFailure("the server does not answer")

    async def close() -> None:
        closed.append("wiring")

    monkeypatch.setattr(world._truths, "close", fails)
    monkeypatch.setattr(wiring, "close", close)
    world.keeping.ready()
    with pytest.raises(EnvironmentFailure):
        await world.close()
    assert closed == ["wiring"] and not world.keeping.opened


@pytest.mark.asyncio
async def test_a_wiring_ends_what_asks_before_what_keeps_and_all_of_it() -> None:
    ended: list[str] = []

    class Part:
        def __init__(self, name: str, *, fails: bool = False) -> None:
            self.name, self.fails = name, fails

        def close(self) -> None:
            ended.append(self.name)
            if self.fails:
                raise EnvironmentFailure(f"{self.name} does not answer")

    wiring = Wiring(Options())
    wiring.__dict__.update(agent=Part("agent", fails=True), environments=Part("environments"), store=Part("store"))
    wiring._former.append(Part("former"))  # type: ignore[arg-type]
    with pytest.raises(EnvironmentFailure, match="agent"):
        await wiring.close()
    assert ended == ["agent", "environments", "store", "former"]
    await wiring.close()
    assert len(ended) == 4


@pytest.mark.asyncio
async def test_the_agent_is_let_go_where_the_sessions_cannot_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    world: Any = World(toy.wiring(store=Store.open("sqlite://")))  # type: ignore[arg-type]
    world.open()
    session: Any = world.session(world.listing.entries[0])
    await session.open()

    async def fails() -> None:
        raise EnvironmentFailure("the server does not answer")

    let_go: list[bool] = []

    class Asker:
        async def close(self) -> None:
            let_go.append(True)

    session._asker = Asker()
    monkeypatch.setattr(session._timeline, "close", fails)
    with pytest.raises(EnvironmentFailure):
        await session.close()
    assert let_go == [True]
    await world.close()


@pytest.mark.asyncio
async def test_leaving_a_session_that_cannot_be_closed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(toy.wiring(store=Store.open("sqlite://"), instance="u-1")) as (app, pilot):

        async def fails(at: int | None = None) -> None:
            raise EnvironmentFailure("the server does not answer")

        monkeypatch.setattr(debugger(app).session, "close", fails)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.instances, "the list")
        await until_shown(pilot, "Not everything of the session could be closed")


@pytest.mark.asyncio
async def test_verdicts_that_the_store_refuses_are_told_when_the_screen_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wiring: Any = toy.wiring(store=Store.open("sqlite://"), instance="u-1")
    async with opened(wiring) as (app, pilot):

        def refuses() -> None:
            raise StoreError("The session store sqlite:// is read-only.")

        monkeypatch.setattr(wiring.kept, "flush", refuses)
        monkeypatch.setattr(wiring.kept, "waiting", 3)
        ended: list[tuple[int, str]] = []
        monkeypatch.setattr(app, "exit", lambda return_code, message: ended.append((return_code, str(message))))
        await pilot.press("q")
        await until(pilot, lambda: bool(ended), "the end")
    ((code, said),) = ended
    assert code == 0 and said.endswith(": 3 verdicts are not kept: The session store sqlite:// is read-only.")


class Refusing:
    """A store whose ``put_results`` is refused as long as ``full`` says so."""

    read_only = False

    def __init__(self) -> None:
        self.full = True
        self.kept: list[str] = []
        self.asked = 0

    def put_results(self, scope: str, rows: list[tuple[str, bytes]]) -> None:
        self.asked += 1
        if self.full:
            raise StoreError("no space is left")
        self.kept += [key for key, _ in rows]


def test_what_the_store_refused_is_kept_when_it_can_be(tmp_path: Path) -> None:
    store: Any = Refusing()
    wiring: Any = type("Wired", (), {"store": store})()
    kept = KeptVerdicts(wiring)
    kept._unsaved = {"a": [("1", b""), ("2", b"")], "b": [("3", b"")]}
    with pytest.raises(StoreError):
        kept.flush()
    assert (kept.waiting, store.asked) == (3, 1)
    store.full = False
    kept.flush()
    assert store.kept == ["1", "2", "3"] and kept.waiting == 0


@pytest.mark.asyncio
async def test_kept_verdicts_of_the_list_that_cannot_be_read_are_told() -> None:
    wiring: Any = toy.wiring(store=Store.open("sqlite://"))
    wiring.kept.unread = lambda index: (12, "Object missing required field `passed`")
    world: Any = World(wiring)
    world.open()
    await world.read_verdicts()
    (said,) = (problem for problem in world.problems if "cannot be read" in problem)
    assert said.endswith(
        ": 12 kept verdicts cannot be read (Object missing required field `passed`); V evaluates anew."
    )
    await world.close()


@pytest.mark.asyncio
@pytest.mark.parametrize("identity", ["openai one-model rules 1", "openai another rules 1", ""])
async def test_a_verdict_of_another_judge_does_not_pass_as_this_ones(identity: str) -> None:
    store = Store.open("sqlite://")
    calls: Any = (("get_top_brand", {}),)
    wiring: Any = toy.wiring(store=store, runs=predicted(*calls))
    wiring.judge_identity = lambda: "openai one-model rules 1"
    async with session_on(wiring):
        pass
    again: Any = toy.wiring(store=store, runs=predicted(*calls))
    again.judge_identity = lambda: identity
    world: Any = World(again)
    world.open()
    session: Any = world.session(world.listing.entries[0])
    session.subject = session._load()
    await session._open_timeline()
    assert bool(session._verdicts) == (identity == "openai one-model rules 1")


@pytest.mark.asyncio
async def test_a_kept_verdict_that_cannot_be_read_is_told() -> None:
    store = Store.open("sqlite://")
    async with session_on(toy.wiring(store=store)):
        pass
    (summary,) = store.sessions("person").items
    verdict = StoredVerdict(branch=0, steps=summary.steps, profile="paper", judge="offline", passed=None, body={"x": 1})
    store.put_verdict(summary.id, verdict)
    world: Any = World(toy.wiring(store=store))  # type: ignore[arg-type]
    world.open()
    await world.session(world.listing.entries[0]).open()
    (said,) = (problem for problem in world.problems if "cannot be read" in problem)
    assert f"Session {summary.key}: the kept verdict of branch 0" in said and said.endswith("v evaluates it anew.")


def test_a_folder_that_cannot_be_looked_into_is_as_good_as_none(tmp_path: Path) -> None:
    memory = Memory(tmp_path / ("x" * 300))
    assert memory.hint_was_seen(), "a hint that cannot be remembered would come again at every start"
    memory.keep_hint_seen()
    assert memory.keep_crash(ValueError("x")) is None


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 1e20, -1e20])
def test_a_time_that_is_none_is_told_as_such(seconds: float) -> None:
    assert when_words(seconds) == when_words(seconds, brief=True) == "at no time"


@pytest.mark.asyncio
async def test_a_failed_run_that_is_opened_again_begins_at_the_step_that_broke(tmp_path: Path) -> None:
    """Its kept verdict is there before the reference is executed, beside which the step is found."""
    options = Options(instances=("04f88e0a70fd-3aad6cc59696",), capabilities=(3,), db=f"sqlite:///{tmp_path}/s.db")
    for _ in range(2):
        async with opened(Wiring(options), (120, 36)) as (app, pilot):
            await pilot.press("enter")
            screen = await until_settled(pilot)
            assert "x FAILED" in squeezed(app)
            assert screen.cursor == 2
