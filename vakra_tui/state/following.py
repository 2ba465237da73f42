"""Staying in step with files that are rewritten while the screen shows them.

What was read stays until a file rests and can be read to its end; then its rows are read again and lose the verdicts
that were about its former content. Nothing here writes, locks, moves or deletes a file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolenv.errors import DataError
from vakra_tui.state.watching import Looks, Watch

if TYPE_CHECKING:
    from sessions.submissions import Run
    from toolenv.dataset import Dataset


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
        self.busy: frozenset[Path] = frozenset()

    def is_busy(self, paths: Iterable[Path]) -> bool:
        """Whether one of these files is not what it was when it was read."""
        return self._watch.differ(paths)

    async def news(self, *, as_it_is: bool = False) -> News | None:
        """What to take up, None where there is nothing. ``as_it_is``: also files that do not rest or are torn."""
        changed = self._watch.changed()
        if not changed:
            self.busy = frozenset()
            return None
        moving = frozenset() if as_it_is else frozenset(path for path in changed if not self._watch.rests(path))
        resting = frozenset(changed) - moving
        self.busy = frozenset(path for path in changed if not path.is_dir())
        looks = {path: self._watch.now[path] for path in changed}
        if not resting or (looks == self._tried and not as_it_is):
            return None
        self._tried = looks
        found = await asyncio.to_thread(self._read, resting, moving, as_it_is)
        if found is None:
            return None
        news, torn = found
        readings = Readings(news.dataset or self._readings.dataset, {**self._readings.runs, **news.runs})
        self._watch = self._watch.after(_watched(readings), news.changed, looks)
        self._readings = readings
        self.busy = frozenset(path for path in moving | torn if not path.is_dir())
        return news

    def _read(
        self, resting: frozenset[Path], moving: frozenset[Path], as_it_is: bool
    ) -> tuple[News, frozenset[Path]] | None:
        """New readings of what rests, and the files among it that are torn. In a worker thread."""
        former = self._readings
        dataset: Dataset | None = None
        torn: set[Path] = set()
        taken: set[Path] = set()
        of_dataset = _of_dataset(former.dataset)
        if resting & of_dataset and not moving & of_dataset:
            dataset, torn_here = self._dataset(as_it_is)
            torn |= torn_here
            taken |= resting & of_dataset if dataset is not None else set()
        runs: dict[str, Run] = {}
        for name, run in former.runs.items():
            files = _of_run(run)
            if not resting & files:
                continue
            again = self._run(run, dataset or former.dataset)
            if again is None:
                continue
            gone = {path for path in resting & files if not path.exists()}
            unread = set() if as_it_is else (set(again.torn_files) | moving | gone) & {*files, *again.files}
            again.keep_from(run, unread)
            torn |= unread
            taken |= ((resting & files) | (set(again.files) - set(run.files))) - unread
            runs[name] = again
        if dataset is None and not runs:
            return None
        return News(dataset, runs, frozenset(taken)), frozenset(torn)

    def _dataset(self, as_it_is: bool) -> tuple[Dataset | None, set[Path]]:
        from toolenv.dataset import Dataset

        former = self._readings.dataset
        try:
            again = Dataset.open(former.path, split=former.split)
        except DataError:
            return None, set()
        if again.torn_files and not as_it_is:
            return None, set(again.torn_files)
        return again, set()

    def _run(self, run: Run, dataset: Dataset) -> Run | None:
        try:
            return type(run).open(run.path, dataset)
        except DataError:
            return None


def _of_dataset(dataset: Dataset) -> set[Path]:
    files = set(dataset.record_files)
    return files | {path.parent for path in files}


def _of_run(run: Run) -> set[Path]:
    return {*run.files, *(path.parent for path in run.files), run.path} if run.files else set()


def _watched(readings: Readings) -> set[Path]:
    """Files of records, and the folders in which another may appear."""
    watched = _of_dataset(readings.dataset)
    for run in readings.runs.values():
        watched |= _of_run(run)
    return watched
