"""The engine: parallel, in order, resumable, stoppable, with memory for results on disk alone."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterable, Iterator, Sequence

import pytest
from batch_lines import extra, line, missing, no_scorer, unscored

from eval.engine import Engine, RunPlan
from eval.judges.human import HumanRuling
from eval.profile import Item, Unit
from eval.report import write_lines
from eval.results import Results
from eval.resume import keys_of
from eval.scored import Scored
from eval.workers import WorkerFailure, WorkerPool
from sessions.store.records import PreparedSession
from toolenv.dataset import InstanceRef
from toolenv.model import Value


class Prediction(Value, frozen=True):
    uuid: str
    domain: str = "d"
    capability: int | None = 1
    duplicate: bool = False


class MemoryStore:
    """A store that counts its transactions."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], bytes] = {}
        self.commits = 0
        self.executed: list[PreparedSession] = []

    def results(self, scope: str) -> Iterator[tuple[str, bytes]]:
        return iter([(key, payload) for (kept, key), payload in self.rows.items() if kept == scope])

    def put_results(
        self, scope: str, rows: Iterable[tuple[str, bytes]], *, executed: Sequence[PreparedSession] = ()
    ) -> None:
        self.commits += 1
        self.executed += executed
        self.rows.update({(scope, key): payload for key, payload in rows})


class Scoring:
    """Scores by table; later units finish first when ``reverse``."""

    def __init__(self, lines: Sequence[Sequence[Scored]], *, reverse: bool = False) -> None:
        self.lines = lines
        self.reverse = reverse
        self.asked: list[tuple[int, str]] = []
        self.running = self.most = 0
        self.block: asyncio.Event | None = None
        self.blocked_at: int | None = None
        self.said: tuple[str, ...] = ()

    async def score(self, run: int, unit: Unit) -> Sequence[Scored]:
        position = unit.items[0].position
        self.asked.append((run, unit.items[0].uuid))
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if self.block is not None and position == self.blocked_at:
                await self.block.wait()
            for _ in range(len(self.lines[run]) - position if self.reverse else 1):
                await asyncio.sleep(0)
        finally:
            self.running -= 1
        return [self.lines[run][item.position] for item in unit.items]

    def executed(self, run: int, unit: Unit) -> Sequence[PreparedSession]:
        position = unit.items[0].position
        return [PreparedSession(identity=f"{run}/{position}", row={}, payloads=(), steps=())]

    def notes(self) -> Sequence[str]:
        return self.said

    async def close(self) -> None:
        return None


class Singly:
    name = "singly"

    def units(self, items: Sequence[Item]) -> Iterable[Unit]:
        return (Unit(items=(item,)) for item in items)


class Together:
    name = "together"

    def units(self, items: Sequence[Item]) -> Iterable[Unit]:
        return [Unit(items=tuple(items))] if items else []


def items(count: int) -> list[Item]:
    return [
        Item(
            position=i,
            instance=InstanceRef(capability=1, domain="d", uuid=f"u{i}", position=i),
            prediction=Prediction(uuid=f"u{i}"),  # type: ignore[arg-type]
        )
        for i in range(count)
    ]


def some_lines(count: int) -> list[Scored]:
    kinds = [line, line, line, missing, unscored, extra]
    made = []
    for i in range(count):
        kind = kinds[i % len(kinds)]
        made.append(kind(f"u{i}", i % 2 == 0) if kind is line else kind(f"u{i}"))
    return made


def reported(results: Results) -> bytes:
    stream = io.BytesIO()
    write_lines(stream, results.spool)
    return stream.getvalue()


async def scored(scoring: Scoring, plans: Sequence[RunPlan], profile: object = None, **keys: object) -> bool:
    engine = Engine(profile or Singly(), plans, scoring, **keys)  # type: ignore[arg-type]
    return await engine.run(asyncio.Event())


@pytest.mark.parametrize("reverse", [False, True])
async def test_reports_do_not_depend_on_the_concurrency(reverse: bool) -> None:
    lines = some_lines(40)
    seen = set()
    for concurrency in (1, 3, 8, 100):
        results = Results(40)
        scoring = Scoring([lines], reverse=reverse)
        assert await scored(scoring, [RunPlan(items(40), results)], concurrency=concurrency)
        assert scoring.most == min(concurrency, 40)
        seen.add((reported(results), str(results.tally.slices()), str(results.tally.counts(0))))
    assert len(seen) == 1


async def test_runs_are_scored_side_by_side_and_never_mixed() -> None:
    one, other = [line(f"u{i}") for i in range(5)], [line(f"u{i}", False) for i in range(3)]
    plans = [RunPlan(items(5), Results(5)), RunPlan(items(3), Results(3))]
    scoring = Scoring([one, other])
    assert await scored(scoring, plans, concurrency=1)
    assert scoring.asked[:4] == [(0, "u0"), (1, "u0"), (0, "u1"), (1, "u1")]
    assert list(plans[0].results.spool) == one
    assert list(plans[1].results.spool) == other


async def test_a_resume_takes_over_what_is_finished_and_nothing_else() -> None:
    lines, store = some_lines(30), MemoryStore()
    undisturbed = Results(30)
    await scored(Scoring([lines]), [RunPlan(items(30), undisturbed)])

    first = Results(30, store=store, scope="s")
    scoring = Scoring([lines])
    scoring.block, scoring.blocked_at = asyncio.Event(), 12
    stop = asyncio.Event()
    engine = Engine(
        Singly(),
        [RunPlan(items(30), first)],
        scoring,
        concurrency=4,
        on_done=lambda lines: stop.set() if first.done == 29 else None,
    )
    assert await engine.run(stop) is False
    assert scoring.running == 0

    again = Results(30, store=store, scope="s")
    scoring = Scoring([lines])
    assert await scored(scoring, [RunPlan(items(30), again)], resume=True)
    retried = {f"u{i}" for i in range(30) if lines[i].verdict.reason == "environment"}
    assert {uuid for _, uuid in scoring.asked} == retried | {"u12"}
    assert reported(again) == reported(undisturbed)
    assert again.tally.counts(0) == undisturbed.tally.counts(0)

    third = Results(30, store=store, scope="s")
    scoring = Scoring([lines])
    await scored(scoring, [RunPlan(items(30), third)], resume=True)
    assert {uuid for _, uuid in scoring.asked} == retried
    assert reported(third) == reported(undisturbed)


async def test_another_scope_is_never_resumed_and_without_resume_all_is_done_anew() -> None:
    lines, store = some_lines(6), MemoryStore()
    await scored(Scoring([lines]), [RunPlan(items(6), Results(6, store=store, scope="one"))])
    other = Scoring([lines])
    await scored(other, [RunPlan(items(6), Results(6, store=store, scope="two"))], resume=True)
    assert len(other.asked) == 6
    anew = Scoring([lines])
    await scored(anew, [RunPlan(items(6), Results(6, store=store, scope="one"))])
    assert len(anew.asked) == 6


async def test_lines_of_another_version_are_evaluated_anew() -> None:
    lines, store = [line("u0")], MemoryStore()
    await scored(Scoring([lines]), [RunPlan(items(1), Results(1, store=store, scope="s"))])
    store.rows = dict.fromkeys(store.rows, b'{"verdict": {}}')
    scoring, results = Scoring([lines]), Results(1, store=store, scope="s")
    await scored(scoring, [RunPlan(items(1), results)], resume=True)
    assert len(scoring.asked) == 1
    assert list(results.spool) == lines


async def test_what_is_executed_together_is_resumed_together() -> None:
    lines, store = [line(f"u{i}") for i in range(4)], MemoryStore()
    await scored(Scoring([lines]), [RunPlan(items(4), Results(4, store=store, scope="s"))], Together())
    fewer = Scoring([lines])
    await scored(fewer, [RunPlan(items(3), Results(3, store=store, scope="s"))], Together(), resume=True)
    assert len(fewer.asked) == 1
    same = Scoring([lines])
    await scored(same, [RunPlan(items(4), Results(4, store=store, scope="s"))], Together(), resume=True)
    assert same.asked == []


async def test_errors_that_no_verdict_can_hold_end_the_batch_after_keeping_what_is_finished() -> None:
    class Failing(Scoring):
        async def score(self, run: int, unit: Unit) -> Sequence[Scored]:
            if unit.items[0].position == 5:
                raise ZeroDivisionError
            return await super().score(run, unit)

    store = MemoryStore()
    with pytest.raises(ZeroDivisionError):
        await scored(Failing([some_lines(9)]), [RunPlan(items(9), Results(9, store=store, scope="s"))], concurrency=1)
    assert {key for _, key in store.rows} == {f"1/d/u{i}/pair" for i in range(5) if i != 4}


async def test_a_stop_before_the_first_unit_scores_nothing() -> None:
    stop = asyncio.Event()
    stop.set()
    scoring, results = Scoring([some_lines(50)]), Results(50)
    assert await Engine(Singly(), [RunPlan(items(50), results)], scoring, concurrency=2).run(stop) is False
    assert results.done < 50


async def test_no_lines_at_all() -> None:
    assert await scored(Scoring([[]]), [RunPlan([], Results(0))])


def test_a_persons_ruling_is_part_of_the_key_of_its_line_alone() -> None:
    one, two = (Unit(items=(item,)) for item in items(2))
    rulings = {("u1", "grounded"): HumanRuling(outcome="pass")}
    assert keys_of(one, rulings) == keys_of(one)
    assert keys_of(two, rulings) != keys_of(two)
    assert keys_of(two, rulings) != keys_of(two, {("u1", "grounded"): HumanRuling(outcome="fail")})


async def test_what_the_judge_said_about_the_whole_survives_a_resume() -> None:
    lines, store = [line("u0"), line("u1")], MemoryStore()
    scoring = Scoring([lines])
    scoring.said = ("the endpoint does not take seed",)
    await scored(scoring, [RunPlan(items(2), Results(2, store=store, scope="s"))])
    again = Results(2, store=store, scope="s")
    await scored(Scoring([lines]), [RunPlan(items(2), again)], resume=True)
    assert again.notes == ["the endpoint does not take seed"]


async def test_secrets_are_in_no_result() -> None:
    secret = "sk-" + "a1" * 12
    lines, store = [line("u0", detail=f"call with {secret}")], MemoryStore()
    results = Results(1, store=store, scope="s")
    await scored(Scoring([lines]), [RunPlan(items(1), results)])
    assert secret not in str(store.rows)
    assert secret not in str(list(results.spool))


async def test_there_are_no_more_workers_than_lines() -> None:
    results = Results(3)
    assert await scored(Scoring([some_lines(3)]), [RunPlan(items(3), results)], concurrency=10**12)
    assert results.done == 3


async def test_a_worker_that_ended_while_nothing_was_asked_fails_what_is_asked_later() -> None:
    pool = WorkerPool(no_scorer, b"no data", 1)
    try:
        for _ in range(2):
            with pytest.raises(WorkerFailure, match="worker process 1 ended"):
                await asyncio.wait_for(pool.score(0, Unit(items=tuple(items(1)))), 60)
    finally:
        await pool.close()
