"""Kill a batch at random moments, take it up again, and compare the report with that of an undisturbed batch.

    python scripts/kill_resume.py MATERIAL [--kills N] [--seed N]

``MATERIAL`` is a folder with ``data/mini``, ``data/recorded`` and ``data/runs/r1``. A judge server of its own answers
every question; it counts questions that were asked again after their answer had been sent. An answer that was on its
way when the process was killed cannot be known afterwards; such repetitions are counted apart. Exit code 1 when the
reports differ or an answer that had arrived was asked for again.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LATENCY_S = 0.05
ON_ITS_WAY_S = 1.0
"""An answer sent so shortly before a kill may not have been taken in."""

TO_THE_DEAD_S = 0.5
"""An answer sent so shortly after a kill went to the process that was killed."""

SHOWN_CHARACTERS = 2000

PROBE_LENGTH = 200
"""Shorter questions are the probe of every new process."""


class Judge:
    """Rules pass or fail by the digest of what it is asked, so that the same question always gets the same answer."""

    def __init__(self) -> None:
        self.sent: dict[str, list[float]] = defaultdict(list)
        self._lock = threading.Lock()
        judge = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                asked = self.rfile.read(length)
                if len(asked) < length:
                    return  # whoever asked was killed
                question = json.dumps(json.loads(asked)["messages"])
                digest = hashlib.sha256(question.encode()).hexdigest()
                time.sleep(LATENCY_S)
                verdict = "pass" if int(digest, 16) % 4 else "fail"
                content = json.dumps({"verdict": verdict, "reason": digest[:8]})
                choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
                reply = {"id": "1", "object": "chat.completion", "model": "m", "choices": [choice]}
                body = json.dumps(reply).encode()
                try:
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    return  # whoever asked was killed
                if len(question) > PROBE_LENGTH:
                    with judge._lock:
                        judge.sent[digest].append(time.monotonic())

            def log_message(self, format: str, *arguments: object) -> None:
                return None

        class Server(ThreadingHTTPServer):
            def handle_error(self, request: object, client_address: object) -> None:
                return None  # a connection of a killed process

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def repeated(self, kills: list[float]) -> tuple[int, int]:
        """Answers sent again: those that had arrived before a kill, and those that were on their way."""
        arrived = on_the_way = 0
        for times in self.sent.values():
            for earlier in times[:-1]:
                if any(-TO_THE_DEAD_S <= kill - earlier <= ON_ITS_WAY_S for kill in kills):
                    on_the_way += 1
                else:
                    arrived += 1
        return arrived, on_the_way


def command(material: Path, scratch: Path, name: str, judge: Judge) -> list[str]:
    data = material / "data"
    judged = ["--judge", "openai", "--judge-model", "m", "--judge-base-url", judge.url, "--concurrency", "8"]
    environments = ["--env", f"recorded:{data / 'recorded'}", "--env", "native"]
    kept = ["--db", f"sqlite:///{scratch / name}.sqlite", "--out", str(scratch / f"{name}.json"), "--quiet", "--resume"]
    start = [sys.executable, "-m", "vakra_tui", "--batch", str(data / "mini"), "--run", str(data / "runs" / "r1")]
    return [*start, *environments, *judged, *kept]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("material", type=Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    material = options.material.resolve()
    seed = options.seed if options.seed is not None else random.randrange(1 << 30)
    chance = random.Random(seed)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        started = time.monotonic()
        undisturbed = Judge()
        subprocess.run(command(material, scratch, "undisturbed", undisturbed), env=environment, check=True)
        whole = time.monotonic() - started
        judge, kills, finished = Judge(), [], 0
        for _ in range(options.kills):
            process = subprocess.Popen(command(material, scratch, "killed", judge), env=environment)
            try:
                # Early and late moments alike, the first half second of a process included.
                process.wait(chance.uniform(0.2, max(1.0, whole / 3)))
                finished += 1
            except subprocess.TimeoutExpired:
                process.kill()
                kills.append(time.monotonic())
                process.wait()
        subprocess.run(command(material, scratch, "killed", judge), env=environment, check=True)
        one, other = ((scratch / f"{name}.json").read_text().splitlines() for name in ("undisturbed", "killed"))
        same = one == other
        for line in difflib.unified_diff(one, other, "undisturbed", "killed", n=0, lineterm=""):
            print(line[:SHOWN_CHARACTERS])
        arrived, on_the_way = judge.repeated(kills)
        print(
            f"seed {seed}: {len(kills)} kills, {finished} batches that ended before theirs; "
            f"reports {'are equal byte for byte' if same else 'DIFFER'}; {len(judge.sent)} rulings "
            f"({len(undisturbed.sent)} undisturbed), {arrived} asked again after they had arrived, "
            f"{on_the_way} that were on their way at a kill"
        )
        return 0 if same and not arrived else 1


if __name__ == "__main__":
    sys.exit(main())
