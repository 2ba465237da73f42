"""The other names under which a tool is called: a registry's prefix, and the long operation id of an endpoint."""

from __future__ import annotations

import re
from collections.abc import Collection

_PREFIX = re.compile(r"task_\d+_")
_METHODS = r"(?:get|post|put|delete|patch)"


def own_name(name: str, domain: str, names: Collection[str]) -> str:
    """The listed name that ``name`` stands for, or ``name`` itself where it stands for none.

    ``task_<n>_<domain>_<name>`` is ``<name>``; ``<name>_v1_<domain>_..._get`` (an operation id as FastAPI makes it)
    and its short form ``<name>`` are one tool, where only one of the listed tools can be meant.
    """
    if name in names:
        return name
    prefix = _PREFIX.match(name)
    if prefix is not None:
        rest = name[prefix.end() :]
        inner = rest.removeprefix(f"{domain}_")
        return name if inner == rest or _PREFIX.match(inner) else own_name(inner, domain, names)
    path = re.escape(f"_v1_{domain}")
    long_form = re.fullmatch(rf"(?P<short>.+?){path}_\S*_{_METHODS}", name)
    if long_form is not None and long_form["short"] in names:
        return long_form["short"]
    meant = [listed for listed in names if listed.startswith(f"{name}_v1_{domain}_")]
    return meant[0] if len(meant) == 1 else name
