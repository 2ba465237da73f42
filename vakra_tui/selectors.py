"""Which instances the selectors ``--capability``, ``--domain`` and ``--instance`` mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vakra_tui.options import Options

Named = tuple[int | None, str, str]
"""(capability, domain, uuid) of an instance or of a prediction."""


def selects(options: Options, named: Named) -> bool:
    """Whether all selectors match."""
    capability, domain, uuid = named
    return (
        (not options.capabilities or capability in options.capabilities)
        and (not options.domains or domain in options.domains)
        and (not options.instances or uuid.startswith(options.instances))
    )


def words(options: Options) -> str:
    """The selectors as they were typed."""
    return " ".join(_all(options)) or "the selectors"


def unmatched(options: Options, known: Iterable[Named]) -> list[str]:
    """The selectors that nothing matches, whatever the others say."""
    known = list(known)
    capabilities, domains, uuids = {of[0] for of in known}, {of[1] for of in known}, {of[2] for of in known}
    return [
        *(f"--capability {each}" for each in options.capabilities if each not in capabilities),
        *(f"--domain {each}" for each in options.domains if each not in domains),
        *(f"--instance {each}" for each in options.instances if not any(uuid.startswith(each) for uuid in uuids)),
    ]


def _all(options: Options) -> Iterator[str]:
    yield from (f"--capability {capability}" for capability in options.capabilities)
    yield from (f"--domain {domain}" for domain in options.domains)
    yield from (f"--instance {instance}" for instance in options.instances)
