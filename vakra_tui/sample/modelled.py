"""The large tables of the sample: not measured, derived by simple arithmetic from the stated facts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Row = tuple[Any, ...]
Stated = Mapping[str, list[Row]]

FIRST_YEAR, YEARS = 2020, 3
_SEASONS = (
    "winter",
    "winter",
    "spring",
    "spring",
    "spring",
    "summer",
    "summer",
    "summer",
    "autumn",
    "autumn",
    "autumn",
)


def river_flows(stated: Stated) -> Mapping[str, list[Row]]:
    """A monthly flow for every river whose mean discharge is stated: that mean times a triangular wave over the year.

    The wave peaks by 40 % in a month that depends on the river, and rises by 1 % of the mean from year to year.
    """
    rows: list[Row] = []
    for river, _name, _length, discharge, _mouth in stated["river"]:
        if discharge is None:
            continue
        for index in range(12 * YEARS):
            year, month = divmod(index, 12)
            away = abs((month - 3 * int(river)) % 12 - 6)
            per_mille = 600 + 800 * away // 6 + 10 * year
            flow = round(int(discharge) * per_mille / 1000, 2)
            season = _SEASONS[month] if month < 11 else "winter"
            rows.append((len(rows) + 1, int(river), f"{FIRST_YEAR + year}-{month + 1:02d}-01", season, flow))
    return {"modelled_flow": rows}


RYDBERG_PER_NM = 1.0973731568157e-2
"""Rydberg constant for a nucleus of infinite mass, in 1/nm (CODATA 2018)."""

_SERIES = ("Lyman", "Balmer", "Paschen", "Brackett", "Pfund")
LINES_A_SERIES, HEAVIEST_ION = 9, 26


def hydrogen_like_lines(stated: Stated) -> Mapping[str, list[Row]]:
    """Wavelengths of ions with one electron, hydrogen to iron: 1/λ = R Z² (1/n₁² − 1/n₂²)."""
    rows: list[Row] = []
    for charge in range(1, HEAVIEST_ION + 1):
        for lower, series in enumerate(_SERIES, 1):
            for upper in range(lower + 1, lower + 1 + LINES_A_SERIES):
                inverse = RYDBERG_PER_NM * charge**2 * (1 / lower**2 - 1 / upper**2)
                wavelength = round(1 / inverse, 3)
                rows.append((len(rows) + 1, charge, series, lower, upper, wavelength, _region(wavelength)))
    return {"modelled_line": rows}


def _region(wavelength_nm: float) -> str:
    for limit, name in ((10, "x-ray"), (380, "ultraviolet"), (750, "visible")):
        if wavelength_nm < limit:
            return name
    return "infrared"


DAYS_BETWEEN, DAYS = 10, 160


def planet_distances(stated: Stated) -> Mapping[str, list[Row]]:
    """The Earth's distance from the other planets each tenth day: circular orbits in one plane, at first in line."""
    planets = [
        (int(row[0]), float(row[5]), float(row[6]))
        for row in stated["body"]
        if row[2] == "planet" and row[1] != "Earth"
    ]
    earth_period, earth_distance = next((float(r[5]), float(r[6])) for r in stated["body"] if r[1] == "Earth")
    rows: list[Row] = []
    for body, period, distance in planets:
        for index in range(DAYS):
            day = index * DAYS_BETWEEN
            angle = 2 * math.pi * day * (1 / period - 1 / earth_period)
            squared = distance**2 + earth_distance**2 - 2 * distance * earth_distance * math.cos(angle)
            side = "morning" if math.sin(angle) > 0 else "evening"
            rows.append((len(rows) + 1, body, day, round(math.sqrt(squared), 4), side))
    return {"modelled_distance": rows}


MODELLED: Mapping[str, Callable[[Stated], Mapping[str, list[Row]]]] = {
    "elements": hydrogen_like_lines,
    "missions": planet_distances,
    "waters": river_flows,
}
