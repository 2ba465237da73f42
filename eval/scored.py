"""A verdict with what the report groups it by: the form in which results are stored, resumed and sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from eval.model import Ruling, StageResult, Verdict
from toolenv.errors import DataError
from toolenv.model import Instance, Value
from toolenv.policy import source_of

if TYPE_CHECKING:
    from toolenv.dataset import Dataset, InstanceRef

SLICES = ("hop_pattern", "hops", "source", "policy", "effect", "style", "domain", "model")
"""The slices of the report, in its order."""

GATES = ("policy", "tool_sequence", "consistent", "grounded")
"""The gates of the report, in its order."""


class Scored(Value, frozen=True):
    """One line of a report.

    ``weight`` is 2 for a multi-source instance of capability 4, else 1. ``slices`` maps a slice to the group that the
    instance belongs to; a slice that says nothing about it is left out.
    """

    verdict: Verdict
    weight: int = 1
    slices: Mapping[str, str] = {}


_ENCODER = msgspec.json.Encoder()
_ORDERED = msgspec.json.Encoder(order="sorted")
_DECODER = msgspec.json.Decoder(Scored)


def encode(scored: Scored) -> bytes:
    return encoded(scored)


def encoded(value: Any, *, ordered: bool = False) -> bytes:
    """Strict JSON in UTF-8: NaN and infinities become null, halves of surrogate pairs the replacement character.

    ``ordered``: the keys of objects and structs in order, for a digest.
    """
    encoder = _ORDERED if ordered else _ENCODER
    try:
        return encoder.encode(value)
    except UnicodeEncodeError:
        return encoder.encode(_without_surrogates(msgspec.to_builtins(value)))


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(item) for item in value]
    return value


def decode(payload: bytes) -> Scored:
    """Raises ``msgspec.DecodeError`` for what ``encode`` did not write."""
    return _DECODER.decode(payload)


def gate_rulings(verdict: Verdict) -> dict[str, Ruling]:
    """The rulings of a verdict by gate, skipped ones included; stages that a verdict does not have are left out."""
    rulings: dict[str, Ruling] = {}
    for stage in verdict.stages:
        if stage.stage == "final_response":
            for gate, ruling in (stage.rulings or {}).items():
                if ruling is not None:
                    rulings[gate] = ruling
        else:
            rulings[stage.stage] = _as_ruling(stage)
    return rulings


def _as_ruling(stage: StageResult) -> Ruling:
    return Ruling(outcome=stage.outcome, decided_by=stage.decided_by, reason=stage.reason, evidence=stage.evidence)


def truth_sources(instance: Instance) -> frozenset[str]:
    """The sources (API, RAG) that the ground truth's last turn calls; neutral calls count for nothing."""
    if instance.ground_truth is None or not instance.ground_truth.turns:
        return frozenset()
    sources = (source_of(call.name) for call in instance.ground_truth.evaluated.calls)
    return frozenset(source for source in sources if source != "neutral")


def weight_of(instance: Instance) -> int:
    """2 for a multi-source instance of capability 4 (contract, "Scores"), else 1."""
    return 2 if instance.capability == 4 and truth_sources(instance) >= {"API", "RAG"} else 1


def slices_of(instance: Instance, *, style: str | None = None, model: str | None = None) -> dict[str, str]:
    """The group of an instance in every slice that applies to it.

    Author keys (``hop_pattern``, ``hops``, ``policy``) are read here and nowhere near a verdict; where a dataset does
    not have them, the number of hops is that of the ground truth's own calls and the rest is left out. ``style`` is
    the tool style of a capability-1 universe, ``model`` the model that produced the run where it is known.
    """
    keys = instance.author_keys
    sources = truth_sources(instance)
    pattern = _text(keys.get("hop_pattern")) or _pattern_of(keys.get("hops"))
    policy = keys.get("policy")
    policy_keys: Mapping[str, Any] = policy if isinstance(policy, Mapping) else {}
    groups = {
        "hop_pattern": pattern,
        "hops": _hop_count(instance, pattern),
        "source": "+".join(sorted(sources)) or ("none" if instance.ground_truth is not None else None),
        "policy": _text(policy_keys.get("kind")) or ("other" if instance.policy.strip() else "none"),
        "effect": _text(policy_keys.get("effect")),
        "style": style,
        "domain": instance.domain,
        "model": model,
    }
    return {name: group for name, group in groups.items() if group}


class Grouping(Value, frozen=True):
    """What a report counts an instance by: its weight, and the group that it belongs to in every slice."""

    weight: int = 1
    slices: Mapping[str, str] = {}


def grouping(
    ref: InstanceRef, dataset: Dataset, load: Callable[[InstanceRef], Instance], model: str | None = None
) -> Grouping:
    """The grouping of an instance; ``load`` decodes its record, ``model`` made the run, where that is known."""
    try:
        instance = load(ref)
        universe = dataset.universe(instance.uuid) if instance.capability == 1 else None
    except DataError:
        # A verdict says what is wrong with the record; it belongs to no slice but its domain.
        return Grouping(slices={"domain": ref.domain})
    style = universe.style if universe is not None else None
    return Grouping(weight=weight_of(instance), slices=slices_of(instance, style=style, model=model))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _pattern_of(hops: Any) -> str | None:
    if not isinstance(hops, list) or not all(isinstance(hop, Mapping) and _text(hop.get("source")) for hop in hops):
        return None
    return "-".join(hop["source"] for hop in hops) or None


def _hop_count(instance: Instance, pattern: str | None) -> str | None:
    if pattern is not None:
        return "0" if pattern.upper() == "NONE" else str(pattern.count("-") + 1)
    if instance.ground_truth is None or not instance.ground_truth.turns:
        return None
    return str(sum(source_of(call.name) != "neutral" for call in instance.ground_truth.evaluated.calls))
