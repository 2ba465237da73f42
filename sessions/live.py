"""Live sessions for any place of a tree: from a snapshot where sessions copy cheaply, else by replaying the prefix."""

from __future__ import annotations

from operator import is_

from sessions.branches import Drift, Tree
from sessions.replay import Replay, replay
from toolenv.environment import TableView, ToolEnvironment, ToolSession
from toolenv.model import Instance


class LiveSessions:
    """Opens, snapshots and closes the tool sessions of one instance.

    A session says by ``forks_by_copy`` that its ``fork`` costs no more than its handles. Of such a session a snapshot
    is kept after every step, so that any past place can be gone on from at once; others are brought there by replay,
    and every replayed step is marked ``same`` or ``drifted``.
    """

    def __init__(self, environment: ToolEnvironment, instance: Instance, *, deadline_s: float | None = None) -> None:
        self.environment = environment
        self.instance = instance
        self.deadline_s = deadline_s
        self._snapshots: dict[tuple[int, int], tuple[ToolSession, list[TableView | None]]] = {}
        self._tables: dict[int, list[TableView | None]] = {}
        self._handed_out: list[ToolSession] = []

    async def at(self, tree: Tree, branch: int, at: int) -> Replay:
        """A session of its own in the state after the first ``at`` steps of a branch.

        Raises ``EnvironmentFailure`` when it cannot be opened or brought there.
        """
        snapshot = self._snapshots.get(owner(tree, branch, at))
        if snapshot is not None:
            session, tables = snapshot
            found = Replay(
                session=await session.fork(), drifts=(Drift(outcome="same"),) * at, tables=tuple(tables[:at])
            )
        else:
            steps = tree.steps(branch)[:at]
            found = await replay(self.environment, self.instance, steps, deadline_s=self.deadline_s)
            await self.keep(tree, branch, at, found.session, found.tables)
        self._handed_out.append(found.session)
        return found

    async def keep(
        self, tree: Tree, branch: int, at: int, session: ToolSession, tables: tuple[TableView | None, ...]
    ) -> None:
        """Snapshot a session that stands after ``at`` steps of a branch, if it copies cheaply."""
        if getattr(session, "forks_by_copy", False):
            place = owner(tree, branch, at)
            self._snapshots[place] = (await session.fork(), self._grown(place[0], tables))

    def _grown(self, branch: int, tables: tuple[TableView | None, ...]) -> list[TableView | None]:
        """These tables at the beginning of a list that all snapshots of a branch share as it grows."""
        known = self._tables.get(branch)
        if known is not None and len(known) == len(tables) - 1 and all(map(is_, known, tables)):
            known.append(tables[-1])
        else:
            known = self._tables[branch] = list(tables)
        return known

    async def release(self, session: ToolSession) -> None:
        """Close a session that ``at`` gave."""
        self._handed_out = [each for each in self._handed_out if each is not session]
        await session.close()

    async def close(self) -> None:
        """Close everything that is still open."""
        sessions = [*self._handed_out, *(session for session, _ in self._snapshots.values())]
        self._handed_out = []
        self._snapshots = {}
        self._tables = {}
        for session in sessions:
            await session.close()


def owner(tree: Tree, branch: int, at: int) -> tuple[int, int]:
    """The branch that a place belongs to: of a shared prefix the one whose own steps lead there."""
    while True:
        here = tree.branch(branch)
        if here.parent is None or at > here.fork_at:
            return branch, at
        branch = here.parent
