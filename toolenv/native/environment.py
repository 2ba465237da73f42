"""The native environment: VAKRA's tools in this process, from a dataset's own databases and endpoints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from toolenv.environment import ToolSession
from toolenv.errors import DataError, EnvironmentFailure, NoEnvironment
from toolenv.model import Instance, Universe
from toolenv.native.loading import TableCache
from toolenv.native.session import NativeSession, Services
from toolenv.native.tables import Budget

if TYPE_CHECKING:
    from toolenv.dataset import Dataset

MEMORY_LIMIT = 256 * 1024 * 1024
"""Bytes that the rows of all tables of one environment may occupy, by estimate."""


class NativeEnvironment:
    """A ``ToolEnvironment`` for all capabilities that a dataset has the material for.

    ``pandas2`` prints the type names of pandas 2. With ``offload`` work runs in threads, so that an
    event loop never waits for it.
    """

    kind = "native"
    name = "native"

    def __init__(
        self, dataset: Dataset, *, pandas2: bool = False, offload: bool = False, memory_limit: int = MEMORY_LIMIT
    ) -> None:
        self._dataset = dataset
        self._pandas2 = pandas2
        self._databases: dict[str, Path] = {}
        cache = TableCache(Budget(memory_limit), pandas2=pandas2)
        self._services = Services(dataset, cache, pandas2=pandas2, offload=offload)

    def fingerprint(self) -> str | None:
        """The dataset's fingerprint with the settings that change answers."""
        from hashlib import sha256

        from toolenv.documents import embedder_from_environment

        names = "pandas2" if self._pandas2 else "pandas3"
        embedder = embedder_from_environment()
        if embedder is not None:
            names += f"|{embedder.model}|{embedder.settings.base_url}"
        return "sha256:" + sha256(f"native|{names}|{self._dataset.fingerprint()}".encode()).hexdigest()

    def serves(self, capability: int, domain: str) -> bool:
        """Whether the dataset has what the capability's tools come from: a database and universes, or endpoints.

        Documents alone do not serve capability 4: its instances also call the domain's endpoints, and a recorded or
        configured environment may have both.
        """
        if capability == 1:
            return self._database(domain) is not None and bool(self._dataset.universes(domain))
        return self._dataset.endpoints(domain) is not None

    async def open(self, instance: Instance) -> ToolSession:
        if not self.serves(instance.capability, instance.domain):
            lacks = "database or its tool universes" if instance.capability == 1 else "endpoints"
            raise NoEnvironment(
                f"no environment for domain {instance.domain}, capability {instance.capability}: the dataset does not "
                f"hold the domain's {lacks}; give a recorded or a configured environment."
            )
        if instance.capability != 1:
            from toolenv.native.composed import open_composed

            return open_composed(self._dataset, instance, offload=self._services.offload)
        database = self._database(instance.domain)
        assert database is not None
        return NativeSession(self._services, database, self._first_universe(instance))

    async def close(self) -> None:
        """Forget all tables; sessions that are still open read theirs again."""
        self._services.close()

    def _first_universe(self, instance: Instance) -> Universe:
        universe = self._dataset.universe(instance.universe_id) if instance.universe_id else None
        if universe is None:
            universe = next(iter(self._dataset.universes(instance.domain).values()), None)
        if universe is None:
            raise EnvironmentFailure(
                f"domain {instance.domain} has no tool universe; the dataset's mapping must name one."
            )
        return universe

    def _database(self, domain: str) -> Path | None:
        path = self._databases.get(domain)
        if path is None:
            try:
                path = self._databases[domain] = self._dataset.database(domain)
            except DataError:
                return None
        return path if path.is_file() else None
