"""``--env vakra:CHECKOUT``: the tools of a checkout exactly as the release lists them, from child processes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolenv.checksum import published_checksums
from toolenv.errors import DataError, EnvironmentFailure
from toolenv.files import followed
from toolenv.model import Json, Value
from toolenv.remote.config import CapabilityConfig, ServerConfig, local_environment
from toolenv.remote.environment import ServerEnvironment
from toolenv.vakra_checkout.layout import Checkout, read_checkout

if TYPE_CHECKING:
    from toolenv.dataset import Dataset

_CHILD: Final = "toolenv.vakra_checkout.child"
_SERVERS: Final = 1
"""Children of a domain: its endpoints keep no state, and importing them costs seconds."""

_SURVEY_S: Final = 600.0


class Difference(Value, frozen=True):
    """A tool list that is not the published one; ``found`` is None where the checkout has no such domain."""

    capability: int
    domain: str
    published: str
    found: str | None

    @property
    def sentence(self) -> str:
        if self.found is None:
            return f"capability {self.capability}, {self.domain}: published, but not among the checkout's domains"
        return (
            f"capability {self.capability}, {self.domain}: the tool list's checksum is {self.found[:12]}..., "
            f"the published one {self.published[:12]}..."
        )


class VakraEnvironment(ServerEnvironment):
    """A ``ToolEnvironment`` for capabilities 2 to 4 over a checkout of VAKRA and a dataset's databases.

    Routers are imported in child processes only, in a scratch folder that holds links to the databases; it is removed
    by ``close``. In capability 4 the dataset's documents stand behind the retriever tools. Raises ``DataError`` where
    there is no checkout.
    """

    kind = "vakra"

    def __init__(self, checkout: Path | str, dataset: Dataset, *, logs: Path | None = None) -> None:
        self.checkout: Checkout = read_checkout(followed(Path(checkout)))
        self._databases = dataset
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        super().__init__(self.checkout.root.name, {}, dataset, limit=_SERVERS, logs=logs)

    def fingerprint(self) -> str | None:
        parts = f"vakra|{self.checkout.fingerprint()}|{self._databases.fingerprint()}"
        return "sha256:" + sha256(parts.encode()).hexdigest()

    def serves(self, capability: int, domain: str) -> bool:
        return capability in (2, 3, 4) and self.checkout.has(domain)

    def configured(self, capability: int, domain: str) -> CapabilityConfig:
        data = str(self._databases.path.resolve())
        words = ("-m", _CHILD, "serve", str(self.checkout.root), data, str(self._report(capability, domain)))
        env = {"PYTHONDONTWRITEBYTECODE": "1"}
        child = ServerConfig(kind="command", command=(sys.executable, *words), env=env, cwd=str(self._folder()))
        return CapabilityConfig(servers=(child,))

    @property
    def problems(self) -> list[str]:
        """Sentences about routers whose tools are missing."""
        found = [f"{self.name} mounts {name}, which has no file." for name in self.checkout.missing]
        if self._scratch is not None:
            for report in sorted(Path(self._scratch.name).glob("report-*.json")):
                failed = json.loads(report.read_bytes())["failed"]
                found.extend(_failed(self.name, name, reason) for name, reason in failed.items())
        return list(dict.fromkeys(found))

    async def close(self) -> None:
        await super().close()
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None

    async def survey(self) -> tuple[list[Difference], list[str]]:
        """Tool lists that differ from the published ones, and sentences about routers that cannot be imported.

        Raises ``DataError`` where nothing is published, ``EnvironmentFailure`` where the checkout cannot be run.
        """
        published = published_checksums(self.checkout.root)
        report = self._folder() / "survey.json"
        words = (sys.executable, "-m", _CHILD, "survey", str(self.checkout.root), str(report))
        found = await _run(words, self._folder(), report)
        sums: Mapping[int, Mapping[str, str]] = {2: found["rest"], 3: found["rest"], 4: found["retriever"]}
        differences = [
            Difference(capability=capability, domain=domain, published=text, found=sums[capability].get(domain))
            for capability, domains in sorted(published.items())
            for domain, text in sorted(domains.items())
            if sums[capability].get(domain) != text
        ]
        problems = [_failed(self.name, name, reason) for name, reason in found["failed"].items()]
        problems += [f"{self.name} mounts {name}, which has no file." for name in self.checkout.missing]
        return differences, problems

    def _report(self, capability: int, domain: str) -> Path:
        return self._folder() / f"report-{capability}-{domain}.json"

    def _folder(self) -> Path:
        """The scratch folder: ``db/<domain>/<domain>.sqlite`` for each database that is there, and nothing else."""
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="vakra-tui-checkout-")
            for domain in self.checkout.domains:
                try:
                    database = self._databases.database(domain)
                except DataError:
                    continue
                if database.is_file():
                    place = Path(self._scratch.name) / "db" / domain
                    place.mkdir(parents=True)
                    (place / f"{domain}.sqlite").symlink_to(database.resolve())
        return Path(self._scratch.name)


async def _run(words: tuple[str, ...], folder: Path, report: Path) -> dict[str, Json]:
    null, pipe = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
    env = {**local_environment({}), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    process = await asyncio.create_subprocess_exec(
        *words, stdin=null, stdout=null, stderr=pipe, cwd=folder, env=env, start_new_session=True
    )
    try:
        _, printed = await asyncio.wait_for(process.communicate(), _SURVEY_S)
    except TimeoutError as error:
        raise EnvironmentFailure(f"the checkout's routers were not imported within {_SURVEY_S:g} s.") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    written = await asyncio.to_thread(_written, report)
    if process.returncode != 0 or written is None:
        last = printed.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise EnvironmentFailure(f"the checkout's routers cannot be imported: {''.join(last) or 'no reason given'}.")
    return written


def _written(report: Path) -> dict[str, Json] | None:
    try:
        found: dict[str, Json] = json.loads(report.read_bytes())
    except FileNotFoundError:
        return None
    return found


def _failed(name: str, router: str, reason: str) -> str:
    return f"{name}: the router {router} cannot be imported ({reason}); its tools are missing."
