"""What the screen needs of the command's wiring."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from eval.environments import EnvironmentChain
    from eval.judge import Judge
    from eval.judges import HumanRuling
    from eval.model import Gate, Verdict
    from eval.profile import Item, Profile, ScoringContext, Unit
    from sessions.store import Store
    from sessions.submissions import Run
    from toolenv.dataset import Dataset, InstanceRef
    from toolenv.openai_compat.sending import Waiting


class Kept(Protocol):
    """Verdicts in the store; every method may take its time and raises ``StoreError``."""

    def read(self, index: int) -> Iterable[tuple[Item, Verdict]]: ...

    def others(self, index: int) -> list[str]: ...

    def keep(
        self,
        index: int,
        unit: Unit,
        verdicts: Sequence[Verdict],
        context: ScoringContext,
        rulings: Mapping[tuple[str, Gate], HumanRuling],
    ) -> None: ...

    def flush(self) -> None: ...

    @property
    def waiting(self) -> int: ...

    def unread(self, index: int) -> tuple[int, str]: ...


class Wiring(Protocol):
    """What the screen needs of the command's wiring; each part is made when it is first asked for.

    ``on_store_wait`` is told, in the thread that waits, how many seconds another process has held the store.
    ``on_agent_wait`` hears of waits for the agent's endpoint, ``on_agent_delta`` of fragments of what its model says.
    ``agent_logs`` is a folder for what an agent that is a command prints on standard error.
    """

    on_store_wait: Callable[[float], None] | None
    on_agent_wait: Callable[[Waiting], None] | None
    on_agent_delta: Callable[[str, str], None] | None
    agent_logs: Path | None

    @property
    def sample(self) -> bool: ...

    @property
    def selected(self) -> bool: ...

    @property
    def instance(self) -> str | None: ...

    @property
    def dataset(self) -> Dataset: ...

    @property
    def data_path(self) -> Path: ...

    @property
    def runs(self) -> Sequence[Run]: ...

    @property
    def run_names(self) -> Sequence[str]: ...

    @property
    def environments(self) -> EnvironmentChain: ...

    @property
    def judge(self) -> Judge: ...

    @property
    def store(self) -> Store: ...

    @property
    def profile(self) -> Profile: ...

    @property
    def profile_name(self) -> str: ...

    @property
    def kept(self) -> Kept: ...

    def judge_identity(self) -> str: ...

    def refs(self) -> Sequence[InstanceRef]: ...

    def selects(self, capability: int | None, domain: str, uuid: str) -> bool: ...

    def use(self, runs: Mapping[str, Run], dataset: Dataset | None = None) -> None: ...

    async def close(self) -> None: ...
