"""Embeddings from an OpenAI-compatible endpoint, chosen by environment variables.

``VAKRA_TUI_EMBEDDINGS_MODEL`` switches the ranking by vectors on; ``VAKRA_TUI_EMBEDDINGS_BASE_URL`` names the endpoint.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from toolenv.errors import EnvironmentFailure

if TYPE_CHECKING:
    from toolenv.openai_compat import EndpointSettings

MODEL_VARIABLE = "VAKRA_TUI_EMBEDDINGS_MODEL"
ADDRESS_VARIABLE = "VAKRA_TUI_EMBEDDINGS_BASE_URL"


class EndpointEmbedder:
    """An ``Embedder`` over one endpoint.

    A connection lives as long as one request for vectors, so that any event loop will do.
    """

    def __init__(self, settings: EndpointSettings) -> None:
        self.settings = settings

    @property
    def model(self) -> str:
        return self.settings.model

    async def embeddings(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in order. Raises ``EnvironmentFailure`` when the endpoint does not give them."""
        from toolenv.openai_compat import Client, EndpointError

        client = Client(self.settings)
        try:
            return await client.embeddings(texts)
        except EndpointError as error:
            raise EnvironmentFailure(f"the embeddings endpoint gave no vectors: {error}") from error
        finally:
            await client.aclose()


def embedder_from_environment(environment: Mapping[str, str] | None = None) -> EndpointEmbedder | None:
    """The embedder that the environment variables name, or None where they name no model."""
    variables = os.environ if environment is None else environment
    model = variables.get(MODEL_VARIABLE, "").strip()
    if not model:
        return None
    from toolenv.openai_compat.settings import DEFAULT_BASE_URL, EndpointSettings, key_from_environment

    address = variables.get(ADDRESS_VARIABLE, "").strip() or DEFAULT_BASE_URL
    key = key_from_environment("embeddings", variables)
    return EndpointEmbedder(EndpointSettings(model=model, base_url=address, api_key=key))
