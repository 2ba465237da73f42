"""Build a dataset from a generated database of a million rows, and report the time and the peak memory.

    .venv/bin/python benchmarks/build_large.py [--rows N] [--out DIR]

The database is a weather service: stations in regions, and readings, one row each. Its questions are in this file.
The peak memory is the build's alone: the database is generated in another process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import resource
import sqlite3
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

# A benchmark beside this one is named like a package; the folder of a script must not come first.
_HERE = Path(__file__).resolve().parent
sys.path = [str(_HERE.parent), *(p for p in sys.path if Path(p).resolve() != _HERE)]

from toolenv.build.build_plan import BuildFiles  # noqa: E402
from toolenv.build.builder import build  # noqa: E402
from toolenv.build.generate import BuildSettings  # noqa: E402

ROWS = 1_000_000
DOMAIN = "weather"
REGIONS = (
    "Alder",
    "Birchland",
    "Cedar Coast",
    "Dunes",
    "Elm Valley",
    "Firth",
    "Gorse",
    "Heath",
    "Ivy Hills",
    "Juniper",
)
STATIONS = 400
JOINED = "FROM reading AS r INNER JOIN station AS s ON r.station_id = s.station_id"
QUESTIONS = (
    ("How many readings are there?", "SELECT COUNT(*) FROM reading"),
    ("How many readings has the station Post 7?", f"SELECT COUNT(*) {JOINED} WHERE s.station_name = 'Post 7'"),
    (
        "What is the highest temperature at the station Post 9?",
        f"SELECT MAX(r.temperature) {JOINED} WHERE s.station_name = 'Post 9'",
    ),
    (
        "What is the average rainfall at the station Post 3?",
        f"SELECT AVG(r.rainfall) {JOINED} WHERE s.station_name = 'Post 3'",
    ),
    ("What is the altitude of the station Post 12?", "SELECT altitude FROM station WHERE station_name = 'Post 12'"),
    ("Which sky was seen in reading 500?", "SELECT sky FROM reading WHERE reading_id = 500"),
    ("How many readings have a temperature above 30?", "SELECT COUNT(*) FROM reading WHERE temperature > 30"),
    (
        "What is the region of the station Post 21?",
        "SELECT g.region_name FROM station AS s INNER JOIN region AS g ON s.region_id = g.region_id "
        "WHERE s.station_name = 'Post 21'",
    ),
    (
        "Which station lies highest in the region Heath?",
        "SELECT s.station_name FROM station AS s INNER JOIN region AS g ON s.region_id = g.region_id "
        "WHERE g.region_name = 'Heath' ORDER BY s.altitude DESC LIMIT 1",
    ),
    ("How many readings were there in fog?", "SELECT COUNT(*) FROM reading WHERE sky = 'fog'"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=ROWS, help=f"rows of the largest table ({ROWS})")
    parser.add_argument("--out", type=Path, help="keep database and dataset here (default: a temporary folder)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = arguments.out or Path(folder)
        out.mkdir(parents=True, exist_ok=True)
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            pool.submit(generate, out / "weather.sqlite", arguments.rows).result()
        print(json.dumps(asyncio.run(measure(out, arguments.rows)), indent=1))


def generate(path: Path, rows: int) -> None:
    """The database: equal bytes for equal ``rows``."""
    rng = random.Random(0)
    with sqlite3.connect(path) as connection:
        connection.executescript(
            """
            CREATE TABLE region (region_id INTEGER PRIMARY KEY, region_name TEXT NOT NULL UNIQUE);
            CREATE TABLE station (station_id INTEGER PRIMARY KEY, station_name TEXT NOT NULL UNIQUE,
                region_id INTEGER NOT NULL REFERENCES region (region_id), altitude INTEGER NOT NULL);
            CREATE TABLE reading (reading_id INTEGER PRIMARY KEY,
                station_id INTEGER NOT NULL REFERENCES station (station_id), day TEXT NOT NULL,
                temperature REAL, rainfall REAL, sky TEXT);
            """
        )
        connection.executemany("INSERT INTO region VALUES (?, ?)", enumerate(REGIONS, 1))
        altitudes = rng.sample(range(3000), STATIONS)
        connection.executemany(
            "INSERT INTO station VALUES (?, ?, ?, ?)",
            ((n, f"Post {n}", 1 + n % len(REGIONS), altitudes[n - 1]) for n in range(1, STATIONS + 1)),
        )
        connection.executemany(
            "INSERT INTO reading VALUES (?, ?, ?, ?, ?, ?)",
            (
                (
                    n,
                    rng.randint(1, STATIONS),
                    f"20{rng.randint(10, 24)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
                    round(rng.uniform(-20, 40), 1),
                    round(rng.uniform(0, 60), 1),
                    rng.choice(("clear", "cloudy", "fog", "rain", "snow")),
                )
                for n in range(1, rows + 1)
            ),
        )
    connection.close()


async def measure(folder: Path, rows: int) -> dict[str, Any]:
    """Build once and say what came of it."""
    questions = folder / "questions.json"
    questions.write_text(json.dumps([{"question": q, "SQL": sql} for q, sql in QUESTIONS]), encoding="utf-8")
    database = folder / "weather.sqlite"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    started, used = time.perf_counter(), time.process_time()
    built = await build(
        BuildFiles(database=database, questions=questions, domain=DOMAIN), folder / "dataset", BuildSettings()
    )
    return {
        "rows": rows,
        "database_mib": round(database.stat().st_size / 2**20),
        "questions": built.generated[DOMAIN].asked,
        "endpoints_with_gold_answer": built.generated[DOMAIN].accepted,
        "instances": built.report.instances[DOMAIN],
        "seconds": round(time.perf_counter() - started, 1),
        "cpu_seconds": round(time.process_time() - used, 1),
        "memory_before_mib": round(before),
        "peak_memory_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "rejections": {f"{r.stage}: {r.subject}": r.reason for r in built.rejections},
    }


if __name__ == "__main__":
    main()
