"""A small server on stdio that speaks the protocol by hand and can do one thing wrong. Needs no packages.

python small_server.py FAULT [ARGUMENT]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

FAULT = sys.argv[1]
ARGUMENT = sys.argv[2] if len(sys.argv) > 2 else ""
ROWS = 60_000
TABLES = {"u1": ("city", ["Ulm", "Bonn"]), "u2": ("river", ["Isar"]), "u3": ("hill", ["Brocken"])}


def tool(name: str, **properties: Any) -> dict[str, Any]:
    return {"name": name, "description": name, "inputSchema": {"type": "object", "properties": properties}}


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def plain(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], **more}


class Server:
    def __init__(self) -> None:
        self.tools = [tool("ask", text={"type": "string"})]
        self.universe = "u1"
        self.handles: dict[str, list[str]] = {}
        self.count = 0
        if FAULT == "changing":
            self.tools = [tool("open"), tool("old")]
        if FAULT.startswith("tables"):
            self.tools = [tool("get_data", tool_universe_id={"type": "string"}), tool("count", data_label={})]
        if FAULT == "named":
            self.tools = [tool("shared"), tool(f"only_{ARGUMENT}")]

    def list(self, params: dict[str, Any]) -> dict[str, Any]:
        if FAULT == "pages":
            start = int(params.get("cursor") or 0)
            page = [tool(f"t{number:03}") for number in range(start, min(start + 50, 120))]
            return {"tools": page, **({"nextCursor": str(start + 50)} if start + 50 < 120 else {})}
        if FAULT == "circle":
            return {"tools": [tool("a"), tool("b"), {"description": "no name"}], "nextCursor": "same"}
        if FAULT == "no list":
            return {"tools": "none"}
        return {"tools": self.tools}

    def call(self, identity: Any, params: dict[str, Any]) -> dict[str, Any] | None:
        name, given = params["name"], params.get("arguments") or {}
        if FAULT == "dies":
            sys.stderr.write("first cause\nlast words\n")
            sys.stderr.flush()
            os._exit(7)
        if FAULT == "dies once" and given.get("text") == "die":
            os._exit(1)
        if FAULT == "orphan":
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"])
            os._exit(1)
        if FAULT == "banner":
            plain("a plain line before the answer")
        if FAULT == "noise":
            sys.stderr.write("\x1b[31mred\x1b[0m \x9b2J line\n" * 8000)
            sys.stderr.flush()
        if FAULT == "slow":
            time.sleep(120)
        if FAULT == "progress":
            token = params["_meta"]["progressToken"]
            for step in range(9):
                time.sleep(float(ARGUMENT or 0))
                detail = {"progressToken": token, "progress": step, "total": 9, "message": f"part {step}"}
                send({"method": "notifications/progress", "params": detail})
        if FAULT == "large":
            return text(json.dumps([{"id": number, "name": f"row {number}"} for number in range(ROWS)]))
        if FAULT == "halves":
            return text("caf\u00e9 \ud83d broken \udc97 end", structuredContent={"half": "\ud83d"})
        if FAULT == "error":
            return text("no such table: Teams", isError=True)
        if FAULT == "content":
            answer: dict[str, Any] = json.loads(given["text"])
            return answer
        if FAULT == "protocol error":
            code, message = json.loads(given["text"])
            send({"id": identity, "error": {"code": code, "message": message}})
            return None
        if FAULT == "changing":
            return self.change(identity, name)
        if FAULT.startswith("tables"):
            return self.table(name, given)
        if FAULT == "told":
            return text(json.dumps({key: os.environ.get(key) for key in given["text"].split(",")}))
        if FAULT == "named":
            return text(f"{name} by {ARGUMENT}")
        return text(f"{name}: {given.get('text', '')}")

    def change(self, identity: Any, name: str) -> dict[str, Any] | None:
        if name == "open":
            self.tools = [tool("open"), tool("new")]
            send({"method": "notifications/tools/list_changed"})
            return text("opened")
        if name in [one["name"] for one in self.tools]:
            return text(f"ran {name}")
        send({"id": identity, "error": {"code": -32602, "message": f"unknown tool {name}"}})
        return None

    def table(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        if name == "count":
            rows = self.handles.get(given["data_label"])
            return text(str(len(rows)) if rows is not None else "Input validation error: no such table")
        wanted = given.get("tool_universe_id") or self.universe
        if wanted not in TABLES:
            return text(json.dumps({"error": f"Error: Unknown universe ID '{wanted}'."}))
        if wanted != self.universe:
            self.universe = wanted
            if FAULT != "tables kept":
                self.handles, self.count = {}, 0
        self.count += 1
        column, rows = TABLES[self.universe]
        handle = f"retrieved_{column}_{self.count}"
        self.handles[handle] = rows
        if FAULT == "tables drifting":
            rows = [f"{row} {os.getpid()}" for row in rows]
        details = [{"name": column, "dtype": "str", "first_3_values": rows}]
        return text(json.dumps({"handle": handle, "num_records": len(rows), "key_details": details}))


def main() -> None:
    if FAULT == "dies at start":
        sys.stderr.write("missing database file\n")
        sys.exit(3)
    if FAULT == "banner":
        plain("server v1 starting...\n" + json.dumps({"level": "INFO"}))
    if FAULT == "noise":
        sys.stderr.write("\x1b[2J\x1b[Hbanner\n")
    server = Server()
    for line in sys.stdin:
        message = json.loads(line)
        method, identity, params = message.get("method"), message.get("id"), message.get("params") or {}
        if method == "initialize":
            version = "1999-01-01" if FAULT == "other version" else params["protocolVersion"]
            info = {"name": "small", "version": "0"}
            if FAULT == "mute":
                continue
            send(
                {
                    "id": identity,
                    "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info},
                }
            )
        elif method == "tools/list":
            send({"id": identity, "result": server.list(params)})
        elif method == "tools/call":
            answer = server.call(identity, params)
            if answer is not None:
                send({"id": identity, "result": answer})
        elif identity is not None and method is not None:
            send({"id": identity, "error": {"code": -32601, "message": "method not found"}})


if __name__ == "__main__":
    main()
