"""Rulings that were paid for, kept by what was asked: no question is paid for twice."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from eval.judges.context import Cut
from eval.judges.questions import Message
from eval.model import Outcome
from eval.scored import encoded
from toolenv.model import Value


class RulingCache(Protocol):
    """Bytes by key; the asynchronous session store is one. What was put must survive the program where it can."""

    async def ruling(self, key: str) -> bytes | None: ...

    async def put_ruling(self, key: str, payload: bytes) -> None: ...


class MemoryRulingCache:
    """A cache that lives as long as the program."""

    def __init__(self) -> None:
        self._known: dict[str, bytes] = {}

    def __len__(self) -> int:
        return len(self._known)

    async def ruling(self, key: str) -> bytes | None:
        return self._known.get(key)

    async def put_ruling(self, key: str, payload: bytes) -> None:
        self._known[key] = payload


class KeptRuling(Value, frozen=True):
    """A ruling with everything a person may want to see of how it came about.

    ``replies`` are the judge's words, the unreadable first one included; ``dropped`` the optional parameters that the
    endpoint did not take; tokens are those of all its requests, ``estimated`` where the endpoint did not count.
    """

    outcome: Outcome
    reason: str
    span: str
    messages: tuple[Message, ...]
    replies: tuple[str, ...]
    parameters: Mapping[str, Any]
    dropped: tuple[str, ...] = ()
    cuts: tuple[Cut, ...] = ()
    model: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False
    cost: float | None = None
    attempts: int = 1


def ruling_key(model: str, parameters: Mapping[str, Any], version: str, messages: Sequence[Message]) -> str:
    """The hash that stands for a question: model, parameters as asked for, prompt version and prompt."""
    asked = [model, sorted(parameters.items()), version, [sorted(message.items()) for message in messages]]
    return "ruling:" + hashlib.sha256(encoded(asked, ordered=True)).hexdigest()


def packed(kept: KeptRuling) -> bytes:
    return zlib.compress(encoded(kept))


def unpacked(payload: bytes) -> KeptRuling | None:
    """The ruling in a payload, or None where it is of another form; it is then asked for again."""
    try:
        return msgspec.json.decode(zlib.decompress(payload), type=KeptRuling)
    except (zlib.error, msgspec.DecodeError):
        return None
