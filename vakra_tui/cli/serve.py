"""``vakra-tui serve``: the tools of a domain as an MCP server, on stdio or over HTTP."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from toolenv.errors import DataError
from vakra_tui import __version__
from vakra_tui.cli.parser import Parser
from vakra_tui.cli.streams import narrate
from vakra_tui.options import Options
from vakra_tui.wiring import Wiring

CAPABILITIES = (1, 2, 3, 4)


def main(argv: Sequence[str]) -> int:
    parser = Parser(
        prog="vakra-tui serve",
        description="Serve the tools of a domain over MCP, on stdio or with --http to any number of clients.",
    )
    parser.add_argument("data", nargs="?", metavar="DATA", help="dataset directory (default: the sample)")
    parser.add_argument("--capability", type=int, choices=CAPABILITIES, help="default: $CAPABILITY_ID")
    parser.add_argument("--domain", metavar="NAME", help="default: $MCP_DOMAIN")
    parser.add_argument("--http", metavar="HOST:PORT", help="serve streamable HTTP at http://HOST:PORT/mcp")
    parser.add_argument(
        "--pandas", type=int, choices=(2, 3), default=3, help="whose type names are printed in capability 1 (3)"
    )
    arguments = parser.parse_args(argv)
    capability = arguments.capability or _capability(os.environ.get("CAPABILITY_ID", ""))
    domain = arguments.domain or os.environ.get("MCP_DOMAIN", "")
    if not domain:
        raise DataError("which domain? give --domain NAME or set MCP_DOMAIN")
    try:
        return asyncio.run(_serve(arguments.data, capability, domain, arguments.http, pandas2=arguments.pandas == 2))
    except KeyboardInterrupt:
        return 0


def _capability(text: str) -> int:
    """The capability that an environment variable names. Raises ``DataError``."""
    if not text:
        raise DataError("which capability? give --capability N or set CAPABILITY_ID")
    if text.strip() not in map(str, CAPABILITIES):
        raise DataError(f"CAPABILITY_ID is {text!r}; it must be 1, 2, 3 or 4")
    return int(text)


async def _serve(data: str | None, capability: int, domain: str, address: str | None, *, pandas2: bool) -> int:
    from toolenv.native import NativeEnvironment
    from toolenv.serve.running import end_on_termination, is_local, serve_http, serve_stdio

    wiring = Wiring(Options(data=data))
    environment = NativeEnvironment(wiring.dataset, pandas2=pandas2)
    try:
        if not environment.serves(capability, domain):
            raise DataError(
                f"{wiring.data_path} has no tools for capability {capability} of the domain {domain!r}: "
                "neither a database with a tool universe, nor endpoints, nor documents"
            )
        end_on_termination()
        if address is None:
            await serve_stdio(environment, capability, domain, __version__)
        else:
            if not is_local(address):
                narrate(f"vakra-tui serve: {address} can be reached from other machines, and anyone may call")
            await serve_http(environment, capability, domain, __version__, address, lambda url: narrate(url))
    finally:
        await environment.close()
    return 0
