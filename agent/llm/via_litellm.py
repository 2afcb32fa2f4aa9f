"""The way to providers with a protocol of their own: the only file that imports litellm, late and in a thread."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from copy import deepcopy
from typing import Any

from agent.errors import ContextTooLong, ModelError
from agent.llm.refusals import refusal
from agent.llm.settings import ModelSettings
from agent.llm.transport import Chunk, Request

# The import costs two seconds and 190 MB, and without these it would fetch lists from the network and read a .env.
_BEFORE_IMPORT = {
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_MODE": "PRODUCTION",
}
_TIMEOUT_SECONDS = 300.0
# Its exceptions have no base of their own; the status is for those that carry none.
_STATUS = {
    "APIConnectionError": 503,
    "APIError": 500,
    "APIResponseValidationError": 502,
    "AuthenticationError": 401,
    "BadGatewayError": 502,
    "BadRequestError": 400,
    "InternalServerError": 500,
    "NotFoundError": 404,
    "PermissionDeniedError": 403,
    "RateLimitError": 429,
    "ServiceUnavailableError": 503,
    "Timeout": 408,
    "UnprocessableEntityError": 422,
}


class LitellmTransport:
    """Streams through litellm, with its own retries off."""

    def __init__(self) -> None:
        self._litellm: Any = None
        self._errors: tuple[type[Exception], ...] = ()

    async def warm(self) -> None:
        """Import litellm, so that the first request need not wait for it."""
        if self._litellm is None:
            litellm = await asyncio.to_thread(_import)
            self._errors = tuple(getattr(litellm.exceptions, name) for name in _STATUS)
            self._litellm = litellm

    async def stream(self, request: Request) -> AsyncGenerator[list[Chunk], None]:
        """Yield each chunk as litellm gives it."""
        await self.warm()
        try:
            async with aclosing(await self._litellm.acompletion(**_arguments(request))) as chunks:
                async for chunk in chunks:
                    yield [chunk.model_dump(exclude_none=True)]
        except self._errors as error:
            raise self._translated(request.settings, error) from None  # its text may hold the key

    async def close(self) -> None:
        """Close its cached connections."""
        if self._litellm is not None:
            await self._litellm.close_litellm_async_clients()

    def _translated(self, settings: ModelSettings, error: Any) -> ModelError:
        model, text = settings.model, settings.without_key(str(getattr(error, "message", "") or error))
        if isinstance(error, self._litellm.exceptions.ContextWindowExceededError):
            return ContextTooLong(f"{model}: {text[:300]}")
        kind = next(name for name in _STATUS if isinstance(error, getattr(self._litellm.exceptions, name)))
        status = getattr(error, "status_code", None)
        return refusal(model, status if isinstance(status, int) else _STATUS[kind], text, _headers(error))


def _import() -> Any:
    for name, value in _BEFORE_IMPORT.items():
        os.environ.setdefault(name, value)
    import litellm  # noqa: PLC0415 - see _BEFORE_IMPORT

    litellm.suppress_debug_info = True
    litellm.drop_params = True
    # It takes a hundred equal chunks (a table's rule, spaces) for a loop and raises; the loop has its own limits.
    litellm.REPEATED_STREAMING_CHUNK_LIMIT = 1_000_000
    return litellm


def _arguments(request: Request) -> dict[str, Any]:
    settings = request.settings
    arguments: dict[str, Any] = {
        "model": settings.model,
        "messages": deepcopy(list(request.messages)),  # litellm writes into them
        "stream": True,
        "stream_options": {"include_usage": True},
        "timeout": _TIMEOUT_SECONDS,
        "num_retries": 0,
        "max_retries": 0,
    }
    if request.tools:
        arguments["tools"] = list(request.tools)
    if settings.api_base is not None:
        arguments["api_base"] = settings.api_base
    if settings.api_key is not None:
        arguments["api_key"] = settings.api_key.get_secret_value()
    return arguments


def _headers(error: Any) -> Mapping[str, str]:
    headers = getattr(getattr(error, "response", None), "headers", None)
    return headers if isinstance(headers, Mapping) else {}
