"""Tool-use policies (``additional_instructions``): what a text forbids, whether it applies, and who breaks it.

The kinds of text, the topic groups and the sources of tools are those of the policies contract. A text, or a part of
one, that is none of the known kinds is kept in ``Policy.unrecognised`` and never guessed at.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal

from toolenv.domains import topic_groups, topic_of
from toolenv.model import Instance, Json, Source, ToolCall, Value

PolicyKind = Literal["none", "only_documents", "no_documents", "documents_first", "other_first", "unknown"]
Applicability = Literal["applies", "does_not_apply", "unknown", "none"]


class Policy(Value, frozen=True):
    """A policy text, understood.

    ``topics`` are known topic groups; ``unknown_topics`` are names in the text that no table knows. ``refusal`` is the
    wording to decline with, where the text gives one. ``unrecognised`` holds words that are none of the known kinds.
    """

    text: str
    kind: PolicyKind = "none"
    scoped: bool = False
    topics: tuple[str, ...] = ()
    unknown_topics: tuple[str, ...] = ()
    refusal: str | None = None
    unrecognised: str = ""

    @property
    def forbidden(self) -> Source | None:
        """The source that the policy forbids where it applies; None where it forbids none outright."""
        return _FORBIDDEN.get(self.kind)

    @property
    def preferred(self) -> Source | None:
        """The source that the first call must be of where the policy applies; None where any will do."""
        return _PREFERRED.get(self.kind)


_FORBIDDEN: Final[dict[str, Source]] = {"only_documents": "API", "no_documents": "RAG"}
_PREFERRED: Final[dict[str, Source]] = {"documents_first": "RAG", "other_first": "API"}
_SOURCE_NAMES: Final[dict[Source, str]] = {"API": "an API call", "RAG": "a document retriever", "neutral": "neutral"}
_LONGEST_TEXT: Final = 10_000
_NEUTRAL: Final = frozenset({"get_data", "initialize_active_data"})

_RETRIEVER = r"(?:documents?\s+)?retr(?:ie|ei|i)vers?"
_TOPIC_SCOPE = re.compile(r"\b(?:pertain(?:s|ing)?|relat(?:es|ed|ing))\s+to\b", re.IGNORECASE)
_SHORT_FORM = re.compile(rf"only\s+use\s+{_RETRIEVER}\s+for\s+(?P<topics>.+?)\s+(?:-\s*)?related\s+questions?\.?", re.I)
_RULE_START = re.compile(
    r"(?:[,;:.]\s*|\bthen\b\s*|(?=\s(?:please\s+)?make\s+sure\b)\s)(?:please\s+|then\s+)*"
    r"(?:make\s+sure|be\s+sure|ensure|first\b|only\s+(?:use|using|by)|(?:do\s+not|don't|never)\s+use|try\b|answer\b|use\b"
    r"|you\s+(?:should|must|may|can|are|have)\b)",
    re.IGNORECASE,
)
_ANY_OF = re.compile(
    r"\s*(?:(?:any|one|either)\s+of\s+)?(?:the\s+(?:following\s+)?topics?\b\s*:?\s*(?:of\s+)?)?", re.IGNORECASE
)
_ABOUT = re.compile(r"\s*,?\s*\b(?:which|that)\s+(?:is\s*/\s*are|is|are)\s+about\b", re.IGNORECASE)
_JOINER = re.compile(r"(?:\s*(?:[,;/]|\band\b|\bor\b))+\s*", re.IGNORECASE)
_CONDITIONAL = re.compile(
    r"\s*(?:if|when|whenever|for|in\s+case)\b(?!\s+(?:you\s+)?(?:answer|respond|reply)(?:ing)?\b)", re.IGNORECASE
)

_NO_RETRIEVER = re.compile(
    r"\b(?:do\s+not|don't|never|avoid|without|not\s+(?:allowed|permitted)\s+to)\s+"
    rf"(?:use|using|invoke|invoking|call|calling)\s+(?:the\s+|any\s+)?{_RETRIEVER}",
    re.IGNORECASE,
)
_USE_RETRIEVER = re.compile(rf"\b(?:use|using|with|through)\s+(?:only\s+|the\s+|any\s+)?{_RETRIEVER}", re.IGNORECASE)
_ONLY_RETRIEVER = re.compile(
    rf"\bonly\s+(?:by\s+)?(?:use|using|with|through)\s+(?:the\s+)?{_RETRIEVER}"
    rf"|\b(?:use|using)\s+only\s+(?:the\s+)?{_RETRIEVER}",
    re.IGNORECASE,
)
_NO_OTHER = re.compile(
    r"\b(?:do\s+not|don't|never)\s+use\s+(?:any\s+)?other\s+(?:types?|kinds?)\s+of\s+tools?", re.IGNORECASE
)
_USE_OTHER = re.compile(r"\buse\s+(?:only\s+)?other\s+(?:types?|kinds?)\s+of\s+tools?", re.IGNORECASE)
_FIRST = re.compile(r"\bfirst\b", re.IGNORECASE)
_FALL_BACK = re.compile(
    r"\s*(?:(?:only\s+)?if\b.{0,120}?(?:not|cannot|can't|fails?|unsuccessful|otherwise).{0,60}?,?\s*)?(?:otherwise|only\s+then|then)?,?\s*"
    r"(?:you\s+(?:may|can|should)\s+)?(?:then\s+)?(?:use|try|using)\s.{0,120}",
    re.IGNORECASE | re.DOTALL,
)
_REFUSAL_CLAUSE = re.compile(
    r"\bif\b[^.]{0,160}?(?:\bnot\b|n't|\bcannot\b|\bunable\b|\binsufficient\b|\black)[^.'\"\n]{0,160}?"
    r"\b(?:(?:respond|reply|answer|say|return)\s*(?:with|by\s+saying|:)?\s*[:,]?\s*(?:'(?P<single>.+)'|\"(?P<double>.+)\")"
    r"|(?:(?:respond|reply|answer)\s+with|say)\s*[:,]?\s*(?P<bare>[^'\"\s].*?))\s*\.?\s*$",
    re.IGNORECASE | re.DOTALL,
)


def _plain(text: str) -> str:
    """NFKC, straight quotes, white space folded; the letters keep their case."""
    folded = unicodedata.normalize("NFKC", text)
    for curly, straight in (("\u2018", "'"), ("\u2019", "'"), ("\u201c", '"'), ("\u201d", '"')):
        folded = folded.replace(curly, straight)
    return " ".join(folded.split())


def parse(text: str, topics: Mapping[str, str] | None = None) -> Policy:
    """Understand a policy text. Never raises: what it does not know is reported in the result.

    ``topics`` is a dataset's own table (domain -> topic group), known in addition to the published one.
    """
    return _parse(text, tuple(sorted(set(topics.values()))) if topics else ())


def policy_of(instance: Instance) -> Policy:
    """The policy of an instance, its dataset's own topic groups included."""
    return parse(instance.policy, instance.topics)


def applicability_of(instance: Instance) -> Applicability:
    """Whether an instance's policy applies to it, its dataset's own topic groups included."""
    return applicability(policy_of(instance), instance.domain, instance.topics)


@lru_cache(maxsize=4096)
def _parse(text: str, own_topics: tuple[str, ...]) -> Policy:
    if len(text) > _LONGEST_TEXT:
        return Policy(text=text, kind="unknown", unrecognised=text)
    rest = _plain(text)
    refusal: str | None = None
    clause = _REFUSAL_CLAUSE.search(rest)
    if clause is not None:
        refusal = next((found for found in clause.groups() if found), "").strip() or None
        rest = rest[: clause.start()].strip()
    if not rest:
        return Policy(text=text, refusal=refusal)

    short = _SHORT_FORM.match(rest)
    if short is not None:
        known, unknown = _topic_list(short["topics"], own_topics)
        return Policy(
            text=text,
            kind="only_documents",
            scoped=True,
            topics=known,
            unknown_topics=unknown,
            refusal=refusal,
            unrecognised=rest[short.end() :].strip(),
        )

    scope = _TOPIC_SCOPE.search(rest)
    if scope is None:
        if _CONDITIONAL.match(rest):
            return Policy(text=text, kind="unknown", refusal=refusal, unrecognised=rest)
        kind, leftover = _rule(rest)
        return Policy(text=text, kind=kind, refusal=refusal, unrecognised=leftover)

    scoped = rest[scope.end() :]
    start = _rule_start(scoped)
    if start is None:
        return Policy(text=text, kind="unknown", refusal=refusal, unrecognised=rest)
    known, unknown = _described_topics(scoped[:start], own_topics)
    kind, leftover = _rule(scoped[start:].lstrip(" ,;:."))
    return Policy(
        text=text,
        kind=kind,
        scoped=True,
        topics=known,
        unknown_topics=unknown,
        refusal=refusal,
        unrecognised=leftover,
    )


def applicability(policy: Policy, domain: str, topics: Mapping[str, str] | None = None) -> Applicability:
    """Whether a policy applies to an instance of this domain; unknown where a name or a domain is in no table.

    ``topics`` is a dataset's own table, which goes before the published one.
    """
    if policy.kind == "none":
        return "none"
    if policy.kind == "unknown":
        return "unknown"
    if not policy.scoped:
        return "applies"
    topic = (topics or {}).get(domain) or topic_of(domain)
    if topic is None:
        return "unknown"
    if topic in policy.topics:
        return "applies"
    return "unknown" if policy.unknown_topics or not policy.topics else "does_not_apply"


def violation(policy: Policy, applies: Applicability, history: Sequence[ToolCall], next_call: ToolCall) -> str | None:
    """Why the next call breaks the policy, or None where it does not.

    ``history`` are the earlier calls of the same turn, failed ones included. ``applies`` is the applicability, a judged
    one where there is one. With ``unknown`` the answer is what the call would break if the policy applied: the caller
    says "unknown" then, and not "violation". A policy of unknown kind may forbid any call that is not neutral.
    """
    if applies in ("none", "does_not_apply"):
        return None
    source = source_of(next_call.name)
    if source == "neutral":
        return None
    if policy.kind == "unknown":
        return f"the policy is none of the known kinds, so it may forbid {next_call.name}"
    if policy.forbidden is not None and source == policy.forbidden:
        allowed = "document retrievers only" if policy.kind == "only_documents" else "no document retrievers"
        return f"the policy allows {allowed}, and {next_call.name} is {_SOURCE_NAMES[source]}"
    first = all(source_of(call.name) == "neutral" for call in history)
    if policy.preferred is not None and first and source != policy.preferred:
        wanted = "a document retriever" if policy.preferred == "RAG" else "a tool that is no document retriever"
        return f"the policy asks for {wanted} first, and the first call, {next_call.name}, is {_SOURCE_NAMES[source]}"
    return None


def source_of(tool_name: str) -> Source:
    """The source of a tool by its name; a registry's prefix (``task_<n>_<domain>_``) changes nothing."""
    name = tool_name.strip()
    if name in _NEUTRAL:
        return "neutral"
    if name.startswith(("query_", "retriever_clapnq_")):
        return "RAG"
    if re.match(r"task_\d+_", name):
        if re.search(r"_(?:query|retriever_clapnq)_", name):
            return "RAG"
        if name.endswith("_get_data"):
            return "neutral"
    return "API"


# --- refusals --------------------------------------------------------------------------------------------------------

_ABLE = r"(?:can\s*not|can't|unable\s+to|not\s+able\s+to|could\s*not|couldn't)"
_REFUSAL = re.compile(
    rf"\b{_ABLE}\b[^.!?;\n]{{0,60}}?\b(?:answer|determin|find|found|provid)\w*"
    r"|\bno\s+answer\s+(?:can\b|is\b|available\b|could\b)"
    r"|\b(?:do\s+not|don't)\s+know\b"
    r"|\b(?:do\s+not|don't|did\s+not|didn't|does\s+not|doesn't)\s+have\s+(?:enough|sufficient)\b"
    r"|\binsufficient\s+information\b",
    re.IGNORECASE,
)


def refusal_phrase(text: str) -> str | None:
    """The words by which a text declines to answer, or None where it does not decline."""
    found = _REFUSAL.search(_plain(text))
    return found.group() if found else None


def is_refusal(answer: Json) -> bool:
    """Whether an answer declines: a text that does, or a list or an object whose only value is such a text."""
    while isinstance(answer, list | dict) and len(answer) == 1:
        answer = answer[0] if isinstance(answer, list) else next(iter(answer.values()))
    return isinstance(answer, str) and refusal_phrase(answer) is not None


# --- the parts of a text ---------------------------------------------------------------------------------------------


def _rule_start(scoped: str) -> int | None:
    """Where the rule begins after the topics: the first clause that tells what to do and speaks of retrievers."""
    for found in _RULE_START.finditer(scoped):
        if re.search(_RETRIEVER, scoped[found.start() :], re.IGNORECASE):
            return found.start()
    return None


def _rule(rule: str) -> tuple[PolicyKind, str]:
    """The kind of a rule, and the sentences of it that are none of the known wordings."""
    forbids = _NO_RETRIEVER.search(rule) is not None
    only = _ONLY_RETRIEVER.search(rule) is not None
    others_forbidden = _NO_OTHER.search(rule) is not None
    uses = _USE_RETRIEVER.search(_NO_RETRIEVER.sub("", rule)) is not None
    sentences = [sentence for sentence in re.split(r"(?<=[.!])\s+", rule) if sentence.strip(" .")]
    kind: PolicyKind
    if _FIRST.search(sentences[0] if sentences else ""):
        lead = sentences[0]
        if _NO_RETRIEVER.search(lead):
            kind = "other_first"
        elif _USE_RETRIEVER.search(lead):
            kind = "documents_first"
        else:
            return "unknown", rule
        left = [s for s in sentences[1:] if not _FALL_BACK.fullmatch(s) and not _USE_OTHER.search(s)]
        return kind, " ".join(left)
    if forbids and not only and not others_forbidden:
        kind = "no_documents"
    elif (only or (uses and others_forbidden)) and not forbids:
        kind = "only_documents"
    else:
        return "unknown", rule
    known = (_NO_RETRIEVER, _ONLY_RETRIEVER, _USE_RETRIEVER, _NO_OTHER, _USE_OTHER)
    return kind, " ".join(s for s in sentences if not any(pattern.search(s) for pattern in known))


@lru_cache(maxsize=64)
def _topic_names(own_topics: tuple[str, ...]) -> tuple[tuple[re.Pattern[str], str], ...]:
    """A pattern for each known topic group, longest first; ``&`` may be written ``and``."""
    patterns = []
    for name in sorted({*topic_groups(), *own_topics}, key=lambda name: (-len(name), name)):
        words = [r"(?:&|and)" if word == "&" else re.escape(word) for word in name.split()]
        patterns.append((re.compile(r"\s+".join(words) + r"(?!\w)", re.IGNORECASE), name))
    return tuple(patterns)


def _topic_list(text: str, own_topics: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(known, unknown) topic groups of a list of names; the longest known names are tried first."""
    known: list[str] = []
    unknown: list[str] = []
    position = 0
    pending = ""
    lead = _ANY_OF.match(text)
    text = text[lead.end() if lead else 0 :].strip(" ,;.'\"")
    while position < len(text):
        match = None
        if position == 0 or not (text[position - 1].isalnum() and text[position].isalnum()):
            match = next(
                ((p, n) for p, n in ((p.match(text, position), n) for p, n in _topic_names(own_topics)) if p), None
            )
        joiner = _JOINER.match(text, position)
        if match is not None:
            found, name = match
            known.append(name)
            position = found.end()
        elif joiner is not None and joiner.end() > position and joiner.group().strip():
            pending += joiner.group()
            position = joiner.end()
            continue
        else:
            pending += text[position]
            position += 1
            continue
        _keep_unknown(pending, unknown)
        pending = ""
    _keep_unknown(pending, unknown)
    return tuple(dict.fromkeys(known)), tuple(dict.fromkeys(unknown))


def _keep_unknown(words: str, unknown: list[str]) -> None:
    cleaned = _JOINER.sub(lambda joiner: joiner.group(), words).strip(" ,;/.'\"")
    cleaned = re.sub(r"^(?:and|or)\b\s*|\s*\b(?:and|or)$", "", cleaned, flags=re.IGNORECASE).strip(" ,;/")
    if cleaned:
        unknown.append(cleaned)


def _described_topics(text: str, own_topics: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(known, unknown) topic groups of "<group>, which is/are about <description>", several joined or one.

    A description is not searched for names but for its end: what stands before the next "which is/are about".
    """
    parts = _ABOUT.split(text)
    known, unknown = (list(names) for names in _topic_list(parts[0], own_topics))
    for part in parts[1:-1]:
        for pattern, name in _topic_names(own_topics):
            if re.search(rf"(?<!\w){pattern.pattern}\s*$", part, re.IGNORECASE):
                known.append(name)
                break
        else:
            unknown.append(re.split(r"[,;.]\s*(?:and|or)\s+|\s+(?:and|or)\s+|[;,]\s*", part.strip(" ,;."))[-1])
    return tuple(dict.fromkeys(known)), tuple(dict.fromkeys(unknown))
