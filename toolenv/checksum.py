"""The checksum that VAKRA publishes for the tool list of each (capability, domain) (contract, section 2)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from toolenv.decoding import decoded, what_is_wrong
from toolenv.errors import DataError
from toolenv.model import Json, ToolSpec

FILE: Final = "tool_checksums.json"


def tool_checksum(tools: Iterable[ToolSpec]) -> str:
    """SHA-256 over names and input schemas, in hexadecimal; descriptions and the order of the list do not matter."""
    entries = [{"name": tool.name, "inputSchema": tool.input_schema} for tool in tools]
    entries.sort(key=lambda entry: str(entry["name"]))
    text = json.dumps(entries, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def published_checksums(checkout: Path) -> Mapping[int, Mapping[str, str]]:
    """Capability -> domain -> checksum, from the file at the root of a checkout. Raises ``DataError``."""
    path = checkout / FILE
    try:
        value: Json = decoded(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise DataError(f"{path} {what_is_wrong(error)}.") from error
    if not isinstance(value, dict):
        raise DataError(f"{path} is not a JSON object of capabilities.")
    found: dict[int, Mapping[str, str]] = {}
    for key, domains in value.items():
        if key in ("2", "3", "4") and isinstance(domains, dict):
            found[int(key)] = {str(domain): str(text) for domain, text in domains.items()}
    return found
