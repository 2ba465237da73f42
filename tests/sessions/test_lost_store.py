"""A store whose file is taken away while it is open says so; nothing is written to where nobody finds it again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sessions.breakpoints import Breakpoint
from sessions.store import Store
from toolenv.errors import StoreError


@pytest.mark.parametrize("how", ["deleted", "replaced", "folder deleted"])
def test_a_file_that_is_taken_away_is_told(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "store"
    path = folder / "sessions.sqlite"
    store = Store.open(f"sqlite:///{path}")
    store.put_breakpoints(())
    if how == "folder deleted":
        shutil.rmtree(folder)
    else:
        path.unlink()
    if how == "replaced":
        Store.open(f"sqlite:///{path}").close()
    with pytest.raises(StoreError, match="deleted or replaced while it was open"):
        store.put_breakpoints(())
    with pytest.raises(StoreError, match="deleted or replaced"):
        store.breakpoints()
    store.close()
    if how == "replaced":
        Store.open(f"sqlite:///{path}").close()


def test_a_file_that_stays_is_written_whoever_else_writes(tmp_path: Path) -> None:
    first, second = (Store.open(f"sqlite:///{tmp_path / 's.sqlite'}") for _ in range(2))
    for store in (first, second, first):
        store.put_breakpoints((Breakpoint(kind="tool", value="x"),) if store is first else ())
    first.close()
    second.put_breakpoints(())
    second.close()
