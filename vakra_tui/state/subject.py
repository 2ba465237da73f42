"""What a session is about."""

from __future__ import annotations

from collections.abc import Callable

from eval.model import Verdict
from toolenv.model import Instance, Prediction


class Subject:
    """What is debugged: an instance (of the dataset, or made from an extra prediction) and a run's prediction of it.

    ``stored`` is the key of the session that is opened again, where a certain one is wanted.
    """

    def __init__(
        self,
        instance: Instance,
        run: str,
        prediction: Prediction | None,
        *,
        extra: bool = False,
        learned: Callable[[Verdict], None] | None = None,
        stored: str = "",
    ) -> None:
        self.instance = instance
        self.run = run
        self.prediction = prediction
        self.extra = extra
        self.stored = stored
        self._learned = learned

    def learned(self, verdict: Verdict) -> None:
        """A verdict of the recorded prediction, for the list of instances."""
        if self._learned is not None:
            self._learned(verdict)
