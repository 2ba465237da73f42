"""The sides of a comparison, executed where they were not; a run beside another leaves no trace in the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from toolenv.errors import StoreError
from vakra_tui.state.comparison import Side
from vakra_tui.state.keeping import Keeping
from vakra_tui.state.scene import Scene

if TYPE_CHECKING:
    from vakra_tui.state.entry import Entry
    from vakra_tui.state.session import DebugSession
    from vakra_tui.state.world import World


def _no_store() -> Any:
    raise StoreError("nothing of a comparison is kept")


class Unkept:
    """A world whose sessions are kept nowhere: looking at a run beside another is no work on it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.keeping = Keeping(_no_store)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)


def beside(world: World, entry: Entry, run: str, told: Callable[[Scene], None]) -> DebugSession:
    """A session on a run's prediction that keeps nothing; ``told`` hears of every step, in the engine thread."""
    session = world.session(entry, run)
    session.world = cast("World", Unkept(world))
    session.listen(told)
    return session


async def run_side(session: DebugSession, run: str) -> Side:
    """Execute and evaluate a session's recording; the session is closed in any case."""
    try:
        await session.open()
    finally:
        await session.close()
    assert session.scene is not None, "an open session has a scene"
    return Side(name=run, kind="run", target=run, scene=session.scene)


async def branch_side(session: DebugSession, number: int, name: str) -> Side:
    """A branch of a session that is open, as it stands."""
    return Side(name=name, kind="branch", target=str(number), scene=await session.branch_scene(number))


def progress_words(run: str, scene: Scene | None) -> str:
    """How far the execution of a run is."""
    if scene is None:
        return f"opening {run} \u2026"
    doing = scene.working.replace("running", "executing") or "opening"
    return f"{run}: {doing}, {scene.executed} of {len(scene.rows)} steps \u2026"
