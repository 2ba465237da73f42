"""What the debugger shows of one instance at one moment: plain values that the panes turn into lines.

A ``Scene`` is made in the engine thread after every change and handed to the screen whole; the screen compares
nothing and computes nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Literal

from eval.model import Verdict
from sessions.trajectory import Step
from toolenv.environment import TableView
from toolenv.model import Instance, Json, Prediction, ToolCall, ToolSpec, Value

if TYPE_CHECKING:
    from sessions.breakpoints import Breakpoint, Pause

StepOutcome = Literal["ok", "failed", "refused", "no answer", "answer", "gave up", "message", "pending"]


class Origin(Value, frozen=True):
    """Where one value of an argument comes from: ``seen`` as the provenance says, ``step`` and ``turn`` likewise.

    ``value`` is the scalar itself, which an argument that is a list has several of. ``others`` are further places that
    show it.
    """

    seen: str
    value: Json = None
    step: int | None = None
    turn: int | None = None
    text: str = ""
    others: tuple[Origin, ...] = ()


class ArgumentRow(Value, frozen=True):
    """One argument of a call: the value as written, and where it comes from.

    ``origin`` is a phrase (``user turn 2``, ``step 1``); ``grounded`` is False where the value was found nowhere,
    None where that was not looked into. ``executed`` is the value after coercion where it differs. ``origins`` has an
    entry for each scalar of the value.
    """

    name: str
    value: Json
    origin: str = ""
    grounded: bool | None = None
    executed: Json = None
    coerced: bool = False
    note: str = ""
    origins: tuple[Origin, ...] = ()


class Gap(Value, frozen=True):
    """One argument in which a call and the reference call that it stands for differ.

    ``missing``: the call lacks it; ``unknown``: the tool has no such argument; ``value``: another value. ``unset`` says
    that the reference gives no value.
    """

    argument: str
    kind: Literal["missing", "unknown", "value"]
    expected: Json = None
    given: Json = None
    unset: bool = False


class FlowRow(Value, frozen=True):
    """A value of hop ``source`` that the reference writes in an argument of hop ``target`` (0: in its answer).

    ``handle``: the value is the name of the table that ``source`` made.
    """

    source: int
    target: int
    argument: str = ""
    value: Json = None
    handle: bool = False


class BranchRow(Value, frozen=True):
    """One branch of the session. ``steps`` counts from the beginning; ``passed`` is that of its own verdict."""

    number: int
    name: str
    parent: int | None
    fork_at: int
    steps: int
    actor: str = ""
    passed: bool | None = None
    judged: bool = False


class StepRow(Value, frozen=True):
    """One row of the timeline.

    ``number`` is 1-based over the rows that are not the opening (which is 0). ``recovers`` are the hops whose needed
    facts this step was the first to complete. ``step`` is None for a call of the recording that was not executed yet;
    ``call`` is then what it will be. ``reference`` says how the call stands to the reference path; ``hop`` is the one
    that it stands for, ``gaps`` are its differences from that one, ``beside`` says that it stands for none. ``marked``
    and ``remarks`` are what a person left at the step.
    ``spec`` is the tool that was called, None where it is not known.
    """

    number: int
    actor: str
    tool: str
    outcome: StepOutcome
    call: ToolCall | None = None
    answer: str | None = None
    step: Step | None = None
    table: TableView | None = None
    recovers: tuple[int, ...] = ()
    policy: str = ""
    ungrounded: bool = False
    coerced: bool = False
    arguments: tuple[ArgumentRow, ...] = ()
    file_response: Json = None
    has_file_response: bool = False
    response_differs: bool = False
    reference: str = ""
    forks: tuple[str, ...] = ()
    drifted: bool = False
    spec: ToolSpec | None = None
    hop: int | None = None
    gaps: tuple[Gap, ...] = ()
    beside: bool = False
    marked: bool = False
    remarks: tuple[str, ...] = ()


class HopRow(Value, frozen=True):
    """One hop of the reference path: its call, what later hops or the answer need of it, and who recovered that.

    ``recovered_at`` is the number of the step that completed it, None where something is missing; ``known`` is False
    while nothing was executed that could tell; ``forbidden`` says that the policy forbids the step that completed it.
    ``aligned`` is the number of the step that stands for it, ``gaps`` are that step's differences.
    """

    number: int
    source: str
    call: ToolCall
    needs: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    recovered_at: int | None = None
    known: bool = True
    state: str = ""
    response: str | None = None
    failed: bool = False
    file_response: Json = None
    aligned: int | None = None
    gaps: tuple[Gap, ...] = ()
    table: TableView | None = None
    forbidden: bool = False


TruthState = Literal["running", "ready", "failed", "none", "no calls", "unavailable"]


class TruthView(Value, frozen=True):
    """The reference path: its state, its hops, the values that flow between them, and its answer.

    ``detail`` says why it failed or is unavailable; ``ended`` that the trajectory beside it is finished.
    """

    state: TruthState = "running"
    hops: tuple[HopRow, ...] = ()
    flows: tuple[FlowRow, ...] = ()
    ended: bool = False
    answer: Json = None
    detail: str = ""


class PolicyView(Value, frozen=True):
    """The policy banner: text, topics, whether it applies and why, and what that means for each source."""

    text: str = ""
    kind: str = ""
    topics: tuple[str, ...] = ()
    applicability: str = "none"
    why: str = ""
    api: Literal["allowed", "forbidden", "unknown"] = "allowed"
    rag: Literal["allowed", "forbidden", "unknown"] = "allowed"
    first: str = ""
    refusal: str = ""
    violations: tuple[int, ...] = ()


class Scene(Value, frozen=True):
    """Everything that the debugger shows.

    ``verdict`` is that of the present branch, None before it was evaluated; ``stale`` is True when steps were added
    since. ``working`` names what is going on, empty when nothing is; ``stoppable`` says that a person can stop it.
    ``problem`` is why no session could be opened.
    ``pause`` is where and why a breakpoint stopped last (``number`` counts rows from 1, the opening included).
    ``profile`` is the one that was asked for; ``verdict`` is that of ``paper`` in any case, ``listed`` what the list
    of instances knows of the recording by the profile asked for. ``hints`` counts the oracle hints given so far.
    ``tree`` are all branches of the session; ``on_branch`` is the one that is shown.
    """

    instance: Instance
    run: str
    prediction: Prediction | None = None
    rows: tuple[StepRow, ...] = ()
    truth: TruthView = TruthView()
    policy: PolicyView = PolicyView()
    verdict: Verdict | None = None
    stale: bool = False
    working: str = ""
    stoppable: bool = False
    problem: str = ""
    wheel: str = "recording"
    left_out: int | None = None
    environment: str = ""
    judge: str = ""
    finished: bool = False
    notes: tuple[str, ...] = ()
    reference_shown: bool = True
    hints: int = 0
    flagged: str = ""
    extra: bool = False
    branch: str = ""
    branches: int = 1
    store_problem: str = ""
    breakpoints: tuple[Breakpoint, ...] = ()
    pause: Pause | None = None
    profile: str = "paper"
    listed: Verdict | None = None
    tree: tuple[BranchRow, ...] = ()
    on_branch: int = 0

    @property
    def first_trouble(self) -> int | None:
        """Index of the step that a person wants to see first: the one that broke the waterfall, as far as one did."""
        from vakra_tui.state.diagnosis import diagnose

        if self.verdict is None or self.verdict.passed or not self.rows:
            return None
        found = diagnose(self)
        return found.step if found is not None and found.step is not None else max(self.executed - 1, 0)

    @property
    def executed(self) -> int:
        """Number of rows that were executed: they come first, those of the recording that are to come after them."""
        return bisect_left(self.rows, True, key=_is_to_come)


def _is_to_come(row: StepRow) -> bool:
    return row.step is None


def columns_of(scene: Scene) -> dict[str, tuple[str, ...]]:
    """Handle -> the names of its columns, as the peeks of this trajectory showed them."""
    found: dict[str, tuple[str, ...]] = {}
    for row in scene.rows:
        result = row.step.result if row.step is not None else None
        if result is None or not result.handle:
            continue
        if row.table is not None:
            found[result.handle] = tuple(column.name for column in row.table.columns)
    return found


def gold_sql(instance: Instance) -> tuple[str, ...]:
    """The gold queries of an instance, where its dataset has them: for people to read, never for a verdict."""
    told = instance.author_keys.get("gold_sql")
    if isinstance(told, str):
        return (told,)
    return tuple(part for part in told if isinstance(part, str)) if isinstance(told, list) else ()
