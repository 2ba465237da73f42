"""What a judge of a gate is shown and what it said: read back where it was kept, else made as it would be asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from eval.model import DecidedBy, Gate, Verdict
from toolenv.model import Value

if TYPE_CHECKING:
    from eval.case import Case
    from eval.judge import Judge
    from eval.judges.cache import KeptRuling

QUESTION_CHARACTERS = 200_000
"""Characters of material in a question that is made to be read by a person; longer texts lose their middle."""


class Asked(Value, frozen=True):
    """The question of one gate. ``replies`` are a model's words, none where no model was asked or nothing was kept.

    ``decided_by`` is who ruled in the end; ``about`` are figures of the requests (model, tokens, cost) in words.
    """

    gate: Gate
    decided_by: DecidedBy | None
    messages: tuple[Mapping[str, str], ...]
    replies: tuple[str, ...] = ()
    about: tuple[str, ...] = ()


def judged_gates(verdict: Verdict) -> dict[Gate, DecidedBy | None]:
    """The gates about which a judge was asked, or would have been: all that were reached and no program ruled."""
    found: dict[Gate, DecidedBy | None] = {}
    for stage in verdict.stages:
        if stage.stage == "final_response":
            for gate, ruling in (stage.rulings or {}).items():
                if ruling is not None:
                    found[gate] = ruling.decided_by  # type: ignore[index]
        elif stage.outcome != "skipped" and stage.decided_by != "program":
            found[stage.stage] = stage.decided_by
    return found


async def asked_of(case: Case, judge: Judge, verdict: Verdict) -> tuple[Asked, ...]:
    """What a judge saw and said of every gate that it was asked about, in the order of the gates."""
    from eval.judges.human import HumanRulings

    if isinstance(judge, HumanRulings):
        judge = judge.inner
    inspect = getattr(judge, "inspect", None)
    found = []
    for gate, decided_by in judged_gates(verdict).items():
        kept: KeptRuling | None = await inspect(gate, case) if inspect is not None else None
        found.append(_kept(gate, decided_by, kept) if kept is not None else _made(gate, decided_by, case))
    return tuple(found)


def _kept(gate: Gate, decided_by: DecidedBy | None, kept: KeptRuling) -> Asked:
    return Asked(
        gate=gate, decided_by=decided_by, messages=kept.messages, replies=kept.replies, about=tuple(_about(kept))
    )


def _made(gate: Gate, decided_by: DecidedBy | None, case: Case) -> Asked:
    from eval.judges.questions import question

    return Asked(gate=gate, decided_by=decided_by, messages=question(gate, case, QUESTION_CHARACTERS).messages)


def _about(kept: KeptRuling) -> list[str]:
    parameters: Mapping[str, Any] = kept.parameters
    words = [f"model {kept.model}" if kept.model else "a model that gave no name"]
    words += [
        f"{name} {value}" for name, value in parameters.items() if name != "response_format" and value is not None
    ]
    estimated = " (estimated)" if kept.estimated else ""
    words.append(f"{kept.input_tokens:,} tokens in, {kept.output_tokens:,} out{estimated}")
    if kept.cost is not None:
        words.append(f"{kept.cost:.4f} USD")
    if kept.attempts > 1:
        words.append(f"{kept.attempts} requests")
    if kept.dropped:
        words.append(f"the endpoint does not take {', '.join(kept.dropped)}")
    words += [f"{cut.kept} of {cut.of} characters of {cut.section} were shown" for cut in kept.cuts]
    return words
