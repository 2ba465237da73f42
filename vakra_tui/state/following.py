"""Staying in step with files that are rewritten while the screen shows them.

What was read stays until a file can be read to its end and did not change meanwhile; then its rows are read again and
lose the verdicts that were about its former content. Nothing here writes, locks, moves or deletes a file.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolenv.errors import DataError
from vakra_tui.state.watching import Looks, Watch, look

if TYPE_CHECKING:
    from sessions.submissions import Run
    from toolenv.dataset import Dataset


REST = 10
"""Between two readings of files that go on changing lies so many times what a reading takes."""


@dataclass(frozen=True)
class Readings:
    """Dataset and runs as they were read."""

    dataset: Dataset
    runs: Mapping[str, Run]


@dataclass(frozen=True)
class News:
    """New readings, and which files they have that the former did not have so; ``dataset`` None where it is as before.

    ``runs`` holds those that were read again alone.
    """

    dataset: Dataset | None
    runs: Mapping[str, Run]
    changed: frozenset[Path]


class Following:
    """Tells what has changed since dataset and runs were read. ``busy`` are the files that are not taken up yet."""

    def __init__(self, readings: Readings) -> None:
        self._readings = readings
        self._watch = Watch(_watched(readings))
        self._tried: Looks = {}
        self._rested_at = 0.0
        self.busy: frozenset[Path] = frozenset()

    def gone(self) -> frozenset[Path]:
        """Those of the busy files that are not there any more."""
        return frozenset(path for path, seen in look(self.busy).items() if seen is None)

    def is_busy(self, paths: Iterable[Path]) -> bool:
        """Whether one of these files is not what it was when it was read."""
        return self._watch.differ(paths)

    async def news(self, *, as_it_is: bool = False) -> News | None:
        """What to take up, None where there is nothing. ``as_it_is``: torn files, too.

        Files that go on changing are read again only a small part of the time.
        """
        changed = self._watch.changed()
        if not changed:
            self.busy = frozenset()
            return None
        looks = {path: self._watch.now[path] for path in changed}
        self.busy = _files(changed)
        if not as_it_is and (looks == self._tried or time.monotonic() < self._rested_at):
            return None
        began = time.monotonic()
        news, left = await asyncio.to_thread(self._read, frozenset(changed), looks, as_it_is)
        self._tried = looks
        self._rested_at = began + REST * (time.monotonic() - began)
        self.busy = _files(left)
        if news is None:
            return None
        readings = Readings(news.dataset or self._readings.dataset, {**self._readings.runs, **news.runs})
        self._watch = self._watch.after(_watched(readings) | left, news.changed, looks)
        self._readings = readings
        return news

    def _read(self, changed: frozenset[Path], looks: Looks, as_it_is: bool) -> tuple[News | None, set[Path]]:
        """New readings, and the changed files that could not be taken up. In a worker thread."""
        former = self._readings
        of_dataset = changed & _of_dataset(former.dataset)
        dataset = self._dataset(as_it_is) if of_dataset else None
        opened = {
            name: again
            for name, run in former.runs.items()
            if changed & _of_run(run, changed) and (again := self._run(run, dataset or former.dataset)) is not None
        }
        moved = set() if as_it_is else {path for path, seen in look(changed).items() if seen != looks[path]}
        if moved & of_dataset:
            dataset = None
        taken = set(of_dataset) if dataset is not None else set()
        runs: dict[str, Run] = {}
        for name, again in opened.items():
            run = former.runs[name]
            if not as_it_is:
                folders = _of_run(run) - set(run.files)
                gone = {path for path in changed & _of_run(run, changed) - folders if looks[path] is None}
                unread = set(again.torn_files) | (moved & {*run.files, *again.files}) | gone
                again.keep_from(run, unread)
                taken |= (changed & _of_run(run, changed)) - unread - moved
            else:
                taken |= changed & _of_run(run, changed)
                unread = set()
            taken |= set(again.files) - set(run.files) - unread
            if taken & {*again.files, *_of_run(run, changed)}:
                runs[name] = again
        left = set(changed) - taken
        if dataset is None and not runs:
            return None, left
        return News(dataset, runs, frozenset(taken)), left

    def _dataset(self, as_it_is: bool) -> Dataset | None:
        """The dataset read again, None where that cannot be done or a file of it is torn."""
        from toolenv.dataset import Dataset

        former = self._readings.dataset
        try:
            again = Dataset.open(former.path, split=former.split)
        except DataError:
            return None
        return None if again.torn_files and not as_it_is else again

    def _run(self, run: Run, dataset: Dataset) -> Run | None:
        try:
            return type(run).open(run.path, dataset)
        except DataError:
            return None


def _files(paths: Iterable[Path]) -> frozenset[Path]:
    return frozenset(path for path in paths if not path.is_dir())


def _of_dataset(dataset: Dataset) -> set[Path]:
    files = set(dataset.record_files)
    return files | {path.parent for path in files}


def _of_run(run: Run, changed: Iterable[Path] = ()) -> set[Path]:
    """Files and folders of a run, and of ``changed`` ones those in its folder: of one that is gone it knows no more."""
    known = {*run.files, *(path.parent for path in run.files), run.path} if run.files else set()
    return known | {path for path in changed if run.path in path.parents}


def _watched(readings: Readings) -> set[Path]:
    """Files of records, and the folders in which another may appear."""
    watched = _of_dataset(readings.dataset)
    for run in readings.runs.values():
        watched |= _of_run(run)
    return watched
