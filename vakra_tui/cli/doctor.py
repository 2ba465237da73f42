"""``vakra-tui doctor``: versions, paths, environments reached, store health."""

from __future__ import annotations

import asyncio
import platform
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from eval.scored import encoded
from toolenv.errors import VakraError
from toolenv.model import Json
from vakra_tui import __version__
from vakra_tui.cli.parser import Parser, add_data, add_environment, add_judge, options_of
from vakra_tui.cli.streams import stdout
from vakra_tui.options import Options
from vakra_tui.text import sanitize
from vakra_tui.wiring import Wiring

LIBRARIES = ("textual", "rich", "mcp", "openai", "fastapi", "sqlalchemy", "msgspec", "numpy", "jsonschema")

HEALTHY, UNHEALTHY = 0, 4


def main(argv: Sequence[str]) -> int:
    parser = Parser(
        prog="vakra-tui doctor", description="Check versions, paths, the dataset, its environments and the store."
    )
    add_data(parser)
    add_environment(parser)
    add_judge(parser)
    parser.add_argument("--db", metavar="URL", help="session store, an SQLAlchemy URL (default: SQLite of this user)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args(argv)
    options = options_of(arguments)
    found = asyncio.run(examine(options))
    with stdout() as stream:
        if arguments.json:
            stream.write(msgspec.json.format(encoded(found), indent=1) + b"\n")
        else:
            stream.write(text(found).encode() + b"\n")
    return UNHEALTHY if any(section.get("problems") for section in found.values()) else HEALTHY


async def examine(options: Options) -> dict[str, dict[str, Json]]:
    """What was found, by section; a section's ``problems`` are sentences."""
    wiring = Wiring(options)
    try:
        return {
            "versions": _versions(),
            "dataset": _section(lambda: _dataset(wiring)),
            "environments": _section(lambda: _environments(wiring)),
            **await _servers(wiring),
            **await _checkouts(wiring),
            "judge": _section(lambda: _judge(wiring)),
            "store": _section(lambda: _store(wiring)),
            "screen": _screen(),
        }
    finally:
        await wiring.close()


async def _servers(wiring: Wiring) -> dict[str, dict[str, Json]]:
    """For each connection file given with ``--env config:`` whether its servers answer, for a domain a capability."""
    found: dict[str, dict[str, Json]] = {}
    try:
        environments = [one for one in wiring.environments.environments if one.kind == "config"]
        refs = wiring.dataset.refs() if environments else ()
    except VakraError:
        return {}
    for environment in environments:
        section: dict[str, Json] = {}
        problems: list[str] = []
        first = {ref.capability: ref for ref in reversed(refs) if environment.serves(ref.capability, ref.domain)}
        for capability, ref in sorted(first.items()):
            try:
                session = await environment.open(wiring.dataset.load(ref))
                section[f"capability {capability}, {ref.domain}"] = f"{len(await session.list_tools())} tools"
                await session.close()
            except VakraError as error:
                problems.append(f"capability {capability}: {error}")
        problems += getattr(environment, "oddities", ())
        found[f"servers of {environment.name}"] = {**section, "problems": problems}
    return found


async def _checkouts(wiring: Wiring) -> dict[str, dict[str, Json]]:
    """For each checkout given with ``--env vakra:`` whether its tool lists are the published ones."""
    if not any(text.startswith("vakra:") for text in wiring.options.environments):
        return {}
    from toolenv.vakra_checkout import VakraEnvironment

    found: dict[str, dict[str, Json]] = {}
    try:
        environments = [one for one in wiring.environments.environments if isinstance(one, VakraEnvironment)]
    except VakraError:
        return {}
    for environment in environments:
        title = f"tool lists of {environment.checkout.root}"
        try:
            differences, problems = await environment.survey()
        except VakraError as error:
            found[title] = {"problems": [str(error)]}
            continue
        found[title] = {
            "domains mounted": len(environment.checkout.domains),
            "routers not mounted": list(environment.checkout.unmounted),
            "problems": [*problems, *(difference.sentence for difference in differences)],
        }
    return found


def _section(examined: Callable[[], dict[str, Json]]) -> dict[str, Json]:
    try:
        return examined()
    except VakraError as error:
        return {"problems": [str(error)]}


def _versions() -> dict[str, Json]:
    libraries: dict[str, str | None] = {}
    for name in LIBRARIES:
        try:
            libraries[name] = version(name)
        except PackageNotFoundError:
            libraries[name] = None
    return {
        "vakra-tui": __version__,
        "python": platform.python_version(),
        "interpreter": sys.executable,
        "platform": platform.platform(),
        "package": str(Path(__file__).resolve().parent.parent),
        **libraries,
        "problems": [f"the library {name} is not installed" for name, found in libraries.items() if found is None],
    }


def _dataset(wiring: Wiring) -> dict[str, Json]:
    dataset = wiring.dataset
    refs = dataset.refs()
    return {
        "path": str(wiring.data_path.resolve()),
        "sample": wiring.sample,
        "instances": len(refs),
        "capabilities": sorted({ref.capability for ref in refs}),
        "domains": sorted({ref.domain for ref in refs}),
        "problems": list(dataset.problems),
    }


def _environments(wiring: Wiring) -> dict[str, Json]:
    chain = wiring.environments
    served: dict[str, int] = {}
    problems = []
    for capability, domain in sorted({(ref.capability, ref.domain) for ref in wiring.dataset.refs()}):
        environment = chain.find(capability, domain)
        if environment is None:
            problems.append(f"no environment serves capability {capability} of the domain {domain!r}")
        else:
            served[environment.name] = served.get(environment.name, 0) + 1
    return {
        "given": [f"{environment.kind}: {environment.name}" for environment in chain.environments],
        "capabilities and domains served": served,
        "problems": problems,
    }


def _judge(wiring: Wiring) -> dict[str, Json]:
    return {"kind": wiring.judge.kind, "problems": list(getattr(wiring.judge, "problems", ()))}


def _store(wiring: Wiring) -> dict[str, Json]:
    store = wiring.store
    waiting = [f"{file} holds what could not be stored" for file in store.unsaved()]
    return {"name": store.name, "read only": store.read_only, "problems": [*store.check(), *waiting]}


def _screen() -> dict[str, Json]:
    """Where the screen's config file is and what is wrong in it, and where it remembers and writes its errors."""
    from vakra_tui.state.config import Config
    from vakra_tui.state.memory import Memory

    config, memory = Config.of_user(), Memory.of_user()
    read = config.path is not None and config.path.exists()
    return {
        "config file": f"{config.path}{'' if read else ' (not there)'}",
        "commands with chosen keys": len(config.keys),
        "state folder": str(memory.folder),
        "log of errors": f"{memory.crash_log}{'' if memory.crash_log.exists() else ' (none yet)'}",
        "problems": list(config.problems),
    }


def text(found: dict[str, dict[str, Json]]) -> str:
    """The same for a terminal."""
    lines = []
    for title, section in found.items():
        problems = section.get("problems") or []
        lines.append(f"{title}: {'ok' if not problems else 'problems'}")
        for name, value in section.items():
            if name != "problems":
                lines.append(f"  {name}: {_shown(value)}")
        lines.extend(f"  ! {problem}" for problem in problems)
    return "\n".join(sanitize(line) for line in lines)


def _shown(value: Json) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(str(item) for item in value) or "none"
    return "not installed" if value is None else str(value)
