"""One instance under the debugger: a live session, the wheel, the reference executed beside it, the verdict.

A ``DebugSession`` lives on the engine's loop. Every change ends in a new ``Scene`` for the listener; the screen holds
nothing else.
"""

from __future__ import annotations

from vakra_tui.state.live.asking import Asking
from vakra_tui.state.live.base import Wheel
from vakra_tui.state.live.guiding import Guiding
from vakra_tui.state.live.opening import Opening
from vakra_tui.state.live.wire import Wire
from vakra_tui.state.subject import Subject

__all__ = ["DebugSession", "Subject", "Wheel"]


class DebugSession(Asking, Opening, Guiding, Wire):
    """Everything that the debugger does with one instance. Not safe across threads: all of it runs on one loop.

    The timeline's own cursor always stands at the tip of the branch that is looked at; where a person looks is known
    to the screen alone and comes with the verbs that need it (``at``: how many steps lie behind).
    """

    async def close(self, at: int | None = None) -> None:
        """End the live sessions and the agent's driver; ``at`` is where the person looked last."""
        try:
            await super().close(at)
        finally:
            await self.end_asking()

    async def flag(self, note: str) -> None:
        """Keep or take away the flag on this instance's ground truth."""
        await self.world.keep_flag(self.instance.uuid, note)
        await self._show(force=True)

    def handles(self) -> tuple[tuple[str, str], ...]:
        """(handle, which step made it) of every table of the session, newest first."""
        found = []
        for row in self.scene.rows if self.scene is not None else ():
            if row.step is not None and row.step.result is not None and row.step.result.handle:
                where = "the opening" if row.number == 0 else f"step {row.number} {row.tool}"
                found.append((row.step.result.handle, where))
        return tuple(reversed(found))
