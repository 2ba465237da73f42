"""Which single replacements a search tries, in which order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eval.repair.line import Place
from eval.repair.model import Replacement
from eval.repair.sides import Sides
from toolenv import policy as policies
from toolenv.model import Instance, ToolCall

_ORDER = {"arguments": 0, "call": 1, "insert": 2, "remove": 3, "answer": 4}


@dataclass(frozen=True)
class Candidate:
    """A replacement and the plan that it makes of the prediction."""

    replacement: Replacement
    plan: tuple[Place, ...]

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """Earliest first, then smallest; a fixed order of kinds makes the search deterministic."""
        one = self.replacement
        return (one.step, one.size, _ORDER[one.kind], one.hop)


def own_plan(sides: Sides) -> tuple[Place, ...]:
    """The prediction's own calls."""
    return tuple(Place("predicted", called.number) for called in sides.predicted)


def candidates(sides: Sides, forbidden: Sequence[int]) -> list[Candidate]:
    """All single replacements of calls in the order in which they are tried.

    At most three for each call of the ground truth (its arguments or itself in place of the call that stands for it,
    or put in before that one), and for each call that the policy forbids one that leaves it out and one for each
    ground-truth call that nothing stands for.
    """
    return sorted(_candidates(sides, forbidden), key=lambda candidate: candidate.rank)


def _candidates(sides: Sides, forbidden: Sequence[int]) -> Iterator[Candidate]:
    plan = own_plan(sides)
    standing = sides.standing_for
    before = 0
    for hop in range(1, len(sides.truth) + 1):
        step = standing.get(hop)
        if step is None:
            yield _insert(sides, plan, before + 1, hop)
            continue
        names = sides.differing(step, hop)
        same_tool = sides.predicted[step - 1].call.name == sides.truth[hop - 1].call.name
        if names or not same_tool:
            yield _exchange(sides, plan, step, hop, names, same_tool)
            yield _insert(sides, plan, step, hop)
        before = step
    unmet = [hop for hop in range(1, len(sides.truth) + 1) if hop not in standing]
    for step in forbidden:
        tool = sides.predicted[step - 1].call
        removal = Replacement(kind="remove", step=step, hop=0, tool=tool.name, before=tool)
        yield Candidate(removal, (*plan[: step - 1], *plan[step:]))
        for hop in unmet:
            yield _exchange(sides, plan, step, hop, (), same_tool=False)


def _exchange(
    sides: Sides, plan: tuple[Place, ...], step: int, hop: int, names: tuple[str, ...], same_tool: bool
) -> Candidate:
    predicted, truth = sides.predicted[step - 1].call, sides.truth[hop - 1].call
    replacement = Replacement(
        kind="arguments" if same_tool else "call",
        step=step,
        hop=hop,
        tool=predicted.name,
        before=predicted,
        after=truth,
        arguments=names,
        size=max(1, len(names)) if same_tool else 1 + len(truth.arguments),
    )
    return Candidate(replacement, (*plan[: step - 1], Place("truth", hop, instead=step), *plan[step:]))


def _insert(sides: Sides, plan: tuple[Place, ...], step: int, hop: int) -> Candidate:
    truth = sides.truth[hop - 1].call
    replacement = Replacement(
        kind="insert", step=step, hop=hop, tool=truth.name, after=truth, size=2 + len(truth.arguments)
    )
    return Candidate(replacement, (*plan[: step - 1], Place("truth", hop), *plan[step - 1 :]))


def prefix_plan(sides: Sides, hops: int) -> tuple[Place, ...]:
    """The first calls of the ground truth, then the prediction's own from behind the last call that stands for one."""
    cut = max((step for step, hop in sides.pairs.items() if hop <= hops), default=0)
    own = own_plan(sides)
    return (*(Place("truth", hop) for hop in range(1, hops + 1)), *own[cut:])


def first_difference(sides: Sides) -> tuple[int, str]:
    """Step and tool where the prediction first leaves the ground truth's path."""
    standing = sides.standing_for
    before = 0
    for hop in range(1, len(sides.truth) + 1):
        step = standing.get(hop)
        truth = sides.truth[hop - 1].call
        if step is None:
            return before + 1, truth.name
        if sides.predicted[step - 1].call.name != truth.name or sides.differing(step, hop):
            return step, sides.predicted[step - 1].call.name
        before = step
    return len(sides.predicted) + 1, ""


def forbidden_steps(instance: Instance, calls: Sequence[ToolCall]) -> list[int]:
    """Numbers (from 1) of the calls that break the instance's policy."""
    policy = policies.policy_of(instance)
    applies = policies.applicability_of(instance)
    if applies in ("none", "does_not_apply"):
        return []
    return [
        number
        for number, call in enumerate(calls, start=1)
        if policies.violation(policy, applies, calls[: number - 1], call) is not None
    ]
