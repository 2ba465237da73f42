"""What was spent, what is still being spent, and whether one more request fits under the caps."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from toolenv.model import Value
from toolenv.openai_compat.faults import BudgetSpent
from toolenv.openai_compat.settings import Budget, Prices

CHARACTERS_PER_TOKEN = 4
"""The usual estimate; no vocabulary is at hand, so whatever is counted with it is called an estimate."""

NO_PRICE = (
    "A cap on cost is set, but the endpoint reports no cost and no price is known; set "
    "VAKRA_TUI_JUDGE_PRICES or VAKRA_TUI_AGENT_PRICES to INPUT/OUTPUT a million tokens."
)


class Usage(Value, frozen=True):
    """Tokens of one reply; ``estimated`` where the endpoint did not count. ``cost`` is None where no price is known."""

    input_tokens: int
    output_tokens: int
    estimated: bool = False
    cost: float | None = None

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


def estimate_tokens(value: Any) -> int:
    """Estimated tokens of a text or of a JSON value as it is sent, at least 1."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return max(1, -(-len(text) // CHARACTERS_PER_TOKEN))


def usage_of(body: Mapping[str, Any], request: Mapping[str, Any], text: str, prices: Prices | None) -> Usage:
    """The usage that a body reports, or an estimate from the request and the reply's text where it reports none."""
    reported = body.get("usage")
    given, made, cost, estimated = None, None, None, False
    if isinstance(reported, Mapping):
        given = _count(reported.get("prompt_tokens"))
        made = _count(reported.get("completion_tokens"))
        cost = _amount(reported.get("cost"))
    if given is None or made is None:
        estimated = True
        given = estimate_tokens(request.get("messages") or request.get("input") or "") if given is None else given
        made = estimate_tokens(text) if made is None else made
    if prices is not None:
        cost = (given * prices.input_per_million + made * prices.output_per_million) / 1e6
    return Usage(input_tokens=given, output_tokens=made, estimated=estimated, cost=cost)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40 else None


def _amount(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9:
        return float(value)
    return None


class Ledger:
    """Counts what was spent and holds back what requests in flight may still cost.

    ``requests`` counts replies that were paid for. ``estimated`` tells that some of the tokens are estimates. Under a
    cap on cost and without known prices the first request goes alone: its reply tells what the next ones may cost.
    """

    def __init__(self, budget: Budget, prices: Prices | None) -> None:
        self._budget = budget
        self._prices = prices
        self._reserved = 0
        self._reserved_cost = 0.0
        self._changed = asyncio.Condition()
        self._priceless = False
        """A reply under a cap on cost came without a cost, so that no later one can be held under it."""
        self.requests = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.cost = 0.0
        self.estimated = False

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    async def reserve(self, tokens_in: int, tokens_out: int) -> Reservation:
        """Hold back room for one request. Waits for requests in flight if their end may make room.

        Raises ``BudgetSpent`` when it cannot fit any more, or when what it costs cannot be known.
        """
        async with self._changed:
            while not self._fits(tokens_in + tokens_out, cost := self._price(tokens_in, tokens_out)):
                if self._priceless:
                    raise BudgetSpent(NO_PRICE)
                if not self._reserved:
                    raise BudgetSpent(self._refusal())
                await self._changed.wait()
            self._reserved += tokens_in + tokens_out
            self._reserved_cost += cost
        return Reservation(tokens=tokens_in + tokens_out, cost=cost)

    async def settle(self, reservation: Reservation, usage: Usage | None) -> None:
        """Give back a reservation and count what was really used; None where nothing was.

        Raises ``BudgetSpent`` when a cap on cost is set but neither endpoint nor settings tell a price.
        """
        async with self._changed:
            self._reserved -= reservation.tokens
            self._reserved_cost -= reservation.cost
            if usage is not None:
                self._count(usage)
            self._changed.notify_all()
        if usage is not None and usage.cost is None and self._budget.max_cost is not None:
            raise BudgetSpent(NO_PRICE)

    def _count(self, usage: Usage) -> None:
        self.requests += 1
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.cost += usage.cost or 0.0
        self._priceless = self._priceless or (usage.cost is None and self._budget.max_cost is not None)
        self.estimated = self.estimated or usage.estimated

    def _fits(self, tokens: int, cost: float) -> bool:
        caps = self._budget
        if caps.max_tokens is not None and self.tokens + self._reserved + tokens > caps.max_tokens:
            return False
        if self._priceless or (caps.max_cost is not None and not self._price_known and self._reserved):
            return False
        return caps.max_cost is None or self.cost + self._reserved_cost + cost <= caps.max_cost

    @property
    def _price_known(self) -> bool:
        return self._prices is not None or self.tokens > 0

    def _price(self, tokens_in: int, tokens_out: int) -> float:
        if self._prices is None:
            return (tokens_in + tokens_out) * self.cost / self.tokens if self.tokens else 0.0
        return (tokens_in * self._prices.input_per_million + tokens_out * self._prices.output_per_million) / 1e6

    def _refusal(self) -> str:
        caps = self._budget
        parts = []
        if caps.max_tokens is not None:
            parts.append(f"{self.tokens} of {caps.max_tokens} tokens")
        if caps.max_cost is not None:
            parts.append(f"{self.cost:.4f} of {caps.max_cost:g} in cost")
        return f"The budget is spent ({', '.join(parts)} used); raise --max-tokens or --max-cost to go on."


class Reservation(Value, frozen=True):
    """Room held back for one request in flight."""

    tokens: int
    cost: float
