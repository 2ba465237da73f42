"""The seam to whoever rules where a program cannot."""

from __future__ import annotations

from typing import Protocol

from eval.case import Case
from eval.model import Gate, Ruling
from toolenv.errors import VakraError


class Judge(Protocol):
    """Rules one gate over one case: offline rules, a model, recorded rulings or a person.

    ``kind`` is ``offline``, ``openai``, ``recorded`` or ``none``. Raises ``JudgeFailure`` when it cannot be reached.
    """

    @property
    def kind(self) -> str: ...

    async def rule(self, gate: Gate, case: Case) -> Ruling: ...


class JudgeFailure(VakraError):
    """A judge could not be reached or its reply could not be read; the instance is unscored, never wrong."""
