"""What a person can choose when the wheel is handed over: who decides, and from which step on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from toolenv.model import ToolCall
from vakra_tui.state.scene import Scene, StepRow
from vakra_tui.text import one_line

RECORDING = "recording"
WHOLE = "whole recording"
IN_PLACE = "in its place"
AFTER = "human"
START_OVER = "start over"


class Offer(NamedTuple):
    """One way to go on. ``wheel`` decides behind the first ``at`` steps.

    ``following`` is the recording's call (from 0) that comes next where it is not the one after as many as were made.
    """

    name: str
    words: str
    wheel: str
    at: int
    following: int | None = None


def offers(scene: Scene, cursor: int, agent: str | None) -> tuple[Offer, ...]:
    """The ways to go on from the step under the cursor; ``agent`` is the name of the agent, None without one."""
    row = scene.rows[cursor] if cursor < len(scene.rows) else None
    behind = min(cursor + 1, scene.executed)
    found: list[Offer] = []
    if scene.prediction is not None:
        found += _recorded(scene, scene.rows[:behind], behind)
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


def _recorded(scene: Scene, kept: Sequence[StepRow], behind: int) -> list[Offer]:
    """The ways in which the recording goes on behind the rows that are kept.

    A call that was made there by somebody else stands for one of the recording's own, or comes between them.
    """
    from sessions.drivers.recording import same_call

    again = f"the old calls and answer of {one_line(scene.run, 20)} again"
    calls = scene.prediction.calls if scene.prediction is not None else ()
    openings = [row.call for row in kept if row.call is not None and not is_call(row)]
    opened = bool(calls) and any(same_call(call, calls[0]) for call in openings)
    played = [row for row in kept if is_call(row)]
    done, own = len(played) + opened, sum(row.actor == "recording" for row in played) + opened
    if done == own:
        return [Offer(RECORDING, again, "recording", behind)]
    return [
        Offer(RECORDING, f"yours in place of its own, then {_comes(calls, done)}", "recording", behind),
        Offer(WHOLE, f"yours beside its own, then {_comes(calls, own)}", "recording", behind, own),
    ]


def _comes(calls: Sequence[ToolCall], done: int) -> str:
    """What the recording does after ``done`` of its calls."""
    return one_line(calls[done].name, 64) if done < len(calls) else "its answer"


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
    return scene.wheel.replace("_", " ")
