"""Compares ``--profile vakra`` with what VAKRA's released evaluator wrote, dialogue by dialogue.

    .venv/bin/python scripts/check_released.py MATERIAL

MATERIAL is the folder that holds ``data/released_results``, ``data/evaluator_cases``, ``data/mini``, ``data/runs``,
``data/recorded`` and ``golden``. Prints how many figures were compared and each difference, the records in which the
recorded rulings and the judge behind the results disagree, and what could not be compared. Exit code 1 if a figure
differs.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from released_files import Comparison, compare_cases, compare_results


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("material", type=Path, help="the folder that holds data/ and golden/")
    material = parser.parse_args().material
    found = asyncio.run(_compared(material))
    for one in found:
        print(f"{one.name}: {one.dialogues} dialogues, {one.figures} figures, {len(one.differences)} differ")
        for sentence in one.differences:
            print(f"  differs: {sentence}")
        for sentence in one.other_rulings:
            print(f"  another ruling: {sentence}")
        for sentence in one.left_out:
            print(f"  not compared: {sentence}")
    dialogues, figures = sum(one.dialogues for one in found), sum(one.figures for one in found)
    differences = sum(len(one.differences) for one in found)
    others = sum(len(one.other_rulings) for one in found)
    print(f"in all: {dialogues} dialogues, {figures} figures compared, {differences} differ; {others} other rulings")
    return 1 if differences else 0


async def _compared(material: Path) -> list[Comparison]:
    return [*await compare_results(material), *await compare_cases(material)]


if __name__ == "__main__":
    sys.exit(main())
