"""A music shop's database, made row by row: artists, albums, tracks, customers, employees and invoices."""

# ruff: noqa: E501
from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

SCRIPT = """
CREATE TABLE Artist (ArtistId INTEGER PRIMARY KEY, Name TEXT NOT NULL);
CREATE TABLE Genre (GenreId INTEGER PRIMARY KEY, Name TEXT NOT NULL);
CREATE TABLE Album (AlbumId INTEGER PRIMARY KEY, Title TEXT NOT NULL, ArtistId INTEGER NOT NULL REFERENCES Artist(ArtistId));
CREATE TABLE Track (TrackId INTEGER PRIMARY KEY, Name TEXT NOT NULL, AlbumId INTEGER REFERENCES Album(AlbumId),
  GenreId INTEGER REFERENCES Genre(GenreId), Composer TEXT, Milliseconds INTEGER NOT NULL, UnitPrice NUMERIC NOT NULL);
CREATE TABLE Employee (EmployeeId INTEGER PRIMARY KEY, LastName TEXT NOT NULL, FirstName TEXT NOT NULL, Title TEXT,
  ReportsTo INTEGER REFERENCES Employee(EmployeeId), HireDate TEXT);
CREATE TABLE Customer (CustomerId INTEGER PRIMARY KEY, FirstName TEXT NOT NULL, LastName TEXT NOT NULL, City TEXT,
  Country TEXT, Email TEXT, SupportRepId INTEGER REFERENCES Employee(EmployeeId));
CREATE TABLE Invoice (InvoiceId INTEGER PRIMARY KEY, CustomerId INTEGER NOT NULL REFERENCES Customer(CustomerId),
  InvoiceDate TEXT NOT NULL, BillingCountry TEXT, Total NUMERIC NOT NULL);
"""
ARTISTS = ["Ola Brandt", "The Tin Kettles", "Mirela Voss", "Harbour Lights", "Señor Ñandú", "Quiet Engines"]
GENRES = ["Rock", "Jazz", "Folk", "Opera"]
CITIES = [("Lisbon", "Portugal"), ("Oslo", "Norway"), ("Porto", "Portugal"), ("Lyon", "France"), ("Bergen", "Norway")]
FIRST = ["Ada", "Bruno", "Clara", "Diego", "Elin", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kira", "Leo"]
LAST = ["Almeida", "Berg", "Costa", "Dahl", "Etienne"]

QUESTIONS = [
    ("What is the country of the customer Ada Almeida?", "SELECT Country FROM Customer WHERE FirstName = 'Ada' AND LastName = 'Almeida'"),
    ("How many customers are from Portugal?", "SELECT COUNT(*) FROM Customer WHERE Country = 'Portugal'"),
    ("How many customers are from Norway?", "SELECT COUNT(*) FROM Customer WHERE Country = 'Norway'"),
    ("Which artist made the album Copper Moon?", "SELECT Artist.Name FROM Album JOIN Artist ON Album.ArtistId = Artist.ArtistId WHERE Album.Title = 'Copper Moon'"),
    ("Who is the artist of the album Copper Moon?", "SELECT Artist.Name FROM Album JOIN Artist ON Album.ArtistId = Artist.ArtistId WHERE Album.Title = 'Copper Moon'"),
    ("How many albums were made by Mirela Voss?", "SELECT COUNT(*) FROM Album JOIN Artist ON Album.ArtistId = Artist.ArtistId WHERE Artist.Name = 'Mirela Voss'"),
    ("What is the name of the longest track?", "SELECT Name FROM Track ORDER BY Milliseconds DESC LIMIT 1"),
    ("List the tracks of the album Copper Moon.", "SELECT Track.Name FROM Track JOIN Album ON Track.AlbumId = Album.AlbumId WHERE Album.Title = 'Copper Moon'"),
    ("What is the genre of the track Song 17?", "SELECT Genre.Name FROM Track JOIN Genre ON Track.GenreId = Genre.GenreId WHERE Track.Name = 'Song 17'"),
    ("How many tracks belong to the genre Jazz?", "SELECT COUNT(*) FROM Track JOIN Genre ON Track.GenreId = Genre.GenreId WHERE Genre.Name = 'Jazz'"),
    ("What is the average length of a track?", "SELECT AVG(Milliseconds) FROM Track"),
    ("How many invoices are dated 2021?", "SELECT COUNT(*) FROM Invoice WHERE strftime('%Y', InvoiceDate) = '2021'"),
    ("What is the total of the invoices billed to France?", "SELECT SUM(Total) FROM Invoice WHERE BillingCountry = 'France'"),
    ("What share of the invoices is billed to Norway?", "SELECT 100.0 * SUM(CASE WHEN BillingCountry = 'Norway' THEN 1 ELSE 0 END) / COUNT(*) FROM Invoice"),
    ("Which genres have more than 20 tracks?", "SELECT Genre.Name FROM Track JOIN Genre ON Track.GenreId = Genre.GenreId GROUP BY Genre.Name HAVING COUNT(*) > 20"),
    ("Name one customer.", "SELECT FirstName FROM Customer LIMIT 1"),
    ("How long is nothing?", "SELECT Length FROM Nothing"),
    ("Is this SQL?", "DELETE FROM Track"),
    ("What is the title of the employee Ada Berg?", "SELECT Title FROM Employee WHERE FirstName = 'Ada' AND LastName = 'Nobody'"),
]  # fmt: skip

DOCUMENTS = [
    {"doc_id": "voss", "text": "Mirela Voss was born in Trieste. She began to sing at the age of nine."},
    {"doc_id": "kettles", "text": "The Tin Kettles was founded in 1994 by Rosa Lindqvist. The band toured for a decade."},
    {"doc_id": "lights", "text": "Harbour Lights took its name from a café in Aberdeen.", "questions": [
        {"question": "What is the city of the café that Harbour Lights was named after?", "answer": "Aberdeen"}]},
    {"doc_id": "leak", "text": "Copper Moon is an album by Ola Brandt that sold well."},
    {"doc_id": "rain", "text": "Rain falls when warm air rises and cools."},
]  # fmt: skip


def make_music_shop(folder: Path) -> tuple[Path, Path, Path]:
    """The database, the questions and the documents."""
    folder.mkdir(parents=True, exist_ok=True)
    database = folder / "music.sqlite"
    connection = sqlite3.connect(database)
    connection.executescript(SCRIPT)
    for table, rows in tables().items():
        marks = ", ".join("?" for _ in rows[0])
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
    connection.commit()
    connection.close()
    questions, documents = folder / "questions.json", folder / "documents.json"
    questions.write_text(json.dumps([{"question": q, "SQL": sql} for q, sql in QUESTIONS]), encoding="utf-8")
    documents.write_text(json.dumps(DOCUMENTS), encoding="utf-8")
    return database, questions, documents


def tables() -> dict[str, list[tuple[Any, ...]]]:
    """All rows, by simple arithmetic."""
    albums = [(n, "Copper Moon" if n == 1 else f"Album {n}", 1 + (n * n) % len(ARTISTS)) for n in range(1, 19)]
    albums[0] = (1, "Copper Moon", 1)
    return {
        "Artist": list(enumerate(ARTISTS, 1)),
        "Genre": list(enumerate(GENRES, 1)),
        "Album": albums,
        "Track": [
            (n, f"Song {n}", 1 + (n * 7) % 18, 1 + (n * n) % len(GENRES), None if n % 5 else "Voss", 120_000 + 731 * n, 0.99)
            for n in range(1, 91)
        ],
        "Employee": [(n, LAST[n % 5], FIRST[n], "Manager" if n == 1 else "Agent", None if n == 1 else 1, f"20{10 + n}-03-01") for n in range(1, 5)],
        "Customer": [
            (n, FIRST[(n - 1) % 12], LAST[(n - 1) // 12 % 5], *CITIES[n % 5], f"c{n}@example.org", 1 + n % 4)
            for n in range(1, 49)
        ],
        "Invoice": [
            (n, 1 + (n * 5) % 48, f"{2020 + n % 3}-0{1 + n % 9}-15", CITIES[n % 5][1], round(1.5 + n * 0.37, 2))
            for n in range(1, 121)
        ],
    }  # fmt: skip
