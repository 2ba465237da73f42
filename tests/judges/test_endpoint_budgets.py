"""Caps on tokens and cost: kept by requests that are sent together, with prices and without."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.judges.endpoint_asking import ASK, ask, client
from toolenv.openai_compat import Budget, BudgetSpent, Prices


async def test_a_cap_on_tokens_is_never_passed(endpoint: Any, said: Any) -> None:
    endpoint.default = lambda body: said("x", usage={"prompt_tokens": 9, "completion_tokens": 60})
    asking = client(endpoint, budget=Budget(max_tokens=1000))
    found = await asyncio.gather(
        *(asking.chat(ASK, parameters={"max_tokens": 60}) for _ in range(30)), return_exceptions=True
    )
    await asking.aclose()
    refused = [error for error in found if isinstance(error, BudgetSpent)]
    assert refused and "of 1000 tokens" in str(refused[0])
    assert asking.ledger.tokens <= 1000
    assert len(endpoint.asked) == 30 - len(refused) > 9


async def test_a_cap_on_cost_counts_prices_or_the_endpoints_own_figure(endpoint: Any, said: Any) -> None:
    asking = client(endpoint, budget=Budget(max_cost=1.0), prices=Prices(input_per_million=1e5, output_per_million=0))
    with pytest.raises(BudgetSpent, match="in cost"):
        await asking.chat([{"role": "user", "content": "x" * 4000}])
    await asking.aclose()
    endpoint.default = lambda body: said("x", usage={"prompt_tokens": 500, "completion_tokens": 500, "cost": 0.3})
    asking = client(endpoint, budget=Budget(max_cost=1.0))
    endpoint.answer_probes = False
    await asking.chat(ASK)
    with pytest.raises(BudgetSpent):
        for _ in range(5):
            await asking.chat(ASK)
    await asking.aclose()
    assert 0.6 <= asking.ledger.cost <= 1.0


async def test_a_cap_on_cost_without_a_price_is_refused(endpoint: Any) -> None:
    with pytest.raises(BudgetSpent, match="no price is known"):
        await ask(endpoint, budget=Budget(max_cost=1.0))


async def test_usage_that_is_not_reported_is_estimated_and_labelled(endpoint: Any, said: Any) -> None:
    for usage in (None, {}, {"prompt_tokens": "many"}, {"prompt_tokens": -1, "completion_tokens": True}):
        endpoint.default = lambda body, usage=usage: said("x" * 40, usage=usage)
        reply = await ask(endpoint)
        assert reply.usage.estimated
        assert reply.usage.output_tokens == 10


async def test_without_prices_one_request_tells_the_price_before_others_are_sent(endpoint: Any, said: Any) -> None:
    endpoint.default = lambda body: said("x", usage={"prompt_tokens": 500, "completion_tokens": 500, "cost": 0.3})
    asking = client(endpoint, budget=Budget(max_cost=1.0))
    endpoint.answer_probes = False
    found = await asyncio.gather(
        *(asking.chat(ASK, parameters={"max_tokens": 1000}) for _ in range(20)), return_exceptions=True
    )
    await asking.aclose()
    assert asking.ledger.cost <= 1.0
    assert sum(isinstance(error, BudgetSpent) for error in found) == 20 - len(endpoint.asked) >= 17


async def test_without_any_price_a_cap_on_cost_is_passed_by_one_request_at_the_most(endpoint: Any, said: Any) -> None:
    endpoint.default = lambda body: said("x", usage={"prompt_tokens": 500, "completion_tokens": 500})
    asking = client(endpoint, budget=Budget(max_cost=1.0))
    endpoint.answer_probes = False
    found = await asyncio.gather(*(asking.chat(ASK) for _ in range(20)), return_exceptions=True)
    await asking.aclose()
    assert all(isinstance(error, BudgetSpent) and "no price is known" in str(error) for error in found)
    assert len(endpoint.asked) <= 1  # the question by which the client learns the endpoint comes first
