"""A call's answer on the wire as the text that an agent sees: every kind of content, none dropped in silence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

import msgspec

from toolenv.failures import result_of
from toolenv.model import Json, ToolResult

_NAME_LIMIT: Final = 200


def result_from(answer: Mapping[str, Json], *, handle: str | None = None) -> ToolResult:
    """The result of a ``tools/call`` answer.

    Texts are joined by line breaks; anything else is named in its place with its type and size, and the note says that
    there was something else. An answer without content is an empty text with a note, told apart from an empty text.
    """
    content = answer.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [_text(block) for block in blocks]
    notes: list[str] = []
    if any(not _plain(block) for block in blocks):
        notes.append("the server answered with more than text: " + ", ".join(_kind(b) for b in blocks if not _plain(b)))
    structured = answer.get("structuredContent")
    if structured is not None and not any(_same(text, structured) for text in texts):
        texts.append(json.dumps(structured, ensure_ascii=False))
        notes.append("part of the text is the server's structured content")
    if not texts:
        notes.append("the server answered with no content at all")
    result = result_of("\n".join(texts), answer.get("isError") is True, handle=handle)
    return msgspec.structs.replace(result, notes=tuple(notes)) if notes else result


def _plain(block: Json) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)


def _kind(block: Json) -> str:
    return str(block.get("type", "unnamed"))[:_NAME_LIMIT] if isinstance(block, dict) else type(block).__name__


def _text(block: Json) -> str:
    """A block as text: its own where it has one, else a line that names type, media type, address and size."""
    if _plain(block):
        return str(block["text"])
    if not isinstance(block, dict):
        return f"[content of an unknown kind: {json.dumps(block, ensure_ascii=False)}]"
    resource = block.get("resource")
    inner = resource if isinstance(resource, dict) else block
    words = [_kind(block)]
    words += [str(inner[key])[:_NAME_LIMIT] for key in ("mimeType", "uri", "name") if isinstance(inner.get(key), str)]
    data = inner.get("data", inner.get("blob"))
    if isinstance(data, str):
        words.append(f"{len(data) * 3 // 4 - data[-2:].count('=')} bytes")
    line = f"[{' '.join(words)}]"
    text = inner.get("text")
    if isinstance(text, str):
        return f"{line}\n{text}"
    known = {"type", "data", "blob", "mimeType", "uri", "name", "resource", "annotations", "_meta"}
    rest = {key: value for key, value in block.items() if key not in known}
    return f"{line} {json.dumps(rest, ensure_ascii=False)}" if rest else line


def _same(text: str, value: Json) -> bool:
    """Whether a text block already says what the structured content says, as servers are asked to do."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return found == value or (isinstance(value, dict) and value == {"result": found}) or value == {"result": text}
