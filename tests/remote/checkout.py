"""A folder with the shape of a VAKRA checkout, small and invented."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

REST = "environment/m3/rest"

APP = """
from fastapi import FastAPI
from server import film, broken
from server import film_2 as second, parks

app = FastAPI()
import a_monitor_that_nobody_has

app.include_router(film.app)
app.include_router(broken.app)
app.include_router(second.app)
# app.include_router(spare.app)
app.include_router(parks.app)
"""

FILM = """
import sqlite3
from fastapi import APIRouter, HTTPException, Query

app = APIRouter()
print("a line on stdout while it is imported")
connection = sqlite3.connect("db/film/film.sqlite")
cursor = connection.cursor()


@app.get("/v1/film/titles_by_year", operation_id="get_titles", summary="Titles of a year")
async def titles(year: int = Query(..., description="The year")):
    print("a line on stdout while it is called")
    cursor.execute("SELECT title FROM film WHERE year = ? ORDER BY title", (year,))
    return {"titles": [row[0] for row in cursor.fetchall()]}


@app.get("/v1/film/best", operation_id="get_best", summary="The best film")
def best(minimum: float = Query(0.0, description="Lowest mark"), label: str | None = Query(None)):
    if minimum > 9:
        raise HTTPException(status_code=409, detail="nothing is that good")
    if minimum < 0:
        raise ValueError("below zero")
    return {"title": "Ünter"}


@app.post("/v1/film/notes", operation_id="add_note")
async def note(body: dict):
    return body
"""

FILM_2 = """
from fastapi import APIRouter, Query

app = APIRouter()


@app.get("/v1/film_2/best", operation_id="get_best", summary="The best of the others")
async def best(place: str = Query(..., description="Where")):
    return {"place": place}


@app.get("/v1/film_2/worst/{rank}", operation_id="get_worst", summary="The worst")
async def worst(rank: int, list_of: list[str] = Query(..., description="Some")):
    return {"rank": rank}
"""

PARKS = """
from fastapi import APIRouter, Query

app = APIRouter()


@app.get("/v1/parks/count", operation_id="get_count", summary="How many")
async def count(region: str = Query(..., description="Region")):
    return {"count": 3}
"""

BROKEN = """
import a_module_that_is_not_there
from fastapi import APIRouter

app = APIRouter()


@app.get("/v1/broken/any", operation_id="get_any", summary="Any")
async def anything():
    return {}
"""


def entry(name: str, required: list[str], **properties: tuple[str, str]) -> dict[str, Any]:
    shown = {key: {"type": kind, "description": text} for key, (kind, text) in properties.items()}
    return {"name": name, "inputSchema": {"type": "object", "properties": shown, "required": required}}


NOTE = entry("add_note", ["body"])
NOTE["inputSchema"]["properties"] = {"body": {"type": "object", "description": "JSON request body"}}

OWN = [
    entry("get_titles", ["year"], year=("integer", "The year")),
    entry("get_best", [], minimum=("number", "Lowest mark"), label=("string", "")),
    NOTE,
]
LEAKED = [
    entry("get_best", ["place"], place=("string", "Where")),
    entry("get_worst", ["rank", "list_of"], rank=("integer", ""), list_of=("array", "Some")),
]
COUNT = [entry("get_count", ["region"], region=("string", "Region"))]


def digest(entries: list[dict[str, Any]]) -> str:
    """The published rule, written out here once more."""
    ordered = sorted(entries, key=lambda item: item["name"])
    text = json.dumps(ordered, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def write_checkout(root: Path) -> Path:
    server = root / REST / "server"
    server.mkdir(parents=True)
    (root / REST / "app.py").write_text(APP)
    (server / "__init__.py").write_text("")
    for name, text in (("film", FILM), ("film_2", FILM_2), ("parks", PARKS), ("broken", BROKEN), ("spare", PARKS)):
        (server / f"{name}.py").write_text(text)
    sums = {"film": digest(OWN + LEAKED), "film_2": digest(LEAKED), "parks": "0" * 64, "elsewhere": "1" * 64}
    (root / "tool_checksums.json").write_text(json.dumps({"2": sums, "3": {"film_2": sums["film_2"]}, "4": {}}))
    return root


def write_data(root: Path) -> Path:
    """A dataset with the database of one of the checkout's domains, and an instance of it."""
    (root / "databases" / "film").mkdir(parents=True)
    with sqlite3.connect(root / "databases" / "film" / "film.sqlite") as connection:
        connection.execute("CREATE TABLE film (title TEXT, year INTEGER)")
        connection.executemany("INSERT INTO film VALUES (?, ?)", [("Ånd", 1990), ("Berg", 1990), ("Chor", 1991)])
    connection.close()
    folder = root / "test" / "capability_2_dashboard_apis" / "input"
    folder.mkdir(parents=True)
    record = {"uuid": "f-1", "domain": "film", "dialogue": {"turns": [{"turn_id": 0, "query": "Which films of 1990?"}]}}
    (folder / "film.json").write_text(json.dumps([record]))
    return root
