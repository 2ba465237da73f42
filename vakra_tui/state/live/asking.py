"""The verbs that have an agent propose a step, and take, change or reject what it proposes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from sessions.trajectory import Decision, Message
from toolenv.errors import DataError, StoreError
from vakra_tui.state.live.playing import Playing
from vakra_tui.state.live.wire import owner_of
from vakra_tui.text import one_line

if TYPE_CHECKING:
    from sessions.agent import Variation
    from sessions.driver import Driver
    from sessions.store import AsyncStore
    from sessions.store.records import RequestRecord
    from sessions.timeline import Timeline
    from toolenv.openai_compat.sending import Waiting
    from vakra_tui.state.listing import Entry
    from vakra_tui.state.proposing import Offer
    from vakra_tui.state.subject import Subject
    from vakra_tui.state.world import World

TICK_S = 1.0
"""Time between two looks at an agent that takes its time."""

NAME_SHOWN = 20
"""Characters of the agent's name (of a command the line) that are told while it is asked: the time stands behind."""

TAIL = 60
"""Characters of a streamed reply that are shown while it arrives."""


class Asking(Playing):
    """The verbs that have an agent propose a step, and take, change or reject what it proposes.

    One driver serves the session's whole life, so that what it remembers of its completions stays; asking again with
    other settings makes another one that follows it. Requests are kept as soon as the session has a place in the store,
    and until then here.
    """

    def __init__(self, world: World, load: Callable[[], Subject], entry: Entry | None = None) -> None:
        super().__init__(world, load, entry)
        self._asker: Driver | None = None
        self._agent_wait: tuple[float, str] | None = None
        self._heard = ""
        self._asked: list[RequestRecord] = []
        self._before: tuple[RequestRecord, ...] | None = None
        self._unkept: list[RequestRecord] = []

    @property
    def usual(self) -> Variation:
        """How the agent asks where nothing else is wished."""
        return self.world.agent.usual

    def asked_here(self, at: int) -> int:
        """How often the agent was asked for the step after the first ``at`` ones, on any branch of this session."""
        return sum(record.position == at for record in self._asked)

    async def ask(self, at: int) -> Offer:
        """Have the agent propose the step after the first ``at`` ones; in the past on a branch of its own.

        Nothing is run. Asking where something is proposed already gives that again.
        """
        async with self._waiting_for_the_agent():
            timeline = self._at_the_agents_wheel()
            if at < timeline.branch.length or timeline.finished:
                await timeline.fork(self._before_the_end(at), name=f"agent from {at}")
            await self._make_opening()
            return await self._offered_now(timeline)

    async def ask_again(self, at: int, varied: Variation) -> Offer:
        """Have the agent propose the step after the first ``at`` ones anew, on a branch, asked in another way."""
        async with self._waiting_for_the_agent():
            timeline = self._at_the_agents_wheel()
            before, self._asker = self._asker, self.world.agent.driver(self.instance, varied=varied, after=self._asker)
            timeline.hand_over(self._asker)
            await _closed(before)
            words = varied.words()
            name = f"asked again from {at}{f' ({words})' if words else ''}"
            await timeline.fork(self._before_the_end(at), name=name)
            await self._make_opening()
            return await self._offered_now(timeline)

    async def accept(self) -> None:
        """Carry out what is proposed."""
        await self.step()

    async def decide_otherwise(self, decision: Decision) -> None:
        """Take a person's decision in the place of what is proposed; the agent keeps the wheel."""
        timeline = self._ready()
        self._pause = None
        await timeline.decide(decision, "human")
        await self._keep_requests(timeline)
        await self._show(force=True)

    async def reject(self, word: str) -> Offer:
        """Tell the agent that what it proposed is not done, and why; it then proposes anew."""
        from vakra_tui.state.proposing import rejected

        timeline = self._ready()
        proposal = timeline.proposal
        if proposal is None:
            raise DataError("Nothing is proposed here.")
        await self.decide_otherwise(Message(role="user", text=rejected(proposal.decision, word)))
        async with self._waiting_for_the_agent():
            return await self._offered_now(timeline)

    async def end_asking(self) -> None:
        """Let the agent's driver go; a command's process is then free for others."""
        asker, self._asker = self._asker, None
        await _closed(asker)

    async def step(self) -> None:
        if self.wheel != "agent":
            await super().step()
            return
        timeline = self._ready()
        async with self._waiting_for_the_agent():
            try:
                await super().step()
            finally:
                await self._keep_requests(timeline)

    async def resume(self, at: int, stopped: bool) -> None:
        timeline = self._ready()
        try:
            await super().resume(at, stopped)
        finally:
            await self._keep_requests(timeline)

    def _driver(self) -> Driver:
        if self.wheel != "agent":
            return super()._driver()
        if self._asker is None:
            self._asker = self.world.agent.driver(self.instance)
        return self._asker

    def _at_the_agents_wheel(self) -> Timeline:
        if self.agent_name is None:
            raise DataError("No agent is named; start with --agent NAME to have it propose calls.")
        timeline = self._ready()
        self._pause = None
        if self.wheel != "agent":
            self._hand_over("agent")
        return timeline

    async def _offered_now(self, timeline: Timeline) -> Offer:
        from sessions.agent.conversation import request_of
        from vakra_tui.state.proposing import Offer

        try:
            proposal = await timeline.propose()
        finally:
            await self._keep_requests(timeline)
        if proposal is None:
            raise DataError("The trajectory is finished; there is nothing to propose.")
        at = timeline.branch.length
        mine = [record for record in self._asked if record.branch == timeline.cursor.branch]
        return Offer(
            number=1 + sum(not step.opening and not isinstance(step.decision, Message) for step in timeline.steps),
            agent=self.agent_name or "",
            decision=proposal.decision,
            executed=proposal.arguments,
            checks=proposal.checks,
            request=request_of(mine, at),
        )

    # --- while it takes its time -------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _waiting_for_the_agent(self) -> AsyncIterator[None]:
        """Tell every second what the agent is doing: that it is asked, what it has said so far, what it waits for."""
        outer, started = self._working, time.monotonic()
        wiring = self.world.wiring
        self._agent_wait, self._heard = None, ""
        wiring.on_agent_wait, wiring.on_agent_delta = self._waits, self._hears

        async def tell() -> None:
            while True:
                await asyncio.sleep(TICK_S)
                self._working = self._words(time.monotonic() - started)
                await self._show(force=True)

        self._working = self._words(0.0)
        await self._show(force=True)
        ticking = asyncio.create_task(tell())
        try:
            yield
        finally:
            wiring.on_agent_wait = wiring.on_agent_delta = None
            ticking.cancel()
            with suppress(asyncio.CancelledError):
                await ticking
            self._working = outer
            await self._show(force=True)

    def _waits(self, waiting: Waiting) -> None:
        self._agent_wait = (time.monotonic() + waiting.seconds, waiting.reason)

    def _hears(self, kind: str, text: str) -> None:
        self._heard = (self._heard + text)[-4 * TAIL :]

    def _words(self, elapsed: float) -> str:
        words = f"asking {one_line((self.agent_name or '').removeprefix('command:'), NAME_SHOWN)}"
        if elapsed >= TICK_S:
            words += f", {elapsed:.0f} s"
        left = self._agent_wait[0] - time.monotonic() if self._agent_wait is not None else 0.0
        if self._agent_wait is not None and left > 0:
            return f"{words}; asks again in {left:.0f} s: {one_line(self._agent_wait[1], 80)}"
        return f"{words}: \u2026{one_line(self._heard, 4 * TAIL)[-TAIL:]}" if self._heard else words

    # --- what was asked ----------------------------------------------------------------------------------------------

    async def spoken(self, index: int) -> tuple[RequestRecord, ...]:
        """The agent's requests that led to step ``index`` (from 0, the opening counts) of the present branch."""
        return await self._requests(index)

    async def _requests(self, index: int) -> tuple[RequestRecord, ...]:
        """As ``spoken``: those that failed before, and of one completion with several calls the one that made them.

        Raises ``StoreError`` where nothing of them can be read.
        """
        from sessions.agent.conversation import request_of

        timeline = self._ready()
        try:
            kept = [*await self._stored_requests(timeline), *self._unkept]
        except StoreError:
            if not self._unkept:
                raise
            kept = list(self._unkept)
        owner = owner_of(timeline.tree, timeline.cursor.branch, index)
        mine = [each for each in kept if each.kind == "agent" and each.branch in (None, owner)]
        here = tuple(each for each in mine if each.position == index)
        if here:
            return here
        found = request_of(mine, index)
        return (found,) if found is not None else ()

    async def _stored_requests(self, timeline: Timeline) -> tuple[RequestRecord, ...]:
        """Those in the store: of this session, and of the one that it was opened from where that is another."""
        store = self.world.keeping.ready()
        keeper = timeline.keeper
        if store is None or keeper is None:
            return ()
        if self._before is None:
            self._before = await self._opened_from(store, keeper.ref.id if keeper.ref is not None else None)
        own = await store.requests(keeper.ref.id) if keeper.ref is not None else ()
        return (*self._before, *own)

    async def _opened_from(self, store: AsyncStore, own: int | None) -> tuple[RequestRecord, ...]:
        """The requests of the stored session that was opened, where what is done now goes into another one."""
        key = self.subject.stored if self.subject is not None else ""
        if not key:
            return ()
        opened = (await store.load(key)).summary.id
        return await store.requests(opened) if opened != own else ()

    async def _keep_requests(self, timeline: Timeline) -> None:
        """What the agent asked its model, kept beside the steps that it led to; each request once."""
        asked: list[RequestRecord] = getattr(self._asker, "requests", [])
        if isinstance(asked, list):
            while asked:
                record = msgspec.structs.replace(asked.pop(0), branch=timeline.cursor.branch)
                self._asked.append(record)
                self._unkept.append(record)
        keeper = timeline.keeper
        if not self._unkept or keeper is None or keeper.ref is None:
            return
        store = self.world.keeping.ready()
        if store is None:
            return
        try:
            while self._unkept:
                await store.put_request(keeper.ref.id, self._unkept[0])
                self._unkept.pop(0)
        except StoreError as error:
            self._store_problem = str(error)


async def _closed(driver: Driver | None) -> None:
    from sessions.agent.failure import AgentFailure

    close = getattr(driver, "close", None)
    if close is not None:
        # Whatever an agent of somebody else does at its end, nobody waits for it any more.
        with suppress(AgentFailure):
            await close()
