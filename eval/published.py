"""Published results of the VAKRA leaderboard, to be read beside one's own (the product's description has them)."""

from __future__ import annotations

from toolenv.model import Value


class Published(Value, frozen=True):
    """One model's published shares by capability (1 to 4), on the test split of VAKRA."""

    model: str
    shares: tuple[float, float, float, float]

    @property
    def leaderboard(self) -> float:
        """The mean of the four, as the leaderboard takes it."""
        return sum(self.shares) / len(self.shares)


PUBLISHED = (
    Published(model="GPT-OSS-120B", shares=(0.402, 0.505, 0.294, 0.167)),
    Published(model="Claude Sonnet 4.5", shares=(0.340, 0.495, 0.301, 0.176)),
    Published(model="Gemini 3 Flash", shares=(0.351, 0.603, 0.384, 0.184)),
    Published(model="Granite 4.0 h-small", shares=(0.233, 0.500, 0.258, 0.151)),
)

TEST_SPLIT = (2077, 1597, 869, 644)
"""Instances of the test split by capability: what the published shares are shares of."""
