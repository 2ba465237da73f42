"""Rules of the architecture that no import rule can say: they are read off the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("toolenv", "sessions", "eval", "vakra_tui")
ENGINE = ("toolenv", "sessions", "eval")


def sources(*packages: str) -> list[Path]:
    return [path for package in packages for path in sorted((ROOT / package).rglob("*.py"))]


def nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path)))


def named(test: ast.expr) -> set[str]:
    """The last part of every name in a condition."""
    found = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    return found | {node.attr for node in ast.walk(test) if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize("package", PACKAGES)
def test_eval_is_never_imported_as_a_bare_module(package: str) -> None:
    """``eval`` is a builtin too: a module of that name in a namespace would hide it."""
    for path in sources(package):
        for node in nodes(path):
            if isinstance(node, ast.Import):
                assert "eval" not in {alias.asname or alias.name.split(".")[0] for alias in node.names}, path


@pytest.mark.parametrize("package", ENGINE)
def test_the_engine_asks_nowhere_whether_it_is_a_batch(package: str) -> None:
    """Screen and batch go through the same code; what differs between them is a value that they hand down."""
    for path in sources(package):
        for node in nodes(path):
            if isinstance(node, ast.If | ast.IfExp | ast.While):
                asked = named(node.test) & {"is_batch", "headless", "interactive", "is_screen"}
                truth = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
                if isinstance(truth, ast.Name | ast.Attribute):
                    asked |= named(truth) & {"batch", "_batch"}
                assert not asked, f"{path}:{node.lineno}"
