"""Replies whose text is not what it seems: tool calls written as text, and channels or thoughts inside the content."""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from toolenv.model import Json, Value

_FINAL = re.compile(r"<\|channel\|>\s*final\s*(?:<\|constrain\|>[^<]*)?<\|message\|>", re.I)
_END = re.compile(r"<\|(?:end|return|call|start)\|>.*", re.DOTALL)
_THINKING = re.compile(r"\A\s*<(think|thinking|reasoning)>(.*?)</\1>\s*", re.I | re.DOTALL)
_UNOPENED = re.compile(r"\A(.*?)</(?:think|thinking)>\s*", re.I | re.DOTALL)

_TAGS = re.compile(
    r"<tool_calls?>|<function_calls?>|<invoke\b|<function=|\[TOOL_CALLS?\]|<\|tool_calls?|<\|python_tag\|>"
    r"|<\N{FULLWIDTH VERTICAL LINE}tool|<\|channel\|>\s*commentary|\bto=functions\.|<tool_use\b|<\|action_start\|>",
    re.I,
)
_LEAKED = re.compile(r"\A\s*assistant\s?(?:code|commentary|analysis|final)?(?:\s*(?:to=)?functions?\.\w+)?\s*\{", re.I)
# Possessive where blanks follow each other: a reply may hold nothing but line ends, and each must be looked at once.
_REACT = re.compile(r"^Action:\s*+([\w.-]++)[^\S\n]*+\n\s*+Action Input:", re.I | re.MULTILINE)
_FENCED = re.compile(r"```(?:json|tool_call|tool_code|xml)?[^\S\n]*+\n(.*?)```", re.DOTALL)
_INVOKE = re.compile(r'<invoke\s+name="([^"]+)"\s*>(.*?)</invoke>', re.DOTALL)
_FUNCTION = re.compile(r"<function=([^>\s]+)>(.*?)</function>", re.DOTALL)
_PARAMETER = re.compile(r'<parameter(?:=|\s+name=")([^">]+)"?>(.*?)</parameter>', re.DOTALL)
_BLOCK = re.compile(r"<tool_call>\s*(\{.*?\})\s*(?:</tool_call>|\Z)", re.DOTALL)
_LONGEST = 200_000


class TextCall(Value, frozen=True):
    """A call found in text; ``arguments`` as they stood there."""

    name: str
    arguments: Json


class Said(Value, frozen=True):
    """The content proper, and what in it was thought and not said."""

    text: str
    reasoning: str = ""


def said(content: str) -> Said:
    """Take thoughts off a content: the final channel of harmony counts, a leading block of thoughts does not."""
    finals = list(_FINAL.finditer(content))
    if finals:
        return Said(text=_END.sub("", content[finals[-1].end() :]).strip(), reasoning=content[: finals[-1].start()])
    found = _THINKING.match(content) or _UNOPENED.match(content)
    if found:
        return Said(text=content[found.end() :], reasoning=found.group(found.lastindex or 1))
    return Said(text=content)


def call_in_text(content: str, tools: Collection[str]) -> str | None:
    """What shows that a content is a tool call that went wrong, as a short quotation; None where nothing does."""
    text = content[:_LONGEST]
    found = _TAGS.search(text) or _LEAKED.match(text)
    if found:
        return _quoted(text, found.start())
    action = _REACT.search(text)
    if action and action.group(1) in tools:
        return _quoted(text, action.start())
    for body in (text, *(fence.group(1) for fence in _FENCED.finditer(text))):
        if any(call.name in tools for call in _json_calls(body)):
            return _quoted(text, text.find(body))
    name, bracket, rest = text.strip().partition("(")
    if bracket and name in tools and rest.endswith(")"):
        return _quoted(text, 0)
    return None


def calls_in_text(content: str) -> list[TextCall]:
    """The calls that a text spells out in one of the usual forms; for those who chose to carry them out."""
    text = content[:_LONGEST]
    calls = [TextCall(name=m.group(1), arguments=_parameters(m.group(2))) for m in _INVOKE.finditer(text)]
    calls += [TextCall(name=m.group(1), arguments=_parameters(m.group(2))) for m in _FUNCTION.finditer(text)]
    for block in _BLOCK.finditer(text):
        calls += _json_calls(block.group(1))
    if not calls:
        for body in (text, *(fence.group(1) for fence in _FENCED.finditer(text))):
            calls += _json_calls(body)
    return calls


def _parameters(body: str) -> Json:
    found = {}
    for name, value in _PARAMETER.findall(body):
        try:
            found[name] = json.loads(value)
        except (ValueError, RecursionError):
            found[name] = value
    return found or (body.strip() or None)


def _json_calls(body: str) -> list[TextCall]:
    body = body.strip()
    if body[:1] not in ("{", "["):
        return []
    try:
        value = json.loads(body, strict=False)
    except (ValueError, RecursionError):
        return []
    calls = []
    for entry in value if isinstance(value, list) else [value]:
        inner = entry.get("function") if isinstance(entry, dict) else None
        entry = inner if isinstance(inner, dict) else entry
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            place = next((key for key in ("arguments", "parameters", "args") if key in entry), None)
            if place is not None:
                calls.append(TextCall(name=entry["name"], arguments=entry[place]))
    return calls


def _quoted(text: str, start: int) -> str:
    piece = text[max(0, start) :].strip()
    return piece if len(piece) <= 120 else piece[:120] + "..."
