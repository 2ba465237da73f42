"""One HTTP attempt through ``openai.AsyncOpenAI``; its own retries are off, ours see every answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolenv.model import Value
from toolenv.openai_compat.faults import ProviderError
from toolenv.openai_compat.settings import EndpointSettings
from toolenv.openai_compat.streams import Assembler, DeltaListener, EventReader

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI


LONGEST_KEPT_STREAM = 1_000_000
"""Characters of an event stream that are kept as they came."""


class Answer(Value, frozen=True):
    """An HTTP response of any status, read to its end.

    ``body`` of a streamed completion is the completion put together, ``stream`` the events as they came.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    stream: str = ""


class Transport:
    """Posts JSON to paths of one endpoint. The connection is made when it is first needed."""

    def __init__(self, settings: EndpointSettings, http_client: httpx2.AsyncClient | None = None) -> None:
        self._settings = settings
        self._http_client = http_client
        self._client: AsyncOpenAI | None = None

    async def post(self, path: str, body: Mapping[str, Any], listener: DeltaListener | None = None) -> Answer:
        """The endpoint's answer; with a ``listener`` the completion is streamed to it.

        Raises ``ProviderError``: timeout or unreachable where no answer came, whatever a stream said of itself.
        """
        import httpx2
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        client = self._connect()
        seconds = self._settings.timeout_s
        try:
            async with asyncio.timeout(seconds):
                if listener is not None:
                    return await _streamed(client, body, listener)
                response = await client.post(path, cast_to=httpx2.Response, body=dict(body))
        except APIStatusError as error:
            response = error.response
        except (TimeoutError, APITimeoutError, httpx2.TimeoutException):
            raise ProviderError("timeout", f"no answer within {seconds:g} seconds", status=None) from None
        except (APIConnectionError, httpx2.TransportError, httpx2.DecodingError, httpx2.TooManyRedirects) as error:
            cause = error.__cause__ or error
            if isinstance(cause, ProviderError):
                raise cause from None
            raise ProviderError("unreachable", f"{type(cause).__name__}: {cause}", status=None) from None
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            raise ProviderError("refused", f"the address cannot be used ({error})", status=None) from None
        except ValueError as error:
            # Half characters and numbers that are none: the library writes the body with the strict encoder.
            raise ProviderError("refused", f"the request cannot be written as JSON ({error})", status=None) from None
        return Answer(status=response.status_code, headers=dict(response.headers), body=response.content)

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = self._http_client = None

    def _connect(self) -> AsyncOpenAI:
        if self._client is None:
            from openai import AsyncOpenAI, DefaultAsyncHttpxClient

            from toolenv.openai_compat.bounded import bound

            if self._http_client is None:
                self._http_client = DefaultAsyncHttpxClient(event_hooks={"response": [bound]})
            self._client = AsyncOpenAI(
                api_key=self._settings.api_key,
                base_url=self._settings.base_url,
                timeout=self._settings.timeout_s,
                max_retries=0,
                default_headers={"Accept-Encoding": "gzip, deflate", **self._settings.dialect.extra_headers},
                default_query=dict(self._settings.dialect.extra_query),
                http_client=self._http_client,
            )
        return self._client


async def _streamed(client: AsyncOpenAI, body: Mapping[str, Any], listener: DeltaListener) -> Answer:
    """A streamed completion, put together; the body as it is where the endpoint does not stream."""
    rest = {name: value for name, value in body.items() if name not in ("model", "messages", "stream")}
    create = client.chat.completions.with_streaming_response.create
    async with create(model=body["model"], messages=body["messages"], stream=True, extra_body=rest) as response:
        headers = dict(response.headers)
        if "event-stream" not in headers.get("content-type", ""):
            return Answer(status=response.status_code, headers=headers, body=await response.read())
        reader, assembler, kept, length = EventReader(), Assembler(listener), [], 0
        async for line in response.iter_lines():
            if length < LONGEST_KEPT_STREAM:
                kept.append(line)
                length += len(line)
            data = reader.line(line)
            if data is not None:
                assembler.add(data)
        data = reader.end()
        if data is not None:
            assembler.add(data)
        return Answer(status=response.status_code, headers=headers, body=assembler.body(), stream="\n".join(kept))
