"""The tables behind recorded handles."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolenv.environment import ColumnInfo
from toolenv.errors import EnvironmentFailure
from toolenv.recorded import tables
from toolenv.recorded.tables import TableFile, TableWriter, merge_tables

CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.just({"$base64": "AA=="}), st.just("\ud83d")
)


class View:
    """A table of a test's own."""

    def __init__(self, columns: dict[str, list[Any]], count: int | None = None) -> None:
        self._columns = columns
        self.num_records = count if count is not None else len(next(iter(columns.values()), []))
        self.fingerprint = f"test:{id(self)}"

    @property
    def columns(self) -> Sequence[ColumnInfo]:
        return [ColumnInfo(name=name, dtype="object") for name in self._columns]

    def rows(self, start: int, stop: int) -> Sequence[tuple[Any, ...]]:
        return list(zip(*self._columns.values(), strict=True))[start:stop]

    def column(self, index: int) -> Iterator[Any]:
        return iter(list(self._columns.values())[index])


def kept(folder: Path, *views: View) -> tuple[TableFile, list[str | None]]:
    spool, target = folder / ".d.tables.spool", folder / "d.tables"
    writer = TableWriter(spool, target)
    digests = [writer.keep(view) for view in views]
    merge_tables(target, spool)
    assert not spool.exists()
    return TableFile(target), digests


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 5).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=1, max_size=4)))
def test_cells_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, columns: list[list[Any]]) -> None:
    view = View({f"c{index}": column for index, column in enumerate(columns)})
    file, (digest,) = kept(tmp_path_factory.mktemp("t"), view)
    assert digest is not None
    back = file.view(digest)
    assert back is not None
    assert (back.num_records, list(back.columns)) == (view.num_records, list(view.columns))
    for index, column in enumerate(columns):
        for ours, theirs in zip(column, back.column(index), strict=True):
            assert type(ours) is type(theirs)
            assert ours == theirs or (isinstance(ours, float) and math.isnan(ours) and math.isnan(theirs))
    assert len(back.rows(0, 2)) == min(2, view.num_records)


def test_equal_columns_and_tables_are_kept_once(tmp_path: Path) -> None:
    values = [str(number) for number in range(1000)]
    one, two, part = View({"a": values, "b": values}), View({"a": values, "b": values}), View({"b": values})
    _, digests = kept(tmp_path, one, two, part)
    assert digests[0] == digests[1] != digests[2]
    kinds = [next(iter(json.loads(line))) for line in (tmp_path / "d.tables").read_text().splitlines()]
    assert sorted(kinds) == ["column", "table", "table"]


def test_a_second_run_adds_and_the_order_of_runs_does_not_show(tmp_path: Path) -> None:
    views = [View({"a": [number, None]}) for number in range(4)]
    contents = []
    for name, groups in (("x", ((0, 1), (2, 3))), ("y", ((3, 1), (0, 2)))):
        (tmp_path / name).mkdir()
        for group in groups:
            kept(tmp_path / name, *(views[index] for index in group))
        contents.append((tmp_path / name / "d.tables").read_bytes())
    assert contents[0] == contents[1]


def test_what_is_too_large_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "CELLS", 3)
    _, digests = kept(tmp_path, View({"a": [1, 2, 3, 4]}), View({"a": [1]}))
    assert digests[0] is None and digests[1] is not None


def test_a_table_that_is_not_there_is_none_and_a_damaged_one_a_failure(tmp_path: Path) -> None:
    file, (digest,) = kept(tmp_path, View({"a": ["one", "two"]}))
    assert file.view("0" * 64) is None
    assert TableFile(tmp_path / "none.tables").view("0" * 64) is None
    assert digest is not None
    path = tmp_path / "d.tables"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if "values" in line:
            line["values"] = line["values"][:-4]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    view = TableFile(path).view(digest)
    assert view is not None
    with pytest.raises(EnvironmentFailure, match=r"d\.tables is damaged at the entry"):
        list(view.column(0))
