"""Telling from a response's text and flag whether a call failed (contract, sections 1.5 and 2).

Needed wherever only text and flag are known: recordings, remote servers, responses found in files.
"""

from __future__ import annotations

import re

from toolenv.model import ErrorKind, ToolResult
from toolenv.values import decode

_UNKNOWN = re.compile(r"\s*(?:Unknown tool\b|Tool\s+\S{1,300}\s+not found\b)")
_INVALID = "Input validation error:"
_API = "Error calling API:"


def failure_of(text: str, is_error: bool) -> ErrorKind | None:
    """The kind of failure that a response is, or None where the call succeeded.

    The release reports some failures with the flag unset: then the text's own form tells.
    """
    start = text[:400].lstrip()
    if start.startswith(_INVALID):
        return "refused_arguments" if is_error else "tool_failed"
    if _UNKNOWN.match(text[:400]):
        return "unknown_tool"
    if is_error or start.startswith(_API):
        return "tool_failed"
    if start.startswith("{") and '"error"' in start:
        value = decode(text)
        if isinstance(value, dict) and list(value) == ["error"]:
            return "tool_failed"
    return None


def result_of(text: str, is_error: bool, *, handle: str | None = None) -> ToolResult:
    """A result made from text and flag alone."""
    kind = failure_of(text, is_error)
    return ToolResult(text=text, is_error=is_error, failed=kind is not None, error_kind=kind, handle=handle)
