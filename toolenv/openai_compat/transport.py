"""One HTTP attempt through ``openai.AsyncOpenAI``; its own retries are off, ours see every answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolenv.model import Value
from toolenv.openai_compat.faults import ProviderError
from toolenv.openai_compat.settings import EndpointSettings

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI


class Answer(Value, frozen=True):
    """An HTTP response of any status, read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport:
    """Posts JSON to paths of one endpoint. The connection is made when it is first needed."""

    def __init__(self, settings: EndpointSettings, http_client: httpx2.AsyncClient | None = None) -> None:
        self._settings = settings
        self._http_client = http_client
        self._client: AsyncOpenAI | None = None

    async def post(self, path: str, body: Mapping[str, Any]) -> Answer:
        """The endpoint's answer. Raises ``ProviderError`` (timeout, unreachable) when there is none."""
        import httpx2
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        client = self._connect()
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                response = await client.post(path, cast_to=httpx2.Response, body=dict(body))
        except APIStatusError as error:
            response = error.response
        except (TimeoutError, APITimeoutError, httpx2.TimeoutException):
            raise ProviderError(
                "timeout", f"no answer within {self._settings.timeout_s:g} seconds", status=None
            ) from None
        except (APIConnectionError, httpx2.TransportError, httpx2.DecodingError, httpx2.TooManyRedirects) as error:
            cause = error.__cause__ or error
            raise ProviderError("unreachable", f"{type(cause).__name__}: {cause}", status=None) from None
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            raise ProviderError("refused", f"the address cannot be used ({error})", status=None) from None
        return Answer(status=response.status_code, headers=dict(response.headers), body=response.content)

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _connect(self) -> AsyncOpenAI:
        if self._client is None:
            from openai import AsyncOpenAI

            self._client = AsyncOpenAI(
                api_key=self._settings.api_key,
                base_url=self._settings.base_url,
                timeout=self._settings.timeout_s,
                max_retries=0,
                http_client=self._http_client,
            )
        return self._client
