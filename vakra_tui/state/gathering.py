"""The rows of the list, gathered from dataset, runs and store, and kept in step with files that are rewritten."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from toolenv.values import shortened
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.entry import Entry, EntryKey, entries_of
from vakra_tui.state.following import Following, News, Readings
from vakra_tui.state.keeping import Keeping
from vakra_tui.state.listing import Listing
from vakra_tui.state.marks import Marks
from vakra_tui.state.records import read_record
from vakra_tui.text import count_words

if TYPE_CHECKING:
    from sessions.submissions import PredictionRef, Run
    from vakra_tui.state.parts import Wiring


class Gathering:
    """The rows and what they come from; everything here runs in the engine thread.

    ``readings`` counts how often files were taken up anew: what was learned of an earlier reading is no longer true of
    the rows.
    """

    def __init__(self, wiring: Wiring) -> None:
        self.wiring = wiring
        self.keeping = Keeping(lambda: wiring.store)
        self.listing = Listing((), ())
        self.problems: tuple[str, ...] = ()
        self.readings = 0
        self._runs: dict[str, Run] = {}
        self._following: Following | None = None
        self._marks: Marks | None = None
        self._marked: frozenset[EntryKey] = frozenset()

    def _begin(self, marks: Marks) -> None:
        """After the first reading: what is marked, and from when on files are followed."""
        self._following = Following(Readings(self.wiring.dataset, self._runs))
        self._marks = marks
        self._read_marks()

    def _entries(self) -> list[Entry]:
        """Fresh rows of the selected instances, and of the predictions of none."""
        refs = self.wiring.refs()
        found = {name: list(run.refs()) for name, run in self._runs.items()}
        if self.wiring.selected:
            chosen = {ref.uuid for ref in refs}
            known = {(ref.capability, ref.domain, ref.uuid) for ref in self.wiring.dataset.refs()}
            selects = self.wiring.selects

            def shows(prediction: PredictionRef) -> bool:
                named = (prediction.capability, prediction.domain, prediction.uuid)
                return prediction.uuid in chosen or (named not in known and selects(*named))

            found = {name: [each for each in predicted if shows(each)] for name, predicted in found.items()}
        return entries_of(refs, found)

    def _say_problems(self) -> None:
        """Tell what is wrong with files and records; a file that is being written is not wrong."""
        problems = [problem for run in self._runs.values() for problem in run.problems]
        busy = self._following.busy if self._following is not None else ()
        names = [name for path in busy for name in (path.name, f"{path.parent.name}/{path.name}")]
        begins = tuple(f"{name}{sign}" for name in names for sign in " ,")
        repeated = [
            f"Run {name}: {count_words(run.duplicates, 'record repeats', 'records repeat')} a uuid; the last counts."
            for name, run in self._runs.items()
            if run.duplicates
        ]
        self.problems = (
            *(problem for problem in (*self.wiring.dataset.problems, *problems) if not problem.startswith(begins)),
            *repeated,
        )

    def read_entries(self, entries: Sequence[Entry], groups: bool = True) -> None:
        """Read the records of some rows for what the list says of them; ``groups`` costs more than the query alone.

        Rows of a file that has changed since it was opened stay unread until it is taken up again.
        """
        for entry in entries:
            read_record(entry, self.wiring.dataset, self._runs, groups=groups)
            if entry.problem and self.is_busy(entry):
                entry.forget()

    async def read_verdicts(self) -> None:
        """Take up what a batch with the same settings left in the store. Raises ``StoreError``."""
        self.listing.source = self._source()
        store = self.keeping.ready() if self.wiring.runs else None
        if store is None:
            return
        # Reading whole files for their fingerprints is not for the store's thread, where steps wait to be kept.
        await asyncio.to_thread(self._fingerprints)
        known = {(entry.capability, entry.domain, entry.uuid): entry for entry in self.listing.entries}
        for index, name in enumerate(self.wiring.run_names):
            kept = await store.run(lambda index=index: list(self.wiring.kept.read(index)))  # type: ignore[misc]
            self._say_unread(name, *self.wiring.kept.unread(index))
            others = await store.run(self.wiring.kept.others, index) if not kept else []
            if others:
                self.listing.others[name] = others
            for item, verdict in kept:
                entry = known.get((item.capability, item.domain, item.uuid))
                if entry is not None and name not in entry.verdicts:
                    entry.learn(name, verdict, kept=True)

    def _say_unread(self, run: str, number: int, why: str) -> None:
        """Tell that lines are in the store and cannot be read: their rows look as if they were never scored."""
        if number:
            lines = count_words(number, "kept verdict", "kept verdicts")
            anew = f"{key('instances.evaluate-all')} evaluates anew"
            self.problems = (*self.problems, f"Run {run}: {lines} cannot be read ({shortened(why, 200)}); {anew}.")

    def _fingerprints(self) -> tuple[str, ...]:
        return self.wiring.dataset.fingerprint(), *(run.fingerprint() for run in self.wiring.runs)

    def _source(self) -> str:
        """By which profile and judge verdicts are made here, in words."""
        model = getattr(self.wiring.judge, "model", None)
        return f"profile {self.wiring.profile_name}, judge {self.wiring.judge.kind}{f' {model}' if model else ''}"

    # --- files that are rewritten ------------------------------------------------------------------------------------

    async def follow(self, *, as_it_is: bool = False) -> bool:
        """Take up files that have changed and rest again; whether anything was taken up. See ``Following.news``."""
        if self._following is None:
            return False
        news = await self._following.news(as_it_is=as_it_is)
        gone = self._following.gone()
        self.listing.busy = tuple(sorted({path.name for path in self._following.busy - gone}))
        self.listing.gone = tuple(sorted({path.name for path in gone}))
        if news is None:
            return False
        await self._take_up(news)
        return True

    async def _take_up(self, news: News) -> None:
        """Go on with the new readings: rows stay the same objects; those of a changed file are unread and unscored."""
        self.readings += 1
        self._runs = {**self._runs, **news.runs}
        self.wiring.use(self._runs, news.dataset)
        if news.dataset is not None:
            self._dataset_changed()
        known = {entry.key: entry for entry in self.listing.entries}
        entries = []
        for fresh in self._entries():
            entry = known.get(fresh.key)
            if entry is not None:
                self._renew(entry, fresh, news)
            else:
                fresh.marked = fresh.key in self._marked
            entries.append(entry or fresh)
        self.listing.entries = entries
        self._say_problems()
        await self.read_verdicts()

    def _dataset_changed(self) -> None:
        """What was made from the former reading of the dataset is made anew when it is next asked for."""
        raise NotImplementedError

    def _renew(self, entry: Entry, fresh: Entry, news: News) -> None:
        """Give a row its new references; what was said of the former content of a changed file goes."""
        dataset = self.wiring.dataset
        if news.dataset is not None:
            if entry.extra != fresh.extra or (
                fresh.instance is not None and news.changed & set(dataset.files_of(fresh.instance))
            ):
                entry.forget()
                entry.unlearn(*entry.verdicts)
            entry.instance = fresh.instance
        for name, run in news.runs.items():
            former, now = entry.predictions.get(name), fresh.predictions.get(name)
            if former is None and now is None:
                continue
            if former is None or now is None or run.file_of(now) in news.changed:
                entry.unlearn(name)
                if entry.extra:
                    entry.forget()
        entry.predictions = fresh.predictions

    def is_busy(self, entry: Entry, run: str | None = None) -> bool:
        """Whether a file that holds the row's records (of one run, or of any) has changed since it was read."""
        return self._following is not None and self._following.is_busy(self._files_of(entry, run))

    def is_gone(self, entry: Entry) -> bool:
        """Whether a file that holds the row's records is not there any more."""
        return any(not file.exists() for file in self._files_of(entry, None))

    def _files_of(self, entry: Entry, run: str | None) -> list[Path]:
        """The files of a row's instance and of its prediction in a run, or in all."""
        files: list[Path] = []
        if entry.instance is not None:
            files += self.wiring.dataset.files_of(entry.instance)
        for name, prediction in entry.predictions.items():
            file = self._runs[name].file_of(prediction) if run in (None, name) else None
            files += [file] if file is not None else []
        return files

    # --- marks -------------------------------------------------------------------------------------------------------

    def _read_marks(self) -> None:
        if self._marks is not None:
            self._marked = self._marks.read()
            for entry in self.listing.entries:
                entry.marked = entry.key in self._marked

    def keep_marks(self) -> None:
        """Keep the marks of the list. Raises ``DataError`` where that is not possible; they hold until the end."""
        if self._marks is not None:
            listed = {entry.key for entry in self.listing.entries}
            others = self._marked - listed
            self._marks.write(self.listing.entries, others)
            self._marked = others | {entry.key for entry in self.listing.entries if entry.marked}
