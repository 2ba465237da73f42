"""A model behind an OpenAI-compatible endpoint as the judge: ``--judge openai``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from string import Template
from typing import Any
from weakref import WeakValueDictionary

from eval.case import Case
from eval.judge import JudgeFailure
from eval.judges.cache import KeptRuling, MemoryRulingCache, RulingCache, packed, ruling_key, unpacked
from eval.judges.context import cut_evidence
from eval.judges.questions import Question, question
from eval.judges.replies import Reading, Unreadable, read_reply
from eval.judges.settings import JudgeSettings
from eval.judges.texts import prompt, prompt_version
from eval.model import Gate, Ruling
from toolenv.openai_compat import ChatReply, Client, EndpointError, Ledger
from toolenv.openai_compat.ledger import CHARACTERS_PER_TOKEN
from toolenv.openai_compat.sending import Waiting
from toolenv.values import shortened

LARGER_REPLY = 4
"""How much larger the one further try is when a reply's budget was spent before it said anything."""

_SHOWN_REPLY = 200
_KEPT_REPLY = 20_000
_SHOWN_REASON = 600
_FIRST_REPLY_SHOWN_AGAIN = 2_000

Reader = Callable[[str, str], Reading]
Asker = Callable[[Gate, Case, int], Question]


class OpenAIJudge:
    """Asks a model, reads its reply, and keeps the ruling by what was asked.

    ``cache`` keeps rulings beyond this object (the session store); ``client`` replaces the endpoint's client;
    ``listener`` hears of every wait. Raises ``JudgeFailure`` when the endpoint cannot be reached, refuses, or twice
    gives a reply that cannot be read.
    """

    kind = "openai"

    def __init__(
        self,
        settings: JudgeSettings,
        cache: RulingCache | None = None,
        *,
        client: Client | None = None,
        listener: Callable[[Waiting], None] | None = None,
    ) -> None:
        self._settings = settings
        self._client = client or Client(settings.endpoint, listener=listener)
        self._cache: RulingCache = cache if cache is not None else MemoryRulingCache()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._dropped: set[str] = set()

    @property
    def model(self) -> str:
        return self._settings.endpoint.model

    @property
    def settings(self) -> JudgeSettings:
        return self._settings

    @property
    def prompt_version(self) -> str:
        return prompt_version()

    @property
    def ledger(self) -> Ledger:
        """What this object spent; rulings from the cache are free."""
        return self._client.ledger

    @property
    def client(self) -> Client:
        return self._client

    def notes(self) -> tuple[str, ...]:
        """Sentences for the report; the same whether rulings were asked for or came from the cache."""
        if not self._dropped:
            return ()
        return (f"The judge's endpoint does not take {', '.join(sorted(self._dropped))}; rulings were made without.",)

    async def aclose(self) -> None:
        await self._client.aclose()

    async def rule(self, gate: Gate, case: Case) -> Ruling:
        return await self.ask(gate, case, question, read_reply)

    async def ask(self, gate: Gate, case: Case, asker: Asker, reader: Reader) -> Ruling:
        """The ruling on a question that ``asker`` writes and whose reply ``reader`` reads."""
        asked = asker(gate, case, self._settings.context_tokens * CHARACTERS_PER_TOKEN)
        key = self._key(asked)
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            kept = await self._known(key)
            if kept is None:
                kept = await self._asked(asked, asker, reader, case)
                await self._cache.put_ruling(key, packed(kept))
        self._dropped.update(kept.dropped)
        return _ruling(kept)

    async def inspect(self, gate: Gate, case: Case) -> KeptRuling | None:
        """What was sent and answered for a gate of a case, or None where it was not asked."""
        asked = question(gate, case, self._settings.context_tokens * CHARACTERS_PER_TOKEN)
        return await self._known(self._key(asked))

    def _key(self, asked: Question) -> str:
        return ruling_key(self.model, self._parameters(asked), self.prompt_version, asked.messages)

    async def _known(self, key: str) -> KeptRuling | None:
        payload = await self._cache.ruling(key)
        return None if payload is None else unpacked(payload)

    def _parameters(self, asked: Question) -> dict[str, Any]:
        wanted: dict[str, Any] = {
            "temperature": self._settings.temperature,
            "seed": self._settings.seed,
            "max_tokens": self._settings.reply_tokens,
        }
        return {**wanted, "response_format": {"type": "json_object"}} if asked.wants_json else wanted

    async def _asked(self, asked: Question, asker: Asker, reader: Reader, case: Case) -> KeptRuling:
        try:
            return await self._conversation(asked, reader)
        except EndpointError as error:
            if error.kind != "too_long":
                raise JudgeFailure(str(error)) from error
        shorter = asker(asked.gate, case, len(asked.material) // 2)
        try:
            return await self._conversation(shorter, reader)
        except EndpointError as error:
            said = "Prompt too long, even at half its material: " if error.kind == "too_long" else ""
            raise JudgeFailure(f"{said}{error}") from error

    async def _conversation(self, asked: Question, reader: Reader) -> KeptRuling:
        """Ask, and once more where the reply cannot be read."""
        first = await self._reply(asked, asked.messages)
        replies = [first]
        try:
            reading = reader(first.content, asked.material)
        except Unreadable as problem:
            again = Template(prompt("again").template).substitute(problem=problem)
            garbage = first.content[:_FIRST_REPLY_SHOWN_AGAIN] or "(nothing)"
            said = ({"role": "assistant", "content": garbage}, {"role": "user", "content": again})
            second = await self._reply(asked, (*asked.messages, *said))
            replies.append(second)
            try:
                reading = reader(second.content, asked.material)
            except Unreadable as still:
                shown = " ".join(second.content.split())[:_SHOWN_REPLY]
                raise JudgeFailure(
                    f"The judge {self.model} was asked twice about '{asked.gate}' and its reply cannot be read: "
                    f"{still} ({shown!r})."
                ) from None
        return self._kept(asked, reading, replies)

    async def _reply(self, asked: Question, messages: tuple[Mapping[str, str], ...]) -> ChatReply:
        """One reply with words in it; where its budget was spent before the first, one more try with a larger one."""
        parameters = self._parameters(asked)
        reply = await self._client.chat(messages, parameters=parameters, deadline_s=self._settings.deadline_s)
        if reply.content.strip() or reply.finish_reason != "length":
            return reply
        larger = {**parameters, "max_tokens": self._settings.reply_tokens * LARGER_REPLY}
        reply = await self._client.chat(messages, parameters=larger, deadline_s=self._settings.deadline_s)
        if reply.content.strip() or reply.finish_reason != "length":
            return reply
        raise JudgeFailure(
            f"The judge {self.model} said nothing: its budget of {larger['max_tokens']} tokens was spent on reasoning."
        )

    def _kept(self, asked: Question, reading: Reading, replies: list[ChatReply]) -> KeptRuling:
        costs = [reply.usage.cost for reply in replies if reply.usage.cost is not None]
        return KeptRuling(
            outcome=reading.outcome,
            reason=shortened(reading.reason, _SHOWN_REASON) or "the judge gave no reason",
            span=shortened(reading.span, _SHOWN_REASON),
            messages=asked.messages,
            replies=tuple(reply.content[:_KEPT_REPLY] for reply in replies),
            parameters=self._parameters(asked),
            dropped=tuple(self._client.dropped),
            cuts=asked.cuts,
            model=replies[-1].completion.model,
            input_tokens=sum(reply.usage.input_tokens for reply in replies),
            output_tokens=sum(reply.usage.output_tokens for reply in replies),
            estimated=any(reply.usage.estimated for reply in replies),
            cost=sum(costs) if costs else None,
            attempts=sum(reply.exchange.attempts for reply in replies),
        )


def _ruling(kept: KeptRuling) -> Ruling:
    return Ruling(
        outcome=kept.outcome,
        decided_by="judge" if kept.outcome != "undecided" else None,
        reason=kept.reason,
        evidence=({"reply": kept.span}, *cut_evidence(kept.cuts)),
    )
