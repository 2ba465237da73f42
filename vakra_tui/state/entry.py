"""One row of the list of instances, before it has columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eval.model import Verdict
from vakra_tui.text import one_line

EntryKey = tuple[int, str, str]
"""(capability, domain, uuid): what tells a row from all others of a dataset."""


@dataclass(slots=True)
class Entry:
    """One row: an instance of the dataset, or an extra prediction (``instance`` None) of one run.

    ``instance`` and ``predictions`` are references (of the dataset, of the runs by name); ``runs`` are the names of all
    runs that are open. ``query``, ``slices`` (the groups that a report counts it in) and ``weight`` are None until the
    record was read. ``verdicts`` are those known so far, by run; ``kept`` names the runs whose verdict was read from
    the store. Both are replaced, never changed: the screen and a search go through them while the engine scores.
    """

    uuid: str
    capability: int
    domain: str
    instance: Any = None
    predictions: dict[str, Any] = field(default_factory=dict)
    runs: tuple[str, ...] = ()
    query: str | None = None
    turns: int = 1
    policy: bool = False
    policy_kind: str = "none"
    applies: str = "none"
    slices: Mapping[str, str] | None = None
    weight: int | None = None
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    problem: str = ""
    marked: bool = False
    _folded: str = ""

    @property
    def key(self) -> EntryKey:
        return self.capability, self.domain, self.uuid

    @property
    def extra(self) -> bool:
        """Whether this is a prediction for no instance."""
        return self.instance is None

    @property
    def read(self) -> bool:
        """Whether the record was looked at, be it in vain."""
        return self.query is not None or bool(self.problem)

    @property
    def known(self) -> bool:
        """Whether everything that the list says of the record was read, be it in vain."""
        return (self.query is not None and self.slices is not None) or bool(self.problem)

    def shown_instead(self) -> str:
        """That the first run has no prediction here and which one is opened; empty where it has one, or none has."""
        shown = next(iter(self.predictions), None)
        if self.extra or shown is None or not self.runs or self.runs[0] in self.predictions:
            return ""
        return f"{one_line(self.runs[0], 40)} has no prediction of this instance: {one_line(shown, 40)} is shown."

    def folded(self) -> str:
        """What words are looked for in, folded: the query first, then domain, uuid and capability."""
        if self.query is None:
            return self._fold("")
        if not self._folded:
            self._folded = self._fold(self.query)
        return self._folded

    def _fold(self, query: str) -> str:
        where = f"cap {self.capability} cap{self.capability}"
        return f"{query}\n{self.domain}\n{self.uuid}\n{where}\n{self.problem}".casefold()

    def forget(self) -> None:
        """Take the row for unread: its record has changed."""
        self.query, self.slices, self.weight, self.problem, self._folded = None, None, None, "", ""
        self.turns, self.policy, self.policy_kind, self.applies = 1, False, "none", "none"

    # --- verdicts ----------------------------------------------------------------------------------------------------

    def learn(self, run: str, verdict: Verdict, *, kept: bool = False) -> None:
        """A verdict of a run; ``kept``: read from the store."""
        self.verdicts = {**self.verdicts, run: verdict}
        self.kept = self.kept | {run} if kept else self.kept - {run}

    def unlearn(self, *runs: str) -> None:
        """The verdicts of some runs are about something that has changed."""
        self.verdicts = {run: verdict for run, verdict in self.verdicts.items() if run not in runs}
        self.kept = self.kept.difference(runs)

    def waits_for(self, run: str) -> bool:
        """Whether a run is to be scored here: it was not, or an environment or a judge failed when it was."""
        from eval.results import RETRIED

        if self.extra and run not in self.predictions:
            return False
        verdict = self.verdicts.get(run)
        return verdict is None or verdict.reason in RETRIED


def entries_of(refs: Sequence[Any], runs: Mapping[str, Sequence[Any]]) -> list[Entry]:
    """One entry an instance in file order, then one for each prediction of no instance.

    ``refs`` have ``uuid``, ``capability`` and ``domain``; a run's references have ``uuid`` and ``domain``.
    """
    names = tuple(runs)
    entries = [
        Entry(uuid=ref.uuid, capability=ref.capability, domain=ref.domain, instance=ref, runs=names) for ref in refs
    ]
    known = {entry.key: entry for entry in entries}
    extras: dict[EntryKey, Entry] = {}
    for run, predictions in runs.items():
        for prediction in predictions:
            key = (prediction.capability or 0, prediction.domain, prediction.uuid)
            entry = known.get(key) or extras.get(key)
            if entry is None:
                entry = Entry(
                    uuid=prediction.uuid,
                    capability=prediction.capability or 0,
                    domain=prediction.domain,
                    runs=names,
                )
                extras[key] = entry
            entry.predictions[run] = prediction
    return entries + list(extras.values())
