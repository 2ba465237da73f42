"""Which optional parameters an endpoint takes, found out by one probe and by what it refuses later."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from toolenv.openai_compat.faults import ProviderError
from toolenv.openai_compat.settings import Dialect

LIMIT_NAMES = ("max_tokens", "max_completion_tokens")
OPTIONAL = (
    "stream_options",
    "parallel_tool_calls",
    "response_format",
    "seed",
    "temperature",
    "top_p",
    "reasoning_effort",
    *LIMIT_NAMES,
)
"""Parameters without which a request still means the same; in the order in which they are given up blindly."""

_WORDS: Mapping[str, re.Pattern[str]] = {
    "stream_options": re.compile(r"stream[ _-]?options|include_usage", re.I),
    "response_format": re.compile(r"response[ _-]?format|json[ _-]?(object|mode|schema)|structured output", re.I),
    "parallel_tool_calls": re.compile(r"parallel[ _-]?tool", re.I),
    "seed": re.compile(r"\bseed\b", re.I),
    "temperature": re.compile(r"\btemperature\b", re.I),
    "top_p": re.compile(r"\btop_p\b", re.I),
    "reasoning_effort": re.compile(r"reasoning[ _-]?effort", re.I),
    "max_tokens": re.compile(r"\bmax_tokens\b", re.I),
    "max_completion_tokens": re.compile(r"\bmax_completion_tokens\b", re.I),
}


SYSTEM_ROLE = "system role"
_NO_SYSTEM_ROLE = re.compile(r"system[ '\"_-]{0,3}(role|message|prompt|instruction)|role[ '\":=]{0,4}system", re.I)


class Negotiation:
    """The parameters that an endpoint was found to refuse, and the name under which it takes a limit on tokens.

    ``dialect`` is the one it was given, changed where the endpoint refused a role for instructions.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self._limit: str = "max_tokens" if dialect.token_limit == "auto" else dialect.token_limit
        self._switched = False
        self._dropped: dict[str, str] = {}

    @property
    def dropped(self) -> Mapping[str, str]:
        """Parameter -> the endpoint's words when it refused it, by name."""
        return dict(sorted(self._dropped.items()))

    def shape(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters as this endpoint takes them; ``max_tokens`` goes under the endpoint's own name for it."""
        shaped = {}
        for name, value in parameters.items():
            if name == "max_tokens":
                name = self._limit
            if value is not None and name != "none" and name not in self._dropped and name not in self.dialect.omit:
                shaped[name] = value
        return shaped

    def named(self, error: ProviderError, sent: Mapping[str, Any]) -> str | None:
        """The optional parameter among ``sent`` that a refusal speaks of, or None."""
        if error.kind != "refused" or error.status in (401, 403):
            return None
        present = [name for name in OPTIONAL if name in sent]
        if error.param is not None:
            root = error.param.split(".")[0]
            if root in present:
                return root
        return next((name for name in present if _WORDS[name].search(error.message)), None)

    def refuses_system_role(self, error: ProviderError, messages: Sequence[Mapping[str, Any]]) -> bool:
        """Whether a refusal is about a role for instructions that was used; they then go to the user message."""
        if error.kind != "refused" or self.dialect.system_role == "user":
            return False
        if not any(message.get("role") == "system" for message in messages):
            return False
        if not _NO_SYSTEM_ROLE.search(error.message):
            return False
        self.dialect = msgspec.structs.replace(self.dialect, system_role="user")
        self.drop(SYSTEM_ROLE, error.message)
        return True

    def give_up(self, name: str, words: str) -> None:
        """Stop sending a parameter; a limit on tokens is first tried under its other name."""
        if name in LIMIT_NAMES and name != self._limit:
            return
        if name in LIMIT_NAMES and self.dialect.token_limit == "auto" and not self._switched:
            self._switched = True
            self._limit = LIMIT_NAMES[1 - LIMIT_NAMES.index(name)]
            return
        self.drop(name, words)

    def drop(self, name: str, words: str) -> None:
        """Never send a parameter again, under no name."""
        self._dropped.setdefault(name, words)
