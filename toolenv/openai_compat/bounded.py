"""Answers that are never larger than a bound, unpacked: an endless or a packed body must not take the memory."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2

from toolenv.openai_compat.faults import ProviderError

LARGEST_BODY = 64 * 1024 * 1024
"""Bytes of one answer; the largest that is asked for, 128 long vectors, takes less than a tenth of it."""

_TOO_LARGE = f"the body is larger than {LARGEST_BODY // 1024 // 1024} MiB"
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_UNPACKED_AT_A_TIME = 1024 * 1024


async def bound(response: httpx2.Response) -> None:
    """A response hook of the HTTP client: bounds the body before anything is read of it."""
    packed = response.headers.get("content-encoding", "identity").strip().lower()
    stream: Any = response.stream
    if packed in ("gzip", "x-gzip", "deflate"):
        # Unpacked here, piece by piece: the client's own decoder makes all that a piece holds at once.
        del response.headers["content-encoding"]
        response.stream = _Bounded(stream, zlib.decompressobj(_GZIP_OR_ZLIB))
    elif packed in ("", "identity"):
        response.stream = _Bounded(stream, None)
    else:
        await response.aclose()
        words = f"the body is packed in a way that was not asked for ({packed[:40]})"
        raise ProviderError("malformed", words, status=None)


class _Bounded(httpx2.AsyncByteStream):
    """The bytes of a stream, unpacked, up to the bound. Raises ``ProviderError`` beyond it."""

    def __init__(self, stream: Any, unpacker: Any) -> None:
        self._stream = stream
        self._unpacker = unpacker

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            for part in self._unpacked(piece):
                size += len(part)
                if size > LARGEST_BODY:
                    raise ProviderError("malformed", _TOO_LARGE, status=None)
                yield part

    def _unpacked(self, piece: bytes) -> Iterator[bytes]:
        if self._unpacker is None:
            yield piece
            return
        left = piece
        try:
            while left:
                yield self._unpacker.decompress(left, _UNPACKED_AT_A_TIME)
                left = self._unpacker.unconsumed_tail
        except zlib.error as error:
            raise ProviderError("malformed", f"the body cannot be unpacked ({error})", status=None) from None

    async def aclose(self) -> None:
        await self._stream.aclose()
