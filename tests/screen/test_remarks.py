"""Marks and notes on steps: kept, shown on every branch that shares the step, taken away again."""

from __future__ import annotations

from pathlib import Path

import pytest
import screen_toy as toy

from sessions.branches import Cursor, Tree
from sessions.store import AsyncStore, NewSession, Store
from sessions.trajectory import CallTool, Step
from toolenv.errors import DataError, StoreError
from toolenv.model import ToolCall, ToolResult
from vakra_tui.state.remarks import Marking, Remarks, owner, remarks_of


def made(name: str) -> Step:
    return Step(actor="human", decision=CallTool(call=ToolCall(name=name, arguments={})), result=ToolResult(text="{}"))


def forked() -> Tree:
    """Branch 0 of three steps; branch 1 shares two of them and has one of its own; branch 2 leaves that one."""
    tree = Tree(instance=toy.instance())
    for name in ("a", "b", "c"):
        tree = tree.appended(0, made(name))
    tree, number = tree.forked(0, 2)
    tree = tree.appended(number, made("d"))
    tree, number = tree.forked(number, 3)
    return tree.appended(number, made("e"))


def test_a_step_belongs_to_the_branch_that_made_it() -> None:
    tree = forked()
    assert owner(tree, 2, 0) == (0, 0)
    assert owner(tree, 2, 2) == (1, 2)
    assert owner(tree, 2, 3) == (2, 3)


async def test_marks_and_notes_come_back_on_every_branch_that_shares_the_step(tmp_path: Path) -> None:
    tree = forked()
    store = AsyncStore(Store.open(f"sqlite:///{tmp_path / 's.sqlite'}"))
    ref = await store.create_session(NewSession(instance=tree.instance), tree.steps(0))
    marking = Marking()
    assert await marking.toggle(store, ref, tree, Cursor(branch=2, at=1))
    assert await marking.toggle(store, ref, tree, Cursor(branch=0, at=2))
    await marking.note(store, ref, tree, Cursor(branch=1, at=0), "why this?")
    await marking.note(store, ref, tree, Cursor(branch=0, at=0), "because \x1b[31m")
    loaded = await store.load(ref.key)
    again = remarks_of(loaded.marks, loaded.notes)
    assert again.marked == marking.known.marked == frozenset({(0, 1), (0, 2)})
    assert again.marks_on(tree, 0) == {1, 2}
    assert again.marks_on(tree, 2) == {1}
    assert again.notes_on(tree, 2) == {0: ("because \x1b[31m",)}, "the newer note replaces the older one"
    assert not await marking.toggle(store, ref, tree, Cursor(branch=2, at=1))
    await marking.note(store, ref, tree, Cursor(branch=0, at=0), "  ")
    loaded = await store.load(ref.key)
    assert remarks_of(loaded.marks, loaded.notes) == Remarks(marked=frozenset({(0, 2)}))
    await store.close()


async def test_what_cannot_be_kept_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    tree = forked()
    marking = Marking()
    with pytest.raises(StoreError, match="cannot be used"):
        await marking.toggle(None, None, tree, Cursor(branch=0, at=0))
    store = AsyncStore(Store.open(f"sqlite:///{tmp_path / 's.sqlite'}"))
    with pytest.raises(DataError, match="No step of this session is kept"):
        await marking.note(store, None, tree, Cursor(branch=0, at=0), "x")
    assert marking.known == Remarks()
    await store.close()
