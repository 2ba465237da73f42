"""Which servers serve which capability: VAKRA's own connection files, and a few keys more.

    tasks:                      # or capabilities:
      1:
        mode: stdio             # a local command ...
        command: python         # the interpreter that runs this program
        args: ["-m", "my.server"]
      2:
        mode: stdio             # ... or a command in a container that runs already
        container_name: NAME    # or container:
        container_runtime: null # null: podman or docker, whichever has the container
        container_env: {KEY: VALUE}
        container_command: [python, server.py]
        secondary_container_command: [...]   # a second server there, its tools added to the first one's
      3:
        mode: http              # streamable HTTP; ${NAME} is taken from the environment, {domain} is the domain's name
        server_url: "${BASE}/mcp/{domain}"

Besides: ``servers: [...]`` (several of the above, one tool list), ``env``, ``cwd``, ``headers``, ``domains`` (only
these are served) and ``timeout_s``. Every server is told CAPABILITY_ID and MCP_DOMAIN.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from toolenv.decoding import YAML_CONSTRUCTION
from toolenv.errors import DataError
from toolenv.files import refuse_endless
from toolenv.model import Json, Value
from toolenv.values import shortened

DEADLINE_S: Final = 60.0
"""Seconds that a server may be silent about a call before it counts as unanswered."""

_WEB: Final = frozenset({"http", "streamable_http", "streamable-http"})
_SECRETS: Final = re.compile(r"VAKRA_TUI_\w*API_KEY")
_SCRIPTS: Final = frozenset({".cjs", ".jar", ".js", ".mjs", ".py", ".sh", ".ts"})
_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")


class ServerConfig(Value, frozen=True):
    """How one server is reached. ``command`` is what is run here or, with ``container``, there."""

    kind: Literal["command", "container", "http"]
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    cwd: str | None = None
    container: str | None = None
    runtime: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = {}


class CapabilityConfig(Value, frozen=True):
    """The servers of one capability, whose tools make one list; ``domains`` None means any."""

    servers: tuple[ServerConfig, ...]
    domains: frozenset[str] | None = None
    timeout_s: float = DEADLINE_S


def _what_is_wrong(error: Exception) -> str:
    """A parser's complaint in one line, with the place in the file where it tells one."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is None or not problem:
        return str(error).splitlines()[0]
    return f"{problem} (line {mark.line + 1}, column {mark.column + 1})"


def read_config(path: Path) -> dict[int, CapabilityConfig]:
    """The capabilities of a connection file. Raises ``DataError`` that names file and key."""
    import yaml

    try:
        refuse_endless(path)
        value = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (yaml.YAMLError, *YAML_CONSTRUCTION) as error:
        raise DataError(f"{path} is not valid YAML: {_what_is_wrong(error)}.") from error
    entries = value.get("tasks", value.get("capabilities")) if isinstance(value, dict) else None
    if not isinstance(entries, dict) or not entries:
        raise DataError(f"{path} has no `tasks:` with an entry for each capability.")
    found: dict[int, CapabilityConfig] = {}
    for key, entry in entries.items():
        place = f"{path}, {key}"
        if str(key) not in ("1", "2", "3", "4"):
            raise DataError(f"{place}: the keys below `tasks:` are the capabilities 1 to 4.")
        found[int(str(key))] = _capability(entry, place)
    return found


def _capability(entry: Json, place: str) -> CapabilityConfig:
    if isinstance(entry, list):
        entry = {"servers": entry}
    if not isinstance(entry, dict):
        raise DataError(f"{place}: an entry is a mapping.")
    given = entry.get("servers", [entry])
    if not isinstance(given, list) or not given:
        raise DataError(f"{place}: `servers` is a list of servers.")
    servers = [server for item in given for server in _servers(item, place)]
    domains = entry.get("domains")
    if domains is not None and not (isinstance(domains, list) and all(isinstance(name, str) for name in domains)):
        raise DataError(f"{place}: `domains` is a list of names.")
    timeout = entry.get("timeout_s", DEADLINE_S)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise DataError(f"{place}: `timeout_s` is a number of seconds.")
    return CapabilityConfig(
        servers=tuple(servers), domains=None if domains is None else frozenset(domains), timeout_s=float(timeout)
    )


def _servers(entry: Json, place: str) -> list[ServerConfig]:
    """The one server of an entry, or two where it names a second command in its container."""
    if not isinstance(entry, dict):
        raise DataError(f"{place}: a server is a mapping.")
    mode = entry.get("mode", "stdio")
    url = entry.get("server_url", entry.get("url"))
    if mode in _WEB:
        if not isinstance(url, str):
            raise DataError(f"{place}: mode {mode} needs `server_url`.")
        return [ServerConfig(kind="http", url=url, headers=_texts(entry.get("headers"), f"{place}: `headers`"))]
    if mode != "stdio":
        raise DataError(f"{place}: mode {mode!r} is not supported; use stdio or http.")
    name = entry.get("container_name", entry.get("container"))
    if name is not None and not isinstance(name, str):
        raise DataError(f"{place}: `container_name` is a text.")
    command = entry.get("command")
    env = _texts(entry.get("env"), f"{place}: `env`")
    if command is not None and (name is None or ("container_command" not in entry and "container" not in entry)):
        words = (*_words(command, f"{place}: `command`"), *_words(entry.get("args") or [], f"{place}: `args`"))
        if not words:
            raise DataError(f"{place}: `command` is empty.")
        if words[0] == "python":
            words = (sys.executable, *words[1:])
        cwd = entry.get("cwd")
        return [ServerConfig(kind="command", command=words, env=env, cwd=None if cwd is None else str(cwd))]
    if name is None:
        raise DataError(f"{place}: mode stdio needs `command` or `container_name`.")
    env = {**env, **_texts(entry.get("container_env"), f"{place}: `container_env`")}
    runtime = entry.get("container_runtime")
    commands = [entry.get("container_command", command) or ["python", "mcp_server.py"]]
    commands += [entry["secondary_container_command"]] if entry.get("secondary_container_command") else []
    return [
        ServerConfig(
            kind="container",
            command=_words(words, f"{place}: `container_command`"),
            env=env,
            container=name,
            runtime=None if runtime is None else str(runtime),
        )
        for words in commands
    ]


def _words(value: Json, place: str) -> tuple[str, ...]:
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str | int | float) for word in words):
        raise DataError(f"{place} is a list of words.")
    return tuple(str(word) for word in words)


def _texts(value: Json, place: str) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or any(isinstance(item, dict | list) for item in value.values()):
        raise DataError(f"{place} is a mapping of texts.")
    return {str(key): _text(item) for key, item in value.items() if item is not None}


def _text(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def told(config: ServerConfig, capability: int, domain: str) -> dict[str, str]:
    """What a server is told by environment variables; the file's own values win."""
    return {"CAPABILITY_ID": str(capability), "MCP_DOMAIN": domain, **config.env}


def local_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """This process's variables without its own keys, and the server's."""
    return {**{name: value for name, value in os.environ.items() if not _SECRETS.fullmatch(name)}, **extra}


def container_command(runtime: str, config: ServerConfig, capability: int, domain: str) -> tuple[str, ...]:
    """The command line that runs a server's command in its container."""
    assert config.container is not None
    flags: list[str] = []
    for name, value in told(config, capability, domain).items():
        flags += ["-e", f"{name}={value}"]
    return (runtime, "exec", "-i", *flags, config.container, *config.command)


def expanded(text: str, domain: str, place: str) -> str:
    """A URL or header with ``${NAME}`` and ``{domain}`` filled in. Raises ``DataError`` for an unset variable."""

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if not found:
            raise DataError(f"{place}: the environment variable {match[1]} is not set.")
        return found

    return _VARIABLE.sub(value, text).replace("{domain}", domain)


def described(config: ServerConfig) -> str:
    """How sentences name a server: program and script, or address; nothing that could hold a secret or a home."""
    if config.kind == "http":
        address = re.split(r"[?#]", str(config.url), maxsplit=1)[0]
        return re.sub(r"(?<=://)[^/]*@", "", address)
    program, *rest = config.command
    words = [Path(program).name]
    if rest[:1] == ["-m"]:
        words += rest[:2]
    elif rest and Path(rest[0]).suffix in _SCRIPTS:
        words.append(Path(rest[0]).name)
    text = shortened(" ".join(words), 80)
    return text if config.kind == "command" else f"{text} in container {config.container}"
