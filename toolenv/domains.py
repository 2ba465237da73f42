"""Public facts about the benchmark's domains: their topic groups, and the domains whose documents are easily confused.

The facts are in ``domains.json`` beside this module: ``topics`` (topic group -> domains) and ``confusable``
(domain -> the other domains whose document collections are offered together with its own).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def _facts() -> Mapping[str, Mapping[str, list[str]]]:
    facts: Mapping[str, Mapping[str, list[str]]] = json.loads(
        files("toolenv").joinpath("domains.json").read_text(encoding="utf-8")
    )
    return facts


@cache
def _topic_by_domain() -> Mapping[str, str]:
    return {domain: topic for topic, domains in _facts()["topics"].items() for domain in domains}


@cache
def topic_groups() -> tuple[str, ...]:
    """The names of all known topic groups, longest first (names contain commas, so the longest must be tried first)."""
    return tuple(sorted(_facts()["topics"], key=lambda name: (-len(name), name)))


def topic_of(domain: str) -> str | None:
    """The topic group that a domain belongs to, or None for a domain that is not in the published table."""
    return _topic_by_domain().get(domain)


def confusable_with(domain: str) -> tuple[str, ...]:
    """The other domains whose documents are offered beside this domain's; empty for an unknown domain."""
    return tuple(_facts()["confusable"].get(domain, ()))
