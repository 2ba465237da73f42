"""What every group of the debugger's verbs stands on: the session, the scene that is shown, the cursor in it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from toolenv.errors import VakraError
from vakra_tui.state.live.stopping import Stopped
from vakra_tui.state.scene import Scene, StepRow
from vakra_tui.widgets.turns import Screen
from vakra_tui.working import work

if TYPE_CHECKING:
    from vakra_tui.app import VakraApp
    from vakra_tui.state.session import DebugSession


class DebugBase(Screen[None]):
    """A screen on one session; verbs run in the engine thread, one after the other."""

    app: VakraApp

    def __init__(self, session: DebugSession) -> None:
        super().__init__()
        self.session = session
        self.scene: Scene | None = None
        self.cursor = 0
        self._follow = True

    def _move(self, index: int) -> None:
        """Look at another step."""
        raise NotImplementedError

    async def _do(self, verb: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> bool:
        """Run a verb of the session in the engine thread; its failure becomes a dialog."""
        try:
            await self.app.engine.run(self.session.in_turn(verb, *arguments))
        except Stopped as stopped:
            self.app.toast(str(stopped))
            return False
        except VakraError as error:
            self.app.report(str(error))
            return False
        return True

    async def stop(self) -> bool:
        """Stop the verb that runs; False where none does."""
        return await self.app.engine.run(self.session.stop())

    @property
    def row(self) -> StepRow | None:
        """The step under the cursor."""
        if self.scene is None or not self.scene.rows:
            return None
        return self.scene.rows[self.cursor]

    @property
    def behind(self) -> int:
        """How many steps lie behind the cursor, that under it included."""
        return min(self.cursor + 1, self.scene.executed) if self.scene is not None else 0

    @property
    def argument_led(self) -> str:
        """The argument of the step under the cursor that was chosen or led to; empty where none was."""
        raise NotImplementedError

    @work(group="session")
    async def _verb(self, verb: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> None:
        await self._do(verb, *arguments)
