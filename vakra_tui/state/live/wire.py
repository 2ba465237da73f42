"""What went over the wire for a step: from the environment's own memory and from the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions.trajectory import CallTool
from toolenv.errors import EnvironmentFailure, StoreError
from vakra_tui.state.live.base import SessionBase
from vakra_tui.state.panes.protocol import StepProtocol

if TYPE_CHECKING:
    from sessions.branches import Tree
    from sessions.store.records import RequestRecord


class Wire(SessionBase):
    """Looks at the messages of a step; nothing is sent for that."""

    async def protocol(self, index: int) -> StepProtocol:
        """The messages of step ``index`` (from 0, the opening counts) of the present branch, or why there are none."""
        timeline = self._ready()
        requests = await self._requests(index)
        steps = timeline.steps
        if index >= len(steps) or not isinstance(steps[index].decision, CallTool):
            return StepProtocol(why="This step is no call, so nothing was sent to a tool.", requests=requests)
        try:
            exchange = await timeline.exchange(index + 1)
        except EnvironmentFailure as error:
            return StepProtocol(why=str(error), requests=requests)
        why = "" if exchange is not None else "The messages of this step are not kept any more, or none were sent."
        return StepProtocol(exchange=exchange, why=why, requests=requests)

    async def _requests(self, index: int) -> tuple[RequestRecord, ...]:
        """The agent's requests that led to a step, as far as the store holds them."""
        timeline = self._ready()
        store = self.world.keeping.ready()
        keeper = timeline.keeper
        if store is None or keeper is None or keeper.ref is None:
            return ()
        try:
            kept = await store.requests(keeper.ref.id)
        except StoreError:
            return ()  # the store's trouble is told in the header already
        owner = owner_of(timeline.tree, timeline.cursor.branch, index)
        return tuple(each for each in kept if each.position == index and each.branch in (None, owner))


def owner_of(tree: Tree, branch: int, index: int) -> int:
    """The branch on which a step was made: of a shared prefix the one whose own steps hold it."""
    while True:
        here = tree.branch(branch)
        if here.parent is None or index >= here.fork_at:
            return branch
        branch = here.parent
