"""A person's marks and notes on steps: kept with the session, and shown on every branch that shares the step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from sessions.branches import Cursor, Tree
from toolenv.errors import DataError, StoreError
from toolenv.model import Value

if TYPE_CHECKING:
    from sessions.store import AsyncStore, Mark, Note, SessionRef


class Remark(Value, frozen=True):
    """A note on one step: ``id`` is the store's, ``branch`` and ``position`` are those of the step's own branch."""

    id: int
    text: str
    branch: int
    position: int


class Remarks(Value, frozen=True):
    """All marks and notes of one session, by the place of their step: (branch, position from 0)."""

    marked: frozenset[tuple[int, int]] = frozenset()
    notes: tuple[Remark, ...] = ()

    def marks_on(self, tree: Tree, branch: int) -> frozenset[int]:
        """Indexes of the marked steps of a branch."""
        length = tree.branch(branch).length
        return frozenset(
            position
            for number, position in self.marked
            if position < length and owner(tree, branch, position) == (number, position)
        )

    def notes_on(self, tree: Tree, branch: int) -> dict[int, tuple[str, ...]]:
        """Index of step -> the notes on it, oldest first."""
        if not self.notes:
            return {}
        length = tree.branch(branch).length
        found: dict[int, tuple[str, ...]] = {}
        for note in self.notes:
            if note.position < length and owner(tree, branch, note.position) == (note.branch, note.position):
                found[note.position] = (*found.get(note.position, ()), note.text)
        return found


def owner(tree: Tree, branch: int, position: int) -> tuple[int, int]:
    """The branch that a step was made on, however many branches share it, and its position."""
    line = tree.branch(branch)
    while line.parent is not None and position < line.fork_at:
        line = tree.branch(line.parent)
    return line.number, position


def mark_name(branch: int, position: int) -> str:
    """What the store calls the mark on a step."""
    return f"step {branch}.{position}"


def remarks_of(marks: Sequence[Mark], notes: Sequence[Note]) -> Remarks:
    """The marks and notes on steps among those of a stored session."""
    return Remarks(
        marked=frozenset(
            (mark.place.branch, mark.place.at)
            for mark in marks
            if mark.name == mark_name(mark.place.branch, mark.place.at)
        ),
        notes=tuple(
            Remark(id=note.id, text=note.text, branch=note.branch, position=note.position)
            for note in notes
            if note.branch is not None and note.position is not None
        ),
    )


class Marking:
    """Writes marks and notes of one session. ``known`` is what is kept; every change replaces it.

    Raises ``StoreError`` where nothing can be kept; ``known`` stays as it was then.
    """

    def __init__(self, known: Remarks = Remarks()) -> None:  # noqa: B008 - immutable
        self.known = known

    async def toggle(self, store: AsyncStore | None, ref: SessionRef | None, tree: Tree, place: Cursor) -> bool:
        """Mark a step or take its mark away; gives whether it is marked now. ``place.at`` is the step's index."""
        from sessions.store import Mark

        store, ref = _ready(store, ref)
        key = owner(tree, place.branch, place.at)
        if key in self.known.marked:
            await store.drop_mark(ref.id, mark_name(*key))
            self.known = msgspec.structs.replace(self.known, marked=self.known.marked - {key})
            return False
        await store.put_mark(ref.id, Mark(name=mark_name(*key), place=Cursor(branch=key[0], at=key[1])))
        self.known = msgspec.structs.replace(self.known, marked=self.known.marked | {key})
        return True

    async def note(
        self, store: AsyncStore | None, ref: SessionRef | None, tree: Tree, place: Cursor, text: str
    ) -> None:
        """Make ``text`` the note on a step; an empty one takes its notes away."""
        store, ref = _ready(store, ref)
        branch, position = owner(tree, place.branch, place.at)
        old = [note for note in self.known.notes if (note.branch, note.position) == (branch, position)]
        kept = tuple(note for note in self.known.notes if note not in old)
        if text.strip():
            number = await store.put_note(ref.id, text, branch, position)
            kept = (*kept, Remark(id=number, text=text, branch=branch, position=position))
        for note in old:
            await store.drop_note(note.id)
        self.known = msgspec.structs.replace(self.known, notes=kept)


def _ready(store: AsyncStore | None, ref: SessionRef | None) -> tuple[AsyncStore, SessionRef]:
    if store is None:
        raise StoreError("The session store cannot be used, so nothing can be kept with a step.")
    if store.read_only:
        raise StoreError(f"The session store {store.name} is read-only, so nothing can be kept with a step.")
    if ref is None:
        raise DataError("No step of this session is kept yet; a mark or a note needs one.")
    return store, ref
