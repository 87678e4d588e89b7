"""A TCP proxy that misbehaves on request."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import threading


class Link(enum.Enum):
    """What a proxy does with its connections."""

    PASS = "pass"
    SLOW = "slow"
    CUT = "cut"  # ends all connections and takes no new ones
    BLACK_HOLE = "black hole"  # keeps connections open but passes nothing on


SLOW_BYTES_PER_SECOND = 64 * 1024
SLOW_DELAY_SECONDS = 0.1
CHUNK_BYTES = 64 * 1024


class Proxy:
    """Listens on a port of the loopback and passes connections on to another one.

    Its event loop runs on a thread of its own, shared by all proxies of a Network.
    """

    def __init__(self, port: int, target_port: int) -> None:
        self.port = port
        self._target_port = target_port
        self._link = Link.PASS
        self.bytes_sent = 0  # to the target
        self._changed = asyncio.Event()
        self._connections: set[asyncio.StreamWriter] = set()

    async def listen(self) -> None:
        await asyncio.start_server(self._accept, "127.0.0.1", self.port)

    async def set_link(self, link: Link) -> None:
        self._link = link
        self._changed.set()
        self._changed = asyncio.Event()
        if link is Link.CUT:
            for writer in list(self._connections):
                # A reset, not an orderly end.
                writer.transport.abort()

    def _is_cut(self) -> bool:
        return self._link is Link.CUT

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut():
            writer.transport.abort()
            return
        try:
            onward_reader, onward = await asyncio.open_connection("127.0.0.1", self._target_port)
        except OSError:
            writer.transport.abort()
            return
        self._connections |= {writer, onward}
        try:
            # The link may have been cut while the connection was made.
            if self._is_cut():
                return
            await asyncio.gather(
                self._pump(reader, onward, True), self._pump(onward_reader, writer, False)
            )
        finally:
            self._connections -= {writer, onward}
            for end in (writer, onward):
                end.transport.abort()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_onward: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK_BYTES):
                while self._link is Link.BLACK_HOLE:
                    await self._changed.wait()
                if self._link is Link.SLOW:
                    await asyncio.sleep(SLOW_DELAY_SECONDS + len(data) / SLOW_BYTES_PER_SECOND)
                writer.write(data)
                self.bytes_sent += len(data) if is_onward else 0
                await writer.drain()
        # The end of one direction ends both: gRPC does not half-close connections.
        writer.transport.abort()


class Network:
    """All proxies, and the thread that they run on."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def add(self, port: int, target_port: int) -> Proxy:
        proxy = Proxy(port, target_port)
        asyncio.run_coroutine_threadsafe(proxy.listen(), self._loop).result(10)
        return proxy

    def set_link(self, proxy: Proxy, link: Link) -> None:
        asyncio.run_coroutine_threadsafe(proxy.set_link(link), self._loop).result(10)
