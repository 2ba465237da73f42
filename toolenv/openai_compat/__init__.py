"""One client for every OpenAI-compatible endpoint: judge, agent and embeddings share limits, retries and dialects."""

from __future__ import annotations

from toolenv.openai_compat.client import Client
from toolenv.openai_compat.faults import BudgetSpent, EndpointError
from toolenv.openai_compat.ledger import Ledger, Usage
from toolenv.openai_compat.replies import ChatReply, RawToolCall
from toolenv.openai_compat.settings import Budget, Dialect, EndpointSettings, Prices, RetryPolicy

__all__ = [
    "Budget",
    "BudgetSpent",
    "ChatReply",
    "Client",
    "Dialect",
    "EndpointError",
    "EndpointSettings",
    "Ledger",
    "Prices",
    "RawToolCall",
    "RetryPolicy",
    "Usage",
]
