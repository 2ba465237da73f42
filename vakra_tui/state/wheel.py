"""What a person can choose when the wheel is handed over: who decides, and from which step on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from toolenv.model import ToolCall
from vakra_tui.state.scene import Scene, StepRow
from vakra_tui.text import count_words, one_line

RECORDING = "recording"
WHOLE = "whole recording"
MOST_LEFT_OUT = 3
"""Calls of others behind which it is offered to leave out some of the recording's own."""

IN_PLACE = "in its place"
AFTER = "human"
START_OVER = "start over"


class Offer(NamedTuple):
    """One way to go on. ``wheel`` decides behind the first ``at`` steps.

    ``left_out`` is how many of a recording's calls those stand for that were made last (``Recording``).
    """

    name: str
    words: str
    wheel: str
    at: int
    left_out: int | None = None


def offers(scene: Scene, cursor: int, agent: str | None) -> tuple[Offer, ...]:
    """The ways to go on from the step under the cursor; ``agent`` is the name of the agent, None without one."""
    row = scene.rows[cursor] if cursor < len(scene.rows) else None
    behind = min(cursor + 1, scene.executed)
    found = _recorded(scene, cursor)
    if row is not None and is_call(row):
        after = f"you go on after step {row.number}, which stays"
        if row.policy:
            after = f"after step {row.number}, which stays and breaks the policy"
        found.append(Offer(IN_PLACE, f"you decide in place of step {row.number}", "human", cursor))
        found.append(Offer(AFTER, after, "human", behind))
    elif row is not None and row.step is not None and row.outcome in ("answer", "gave up"):
        found.append(Offer(AFTER, "you decide in place of the final answer", "human", behind))
    else:
        found.append(Offer(AFTER, "you decide from here on", "human", behind))
    if scene.executed:
        found.append(Offer(START_OVER, "you decide from the beginning, on a branch", "human", 0))
    if scene.instance.ground_truth is not None:
        found.append(Offer("ground truth", "the reference path goes on", "ground_truth", behind))
    if agent is not None:
        found.append(Offer("agent", f"{agent} decides", "agent", behind))
    return tuple(found)


def _recorded(scene: Scene, cursor: int) -> list[Offer]:
    """The ways in which the recording goes on behind the step under the cursor.

    Calls that somebody else made since its last one each stand for one of its own, or none does, or some of them.
    """
    from sessions.drivers.recording import Standing

    if scene.prediction is None:
        return []
    behind = min(cursor + 1, scene.executed)
    calls = scene.prediction.calls
    steps = tuple(row.step for row in scene.rows[:behind] if row.step is not None)
    following, since = Standing(calls).of(steps)
    if not since:
        again = f"the old calls and answer of {one_line(scene.run, 20)} again"
        return [Offer(RECORDING, again, "recording", behind)]
    left = range(since - 1, -1, -1) if since <= MOST_LEFT_OUT else (0,)
    return [
        Offer(RECORDING, _goes_on(calls, following, since), "recording", behind),
        *(Offer(_name(n), _goes_on(calls, following, n), "recording", behind, n) for n in left),
    ]


def _name(left_out: int | None) -> str:
    if left_out is None:
        return RECORDING
    return f"without {left_out}" if left_out else WHOLE


def _goes_on(calls: Sequence[ToolCall], following: int, left_out: int) -> str:
    """What the recording does next, and how many of its calls it does not make."""
    done = following + left_out
    comes = one_line(calls[done].name, 30) if done < len(calls) else "its answer"
    skipped = min(left_out, len(calls) - following)
    return f"next {comes}; {count_words(skipped, 'call') if skipped else 'none'} of its own left out"


def is_call(row: StepRow) -> bool:
    """Whether a row is a call that was executed and that another decision could stand in place of."""
    return row.step is not None and row.call is not None and row.number > 0


def warning(scene: Scene, cursor: int) -> str:
    """That a policy is broken by what stays behind the cursor, and how to be rid of it; empty where none is."""
    broken = [row for row in scene.rows[: cursor + 1] if row.policy and row.step is not None]
    if not broken:
        return ""
    first, many = broken[0], len(broken) > 1
    steps = ", ".join(str(row.number) for row in broken[:4])
    it = "them" if many else "it"
    told = f"Steps {steps} break the policy" if many else f"Step {steps} breaks the policy"
    told += f": what keeps {it} cannot pass."
    if not many and scene.rows[cursor] is first:
        return f"{told} \u201c{IN_PLACE}\u201d and \u201c{START_OVER}\u201d leave it out."
    return f"{told} \u201c{START_OVER}\u201d leaves {it} out, or go back to step {first.number} first."


def default(scene: Scene, cursor: int) -> str:
    """The name of the offer to stand on at first."""
    row = scene.rows[cursor] if cursor < len(scene.rows) else None
    if row is not None and row.policy and is_call(row):
        return IN_PLACE
    offered = [offer.name for offer in _recorded(scene, cursor)]
    if scene.wheel == "recording" and (name := _name(scene.left_out)) in offered:
        return name
    return scene.wheel.replace("_", " ")
