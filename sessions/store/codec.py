"""The one way in which values become bytes for the store: JSON, secrets taken out, large texts by content hash.

Everything that is written passes ``clean`` or ``encoded``; nothing else in this package makes text for a statement.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from sessions.filters.steps import written
from sessions.redaction import redact_bytes, redact_text
from sessions.trajectory import CallTool, GiveUp, Step
from toolenv.errors import StoreError

T = TypeVar("T")

INLINE_BYTES = 4096
"""Bodies and texts up to this many bytes stand in their row; larger ones are stored once, by their content's hash."""

UNWORDLY = re.compile(r"[\W_]+")
WORD_END = re.compile(r"[\s\"',;:{}\[\]()]")

PART = 50_000
"""Characters that are turned into words at once."""


class Payload(NamedTuple):
    """A large content. ``data`` is zlib-compressed."""

    hash: str
    size: int
    data: bytes


class EncodedStep(NamedTuple):
    """The parts of a step's row: either the bytes themselves or the hash under which they are stored."""

    body: bytes | None
    body_hash: str | None
    text_hash: str | None
    payloads: tuple[Payload, ...]
    search_text: str


def clean(text: str) -> str:
    """Short text for a column of its own: no secrets, and nothing that no database stores (NUL, lone surrogates)."""
    return redact_text(text).replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")


def encoded(value: Any) -> bytes:
    """Any value as redacted JSON. NaN, large integers and lone surrogates come back as they were."""
    return redact_text(_json(value)).encode()


def _json(value: Any) -> str:
    return json.dumps(msgspec.to_builtins(value), separators=(",", ":"))


def decoded(data: bytes, type_: type[T], where: str) -> T:
    """The value again. Raises ``StoreError`` naming ``where`` for bytes that are not one."""
    try:
        return msgspec.convert(json.loads(data), type_)
    except (ValueError, TypeError, RecursionError, msgspec.ValidationError) as error:
        raise StoreError(f"{where} in the session store cannot be read ({error}).") from error


def record(values: Mapping[Any, Any], type_: type[T], where: str) -> T:
    """A row as a record, its values of the right types. Raises ``StoreError`` as ``decoded`` does."""
    try:
        return msgspec.convert({str(name): value for name, value in values.items()}, type_)
    except msgspec.ValidationError as error:
        raise StoreError(f"{where} in the session store cannot be read ({error}).") from error


def as_bytes(body: bytes | memoryview | str) -> bytes:
    """A body as bytes, as the database gives it; one that something else has written may have become text."""
    return body.encode("utf-8", "replace") if isinstance(body, str) else bytes(body)


def redacted_bytes(data: bytes) -> bytes:
    """Bytes that a caller encoded."""
    return redact_bytes(data)


def redacted_ruling(data: bytes) -> bytes:
    """The same for bytes that may be compressed: those are searched as what they were and else stay as they are."""
    try:
        plain = zlib.decompress(data)
    except zlib.error:
        return redact_bytes(data)
    redacted = redact_bytes(plain)
    return data if redacted == plain else zlib.compress(redacted)


def payload(data: bytes) -> Payload:
    return Payload(hash=hashlib.sha256(data).hexdigest(), size=len(data), data=zlib.compress(data, 1))


def unpacked(data: bytes, where: str) -> bytes:
    try:
        return zlib.decompress(data)
    except zlib.error as error:
        raise StoreError(f"{where} in the session store cannot be read ({error}).") from error


def encoded_step(step: Step) -> EncodedStep:
    """A step without its secrets, taken apart: a large response goes by its content, so equal ones are stored once."""
    said = _json(step)
    redacted = redact_text(said)
    whole = step
    if redacted != said:
        step = decoded(redacted.encode(), Step, "A step")
    payloads: list[Payload] = []
    text_hash: str | None = None
    search_text = searchable(step)
    if step.result is not None and len(step.result.text) > INLINE_BYTES:
        text = payload(_json(step.result.text).encode())
        payloads.append(text)
        text_hash = text.hash
        step = msgspec.structs.replace(step, result=msgspec.structs.replace(step.result, text=""))
    body = (said if step is whole else _json(step)).encode()
    if len(body) <= INLINE_BYTES:
        return EncodedStep(body, None, text_hash, tuple(payloads), search_text)
    large = payload(body)
    payloads.append(large)
    return EncodedStep(None, large.hash, text_hash, tuple(payloads), search_text)


def decoded_step(body: bytes, text: bytes | None, where: str) -> Step:
    step = decoded(body, Step, where)
    if text is None or step.result is None:
        return step
    result = msgspec.structs.replace(step.result, text=decoded(text, str, where))
    return msgspec.structs.replace(step, result=result)


def step_text(step: Step) -> str:
    """What a search sees of a step: tool, arguments, response, words, reasons of checks."""
    parts: list[str] = []
    if isinstance(step.decision, CallTool):
        call = step.decision.call
        parts += [call.name, call.raw_arguments or ""]
        for name, value in call.arguments.items():
            parts += [name, written(value)]
    elif isinstance(step.decision, GiveUp):
        parts.append(step.decision.reason)
    else:
        parts.append(step.decision.text)
    if step.result is not None:
        parts.append(step.result.text)
    return "\n".join(parts)


def searchable(step: Step) -> str:
    """What the index holds of a step as it is stored: the same when it is put in and when it is taken out."""
    return words(step_text(step))


def words(text: str) -> str:
    """Text as the index holds it: normalised words between single blanks. Queries go through the same.

    A long text is done in parts, cut where a word ends, so that this never keeps other threads waiting for long.
    """
    parts: list[str] = []
    start = 0
    while start < len(text):
        end = start + PART
        if end < len(text):
            blank = WORD_END.search(text, end, end + PART)
            end = blank.start() if blank is not None else end + PART
        parts.append(_words(text[start:end]))
        start = end
    return " ".join(part for part in parts if part)


def _words(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return UNWORDLY.sub(" ", folded.encode("utf-8", "ignore").decode("utf-8")).strip()
