"""The store on every kind of database: what goes in comes out, and said twice it changes nothing."""

from __future__ import annotations

import math
import sqlite3
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
from counting import make_instance
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event
from store_steps import STRANGE, begun, executed, made, rows

from sessions.branches import Branch, Cursor, Drift
from sessions.store import (
    AsyncStore,
    Flag,
    Mark,
    NewSession,
    RequestRecord,
    RunRecord,
    SessionRef,
    Store,
    StoredVerdict,
)
from sessions.store.conflicts import BranchConflict
from sessions.trajectory import Answer, CallTool, Step
from toolenv.errors import StoreError
from toolenv.model import ToolCall, ToolResult


def test_steps_come_back_as_they_were(store: Store) -> None:
    session = begun(store, *STRANGE)
    loaded = store.load(session.key)
    assert loaded.tree.steps(0) == STRANGE
    assert loaded.tree.instance == make_instance()
    assert loaded.summary.steps == len(STRANGE)


@pytest.mark.parametrize("size", [4095, 4096, 4097, 5_000_000])
def test_responses_of_any_size_come_back(store: Store, size: int) -> None:
    step = made("big", "x" * size, argument="y" * size)
    assert store.load(begun(store, step).key).tree.steps(0) == (step,)


def test_a_large_content_is_stored_once(store: Store) -> None:
    first = made("big", "same " * 10_000)
    begun(store, first, made("other", "same " * 10_000))
    before = rows(store, "payload")
    begun(store, msgspec.structs.replace(first, actor="human"))
    assert rows(store, "payload") == before == 2


def test_the_same_append_twice_changes_nothing(store: Store) -> None:
    session = begun(store, made("a"), made("b"))
    for _ in range(2):
        store.append(session.id, 0, 1, [made("b"), made("c")])
    loaded = store.load(session.key)
    assert loaded.tree.steps(0) == (made("a"), made("b"), made("c"))
    assert loaded.summary.steps == 3
    assert rows(store, "step") == 3


def test_a_branch_that_somebody_else_went_on_with_is_a_conflict(store: Store) -> None:
    session = begun(store, made("a"))
    store.append(session.id, 0, 1, [made("b")])
    with pytest.raises(BranchConflict, match="step 2 is a different one"):
        store.append(session.id, 0, 1, [made("c"), made("d")])
    assert store.load(session.key).tree.steps(0) == (made("a"), made("b"))


def test_a_gap_is_refused(store: Store) -> None:
    session = begun(store, made("a"))
    with pytest.raises(StoreError, match="Step 2 of branch 0 is not in the session store"):
        store.append(session.id, 0, 2, [made("c")])
    with pytest.raises(StoreError, match="no branch 7"):
        store.append(session.id, 7, 0, [made("c")])


def test_branches_share_their_prefix(store: Store) -> None:
    session = begun(store, made("a"), made("b"))
    fork = Branch(number=1, name="fork", parent=0, fork_at=1, replayed=(Drift(outcome="drifted", difference="-1\n+2"),))
    store.branch(session.id, msgspec.structs.replace(fork, steps=(made("c"),)))
    store.branch(session.id, fork)
    loaded = store.load(session.key)
    assert loaded.tree.steps(1) == (made("a"), made("c"))
    assert loaded.tree.branch(1).replayed == fork.replayed
    assert loaded.summary.branches == 2
    assert rows(store, "step") == 3


def test_sessions_are_found_by_the_beginning_of_their_key(store: Store) -> None:
    session = begun(store)
    begun(store)
    assert store.load(session.key[:7]).summary.id == session.id
    for nonsense in ("", "zz", "%", "' OR 1=1 --", "ä"):
        with pytest.raises(StoreError, match="session"):
            store.load(nonsense)


def test_the_list_is_paged_newest_first_and_batches_are_apart(store: Store) -> None:
    made_here = [begun(store, title=f"s{n}") for n in range(7)]
    store.put_results("scope", [("u", b"{}")], executed=[executed()])
    seen: list[int] = []
    before = None
    while True:
        page = store.sessions(limit=3, before=before)
        seen += [item.id for item in page.items]
        before = page.next
        if before is None:
            break
    assert seen == [session.id for session in reversed(made_here)]
    assert [item.kind for item in store.sessions("batch").items] == ["batch"]
    store.append(made_here[0].id, 0, 0, [made("a")])
    assert store.sessions(limit=1).items[0].id == made_here[0].id
    assert len(store.sessions(uuid="u-1").items) == 7
    assert store.sessions(uuid="u-2").items == ()


def test_search_finds_what_steps_hold(store: Store) -> None:
    session = begun(
        store,
        made("get_team_wins", '{"wins": 48, "note": "Año Nuevo, İstanbul 東京"}', team="Boston Bruins"),
        made("big", "filler " * 100_000 + "needle_in_a_haystack"),
        Step(actor="agent", decision=Answer(text="Forty-eight wins for O'Brien & Co; DROP TABLE step;")),
    )
    for query, positions in {
        "boston": [0],
        "get_team_wins": [0],
        "team wins": [0],
        '"bruins boston"': [],
        '"boston bruins"': [0],
        "wins": [2, 0],
        "win": [2, 0],
        "needle haystack": [1],
        "needle_in_a_hay": [1],
        "forty-eight": [2],
        "nuevo": [0],
        "東京": [0],
        "drop table": [2],
        "o'brien": [2],
        "absent": [],
        "": [],
        "!!! ***": [],
    }.items():
        hits = store.search(query)
        assert [hit.position for hit in hits] == positions, query
        assert all(hit.session.key == session.key for hit in hits)
    hit = store.search("haystack")[0]
    assert "needle_in_a_haystack" in hit.excerpt and len(hit.excerpt) < 200
    assert (hit.kind, hit.tool, hit.actor) == ("call", "big", "agent")
    assert store.search("boston", "batch") == ()


@pytest.mark.parametrize(
    "query",
    ['"', "'", "a AND", "NOT a", "a:b", "words : a", "a* b*", "(", "{a b}: c", "a NEAR b", "\\", "%", "a & !b", ":*"],
)
def test_no_query_is_a_language(store: Store, query: str) -> None:
    begun(store, made("a", "b"))
    store.search(query)


def test_hits_are_paged(store: Store) -> None:
    begun(store, *[made("read", f"row {n}") for n in range(10)])
    first = store.search("row", limit=4)
    rest = store.search("row", limit=100, before=first[-1].id)
    assert [hit.position for hit in (*first, *rest)] == list(range(9, -1, -1))


@pytest.mark.parametrize(
    "spoil",
    [
        "UPDATE branch SET parent = number",
        "UPDATE branch SET number = 7",
        "UPDATE session SET promoted = 5",
        "UPDATE session SET promoted = 'x'",
        "UPDATE session SET steps = 'many'",
        "UPDATE note SET text = x'ff'",
        "UPDATE mark SET at = 'there'",
        "UPDATE verdict SET passed = 1, steps = 'x'",
    ],
)
def test_rows_that_do_not_fit_together_are_a_damaged_store(tmp_path: Path, spoil: str) -> None:
    url = f"sqlite:///{tmp_path / 'spoiled.sqlite'}"
    store = Store.open(url)
    session = begun(store, made("a"))
    store.put_note(session.id, "a note")
    store.put_mark(session.id, Mark(name="m", place=Cursor(branch=0, at=0)))
    store.put_verdict(session.id, StoredVerdict(branch=0, steps=1, profile="p", judge="offline", passed=None, body={}))
    assert store.load(session.key).tree.steps(0)
    store.close()
    with sqlite3.connect(tmp_path / "spoiled.sqlite") as connection:
        connection.execute(spoil)
    connection.close()
    store = Store.open(url)
    with pytest.raises(StoreError):
        store.load(session.key)
    store.close()


def test_what_strict_json_has_no_word_for_comes_back(store: Store) -> None:
    session = begun(store, made("a"))
    for odd in ("\ud800", 2**70, math.inf, math.nan):
        verdict = StoredVerdict(branch=0, steps=1, profile="p", judge="offline", passed=None, body={"x": odd})
        store.put_verdict(session.id, verdict)
        store.put_request(session.id, RequestRecord(kind="agent", model="m", request={"x": odd}, response=odd))
        store.put_run(RunRecord(fingerprint=repr(odd), name="r", path="/r", detail={"x": odd}))
        assert repr(store.load(session.key).verdicts[-1].body) == repr({"x": odd})
        assert repr(store.requests(session.id)[-1].response) == repr(odd)
        assert repr(next(run.detail for run in store.runs() if run.fingerprint == repr(odd))) == repr({"x": odd})


def test_opening_a_session_takes_the_same_number_of_statements(store: Store) -> None:
    def counted(session: SessionRef) -> int:
        statements: list[str] = []
        engine = store._transactions.engine

        def executed(*arguments: Any) -> None:
            statements.append(arguments[2])

        event.listen(engine, "before_cursor_execute", executed)
        store.load(session.key)
        event.remove(engine, "before_cursor_execute", executed)
        return len(statements)

    small = begun(store)
    large = begun(store, *[made("big", f"{n} " * 3000) for n in range(50)])
    for number in range(1, 10):
        store.branch(large.id, Branch(number=number, name="f", parent=0, fork_at=number, steps=(made("x"),)))
    assert counted(small) == counted(large)


def test_many_threads_write_at_once(store: Store) -> None:
    sessions = [begun(store) for _ in range(4)]
    failures: list[BaseException] = []

    def work(session: SessionRef) -> None:
        try:
            for position in range(15):
                store.append(session.id, 0, position, [made("read", f"{session.id} {position}")])
                store.sessions()
        except StoreError as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [len(store.load(session.key).tree.steps(0)) for session in sessions] == [15] * 4


async def test_the_event_loop_has_its_own_door(store_url: str) -> None:
    store = await AsyncStore.open(store_url)
    session = await store.create_session(NewSession(instance=make_instance()))
    await store.sink(session.id, 0).append(0, [made("a")])
    assert (await store.load(session.key)).tree.steps(0) == (made("a"),)
    assert [hit.position for hit in await store.search("ok")] == [0]
    assert len((await store.sessions()).items) == 1
    assert not store.read_only and store.name
    await store.close()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.text(max_size=10), st.dictionaries(st.text(max_size=5), json_values, max_size=3), st.text()),
        max_size=4,
    )
)
def test_any_step_comes_back(store: Store, calls: list[tuple[str, dict[str, Any], str]]) -> None:
    steps = tuple(
        Step(
            actor="agent",
            decision=CallTool(call=ToolCall(name=name, arguments=arguments)),
            result=ToolResult(text=response),
        )
        for name, arguments, response in calls
    )
    session = begun(store, *steps)
    assert store.load(session.key).tree.steps(0) == steps
    assert store.delete(session.id)


@pytest.mark.parametrize(
    "odd", ["nul \0 inside", "lone \ud800", "'; DROP TABLE step; --", "%_\\", "x" * 2000, "İ\u202e\x1b[2J"]
)
def test_odd_names_are_names(store: Store, odd: str) -> None:
    store.put_results(odd, [(odd, b"1")])
    assert [body for _, body in store.results(odd)] == [b"1"]
    store.forget_results(odd)
    assert list(store.results(odd)) == []
    store.put_ruling(odd, b"2")
    assert store.ruling(odd) == b"2"
    store.put_human_ruling(odd, odd, odd, odd, odd)
    assert len(store.human_rulings(odd, odd)) == 1
    store.put_human_ruling(odd, odd, odd, odd, None)
    assert store.human_rulings(odd, odd) == {}
    store.put_flag(Flag(dataset=odd, uuid=odd, kind=odd, text=odd))
    assert len(store.flags(odd)) == 1
    store.drop_flag(odd, odd, odd)
    assert store.flags() == ()
    store.touch(odd, odd)
    assert len(store.touched(odd)) == 1
    store.put_run(RunRecord(fingerprint=odd, dataset=odd, name=odd, path=odd))
    instance = msgspec.structs.replace(make_instance(), uuid=odd, domain=odd)
    session = store.create_session(NewSession(instance=instance, title=odd, dataset=odd, run=odd))
    store.put_note(session.id, odd)
    store.put_mark(session.id, Mark(name=odd, place=Cursor(branch=0, at=0)))
    store.append(session.id, 0, 0, [made(odd, odd, odd=odd)])
    assert store.load(session.key).tree.steps(0)[0] == made(odd, odd, odd=odd)
    assert [item.id for item in store.sessions(uuid=odd).items] == [session.id]
    store.search(odd)


def test_contents_that_others_refer_to_stay(store: Store) -> None:
    shared = made("big", "shared " * 2000)
    one, two = begun(store, shared), begun(store, shared)
    store.put_request(one.id, RequestRecord(kind="agent", model="m", request="only here", response="only here too"))
    assert rows(store, "payload") == 4
    store.delete(one.id)
    assert rows(store, "payload") == 2
    assert store.load(two.key).tree.steps(0) == (shared,)
    store.delete(two.id)
    assert rows(store, "payload") == 0


def test_another_branch_of_the_same_number_is_a_conflict(store: Store) -> None:
    session = begun(store, made("a"), made("b"))
    store.branch(session.id, Branch(number=1, name="mine", parent=0, fork_at=1))
    with pytest.raises(BranchConflict, match="another branch 1"):
        store.branch(session.id, Branch(number=1, name="theirs", parent=0, fork_at=2, steps=(made("c"),)))
    assert store.load(session.key).tree.branch(1).name == "mine"
