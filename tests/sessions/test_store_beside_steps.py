"""What a store keeps beside steps: executed sides, flags, marks, verdicts, results and rulings."""

from __future__ import annotations

import msgspec
from store_steps import begun, executed, made, rows

from sessions.branches import Cursor
from sessions.breakpoints import Breakpoint
from sessions.store import (
    Flag,
    Mark,
    RequestRecord,
    RunRecord,
    Store,
    StoredVerdict,
)


def test_executed_sides_are_replaced_and_not_doubled(store: Store) -> None:
    for answer in ("one", "two"):
        store.put_results(
            "scope", [("u-1", answer.encode())], executed=[executed(answer), executed(side="ground_truth")]
        )
    assert list(store.results("scope")) == [("u-1", b"two")]
    items = store.sessions("batch").items
    assert sorted(item.title for item in items) == ["ground truth", "prediction"]
    answers = {store.load(item.key).tree.trajectory(0).answer for item in items}
    assert answers == {"two", "done"}
    assert store.search("one", "batch") == ()


def test_a_deleted_session_is_gone_everywhere(store: Store) -> None:
    gone = begun(store, made("a", "unique words here " * 1000))
    kept = begun(store, made("a", "other words"))
    store.put_note(gone.id, "look")
    assert store.delete(gone.id)
    assert not store.delete(gone.id)
    assert store.search("unique") == ()
    assert [hit.session.id for hit in store.search("words")] == [kept.id]
    assert rows(store, "note") == 0 and rows(store, "payload") == 1
    assert store.check() == []


def test_what_a_person_keeps(store: Store) -> None:
    session = begun(store, made("a"), dataset="sha256:d")
    note = store.put_note(session.id, "is this right?", 0, 0)
    dropped = store.put_note(session.id, "no")
    store.drop_note(dropped)
    store.put_mark(session.id, Mark(name="m", place=Cursor(branch=0, at=0)))
    store.put_mark(session.id, Mark(name="m", place=Cursor(branch=0, at=1)))
    verdict = StoredVerdict(branch=0, steps=1, profile="paper", judge="offline", passed=False, body={"x": [1]})
    store.put_verdict(session.id, verdict)
    store.place(session.id, Cursor(branch=0, at=1), 0)
    loaded = store.load(session.key)
    assert [(each.id, each.text, each.branch, each.position) for each in loaded.notes] == [
        (note, "is this right?", 0, 0)
    ]
    assert loaded.marks == (Mark(name="m", place=Cursor(branch=0, at=1)),)
    store.drop_mark(session.id, "another")
    assert store.load(session.key).marks
    store.drop_mark(session.id, "m")
    assert store.load(session.key).marks == ()
    assert msgspec.structs.replace(loaded.verdicts[0], created_at=0.0) == verdict
    assert (loaded.summary.passed, loaded.cursor, loaded.tree.promoted) == (False, Cursor(branch=0, at=1), 0)

    store.put_flag(Flag(dataset="sha256:d", uuid="u-1", kind="ground truth wrong", text="no"))
    store.put_flag(Flag(dataset="sha256:d", uuid="u-1", kind="ground truth wrong", text="yes"))
    store.put_flag(Flag(dataset="sha256:e", uuid="u-1", kind="ambiguous"))
    assert [flag.text for flag in store.flags("sha256:d")] == ["yes"]
    store.drop_flag("sha256:d", "u-1", "ground truth wrong")
    assert [flag.kind for flag in store.flags()] == ["ambiguous"]

    assert [each.session_id for each in store.touched("sha256:d")] == [session.id]
    store.touch("sha256:d", "u-9")
    assert [each.uuid for each in store.touched("sha256:d")] == ["u-9", "u-1"]

    run = RunRecord(fingerprint="sha256:r", name="r1", path="/runs/r1", detail={"model": "m"})
    store.put_run(run)
    store.put_run(run)
    assert [(each.name, each.detail) for each in store.runs()] == [("r1", {"model": "m"})]

    breakpoints = (Breakpoint(kind="error"), Breakpoint(kind="filter", value="~err", enabled=False))
    store.put_breakpoints((Breakpoint(kind="slow", value="1"),))
    store.put_breakpoints(breakpoints)
    assert store.breakpoints() == breakpoints

    request = RequestRecord(kind="agent", model="m", request={"messages": []}, response={"a": 1}, usage={"total": 3})
    store.put_request(session.id, request)
    assert [msgspec.structs.replace(each, created_at=0.0) for each in store.requests(session.id)] == [request]


def test_results_rulings_and_what_a_person_ruled(store: Store) -> None:
    store.put_results("one", [(f"u{n:04}", b'{"n": %d}' % n) for n in range(1200)])
    store.put_results("one", [("u0000", b'{"n": "again"}')])
    store.put_results("two", [("u0000", b"{}")])
    found = dict(store.results("one"))
    assert len(found) == 1200 and found["u0000"] == b'{"n": "again"}'
    store.forget_results("one")
    assert list(store.results("one")) == [] and list(store.results("two")) == [("u0000", b"{}")]

    assert store.ruling("k") is None
    store.put_ruling("k", b'{"ruling": "pass"}')
    store.put_ruling("k", b'{"ruling": "fail"}')
    assert store.ruling("k") == b'{"ruling": "fail"}'

    store.put_human_ruling("d", "r", "u", "grounded", {"outcome": "pass"})
    store.put_human_ruling("d", "r", "u", "consistent", {"outcome": "fail"})
    store.put_human_ruling("d", "r", "u", "consistent", None)
    assert store.human_rulings("d", "r") == {("u", "grounded"): {"outcome": "pass"}}
    assert store.human_rulings("d", "other") == {}
