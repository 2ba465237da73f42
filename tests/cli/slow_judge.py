"""A judge endpoint that holds its answers back on demand and knows what it was asked."""

from __future__ import annotations

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

VERDICT = {"verdict": "pass", "ruling": "pass", "reason": "as asked", "outcome": "pass", "score": 1}


PROBE_LENGTH = 200
"""Shorter questions are the probe that precedes the first ruling of a process; they are not counted."""


class SlowJudge:
    """Answers ``pass``; after ``hold_after`` answers every further one waits for ``release``.

    ``held`` is set once ``waiting`` questions wait: with as many questions at a time, every answer given has then
    been taken in. ``repeated`` counts questions that were asked again after their answer was
    given. ``answered`` counts answers.
    """

    def __init__(self, hold_after: int | None = None, waiting: int = 1) -> None:
        self.held = threading.Event()
        self._released = threading.Event()
        self._hold_after = hold_after
        self._lock = threading.Lock()
        self._answered: Counter[str] = Counter()
        self._waiting = waiting
        self._begun = 0
        judge = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                question = json.dumps(body["messages"])
                if not judge._wait():
                    self.close_connection = True
                    return
                content = json.dumps(
                    {"choices": [choice()], "model": "m", "id": "1", "object": "chat.completion"}
                ).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
                if len(question) > PROBE_LENGTH:
                    with judge._lock:
                        judge._answered[question] += 1

            def log_message(self, format: str, *arguments: object) -> None:
                return None

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def _wait(self) -> bool:
        with self._lock:
            self._begun += 1
            over = 0 if self._hold_after is None else self._begun - self._hold_after
        if over <= 0 or self._released.is_set():
            return True
        if over >= self._waiting:
            self.held.set()
        self._released.wait(240)
        # Whoever asked is gone: this question was never answered.
        return False

    def release(self) -> None:
        self._released.set()

    @property
    def answered(self) -> int:
        return self._answered.total()

    @property
    def repeated(self) -> int:
        return sum(count - 1 for count in self._answered.values())

    def __enter__(self) -> SlowJudge:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()


def choice() -> dict[str, object]:
    message = {"role": "assistant", "content": json.dumps(VERDICT)}
    return {"index": 0, "message": message, "finish_reason": "stop"}
