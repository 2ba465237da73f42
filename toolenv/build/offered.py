"""Collections that several domains are offered: each written once, without what answers any domain's endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from toolenv.build import layout
from toolenv.build.decontamination import leaks
from toolenv.build.domain_writer import DomainWriter
from toolenv.build.source import NotBuildable, Passage


def write_collections(domains: Sequence[DomainWriter], out: Path) -> None:
    """Write every collection that is offered, the domains' own and the distractors.

    A passage that answers an endpoint's hop of a domain that it is offered in is left out and told with that domain;
    where a task of its own domain needs it, the other domain's task goes. Raises ``NotBuildable`` for two different
    collections of one name.
    """
    collections: dict[str, tuple[Passage, ...]] = {}
    for domain in domains:
        if domain.source.passages:
            collections[domain.source.name] = domain.passages
    for domain in domains:
        for name, passages in domain.source.distractors.items():
            if collections.setdefault(name, passages) != passages:
                raise NotBuildable(f"there are two different collections of the name {name!r}")
    gone: set[tuple[str, str]] = set()
    needed = {d.source.name: d.needed_documents() for d in domains}
    for domain in domains:
        for name in domain.source.offered if domain.source.passages else ():
            told = {p.doc_id for p in collections.get(name, ()) if p.shared}
            for leak in leaks(collections.get(name, ()), domain.asked, name):
                if leak.doc_id in told or leak.doc_id in needed.get(name, ()):
                    domain.give_up(leak)
                else:
                    domain.removed.append(leak)
                    gone.add((name, leak.doc_id))
    for name, passages in collections.items():
        layout.write_documents(out, name, [p for p in passages if (name, p.doc_id) not in gone])
