"""``vakra-tui tools``: list the tools of a domain as an agent sees them, or call one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from eval.scored import encoded
from toolenv.decoding import decoded, what_is_wrong
from toolenv.environment import ToolSession
from toolenv.errors import DataError
from toolenv.model import Instance, Json, ToolSpec
from vakra_tui.cli.parser import Parser, add_environment
from vakra_tui.cli.streams import narrate, stdout
from vakra_tui.options import Options
from vakra_tui.text import sanitize
from vakra_tui.wiring import Wiring

TOOL_FAILED = 2


def main(argv: Sequence[str]) -> int:
    parser = Parser(prog="vakra-tui tools", description="List the tools of a domain, or call one.")
    parser.add_argument("words", nargs="*", metavar="[DATA] [NAME [JSON]]", help="dataset, tool and its arguments")
    parser.add_argument("--capability", type=int, choices=(1, 2, 3, 4), required=True)
    parser.add_argument("--domain", metavar="NAME", required=True)
    parser.add_argument("--instance", metavar="UUID", help="whose tools (default: the first instance of the domain)")
    parser.add_argument("--split", default="test", metavar="NAME")
    parser.add_argument("--json", action="store_true", help="print name, description, source and schema as JSON")
    add_environment(parser)
    arguments = parser.parse_intermixed_args(argv)
    data, name, written = split_words(arguments.words)
    options = Options(
        data=data,
        split=arguments.split,
        environments=tuple(arguments.env or ("native",)),
        capabilities=(arguments.capability,),
        domains=(arguments.domain,),
        instances=(arguments.instance,) if arguments.instance else (),
        limit=1,
    )
    return asyncio.run(_run(options, name, written, as_json=arguments.json))


def split_words(words: Sequence[str]) -> tuple[str | None, str | None, str | None]:
    """DATA, NAME and JSON of the words given; the first word is DATA when it is a path. Raises ``DataError``."""
    rest = list(words)
    data = None
    if rest and (len(rest) > 2 or "/" in rest[0] or Path(rest[0]).exists()):
        data = rest.pop(0)
    if len(rest) > 2:
        raise DataError(f"too many words: {' '.join(rest[2:])!r}; give [DATA] [NAME [JSON]]")
    name, written = (*rest, None, None)[:2]
    return data, name, written


def arguments_of(written: str | None) -> Mapping[str, Json]:
    """The arguments typed as JSON; none typed means none given. Raises ``DataError`` for what is not an object."""
    try:
        arguments = decoded(written) if written is not None else {}
    except ValueError as error:
        raise DataError(f"the arguments cannot be read: the text {what_is_wrong(error)}") from error
    if not isinstance(arguments, dict):
        raise DataError('the arguments are not a JSON object, such as \'{"name": "value"}\'')
    return arguments


async def _run(options: Options, name: str | None, written: str | None, *, as_json: bool) -> int:
    arguments = arguments_of(written)
    wiring = Wiring(options)
    try:
        instance = wiring.dataset.load(wiring.refs()[0])
        session = await wiring.environments.open(instance)
        try:
            await _open(session, instance)
            tools = await session.list_tools()
            if name is None:
                return _list(tools, as_json=as_json)
            return await _call(session, tools, name, arguments)
        finally:
            for environment in wiring.environments.environments:
                for oddity in getattr(environment, "oddities", ()):
                    narrate(f"vakra-tui tools: {oddity}")
            await session.close()
    finally:
        await wiring.close()


async def _open(session: ToolSession, instance: Instance) -> None:
    from sessions.execution import opening_call

    opening = opening_call(instance)
    if opening is not None:
        result = await session.call(opening.name, opening.arguments)
        if result.failed:
            raise DataError(f"instance {instance.uuid} cannot be opened: {result.text}")


def _list(tools: Sequence[ToolSpec], *, as_json: bool) -> int:
    with stdout() as stream:
        if as_json:
            stream.write(msgspec.json.format(encoded(list(tools)), indent=1) + b"\n")
            return 0
        for tool in tools:
            lines = tool.description.strip().splitlines() or [""]
            stream.write(sanitize(f"{tool.name}  [{tool.source}]  {lines[0]}").encode() + b"\n")
    return 0


async def _call(session: ToolSession, tools: Sequence[ToolSpec], name: str, arguments: Mapping[str, Json]) -> int:
    from toolenv.schema import coerce

    spec = next((tool for tool in tools if tool.name == name), None)
    result = await session.call(name, coerce(spec, arguments)[0] if spec is not None else arguments)
    with stdout() as stream:
        stream.write("\n".join(sanitize(line) for line in result.text.split("\n")).encode() + b"\n")
    for note in result.notes:
        narrate(f"vakra-tui tools: {note}")
    if result.failed:
        narrate(f"vakra-tui tools: the call of {name} failed")
        return TOOL_FAILED
    return 0
