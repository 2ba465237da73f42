"""The session store with 10,000 sessions of 20 steps: the list, opening, full-text search, and what durability costs.

usage: python benchmarks/store.py [--sessions N] [--steps N] [--url URL] [--folder DIR]

Prints Markdown. Fails (exit 1) where a plan scans a table, where opening a session takes more statements the more it
holds, or where a page of the list takes 10 times as long as in an empty store. ``--url`` measures a PostgreSQL store
(``scripts/with_postgres.sh sh -c 'python benchmarks/store.py --url $VAKRA_TUI_TEST_POSTGRES'``).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# A benchmark beside this one is named like a package; the folder of a script must not come first.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from sqlalchemy import event, text  # noqa: E402

from sessions.branches import Branch  # noqa: E402
from sessions.drivers import RecordingDriver  # noqa: E402
from sessions.stepper import Stepper  # noqa: E402
from sessions.store import AsyncStore, ExecutedRecord, NewSession, SessionRef, Store, writing  # noqa: E402
from sessions.store.reading import list_statement  # noqa: E402
from sessions.store.search import NEWEST, statement  # noqa: E402
from sessions.trajectory import Answer, CallTool, Step, Trajectory  # noqa: E402
from toolenv.model import Instance, Prediction, ToolCall, ToolResult, ToolSpec, Turn  # noqa: E402

WORDS = [f"{a}{b}" for a in ("hero", "atom", "beer", "loan", "city", "power", "brand", "year") for b in range(250)]
AT_ONCE = 100
FAILURES: list[str] = []


def median_ms(work: Callable[[], object], times: int = 50) -> float:
    work()
    spent = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        spent.append(time.perf_counter() - started)
    return statistics.median(spent) * 1000


def instance(number: int) -> Instance:
    turn = Turn(turn_id=0, query=f"Which {WORDS[number % len(WORDS)]} has the most of all?")
    return Instance(uuid=f"uuid-{number}", capability=2, domain="bench", turns=(turn,))


def steps_of(random_: random.Random, number: int, count: int) -> tuple[Step, ...]:
    """A trajectory as real ones are: small arguments, responses of some 100 to some 1,000 characters, one of 6,000."""
    steps = []
    for position in range(count - 1):
        length = 900 if position == 7 else random_.randint(15, 200)
        response = " ".join(random_.choices(WORDS, k=length)) + (f" needle{number}" if position == 3 else "")
        call = ToolCall(
            name=f"get_{random_.choice(WORDS)}", arguments={"name": random_.choice(WORDS), "limit": position}
        )
        steps.append(
            Step(actor="agent", decision=CallTool(call=call), result=ToolResult(text=response, duration_s=0.01))
        )
    return (*steps, Step(actor="agent", decision=Answer(text=f"{random_.choice(WORDS)} of {number}")))


def fill(store: Store, sessions: int, steps: int) -> list[SessionRef]:
    random_ = random.Random(0)
    refs: list[SessionRef] = []
    for start in range(0, sessions, AT_ONCE):
        batch = [(n, steps_of(random_, n, steps)) for n in range(start, min(sessions, start + AT_ONCE))]

        def put(connection: Any, batch: list[tuple[int, tuple[Step, ...]]] = batch) -> list[SessionRef]:
            made = []
            for number, path in batch:
                ref = writing.create_session(connection, NewSession(instance=instance(number), dataset="sha256:bench"))
                writing.put_branch(connection, ref.id, Branch(number=0, name="main"))
                writing.append_steps(connection, ref.id, 0, 0, path)
                made.append(ref)
            return made

        refs += store.write(put)
    return refs


def plan(store: Store, asked: Any) -> list[str]:
    """The query plan, and a failure for every table that it scans."""
    engine = store._transactions.engine
    compiled = asked.compile(engine, compile_kwargs={"literal_binds": True})
    prefix = "EXPLAIN QUERY PLAN " if engine.dialect.name == "sqlite" else "EXPLAIN "
    lines = [
        str(row[-1])
        for row in store.read(lambda connection: connection.execute(text(prefix + _escaped(str(compiled)))).all())
    ]
    for line in lines:
        scan = line.strip().startswith("SCAN") and "VIRTUAL TABLE INDEX" not in line
        if scan or "Seq Scan" in line:
            FAILURES.append(f"a full scan: {line}")
    return lines


def _escaped(said: str) -> str:
    """A statement with its literals, safe from being read for parameters."""
    return said.replace(":", "\\:")


def statements(store: Store, key: str) -> int:
    count = 0
    engine = store._transactions.engine

    def counted(*_: object) -> None:
        nonlocal count
        count += 1

    event.listen(engine, "before_cursor_execute", counted)
    store.load(key)
    event.remove(engine, "before_cursor_execute", counted)
    return count


def reading(store: Store, nothing: float, refs: list[SessionRef], steps: int) -> None:
    """``nothing`` is the time of a page of the list while the store was empty, in milliseconds."""
    print("\n## Reading\n")
    print("| what | ms (median) |")
    print("|---|---|")
    first = median_ms(lambda: store.sessions(limit=50))
    middle = store.sessions(limit=1).items[0]
    old = (store.load(refs[len(refs) // 2].key).summary.updated_at, refs[len(refs) // 2].id)
    print(f"| a page of the list (50), empty store | {nothing:.2f} |")
    print(f"| the first page, {len(refs)} sessions | {first:.2f} ({first / nothing:.1f} times the empty one) |")
    print(f"| a page from the middle | {median_ms(lambda: store.sessions(limit=50, before=old)):.2f} |")
    if first >= 10 * nothing:
        FAILURES.append(f"a page of the list takes {first / nothing:.1f} times that of an empty store")
    small = store.create_session(NewSession(instance=instance(0)))
    store.append(small.id, 0, 0, steps_of(random.Random(1), 0, 2))
    large = store.create_session(NewSession(instance=instance(0)))
    store.append(large.id, 0, 0, steps_of(random.Random(1), 0, 200))
    counts = [statements(store, key) for key in (small.key, middle.key, large.key)]
    print(f"| opening a session of {steps} steps | {median_ms(lambda: store.load(middle.key)):.2f} |")
    print(f"| opening a session of 200 steps | {median_ms(lambda: store.load(large.key)):.2f} |")
    if len(set(counts)) != 1:
        FAILURES.append(f"opening takes {counts} statements")
    for name, query in (
        ("a word of one step", f"needle{len(refs) // 2}"),
        ("a begun word that most steps have", "hero"),
        ("a word of many steps", "hero17"),
        ("two words", "hero17 atom3"),
        ("a phrase", '"hero17 atom3"'),
        ("a begun word", "needle99"),
        ("a word of no step", "absent"),
    ):
        hits = len(store.search(query))
        print(f"| search: {name} (`{query}`, {hits} shown) | {median_ms(lambda q=query: store.search(q), 20):.2f} |")
    print(f"\nStatements to open a session of 2, {steps} and 200 steps (with BEGIN): {counts}.")
    print("\nPlan of a page of the list:\n\n```")
    print("\n".join(plan(store, list_statement("person", 50, old))))
    print("```\n\nPlan of a search:\n\n```")
    asked = store.read(lambda connection: statement(connection, "hero17 atom3", "person", 50, NEWEST))
    print("\n".join(plan(store, asked)))
    print("```")


class Instant:
    """A session whose tool answers at once, so that nothing but the stepper and the store is measured."""

    async def list_tools(self) -> tuple[ToolSpec, ...]:
        return ()

    async def call(self, name: str, arguments: Any) -> ToolResult:
        return ToolResult(text="x" * 300, duration_s=0.001)

    async def table(self, handle: str) -> None:
        return None

    async def fork(self) -> Instant:
        return self

    async def close(self) -> None:
        pass

    def on_tools_changed(self, listener: Callable[[], None]) -> None:
        pass


def stepped(url: str | None, steps: int, commit: Any) -> tuple[float, float]:
    """Milliseconds a step, passed and of CPU time, over ``steps`` steps, with a store at ``url`` or none."""

    async def run() -> tuple[float, float]:
        calls = tuple(ToolCall(name="read", arguments={"n": n}) for n in range(steps))
        prediction = Prediction(uuid="u", domain="bench", query="q", answer="a", calls=calls)
        sink = None
        store = None
        if url is not None:
            store = AsyncStore(Store.open(url, commit=commit))
            ref = await store.create_session(NewSession(instance=instance(0)))
            sink = store.sink(ref.id, 0)
        subject = Stepper(
            Trajectory(instance=instance(0)), Instant(), RecordingDriver(prediction), store=sink, commit=commit
        )
        started, worked = time.perf_counter(), time.process_time()
        await subject.run()
        spent, work = time.perf_counter() - started, time.process_time() - worked
        if store is not None:
            await store.close()
        return spent * 1000 / (steps + 1), work * 1000 / (steps + 1)

    return asyncio.run(run())


def batched(url: str, instances: int, steps: int) -> float:
    """Milliseconds an instance: its result and its trajectory in one transaction, as a batch keeps them."""
    store = Store.open(url, commit="instance")
    random_ = random.Random(2)
    records = [
        ExecutedRecord(
            instance=instance(n), trajectory=Trajectory(instance=instance(n), steps=steps_of(random_, n, steps))
        )
        for n in range(instances)
    ]
    started = time.perf_counter()
    for number, record in enumerate(records):
        store.put_results("scope", [(f"uuid-{number}", b"{}" * 200)], executed=[record])
    spent = time.perf_counter() - started
    store.close()
    return spent * 1000 / instances


def fsync_ms(folder: Path) -> float:
    path = folder / "fsync"
    with path.open("wb") as file:

        def write() -> None:
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())

        spent = median_ms(write, 100)
    path.unlink()
    return spent


def durability(folder: Path, url: Callable[[str], str]) -> None:
    print("\n## What durability costs\n")
    print(f"One write of 4 KiB with fsync in this folder: {fsync_ms(folder):.2f} ms.\n")
    print("| how steps are kept | ms a step | of them CPU |")
    print("|---|---|---|")
    rows = [
        ("no store", None, "step"),
        ("in memory, each step", "sqlite://", "step"),
        ("each step before it is shown, durable against a power cut (`commit=step`)", url("each"), "step"),
        ("one transaction an instance of 20 steps (`commit=instance`)", url("instance"), "instance"),
    ]
    for name, where, commit in rows:
        spent = [stepped(where, 20, commit) for _ in range(25)]
        passed, worked = (statistics.median(each) for each in zip(*spent, strict=True))
        print(f"| {name} | {passed:.2f} | {worked:.2f} |")
    print(
        f"\nThe batch: result and 20 steps of an instance in one transaction, {batched(url('batch'), 300, 20):.2f} ms."
    )


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--sessions", type=int, default=10_000)
    options.add_argument("--steps", type=int, default=20)
    options.add_argument("--url")
    options.add_argument("--folder", type=Path)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as temporary:
        folder = Path(temporary)

        def url(name: str) -> str:
            return str(folder / f"{name}.sqlite")

        kind = "SQLite " + sqlite3.sqlite_version if chosen.url is None else "PostgreSQL"
        print(f"# The session store: {chosen.sessions} sessions of {chosen.steps} steps ({kind})\n")
        store = Store.open(chosen.url or url("full"))
        nothing = median_ms(lambda: store.sessions(limit=50))
        started = time.perf_counter()
        refs = fill(store, chosen.sessions, chosen.steps)
        spent = time.perf_counter() - started
        print(f"Filled in {spent:.0f} s ({spent * 1000 / chosen.sessions / chosen.steps:.2f} ms a step).", end=" ")
        if store.path is not None:
            print(f"The file has {store.path.stat().st_size / 1e6:.0f} MB.")
        else:
            engine = store._transactions.engine.execution_options(isolation_level="AUTOCOMMIT")
            with engine.connect() as connection:
                connection.execute(text("ANALYZE"))
        reading(store, nothing, refs, chosen.steps)
        store.close()
        if chosen.url is None:
            durability(folder, url)
    for failure in FAILURES:
        print(f"\nFAILED: {failure}")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
