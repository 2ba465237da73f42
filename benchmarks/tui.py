"""Measure the screen: start-up, memory, large responses, long sessions, and how long the event loop is held up.

    python benchmarks/tui.py [--repeat N] [--count N] [--only start|sizes|stalls] [--write] [--json FILE]

- Start-up is the time from the start of the process, in a pseudo-terminal of its own, to the first paint in which a
  query of the dataset can be read: with the built-in sample, whose built form lies in the cache, and with ``--count``
  generated instances and a run of as many predictions, beside a bare application of one label. The three are started
  in turn; a ratio is the median of the ratios of each round.
- Memory is what is resident once all queries are read and the list was looked at, for 50 and for ``--count`` instances.
- A response of 5 MB and one of 5 kB: from the key that opens the response's tab to the first row of it that is drawn,
  the fastest of several.
  What a key costs in them, and in sessions of 50 and of 5,000 steps, is counted: rows that are made into lines, and
  function calls in the screen's thread until it has settled.
- Every command of the screen is run against slow tools, a slow judge and a slow disk, and again where tools answer with
  5 MB, while the callbacks of the event loop are timed; so are keys in a session of 5,000 steps, and keys that are
  pressed from the first moment the list can be read, in processes that still import the screens.

``--write`` puts the figures into ``docs/measurements/tui.md``.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# The modules beside this one are found last: toolenv.py here is no package.
sys.path[:] = [*(entry for entry in sys.path if Path(entry or ".").resolve() != HERE), str(HERE)]

DOCUMENT = HERE.parent / "docs" / "measurements" / "tui.md"
BEGIN, END = "<!-- figures of benchmarks/tui.py -->", "<!-- end of the figures -->"
PARTS = ("start", "sizes", "stalls")


def measured(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    results: dict[str, Any] = {"load": os.getloadavg()[0]}
    for name in PARTS:
        if options.only in (None, name):
            (folder / name).mkdir()
    if options.only in (None, "start"):
        import tui_start

        results["start"] = tui_start.measured(folder / "start", repeat=options.repeat, count=options.count)
    if options.only in (None, "sizes"):
        import tui_sizes

        results["sizes"] = tui_sizes.run(folder / "sizes", repeat=options.repeat)
    if options.only in (None, "stalls"):
        import tui_stalls
        import tui_start

        gc.collect()  # what the parts before left is not collected while callbacks are timed
        environment = tui_start.environment(folder / "stalls")
        tui_start.built_sample(folder / "stalls")
        results["stalls"] = tui_stalls.run(folder / "stalls", environment)
    return results


def figures(results: Mapping[str, Any]) -> str:
    """All figures as the document shows them."""
    lines = [f"Load average at the start: {results['load']:.1f}, on {os.cpu_count()} cores.", ""]
    for name, write in (("start", _start), ("sizes", _sizes), ("stalls", _stalls)):
        if name in results:
            lines += [*write(results[name]), ""]
    return "\n".join(lines).rstrip()


def _start(results: Mapping[str, Any]) -> Iterator[str]:
    yield "| start to the first readable query | median | fastest | processor | ratio | of processor time | wanted |"
    yield "|---|---|---|---|---|---|---|"
    base, *others = (name for name in results if name != "memory")
    for name in (base, *others):
        one = results[name]
        ratios = f"{one['ratio']:.2f} | {one['processor_ratio']:.2f}" if "ratio" in one else " | "
        wanted = "" if name == base else "<= 2.0" if "sample" in name else "<= 2.5"
        yield (
            f"| {name} | {one['median_s']:.2f} s | {one['fastest_s']:.2f} s | {one['processor_s']:.2f} s "
            f"| {ratios} | {wanted} |"
        )
    yield ""
    memory = results["memory"]
    few, many, _ = memory
    yield "| resident memory | MiB | ratio | wanted |"
    yield "|---|---|---|---|"
    yield f"| {few} | {memory[few] / 2**20:.0f} | | |"
    yield f"| {many} | {memory[many] / 2**20:.0f} | {memory['ratio']:.2f} | < 1.5 |"


def _sizes(results: Mapping[str, Any]) -> Iterator[str]:
    yield "| response | JSON parse | visible | rows a key | calls a key |"
    yield "|---|---|---|---|---|"
    for name, one in results["responses"].items():
        yield f"| {name} | {one['parse_s'] * 1000:.1f} ms | {one['visible_s'] * 1000:.0f} ms | {_keys(one['keys'])} |"
    yield ""
    yield (
        f"5 MB less its parse against 5 kB: {results['visible_ratio']:.2f} (wanted: at most 1.5). Greatest growth of a "
        f"key's work, 50 kB to 5 MB: {_growth(results['work_ratio_response'])}."
    )
    yield ""
    yield "| session | run and settled | rows a key | calls a key |"
    yield "|---|---|---|---|"
    for name, one in results["steps"].items():
        yield f"| {name} | {one['settled_s']:.1f} s | {_keys(one['keys'])} |"
    yield ""
    yield f"Greatest growth of a key's work, 50 to 5,000 steps: {_growth(results['work_ratio_steps'])}."


def _growth(ratios: Mapping[str, float]) -> str:
    return ", ".join(f"{kind} {ratio:.2f}" for kind, ratio in ratios.items())


def _keys(keys: Mapping[str, Mapping[str, int]]) -> str:
    """The range over all keys."""
    spans = [[each[kind] for each in keys.values()] for kind in ("rows", "calls")]
    return " | ".join(f"{min(span):,} to {max(span):,}" for span in spans)


def _stalls(results: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"{results['commands']} commands; calls that block: {results['blocking calls']}; load average then "
        f"{results['load']:.1f}."
    )
    yield ""
    yield "| longest callbacks of the event loop | on the clock | processor time | during |"
    yield "|---|---|---|---|"
    for name, label in (("first", "first three seconds (wanted: 120 ms)"), ("later", "later (wanted: 50 ms)")):
        for each in results[name]:
            clock, processor = each["seconds"] * 1000, each["processor_s"] * 1000
            yield f"| {label} | {clock:.0f} ms | {processor:.0f} ms | {each['during']} |"
    yield ""
    yield (
        f"Garbage was visited {results['visits']} times between callbacks, for at most "
        f"{results['longest visit'] * 1000:.0f} ms, and {results['collections in the middle']} times in the middle of "
        f"something."
    )
    yield ""
    yield "| what was done | too long: clock | processor | longest: clock | during | processor |"
    yield "|---|---|---|---|---|---|"
    for name, each in results["walks"].items():
        yield (
            f"| {name} | {each['too long']} | {each['processor too long']} | {each['seconds'] * 1000:.0f} ms "
            f"| {each['during']} | {each['processor_s'] * 1000:.0f} ms |"
        )
    yield ""
    yield "| keys from the first row on, each in a new process | longest: clock | processor | all imported after |"
    yield "|---|---|---|---|"
    for name, each in results["first keys"].items():
        clock, processor = each["seconds"] * 1000, each["processor_s"] * 1000
        yield f"| {name} | {clock:.0f} ms | {processor:.0f} ms | {each['imported_s']:.2f} s |"


def write(text: str) -> None:
    """Put the figures between their marks in the document; the rest of it is written by hand."""
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    DOCUMENT.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=7, help="how often each is measured (7)")
    parser.add_argument("--count", type=int, default=5000, help="generated instances (5000)")
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--write", action="store_true", help=f"write the figures into {DOCUMENT.name}")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = measured(options, Path(folder))
    text = figures(results)
    print(text)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    if options.write:
        write(text)


if __name__ == "__main__":
    main()
