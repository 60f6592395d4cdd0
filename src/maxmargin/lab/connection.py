"""HTTP connections whose request line and headers must come soon; whoever sends them slowly is disconnected."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_MAX_SECONDS = 10.0  # until the headers of a request must be here: the page is on this computer


class Connection(H11Protocol):
    """uvicorn's protocol with a limit for headers: they are missing as long as the client's side of h11 is idle."""

    headers_max_seconds = HEADERS_MAX_SECONDS
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._forget()
        elif self._late is None:
            self._late = self.loop.call_later(self.headers_max_seconds, self.transport.close)

    def _forget(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
