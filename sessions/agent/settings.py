"""How the ReAct harness asks: limits, sampling, and what it does with odd replies."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated

import msgspec

from toolenv.errors import DataError
from toolenv.model import Value

VARIABLE = "VAKRA_TUI_AGENT_SETTINGS"

Positive = Annotated[int, msgspec.Meta(ge=1)]


class AgentSettings(Value, frozen=True, forbid_unknown_fields=True):
    """One way of asking a model.

    ``max_turns`` bounds the completions of an instance, ``max_calls`` the calls of one completion that are made.
    ``max_tools`` is how many tools a request offers (None: the dialect's limit). ``max_result_characters`` bounds how
    much of one result the model sees; the whole result is kept.
    ``max_truncations`` completions cut off at the token limit, one after the other, end the instance.
    ``max_seconds``, ``max_tokens_spent`` and ``max_cost_spent`` bound one instance. With ``parallel`` false only the
    first call of a completion counts. ``run_text_calls`` carries out calls that were written as text.
    ``embeddings_model`` adds vectors to the lexical shortlist, those of the endpoint at ``embeddings_base_url`` (None:
    the same endpoint). ``instructions`` is added to the system message. ``request_seconds`` bounds one
    attempt of a request; a model on a slow machine needs more.
    """

    max_turns: Positive = 40
    max_calls: Positive = 32
    max_tools: Positive | None = None
    max_result_characters: Positive = 16_000
    max_truncations: Positive = 3
    max_seconds: float | None = None
    max_tokens_spent: Positive | None = None
    max_cost_spent: float | None = None
    max_tokens: Positive | None = 4096
    temperature: float | None = 0.0
    seed: int | None = 0
    parallel: bool = True
    stream: bool = False
    run_text_calls: bool = False
    embeddings_model: str | None = None
    embeddings_base_url: str | None = None
    instructions: str = ""
    request_seconds: Annotated[float, msgspec.Meta(gt=0)] = 120.0


def settings_from_environment(environment: Mapping[str, str] | None = None) -> AgentSettings:
    """The settings in ``VAKRA_TUI_AGENT_SETTINGS``, a JSON object. Raises ``DataError`` for another form."""
    variables = os.environ if environment is None else environment
    text = variables.get(VARIABLE, "").strip()
    if not text:
        return AgentSettings()
    try:
        return msgspec.json.decode(text, type=AgentSettings)
    except msgspec.DecodeError as error:
        raise DataError(f'{VARIABLE} is not understood ({error}); for example {{"max_turns": 20}}.') from None
