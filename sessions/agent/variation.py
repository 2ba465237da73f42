"""Asking an agent otherwise than it is set: another model, another temperature, another sample."""

from __future__ import annotations

from collections.abc import Mapping

from toolenv.model import Json, Value


class Variation(Value, frozen=True):
    """What is to be different; None leaves it as it is set. Another ``seed`` asks for another sample."""

    model: str | None = None
    temperature: float | None = None
    seed: int | None = None

    def options(self) -> dict[str, Json]:
        """What is to be different, by name: for agents that are told their options."""
        named: Mapping[str, Json] = {"model": self.model, "temperature": self.temperature, "seed": self.seed}
        return {name: value for name, value in named.items() if value is not None}

    def words(self) -> str:
        """``m2, temperature 0.8``; empty where nothing is different."""
        parts = [self.model] if self.model is not None else []
        parts += [f"temperature {self.temperature:g}"] if self.temperature is not None else []
        parts += [f"seed {self.seed}"] if self.seed is not None else []
        return ", ".join(parts)


AS_SET = Variation()
