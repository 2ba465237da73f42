"""The environment of a connection file: pools of servers, one for each (capability, domain) that is asked for."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolenv.errors import NoEnvironment
from toolenv.model import Instance
from toolenv.remote.config import (
    CapabilityConfig,
    ServerConfig,
    container_command,
    described,
    expanded,
    local_environment,
    read_config,
    told,
)
from toolenv.remote.pool import LIMIT, Pool, problems_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from toolenv.dataset import Dataset
    from toolenv.remote.bundle import Bundle
    from toolenv.remote.connection import Outstanding
    from toolenv.remote.session import RemoteSession
    from toolenv.remote.tap import Wire

LOGS_KEPT: Final = 40


class ServerEnvironment:
    """A ``ToolEnvironment`` over servers of the Model Context Protocol, by capability.

    ``limit`` is how many servers of a (capability, domain) run at a time. ``dataset`` tells which tool universes there
    are, needed to reset a server between sessions of one universe. Servers' stderr goes to files in ``logs``.
    """

    kind = "config"

    def __init__(
        self,
        name: str,
        config: Mapping[int, CapabilityConfig],
        dataset: Dataset | None = None,
        *,
        limit: int = LIMIT,
        logs: Path | None = None,
    ) -> None:
        self.name = name
        self._config = config
        self._dataset = dataset
        self._limit = limit
        self._logs = logs
        self._pools: dict[tuple[int, str], Pool] = {}

    def fingerprint(self) -> str | None:
        """Unknown: what a server answers is decided elsewhere."""
        return None

    def serves(self, capability: int, domain: str) -> bool:
        config = self._config.get(capability)
        return config is not None and (config.domains is None or domain in config.domains)

    def configured(self, capability: int, domain: str) -> CapabilityConfig:
        """The servers of a (capability, domain) that is served."""
        return self._config[capability]

    async def open(self, instance: Instance) -> RemoteSession:
        from toolenv.remote.session import RemoteSession

        session = RemoteSession(self._pool(instance.capability, instance.domain), instance)
        try:
            await session.start()
        except BaseException:
            await session.close()
            raise
        return session

    async def close(self) -> None:
        """End all servers. Sessions that are open fail from now on."""
        await asyncio.gather(*(pool.close() for pool in self._pools.values()))

    @property
    def starts(self) -> int:
        """Servers (or sets of servers that act as one) started so far."""
        return sum(pool.starts for pool in self._pools.values())

    @property
    def outstanding(self) -> list[Outstanding]:
        """The calls that wait for an answer, oldest first."""
        found = [
            call
            for pool in self._pools.values()
            for bundle in pool.bundles
            for connection in bundle.connections
            for call in connection.outstanding.values()
        ]
        return sorted(found, key=lambda call: call.since)

    @property
    def oddities(self) -> list[str]:
        """Sentences about servers that misbehave and were used all the same; what they count depends on the moment."""
        found: dict[str, None] = {}
        for pool in self._pools.values():
            found.update(dict.fromkeys(pool.problems))
            for bundle in pool.bundles:
                found.update(dict.fromkeys(problems_of(bundle)))
        return list(found)

    def _pool(self, capability: int, domain: str) -> Pool:
        place = (capability, domain)
        pool = self._pools.get(place)
        if pool is None:
            if not self.serves(capability, domain):
                raise NoEnvironment(f"{self.name} has no server for domain {domain} of capability {capability}.")
            config = self.configured(capability, domain)
            name = f"{self.name}, capability {capability}, domain {domain}"
            pool = Pool(
                name, lambda n: self._bundle(config, capability, domain, n), self._universes(place), self._limit
            )
            self._pools[place] = pool
        return pool

    def _universes(self, place: tuple[int, str]) -> Iterable[str]:
        if place[0] != 1 or self._dataset is None:
            return ()
        return tuple(self._dataset.universes(place[1]))

    def _bundle(self, config: CapabilityConfig, capability: int, domain: str, number: int) -> Bundle:
        from toolenv.remote.bundle import Bundle
        from toolenv.remote.connection import Connection

        def connection(index: int, server: ServerConfig) -> Connection:
            mark = f"{capability}-{domain}-{number}-{index}"
            return Connection(
                described(server),
                lambda wire: self._streams(server, capability, domain, mark, wire),
                deadline_s=config.timeout_s,
            )

        return Bundle([connection(index, server) for index, server in enumerate(config.servers, start=1)])

    @asynccontextmanager
    async def _streams(
        self, server: ServerConfig, capability: int, domain: str, mark: str, wire: Wire
    ) -> AsyncIterator[Any]:
        if server.kind == "http":
            from toolenv.remote.web import web_streams

            assert server.url is not None
            url = expanded(server.url, domain, self.name)
            headers = {name: expanded(text, domain, self.name) for name, text in server.headers.items()}
            async with web_streams(url, headers, wire) as (read, write):
                yield read, write, None
            return
        from toolenv.remote.containers import runtime_for
        from toolenv.remote.log import ServerLog
        from toolenv.remote.process import server_process

        if server.kind == "container":
            assert server.container is not None
            runtime = await runtime_for(server.container, server.runtime)
            command, env = container_command(runtime, server, capability, domain), local_environment({})
        else:
            command, env = server.command, local_environment(told(server, capability, domain))
        log = ServerLog(self._log_path(mark))
        async with server_process(command, env, server.cwd, log, wire) as (read, write, process):
            yield read, write, process

    def _log_path(self, mark: str) -> Path:
        """A file of this process's own for a server's log."""
        folder = self._logs
        if folder is None:
            from platformdirs import user_log_path

            folder = user_log_path("vakra-tui") / "servers"
        # An old log that stays costs a little room; whether the new one can be written its writer tells.
        with suppress(OSError):
            logs = sorted(folder.glob("*.log"), key=lambda path: path.stat().st_mtime)
            for old in logs[:-LOGS_KEPT]:
                old.unlink(missing_ok=True)
        return folder / f"{os.getpid()}-{mark}.log"


class RemoteEnvironment(ServerEnvironment):
    """The servers of a connection file. Raises ``DataError`` for a file that cannot be used."""

    def __init__(
        self, path: Path | str, dataset: Dataset | None = None, *, limit: int = LIMIT, logs: Path | None = None
    ) -> None:
        super().__init__(Path(path).name, read_config(Path(path)), dataset, limit=limit, logs=logs)
