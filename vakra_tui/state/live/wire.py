"""What went over the wire for a step: from the environment's own memory and from the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions.trajectory import CallTool
from toolenv.errors import EnvironmentFailure
from vakra_tui.state.live.base import SessionBase
from vakra_tui.state.panes.protocol import StepProtocol

if TYPE_CHECKING:
    from sessions.branches import Tree


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


def owner_of(tree: Tree, branch: int, index: int) -> int:
    """The branch on which a step was made: of a shared prefix the one whose own steps hold it."""
    while True:
        here = tree.branch(branch)
        if here.parent is None or index >= here.fork_at:
            return branch
        branch = here.parent
