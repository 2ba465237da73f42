"""What an export is made of: trajectories of a session or a run, executed and judged where the form asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from sessions.trajectory import ExecutedTrajectory
from toolenv.decoding import decoded
from toolenv.errors import DataError
from toolenv.model import Json
from vakra_tui.cli.import_command import EXTRA
from vakra_tui.forms import Exported, shared_steps

if TYPE_CHECKING:
    from eval.profile import Item, Side
    from eval.repair import RepairResult
    from sessions.store import Store
    from vakra_tui.wiring import Wiring

AS_WRITTEN = ("submission", "jsonl")
"""Forms that take a run as it stands in its files."""

REPAIR = "repair"
"""How the names of branches begin that repair search made."""


def of_session(store: Store, key: str) -> list[Exported]:
    """The branch of a session that is exported; its repair is the last branch that repair search made."""
    stored = store.load(key)
    tree = stored.tree
    repairs = [branch.number for branch in tree.branches if branch.name.startswith(REPAIR)]
    number = tree.exported
    chosen = repairs[-1] if repairs and repairs[-1] != number else None
    verdicts = [verdict for verdict in stored.verdicts if verdict.branch == number]
    extra: dict[str, Json] = {}
    for note in stored.notes:
        if note.text.startswith(EXTRA):
            extra.update(_kept_keys(note.text[len(EXTRA) :]))
    return [
        Exported(
            key=stored.summary.key,
            name=stored.summary.title or stored.summary.key,
            trajectory=tree.trajectory(number),
            form=stored.summary.environment.removeprefix("imported (").removesuffix(")"),
            verdict=verdicts[-1].body if verdicts else None,
            passed=verdicts[-1].passed if verdicts else None,
            extra=extra,
            chosen=None if chosen is None else tree.trajectory(chosen),
            shared=0 if chosen is None else shared_steps(tree.trajectory(number), tree.trajectory(chosen)),
        )
    ]


def _kept_keys(text: str) -> dict[str, Json]:
    """The keys that an import noted; none where a person's own words begin as such a note does."""
    from sessions.formats.lines import restored

    try:
        keys = restored(decoded(text))
    except ValueError:
        return {}
    return keys if isinstance(keys, dict) else {}


async def of_run(wiring: Wiring, form: str, only: str | None) -> tuple[list[Exported], list[str]]:
    """The predictions of a run, and sentences about those that could not be exported.

    Unless the form takes them as they stand in the file, each is executed and judged, so that what its tools answered
    is there; one that cannot be executed is exported as it stands.
    """
    from sessions.formats.model import from_prediction

    (run,) = wiring.runs
    found: list[Exported] = []
    notes = list(run.problems)
    scoring = (
        None if form in AS_WRITTEN and only is None else _Scoring(wiring, repair=form in ("preferences", "markdown"))
    )
    try:
        for item in wiring.items(run):
            if item.prediction is None:
                continue
            try:
                prediction = run.load(item.prediction)
                instance = wiring.dataset.load(item.instance) if item.instance is not None else None
            except DataError as error:
                notes.append(str(error))
                continue
            one = Exported(
                key=prediction.uuid,
                name=f"{run.name}: {prediction.uuid}",
                trajectory=from_prediction(prediction, instance),
                prediction=prediction,
            )
            if scoring is not None:
                one = await scoring.judged(item, one, as_written=form in AS_WRITTEN)
            if only is None or one.passed is (only == "passed"):
                found.append(one)
    finally:
        await wiring.close()
    if not found:
        raise DataError(f"the run {run.name} holds nothing to export")
    return found, notes


class _Scoring:
    """Executes and judges one prediction at a time."""

    def __init__(self, wiring: Wiring, *, repair: bool) -> None:
        from eval.paper import PaperProfile
        from eval.profile import ScoringContext
        from eval.truths import GroundTruths

        self._executed: dict[str, ExecutedTrajectory] = {}
        self._found: list[RepairResult] = []
        self._context = ScoringContext(
            dataset=wiring.dataset,
            run=wiring.runs[0],
            environments=wiring.environments,
            judge=wiring.judge,
            truths=GroundTruths(),
            on_executed=self._on_executed,
        )
        self._profile = PaperProfile(on_repair=self._on_repair if repair else None)

    def _on_executed(self, item: Item, side: Side, executed: ExecutedTrajectory) -> None:
        self._executed[side] = executed

    def _on_repair(self, item: Item, found: RepairResult) -> None:
        self._found.append(found)

    async def judged(self, item: Item, one: Exported, *, as_written: bool) -> Exported:
        from eval.profile import Unit
        from eval.report import line

        self._executed.clear()
        self._found.clear()
        (verdict,) = await self._profile.score(Unit(items=(item,)), self._context)
        executed = self._executed.get("prediction")
        found = next(iter(self._found), None)
        repair = found.repair if found is not None else None
        changes: dict[str, Any] = {"verdict": line(verdict), "passed": verdict.passed}
        if executed is not None and not as_written:
            changes["trajectory"] = executed.trajectory
        if repair is not None:
            changes |= {"chosen": repair.executed.trajectory, "shared": repair.fork_at}
        if found is not None:
            changes["repair_sentence"] = found.sentence
        return msgspec.structs.replace(one, **changes)
