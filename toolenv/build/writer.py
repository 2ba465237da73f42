"""The writer: sources in, a dataset in VAKRA's layout out, every ground truth made by executing it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from toolenv.build import layout
from toolenv.build.decontamination import Leak
from toolenv.build.domain_writer import DomainWriter, instance_uuid, query_shape
from toolenv.build.offered import write_collections
from toolenv.build.source import DomainSource, Rejection
from toolenv.model import Value

Progress = Callable[[str], None]


class BuildReport(Value, frozen=True):
    """What was written, by domain: numbers of instances and endpoints, passages left out because they leak, keys of the
    tasks that became instances; and what was rejected."""

    instances: Mapping[str, int]
    endpoints: Mapping[str, int]
    removed: Mapping[str, tuple[Leak, ...]]
    rejections: tuple[Rejection, ...] = ()
    written: Mapping[str, frozenset[str]] = {}

    def passages_removed(self, domain: str, collection: str | None = None) -> int:
        """How many passages were left out for a domain: of all collections offered there, or of one."""
        return len({(r.collection, r.doc_id) for r in self.removed[domain] if collection in (None, r.collection)})


async def build_dataset(
    sources: Sequence[DomainSource], out: Path, *, strict: bool = True, progress: Progress = lambda _: None
) -> BuildReport:
    """Write the dataset of all sources into the empty or absent directory ``out``.

    With ``strict``, raises ``NotBuildable`` that names domain and task when a gold SQL, a chain or a passage does
    not hold
    what it must; otherwise such a task is left out and reported.
    """
    from toolenv.dataset import Dataset
    from toolenv.native import NativeEnvironment

    domains = [DomainWriter(source, strict=strict) for source in sources]
    try:
        for domain in domains:
            domain.prepare(out)
        write_collections(domains, out)
        layout.write_configs(out, sources, [u for domain in domains for u in domain.universes()])
        environment = NativeEnvironment(Dataset.open(out))
        try:
            for domain in domains:
                await domain.write_instances(out, environment, progress)
        finally:
            await environment.close()
        layout.write_configs(out, sources, [u for domain in domains for u in domain.universes()])
    finally:
        for domain in domains:
            domain.close()
    return BuildReport(
        instances={d.source.name: len(d.written) for d in domains},
        endpoints={d.source.name: len(d.catalogue.endpoints) for d in domains},
        removed={d.source.name: tuple(d.removed) for d in domains},
        rejections=tuple(r for d in domains for r in d.rejections),
        written={d.source.name: frozenset(d.written) for d in domains},
    )


__all__ = ["BuildReport", "build_dataset", "instance_uuid", "query_shape"]
