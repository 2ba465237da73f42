"""How near tools are to a question, by vectors of a compatible endpoint; one cache for all instances of an agent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sessions.agent.shortlist import tool_text
from toolenv.model import Instance, ToolSpec

if TYPE_CHECKING:
    from toolenv.openai_compat import Client

TEXTS_AT_A_TIME = 128
"""Texts in one request; what most endpoints take."""


class Nearness:
    """Asks for the vector of each text once; what failed is asked for again by the next instance."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._vectors: dict[str, list[float]] = {}
        self._asking = asyncio.Lock()

    async def of(self, instance: Instance, tools: Sequence[ToolSpec]) -> list[float]:
        """One similarity a tool, in order. Raises ``EndpointError``."""
        texts = [tool_text(tool) for tool in tools]
        async with self._asking:
            await self._ask([instance.query, *texts])
        question = self._vectors[instance.query]
        return [cosine(question, self._vectors[text]) for text in texts]

    async def _ask(self, texts: Sequence[str]) -> None:
        unknown = list(dict.fromkeys(text for text in texts if text not in self._vectors))
        for start in range(0, len(unknown), TEXTS_AT_A_TIME):
            part = unknown[start : start + TEXTS_AT_A_TIME]
            self._vectors.update(zip(part, await self.client.embeddings(part), strict=True))


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Cosine of two vectors; 0 where they differ in length or one of them is null."""
    if len(one) != len(other):
        return 0.0
    product = sum(a * b for a, b in zip(one, other, strict=True))
    length = sum(a * a for a in one) ** 0.5 * sum(b * b for b in other) ** 0.5
    return product / length if length else 0.0
