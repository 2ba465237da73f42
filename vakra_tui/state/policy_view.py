"""The policy of an instance as the banner shows it, and which steps break it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from toolenv import policy as policies
from toolenv.domains import topic_of
from toolenv.model import Instance, ToolCall
from vakra_tui.state.scene import PolicyView

_KIND_WORDS = {
    "none": "only a refusal wording",
    "only_documents": "documents only",
    "no_documents": "no documents",
    "documents_first": "documents first",
    "other_first": "other tools first",
    "unknown": "not understood",
}


def policy_view(instance: Instance, applicability: policies.Applicability) -> PolicyView:
    """The banner of an instance's policy; ``applicability`` is that of its domain, or what somebody ruled."""
    if not instance.policy.strip():
        return PolicyView()
    policy = policies.policy_of(instance)
    return PolicyView(
        text=instance.policy,
        kind=_KIND_WORDS.get(policy.kind, policy.kind),
        topics=(*policy.topics, *policy.unknown_topics),
        applicability=applicability,
        why=_why(policy, instance, applicability),
        api=_state("API", policy, applicability),
        rag=_state("RAG", policy, applicability),
        refusal=policy.refusal or "",
        first=policy.preferred or "" if applicability == "applies" else "",
    )


def _why(policy: policies.Policy, instance: Instance, applicability: str) -> str:
    domain = instance.domain
    if policy.kind == "unknown":
        return "the text is none of the known kinds"
    if policy.kind == "none":
        return ""
    if not policy.scoped:
        return "it holds for every question"
    if policy.unknown_topics and applicability == "unknown":
        return f"no table knows the topic {policy.unknown_topics[0]!r}"
    if applicability == "unknown":
        return f"no table knows the topic of the domain {domain}"
    group = instance.topics.get(domain) or topic_of(domain)
    return f"the topic of {domain} is {group}" if group else ""


def _state(source: str, policy: policies.Policy, applicability: str) -> Literal["allowed", "forbidden", "unknown"]:
    if policy.kind == "unknown":
        return "unknown"
    if policy.forbidden != source or applicability in ("does_not_apply", "none"):
        return "allowed"
    return "forbidden" if applicability == "applies" else "unknown"


def violations(
    instance: Instance, applicability: policies.Applicability, calls: Sequence[tuple[int, ToolCall]]
) -> Mapping[int, str]:
    """Call number -> why that call breaks the policy; empty where it does not apply or is not known to."""
    found: dict[int, str] = {}
    if applicability != "applies":
        return found
    policy = policies.policy_of(instance)
    history: list[ToolCall] = []
    for number, call in calls:
        reason = policies.violation(policy, applicability, history, call)
        if reason:
            found[number] = reason
        history.append(call)
    return found
