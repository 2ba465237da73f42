"""``python -m vakra_tui.sample DIR``: write the sample's sources as the files that ``vakra-tui build --plan`` reads."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from vakra_tui.sample.sources import write_sources


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m vakra_tui.sample", description=__doc__)
    parser.add_argument("folder", metavar="DIR", type=Path, help="a folder that is absent or empty")
    folder: Path = parser.parse_args().folder
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        parser.error(f"{folder} exists and is not an empty folder")
    sys.stdout.write(f"{write_sources(folder)}\n")


if __name__ == "__main__":
    main()
