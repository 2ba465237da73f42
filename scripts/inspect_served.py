"""List and call the tools of ``vakra-tui serve`` with MCP Inspector's headless command line, a client that is not ours.

    python scripts/inspect_served.py [DATA] --domain D [--inspector "npx -y @modelcontextprotocol/inspector"]

For each capability that DATA (default: the sample) serves, over stdio and over HTTP: all tools must be listed as the
native environment lists them, and one call of each kind must give its text. Needs node; nothing is installed here.
Exit code 1 when anything differs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolenv.dataset import Dataset
from toolenv.model import Instance, ToolResult, ToolSpec
from toolenv.native import NativeEnvironment

PROGRAM = str(Path(sys.executable).with_name("vakra-tui"))
VALUES = {"integer": 1, "number": 1.5, "string": "a"}


def calls(tools: Sequence[ToolSpec]) -> Iterator[tuple[str, dict[str, Any]]]:
    """One call of each kind that is there: opening, a table tool without tables, endpoint, retriever, no tool."""
    names = {tool.name for tool in tools}
    if "get_data" in names:
        yield "get_data", {}
        yield "concatenate_data", {"data_label_1": "none", "data_label_2": "none"}
    endpoint = next((tool for tool in tools if "get_data" not in names and not tool.name.startswith("query_")), None)
    if endpoint is not None:
        properties = endpoint.input_schema["properties"]
        yield endpoint.name, {name: VALUES[value["type"]] for name, value in properties.items()}
    retriever = next((tool for tool in tools if tool.name.startswith("query_")), None)
    if retriever is not None:
        yield retriever.name, {"question": "water", "n_results": 1}
    yield "no_such_tool", {}


async def native(data: Path, capability: int, domain: str) -> tuple[list[ToolSpec], list[tuple[Any, ToolResult]]]:
    environment = NativeEnvironment(Dataset.open(data))
    if not environment.serves(capability, domain):
        return [], []
    instance = Instance(uuid="", capability=capability, domain=domain, turns=())
    tools = list(await (await environment.open(instance)).list_tools())
    # The inspector connects anew for each call.
    answers = [(call, await (await environment.open(instance)).call(*call)) for call in calls(tools)]
    await environment.close()
    return tools, answers


@contextmanager
def target(command: list[str], *, http: bool) -> Iterator[list[str]]:
    """What the inspector is told: the command itself, or the URL of a server that runs meanwhile."""
    if not http:
        yield command
        return
    with subprocess.Popen([*command, "--http", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        yield [server.stderr.readline().strip(), "--transport", "http"]
        server.terminate()


def inspected(inspector: list[str], place: list[str], *words: str) -> Any:
    done = subprocess.run([*inspector, "--cli", *place, *words], capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"problem": (done.stdout + done.stderr)[-500:]}


def compared(inspector: list[str], data: Path, capability: int, domain: str, *, http: bool) -> bool:
    tools, answers = asyncio.run(native(data, capability, domain))
    if not tools:
        return True
    command = [PROGRAM, "serve", str(data), "--capability", str(capability), "--domain", domain]
    good = True
    with target(command, http=http) as place:
        listed = inspected(inspector, place, "--method", "tools/list")
        same = [tool["name"] for tool in listed.get("tools", ())] == [tool.name for tool in tools]
        good = good and same
        kinds = []
        for (name, arguments), expected in answers:
            given = [f"--tool-arg={key}={value}" for key, value in arguments.items()]
            answer = inspected(inspector, place, "--method", "tools/call", "--tool-name", name, *given)
            texts = [block.get("text") for block in answer.get("content", ())]
            right = texts == [expected.text] and bool(answer.get("isError")) == expected.is_error
            kinds.append(f"{name} {'same' if right else f'DIFFERS {answer}'}")
            good = good and right
    way = "http" if http else "stdio"
    print(f"capability {capability}, {way}: {len(tools)} tools {'same' if same else listed}; {'; '.join(kinds)}")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("--domain", default="elements")
    parser.add_argument("--inspector", default="npx -y @modelcontextprotocol/inspector")
    options = parser.parse_args()
    if options.data is None:
        from vakra_tui.sample import sample_dataset

        options.data = sample_dataset()
    words = shlex.split(options.inspector)
    results = [
        compared(words, options.data, capability, options.domain, http=http)
        for http in (False, True)
        for capability in (1, 2, 3, 4)
    ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
