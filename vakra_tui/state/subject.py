"""What a session is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from eval.model import Verdict
from toolenv.model import Instance, Prediction

if TYPE_CHECKING:
    pass


class Subject:
    """What is debugged: an instance (of the dataset, or made from an extra prediction) and a run's prediction of it."""

    def __init__(
        self,
        instance: Instance,
        run: str,
        prediction: Prediction | None,
        *,
        extra: bool = False,
        learned: Callable[[Verdict], None] | None = None,
    ) -> None:
        self.instance = instance
        self.run = run
        self.prediction = prediction
        self.extra = extra
        self._learned = learned

    def learned(self, verdict: Verdict) -> None:
        """A verdict of the recorded prediction, for the list of instances."""
        if self._learned is not None:
            self._learned(verdict)
