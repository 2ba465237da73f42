"""What a checkout of VAKRA says without being run: which routers its application mounts, and the paths that they serve.

Read as text and syntax trees; nothing of the checkout is imported.
"""

from __future__ import annotations

import ast
import hashlib
import re
from pathlib import Path
from typing import Final

from toolenv.errors import DataError
from toolenv.model import Value

_PLACES: Final = ("environment/m3/rest", "apis/m3/rest", "m3/rest", ".")
_PATH = re.compile(rb"""["'](/v1/([A-Za-z0-9_]+)[/"'{])""")
ROUTERS: Final = "server"
"""The package of the routers, beside the application's file."""


class Router(Value, frozen=True):
    """One router module; ``domains`` are the second parts of its paths, as its text shows them."""

    name: str
    path: Path
    domains: frozenset[str]


class Checkout(Value, frozen=True):
    """``rest`` is the folder of the application; ``routers`` are the mounted ones in the order of mounting.

    ``missing`` are mounted names without a file; ``unmounted`` files that the application does not mount (R3).
    """

    root: Path
    rest: Path
    routers: tuple[Router, ...]
    missing: tuple[str, ...] = ()
    unmounted: tuple[str, ...] = ()

    def offering(self, domain: str) -> tuple[Router, ...]:
        """The routers of which the release offers tools for a domain: any whose paths begin with its name (R1)."""
        return tuple(router for router in self.routers if any(d.startswith(domain) for d in router.domains))

    def has(self, domain: str) -> bool:
        """Whether a mounted router is the domain's own."""
        return any(domain in router.domains for router in self.routers)

    @property
    def domains(self) -> tuple[str, ...]:
        return tuple(sorted({domain for router in self.routers for domain in router.domains}))

    def fingerprint(self) -> str:
        """A digest of the application and its routers."""
        digest = hashlib.sha256()
        for path in (self.rest / "app.py", *(router.path for router in self.routers)):
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        return "sha256:" + digest.hexdigest()


def read_checkout(root: Path) -> Checkout:
    """Raises ``DataError`` where there is no application with routers."""
    if not root.is_dir():
        raise DataError(f"{root} is not there; --env vakra: takes a checkout of VAKRA.")
    rest = next((root / place for place in _PLACES if (root / place / "app.py").is_file()), None)
    if rest is None:
        raise DataError(f"{root} is no checkout of VAKRA: none of {', '.join(_PLACES)} in it has an app.py.")
    try:
        tree = ast.parse((rest / "app.py").read_bytes())
    except (SyntaxError, ValueError, OSError) as error:
        raise DataError(f"{rest / 'app.py'} cannot be read: {error}.") from error
    mounted = _mounted(tree)
    if not mounted:
        raise DataError(f"{rest / 'app.py'} mounts no routers.")
    routers, missing = [], []
    for name in mounted:
        path = rest / ROUTERS / f"{name}.py"
        if not path.is_file():
            missing.append(name)
            continue
        domains = frozenset(match[1].decode("ascii") for match in _domains(path))
        routers.append(Router(name=name, path=path, domains=domains))
    files = {path.stem for path in (rest / ROUTERS).glob("*.py") if not path.stem.startswith("_")}
    return Checkout(
        root=root,
        rest=rest,
        routers=tuple(routers),
        missing=tuple(missing),
        unmounted=tuple(sorted(files - set(mounted))),
    )


def _domains(path: Path) -> list[re.Match[bytes]]:
    return [re.match(rb"/v1/([A-Za-z0-9_]+)", match[1]) or match for match in _PATH.finditer(path.read_bytes())]


def _mounted(tree: ast.Module) -> list[str]:
    """The modules whose router is mounted, in order: ``app.include_router(NAME.anything)``."""
    aliases: dict[str, str] = {}
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[-1] == ROUTERS:
            aliases.update({item.asname or item.name: item.name for item in node.names})
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "include_router" and call.args:
            target = call.args[0]
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                name = aliases.get(target.value.id)
                if name is not None and name not in names:
                    names.append(name)
    return names
