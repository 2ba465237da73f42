"""Steps for a store, plain and strange, and what is counted in it."""

from __future__ import annotations

import math
from typing import Any

from counting import make_instance
from sqlalchemy import text

from sessions.store import (
    ExecutedRecord,
    NewSession,
    SessionRef,
    Store,
)
from sessions.trajectory import Answer, CallTool, GiveUp, Message, Step, Trajectory
from toolenv.model import ToolCall, ToolResult


def made(name: str, response: str = "ok", **arguments: Any) -> Step:
    call = ToolCall(name=name, arguments=arguments)
    return Step(actor="agent", decision=CallTool(call=call), result=ToolResult(text=response, duration_s=0.5))


def begun(store: Store, *steps: Step, **new: Any) -> SessionRef:
    session = store.create_session(NewSession(instance=make_instance(), **new))
    store.append(session.id, 0, 0, steps)
    return session


def rows(store: Store, table: str) -> int:
    return int(store.read(lambda connection: connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one()))


STRANGE = (
    made("odd", "NUL \0, lone \ud800, \U0001f600, \x1b[2J", value=math.inf, big=2**80, deep=[{"a": [None, True]}]),
    Step(actor="human", decision=Message(role="assistant", text="words")),
    Step(
        actor="recording",
        decision=CallTool(call=ToolCall(name="raw", arguments={}, raw_arguments="[1", id="c1", label="L")),
        result=ToolResult(text="no", is_error=True, failed=True, error_kind="refused_arguments", notes=("S7",)),
        executed_arguments={"a": 1},
        opening=True,
    ),
    Step(actor="agent", decision=GiveUp(reason="tired")),
    Step(actor="agent", decision=Answer(text="42")),
)


def executed(answer: str = "done", side: Any = "prediction") -> ExecutedRecord:
    steps = (made("get_team_wins", "48 wins", team="Boston"), Step(actor="recording", decision=Answer(text=answer)))
    return ExecutedRecord(
        instance=make_instance(), trajectory=Trajectory(instance=make_instance(), steps=steps), side=side, run="r1"
    )
