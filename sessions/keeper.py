"""Keeping a tree in a store: the session, its branches and their steps, each written before what builds on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from sessions.branches import Branch, Cursor, Tree
from sessions.store.conflicts import BranchConflict
from sessions.store.records import NewSession, SessionRef
from sessions.trajectory import Step


class SessionStore(Protocol):
    """What a keeper needs of a store; ``AsyncStore`` has it. Every method raises ``StoreError``."""

    async def create_session(self, new: NewSession, steps: Sequence[Step] = ()) -> SessionRef: ...

    async def branch(self, session_id: int, branch: Branch) -> None: ...

    async def append(self, session_id: int, branch: int, start: int, steps: Sequence[Step]) -> None: ...

    async def place(self, session_id: int, cursor: Cursor | None, promoted: int | None) -> None: ...


class Keeper:
    """Writes one tree into one store.

    Nothing is written before the first step is there: opening an instance makes no session. What a store refused is
    written with the next step, the prefix of a branch always before the branch. ``ref`` is the session, once there is
    one; another one where two processes went on with the same.
    """

    def __init__(
        self, store: SessionStore, new: NewSession, tree: Callable[[], Tree], ref: SessionRef | None = None
    ) -> None:
        self.store = store
        self.new = new
        self.ref = ref
        self._tree = tree
        kept = tree().branches if ref is not None else ()
        self._kept: dict[int, int] = {branch.number: branch.length for branch in kept}

    def sink(self, branch: int) -> KeptBranch:
        """Where a stepper keeps the steps of one branch."""
        return KeptBranch(self, branch)

    async def append(self, branch: int, start: int, steps: Sequence[Step]) -> None:
        """Keep steps of a branch. Where another process went on with the session, this tree becomes one of its own."""
        try:
            await self._append(branch, start, steps)
        except BranchConflict:
            self.ref = None
            self._kept = {}
            await self._append(branch, start, steps)

    async def _append(self, branch: int, start: int, steps: Sequence[Step]) -> None:
        tree = self._tree()
        if self.ref is None:
            first = tree.branches[0].steps
            if branch == 0:
                first = (*first[:start], *steps)
            self.ref = await self.store.create_session(self.new, first)
            self._kept[0] = len(first)
        for each in tree.branches[: branch + 1]:
            await self._keep_branch(tree, each, upto=start if each.number == branch else None)
        if self._kept[branch] < start + len(steps):
            await self.store.append(self.ref.id, branch, start, steps)
            self._kept[branch] = start + len(steps)

    async def _keep_branch(self, tree: Tree, branch: Branch, upto: int | None) -> None:
        """The branch itself, and those of its steps that the store does not hold yet."""
        assert self.ref is not None
        if branch.number not in self._kept:
            await self.store.branch(self.ref.id, msgspec.structs.replace(branch, steps=()))
            self._kept[branch.number] = branch.fork_at
        have = self._kept[branch.number]
        own = branch.steps[have - branch.fork_at :]
        if upto is not None:
            own = own[: max(0, upto - have)]
        if own:
            await self.store.append(self.ref.id, branch.number, have, own)
            self._kept[branch.number] = have + len(own)

    async def place(self, cursor: Cursor) -> None:
        """Where a person is looking; nothing where no session was made yet."""
        if self.ref is not None:
            await self.store.place(self.ref.id, cursor, self._tree().promoted)


class KeptBranch:
    """A ``StepSink`` over one branch of a kept tree."""

    def __init__(self, keeper: Keeper, branch: int) -> None:
        self.keeper = keeper
        self.branch = branch

    async def append(self, start: int, steps: Sequence[Step]) -> None:
        await self.keeper.append(self.branch, start, steps)
