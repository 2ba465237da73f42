"""Pipes, devices, folders and links under the names of the screen's own files: nothing waits, everything is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import screen_toy as toy
from hypothesis import given
from hypothesis import strategies as st

from sessions.trajectory import Answer, Step, Trajectory
from toolenv.errors import DataError
from vakra_tui.state.export import export
from vakra_tui.state.marks import Marks, read_json
from vakra_tui.state.memory import Memory
from vakra_tui.state.remembered import NAME, Remembered, recall, remember
from vakra_tui.state.saved_filters import SavedFilters
from vakra_tui.state.small_files import LARGEST, read_small, write_small


def put_in_the_way(path: Path, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "link to itself":
        path.symlink_to(path)
    else:
        path.symlink_to("/dev/tty" if kind == "terminal" else "/dev/full")


KINDS = ["pipe", "folder", "link to itself", "terminal", "full device"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_is_neither_read_nor_written(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "folder" / "small"
    path.parent.mkdir()
    put_in_the_way(path, kind)
    assert read_small(path) is None
    with pytest.raises(DataError, match="small"):
        write_small(path, b"{}")
    assert [each.name for each in path.parent.iterdir()] == ["small"]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_is_remembered_waits_for_what_is_no_file(kind: str, tmp_path: Path) -> None:
    for name in (NAME, "filters.json", "crash.log"):
        put_in_the_way(tmp_path / name, kind)
    (tmp_path / "marks").mkdir()
    put_in_the_way(Marks(tmp_path, "d")._path, kind)
    assert recall(tmp_path) == Remembered()
    with pytest.raises(DataError):
        remember(tmp_path, Remembered())
    assert SavedFilters(tmp_path).own() == []
    with pytest.raises(DataError):
        SavedFilters(tmp_path).keep("a", "~cap 4")
    assert Marks(tmp_path, "d").read() == frozenset()
    with pytest.raises(DataError):
        Marks(tmp_path, "d").write([])
    assert Memory(tmp_path).keep_crash(ValueError("one")) is None


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "filters.json"
    path.touch()
    os.truncate(path, LARGEST + 1)
    assert read_json(path) is None


@pytest.mark.parametrize("kind", KINDS)
def test_an_export_neither_waits_for_a_pipe_nor_writes_to_a_terminal(kind: str, tmp_path: Path) -> None:
    branch = Trajectory(instance=toy.instance("u-1"), steps=(Step(decision=Answer(text="1"), actor="human"),))
    place = export("prediction", str(tmp_path), branch)
    place.unlink()
    put_in_the_way(place, kind)
    with pytest.raises(DataError, match=place.name):
        export("prediction", str(tmp_path), branch)
    form = tmp_path / "form"
    put_in_the_way(form, kind)
    with pytest.raises(DataError, match="form"):
        write_small(form, b"x")


@given(st.dictionaries(st.text(max_size=90), st.text(max_size=20), max_size=4))
def test_filters_of_any_name_are_kept(tmp_path_factory: pytest.TempPathFactory, names: dict[str, str]) -> None:
    filters = SavedFilters(tmp_path_factory.mktemp("filters"))
    for name, text in names.items():
        filters.keep(name, text)
    assert {each.name for each in filters.own()} == {" ".join(name.split())[:60] for name in names}
