"""Reading the records of rows: the query, and what kind of instance it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from toolenv.errors import DataError
from vakra_tui.state.entry import Entry

if TYPE_CHECKING:
    from sessions.submissions import Run
    from toolenv.dataset import Dataset
    from toolenv.model import Instance


def read_record(entry: Entry, dataset: Dataset, runs: Mapping[str, Run], *, groups: bool) -> None:
    """Fill a row from its record; ``groups`` also with those that a report counts it in, which costs more.

    A record that cannot be read is named in the row's ``problem``.
    """
    if entry.problem or (entry.query is not None and (entry.slices is not None or not groups)):
        return
    try:
        if entry.instance is not None:
            instance = dataset.load(entry.instance)
            if groups:
                _groups(entry, instance, dataset)
            _fill(entry, instance)
        else:
            run, prediction = next(iter(entry.predictions.items()))
            entry.slices = {}
            entry.query = runs[run].load(prediction).query
    except DataError as error:
        entry.problem = str(error)


def _fill(entry: Entry, instance: Instance) -> None:
    from toolenv.policy import applicability_of, policy_of

    entry.turns = len(instance.turns)
    entry.policy = bool(instance.policy.strip())
    entry.policy_kind = policy_of(instance).kind
    entry.applies = applicability_of(instance)
    entry.query = instance.query


def _groups(entry: Entry, instance: Instance, dataset: Dataset) -> None:
    from eval.scored import slices_of, weight_of

    try:
        universe = dataset.universe(instance.uuid) if instance.capability == 1 else None
    except DataError:
        universe = None  # said among the problems of the data; the instance is in no slice of the tool style
    entry.weight = weight_of(instance)
    entry.slices = slices_of(instance, style=universe.style if universe is not None else None)
