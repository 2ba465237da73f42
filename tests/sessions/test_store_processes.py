"""Several processes with one store: locks that are short or long, first openings at once, writers that are killed."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

import pytest
from killing import kill_often
from store_files import STEP, begun, child, locked, unversioned

from sessions.store import Store
from sessions.store.errors import StoreBusy


def test_a_short_lock_is_waited_for_and_told(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    store, session, key = begun(path)
    told: list[float] = []
    waiting = threading.Event()

    def on_wait(waited: float) -> None:
        told.append(waited)
        waiting.set()

    patient = Store.open(str(path), on_wait=on_wait)
    with locked(path) as holder:
        writer = threading.Thread(target=patient.append, args=(session, 0, 1, [STEP]))
        writer.start()
        assert waiting.wait(60)
        assert store.load(key).summary.steps == 1, "reading goes on meanwhile"
        holder.execute("ROLLBACK")
        writer.join(60)
    assert told and store.load(key).summary.steps == 2
    patient.close()
    store.close()


def test_a_long_lock_is_a_sentence_and_the_step_is_kept_for_later(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    store, session, key = begun(path)
    hasty = Store.open(str(path), wait_s=0.3)
    with locked(path):
        for _ in range(2):
            with pytest.raises(StoreBusy, match=r"sessions\.sqlite is in use by another process") as refused:
                hasty.append(session, 0, 1, [STEP])
        with pytest.raises(StoreBusy):
            hasty.put_results("scope", [("u", b"\xff{}")])
        with pytest.raises(StoreBusy):
            hasty.put_ruling("k", b"{}")
    (file,) = hasty.unsaved()
    assert str(file) in str(refused.value)
    with file.open("ab") as torn:
        torn.write(b'{"write": "append", "steps": [')
    assert hasty.take_in(file) == 3
    assert store.load(key).tree.steps(0)[1] == STEP
    assert list(store.results("scope")) == [("u", b"\xff{}")] and store.ruling("k") == b"{}"
    assert hasty.unsaved() == []
    hasty.close()
    store.close()


class Clock:
    """Time passes only where somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_store_that_stays_busy_is_waited_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sessions.store.engine.time", Clock())
    monkeypatch.setattr("sessions.store.engine.DRIVER_WAIT_S", 0.001)
    monkeypatch.setattr("sessions.store.engine.IMPATIENT_S", 0.05)
    path = tmp_path / "sessions.sqlite"
    store, session, key = begun(path)
    waits: list[float] = []
    other = Store.open(str(path), wait_s=1.5, on_wait=waits.append)
    with locked(path) as holder:
        with pytest.raises(StoreBusy, match="within 2 s"):
            other.append(session, 0, 1, [STEP])
        waits.clear()
        for _ in range(3):
            with pytest.raises(StoreBusy):
                other.append(session, 0, 1, [STEP])
        assert not waits or max(waits) < 1.0, "the whole time was waited for again"
        holder.execute("ROLLBACK")
    other.append(session, 0, 1, [STEP])
    with locked(path):
        waits.clear()
        with pytest.raises(StoreBusy):
            other.append(session, 0, 2, [STEP])
        assert max(waits) > 1.0, "a store that was free is waited for again"
    assert store.load(key).tree.steps(0)[1] == STEP
    other.close()
    store.close()


OPENER = """
import sys
from counting import make_instance
from sessions.store import NewSession, Store
print("ready", flush=True)
sys.stdin.readline()
store = Store.open(sys.argv[1], wait_s=120)
session = store.create_session(NewSession(instance=make_instance()))
from sessions.trajectory import Message, Step
for n in range(20):
    store.append(session.id, 0, n, [Step(actor="human", decision=Message(role="user", text=f"{session.id} {n}"))])
print("done", flush=True)
"""


@pytest.mark.parametrize(("old", "openers"), [(False, 4), (True, 2)], ids=["fresh", "to be migrated"])
def test_processes_open_first_and_write_at_once(tmp_path: Path, old: bool, openers: int) -> None:
    path = tmp_path / "sessions.sqlite"
    if old:
        unversioned(path)
    processes = [child(OPENER, str(path)) for _ in range(openers)]
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate()[0] for process in processes] == ["done\n"] * openers
    with contextlib.closing(Store.open(str(path))) as store:
        steps = [item.steps for item in store.sessions().items if not old or item.uuid == "u-1"]
        assert steps == [20] * openers
        assert store.check() == []


def test_killed_writers_lose_nothing_that_was_shown(tmp_path: Path) -> None:
    kill_often(tmp_path / "sessions.sqlite", 4, seed=1)
