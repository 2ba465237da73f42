"""Tool names as an endpoint takes them, and the way back."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping

from toolenv.model import Value

LONGEST = 64
_FITS = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ODD = re.compile(r"[^A-Za-z0-9_-]")
_CONTROL_TOKEN = re.compile(r"<\|.*", re.DOTALL)
_PREFIX = re.compile(r"^(?:to=)?functions?[.:]")


class NameRead(Value, frozen=True):
    """The tool that a written name stands for. ``note`` tells where it was written otherwise."""

    name: str
    note: str = ""


def alias(name: str, taken: Iterable[str] = ()) -> str:
    """A name of at most 64 allowed characters. The same name always gets the same alias, unless it is ``taken``."""
    if _FITS.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    for length in (8, 16, 32):
        made = f"{_ODD.sub('_', name)[: LONGEST - 1 - length]}_{digest[:length]}"
        if made not in taken:
            return made
    return digest


class Names:
    """The names of one tool list and their aliases; the same list gives the same aliases."""

    def __init__(self, names: Iterable[str]) -> None:
        self._own = list(dict.fromkeys(names))
        plain = {name for name in self._own if _FITS.fullmatch(name)}
        self._alias: dict[str, str] = {}
        self._back: dict[str, str] = {}
        for name in self._own:
            made = alias(name, plain | self._back.keys())
            self._alias[name] = made
            self._back[made] = name

    @property
    def changed(self) -> Mapping[str, str]:
        """Own name -> alias, of the names that are not sent as they are."""
        return {name: made for name, made in self._alias.items() if name != made}

    def sent(self, name: str) -> str:
        """The name as it goes over the wire, also of a tool that is not in the list."""
        return self._alias.get(name) or alias(name or "unnamed")

    def read(self, written: str) -> NameRead:
        """The tool that a model means; a name that is no tool's comes back as it was written.

        Control tokens of a model family and a ``functions.`` prefix are taken off only where exactly a known tool
        remains.
        """
        if written in self._back:
            return NameRead(name=self._back[written])
        if written in self._alias:
            return NameRead(name=written)
        cleaned = _PREFIX.sub("", _CONTROL_TOKEN.sub("", written).strip())
        own = self._back.get(cleaned) or (cleaned if cleaned in self._alias else None)
        if own is None:
            return NameRead(name=written)
        return NameRead(name=own, note=f"the name was written {written!r} and read as {own!r}")
