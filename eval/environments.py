"""The environments of a batch in order of preference: the first that serves an instance answers it."""

from __future__ import annotations

from collections.abc import Sequence

from toolenv.environment import ToolEnvironment, ToolSession
from toolenv.errors import NoEnvironment
from toolenv.model import Instance


class EnvironmentChain:
    """Several environments that look like one; which one serves depends on the (capability, domain) alone."""

    def __init__(self, environments: Sequence[ToolEnvironment]) -> None:
        self.environments = tuple(environments)

    @property
    def kind(self) -> str:
        return "+".join(environment.kind for environment in self.environments)

    @property
    def name(self) -> str:
        return "+".join(environment.name for environment in self.environments)

    def fingerprint(self) -> str | None:
        """The digests in order, or None where one of them is unknown."""
        parts = [environment.fingerprint() for environment in self.environments]
        return None if None in parts else " ".join(str(part) for part in parts)

    def find(self, capability: int, domain: str) -> ToolEnvironment | None:
        for environment in self.environments:
            if environment.serves(capability, domain):
                return environment
        return None

    def serves(self, capability: int, domain: str) -> bool:
        return self.find(capability, domain) is not None

    def serving(self, instance: Instance) -> ToolEnvironment:
        """The environment that answers an instance. Raises ``NoEnvironment``."""
        environment = self.find(instance.capability, instance.domain)
        if environment is None:
            tried = ", ".join(environment.name for environment in self.environments) or "none"
            raise NoEnvironment(
                f"no environment serves capability {instance.capability} of the domain {instance.domain!r} "
                f"(given: {tried}{self._native_needs(instance)}); add one with --env"
            )
        return environment

    def _native_needs(self, instance: Instance) -> str:
        if not any(environment.kind == "native" for environment in self.environments):
            return ""
        domain = instance.domain
        files = f"databases/{domain}/{domain}.sqlite"
        if instance.capability == 1:
            return f", which needs {files} and a tool universe"
        return f", which needs {files} and endpoints/{domain}.json" + (" or documents" * (instance.capability == 4))

    async def open(self, instance: Instance) -> ToolSession:
        return await self.serving(instance).open(instance)

    async def close(self) -> None:
        for environment in self.environments:
            await environment.close()
